/* See captures.h. */
#include "tape/captures.h"

#include "table/codes.h"
#include "tape/blocks.h"

#include <stdlib.h>

/* Told of slots [low, high] that an entry reads; anything but 0 ends the search. */
typedef int (*Visit)(void *context, int64_t low, int64_t high);

/* All that an entry over arrays reads as a variable, a view that it wrote among it. */
static int visit_plan(const CadTape *tape, CadEntry entry, Visit visit, void *context) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadEntryKind *const kind = cad_entry_kind(entry);
    int result = 0;
    if (kind->indexed == CAD_INDEXES_NONE && !kind->is_rule && !(plan->passive & 1)) {
        const CadSpan span = cad_entry_result(entry, plan);
        result = visit(context, span.low, span.high);
    }
    for (CadSource source = cad_plan_sources(kind, plan);
         result == 0 && cad_next_variable(&source);) {
        const CadSpan span = cad_source_span(&source);
        result = visit(context, span.low, span.high);
    }
    return result;
}

static int is_below(void *below, int64_t low, int64_t high) {
    (void)high;
    return low < *(const CadSlot *)below;
}

static int entry_reads_below(const CadTape *tape, CadEntry e, CadSlot below) {
    if (CAD_IS_ARRAY_ENTRY(e)) {
        return visit_plan(tape, e, is_below, &below);
    }
    return CAD_CODE_OP(e.code) != CAD_OP_LEAF && ((e.a < below && !(e.code & CAD_PASSIVE_A)) ||
                                                  (e.b < below && !(e.code & CAD_PASSIVE_B)));
}

/* Nothing is computed from the outcome of a comparison. */
bool cad_reads_below(const CadTape *tape, size_t begin, size_t end, CadSlot below) {
    for (size_t i = begin; below > 0 && i < end; i++) {
        const CadEntry e = tape->entries[i];
        if (entry_reads_below(tape, e, below) && !cad_op_compares(CAD_CODE_OP(e.code))) {
            return 1;
        }
    }
    return 0;
}

int cad_depends_below(const CadTape *tape, size_t marks, CadSlot slot) {
    for (size_t i = tape->n_marks; i-- > marks;) {
        const CadMark *const mark = &tape->marks[i];
        if (slot >= mark->slots &&
            !cad_reads_below(tape, mark->entries, tape->n_entries, (CadSlot)mark->slots)) {
            return 0;
        }
    }
    return 1;
}

bool cad_compares_below(const CadTape *tape) {
    const CadMark mark = tape->marks[tape->n_marks - 1];
    for (size_t i = mark.entries; i < tape->n_entries; i++) {
        if (entry_reads_below(tape, tape->entries[i], (CadSlot)mark.slots)) {
            return 1;
        }
    }
    return 0;
}

void cad_freeze(CadTape *tape, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        CadEntry *const e = &tape->entries[i];
        const CadOp op = CAD_CODE_OP(e->code);
        if (op != CAD_OP_LEAF) {
            const CadSlot slots = CAD_IS_ARRAY_ENTRY(*e) ? e->b : op != CAD_OP_THIRD;
            tape->n_assigned -= (size_t)cad_entry_overwrites(*e);
            *e = (CadEntry){CAD_CODE(CAD_OP_LEAF, 0), e->out, slots, 0};
        }
    }
}

/* --- the slots themselves --- */

enum { RECENT = 64 };

typedef struct Search {
    const CadTape *tape;
    CadRanges *ranges;
    CadSlot below;
    CadStatus status;
    int64_t recent[RECENT]; /* single slots that were noted lately: loops read the same ones */
} Search;

static int by_begin(const void *x, const void *y) {
    const size_t a = ((const CadRange *)x)->begin, b = ((const CadRange *)y)->begin;
    return (a > b) - (a < b);
}

/* Whether two ranges, the second of which begins where the first ends, may become one. */
static int may_join(const CadTape *tape, CadRange x, CadRange y) {
    return y.begin < x.end || cad_tape_find_block(tape, (CadSlot)(x.end - 1)) ==
                                  cad_tape_find_block(tape, (CadSlot)y.begin);
}

/* Put the ranges in order, and join those that touch. */
static void put_in_order(const CadTape *tape, CadRanges *ranges) {
    if (ranges->count < 2) {
        return;
    }
    qsort(ranges->items, ranges->count, sizeof *ranges->items, by_begin);
    size_t last = 0;
    for (size_t i = 1; i < ranges->count; i++) {
        const CadRange next = ranges->items[i];
        CadRange *const range = &ranges->items[last];
        if (next.begin <= range->end && may_join(tape, *range, next)) {
            range->end = next.end > range->end ? next.end : range->end;
        } else {
            ranges->items[++last] = next;
        }
    }
    ranges->count = last + 1;
}

/* Room for one more: what is there is tidied up first, which is often enough. */
static CadStatus make_room(const CadTape *tape, CadRanges *ranges) {
    if (ranges->count < ranges->capacity) {
        return CAD_OK;
    }
    put_in_order(tape, ranges);
    if (ranges->count < ranges->capacity / 2) {
        return CAD_OK;
    }
    return cad_memory_enlarge((void **)&ranges->items, &ranges->capacity, ranges->count + 1,
                              sizeof *ranges->items);
}

static int note(void *context, int64_t low, int64_t high) {
    Search *const search = context;
    if (low >= search->below) {
        return 0;
    }
    if (low == high) {
        int64_t *const recent = &search->recent[low % RECENT];
        if (*recent == low) {
            return 0;
        }
        *recent = low;
    }
    search->status = make_room(search->tape, search->ranges);
    if (search->status == CAD_OK) {
        search->ranges->items[search->ranges->count++] = (CadRange){(size_t)low, (size_t)high + 1};
    }
    return search->status != CAD_OK;
}

static void note_operands(Search *search, CadEntry entry) {
    if (CAD_CODE_OP(entry.code) == CAD_OP_LEAF) {
        return;
    }
    if (entry.a < search->below && !(entry.code & CAD_PASSIVE_A)) {
        note(search, entry.a, entry.a);
    }
    if (entry.b < search->below && !(entry.code & CAD_PASSIVE_B) && search->status == CAD_OK) {
        note(search, entry.b, entry.b);
    }
}

CadStatus cad_find_captures(const CadTape *tape, size_t begin, size_t end, CadSlot below,
                            CadRanges *ranges) {
    Search search = {.tape = tape, .ranges = ranges, .below = below, .status = CAD_OK};
    *ranges = (CadRanges){NULL, 0, 0};
    for (int i = 0; i < RECENT; i++) {
        search.recent[i] = -1;
    }
    for (size_t i = begin; i < end && search.status == CAD_OK; i++) {
        const CadEntry e = tape->entries[i];
        if (cad_op_compares(CAD_CODE_OP(e.code))) {
            continue;
        }
        if (CAD_IS_ARRAY_ENTRY(e)) {
            visit_plan(tape, e, note, &search);
        } else {
            note_operands(&search, e);
        }
    }
    if (search.status != CAD_OK) {
        cad_memory_free(ranges->items);
        *ranges = (CadRanges){NULL, 0, 0};
        return search.status;
    }
    put_in_order(tape, ranges);
    return CAD_OK;
}
