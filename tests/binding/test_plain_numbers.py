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


Case = tuple[Callable[[Any], Any], list[str]]
# From Python 3.15 on an error of its own stands in the place of ours.
TEXT: dict[str, Case] = {
    "text": (lambda x: "%f" % x, ["as text", r"cadiff\.value\(v\)"]),  # noqa: UP031
}
OURS = sys.version_info < (3, 15)

WANTED: dict[str, Case] = {
    **(TEXT if OURS else {}),
    "math": (lambda x: math.erf(x), [r"write cadiff\.erf\(v\) instead of math\.erf\(v\)"]),
    "cmath": (
        lambda x: cmath.exp(x),
        [r"write cadiff\.cmath\.exp\(v\) instead of cmath\.exp\(v\)"],
    ),
    "math alone": (lambda x: math.isnan(x), [r"write cadiff\.math\.isnan\(v\) instead of"]),
    "float": (lambda x: float(x), [r"'float\(x\)'", "computes like a float"]),
    "int": (lambda x: int(x), [r"'int\(x\)'", r"int\(cadiff\.value\(v\)\)"]),
    "range": (lambda x: range(x), ["count", r"range\(int\(cadiff\.value\(v\)\)\)"]),
    "index": (lambda x: [1.0, 2.0][x], ["index", r"int\(cadiff\.value\(v\)\)"]),
    "assigned": (_assigned, [r"'a\[0\]' is assigned", r"cadiff\.zeros\(shape\)"]),
    "filled": (_filled, [r"make the array with cadiff\.zeros"]),
    "array": (lambda x: np.array([x], dtype=float), [r"cadiff\.array\(\[\.\.\.\]\)"]),
    "library": (lambda x: statistics.fmean([x]), [r"statistics\.fmean computes", "primitive"]),
    "of ints": (lambda x: math.comb(x, 1), [r"math\.comb\(x, 1\)", r"int\(cadiff\.value\(v\)\)"]),
    "of counts": (lambda x: np.arange(x), ["takes ints", r"int\(cadiff\.value\(v\)\)"]),
    "repeated": (lambda x: [1.0] * x, ["repeats a sequence", r"int\(cadiff\.value\(v\)\)"]),
    "drawn": (lambda x: np.random.normal(x), [r"loc \+ scale \* rng\.standard_normal\(\)"]),
    "odeint": (
        lambda x: integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0]),
        [r"scipy\.integrate\.odeint computes", r"write cadiff\.scipy\.integrate\.odeint"],
    ),
    "expm": (
        lambda x: linalg.expm(np.array([[x, 0.0], [0.0, x]])),
        [r"scipy\.linalg\.expm computes", r"write cadiff\.scipy\.linalg\.expm"],
    ),
    "behind a wrapper": (
        lambda x: linalg.schur(np.array([[x, 0.0], [0.0, x]])),
        [r"scipy\.linalg\.schur computes", r"write cadiff\.scipy\.linalg\.schur"],
    ),
    "mirrored": (
        lambda x: np.linspace(0.0, 1.0, x),
        [r"write cadiff\.numpy\.linspace, and cadiff\.value\(v\) for an argument"],
    ),
    "quad": (
        lambda x: integrate.quad(lambda t: t * x, 0, 1),
        [r"scipy\.integrate\.quad computes"],
    ),
    "brentq": (
        lambda x: optimize.brentq(lambda t: t * t - x, 0, 10),
        [r"scipy\.optimize\.brentq computes", r"write cadiff\.scipy\.optimize\.brentq"],
    ),
}
if sys.version_info < (3, 14):  # from which on it asks floats and ints alone
    WANTED["pause"] = lambda x: time.sleep(x), [r"'time\.sleep\(x\)'", r"cadiff\.value\(v\)"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="places in a line are not known")
@pytest.mark.filterwarnings("ignore:.*with arguments of dtype=object:DeprecationWarning")
@pytest.mark.parametrize("kind", ["grad", "jacfwd", "compile"])
@pytest.mark.parametrize("name", WANTED)
def test_what_wants_a_plain_number_is_named_with_what_to_write_instead(
    name: str, kind: str
) -> None:
    f, words = WANTED[name]
    run = cadiff.compile(f).grad if kind == "compile" else getattr(cadiff, kind)(f)
    try:
        check((lambda: run(1.5), TypeError, ["does not become a plain number by itself", *words]))
    except ValueError as error:
        # SciPy calls f again with the error pending, and CPython may forget it where it has no
        # attribute in its cache: then SciPy takes -1 for both values.
        if name != "brentq" or "must have different signs" not in str(error):
            raise


# What other code raises, and the note that says what to write.
NOTED: dict[str, Case] = {
    **({} if OURS else TEXT),
    "index of an array": (lambda x: np.ones(3)[x], [r"index: write int\(cadiff\.value\(v\)\)"]),
    "length": (lambda x: np.zeros(x), [r"'np\.zeros\(x\)' takes ints"]),
    "digits": (lambda x: "%d" % x, ["writes a number as text"]),  # noqa: UP031
    "json": (lambda x: json.dumps([x]), [r"json\.dumps takes plain numbers", r"cadiff\.value"]),
    "struct": (lambda x: struct.pack("d", x), [r"struct\.pack", r"cadiff\.value\(v\)"]),
    "decimal": (lambda x: decimal.Decimal(x), [r"decimal\.Decimal\(x\)", r"cadiff\.value"]),
    "mean": (lambda x: statistics.mean([x]), [r"statistics\.mean computes", "numpy has mean"]),
    "key": (lambda x: {x: 1.0}, [r"has keys: .* cadiff\.value\(v\) is"]),
    "member": (lambda x: {x}, ["has keys"]),
    "looked up": (lambda x: KEYS[x], ["looks up a key"]),
    "distances": (
        lambda x: spatial.distance.cdist(np.array([[x]]), [[0.0]]),
        [r"scipy\.spatial\.distance\.cdist computes", r"write cadiff\.scipy\.spatial"],
    ),
    "distribution": (
        lambda x: stats.norm.pdf(x),
        [r"write cadiff\.scipy\.stats\.norm\.pdf"],
    ),
    "Cython": (
        lambda x: signal.upfirdn([x, 1.0], [1.0, 2.0]),
        [r"^scipy\.signal\.upfirdn computes", r"write cadiff\.scipy\.signal\.upfirdn"],
    ),
    "NumPy": (lambda x: np.arctan2([x, 1.0], 2.0), [r"write cadiff\.numpy\.arctan2"]),
    "greatest": (
        lambda x: max(x * np.ones(2), 0.0),
        [r"^write np\.maximum\(v, w\), or cadiff\.maximum, which chooses for each element"],
    ),
    "least": (lambda x: min(1.0, x * np.ones(2)), [r"^write np\.minimum\(v, w\)"]),
    "chosen": (
        lambda x: x if x * np.ones(2) > 0.0 else 0.0,
        [r"^write np\.where\(condition, v, w\), or cadiff\.where, which chooses for each element"],
    ),
    "shuffled": (
        lambda x: np.random.default_rng(0).permutation(x * np.ones(3)),
        [r"write x\[rng\.permutation\(len\(x\)\)\]"],
    ),
    "of several lines": (
        lambda x: np.nditer(
            [x, None],
            [],
        ),
        ["this line computes with plain numbers"],
    ),
}
KEYS = {1.5: 2.0}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes")
@pytest.mark.parametrize("kind", ["grad", "jacobian", "jacfwd", "compile", "nested"])
@pytest.mark.parametrize("name", NOTED)
def test_errors_of_other_code_are_noted_with_what_to_write_instead(name: str, kind: str) -> None:
    f, words = NOTED[name]
    if kind == "nested":
        run = cadiff.grad(lambda x: cadiff.grad(f)(x) * x)
    else:
        run = cadiff.compile(f).grad if kind == "compile" else getattr(cadiff, kind)(f)
    with pytest.raises(Exception) as caught:
        run(1.5)
    notes = caught.value.__notes__  # from Python 3.14 on json adds its own
    (note,) = [each for each in notes if not each.startswith("when serializing")]
    for word in words:
        assert re.search(word, note), note


def _in_jax(x: Any) -> Any:
    import jax

    return jax.numpy.sin(x)


def _jitted(x: Any) -> Any:
    import jax

    return jax.jit(lambda y: y * y)(x)


def _in_torch(x: Any) -> Any:
    import torch

    return torch.sin(x)


def _averaged(package: str, x: Any) -> Any:
    series = import_module(package).Series([x, 2.0 * x])
    return series.rolling(2).mean().sum() if package == "pandas" else series.sum()


def _windowed(x: Any) -> Any:
    windows = import_module("pandas").Series([x, 2.0 * x]).rolling(2)
    return windows.mean()


OF_TABLES = [r"table\.to_numpy\(\): cadiff\.numpy has mean", "sliding_window_view"]
# What has its own numbers, arrays or tables, and exceptions: the package, a use of it, the words.
HOSTS: dict[str, tuple[str, Callable[[Any], Any], list[str]]] = {
    "jax": ("jax", _in_jax, [r"^'jax\.numpy\.sin\(x\)'", r"interop\.jax\.primitive\(f\)"]),
    "jax.jit": ("jax", _jitted, [r"cadiff\.interop\.jax\.primitive\(f\)"]),
    "torch": ("torch", _in_torch, [r"cadiff\.interop\.torch\.primitive\(f\)"]),
    "pandas": ("pandas", lambda x: _averaged("pandas", x), OF_TABLES),
    "pandas, later": ("pandas", _windowed, [r"^'windows\.mean\(\)' computes", *OF_TABLES]),
    "polars": ("polars", lambda x: _averaged("polars", x), OF_TABLES),
    "polars by an operator": (
        "polars",
        lambda x: import_module("polars").Series([1.0, 2.0]) * x,
        [r"^'import_module\(\"polars\"\)\.Series\(\[1\.0, 2\.0\]\) \* x' computes", *OF_TABLES],
    ),
    "sympy": (
        "sympy",
        lambda x: import_module("sympy").symbols("a") * x,
        [r"sympy\.lambdify\(symbols, expression, \"numpy\"\)"],
    ),
}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes")
@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("kind", ["grad", "compile"])
@pytest.mark.parametrize("name", HOSTS)
def test_packages_with_numbers_of_their_own_are_told_of_a_way(name: str, kind: str) -> None:
    package, f, words = HOSTS[name]
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
    check(
        (
            lambda: cadiff.grad(f)(1.0),
            TypeError,
            ["does not become", r"cadiff\.value\(v\) for the value"],
        )
    )
