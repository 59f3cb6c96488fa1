"""Types of gradients: see gradients.pyx."""

from collections.abc import Callable
from typing import Any

from ._core import Var
from .recording import Recording

def pull(recording: Recording, outputs: list[Any], seeds: list[Any]) -> list[Any]: ...
def value_and_grad(
    f: Callable[..., Any],
    argnums: tuple[int, ...],
    single: bool,
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
) -> tuple[Any, Any, Any]: ...
def split_aux(out: Any) -> tuple[Any, Any]: ...
def scalar_output(out: Any, *, name: str = "grad") -> Any: ...
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
