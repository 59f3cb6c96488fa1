"""Types of hooks: see hooks.pyx."""

from contextlib import AbstractContextManager
from typing import Any

def is_hooked() -> bool: ...
def recorded_shapes() -> AbstractContextManager[Any]: ...
