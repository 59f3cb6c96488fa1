"""Names that other packages have, tried here: what the errors say."""

from __future__ import annotations

import importlib
import math
import pickle
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import linalg, stats

import cadiff
from cadiff import optimize
from cadiff.binding import _core, foreign_names
from cadiff.operations import foreign

from ..helpers.lent import take_back

PROGRAM = cadiff.compile(np.sum)
NUMBERS = [
    cadiff.Var(1.0),
    cadiff.Var([1.0, 2.0]),
    cadiff.Dual(1.0, 1.0),
    cadiff.Dual([1.0], [1.0]),
    cadiff.Var(1.0 + 2.0j),
]


def exists(path: str) -> bool:
    found: Any = cadiff
    parts = path.split(".")[1:]
    for k, part in enumerate(parts):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(["cadiff", *parts[: k + 1]]))
            except ModuleNotFoundError as error:  # perhaps of another package, below it
                return not str(error.name).startswith("cadiff")
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("name", foreign_names.NAMES)
def test_the_package_says_what_to_write(name: str) -> None:
    assert not hasattr(cadiff, name) and name not in dir(cadiff)
    with pytest.raises(AttributeError, match=rf"module 'cadiff' has no attribute '{name}': \w"):
        getattr(cadiff, name)


@pytest.mark.parametrize("name", foreign_names.NUMBERS)
def test_numbers_say_what_to_write(name: str) -> None:
    take_back()
    for number in NUMBERS:
        assert not hasattr(number, name) and getattr(number, name, 7) == 7
        assert name not in dir(number) and "sum" in dir(number)
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': \w") as caught:
            getattr(number, name)
        assert caught.value.name == name and caught.value.obj is number


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (cadiff.Var(1.0), foreign_names.VARS),
        (cadiff.Dual(1.0), foreign_names.DUALS),
        (PROGRAM, foreign_names.PROGRAMS),
    ],
    ids=["Var", "Dual", "Program"],
)
def test_names_of_one_kind_of_numbers_and_of_programs(thing: Any, names: dict[str, str]) -> None:
    for name, instead in names.items():
        assert not hasattr(thing, name)
        assert name not in dir(thing)
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': ") as caught:
            getattr(thing, name)
        assert str(caught.value).endswith(instead)
    assert "copy" in dir(thing) or "batch" in dir(thing)


def test_what_is_to_be_written_exists() -> None:
    tables = [value for value in vars(foreign_names).values() if isinstance(value, dict)]
    texts = [text for table in tables for text in table.values() if isinstance(text, str)]
    named = {path for text in texts for path in re.findall(r"\bcadiff(?:\.[A-Za-z_]\w*)+", text)}
    assert len(named) > 30
    assert {path for path in named if not exists(path)} == set()
    methods = {name for text in texts for name in re.findall(r"\bprogram\.(\w+)", text)}
    assert len(methods) > 8
    assert {name for name in methods if not hasattr(PROGRAM, name)} == set()


def test_names_of_results_exist() -> None:
    history = optimize.History()
    result = optimize.minimize(lambda x: x @ x, np.ones(2), method="SLSQP", callback=history)
    for name, instead in foreign_names.RESULTS.items():
        assert not hasattr(result, name)
        assert all(hasattr(result, there) for there in re.findall(r"result\.(\w+)", instead))


def test_nothing_that_numbers_have_is_hidden() -> None:
    take_back()
    known = {
        *dir(np.ndarray),
        *_core.functions(),
        "value",
        "grad",
        "backward",
        "primal",
        "tangent",
    }
    assert known & foreign_names.NUMBERS.keys() == set()


def test_imports_say_so_too() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'jit'.*write cadiff\.compile"):
        from cadiff import jit  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        from cadiff import no_such_name  # noqa: F401
    with pytest.raises(ImportError, match=r"'pymc' from 'cadiff\.interop': .*interop\.pytensor"):
        from cadiff.interop import pymc  # noqa: F401


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("linspace", r"write cadiff\.numpy\.linspace"),
        ("svd", r"write cadiff\.numpy\.linalg\.svd"),
        ("dropout", r"write cadiff\.nn\.dropout|has no attribute 'dropout'"),
        ("commands", r"write `import cadiff\.commands` first"),
        ("torch", r"write `import cadiff\.interop\.torch` first"),
        ("nonsense", r"has no attribute 'nonsense'$"),
        ("__wrapped__", r"has no attribute '__wrapped__'$"),
    ],
)
def test_names_of_its_modules_are_found(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        foreign_names.missing("cadiff", name)


def test_complex_arrays_and_stale_numbers_say_it_too() -> None:
    z = cadiff.Var(np.array([1.0 + 1j, 2.0]))
    with pytest.raises(AttributeError, match=r"'detach': cadiff\.stop_gradient"):
        z.detach()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        z.nonsense


async def waited(x: Any) -> Any:
    return x


MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "point beside f": (
        lambda x: cadiff.grad(np.sum, x),
        TypeError,
        r"argnums is an int or a tuple of ints, not array.*grad\(f\)\(x\)",
    ),
    "points beside f": (lambda x: cadiff.vmap(np.sum, x), TypeError, r"vmap\(f\)\(X\)"),
    "shapes": (
        lambda x: cadiff.grad(lambda w: (np.ones((4, 2)) @ w).sum())(x),
        ValueError,
        r"matmul: .* shapes \(4, 2\) and \(3,\)",
    ),
    "points and directions beside f": (
        lambda x: cadiff.hvp(np.sum, x, x),  # type: ignore[call-arg]
        TypeError,
        r"hvp\(f\) gives a function.*write hvp\(f\)\(x, v\)",
    ),
    "point beside what is compiled": (
        lambda x: cadiff.compile(np.sum, x),  # type: ignore[call-overload]
        TypeError,
        r"write compile\(f\)\(x\)",
    ),
    "two points beside f": (
        lambda x: cadiff.hessian(np.dot, x, x),  # type: ignore[call-arg]
        TypeError,
        r"write hessian\(f\)\(x, y\)",
    ),
    "an argument beside what takes none": (
        lambda x: cadiff.checkpoint(np.sum, x),  # type: ignore[call-arg]
        TypeError,
        r"write checkpoint\(f\)\(x\)",
    ),
    "a product without its direction": (
        lambda x: cadiff.hvp(np.sum)(x),
        TypeError,
        r"write hvp\(f\)\(x, v\)",
    ),
    "primals that are no tuple": (
        lambda x: cadiff.jvp(np.sum, x, x),
        TypeError,
        r"not ndarray: write jvp\(f, \(x,\), \(v,\)\)",
    ),
    "a pullback without a point": (
        lambda x: cadiff.vjp(lambda x: x),
        TypeError,
        r"at a point, here with none: write out, pullback = vjp\(f, x\)",
    ),
    "a pullback with its cotangent": (
        lambda x: cadiff.vjp(lambda x: x, x, x),
        TypeError,
        r"here with 2 arguments: write .*pullback\(u\)",
    ),
    "a linear map without a point": (
        lambda x: cadiff.linearize(lambda x: x),
        TypeError,
        r"write out, lin = linearize\(f, x\)",
    ),
    "a check without a point": (
        lambda x: cadiff.check_grads(np.sum),  # type: ignore[call-arg]
        TypeError,
        r"write check_grads\(f, \(x,\)\)",
    ),
    "a check of a function": (
        lambda x: cadiff.nan_check(np.sum),
        TypeError,
        r"a context.*`with cadiff\.nan_check\(\):`",
    ),
    "the value in the place of f": (
        lambda x: cadiff.grad(np.sum(x)),  # type: ignore[call-overload]
        TypeError,
        r"not float64: write grad\(f\)\(x\), not grad\(f\(x\)\)",
    ),
    "a derivative by an array": (
        lambda x: cadiff.derivative(np.sum, x),
        TypeError,
        r"x is a ndarray; .*cadiff\.grad\(f\)\(x\), or cadiff\.jacobian",
    ),
    "the name of an argument": (
        lambda x: cadiff.grad(lambda a, b: a * b, argnums="b"),  # type: ignore[call-overload]
        TypeError,
        r"not 'b'; .*write argnums=1$",
    ),
    "the names of arguments": (
        lambda x: cadiff.compile(lambda a, b: a).grad(x, x, argnums=("a", "b")),
        TypeError,
        "by position",
    ),
    "argnums of a call": (
        lambda x: PROGRAM.grad(x, wrt=0),
        TypeError,
        "takes no wrt: .*argnums=0",
    ),
    "the base of a logarithm": (
        lambda x: cadiff.log(8.0, 2.0),  # type: ignore[call-arg]
        TypeError,
        r"takes one argument \(2 given\).*log\(x\) / log\(b\)",
    ),
    "errors of a fit": (
        lambda x: optimize.least_squares(lambda p: p - 1.0, x).errors,
        AttributeError,
        r"no 'errors': write result\.standard_errors\(\).*result\.covariance\(\)",
    ),
    "what a result has": (
        lambda x: optimize.minimize(lambda p: p @ p, x).nonsense,
        AttributeError,
        "no 'nonsense': it has .*x, .*hessian, covariance, standard_errors",
    ),
    "an option beside the others": (
        lambda x: optimize.minimize(lambda x: x @ x, x, maxiter=10),
        TypeError,
        r"no maxiter: write options=\{'maxiter': 10\}",
    ),
    "pairs of bounds for a fit": (
        lambda x: optimize.curve_fit(lambda x, a: a * x, x, x, bounds=[(0, 1)] * 3),
        ValueError,
        r"two sides.*write bounds=\(\(0, 0, 0\), \(1, 1, 1\)\)",
    ),
    "as many pairs of bounds as sides": (
        lambda x: optimize.least_squares(lambda p: p, x[:2], bounds=[(0, 1), (0, 1)]),
        ValueError,
        r"two sides.*write bounds=\(\(0, 0\), \(1, 1\)\)",
    ),
    "data that are nan": (
        lambda x: optimize.curve_fit(lambda x, a: a * x, x, np.where(x, np.nan, x)),
        ValueError,
        "infs or NaNs: ydata has 3 of them.*nan_policy='omit'",
    ),
    "a layer of PyTorch": (
        lambda x: cadiff.nn.Linear(3, 2),  # type: ignore[attr-defined]
        AttributeError,
        r"module 'cadiff\.nn' has no attribute 'Linear': .*write x @ W \+ b",
    ),
    "a name of cadiff.numpy.linalg": (
        lambda x: cadiff.numpy.linalg.solve_triangular,
        AttributeError,
        r"module 'cadiff\.numpy\.linalg' has no attribute 'solve_triangular'",
    ),
    "wrt": (
        lambda x: cadiff.grad(np.sum, wrt=1),  # type: ignore[call-overload]
        TypeError,
        "grad takes no wrt: .*argnums=1",
    ),
    "create_graph": (
        lambda x: cadiff.jacobian(np.sum, create_graph=True),  # type: ignore[call-arg]
        TypeError,
        r"no create_graph: .*cadiff\.grad\(cadiff\.grad\(f\)\)",
    ),
    "in_dims": (
        lambda x: cadiff.vmap(np.sum, in_dims=1),  # type: ignore[call-arg]
        TypeError,
        "no in_dims: write in_axes=1",
    ),
    "unknown": (
        lambda x: cadiff.compile(np.sum, fast=True),  # type: ignore[call-overload]
        TypeError,
        "compile takes no fast: its arguments are f, on_branch_change",
    ),
    "learning rate": (
        lambda x: optimize.adam(np.sum, x, lr=0.1),  # type: ignore[call-arg]
        TypeError,
        r"adam takes no lr: write learning_rate=0\.1",
    ),
    "tolerance": (
        lambda x: optimize.minimize(lambda x: x @ x, x, tolerance=0.1),
        TypeError,
        r"minimize takes no tolerance: write tol=0\.1",
    ),
    "no return": (
        lambda x: optimize.minimize(lambda x: None, x),
        TypeError,
        "got None from the function; is a return missing",
    ),
    "minimum of a vector": (
        lambda x: optimize.minimize(lambda x: 2.0 * x, x),
        ValueError,
        r"scalar value.*shape \(3,\): return a sum, or .*least_squares",
    ),
    "one pair of bounds": (
        lambda x: optimize.minimize(lambda x: x @ x, x, bounds=(0, 1)),
        TypeError,
        r"bounds are a pair \(lower, upper\) for each number.*not \(0, 1\)",
    ),
    "an optimiser of PyTorch": (
        lambda x: optimize.Adam,  # type: ignore[attr-defined]
        AttributeError,
        r"write cadiff\.optimize\.adam",
    ),
    "a name of cadiff.numpy": (
        lambda x: cadiff.numpy.matmull,
        AttributeError,
        r"module 'cadiff\.numpy' has no attribute 'matmull'",
    ),
    "gradient of an array": (
        lambda x: cadiff.gradient(lambda x: x @ x, x),
        TypeError,
        r"calls f\(\*args\), here with 3 arguments, .*write cadiff\.grad\(f\)\(x\)",
    ),
    "an order by position": (
        lambda x: cadiff.derivative(np.sin, 2.0, 2),  # type: ignore[arg-type]
        TypeError,
        r"derivative\(f, x, order=2\)",
    ),
    "a base": (lambda x: np.log(cadiff.Var(2.0), 10), TypeError, "what follows is out=, .*a int"),
    "value": (lambda x: setattr(cadiff.Var(x), "value", 1.0), AttributeError, "make another one"),
    "shape": (lambda x: setattr(cadiff.Var(x), "shape", (1, -1)), AttributeError, "x.reshape"),
    "dtype": (lambda x: setattr(cadiff.Dual(x), "dtype", int), AttributeError, "are float64"),
    "tangent": (lambda x: setattr(cadiff.Dual(x), "dual", x), AttributeError, "make another one"),
    "gradient": (lambda x: setattr(cadiff.Var(x), "grad", 0.0), AttributeError, "zero_grad"),
    "shape of a seed": (
        lambda x: (2.0 * cadiff.Var(x)).backward(np.ones(2)),
        ValueError,
        r"which is \(3,\), not \(2,\)",
    ),
    "retain_graph": (
        lambda x: cadiff.Var(2.0).backward(retain_graph=True),  # type: ignore[call-arg]
        TypeError,
        "a seed alone: what was recorded is kept",
    ),
    "requires_grad": (
        lambda x: cadiff.Var(x, requires_grad=True),  # type: ignore[call-arg]
        TypeError,
        "every Var is recorded",
    ),
    "elements of a number": (
        lambda x: cadiff.grad(lambda x: x[0] + x[1])(2.0),
        TypeError,
        "call f with an array or a list",
    ),
    "arrays one after the other": (
        lambda x: cadiff.concatenate(cadiff.Var(x), cadiff.Var(x)),  # type: ignore[arg-type]
        TypeError,
        r"in a list: write concatenate\(\[x, y\]\)",
    ),
    "numbers one after the other": (
        lambda x: cadiff.stack(cadiff.Var(1.0), 2.0),  # type: ignore[arg-type]
        TypeError,
        r"write stack\(\[x, y\]\)",
    ),
    "numbers joined": (
        lambda x: cadiff.concatenate([cadiff.Var(1.0), 2.0]),
        ValueError,
        r"cadiff\.stack and cadiff\.array join numbers",
    ),
    "rows of different lengths": (
        lambda x: cadiff.array([[cadiff.Var(1.0), 2.0], [3.0]]),
        ValueError,
        r"the same shape, not \(2,\) and \(1,\)",
    ),
    "generator": (
        lambda x: cadiff.grad(lambda x: (a for a in x))(x),
        TypeError,
        "generator: it yields; return a number",
    ),
    "coroutine": (lambda x: cadiff.grad(waited)(x), TypeError, "coroutine: it is async"),
    "function": (
        lambda x: cadiff.jacobian(lambda x: lambda: x)(x),
        TypeError,
        "function; are the parentheses of a call missing",
    ),
    "text": (lambda x: cadiff.grad(lambda x: f"{x[0]}")(x), TypeError, "not its text"),
    "reflected shapes": (
        lambda x: cadiff.compile(lambda w: w @ np.ones((4, 2))).jacobian(x),
        ValueError,
        r"matmul: .* shapes \(3,\) and \(4, 2\)",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_of_newcomers(mistake: Any) -> None:
    make, kind, words = mistake
    with pytest.raises(kind, match=words):
        make(np.ones(3))


X = np.ones(2)
IMPORT = r"write cadiff\.scipy\.linalg\.{}, after `import cadiff\.scipy\.linalg`"
NOTED: dict[str, tuple[Any, Any, str]] = {
    "power of a list": (lambda p: p**2, [1.0, 2.0], "f gets a list .*call f with an array"),
    "attribute of a list": (lambda p: p.sum(), [1.0, 2.0], "f gets a list"),
    "two indices": (lambda p: p[0, 1], [[1.0], [2.0]], "f gets a list"),
    "square of a tuple": (lambda p: p * p, (1.0, 2.0), "f gets a tuple .*its elements"),
    "a dict, doubled": (lambda p: p * 2.0, {"a": 1.0}, "f gets a dict .*its values"),
    "fraction": (lambda x: x * Fraction(1, 3), 1.0, "Fraction is no number here: make a float"),
    "called": (lambda x: x(2.0), 1.0, "is an operator missing"),
    "hat": (lambda x: x ^ 2, 1.0, r"powers are written x \*\* y"),
    "sum of names": (lambda p: sum(p), {"a": 1.0}, ""),
    "None": (lambda x: x + None, 1.0, ""),
    "an entry of a dict": (lambda p: p.a, {"a": 1.0}, r"write p\['a'\] for an entry"),
    "a branch on elements": (
        lambda x: x.sum() if x > 0.0 else 0.0,
        X,
        r"np\.where\(condition, v, w\), or cadiff\.where",
    ),
    "the greatest of a matrix": (lambda x: max(x), np.ones((2, 2)), r"np\.max\(v\)"),
    "dim": (lambda x: x.mean(dim=0), X, "write axis="),
    "keepdim": (lambda x: np.sum(x, keepdim=True), X, "write keepdims="),  # type: ignore
    "axes of a number": (
        lambda x: x / x.shape[0],
        1.0,
        r"its shape is \(\): call f with an array",
    ),
    "a key of a dict": (lambda x: {1.0: 2.0}[x], 1.0, "looks up a key"),
    "a label beyond a tuple": (lambda p: p[2], (1.0, 2.0), ""),
    "eigh of SciPy": (lambda x: linalg.eigh(x)[0].sum(), np.eye(2), IMPORT.format("eigh")),
    "svdvals of SciPy": (lambda x: linalg.svdvals(x).sum(), np.eye(2), IMPORT.format("svdvals")),
    "polar of SciPy": (
        lambda x: linalg.polar(x)[0].sum(),
        np.eye(2),
        "`import cadiff.scipy.linalg`",
    ),
    "max of an array and a number": (
        lambda x: max(x, 0.0).sum(),
        X,
        r"np\.maximum\(v, w\)",
    ),
    "mood of SciPy": (
        lambda x: stats.mood(x, [1.0, 2.0, 2.0])[0],
        X,
        "`import cadiff.scipy.stats`",
    ),
}


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
@pytest.mark.filterwarnings("ignore:.*with arguments of dtype=object:DeprecationWarning")
@pytest.mark.parametrize(("f", "x", "words"), NOTED.values(), ids=NOTED)
def test_what_python_says_of_other_types_is_noted(f: Any, x: Any, words: str) -> None:
    with pytest.raises(
        (TypeError, AttributeError, ValueError, IndexError, ZeroDivisionError)
    ) as caught:
        cadiff.grad(f)(x)
    notes = "".join(getattr(caught.value, "__notes__", []))
    assert re.search(words, notes) if words else notes == ""


def test_a_package_without_its_core_says_how_to_build_it(tmp_path: Path) -> None:
    package = Path(cadiff.__file__).parent
    shutil.copytree(package, tmp_path / "cadiff", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    done = subprocess.run(
        [sys.executable, "-c", "import cadiff"], cwd=tmp_path, capture_output=True, text=True
    )
    assert re.search(r"core of cadiff is missing from .*pip install -e \.", done.stderr)
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "cadiff")
    from_there = "import sys; sys.path.insert(0, sys.argv[1]); import cadiff"
    command = [sys.executable, "-c", from_there, archive]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert re.search(r"cannot import from within .*packed\.zip.*: unpack the archive", done.stderr)


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
@pytest.mark.parametrize("optimise", [optimize.minimize, optimize.least_squares, optimize.root])
def test_further_arguments_of_objectives(optimise: Any) -> None:
    with pytest.raises(TypeError, match="'rate'") as caught:
        optimise(lambda x, rate: x * rate, 1.0)
    assert re.search(r"calls fun\(x, \*args\): write args=", "".join(caught.value.__notes__))
    with pytest.raises(TypeError, match="'rate'") as inner:
        optimise(lambda x: (lambda rate: rate)(), 1.0)
    assert not getattr(inner.value, "__notes__", [])


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
@pytest.mark.parametrize(
    "call",
    [
        lambda: optimize.curve_fit(lambda t, k: math.exp(-k * t), X, X),
        lambda: optimize.least_squares(lambda p: math.exp(p), X),
        lambda: cadiff.compile(lambda a: a * math.exp(X))(1.0),
        lambda: cadiff.grad(lambda a: a * math.exp(X))(1.0),
    ],
)
def test_functions_of_one_number_that_are_given_arrays(call: Any) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert caught.value.__notes__ == ["write cadiff.exp(v) instead of math.exp(v)"]
    with pytest.raises(TypeError) as other:
        cadiff.compile(lambda a: a * math.exp("1"))(1.0)
    assert not hasattr(other.value, "__notes__")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cadiff.jvp(cadiff.sin)(X, X), r"write out, tangent = jvp\(f, \(x,\), \(v,\)\)"),
        (lambda: cadiff.derivative(cadiff.sin)(1.0), r"write derivative\(f, x\)"),
        (
            lambda: cadiff.compile(lambda x: x * x).to_c(X, what="value_and_grad"),
            'what="jacobian"',
        ),
        (lambda: pickle.dumps(cadiff.compile(lambda x: x)), "a def in a module, or .*cloudpickle"),
        (lambda: pickle.dumps(cadiff.grad(lambda x: x)), "a def in a module, or .*cloudpickle"),
    ],
)
def test_calls_that_say_another_way(call: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError, pickle.PicklingError), match=words):
        call()


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
def test_labels_and_positions_of_tables() -> None:
    with pytest.raises(IndexError) as caught:
        cadiff.grad(lambda table: table["a"])(np.ones(2))
    assert "register_container" in "".join(caught.value.__notes__)
    with pytest.raises(IndexError) as outside:
        cadiff.grad(lambda x: x[5])(np.ones(2))
    assert not hasattr(outside.value, "__notes__")


class _Fixed:
    """A loader without room for an attribute, as those of frozen programs are."""

    __slots__ = ()

    def create_module(self, spec: Any) -> None:
        """Python makes it."""

    def exec_module(self, module: Any) -> None:
        module.answer = 42


def test_what_follows_an_import_leaves_the_loader_as_it_is(monkeypatch: Any) -> None:
    loader: Any = _Fixed()
    finder = SimpleNamespace(
        find_spec=lambda name, path=None, target=None: (
            ModuleSpec(name, loader) if name == "fixed_module" else None
        )
    )
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    followed: list[Any] = []
    foreign.when_imported("fixed_module", followed.append)
    module: Any = importlib.import_module("fixed_module")
    monkeypatch.delitem(sys.modules, "fixed_module")
    assert followed == [module]
    assert (module.answer, module.__loader__, module.__spec__.loader) == (42, loader, loader)
