"""Looking inside: what a function recorded, as text, numbers and drawings.

A `Tape` is a copy of the buffers of a recording. Nothing is formatted before it is asked for, and
then only as many entries as are shown. This module knows what entries mean, and nothing of how
they are made or swept over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Recording
from ..transforms._base import Transform, answering
from ..transforms._outputs import Output
from ..transforms._pages import page
from .layout import laid_out
from .texts import (
    Gap,
    Graph,
    abridged,
    check_rows,
    counted,
    digraph,
    first_and_last,
    number_text,
    quoted,
    readable,
    table,
)

Shape = tuple[int, ...]
Owner = tuple[str | None, str, int, int, Shape | None]

_NAMES, _ARITIES = binding.operation_names()
_CODES = {name: code for code, name in enumerate(_NAMES)}
_LEAF, _THIRD, _RULE = _CODES["_leaf"], _CODES["_third"], _CODES["_rule"]
_POSITIVE = _CODES["positive"]
_ARRAY_BIT = 0x80000000
_WRITING = {"_assign", "_scatter", "_add_at"}


class Operand(NamedTuple):
    """What an operation reads, as text; if it is on the tape, its node and its first slot."""

    text: str
    source: str | None = None
    slot: int | None = None


class Row(NamedTuple):
    """A line of the table, or a node of the graph."""

    node: str
    label: str
    operation: str
    operands: list[Operand]
    value: str
    adjoint: str
    note: str


class MakeTape(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Tape:
        argnums = tuple(range(len(args)))
        with binding.recorded_shapes(), Recording(args, argnums) as recording:
            out = self._function(*recording.lifted, **kwargs)
            found: list[Any] = []
            binding.map_numbers(out, found.append)
            outputs = [_innermost(number) for number in found]
            shapes = Output(binding.unguarded(out)).shapes
            copied = binding.snapshot(recording, outputs)
            names = binding.argument_names(self._function, len(args))
            leaves = binding.leaves(recording.structure, names)
            out = found = outputs = []  # Vars that are alive at a rewind have to be found
        name = getattr(self._function, "__name__", type(self._function).__name__)
        return Tape(name, leaves, sum(map(prod, shapes)), copied)


def _innermost(number: Any) -> Any:
    while isinstance(number, Dual):
        number = binding.dual_components(number)[0]
    return number


@answering
def make_tape(f: Callable[..., Any]) -> Callable[..., Tape]:
    """What a function records: its operations, their values, and their adjoints.

    Parameters
    ----------
    f : callable
        Returns numbers, arrays or containers of them. All its positional arguments are inputs, as
        for `grad`.

    Returns
    -------
    callable
        Called like f; runs it once, sweeps back once, and gives a `Tape`. Adjoints are those of
        what f returned, or of the sum of all numbers in it.

    Raises
    ------
    TypeError
        As `jacobian` does, for arguments and results that are no real numbers.

    Examples
    --------
    >>> import cadiff
    >>> tape = cadiff.make_tape(lambda x, y: cadiff.sin(x) * y + 2.0)(0.0, 3.0)
    >>> len(tape)
    3
    >>> print(tape)
    <lambda>: 3 operations, 2 inputs, 1 output, 160 bytes
        operation  operands  value  adjoint
    x   input                0      3
    y   input                3      0
    #0  sin        x         0      3
    #1  multiply   #0, y     0      1
    #2  add        #1, 2     2      1        output
    """
    return MakeTape("make_tape", f, ())


class Tape:
    """A copy of what a function recorded, made by `make_tape`.

    It holds no part of the computation, and pickles. `len` is the number of operations; `print`
    shows a table of them.
    """

    def __init__(
        self,
        name: str,
        leaves: list[tuple[int, int, Shape | None, str]],
        n_outputs: int,
        copied: dict[str, Any],
    ) -> None:
        self._name = name
        self._leaves = leaves
        self._n_outputs = n_outputs
        self._base: int = copied["base"]
        self._entries: NDArray[np.uint32] = copied["entries"]
        self._plans: NDArray[np.int64] = copied["plans"]
        self._plan_base: int = copied["plan_base"]
        self._values: NDArray[np.float64] = copied["values"]
        self._adjoints: NDArray[np.float64] = copied["adjoints"]
        self._shapes: list[Shape | None] = copied["shapes"]
        self._shape_numbers: NDArray[np.uint32] = copied["shape_numbers"]
        self._rules: dict[int, tuple[str, list[Any]]] = copied["rules"]
        self._outer: dict[int, float] = copied["outer"]
        self._outputs: NDArray[np.int64] = copied["outputs"]
        self._writes: NDArray[np.int64] = copied["writes"]
        self._inputs: list[tuple[int, int]] = copied["inputs"]
        self._n_input_entries: int = copied["n_input_entries"]

    # --- as a whole

    def __len__(self) -> int:
        return len(self._operations)

    def __repr__(self) -> str:
        return f"<cadiff.Tape of {self._summary}>"

    def __str__(self) -> str:
        return self.to_text()

    @property
    def nbytes(self) -> int:
        """Bytes of the recording: entries, values, adjoints."""
        return (
            self._entries.nbytes + self._plans.nbytes + self._values.nbytes + self._adjoints.nbytes
        )

    @property
    def _summary(self) -> str:
        counts = (
            counted(len(self), "operation"),
            counted(self._n_inputs, "input"),
            counted(self._n_outputs, "output"),
            counted(self.nbytes, "byte"),
        )
        return f"{self._name}: {', '.join(counts)}"

    @property
    def _n_inputs(self) -> int:
        return sum(size for _, size, _, _ in self._leaves)

    def stats(self) -> dict[str, Any]:
        """Figures about the recording.

        Returns
        -------
        dict
            `operations`: how many; `by_operation`: how many of each name, the most frequent first;
            `most_frequent`: up to five of these names; `array_operations`: how many of all are
            over arrays; `inputs`, `outputs`: how many numbers; `numbers`: how many values the tape
            holds, constants and indices among them; `nbytes`.

        Examples
        --------
        >>> import cadiff
        >>> cadiff.make_tape(lambda x: x * x * x)(2.0).stats()["by_operation"]
        {'multiply': 2}
        """
        counts = {name: count for name, (count, _) in self.numbers_by_operation().items()}
        ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        return {
            "operations": len(self),
            "by_operation": ordered,
            "most_frequent": list(ordered)[:5],
            "array_operations": int(np.sum(self._entries[self._operations, 0] >= _ARRAY_BIT)),
            "inputs": self._n_inputs,
            "outputs": self._n_outputs,
            "numbers": len(self._values),
            "nbytes": self.nbytes,
        }

    def numbers_by_operation(self) -> dict[str, tuple[int, int]]:
        """By names of operations how many there are, and how many numbers they computed.

        Those that computed most come first. Of what a primitive returns all numbers count.

        Examples
        --------
        >>> import cadiff, numpy as np
        >>> cadiff.make_tape(lambda x: np.sum(2.0 * x * 3.0))(np.ones(5)).numbers_by_operation()
        {'multiply': (2, 10), 'sum': (1, 1)}
        """
        positions = self._operations
        codes, b = self._entries[positions, 0], self._entries[positions, 3]
        sizes = np.where(codes >= _ARRAY_BIT, b, 1).astype(np.int64)
        ops = self._ops[positions]
        counts, numbers = np.bincount(ops), np.bincount(ops, sizes)
        found: dict[str, tuple[int, int]] = {}

        def add(name: str, count: int, size: int) -> None:
            former = found.get(name, (0, 0))
            found[name] = former[0] + count, former[1] + size

        for op in np.flatnonzero(counts).tolist():
            if op != _RULE:
                add(readable(_NAMES[op]), int(counts[op]), int(numbers[op]))
        for name, results in self._rules.values():
            add(name, 1, sum(prod(shape) for _, shape in results))
        return dict(sorted(found.items(), key=lambda item: (-item[1][1], item[0])))

    # --- where things stand

    @cached_property
    def _ops(self) -> NDArray[np.int64]:
        return (self._entries[:, 0].astype(np.int64) & ~_ARRAY_BIT) >> 2

    @cached_property
    def _operations(self) -> NDArray[np.int64]:
        is_operation = self._ops != _THIRD
        is_operation[: self._n_input_entries] = False
        return np.flatnonzero(is_operation)

    @cached_property
    def _parts(self) -> NDArray[np.int64]:
        """Entries that copy into a part of a new array, a joined one, and where that array is."""
        copies = (self._ops == _POSITIVE) & (self._entries[:, 0] >= _ARRAY_BIT)
        found = []
        ends: dict[int, int] = {}
        for index in np.flatnonzero(copies).tolist():
            shape, views, _, _, _ = self._plan(index)
            target, strides = views[0]
            if target != int(self._entries[index, 1]) and self._maker(target) is None:
                before = int(np.searchsorted(self._entries[:, 1], target, side="right")) - 1
                first = int(self._entries[before, 1]) + self._n_slots(before)
                past = target + 1 + sum((n - 1) * m for n, m in zip(shape, strides, strict=True))
                ends[first] = max(ends.get(first, 0), past)
                found.append((index, first))
        parts = [(index, first, ends[first]) for index, first in found]
        return np.array(parts, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def _joins(self) -> frozenset[int]:
        return frozenset(self._parts[:, 0].tolist())

    @cached_property
    def _written(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Assignments in the order of the arrays they write to, and where each array begins."""
        writes = np.concatenate([self._writes, self._parts])
        writes = writes[np.argsort(writes[:, 0], kind="stable")]
        ordered = writes[np.argsort(writes[:, 1], kind="stable")]
        return ordered, np.flatnonzero(np.diff(ordered[:, 1], prepend=-1))

    @cached_property
    def _made_of_constants(self) -> list[tuple[int, int]]:
        """The arrays assigned to that no operation made, but numpy.zeros and the like."""
        ordered, begins = self._written
        ranges = [(first, end) for _, first, end in ordered[begins].tolist()]
        return [(first, end) for first, end in ranges if self._maker(first) is None]

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the rest."""
        derived = {"_ops", "_operations", "_parts", "_joins", "_written", "_made_of_constants"}
        return {name: item for name, item in self.__dict__.items() if name not in derived}

    def _maker(self, slot: int) -> int | None:
        """The entry that made what stands at a slot."""
        index = int(np.searchsorted(self._entries[:, 1], slot, side="right")) - 1
        made = index >= 0 and slot - int(self._entries[index, 1]) < self._n_slots(index)
        return index if made else None

    def _as_written(self, operand: Operand, before: int) -> Operand:
        """An operand that comes from the last assignment to its array before an entry, if any."""
        ordered, begins = self._written
        slot = operand.slot
        k = 0 if slot is None else bisect_right(begins, slot, key=lambda row: ordered[row, 1])
        if slot is None or k == 0 or slot >= ordered[begins[k - 1], 2]:
            return operand
        end = begins[k] if k < len(begins) else len(ordered)
        entries = ordered[begins[k - 1] : end, 0]
        ahead = int(np.searchsorted(entries, before))
        if ahead == 0:
            return operand
        number = np.searchsorted(self._operations, entries[ahead - 1])
        return operand._replace(source=f"op{number}")

    def _entry(self, index: int) -> tuple[int, int, int, int]:
        code, out, a, b = map(int, self._entries[index])
        return code, out, a, b

    def _numbers_at(self, buffer: NDArray[np.float64], slot: int, size: int) -> NDArray[Any]:
        return buffer[slot - self._base : slot - self._base + size]

    def _n_slots(self, index: int) -> int:
        """How many numbers an entry made."""
        code, _, a, b = self._entry(index)
        if code >= _ARRAY_BIT:
            return b
        return a if self._ops[index] == _LEAF else 1

    def _shape_of(self, index: int) -> Shape:
        noted: Shape | None = self._shapes[int(self._shape_numbers[index])]
        if noted is not None:
            return noted
        return () if self._n_slots(index) == 1 else (self._n_slots(index),)

    def _offset(self, slot: int) -> int | None:
        """Which of all numbers of the inputs stands at a slot."""
        offset = 0
        for first, size in self._inputs:
            if first <= slot < first + size:
                return offset + slot - first
            offset += size
        return None

    def _owner(self, slot: int) -> Owner:
        """What a slot belongs to: its node, its name, its first slot, its size and its shape."""
        offset = self._offset(slot)
        if offset is not None:
            k = bisect_right(self._leaves, offset, key=lambda leaf: leaf[0]) - 1
            first, size, shape, path = self._leaves[k]
            shape = (size,) if shape is None else shape
            return f"in{k}", path, slot - (offset - first), size, shape
        index = self._maker(slot)
        if index is not None:
            number = int(np.searchsorted(self._operations, index))
            if index in self._rules:
                return self._result_of_rule(index, number, slot)
            size, out = self._n_slots(index), int(self._entries[index, 1])
            return f"op{number}", f"#{number}", out, size, self._shape_of(index)
        k = bisect_right(self._made_of_constants, slot, key=lambda ends: ends[0]) - 1
        if k >= 0 and slot < self._made_of_constants[k][1]:
            first, end = self._made_of_constants[k]
            return f"array{k}", f"array{k}", first, end - first, (end - first,)
        return None, "", slot, 1, None

    def _result_of_rule(self, index: int, number: int, slot: int) -> Owner:
        """One of the results of a primitive: #3, or #3.0, #3.1 if it has several."""
        results = self._rules[index][1]
        for k, (first, shape) in enumerate(results):
            if first <= slot < first + max(prod(shape), 1):
                name = f"#{number}" if len(results) == 1 else f"#{number}.{k}"
                return f"op{number}", name, first, prod(shape), shape
        raise AssertionError("a slot of a rule belongs to one of its results")

    # --- operands

    def _operand(self, slot: int, shape: Shape, strides: Sequence[int]) -> Operand:
        """A view, or for () a single number."""
        moves = [(n, stride) for n, stride in zip(shape, strides, strict=True) if stride and n > 1]
        low = slot + sum(min((n - 1) * stride, 0) for n, stride in moves)
        if low < self._base:
            value = self._outer.get(slot)
            return Operand("outer" if value is None or moves else f"outer {number_text(value)}")
        node, name, first, size, whole = self._owner(low)
        count = prod(n for n, _ in moves)
        if node is None:
            view = self._view(slot, shape, strides)
            is_one = not any(strides)
            return Operand(
                number_text(float(self._values[slot - self._base])) if is_one else abridged(view)
            )
        if count == size:
            return Operand(name, node, low)
        assert whole is not None
        if count == 1:
            name += binding.index_text(np.unravel_index(low - first, whole))
        elif len(whole) == 1 and len(moves) == 1:
            name += f"[{_slice(slot - first, *moves[0])}]"
        else:
            name += "[...]"
        return Operand(name, node, low)

    def _view(self, slot: int, shape: Shape, strides: Sequence[int]) -> NDArray[np.float64]:
        place = self._values[slot - self._base :]
        steps = [8 * stride for stride in strides]
        return np.lib.stride_tricks.as_strided(place, shape, steps, writeable=False)

    def _indexed(self, first: int, indices: NDArray[np.int64]) -> Operand:
        """The elements that offsets name, counted from a slot."""
        node, name, start, _, shape = self._owner(first)
        if node is None:
            node, name, start, shape = None, "constants", first, (1,)
        flat = "" if shape is not None and len(shape) <= 1 else ".flat"
        return Operand(f"{name}{flat}[{abridged(indices + (first - start))}]", node, first)

    def _operands(self, index: int) -> list[Operand]:
        code, _, a, b = self._entry(index)
        op = int(self._ops[index])
        if op == _LEAF:
            return []
        if op == _RULE:
            return [self._operand(*place) for place in self._rule_operands(index)]
        if code >= _ARRAY_BIT:
            return self._array_operands(index)
        slots = [a, b] if _NAMES[op] == "_assign" else [a, b][: _ARITIES[op]]
        if _ARITIES[op] == 3:
            slots.append(int(self._entries[index - 1, 2]))
        return [self._operand(slot, (), ()) for slot in slots]

    def _rule_operands(self, index: int) -> Iterator[tuple[int, Shape, Shape]]:
        extra = self._plan(index)[4]
        place = 2
        for _ in range(extra[1]):
            slot, ndim = extra[place : place + 2]
            shape = extra[place + 2 : place + 2 + ndim]
            strides = extra[place + 2 + ndim : place + 2 + 2 * ndim]
            yield slot, tuple(shape), tuple(strides)
            place += 2 + 2 * ndim

    def _plan(self, index: int) -> tuple[Shape, list[tuple[int, Shape]], int, int, list[int]]:
        return binding.read_plan(self._plans, int(self._entries[index, 2]) - self._plan_base)

    def _array_operands(self, index: int) -> list[Operand]:
        name = _NAMES[self._ops[index]]
        shape, views, _, where, extra = self._plan(index)
        if where >= 0:
            named = self._indexed(
                extra[0], self._numbers_at(self._values, where, prod(shape)).view(np.int64)
            )
            sources = [self._operand(views[0][0], shape, views[0][1])] if name != "_gather" else []
            return [named, *sources]
        writes = name == "_assign" or self._adds_up(index) or index in self._joins
        kept = views if writes else views[1:]
        operands = [self._operand(slot, shape, strides) for slot, strides in kept]
        if name == "_matmul":
            steps = [[n for n in strides[-3:] if n] for _, strides in kept]
            return [
                x._replace(text=f"{x.text}.T") if two and two != sorted(two)[::-1] else x
                for x, two in zip(operands, steps, strict=True)
            ]
        return operands

    def _adds_up(self, index: int) -> bool:
        """Whether an entry adds to a part of an array, as sweeps do that were recorded."""
        is_sum = _NAMES[self._ops[index]] == "_sum" and self._entries[index, 0] >= _ARRAY_BIT
        return bool(is_sum and self._plan(index)[4][0])

    # --- rows

    def _input_row(self, k: int) -> Row:
        first, size, shape, path = self._leaves[k]
        slots = self._input_slots(first, size)
        shape = (size,) if shape is None else shape
        value, adjoint = (
            self._shown(buffer, slots, size, shape) for buffer in (self._values, self._adjoints)
        )
        return Row(f"in{k}", path, "input", [], value, adjoint, self._note(slots, size))

    def _input_slots(self, offset: int, size: int) -> int:
        """The first slot of so many numbers of the inputs."""
        for first, count in self._inputs:
            if offset < count or (size == 0 and offset == count):
                return first + offset
            offset -= count
        return self._base

    def _constants_row(self, k: int) -> Row:
        first, end = self._made_of_constants[k]
        shape = (end - first,)
        value = self._shown(self._values, first, end - first, shape)
        joined = first in self._parts[:, 1]
        kind = "joined" if joined else "constants"
        return Row(f"array{k}", f"array{k}", kind, [], value, "", self._note(first, *shape))

    def _operation_row(self, number: int) -> Row:
        index = int(self._operations[number])
        _, out, _, _ = self._entry(index)
        name = _NAMES[self._ops[index]]
        size = self._n_slots(index)
        if index in self._rules:
            name, results = self._rules[index]
            pairs = [
                tuple(self._shown(buffer, first, prod(shape), shape) for first, shape in results)
                for buffer in (self._values, self._adjoints)
            ]
            value, adjoint = (", ".join(parts) for parts in pairs)
        elif self._adds_up(index):
            value = adjoint = ""  # what has been added up so far is not kept
        elif index in self._joins:
            name, adjoint = "_assign", ""
            shape, views, _, _, _ = self._plan(index)
            first, strides = views[0]
            value = _with_shape(self._view(first, shape, strides))
        else:
            shape = self._shape_of(index)
            value = self._shown(self._values, out, size, shape)
            adjoint = "" if name in _WRITING else self._shown(self._adjoints, out, size, shape)
        operands = [self._as_written(operand, index) for operand in self._operands(index)]
        return Row(
            f"op{number}",
            f"#{number}",
            readable(name),
            operands,
            value,
            adjoint,
            self._note(out, size),
        )

    def _shown(self, buffer: NDArray[Any], slot: int, size: int, shape: Shape) -> str:
        return _with_shape(self._numbers_at(buffer, slot, size).reshape(shape))

    def _note(self, slot: int, size: int) -> str:
        """Which outputs stand among so many numbers."""
        places = self._outputs
        found = np.flatnonzero((places >= slot) & (places < slot + size))
        if len(found) == 0:
            return ""
        return "output" if len(places) == 1 else f"output {abridged(found).strip('[]')}"

    def _rows(self, max_rows: int) -> Iterator[Row | Gap]:
        """Inputs, then operations; a Gap in place of those left out."""
        groups: tuple[tuple[str, int, Callable[[int], Row]], ...] = (
            ("inputs", len(self._leaves), self._input_row),
            ("arrays", len(self._made_of_constants), self._constants_row),
            ("operations", len(self), self._operation_row),
        )
        yield from first_and_last(groups, max_rows)

    def to_text(self, max_rows: int = 60) -> str:
        """A table of the inputs and the operations.

        Parameters
        ----------
        max_rows : int
            How many operations, and how many inputs, are shown at most: the first and the last
            ones.

        Returns
        -------
        str
            A line for each input and each operation: its name or number, what it reads, its value,
            and its adjoint: the derivative of what the function returned, or of the sum of all
            that, by this value. Operations that write into an array have no adjoint of their own.
        """
        check_rows(max_rows)
        header = ("", "operation", "operands", "value", "adjoint", "")
        lines = [
            row
            if isinstance(row, Gap)
            else (row.label, row.operation, _joined(row), row.value, row.adjoint, row.note)
            for row in self._rows(max_rows)
        ]
        return "\n".join([self._summary, *table([header, *lines])])

    # --- drawings

    def _graph(
        self, max_rows: int
    ) -> tuple[list[tuple[str, list[str]]], dict[tuple[str, str], int]]:
        """Nodes with the lines of their labels, in the order of the tape, and edges.

        Each of these with the number of its operands, if it is of few.
        """
        nodes: list[tuple[str, list[str]]] = []
        wanted: list[tuple[str, str]] = []
        for row in self._rows(max_rows):
            if isinstance(row, Gap):
                nodes.append((f"left_out_{row.what}", [str(row)]))
                continue
            head = f"{row.label} {row.operation}" if row.operands else row.label
            value = row.value and f"= {row.value}"
            adjoint = row.adjoint and f"adjoint {row.adjoint}"
            label = [head, _joined(row), value, adjoint, row.note]
            nodes.append((row.node, [line for line in label if line]))
            wanted += [(operand.source, row.node) for operand in row.operands if operand.source]
        shown = {node for node, _ in nodes}
        gaps = {"in": "left_out_inputs", "ar": "left_out_arrays", "op": "left_out_operations"}
        edges: dict[tuple[str, str], int] = {}
        for source, node in wanted:
            edge = source if source in shown else gaps[source[:2]], node
            most = _MOST_PARALLEL if source in shown else 1
            edges[edge] = min(edges.get(edge, 0) + 1, most)
        return nodes, edges

    def to_graph(self, max_rows: int = 60) -> Graph:
        """The graph of the computation, for drawings of one's own: see `cadiff.plot.graph`.

        Parameters
        ----------
        max_rows : int
            How many operations, and how many inputs, are in it at most: the first and last ones.

        Returns
        -------
        Graph
            A named tuple of `title`, `nodes`: (name, lines of the label, kind), where the kind is
            "input", "output", "operation" or "gap", and `edges`: (name, name).

        Examples
        --------
        >>> import cadiff
        >>> graph = cadiff.make_tape(lambda x: cadiff.sin(x) * x)(0.0).to_graph()
        >>> [(name, lines[0], kind) for name, lines, kind in graph.nodes]
        [('in0', 'x', 'input'), ('op0', '#0 sin', 'operation'), ('op1', '#1 multiply', 'output')]
        >>> graph.edges
        [('in0', 'op0'), ('op0', 'op1'), ('in0', 'op1')]
        """
        check_rows(max_rows)
        returned = {row.node for row in self._rows(max_rows) if isinstance(row, Row) and row.note}
        nodes, edges = self._graph(max_rows)
        kinds = {"in": "input", "le": "gap"}
        found = [
            (node, label, "output" if node in returned else kinds.get(node[:2], "operation"))
            for node, label in nodes
        ]
        return Graph(self._summary, found, list(edges)).with_gaps_joined()

    def to_dot(self, max_rows: int = 60) -> str:
        r"""The graph of the computation in the language of Graphviz.

        Examples
        --------
        >>> import cadiff
        >>> print(cadiff.make_tape(lambda x: x * x)(3.0).to_dot())
        digraph "<lambda>" {
          node [shape=box, fontname="monospace"];
          in0 [label="x\n= 3\nadjoint 6", style=rounded];
          op0 [label="#0 multiply\nx, x\n= 9\nadjoint 1\noutput"];
          in0 -> op0;
        }
        """
        check_rows(max_rows)
        nodes, edges = self._graph(max_rows)
        styled = [(node, label, node.startswith("in")) for node, label in nodes]
        return "\n".join(digraph(f"digraph {quoted([self._name])}", styled, list(edges)))

    def _repr_svg_(self) -> str:
        return _drawing(self._name, *self._graph(_MOST_DRAWN))

    def _repr_html_(self) -> str:
        """For notebooks: what there is, and the drawing."""
        stats = self.stats()
        often = [f"{stats['by_operation'][name]:,} {name}" for name in stats["most_frequent"]]
        rows = [("operations", ", ".join(often))] if often else []
        return page(f"Tape of {self._summary}", rows, f"<div>{self._repr_svg_()}</div>")


_MOST_DRAWN = 40


def _with_shape(numbers: NDArray[Any]) -> str:
    return f"{numbers.shape} {abridged(numbers)}" if numbers.ndim else number_text(float(numbers))


def _joined(row: Row) -> str:
    return (" = " if row.operation == "assign" else ", ").join(x.text for x in row.operands)


def _slice(start: int, length: int, step: int) -> str:
    stop = start + length * step
    return f"{start}:{stop if stop >= 0 else ''}" + (f":{step}" if step != 1 else "")


# --- drawing in layers -----------------------------------------------------------------------

_LINE, _CHAR, _MARGIN = 16, 7.3, 8  # in pixels
_APART = 8  # edges between the same boxes
_MOST_PARALLEL = 3  # of these


def _drawing(
    title: str, nodes: list[tuple[str, list[str]]], edges: dict[tuple[str, str], int]
) -> str:
    """An SVG of a graph whose nodes are in an order in which edges lead forwards."""
    sizes = {
        node: (_CHAR * max(map(len, label)) + 2 * _MARGIN, _LINE * len(label) + 2.0 * _MARGIN)
        for node, label in nodes
    }
    layout = laid_out(sizes, list(edges))
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_MARGIN} {-_MARGIN} {width:.0f} {height:.0f}" font-family="monospace" '
        'font-size="12">',
        f"<title>{_clean(title)}</title>",
        f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="100%" height="100%" fill="white"/>',
    ]
    heights: dict[float, float] = {}  # of layers, by their middles
    for box in layout.boxes.values():
        heights[box.y] = max(heights.get(box.y, 0.0), box.height)
    for (edge, number), way in zip(edges.items(), layout.ways, strict=True):
        ends = [(y, heights[y] / 2) for y in (layout.boxes[node].y for node in edge)]
        past, before = ends[0][0] + ends[0][1], ends[1][0] - ends[1][1]
        whole = [way[0], (way[0][0], past), *way[1:-1], (way[-1][0], before), way[-1]]
        for k in range(number):
            path = _path(whole, (k - (number - 1) / 2) * _APART)
            parts.append(f'<path d="{path}" fill="none" stroke="#888"/>')
    for node, label in nodes:
        box = layout.boxes[node]
        left, top = box.x - box.width / 2, box.y - box.height / 2
        fill = "#e8f0fe" if node.startswith("in") else "#f6f6f6"
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="4" fill="{fill}" stroke="#444"/>'
        )
        for k, line in enumerate(label):
            y = top + _MARGIN + _LINE * (k + 0.75)
            parts.append(
                f'<text x="{box.x:.1f}" y="{y:.1f}" text-anchor="middle" fill="black">'
                f"{_clean(line)}</text>"
            )
    return "\n".join([*parts, "</svg>"])


def _clean(text: str) -> str:
    from html import escape  # its table of entities is large, and only notebooks draw

    return escape("".join(c if c.isprintable() else "?" for c in text), quote=False)


def _path(way: Sequence[tuple[float, float]], shift: float) -> str:
    """Through points, in turn straight down past a layer and by a curve to the next one."""
    (x, y), *rest = way
    path = f"M{x + shift:.1f} {y:.1f}"
    for k, (to_x, to_y) in enumerate(rest):
        if k % 2 == 0:
            path += f" V{to_y:.1f}"
        else:
            middle = (y + to_y) / 2
            there = f"{to_x + shift:.1f}"
            path += f" C{x + shift:.1f} {middle:.1f} {there} {middle:.1f} {there} {to_y:.1f}"
        x, y = to_x, to_y
    return path
