/* The errors that several files raise. */
#ifndef CADIFF_OBJECTS_ERRORS_H
#define CADIFF_OBJECTS_ERRORS_H

#include "memory/memory.h"
#include "numbers/objects/types.h"

/* Set MemoryError or OverflowError for a status that is not CAD_OK; answers -1. */
int cad_raise_status(CadStatus status);

/* The same for any status: 0, or -1 with an exception. */
static inline int cad_check(CadStatus status) {
    return status == CAD_OK ? 0 : cad_raise_status(status);
}

int cad_raise_stale(void);
int cad_raise_threads(void); /* Vars of two threads meet */

/* Raise ValueError for arrays whose shapes do not agree, which a format names by %S; answers -1.
 */
int cad_refuse_shapes(const char *format, int ndim, const npy_intp *shape, int other_ndim,
                      const npy_intp *other_shape);
int cad_refuse_shapes_of(const char *format, PyObject *array, PyObject *other);

/* Raise ValueError for the truth of an array that has not one element; answers -1. */
int cad_refuse_truth(const char *type, Py_ssize_t size);

/* Raise TypeError for a Var or Dual where a plain number is needed; answers NULL. The registered
 * function tells what to write instead, a str, "" if it does not know. */
PyObject *cad_refuse_conversion(PyObject *self);

/* Raise AttributeError: what assigns to an attribute of a number that has its value. */
int cad_refuse_value(PyObject *self, PyObject *value, void *unused);

/* The same for its shape or its dtype, by name. */
int cad_refuse_layout(PyObject *self, PyObject *value, void *name);

/* float(v) and int(v): of constants alone. */
PyObject *cad_number_float(PyObject *self);
PyObject *cad_number_int(PyObject *self);
void cad_register_advice(PyObject *function, PyObject *has_own, PyObject *array_of);

/* Raise TypeError for what stands for an array, but was not to be made one: an array of another
 * library that carries derivatives of its own, say. Another try that succeeds is the answer. */
PyObject *cad_refuse_array(PyObject *given);

/* Raise TypeError if the elements of an array are asked for by a function of SciPy's that the
 * package has, too: it would compute with one after the other. Answers -1 then, else 0. */
int cad_refuse_elements(PyObject *self);

/* Raise TypeError, and answer -1, if numbers are asked for by NumPy's as_strided, which takes an
 * array for memory, and would read beyond its elements. Else 0. */
int cad_refuse_memory(PyObject *self);

/* Leave an exception set that was caught as an object. */
void cad_restore_exception(PyObject *error);

/* Raise RecursionError for containers that have no end, or none within reach; answers -1. */
int cad_raise_nested(void);

/* Before a walk goes into a container, and after it: -1 with RecursionError if it is too deep in.
 * Python's own limit is not enough, since users raise it: it does not know the size of the stack.
 */
int cad_enter_container(void);
void cad_leave_container(void);

#endif
