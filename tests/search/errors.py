"""Whether an error is an answer: it says what has no derivative, or what to write instead."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cadiff

PACKAGE = str(Path(cadiff.__file__).parent)
WORDS = ("derivative", "cadiff", "differentiat", "write ", "pass ", "instead", "Var", "Dual")
BARE = (AttributeError, IndexError, KeyError, AssertionError, NameError)
SAYING = (TypeError, ValueError, RuntimeError, RuntimeWarning, np.linalg.LinAlgError)


class TooLongError(BaseException):
    """A case has not come to an end; no handler of a library's stops it."""


@dataclass(frozen=True)
class Told:
    """What was raised: its text, whether that is an answer, and where it came from."""

    text: str
    is_clear: bool
    place: str


def is_raised_here(frames: traceback.StackSummary) -> bool:
    """Whether a statement of the package's raised it, not what that called."""
    return (
        bool(frames)
        and frames[-1].filename.startswith(PACKAGE)
        and "raise" in str(frames[-1].line)
    )


def told(error: BaseException) -> Told:
    notes = " ".join(getattr(error, "__notes__", ()))
    text = f"{type(error).__name__}: {error} {notes}".strip()
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename.rpartition('cadiff/')[2]}:{frames[-1].lineno}" if frames else ""
    says = any(word in text for word in WORDS) or is_raised_here(frames)
    is_answer = isinstance(error, SAYING) and not isinstance(error, BARE) and says
    names_import = "cadiff.scipy" in text or "cadiff.numpy" in text
    is_clear = isinstance(error, cadiff.MissingRuleError) or is_answer or names_import
    return Told(text[:300], is_clear, place)
