"""Types of fast_paths: see fast_paths.pyx."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .calls import Call
from .codes import Code
from .sparse import MatrixPlan
from .watches import Watch

@final
class ProgramPullback:
    def __init__(
        self,
        pull: Callable[
            [
                NDArray[np.float64],
                Any,
                Callable[[Code, Callable[[NDArray[np.float64]], Any], bytes], None],
            ],
            Any,
        ],
        inputs: NDArray[np.float64],
    ) -> None: ...
    def __call__(self, u: Any, /) -> Any: ...

@final
class Missed:
    def __init__(self, outcomes: bytes, guard: int, outcome: float) -> None: ...
    outcomes: bytes
    guard: int
    outcome: float
    def allows(self, own: bytes) -> bool: ...

@final
class Trust:
    @property
    def kinds(self) -> set[tuple[type, ...]]: ...
    knows_nan: bool
    @property
    def is_full(self) -> bool: ...
    def covers(self, inputs: NDArray[np.float64]) -> bool: ...
    def note(self, inputs: NDArray[np.float64]) -> None: ...

@final
class Backoff:
    may_pass: bool
    @property
    def is_in_vain(self) -> bool: ...
    def passes(self) -> bool: ...
    def note_in_vain(self) -> None: ...
    def note_served(self) -> None: ...
    def open(self) -> None: ...

@final
class FastPath:
    def made(self, numbers: NDArray[np.float64]) -> Any: ...

@final
class FastPathTable:
    @property
    def backoff(self) -> Backoff: ...
    def clear(self) -> None: ...
    def forget(self, programs: Iterable[Code | MatrixPlan]) -> None: ...
    def forget_fallbacks(self) -> None: ...
    def add_fallback(
        self,
        what: str,
        call: Call,
        args: tuple[Any, ...],
        argnums: Any,
        last: tuple[int, ...],
        fallback: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    ) -> None: ...
    def add(
        self,
        what: str,
        call: Call,
        args: tuple[Any, ...],
        argnums: Any,
        last: tuple[int, ...],
        program: Code | MatrixPlan,
        assemble: Callable[[NDArray[np.float64]], Any],
        watch: Watch | None,
        trust: Trust | None,
        outcomes: bytes,
        pullback: ProgramPullback | None = None,
    ) -> FastPath | None: ...

@disjoint_base
class Calls:
    _fast_paths: FastPathTable
    _general: Any
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def value(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def grad(self, /, *args: Any, argnums: int | Sequence[int] = 0, **kwargs: Any) -> Any: ...
    def value_and_grad(
        self, /, *args: Any, argnums: int | Sequence[int] = 0, **kwargs: Any
    ) -> Any: ...
    def jacobian(self, /, *args: Any, argnums: int | Sequence[int] = 0, **kwargs: Any) -> Any: ...
    def hessian(self, /, *args: Any, argnums: int | Sequence[int] = 0, **kwargs: Any) -> Any: ...
    def hvp(self, first: Any, v: Any, /, *others: Any, argnums: int = 0, **kwargs: Any) -> Any: ...
    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]: ...
    def vjp(self, /, *primals: Any) -> tuple[Any, Callable[[Any], Any]]: ...
    def __get__(self, instance: object, owner: type | None, /) -> Any: ...
    def _forget_objects(self) -> None: ...
