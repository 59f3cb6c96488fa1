"""Programs made from graphs: running them, and taking them apart to be written as text."""

import numpy as np

cimport cython
from cpython.exc cimport PyErr_Clear, PyErr_ExceptionMatches, PyErr_SetInterrupt
from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, intptr_t, uint32_t, uint8_t
from libc.string cimport memset, memcpy

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.program cimport *
from .c_numbers cimport *
from .borrowed cimport Native
from .crew cimport be_ready, Job, share, share_parts
from .rules cimport goes_over_lanes, native_of_step


# --- points of batches --------------------------------------------------------------------------

cdef enum:
    PARTS = 12             # for each thread, which may begin late, or be slower
    LONG_JOB = 20_000_000  # operations, of which a part is as many at most


cdef struct Batch:
    const CadProgram *program
    const CadPoints *points
    size_t n_lanes


cdef void prepare_for_points(const void *what, double *room) noexcept nogil:
    cdef const Batch *batch = <const Batch *>what
    cad_program_prepare_points(batch.program, batch.n_lanes, room, batch.points)


cdef long do_points(const void *what, size_t begin, size_t end, double *room) noexcept nogil:
    cdef const Batch *batch = <const Batch *>what
    return cad_program_run_points(batch.program, batch.n_lanes, room, batch.points, begin, end)


cdef inline size_t in_whole_lanes(size_t n_points, size_t n_lanes) noexcept:
    """So many points, or a few more: all lanes are to be of use."""
    return (n_points // n_lanes + 1) * n_lanes


cdef size_t run_shared(const CadProgram *program, const CadPoints *points, size_t n_points,
                       size_t n_lanes, int threads) except? 0:
    """All points, by so many threads; how many of them missed."""
    cdef Batch batch
    cdef Job job
    cdef double *room
    batch.program, batch.points, batch.n_lanes = program, points, n_lanes
    memset(&job, 0, sizeof(job))
    job.what = &batch
    job.do = do_points
    job.prepare = prepare_for_points
    job.n_room = cad_program_room(program, n_lanes)
    job.end = n_points
    job.n_part = in_whole_lanes(LONG_JOB // (program.n_operations + 1), n_lanes)
    job.is_long = n_points > job.n_part
    if threads > 1:
        job.n_part = min(
            job.n_part, in_whole_lanes(n_points // (<size_t>PARTS * threads), n_lanes)
        )
    room = <double *>new_memory(job.n_room, sizeof(double))
    try:
        return share(&job, room, threads)
    finally:
        cad_memory_free(room)


# --- codes ---------------------------------------------------------------------------------------


cdef enum:
    LEAST = 32                # points that take less time side by side than one by one
    LEAST_OF_MACHINE = 4      # the same of machine code
    LEAST_LANES = 16          # of machine code, and
    MACHINE_NUMBERS = 1 << 11 # numbers of all of its lanes that are used again and again: 16 KiB
    MOST_LANES = 256
    MOST_OF_CALLS = 1024      # the same where all of them are one call of Python's
    LANE_NUMBERS = 1 << 17    # numbers of all lanes that are used again and again: 1 MiB
    MOST_NEAR = 1 << 13       # of these in a lane, above which points go one by one
    MOST_NUMBERS = 1 << 24    # numbers of a workspace
    ALONG_NUMBERS = 1 << 18   # numbers of all lanes of directions, if there are several
    MOST_ALONG = 64
    PATIENCE = 4096  # runs of others, after which a large workspace is given back
    TRIES = 24       # runs by which machine code is compared with the interpreter
    SOME_TIME = 10   # ms, after which who watches is told of them
    WORTH_WHILE = 95 # % of the interpreter's time, below which machine code serves


FROM_POINTS: tuple[int, int] = (LEAST_OF_MACHINE, LEAST)
MACHINE_LANES: int = CAD_MACHINE_LANES


def machine_value() -> int:
    """The address of the function by which machine code has values of operations, which is
    `cad_machine_value`."""
    return <intptr_t>&cad_machine_value


cdef Large large


cdef extern from *:
    """
    #ifdef _WIN32
    #ifndef WIN32_LEAN_AND_MEAN
    #define WIN32_LEAN_AND_MEAN
    #endif
    #include <windows.h>
    #else
    #include <time.h>
    #endif
    /* Seconds, from some moment on. */
    static inline double seconds_now(void) {
    #ifdef _WIN32
        LARGE_INTEGER ticks, ticks_per_second;
        QueryPerformanceFrequency(&ticks_per_second);
        QueryPerformanceCounter(&ticks);
        return (double)ticks.QuadPart / (double)ticks_per_second.QuadPart;
    #else
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
    #endif
    }
    """
    double seconds_now() noexcept nogil


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
        cad_memory_free(self.natives_in_c)

    @property
    def n_inputs(self) -> int:
        return self.program.n_inputs

    @property
    def n_results(self) -> int:
        return self.program.n_results

    @property
    def n_operations(self) -> int:
        """How many operations on numbers it carries out."""
        return self.program.n_operations

    @property
    def calls_python(self) -> bool:
        """Whether a step is carried out by its rule, and not in C."""
        return self.program.has_calls

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Instructions, single operations among them, places, checks."""
        return (
            self.program.n_code, self.program.n_singles, self.program.n_places,
            self.program.n_checks,
        )

    @property
    def nbytes(self) -> int:
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
        cdef long missed = self.run_at(room, inputs, results, outcome)
        self.give_back(room)
        return missed

    def evaluate(self, cnp.ndarray inputs) -> NDArray[np.float64] | int:
        """The results for a contiguous float64 vector of inputs; or a pair, the number of the guard
        that does not hold, and the outcome that was met there."""
        cdef cnp.ndarray results = cnp.new_doubles(self.program.n_results)
        cdef double outcome = 0.0
        cdef long missed = self.carry_array(inputs, cnp.doubles(results), &outcome)
        return results if missed == -1 else (missed, outcome)

    cdef int check_inputs(self, cnp.ndarray inputs) except -1:
        if (
            cnp.PyArray_SIZE(inputs) != <Py_ssize_t>self.program.n_inputs
            or cnp.PyArray_TYPE(inputs) != cnp.NPY_DOUBLE
            or not cnp.PyArray_ISCARRAY_RO(inputs)
        ):
            raise ValueError(f"expected {self.program.n_inputs} numbers in a contiguous array")
        return 0

    cdef long carry_array(self, cnp.ndarray inputs, double *results,
                          double *outcome) except -2:
        """As carry, for inputs that are checked first."""
        self.check_inputs(inputs)
        return self.carry(cnp.doubles(inputs), results, outcome)

    def profile(self, cnp.ndarray inputs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many seconds each instruction takes for a vector of inputs, and each of the single
        operations, run apart. All guards have to hold."""
        cdef CadProgram *p = self.program
        cdef cnp.ndarray whole = np.zeros(p.n_code), singles = np.zeros(p.n_singles)
        cdef size_t count = cad_program_room(p, 1)
        cdef cnp.ndarray room = np.empty(count + 1)
        cdef double *numbers = cnp.doubles(room)
        cdef double *places = cad_program_places(p, numbers)
        cdef const double *source = cnp.doubles(inputs)
        cdef long missed
        self.check_inputs(inputs)
        cad_program_prepare(p, numbers)
        cad_program_take_inputs(p, places, source)
        missed = cad_program_profile(p, numbers, -1, seconds_now, cnp.doubles(whole))
        if missed == -1 and p.n_singles > 0:
            cad_program_take_inputs(p, places, source)
            missed = cad_program_profile(
                p, numbers, <int32_t>p.n_places, seconds_now, cnp.doubles(singles)
            )
        if missed == CAD_CALL_FAILED:
            check(CAD_RAISED)
        if missed != -1:
            raise ValueError("a guard does not hold for these inputs")
        return whole, singles

    cdef long run_apart(self, double *room) except? NOT_RUN:
        """Run it while other threads may, or by the clock."""
        cdef int by = self.n_tries
        cdef double begun
        cdef long missed
        if self.is_long and self.program.team != NULL:  # there have to be threads that help
            be_ready(self.threads)
        begun = self.begin_clock()
        if self.is_long:
            with nogil:
                missed = cad_program_run(self.program, room)
        else:
            missed = cad_program_run(self.program, room)
        self.end_clock(begun, by, missed, 1 if self.is_long else PERIOD)
        return missed

    cdef double begin_clock(self) noexcept:
        """The time, where a run is to be timed; in a trial by turns by machine code and without."""
        if self.watch is None or self.is_timed:
            return 0.0
        self.is_timed = True
        if self.n_tries > 0:
            cad_program_use_machine(self.program, self.n_tries % 2 == 1)
        return seconds_now()

    cdef int end_clock(self, double begun, int by, long missed, int runs) except -1:
        """Note the time of a run that stands for so many, and who is in the trial `by`."""
        cdef double seconds
        if begun == 0.0:
            return 0
        seconds = seconds_now() - begun
        self.is_timed = False
        self.until = PERIOD
        if missed < -1:  # an exception is set
            return 0
        if self.n_tries > 0:
            self.until = 1
            if by == self.n_tries:
                self.n_tries -= 1
                self.least[by % 2] = min(self.least[by % 2], seconds)
                if self.n_tries == 0:
                    self.until = PERIOD
                    self.judge()
            return 0
        self.seconds += seconds * runs
        self.untold += seconds * runs
        if 1000.0 * self.untold >= SOME_TIME:
            seconds, self.untold = self.untold, 0.0
            watch = self.watch
            if watch is not None:
                watch(self, seconds)
        return 0

    def judge(self) -> None:
        """Have machine code serve from now on, or the interpreter, whichever takes less time."""
        serves = self.watch is None or 100.0 * self.least[1] < WORTH_WHILE * self.least[0]
        self.n_tries = 0
        cad_program_use_machine(self.program, serves)
        if not serves:
            self.serves = (
                f"interpreter: machine code takes {self.least[1] / self.least[0]:.2f} times as long"
            )

    @property
    def is_being_tried(self) -> bool:
        """Whether it is not decided yet what serves."""
        return self.n_tries > 0

    @property
    def n_texts(self) -> int:
        """How many statements it would be in C, about."""
        return texts_of(self.program)

    cdef int ask_for_machine(self) except -1:
        """Ask once; again, if that is interrupted."""
        machines, self.machines = self.machines, None
        try:
            machines(self)
        except BaseException:
            self.machines = machines
            raise
        return 0

    @property
    def has_machine(self) -> bool:
        return self.machine is not None

    def set_machine(self, machine, list pieces, dict cores, serves) -> None:
        """Have machine code carry out some instructions, from now on: pieces (first instruction,
        how many, address of a `CadMachineCode`), one behind the other, which `machine` keeps; and
        those of the turns of loops, by their numbers from without. `serves` says so."""
        cdef CadProgram *core
        if self.machine is None:
            for path in cores:
                core = self.program
                for k in path:
                    core = core.scans[<size_t>k].core
                set_pieces(core, 1, cores[path])
            set_pieces(self.program, self.machine_lanes if self.is_for_lanes else 1, pieces)
            self.machine, self.serves = machine, serves
            if self.watch is not None:
                self.least[0] = self.least[1] = INFINITY
                self.n_tries = TRIES
                self.until = 1
        if self.watch is None:
            self.judge()

    def parts(self) -> dict[str, Any]:
        """What it consists of, as NumPy arrays; see program/program.h."""
        return parts_of_program(self.program)

    cdef int set_natives(self) except -1:
        """Have C carry out what it can of the steps."""
        cdef Py_ssize_t k, n = len(self.steps)
        if not self.program.has_calls:
            return 0
        self.natives = [native_of_step(step) for step in self.steps]
        self.natives_in_c = <const CadNative **>cad_memory_zeroed(n, sizeof(CadNative *))
        if self.natives_in_c == NULL:
            check(CAD_NO_MEMORY)
        for k in range(n):
            if self.natives[k] is not None:
                self.natives_in_c[k] = &(<Native>self.natives[k]).call
        cad_program_set_natives(self.program, self.natives_in_c)
        return 0

    cdef int set_team(self, int threads) except -1:
        """Have so many threads at most share the parts of loops over tiles; 0: as many as can."""
        self.threads = threads
        if self.program.has_parts and threads != 1:
            self.team.share = share_parts
            self.team.self = &self.threads
            self.program.team = &self.team
            if not self.is_long:  # it has steps of Python's
                be_ready(threads)
        return 0

    @property
    def python_steps(self) -> list[Any]:
        """The steps that C does not carry out."""
        return [
            step for step, native in zip(self.steps, self.natives or self.steps) if native is None
        ]

    cdef bint is_in_c(self) noexcept:
        """Whether it calls no Python, unless something is declined."""
        return self.natives is None or None not in self.natives

    cdef void choose_along(self) noexcept:
        """Have so many directions side by side that their numbers stay in the cache."""
        cdef size_t width = self.program.n_places - self.program.n_shared
        self.n_along = max(
            <size_t>1, min(<size_t>MOST_ALONG, ALONG_NUMBERS // max(width, <size_t>1))
        )

    cdef bint gains_by_lanes(self):
        """Whether points go side by side sooner than one by one."""
        cdef bint is_small = cad_program_room(self.program, LEAST_LANES) <= MOST_NUMBERS
        return self.has_lanes and (
            self.lanes(MOST_LANES) > 1
            or self.expects_machine and is_small and not self.program.has_calls
        )

    @property
    def machine_lanes(self) -> int:
        """How many lanes machine code has; 0: as many as there are points, for a few numbers."""
        cdef size_t near = cad_program_near_room(self.program) + 1
        return LEAST_LANES if 2 * LEAST_LANES * near > MACHINE_NUMBERS else 0

    def serves_points(self, size_t n) -> bool:
        """Whether n points take it less time than a code for one point takes for each."""
        if not self.is_for_lanes:
            return False
        if self.expects_machine:
            return n >= LEAST_OF_MACHINE
        return self.lanes(n) > 1 and (n >= LEAST or self.program.has_calls)

    cdef size_t lanes(self, size_t n_points):
        """How many points to compute side by side, so that the numbers that they use again and
        again stay in the cache. 1: they go one by one, since these are too many, or the points too
        few, or there is machine code for a point."""
        cdef size_t room, near, lanes
        cdef bint is_few, is_long
        # What is checked may stand where a code for one point has put something else since.
        if not self.has_lanes or (self.program.n_checks > 0 and not self.is_for_lanes):
            return 1
        cdef bint is_in_c = self.is_in_c()
        cdef size_t most = MOST_LANES if is_in_c else MOST_OF_CALLS
        cdef size_t whole = (n_points + 7) // 8 * 8
        room = cad_program_room(self.program, 1) + 1
        near = cad_program_near_room(self.program) + 1
        if self.program.in_use != NULL and self.is_for_lanes and is_in_c:
            lanes = self.machine_lanes
            return lanes if lanes > 0 else min(
                whole, min(<size_t>MACHINE_NUMBERS // near // 8 * 8, <size_t>CAD_MACHINE_LANES)
            )
        if self.program.in_use != NULL and self.expects_machine and not self.is_for_lanes:
            return 1
        lanes = max(<size_t>LEAST, LANE_NUMBERS // near // 8 * 8)
        is_long = near > MOST_NEAR or room > <size_t>(MOST_NUMBERS // LEAST)
        # Calls of Python's are for all lanes at once; and a few points that are left of many have
        # the same last digits as these.
        is_few = n_points < <size_t>(LEAST // 2) and not self.is_for_lanes
        if not self.program.has_calls and (is_long or is_few):
            return 1
        lanes = min(lanes, max(<size_t>LEAST, MOST_NUMBERS // room))
        return min(most, min(lanes, whole))

    cdef long carry_along(self, double *room, const double *own, size_t unit, double *results,
                          size_t n) except -2:
        """Run it along some directions, in a workspace where what they share stands; answers as
        `carry`. Without any they are unit vectors, from one on."""
        cdef CadDirections directions
        cdef long missed
        directions.own = own
        directions.unit = unit
        directions.results = results
        cdef int by = self.n_tries
        cdef double begun = self.begin_clock()
        if self.program.has_calls:
            missed = cad_program_run_along(self.program, self.n_along, room, &directions, 0, n)
        else:
            with nogil:
                missed = cad_program_run_along(self.program, self.n_along, room, &directions, 0, n)
        self.end_clock(begun, by, missed, 1)
        if missed == CAD_CALL_FAILED:
            check(CAD_RAISED)
        return missed

    def run_points(self, list own, cnp.ndarray shared, list results, cnp.ndarray missed,
                   int threads=1) -> int:
        """Many points, without the GIL: the numbers of each stand in the rows of the arrays
        `own`, one array after the other, and are followed by the inputs that are `shared`; results
        go to the rows of `results`. Rows are contiguous, in arrays of float64; `missed` is a uint8
        vector that marks the points whose guards do not hold. Answers how many these are."""
        cdef CadPoints points
        cdef size_t n_points = cnp.PyArray_DIM(missed, 0), n_results = 0
        cdef Py_ssize_t n = len(own) + len(results), n_missed
        cdef int by
        cdef double begun
        cdef CadColumns *columns = <CadColumns *>new_memory(n, sizeof(CadColumns))
        try:
            points.own, points.n_own_columns = columns, len(own)
            points.results = columns + len(own)
            points.n_own = find_columns(own, n_points, columns)
            n_results = find_columns(results, n_points, columns + len(own))
            points.shared = cnp.doubles(shared)
            points.missed = <unsigned char *>cnp.PyArray_DATA(missed)
            if (
                points.n_own + cnp.PyArray_SIZE(shared) != self.program.n_inputs
                or n_results != self.program.n_results
            ):
                raise ValueError("the arrays are not of the widths of this program")
            if self.machines is not None:
                self.ask_for_machine()
            by = self.n_tries
            begun = self.begin_clock()
            n_missed = -2
            try:
                n_missed = run_shared(
                    self.program, &points, n_points, self.lanes(n_points), threads
                )
            finally:
                self.end_clock(begun, by, min(n_missed, -1), 1)
            return n_missed
        finally:
            cad_memory_free(columns)


cdef size_t find_columns(list arrays, size_t n_points, CadColumns *columns) except? 0:
    """The columns that arrays with a row for each point are; answers how many numbers a row has in
    all."""
    cdef cnp.ndarray array
    cdef cnp.npy_intp width
    cdef size_t n = 0
    cdef int k
    for array in arrays:
        width = 1
        for k in range(cnp.PyArray_NDIM(array) - 1, 0, -1):
            if cnp.PyArray_DIM(array, k) > 1 and cnp.PyArray_STRIDES(array)[k] != 8 * width:
                raise ValueError("rows of points are to be contiguous")
            width *= cnp.PyArray_DIM(array, k)
        if (
            cnp.PyArray_NDIM(array) == 0
            or <size_t>cnp.PyArray_DIM(array, 0) != n_points
            or cnp.PyArray_TYPE(array) != cnp.NPY_DOUBLE
            or not cnp.PyArray_ISBEHAVED_RO(array)
            or cnp.PyArray_STRIDES(array)[0] % 8 != 0
        ):
            raise ValueError(f"expected arrays of float64 with {n_points} rows")
        columns[0].data = cnp.doubles(array)
        columns[0].row = cnp.PyArray_STRIDES(array)[0] // 8
        columns[0].n = width
        n += width
        columns += 1
    return n


# --- functions of C ------------------------------------------------------------------------------


cdef void forget_raised() noexcept with gil:
    """Forget what a step has raised, for whom no Python waits; but not what interrupts it."""
    if PyErr_ExceptionMatches(KeyboardInterrupt):
        PyErr_SetInterrupt()
    PyErr_Clear()


@cython.final
cdef class Callback:
    """Codes of a value, and of that with a gradient, as a function that C calls."""

    cdef CadCallback *callback
    cdef tuple codes  # which it runs

    def __cinit__(self, Code value, with_gradient: Code | None):
        self.callback = <CadCallback *>cad_memory_zeroed(1, sizeof(CadCallback))
        if self.callback == NULL:
            check(CAD_NO_MEMORY)
        self.codes = value, with_gradient
        self.callback.n_values = value.program.n_results
        self.callback.forget = forget_raised
        begin_calls(&self.callback.value, value)
        if with_gradient is not None:
            begin_calls(&self.callback.with_gradient, with_gradient)

    def __dealloc__(self):
        if self.callback != NULL:
            cad_callback_clear(self.callback)
            cad_memory_free(self.callback)

    @property
    def data(self) -> int:
        return <intptr_t>self.callback

    @property
    def addresses(self) -> dict[str, int]:
        """Of functions that take `data` last, by what they are for."""
        return {
            "any": <intptr_t>&cad_callback_run,
            "integrand": <intptr_t>&cad_callback_integrand,
            "filter": <intptr_t>&cad_callback_filter,
        }


cdef int begin_calls(CadCalled *called, Code code) except -1:
    if code.machines is not None:
        code.ask_for_machine()
    if code.program.team != NULL:
        be_ready(code.threads)
    called.program = code.program
    called.n_room = code.room()
    return 0


# --- parts ---------------------------------------------------------------------------------------


# But for what only those who carry it out have to know.
_PLACES = ("out", "x", "y", "z", "sx", "sy", "sz")
_INSTRUCTION = np.dtype(
    {
        "names": ["kind", "op", "n", "fused", *_PLACES],
        "formats": ["u1", "u2", "u4", "u4"] + ["i4"] * len(_PLACES),
        "offsets": [0, 2, *range(4, 40, 4)],
    }
)
_SINGLE = np.dtype([("op", "u4"), ("out", "i4"), ("x", "i4"), ("y", "i4"), ("z", "i4")])
_STRETCH = np.dtype([("place", "i4"), ("step", "i4"), ("n", "u4"), ("listed", "u4")])
_REFERRED = np.dtype(
    [("place", "i4"), ("size", "u4"), ("pointer", "i4"), ("result", "i4"), ("floats", "i4")]
)
_CHECK = np.dtype([("place", "i4"), ("number", "u4"), ("value", "f8")])


cdef cnp.ndarray copied(const void *items, size_t count, object dtype):
    """Some items as an array."""
    cdef cnp.ndarray result = np.empty(count, dtype)
    if count > 0:
        memcpy(cnp.PyArray_DATA(result), items, count * <size_t>result.itemsize)
    return result


cdef object region_of(const CadRegion *region):
    """A region as an array of places, or as (first, lengths of axes, steps, view)."""
    if region.listed != NULL:
        return copied(region.listed, region.lengths[0], np.int32) + <int64_t>region.first
    return (
        region.first,
        tuple([region.lengths[k] for k in range(region.n_axes)]),
        tuple([region.steps[k] for k in range(region.n_axes)]),
        region.view,
    )


cdef void note_region(void *accesses, const CadRegion *region) noexcept with gil:
    cdef list regions = <list>accesses
    try:
        is_number = region.n_axes == 0
        told = region.first if is_number else region_of(region)
        if region.reads:
            regions[2 * is_number].append(told)
        if region.writes:
            regions[2 * is_number + 1].append(told)
    except BaseException as error:
        regions.append(error)


cdef tuple accesses_of(const CadProgram *p, const CadInstruction *instruction):
    """Regions that an instruction reads, and those that it writes: arrays of places, or (first,
    lengths of axes, steps, which view of its plan or -1)."""
    cdef list accesses = [[], [], [], []]  # the last two are of single numbers
    cad_instruction_visit(p, instruction, note_region, <void *>accesses)
    reads, writes, *numbers = accesses
    if len(numbers) > 2:
        raise numbers[2]
    for regions, places in zip((reads, writes), numbers):
        if places:
            regions.append(np.array(places, np.int64))
    return reads, writes


def instruction_words() -> dict[str, tuple[str, str, str, str, set[str]]]:
    """Of the kinds of instructions, in order, by their names: their words in listings and in
    profiles, formulas, why machine code leaves them, and traits; see program/instructions.def."""
    cdef const CadStepInfo *info
    rows = {}
    for k in range(CAD_STEP_KINDS):
        info = &cad_step_info[k]
        traits = {cad_step_traits[t].decode() for t in range(CAD_N_TRAITS) if info.traits >> t & 1}
        texts = [text.decode() for text in (info.word, info.name, info.formula, info.left)]
        rows[info.kind.decode()] = (*texts, traits)
    return rows


cdef dict parts_of_scan(const CadScanPlan *plan):
    return {
        "ahead": parts_of_program(plan.ahead),
        "core": parts_of_program(plan.core),
        "single": parts_of_program(plan.single),
        "behind": parts_of_program(plan.behind),
        "in_blocks": plan.in_blocks,
        "n_carried": plan.n_carried,
        "n_given": plan.n_given,
        "n_kept": plan.n_kept,
        "n_summed": plan.n_summed,
        "n_into_ahead": plan.n_into_ahead,
        "n_from_ahead": plan.n_from_ahead,
        "n_into_core": plan.n_into_core,
        "n_from_core": plan.n_from_core,
        "n_into_behind": plan.n_into_behind,
        "n_from_behind": plan.n_from_behind,
        "length": plan.length,
        "n_in_strips": plan.n_in_strips,
        "stride": plan.length + CAD_STRIP_MARGIN,
        "together": plan.together,
        "at": plan.at,
    }


cdef dict parts_of_program(CadProgram *p):
    if p == NULL:
        return None
    return {
        "scans": [parts_of_scan(&p.scans[k]) for k in range(p.n_scans)],
        "code": copied(p.code, p.n_code, _INSTRUCTION),
        "accesses": [accesses_of(p, &p.code[k]) for k in range(p.n_code)],
        "singles": copied(p.singles, p.n_singles, _SINGLE),
        "lists": copied(p.lists, p.n_lists, np.int32),
        "plans": copied(p.plans, p.n_plan_words, np.int64),
        "constants": copied(p.constants, p.n_constants, np.float64),
        "outputs": copied(p.outputs, p.n_outputs, _STRETCH),
        "checks": copied(p.checks, p.n_checks, _CHECK),
        "referred": copied(p.referred, p.n_referred, _REFERRED),
        "floats": CAD_FLOATS,
        "least_float": CAD_LEAST_FLOAT,
        "n_inputs": p.n_inputs,
        "n_shared": p.n_shared,
        "n_places": p.n_places,
        "n_whole": p.n_whole,
        "n_results": p.n_results,
        "n_operations": p.n_operations,
        "compares_last": p.compares_last,
    }


cdef size_t texts_of(const CadProgram *p) noexcept:
    cdef size_t n = 0, k
    cdef const CadScanPlan *scan
    if p != NULL:
        n = p.n_singles + 2 * p.n_code
        for k in range(p.n_scans):
            scan = &p.scans[k]
            n += texts_of(scan.core if scan.in_blocks else scan.single)
            n += texts_of(scan.ahead) + texts_of(scan.behind)
    return n


cdef int set_pieces(CadProgram *program, size_t lanes, list pieces) except -1:
    cdef Py_ssize_t k, n = len(pieces)
    cdef size_t end = 0
    cdef CadMachinePiece *items = <CadMachinePiece *>new_memory(n + 1, sizeof(CadMachinePiece))
    try:
        for k in range(n):
            items[k].first, items[k].n = pieces[k][0], pieces[k][1]
            items[k].run = <CadMachineCode *>(<intptr_t>pieces[k][2])
            if items[k].first < end or items[k].n == 0:
                raise ValueError("pieces of machine code are apart, one behind the other")
            end = items[k].first + items[k].n
        if end > program.n_code:
            raise ValueError("machine code is for instructions that there are")
        return check(cad_program_set_machine(program, lanes, items, n))
    finally:
        cad_memory_free(items)


cdef bint go_over_lanes(list steps, list natives, bint in_turns) except -1:
    """Whether calls for many points side by side are possible: each is C's, or one of Python's for
    all points. In turns those of C have to be one for all points, too: to bring the numbers of
    each point together takes longer than what else is gained."""
    return all([goes_over_lanes(step) if native is None
                else not in_turns or (<Native>native).call.is_elementwise
                for step, native in zip(steps, natives)])
