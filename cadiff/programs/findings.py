"""The findings of a walk: values that f reads, and questions to ask of them at the end.

The modules of kinds of objects (contents.py) and of names (walks.py, named.py) add to the
findings. They know no more of the walk than stands here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Set
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..binding import Watch
from .library_types import CONSTANTS, bases, inside, name_of
from .reasons import OUTSIDE, NoStandIns, UnwatchableError
from .settings import is_of_numbers, seen_by

MOST_PLACES = 20_000

# --- what code asks, by the names in it

# What reads attributes by names that are computed.
BY_NAME = frozenset(
    (
        *("getattr", "hasattr", "setattr", "vars", "dir", "attrgetter", "methodcaller"),
        *("__dict__", "__getattribute__", "getattr_static", "getmembers"),
    )
)
# What random generators are copied by, or others are made of.
_OF_STATES = frozenset(
    ("bit_generator", "get_state", "getstate", "jumped", "seed_seq", "spawn", "__getstate__")
)
# What classes are called, by which their objects are named in texts, too.
_OF_CLASSES = frozenset(("__name__", "__qualname__"))
# Dicts that stand beside code, and the modules of the standard library that ask for them.
_BESIDE = frozenset(("__annotations__", "__dataclass_fields__"))
ASKING = dict.fromkeys(("inspect", "typing"), "__annotations__")
ASKING["dataclasses"] = "__dataclass_fields__"
# By what the state of a lock shows: `with` only waits for it.
_OF_LOCKS = frozenset(("_is_owned", "acquire", "acquire_lock", "locked", "locked_lock", "repr"))
# By these, code comes to its caller.
_OF_FRAMES = frozenset(
    (
        *("ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame"),
        "tb_frame",
    )
)
# Texts that stand for the time when they are read, and what reads them.
_OF_CLOCKS = frozenset(("now", "today"))
_MAKES_TIMES = ("datetime64", "M8", "<M8", ">M8", "=M8", "Timestamp", "to_datetime", "Period")
_OF_LOGGERS = frozenset(
    (
        *("disabled", "filters", "getChild", "getChildren", "getEffectiveLevel", "handlers"),
        *("hasHandlers", "isEnabledFor", "level", "manager", "parent", "propagate"),
    )
)
_UNWATCHED = _OF_FRAMES | _OF_CLOCKS | _OF_LOGGERS


def _unwatched(names: Set[str], gets_loggers: bool) -> str:
    """What is asked that cannot be watched, or "". `gets_loggers`: loggers are got by name."""
    if frames := _OF_FRAMES & names:
        return f"{min(frames)} of a frame"
    texts = _OF_CLOCKS & names
    if texts and any(name.startswith(_MAKES_TIMES) for name in names):
        return f"a clock, for the time {min(texts)!r}"
    loggers = _OF_LOGGERS & names if gets_loggers else ()
    return f"logging.getLogger().{min(loggers)}" if loggers else ""


# --- what is found


class Findings(ABC):
    """What is found by a walk, which adds places to a Watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        watch.asks_types = False  # whether the user's code looks at types
        watch.codes = []  # of the user's, whose names were followed
        watch.suspects = {}  # of these, and why what they read cannot be watched
        # Why what the functions of primitives give is no constant, by the primitive's number
        watch.unwatched_steps = {}
        watch.generators = []  # of random numbers, and what they are called
        self.is_in_step = False  # of which replays run the code, with all that it changes
        self.in_steps: set[CodeType] = set()  # codes that may run there
        self.locks: list[tuple[str, Any]] = []
        self.classes: list[type] = []  # of the user's
        # Of the user's: where they were found, and all names and strings in each
        self.functions: list[tuple[str, FunctionType, Set[str]]] = []
        self.gets_loggers = False
        self.handles = False  # exceptions, or asks what numbers have
        self.raising: set[str] = set()  # libraries in which it is set which are raised
        self.exceptions: list[type[BaseException]] = []
        self.names: set[str] = set()  # that the user's code has: methods, strings and all else
        self.modules: dict[int, tuple[str, ModuleType]] = {}  # and names, looked into at last
        self.sees_loaded = False  # those of sys.modules
        self.values: dict[tuple[int, str], Any] = {}  # of names that are watched
        self._seen: set[Any] = set()
        self.asks_once = False  # clocks and the like: replays have what they told in a recording
        self._kept: list[Any] = []  # else a number in _seen may come to stand for another object

    def refuse(self, name: str) -> None:
        """Have f run eagerly for what it calls, unless that is called once."""
        if not self.asks_once:
            raise UnwatchableError(OUTSIDE.format(name=name))

    @abstractmethod
    def value(self, value: Any, path: str) -> None:
        """A value, and all that is in it."""

    @abstractmethod
    def function(
        self, function: FunctionType, path: str, owner: Any = None, kind: type | None = None
    ) -> None:
        """What a function reads.

        `owner` is the object that it is a method of; or `kind` a class that has it, where it is
        not known whether anything calls it.
        """

    def items(self, items: Iterable[Any], path: str) -> None:
        """Values that stand beside each other."""
        for item in items:
            if type(item) not in CONSTANTS:
                self.value(item, path)

    def attribute(self, owner: Any, name: Any, path: str) -> None:
        """An attribute, by its name or its descriptor, and all that is in it."""
        self.value(self.watch.attribute(owner, name, path), path)

    def is_new(self, *what: Any) -> bool:
        """Whether the walk comes to some objects for the first time."""
        key = (self.is_in_step, *map(id, what))
        if key in self._seen:
            return False
        self._seen.add(key)
        self._kept.append(what)
        if len(self.watch) > MOST_PLACES:
            raise UnwatchableError(
                f"it reads more than {MOST_PLACES} places beside its arguments: pass what it "
                "computes with as an argument"
            )
        return True

    def forget(self, *what: Any) -> None:
        """Have the walk come to some objects anew, of which not all could be watched."""
        self._seen.discard((self.is_in_step, *map(id, what)))

    def suspect(self, function: FunctionType, reason: str) -> None:
        """Have f run eagerly where a function is seen to run; within steps nobody sees that."""
        if function.__code__ in self.in_steps:
            raise UnwatchableError(NoStandIns(reason))
        self.watch.suspects.setdefault(function.__code__, NoStandIns(reason))

    def check_names(self) -> None:
        """The questions of the code, by names, and the exceptions that it may catch."""
        for name in _OF_CLASSES & self.names if self.classes else ():
            for kind in self.classes:
                self.watch.attribute(kind, name, f"{name_of(kind)}.{name}")
        for name in _BESIDE & self.names:
            for base in dict.fromkeys(base for kind in self.classes for base in bases(kind)):
                self.value(inside(base).get(name), f"{name_of(base)}.{name}")
            for path, function, _ in self.functions if name == "__annotations__" else ():
                self.attribute(function, name, f"{path}.{name}")
        if self.locks and not _OF_LOCKS.isdisjoint(self.names):
            for path, lock in self.locks:
                self.watch.answer(getattr(lock, "locked", lock.__repr__), path, is_portable=False)
        # Whether exceptions that the code may catch are raised is set elsewhere.
        self.watch.handles = self.handles
        self.watch.catches_numbers = self.handles and any(map(is_of_numbers, self.exceptions))
        for kind in self.exceptions if self.handles else ():
            for ask, name in seen_by(kind, self.raising):
                if self.is_new(ask):
                    self.watch.answer(ask, name)
        # A generator's state may be read without drawing.
        generators = self.watch.generators
        texts = _UNWATCHED | _OF_STATES if generators else _UNWATCHED
        is_free = self.asks_once or texts.isdisjoint(self.names)
        for _, function, names in () if is_free else self.functions:
            asked = _unwatched(names, self.gets_loggers)
            if not asked and generators and (state := min(_OF_STATES & names, default="")):
                asked = f"{generators[0][0]}.{state}"
            if asked:
                self.suspect(function, OUTSIDE.format(name=asked))
