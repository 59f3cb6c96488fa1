"""Steps of programs: operations that are no rows of the table, but rules of Python's.

A rule that can be a step has, beside `pull` and `push` (see record_rule), `call(operands)`, which
answers the results; `call_lanes(operands)`, if it `goes_over_lanes`, which answers those of many
points, an axis in front of operands and results; `point`, the operands and results that it was
recorded with; and `passive`, of each operand whether its derivative is cut. Derivatives of a step
are found by running its `pull` or `push` once, at that point, and reading what it does into the
graph: so they have derivatives themselves. Where that is impossible they are steps, too, that have
none. A sweep over a tape leaves out rules that get nothing but zeros; a program runs them. That
they are linear makes it the same, unless a partial is not finite. So where a derivative of a step
is not, a program answers nothing, and f is recorded elsewhere or run as it is. What graphs are, and
programs, is not known here.
"""

import threading
from math import prod

import numpy as np

from cpython.object cimport Py_LT
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint8_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .tape cimport are_zero, rule_name
from .atoms cimport shape

from .guards import compare


class ObstacleError(Exception):
    """A derivative cannot be made for a graph; the message says why."""


class PointError(Exception):
    """A derivative cannot be made where the graph was recorded, but perhaps elsewhere."""


class CallError(Exception):
    """A step of a program has raised: its cause."""


class _Step:
    """A call in a graph: a rule, and the values that it was recorded with."""

    def __init__(self, rule, operands, results):
        self.rule = rule
        self.operands = operands
        self.results = results

    @property
    def name(self):
        return rule_name(self.rule)

    def sizes(self):
        return tuple([sum([np.size(x) for x in group]) for group in (self.operands, self.results)])

    def derivative(self, way, lifted, wanted):
        """Cotangents of operands, given those of results ("pull"), or tangents the other way:
        of those, or along those, that are wanted. None stands for zeros."""
        n, m = len(self.operands), len(self.results)
        operands, results, given = lifted[:n], lifted[n : n + m], lifted[n + m :]
        if way == "push":
            return self.rule.push(list(operands), list(results), list(given), wanted)
        return self.rule.pull(list(operands), list(results), list(given), wanted)


class _OpaqueDerivative:
    """A derivative of a step that is computed with plain numbers alone."""

    passive = ()
    is_exact = goes_forward = False
    takes_plain = True

    def __init__(self, step, way, shapes, wanted):
        step.rule.keeps_pulls = True  # for many cotangents
        self.step = step
        self.way = way
        self.shapes = shapes
        self.wanted = wanted
        self._name = f"{'cotangents' if way == 'pull' else 'tangents'} of {rule_name(step.rule)}"

    def call(self, operands):
        given = operands[len(self.step.operands) + len(self.step.results) :]
        found = [None] * len(self.shapes)
        if self.way == "push" or not are_zero(given):
            found = self.step.derivative(self.way, operands, self.wanted)
        return [
            np.zeros(shape) if term is None else np.broadcast_to(plain_value(term), shape)
            for term, shape in zip(found, self.shapes, strict=True)
        ]


cdef list as_steps(list steps):
    """What `Graph.steps` may be, from a file."""
    for step in steps:
        if not isinstance(step, _Step):
            raise ValueError(f"a step of a recorded function is a {type(step).__name__}")
    return steps


deriving = threading.local()


cpdef bint is_deriving() except -1:
    """Whether a rule is run to be read into a graph: nothing of it is seen yet."""
    return getattr(deriving, "now", False)


cdef int hold_finite(list atoms, str name) except -1:
    """A guard that derivatives of a step are finite, as here; PointError if they are not."""
    for atom in atoms:
        if not np.isfinite(plain_value(atom)).all():
            raise PointError(f"a derivative of {name} is not finite where it was recorded")
        if (CAD_IS_VAR(atom) or CAD_IS_DUAL(atom)) and prod(shape(atom)) > 0:
            total = atom.sum() if shape(atom) else atom
            compare(abs(total), INFINITY, Py_LT)
    return 0


cdef list are_any(const uint8_t *wanted, list sizes):
    """Of each operand whether any of its numbers is wanted."""
    cdef Py_ssize_t i, k = 0
    found = []
    for size in sizes:
        found.append(any([wanted[k + i] for i in range(<Py_ssize_t>size)]))
        k += size
    return found


# --- while a program runs ------------------------------------------------------------------------

cdef object operand_of(const double *numbers, like):
    """An operand of a step, in the order of memory of the one that it was recorded with: the last
    bit of results may depend on it."""
    cdef cnp.ndarray array
    if isinstance(like, float):
        return numbers[0]
    array = cnp.PyArray_SimpleNew(cad_ndim(like), cnp.PyArray_DIMS(like), cnp.NPY_DOUBLE)
    memcpy(cnp.PyArray_DATA(array), numbers, cnp.PyArray_NBYTES(array))
    if cnp.PyArray_ISCARRAY_RO(like):
        return array
    result = np.empty_like(like)
    result[...] = array
    return result


cdef Py_ssize_t size_of(x):
    return 1 if isinstance(x, float) else cnp.PyArray_SIZE(x)


cdef bint has_shape_of(cnp.ndarray array, expected):
    cdef int i, ndim = 0 if isinstance(expected, float) else cnp.PyArray_NDIM(expected)
    if cnp.PyArray_NDIM(array) != ndim:
        return False
    for i in range(ndim):
        if cnp.PyArray_DIM(array, i) != cnp.PyArray_DIM(expected, i):
            return False
    return True


cdef int failed(object error) noexcept:
    """Leave an exception set: an error of a rule as the cause of a CallError."""
    if isinstance(error, Exception):
        failure = CallError(str(error))
        failure.__cause__ = error
        error = failure
    cad_restore_exception(error)
    return -1


cdef int carry_out_step(void *owner, uint32_t number, const double *operands,
                        double *results) noexcept with gil:
    """What C calls; the exception is left set."""
    cdef cnp.ndarray array
    try:
        step = (<list>owner)[number]
        given = []
        for operand in step.operands:
            given.append(operand_of(operands, operand))
            operands += size_of(operand)
        found = step.rule.call(given)
        for result, expected in zip(found, step.results, strict=True):
            array = cnp.PyArray_FROMANY(result, cnp.NPY_DOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO)
            if not has_shape_of(array, expected):
                raise ValueError(
                    f"{rule_name(step.rule)} returned an array of the shape {np.shape(result)}, "
                    f"where it had {np.shape(expected)} when it was recorded"
                )
            memcpy(results, cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
            results += cnp.PyArray_SIZE(array)
        return 0
    except BaseException as error:
        return failed(error)


cdef bint goes_over_lanes(step) except -1:
    """Whether many points are one call of its rule: see `call_lanes`."""
    return getattr(step.rule, "goes_over_lanes", False)


cdef int carry_out_lanes(void *owner, uint32_t number, size_t lanes, const double *operands,
                         double *results) noexcept with gil:
    """What C calls for many points; the exception is left set."""
    cdef Py_ssize_t size
    cdef cnp.ndarray array
    try:
        step = (<list>owner)[number]
        given = []
        for operand in step.operands:
            size = np.size(operand)
            array = np.empty((size, lanes))
            memcpy(cnp.PyArray_DATA(array), operands, size * lanes * sizeof(double))
            given.append(array.T.reshape((lanes, *np.shape(operand))))
            operands += size * <Py_ssize_t>lanes
        found = step.rule.call_lanes(given)
        for result, expected in zip(found, step.results, strict=True):
            if np.shape(result) != (lanes, *np.shape(expected)):
                raise ValueError(
                    f"{rule_name(step.rule)} returned an array of the shape {np.shape(result)} for "
                    f"{lanes} points, where it had {np.shape(expected)} when it was recorded"
                )
            size = np.size(expected)
            array = np.ascontiguousarray(result.reshape(lanes, size).T, dtype=np.float64)
            memcpy(results, cnp.PyArray_DATA(array), size * lanes * sizeof(double))
            results += size * <Py_ssize_t>lanes
        return 0
    except BaseException as error:
        return failed(error)
