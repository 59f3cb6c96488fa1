"""Containers of numbers and arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Structure, Var
from ..operations.arrays import concatenate, reshape
from ._outputs import places

FloatArray = NDArray[np.float64]


def flatten(tree: Any) -> tuple[FloatArray, Callable[[Any], Any]]:
    """A container of numbers and arrays as one vector, and the way back.

    Parameters
    ----------
    tree : container
        A float, an ndarray, or a nested list, tuple or dict of them.

    Returns
    -------
    vector : ndarray, shape (n,)
        All numbers, in order.
    unflatten : callable
        Puts a vector of n numbers (an ndarray, or a Var or Dual of one) into the containers.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> vector, unflatten = cadiff.flatten({"w": np.array([1.0, 2.0]), "b": 3.0})
    >>> vector
    array([1., 2., 3.])
    >>> unflatten(vector * 2)
    {'w': array([2., 4.]), 'b': 6.0}
    """
    atoms, structure = binding.take_apart((tree,), (0,))
    parts: list[Any] = []
    for single, run in groupby(atoms, lambda atom: binding.shape(atom) == ()):
        if single:
            numbers = list(run)
            parts.append(binding.numbers_array(numbers, (len(numbers),)))
        else:
            parts += [reshape(atom, -1) for atom in run]
    vector: FloatArray = concatenate(parts) if parts else np.empty(0)
    return vector, _Unflatten(structure, vector.size)


class _Unflatten:
    def __init__(self, structure: Structure, n: int) -> None:
        self._structure = structure
        self._n = n

    def __call__(self, vector: Any) -> Any:
        if not isinstance(vector, (Var, Dual)):
            vector = np.asarray(vector)
            if vector.dtype.kind not in "iufO":
                raise TypeError(
                    f"expected a vector of real numbers, got an array of dtype {vector.dtype}"
                )
        if vector.shape != (self._n,):
            raise ValueError(f"expected a vector of {self._n} numbers, got shape {vector.shape}")
        leaves = []
        for part, shape in places(self._structure.leaf_shapes()[0]):
            if shape == ():
                number = vector[part.start]
                leaves.append(float(number) if isinstance(number, np.generic) else number)
            else:
                leaf = vector[part].reshape(shape)
                leaves.append(leaf.copy() if isinstance(leaf, np.ndarray) else leaf)
        return self._structure.fill(0, leaves)
