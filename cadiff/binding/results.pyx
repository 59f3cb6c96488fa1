"""What calls of one signature return: nodes of results, which make them of the numbers of a code.

How a function makes its result of numbers is found once, by having it make one of their places. A
large array is written where it stays, by the code itself: in a new one, or in one of the user's.
"""

from enum import Enum
from threading import local

import numpy as np

cimport cython
from cpython.float cimport PyFloat_FromDouble
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_python cimport list_of_floats
from .c_numbers cimport *
from .generated.program cimport *
from .complexes cimport is_complex
from .signatures cimport Shaped
from .trees cimport opened, opened_complex, SEQUENCE


@cython.final
cdef class ResultNode(Shaped):
    """How a result is made of the numbers that the code gives, and of arrays that it wrote to."""

    cdef ResultNodeKind kind
    cdef Py_ssize_t first   # its first number
    cdef Py_ssize_t width   # of a row
    cdef Py_ssize_t step    # from row to row
    cdef bint is_conjugate  # the imaginary part is the negative of what is there
    cdef int ready          # if > 0, there is an array already: ready[ready - 1]
    cdef Container container
    cdef object constant
    cdef tuple children

    cdef object make_result(self, const double *numbers, list ready):
        cdef Py_ssize_t k
        cdef tuple items
        if self.kind == RESULT_NUMBER:
            return PyFloat_FromDouble(numbers[self.first])
        if self.kind == RESULT_SINGLE:
            return cad_narrowed(PyFloat_FromDouble(numbers[self.first]))
        if self.kind == RESULT_ARRAY:
            if self.ready > 0 and ready is not None:
                return ready[self.ready - 1]
            return self.make_array(numbers + self.first)
        if self.kind == RESULT_ROW:
            return self.make_row(numbers + self.first)
        if self.kind == RESULT_WHOLE:
            return self.constant(int(numbers[self.first]))
        if self.kind == RESULT_CONSTANT:
            return self.constant.copy() if cnp.PyArray_Check(self.constant) else self.constant
        if self.kind == RESULT_COMPLEX:
            real = (<ResultNode>PyTuple_GET_ITEM(self.children, 0)).make_result(numbers, ready)
            imaginary = (<ResultNode>PyTuple_GET_ITEM(self.children, 1)).make_result(numbers, ready)
            return self.container.make((real, 0.0 - imaginary if self.is_conjugate else imaginary))
        items = PyTuple_New(PyTuple_GET_SIZE(self.children))
        for k in range(PyTuple_GET_SIZE(self.children)):
            item = (<ResultNode>PyTuple_GET_ITEM(self.children, k)).make_result(numbers, ready)
            Py_INCREF(item)
            PyTuple_SET_ITEM(items, k, item)
        return items if self.container.type is tuple else self.container.make(items)

    cdef bint fits_into(self, object out) except -1:
        """Whether it can be written into contiguous arrays in tuples or lists, as they are."""
        cdef Py_ssize_t k
        if self.kind == RESULT_CONTAINER and self.container.kind == SEQUENCE:
            if not isinstance(out, (tuple, list)) or len(out) != len(self.children):
                return False
            return all([(<ResultNode>self.children[k]).fits_into(out[k]) for k in range(len(out))])
        return (
            self.kind == RESULT_ARRAY
            and self.typenum == cnp.NPY_DOUBLE
            and self.is_shape_of(out)
            and cnp.PyArray_ISCARRAY_RO(out)
            and cnp.PyArray_ISWRITEABLE(out)
        )

    cdef int write_into(self, const double *numbers, object out) except -1:
        cdef Py_ssize_t k
        if self.kind == RESULT_ARRAY:
            if self.ready == 0:  # else the code has written there
                self.copy_rows(numbers + self.first, out)
            return 0
        for k in range(PyTuple_GET_SIZE(self.children)):
            (<ResultNode>PyTuple_GET_ITEM(self.children, k)).write_into(numbers, out[k])
        return 0

    cdef object make_row(self, const double *numbers):
        row = list_of_floats(numbers, self.size)
        return row if self.container.type is list else self.container.make(row)

    cdef cnp.ndarray new_array(self, int typenum):
        return cnp.PyArray_SimpleNew(self.ndim, <cnp.npy_intp *>self.lengths, typenum)

    cdef void copy_rows(self, const double *numbers, cnp.ndarray array) noexcept:
        cdef double *to = cnp.doubles(array)
        cdef double *end = to + self.size
        while to < end:
            memcpy(to, numbers, self.width * sizeof(double))
            to += self.width
            numbers += self.step

    cdef object make_array(self, const double *numbers):
        cdef cnp.ndarray array = self.new_array(cnp.NPY_DOUBLE)
        self.copy_rows(numbers, array)
        if self.typenum != cnp.NPY_DOUBLE:
            return cnp.PyArray_Cast(array, self.typenum)
        return array


cdef enum:
    DIGIT = 10  # bits, which all dtypes of results have


cdef ResultNode result_of(list samples):
    """How `samples` were made of the numbers 0, 1, 2 and so on, of which each sample has one
    digit; None if they are of a type that is not known."""
    cdef ResultNode result = ResultNode.__new__(ResultNode)
    sample = samples[0]
    kind = type(sample)
    if kind is float or kind is np.float32:
        result.kind = RESULT_NUMBER if kind is float else RESULT_SINGLE
        result.first = place_of(samples)
        return result
    if kind is Described:
        return result_of_whole(samples)
    if is_complex(sample):
        return result_of_complex(samples)
    if is_constant_result(sample):
        result.kind = RESULT_CONSTANT
        result.constant = sample
        return result
    if cnp.PyArray_CheckExact(sample):
        result.kind = RESULT_ARRAY
        result.shape_as(sample)
        places = place_of([each.ravel().astype(np.int64) for each in samples])
        return result if find_rows(result, places) else None
    all_opened = [opened(each) for each in samples]
    if all_opened[0] is None:
        return None
    result.kind = RESULT_CONTAINER
    result.container = all_opened[0][0]
    children = [result_of(list(each)) for each in zip(*[parts for _, parts in all_opened])]
    if None in children:
        return None
    result.children = tuple(children)
    if result.container.kind == SEQUENCE and is_row(children):
        result.kind = RESULT_ROW
        result.first = (<ResultNode>children[0]).first
        result.size = len(children)
    return result


cdef ResultNode result_of_complex(list samples):
    cdef ResultNode result = ResultNode.__new__(ResultNode)
    all_opened = [opened_complex(each) for each in samples]
    reals = [parts[0] for _, parts in all_opened]
    imaginaries = [parts[1] for _, parts in all_opened]
    result.kind = RESULT_COMPLEX
    result.container = all_opened[0][0]
    result.is_conjugate = any([np.any(np.less(each, 0.0)) for each in imaginaries])
    if result.is_conjugate:
        imaginaries = [0.0 - each for each in imaginaries]
    result.children = (result_of(reals), result_of(imaginaries))
    return None if None in result.children else result


cdef bint is_constant_result(object sample) except -1:
    """Whether it is no number of the code, which are floats."""
    if isinstance(sample, (np.ndarray, np.generic)):
        return sample.dtype.kind in "biuSU"
    return isinstance(sample, (bool, int, str, bytes, Enum, type))


cdef bint is_row(list nodes) except -1:
    """Whether these are single numbers that follow each other."""
    cdef Py_ssize_t k
    for k in range(len(nodes)):
        if (<ResultNode>nodes[k]).kind != RESULT_NUMBER or (
            (<ResultNode>nodes[k]).first != (<ResultNode>nodes[0]).first + k
        ):
            return False
    return len(nodes) > 0


cdef object place_of(list digits):
    return sum([(digit if cnp.PyArray_Check(digit) else int(digit)) << (DIGIT * k)
                for k, digit in enumerate(digits)])


cdef bint find_rows(ResultNode result, places) except -1:
    """Whether numbers stand in rows, as a block of a matrix has them."""
    cdef Py_ssize_t n = result.size
    result.width = max(n, 1)
    if n == 0:
        return True
    ends = np.flatnonzero(np.diff(places) != 1) + 1
    result.first = places[0]
    if not len(ends):
        return True
    result.width = ends[0]
    result.step = places[ends[0]] - places[0]
    if n % result.width:
        return False
    rows = result.first + result.step * np.arange(n // result.width)
    return (places.reshape(-1, result.width) == rows[:, None] + np.arange(result.width)).all()


@cython.final
cdef class Described:
    """A whole number, or an array of them, in a result of which it is found how it is made: `kind`
    is what makes it of floats, a type or a dtype."""

    cdef readonly object numbers
    cdef readonly object kind


cdef object describing = local()  # its `is_on`: whether this thread finds that out


def whole(numbers, kind):
    """Whole numbers of a type, or of a dtype, made of floats."""
    cdef Described described
    if getattr(describing, "is_on", False):
        described = Described.__new__(Described)
        described.numbers, described.kind = numbers, kind
        return described
    return kind(int(numbers)) if isinstance(kind, type) else np.asarray(numbers).astype(kind)


cdef ResultNode result_of_whole(list samples):
    cdef ResultNode result = ResultNode.__new__(ResultNode)
    numbers = [sample.numbers for sample in samples]
    if isinstance(samples[0].kind, type):
        result.kind = RESULT_WHOLE
        result.constant = samples[0].kind
        result.first = place_of(numbers)
        return result
    numbers = [np.asarray(each) for each in numbers]  # of a 0-d array there is a float
    if not samples[0].kind.isnative:
        return None
    result.kind = RESULT_ARRAY
    result.shape_as(numbers[0].astype(samples[0].kind))
    places = place_of([each.ravel().astype(np.int64) for each in numbers])
    return result if find_rows(result, places) else None


cdef bint has_doubles(ResultNode node) except -1:
    """Whether all numbers in a result are doubles, which hold every place."""
    if node.kind == RESULT_WHOLE or node.kind == RESULT_SINGLE or (
        node.kind == RESULT_ARRAY and node.typenum != cnp.NPY_DOUBLE
    ):
        return False
    return all([has_doubles(child) for child in node.children or ()])


cdef ResultNode result_from(object assemble, Py_ssize_t n):
    """What `assemble` makes of n numbers, found by having it make something of their places."""
    cdef ResultNode result
    describing.is_on = True
    try:
        result = result_of([assemble(np.arange(n, dtype=np.float64))])
        if n <= 1 << DIGIT or (result is not None and has_doubles(result)):
            return result
        places = np.arange(n, dtype=np.int64)
        digits = [places & ((1 << DIGIT) - 1)]
        while n > 1 << (DIGIT * len(digits)):
            digits.append((places >> (DIGIT * len(digits))) & ((1 << DIGIT) - 1))
        return result_of([assemble(digit.astype(np.float64)) for digit in digits])
    except Exception:  # containers of the user's may check what is put into them
        return None
    finally:
        describing.is_on = False


# --- arrays of results, where they stay ----------------------------------------------------------

cdef bint lend(ResultNode node, const CadProgram *program, double *places, object out) except -1:
    """Have large results written straight into the user's arrays; False if inputs are read there."""
    cdef const char *begin
    cdef const char *read
    cdef size_t k
    if node.ready == 0:
        return all([
            lend(child, program, places, part)
            for child, part in zip(node.children or (), out if node.children else ())
        ])
    begin = <const char *>cnp.PyArray_DATA(out)
    for k in range(n_referred_inputs(program)):
        read = <const char *>cad_program_referent(places, program.referred[k])
        if read < begin + cnp.PyArray_NBYTES(out) and (
            begin < read + program.referred[k].size * sizeof(double)
        ):
            return False
    cad_program_refer(places, program.referred[node.ready - 1], begin)
    return True


def copy_into(out, result, str path) -> None:
    """Write a result into arrays in the same containers; nothing is written if they do not fit."""
    pairs = []
    pair_arrays(pairs, out, result, path)
    for array, numbers in pairs:
        array[...] = numbers


cdef int pair_arrays(list pairs, out, result, str path) except -1:
    if isinstance(out, np.ndarray):
        numbers = np.asarray(result)
        if out.shape != numbers.shape or not np.can_cast(numbers.dtype, out.dtype, "same_kind"):
            raise ValueError(
                f"{path} is an array of shape {out.shape} and dtype {out.dtype}, but what f returns "
                f"there has shape {numbers.shape} and dtype {numbers.dtype}"
            )
        if not out.flags.writeable:
            raise ValueError(f"{path} is an array that cannot be written to")
        pairs.append((out, numbers))
        return 0
    is_dict = isinstance(out, dict)
    if not (is_dict and isinstance(result, dict) and out.keys() == result.keys()) and not (
        isinstance(out, (tuple, list)) and isinstance(result, (tuple, list))
        and len(out) == len(result)
    ):
        raise TypeError(
            f"{path} is an array, or a tuple, list or dict of arrays as what f returns there, a "
            f"{type(result).__name__}; not a {type(out).__name__}"
        )
    for key in out if is_dict else range(len(out)):
        pair_arrays(pairs, out[key], result[key], f"{path}[{key!r}]")
    return 0


cdef int find_ready(ResultNode node, const CadProgram *program, list found) except -1:
    """Arrays that are as the code writes them."""
    cdef size_t k
    if node.kind == RESULT_ARRAY and node.size == node.width:
        for k in range(program.n_referred):
            if (
                program.referred[k].result == node.first
                and <Py_ssize_t>program.referred[k].size == node.size
                and node.typenum
                == (cnp.NPY_FLOAT32 if program.referred[k].floats >= 0 else cnp.NPY_DOUBLE)
            ):
                node.ready = k + 1
                found.append(node)
    for child in node.children or ():
        find_ready(child, program, found)
    return 0
