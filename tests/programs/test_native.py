"""Programs as machine code: what it computes, where it is kept, and what is said if it cannot be.

`CADIFF_NATIVE=1 pytest tests/programs` has all programs of the other tests run as machine code.
"""

from __future__ import annotations

import os
import pickle
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.commands import main
from cadiff.programs import machine_code, machine_files, native
from cadiff.programs.compilers import compiler_at_hand

from ..helpers.functions import rosenbrock
from ..helpers.processes import COMPILER, in_whole_tiles, isolated, needs_compiler
from .test_program_files import (
    ALL,
    POINTS,
    choosing,
    every_operation,
    everything,
    recorded,
    vector,
)

pytestmark = [needs_compiler, pytest.mark.skipif(os.name == "nt", reason="needs POSIX")]

X = np.linspace(-1.0, 1.5, 6)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


@pytest.fixture(autouse=True)
def _settings(shared_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADIFF_CACHE", str(shared_folder))
    monkeypatch.setenv("CADIFF_NATIVE", "asked")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the machine code of one test, of which nothing is loaded yet."""
    monkeypatch.setenv("CADIFF_CACHE", str(tmp_path))
    monkeypatch.setattr(machine_files, "_loaded", {})
    return tmp_path / "native"


def wave(x: Any) -> Any:
    total = 1.5
    for k in range(5):
        total = total * cadiff.sin(x[k]) + x[k + 1] / (2.0 + x[k] ** 2)
    return total


def built(f: Callable[..., Any] = wave, x: Any = X) -> cadiff.Program[..., Any]:
    """A program whose value is machine code."""
    program = cadiff.compile(f)
    program(x)
    cadiff.build(program)
    assert program.stats()["native"] == "machine code"
    return program


# --- what is computed ----------------------------------------------------------------------------


def codes_of(graph: Any) -> list[Any]:
    which = everything(graph)
    found = [graph.code_of("value"), graph.code_of("push", which), graph.code_of("pull", which)]
    return [*found, graph.code_of("second", which)] if graph.n_outputs == 1 else found


@pytest.mark.parametrize("name", ALL)
def test_numbers_are_those_of_the_interpreter(name: str) -> None:
    f, *args = ALL[name]
    for code in codes_of(recorded(f, *args)):
        x = np.resize(vector(args), code.n_inputs) if code.n_inputs else np.empty(0)
        expected = code.evaluate(x)
        native.make_machine_code(code)
        np.testing.assert_array_equal(code.evaluate(x), expected)


@pytest.mark.parametrize("special", [False, True])
def test_every_operation_is_that_of_the_interpreter(special: bool) -> None:
    x = np.array([0.0, np.inf, -np.inf, np.nan] if special else POINTS)
    graph = recorded(every_operation, np.array(POINTS))
    for code in codes_of(graph):
        for scale in (1.0, 5e-324, 1e300):
            given = np.concatenate([x * scale, np.linspace(0.5, 1.5, code.n_inputs - len(x))])
            expected = code.evaluate(given)
            native.make_machine_code(code)
            assert code.has_machine
            np.testing.assert_array_equal(code.evaluate(given), expected)


MANY = np.linspace(0.5, 2.0, 41)  # points, which the interpreter has side by side, too
METHODS: dict[str, Callable[..., Any]] = {
    "value": lambda p, x: p(x),
    "grad": lambda p, x: p.grad(x),
    "value_and_grad": lambda p, x: p.value_and_grad(x),
    "jvp": lambda p, x: p.jvp((x,), (x[::-1],)),
    "vjp": lambda p, x: [part for value, pull in [p.vjp(x)] for part in (value, pull(2.0))],
    "jacobian": lambda p, x: p.jacobian(x),
    "hessian": lambda p, x: p.hessian(x),
    "hvp": lambda p, x: p.hvp(x, x[::-1]),
    "sparse_hessian": lambda p, x: p.sparse_hessian(x).toarray(),
    "batch": lambda p, x: p.batch(np.outer(MANY, x), what="value_and_grad"),
    "batch of matrices": lambda p, x: p.batch(np.outer(MANY, x), what="hessian"),
    "within another derivative": lambda p, x: cadiff.value_and_grad(lambda x: 2.0 * p(x))(x),
    "twice within": lambda p, x: cadiff.hessian(lambda x: p(x) ** 2)(x),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "loop": wave,
    "long loop": rosenbrock,
    "short arrays": lambda x: cnp.sum(cnp.tanh(x.reshape(2, -1).T @ x.reshape(2, -1)) ** 2),
    "calls": lambda x: cnp.linalg.det(x[:4].reshape(2, 2) + 3.0 * cnp.eye(2)) * cadiff.exp(x[5]),
}


def parts_of(found: Any) -> Any:
    return found if isinstance(found, (list, tuple)) else [found]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_methods_give_what_the_interpreter_gives(name: str, method: str) -> None:
    f, run = FUNCTIONS[name], METHODS[method]
    x = np.linspace(-1.0, 1.2, 60 if name == "long loop" else 6)
    plain, fast = cadiff.compile(f), cadiff.compile(f, native=True)
    for scale in (1.0, 0.5, 0.5):
        expected, found = run(plain, scale * x), run(fast, scale * x)
        if name == "calls":  # LAPACK's last bit depends on where matrices are in memory
            for one, other in zip(parts_of(found), parts_of(expected), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
        else:
            np.testing.assert_equal(found, expected)
    if method not in ("within another derivative", "twice within"):
        assert fast.stats()["native"].startswith("machine code")
    assert plain.stats()["native"] == "interpreter"


def test_hessians_of_arrays_and_loops() -> None:
    x = np.linspace(-1.0, 1.0, 60)
    matrix = np.cos(np.outer(np.arange(60), x))

    def mixed(x: Any) -> Any:
        return cnp.sum(cnp.tanh(matrix @ x)) * wave(x) + wave(x[6:]) ** 2

    plain, fast = cadiff.compile(mixed), cadiff.compile(mixed, native=True)
    np.testing.assert_allclose(fast.hessian(x), plain.hessian(x), rtol=1e-11)
    assert fast.stats()["native"].startswith("machine code")


def test_guards_are_met_in_their_order() -> None:
    graph = recorded(choosing, np.array([1.0, 3.0]))
    code, fast = graph.code_of("value"), graph.code_of("value")
    native.make_machine_code(fast)
    assert fast.has_machine
    for x in ([2.0, 5.0], [-1.0, 3.0], [1.0, 2.0], [-1.0, 2.0], [np.nan, 3.0], [1.0, np.nan]):
        assert repr(fast.evaluate(np.array(x))) == repr(code.evaluate(np.array(x)))


def test_another_branch_is_machine_code_too() -> None:
    def f(x: Any) -> Any:
        return x * cadiff.sin(x) if x > 1.0 else cadiff.cos(x)

    program = cadiff.compile(f, native=True)
    for x in (2.0, 0.5, 3.0, 0.25):
        assert program(x) == f(x)
    stats = program.stats()
    assert stats["native"] == "machine code"
    assert [each["programs"]["value"]["native"] for each in stats["traces"]] == [
        "machine code"
    ] * 2


def test_constants_are_exact() -> None:
    numbers = [5e-324, 1.1e-308, 1.7976931348623157e308, 0.1, -0.0, np.pi, -np.inf, np.nan, 2**53]

    def f(x: Any) -> Any:
        return tuple(cadiff.where(x > 0.0, c, x) * 1.0 + c * x for c in numbers)

    for x in (0.5, -0.5, 5e-324, -1e308):
        np.testing.assert_array_equal(cadiff.compile(f, native=True)(x), cadiff.compile(f)(x))


# --- who asks for it -----------------------------------------------------------------------------


def test_build_makes_what_there_is_and_what_will_be() -> None:
    program = built()
    [trace] = program.stats()["traces"]
    assert trace["programs"]["value"]["native"] == "machine code"
    program.grad(X)
    assert program.stats()["traces"][0]["programs"]["gradient"]["native"] == "machine code"
    assert cadiff.build(program) is program


def test_points_side_by_side_have_machine_code_of_their_own() -> None:
    program = cadiff.compile(wave)
    points = np.outer(MANY, X)
    expected = program.batch(points, what="grad")
    cadiff.build(program)
    of_points = program.stats()["traces"][0]["programs"]["gradient of points"]
    assert of_points["native"] == "machine code"
    np.testing.assert_array_equal(program.batch(points, what="grad"), expected)


def rounded(x: Any) -> Any:
    """Of operations that any order of numbers gives the same bits of."""
    whole = cadiff.floor(4.0 * x[0]) + cadiff.ceil(x[1]) - cadiff.rint(3.0 * x[2])
    return whole * cadiff.sign(x[3]) * x[0] / (1.0 + x[4] ** 2) + cadiff.trunc(2.0 * x[5])


@pytest.mark.parametrize("n", [4, 7, 16, 33, 130, 300])
def test_any_number_of_points_goes_side_by_side(n: int) -> None:
    """Fewer than there are lanes, and several blocks of them."""
    plain, fast = (cadiff.compile(rounded, native=native) for native in (False, True))
    points = np.random.default_rng(n).normal(size=(n, 6))
    for what in ("value", "grad"):
        found, expected = (program.batch(points, what=what) for program in (fast, plain))
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(fast.batch(points), [*map(rounded, points)])
    assert fast.stats()["native"] == "machine code"


def straight(x: Any) -> Any:
    """Too few operations for a loop, too many for one function in C."""
    y, total = x[0], x[1]
    for k in range(110):
        y = 0.9 * y + cadiff.sin(x[k % 6]) / (2.0 + y * y)
        total = total * 0.99 + y * x[(k * k) % 6]
    return total


def large(x: Any) -> Any:
    return sum(wave(x + 0.1 * k) * x[k % 6] for k in range(40))


def of_matrices(x: Any) -> Any:
    return cnp.sum(cnp.tanh(x @ x.T)) * wave(x[0])


@pytest.mark.parametrize(
    ("f", "points", "rtol"),
    [
        (straight, np.outer(MANY, X), 0.0),
        (large, np.stack([X * k for k in range(1, 30)]), 1e-12),
        (of_matrices, np.stack([np.outer(X, X), np.outer(X, X[::-1]), np.outer(X, X) + 1]), 1e-12),
    ],
)
def test_points_of_other_programs(f: Callable[..., Any], points: Any, rtol: float) -> None:
    """Several functions in C, with a loop in it, and points that go one by one."""
    plain, fast = cadiff.compile(f), cadiff.compile(f, native=True)
    binding.set_least_loop(*([binding.NO_LOOPS] if f is straight else []))
    try:
        found = fast.batch(points, what="value_and_grad")
        expected = plain.batch(points, what="value_and_grad", threads=2)
    finally:
        binding.set_least_loop()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12 if f is large else 0.0)
    assert fast.stats()["native"].startswith("machine code")
    for x, value, gradient in zip(points, *found, strict=True):
        near = plain.value_and_grad(x)
        np.testing.assert_allclose(value, near[0], rtol=1e-13)
        np.testing.assert_allclose(gradient, near[1], rtol=1e-11, atol=1e-13)


def test_points_are_computed_while_machine_code_is_made() -> None:
    points = np.outer(np.linspace(0.5, 2.0, 16), X)
    for k in range(8):

        def f(x: Any, k: int = k) -> Any:
            return wave(x) * (k + 1.0)

        program = cadiff.compile(f, native="background")
        expected = (k + 1.0) * cadiff.compile(wave).batch(points, what="hessian")
        for _ in range(100):
            np.testing.assert_allclose(program.batch(points, what="hessian"), expected, rtol=1e-9)
            if "until" not in program.stats()["native"]:
                break


def test_build_takes_programs() -> None:
    plain: Any = wave
    with pytest.raises(
        TypeError, match=r"a program, not a function: .*build\(cadiff.compile\(f\)\)"
    ):
        cadiff.build(plain)
    unknown: Any = "yes"
    with pytest.raises(ValueError, match=r"native is True, False, .*, not 'yes'"):
        cadiff.compile(wave, native=unknown)


def test_in_the_background_the_interpreter_serves_meanwhile() -> None:
    program = cadiff.compile(wave, native="background")
    expected = wave(X)
    end = time.monotonic() + 60.0
    seen = set()
    while "machine code" not in seen and time.monotonic() < end:
        assert program(X) == expected
        seen.add(program.stats()["native"])
    assert seen <= {"interpreter, until there is machine code", "machine code"}
    program = cadiff.compile(wave)
    program(X)
    cadiff.build(program, wait=False)
    cadiff.build(program)  # which waits
    assert program.stats()["native"] == "machine code"


@pytest.mark.parametrize(
    ("told", "options", "expected"),
    [
        ("1", {}, "machine code"),
        ("1", {"native": False}, "interpreter"),
        ("", {}, "interpreter"),
        ("0", {"native": True}, "interpreter: CADIFF_NATIVE is 0"),
        ("1", {"optimize": False}, "interpreter: with optimize=False calls are replayed .*"),
    ],
)
def test_the_environment_has_a_say(
    told: str, options: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADIFF_NATIVE", told)
    program = cadiff.compile(wave, **options)
    assert program(X) == wave(X)
    assert program(X) == wave(X)
    assert re.fullmatch(expected, program.stats()["native"])


@in_whole_tiles
def test_programs_without_text_say_so() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cnp.exp(x)), native=True)
    program(np.ones(1000))
    assert program.stats()["native"] == "interpreter: long vectors"
    program = cadiff.compile(lambda x: x, native=True)
    program(1.0)
    assert program.stats()["native"] == "interpreter: there is nothing to compute"


def test_what_is_computed_once_may_be_in_loops() -> None:
    def minors(A: Any, rows: range, columns: list[int]) -> Any:
        if not columns:
            return 1.0
        parts = [
            A[rows[0], column] * minors(A, rows[1:], [*columns[:k], *columns[k + 1 :]])
            for k, column in enumerate(columns)
        ]
        return sum(parts[::2]) - sum(parts[1::2])

    A = np.cos(np.arange(36.0)).reshape(6, 6) + np.eye(6)
    program = cadiff.compile(lambda A: minors(A, range(6), [*range(6)]), native=True)
    np.testing.assert_allclose(program(A), np.linalg.det(A), rtol=1e-12)


def test_very_large_programs_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "MOST_OPERATIONS", 10)
    program = cadiff.compile(wave, native=True)
    assert program(X) == wave(X)
    assert "operations, which would take the compiler minutes" in program.stats()["native"]


def test_pickles_are_machine_code_from_the_first_call_on(own: Path) -> None:
    program = built()
    again = pickle.loads(pickle.dumps(program))
    assert again.stats()["native"] == "machine code, from the first call on"
    files = {path: path.stat().st_ino for path in own.iterdir()}
    assert again(X) == program(X)
    assert again.stats()["native"] == "machine code"
    assert {path: path.stat().st_ino for path in own.iterdir()} == files


def test_threads_may_call_while_it_is_made(own: Path) -> None:
    program = cadiff.compile(wave)
    expected = program(X)
    found: list[float] = []

    def call() -> None:
        found.extend(program(X) for _ in range(20_000))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    cadiff.build(program)
    for thread in threads:
        thread.join()
    assert set(found) == {expected}
    assert program.stats()["native"] == "machine code"


WITHIN = {
    "the rows of a mapped program": "cadiff.vmap(P)(X)",
    "the rows of a mapped gradient": "cadiff.vmap(P.grad)(X)",
    "the rows of a mapped Hessian": "cadiff.vmap(P.hessian)(X)",
    "the gradient of a mapped program": "cadiff.grad(lambda X: cnp.sum(cadiff.vmap(P)(X)))(X)",
    "a push through a mapped program": "cadiff.jvp(cadiff.vmap(P), (X,), (X,))",
    "a program": "cadiff.compile(lambda x: P(x) * x[0])(X[0])",
    "a batch of a program": "cadiff.compile(lambda x: P(x) * x[0]).batch(X, what='grad')",
    "a mapped program in another": "cadiff.compile(lambda X: cnp.sum(cadiff.vmap(P)(X)))(X)",
}


@pytest.mark.parametrize("native", [True, "background"])
@pytest.mark.parametrize("what", WITHIN)
def test_it_is_made_while_others_are_recorded(own: Path, what: str, native: Any) -> None:
    """Files and processes that making it takes are nothing that f does."""
    found = isolated(f"""
import numpy as np, cadiff, cadiff.numpy as cnp
from cadiff.programs import traces
traces._alive = alive = set()  # which keeps them
X = np.linspace(0.5, 1.5, 900).reshape(300, 3)
P = cadiff.compile(lambda x: cnp.sum(cnp.sin(x)) * x[1], native={native!r})
{WITHIN[what]}
eager, recordings = ({{one.counts[each] for one in alive}} for each in ("eager", "recordings"))
print(len(alive) > 1, eager, recordings)
""")
    looked = "0, 1" if what == "a mapped program in another" else "0"  # at one row, for loops
    assert found == f"True {{{looked}}} {{1}}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_forked_processes_have_it() -> None:
    assert (
        isolated("""
import os, warnings, numpy as np, cadiff
warnings.simplefilter("ignore", DeprecationWarning)  # fork, where there are threads
f = cadiff.compile(lambda x: x[0] * cadiff.sin(x[1]), native=True)
g = cadiff.compile(lambda x: x[1] * cadiff.cos(x[0]), native="background")
x = np.ones(2)
f(x), g(x)
child = os.fork()
if child == 0:
    h = cadiff.compile(lambda x: x[1] + cadiff.cos(x[0]), native="background")
    right = f(x) == np.sin(1.0) and g(x) == np.cos(1.0) and h(x) == 1.0 + np.cos(1.0)
    cadiff.build(h)
    os._exit(0 if right and h.stats()["native"] == "machine code" else 1)
print(os.waitpid(child, 0)[1])
""")
        == "0"
    )


# --- compilers -----------------------------------------------------------------------------------


def compiler_in(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that says which it is, and then does as a script does."""
    path = folder / "mycc"
    asks = 'case "$1" in --version|-dumpmachine) echo mine; exit 0;; esac\n'
    path.write_text(f"#!/bin/sh\n{asks}{script}\n", encoding="ascii")
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))
    return path


def without_compilers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system that has none."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(folder))


def test_without_a_compiler_it_is_said_which_were_looked_for(
    own: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_compilers(tmp_path, monkeypatch)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    program = cadiff.compile(wave)
    expected = program(X)
    with pytest.raises(
        RuntimeError,
        match=r"no C compiler: none of cc, gcc, clang\b.*cadiff\[native\]",
    ):
        cadiff.build(program)
    monkeypatch.setenv("CC", "nocc -m64")
    with pytest.raises(
        RuntimeError, match=r"no C compiler: CC is 'nocc -m64', .*cadiff\[native\]"
    ):
        cadiff.build(program)
    program = cadiff.compile(wave, native=True)
    with pytest.warns(RuntimeWarning, match=r"the interpreter serves.*there is no C compiler"):
        assert program(X) == expected
    program.grad(X)  # and nothing more is said
    assert "interpreter: there is no C compiler" in program.stats()["native"]


def test_one_that_pip_brings_serves_where_there_is_no_other(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('it was imported')")
    zig, told = package / "zig", tmp_path / "told"
    zig.write_text(f"""#!/bin/sh
[ $1 = version ] && echo 0.99 && exit
echo $1 $2 $3 $4 $5, $ZIG_GLOBAL_CACHE_DIR, $ZIG_LOCAL_CACHE_DIR > {told}
shift 5
PATH={shlex.quote(os.environ["PATH"])} exec {shlex.join(COMPILER)} "$@"
""")
    zig.chmod(0o755)
    monkeypatch.syspath_prepend(tmp_path)
    with monkeypatch.context() as patch:
        without_compilers(tmp_path, patch)
        built()
        assert compiler_at_hand().version.startswith("0.99 ")
    command, *places = told.read_text().strip().split(", ")
    assert command == "cc -mcpu=baseline -g0 -nostdlib -lc"
    assert {Path(place).parent for place in places} == {own}
    assert sorted(path.suffix for path in own.iterdir()) == [".sha256", ".so"]
    monkeypatch.setenv("CC", f"{zig} cc -Wall")
    assert compiler_at_hand().command[1:3] == ("cc", "-Wall")
    assert "-mcpu=baseline" in compiler_at_hand().command
    other = tmp_path / "bin"
    other.mkdir()
    compiler_in(other, "", monkeypatch).rename(other / "cc")
    without_compilers(other, monkeypatch)
    assert compiler_at_hand().command == (str(other / "cc"),)


@pytest.mark.skipif(find_spec("ziglang") is None, reason='needs pip install "cadiff[native]"')
def test_what_it_makes_computes_the_same(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compilers(tmp_path, monkeypatch)
    for special in (False, True):
        test_every_operation_is_that_of_the_interpreter(special)
    assert Path(compiler_at_hand().command[0]).stem == "zig"
    assert {path.suffix for path in own.iterdir()} == {".sha256", ".so"}


def test_what_a_compiler_says_is_told(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler_in(tmp_path, "seq 100; echo 'no room' >&2; exit 3", monkeypatch)
    program = cadiff.compile(wave)
    program(X)
    with pytest.raises(
        RuntimeError, match=r"(?s)mycc.* failed with status 3:\n90\n.*100\nno room$"
    ):
        cadiff.build(program)
    compiler_in(tmp_path, "exit 0", monkeypatch)
    with pytest.raises(RuntimeError, match="failed with status 0"):
        cadiff.build(program)
    compiler_in(tmp_path, "echo no library > program.so", monkeypatch)
    with pytest.raises(RuntimeError, match="or loaded from there"):
        cadiff.build(program)
    assert program(X) == wave(X)
    assert list(own.iterdir()) == []


def test_an_interrupt_leaves_nothing_behind(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cadiff.compile(wave)
    expected, main = program(X), threading.main_thread()

    def interrupt() -> None:
        while not (tmp_path / "started").exists():
            time.sleep(0.01)
        signal.pthread_kill(main.ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    try:
        thread.start()
        with monkeypatch.context() as patch:
            compiler_in(tmp_path, f"echo $$ > {tmp_path}/started; sleep 60 & wait", patch)
            with pytest.raises(KeyboardInterrupt):
                cadiff.build(program)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, former)
    assert list(own.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)
    assert program(X) == expected
    cadiff.build(program)
    assert program.stats()["native"] == "machine code"


@pytest.mark.parametrize("how", ["background", "auto"])
def test_a_process_that_ends_meanwhile_leaves_nothing_behind(
    how: str, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler_in(tmp_path, f"echo $$ > {tmp_path}/started; sleep 60", monkeypatch)
    monkeypatch.delenv("CADIFF_NATIVE")
    begun = time.monotonic()
    isolated(f"""
import os, numpy as np, cadiff
from cadiff.programs import native
native.SECONDS, native.SHARE = 0.0, 1e9
f = cadiff.compile(lambda x: np.sum(x * x * x), native={how!r})
while not os.path.exists("{tmp_path}/started"):
    f(np.ones(20))
""")
    assert time.monotonic() - begun < 50.0
    assert list(own.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)


# --- the folder ----------------------------------------------------------------------------------


def fresh(monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any] = wave) -> str:
    """What serves a program in a process that has loaded nothing yet."""
    monkeypatch.setattr(machine_files, "_loaded", {})
    program = cadiff.compile(f)
    assert program(X) == f(X)
    cadiff.build(program)
    assert program(X) == f(X)
    return str(program.stats()["native"])


def test_files_are_the_users_alone(own: Path) -> None:
    built()
    assert own.stat().st_mode & 0o777 == 0o700
    modes = {path.suffix: path.stat().st_mode & 0o777 for path in own.iterdir()}
    assert modes == {".so": 0o700, ".sha256": 0o600}


def test_what_is_kept_is_not_made_again(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built()
    monkeypatch.setattr(machine_files, "compile_shared", lambda *args: pytest.fail("made again"))
    assert fresh(monkeypatch) == "machine code"


def other(x: Any) -> Any:
    return x[0] * 7.0 - x[1] * x[2]


def exchange(library: Path, own: Path) -> None:
    """Another program's machine code in its place."""
    built(other)
    [found] = [path for path in own.glob("*.so") if path != library]
    rewrite(library, found.read_bytes())


def linked(library: Path, own: Path) -> None:
    library.rename(own / "elsewhere")
    library.symlink_to("elsewhere")


def pipe(library: Path, own: Path) -> None:
    """Which nobody writes to."""
    library.unlink()
    os.mkfifo(library)


def rewrite(library: Path, data: bytes) -> None:
    """As another file: this process has the former one loaded, and ends it when it ends."""
    library.unlink()
    library.write_bytes(data)
    library.chmod(0o700)


@pytest.mark.parametrize(
    "spoil",
    [
        exchange,
        linked,
        lambda library, own: rewrite(library, library.read_bytes()[:-1]),
        lambda library, own: rewrite(library, b""),
        lambda library, own: rewrite(library, library.read_bytes().replace(b"\0" * 8, b"\1" * 8)),
        lambda library, own: library.unlink(),
        lambda library, own: library.with_suffix(".sha256").unlink(),
        lambda library, own: library.with_suffix(".sha256").write_text("0" * 64),
        lambda library, own: library.chmod(0o777),
        pipe,
    ],
)
def test_what_does_not_fit_is_made_again(
    own: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path, Path], None]
) -> None:
    built()
    [library] = own.glob("*.so")
    before = library.stat().st_ino
    monkeypatch.setattr(machine_files, "_loaded", {})
    spoil(library, own)
    assert fresh(monkeypatch) == "machine code"
    assert library.is_file()
    assert not library.is_symlink()
    assert library.stat().st_mode & 0o777 == 0o700
    if spoil is linked:
        assert library.stat().st_ino != before


def open_to_others(own: Path) -> None:
    own.mkdir()
    own.chmod(0o777)


def link(own: Path) -> None:
    (own.parent / "real").mkdir(mode=0o700)
    own.symlink_to("real")


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (open_to_others, "no folder of this user's alone. Set CADIFF_CACHE"),
        (link, "no folder of this user's alone"),
        (lambda own: own.write_text("a file"), "no folder of this user's alone"),
        (lambda own: own.parent.chmod(0o777), "can be changed by others"),
        (lambda own: own.parent.chmod(0o1777), None),
    ],
)
def test_folders_that_others_can_write_to_are_refused(
    own: Path, spoil: Callable[[Path], None], text: str | None
) -> None:
    program = cadiff.compile(wave)
    program(X)
    spoil(own)
    if text:
        with pytest.raises(RuntimeError, match=text):
            cadiff.build(program)
    else:
        cadiff.build(program)
    assert program.stats()["native"].startswith("interpreter" if text else "machine code")


def test_folders_of_others_are_refused(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built()
    monkeypatch.setattr(machine_files, "_loaded", {})
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    program = cadiff.compile(wave)
    program(X)
    with pytest.raises(RuntimeError, match=r"no folder of this user's alone"):
        cadiff.build(program)


def test_processes_that_make_the_same_at_once_do_not_disturb_each_other(own: Path) -> None:
    code = """
import numpy as np, cadiff
def f(x):
    total = 1.0
    for k in range(40):
        total = total * cadiff.sin(x[k % 3]) + k
    return total
x = np.array([0.5, 1.5, 2.5])
g = cadiff.compile(f, native=True)
print(g(x) == f(x) and g(x) == f(x), g.stats()["native"])
"""
    some = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=own.parent
        )
        for _ in range(4)
    ]
    assert [one.communicate()[0] for one in some] == ["True machine code\n"] * 4
    assert sorted(path.suffix for path in own.iterdir()) == [".sha256", ".so"]


def test_there_is_a_bound(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built()
    [(_, size, first)] = machine_files.contents()
    os.utime(first, (1.0, 1.0))
    fresh(monkeypatch)  # which uses it
    assert machine_files.contents()[0][0] > 1.0
    os.utime(first, (1.0, 1.0))
    (own / "tmpleft").mkdir()
    os.utime(own / "tmpleft", (1.0, 1.0))
    monkeypatch.setattr(machine_files, "MOST_BYTES", size + size // 2)
    built(other)
    [(_, _, second)] = machine_files.contents()
    assert second != first
    assert len([*own.iterdir()]) == 2


def test_info_tells_of_it_and_clears_it(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built()
    assert main(["info"]) == 0
    said = capsys.readouterr().out
    assert f"in {own}" in said
    assert "1 library" in said
    assert main(["info", "--clear-native"]) == 0
    assert "1 library" in capsys.readouterr().out
    assert list(own.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "~/.cache/cadiff/native"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/cadiff/native"),
        ("darwin", {}, "~/Library/Caches/cadiff/native"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/cadiff/native"),
        ("linux", {"CADIFF_CACHE": "~/here"}, "~/here/native"),
    ],
)
def test_where_it_is(
    platform: str, environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CADIFF_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert machine_files.folder() == Path(expected).expanduser()


def test_nothing_is_made_unless_it_is_asked_for(own: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = cadiff.compile(wave)
        program.value_and_grad(X)
    assert not own.exists()
