/* A computation as a graph of numbers: each is computed once, from numbers before it, and never
 * changes. What was written to in place on the tape is here another number of the same slot.
 *
 * Single numbers are nodes. Arrays are nodes of their own, of which every element can be named
 * like a single number. All numbers are made through cad_graph_apply and its like, which give
 * back a number that is there already if it is the same (common subexpressions), or a constant if
 * it is one (folding). So derivatives of a graph are further numbers of it: see pull.c and
 * push.c.
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

/* A number: the index of a node or, with the highest bit, of an element of an array. All elements
 * are counted through. */
typedef uint32_t CadId;

#define CAD_NO_ID UINT32_MAX
#define CAD_ELEMENT_BIT 0x80000000u
#define CAD_IS_ELEMENT(id) ((id) >= CAD_ELEMENT_BIT)

/* What nodes and arrays are that are no operations. */
enum {
    CAD_NODE_CONSTANT = CAD_OP_COUNT, /* its value stands in y and z */
    CAD_ARRAY_INPUT,
    CAD_ARRAY_CONSTANTS, /* `list`: their index in graph->constants */
    CAD_ARRAY_PACK,   /* `list`: index in graph->lists of as many numbers, which it consists of */
    CAD_ARRAY_ADD_TO, /* an array of its size with something added to some elements */
    CAD_ARRAY_CALL,   /* the results of a call, which the owner of the graph carries out */
    CAD_ARRAY_TAKE,   /* numbers of an array at indices that are numbers themselves */
    CAD_ARRAY_ADD_BY, /* as CAD_ARRAY_ADD_TO, but such indices tell to which elements */
};

typedef struct CadNode {
    uint32_t op;
    CadId x, y, z; /* operands that the operation does not have are CAD_NO_ID */
} CadNode;

/* The plan of an array is that of an entry over arrays, with numbers in place of slots, but that
 * the first view starts with the element's place within the array. Of the kinds of entries it may
 * be a row of the table, a sum or a product of matrices: what computes fresh numbers from views.
 *
 *   CAD_ARRAY_ADD_TO  views: target, source; extra: the former array's first element, or -1 for
 *                     zeros. With an index >= 0 (in graph->lists) the view is the source alone,
 *                     and the list holds the places of the targets within the array.
 *   CAD_ARRAY_CALL    view: the operands, all in a row; extra: the number of the call.
 *
 *   CAD_ARRAY_TAKE    views: result, source, index; extra: -1, length, stride. From where the
 * source is seen it goes on by index times stride. An index is a whole number below length, a
 * negative one counts from there; with any other a program has no result.
 *
 *   CAD_ARRAY_ADD_BY  views: target, source, index; extra: the former array's first element, or -1
 *                     for zeros; length, stride. As CAD_ARRAY_TAKE, but it is the target that goes
 *                     on. */
typedef struct CadArray {
    uint32_t op;
    CadId first;
    uint32_t size;
    uint32_t before; /* nodes that were made before it */
    size_t plan;     /* index in graph->words, or SIZE_MAX */
    size_t list;
} CadArray;

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
    int is_known;
    const uint32_t *of, *by; /* the owner's */
    size_t n, n_between;
} CadLinks;

/* Calls are what is not of the table. Their owner tells them by numbers, and makes derivatives of
 * them as further numbers of the graph. `operands` and `results` stand in a row; derivatives, too,
 * or one stands for all of them: then `step` is 0. */
typedef struct CadCalls {
    /* The number of the call that an entry of a rule stands for, or -1 with an exception;
     * passive[k] (zero before) says that the derivative by operand k is cut. Or CAD_NOTED_TAKE:
     * the operands are x and whole numbers, the result is x[whole numbers]; CAD_NOTED_ADD: they
     * are whole numbers and x, which is added to zeros there. */
    int64_t (*note)(void *owner, CadTape *tape, size_t entry, uint8_t *passive);
    /* Leave in *made the first of the cotangents of operands, given those of results, or of the
     * tangents of results, given those of operands; CAD_NO_ID where all are zero. Cotangents that
     * are not `wanted`, number by number, may be anything; tangents that do not `move` are 0. */
    CadStatus (*pull)(void *owner, uint32_t number, CadId operands, CadId results, CadId given,
                      int64_t step, const uint8_t *wanted, CadId *made);
    CadStatus (*push)(void *owner, uint32_t number, CadId operands, CadId results, CadId given,
                      int64_t step, const uint8_t *move, CadId *made);
    /* What an entry of a direct rule (tape/entries.h) computes, as numbers of the graph. */
    CadStatus (*insert)(void *owner, CadTape *tape, size_t entry, const CadId *operands,
                        CadId *results);
    /* How the derivative of a call is made up; NULL: nothing is known of any. */
    CadStatus (*link)(void *owner, uint32_t number, CadLinks *links);
} CadCalls;

enum { CAD_NOTED_TAKE = -2, CAD_NOTED_ADD = -3 };

typedef struct CadGraph {
    CadNode *nodes;
    CadArray *arrays;
    int64_t *words;
    CadId *lists;
    double *constants;
    CadOutcome *guards;
    size_t n_nodes, n_arrays, n_words, n_lists, n_constants, n_guards;
    size_t n_own_arrays; /* the first arrays, which the function has; others are of derivatives */
    size_t node_capacity, array_capacity, word_capacity, list_capacity, constant_capacity,
        guard_capacity;
    uint32_t n_elements;
    uint32_t *table;   /* of known nodes and arrays, by their content */
    size_t table_size; /* a power of 2 */
    size_t n_known;
    uint32_t recent;       /* the array that was looked up last */
    int optimize;          /* else every operation is carried out as it was recorded */
    int compares_last;     /* programs do, instead of where a miss costs least */
    const CadCalls *calls; /* NULL: there are none */
    void *owner;
    CadStatus status;
} CadGraph;

CadGraph *cad_graph_new(int optimize);
void cad_graph_free(CadGraph *graph);
size_t cad_graph_bytes(const CadGraph *graph);

/* How much there is in a graph; and to forget what was made since, whatever came of it, which
 * takes no memory. Arrays of inputs are taken back like any other. */
typedef struct CadGraphMark {
    size_t n_nodes, n_arrays, n_words, n_lists, n_constants, n_guards;
    uint32_t n_elements;
} CadGraphMark;

CadGraphMark cad_graph_mark(const CadGraph *graph);
void cad_graph_rewind(CadGraph *graph, const CadGraphMark *mark);

/* --- making numbers --- */

CadId cad_graph_constant(CadGraph *graph, double value);

/* An operation of the table. */
CadId cad_graph_apply(CadGraph *graph, CadOp op, CadId x, CadId y, CadId z);

/* An array of inputs. Answers its first element, as do all below. */
CadId cad_graph_input(CadGraph *graph, size_t size);

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
CadId cad_graph_map(CadGraph *graph, uint32_t op, size_t size, int ndim, const int64_t *shape,
                    int n_views, const CadNumbers *views);

/* `former` (or zeros, if CAD_NO_ID) with source numbers added to targets. */
CadId cad_graph_add_to(CadGraph *graph, CadId former, size_t size, int ndim, const int64_t *shape,
                       CadNumbers target, CadNumbers source);
CadId cad_graph_add_at(CadGraph *graph, CadId former, size_t size, const CadId *places,
                       CadNumbers source, size_t count);

/* CAD_ARRAY_TAKE, or CAD_ARRAY_ADD_BY with what it adds to, or CAD_NO_ID; the rest is what stands
 * in its plan. */
CadId cad_graph_by_index(CadGraph *graph, uint32_t op, CadId former, size_t size, int ndim,
                         const int64_t *shape, const CadNumbers views[3], int64_t length,
                         int64_t stride);

/* `size` results of a call of `count` operands, which stand in a row. */
CadId cad_graph_call(CadGraph *graph, uint32_t number, CadId operands, size_t count, size_t size);

CadStatus cad_graph_guard(CadGraph *graph, CadId id, double outcome);

/* --- asking --- */

static inline CadPlan *cad_graph_plan(const CadGraph *graph, const CadArray *array) {
    return (CadPlan *)(graph->words + array->plan);
}

/* Whether numbers tell where an array takes from, or adds to. */
static inline int cad_array_is_by_index(const CadArray *array) {
    return array->op == CAD_ARRAY_TAKE || array->op == CAD_ARRAY_ADD_BY;
}

/* The first element of the array that one adds to, or CAD_NO_ID. */
static inline CadId cad_graph_former(const CadGraph *graph, const CadArray *array) {
    if (array->op != CAD_ARRAY_ADD_TO && array->op != CAD_ARRAY_ADD_BY) {
        return CAD_NO_ID;
    }
    const int64_t former = cad_plan_extra(cad_graph_plan(graph, array))[0];
    return former < 0 ? CAD_NO_ID : (CadId)former;
}

/* The index of the array that an element belongs to. */
uint32_t cad_graph_array_of(CadGraph *graph, CadId element);

int cad_graph_is_constant(CadGraph *graph, CadId id, double *value);

static inline int cad_graph_is(CadGraph *graph, CadId id, double value) {
    double found;
    return cad_graph_is_constant(graph, id, &found) && found == value;
}

/* The value in a node that is a constant. */
static inline double cad_node_value(const CadNode *node) {
    double value;
    memcpy(&value, &node->y, sizeof value);
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

/* What a graph is made of, without what follows from it: of each node the operation and three
 * operands (of a constant: 0, and the lower and higher half of its bits); of each array the
 * operation, its size, how many nodes come before it, and its number of axes; shapes and views of
 * plans; numbers that arrays consist of; constants of arrays. Arrays have theirs in order. */
typedef struct CadGraphParts {
    uint32_t *nodes, *arrays;
    int64_t *words;
    CadId *lists;
    double *constants;
    size_t n_nodes, n_arrays, n_words, n_lists, n_constants;
} CadGraphParts;

/* How long the parts of the first n_nodes and n_arrays are; and to copy them. */
void cad_graph_measure(const CadGraph *graph, CadGraphParts *parts);
void cad_graph_write(const CadGraph *graph, CadGraphParts *parts);

/* Make again, in an empty graph, what was written. CAD_RAISED: that is no graph whose first arrays
 * are so many inputs. */
CadStatus cad_graph_restore(CadGraph *graph, const CadGraphParts *parts, size_t n_inputs);

/* Whether there is such a number. */
int cad_graph_has(const CadGraph *graph, CadId id);

/* A graph of the first n_nodes alone, of a graph whose only arrays are inputs; numbers are the
 * same. `ends` has room for as many: it is left with those that later ones are made of. */
CadStatus cad_graph_beginning(const CadGraph *graph, size_t n_nodes, CadGraph **beginning,
                              CadId *ends, size_t *n_ends);

/* --- parts --- */

/* What depends on one input, as a graph of its own: its inputs are that one, and one of the
 * numbers `given` that are left. */
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

/* The other way round: what another graph computes of some inputs, elements of it, as numbers of
 * this one where `operands` stand in their places. Its guards are not among them. */
CadStatus cad_graph_insert(CadGraph *graph, CadGraph *from, const CadId *inputs,
                           const CadId *operands, size_t n_inputs, const CadId *outputs,
                           size_t n_outputs, CadId *results);

/* --- derivatives --- */

/* Of each output whether it carries a derivative if some inputs do, or (`by_value`) whether it
 * changes if they do. (Arrays are taken as a whole, so that the derivative may be 0.) */
CadStatus cad_graph_reach(CadGraph *graph, const CadId *inputs, size_t n_inputs, int by_value,
                          const CadId *outputs, size_t n_outputs, uint8_t *found);

/* Copies of variables that outputs depend on: of the elements of arrays that consist of numbers
 * those that are variables, such as rows of a matrix that were gathered. Of the k-th one
 * origins[k] is the index of its variable in `wrt`. Both lists are the caller's. */
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

#endif
