"""Derivatives by parameters for which there is no formula: by differences of high order.

An analytic function is, over an interval on which it changes by no more than a few times itself,
a polynomial of low degree to all its digits; and the derivative of the polynomial is that of the
function, also to nearly all digits, since the interval is no small step (Trefethen, Approximation
Theory and Approximation Practice, 2013, chapters 4, 8 and 21). The polynomial goes through values
at Chebyshev's points. Its last coefficients say how good it is: where they are not small the
interval is halved, and where no interval serves the derivative is nan.

How far to look at first is for others to say; this module knows no function by name. It has to be
told, too, where a function is hardly more than a constant, whose digits hide those of the rest:
one that is 1 at 0 of its last argument is 1 and the integral of its slope there; one that is even
in a parameter is a polynomial of even powers next to 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from .. import binding
from ..binding import carries
from ..operations.primitives import primitive

Array: TypeAlias = NDArray[Any]

HALVINGS = 40
NARROW = 0.01  # a width relative to the parameter, where none was found
BLOCK = 1024  # elements at a time, whose numbers stay in a cache
RESOLVED = 1e-10  # how small the last coefficients are to be beside those of the derivative
NOISE = 2e-15  # how small rounding leaves them beside the largest one
NEARLY = 0.1  # how far from 1 a function is taken as the integral of its slope, to 1 itself ...
SURELY = 1e-13  # if that is nearly the same, as where the slope is not too steep there
LEGENDRE = np.polynomial.legendre.leggauss(20)
DOUBTFUL = 1e-6  # how small they have to be beside it
FEW = 2
TINY = 1e-300


class Rule(NamedTuple):
    """How derivatives of an order follow from values at Chebyshev's points, `nodes`.

    The rows that values are combined with are the derivative in the middle, the first coefficients
    that count in it, and the last; `width` is which part serves of the one that is asked for.
    """

    width: float
    nodes: Array
    coefficients: Array
    rows: Array


@functools.cache
def rule(order: int) -> Rule:
    """Fewer points and a smaller width serve a first derivative, whose digits noise spares."""
    n, width = (8, 0.4) if order == 1 else (12, 1.0)
    angles = (np.arange(n) + 0.5) * (np.pi / n)
    coefficients = 2.0 / n * np.cos(np.outer(np.arange(n), angles))
    coefficients[0] *= 0.5
    middle = chebyshev.chebval(0.0, chebyshev.chebder(coefficients, order))
    first = coefficients[min(order, n - FEW) :][:FEW]
    rows = np.vstack([middle, first, coefficients[-2 * FEW :]])
    return Rule(width, np.cos(angles), coefficients, rows)


def _combined(rows: Array, values: Array) -> Array:
    """Sums of values times rows of numbers.

    By no matrix product, whose last digits depend on how many elements there are.
    """
    return functools.reduce(np.add, map(np.multiply, rows.T[..., None], values))


def _beside(rule: Rule, order: int, at: Array, values: Array, even: Array) -> Array:
    """The derivative elsewhere between -1 and 1, of polynomials that may be even ones."""
    coefficients = _combined(rule.coefficients, values)
    coefficients[1::2] *= ~even
    return chebyshev.chebval(at, chebyshev.chebder(coefficients, order), tensor=False)


def differentiated(
    f: Callable[..., Any],
    order: int,
    x: Array,
    width: Array,
    ends: tuple[float, float],
    others: Sequence[Array],
    is_even: bool = False,
) -> Array:
    """The derivative of f(x, *others) by x, elementwise.

    Parameters
    ----------
    f : callable
        Of arrays with an axis of Chebyshev's points in front of that of the elements.
    order : int
        Of the derivative, at least 1.
    x, width, others : ndarray, shape (m,)
        Points, half the length of the intervals to begin with, and further arguments. Where a
        length is infinite f does not change.
    ends : (float, float)
        Those of the domain of f: an interval that would go beyond begins or ends there.
    is_even : bool
        Whether f(x) is f(-x).
    """
    low, high = ends
    by = rule(order)
    best, least = np.where(width == np.inf, 0.0, np.nan), np.full(x.shape, np.inf)
    inside = (x >= low) & (x <= high) & np.isfinite(x) & np.isfinite(width) & (width > 0.0)
    width = by.width * np.minimum(width, 0.5 * (high - low))
    left = np.flatnonzero(inside)
    for halving in range(HALVINGS):
        if not left.size:
            break
        at, half = x[left], width[left] * 0.5**halving
        even = is_even & (np.abs(at) < half)
        centre = np.where(even, 0.0, np.clip(at, low + half, high - half))
        points = centre + by.nodes[:, None] * half
        values = f(np.where(even, np.abs(points), points), *(other[left] for other in others))
        slopes, *parts = _combined(by.rows, values)
        first, before, last = np.max(np.abs(parts).reshape(3, FEW, -1), axis=1)
        # In the middle the next coefficient is the first that lacks; these fall like powers.
        tail = last * (last / np.maximum(np.maximum(before, last), TINY))
        apart = np.flatnonzero((at != centre) | even)
        if apart.size:
            tail[apart] = last[apart]
            places = ((at - centre) / half)[apart]
            slopes[apart] = _beside(by, order, places, values[:, apart], even[apart])
        size = np.max(np.abs(values), axis=0)
        error = tail / half**order
        is_better = error < least[left]
        least[left] = np.where(is_better, error, least[left])
        slopes = np.where(last <= DOUBTFUL * size, slopes, np.nan) / half**order
        best[left] = np.where(is_better, slopes, best[left])
        is_enough = tail <= np.maximum(RESOLVED * first, NOISE * size)
        left = left[~is_enough & (is_better | ~(last <= DOUBTFUL * size))]
    return best


def slope(f: Callable[[Any], Any], x: Array) -> Any:
    with binding.Forward(-1, (f, (x,))) as tag:
        return binding.final_parts(f(binding.make_dual(x, np.ones(x.shape), tag)), tag)[1]


class Differences(primitive):
    """Derivatives of a function by some of its parameters.

    `differences(*args, orders=(1, 0))` is the derivative, of first order by the first of two
    arguments, as a function of them; its own derivatives are others of the kind.

    Parameters
    ----------
    function : primitive
        Elementwise. By the other parameters it has partials of its own.
    widths : mapping
        For the position of a parameter, a function of the arguments that answers over what
        distance the logarithm of the function changes by ½ or so; where the domain begins and
        ends; and whether the function is even in it.
    is_one : bool
        Whether it is 1 at 0 of the last argument.
    """

    def __init__(
        self,
        function: primitive,
        n: int,
        widths: Mapping[int, tuple[Callable[..., Any], float, float, bool]],
        is_one: bool = False,
    ) -> None:
        self.differentiated, self.widths, self.is_one = function, widths, is_one

        def values(*args: Any, orders: tuple[int, ...]) -> Any:
            return self._values(args, orders)

        values.__module__ = function.__module__
        values.__name__ = values.__qualname__ = f"{function.function.__name__}.differences"
        super().__init__(values)
        self.called = function.called
        self.defpartials(*(functools.partial(self._rule, k) for k in range(n)))

    def _rule(self, k: int, ans: Any, *args: Any, orders: tuple[int, ...]) -> Any:
        return self(*args, orders=(*orders[:k], orders[k] + 1, *orders[k + 1 :]))

    def _values(self, args: tuple[Any, ...], orders: tuple[int, ...]) -> Any:
        k = next((k for k in self.widths if orders[k]), None)
        exactly = k is None
        if k is None:
            k = next((k for k, order in enumerate(orders) if order), None)
        if k is None:
            is_less = self.is_one and not any(map(carries, args))
            return (self._less_one if is_less else self.differentiated)(*args)
        fewer = (*orders[:k], orders[k] - 1 if exactly else 0, *orders[k + 1 :])
        spread = np.broadcast_arrays(*args)
        x, others = spread[k].astype(float), [*spread[:k], *spread[k + 1 :]]

        def along(x: Any, *others: Any) -> Any:
            return self._values((*others[:k], x, *others[k:]), fewer)

        if exactly:
            return slope(lambda x: along(x, *others), x)
        width, low, high, is_even = self.widths[k]
        with np.errstate(all="ignore"):
            distances = np.broadcast_to(np.asarray(width(*spread), dtype=float), x.shape)
            # At infinity, of other arguments, functions are constants, and logarithms infinite.
            distances = np.where(distances > 0.0, distances, NARROW * np.abs(x))
            flat = [y.ravel() for y in (x, distances, *others)]
            if x.size > 1 and all(y[0] == y[-1] and np.all(y == y[0]) for y in flat):
                flat = [y[:1] for y in flat]  # the same question, many times
            slopes = np.empty(flat[0].size)
            for first in range(0, slopes.size, BLOCK):
                part = slice(first, first + BLOCK)
                at, wide, *rest = (y[part] for y in flat)
                slopes[part] = differentiated(
                    along, orders[k], at, wide, (low, high), rest, is_even
                )
        return np.broadcast_to(slopes, x.size).reshape(x.shape).copy()[()]

    def _less_one(self, *args: Any) -> Any:
        """The function less 1, to all its digits.

        The way from 0 to z is one of exponentials, which goes slowly next to 0 and 1, or straight;
        to 1 itself, where hyp2f1 is a power of the distance, it ends as slowly as a power does.
        """
        excess = np.asarray(self.differentiated(*args)) - 1.0
        near = np.abs(excess) < NEARLY
        if np.any(near):
            *p, z = (x[near] for x in np.broadcast_arrays(*args))
            sign = np.where((z > 0.0) & (z < 1.0), -1.0, np.sign(z))
            length = np.log1p(sign * z)
            nodes, weights = (x[:, None] for x in LEGENDRE)
            parts, ends = 0.5 * (nodes + 1.0), [z == 1.0, z > 1.0]
            ways = [1.0 - (1.0 - parts) ** 5, parts * z], sign * np.expm1(parts * length)
            rates = [5.0 * (1.0 - parts) ** 4, z], sign * length * np.exp(parts * length)
            at, rate = np.select(ends, *ways), np.select(ends, *rates)
            slopes = slope(lambda z: self.differentiated(*p, z), at)
            integral = 0.5 * np.sum(weights * rate * slopes, axis=0)
            is_right = (z != 1.0) | (np.abs(integral - excess[near]) <= SURELY)
            excess[near] = np.where(is_right, integral, excess[near])
        return excess
