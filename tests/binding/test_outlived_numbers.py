"""Numbers that have outlived their computation: values are left, to be read as plain ones."""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import binding

REAL = np.array([1.0, 2.0, 3.0])
COMPLEX = np.array([1.0 + 2.0j, 2.0, 3.0 - 1.0j])


def kept_of(call: Callable[[Any], Any]) -> Any:
    """What f was given, after its computation and another one are over."""
    kept: list[Any] = []

    def f(v: Any) -> Any:
        kept.append(v)
        return (v * v.conj()).real.sum()

    call(f)
    call(f)
    return kept[0]


ORIGINS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "grad": (lambda f: cadiff.grad(f)(REAL), REAL),
    "jvp": (lambda f: cadiff.jvp(f, (REAL,), (REAL,)), REAL),
    "jacfwd": (lambda f: cadiff.jacfwd(f)(REAL), REAL),
    "hessian": (lambda f: cadiff.hessian(f)(REAL), REAL),
    "compile": (lambda f: cadiff.compile(f).grad(REAL), REAL),
    "complex": (lambda f: cadiff.grad(f)(COMPLEX), COMPLEX),
    "complex, forward": (lambda f: cadiff.jvp(f, (COMPLEX,), (COMPLEX,)), COMPLEX),
}

# Each is the same of a number that is left and of the plain array.
READINGS: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "dtype": lambda v: np.asarray(v, np.complex64),
    "number": lambda v: np.asarray(v[0]),
    "element": lambda v: complex(v[1]),
    "elements": lambda v: [complex(x) for x in v],
    "array of elements": lambda v: np.array(list(v)),
    "array of arrays": lambda v: np.array([v, v]),
    "slice": lambda v: np.asarray(v[1:]),
    "mask": lambda v: np.asarray(v[np.array([True, False, True])]),
    "turned": lambda v: np.asarray(v.T),
    "reshaped": lambda v: np.asarray(v.reshape(1, 3)),
    "copied": lambda v: np.asarray(copy.deepcopy(v)),
    "copied number": lambda v: complex(copy.copy(v[0])),
    "copied by NumPy": lambda v: (np.asarray(np.copy(v)), complex(np.copy(v[0]))),
    "pickled": lambda v: pickle.loads(pickle.dumps(v)),
    "pickled number": lambda v: complex(pickle.loads(pickle.dumps(v[1]))),
    "text": str,
    "shape": lambda v: (v.shape, v.ndim, v.size, len(v)),
    "part": lambda v: np.asarray(v[:2][::-1]),
    "item": lambda v: np.asarray(v.item(1)),
    "list": lambda v: np.asarray(v.tolist()),
    "format": lambda v: f"{v[1]:.3f}",
    "truth": lambda v: (bool(v[0]), bool(v[:1])),
    "equal": lambda v: (v == 2.0).tolist(),
    "compared": lambda v: np.array_equal(v, v),
    "tested": lambda v: np.testing.assert_allclose(v, np.array(v), atol=1e-12),
    "written": lambda v: np.copyto(np.zeros(3, complex), v),
    "key": lambda v: hash(tuple(np.asarray(v))),
}


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("origin", ORIGINS)
def test_what_is_left_is_read_as_the_value(origin: str, read: Callable[[Any], Any]) -> None:
    call, value = ORIGINS[origin]
    np.testing.assert_equal(read(kept_of(call)), read(value.copy()))


@pytest.mark.parametrize("origin", ["grad", "jvp", "jacfwd"])
def test_real_numbers_become_floats_and_are_ordered(origin: str) -> None:
    v = kept_of(ORIGINS[origin][0])
    assert [float(x) for x in v] == [1.0, 2.0, 3.0]
    assert (int(v[1]), math.sqrt(v[0]), sorted(v)[0] == 1.0, min(v) < 2.0) == (2, 1.0, True, True)
    assert np.asarray(v[0]).dtype == np.float64
    with pytest.raises(TypeError, match="hash"):
        hash(v[0])


def test_numbers_of_an_outer_derivative_are_alive_in_an_inner_one() -> None:
    def outer(x: Any) -> Any:
        kept = []

        def inner(y: Any) -> Any:
            kept.append(x * y)
            return y * y

        slope = cadiff.jvp(inner, (2.0,), (1.0,))[1]
        with pytest.raises(TypeError):
            float(kept[0])  # which carries the derivative by x
        return x * slope

    for transform in (cadiff.grad, cadiff.jacfwd):
        assert transform(outer)(3.0) == 4.0


def test_numbers_are_alive_in_other_threads_and_while_they_are_put_aside() -> None:
    then = binding.ForwardThen(binding.running_forward())
    with binding.Forward() as tag, ThreadPoolExecutor(1) as pool:
        number = binding.make_dual(2.0, 1.0, tag)
        with pytest.raises(TypeError):
            pool.submit(float, number).result()
        with then, pytest.raises(TypeError):
            float(number)
    assert float(number) == 2.0


def test_arithmetic_with_a_number_of_the_tape_raises() -> None:
    v = kept_of(ORIGINS["grad"][0])
    for compute in (lambda: v[0] + 1.0, lambda: 2.0 * v, lambda: np.sin(v[1:]), lambda: v.T @ v):
        with pytest.raises(cadiff.StaleVarError, match=r"cadiff\.value"):
            compute()


COMPUTATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, x: (a + x).sum(),
    "sum, before": lambda a, x: (x + (a + 1.0)).sum(),
    "single": lambda a, x: a[0] * x[0],
    "function": lambda a, x: np.arctan2(a, x).sum(),
    "choice": lambda a, x: np.where(x > 0.0, a, x).sum(),
    "product": lambda a, x: a @ x,
    "einsum": lambda a, x: np.einsum("i,i->", x, a),
    "solution": lambda a, x: np.linalg.solve(np.outer(a, a) + np.eye(3), x).sum(),
    "joined": lambda a, x: np.concatenate([x, a]).sum(),
    "list": lambda a, x: cadiff.array([x[0], a[0]]).sum(),
    "objects": lambda a, x: np.array([x[0], a[0]]).sum(),
    "complex": lambda a, x: ((1j * a) * x).imag.sum(),
}


@pytest.mark.parametrize("transform", [cadiff.grad, cadiff.jacfwd, cadiff.jacrev, cadiff.hessian])
@pytest.mark.parametrize("compute", COMPUTATIONS.values(), ids=COMPUTATIONS)
def test_arithmetic_of_a_dual_that_is_left_beside_live_numbers_raises(
    compute: Callable[[Any, Any], Any], transform: Any
) -> None:
    kept = kept_of(ORIGINS["jvp"][0])
    with pytest.raises(cadiff.StaleVarError, match=r"cadiff\.value"):
        transform(lambda x: compute(kept, x))(REAL)
    assert (kept[0] * 2.0 == 2.0, (kept * kept).sum() == 14.0) == (True, True)
    np.testing.assert_array_equal(
        cadiff.grad(lambda x: compute(cadiff.value(kept), x))(REAL),
        cadiff.grad(lambda x: compute(REAL, x))(REAL),
    )


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("save", [np.save, np.savez, np.savetxt])
def test_what_is_left_is_saved_as_the_value(origin: str, save: Callable[..., Any]) -> None:
    call, value = ORIGINS[origin]
    written = [io.BytesIO(), io.BytesIO()]
    save(written[0], kept_of(call))
    save(written[1], value)
    assert written[0].getvalue() == written[1].getvalue()
