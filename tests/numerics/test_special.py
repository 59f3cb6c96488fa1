"""`cadiff.scipy.special` against mathematics to 50 digits and against SciPy.

Values are SciPy's; first and second derivatives are held to the error of a careful program: some
units in the last place, times the condition of the derivative at the point.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from mpmath import mp

import cadiff
from cadiff import Dual, Var
from cadiff.operations import table as _table
from cadiff.scipy import special

from ..helpers import cases_parameters
from ..helpers.cases_special import CASES, INVERSES, Case, Point, Real
from ..helpers.functions import agree
from ..helpers.processes import isolated

EPSILON = 2.0**-52
INF = math.inf
LARGEST = sys.float_info.max
NAN = math.nan


def ulps(name: str) -> float:
    """SciPy's values of some functions that derivatives are made of are off by more."""
    return {"ive": 80.0, "hyp2f1": 40.0, "beta": 40.0, "jv": 25.0}.get(name, 8.0)


def named(name: str, namespace: Any = special) -> Callable[..., Any]:
    """A function; of the one that is complex wherever SciPy's is, the real part."""
    f: Callable[..., Any] = getattr(namespace, name)
    return (lambda *args: f(*args).real) if name == "lambertw" else f


# --- derivatives ---------------------------------------------------------------------------------


def forward(f: Callable[..., Any], point: Sequence[Any], i: int, order: int) -> float:
    return float(cadiff.derivative(f, i, point, order=order))


def reverse(f: Callable[..., Any], point: Sequence[Any], i: int, order: int) -> float:
    for _ in range(order):
        f = cadiff.grad(f, i)
    return float(f(*point))


def mixed(f: Callable[..., Any], point: Sequence[Any], i: int, order: int) -> float:
    return forward(cadiff.grad(f, i), point, i, order - 1)


MODES = [forward, reverse, mixed]


def exact(f: Callable[..., Real], point: Sequence[Real], i: int, order: int) -> Real:
    """A derivative of a twin by differences of a step relative to the argument."""
    scale = point[i] or mp.one

    def moved(t: Real) -> Real:
        return mp.re(f(*point[:i], point[i] + scale * t, *point[i + 1 :]))

    return mp.diff(moved, 0, order) / scale**order


def precise(point: Point) -> list[Real]:
    return [mp.mpf(x) if isinstance(x, float) else x for x in point]


def condition(f: Callable[..., Real], point: Sequence[Real], i: int, order: int) -> Real:
    """|d| + Σ |x ∂d/∂x|, d the derivative: what rounding of the arguments does to it."""
    step = mp.mpf("1e-10")
    d = exact(f, point, i, order)
    total = abs(d)
    for j, x in enumerate(point):
        if isinstance(x, mp.mpf):
            there = [*point[:j], x * (1 + step), *point[j + 1 :]]
            total += abs(exact(f, there, i, order) - d) / step
    return total


NOISE = mp.mpf("1e-45")  # of the differences, where a function is that close to a constant


def close(got: float, want: Real, bound: Real) -> bool:
    if abs(want) > LARGEST:
        return math.copysign(1.0, got) == mp.sign(want) and math.isinf(got)
    return bool(abs(mp.mpf(got) - want) <= bound * EPSILON + NOISE)


@pytest.mark.parametrize("name", sorted(CASES))
def test_derivatives(name: str) -> None:
    case: Case = CASES[name]
    function = named(name)
    with mp.workdps(50):
        for point, i, order in product(case.points, case.wrt, (1, 2)):
            at = precise(point)
            want = exact(case.twin, at, i, order)
            for mode in MODES:
                got = mode(function, point, i, order)
                if not close(got, want, ulps(name) * abs(want)):
                    bound = ulps(name) * condition(case.twin, at, i, order)
                    assert close(got, want, bound), (point, i, order, mode, got, want)


@pytest.mark.parametrize("name", sorted(INVERSES))
def test_derivatives_of_inverses(name: str) -> None:
    """x' = 1 / f'(x) and x'' = -f'' x'**3, where x is the value that the inverse gives."""
    function, case = getattr(special, name), CASES[INVERSES[name]]
    i = case.wrt[-1]
    with mp.workdps(50):
        for point in case.points:
            y = float(case.twin(*precise(point)))
            if not abs(y) > 1e-150 or abs(y) == 1.0:
                continue
            there = (*point[:i], y)
            x = float(function(*there))
            at = [*precise(point)[:i], mp.mpf(x)]
            first, second = (exact(case.twin, at, i, order) for order in (1, 2))
            if not (math.isfinite(x) and abs(first) > 1e-290):
                continue
            wanted = {1: 1 / first, 2: -second / first**3}
            spread = condition(case.twin, at, i, 1) / abs(first)
            for order, want in wanted.items():
                bound = 16 * order * spread * (abs(want) + abs(x) / abs(first) ** (order + 1))
                for mode in MODES:
                    got = mode(function, there, i, order)
                    assert close(got, want, bound), (there, order, mode.__name__, got, want)


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CASES))
def test_arrays(name: str) -> None:
    """Values are SciPy's; gradients and tangents are those of the elements."""
    columns = [np.array(column) for column in zip(*CASES[name].points, strict=True)]
    want, function = np.real(getattr(sp, name)(*columns)), named(name)
    # Rows of the table have values of their own, which are judged by mpmath elsewhere.
    near = partial(
        np.testing.assert_allclose,
        rtol=2e-13 if name in _table.__all__ else 0.0,
        atol=1e-16 if name == "kl_div" else 0.0,  # to which SciPy's rounds beside x = y
    )
    near(np.real(function(*columns)), want)
    for i in CASES[name].wrt:
        x = columns[i].astype(float)

        def f(x: Any, i: int = i) -> Any:
            return function(*columns[:i], x, *columns[i + 1 :])

        single = [cadiff.derivative(function, i, point) for point in CASES[name].points]
        value, tangent = cadiff.jvp(f, (x,), (np.ones(x.shape),))
        near(value, want)
        near(cadiff.vjp(f, x)[0], want)
        np.testing.assert_allclose(tangent, single, rtol=1e-13)
        np.testing.assert_allclose(cadiff.grad(lambda x: np.sum(f(x)))(x), single, rtol=1e-13)


@pytest.mark.parametrize("name", sorted({*CASES, *INVERSES} - {"zeta", "lambertw"}))
def test_scipy_itself_accepts_numbers_with_derivatives(name: str) -> None:
    case = CASES[INVERSES.get(name, name)]
    i, point = case.wrt[-1], case.points[0]
    if name in INVERSES:
        point = (*point[:-1], -0.5 if name == "ndtri_exp" else 0.5)
    got = cadiff.derivative(getattr(sp, name), i, point)
    assert got == cadiff.derivative(getattr(special, name), i, point)


@pytest.mark.parametrize("name", sorted(CASES))
def test_lists_are_arrays(name: str) -> None:
    """Beside numbers with derivatives, and with such numbers in them."""
    point, function = CASES[name].points[0], getattr(special, name)
    want = np.real(getattr(sp, name)(*point))
    for i in CASES[name].wrt:
        for number in (Var(float(point[i])), Dual(float(point[i]))):
            beside = [[x, x] if j != i else number for j, x in enumerate(point)]
            within = [x if j != i else [number, float(x)] for j, x in enumerate(point)]
            for arguments in (beside, within):
                got = np.atleast_1d(cadiff.value(function(*arguments)))
                np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), rtol=2e-13)


def test_lists_in_reductions() -> None:
    v = Var(0.5)
    for got, want in (
        (special.logsumexp([v, 2.0]), sp.logsumexp([0.5, 2.0])),
        (special.logsumexp([1.0, 2.0], b=[v, 1.0]), sp.logsumexp([1.0, 2.0], b=[0.5, 1.0])),
        (special.softmax([v, 2.0]), sp.softmax([0.5, 2.0])),
        (special.multigammaln([v + 1.0, 3.0], 2), sp.multigammaln([1.5, 3.0], 2)),
    ):
        assert isinstance(got, Var)
        np.testing.assert_allclose(got.value, want, rtol=1e-14)


# --- ends of domains -----------------------------------------------------------------------------

# Functions, points and the derivatives there, by the last argument.
EDGES: list[tuple[str, Point, float]] = [
    *[("erfinv", (x,), want) for x, want in ((1.0, INF), (-1.0, INF), (1.5, NAN))],
    *[("erfcinv", (x,), -INF) for x in (0.0, 2.0)],
    *[("ndtri", (x,), INF) for x in (0.0, 1.0)],
    *[("log_ndtr", (INF,), 0.0), ("log_ndtr", (-INF,), INF), ("ndtr", (-INF,), 0.0)],
    *[("logit", (x,), want) for x, want in ((0.0, INF), (1.0, INF), (2.0, NAN))],
    *[("xlogy", (0.0, 0.0), 0.0), ("powm1", (0.0, 2.0), 0.0), ("lambertw", (0.0,), 1.0)],
    *[("kl_div", (x, y), d) for x, y, d in ((0.0, 2.0, 1.0), (0.0, 0.0, 1.0), (-1.0, 2.0, NAN))],
    *[("rel_entr", (0.0, y), 0.0) for y in (2.0, 0.0)],
    *[("huber", (1.0, 1.0), 1.0), ("huber", (-1.0, 1.0), NAN)],
    *[("pseudo_huber", (0.0, r), 0.0) for r in (3.0, 0.0)],
    *[("gammainc", (a, 0.0), want) for a, want in ((0.5, INF), (1.0, 1.0), (2.0, 0.0))],
    *[("gammainc", (2.0, INF), 0.0), ("gammaincinv", (1.0, 0.0), 1.0)],
    *[("betainc", (a, 2.0, 0.0), want) for a, want in ((0.5, INF), (1.0, 2.0), (3.0, 0.0))],
    *[("betainc", (3.0, 1.0, 1.0), 3.0), ("betaincinv", (1.0, 2.0, 0.0), 0.5)],
    *[("rgamma", (-2.0,), 2.0), ("rgamma", (200.0,), 0.0), ("loggamma", (-0.5,), NAN)],
    *[("exp1", (0.0,), -INF), ("exp1", (-1.0,), NAN)],
    *[("expn", (2, 0.0), -INF), ("expn", (3, 0.0), -1.0)],
    *[("i0e", (0.0,), 0.0), ("i1e", (0.0,), 0.5), ("j1", (0.0,), 0.5), ("jv", (0.5, 0.0), INF)],
    *[("k0", (0.0,), -INF), ("y0", (0.0,), INF), ("spence", (0.0,), -INF)],
    *[("ellipk", (1.0,), INF), ("ellipe", (1.0,), -INF), ("boxcox", (0.0, 2.0), 0.25)],
    *[("gammasgn", (-0.5,), 0.0), ("round", (1.5,), 0.0)],
]
# By the first one.
EDGES_OF_FIRST: list[tuple[str, Point, float]] = [
    *[("kl_div", (0.0, 2.0), -INF), ("kl_div", (-1.0, 2.0), NAN), ("rel_entr", (0.0, 2.0), -INF)],
    *[("pseudo_huber", (0.0, 3.0), 3.0), ("pseudo_huber", (0.0, 0.0), 0.0)],
    ("boxcox", (-1.0, 2.0), NAN),
]


@pytest.mark.parametrize(
    ("name", "point", "i", "want"),
    [
        *((name, at, len(at) - 1, want) for name, at, want in EDGES),
        *((name, at, 0, want) for name, at, want in EDGES_OF_FIRST),
    ],
)
@pytest.mark.parametrize("mode", [forward, reverse])
def test_ends_of_domains(
    mode: Callable[..., float], name: str, point: Point, i: int, want: float
) -> None:
    got = mode(named(name), point, i, 1)
    assert got == pytest.approx(want, rel=1e-14, abs=0.0, nan_ok=True)


def test_second_derivatives_at_ends() -> None:
    density = special.gammainc  # its derivatives at 0 are those of x**(a-1) exp(-x) / Γ(a)
    assert [forward(density, (1.0, 0.0), 1, n) for n in (1, 2, 3)] == [1.0, -1.0, 1.0]
    assert [forward(density, (2.0, 0.0), 1, n) for n in (1, 2, 3)] == [0.0, 1.0, -2.0]
    density = special.betainc
    assert [forward(density, (2.0, 2.0, 0.0), 2, n) for n in (1, 2, 3)] == [0.0, 6.0, -12.0]
    assert cadiff.grad(cadiff.grad(special.kl_div, 1), 0)(0.0, 2.0) == -0.5


def test_branch_not_taken() -> None:
    def f(x: Any) -> Any:
        return cadiff.where(x > 0.0, special.logit(x), 3.0 * x)

    for mode in (forward, reverse):
        assert mode(f, (0.0,), 0, 1) == 3.0


# --- arguments without a derivative --------------------------------------------------------------

PLAIN_ARGUMENTS = [
    ("bdtr", (1.0, 2, 0.3), 0, "k"),
    ("pdtr", (1.0, 0.3), 0, "k"),
    ("kn", (1.0, 0.3), 0, "n"),
    ("lpmv", (1.0, 1.0, 0.3), 1, "v"),
    ("eval_legendre", (2.0, 0.3), 0, "n"),
    ("lpmv", (1.0, 2.0, 0.3), 0, "m"),
    ("mathieu_a", (1.0, 2.0), 0, "m"),
    ("mathieu_cem", (1.0, 2.0, 40.0), 0, "m"),
    ("pro_ang1", (1.0, 3.0, 1.4, 0.2), 1, "n"),
    ("expn", (2.0, 0.3), 0, "n"),
    ("spherical_jn", (2.0, 0.3), 0, "n"),
]


@pytest.mark.parametrize(("name", "point", "i", "argument"), PLAIN_ARGUMENTS)
@pytest.mark.parametrize("mode", [forward, reverse])
def test_arguments_without_a_derivative_are_refused(
    mode: Callable[..., float], name: str, point: Point, i: int, argument: str
) -> None:
    with pytest.raises(TypeError, match=rf"{name}.*'{argument}'|drop its derivative"):
        mode(getattr(special, name), point, i, 1)


# --- reductions ----------------------------------------------------------------------------------

REDUCTIONS = ["logsumexp", "softmax", "log_softmax"]
SHAPES: list[tuple[tuple[int, ...], Any]] = [
    ((4,), None),
    ((4,), 0),
    ((3, 4), 0),
    ((3, 4), -1),
    ((3, 4), None),
    ((2, 3, 4), (0, 2)),
    ((1, 3), 0),
]


def agree_to_second_order(f: Callable[[Any], Any], x: np.ndarray) -> None:
    agree(f, x)
    u = np.random.default_rng(2).standard_normal(np.shape(f(x)))
    agree(cadiff.grad(lambda x: np.sum(u * f(x))), x)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_reductions(name: str, shape: tuple[int, ...], axis: Any) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    f = getattr(special, name)
    np.testing.assert_allclose(
        cadiff.value(f(Var(x), axis=axis)), getattr(sp, name)(x, axis=axis), rtol=1e-15
    )
    agree_to_second_order(lambda x: f(x, axis=axis), x)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_scipys_own_is_refused(name: str) -> None:
    """It would compute in Python, with one number after the other."""
    x, f = np.array([0.5, 2.0]), getattr(sp, name)
    for ask in (
        lambda: cadiff.grad(lambda x: np.sum(f(x)))(x),
        lambda: cadiff.jvp(f, (x,), (x,)),
        lambda: cadiff.compile(lambda x: np.sum(f(x))).grad(x),
        lambda: cadiff.vjp(f, x),
    ):
        with pytest.raises(TypeError, match=f"write cadiff.scipy.special.{name},"):
            ask()
    assert np.array_equal(cadiff.grad(lambda y: np.sum(y) + np.sum(f(x)))(x), np.ones(2))


@pytest.mark.parametrize("keepdims", [False, True])
def test_weighted_logsumexp(keepdims: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4)), rng.standard_normal(4) + 0.3

    def f(a: Any, b: Any) -> Any:
        return special.logsumexp(a, axis=1, b=b, keepdims=keepdims, return_sign=True)[0]

    want, signs = sp.logsumexp(a, axis=1, b=b, keepdims=keepdims, return_sign=True)
    got = special.logsumexp(Var(a), axis=1, b=b, keepdims=keepdims, return_sign=True)
    np.testing.assert_array_equal(cadiff.value(got[0]), want)
    np.testing.assert_array_equal(got[1], signs)
    agree_to_second_order(lambda a: f(a, b), a)
    agree_to_second_order(lambda b: f(a, b), b)


@pytest.mark.parametrize(
    ("a", "want"),
    [
        ([1000.0, 1000.0], [0.5, 0.5]),
        ([-INF, 0.0], [0.0, 1.0]),
        ([-INF, -INF], [0.5, 0.5]),
        ([INF, 0.0], [1.0, 0.0]),
        ([0.0, -1000.0], [1.0, 0.0]),
    ],
)
def test_logsumexp_at_infinity(a: list[float], want: list[float]) -> None:
    np.testing.assert_array_equal(cadiff.grad(special.logsumexp)(np.array(a)), want)
    np.testing.assert_array_equal(cadiff.jacfwd(special.logsumexp)(np.array(a)), want)


def test_logsumexp_of_a_negative_sum_is_nan() -> None:
    assert math.isnan(special.logsumexp(Var([0.0, 0.0]), b=[1.0, -2.0]).value)


def test_logsumexp_of_nothing_is_that_of_scipy() -> None:
    empty = np.zeros((0, 3))
    value, _ = cadiff.vjp(lambda b: special.logsumexp(b, axis=0, b=b * b), empty)
    np.testing.assert_array_equal(value, sp.logsumexp(empty, axis=0, b=empty))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("x", [[INF, 1.0], [INF, INF], [-INF, -INF], [INF, -INF], [math.nan, 1.0]])
def test_log_softmax_at_infinity_is_that_of_scipy(x: list[float]) -> None:
    want = sp.log_softmax(x)
    np.testing.assert_array_equal(cadiff.vjp(special.log_softmax, np.array(x))[0], want)
    np.testing.assert_array_equal(cadiff.compile(special.log_softmax)(np.array(x)), want)


@pytest.mark.parametrize("optimize", [True, False])
def test_zeta_of_one_argument_goes_on_below_1(optimize: bool) -> None:
    x = np.array([-3.5, -1.0, 0.0, 0.5, 2.0])
    program = cadiff.compile(special.zeta, optimize=optimize)
    with warnings.catch_warnings():  # to be exact, it is run eagerly
        warnings.simplefilter("ignore")
        for shift in (0.0, 0.25):
            np.testing.assert_array_equal(program(x + shift), sp.zeta(x + shift))
    slopes = cadiff.elementwise_grad(special.zeta)(x + 0.25)
    with mp.workdps(30):
        want = [float(mp.zeta(mp.mpf(each), derivative=1)) for each in x + 0.25]
    np.testing.assert_allclose(slopes, want, rtol=1e-10)


@pytest.mark.parametrize("delta", [1e308, 1e200])
def test_pseudo_huber_where_its_root_overflows(delta: float) -> None:
    value, _ = cadiff.vjp(lambda delta: special.pseudo_huber(delta, 1.0), delta)
    assert value == 0.5


def test_polygamma_of_order_0_is_psi_to_the_last_bit() -> None:
    x = np.array([2.0, 3.0, 0.3, -1.5, 25.5])
    for each in (x, Var(x)):
        np.testing.assert_array_equal(cadiff.value(special.polygamma(0, each)), special.psi(x))


def test_multigammaln() -> None:
    assert special.multigammaln(Var(3.5), 2).value == pytest.approx(sp.multigammaln(3.5, 2))
    assert cadiff.value_and_grad(special.multigammaln)(3.5, 0) == (sp.multigammaln(3.5, 0), 0.0)
    want = sp.digamma(3.5) + sp.digamma(3.0)
    assert cadiff.grad(special.multigammaln)(3.5, 2) == pytest.approx(want, rel=1e-14)


# Rows beside others are what each is alone, and sums of many numbers keep their digits.

RNG = np.random.default_rng(9)
EXTREMES = (np.inf, -np.inf, np.nan, 0.0, -0.0, 700.0, -800.0)


def replayed(f: Callable[[Any], Any], x: Any) -> Any:
    """The value of a program that was recorded elsewhere."""
    program = cadiff.compile(f)
    program.value(np.zeros_like(x))
    return program.value(x)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 25, 127, 128, 129, 300])
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_rows_side_by_side_are_what_each_is_alone(name: str, axis: int, n: int) -> None:
    ours, scipys = getattr(special, name), getattr(sp, name)
    x = RNG.standard_normal((70, n))
    for k, extreme in enumerate(EXTREMES):
        x[3 * k, RNG.integers(n)] = extreme
        x[3 * k + 1] = extreme
    at = x.T.copy() if axis == 0 else x
    values = replayed(lambda x: ours(x, axis=axis), at)
    alone = np.array([replayed(ours, row) for row in x])
    np.testing.assert_allclose(
        values, alone.T if axis == 0 and alone.ndim > 1 else alone, rtol=1e-13
    )
    if name == "logsumexp":
        assert np.array_equal(values, alone, equal_nan=True)
    np.testing.assert_allclose(values, ours(at, axis=axis), rtol=1e-13)
    np.testing.assert_allclose(values, scipys(at, axis=axis), rtol=1e-12, atol=1e-13)

    each = np.array([cadiff.grad(lambda x: (ours(x) ** 2).sum())(row) for row in x])
    whole = cadiff.compile(lambda x: (ours(x, axis=axis) ** 2).sum()).grad(at)
    np.testing.assert_allclose(whole, each.T if axis == 0 else each, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [100, 1_000, 160_000])
def test_sums_of_many_keep_their_digits(n: int) -> None:
    x = np.random.default_rng(0).standard_normal(n)
    exact = math.log(math.fsum(np.exp(x)))
    for value in (replayed(special.logsumexp, x), special.logsumexp(x)):
        assert abs(value - exact) <= 2.0 * math.ulp(exact)
    shares = cadiff.compile(special.logsumexp).grad(x)
    assert abs(math.fsum(shares) - 1.0) < 4.0 * math.ulp(1.0)


# --- without SciPy -------------------------------------------------------------------------------


def test_without_scipy_the_namespace_says_what_is_missing() -> None:
    program = (
        "import sys; sys.modules['scipy'] = None\n"
        "import cadiff, cadiff.math, cadiff.nn\n"
        "try: import cadiff.scipy.special\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    assert "pip install scipy" in isolated(program)


# --- names ---------------------------------------------------------------------------------------


def test_the_namespace_mirrors_scipy() -> None:
    assert special.digamma is cadiff.digamma
    assert special.psi is cadiff.digamma
    assert special.obl_ang1_cv is sp.obl_ang1_cv
    assert set(dir(sp)) <= set(dir(special))
    for original, function in special.UFUNCS.items():
        assert isinstance(original, np.ufunc)
        assert callable(function)
    with pytest.raises(AttributeError):
        special.no_such_function


def test_every_primitive_of_the_namespace_has_a_case() -> None:
    from cadiff.operations.primitives import primitive

    tables = (cases_parameters.CASES, cases_parameters.POINTS, cases_parameters.SOLUTIONS)
    others = (name.split()[0] for table in tables for name in table)
    tried = {*CASES, *INVERSES, *others}
    tried |= {"gammasgn", "jn", "smirnov", "smirnovi", "obl_cv", "pro_cv"}  # of their own tests
    inner = re.compile(".*_(density|gap|moment|over|ratio|tail)")  # SciPy has no such names
    for name, thing in vars(special).items():
        if isinstance(thing, primitive) and not name.startswith("_"):
            assert name in tried or inner.fullmatch(name), name
