"""Derivatives that do not exist, and who is warned of them.

Forward mode computes the tangents of all results of a rule, whether or not they are used. Where
one does not exist it is nan, and there is a warning only if the nan is seen in the end.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import binding


class _Doubts(threading.local):
    """Warnings held back while a forward differentiation is under way, that of the given tag."""

    tag = 0
    messages: tuple[str, ...] = ()


_doubts = _Doubts()


def warn_nan(message: str) -> None:
    if not binding.is_deriving():  # else what meets the nan warns
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def doubt(message: str) -> None:
    """Warn of a tangent that is nan, or wait until a forward differentiation has its result."""
    running = binding.running_forward()
    if not running:
        warn_nan(message)
        return
    outermost = running[0][0]
    held = _doubts.messages if _doubts.tag == outermost else ()
    _doubts.tag, _doubts.messages = outermost, (*held, message)


def report_doubts(results: Iterable[Any]) -> None:
    """Issue the warnings held back, if there is a nan in what a forward differentiation found."""
    running = binding.running_forward()
    if not _doubts.messages:
        return
    if running[0][0] != _doubts.tag:  # of one that an exception has ended
        _doubts.messages = ()
    elif any(np.isnan(np.asarray(binding.plain_values(x))).any() for x in results):
        messages, _doubts.messages = dict.fromkeys(_doubts.messages), ()
        for message in messages:
            warn_nan(message)
    elif len(running) == 1:
        _doubts.messages = ()
