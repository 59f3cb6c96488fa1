/* See linear.h. Building goes over the entries three times: forwards to see what depends on the
 * inputs, backwards to see what the outputs depend on, and forwards again, through values as they
 * were when they were read, to write the steps. */
#include "linear/build.h"
#include "sweeps/sweeps.h"

#include <assert.h>

const size_t cad_linear_item_size[CAD_LINEAR_PARTS] = {
    [CAD_LINEAR_INPUTS] = sizeof(uint32_t),     [CAD_LINEAR_OUTPUTS] = sizeof(uint32_t),
    [CAD_LINEAR_STEPS] = sizeof(CadLinearStep), [CAD_LINEAR_TARGETS] = sizeof(uint32_t),
    [CAD_LINEAR_ENDS] = sizeof(uint64_t),       [CAD_LINEAR_FACTORS] = sizeof(double),
    [CAD_LINEAR_SOURCES] = sizeof(uint32_t),    [CAD_LINEAR_WORDS] = sizeof(int64_t),
    [CAD_LINEAR_NUMBERS] = sizeof(double),
};

/* Longer sums are not multiplied through: it would take as long again for each factor. */
enum { LONG_SUM = 16 };

CadLinear *cad_linear_new(size_t n_places) {
    CadLinear *linear = cad_memory_zeroed(1, sizeof *linear);
    if (linear != NULL) {
        linear->n_places = n_places;
    }
    return linear;
}

void cad_linear_free(CadLinear *linear) {
    if (linear != NULL) {
        for (int k = 0; k < CAD_LINEAR_PARTS; k++) {
            cad_memory_free(linear->part[k].data);
        }
        cad_memory_free(linear);
    }
}

/* Have room for more items. */
static CadStatus reserve(CadItems *items, size_t more, size_t size) {
    if (items->count + more <= items->capacity) {
        return CAD_OK;
    }
    const size_t twice = 2 * items->capacity;
    const size_t wanted = items->count + more > twice ? items->count + more : twice;
    void *grown = cad_memory_resize(items->data, wanted, size);
    if (grown == NULL) {
        return CAD_NO_MEMORY;
    }
    items->data = grown;
    items->capacity = wanted;
    return CAD_OK;
}

CadStatus cad_linear_append(CadLinear *linear, CadLinearPart part, const void *items,
                            size_t count) {
    CadItems *const list = &linear->part[part];
    const size_t size = cad_linear_item_size[part];
    const CadStatus status = reserve(list, count, size);
    if (status == CAD_OK && count > 0) {
        memcpy((char *)list->data + list->count * size, items, count * size);
        list->count += count;
    }
    return status;
}

CadStatus cad_linear_extend(CadLinear *linear, CadLinearPart part, size_t count) {
    CadItems *const list = &linear->part[part];
    const CadStatus status = reserve(list, count, cad_linear_item_size[part]);
    list->count += status == CAD_OK ? count : 0;
    return status;
}

/* --- what lies between inputs and outputs --- */

/* The flags of a span from the first slot on that has any; how many they are. */
static size_t flags_of(const CadBuild *build, CadSpan span, uint8_t **flags) {
    const int64_t first = span.low > build->base ? span.low - build->base : 0;
    const int64_t end = span.high - build->base + 1;
    *flags = build->flags + first;
    return end > first ? (size_t)(end - first) : 0;
}

int cad_build_has_any(const CadBuild *build, CadSpan span, int flag) {
    uint8_t *flags;
    const size_t count = flags_of(build, span, &flags);
    uint8_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found |= flags[i];
    }
    return (found & flag) != 0;
}

void cad_build_mark_all(CadBuild *build, CadSpan span, int marks) {
    uint8_t *flags;
    const size_t count = flags_of(build, span, &flags);
    for (size_t i = 0; i < count; i++) {
        flags[i] |= (uint8_t)marks;
    }
}

void cad_build_use(CadBuild *build, CadSpan span) {
    uint8_t *flags;
    const size_t count = flags_of(build, span, &flags);
    for (size_t i = 0; i < count; i++) {
        flags[i] |= flags[i] & CAD_USED ? CAD_REUSED : CAD_USED;
    }
}

/* The operands of an operation on single numbers that may carry a derivative; answers how many. */
static int operands_of(const CadTape *tape, size_t i, CadSlot operands[3], int which[3]) {
    const CadEntry e = tape->entries[i];
    const int arity = cad_op_info[CAD_CODE_OP(e.code)].arity;
    const CadSlot all[3] = {e.a, e.b, arity == 3 ? tape->entries[i - 1].a : e.a};
    int n = 0;
    for (int k = 0; k < arity; k++) {
        if (!(e.code >> k & 1) || arity == 3) {
            operands[n] = all[k];
            which[n++] = k;
        }
    }
    return n;
}

static int is_number_entry(CadEntry e) {
    return !CAD_IS_ARRAY_ENTRY(e) && CAD_CODE_OP(e.code) > CAD_OP_THIRD;
}

static int is_number_assigned(CadEntry e) {
    return !CAD_IS_ARRAY_ENTRY(e) && CAD_CODE_OP(e.code) == CAD_OP_ASSIGN;
}

static void reach_array(CadBuild *build, CadEntry e) {
    const CadSpans spans = cad_build_spans(build, e);
    if (cad_build_has_any(build, spans.to, CAD_REACHED)) {
        cad_build_mark_all(build, spans.kept, CAD_REACHED);
    }
    for (int k = 0; k < spans.n; k++) {
        if (cad_build_has_any(build, spans.from[k], CAD_REACHED)) {
            cad_build_mark_all(build, spans.to, CAD_REACHED);
        }
    }
    if (spans.changes) {
        cad_build_mark_all(build, spans.to, CAD_MUTABLE);
    }
}

static void reach(CadBuild *build) {
    const CadTape *const tape = build->tape;
    for (size_t i = build->begin; i < build->end; i++) {
        const CadEntry e = tape->entries[i];
        if (is_number_entry(e)) {
            CadSlot operands[3];
            int which[3];
            for (int k = operands_of(tape, i, operands, which); k-- > 0;) {
                if (cad_build_has(build, operands[k], CAD_REACHED)) {
                    cad_build_mark(build, e.out, CAD_REACHED);
                }
            }
        } else if (is_number_assigned(e)) {
            cad_build_mark(build, e.a, CAD_MUTABLE);
            if (cad_build_has(build, e.a, CAD_REACHED)) {
                cad_build_mark(build, e.out, CAD_REACHED);
            }
            if (!(e.code & CAD_PASSIVE_B) && cad_build_has(build, e.b, CAD_REACHED)) {
                cad_build_mark(build, e.a, CAD_REACHED);
            }
        } else if (CAD_IS_ARRAY_ENTRY(e)) {
            reach_array(build, e);
        }
    }
}

static int need_array(CadBuild *build, CadEntry e) {
    const CadSpans spans = cad_build_spans(build, e);
    const int live = (cad_build_has_any(build, spans.to, CAD_NEEDED) ||
                      cad_build_has_any(build, spans.kept, CAD_NEEDED)) &&
                     (cad_build_has_any(build, spans.to, CAD_REACHED) ||
                      cad_build_has_any(build, spans.kept, CAD_REACHED));
    const CadOp op = CAD_CODE_OP(e.code);
    const int sums = op > CAD_OP_THIRD || op == CAD_OP_SUM || op == CAD_OP_ASSIGN;
    if (live) {
        cad_build_mark_all(build, spans.to, CAD_PINNED | (spans.changes ? CAD_NEEDED : 0));
        cad_build_mark_all(build, spans.kept, CAD_PINNED);
        for (int k = 0; k < spans.n; k++) {
            if (cad_build_has_any(build, spans.from[k], CAD_REACHED)) {
                cad_build_mark_all(build, spans.from[k],
                                   CAD_PINNED | CAD_NEEDED | (sums ? 0 : CAD_FIXED));
                cad_build_use(build, spans.from[k]);
            }
        }
    }
    return live;
}

static int is_live(const CadBuild *build, CadSlot slot) {
    return cad_build_has(build, slot, CAD_REACHED) && cad_build_has(build, slot, CAD_NEEDED);
}

static void need(CadBuild *build) {
    const CadTape *const tape = build->tape;
    for (size_t i = build->end; i-- > build->begin;) {
        const CadEntry e = tape->entries[i];
        int live = 0;
        if (is_number_entry(e)) {
            CadSlot operands[3];
            int which[3];
            live = is_live(build, e.out);
            for (int k = live ? operands_of(tape, i, operands, which) : 0; k-- > 0;) {
                cad_build_mark(build, operands[k], CAD_NEEDED | CAD_FIXED);
                cad_build_use(build, (CadSpan){operands[k], operands[k]});
            }
        } else if (is_number_assigned(e)) {
            live = is_live(build, e.a) || is_live(build, e.out);
            if (live) {
                cad_build_mark(build, e.out, CAD_PINNED);
                cad_build_mark(build, e.a, CAD_PINNED | CAD_NEEDED);
                if (!(e.code & CAD_PASSIVE_B)) {
                    cad_build_mark(build, e.b, CAD_PINNED | CAD_NEEDED | CAD_FIXED);
                }
            }
        } else if (CAD_IS_ARRAY_ENTRY(e)) {
            live = need_array(build, e);
        }
        build->live[i - build->begin] = (uint8_t)live;
    }
}

/* --- sums --- */

static CadSum *sum_at(const CadBuild *build, uint32_t number) {
    return (CadSum *)build->sums.data + number;
}

static CadLink *link_at(const CadBuild *build, uint32_t number) {
    return (CadLink *)build->links.data + number;
}

/* Links and sums that were freed are chained by what their next and first are. */
static CadStatus new_link(CadBuild *build, uint32_t *number) {
    *number = build->free_link;
    if (*number != CAD_NONE) {
        build->free_link = link_at(build, *number)->next;
        return CAD_OK;
    }
    *number = (uint32_t)build->links.count;
    const CadStatus status = reserve(&build->links, 1, sizeof(CadLink));
    build->links.count += status == CAD_OK;
    return status;
}

static CadStatus new_sum(CadBuild *build, CadSlot slot, uint32_t *number) {
    CadStatus status = CAD_OK;
    *number = build->free_sum;
    if (*number != CAD_NONE) {
        build->free_sum = sum_at(build, *number)->first;
    } else {
        *number = (uint32_t)build->sums.count;
        status = reserve(&build->sums, 1, sizeof(CadSum));
        build->sums.count += status == CAD_OK;
    }
    if (status == CAD_OK) {
        *sum_at(build, *number) = (CadSum){slot, CAD_NONE, CAD_NONE, 0, 1};
    }
    return status;
}

/* Forget a sum, whose links have gone elsewhere: the slot is a place from now on. */
static void drop_sum(CadBuild *build, uint32_t number) {
    build->number[sum_at(build, number)->slot - build->base] = CAD_NONE;
    sum_at(build, number)->first = build->free_sum;
    build->free_sum = number;
}

static void chain(CadBuild *build, CadSum *sum, uint32_t first, uint32_t last, uint32_t count) {
    if (count == 0) {
        return;
    }
    if (sum->count == 0) {
        sum->first = first;
    } else {
        link_at(build, sum->last)->next = first;
    }
    sum->last = last;
    sum->count += count;
}

static CadStatus add_term(CadBuild *build, uint32_t to, double factor, CadSlot source) {
    uint32_t number;
    const CadStatus status = new_link(build, &number);
    if (status == CAD_OK) {
        *link_at(build, number) = (CadLink){factor, source, CAD_NONE};
        chain(build, sum_at(build, to), number, number, 1);
        sum_at(build, to)->steady &= !cad_build_has(build, source, CAD_MUTABLE);
    }
    return status;
}

static CadStatus append_term(CadBuild *build, double factor, CadSlot source) {
    cad_build_mark(build, source, CAD_PLACED);
    const CadStatus status = cad_linear_append(build->linear, CAD_LINEAR_FACTORS, &factor, 1);
    return status != CAD_OK ? status
                            : cad_linear_append(build->linear, CAD_LINEAR_SOURCES, &source, 1);
}

/* End a row, whose terms were appended. */
static CadStatus append_row(CadBuild *build, CadSlot target) {
    const uint64_t end = cad_linear_count(build->linear, CAD_LINEAR_FACTORS);
    cad_build_mark(build, target, CAD_PLACED);
    const CadStatus status = cad_linear_append(build->linear, CAD_LINEAR_TARGETS, &target, 1);
    return status != CAD_OK ? status : cad_linear_append(build->linear, CAD_LINEAR_ENDS, &end, 1);
}

/* Write the row of a sum. */
static CadStatus write_row(CadBuild *build, uint32_t number) {
    const CadSum sum = *sum_at(build, number);
    CadStatus status = CAD_OK;
    uint32_t at = sum.first;
    for (uint32_t k = 0; k < sum.count && status == CAD_OK; k++) {
        const CadLink link = *link_at(build, at);
        status = append_term(build, link.factor, link.source);
        at = link.next;
    }
    if (status == CAD_OK) {
        status = append_row(build, sum.slot);
    }
    if (sum.count > 0) {
        link_at(build, sum.last)->next = build->free_link;
        build->free_link = sum.first;
    }
    drop_sum(build, number);
    return status;
}

/* Whether a sum times a factor is as good as its terms one by one: no product may overflow, or
 * lose digits. */
static int is_scalable(const CadBuild *build, const CadSum *sum, double factor) {
    if (factor == 1.0) {
        return 1;
    }
    int scalable = sum->count <= LONG_SUM;
    uint32_t at = sum->first;
    for (uint32_t k = 0; k < sum->count && scalable; k++) {
        scalable = isnormal(link_at(build, at)->factor * factor);
        at = link_at(build, at)->next;
    }
    return scalable;
}

static void scale(CadBuild *build, const CadSum *sum, double factor) {
    uint32_t at = sum->first;
    for (uint32_t k = 0; k < sum->count && factor != 1.0; k++) {
        link_at(build, at)->factor *= factor;
        at = link_at(build, at)->next;
    }
}

/* Add an operand to a sum: what it is itself, if that is not more than its name. */
static CadStatus add_operand(CadBuild *build, uint32_t to, double factor, CadSlot operand) {
    const uint32_t number = build->number[operand - build->base];
    if (number == CAD_NONE) {
        return add_term(build, to, factor, operand);
    }
    const CadSum sum = *sum_at(build, number);
    if (!is_scalable(build, &sum, factor)) {
        const CadStatus status = write_row(build, number);
        return status != CAD_OK ? status : add_term(build, to, factor, operand);
    }
    if (!cad_build_has(build, operand, CAD_REUSED)) {
        scale(build, &sum, factor);
        chain(build, sum_at(build, to), sum.first, sum.last, sum.count);
        drop_sum(build, number);
        return CAD_OK;
    }
    if (sum.count == 0) {
        return CAD_OK;
    }
    const CadLink link = *link_at(build, sum.first);
    return add_term(build, to, link.factor * factor, link.source);
}

/* Whether a sum can be written out where it is used, however much later that is. */
static int can_wait(const CadBuild *build, const CadSum *sum) {
    const int flags = build->flags[sum->slot - build->base];
    return sum->steady && !(flags & CAD_PINNED) && (!(flags & CAD_REUSED) || sum->count <= 1);
}

static CadStatus build_number(CadBuild *build, size_t i) {
    const CadTape *const tape = build->tape;
    const CadEntry e = tape->entries[i];
    const CadOp op = CAD_CODE_OP(e.code);
    const double *const value = tape->values;
    CadSlot operands[3];
    int which[3];
    int wanted = 0;
    const int n = operands_of(tape, i, operands, which);
    for (int k = 0; k < n; k++) {
        wanted |= cad_build_has(build, operands[k], CAD_REACHED) << which[k];
    }
    const CadSlot third = cad_op_info[op].arity == 3 ? tape->entries[i - 1].a : e.a;
    double partials[3];
    cad_op_partials(op, wanted, value[e.a], value[e.b], value[third], value[e.out], partials);
    uint32_t number;
    CadStatus status = new_sum(build, e.out, &number);
    for (int k = 0; k < n && status == CAD_OK; k++) {
        /* A factor of 0 absorbs whatever comes. */
        if (wanted >> which[k] & 1 && partials[which[k]] != 0.0) {
            status = add_operand(build, number, partials[which[k]], operands[k]);
        }
    }
    if (status != CAD_OK) {
        return status;
    }
    build->number[e.out - build->base] = number;
    return can_wait(build, sum_at(build, number)) ? CAD_OK : write_row(build, number);
}

/* The target goes to where the entry keeps it, and the source to the target. */
static CadStatus build_assignment(CadBuild *build, CadEntry e) {
    CadStatus status = CAD_OK;
    if (is_live(build, e.out)) {
        status = append_term(build, 1.0, e.a);
        if (status == CAD_OK) {
            status = append_row(build, e.out);
        }
    }
    if (status == CAD_OK && !(e.code & CAD_PASSIVE_B) && cad_build_has(build, e.b, CAD_REACHED)) {
        status = append_term(build, 1.0, e.b);
    }
    return status != CAD_OK ? status : append_row(build, e.a);
}

/* --- the whole --- */

CadStatus cad_build_close_rows(CadBuild *build) {
    const size_t rows = cad_linear_count(build->linear, CAD_LINEAR_TARGETS);
    if (rows == build->open_row) {
        return CAD_OK;
    }
    const CadLinearStep step = {CAD_LINEAR_ROWS, (int64_t)build->open_row, (int64_t)rows};
    build->open_row = rows;
    return cad_linear_append(build->linear, CAD_LINEAR_STEPS, &step, 1);
}

static CadStatus build_steps(CadBuild *build) {
    CadTape *const tape = build->tape;
    CadStatus status = CAD_OK;
    size_t i = build->begin;
    cad_sweep_undo(tape, build->begin, build->end);
    for (; i < build->end && status == CAD_OK; i++) {
        const CadEntry e = tape->entries[i];
        if (build->live[i - build->begin]) {
            status = CAD_IS_ARRAY_ENTRY(e)   ? cad_build_array(build, e)
                     : is_number_assigned(e) ? build_assignment(build, e)
                                             : build_number(build, i);
        }
        cad_sweep_redo(tape, i, i + 1);
    }
    cad_sweep_redo(tape, i, build->end);
    return status != CAD_OK ? status : cad_build_close_rows(build);
}

/* Give all slots that steps refer to a place, in their order. */
static void rename_slots(CadBuild *build) {
    CadLinear *const linear = build->linear;
    for (size_t i = 0; i < build->n_slots; i++) {
        const int placed = build->flags[i] & CAD_PLACED;
        build->number[i] = placed ? (uint32_t)linear->n_places++ : CAD_NONE;
    }
    const CadLinearPart parts[] = {CAD_LINEAR_INPUTS, CAD_LINEAR_OUTPUTS, CAD_LINEAR_TARGETS,
                                   CAD_LINEAR_SOURCES};
    for (int k = 0; k < 4; k++) {
        uint32_t *const slots = cad_linear_items(linear, parts[k]);
        for (size_t i = 0; i < cad_linear_count(linear, parts[k]); i++) {
            slots[i] = slots[i] == CAD_NONE ? CAD_NONE : build->number[slots[i] - build->base];
        }
    }
    cad_build_rename_words(build);
}

/* What goes in and out, as slots, and the flags of these. */
static CadStatus take_ends(CadBuild *build, const int64_t *outputs, size_t n_outputs) {
    CadLinear *const linear = build->linear;
    const size_t n = build->n_inputs;
    if (cad_linear_extend(linear, CAD_LINEAR_INPUTS, n) != CAD_OK ||
        cad_linear_extend(linear, CAD_LINEAR_OUTPUTS, n_outputs) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    uint32_t *const in = cad_linear_items(linear, CAD_LINEAR_INPUTS);
    uint32_t *const out = cad_linear_items(linear, CAD_LINEAR_OUTPUTS);
    for (size_t i = 0; i < n; i++) {
        in[i] = build->base + (CadSlot)i;
        build->flags[i] = CAD_REACHED;
    }
    reach(build);
    for (size_t i = 0; i < n_outputs; i++) {
        const int depends = outputs[i] >= 0 && cad_build_has(build, outputs[i], CAD_REACHED);
        out[i] = depends ? (CadSlot)outputs[i] : CAD_NONE;
        if (depends) {
            cad_build_mark(build, out[i], CAD_NEEDED | CAD_PINNED | CAD_PLACED | CAD_FIXED);
        }
    }
    need(build);
    return CAD_OK;
}

static CadStatus open_build(CadBuild *build) {
    const size_t n_entries = build->end - build->begin;
    build->linear = cad_linear_new(0);
    build->flags = cad_memory_zeroed(build->n_slots, sizeof *build->flags);
    build->live = cad_memory_zeroed(n_entries, sizeof *build->live);
    build->number = cad_memory_resize(NULL, build->n_slots, sizeof *build->number);
    if (build->linear == NULL || build->flags == NULL || build->live == NULL ||
        build->number == NULL) {
        return CAD_NO_MEMORY;
    }
    memset(build->number, 0xff, build->n_slots * sizeof *build->number); /* CAD_NONE */
    return CAD_OK;
}

/* Give back what the lists have room for beyond their items. */
static void trim(CadLinear *linear) {
    for (int k = 0; k < CAD_LINEAR_PARTS; k++) {
        CadItems *const items = &linear->part[k];
        void *const shrunk = cad_memory_resize(items->data, items->count, cad_linear_item_size[k]);
        if (shrunk != NULL) {
            items->data = shrunk;
            items->capacity = items->count;
        }
    }
}

CadStatus cad_linear_build(CadTape *tape, size_t begin, size_t end, CadSlot base, size_t n_inputs,
                           const int64_t *outputs, size_t n_outputs, CadLinear **linear) {
    CadBuild build = {
        .tape = tape, .base = base, .begin = begin, .end = end, .n_inputs = n_inputs};
    build.n_slots = (end < tape->n_entries ? tape->entries[end].out : tape->n_slots) - base;
    build.free_sum = build.free_link = CAD_NONE;
    CadStatus status = open_build(&build);
    if (status == CAD_OK) {
        status = take_ends(&build, outputs, n_outputs);
    }
    if (status == CAD_OK) {
        status = build_steps(&build);
    }
    if (status == CAD_OK) {
        rename_slots(&build);
        trim(build.linear);
        const int sound = cad_linear_settle(build.linear);
        assert(sound);
        (void)sound;
    } else {
        cad_linear_free(build.linear);
    }
    cad_memory_free(build.flags);
    cad_memory_free(build.live);
    cad_memory_free(build.number);
    cad_memory_free(build.sums.data);
    cad_memory_free(build.links.data);
    cad_memory_free(build.partials);
    *linear = status == CAD_OK ? build.linear : NULL;
    return status;
}
