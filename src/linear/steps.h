/* The steps of a frozen linear map, as they stand in its words: what steps.c writes,
 * sweep.c carries out and check.c looks through.
 *
 *   CAD_LINEAR_ROWS     each row sets its target to the sum of its terms
 *   CAD_LINEAR_ADD      views: target, source. The source is added, number by number, times the
 *                       factors: one for each, one for all, or (factors -1) 1
 *   CAD_LINEAR_MOVE     views: target. It becomes 0; what it was goes to places from `kept` on,
 *                       if that is not -1
 *   CAD_LINEAR_PICK     the places that the offsets name are added to a view of one axis
 *   CAD_LINEAR_PUT      a view of one axis is added to the places that the offsets name
 *   CAD_LINEAR_SCATTER  each of these places in turn is moved to `kept`, and set to the view's
 *   CAD_LINEAR_TERMS    views: of an operation of a kind (table/kinds.def), which is added to its
 *                       target. One operand is the source, in places, the other one (if there is
 *                       one) stands among the numbers
 *
 * A view is the place of its first number, and a stride for each axis of the shape. */
#ifndef CAD_LINEAR_STEPS_H
#define CAD_LINEAR_STEPS_H

#include "kernels/kernels.h"
#include "linear/linear.h"

typedef enum CadLinearKind {
    CAD_LINEAR_ROWS,
    CAD_LINEAR_ADD,
    CAD_LINEAR_MOVE,
    CAD_LINEAR_PICK,
    CAD_LINEAR_PUT,
    CAD_LINEAR_SCATTER,
    CAD_LINEAR_TERMS,
    CAD_LINEAR_KINDS
} CadLinearKind;

/* The words of a step begin with its head, of int64_t alone. */
typedef struct CadAddHead {
    int64_t factors; /* the first of its numbers */
    int64_t step;    /* between factors: 0 or 1 */
} CadAddHead;

typedef struct CadMoveHead {
    int64_t kept;
} CadMoveHead;

typedef struct CadOffsetsHead {
    int64_t size;
    int64_t view; /* -1: nothing, zeros */
    int64_t stride;
    int64_t kept;
    int64_t offsets[];
} CadOffsetsHead;

typedef struct CadTermsHead {
    int64_t op;
    int64_t which;   /* operand is the source */
    int64_t numbers; /* the first of those of the other one */
} CadTermsHead;

/* What follows the heads of steps over views. */
typedef struct CadFrame {
    int ndim;
    int64_t *shape;
    int64_t *view[3]; /* place, strides */
} CadFrame;

static inline size_t cad_head_words(int64_t kind) {
    const size_t bytes = kind == CAD_LINEAR_ADD     ? sizeof(CadAddHead)
                         : kind == CAD_LINEAR_MOVE  ? sizeof(CadMoveHead)
                         : kind == CAD_LINEAR_TERMS ? sizeof(CadTermsHead)
                                                    : sizeof(CadOffsetsHead);
    return bytes / sizeof(int64_t);
}

static inline int cad_frame_views(int64_t kind) {
    return kind == CAD_LINEAR_ADD ? 2 : kind == CAD_LINEAR_MOVE ? 1 : 3;
}

static inline CadFrame cad_frame_of(int64_t kind, int64_t *words) {
    int64_t *const at = words + cad_head_words(kind);
    CadFrame frame = {(int)at[0], at + 1, {NULL, NULL, NULL}};
    for (int k = 0; k < cad_frame_views(kind); k++) {
        frame.view[k] = frame.shape + frame.ndim + k * (frame.ndim + 1);
    }
    return frame;
}

/* How many views of a step are of places, and which the k-th one is. */
static inline int cad_frame_places(int64_t kind) {
    return kind == CAD_LINEAR_MOVE ? 1 : 2;
}

static inline int cad_frame_place(int64_t kind, const int64_t *words, int k) {
    return kind == CAD_LINEAR_TERMS && k == 1 ? (int)((const CadTermsHead *)words)->which : k;
}

static inline void *cad_linear_items(const CadLinear *linear, CadLinearPart part) {
    return linear->part[part].data;
}

static inline size_t cad_linear_count(const CadLinear *linear, CadLinearPart part) {
    return linear->part[part].count;
}

#endif
