"""Derivatives of functions that return complex numbers.

Of an analytic f = u + iv the derivative is that of u along the axes, u_x - i u_y, or that of f
along the real one, u_x + i v_x: these functions are real ones, which the others differentiate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import binding
from ..binding import Complex
from ..operations import complexes

COMPLEX_RESULT = (
    "{name} of complex numbers, or by them, is defined if f is analytic: then write "
    "{name}(f, holomorphic=True); cadiff.jvp and cadiff.vjp have derivatives along directions and "
    "transposed ones of any f"
)
NO_COMPLEX_RESULT = "{name}(f, holomorphic=True) wants complex numbers from f"


def complex_derivative(
    f: Callable[..., Any],
    argnums: tuple[int, ...],
    single: bool,
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
) -> tuple[Any, Any, Any]:
    """As `binding.value_and_grad`, of an analytic function of complex arguments."""
    check_complex(name, args, argnums)

    def real_part(*args: Any, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        out, aux = binding.split_aux(out) if has_aux else (out, None)
        if not binding.is_complex_number(out) or np.size(binding.unguarded(out)) != 1:
            value = binding.unguarded(out)
            is_array = np.size(value) != 1
            kind = (
                f"an array of shape {np.shape(value)}" if is_array else f"a {type(value).__name__}"
            )
            raise TypeError(
                f"{name}(f, holomorphic=True) wants one complex number from f, not {kind}"
            )
        return complexes.real(out), (out, aux)

    _, gradient, (value, aux) = binding.value_and_grad(
        real_part, argnums, single, True, args, kwargs, name
    )
    return _as_number(value), gradient, aux


def _as_number(value: Any) -> Any:
    return value.reshape(()) if isinstance(value, Complex) else complex(np.reshape(value, ())[()])


def check_complex(name: str, args: tuple[Any, ...], argnums: tuple[int, ...]) -> None:
    """Raise TypeError if none of the arguments is complex."""
    if not binding.structure_of(args, argnums).has_complex:
        raise TypeError(
            f"{name}(f, holomorphic=True) is the derivative by complex numbers, but those that it "
            "is called with are real: pass complex(x), or x.astype(complex)"
        )


class AlongReal:
    """A function of complex arguments as one of their real parts; the imaginary ones are fixed."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...]
    ) -> None:
        self.f = f
        self.imaginary: dict[int, list[Any]] = {}
        real = list(args)
        for k in argnums:
            leaves, tree = binding.flattened(args[k], _is_pair)
            self.imaginary[k % len(args)] = [
                complexes.imag(x) if binding.is_complex_number(x) else None for x in leaves
            ]
            real[k] = tree.fill(
                [complexes.real(x) if binding.is_complex_number(x) else x for x in leaves]
            )
        self.args = tuple(real)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = list(args)
        for k, imaginary in self.imaginary.items():
            leaves, tree = binding.flattened(args[k])
            arguments[k] = tree.fill(
                [
                    x if y is None else binding.make_complex(x, y)
                    for x, y in zip(leaves, imaginary, strict=True)
                ]
            )
        return self.f(*arguments, **kwargs)


class RealParts:
    """A function that returns complex numbers as one that returns their real parts."""

    def __init__(self, name: str, f: Callable[..., Any]) -> None:
        self.name, self.f = name, f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = binding.flattened(self.f(*args, **kwargs), _is_pair)
        if not all(map(binding.is_complex_number, leaves)):
            raise TypeError(NO_COMPLEX_RESULT.format(name=self.name))
        return tree.fill([*map(complexes.real, leaves)])


def _is_pair(container: Any, parts: tuple[Any, ...]) -> bool:
    return bool(container.type is complex)
