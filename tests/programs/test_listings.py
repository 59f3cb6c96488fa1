"""Programs as text and as graphs: what the lines say is carried out again, and compared."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.binding import Call
from cadiff.inspection import texts
from cadiff.programs import listings
from cadiff.programs.instructions import InstructionKind, result_places
from cadiff.programs.recorded import Recorded
from cadiff.programs.recordings import record

from ..helpers.processes import in_whole_tiles

EVERYTHING = 10**9

rng = np.random.default_rng(11)


def recorded(f: Callable[..., Any], *args: Any, optimize: bool = True) -> tuple[Recorded, Call]:
    call = Call(args, {}, tuple(range(len(args))))
    found = record(f, call, optimize).recorded
    assert isinstance(found, Recorded)
    return found, call


# --- what is listed ------------------------------------------------------------------------------


def numbers(x: Any) -> Any:
    a = cadiff.sin(x[0]) * x[1] - x[2] ** 2 / 4.0
    return cadiff.where(a > x[1], a, -a) + cadiff.maximum(a, 0.5) ** x[0]


def repeated(x: Any) -> Any:
    a, b = x
    for _ in range(100):
        a, b = cadiff.sin(a) * 0.5 + b * 0.25, cadiff.cos(b) - a * 0.125
    return a * b


def neighbours(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) - 1):
        total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def vectors(x: Any) -> Any:
    return cnp.sum(cnp.sin(x) * x * 2.0 + cnp.exp(-x))


def backwards(x: Any) -> Any:
    return cnp.sum(cnp.sin(x[::-1]) * x) - cnp.sum(cnp.cos(x[::2]))


def rows(x: Any, y: Any) -> Any:
    z = cnp.exp(-((x - y) ** 2))
    return cnp.sum(cnp.log(cnp.sum(z, axis=1)) ** 2) + cnp.sum(cnp.sum(z, axis=0) ** 2)


def broadcast(a: Any, b: Any) -> Any:
    return cnp.sum(cnp.sum(cnp.exp(-((a[:, None] - b[None, :]) ** 2)), axis=0) ** 2)


def products(a: Any, b: Any) -> Any:
    return cnp.sum(cnp.tanh(a @ b) ** 2)


def assigned(x: Any) -> Any:
    y = cnp.zeros(5) * x[0]
    y[1:4] = x[:3] * 2.0
    return cnp.sum(y * y) + cnp.sum(x[np.array([0, 2, 2, 4])] ** 3)


def chosen(x: Any) -> Any:
    return cnp.sum(x * x) if x[0] < x[1] else cnp.sum(x)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "numbers": (numbers, (rng.uniform(0.5, 1.5, 3),)),
    "repeated": (repeated, (rng.uniform(0.5, 1.5, 2),)),
    "neighbours": (neighbours, (rng.uniform(0.5, 1.5, 40),)),
    "vectors": (vectors, (rng.uniform(0.5, 1.5, 5000),)),
    "backwards": (backwards, (rng.uniform(0.5, 1.5, 60),)),
    "rows": (rows, (rng.uniform(0.5, 1.5, (600, 20)), rng.uniform(0.5, 1.5, 20))),
    "parts": (rows, (rng.uniform(0.5, 1.5, (3000, 20)), rng.uniform(0.5, 1.5, 20))),
    "broadcast": (broadcast, (rng.uniform(0.5, 1.5, 30), rng.uniform(0.5, 1.5, 40))),
    "products": (products, (rng.uniform(-1, 1, (12, 15)), rng.uniform(-1, 1, (15, 13)))),
    "running": (lambda x: np.cumsum(x * x) @ x, (rng.uniform(0.5, 1.5, 40),)),
    "assigned": (assigned, (rng.uniform(0.5, 1.5, 5),)),
    "chosen": (chosen, (np.array([0.25, 0.5, 0.75]),)),
    "constant": (lambda x: 3.0, (np.ones(3),)),
    "nothing": (lambda x: x, (np.zeros(0),)),
    "the input": (lambda x: x, (0.5,)),
    "one of the results is there": (lambda x: [x[1], 2.0, x[1]], (np.array([0.5, 0.25]),)),
}
OPERATIONS = {name: getattr(cadiff, name) for name, *_ in binding.operations()}
OPERATIONS["sech_squared"] = lambda x: np.cosh(x) ** -2.0


# --- carrying out what the lines say -------------------------------------------------------------

CELL = re.compile(r"\s{2,}")
PLACES = re.compile(r"w\[([^\]]*)\]")


class Machine:
    """A workspace, and what the text of a listing does to it. Constants are those of the program:
    the text has six of their digits."""

    def __init__(self, code: Any, inputs: Any) -> None:
        parts = code.parts()
        self.w = np.full(parts["n_places"] + len(parts["constants"]), np.nan)
        self.w[len(self.w) - len(parts["constants"]) :] = parts["constants"]
        self.w[: len(inputs)] = inputs
        self.lists = parts["lists"]
        self.code = parts["code"]
        self.results: list[Any] = []
        self.guards: list[bool] = []
        self.turn = 0

    def run(self, lines: list[str]) -> None:
        lines = [line for line in lines if line.split()[0] != "constants"]
        while lines:
            line = lines.pop(0)
            head = re.fullmatch(r"(#\d+)\s+loop\s+(\d+) × \{", line)
            if head:
                end = next(k for k, other in enumerate(lines) if other.strip() == "}")
                body, lines = lines[:end], lines[end + 1 :]
                assert all(other.startswith(f"{head[1]}.") for other in body)
                for _ in range(int(head[2])):
                    self.run(body)
                continue
            head = re.fullmatch(r"#\d+\s+tiles\s+to (#\d+)\s+(\d+) times, r of them before", line)
            if head:
                end = next(k for k, other in enumerate(lines) if other.split()[0] == head[1])
                body, lines = lines[: end + 1], lines[end + 1 :]
                for self.turn in range(int(head[2])):
                    self.run(body)
                self.turn = 0
            else:
                self.step(line)

    def step(self, line: str) -> None:
        cells = CELL.split(line.strip())
        if cells[0] == "result":
            found = np.ravel(self.value(cells[2], cells[1]))
            n = int(cells[1].split()[0])
            self.results.append(np.broadcast_to(found, n) if len(found) == 1 else found)
        elif "guard" in cells[:2]:  # with a number where it is an instruction
            self.guards.append(bool(self.value(cells[-1].replace("==", "-")) == 0.0))
        else:
            _, kind, size, formulas, *_ = cells
            for formula in formulas.split("; "):
                self.instruction(kind, size, formula)

    def instruction(self, kind: str, size: str, formula: str) -> None:
        target, change, rest = re.fullmatch(r"(w\[[^\]]*\]) ([-+]?)= (.*)", formula).groups()  # type: ignore[union-attr]
        places = self.places(target, size)
        add_up = rest.startswith(("sum of", "-sum of"))
        sign = -1.0 if (rest.startswith("-") and add_up) or change == "-" else 1.0
        values = self.value(rest.split(" of ")[-1], size)
        if rest.startswith("cumsum"):  # along the last axis, maybe back from its end
            way = slice(None, None, -1 if "_back of" in rest else None)
            operand = np.broadcast_to(self.value(rest.split(" of ")[-1], size), places.shape)
            self.w[places] = np.cumsum(operand[..., way], axis=-1)[..., way]
        elif add_up or change:
            places, values = np.broadcast_arrays(places, values)
            if not change:
                self.w[places] = 0.0
            np.add.at(self.w, places, sign * values)
        else:
            self.w[places] = values

    def places(self, text: str, size: str) -> Any:
        return eval(self.index(PLACES.fullmatch(text)[1]), self.names(size))  # type: ignore[index]

    def index(self, text: str) -> str:
        ends = re.fullmatch(r"(-?\d+)\.\.(-?\d+)(?: by (-?\d+))?( [-+] \d+ \* r)?", text)
        if ends:
            step = int(ends[3] or 1)
            last = int(ends[2]) + (1 if step > 0 else -1)
            return f"np.arange({ends[1]}, {last}, {step}){ends[4] or ''}"
        return f"np.array([{text}])" if "," in text else text

    def names(self, size: str) -> dict[str, Any]:
        names: dict[str, Any] = {"np": np, "w": self.w, "r": self.turn, **OPERATIONS}
        shape = re.match(r"\(([\d, ]*)\)", size)
        if shape:
            lengths = [int(n) for n in re.findall(r"\d+", shape[1])]
            names |= {f"i{k}": grid for k, grid in enumerate(np.indices(lengths))}
        return names

    def value(self, text: str, size: str = "") -> Any:
        text = PLACES.sub(lambda found: f"w[{self.index(found[1])}]", text)
        return eval(text.replace("nan", "np.nan").replace("inf", "np.inf"), self.names(size))


def codes_of(found: Recorded, n: int) -> Iterator[tuple[str, Any, int]]:
    """All programs of a recording, and how many inputs each has beside those of f."""
    ranges = ((0, n),)
    yield "value", found.code("value"), 0
    yield "push", found.code("push", ranges), n
    yield "pull", found.code("pull", ranges), found.graph.n_outputs
    if found.graph.n_outputs == 1:
        yield "gradient", found.code("gradient", ranges), 0
        yield "second", found.code("second", ranges), n


@pytest.mark.slow
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_the_lines_say_what_the_program_does(
    name: str, optimize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, args = CASES[name]
    monkeypatch.setattr(listings, "_FEW", EVERYTHING)
    monkeypatch.setattr(texts, "number_text", lambda x: repr(float(x)))
    monkeypatch.setattr(texts, "abridged", lambda a: f"np.array({a.tolist()})")
    found, call = recorded(f, *args, optimize=optimize)
    inputs = call.vector()
    for what, code, more in codes_of(found, len(inputs)):
        given = np.concatenate([inputs, rng.uniform(0.5, 1.5, more)])
        head, *lines = listings.to_text(code, what, EVERYTHING).split("\n")
        machine = Machine(code, given)
        machine.run(lines)
        expected = code.evaluate(given)
        results = np.concatenate([np.empty(0), *machine.results])
        np.testing.assert_allclose(results, expected, rtol=1e-9, atol=1e-12)
        assert len(machine.guards) == len(code.parts()["checks"])
        assert all(machine.guards)
        assert head.startswith(f"{what}: {len(given)} input")


def test_all_kinds_of_instructions_are_among_the_cases() -> None:
    kinds: set[int] = set()
    turns = set()
    have_parts = False
    for f, args in CASES.values():
        for optimize in (True, False):
            found, call = recorded(f, *args, optimize=optimize)
            for _, code, _ in codes_of(found, len(call.vector())):
                instructions = code.parts()["code"]
                kinds |= set(instructions["kind"].tolist())
                turns |= set(instructions["y"][instructions["kind"] == 0].tolist())
                tiles = instructions[instructions["kind"] == InstructionKind.TILES]
                have_parts |= bool((tiles["x"] < tiles["n"]).any())
    elsewhere = {"CALL", "TAKE_BY", "ADD_BY", "SCAN", "MACHINE"}  # have cases of their own
    every = vars(InstructionKind)
    assert {name for name in every if every[name] in kinds} == {*every} - elsewhere
    assert max(turns) > 1
    assert have_parts


# --- graphs --------------------------------------------------------------------------------------

NODE = re.compile(r'\s+(p\d+_\w+) \[label="((?:[^"\\]|\\.)*)"')
EDGE = re.compile(r"\s+(p\d+_\w+) -> (p\d+_\w+);")


def read_dot(text: str) -> tuple[dict[str, list[str]], set[tuple[str, str]]]:
    nodes = {name: label.split(r"\n") for name, label in NODE.findall(text)}
    return nodes, set(EDGE.findall(text))


def places_in(text: str, shape: tuple[int, ...]) -> set[int]:
    """All places that a formula names, which is not abridged."""
    found: set[int] = set()
    for inner in PLACES.findall(text):
        ends = re.fullmatch(r"(-?\d+)\.\.(-?\d+)(?: by (-?\d+))?", inner)
        if ends:
            step = int(ends[3] or 1)
            found |= set(range(int(ends[1]), int(ends[2]) + (1 if step > 0 else -1), step))
        elif "i" in inner:
            names = [f"i{k}" for k in range(len(shape))]
            for index in product(*map(range, shape)):
                found.add(eval(inner, dict(zip(names, index, strict=True))))
        else:
            found |= {int(place) for place in inner.split(", ")}
    return {place for place in found if place >= 0}


@in_whole_tiles
@pytest.mark.parametrize("name", ["numbers", "neighbours", "backwards", "assigned", "products"])
def test_edges_lead_from_those_who_wrote_what_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listings, "_FEW", EVERYTHING)
    f, args = CASES[name]
    found, call = recorded(f, *args)
    code = found.code("gradient", ((0, len(call.vector())),))
    nodes, edges = read_dot(listings.to_dot([("gradient", code)], "f", EVERYTHING))
    expected = set()
    writers: dict[int, str] = {}
    for node, label in nodes.items():
        if len(label) < 2:
            continue
        if node == "p0_inputs":
            writers = dict.fromkeys(places_in(label[1], ()), node)
            continue
        if "guard" in label[0]:
            place = int(PLACES.match(label[1])[1])  # type: ignore[index]
            expected |= {(writers[place], node)} if place in writers else set()
            continue
        shape = re.search(r"\(([\d, ]*)\)", label[0])
        lengths = tuple(int(n) for n in re.findall(r"\d+", shape[1])) if shape else ()
        target, change, rest = re.split(r" ([-+]?)= ", label[1])
        reads = places_in(rest, lengths) | (places_in(target, lengths) if change else set())
        expected |= {(writers[place], node) for place in reads if place in writers}
        writers |= dict.fromkeys(places_in(target, lengths), node)
    operations = {edge for edge in edges if edge[1] != "p0_results"}
    assert operations == expected
    results = list(result_places(code.parts()))
    assert edges - operations == {
        (writers[place], "p0_results") for place in results if place in writers
    }


@pytest.mark.parametrize("name", CASES)
def test_graphs_are_whole(name: str) -> None:
    f, args = CASES[name]
    found, call = recorded(f, *args)
    codes = [(what, code) for what, code, _ in codes_of(found, len(call.vector()))]
    for max_rows in (1, 3, 100):
        text = listings.to_dot(codes, 'a "name"\n', max_rows)
        assert text.startswith('digraph "a \\"name\\"?" {\n')
        assert text.count("{") - text.count("× {") == text.count("}") == 1 + len(codes)
        nodes, edges = read_dot(text)
        order = {node: k for k, node in enumerate(nodes)}
        assert all(order[source] < order[node] for source, node in edges)
        assert len(nodes) <= (max_rows + 4) * len(codes)
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg"], input=text.encode(), check=True, capture_output=True)


@in_whole_tiles
def test_vectors_are_labelled_by_their_length() -> None:
    program = cadiff.compile(vectors)
    program.grad(np.linspace(0.0, 1.0, 99))
    assert "99 × multiply" in program.to_dot()
    assert "99 × multiply" in program.to_text()


def test_what_was_left_out_of_a_graph_is_a_node() -> None:
    found, _ = recorded(numbers_in_a_row, np.ones(3))
    code = found.code("value")
    n = code.shape[1]
    assert n > 100
    nodes, edges = read_dot(listings.to_dot([("value", code)], "f", 10))
    assert nodes["p0_left_out"] == [f"... {n - 10} operations left out ..."]
    assert len([node for node in nodes if "_op" in node]) == 10
    assert [node for source, node in edges if source == "p0_left_out"] != []


def numbers_in_a_row(x: Any) -> Any:
    """Too irregular for a loop."""
    steps = np.random.default_rng(5).integers(0, 4, 200)
    y = x[0]
    for step in steps.tolist():
        y = [cadiff.sin, cadiff.cos, cadiff.tanh, cadiff.exp][step](y * x[1]) - x[2]
    return y


# --- the middle is left out ----------------------------------------------------------------------


@pytest.mark.parametrize("max_rows", [1, 2, 7, 200])
def test_the_middle_of_a_text_is_left_out(max_rows: int) -> None:
    found, _ = recorded(numbers_in_a_row, np.ones(3))
    code = found.code("value")
    whole = listings.to_text(code, "value", EVERYTHING).split("\n")
    lines = [line for line in whole if line.startswith("#")]
    shown = listings.to_text(code, "value", max_rows).split("\n")
    kept = [line for line in shown if line.startswith("#")]
    assert len(kept) == max_rows
    ahead = (max_rows + 1) // 2
    expected = [*lines[:ahead], *lines[len(lines) - (max_rows - ahead) :]]
    assert [line.split() for line in kept] == [line.split() for line in expected]
    assert f"... {len(lines) - max_rows} lines left out ..." in shown


def test_long_programs_are_listed_by_their_ends() -> None:
    x = np.linspace(0.0, 1.0, 3000)
    program = cadiff.compile(lambda x: neighbours(x) + cnp.sum(x[::-1] ** 3), optimize=False)
    program.grad(x)
    text = program.to_text()
    assert len(text) < 100_000
    assert len(program.to_dot()) < 100_000
    assert text == program.to_text(max_rows=200)


@pytest.mark.parametrize("max_rows", [0, -1, 2.0, True, "many", None])
def test_max_rows_is_a_whole_number(max_rows: Any) -> None:
    program = cadiff.compile(vectors)
    for method in (program.to_text, program.to_dot):
        with pytest.raises(ValueError, match="max_rows is a whole number"):
            method(max_rows=max_rows)


# --- programs ------------------------------------------------------------------------------------


def test_a_program_that_recorded_nothing_says_so() -> None:
    program = cadiff.compile(neighbours)
    assert (
        program.to_text()
        == f"{program!r}\nnothing was recorded yet: call it, or one of its methods"
    )
    assert program.to_dot() == f'digraph "{program!r}" {{\n}}'


def test_all_recordings_and_their_programs_are_listed() -> None:
    program = cadiff.compile(chosen)
    x = np.array([1.0, 2.0, 3.0])
    program.grad(x)
    program(x)
    program.hessian(x)
    program.sparse_hessian(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program(x[::-1].copy())
    program.vjp(x)[1](1.0)
    text = program.to_text()
    heads = [line.split(":")[0] for line in text.split("\n") if re.match(r"[a-z]", line)]
    assert heads[0] == "recording 0"
    assert sum(head.startswith("recording") for head in heads) == 2
    assert {"value", "gradient by inputs 0..2", "dense hessian by inputs 0..2"} <= set(heads)
    assert "pull by inputs 0..2" in heads
    programs = sum(len(trace["programs"]) for trace in program.stats()["traces"])
    frames = program.to_dot().count("subgraph")
    assert frames == len(heads) - 2
    assert frames >= programs
    program.clear()
    assert "nothing was recorded" in program.to_text()


def test_programs_of_points_are_listed() -> None:
    program = cadiff.compile(neighbours)
    X = np.ones((5, 3))
    program.batch(X)
    program.batch(X, what="grad")
    program.batch(X, what="hessian")
    text = program.to_text()
    for title in ("value of points", "gradient of points by inputs 0..2"):
        assert re.search(rf"^{title}: ", text, re.MULTILINE), text
        assert f"recording 0, {title}" in program.to_dot()


def test_a_recording_that_was_read_from_bytes_has_no_program_yet() -> None:
    program = cadiff.compile(neighbours)
    program(np.ones(3))
    again = pickle.loads(pickle.dumps(program))
    assert "no program was made of it yet" in again.to_text()
    assert "subgraph" not in again.to_dot()
    again(np.ones(3))
    assert again.to_text() == program.to_text()


def test_sine_and_cosine_of_one_number_are_one_operation() -> None:
    program = cadiff.compile(lambda x: cadiff.sin(x[0]) * x[1] + cadiff.cos(x[1]))
    x = np.array([0.3, 0.7])
    value, gradient = program.value_and_grad(x)
    assert value == pytest.approx(np.sin(0.3) * 0.7 + np.cos(0.7), rel=1e-15)
    expected = [np.cos(0.3) * 0.7, np.sin(0.3) - np.sin(0.7)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-15)
    assert program.to_text().count("sin and cos") == 2
    assert "sin(w[0])" in program.to_c() and "cos(w[0])" in program.to_c()
