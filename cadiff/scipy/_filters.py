"""What `scipy.signal` has compiled: recursive filters, correlations and resampling by filters.

A recursive filter solves a ⋆ y = b ⋆ x + z, where ⋆ is the convolution, a[0] is 1, and z is the
state that it begins with, followed by zeros; what is left behind the last element is the state
that it ends with. So its adjoint is the same filter run backwards, and its derivatives by
coefficients are sums of products along the axis. All else is made of that and of correlations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
from scipy.signal import _sigtools
from scipy.spatial import cKDTree

from .. import binding
from ..binding import carries
from ..numpy._common import Number, as_number
from ..operations.arrays import concatenate, in_precision, moveaxis, reshape, stack
from ..operations.arrays import sum as sum_
from ..operations.primitives import curried, linear_in, stated, transposes
from . import _arrays
from ._formulas import beside
from ._mirror import kernels, linear_in_parts, read_values

VALID, SAME, FULL = range(3)


def _flipped(x: Number) -> Number:
    return x[..., ::-1]


def _zeros(like: Number, n: int) -> Any:
    return np.zeros((*binding.shape(like)[:-1], n))


# --- roots ---------------------------------------------------------------------------------------


@kernels("scipy.signal._signaltools", "cKDTree")
class _Tree:
    """Which points are near others, by their values: where roots are taken for one."""

    def __init__(self, points: Any) -> None:
        self._tree = cKDTree(read_values(points))

    def query_ball_point(self, x: Any, r: float) -> list[int]:
        return list(self._tree.query_ball_point(read_values(x), r))


# --- recursive filters ---------------------------------------------------------------------------


@stated("lfilter")
def filtered(b: Any, a: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """The filter b / a of as many coefficients along the last axis, and the state after it."""
    if len(b) == 1:
        return b[0] * x, state.copy()
    y, after = _sigtools._linear_filter(b, a, x, x.ndim - 1, state)
    return y, after


def _multipliers(a: Number, g: Any) -> Number:
    """What the cotangents of the result and of the last state are by each equation."""
    of_y, of_after = g
    n_states = binding.shape(a)[0] - 1
    if not n_states:
        return of_y
    # The filter run backwards begins where the cotangent of the last state is what came before.
    before = stack(
        [-sum_(a[m + 1 :] * of_after[..., : n_states - m], axis=-1) for m in range(n_states)],
        axis=-1,
    )
    one = np.eye(1, n_states + 1)[0]
    inner, _ = filtered(one, a, _flipped(of_y), before)
    return concatenate([_flipped(inner), of_after], axis=-1)


def _products(x: Number, h: Number, n: int) -> Number:
    """The sums of x[m] h[m + k] over all m, and over all other axes, for each k below n."""
    length = binding.shape(x)[-1]
    return stack([sum_(x * h[..., k : k + length]) for k in range(n)])


def _by_a(ans: Any, b: Number, a: Number, x: Number, state: Number, g: Any) -> Number:
    found = -_products(ans[0], _multipliers(a, g), binding.shape(a)[0])
    return concatenate([np.zeros(1), found[1:]])  # a[0] is 1


def _by_x(ans: Any, b: Number, a: Number, x: Number, state: Number, g: Any) -> Number:
    h = _multipliers(a, g)
    one = np.eye(1, binding.shape(b)[0])[0]
    back, _ = filtered(b, one, _flipped(h), _zeros(h, len(one) - 1))
    return _flipped(back)[..., : binding.shape(x)[-1]]


filtered.defvjp(
    lambda ans, b, a, x, state: lambda g: _products(x, _multipliers(a, g), binding.shape(b)[0]),
    curried(_by_a),
    curried(_by_x),
    lambda ans, b, a, x, state: lambda g: _multipliers(a, g)[..., : binding.shape(state)[-1]],
)
filtered.defjvp(
    lambda g, ans, b, a, x, state: filtered(b, a, g, _zeros(x, binding.shape(state)[-1])),
    lambda g, ans, b, a, x, state: filtered(0.0 * b, a, 0.0 * x, g),
    argnums=(2, 3),
)


def any_filtered(b: Number, a: Number, x: Number, state: Number) -> tuple[Number, Number]:
    """The same of real or complex numbers.

    A complex filter is b ā / (a ā), where ā has the conjugate coefficients: a ā is real.
    """
    if not _is_complex(a, b):
        return linear_in_parts(lambda x, z: filtered(b, a, x, z), x, state)  # type: ignore[no-any-return]
    above, below, begin = b, a, state
    if _is_complex(a):
        conjugate = np.conj(a)
        above, below, begin = (_convolved(c, conjugate) for c in (b, a, state))
    n = max(binding.shape(c)[0] for c in (above, below))
    below, above = (_lengthened(np.real(below), n), _lengthened(above, n))
    begin = _lengthened(begin, n - 1)
    y, _ = linear_in_parts(lambda x, z: filtered(np.real(above), below, x, z), x, begin)
    turned, _ = linear_in_parts(
        lambda x, z: filtered(np.imag(above), below, x, z), x, _zeros(x, n - 1)
    )
    y = y + 1j * turned
    return y, _left_behind(b, a, x, state, y)


def _left_behind(b: Number, a: Number, x: Number, state: Number, y: Number) -> Number:
    """The state after a filter: what b ⋆ x + z has beyond the last element, and a ⋆ y has not."""
    n, length = binding.shape(state)[-1], binding.shape(x)[-1]
    begin = max(length - n, 0)
    x, y = x[..., begin:], y[..., begin:]
    rest = _convolved(x, b) - _convolved(y, a)
    return rest[..., binding.shape(x)[-1] :] + _lengthened(state[..., length:], n)


def _convolved(x: Number, w: Number) -> Number:
    """The convolution of few numbers w with the last axis of x."""
    n, length = binding.shape(w)[0], binding.shape(x)[-1]
    found: Number = _zeros(x, length + n - 1)
    for k in range(n):
        found = found + concatenate([_zeros(x, k), x * w[k], _zeros(x, n - 1 - k)], axis=-1)
    return found


def _lengthened(x: Number, n: int) -> Number:
    return concatenate([x, _zeros(x, n - binding.shape(x)[-1])], axis=-1)


@kernels("scipy.signal._sigtools", varying=True)
def _linear_filter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """`scipy.signal.lfilter` of arguments that it has checked."""
    b, a, x = as_number(b), as_number(a), as_number(x)
    kind = np.result_type(b.dtype, a.dtype, x.dtype, *([] if zi is None else [zi.dtype]))
    a_0 = a[0]
    b, a = b / a_0, a / a_0
    n = max(binding.shape(a)[0], binding.shape(b)[0])
    b, a = (_lengthened(c, n) for c in (b, a))
    x = moveaxis(x, axis, -1)
    state = _zeros(x, n - 1) if zi is None else moveaxis(as_number(zi), axis, -1)
    y, after = (in_precision(moveaxis(y, -1, axis), kind) for y in any_filtered(b, a, x, state))
    return y if zi is None else (y, after)


# --- filters of constant coefficients ------------------------------------------------------------


@stated("filter")
def applied(x: Any, *, name: str, taps: tuple[Any, ...], axis: int, padding: Any) -> Any:
    """One of SciPy's filters along an axis, without states that are given."""
    return getattr(scipy.signal, name)(*taps, x, axis, *padding)


# Factors of the element at the edge, and of the mirrored one, in an element beyond it.
EXTENSIONS = {"odd": (2.0, -1.0), "even": (0.0, 1.0), "constant": (1.0, 0.0), None: (0.0, 0.0)}


@stated("filter")
def transposed(g: Any, *, name: str, taps: tuple[Any, ...], axis: int, padding: Any) -> Any:
    """The adjoint: the filter run backwards; or both ways, if it is, with the adjoint edges."""
    once = scipy.signal.sosfilt if name.startswith("sos") else scipy.signal.lfilter
    g = np.moveaxis(g, axis, -1)
    if not padding:
        return np.moveaxis(_flipped(once(*taps, _flipped(g))), -1, axis)
    (kind, edge), end = padding, padding[1] + g.shape[-1]
    g, given = _zeros(g, end + edge), g
    g[..., edge:end] = given
    # Each time the filter begins in the state that its first element, for ever, would lead to.
    state = getattr(scipy.signal, f"{once.__name__}_zi")(*taps)
    response, _ = once(*taps, np.zeros(g.shape[-1]), zi=state)
    for _ in range(2):
        first = g @ _flipped(response)
        g = _flipped(once(*taps, g))
        g[..., 0] += first
    inner, (at_edge, within) = g[..., edge:end], EXTENSIONS[kind]
    for x, beyond in ((inner, _flipped(g[..., :edge])), (_flipped(inner), g[..., end:])):
        x[..., 0] += at_edge * np.sum(beyond, axis=-1)
        x[..., 1 : edge + 1] += within * beyond
    return np.moveaxis(inner, -1, axis)


transposes(applied, transposed)


def _is_signal(x: Any, *others: Any) -> bool:
    """Whether a signal has derivatives, and nothing else, which is real."""
    return carries(x) and not (carries(others) or _is_complex(*others))


def _along(name: str, taps: tuple[Any, ...], x: Any, axis: int, *padding: Any) -> Number:
    how: Any = {"name": name, "taps": tuple(map(np.array, taps)), "axis": axis, "padding": padding}
    return linear_in_parts(lambda x: applied(x, **how), as_number(x))


@kernels("scipy.signal._signaltools", within=True)
def lfilter(mirror: Any, b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """SciPy's, which has another way for filters without a recursion: not so for complex ones."""
    if zi is None and _is_signal(x, b, a):
        return _along("lfilter", (b, a), x, axis)
    if not any(map(carries, (b, a, x, zi))):
        return mirror(b, a, x, axis, zi)
    b, a, x = (_arrays.asarray(each) for each in (b, a, x))
    zi = None if zi is None else _arrays.asarray(zi)
    if binding.shape(a) != (1,) or not _is_complex(b, a, x, zi):
        return mirror(b, a, x, axis, zi)
    if zi is not None:
        shape = list(binding.shape(x))
        shape[axis] = binding.shape(b)[0] - 1
        zi = np.broadcast_to(zi, shape)
    return _linear_filter(b, a, x, axis, zi)


@kernels("scipy.signal._signaltools", "lfilter_zi lfiltic", within=True)
def _states(mirror: Any, b: Any, a: Any, *others: Any, **named: Any) -> Any:
    """SciPy's, which does not divide by a[0] where that is 1, and so would lose it."""
    a = _arrays.atleast_1d(a)
    if carries(a) and binding.ndim(a) == 1 and a[0] == 1.0:
        b, a = _arrays.asarray(b) / a[0], a / a[0]
    return mirror(b, a, *others, **named)


@kernels("scipy.signal._whittaker", within=True)
def _solveh_banded(mirror: Any, ab: Any, b: Any, calc_logdet: bool = False) -> Any:
    """The solution, the logarithm of the determinant if that is asked for, and no error."""
    if not (carries(ab) or carries(b)):
        return mirror(ab, b, calc_logdet)
    from . import linalg

    root = linalg.cholesky_banded(ab, lower=True)[0] if calc_logdet else 1.0
    return linalg.solveh_banded(ab, b, lower=True), 2.0 * sum_(np.log(root)), 0


kernels("scipy.signal._waveforms", "_chirp_phase", within=True)(beside("f1", "f0"))


@kernels("scipy.signal._filter_design", within=True)
def bilinear(mirror: Any, b: Any, a: Any, fs: Any = 1.0) -> Any:
    """SciPy's function, with polynomials of float64 where it would make objects."""
    b, a = (in_precision(as_number(x), np.float64) for x in (b, a))
    if carries(fs):  # a common factor is left out, by which SciPy divides at last
        b, a = map(_arrays.atleast_1d, (b, a))
        b, a = (x * (2.0 * fs) ** np.arange(len(x) - 1.0, -1.0, -1.0) for x in (b, a))
        fs = 0.5
    return mirror(b, a, fs)


@kernels("scipy.signal._filter_design", within=True)
def lp2hp(mirror: Any, b: Any, a: Any, wo: Any = 1.0) -> Any:
    """SciPy's, with powers of wo taken before, which it leaves out where wo is 1."""
    if carries(wo):
        wo = reshape(as_number(wo), -1)[0]
        b, a = map(_arrays.atleast_1d, (b, a))
        kind = np.result_type(b.dtype, a.dtype, np.float32)
        b, a = (in_precision(x * wo ** np.arange(len(x) - 1.0, -1.0, -1.0), kind) for x in (b, a))
        wo = 1.0
    return mirror(b, a, wo)


@kernels("scipy.signal._signaltools", within=True)
def filtfilt(
    mirror: Any, b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None,
    method: str = "pad", irlen: Any = None,
) -> Any:  # fmt: skip
    if method != "pad" or not _is_signal(x, b, a):
        return mirror(b, a, x, axis, padtype, padlen, method, irlen)
    return _both_ways("filtfilt", (b, a), max(np.size(a), np.size(b)), x, axis, padtype, padlen)


@kernels("scipy.signal._signaltools", within=True)
def sosfiltfilt(
    mirror: Any, sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None
) -> Any:
    if not _is_signal(x, sos):
        return mirror(sos, x, axis, padtype, padlen)
    sections = scipy.signal._filter_design._validate_sos(sos)[0]
    shorter = min(np.sum(sections[:, [2, 5]] == 0, axis=0))
    n_taps = 2 * len(sections) + 1 - shorter
    return _both_ways("sosfiltfilt", (sos,), n_taps, x, axis, padtype, padlen)


def _both_ways(
    name: str, taps: Any, n_taps: int, x: Any, axis: int, padtype: Any, padlen: Any
) -> Number:
    """A filter run forwards and backwards over a signal that is extended at its edges."""
    edge = 3 * n_taps if padlen is None else padlen
    return _along(name, taps, x, axis, padtype, int(edge) if padtype else 0)


@kernels("scipy.signal._signaltools", within=True)
def sosfilt(mirror: Any, sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """In one, where only the signal has derivatives and nobody asks for states."""
    if zi is not None or not _is_signal(x, sos):
        return mirror(sos, x, axis, zi)
    return _along("sosfilt", (sos,), x, axis)


@kernels("scipy.signal._filter_design", within=True)
def _validate_sos(mirror: Any, sos: Any, *args: Any) -> Any:
    """SciPy's check. That ones are ones is watched as an order: no branch rests on equality."""
    _, n_sections = mirror(np.asarray(binding.plain_values(sos)), *args)
    sections = _arrays.atleast_2d(sos)
    bool(_arrays.any((sections[:, 3] < 1.0) | (sections[:, 3] > 1.0)))
    return sections, n_sections


@kernels("scipy.signal._sosfilt", "_sosfilt", varying=True)
def _sosfilt_(sos: Any, x: Any, zi: Any) -> None:
    """One section after the other, of rows; x and zi are written to."""
    y = x[...]
    for k in range(binding.shape(sos)[0]):
        b, a = sos[k, :3], sos[k, 3:]
        y, zi[:, k] = any_filtered(b, a, y, zi[:, k])
    x[...] = y


# --- correlations --------------------------------------------------------------------------------


@stated("correlate")
def correlated(x: Any, w: Any) -> Any:
    """Sums of w times what it covers, wherever it lies within x; of as many axes."""
    shape = [n - k + 1 for n, k in zip(x.shape, w.shape, strict=True)]
    if min(shape) < 1 or not w.size:
        return np.zeros(np.maximum(shape, 0))
    return _sigtools._correlateND(x, w, np.empty(shape), VALID)


def turned(x: Number) -> Number:
    return x[(slice(None, None, -1),) * binding.ndim(x)]


def _around(g: Number, w: Number) -> Number:
    """Zeros around g, by which w may lie over its corners."""
    return np.pad(g, [(n - 1, n - 1) for n in binding.shape(w)])


correlated.defvjp(
    lambda ans, x, w: lambda g: correlated(_around(g, w), turned(w)),
    lambda ans, x, w: lambda g: correlated(x, g),
)
correlated.defjvp(linear_in(correlated, 0), linear_in(correlated, 1))


@kernels("scipy.signal._sigtools", varying=True)
def _correlateND(x: Any, w: Any, out: Any, mode: int) -> Any:  # noqa: N802
    """`scipy.signal.correlate` of arguments that it has checked: zeros follow x already."""
    x, w = as_number(x), as_number(w)
    if mode != VALID:
        before = [k - 1 for k in w.shape]
        if mode == SAME:
            before = [k // 2 for k in w.shape]
        after = [
            n + k - 1 - b - m
            for n, k, b, m in zip(out.shape, w.shape, before, x.shape, strict=True)
        ]
        x = np.pad(x, list(zip(before, np.maximum(after, 0), strict=True)))
        x = x[tuple(slice(n + k - 1) for n, k in zip(out.shape, w.shape, strict=True))]
    return binding.bilinear(correlated, x, np.conj(w)) if _is_complex(x, w) else correlated(x, w)


def _is_complex(*operands: Any) -> bool:
    return any(map(np.iscomplexobj, operands))


@kernels("scipy.signal._sigtools", varying=True)
def _convolve2d(x: Any, w: Any, flip: int, mode: int, boundary: int, fill: Any) -> Any:
    """`scipy.signal.convolve2d` and `correlate2d`, filled, turned or wrapped beyond the edges."""
    x, w = as_number(x), as_number(w)
    w = w if flip == 0 else turned(w)
    if mode != VALID:
        around = [(k - 1, k - 1) for k in w.shape]
        if boundary == 0:
            x = np.pad(x, around, constant_values=np.real(fill))
        else:
            x = np.pad(x, around, mode="symmetric" if boundary == 4 else "wrap")
    full = binding.bilinear(correlated, x, w) if _is_complex(x, w) else correlated(x, w)
    full = in_precision(full, np.result_type(x.dtype, w.dtype))
    if mode == SAME:
        begin = [(k - 1) // 2 if flip else k - 1 - (k - 1) // 2 for k in w.shape]
        lengths = [n - 2 * (k - 1) for n, k in zip(x.shape, w.shape, strict=True)]
        full = full[tuple(slice(b, b + n) for b, n in zip(begin, lengths, strict=True))]
    return full


# --- resampling ----------------------------------------------------------------------------------


@kernels("scipy.signal._upfirdn_apply", varying=True)
def _apply(x: Any, h: Any, out: Any, up: int, down: int, axis: int, mode: int, cval: Any) -> None:
    """Zeros between elements, a filter, and every `down`-th of what it gives, written to `out`."""
    if mode != 0:
        raise binding.MissingRuleError(
            "upfirdn of numbers with derivatives extends signals by a constant alone: "
            "extend x with cadiff.numpy.pad, and take mode='constant'"
        )
    x, h = moveaxis(as_number(x), axis, -1), as_number(h)
    phases = binding.shape(h)[0] // up
    begin = 0
    if carries(cval) or cval != 0.0:  # as many elements as the filter sees beyond the edges
        beyond = cval * np.ones((*x.shape[:-1], phases))
        x, begin = concatenate([beyond, x, beyond], axis=-1), phases * up
    taps = reshape(np.transpose(_flipped(reshape(h, (up, phases)))), -1)
    n = moveaxis(out, axis, -1).shape[-1]
    length = x.shape[-1]
    spread = concatenate([x[..., None], np.zeros((*x.shape, up - 1))], axis=-1)
    spread = reshape(spread, (*x.shape[:-1], length * up))
    needed = begin + (n - 1) * down + 1
    spread = concatenate([spread, _zeros(spread, max(needed - length * up, 0))], axis=-1)
    one = np.eye(1, len(taps))[0]
    result, _ = any_filtered(taps, one, spread[..., :needed], _zeros(spread, len(taps) - 1))
    out[...] = moveaxis(result[..., begin::down], -1, axis)
