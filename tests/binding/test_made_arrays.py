"""Arrays that `cadiff.numpy` makes inside a differentiation: they are assigned to as NumPy's are,
and become plain, as long as they are constants, wherever Python or a library asks for that.
"""

from __future__ import annotations

import math
import operator
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np
from cadiff import Dual, Var

from ..helpers.programs import refusal

X = numpy.array([1.5, 2.0])
PLAIN = numpy.array([3.0, 1.0, 2.0])

# Called with NumPy, and with cadiff.numpy.
MADE: dict[str, Callable[[Any], Any]] = {
    "arange": lambda np: np.arange(4.0),
    "arange by a step": lambda np: np.arange(1, 3, 0.5),
    "linspace": lambda np: np.linspace(0, 1, 4),
    "linspace and its step": lambda np: np.linspace(0.0, 1.0, 4, retstep=True)[0],
    "logspace": lambda np: np.logspace(0, 1, 3),
    "geomspace": lambda np: np.geomspace(1, 2, 3),
    "meshgrid": lambda np: np.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0])[1],
    "meshgrid, sparse": lambda np: np.meshgrid([1.0, 2.0], [3.0, 4.0], sparse=True)[0],
    "mgrid": lambda np: np.mgrid[0:1:3j, 0:2:2j],
    "ogrid": lambda np: np.ogrid[0:1:3j, 0:2:2j][0],
    "asarray": lambda np: np.asarray([1.0, 2.0]),
    "asanyarray": lambda np: np.asanyarray(((1.0, 2.0), (3.0, 4.0))),
    "ascontiguousarray": lambda np: np.ascontiguousarray([1.0, 2.0]),
    "array without axes": lambda np: np.array(2.0),
    "indices": lambda np: np.indices((2, 3), dtype=float),
    "fromiter": lambda np: np.fromiter((0.5 * k for k in range(3)), float),
    "fromfunction": lambda np: np.fromfunction(lambda i, j: i + 2 * j, (2, 3)),
    "broadcast": lambda np: np.broadcast_to(PLAIN, (2, 3)).copy(),
    "where": lambda np: np.where(PLAIN > 1.0, 1.0, 0.5),
    "select": lambda np: np.select([PLAIN > 1.0], [PLAIN], 2.0),
    "concatenate": lambda np: np.concatenate([PLAIN, [1.0]]),
    "stack": lambda np: np.stack([PLAIN, PLAIN]),
    "hstack": lambda np: np.hstack([PLAIN, PLAIN]),
    "column_stack": lambda np: np.column_stack([PLAIN, PLAIN]),
    "block": lambda np: np.block([[numpy.ones((2, 2)), numpy.zeros((2, 1))]]),
    "append": lambda np: np.append(PLAIN, 3.0),
    "insert": lambda np: np.insert(PLAIN, 1, 3.0),
    "delete": lambda np: np.delete(PLAIN, 1),
    "pad": lambda np: np.pad(PLAIN, 1),
    "roll": lambda np: np.roll(PLAIN, 1),
    "resize": lambda np: np.resize(PLAIN, (2, 2)),
    "tril": lambda np: np.tril(numpy.ones((2, 2))),
    "r_": lambda np: np.r_[0.0, PLAIN, 1],
    "c_": lambda np: np.c_[PLAIN, PLAIN],
    "full": lambda np: np.full((), 3.0),
    "zeros": lambda np: np.zeros((2, 1, 3)),
    "nothing": lambda np: np.zeros((0, 2)),
    "hanning": lambda np: np.hanning(4),
    "of a grid": lambda np: np.sqrt(np.arange(3.0)),
    "sum of two": lambda np: np.linspace(0, 1, 3) + np.ones(3),
    "view": lambda np: np.arange(6.0)[::-2],
    "array": lambda np: np.array([[1.0, 2.0], [3.0, 4.0]]),
    "copy": lambda np: np.copy(PLAIN),
    "tile": lambda np: np.tile([1.0, 2.0], (2, 2)),
    "repeat": lambda np: np.repeat([[1.0, 2.0]], 2, 0),
    "diag": lambda np: np.diag([1.0, 2.0]),
    "diagflat": lambda np: np.diagflat([1.0, 2.0]),
    "eye": lambda np: np.eye(3, 2, -1),
    "tri": lambda np: np.tri(2),
    "vander": lambda np: np.vander([1.0, 2.0]),
    "empty": lambda np: np.empty(3) * 0.0,
    "full by columns": lambda np: np.full((2, 2), 2.0, order="F"),
    "ones like ints": lambda np: np.ones_like(numpy.arange(3), dtype=float),
    "full like": lambda np: np.full_like(PLAIN, 7.0),
    "transposed": lambda np: np.arange(6.0).reshape(2, 3).T,
}

# y, a and b: an array, and numbers.
ASSIGNED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "element": lambda y, a, b: y.__setitem__((0,) * y.ndim, a * b),
    "last": lambda y, a, b: y.__setitem__((..., slice(-1, None)) if y.ndim else (), b),
    "all": lambda y, a, b: y.__setitem__(..., a),
    "mask": lambda y, a, b: y.__setitem__(numpy.ones(y.shape, bool), a),
    "list": lambda y, a, b: y.__setitem__([0, 0] if y.ndim else ..., b * b),
    "backwards": lambda y, a, b: y.__setitem__(..., y[::-1] * a if y.ndim else y * a),
    "in place": lambda y, a, b: y.__imul__(b),
    "by a view": lambda y, a, b: y[..., None].__iadd__(a),
    "row": lambda y, a, b: y.__setitem__(slice(0, 1) if y.ndim else (), [a] if y.ndim == 1 else a),
}

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "reverse": cadiff.grad,
    "forward": cadiff.jacfwd,
    "compiled": lambda f: cadiff.compile(f).grad,
    "forward over reverse": lambda f: lambda x: cadiff.jacfwd(cadiff.grad(f))(x) @ x,
    "reverse over forward": lambda f: lambda x: cadiff.jacrev(cadiff.jacfwd(f))(x) @ x,
    "hvp": lambda f: lambda x: cadiff.hvp(f)(x, x),
}


def filled(np: Any, make: Callable[[Any], Any], names: list[str]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = make(np)
        for name in names:
            if y.size or name in ("all", "in place", "by a view"):
                ASSIGNED[name](y, x[0], x[1])
        return np.sum(y * y) * x[0]

    return f


def by_differences(f: Callable[[Any], Any], second: bool) -> Any:
    """The gradient at X; or the Hessian times X."""
    step = 1e-3
    if second:
        ahead, behind = (by_differences_at(f, X * (1.0 + s)) for s in (step, -step))
        return (ahead - behind) / (2.0 * step)
    return by_differences_at(f, X)


def by_differences_at(f: Callable[[Any], Any], x: Any) -> Any:
    """Polynomials of low degree: the error is of the fourth order."""
    h = 1e-3
    return numpy.array(
        [
            (8.0 * (f(x + d) - f(x - d)) - (f(x + 2.0 * d) - f(x - 2.0 * d))) / (12.0 * h)
            for d in h * numpy.eye(2)
        ]
    )


@given(
    st.sampled_from(sorted(MADE)),
    st.lists(st.sampled_from(sorted(ASSIGNED)), min_size=1, max_size=3),
    st.sampled_from(sorted(TRANSFORMS)),
)
def test_what_is_made_is_assigned_to_as_by_numpy(made: str, names: list[str], way: str) -> None:
    f, plain = (filled(module, MADE[made], names) for module in (np, numpy))
    found = TRANSFORMS[way](f)(X)
    expected = by_differences(plain, way not in ("reverse", "forward", "compiled"))
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    numpy.testing.assert_allclose(cadiff.value_and_grad(f)(X)[0], plain(X), rtol=1e-13)


@pytest.mark.parametrize("made", MADE)
def test_what_is_made_is_of_numpy_outside_and_no_number_until_it_is_assigned_to(made: str) -> None:
    make = MADE[made]
    expected = numpy.asarray(make(numpy))
    kinds = (type(Var([1.0])), type(Dual([1.0])))

    def f(x: Any) -> Any:
        y = make(np)
        assert type(y) in kinds
        plain = numpy.asarray(y)
        assert plain.dtype == float
        numpy.testing.assert_array_equal(plain, expected)
        return x[0] * sum(math.exp(v) for v in y.ravel())

    assert type(make(np)) in (numpy.ndarray, numpy.float64)
    total = sum(map(math.exp, expected.ravel()))
    for way in ("reverse", "forward", "compiled"):
        numpy.testing.assert_allclose(TRANSFORMS[way](f)(X), [total, 0.0], rtol=1e-14)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "arange": lambda np: np.arange(4),
    "asarray": lambda np: np.asarray([1, 2]),
    "indices": lambda np: np.indices((2, 2)),
    "mgrid": lambda np: np.mgrid[0:3],
    "where": lambda np: np.where(PLAIN > 1.0, 1, 2),
    "places": lambda np: np.where(PLAIN > 1.0)[0],
    "linspace": lambda np: np.linspace(0, 4, 5, dtype=int),
    "grid as int": lambda np: np.linspace(0.0, 4.0, 5).astype(int),
    "zeros as int32": lambda np: np.zeros(2).astype("int32"),
    "concatenate": lambda np: np.concatenate([[1], [2]]),
    "bool": lambda np: np.ones(5, bool),
    "fromiter": lambda np: np.fromiter(range(3), int),
}


@pytest.mark.parametrize("made", WHOLE)
def test_integers_and_bools_stay_those_of_numpy(made: str) -> None:
    expected = WHOLE[made](numpy)

    def f(x: Any) -> Any:
        y = WHOLE[made](np)
        assert isinstance(y, numpy.ndarray)
        assert y.dtype == expected.dtype
        return np.sum(np.cumsum(np.ones(5) * x[0])[y])

    for way in ("reverse", "forward", "compiled"):
        TRANSFORMS[way](f)(X)


GRIDS: dict[str, Callable[[Any, Any], Any]] = {
    "a row": lambda np, x: np.mgrid[x[0] : x[1] : 4j],
    "a plane": lambda np, x: np.mgrid[x[0] : x[1] : 4j, 0:3:2j],
    "open": lambda np, x: np.ogrid[0:3:2j, : x[1] : 3j][1],
    "one place": lambda np, x: np.mgrid[x[0] : x[1] : 1j,],
}


@pytest.mark.parametrize("grid", GRIDS)
def test_grids_between_numbers_with_derivatives(grid: str) -> None:
    f = lambda x, np=np: GRIDS[grid](np, x)  # noqa: E731
    value, slope = cadiff.jvp(f, (X,), (numpy.array([1.0, -2.0]),))
    numpy.testing.assert_allclose(value, f(X, numpy), rtol=1e-15)
    step = numpy.array([0.25, -0.5])  # of a function that is linear
    numpy.testing.assert_allclose(slope, (f(X + step, numpy) - f(X, numpy)) / 0.25, atol=1e-14)
    with pytest.raises(cadiff.MissingRuleError, match="10j"):
        cadiff.grad(lambda x: np.sum(np.mgrid[0 : x[0] : 0.5]))(X)


def test_given_arrays_stay_what_they_are() -> None:
    def f(x: Any) -> Any:
        assert np.asarray(PLAIN) is PLAIN
        assert type(np.sqrt(PLAIN)) is numpy.ndarray  # NumPy has computed it
        return x[0]

    cadiff.grad(f)(X)
    cadiff.jacfwd(f)(X)


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
def test_constants_are_plain_to_python_and_libraries() -> None:
    def f(x: Any) -> Any:
        y = np.linspace(0.0, 1.0, 3)
        table = numpy.zeros(3)
        table[0] = y[1]
        table[1:] = y[1:]
        assert (
            f"{y[1]:.2f} {float(y[1])} {int(y[2])} {table.tolist()}"
            == "0.50 0.5 1 [0.5, 0.5, 1.0]"
        )
        assert math.isclose(y[1], 0.5)
        assert numpy.asarray(y, dtype=numpy.float32).dtype == numpy.float32
        assert "copy" in refused(lambda: numpy.asarray(y, copy=False))
        y[0] = x[0]
        assert numpy.asarray(y).dtype == object
        assert "does not become a plain number" in refused(lambda: math.exp(y[0]))
        assert "does not become a plain number" in refused(lambda: numpy.asarray(y, dtype=float))
        return y[0] * y[1]

    def refused(call: Callable[[], Any]) -> str:
        """The error that it raises; `pytest.raises` reads too much for a program to watch."""
        try:
            call()
        except (TypeError, ValueError) as error:
            return str(error)
        return ""

    for way in ("reverse", "forward", "compiled"):
        numpy.testing.assert_array_equal(TRANSFORMS[way](f)(X), [0.5, 0.0])
    for made_by_hand in (Var(2.0), Dual(2.0), Dual([2.0])):
        with pytest.raises(TypeError):
            float(made_by_hand)


WITHOUT_RULES: dict[str, Callable[[Any, Any], Any]] = {
    "histogram": lambda np, y: np.histogram(y)[0],
    "dtype of integers": lambda np, y: np.sum(y, dtype=int),
    "out of floats": lambda np, y: np.cumsum(y, out=numpy.zeros(3)),
    "out of numbers": lambda np, y: np.cumsum(y, out=np.zeros(3)),
    "ufunc and out": lambda np, y: np.sin(y, out=numpy.zeros(3)),
    "in place": lambda np, y: operator.iadd(numpy.ones(3), y),
    "an element in place": lambda np, y: operator.imul(numpy.ones(3), y[0]),
    "spacing": lambda np, y: np.spacing(y),
    "i0": lambda np, y: np.i0(y),
    "fft": lambda np, y: np.abs(np.fft.rfft(y)),
    "frompyfunc": lambda np, y: numpy.frompyfunc(math.sin, 1, 1)(y).astype(float),
    "list": lambda np, y: numpy.array(y.tolist()),
    "pickle": lambda np, y: pickle.loads(pickle.dumps(y)),
}


@pytest.mark.parametrize("name", WITHOUT_RULES)
def test_constants_go_to_what_has_no_rule(name: str) -> None:
    call = WITHOUT_RULES[name]
    expected = call(numpy, numpy.linspace(0.5, 2.0, 3))
    for module in (np, numpy):

        def f(x: Any, module: Any = module) -> Any:
            y = np.linspace(0.5, 2.0, 3)
            numpy.testing.assert_array_equal(call(module, y), expected)
            y[0] = x[0]
            with pytest.raises((TypeError, AssertionError)):
                numpy.testing.assert_array_equal(call(module, y), expected)
            return y[0]

        for derivative in (cadiff.grad, cadiff.jacfwd):
            numpy.testing.assert_array_equal(derivative(f)(X), [1.0, 0.0])


def test_what_a_library_would_write_into_a_constant_is_an_error() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3)
        with pytest.raises(ValueError, match="read-only"):
            numpy.asarray(y)[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            numpy.random.default_rng(0).shuffle(numpy.asarray(y))
        numpy.array(y)[0] = 1.0  # a copy in NumPy, too
        return x[0]

    cadiff.grad(f)(X)
    cadiff.jacfwd(f)(X)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("make", [numpy.ma.array, numpy.asmatrix])
def test_masked_arrays_and_matrices_are_refused(make: Any) -> None:
    for call in (np.concatenate, np.vstack, np.stack, np.column_stack, numpy.hstack):
        with pytest.raises((TypeError, ValueError)):
            cadiff.grad(lambda x, call=call: np.sum(call([x, make(X)])))(X)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_appended_matrices_are_flat_and_masked_arrays_are_refused() -> None:
    gradient = cadiff.grad(lambda x: np.sum(np.append(x, numpy.asmatrix(X)) ** 2))(X)
    numpy.testing.assert_array_equal(gradient, 2.0 * X)
    with pytest.raises(TypeError, match="masked"):
        cadiff.grad(lambda x: np.sum(np.append(x, numpy.ma.array(X))))(X)


def test_elements_of_an_iterator_carry_derivatives() -> None:
    def f(x: Any) -> Any:
        y = np.fromiter((v * v for v in x), float)
        y[0] += np.fromiter(iter([x[0], 1.0, 2.0]), float, count=2)[0]
        assert "too short" in refusal(lambda: np.fromiter(x, float, count=3), ValueError)
        return np.sum(y)

    for way in ("reverse", "forward", "compiled"):
        numpy.testing.assert_array_equal(TRANSFORMS[way](f)(X), 2.0 * X + [1.0, 0.0])


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
def test_complex_elements_of_an_iterator() -> None:
    def f(x: Any) -> Any:
        z = np.fromiter((complex(0.0, 1.0) * v for v in x), complex)
        text = refusal(lambda: np.fromiter(iter(z), float), TypeError)
        assert "float64: they are complex128; take .real" in text
        return np.sum((z * z).real) + np.fromiter(iter(x), complex).sum().real

    for way in ("reverse", "forward", "compiled"):
        numpy.testing.assert_array_equal(TRANSFORMS[way](f)(X), -2.0 * X + 1.0)


def test_views_and_generators_are_no_sequences_for_numpy_either() -> None:
    def f(x: Any) -> Any:
        parts = {"a": x, "b": 2.0 * x}
        for join in (np.concatenate, np.stack, np.hstack, numpy.concatenate, numpy.vstack):
            refusal(partial(join, parts.values()), TypeError)
            refusal(partial(join, (part for part in parts.values())), TypeError)
        assert np.array(parts.values()).shape == ()
        return np.sum(np.stack(list(parts.values())))

    for way in ("reverse", "forward", "compiled"):
        numpy.testing.assert_array_equal(TRANSFORMS[way](f)(X), [3.0, 3.0])


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
def test_shared_memory_is_found_element_by_element() -> None:
    def f(x: Any) -> Any:
        y = np.arange(6.0) * x[0]
        pairs = [
            (y, y[1:]),
            (y[::2], y[1::2]),
            (y, y.copy()),
            (y[:0], y),
            (y, y[::-1]),
            (y, PLAIN),
        ]
        for module in (np, numpy):
            assert [module.shares_memory(*pair) for pair in pairs] == [
                *(True, False, False, False, True, False)
            ]
        return y[1]

    for way in ("reverse", "forward", "compiled"):
        numpy.testing.assert_array_equal(TRANSFORMS[way](f)(X), [1.0, 0.0])


@pytest.mark.parametrize("way", ["reverse", "forward", "compiled", "hvp"])
def test_arrays_of_single_precision_are_assigned_to(way: str) -> None:
    def f(x: Any) -> Any:
        y = np.ones(3, numpy.float32)
        y[1] = x[0] * x[1]
        y[1:] *= 2.0
        return np.sum(y * y)

    gradient = 8.0 * X[0] * X[1] * X[::-1]
    expected = 3.0 * gradient if way == "hvp" else gradient
    numpy.testing.assert_allclose(TRANSFORMS[way](f)(X), expected, rtol=1e-6)


@pytest.mark.parametrize("way", [cadiff.grad, cadiff.jacfwd, lambda f: cadiff.compile(f).grad])
@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_parts_of_complex_arrays_are_assigned_to(name: str, way: Any) -> None:
    def f(x: Any) -> Any:
        z = getattr(np, name)(x * 1j)
        z[0] = x[0] * 1j
        z.real[1] = x[1]
        z.imag[1] = 3.0 * x[1]
        return np.sum(np.abs(z) ** 2)

    numpy.testing.assert_allclose(way(f)(X), [2.0 * X[0], 20.0 * X[1]])
