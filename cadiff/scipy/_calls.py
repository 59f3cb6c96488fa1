"""Calls of SciPy's solvers, by the numbers with derivatives that they reach, and as programs."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from scipy import optimize

from .. import binding
from ..binding import callers
from ..operations.guards import NoDerivativeError
from ..programs import Program
from ..transforms._closed import Closed, numbers_in, unreached
from ..transforms._objects import OPENED

Function = Callable[..., Any]


def public(original: Function, function: Function, module: str, doc: str) -> Function:
    """A function of a module here, by the name and with the signature of SciPy's original."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    functools.update_wrapper(call, original)
    call.__module__, call.__doc__ = module, doc
    return call


def refuse(given: Any, what: str, instead: str) -> None:
    if next(numbers_in(given), None) is not None:
        raise NoDerivativeError(f"{what}, but was given numbers that carry one: {instead}")


OPENED += [optimize.Bounds, optimize.LinearConstraint, optimize.NonlinearConstraint]


class SolverCall(Closed):
    """A call of a function of SciPy's, by its arguments' names."""

    def __init__(self, original: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.original = original
        names, self._defaults = _parameters_of(original)
        named = dict(zip(names, args, strict=False))
        if len(args) > len(names) or named.keys() & kwargs.keys():
            original(*args, **kwargs)  # which says what is wrong
        named |= kwargs
        constants = ((name, binding.plain_constants((x,))) for name, x in named.items())
        super().__init__(named | {name: plain[0] for name, plain in constants if plain})

    def run(self, theta: Any) -> Any:
        """What SciPy's function returns for plain numbers."""
        return plainly(self.original, (), self.live_at(theta))

    def arguments(self, theta: Any) -> dict[str, Any]:
        """All arguments by name, defaults included."""
        return {**self._defaults, **self.at(theta)}


@functools.cache
def _parameters_of(original: Function) -> tuple[list[str], dict[str, Any]]:
    """The names of what is taken by position, and the defaults."""
    parameters = inspect.signature(original).parameters.values()
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return names, {p.name: p.default for p in parameters if p.default is not p.empty}


# Programs of functions, which calls that differ by their numbers alone have in common; and the
# call whose lists and arrays they read.
_PROGRAMS: dict[Any, tuple[Any, SolverCall]] = {}
MOST_PROGRAMS = 64


def program_of(purpose: Any, call: SolverCall, f: Function) -> Any:
    """F, a function that reads nothing but a detached call, as a program."""
    key = None if call.key is None else (purpose, call.original, call.key)
    try:
        program, owner = _PROGRAMS.get(key, (None, call))
    except TypeError:  # a key of what has no hash
        program = key = None
    if program is None or owner.key_now() != owner.key:
        program = Program(f)
        program.be_quiet()
        if key is not None:
            while len(_PROGRAMS) >= MOST_PROGRAMS:
                _PROGRAMS.pop(next(iter(_PROGRAMS)), None)
            _PROGRAMS[key] = program, call
    return program


# Operations of programs that are not continuous functions (tests look for them among all
# operations), and decisions of Python by numbers.
_BY_PIECES = """
    arctan2 ceil copysign floor floor_divide fmod guard heaviside ieee_remainder mod rint sign
    signbit sqrt_imag trunc where
"""
JUMPING = frozenset(_BY_PIECES.split())
_MAY_JUMP: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def may_jump(program: Any, *args: Any) -> bool:
    """Whether a function may jump, by its program, which is run for some arguments."""
    if program not in _MAY_JUMP:
        program(*args)
        is_program = program.stats()["recordings"] > 0
        words = re.findall(r"\w+", program.to_text(max_rows=sys.maxsize)) if is_program else ()
        _MAY_JUMP[program] = not is_program or not JUMPING.isdisjoint(words)
    return _MAY_JUMP[program]


def plainly(original: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What SciPy's function returns where nothing carries a derivative."""
    before = callers.n_refused
    try:
        with binding.OutsideDifferentiation():
            return original(*args, **kwargs)
    except (TypeError, ValueError, AttributeError, SystemError) as error:
        if callers.n_refused != before:
            raise unreached(original.__name__) from error
        raise


def as_args(args: Any) -> tuple[Any, ...]:
    """What is passed on behind x: one that is no tuple stands alone."""
    return args if isinstance(args, tuple) else (args,)
