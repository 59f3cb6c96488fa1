/* What the binding in Cython does for these files: it makes numbers of whole collections. */
#ifndef CADIFF_OBJECTS_BINDING_H
#define CADIFF_OBJECTS_BINDING_H

#include "numbers/objects/types.h"

/* An array of objects as an array of numbers. */
PyObject *cad_gather_numbers(PyObject *array);

/* A single number as an array of one with so many axes. */
PyObject *cad_with_axes(PyObject *number, int axes);

/* An array as a Var, or as a Dual of the tag of another one, without derivatives of its own. */
PyObject *cad_promote(PyObject *array, PyObject *other);

/* Operators of complex numbers, for their type; NotImplemented of other operands. */
PyObject *cad_complex_add(PyObject *x, PyObject *y);
PyObject *cad_complex_subtract(PyObject *x, PyObject *y);
PyObject *cad_complex_multiply(PyObject *x, PyObject *y);
PyObject *cad_complex_divide(PyObject *x, PyObject *y);
PyObject *cad_complex_matmul(PyObject *x, PyObject *y);
PyObject *cad_complex_compare(PyObject *x, PyObject *y, bool equal);

/* What an operation of the table comes to, of a tuple of operands one of which is complex. */
PyObject *cad_complex_operation(int op, PyObject *operands);

/* Var(value) and Dual(primal, tangent) of complex numbers. */
PyObject *cad_complex_var(PyObject *value);
PyObject *cad_complex_dual(PyObject *primal, PyObject *tangent);

/* Whether something is a complex number, or an array of them, with derivatives or without. */
int cad_is_complex(PyObject *object);

/* Raise where a complex number with a derivative would be an element of an array of objects. */
int cad_check_element(PyObject *element);

/* A number or array as plain, where nothing in it carries a derivative. */
PyObject *cad_finalized(PyObject *atom);

/* Call what stands for a function of NumPy's. */
PyObject *cad_call_dispatched(PyObject *function, PyObject *args, PyObject *kwargs);

/* Call what has no rule with constants; NotImplemented if there are others among its arguments. */
PyObject *cad_call_on_constants(PyObject *function, PyObject *args, PyObject *kwargs);

/* The plain value of what carries no derivative, or has outlived its computation; None of anything
 * else. */
PyObject *cad_constant_value(PyObject *number);

/* Note that a user's program is about to take the plain value of a number. */
int cad_note_taken(PyObject *number);

/* Note that a recording has noted an outcome of a comparison as a guard. */
int cad_note_guard(PyObject *outcome);

/* Note how a function that is run eagerly has chosen. */
int cad_note_choice(int truth);

/* Whether a number has outlived its computation. */
int cad_is_over(PyObject *number);

#endif
