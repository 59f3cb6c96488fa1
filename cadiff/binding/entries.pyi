"""Types of entries: see entries.pyx."""

from typing import Any, final

from .recording import Recording

@final
class Taped:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def call(self, atoms: list[Any]) -> list[Any] | int | None: ...

@final
class Opened:
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...

def taped_of(recording: Recording, atoms: list[Any], name: str) -> Taped | str: ...
