# What the binding uses of Python's C interface beside what Cython declares.

from cpython.list cimport PyList_New
from cpython.object cimport PyObject, PyObject_GenericGetAttr


cdef extern from "Python.h":
    ctypedef PyObject *(*vectorcallfunc)(
        PyObject *, PyObject *const *, size_t, PyObject *
    ) except NULL
    ctypedef struct PyTypeObject:
        Py_ssize_t tp_vectorcall_offset
        void *tp_descr_get
        void *tp_descr_set
        unsigned long tp_flags
    ctypedef struct PyFunctionObject:
        PyObject *func_name
        PyObject *func_qualname
        PyObject *func_doc
        PyObject *func_module
        PyObject *func_dict
    unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    unsigned long Py_TPFLAGS_HEAPTYPE
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    object PyVectorcall_Call(object function, tuple args, dict kwargs)
    object PyObject_Vectorcall(object function, PyObject *const *args, size_t nargsf,
                               PyObject *names)
    PyTypeObject *Py_TYPE(object x)
    Py_ssize_t PyDict_GET_SIZE(dict items)
    PyObject **PySequence_Fast_ITEMS(object items)
    Py_ssize_t PySequence_Fast_GET_SIZE(object items)
    PyObject *new_float "PyFloat_FromDouble"(double number) except NULL
    void put_item "PyList_SET_ITEM"(list items, Py_ssize_t k, PyObject *item)  # which is new
    int PyGC_Disable()
    int PyGC_Enable()


cdef extern from *:
    """
    /* What a weak reference refers to, or NULL: borrowed, as long as no other code runs. */
    static inline PyObject *referent(PyObject *reference) {
    #if PY_VERSION_HEX >= 0x030D0000
        PyObject *found;
        if (PyWeakref_GetRef(reference, &found) <= 0) {
            return NULL;
        }
        Py_DECREF(found);
        return found;
    #else
        PyObject *found = PyWeakref_GET_OBJECT(reference);
        return found == Py_None ? NULL : found;
    #endif
    }

    /* An attribute of a class, or of one that it derives from: borrowed; NULL if there is none. */
    static inline PyObject *looked_up(PyObject *kind, PyObject *name) {
        return _PyType_Lookup((PyTypeObject *)kind, name);
    }
    """
    PyObject *looked_up(object kind, object name)
    PyObject *referent(object reference)


cdef inline list list_of_floats(const double *numbers, Py_ssize_t n):
    """Python's floats of numbers in a row."""
    cdef Py_ssize_t k
    cdef list made = PyList_New(n)
    for k in range(n):
        put_item(made, k, new_float(numbers[k]))
    return made


cdef inline object or_none(PyObject *found):
    return None if found == NULL else <object>found


# What stands in objects and classes of the user's is read as it is: their own ways to answer for
# an attribute (`__getattr__`, that of a metaclass, too) may raise anything.

cdef inline object class_attribute(object kind, str name):
    """An attribute of a class, or of one that it derives from; None if there is none."""
    cdef PyObject *found = looked_up(kind, name)
    return None if found == NULL else <object>found


cdef inline object plain_attribute(object item, str name, object missing):
    """An attribute of an object, unless only its `__getattr__` knows it."""
    try:
        return PyObject_GenericGetAttr(item, name)
    except AttributeError:
        return missing
