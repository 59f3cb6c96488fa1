/* The geometry of views over numbers. */
#ifndef CADIFF_OBJECTS_VIEWS_H
#define CADIFF_OBJECTS_VIEWS_H

#include "numbers/objects/types.h"

/* The lowest and the highest slot of a Var. */
void cad_var_bounds(const CadVar *var, size_t *low, size_t *high);

/* Whether the elements of an array Var stand side by side, in C order. */
bool cad_var_is_contiguous(const CadVar *var);

/* How many numbers further the next element of an array of NumPy's is, in C order; 0 if that
 * differs. */
npy_intp cad_step_of(PyArrayObject *array);

/* A copy of an array of NumPy's, in C order. */
PyObject *cad_copy_in_order(PyObject *array);

/* The lengths of axes as a tuple. */
PyObject *cad_shape_tuple(int ndim, const npy_intp *shape);

/* The index on each axis, as a tuple, of the element at a place among all elements in order. */
PyObject *cad_index_of_place(int ndim, const npy_intp *shape, npy_intp place);

/* How many axes a key adds to a single number; -1 if it indexes anything. */
int cad_new_axes(PyObject *key);

/* Whether there is `...` in a key. */
int cad_has_ellipsis(PyObject *key);

/* A key with an item behind it. */
PyObject *cad_key_before(PyObject *key, PyObject *item);

/* A key with `...` in it, so that NumPy answers with a view even for a single element. */
PyObject *cad_key_with_ellipsis(PyObject *key);

/* Step an index through all elements of a view; answers the slot of the next one. */
static inline CadSlot cad_view_next(const CadView *view, npy_intp *index, CadSlot slot) {
    for (int axis = view->ndim; axis-- > 0;) {
        const npy_intp stride = CAD_STRIDES(view)[axis];
        slot += (CadSlot)stride;
        if (++index[axis] < CAD_SHAPE(view)[axis]) {
            break;
        }
        slot -= (CadSlot)(stride * index[axis]);
        index[axis] = 0;
    }
    return slot;
}

#endif
