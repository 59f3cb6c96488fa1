"""Programs as machine code: who asks for it, when it is made, and what serves meanwhile.

Codes ask before they are run first. Until machine code is there, and where there is none, the
interpreter (src/program/run.c) serves, which computes the same.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from .. import binding
from ..binding import Code
from ..binding.callers import warn_caller
from .compilers import NativeError, end_all

if TYPE_CHECKING:
    from .machine_code import Piece

Native = bool | Literal["background", "auto"] | None

# How many operations a loop has at least that programs keep which are to be machine code: straight
# code of 2,000 takes compilers half a second, its Hessian several, and fills the cache for
# instructions.
LEAST_LOOP = 500

# With "auto": all making takes at most this share of the time that programs have run, ...
SHARE = 0.1
# ... and begins with a code that has run for longer than these seconds, and those for each
# statement, which compilers take for it; of more statements the interpreter is as fast.
SECONDS, SECONDS_OF_EACH = 0.1, 5e-4
# Where the user has asked for compiled code, as by JAX's names, it is made when a code has run for
# that part of the time, and whatever else is made.
SOON = 0.25
MOST_STATEMENTS = 10_000
MOST_FAILURES = 3  # one after the other

# What CADIFF_NATIVE says where a program does not.
_BY_ENVIRONMENT: dict[str, Native] = {
    "": "auto",
    "auto": "auto",
    "background": "background",
    "asked": False,
}

_INTERPRETER = "interpreter"
_MACHINE = "machine code"
_OFF = f"{_INTERPRETER}: CADIFF_NATIVE is 0"
_EXACT = f"{_INTERPRETER}: with optimize=False calls are replayed to the last bit"
_UNTIL = f"{_INTERPRETER}, until there is {_MACHINE}"
_TRIED = f"{_MACHINE} and the {_INTERPRETER} by turns, until it is known which is faster"


# Held by who imports, for as long as a process that is forked would have half of a module.
_IMPORTS = threading.RLock()  # a handler of signals may fork


class Machines:
    """What the codes of a program ask for machine code: see `compile`."""

    def __init__(self, native: Native, optimize: bool) -> None:
        if native not in (None, True, False, "background", "auto"):
            raise ValueError(
                f'native is True, False, "auto", "background" or None, not {native!r}'
            )
        self.native = native
        self._has_warned = False
        told = os.environ.get("CADIFF_NATIVE", "")
        if native is None:
            native = _BY_ENVIRONMENT.get(told, bool(told))
        self.asked = native if optimize and told != "0" else False
        self.is_patient = self.asked == "auto"
        self.least_loop = LEAST_LOOP if self.asked and not self.is_patient else 0
        is_asked = native and (native != "auto" or self.native is not None)
        self._without = _INTERPRETER if not is_asked else _OFF if told == "0" else _EXACT

    def __call__(self, code: Code) -> None:
        if self.asked == "background":
            make_machine_code_later(code)
            return
        try:
            make_machine_code(code)
        except NativeError as error:
            if not self._has_warned:
                self._has_warned = True
                warn_caller(f"the {_INTERPRETER} serves, not machine code: {error}")

    def serving(self, codes: Iterable[Code]) -> str:
        """What runs some codes."""
        if not self.asked:
            return self._without
        kinds = dict.fromkeys(
            _TRIED if code.is_being_tried else code.serves for code in codes if code.serves
        )
        first = _INTERPRETER if self.is_patient else f"{_MACHINE}, from the first call on"
        return "; ".join(kinds) or first


def make_machine_code(code: Code) -> None:
    """Have machine code carry out what it can of a code; NativeError, if it cannot be had."""
    if code.has_machine:
        if code.watch is None and not code.expects_machine:  # it was given a trial, no more
            code.judge()
            code.expects_machine, code.serves = True, _MACHINE
        return
    with _IMPORTS:  # what writes C is loaded by those who have C written
        from .helpers_in_c import VALUE
        from .lanes_in_c import written_for_lanes
        from .machine_code import written_for_point
        from .machine_files import library_of

    try:
        text, pieces, cores, left = (
            written_for_lanes(code.parts(), code.machine_lanes)
            if code.is_for_lanes
            else written_for_point(code.parts(), code.watch is not None)
        )
        if not text:
            code.serves = f"{_INTERPRETER}: {left or 'there is nothing to compute'}"
            return
        library = library_of(text)
        if VALUE in text:
            ctypes.c_void_p.in_dll(library, VALUE).value = binding.machine_value()
        addresses = {k: _addresses(library, core) for k, core in cores.items()}
        serves = f"{_MACHINE}, and the {_INTERPRETER} for {left}" if left else _MACHINE
        code.set_machine(library, _addresses(library, pieces), addresses, serves)
    except NativeError as error:
        code.serves = f"{_INTERPRETER}: {error}"
        raise
    finally:
        code.expects_machine = code.has_machine and code.watch is None


def _addresses(library: ctypes.CDLL, pieces: Iterable[Piece]) -> list[tuple[int, int, int]]:
    return [
        (first, n, ctypes.cast(library[name], ctypes.c_void_p).value or 0)
        for name, first, n in pieces
    ]


# --- meanwhile -----------------------------------------------------------------------------------


def make_machine_code_later(code: Code) -> None:
    """As make_machine_code, by a thread, while the interpreter serves."""
    if not code.has_machine:
        code.serves = _UNTIL
        _worker.add(code)


def note(code: Code, seconds: float) -> None:
    """Note that a code has run for some more seconds, and make machine code, if that pays."""
    _worker.note(code, seconds, is_soon=False)


def note_soon(code: Code, seconds: float) -> None:
    """The same, if it may pay."""
    _worker.note(code, seconds, is_soon=True)


def seconds_to_make(code: Code) -> float:
    """How long it takes to make machine code of it, about."""
    return SECONDS + SECONDS_OF_EACH * code.n_texts


class _Worker:
    """A thread that makes machine code of one code after the other, as long as there are any.

    First those that are asked for, then those that have run for long, the costliest first.
    """

    def __init__(self, codes: Iterable[Code] = (), ran: float = 0.0, made: float = 0.0) -> None:
        self._lock = threading.RLock()  # a handler of signals may come in between
        self._codes = deque(codes)
        self._costly: list[Code] = []
        self._ran, self._made = ran, made  # seconds
        self._failures = 0
        self._breathes_at = 0.0
        self._thread: threading.Thread | None = None
        self._is_over = False

    def add(self, code: Code) -> None:
        with self._lock:
            self._codes.append(code)
            self._begin()

    def note(self, code: Code, seconds: float, is_soon: bool) -> None:
        """Note that a code has run for some more seconds."""
        with self._lock:
            self._ran += seconds
            after = seconds_to_make(code) * (SOON if is_soon else 1.0)
            if code.serves is None and code.seconds >= after:
                code.serves = _INTERPRETER
                if code.n_texts > MOST_STATEMENTS:
                    code.serves = f"{_INTERPRETER}: {code.n_texts:,} statements are too many"
                elif self._failures < MOST_FAILURES:
                    code.serves = _UNTIL
                    (self._codes if is_soon else self._costly).append(code)
            if self._codes or self._costliest() is not None:
                self._begin()

    def _costliest(self) -> Code | None:
        """Of the codes that there is time for."""
        left = SHARE * self._ran - self._made
        some = (code for code in self._costly if seconds_to_make(code) <= left)
        return max(some, key=lambda code: code.seconds, default=None)

    def _begin(self) -> None:
        if self._thread is None and not self._is_over:
            thread = threading.Thread(target=self._work, name="cadiff", daemon=True)
            try:
                self._thread = thread
                thread.start()
            except RuntimeError:  # there are too many, or the process ends
                self._thread, self._is_over = None, True

    def _next(self) -> Code | None:
        """What to make now; None, and then the thread ends."""
        with self._lock:
            if self._codes and not self._is_over:
                return self._codes[0]
            code = None if self._is_over else self._costliest()
            if code is None:
                self._thread = None
            return code

    def _work(self) -> None:
        with _IMPORTS:
            from .text_in_c import breathe

        breathe.by = self._breathe
        while (code := self._next()) is not None:
            begun = time.perf_counter()
            try:
                make_machine_code(code)
                self._failures = 0
            except Exception as error:  # which concerns nobody who has not asked
                code.serves = f"{_INTERPRETER}: {error}"
                self._failures += 1
            finally:
                with self._lock:
                    self._codes = deque(one for one in self._codes if one is not code)
                    self._costly = [one for one in self._costly if one is not code]
                    if code.watch is not None:
                        self._made += time.perf_counter() - begun
                        if self._failures == MOST_FAILURES:
                            for one in self._costly:
                                one.serves = code.serves
                            self._costly.clear()

    def _breathe(self) -> None:
        """Let whoever waits for the GIL have it, for half of the time."""
        if self._is_over:
            raise NativeError("the process ends")
        begun = time.perf_counter()
        if begun >= self._breathes_at:
            time.sleep(0.0)
            end = time.perf_counter()
            self._breathes_at = end + (end - begun)  # calls of programs may be long

    def again(self) -> _Worker:
        """One for a process that was forked, where the thread does not exist."""
        worker = _Worker(self._codes, self._ran, self._made)
        worker._costly = self._costly
        return worker

    def end(self) -> None:
        """End what is being made, so that nothing remains of it."""
        self._is_over = True
        thread = self._thread
        for _ in range(50):
            if thread is None or not thread.is_alive():
                break
            end_all()  # or it has just begun, and ends the next time
            thread.join(0.1)


_worker = _Worker()


def _have_fresh_worker() -> None:
    global _worker
    _worker = _worker.again()
    _IMPORTS.release()


atexit.register(lambda: _worker.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_IMPORTS.acquire,
        after_in_parent=_IMPORTS.release,
        after_in_child=_have_fresh_worker,
    )
