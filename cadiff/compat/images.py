"""Images of another size, and moved: weights of kernels along one axis after the other.

Kernels are those of linear interpolation, of cubic convolution (Keys 1981) and of Lanczos. Where
an image becomes smaller they are as wide as a new pixel, if `antialias`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from cadiff import numpy as np


def _cubic(x: Any) -> Any:
    inner = ((1.5 * x - 2.5) * x) * x + 1.0
    outer = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x < 1.0, inner, np.where(x < 2.0, outer, 0.0))


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        waves = radius * np.sin(math.pi * x) * np.sin(math.pi * x / radius)
        inside = waves / np.where(x > 1e-3, math.pi**2 * x**2, 1.0)
        return np.where(x > radius, 0.0, np.where(x > 1e-3, inside, 1.0))

    return kernel


_LINEAR: Callable[[Any], Any] = lambda x: np.maximum(0.0, 1.0 - x)  # noqa: E731
_KERNELS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), _LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
}


def _weights(m: int, n: int, scale: Any, shift: Any, method: str, antialias: bool) -> Any:
    """How much of each of m pixels is in each of n; columns have the sum 1, or are outside."""
    if method not in _KERNELS:
        raise ValueError(f"method is 'nearest' or one of {', '.join(_KERNELS)}, not {method!r}")
    step = 1.0 / scale
    width = np.maximum(step, 1.0) if antialias else 1.0
    place = (onp.arange(n) + 0.5) * step - shift * step - 0.5
    weights = _KERNELS[method](np.abs(place - onp.arange(float(m))[:, None]) / width)
    total = np.sum(weights, axis=0)
    is_seen = (np.abs(total) > 1000.0 * onp.finfo(onp.float32).eps) & (place >= -0.5)
    is_seen = is_seen & (place <= m - 0.5)
    return np.where(is_seen, weights / np.where(is_seen, total, 1.0), 0.0)


def scale_and_translate(
    image: Any, shape: Sequence[int], spatial_dims: Sequence[int], scale: Any, translation: Any,
    method: Any, antialias: bool = True, precision: Any = None,
) -> Any:  # fmt: skip
    """An image of a shape in which x of an axis of the old one is at scale · x + translation."""
    for k, axis in enumerate(spatial_dims):
        sizes = np.shape(image)[axis], shape[axis]
        weights = _weights(*sizes, scale[k], translation[k], _named(method), antialias)
        image = np.moveaxis(np.tensordot(image, weights, (axis, 0)), -1, axis)
    return image


def resize(
    image: Any, shape: Sequence[int], method: Any, antialias: bool = True, precision: Any = None
) -> Any:
    """An image of another size, of as many axes."""
    old = np.shape(image)
    if len(shape) != len(old):
        raise ValueError(f"shape has a size for each axis of the image, {old}, not {shape}")
    axes = [k for k, (m, n) in enumerate(zip(old, shape, strict=True)) if m != n]
    if _named(method) == "nearest":
        for k in axes:
            image = np.take(image, (2 * onp.arange(shape[k]) + 1) * old[k] // (2 * shape[k]), k)
        return image
    scale = [shape[k] / old[k] for k in axes]
    return scale_and_translate(image, shape, axes, scale, [0.0] * len(axes), method, antialias)


class ResizeMethod(enum.Enum):
    """The methods by which images are resized."""

    NEAREST = "nearest"
    LINEAR = "linear"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    CUBIC = "cubic"


def _named(method: str | ResizeMethod) -> str:
    return method if isinstance(method, str) else method.value
