"""Types of fast_paths: see fast_paths.pyx."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .codes import Code
from .sparse import MatrixPlan

@final
class Pullback:
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
class Strays:
    is_due: bool
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def note(self) -> bool: ...
    def settle(self, uses: int) -> None: ...

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
    def _keep_shortcuts(self, most: int) -> None: ...
    def _forget_shortcuts(self) -> None: ...
    def _forget_shortcuts_to(self, programs: Iterable[Code | MatrixPlan]) -> None: ...
    def _detour(
        self,
        what: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Any,
        first: tuple[int, ...],
        last: tuple[int, ...],
        strays: Strays | None,
        run: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    ) -> None: ...
    def _shorten(
        self,
        what: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Any,
        first: tuple[int, ...],
        last: tuple[int, ...],
        program: Code | MatrixPlan,
        assemble: Callable[[NDArray[np.float64]], Any],
        pullback: Pullback | None = None,
    ) -> None: ...
