/* Operands, shapes and results of operations on array Vars: what the files of this folder share.
 */
#ifndef CADIFF_ARRAY_INNER_H
#define CADIFF_ARRAY_INNER_H

#include "numbers/array/array.h"
#include "numbers/objects/classify.h"

#include "arrays/arrays.h"
#include "tape/blocks.h"

/* --- operands (operands.c) --- */

/* One operand of an operation: a number or an array, on the tape or about to be put there. */
typedef struct CadArrayOperand {
    CadVar *var;    /* NULL if it is plain */
    PyObject *kept; /* what has to be released: a converted array */
    int ndim;
    const npy_intp *shape;
    int64_t slot;
    int64_t strides[NPY_MAXDIMS]; /* by the axes of the operand itself */
    int passive;
    CadPrecision precision;
    double number; /* if it is plain, and not an array */
} CadArrayOperand;

typedef struct CadArrayOperands {
    CadTape *tape;
    int n;
    int are_packed;   /* many plain floats remain such: an operation reads them so */
    int are_in_order; /* the result is to be in C's order, whatever theirs is */
    CadArrayOperand of[3];
} CadArrayOperands;

void cad_release_operands(CadArrayOperands *all);

/* Take one more operand: 0, -1 with an exception, 1 if it is no plain number, array or Var. */
int cad_take_operand(CadArrayOperands *all, PyObject *object);

/* Take all operands, and find the tape; answers as for cad_take_operand. */
int cad_take_operands(CadArrayOperands *all, PyObject *const *operands, int n);

/* Whether what an operation makes of operands is in single precision; numbers that go along with
 * it are rounded. */
int cad_settle_precision(CadOp op, CadArrayOperands *all);

/* Give every operand its slot. The tape is pinned. */
int cad_put_operands(CadArrayOperands *all);

/* Whether nothing that carries a derivative was ever written to an array. */
static inline int cad_array_is_constant(const CadVar *var) {
    return var->view->flags & CAD_CONSTANT && cad_tape_is_constant(var->tape, var->slot);
}

/* --- shapes (operands.c) --- */

typedef struct CadShape {
    int ndim;
    npy_intp size;
    npy_intp of[NPY_MAXDIMS];
    int64_t wide[NPY_MAXDIMS];
} CadShape;

/* The common shape of operands. */
int cad_broadcast(const CadArrayOperands *all, CadShape *shape);

static inline void cad_fill_shape(CadShape *shape, int ndim, const npy_intp *lengths) {
    shape->ndim = ndim;
    shape->size = 1;
    for (int i = 0; i < ndim; i++) {
        shape->of[i] = shape->wide[i] = lengths[i];
        shape->size *= lengths[i];
    }
}

/* The strides of an operand along the axes of the common shape: 0 where it is repeated. */
static inline void cad_spread(const CadArrayOperand *operand, const CadShape *shape,
                              int64_t *strides) {
    const int first = shape->ndim - operand->ndim;
    for (int axis = 0; axis < shape->ndim; axis++) {
        const int own = axis - first;
        strides[axis] = own < 0 || operand->shape[own] == 1 ? 0 : operand->strides[own];
    }
}

/* --- entries and their results (results.c) --- */

/* cad_array_push: 0, or -1 with an exception. */
int cad_push(CadTape *tape, const CadRequest *request, CadSlot *out);

/* Append an operation of a kind over operands, which get their slots. Axes of the common shape
 * whose bit is in `summed` are none of the result, which is seen as an array of `ndim` axes. */
PyObject *cad_record_kind(CadOp op, CadArrayOperands *all, const CadShape *shape, uint64_t summed,
                          int ndim, const npy_intp *seen);

/* The handle of what an entry wrote. What comes of constants alone is constant. */
PyObject *cad_result_view(CadTape *tape, CadSlot out, int ndim, const npy_intp *shape,
                          const npy_intp *strides, size_t slots, int passive, int is_single);

/* An array Var of zeros that are constants. */
PyObject *cad_array_zeros(CadTape *tape, int ndim, const npy_intp *shape, int is_single);

/* --- offsets (gather.c) --- */

/* Which elements of an array an entry reads or writes: their offsets from slot `low`, on the tape
 * from slot `index` on; `high` is the last slot that the array has. */
typedef struct CadOffsets {
    int64_t size, low, high;
    CadSlot index;
} CadOffsets;

/* The offsets that a key names, as a C-contiguous array of int64. */
PyArrayObject *cad_offsets_of(const CadVar *var, PyObject *key);

/* Copy offsets to slots of their own. The tape is pinned. */
int cad_put_offsets(const CadVar *var, PyArrayObject *array, CadOffsets *offsets);

/* Append an operation on the elements that offsets name, and on as many that stand at `place`. */
int cad_push_by_offsets(CadTape *tape, CadOp op, const CadOffsets *offsets, CadPlace place,
                        int passive, int is_single, size_t slots, CadSlot *out);

#endif
