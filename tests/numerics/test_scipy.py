"""Functions of SciPy's, by their import line: values, and derivatives by differences of these."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose

import cadiff
import cadiff.numpy as cnp
from cadiff import NoDerivativeError

from ..helpers.cases_scipy import ASKED, CALLS, OTHERS, POINT, SOLVED, Call
from ..helpers.differences import check_slope

for _module in sorted({call.name.rpartition(".")[0] for call in CALLS}):
    importlib.import_module(f"scipy.{_module}")
    importlib.import_module(f"cadiff.scipy.{_module}")

STEP = 0.004
WEIGHTS = ((3, 1.0 / 60.0), (2, -9.0 / 60.0), (1, 45.0 / 60.0))


def parts_of(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [part for item in found for part in parts_of(item)]
    return [found]


def weighted(found: Any, module: Any) -> Any:
    """The sum of all that is found, times weights."""
    total = 0.0
    for part in parts_of(found):
        weights = 1.0 + 0.3 * np.cos(np.arange(int(np.prod(np.shape(part)))))
        total = total + module.sum(module.reshape(module.asarray(part), -1) * weights)
    return total


def slope(f: Callable[[Any], Any], x: Any, e: Any, step: float = STEP) -> Any:
    """The derivative along a direction, by differences."""
    return sum(w * (f(x + k * step * e) - f(x - k * step * e)) for k, w in WEIGHTS) / step


def total(call: Call) -> Callable[[Any], Any]:
    ours = call.function(cadiff.scipy, cnp)
    return lambda x: weighted(ours(x), cnp)


DIRECTION = np.cos(1.0 + np.arange(12.0)) / np.sqrt(6.0)


@pytest.mark.parametrize("call", [*CALLS, *SOLVED], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_values_and_both_modes(call: Call) -> None:
    plain, f = call.function(scipy, np), total(call)
    value, gradient = cadiff.value_and_grad(f)(POINT)
    expected = weighted(plain(POINT), np)
    assert_allclose(value, expected, rtol=1e-2 if call.digits < 5 else 1e-12, atol=1e-14)
    for e in (DIRECTION, *np.eye(12)[[0, 5]]):
        true = slope(lambda x: weighted(plain(x), np), POINT, e)
        precise = 10.0**-call.digits
        assert_allclose(gradient @ e, true, rtol=precise, atol=precise * (1.0 + abs(value)) * 0.1)
        _, along = cadiff.jvp(f, (POINT,), (e,))
        assert_allclose(along, gradient @ e, rtol=1e-10, atol=1e-11 * np.linalg.norm(gradient))


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_second_order_and_programs(call: Call) -> None:
    f = total(call)
    gradient = cadiff.grad(f)
    size = 1.0 + np.linalg.norm(gradient(POINT))
    if call.is_smooth:
        product = cadiff.hvp(f)(POINT, DIRECTION)
        true = slope(gradient, POINT, DIRECTION, 0.001)
        assert_allclose(product, true, rtol=1e-5, atol=1e-6 * size)
    program = cadiff.compile(f)
    for x in (POINT, 1.01 * POINT, POINT):
        value, found = program.value_and_grad(x)
        expected, slopes = cadiff.value_and_grad(f)(x)
        assert_allclose(value, expected, rtol=1e-11, atol=1e-12 * size)
        assert_allclose(found, slopes, rtol=1e-9, atol=1e-10 * size)


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_repeated_calls(call: Call) -> None:
    """Functions that are carried out by programs from some call on give the same numbers."""
    f = cadiff.value_and_grad(total(call))
    first = f(POINT)
    for _ in range(9):
        last = f(POINT)
    assert_allclose(last[0], first[0], rtol=1e-14)
    assert_allclose(last[1], first[1], rtol=1e-12, atol=1e-13 * (1.0 + abs(first[0])))


def test_plain_numbers_go_to_scipy() -> None:
    signal, own = scipy.signal, cadiff.scipy.signal
    coefficients = [1.0], [1.0, 0.5]
    found = own.lfilter(*coefficients, POINT)
    assert np.array_equal(found, signal.lfilter(*coefficients, POINT))
    assert set(signal.__all__) <= set(dir(own))
    with pytest.raises(AttributeError, match=r"'cadiff\.scipy\.signal' has no attribute 'filter'"):
        own.filter


def test_wrong_calls_say_what_scipy_says() -> None:
    def call(module: Any, x: Any) -> Any:
        return module.signal.filtfilt([1.0], [1.0], x, padtype="no")[0]

    for wrong in (lambda: call(scipy, POINT), lambda: cadiff.grad(call, 1)(cadiff.scipy, POINT)):
        with pytest.raises(ValueError, match="padtype"):
            wrong()


# Parameters for which SciPy has other formulas, such as a logarithm for a power of 0.
SPECIAL: list[tuple[Callable[[Any, Any], Any], tuple[float, ...]]] = [
    (lambda m, p: m.stats.yeojohnson(POINT - 0.5, p), (0.0, 2.0)),
    (lambda m, p: m.stats.yeojohnson_llf(p, POINT - 0.5), (0.0, 2.0)),
    (lambda m, p: m.stats.boxcox_llf(p, np.abs(POINT)), (0.0,)),
    (lambda m, p: [*m.stats.power_divergence(POINT * p * p, lambda_=p)], (-1.0, 1.0)),
    (lambda m, p: m.signal.lp2hp([1.0, 0.3], [1.0, 0.5, 0.2], p), (1.0,)),
    (lambda m, p: m.signal.lfilter_zi([1.0, 0.3], p * np.array([1.0, 0.4])), (1.0,)),
    (lambda m, p: m.signal.filtfilt([1.0, 0.3], p * np.array([1.0, 0.4]), POINT), (1.0,)),
    (lambda m, p: m.signal.chirp(POINT, 1.0, 2.0, p, "logarithmic"), (1.0,)),
    (lambda m, p: m.signal.chirp(POINT, 1.0, 2.0, p, "hyperbolic"), (1.0,)),
]


@pytest.mark.parametrize(("f", "p"), [(f, p) for f, values in SPECIAL for p in values])
def test_parameters_where_scipy_has_other_formulas(f: Callable[[Any, Any], Any], p: float) -> None:
    ours, plain = (
        lambda p, m=m, xp=xp: weighted(f(m, p), xp) for m, xp in ((cadiff.scipy, cnp), (scipy, np))
    )
    check_slope(ours, plain, p, 1e-7, value_rtol=1e-13, atol=1e-7)


def test_a_rational_interpolant_at_its_nodes() -> None:
    nodes = np.arange(12.0)

    def f(module: Any, np: Any, x: Any) -> Any:
        curve = module.interpolate.FloaterHormannInterpolator(nodes, POINT * x[2])
        return np.sum(curve(x[:2]) ** 2)

    x = np.array([2.0, 3.3, 1.2])
    value, gradient = cadiff.value_and_grad(lambda x: f(cadiff.scipy, cnp, x))(x)
    assert value == f(scipy, np, x)
    expected = [slope(lambda x: f(scipy, np, x), x, e) for e in np.eye(3)]
    assert_allclose(gradient, expected, rtol=1e-8)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, np.inf])
def test_orders_of_norms_have_no_derivative(order: float) -> None:
    for norm in (cnp.linalg.norm, cadiff.scipy.linalg.norm):
        with pytest.raises(NoDerivativeError, match="norm has no derivative by ord: write"):
            cadiff.grad(lambda p, norm=norm: norm(POINT, p))(order)


def test_a_check_that_ones_are_ones_is_no_branch() -> None:
    """It warns of nothing, and a program makes it at each call."""

    def f(a: Any) -> Any:
        section = cnp.hstack([[1.0, 0.5, 0.2], a])
        return cnp.sum(cadiff.scipy.signal.sosfilt(cnp.reshape(section, (1, 6)), POINT) ** 2)

    program, at = cadiff.compile(f), np.array([1.0, 0.1, 0.2])
    assert_allclose(program.grad(at), cadiff.grad(f)(at), rtol=1e-12)
    for other in (1.1, 0.9, np.nan):
        with pytest.raises(ValueError, match="should be all ones"):
            program.grad(np.array([other, 0.1, 0.2]))


@pytest.mark.parametrize(
    "name",
    [
        *("constants.c", "linalg.lapack.dgetrf", "signal.windows.hann", "sparse.csgraph.dijkstra"),
        *("spatial.transform.Rotation", "stats.distributions.norm", "stats.qmc.Sobol"),
    ],
)
def test_modules_below_have_scipys_names(name: str) -> None:
    place, _, name = name.rpartition(".")
    original = importlib.import_module(f"scipy.{place}")
    module = importlib.import_module(f"cadiff.scipy.{place}")
    assert {*dir(original)} <= {*dir(module)}
    assert hasattr(module, name)


def test_the_namespace_has_what_scipy_has() -> None:
    assert cadiff.scipy.__version__ == scipy.__version__
    assert cadiff.scipy.constants.c == 299_792_458.0
    assert cadiff.scipy.stats.distributions.norm is cadiff.scipy.stats.norm
    with pytest.raises(ModuleNotFoundError, match=r"cadiff\.scipy\.nothing"):
        importlib.import_module("cadiff.scipy.nothing")
    with pytest.raises(AttributeError, match="nothing"):
        cadiff.scipy.nothing


def test_functions_that_read_numbers() -> None:
    """What a callable reads has derivatives, too, where nothing else carries one."""

    def f(a: Any) -> Any:
        grid, at = np.arange(12.0).reshape(3, 4), lambda p: (p[0] * 0.7 + 0.1 * a, p[1] * 0.8)
        return cnp.sum(cadiff.scipy.ndimage.geometric_transform(grid, at, mode="nearest"))

    assert_allclose(cadiff.grad(f)(1.0), slope(f, 1.0, 1.0), rtol=1e-8)


def test_smoothing_chosen_at_its_bound() -> None:
    """Cross-validation asks for none, where SciPy's criterion would be 0 / 0; that stays so."""
    x = np.linspace(0.0, 4.0, 9)
    y = x + [0.74, 0.32, -0.18, -0.34, -0.18, -0.37, -0.34, -0.06, 0.31]

    def f(y: Any, lam: Any = None) -> Any:
        return cnp.sum(cadiff.scipy.interpolate.make_smoothing_spline(x, y, lam=lam)([0.3, 1.7]))

    value, gradient = cadiff.value_and_grad(f)(y)
    assert_allclose(value, f(y), rtol=1e-12)
    assert_allclose(gradient, cadiff.grad(lambda y: f(y, 0.0))(y), atol=2e-3)
    assert_allclose(cadiff.jvp(f, (y,), (x,))[1], gradient @ x, rtol=1e-9)


def test_what_has_no_derivative_says_so() -> None:
    interpolate, spatial = cadiff.scipy.interpolate, cadiff.scipy.spatial
    x = np.arange(12.0)
    whole = np.arange(9).reshape(3, 3)
    images, signal = cadiff.scipy.ndimage, cadiff.scipy.signal
    for refused, match in (
        (lambda y: images.shift(whole, y[:2]), "output=float"),
        (lambda y: images.correlate1d(whole, y[:3]), "output=float"),
        (lambda y: images.convolve(x, [1.0], mode="constant", cval=y[0]), "x - cval"),
        (lambda y: images.shift(x, 0.3, cval=y[0]), "x - cval"),
        (lambda y: signal.savgol_filter(x, 5, 2, mode="constant", cval=y[0]), "x - cval"),
        (lambda y: interpolate.make_splrep(x, y, s=0.1)(0.3), "s=0"),
        (lambda y: interpolate.make_splprep([x, y], s=0.1)[0](0.3), "s=0"),
        (lambda y: interpolate.UnivariateSpline(x, y)(0.3), "s=0"),
        (lambda y: spatial.ConvexHull(cnp.stack([x, y], axis=-1)).equations, "equations"),
        (lambda y: spatial.Delaunay(cnp.stack([x, y], axis=-1)).transform, "transform"),
    ):
        with pytest.raises(cadiff.MissingRuleError, match=match):
            cadiff.grad(lambda y, refused=refused: cnp.sum(refused(y)))(POINT)


def test_smoothing_without_a_minimum() -> None:
    """Cross-validation of values on a line is 0 whatever the parameter."""
    x = np.arange(8.0)
    spline = cadiff.scipy.interpolate.make_smoothing_spline
    with pytest.raises(NoDerivativeError, match="lam="):
        cadiff.grad(lambda y: spline(x, y)(2.3))(x)


def test_derivatives_are_asked_for_of_all_names_that_are_listed() -> None:
    """Those of modules with rules of their own, and of distributions, have tests of their own."""
    root = Path(__file__).parents[2]
    page = (root / "docs" / "scipy.md").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in (root / "tests").rglob("*.py"))
    for module, line in re.findall(r"### `scipy\.(.*)`\n\n\* has derivatives: (.*)", page):
        for name in re.findall("`(.*?)`", line):
            if module in ("fft", "linalg", "sparse", "sparse.linalg", "special"):
                assert re.search(rf"\b{name}\b", tests), name
            elif not hasattr(getattr(getattr(scipy, module, None), name, None), "rvs"):
                assert f"{module}.{name}" in ASKED


# What to write instead of these, errors say by a line of source, which there is none of here.
IN_C = (
    *("signal.sepfir2d", "spatial.ConvexHull", "sparse.linalg.spilu"),
    *("interpolate.LinearNDInterpolator", "interpolate.CloughTocher2DInterpolator"),
)


@pytest.mark.parametrize("call", [c for c in CALLS if c.name not in IN_C], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_scipy_itself_works_or_names_the_import(call: Call) -> None:
    plain = call.function(scipy, np)
    try:
        gradient = cadiff.grad(lambda x: weighted(plain(x), cnp))(POINT)
    except Exception as error:
        told = [str(error), *getattr(error, "__notes__", ())]
        if sys.version_info >= (3, 11):  # before errors have no notes
            assert any("cadiff.scipy." in text for text in told), told
    else:
        assert_allclose(gradient, cadiff.grad(total(call))(POINT), rtol=1e-9)


MATRIX, POINTS = (
    scipy.sparse.csc_array(np.eye(3) + 0.1),
    np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
)
factors, tree = scipy.sparse.linalg.splu(MATRIX), scipy.spatial.cKDTree(POINTS)
interpolant = scipy.interpolate.LinearNDInterpolator(POINTS, np.ones(3))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="it does not tell what a line calls")
@pytest.mark.parametrize(
    ("f", "module"),
    [
        (lambda x: scipy.sparse.linalg.spilu(MATRIX).solve(x), "sparse.linalg.spilu"),
        (lambda x: scipy.sparse.linalg.splu(MATRIX).solve(x), "sparse.linalg.splu"),
        (lambda x: factors.solve(x), "sparse.linalg"),
        (lambda x: tree.query(x[:2])[0], "spatial"),
        (lambda x: interpolant(x[0], x[1]), "interpolate"),
    ],
)  # fmt: skip
def test_methods_of_objects_in_c_name_the_import(f: Callable[[Any], Any], module: str) -> None:
    with pytest.raises(TypeError) as raised:
        cadiff.grad(lambda x: np.sum(f(x)))(np.ones(3))
    told = " ".join([str(raised.value), *getattr(raised.value, "__notes__", ())])
    assert f"cadiff.scipy.{module}" in told


LTI = scipy.signal.lti([1.0], [1.0, 0.5])
DIAGONAL = scipy.stats.Covariance.from_diagonal([1.0, 2.0])
# What classes make of plain numbers is an argument like any other; SciPy's, and its own.
OBJECTS: list[Callable[[Any, Any], Any]] = [
    lambda m, x: m.signal.step(LTI, T=x[0] * np.arange(4.0))[1],
    lambda m, x: m.signal.lsim(LTI, x, np.arange(12.0))[1],
    lambda m, x: m.signal.dlsim(scipy.signal.dlti([1.0], [1.0, 0.5]), x)[1],
    lambda m, x: m.signal.freqresp(LTI, x)[1].real,
    lambda m, x: m.stats.pearsonr(x, OTHERS, method=scipy.stats.PermutationMethod())[0],
    lambda m, x: m.stats.multivariate_normal.logpdf(OTHERS[:2], x[:2], DIAGONAL),
    lambda m, x: m.stats.pearsonr(x[:4], OTHERS[:4], method=m.stats.PermutationMethod()).pvalue,
    lambda m, x: m.stats.multivariate_normal.logpdf(
        OTHERS[:2], cov=m.stats.Covariance.from_diagonal(x[:2])
    ),
    lambda m, x: m.stats.multivariate_normal(None, m.stats.Covariance.from_diagonal(x[:2])).pdf(
        OTHERS[:2]
    ),
]


@pytest.mark.parametrize("f", OBJECTS)
@pytest.mark.filterwarnings("ignore")
def test_objects_of_classes(f: Callable[[Any, Any], Any]) -> None:
    """Beside plain numbers, and with derivatives."""
    assert_allclose(f(cadiff.scipy, POINT), f(scipy, POINT), rtol=1e-12)
    value, gradient = cadiff.value_and_grad(lambda x: weighted(f(cadiff.scipy, x), cnp))(POINT)
    assert_allclose(value, weighted(f(scipy, POINT), np), rtol=1e-12)
    expected = slope(lambda x: weighted(f(scipy, x), np), POINT, DIRECTION)
    assert_allclose(gradient @ DIRECTION, expected, rtol=1e-7, atol=1e-8)


def test_settings_are_of_scipys_classes() -> None:
    """So that they are settings for what plain numbers make as well."""
    found, expected = (
        m.stats.pearsonr(POINT, OTHERS).confidence_interval(
            method=m.stats.BootstrapMethod(n_resamples=99, rng=np.random.default_rng(1))
        )
        for m in (cadiff.scipy, scipy)
    )
    assert found == expected


SCATTERED = np.array([0.9, 1.7, 0.6, 1.2, 2.1, 0.8, 1.5, 1.1, 1.9, 0.7, 1.3, 1.0])
SHAPES: dict[str, Callable[[Any, Any], Any]] = {
    f"{name} at {at}": lambda m, x, name=name, at=at: getattr(m.interpolate, name)(
        x.reshape(6, 2), np.stack([OTHERS[:6], OTHERS[6:]], 1)
    )(*at)
    for name in ("LinearNDInterpolator", "CloughTocher2DInterpolator")
    for at in [(1.25, 1.18), ([1.25, 1.18],), ([1.25, 1.2], 1.18), ([[1.25, 1.18]],)]
} | {
    "a point that is there twice": lambda m, x: m.interpolate.CloughTocher2DInterpolator(
        np.concatenate([x, x[:2]]).reshape(7, 2), OTHERS[:7], tol=1e-15, maxiter=9999
    )(1.25, 1.18),
    "support": lambda m, x: m.stats.beta.support(x[:3], x[3:6], 1.0, 2.0)[1],
    "support of one": lambda m, x: m.stats.beta.support(2.0, x[0], OTHERS[:2])[0],
}


@pytest.mark.parametrize("transform", [cadiff.grad, cadiff.compile])
def test_whole_numbers_of_images_are_rounded_as_scipy_does(transform: Any) -> None:
    of, moved = np.array([1.0, 2.0, 3.0]), lambda p: (p[0] - 3,)
    calls: list[Callable[[Any], Any]] = [
        lambda m: m.geometric_transform([1, 2, 3, 4], moved, mode="reflect"),
        lambda m: m.geometric_transform(np.arange(1, 6), moved, mode="reflect"),
        lambda m: m.shift(of, 0.3, output=int),
        lambda m: m.zoom(of, 2.0, output=int),
    ]

    def f(x: Any) -> Any:
        for found, wanted in ((call(cadiff.scipy.ndimage), call(scipy.ndimage)) for call in calls):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
        return cnp.sum(x * calls[1](cadiff.scipy.ndimage))

    assert transform(f)(1.0) == calls[1](scipy.ndimage).sum()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors have no notes")
def test_errors_of_scipys_compiled_functions_name_the_import() -> None:
    """Their frames have files of no library, and are no user's."""
    with pytest.raises(TypeError, match="No matching signature") as caught:
        cadiff.grad(lambda t: np.sum(scipy.signal.upfirdn([1.0 + t, 1.0], [1, 2, 3], 3)))(0.0)
    assert "write cadiff.scipy.signal.upfirdn" in " ".join(caught.value.__notes__)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_scipys(name: str) -> None:
    wanted = SHAPES[name](scipy, SCATTERED)
    value, tangent = cadiff.jvp(lambda x: SHAPES[name](cadiff.scipy, x), (SCATTERED,), (POINT,))
    assert np.shape(value) == np.shape(tangent) == np.shape(wanted)
    assert_allclose(value, wanted, rtol=1e-9)
