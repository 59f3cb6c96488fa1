"""What `scipy.interpolate` has compiled of splines: piecewise polynomials, B-splines, FITPACK.

All of it is arithmetic on coefficients that stand at places, once it is known between which knots
a point lies. That is asked of plain values; the arithmetic is SciPy's, in its order, over numbers
with derivatives, so that points, coefficients and knots have derivatives of any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse
import scipy.spatial
from numpy.typing import NDArray
from scipy.interpolate import BSpline, _bsplines, _dierckx, _fitpack_impl, _ndbspline, _ppoly
from scipy.linalg import get_lapack_funcs as lapack_functions

from .. import binding
from ..binding import carries
from ..numpy._common import Number, as_number
from ..operations.arrays import blank, concatenate, moveaxis, opened, reshape, stack
from ..operations.arrays import sum as sum_
from ..operations.guards import LESS, NoDerivativeError, held, places
from ..operations.primitives import stated
from ..operations.table import where
from ._mirror import kernels, mirrored, read_values, taking_constants

Places = NDArray[np.intp]


def _plain(x: Any) -> NDArray[Any]:
    """The values of numbers, by which places are found."""
    return np.asarray(binding.plain_values(x))


def column(x: Number) -> Number:
    return x[..., None]


# --- piecewise polynomials -----------------------------------------------------------------------


def _intervals(knots: Any, points: Any) -> Places:
    """In which interval each point lies, the first or the last one where it lies in none."""
    t, x = _plain(knots), _plain(points)
    if binding.depends((knots, points)):
        places(knots, points, "right")
    if t[0] > t[-1]:  # they descend
        found = len(t) - 1 - np.searchsorted(t[::-1], x, side="left")
    else:
        found = np.searchsorted(t, x, side="right") - 1
    return np.clip(found, 0, len(t) - 2)


def _beyond(knots: Any, points: Any, extrapolate: bool) -> NDArray[np.bool_]:
    """Where there is no value: at nan, and outside unless polynomials go on there."""
    t, x = _plain(knots), _plain(points)
    low, high = min(t[0], t[-1]), max(t[0], t[-1])
    if binding.depends((knots, points)) and not extrapolate:
        binding.compare(points, low, LESS)
        binding.compare(high, points, LESS)
    inside = (x >= low) & (x <= high)
    return np.isnan(x) if extrapolate else ~np.asarray(inside)


def polynomials(c: Number, s: Number, order: int) -> Number:
    """Polynomials with coefficients c[0], ..., the highest first, or a derivative, at s.

    Antiderivatives have a negative order. Powers are formed, and terms added, from the lowest on.
    """
    n = binding.shape(c)[0]
    if order >= n:
        return np.zeros(np.broadcast_shapes(binding.shape(c)[1:], binding.shape(s)))
    result: Number = 0.0
    power: Number = 1.0
    for k in range(n):
        if k < order:
            continue
        factor = math.prod(range(k - order + 1, k + 1)) if order > 0 else 1.0
        for j in range(k + 1, k + 1 - order):
            factor /= j
        result = result + c[n - 1 - k] * power * float(factor)
        if k < n - 1:
            power = power * s
    for _ in range(-order):
        result = result * s
    return result


def _without(found: Number, beyond: NDArray[np.bool_]) -> Number:
    """What is found, but nan at some points, the first axis."""
    if not beyond.any():
        return found
    beyond = np.broadcast_to(beyond[:, None], binding.shape(found))
    return where(beyond, math.nan, found)


def _in_pieces(
    find: Callable[..., Number], c: Any, t: Any, x: Any, order: int, extrapolate: bool, out: Any
) -> None:
    """A kernel of piecewise polynomials, c of the shape (degree + 1, intervals, n), at points.

    find(c, s, width, order): of each point by its interval, at s behind where that begins.
    """
    c, t, x = as_number(c), as_number(t), as_number(x)
    if x.size:
        at = _intervals(t, x)
        found = find(c[:, at], column(x - t[at]), column(t[at + 1] - t[at]), order)
        out[...] = _without(found, _beyond(t, x, extrapolate))


def _bernstein(c: Number, s: Number, width: Number, order: int) -> Number:
    """Polynomials in the basis of Bernstein."""
    s = s / width
    for _ in range(order):  # the derivative has the differences for coefficients
        n = binding.shape(c)[0] - 1
        c = (c[1:] - c[:-1]) * (float(n) / width) if n else 0.0 * c
    n = binding.shape(c)[0] - 1
    return sum(c[k] * s**k * (1.0 - s) ** (n - k) * float(math.comb(n, k)) for k in range(n + 1))


kernels("scipy.interpolate._ppoly", "evaluate", varying=True)(
    partial(_in_pieces, lambda c, s, width, order: polynomials(c, s, order))
)
kernels("scipy.interpolate._ppoly", "evaluate_bernstein", varying=True)(
    partial(_in_pieces, _bernstein)
)


@kernels("scipy.interpolate._ppoly", varying=True)
def fix_continuity(c: Any, t: Any, order: int) -> None:
    """Let each polynomial, and derivatives of it, begin where the one before ends."""
    n = binding.shape(c)[0]
    for k in range(1, binding.shape(c)[1]):
        for d in range(order, -1, -1):
            end = polynomials(c[:, k - 1], as_number(t[k] - t[k - 1]), d)
            c[n - 1 - d, k] = end / float(math.factorial(d))


@kernels("scipy.interpolate._ppoly", varying=True)
def integrate(c: Any, t: Any, a: Any, b: Any, extrapolate: bool, out: Any) -> None:
    """Integrals of piecewise polynomials from a to b, a <= b."""
    c, t = as_number(c), as_number(t)
    first, last = (int(_intervals(t, [x])[0]) for x in (a, b))
    total: Number = 0.0
    for k in range(first, last + 1):
        ends = (b if k == last else t[k + 1], a if k == first else t[k])
        upper, lower = (polynomials(c[:, k], as_number(x - t[k]), -1) for x in ends)
        total = total + (upper - lower)
    beyond = _beyond(t, stack([as_number(a), as_number(b)]), extrapolate).any()
    out[...] = total * math.nan if beyond else total


@kernels("scipy.interpolate._ppoly", varying=True)
def real_roots(c: Any, t: Any, y: Any, discontinuity: bool, extrapolate: bool) -> Any:
    """Where piecewise polynomials have a value; a root is what Newton's method does not change."""
    plain = (read_values(c), read_values(t), float(read_values(y)), discontinuity, extrapolate)
    found = enumerate(_ppoly.real_roots(*plain))
    c, t = as_number(c), as_number(t)
    return [_moving_roots(c[:, :, k], t, y, roots) for k, roots in found]


def _moving_roots(c: Number, t: Number, y: Number, roots: Any) -> Number:
    if not len(roots) or np.isnan(roots).any():
        return roots
    at, near = _intervals(t, roots), 1e-6 * (1.0 + np.abs(roots))

    def parts(root: Any) -> tuple[Any, Any, Any]:
        """What is too much, the slope, and where there is none."""
        s = root - t[at]
        slope = polynomials(c[:, at], s, 1)
        is_flat = read_values(slope) == 0.0
        return polynomials(c[:, at], s, 0) - y, where(is_flat, 1.0, slope), is_flat

    rest, slope, is_flat = parts(roots)
    is_none = is_flat | (np.abs(read_values(rest / slope)) > near)
    at = np.where(is_none & (roots == _plain(t)[at]), np.maximum(at - 1, 0), at)  # to the left
    root = roots
    for _ in range(2):  # each step doubles the orders of derivatives that are right
        rest, slope, is_flat = parts(root)
        root = root - rest / slope
    jumps = np.abs(read_values(root) - roots) > near
    begun = roots + (rest - held(rest)) ** 0.5  # where two roots meet, with infinite speed
    return where(jumps, np.asarray(roots), where(is_flat, begun, root))  # jumps do not move


# --- B-splines -----------------------------------------------------------------------------------


def _spans(t: Any, k: int, x: Any) -> Places:
    """Between which knots each point lies, among those between which splines are complete."""
    knots, points = _plain(t), _plain(x)
    if binding.depends((t, x)):
        places(t, x, "right")
    n = len(knots) - k - 1
    return np.clip(np.searchsorted(knots, points, side="right") - 1, k, n - 1)


def basis(t: Number, k: int, x: Number, at: Places, order: int) -> list[Number]:
    """The k + 1 B-splines that are not 0 at points, or a derivative of them.

    By the recursion of Cox and de Boor from degree to degree; in the last steps, as many as the
    order, that of derivatives.
    """
    knots = _plain(t)
    h: list[Number] = [0.0 * x + 1.0]
    for j in range(1, k + 1):
        before, h = h, [0.0 * x for _ in range(j + 1)]
        for n in range(1, j + 1):
            right, left = at + n, at + n - j
            is_empty = knots[right] == knots[left]
            width = where(is_empty, 1.0, t[right] - t[left])
            if j <= k - order:
                w = where(is_empty, 0.0, before[n - 1] / width)
                h[n - 1] = h[n - 1] + w * (t[right] - x)
                h[n] = w * (x - t[left])
            else:
                w = where(is_empty, 0.0, float(j) * before[n - 1] / width)
                h[n - 1] = h[n - 1] - w
                h[n] = w
    return h


@kernels("scipy.interpolate._dierckx", varying=True)
def evaluate_spline(
    t: Any, c: Any, k: int, x: Any, order: int, extrapolate: bool, *out: Any
) -> Any:
    """Splines with coefficients c, of the shape (splines, n), at points.

    Older versions of SciPy have them written to an array.
    """
    t, c, x = as_number(t), as_number(c), as_number(x)
    if not x.size:
        return np.zeros((0, c.shape[1]))
    total: Number = 0.0
    if order > k:
        total = _without(0.0 * column(x) * c[:1], np.isnan(_plain(x)))
    else:
        at = _spans(t, k, x)
        for n, value in enumerate(basis(t, k, x, at, order)):
            total = total + c[at + n - k] * column(value)
        total = _without(total, _beyond(_inner(t, k), x, extrapolate))
    if out:
        out[0][...] = total
    return total


def _inner(t: Any, k: int) -> Any:
    """The ends between which splines are complete."""
    knots = _plain(t)
    return knots[[k, len(knots) - k - 1]]


@kernels("scipy.interpolate._dierckx", varying=True)
def evaluate_all_bspl(t: Any, k: int, x: Any, at: int, order: int = 0) -> Any:
    found = basis(as_number(t), k, as_number([x]), np.array([at]), order)
    return concatenate([as_number(value) for value in found])


@kernels("scipy.interpolate._dierckx")
def find_interval(t: Any, k: int, x: Any, before: int, extrapolate: bool) -> int:
    return int(_dierckx.find_interval(_plain(t), k, float(_plain(x)), before, extrapolate))


@kernels("scipy.interpolate._dierckx", varying=True)
def _coloc(x: Any, t: Any, k: int, matrix: Any, offset: int = 0) -> None:
    """The splines at points, in a banded matrix as LAPACK has it, transposed."""
    x, t = as_number(x), as_number(t)
    at = _spans(t, k, x)
    rows = np.arange(len(at)) + offset
    for n, value in enumerate(basis(t, k, x, at, 0)):
        columns = at + n - k
        matrix[columns, 2 * k + rows - columns] = value


@kernels("scipy.interpolate._dierckx", varying=True)
def data_matrix(x: Any, t: Any, k: int, w: Any, extrapolate: bool = False) -> Any:
    """The splines that are not 0 at points, times weights, and which of all is their first one."""
    x, t = as_number(x), as_number(t)
    at = _spans(t, k, x)
    return stack(basis(t, k, x, at, 0)).T * column(as_number(w)), at - k, len(_plain(t)) - k - 1


@kernels("scipy.interpolate._bsplines")
def get_lapack_funcs(names: Sequence[str], arrays: Sequence[Any] = (), *args: Any) -> list[Any]:
    """LAPACK's functions; of numbers with derivatives what they are called for."""
    if not carries(list(arrays)):
        return lapack_functions(names, [held(x) for x in arrays], *args)  # type: ignore[no-any-return]
    return [_solves_banded for _ in names]


def _solves_banded(
    lower: int, upper: int, matrix: Any, right: Any, *args: Any, **kwargs: Any
) -> tuple[Any, Any, Any, int]:
    """As LAPACK's gbsv, which leaves room above the matrix."""
    from .linalg import solve_banded

    return matrix, None, solve_banded((lower, upper), matrix[lower:], right), 0


# --- FITPACK -------------------------------------------------------------------------------------

EXTRAPOLATED, ZERO, RAISED, NEAREST = range(4)
# Of splines of least squares, in versions of SciPy that know periodic ones.
RESIDUALS = (None, None) if "periodic" in signature(_bsplines._lsq_solve_qr).parameters else ()
INVALID = 10  # what it says of arguments that are none

# Until 1.18, SciPy had it compiled from Fortran, with other arguments for some of its functions.
IS_OF_FORTRAN = hasattr(_fitpack_impl, "dfitpack")
FITPACK = _fitpack_impl.dfitpack if IS_OF_FORTRAN else _fitpack_impl._fitpack


def _fitted(t: Any, c: Any, k: int, x: Any, order: int, outside: int) -> tuple[Any, int]:
    t, x = as_number(t), as_number(x)
    n = len(_plain(t)) - k - 1
    c = as_number(c)[:n]
    low, high = _inner(t, k)
    beyond = (_plain(x) < low) | (_plain(x) > high)
    if outside == RAISED and beyond.any():
        return x, 1
    inside = _within(t, k, x) if outside == NEAREST else x
    values = evaluate_spline(t, reshape(c, (n, 1)), k, inside, order, True)[:, 0]
    return (where(beyond, 0.0, values) if outside == ZERO else values), 0


class _OfNumbers:
    """What stands for functions of FITPACK's where numbers have derivatives."""

    def splev(self, t: Any, c: Any, k: int, x: Any, outside: int) -> Any:
        return _fitted(t, c, k, x, 0, outside)

    def splder(self, t: Any, c: Any, k: int, first: Any, second: Any, outside: int) -> Any:
        x, order = (first, second) if IS_OF_FORTRAN else (second, first)
        return _fitted(t, c, k, x, order, outside)

    def splint(self, t: Any, c: Any, k: int, a: Any, b: Any) -> Any:
        c = as_number(c)[: len(_plain(t)) - k - 1]
        found = _integrated(t, column(c), k, a, b)[0]
        return (found, None) if IS_OF_FORTRAN else found

    def sproot(self, t: Any, c: Any, mest: int) -> Any:
        poly = mirrored("scipy.interpolate._interpolate").PPoly.from_spline((t, c, 3))
        low, high = _inner(t, 3)
        roots = poly.roots(extrapolate=False)
        at = read_values(roots)
        inside = roots[(at >= low) & (at <= high)]
        return inside, len(at), 0

    def spalde(self, t: Any, c: Any, n: int, x: Any) -> Any:
        point = as_number([x])
        orders = range(n)
        return concatenate([_fitted(t, c, n - 1, point, j, EXTRAPOLATED)[0] for j in orders]), 0

    # --- of one variable

    def curfit(
        self, task: int, x: Any, y: Any, w: Any, xb: Any, xe: Any, k: int, s: Any, t: Any, *_: Any
    ) -> Any:
        """Knots, coefficients, and the sum of squares of residuals."""
        if task > 0:
            raise binding.MissingRuleError(
                "set_smoothing_factor does not support numbers with derivatives: make another "
                "spline, by make_smoothing_spline or by InterpolatedUnivariateSpline"
            )
        weights = np.ones(len(_plain(x))) if w is None else w
        if task == 0:
            t, c, _ = splrep(x, y, weights, xb, xe, k, s=len(_plain(x)) if s is None else s)
            return len(_plain(t)), t, c, 0.0, -1
        c = _lsq_solve_qr(x, as_number(y)[:, None], t, k, weights)[2][:, 0]
        c = concatenate([c, np.zeros(k + 1)])
        residuals = weights * (as_number(y) - _fitted(t, c, k, x, 0, EXTRAPOLATED)[0])
        return len(_plain(t)), t, c, sum_(residuals * residuals), 0

    def fpchec(self, x: Any, t: Any, k: int) -> Any:
        return FITPACK.fpchec(read_values(x), read_values(t), k)

    def fpcurf0(
        self, x: Any, y: Any, k: int, w: Any, xb: Any, xe: Any, s: Any = None, t: Any = None
    ) -> Any:
        *found, error = self.curfit(0 if t is None else -1, x, y, w, xb, xe, k, s, t)
        return x, y, w, xb, xe, k, 0.0, *found, None, None, error

    def fpcurfm1(self, x: Any, y: Any, k: int, t: Any, **given: Any) -> Any:
        return self.fpcurf0(x, y, k, t=t, **given)

    def fpcurf1(self, *data: Any) -> Any:
        return self.curfit(1, *data)

    # --- of two variables

    def regrid(
        self, _: int, x: Any, y: Any, z: Any, xb: Any, xe: Any, yb: Any, ye: Any, kx: int, ky: int,
        s: float, *__: Any,
    ) -> Any:  # fmt: skip
        if s:
            raise binding.MissingRuleError(
                "splines of two variables have derivatives where they go through all points: s=0"
            )
        shape = len(_plain(x)), len(_plain(y))
        rows = _through_all(x, reshape(as_number(z), shape), kx, xb, xe)
        columns = _through_all(y, np.transpose(rows.c), ky, yb, ye)
        c = reshape(np.transpose(columns.c), -1)
        return len(rows.t), rows.t, len(columns.t), columns.t, c, 0.0, -1

    def regrid_smth(self, *args: Any) -> Any:
        return self.regrid(0, *args)

    def bispev(self, tx: Any, ty: Any, c: Any, kx: int, ky: int, x: Any, y: Any) -> Any:
        return self.parder(tx, ty, c, kx, ky, 0, 0, x, y)

    def bispeu(self, tx: Any, ty: Any, c: Any, kx: int, ky: int, x: Any, y: Any) -> Any:
        return self.pardeu(tx, ty, c, kx, ky, 0, 0, x, y)

    def parder(
        self, tx: Any, ty: Any, c: Any, kx: int, ky: int, dx: int, dy: int, x: Any, y: Any
    ) -> Any:
        """On the grid of all x and y."""
        if max(binding.ndim(x), binding.ndim(y)) > 1:
            return None, INVALID
        matrix = _in_shape(tx, ty, c, kx, ky)
        inner = evaluate_spline(tx, matrix, kx, _within(tx, kx, x), dx, True)
        values = evaluate_spline(ty, np.transpose(inner), ky, _within(ty, ky, y), dy, True)
        return np.transpose(values), 0

    def pardeu(
        self, tx: Any, ty: Any, c: Any, kx: int, ky: int, dx: int, dy: int, x: Any, y: Any
    ) -> Any:
        """At pairs of x and y."""
        terms = evaluate_spline(tx, _in_shape(tx, ty, c, kx, ky), kx, _within(tx, kx, x), dx, True)
        y = _within(ty, ky, y)
        at = _spans(ty, ky, y)
        rows = np.arange(len(at))
        values = basis(as_number(ty), ky, y, at, dy)
        return sum(terms[rows, at + n - ky] * value for n, value in enumerate(values)), 0

    def pardtc(self, tx: Any, ty: Any, c: Any, kx: int, ky: int, dx: int, dy: int) -> Any:
        """The coefficients of a partial derivative."""
        rows = _differentiated(tx, _in_shape(tx, ty, c, kx, ky), kx, dx)
        columns = _differentiated(ty, np.transpose(rows), ky, dy)
        return reshape(np.transpose(columns), -1), 0

    def dblint(
        self, tx: Any, ty: Any, c: Any, kx: int, ky: int, xb: Any, xe: Any, yb: Any, ye: Any
    ) -> Any:
        inner = _integrated(tx, _in_shape(tx, ty, c, kx, ky), kx, xb, xe)
        return _integrated(ty, column(inner), ky, yb, ye)[0]


def _standing(name: str) -> Any:
    """For a function of FITPACK's: itself, unless numbers have derivatives."""
    function, original = getattr(_OfNumbers(), name), taking_constants(getattr(FITPACK, name))

    def call(*args: Any, **kwargs: Any) -> Any:
        given = args, kwargs
        has_derivatives = carries(given) and binding.plain_constants(given) is None
        return (function if has_derivatives else original)(*args, **kwargs)

    return call


for _name in vars(_OfNumbers):
    if not _name.startswith("_") and hasattr(FITPACK, _name):  # in this version
        kernels(FITPACK.__name__, _name)(_standing(_name))


def _vector(x: Any) -> Number:
    """Points as FITPACK has them: a number is one point."""
    return reshape(as_number(x), -1)


def _integrated(t: Any, c: Number, k: int, a: Any, b: Any) -> Number:
    """The integrals from a to b of splines with coefficients c, of the shape (n, splines).

    Beyond their ends splines are 0. Of many numbers for an end, FITPACK takes the first.
    """
    t, width = as_number(t), binding.shape(c)[1]
    # The antiderivative has the sums of the integrals of the splines for coefficients.
    sums = np.cumsum(c * column(t[k + 1 :] - t[: -k - 1]) / (k + 1.0), axis=0)
    raised = concatenate([np.zeros((1, width)), sums])
    knots = concatenate([t[:1], t, t[-1:]])
    ends = concatenate([_within(t, k, _vector(x)[:1]) for x in (a, b)])
    first, last = evaluate_spline(knots, raised, k + 1, ends, 0, True)
    return last - first


def _differentiated(t: Any, c: Number, k: int, order: int) -> Number:
    """The coefficients of a derivative of splines with coefficients c along the first axis."""
    t = as_number(t)
    for _ in range(order):
        t = t[1:-1]
        c = float(k) * (c[1:] - c[:-1]) / column(t[k:] - t[:-k])
        k -= 1
    return c


def _in_shape(tx: Any, ty: Any, c: Any, kx: int, ky: int) -> Number:
    """Coefficients of two variables as a matrix."""
    shape = (len(_plain(tx)) - kx - 1, len(_plain(ty)) - ky - 1)
    return reshape(as_number(c)[: shape[0] * shape[1]], shape)


def _within(t: Any, k: int, x: Any) -> Number:
    """Points between the ends, where those of two variables are moved to."""
    x, t = _vector(x), as_number(t)
    low, high = _inner(t, k)
    return where(x < low, t[k], where(x > high, t[-k - 1], x))


def _through_all(x: Any, y: Any, k: int, low: Any = None, high: Any = None) -> Any:
    """The spline through all points, with the knots of FITPACK: the outer ones may be given."""
    module, x = mirrored("scipy.interpolate._bsplines"), as_number(x)
    low, high = x[0] if low is None else low, x[-1] if high is None else high
    inner, outer = module._not_a_knot(x, k)[k + 1 : -k - 1], np.ones(k + 1)
    return module.make_interp_spline(x, y, k, concatenate([low * outer, inner, high * outer]))


@kernels("scipy.interpolate._fitpack_impl", varying=True)
def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0,
    s: Any = None, t: Any = None, full_output: int = 0, per: int = 0, quiet: int = 1,
) -> Any:  # fmt: skip
    """`scipy.interpolate.splrep`, which has derivatives where splines go through all points."""
    is_through_all = task == 0 and not per and s is not None and not np.any(_plain(s))
    is_through_all |= task == 0 and not per and s is None and w is None
    if not is_through_all or full_output:
        raise binding.MissingRuleError(
            "splrep of numbers with derivatives makes splines through all points: give it s=0, "
            "or take make_smoothing_spline"
        )
    spline = _through_all(x, y, k, xb, xe)
    return spline.t, concatenate([spline.c, np.zeros(k + 1)]), k


@kernels("scipy.interpolate._fitpack_impl", varying=True)
def splprep(
    x: Any, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3,
    task: int = 0, s: Any = None, t: Any = None, full_output: int = 0, nest: Any = None,
    per: int = 0, quiet: int = 1,
) -> Any:  # fmt: skip
    """`scipy.interpolate.splprep`, which has derivatives where curves go through all points."""
    has_ends = u is not None and (ub, ue) != (None, None)
    if task or s is None or np.any(_plain(s)) or full_output or per or has_ends:
        raise binding.MissingRuleError(
            "splprep of numbers with derivatives makes curves through all points: give it s=0 "
            "and none of task, ub, ue, per and full_output, or take make_splprep"
        )
    points = stack([as_number(row) for row in x], axis=1)
    if u is None:  # by the lengths of chords
        u = np.cumsum(np.sqrt(sum_((points[1:] - points[:-1]) ** 2, axis=1)))
        u = concatenate([np.zeros(1), u / u[-1]])
    spline = mirrored("scipy.interpolate._bsplines").make_interp_spline(u, points, k)
    return [spline.t, list(np.transpose(spline.c)), k], u


@kernels("scipy.interpolate._fitpack_repro", "make_splrep make_splprep", within=True)
def _make_through_all(mirror: Any, *args: Any, s: Any = 0, **kwargs: Any) -> Any:
    """SciPy's, whose search for knots ends with values and has no derivative."""
    if np.any(_plain(s)) and any(map(carries, (*args, *kwargs.values()))):
        raise binding.MissingRuleError(
            "make_splrep and make_splprep of numbers with derivatives make splines through all "
            "points: give them s=0, or take make_smoothing_spline"
        )
    return mirror(*args, s=s, **kwargs)


@kernels("scipy.interpolate._fitpack_repro", within=True)
def generate_knots(mirror: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    """SciPy's: which of x become knots is chosen by values."""
    if carries(x) or carries(kwargs):
        raise binding.MissingRuleError(
            "generate_knots has no derivatives by the places of points: give it cadiff.value(x)"
        )
    return mirror(x, read_values(y), **kwargs)


@kernels("scipy.interpolate._bsplines", within=True)
def _compute_optimal_gcv_parameter(mirror: Any, *args: Any) -> Any:
    try:
        return mirror(*args)
    except NoDerivativeError as error:
        raise NoDerivativeError(
            "make_smoothing_spline found no lam that has a derivative: cross-validation has no "
            "clear minimum here, as with values on a line; give it lam=..."
        ) from error


# --- grids ---------------------------------------------------------------------------------------


@kernels("scipy.interpolate._rgi", varying=True)
def find_indices(grid: Any, points: Any) -> tuple[Any, Any]:
    """In which cell of a grid points lie, and where in it, along each axis."""
    indices, distances = [], []
    for t, x in zip(grid, points, strict=True):
        t, x = as_number(t), as_number(x)
        at = _intervals(t, x) if len(_plain(t)) > 1 else np.zeros(binding.shape(x), np.intp)
        indices.append(at)
        width = t[at + 1] - t[at] if len(_plain(t)) > 1 else 1.0
        distances.append((x - t[at]) / width)
    return np.array(indices), stack(distances)


@kernels("scipy.interpolate._rgi", "RegularGridInterpolator._evaluate_nearest", within=True)
def _evaluate_nearest(self: Any, original: Any, *args: Any) -> Any:
    """As SciPy has it; what lies outside may be filled with numbers that carry derivatives."""
    found = original(self, *args)
    is_plain = isinstance(found, np.ndarray) and carries(self.fill_value)
    return opened(np.array(found, float)) if is_plain else found


@kernels("scipy.interpolate._rgi", varying=True)
def evaluate_linear_2d(values: Any, indices: Any, distances: Any, grid: Any, out: Any) -> Any:
    (i, j), (u, v) = indices, distances
    # A cell of one point has no other side.
    beside = [np.minimum(k + 1, n - 1) for k, n in zip((i, j), np.shape(values), strict=True)]
    return (
        values[i, j] * (1 - u) * (1 - v)
        + values[i, beside[1]] * (1 - u) * v
        + values[beside[0], j] * u * (1 - v)
        + values[beside[0], beside[1]] * u * v
    )


@stated("make_ndbspl")
def gridded(values: Any, points: Any, k: Any, **how: Any) -> Any:
    """Coefficients of the splines through values on a grid, as SciPy's solver finds them."""
    return _ndbspline.make_ndbspl(points, values, k, **how).c


def gridded_knots(points: Any, k: Any) -> Any:
    return _ndbspline.make_ndbspl(points, np.zeros([len(x) for x in points]), k).t


def _solved_along(g: Any, points: Any, k: Any, transposed: bool) -> Any:
    """The same by a direct solution along each axis, or by that of the transposed equations.

    SciPy's iteration ends at a tolerance by the length of the whole, which leaves small
    derivatives with few digits.
    """
    degrees = k if np.ndim(k) else (k,) * len(points)
    knots = gridded_knots(points, k)
    for axis, (x, t, degree) in enumerate(zip(points, knots, degrees, strict=True)):
        inverse = np.linalg.inv(BSpline.design_matrix(x, t, int(degree)).toarray())
        inverse = inverse.T if transposed else inverse
        g = moveaxis(np.tensordot(inverse, g, axes=(1, axis)), 0, axis)
    return g


gridded.defvjp(lambda ans, values, points, k, **_: lambda g: _solved_along(g, points, k, True))
gridded.defjvp(lambda g, ans, values, points, k, **_: _solved_along(g, points, k, False))


@kernels("scipy.interpolate._ndbspline")
def make_ndbspl(points: Any, values: Any, k: Any = 3, **how: Any) -> Any:
    """Splines of several variables through a grid: along one axis after the other.

    SciPy finds them by an iteration to a tolerance, so that values are as good as that.
    """
    plain = binding.plain_constants(list(points)) if carries(list(points)) else points
    if plain is not None:
        if getattr(how.get("solver"), "__name__", "") == "spsolve":
            how["solver"] = scipy.sparse.linalg.spsolve  # which SciPy does not take for iterative
        knots, c = gridded_knots(plain, k), gridded(values, points=tuple(plain), k=k, **how)
        return mirrored("scipy.interpolate._ndbspline").NdBSpline(knots, c, k)
    fit = mirrored("scipy.interpolate._bsplines").make_interp_spline
    degrees = k if np.ndim(k) else (k,) * len(points)
    c, knots = values, []
    for axis, (x, degree) in enumerate(zip(points, degrees, strict=True)):
        spline = fit(x, c, int(degree), axis=axis)
        knots.append(spline.t)
        c = moveaxis(spline.c, 0, axis)
    return mirrored("scipy.interpolate._ndbspline").NdBSpline(tuple(knots), c, degrees)


@kernels("scipy.interpolate._dierckx")
def evaluate_ndbspline(
    x: Any, t: Any, lengths: Any, k: Any, orders: Any, extrapolate: bool, c: Any, n_trailing: int,
    strides: Any, indices: Any,
) -> Any:  # fmt: skip
    """Splines of several variables at points, (points, variables)."""
    operands = x, t, lengths, k, orders, extrapolate, c, n_trailing, strides, indices
    if not carries((x, t, c)):
        plain = _dierckx.evaluate_ndbspline(*operands)  # numbers may fill what is outside
        return opened(plain) if binding.is_differentiating() else plain
    x, t, c = as_number(x), as_number(t), as_number(c)
    n_points, n_axes = binding.shape(x)
    shape = [int(n) - int(d) - 1 for n, d in zip(lengths, k, strict=True)]
    c = reshape(c, (*shape, n_trailing))
    weights: list[tuple[Any, Number]] = [((), 1.0)]
    beyond = np.zeros(n_points, bool)
    for axis in range(n_axes):
        knots, degree = t[axis, : int(lengths[axis])], int(k[axis])
        at = _spans(knots, degree, x[:, axis])
        beyond |= _beyond(_inner(knots, degree), x[:, axis], extrapolate)
        values = basis(knots, degree, x[:, axis], at, int(orders[axis]))
        weights = [
            ((*places, at + n - degree), weight * value)
            for places, weight in weights
            for n, value in enumerate(values)
        ]
    total = sum(c[index] * column(weight) for index, weight in weights)
    return _without(total, beyond)


@kernels("scipy.interpolate._ppoly", varying=True)
def evaluate_nd(
    c: Any, t: Any, degrees: Any, x: Any, orders: Any, extrapolate: bool, out: Any
) -> None:
    """Piecewise polynomials of several variables, c of the shape (powers, cells, n)."""
    c, x = as_number(c), as_number(x)
    cell = np.zeros(binding.shape(x)[0], np.intp)
    beyond = np.zeros(len(cell), bool)
    distances = []
    for axis, knots in enumerate(t):
        at = _intervals(knots, x[:, axis])
        cell = cell * (len(_plain(knots)) - 1) + at
        beyond |= _beyond(knots, x[:, axis], extrapolate)
        distances.append(x[:, axis] - as_number(knots)[at])
    n = binding.shape(c)[2]
    terms = reshape(c[:, cell], (*map(int, degrees), len(cell), n))
    for s, order in zip(distances, orders, strict=True):  # the first axis is summed each time
        terms = polynomials(terms, column(s), int(order))
        terms = np.broadcast_to(terms, (*binding.shape(terms)[:-2], len(cell), n))
    out[...] = _without(terms, beyond)


# --- samples -------------------------------------------------------------------------------------


@stated("make_lsq_spline")
def fitted(y: Any, x: Any, t: Any, k: int, w: Any) -> Any:
    """Coefficients of the splines nearest to y, by the sum of squares with weights w**2."""
    return _bsplines._lsq_solve_qr(x, y, t, k, w)[2]


def _fitted_pull(ans: Any, y: Number, x: Any, t: Any, k: int, w: Any) -> Any:
    """By the normal equations: W² B (Bᵀ W² B)⁻¹ g."""
    design = BSpline.design_matrix(x, t, k)
    weighted = design.multiply(w[:, None] ** 2).tocsr()
    normal = (design.T @ weighted).toarray()
    factor = np.linalg.inv(normal)
    adjoint = np.asarray(weighted @ factor)
    return lambda g: adjoint @ g


fitted.defvjp(_fitted_pull)
fitted.defjvp(lambda g, ans, y, x, t, k, w: fitted(g, x, t, k, w))


@kernels("scipy.interpolate._bsplines", varying=True)
def _lsq_solve_qr(x: Any, y: Any, t: Any, k: int, w: Any, periodic: bool = False) -> Any:
    if periodic:
        raise binding.MissingRuleError(
            "periodic splines of least squares do not support numbers with derivatives"
        )
    plain = binding.plain_constants(((x, t, w), {}))
    if plain is not None:
        x, t, w = plain[0]
        return None, None, fitted(as_number(y), x, t, k, w), *RESIDUALS
    x, t, w = as_number(x), as_number(t), as_number(w)
    matrix = column(w) * _design(x, t, k)
    return None, None, np.linalg.lstsq(matrix, column(w) * y, rcond=None)[0], *RESIDUALS


def _design(x: Number, t: Number, k: int) -> Number:
    """The splines at points, as a matrix."""
    at = _spans(t, k, x)
    rows = np.arange(len(at))
    values = basis(t, k, x, at, 0)
    matrix = blank((len(at), binding.shape(t)[0] - k - 1), values[0])
    for n, value in enumerate(values):
        matrix[rows, at + n - k] = value
    return matrix
