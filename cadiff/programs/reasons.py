"""Reasons why f runs eagerly: it reads or asks what no recording can watch."""

from __future__ import annotations

IDENTITY = (
    "it asks whether objects are the same (`{what}` in {where}), which numbers, arrays and "
    "containers in the place of arguments are not: compare what they hold, or pass a bool or a "
    "str that tells them apart"
)
COMPILED = (
    "it reads {path}, which numba compiled: write {path}.py_func, its function in Python, there"
)
UNKNOWN = (
    "it reads {path}, {what}, whose changes cannot be seen: pass what it gives as an argument"
)
OUTSIDE = (
    "it calls {name}, which may give something else each time: call it outside, and pass what it "
    "gives as an argument"
)

OWN_ARITHMETIC = (
    "it reads {path}: with what is of the class {name}, numbers are computed in another way than "
    "with numbers and arrays of Python and NumPy: pass these, as by `float` or `numpy.asarray`"
)
HANDLED = (
    "it handles {name} ({where}), which numbers may decide: calls that come to it run f eagerly; "
    "ask before, as by `if`, for what raises it"
)
CAUSED = (
    "it handles {name} ({where}), which numbers with derivatives cause in the place of its "
    "arguments, or may: their values do not"
)
OTHER = (
    "the function gives {told}, where numbers with derivatives stand for its arguments: it asks "
    "what types they have, or handles an error that only they cause. Write cadiff.numpy.cosh for "
    "math.cosh, and ask for values, not for types"
)


class NoStandIns(str):
    """A reason why f has to run on its own arguments: on stand-ins it does otherwise."""


class TellsApart(NoStandIns):
    """A reason of that kind: f knows numbers with derivatives from its own arguments."""


class OfThisCall(str):
    """A reason why f runs eagerly in this call, and perhaps in no other."""


class Unsettled(str):
    """A reason why f runs eagerly in this call, and in others if it is met in some of them."""


class UnwatchableError(Exception):
    """Something is read whose changes cannot be seen, or asked that is not so in a replay."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self._text = reason
        self._is_placed = isinstance(reason, NoStandIns)  # which say so themselves

    @property
    def reason(self) -> str:
        """Why f runs eagerly: on its own arguments, since nobody sees which numbers it keeps."""
        return NoStandIns(self._text)

    def at(self, place: str) -> UnwatchableError:
        """The same, with where it was found, if it does not say so yet."""
        if not self._is_placed:
            self._text, self._is_placed = f"{self._text} ({place})", True
        return self


class NestedTooDeepError(UnwatchableError):
    """Containers are read of which no walker sees the end."""

    @property
    def reason(self) -> str:
        return self._text
