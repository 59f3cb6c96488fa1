"""Operations with rules of Python's as steps of programs: always what f itself gives."""

from __future__ import annotations

import gc
import pickle
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import numpy.testing as npt
import pytest
import scipy.special

import cadiff
import cadiff.numpy as np
import cadiff.scipy.linalg
import cadiff.scipy.special
import cadiff.scipy.stats
from cadiff import binding
from cadiff.operations.pairs import on_pairs
from cadiff.operations.primitives import primitive

from ..helpers.programs import arrays_of, check_same, stacked

Function = Callable[..., Any]

A = numpy.array([[3.0, 0.5, -0.2], [0.1, 2.5, 0.3], [-0.4, 0.2, 4.0]])
X, Y = numpy.array([0.7, -1.3, 0.4]), numpy.array([-0.2, 0.9, 1.6])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- operations of one's own ---------------------------------------------------------------------


@cadiff.primitive
def by_vjp(x: Any, y: Any) -> Any:
    return numpy.exp(x) * y


by_vjp.defvjp(lambda ans, x, y: lambda g: g * ans, lambda ans, x, y: lambda g: g * np.exp(x))
by_jvp = cadiff.custom(
    lambda x, y: numpy.exp(x) * y,
    jvp=[lambda g, ans, x, y: g * ans, lambda g, ans, x, y: g * np.exp(x)],
)
by_partials = cadiff.custom(
    lambda x, y: numpy.exp(x) * y,
    partials=[lambda ans, x, y: ans, lambda ans, x, y: np.exp(x)],
)


@cadiff.primitive
def scaled(x: Any, n: Any, *, by: float = 1.0) -> Any:
    return by * numpy.sin(x) * n


scaled.defvjp(lambda ans, x, n, by=1.0: lambda g: g * by * np.cos(x) * n, argnums=0)


@cadiff.primitive
def half_known(x: Any, y: Any) -> Any:
    return x * x * y


half_known.defvjp(lambda ans, x, y: lambda g: 2.0 * g * x * y, None)


@cadiff.primitive
def several(x: Any, y: Any) -> Any:
    return numpy.sum(x * y), x * y**2


several.defvjp(
    lambda ans, x, y: lambda g: g[0] * y + g[1] * y**2,
    lambda ans, x, y: lambda g: g[0] * x + g[1] * 2.0 * x * y,
)

by_plain_numpy = cadiff.custom(
    lambda x: numpy.sin(x), vjp=lambda ans, x: lambda g: g * numpy.cos(x)
)
opaque = cadiff.custom(
    lambda x: scipy.special.i0(x),
    vjp=lambda ans, x: lambda g: cadiff.value(g) * scipy.special.i1(cadiff.value(x)),
)
reading = cadiff.custom(
    lambda x: numpy.sin(x), vjp=lambda ans, x: lambda g: g * numpy.cos(cadiff.value(x))
)


@cadiff.primitive
def branching(x: Any) -> Any:
    return numpy.abs(x).sum()


branching.defvjp(lambda ans, x: lambda g: g * (np.sign(x) if np.sum(x) > 0.0 else x / np.abs(x)))


@cadiff.primitive
def by_cotangent(x: Any) -> Any:
    return 1.0 * x


by_cotangent.defvjp(lambda ans, x: lambda g: g if np.sum(g) > 0.0 else 3.0 * g)


@cadiff.primitive
def negated(x: Any) -> Any:
    numpy.negative(x, out=x)
    return x


negated.defvjp(lambda ans, x: lambda g: -g)

identity = cadiff.custom(lambda x: x, vjp=lambda ans, x: lambda g: g * 1.0)
viewed = cadiff.custom(lambda x: x[::-1], vjp=lambda ans, x: lambda g: g[::-1])
rounded = cadiff.custom(
    lambda x: numpy.asarray(x, dtype=float).astype(int),
    vjp=lambda ans, x: lambda g: g,
)
nan_given = cadiff.custom(lambda x: x * numpy.nan, vjp=lambda ans, x: lambda g: g)


# --- comparisons ---------------------------------------------------------------------------------


def total(f: Function) -> Function:
    def number(*args: Any) -> Any:
        out = f(*args)
        parts = out if isinstance(out, tuple) else (out,)
        return sum(np.sum(np.sin((1.0 + k) * part)) for k, part in enumerate(parts))

    return number


def check_all(f: Function, *points: Any) -> dict[str, Any]:
    """Value and all derivatives at several points, by one program each, whose stats it returns."""
    number = total(f)
    program, of_number = cadiff.compile(f), cadiff.compile(number)
    exact = cadiff.compile(f, optimize=False)
    for point in points:
        args = point if isinstance(point, tuple) else (point,)
        nums = tuple(range(len(args)))
        along = tuple(numpy.cos(numpy.asarray(x) + 1.0) for x in args)
        along = tuple(v if v.ndim else float(v) for v in along)
        check_same(program(*args), f(*args))
        check_same(program.jacobian(*args, argnums=nums), cadiff.jacobian(f, nums)(*args))
        check_same(of_number.grad(*args, argnums=nums), cadiff.grad(number, nums)(*args))
        check_same(program.jvp(args, along), cadiff.jvp(f, args, along))
        out, pull = program.vjp(*args)
        expected, eager_pull = cadiff.vjp(f, *args)
        u = tuple(numpy.cos(leaf)[()] for leaf in arrays_of(expected))
        cotangent = u if isinstance(expected, tuple) else u[0]
        check_same(out, expected)
        check_same(pull(cotangent), eager_pull(cotangent))
        assert [leaf.tobytes() for leaf in arrays_of(exact(*args))] == [
            leaf.tobytes() for leaf in arrays_of(expected)
        ]
        check_same(of_number.hessian(*args, argnums=nums), cadiff.hessian(number, nums)(*args))
        check_same(
            of_number.hvp(args[0], along[0], *args[1:]),
            cadiff.hvp(number)(args[0], along[0], *args[1:]),
        )
    assert program.stats()["eager"] == of_number.stats()["eager"] == 0
    assert program.stats()["obstacles"] == []
    return program.stats()


root = cadiff.custom(numpy.sqrt, vjp=lambda ans, x: lambda g: g * 0.5 / ans)
angle = cadiff.custom(numpy.arctan2, partials=[lambda ans, y, x: 0.0 * y, None])
summed = cadiff.compile(lambda x: np.cumsum(np.sin(x)))
summing = cadiff.custom(
    lambda x: summed(x), vjp=lambda ans, x: lambda g: np.cumsum(g[::-1])[::-1] * np.cos(x)
)
summing_opaquely = cadiff.custom(
    lambda x: summed(x),
    vjp=lambda ans, x: lambda g: summed.vjp(cadiff.value(x))[1](cadiff.value(g)),
)


@cadiff.primitive
def found(x: Any) -> Any:
    return x[x > 0.0]


found.defvjp(lambda ans, x: lambda g: np.zeros(len(x)))


def stepped(x: Any, a: Any) -> Any:
    y = np.linalg.solve(a, np.cumprod(x))
    return np.sum(by_vjp(y, x)) * np.prod(x)


def flipping(x: Any) -> Any:
    y = np.cumsum(x) if x[0] > 0.0 else np.linalg.solve(A, x)
    return np.sum(by_vjp(y, x)) if np.prod(x) > 0.0 else np.max(y)


def network(x: Any, w: Any) -> Any:
    hidden = cadiff.nn.gelu(cadiff.nn.relu(x @ w) + cadiff.nn.softmax(x, axis=0))
    scores = cadiff.nn.log_softmax(hidden)
    return np.mean(scores[numpy.arange(3), [2, 0, 1]]) + np.sum(cadiff.nn.softplus(hidden))


def deep(x: Any) -> Any:
    for _ in range(2000):
        x = np.cumsum(x) * 0.5
    return np.sum(x)


def inner_gradient(x: Any) -> Any:
    return cadiff.grad(lambda y: np.sum(by_vjp(y, x) * np.prod(y)))(np.sin(x))


@cadiff.primitive
def typed(x: Any, *, n: Any) -> Any:
    return x * (2.0 if isinstance(n, bool) else 3.0 if isinstance(n, int) else 5.0)


typed.defpartials(lambda ans, x, n: ans / x)
joined = cadiff.primitive(lambda *xs: numpy.array(xs))
joined.defvjp(*[lambda ans, *xs, k=k: lambda g: g[k] for k in range(50)], argnums=tuple(range(50)))


def of_many(x: Any) -> Any:
    cut = {3, 40}
    return np.sin(joined(*[cadiff.stop_gradient(t) if k in cut else t for k, t in enumerate(x)]))


XY, PAIRS, NUMBERS = [X, Y], [(X, Y), (Y, X)], [(0.3, 0.7), (-2.0, 1.5)]
ROWS = numpy.arange(12.0).reshape(3, 4) / 10.0 + 0.3

STEPS: dict[str, tuple[Function, list[Any]]] = {
    "vjp": (lambda x, y: by_vjp(np.sin(x), y) * x, [*PAIRS, (3.0 * X, -Y)]),
    "jvp": (lambda x, y: by_jvp(np.sin(x), y) * x, [*PAIRS, (3.0 * X, -Y)]),
    "partials": (lambda x, y: by_partials(np.sin(x), y) * x, [*PAIRS, (3.0 * X, -Y)]),
    "vjp of numbers": (lambda x, y: by_vjp(x * y, y), NUMBERS),
    "jvp of numbers": (lambda x, y: by_jvp(x * y, y), NUMBERS),
    "partials of numbers": (lambda x, y: by_partials(x * y, y), NUMBERS),
    "one array twice": (lambda x: by_vjp(x, x) + by_jvp(x, x), XY),
    "one number twice": (lambda x: by_vjp(x[0], x[0]) * x[1], XY),
    "argnums and keywords": (lambda x: scaled(x * x, 3, by=0.5) + scaled(x, 2), XY),
    "no rule for one": (lambda x, y: half_known(np.sin(x), y), PAIRS),
    "signs of zero": (lambda x: angle(x, 0.0) * x + angle(x * 0.0, -0.0), [X * 0.0 + 1.0, X]),
    "several results": (lambda x, y: several(np.exp(x), y), PAIRS),
    "the first result": (lambda x, y: several(x, y)[0], PAIRS),
    "part of a result": (lambda x, y: several(x, y)[1][1:] * x[0], PAIRS),
    "rule of NumPy's": (lambda x: by_plain_numpy(x) * x, XY),
    "its argument": (lambda x: identity(x) * x, XY),
    "a view": (lambda x: viewed(np.exp(x)) * x, XY),
    "integers": (lambda x: rounded(4.0 * x) * x, [*XY, X]),
    "an integer": (lambda x: rounded(4.0 * x) * x, [0.7, 1.3]),
    "a plain number": (lambda x: by_vjp(x, 2.0) + by_vjp(0.5, x), XY),
    "cut, first": (lambda x: by_vjp(cadiff.stop_gradient(x * x), x), XY),
    "cut, second": (lambda x: by_vjp(x, cadiff.stop_gradient(x)) * x, XY),
    "constant integers": (lambda x: by_vjp(np.array([1, 2, 3]), x), XY),
    "constant in single precision": (lambda x: by_vjp(numpy.float32(0.5), x), XY),
    "constant matrix": (lambda x: np.linalg.solve(A, x), XY),
    "constant right side": (lambda x: np.linalg.solve(np.outer(x, x) + A, Y), XY),
    "strides": (
        lambda x: np.prod(x.T[::2, ::-1], axis=0) + np.cumsum(x[:, ::2].T)[:3],
        [ROWS, ROWS * 1.1],
    ),
    "order of Fortran": (
        lambda x: by_partials(x.T, x[0, :1] * 0.1),
        [numpy.asfortranarray(ROWS), ROWS[::-1]],
    ),
    "order of bytes": (lambda x: np.cumsum(x * x), [ROWS.astype(">f8")[:, ::-1], ROWS]),
    "numbers": (lambda x: np.cumsum(x) * np.prod(x), [0.7, -1.2]),
    "no elements": (lambda x: np.prod(x) + np.sum(np.cumsum(x)), [X[:0], Y[:0]]),
    "no elements read": (lambda x, y: np.prod(x) * y + np.sum(np.cumsum(x[:0])), [(X, 2.0)]),
    "none times a number": (lambda x: by_partials(x[:0], x[1]) @ np.ones(0) + x[0], XY),
    "matrix of no elements": (
        lambda x: np.linalg.solve(np.zeros((0, 0)), x[:0]) + by_jvp(x[:0], x[:0]),
        [X],
    ),
    "a rule that branches": (lambda x: branching(np.sin(x)) * x[0], [X, X + 0.1, -X, X + 0.2]),
    "inner gradient": (inner_gradient, [X, Y, 0.5 * X]),
    "inner Jacobian": (
        lambda x: cadiff.jacobian(lambda y: np.cumsum(by_jvp(y, y * x)))(x) @ x,
        XY,
    ),
    "guards that flip": (flipping, [X, Y, -X, -Y, numpy.abs(X), -numpy.abs(X), X]),
    "equal calls": (
        lambda x: np.max(x[:2]) * np.max(x[1:]) + np.prod(x[:2]) + np.prod(x[1:]),
        [X, Y, -X],
    ),
    "a program": (lambda x: summing(x) * x, XY),
    "keywords of other types": (
        lambda x: typed(x, n=1) + typed(x, n=True) ** 2 + typed(x, n=1.0) ** 3,
        XY,
    ),
    "many operands": (of_many, [numpy.linspace(0.0, 1.0, 50), numpy.linspace(2.0, 1.0, 50)]),
    "incomplete beta function": (
        lambda x, a: cadiff.scipy.special.betainc(a, 2.0, x),
        [(0.3, 1.5), (0.6, 2.5)],
    ),
    "network": (network, [(A, A.T), (A + 1.0, A), (50.0 * A, -A)]),
}


@pytest.mark.parametrize("name", STEPS)
def test_all_derivatives(name: str) -> None:
    f, points = STEPS[name]
    check_all(f, *points)


ZEROS = [numpy.array([2.0, 3.0]), numpy.zeros(2), numpy.array([4.0, 5.0]), numpy.zeros(2)]
# Gradients: what else there is of them differs, or is missing.
ONCE: dict[str, tuple[Function, list[Any]]] = {
    "cotangents that are read": (
        lambda x: np.sum(by_cotangent(x) * x),
        [X, Y, -Y, Y, -X - 2.0, X],
    ),
    "nan": (lambda x: np.sum(nan_given(x) * 0.0 + x * x), XY),
    "writes to its argument": (lambda x: np.sum(negated(np.sin(x)) * x), [X, Y, X]),
    "zero cotangents": (lambda x: np.sum(np.where(x > 1.0, root(x), x * x)), ZEROS),
    "no cotangents": (lambda x: np.maximum(np.sum(root(x)), np.sum(x) + 1.0), ZEROS),
    "other shapes": (lambda x: np.sum(found(x)), [X, numpy.abs(X), -numpy.abs(X), Y, X]),
    "single precision": (
        lambda x: np.prod(x) + np.sum(np.cumsum(x) ** 2),
        [X.astype(numpy.float32)],
    ),
    "distribution": (lambda x: np.sum(cadiff.scipy.stats.gamma.cdf(2.0, x * x)), XY),
    "vjp of a program": (lambda x: np.sum(summing_opaquely(x) * 2.0), XY),
    "deep": (deep, [1e-3 * X, 2e-3 * X]),
}


@pytest.mark.parametrize("name", ONCE)
def test_gradients(name: str) -> None:
    f, points = ONCE[name]
    program = cadiff.compile(f)
    for x in points:
        rtol = 1e-6 if getattr(x, "dtype", float) == numpy.float32 else 1e-10
        check_same(program(x), f(x), rtol)
        found, wanted = program.grad(x), cadiff.grad(f)(x)
        check_same(found, wanted, rtol)
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize("rule", [opaque, reading])
def test_rules_of_plain_values_have_no_second_derivatives(rule: Function) -> None:
    f = lambda x: rule(np.sin(x)) @ x  # noqa: E731
    program = cadiff.compile(f)
    for x in (X, Y, X):
        check_same(program(x), f(x))
        check_same(program.grad(x), cadiff.grad(f)(x))
    assert program.stats()["eager"] == 0
    for k in range(3):
        with pytest.raises(cadiff.MissingRuleError, match="stop_gradient"):
            program.hessian(X)
        program.grad(Y)  # is not spoilt by that
        assert program.stats()["eager"] == k + 1
    assert len(program.stats()["obstacles"]) == 1


def test_a_function_that_writes_to_a_constant() -> None:
    counts = numpy.zeros(1)

    @cadiff.primitive
    def counting(x: Any, calls: Any) -> Any:
        calls += 1.0
        return x * 2.0

    counting.defvjp(lambda ans, x, calls: lambda g: 2.0 * g, argnums=0)
    program = cadiff.compile(lambda x: counting(x, counts))
    for _ in range(3):
        check_same(program(X), 2.0 * X)


# --- derivatives that do not exist ----------------------------------------------


def test_many_points_without_a_derivative_spoil_nothing() -> None:
    f = lambda x: np.linalg.norm(x) + np.sum(root(x))  # noqa: E731
    program = cadiff.compile(f)
    for _ in range(12):
        check_same(program.grad(numpy.zeros(2)), cadiff.grad(f)(numpy.zeros(2)))
    regular = numpy.random.default_rng(0).uniform(0.5, 2.0, (40, 2))
    for x in regular:
        check_same(program.grad(x), cadiff.grad(f)(x))
    before = program.stats()["eager"]
    assert before < 30
    for x in regular:
        check_same(program.grad(x), cadiff.grad(f)(x))
    assert program.stats()["eager"] == before
    assert len(program.stats()["traces"]) == 2


def test_a_derivative_that_is_missing_is_no_branch() -> None:
    program = cadiff.compile(lambda x: np.sum(root(x)), on_branch_change="raise")
    check_same(program.grad(numpy.ones(2)), 0.5 * numpy.ones(2))
    assert numpy.isinf(program.grad(numpy.array([0.0, 1.0]))).any()
    assert program.stats()["branch_changes"] == 0


E, DIAG, NOUGHT = numpy.eye(3), numpy.diag([1.0, 2.0, 0.0]), numpy.zeros((3, 3))
TIE, ALL_ONE, NONE = numpy.array([1.0, 2.0, 2.0]), numpy.ones(3), numpy.zeros(3)
ONE_ZERO = numpy.array([0.0, 2.0, 3.0])
SPECIAL: dict[str, tuple[Function, list[Any]]] = {
    "max": (np.max, [X, Y, ALL_ONE, TIE, X]),
    "min along an axis": (lambda x: np.min(x, axis=1), [A, ALL_ONE + NOUGHT, NOUGHT, -A, A]),
    "sort": (np.sort, [X, Y, ALL_ONE, TIE[[1, 0, 2]], X]),
    "median": (np.median, [X, Y, ALL_ONE, TIE[[1, 0, 2]], X]),
    "median of four": (np.median, [numpy.arange(4.0), numpy.eye(4)[3] == 0.0, -numpy.arange(4.0)]),
    "norm": (np.linalg.norm, [X, NONE, Y, NONE, X]),
    "norm 1": (lambda x: np.linalg.norm(x, 1), [X, NONE, Y, X]),
    "norm inf": (lambda x: np.linalg.norm(x, numpy.inf), [X, ALL_ONE, Y, X]),
    "prod": (np.prod, [X, ONE_ZERO, NONE, Y]),
    "cumprod": (np.cumprod, [X, ONE_ZERO, NONE, Y]),
    "det": (np.linalg.det, [A, ALL_ONE + NOUGHT, DIAG, NOUGHT, A.T]),
    "eigvalsh": (np.linalg.eigvalsh, [A + A.T, E, numpy.diag(TIE), A @ A.T, E]),
    "eigh": (lambda x: np.sum(np.linalg.eigh(x)[0] ** 2), [A + A.T, E, A @ A.T]),
    "svd": (lambda x: np.linalg.svd(x, compute_uv=False), [A, E, NOUGHT, DIAG, A.T]),
    "softmax": (lambda x: cadiff.nn.softmax(x), [X, 1000.0 * X, NONE, Y]),
    "logsumexp": (lambda x: cadiff.nn.log_softmax(x), [X, 1000.0 * X, NONE, Y]),
    "square root": (lambda x: root(x) * x, [ALL_ONE, ONE_ZERO]),
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("optimize", [True, False])
def test_points_where_derivatives_are_special(name: str, optimize: bool) -> None:
    f, points = SPECIAL[name]
    number = total(f)
    program = cadiff.compile(number, optimize=optimize)
    values = cadiff.compile(f, optimize=optimize)
    for point in [*points, *points[::-1]]:
        x = numpy.array(point, dtype=float)
        check_same(values(x), f(x))
        check_same(values.jacobian(x), cadiff.jacobian(f)(x), 1e-9)
        check_same(program.grad(x), cadiff.grad(number)(x), 1e-9)
        along = numpy.cos(x)
        check_same(values.jvp((x,), (along,)), cadiff.jvp(f, (x,), (along,)), 1e-9)
        check_same(program.hessian(x), cadiff.hessian(number)(x), 1e-8)
        _, pull = program.vjp(x)
        wanted = cadiff.vjp(number, x.copy())[1](0.5)
        x[:] = 7.0
        check_same(pull(0.5), wanted, 1e-9)  # at its own point


# --- what is raised ------------------------------------------------------------------------------


class RefusedError(Exception):
    pass


@cadiff.primitive
def positive(x: Any) -> Any:
    if numpy.any(x <= 0.0):
        raise RefusedError("not positive")
    return numpy.log(x)


positive.defvjp(lambda ans, x: lambda g: g / x)


def test_what_a_step_raises_is_raised() -> None:
    f = lambda x: np.sum(positive(x) * x)  # noqa: E731
    program = cadiff.compile(f)
    good, bad = numpy.abs(X), X
    for call in (  # those that need what the step gives
        program,
        program.grad,
        program.value_and_grad,
        program.jacobian,
        program.sparse_jacobian,
        program.vjp,
        lambda x: program.jvp((x,), (x,)),
        lambda x: program.batch(numpy.stack([good, x])),
        lambda x: program.batch(numpy.stack([good, x] * 40), what="grad", threads=2),
    ):
        for _ in range(3):
            call(good)
            with pytest.raises(RefusedError, match="not positive"):
                call(bad)
    check_same(program.grad(good), cadiff.grad(f)(good))


def test_a_keyboard_interrupt_is_raised() -> None:
    stop: list[bool] = []

    @cadiff.primitive
    def interrupted(x: Any) -> Any:
        if stop:
            raise KeyboardInterrupt
        return x * x

    interrupted.defvjp(lambda ans, x: lambda g: 2.0 * x * g)
    program = cadiff.compile(lambda x: np.sum(interrupted(x)) ** 3)
    calls = [program, program.grad, program.jacobian, program.sparse_hessian]
    for call in calls:
        call(X), call(X)
    stop.append(True)
    for call in calls:
        with pytest.raises(KeyboardInterrupt):
            call(X)
        with pytest.raises(KeyboardInterrupt):
            program.batch(numpy.stack([X, Y]))
    stop.clear()
    check_same(program.grad(X), 6.0 * X * numpy.sum(X * X) ** 2)


# --- other forms ---------------------------------------------------------------------------------


def test_batches() -> None:
    program = cadiff.compile(stepped)
    points = numpy.random.default_rng(0).normal(size=(50, 3))
    for what in ("value", "grad", "jacobian", "hessian"):
        eager = stepped if what == "value" else getattr(cadiff, what)(stepped)
        for threads in (None, 1, 3):
            found = program.batch(points, A, what=what, threads=threads)
            check_same(found, numpy.array([eager(x, A) for x in points]), 1e-8)
    assert program.stats()["eager"] == 0


@pytest.mark.parametrize("what", ["grad", "value_and_grad", "hessian"])
@pytest.mark.parametrize(
    ("f", "first"),
    [
        (lambda x: np.sum(np.linalg.svd(np.outer(x, x) + np.diag(x**2))[1]), [1.0, 1.0, 1.0]),
        (lambda x: np.prod(x) + np.sum(x), [1e200, 1e200, 1e200]),
    ],
    ids=["equal singular values", "overflow"],
)
def test_batches_from_a_point_without_derivatives(f: Any, first: list[float], what: str) -> None:
    points = numpy.array([first, [3.0, 2.0, 1.0], [0.5, -1.0, 2.0]])
    wanted = stacked([getattr(cadiff, what)(f)(x) for x in points])
    check_same(cadiff.compile(f).batch(points, what=what), wanted, 1e-8)


def test_sparse_matrices() -> None:
    def f(x: Any) -> Any:
        return np.cumsum(x[:10]) * x[10:20] + by_vjp(x[:10], x[20:])

    x = numpy.linspace(-1.0, 1.0, 30)
    program, number = cadiff.compile(f), cadiff.compile(total(f))
    for at in (x, x**2):
        check_same(program.sparse_jacobian(at).toarray(), cadiff.jacobian(f)(at))
        check_same(number.sparse_hessian(at).toarray(), cadiff.hessian(total(f))(at))
    assert program.stats()["eager"] == number.stats()["eager"] == 0


# --- pickles -------------------------------------------------------------------------------------


def with_complex_rules(x: Any) -> Any:
    rows = x[:, None] * x + 1j * np.eye(3)
    return np.sum(abs(np.linalg.solve(rows, np.tan(rows)) ** (2.0 + 1j)) ** 2)


def stepped_by_constant(x: Any) -> Any:
    return stepped(x, A)


@pytest.mark.parametrize("f", [stepped_by_constant, with_complex_rules])
def test_pickled_recordings(f: Function) -> None:
    program = cadiff.compile(f)
    program.grad(X)
    copy = pickle.loads(pickle.dumps(program))
    for x in (X, Y):
        check_same(copy(x), f(x))
        for name in ("grad", "hessian"):
            check_same(getattr(copy, name)(x), getattr(cadiff, name)(f)(x), 1e-9)
    stats = copy.stats()
    assert (stats["recordings"], stats["eager"], len(stats["traces"])) == (0, 0, 1)


def test_operations_with_rules_are_pickled_by_name() -> None:
    gc.unfreeze()  # else what was there before the tests is no longer listed
    known = [o for o in gc.get_objects() if isinstance(o, (primitive, on_pairs))]
    gc.freeze()
    named = [o for o in known if "<locals>" not in str(getattr(o.function, "__qualname__", ""))]
    own = [o for o in named if o.__module__.startswith("cadiff.")]
    assert len(own) > 200
    assert all(pickle.loads(pickle.dumps(o)) is o for o in own)


local: Any = None


def with_local(x: Any, twice: bool) -> Any:
    return np.sum(local(x) if twice else np.cumsum(x))


def test_recordings_that_cannot_be_pickled_are_left_out() -> None:
    global local
    factor = 2.0
    local = cadiff.custom(lambda x: factor * x, vjp=lambda ans, x: lambda g: factor * g)
    program = cadiff.compile(with_local)
    program(X, True), program(X, False)
    copy = pickle.loads(pickle.dumps(program))
    assert len(copy.stats()["traces"]) == 1
    for x in (X, Y):
        check_same(copy.grad(x, True), 2.0 * numpy.ones(3))
        check_same(copy.grad(x, False), numpy.array([3.0, 2.0, 1.0]))
    assert copy.stats()["recordings"] == 1


def graph_of(f: Function, *args: Any) -> Any:
    with binding.Guarded(args, f) as guarded:
        return binding.graph_of(guarded.recording, [f(*guarded.lifted)], True)


def test_bytes_and_steps_have_to_fit() -> None:
    graph = graph_of(stepped, X, A)
    make, (data, steps) = binding.reduced_graph(graph)
    assert len(steps) == 5
    check_same(
        make(data, steps).code_of("value").evaluate(numpy.concatenate([X, A.ravel()])),
        stepped(X, A),
    )
    for wrong in ([], steps[:-1], steps[::-1]):
        with pytest.raises(ValueError, match="a call is none of its steps"):
            make(data, wrong)
    with pytest.raises(ValueError, match="a call is none of its steps"):
        make(data)
    with pytest.raises(ValueError, match="is a str"):
        make(data, [*steps[:-1], "step"])


DAMAGES = (ValueError, RuntimeError, MemoryError, OverflowError)
DAMAGES += (binding.CallError, binding.ObstacleError, binding.PointError)


def test_damaged_bytes() -> None:
    make, (data, steps) = binding.reduced_graph(graph_of(stepped, X, A))
    body = bytearray(data[:-4])
    rng = numpy.random.default_rng(1)
    inputs = numpy.concatenate([X, A.ravel()])
    for k in range(96, len(body)):
        for value in {0, 1, 0x7F, 0xFF, int(rng.integers(256))} - {body[k]}:
            changed = bytearray(body)
            changed[k] = value
            check = zlib.crc32(bytes(changed)).to_bytes(4, "little")
            try:
                graph = make(bytes(changed) + check, steps)
            except (ValueError, MemoryError, OverflowError):
                continue
            try:
                graph.code_of("value").evaluate(inputs[: graph.n_inputs])
                if graph.n_outputs:
                    graph.code_of("gradient", [(0, 3)]).evaluate(inputs[: graph.n_inputs])
            except DAMAGES:
                pass


# --- threads and memory --------------------------------------------------------------------------


def test_a_rule_that_calls_its_own_program() -> None:
    programs: list[Any] = []

    @cadiff.primitive
    def recursive(x: Any) -> Any:
        return programs[0](x - 1.0) if x > 1.0 else x * x

    recursive.defvjp(
        lambda ans, x: lambda g: g * (programs[0].grad(x - 1.0) if x > 1.0 else 2.0 * x)
    )
    f = lambda x: recursive(x) + x  # noqa: E731
    programs.append(cadiff.compile(f))
    for x in (0.5, 3.5, 2.5, 0.7):
        check_same(programs[0](x), f(x))
        check_same(programs[0].grad(x), cadiff.grad(f)(x))


def test_programs_with_steps_leave_nothing_behind() -> None:
    alive: list[Any] = []

    def make() -> None:
        by_closure = cadiff.custom(lambda x: program(x) * x, vjp=lambda ans, x: lambda g: g * x)
        program = cadiff.compile(lambda x: np.sum(by_vjp(x, x)) + opaque(x)[0])
        outer = cadiff.compile(lambda x: np.sum(by_closure(x)))
        program.grad(X), program(Y), outer.grad(X)
        alive.append(weakref.ref(program))
        alive.append(weakref.ref(by_closure))

    make()
    gc.collect()
    usage = binding.tape_usage()
    for _ in range(300):
        make()
    gc.collect()
    assert not any(ref() is not None for ref in alive)
    assert binding.tape_usage() == usage


# --- functions of NumPy, of SciPy and of networks ------------------------------------------------


def test_extremes_are_no_choices() -> None:
    """Whichever element is the largest, and however many are: one recording serves all points."""

    def f(x: Any) -> Any:
        rows = x.reshape(2, 3)
        spread = np.max(rows, axis=1) - np.min(rows, axis=0, keepdims=True)[0, :2]
        return np.sum(spread**2) * np.max(x) + x[1]

    rng = numpy.random.default_rng(0)
    points = [numpy.ones(6), numpy.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0])]
    points += [rng.permutation(6).astype(float) for _ in range(5)] + list(rng.normal(size=(5, 6)))
    assert check_all(f, *points)["recordings"] == 1
    for x in (numpy.array([1.0, numpy.nan, 2.0]), numpy.array([numpy.inf, 0.0, numpy.inf])):
        twice = cadiff.compile(lambda x: 2.0 * np.max(3.0 * x))
        npt.assert_array_equal(twice.grad(x), cadiff.grad(twice.__wrapped__)(x))


def test_rules_that_are_no_derivatives_go_backward_as_they_do_in_eager_runs() -> None:
    clipped = cadiff.custom(lambda x: x, vjp=lambda ans, x: lambda g: cadiff.clip(g, -1.0, 1.0))

    def f(x: Any) -> Any:
        return np.exp(x[0]) * clipped(100.0 * x[1]) + clipped(x[0]) * 30.0

    x = numpy.array([0.5, 2.0])
    program = cadiff.compile(f)
    expected = cadiff.jacobian(f)(x)
    check_same(program.grad(x), cadiff.grad(f)(x))
    check_same(program.jacobian(x), expected)
    check_same(program.batch(x[None], what="jacobian")[0], expected)
    check_same(program.sparse_jacobian(x).toarray(), expected[None])
    check_same(program.hessian(x), cadiff.hessian(f)(x))
    check_same(program.sparse_hessian(x).toarray(), cadiff.hessian(f)(x))
