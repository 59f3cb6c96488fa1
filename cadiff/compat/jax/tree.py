"""`jax.tree`: the functions of `jax.tree_util` without `tree_` in their names."""

from typing import Any as _Any

from . import tree_util as _tree_util

globals().update({name[5:]: x for name, x in vars(_tree_util).items() if name.startswith("tree_")})


def __getattr__(name: str) -> _Any:  # for checkers of types
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
