"""nan_check: the first number that is not finite, and the line that it comes from."""

from __future__ import annotations

import gc
import inspect
import pickle
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import binding

from ..helpers.properties import examples
from ..helpers.threads import in_threads

INF = float("inf")


def caught(run: Callable[[], Any]) -> cadiff.NonFiniteError:
    with (
        cadiff.nan_check(),
        np.errstate(all="ignore"),
        pytest.raises(cadiff.NonFiniteError) as error,
    ):
        run()
    return error.value


def line_of(function: Callable[..., Any], text: str) -> int:
    """The number of the one line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [k for k, line in enumerate(lines) if text in line]
    return first + found


def check(
    error: cadiff.NonFiniteError,
    function: Callable[..., Any],
    text: str,
    operation: str,
    derivative: bool,
    index: tuple[int, ...] | None = None,
) -> None:
    """The error names an operation, and the line of the function that holds the text."""
    assert error.operation == operation
    assert error.derivative is derivative
    assert error.index == index
    assert error.filename == __file__
    assert error.lineno == line_of(function, text)
    assert error.function is not None
    assert error.function.endswith(function.__name__)
    place = f'  File "{__file__}", line {error.lineno}, in {error.function}'
    lines = str(error).splitlines()
    assert place in lines
    assert text in lines[lines.index(place) + 1]


# --- values --------------------------------------------------------------------------------------


def log_of_difference(x: Any) -> Any:
    y = 2.0 * x
    z = cadiff.log(y - 2.0 * x)
    return z * x + y


MODES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": cadiff.grad,
    "jacobian": cadiff.jacobian,
    "jacfwd": cadiff.jacfwd,
    "hessian": cadiff.hessian,
    "derivative": lambda f: lambda x: cadiff.derivative(f, x),
    "second": lambda f: lambda x: cadiff.derivative(f, x, order=2),
    "grad of grad": lambda f: cadiff.grad(cadiff.grad(f)),
    "jacfwd of grad": lambda f: cadiff.jacfwd(cadiff.grad(f)),
    "grad of jacfwd": lambda f: cadiff.grad(cadiff.jacfwd(f)),
    "vjp": lambda f: lambda x: cadiff.vjp(f, x)[1](1.0),
    "make_tape": cadiff.make_tape,
    "Var": lambda f: lambda x: f(cadiff.Var(x)),
    "Dual": lambda f: lambda x: f(cadiff.Dual(x, 1.0)),
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_a_value_in_all_modes(mode: Any) -> None:
    error = caught(lambda: mode(log_of_difference)(1.5))
    check(error, log_of_difference, "cadiff.log(", "log", False)
    assert str(error).splitlines()[0] == "log(0.0) is -inf"


def of_arrays(x: Any) -> Any:
    y = x.T * 2.0
    z = y / (x.T - 3.0)
    return np.sum(z)


@pytest.mark.parametrize("mode", [cadiff.grad, cadiff.jacfwd, cadiff.jacobian, cadiff.hessian])
def test_the_element_of_an_array(mode: Any) -> None:
    error = caught(lambda: mode(of_arrays)(np.arange(6.0).reshape(2, 3)))
    check(error, of_arrays, "z = y /", "divide", False, (0, 1))
    assert "divide(6.0, 0.0) is inf, in element [0, 1] of shape (3, 2)" in str(error)


@pytest.mark.parametrize("shape", [(40, 2), (2, 40), (3, 1, 20), (1, 4), (50,), (2, 3, 4)])
@pytest.mark.parametrize("large", [1, 30])
def test_elements_of_all_shapes(shape: tuple[int, ...], large: int) -> None:
    """Whatever the order in which the core walks along the axes."""
    shape = (shape[0] * large, *shape[1:])
    x = np.ones(shape)
    place = tuple(length - 1 if k % 2 else length // 2 for k, length in enumerate(shape))
    x[place] = -4.0
    for mode in (cadiff.grad, cadiff.elementwise_grad):
        error = caught(lambda mode=mode: mode(lambda x: np.sum(np.sqrt(x)))(x))
        assert (error.index, error.operation) == (place, "sqrt")
        assert "sqrt(-4.0) is nan" in str(error)
    x[place] = 0.0
    error = caught(lambda: cadiff.grad(lambda x: np.sum(np.sqrt(x)))(x))
    assert (error.index, error.derivative) == (place, True)
    error = caught(lambda: cadiff.jvp(lambda x: np.sqrt(x), (x,), (x + 1.0,)))
    assert (error.index, error.derivative) == (place, True)


def overflow(x: Any) -> Any:
    y = x @ x
    return np.sum(y)


HUGE = np.full((2, 2), 1e200)
PRODUCTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: cadiff.grad(overflow)(HUGE), "matmul"),
    (lambda: cadiff.jvp(overflow, (HUGE,), (np.ones((2, 2)),)), "matmul"),
    (lambda: cadiff.grad(lambda x: np.sum(x @ HUGE))(HUGE), "matmul"),
    (lambda: cadiff.grad(lambda x: np.sum(x))(np.full(3, 1e308)), "sum"),
    (lambda: cadiff.jvp(lambda x: np.sum(x), (np.full(3, 1e308),), (np.ones(3),)), "sum"),
]


@pytest.mark.parametrize(("run", "operation"), PRODUCTS)
def test_products_of_matrices_and_sums(run: Callable[[], Any], operation: str) -> None:
    error = caught(run)
    assert (error.operation, error.index) == (operation, (0, 0) if operation == "matmul" else None)


# --- derivatives ---------------------------------------------------------------------------------


def root(x: Any) -> Any:
    y = x * x
    z = cadiff.sqrt(y)
    return z + 3.0 * x


def root_alone(x: Any) -> Any:
    return cadiff.sqrt(x) + 1.0


@pytest.mark.parametrize("name", [name for name in MODES if name != "Var"])
def test_a_derivative_in_all_modes(name: str) -> None:
    # In forward mode the tangent of x * x is 0, which absorbs.
    forward = name in ("derivative", "second", "jacfwd", "Dual", "grad of jacfwd")
    f = root_alone if forward else root
    error = caught(lambda: MODES[name](f)(0.0))
    check(error, f, "cadiff.sqrt", "sqrt", True)
    if name in ("grad", "jacobian", "vjp"):
        assert "the derivative of sqrt(0.0) is inf, times 1.0 from what follows it" in str(error)


def test_backward_of_a_var() -> None:
    x = cadiff.Var([4.0, 0.0])

    def run() -> None:
        y = np.sqrt(x)
        np.sum(y * 2.0).backward()

    error = caught(run)
    check(error, run, "np.sqrt(x)", "sqrt", True, (1,))
    assert "times 2.0" in str(error)


def test_what_was_recorded_before_has_no_line() -> None:
    y = cadiff.sqrt(cadiff.Var(0.0)) + 1.0
    error = caught(y.backward)
    assert error.operation == "sqrt"
    assert error.filename is None and error.lineno is None
    assert "File" not in str(error)


def steep(x: Any) -> Any:
    return x**1.5


@pytest.mark.parametrize("mode", ["grad of grad", "jacfwd of grad", "hessian", "second"])
def test_a_second_derivative(mode: str) -> None:
    error = caught(lambda: MODES[mode](steep)(0.0))
    check(error, steep, "x**1.5", error.operation, True)
    assert error.operation in ("power", "multiply")
    assert cadiff.grad(steep)(0.0) == 0.0


def test_a_second_derivative_of_arrays() -> None:
    def f(x: Any) -> Any:
        return np.sum(steep(x))

    point = np.array([1.0, 0.0, 4.0])
    error = caught(lambda: cadiff.grad(lambda x: np.sum(cadiff.grad(f)(x)))(point))
    check(error, steep, "x**1.5", "power", True, (1,))
    error = caught(lambda: cadiff.hvp(f)(point, np.ones(3)))
    check(error, steep, "x**1.5", error.operation, True, (1,))


def test_an_exact_zero_absorbs() -> None:
    with cadiff.nan_check():
        assert cadiff.grad(lambda x: cadiff.where(x >= 0.0, x, cadiff.sqrt(x)))(0.0) == 1.0
        assert cadiff.grad(lambda x: np.sum(np.sqrt(x) * np.array([1.0, 0.0])))(
            np.array([4.0, 0.0])
        ).tolist() == [0.25, 0.0]
        assert cadiff.derivative(lambda x: cadiff.sqrt(x * x), 0.0) == 0.0


def test_after_an_assignment() -> None:
    def f(x: Any) -> Any:
        y = cnp.zeros(3)
        y[0] = x[0]
        y[1:] = np.sqrt(x)
        y[0] = 2.0 * x[1]
        return np.sum(y)

    check(caught(lambda: cadiff.grad(f)(np.array([1.0, 0.0]))), f, "np.sqrt", "sqrt", True, (1,))
    with cadiff.nan_check():
        assert cadiff.grad(f)(np.array([1.0, 4.0])).tolist() == [0.5, 2.25]


def test_a_product_that_overflows() -> None:
    def f(x: Any) -> Any:
        y = cadiff.exp(x)
        return (1e300 * y) / 1e300

    error = caught(lambda: cadiff.vjp(lambda x: 1e200 * x, 1.0)[1](1e200))
    assert error.derivative
    assert "is 1e+200, times 1e+200 from what follows it" in str(error)
    with cadiff.nan_check():
        assert cadiff.grad(f)(1.0) == pytest.approx(np.e)


def test_a_cotangent_that_is_not_finite() -> None:
    _, pullback = cadiff.vjp(lambda x: 2.0 * x, 1.0)
    error = caught(lambda: pullback(INF))
    assert "the cotangent was not finite" in str(error)


# --- primitives ----------------------------------------------------------------------------------


@cadiff.primitive
def own_root(x: Any) -> Any:
    return np.sqrt(x)


def partial_of_root(ans: Any, x: Any) -> Any:
    return 0.5 / ans


own_root.defpartials(partial_of_root)


def with_primitive(x: Any) -> Any:
    y = own_root(x)
    return 3.0 * y


X = np.array([[1.0, 0.0]])
PRIMITIVE: list[tuple[Callable[[], Any], bool, Any]] = [
    (lambda: cadiff.grad(with_primitive)(0.0), True, None),
    (lambda: cadiff.derivative(with_primitive, 0.0), True, None),
    (lambda: cadiff.grad(with_primitive)(-1.0), False, None),
    (lambda: cadiff.derivative(with_primitive, -1.0), False, None),
    (lambda: cadiff.grad(lambda x: np.sum(with_primitive(x)))(X), True, (0, 1)),
    (lambda: cadiff.jvp(with_primitive, (X,), (X + 1.0,)), True, (0, 1)),
]


@pytest.mark.parametrize(("run", "derivative", "index"), PRIMITIVE)
def test_a_primitive(run: Callable[[], Any], derivative: bool, index: Any) -> None:
    check(caught(run), with_primitive, "own_root(x)", "own_root", derivative, index)


def test_inside_of_a_rule() -> None:
    error = caught(lambda: cadiff.grad(cadiff.grad(with_primitive))(0.0))
    check(error, partial_of_root, "0.5 / ans", "divide", True)
    assert "in the derivative of own_root" in str(error)
    place = f'File "{__file__}", line {line_of(with_primitive, "own_root(x)")}, in with_primitive'
    assert place in str(error)


def test_rules_of_the_package_are_not_the_users() -> None:
    def f(a: Any) -> Any:
        b = np.linalg.inv(a)
        return np.sum(np.log(b))

    error = caught(lambda: cadiff.grad(f)(np.eye(2)))
    check(error, f, "np.log(b)", "log", False, (0, 1))


# --- what was given ------------------------------------------------------------------------------


def test_inputs_are_named() -> None:
    def f(p: Any, x: Any) -> Any:
        return p["w"][1, 0] * x[0] + p["b"]

    p, x = {"w": np.array([[1.0, 2.0], [np.nan, 3.0]]), "b": 1.0}, [2.0, INF]
    for run in (
        lambda: cadiff.grad(f)(p, x),
        lambda: cadiff.grad(f, 1)(p, x),
        lambda: cadiff.jacfwd(f, (0, 1))(p, x),
        lambda: cadiff.vjp(f, p, x),
        lambda: cadiff.hessian(lambda p, x: f(p, x))(p, x),
    ):
        error = caught(run)
        assert error.operation == "multiply"
        assert "of the arguments, p['w'][1, 0] is nan, x[1] is inf" in str(error)


def test_inputs_that_do_no_harm() -> None:
    with cadiff.nan_check():
        assert cadiff.grad(lambda x, y: 1.0 / x + y)(INF, 1.0) == 0.0
        assert cadiff.grad(lambda x: x[0] * 2.0)([1.0, np.nan]) == [2.0, 0.0]
        x = cadiff.grad(lambda x: np.sum(x[:1]) + 0.0 * np.sum(x[[0, 0]]))(np.array([1.0, np.nan]))
        assert x.tolist() == [1.0, 0.0]


def test_constants_are_told_apart() -> None:
    error = caught(lambda: cadiff.grad(lambda x: x * INF)(1.0))
    assert "an operand was not finite before: a constant, or made elsewhere" in str(error)
    assert "before" not in str(caught(lambda: cadiff.grad(log_of_difference)(1.0)))


def test_what_was_given_is_forgotten() -> None:
    with cadiff.nan_check():
        cadiff.grad(lambda x: x[0])([1.0, INF])
        cadiff.derivative(lambda x: 1.0 / x, INF)
        with pytest.raises(cadiff.NonFiniteError, match="a constant"):
            cadiff.grad(lambda x: x * INF)(1.0)


# --- lines ---------------------------------------------------------------------------------------


def test_generators_lambdas_and_comprehensions() -> None:
    def terms(x: Any) -> Iterator[Any]:
        for k in range(3):
            yield cadiff.log(x - k)

    check(caught(lambda: cadiff.grad(lambda x: sum(terms(x)))(2.0)), terms, "yield", "log", False)
    f = lambda x: 1.0 / x  # noqa: E731
    check(caught(lambda: cadiff.grad(f)(0.0)), f, "f = lambda", "divide", False)

    def listed(x: Any) -> Any:
        return sum([cadiff.log(x - k) for k in range(3)])

    error = caught(lambda: cadiff.grad(listed)(1.0))
    assert error.lineno == line_of(listed, "cadiff.log")


def test_code_without_source() -> None:
    names: dict[str, Any] = {"cadiff": cadiff}
    exec("def g(x):\n    y = x - x\n    return cadiff.log(y)\n", names)
    for mode in ("grad", "derivative"):
        error = caught(lambda mode=mode: MODES[mode](names["g"])(1.0))
        assert (error.filename, error.lineno, error.function) == ("<string>", 3, "g")
        assert "(there is no source text)" in str(error)


OPERATIONS = [
    lambda x: x + 1.0,
    lambda x: x * 2.0,
    lambda x: cadiff.sin(x),
    lambda x: -x,
    lambda x: abs(x),
    lambda x: cadiff.where(x > 0.0, x, 1.0),
]


@examples(50)
@given(
    st.lists(st.sampled_from(range(len(OPERATIONS))), max_size=8),
    st.lists(st.sampled_from(range(len(OPERATIONS))), max_size=8),
    st.sampled_from(["grad", "derivative", "jacobian", "hessian", "grad of grad", "Var", "Dual"]),
)
def test_the_one_bad_operation_of_random_programs(
    before: list[int], after: list[int], mode: str
) -> None:
    def bad(x: Any) -> Any:
        return cadiff.log(x - cadiff.value(x))

    def f(x: Any) -> Any:
        for k in before:
            x = OPERATIONS[k](x)
        x = bad(x)
        for k in after:
            x = OPERATIONS[k](x)
        return x

    check(caught(lambda: MODES[mode](f)(0.7)), bad, "cadiff.log", "log", False)


@examples(30)
@given(st.lists(st.sampled_from(range(len(OPERATIONS))), max_size=8))
def test_finite_programs_give_the_same_numbers(program: list[int]) -> None:
    def f(x: Any) -> Any:
        for k in program:
            x = OPERATIONS[k](x)
        return np.sum(x * x)

    for point in (0.7, np.array([[0.3, -1.2], [2.0, 0.1]])):
        for mode in (cadiff.value_and_grad, cadiff.hessian, cadiff.jacobian):
            expected = mode(f)(point)
            with cadiff.nan_check():
                found = mode(f)(point)
            for got, wanted in zip(
                *(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True
            ):
                np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


# --- on and off ----------------------------------------------------------------------------------


def is_on() -> bool:
    try:
        cadiff.grad(cadiff.log)(0.0)
    except cadiff.NonFiniteError:
        on = True
    else:
        on = False
    try:
        cadiff.Dual(1.0, 1.0) / 0.0
    except cadiff.NonFiniteError:
        assert on
    else:
        assert not on
    return on


def test_it_nests_and_ends() -> None:
    check = cadiff.nan_check()
    assert not is_on()
    with check:
        assert is_on()
        with check, cadiff.nan_check():
            assert is_on()
        assert is_on()
    assert not is_on()


def test_exceptions_end_it() -> None:
    with pytest.raises(KeyError), cadiff.nan_check():
        raise KeyError
    assert not is_on()
    with pytest.raises(cadiff.NonFiniteError), cadiff.nan_check():
        cadiff.grad(cadiff.log)(0.0)
    assert not is_on()

    def f(x: Any) -> Any:
        with cadiff.nan_check():
            raise KeyError

    with pytest.raises(KeyError):
        cadiff.grad(f)(1.0)
    assert not is_on()


def test_within_the_function() -> None:
    def f(x: Any) -> Any:
        y = cadiff.log(x)
        with cadiff.nan_check():
            return cadiff.exp(y) + x

    assert cadiff.grad(f)(0.0) == 1.0
    assert not is_on()


def test_each_thread_has_its_own() -> None:
    """One context may be entered by several."""
    shared = cadiff.nan_check()
    barrier = threading.Barrier(3)

    def work(k: int) -> list[bool]:
        found = [is_on()]
        with shared if k else nullcontext():
            barrier.wait()
            found.append(is_on())
            barrier.wait()
        return [*found, is_on()]

    with cadiff.nan_check():
        off, *on = in_threads(3, work)
        assert is_on()
    assert off == [False] * 3
    assert on == [[False, True, False]] * 2
    assert not is_on()


def test_a_thread_that_never_leaves() -> None:
    def work() -> None:
        cadiff.nan_check().__enter__()
        kept.append(cadiff.Var(2.0) * 3.0)

    kept: list[Any] = []
    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    kept.clear()
    gc.collect()
    assert cadiff.grad(lambda x: x * x)(3.0) == 6.0


def test_nothing_stays() -> None:
    before = binding.tape_usage()
    for _ in range(3):
        caught(lambda: cadiff.grad(log_of_difference)(1.0))
        caught(lambda: cadiff.grad(root)(0.0))
        caught(lambda: cadiff.hessian(steep)(0.0))
    gc.collect()
    assert binding.tape_usage() == before
    assert cadiff.grad(root)(2.0) == 4.0


def test_many_free_operations() -> None:
    """What is reclaimed takes its places along."""
    with cadiff.nan_check():
        x = cadiff.Var(1.0)
        for _ in range(60_000):
            y = x * 1.5
            y = y + 0.5
        z = cadiff.sqrt(y - y)
        for _ in range(60_000):
            y = x * 1.5
        with pytest.raises(cadiff.NonFiniteError) as error:
            (z + y).backward()
    assert error.value.operation == "sqrt"
    assert "z = cadiff.sqrt(y - y)" in str(error.value)


def test_the_error_is_an_arithmetic_one_and_pickles() -> None:
    error = caught(lambda: cadiff.grad(log_of_difference)(1.0))
    assert isinstance(error, FloatingPointError)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.lineno == error.lineno and again.operation == "log"


def test_together_with_make_tape_and_check_grads() -> None:
    with cadiff.nan_check():
        tape = cadiff.make_tape(lambda x: np.sum(np.exp(x)))(np.ones((2, 2)))
        cadiff.check_grads(lambda x: cadiff.exp(x) * x, (0.3,), order=2)
        assert is_on()
    assert re.search(r"exp +x +\(2, 2\)", tape.to_text())
    assert not is_on()
