"""Functions of libraries that numbers with derivatives may enter, or must not.

Those that must not say so instead of dropping a derivative. Where it is not known, they are
called, and what they raise of numbers with derivatives alone is told as that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from ..binding import MissingRuleError, carries, plain_constants, unguarded
from ..operations.dispatch import FUNCTIONS

INSTEAD = "docs/functions.md lists those that do; cadiff.value(x) has no derivative"


def refusing(function: Callable[..., Any], name: str, instead: str) -> Callable[..., Any]:
    """A function that raises MissingRuleError if an argument carries a derivative.

    Constants to which numbers might be assigned carry none.
    """

    @functools.wraps(function)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        if carries(args) or carries(kwargs):
            constants = plain_constants((args, kwargs))
            if constants is not None:
                return function(*constants[0], **constants[1])
            raise missing(name, instead)
        return function(*args, **kwargs)

    return refuse


def missing(name: str, instead: str) -> MissingRuleError:
    """The error that says that a function takes plain numbers alone."""
    return MissingRuleError(f"{name} does not support numbers with derivatives: {instead}")


def relayed(function: Callable[..., Any], name: str, instead: str) -> Callable[..., Any]:
    """A function of a library that may be able to compute with numbers with derivatives.

    If it fails with these, it is asked with their values: what it raises then is the caller's
    mistake. If it answers, it raises MissingRuleError.
    """

    @functools.wraps(function)
    def relay(*args: Any, **kwargs: Any) -> Any:
        if not (carries(args) or carries(kwargs)):
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except MissingRuleError:
            raise
        except Exception as error:
            constants = plain_constants((args, kwargs))
            answer = function(*unguarded(args), **unguarded(kwargs))
            if constants is not None:
                return answer
            raise missing(name, instead) from error

    module, _, relay.__qualname__ = f"cadiff.{name}".rpartition(".")  # where pickles find it
    relay.__module__ = module
    return relay


def the_rest_of(
    module: ModuleType,
    defined: dict[str, Any],
    offer: Callable[[Any, str, str], Any] = refusing,
    instead: str = INSTEAD,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a namespace with the names of a library's module.

    defined: the names that the namespace defines itself. offer: `refusing` or `relayed`, makes the
    stand-in of a function that nothing here differentiates.
    """

    @functools.cache
    def get(name: str) -> Any:
        found = getattr(module, name)
        if not isinstance(found, FunctionType):
            return found
        return FUNCTIONS.get(found) or offer(found, f"{module.__name__}.{name}", instead)

    return get, lambda: sorted({*defined, *dir(module)})
