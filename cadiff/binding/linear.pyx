"""Frozen linear maps: what a recording leaves behind when only its derivative is wanted.

They refer to no tape, and know no recording.
"""

import struct
import sys
import zlib

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize

from . cimport c_numpy as cnp
from .c_linear cimport *
from .c_numbers cimport *
from .c_entries cimport *

cdef enum:
    LONG_SWEEP = 100_000  # numbers, from which on other threads may run meanwhile
    MOST_SPARE_ROOM = 1 << 21  # numbers of workspace that are kept from call to call


_MAP_HEADER = struct.Struct("<8sQ" + "Q" * CAD_LINEAR_PARTS)
_MAP_MAGIC = b"cadmap01"


@cython.final
@cython.no_gc
cdef class FrozenMap:
    """A linear map from n numbers to m, with all that it takes: it refers to no tape.

    Nothing in it changes, so that several threads may use it at once, and it pickles.
    """

    def __init__(self):
        raise TypeError("a FrozenMap comes from Recording.freeze")

    def __dealloc__(self):
        cad_linear_free(self.linear)
        cad_memory_free(self.spare)

    @property
    def m(self):
        """How many numbers come out."""
        return self.linear.part[CAD_LINEAR_OUTPUTS].count

    @property
    def n(self):
        """How many numbers go in."""
        return self.linear.part[CAD_LINEAR_INPUTS].count

    @property
    def nbytes(self):
        """How much memory it holds."""
        cdef size_t total = 0
        for k in range(CAD_LINEAR_PARTS):
            total += self.linear.part[k].count * cad_linear_item_size[k]
        return total

    cdef double *take_room(self, Py_ssize_t lanes) except NULL:
        """A workspace: the spare one, unless another call has it."""
        cdef size_t count = cad_linear_room(self.linear, lanes)
        cdef double *room = self.spare
        if room != NULL and count == self.spare_room:
            self.spare = NULL
            return room
        room = <double *>cad_memory_resize(NULL, count, sizeof(double)) if count > 0 else NULL
        if room == NULL:
            check(CAD_NO_MEMORY)
        return room

    cdef void give_room_back(self, double *room, Py_ssize_t lanes) noexcept:
        cdef double *other = self.spare
        cdef size_t count = cad_linear_room(self.linear, lanes)
        if count <= MOST_SPARE_ROOM:
            self.spare, self.spare_room = room, count
            room = other
        cad_memory_free(room)

    cdef bint is_long(self):
        return (
            self.linear.n_places
            + self.linear.part[CAD_LINEAR_FACTORS].count
            + self.linear.part[CAD_LINEAR_NUMBERS].count
        ) > LONG_SWEEP

    cdef object carry(self, object numbers, bint back):
        """A vector, or the columns of a matrix, through the map or its transpose."""
        cdef Py_ssize_t first
        cdef Py_ssize_t count = self.m if back else self.n
        given = np.ascontiguousarray(numbers, dtype=np.float64)
        if given.ndim > 2 or given.shape[0] != count:
            raise ValueError(f"expected a vector or matrix of {count} rows, not {given.shape}")
        columns = given.shape[1] if given.ndim > 1 else 1
        result = np.zeros((self.n if back else self.m, *given.shape[1:]))
        if columns <= LANES and given.size > 0:
            self.carry_lanes(given, result, columns, back)
        elif columns > LANES:
            for first in range(0, columns, LANES):
                part = slice(first, first + LANES)
                result[:, part] = self.carry(given[:, part], back)
        return result

    cdef int carry_lanes(self, cnp.ndarray given, cnp.ndarray result, Py_ssize_t lanes,
                         bint back) except -1:
        cdef const double *source = <const double *>cnp.PyArray_DATA(given)
        cdef double *target = <double *>cnp.PyArray_DATA(result)
        cdef double *room = self.take_room(lanes)
        if self.is_long():
            with nogil:
                carry_numbers(self.linear, lanes, source, target, room, back)
        else:
            carry_numbers(self.linear, lanes, source, target, room, back)
        self.give_room_back(room, lanes)
        return 0

    def push(self, numbers):
        """J times a vector (n,), or times the columns of a matrix (n, k)."""
        return self.carry(numbers, False)

    def pull(self, numbers):
        """The transpose of J times a vector (m,), or times the columns of a matrix (m, k)."""
        return self.carry(numbers, True)

    def columns(self):
        """J (m, n), some columns a push."""
        return self.matrix(False)

    def rows(self):
        """J (m, n), some rows a pull."""
        return self.matrix(True)

    def dense(self):
        """J (m, n), by rows or columns, whichever are fewer."""
        return self.matrix(self.m < self.n)

    cdef object matrix(self, bint back):
        cdef cnp.ndarray result = np.zeros((self.m, self.n))
        cdef double *data = <double *>cnp.PyArray_DATA(result)
        cdef size_t first, lanes, count = self.m if back else self.n
        cdef double *room
        if self.m == 0 or self.n == 0:
            return result
        room = self.take_room(min(count, <size_t>LANES))
        with nogil:
            first = 0
            while first < count:
                lanes = min(count - first, <size_t>LANES)
                if back:
                    cad_linear_rows(self.linear, first, lanes, data, room)
                else:
                    cad_linear_columns(self.linear, first, lanes, data, room)
                first += lanes
        cad_memory_free(room)
        return result

    # --- as bytes

    def __reduce__(self):
        return thawed_map, (self.to_bytes(),)

    def to_bytes(self):
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
        body = b"".join(parts)
        return body + zlib.crc32(body).to_bytes(4, "little")


cdef void carry_numbers(const CadLinear *linear, size_t lanes, const double *source,
                        double *target, double *room, bint back) noexcept nogil:
    if back:
        cad_linear_pull(linear, lanes, source, target, room)
    else:
        cad_linear_push(linear, lanes, source, target, room)


cdef FrozenMap frozen_map(CadLinear *linear):
    cdef FrozenMap result = FrozenMap.__new__(FrozenMap)
    result.linear = linear
    return result


def thawed_map(given):
    """The FrozenMap that some bytes stand for; ValueError if they were not written by one."""
    cdef CadLinear *linear
    cdef size_t begin
    cdef CadStatus status = CAD_OK
    cdef const char *data
    if not isinstance(given, bytes):
        raise TypeError(f"expected the bytes of a linear map, not {type(given).__name__}")
    if sys.byteorder != "little":
        raise NotImplementedError("maps are read from bytes on little-endian machines only")
    counts = counts_of_map(given)
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
        raise ValueError("these are not the bytes of a linear map: a step leads out of it")
    return result


cdef list counts_of_map(bytes given):
    """The number of places and the counts of all parts, as the header has them."""
    complaint = "these are not the bytes of a linear map"
    if given[:6] == _MAP_MAGIC[:6] and given[:8] != _MAP_MAGIC:
        raise ValueError(
            f"{complaint} of this version of cadiff: make the map anew with cadiff.linearize"
        )
    if len(given) < _MAP_HEADER.size + 4 or given[:8] != _MAP_MAGIC:
        raise ValueError(complaint)
    end = len(given) - 4
    if zlib.crc32(given[:end]).to_bytes(4, "little") != given[end:]:
        raise ValueError(f"{complaint}, or were damaged: the checksum is wrong")
    _, *counts = _MAP_HEADER.unpack_from(given)
    size = sum([counts[k + 1] * <object>cad_linear_item_size[k] for k in range(CAD_LINEAR_PARTS)])
    if size != end - _MAP_HEADER.size:
        raise ValueError(f"{complaint}: its parts are not of the lengths it says")
    return counts
