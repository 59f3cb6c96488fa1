"""Types of snapshots: see snapshots.pyx."""

from typing import Any

from .recording import Recording

def snapshot(recording: Recording, outputs: list[Any]) -> dict[str, Any]: ...
