"""Operations with derivatives of their own: what the table of operations does not hold.

A primitive wraps a function of plain floats and ndarrays. Rules say what its derivatives are, in
public functions of numbers, so that they can be differentiated again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._dispatch import carries

__all__ = ["primitive"]


class primitive:  # noqa: N801 - a decorator
    """An operation of one's own.

    Parameters
    ----------
    function : callable
        Of plain floats and ndarrays; returns a float, an ndarray, or a tuple of them.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> @cadiff.primitive
    ... def cube(x):
    ...     return x**3
    >>> cube.defpartials(lambda ans, x: 3 * x**2)
    >>> cadiff.grad(cube)(2.0)
    12.0
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.pulls: dict[int, Callable[..., Any]] = {}
        self.pushes: dict[int, Callable[..., Any]] = {}

    def defvjp(
        self, *makers: Callable[..., Any], argnums: Sequence[int] | None = None
    ) -> None:
        """Reverse rules, one for each argument: `maker(ans, *args, **kw) -> pull(g)`."""
        self._define(self.pulls, makers, argnums)

    def defjvp(self, *rules: Callable[..., Any], argnums: Sequence[int] | None = None) -> None:
        """Forward rules, one for each argument: `rule(g, ans, *args, **kw) -> tangent of ans`."""
        self._define(self.pushes, rules, argnums)

    def defpartials(
        self, *rules: Callable[..., Any], argnums: Sequence[int] | None = None
    ) -> None:
        """Elementwise partials, one for each argument: `rule(ans, *args, **kw)`; both modes."""
        raise NotImplementedError

    def _define(
        self,
        table: dict[int, Callable[..., Any]],
        rules: Sequence[Callable[..., Any]],
        argnums: Sequence[int] | None,
    ) -> None:
        positions = range(len(rules)) if argnums is None else argnums
        table.update(zip(positions, rules, strict=True))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not carries(args):
            return self.function(*args, **kwargs)
        raise NotImplementedError
