"""Small helpers that other packages import."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .test_util import check_grads


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A tuple with other values at some places."""
    values = list(x)
    for i, value in ivs:
        values[i] = value
    return tuple(values)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """A tuple with another value at one place."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    return f


def quick_grad_check(
    fun: Callable[..., Any], arg0: Any, extra_args: Any = (), kwargs: Any = None, **_: Any
) -> None:
    """Check a gradient by differences; autograd deprecates it."""
    warnings.warn("quick_grad_check is deprecated: use test_util.check_grads", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
