"""Parameters as they are given, and as the vectors that optimisers work on."""

from __future__ import annotations

import reprlib
from array import array
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import are_opened, carries
from ..transforms import flatten
from ..transforms._blocks import blocks_of_matrix

FloatArray = NDArray[np.float64]

OF_VECTOR = "of the vector that cadiff.flatten makes"


class ArgumentError(TypeError, ValueError):
    """An argument that is no real number, or of another length: SciPy raises ValueError there."""


def check_plain(part: Any, name: str) -> None:
    """Raise if numbers that SciPy is to compute with are being differentiated."""
    if carries(part):
        raise TypeError(
            f"{name} computes with plain numbers, but is called where they carry derivatives: "
            "cadiff.root(f, x0) is a root with its derivative, cadiff.root(cadiff.grad(f), x0) a "
            "minimum; cadiff.value(v) is a number without one"
        )


class Parameters:
    """The way between parameters and vectors.

    What SciPy takes as a vector (an array of one axis, a number, a list of numbers) is one.
    Anything else is a container: of arrays, an array of several axes too, and of containers.
    """

    def __init__(self, x0: Any, name: str) -> None:
        self.unflatten: Callable[[Any], Any] | None = None
        self.tree = x0
        self.start = "p0" if name == "curve_fit" else "x0"
        check_plain(x0, name)
        if not is_vector(x0):
            try:
                self.vector, self.unflatten = flatten(x0)
            except TypeError as error:
                if isinstance(x0, np.ndarray):
                    raise
                raise ArgumentError(
                    f"{name} starts at x0, real numbers or arrays and containers of them (lists, "
                    f"dicts, dataclasses), not at {reprlib.repr(x0)}"
                ) from error
        elif np.iscomplexobj(x0):
            raise ArgumentError(
                f"{name} starts at x0, whose numbers are real, not at {reprlib.repr(x0)}: let f "
                "take real and imaginary parts, and make complex numbers of them"
            )
        else:
            self.vector = np.array(x0, dtype=np.float64, ndmin=1)
        if not np.isfinite(self.vector).all():
            raise ValueError(
                f"{name} starts at x0, whose numbers should be finite, but there is "
                f"{self.vector[~np.isfinite(self.vector)][0]} among them"
            )

    def given(self, vector: Any) -> Any:
        """Parameters as f takes them, of a vector that may carry derivatives."""
        return vector if self.unflatten is None else self.unflatten(vector)

    def given_matrix(self, matrix: FloatArray) -> Any:
        """A matrix with a row and a column for each number, in containers of containers."""
        if self.unflatten is None:
            return matrix
        structure = binding.structure_of((self.tree,), (0,))
        shapes = structure.shapes
        blocks = blocks_of_matrix(matrix, shapes, shapes)
        rows = [structure.in_containers(row, True) for row in blocks]
        return structure.in_containers(rows, True)

    def as_vector(self, parameters: Any) -> FloatArray:
        """A vector of parameters, or of what belongs to them: gradients, bounds."""
        if self.unflatten is None:
            return np.asarray(parameters, dtype=np.float64)
        return flatten(parameters)[0]

    @property
    def _order(self) -> str:
        return f"of the vector {self.start}" if self.unflatten is None else OF_VECTOR

    def check(self, part: Any, what: str) -> None:
        """Raise unless a part that goes with the vector is a number, or one for each of its."""
        try:
            size = np.size(np.asarray(part, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"{what} is {self._order}, {len(self.vector)} numbers, not {part!r}"
            ) from error
        if size not in (1, len(self.vector)):
            raise ValueError(
                f"{what} has {size} numbers, but {self.start} has {len(self.vector)}: it is "
                f"{self._order}"
            )

    def check_bounds(self, bounds: Any, by_sides: bool = False) -> None:
        """Raise unless bounds are those of the vector: pairs or an object, or two sides."""
        if hasattr(bounds, "lb"):
            bounds, by_sides = (bounds.lb, bounds.ub), True
        if isinstance(bounds, dict):
            raise TypeError(f"bounds are {self._order}, not {bounds!r}")
        if not hasattr(bounds, "__len__"):
            return
        if by_sides:
            if len(bounds) == 2:
                self.check(bounds[0], "the lower bound")
                self.check(bounds[1], "the upper bound")
        elif any(isinstance(pair, (int, float)) for pair in bounds):
            raise TypeError(
                "bounds are a pair (lower, upper) for each number, as [(0.0, 1.0), (0.0, "
                f"None)], or Bounds(lower, upper), not {bounds!r}"
            )
        elif len(bounds) not in (1, len(self.vector)):  # SciPy takes one for all
            raise ValueError(
                f"there are {len(bounds)} bounds, but {self.start} has {len(self.vector)} "
                f"numbers: they are {self._order}, a pair (lower, upper) for each"
            )

    def of_vectors(self, f: Callable[..., Any]) -> Callable[..., Any]:
        if self.unflatten is None:
            return f

        def of_vector(vector: Any, *args: Any) -> Any:
            return f(self.given(vector), *args)

        of_vector.__wrapped__ = f  # type: ignore[attr-defined]
        return of_vector


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Further arguments of a function, of which a single one may stand by itself."""
    return args if isinstance(args, tuple) else (args,)


def flat(result: Any) -> Any:
    """A number, or a vector of all the numbers of an array or a container."""
    if are_opened(type(result)) or np.ndim(result) > 1:
        return flatten(result)[0]
    return result


def flat_results(f: Callable[..., Any], most_axes: float = np.inf) -> Callable[..., Any]:
    """A function of vectors, of one of numbers, containers, or arrays of so many axes."""

    def of_numbers(*args: Any) -> Any:
        result = f(*args)
        axes = getattr(result, "ndim", 0)
        if axes > most_axes:
            raise ValueError(
                f"residuals have shape {result.shape}, expected one axis: is it "
                f"y[{', '.join([':', *'0' * (axes - 1)])}]? A matrix of residuals: its ravel()"
            )
        return flat(result)

    of_numbers.__wrapped__ = f  # type: ignore[attr-defined]
    return of_numbers


def is_vector(x0: Any) -> bool:
    if type(x0) in (list, tuple):  # of a namedtuple f gets a namedtuple
        return all(_is_number(item) for item in x0)
    if isinstance(x0, np.ndarray):
        return x0.ndim < 2 and not isinstance(x0, np.ma.MaskedArray)
    return isinstance(x0, (Number, np.generic, range, array))


def _is_number(item: Any) -> bool:
    return isinstance(item, (Number, np.generic)) or (
        isinstance(item, np.ndarray) and item.ndim == 0
    )
