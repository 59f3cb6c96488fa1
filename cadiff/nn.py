"""What networks are made of: activations, and losses on the outputs of a network.

>>> import numpy as np
>>> from cadiff import nn
>>> float(nn.cross_entropy(np.zeros((2, 4)), [0, 3]).round(3))
1.386
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, NDArray

from . import binding
from .binding import Dual, Var, carries, foreign_names
from .operations import table as _table
from .operations.arrays import as_array, reduced_axes, reshape, transpose
from .operations.arrays import sum as sum_
from .operations.patterns import over_axes
from .operations.primitives import curried, stated
from .operations.replayed import Replayed
from .operations.table import erfc, relu, softplus
from .operations.table import expit as sigmoid

__all__ = [
    "cross_entropy",
    "gelu",
    "log_softmax",
    "one_hot",
    "relu",
    "sigmoid",
    "softmax",
    "softplus",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Say what to write instead of names that other packages have."""
        foreign_names.missing(__name__, name)


Axis = int | tuple[int, ...] | None


def gelu(x: Any) -> Any:
    """X Φ(x), Φ the normal distribution function (Hendrycks and Gimpel 2016)."""
    return 0.5 * x * erfc(x * (-1.0 / math.sqrt(2.0)))


# --- softmax -------------------------------------------------------------------------------------


def _shifted(x: Any, axis: Axis) -> NDArray[np.float64]:
    """The elements less the greatest of them, which exp can take."""
    x = np.asarray(x, dtype=np.float32 if binding.is_single(x) else np.float64)
    return np.asarray(x - x.max(axis=axis, keepdims=True))


MANY = 512  # numbers, from which on a call of NumPy's costs a program less than its own steps


def _is_left_to_program(x: Any) -> bool:
    """Whether a program that is recorded is to compute something itself, without Python.

    It is if there are few numbers, and while they are finite, which is a guard.
    """
    return (
        binding.chooses_anew()
        and isinstance(x, (Var, Dual))
        and 0 < x.size < MANY
        and bool(sum_(_table.absolute(x)) < math.inf)
    )


def _greatest(x: Any, axis: Axis) -> Any:
    """The greatest elements, as constants, found pair by pair without a choice that is a guard."""
    x = binding.stop_gradient(x)
    for k in range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim):
        while x.shape[k] > 1:
            half = -(-x.shape[k] // 2)
            first, last = (
                x[(slice(None),) * k + (part,)] for part in (slice(half), slice(-half, None))
            )
            x = _table.maximum(first, last)
    return x


@stated("softmax")
def _softmax(x: Any, axis: Axis) -> Any:
    exponentials = np.exp(_shifted(x, axis))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _along_softmax(p: Any, t: Any, axis: Axis) -> Any:
    """The derivative of softmax, a symmetric matrix, times t."""
    return p * (t - sum_(p * t, axis, keepdims=True))


def _loop(name: str, x: Any, axis: Axis) -> Any:
    """The kernel along an axis, or, of all, over one row."""
    core = axis if axis is None else (axis,)
    return None if isinstance(axis, tuple) else (name, 0, (core, core))


_softmax.loop, _softmax.loop_takes = partial(_loop, "softmax"), (0,)
_softmax.defvjp(lambda ans, x, axis: lambda g: _along_softmax(ans, g, axis))
_softmax.defjvp(lambda g, ans, x, axis: _along_softmax(ans, g, axis))
_softmax.defpattern(lambda ans, x, axis: over_axes(axis, x.ndim, True))


@stated("log_softmax", loop=partial(_loop, "log_softmax"), loop_takes=(0,))
def _log_softmax(x: Any, axis: Axis) -> Any:
    x = np.asarray(x, dtype=np.float32 if binding.is_single(x) else np.float64)
    greatest = x.max(axis=axis, keepdims=True)
    shifted = x - np.where(np.isfinite(greatest), greatest, 0.0)  # as SciPy has it
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


_log_softmax.defvjp(
    lambda ans, x, axis: lambda g: g - _softmax(x, axis) * sum_(g, axis, keepdims=True)
)
_log_softmax.defjvp(lambda g, ans, x, axis: g - sum_(_softmax(x, axis) * g, axis, keepdims=True))
_log_softmax.defpattern(lambda ans, x, axis: over_axes(axis, x.ndim, True))


def softmax(x: Any, axis: Axis = -1) -> Any:
    """exp(x) / Σ exp(x), the sum along one axis, several, or all (None)."""
    if _is_left_to_program(x):
        exponentials = _table.exp(x - _greatest(x, axis))
        return exponentials / sum_(exponentials, axis, keepdims=True)
    return _along(_softmax, x, axis)


def log_softmax(x: Any, axis: Axis = -1) -> Any:
    """The logarithm of `softmax`, also where that underflows."""
    if _is_left_to_program(x):
        shifted = x - _greatest(x, axis)
        return shifted - _table.log(sum_(_table.exp(shifted), axis, keepdims=True))
    return _along(_log_softmax, x, axis)


def _along(operation: Any, x: Any, axis: Axis) -> Any:
    """The operation along one axis, or over all; several are joined for it."""
    x = as_array(x)
    ndim = x.ndim
    axes = reduced_axes(axis, ndim)
    if len(axes) == 1 or axis is None:
        return operation(x, None if axis is None else axes[0])
    order = [*(k for k in range(ndim) if k not in axes), *axes]
    moved = transpose(x, order)
    kept = moved.shape[: ndim - len(axes)]
    rows = operation(reshape(moved, (*kept, math.prod(x.shape[k] for k in axes))), len(kept))
    return transpose(reshape(rows, moved.shape), sorted(range(ndim), key=order.__getitem__))


# --- labels --------------------------------------------------------------------------------------


def _labels(labels: ArrayLike, classes: int) -> NDArray[np.intp]:
    """The labels as whole numbers from 0 to classes - 1."""
    if isinstance(labels, (Var, Dual)) and labels.size:  # floats are arguments of a program
        raise TypeError(f"labels are whole numbers, not {labels.dtype}: use labels.astype(int)")
    result = np.asarray(labels)
    if result.size and result.dtype.kind not in "iu":
        raise TypeError(f"labels are whole numbers, not {result.dtype}: use labels.astype(int)")
    places = result.astype(np.intp, copy=False)
    if (places.view(np.uintp) >= classes).any():  # a negative one is a very large one
        raise ValueError(
            f"labels of {classes} classes are 0 ... {classes - 1}, "
            f"not {result.min()} ... {result.max()}"
        )
    return places


def _plain(labels: Any) -> Any:
    """The labels here, of which a replay may find others."""
    return labels._plain if isinstance(labels, Replayed) else labels


def _are_replayed(labels: Any) -> bool:
    """Whether they are whole numbers of which a replay may find others."""
    return isinstance(labels, Replayed) and np.asarray(labels._plain).dtype.kind in "iu"


def one_hot(labels: ArrayLike, classes: int, dtype: Any = float) -> NDArray[Any]:
    """Rows of zeros with a 1 at the label: shape labels.shape + (classes,).

    >>> from cadiff import nn
    >>> nn.one_hot([2, 0], 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    given: Any = labels
    is_input = dtype is float and _are_replayed(given) and given.size > 0
    if is_input and np.min(given) >= 0 and np.max(given) < classes:  # which are two guards
        return (given[..., None] == np.arange(classes)) * 1.0  # type: ignore[no-any-return]
    places = _labels(labels, classes)
    result = np.zeros((*places.shape, classes), dtype=dtype)
    np.put_along_axis(result, places[..., None], 1, axis=-1)
    return result


# --- cross-entropy -------------------------------------------------------------------------------


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean of -log softmax(logits)[label], from logits and integer labels.

    Parameters
    ----------
    logits : shape (..., classes)
        Unnormalised log-probabilities.
    labels : array-like of int, shape (...)
        The right class of each row.

    Returns
    -------
    float
        The mean over all rows, and a derivative of (softmax - one_hot) / rows. Both keep their
        digits also where a row is nearly certain, or as good as impossible.
    """
    logits = as_array(logits)
    shape = logits.shape
    if not shape or not shape[-1]:
        raise ValueError(f"logits have a last axis of at least one class, not the shape {shape}")
    given = np.shape(_plain(labels))
    if given != shape[:-1]:
        raise ValueError(f"logits of shape {shape} want labels of shape {shape[:-1]}, not {given}")
    if len(shape) == 1 and _is_left_to_program(logits):
        return _cross_entropy_of_row(logits, labels)
    rows = reshape(logits, (-1, shape[-1]))
    if _are_replayed(labels):  # the operation checks those of the replay
        return _cross_entropy(rows, reshape(labels.number, (-1,)))[0]
    return _cross_entropy(rows, _labels(labels, shape[-1]).reshape(-1))[0]


def _cross_entropy_of_row(x: Any, label: Any) -> Any:
    """The logarithm of Σ exp(s), s being the differences from the logit of the label."""
    is_label = np.asarray(_plain(label)).dtype.kind in "iu" and 0 <= label < x.size
    own: Any = np.arange(x.size) == (label if is_label else _labels(label, x.size))
    own = own.number if isinstance(own, Replayed) else own
    s = _table.where(own, 0.0, x - sum_(_table.where(own, x, 0.0)))
    peak = _greatest(s, None)
    others = sum_(_table.where(own, 0.0, _table.exp(s - peak)))
    peak = peak[0]
    return peak + _table.log1p(others + _table.expm1(-peak))


@stated("cross_entropy", loop=("cross_entropy", 0))
def _cross_entropy(logits: Any, labels: NDArray[Any]) -> Any:
    """The loss, and softmax(logits) - one_hot without cancellation at the labels."""
    x = np.asarray(logits)
    if labels.dtype.kind == "f":  # whole numbers, as a program has its integers
        labels = _labels(labels.astype(np.intp), x.shape[-1])
    losses, residuals = binding.cross_entropy(x, labels)
    loss = losses.mean() if losses.size else math.nan
    return binding.narrowed(loss) if binding.is_single(x) else loss, residuals


def _pull_cross_entropy(ans: Any, x: Any, labels: Any, g: Any) -> Any:
    of_loss = ans[1] * (g[0] / labels.size)
    if not carries(g[1]) and not g[1].any():
        return of_loss
    return of_loss + _along_softmax(_softmax(x, -1), g[1], -1)


_cross_entropy.defvjp(curried(_pull_cross_entropy), None)
_cross_entropy.defjvp(
    lambda g, ans, x, labels: (
        sum_(ans[1] * g) / labels.size,
        _along_softmax(_softmax(x, -1), g, -1),
    ),
    None,
)
_cross_entropy.defpattern("...i->,...j")
