"""Random chains of layers that differentiate, solve and checkpoint inside, by all ways.

A layer is a function of an array and of a variable of the closure. First derivatives are compared
with differences of values, second ones with differences of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np
from cadiff import binding, checkpoint

from ..helpers.oracle import STAIRS
from ..helpers.properties import examples
from ..helpers.table import ROWS, Domain, window
from ..helpers.ways import check_ways

Function = Callable[..., Any]
Layer = Callable[[Any, Any], Any]
N = 3
MATRIX = numpy.array([[0.4, -0.3, 0.2], [0.1, 0.5, -0.2], [-0.4, 0.2, 0.3]])

# --- layers: an array of N numbers and an outer one in, an array of N out ------------------------

# Where operations of the table are smooth is told by their domains, but for these; what is
# piecewise constant or has kinks takes part with the branch that it chooses.
ELSEWHERE = {"gamma": (0.6, 2.5), "gammaln": (0.6, 2.5), "digamma": (0.6, 2.5), "tan": (-1.0, 1.0)}
AWAY_FROM_ZERO = {"reciprocal", "divide", "power", "cbrt", "hypot", "arctan2", "absolute", "sign"}
JUMPS = (STAIRS - {"sign"}) | {"mod", "fmod", "ieee_remainder", "where"}


def smooth_part(domain: Domain) -> tuple[float, float]:
    """An interval well inside a domain."""
    low, high = window(domain, 2.0)
    margin = 0.125 * (high - low)
    return low + margin, high - margin


def domains() -> dict[str, tuple[tuple[float, float], ...]]:
    """For each operation of real numbers the intervals from which its operands are taken."""
    found = {}
    for row in ROWS:
        intervals = [smooth_part(domain) for domain in row.domains]
        if row.name in ELSEWHERE:
            intervals = [ELSEWHERE[row.name]]
        elif row.name in AWAY_FROM_ZERO:
            intervals = [(0.3, 1.6)] * len(intervals)
        if row.name not in JUMPS and not any(domain.is_whole for domain in row.domains):
            found[row.name] = tuple(intervals)
    return found


DOMAINS = domains()


def within(x: Any, interval: tuple[float, float]) -> Any:
    low, high = interval
    return 0.5 * (low + high) + 0.45 * (high - low) * np.sin(x)


def table(name: str) -> Layer:
    """An operation of the table."""
    function = getattr(cadiff, name)

    def layer(x: Any, c: Any) -> Any:
        operands = [x, 0.7 * c + 0.3, c * x - 0.4]
        return function(*map(within, operands, DOMAINS[name]))

    return layer


def assigning(x: Any, c: Any) -> Any:
    y = np.zeros(N)
    y[:2] = x[1:] * c[0]
    y[2] = y[0] * x[0]
    y[0] += c[1]
    y[[1, 2]] = y[[2, 1]]
    return y


def looping(x: Any, c: Any) -> Any:
    total, parts = c[0], []
    for number in x:
        total = np.tanh(total * number + c[1])
        parts.append(total)
    return np.array(parts)


def gradient_inside(x: Any, c: Any) -> Any:
    return cadiff.grad(lambda y: np.sum(np.sin(y * c) * y[::-1] * x))(x)


def pushed_inside(x: Any, c: Any) -> Any:
    return cadiff.jvp(lambda y, z: np.cos(y * x) * z, (x, c), (c, np.sin(x)))[1]


def pulled_inside(x: Any, c: Any) -> Any:
    out, pullback = cadiff.vjp(lambda y: np.outer(y, np.sin(c * y)), x)
    return pullback(np.outer(x, c) + 0.1 * out)


def linearised_inside(x: Any, c: Any) -> Any:
    out, linear = cadiff.linearize(lambda y: np.cumsum(np.sin(y) * c), x)
    return linear(c * x) + linear.T(0.3 * out)


def jacobian_inside(x: Any, c: Any) -> Any:
    return cadiff.jacobian(lambda y: np.tanh(MATRIX @ (y * c)))(x) @ x


def hessian_inside(x: Any, c: Any) -> Any:
    return cadiff.hvp(lambda y: np.sum(np.sin(y * c) * y) * y[0])(x, c)


def high_order_inside(x: Any, c: Any) -> Any:
    return np.array(
        [
            cadiff.derivative(lambda t, k=k: np.sin(t * c[k]) * x[0], x[k], order=k)
            for k in range(N)
        ]
    )


def solved_inside(x: Any, c: Any) -> Any:
    return cadiff.fixed_point(lambda y: 0.4 * np.sin(y + c) + 0.3 * x, numpy.zeros(N))


def root_inside(x: Any, c: Any) -> Any:
    return x * cadiff.root(lambda y: y**3 + y - c[0] * x[1], 0.0)


@cadiff.primitive
def pulled(x: Any, c: Any) -> Any:
    return numpy.cumsum(x) * c


pulled.defvjp(
    lambda ans, x, c: lambda g: np.cumsum((g * c)[::-1])[::-1],
    lambda ans, x, c: lambda g: g * np.cumsum(x),
)


@cadiff.primitive
def pushed(x: Any, c: Any) -> Any:
    return numpy.exp(-x) * c


pushed.defjvp(lambda g, ans, x, c: -g * ans, lambda g, ans, x, c: g * np.exp(-x))

LAYERS: dict[str, Layer] = {
    **{name: table(name) for name in DOMAINS},
    "matmul": lambda x, c: MATRIX @ x + c @ MATRIX,
    "norm": lambda x, c: x / (1.0 + np.linalg.norm(x - c)),
    "solve": lambda x, c: np.linalg.solve(MATRIX + np.diag(2.0 + c * c), x),
    "sorted": lambda x, c: np.sort(x) * c,
    "chosen": lambda x, c: np.where(x > c, x * c, np.sin(x)),
    "shuffled": lambda x, c: np.concatenate([x[::-1][:2], c[1:2]]) * np.prod(x),
    "branch": lambda x, c: x * c if x[0] > 0.1 else x - c,
    "assigning": assigning,
    "looping": looping,
    "gradient": gradient_inside,
    "jvp": pushed_inside,
    "vjp": pulled_inside,
    "linearize": linearised_inside,
    "jacobian": jacobian_inside,
    "hvp": hessian_inside,
    "derivative": high_order_inside,
    "fixed_point": solved_inside,
    "root": root_inside,
    "primitive by vjp": pulled,
    "primitive by jvp": pushed,
}

CHOICES = st.lists(
    st.tuples(st.sampled_from(sorted(LAYERS)), st.booleans()), min_size=1, max_size=4
)
# Points lie off the symmetries of the layers: an even function has a smooth derivative on both
# sides of zero, but at zero itself numbers tie, and their order there is not the one nearby.
OFF = numpy.array([0.000137, 0.000291, -0.000213])
POINTS = st.lists(st.floats(-1.2, 1.2).map(lambda x: round(x, 3)), min_size=N, max_size=N).map(
    lambda numbers: numpy.array(numbers) + OFF
)


def program(choices: list[tuple[str, bool]]) -> Function:
    """Sum of the last layer; each one's outer variable is what came two layers before."""

    def run(x: Any) -> Any:
        outer, inner = 0.5 * x + 0.3, x
        for name, is_checkpointed in choices:
            layer = checkpoint(LAYERS[name]) if is_checkpointed else LAYERS[name]
            outer, inner = inner, np.sin(layer(inner, outer))
        return np.sum(inner * numpy.array([1.0, -0.6, 0.7]))

    return run


# --- truths --------------------------------------------------------------------------------------


def difference(f: Function, x: Any, direction: Any, step: float = 2.0**-9) -> Any:
    """The derivative along a direction by a difference quotient of the sixth order."""
    at = [f(x + k * step * direction) for k in (-3, -2, -1, 1, 2, 3)]
    return numpy.tensordot([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0], at, 1) / (60.0 * step)


def is_smooth(f: Function, x: Any, direction: Any) -> bool:
    """Whether both sides, and three steps, see the same derivative: no kink or jump is nearby."""
    h = 2.0**-16
    right, left = f(x + h * direction) - f(x), f(x) - f(x - h * direction)
    near, nearer = difference(f, x, direction), difference(f, x, direction, 2.0**-11)
    return bool(
        numpy.allclose(right / h, left / h, rtol=1e-2, atol=1e-3)
        and numpy.allclose(near, nearer, rtol=1e-5, atol=1e-6)
        and numpy.allclose(near, (right + left) / (2.0 * h), rtol=1e-5, atol=1e-6)
    )


@examples(90)
@given(CHOICES, POINTS)
def test_all_ways_lead_to_the_same_derivatives(
    choices: list[tuple[str, bool]], x: numpy.ndarray
) -> None:
    f = program(choices)
    direction = numpy.array([0.6, -0.3, 0.8])
    with numpy.errstate(all="ignore"):
        order = 3 if len(choices) == 2 else 2
        gradient, hessian, *_ = check_ways(f, x, order, rtol=1e-9, atol=1e-10)
        size = numpy.max(numpy.abs(hessian), initial=1.0)
        for former, along, rtol, atol in (
            (f, gradient @ direction, 1e-5, 1e-6),
            (cadiff.grad(f), hessian @ direction, 1e-4, 1e-5 * size),
        ):
            if is_smooth(former, x, direction):
                wanted = difference(former, x, direction)
                npt.assert_allclose(along, wanted, rtol=rtol, atol=atol)
    assert binding.tape_usage()["recordings"] == 0
    assert binding.running_forward() == []


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_to_third_order(name: str) -> None:
    f = program([(name, False), (name, True)])
    with numpy.errstate(all="ignore"):
        for x in ([0.3, -0.5, 0.9], [-1.1, 0.2, 0.05]):
            check_ways(f, numpy.array(x) + OFF, 3, rtol=1e-9, atol=1e-10)
