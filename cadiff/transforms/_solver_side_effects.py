"""What functions store in their user's objects while a solver runs them on plain numbers.

The last of something, the least, a trace: lists, dicts, attributes and variables around functions
hold it when the solver has ended, and it may have depended on the numbers that carry derivatives.
So the functions are asked once more, at the solution, with these numbers, and with all such
objects as they were before. What they store then, and equals what the solver has left, takes its
place. All else keeps its value, and has no derivative: it belongs to some point of the search.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np

from .. import binding
from ..binding import Dual, carries
from ..operations.guards import NoDerivativeError, valued
from ..operations.primitives import curried, primitive
from ._base import T
from ._objects import ARRAYS, attributes, is_users, store, stored

Function = Callable[..., Any]
Copies = dict[int, Any]  # by the ids of what they are copies of


class rule_of_a_solver(primitive):  # noqa: N801 - a decorator
    """A primitive whose function reads functions beside its arguments: it makes no entries."""

    calls_users = True

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._enters = False


@rule_of_a_solver
def left(value: Any, theta: Any, *, why: str, at: Any = None) -> Any:
    """What a search has left beside a solution: it depends on theta, nobody knows how.

    Where it was found at one theta, it is known of no other.
    """
    is_known = at is None or np.array_equal(at, theta)
    return value if is_known else np.full(np.shape(value), np.nan)[()]


def _unknown(*_: Any, why: str, **__: Any) -> Any:
    raise NoDerivativeError(why)


left.defvjp(None, curried(_unknown))
left.defjvp(None, lambda g, ans, value, theta, **_: np.full(binding.shape(ans), np.nan))

READ = (
    "a function reads a number that another solver has left in its user's objects, which has no "
    "derivative: compute it anew, or pass cadiff.value of it"
)


def is_left(x: Any) -> bool:
    """Whether some derivative of a number is unknown, as a forward pass tells by its tangents."""
    if not isinstance(x, Dual):
        return False
    primal, tangents = binding.dual_components(x)
    return bool(np.isnan(binding.plain_values(tangents)).all()) or is_left(primal)


def unmarked(x: Any) -> Any:
    """The same with tangents of 0: where nobody reads a number, its derivatives are times 0."""
    if not is_left(x):
        return x
    primal, tangents = binding.dual_components(x)
    zeros = np.zeros_like(binding.plain_values(tangents))
    return binding.make_dual(unmarked(primal), zeros, binding.tag_of(x))


class Notes:
    """The objects in which functions of one call may store something.

    They are known to the solver by copies, and to those who ask again by others.
    """

    def __init__(self, places: list[Any], live: Copies, asked: Copies) -> None:
        self._places = places
        self._copies = asked, live
        self._runs: tuple[list[Any], ...] = [], []
        self._users: Copies = {}  # what the user has, by the ids of what the solver had
        self._theta: Any = None
        self.is_asking = False

    def watch(self, is_live: bool, copied: Copies) -> None:
        """Remember what stands in copies of the copies that are about to be used."""
        if is_live or self.is_asking:
            known = (self._copies[is_live].get(id(x), x) for x in self._places)
            copies = [copied.get(id(x), x) for x in known]
            self._runs[is_live].append([(x, stored(x)) for x in copies])

    def _changes(self, k: int, is_live: bool) -> dict[Any, Any]:
        changes: dict[Any, Any] = {}
        for run in self._runs[is_live]:
            place, before = run[k]
            changes |= {
                key: x
                for key, x in stored(place).items()
                if key not in before or not _is_same(key, before[key], x)
            }
        return changes

    def run_apart(self, run: Callable[[], T]) -> tuple[T, bool]:
        """What functions that were asked for give, and whether they have stored something."""
        self.is_asking = True
        try:
            result = run()
        finally:
            self.is_asking = False
        return result, any(self._changes(k, is_live=False) for k in range(len(self._places)))

    def settle(self, name: str, ask: Function, theta: Any, near: float = 0.0) -> None:
        """Give what a solver has left the derivatives that it has, or none.

        Parameters
        ----------
        name : str
            What the user has called.
        ask : callable
            Runs the functions at the solution, with numbers that carry derivatives.
        theta : Var or Dual, shape (p,)
            These numbers.
        near : float
            What differs by less, relatively, is the same: so near to the solution is the search.
        """
        changes = [self._changes(k, is_live=True) for k in range(len(self._places))]
        if any(changes):
            self.is_asking = True
            ask()
            self.is_asking = False
            self._name, self._theta, self._near = name, theta, near
            live = self._runs[True][0]
            self._users = {id(x): held for (x, _), held in zip(live, self._places, strict=True)}
            for k, (place, changed) in enumerate(zip(self._places, changes, strict=True)):
                if changed:
                    self._settled(place, changed, self._changes(k, is_live=False), *live[k])
        self._places, self._runs, self._users, self._theta = [], ([], []), {}, None

    def _settled(
        self, place: Any, changed: dict[Any, Any], asked: dict[Any, Any], copy: Any, before: Any
    ) -> None:
        depends = not asked or carries([*asked.values()])  # else it knows constants by heart
        own, parts = stored(place), stored(copy)
        for key, part in parts.items():
            if key not in changed:
                parts[key] = own.get(key, part)
            elif depends:
                parts[key] = self._of(part, asked.get(key), _described(place, key))
        store(place, parts)

    def _of(self, part: Any, asked: Any, where: str) -> Any:
        """What stands there: numbers of it have derivatives, or refuse to have any."""
        if id(part) in self._users:
            return self._users[id(part)]
        if binding.is_complex_number(part):
            part = binding.plain_values(part)
        leaves, tree = binding.flattened(part)
        is_one = binding.is_complex_number(asked)  # not its parts
        others = [asked] if is_one else binding.flattened(asked)[0]
        if len(others) != len(leaves):
            others = [None] * len(leaves)
        return tree.fill(self._leaf(*pair, where) for pair in zip(leaves, others, strict=True))

    def _leaf(self, x: Any, asked: Any, where: str) -> Any:
        kind: Any = type(x)
        if is_users(kind):
            for name, part in attributes(x).items():
                other = getattr(asked, name, None)
                object.__setattr__(x, name, self._of(part, other, f"{where}.{name}"))
            return x
        x = binding.plain_values(x)  # of what our own solvers have found derivatives of
        if np.asarray(x).dtype.kind not in "fc":
            return x
        if carries(asked) and binding.shape(asked) == np.shape(x):
            value = binding.plain_values(asked)
            if np.array_equal(value, x, equal_nan=True):
                return asked
            if np.allclose(value, x, rtol=self._near, atol=0.0):
                return asked if binding.is_guarding() else valued(asked, x)
        if not where:  # functions write into it again: what they may not read there is nan
            return np.full(np.shape(x), np.nan)
        why = (
            f"{self._name}: a function has stored a number in {where} at a point that the solver "
            "has tried, where it has no derivative: compute it from the result, or pass "
            "cadiff.value of it"
        )
        at = binding.plain_values(self._theta)
        if np.iscomplexobj(x):
            parts = (left(part, self._theta, why=why, at=at) for part in (x.real, x.imag))
            return binding.make_complex(*parts)
        return left(x, self._theta, why=why, at=at)


def _is_same(key: Any, x: Any, y: Any) -> bool:
    """Whether nothing was stored, or nothing else in all of an array."""
    is_array = key is ... and isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    return x is y or (is_array and np.array_equal(x, y, equal_nan=True))


def _described(place: Any, key: Any) -> str:
    if isinstance(place, ARRAYS):
        return ""
    known = {CellType: "a variable around it", FunctionType: f"the global variable {key}"}
    return known.get(type(place), f"a {type(place).__name__}[{key!r}]")
