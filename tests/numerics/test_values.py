"""The value of a function is the same with a derivative and without, to the last bit.

Every public callable of NumPy, SciPy and the module math is called with several dozen patterns of
arguments. Where values may differ, and by how much, is told by `docs/reference/values.md`.
"""

from __future__ import annotations

import copy
import fnmatch
import importlib
import math
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
import scipy.stats

import cadiff
import cadiff.numpy as np
from cadiff.scipy import linalg, stats

from ..helpers import cases_complex, cases_numpy
from ..helpers.programs import quiet

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "values.md"
EPSILON = float(numpy.finfo(float).eps)
RNG = numpy.random.default_rng(7)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


def mixed(*shape: int) -> Any:
    return normal(*shape) + 1j * normal(*shape)


def between(low: float, high: float, *shape: int) -> Any:
    return RNG.uniform(low, high, shape)


def definite(a: Any) -> Any:
    return a @ a.conj().T + numpy.eye(len(a))


REAL: list[tuple[Any, ...]] = [
    (0.37,), (-1.7,), (normal(5),), (between(0.1, 0.9, 5),), (normal(3, 4),), (normal(4, 4),),
    (definite(normal(4, 4)),), (normal(2, 3, 3),), (normal(140),), (normal(20, 3),),
    (numpy.asfortranarray(normal(5, 6)),), (normal(3, 4, 5).transpose(2, 0, 1),),
    (normal(6, 7)[::-1, ::2],), (0.37, 1.4), (normal(5), normal(5)),
    (between(0.1, 0.9, 5), between(1.0, 3.0, 5)), (normal(4, 4), normal(4)),
    (normal(4, 4), normal(4, 4)), (definite(normal(4, 4)), normal(4)), (normal(4), normal(4, 3)),
    (normal(30, 20), normal(20, 10)), (normal(2, 3, 3), normal(2, 3, 3)), (normal(6), 2),
    (normal(4, 4), 3), (2, between(0.1, 0.9, 5)), (1, 0.6), (normal(5), 0.3), (0.3, 0.7, 1.2),
    (numpy.sort(between(0.1, 0.9, 5)), between(1.0, 3.0, 5), between(1.0, 2.0, 5)),
    ([normal(4, 4), normal(4, 4)],), ("ij,jk->ik", normal(4, 4), normal(4, 4)),
]  # fmt: skip
COMPLEX: list[tuple[Any, ...]] = [
    (0.4 - 0.8j,), (mixed(5),), (mixed(3, 4),), (mixed(4, 4),), (definite(mixed(4, 4)),),
    (mixed(40),), (0.4 - 0.8j, -0.3 + 0.2j), (mixed(5), mixed(5)), (mixed(4, 4), mixed(4)),
    (mixed(4, 4), mixed(4, 4)), (normal(4, 4), mixed(4, 4)), (mixed(5), normal(5)),
    (mixed(4, 4), 3), ([mixed(4, 4), mixed(4, 4)],), ("ij,jk->ik", mixed(4, 4), mixed(4, 4)),
]  # fmt: skip
FEW = [(0.37,), (between(0.1, 0.9, 5),), (normal(5), normal(5)), (0.3, 0.7, 1.2)]

# --- what is called ------------------------------------------------------------------------------

SPACES = {
    "np": "numpy", "linalg": "numpy.linalg", "fft": "numpy.fft", "scipy.linalg": "scipy.linalg",
    "scipy.fft": "scipy.fft", "special": "scipy.special", "stats": "scipy.stats", "math": "math",
}  # fmt: skip
# What reads or writes files, settings and uninitialised memory, or does not return.
SKIPPED = re.compile(
    r"empty|load|save|from|show|info|test|print|err(state|call)|isscalar|iterable|isfortran|multiscale|expm_cond|result_type|common_type|bmat|^(set|get|skip|register)_?(err|buf|"
    r"print|work|back|glob)|memmap|vectorize|lookfor|include|runtime|.*_rvs?$|bootstrap|permutation_|"
    r"monte_carlo|.*_test$|power$|fit$|.*plot$|.*boxcox.*|.*yeojohnson.*|logser|frompyfunc|goodness"
)
METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


def names_of(space: str) -> Iterator[tuple[str, Any, Any]]:
    """Names in a namespace, with the plain function and that of the package."""
    plain = importlib.import_module(SPACES[space])
    mirror = importlib.import_module("cadiff." + SPACES[space])
    for name in dir(plain):
        found = getattr(plain, name)
        if name[0] == "_" or SKIPPED.match(name) or isinstance(found, (type, ModuleType)):
            continue
        if space == "stats" and hasattr(found, "rvs"):
            for method in METHODS:
                if hasattr(found, method):
                    own = getattr(mirror, name)
                    yield f"{name}.{method}", getattr(found, method), getattr(own, method)
        elif callable(found):
            yield name, found, getattr(mirror, name, found)


def is_number(x: Any) -> bool:
    return isinstance(x, (float, complex)) or (
        isinstance(x, numpy.ndarray) and x.dtype.kind in "fc"
    )


def lifted(x: Any, mode: str) -> Any:
    if isinstance(x, list):
        return [lifted(item, mode) for item in x]
    if not is_number(x):
        return x
    return cadiff.Var(x) if mode == "var" else cadiff.Dual(x, numpy.ones_like(x)[()])


# --- what may differ -----------------------------------------------------------------------------


HAS_AVX_512 = numpy._core._multiarray_umath.__cpu_features__.get("AVX512_SKX", False)


def holds(condition: str) -> bool:
    """Whether a row holds here: of a version of a library it does from that version on."""
    if condition in ("", "AVX-512"):
        return HAS_AVX_512 or not condition
    library, version = condition.split()
    here = {"NumPy": numpy, "SciPy": scipy}[library].__version__
    return [*map(int, here.split(".")[:2])] >= [*map(int, version.split("."))]


def allowed() -> list[tuple[str, bool, float]]:
    """The rows of the table: patterns of names, whether of complex numbers, how many epsilons.

    A row for AVX-512 holds where NumPy has found that, one for a version from that on.
    """
    rows = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        kind, _, condition = cells[1].partition(", ") if len(cells) == 4 else ("", "", "")
        if kind in ("real", "complex") and holds(condition):
            bound = math.inf if cells[2] == "any" else float(cells[2].split()[0])
            rows += [(name, kind == "complex", bound) for name in re.findall("`(.*?)`", cells[0])]
    return rows


ALLOWED = allowed()


def bound_of(name: str, is_complex: bool) -> float:
    """How many epsilons values of a function may differ by, beside the largest of the result."""
    return max(
        (
            bound
            for pattern, of_complex, bound in ALLOWED
            if of_complex <= is_complex and fnmatch.fnmatchcase(name, pattern)
        ),
        default=0.0,
    )


CARRIERS = (cadiff.Var, cadiff.Dual, cadiff.Complex)


def leaves(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [leaf for item in x for leaf in leaves(item)]
    try:
        x = numpy.asarray(x)
        return [x] if x.dtype.kind in "biufc" or type(x.ravel()[0]) in CARRIERS else []
    except (TypeError, ValueError, IndexError):
        return []


def differences(found: Any, expected: Any) -> float:
    """How many epsilons beside the largest number; inf if shape, kind or place of nan differ."""
    found, expected = leaves(found), leaves(expected)
    if len(found) != len(expected):
        return math.inf
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        if a.shape != b.shape:
            return math.inf
        if not a.size:
            continue
        if a.dtype == object or numpy.iscomplexobj(a) != numpy.iscomplexobj(b):
            return math.inf
        a, b = (numpy.stack([x.real, x.imag]).astype(float) for x in (a, b))
        nan = numpy.isnan(b)
        if numpy.array_equal(numpy.isnan(a), nan) and a[~nan].tobytes() == b[~nan].tobytes():
            continue
        both = numpy.isfinite(a) & numpy.isfinite(b)
        if not numpy.array_equal(a[~both], b[~both], equal_nan=True):
            return math.inf
        size = numpy.max(numpy.abs(b[both]), initial=0.0)
        gap = numpy.max(numpy.abs(a[both] - b[both]), initial=0.0)
        worst = max(worst, gap / (EPSILON * size) if gap else 0.5)  # the sign of a zero
    return worst


def answer(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return function(*args), None
    except Exception as error:
        return None, error


def faults(space: str) -> list[str]:
    """What differs by more than it may, and what raises errors that are not for users."""
    found = []
    patterns = FEW if space == "stats" else (FEW if space == "special" else REAL) + COMPLEX
    for name, plain, mirror in names_of(space):
        full = name if space == "np" else f"{space}.{name}"
        for args in patterns:
            is_complex = any(map(numpy.iscomplexobj, args))
            expected, error = answer(plain, copy.deepcopy(args))
            if error is not None or not leaves(expected):
                continue
            for mode in ("var", "dual"):
                given = tuple(lifted(x, mode) for x in copy.deepcopy(args))
                result, error = answer(mirror, given)
                if error is None:
                    gap = differences(cadiff.value(result), expected)
                    if gap > bound_of(full, is_complex):
                        kinds = [getattr(x, "shape", x) for x in args]
                        found.append(f"{full}{kinds} {mode}: {gap:.3g}")
                elif not ("cadiff." in str(error) or is_told(error)):
                    found.append(f"{full} {mode}: {error!r:.150}")
    return found


INTERNAL = r"coerced|did not contain a loop|no callable|has no attribute|real number, not (V|D|l)"


def is_told(error: BaseException) -> bool:
    """Whether it is an error that users can read."""
    kinds = (TypeError, ValueError, numpy.linalg.LinAlgError)
    return isinstance(error, kinds) and not re.search(INTERNAL, str(error))


@pytest.mark.parametrize("space", SPACES)
def test_values_are_the_same_with_a_derivative(space: str) -> None:
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert faults(space) == []


# --- what is refused -----------------------------------------------------------------------------


def test_what_takes_plain_numbers_says_so() -> None:
    f = lambda x: linalg.rsf2csf(x, x)[0].real.sum()  # noqa: E731
    triangle = numpy.triu(normal(3, 3))
    f(triangle)
    with pytest.raises(cadiff.MissingRuleError, match=r"cadiff\.value\(x\)"):
        cadiff.grad(f)(abs(triangle))


def test_a_mistake_is_told_as_of_plain_numbers() -> None:
    with pytest.raises(ValueError, match="too big"):
        cadiff.grad(lambda x: stats.trim_mean(x, 0.9))(normal(5))


def test_distributions_take_real_numbers() -> None:
    with pytest.raises(TypeError, match="real numbers"):
        stats.norm.logpdf(cadiff.Var(1.0 + 1j))


def test_results_with_names_have_values() -> None:
    x = normal(6)
    found = cadiff.value(stats.kendalltau(x, x[::-1]))
    assert found == scipy.stats.kendalltau(x, x[::-1])


# --- programs that are to be exact ---------------------------------------------------------------


def calls() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    rng = numpy.random.default_rng(3)
    for case in cases_complex.CASES:
        args = tuple(cases_complex.drawn(rng, shape) for shape in case.shapes)
        yield case.name, lambda *args, call=case.call: call(np, *args), args
    for one in cases_numpy.CASES:
        yield one.name, lambda *args, call=one.call: call(np, *args), one.draw()
    for f in (cadiff.nn.softmax, cadiff.nn.log_softmax, cadiff.nn.gelu):
        for x in (normal(6), normal(4, 150)):
            yield f.__name__, f, (x,)


def test_programs_without_optimisation_have_the_same_values() -> None:
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, f, args in calls():
            expected, error = answer(cadiff.vjp, (f, *args))
            if error is None:
                program = cadiff.compile(f, optimize=False)
                assert [differences(program(*args), expected[0]) for _ in range(2)] == [0, 0], name
