"""Types of fast_paths: see fast_paths.pyx."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

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
                Callable[[Code, Callable[[NDArray[np.float64]], Any]], None],
            ],
            Any,
        ],
        inputs: NDArray[np.float64],
    ) -> None: ...
    def __call__(self, u: Any, /) -> Any: ...

@final
class MissCount:
    is_due: bool
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def note(self) -> bool: ...
    def restart(self, uses: int) -> None: ...

@disjoint_base
class Calls:
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
    def _keep_fast_paths(self, most: int) -> None: ...
    def _forget_fast_paths(self) -> None: ...
    def _forget_fast_paths_to(self, programs: Iterable[Code | MatrixPlan]) -> None: ...
    def _add_fallback(
        self,
        what: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Any,
        first: tuple[int, ...],
        last: tuple[int, ...],
        misses: MissCount | None,
        run: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    ) -> None: ...
    def _add_fast_path(
        self,
        what: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Any,
        first: tuple[int, ...],
        last: tuple[int, ...],
        program: Code | MatrixPlan,
        assemble: Callable[[NDArray[np.float64]], Any],
        watch: Watch | None,
        pullback: ProgramPullback | None = None,
    ) -> None: ...
