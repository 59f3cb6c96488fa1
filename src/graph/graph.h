/* A computation as a graph of numbers: each is computed once, from numbers before it, and never
 * changes. What was written to in place on the tape is here another number of the same slot.
 *
 * A graph is a sequence of records, in the order in which they were made: a record is a single
 * number, or an array of numbers, each of which can be named alike. All numbers are made through
 * cad_graph_apply and its like. They give back an equal number if the graph has one (common
 * subexpressions), or a constant if operands are (folding). So derivatives of a graph are further
 * numbers of it: see pull.c and push.c.
 *
 * A function that runs out of memory sets graph->status and answers some number. After that the
 * graph is of no use until it is rewound to where it was before. */
#ifndef CAD_GRAPH_H
#define CAD_GRAPH_H

#include "graph/pattern.h"
#include "tape/entries.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A number: the numbers of all records are counted through. */
typedef uint32_t CadId;

#define CAD_NO_ID 0u /* none: the first record of a graph is there in its place */
#define CAD_ZERO 1u  /* the constant 0.0, which every graph has */

/* What the numbers of a record are. */
typedef enum CadRecordKind {
    CAD_RECORD_NONE,
    CAD_RECORD_CONSTANT, /* a single number, */
    CAD_RECORD_SINGLE,   /* or one that a row of the table makes of single ones */
    /* arrays */
    CAD_RECORD_INPUT,
    CAD_RECORD_CONSTANTS,
    CAD_RECORD_PACK, /* it consists of numbers that are there */
    CAD_RECORD_SCAN, /* a recurrence: a number without a value, followed by records of its ends */
    CAD_RECORD_END,  /* what it hands on from turn to turn, keeps of each, or adds up */
    CAD_RECORD_MAP,  /* an operation over views: a row of the table, or a kind */
    CAD_RECORD_ADD_TO, /* an array of its size with something added to some elements, along a view
                        */
    CAD_RECORD_ADD_AT, /* or at places that are listed, */
    CAD_RECORD_ADD_BY, /* or at indices that are numbers themselves */
    CAD_RECORD_TAKE,   /* numbers of an array at such indices */
    CAD_RECORD_CALL,   /* the results of a call, which the owner of the graph carries out */
} CadRecordKind;

typedef struct CadRecord {
    uint8_t kind;           /* CadRecordKind */
    uint8_t is_partial : 1; /* its values may be other than NumPy's, though not optimised */
    uint8_t is_known : 1;   /* it is in the table of those that are not made twice */
    uint8_t is_within : 1;  /* as indices its numbers are within the bounds of what they index */
    uint16_t op;            /* CadOp of a single number and of a map, else 0 */
    union {
        CadId operands[3]; /* those that the operation does not have are CAD_NO_ID */
        uint32_t bits[3];  /* of a constant: its value stands in the last two */
        struct {
            CadId first;
            uint32_t size;
            uint32_t at; /* its index in graph->arrays */
        } array;
    } of;
} CadRecord;

/* What else an array is made of. A plan is that of an entry over arrays, with numbers in place of
 * slots, but that the result, its first view, starts with a place within the array.
 *
 *   MAP     views: result, operands; the kinds of entries among them compute fresh numbers
 *   ADD_TO  views: target, source
 *   ADD_AT  view: source
 *   ADD_BY  views: target, source, index; extra: length, stride. From where the target is seen it
 *           goes on by index times stride. An index is a whole number below length, a negative one
 *           counts from there; with any other a program has no result.
 *   TAKE    views: result, source, index; extra: length, stride. It is the source that goes on.
 *   CALL    view: the operands, all in a row
 *   END     its number is which one of the ends, and its list the number of the SCAN */
typedef struct CadArray {
    size_t plan;     /* index in graph->words */
    size_t list;     /* PACK: index of its numbers in graph->lists; ADD_AT: of the places there;
                        SCAN: of its operands, carried and given; CONSTANTS: index in
                        graph->constants */
    CadId former;    /* the first of the numbers to which it adds, CAD_NO_ID: zeros */
    uint32_t number; /* of a call; INPUT: 1 if its numbers are floats; SCAN: index in graph->scans
                      */
} CadArray;

/* A recurrence: turns that wait for each other. The body, a graph of its own, computes one turn;
 * see cad_scan_body_of. Turns hand on blocks: numbers in a row, as many as `sizes` says. Inputs
 * of a turn are the blocks that the turn before carries on, then given blocks, which stand
 * `steps` further on for each turn. Ends are carried blocks, then kept blocks, then sums. Each
 * end is one record: a carried block at first and after each turn; a kept block of each turn; or
 * a sum. */
typedef struct CadScan {
    size_t n;
    size_t n_carried, n_given, n_kept, n_summed;
    struct CadGraph *body;
    CadId *ends;
    int64_t *steps;
    uint32_t *sizes;
} CadScan;

enum {
    CAD_SCAN_INPUT = CAD_ZERO + 1, /* the first input of a body */
    CAD_SHORT_BLOCK = 64, /* numbers of an array, from which on it is kept, not computed again */
};

/* Where numbers and records are that follow each other: single ones, or those of one array. */
typedef struct CadRun {
    CadId id;
    uint32_t record;
    uint32_t step; /* from a number to the next one: 1 record; within an array none */
} CadRun;

/* A replay that compares has to find this outcome again. */
typedef struct CadOutcome {
    CadId id;
    uint32_t number; /* of the guard, in the order in which f came to know them */
    double value;
} CadOutcome;

/* How the results of a call depend on its operands: `of` each pair `by` another number. Counted
 * through are the operands, as many numbers `between` as the owner likes, and the results. At the
 * first pair of a number all numbers that any of its pairs is by have theirs behind them. If
 * nothing is known of it, any result may depend on any operand. */
typedef struct CadLinks {
    bool is_known;
    const uint32_t *of, *by; /* the owner's */
    size_t n, n_between;
} CadLinks;

/* What an entry of a rule is in a graph. */
typedef enum CadNotedKind {
    CAD_NOTED_CALL, /* the call of this number */
    CAD_NOTED_TAKE, /* the operands are x and whole numbers, the result is x[whole numbers] */
    CAD_NOTED_ADD,  /* they are whole numbers and x, which is added to zeros there */
} CadNotedKind;

typedef struct CadNoted {
    CadNotedKind kind;
    uint32_t number;
    int axis; /* along which each whole number is of one number; -1: rows, of the first axis */
} CadNoted;

/* What there is to know of a call, beside its derivatives. */
typedef struct CadAbout {
    bool may_raise;
    bool waits; /* it is made only where f makes it, behind the guards before: it may never end */
    bool is_level; /* others are measured from what it gives, finite where it was recorded: what
                    * depends on none in the end is not differentiated by it */
    size_t rows;   /* of how many, each by itself, C carries it out without fail; 0: not at all */
} CadAbout;

/* Calls are what is not of the table. Their owner tells them by numbers, and makes derivatives of
 * them as further numbers of the graph. `operands` and `results` stand in a row; derivatives, too,
 * or one stands for all of them: then `step` is 0. */
typedef struct CadCalls {
    /* What an entry of a rule stands for; passive[k] (zero before) says that the derivative by
     * operand k is cut. */
    CadStatus (*note)(void *owner, CadTape *tape, size_t entry, uint8_t *passive, CadNoted *noted);
    /* Leave in *first the first of the cotangents of operands, given those of results, or of the
     * tangents of results, given those of operands; CAD_NO_ID where all are zero. All are numbers
     * of `graph`, the owner's or a body in it; what has to hold there are guards of it. Cotangents
     * that are not `wanted`, number by number, may be anything; tangents that do not `move` are 0.
     */
    CadStatus (*pull)(void *owner, struct CadGraph *graph, uint32_t number, CadId operands,
                      CadId results, CadId cotangents, int64_t step, const uint8_t *wanted,
                      CadId *first);
    CadStatus (*push)(void *owner, struct CadGraph *graph, uint32_t number, CadId operands,
                      CadId results, CadId tangents, int64_t step, const uint8_t *move,
                      CadId *first);
    /* What an entry of a direct rule (tape/entries.h) computes, as numbers of the graph. */
    CadStatus (*insert)(void *owner, CadTape *tape, size_t entry, const CadId *operands,
                        CadId *results);
    /* The first call that does the same, of whatever numbers; NULL: all are told apart. */
    CadStatus (*form)(void *owner, uint32_t number, uint32_t *first);
    /* How the derivative of a call is made up; NULL: nothing is known of any. */
    CadStatus (*link)(void *owner, uint32_t number, CadLinks *links);
    /* What else is known of a call; NULL: nothing. */
    CadStatus (*about)(void *owner, uint32_t number, CadAbout *about);
} CadCalls;

/* What a graph consists of, as LIST(type of items, items, how many). */
#define CAD_GRAPH_LISTS(LIST)                                                                     \
    LIST(CadRecord, records, n_records)                                                           \
    LIST(CadRun, runs, n_runs)                                                                    \
    LIST(CadArray, arrays, n_arrays)                                                              \
    LIST(int64_t, words, n_words)                                                                 \
    LIST(CadId, lists, n_lists)                                                                   \
    LIST(double, constants, n_constants)                                                          \
    LIST(CadScan, scans, n_scans)                                                                 \
    LIST(CadOutcome, guards, n_guards)

#define CAD_LIST_MEMBERS(type, items, n)                                                          \
    type *items;                                                                                  \
    size_t n, items##_capacity;
#define CAD_LIST_LENGTH(type, items, n) size_t n;

typedef struct CadGraph {
    CAD_GRAPH_LISTS(CAD_LIST_MEMBERS)
    size_t n_own;  /* the first records, which the function has; others are of derivatives */
    CadRun latest; /* of the runs */
    uint32_t n_numbers;
    uint32_t *table;   /* of known records, by their content; 0: a free place */
    size_t table_size; /* a power of 2 */
    size_t n_known;
    size_t recent;          /* the run that was looked up last */
    bool keeps_doubles;     /* programs of it have no floats */
    bool optimize;          /* else every operation is carried out as it was recorded */
    int keeps_duplicates;   /* operations that are equal: each has a cotangent of its own */
    int is_verbatim;        /* single numbers as they come: equal ones apart, none made simpler */
    int makes_partials;     /* what is made now is a partial, as near as those of sweeps */
    bool adds_sequentially; /* a sweep adds to an array by two operands, in turns, row by row */
    bool compares_last;     /* programs do, instead of where a miss costs least */
    const CadCalls *calls;  /* NULL: there are none */
    void *owner;
    CadStatus status;
} CadGraph;

CadGraph *cad_graph_new(bool optimize);
void cad_graph_free(CadGraph *graph);
size_t cad_graph_bytes(const CadGraph *graph);

/* How much there is in a graph; and to forget what was made since, whatever came of it, which
 * takes no memory. Arrays of inputs are taken back like any other. */
typedef struct CadGraphMark {
    CAD_GRAPH_LISTS(CAD_LIST_LENGTH)
    uint32_t n_numbers;
} CadGraphMark;

CadGraphMark cad_graph_mark(const CadGraph *graph);
void cad_graph_rewind(CadGraph *graph, const CadGraphMark *mark);

/* --- making numbers --- */

CadId cad_graph_constant(CadGraph *graph, double value);

/* An operation of the table. */
CadId cad_graph_apply(CadGraph *graph, CadOp op, CadId x, CadId y, CadId z);

/* An array of inputs, which may be known to be floats. Answers its first element, as do all below.
 */
CadId cad_graph_input(CadGraph *graph, size_t size, bool are_floats);

CadId cad_graph_constants(CadGraph *graph, const double *values, size_t size);

/* An array that consists of numbers. */
CadId cad_graph_pack(CadGraph *graph, const CadId *ids, size_t size);

/* Some numbers, seen from a shape: the first one, and a stride for each axis. */
typedef struct CadNumbers {
    CadId first;
    const int64_t *strides;
} CadNumbers;

/* An operation over arrays: `views` are result (its `first` counts from the array's first element)
 * and operands. */
CadId cad_graph_map(CadGraph *graph, CadOp op, size_t size, int ndim, const int64_t *shape,
                    int n_views, const CadNumbers *views);

/* What a record is, as a copy, since new numbers move what the graph holds; or what an array is to
 * be. A single number has no axes. */
typedef struct CadMade {
    CadRecordKind kind;
    CadOp op;
    CadId first;
    size_t size;
    CadId former;
    uint32_t number; /* of a call */
    size_t list;
    const CadId *places; /* of an ADD_AT that is to be; NULL: they stand in a list already */
    int ndim;
    int n_views;
    const int64_t *shape;
    CadNumbers views[4];
    int64_t length, stride; /* of what numbers index */
} CadMade;

/* Any array with a plan. Its list, if it has one, is one of the graph `from`. */
CadId cad_graph_make(CadGraph *graph, const CadGraph *from, const CadMade *made);

/* `size` results of a call of `count` operands, which stand in a row. */
CadId cad_graph_call(CadGraph *graph, uint32_t number, CadId operands, size_t count, size_t size);

/* In turns of loops, too. */
int cad_graph_has_calls(const CadGraph *graph);

CadStatus cad_graph_guard(CadGraph *graph, CadId id, double outcome);

/* --- recurrences: bodies.c, scan.c --- */

/* A graph with so many inputs, from CAD_SCAN_INPUT on, or without any; NULL if there is no memory
 * for them: whoever makes numbers of inputs may count on them. */
CadGraph *cad_scan_body(size_t n_inputs);

/* The same with an array of inputs for each of `n` blocks; single numbers are one array. */
CadGraph *cad_scan_body_of(const uint32_t *sizes, size_t n);

/* A block for each turn, `step` apart; 0: one for all. */
typedef struct CadOverTurns {
    CadId first;
    int64_t step;
} CadOverTurns;

/* An array of a graph, or a number, that another block has the values of. */
typedef struct CadKnown {
    CadId of, by;
} CadKnown;

/* A request: `ends` are numbers of a body; its inputs from `input` on are carried, then given. The
 * body is not changed. */
typedef struct CadRecurrence {
    size_t n, n_carried, n_given, n_kept, n_summed;
    CadGraph *body;
    CadId input;
    CadId *ends;
    CadId *initial;
    CadOverTurns *given;
    uint32_t *sizes; /* as those of a SCAN */
    CadKnown *known; /* what a turn need not compute, since it is given, too */
    size_t n_known;
} CadRecurrence;

/* Blocks of it: what is carried out of the last turn, what is kept of each, and sums. */
typedef struct CadScanResults {
    CadId *last;
    CadOverTurns *kept;
    CadId *sums;
} CadScanResults;

/* If no turn waits for another one, they are arrays over all turns, and sums of these; else there
 * is a SCAN. Without `results` all is one SCAN with the ends that are asked for: answers its first
 * number, or CAD_NO_ID. */
CadId cad_graph_divide_recurrence(CadGraph *graph, const CadRecurrence *asked,
                                  const CadScanResults *results);

/* Whether a turn computes single numbers, and hands them on, but no arrays. */
int cad_scan_is_of_singles(const CadScan *scan);

/* --- asking --- */

static inline int cad_record_is_array(const CadRecord *record) {
    return record->kind >= CAD_RECORD_INPUT;
}

/* How many numbers it has. */
static inline uint32_t cad_record_size(const CadRecord *record) {
    return cad_record_is_array(record) ? record->of.array.size : 1;
}

/* Whether it is computed: neither a constant nor an input. */
static inline int cad_record_is_made(const CadRecord *record) {
    return record->kind == CAD_RECORD_SINGLE || record->kind >= CAD_RECORD_PACK;
}

static inline const CadScan *cad_graph_scan(const CadGraph *graph, const CadRecord *record) {
    return &graph->scans[graph->arrays[record->of.array.at].number];
}

static inline size_t cad_sum_of_sizes(const uint32_t *sizes, size_t n) {
    size_t sum = 0;
    for (size_t k = 0; k < n; k++) {
        sum += sizes[k];
    }
    return sum;
}

static inline size_t cad_scan_n_operands(const CadScan *scan) {
    return scan->n_carried + scan->n_given;
}

static inline size_t cad_scan_n_ends(const CadScan *scan) {
    return scan->n_carried + scan->n_kept + scan->n_summed;
}

/* How many inputs its body has. */
static inline size_t cad_scan_n_inputs(const CadScan *scan) {
    return cad_sum_of_sizes(scan->sizes, cad_scan_n_operands(scan));
}

/* The size of an end. */
static inline uint32_t cad_scan_size_of_end(const CadScan *scan, size_t k) {
    return scan->sizes[k < scan->n_carried ? k : k + scan->n_given];
}

/* How many numbers all turns have of an end. */
static inline size_t cad_scan_length_of_end(const CadScan *scan, size_t k) {
    const size_t n = k < scan->n_carried                  ? scan->n + 1
                     : k < scan->n_carried + scan->n_kept ? scan->n
                                                          : 1;
    return n * cad_scan_size_of_end(scan, k);
}

/* How many numbers its ends have. */
static inline size_t cad_scan_size(const CadScan *scan) {
    size_t size = 0;
    for (size_t k = 0; k < cad_scan_n_ends(scan); k++) {
        size += cad_scan_length_of_end(scan, k);
    }
    return size;
}

/* Whether numbers tell where an array takes from, or adds to. */
static inline int cad_record_is_by_index(const CadRecord *record) {
    return record->kind == CAD_RECORD_TAKE || record->kind == CAD_RECORD_ADD_BY;
}

/* Whether something is added to an array that is there, or to zeros. */
static inline int cad_record_adds(const CadRecord *record) {
    return record->kind >= CAD_RECORD_ADD_TO && record->kind <= CAD_RECORD_ADD_BY;
}

static inline const CadArray *cad_graph_array(const CadGraph *graph, const CadRecord *record) {
    return &graph->arrays[record->of.array.at];
}

/* Whether numbers are known to be floats: of an input, of what was rounded, of a product. */
static inline int cad_graph_has_floats(const CadGraph *graph, const CadRecord *record) {
    if (record->kind == CAD_RECORD_INPUT) {
        return cad_graph_array(graph, record)->number != 0;
    }
    return record->kind == CAD_RECORD_MAP &&
           (record->op == CAD_OP_single || record->op == CAD_OP_MATMUL_SINGLE);
}

/* Whether it sees others through views. */
static inline int cad_record_has_plan(const CadRecord *record) {
    return record->kind >= CAD_RECORD_MAP;
}

static inline CadPlan *cad_graph_plan(const CadGraph *graph, const CadRecord *record) {
    return (CadPlan *)(graph->words + cad_graph_array(graph, record)->plan);
}

/* The numbers that a pack consists of. */
static inline const CadId *cad_graph_packed(const CadGraph *graph, const CadRecord *pack) {
    return graph->lists + cad_graph_array(graph, pack)->list;
}

/* How many of some numbers, from the first one on, follow each other in one array. */
size_t cad_graph_stretch(CadGraph *graph, const CadId *ids, size_t count);

/* The run that an id belongs to. */
CadRun cad_graph_run_of(CadGraph *graph, CadId id);

/* The index of the record that a number belongs to. */
static inline uint32_t cad_graph_record_of(CadGraph *graph, CadId id) {
    const CadRun run = id >= graph->latest.id ? graph->latest : cad_graph_run_of(graph, id);
    return run.record + run.step * (id - run.id);
}

static inline const CadRecord *cad_graph_record(CadGraph *graph, CadId id) {
    return &graph->records[cad_graph_record_of(graph, id)];
}

/* Whether the indices of what is taken or added by index are known to be within bounds. */
static inline int cad_record_is_within(CadGraph *graph, const CadRecord *by_index) {
    CadPlan *const plan = cad_graph_plan(graph, by_index);
    return cad_graph_record(graph, (CadId)cad_plan_view(plan, 2)[0])->is_within;
}

/* The first number of a record. */
CadId cad_graph_first(CadGraph *graph, size_t record);

/* The numbers that a record is made of: the first one of each view, and what is added to. They
 * stand there as long as the graph does not grow. */
typedef struct CadOperands {
    const CadId *ids;
    size_t n;
    CadId few[4];
} CadOperands;

/* What is known of a call. If asking fails, the status of the graph says so. */
CadAbout cad_graph_about(CadGraph *graph, const CadRecord *call);

void cad_graph_operands_of_array(const CadGraph *graph, size_t record, CadOperands *operands);

static inline void cad_graph_operands(const CadGraph *graph, size_t record,
                                      CadOperands *operands) {
    const CadRecord *const made = &graph->records[record];
    if (made->kind != CAD_RECORD_SINGLE) {
        cad_graph_operands_of_array(graph, record, operands);
        return;
    }
    operands->ids = made->of.operands;
    operands->n = 1;
    while (operands->n < 3 && operands->ids[operands->n] != CAD_NO_ID) {
        operands->n++;
    }
}

bool cad_graph_is_constant(CadGraph *graph, CadId id, double *value);

static inline int cad_graph_is(CadGraph *graph, CadId id, double value) {
    double found;
    return cad_graph_is_constant(graph, id, &found) && found == value;
}

/* The value of a single number that is a constant. */
static inline double cad_record_value(const CadRecord *constant) {
    double value;
    memcpy(&value, constant->of.bits + 1, sizeof value);
    return value;
}

/* Strides of an array of a shape whose elements stand in order; answers how many there are. */
size_t cad_strides_in_order(int ndim, const int64_t *shape, int64_t *strides);

/* --- from a tape --- */

/* Turn what is recorded in entries [begin, end) into numbers: the leaf at `begin` holds the
 * inputs, which are the given numbers. `outputs` are slots; they are replaced by numbers. The tape
 * is not changed. CAD_RAISED: there is an entry that is no operation on numbers, nor a call. */
CadStatus cad_graph_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                         const CadId *inputs, size_t n_inputs, CadId *outputs, size_t n_outputs);

/* --- written down --- */

/* What a graph is made of, without what follows from it. Of each record, from the constant 0 on, a
 * row of four words: its kind in the upper half of the first one and its operation in the lower
 * half; then operands; of a constant 0, and the lower and higher half of its bits; of an array its
 * size, its number of axes, and the number of a call; of a SCAN how many rows of its body follow,
 * and how many numbers are carried and given. Then, for arrays in their order: shapes and views of
 * plans, of a SCAN turns, how many are kept and summed, steps and sizes; numbers that arrays
 * consist of, operands and ends of a SCAN; constants of arrays. */
typedef struct CadGraphParts {
    uint32_t *records;
    int64_t *words;
    CadId *lists;
    double *constants;
    size_t n_records, n_rows, n_words, n_lists, n_constants;
} CadGraphParts;

/* Copy the parts of so many records. How long they are is found alone where there is no room. */
void cad_graph_write(const CadGraph *graph, CadGraphParts *parts);

/* Read a written graph into an empty one. CAD_RAISED: it is none, or its first arrays are not so
 * many inputs. */
CadStatus cad_graph_restore(CadGraph *graph, const CadGraphParts *parts, size_t n_inputs);

/* Whether there is such a number, and it has a value. */
bool cad_graph_has(CadGraph *graph, CadId id);

/* A graph of the first n_records alone, of a graph whose only arrays are inputs; numbers are the
 * same. `ends` has room for as many: it is left with those that later ones are made of. */
CadStatus cad_graph_beginning(CadGraph *graph, size_t n_records, CadGraph **beginning, CadId *ends,
                              size_t *n_ends);

/* --- parts --- */

/* The part that depends on one input, as a graph of its own. Its inputs are that one, and one
 * array of the numbers `given` by the rest. */
typedef struct CadPart {
    CadGraph *graph;
    CadId own, inputs; /* the first elements of its inputs; `inputs` CAD_NO_ID: nothing is left */
    CadId *given;
    size_t n_given;
} CadPart;

/* Split off the part that `roots` and guards need; roots are replaced by numbers of it. Guards
 * that depend on the input are those of the part, and `graph` has them no more. The part's members
 * are the caller's, whatever is answered. */
CadStatus cad_graph_split(CadGraph *graph, CadId input, CadId *roots, size_t n_roots,
                          CadPart *part);

/* The other way round: numbers of another graph become numbers of this one, with `operands` in
 * the place of some inputs, elements of the other. Its guards are not among them. */
CadStatus cad_graph_insert(CadGraph *graph, CadGraph *from, const CadId *inputs,
                           const CadId *operands, size_t n_inputs, const CadId *outputs,
                           size_t n_outputs, CadId *results);

/* The same for what does not need records of `from` that are known here by other numbers. */
CadStatus cad_graph_insert_rest(CadGraph *graph, CadGraph *from, const CadKnown *known,
                                size_t n_known, const CadId *inputs, const CadId *operands,
                                size_t n_inputs, const CadId *outputs, size_t n_outputs,
                                CadId *results);

/* Records one by one: the first number of each, how many it has, a hash of all but the numbers
 * that it reads, its CadRecordKind, and where these numbers begin among the operands of all. */
typedef struct CadDescribed {
    CadId *first;
    uint32_t *sizes;
    uint64_t *hashes;
    uint8_t *kinds;
    uint32_t *begins;
    CadId *operands;
} CadDescribed;

/* Answers how many operands there are; `described` may be NULL. `forms` tell calls apart. */
size_t cad_graph_describe(CadGraph *graph, const uint64_t *forms, CadDescribed *described);

/* --- boxes --- */

/* A copy in which no elementwise operation reads what is put together of a few others: each box of
 * its elements is an operation of its own. `ids`, all inputs and roots among them, are replaced by
 * numbers of it. *boxes is NULL where there is no such operation. */
CadStatus cad_graph_in_boxes(CadGraph *graph, CadId *ids, size_t n, CadGraph **boxes);

/* --- derivatives --- */

/* Of each output whether it carries a derivative if some inputs do, or (`by_value`) whether it
 * changes if they do. (Arrays are taken as a whole, so that the derivative may be 0.) */
CadStatus cad_graph_reach(CadGraph *graph, const CadId *inputs, size_t n_inputs, bool by_value,
                          const CadId *outputs, size_t n_outputs, uint8_t *found);

/* Copies of variables that outputs depend on, in arrays that consist of numbers: rows of a matrix,
 * say, that were gathered. Of the k-th one origins[k] is the index of its variable in `wrt`. Both
 * lists are the caller's. */
CadStatus cad_graph_copies(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                           size_t n_outputs, CadId **copies, uint32_t **origins, size_t *n);

/* Cotangents of variables, inputs or copies of them: `seeds` are those of `outputs`. For the k-th
 * number of `wrt` its cotangent is left in results[k], a constant 0 where nothing arrives. Where a
 * copy is a variable, its original is another one. */
CadStatus cad_graph_pull(CadGraph *graph, const CadId *outputs, const CadId *seeds,
                         size_t n_outputs, const CadId *wrt, size_t n_wrt, CadId *results);

/* Tangents of outputs, given those of inputs: `along` has one for each element of `wrt`. */
CadStatus cad_graph_push(CadGraph *graph, const CadId *wrt, const CadId *along, size_t n_wrt,
                         const CadId *outputs, size_t n_outputs, CadId *results);

/* Derivatives of outputs by each of few inputs, of a graph whose only arrays are inputs and
 * constants: those by the k-th one stand from k n_outputs on. */
CadStatus cad_graph_forward(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                            size_t n_outputs, CadId *results);

/* The Jacobian of outputs, entry by entry: its structure, and of each entry its number. Entries
 * that are the constant 0 are none. If that would be too much work, compared with tangents along
 * directions, *entries is NULL and there is no pattern. */
CadStatus cad_graph_jacobian(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                             size_t n_outputs, CadPattern *pattern, CadId **entries);

/* The structure of the Jacobian of outputs by variables, by sets of bits. What is 0 by the rules
 * of differentiation, whatever the inputs, is no part of it. */
CadStatus cad_sparsity(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                       size_t n_outputs, CadPattern *pattern);

#endif
