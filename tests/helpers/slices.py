"""Which of many cases are tried: all, or those of today, other ones each day until all were.

A test says by the marker `daily(n)` that each of its cases takes long: the command of the README
tries one of n of them each day. `.ci/run` sets CADIFF_CASES to "today": then any test of six cases
or more has a third of them, as always in brief. `nox -s search` and `suite` set it to "all".
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

CASES = "CADIFF_CASES"
MANY = 6
SHARE = 3


def today() -> int:
    """The number of the day, since the year 1."""
    return datetime.datetime.now(datetime.timezone.utc).date().toordinal()


def of_today(cases: Sequence[T], share: int, is_brief: bool = False) -> list[T]:
    """One case of each `share`, from a place that moves on by one each day."""
    which = os.environ.get(CASES, "")
    if (is_brief or which == "today") and len(cases) >= MANY:
        share = max(share, SHARE)
    return list(cases) if which == "all" else list(cases[today() % share :: share])
