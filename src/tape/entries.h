/* What stands on a tape: entries, and the plans of those over arrays. Files that only pass a tape
 * on include this one instead of tape.h. */
#ifndef CAD_TAPE_ENTRIES_H
#define CAD_TAPE_ENTRIES_H

#include "memory/memory.h"
#include "table/codes.h"

#include <stddef.h>
#include <stdint.h>

typedef uint32_t CadSlot;

typedef struct CadTape CadTape;     /* tape.h */
typedef struct CadSlopes CadSlopes; /* tape.h */
typedef struct CadAlong CadAlong;   /* arrays.h */

#define CAD_NONE UINT32_MAX       /* the slot of a number that is not on the tape */
#define CAD_MOST_SLOTS 0xfffffff0 /* slots below this one can be named */

/* An operand that carries no derivative is marked as passive in the code of the entry, so that the
 * sweeps neither compute its partial nor write its adjoint. The unused operand of a unary entry
 * repeats the first: a shared dummy would chain all entries through one address. */
typedef struct CadEntry {
    uint32_t code; /* CAD_CODE(op, passive operands) */
    CadSlot out;
    CadSlot a;
    CadSlot b;
} CadEntry;

enum { CAD_PASSIVE_A = 1, CAD_PASSIVE_B = 2 };

#define CAD_CODE(op, passive) ((uint32_t)(op) << 2 | (uint32_t)(passive))
#define CAD_CODE_OP(code) ((CadOp)(((code) & ~CAD_ARRAY_BIT) >> 2))

/* Structure:
 *   CAD_OP_LEAF    `a` values from `out` on, then as many accumulated gradients (`a` of them, or
 *                  none if `b` is 0)
 *   CAD_OP_THIRD   `a` is the third operand of the entry that follows; `out` is that entry's
 *   CAD_OP_ASSIGN  the number at `b` was written to `a`, whose former value `out` keeps
 * A slot without an entry is a constant.
 *
 * With this bit set in the code, the entry is one over arrays: `a` is the index of its plan in
 * tape->plans, `b` how many slots it wrote or keeps from `out` on. */
#define CAD_ARRAY_BIT 0x80000000u
#define CAD_IS_ARRAY_ENTRY(e) ((e).code >= CAD_ARRAY_BIT)

/* Whether an entry is a row of the table applied to single numbers, or assigns one. */
static inline int cad_entry_is_number(CadEntry entry) {
    return !CAD_IS_ARRAY_ENTRY(entry) && cad_op_is_row(CAD_CODE_OP(entry.code));
}

static inline bool cad_entry_assigns_number(CadEntry entry) {
    return (entry.code & ~3u) == CAD_CODE(CAD_OP_ASSIGN, 0);
}

/* The plan of an entry over arrays: a shape, and where in the buffers each operand stands. What a
 * view holds for an axis is a stride, counted in slots; 0 where an operand is broadcast, or summed
 * over.
 *
 *   row of the table  views: result, operands; `passive` bit k: operand k has no derivative
 *
 *   kind of kinds.def views: result, operands. If it CAD_ADDS, extra[0] tells whether it adds to
 *                     the former numbers at the result, else to 0
 *
 *   CAD_OP_GATHER     views: result; `index` holds slots of the array, counted from extra[0], its
 *                     lowest one; extra[1] is its highest one
 *
 *   CAD_OP_ASSIGN     views: target, source. `out` keeps what was overwritten
 *
 *   CAD_OP_SCATTER    views: source; `index`, extra as for CAD_OP_GATHER name the targets, in the
 *                     order of assignment; `out` keeps what was overwritten
 *
 *   CAD_OP_ADD_AT     as CAD_OP_SCATTER, but the source is added; no values are kept
 *
 *   CAD_OP_RULE       extra: number of the rule, number of operands, and for each of these a
 *                     CadOperand of a shape of its own */
typedef struct CadPlan {
    uint32_t words; /* length, in units of 8 bytes */
    uint16_t ndim;
    uint16_t n_views;
    uint32_t n_extra;
    uint32_t passive;
    int64_t size;   /* elements of the shape */
    int64_t index;  /* slot of as many int64 offsets, or -1 */
    int64_t rest[]; /* shape; for each view: slot, strides; extra */
} CadPlan;

enum { CAD_PLAN_WORDS = sizeof(CadPlan) / sizeof(int64_t), CAD_MOST_AXES = 64 };

/* In `passive` of a rule: it is carried out without Python, in sweeps of any number of lanes. */
enum { CAD_DIRECT_RULE = 1 };

/* In `passive` of a row, a kind, or CAD_OP_ADD_AT: what it computes is in single precision
 * (kernels/single.h). */
#define CAD_IN_SINGLE 0x80000000u

static inline int cad_plan_is_single(const CadPlan *plan) {
    return (plan->passive & CAD_IN_SINGLE) != 0;
}

static inline int64_t *cad_plan_shape(CadPlan *plan) {
    return plan->rest;
}

static inline int64_t *cad_plan_view(CadPlan *plan, int k) {
    return plan->rest + plan->ndim + k * (plan->ndim + 1);
}

static inline int64_t *cad_plan_extra(CadPlan *plan) {
    return cad_plan_view(plan, plan->n_views);
}

/* Leave out axes of length 1, and join neighbours along which all views move evenly. Axes from
 * `fixed` on stay as they are. Answers how many axes there are now. */
int cad_axes_joined(int ndim, int fixed, int64_t *shape, int n_views,
                    int64_t strides[][CAD_MOST_AXES]);

/* --- kinds of entries --- */

/* The effect of an entry over arrays on the slots in its index. */
typedef enum CadIndexed { CAD_INDEXES_NONE, CAD_READS_INDEXED, CAD_WRITES_INDEXED } CadIndexed;

/* What becomes of the numbers that stood where an entry writes. */
typedef enum CadFormer {
    CAD_FORMER_NONE,  /* its result stands at slots of its own */
    CAD_FORMER_KEPT,  /* they go to its own slots, from `out` on */
    CAD_FORMER_ADDED, /* the result is added to them, */
    CAD_MAY_BE_ADDED, /* if extra[0] is not 0; else there are none */
} CadFormer;

/* Of kinds: see table/kinds.def. */
enum { CAD_ADDS = 1, CAD_MULTIPLIES = 2, CAD_RUNS = 4, CAD_BACKWARDS = 8, CAD_G = 0 };

/* A request of a kind: the adjoint of an operand += an operation of kind `op` on views `of`, which
 * are operands, or (CAD_G) the adjoint of the result. The axes of its core are those of the
 * entry's that `axes` names. */
typedef struct CadPull {
    uint8_t op;
    uint8_t of[2];
    uint8_t axes[3];
} CadPull;

/* What all traversals have to know of an entry, whatever it computes. */
typedef struct CadEntryKind {
    uint8_t n_views;  /* in its plan */
    uint8_t n_extra;  /* of a rule: as many as it wants */
    uint8_t indexed;  /* a CadIndexed */
    uint8_t former;   /* a CadFormer */
    uint8_t is_rule;  /* its operands stand in extra, each with a shape of its own */
    uint8_t is_moved; /* numbers go elsewhere, or are added: partials depend on no value */
    uint8_t core;     /* of a kind: so many of the last axes are the kernel's own */
    uint8_t traits;   /* of a kind */
    CadPull pull[2];  /* of a kind, for each operand */
} CadEntryKind;

extern const CadEntryKind cad_entry_kinds[CAD_OP_COUNT];

static inline const CadEntryKind *cad_entry_kind(CadEntry entry) {
    return &cad_entry_kinds[CAD_CODE_OP(entry.code)];
}

/* Whether an entry overwrites numbers, which it keeps: a sweep has to restore them. */
static inline bool cad_entry_overwrites(CadEntry entry) {
    return cad_entry_kind(entry)->former == CAD_FORMER_KEPT;
}

static inline bool cad_entry_is_rule(CadEntry entry) {
    return cad_entry_kind(entry)->is_rule;
}

/* Whether it is a kind of kinds.def, which is linear in each of its operands. */
static inline bool cad_op_is_kind(CadOp op) {
    return op < CAD_OP_LEAF;
}

/* Whether the last three axes are rows, inner length and columns of matrices. */
static inline int cad_op_multiplies(CadOp op) {
    return (cad_entry_kinds[op].traits & CAD_MULTIPLIES) != 0;
}

/* Whether the result is a sum of products of the operands' numbers, which come together. */
static inline bool cad_op_sums_up(CadOp op) {
    return (cad_entry_kinds[op].traits & (CAD_ADDS | CAD_MULTIPLIES)) != 0;
}

/* Whether an operation goes element by element over one operand or, if it is a row, over several.
 */
static inline int cad_op_is_elementwise(CadOp op) {
    const CadEntryKind *const kind = &cad_entry_kinds[op];
    return cad_op_is_row(op) || ((kind->traits & CAD_ADDS) != 0 && kind->n_views == 2);
}

/* Numbers of room that an operation of a kind over a shape, and its requests, need for so many
 * lanes; SIZE_MAX: more than can be counted. */
size_t cad_op_room(CadOp op, int ndim, const int64_t *shape, size_t lanes);

/* The same for an entry in single precision, whose numbers are copied as floats. */
size_t cad_op_room_of_floats(CadOp op, int ndim, const int64_t *shape);

/* What belongs to the axes of an entry, such as strides, for those of a request: the core, from
 * axis `outer` on, in the order that it names. */
static inline void cad_requested_axes(const CadPull *pull, int ndim, int outer,
                                      const int64_t *from, int64_t *to) {
    for (int i = 0; i < ndim; i++) {
        to[i] = from[i < outer ? i : outer + pull->axes[i - outer]];
    }
}

/* Whether a request adds up along an axis, of which its target has these strides. */
static inline bool cad_requested_sum(const CadPull *pull, int ndim, int axis,
                                     const int64_t *target) {
    const int traits = cad_entry_kinds[pull->op].traits;
    return (traits & CAD_MULTIPLIES) != 0 ? axis == ndim - 2
                                          : (traits & CAD_ADDS) != 0 && target[axis] == 0;
}

/* Whether the plan of an entry of a kind adds to what stood there. */
static inline int cad_plan_adds(const CadEntryKind *kind, CadPlan *plan) {
    return kind->former == CAD_FORMER_ADDED ||
           (kind->former == CAD_MAY_BE_ADDED && cad_plan_extra(plan)[0] != 0);
}

/* An operand of a rule: slot, number of axes, shape, strides. */
typedef struct CadOperand {
    int64_t slot;
    int64_t ndim;
    int64_t shape_and_strides[];
} CadOperand;

/* The operand at `place`, which begins at cad_plan_extra(plan) + 2, and where the next one is. */
static inline CadOperand *cad_next_operand(int64_t **place) {
    CadOperand *operand = (CadOperand *)*place;
    *place += 2 + 2 * operand->ndim;
    return operand;
}

/* The lowest and highest slot of a view of a plan. */
void cad_plan_bounds(CadPlan *plan, int view, int64_t *low, int64_t *high);

/* Slots from the lowest to the highest one; none if that is lower. */
typedef struct CadSpan {
    int64_t low;
    int64_t high;
} CadSpan;

/* Where an entry over arrays writes its result: a view, what its index names, or its own slots. */
CadSpan cad_entry_result(CadEntry entry, CadPlan *plan);

/* What entries over arrays read, one after the other: views, what an index names, operands of a
 * rule. */
typedef struct CadSource {
    int view;            /* -1: it is no view */
    int bit;             /* of plan->passive; -1: rules know for themselves */
    int64_t slot;        /* of its first number, or the lowest one that an index names */
    CadOperand *operand; /* of a rule, else NULL */
    CadPlan *plan;
    int next; /* view */
    int64_t more;
    int64_t *place; /* of the next operand, or of the slots that are indexed */
} CadSource;

static inline CadSource cad_plan_sources(const CadEntryKind *kind, CadPlan *plan) {
    CadSource source = {.view = -1, .bit = -1, .plan = plan};
    source.next = kind->indexed == CAD_WRITES_INDEXED ? 0 : 1;
    source.place = cad_plan_extra(plan);
    if (kind->is_rule) {
        source.more = source.place[1];
        source.place += 2;
    } else {
        source.more = kind->indexed == CAD_READS_INDEXED;
        source.bit = 1;
    }
    return source;
}

/* The next one; 0 if there is none. */
static inline int cad_next_source(CadSource *source) {
    if (source->next < source->plan->n_views) {
        source->view = source->bit = source->next++;
        source->slot = cad_plan_view(source->plan, source->view)[0];
        return 1;
    }
    if (source->more == 0) {
        return 0;
    }
    source->more--;
    source->view = -1;
    if (source->bit >= 0) {
        source->bit = 1; /* the array comes after the result */
        source->slot = source->place[0];
    } else {
        source->operand = cad_next_operand(&source->place);
        source->slot = source->operand->slot;
    }
    return 1;
}

/* The next one that carries derivatives. */
static inline int cad_next_variable(CadSource *source) {
    while (cad_next_source(source)) {
        if (source->bit < 0 || !(source->plan->passive >> source->bit & 1)) {
            return 1;
        }
    }
    return 0;
}

CadSpan cad_source_span(const CadSource *source);

/* Put other slots in place of all that a plan names. */
static inline void cad_plan_rename(const CadEntryKind *kind, CadPlan *plan,
                                   int64_t (*rename)(const void *context, int64_t slot),
                                   const void *context) {
    int64_t *extra = cad_plan_extra(plan);
    for (int k = 0; k < plan->n_views; k++) {
        int64_t *const view = cad_plan_view(plan, k);
        view[0] = rename(context, view[0]);
    }
    if (kind->indexed) {
        extra[0] = rename(context, extra[0]);
        extra[1] = rename(context, extra[1]);
    }
    if (kind->is_rule) {
        int64_t *next = extra + 2;
        for (int64_t k = extra[1]; k > 0; k--) {
            CadOperand *const operand = cad_next_operand(&next);
            operand->slot = rename(context, operand->slot);
        }
    }
    if (plan->index >= 0) {
        plan->index = rename(context, plan->index);
    }
}

/* How many slots from entry.out on are the entry's. */
static inline size_t cad_entry_slots(CadEntry entry) {
    if (CAD_IS_ARRAY_ENTRY(entry)) {
        return entry.b;
    }
    if (CAD_CODE_OP(entry.code) == CAD_OP_LEAF) {
        return entry.b ? 2 * (size_t)entry.a : entry.a;
    }
    return 1;
}

/* --- what is told of a tape, and to it --- */

/* What stands on a tape, or on a part of it. */
typedef struct CadFilled {
    size_t entries;
    size_t slots;
    size_t plan_words;
    size_t assigned;
    size_t blocks;
    size_t rules;
} CadFilled;

/* Where an entry comes from, in the numbers of the hook on the tape; 0 is unknown. */
typedef struct CadOrigin {
    uint32_t place; /* in the program */
    uint32_t shape; /* of its result, if that is an array */
} CadOrigin;

/* A hook: functions called for each recorded entry. Then there is no room in advance: each entry
 * asks for it, so that tapes without a hook pay nothing. The functions append nothing; they may
 * be NULL. */
typedef struct CadHook {
    void *holder;
    /* Where the entry that is about to be appended comes from. */
    uint32_t (*place)(void *holder);
    /* A single number is about to be appended. */
    CadStatus (*number)(void *holder, CadOp op, const double *operands, double value);
    /* A reverse sweep has carried out an entry: then sweeps go entry by entry. */
    CadStatus (*swept)(void *holder, size_t entry);
    /* The last entry made an array. */
    CadStatus (*array)(void *holder, int ndim, const ptrdiff_t *shape);
} CadHook;

/* Memory for lanes, which serves again. */
typedef struct CadLaneBuffer {
    double *data;
    size_t capacity;
} CadLaneBuffer;

#endif
