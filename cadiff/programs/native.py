"""Programs as machine code: who asks for it, when it is made, and what serves meanwhile.

Codes ask before they are run first. Until machine code is there, and where there is none, the
interpreter (src/program/run.c) serves, which computes the same.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from .. import binding
from ..binding import Code
from ..binding.callers import warn_caller
from .compilers import NativeError, end_all

if TYPE_CHECKING:
    from .machine_code import Piece

Native = bool | Literal["background"] | None

# How many operations a loop has at least that programs keep which are to be machine code: straight
# code of 2,000 takes compilers half a second, its Hessian several, and fills the cache for
# instructions.
LEAST_LOOP = 500

_INTERPRETER = "interpreter"
_MACHINE = "machine code"
_OFF = f"{_INTERPRETER}: CADIFF_NATIVE is 0"
_EXACT = f"{_INTERPRETER}: with optimize=False calls are replayed to the last bit"


class Machines:
    """What the codes of a program ask for machine code: see `compile`."""

    def __init__(self, native: Native, optimize: bool) -> None:
        if native is not None and native != "background" and not isinstance(native, bool):
            raise ValueError(f'native is True, False, "background" or None, not {native!r}')
        self.native = native
        self._has_warned = False
        told = os.environ.get("CADIFF_NATIVE", "")
        if native is None:
            native = "background" if told == "background" else bool(told)
        self.asked = native if optimize and told != "0" else False
        self.least_loop = LEAST_LOOP if self.asked else 0
        self._without = _INTERPRETER if not native else _OFF if told == "0" else _EXACT

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
        kinds = dict.fromkeys(code.serves for code in codes if code.serves)
        return "; ".join(kinds) or f"{_MACHINE}, from the first call on"


def make_machine_code(code: Code) -> None:
    """Have machine code carry out what it can of a code; NativeError, if it cannot be had."""
    if code.has_machine:
        return
    from .helpers_in_c import VALUE  # what writes C is loaded by those who have C written
    from .lanes_in_c import written_for_lanes
    from .machine_code import written_for_point
    from .machine_files import library_of

    try:
        make_text = written_for_lanes if code.is_for_lanes else written_for_point
        text, pieces, cores, left = make_text(code.parts())
        if not text:
            code.serves = f"{_INTERPRETER}: {left or 'there is nothing to compute'}"
            return
        library = library_of(text)
        if VALUE in text:
            ctypes.c_void_p.in_dll(library, VALUE).value = binding.machine_value()
        addresses = {k: _addresses(library, core) for k, core in cores.items()}
        code.set_machine(library, _addresses(library, pieces), addresses)
    except NativeError as error:
        code.serves = f"{_INTERPRETER}: {error}"
        raise
    finally:
        code.expects_machine = code.has_machine
    code.serves = f"{_MACHINE}, and the {_INTERPRETER} for {left}" if left else _MACHINE


def _addresses(library: ctypes.CDLL, pieces: Iterable[Piece]) -> list[tuple[int, int, int]]:
    return [
        (first, n, ctypes.cast(library[name], ctypes.c_void_p).value or 0)
        for name, first, n in pieces
    ]


# --- meanwhile -----------------------------------------------------------------------------------


def make_machine_code_later(code: Code) -> None:
    """As make_machine_code, by a thread, while the interpreter serves."""
    if not code.has_machine:
        code.serves = f"{_INTERPRETER}, until there is {_MACHINE}"
        _worker.add(code)


class _Worker:
    """A thread that makes machine code of one code after the other, as long as there are any."""

    def __init__(self, codes: Iterable[Code] = ()) -> None:
        self._lock = threading.Lock()
        self._codes = deque(codes)  # the first one is being made
        self._thread: threading.Thread | None = None

    def add(self, code: Code) -> None:
        with self._lock:
            self._codes.append(code)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="cadiff", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._codes:
                    self._thread = None
                    return
                code = self._codes[0]
            try:
                with contextlib.suppress(RuntimeError):  # `serves` says so, or the process ends
                    make_machine_code(code)
            finally:
                with self._lock:
                    self._codes = deque(one for one in self._codes if one is not code)

    def again(self) -> _Worker:
        """One for a process that was forked, where the thread does not exist."""
        return _Worker(self._codes)

    def end(self) -> None:
        """End what is being made, so that nothing remains of it."""
        with self._lock:
            self._codes.clear()
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


atexit.register(lambda: _worker.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_have_fresh_worker)
