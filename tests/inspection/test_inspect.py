"""make_tape: what is shown is what was recorded."""

from __future__ import annotations

import functools
import pickle
import re
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import binding

from ..helpers.properties import examples


def lines_of(tape: cadiff.Tape, **kwargs: Any) -> list[str]:
    return tape.to_text(**kwargs).splitlines()


def row_of(tape: cadiff.Tape, label: str) -> list[str]:
    """The cells of a row, which are two or more blanks apart."""
    (line,) = [line for line in lines_of(tape) if line.startswith(f"{label} ")]
    return re.split(r"\s{2,}", line)


# --- exact text ------------------------------------------------------------------------------


def test_a_small_tape_as_text() -> None:
    tape = cadiff.make_tape(lambda x, y: cadiff.sin(x) * y + 2.0)(0.0, 3.0)
    assert str(tape) == (
        "<lambda>: 3 operations, 2 inputs, 1 output, 160 bytes\n"
        "    operation  operands  value  adjoint\n"
        "x   input                0      3\n"
        "y   input                3      0\n"
        "#0  sin        x         0      3\n"
        "#1  multiply   #0, y     0      1\n"
        "#2  add        #1, 2     2      1        output"
    )
    assert repr(tape) == ("<cadiff.Tape of <lambda>: 3 operations, 2 inputs, 1 output, 160 bytes>")
    assert len(tape) == 3


def test_arrays_and_assignments_as_text() -> None:
    def f(w: Any, x: Any) -> Any:
        h = w @ x
        y = cnp.zeros(3)
        y[0] = x[1]
        y[1:] = h
        y[[0, 2]] = 2.0 * x
        return np.sum(y * y)

    tape = cadiff.make_tape(f)(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]))
    assert str(tape) == dedent(
        """\
        f: 8 operations, 6 inputs, 1 output, 1192 bytes
                operation  operands            value                     adjoint
        w       input                          (2, 2) [[1. 2.] [3. 4.]]  (2, 2) [[-2. 2.] [ 0. 0.]]
        x       input                          (2,) [ 1. -1.]            (2,) [ 6. -12.]
        array0  constants                      (3,) [0. 0. 0.]
        #0      matmul     w, x                (2,) [-1. -1.]            (2,) [-2. 0.]
        #1      assign     array0[0] = x[1]    -1
        #2      assign     array0[1:3] = #0    (2,) [-1. -1.]
        #3      multiply   2, x                (2,) [ 2. -2.]            (2,) [ 4. -4.]
        #4      positive   #3                  (2,) [ 2. -2.]            (2,) [ 4. -4.]
        #5      assign     array0[[0 2]] = #4  (2,) [ 2. -2.]
        #6      square     array0              (3,) [4. 1. 4.]           (3,) [1. 1. 1.]
        #7      sum        #6                  9                         1                           output
        """  # noqa: E501
    ).rstrip("\n")


def test_names_of_inputs_come_from_the_signature() -> None:
    Point = namedtuple("Point", ["a", "b"])

    def f(params: Any, x: Any, *rest: Any, scale: float = 1.0) -> Any:
        return params["w"][1, 0] * x[2] * rest[0] * rest[1].b * scale

    tape = cadiff.make_tape(f)(
        {"w": np.ones((2, 2)), "v": 3.0}, [1.0, 2.0, 3.0], 4.0, Point(5.0, 6.0), scale=2.0
    )
    assert row_of(tape, "#0")[2] == "params['w'][1, 0], x[2]"
    assert row_of(tape, "#1")[2] == "#0, rest[0]"
    assert row_of(tape, "#2")[2] == "#1, rest[1][1]"
    labels = [line.split()[0] for line in lines_of(tape)[2:7]]
    assert labels[:4] == ["params['w']", "params['v']", "x", "rest[0]"]


def test_names_without_a_signature() -> None:
    tape = cadiff.make_tape(max)(1.0, 2.0)
    assert {line.split()[0] for line in lines_of(tape)[2:]} == {"args[0]", "args[1]"}


def test_a_primitive_is_shown_by_its_name() -> None:
    @cadiff.primitive
    def cube(x: Any) -> Any:
        return x**3

    cube.defpartials(lambda ans, x: 3 * x**2)
    tape = cadiff.make_tape(lambda x: cube(x) + 1.0)(2.0)
    assert row_of(tape, "#0") == ["#0", "cube", "x", "8", "1"]
    assert tape.stats()["by_operation"] == {"add": 1, "cube": 1}
    assert row_of(tape, "x")[-1] == "12"


def test_a_primitive_with_several_results() -> None:
    @cadiff.primitive
    def both(x: Any) -> Any:
        return 2.0 * x, np.sum(x)

    both.defvjp(lambda ans, x: lambda g: 2.0 * g[0] + g[1])

    def f(x: Any) -> Any:
        twice, total = both(x)
        return np.sum(twice) * total

    tape = cadiff.make_tape(f)(np.array([1.0, 2.0]))
    assert row_of(tape, "#0") == ["#0", "both", "x", "(2,) [2. 4.], 3", "(2,) [3. 3.], 6"]
    assert row_of(tape, "#1")[2] == "#0.0"
    assert row_of(tape, "#2")[2] == "#1, #0.1"


def test_gathers_slices_elements_and_three_operands() -> None:
    def f(x: Any, m: Any) -> Any:
        a = x[[2, 0, 0]]
        b = cadiff.where(x[0], x[1], 5.0)
        c = np.sum(x[1:4:2]) + m[1, 0] + np.sum(m.T @ m)
        return np.sum(a) + b + c

    tape = cadiff.make_tape(f)(np.arange(1.0, 6.0), np.ones((2, 2)))
    text = tape.to_text()
    assert re.search(r"take +x\[\[2 0 0\]\]", text)
    assert re.search(r"where +x\[0\], x\[1\], 5 ", text)
    assert re.search(r"sum +x\[1:5:2\]", text)
    assert re.search(r"add +#\d+, m\[1, 0\]", text)
    assert re.search(r"matmul +m\.T, m ", text)


# --- numbers that others compute -----------------------------------------------------------------


def test_adjoints_are_those_of_the_sum_of_outputs() -> None:
    def f(x: Any) -> Any:
        return {"a": cadiff.sin(x), "b": [x * x, np.ones(2) * x]}

    tape = cadiff.make_tape(f)(0.5)
    expected = np.cos(0.5) + 2 * 0.5 + 2.0
    assert float(row_of(tape, "x")[3]) == pytest.approx(expected, rel=1e-5)
    assert tape.stats()["outputs"] == 4


OPERATIONS: list[Callable[..., Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: cadiff.sin(x),
    lambda x, y: cadiff.tanh(y),
    lambda x, y: x * 3.0,
    lambda x, y: cadiff.where(x > y, x, y),
]

programs = st.lists(
    st.tuples(st.sampled_from(range(len(OPERATIONS))), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=12,
)


def run(program: list[tuple[int, int, int]], inputs: list[Any]) -> Any:
    numbers = list(inputs)
    for op, i, j in program:
        numbers.append(OPERATIONS[op](numbers[i % len(numbers)], numbers[j % len(numbers)]))
    return numbers[-1]


@examples(60)
@given(programs, st.lists(st.floats(-2, 2), min_size=2, max_size=3))
def test_length_and_adjoints_of_random_programs(
    program: list[tuple[int, int, int]], point: list[float]
) -> None:
    tape = cadiff.make_tape(lambda x: run(program, x))(point)
    assert len(tape) == len(program)
    assert sum(tape.stats()["by_operation"].values()) == len(program)
    value, gradient = cadiff.value_and_grad(lambda x: run(program, x))(point)
    n = len(point)
    assert tape._adjoints[:n].tolist() == gradient
    assert tape._values[int(tape._outputs[0]) - tape._base] == value
    for _, dot in [("dot", tape.to_dot()), ("again", tape.to_dot(max_rows=3))]:
        check_dot(dot)
    ElementTree.fromstring(tape._repr_svg_())


def test_inside_another_differentiation() -> None:
    seen = []

    def outer(x: Any) -> Any:
        tape = cadiff.make_tape(lambda y: x * y)(3.0)
        seen.append(tape)
        return x * x

    assert cadiff.grad(outer)(2.0) == 4.0
    assert row_of(seen[0], "#0") == ["#0", "multiply", "outer 2, y", "6", "1", "output"]
    assert cadiff.derivative(outer, 2.0) == 4.0

    def of_its_argument(x: Any) -> Any:
        seen.append(cadiff.make_tape(lambda y: cadiff.sin(y))(x))
        return x * x

    assert cadiff.grad(of_its_argument)(2.0) == 4.0
    assert row_of(seen[-1], "#0")[1:3] == ["sin", "y"]
    assert cadiff.derivative(of_its_argument, 2.0, order=2) == 2.0


# --- graphs --------------------------------------------------------------------------------------

STRING = r'"(?:[^"\\\n]|\\.)*"'
ATTRIBUTE = rf"\w+=(?:\w+|{STRING})"
STATEMENT = re.compile(
    rf"\s*(?:(\w+) -> (\w+)|(\w+) \[{ATTRIBUTE}(?:, ?{ATTRIBUTE})*\]|{ATTRIBUTE});"
)


def check_dot(text: str) -> tuple[set[str], list[tuple[str, str]]]:
    """Parse what we use of the grammar of dot; answers nodes and edges."""
    whole = re.fullmatch(rf"digraph {STRING} {{(.*)}}\s*", text, re.DOTALL)
    assert whole
    body, place = whole[1].rstrip(), 0
    nodes: list[str] = []
    edges: list[tuple[str, str]] = []
    while place < len(body):
        found = STATEMENT.match(body, place)
        assert found, body[place : place + 40]
        place = found.end()
        if found[1]:
            edges.append((found[1], found[2]))
        elif found[3] and found[3] != "node":
            nodes.append(found[3])
    assert len(set(nodes)) == len(nodes)
    assert {end for edge in edges for end in edge} <= set(nodes)
    return set(nodes), edges


def test_the_graph_of_a_small_tape() -> None:
    tape = cadiff.make_tape(lambda x, y: (x + y) * x)(1.0, 2.0)
    nodes, edges = check_dot(tape.to_dot())
    assert nodes == {"in0", "in1", "op0", "op1"}
    assert set(edges) == {("in0", "op0"), ("in1", "op0"), ("op0", "op1"), ("in0", "op1")}


def test_reads_follow_the_last_assignment() -> None:
    def f(x: Any) -> Any:
        y = cnp.zeros(2)
        y[0] = x
        y[1] = 2.0 * x
        return y[0] + y[1]

    _, edges = check_dot(cadiff.make_tape(f)(1.0).to_dot())
    assert ("array0", "op0") in edges  # the first assignment
    assert ("op0", "op2") in edges  # the second one
    assert ("op2", "op3") in edges and ("op2", "op4") in edges  # what is read


def test_names_are_escaped() -> None:
    nasty = 'a"b\\c]<&>\n\x01'
    tape = cadiff.make_tape(lambda p: p[nasty] * p[nasty])({nasty: 2.0})
    check_dot(tape.to_dot())
    ElementTree.fromstring(tape._repr_svg_())


def test_drawings_have_a_box_for_each_node() -> None:
    tape = cadiff.make_tape(lambda x: cadiff.sin(x) * x)(1.0)
    root = ElementTree.fromstring(tape._repr_svg_())
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    boxes = root.findall(f"{space}rect")[1:]
    assert len(boxes) == 3
    assert len(root.findall(f"{space}path")) == 3
    texts = {text.text for text in root.iter(f"{space}text")}
    assert {"x", "#0 sin", "#1 multiply"} <= texts
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    places = []
    for box in boxes:
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
        places.append((x, y, w, h))
    for a in places:
        for b in places:
            apart = (
                a[0] + a[2] <= b[0]
                or b[0] + b[2] <= a[0]
                or a[1] + a[3] <= b[1]
                or b[1] + b[3] <= a[1]
            )
            assert a is b or apart


# --- size and life -------------------------------------------------------------------------------


def test_a_million_operations() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for _ in range(500_000):
            total = total + x[0] * 2.0
        return total

    tape = cadiff.make_tape(f)([1.0, 2.0])
    assert len(tape) == 1_000_000
    lines = lines_of(tape, max_rows=5)
    assert [line.split()[0] for line in lines[2:]] == [
        *("x", "#0", "#1", "#2"),
        "...",
        *("#999998", "#999999"),
    ]
    assert lines[6] == "... 999995 operations left out ..."
    assert "adjoint" in lines[1]
    assert tape.stats()["by_operation"] == {"add": 500_000, "multiply": 500_000}
    nodes, _ = check_dot(tape.to_dot(max_rows=10))
    assert len(nodes) == 12
    root = ElementTree.fromstring(tape._repr_svg_())
    assert len(list(root)) < 500


def test_large_arrays_and_many_inputs_are_abridged() -> None:
    tape = cadiff.make_tape(lambda x, y: np.sum(x * 2.0) + y[0])(np.ones(10**6), [1.0] * 10**5)
    assert max(map(len, lines_of(tape))) < 250
    tape = cadiff.make_tape(lambda p: p["k0"] * 1.0)({f"k{i}": float(i) for i in range(100)})
    assert "... 90 inputs left out ..." in tape.to_text(max_rows=10)
    stacked = lambda x: sum(cnp.sum(np.stack([x, x])) for _ in range(50))  # noqa: E731
    tape = cadiff.make_tape(stacked)(1.0)
    assert "... 46 arrays left out ..." in tape.to_text(max_rows=4)
    check_dot(tape.to_dot(max_rows=6))


def test_a_tape_is_a_snapshot() -> None:
    before = binding.tape_usage()
    tape = cadiff.make_tape(lambda x: np.sum(cadiff.exp(x)))(np.ones(3))
    assert binding.tape_usage() == before
    text = tape.to_text()
    again = pickle.loads(pickle.dumps(tape))
    cadiff.grad(lambda x: np.sum(x * x))(np.ones(100))
    assert again.to_text() == tape.to_text() == text
    assert again.stats() == tape.stats()
    assert again._repr_svg_() == tape._repr_svg_()


def test_nbytes_counts_entries_values_and_adjoints() -> None:
    tape = cadiff.make_tape(lambda x: x * x)(2.0)
    assert tape.nbytes == 2 * 16 + 2 * 2 * 8 == tape.stats()["nbytes"]


def test_exceptions_pass_through_and_nothing_stays() -> None:
    class OddError(Exception):
        pass

    def f(x: Any) -> Any:
        y = x * x
        raise OddError(y.value)

    before = binding.tape_usage()
    with pytest.raises(OddError, match="4"):
        cadiff.make_tape(f)(2.0)
    assert binding.tape_usage() == before
    assert cadiff.grad(lambda x: x * x)(2.0) == 4.0


def test_refusals() -> None:
    with pytest.raises(TypeError, match="must be real numbers"):
        cadiff.make_tape(lambda x: None)(1.0)
    with pytest.raises(TypeError, match="argument 0 is no real number"):
        cadiff.make_tape(lambda x: x)("a")
    with pytest.raises(TypeError, match="make_tape takes a function, not int"):
        cadiff.make_tape(3)  # type: ignore[arg-type]
    for rows in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="max_rows is a whole number"):
            cadiff.make_tape(lambda x: x)(1.0).to_text(max_rows=rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("f", "args", "operations"),
    [
        (lambda: 3.0, (), 0),
        (lambda x: 3.0, (1.0,), 0),
        (lambda x: x, (np.zeros((0, 3)),), 0),
        (lambda x: np.sum(x), (np.zeros(0),), 0),
        (lambda x: x * 2, (np.array(3.0),), 1),
        (lambda x, y: x + y, ([], 1.0), 1),
        (lambda x: x[::-1, ::2].T * 2, (np.arange(12.0).reshape(3, 4)[:, ::-1],), 1),
    ],
)
def test_empty_constant_and_strided(f: Any, args: Any, operations: int) -> None:
    if args and isinstance(args[0], list):
        f = lambda x, y: y * 2.0  # noqa: E731
    tape = cadiff.make_tape(f)(*args)
    assert len(tape) == operations
    check_dot(tape.to_dot())
    ElementTree.fromstring(tape._repr_svg_())
    assert tape.to_text()


def test_joined_arrays_are_linked_to_their_parts() -> None:
    tape = cadiff.make_tape(lambda x: cnp.sum(cnp.concatenate([np.full(1, 7.0), x, x * 2.0])))(
        np.array([1.0, 3.0])
    )
    lines = [line.split() for line in tape.to_text().splitlines()[2:]]
    assert lines[1] == ["array0", "joined", "(5,)", "[7.", "1.", "3.", "2.", "6.]"]
    assert lines[3:5] == [
        ["#1", "assign", "array0[0]", "=", "7", "7"],
        ["#2", "assign", "array0[1:3]", "=", "x", "(2,)", "[1.", "3.]"],
    ]
    assert lines[6] == ["#4", "sum", "array0", "19", "1", "output"]
    edges = re.findall(r"(\w+) -> (\w+)", tape.to_dot())
    assert {("in0", "op2"), ("op0", "op3"), ("op2", "op3"), ("op3", "op4")} <= set(edges)


def test_numbers_that_were_never_written_are_not_shown() -> None:
    cadiff.grad(lambda x: functools.reduce(lambda y, _: cadiff.sin(y) * 7.0, range(200), x))(0.5)
    cubed = lambda y: np.sum(np.stack([y]) ** 3)  # noqa: E731
    text = cadiff.make_tape(lambda x: cadiff.grad(cubed)(x))(2.0).to_text()
    sums = [line.split() for line in text.splitlines() if " sum " in line]
    assert [line[1:] for line in sums] == [
        ["sum", "#2", "8", "0"],
        ["sum", "array1[5],", "1"],
        ["sum", "array1[4],", "array1[5]"],
        ["sum", "array1[1],", "#8"],
        ["sum", "array1[0],", "array1[1]"],
    ]


# --- drawings ------------------------------------------------------------------------------------


def points_of(path: str) -> Any:
    """Points along a path of M, V and C, a pixel apart or less, for the most part."""
    points: list[Any] = []
    for command, numbers in re.findall(r"([MVC])([-\d. ]+)", path):
        at = np.array(numbers.split(), float)
        if command == "M":
            points.append(at)
        elif command == "V":
            points += [
                np.array([points[-1][0], y]) for y in np.linspace(points[-1][1], at[0], 200)
            ]
        else:
            a, (b, c, d) = points[-1], at.reshape(3, 2)
            for t in np.linspace(0.0, 1.0, 200):
                s = 1.0 - t
                points.append(s**3 * a + 3 * s * s * t * b + 3 * s * t * t * c + t**3 * d)
    return np.array(points)


def around(x: Any, y: Any) -> Any:
    a = cadiff.sin(x)
    b = a * x
    d = cadiff.exp(b * b) * y + x
    return d * x + a


@pytest.mark.parametrize(
    ("f", "args", "number"),
    [
        (lambda x: x * x, (3.0,), 2),
        (lambda x: cadiff.sin(x) * x, (0.5,), 3),
        (around, (1.0, 2.0), 14),
        (lambda x: cadiff.clip(x, x, x), (1.0,), 3),
        (lambda x: (cnp.exp(x) @ x + x[1]) * x[0] * cnp.sum(x), (np.ones(3),), None),
    ],
)
def test_no_box_hides_an_edge(f: Any, args: Any, number: int | None) -> None:
    root = ElementTree.fromstring(cadiff.make_tape(f)(*args)._repr_svg_())
    space = "{http://www.w3.org/2000/svg}"
    boxes = [
        [float(box.get(name, "")) for name in ("x", "y", "width", "height")]
        for box in root.iter(f"{space}rect")
        if box.get("stroke")
    ]
    paths = [path.get("d", "") for path in root.iter(f"{space}path")]
    assert len(set(paths)) == len(paths)
    assert number is None or len(paths) == number
    for path in paths:
        x, y = points_of(path).T
        for left, top, width, height in boxes:
            inside = (left + 0.5 < x) & (x < left + width - 0.5)
            assert not np.any(inside & (top + 0.5 < y) & (y < top + height - 0.5)), path
