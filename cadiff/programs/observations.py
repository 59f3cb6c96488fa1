"""Notes what f runs while it is recorded, where names have not led the walk.

The walk follows names before f runs (see walks.py). Other code is reached by what has no name: the
subclasses of a class, a pickle, a text. No Watch looks there, so f is run eagerly. Code of a
library of which nothing is known is walked once it was seen to run.
"""

from __future__ import annotations

import _thread
import gc
import inspect
import io
import os
import random
import re
import signal
import sys
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from ..binding import Observer, Sight, Watch, answers_as_numpy
from ..binding.bytecode import has_handlers, raises_at
from ..binding.callers import is_module_of_library, is_of_known_library, is_of_library, is_own_file
from ..operations import primitives
from ..operations.making import made
from ..transforms._flat import UNWATCHED
from ..transforms._generators import Generators, generator_types
from . import library_types
from .native import Machines, note
from .reads import Computed, Constant, Operand, last_argument, reads_of
from .reasons import HANDLED, OUTSIDE, OfThisCall, Unsettled
from .settings import Setting, read_by

AGAIN = Unsettled("it runs code of a library that was not seen to run before")
DRAWS = (
    "it draws random numbers ({name}), other ones in every call: draw them outside, and pass them "
    "as an argument"
)
HIDDEN = (
    "it runs {name} (line {line} of {file}), to which no name in its code leads: call it by name, "
    "or outside, and pass what it gives as an argument"
)
_BESIDE = tuple(text.partition("{")[0] for text in (DRAWS, OUTSIDE))
PICKLED = OUTSIDE.format(name="pickle.loads of what names a global")

_OPAQUE, _KNOWN, _ASIDE, _UNTOLD, _STANDARD = range(5)  # how a code stands, for an Observer
_CONSTANT = primitives.primitive._constant.__code__
_STARTING = [
    getattr(_thread, name, None) for name in ("start_new_thread", "start_joinable_thread")
]
# What happens once, and in no call after it: a module is imported, machine code is made.
_IMPORTED = sys.modules["_frozen_importlib"]._find_and_load.__code__
_ONCE = (_IMPORTED, Machines.__call__.__code__, note.__code__)
# What reads the states of generators, of programs that f calls, too, and draws from none.
_OF_STATES = [part.__code__ for part in vars(Generators).values() if type(part) is FunctionType]
_OF_SOURCES = ("linecache", "tokenize")  # which read what is in tracebacks
_NAME = re.compile(r"[^\W\d]\w*")


class Observation(Observer):
    """As a context, in which f is run: then `obstacle` says why no replay would do what it did."""

    def __init__(self, watch: Watch) -> None:
        self._asking = {*filter(_asks_types, watch.codes)} if watch.asks_types else set()
        self._suspects = watch.suspects
        known = watch.codes
        if self._asking or self._suspects:
            asked = self._asking | self._suspects.keys()
            known = [code for code in known if code not in asked]
        super().__init__(known, any(map(has_handlers, watch.codes)))
        # Whether code that looks at types has run; where another profiler is at work, it may have.
        sees_nothing = not isinstance(sys.getprofile(), (type(None), Sight))
        self.asked = bool(self._asking) and sees_nothing
        self.obstacle = next(iter(self._suspects.values()), "") if sees_nothing else ""
        self.writes = False  # to a file, which another run would repeat
        self.errors = 0  # a number that tells those that came to code of the user's from others
        self.last_error = ("", "")  # its name, and where it came from
        self.decided = ""  # why a replay may raise another one, or none
        self._n_made = made()  # stand-ins for integers and values
        self.settings: set[Setting] = set()  # that libraries have read
        self._unwatched_steps, self._n_followed = watch.unwatched_steps, watch.n_followed
        self.drew = False  # random numbers, as was seen
        self._watched = {id(generator): name for name, generator in watch.generators}
        is_loaded = "numpy.random" in sys.modules
        self._generators = generator_types() if is_loaded else (random.Random,)

    def __exit__(self, *error: object) -> None:
        outer = self.outer
        super().__exit__(*error)
        if isinstance(outer, Observation):  # what runs in a program that f calls runs in f, too
            outer._note(self.obstacle)
            outer.settings |= self.settings
            outer.writes |= self.writes

    @staticmethod
    def error_behind(error: BaseException) -> BaseException | None:
        """What f raised, if this is what CPython makes of it where it tells of calls.

        Some functions of C call Python although an exception is set already, as SciPy's `brentq`
        does: from CPython 3.12 on that is a SystemError where a profiler is at work.
        """
        is_made = isinstance(error, SystemError) and "with an exception set" in str(error)
        return error.__cause__ if is_made else None

    def on_code(self, code: CodeType) -> int:
        if code in self._asking or code in self._suspects:
            self.asked |= code in self._asking
            self._note(self._suspects.get(code, ""))
            self.drew |= code in self._suspects  # if not numbers, what nobody watches either
            return _KNOWN
        if code in _ONCE or code in _OF_STATES or code in UNWATCHED:
            return _ASIDE
        frame = sys._getframe(1)
        if code.co_name == "computed" and _is_step(frame) and _is_elsewhere(frame):
            return _ASIDE
        if _is_known(frame):
            if self._unwatched_steps and code is _CONSTANT:
                self._note(self._unwatched_steps.get(id(frame.f_locals["self"]), ""))
                return _UNTOLD
            if code in _OF_ENTROPY:
                self._note("" if _is_seeded_later(frame) else DRAWS.format(name=_ENTROPY))
                return _UNTOLD
            module = str(frame.f_globals.get("__name__", ""))
            if module == _COPIES or (module == "random" and code.co_name in _COPYING):
                self._note_draw(next(iter(self._watched.values()), ""))
            self.settings.update(read_by(module))
            if "f_locals" in code.co_names and not library_types.is_of_python_itself(module):
                if _named_in_texts(frame):
                    self._note(OUTSIDE.format(name="a function that looks up names in a text"))
                return _UNTOLD
            return self._stateless(frame)
        is_assertion = str(frame.f_globals.get("__name__")).startswith("_pytest.assertion")
        is_step = self._unwatched_steps and _is_step(frame)
        if is_assertion or is_step or _comes_between(code):
            return _ASIDE
        n = library_types.follow(code) if is_of_library(code.co_filename) else -1
        if n >= self._n_followed:
            self._note(AGAIN)
        elif self.obstacle != AGAIN:  # what is new may lead there, which the next run tells
            name = getattr(code, "co_qualname", code.co_name)
            file = os.path.basename(code.co_filename)
            self._note(HIDDEN.format(name=name, line=code.co_firstlineno, file=file))
        return _KNOWN

    def _stateless(self, frame: FrameType) -> int:
        """How code of a library stands; it is noted if it is asked for state for a user."""
        code = frame.f_code
        reason = (
            ""
            if code.co_name.startswith("_")
            else library_types.unsafe_code(code, frame.f_globals)
        )
        caller = frame.f_back
        is_asked = caller is not None and caller.f_globals is not frame.f_globals
        if reason and is_asked and _is_for_user(caller):
            self._note(OUTSIDE.format(name=reason))
        is_standard = library_types.is_of_python_itself(str(frame.f_globals.get("__name__", "")))
        return _UNTOLD if reason else _STANDARD if is_standard else _OPAQUE

    def on_function(self, function: BuiltinFunctionType, standing: int) -> bool:
        is_drawn = issubclass(type(function.__self__), self._generators)
        if is_drawn:
            self._note_draw(self._watched.get(id(function.__self__), ""))
        if function in _STARTING and self._suspects:  # other threads are not seen
            self._note(next(iter(self._suspects.values())))
        frame = sys._getframe(1)
        if function is print or issubclass(type(function.__self__), io.IOBase):
            self.writes |= frame.f_globals.get("__name__") not in _OF_SOURCES
        if standing == _KNOWN and library_types.loads(function):
            if _names_globals(frame):
                self._note(PICKLED)
            return True
        reason = library_types.unsafe(function) if standing in (_KNOWN, _STANDARD) else ""
        if not reason or (standing == _STANDARD and reason in library_types.WITHIN):
            return is_drawn  # the next one may be of another generator
        is_for_user = standing == _KNOWN or _is_for_user(frame)
        if is_for_user:
            self._note(OUTSIDE.format(name=reason))
        return not is_for_user

    def on_error(self, error: BaseException, came_by: TracebackType) -> None:
        """Note an exception where it comes to the user's code first.

        A `raise` or an `assert` of the user's follows from comparisons, which are guards. Other
        exceptions by values come from code of this package, which knows the values, or from a
        function called by it with values, as of a primitive.
        """
        code, trace = came_by.tb_frame.f_code, came_by.tb_next
        is_own = is_called = False
        if trace is None and raises_at(code, came_by.tb_lasti):
            return
        while trace is not None:
            if is_own_file(trace.tb_frame.f_code.co_filename):
                is_own = True
            elif library_types.is_code_read(trace.tb_frame.f_code):
                if not is_own:
                    return
                is_called = True
            trace = trace.tb_next
        kind = type(error)
        self.errors = hash((self.errors, id(code), came_by.tb_lasti, kind))
        where = f"line {came_by.tb_lineno} of {os.path.basename(code.co_filename)}"
        self.last_error = (kind.__name__, where)
        by_values = is_own or made() != self._n_made
        if is_called or (by_values and not issubclass(kind, _OF_TYPES)):
            self.decided = OfThisCall(HANDLED.format(name=kind.__name__, where=where))

    def _note_draw(self, name: str) -> None:
        self.drew = True
        self._note(DRAWS.format(name=name) if name else "")  # else it is f's own, with its seed

    def _note(self, obstacle: str) -> None:
        if obstacle.startswith(_BESIDE) and answers_as_numpy():  # as JAX, which asks once
            self.drew = True
        elif obstacle and self.obstacle in ("", AGAIN, PICKLED):
            self.obstacle = obstacle


# What is raised by names, types and keys, whatever the values of numbers: keys are read.
_OF_TYPES = (
    *(AttributeError, ImportError, KeyError, NameError, TypeError),
    *(GeneratorExit, StopAsyncIteration, StopIteration),
)
_COPIES = "numpy.random._pickle"
# By which generators are restored from their states: all that is in it, and methods of `random`.
_COPYING = ("getstate", "setstate", "__getstate__", "__setstate__", "__reduce__")
# Whatever makes a generator without a seed, or draws from the system, comes to one of these.
_ENTROPY = "of the system, such as seeds where none is given"
_OF_ENTROPY = frozenset(
    part.__code__
    for part in vars(random.SystemRandom).values()
    if isinstance(part, FunctionType) and "_urandom" in part.__code__.co_names
)


def _asks_types(code: CodeType) -> bool:
    reads = reads_of(code)
    return reads.asks_types or bool(reads.types)


def _is_seeded_later(frame: FrameType) -> bool:
    """Whether a generator gets another state at once than the one it is made with.

    A RandomState does where it is given a seed. (Of calls without one it is known, see walks.py.)
    """
    caller = frame.f_back
    if caller is None:
        return False
    names = caller.f_code.co_names
    return caller.f_globals.get("__name__") == _COPIES or (
        "RandomState" in names and "default_rng" not in names and _given_last(caller) is not None
    )


def _given_last(frame: FrameType) -> Any:
    """The last argument of the call that is at work in a frame; None if that is not known."""
    found = last_argument(frame.f_code, frame.f_lasti)
    if isinstance(found, Constant):
        return found.value
    if not isinstance(found, Operand):
        return found if isinstance(found, Computed) else None
    chain = found.chain
    if found.where == "first":
        chain = (frame.f_code.co_varnames[0], *chain)
    value = {**frame.f_globals, **frame.f_locals}.get(chain[0]) if chain else None
    for name in chain[1:]:
        value = inspect.getattr_static(value, name, None)
    return value


def _names_globals(frame: FrameType) -> bool:
    """Whether the pickle that is loaded in a frame may name what is in a module of the user's."""
    pickled = _given_last(frame)
    if isinstance(pickled, Computed):  # of what the code has itself
        return False
    if not isinstance(pickled, bytes):
        return True
    from pickletools import genops  # which most programs do without

    texts = [str(value) for _, value, _ in genops(pickled)]
    modules = (sys.modules.get(text.partition(" ")[0]) for text in texts)
    return not all(module is None or is_module_of_library(module) for module in modules)


def _named_in_texts(frame: FrameType | None) -> bool:
    """Whether the first text among a library's arguments names variables of its caller.

    A column of a table may have such a name, too: then f runs eagerly for nothing.
    """
    text = ""
    while frame is not None and not is_own_file(frame.f_code.co_filename):
        if is_of_library(frame.f_code.co_filename):
            text = next((item for item in frame.f_locals.values() if type(item) is str), "")
        elif not {*frame.f_locals, *frame.f_globals}.isdisjoint(_NAME.findall(text)):
            return True
        frame = frame.f_back
    return False


def _is_for_user(frame: FrameType | None) -> bool:
    """Whether code of the standard library was called by a user's, or by more such code that was.

    But not if that only writes: a log, or a warning.
    """
    while frame is not None and library_types.is_of_python_itself(
        str(frame.f_globals.get("__name__", ""))
    ):
        if library_types.only_writes(frame.f_code, frame.f_globals):
            return False
        frame = frame.f_back
    return frame is not None and not is_of_library(frame.f_code.co_filename)


def _is_known(frame: FrameType) -> bool:
    """Whether a frame runs code of a known library, or code that one has generated."""
    file = frame.f_code.co_filename
    if not file.startswith("<") or is_of_known_library(file):
        return is_of_known_library(file)
    name = str(frame.f_globals.get("__name__", ""))
    module, caller = sys.modules.get(name), frame.f_back
    return (
        name.startswith("namedtuple_")
        or (  # of a class that f makes itself
            module is not None
            and is_module_of_library(module)
            and is_of_known_library(getattr(module, "__file__", None) or "<frozen")
        )
        or (caller is not None and is_of_known_library(caller.f_code.co_filename))
    )


def _is_step(frame: FrameType) -> bool:
    """Whether a primitive has called it, which replays will do as well."""
    caller = frame.f_back
    return caller is not None and caller.f_code.co_filename in primitives.CALLERS


def _is_elsewhere(frame: FrameType) -> bool:
    """Whether another package computes: what it runs then is no code of the user's."""
    return str(frame.f_globals.get("__name__")).startswith("cadiff.interop.")


def _comes_between(code: CodeType) -> bool:
    """Whether some code is none that f calls: it runs when an object goes, or at a signal.

    Generators that nobody holds are closed, too, at any time; others are known by what makes them.
    Or it is a module's, which is loaded.
    """
    if code.co_name in ("__del__", "<module>") or code.co_flags & inspect.CO_GENERATOR:
        return True
    handlers = [*gc.callbacks, *map(signal.getsignal, signal.valid_signals())]
    return any(getattr(handler, "__code__", None) is code for handler in handlers)
