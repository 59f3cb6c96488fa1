"""Axes of containers of arrays: which of them a function is mapped over, and where results go.

`vmap` calls a function for rows, which are slices of its arguments along one axis of each. Here
arguments are taken apart into rows, and results are put together again. What a row is computed by
is not known here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import Dual, Tree, Var
from ..operations import arrays
from ..operations.recorded_calls import unshared
from ..operations.replayed import Replayed, is_mask
from ._base import Function, is_int
from ._outputs import Shape

Axes = Any  # an int or None, or a container of such: a prefix of that of an argument

FLOAT = np.dtype(np.float64)
_ARRAYS = (np.ndarray, np.generic, Var, Dual, Replayed)
NUMBERS = (*_ARRAYS, bool, int, float, complex)


def check_axes(name: str, axes: Axes) -> None:
    """Raise TypeError unless axes are an int, None, or containers of such."""
    for axis in binding.flattened(axes)[0]:
        if not is_int(axis):
            raise TypeError(f"{name} is an int, None, or a container of these, not {axis!r}")


class Leaf(NamedTuple):
    """A leaf of an argument or of a result, and its axis; None: it has none to map over."""

    path: str
    value: Any
    axis: int | None


def leaves_with_axes(axes: Axes, item: Any, path: str, name: str) -> list[Leaf]:
    """The leaves of an item, in order; `name` is that of the axes, a prefix of the item."""
    opened = binding.opened(item)
    if axes is None or is_int(axes):
        if opened is None:
            return [Leaf(path, item, None if axes is None else int(axes))]
        below: Sequence[Any] | None = [axes] * len(opened[1])
    else:
        below = None if opened is None else opened[0].parts_like(axes, len(opened[1]))
    if opened is None or below is None:
        raise ValueError(
            f"{name} for {path} is {axes!r}, {_described(axes, 'a leaf')}, but {path} is "
            f"{_described(item, f'of type {type(item).__name__}')}: give an int, None, or a "
            "container like it"
        )
    container, parts = opened
    return [
        leaf
        for k, (axis, part) in enumerate(zip(below, parts, strict=True))
        for leaf in leaves_with_axes(axis, part, path + container.step(k), name)
    ]


def _described(item: Any, of_leaf: str) -> str:
    """What kind of container it is; `of_leaf`: what is said of something else."""
    found = binding.opened(item)
    return of_leaf if found is None else found[0].describe(len(found[1]))


# --- arguments -------------------------------------------------------------------------------


class Layout:
    """What calls of one form have in common: which leaves of their arguments are mapped over.

    It holds nothing of them. There are `n` rows; `axes` has the axis of each leaf of all, None if
    rows share it, and `mapped` each argument of which leaves are mapped over, by its number and
    its place, with its leaves among all. Keywords are mapped over their first axis. `names` are
    those of the positional arguments.

    Raises
    ------
    ValueError
        If the axes do not fit the arguments, or are of different sizes, or there is none.
    TypeError
        If something without axes is to be mapped over.
    """

    def __init__(
        self, names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Axes
    ) -> None:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"in_axes has an entry for each positional argument: there are {len(in_axes)} in "
                f"{in_axes!r} for {len(args)} argument{'s' * (len(args) != 1)}"
            )
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        items: list[Any] = [*zip(range(len(args)), names, args, axes, strict=True)]
        items += [(name, name, item, 0) for name, item in kwargs.items()]
        leaves: list[Leaf] = []
        self.mapped: list[tuple[int, int | str, slice]] = []
        # Whether what is mapped over is no part of a container, and is given by position.
        self.is_flat = not kwargs
        for number, (place, path, item, axis) in enumerate(items):
            begin = len(leaves)
            leaves += leaves_with_axes(axis, item, path, "in_axes")
            if any(leaf.axis is not None for leaf in leaves[begin:]):
                self.mapped.append((number, place, slice(begin, len(leaves))))
                self.is_flat &= binding.opened(item) is None
        if not self.mapped:
            raise ValueError(
                "vmap has nothing to map over: "
                + ("in_axes is None for all arguments" if args else "it was called without arrays")
            )
        self.n = _size([leaf for leaf in leaves if leaf.axis is not None])
        self.axes = tuple(leaf.axis for leaf in leaves)
        # The axes of each leaf that is mapped over, the one for the rows first; None: it is.
        self._orders = [
            (k, _order(binding.ndim(leaf.value), leaf.axis) if leaf.axis else None)
            for k, leaf in enumerate(leaves)
            if leaf.axis is not None
        ]

    def columns(self, leaves: Sequence[Any]) -> list[Any]:
        """What is mapped over, with the axis for the rows first."""
        return [
            leaves[k] if order is None else np.transpose(leaves[k], order)
            for k, order in self._orders
        ]


class Rows:
    """The arguments of a call, to be taken row by row: its leaves, by the layout of its form.

    `columns` are what is mapped over, with the axis for the rows first.
    """

    def __init__(
        self, layout: Layout, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.layout = layout
        self.leaves = leaves
        self.columns = layout.columns(leaves)
        self._args = args
        self._kwargs = kwargs

    def plain(self) -> Rows:
        """The same without derivatives."""
        given = self.leaves, self._args, self._kwargs
        return Rows(self.layout, *binding.map_numbers(given, binding.plain_values))

    @functools.cached_property
    def _trees(self) -> list[Tree]:
        """Those of all arguments."""
        return [binding.flattened(x, None, True)[1] for x in (*self._args, *self._kwargs.values())]

    def _call(self, row: Iterable[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the function for a row."""
        own, args, kwargs, axes = iter(row), [*self._args], {**self._kwargs}, self.layout.axes
        for number, place, among in self.layout.mapped:
            filled: Any = args if isinstance(place, int) else kwargs
            tree = self._trees[number]
            pairs = zip(self.leaves[among], axes[among], strict=True)
            parts = (x if axis is None else next(own) for x, axis in pairs)
            filled[place] = next(own) if tree.container is None else tree.fill(parts)
        return args, kwargs

    def call(self, i: int) -> tuple[list[Any], dict[str, Any]]:
        """The arguments for a row, in which the function may write."""
        return self._call([unshared(column[i]) for column in self.columns])

    def parts(self, which: Any = None) -> Iterator[tuple[Any, ...]]:
        """Of each row, or of some, what `run` takes; no code of the user's runs meanwhile."""
        columns = [unshared(leaf if which is None else leaf[which]) for leaf in self.columns]
        slices = map(_slices, columns)
        if not self.layout.is_flat:
            return zip(*slices, strict=True)
        args: list[Any] = [*map(repeat, self._args)]
        for (number, _, _), column in zip(self.layout.mapped, slices, strict=True):
            args[number] = column
        return zip(*args)  # noqa: B905 -- what is shared is endless

    def run(self, f: Function, part: tuple[Any, ...]) -> Any:
        """What f returns for a row; it may write in what is the row's own."""
        if self.layout.is_flat:
            return f(*part)
        args, kwargs = self._call(part)
        return f(*args, **kwargs)

    def each(self, f: Function, which: Any = None) -> list[Any]:
        """What f returns for each row, or for some."""
        return [self.run(f, part) for part in self.parts(which)]

    def sample(self) -> tuple[list[Any], dict[str, Any]]:
        """Arguments like those of a row, where there are none: ones."""
        columns = map(binding.plain_values, self.columns)
        return self._call([np.ones(column.shape[1:], column.dtype)[()] for column in columns])


def _slices(leaf: Any) -> Iterator[Any]:
    if is_plain(leaf):
        return iter(leaf)
    n, shape = len(leaf), binding.shape(leaf)[1:]  # no loop over it, which reads masks
    if is_mask(leaf) and leaf.dtype == bool:  # of which an element by its index is a guard
        return (leaf[i : i + 1].reshape(shape) for i in range(n))
    return (leaf[i] for i in range(n))


def _order(ndim: int, axis: int) -> list[int]:
    """All axes, one of them first."""
    return sorted(range(ndim), key=lambda k: k != axis % ndim)


def _size(leaves: Sequence[Leaf]) -> int:
    """How many rows there are."""
    sizes: dict[int, str] = {}  # where each was seen first
    for path, value, axis in leaves:
        if not isinstance(value, _ARRAYS):
            raise TypeError(
                f"vmap maps over axis {axis} of {path}, which has no axes: it is a "
                f"{type(value).__name__}. Make it an array, or give it None in in_axes, so that "
                "all rows share it"
            )
        if type(value) is not np.ndarray and isinstance(value, np.ndarray) and not is_mask(value):
            binding.structure_of((value,), (0,))  # refuses masked arrays and matrices
        shape = binding.shape(value)
        assert axis is not None
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"vmap maps over axis {axis} of {path}, but that is of shape {shape}"
                + ("" if shape else ": give it None in in_axes, so that all rows share it")
            )
        sizes.setdefault(shape[axis], f"{path} has {shape[axis]} (axis {axis} of shape {shape})")
    if len(sizes) > 1:
        raise ValueError(f"vmap maps over axes of one size, but {', '.join(sizes.values())}")
    return int(next(iter(sizes)))


# --- results ---------------------------------------------------------------------------------


class Form(NamedTuple):
    """The structure of some numbers: containers, shapes and dtypes; and which are Python's."""

    tree: Tree
    shapes: list[Shape]
    dtypes: list[np.dtype[Any]]
    are_pythons: list[bool]
    is_float: bool = False  # one number of float64, in no container

    @classmethod
    def of(cls, item: Any, what: str = "") -> Form:
        """Raise TypeError if there is something else in it than numbers.

        `what` it is, with complex numbers in pairs; else a result that is to be stacked.
        """
        leaves, tree = binding.flattened(item, pairs=what != "")
        for leaf in leaves:
            _check_leaf(leaf, what)
        shapes, dtypes = [*map(binding.shape, leaves)], [*map(dtype_of, leaves)]
        is_float = tree.container is None and (shapes, dtypes) == ([()], [FLOAT])
        are_pythons = [isinstance(leaf, (bool, int, float)) for leaf in leaves]
        return cls(tree, shapes, dtypes, are_pythons, is_float)

    def is_like(self, other: Form) -> bool:
        """Whether they differ in dtypes alone."""
        return self.shapes == other.shapes and binding.key_of(self.tree) == binding.key_of(
            other.tree
        )

    def joined(self, other: Form) -> Form:
        """The form of what both are of."""
        dtypes = map(np.result_type, self.dtypes, other.dtypes)
        return self._replace(dtypes=[*dtypes])

    def columns(
        self,
        results: Sequence[Any],
        indices: Iterable[int],
        one: str = "row",
        name: str = "what f returns",
    ) -> list[list[Any]]:
        """For each leaf what stands in its place in the results for some rows.

        They have to be of this structure and of these shapes, those of the first row. `one` is
        what errors call a row, and `name` what is in the results.
        """
        if self.shapes == [()] and all(map(_is_single, results)):
            return [[*results]]  # as they mostly are
        columns: list[list[Any]] = [[] for _ in self.shapes]
        differs = f"what f returns differs from {one} to {one}: at {one}"
        for i, result in zip(indices, results, strict=True):
            try:
                parts = self.tree.parts(result, name, f"the first {one}'s")
            except ValueError as error:
                raise ValueError(f"{differs} {i} {error}") from None
            for column, (path, part), shape in zip(columns, parts, self.shapes, strict=True):
                if binding.opened(part) is None:
                    _check_leaf(part)
                    if binding.shape(part) == shape:
                        column.append(part)
                        continue
                there = _described(part, "") or f"of shape {binding.shape(part)}"
                raise ValueError(f"{differs} {i} {path} is {there}, at the first of shape {shape}")
        return columns

    def put_together(self, columns: Sequence[Any], out_axes: Axes) -> Any:
        """The result for all rows: containers as of one, with an array for each leaf.

        columns: these arrays, with the rows along their first axes.
        """
        if type(out_axes) is int and out_axes == 0:  # as they are
            return self.tree.fill(columns)
        single = self.tree.fill([0.0] * len(columns))
        if len(binding.flattened(single)[0]) < len(columns):  # the parts of complex numbers
            single = self.tree.fill([Dual(0.0, 0.0)] * len(columns))
        placed = leaves_with_axes(out_axes, single, "what f returns", "out_axes")
        return self.tree.fill(map(_with_axis, placed, columns))


def _is_single(x: Any) -> bool:
    return type(x) in (float, np.float64) or (type(x) in (Var, Dual) and binding.ndim(x) == 0)


def dtype_of(leaf: Any) -> np.dtype[Any]:
    if isinstance(leaf, (Var, Dual)):
        return np.dtype(leaf.dtype)
    return np.asarray(leaf._plain if isinstance(leaf, Replayed) else leaf).dtype


def _check_leaf(leaf: Any, what: str = "") -> None:
    if isinstance(leaf, NUMBERS):
        return
    kind = type(leaf).__name__
    raise TypeError(
        f"{what} consists of numbers, arrays, and containers of them, but there is a {kind}"
        if what
        else "what f returns is to be stacked: it must be numbers, arrays, or containers of them "
        f"(for other classes: cadiff.register_container), not {kind}"
    )


def is_plain(leaf: Any) -> bool:
    """Whether it carries no derivative, and is no mask."""
    if isinstance(leaf, (Var, Dual, Replayed)):
        return False
    return not (isinstance(leaf, np.ndarray) and leaf.dtype == object)


def stacked(parts: list[Any]) -> Any:
    """Numbers, or arrays of one shape, along a new first axis."""
    if all(map(is_plain, parts)):
        return np.array(parts) if not np.ndim(parts[0]) else np.stack(parts)
    if any(isinstance(part, Replayed) for part in parts):
        return np.stack(parts)
    return arrays.stack(parts) if binding.ndim(parts[0]) else arrays.as_array(parts)


def _with_axis(leaf: Leaf, column: Any) -> Any:
    axis = leaf.axis
    ndim = binding.ndim(column)
    if axis is None:
        return _shared(leaf, column)
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"out_axes puts the rows at axis {axis} of {leaf.path}, which is of shape "
            f"{binding.shape(column)[1:]} for each row: give an axis from {-ndim} to {ndim - 1}"
        )
    return column if axis in (0, -ndim) else np.moveaxis(column, 0, axis)


def _shared(leaf: Leaf, column: Any) -> Any:
    """What is the same for all rows, once."""
    values = binding.plain_values(column)
    if isinstance(values, np.ndarray) and len(values):
        same = values == values[:1]
        if values.dtype.kind in "fc":
            same |= np.isnan(values) & np.isnan(values[:1])
        if not same.all():
            raise ValueError(
                f"out_axes is None for {leaf.path}, which is not the same for all rows: give the "
                "axis along which its rows are to stand"
            )
    return column[0]
