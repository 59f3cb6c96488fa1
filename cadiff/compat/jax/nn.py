"""`jax.nn`: activations, what makes probabilities of numbers, and random weights."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np
from cadiff.nn import relu, sigmoid, softplus

from .. import aliases
from . import random
from .scipy import logsumexp


def _among(function: Callable[..., Any], beside: float) -> Callable[..., Any]:
    """A function along an axis, of the elements where `where` holds."""

    def among(x: Any, axis: Any = -1, where: Any = None) -> Any:
        if where is None:
            return function(x, axis=axis)
        kept = np.logical_or(where, ~np.any(where, axis=axis, keepdims=True))  # none: all
        return np.where(where, function(np.where(kept, x, -onp.inf), axis=axis), beside)

    return among


def gelu(x: Any, approximate: bool = True) -> Any:
    """X Φ(x), Φ the normal distribution function, or by tanh if approximate."""
    if not approximate:
        return cadiff.nn.gelu(x)
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def one_hot(x: Any, num_classes: int, *, dtype: Any = float, axis: int = -1, **_: Any) -> Any:
    """1 in the place that an index names, and else 0; all 0 for an index out of bounds."""
    hot = np.equal(np.asarray(x)[..., None], onp.arange(num_classes))
    return np.moveaxis(hot.astype(dtype), -1, axis)


def standardize(
    x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5,
    where: Any = None,
) -> Any:  # fmt: skip
    """X less its mean, over its deviation: the root of a variance and epsilon."""
    over = partial(np.mean, axis=axis, keepdims=True, where=True if where is None else where)
    mean = over(x) if mean is None else mean
    variance = over(np.square(x)) - np.square(mean) if variance is None else variance
    return (x - mean) / np.sqrt(variance + epsilon)


_relu6: Any = lambda x: np.where(x < 6.0, relu(x), 6.0)  # noqa: E731
_SELU = 1.0507009873554805, 1.6732632423543772  # Klambauer and others 2017
_FORMULAS: dict[str, Callable[..., Any]] = {
    "tanh": np.tanh,
    "softmax": _among(cadiff.nn.softmax, 0.0),
    "log_softmax": _among(cadiff.nn.log_softmax, -onp.inf),
    "silu": lambda x: x * sigmoid(x),
    "identity": lambda x: x,
    "sparse_plus": lambda x: np.where(x >= 1, x, 0.25 * np.square(np.maximum(x + 1.0, 0.0))),
    "sparse_sigmoid": lambda x: 0.5 * np.minimum(np.maximum(x + 1.0, 0.0), 2.0),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "log_sigmoid": lambda x: -softplus(-x),
    "soft_sign": lambda x: x / (1.0 + np.abs(x)),
    "elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x))),
    "celu": lambda x, alpha=1.0: alpha * _FORMULAS["elu"](x / alpha),
    "selu": lambda x: _SELU[0] * _FORMULAS["elu"](x, _SELU[1]),
    "glu": lambda x, axis=-1: (lambda a, b: a * sigmoid(b))(*np.split(x, 2, axis)),
    "leaky_relu": lambda x, negative_slope=0.01: np.where(x >= 0, x, negative_slope * x),
    "relu6": _relu6,
    "hard_tanh": lambda x: np.clip(x, -1.0, 1.0),
    "hard_sigmoid": lambda x: _relu6(x + 3.0) / 6.0,
    "hard_silu": lambda x: x * _relu6(x + 3.0) / 6.0,
    "log1mexp": lambda x: np.where(x < 0.7, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x))),
    "squareplus": lambda x, b=4.0: 0.5 * (x + np.sqrt(np.square(x) + b)),
}
_FORMULAS |= {"swish": _FORMULAS["silu"], "hard_swish": _FORMULAS["hard_silu"]}
globals().update(_FORMULAS, logsumexp=logsumexp)


def _truncated(key: Any, shape: Any, dtype: Any, lower: Any = -2.0, upper: Any = 2.0) -> Any:
    return random.truncated_normal(key, lower, upper, shape, dtype)


def _times(draw: Callable[..., Any], scale: Any, *how: Any) -> Callable[..., Any]:
    return lambda key, shape, dtype=onp.float64, **_: scale * draw(key, shape, dtype, *how)


_constant = partial(_times, lambda key, *how: onp.ones(*how))
_DRAWS = {
    "normal": random.normal,
    "uniform": _times(random.uniform, math.sqrt(3.0), -1.0),
    # Over the deviation of the normal distribution between -2 and 2.
    "truncated_normal": _times(_truncated, 1.0 / 0.87962566103423978),
}


def _scaled(
    scale: float, mode: str, distribution: str, in_axis: Any = -2, out_axis: Any = -1, *_: Any,
    **__: Any,
) -> Callable[..., Any]:  # fmt: skip
    """Random weights of the variance `scale / n`, n the inputs, the outputs or their mean."""

    def weights(key: Any, shape: Any, dtype: Any = onp.float64, **_: Any) -> Any:
        sizes = onp.asarray(shape)
        n_in, n_out = (int(onp.prod(sizes[onp.atleast_1d(k)])) for k in (in_axis, out_axis))
        windows = math.prod(shape) / (n_in * n_out)
        n = {"fan_in": n_in, "fan_out": n_out, "fan_avg": 0.5 * (n_in + n_out)}[mode] * windows
        return math.sqrt(scale / n) * _DRAWS[distribution](key, shape, dtype)

    return weights


_KINDS = {"glorot": (1.0, "fan_avg"), "he": (2.0, "fan_in"), "lecun": (1.0, "fan_in")}
_KINDS |= {"xavier": _KINDS["glorot"], "kaiming": _KINDS["he"]}
INITIALIZERS: dict[str, Any] = {
    f"{name}_{kind}": partial(_scaled, *variance, "truncated_normal" if kind == "normal" else kind)
    for name, variance in _KINDS.items()
    for kind in ("normal", "uniform")
}
INITIALIZERS |= {
    "zeros": _constant(0.0),
    "ones": _constant(1.0),
    "constant": lambda value, *_: _constant(value),
    "normal": lambda stddev=0.01, *_: _times(random.normal, stddev),
    "truncated_normal": lambda stddev=0.01, _=None, *bounds: _times(_truncated, stddev, *bounds),
    "uniform": lambda scale=0.01, *_: _times(random.uniform, scale),
    "variance_scaling": _scaled,
}
aliases.have_modules(__name__, {"initializers": INITIALIZERS})
