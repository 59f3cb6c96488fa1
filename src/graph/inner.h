/* What the files of the graph share with each other alone. */
#ifndef CAD_GRAPH_INNER_H
#define CAD_GRAPH_INNER_H

#include "graph/graph.h"

/* A node as it is, without folding. */
CadId cad_graph_node(CadGraph *graph, CadOp op, CadId x, CadId y, CadId z);

/* Of partials.c, in two algebras: those of single numbers and of arrays. */

/* The partial of an operation by operand `which`; operands that it does not have are ignored. */
CadId cad_graph_partial(CadGraph *graph, CadOp op, int which, CadId x, CadId y, CadId z, CadId v);

/* Partials over a shape. Operands x[0..2] and the value x[3]; new numbers stand in order, along
 * strides that the caller has to provide: `in_order`, and zeros for single ones. */
typedef struct CadShape {
    CadGraph *graph;
    int ndim;
    const int64_t *lengths;
    const int64_t *in_order;
    const int64_t *none;
    size_t size;
} CadShape;

CadNumbers cad_graph_partials(const CadShape *shape, CadOp op, int which, const CadNumbers x[4]);

/* An operation over a shape; of single numbers a single one. */
CadNumbers cad_graph_apply_over(const CadShape *shape, CadOp op, CadNumbers x, CadNumbers y,
                                CadNumbers z);

/* A product of the chain rule, in which an exact zero absorbs. */
CadNumbers cad_graph_product(const CadShape *shape, CadNumbers x, CadNumbers y);

static inline int cad_is_single(const CadShape *shape, CadNumbers x) {
    for (int i = 0; i < shape->ndim; i++) {
        if (x.strides[i] != 0 && shape->lengths[i] != 1) {
            return 0;
        }
    }
    return 1;
}

/* Call `visit` with the operands of a node, or of an array: with the first number of each view. */
typedef void CadVisit(void *visitor, CadId id);
void cad_graph_visit_node(const CadGraph *graph, size_t i, CadVisit *visit, void *visitor);
void cad_graph_visit_array(const CadGraph *graph, size_t i, CadVisit *visit, void *visitor);

/* What some outputs depend on, of the nodes and arrays that there are. CAD_NO_MEMORY: nothing is
 * left to forget. */
typedef struct CadLive {
    uint8_t *nodes, *arrays;
} CadLive;

CadStatus cad_graph_find_live(CadGraph *graph, const CadId *outputs, size_t n_outputs,
                              CadLive *live);
void cad_graph_forget_live(CadLive *live);

/* A copy of a plan, since new numbers move what the graph holds. */
typedef struct CadPlanCopy {
    int ndim;
    int n_views;
    int64_t shape[CAD_MOST_AXES];
    int64_t strides[4][CAD_MOST_AXES];
    CadNumbers views[4];
    int64_t index;
    int64_t extra;          /* the first one, or -1 */
    int64_t length, stride; /* of what numbers index */
} CadPlanCopy;

static inline void cad_copy_plan(const CadGraph *graph, const CadArray *array, CadPlanCopy *copy) {
    CadPlan *plan = cad_graph_plan(graph, array);
    copy->ndim = plan->ndim;
    copy->n_views = plan->n_views;
    copy->index = plan->index;
    copy->extra = plan->n_extra > 0 ? cad_plan_extra(plan)[0] : -1;
    copy->length = plan->n_extra > 2 ? cad_plan_extra(plan)[1] : 0;
    copy->stride = plan->n_extra > 2 ? cad_plan_extra(plan)[2] : 0;
    memcpy(copy->shape, cad_plan_shape(plan), plan->ndim * sizeof *copy->shape);
    for (int k = 0; k < plan->n_views; k++) {
        memcpy(copy->strides[k], cad_plan_view(plan, k) + 1, plan->ndim * sizeof *copy->shape);
        copy->views[k] = (CadNumbers){(CadId)cad_plan_view(plan, k)[0], copy->strides[k]};
    }
}

/* Copying from a graph into another one: what a number is there by itself, and as the first one of
 * a view. */
typedef struct CadCopier {
    CadGraph *from;
    CadGraph *to;
    CadId (*number)(void *context, CadId id);
    CadId (*view)(void *context, CadId id);
    void *context;
} CadCopier;

/* An array that is neither inputs nor constants; answers its first element. */
CadId cad_graph_copy_array(const CadCopier *copier, const CadArray *array);

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
