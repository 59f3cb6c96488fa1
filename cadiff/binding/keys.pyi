"""Types of keys: see keys.pyx."""

from collections.abc import Callable
from typing import Any, final

@final
class Same:
    def __init__(self, item: Any) -> None: ...

def register_libraries(test: Callable[[type], bool]) -> None: ...
def key_of(item: Any, watched: list[Any] | None = None) -> Any: ...
