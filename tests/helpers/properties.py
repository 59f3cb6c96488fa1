"""How many examples property tests draw: conftest.py has the profiles."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> settings:
    """So many in the profile of every day, in another one in proportion."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100))
