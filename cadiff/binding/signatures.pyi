"""Types of signatures: see signatures.pyx."""

from typing import Any

from numpy.typing import NDArray

def are_exact(array: NDArray[Any]) -> bool: ...
