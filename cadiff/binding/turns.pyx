"""Turns of a loop, each of which a code computes: as many as there are, forth and back.

A turn takes a row of inputs: what is the same in all turns, the state, and a row of the turn's
own. It gives the next state, a row of results, and whether there is another turn. Some codes may
serve a turn, each where its guards hold; the one that served the turn before is tried first.
Where none does, that turn is for the caller. Loops themselves are not known here.
"""

import numpy as np

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.program cimport *
from .c_numbers cimport *
from .codes cimport Code

from .rules import CallError


cdef enum:
    PATIENCE = 1 << 12  # turns between looks for an interrupt
    MOST_TOLD = 16  # codes of which it is told which came behind which


cdef double *doubles_of(cnp.ndarray array, Py_ssize_t n) except NULL:
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


cpdef Py_ssize_t way_of(Py_ssize_t way, Py_ssize_t code) noexcept:
    """The digest of codes, from that of all but the last one; 0 is that of none."""
    cdef uint64_t mixed = (<uint64_t>way ^ <uint64_t>(code + 2)) * <uint64_t>0x9e3779b97f4a7c15
    return <Py_ssize_t>(mixed ^ mixed >> 29)


@cython.final
cdef class Turns:
    """One run of a loop, for a row of inputs: what is the same in all turns, the first state, and
    a row for each turn.

    codes: for a turn's values; entrance: for whether there is a first turn, or None. Both lists may
    grow while it runs. sizes: of what is the same, of the state, and of rows of inputs and
    results; n_rows: how many of these there are. begin, end: the first turn, and the one behind
    the last, unless the last result of one before is 0. most: states that are kept for the way
    back; where there are more turns, every second, fourth, ... state is. first: the code that is
    tried first.

    Attributes
    ----------
    results: ndarray
        The last state, and a row for each turn.
    row: ndarray
        The inputs of the turn that is to come.
    """

    cdef list codes, entrance
    cdef Py_ssize_t p, n, m, k
    cdef readonly Py_ssize_t t
    cdef readonly Py_ssize_t stride
    cdef readonly Py_ssize_t n_kept
    cdef Py_ssize_t begin, end, current
    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t most, room
    cdef readonly Py_ssize_t way  # a digest of the codes that have served turns, in their order
    cdef Py_ssize_t latest, again  # the code of the latest turn, and of how many others before it
    cdef uint32_t seen  # codes, and a bit for the beginning
    cdef uint32_t[MOST_TOLD] behind  # by codes: those that came before
    cdef uint32_t[MOST_TOLD][MOST_TOLD] twice  # by a code and one before: those before both
    cdef double *kept
    cdef int32_t *served
    cdef readonly cnp.ndarray row
    cdef readonly cnp.ndarray results
    cdef cnp.ndarray out, inputs

    def __init__(self, list codes, entrance, tuple sizes, cnp.ndarray inputs,
                 Py_ssize_t n_rows, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t most=0,
                 Py_ssize_t first=0):
        self.codes, self.entrance, self.inputs = codes, entrance, inputs
        self.p, self.n, self.m, self.k = sizes
        self.t = self.begin = begin
        self.seen = <uint32_t>1 << MOST_TOLD
        self.end, self.most, self.stride, self.current = end, most, 1, first
        self.latest = -1
        self.n_rows = n_rows
        if (self.m > 0 or self.k > 0) and end > n_rows:
            raise ValueError("there are fewer rows than turns")
        self.row = cnp.new_doubles(self.p + self.n + self.m)
        self.out = cnp.new_doubles(self.n + self.k + 1)
        self.results = cnp.new_doubles(self.n + n_rows * self.k)
        put(cnp.doubles(self.row), doubles_of(inputs, self.n_inputs()), self.p + self.n)

    def __dealloc__(self):
        cad_memory_free(self.kept)
        cad_memory_free(self.served)

    cdef Py_ssize_t n_inputs(self) noexcept:
        return self.p + self.n + self.n_rows * self.m

    cdef int keep(self, Py_ssize_t code) except -1:
        """Keep the state before a turn, unless others around it are enough."""
        cdef Py_ssize_t k, room
        if (self.t - self.begin) % self.stride != 0:
            return 0
        if self.n_kept == self.most:  # every second one is left
            self.n_kept = (self.n_kept + 1) // 2
            for k in range(self.n_kept):
                put(self.kept + k * self.n, self.kept + 2 * k * self.n, self.n)
                self.served[k] = self.served[2 * k]
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
            put(cnp.doubles(self.results) + self.n + self.t * self.k, out + self.n, self.k)
        self.t += 1
        if out[self.n + self.k] == 0.0:
            self.end = self.t
        self.way = way_of(self.way, code)
        self.again = self.again + 1 if code == self.latest else 0
        self.latest = code
        if 0 <= code < MOST_TOLD and self.again < 3:  # a fourth one tells nothing new
            self.note_order(<int>code)
        return 0

    cdef void note_order(self, int code) noexcept:
        cdef int k
        for k in range(MOST_TOLD):
            if self.seen >> k & 1:
                self.twice[code][k] |= self.behind[k]
        self.behind[code] |= self.seen
        self.seen |= <uint32_t>1 << code

    def orders(self, int n) -> list[int]:
        """Of each pair of the first n codes: which came before the second of them, if that came before
        the first one, as bits; bit `n` is set where it did."""
        cdef uint32_t all_codes = (<uint32_t>1 << min(n, <int>MOST_TOLD)) - 1
        cdef int j, k
        return [
            (self.twice[j][k] & all_codes) | (<int64_t>(self.twice[j][k] >> MOST_TOLD) << n)
            for j in range(min(n, <int>MOST_TOLD)) for k in range(min(n, <int>MOST_TOLD))
        ]

    def finish(self) -> None:
        """Have no further turn."""
        self.end = self.t
        put(cnp.doubles(self.results), cnp.doubles(self.row) + self.p, self.n)

    def enter(self, bint is_any) -> None:
        """Say whether there is a first turn."""
        self.entrance = None
        if not is_any:
            self.end = self.begin

    @property
    def is_outside(self) -> bool:
        """Whether it is not known yet whether there is a first turn."""
        return self.entrance is not None

    def run(self) -> bool:
        """Go on to the end; False where no code serves the entrance, or the turn that is to come.
        """
        cdef bint has_raised = False
        while True:
            try:
                return self.go_on(has_raised)
            except CallError:  # of the code that has served the turn before
                has_raised = True

    cdef bint go_on(self, bint has_raised) except -1:
        """As run; the code that is to be tried first may be known to raise."""
        cdef double *row = cnp.doubles(self.row)
        cdef double *out = cnp.doubles(self.out)
        cdef const double *rows = cnp.doubles(self.inputs) + self.p + self.n
        cdef Py_ssize_t k, n_codes
        cdef double outcome
        if self.entrance is not None:
            for code in self.entrance:
                if run_code(<Code>code, row, &outcome) == -1:
                    self.enter(outcome != 0.0)
                    break
            else:
                return False
        while self.t < self.end:
            put(row + self.p + self.n, rows + self.t * self.m, self.m)
            n_codes = len(self.codes)
            k = self.current
            if (
                k >= n_codes or has_raised
                or (<Code>self.codes[k]).carry(row, out, &outcome) != -1
            ):
                for k in range(n_codes):
                    if k != self.current and run_code(<Code>self.codes[k], row, out) == -1:
                        break
                else:
                    return False
                self.current = k
                has_raised = False
            self.take(out, k)
            if self.t % PATIENCE == 0:
                PyErr_CheckSignals()
        self.finish()
        return True

    def step(self, cnp.ndarray out, Py_ssize_t code) -> None:
        """Take what the caller has computed for this turn, by a code or without (-1)."""
        self.take(doubles_of(out, self.n + self.k + 1), code)
        if code >= 0:
            self.current = code

    # --- back

    def stretch(self, Py_ssize_t k) -> Turns:
        """The turns from the k-th state that is kept to the next one, to be run again."""
        cdef Py_ssize_t begin = self.begin + k * self.stride
        cdef Turns turns = Turns(
            self.codes, None, (self.p, self.n, self.m, self.k), self.inputs, self.n_rows, begin,
            min(begin + self.stride, self.end), self.stride, max(0, self.served[k]),
        )
        put(cnp.doubles(turns.row) + self.p, self.kept + k * self.n, self.n)
        return turns

    def back(self, list pulls, cnp.ndarray seed, cnp.ndarray pulled) -> bool:
        """Pull cotangents back to the first turn; False where no code serves the turn before `t`.

        All states have to be kept. seed: the cotangent of results. pulled: that of inputs, to
        which is added; what stands for the first state is the cotangent of the last.
        """
        doubles_of(pulled, self.n_inputs())
        try:
            return self.go_back(pulls, seed, pulled)
        except CallError:
            return False

    cdef bint go_back(self, list pulls, cnp.ndarray seed, cnp.ndarray pulled) except -1:
        cdef Py_ssize_t n_row = self.p + self.n + self.m, n_out = self.n + self.k + 1, served
        cdef cnp.ndarray given = cnp.new_doubles(n_row + n_out)
        cdef cnp.ndarray found = cnp.new_doubles(n_out + n_row)  # values come first
        cdef double outcome
        while self.t > self.begin:
            served = self.look_back(seed, pulled, cnp.doubles(given))
            if not 0 <= served < len(pulls) or pulls[served] is None:
                return False
            if (<Code?>pulls[served]).carry(
                cnp.doubles(given), cnp.doubles(found), &outcome
            ) != -1:
                return False
            self.take_back(cnp.doubles(found) + n_out, cnp.doubles(pulled))
            if self.t % PATIENCE == 0:
                PyErr_CheckSignals()
        return True

    cdef Py_ssize_t look_back(self, cnp.ndarray seed, cnp.ndarray pulled,
                              double *given) except -2:
        """Have the inputs of the turn before `t`, and the cotangents of what it gave; answers which
        code served it, or -1."""
        cdef Py_ssize_t k = self.t - 1, n_row = self.p + self.n + self.m
        cdef const double *rows = doubles_of(self.inputs, 0) + self.p + self.n
        cdef const double *seeds = doubles_of(seed, self.n + self.n_rows * self.k) + self.n
        put(given, cnp.doubles(self.row), self.p)
        put(given + self.p, self.kept + (k - self.begin) * self.n, self.n)
        put(given + self.p + self.n, rows + k * self.m, self.m)
        put(given + n_row, cnp.doubles(pulled) + self.p, self.n)
        put(given + n_row + self.n, seeds + k * self.k, self.k)
        given[n_row + self.n + self.k] = 0.0
        return self.served[k - self.begin]

    cdef void take_back(self, const double *found, double *pulled) noexcept:
        cdef Py_ssize_t i
        for i in range(self.p):
            pulled[i] += found[i]
        put(pulled + self.p, found + self.p, self.n)
        self.t -= 1
        put(pulled + self.p + self.n + self.t * self.m, found + self.p + self.n, self.m)

    def before(self, cnp.ndarray seed, cnp.ndarray pulled) -> tuple[Any, Any, int]:
        """Of the turn before `t` the inputs, the cotangents of what it gave, and which code served
        it, or -1."""
        cdef Py_ssize_t n_row = self.p + self.n + self.m
        cdef cnp.ndarray given = cnp.new_doubles(n_row + self.n + self.k + 1)
        cdef Py_ssize_t served = self.look_back(seed, pulled, cnp.doubles(given))
        return given[:n_row], given[n_row:], served

    def step_back(self, cnp.ndarray found, cnp.ndarray pulled) -> None:
        """Take the cotangents of the inputs of that turn, which the caller has computed."""
        self.take_back(doubles_of(found, self.p + self.n + self.m), cnp.doubles(pulled))


cdef void *grown(void *old, size_t used, size_t size) except NULL:
    """The same memory, with more room."""
    cdef void *new = new_memory(size + 1, 1)
    if old != NULL:
        memcpy(new, old, used)
    cad_memory_free(old)
    return new
