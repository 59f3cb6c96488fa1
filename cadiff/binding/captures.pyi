"""Types of captures: see captures.pyx."""

from collections.abc import Callable, Iterable
from typing import Any, final

from typing_extensions import Self

from ._core import Var
from .recording import Recording
from .replays import Replay

def captures_of(recording: Recording, outputs: list[Any]) -> list[Var]: ...
def are_within(vectors: list[Var], others: list[Var]) -> bool: ...
def pull_captures(
    recording: Recording, outputs: list[Any], seeds: list[Any], captures: list[Var]
) -> list[Any]: ...
def record_pull_of_captures(
    recording: Recording,
    outputs: list[Any],
    seeds: list[Any],
    captures: list[Var],
    linear: bool,
) -> list[Any]: ...
def _guards_elsewhere(
    recording: Recording, numbers: Any
) -> list[tuple[int, int, bool, list[bool]]]: ...

OUTER: str

@final
class Guarded:
    recording: Recording
    lifted: tuple[Any, ...]
    def __init__(
        self,
        inputs: Iterable[Any],
        f: Callable[..., Any],
        exact: bool = False,
        reads: bool = False,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    @property
    def obstacle(self) -> str: ...
    @property
    def is_shown(self) -> bool: ...
    def replay(
        self, atoms: list[Any], n_active: int, returned: Callable[[list[Any]], Any]
    ) -> Replay | str: ...
    def made(self, atoms: list[Any]) -> bool: ...
