"""Matrices of plain derivatives over a recording: Jacobians, Hessians and products with them; and
derivatives of any order by power series.

This module chooses the cheapest sweeps for a matrix.
"""

import os
import struct
import sys
from math import factorial

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_AS_DOUBLE
from libc.math cimport ldexp
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from . cimport c_numpy as cnp
from .generated.entries cimport *
from .generated.tape cimport *
from .generated.sweeps cimport *
from .generated.linear cimport *
from .c_numbers cimport *
from .tape cimport checks_of, on_tape
from .atoms cimport atoms_of, shape
from .arguments cimport ARRAY, ArgumentNode
from .forward cimport Forward
from .recording cimport Recording
from .recorded_sweeps cimport pull_recorded

from .digests import counts_of, with_checksum
from .tape import is_constant


def check_room(m: int, n: int) -> None:
    """Raise MemoryError if the machine has no memory for a matrix of m rows and n columns."""
    if 8 * m * n > most_memory:
        raise MemoryError(
            f"the derivatives of {m:,} numbers by {n:,} are a matrix of {8 * m * n / 2**30:,.1f} "
            f"GiB, and this machine has {most_memory / 2**30:,.1f} GiB: write "
            "cadiff.sparse_jacobian or sparse_hessian if most of it is 0; jvp, vjp, hvp and "
            "linearize have products with it"
        )


cdef cnp.ndarray matrix_of(Py_ssize_t m, Py_ssize_t n):
    """Zeros, if there is memory for them."""
    check_room(m, n)
    return np.zeros((m, n))


#: most_memory: int
try:
    most_memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
except (AttributeError, ValueError, OSError):  # this system does not say
    most_memory = sys.maxsize


# --- frozen linear maps --------------------------------------------------------------------------
#
# Frozen linear maps: what a recording leaves behind when only its derivative is wanted.
#
# They refer to no tape, and know no recording.


cdef enum:
    LANES = 8  # directions that a sweep carries at once
    LONG_SWEEP = 100_000  # numbers, from which on other threads may run meanwhile


_MAP_HEADER = struct.Struct("<8sQ" + "Q" * CAD_LINEAR_PARTS)
_MAP_MAGIC = b"cadmap03"


@cython.final
@cython.no_gc
cdef class FrozenMap:
    """A linear map from n numbers to m, with all that it takes: it refers to no tape.

    Nothing in it changes, so that several threads may use it at once, and it pickles.
    """

    cdef CadLinear *linear

    def __init__(self):
        raise TypeError("a FrozenMap comes from Recording.freeze")

    def __dealloc__(self):
        cad_linear_free(self.linear)

    @property
    def m(self) -> int:
        """How many numbers come out."""
        return self.linear.part[CAD_LINEAR_OUTPUTS].count

    @property
    def n(self) -> int:
        """How many numbers go in."""
        return self.linear.part[CAD_LINEAR_INPUTS].count

    @property
    def nbytes(self) -> int:
        """How much memory it holds."""
        cdef size_t total = 0
        for k in range(CAD_LINEAR_PARTS):
            total += self.linear.part[k].count * cad_linear_item_size[k]
        return total

    cdef CadLaneBuffer take_room(self, CadTape *tape, size_t lanes) except *:
        """A workspace, on loan from a tape."""
        cdef CadLaneBuffer room = CadLaneBuffer(NULL, 0)
        cdef size_t count = cad_linear_room(self.linear, lanes)
        check(cad_lanes_take(tape, count, &room) if count > 0 else CAD_NO_MEMORY)
        return room

    cdef bint is_long(self):
        return (
            self.linear.n_places
            + self.linear.part[CAD_LINEAR_FACTORS].count
            + self.linear.part[CAD_LINEAR_NUMBERS].count
        ) > LONG_SWEEP

    cpdef object carry_columns(self, object numbers, bint back):  #: NDArray[np.float64]
        """J times a vector (n,), or times the columns of a matrix (n, k); with `back` its transpose,
        times (m,) or (m, k)."""
        cdef Py_ssize_t first
        cdef Py_ssize_t count = self.m if back else self.n
        vectors = np.ascontiguousarray(numbers, dtype=np.float64)
        if vectors.ndim > 2 or vectors.shape[0] != count:
            raise ValueError(f"expected a vector or matrix of {count} rows, not {vectors.shape}")
        columns = vectors.shape[1] if vectors.ndim > 1 else 1
        result = np.zeros((self.n if back else self.m, *vectors.shape[1:]))
        if columns <= LANES and vectors.size > 0:
            self.carry_lanes(vectors, result, columns, back)
        elif columns > LANES:
            for first in range(0, columns, LANES):
                part = slice(first, first + LANES)
                result[:, part] = self.carry_columns(vectors[:, part], back)
        return result

    cdef int carry_lanes(self, cnp.ndarray vectors, cnp.ndarray result, Py_ssize_t lanes,
                         bint back) except -1:
        cdef const double *source = cnp.doubles(vectors)
        cdef double *target = cnp.doubles(result)
        cdef CadTape *tape = cad_current_tape()
        cdef CadLaneBuffer room = self.take_room(tape, lanes)
        if self.is_long():
            with nogil:
                cad_linear_carry(self.linear, back, lanes, source, target, room.data)
        else:
            cad_linear_carry(self.linear, back, lanes, source, target, room.data)
        cad_lanes_give_back(tape, room)
        return 0

    def dense(self) -> NDArray[np.float64]:
        """J (m, n), by rows or columns, whichever are fewer."""
        cdef cnp.ndarray result = matrix_of(self.m, self.n)
        cdef double *data = cnp.doubles(result)
        cdef bint back = self.m < self.n
        cdef size_t first = 0, lanes, count = self.m if back else self.n
        cdef CadTape *tape = cad_current_tape()
        cdef CadLaneBuffer room
        if result.size == 0:
            return result
        room = self.take_room(tape, min(count, <size_t>LANES))
        with nogil:
            while first < count:
                lanes = min(count - first, <size_t>LANES)
                cad_linear_units(self.linear, back, first, lanes, data, room.data)
                first += lanes
        cad_lanes_give_back(tape, room)
        return result

    # --- as bytes

    def __reduce__(self):
        return thawed_map, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """A header with the counts of all parts, the parts, and a checksum; little-endian."""
        cdef CadItems *items = self.linear.part
        if sys.byteorder != "little":
            raise NotImplementedError("maps are written as bytes on little-endian machines only")
        counts = [items[k].count for k in range(CAD_LINEAR_PARTS)]
        parts = [_MAP_HEADER.pack(_MAP_MAGIC, self.linear.n_places, *counts)]
        for k in range(CAD_LINEAR_PARTS):
            parts.append(PyBytes_FromStringAndSize(
                <const char *>items[k].data, items[k].count * cad_linear_item_size[k]
            ))
        return with_checksum(parts)


cdef FrozenMap frozen_map(CadLinear *linear):
    cdef FrozenMap result = FrozenMap.__new__(FrozenMap)
    result.linear = linear
    return result


def thawed_map(given: bytes) -> FrozenMap:
    """The FrozenMap that some bytes stand for; ValueError if they were not written by one."""
    cdef CadLinear *linear
    cdef size_t begin
    cdef CadStatus status = CAD_OK
    cdef const char *data
    if not isinstance(given, bytes):
        raise TypeError(f"expected the bytes of a linear map, not {type(given).__name__}")
    if sys.byteorder != "little":
        raise NotImplementedError("maps are read from bytes on little-endian machines only")
    complaint = "these are not the bytes of a linear map"
    counts, room = counts_of(
        given, _MAP_HEADER, _MAP_MAGIC, complaint,
        f"{complaint} of this version of cadiff: make the map anew with cadiff.linearize",
    )
    size = sum([counts[k + 1] * <object>cad_linear_item_size[k] for k in range(CAD_LINEAR_PARTS)])
    if size != room:
        raise ValueError(f"{complaint}: its parts are not of the lengths it says")
    linear = cad_linear_new(counts[0])
    if linear == NULL:
        check(CAD_NO_MEMORY)
    result = frozen_map(linear)
    data = given
    begin = _MAP_HEADER.size
    for k in range(CAD_LINEAR_PARTS):
        if status == CAD_OK:
            status = cad_linear_append(linear, k, data + begin, counts[k + 1])
        begin += <size_t>counts[k + 1] * cad_linear_item_size[k]
    check(status)
    if not cad_linear_check(linear):
        raise ValueError(f"{complaint}: a step leads out of it")
    return result


# --- matrices ------------------------------------------------------------------------------------


cdef enum:
    ANEW = 4  # rows of a rule whose reverse rule is kept, that cost as much as a tangent
    FEW_ROWS = 4  # reverse sweeps, which cost about as much as two tangent sweeps of all lanes
    FEW_COLUMNS = 4 * LANES  # for which sweeps over the tape take less time than freezing


def freeze(Recording recording, list outputs) -> FrozenMap | None:
    """The derivative of all numbers of the outputs, which needs the recording no more; None
    where it is not plain, or a primitive was recorded."""
    if recording.n_atoms > 0 and (not recording.is_plain(outputs) or recording.has_rules):
        return None
    return frozen(recording, outputs, slots_of(recording, outputs))


def freeze_number(Recording recording, out) -> tuple[float, FrozenMap] | None:
    """Value and derivative of a Var of one number of double precision; None of all else, and where
    freeze gives None."""
    cdef int64_t slot
    if (
        recording.n == 0 or not CAD_IS_SCALAR(out)
        or not on_tape(out, recording.tape, recording.base())
        or not recording.is_plain([out]) or recording.has_rules
    ):
        return None
    slot = -1 if is_constant(out) else <int64_t>CAD_VAR(out).slot
    return CAD_VAR(out).value, frozen_slots(recording, [out], &slot, 1)


cdef FrozenMap frozen(Recording recording, list outputs, cnp.ndarray slots):
    cdef int64_t *data = <int64_t *>cnp.PyArray_DATA(slots)
    return frozen_slots(recording, outputs, data, cnp.PyArray_SIZE(slots))


cdef FrozenMap frozen_slots(Recording recording, list outputs, const int64_t *slots, size_t n):
    cdef CadLinear *linear = NULL
    cdef CadSlot base = 0
    cdef size_t begin = 0, end = 0
    if recording.n_atoms > 0:
        base, begin, end = recording.base(), recording.begin(), recording.end(outputs)
    check(cad_linear_build(recording.tape, begin, end, base, recording.n, slots, n, &linear))
    return frozen_map(linear)


def jacobian_of(Recording recording, list outputs, bint forward) -> NDArray[np.float64]:
    """The Jacobian (m, n) of all numbers of the outputs; `forward` allows for tangent sweeps.

    A sweep of a frozen map carries LANES rows or columns for about the price of one or two,
    but freezing costs as much as some sweeps of the tape. Rules are met one row or column after
    the other.
    """
    cdef cnp.ndarray slots = slots_of(recording, outputs)
    cdef Py_ssize_t m = cnp.PyArray_SIZE(slots)
    cdef bint rules = recording.has_rules
    if forward and rules and go_forward(recording, m):
        with Forward():  # holds warnings back of tangents that nothing uses
            matrix = columns(recording, outputs, slots, 1)
        if np.isfinite(matrix).all():
            return matrix
    if forward and not rules and recording.n <= min(FEW_COLUMNS, FEW_ROWS * m):
        return columns(recording, outputs, slots, LANES)
    if rules and m > 1:
        keep_pulls(recording)
    if m <= FEW_ROWS or rules:
        return rows(recording, outputs, slots)
    return frozen(recording, outputs, slots).dense()


def slope_of(Recording recording, output) -> NDArray[np.float64]:
    """The Jacobian of a vector by all inputs, whatever else it depends on."""
    return rows(recording, [output], slots_of(recording, [output]))


cdef cnp.ndarray rows(Recording recording, list outputs, cnp.ndarray slots):
    """The Jacobian, one reverse sweep a row."""
    cdef cnp.ndarray matrix = matrix_of(cnp.PyArray_SIZE(slots), recording.n)
    cdef double *data = cnp.doubles(matrix)
    cdef int64_t *place = <int64_t *>cnp.PyArray_DATA(slots)
    cdef CadSlot base
    cdef Py_ssize_t i
    cdef size_t end
    if recording.n == 0:
        return matrix
    base = recording.base()
    for i in range(cnp.PyArray_SIZE(slots)):
        if place[i] >= 0:
            end = recording.end(outputs)
            recording.clear(end)
            cad_tape_prepare_adjoints(recording.tape, place[i], place[i])
            recording.tape.adjoints[place[i]] = 1.0
            recording.sweep(end)
            cad_tape_read_adjoints(
                recording.tape, base, base + recording.n, data + i * recording.n
            )
    return matrix


cdef bint go_forward(Recording recording, Py_ssize_t m) except -1:
    """Whether rules cost less for the tangents of n columns than for the cotangents of m rows. Those
    of users have to state tangents, and no step is checked.

    A rule of the package computes for each tangent anew, say, a factorization that it keeps for
    cotangents; or it transposes its cotangents.
    """
    rules = recording.rules()
    if checks_of(recording.tape) is not None:
        return False
    for rule in rules:
        if not (getattr(rule, "goes_forward", False) or getattr(rule, "is_exact", False)):
            return False
    tangents = sum([ANEW if rule.is_exact else 1 for rule in rules])
    return recording.n * tangents < m * len(rules)


cdef int keep_pulls(Recording recording) except -1:
    """Have rules keep what they make of values, for many cotangents."""
    for rule in recording.rules():
        if hasattr(rule, "keeps_pulls"):
            rule.keeps_pulls = True
    return 0


cdef cnp.ndarray columns(Recording recording, list outputs, cnp.ndarray slots, Py_ssize_t most):
    """The Jacobian, at most so many columns by each tangent sweep."""
    cdef Py_ssize_t i, first, lanes, m = cnp.PyArray_SIZE(slots)
    cdef cnp.ndarray matrix = matrix_of(m, recording.n)
    cdef double *data = cnp.doubles(matrix)
    cdef int64_t *place = <int64_t *>cnp.PyArray_DATA(slots)
    cdef CadLaneBuffer tangents
    cdef CadSlot base
    cdef size_t end
    if recording.n == 0:
        return matrix
    base = recording.base()
    end = recording.end(outputs)
    tangents = CadLaneBuffer(NULL, 0)
    try:
        for first in range(0, recording.n, most):
            lanes = min(most, recording.n - first)
            have_lanes(recording, &tangents, recording.slots(end) * lanes)
            push_identity(recording, tangents.data, first, lanes, end)
            for i in range(m):
                if place[i] >= 0:
                    memcpy(data + i * recording.n + first,
                           tangents.data + (place[i] - base) * lanes, lanes * sizeof(double))
    finally:
        cad_lanes_give_back(recording.tape, tangents)
    return matrix


def plain_jacobian(Recording recording, out, bint forward) -> NDArray[np.float64] | None:
    """The Jacobian of one array by one array, out.shape + in.shape; None if it is not that.

    `forward` allows for tangent sweeps, where they are cheaper.
    """
    cdef ArgumentNode node
    cdef bint scalar = CAD_IS_SCALAR(out)
    if not (CAD_IS_VAR_ARRAY(out) or scalar):
        return None
    if recording.block is None or len(recording.nodes) != 1:
        return None
    node = recording.nodes[0]
    if node.shape != ARRAY or CAD_VAR(out).kind == CAD_STALE or not recording.is_closed([out]):
        return None
    kind = cnp.PyArray_TYPE(node.original)
    if kind in (cnp.NPY_FLOAT32, cnp.NPY_FLOAT16) or node.original.ndim == 0:
        return None
    matrix = jacobian_of(recording, [out], forward)
    return matrix.reshape((() if scalar else out.shape) + node.original.shape)


cdef bint is_variable(Recording recording, output):
    """Whether an output is an array or a number of the recording, and no constant."""
    return on_tape(output, recording.tape, recording.base()) and not is_constant(output)


cdef cnp.ndarray slots_of(Recording recording, list outputs):
    """The slots of all numbers of the outputs, in order; -1 for what is no variable here."""
    if len(outputs) == 1 and recording.n > 0 and is_variable(recording, outputs[0]):
        return np.ascontiguousarray(cad_var_slots(CAD_VAR(outputs[0]))).ravel()
    parts = [np.empty(0, np.int64)]
    for output in outputs:
        if recording.n > 0 and is_variable(recording, output):
            parts.append(cad_var_slots(CAD_VAR(output)).ravel())
        else:
            parts.append(np.full(np.size(cad_plain_value(output)), -1, np.int64))
    return np.ascontiguousarray(np.concatenate(parts))


cdef int push_identity(Recording recording, double *tangents, Py_ssize_t first, Py_ssize_t lanes,
                       size_t end) except -1:
    """Tangents of all slots along the unit vectors first, first + 1, ..."""
    cdef Py_ssize_t k
    memset(tangents, 0, recording.n * lanes * sizeof(double))
    for k in range(lanes):
        tangents[(first + k) * lanes + k] = 1.0
    return push(recording, tangents, lanes, end)


cdef int push(Recording recording, double *tangents, Py_ssize_t lanes, size_t end) except -1:
    """Tangents of all slots; those of the inputs are there."""
    cdef size_t begin = recording.begin()
    check(cad_sweep_tangent(recording.tape, begin, end, begin + recording.n_inputs(), recording.base(), lanes,
                            tangents))
    return 0


cdef int second(Recording recording, object number, size_t end, size_t n_slots, double *tangents,
                Py_ssize_t lanes, double *results) except -1:
    """Hessian times directions, of the slots up to `end` that have tangents: rules that pushed them
    may have recorded constants behind. results[i * lanes + k], i over the inputs at first, then
    over all slots."""
    cdef CadSlot base = recording.base()
    cdef size_t begin = recording.begin()
    cdef CadLanes all_lanes = CadLanes(results, base, lanes)
    recording.clear(end)
    if on_tape(number, recording.tape, base):
        cad_var_seed(CAD_VAR(number), 1.0)
    memset(results, 0, recording.n * lanes * sizeof(double))
    cad_lanes_clear_adjoints(recording.tape, all_lanes, base + recording.n, base + n_slots)
    check(cad_sweep_second(recording.tape, begin, end, begin + recording.n_inputs(), base, lanes,
                           tangents, results))
    return 0


def hessian_of(Recording recording, object number) -> NDArray[np.float64]:
    """The Hessian (n, n) of one number, some columns a second-order sweep."""
    cdef Py_ssize_t i, first, lanes
    cdef cnp.ndarray matrix = matrix_of(recording.n, recording.n)
    cdef double *data = cnp.doubles(matrix)
    cdef CadLaneBuffer tangents, results
    cdef size_t end, n_slots
    if recording.n == 0:
        return matrix
    end = recording.end([number])
    tangents = results = CadLaneBuffer(NULL, 0)
    try:
        for first in range(0, recording.n, LANES):
            lanes = min(LANES, recording.n - first)
            n_slots = recording.slots(end)
            have_lanes(recording, &tangents, n_slots * LANES)
            have_lanes(recording, &results, n_slots * LANES)
            push_identity(recording, tangents.data, first, lanes, end)
            second(recording, number, end, n_slots, tangents.data, lanes, results.data)
            for i in range(recording.n):
                memcpy(data + i * recording.n + first, results.data + i * lanes,
                       lanes * sizeof(double))
    finally:
        cad_lanes_give_back(recording.tape, tangents)
        cad_lanes_give_back(recording.tape, results)
    return matrix


def hessian_by_rows(Recording recording, object number) -> NDArray[np.float64] | None:
    """The Hessian (n, n) of one number by reverse sweeps over the reverse sweep, which pass
    everything that can be recorded. None: a rule uses numbers of other computations."""
    kept = recording.kept
    try:
        gradients = pull_recorded(recording, [number], [1.0])
        if not recording.plain_results(gradients):
            return None
        return jacobian_of(recording, gradients, False)
    finally:
        recording.kept = kept  # the matrix is plain


cdef int have_lanes(Recording recording, CadLaneBuffer *buffer, size_t numbers) except -1:
    """Have memory for so many numbers; what was in it is lost if it was less."""
    if buffer.capacity < numbers:
        cad_lanes_give_back(recording.tape, buffer[0])
        buffer[0] = CadLaneBuffer(NULL, 0)
        check(cad_lanes_take(recording.tape, numbers, buffer))
    return 0


def hessian_product(Recording recording, object number, list direction) -> list[Any]:
    """The Hessian of one number times a direction, given and answered in atoms."""
    cdef CadLaneBuffer tangents, results
    cdef cnp.npy_intp n = recording.n
    cdef Py_ssize_t offset
    cdef size_t end, n_slots
    if recording.n == 0:
        return recording.cut(np.empty(0))
    end = recording.end([number])
    n_slots = recording.slots(end)
    tangents = results = CadLaneBuffer(NULL, 0)
    try:
        have_lanes(recording, &tangents, n_slots)
        have_lanes(recording, &results, n_slots)
        flat = cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_DOUBLE, tangents.data)
        offset = 0
        for atom in direction:
            if CAD_IS_FLOAT(atom):
                tangents.data[offset] = PyFloat_AS_DOUBLE(atom)
                offset += 1
            else:
                flat[offset : offset + atom.size] = atom.ravel()
                offset += atom.size
        push(recording, tangents.data, 1, end)
        second(recording, number, end, n_slots, tangents.data, 1, results.data)
        return recording.cut(cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_DOUBLE, results.data))
    finally:
        cad_lanes_give_back(recording.tape, tangents)
        cad_lanes_give_back(recording.tape, results)


def high_derivatives(Recording recording, list outputs, Py_ssize_t order) -> list[Any]:
    """The derivatives of an order > 0 of outputs by the one number that was lifted, in the shapes
    of the outputs. Results have to be plain, and nothing recorded a primitive."""
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base()
    cdef double *series = NULL
    cdef double *to
    cdef int64_t *place
    cdef Py_ssize_t i
    cdef size_t end
    # The derivative is order! times a coefficient, which by itself may be too small for a double:
    # so the series are in t where the argument is x + 2**scale t, and of the size of derivatives.
    factor = factorial(order)
    bits = factor.bit_length() - 1
    cdef int scale = bits // order
    cdef int exponent = bits - scale * order
    cdef double mantissa = factor / (1 << bits)
    cad_tape_pin(tape)
    try:
        slots = slots_of(recording, outputs)
        flat = np.zeros(slots.size)
        place = <int64_t *>cnp.PyArray_DATA(slots)
        to = cnp.doubles(flat)
        end = recording.end(outputs)
        series = <double *>cad_memory_zeroed(recording.slots(end) * order, sizeof(double))
        if series == NULL:
            check(CAD_NO_MEMORY)
        series[0] = ldexp(1.0, scale)
        check(cad_sweep_taylor(tape, recording.begin(), end, base, order, series))
        for i in range(slots.size):
            if place[i] >= 0:
                to[i] = ldexp(series[(place[i] - base + 1) * order - 1] * mantissa, exponent)
    finally:
        cad_memory_free(series)
        cad_tape_unpin(tape)
    return atoms_of(flat, [shape(output) for output in outputs])
