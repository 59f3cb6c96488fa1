"""What code reads, as its instructions tell it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cadiff.binding import bytecode
from cadiff.binding.bytecode import Kind, kind_at, steps_of
from cadiff.programs.reads import Operand, reads_of

from ..helpers import reading


def test_what_is_read_is_found() -> None:
    assert reading.mistakes() == []


def test_instructions_that_only_pop_push_nothing() -> None:
    popping = ("DELETE_", "END_FOR", "JUMP_", "POP_", "RAISE_", "RETURN_", "STORE_")
    for name, (row, *_) in bytecode._TABLE.items():
        if name.startswith(popping) and "_LOAD_" not in name and "SLICE" not in name:
            assert row.pushes == 0 or row.kind is not Kind.OTHER, name


@pytest.mark.parametrize("name", ["_UNTIL_3_10", "_UNTIL_3_11", "_SINCE_3_11", "_SINCE_3_12"])
def test_no_instruction_is_in_two_tables(name: str) -> None:
    tables = {
        key: table
        for key, table in vars(bytecode).items()
        if key.startswith(("_UNTIL_", "_SINCE_", "_ALWAYS"))
    }
    others = set().union(*(table for key, table in tables.items() if key != name))
    assert others.isdisjoint(tables[name])


def assigns(x: Any, y: Any) -> None:
    x[0] = y
    x[1:2] = y
    from math import sin  # noqa: F401


def test_what_an_instruction_does_is_found() -> None:
    steps = list(steps_of(assigns.__code__))
    kinds = {step.kind for step in steps if kind_at(assigns.__code__, step.offset) is step.kind}
    assert {Kind.STORE_ITEM, Kind.IMPORT_FROM, Kind.NAME, Kind.CONSTANT} <= kinds
    found = [kind_at(assigns.__code__, step.offset) for step in steps]
    assert found.count(Kind.STORE_ITEM) == 2


def lines(self: Any, x: Any) -> Any:
    a = reading.TABLE
    b = [reading.TABLE for _ in self.a(x)]
    return (
        a,
        b,
        (
            lambda: self.b,
            x is a,
        ),
    )


def test_lines_are_those_in_which_something_is_first_read() -> None:
    reads, first = reads_of(lines.__code__), lines.__code__.co_firstlineno
    found = {operand.chain: line - first for operand, line in reads.chains.items()}
    assert found == {("reading", "TABLE"): 1, ("a",): 2, ("b",): 7}
    assert [identity.line - first for identity in reads.identities] == [8]
    assert list(reads.chains) == [
        Operand("globals", ("reading", "TABLE")),
        Operand("first", ("a",)),
        Operand("first", ("b",)),
    ]


def names(x: Any) -> Any:
    return x.part["text"], lambda y: y.other["inner"]


def test_names_are_those_of_functions_within_too() -> None:
    reads = reads_of(names.__code__)
    assert {"part", "text", "other", "inner"} <= reads.names
    assert reads.has_functions
    assert not reads_of(assigns.__code__).has_functions


# What Python 3.14 makes of two lines: names, what they are given, and how the stack grows.
OF_3_14: list[tuple[str, int | None, Any, int]] = [
    ("RESUME", 0, 0, 0),
    ("LOAD_FAST_BORROW", 0, "self", 1),
    ("COPY", 1, 1, 1),
    ("LOAD_ATTR", 0, "n", 0),
    ("LOAD_SMALL_INT", 1, 1, 1),
    ("BINARY_OP", 13, 13, -1),
    ("SWAP", 2, 2, 0),
    ("STORE_ATTR", 0, "n", -2),
    ("LOAD_FAST_BORROW_LOAD_FAST_BORROW", 1, ("self", "x"), 2),
    ("BINARY_OP", 26, 26, -1),
    ("LOAD_ATTR", 1, "get", 1),
    ("LOAD_COMMON_CONSTANT", 0, 0, 1),
    ("LOAD_FAST_BORROW", 1, "x", 1),
    ("IS_OP", 0, 0, -1),
    ("CALL", 1, 1, -2),
    ("RETURN_VALUE", None, None, 0),
]


def counted_in_3_14(self: Any, x: Any) -> Any:
    self.n += 1
    return self[x].get(tuple is x)


def test_the_next_version_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {name: 300 + k for k, (name, *_) in enumerate(OF_3_14)}
    grows = {(codes[name], given): grown for name, given, _, grown in OF_3_14}
    listing = [
        SimpleNamespace(opname=name, opcode=codes[name], arg=given, argval=value, offset=2 * k)
        for k, (name, given, value, _) in enumerate(OF_3_14)
    ]
    monkeypatch.setattr(bytecode.dis, "get_instructions", lambda code: listing)
    monkeypatch.setattr(bytecode.dis, "stack_effect", lambda code, given, jump: grows[code, given])
    reads = reads_of.__wrapped__(counted_in_3_14.__code__)
    assert reading.as_told(reads) == {"chains": {"self"}, "counted": "n", "handed": {"self"}}
    kinds = [step.kind for step in steps_of(counted_in_3_14.__code__)]
    expected = [Kind.NAME, Kind.COPY, Kind.ATTRIBUTE, Kind.CONSTANT, Kind.ARITHMETIC, Kind.SWAP]
    expected += [Kind.STORE_ATTRIBUTE, Kind.NAME, Kind.NAME, Kind.ITEM, Kind.ATTRIBUTE]
    expected += [Kind.CONSTANT, Kind.NAME, Kind.IS, Kind.CALL, Kind.OTHER]
    assert kinds[1:] == expected
    last = list(steps_of(counted_in_3_14.__code__))[-1]
    assert (last.pops, last.pushes, last.ends) == (1, 0, True)
