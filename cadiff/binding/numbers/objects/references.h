/* Calls on references that they take over. NULL is what has failed: it goes through without a
 * call, so that calls stand one behind the other and no failure has to be looked for between them.
 */
#ifndef CADIFF_OBJECTS_REFERENCES_H
#define CADIFF_OBJECTS_REFERENCES_H

#include "numbers/objects/types.h"

/* A tuple of items, which stay the caller's. */
static inline PyObject *cad_tuple_of(PyObject *const *items, Py_ssize_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple != NULL && i < n; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    }
    return tuple;
}

/* function(taken) */
static inline PyObject *cad_then(PyObject *taken, PyObject *function(PyObject *)) {
    PyObject *result = taken == NULL ? NULL : function(taken);
    Py_XDECREF(taken);
    return result;
}

/* function(taken, other), of which the other one stays the caller's */
static inline PyObject *cad_then_with(PyObject *taken, PyObject *function(PyObject *, PyObject *),
                                      PyObject *other) {
    PyObject *result = taken == NULL ? NULL : function(taken, other);
    Py_XDECREF(taken);
    return result;
}

/* function(first, taken), of which the first one stays the caller's */
static inline PyObject *cad_with(PyObject *function(PyObject *, PyObject *), PyObject *first,
                                 PyObject *taken) {
    PyObject *result = taken == NULL ? NULL : function(first, taken);
    Py_XDECREF(taken);
    return result;
}

/* object[taken] */
static inline PyObject *cad_item(PyObject *object, PyObject *taken) {
    return cad_with(PyObject_GetItem, object, taken);
}

/* taken.name */
static inline PyObject *cad_attribute(PyObject *taken, const char *name) {
    PyObject *result = taken == NULL ? NULL : PyObject_GetAttrString(taken, name);
    Py_XDECREF(taken);
    return result;
}

/* taken.name() */
static inline PyObject *cad_called(PyObject *taken, const char *name) {
    PyObject *result = taken == NULL ? NULL : PyObject_CallMethod(taken, name, NULL);
    Py_XDECREF(taken);
    return result;
}

/* What a call comes to whose result is not wanted: 0, or -1 with an exception. */
static inline int cad_done(PyObject *taken) {
    const int status = taken == NULL ? -1 : 0;
    Py_XDECREF(taken);
    return status;
}

#endif
