"""Which of many cases are tried: all, or those of today, other ones each day until all were.

A test says by the marker `daily(n)` that each of its cases takes long: the command of the README
tries one of n of them each day. `.ci/run` sets CADIFF_CASES to "today": then any test of six cases
or more has a third of them, as always in brief, one of twelve or more a sixth, and one marked
`daily(1, n)` one of n, so that a single case runs each nth day. `nox -s search` and `suite` set it
to "all".
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")

CASES = "CADIFF_CASES"
SHARES = {12: 6, 6: 3}  # by how many cases there are at least


def today() -> int:
    """The number of the day, since the year 1."""
    return datetime.datetime.now(datetime.timezone.utc).date().toordinal()


def of_today(cases: Sequence[T], *shares: int, name: str = "", is_brief: bool = False) -> list[T]:
    """One case of each so many: from a place, by the name, that moves on by one each day."""
    which = os.environ.get(CASES, "")
    share = shares[0]
    if is_brief or which == "today":
        share = max(*shares, next((n for many, n in SHARES.items() if len(cases) >= many), 1))
    first = (today() + crc32(name.encode())) % share
    return list(cases) if which == "all" else list(cases[first::share])
