"""Names of test cases, the same in every process: tests may be shared among several."""

from __future__ import annotations

import re


def name_of(case: object) -> str:
    """How it is shown, without its address."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(case))
