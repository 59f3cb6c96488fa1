# What other modules see of borrowed.pyx.

from libc.stdint cimport intptr_t


cdef extern from "kernels/borrowed.h" nogil:
    enum: CAD_MOST_BUFFERS, CAD_MOST_STAGES, CAD_MOST_LENGTHS

    ctypedef enum CadBufferType:
        CAD_BUFFER_DOUBLE, CAD_BUFFER_COMPLEX, CAD_BUFFER_INT

    ctypedef void (*CadBorrowedLoop "CadStackLoop *")(
        char **arguments, const Py_ssize_t *dims, const Py_ssize_t *steps, void *data
    ) noexcept nogil

    ctypedef struct CadBuffer:
        CadBufferType type
        int source "from"
        int to
        bint is_upper
        bint is_turning
        size_t rows
        size_t columns
        size_t n_rows
        size_t n_columns
        size_t start

    ctypedef struct CadStage:
        CadBorrowedLoop loop
        void *data
        int n
        int buffers[8]
        Py_ssize_t dims[7]
        Py_ssize_t steps[24]

    ctypedef struct CadBorrowed:
        int n_buffers
        int n_stages
        int n_arguments
        size_t size
        int axes[8]
        bint is_pair[8]
        CadBuffer buffers[8]
        CadStage stages[2]

    ctypedef enum CadItemType:
        CAD_ITEM_DOUBLE, CAD_ITEM_COMPLEX, CAD_ITEM_INT

    ctypedef struct CadRetyped:
        CadBorrowedLoop loop
        void *data
        int n_arguments
        int n_operands
        CadItemType types[8]

    void cad_run_retyped(
        char **arguments, const Py_ssize_t *dims, const Py_ssize_t *steps, void *retyped
    )
    void cad_run_borrowed(
        char **arguments, const Py_ssize_t *dims, const Py_ssize_t *steps, void *borrowed
    )


cdef class Borrowed:
    """Loops of ufuncs over stacks, one after the other, for arguments of fixed lengths."""
    cdef CadBorrowed call
    cdef readonly list stages  # whose loops they are

    cdef list add_stage(self, tuple function, str names, dict known, dict types)


cdef class Retyped:
    """A loop of an elementwise ufunc over numbers of other types than floats."""
    cdef CadRetyped call
    cdef readonly object ufunc
    cdef readonly str signature
