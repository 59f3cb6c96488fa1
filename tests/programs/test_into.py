"""Results of programs that are written into the user's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as cnp

SIZES = [0, 1, 3, 600, 40_000]


def both(x: Any) -> Any:
    return cnp.sin(x) * 2.0, [cnp.sum(x) * np.ones(2), x[::-1] + 1.0]


@pytest.mark.parametrize("size", SIZES)
def test_results_are_those_of_a_call(size: int) -> None:
    program, plain = cadiff.compile(both), cadiff.compile(both)
    out = np.full(size, 7.0), [np.full(2, 7.0), np.full(size, 7.0)]
    for k in range(4):
        x = np.linspace(0.1, 1.0 + k, size)
        assert program.into(x, out=out) is out
        wanted = plain(x)
        npt.assert_array_equal(out[0], wanted[0])
        npt.assert_array_equal(out[1][0], wanted[1][0])
        npt.assert_array_equal(out[1][1], wanted[1][1])


@pytest.mark.parametrize("size", SIZES)
def test_arguments_may_be_written_to(size: int) -> None:
    program = cadiff.compile(lambda x: x[::-1] * 2.0 + cnp.sin(x))
    for start in (0, size // 2, size, size + 1):  # the first one ends where the argument begins
        for _ in range(3):
            memory = np.linspace(0.5, 1.0, 2 * size + 1)
            x, out = memory[size : 2 * size], memory[start:][:size]
            wanted = x[::-1] * 2.0 + np.sin(x)
            npt.assert_allclose(program.into(x, out=out), wanted, rtol=1e-14)


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((6, 4))[::2, :],
        np.asfortranarray(np.zeros((3, 4))),
        np.zeros((3, 4), ">f8"),
        np.zeros((3, 4), np.float32),
        np.zeros((3, 4), complex),
        np.zeros((3, 4)).view(type("Own", (np.ndarray,), {})),
    ],
)
def test_arrays_of_any_layout_and_wider_dtype(out: Any) -> None:
    jacobian = cadiff.compile(cadiff.jacobian(lambda x: cnp.cos(x[:3] * x[3])))
    for k in range(3):
        x = np.arange(4.0) + k
        npt.assert_allclose(jacobian.into(x, out=out), jacobian(x), rtol=1e-6, atol=1e-7)


def test_numbers_and_dicts() -> None:
    program = cadiff.compile(lambda x, k: {"a": x * k, "b": cnp.sum(x)})
    out = {"a": np.zeros(2), "b": np.zeros(())}
    for k in (2, 3, 3):
        program.into(np.ones(2), k, out=out)
        assert (out["a"].tolist(), float(out["b"])) == ([float(k)] * 2, 2.0)


def test_branches_and_eager_calls() -> None:
    program = cadiff.compile(lambda x: x * 2.0 if x[0] > 0.0 else -x, max_traces=1)
    out = np.zeros(2)
    for k in (1.0, -1.0, 2.0, -2.0):
        x = np.array([k, 1.0])
        npt.assert_array_equal(program.into(x, out=out), x * 2.0 if k > 0.0 else -x)
    with cadiff.nan_check():
        npt.assert_array_equal(program.into(np.ones(2), out=out), [2.0, 2.0])


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "shape": (np.zeros(3), ValueError, r"out is an array of shape \(3,\).* has shape \(2,\)"),
    "dtype": (np.zeros(2, int), ValueError, "dtype int64"),
    "container": ([np.zeros(2)], TypeError, "out is an array, or .* not a list"),
    "number": (1.0, TypeError, "not a float"),
    "nothing": (None, TypeError, "not a NoneType"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arrays(name: str) -> None:
    out, kind, words = WRONG[name]
    program = cadiff.compile(lambda x: x * 2.0)
    for _ in range(3):
        with pytest.raises(kind, match=words):
            program.into(np.ones(2), out=out)


def test_nothing_is_written_where_one_array_does_not_fit() -> None:
    program = cadiff.compile(both)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    for bad in (fixed, np.zeros(4)):
        out = np.zeros(3), [np.zeros(2), bad]
        for _ in range(3):
            with pytest.raises(ValueError, match=r"out\[1\]\[1\] is an array"):
                program.into(np.ones(3), out=out)
        assert not out[0].any()


def test_an_error_of_f_comes_out() -> None:
    def f(x: Any) -> Any:
        if x[0] < 0.0:
            raise ArithmeticError("below")
        return x + 1.0

    program, out = cadiff.compile(f), np.zeros(1)
    npt.assert_array_equal(program.into(np.zeros(1), out=out), [1.0])
    with pytest.raises(ArithmeticError, match="below"):
        program.into(-np.ones(1), out=out)
