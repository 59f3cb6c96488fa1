"""Where the entries of sparse matrices are, and which of them are computed together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binding import MatrixPlan
from ..inspection.texts import counted
from ..programs.matrices import Request
from ..programs.program import Program
from ..programs.sparse import SparseMatrix
from ..transforms import LinearMap
from ._axes import colors, ground_of, new_axes

_CELLS = 40  # rows and columns at most, between which there are lines
_LARGEST = 50_000_000  # entries of a LinearMap, of which no structure is known
_EQUAL = 6.0  # how much longer one side may be for entries to be squares


def sparsity(f: Any, /, *args: Any, what: str = "jacobian", ax: Any = None, **kwargs: Any) -> Any:
    """Draw the structure of a sparse matrix, in the colours by which it is computed.

    What has one colour is read from one product with the matrix or with its transpose: from one
    sweep for a group of columns that have no row in common, or of rows (or columns of a symmetric
    matrix) of which the like holds. Where an input is copied, as to several observations, a sweep
    goes by the copies. Where each entry has a formula of its own, there are no colours.

    Parameters
    ----------
    f : callable, Program, LinearMap or matrix
        A function or program, whose matrix `sparse_jacobian` or `sparse_hessian` computes at the
        arguments; what these gave for a function; the map from `linearize`, drawn without its
        zeros; or a matrix: one of scipy.sparse, with all stored entries, or an array of two axes.
    *args, **kwargs
        The point: arguments of f, of which the first is differentiated by.
    what : {"jacobian", "hessian"}
        Which matrix of a function or program.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless told.

    Returns
    -------
    matplotlib.axes.Axes
        With one image. Of a large matrix each pixel shows whether there is an entry in the part
        that it stands for.

    Raises
    ------
    TypeError
        If f is none of these, or the point is missing.
    ValueError
        If a LinearMap is too large to look at all of its entries.
    """
    if what not in ("jacobian", "hessian"):
        raise ValueError(f'what is "jacobian" or "hessian", not {what!r}')
    matrix, plan, name = _matrix_of(f, args, kwargs, what)
    ax = new_axes(ax)
    directions = None if plan is None else plan.directions()
    n_colors = 1 if plan is None or directions is None else plan.n_colors
    palette = colors(ax, n_colors)
    _draw(ax, matrix, palette[0 if directions is None else directions])
    m, n = matrix.shape
    count = len(matrix.rows)
    entries = f"{count:,} {'entry' if count == 1 else 'entries'}"
    ax.set_title(f"{m:,} × {n:,} {name}: {entries}{_by(plan)}")
    ax.set_xlabel("column" if name == "matrix" else "input")
    ax.set_ylabel("row" if name == "matrix" else "input" if name == "Hessian" else "result")
    return ax


class _Places(NamedTuple):
    """The shape of a matrix, and where it has entries, in the order of its data."""

    shape: tuple[int, int]
    rows: NDArray[Any]
    columns: NDArray[Any]


def _matrix_of(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], what: str
) -> tuple[_Places, MatrixPlan | None, str]:
    """Places, the plan by which they were computed, if any, and what it is called."""
    if isinstance(f, SparseMatrix):
        what = f.what
        found, plan = f.planned(*args, **kwargs)
    elif isinstance(f, LinearMap):
        if f.shape[0] * f.shape[1] > _LARGEST:
            raise ValueError(
                f"sparsity: a LinearMap knows no structure, and of shape {f.shape} it is too "
                "large to look at all entries; give the function, and the point"
            )
        return _places_of(f.todense()), None, "map"
    elif callable(f):
        if not args:
            raise TypeError("sparsity takes the point behind a function: sparsity(f, x)")
        program = f if isinstance(f, Program) else Program(f)
        found, plan = program.matrices.planned(Request(what, None, "csr"), args, kwargs)
    else:
        return _places_of(f), None, "matrix"
    return _places_of(found), plan, what.capitalize()


def _places_of(matrix: Any) -> _Places:
    if hasattr(matrix, "tocoo"):
        stored = matrix.tocoo()
        return _Places(stored.shape, stored.row, stored.col)
    array = np.asarray(matrix)
    if array.ndim != 2:
        raise TypeError(
            "sparsity takes a function and a point, a LinearMap, or a matrix, not "
            + (f"an array of shape {array.shape}" if array.ndim else type(matrix).__name__)
        )
    return _Places(array.shape, *np.nonzero(array))


def _by(plan: MatrixPlan | None) -> str:
    """How a matrix is computed."""
    if plan is None:
        return ""
    if plan.directions() is None:
        return ",\neach by a formula of its own"
    text = f",\n{counted(plan.n_colors, 'colour')} of {'rows' if plan.is_backward else 'columns'}"
    return f"{text}, by copies of inputs" if plan.has_copies else text


def _draw(ax: Any, matrix: _Places, shown: NDArray[np.float64]) -> None:
    """Draw an image that has no more pixels than there are in the axes."""
    m, n = matrix.shape
    rows, columns = matrix.rows.astype(np.int64), matrix.columns.astype(np.int64)
    extent = (-0.5, max(n, 1) - 0.5, max(m, 1) - 0.5, -0.5)
    box = ax.get_window_extent()
    height, width = min(max(m, 1), int(box.height) + 1), min(max(n, 1), int(box.width) + 1)
    image = np.zeros((height, width, 4))
    image[rows * height // max(m, 1), columns * width // max(n, 1)] = shown
    equal = max(m, n) <= _EQUAL * max(min(m, n), 1)
    ax.imshow(image, extent=extent, aspect="equal" if equal else "auto", interpolation="nearest")
    for axis, length in ((ax.xaxis, n), (ax.yaxis, m)):
        if length == 0:
            axis.set_ticks([])
            continue
        axis.get_major_locator().set_params(integer=True)
        if max(m, n) <= _CELLS:
            axis.set_ticks(np.arange(1, length) - 0.5, minor=True)
    if max(m, n) <= _CELLS:
        ax.grid(which="minor", color=ground_of(ax), linewidth=1.0)
        ax.tick_params(which="minor", length=0)
