"""Random programs of arrays: values are those of NumPy, derivatives are the same by all ways."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import Var

from ..helpers.drafts import Draft, runs, text
from ..helpers.properties import examples
from ..helpers.ways import check_replays, check_ways, differences

Array = numpy.ndarray
Function = Callable[..., Any]


# --- what holds of a program ---------------------------------------------------------------------


def near(got: Any, wanted: Any, rtol: float, what: str) -> None:
    """Floats of the same shape, near relative to the largest of them."""
    got = numpy.asarray(got)
    assert got.dtype == float, (what, got.dtype)
    assert got.shape == numpy.shape(wanted), (what, got.shape, numpy.shape(wanted))
    scale = max(1.0, numpy.max(numpy.abs(wanted), initial=0.0))
    numpy.testing.assert_allclose(got, wanted, rtol=0.0, atol=rtol * scale, err_msg=what)


def check(f: Function, x: Array, third: bool = False) -> None:
    """Values, first and second derivatives of f(x, np), in all modes; third ones if asked for."""
    argument: Any = x.copy() if x.ndim else float(x)

    def plain(at: Array) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(at.copy() if at.ndim else float(at), numpy)

    def program(at: Any) -> Any:
        return f(at, cnp)

    wanted = plain(x)
    rng = numpy.random.default_rng(0)
    u, v = rng.normal(size=wanted.shape), rng.normal(size=x.shape)
    direction: Any = v if x.ndim else float(v)

    jacobian = numpy.asarray(cadiff.jacrev(program)(argument))
    near(jacobian, differences(plain, x), 1e-7, "jacrev, differences")
    near(cadiff.jacfwd(program)(argument), jacobian, 1e-12, "jacfwd")
    value, pullback = cadiff.vjp(program, argument)
    near(value, wanted, 1e-13, "value of vjp")
    for again in ("", ", again"):
        near(pullback(u), numpy.tensordot(u, jacobian, 1), 1e-12, "vjp" + again)
    value, tangent = cadiff.jvp(program, (argument,), (direction,))
    near(value, wanted, 1e-13, "value of jvp")
    near(tangent, numpy.tensordot(jacobian, v, x.ndim), 1e-12, "jvp")
    value, linear = cadiff.linearize(program, argument)
    near(value, wanted, 1e-13, "value of linearize")
    near(linear.todense(), jacobian.reshape(wanted.size, x.size), 1e-12, "todense")
    near(linear(direction), tangent, 1e-12, "push of linearize")
    near(linear.vjp(u), pullback(u), 1e-12, "pull of linearize")
    if numpy.max(numpy.abs(jacobian), initial=0.0) > 1e2:
        return  # so steep that second differences say nothing

    def number(at: Any) -> Any:
        return cnp.sum(cnp.sin(program(at)) * u)

    slope = numpy.tensordot(numpy.cos(wanted) * u, jacobian, 1)
    value, gradient = cadiff.value_and_grad(number)(argument)
    near(value, numpy.sum(numpy.sin(wanted) * u), 1e-12, "value of value_and_grad")
    near(gradient, slope, 1e-12, "gradient")
    check_free_form(number, argument, slope)
    derivatives = check_ways(number, argument, 3 if third else 2)
    formers = ((cadiff.grad(number), 1e-6), (cadiff.hessian(number), 1e-5))
    for (former, rtol), derivative in zip(formers, derivatives[1:], strict=False):
        truth = differences(lambda at, former=former: numpy.asarray(former(at)), x)
        near(derivative, truth, rtol, "a derivative, differences")
    numpy.testing.assert_array_equal(argument, x, "the caller's array")


def check_free_form(number: Function, argument: Any, slope: Array) -> None:
    """backward() adds up, and the Var goes on living; unless the program makes arrays of floats.

    (Made outside of any differentiation, those are NumPy's own: they take no numbers.)
    """
    leaf = Var(argument)
    try:
        result = number(leaf)
    except TypeError as error:
        if not re.search("plain number by itself|ndarray|dtype float64", str(error)):
            raise
        return
    if not isinstance(result, Var):
        return
    for times in (1.0, 2.0):
        result.backward()
        near(leaf.grad, times * slope, 1e-12, "backward")
    near(leaf.value, argument, 0.0, "value of the leaf")
    leaf.zero_grad()
    cnp.sum(leaf * leaf).backward()
    near(leaf.grad, 2.0 * numpy.asarray(argument), 1e-15, "the leaf afterwards")


# --- random programs -----------------------------------------------------------------------------

RANDOM = st.randoms(use_true_random=False)


def check_random(rng: random.Random, lines: int, most: int, third: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draft = Draft(rng, most)
        for _ in range(rng.randint(1, lines)):
            draft.step()
        outputs = draft.outputs()
    try:
        check(runs(draft.lines, outputs), draft.x, third)
    except Exception as error:
        message = f"\n{text(draft.lines, outputs)}\nat {draft.x!r}: {error}"
        raise AssertionError(message) from error


@examples(300)
@given(rng=RANDOM)
def test_programs(rng: random.Random) -> None:
    check_random(rng, lines=8, most=18, third=False)


@examples(80)
@given(rng=RANDOM)
def test_short_programs_to_third_order(rng: random.Random) -> None:
    check_random(rng, lines=4, most=4, third=True)


@pytest.mark.parametrize("seed", range(100))
def test_long_programs(seed: int) -> None:
    check_random(random.Random(seed), lines=14, most=12, third=False)


# --- programs that once failed, and their neighbours ---------------------------------------------

ONE, TWO, NUMBER = [0.83], [0.83, 0.41], 0.83
ONCE_FAILED: dict[str, tuple[Any, str]] = {
    # a point, the lines of a program, the last of which is its result
    "assign to one element": (ONE, "y = np.sin(x) | y[::-1] = np.cos(y) | y * y"),
    "gather one element": (ONE, "y = np.array(x) | y[[0]] * y[[0]] * x[:1]"),
    "gather one of two": (TWO, "y = np.array(x) | y[[0]] * y[[0]] * x[:1]"),
    "scatter one element twice": (
        ONE,
        "y = np.array([x[0], 1.0, 2.0 * x[0]]) | y[[1, 1]] -= np.square(x) | y * y",
    ),
    "add at one element": (ONE, "y = np.sin(x) | np.add.at(y, [0, 0], x) | y * y"),
    "assign into part of joined numbers": (
        NUMBER,
        "y = np.array([x, 2.0 * x, 0.5]) | z = y[1:] * y[:-1] | y[2] = 5.0 | np.sum(z) * y",
    ),
    "assign overlapping products": (
        NUMBER,
        "y = np.array([x, 1.0, 0.3]) | y[0:2] = y[1:] * y[:-1] | y * y",
    ),
    "assign a product of joined numbers": (
        0.983,
        "y = np.array([x, 1.0, x * x]) | y[1] += np.prod(y) | y",
    ),
    "assign into part of a stack": (
        TWO,
        "y = np.stack([x, np.sin(x), x * x]) | z = y[1:] * y[:-1] | y[1] = z[0] | z * y[1:]",
    ),
    "assign into part of joined arrays": (
        TWO,
        "y = np.concatenate([x, np.sin(x)]) | z = y[1:] * y[:-1] | y[1:] = y[:-1] | z * y[1:]",
    ),
    "assign into zeros": (
        TWO,
        "y = np.zeros(3) | y[0], y[1] = x[0], x[1] | z = y[1:] * y[:-1] | y[1:] = y[:-1]"
        " | np.sum(z * y[1:])",
    ),
    "assign into constants": (TWO, "y = np.full((2,), 0.5) | y[:1] *= x[1:] | y * x"),
    "nothing but constants": (TWO, "np.zeros(3)"),
    "assign constants": (
        TWO,
        "y = np.sin(x) | y[:1] = np.ones(1) | y[1] = np.full(2, 0.3)[0] | y * x",
    ),
    "assign into a linear function": (
        TWO,
        "y = 0.5 * x | y[0] = np.sin(x[1]) | y[[1]] *= y[0] | y * y",
    ),
    "out of a linear function": (TWO, "y = 0.5 * x | np.tanh(y, out=y) | y * y"),
    "augment by a product": (TWO, "y = x.copy() | y *= np.sin(y) | y"),
    "augment a row": (
        TWO,
        "y = x.copy().reshape(2, 1) | row = y[0] | row += y[1] | row *= row | y",
    ),
    "thin matrix product": ([0.83, 0.41, 0.6, 0.3], "np.sin(x[:, None] @ x[None, :])"),
    "products along no axis of interest": (
        TWO,
        "np.cumprod(x, axis=-1) | np.cumprod(x.reshape(-1, 1), axis=0) * np.prod(x, axis=0)",
    ),
    "branch on where": (
        TWO,
        "y = np.where(x[0] > -9.0, x[0], 1.0) | np.array([3.0 * x[0] if y > 0.2 else 5.0 * x[0]])",
    ),
    "branch on a choice of where": (
        TWO,
        "y = np.where(x[0] > -9.0, 0.5, x[0]) | np.where(y > 0.2, x * x, x)",
    ),
    "where in a list": (TWO, "np.array([np.where(x[0] > -9.0, x[0], 1.0), x[1]]) * 2.0"),
    "add at broadcast": (
        TWO,
        "y = np.sin(x) | np.add.at(y, [0, 1, 0], x[:1]) | np.subtract.at(y, [1, 1], 0.5) | y * y",
    ),
    "add at broadcast rows": (
        TWO,
        "y = np.sin(np.outer(x, x)) | np.add.at(y, [0, 1, 0], x)"
        " | np.multiply.at(y, ([0, 1, 0], [1, 1, 1]), x[1]) | y * y",
    ),
    "add at from itself": (
        TWO,
        "y = np.sin(x) | np.add.at(y, [1, 1], y) | np.multiply.at(y, [1, 0], y[::-1]) | y * y",
    ),
    "diagonals see later writes": (
        TWO,
        "y = np.outer(x, np.sin(x)) | z = np.diagonal(y) | y[0] = x | y[1] *= 2.0 | z * z",
    ),
    "rows and columns see later writes": (
        TWO,
        "y = np.outer(x, np.sin(x)) | row, column, flat = y[0], y.T[1], y.reshape(-1)"
        " | y[0, 1] = x[0] | flat[3] *= 2.0 | column[0] += row[0]"
        " | np.concatenate([row * row, column, flat])",
    ),
    "empty views": (
        TWO,
        "y = np.sin(x) | y[2:1, None] += np.ones(1) | y[1:1] *= x[1:1]"
        " | y[y > 9.0] *= x[x > 9.0] | y * np.sum(y[:0])",
    ),
    "empty arrays": (
        TWO,
        "y = np.outer(x, x[:0]) | y[:-1] = y[1:] | y *= np.tanh(y) | x * np.sum(y)",
    ),
    "empty selections of the argument": (
        TWO,
        "nothing = x[x > 9.0] | np.add(0.0, 0.0, out=nothing.T, where=False)"
        " | nothing[...] = x[0] | nothing *= x[1:1] | x * np.sum(nothing)",
    ),
}


@pytest.mark.parametrize("name", ONCE_FAILED)
def test_programs_that_once_failed(name: str) -> None:
    point, lines = ONCE_FAILED[name]
    *statements, result = lines.split(" | ")
    check(runs(statements, [result, "(0.5 * x)"]), numpy.array(point), third=True)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_third_order_in_the_memory_of_second_order(size: int) -> None:
    """Each row of a Jacobian is pulled through what was recorded, not through the rows before."""
    numbers = []

    def f(x: Any) -> Any:
        y = cnp.array(x)
        y[1:] -= cnp.sum(x)
        return cnp.sum(cnp.sin(y))

    def hessian(x: Any) -> Any:
        before = cadiff.binding.tape_usage()["numbers"]
        result = cadiff.jacrev(cadiff.grad(f))(x)
        numbers.append(cadiff.binding.tape_usage()["numbers"] - before)
        return result

    cadiff.vjp(hessian, numpy.linspace(0.1, 1.0, size))
    assert numbers[0] < 200 * size**2


# --- operations over views of all sorts ----------------------------------------------------------

VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: x[:, ::2],
    lambda x: x[1:, ::-1],
    lambda x: cnp.broadcast_to(x[0], x.shape),
    lambda x: cnp.broadcast_to(x[:, :1], x.shape),
)
WEIGHTS = numpy.random.default_rng(0).normal(size=(24, 24))
OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda u, v: cnp.cumsum(u * v, axis=0),
    lambda u, v: cnp.cumsum(u, axis=1) * v,
    lambda u, v: u @ v.T,
    lambda u, v: (u @ WEIGHTS[: u.shape[1], :4]) * cnp.sum(v),
    lambda u, v: cnp.matmul(u[None], cnp.stack([v, 2.0 * v]).transpose(0, 2, 1))[1],
    lambda u, v: u * cnp.vecdot(u, v)[:, None],
    lambda u, v: v * cnp.vecdot(u, cnp.cos(v), axis=0),
    lambda u, v: v * cnp.vecdot(u, WEIGHTS[: len(u), : u.shape[1]])[:, None],
    lambda u, v: u * cnp.sum(v, axis=1, keepdims=True),
)


@pytest.mark.parametrize("seed", range(40))
def test_operations_over_views(seed: int) -> None:
    """A few, each on two views of the same shape of what the one before gave."""
    rng = numpy.random.default_rng(seed)
    picks = rng.integers(0, 1000, (3, 3))

    def f(x: Any) -> Any:
        y = x
        for operation, *views in picks:
            u, v = (VIEWS[k % len(VIEWS)](cnp.sin(y)) for k in views)
            rows, columns = (min(u.shape[k], v.shape[k]) for k in (0, 1))
            y = OPERATIONS[operation % len(OPERATIONS)](u[:rows, :columns], v[:rows, :columns])
            if min(y.shape) < 2:
                y = x
        return cnp.sum(cnp.tanh(y) * cnp.cos(y))

    x = rng.normal(size=tuple(rng.integers(2, 6, 2)))
    check_ways(f, x, rtol=1e-9, atol=1e-11)
    for optimize in (True, False):
        program = cadiff.compile(f, optimize=optimize)
        for point in (x, x + 0.3, x):
            check_replays(f, program, point, is_exact=False)
