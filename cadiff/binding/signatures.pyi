"""Types of signatures: see signatures.pyx."""

from typing import Any

from numpy.typing import NDArray

INTEGERS: frozenset[type]

def are_exact(array: NDArray[Any]) -> bool: ...
def may_be_input(number: Any) -> bool: ...
def whole(numbers: Any, kind: Any) -> Any: ...

class Described:
    numbers: Any
    kind: Any
    def __init__(self, numbers: Any, kind: Any) -> None: ...
