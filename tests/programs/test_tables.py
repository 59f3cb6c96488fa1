"""Programs and the tables of pandas: as what f reads, and as its arguments."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff.binding import Watch

from ..helpers.programs import runs_of

X = np.array([1.5, 2.0, -1.0])


class Column:
    """As much of pandas' Series as a Watch asks for."""

    ndim = 1

    def __init__(self, *numbers: Any) -> None:
        self.numbers = np.array(numbers)
        self.index = object()
        self.name = "a"

    def to_numpy(self) -> Any:
        return self.numbers


class Frame:
    """And of its DataFrame."""

    ndim = 2

    def __init__(self, **columns: Column) -> None:
        self.held = columns
        self.columns = object()

    def items(self) -> Any:
        return self.held.items()

    def to_numpy(self) -> Any:
        return np.column_stack([column.numbers for column in self.held.values()])


Frame.__module__ = Column.__module__ = "pandas.core"  # by which reads.py tells them

CHANGES: list[Callable[[Frame], Any]] = [
    lambda frame: frame.held["a"].numbers.__setitem__(1, 9.0),
    lambda frame: setattr(frame.held["b"], "numbers", np.array(["x", "z"], dtype=object)),
    lambda frame: frame.held.update(c=Column(1.0, 2.0)),
    lambda frame: setattr(frame, "columns", object()),
    lambda frame: setattr(frame.held["a"], "numbers", np.array([1, 2])),
    lambda frame: setattr(frame, "own", 3.0),
]


def frame() -> Frame:
    made = Frame(a=Column(1.0, 2.0), b=Column("x", "y"))
    made.held["b"].numbers = made.held["b"].numbers.astype(object)
    return made


@pytest.mark.parametrize("change", CHANGES)
def test_a_watch_sees_what_a_table_holds(change: Callable[[Frame], Any]) -> None:
    table, watch = frame(), Watch()
    watch.table(table, "table")
    assert watch.holds()
    image = watch.image()
    change(table)
    assert not watch.holds()
    assert watch.image() != image
    assert watch.changed == ["table"]


def test_what_a_program_reads_of_a_table_is_watched() -> None:
    table = Frame(a=Column(1.0, 2.0, 3.0))

    def f(x: Any) -> Any:
        return cnp.sum(x * table.to_numpy()[:, 0])

    program = cadiff.compile(f)
    with runs_of(f) as runs:
        for _ in range(3):
            np.testing.assert_array_equal(program.grad(X), [1.0, 2.0, 3.0])
        recorded = len(runs)
        table.held["a"].numbers[0] = 5.0
        for _ in range(3):
            np.testing.assert_array_equal(program.grad(X), [5.0, 2.0, 3.0])
    assert len(runs) == 2 * recorded


def test_a_table_is_differentiated_as_an_array_and_called_as_it_is() -> None:
    column = Column(*X)
    program = cadiff.compile(lambda s: cnp.sum(s * s))
    np.testing.assert_array_equal(program.grad(column), 2.0 * X)
    np.testing.assert_array_equal(program.hessian(column), 2.0 * np.eye(3))
    assert cadiff.compile(lambda s: s.numbers[1] * 2.0)(column) == 4.0


# --- with pandas itself --------------------------------------------------------------------------


def test_changes_of_a_dataframe_are_seen() -> None:
    pd = pytest.importorskip("pandas")
    held: list[float] = [1.0]
    table = pd.DataFrame({"u": [1.0, 2.0, 3.0], "k": ["p", "q", "r"]}, index=list("abc"))
    table["held"] = [held, [], []]

    def f(x: Any) -> Any:
        factor = 2.0 if table["k"].iloc[0] == "p" else 1.0
        factor *= table.attrs.get("n", 3.0) * table["held"].iloc[0][0] * len(str(table.index.name))
        return cnp.sum(x * table["u"].to_numpy()) * factor

    def swap() -> None:
        table["u"] = table["u"].to_numpy()[::-1].copy()

    def relabel() -> None:
        table["k"] = ["q", "p", "r"]

    program = cadiff.compile(f)
    changes = [lambda: table.__setitem__("new", 1.0), swap, relabel]
    changes.append(lambda: table.loc.__setitem__(("a", "u"), 7.0))
    changes.append(lambda: table.attrs.update(n=2.0))
    changes.append(lambda: held.insert(0, 5.0))
    changes.append(lambda: setattr(table.index, "name", "n"))
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            np.testing.assert_array_equal(program.grad(X), cadiff.grad(f)(X))
    assert program.stats()["eager"] == 0


def test_tables_are_arguments_and_containers() -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series({"a": 2.0, "b": 3.0})
    program = cadiff.compile(lambda s: s["a"] * s["b"])
    assert program(series) == 6.0
    series["a"] = 5.0
    assert program(series) == 15.0
    f = lambda x, d: cnp.sum(x * d["u"])  # noqa: E731
    for k in range(3):
        table = pd.DataFrame({"u": k * X})
        np.testing.assert_array_equal(cadiff.compile(f).grad(X, table), k * X)
    np.testing.assert_array_equal(cadiff.grad(lambda s: cnp.sum(s * s))(pd.Series(X)), 2.0 * X)


def test_a_pickle_knows_the_tables_that_were_read() -> None:
    first, second = Watch(), Watch()
    table = Frame(a=Column(1.0))
    other = pickle.loads(pickle.dumps(np.array([1.0])))
    table.columns = Column(4.0)
    first.table(table, "table")
    before = first.fingerprint()
    table.columns = Column(5.0)
    second.table(table, "table")
    assert second.fingerprint() != before
    table.columns = Column(4.0)
    table.held["a"].numbers = other
    third = Watch()
    third.table(table, "table")
    assert third.fingerprint() == before
