"""Figures that say what was tried, each with its date and command: `docs/trust.json` has them.

Some of them are measured anew; what fuzzers executed adds up over runs.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "STORE", "add_executions", "fault_name", "read", "remember"]

ROOT = Path(__file__).parents[2]
STORE = ROOT / "docs" / "trust.json"


def today() -> str:
    return datetime.now(timezone.utc).date().isoformat()


def read() -> dict[str, Any]:
    """All figures, by the name of what they are of."""
    if not STORE.exists():
        return {}
    figures: dict[str, Any] = json.loads(STORE.read_text(encoding="utf-8"))
    return figures


def write(figures: dict[str, Any]) -> None:
    text = json.dumps(figures, indent=1, sort_keys=True, ensure_ascii=False)
    STORE.write_text(text + "\n", encoding="utf-8")


def remember(name: str, command: str, found: dict[str, Any]) -> None:
    """Put what was measured in the place of what was measured before."""
    write(read() | {name: {"date": today(), "command": command, **found}})


def add_executions(target: str, executions: int, seconds: int) -> None:
    """Add what a fuzzer executed of a target, and the seconds that it took."""
    known = read().get("fuzzing", {})
    found = {"executions": known.get("executions", {}), "seconds": known.get("seconds", {})}
    for counts, more in zip(found.values(), (executions, seconds), strict=True):
        counts[target] = counts.get(target, 0) + more
    remember("fuzzing", "python -m tests.fuzz --write", found)


def fault_name(fault: dict[str, Any]) -> tuple[str, str, str]:
    return fault["path"], fault["before"], fault["after"]
