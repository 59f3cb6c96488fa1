"""Which part of many cases is tried today: another one each day of the year, in time each one.

`nox -s search` tries all of them, for which it sets CADIFF_ALL_CASES.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

ALL = "CADIFF_ALL_CASES"


def today() -> int:
    """The number of the day, since the year 1."""
    return datetime.datetime.now(datetime.timezone.utc).date().toordinal()


def of_today(cases: Sequence[T], share: int) -> list[T]:
    """One case of each `share`, from a place that moves on by one each day."""
    if os.environ.get(ALL):
        return list(cases)
    return list(cases[today() % share :: share])
