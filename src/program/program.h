/* Programs: instructions over numbered places, made from a graph, run without anything else.
 *
 * A place holds a number, or as many lanes of it as there are points, but for what all of these
 * share: the first inputs, and constants, which have negative places. Operations of one kind that
 * do not wait for each other are one instruction over vectors; the rest runs number by number. */
#ifndef CAD_PROGRAM_H
#define CAD_PROGRAM_H

#include "graph/graph.h"
#include "program/native.h"

typedef enum CadStepKind {
#define CAD_INSTRUCTION(kind, ...) CAD_##kind,
#include "program/instructions.def"
} CadStepKind;

enum {
    CAD_STEP_KINDS = 0
#define CAD_INSTRUCTION(...) +1
#include "program/instructions.def"
};

/* Some arrays stand as floats, two in a place: those of a program for one point that are in single
 * precision. The floats from place p on are named CAD_FLOATS + 2 p, and so on. Vectors, rows and
 * products know of them whose views are all floats; and vectors that round doubles to floats, or
 * make doubles of them. */
enum { CAD_FLOATS = 3 << 29, CAD_LEAST_FLOAT = 1 << 30, CAD_MOST_FLOAT_PLACES = 1 << 28 };
enum { CAD_TO_FLOATS = 1, CAD_FROM_FLOATS = 2 };

/* Tiles are turns of a loop, in each of which an instruction goes on where it was: a vector by its
 * `n` numbers, a plan, view by view, by what stands in `extra`. A sum from all turns is there
 * before them: it has no `n` of numbers that begin as zeros. Places from `n_whole` on are written
 * anew in each turn, and stay where they are.
 *
 * Turns are divided into parts that do not wait for each other, so that threads may share them:
 * each thread has places from `n_whole` on for itself, and each part has sums of its own, which
 * are `extra`[number of views] apart. Instructions behind the loop add these up. How many turns a
 * part has does not depend on threads, nor do results. */
typedef struct CadInstruction {
    uint8_t kind;
    uint8_t near : 1;   /* values may differ from NumPy's in the last place */
    uint8_t floats : 2; /* CAD_TO_FLOATS, CAD_FROM_FLOATS */
    uint8_t refers
        : 1; /* a place of it is referred to, or of one of the next ones that it heads */
    uint16_t op;
    uint32_t n;
    uint32_t fused; /* so many instructions are carried out from here on: 1, but for tiles */
    int32_t out;
    int32_t x, y, z;
    int32_t sx, sy, sz;
} CadInstruction;

/* Single operations beside the rows of the table: out = sin(x), and at y cos(x); a product and
 * what it is added to, subtracted from, or less: x y + z, z - x y, x y - z, each rounded twice;
 * and the same of products in which zeros absorb. */
enum {
    CAD_SINGLE_SINCOS = CAD_OP_COUNT,
    CAD_SINGLE_ADDED,
    CAD_SINGLE_TAKEN,
    CAD_SINGLE_LESS,
    CAD_SINGLE_ABSORBED_ADDED,
    CAD_SINGLE_ABSORBED_TAKEN,
    CAD_SINGLE_ABSORBED_LESS,
};

typedef struct CadSingle {
    uint32_t op;
    int32_t out, x, y, z;
} CadSingle;

/* `n` numbers of a result: from `place` on, `step` apart; or at lists[place + i], if `listed`. */
typedef struct CadStretch {
    int32_t place;
    int32_t step;
    uint32_t n;
    uint32_t listed;
} CadStretch;

/* What a guard compares, in the order of the guards. */
typedef struct CadCheck {
    int32_t place;
    uint32_t number; /* of the guard */
    double value;
} CadCheck;

/* Large inputs and results, and inputs that are only read at indices, need no copy: the place
 * `pointer` holds the address of the first number, as bits. No single operation and no list names
 * places of theirs. */
typedef struct CadReferred {
    int32_t place; /* where its numbers stand, if they are copied */
    uint32_t size;
    int32_t pointer; /* of an input one of the places behind all inputs */
    int32_t result;  /* of a result: it begins with this number of all results; else -1 */
    int32_t floats;  /* of floats: the place of the first two, if they are copied; else -1, or */
} CadReferred;

enum { CAD_REPEATED = -2 }; /* in `floats`: one number, which is repeated when results are read */

/* Threads that help: each of `n` parts of some work is done once, by whomever, in whatever order.
 * A thread that helps brings room for `n_room` numbers; the one that asks has `own`. */
typedef void CadPartOfWork(const void *work, size_t part, double *room);

typedef struct CadTeam {
    void (*share)(void *self, size_t n, size_t n_room, double *own, CadPartOfWork *run,
                  const void *work);
    void *self;
} CadTeam;

/* A recurrence (graph/graph.h) goes in stretches of turns, with their numbers side by side in
 * strips. `ahead` computes, for a stretch at once, the numbers that wait for no turn before;
 * `behind` those for which no turn waits; between them `core` computes turn after turn, some
 * `together`, and `single` the few that are left. Each is a program with a room of its own, or
 * NULL. Turns that compute arrays are in `core` as a whole, one by one; they hand on blocks,
 * copied from place to place.
 *
 * The first strips are those of carried numbers: before the first turn of a stretch, then after
 * each turn. `plans` holds from `at` on, one behind the other (a source is the place in the
 * strips where it begins, or -1 - k for the k-th given number if it is the same in all turns):
 *
 * - initial: of each carried number its place before the first turn
 * - given: of each given number its place, the step to that of the next turn, its strip or -1
 * - sizes: of blocks, carried, given, kept and summed
 * - outs: of each end where its numbers go, or CAD_UNREAD; and the distance to those of the next
 *   turn, or 0: then the last ones are left
 *
 * For blocks, in the core, whose inputs stand in a row, there follow
 *
 * - ends: of each its place
 *
 * and else
 *
 * - ahead: sources of its inputs; then of each result its place there, and its strip
 * - core: sources of its inputs behind the carried ones; where in the strips results go
 * - core: places of the carried results; then for each turn those of results
 * - single: the same for one turn
 * - behind: as ahead
 * - kept: where in the strips it is
 * - sums: likewise */
enum { CAD_STRIP_MARGIN = 8 }; /* by which strips are longer than a stretch */
#define CAD_UNREAD INT64_MIN

typedef struct CadScanPlan {
    struct CadProgram *ahead, *core, *single, *behind;
    int in_blocks;
    uint32_t n_carried, n_given, n_kept, n_summed;
    uint32_t n_into_ahead, n_from_ahead, n_into_core, n_from_core, n_into_behind, n_from_behind;
    uint32_t length, together;
    size_t n_in_strips;
    size_t at;
} CadScanPlan;

/* The sizes of blocks: carried, given, kept, then summed. */
static inline const int64_t *cad_scan_plan_sizes(const CadScanPlan *plan, const int64_t *plans) {
    return plans + plan->at + plan->n_carried + 3 * (size_t)plan->n_given;
}

static inline size_t cad_scan_plan_n_sizes(const CadScanPlan *plan) {
    return (size_t)plan->n_carried + plan->n_given + plan->n_kept + plan->n_summed;
}

static inline size_t cad_scan_plan_n_ends(const CadScanPlan *plan) {
    return (size_t)plan->n_carried + plan->n_kept + plan->n_summed;
}

static inline const int64_t *cad_scan_plan_outs(const CadScanPlan *plan, const int64_t *plans) {
    return cad_scan_plan_sizes(plan, plans) + cad_scan_plan_n_sizes(plan);
}

/* How many numbers there are of an end. */
static inline int64_t cad_scan_plan_length(const CadScanPlan *plan, const int64_t *plans,
                                           size_t end, size_t n) {
    const size_t n_carried = plan->n_carried;
    const int64_t size =
        cad_scan_plan_sizes(plan, plans)[end < n_carried ? end : end + plan->n_given];
    const int is_row = cad_scan_plan_outs(plan, plans)[2 * end + 1] != 0;
    return is_row ? size * (int64_t)(end < n_carried ? n + 1 : n) : size;
}

/* Some instructions as machine code. It finds numbers at their places, and leaves them there as
 * the instructions do: those that lanes share, and constants, from `shared` on, all others from
 * `own` on. It answers the guard that does not hold, or -1. */
typedef long CadMachineCode(double *shared, double *own);

/* The same of a program for many points, of which so many, at most CAD_MACHINE_LANES, stand side
 * by side. */
typedef long CadMachineLanes(double *shared, double *own, long lanes);
enum { CAD_MACHINE_LANES = 128 };

/* What machine code calls for an operation on `n` numbers, with their steps. */
void cad_machine_value(int op, long n, double *out, long so, const double *x, long sx,
                       const double *y, long sy, const double *z, long sz);

/* The same for instructions of tiles, in one of their turns. */
typedef void CadMachineTurn(double *shared, double *own, double *tiles, long turn, long part);

typedef struct CadMachinePiece {
    size_t first, n;     /* instructions */
    CadMachineCode *run; /* of tiles a CadMachineTurn, of many points CadMachineLanes */
} CadMachinePiece;

typedef struct CadMachine CadMachine;

/* What a program consists of, as LIST(type of items, items, how many). */
#define CAD_PROGRAM_LISTS(LIST)                                                                   \
    LIST(CadInstruction, code, n_code)                                                            \
    LIST(CadSingle, singles, n_singles)                                                           \
    LIST(int32_t, lists, n_lists)                                                                 \
    LIST(int64_t, plans, n_plan_words)                                                            \
    LIST(CadScanPlan, scans, n_scans)                                                             \
    LIST(double, constants, n_constants) /* at place -k - 1 stands the k-th from their end */     \
    LIST(CadStretch, outputs, n_outputs)                                                          \
    LIST(CadCheck, checks, n_checks)                                                              \
    LIST(CadReferred, referred, n_referred)

typedef struct CadProgram {
    CAD_PROGRAM_LISTS(CAD_LIST_MEMBERS)
    size_t n_inputs;
    size_t n_shared;     /* of the first inputs, which all directions have in common */
    size_t n_places;     /* that are no constants */
    size_t n_whole;      /* of these the first ones, which are not those of tiles */
    size_t n_results;    /* numbers in all stretches */
    size_t n_operations; /* on numbers, for people */
    bool lists_refer;    /* whether a list that is read names places that are referred to */
    bool has_arrays;     /* plans, or tiles: lanes of points go one by one */
    bool compares_last;  /* checks are no instructions: all are made at the end */
    bool has_calls;      /* which are for the owner */
    bool has_parts;      /* loops over tiles that threads may share */
    /* Set by the owner of the graph, if there are calls: carries one of them out, or answers -1.
     */
    int (*call)(void *owner, uint32_t number, const double *operands, double *results);
    /* The same for `lanes` points, whose numbers stand side by side. */
    int (*call_lanes)(void *owner, uint32_t number, size_t lanes, const double *operands,
                      double *results);
    void *owner;
    const CadNative *const *natives; /* of each call: what C carries out by itself, or NULL */
    const CadTeam *team; /* set by the owner: who shares parts of loops over tiles, or NULL */
    CadMachine *machine; /* its instructions once some are machine code, or NULL */
    CadMachine *in_use;  /* the same while they are run, or NULL */
} CadProgram;

/* Where a place is among those of doubles. */
static inline int64_t cad_place_of_double(int64_t place) {
    return place >= CAD_LEAST_FLOAT ? (place - CAD_FLOATS) / 2 : place;
}

/* Whether a place is not among those that turns of a loop over tiles write anew. */
static inline int cad_program_keeps(const CadProgram *program, int64_t place) {
    return cad_place_of_double(place) < (int64_t)program->n_whole;
}

/* Numbers in a line of the cache. */
enum { CAD_LINE = 8 };

/* What a program is for. Along many directions the first `n_shared` inputs are no part of them. At
 * many points lanes are vectors enough, and numbers in few places stay in the cache. In the turns
 * of a loop operations follow each other, products with the sums that they are in; where these
 * are arrays, or turns hand on blocks, what goes in and out is copied. */
typedef enum CadUse {
    CAD_AT_A_POINT,
    CAD_ALONG_DIRECTIONS,
    CAD_AT_MANY_POINTS,
    CAD_IN_TURNS,
    CAD_IN_BLOCKS
} CadUse;

/* A program for the numbers `roots` of a graph. `inputs` are the first elements of the input
 * arrays that these depend on, in the order of the caller's inputs; none is empty. */
CadStatus cad_program_make(CadGraph *graph, CadUse use, const CadId *inputs, size_t n_inputs,
                           size_t n_shared, const CadId *roots, size_t n_roots,
                           CadProgram **program);

void cad_program_free(CadProgram *program);

/* Have calls within loops carried out by the owner of the program, which is set. */
void cad_program_share_owner(CadProgram *program);

/* Have C carry out the calls that it can: one for each number, NULL for those of the owner. They
 * have to outlive the program. */
void cad_program_set_natives(CadProgram *program, const CadNative *const *natives);

/* Give it machine code for some of the instructions, one piece behind the other: for one
 * point, for so many lanes, or (0) for any number of them. It keeps what it was given first. */
CadStatus cad_program_set_machine(CadProgram *program, size_t lanes, const CadMachinePiece *pieces,
                                  size_t n);

/* Have it and its turns run by the machine code that there is, or not. It may be running. */
void cad_program_use_machine(CadProgram *program, bool is_used);

/* Places that an instruction reads or writes: from the first one on, so far apart along each axis;
 * or, if they are listed, as many on from the first one as each of a list says. `view` is which
 * one it is of a plan, or -1. */
typedef struct CadRegion {
    int64_t first;
    int n_axes, view;
    const int64_t *lengths, *steps;
    const int32_t *listed;
    bool reads, writes;
} CadRegion;

/* Tell a visitor of each of them. */
typedef void CadVisit(void *visitor, const CadRegion *region);
void cad_instruction_visit(const CadProgram *program, const CadInstruction *instruction,
                           CadVisit *visit, void *visitor);

/* What others ask of a kind: a row of instructions.def. */
#define CAD_STEP_TRAITS(TRAIT)                                                                    \
    TRAIT(BY_FORMULA)                                                                             \
    TRAIT(OPERATES)                                                                               \
    TRAIT(TILED)                                                                                  \
    TRAIT(CALLS)                                                                                  \
    TRAIT(HEADS)                                                                                  \
    TRAIT(OVER_ROWS)                                                                              \
    TRAIT(OVER_LISTS)                                                                             \
    TRAIT(OVER_PLAN)                                                                              \
    TRAIT(OVER_SINGLES)                                                                           \
    TRAIT(OVER_CHECKS)                                                                            \
    TRAIT(OVER_SCAN)

enum {
#define CAD_TRAIT(trait) CAD_NUMBER_OF_##trait,
    CAD_STEP_TRAITS(CAD_TRAIT) CAD_N_TRAITS
#undef CAD_TRAIT
};

enum {
#define CAD_TRAIT(trait) CAD_##trait = 1 << CAD_NUMBER_OF_##trait,
    CAD_STEP_TRAITS(CAD_TRAIT)
#undef CAD_TRAIT
};

typedef struct CadStepInfo {
    const char *kind, *word, *name, *formula, *left;
    int traits;
} CadStepInfo;

extern const CadStepInfo cad_step_info[CAD_STEP_KINDS];
extern const char *const cad_step_traits[CAD_N_TRAITS];

static inline int cad_step_is(const CadInstruction *i, int traits) {
    return cad_step_info[i->kind].traits & traits;
}

/* Whether its operation is of a kind (table/kinds.def), over a plan. */
static inline int cad_step_is_of_kind(const CadInstruction *i) {
    return cad_step_is(i, CAD_OVER_PLAN) && cad_step_is(i, CAD_OPERATES) &&
           cad_op_is_kind((CadOp)i->op);
}

/* To compare programs: operations, and the memory that they go through, instructions and numbers.
 */
size_t cad_program_cost(const CadProgram *program);

size_t cad_program_bytes(const CadProgram *program);

/* Numbers in a workspace, for so many lanes; and a workspace made ready. */
size_t cad_program_room(const CadProgram *program, size_t lanes);
void cad_program_prepare(const CadProgram *program, double *room);

/* Numbers of a lane that are used again and again: without the rows that loops go through. */
size_t cad_program_near_room(const CadProgram *program);

/* Where the places are in a workspace: inputs are written from here on. The first one begins a
 * line of the cache, behind the constants. */
static inline double *cad_program_places(const CadProgram *program, const double *room) {
    const double *const end = room + program->n_constants;
    const uintptr_t before = (uintptr_t)0 - (uintptr_t)end / sizeof *end;
    return (double *)end + before % CAD_LINE;
}

/* Say where numbers are that are referred to, doubles or floats; they have to stay there. */
static inline void cad_program_refer(double *places, CadReferred referred, const void *numbers) {
    memcpy(places + referred.pointer, &numbers, sizeof numbers);
}

/* Where they are by what was said. */
static inline const void *cad_program_referent(const double *places, CadReferred referred) {
    const void *numbers;
    memcpy(&numbers, places + referred.pointer, sizeof numbers);
    return numbers;
}

/* Where they are if they are copied. */
static inline double *cad_program_own(double *places, CadReferred referred) {
    return places + (referred.floats >= 0 ? referred.floats : referred.place);
}

/* Inputs are copied to their places, those that are referred to, too, and results are to be. */
static inline void cad_program_refer_to_places(const CadProgram *program, double *places) {
    for (size_t k = 0; k < program->n_referred; k++) {
        cad_program_refer(places, program->referred[k],
                          cad_program_own(places, program->referred[k]));
    }
}

/* After that, once all inputs are in their places: store those that are to be floats so, unless
 * something else was said of them. */
void cad_program_narrow_inputs(const CadProgram *program, double *places);

/* Have large results, which are doubles, written where they are wanted. */
static inline void cad_program_refer_to_results(const CadProgram *program, double *places,
                                                double *results) {
    for (size_t k = 0; k < program->n_referred; k++) {
        const CadReferred referred = program->referred[k];
        if (referred.result >= 0 && referred.floats < 0) {
            cad_program_refer(places, referred, results + referred.result);
        }
    }
}

/* Write inputs, which stand in a row, to their places; those that are referred to stay where they
 * are. Results go to their places. */
void cad_program_take_inputs(const CadProgram *program, double *places, const double *inputs);

/* Carry it out: inputs stand in their places. Answers the guard that does not hold, or -1; if a
 * call has failed, CAD_CALL_FAILED; if an index is out of bounds, CAD_OUT_OF_BOUNDS. */
enum { CAD_CALL_FAILED = -2, CAD_OUT_OF_BOUNDS = -3 };
long cad_program_run(const CadProgram *program, double *room);

/* As cad_program_run, with a clock: the time of each instruction is added to seconds[its index].
 * If `spare`, a place to write to, is not below 0, the time of each single operation is measured
 * instead, apart from its neighbours: longer than among them. */
long cad_program_profile(const CadProgram *program, double *room, int32_t spare,
                         double (*now)(void), double *seconds);

/* The outcome at a guard that does not hold. */
double cad_program_outcome(const CadProgram *program, const double *room, long guard);

/* Copy the results, but those that were referred to where they are wanted. */
void cad_program_read(const CadProgram *program, const double *room, double *results);

/* The same for those from `first` on up to `end`. */
void cad_program_read_some(const CadProgram *program, const double *room, size_t first, size_t end,
                           double *results);

/* Many directions: the inputs that are shared stand in their places. Of the others each direction
 * has a row in `own`, and one in `results`; where `own` is NULL, directions are unit vectors, from
 * the one along `unit` on. Only what differs has lanes, one behind the other, and vectors of all
 * lanes are multiplied by a matrix at once: products with unit vectors are columns of it. */
typedef struct CadDirections {
    const double *own;
    double *results;
    size_t unit;
} CadDirections;

/* Directions [begin, end), up to so many at a time. Answers as cad_program_run. */
long cad_program_run_along(const CadProgram *program, size_t lanes, double *room,
                           const CadDirections *directions, size_t begin, size_t end);

/* Some numbers of many points: `n` of each, side by side; those of the next point `row` further
 * on.
 */
typedef struct CadColumns {
    double *data;
    ptrdiff_t row;
    size_t n;
} CadColumns;

/* Many points. `n_own` inputs differ from point to point, and stand in the columns `own`, in their
 * order; the others are `shared` by all: those of all directions, which come first, and those
 * behind. Results go to the columns `results`, in their order. A point whose guards do not hold is
 * marked in `missed`; its results mean nothing. */
typedef struct CadPoints {
    const CadColumns *own;
    size_t n_own_columns, n_own;
    const double *shared;
    const CadColumns *results;
    uint8_t *missed;
} CadPoints;

/* A workspace for points of these, so many at a time. With plans in the program there has to be
 * one lane. */
void cad_program_prepare_points(const CadProgram *program, size_t lanes, double *room,
                                const CadPoints *points);

/* Points [begin, end). Answers how many points missed, or CAD_CALL_FAILED. */
long cad_program_run_points(const CadProgram *program, size_t lanes, double *room,
                            const CadPoints *points, size_t begin, size_t end);

#endif
