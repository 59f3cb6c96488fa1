"""Types of codes: see codes.pyx."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

@final
class Code:
    steps: list[Any]
    uses: int
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def n_inputs(self) -> int: ...
    @property
    def n_results(self) -> int: ...
    @property
    def n_operations(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...
    @property
    def nbytes(self) -> int: ...
    def profile(
        self, inputs: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def parts(self) -> dict[str, Any]: ...
    def run(self, inputs: NDArray[np.float64]) -> NDArray[np.float64] | int: ...
    def run_points(
        self,
        own: NDArray[np.float64],
        shared: NDArray[np.float64],
        heads: NDArray[np.float64],
        tails: NDArray[np.float64],
        missed: NDArray[np.uint8],
        threads: int = 1,
    ) -> int: ...
