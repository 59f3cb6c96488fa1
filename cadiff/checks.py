"""Checks of derivatives against finite differences, for users' functions and for our own tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .transforms import Output, jvp, vjp

__all__ = ["check_grads"]

FloatArray = NDArray[np.float64]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of a function with central differences, in random directions.

    Parameters
    ----------
    f : callable
        Called as `f(*args)`; returns numbers, arrays or containers of them.
    args : sequence
        The point: floats, arrays, or containers of them.
    order : int
        Up to which order; the derivative along a direction is itself checked for order 2, ...
    modes : sequence of {"fwd", "rev"}
        What to check.
    atol, rtol : float, optional
        Tolerances; 1e-5 each unless told, and ten times as much with each further order.
    eps : float, optional
        Step of the differences, in units of max(1, abs(x)); the cube root of the machine's
        precision unless told.

    Raises
    ------
    AssertionError
        With the mode, the order, the output and both numbers.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.check_grads(lambda x: cadiff.sin(x * x), (0.7,), order=2)
    """
    unknown = set(modes) - {"fwd", "rev"}
    if unknown or not modes:
        raise ValueError(f'modes are "fwd" and "rev", not {tuple(modes)!r}')
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise ValueError(f"order is a whole number, at least 1, not {order!r}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"args is a tuple with one entry for each argument of f, not {type(args).__name__}"
        )
    _check(
        f,
        tuple(map(_in_double, args)),
        order,
        tuple(modes),
        1e-5 if atol is None else atol,
        1e-5 if rtol is None else rtol,
        float(np.finfo(float).eps) ** (1 / 3) if eps is None else eps,
        np.random.default_rng(0),
        (),
    )


def _in_double(tree: Any) -> Any:
    """The same arguments with their arrays in double precision, to take differences in."""
    if isinstance(tree, dict):
        return {key: _in_double(item) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [_in_double(item) for item in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return np.asarray(tree, dtype=np.float64) if isinstance(tree, np.ndarray) else tree


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    atol: float,
    rtol: float,
    eps: float,
    random: np.random.Generator,
    before: tuple[str, ...],
) -> None:
    argnums = tuple(range(len(args)))
    atoms, structure = _core.take_apart(args, argnums)
    shapes = [_core.shape(atom) for atom in atoms]
    point = _joined(atoms)
    direction = random.standard_normal(point.size)

    def at(vector: FloatArray) -> tuple[Any, ...]:
        parts = _split(vector, shapes)
        return tuple(structure.rebuild(k, parts) for k in argnums)

    def run(vector: FloatArray) -> FloatArray:
        return _joined(Output(f(*at(vector))).atoms)

    step = eps * max(1.0, float(np.max(np.abs(point), initial=0.0)))
    expected = (run(point + step * direction) - run(point - step * direction)) / (2 * step)
    for mode in modes:
        path = (*before, mode)
        if mode == "fwd":
            _, tangent = jvp(f, args, at(direction))
            found = _joined(Output(tangent).atoms)
            _compare(found, expected, atol, rtol, path, "output")
        else:
            out, pullback = vjp(f, *args)
            output = Output(out)
            weights = random.standard_normal(_joined(output.atoms).size)
            cotangent = pullback(output.fill(_split(weights, output.shapes)))
            parts, _ = _core.take_apart(cotangent if len(args) != 1 else (cotangent,), argnums)
            found = np.array([np.dot(_joined(parts), direction)])
            wanted = np.array([np.dot(weights, expected)])
            _compare(found, wanted, atol, rtol, path, "weighted sum of the outputs")
        if order > 1:
            _check(
                _first_derivative(f, at(direction), mode),
                args,
                order - 1,
                modes,
                10 * atol,
                10 * rtol,
                eps,
                random,
                path,
            )


def _first_derivative(
    f: Callable[..., Any], direction: tuple[Any, ...], mode: str
) -> Callable[..., Any]:
    """The function to check for the next order: one of the derivatives of f."""
    if mode == "fwd":
        return lambda *args: jvp(f, args, direction)[1]

    def pulled(*args: Any) -> Any:
        out, pullback = vjp(f, *args)
        output = Output(out)
        return pullback(output.fill([np.ones(shape) if shape else 1.0 for shape in output.shapes]))

    return pulled


def _joined(atoms: Sequence[Any]) -> FloatArray:
    """The values of all atoms as one vector."""
    return np.concatenate([np.empty(0), *(np.ravel(_core.strip(atom)) for atom in atoms)])


def _split(vector: FloatArray, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """A vector as atoms of the shapes given."""
    ends = np.cumsum([prod(shape) for shape in shapes])
    parts = np.split(vector, ends[:-1]) if shapes else []
    return [
        part.reshape(shape) if shape else part.item()
        for part, shape in zip(parts, shapes, strict=True)
    ]


def _compare(
    found: FloatArray,
    expected: FloatArray,
    atol: float,
    rtol: float,
    path: tuple[str, ...],
    what: str,
) -> None:
    close = np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    if not close.all():
        index = int(np.argmin(close))
        raise AssertionError(
            f"derivative of order {len(path)} ({' of '.join(reversed(path))}) along a random "
            f"direction, {what} {index}: cadiff gives {found[index]!r}, central differences give "
            f"{expected[index]!r} (rtol={rtol:g}, atol={atol:g})"
        )
