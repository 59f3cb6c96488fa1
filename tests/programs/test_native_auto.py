"""Machine code by itself: when it is made, when it serves, and that no bit changes then."""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
import cadiff.math
import cadiff.numpy as cnp
from benchmarks import loop_problems, model_problems, sequence_problems
from benchmarks.native import PROBLEMS
from cadiff.binding import Code, Graph
from cadiff.programs import machine_code, native

from ..helpers.drafts import Script, drafted
from ..helpers.functions import rosenbrock
from ..helpers.processes import isolated, needs_compiler
from ..helpers.programs import REFUSED, quiet
from .test_native import compiler_in
from .test_program_files import everything

pytestmark = [needs_compiler, pytest.mark.skipif(os.name == "nt", reason="needs POSIX")]

X = np.linspace(-1.0, 1.2, 600)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


@pytest.fixture(autouse=True)
def worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """One of the test's own, which makes at once what has run for a hundredth of a second."""
    monkeypatch.setenv("CADIFF_CACHE", str(folder))
    monkeypatch.delenv("CADIFF_NATIVE", raising=False)
    monkeypatch.setattr(native, "_worker", native._Worker())
    monkeypatch.setattr(native, "SECONDS", 1e-9)
    monkeypatch.setattr(native, "SECONDS_OF_EACH", 0.0)
    yield native._worker
    native._worker.end()


SETTLED = ("machine code", "interpreter: machine code takes ")


def serving(program: cadiff.Program[..., Any]) -> str:
    return str(program.stats()["native"])


def tries() -> Iterator[None]:
    """For two minutes."""
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        yield
    raise AssertionError("two minutes are over")


def run_until(program: cadiff.Program[..., Any], *is_told: str, x: Any = X) -> str:
    """Call a program until it is told what serves; its gradient has the same bits all the time."""
    expected = program.value_and_grad(x)[1]
    for _ in tries():
        for _ in range(100):
            assert program.value_and_grad(x)[1].tobytes() == expected.tobytes()
        told = serving(program)
        if told.startswith(is_told) and "by turns" not in told:
            break
    return told


# --- the same bits -------------------------------------------------------------------------------


def put_machine_code(code: Code) -> None:
    """In the place of the interpreter, without a trial."""
    code.watch = lambda code, seconds: None
    native.make_machine_code(code)
    code.watch = None
    if code.has_machine:
        code.judge()


def answers(code: Code, points: list[Any]) -> list[bytes]:
    return [np.asarray(code.evaluate(x)).tobytes() for x in points]


def keeps_bits(graph: Graph, points: list[Any]) -> None:
    """Value and derivative of what was recorded, at points that it serves or not."""
    codes = [graph.code_of("value")]
    if graph.n_outputs == 1:
        codes.append(graph.code_of("gradient", everything(graph)))
    for code in codes:
        some = [x for x in points if len(x) == code.n_inputs]
        expected = answers(code, some)
        put_machine_code(code)
        assert answers(code, some) == expected, code.serves


def recorded(f: Callable[..., Any], *args: Any) -> Graph:
    program = cadiff.compile(f, native=False)
    program(*args)
    [one] = program._traces
    return one.graph


def beside(x: Any) -> list[Any]:
    numbers = np.ravel(np.asarray(x, float))
    return [numbers, numbers * 0.97, numbers * 1.01]


RETURNS = loop_problems.returns(600)
BENCHMARKS: dict[str, tuple[Callable[..., Any], Any]] = {
    "food chain": (
        lambda p: loop_problems.populations(p, 60),
        np.array(loop_problems.POPULATIONS),
    ),
    "GARCH": (
        lambda p: loop_problems.volatility(cadiff.math, RETURNS, p),
        np.array(loop_problems.VOLATILITY),
    ),
    "Fisher's equation": (
        lambda p: loop_problems.spread(p, 8, 20),
        np.array(loop_problems.SPREAD),
    ),
    "Rosenbrock": (rosenbrock, X),
    "waves": (lambda x: model_problems.waves(cnp, x), np.linspace(0.1, 2.0, 5)),
    **{name: PROBLEMS[name] for name in PROBLEMS if "Kutta" not in name},
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_keep_their_bits(name: str) -> None:
    f, x = BENCHMARKS[name]
    keeps_bits(recorded(f, x), beside(x))


@pytest.mark.parametrize("what", ["filter", "chain"])
def test_long_loops_keep_their_bits(what: str) -> None:
    if what == "filter":
        steps = sequence_problems.tracking_data(80)
        flat = loop_problems.flat(steps.parameters)
        f = lambda p: loop_problems.filtered(cadiff.math, steps, p)  # noqa: E731
    else:
        states = sequence_problems.chain_data(3, 150)
        flat = loop_problems.flat(states.parameters)
        f = lambda p: loop_problems.visited(cadiff.math, states, p)  # noqa: E731
    keeps_bits(recorded(f, flat), beside(flat))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_keep_their_bits(seed: int) -> None:
    rng = random.Random(seed)
    if seed % 2:
        f, x, _ = drafted(seed)
        x = x if x.ndim else float(x)
    else:
        f = Script(rng, wild=seed % 4 == 0).function()
        x = np.array([rng.uniform(-2, 2) for _ in range(4)])
    with quiet():
        try:
            graph = recorded(f, x)
        except (*REFUSED, ValueError):  # nothing is recorded
            return
        keeps_bits(graph, beside(x))


# --- who gets it, and when -----------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making may take all the time."""
    monkeypatch.setattr(native, "SHARE", 1e9)


def test_it_takes_over(eager: None) -> None:
    run_until(cadiff.compile(rosenbrock, native="auto"), *SETTLED)


def test_matrices_and_points_take_over_too(eager: None) -> None:
    program = cadiff.compile(lambda x: rosenbrock(x) * cadiff.sin(x[0]), native="auto")
    points = np.outer(np.linspace(0.5, 1.5, 40), X[:40])
    hessian, batch = program.hessian(X[:40]), program.batch(points, what="value_and_grad")
    for _ in tries():
        assert program.hessian(X[:40]).tobytes() == hessian.tobytes()
        again = program.batch(points, what="value_and_grad")
        for one, other in zip(again, batch, strict=True):
            assert one.tobytes() == other.tobytes()
        [trace] = program.stats()["traces"]
        told = {what: each["native"] for what, each in trace["programs"].items()}
        some = [text for what, text in told.items() if "points" in what or "hessian" in what]
        if all("by turns" not in text and "machine code" in text for text in some):
            break
    assert len(some) == 2, told


def test_turns_of_many_rows_take_over(eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that stop after a turn of their own."""
    made: list[Code] = []
    make = native.make_machine_code

    def noted(code: Code) -> None:
        make(code)
        made.append(code)

    def root(a: Any) -> Any:
        def step(x: Any) -> Any:
            return x - (x**3 - a) / (3.0 * x**2)

        return cadiff.while_loop(lambda x: cnp.abs(x**3 - a) > 1e-10, step, a)

    monkeypatch.setattr(native, "make_machine_code", noted)
    program = cadiff.compile(lambda a: cnp.sum(cadiff.vmap(root)(a)), native="auto")
    points = np.linspace(1.0, 100.0, 300)
    expected = program.value_and_grad(points)
    npt.assert_allclose(expected[0], np.sum(np.cbrt(points)), rtol=1e-9)
    for _ in tries():
        for found, one in zip(program.value_and_grad(points), expected, strict=True):
            npt.assert_array_equal(found, one)
        of_turns = [code for code in made if code.is_for_lanes and not code.steps]
        if len(of_turns) >= 3 and not any(code.is_being_tried for code in of_turns):
            break  # whether there is a turn, turns, and their cotangents


def test_what_is_slower_is_dropped(eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    write = machine_code.written_for_point

    def slowly(*args: Any) -> Any:
        found = write(*args)
        text = found.text.replace(
            "return -1;", "for (volatile int k = 0; k < 100000; k++) {} return -1;"
        )
        return found._replace(text=text)

    monkeypatch.setattr(machine_code, "written_for_point", slowly)
    program = cadiff.compile(rosenbrock, native="auto")
    told = run_until(program, *SETTLED)
    assert told.startswith("interpreter: machine code takes ")
    cadiff.build(program)  # which does not ask how long it takes
    assert serving(program) == "machine code"


def test_nothing_is_made_before_programs_have_run_for_long(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "SHARE", 0.0)
    program = cadiff.compile(rosenbrock, native="auto")
    for _ in range(2):
        assert "until there is machine code" in run_until(program, "interpreter, until")
    assert worker._thread is None


def test_all_making_takes_a_share_of_the_time_that_programs_run(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "SECONDS", 0.01)
    program = cadiff.compile(rosenbrock, native="auto")
    for _ in tries():
        program.value_and_grad(X)
        if worker._thread is not None or worker._made:
            break
    assert worker._ran * native.SHARE >= native.SECONDS


def test_long_straight_code_stays_with_the_interpreter(
    eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "MOST_STATEMENTS", 10)
    program = cadiff.compile(rosenbrock, native="auto")
    assert "statements are too many" in run_until(program, "interpreter: ")


def test_a_compiler_that_fails_is_asked_no_more(
    eager: None, worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler_in(tmp_path, f"echo >> {tmp_path}/asked; echo 'no room' >&2; exit 3", monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(5):
            program = cadiff.compile(lambda x, k=k: rosenbrock(x) * (k + 1.0), native="auto")
            if k < native.MOST_FAILURES:
                assert "no room" in run_until(program, "interpreter: ")
                continue
            while worker._thread is not None:
                time.sleep(0.01)
            for _ in range(3000):
                program.value_and_grad(X)
            assert serving(program) == "interpreter"
    assert len((tmp_path / "asked").read_text().split("\n")) == 1 + native.MOST_FAILURES


def test_a_process_that_is_forked_has_machine_code_of_its_own() -> None:
    isolated("""
import os, sys, time, cadiff
from cadiff.programs import native
class Slowly:
    def find_spec(self, name, path, target=None):
        if name.startswith("cadiff."):
            time.sleep(0.05)
sys.meta_path.insert(0, Slowly())
native.SECONDS, native.SHARE = 0.0, 1e9
def f(x):
    for _ in range(600):
        x = 0.5 * x * (3.0 - x)
    return x
f = cadiff.compile(f, native="auto")
expected = f(0.3)
while f.stats()["native"] == "interpreter":
    assert f(0.3) == expected
child = os.fork()
if child == 0:
    end = time.monotonic() + 60.0
    while not f.stats()["native"].startswith(("machine code", "interpreter: machine code")):
        if f(0.3) != expected or time.monotonic() > end:
            os._exit(1)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0
""")


def test_rows_of_a_native_program_are_machine_code() -> None:
    def f(x: Any, y: Any) -> Any:
        return cnp.sin(x) @ y

    x, y = np.random.default_rng(0).normal(size=(2, 300, 3))
    for is_native in (True, False):
        program = cadiff.compile(f, native=is_native)
        for one, wanted in (
            (program, np.sum(np.sin(x) * y, axis=1)),
            (partial(program.grad, argnums=1), np.sin(x)),
        ):
            mapped = cadiff.vmap(one)
            npt.assert_allclose(mapped(x, y), wanted, rtol=1e-14)
            (rows,) = mapped._known.programs.values()
            assert serving(rows._program).startswith("machine code" if is_native else "interp")
