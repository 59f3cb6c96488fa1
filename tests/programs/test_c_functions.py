"""Programs as functions of C, for those who call such."""

from __future__ import annotations

import ctypes
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff.programs.c_functions import CFunction

from ..helpers.processes import needs_compiler
from ..helpers.threads import in_threads

DOUBLES = ctypes.POINTER(ctypes.c_double)


def called(function: CFunction, x: Any, gradient: bool = True) -> tuple[int, Any, Any]:
    """Status, values and gradient at the numbers x."""
    x = np.array(x, float)
    value, into = np.full(function.n_values, np.nan), np.full(function.n_gradient, np.nan)
    pointers = [a.ctypes.data_as(DOUBLES) for a in (x, value, into)]
    status = function.ctypes(
        len(x), *pointers[:2], pointers[2] if gradient else None, function.data
    )
    return status, value, into


def rosenbrock(x: Any) -> Any:
    return sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1))


def solved(A: Any, b: Any) -> Any:
    return cnp.sum(cnp.linalg.solve(A, b) ** 2)


def swung(x: Any, h: Any) -> Any:
    v = 0.0
    for _ in range(800):
        v = v - h * cadiff.sin(x)
        x = x + h * v
    return x


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "number": (lambda x: cadiff.sin(x) * x, (0.7,)),
    "numbers": (lambda x, y: cadiff.exp(x) * y + y, (0.7, 2.0)),
    "the input": (lambda x: x, (0.7,)),
    "constant gradient": (lambda x: cnp.sum(x), (np.arange(1.0, 900.0),)),
    "list": (rosenbrock, ([0.5, -0.5, 1.5],)),
    "containers": (lambda d, y: d["a"] * cnp.sum(d["b"] * y), ({"a": 2.0, "b": np.ones(3)}, 0.5)),
    "array": (lambda x: cnp.sum(cnp.tanh(x) * x), (np.linspace(0.1, 2.0, 40),)),
    "gradient is an array": (lambda x: 0.5 * cnp.sum(x * x), (np.linspace(0.1, 2.0, 3000),)),
    "reversed": (lambda x: cnp.sum(x * x[::-1]), (np.linspace(0.1, 2.0, 3000),)),
    "tiles": (lambda x, y: cnp.sum(cnp.exp(-x) * y), (np.linspace(0.1, 2.0, 70_000), 3.0)),
    "in C of LAPACK": (solved, (np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 4.0]))),
    "float32": (lambda x: cnp.sum(x * x), (np.linspace(0.1, 2.0, 5, dtype=np.float32),)),
    "loop": (swung, (0.7, 0.1)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_program(name: str) -> None:
    f, args = CASES[name]
    program = cadiff.compile(f)
    function = program.c_function("value_and_grad", *args)
    numbers = np.concatenate([np.ravel(x) for x in cadiff.flatten(args)])[: function.n]
    for _ in range(3):
        status, value, gradient = called(function, numbers)
        wanted = program.value_and_grad(*args)
        assert status == 0
        npt.assert_array_equal(value, wanted[0])
        npt.assert_array_equal(gradient, cadiff.flatten(wanted[1])[0])
    status, value, gradient = called(function, numbers, gradient=False)
    assert status == 0
    npt.assert_allclose(value, program(*args), rtol=1e-15)
    assert np.isnan(gradient).all()


def test_several_values() -> None:
    program = cadiff.compile(lambda x, y: (x * y, cnp.sin(x)))
    function = program.c_function("value", np.arange(3.0), 2.0)
    status, value, _ = called(function, [0.0, 1.0, 2.0, 3.0])
    assert (status, function.n_values, function.n_gradient) == (0, 6, 0)
    npt.assert_allclose(value, [0.0, 3.0, 6.0, *np.sin([0.0, 1.0, 2.0])])
    with pytest.raises(ValueError, match="of one number, but f returns 6"):
        program.c_function("value_and_grad", np.arange(3.0), 2.0)


def test_what_is_differentiated_by_comes_first() -> None:
    program = cadiff.compile(lambda x, y: x * y**2)
    function = program.c_function("value_and_grad", 2.0, 3.0, argnums=1)
    status, value, gradient = called(function, [3.0, 2.0])
    assert (status, function.n_gradient) == (0, 1)
    assert (value[0], gradient[0]) == (18.0, 12.0)


def test_the_status_tells_what_is_wrong_and_nothing_is_written() -> None:
    program = cadiff.compile(
        lambda x: (1.0 if x[0] > 0.0 else 2.0) * (x[1] if x[1] < 9.0 else 5.0)
    )
    function = program.c_function("value_and_grad", [1.0, 1.0])
    for x, wanted in (([1.0, 2.0], 0), ([-1.0, 2.0], 1), ([1.0, 10.0], 2), ([1.0], -2)):
        status, value, gradient = called(function, x)
        assert status == wanted
        assert np.isnan([*value, *gradient]).all() == (wanted != 0)
    other = program.c_function("value_and_grad", [-1.0, 1.0])  # another recording
    assert called(other, [-1.0, 2.0])[:2] == (0, 4.0)
    with pytest.raises(ValueError, match="call c_function with the arguments of f"):
        program.c_function("value_and_grad")


def test_a_step_without_result_leaves_no_exception() -> None:
    A, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.ones(2)
    function = cadiff.compile(solved).c_function("value_and_grad", A, b)
    numbers = [1.0, 1.0, 1.0, 1.0, 2.0, 3.0]
    assert called(function, numbers)[0] == -3
    assert in_threads(4, lambda k: called(function, numbers)[0]) == [-3] * 4
    assert called(function, [*A.ravel(), *b])[0] == 0


def test_an_index_out_of_bounds_has_no_result() -> None:
    table = np.arange(5.0)
    program = cadiff.compile(lambda x: table[cnp.floor(cadiff.value(x)).astype(int)] * x)
    function = program.c_function("value", np.array([1.5, 2.5]))
    assert called(function, [1.5, 3.5])[0] == 0
    assert called(function, [1.5, 7.5])[0] == -3


@pytest.mark.parametrize("n", [3, 600])
def test_threads_have_workspaces_of_their_own(n: int) -> None:
    program = cadiff.compile(rosenbrock)
    X = np.random.default_rng(0).normal(size=(24, n))
    function = program.c_function("value_and_grad", X[0])
    wanted = [program.value_and_grad(x) for x in X]

    def job(k: int) -> bool:
        for j in range(100):
            i = (j + k) % len(X)
            status, value, gradient = called(function, X[i])
            assert (status, value[0]) == (0, wanted[i][0])
            npt.assert_array_equal(gradient, wanted[i][1])
        return True

    assert all(in_threads(24, job))  # more than workspaces are kept


def test_it_lives_as_long_as_what_is_had_of_it() -> None:
    pytest.importorskip("scipy")
    for name in ("ctypes", "low_level_callable"):
        function = cadiff.compile(lambda x: x * x).c_function("value_and_grad", 2.0)
        data = function.data
        had = getattr(function, name) if name == "ctypes" else function.low_level_callable()
        alive = weakref.ref(function)
        del function
        gc.collect()
        assert alive() is not None
        if name == "ctypes":
            x = ctypes.c_double(3.0)
            assert had(1, x, x, None, data) == 0
            assert x.value == 9.0
        del had
        gc.collect()
        assert alive() is None


@needs_compiler
def test_machine_code_runs_where_there_is_some() -> None:
    program = cadiff.compile(rosenbrock)
    x = [0.5, -0.5, 1.5]
    function = program.c_function("value_and_grad", x)
    before = called(function, x)
    cadiff.build(program)
    after = called(function, x)
    assert program.stats()["native"] == "machine code"
    assert before[1] == after[1]
    npt.assert_array_equal(before[2], after[2])
    first = cadiff.compile(rosenbrock, native=True)
    assert called(first.c_function("value_and_grad", x), x)[1] == after[1]
    assert first.stats()["native"] == "machine code"


def test_what_is_refused() -> None:
    @cadiff.primitive
    def own(x: Any) -> Any:
        return x * 2.0

    own.defpartials(lambda ans, x: 2.0)
    with pytest.raises(ValueError, match="calls own, in Python: leave it out"):
        cadiff.compile(lambda x: own(x) + 1.0).c_function("value", 1.0)
    turning = cadiff.compile(lambda x, n: cadiff.fori_loop(0, n, lambda i, y: y * 0.5, x))
    assert [turning(8.0, n) for n in (2, 3)] == [2.0, 1.0]
    with pytest.raises(ValueError, match="calls a loop, in Python: leave it out"):
        turning.c_function("value", 8.0, 2)
    program = cadiff.compile(lambda x, k: x**k)
    with pytest.raises(ValueError, match="call c_function with the arguments"):
        program.c_function("value")
    with pytest.raises(ValueError, match="stands before the arguments of f"):
        program.c_function(np.ones(2))  # type: ignore[arg-type]
    assert [program(2.0, k) for k in (2, 2)] == [4.0, 4.0]
    with pytest.raises(ValueError, match="takes integers: call c_function with the arguments"):
        program.c_function("value")
    function = program.c_function("value", 2.0, 3)  # a constant
    assert called(function, [2.0])[:2] == (0, 8.0)
    assert repr(function) == "<cadiff.CFunction of f: n = 1, n_values = 1, n_gradient = 0>"
    with pytest.raises(TypeError, match="pickle the program"):
        pickle.dumps(function)


def test_scipy_calls_it() -> None:
    integrate = pytest.importorskip("scipy.integrate")
    ndimage = pytest.importorskip("scipy.ndimage")
    program = cadiff.compile(lambda x, a: cadiff.exp(-a * x) if x < 5.0 else x)
    function = program.c_function("value", 1.0, 2.0)
    found, _ = integrate.quad(function.low_level_callable(), 0.0, 1.0, args=(2.0,))
    assert found == pytest.approx((1.0 - np.exp(-2.0)) / 2.0, rel=1e-14)
    with pytest.warns(integrate.IntegrationWarning):  # of another branch
        found, _ = integrate.quad(function.low_level_callable(), 6.0, 7.0, args=(2.0,))
    assert np.isnan(found)

    variance = cadiff.compile(lambda x: cnp.var(x) if x[0] < 50.0 else x[1])
    low_level = variance.c_function("value", np.ones(9)).low_level_callable(
        "int (double *, intptr_t, double *, void *)"
    )
    image = np.random.default_rng(0).normal(size=(9, 8))
    npt.assert_allclose(
        ndimage.generic_filter(image, low_level, size=3),
        ndimage.generic_filter(image, np.var, size=3),
        rtol=1e-13,
    )
    with pytest.raises(RuntimeError):
        ndimage.generic_filter(image + 99.0, low_level, size=3)
    with pytest.raises(ValueError, match="signature is one of"):
        function.low_level_callable("double (double)")
    with pytest.raises(ValueError, match="SciPy takes one value, but f returns 2"):
        cadiff.compile(lambda x: (x, x)).c_function("value", 1.0).low_level_callable()


def test_cffi_calls_it() -> None:
    cffi = pytest.importorskip("cffi")
    function = cadiff.compile(rosenbrock).c_function("value_and_grad", [1.0, 2.0])
    ffi, call, data = cffi.FFI(), function.cffi, function.data
    alive = weakref.ref(function)
    del function
    gc.collect()
    x, value, gradient = (ffi.new("double[]", numbers) for numbers in ([1.0, 2.0], [0.0], 2))
    assert call(2, x, value, gradient, ffi.cast("void *", data)) == 0
    assert (value[0], list(gradient)) == (100.0, [-400.0, 200.0])
    del call
    gc.collect()
    assert alive() is None


def test_numba_calls_it() -> None:
    numba = pytest.importorskip("numba")
    program = cadiff.compile(rosenbrock)
    call = program.c_function("value_and_grad", np.ones(3)).numba()
    gc.collect()

    @numba.njit
    def descend(x: Any, rate: float, steps: int) -> Any:
        value, gradient = np.empty(1), np.empty(x.size)
        for _ in range(steps):
            if call(x, value, gradient) != 0:
                return np.nan
            x -= rate * gradient
        return value[0]

    x, y = np.zeros(3), np.zeros(3)
    last = descend(x, 1e-3, 50)
    for _ in range(50):
        value, gradient = program.value_and_grad(y)
        y -= 1e-3 * gradient
    npt.assert_allclose(x, y, rtol=1e-12)
    assert last == pytest.approx(value, rel=1e-12)
    with pytest.raises(ValueError, match=r"are arrays of 3, 1 and 3 numbers, not of.*2, 1, 2"):
        descend(np.zeros(2), 1e-3, 1)
    with pytest.raises(TypeError):
        call(np.zeros(3, np.float32), np.zeros(1), np.zeros(3))
