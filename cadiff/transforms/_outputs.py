"""Arguments and results taken apart into atoms (numbers and arrays), and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import floor, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding, ops
from ..binding import Container, Dual, Structure, Var, foreign_names
from ..operations import arrays
from ..operations.replayed import Replayed, is_number_mask

Shape = tuple[int, ...]


class Output:
    """What f returned, taken apart: atoms (numbers and arrays), and the containers they were in.

    A flat list or tuple of scalars is one leaf, a vector. `what` names it in error messages.
    """

    def __init__(self, out: Any, what: str = "what f returns") -> None:
        self._what = what
        if out is None:
            raise self._refusal(out)
        if type(out) is float or isinstance(out, (Var, Dual)):
            leaves, self._tree = [out], _LEAF
        else:
            leaves, self._tree = binding.flattened(out, is_vector, pairs=True)
        self._take(leaves)

    def _take(self, leaves: Sequence[Any]) -> None:
        self._vectors: list[Container | None] = []
        self.atoms: list[Any] = []
        for leaf in leaves:
            opened = None if isinstance(leaf, (Var, Dual)) else binding.opened(leaf)
            self._vectors.append(None if opened is None else opened[0])
            atom = leaf if isinstance(leaf, (Var, Dual)) else self._atom(leaf, opened)
            if isinstance(atom, (Var, Dual)):
                binding.check_alive(atom)
            self.atoms.append(atom)
        self.shapes: list[Shape] = [*map(binding.shape, self.atoms)]
        self._singles = [*map(binding.is_single, self.atoms)]
        # What makes a value of a double, where the output is one number.
        self.as_number: Callable[[Any], Any] = binding.narrowed if all(self._singles) else float
        # Whether it is one number or array, in no container.
        self.is_leaf = self._tree.container is None and self._vectors == [None]

    def _atom(self, leaf: Any, vector: Any) -> Any:
        leaf = unmasked(leaf) if vector is None else self._vector(vector[1])
        if is_scalar(leaf):
            return self._number(leaf)
        if isinstance(leaf, np.ndarray):
            return self._array(leaf)
        if not isinstance(leaf, (Var, Dual)):
            raise self._refusal(leaf)
        return leaf

    def _refusal(self, out: Any, hint: str = "") -> TypeError:
        return TypeError(
            f"{self._what} must be real numbers or complex ones, arrays of them, or containers of "
            f"them (lists, dicts, dataclasses; for other classes: cadiff.register_container), not "
            f"{type(out).__name__}{hint or foreign_names.of_result(out)}"
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
        return np.array(array, dtype=np.float32 if binding.is_single(array) else np.float64)

    def own_atoms(self) -> list[Any]:
        """The atoms, with elements that cannot be changed from elsewhere."""
        return [*map(own, self.atoms)]

    @property
    def structure(self) -> Any:
        """The containers and the shapes of the leaves, to be compared."""
        return binding.key_of(self._tree), self.shapes

    def fill(self, leaves: Sequence[Any]) -> Any:
        """A tree of this structure around other leaves."""
        return self._tree.fill(leaves)

    def restored(self, atoms: Sequence[Any]) -> Any:
        """What f would have returned, of other atoms: vectors are the lists that they were."""
        atoms = self.in_precision(atoms)
        if self._tree is _LEAF:
            return restored(atoms[0], self._vectors[0])
        return self._tree.fill([*map(restored, atoms, self._vectors)])

    def in_words(self) -> str:
        """What it is, for an error message."""
        if self._tree.container is None or self._tree.children is None:
            return _of_shape(self.shapes[0])
        return self._tree.container.describe(len(self._tree.children))

    def in_precision(self, atoms: Sequence[Any]) -> Sequence[Any]:
        """Other atoms in the precision of these: those of float32 are of float32."""
        if True not in self._singles:
            return atoms
        pairs = zip(atoms, self._singles, strict=True)
        return [binding.narrowed(atom) if single else atom for atom, single in pairs]

    @property
    def is_complex(self) -> bool:
        """Whether there is a complex number in it: the atoms are its real and imaginary part."""
        return bool(self.imaginary)

    @property
    def imaginary(self) -> list[int]:
        """Which atoms are imaginary parts."""
        return [] if self._tree is _LEAF else self._tree.imaginary()

    def conjugated(self, atoms: Sequence[Any]) -> list[Any]:
        """Atoms with the negative of all imaginary parts."""
        atoms = list(atoms)
        for k in self.imaginary:
            atoms[k] = 0.0 - atoms[k]
        return atoms

    def match(self, tree: Any, what: str) -> list[Any]:
        """The atoms of another tree of this structure, in its order."""
        if type(tree) is float and self.is_leaf and self.shapes == [()]:
            return [tree]
        atoms = []
        parts = self._tree.parts(tree, what, "what f returned")
        for (path, part), shape in zip(parts, self.shapes, strict=True):
            leaf = Output(part, path)
            if leaf.is_complex:
                raise TypeError(f"{path} is complex, but what f returned is real")
            if leaf.shapes != [shape] or leaf._tree.container is not None:
                raise ValueError(
                    f"{path} must have the structure of what f returned: expected "
                    f"{_of_shape(shape)}, got {leaf.in_words()}"
                )
            atoms += leaf.atoms
        return atoms


_, _LEAF = binding.flattened(0.0, None)


def _of_shape(shape: Shape) -> str:
    return f"an array of shape {shape}" if shape else "a number, of shape ()"


def is_vector(container: Container, parts: tuple[Any, ...]) -> bool:
    """Whether a container is a list of scalars."""
    return container.is_sequence and len(parts) > 0 and all(map(is_scalar, parts))


def restored(atom: Any, container: Container | None) -> Any:
    if container is None:
        return atom
    is_plain = type(atom) is np.ndarray and not binding.is_single(atom)
    return container.make(atom.tolist() if is_plain else [*atom])


def unmasked(item: Any) -> Any:
    """What a mask stands for: numbers, unless they are bools."""
    if isinstance(item, Replayed):
        return item.number if is_number_mask(item) else item.read_values
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


def whole(part: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Integers or bools that stand among floats: a recording has what replays compute anew."""
    if dtype.kind == "b":
        return ops.value(part) != 0.0
    values = ops.value(part)
    if shape or dtype.itemsize < 8:
        return dtype.type(values) if type(values) is float else values.astype(dtype)
    return floor(values)


def places(shapes: Sequence[Shape]) -> Iterator[tuple[slice, Shape]]:
    """Where the numbers of each leaf stand among all."""
    bounds = accumulate((prod(shape) for shape in shapes), initial=0)
    for (begin, end), shape in zip(pairwise(bounds), shapes, strict=True):
        yield slice(begin, end), shape


def check_real(name: str, structure: Structure) -> None:
    """Raise TypeError for arguments that are complex."""
    if structure.has_complex:
        raise TypeError(
            f"{name} is by real numbers, but an argument is complex: differentiate by its parts, "
            f"{name}(lambda xy: f(xy[0] + 1j * xy[1])) at [z.real, z.imag]"
        )
