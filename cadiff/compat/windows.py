"""Windows over arrays: convolutions of many channels, and reductions, as `jax.lax` has them.

All windows stand beside each other, so that a convolution is one product of matrices.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as onp

from cadiff import numpy as np

Padding = str | Sequence[tuple[int, int]]


class ConvDimensionNumbers(NamedTuple):
    """Axes of an array's batch and channels, or of a kernel's outputs and inputs; then space."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """What texts such as ("NHWC", "HWIO", "NHWC") say; None: channels first."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    n = len(lhs_shape)
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(n))] * 3)
    order = dimension_numbers[1]
    specs = zip(dimension_numbers, ("NC", "OI", "NC"), strict=True)
    found = []
    for spec, first in specs:
        space = sorted((c for c in spec if c not in first), key=order.index)
        if sorted(spec) != sorted({*first, *space}) or len(spec) != n:
            raise ValueError(f"{spec!r} does not name {n} axes, {first[0]} and {first[1]} of them")
        found.append(tuple(spec.index(c) for c in (*first, *space)))
    return ConvDimensionNumbers(*found)


def _pads(
    padding: Padding, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    """How much stands before and behind each axis."""
    if not isinstance(padding, str):
        return [(low, high) for low, high in padding]
    kind = padding.upper()
    if kind not in ("SAME", "SAME_LOWER", "VALID"):
        raise ValueError(f"padding is 'SAME', 'SAME_LOWER', 'VALID' or pairs, not {padding!r}")
    if kind == "VALID":
        return [(0, 0)] * len(sizes)
    sums = [
        max((-(-size // stride) - 1) * stride + window - size, 0)
        for size, window, stride in zip(sizes, windows, strides, strict=True)
    ]
    lows = [(total + (kind == "SAME_LOWER")) // 2 for total in sums]
    return [(low, total - low) for low, total in zip(lows, sums, strict=True)]


def _padded(x: Any, pads: Sequence[tuple[int, int]], value: Any = 0.0) -> Any:
    """An array with numbers around it, or without some of its own."""
    around = [(max(low, 0), max(high, 0)) for low, high in pads]
    if any(map(any, around)):
        x = np.pad(x, around, constant_values=value)
    return x[tuple(slice(max(-low, 0), min(high, 0) or None) for low, high in pads)]


def _dilated(x: Any, steps: Sequence[int], value: Any = 0.0) -> Any:
    """With a value between numbers along the last axes."""
    for axis, step in enumerate(steps, np.ndim(x) - len(steps)):
        if step > 1:
            apart = np.expand_dims(x, axis + 1)
            pads = [(0, 0)] * np.ndim(apart)
            pads[axis + 1] = (0, step - 1)
            shape = list(np.shape(x))
            shape[axis] *= step
            x = np.reshape(_padded(apart, pads, value), shape)
            x = _padded(x, [(0, (1 - step) * (k == axis)) for k in range(len(shape))])
    return x


def _windows(
    x: Any, lengths: Sequence[int], strides: Sequence[int], steps: Sequence[int]
) -> list[Any]:
    """Of each place in a window over the last axes what is there, of all windows."""
    sizes = np.shape(x)[np.ndim(x) - len(lengths) :]
    counts = [
        max(0, (size - (length - 1) * step - 1) // stride + 1)
        for size, length, stride, step in zip(sizes, lengths, strides, steps, strict=True)
    ]
    found = []
    for place in itertools.product(*map(range, lengths)):
        each = zip(place, steps, counts, strides, strict=True)
        spans = [
            slice(at * step, at * step + (count - 1) * stride + 1 if count else 0, stride)
            for at, step, count, stride in each
        ]
        index = (Ellipsis, *spans)
        found.append(x[index])
    return found


def conv_general_dilated(
    lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Padding,
    lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None, feature_group_count: int = 1, batch_group_count: int = 1,
    **_: Any,
) -> Any:  # fmt: skip
    """`jax.lax.conv_general_dilated`: kernels over all channels, in groups of these."""
    if batch_group_count != 1:
        raise ValueError("conv_general_dilated: convolve parts of the batch, and concatenate them")
    specs = conv_dimension_numbers(np.shape(lhs), np.shape(rhs), dimension_numbers)
    x, kernel = np.transpose(lhs, specs.lhs_spec), np.transpose(rhs, specs.rhs_spec)
    n_out, n_in, *lengths = np.shape(kernel)
    ones, groups = [1] * len(lengths), feature_group_count
    if np.shape(x)[1] != n_in * groups or n_out % groups:
        raise ValueError(
            f"conv_general_dilated: {np.shape(x)[1]} channels, and kernels of {n_in} in "
            f"{groups} groups for {n_out} outputs"
        )
    steps = rhs_dilation or ones
    x = _dilated(x, lhs_dilation or ones)
    wide = [(length - 1) * step + 1 for length, step in zip(lengths, steps, strict=True)]
    pads = _pads(padding, np.shape(x)[2:], wide, window_strides)
    places = _windows(_padded(x, [(0, 0), (0, 0), *pads]), lengths, window_strides, steps)
    batch, _, *sizes = np.shape(places[0])
    columns = np.reshape(
        np.stack(places, axis=2), (batch, groups, n_in * len(places), math.prod(sizes))
    )
    products = np.matmul(np.reshape(kernel, (groups, n_out // groups, -1)), columns)
    result = np.reshape(products, (batch, n_out, *sizes))
    return np.transpose(result, onp.argsort(specs.out_spec))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """`jax.lax.pad`: of each axis how much before, behind, and between numbers."""
    steps = [between + 1 for *_, between in padding_config]
    around = [(low, high) for low, high, _ in padding_config]
    return _padded(_dilated(operand, steps, padding_value), around, padding_value)


def conv(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Padding, **_: Any) -> Any:
    """`jax.lax.conv`: channels first."""
    return conv_general_dilated(lhs, rhs, window_strides, padding)


def conv_transpose(
    lhs: Any, rhs: Any, strides: Sequence[int], padding: Padding,
    rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
    transpose_kernel: bool = False, **_: Any,
) -> Any:  # fmt: skip
    """`jax.lax.conv_transpose`: as the gradient of a convolution by what it is given."""
    n = np.ndim(lhs)
    if dimension_numbers is None:  # channels last
        space = "HWD"[: n - 2]
        dimension_numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    specs = conv_dimension_numbers(np.shape(lhs), np.shape(rhs), dimension_numbers)
    steps, pads = rhs_dilation or [1] * (n - 2), padding
    if isinstance(padding, str):
        pads = []
        for axis, stride, step in zip(specs.rhs_spec[2:], strides, steps, strict=True):
            length = (np.shape(rhs)[axis] - 1) * step + 1
            if padding.upper() == "SAME":
                total = length + stride - 2
                low = length - 1 if stride > length - 1 else -(-total // 2)
            else:
                total, low = length + stride - 2 + max(length - stride, 0), length - 1
            pads.append((low, total - low))
    if transpose_kernel:
        outputs, inputs, *kept = specs.rhs_spec
        rhs = np.swapaxes(np.flip(rhs, tuple(kept)), outputs, inputs)
    return conv_general_dilated(lhs, rhs, [1] * (n - 2), pads, strides, steps, specs)


def reduce_window(
    operand: Any, init_value: Any, computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int], window_strides: Sequence[int] | None = None,
    padding: Padding = "VALID", base_dilation: None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """`jax.lax.reduce_window`: a function of two over all numbers of each window."""
    if base_dilation is not None and {*base_dilation} != {1}:
        raise ValueError("reduce_window: base_dilation is not there; put numbers between by hand")
    ones = [1] * np.ndim(operand)
    strides, steps = window_strides or ones, window_dilation or ones
    wide = [(n - 1) * step + 1 for n, step in zip(window_dimensions, steps, strict=True)]
    pads = _pads(padding, np.shape(operand), wide, strides)
    places = _windows(_padded(operand, pads, init_value), window_dimensions, strides, steps)
    return functools.reduce(computation, places, init_value)
