"""Types of nan_check: see nan_check.pyx."""

from typing import Any, final

from typing_extensions import Self

from .recording import Recording

class NonFiniteError(FloatingPointError):
    operation: str
    derivative: bool
    index: tuple[int, ...] | None
    filename: str | None
    lineno: int | None
    function: str | None

class Checking:
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

@final
class PlaceNotes:
    def __enter__(self) -> PlaceNotes: ...
    def __exit__(self, *_: object) -> None: ...
    def places(self, recording: Recording) -> list[tuple[str, str, int]]: ...

def value_text(x: Any) -> str: ...
def suspects_among(f: Any, args: tuple[Any, ...]) -> list[str]: ...
def seen(result: Any, operation: str, *operands: Any) -> Any: ...
