/* What the files of the graph share with each other alone. */
#ifndef CAD_GRAPH_INNER_H
#define CAD_GRAPH_INNER_H

#include "graph/copies.h"
#include "graph/graph.h"

/* A single number as it is, without folding. */
CadId cad_graph_single(CadGraph *graph, CadOp op, CadId x, CadId y, CadId z);

/* Whether numbers are elements of one array, side by side. */
int cad_graph_are_in_row(CadGraph *graph, const CadId *ids, size_t size);

/* --- insert.c --- */

/* --- graph.c --- */

void cad_scan_free(CadScan *scan);

/* A SCAN. Its operands are the numbers carried at first, and those given for the first turn; the
 * scan is the graph's from then on. Answers the first number of its ends, which stand in a row; or
 * CAD_NO_ID, and it stays the caller's. */
CadId cad_graph_append_scan(CadGraph *graph, const CadScan *scan, const CadId *operands);

/* --- scan_blocks.c --- */

/* As cad_graph_divide_recurrence, but of any body, as one SCAN. Answers its first number; or
 * CAD_NO_ID, if there is none. */
CadId cad_graph_make_scan(CadGraph *graph, const CadRecurrence *asked,
                          const CadScanResults *results);

/* --- blocks.c --- */

/* The same number, so many times. */
CadId cad_graph_repeated(CadGraph *graph, CadId id, size_t size);

/* The sum of two. */
CadId cad_graph_added(CadGraph *graph, CadId x, CadId y, size_t size);

/* --- bodies.c --- */

/* Whether the numbers of a turn are kept, so that derivatives need not compute them again. */
int cad_record_is_costly(const CadRecord *record);

/* Whether there are only single numbers in a body, and in `n` blocks. */
int cad_body_is_of_singles(const CadGraph *body, const uint32_t *sizes, size_t n);

/* --- scan_derivatives.c --- */

/* A SCAN of a graph. */
typedef struct CadScanned {
    const CadScan *scan;
    CadId first;
    const CadId *operands;
} CadScanned;

/* Cotangents of the blocks of a SCAN; CAD_NO_ID where they are zero. For each carried block,
 * `last` has the cotangent behind the last turn, `before` a row of those before each turn. */
typedef struct CadScanSeeds {
    CadId *last;
    CadOverTurns *before, *kept;
    CadId *sums;
} CadScanSeeds;

/* The cotangents of its operands: of a given one a row in the order of turns, or a sum, if it is
 * the same in all. Those that are not wanted are left as they are. The body is pulled by `pull`,
 * which is cad_graph_pull. */
typedef CadStatus CadPullBody(CadGraph *graph, const CadId *outputs, const CadId *seeds,
                              size_t n_outputs, const CadId *wrt, size_t n_wrt, CadId *results);
void cad_scan_pull(CadGraph *graph, CadScanned of, const CadScanSeeds *seeds,
                   const uint8_t *wanted, CadPullBody *pull, CadOverTurns *results);

/* The tangents of its numbers, in their order, given those of its operands: the first one. */
typedef CadStatus CadPushBody(CadGraph *graph, const CadId *wrt, const CadId *along, size_t n_wrt,
                              const CadId *outputs, size_t n_outputs, CadId *results);
CadId cad_scan_push(CadGraph *graph, CadScanned of, const CadOverTurns *tangents,
                    CadPushBody *push);

/* --- partials.c --- */

/* Strides of numbers that stay where they are. */
extern const int64_t cad_no_strides[CAD_MOST_AXES];

/* Partials over a shape, of no axes for single numbers. Operands x[0..2] and the value x[3]; new
 * numbers stand in order, along strides that the caller has to provide. */
typedef struct CadShape {
    CadGraph *graph;
    int ndim;
    const int64_t *lengths;
    const int64_t *in_order;
    size_t size;
} CadShape;

CadNumbers cad_graph_partials(const CadShape *shape, CadOp op, int which, const CadNumbers x[4]);

/* --- fold.c --- */

/* Constants that are all the same are one number. */
CadNumbers cad_graph_as_one(const CadShape *shape, CadNumbers x);

/* What an operation over arrays gives without being carried out, by the rules for single numbers:
 * one of its operands, or 0; CAD_NO_ID: none of these. */
CadNumbers cad_graph_foregone(const CadShape *shape, CadOp op, const CadNumbers x[3]);

/* --- partials.c --- */

static inline int cad_is_single(const CadShape *shape, CadNumbers x) {
    for (int i = 0; i < shape->ndim; i++) {
        if (x.strides[i] != 0 && shape->lengths[i] != 1) {
            return 0;
        }
    }
    return 1;
}

/* --- maps.c --- */

/* An operation over a shape; of single numbers a single one. */
CadNumbers cad_graph_apply_over(const CadShape *shape, CadOp op, CadNumbers x, CadNumbers y,
                                CadNumbers z);

/* An operation of a kind over a shape, with the view of its result first. Products that are added
 * up over nothing are products of elements; but outer ones stay products of matrices, which sums
 * of them are, too. */
CadNumbers cad_graph_kind_over(const CadShape *shape, CadOp op, int n_views,
                               const CadNumbers *views);

/* A product of the chain rule, in which an exact zero absorbs. */
CadNumbers cad_graph_product(const CadShape *shape, CadNumbers x, CadNumbers y);

/* Some results of an operation, by itself if that takes no longer than to copy them; `strides` is
 * room for theirs. */
CadNumbers cad_graph_part(const CadShape *shape, CadNumbers from, int64_t *strides);

/* What a TAKE that is to be gives, in order: the same of fewer numbers, where these are the
 * results of operations. */
CadId cad_graph_take(CadGraph *graph, const CadMade *made);

/* --- records.c --- */

static inline CadShape cad_made_shape(CadGraph *graph, const CadMade *made, int64_t *in_order) {
    const size_t size = cad_strides_in_order(made->ndim, made->shape, in_order);
    return (CadShape){graph, made->ndim, made->shape, in_order, size};
}

/* The operands of a row, as many as there are, and its value behind three; answers how many. */
static inline int cad_made_operands(const CadMade *made, CadNumbers x[4]) {
    const int arity = made->n_views - 1;
    for (int k = 0; k < 3; k++) {
        x[k] = made->views[k < arity ? k + 1 : 1];
    }
    x[3] = (CadNumbers){made->first + made->views[0].first, made->views[0].strides};
    return arity;
}

static inline int cad_made_is_kind(const CadMade *made) {
    return made->kind == CAD_RECORD_MAP && cad_op_is_kind(made->op);
}

/* --- live.c --- */

/* How often each record is used by some numbers (and guards, if `by_guards`), and by what these
 * depend on; NULL without memory. */
uint32_t *cad_graph_uses(CadGraph *graph, CadMemory *memory, const CadId *outputs,
                         size_t n_outputs, int by_guards);

/* What depends on variables: which records, and which numbers are variables themselves. An array
 * of inputs need not be one as a whole. */
typedef struct CadActive {
    uint8_t *records, *variables;
} CadActive;

/* Records that carry a derivative if the variables do, or (`by_value`) that change with them. */
CadActive cad_graph_find_active(CadGraph *graph, CadMemory *memory, const CadId *wrt, size_t n_wrt,
                                int by_value);

static inline int cad_is_active(CadGraph *graph, const CadActive *active, CadId id) {
    return active->records[cad_graph_record_of(graph, id)];
}

/* Whether one number is active by itself. */
static inline int cad_is_active_number(CadGraph *graph, const CadActive *active, CadId id) {
    const uint32_t i = cad_graph_record_of(graph, id);
    return graph->records[i].kind == CAD_RECORD_INPUT ? active->variables[id] : active->records[i];
}

/* --- shifts.c --- */

/* Have levels not be active that outputs turn out not to depend on, such as the m of
 * m + log(sum(exp(x - m))), with a guard that what cancels there is finite. */
void cad_graph_cut_shifts(CadGraph *graph, const CadActive *active, const CadId *outputs,
                          size_t n_outputs);

/* --- derivatives.c --- */

/* Derivatives of the numbers of a record: each has one, or one stands for all. */
typedef struct CadDerivatives {
    CadId first;   /* CAD_NO_ID: they are zero */
    uint32_t step; /* 1, or 0: one for all */
} CadDerivatives;

/* As numbers along one axis. */
CadNumbers cad_derivatives_in_row(CadDerivatives given);

/* Those that belong to a view of the record. */
CadNumbers cad_derivatives_of_view(CadDerivatives given, CadNumbers view);

CadDerivatives cad_derivatives_sum(CadGraph *graph, CadDerivatives x, CadDerivatives y,
                                   size_t size);

/* Numbers over a shape as those of the record that a view shows, in its order. */
CadDerivatives cad_derivatives_in_order(const CadShape *shape, CadNumbers view, CadNumbers source);

/* One for each number, to which something can be added. */
CadDerivatives cad_derivatives_apart(CadGraph *graph, CadDerivatives given, size_t size);

/* Of listed numbers; where all are the same, one for all. */
CadDerivatives cad_derivatives_listed(CadGraph *graph, const CadId *ids, size_t size);

/* --- products.c --- */

/* Whether a number is the first one of a product of two matrices, which is looked at then. */
int cad_graph_is_product(CadGraph *graph, CadId first, CadAxes axes, CadMade *made);

/* The sum of such products (two at least) that are laid out alike, as one product; CAD_NO_ID if it
 * would take more to bring operands side by side than to add the products. */
CadId cad_graph_add_products(CadGraph *graph, const CadId *products, size_t n);

/* A walk over all elements of a shape, in order, with the places of views. */
typedef struct Steps {
    int ndim;
    const int64_t *shape;
    int n_views;
    const int64_t *strides[4];
    int64_t at[4];
    int64_t index[CAD_MOST_AXES];
} Steps;

static inline int next_step(Steps *steps) {
    for (int axis = steps->ndim; axis-- > 0;) {
        const int64_t length = steps->shape[axis];
        const int64_t by = ++steps->index[axis] < length ? 1 : 1 - length;
        for (int k = 0; k < steps->n_views; k++) {
            steps->at[k] += by * steps->strides[k][axis];
        }
        if (by == 1) {
            return 1;
        }
        steps->index[axis] = 0;
    }
    return 0;
}

#endif
