"""Functions that numbers with derivatives must not enter: they say so instead of dropping any."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..binding import MissingRuleError, plain_constants
from ..operations.dispatch import carries


def refusing(function: Callable[..., Any], name: str, instead: str) -> Callable[..., Any]:
    """A function that raises MissingRuleError if an argument carries a derivative.

    Constants to which numbers might be assigned carry none.
    """

    @functools.wraps(function)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        if carries(args) or carries(kwargs):
            found = plain_constants((args, kwargs))
            if found is not None:
                return function(*found[0], **found[1])
            raise MissingRuleError(f"{name} does not support numbers with derivatives: {instead}")
        return function(*args, **kwargs)

    return refuse
