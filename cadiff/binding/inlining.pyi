"""Types of inlining: see inlining.pyx."""

from typing import Any, final

from .recording import Recording

@final
class Inlined:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def inline(self, atoms: list[Any]) -> list[Any] | int | None: ...

def inlined_of(recording: Recording, atoms: list[Any]) -> Inlined | str: ...
