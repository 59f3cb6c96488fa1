/* Arrays on the tape: operations on array Vars, indexing them and assigning to them. */
#ifndef CADIFF_ARRAY_H
#define CADIFF_ARRAY_H

#include "numbers/objects/types.h"

/* --- operations (arithmetic.c) --- */

/* An operation on arrays and single numbers: Vars, at least one of them, and plain ones. NULL
 * without an exception if an operand is something else. */
CadPointer *cad_array_apply(CadOp op, PyObject *const *operands);

/* `left @ right` of Vars, at least one of them, and plain arrays; NULL as for cad_array_apply. */
CadPointer *cad_array_matmul(PyObject *left, PyObject *right);

/* `left @ right` of complex matrices, each an array of both parts, with an axis of these in front:
 * at least one a Var, that is no constant. NULL with an exception. */
PyObject *cad_array_complex_matmul(PyObject *left, PyObject *right);

PyObject *cad_array_copy(CadVar *var);

/* The sum over axes (None: all; an int; a tuple of them). */
PyObject *cad_array_sum(CadVar *var, PyObject *axis, bool keepdims);

/* An operation of a kind over array Vars, at least one of them, and plain arrays, of a shape but
 * for axes of length 1; with `shape` NULL, of that which they have together. Axes whose bit is in
 * `summed` have length 1 in the result. NULL as for cad_array_apply. */
PyObject *cad_array_kind(CadOp op, PyObject *const *operands, int ndim, const npy_intp *shape,
                         uint64_t summed);

/* An array Var of constants, which can be assigned to; a scalar for ndim 0. */
PyObject *cad_array_constant(CadTape *tape, PyObject *values);

/* --- copies by arrays of indices (gather.c) --- */

/* var[key] where that is no view. */
PyObject *cad_array_gather(CadVar *var, PyObject *key);

/* --- assignment (assign.c) --- */

/* var[key] = value */
int cad_array_assign(CadVar *var, PyObject *key, PyObject *value);

/* target += value, of the same shape; on the tape, in place. Where several elements of the target
 * are one number, it gets the sum. Former values are not kept. */
int cad_array_accumulate(CadVar *target, PyObject *value);

/* target[indices] += value, in which an element may occur several times: a 1-D target, int64
 * indices of one axis. Former values are not kept. */
int cad_array_add_at(CadVar *target, PyObject *indices, PyObject *value);

/* target[...] = value for a part of an array that was just made: no former values are kept. */
int cad_array_write(CadVar *target, PyObject *value);

/* --- indexing (index.c) --- */

PyObject *cad_var_iter(CadVar *var);
extern PyMappingMethods cad_var_mapping, cad_var_array_mapping;
extern PySequenceMethods cad_var_sequence;

/* A number without axes at a key of new axes, or at a mask, which makes it an array of one or of
 * no element; NULL without an error if it is neither. */
PyObject *cad_number_at(PyObject *number, PyObject *key);

#endif
