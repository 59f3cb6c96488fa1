"""Runs f as it is, but lets it do what it may do in a recording: assign to arrays of constants.

In a recording all floats of the arguments are numbers, and so are the arrays that f computes of
them: f may assign numbers with derivatives to these. Without a recording, arguments that are not
differentiated by stay arrays of NumPy's, which cannot hold such numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import binding
from ..binding import callers
from ..operations.arrays import array
from ..transforms._base import Function, show_as


class Assignable:
    """f, which is run again, with numbers in place of plain arrays, if these refused one."""

    def __init__(self, f: Function, *, is_shown: bool = True) -> None:
        if is_shown:  # to users, who see it as f
            show_as(self, f)
        self._function = f
        self._is_lifting = False  # from the first time on that it was of use

    def __repr__(self) -> str:
        return repr(self._function)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._is_lifting:
            return self._function(*_lifted(args), **_lifted(kwargs))
        before = callers.n_refused
        try:
            return self._function(*args, **kwargs)
        except TypeError:
            if callers.n_refused == before:
                raise
            leaves, _ = binding.flattened((args, kwargs))
            if not binding.is_differentiating() or not any(map(_is_constant, leaves)):
                raise
            try:
                result = self._function(*_lifted(args), **_lifted(kwargs))
            except Exception:
                result = NotImplemented
            if result is NotImplemented:
                raise
        self._is_lifting = True
        return result


def _is_constant(leaf: Any) -> bool:
    return type(leaf) is np.ndarray and leaf.dtype.kind == "f" and leaf.ndim > 0


def _lifted(tree: Any) -> Any:
    leaves, made = binding.flattened(tree)
    return made.fill([array(leaf) if _is_constant(leaf) else leaf for leaf in leaves])
