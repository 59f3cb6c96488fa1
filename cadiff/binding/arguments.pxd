# What other modules see of arguments.pyx.

cimport cython
from libc.stdint cimport uint64_t

from .generated.entries cimport *
from .trees cimport Container


cdef enum Shape:
    NUMBER     # a float
    ARRAY      # an array
    ROW        # a list or tuple of nothing but plain numbers
    CONTAINER  # any other container


@cython.final
@cython.no_gc
cdef class ArgumentNode:
    cdef Shape shape
    cdef Py_ssize_t offset   # of its first number
    cdef Py_ssize_t size     # how many numbers
    cdef Py_ssize_t atom     # its first atom
    cdef Py_ssize_t packed   # where its numbers stand in the collector; those of an ARRAY are in:
    cdef object flat         # float64, C-contiguous
    cdef object original     # an ARRAY, for its shape and dtype
    cdef Container container
    cdef object adjoints     # while results are read
    cdef bint borrowed       # an ARRAY whose values are read where they are, and
    cdef uint64_t fingerprint  # what they were
    cdef tuple children
    cdef bint has_complex    # whether there is a complex number in it
    cdef bint is_single      # a NUMBER or an ARRAY of float32

    cdef int lend(self, CadTape *tape, CadSlot base) except -1
    cdef void take_back(self, CadTape *tape, CadSlot base)
    cdef int read_adjoints(self, CadTape *tape, CadSlot base) except -1
    cdef bint is_array(self)
    cdef object from_read(self)
    cdef int check_unchanged(self) except -1
    cdef object from_doubles(self, const double *numbers)
    cdef object from_atoms(self, list atoms)
    cdef object from_cotangents(self, list atoms)
    cdef int conjugate(self, list atoms) except -1
    cdef object lift(self, list atoms, object block, CadTape *tape, CadSlot base)
    cdef ArgumentNode bare(self)
    cdef tuple to_state(self)
    cdef tuple leaf_shape(self)
    cdef int collect_atoms(self, list atoms) except -1
    cdef int match(self, Collector collector, object tree, object path) except -1
    cdef object describe(self)
    cdef int refuse(self, object tree, object path) except -1
    cdef object fill(self, object leaves)


@cython.final
@cython.no_gc
cdef class Collector:
    cdef double *values  # the single numbers, as long as all are plain
    cdef Py_ssize_t n_packed
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef Py_ssize_t n_atoms
    cdef list nodes      # of the atoms so far, while all are plain; a ROW stands for several. Or None
    cdef list atoms      # the atoms themselves, once one is not

    cdef int reserve(self, Py_ssize_t more) except -1
    cdef list all_atoms(self)
    cdef int copy_to(self, CadTape *tape, CadSlot base, bint borrow) except -1
    cdef int add_plain(self, ArgumentNode node, object number, double value) except -1
    cdef int note_packed(self, ArgumentNode node, Py_ssize_t n) except -1
    cdef int note(self, ArgumentNode node) except -1
    cdef int add_object(self, ArgumentNode node, object atom, Py_ssize_t size) except -1
    cdef tuple collect(self, tuple args, tuple argnums)
    cdef ArgumentNode add(self, object argument)
    cdef ArgumentNode add_checked(self, object argument)
    cdef bint add_container(self, ArgumentNode node, object argument) except -1
    cdef int add_parts(self, ArgumentNode node, tuple parts) except -1
    cdef int add_array(self, ArgumentNode node, object argument) except -1
    cdef int add_members(self, ArgumentNode node, object array) except -1


cdef inline Py_ssize_t place_of(tuple args, tuple argnums, Py_ssize_t i) except -1:
    """The position of the i-th of the arguments that argnums name, which may count from the end."""
    cdef Py_ssize_t k = argnums[i]
    return k if k >= 0 else k + len(args)


@cython.final
cdef class Structure:
    cdef tuple nodes
