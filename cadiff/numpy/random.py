"""`numpy.random`, to be imported beside `cadiff.numpy`. What is drawn carries no derivatives."""

from __future__ import annotations

from typing import Any

from numpy import random as _random
from numpy.random import *  # noqa: F403

__all__ = _random.__all__


def __getattr__(name: str) -> Any:
    return getattr(_random, name)
