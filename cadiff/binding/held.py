"""What a Watch keeps instead of values: weak references, and states of tables as tuples.

Nothing here is called while a recording serves calls. Arrays are compared elsewhere.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from struct import Struct
from types import CodeType
from typing import Any, NamedTuple
from weakref import WeakSet, ref

__all__ = ["Held", "HeldMethod", "Releasing", "pickled", "state_of_table"]


class Held(ref[Any]):
    """A weak reference of a Watch: no value that was read is one of these."""

    __slots__ = ()


class HeldMethod(NamedTuple):
    """A method of an object, which is made anew each time that it is asked for: both are held."""

    function: object
    owner: object


class Releasing:
    """Called when something is gone that a Watch, or a copy of it, holds weakly."""

    watches: WeakSet[Any]  # these, as who makes it says

    def __call__(self, reference: object) -> None:
        for watch in list(self.watches):
            watch.release()


_PARTS_OF_CODE = (
    *("co_code", "co_names", "co_varnames", "co_consts", "co_freevars", "co_cellvars", "co_flags"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_exceptiontable"),
)


def pickled(kept: Any, kind: type) -> Any:
    """What is pickled of a value, or would be."""
    if kind is CodeType:
        return tuple(getattr(kept, name, None) for name in _PARTS_OF_CODE)
    if kind is Struct:
        return kept.format
    reduce = copyreg.dispatch_table.get(kind)
    return kept.__reduce_ex__(4) if reduce is None else reduce(kept)


def state_of_table(
    table: Any, names_in: dict[str, Any], state_of: Callable[[Any], object]
) -> tuple[object, ...]:
    """Labels and their names; what is set of the table; what columns hold.

    `names_in` is the table's own dict, `state_of` answers that of an array.
    """
    labels = tuple(getattr(table, name, None) for name in ("index", "columns", "name"))
    names = tuple(tuple(getattr(item, "names", ())) for item in (table, *labels[:2]))
    has_copies = getattr(getattr(table, "flags", None), "allows_duplicate_labels", None)
    own = tuple(pair for pair in names_in.items() if pair[0][:1] != "_")
    held = tuple(state_of(array) for array in _arrays_of(table))
    return labels, names, has_copies, own, held


def _arrays_of(table: Any) -> list[Any]:
    """The arrays that columns are rows of, and which these are; a column by itself is dear."""
    try:
        manager = table._mgr
        return [*manager.arrays, manager.blknos, manager.blklocs]
    except AttributeError:
        columns = [column for _, column in table.items()] if table.ndim == 2 else [table]
        return [column.to_numpy() for column in columns]
