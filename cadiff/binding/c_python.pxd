# What the binding uses of Python's C interface beside what Cython declares.

from cpython.object cimport PyObject


cdef extern from "Python.h":
    ctypedef PyObject *(*vectorcallfunc)(
        PyObject *, PyObject *const *, size_t, PyObject *
    ) except NULL
    ctypedef struct PyTypeObject:
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags
    unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    object PyVectorcall_Call(object function, tuple args, dict kwargs)
    object PyObject_Vectorcall(object function, PyObject *const *args, size_t nargsf,
                               PyObject *names)
    PyTypeObject *Py_TYPE(object x)
    Py_ssize_t PyDict_GET_SIZE(dict items)
    PyObject **PySequence_Fast_ITEMS(object items)
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
    """
    PyObject *referent(object reference)
