"""Types of watching: see watching.pyx."""

from contextlib import AbstractContextManager
from typing import Any

def is_watched() -> bool: ...
def watch_shapes() -> AbstractContextManager[Any]: ...
