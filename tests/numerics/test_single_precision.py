"""float32 and complex64 as NumPy has them: dtypes by its rules of promotion, and its own values,
in all modes; derivatives in double precision, rounded where they leave."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import pickle
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import cadiff.scipy.spatial.distance
import numpy
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.spatial.distance
import scipy.special
import scipy.stats

import cadiff
import cadiff.numpy as np
import cadiff.numpy.linalg
import cadiff.scipy.fft
import cadiff.scipy.linalg
import cadiff.scipy.ndimage
import cadiff.scipy.signal
import cadiff.scipy.sparse
import cadiff.scipy.special as special
import cadiff.scipy.stats

from ..helpers import cases_complex
from ..helpers.derivatives import as_tuple, named
from ..helpers.every_case import EVERY
from ..helpers.programs import values_of

SINGLE = numpy.dtype(numpy.float32)
SMALL = {numpy.dtype(float): SINGLE, numpy.dtype(complex): numpy.dtype(numpy.complex64)}
X = numpy.linspace(0.1, 2.0, 7).astype(SINGLE)
ULP = 2.0**-23

# --- every function, by the cases of the harness -------------------------------------------------

# Sums and products that NumPy takes in another order, and formulas of several steps that it rounds
# elsewhere, by the beginning of their names: a few units in the last place.
ROUNDED = (
    *("sum(where", "sum(initial", "prod(initial", "multiply.reduce(", "nansum(initial"),
    *("mean(where", "var(where", "std(where", "nanmean(where", "nanvar(where", "add.reduceat"),
    *("dot(", "inner(", "vecdot(", "sinc", "polyfit", "logaddexp.reduce", "hypot.reduce"),
    *("unwrap", "add.reduce(", "gradient", "roots", "fft", "ifft", "quantile", "nanquantile"),
    *("percentile", "nanpercentile", "pad odd"),
)

# Where NumPy's own function, which is run as it stands, makes float64 of float32.
WIDE = ("geomspace",)

# LAPACK chooses signs by rounding errors, and programs call it in double precision.
PHASES = ("schur",)


class Call:
    """A function of the package, NumPy's or SciPy's own, and where they are compared."""

    def __init__(
        self, case: Any, package: Any, original: Any, args: tuple[Any, ...], tolerance: float
    ) -> None:
        self.name = case.name
        self.args = tuple(map(small, args))
        self.argnums = getattr(case, "argnums", tuple(range(len(args))))
        self.original = lambda *args: as_tuple(case.call(original, *args))
        self.package = lambda *args: as_tuple(case.call(package, *args))
        self.tolerance = tolerance

    @property
    def point(self) -> tuple[Any, ...]:
        return tuple(self.args[k] for k in self.argnums)

    def __call__(self, *numbers: Any) -> dict[str, Any]:
        args = list(self.args)
        for k, number in zip(self.argnums, numbers, strict=True):
            args[k] = number
        return named(self.package(*args))


def small(x: Any) -> Any:
    """An argument in single precision; whole numbers as they are."""
    array = numpy.asarray(x)
    return array.astype(SMALL[array.dtype])[()] if array.dtype in SMALL else x


def calls() -> list[Any]:
    found = []
    for kind, case, original, package in EVERY:
        if case.name not in WIDE:
            is_exact = kind == "numpy" and not case.name.startswith(ROUNDED)
            tolerance = 0.0 if is_exact else 32.0 * ULP if kind == "numpy" else 128.0 * ULP
            found.append((kind, Call(case, package, original, case.draw(), tolerance)))
    for each in cases_complex.CASES:
        rng = numpy.random.default_rng(1)
        args = tuple(cases_complex.drawn(rng, shape) for shape in each.shapes)
        found.append(("complex", Call(each, np, numpy, args, 128.0 * ULP)))
    return [pytest.param(call, id=f"{kind} {call.name}") for kind, call in found]


CALLS = calls()


def is_like(got: Any, want: Any, tolerance: float) -> None:
    """A number with derivatives has the dtype and the value of a plain one."""
    want = numpy.asarray(want)
    value = numpy.asarray(cadiff.value(got))
    assert value.dtype == want.dtype
    assert numpy.dtype(got.dtype) == want.dtype
    if tolerance == 0.0:
        numpy.testing.assert_array_equal(value, want)
    else:
        scale = max(float(numpy.max(numpy.abs(want), initial=0.0)), 1e-3)
        numpy.testing.assert_allclose(value, want, rtol=0.0, atol=tolerance * scale)


def product(xs: Any, ys: Any) -> float:
    """The real part of the sum of products of elements, in double precision."""
    pairs = zip(xs, ys, strict=True)
    return float(sum(numpy.sum(numpy.asarray(x, complex) * y) for x, y in pairs).real)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_values_and_derivatives(call: Call) -> None:
    wanted = call.original(*call.args)

    def compare(*numbers: Any) -> Any:
        results = call(*numbers)
        for got, want in zip(results.values(), wanted, strict=True):
            is_like(got, want, call.tolerance)
        return results

    ones = tuple(numpy.ones_like(x)[()] for x in call.point)
    values, pullback = cadiff.vjp(compare, *call.point)
    pushed = cadiff.jvp(compare, call.point, ones)[1]
    seeds = [numpy.ones_like(v) for v in values.values()]
    pulled = as_tuple(pullback(named(seeds)))
    for of, gradient in zip(call.point, pulled, strict=True):
        assert numpy.asarray(gradient).dtype == numpy.asarray(of).dtype
        assert numpy.shape(gradient) == numpy.shape(of)
    for value, tangent in zip(values.values(), pushed.values(), strict=True):
        assert numpy.asarray(tangent).dtype == numpy.asarray(value).dtype
    size = sum(float(numpy.sum(numpy.abs(numpy.asarray(g, complex)))) for g in pulled)
    left, right = product(seeds, pushed.values()), product(ones, pulled)
    assert math.isclose(left, right, rel_tol=0.0, abs_tol=1e-4 * max(size, 1e-3))
    if not call.name.startswith(PHASES):
        program = cadiff.compile(call)
        for results in (program(*call.point), program(*call.point)):
            for got, want in zip(results.values(), wanted, strict=True):
                is_like(numpy.asarray(got), want, max(call.tolerance, 32.0 * ULP))


# --- promotion -----------------------------------------------------------------------------------

OPERANDS: list[Any] = [
    *(2, 2.0, True, numpy.float64(2), numpy.float32(2), numpy.float16(2), numpy.bool_(True)),
    *(numpy.int8(2), numpy.int16(2), numpy.uint16(2), numpy.int32(2), numpy.int64(2)),
    *(numpy.full(7, 2, kind) for kind in ("f8", "f4", "f2", "?", "i1", "u1", "i2", "u2", "i4")),
    *(numpy.full(7, 2, ">f4"), numpy.array(2.0, "f4"), numpy.array(2.0), [2.0] * 7),
]
ARITHMETIC = [operator.add, operator.mul, operator.truediv, operator.pow, np.maximum, np.hypot]


@pytest.mark.parametrize("y", OPERANDS, ids=lambda y: f"{type(y).__name__} {numpy.array(y).dtype}")
@pytest.mark.parametrize("operate", ARITHMETIC, ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", [cadiff.Var, lambda x: cadiff.Dual(x, x)], ids=["Var", "Dual"])
def test_promotion(operate: Callable[..., Any], y: Any, make: Callable[[Any], Any]) -> None:
    for x in (X, X[2]):
        if x.ndim or not isinstance(y, list):
            is_like(operate(make(x), y), operate(x, y), 0.0)
            is_like(operate(y, make(x)), operate(y, x), 0.0)


@pytest.mark.parametrize("y", [2.0 - 1j, numpy.complex64(1j), numpy.complex128(1j), *OPERANDS[:7]])
def test_promotion_of_complex_numbers(y: Any) -> None:
    z = (X + 1j).astype(numpy.complex64)
    for operate in (operator.add, operator.sub, operator.mul, operator.truediv):
        assert operate(cadiff.Var(z), y).dtype == operate(z, y).dtype
        assert operate(y, cadiff.Var(z)).dtype == operate(y, z).dtype


@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64])
def test_single_numbers_with_derivatives_keep_their_precision(kind: Any) -> None:
    def f(s: Any) -> Any:
        assert (s * X).dtype == kind
        return np.sum(s * X)

    for derivative in (cadiff.grad, cadiff.jacfwd):
        derivative(f)(kind(2.0))
    slope = cadiff.grad(np.sin)(kind(0.5))
    assert (slope, numpy.asarray(slope).dtype) == (kind(math.cos(0.5)), kind)


# --- transforms ----------------------------------------------------------------------------------


def wave(x: Any) -> Any:
    return np.sum(np.sin(x) * x[::-1] ** 2)


def loop(x: Any) -> Any:
    total = 0.0
    for k in range(len(x) - 1):
        total += 100.0 * (x[k + 1] - x[k] ** 2) ** 2 + (1.0 - x[k]) ** 2
    return total


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "value_and_grad": lambda f, x: cadiff.value_and_grad(f)(x),
    "jacfwd": lambda f, x: cadiff.jacfwd(f)(x),
    "jacrev": lambda f, x: cadiff.jacrev(f)(x),
    "hessian": lambda f, x: cadiff.hessian(f)(x),
    "hvp": lambda f, x: cadiff.hvp(f)(x, x),
    "jvp": lambda f, x: cadiff.jvp(f, (x,), (x,)),
    "grad of grad": lambda f, x: cadiff.grad(lambda y: np.sum(cadiff.grad(f)(y) ** 2))(x),
    "vmap": lambda f, x: cadiff.vmap(f)(numpy.stack([x, x[::-1]])),
    "vmap of grad": lambda f, x: cadiff.vmap(cadiff.grad(f))(numpy.stack([x, x[::-1]])),
    "program": lambda f, x: cadiff.compile(f)(x),
    "program.value_and_grad": lambda f, x: cadiff.compile(f).value_and_grad(x),
    "program.hessian": lambda f, x: cadiff.compile(f).hessian(x),
    "program.jvp": lambda f, x: cadiff.compile(f).jvp((x,), (x,)),
    "program.hvp": lambda f, x: cadiff.compile(f).hvp(x, x),
    "program of vmap": lambda f, x: cadiff.compile(cadiff.vmap(f))(numpy.stack([x, x[::-1]])),
}


@pytest.mark.parametrize("f", [wave, loop])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms(transform: Callable[..., Any], f: Callable[..., Any]) -> None:
    for x in (X, X.astype(">f4"), numpy.repeat(X, 2)[::2]):
        found = as_tuple(transform(f, x))
        for got, want in zip(found, as_tuple(transform(f, X.astype(float))), strict=True):
            assert numpy.asarray(got).dtype == SINGLE
            size = numpy.max(numpy.abs(want))
            numpy.testing.assert_allclose(got, want, rtol=0.0, atol=1e-5 * size)


NESTED: dict[str, Callable[..., Any]] = {
    "grad": cadiff.grad,
    "jacfwd": cadiff.jacfwd,
    "jvp": lambda f: lambda x: cadiff.jvp(f, (x,), (1.0 + 0.0 * x,))[1],
    "vjp": lambda f: lambda x: cadiff.vjp(f, x)[1](1.0 + 0.0 * x),
    "program": cadiff.compile,
    "program.grad": lambda f: cadiff.compile(f).grad,
}


@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("outer", NESTED)
def test_one_number_in_nested_transforms(outer: str, inner: str) -> None:
    f = NESTED[outer](NESTED[inner](lambda x: x * x * x))
    found = f(numpy.float32(1.5))
    assert type(found) is numpy.float32
    assert found == f(1.5)


@pytest.mark.parametrize("place", [0, (0, ...)], ids=["a number", "a place"])
def test_an_element_of_an_array_that_was_written_to_leaves_as_a_number(place: Any) -> None:
    def f(x: Any) -> Any:
        row = np.zeros(1, numpy.float32)
        row[0] = x.astype(numpy.float32)
        return row[place].astype(float)

    assert [type(x) for x in cadiff.jvp(f, (1.5,), (1.0,))] == [float, float]


OF_SCIPY: dict[str, Any] = {
    "pdist": lambda m, x: m.spatial.distance.pdist(x.reshape(-1, 1)),
    "cdist": lambda m, x: m.spatial.distance.cdist(x.reshape(-1, 1), x.reshape(-1, 1), "cosine"),
    "yeojohnson": lambda m, x: m.stats.yeojohnson(x, 0.4),
    "diags_array": lambda m, x: m.sparse.diags_array(x).toarray(),
    "diags_array of a dtype": lambda m, x: m.sparse.diags_array(x * 1.0, dtype="f4").toarray(),
    "lfilter": lambda m, x: m.signal.lfilter(x[:2], x[2:4], x),
    "filtfilt": lambda m, x: m.signal.filtfilt(x[:2], x[2:4], x, padlen=2),
    "convolve2d": lambda m, x: m.signal.convolve2d(x.reshape(-1, 1), x[:2].reshape(-1, 1)),
    "cosine": lambda m, x: m.spatial.distance.cosine(x, 1.0 / x),
    "correlation": lambda m, x: m.spatial.distance.correlation(x, 1.0 / x),
    "csc_array.mean": lambda m, x: m.sparse.csc_array(x.reshape(-1, 1)).mean(),
    "bilinear": lambda m, x: m.signal.bilinear(x[:3], x[3:]),
    "lp2hp": lambda m, x: m.signal.lp2hp(x[:3], x[3:]),
    **{
        name: lambda m, x, name=name: getattr(m.ndimage, name)(x, 0.7)
        for name in ("fourier_gaussian", "fourier_uniform", "fourier_ellipsoid", "fourier_shift")
    },
    "lp2hp at a frequency": lambda m, x: m.signal.lp2hp(x[:2], x[2:5], x[5]),
}


@pytest.mark.parametrize("name", OF_SCIPY)
def test_dtypes_are_scipys(name: str) -> None:
    for wide in (SINGLE, float):
        wanted = as_tuple(OF_SCIPY[name](scipy, X.astype(wide)))

        def f(x: Any, wanted: Any = wanted) -> float:
            for got, want in zip(as_tuple(OF_SCIPY[name](cadiff.scipy, x)), wanted, strict=True):
                is_like(got, want, 4.0 * ULP)
            return 0.0

        cadiff.vjp(f, X.astype(wide))


def test_values_of_loops_are_those_of_float32() -> None:
    with numpy.errstate(all="raise"):
        plain = loop(X)
    assert type(plain) is numpy.float32
    assert values_of(loop, X) == [plain] * 3


def test_containers_keep_the_precision_of_each_argument() -> None:
    def f(p: Any) -> Any:
        return np.sum(p["w"] @ p["x"]) * p["b"] + np.sum(p["wide"])

    p = {
        "w": numpy.ones((2, 3), SINGLE),
        "x": numpy.arange(3.0, dtype=SINGLE),
        "b": numpy.float32(0.5),
        "wide": numpy.ones(2),
    }
    for gradient in (cadiff.grad(f)(p), cadiff.compile(f).grad(p)):
        assert {k: g.dtype for k, g in gradient.items()} == {k: v.dtype for k, v in p.items()}
    value, _ = cadiff.value_and_grad(f)(p)
    assert isinstance(value, float)


def test_float16_is_computed_in_float64() -> None:
    x = X.astype(numpy.float16)
    value, gradient = cadiff.value_and_grad(wave)(x)
    assert (value, gradient.dtype) == (wave(x.astype(float)), numpy.float16)


def test_overflow_goes_to_infinity_as_it_does_in_float32() -> None:
    def f(x: Any) -> Any:
        return np.exp(x * 50.0)

    for run in (cadiff.value_and_grad(f), cadiff.compile(f).value_and_grad):
        value, slope = run(numpy.float32(2.0))
        assert value == slope == math.inf
        assert type(value) is type(slope) is numpy.float32
    assert cadiff.value_and_grad(f)(2.0)[0] == math.exp(100.0)


def test_exact_programs_run_functions_of_float32_as_they_are() -> None:
    program = cadiff.compile(wave, optimize=False)
    with pytest.warns(RuntimeWarning, match="float32"):
        assert program(X) == wave(X)
    assert program(X.astype(float)) == wave(X.astype(float))


def test_programs_of_both_precisions() -> None:
    program = cadiff.compile(wave)
    for _ in range(2):
        for x in (X, X.astype(float), X.astype(">f4")):
            value, gradient = program.value_and_grad(x)
            assert gradient.dtype == numpy.result_type(x.dtype, SINGLE)
            assert numpy.asarray(value).dtype == gradient.dtype
            assert math.isclose(value, wave(x), rel_tol=4.0 * ULP)
    assert pickle.loads(pickle.dumps(program))(X).dtype == SINGLE


# --- conversions, assignments, joining -----------------------------------------------------------


def test_astype_goes_between_the_precisions() -> None:
    def f(x: Any) -> Any:
        wide = x.astype(float)
        assert wide.dtype == numpy.float64
        assert x.astype(numpy.float32).dtype == SINGLE
        assert wide.astype(numpy.float32).dtype == SINGLE
        assert x.astype(complex).dtype == numpy.complex128
        assert x.astype(numpy.complex64).dtype == numpy.complex64
        assert (x * 1j).astype(complex).dtype == numpy.complex128
        assert np.asarray(x, dtype=float).dtype == numpy.float64
        assert x.itemsize == 4
        assert x.nbytes == 4 * x.size
        return np.sum(wide**2)

    for x in (X, X.astype(float)):
        kind = x.dtype

        def g(x: Any) -> Any:
            return f(x.astype(numpy.float32))

        for run in (cadiff.value_and_grad(g), cadiff.compile(g).value_and_grad):
            value, gradient = run(x)
            assert value == numpy.sum(X.astype(float) ** 2)
            assert gradient.dtype == kind
            numpy.testing.assert_array_equal(gradient, 2.0 * X)


def test_assignments_round() -> None:
    third = 1.0 / 3.0

    def f(x: Any) -> Any:
        y = np.zeros(4, dtype=numpy.float32)
        y[0] = x[0] * numpy.float64(third)
        y[1:3] = x[1:3].astype(float) * third
        y[3] += third
        return y

    x = numpy.ones(3, SINGLE)
    want = numpy.array([third, third, third, third], SINGLE)
    for got in values_of(f, x):
        assert got.dtype == SINGLE
        numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", ["f4", "f8", "i8", "i2"])
def test_joining_promotes(kind: str) -> None:
    other = numpy.arange(7).astype(kind)

    def join(np: Any, x: Any) -> Any:
        parts = np.concatenate([x, other]), np.stack([other, x]), np.where(x > 1, x, other)
        return named([*parts, np.where(x > 1, x, 0.0), np.append(x, other), x @ other])

    wanted = join(numpy, X)
    for got in values_of(lambda x: join(np, x), X):
        for k, want in wanted.items():
            assert numpy.asarray(got[k]).dtype == want.dtype
            numpy.testing.assert_allclose(got[k], want, rtol=2.0 * ULP)


def test_arrays_of_no_axes_and_of_no_elements() -> None:
    for x in (numpy.array(0.5, SINGLE), numpy.float32(0.5)):
        gradient = cadiff.grad(lambda x: np.sin(x) * x[...])(x)
        assert type(gradient) is numpy.float32
    value, gradient = cadiff.value_and_grad(lambda x: np.sum(np.exp(x)))(X[:0])
    assert type(value) is numpy.float32
    assert gradient.dtype == SINGLE
    assert gradient.shape == (0,)
    assert cadiff.jacobian(np.exp)(numpy.zeros((0, 2), SINGLE)).dtype == SINGLE


def test_backward() -> None:
    v = cadiff.Var(X)
    y = np.sum(v * v)
    y.backward()
    assert repr(v.dtype) == "dtype('float32')"
    assert type(y.value) is numpy.float32
    assert y.value == numpy.sum(X * X)
    assert v.grad.dtype == SINGLE
    numpy.testing.assert_array_equal(v.grad, 2.0 * X)


def test_special_functions_have_the_precision_of_their_arguments() -> None:
    names = [
        *("expit", "logit", "erf", "erfc", "gammaln", "digamma", "ndtr", "log_ndtr", "j0", "i0e"),
        *("entr", "stdtrit"),
    ]
    for name in names:
        args = (numpy.float32(3.0),) if name == "stdtrit" else ()
        of_scipy = getattr(scipy.special, name)(*args, X / 4)
        got, slope = cadiff.jvp(partial(getattr(special, name), *args), (X / 4,), (X,))
        assert got.dtype == slope.dtype == of_scipy.dtype == SINGLE
        numpy.testing.assert_allclose(got, of_scipy, rtol=16.0 * ULP)


BESIDE: dict[str, Callable[[float], Any]] = {
    "float32": numpy.float32,
    "float64": numpy.float64,
    "a float": float,
    "an int": int,
    "an array of float32": lambda x: numpy.full(2, x, SINGLE),
    "an array of int64": lambda x: numpy.full(2, int(x)),
}
UFUNCS = [name for name in dir(scipy.special) if hasattr(getattr(scipy.special, name), "nin")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in UFUNCS if not n.startswith(("pro_", "obl_"))])
def test_special_functions_have_the_dtypes_of_scipys_loops(name: str) -> None:
    ufunc = getattr(scipy.special, name)
    rest = (2.0, 3.0, 4.0)[: ufunc.nin - 1]
    for first, other in itertools.product(list(BESIDE)[:2], BESIDE):
        args = BESIDE[first](1.0), *map(BESIDE[other], rest)
        if SINGLE not in {getattr(x, "dtype", None) for x in args}:
            continue

        def f(x: Any, args: Any = args) -> float:
            wanted, found = (
                as_tuple(function(*given))
                for function, given in ((ufunc, args), (getattr(special, name), (x, *args[1:])))
            )
            assert [x.dtype for x in found] == [x.dtype for x in wanted]
            return 0.0

        with contextlib.suppress(TypeError):  # of SciPy's, or there is no derivative
            cadiff.vjp(f, args[0])


def test_networks_train_in_single_precision() -> None:
    rng = numpy.random.default_rng(0)
    inputs = rng.normal(size=(32, 5)).astype(SINGLE)
    labels = (inputs.sum(axis=1) > 0).astype(int)
    weights = [rng.normal(size=shape).astype(SINGLE) * 0.3 for shape in ((5, 8), (8, 2))]

    def loss(weights: Any) -> Any:
        return cadiff.nn.cross_entropy(np.tanh(inputs @ weights[0]) @ weights[1], labels)

    program = cadiff.compile(loss)
    before, eager = program(weights), cadiff.value_and_grad(loss)(weights)
    assert type(before) is type(eager[0]) is numpy.float32
    for _ in range(50):
        value, gradients = program.value_and_grad(weights)
        assert {g.dtype for g in gradients} == {SINGLE}
        weights = [w - numpy.float32(0.5) * g for w, g in zip(weights, gradients, strict=True)]
    assert value < 0.3 * before


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_weights_of_few_bits_are_added_up_in_those_of_the_numbers(dtype: Any) -> None:
    x, weights = np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.4], dtype)
    value, slope = cadiff.value_and_grad(lambda x: np.average(x, weights=weights))(x)
    assert value == np.average(x, weights=weights)
    np.testing.assert_allclose(np.sum(slope), 1.0, rtol=1e-15)


@pytest.mark.parametrize("k", [np.array([3.0 + 0.1j], np.complex64), np.complex64(3.0 + 0.1j)])
def test_quotients_by_complex64_are_of_the_dividends_precision(k: Any) -> None:
    x = np.array([1.0, 2.0, 4.0])

    def f(x: Any) -> Any:
        return np.real(np.sum((x + 1j) / k))

    np.testing.assert_allclose(cadiff.value_and_grad(f)(x)[0], f(x), rtol=1e-15)


# --- operands of other types ---------------------------------------------------------------------

ROW = numpy.array([0.25, 1.5, 0.75], SINGLE)
WRITTEN: dict[str, Any] = {
    "sum": lambda m, x, y: m.sum(x, initial=y),
    "prod": lambda m, x, y: m.prod(x, initial=y),
    "max": lambda m, x, y: m.max(x, initial=y),
    "insert": lambda m, x, y: m.insert(x, 1, y),
    "pad": lambda m, x, y: m.pad(x, 1, constant_values=y),
    "ramp": lambda m, x, y: m.pad(x, 2, "linear_ramp", end_values=y),
    "nan_to_num": lambda m, x, y: m.nan_to_num(x / (x != 1.5), nan=y, posinf=y),
}
MIXED: dict[str, Any] = {
    "divmod": lambda m, x: m.divmod(x, 0.3),
    "divmod of a number": lambda m, x: m.divmod(x[1], 2),
    "quantiles at whole places": lambda m, x: m.quantile(x, numpy.array([0, 1])),
    "quantile": lambda m, x: m.quantile(x, 0.3),
    "nanquantile": lambda m, x: m.nanquantile(x, numpy.int64(1)),
    "average": lambda m, x: m.average(x, weights=numpy.array([1, 2, 3]), returned=True),
    "polydiv": lambda m, x: m.polydiv(x[:1], numpy.array([1.0, 2.0])),
    "trapezoid": lambda m, x: m.trapezoid(x, dx=numpy.int64(2)),
    "lstsq": lambda m, x: m.linalg.lstsq(m.outer(x, x[:1]), numpy.arange(3.0))[3],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MIXED)
def test_operands_of_other_types(name: str) -> None:
    wanted = as_tuple(MIXED[name](numpy, ROW))

    def f(x: Any) -> Any:
        return named(as_tuple(MIXED[name](np, x)))

    for results in values_of(f, ROW):
        for got, want in zip(results.values(), wanted, strict=True):
            is_like(numpy.asarray(got), want, 4.0 * ULP)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRITTEN)
def test_numbers_that_are_written_into_an_array(name: str) -> None:
    f = WRITTEN[name]
    wanted = f(numpy, ROW, 2.0)

    def check(m: Any, x: Any, y: Any) -> Any:
        is_like(f(m, x, y), wanted, 4.0 * ULP)
        return np.sum(f(m, x, y))

    for y in (2.0, numpy.float64(2.0)):
        cadiff.grad(lambda y: check(np, ROW, y))(y)
        cadiff.grad(lambda x, y=y: check(np, x, y))(ROW)
    if name != "nan_to_num":
        with pytest.raises(TypeError, match="would round numbers with derivatives to int"):
            cadiff.grad(lambda y: np.sum(f(np, numpy.arange(3), y)))(0.5)


# --- many floats, which products of matrices read and write where they are -----------------------

WIDE = numpy.random.default_rng(5).standard_normal((256, 160)).astype(SINGLE)
TALL = numpy.random.default_rng(6).standard_normal((160, 256)).astype(SINGLE)
LARGE: dict[str, Callable[[Any, Any], Any]] = {
    "a constant": lambda w, x: x @ w,
    "a constant, twice": lambda w, x: (x @ w)[0] + ((0.5 * x) @ w)[1],
    "rounded later": lambda w, x: np.mean(np.tanh(x @ w)) + np.mean(w * w),
    "rounded before": lambda w, x: np.mean(w * w) + np.mean(np.tanh(x @ w)),
    "elements": lambda w, x: np.mean(x @ w) * w[3, 4] + w[[3, 4, 3]].sum(),
    "steps": lambda w, x: x[:, ::2] @ w[::2, ::3],
    "reversed": lambda w, x: x @ w[:, ::-1],
    "transposed": lambda w, x: x.T @ w.T,
    "with itself": lambda w, x: w @ w.T + (w.T[:, :160] @ w[:160])[0, 0],
    "a part": lambda w, x: x[:, :90] @ w[:90],
    "one row, one column": lambda w, x: w[:, :1] @ w[:1] + (x[:1] @ w)[0],
    "a vector": lambda w, x: w @ w[0],
    "stacks": lambda w, x: x.reshape(4, 40, 256) @ w,
    "without": lambda w, x: np.tanh(w),
    "written to": lambda w, x: np.concatenate([w, 2.0 * w])[:256] @ x,
}


@pytest.mark.parametrize("name", LARGE)
def test_many_floats_have_the_derivatives_of_doubles(name: str) -> None:
    def f(w: Any, x: Any) -> Any:
        return np.mean(np.sin(LARGE[name](w, x)))

    both = (0, 1)
    value, gradient = cadiff.value_and_grad(f, both)(WIDE, TALL)
    expected = cadiff.value_and_grad(f, both)(WIDE.astype(float), TALL.astype(float))
    assert numpy.isclose(value, expected[0], rtol=1e-3, atol=1e-5)
    constant = cadiff.grad(f)(WIDE, TALL)
    for one, other in zip([*gradient, constant], [*expected[1], expected[1][0]], strict=True):
        assert one.dtype == SINGLE
        numpy.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3 * abs(other).max())


def test_many_complex_numbers_of_complex64() -> None:
    gradient, z = cadiff.grad(lambda z: np.sum(np.abs(TALL @ z))), WIDE + 1j * WIDE[::-1]
    found, expected = gradient(z), gradient(z.astype(complex))
    assert (found.dtype, found.shape) == (numpy.complex64, z.shape)
    numpy.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)


def test_products_of_many_floats_need_no_copies_of_them() -> None:
    weights = numpy.ones((1000, 500), SINGLE)
    rows = numpy.ones((8, 1000), SINGLE)
    gradient = cadiff.grad(lambda w: np.sum(rows @ w))
    gradient(weights)
    tracemalloc.start()
    gradient(weights)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.2 * weights.nbytes  # which the result alone takes


def test_constants_of_products_are_kept_as_they_were() -> None:
    def f(w: Any) -> Any:
        rows = TALL.copy()
        product = rows @ w
        rows[:] = 0.0
        return np.sum(np.sin(product))

    expected = cadiff.grad(lambda w: np.sum(np.sin(TALL @ w)))(WIDE)
    assert numpy.array_equal(cadiff.grad(f)(WIDE), expected)


def test_floats_that_are_read_where_they_are_must_not_change() -> None:
    weights = WIDE.copy()

    def f(w: Any) -> Any:
        weights[:] += 1.0
        return np.sum(TALL @ w)

    with pytest.raises(RuntimeError, match="was written to while"):
        cadiff.grad(f)(weights)
