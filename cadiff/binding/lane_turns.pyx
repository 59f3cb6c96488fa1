"""Turns of a loop for many rows of inputs at once, of which each has its own number of turns.

Rows stand side by side, number by number, and all that go on are in the same turn. One that stops
changes places with the last of these: no code computes it any more. On the way back it takes its
place again. What a turn is, and what a caller does where no code serves one, is as in turns.pyx;
but whether there is a next one, other codes tell, of the state alone, before each turn.
"""

import numpy as np

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.program cimport *
from .c_numbers cimport *
from .codes cimport Code
from .turns cimport doubles_of, grown

from .rules import CallError


cdef enum:
    PATIENCE = 1 << 8  # turns between looks for an interrupt


cdef struct LaneCode:
    const CadProgram *program  # NULL: it serves nothing
    double *room
    size_t lanes, least        # at most, and at least


cdef struct Swap:
    Py_ssize_t t
    int32_t at, last


@cython.final
cdef class RowCodes:
    """Codes for so many rows, each with a workspace, and the columns of what they take and give."""

    cdef list codes
    cdef LaneCode *ready
    cdef Py_ssize_t n_ready
    cdef int32_t first             # the code that is tried first, now and the next time: the one
    cdef int32_t next_first        # that has served most rows
    cdef Py_ssize_t n_rows, n_own, n_out
    cdef CadColumns *columns       # of inputs, then of results
    cdef CadColumns *copies        # the same of some rows
    cdef double *numbers
    cdef uint8_t *missed           # of the rows that a code was run for

    def __init__(self, list codes, Py_ssize_t n_rows, Py_ssize_t n_own, Py_ssize_t n_out):
        cdef Py_ssize_t k, n = n_own + n_out
        self.codes, self.n_rows, self.n_own, self.n_out = codes, n_rows, n_own, n_out
        self.numbers = <double *>new_memory((n + n_out + 1) * n_rows + 1, sizeof(double))
        self.missed = <uint8_t *>(self.numbers + (n + n_out) * n_rows)
        self.columns = <CadColumns *>new_memory(2 * n + 1, sizeof(CadColumns))
        self.copies = self.columns + n
        for k in range(n):
            self.put(k, self.numbers + (k + n_out) * n_rows)
            self.copies[k] = self.columns[k]
            self.copies[k].data = self.numbers + k * n_rows

    def __dealloc__(self):
        for k in range(self.n_ready):
            cad_memory_free(self.ready[k].room)
        cad_memory_free(self.ready)
        cad_memory_free(self.numbers)
        cad_memory_free(self.columns)

    cdef void put(self, Py_ssize_t k, double *numbers) noexcept nogil:
        """Have the numbers of a column there, in the order of rows."""
        self.columns[k].data, self.columns[k].row, self.columns[k].n = numbers, 1, 1

    cdef list begin_clocks(self):
        """The codes that there are now, by which of both ways in a trial, and when it was; since
        the way is chosen then, before they are prepared."""
        cdef Code code
        return [
            (code, code.n_tries, code.begin_clock()) for code in self.codes
            if code is not None and code.watch is not None
        ]

    cdef int prepare(self) except -1:
        """Have workspaces for the codes that there are now."""
        cdef Py_ssize_t n = len(self.codes)
        cdef Code code
        cdef LaneCode *one
        if n > self.n_ready:
            self.ready = <LaneCode *>grown(
                self.ready, self.n_ready * sizeof(LaneCode), n * sizeof(LaneCode)
            )
        while self.n_ready < n:
            one = &self.ready[self.n_ready]
            one.program, one.room = NULL, NULL
            code = self.codes[self.n_ready]
            self.n_ready += 1
            if code is None:
                continue
            if code.machines is not None:
                code.ask_for_machine()
            one.lanes = code.lanes(self.n_rows)
            one.least = code.machine_lanes
            one.room = <double *>new_memory(
                cad_program_room(code.program, one.lanes) + 1, sizeof(double)
            )
            cad_program_prepare(code.program, one.room)
            one.program = code.program
        return 0

    cdef Py_ssize_t run(self, Py_ssize_t k, const int32_t *at, Py_ssize_t n) except -1 nogil:
        """Have a code compute the rows at these places, or (NULL) the first n; answers how many
        missed. What is given for these is of no use."""
        cdef LaneCode *one = &self.ready[k]
        cdef CadColumns *columns = self.columns if at == NULL else self.copies
        cdef CadPoints points
        cdef Py_ssize_t i, j
        cdef long n_missed = CAD_CALL_FAILED
        cdef size_t lanes
        if one.program != NULL:
            for j in range(self.n_own if at != NULL else 0):
                for i in range(n):
                    columns[j].data[i] = self.columns[j].data[at[i]]
            points.own, points.n_own_columns, points.n_own = columns, self.n_own, self.n_own
            points.results = columns + self.n_own
            points.shared, points.missed = NULL, self.missed
            lanes = min(one.lanes, max(one.least, (<size_t>n + 7) // 8 * 8))
            n_missed = cad_program_run_points(one.program, lanes, one.room, &points, 0, n)
            if n_missed == CAD_CALL_FAILED:
                with gil:
                    forget_failure()
            for j in range(self.n_own, self.n_own + self.n_out if at != NULL else 0):
                for i in range(n):
                    self.columns[j].data[at[i]] = columns[j].data[i]
        if n_missed == CAD_CALL_FAILED:
            for i in range(n):
                self.missed[i] = 1
            return n
        return n_missed


cdef int end_clocks(list clocks, bint is_over) except -1:
    """Note the time of turns up to the last one, or up to one that waits: which is no trial."""
    cdef Code code
    cdef int by
    cdef double begun
    for code, by, begun in clocks:
        code.end_clock(begun, by if is_over else 0, -1, 1)
    return 0


cdef int forget_failure() except -1:
    """A call that has failed serves no row: each of them tells by itself what there is to raise."""
    try:
        check(CAD_RAISED)
    except CallError:
        pass
    return 0


@cython.final
cdef class LaneTurns:
    """Runs of a loop for some rows of inputs: see `Turns`, whose methods these are.

    codes: for a turn's values; conditions: for whether there is a turn, or None. inputs: a column
    for each row. ends: the turn behind the last one, of each or of all. most: states that are kept,
    of all rows; if there are more, `is_full` says so, and there is no way back.
    """

    cdef Py_ssize_t p, n, m, k, width
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t stride
    cdef readonly bint is_full
    cdef Py_ssize_t t, most
    cdef int32_t n_active, n_left, n_tried
    cdef bint is_in_order, is_in_turn
    cdef readonly bint is_outside  # whether it is asked of which rows there is a turn
    cdef RowCodes conditions, codes, pulls
    cdef readonly cnp.ndarray results
    cdef cnp.ndarray inputs, ends_of_rows
    cdef double *numbers
    cdef double *shared     # columns of what is the same in all turns,
    cdef double *state      # of the state, and of the next one, by places
    cdef double *other
    cdef double *rows       # and of a turn's own inputs and results, or cotangents of these,
    cdef double *goes_on
    cdef double *totals     # of what is the same: its cotangents
    cdef int32_t *which     # rows, by places
    cdef int32_t *left      # places of rows that wait for a code
    cdef int32_t *some
    cdef int32_t *served    # codes, by places
    cdef cnp.npy_intp *ends
    cdef cnp.npy_intp first_end
    cdef double *kept       # states, turn by turn
    cdef int32_t *kept_served
    cdef Py_ssize_t n_kept, room
    cdef Swap *swaps
    cdef Py_ssize_t n_swaps

    def __init__(self, list codes, conditions, tuple sizes, cnp.ndarray inputs, Py_ssize_t n_rows,
                 ends, Py_ssize_t most=0):
        cdef Py_ssize_t width = inputs.shape[1], i, last
        self.p, self.n, self.m, self.k = sizes
        self.width, self.n_rows, self.most, self.stride = width, n_rows, most, 1
        self.inputs = inputs
        doubles_of(inputs, (self.p + self.n + n_rows * self.m) * width)
        self.results = np.empty((self.n + n_rows * self.k, width))
        self.codes = RowCodes(codes, width, self.p + self.n + self.m, self.n + self.k)
        if conditions is not None:
            self.conditions = RowCodes(conditions, width, self.p + self.n, 1)
        self.numbers = <double *>new_memory(
            (2 * self.p + 2 * self.n + self.m + self.k + 1) * width + 1, sizeof(double)
        )
        self.shared = self.numbers
        self.state = self.shared + self.p * width
        self.other = self.state + self.n * width
        self.rows = self.other + self.n * width
        self.goes_on = self.rows + (self.m + self.k) * width
        self.totals = self.goes_on + width
        self.which = <int32_t *>new_memory(4 * width + 1, sizeof(int32_t))
        self.left, self.some = self.which + width, self.which + 2 * width
        self.served = self.which + 3 * width
        memcpy(self.shared, cnp.doubles(inputs), (self.p + self.n) * width * sizeof(double))
        self.swaps = <Swap *>new_memory(width + 1, sizeof(Swap))
        self.n_active, self.is_in_order = <int32_t>width, True
        self.first_end = last = self.take_ends(ends)
        for i in range(width):
            self.which[i], self.goes_on[i] = <int32_t>i, 1.0
        for i in range(width if self.ends != NULL else 0):
            self.first_end, last = min(self.first_end, self.ends[i]), max(last, self.ends[i])
        if last > n_rows and (self.m > 0 or self.k > 0):
            raise ValueError("there are fewer rows than turns")
        self.ask()

    cdef Py_ssize_t take_ends(self, ends) except? -1:
        """That of the first row."""
        if isinstance(ends, int):
            return ends
        self.ends_of_rows = cnp.in_order(ends, cnp.NPY_INTP)
        if cnp.PyArray_SIZE(self.ends_of_rows) != self.width or self.width == 0:
            raise ValueError("expected one number of turns for each of some rows")
        self.ends = cnp.places(self.ends_of_rows)
        return self.ends[0]

    def __dealloc__(self):
        cad_memory_free(self.kept)
        cad_memory_free(self.kept_served)
        cad_memory_free(self.numbers)
        cad_memory_free(self.which)
        cad_memory_free(self.swaps)

    # --- forth

    @property
    def row(self) -> NDArray[np.float64]:
        """The inputs of the row that waits, which no code serves."""
        cdef RowCodes codes = self.conditions if self.is_outside else self.codes
        return self.at_place(codes, 0, codes.n_own)

    cdef cnp.ndarray at_place(self, RowCodes codes, Py_ssize_t begin, Py_ssize_t end):
        """Some numbers of the row that waits."""
        cdef cnp.ndarray numbers = cnp.new_doubles(end - begin)
        cdef Py_ssize_t j
        for j in range(begin, end):
            cnp.doubles(numbers)[j - begin] = codes.columns[j].data[self.left[0]]
        return numbers

    cdef int put_at_place(self, RowCodes codes, Py_ssize_t begin, cnp.ndarray numbers) except -1:
        """Have such numbers, which another row may wait for then."""
        cdef Py_ssize_t i, n = codes.n_own + codes.n_out - begin
        cdef const double *given = doubles_of(numbers, n)
        for i in range(n):
            codes.columns[begin + i].data[self.left[0]] = given[i]
        self.n_left -= 1
        for i in range(self.n_left):
            self.left[i] = self.left[i + 1]
        return 0

    def enter(self, bint is_any) -> None:
        """Say of the row that waits whether there is a first turn."""
        self.put_at_place(self.conditions, self.p + self.n, np.array([float(is_any)]))

    def step(self, cnp.ndarray out, int code) -> None:
        """Take what the caller has computed for the row that waits, by a code or without (-1)."""
        self.served[self.left[0]] = code
        self.put_at_place(self.codes, self.codes.n_own, out)

    cdef void begin(self, RowCodes codes) noexcept nogil:
        """Have all rows wait for a code, which takes what is the same in all turns, and the state.
        """
        cdef Py_ssize_t j
        for j in range(self.p):
            codes.put(j, self.shared + j * self.width)
        for j in range(self.n):
            codes.put(self.p + j, self.state + j * self.width)
        codes.first = codes.next_first
        self.n_left, self.n_tried, self.is_in_turn = self.n_active, 0, True

    cdef void ask(self) noexcept nogil:
        """Have it asked of which rows there is a turn."""
        if self.conditions is None:
            self.stop()
            return
        self.begin(self.conditions)
        self.conditions.put(self.p + self.n, self.goes_on)
        self.is_outside = True

    cdef int begin_turn(self) except -1 nogil:
        cdef Py_ssize_t j, end = self.p + self.n, width = self.width, out = end + self.m
        if self.most > 0:
            self.keep()
        self.begin(self.codes)
        for j in range(self.n):
            self.codes.put(out + j, self.other + j * width)
        for j in range(self.m):
            self.codes.put(end + j, self.of_turn(
                cnp.doubles(self.inputs) + (end + self.t * self.m + j) * width, j, True
            ))
        for j in range(self.k):
            self.codes.put(out + self.n + j, self.of_turn(
                cnp.doubles(self.results) + (self.n + self.t * self.k + j) * width, self.m + j,
                False,
            ))
        return 0

    cdef double *of_turn(self, double *column, Py_ssize_t j, bint reads) noexcept nogil:
        """Where the numbers of a column of rows are by places: there, or copied."""
        cdef double *copy = self.rows + j * self.width
        cdef int32_t i
        if self.is_in_order:
            return column
        for i in range(self.n_active if reads else 0):
            copy[i] = column[self.which[i]]
        return copy

    cdef void to_rows(self, double *column, const double *numbers) noexcept nogil:
        """Have numbers by places in a column of rows."""
        cdef int32_t i
        if numbers == column:
            return
        for i in range(self.n_active):
            column[self.which[i]] = numbers[i]

    cdef int keep(self) except -1 nogil:
        """Keep the states before a turn."""
        cdef Py_ssize_t j, n_states = self.n_kept + self.n_active, room
        if n_states > self.most:
            self.is_full, self.most = True, 0
            return 0
        if n_states > self.room:
            room = min(self.most, max(n_states, 2 * self.room))
            with gil:
                self.kept = <double *>grown(self.kept, self.n_kept * self.n * sizeof(double),
                                            room * self.n * sizeof(double))
                self.kept_served = <int32_t *>grown(
                    self.kept_served, self.n_kept * sizeof(int32_t), room * sizeof(int32_t)
                )
            self.room = room
        for j in range(self.n):
            memcpy(self.kept + self.n_kept * self.n + j * self.n_active,
                   self.state + j * self.width, self.n_active * sizeof(double))
        return 0

    cdef bint serve(self, RowCodes codes) except -1 nogil:
        """Have one code after the other compute the rows that wait; False where none does."""
        cdef int32_t k, i, at, n_left, most = 0
        while self.n_left > 0 and self.n_tried < codes.n_ready:
            k = self.n_tried - 1 if self.n_tried <= codes.first else self.n_tried
            k = codes.first if self.n_tried == 0 else k
            n_left = <int32_t>codes.run(
                k, NULL if self.n_left == self.n_active else self.left, self.n_left
            )
            if n_left == 0 and self.n_left == self.n_active:
                for i in range(self.n_active if self.most > 0 else 0):
                    self.served[i] = k
                codes.next_first, self.n_left = k, 0
                break
            if self.n_left == self.n_active:
                self.all_are_left()
            n_left = 0
            for i in range(self.n_left):
                at = self.left[i]
                self.left[n_left] = at
                self.served[at] = k
                n_left += codes.missed[i]
            if self.n_left - n_left > most:
                most, codes.next_first = self.n_left - n_left, k
            self.n_left = n_left
            self.n_tried += 1
        if self.n_left == self.n_active:
            self.all_are_left()
        return self.n_left == 0

    cdef void all_are_left(self) noexcept nogil:
        cdef int32_t i
        for i in range(self.n_active):
            self.left[i] = i

    cdef void end_turn(self) noexcept nogil:
        cdef Py_ssize_t j, own = self.codes.n_own
        self.state, self.other = self.other, self.state
        for j in range(self.k):
            self.to_rows(
                cnp.doubles(self.results) + (self.n + self.t * self.k + j) * self.width,
                self.codes.columns[own + self.n + j].data,
            )
        if self.most > 0:
            memcpy(self.kept_served + self.n_kept, self.served, self.n_active * sizeof(int32_t))
            self.n_kept += self.n_active
        self.t += 1
        self.ask()

    cdef void stop(self) noexcept nogil:
        """Have the rows go out that have no further turn."""
        cdef int32_t i, last, row
        cdef Py_ssize_t j, width = self.width
        cdef bint all_go_on = self.t < self.first_end, all_may = all_go_on
        self.is_in_turn = self.is_outside = False
        for i in range(self.n_active):
            all_go_on &= self.goes_on[i] != 0.0
        if all_go_on:
            return
        for i in range(self.n_active - 1, -1, -1):
            row = self.which[i]
            if self.goes_on[i] != 0.0 and (
                all_may or self.ends != NULL and self.t < self.ends[row]
            ):
                continue
            for j in range(self.n):
                cnp.doubles(self.results)[j * width + row] = self.state[j * width + i]
            self.n_active -= 1
            last = self.n_active
            self.swaps[self.n_swaps].t = self.t
            self.swaps[self.n_swaps].at, self.swaps[self.n_swaps].last = i, last
            self.n_swaps += 1
            if i != last:
                self.is_in_order = False
                self.exchange(i, last)
                for j in range(self.n):
                    self.state[j * width + i] = self.state[j * width + last]

    cdef void exchange(self, int32_t i, int32_t last) noexcept nogil:
        cdef Py_ssize_t j
        self.which[i], self.which[last] = self.which[last], self.which[i]
        for j in range(self.p):
            self.shared[j * self.width + i], self.shared[j * self.width + last] = (
                self.shared[j * self.width + last], self.shared[j * self.width + i]
            )

    def run(self) -> bool:
        """Go on until all rows have stopped; False where no code serves the row that waits."""
        cdef list clocks = self.codes.begin_clocks()
        if self.conditions is not None:
            clocks += self.conditions.begin_clocks()
        try:
            self.go_on()
        finally:
            end_clocks(clocks, self.n_active == 0)
        return self.n_left == 0

    cdef int go_on(self) except -1:
        cdef Py_ssize_t until
        self.codes.prepare()
        if self.conditions is not None:
            self.conditions.prepare()
        while self.n_active > 0:
            until = self.t + PATIENCE
            with nogil:
                while self.n_active > 0 and self.t < until:
                    if self.is_outside:
                        if not self.serve(self.conditions):
                            break
                        self.stop()
                        continue
                    if not self.is_in_turn:
                        self.begin_turn()
                    if not self.serve(self.codes):
                        break
                    self.end_turn()
            if self.n_left > 0:
                return 0
            PyErr_CheckSignals()
        return 0

    # --- back

    def back(self, list pulls, cnp.ndarray seed, cnp.ndarray pulled) -> bool:
        """Pull cotangents back to the first turn; False where no code serves the row that waits.

        seed: the cotangents of results, with a column for each row; pulled: those of inputs, to
        which is added; what stands for the first states is the cotangent of the last.
        """
        cdef Py_ssize_t n_row = self.p + self.n + self.m, n_out = self.n + self.k
        doubles_of(seed, (self.n + self.n_rows * self.k) * self.width)
        doubles_of(pulled, (self.p + self.n + self.n_rows * self.m) * self.width)
        if self.pulls is None:
            self.pulls = RowCodes(pulls, self.width, n_row + n_out, n_out + n_row)
            self.is_in_turn = False
        cdef list clocks = self.pulls.begin_clocks()
        self.pulls.prepare()
        try:
            with nogil:
                while self.is_in_turn or self.t > 0:
                    if not self.is_in_turn:
                        self.begin_back(cnp.doubles(seed), cnp.doubles(pulled))
                        self.serve_back()
                    if self.n_left > 0:
                        break
                    self.end_back(cnp.doubles(pulled))
        finally:
            end_clocks(clocks, self.n_left == 0)
        if self.n_left > 0:
            return False
        self.put_back(cnp.doubles(pulled))
        return True

    cdef void begin_back(self, double *seed, double *pulled) noexcept nogil:
        """Have the rows come in that stopped behind the turn before `t`, and the columns of what
        pulls take and give."""
        cdef Py_ssize_t j, width = self.width, n_row = self.p + self.n + self.m
        cdef Py_ssize_t n_out = self.n + self.k, at = n_row + n_out
        cdef Swap swap
        while self.n_swaps > 0 and self.swaps[self.n_swaps - 1].t == self.t:
            self.n_swaps -= 1
            swap = self.swaps[self.n_swaps]
            if swap.at != swap.last:
                self.exchange(swap.at, swap.last)
                for j in range(self.n):
                    self.state[j * width + swap.last] = self.state[j * width + swap.at]
                for j in range(self.p):
                    self.totals[j * width + swap.last] = self.totals[j * width + swap.at]
            for j in range(self.n):
                self.state[j * width + swap.at] = (
                    pulled[(self.p + j) * width + self.which[swap.at]]
                )
            for j in range(self.p):
                self.totals[j * width + swap.at] = 0.0
            self.n_active += 1
        self.t -= 1
        self.n_kept -= self.n_active
        self.is_in_turn, self.is_in_order = True, True
        for j in range(self.n_active):
            self.is_in_order &= self.which[j] == j
        for j in range(self.p):
            self.pulls.put(j, self.shared + j * width)
        for j in range(self.n):
            self.pulls.put(self.p + j, self.kept + self.n_kept * self.n + j * self.n_active)
            self.pulls.put(n_row + j, self.state + j * width)
            self.pulls.put(at + n_out + self.p + j, self.other + j * width)
        for j in range(self.m):
            self.pulls.put(self.p + self.n + j, self.of_turn(
                cnp.doubles(self.inputs) + (self.p + self.n + self.t * self.m + j) * width, j, True
            ))
            if self.is_in_order:
                self.pulls.put(at + n_out + self.p + self.n + j,
                          pulled + (self.p + self.n + self.t * self.m + j) * width)
        for j in range(self.k):
            self.pulls.put(n_row + self.n + j, self.of_turn(
                seed + (self.n + self.t * self.k + j) * width, self.m + j, True
            ))
        for j in range(n_out):
            self.pulls.put(at + j, self.goes_on)  # values, which nobody reads

    cdef int serve_back(self) except -1 nogil:
        """Have each row pulled by the code that served it, unless it waits for another one."""
        cdef int32_t i, k, n, low = self.kept_served[self.n_kept], high = low
        cdef const int32_t *served = self.kept_served + self.n_kept
        self.n_left = 0
        for i in range(self.n_active):
            low, high = min(low, served[i]), max(high, served[i])
        for k in range(low, high + 1):
            n = 0
            for i in range(self.n_active):
                self.some[n] = i
                n += served[i] == k
            if 0 <= k < self.pulls.n_ready and n > 0:
                self.pulls.run(k, self.some if low < high else NULL, n)
            for i in range(n):
                self.left[self.n_left] = self.some[i]
                self.n_left += not 0 <= k < self.pulls.n_ready or self.pulls.missed[i] != 0
        return 0

    cdef void end_back(self, double *pulled) noexcept nogil:
        """Take the cotangents of the inputs of a turn."""
        cdef Py_ssize_t j, at = self.pulls.n_own + self.n + self.k, end = self.p + self.n
        cdef int32_t i
        cdef double *totals
        cdef const double *found
        for j in range(self.p):
            totals, found = self.totals + j * self.width, self.pulls.columns[at + j].data
            for i in range(self.n_active):
                totals[i] += found[i]
        for j in range(self.m):
            self.to_rows(
                pulled + (end + self.t * self.m + j) * self.width, self.pulls.columns[at + end + j].data
            )
        self.state, self.other = self.other, self.state
        self.is_in_turn = False

    cdef void put_back(self, double *pulled) noexcept nogil:
        """Have the cotangents of the first states, and of what is the same in all turns."""
        cdef Py_ssize_t j
        for j in range(self.p):
            self.to_rows(pulled + j * self.width, self.totals + j * self.width)
        for j in range(self.n):
            self.to_rows(pulled + (self.p + j) * self.width, self.state + j * self.width)

    def before(self, cnp.ndarray seed, cnp.ndarray pulled) -> tuple[Any, Any, int]:
        """The waiting row: inputs of its turn, cotangents of its results, and its code, or -1."""
        cdef Py_ssize_t n_row = self.p + self.n + self.m
        return (
            self.at_place(self.pulls, 0, n_row), self.at_place(self.pulls, n_row, self.pulls.n_own),
            self.kept_served[self.n_kept + self.left[0]],
        )

    def step_back(self, cnp.ndarray found, cnp.ndarray pulled) -> None:
        """Take the cotangents of these inputs, which the caller has computed."""
        self.put_at_place(self.pulls, self.pulls.n_own + self.n + self.k, found)
