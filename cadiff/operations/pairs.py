"""Operations on complex numbers with derivatives of their own.

To the tape a complex array is a real one with an axis of length 2 in front: real and imaginary
part. Rules are written in complex numbers, with adjoints (conjugated transposes) where those for
real numbers have transposes. A cotangent g of w = f(z) is such that the real part of conj(g) dw is
the change of the result; its two parts are the cotangents of those of w, so that nothing is
conjugated on the way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import Complex, Var, carries, parts_of
from ..binding import make_complex as paired
from . import arrays
from .primitives import primitive

__all__ = ["on_pairs"]


def pair(z: Any) -> Any:
    """A complex array, or a real one, as a real one of both parts."""
    if isinstance(z, np.ndarray):
        return binding.pair_of_array(z)
    if isinstance(z, Complex):
        re, im = binding.whole_parts_of(z)
    else:
        re, im = parts_of(z)
        if binding.shape(re) != binding.shape(im):
            im = np.zeros(binding.shape(re))
    if isinstance(re, Var) and isinstance(im, Var) and not binding.is_constant(re):
        return arrays.as_rows((re, im), binding.shape(re))
    return arrays.stack([re, im])


def unpaired(both: Any) -> Any:
    """The complex array, or number, of a real one of both parts."""
    if isinstance(both, np.ndarray):
        return binding.array_of_pair(both)
    return paired(both[0], both[1])


class on_pairs:  # noqa: N801 - a decorator
    """A function of complex numbers, with rules: what `primitive` is for real ones.

    function: of plain arguments, of which those that may carry derivatives stand first, and are
    all complex. It returns an array, or a tuple of them, each complex or, where `real` says so,
    real. Keyword arguments are not differentiated.
    """

    def __init__(self, function: Callable[..., Any], real: Sequence[bool] = (False,)) -> None:
        self.function = function
        self.real = tuple(real)

        @functools.wraps(function)
        def on_tape(*args: Any, **kwargs: Any) -> Any:
            return self._apply(*args, **kwargs)

        on_tape.__qualname__ += ".primitive"  # where pickle finds it
        self.primitive = primitive(on_tape)
        self.__name__: str = getattr(function, "__name__", "")
        self.primitive.called = self.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not carries(args):
            return self.function(*args, **kwargs)
        ans = self.primitive(*map(pair, args), **kwargs)
        return self._outward(ans)

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """The function as the tape sees it."""
        ans = self.function(*map(unpaired, args), **kwargs)
        if not isinstance(ans, tuple):
            return ans if self.real[0] else pair(np.asarray(ans))
        return tuple(
            x if real else pair(np.asarray(x)) for x, real in zip(ans, self.real, strict=True)
        )

    def _outward(self, ans: Any) -> Any:
        if not isinstance(ans, tuple):
            return ans if self.real[0] else unpaired(ans)
        return tuple(x if real else unpaired(x) for x, real in zip(ans, self.real, strict=True))

    def _inward(self, ans: Any) -> Any:
        if not isinstance(ans, tuple):
            return ans if self.real[0] else pair(ans)
        return tuple(x if real else pair(x) for x, real in zip(ans, self.real, strict=True))

    def defvjp(self, *makers: Callable[..., Any] | None) -> None:
        """`maker(ans, *args)` gives `pull(g)`, all in complex numbers: see the file's head."""

        def on_tape(maker: Callable[..., Any]) -> Callable[..., Any]:
            def made(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
                pull = maker(self._outward(ans), *map(unpaired, args), **kwargs)
                return lambda g: pair(pull(self._outward(g)))

            return functools.wraps(maker)(made)

        self.primitive.defvjp(*(None if m is None else on_tape(m) for m in makers))

    def deftogether(self, maker: Callable[..., Callable[[Any], Sequence[Any]]]) -> None:
        """A reverse rule of the first arguments taken together, as `primitive.together`."""

        def made(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Sequence[Any]]:
            pulls = maker(self._outward(ans), *map(unpaired, args), **kwargs)
            return lambda g: tuple(map(pair, pulls(self._outward(g))))

        self.primitive.together = made

    def defjvp(self, *rules: Callable[..., Any] | None) -> None:
        """`rule(g, ans, *args)` gives the tangent of ans, in complex numbers."""

        def on_tape(rule: Callable[..., Any]) -> Callable[..., Any]:
            def made(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
                return self._inward(
                    rule(unpaired(g), self._outward(ans), *map(unpaired, args), **kwargs)
                )

            return functools.wraps(rule)(made)

        self.primitive.defjvp(*(None if r is None else on_tape(r) for r in rules))

    def defpartials(self, *partials: Callable[..., Any]) -> None:
        """`partial(ans, *args)`: derivatives of an analytic function, elementwise."""
        self.defvjp(*(functools.partial(_pull_partial, p, k) for k, p in enumerate(partials)))
        self.defjvp(*(functools.partial(_push_partial, p) for p in partials))


def _push_partial(partial: Callable[..., Any], g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
    return partial(ans, *args, **kwargs) * g


def _pull_partial(
    partial: Callable[..., Any], k: int, ans: Any, *args: Any, **kwargs: Any
) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        slope = partial(ans, *args, **kwargs)
        return summed_to(np.conjugate(slope) * g, binding.shape(args[k]))

    return pull


def summed_to(z: Any, shape: tuple[int, ...]) -> Any:
    """The sum over the axes along which something of a shape was repeated."""
    have = binding.shape(z)
    extra = len(have) - len(shape)
    axes = tuple(range(extra)) + tuple(
        extra + i for i, length in enumerate(shape) if length == 1 and have[extra + i] != 1
    )
    return np.reshape(np.sum(z, axis=axes), shape) if axes else z
