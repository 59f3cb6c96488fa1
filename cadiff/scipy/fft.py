"""`scipy.fft` for numbers with derivatives, real and complex: what it redefines is differentiated.

Fourier transforms are those of `cadiff.numpy.fft`, computed by SciPy; the other ones are linear,
too. `overwrite_x` permits what is never done here, `workers` are SciPy's, and a `plan` is refused
as SciPy does. Once this module is imported, plain `scipy.fft.fft(v)` and its like come here, too:
it registers itself as a backend of SciPy's, which leaves all plain arrays to SciPy.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from .. import binding
from ..binding import MissingRuleError, carries, resized
from ..binding import make_complex as paired
from ..numpy import fft as of_numpy
from ..numpy._common import Number
from ..numpy._fourier import EXCHANGED, Options, Transform, at, half, of_half, spectrum
from ..numpy._refusals import relayed, the_rest_of
from ..numpy.fft import named, one_axis, some_axes
from ..operations.arrays import concatenate, moveaxis
from ..operations.complexes import whole_parts
from ..operations.dispatch import implements
from ..operations.linear_maps import linear
from ._signatures import arguments_of

__all__ = list(scipy.fft.__all__)


# --- by Fourier transforms, as programs compute them ---------------------------------------------

# Those have loops for C to call (see `numpy/_fourier.py`), SciPy's own do not show theirs. Values
# are the same to rounding. All functions go along the last axis. The cosine transforms of types 2
# and 3, the usual ones, take one transform of n real numbers: J. Makhoul, "A fast cosine transform
# in one and two dimensions", IEEE Trans. ASSP 28 (1980).


def _along_last(x: Number, n: int, size: int) -> Transform:
    """The transform of length n of an array, truncated to a size."""
    return Transform("numpy.fft", (binding.ndim(x) - 1,), (n,), "backward", sizes=(size,))


def _half(x: Number) -> tuple[Number, Number]:
    """Both parts of half the spectrum of real numbers."""
    n = binding.shape(x)[-1]
    re, im = half(_along_last(x, n, n // 2 + 1), x)
    return re, im


def _turn(angle: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    return 2.0 * np.cos(angle), 2.0 * np.sin(angle)


def _cosines_2(x: Number) -> Number:
    n = binding.shape(x)[-1]
    re, im = _half(concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1))
    cos, sin = _turn(math.pi / (2 * n) * np.arange(n // 2 + 1))
    return concatenate(
        [re * cos + im * sin, (re * sin - im * cos)[..., (n - 1) // 2 : 0 : -1]], -1
    )


def _cosines_3(x: Number) -> Number:
    """The transposed of type 2, but for the first element, which counts half."""
    *outer, n = binding.shape(x)
    last, none = n // 2 + 1, np.zeros((*outer, 1))
    cos, sin = _turn(math.pi / (2 * n) * np.arange(last))
    cos[0] *= 0.5
    ends = [none] if n % 2 or n == 1 else [none, none]
    even = x[..., :last]
    odd = concatenate([ends[0], x[..., : last - 1 : -1], *ends[1:]], -1)
    transform, how = half.adjoint(_along_last(x, n, last), (*outer, n))
    return _interleaved(transform(how, cos * even + sin * odd, sin * even - cos * odd)[0])


def _cosines_4(x: Number) -> Number:
    """Of n / 2 complex numbers, if n is even; else of 2 n, half of which are 0."""
    n = binding.shape(x)[-1]
    k = np.arange(n)
    if n % 2:
        a, b = _times(x, None, math.pi / (2 * n) * k)
        re, im = spectrum(_along_last(x, 2 * n, n), a, b)
        return 2.0 * _times(re, im, math.pi / (4 * n) * (2 * k + 1))[0]
    k = k[: n // 2]
    a, b = _times(x[..., ::2], x[..., ::-2], math.pi / (4 * n) * (4 * k + 1))
    re, im = spectrum(_along_last(a, n // 2, n // 2), a, b)
    re, im = _times(re, im, math.pi / n * k)
    return 2.0 * _interleaved(concatenate([re, -im], -1))


def _times(re: Number, im: Number, angle: NDArray[Any]) -> tuple[Number, Number]:
    """Both parts of complex numbers times exp(-i angle)."""
    cos, sin = np.cos(angle), np.sin(angle)
    if im is None:
        return re * cos, re * -sin
    return re * cos + im * sin, im * cos - re * sin


def _interleaved(x: Number) -> Number:
    """The first half at even places, the second one, backwards, at odd ones."""
    n = binding.shape(x)[-1]
    places = np.empty(n, int)
    places[::2], places[1::2] = np.arange((n + 1) // 2), np.arange(n - 1, (n - 1) // 2, -1)
    return x[..., places]


def _sines_1(x: Number) -> Number:
    *outer, n = binding.shape(x)
    none = np.zeros((*outer, 1))
    return -_half(concatenate([none, x, none, -x[..., ::-1]], -1))[1][..., 1 : n + 1]


def _alternating(x: Number) -> Number:
    return x * (1.0 - 2.0 * (np.arange(binding.shape(x)[-1]) % 2))


# Without factors, for a length of 2 and more.
TRANSFORMS: dict[tuple[str, int], Callable[[Number], Number]] = {
    ("dct", 1): lambda x: _half(concatenate([x, x[..., -2:0:-1]], -1))[0],
    ("dct", 2): _cosines_2,
    ("dct", 3): _cosines_3,
    ("dct", 4): _cosines_4,
    ("dst", 1): _sines_1,
    ("dst", 2): lambda x: _cosines_2(_alternating(x))[..., ::-1],
    ("dst", 3): lambda x: _alternating(_cosines_3(x[..., ::-1])),
    ("dst", 4): lambda x: _alternating(_cosines_4(x[..., ::-1])),
}


def convolved(x: Number, kernel: NDArray[np.float64], power: NDArray[np.float64]) -> Number:
    """A cyclic convolution, read backwards, between two scalings by powers."""
    n = binding.shape(x)[-1]
    transformed = np.fft.rfft(kernel)
    a, b = transformed.real, transformed.imag
    re, im = _half(x * power)
    product = of_half(_along_last(x, n, n), re * a - im * b, re * b + im * a)
    return product[0][..., ::-1] * power


SCIPY = "scipy.fft"
Real = NDArray[np.float64]
Function = Callable[..., Any]

fftshift, ifftshift = of_numpy.fftshift, of_numpy.ifftshift


__getattr__, __dir__ = the_rest_of(scipy.fft, globals(), relayed)


# --- Fourier transforms --------------------------------------------------------------------------


def along(original: Function, transform: Function, of_half: bool = False, **way: Any) -> Any:
    """A function of SciPy's that transforms along one axis, or along several."""
    arguments = arguments_of(original)
    more = arguments((None,), {}).keys() & {"type", "orthogonalize"}

    def function(*args: Any, **kwargs: Any) -> Any:
        named = arguments(args, kwargs)
        if named.get("plan") is not None:
            raise NotImplementedError("a precomputed plan is not supported, nor is it by SciPy")
        x, norm, workers = named["x"], named["norm"], named["workers"]
        options: Options = () if workers is None else (("workers", workers),)
        if "axis" in named:
            x, how = one_axis(SCIPY, x, named["n"], named["axis"], norm, of_half, options)
        else:
            x, how = some_axes(SCIPY, x, named["s"], named["axes"], norm, of_half, options)
            if len(set(how.axes)) != len(how.axes):
                raise ValueError("all axes must be unique")
        return transform(x, how, **way, **{name: named[name] for name in more})

    function.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return named(function, original, transform, f"As `scipy.fft.{original.__name__}`.")


_whole, _from_half = of_numpy.whole, of_numpy.half_to_real
_to_half, _to_symmetric = of_numpy.REAL
_from_symmetric = of_numpy.symmetric_to_real

fft, fft2, fftn = (along(f, _whole) for f in (scipy.fft.fft, scipy.fft.fft2, scipy.fft.fftn))
ifft, ifft2, ifftn = (
    along(f, _whole, is_inverse=True) for f in (scipy.fft.ifft, scipy.fft.ifft2, scipy.fft.ifftn)
)
rfft, rfft2, rfftn = (
    along(f, _to_half) for f in (scipy.fft.rfft, scipy.fft.rfft2, scipy.fft.rfftn)
)
irfft, irfft2, irfftn = (
    along(f, _from_half, True) for f in (scipy.fft.irfft, scipy.fft.irfft2, scipy.fft.irfftn)
)
hfft, hfft2, hfftn = (
    along(f, _from_symmetric, True) for f in (scipy.fft.hfft, scipy.fft.hfft2, scipy.fft.hfftn)
)
ihfft, ihfft2, ihfftn = (
    along(f, _to_symmetric) for f in (scipy.fft.ihfft, scipy.fft.ihfft2, scipy.fft.ihfftn)
)


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
        if factor == 1.0:
            return x
        x = x.copy()
        for axis in self.axes if x.size else ():
            for edge in self.edges:
                x[at(axis, edge)] *= factor
        return x

    @property
    def edges(self) -> tuple[int, ...]:
        return (0, -1) if self.type == 1 else (0,) if self.name == "dct" else (-1,)

    @property
    def has_edges(self) -> bool:
        """Whether there are factors of edges: the first sine transform has none."""
        return (self.name, self.type) != ("dst", 1)

    def scales(self, n: int) -> tuple[Real, Real]:
        """What elements along an axis of length n are multiplied by, before and after the sums."""
        size = 2 * (n + (0 if self.type != 1 else 1 if self.name == "dst" else -1))
        root = math.sqrt(2.0) if self.is_orthogonal and self.has_edges else 1.0
        by = {"backward": 1.0, "ortho": 1.0 / math.sqrt(size), "forward": 1.0 / size}[self.norm]
        before, after = np.ones(n), np.full(n, by)
        before[[*self.edges]] *= self.before * (root if self.type in (1, 3) else 1.0)
        after[[*self.edges]] *= self.after / (root if self.type in (1, 2) else 1.0)
        return before, after

    def turned(self, shape: tuple[int, ...]) -> Trigonometric:
        """The transpose, of arrays of a shape."""
        by = 2.0 if self.has_edges and not self.is_orthogonal else 1.0
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


def _by_fourier(t: Trigonometric, x: Number) -> Any:
    """The same of a Var, axis after axis; SciPy's where it is to raise, or has workers."""
    if 0 in binding.shape(x) or min(t.lengths) < 2 or t.options:
        return NotImplemented
    for axis, length, size in zip(t.axes, t.lengths, t.sizes or t.lengths, strict=True):
        before, after = t.scales(length)
        x = _fitted(moveaxis(x, axis, -1), length)
        x = TRANSFORMS[t.name, t.type](x if np.all(before == 1.0) else x * before)
        x = _fitted(x if np.all(after == 1.0) else x * after, size)
        x = moveaxis(x, -1, axis)
    return (x,)


def _fitted(x: Number, length: int) -> Number:
    """Truncated along the last axis, or padded by zeros."""
    *outer, n = binding.shape(x)
    if n >= length:
        return x if n == length else x[..., :length]
    return concatenate([x, np.zeros((*outer, length - n))], -1)


trigonometric.called = "dct or dst"
trigonometric.written_out = _by_fourier
trigonometric.adjoint = lambda t, shape: (trigonometric, t.turned(shape))


def _by_parts(change: Function, x: Number) -> Number:
    if not binding.is_complex_number(x):
        return change(x)
    return paired(*map(change, whole_parts(x)))


def _trigonometric(original: Function) -> Any:
    """A cosine or sine transform along one axis, or along several."""

    def transform(x: Number, how: Transform, type: int, orthogonalize: bool | None) -> Number:
        name = original.__name__.rstrip("n")
        if type not in INVERSE:
            raise ValueError(f"Invalid type specified: {type}; it is 1, 2, 3 or 4")
        is_orthogonal = how.norm == "ortho" if orthogonalize is None else bool(orthogonalize)
        if not how.axes:
            return x
        direction = how.norm
        if name[0] == "i":
            name, type, direction = name[1:], INVERSE[type], EXCHANGED[direction]
        t = Trigonometric(name, type, how.axes, how.lengths, direction, is_orthogonal, how.options)
        return _by_parts(lambda x: trigonometric(t, x)[0], x)

    return along(original, transform)


dct, idct = _trigonometric(scipy.fft.dct), _trigonometric(scipy.fft.idct)
dst, idst = _trigonometric(scipy.fft.dst), _trigonometric(scipy.fft.idst)
dctn, idctn = _trigonometric(scipy.fft.dctn), _trigonometric(scipy.fft.idctn)
dstn, idstn = _trigonometric(scipy.fft.dstn), _trigonometric(scipy.fft.idstn)


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


def _hankel_by_fourier(how: Hankel, x: Number) -> Any:
    """The same of a Var; the convolution is by what it makes of a single 1."""
    n = binding.shape(x)[how.ndim - 1]
    dln, _, _, bias = how.parameters
    sign = -1.0 if how.name == "fht" else 1.0
    power = np.exp(sign * bias * dln * (np.arange(n) - 0.5 * (n - 1)))
    kernel = getattr(scipy.fft, how.name)(np.eye(1, n)[0] / power[:1], *how.parameters) / power
    if 0 in binding.shape(x) or not np.all(np.isfinite(kernel)):
        return NotImplemented
    x = moveaxis(x, how.ndim - 1, -1)
    return (moveaxis(convolved(x, kernel[::-1], power), -1, how.ndim - 1),)


hankel.called = "fht or ifht"
hankel.written_out = _hankel_by_fourier
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
