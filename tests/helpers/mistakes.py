"""Mistakes of users: what is done, the exception, and the telling words of its message, which say
what was given, where, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from cadiff import binding

Function = Callable[..., Any]
Mistake = tuple[Callable[[], Any], type[Exception] | tuple[type[Exception], ...], list[str]]


def square(x: Any) -> Any:
    return x * x


def identity(x: Any) -> Any:
    return x


def check(mistake: Mistake) -> None:
    """The mistake raises, its message has the telling words, and the tape is as before."""
    make, kind, words = mistake
    before = binding.tape_usage()
    with pytest.raises(kind) as caught:
        make()
    message = str(caught.value)
    for word in words:
        assert re.search(word, message), f"{word!r} is not in {message!r}"
    del caught
    after = binding.tape_usage()
    assert after.pop("handles") <= before.pop("handles")  # garbage of other tests may go
    assert after == before


def mistakes(rows: dict[str, Mistake]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("mistake", rows.values(), ids=rows.keys())
