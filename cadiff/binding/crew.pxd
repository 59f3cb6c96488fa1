from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_type_lock

from .generated.program cimport CadPartOfWork


# What is done of some work: its items from one on up to another, in a room of numbers. Answers a
# count, all of which are added up; below 0 if an exception was set, which takes the GIL.
ctypedef long (*DoItems)(const void *what, size_t begin, size_t end, double *room) noexcept nogil
ctypedef void (*PrepareRoom)(const void *what, double *room) noexcept nogil


cdef struct Job:
    const void *what
    DoItems do
    PrepareRoom prepare            # or NULL
    size_t n_room                  # numbers in a room
    size_t n_part                  # items that are taken at once
    bint is_long                   # so that it has to react to interrupts
    # What follows belongs to the thread that holds the guard.
    size_t begin, end              # the items that are not taken yet
    long count
    int n_wanted                   # helpers that may come
    int n_uncalled                 # of these, who may be called
    int n_active
    PyObject *error
    PyThread_type_lock finished    # released by the last helper, if a thread waits
    bint is_awaited
    Job *other
