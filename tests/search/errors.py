"""Whether an error is an answer: it says what has no derivative, or what to write instead."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

import cadiff

WORDS = ("derivative", "cadiff", "differentiat", "write ", "pass ", "instead", "Var", "Dual")


class TooLongError(BaseException):
    """A case has not come to an end; no handler of a library's stops it."""


@dataclass(frozen=True)
class Told:
    """What was raised: its text, whether that is an answer, and where it came from."""

    text: str
    is_clear: bool
    place: str


def told(error: BaseException) -> Told:
    notes = " ".join(getattr(error, "__notes__", ()))
    text = f"{type(error).__name__}: {error} {notes}".strip()
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename.rpartition('cadiff/')[2]}:{frames[-1].lineno}" if frames else ""
    is_answer = isinstance(error, cadiff.MissingRuleError) or (
        isinstance(error, (TypeError, ValueError, NotImplementedError, RuntimeError))
        and any(word in text for word in WORDS)
    )
    is_bare = isinstance(error, (AttributeError, IndexError, KeyError, AssertionError))
    names_import = "cadiff.scipy" in text or "cadiff.numpy" in text
    return Told(text[:300], (is_answer and not is_bare) or names_import, place)
