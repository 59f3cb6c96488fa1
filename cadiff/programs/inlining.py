"""Recorded functions within other derivatives: their images are put on the tape in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import Dual, Guarded, Image, Var
from ..transforms._base import Function
from ..transforms._outputs import Output
from .recordings import OUTER, Call, MissedError, first_argument, recorded_in

__all__ = ["Images", "Replay"]


class Replay:
    """A function as it was recorded, for gradient functions that are about to differentiate it.

    Called with what they lift, it records what the function would record. A guard that comes out
    otherwise raises MissedError.
    """

    def __init__(self, image: Image, output: Output, argnums: tuple[int, ...]) -> None:
        self._image = image
        self._output = output
        self._argnums = argnums

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or self._argnums not in ((), (0,)) or not all(map(_is_number, args)):
            atoms = Call(args, kwargs, self._argnums).atoms
        else:
            atoms = list(args)
        found = self._image.paste(atoms, True)
        assert found is not None
        if isinstance(found, int):
            raise MissedError(found)
        return self._output.fill(found)


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, Var))


class Result:
    """What a function returned: numbers with derivatives, and all that is the same in each replay.

    Other than a gradient function, whoever calls a function finds its lists as they were.
    """

    def __init__(self, out: Any) -> None:
        self.atoms: list[Any] = []
        self._tree = self._take(out)

    def _take(self, out: Any) -> Any:
        if isinstance(out, (Var, Dual)):
            self.atoms.append(out)
            return _ATOM
        if type(out) is dict:
            return {key: self._take(item) for key, item in out.items()}
        if type(out) in (list, tuple) or (isinstance(out, tuple) and hasattr(out, "_fields")):
            return _rebuilt(out, [self._take(item) for item in out])
        is_plain = isinstance(out, np.ndarray) and type(out) is np.ndarray and out.dtype != object
        if (
            is_plain
            or out is None
            or isinstance(out, (bool, int, float, complex, str, np.generic))
        ):
            return out.copy() if is_plain else out
        raise TypeError(f"a replay would share its {type(out).__name__} with the recording")

    def fill(self, atoms: Sequence[Any]) -> Any:
        if self._tree is _ATOM:
            return atoms[0]
        return _filled(self._tree, iter(atoms))


_ATOM = object()


def _rebuilt(out: Any, parts: list[Any]) -> Any:
    if isinstance(out, list):
        return parts
    return type(out)(*parts) if hasattr(out, "_fields") else tuple(parts)


def _filled(tree: Any, atoms: Iterator[Any]) -> Any:
    if tree is _ATOM:
        return next(atoms)
    if isinstance(tree, dict):
        return {key: _filled(item, atoms) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return _rebuilt(tree, [_filled(item, atoms) for item in tree])
    return tree.copy() if isinstance(tree, np.ndarray) else tree


class Known:
    """The images for calls of one kind, and how long it is since one of them served.

    Where there are as many as there may be, and none has served for some calls in a row, they are
    left alone for a while: f is run without asking them.
    """

    MOST_SKIPPED = 64

    def __init__(self) -> None:
        self.images: list[tuple[Image, Result]] = []
        self._missed = 0
        self._to_skip = 0

    def is_left_alone(self) -> bool:
        self._to_skip -= self._to_skip > 0
        return self._to_skip > 0

    def note(self, served: bool) -> None:
        self._missed = 0 if served else self._missed + 1
        self._to_skip = 0 if served else min(self._missed, self.MOST_SKIPPED)


def _image(guarded: Guarded, result: Result) -> tuple[Image, Result] | str:
    image = binding.image_of(guarded.recording, result.atoms)
    return image if isinstance(image, str) else (image, result)


class Images:
    """The images of a function, by the kinds of its calls with numbers that carry derivatives.

    At most `max_traces` are kept for calls of one kind.
    """

    MOST_KINDS = 64

    def __init__(self, f: Function, max_traces: int, changed: Callable[[], None]) -> None:
        self._function = f
        self._max_traces = max_traces
        self._changed = changed  # called where no image has the outcomes that are met
        self._known: dict[Any, Known] = {}  # without images: f has to be run
        self._short: dict[Any, Known] = {}  # those that kinds_of tells

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[bool, Any]:
        """Whether there is an image for the call, and then what the function returns."""
        kinds, atoms = (None, []) if kwargs else binding.kinds_of(args)
        short = self._short.get(kinds)
        found = MISSED
        if short is not None:
            if short.is_left_alone():
                self._changed()
                return False, None
            found = self._pasted(short, atoms)
            if found is not MISSED or len(short.images) >= self._max_traces:
                return _answer(found)
        call = Call(args, kwargs, first_argument(args))
        atoms = call.atoms
        if any(isinstance(x, Dual) for x in atoms) or not any(isinstance(x, Var) for x in atoms):
            return False, None
        known = self._known.get(call.key)
        if known is None and len(self._known) >= self.MOST_KINDS:
            return False, None
        if known is not None and known is not short:
            found = self._pasted(known, atoms)
        if found is MISSED and not (binding.is_forward() or binding.is_watched()):
            found = self._fresh(call, args, kwargs, atoms)
        known = self._known.get(call.key)
        if kinds is not None and known is not None and known.images:
            self._short[kinds] = known
        return _answer(found)

    def _fresh(
        self, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any], atoms: list[Any]
    ) -> Any:
        """From a new image, which is made by running f on plain numbers."""
        known = self._known.get(call.key)
        if known is not None and len(known.images) >= self._max_traces:
            return MISSED
        plain = Call(binding.plain_values(args), binding.plain_values(kwargs), call.argnums)
        made: tuple[Image, Result] | str
        try:
            made = recorded_in(self._function, plain, Result, _image, exact=True)
        except Exception:
            made = ""  # f says what is wrong, or finds nothing wrong
        if made == OUTER:  # that is so in this call
            return None
        known = self._known.setdefault(call.key, Known())
        if isinstance(made, str):
            return None
        known.images.insert(0, made)
        return _paste(*made, atoms)

    def _pasted(self, known: Known, atoms: list[Any]) -> Any:
        """What the function returns, MISSED, or None if it has to be run."""
        for image, result in [*known.images]:
            found = _paste(image, result, atoms)
            if found is not MISSED:
                known.note(found is not None)
                return found
        if known.images:
            if len(known.images) >= self._max_traces:
                known.note(False)
            self._changed()
            return MISSED
        return None


MISSED = object()  # no image has the outcomes that are met


def _paste(image: Image, result: Result, atoms: list[Any]) -> Any:
    found = image.paste(atoms, False)
    if isinstance(found, list):
        return (result.fill(found),)
    return None if found is None else MISSED


def _answer(found: Any) -> tuple[bool, Any]:
    return (True, found[0]) if isinstance(found, tuple) else (False, None)
