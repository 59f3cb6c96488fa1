"""Containers of numbers and arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Structure, Var
from ..operations.arrays import concatenate, reshape
from ._base import check_function
from ._outputs import places

FloatArray = NDArray[np.float64]
T = TypeVar("T")


def flatten(tree: Any) -> tuple[FloatArray, Callable[[Any], Any]]:
    """A container of numbers and arrays as one vector, and the way back.

    Parameters
    ----------
    tree : container
        A float, an ndarray, or nested containers of them: lists, tuples, dicts, dataclasses, and
        what `register_container` knows.

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


_LEAVES: tuple[type, ...] = (
    *(bool, int, float, complex, str, bytes, np.ndarray, np.generic, np.dtype, slice, range),
    *(Var, Dual, type, FunctionType),
)


def register_container(
    cls: type[T],
    flatten: Callable[[T], tuple[Sequence[Any], Any]],
    unflatten: Callable[[Any, tuple[Any, ...]], T],
) -> None:
    """Make objects of a class containers, which gradient functions and programs look into.

    Lists, tuples, namedtuples, dicts, classes derived from these, dataclasses (all their fields)
    and None within containers are known without it. What a class does by registration comes
    first, before what it does as one of these.

    Parameters
    ----------
    cls : type
        The class. Classes derived from it are not registered with it.
    flatten : callable
        `flatten(obj)` returns `(children, aux)`: a list or tuple of what is in the object
        (numbers, arrays, further containers), and whatever else it takes to make it, such as
        names and options. Two objects are of one structure if their aux consist of equal things.
    unflatten : callable
        `unflatten(aux, children)` returns an object of the class around other children, a tuple:
        numbers with derivatives, gradients, or anything else. It should check nothing.

    Raises
    ------
    TypeError
        If cls is no class, or one of numbers, arrays or strings; if flatten or unflatten is not
        callable. If they return something else, in the call that finds it.
    ValueError
        If the class is registered already, or is list, tuple, dict or None's.

    Examples
    --------
    >>> import cadiff
    >>> class Layer:
    ...     def __init__(self, weight, activation):
    ...         self.weight, self.activation = weight, activation
    >>> cadiff.register_container(
    ...     Layer,
    ...     lambda layer: ([layer.weight], layer.activation),
    ...     lambda activation, children: Layer(*children, activation),
    ... )
    >>> layer = Layer(0.0, cadiff.sin)
    >>> cadiff.grad(lambda layer: layer.activation(layer.weight))(layer).weight
    1.0
    """
    if not isinstance(cls, type) or issubclass(cls, _LEAVES):
        raise TypeError(
            "register_container takes a class of containers (its objects have numbers in them), "
            f"not {cls!r}"
        )
    for name, function in (("flatten", flatten), ("unflatten", unflatten)):
        check_function(f"register_container, as {name},", function)
    if cls in (list, tuple, dict, type(None)) or binding.is_registered(cls):
        raise ValueError(
            f"register_container: {cls.__qualname__} is a container already, and stays what it "
            "is; register a class derived from it"
        )
    binding.register_class(cls, flatten, unflatten)
    _functions[cls] = (flatten, unflatten)


_functions: dict[type, tuple[Callable[..., Any], ...]] = {}
# Code for opening and making containers; programs do not look into it.
UNWATCHED: set[CodeType | None] = set()


def functions_of(cls: type) -> tuple[Callable[..., Any], ...]:
    """What `register_container` was given with a class: programs read it with the class."""
    return _functions.get(cls, ())


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
