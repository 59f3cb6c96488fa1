"""Types of sparse: see sparse.pyx."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .codes import Code
from .graphs import Graph

@final
class Pattern:
    def __init__(
        self, shape: tuple[int, int], rows: NDArray[Any], columns: NDArray[Any]
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def count(self) -> int: ...
    @property
    def indptr(self) -> NDArray[np.int64]: ...
    @property
    def indices(self) -> NDArray[np.int32]: ...
    def rows(self) -> NDArray[np.int64]: ...
    def transposed(self) -> Pattern: ...
    def symmetric(self) -> Pattern: ...
    def find(self, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.int64]: ...
    def color_columns(self) -> tuple[NDArray[np.intp], int]: ...
    def color_star(
        self,
    ) -> tuple[NDArray[np.intp], int, NDArray[np.intp], NDArray[np.intp]]: ...

@final
class MatrixPlan:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    code: Code
    point: Code | None
    pattern: Pattern
    assemble: Any
    size: int
    n_colors: int
    unlinked: tuple[Any, ...]
    n_found: int
    n_filled: int
    is_backward: bool
    has_copies: bool
    is_whole: bool
    is_by_rows: bool
    seeds: NDArray[np.float64]
    blocks: list[tuple[int, int, NDArray[np.intp], NDArray[np.intp]]]
    @property
    def n_operations(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def directions(self) -> NDArray[np.intp] | None: ...
    def run(self, inputs: NDArray[np.float64]) -> NDArray[np.float64] | int: ...
    def spread(self, results: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def run_at(self, x: Any) -> NDArray[np.float64] | None: ...

def plan_matrix(
    graph: Graph,
    what: str,
    ranges: tuple[tuple[int, int], ...],
    given: Pattern | None,
    layout: str,
    for_points: bool = False,
    for_c: bool = False,
) -> MatrixPlan: ...
