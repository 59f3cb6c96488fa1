"""How the functions of `numpy.fft` and `scipy.fft` are called with real numbers, for the harness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .derivatives import Case, Drawn

LOOSE = 1e-12  # sums in another order: real numbers are transformed as such


def arrays(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return Drawn(lambda rng, of: tuple(rng.normal(size=shape) for shape in of), shapes)


def both(z: Any) -> tuple[Any, Any]:
    return z.real, z.imag


def case(name: str, call: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    return Case(name, call, arrays(*shapes), value_rtol=LOOSE)


def of_whole(name: str, shape: tuple[int, ...], label: str, *args: Any, **how: Any) -> Case:
    """A transform of real numbers to complex ones."""
    return case(
        f"{name}({label})", lambda m, x: both(getattr(m.fft, name)(x, *args, **how)), shape
    )


def of_half(name: str, shape: tuple[int, ...], label: str, *args: Any, **how: Any) -> Case:
    """A transform of complex numbers, here from a real part and an imaginary one."""

    def call(m: Any, x: Any, y: Any) -> Any:
        return getattr(m.fft, name)(x + 1j * y, *args, **how)

    made = case(f"{name}({label})", call, shape, shape)
    return Case(made.name, call, made.args, argnums=(0, 1), value_rtol=LOOSE)


def fourier() -> Iterator[Case]:
    """What both libraries have."""
    for name in ("fft", "ifft", "rfft", "ihfft"):
        yield of_whole(name, (5,), "")
        yield of_whole(name, (2, 4), "longer", 7, norm="ortho")
        yield of_whole(name, (4, 2), "shorter, axis", 3, 0, "forward")
    for name in ("irfft", "hfft"):
        yield of_half(name, (4,), "")
        yield of_half(name, (2, 3), "odd", 5, norm="ortho")
        yield of_half(name, (3, 2), "longer, axis", 8, 0, "forward")
        yield of_half(name, (5,), "shorter", 4)
    for name in ("fftn", "ifftn", "rfftn"):
        yield of_whole(name, (2, 3, 2), "")
        yield of_whole(name, (3, 4), "s, axes", (2, 5), (1, 0), "ortho")
    yield of_half("irfftn", (3, 2, 3), "")
    yield of_half("irfftn", (4, 3), "s, axes", (5, 4), (1, 0), "ortho")
    for name in ("fft2", "ifft2", "rfft2"):
        yield of_whole(name, (2, 3, 3), "")
    yield of_half("irfft2", (2, 3, 2), "s", (2, 3))


def trigonometric() -> Iterator[Case]:
    for name in ("dct", "idct", "dst", "idst"):
        for kind in (1, 2, 3, 4):
            for norm in (None, "ortho", "forward"):

                def call(m: Any, x: Any, f: str = name, kind: int = kind, norm: Any = norm) -> Any:
                    return getattr(m.fft, f)(x, kind, norm=norm)

                yield case(f"{name} {kind} {norm}", call, (4,))

            def orthogonal(m: Any, x: Any, f: str = name, kind: int = kind) -> Any:
                return getattr(m.fft, f)(x, kind, 5, 0, orthogonalize=True)

            yield case(f"{name} {kind} orthogonalize", orthogonal, (4, 2))
    for name in ("dctn", "idctn", "dstn", "idstn"):

        def several(m: Any, x: Any, f: str = name) -> Any:
            return getattr(m.fft, f)(x, 3, (2, 4), (1, 0))

        yield case(name, several, (3, 3))


NUMPY = [
    *fourier(),
    of_whole("fftn", (3, 2), "an axis twice", axes=(0, 0)),
    of_whole("rfftn", (3, 4), "an axis twice", (3, 5, 3), (0, 1, 0)),
    case("fftfreq", lambda m, d: m.fft.fftfreq(5, d * d + 1.0), ()),
]
SCIPY = [
    *fourier(),
    *trigonometric(),
    of_half("hfft2", (2, 3), "workers", (4, 3), workers=2),
    of_half("hfftn", (2, 3), "s", 4, 0),
    of_whole("ihfft2", (3, 4), "overwrite_x", overwrite_x=True),
    of_whole("ihfftn", (3, 4), "axes", axes=0),
    case("fht", lambda m, x: m.fft.fht(x, 0.1, 0.5, 0.2, 0.3), (2, 4)),
    case("ifht", lambda m, x: m.fft.ifht(x, 0.1, 0.5, bias=0.3), (5,)),
    case("fftshift", lambda m, x: m.fft.fftshift(m.fft.ifftshift(x), 0), (3, 4)),
]
