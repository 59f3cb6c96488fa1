"""Arguments: what numbers they hold (moods) and how they are handed over (dresses).

An argument that moves is `values + s * a + t * b`; one that does not is a constant. Moods are
kinds of numbers at which formulas change: ties, whole numbers, zeros, multiples of pi / 2, tiny
and huge ones; of matrices also repeated eigenvalues, missing rank, a triangle. This module knows
nothing of what is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .worlds import World

Array = Any
Rng = np.random.Generator
Shape = tuple[int, ...]

# --- numbers -------------------------------------------------------------------------------------

SPECIAL = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, np.pi / 2, np.pi, -0.5, -1.0, -2.0, -np.pi / 2]

NUMBERS: dict[str, Callable[[Rng, Shape], Array]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: rng.uniform(0.3, 3.0, shape),
    "unit": lambda rng, shape: rng.uniform(0.05, 0.95, shape),
    "special": lambda rng, shape: rng.choice(SPECIAL, shape),
    "special positive": lambda rng, shape: np.abs(rng.choice(SPECIAL, shape)),
    "whole": lambda rng, shape: rng.integers(-2, 6, shape).astype(float),
    "whole positive": lambda rng, shape: rng.integers(1, 7, shape).astype(float),
    "ties": lambda rng, shape: rng.choice([0.4, 1.3], shape),
    "zeros": lambda rng, shape: np.zeros(shape),
    "some zeros": lambda rng, shape: rng.normal(size=shape) * rng.integers(0, 2, shape),
    "tiny": lambda rng, shape: 10.0 ** rng.uniform(-12, -5, shape),
    "large": lambda rng, shape: rng.uniform(20.0, 400.0, shape),
    "huge": lambda rng, shape: 10.0 ** rng.uniform(5, 8, shape),
    "edges of the unit": lambda rng, shape: rng.choice([0.0, 1.0, -1.0, 1e-9, 1 - 1e-9], shape),
    "ordered": lambda rng, shape: np.sort(rng.uniform(0.0, 4.0, shape), axis=-1) if shape else 1.7,
}
USUAL = ("normal", "positive", "unit", "positive", "special", "special positive", "whole positive")


def orthogonal(rng: Rng, n: int) -> Array:
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def with_eigenvalues(rng: Rng, w: Array) -> Array:
    q = orthogonal(rng, len(w))
    return (q * w) @ q.T


MATRICES: dict[str, Callable[[Rng, int], Array]] = {
    "positive definite": lambda rng, n: with_eigenvalues(rng, rng.uniform(1.0, 4.0, n)),
    "symmetric": lambda rng, n: with_eigenvalues(rng, rng.uniform(-3.0, 3.0, n)),
    "regular": lambda rng, n: rng.normal(size=(n, n)) + 3.0 * np.eye(n),
    "triangular": lambda rng, n: np.tril(rng.normal(size=(n, n))) + 2.0 * np.eye(n),
    "repeated eigenvalues": lambda rng, n: with_eigenvalues(rng, rng.choice([1.0, 2.0], n)),
    "diagonal": lambda rng, n: np.diag(rng.uniform(1.0, 3.0, n)),
    "identity": lambda rng, n: np.eye(n),
    "small singular value": lambda rng, n: (
        orthogonal(rng, n) * np.r_[rng.uniform(1, 3, n - 1), 0.05] @ orthogonal(rng, n)
    ),
    "huge norm": lambda rng, n: (
        10.0 ** rng.uniform(3, 7) * (rng.normal(size=(n, n)) - n * np.eye(n))
    ),
    "Jordan block": lambda rng, n: np.eye(n) + np.diag(np.ones(n - 1), 1),
}

MATRIX_USUAL = ("positive definite", "regular", "symmetric", "positive definite")


def numbers(rng: Rng, shape: Shape, mood: str) -> Array:
    """Numbers of a mood; a matrix has a kind of its own, unless the mood is a rare one."""
    is_square = len(shape) >= 2 and shape[-1] == shape[-2] > 0
    if is_square and (mood in USUAL or mood in MATRICES):
        kind = mood if mood in MATRICES else str(rng.choice(MATRIX_USUAL))
        stack = [MATRICES[kind](rng, shape[-1]) for _ in range(int(np.prod(shape[:-2])))]
        return np.array(stack).reshape(shape)
    return np.asarray(NUMBERS.get(mood, NUMBERS["normal"])(rng, shape), dtype=float)


def draw_mood(rng: Rng) -> str:
    """Half of the calls have usual numbers."""
    pool = [*USUAL] if rng.random() < 0.5 else [*NUMBERS, *MATRICES]
    return str(rng.choice(pool))


# --- how arrays are handed over ------------------------------------------------------------------

Dress = Callable[[World, Array], Any]

DRESSES: dict[str, Dress] = {
    "": lambda w, x: x,
    "float32": lambda w, x: x.astype(np.float32),
    "list": lambda w, x: x.tolist(),
    "strided": lambda w, x: w.numpy.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda w, x: w.numpy.flip(w.numpy.flip(x, -1) * 1.0, -1),
    "transposed": lambda w, x: (x.T * 1.0).T,
}
CONSTANT_DRESSES: dict[str, Dress] = {
    **DRESSES,
    "big-endian": lambda w, x: x.astype(">f8"),
}
WITH_AXES = ("strided", "reversed", "transposed", "list")
ROUNDED = ("float32",)


@dataclass(frozen=True)
class Argument:
    """What is handed to a function."""

    values: Any  # at s = t = 0
    along: tuple[Array, Array] | None = None  # how it moves by s and by t
    dress: str = ""

    def at(self, world: World, s: Any, t: Any) -> Any:
        x = self.values
        if self.along is not None:
            x = x + s * self.along[0] + t * self.along[1]
        if not self.dress:
            return x
        return CONSTANT_DRESSES[self.dress](world, x)

    def __str__(self) -> str:
        if isinstance(self.values, np.ndarray) and self.values.ndim:
            text = np.array2string(self.values, separator=", ", threshold=60, precision=17)
            kind = "" if self.values.dtype.kind == "f" else f", {self.values.dtype}"
            text = f"array({' '.join(text.split())}{kind})"
        else:
            text = repr(self.values)
        return f"{self.dress} {text}".strip()

    @property
    def size(self) -> float:
        """Of the largest of the numbers that move."""
        found = np.abs(self.values) if self.along is not None else np.zeros(0)
        return float(np.max(found[np.isfinite(found)], initial=0.0))

    def plainly(self) -> Argument:
        """The same numbers as an array of doubles."""
        values = self.values
        if self.dress in ROUNDED:
            values = np.asarray(values, dtype=np.float32).astype(float)[()]
        return replace(self, values=values, dress="")

    @property
    def is_whole(self) -> bool:
        """Whether it holds integers, which stand for floats."""
        return self.along is None and (
            (isinstance(self.values, int) and not isinstance(self.values, bool))
            or (isinstance(self.values, np.ndarray) and self.values.dtype.kind in "iu")
        )

    def as_floats(self) -> Argument:
        floats = float(self.values) if isinstance(self.values, int) else self.values.astype(float)
        return replace(self, values=floats)


def moving(rng: Rng, values: Array) -> Argument:
    """An argument that moves along random directions, as far as its numbers are large."""
    values = np.asarray(values, dtype=complex if np.iscomplexobj(values) else float)
    size = np.abs(values)
    largest = np.max(size[np.isfinite(size)], initial=0.0)
    scale = np.clip(size, min(0.1, largest) if largest else 0.5, None) * 0.5
    scale = np.where(np.isfinite(scale), scale, 0.0)

    def direction() -> Array:
        u = rng.uniform(0.3, 1.0, values.shape) * rng.choice([-1.0, 1.0], values.shape)
        if values.dtype.kind == "c":
            u = u * np.exp(1j * rng.uniform(0.0, 6.0, values.shape))
        return scale * u

    return Argument(values[()], (direction(), direction()))


def dressed(rng: Rng, argument: Argument) -> Argument:
    """The same argument, handed over in another way."""
    shape = np.shape(argument.values)
    pool = DRESSES if argument.along is not None else CONSTANT_DRESSES
    names = [name for name in pool if (shape and 0 not in shape) or name not in WITH_AXES]
    return replace(argument, dress=str(rng.choice(names)))
