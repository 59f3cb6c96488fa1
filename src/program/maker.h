/* What the files that make a program share with each other alone.
 *
 * A number's level is one more than that of its operands; operations of one level do not wait for
 * each other. Those of one kind in a level are one vector, ordered so that operands stand side by
 * side wherever possible. A long chain of additions is one sum. Places of numbers that are
 * not read any more are used again. */
#ifndef CAD_PROGRAM_MAKER_H
#define CAD_PROGRAM_MAKER_H

#include "kernels/kernels.h"
#include "program/program.h"

enum {
    LONG_CHAIN = 8, /* terms, from which on additions are one sum */
    FEW = 24,       /* operations, from which on a vector is worth it */
    NOWHERE = INT32_MAX,
    LONG_VECTOR = 2 * CAD_TILE, /* numbers, from which on it goes tile by tile */
};

/* Numbers of one group are likely to stand side by side. */
enum {
    SINGLE_GROUP = 0,
    CONSTANT_GROUP = 1,
    FIRST_GROUP = 2, /* of arrays, then of vectors */
};

#define FOREVER UINT32_MAX /* the level at which results are read */

/* Large blocks have places of their own from here on, until it is known which instructions go tile
 * by tile: then they are given places that others had before them, see tiles.c. */
enum { FAR = 1 << 30 };

typedef struct CadFarBlock {
    int32_t place;
    uint32_t size;
    int is_float;
    int is_fixed; /* floats whose place is known: that of the first two is `to` */
    int32_t to;
} CadFarBlock;

typedef struct CadFreeBlock {
    int32_t place;
    uint32_t size;
} CadFreeBlock;

typedef struct CadRelease {
    int32_t place;
    uint32_t size;
    uint32_t next; /* at the same level */
} CadRelease;

/* Where an array stands: in a block of its own, or in the block of the array that it is joined
 * into, so that nothing is copied. */
typedef struct CadHome {
    uint32_t of;   /* the record of the whole, 0: there is none; */
    int32_t at;    /* its first place there */
    int32_t block; /* of its own, else NOWHERE */
} CadHome;

/* Numbers that were brought side by side, `size` of them, from the places that `lists` has from
 * one on. */
typedef struct CadGathered {
    size_t begin, size;
    int32_t to;
    int stays; /* they are what they were on all levels */
} CadGathered;

/* Where an operand of a vector stands: a number for each element, `step` apart. */
typedef struct CadPlaces {
    int32_t place;
    int32_t step;
} CadPlaces;

typedef CadStatus CadMakeBody(CadGraph *graph, CadUse use, const CadId *inputs, size_t n_inputs,
                              size_t n_shared, const CadId *roots, size_t n_roots,
                              CadProgram **program);

typedef struct CadMaker {
    CadGraph *graph;
    CadMakeBody *make; /* cad_program_make, for programs within this one */
    int is_partial;    /* what is emitted: see CadRecord */
    CadUse use;
    int copies; /* inputs and results, and refers to none */
    const CadId *inputs, *roots;
    size_t n_inputs, n_shared, n_roots;
    CadProgram *program;
    CadStatus status;
    CadMemory memory; /* what does not grow */
    int stores_floats;
    int joins;        /* operations of one kind to vectors, chains to sums */
    int fuses;        /* products and sums of single numbers to one operation */
    int32_t boundary; /* places below it are the same for all directions */
    CadId
        *ends; /* what it is made for: roots, what is taken at indices, and what guards look at */
    size_t n_ends;
    /* of records */
    uint32_t *uses;    /* by records and results; of parts of a sum none */
    uint32_t *chain;   /* how many terms a sum would have; 0: it is part of another sum, or none */
    uint32_t *product; /* of sums and differences one that is part of them, or 0 */
    uint32_t *level;
    uint32_t *last; /* the level at which it is read last */
    uint32_t *group;
    int32_t *place;
    CadHome *homes;
    int32_t *floats;     /* where an array stands as floats, from FAR on */
    uint8_t *is_rounded; /* whether nothing but its rounding is read */
    uint8_t *rows;       /* whether turns leave more of it that is read than the last one's */
    size_t *first_read;  /* and behind the last one: where its reads begin */
    uint32_t *reads;     /* records that those that are made read, one behind the other */
    size_t n_reads, reads_capacity;
    /* of guards */
    uint32_t *check_level; /* the level after which they are compared */
    uint32_t *waiting;     /* the first call that is made only where they hold, or 0 */
    size_t n_checked;
    uint32_t n_levels;
    uint32_t n_groups;
    /* places */
    int32_t n_places;
    int32_t *spare; /* single places */
    size_t n_spare, spare_capacity;
    CadFreeBlock *blocks;
    size_t n_blocks, blocks_capacity;
    CadRelease *releases;
    size_t n_releases, releases_capacity;
    uint32_t *release_at; /* by level: the first one */
    CadFarBlock *far;
    size_t n_far, far_capacity;
    /* of one chain, of one level */
    CadId *terms; /* and, behind them, of each whether it is subtracted */
    size_t terms_capacity;
    struct CadMember *members;
    size_t members_capacity;
    CadGathered *gathered;
    size_t n_gathered, gathered_capacity;
    uint32_t gathered_level;
} CadMaker;

static inline int fail(CadMaker *m) {
    if (m->status == CAD_OK) {
        m->status = CAD_NO_MEMORY;
    }
    return 0;
}

/* An order, or what those before have told already. */
static inline int compare(int order, int64_t a, int64_t b) {
    return order != 0 ? order : (a > b) - (a < b);
}

#define GROW(owner, items, n, more)                                                               \
    (cad_memory_grow((void **)&(owner)->items, &(owner)->items##_capacity, (n) + (more),          \
                     sizeof *(owner)->items) == CAD_OK ||                                         \
     fail(m))

/* The block that a place from FAR on belongs to. */
static inline size_t cad_maker_far_block(const CadMaker *m, int64_t place) {
    size_t low = 0, high = m->n_far;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *(m->far[middle].place <= place ? &low : &high) = middle;
    }
    return low;
}

/* The places that one stays beside in the end, in all lanes, from the first to behind the last:
 * blocks move, and of a program for directions those that are shared stay where they are, when the
 * others move. */
typedef struct CadBeside {
    int32_t first, end;
} CadBeside;

static inline CadBeside cad_maker_beside(const CadMaker *m, int32_t place) {
    if (place >= FAR) {
        const CadFarBlock block = m->far[cad_maker_far_block(m, place)];
        return (CadBeside){block.place, block.place + (int32_t)block.size};
    }
    return place < m->boundary ? (CadBeside){INT32_MIN, m->boundary}
                               : (CadBeside){m->boundary, FAR};
}

static inline int cad_is_beside(CadBeside beside, int64_t place) {
    return place >= beside.first && place < beside.end;
}

/* --- numbers of the graph --- */

/* The record of a number, past records that only cut derivatives; `id` becomes its number
 * there. */
static inline uint32_t resolve(const CadMaker *m, CadId *id) {
    uint32_t i = cad_graph_record_of(m->graph, *id);
    const CadRecord *record = &m->graph->records[i];
    while (record->kind == CAD_RECORD_SINGLE && record->op == CAD_OP_stop) {
        *id = record->of.operands[0];
        i = cad_graph_record_of(m->graph, *id);
        record = &m->graph->records[i];
    }
    return i;
}

static inline uint32_t record_of(const CadMaker *m, CadId id) {
    return resolve(m, &id);
}

static inline int is_array(const CadMaker *m, size_t i) {
    return cad_record_is_array(&m->graph->records[i]);
}

static inline int is_constant_number(const CadMaker *m, size_t i) {
    return m->graph->records[i].kind == CAD_RECORD_CONSTANT;
}

/* Raise a level to another one. */
static inline void raise_to(uint32_t *level, uint32_t other) {
    *level = other > *level ? other : *level;
}

/* Whether an operation is the sum of a chain. */
static inline int is_chain(const CadMaker *m, size_t i) {
    return m->chain[i] >= LONG_CHAIN;
}

/* Whether a record is wanted and has to be computed. */
static inline int is_made(const CadMaker *m, size_t i) {
    const CadRecord *record = &m->graph->records[i];
    return m->uses[i] > 0 && cad_record_is_made(record) &&
           (record->kind != CAD_RECORD_SINGLE || record->op != CAD_OP_stop);
}

/* The places in `reads` of what a record reads. */
#define EACH_READ(m, i, k) for (size_t k = (m)->first_read[i]; k < (m)->first_read[(i) + 1]; k++)

/* --- wanted.c --- */

/* Count the uses of records that ends depend on. */
void cad_maker_find_wanted(CadMaker *m);

/* List the operands of all records, after the choice of records and of their sums. */
void cad_maker_list_reads(CadMaker *m);

/* --- chains.c --- */

/* Among the wanted numbers. */
void cad_maker_find_chains(CadMaker *m);

/* Among the wanted numbers, products that are read but once, by a sum or difference. */
void cad_maker_find_fused(CadMaker *m);

/* The terms of a chain, in the order in which they were added, in m->terms; answers how many. */
size_t cad_maker_terms(CadMaker *m, size_t head);

/* What a record is made of: of a chain the terms. */
void cad_maker_operands(CadMaker *m, size_t record, CadOperands *operands);

/* --- levels.c --- */

/* Which levels numbers get: as late as readers allow, or as early as operands do, whichever
 * promises the cheaper program. Where chains of unequal length run side by side, the one way or
 * the other keeps in step. In any case those are early that guards compare. Levels tell when
 * guards are compared, and who reads each number last. */
typedef enum CadLevels { CAD_LATEST, CAD_EARLIEST, CAD_AS_ESTIMATED } CadLevels;

void cad_maker_find_levels(CadMaker *m, CadLevels levels);

/* Records that are made, in the order of their levels: from begin[2 k] on the arrays of level k,
 * from begin[2 k + 1] on its single numbers. */
typedef struct CadByLevel {
    uint32_t *records;
    uint32_t *begin;
} CadByLevel;

/* Without memory there are none. */
CadByLevel cad_maker_sort_by_level(CadMaker *m);
/* --- places.c --- */

/* Give inputs that need not be copied a place for their address, behind all inputs. */
void cad_maker_refer_to_inputs(CadMaker *m);

/* Inputs come first; so many of them are shared. */
void cad_maker_place_inputs(CadMaker *m);

int32_t cad_maker_take_place(CadMaker *m);
int32_t cad_maker_take_block(CadMaker *m, size_t size);

/* A block from FAR on, as long as there are names for its places: 0 if not. */
int cad_maker_take_far(CadMaker *m, size_t size, int32_t *place);

/* A block for an array, from FAR on unless it is small. */
int32_t cad_maker_take_array(CadMaker *m, size_t size);

/* Among the wanted arrays, those that nothing is read of but by what they are a part of. */
void cad_maker_find_homes(CadMaker *m);

/* The block of an array: its own, which may be there before it is made, or part of another one. */
int32_t cad_maker_take_home(CadMaker *m, uint32_t i);

/* Once a level is done, the places that were to be released after it are free. */
void cad_maker_release_after(CadMaker *m, uint32_t level, int32_t place, size_t size);
void cad_maker_release_level(CadMaker *m, uint32_t level);

/* The block at a place is not to be released after all. */
void cad_maker_keep_block(CadMaker *m, uint32_t level, int32_t place);

/* Answers the place of the first one. */
int32_t cad_maker_add_constants(CadMaker *m, const double *values, size_t count);

/* Bring constants into their order, once all are there. */
void cad_maker_sort_constants(CadMaker *m);

/* --- floats.c --- */

/* Where a number stands, for those that compute of doubles. */
int32_t cad_maker_place_of(CadMaker *m, CadId id);
uint32_t cad_maker_group_of(const CadMaker *m, CadId id);

/* Among the wanted arrays, those of which nothing but what they are rounded to is read. */
void cad_maker_find_rounded(CadMaker *m);

/* Whether an array is computed as floats, of floats: then that is its place. Or is there as floats
 * already, as what it rounds is. */
typedef enum CadAsFloats {
    CAD_NOT_FLOATS,
    CAD_COMPUTED_AS_FLOATS,
    CAD_THERE_AS_FLOATS
} CadAsFloats;
CadAsFloats cad_maker_place_floats(CadMaker *m, uint32_t i);

/* Have an input be floats that are referred to: answers where they stand if they are copied, or -1
 * if it is doubles. */
int32_t cad_maker_take_input(CadMaker *m, uint32_t i);

/* --- emit.c --- */

void cad_maker_emit(CadMaker *m, CadInstruction instruction);

/* Lengthen the lists by so many places, which begin at lists[begin]; 0 if there is no room. */
int cad_maker_add_list(CadMaker *m, size_t count, size_t *begin);

/* Operations on single numbers, from singles[at] on, so many times. */
void cad_maker_emit_operations(CadMaker *m, size_t at, size_t n, size_t times);

void cad_maker_emit_zeros(CadMaker *m, size_t count, int32_t out);

/* An operation of a kind over the plan `at`: it sets `count` numbers, or adds to what is there. */
CadInstruction cad_terms(CadOp op, size_t count, int32_t out, size_t at, int in_any_order);

/* Bring the numbers at listed places side by side. */
void cad_maker_emit_take(CadMaker *m, size_t begin, size_t count, int32_t out);

void cad_maker_emit_vector(CadMaker *m, CadOp op, size_t count, int32_t out, const CadPlaces x[3]);

/* Where the stretch of places that stand evenly ends that begins with the i-th; `step` apart, 0 if
 * it has one place. */
size_t cad_maker_even_end(const CadMaker *m, const int32_t *places, size_t i, size_t count,
                          int32_t *step);

/* --- gather.c --- */

/* Have rows be long; or short, where several of them are computed at a time. */
void cad_maker_choose_axes(CadPlan *plan, int is_row, CadOp op);

/* Bring the numbers at listed places side by side: stretch by stretch, if these are long, or rows
 * of stretches at once. Answers whether the list is still needed. */
int cad_maker_emit_copies(CadMaker *m, size_t listed, size_t size, int32_t out);

/* Where the numbers at the latest list of places stand: evenly, or side by side once they are
 * brought there, for a level. */
CadPlaces cad_maker_gather(CadMaker *m, size_t begin, size_t count, uint32_t level);

/* --- results.c --- */

/* Lengthen the lists by the places of some numbers: as cad_maker_add_list. */
int cad_maker_list_places(CadMaker *m, const CadId *ids, size_t count, size_t *begin);

void cad_maker_emit_results(CadMaker *m);

/* Of lists that are taken from or added to: runs of places, as they are at last. */
void cad_maker_find_runs(CadMaker *m);

/* Have those guards compared that are to be after a level. */
void cad_maker_emit_checks(CadMaker *m, uint32_t level);

/* --- products.c --- */

/* Whether there are several products, which may have an operand in common. */
int cad_maker_has_products(const CadMaker *m);

/* Have small products with one operand in common computed on one level, if none of them is to come
 * before its earliest one. */
void cad_maker_bring_products_together(CadMaker *m, const uint32_t *early);

/* Of the arrays of one level, products with one operand in common. */
void cad_maker_emit_products(CadMaker *m, const uint32_t *records, size_t count);

/* --- emit_numbers.c, emit_arrays.c --- */

/* Operations on single numbers, all of one level. */
void cad_maker_emit_singles(CadMaker *m, const uint32_t *ids, size_t count, uint32_t level);

void cad_maker_emit_array(CadMaker *m, uint32_t i);

/* --- emit_scans.c --- */

void cad_maker_emit_scan(CadMaker *m, uint32_t i);

/* --- loops.c --- */

/* Have sine and cosine of one number found together. */
void cad_maker_join_sines(CadMaker *m);

/* Keep the bodies of loops once. */
void cad_maker_roll_up(CadMaker *m);

/* --- accesses.c --- */

/* Rename each place that is named in a program. */
typedef int32_t CadRename(void *namer, int32_t place);
void cad_program_rename(CadProgram *program, CadRename *rename, void *namer);

/* --- tiles.c --- */

/* Have instructions on large arrays share their tiles, and give blocks from FAR on their places.
 */
void cad_maker_plan_memory(CadMaker *m);

#endif
