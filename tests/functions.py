"""What several files of tests differentiate."""

from __future__ import annotations

from typing import Any


def square_sum(x: Any) -> Any:
    return sum(a * a for a in x)


class BoomError(Exception):
    """Raised by functions of tests."""
