"""Which results of an operation depend on which of its operands: the patterns of primitives.

A pattern is stated in letters, as for `einsum`, or by the entries of a matrix. What a graph is
told are links: pairs of numbers one of which depends on the other, by way of further numbers where
all of many results depend on all of many operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.int64]
Shape: TypeAlias = tuple[int, ...]
Pairs: TypeAlias = tuple[Indices, Indices]

# What is stated: letters, entries, or what answers these, given `ans, *args, **kw`.
Pattern: TypeAlias = Any

NONE: Pairs = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass
class Links:
    """How results depend on an argument: pairs (of, by) of indices, or by way of other numbers."""

    gathered: Pairs = field(default=NONE)  # other numbers by elements
    among: Pairs = field(default=NONE)  # others by others, of lower indices
    spread: Pairs = field(default=NONE)  # results by others
    direct: Pairs = field(default=NONE)  # results by elements
    n_between: int = 0


# --- in letters --------------------------------------------------------------------------------


def _labels(term: str, shape: Shape, stated: str) -> list[str | int]:
    """A label for each axis; those that an ellipsis stands for are counted from the last one."""
    before, dots, after = term.partition("...")
    extra = len(shape) - len(before) - len(after)
    if not (before + after).isalpha() and before + after:
        raise ValueError(f"{stated!r} has other signs than letters, an ellipsis, commas and ->")
    if extra < 0 or (extra > 0 and not dots):
        raise ValueError(
            f"in {stated!r} {term!r} does not stand for an array of the shape {shape}"
        )
    return [*before, *range(-extra, 0), *after]


def _positions(labels: Sequence[str | int], lengths: dict[str | int, int], shape: Shape) -> Pairs:
    """Elements of an array, and of each its place in the space of some labels: those of lengths.

    An axis of length 1 is repeated to the length of its label. Of a label that an array has twice
    only the diagonal is meant.
    """
    wide = tuple(lengths.get(label, length) for label, length in zip(labels, shape, strict=True))
    elements = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), wide)
    place = np.zeros(wide, np.int64)
    kept = np.ones(wide, bool)
    step = math.prod(lengths.values())
    for label, length in lengths.items():
        step //= max(length, 1)
        axes = [axis for axis, axis_label in enumerate(labels) if axis_label == label]
        along = [np.arange(length).reshape((-1,) + (1,) * (len(wide) - axis - 1)) for axis in axes]
        place += along[0] * step
        for other in along[1:]:
            kept &= other == along[0]
    return (elements[kept], place[kept]) if not kept.all() else (elements.ravel(), place.ravel())


def _by_letters(stated: str, results: Sequence[Shape], shape: Shape) -> list[Links]:
    """Of each result how it depends on an argument of a shape."""
    operand, arrow, outputs = stated.replace(" ", "").partition("->")
    terms = outputs.split(",")
    if not arrow or "," in operand:
        raise ValueError(f"a pattern is stated as 'argument->result', not as {stated!r}")
    if len(terms) != len(results):
        raise ValueError(f"{stated!r} is of {len(terms)} results, but there are {len(results)}")
    labels = _labels(operand, shape, stated)
    return [
        _shared(labels, shape, _labels(term, result, stated), result, stated)
        for term, result in zip(terms, results, strict=True)
    ]


def _shared(
    own: Sequence[str | int], shape: Shape, labels: Sequence[str | int], result: Shape, stated: str
) -> Links:
    """All that have the same index for each label that both have."""
    lengths = {label: length for label, length in zip(labels, result, strict=True) if label in own}
    for label, length in zip(own, shape, strict=True):
        if lengths.get(label, length) != length and not (length == 1 and isinstance(label, int)):
            raise ValueError(
                f"in {stated!r} {label!r} stands for the lengths {length} and {lengths[label]}"
            )
    n = math.prod(lengths.values())
    elements, places = _positions(own, lengths, shape)
    results, theirs = _positions(labels, lengths, result)
    if elements.size == n:  # one for each place
        return Links(direct=(results, _by_place(elements, places)[theirs]))
    if results.size == n:
        return Links(direct=(_by_place(results, theirs)[places], elements))
    return Links(gathered=(places, elements), spread=(results, theirs), n_between=n)


def _by_place(indices: Indices, places: Indices) -> Indices:
    named = np.empty_like(indices)
    named[places] = indices
    return named


def over_axes(axes: Any, ndim: int, keepdims: bool = False) -> str:
    """The pattern of a reduction over an axis, several, or all (None).

    With `keepdims` also that of what changes each slice along these axes as a whole.
    """
    letters = [chr(97 + k) for k in range(ndim)]
    chosen = range(ndim) if axes is None else [k % ndim for k in np.atleast_1d(axes).tolist()]
    kept = [k not in chosen for k in range(ndim)]
    left = [a if is_kept else a.upper() for a, is_kept in zip(letters, kept, strict=True)]
    same = [a for a, is_kept in zip(letters, kept, strict=True) if is_kept or keepdims]
    return f"{''.join(left)}->{''.join(same)}"


def chained(shape: Shape, axis: int = 0, first: int = 0) -> Links:
    """Of running sums and their like: each element depends on those up to it along an axis.

    What comes before the `first` counts for nothing.
    """
    places = np.moveaxis(np.arange(math.prod(shape)).reshape(shape), axis, 0)
    each, counted = places.ravel(), places[first:].ravel()
    return Links(
        gathered=(counted, counted),
        among=(places[1:].ravel(), places[:-1].ravel()),
        spread=(each, each),
        n_between=each.size,
    )


# --- by entries --------------------------------------------------------------------------------


def entries_of(stated: Any, name: str, what: str) -> tuple[Any, Any, tuple[int, int] | None]:
    """Rows and columns of the entries of a matrix, and the shape if it is known.

    `stated`: a matrix of scipy.sparse (what is stored), a 2-D array (what is not 0), or a pair of
    vectors of indices.
    """
    if hasattr(stated, "tocoo"):
        coo = stated.tocoo()
        if len(coo.shape) != 2:
            raise ValueError(f"{name}: {what} is a matrix, not of the shape {coo.shape}")
        return _indices(coo.row), _indices(coo.col), tuple(coo.shape)
    if isinstance(stated, tuple):
        if len(stated) != 2:
            raise ValueError(
                f"{name}: a tuple as {what} is a pair (rows, columns), not of {len(stated)}"
            )
        rows, columns = map(np.asarray, stated)
        for indices in (rows, columns):
            if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
                raise TypeError(
                    f"{name}: a pair (rows, columns) as {what} is of vectors of ints, not of "
                    f"{indices.dtype} of the shape {indices.shape}"
                )
        if rows.size != columns.size:
            raise ValueError(f"{name}: {what} names {rows.size} rows, but {columns.size} columns")
        return _indices(rows), _indices(columns), None
    matrix = np.asarray(stated)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"{name}: {what} is a matrix of scipy.sparse, a 2-D array of bools, or a pair "
            f"(rows, columns), not {type(stated).__name__}"
            + (f" of shape {matrix.shape} and dtype {matrix.dtype}" if matrix.ndim else "")
        )
    rows, columns = matrix.nonzero()
    return _indices(rows), _indices(columns), (matrix.shape[0], matrix.shape[1])


def _indices(indices: Any) -> Indices:
    return np.array(indices, dtype=np.int64)


def _by_entries(given: Any, name: str, n_results: int, size: int) -> Links:
    rows, columns, shape = entries_of(given, name, "a pattern")
    if shape is not None and shape != (n_results, size):
        raise ValueError(
            f"{name}: a pattern has the shape {shape}, where {(n_results, size)} was expected: a "
            "row for each number of the result, a column for each of the argument"
        )
    for indices, n in ((rows, n_results), (columns, size)):
        if indices.size and not 0 <= indices.min() <= indices.max() < n:
            raise ValueError(
                f"{name}: a pattern names entries beyond the shape {(n_results, size)}"
            )
    return Links(direct=(rows, columns))


# --- of a call ---------------------------------------------------------------------------------


def links_of(
    stated: Pattern,
    name: str,
    results: Sequence[Shape],
    shape: Shape,
    called: Callable[[Callable[..., Any]], Any],
) -> list[tuple[Links, int]] | None:
    """Links of the results by an argument of a shape, each with where its results begin.

    None: nothing is known.

    `called(rule)` answers what a rule does for the call.
    """
    if callable(stated):
        stated = called(stated)
    if stated is None:
        return None
    sizes = [math.prod(result) for result in results]
    if isinstance(stated, str):
        try:
            links = _by_letters(stated, results, shape)
        except ValueError as error:
            raise ValueError(f"{name}: the pattern {error}") from None
        begins = [sum(sizes[:k]) for k in range(len(sizes))]
        return list(zip(links, begins, strict=True))
    if not isinstance(stated, Links):
        stated = _by_entries(stated, name, sum(sizes), math.prod(shape))
    return [(stated, 0)]


def joined(
    parts: Sequence[tuple[Links, int, int]], n_operands: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
    """Pairs (of, by) of a call, whose operands, others and results are counted through.

    Of each part there is where its results begin, and its operands.
    """
    n_between = sum(links.n_between for links, _, _ in parts)
    gathered, spread = [NONE], [NONE]
    first = n_operands
    for links, results, operands in parts:
        results += n_operands + n_between
        gathered.append(_moved(links.gathered, first, operands))
        gathered.append(_moved(links.among, first, first))
        spread.append(_moved(links.spread, results, first))
        spread.append(_moved(links.direct, results, operands))
        first += links.n_between
    of, by = _concatenated(gathered)
    if any(links.among[0].size for links, _, _ in parts):
        order = np.argsort(of, kind="stable")
        of, by = of[order], by[order]
    of, by = _concatenated([(of, by), *spread])
    return of.astype(np.uint32), by.astype(np.uint32), n_between


def _moved(pairs: Pairs, of: int, by: int) -> Pairs:
    return pairs[0] + of, pairs[1] + by


def _concatenated(pairs: Sequence[Pairs]) -> Pairs:
    return np.concatenate([of for of, _ in pairs]), np.concatenate([by for _, by in pairs])
