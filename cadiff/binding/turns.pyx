"""Turns of a loop, each of which a code computes: as many as there are, forth and back.

A turn takes a row of inputs: what is the same in all turns, the state, and a row of the turn's
own. It gives the next state, a row of results, and whether there is another turn. Some codes may
serve a turn, each where its guards hold; the one that served the turn before is tried first.
Where none does, that turn is for the caller. What a loop is, and what it is for, is not known here.
"""

import numpy as np

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.program cimport *
from .c_numbers cimport *
from .codes cimport Code

from .codes import CallError


cdef enum:
    PATIENCE = 1 << 12  # turns between looks for an interrupt


cdef inline double *doubles_of(cnp.ndarray array, Py_ssize_t n) except NULL:
    if (
        cnp.PyArray_TYPE(array) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY_RO(array)
        or cnp.PyArray_SIZE(array) < n
    ):
        raise ValueError(f"expected {n} numbers in a contiguous array")
    return cnp.doubles(array)


cdef inline void put(double *to, const double *numbers, Py_ssize_t n) noexcept:
    memcpy(to, numbers, n * sizeof(double))


cdef long run_code(Code code, const double *inputs, double *results) except -4:
    """The guard that does not hold, or -1; where a step has raised, that is none of these."""
    cdef double outcome
    try:
        return code.carry(inputs, results, &outcome)
    except CallError:
        return 0


@cython.final
cdef class Turns:
    """One run of a loop.

    codes: for a turn's values, and lists may grow while it runs. sizes: of what is the same in all
    turns, of the state, and of rows of inputs and results. begin, end: the first turn, and the one
    behind the last; `asks`: unless the last result of a turn is 0 before. most: states that are
    kept for the way back; where there are more turns, every second, fourth, ... state is.
    """

    cdef list codes
    cdef Py_ssize_t p, n, m, k
    cdef readonly Py_ssize_t t, begin, end
    cdef readonly Py_ssize_t stride
    cdef bint asks
    cdef Py_ssize_t most, n_kept, room, current, first
    cdef double *kept
    cdef int32_t *served
    cdef readonly cnp.ndarray row      # the inputs of the turn that is to come
    cdef cnp.ndarray out, xs, ys

    def __init__(self, list codes, tuple sizes, cnp.ndarray same, cnp.ndarray state,
                 cnp.ndarray xs, cnp.ndarray ys, Py_ssize_t begin, Py_ssize_t end, bint asks,
                 Py_ssize_t most=0, Py_ssize_t first=0):
        self.codes = codes
        self.p, self.n, self.m, self.k = sizes
        self.t = self.begin = begin
        self.end, self.asks, self.most, self.stride = end, asks, most, 1
        self.current = first
        self.row = cnp.new_doubles(self.p + self.n + self.m)
        self.out = cnp.new_doubles(self.n + self.k + 1)
        self.xs, self.ys = xs, ys
        doubles_of(xs, end * self.m)
        doubles_of(ys, end * self.k)
        put(cnp.doubles(self.row), doubles_of(same, self.p), self.p)
        put(cnp.doubles(self.row) + self.p, doubles_of(state, self.n), self.n)

    def __dealloc__(self):
        cad_memory_free(self.kept)
        cad_memory_free(self.served)

    @property
    def state(self) -> NDArray[np.float64]:
        """That before the turn that is to come."""
        return self.row[self.p : self.p + self.n].copy()

    @property
    def last_code(self) -> int:
        return self.current

    cdef int keep(self, Py_ssize_t code) except -1:
        """Keep the state before a turn, unless others around it are enough."""
        cdef Py_ssize_t k, room
        if (self.t - self.begin) % self.stride != 0:
            return 0
        if self.n_kept == self.most:  # every second one is left
            for k in range((self.n_kept + 1) // 2):
                put(self.kept + k * self.n, self.kept + 2 * k * self.n, self.n)
                self.served[k] = self.served[2 * k]
            self.n_kept = (self.n_kept + 1) // 2
            self.stride *= 2
            if (self.t - self.begin) % self.stride != 0:
                return 0
        if self.n_kept == self.room:
            room = min(self.most, max(<Py_ssize_t>64, 2 * self.room))
            self.kept = <double *>grown(self.kept, self.n_kept * self.n * sizeof(double),
                                        room * self.n * sizeof(double))
            self.served = <int32_t *>grown(self.served, self.n_kept * sizeof(int32_t),
                                           room * sizeof(int32_t))
            self.room = room
        put(self.kept + self.n_kept * self.n, cnp.doubles(self.row) + self.p, self.n)
        self.served[self.n_kept] = <int32_t>code
        self.n_kept += 1
        return 0

    cdef int take(self, const double *out, Py_ssize_t code) except -1:
        """Take what a turn has given."""
        if self.most > 0:
            self.keep(code)
        put(cnp.doubles(self.row) + self.p, out, self.n)
        if self.k > 0:
            put(cnp.doubles(self.ys) + self.t * self.k, out + self.n, self.k)
        self.t += 1
        if self.asks and out[self.n + self.k] == 0.0:
            self.end = self.t
        return 0

    def run(self) -> bool:
        """Go on to the end; False where no code serves the turn that is to come."""
        cdef double *row = cnp.doubles(self.row)
        cdef double *out = cnp.doubles(self.out)
        cdef Py_ssize_t k, n_codes
        while self.t < self.end:
            if self.m > 0:
                put(row + self.p + self.n, cnp.doubles(self.xs) + self.t * self.m, self.m)
            n_codes = len(self.codes)
            k = self.current
            if k >= n_codes or run_code(<Code>self.codes[k], row, out) != -1:
                for k in range(n_codes):
                    if k != self.current and run_code(<Code>self.codes[k], row, out) == -1:
                        break
                else:
                    return False
                self.current = k
            self.take(out, k)
            if self.t % PATIENCE == 0:
                PyErr_CheckSignals()
        return True

    def step(self, cnp.ndarray out, Py_ssize_t code) -> None:
        """Take what the caller has computed for this turn, by a code or without (-1)."""
        self.take(doubles_of(out, self.n + self.k + 1), code)
        if code >= 0:
            self.current = code

    # --- back

    def stretch(self, Py_ssize_t k, list codes) -> Turns:
        """The turns from the k-th state that is kept to the next one, to be run again."""
        cdef Py_ssize_t begin = self.begin + k * self.stride
        cdef cnp.ndarray state = cnp.new_doubles(self.n)
        put(cnp.doubles(state), self.kept + k * self.n, self.n)
        return Turns(
            codes, (self.p, self.n, self.m, self.k), self.row, state, self.xs, self.ys, begin,
            min(begin + self.stride, self.end), False, self.stride, max(0, self.served[k]),
        )

    @property
    def n_states(self) -> int:
        return self.n_kept

    def back(self, list pulls, cnp.ndarray seeds, cnp.ndarray of_same, cnp.ndarray of_state,
             cnp.ndarray of_xs) -> bool:
        """Pull cotangents back to the first turn; False where no code serves the turn before `t`,
        whose state all are kept. Those of what is the same in all turns are added up."""
        cdef double *row = cnp.doubles(self.row)
        cdef Py_ssize_t n_row = self.p + self.n + self.m, served
        cdef cnp.ndarray given = cnp.new_doubles(n_row + self.n + self.k + 1)
        cdef cnp.ndarray pulled = cnp.new_doubles(n_row)
        cdef double *seed = cnp.doubles(given) + n_row
        doubles_of(seeds, self.end * self.k)
        doubles_of(of_xs, self.end * self.m)
        doubles_of(of_same, self.p)
        doubles_of(of_state, self.n)
        while self.t > self.begin:
            served = self.before(row)
            if not 0 <= served < len(pulls) or not isinstance(pulls[served], Code):
                return False
            put(cnp.doubles(given), row, n_row)
            put(seed, cnp.doubles(of_state), self.n)
            put(seed + self.n, cnp.doubles(seeds) + (self.t - 1) * self.k, self.k)
            seed[self.n + self.k] = 0.0
            if run_code(<Code>pulls[served], cnp.doubles(given), cnp.doubles(pulled)) != -1:
                return False
            self.take_back(cnp.doubles(pulled), of_same, of_state, of_xs)
            if self.t % PATIENCE == 0:
                PyErr_CheckSignals()
        return True

    cdef Py_ssize_t before(self, double *row) noexcept:
        """Have the inputs of the last turn in the row; answers which code served it."""
        cdef Py_ssize_t k = self.t - 1 - self.begin
        put(row + self.p, self.kept + k * self.n, self.n)
        put(row + self.p + self.n, cnp.doubles(self.xs) + (self.t - 1) * self.m, self.m)
        return self.served[k]

    cdef void take_back(self, const double *pulled, cnp.ndarray of_same, cnp.ndarray of_state,
                        cnp.ndarray of_xs) noexcept:
        cdef double *sums = cnp.doubles(of_same)
        cdef Py_ssize_t i
        for i in range(self.p):
            sums[i] += pulled[i]
        put(cnp.doubles(of_state), pulled + self.p, self.n)
        self.t -= 1
        put(cnp.doubles(of_xs) + self.t * self.m, pulled + self.p + self.n, self.m)

    def served_last(self) -> int:
        """Which code served the turn before `t`, whose inputs are in the row then; or -1."""
        return self.before(cnp.doubles(self.row))

    def step_back(self, cnp.ndarray pulled, cnp.ndarray of_same, cnp.ndarray of_state,
                  cnp.ndarray of_xs) -> None:
        """Take the cotangents of the inputs of that turn, which the caller has computed."""
        self.take_back(doubles_of(pulled, self.p + self.n + self.m), of_same, of_state, of_xs)


cdef void *grown(void *old, size_t used, size_t size) except NULL:
    """The same memory, with more room."""
    cdef void *new = new_memory(size + 1, 1)
    if old != NULL:
        memcpy(new, old, used)
    cad_memory_free(old)
    return new
