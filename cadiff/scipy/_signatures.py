"""Functions that are called as SciPy's are, and take what they need of the arguments.

What SciPy takes besides, to save a copy or to skip a check, is read where it has a meaning here.
So a function has the signature of the SciPy that is installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..operations.complexes import implements_all
from ._stacks import AXES, batches, over_stacks

Function = Callable[..., Any]


def arguments_of(original: Function) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """What answers all arguments of a call of a function, by their names."""
    signature = inspect.signature(original)
    parameters = signature.parameters.values()
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        twice = kwargs.keys() & names[: len(args)]
        if twice or len(args) > len(names) or given.keys() != signature.parameters.keys():
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{original.__name__}() {error}") from None
        return given

    return arguments


def called_as(
    original: Function, plainly: Function | None = None, stacks: bool = False, **readers: Function
) -> Callable[[Function], Any]:
    """Have a function stand for one of SciPy's, and be called with what it takes, by name.

    `reader(argument, check_finite)` makes numbers of an argument that is not None. Where these are
    stacks it is called in a loop, or not, if it takes stacks.
    """
    arguments = arguments_of(original)
    checks = {"check_finite"} & inspect.signature(original).parameters.keys()
    axes = {name: AXES[read] for name, read in readers.items() if read in AXES}

    def decorate(function: Function) -> Any:
        wanted = inspect.signature(function).parameters

        def call(*args: Any, **kwargs: Any) -> Any:
            given = arguments(args, kwargs)
            for name, read in readers.items():
                if given[name] is not None:
                    given[name] = read(given[name], *map(given.get, checks))
            passed = {name: given[name] for name in wanted if name in given}
            if any(found for name, n in axes.items() for found in batches(given[name], n)):
                return over_stacks(original, function, passed, axes, stacks)
            return function(**passed)

        call.__doc__ = function.__doc__
        call.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return implements_all(original, plainly=plainly)(call)

    return decorate
