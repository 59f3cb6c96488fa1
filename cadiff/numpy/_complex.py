"""NumPy's functions for complex numbers with derivatives.

What is linear over the complex numbers is done for real and imaginary part by the functions for
real numbers; what is linear in two arguments, for all four pairs of parts. The rest stands here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import binding
from ..binding import Complex, holds_complex
from ..binding import make_complex as paired
from ..operations import arrays, complexes
from ..operations import table as _table
from ..operations.complexes import ELEMENTWISE, conjugate, implements_complex, joined, whole_parts
from ..operations.dispatch import FUNCTIONS, mask_of
from ..operations.eager_cache import changing
from ..operations.guards import LESS, LESS_EQUAL, NOT_EQUAL
from ..operations.searches import ranked_by
from . import _calculus, _products, _reductions, _shapes  # noqa: F401 - register what serves here
from ._choices import flatiter
from ._common import Axis, existing, flat_axis, refuse, refuse_real
from ._products import spelt_out, subscripts_of

# --- by parts ------------------------------------------------------------------------------------


def _part(x: Any, which: int) -> Any:
    """One part of the numbers in an argument: of a list, of each item."""
    if x is None:
        return x
    if isinstance(x, (list, tuple)):
        return type(x)([_part(item, which) for item in x])
    return whole_parts(x)[which]


def _together(re: Any, im: Any) -> Any:
    if isinstance(re, (list, tuple)):
        return type(re)([_together(a, b) for a, b in zip(re, im, strict=True)])
    return paired(re, im)


def _function(original: Any) -> Callable[..., Any]:
    """What differentiates one of NumPy's functions for real numbers, and takes plain ones too."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if holds_complex((args, kwargs)):
            raise TypeError(
                f"numpy.{original.__name__} takes complex numbers only where its result is linear "
                "in them: pass z.real, z.imag or abs(z)"
            )
        return FUNCTIONS.get(original, original)(*args, **kwargs)

    return run


# What can be written through to the array that it was taken of.
VIEWS = {
    "array_split", "expand_dims", "moveaxis", "permute_dims", "ravel", "reshape", "split",
    "squeeze", "swapaxes", "transpose",
}  # fmt: skip


def by_parts(original: Any, *places: int, names: tuple[str, ...] = ()) -> None:
    """A function that is linear in the arguments at some places, and of some names."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if "dtype" in kwargs:
            refuse_real(original.__name__, kwargs["dtype"])
            kwargs["dtype"] = None
        run = _function(original)
        results = []
        for which in (0, 1):
            chosen = [_part(x, which) if k in places else x for k, x in enumerate(args)]
            named = {k: _part(x, which) if k in names else x for k, x in kwargs.items()}
            results.append(run(*chosen, **named))
        result = _together(*results)
        if original.__name__ in VIEWS and args and isinstance(args[0], Complex):
            binding.note_view(args[0], result, lambda part: run(part, *args[1:], **kwargs))
        return result

    call.__name__ = original.__name__
    implements_complex(original)(call)


for _original in existing(
    "array_split", "around", "broadcast_to", "copy", "cumsum", "delete", "diagflat", "diagonal",
    "expand_dims", "gradient", "mean", "moveaxis", "permute_dims", "ravel", "repeat", "reshape",
    "round", "split", "squeeze", "swapaxes", "take", "take_along_axis", "trace", "transpose",
):  # fmt: skip
    by_parts(_original, 0, names=("a", "x"))
by_parts(np.lib.stride_tricks.sliding_window_view, 0, names=("x",))
by_parts(np.ediff1d, 0, 1, 2, names=("ary", "to_begin", "to_end"))
by_parts(np.sum, 0, 5, names=("a", "initial"))
by_parts(np.linspace, 0, 1, names=("start", "stop"))
for _original in existing("concatenate", "concat", "stack", "block"):
    by_parts(_original, 0)
by_parts(np.where, 1, 2)
by_parts(np.select, 1, 2, names=("default",))
by_parts(np.compress, 1)
by_parts(np.insert, 0, 2)
by_parts(np.interp, 2, 3, 4, names=("fp", "left", "right"))
by_parts(np.choose, 1)


def function_of(original: Any) -> Callable[..., Any]:
    """One of NumPy's functions for numbers of any kind."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if holds_complex(args):
            return complexes.function(original, args, kwargs)
        return _function(original)(*args, **kwargs)

    return call


def _of_sums(
    original: Any, join: Callable[[Any, Any], Any], leaves: Callable[[Any], Any] = whole_parts
) -> None:
    """Something that sums give, or sums of squares, done for what `leaves` has of both parts."""

    @implements_complex(original)
    def call(
        a: Any, axis: Axis = None, dtype: Any = None, out: None = None, *args: Any, **kwargs: Any
    ) -> Any:
        refuse(original.__name__, out=out)
        refuse_real(original.__name__, dtype)
        run = _function(original)
        options = [
            {k: _part(x, which) if k in ("initial", "mean") else x for k, x in kwargs.items()}
            for which in (0, 1)
        ]
        parts = zip(leaves(a), options, strict=True)
        return join(*(run(part, axis, None, None, *args, **named) for part, named in parts))


def _present(a: Any) -> Any:
    """Both parts; what is nan in one of them is so in both."""
    re, im = whole_parts(a)
    missing = (re != re) | (im != im)
    return [_table.where(missing, np.nan, part) for part in (re, im)]


_of_sums(np.var, np.add)
_of_sums(np.std, _table.hypot)  # whose derivative at 0 is 0
_of_sums(np.nansum, _together, _present)
_of_sums(np.nanmean, _together, _present)
_of_sums(np.nancumsum, _together, _present)
_of_sums(np.nanvar, np.add, _present)
_of_sums(np.nanstd, _table.hypot, _present)


def _product_without_nan(original: Any, product: Callable[..., Any]) -> None:
    @implements_complex(original)
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        z = joined(a)
        return product(ELEMENTWISE["where"](z != z, 1.0, z), *args, **kwargs)


# --- alike -------------------------------------------------------------------------------------

# What the functions for real numbers do step by step serves complex ones as well.
for _original in existing(
    "apply_along_axis", "average", "broadcast_arrays", "corrcoef", "fill_diagonal", "meshgrid",
    "ndim", "place", "ptp", "put", "put_along_axis", "putmask", "shape", "size",
):  # fmt: skip
    implements_complex(_original)(FUNCTIONS[_original].__wrapped__)  # type: ignore[attr-defined]


# --- products ------------------------------------------------------------------------------------


def product_of(original: Any, conjugated: int | None = None) -> None:
    """A function of NumPy's that is linear in two arguments, or in the conjugate of one."""

    @implements_complex(original)
    def call(x: Any, y: Any, /, *args: Any, **kwargs: Any) -> Any:
        run = _function(original)
        if "dtype" in kwargs:
            refuse_real(original.__name__, kwargs["dtype"])
            kwargs["dtype"] = None
        if conjugated == 0:
            x = conjugate(x)
        elif conjugated == 1:
            y = conjugate(y)
        return binding.bilinear(lambda p, q: run(p, q, *args, **kwargs), joined(x), joined(y))

    call.__name__ = original.__name__


for _original in existing("dot", "matmul", "inner", "kron", "cross", "convolve", "matvec"):
    product_of(_original)
for _original in existing("vdot", "vecdot", "vecmat"):
    product_of(_original, 0)
product_of(np.correlate, 1)


@implements_complex(np.einsum)
def einsum(*operands: Any, optimize: Any = False, out: None = None, **kwargs: Any) -> Any:
    """Sums of products, as `numpy.einsum`: of three operands and more, two at a time."""
    refuse("einsum", out=out)
    refuse_real("einsum", kwargs.pop("dtype", None))
    if kwargs:
        raise TypeError(
            f"numpy.einsum of complex numbers with derivatives takes nothing further, not {kwargs}"
        )
    real = _function(np.einsum)
    text, numbers = subscripts_of(operands)
    terms, result = spelt_out(text, [x.shape for x in numbers])
    while len(numbers) > 2:
        letters = set(result).union(*terms[2:])
        kept = "".join(c for c in dict.fromkeys(terms[0] + terms[1]) if c in letters)
        rule = f"{terms[0]},{terms[1]}->{kept}"
        numbers[:2] = [binding.bilinear(partial(real, rule), *numbers[:2])]
        terms[:2] = [kept]
    rule = f"{','.join(terms)}->{result}"
    if len(numbers) == 1:
        return paired(*(real(rule, p) for p in whole_parts(numbers[0])))
    return binding.bilinear(partial(real, rule), *numbers)


def _axes_last(z: Any, axis: Axis) -> tuple[Any, tuple[int, ...]]:
    """An array whose last axis is all reduced axes in one, and these axes."""
    axes = arrays.reduced_axes(axis, z.ndim)
    rest = [k for k in range(z.ndim) if k not in axes]
    lengths = [z.shape[k] for k in rest]
    n = math.prod(z.shape[k] for k in axes)
    return z.transpose(*rest, *axes).reshape((*lengths, n)), axes


def _masked(z: Any, where: Any, neutral: Any) -> Any:
    """An array where a mask holds, and what changes nothing elsewhere."""
    return z if where is True else ELEMENTWISE["where"](mask_of(where), z, neutral)


@implements_complex(np.prod)
def prod(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """The product over axes, by halves."""
    refuse("prod", out=out)
    refuse_real("prod", dtype)
    z, axes = _axes_last(_masked(joined(a), where, 1.0), axis)
    n = z.shape[-1]
    while n > 1:
        half = n // 2
        folded = z[..., :half] * z[..., half : 2 * half]
        z = folded if n % 2 == 0 else np.concatenate([folded, z[..., -1:]], axis=-1)
        n = z.shape[-1]
    z = np.ones(z.shape[:-1], complex)[()] if n == 0 else +z[..., 0]
    z = z if initial is None else z * initial
    return np.expand_dims(z, axes) if keepdims else z


@implements_complex(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Products of the elements so far, by products of more and more of them."""
    refuse("cumprod", out=out)
    refuse_real("cumprod", dtype)
    z = +joined(a)
    z = z.reshape(-1) if axis is None else np.moveaxis(z, axis, 0)
    reach = 1
    while reach < z.shape[0]:
        z = np.concatenate([z[:reach], z[reach:] * z[:-reach]])
        reach *= 2
    return z if axis is None else np.moveaxis(z, 0, axis)


_product_without_nan(np.nanprod, prod)
_product_without_nan(np.nancumprod, cumprod)


# --- elementwise, and row by row -----------------------------------------------------------------

# Of the series of sin(w) / w in w**2: those that count up to |w| = 1.
SINC = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(10)]


@implements_complex(np.sinc)
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), which is 1 at 0."""
    w = np.pi * joined(x)
    is_near = abs(w) < 1.0
    near, far = (function_of(np.where)(mask, w, 1.0) for mask in (is_near, ~is_near))
    square = near * near
    series: Any = SINC[-1]
    for coefficient in SINC[-2::-1]:
        series = series * square + coefficient
    return function_of(np.where)(is_near, series, np.sin(far) / far)


@implements_complex(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None,
    max: Any = None,
) -> Any:  # fmt: skip
    """Between two numbers, in the order of real parts, then of imaginary ones."""
    refuse("clip", out=out)
    if (a_min is not None or a_max is not None) and (min is not None or max is not None):
        raise ValueError("Passing `min` or `max` keyword argument beside `a_min` or `a_max`")
    low, high = (a_min, a_max) if min is None and max is None else (min, max)
    z = joined(a) if low is not None or high is not None else +joined(a)
    z = z if low is None else ELEMENTWISE["maximum"](z, low)
    return z if high is None else ELEMENTWISE["minimum"](z, high)


# --- what is real --------------------------------------------------------------------------------


@implements_complex(*existing("astype"))
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: None = None) -> Any:
    return joined(x).astype(dtype, copy=copy)


@implements_complex(np.real)
def real(val: Any) -> Any:
    return complexes.real(val)


@implements_complex(np.imag)
def imag(val: Any) -> Any:
    return complexes.imag(val)


@implements_complex(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    found = complexes.angle(z)
    return found * (180.0 / np.pi) if deg else found


# --- order: that of real parts, then of imaginary ones -------------------------------------------


def _chooses_anew(z: Any) -> bool:
    """Whether a replay finds out about the order by itself."""
    return binding.chooses_anew() and binding.depends(z)


def _ranked(z: Any, axis: int, ranks: Any, sign: float, of_nan: tuple[float, float]) -> Any:
    """Elements along an axis that have these ranks, in ascending order or, with sign -1, not.

    of_nan: what is added to the first of all keys where a real and an imaginary part is nan. Nan
    by itself is equal to nan.
    """
    re, im = (np.moveaxis(part, axis, 0) for part in whole_parts(z))
    lost = [binding.indicator(part, part, NOT_EQUAL) for part in (re, im)]
    keys = [sign * im, sign * re, of_nan[0] * lost[0] + of_nan[1] * lost[1]]
    if of_nan[0] == of_nan[1]:  # whichever part it is
        some = _table.maximum(*lost)
        keys = [*(_table.where(some, 0.0, key) for key in keys[:2]), of_nan[0] * some]
    ranks = np.reshape(ranks, (-1, *[1] * (re.ndim - 1)))
    ranks = np.broadcast_to(ranks, (len(ranks), *re.shape[1:]))
    ranked = paired(*ranked_by(keys, ranks, re, im))
    return np.moveaxis(ranked, 0, axis)


@implements_complex(np.sort)
def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: None = None, *, stable: Any = None
) -> Any:
    refuse("sort", order=order)
    z, axis = flat_axis(joined(a), axis)
    if _chooses_anew(z) and z.size:
        return _ranked(z, axis, np.arange(z.shape[axis]), 1.0, (2.0, 1.0))
    places = np.argsort(binding.unguarded(z), axis=axis, kind=kind, stable=stable)
    return function_of(np.take_along_axis)(z, places, axis)


def _extreme(original: Any, position: Callable[..., Any], sign: float, of_nan: float) -> None:
    @implements_complex(original)
    def extreme(
        a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        refuse(original.__name__, out=out)
        if where is not True and initial is None:
            raise ValueError(f"numpy.{original.__name__} with where= wants initial=")
        z, axes = _axes_last(_masked(joined(a), where, initial), axis)
        if initial is not None:
            ends = function_of(np.broadcast_to)(joined(initial), (*z.shape[:-1], 1))
            z = function_of(np.concatenate)([z, ends], -1)
        if _chooses_anew(z) and z.size:
            result = _ranked(z, z.ndim - 1, (0,), sign, (of_nan, of_nan))[..., 0]
        else:
            place = np.expand_dims(position(binding.unguarded(z), axis=-1), -1)
            result = function_of(np.take_along_axis)(z, place, -1)[..., 0]
        return np.expand_dims(result, axes) if keepdims else result


_extreme(np.max, np.argmax, -1.0, -1.0)
_extreme(np.min, np.argmin, 1.0, -1.0)
_extreme(np.nanmax, np.nanargmax, -1.0, 1.0)
_extreme(np.nanmin, np.nanargmin, 1.0, 1.0)


@implements_complex(np.median)
def median(
    a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    refuse("median", out=out)
    z, axes = _axes_last(joined(a), axis)
    n = z.shape[-1]
    in_order = sort(z)
    middle = np.mean(in_order[..., (n - 1) // 2 : n // 2 + 1], axis=-1)
    if n:  # nan comes last
        last = in_order[..., -1]
        middle = ELEMENTWISE["where"](last != last, last, middle)
    return np.expand_dims(middle, axes) if keepdims else middle


@implements_complex(np.partition)
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: None = None
) -> Any:
    """The order that NumPy's has; where that may be another, a replay is none."""
    refuse("partition", order=order)
    z, axis = flat_axis(joined(a), axis)
    plain = binding.plain_values(z)
    if binding.depends(z):
        in_order = np.moveaxis(
            function_of(np.take_along_axis)(z, np.argsort(plain, axis, kind="stable"), axis),
            axis,
            0,
        )
        for part in whole_parts(in_order):
            for how in (LESS, LESS_EQUAL):
                binding.compare(part[:-1], part[1:], how)
    places = np.argpartition(plain, kth, axis=axis, kind=kind)
    return function_of(np.take_along_axis)(z, places, axis)


# --- making --------------------------------------------------------------------------------------


@implements_complex(np.flatiter)
class _Elements(flatiter):
    """The elements of a complex array in order: what `z.flat` is."""

    def copy(self) -> Any:
        return self.base.reshape(-1).copy()

    def __getitem__(self, key: Any) -> Any:
        return +self.base.reshape(-1)[key]

    def __setitem__(self, key: Any, numbers: Any) -> None:
        places = np.arange(len(self))[key]
        numbers = joined(numbers)
        if binding.ndim(numbers) > 0:
            numbers = np.reshape(function_of(np.resize)(numbers, places.size), places.shape)
        self.base[np.unravel_index(places, self.base.shape)] = numbers


@implements_complex(np.copyto)
@changing
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    src = joined(src)
    kind = np.dtype(complex) if holds_complex(src) else np.result_type(src)
    if not np.can_cast(kind, complex, casting):
        raise TypeError(f"Cannot cast array data from {kind!r} according to the rule {casting!r}")
    dst[...] = src if where is True else ELEMENTWISE["where"](mask_of(where), src, dst)


@implements_complex(np.nan_to_num)
def nan_to_num(x: Any, *args: Any, **kwargs: Any) -> Any:
    return _together(*(_function(np.nan_to_num)(p, *args, **kwargs) for p in whole_parts(x)))
