"""What really runs while f is recorded is seen: hidden code, unknown libraries, functions of C."""

from __future__ import annotations

import abc
import argparse
import codecs
import collections
import contextlib
import copy
import cProfile
import ctypes
import dataclasses
import enum
import functools
import gc
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import logging
import math
import operator
import pickle
import re
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, sparse, spatial, special, stats

import cadiff
from cadiff.binding import callers

from ..helpers.processes import isolated

X = np.array([1.5, 0.5])


def hidden(x: Any) -> Any:
    return x * rate


rate = 2.0
PICKLED = pickle.dumps(hidden)


def by_pickle(x: Any) -> Any:
    return pickle.loads(PICKLED)(x)


def test_code_that_no_name_leads_to_is_named() -> None:
    global rate
    program = cadiff.compile(by_pickle)
    with pytest.warns(RuntimeWarning, match=r"it runs hidden \(line \d+ of test_observations.py"):
        assert program(3.0) == 6.0
    rate = 5.0
    assert program(3.0) == 15.0
    assert program.grad(3.0) == 5.0
    rate = 2.0


# What calls a program, so that it gives another number once there is another subclass.
AROUND: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "a call": lambda p: lambda x: p(x) * 1.0,
    "two levels": lambda p: (lambda q: lambda x: q(x) * 1.0)(cadiff.compile(lambda x: p(x) * 2.0)),
    "its gradient": lambda p: lambda x: p.grad(x),
    "a gradient": lambda p: lambda x: cadiff.grad(p)(x),
    "value and gradient": lambda p: lambda x: cadiff.value_and_grad(p)(x)[1],
    "forward": lambda p: lambda x: cadiff.jvp(p, (x,), (1.0,))[1],
    "rows": lambda p: lambda x: cadiff.vmap(p)(np.ones(2) * x).sum(),
    "a constant": lambda p: lambda x: p(1.0) * x,
}


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("way", AROUND)
def test_what_only_the_recording_of_an_inner_program_shows_is_seen(way: str) -> None:
    class Base: ...

    kinds = []

    def inner(x: Any) -> Any:
        return x * len(Base.__subclasses__())

    program = cadiff.compile(AROUND[way](cadiff.compile(inner)))
    for count in range(3):
        assert program(1.0) == AROUND[way](cadiff.compile(inner))(1.0)
        kinds.append(type(f"Kind{count}", (Base,), {}))
    assert program.stats()["obstacles"]


def test_functions_of_c_of_ones_own_are_named() -> None:
    library = ctypes.CDLL(None if sys.platform != "win32" else "msvcrt")
    held = {"labs": library.labs}
    for f in (lambda x: x * library.labs(-2), lambda x: x * held["labs"](-2)):
        program = cadiff.compile(f)
        with pytest.warns(RuntimeWarning, match="labs|ctypes"):
            assert program(3.0) == 6.0
        assert program.stats()["recordings"] == 0


@pytest.mark.parametrize("how", ["np.datetime64('now')", "np.array(['today'], 'M8[D]')[0]"])
def test_a_text_that_stands_for_the_time_is_a_clock(how: str) -> None:
    program = cadiff.compile(eval(f"lambda x: x * {how}.astype(int)", {"np": np}))
    with pytest.warns(RuntimeWarning, match="a clock, for the time '(now|today)'"):
        assert program(0.0) == 0.0


def test_what_a_primitive_wraps_may_be_anything() -> None:
    """Replays run it; but what it gives for plain numbers would be a constant."""
    labs = ctypes.CDLL(None if sys.platform != "win32" else "msvcrt").labs

    def doubled(x: Any) -> Any:
        return x * float(labs(-2))

    step = cadiff.primitive(doubled)
    step.defvjp(lambda ans, x: lambda g: 2.0 * g)
    program = cadiff.compile(lambda x: step(x) * x)
    assert [program.grad(k) for k in (1.0, 2.0, 3.0)] == [4.0, 8.0, 12.0]
    assert (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)
    with pytest.warns(RuntimeWarning, match="labs|ctypes"):
        assert cadiff.compile(lambda x: step(2.0) * x)(3.0) == 12.0


# --- libraries of which nothing is known ---------------------------------------------------------

LIBRARY = """
import math
scale = 2.0
held = {"n": 1.0}
class Model:
    bias = 0.25
    def cost(self, x): return scale * x + self.bias + held["n"]
def unused(): return open("nothing")
def cost(x): return Model().cost(x) if scale else unused()
def wrap(f): return lambda x: f(x) * held["n"]
def twice(x): return 2.0 * cost(x)
asked = []
class Finder:
    def find_spec(self, name, path, target=None): asked.append(name)
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module that looks as if it were installed."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "cadiff_unknown.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    places = itertools.repeat((*callers._places(), str(folder)))
    monkeypatch.setattr(callers, "_places", places.__next__)  # which runs no code of Python's
    yield importlib.import_module("cadiff_unknown")
    sys.modules.pop("cadiff_unknown", None)


def test_the_first_import_of_a_module_is_none_of_f(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are finders that somebody has installed, as `setuptools` and `pytest` do."""
    monkeypatch.setattr(sys, "meta_path", [library.Finder(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "heapq", raising=False)

    def f(x: Any) -> Any:
        return x * collections.Counter("aab").most_common(1)[0][1]  # which imports heapq

    program = cadiff.compile(f)
    assert program(3.0) == 6.0
    assert "heapq" in library.asked
    assert (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a global": lambda module: setattr(module, "scale", 3.0),
    "an attribute of a class": lambda module: setattr(module.Model, "bias", 5.0),
    "a container": lambda module: module.held.update(n=7.0),
    "a method": lambda module: setattr(module.Model, "cost", lambda self, x: x * 9.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_code_of_other_libraries_is_followed_once_it_has_run(library: Any, change: str) -> None:
    wrapped = library.wrap(lambda x: x * x)

    def f(x: Any) -> Any:
        return library.cost(x) * wrapped(x)

    program = cadiff.compile(f)
    assert [program(k) for k in (1.0, 2.0, 3.0, 4.0)] == [f(k) for k in (1.0, 2.0, 3.0, 4.0)]
    stats = program.stats()
    assert (stats["recordings"], stats["eager"]) == (1, 1)  # which the first call has shown
    CHANGES[change](library)
    assert [program.grad(k) for k in (1.0, 2.0)] == [cadiff.grad(f)(k) for k in (1.0, 2.0)]
    assert program.stats()["eager"] == 1


def test_code_of_other_libraries_is_followed_in_programs_within_programs(library: Any) -> None:
    """What one of them has seen first is new to the other one, too; so is what new code calls."""
    library.inner = cadiff.compile(library.cost)
    for f in (lambda x: library.inner(x) * x, lambda x: library.twice(x) * x):
        program = cadiff.compile(f)
        numbers = [1.0, 2.0, 3.0, 4.0]
        assert [program(k) for k in numbers] == [f(k) for k in numbers]
        stats = program.stats()
        assert (stats["recordings"], stats["eager"], stats["obstacles"]) == (1, 1, [])


def test_what_cannot_be_watched_of_other_libraries_is_named(library: Any) -> None:
    program = cadiff.compile(lambda x: x * len(library.unused().name))
    with pytest.raises(FileNotFoundError):
        program(1.0)
    library.unused = lambda: next(library.counter)
    library.counter = iter([2.0, 3.0, 4.0, 5.0])
    program = cadiff.compile(lambda x: x * library.unused())
    with pytest.warns(RuntimeWarning, match="counter"):
        assert [program(1.0) for _ in range(3)] == [2.0, 3.0, 4.0]


# --- beside others that look on ------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2


def test_a_profiler_sees_all_that_it_would_see() -> None:
    seen: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        assert cadiff.compile(rosenbrock, verify=False)(X) == rosenbrock(X)
        assert sys.getprofile() is note
    finally:
        sys.setprofile(former)
    assert seen.count("rosenbrock") == 2


def test_a_profiler_that_f_begins_goes_on() -> None:
    profiler = cProfile.Profile()

    def f(x: Any) -> Any:
        profiler.enable()
        return rosenbrock(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cadiff.compile(f)(X)
    profiler.disable()
    assert any("rosenbrock" in str(entry.code) for entry in profiler.getstats())


def test_nothing_looks_on_afterwards() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("of f")

    before = sys.getprofile()
    cadiff.compile(rosenbrock)(X)
    assert sys.getprofile() is before
    with pytest.raises(KeyError):
        cadiff.compile(fails)(X)
    assert sys.getprofile() is before


def test_what_comes_between_is_none_of_f() -> None:
    """Finalizers and callbacks of the collector run within f, but f does not call them."""
    ran = []

    class Held:
        def __del__(self) -> None:
            ran.append(math.nan)

    garbage: list[Any] = [Held()]

    def callback(phase: str, info: Any) -> None:
        ran.append(phase)

    def f(x: Any) -> Any:
        return gc.collect() * 0.0 + x * x

    garbage.append(garbage)
    del garbage
    gc.callbacks.append(callback)
    try:
        program = cadiff.compile(f)
        assert [program(k) for k in (2.0, 3.0)] == [4.0, 9.0]
    finally:
        gc.callbacks.remove(callback)
    assert ran and program.stats()["eager"] == 0


# --- what is replayed ----------------------------------------------------------------------------


@dataclasses.dataclass
class Pair:
    a: float = 2.0
    b: list[float] = dataclasses.field(default_factory=lambda: [1.0, 2.0])

    def norm(self) -> Any:
        return self.a * sum(self.b)


class Point(NamedTuple):
    u: Any
    v: Any

    def total(self) -> Any:
        return self.u + self.v


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> Any: ...


class Square(Shape):
    __slots__ = ("side",)

    def __init__(self, side: Any) -> None:
        super().__init__()
        self.side = side

    def area(self) -> Any:
        return self.side * self.side


class Colour(enum.Enum):
    RED = 1


@contextlib.contextmanager
def doubling(x: Any) -> Iterator[Any]:
    yield 2.0 * x


@functools.lru_cache
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def within_contexts(x: Any) -> Any:
    with doubling(x) as doubled, np.errstate(all="ignore"):
        return doubled


def made_within(x: Any) -> Any:
    class Local:
        def get(self) -> Any:
            return x

    return (lambda: Local().get())()


logger = logging.getLogger(__name__)
PLACE = Path("data", "run.csv")
lock, reentrant = threading.Lock(), threading.RLock()
spline = interpolate.CubicSpline([0.0, 1.0, 2.0], [1.0, 2.0, 0.5])
frozen = stats.norm(0.0, scale=2.0)
operator_of_rows = sparse.csr_array(np.eye(2))
factors = sparse.linalg.splu(sparse.csc_array(2.0 * np.eye(2)))
tree = spatial.KDTree(np.eye(2))


def within_locks(x: Any) -> Any:
    lock.acquire()
    try:
        with reentrant:
            return x * 2.0
    finally:
        lock.release()


def with_logs(x: Any) -> Any:
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("x")
    return x * 2.0


def what_may_fail(x: Any) -> Any:
    try:
        warnings.warn("x", UserWarning, stacklevel=2)
        np.linalg.cholesky(-np.eye(2))
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        return x * len(type(error).__name__)


writing = logging.Logger("writing")  # which no other test configures
writing.addHandler(logging.StreamHandler(io.StringIO()))


def with_errors_in_logs(x: Any) -> Any:
    writing.error("x", stack_info=True)
    return x * 2.0


PICKLED_NUMBERS = pickle.dumps([1.5, np.ones(2)])
if importlib.util.find_spec("pandas") is not None:
    import pandas as pd

    table = pd.DataFrame({"u": [1.0, 2.0, 3.0]})

# Ways in which users write.
ORDINARY: dict[str, Callable[[Any], Any]] = {
    "a data class": lambda x: Pair(a=3.0).norm() * x,
    "a named tuple": lambda x: Point(x, 2.0).total(),
    "an abstract class": lambda x: Square(x).area(),
    "an enum": lambda x: x * Colour.RED.value + (Colour(1) is Colour.RED),
    "contexts": within_contexts,
    "classes and functions within": made_within,
    "remembered results": lambda x: x * fibonacci(10),
    "a key": lambda x: sorted([3.0, 1.0], key=lambda t: -t)[0] * x,
    "a reduction": lambda x: functools.reduce(operator.mul, [x, x, 2.0]),
    "products": lambda x: sum(a * b for a, b in itertools.product([1.0, 2.0], [x, 3.0])),
    "a partial": lambda x: functools.partial(pow, exp=2)(x),
    "a counter": lambda x: x * collections.Counter("aab")["a"],
    "a lock": within_locks,
    "logs that are asked for": lambda x: (logging.getLogger(__name__).info("x"), x * 2.0)[1],
    "logs, if they are on": with_logs,
    "what may fail": what_may_fail,
    "a text of an array": lambda x: x * len(str(np.ones(2))),
    "a spline": lambda x: x * float(spline(1.5)) + spline.c[0, 0],
    "a frozen distribution": lambda x: x * frozen.pdf(0.5) + frozen.kwds["scale"],
    "a tree of neighbours": lambda x: x * tree.query([0.5, 0.25])[0],
    "factors of a matrix": lambda x: x * factors.solve(np.ones(2))[0],
    "a sparse matrix": lambda x: x * (operator_of_rows @ np.ones(2))[0] + operator_of_rows.nnz,
    "a log": lambda x: (logger.debug("x"), x * 2.0)[1],
    "a log of an error": with_errors_in_logs,
    "a pickle of numbers": lambda x: x * pickle.loads(PICKLED_NUMBERS)[1].sum(),
    "a query without names of others": lambda x: x * table.query("u > 1.5")["u"].sum(),
    "a signature": lambda x: x * len(inspect.signature(within_locks).parameters),
    "a copy": lambda x: copy.deepcopy([1.0, [2.0]])[1][0] * x,
    "a text": lambda x: json.loads("[2.5]")[0] * len(re.findall("a", "aa")) * x,
    "a path": lambda x: (
        x * len(str(PLACE)) * (PLACE.parent / "a").with_suffix(".b").parts[0].count("a")
    ),
    "special functions": lambda x: special.gammaln(x) * special.gamma(3.0),
    "distributions": lambda x: x * stats.norm.pdf(0.3) + stats.t(3).ppf(0.4),
    "quadrature": lambda x: x * integrate.quad(lambda t: t * t, 0.0, 1.0)[0],
    "matrices": lambda x: x * linalg.norm(np.eye(2)) + np.linalg.inv(np.eye(2))[0, 0],
    "NumPy's loops": lambda x: float(np.vectorize(lambda t: t * 2)(2.0)) * x,
    "gradients": lambda x: cadiff.grad(lambda t: t * t * x)(2.0),
    "rows": lambda x: cadiff.vmap(lambda t: t * x)(np.ones(3)).sum(),
}


@pytest.mark.filterwarnings("ignore:x:UserWarning")
@pytest.mark.parametrize("way", ORDINARY)
def test_ordinary_code_is_replayed(way: str) -> None:
    if "query" in way:
        pytest.importorskip("pandas")
    f = ORDINARY[way]
    program = cadiff.compile(f)
    for x in (1.5, 2.5, 1.5):
        assert program(x) == pytest.approx(float(f(x)), rel=1e-12)
        assert program.grad(x) == pytest.approx(cadiff.grad(f)(x), rel=1e-12)
    assert program.stats()["eager"] == 0


FILE = Path(__file__)


def fails() -> str:
    try:
        raise ValueError
    except ValueError:
        return traceback.format_exc()


parser = argparse.ArgumentParser()
# What functions of the standard library ask of the system, and where.
ASKED: dict[str, Callable[[Any], Any]] = {
    r"(pathlib|io)\.read_text": lambda x: (
        x * len((FILE.parent / FILE.name).read_text(encoding="utf-8"))
    ),
    r"(pathlib|io)\.exists": lambda x: x * FILE.with_name("no such file").exists(),
    r"(pathlib|io)\.glob": lambda x: x * len(list(FILE.parent.glob("*.py"))),
    r"(pathlib|io)\.open": lambda x: x * len(open(FILE, encoding="utf-8").read()),  # noqa: SIM115
    r"time\.time\w*": lambda x: x * logging.LogRecord("", 10, "", 1, "", (), None).created,
    r"codecs\.open|io\.open": lambda x: x * len(codecs.open(str(FILE), encoding="utf-8").read()),  # noqa: SIM115
    r"\w+\.\w+": lambda x: x * len(inspect.getsource(within_locks)),
    r"shutil\.get_terminal_size": lambda x: x * len(parser.format_help()),
    r"(linecache|sys|io|os|posix|tokenize)\.\w+": lambda x: x * len(fails()),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:codecs.open:DeprecationWarning")
@pytest.mark.parametrize("reason", ASKED)
def test_what_the_system_says_is_not_built_in(reason: str) -> None:
    program = cadiff.compile(ASKED[reason])
    if "linecache" in reason and sys.version_info < (3, 11):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            program(2.0)  # runs eagerly, too: `exceptiongroup` exchanges classes of `traceback`
    else:
        with pytest.warns(RuntimeWarning, match=rf"it calls ({reason}), which may give"):
            assert program(2.0) == pytest.approx(ASKED[reason](2.0))
    assert program.stats()["recordings"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="its users may not make links")
def test_libraries_are_known_wherever_they_stand(tmp_path: Path) -> None:
    """As with `pip install --target`, and modules of a cluster."""
    for name in ("numpy", "scipy"):
        (tmp_path / name).symlink_to(Path(importlib.import_module(name).__file__).parent)
    where = isolated(f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import cadiff, numpy, scipy.stats, warnings
warnings.simplefilter("error")
X = numpy.ones((3, 2))
f = cadiff.compile(lambda w: numpy.sum(X @ w) * numpy.linalg.norm(w) - scipy.stats.norm.pdf(0.5))
f.grad(numpy.ones(2))
print(numpy.__file__)
""")
    assert where.startswith(str(tmp_path))


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write", [np.savetxt, lambda path, x: x.tofile(path)], ids=["text", "raw"]
)
def test_files_are_written_in_each_call(write: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers"

    def f(x: Any) -> Any:
        write(path, np.ones(2))
        return x * 2.0

    program = cadiff.compile(f)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert program(1.5) == 3.0
        path.unlink()
