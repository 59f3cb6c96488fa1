/* The geometry of views over numbers: the slots they cover, their order, and the shape that
 * Python sees. No number is read here. */
#include "numbers/objects/views.h"
#include "numbers/objects/references.h"

void cad_var_bounds(const CadVar *var, size_t *low, size_t *high) {
    *low = *high = var->slot;
    if (!CAD_IS_VAR_ARRAY(var) || var->view->size == 0) {
        return;
    }
    for (int i = 0; i < var->view->ndim; i++) {
        const npy_intp reach = (CAD_SHAPE(var->view)[i] - 1) * CAD_STRIDES(var->view)[i];
        *(reach < 0 ? low : high) += (size_t)reach;
    }
}

bool cad_var_is_contiguous(const CadVar *var) {
    npy_intp stride = 1;
    for (int i = var->view->ndim; i-- > 0;) {
        if (CAD_SHAPE(var->view)[i] != 1 && CAD_STRIDES(var->view)[i] != stride) {
            return 0;
        }
        stride *= CAD_SHAPE(var->view)[i];
    }
    return 1;
}

npy_intp cad_step_of(PyArrayObject *array) {
    npy_intp step = 0, next = 0;
    for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
        const npy_intp length = PyArray_DIM(array, i), stride = PyArray_STRIDE(array, i);
        if (length > 1 && (stride == 0 || (step != 0 && stride != next))) {
            return 0;
        }
        if (length > 1) {
            step = step != 0 ? step : stride;
            next = stride * length;
        }
    }
    const npy_intp size = (npy_intp)sizeof(double);
    return !PyArray_ISALIGNED(array) || step % size != 0 ? 0 : step != 0 ? step / size : 1;
}

PyObject *cad_copy_in_order(PyObject *array) {
    return PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
}

PyObject *cad_shape_tuple(int ndim, const npy_intp *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple != NULL && i < ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(shape[i]);
        if (length == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, length);
    }
    return tuple;
}

PyObject *cad_index_of_place(int ndim, const npy_intp *shape, npy_intp place) {
    npy_intp index[NPY_MAXDIMS];
    for (int axis = ndim; axis-- > 0;) {
        index[axis] = place % shape[axis];
        place /= shape[axis];
    }
    return cad_shape_tuple(ndim, index);
}

int cad_new_axes(PyObject *key) {
    if (!PyTuple_Check(key)) {
        return key == Py_None ? 1 : key == Py_Ellipsis ? 0 : -1;
    }
    int count = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i);
        if (item != Py_None && (item != Py_Ellipsis || ++ellipses > 1)) {
            return -1;
        }
        count += item == Py_None;
    }
    return count;
}

int cad_has_ellipsis(PyObject *key) {
    int found = key == Py_Ellipsis;
    for (Py_ssize_t i = 0; PyTuple_Check(key) && i < PyTuple_GET_SIZE(key) && !found; i++) {
        found = PyTuple_GET_ITEM(key, i) == Py_Ellipsis;
    }
    return found;
}

PyObject *cad_key_before(PyObject *key, PyObject *item) {
    if (!PyTuple_Check(key)) {
        return PyTuple_Pack(2, key, item);
    }
    return cad_with(PySequence_Concat, key, PyTuple_Pack(1, item));
}

PyObject *cad_key_with_ellipsis(PyObject *key) {
    return cad_has_ellipsis(key) ? Py_NewRef(key) : cad_key_before(key, Py_Ellipsis);
}
