"""Functions of NumPy and SciPy within programs: all values and derivatives are the function's own.

A program is recorded at one point and asked at others, too.
"""

from __future__ import annotations

import functools
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
import cadiff.scipy.fft
import cadiff.scipy.linalg
import cadiff.scipy.special
import cadiff.scipy.stats
from benchmarks import functions

from ..helpers import cases_special, cases_stats
from ..helpers.derivatives import Case, as_tuple, named
from ..helpers.every_case import of_every
from ..helpers.patterns import Seen, as_matrix, check_entries, mask_of
from ..helpers.programs import check_same, frames_of


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# What is still run eagerly, by the reasons that programs give: rules that take plain numbers.
PLAIN = ("sqrtm", "fractional_matrix_power")

# Patterns that hold more entries than can differ from 0: of all numbers of each matrix, where
# triangles are all there is; and where terms cancel, or a derivative is 0 wherever there is one.
LOOSE = (
    *("cholesky", "qr", "eigh", "eigvalsh", "eig", "svd", "lu", "lu_factor", "cho_solve"),
    *("solve_triangular", "solve upper", "solve diagonal", "vectors of a pair, with their signs"),
    *("ldl", "schur", "schur complex", "rq", "matrix_balance", "complex"),
    # Arrays of diagonals, of which the corners stand for nothing.
    *("solve_banded", "cholesky_banded", "cho_solve_banded"),
    # Elements in order, whose places are drawn from few orders.
    *("union1d", "intersect1d", "setdiff1d", "setxor1d"),
    *("corrcoef", "pad odd reflect,", "pad odd symmetric,", "angle", "angle(deg)"),
    *("poly of a matrix", "roots, zeros"),
)
# Matrices with zeros here and there: of what is padded, of spectra that are real or halves, of
# frequencies at which a wave is 0.
TRANSFORMS = re.compile(r"(i?[rh]*fft|i?d[cs]t)[2n]?\b")
# Functions whose replays call Python, by first words of cases: what SciPy makes in Python of Schur
# decompositions;
CALL_PYTHON = {
    *("logm", "sqrtm", "signm", "fractional_matrix_power", "funm"),
    # what it composes in Python of kernels for bands, of equations and of decompositions;
    *("solve_banded", "solveh_banded", "cholesky_banded", "cho_solve_banded"),
    *("eig_banded", "eigvals_banded", "eigh_tridiagonal", "eigvalsh_tridiagonal"),
    *("solve_toeplitz", "matmul_toeplitz", "solve_discrete_lyapunov", "solve_continuous_are"),
    *("solve_discrete_are", "polar", "orthogonal_procrustes", "pinvh", "subspace_angles"),
    *("ldl", "schur", "rq", "matrix_balance", "complex"),
    *("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm"),
    *("poly of a matrix", "lstsq residuals, singular values"),
    *("pinv hermitian 3x3", "pinv hermitian 2x2x2"),
    # and order that is undefined, but NumPy's: where it may be another, f is recorded again.
    *("partition", "x.partition"),
}
RULES = os.path.join("cadiff", "operations", "recorded_calls.py")
MOST_POINTS = 300  # at which each entry that is there has to differ from 0 once


def check_known(program: Any, most: int) -> None:
    """Run as it is only for the reasons that are known, or so many times."""
    stats = program.stats()
    for obstacle in stats["obstacles"]:
        plain = [f"a rule of {name} takes plain numbers" for name in PLAIN]
        assert any(reason in obstacle for reason in plain), obstacle
    assert stats["obstacles"] or stats["eager"] <= most


def calls_python(replay: Callable[[], object]) -> bool:
    """Whether a replay is in part carried out by rules."""
    return any(RULES in frame for frame in frames_of(replay))


def may_call_python(case: Case) -> bool:
    return case.name in CALL_PYTHON or re.split(r"[ (,]", case.name)[0] in CALL_PYTHON


def is_exact(case: Case) -> bool:
    """Whether its pattern is to be: not if there are zeros or nan in places that are given."""
    given = numpy.concatenate([numpy.ravel(x).astype(float) for x in case.draw()])
    is_loose = any(f"{case.name} ".startswith(f"{name} ") for name in LOOSE)
    is_loose = is_loose or TRANSFORMS.match(case.name) is not None or "of stacks" in case.name
    return not is_loose and bool(numpy.all(given)) and not numpy.any(numpy.isnan(given))


def check_exact(case: Case, program: Any, nums: tuple[int, ...], shapes: list[Any]) -> None:
    """The Jacobian has no entry that is 0 at all points."""
    seen = Seen()
    for seed in range(MOST_POINTS):
        point = [numpy.asarray(case.draw(seed)[k], dtype=float) for k in case.argnums]
        if [x.shape for x in point] == shapes:
            seen.note(program.sparse_jacobian(*point, argnums=nums))
        if seed > 0 and seen.is_exact:
            return
    raise AssertionError("there are entries that are 0 everywhere")


# Some read the values of results themselves, as programs may not.
@of_every(without=lambda name: "polyfit" in name and ("full" in name or "cov" in name))
def test_functions_of_numpy_and_scipy(case: Case, original: Any, package: Any) -> None:
    drawn = case.draw()
    nums = tuple(range(len(case.argnums)))

    def f(*numbers: Any) -> dict[str, Any]:
        args = list(drawn)
        for k, number in zip(case.argnums, numbers, strict=True):
            args[k] = number
        return named(as_tuple(case.call(package, *args)))

    def number(*numbers: Any) -> Any:
        parts = f(*numbers).values()
        return sum(np.sum(np.sin((1.0 + k) * part)) for k, part in enumerate(parts))

    program, of_number = cadiff.compile(f), cadiff.compile(number)
    for seed in (0, 1):
        point = [numpy.asarray(case.draw(seed)[k], dtype=float) for k in case.argnums]
        point = [x if x.ndim else float(x) for x in point]
        if any(numpy.shape(x) != numpy.shape(drawn[k]) for x, k in zip(point, case.argnums)):  # noqa: B905
            continue
        try:
            wanted = cadiff.jacobian(f, nums)(*point)
        except (ValueError, ZeroDivisionError, numpy.linalg.LinAlgError) as error:
            with pytest.raises(type(error)):
                program.jacobian(*point, argnums=nums)
            continue
        check_same(program(*point), f(*point), 1e-11)
        check_same(program.jacobian(*point, argnums=nums), wanted, 1e-8)
        dense = as_matrix(list(wanted.values()), point)
        check_entries(program.sparse_jacobian(*point, argnums=nums), dense, 1e-8)
        check_same(of_number.grad(*point, argnums=nums), cadiff.grad(number, nums)(*point), 1e-8)
        hessian = cadiff.hessian(number, nums)(*point)
        check_same(of_number.hessian(*point, argnums=nums), hessian, 1e-6)
        dense = as_matrix(hessian, point)
        check_entries(of_number.sparse_hessian(*point, argnums=nums), dense, 1e-6)
    if not may_call_python(case):
        for replay in (program, of_number.value_and_grad):
            assert frames_of(functools.partial(replay, *point)) == []
        assert not calls_python(functools.partial(of_number.hessian, *point))
    # Their rules choose by cotangents, and meet others than ones.
    most = 4 if case.name.startswith(("svd full", "orthogonal_procrustes, of less")) else 1
    check_known(program, most)
    check_known(of_number, most)
    if not program.stats()["obstacles"] and is_exact(case):
        check_exact(case, program, nums, [numpy.shape(drawn[k]) for k in case.argnums])


@pytest.mark.parametrize("name", sorted(cases_special.CASES))
def test_special_functions(name: str) -> None:
    case, function = cases_special.CASES[name], getattr(cadiff.scipy.special, name)
    for k in case.wrt:

        def f(x: Any, others: tuple[float, ...], k: int = k) -> Any:
            found = function(*others[:k], x, *others[k:])
            return found.real if name == "lambertw" else found

        program = cadiff.compile(f)
        first = case.points[0]
        matrix = program.sparse_jacobian(numpy.full(3, first[k]), (*first[:k], *first[k + 1 :]))
        numpy.testing.assert_array_equal(mask_of(matrix), numpy.eye(3, dtype=bool))
        for point in case.points:
            others = (*point[:k], *point[k + 1 :])
            x = point[k]
            check_same(program(x, others), f(x, others), 1e-14)
            check_same(program.grad(x, others), cadiff.grad(f)(x, others), 1e-12)
            check_same(program.hessian(x, others), cadiff.hessian(f)(x, others), 1e-11)
        assert not program.stats()["obstacles"]


def test_replays_run_no_python() -> None:
    """Of all that `python -m benchmarks.functions` asks, but for what is tested above."""
    of = functions.of_rows, functions.of_special, functions.of_distributions, functions.of_complex
    with numpy.errstate(all="ignore"):
        entries = (entry for entries in of for entry in entries())
        # What searches, is complex where its arguments are real, or goes by eigenvalues.
        some = ("unique", "lambertw", "poly of")
        for entry in (entry for entry in entries if not entry.case.startswith(some)):
            calls = functions.calls_of(entry, next(entry.args(0)))
            assert frames_of(calls.compiled) == [], (entry.function, entry.case)


INFINITE_SLOPES = {
    "ndtri": [0.0, 0.3, 1.0],
    "erfinv": [-1.0, 0.3, 1.0],
    "gammaincinv": [1.0, 0.3, 0.0],
    "betaincinv": [0.0, 1.0, 0.3],
}


@pytest.mark.parametrize("name", INFINITE_SLOPES)
def test_slopes_that_are_infinite(name: str) -> None:
    """One recording serves, made where a slope is infinite, and nothing in it is Python's."""
    others = {"gammaincinv": (0.5,), "betaincinv": (0.5, 0.5)}.get(name, ())
    y, w = numpy.array(INFINITE_SLOPES[name]), numpy.array([1.0, 2.0, 0.0])

    def f(y: Any) -> Any:
        found = getattr(cadiff.scipy.special, name)(*others, y)
        return np.sum(np.where(w == 0.0, 1.0, found) * w)

    program = cadiff.compile(f)
    for point in (y, y[::-1].copy(), y[[2, 0, 1]]):
        check_same(program.value_and_grad(point), cadiff.value_and_grad(f)(point))
    assert frames_of(functools.partial(program.grad, y)) == []
    stats = program.stats()
    assert (stats["recordings"], stats["eager"]) == (1, 0)


@pytest.mark.parametrize("name", sorted(cases_stats.CONTINUOUS))
def test_distributions(name: str) -> None:
    distribution = getattr(cadiff.scipy.stats, name)
    for shapes in cases_stats.CONTINUOUS[name]:
        for method in ("pdf", "logpdf", "cdf", "sf"):

            def f(x: Any, loc: Any, scale: Any, shapes: Any = shapes, method: Any = method) -> Any:
                return np.sum(getattr(distribution, method)(x, *shapes, loc=loc, scale=scale) ** 2)

            program = cadiff.compile(f)
            for place in (0.2, 0.7, -0.4):
                args = (numpy.array([place, 1.3, 2.6]), 0.1 * place, 1.5 + place)
                nums = (0, 1, 2)
                check_same(program.grad(*args, argnums=nums), cadiff.grad(f, nums)(*args))
                hessian = cadiff.hessian(f, nums)(*args)
                check_same(program.hessian(*args, argnums=nums), hessian, 1e-9)
            found = mask_of(program.sparse_hessian(*args))
            assert not numpy.any(found & ~numpy.eye(3, dtype=bool))
            assert not program.stats()["obstacles"]
            assert program.stats()["eager"] == 0


SUMS = {
    "logsumexp": lambda x: cadiff.scipy.special.logsumexp(x),
    "logsumexp(axis)": lambda x: np.sum(cadiff.scipy.special.logsumexp(x, axis=0)),
    "logsumexp(b)": lambda x: cadiff.scipy.special.logsumexp(x, b=2.0 + x),
    "logsumexp(sign)": lambda x: np.multiply(
        *cadiff.scipy.special.logsumexp(x, b=x, return_sign=True)
    ),
    "softmax": lambda x: np.sum(cadiff.scipy.special.softmax(x, axis=0) ** 2),
    "multivariate_normal": lambda x: cadiff.scipy.stats.multivariate_normal.logpdf(
        x[0], x[1], x @ x.T + np.eye(2)
    ),
    "dirichlet": lambda x: cadiff.scipy.stats.dirichlet.logpdf(
        np.array([0.25, 0.75]), np.exp(x[:, 0])
    ),
    "poisson": lambda x: np.sum(cadiff.scipy.stats.poisson.logpmf(numpy.arange(2), np.exp(x))),
    "binom": lambda x: np.sum(cadiff.scipy.stats.binom.logcdf(1, 5, cadiff.expit(x))),
    "bernoulli": lambda x: np.sum(cadiff.scipy.stats.bernoulli.logpmf(1, cadiff.expit(x))),
}


@pytest.mark.parametrize("name", SUMS)
def test_likelihoods(name: str) -> None:
    f = SUMS[name]
    program = cadiff.compile(f)
    for seed in (0, 1):
        x = numpy.random.default_rng(seed).normal(size=(2, 2))
        check_same(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
        check_same(program.hessian(x), cadiff.hessian(f)(x), 1e-9)
    assert not program.stats()["obstacles"]
    assert program.stats()["eager"] == 0
    if name.startswith(("logsumexp", "softmax")):
        assert not calls_python(lambda: (program.value_and_grad(x), program.hessian(x)))


def test_parameters() -> None:
    def f(x: Any, df: Any) -> Any:
        return np.sum(cadiff.scipy.stats.t.logcdf(x, df))

    def g(k: Any, rate: Any) -> Any:
        return np.sum(cadiff.scipy.stats.poisson.logpmf(k, rate))

    x, k = numpy.array([0.2, 0.7]), numpy.array([1.0, 3.0])
    of_f, of_g = cadiff.compile(f), cadiff.compile(g)
    for df in (3.0, 4.0):
        check_same(of_f.grad(x, df), cadiff.grad(f)(x, df))
        check_same(of_g.grad(k * df, 2.0, argnums=1), cadiff.grad(g, 1)(k * df, 2.0))
    assert not (of_f.stats()["eager"] or of_g.stats()["eager"])
    check_same(of_f.grad(x, 3.0, argnums=1), cadiff.grad(f, 1)(x, 3.0))
    with pytest.raises(TypeError, match="'k'"):
        of_g.grad(k, 2.0)


def test_scales_that_are_none() -> None:
    def f(x: Any, scale: Any) -> Any:
        return cadiff.scipy.stats.norm.logpdf(x, scale=scale)

    for function in (f, cadiff.compile(f)):
        for x in (1.0, 0.0):
            assert numpy.isnan(cadiff.grad(function, (0, 1))(x, -1.0)).all()
    assert numpy.isnan(cadiff.jvp(f, (1.0, -1.0), (0.0, 1.0))).all()


ORDERS = [
    numpy.array([3.0, -1.0, 2.0, 2.0, 0.5, -0.0, 0.0, 7.0]),
    numpy.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    numpy.array([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
    numpy.array([numpy.inf, -numpy.inf, 0.0, 1.0, numpy.inf, -2.0, 5.0, 1e-300]),
]
CHOSEN_ANEW: dict[str, Any] = {
    "sort": lambda x: np.sort(x) @ numpy.arange(8.0),
    "sort rows": lambda x: np.sum(np.sort(x.reshape(4, 2), axis=0)[1:3] * [1.0, 2.0]),
    "median": np.median,
    "quantile": lambda x: np.quantile(x[1:], 0.3),
    "maximum.accumulate": lambda x: np.sum(np.maximum.accumulate(x[::2])),
    "max": lambda x: np.max(x[1:]) + np.min(x.reshape(2, 4), axis=0)[1],
}
SETS: dict[str, Any] = {
    "unique": lambda x: np.unique(x) ** 2 @ numpy.arange(6.0),
    "unique_counts": lambda x: np.sum(np.unique_counts(x).values * np.unique_counts(x).counts),
    "unique of rows": lambda x: np.unique(x.reshape(3, 2), axis=0)[1:] ** 2 @ numpy.arange(2.0),
    "union1d": lambda x: np.union1d(x, [0.5, 7.5]) @ numpy.arange(8.0) ** 2,
    "quantile of q": lambda x: np.quantile(x[1:], 0.3 + 0.001 * x[0]),
    "roots": lambda x: np.sum(np.real(np.roots(x + 1.0)) ** 2),
    "polydiv": lambda x: np.sum(np.polydiv(x, x[1:3] + 1.0)[0] ** 2),
}
SIX = numpy.array([3.0, -1.5, 2.0, 4.0, 0.25, 7.0])


@pytest.mark.parametrize("name", [*CHOSEN_ANEW, *SETS])
def test_orders_and_ties_are_chosen_anew(name: str) -> None:
    """One recording serves other orders, ties and infinities; nothing in it is Python's."""
    f = CHOSEN_ANEW.get(name) or (lambda x: np.sum(SETS[name](x)))
    points = ORDERS * 2 if name in CHOSEN_ANEW else [SIX, SIX * 1.01]
    if name in SETS and name not in ("unique of rows", "roots"):
        points += [SIX[::-1].copy(), SIX[[2, 0, 1, 5, 4, 3]]]
    program = cadiff.compile(f)
    for x in points:
        check_same(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
    assert frames_of(functools.partial(program.grad, points[0])) == []
    stats = program.stats()
    assert (stats["recordings"], stats["eager"]) == (1, 0)
    if name in CHOSEN_ANEW:
        for x in (ORDERS[0][::-1], ORDERS[2].astype(">f8")):  # other layouts
            check_same(program.grad(x), cadiff.grad(f)(x))
        lost = numpy.where(ORDERS[0] == 2.0, numpy.nan, ORDERS[0])
        check_same(program.value_and_grad(lost), cadiff.value_and_grad(f)(lost))


def test_equal_elements_are_found_again() -> None:
    f = SETS["unique_counts"]
    program = cadiff.compile(f)
    nan = numpy.nan
    for x in ([3.0, 2.0, 1.0], [2.0, 3.0, 2.0], [3.0, nan, 3.0], [1.0] * 3, [2.0, 1.0, 2.0]):
        check_same(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
    assert program.stats()["eager"] == 0


@pytest.mark.parametrize("n", [1, 16, 17, 1000, 5000])
def test_long_sorts_are_stable(n: int) -> None:
    """Also those that go by digits: among equal numbers, the weight is that of the first ones."""
    rng = numpy.random.default_rng(n)
    weights = rng.normal(size=n)
    program = cadiff.compile(lambda x: np.sort(x) @ weights)
    for x in (rng.normal(size=n), numpy.round(rng.normal(size=n)), 1.0 + 1e-13 * rng.random(n)):
        gradient = numpy.empty(n)
        gradient[numpy.argsort(x, kind="stable")] = weights
        numpy.testing.assert_array_equal(program.grad(x), gradient)
