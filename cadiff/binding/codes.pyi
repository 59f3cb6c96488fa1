"""Types of codes.pyx."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

@final
class Code:
    steps: list[Any]
    uses: int
    serves: str | None
    is_for_lanes: bool
    expects_machine: bool
    def serves_points(self, n: int) -> bool: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def n_inputs(self) -> int: ...
    @property
    def n_results(self) -> int: ...
    @property
    def n_operations(self) -> int: ...
    @property
    def calls_python(self) -> bool: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...
    @property
    def nbytes(self) -> int: ...
    def profile(
        self, inputs: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @property
    def has_machine(self) -> bool: ...
    def set_machine(
        self,
        machine: object,
        pieces: list[tuple[int, int, int]],
        cores: dict[tuple[int, ...], list[tuple[int, int, int]]],
    ) -> None: ...
    def parts(self) -> dict[str, Any]: ...
    def run(self, inputs: NDArray[np.float64]) -> NDArray[np.float64] | int: ...
    def run_points(
        self,
        own: list[NDArray[np.float64]],
        shared: NDArray[np.float64],
        results: list[NDArray[np.float64]],
        missed: NDArray[np.uint8],
        threads: int = 1,
    ) -> int: ...

FROM_POINTS: tuple[int, int]
MACHINE_LANES: int

def instruction_words() -> dict[str, tuple[str, str, str, str, set[str]]]: ...
def machine_value() -> int: ...
def is_deriving() -> bool: ...

@final
class Native: ...

@final
class Transformation:
    def __init__(
        self,
        ufuncs: tuple[Any, Any],
        given: tuple[int, ...],
        lengths: tuple[int, ...],
        to: tuple[int, ...],
        axes: tuple[int, ...],
        factors: tuple[float, ...],
        n_operands: int,
        n_results: int,
        half: int,
        real_length: int,
        inner: float,
    ) -> None: ...

def native_of(
    function: Any,
    arguments: list[Any],
    results: list[tuple[int, ...]],
    bounds: tuple[tuple[float, float], ...] = (),
) -> Native | None: ...
def run_loop(function: Any, operands: list[Any], *shapes: tuple[int, ...]) -> Any: ...

class ObstacleError(Exception): ...
class PointError(Exception): ...
class CallError(Exception): ...
