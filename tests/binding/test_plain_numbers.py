"""Code that wants a plain number and is given one with a derivative: the error, or a note on it,
says what to write instead."""

from __future__ import annotations

import cmath
import decimal
import json
import math
import re
import statistics
import struct
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import integrate, linalg, optimize, signal, spatial, stats

import cadiff
from cadiff.scipy.ndimage import generic_filter
from cadiff.scipy.stats import binned_statistic

from ..helpers.mistakes import check


def _filled(x: Any) -> Any:
    a = np.zeros(3)
    a.fill(x)
    return a[0]


def _assigned(x: Any) -> Any:
    a = np.zeros(3)
    a[0] = x
    return a[0]


Row = tuple[str, Callable[[Any], Any], str]  # its name, f, and the words, with ", " between
# From Python 3.15 on an error of its own stands in the place of ours.
TEXT: Row = ("text", lambda x: "%f" % x, r"as text, cadiff\.value\(v\)")  # noqa: UP031
OURS = sys.version_info < (3, 15)
PLANE = np.eye(2)

WANTED: list[Row] = [
    *([TEXT] if OURS else []),
    ("math", lambda x: math.erf(x), r"write cadiff\.erf\(v\) instead of math\.erf\(v\)"),
    ("cmath", lambda x: cmath.exp(x), r"write cadiff\.cmath\.exp\(v\) instead of cmath\.exp\(v\)"),
    ("math alone", lambda x: math.isnan(x), r"write cadiff\.math\.isnan\(v\) instead of"),
    ("float", lambda x: float(x), r"'float\(x\)', computes like a float"),
    ("int", lambda x: int(x), r"'int\(x\)', int\(cadiff\.value\(v\)\)"),
    ("range", lambda x: range(x), r"count, range\(int\(cadiff\.value\(v\)\)\)"),
    ("index", lambda x: [1.0, 2.0][x], r"index, int\(cadiff\.value\(v\)\)"),
    ("assigned", _assigned, r"'a\[0\]' is assigned, cadiff\.zeros\(shape\)"),
    ("filled", _filled, r"make the array with cadiff\.zeros"),
    ("array", lambda x: np.array([x], dtype=float), r"cadiff\.array\(\[\.\.\.\]\)"),
    ("library", lambda x: statistics.fmean([x]), r"statistics\.fmean computes, primitive"),
    ("of ints", lambda x: math.comb(x, 1), r"math\.comb\(x,.1\), int\(cadiff\.value\(v\)\)"),
    ("of counts", lambda x: np.arange(x), r"takes ints, int\(cadiff\.value\(v\)\)"),
    ("repeated", lambda x: [1.0] * x, r"repeats a sequence, int\(cadiff\.value\(v\)\)"),
    ("drawn", lambda x: np.random.normal(x), r"loc \+ scale \* rng\.standard_normal\(\)"),
    (
        "odeint",
        lambda x: integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0]),
        r"scipy\.integrate\.odeint computes, write cadiff\.scipy\.integrate\.odeint",
    ),
    (
        "behind a wrapper",
        lambda x: linalg.schur(np.array([[x, 0.0], [0.0, x]])),
        r"scipy\.linalg\.schur computes, write cadiff\.scipy\.linalg\.schur",
    ),
    (
        "mirrored",
        lambda x: np.linspace(0.0, 1.0, x),
        r"write cadiff\.numpy\.linspace,.and cadiff\.value\(v\) for an argument",
    ),
    ("quad", lambda x: integrate.quad(lambda t: t * x, 0, 1), r"scipy\.integrate\.quad computes"),
    (
        "brentq",
        lambda x: optimize.brentq(lambda t: t * t - x, 0, 10),
        r"scipy\.optimize\.brentq computes, write cadiff\.scipy\.optimize\.brentq",
    ),
]
if sys.version_info < (3, 14):  # from which on it asks floats and ints alone
    WANTED.append(("pause", lambda x: time.sleep(x), r"'time\.sleep\(x\)', cadiff\.value\(v\)"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="places in a line are not known")
@pytest.mark.filterwarnings("ignore:.*with arguments of dtype=object:DeprecationWarning")
@pytest.mark.parametrize("kind", ["grad", "jacfwd", "compile"])
@pytest.mark.parametrize(("name", "f", "words"), WANTED, ids=[row[0] for row in WANTED])
def test_what_wants_a_plain_number_is_named_with_what_to_write_instead(
    name: str, f: Any, words: str, kind: str
) -> None:
    run = cadiff.compile(f).grad if kind == "compile" else getattr(cadiff, kind)(f)
    try:
        check(lambda: run(1.5), TypeError, f"does not become a plain number by itself, {words}")
    except ValueError as error:
        # SciPy calls f again with the error pending, and CPython may forget it where it has no
        # attribute in its cache: then SciPy takes -1 for both values.
        if name != "brentq" or "must have different signs" not in str(error):
            raise


# What other code raises, and the note that says what to write.
NOTED: list[Row] = [
    *([] if OURS else [TEXT]),
    ("index of an array", lambda x: np.ones(3)[x], r"index: write int\(cadiff\.value\(v\)\)"),
    ("length", lambda x: np.zeros(x), r"'np\.zeros\(x\)' takes ints"),
    ("digits", lambda x: "%d" % x, "writes a number as text"),  # noqa: UP031
    ("json", lambda x: json.dumps([x]), r"json\.dumps takes plain numbers, cadiff\.value"),
    ("struct", lambda x: struct.pack("d", x), r"struct\.pack, cadiff\.value\(v\)"),
    ("decimal", lambda x: decimal.Decimal(x), r"decimal\.Decimal\(x\), cadiff\.value"),
    ("mean", lambda x: statistics.mean([x]), r"statistics\.mean computes, numpy has mean"),
    ("key", lambda x: {x: 1.0}, r"has keys: .* cadiff\.value\(v\) is"),
    ("member", lambda x: {x}, "has keys"),
    ("looked up", lambda x: KEYS[x], "looks up a key"),
    (
        "distances",
        lambda x: spatial.distance.cdist(np.array([[x]]), [[0.0]]),
        r"scipy\.spatial\.distance\.cdist computes, write cadiff\.scipy\.spatial",
    ),
    ("distribution", lambda x: stats.norm.pdf(x), r"write cadiff\.scipy\.stats\.norm\.pdf"),
    (
        "Cython",
        lambda x: signal.upfirdn([x, 1.0], [1.0, 2.0]),
        r"^scipy\.signal\.upfirdn computes, write cadiff\.scipy\.signal\.upfirdn",
    ),
    ("NumPy", lambda x: np.arctan2([x, 1.0], 2.0), r"write cadiff\.numpy\.arctan2"),
    ("greatest", lambda x: max(x * X, 0.0), r"^write np\.maximum\(v,.w\),.or cadiff\.maximum"),
    ("least", lambda x: min(1.0, x * X), r"^write np\.minimum\(v,.w\)"),
    ("chosen", lambda x: x if x * X > 0.0 else 0.0, r"^write np\.where\(cond, or cadiff\.where"),
    (
        "shuffled",
        lambda x: np.random.default_rng(0).permutation(x * X),
        r"write x\[rng\.permutation\(len\(x\)\)\]",
    ),
    (
        "of several lines",
        lambda x: np.nditer(
            [x, None],
            [],
        ),
        "this line computes with plain numbers",
    ),
    ("fraction", lambda x: x * Fraction(1, 3), "Fraction is no number here: make a float"),
    ("called", lambda x: x(2.0), "is an operator missing"),
    ("hat", lambda x: x ^ 2, r"powers are written x \*\* y"),
    ("axes of a number", lambda x: x / x.shape[0], r"its shape is \(\): call f with an array"),
    ("greatest of a matrix", lambda x: max(x * PLANE), r"np\.max\(v\)"),
    ("dim", lambda x: (x * X).mean(dim=0), "write axis="),
    ("keepdim", lambda x: np.sum(x * X, keepdim=True), "write keepdims="),  # type: ignore
    ("eigh", lambda x: linalg.eigh(x * PLANE), r"cadiff\.scipy\.linalg\.eigh,.after `import"),
    ("svdvals", lambda x: linalg.svdvals(x * PLANE), r"cadiff\.scipy\.linalg\.svdvals,.after"),
    ("polar", lambda x: linalg.polar(x * PLANE), "`import cadiff.scipy.linalg`"),
    ("mood", lambda x: stats.mood(x * X, [1.0, 2.0, 2.0]), "`import cadiff.scipy.stats`"),
]
KEYS = {1.5: 2.0}
X = np.ones(2)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes")
@pytest.mark.filterwarnings("ignore:.*with arguments of dtype=object:DeprecationWarning")
@pytest.mark.parametrize("kind", ["grad", "jacobian", "jacfwd", "compile", "nested"])
@pytest.mark.parametrize(("name", "f", "words"), NOTED, ids=[row[0] for row in NOTED])
def test_errors_of_other_code_are_noted_with_what_to_write_instead(
    name: str, f: Any, words: str, kind: str
) -> None:
    if kind == "nested":
        run = cadiff.grad(lambda x: cadiff.grad(f)(x) * x)
    else:
        run = cadiff.compile(f).grad if kind == "compile" else getattr(cadiff, kind)(f)
    with pytest.raises(Exception) as caught:
        run(1.5)
    notes = caught.value.__notes__  # from Python 3.14 on json adds its own
    (note,) = [each for each in notes if not each.startswith("when serializing")]
    for word in words.split(", "):
        assert re.search(word, note), note


# What f does with a container that it takes for an array: "" where the error says enough.
OF_CONTAINERS: list[tuple[Any, Any, str]] = [
    (lambda p: p**2, [1.0, 2.0], "f gets a list .*call f with an array"),
    (lambda p: p.sum(), [1.0, 2.0], "f gets a list"),
    (lambda p: p[0, 1], [[1.0], [2.0]], "f gets a list"),
    (lambda p: p * p, (1.0, 2.0), "f gets a tuple .*its elements"),
    (lambda p: p * 2.0, {"a": 1.0}, "f gets a dict .*its values"),
    (lambda p: p.a, {"a": 1.0}, r"write p\['a'\] for an entry"),
    (lambda table: table["a"], X, "register_container"),
    (lambda p: sum(p), {"a": 1.0}, ""),
    (lambda x: x + None, 1.0, ""),
    (lambda p: p[2], (1.0, 2.0), ""),
    (lambda x: x[5], X, ""),
]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes")
@pytest.mark.parametrize(("f", "x", "words"), OF_CONTAINERS)
def test_what_python_says_of_containers_is_noted(f: Any, x: Any, words: str) -> None:
    with pytest.raises((TypeError, AttributeError, IndexError)) as caught:
        cadiff.grad(f)(x)
    notes = "".join(getattr(caught.value, "__notes__", []))
    assert re.search(words, notes) if words else notes == ""


def module(name: str) -> Any:
    return import_module(name)


def _windowed(x: Any) -> Any:
    windows = module("pandas").Series([x, 2.0 * x]).rolling(2)
    return windows.mean()


OF_TABLES = [r"table\.to_numpy\(\): cadiff\.numpy has mean", "sliding_window_view"]
# What has its own numbers, arrays or tables, and exceptions: the package, a use of it, the words.
HOSTS: list[tuple[str, Callable[[Any], Any], list[str]]] = [
    ("jax", lambda x: module("jax").numpy.sin(x), [r"jax\.primitive\(f\)"]),
    ("jax", lambda x: module("jax").jit(lambda y: y * y)(x), [r"interop\.jax\.primitive\(f\)"]),
    ("torch", lambda x: module("torch").sin(x), [r"interop\.torch\.primitive\(f\)"]),
    ("pandas", _windowed, [r"^'windows\.mean\(\)' computes", *OF_TABLES]),
    ("polars", lambda x: module("polars").Series([x, 2.0 * x]).sum(), OF_TABLES),
    ("polars", lambda x: module("polars").Series([1.0]) * x, [r"\* x' computes", *OF_TABLES]),
    ("sympy", lambda x: module("sympy").symbols("a") * x, [r"sympy\.lambdify\(symbols, express"]),
]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes")
@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("kind", ["grad", "compile"])
@pytest.mark.parametrize(("package", "f", "words"), HOSTS)
def test_packages_with_numbers_of_their_own_are_told_of_a_way(
    package: str, f: Any, words: list[str], kind: str
) -> None:
    pytest.importorskip(package)
    run = cadiff.compile(f, verify=False).grad if kind == "compile" else cadiff.grad(f)
    with pytest.raises(Exception) as caught:
        run(1.5)
    told = [*getattr(caught.value, "__notes__", ()), str(caught.value)]
    note = next(text for text in told if "computes with plain numbers" in text)
    for word in words:
        assert re.search(word, note), note


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "numpy.tile": lambda x: np.tile(np.ones(3) * x, x),
    "numpy.roll": lambda x: cadiff.numpy.roll(np.ones(3) * x, x),
    "scipy.ndimage.generic_filter": lambda x: generic_filter(np.ones(3), lambda v: v[0] * x, x),
    "scipy.stats.binned_statistic": lambda x: binned_statistic(
        np.ones(3), np.ones(3) * x, np.sum, bins=x
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_functions_within_a_wrapper_are_called_what_the_user_calls_them(name: str) -> None:
    words = rf": {name} computes with plain numbers: write cadiff\.{name}"
    for transform in (cadiff.grad, lambda f: cadiff.compile(f).grad):
        with pytest.raises(TypeError, match=words):
            transform(WRAPPED[name])(1.5)


def test_other_errors_are_not_noted() -> None:
    def refuse(x: Any) -> Any:
        raise TypeError(f"no Var such as {x}")

    mistakes: list[Callable[[Any], Any]] = [
        refuse,
        lambda x: cadiff.zeros(3)[5] * x,
        lambda x: x.shapes,
        lambda x: json.dumps(object()) + x,
        lambda x: cadiff.numpy.linalg.solve(x, x),
        lambda x: KEYS[2.5] * x,
        lambda x: x + "text",
    ]
    for f in mistakes:
        with pytest.raises(Exception) as caught:
            cadiff.grad(f)(1.5)
        assert not hasattr(caught.value, "__notes__"), caught.value.__notes__


def test_what_is_not_known_by_its_source_is_refused_with_all_ways_out() -> None:
    f: Any = eval("lambda x: float(x)")
    words = r"does not become, cadiff\.value\(v\) for the value"
    check(lambda: cadiff.grad(f)(1.0), TypeError, words)
