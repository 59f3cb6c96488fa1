# What the binding uses of NumPy's C interface, and no more: each module that knows a type of
# NumPy's looks it up when it is imported. numbers/module/ready.c fills in the tables behind these
# functions.

cdef extern from "numbers/objects/types.h":
    ctypedef Py_ssize_t npy_intp

    ctypedef class numpy.ndarray [object PyArrayObject, check_size ignore]:
        pass

    enum:
        NPY_ARRAY_CARRAY_RO
        NPY_ARRAY_ENSURECOPY
        NPY_ARRAY_FORCECAST
        NPY_ARRAY_WRITEABLE
        NPY_BOOL
        NPY_CDOUBLE
        NPY_CFLOAT
        NPY_DOUBLE
        NPY_FLOAT16
        NPY_FLOAT32
        NPY_INT32
        NPY_INT64
        NPY_INTP
        NPY_OBJECT
        NPY_UINT32

    bint PyArray_Check(object x)
    bint PyArray_CheckExact(object x)
    bint PyArray_CompareLists(const npy_intp *lengths, const npy_intp *others, int n) nogil
    bint PyArray_ISBEHAVED_RO(ndarray array) nogil
    bint PyArray_ISCARRAY_RO(ndarray array) nogil
    bint PyArray_IS_C_CONTIGUOUS(ndarray array) nogil
    bint PyArray_ISNOTSWAPPED(ndarray array) nogil
    bint PyArray_ISWRITEABLE(ndarray array) nogil
    bint PyTypeNum_ISCOMPLEX(int kind) nogil
    bint PyTypeNum_ISFLOAT(int kind) nogil
    bint PyTypeNum_ISINTEGER(int kind) nogil
    int PyArray_NDIM(ndarray array) nogil
    int PyArray_TYPE(ndarray array) nogil
    npy_intp PyArray_DIM(ndarray array, int axis) nogil
    npy_intp PyArray_NBYTES(ndarray array) nogil
    npy_intp PyArray_SIZE(ndarray array) nogil
    npy_intp *PyArray_DIMS(ndarray array) nogil
    npy_intp *PyArray_STRIDES(ndarray array) nogil
    void *PyArray_DATA(ndarray array) nogil
    void *PyArray_DESCR(ndarray array) nogil
    object PyArray_Cast(ndarray array, int kind)
    object PyArray_EMPTY(int ndim, npy_intp *shape, int kind, int fortran)
    object PyArray_FROMANY(object x, int kind, int least, int most, int flags)
    object PyArray_SimpleNew(int ndim, npy_intp *shape, int kind)
    object PyArray_SimpleNewFromData(int ndim, npy_intp *shape, int kind, void *data)
    object PyArray_ZEROS(int ndim, npy_intp *shape, int kind, int fortran)


cdef inline double *doubles(ndarray array) noexcept nogil:
    """The numbers of an array of float64."""
    return <double *>PyArray_DATA(array)


cdef inline npy_intp *places(ndarray array) noexcept nogil:
    """The numbers of an array of intp."""
    return <npy_intp *>PyArray_DATA(array)


cdef inline ndarray new_doubles(npy_intp n):
    """A vector of float64 that is not filled in yet."""
    return PyArray_EMPTY(1, &n, NPY_DOUBLE, 0)


cdef inline ndarray in_order(object x, int kind):
    """An array of a type that holds what x does, its elements one behind the other."""
    return PyArray_FROMANY(x, kind, 0, 0, NPY_ARRAY_CARRAY_RO)


cdef inline ndarray cast_in_order(object x, int kind):
    """The same of numbers that the type may not hold as they are."""
    return PyArray_FROMANY(x, kind, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST)
