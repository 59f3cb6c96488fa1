"""Programs made from graphs: running them, and taking them apart to be written as text."""

import numpy as np

cimport cython
from libc.stdint cimport int32_t
from libc.string cimport memcpy
from posix.time cimport clock_gettime, CLOCK_MONOTONIC, timespec

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .c_program cimport *
from .c_entries cimport *
from .workers cimport run_shared

cdef enum:
    LANE_NUMBERS = 1 << 13    # numbers in the workspace of a batch, if it can be
    LEAST_LANES = 8
    MOST_LANES = 256
    ALONG_NUMBERS = 1 << 18   # numbers of all lanes of directions, if there are several
    MOST_ALONG = 64
    PATIENCE = 4096  # runs of others, after which a large workspace is given back


cdef Large large


cdef double now() noexcept nogil:
    """Seconds, from some moment on."""
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec + 1e-9 * time.tv_nsec


@cython.final
cdef class Code:
    """A program: from a vector of inputs to a vector of results.

    Nothing in it changes, so that several threads may run it, each in a workspace of its own.
    """

    def __init__(self):
        raise TypeError("a Code comes from Graph.code")

    def __cinit__(self):
        self.n_along = 1
        self.large = &large

    def __dealloc__(self):
        cdef PyObject **at = &self.large.first
        if self.is_listed:
            while at[0] != <PyObject *>self:
                at = &(<Code>at[0]).other
            at[0] = self.other
        cad_program_free(self.program)
        cad_memory_free(self.spare)

    @property
    def n_inputs(self):
        return self.program.n_inputs

    @property
    def n_results(self):
        return self.program.n_results

    @property
    def n_operations(self):
        """How many operations on numbers it carries out."""
        return self.program.n_operations

    @property
    def shape(self):
        """Instructions, single operations among them, places, checks."""
        return (
            self.program.n_code, self.program.n_singles, self.program.n_places,
            self.program.n_checks,
        )

    @property
    def nbytes(self):
        return cad_program_bytes(self.program) + 8 * self.room()

    cdef void note_run(self) noexcept:
        """Note that a code has run. Large workspaces that nothing has needed for long are freed."""
        cdef PyObject **at = &self.large.first
        cdef Code code
        if self.is_large:
            self.was_run = True
            if not self.is_listed:
                self.is_listed = True
                self.other = self.large.first
                self.large.first = <PyObject *>self
        self.large.runs += 1
        if self.large.runs < PATIENCE:
            return
        self.large.runs = 0
        while at[0] != NULL:
            code = <Code>at[0]
            if code.was_run or code.spare == NULL:  # or it runs just now
                code.was_run = False
                at = &code.other
            else:
                at[0] = code.other
                code.is_listed = False
                cad_memory_free(code.spare)
                code.spare = NULL

    cdef long carry(self, const double *inputs, double *results, double *outcome) except -2:
        """Run it; answers the guard that does not hold, or -1. Then there are no results, but the
        outcome that was met there instead."""
        cdef double *room = self.take_room()
        cdef long missed
        if self.is_long:
            with nogil:
                missed = carry_out(self.program, room, inputs, results)
        else:
            missed = carry_out(self.program, room, inputs, results)
        if missed >= 0:
            outcome[0] = cad_program_outcome(self.program, room, missed)
        self.give_back(room)
        return missed

    def run(self, cnp.ndarray inputs):
        """The results for a contiguous float64 vector of inputs; or a pair, the number of the guard
        that does not hold, and the outcome that was met there."""
        cdef cnp.npy_intp n = self.program.n_results
        cdef cnp.ndarray results = cnp.PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)
        cdef double outcome = 0.0
        cdef long missed = self.carry_array(
            inputs, <double *>cnp.PyArray_DATA(results), &outcome
        )
        return results if missed == -1 else (missed, outcome)

    cdef long carry_array(self, cnp.ndarray inputs, double *results,
                          double *outcome) except -2:
        """As carry, for inputs that are checked first."""
        if (
            cnp.PyArray_SIZE(inputs) != <Py_ssize_t>self.program.n_inputs
            or cnp.PyArray_TYPE(inputs) != cnp.NPY_DOUBLE
            or not cnp.PyArray_ISCARRAY_RO(inputs)
        ):
            raise ValueError(f"expected {self.program.n_inputs} numbers in a contiguous array")
        return self.carry(<const double *>cnp.PyArray_DATA(inputs), results, outcome)

    def profile(self, cnp.ndarray inputs):
        """How many seconds each instruction takes for a vector of inputs, and each of the single
        operations, run apart. All guards have to hold."""
        cdef CadProgram *p = self.program
        cdef cnp.ndarray whole = np.zeros(p.n_code), singles = np.zeros(p.n_singles)
        cdef size_t count = cad_program_room(p, 1)
        cdef cnp.ndarray room = np.empty(count + 1)
        cdef double *numbers = <double *>cnp.PyArray_DATA(room)
        cdef double *places = cad_program_places(p, 1, numbers)
        cdef const double *given = <const double *>cnp.PyArray_DATA(inputs)
        cdef long missed
        if (
            cnp.PyArray_SIZE(inputs) != <Py_ssize_t>p.n_inputs
            or cnp.PyArray_TYPE(inputs) != cnp.NPY_DOUBLE
            or not cnp.PyArray_ISCARRAY_RO(inputs)
        ):
            raise ValueError(f"expected {p.n_inputs} numbers in a contiguous array")
        cad_program_prepare(p, 1, numbers)
        cad_program_take_inputs(p, places, given)
        missed = cad_program_profile(p, numbers, now, <double *>cnp.PyArray_DATA(whole))
        if missed == -1 and p.n_singles > 0:
            cad_program_take_inputs(p, places, given)
            missed = cad_program_profile_singles(
                p, numbers, <int32_t>p.n_places, now, <double *>cnp.PyArray_DATA(singles)
            )
        if missed == CAD_CALL_FAILED:
            check(CAD_RAISED)
        if missed != -1:
            raise ValueError("a guard does not hold for these inputs")
        return whole, singles

    def parts(self):
        """What it consists of, as NumPy arrays; see program/program.h."""
        return parts_of_code(self)

    cdef void choose_along(self) noexcept:
        """Have so many directions side by side that their numbers stay in the cache."""
        cdef size_t width = self.program.n_places - self.program.n_shared
        self.n_along = max(
            <size_t>1, min(<size_t>MOST_ALONG, ALONG_NUMBERS // max(width, <size_t>1))
        )

    cdef size_t lanes(self, size_t n_points):
        """How many points to compute side by side, so that their numbers stay in the cache."""
        if not self.has_lanes:
            return 1
        lanes = LANE_NUMBERS // (cad_program_room(self.program, 1) + 1) // 8 * 8
        lanes = min(lanes, (n_points + 7) // 8 * 8)
        return max(<size_t>LEAST_LANES, min(<size_t>MOST_LANES, <size_t>lanes))

    cdef long carry_along(self, double *room, const double *own, double *results,
                          size_t n) except -2:
        """Run it along some directions, in a workspace where what they share stands; answers as
        `carry`."""
        cdef CadDirections directions
        cdef long missed
        directions.own = own
        directions.results = results
        if self.program.has_calls:
            missed = cad_program_run_along(self.program, self.n_along, room, &directions, 0, n)
        else:
            with nogil:
                missed = cad_program_run_along(self.program, self.n_along, room, &directions, 0, n)
        if missed == CAD_CALL_FAILED:
            check(CAD_RAISED)
        return missed

    def run_points(self, cnp.ndarray own, cnp.ndarray shared, cnp.ndarray heads, cnp.ndarray tails,
                   cnp.ndarray missed, int threads=1):
        """Many points, without the GIL: a row each of `own`, which are followed by the inputs that
        are `shared`; the first results go to the rows of `heads`, the others to `tails`. All are
        contiguous float64 matrices; `missed` is a uint8 vector that marks the points whose guards
        do not hold. Answers how many these are."""
        cdef CadPoints points
        points.own = <const double *>cnp.PyArray_DATA(own)
        points.n_own = cnp.PyArray_DIM(own, 1)
        points.shared = <const double *>cnp.PyArray_DATA(shared)
        points.heads = <double *>cnp.PyArray_DATA(heads)
        points.n_heads = cnp.PyArray_DIM(heads, 1)
        points.tails = <double *>cnp.PyArray_DATA(tails)
        points.missed = <unsigned char *>cnp.PyArray_DATA(missed)
        if (
            points.n_own + cnp.PyArray_SIZE(shared) != self.program.n_inputs
            or points.n_heads + cnp.PyArray_DIM(tails, 1) != self.program.n_results
        ):
            raise ValueError("the matrices are not of the widths of this program")
        cdef size_t n_points = cnp.PyArray_DIM(own, 0)
        return run_shared(self.program, &points, n_points, self.lanes(n_points), threads)
_INSTRUCTION = np.dtype(
    [("kind", "u2"), ("op", "u2"), ("n", "u4"), ("fused", "u4")]
    + [(name, "i4") for name in ("out", "x", "y", "z", "sx", "sy", "sz")]
)
_SINGLE = np.dtype([("op", "u4"), ("out", "i4"), ("x", "i4"), ("y", "i4"), ("z", "i4")])
_STRETCH = np.dtype([("place", "i4"), ("step", "i4"), ("n", "u4"), ("listed", "u4")])
_CHECK = np.dtype([("place", "i4"), ("number", "u4"), ("value", "f8")])


cdef object copied(const void *items, size_t count, object dtype):
    """Some items as an array."""
    cdef cnp.ndarray result = np.empty(count, dtype)
    if count > 0:
        memcpy(cnp.PyArray_DATA(result), items, count * <size_t>result.itemsize)
    return result


cdef dict parts_of_code(Code code):
    cdef CadProgram *p = code.program
    return {
        "code": copied(p.code, p.n_code, _INSTRUCTION),
        "singles": copied(p.singles, p.n_singles, _SINGLE),
        "lists": copied(p.lists, p.n_lists, np.int32),
        "plans": copied(p.plans, p.n_plan_words, np.int64),
        "constants": copied(p.constants, p.n_constants, np.float64),
        "outputs": copied(p.outputs, p.n_outputs, _STRETCH),
        "checks": copied(p.checks, p.n_checks, _CHECK),
        "n_inputs": p.n_inputs,
        "n_places": p.n_places,
        "n_results": p.n_results,
        "compares_last": p.compares_last,
    }
