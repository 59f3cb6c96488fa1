"""Types of numpy_functions: see numpy_functions.pyx."""

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, final

import numpy as np

_P = ParamSpec("_P")
_R = TypeVar("_R")

@final
class DispatchedFunction(Generic[_P, _R]):
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    def __init__(
        self,
        function: Callable[_P, _R],
        original: Callable[..., Any],
        joined: Callable[[Any], Any] | None = None,
    ) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...

@final
class Elementwise:
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    def __init__(self, ufunc: np.ufunc, join: Callable[[Any], Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
