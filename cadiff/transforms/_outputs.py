"""Arguments and results taken apart into atoms (numbers and arrays), and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Structure, Var
from ..operations import arrays
from ..operations.masks import Mask, is_number_mask

Shape = tuple[int, ...]


class Output:
    """What f returned, taken apart: atoms (numbers and arrays), and the containers they were in.

    A flat list or tuple of scalars is one leaf, a vector. `what` names it in error messages.
    """

    def __init__(self, out: Any, what: str = "what f returns") -> None:
        self._what = what
        self.atoms: list[Any] = []
        self.shapes: list[Shape] = []
        try:
            self._template = self._take(out)
        except RecursionError:
            raise binding.nested_error() from None

    def _take(self, out: Any) -> Any:
        out = unmasked(out)
        if isinstance(out, dict):
            return binding.rebuild_mapping(out, [self._take(item) for item in out.values()])
        if isinstance(out, (list, tuple)):
            if len(out) > 0 and all(is_scalar(item) for item in out):
                return self._leaf(self._vector(out), type(out))
            return binding.rebuild_sequence(type(out), [self._take(item) for item in out])
        if is_scalar(out):
            return self._leaf(self._number(out))
        if isinstance(out, np.ndarray):
            return self._leaf(self._array(out))
        if isinstance(out, (Var, Dual)):
            return self._leaf(out)
        hint = "; is a return missing?" if out is None else ""
        raise self._refusal(out, hint)

    def _refusal(self, out: Any, hint: str = "") -> TypeError:
        return TypeError(
            f"{self._what} must be real numbers, arrays of them, or lists, tuples and dicts of "
            f"them, not {type(out).__name__}{hint}"
        )

    def _number(self, number: Any) -> Any:
        number = unmasked(number)
        if isinstance(number, (bool, np.bool_)):
            hint = ": a comparison has no derivative; cadiff.where chooses between numbers"
            raise self._refusal(number, hint)
        return binding.scalar_output(number)

    def _vector(self, numbers: Sequence[Any]) -> Any:
        return binding.numbers_array([self._number(x) for x in numbers], (len(numbers),))

    def _array(self, array: NDArray[Any]) -> Any:
        if array.dtype == object:
            for number in array.flat:
                if not is_scalar(number):
                    raise self._refusal(number)
                self._number(number)
            return binding.gather_numbers(array)
        if array.dtype.kind == "b":
            self._number(np.bool_(True))
        if array.dtype.kind not in "iuf":
            raise self._refusal(array, f" of dtype {array.dtype.name}")
        if type(array) is not np.ndarray:
            binding.structure_of((array,), (0,))  # refuses masked arrays and matrices
        return np.array(array, dtype=np.float64)

    def _leaf(self, atom: Any, container: type | None = None) -> _Leaf:
        if isinstance(atom, (Var, Dual)):
            binding.check_alive(atom)
        self.atoms.append(atom)
        self.shapes.append(binding.shape(atom))
        return _Leaf(len(self.shapes) - 1, container)

    def own_atoms(self) -> list[Any]:
        """The atoms, with elements that cannot be changed from elsewhere."""
        return [*map(own, self.atoms)]

    @property
    def structure(self) -> Any:
        """The containers around the shapes of the leaves, to be compared."""
        return self.fill([("leaf", *shape) for shape in self.shapes])

    def fill(self, leaves: Sequence[Any]) -> Any:
        """A tree of this structure around other leaves."""
        return _filled(self._template, leaves, False)

    def restored(self, atoms: Sequence[Any]) -> Any:
        """What f would have returned, of other atoms: vectors are the lists that they were."""
        return _filled(self._template, atoms, True)

    def match(self, tree: Any, what: str) -> list[Any]:
        """The atoms of another tree of this structure, in its order."""
        atoms: list[Any] = []
        try:
            self._walk(self._template, tree, what, atoms)
        except RecursionError:
            raise binding.nested_error() from None
        return atoms

    def _walk(self, node: Any, part: Any, path: str, atoms: list[Any]) -> None:
        keys = list(node) if isinstance(node, dict) else range(0)
        if isinstance(node, _Leaf):
            leaf = Output(part, path)
            if leaf.shapes != [self.shapes[node.index]] or isinstance(part, dict):
                expected = f"a leaf of shape {self.shapes[node.index]}"
                raise _mismatch(path, expected, f"leaves of shapes {leaf.shapes}")
            atoms.extend(leaf.atoms)
            return
        if isinstance(node, dict):
            if not isinstance(part, dict) or part.keys() != node.keys():
                raise _mismatch(path, f"a dict with the keys {keys}", repr(part))
        elif not isinstance(part, (list, tuple)) or len(part) != len(node):
            raise _mismatch(path, f"a {type(node).__name__} of {len(node)}", repr(part))
        for key in keys or range(len(node)):
            self._walk(node[key], part[key], f"{path}[{key!r}]", atoms)


def _filled(node: Any, leaves: Sequence[Any], restored: bool) -> Any:
    """A template with leaves in their places."""
    if isinstance(node, _Leaf):
        leaf = leaves[node.index]
        if restored and node.container is not None:
            numbers = leaf.tolist() if type(leaf) is np.ndarray else [*leaf]
            return binding.rebuild_sequence(node.container, numbers)
        return leaf
    if isinstance(node, dict):
        return binding.rebuild_mapping(
            node, [_filled(item, leaves, restored) for item in node.values()]
        )
    return binding.rebuild_sequence(type(node), [_filled(item, leaves, restored) for item in node])


def _mismatch(path: str, expected: str, got: str) -> ValueError:
    return ValueError(
        f"{path} must have the structure of what f returned: expected {expected}, got {got}"
    )


class _Leaf:
    """The place of a leaf in a container of results, and the list of numbers that it was."""

    def __init__(self, index: int, container: type | None) -> None:
        self.index = index
        self.container = container


def unmasked(item: Any) -> Any:
    """What a mask stands for: numbers, unless they are bools."""
    if isinstance(item, Mask):
        return item.number if is_number_mask(item) else item.values
    return item


def is_scalar(item: Any) -> bool:
    if isinstance(item, (Var, Dual)):
        return item.ndim == 0
    if isinstance(item, (np.ndarray, np.generic)):
        return item.ndim == 0 and item.dtype.kind in "biufO"
    return isinstance(item, (bool, int, float))


# --- atoms -----------------------------------------------------------------------------------


def as_result(atom: Any) -> Any:
    """An atom as it is handed to the user: fresh, and plain if it carries no derivative."""
    if isinstance(atom, (Var, Dual)):
        return binding.finalized(atom)
    return np.array(atom) if isinstance(atom, np.ndarray) and atom.ndim else float(atom)


def own(atom: Any) -> Any:
    """An atom with elements that cannot be changed from elsewhere."""
    return arrays.copy(atom) if binding.shape(atom) else atom


def handed_out(atoms: Sequence[Any]) -> list[Any]:
    """Atoms that stay in use as they are handed to the user: he may assign to them."""
    return [as_result(own(atom)) for atom in atoms]


# --- arguments -------------------------------------------------------------------------------


def all_shapes(structure: Structure) -> list[Shape]:
    """The shapes of the atoms of all arguments."""
    return [shape for shapes in structure.leaf_shapes() for shape in shapes]


def places(shapes: Sequence[Shape]) -> Iterator[tuple[slice, Shape]]:
    """Where the numbers of each leaf stand among all."""
    bounds = accumulate((prod(shape) for shape in shapes), initial=0)
    for (begin, end), shape in zip(pairwise(bounds), shapes, strict=True):
        yield slice(begin, end), shape


def refilled(structure: Structure, leaves: Sequence[Any]) -> list[Any]:
    """The containers of each argument around other leaves, which stand one behind the other."""
    counts = [len(shapes) for shapes in structure.leaf_shapes()]
    bounds = pairwise(accumulate(counts, initial=0))
    return [structure.fill(k, leaves[begin:end]) for k, (begin, end) in enumerate(bounds)]


def in_containers(leaves: Sequence[Any], structure: Structure, single: bool) -> Any:
    """Leaves in the containers of the one argument, or of several: a tuple of them."""
    arguments = refilled(structure, leaves)
    return arguments[0] if single else tuple(arguments)
