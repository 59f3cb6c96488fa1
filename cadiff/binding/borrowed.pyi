"""Types of borrowed.pyx."""

from typing import Any, NamedTuple, final

ITEMS: dict[str, int]

def cores_of(signature: str) -> list[tuple[str, ...]]: ...

class Loops(NamedTuple):
    signature: str
    stages: tuple[Any, ...]
    buffers: tuple[Any, ...]
    constants: tuple[Any, ...] = ...

@final
class Borrowed:
    stages: list[Any]
    def __init__(
        self,
        stages: tuple[Any, ...],
        buffers: tuple[Any, ...],
        cores: list[tuple[int, ...]],
        pairs: list[bool],
        n_operands: int,
    ) -> None: ...

@final
class Retyped:
    ufunc: Any
    signature: str
    def __init__(self, ufunc: Any, types: str) -> None: ...
