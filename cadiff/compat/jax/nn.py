"""`jax.nn`: activations, what makes probabilities of numbers, and random weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np
from cadiff.nn import relu as relu
from cadiff.nn import sigmoid as sigmoid
from cadiff.nn import softplus as softplus
from cadiff.numpy import tanh as tanh

from . import absent
from .scipy.special import logsumexp as logsumexp

__getattr__ = absent.missing(__name__)


def _among(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function along an axis, of the elements where `where` holds."""

    def along(x: Any, axis: Any = -1, where: Any = None) -> Any:
        return function(x if where is None else np.where(where, x, -onp.inf), axis=axis)

    return along


def gelu(x: Any, approximate: bool = True) -> Any:
    """X Φ(x), Φ the normal distribution function, or by tanh if approximate."""
    if not approximate:
        return cadiff.nn.gelu(x)
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """X above 0, and alpha (exp(x) - 1) below."""
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x)))


def one_hot(
    x: Any, num_classes: int, *, dtype: Any = onp.float64, axis: int = -1, **_: Any
) -> Any:
    """1 in the place that an index names, and else 0; all 0 for an index out of bounds."""
    hot = np.equal(np.asarray(x)[..., None], onp.arange(num_classes))
    return np.moveaxis(hot.astype(dtype), -1, axis)


def _relu6(x: Any) -> Any:
    return np.minimum(np.maximum(x, 0.0), 6.0)


# Klambauer and others 2017
_SELU = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
_FORMULAS: dict[str, Callable[..., Any]] = {
    "softmax": _among(cadiff.nn.softmax),
    "log_softmax": _among(cadiff.nn.log_softmax),
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "identity": lambda x: x,
    "sparse_plus": lambda x: np.where(x >= 1, x, 0.25 * np.square(np.maximum(x + 1.0, 0.0))),
    "sparse_sigmoid": lambda x: np.clip(0.5 * (x + 1.0), 0.0, 1.0),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "log_sigmoid": lambda x: -softplus(-x),
    "soft_sign": lambda x: x / (1.0 + np.abs(x)),
    "celu": lambda x, alpha=1.0: alpha * elu(x / alpha),
    "selu": lambda x: _SELU[0] * elu(x, _SELU[1]),
    "leaky_relu": lambda x, negative_slope=0.01: np.where(x >= 0, x, negative_slope * x),
    "relu6": _relu6,
    "hard_tanh": lambda x: np.clip(x, -1.0, 1.0),
    "hard_sigmoid": lambda x: _relu6(x + 3.0) / 6.0,
    "hard_silu": lambda x: x * _relu6(x + 3.0) / 6.0,
    "hard_swish": lambda x: x * _relu6(x + 3.0) / 6.0,
    "squareplus": lambda x, b=4.0: 0.5 * (x + np.sqrt(np.square(x) + b)),
}
globals().update(_FORMULAS)
