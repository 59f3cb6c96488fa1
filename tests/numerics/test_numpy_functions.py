"""Every function of NumPy, `scipy.linalg` and `scipy.fft` by the harness, which is tested too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np
from cadiff.operations import dispatch as _dispatch

from ..helpers import derivatives
from ..helpers.cases_numpy import CASES, distinct, normal, of
from ..helpers.derivatives import Case
from ..helpers.every_case import of_every
from ..helpers.programs import values_of
from ..helpers.properties import examples


@of_every()
def test_values_and_derivatives(case: Case, original: Any, package: Any) -> None:
    derivatives.check(case, original, package)


# --- the cases themselves ------------------------------------------------------------------------


class Recorder:
    """A module that remembers which of its functions were asked for."""

    def __init__(self, module: Any, seen: set[Any]) -> None:
        self._module, self._seen = module, seen

    def __getattr__(self, name: str) -> Any:
        item = getattr(self._module, name)
        if isinstance(item, ModuleType):
            return Recorder(item, self._seen)
        self._seen.add(item)
        return item


def differentiated() -> set[Any]:
    """NumPy's functions that are registered as having derivatives, without `numpy.linalg`."""
    return {
        original
        for original in _dispatch.FUNCTIONS
        if original not in _dispatch.PLAIN and public_name(original).startswith("numpy.")
    }


def public_name(original: Any) -> str:
    if isinstance(original, numpy.ufunc):  # SciPy has some of the same names
        name = original.__name__
        return f"numpy.{name}" if getattr(numpy, name, None) is original else "scipy"
    module = "" if original.__module__.startswith("numpy.linalg") else original.__module__
    return f"{module}.{getattr(original, '__name__', '')}"  # some of SciPy's have none


# What looks at shapes only, has gone from some versions, or is no matter of NumPy's dispatch.
WITHOUT_CASE = {
    "shape", "ndim", "size", "fix", "trapz", "row_stack", "array", "asarray", "asanyarray",
    "ascontiguousarray", "asfortranarray", "require", "asarray_chkfinite", "flatiter",
    "may_share_memory", "shares_memory",
}  # fmt: skip


def test_every_function_has_a_case() -> None:
    seen: set[Any] = set()
    for case in CASES:
        case.call(Recorder(numpy, seen), *case.draw())
    missing = {f.__name__ for f in differentiated() - seen}
    assert missing <= WITHOUT_CASE


def test_names_of_cases_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@cadiff.primitive
def skewed(x: Any) -> Any:
    """The sine, with rules that are wrong by 1e-5: differently in each mode."""
    return numpy.sin(x)


skewed.defvjp(lambda ans, x: lambda g: g * cadiff.cos(x))
skewed.defjvp(lambda g, ans, x: g * cadiff.cos(x) * (1.0 + 1e-5))


@cadiff.primitive
def bent(x: Any) -> Any:
    """The sine, with derivatives that are right, but not differentiable."""
    return numpy.sin(x)


bent.defvjp(lambda ans, x: lambda g: g * numpy.cos(cadiff.value(x)))
bent.defjvp(lambda g, ans, x: g * numpy.cos(cadiff.value(x)))


def test_the_harness_sees_what_is_wrong() -> None:
    wrong = Case("wrong", lambda np, x: np.sin(x) * (1.0 + 1e-9 * (np is not numpy)), normal((3,)))
    with pytest.raises(AssertionError):
        derivatives.check_value(replace(wrong, dispatch=False), numpy, np)
    with pytest.raises(AssertionError, match="differences"):
        derivatives.check_modes(Case("skewed", lambda np, x: skewed(x), normal((3,))), numpy, np)
    not_twice = Case("bent", lambda np, x: bent(x), normal((3,)))
    derivatives.check_modes(not_twice, numpy, np)
    with pytest.raises(cadiff.MissingRuleError, match="takes plain values"):
        derivatives.check_second_order(not_twice, numpy, np)


# --- any shape, any axis -------------------------------------------------------------------------

LENGTHS = st.lists(st.integers(0, 3), min_size=0, max_size=4).map(tuple)
PLENTY = examples(67)


@st.composite
def shapes_and_axes(draw: Any, *, several: bool = True) -> tuple[tuple[int, ...], Any]:
    shape = draw(LENGTHS if several else LENGTHS.filter(len))
    n = len(shape)
    one = st.integers(-n, n - 1)
    if not several:
        return shape, draw(one)
    some = st.lists(st.sampled_from(range(n)), unique=True).map(tuple) if n else st.just(())
    return shape, draw(st.one_of([st.none(), some, *([one] if n else [])]))


def check_or_refuse(case: Case) -> None:
    """All checks, or NumPy's kind of error where NumPy has one; values alone if they are nan."""
    args = case.draw()
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = case.call(numpy, *args)
        except (ValueError, IndexError, TypeError) as error:
            for make in (cadiff.Var, cadiff.Dual):
                with pytest.raises(type(error)):
                    case.call(np, *map(make, args))
            return
        derivatives.check_value(case, numpy, np)
        if all(numpy.all(numpy.isfinite(w)) for w in derivatives.as_tuple(wanted)):
            derivatives.check_modes(case, numpy, np)
            derivatives.check_second_order(case, numpy, np)


REDUCTIONS = ("sum", "mean", "prod", "max", "min", "median", "ptp")


@pytest.mark.parametrize("name", REDUCTIONS)
@PLENTY
@given(where=shapes_and_axes(), keepdims=st.booleans())
def test_reductions_of_any_shape(name: str, where: Any, keepdims: bool) -> None:
    shape, axis = where
    assume(not (name == "median" and 0 in shape))  # what NumPy does then is an accident
    call = of(name, axis=axis, keepdims=keepdims)
    check_or_refuse(Case(f"{name} {shape} {axis}", call, distinct(shape)))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sort", "diff", "flip", "gradient"])
@PLENTY
@given(where=shapes_and_axes(several=False))
def test_functions_along_any_axis(name: str, where: Any) -> None:
    shape, axis = where
    check_or_refuse(Case(f"{name} {shape} {axis}", of(name, axis=axis), distinct(shape)))


@PLENTY
@given(data=st.data())
def test_einsum_of_any_subscripts(data: st.DataObject) -> None:
    labels = st.lists(st.sampled_from("ijk"), max_size=3).map("".join)
    terms = data.draw(st.lists(labels, min_size=1, max_size=3))
    dots = data.draw(st.booleans())
    known = sorted(set("".join(terms)))
    result = data.draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    lengths = {"i": 2, "j": 3, "k": data.draw(st.integers(0, 2))}
    shapes = [(*((2,) if dots else ()), *(lengths[c] for c in term)) for term in terms]
    start = "..." if dots else ""
    text = ",".join(start + term for term in terms) + "->" + start + "".join(result)
    call = lambda np, *xs: np.einsum(text, *xs)  # noqa: E731
    nums = tuple(range(len(shapes)))
    check_or_refuse(Case(text, call, normal(*shapes), nums, value_rtol=1e-12))


# --- edges ---------------------------------------------------------------------------------------

INF = numpy.inf
INFINITE_ROWS = [[1.0, 2.0, 3.0, INF], [-INF, 1.0, 2.0, INF], [1.0, 2.0, INF, INF], [1.0, INF]]
INFINITE_ROWS += [[-INF, 5.0], [INF, INF], [-INF, 1.0, INF], [INF]]
INFINITE_TABLES = [
    ([0.0, 1.0, 2.0, 3.0], [1.0, INF, INF, 3.0]),
    ([0.0, 1.0, 2.0, 3.0], [-INF, 0.0, INF, 1.0]),
    ([0.0, 1.0, 2.0, 3.0], [0.0, numpy.nan, 1.0, INF]),
    ([-INF, 1.0, INF], [1.0, 2.0, 3.0]),
    ([INF, INF], [1.0, 2.0]),
]


@pytest.mark.parametrize("row", INFINITE_ROWS, ids=str)
@pytest.mark.parametrize(
    "method",
    ["linear", "hazen", "midpoint", "averaged_inverted_cdf", "nearest", "median_unbiased"],
)
def test_quantiles_of_infinite_data_have_numpys_values(method: Any, row: list[float]) -> None:
    x = numpy.array(row)
    shares = [0.0, 0.2, 0.5, 2.0 / 3.0, 0.9, 1.0]
    with numpy.errstate(all="ignore"):
        for share in shares:
            expected = numpy.quantile(x, share, method=method)
            numpy.testing.assert_equal(
                cadiff.value(np.quantile(cadiff.Var(x), share, method=method)), expected
            )
        for f in (numpy.median, numpy.nanmedian):
            numpy.testing.assert_equal(cadiff.value(f(cadiff.Var(x))), f(x))


@pytest.mark.parametrize("table", INFINITE_TABLES, ids=str)
def test_infinite_tables_have_numpys_values(table: Any) -> None:
    xp, fp = map(numpy.array, table)
    points = numpy.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, INF, -INF, numpy.nan])
    expected = numpy.interp(points, xp, fp)
    with numpy.errstate(all="ignore"):
        for x, a, b in ((cadiff.Var(points), xp, fp), (points, xp, cadiff.Var(fp))):
            numpy.testing.assert_equal(cadiff.value(np.interp(x, a, b)), expected)
            for k, point in enumerate(x):
                numpy.testing.assert_equal(cadiff.value(np.interp(point, a, b)), expected[k])
        program = cadiff.compile(lambda f: np.interp(points, xp, f))
        numpy.testing.assert_equal(program(fp), expected)
        numpy.testing.assert_equal(
            program(numpy.sqrt(fp)), numpy.interp(points, xp, numpy.sqrt(fp))
        )


def test_a_slice_of_one_element_is_that_element() -> None:
    x, indices = numpy.array([-1.0, -2.0, -3.0, 4.0]), [0, 2, 1, 3]
    expected = numpy.hypot.reduceat(x, indices)
    assert cadiff.value(numpy.hypot.reduceat(cadiff.Var(x), indices)).tolist() == expected.tolist()
    slopes = cadiff.jacobian(lambda x: numpy.hypot.reduceat(x, indices))(x)
    assert slopes[1].tolist() == [0.0, 0.0, 1.0, 0.0]
    for wrong in ([4], [-1]):
        for v in (x, cadiff.Var(x)):
            with pytest.raises(IndexError, match="out-of-bounds in hypot"):
                numpy.hypot.reduceat(v, wrong)


def test_what_is_real_enough_becomes_real() -> None:
    for imag in (1e-14, 1e-13, 0.0):
        z = numpy.array([1.0 + 1j * imag, 2.0])
        expected, found = numpy.real_if_close(z), numpy.real_if_close(cadiff.Var(z))
        assert found.dtype == expected.dtype and numpy.array_equal(cadiff.value(found), expected)
    assert numpy.real_if_close(cadiff.Var(1.0 + 1e-3j), tol=0.01).dtype == float
    f = lambda x: numpy.real_if_close(x * (1.0 + 1e-15j)).sum()  # noqa: E731
    assert cadiff.grad(f)(numpy.array([1.0, 2.0])).tolist() == [1.0, 1.0]


def test_pieces_of_plain_numbers_may_be_numbers() -> None:
    points, v = numpy.array([1.0, 3.0]), numpy.array([0.5, 0.7])
    pieces = lambda v: np.piecewise(points, [points > 2], [v[0], v[1]])  # noqa: E731
    called = lambda v: np.piecewise(points, [points > 2], [lambda t, k: t * k, 0.0], v[0])  # noqa: E731
    for jacobian in (cadiff.jacrev, cadiff.jacfwd):
        assert jacobian(pieces)(v).tolist() == [[0.0, 1.0], [1.0, 0.0]]
        assert jacobian(called)(v).tolist() == [[0.0, 0.0], [3.0, 0.0]]
    assert cadiff.value(pieces(cadiff.Var(v))).tolist() == [0.7, 0.5]
    assert cadiff.grad(lambda x: np.piecewise(3.0, [True], [x]))(2.0) == 1.0


# --- polynomials of NumPy's, which are not dispatched --------------------------------------------

TABLE = numpy.array([[1.0, 2.0], [0.3, 0.4], [0.7, 0.1]])
of_roots = numpy.polynomial.polynomial.polyvalfromroots
SERIES: dict[str, Callable[..., Any]] = {
    "polynomial": numpy.polynomial.polynomial.polyval,
    "chebyshev": numpy.polynomial.chebyshev.chebval,
    "legendre": numpy.polynomial.legendre.legval,
    "hermite": numpy.polynomial.hermite.hermval,
    "hermite_e": numpy.polynomial.hermite_e.hermeval,
    "laguerre": numpy.polynomial.laguerre.lagval,
}
POLYNOMIALS: dict[str, Callable[[Any], Any]] = {
    **{f"{name}, all": lambda x, f=f: f(x, TABLE) for name, f in SERIES.items()},
    **{f"{name}, each": lambda x, f=f: f(x, TABLE, tensor=False) for name, f in SERIES.items()},
    "roots": lambda x: of_roots(x, TABLE[0]),
    "roots in a table": lambda x: of_roots(x, TABLE),
}


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_tables(name: str, is_complex: bool) -> None:
    """They ask whether x is an ndarray, and take what is none for one number."""
    x, e = numpy.array([0.5, 0.7]), numpy.array([0.3, -0.2])

    def f(x: Any) -> Any:
        return POLYNOMIALS[name](x * (1.0 + 0.5j) if is_complex else x)

    wanted, moved = f(x), [f(x + k * e) for k in (-2, -1, 1, 2)]
    slope = numpy.tensordot([1.0, -8.0, 8.0, -1.0], moved, 1) / 12.0  # up to the fourth degree
    value, tangent = cadiff.jvp(f, (x,), (e,))
    for got in (value, *values_of(f, x)):
        assert numpy.shape(got) == wanted.shape
        numpy.testing.assert_allclose(got, wanted, rtol=1e-14)
    numpy.testing.assert_allclose(tangent, slope, rtol=1e-12)
    back = cadiff.grad(lambda x: np.sum(abs(f(x)) ** 2))(x) @ e
    assert back == pytest.approx(2.0 * numpy.vdot(wanted, slope).real, rel=1e-12)


def test_variables_outside_of_differentiations() -> None:
    """What a function makes to assign them to is open there, too."""
    refused = []
    for each in CASES:
        args = [cadiff.Var(x) if is_float(x) else x for x in each.draw()]
        try:
            each.call(np, *args)
        except TypeError as error:  # others are of arrays that the case makes itself
            if "computes with plain numbers" in str(error):
                refused.append((each.name, str(error)))
    assert refused == []


def is_float(x: Any) -> bool:
    return isinstance(x, float) or (isinstance(x, numpy.ndarray) and x.dtype.kind == "f")
