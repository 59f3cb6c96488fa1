"""What code asks about identities, as its instructions tell it."""

from __future__ import annotations

from typing import Any

import pytest

from cadiff.programs.reads import reads_of

TABLE: list[float] = []


class Holder:
    part = 1.0


HOLDER = Holder()


def number_of(x: Any) -> Any:
    return id(x)


def number_within(x: Any) -> Any:
    return [2.0, id(x.part), x]


def number_of_another(x: Any, y: Any) -> Any:
    return id(TABLE) + id(HOLDER.part)


def number_kept(x: Any) -> Any:
    found = id(x)
    return [found]


def handed_on(x: Any) -> Any:
    return list(map(id, x))


def kept_itself(x: Any) -> Any:
    return id


def compared(x: Any) -> Any:
    return x is TABLE


def compared_with_none(x: Any) -> Any:
    return x is None


EXPECTED: dict[Any, list[tuple[str, list[Any]]]] = {
    number_of: [("id", [("first", ())])],
    number_within: [("id", [("first", ("part",))])],
    number_of_another: [
        ("id", [("globals", ("TABLE",))]),
        ("id", [("globals", ("HOLDER", "part"))]),
    ],
    number_kept: [("id", [("first", ())])],
    handed_on: [("id", [None])],
    kept_itself: [("id", [None])],
    compared: [("is", [("first", ()), ("globals", ("TABLE",))])],
    compared_with_none: [],
}


@pytest.mark.parametrize("f", EXPECTED)
def test_what_is_asked_is_found(f: Any) -> None:
    found = [(one.what, list(one.operands)) for one in reads_of(f.__code__).identities]
    assert found == EXPECTED[f]
