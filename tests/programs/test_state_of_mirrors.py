"""What a user changes of an object of SciPy's, such as a spline or a distribution, is seen."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy.interpolate as ip
import cadiff.scipy.signal as sg
import cadiff.scipy.stats as st

BOTH = "s.c[:] *= c", "s.c = s.c * c"

# What makes an object s, what is computed with it of a number x, and ways to change it, with
# another number c each time: in place, by another value, by a method.
KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "CubicSpline": ("ip.CubicSpline(T, Y)", "s(x)", BOTH),
    "PchipInterpolator": ("ip.PchipInterpolator(T, Y)", "s(x)", BOTH),
    "Akima1DInterpolator": ("ip.Akima1DInterpolator(T, Y)", "s(x)", BOTH),
    "KroghInterpolator": ("ip.KroghInterpolator(T, Y)", "s(x)", BOTH),
    "BarycentricInterpolator": (
        "ip.BarycentricInterpolator(T, Y)",
        "s(x)",
        ("s.set_yi(Y * c)", "s.yi[:] *= c"),
    ),
    "PPoly": ("ip.PPoly(PIECES, T[:3])", "s(x)", BOTH),
    "extrapolate": ("ip.PPoly(PIECES, T[:3])", "s(x + 9.2)", ("s.extrapolate = 'periodic'",)),
    "BPoly": ("ip.BPoly(PIECES, T[:3])", "s(x)", BOTH),
    "BSpline": ("ip.BSpline(KNOTS, C, 2)", "s(x + 2.0)", BOTH),
    "NdBSpline": (
        "ip.NdBSpline((KNOTS,), C, 2)",
        "s(cnp.stack([x + 2.0])).sum()",
        ("s.c[:] *= c",),
    ),
    "interp1d": ("ip.interp1d(T, Y)", "s(x)", ("s.y[:] *= c", "s._y = s._y * c")),
    "RegularGridInterpolator": (
        "ip.RegularGridInterpolator((T, T), np.outer(Y, Y) + 1.0)",
        "s(cnp.stack([x, x])).sum()",
        ("s.values[:] *= c",),
    ),
    "RBFInterpolator": (
        "ip.RBFInterpolator(T[:, None], Y, kernel='cubic')",
        "s(cnp.stack([x])[None]).sum()",
        ("s._coeffs[:] *= c", "s._coeffs = s._coeffs * c"),
    ),
    "Rbf": ("ip.Rbf(T, Y)", "s(x)", ("s.nodes[:] *= c", "s.epsilon = c")),
    "InterpolatedUnivariateSpline": (
        "ip.InterpolatedUnivariateSpline(T, Y)",
        "s(x)",
        ("s._eval_args[1][:] *= c",),
    ),
    "UnivariateSpline": (
        "ip.UnivariateSpline(np.arange(9.0), np.arange(9.0) ** 2)",
        "s(x)",
        ("s.set_smoothing_factor(40.0 * c)",),
    ),
    "NearestNDInterpolator": (
        "ip.NearestNDInterpolator(POINTS, Y)",
        "x * s(0.9, 0.9)",
        ("s.values[:] *= c",),
    ),
    "LinearNDInterpolator": (
        "ip.LinearNDInterpolator(POINTS, Y)",
        "s(x, 0.2)",
        ("s.values[:] *= c", "s.values = s.values * c"),
    ),
    "an antiderivative": ("ip.CubicSpline(T, Y).antiderivative()", "s(x)", BOTH),
    "a derivative": ("ip.BSpline(KNOTS, C, 2).derivative()", "s(x + 2.0)", BOTH),
    "gaussian_kde": (
        "st.gaussian_kde(T)",
        "s(x)[0]",
        ("s.set_bandwidth(c)", "s.dataset[:] *= c", "s.dataset = s.dataset * c"),
    ),
    "rv_histogram": (
        "st.rv_histogram(np.histogram(Y, bins=3))",
        "x * s.pdf(1.0)",
        ("s._hpdf[:] *= c", "s._hpdf = s._hpdf * c"),
    ),
    "rv_discrete": (
        "st.rv_discrete(values=([0, 1, 2], np.array([0.2, 0.3, 0.5])))",
        "x * s.pmf(1)",
        ("s.pk[:] *= c", "s.pk = s.pk * c"),
    ),
    "gamma": (
        "st.gamma(2.0)",
        "s.pdf(x)",
        ("s.args = (1.0 + c,)", "s.kwargs['scale'] = c", "s.kwargs = {'scale': c}"),
    ),
    "norm": ("st.norm(np.array([1.0, 2.0]))", "s.pdf(x).sum()", ("s.args[0][:] *= c",)),
    "moyal": ("st.moyal(1.0)", "s.pdf(x)", ("s.args = (c,)", "s.kwds = {'scale': c}")),
    "multivariate_normal": (
        "st.multivariate_normal([1.0, 4.0], np.eye(2))",
        "s.pdf(cnp.stack([x, x]))",
        ("s.mean[:] *= c", "s.mean = s.mean * c"),
    ),
    "dirichlet": (
        "st.dirichlet([1.0, 4.0])",
        "s.pdf(cnp.stack([x, 1.0 - x]))",
        ("s.alpha[:] *= c", "s.alpha = s.alpha * c"),
    ),
    "lti": (
        "sg.lti([1.0], [1.0, 2.0])",
        "x * abs(sg.freqresp(s, [0.5])[1][0])",
        ("s.num = [c]", "s.den = [1.0, c]", "s.den[1] = 3.0 * c"),
    ),
    "ZerosPolesGain": (
        "sg.ZerosPolesGain([1.0], [-2.0], 3.0)",
        "x * abs(s.freqresp([0.5])[1][0])",
        ("s.gain = c", "s.poles = [-c]", "s.zeros[:] = c"),
    ),
    "StateSpace": (
        "sg.StateSpace(-2.0, 1.0, 1.0, 0.0)",
        "x * s.A[0, 0] * s.B[0, 0]",
        ("s.A = [[c]]", "s.A[:] *= c"),
    ),
}
if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17):  # whose points have no derivatives
    del KINDS["NdBSpline"], KINDS["RBFInterpolator"]
# Of which something is held that cannot be looked into.
EAGER = ("BarycentricInterpolator", "LinearNDInterpolator")


def names() -> dict[str, Any]:
    """What the texts above name; objects keep some of the arrays as they are."""
    return {
        "np": np,
        "cnp": cnp,
        "ip": ip,
        "sg": sg,
        "st": st,
        "c": 1.0,
        "T": np.arange(4.0),
        "Y": np.array([0.0, 1.0, 4.0, 8.0]),
        "KNOTS": np.arange(6.0),
        "C": np.array([1.0, 2.0, -1.0]),
        "PIECES": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "POINTS": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.3]]),
    }


def ways_to(s: Any, f: Callable[[Any, Any], Any]) -> list[tuple[Any, tuple[Any, ...]]]:
    """Functions of x that find an object at different places, with further arguments."""
    items = [s]
    found: list[tuple[Any, tuple[Any, ...]]] = [
        (lambda x: f(s, x), ()),
        (lambda x, given: f(given, x), (s,)),
        (functools.partial(f, s), ()),
        (lambda x: f(items[0], x), ()),
    ]
    if isinstance(s, (ip.PPoly, ip.BSpline)):
        bound: Any = s.__call__
        found.append((lambda x: bound(x + 2.0) * 1.0, ()))
    return found


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*rests on the equality of floats:RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_changed_of_an_object_is_seen(kind: str) -> None:
    made, expression, changes = KINDS[kind]
    there = names()
    s = there["s"] = eval(made, there)
    f = eval(f"lambda s, x: {expression}", there)
    calls = [(g, more, cadiff.compile(g)) for g, more in ways_to(s, f)]
    x, h = 0.5, 1e-5

    def check(change: str) -> None:
        for g, more, program in calls:
            for _ in range(2):
                np.testing.assert_array_max_ulp(program(x, *more), np.float64(g(x, *more)), 32)
            slope = (g(x + h, *more) - g(x - h, *more)) / (2.0 * h)  # of SciPy's own values
            np.testing.assert_allclose(program.grad(x, *more), slope, 1e-6, 1e-7, err_msg=change)

    check("")
    recordings = [program.stats()["recordings"] for _, _, program in calls]
    check("")  # whatever its methods keep in it
    assert [program.stats()["recordings"] for _, _, program in calls] == recordings
    assert all(recordings) or kind in EAGER
    for k, change in enumerate(changes):
        there["c"] = 0.7 - 0.1 * k
        exec(change, there)
        check(change)


@pytest.mark.parametrize(
    "kind", ["CubicSpline", "interp1d", "Rbf", "gaussian_kde", "multivariate_normal"]
)
@pytest.mark.parametrize("way", [cadiff.grad, lambda f: cadiff.compile(f).grad])
def test_what_is_made_of_constants_may_be_kept(kind: str, way: Any) -> None:
    """As by `functools.cached_property`: the first call that makes it differentiates."""
    there = names()
    made, expression, _ = KINDS[kind]
    make, f = (eval(text, there) for text in (f"lambda: {made}", f"lambda s, x: {expression}"))

    class Fitted:
        @functools.cached_property
        def made(self) -> Any:
            return make()

        def __call__(self, x: Any) -> Any:
            return f(self.made, x)

    slope = way(Fitted())
    for x in (0.4, 0.6, 0.4):
        assert slope(x) == pytest.approx(cadiff.grad(Fitted())(x), rel=1e-12)
