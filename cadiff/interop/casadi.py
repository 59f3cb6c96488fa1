"""CasADi: functions for cadiff as its functions, with Jacobians of all orders.

    import cadiff.interop.casadi
    h = cadiff.interop.casadi.function(f, x0)  # h(x) of its symbols; keep h while they are in use

The matrices are dense, and their numbers stand column by column, as CasADi has them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np

from ..transforms import jacobian
from ._seams import Seam, as_tuple

__all__ = ["function"]

Shapes = Sequence[tuple[int, ...]]


def function(f: Callable[..., Any], *like: Any, name: str = "f") -> casadi.Function:
    """A function for cadiff as one of CasADi's, for expressions of `MX` and `DM`.

    Parameters
    ----------
    f : callable
        Of arrays by position; returns one array or a tuple of them, of at most two axes. It is
        compiled.
    *like : array_like
        An argument of f each, at which f is called to find the shapes of the results.
    name : str, optional
        Of the function; letters, digits and underscores.

    Returns
    -------
    casadi.Function
        CasADi does not keep it: hold it as long as an expression of it is used.

    Raises
    ------
    ValueError
        If an argument or a result has more than two axes.
    """
    seam = Seam(f)
    arrays = [np.asarray(x, dtype=np.float64) for x in like]
    results = [x.shape for x in as_tuple(seam(*arrays))]
    return _Function(name, seam, [x.shape for x in arrays], len(arrays), results)


class _Function(casadi.Callback):
    """A seam, of whose arguments those behind the first n have no influence."""

    def __init__(self, name: str, seam: Seam, shapes: Shapes, n: int, results: Shapes) -> None:
        casadi.Callback.__init__(self)
        for shape in (*shapes, *results):
            if len(shape) > 2:
                raise ValueError(
                    f"{seam.name}: CasADi has matrices, not arrays of shape {shape}: write "
                    "x.reshape(-1, x.shape[-1]) in the function"
                )
        self._seam, self._shapes, self._n, self._results = seam, shapes, n, results
        self._jacobians: list[_Function] = []  # which CasADi does not keep, either
        self.construct(name, {})

    def __reduce__(self) -> Any:
        return _Function, (self.name(), self._seam, self._shapes, self._n, self._results)

    def __copy__(self) -> _Function:
        return self

    def __deepcopy__(self, _: Any) -> _Function:
        return self

    def get_n_in(self) -> int:
        return len(self._shapes)

    def get_n_out(self) -> int:
        return len(self._results)

    def get_sparsity_in(self, k: int) -> casadi.Sparsity:
        return casadi.Sparsity.dense(*_sides(self._shapes[k]))

    def get_sparsity_out(self, k: int) -> casadi.Sparsity:
        return casadi.Sparsity.dense(*_sides(self._results[k]))

    def eval(self, args: Sequence[Any]) -> list[Any]:
        given = zip(args, self._shapes[: self._n], strict=False)
        results = as_tuple(self._seam(*(np.array(x).reshape(s, order="F") for x, s in given)))
        shapes = [x.shape for x in results]
        if shapes != list(self._results):
            raise ValueError(
                f"{self._seam.name} returned arrays of the shapes {shapes}, where CasADi was told "
                f"{list(self._results)}"
            )
        return [casadi.DM(x.reshape(_sides(x.shape))) for x in results]

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, *_: Any) -> casadi.Function:
        """Of the arguments and the results: a block for each pair of them."""
        seam = Seam(functools.partial(_blocks, self._seam.f, self._n, self._shapes[self._n :]))
        sizes = [int(np.prod(shape)) for shape in self._shapes]
        blocks = [(int(np.prod(result)), n) for result in self._results for n in sizes]
        made = _Function(name, seam, [*self._shapes, *self._results], self._n, blocks)
        self._jacobians.append(made)
        return made


def _sides(shape: tuple[int, ...]) -> tuple[int, int]:
    rows, columns = (*shape, 1, 1)[:2]
    return rows, columns


def _blocks(f: Callable[..., Any], n: int, unused: Shapes, *args: Any) -> tuple[Any, ...]:
    """The Jacobians of each result, column by column; 0 by what has no influence."""
    matrices = jacobian(lambda *args: as_tuple(f(*args)), argnums=tuple(range(n)))(*args)
    found = []
    for of_result in matrices:
        for x, block in zip(args, of_result, strict=True):
            k = np.ndim(block) - np.ndim(x)
            turned = np.transpose(block, (*range(k)[::-1], *range(k, np.ndim(block))[::-1]))
            found.append(turned.reshape(-1, np.size(x)))
        size = found[-1].shape[0]
        found += [np.zeros((size, int(np.prod(shape)))) for shape in unused]
    return tuple(found)
