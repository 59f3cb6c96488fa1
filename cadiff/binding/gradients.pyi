"""Types of gradients: see gradients.pyx."""

from collections.abc import Callable
from typing import Any

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
