/* What the files share that build a linear map.
 *
 * Until all steps are there, they name slots; only then is it known which slots get a place. */
#ifndef CAD_LINEAR_INNER_H
#define CAD_LINEAR_INNER_H

#include "arrays/terms.h"
#include "arrays/walk.h"
#include "linear/steps.h"

/* Of each slot. */
enum {
    CAD_REACHED = 1, /* depends on the inputs */
    CAD_NEEDED = 2,  /* an output depends on it */
    CAD_PINNED = 4,  /* has to have a place, since not only rows refer to it */
    CAD_MUTABLE = 8, /* is written to more than once */
    CAD_USED = 16,   /* by one entry; */
    CAD_REUSED = 32, /* by more than one */
    CAD_PLACED = 64, /* a step refers to it */
    CAD_FIXED = 128, /* is read by something else than a sum of views */
    CAD_WAITS = 256, /* is a sum that has no row yet */
};

/* A number as a sum, before it has a row: a chain of links. */
typedef struct CadLink {
    double factor;
    CadSlot source;
    uint32_t next;
} CadLink;

typedef struct CadSum {
    uint32_t first; /* links; CAD_NONE where there is none */
    uint32_t last;
    uint32_t count;
    int steady; /* none of its sources is ever written to again */
} CadSum;

/* A step CAD_LINEAR_ADD of one axis that waits for the step that reads its result: both then
 * become one. */
typedef struct CadAdd {
    int64_t to;
    int64_t to_step;
    int64_t from;
    int64_t from_step;
    int64_t n;
    int64_t factors; /* the first of its numbers, or -1 for a 1 */
    int64_t step;    /* between factors: 0 or 1 */
} CadAdd;

enum { CAD_MOST_ADDS = 16 };

typedef struct CadBuild {
    CadTape *tape;
    CadLinear *linear;
    CadSlot base;
    size_t begin;
    size_t end;
    size_t n_inputs; /* slots from base on */
    size_t n_slots;
    uint16_t *flags; /* of each slot from base on */
    CadSum *sums;    /* of those that wait */
    uint32_t *place; /* in the end */
    uint8_t *live;   /* of each entry from begin on: whether it lies between inputs and outputs */
    CadItems links;
    uint32_t free_link;
    size_t open_row; /* the first row of a step that is still open */
    int n_adds;
    CadAdd adds[CAD_MOST_ADDS]; /* that wait */
    double *partials;           /* of the entry at hand */
    size_t n_partials;          /* how many there is room for */
} CadBuild;

static inline int cad_build_has(const CadBuild *build, int64_t slot, int flag) {
    return slot >= build->base && (build->flags[slot - build->base] & flag) != 0;
}

static inline void cad_build_mark(CadBuild *build, int64_t slot, int flags) {
    if (slot >= build->base) {
        build->flags[slot - build->base] |= (uint16_t)flags;
    }
}

static inline void cad_build_unmark(CadBuild *build, CadSlot slot, int flags) {
    build->flags[slot - build->base] &= (uint16_t)~flags;
}

/* A slot is read by one more entry. */
static inline void cad_build_use(CadBuild *build, int64_t slot) {
    if (slot >= build->base) {
        uint16_t *const flags = &build->flags[slot - build->base];
        *flags |= *flags & CAD_USED ? CAD_REUSED : CAD_USED;
    }
}

/* The operands of an operation on single numbers that may carry a derivative; answers how many.
 * All that is asked of each number is inline: a Jacobian of a short loop builds a map every time.
 */
static inline int cad_build_operands(const CadTape *tape, size_t i, CadSlot operands[3],
                                     int which[3]) {
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

/* Whether a slot lies between the inputs and the outputs. */
static inline int cad_build_is_live(const CadBuild *build, int64_t slot) {
    return cad_build_has(build, slot, CAD_REACHED) && cad_build_has(build, slot, CAD_NEEDED);
}

/* --- spans.c --- */

/* The slots that an entry over arrays, or of a rule, writes. */
typedef struct CadSpans {
    CadSpan to;
    CadSpan kept; /* of an assignment, else empty */
    int changes;  /* `to` may have been written to before */
} CadSpans;

/* Whether the result is a sum of views times factors, number by number. */
static inline int cad_build_sums_views(CadEntry entry) {
    const CadOp op = CAD_CODE_OP(entry.code);
    return cad_op_is_elementwise(op) || op == CAD_OP_ASSIGN;
}

CadSpans cad_build_spans(const CadBuild *build, CadEntry entry);

/* What it reads, as a variable. */
static inline CadSource cad_build_sources(const CadBuild *build, CadEntry entry) {
    return cad_plan_sources(cad_entry_kind(entry), cad_tape_plan(build->tape, entry));
}

int cad_build_has_any(const CadBuild *build, CadSpan span, int flag);
void cad_build_mark_all(CadBuild *build, CadSpan span, int flags);

/* The slots of a span are read by one more entry. */
void cad_build_use_all(CadBuild *build, CadSpan span);

/* --- steps.c --- */

/* End the step of rows that is open. */
CadStatus cad_build_close_rows(CadBuild *build);

/* The plan of a step, whose views and extra are left to the caller: three of each at most. */
CadPlan *cad_build_plan(int ndim, const int64_t *shape, int n_views, int n_extra,
                        CadRequestedPlan *room);

/* Append a step. */
CadStatus cad_build_step(CadBuild *build, CadLinearKind kind, const CadPlan *plan);

/* --- adds.c --- */

/* Append a sum of one axis, or have it wait. Its factors are `factors`: one, if it has that step,
 * or `n`. */
CadStatus cad_build_add(CadBuild *build, CadAdd add, const double *factors);

/* Write those that wait and have written to a span. */
CadStatus cad_build_end_waiting(CadBuild *build, CadSpan span);

/* --- array_steps.c --- */

/* Append the steps of a live entry over arrays. */
CadStatus cad_build_array(CadBuild *build, CadEntry entry);

/* In the end: put places for slots in the words of all steps. */
void cad_build_rename_words(CadBuild *build);

/* --- rows.c --- */

/* Append the row of a live operation on single numbers, or have it wait; and those of an
 * assignment. */
CadStatus cad_build_number(CadBuild *build, size_t i);
CadStatus cad_build_assignment(CadBuild *build, CadEntry e);

/* Append rows: the number at `to` goes to `kept` (-1: it is lost), then the number at `from` (-1:
 * a zero) to `to`. */
CadStatus cad_build_replace(CadBuild *build, CadSlot to, int64_t from, int64_t kept);

/* Append a row that adds a number to another one. */
CadStatus cad_build_add_number(CadBuild *build, CadSlot to, CadSlot from);

/* Append the rows of a live entry of a direct rule. */
CadStatus cad_build_rule(CadBuild *build, size_t i);

#endif
