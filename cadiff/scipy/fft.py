"""`scipy.fft` for numbers with derivatives, real and complex: what it redefines is differentiated.

Fourier transforms are those of `cadiff.numpy.fft`, computed by SciPy; the other ones are linear,
too. `overwrite_x` permits what is never done here, `workers` are SciPy's, and a `plan` is refused
as SciPy does. Once this module is imported, plain `scipy.fft.fft(v)` and its like come here, too:
it registers itself as a backend of SciPy's, which leaves all plain arrays to SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from .. import binding
from ..binding import MissingRuleError, carries, resized
from ..binding import make_complex as paired
from ..numpy import fft as of_numpy
from ..numpy._common import Axis, Number
from ..numpy._fourier import EXCHANGED, Options, Transform, at
from ..numpy._refusals import INSTEAD, relayed
from ..numpy.fft import Lengths, Name, named, one_axis, some_axes
from ..operations.complexes import whole_parts
from ..operations.dispatch import implements
from ..operations.linear_maps import linear

__all__ = list(scipy.fft.__all__)

SCIPY = "scipy.fft"
Real = NDArray[np.float64]
Function = Callable[..., Any]

fftshift, ifftshift = of_numpy.fftshift, of_numpy.ifftshift


@cache
def __getattr__(name: str) -> Any:
    found = getattr(scipy.fft, name)
    is_plain = not isinstance(found, FunctionType)
    return found if is_plain else relayed(found, f"scipy.fft.{name}", INSTEAD)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(scipy.fft)})


# --- arguments -----------------------------------------------------------------------------------


def _options(workers: int | None, plan: Any = None) -> Options:
    if plan is not None:
        raise NotImplementedError("a precomputed plan is not supported, nor is it by SciPy")
    return () if workers is None else (("workers", workers),)


def _several(x: Any, s: Lengths, axes: Axis, norm: Name, of_half: bool, options: Options) -> Any:
    x, how = some_axes(SCIPY, x, s, axes, norm, of_half, options)
    if len(set(how.axes)) != len(how.axes):
        raise ValueError("all axes must be unique")
    return x, how


# --- Fourier transforms --------------------------------------------------------------------------


def along_one(original: Function, transform: Function, of_half: bool = False, **way: Any) -> Any:
    """A function of SciPy's that transforms along one axis."""

    def function(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: Name = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: None = None,
    ) -> Any:
        options = _options(workers, plan)
        return transform(*one_axis(SCIPY, x, n, axis, norm, of_half, options), **way)

    return named(function, original, transform, f"As `scipy.fft.{original.__name__}`.")


def along_several(
    original: Function,
    transform: Function,
    of_half: bool = False,
    default: Axis = None,
    **way: Any,
) -> Any:
    """A function of SciPy's that transforms along several axes, by default all, or two."""

    def function(
        x: Any,
        s: Lengths = None,
        axes: Axis = default,
        norm: Name = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: None = None,
    ) -> Any:
        options = _options(workers, plan)
        return transform(*_several(x, s, axes, norm, of_half, options), **way)

    return named(function, original, transform, f"As `scipy.fft.{original.__name__}`.")


_whole, _from_half = of_numpy.whole, of_numpy.half_to_real
_to_half, _to_symmetric = of_numpy.REAL
_from_symmetric = of_numpy.symmetric_to_real
_TWO = of_numpy.TWO

fft = along_one(scipy.fft.fft, _whole)
ifft = along_one(scipy.fft.ifft, _whole, is_inverse=True)
rfft = along_one(scipy.fft.rfft, _to_half)
irfft = along_one(scipy.fft.irfft, _from_half, True)
hfft = along_one(scipy.fft.hfft, _from_symmetric, True)
ihfft = along_one(scipy.fft.ihfft, _to_symmetric)

fftn = along_several(scipy.fft.fftn, _whole)
ifftn = along_several(scipy.fft.ifftn, _whole, is_inverse=True)
rfftn = along_several(scipy.fft.rfftn, _to_half)
irfftn = along_several(scipy.fft.irfftn, _from_half, True)
hfftn = along_several(scipy.fft.hfftn, _from_symmetric, True)
ihfftn = along_several(scipy.fft.ihfftn, _to_symmetric)

fft2 = along_several(scipy.fft.fft2, _whole, default=_TWO)
ifft2 = along_several(scipy.fft.ifft2, _whole, default=_TWO, is_inverse=True)
rfft2 = along_several(scipy.fft.rfft2, _to_half, default=_TWO)
irfft2 = along_several(scipy.fft.irfft2, _from_half, True, _TWO)
hfft2 = along_several(scipy.fft.hfft2, _from_symmetric, True, _TWO)
ihfft2 = along_several(scipy.fft.ihfft2, _to_symmetric, default=_TWO)


# --- cosine and sine transforms ------------------------------------------------------------------

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}  # the type of the inverse, up to a factor


class Trigonometric(NamedTuple):
    """Which cosine or sine transform it is.

    The matrices are those of the documentation of `scipy.fft.dct` and `dst`. Up to what the first
    or last elements, the edges, are multiplied by, those of types 1 and 4 are symmetric, and those
    of types 2 and 3 each other's transpose; what `orthogonalize` does is such that they are
    exactly.

    Attributes
    ----------
    name : str
        "dct" or "dst".
    type, axes, lengths, norm, is_orthogonal, options
        As the function has them; all axes are counted from the front.
    before, after : float
        What edges are multiplied by, before the transform and after it.
    sizes : tuple of int
        The lengths to which results are truncated or padded; () for those that they have.
    """

    name: str
    type: int
    axes: tuple[int, ...]
    lengths: tuple[int, ...]
    norm: str
    is_orthogonal: bool
    options: Options
    before: float = 1.0
    after: float = 1.0
    sizes: tuple[int, ...] = ()

    def scale_edges(self, x: Real, factor: float) -> Real:
        """An array with its edges multiplied by a factor."""
        if factor == 1.0:
            return x
        x = x.copy()
        edges = (0, -1) if self.type == 1 else (0,) if self.name == "dct" else (-1,)
        for axis in self.axes if x.size else ():
            for edge in edges:
                x[at(axis, edge)] *= factor
        return x

    def turned(self, shape: tuple[int, ...]) -> Trigonometric:
        """The transpose, of arrays of a shape."""
        by = 1.0 if self.is_orthogonal or (self.name, self.type) == ("dst", 1) else 2.0
        return self._replace(
            type=INVERSE[self.type],
            before=self.after * (by if self.type in (1, 2) else 1.0),
            after=self.before / (by if self.type in (1, 3) else 1.0),
            sizes=tuple(shape[axis] for axis in self.axes),
        )


@linear
def trigonometric(t: Trigonometric, x: Real) -> tuple[Real]:
    x = t.scale_edges(resized(x, t.axes, t.lengths), t.before)
    options = dict(t.options, norm=t.norm, orthogonalize=t.is_orthogonal)
    if len(t.axes) == 1:
        x = getattr(scipy.fft, t.name)(x, t.type, axis=t.axes[0], **options)
    else:
        x = getattr(scipy.fft, t.name + "n")(x, t.type, axes=t.axes, **options)
    return (resized(t.scale_edges(x, t.after), t.axes, t.sizes),)


trigonometric.called = "dct or dst"
trigonometric.adjoint = lambda t, shape: (trigonometric, t.turned(shape))


def _by_parts(change: Function, x: Number) -> Number:
    if not binding.is_complex_number(x):
        return change(x)
    return paired(*map(change, whole_parts(x)))


def _trigonometric(
    original: Function,
    type: int,
    x: Number,
    how: Transform,
    norm: Name,
    orthogonalize: bool | None,
) -> Number:
    name = original.__name__.rstrip("n")
    if type not in INVERSE:
        raise ValueError(f"Invalid type specified: {type}; it is 1, 2, 3 or 4")
    is_orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    if not how.axes:
        return x
    direction = how.norm
    if name[0] == "i":
        name, type, direction = name[1:], INVERSE[type], EXCHANGED[direction]
    t = Trigonometric(name, type, how.axes, how.lengths, direction, is_orthogonal, how.options)
    return _by_parts(lambda x: trigonometric(t, x)[0], x)


def of_one(original: Function) -> Any:
    """A cosine or sine transform along one axis."""

    def function(
        x: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: Name = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        x, how = one_axis(SCIPY, x, n, axis, norm, options=_options(workers))
        return _trigonometric(original, type, x, how, norm, orthogonalize)

    return named(function, original, None, f"As `scipy.fft.{original.__name__}`.")


def of_several(original: Function) -> Any:
    """A cosine or sine transform along several axes."""

    def function(
        x: Any,
        type: int = 2,
        s: Lengths = None,
        axes: Axis = None,
        norm: Name = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Any:
        x, how = _several(x, s, axes, norm, False, _options(workers))
        return _trigonometric(original, type, x, how, norm, orthogonalize)

    return named(function, original, None, f"As `scipy.fft.{original.__name__}`.")


dct, idct = of_one(scipy.fft.dct), of_one(scipy.fft.idct)
dst, idst = of_one(scipy.fft.dst), of_one(scipy.fft.idst)
dctn, idctn = of_several(scipy.fft.dctn), of_several(scipy.fft.idctn)
dstn, idstn = of_several(scipy.fft.dstn), of_several(scipy.fft.idstn)


# --- Hankel transforms ---------------------------------------------------------------------------


class Hankel(NamedTuple):
    """Which of the two transforms, along the last of so many axes, with which parameters."""

    name: str
    ndim: int
    parameters: tuple[float, ...]


@linear
def hankel(how: Hankel, x: Real) -> tuple[Real]:
    """A cyclic convolution, read backwards, between two scalings by the same powers.

    Its matrix is symmetric: see A. J. S. Hamilton, MNRAS 312, 257 (2000), eqs. 172 to 176.
    """
    last = how.ndim - 1
    y = getattr(scipy.fft, how.name)(np.moveaxis(x, last, -1), *how.parameters)
    return (np.moveaxis(y, -1, last),)


hankel.called = "fht or ifht"
hankel.adjoint = lambda how, shape: (hankel, how)
hankel.mixed = lambda how: (how.ndim - 1,)


def _hankel(original: Function) -> Any:
    def function(a: Any, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:
        parameters = (dln, mu, offset, bias)
        if carries(parameters):
            raise MissingRuleError(
                f"scipy.fft.{original.__name__} has derivatives by the array that is transformed "
                "alone: give it cadiff.value of dln, mu, offset and bias"
            )
        x = of_numpy.number(a)
        how = Hankel(original.__name__, binding.ndim(x), tuple(map(float, parameters)))
        return hankel(how, x)[0]

    function.__doc__ = f"As `scipy.fft.{original.__name__}`; dln, mu, offset, bias are plain."
    return implements(original)(function)


fht, ifht = _hankel(scipy.fft.fht), _hankel(scipy.fft.ifht)


# --- SciPy's own functions -----------------------------------------------------------------------


class Backend:
    """What SciPy asks before its own functions: see `scipy.fft.register_backend`."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not (carries(args) or carries(kwargs)):
            return NotImplemented
        return globals()[method.__name__](*args, **kwargs)


scipy.fft.register_backend(Backend)
