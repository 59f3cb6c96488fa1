"""What was recorded as a file: bytes that are checked when they are read, and text in C."""

from __future__ import annotations

import ctypes
import pickle
import re
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.programs import codegen
from cadiff.transforms._outputs import Output

from ..helpers.functions import rosenbrock
from ..helpers.processes import COMPILER, isolated, needs_compiler
from ..helpers.table import TABLE

rng = np.random.default_rng(7)


def recorded(f: Callable[..., Any], *args: Any, optimize: bool = True) -> Any:
    """What f computes at some arguments, as a graph."""
    with binding.Guarded(args, f) as guarded:
        out = Output(f(*guarded.lifted))
        graph = binding.graph_of(guarded.recording, out.atoms, optimize)
        out.atoms = []
    return graph


def vector(args: Any) -> Any:
    """All arguments in a row."""
    return np.concatenate([np.ravel(np.asarray(x, dtype=float)) for x in args])


def everything(graph: Any) -> list[tuple[int, int]]:
    return [(0, graph.n_inputs)]


# --- what is recorded ----------------------------------------------------------------------------


def network(w1: Any, w2: Any, x: Any) -> Any:
    return cnp.sum(cnp.tanh(cnp.tanh(x @ w1) @ w2) ** 2)


def broadcast(a: Any, b: Any) -> Any:
    return cnp.sum(cnp.sum(cnp.exp(-((a[:, None] - b[None, :]) ** 2)), axis=0) ** 2)


def gathered(x: Any) -> Any:
    places = np.arange(len(x))[::-1] * 7 % len(x)
    return cnp.sum(cnp.sin(x[places]) * x[places // 2] * x[::-1])


def assigned(x: Any) -> Any:
    y = cnp.zeros(50) * x[0]
    y[10:40] = x[:30] * 2.0
    y[::5] = x[:10]
    return cnp.sum(y * y)


def along_axes(x: Any) -> Any:
    rows = cnp.sum(cnp.sum(x, axis=1) ** 2)
    return (
        rows + cnp.sum(cnp.mean(x, axis=0) ** 3) + cnp.sum(x.T @ x) + cnp.sum(cnp.exp(x.T)[::-1])
    )


def running(x: Any) -> Any:
    columns = cnp.cumsum(cnp.sin(x), axis=0) * x[::-1]
    return cnp.sum(cnp.vecdot(columns, cnp.cumsum(x * x, axis=1)) ** 2) + cnp.cumsum(x)[40]


def with_empty(x: Any, y: Any, z: Any) -> Any:
    return cnp.sum(x) + cnp.sum(y * y) + cnp.sum(z)


PROGRAMS: dict[str, tuple[Any, ...]] = {
    "few numbers": (rosenbrock, np.linspace(-1.0, 1.0, 5)),
    "many numbers": (rosenbrock, np.linspace(-1.0, 1.0, 120)),  # in parts, if not optimized
    "network": (network, *[rng.normal(size=s) for s in [(20, 30), (30, 5), (40, 20)]]),
    "matrices": (
        lambda a, b: cnp.sum(cnp.matmul(a, b) * 1.5),
        *[rng.normal(size=s) for s in [(3, 10, 8), (3, 8, 9)]],
    ),
    "broadcast": (broadcast, rng.normal(size=30), rng.normal(size=40)),
    "gathered": (gathered, rng.normal(size=200)),
    "assigned": (assigned, rng.normal(size=30)),
    "axes": (along_axes, rng.normal(size=(12, 13))),
    "running sums": (running, rng.normal(size=(9, 8))),
    "empty": (with_empty, np.zeros(0), rng.normal(size=30), np.zeros((0, 4))),
    "of nothing": (lambda x: 3.0, np.zeros(0)),
    "nothing done": (lambda x: x, 0.5),
    "constant": (lambda x: 0.1 + 0.2, 0.5),
    "odd constants": (lambda x: cadiff.where(x > 5.0, -np.inf, x * -1e-300) * 1e300, 0.5),
    "extremes": (
        lambda x: cnp.sum(cnp.max(x.reshape(2, 3, 4), axis=(0, 2)) ** 2) * cnp.min(x) - cnp.max(x),
        np.concatenate([rng.normal(size=20), [0.5, 0.5, 3.0, 3.0]]),
    ),
    "products": (
        lambda x: cnp.prod(x) + cnp.sum(cnp.prod(x.reshape(2, 4), axis=0) ** 2) + cnp.prod(x[:1]),
        np.array([1.5, -0.5, 2.0, 0.0, 1.25, 3.0, -1.0, 0.75]),
    ),
    "extremes of rows": (
        lambda x: cnp.sum(cnp.max(x.reshape(6, 4), axis=1) ** 2) + cnp.ptp(x),
        np.concatenate([rng.normal(size=20), [0.5, 0.5, 3.0, 3.0]]),
    ),
    "long": (lambda x: cnp.sum(cnp.sin(x) * x[0]) / cnp.max(cnp.abs(x)), rng.normal(size=100_000)),
}
SEVERAL: dict[str, tuple[Any, ...]] = {
    "array and numbers": (
        lambda x, y: (cnp.sin(x) * y, cnp.sum(x), 3.0),
        rng.normal(size=40),
        0.5,
    ),
    "no results": (lambda x: x[:0], rng.normal(size=4)),
    "turned about": (lambda x: (x.T * 2.0, x[::-1], x[0]), rng.normal(size=(5, 6))),
}
ALL = PROGRAMS | SEVERAL


@pytest.fixture(params=ALL)
def program(request: pytest.FixtureRequest) -> Any:
    return ALL[request.param]


# --- bytes ---------------------------------------------------------------------------------------


def answers(graph: Any, x: Any) -> Iterator[Any]:
    """Results of all kinds of programs that are made from a graph."""
    which = everything(graph)
    more = np.concatenate([x, np.linspace(1.0, 2.0, graph.n_inputs)])
    yield graph.code_of("value").evaluate(x)
    if graph.n_outputs == 1:
        yield graph.code_of("gradient", which).evaluate(x)
        yield graph.code_of("second", which).evaluate(more)
    yield graph.code_of("push", which).evaluate(more)
    yield graph.code_of("pull", which).evaluate(np.concatenate([x, np.ones(graph.n_outputs)]))


@pytest.mark.parametrize("optimize", [True, False])
def test_a_graph_is_the_same_after_pickling(program: Any, optimize: bool) -> None:
    f, *args = program
    graph = recorded(f, *args, optimize=optimize)
    data = pickle.dumps(graph)
    other = pickle.loads(data)
    assert pickle.dumps(other) == data
    for name in ("sizes", "n_inputs", "n_outputs", "n_recorded", "guards"):
        assert getattr(other, name) == getattr(graph, name)
    x = vector(args)
    for found, expected in zip(answers(other, x), answers(graph, x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_derivatives_are_not_pickled() -> None:
    graph = recorded(rosenbrock, np.ones(6))
    data = pickle.dumps(graph)
    for _ in answers(graph, np.ones(6)):
        assert pickle.dumps(graph) == data


def choosing(x: Any) -> Any:
    if x[0] > 0.0:
        return x[0] * x[1] if x[1] != 2.0 else x[1]
    return -x[0]


def test_guards_are_pickled() -> None:
    graph = recorded(choosing, np.array([1.0, 3.0]))
    other = pickle.loads(pickle.dumps(graph))
    assert len(other.guards) == 2
    assert other.guards == graph.guards
    for x in ([1.0, 3.0], [-1.0, 3.0], [1.0, 2.0]):
        found, expected = (g.code_of("value").evaluate(np.array(x)) for g in (other, graph))
        assert found == expected


HEADER = struct.Struct("<8s10Q")


def bytes_of(f: Callable[..., Any], *args: Any) -> bytes:
    return bytes(binding.reduced_graph(recorded(f, *args))[1][0])


def sealed(body: bytes) -> bytes:
    """With the right checksum, as those have who mean harm."""
    return body + zlib.crc32(body).to_bytes(4, "little")


def test_damaged_bytes_are_refused() -> None:
    data = bytes_of(rosenbrock, np.ones(4))
    for k in range(len(data)):
        changed = bytearray(data)
        changed[k] ^= 0x10
        with pytest.raises(ValueError, match="not the bytes of a recorded function"):
            binding.graph_from_bytes(bytes(changed))
    foreign = (b"cad", pickle.dumps([1]), data[4:])
    for other in (*(data[:k] for k in range(len(data))), *foreign):
        with pytest.raises(ValueError, match="not the bytes of a recorded function"):
            binding.graph_from_bytes(other)
    with pytest.raises(TypeError, match="expected the bytes of a recorded function, not str"):
        binding.graph_from_bytes("program")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="compile the function anew"):
        binding.graph_from_bytes(b"cadgrf99" + data[8:])
    with pytest.raises(ValueError, match="not of the lengths it says"):
        binding.graph_from_bytes(sealed(data[:-4] + bytes(8)))


def test_operations_are_known_by_name() -> None:
    data = bytes_of(lambda x: cadiff.sin(x), 0.5)
    assert b"\nsin" in data
    version = re.escape(cadiff.__version__)
    with pytest.raises(ValueError, match=f"cadiff {version} recorded.*'sim'"):
        binding.graph_from_bytes(sealed(data[:-4].replace(b"\nsin", b"\nsim")))
    # Another function of as many operands is another function, and not an error.
    other = binding.graph_from_bytes(sealed(data[:-4].replace(b"\nsin", b"\ncos")))
    assert other.code_of("value").evaluate(np.array([0.5])) == np.cos(0.5)
    for name in (b"\nadd", b"\nsum", b"\nlog2"):
        with pytest.raises(ValueError, match=r"not the bytes|does not have|lengths"):
            binding.graph_from_bytes(sealed(data[:-4].replace(b"\nsin", name)))


def is_answered(data: bytes) -> bool:
    """Whether some bytes are a graph; if so, all that it computes is computed."""
    try:
        graph = binding.graph_from_bytes(data)
    except (ValueError, MemoryError):
        return False
    if graph.n_inputs < 10_000 and graph.n_outputs < 10_000:
        for result in answers(graph, np.linspace(-1.0, 1.0, graph.n_inputs)):
            assert isinstance(result, (tuple, np.ndarray))
    return True


HOSTILE: dict[str, tuple[Any, ...]] = {
    "numbers": (rosenbrock, np.linspace(-1.0, 1.0, 3)),
    "guards": (choosing, np.array([1.0, 3.0])),
    "network": (network, *[rng.normal(size=s) for s in [(5, 6), (6, 5), (5, 5)]]),
    "broadcast": (broadcast, rng.normal(size=6), rng.normal(size=7)),
    "gathered": (gathered, rng.normal(size=40)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_bytes_lead_out_of_a_program(name: str) -> None:
    """Bytes with the right checksum are refused, or mean a program that runs."""
    f, *args = HOSTILE[name]
    body = bytes_of(f, *args)[:-4]
    outcomes = set()
    for k in range(8, len(body)):
        for value in (0, 1, 0x7F, 0x80, 0xFF, body[k] ^ 1, (body[k] + 1) % 256):
            if value != body[k]:
                changed = body[:k] + bytes([value]) + body[k + 1 :]
                outcomes.add(is_answered(sealed(changed)))
    assert outcomes == {False, True}


def with_input_of(size: int, data: bytes) -> bytes:
    """A graph whose only input is larger, or smaller, than it was: what no other number is made of
    is called something else then."""
    n_text, _, _, _, n_outputs, n_guards = HEADER.unpack_from(data)[1:7]
    at = HEADER.size + n_text
    behind = at + 4 * n_outputs
    input_size = behind + 13 * n_guards + 16 + 4  # the second record, behind a constant
    [before] = struct.unpack_from("<I", data, input_size)
    outputs = np.frombuffer(data, "<u4", n_outputs, at) + np.uint32(size) - np.uint32(before)
    changed = data[:at] + outputs.tobytes() + data[behind:input_size] + struct.pack("<I", size)
    return sealed(changed + data[input_size + 4 : -4])


@pytest.mark.parametrize("size", [2, 4, 2**30])
def test_a_program_whose_sizes_do_not_fit_is_refused(size: int) -> None:
    program = cadiff.compile(lambda x: x[0] * x[1])
    program(np.ones(3))
    pickled = pickle.dumps(program._traces.portable())
    [[recorded]] = pickle.loads(pickled).values()
    [data, _] = binding.reduced_graph(recorded.graph)[1]
    assert with_input_of(3, data) == data
    binding.graph_from_bytes(with_input_of(size, data))  # it is a graph
    assert pickled.count(data) == 1
    with pytest.raises(ValueError, match=f"its recording takes {size} numbers .* have 3 and 1"):
        pickle.loads(pickled.replace(data, with_input_of(size, data)))


# --- C -------------------------------------------------------------------------------------------

FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]


class Library:
    """Files of C, compiled."""

    def __init__(self, directory: Path, *texts: str) -> None:
        paths = [directory / f"f{k}.c" for k in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="ascii")
        library = str(directory / "f.so")
        command = [*COMPILER, *FLAGS, *map(str, paths), "-o", library, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.library = ctypes.CDLL(library)

    def call(self, name: str, *given: Any, results: tuple[int, ...]) -> Any:
        arrays = [np.ascontiguousarray(x, dtype=np.float64) for x in given]
        # One number more than there should be: nobody may write to it.
        made = [np.full(n + 1, 1234.5) for n in results]
        places = [ctypes.c_void_p(array.ctypes.data) for array in [*arrays, *made]]
        missed = getattr(self.library, name)(*places)
        assert all(array[-1] == 1234.5 for array in made)
        return missed, *[array[:-1] for array in made]


def assert_close(found: Any, expected: Any) -> None:
    """But for rounding, also where terms cancel."""
    scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13 * scale)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("optimize", [True, False])
def test_c_has_values_and_gradients(optimize: bool, tmp_path: Path) -> None:
    graphs = [recorded(f, *args, optimize=optimize) for f, *args in ALL.values()]
    texts = [codegen.to_c(g, everything(g), f"f{k}") for k, g in enumerate(graphs)]
    library = Library(tmp_path, *texts)
    for k, (graph, (f, *args)) in enumerate(zip(graphs, ALL.values(), strict=True)):
        x, n = vector(args), graph.n_outputs
        if k < len(PROGRAMS):
            value, gradient = cadiff.value_and_grad(f, tuple(range(len(args))))(*args)
            expected, given, name = [np.array([value]), vector(gradient)], [x], "value_and_grad"
        else:
            given, name = [x, rng.normal(size=n)], "value_and_vjp"
            pulled = graph.code_of("pull", everything(graph)).evaluate(np.concatenate(given))
            expected = [pulled[:n], pulled[n:]]
        missed, found = library.call(f"f{k}_value", x, results=(n,))
        assert missed == 0
        assert_close(found, expected[0])
        missed, *both = library.call(f"f{k}_{name}", *given, results=(n, graph.n_inputs))
        assert missed == 0
        for one, other in zip(both, expected, strict=True):
            assert_close(one, other)


POINTS = (0.3, 0.7, 1.6, -0.4)


def every_operation(x: Any) -> Any:
    """Each operation of the table at some points, some of them outside its domain."""
    results = []
    for row in TABLE:
        f = getattr(cadiff if row.public else binding._core, row.name)
        for k in range(len(POINTS)):
            operands = [
                float(k) if domain == "int" else x[(k + i) % len(POINTS)]
                for i, domain in enumerate(row.domain)
            ]
            results.append(f(*operands))
    return tuple(results)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("special", [False, True])
def test_c_has_every_operation(special: bool, tmp_path: Path) -> None:
    x = np.array([0.0, np.inf, -np.inf, np.nan] if special else POINTS)
    graph = recorded(every_operation, np.array(POINTS))
    library = Library(tmp_path, codegen.to_c(graph, everything(graph), "f"))
    cotangents = np.linspace(0.5, 1.5, graph.n_outputs)
    expected = graph.code_of("pull", everything(graph)).evaluate(np.r_[x, cotangents])
    sizes = (graph.n_outputs, graph.n_inputs)
    missed, values, derivatives = library.call("f_value_and_vjp", x, cotangents, results=sizes)
    assert missed == 0
    assert_close(values, expected[: graph.n_outputs])
    assert_close(derivatives, expected[graph.n_outputs :])
    assert_close(values, np.array(every_operation(x), dtype=float))


@needs_compiler
def test_c_answers_the_choice_that_is_another_one(tmp_path: Path) -> None:
    graph = recorded(choosing, np.array([1.0, 3.0]))
    library = Library(tmp_path, codegen.to_c(graph, everything(graph), "f"))
    for x, wanted, numbers in (
        ([2.0, 5.0], 0, [10.0, 5.0, 2.0]),
        ([-1.0, 3.0], 1, [1234.5] * 3),
        ([1.0, 2.0], 2, [1234.5] * 3),
        ([np.nan, 3.0], 1, [1234.5] * 3),
    ):
        missed, value, gradient = library.call("f_value_and_grad", x, results=(1, 2))
        assert missed == wanted == library.call("f_value", x, results=(1,))[0]
        np.testing.assert_array_equal([*value, *gradient], numbers)


FEW, MANY = rng.integers(0, 5, 1100), rng.integers(0, 60, 1100)


def observed(x: Any) -> Any:
    """Of a few and of many things that were gathered."""
    few, many = x[:15].reshape(5, 3)[FEW], x[15:].reshape(60, 3)[MANY]
    turned = few[:, 0] * many[:, 1] - few[:, 1] * many[:, 2]
    return cnp.reshape((cnp.sin(few * many).T + turned).T, -1)


def orbit(x: Any) -> Any:
    place, path = x[0], []
    for _ in range(40):
        place = x[1] * place * (1.0 - place) + 0.01 * cadiff.sin(x[2] * place)
        path.append(place)
    return cnp.array(path)


def last_of_orbit(x: Any) -> Any:
    return orbit(x)[-1] * x[1]


WEIGHTS = rng.normal(size=(20, 9))

# What Jacobians and Hessians are made of: few numbers; those of one code, in diagonals, in a dense
# matrix, and anyhow; products along all directions, and along few of them, or of gathered numbers.
MATRICES: dict[str, tuple[Any, Any]] = {
    "few": (rosenbrock, np.linspace(-1.0, 1.0, 5)),
    "diagonals": (rosenbrock, np.linspace(-1.0, 1.0, 60)),
    "a diagonal": (lambda x: cnp.sin(x) * x[::-1], rng.normal(size=200)),
    "dense": (lambda x: cnp.tanh(WEIGHTS @ cnp.sin(x)), rng.normal(size=9)),
    "anyhow": (lambda x: cnp.sin(x[MANY[:99]] * x[FEW[:99]]) * cnp.sum(x), rng.normal(size=60)),
    "a path": (orbit, np.array([0.3, 3.1, 0.5])),
    "by a path": (last_of_orbit, np.array([0.3, 3.1, 0.5])),
    "by a number": (lambda x: last_of_orbit(cnp.stack([0.3, x[0], 0.5])), np.array([3.1])),
    "by colours": (lambda x: cnp.max(x.reshape(3, 40) * x[0], axis=0), rng.normal(size=120)),
    "columns": (lambda x: cnp.sin(cnp.cumsum(cnp.sin(cnp.cumsum(x)))), np.linspace(0.0, 1.0, 600)),
    "rows": (lambda x: cnp.sum(x) * cnp.sin(cnp.cumsum(x))[:500], np.linspace(0.0, 1.0, 600)),
    "gathered": (observed, rng.normal(size=195)),
    "of nothing": (lambda x: x[:0], np.ones(4)),
    "constant": (lambda x: 3.0, np.ones(12)),
}


def of_methods(f: Any, x: Any) -> Iterator[tuple[str, str, list[Any], list[Any]]]:
    """What methods of a program give: their names, those in C, what is given, and results."""
    program: Any = cadiff.compile(f)
    value, pull = program.vjp(x)
    v, u = np.cos(np.arange(x.size)), np.sin(1.0 + np.arange(np.size(value)))
    seed = float(u[0]) if np.ndim(value) == 0 else u.reshape(np.shape(value))
    yield "value", "value", [x], [value]
    yield "jvp", "value_and_jvp", [x, v], [*program.jvp((x,), (v,))]
    yield "vjp", "value_and_vjp", [x, u], [value, pull(seed)]
    yield "jacobian", "jacobian", [x], [program.jacobian(x)]
    if np.ndim(value) == 0:
        yield "value_and_grad", "value_and_grad", [x], [*program.value_and_grad(x)]
        yield "hvp", "hvp", [x, v], [program.hvp(x, v)]
        yield "hessian", "hessian", [x], [program.hessian(x)]


@needs_compiler
def test_c_has_what_the_methods_give(tmp_path: Path) -> None:
    binding.set_least_loop(60)
    try:
        expected = [[*of_methods(f, x)] for f, x in MATRICES.values()]
        programs: list[Any] = [cadiff.compile(f) for f, _ in MATRICES.values()]
        texts = [
            program.to_c(x, name=f"f{k}", what=[what for what, *_ in expected[k]])
            for k, (program, (_, x)) in enumerate(zip(programs, MATRICES.values(), strict=True))
        ]
    finally:
        binding.set_least_loop()
    library = Library(tmp_path, *texts)
    for k, methods in enumerate(expected):
        for _, name, given, results in methods:
            sizes = tuple(map(np.size, results))
            missed, *found = library.call(f"f{k}_{name}", *given, results=sizes)
            assert missed == 0
            for one, other in zip(found, results, strict=True):
                assert_close(one, np.ravel(other))


@needs_compiler
def test_c_of_the_arguments_that_are_chosen(tmp_path: Path) -> None:
    args = (rng.normal(size=4), rng.normal(size=5))
    program: Any = cadiff.compile(broadcast)
    chosen = ((1,), (1, 0), (0, 1))
    graph = recorded(broadcast, *args)
    texts = [codegen.to_c(graph, [(4, 9)], "g")]
    texts += [
        program.to_c(*args, name=f"f{k}", what="hessian", argnums=argnums)
        for k, argnums in enumerate(chosen)
    ]
    library = Library(tmp_path, *texts)
    for k, argnums in enumerate(chosen):
        order = [*argnums, *({0, 1} - {*argnums})]  # those first
        expected = np.block([[*row] for row in program.hessian(*args, argnums=argnums)])
        given = vector([args[i] for i in order])
        missed, found = library.call(f"f{k}_hessian", given, results=(expected.size,))
        assert missed == 0
        assert_close(found, expected.ravel())
    missed, _, found = library.call("g_value_and_grad", vector(args), results=(1, 5))
    assert missed == 0
    assert_close(found, cadiff.grad(broadcast, 1)(*args))


@needs_compiler
def test_c_writes_no_part_of_a_matrix(tmp_path: Path) -> None:
    graph = recorded(choosing, np.array([1.0, 3.0]))
    of_choices = codegen.to_c(graph, everything(graph), "f", ["hessian"])
    by_products, x = MATRICES["by colours"]
    program: Any = cadiff.compile(by_products)
    text = program.to_c(x, name="g", what="jacobian")
    assert "*matrix = room" in text  # which guards are compared in the midst of
    library = Library(tmp_path, of_choices, text)
    missed, found = library.call("f_hessian", [1.0, 2.0], results=(4,))
    assert missed == 2
    np.testing.assert_array_equal(found, 1234.5)
    missed, found = library.call("g_jacobian", np.full(120, np.inf), results=(40 * 120,))
    assert missed > 0
    np.testing.assert_array_equal(found, 1234.5)


def test_c_of_what_there_is_not_is_refused() -> None:
    program: Any = cadiff.compile(lambda x: (x, 2.0 * x))
    for what in ("hessian", "hvp", "value_and_grad"):
        with pytest.raises(
            ValueError, match=f'"{what}" is of one number, but <?lambda>?|f returns 2'
        ):
            program.to_c(1.0, what=what)
    with pytest.raises(ValueError, match=r"what is one of \['value', .*, not 'grad'"):
        program.to_c(1.0, what=["jvp", "grad"])
    with pytest.raises(ValueError, match="call to_c with the arguments of f"):
        program.to_c(argnums=1)
    own = cadiff.primitive(lambda x: np.sin(x))
    own.defvjp(lambda ans, x: lambda g: float(g) * np.cos(x))  # which is of plain numbers
    with pytest.raises(ValueError, match="is a function of Python and has no text in C"):
        cadiff.compile(lambda x: own(x) * x).to_c(1.0, what="hessian")


def test_c_explains_itself() -> None:
    graph = recorded(with_empty, *PROGRAMS["empty"][1:])
    text = codegen.to_c(graph, everything(graph), "model")
    head = text[: text.index("*/")]
    for part in ("int model_value(const double *x", "sizes 0, 30, 0", cadiff.__version__):
        assert part in head
    assert "cad_sinc" not in text  # what is not called is not there


@pytest.mark.parametrize("name", ["", "1f", "f g", "f;", "é", "double", "while", 3, None, "f\n"])
def test_names_that_c_does_not_have_are_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="name must be"):
        codegen.to_c(recorded(lambda x: x, 0.5), [(0, 1)], name)


DAMAGE = """
import pickle, pickletools, random, warnings
import numpy as np
import cadiff, cadiff.numpy as cnp

warnings.simplefilter("ignore")
x, at = np.array([0.3, 0.7, -0.2]), np.array([2, 0])


def branching(x):
    return cnp.sum(cnp.sin(x) ** 3) + x @ x if x[0] > 0.0 else cnp.sum(x[::-1] * 0.1)


def indexing(x, at):
    return cnp.sum(x[at] ** 3)


def of_containers(given):
    return {"sum": given["x"] * given["y"][0], "squares": cnp.sum(given["x"] ** 2)}


def used(thing, args):
    found = [thing(*args)]
    for name in ("grad", "hessian"):
        if hasattr(thing, name) and not isinstance(found[0], dict):
            found.append(getattr(thing, name)(*args))
    return found


THINGS = [(cadiff.compile(branching), (x,)), (cadiff.compile(indexing), (x, at))]
THINGS += [(cadiff.compile(of_containers), ({"x": x, "y": [2.0]},))]
THINGS += [(cadiff.linearize(branching, x)[1], (x,)), (cadiff.vmap(branching), (np.ones((2, 3)),))]
draw = random.Random(1)
for thing, args in THINGS:
    expected = used(thing, args)
    data = pickle.dumps(thing)
    for _ in range(80):
        damaged = bytearray(data)
        damaged[draw.randrange(len(data))] ^= draw.randrange(1, 256)
        try:
            list(pickletools.genops(bytes(damaged)))  # Python's own reader trusts absurd sizes
            found = used(pickle.loads(bytes(damaged)), args)
        except Exception:
            continue
        np.testing.assert_equal(found, expected)
print("done")
"""


def test_a_byte_that_has_changed_gives_an_error_or_an_equal_thing() -> None:
    """In a process of its own, which a crash ends."""
    assert isolated(DAMAGE) == "done"
