"""Mistakes of users: what is done, the exception, and the telling words of its message, which say
what was given, where, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from cadiff import binding

Function = Callable[..., Any]
Kinds = type[Exception] | tuple[type[Exception], ...]
Row = tuple[Callable[[], Any], str]  # a call, and the words, which are patterns, with ", " between


def square(x: Any) -> Any:
    return x * x


def identity(x: Any) -> Any:
    return x


def told(call: Callable[[], Any], kinds: Kinds, words: str) -> None:
    """The call raises, and its message has the telling words."""
    with pytest.raises(kinds) as caught:
        call()
    message = str(caught.value)
    for word in words.split(", "):
        assert re.search(word, message), f"{word!r} is not in {message!r}"


def check(call: Callable[[], Any], kinds: Kinds, words: str) -> None:
    """The call raises, its message has the telling words, and the tape is as before."""
    before = binding.tape_usage()
    told(call, kinds, words)
    after = binding.tape_usage()
    assert after.pop("handles") <= before.pop("handles")  # garbage of other tests may go
    assert after == before


def mistakes(table: dict[Any, list[Row]]) -> pytest.MarkDecorator:
    """Cases of a table of rows by what they raise."""
    rows = [(call, kinds, words) for kinds, rows in table.items() for call, words in rows]
    ids = [words for _, _, words in rows]
    return pytest.mark.parametrize(("call", "kinds", "words"), rows, ids=ids)
