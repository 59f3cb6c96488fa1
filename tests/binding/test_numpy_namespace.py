"""`cadiff.numpy` in place of NumPy: conventions, creation and assignment, refusals, plain numbers.

The functions themselves are tested case by case in `test_numpy_functions`.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import operator
import pickle
import re
import weakref
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy
import pytest
import scipy

import cadiff
import cadiff.numpy as np
import cadiff.scipy.linalg
from cadiff import Dual, Var
from cadiff.operations import dispatch as _dispatch
from cadiff.scipy import special

from ..helpers.names import name_of
from ..helpers.processes import isolated

INF = numpy.inf
NAN = numpy.nan


def forward_gradient(f: Callable[[Any], Any], x: Any) -> Any:
    x = numpy.asarray(x, dtype=float)
    unit = numpy.eye(x.size).reshape((x.size, *x.shape))
    columns = [cadiff.jvp(f, (x,), (t,))[1] for t in unit]
    return numpy.array([numpy.asarray(c) for c in columns]).reshape(x.shape)


def both_gradients(f: Callable[[Any], Any], x: Any) -> list[Any]:
    x = numpy.asarray(x, dtype=float)
    return [cadiff.grad(f)(x), forward_gradient(f, x)]


def hessian(f: Callable[[Any], Any], x: Any) -> Any:
    x = numpy.asarray(x, dtype=float)
    return numpy.array([cadiff.jvp(cadiff.grad(f), (x,), (t,))[1] for t in numpy.eye(x.size)])


# --- conventions ---------------------------------------------------------------------------------


def _raised(ufunc: Any, x: Any) -> Any:
    y = x[:1].copy()
    ufunc.at(y, [0] * (len(x) - 1), x[1:])
    return y[0]


CONVENTIONS: list[tuple[str, Callable[[Any], Any], Any, Any]] = [
    ("max with initial", lambda x: np.max(x, initial=2.0), [1.0, 2.0], [0.0, 0.5]),
    ("nanmax", lambda x: np.nanmax(x), [1.0, NAN, 1.0], [0.5, 0.0, 0.5]),
    ("ptp of equals", lambda x: np.ptp(x), [2.0, 2.0], [0.0, 0.0]),
    ("accumulate", lambda x: np.maximum.accumulate(x)[3], [1.0, 3.0, 3.0, 2.0], [0, 0.5, 0.5, 0]),
    ("at", lambda x: _raised(np.maximum, x), [3.0, 3.0, 1.0, 3.0], [1 / 3, 1 / 3, 0, 1 / 3]),
    ("at, nan", lambda x: _raised(np.fmin, x), [1.0, NAN, 1.0, 2.0], [0.5, 0, 0.5, 0]),
    ("accumulate, three", lambda x: np.minimum.accumulate(x)[-1], [1.0, 1.0, 1.0], [1 / 3] * 3),
    ("std of equals", lambda x: np.std(x), [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    ("median, even", lambda x: np.median(x), [4.0, 1.0, 3.0, 2.0], [0.0, 0.0, 0.5, 0.5]),
    ("median, odd", lambda x: np.median(x), [4.0, 1.0, 3.0], [0.0, 0.0, 1.0]),
    ("quantile", lambda x: np.quantile(x, 0.25), [4.0, 1.0, 3.0], [0.0, 0.5, 0.5]),
    ("nan_to_num", lambda x: np.sum(np.nan_to_num(x)), [NAN, INF, 1.0], [0.0, 0.0, 1.0]),
    ("nansum", lambda x: np.nansum(x), [NAN, 1.0], [0.0, 1.0]),
    ("interp", lambda x: np.sum(np.interp(x, [0, 1, 2], [0, 1, 4])), [-1, 0, 1, 2], [0, 1, 3, 3]),
    ("interp, jump", lambda x: np.sum(np.interp(x, [0, 1, 1], [0, 2, 7])), [0.5, 1, 2], [2, 2, 0]),
    ("sinc", lambda x: np.sum(np.sinc(x)), [0.0], [0.0]),
    ("round", lambda x: np.sum(np.round(x, 1)), [0.31, 2.0], [0.0, 0.0]),
    ("unique", lambda x: np.sum(np.unique(x)), [2.0, 1.0, 2.0], [1.0, 1.0, 0.0]),
    ("trapezoid", lambda x: np.trapezoid(x), [1.0, 5.0, 2.0], [0.5, 1.0, 0.5]),
]  # fmt: skip


@pytest.mark.parametrize("what", CONVENTIONS, ids=lambda what: what[0])
def test_conventions(what: tuple[str, Callable[[Any], Any], Any, Any]) -> None:
    _, f, x, wanted = what
    for gradient in both_gradients(f, x):
        numpy.testing.assert_allclose(gradient, wanted, rtol=1e-15, atol=0.0)


def test_products_to_second_order_at_zeros() -> None:
    h = hessian(np.prod, [0.0, 2.0, 3.0])
    numpy.testing.assert_array_equal(h, [[0.0, 3.0, 2.0], [3.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    h = hessian(np.prod, [0.0, 2.0, 0.0])
    numpy.testing.assert_array_equal(h, [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    h = hessian(lambda x: np.sum(np.cumprod(x)), [0.0, 1.0, 2.0])
    numpy.testing.assert_array_equal(h, [[0.0, 3.0, 1.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def along(f: Callable[[Any], Any], direction: Any) -> Callable[[Any], Any]:
    return lambda x: cadiff.jvp(f, (x,), (direction,))[1]


@pytest.mark.parametrize(
    ("f", "wanted"), [(lambda x: np.prod(x), 2.0), (lambda x: np.sum(np.cumprod(x)), 3.0)]
)
def test_products_to_third_order_at_zeros(f: Callable[[Any], Any], wanted: float) -> None:
    x = numpy.array([0.0, 0.0, 0.0, 2.0])
    for directions in permutations(numpy.eye(4)[:3]):
        first, second, third = directions
        assert along(along(along(f, first), second), third)(x) == wanted
        gradient = (wanted * third).tolist()
        assert along(along(cadiff.grad(f), first), second)(x).tolist() == gradient
        assert cadiff.grad(along(along(f, first), second))(x).tolist() == gradient


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, about the same
@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "median"])
@pytest.mark.parametrize("x", [[], [1.0], [NAN], [1.0, 2.0], [NAN, NAN, 3.0], [INF, 1.0]])
@pytest.mark.parametrize("ddof", [0, 1, 3])
def test_too_few_elements_are_as_in_numpy(name: str, x: list[float], ddof: int) -> None:
    options = {"ddof": ddof} if name.endswith(("var", "std")) else {}
    wanted = getattr(numpy, name)(numpy.array(x), **options)
    for make in (Var, Dual):
        got = getattr(np, name)(make(numpy.array(x)), **options)
        numpy.testing.assert_equal(cadiff.value(got), wanted)


@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_extremes_of_nothing_but_nan_are_nan(name: str) -> None:
    got = getattr(np, name)(Var([[NAN, NAN], [NAN, 1.0]]), axis=1)
    numpy.testing.assert_equal(cadiff.value(got), [NAN, 1.0])
    with pytest.raises(ValueError, match="zero-size array"):
        getattr(np, name)(Var(numpy.zeros(0)))


def test_large_products_overflow_no_earlier_than_numpy() -> None:
    x = numpy.array([1e200, 1e-200, 1e200, 1e-200])
    assert cadiff.value(np.prod(Var(x))) == 1.0
    numpy.testing.assert_allclose(cadiff.grad(np.prod)(x), 1.0 / x, rtol=1e-14)
    assert cadiff.value(np.median(Var([1e308, 1.5e308, 1.7e308]))) == 1.5e308


@pytest.mark.parametrize("shape", [(1500,), (100, 3), (100, 40)])
@pytest.mark.parametrize("zeros", [0, 1, 5])
def test_long_running_products(shape: tuple[int, ...], zeros: int) -> None:
    rng = numpy.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, shape)
    x[rng.integers(0, len(x), zeros)] = 0.0
    g, t = rng.normal(size=shape), rng.normal(size=shape)
    gradient = cadiff.grad(lambda x: np.sum(g * np.cumprod(x, axis=0)))(x)
    tangent = cadiff.jvp(lambda x: np.cumprod(x, axis=0), (x,), (t,))[1]
    y = numpy.concatenate([numpy.ones((1, *shape[1:])), numpy.cumprod(x, axis=0)])
    slope = numpy.zeros(shape[1:])
    for k in range(len(x)):
        slope = slope * x[k] + y[k] * t[k]
        numpy.testing.assert_allclose(tangent[k], slope, rtol=1e-10, atol=1e-13 * abs(y).max())
    assert numpy.sum(gradient * t) == pytest.approx(numpy.sum(g * tangent), rel=1e-10)


@pytest.mark.parametrize("factor", [1e10, 1e-10])
def test_long_running_products_of_any_size(factor: float) -> None:
    """Blocks of factors would overflow, or underflow, where the products themselves do not."""
    x = numpy.tile([factor, 1.0 / factor], 600)
    t = numpy.ones(x.size)
    tangent = cadiff.jvp(np.cumprod, (x,), (t,))[1]
    wanted = numpy.cumprod(x) * numpy.cumsum(1.0 / x)
    numpy.testing.assert_allclose(tangent, wanted, rtol=1e-12)
    x = numpy.full(1200, factor)
    x[0] = 0.0
    assert cadiff.jvp(np.cumprod, (x,), (t,))[1][5] == pytest.approx(factor**5)
    assert cadiff.jvp(np.cumprod, (x,), (0.0 * t,))[1].tolist() == [0.0] * 1200


# --- creation and assignment ---------------------------------------------------------------------


def test_filled_with_an_array_of_more_axes() -> None:
    row = Var([[[1.0, 2.0]]])
    for made in (np.full((3, 2), row), np.full_like(Var(numpy.zeros((3, 2))), row)):
        numpy.testing.assert_array_equal(cadiff.value(made), [[1.0, 2.0]] * 3, strict=True)
    for shape, many in (((2,), Var([[1.0, 2.0], [3.0, 4.0]])), ((3,), row)):
        with pytest.raises(ValueError):
            np.full(shape, many)


# --- plain numbers, and the rest of NumPy --------------------------------------------------------


def test_every_name_of_numpy_is_there() -> None:
    for name in numpy.__all__:
        assert hasattr(np, name), name
    assert set(dir(numpy)) <= set(dir(np))
    assert np.pi is numpy.pi
    assert np.random is numpy.random
    assert np.float64 is numpy.float64
    with pytest.raises(AttributeError):
        np.no_such_name


def test_star_import() -> None:
    names: dict[str, Any] = {}
    exec("from cadiff.numpy import *", names)
    assert names["cumsum"] is np.cumsum


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("sum", {"axis": 0}),
        ("median", {"axis": 0}),
        ("percentile", {"q": 50, "axis": 0}),
        ("cumsum", {"axis": 1}),
        ("take", {"indices": [1, 0], "axis": 0}),
        ("clip", {"a_min": 0.0, "a_max": 3.0}),
        ("trace", {}),
    ],
)
def test_constants_are_computed_into_arrays_for_numbers(name: str, more: dict[str, Any]) -> None:
    x = numpy.array([[10.0, 7.0, 4.0], [3.0, 2.0, 1.0]])
    want = getattr(numpy, name)(x, **more)

    def f(t: Any) -> Any:
        out = np.zeros(numpy.shape(want))
        assert getattr(np, name)(x, out=out, **more) is out
        numpy.testing.assert_array_equal(cadiff.value(out), want)
        with pytest.raises(ValueError, match="out= has the shape"):
            getattr(np, name)(x, out=np.zeros((7, 2)), **more)
        return t * np.sum(out)

    assert cadiff.grad(f)(1.0) == cadiff.derivative(f, 1.0) == pytest.approx(want.sum())


@pytest.mark.skipif("ndmax" not in (numpy.array.__doc__ or ""), reason="it came with NumPy 2.4")
def test_lists_have_at_most_so_many_axes() -> None:
    def f(t: Any) -> Any:
        assert np.array([[t, 1.0]], ndmax=2).shape == (1, 2)
        with pytest.raises(ValueError, match="more than ndmax=1"):
            np.array([[t, 1.0]], ndmax=1)
        return t

    assert cadiff.grad(f)(1.0) == 1.0


def test_ufuncs_of_plain_numbers_are_those_of_numpy() -> None:
    x = numpy.array([0.5, 1.5, -1.0])
    out = numpy.empty(3)
    assert np.sin(x, out=out) is out
    numpy.testing.assert_array_equal(out, numpy.sin(x))
    assert np.sin(x, out).sum() == numpy.sin(x).sum()
    got = np.sqrt(x, where=x > 0, out=numpy.zeros(3))
    numpy.testing.assert_array_equal(got, numpy.sqrt(x, where=x > 0, out=numpy.zeros(3)))
    assert np.add([1, 2], 3, dtype=float).dtype == float
    assert type(np.sin(1.0)) is numpy.float64
    assert np.exp([1, 2]).dtype == float
    assert np.add.reduce(x) == x.sum()
    assert np.multiply.outer(x, x).shape == (3, 3)
    assert np.logical_and.reduce([True, False]) == numpy.False_
    assert np.maximum.identity is None
    assert np.abs is np.absolute
    assert np.sin.__name__ == "sin"
    assert np.add.nin == 2
    with pytest.raises(TypeError, match="sin"):
        np.sin(x, x, x, x)
    with pytest.raises(TypeError, match="add"):
        np.add(x)


PLAIN_CALLS = [
    lambda np, x: np.argmax(x),
    lambda np, x: np.argmin(x, axis=0),
    lambda np, x: np.argsort(x),
    lambda np, x: np.shape(x),
    lambda np, x: np.ndim(x),
    lambda np, x: np.size(x),
    lambda np, x: np.size(x, 1),
    lambda np, x: np.any(x > 0),
    lambda np, x: np.all(x),
    lambda np, x: np.allclose(x, x + 1e-12),
    lambda np, x: np.isclose(x, 0.5),
    lambda np, x: np.array_equal(x, x),
    lambda np, x: np.count_nonzero(x),
    lambda np, x: np.flatnonzero(x > 0),
    lambda np, x: np.nonzero(x),
    lambda np, x: np.where(x > 0),
    lambda np, x: np.searchsorted([0.0, 0.7], x),
    lambda np, x: np.digitize(x, [0.0, 0.7]),
    lambda np, x: np.isrealobj(x),
    lambda np, x: np.iscomplexobj(x),
    lambda np, x: np.result_type(x, numpy.float32),
    lambda np, x: np.isin(x, [0.5, 2.0]),
    lambda np, x: np.triu_indices_from(x),
    lambda np, x: np.nanargmax(x),
    lambda np, x: np.array2string(x),
    lambda np, x: np.signbit(x),
    lambda np, x: np.less(x, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("call", PLAIN_CALLS)
@pytest.mark.parametrize("make", [Var, Dual, numpy.array], ids=["Var", "Dual", "plain"])
@pytest.mark.parametrize("module", [np, numpy], ids=["cadiff.numpy", "numpy"])
def test_questions_are_answered_from_values(call: Any, make: Any, module: Any) -> None:
    x = numpy.array([[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]])
    got, wanted = call(module, make(x)), call(numpy, x)
    assert type(got) is type(wanted)
    numpy.testing.assert_equal(got, wanted)


# --- refusals ------------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda v: np.sum(v, out=numpy.empty(())), "numpy.sum .*out=.*zeros"),
    (lambda v: np.sum(v, dtype=int), "numpy.sum .*dtype=int64.*floating"),
    (lambda v: np.mean(v, dtype=complex), "numpy.mean .*dtype=complex128"),
    (lambda v: np.std(v, dtype=int), "numpy.std .*dtype=int64"),
    (lambda v: np.clip(v, 0, 1, dtype=int), "numpy.clip .*dtype=int64"),
    (lambda v: np.cumsum(v, dtype=int), "numpy.cumsum .*dtype"),
    (lambda v: np.array(v, dtype=int), "numpy.array .*dtype"),
    (lambda v: np.full(3, v[0], dtype=int), "numpy.full .*dtype"),
    (lambda v: np.concatenate([v, v], out=numpy.empty(6)), "numpy.concatenate .*out="),
    (lambda v: np.stack([v, v], dtype=int), "numpy.stack .*dtype"),
    (lambda v: np.einsum("i->", v, out=numpy.empty(())), "numpy.einsum .*out="),
    (lambda v: np.sort(v, order="x"), "numpy.sort .*order="),
    (lambda v: np.copyto(numpy.zeros(3), v), "numpy.copyto .*zeros"),
    (lambda v: np.put(numpy.zeros(3), [0], v[0]), "numpy.put .*zeros"),
    (lambda v: np.bincount(v), "numpy.bincount .*whole numbers"),
    (lambda v: np.matmul(v, v, axes=[(0,), (0,), ()]), "numpy.matmul"),
    (lambda v: np.fft.fft(v, out=numpy.empty(3, complex)), "numpy.fft.fft .*out="),
    (lambda v: np.fft.rfft(v * 1j), "numpy.fft.rfft .*z.real"),
    (lambda v: np.quantile([1.0, 2.0], 0.5, weights=v[:2]), "numpy.quantile .*weights"),
    (lambda v: np.vectorize(lambda a: a, signature="(n)->(n)")(v), "vectorize .*signature="),
]


@pytest.mark.parametrize("differentiate", [cadiff.jacobian, cadiff.jacfwd])
def test_vectorize_with_several_results(differentiate: Callable[..., Any]) -> None:
    def f(v: Any) -> Any:
        squares, products = np.vectorize(lambda a, b: (a * a, a * b))(v, [1.0, 2.0, 3.0])
        return squares + 10.0 * products

    x = numpy.array([0.5, 1.5, 2.5])
    want = numpy.diag(2.0 * x + 10.0 * numpy.array([1.0, 2.0, 3.0]))
    numpy.testing.assert_allclose(differentiate(f)(x), want, rtol=1e-15)


@pytest.mark.parametrize("differentiate", [cadiff.grad, cadiff.jacfwd])
def test_arange_takes_values_of_constants_and_no_others(
    differentiate: Callable[..., Any],
) -> None:
    def counted(x: Any) -> Any:
        place = np.copy(2.0)
        places = np.arange(place, place + 3.0)
        place += 7.0  # which is no element
        return x * np.sum(places)

    assert differentiate(counted)(1.5) == 9.0
    with pytest.raises(cadiff.MissingRuleError, match="arange counts"):
        differentiate(lambda x: np.sum(np.arange(x, x + 3.0)))(1.5)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_degrees_of_freedom_have_one_name_in_a_call(name: str) -> None:
    with pytest.raises(ValueError, match="ddof and correction"):
        getattr(np, name)(Var([1.0, 2.0, 4.0]), ddof=1, correction=1)


@pytest.mark.parametrize(("call", "message"), REFUSED)
@pytest.mark.parametrize("make", [Var, Dual])
def test_refusals_say_what_to_write(
    call: Callable[[Any], Any], message: str, make: Callable[[Any], Any]
) -> None:
    with pytest.raises(TypeError, match=message):
        call(make([1.0, 2.0, 3.0]))


UNSUPPORTED = sorted(
    name
    for name, original in vars(numpy).items()
    if hasattr(original, "_implementation")
    and not name.startswith("_")
    and original not in _dispatch.FUNCTIONS
)


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_drops_no_derivative(name: str) -> None:
    for argument in (Var([1.0, 2.0]), Dual([1.0, 2.0]), [Var(1.0), 2.0]):
        with pytest.raises(TypeError, match=f"numpy.{name} "):
            getattr(np, name)(argument)


# --- documentation -------------------------------------------------------------------------------


@pytest.mark.slow  # it imports all modules
def test_the_list_of_functions_is_up_to_date() -> None:
    """Up to functions that another version of NumPy has. Here others may have been asked for."""
    path = Path(__file__).parents[2] / "docs" / "generate_functions.py"
    code = f"import runpy; print(runpy.run_path({str(path)!r})['page']())"
    generated = isolated(code).splitlines()
    written = path.with_name("functions.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in generated if line.startswith("| `")]
    new = set(rows) - set(written)
    if re.match(r"1\.1[56]\.", scipy.__version__):  # which have other functions by other names
        new = {line for line in new if "| As `scipy." not in line}
    assert not new, "run python docs/generate_functions.py"
    names = {line: line.split("`")[1] for line in written if line.startswith("| `")}
    known = {*dir(numpy), *dir(numpy.linalg)} - {"expand_dims", "permute_dims", "swapaxes"}
    assert not [line for line, name in names.items() if line not in rows and name in known]


def test_the_type_of_arrays_equals_ndarray() -> None:
    kind = type(numpy.zeros(2))
    assert kind == np.ndarray and np.ndarray == kind and {np.ndarray: 1}[kind] == 1
    assert np.ndarray not in (list, float)


# --- attributes of ndarrays ----------------------------------------------------------------------

ABSENT = [
    "byteswap", "ctypes", "data", "dump", "dumps", "getfield", "resize", "setfield",
    "tobytes", "tofile",
]  # fmt: skip


@pytest.mark.parametrize("make", [Var, Dual])
@pytest.mark.parametrize("name", ABSENT)
def test_what_an_ndarray_has_and_numbers_do_not(make: Callable[[Any], Any], name: str) -> None:
    x = make(numpy.ones((2, 3)))
    assert not hasattr(x, name)
    with pytest.raises(AttributeError, match=f"numbers with derivatives have no {name}: "):
        getattr(x, name)


@pytest.mark.parametrize("make", [Var, Dual])
def test_every_name_of_an_ndarray_is_known(make: Callable[[Any], Any]) -> None:
    public = {name for name in dir(numpy.ndarray) if not name.startswith("_")}
    assert public <= set(dir(make(numpy.ones(3))))


@pytest.mark.parametrize("make", [Var, Dual])
def test_attributes_of_the_values(make: Callable[[Any], Any]) -> None:
    plain = numpy.arange(6.0).reshape(2, 3)
    x = make(plain)
    assert (x.itemsize, x.nbytes, x.device) == (plain.itemsize, plain.nbytes, plain.device)
    numpy.testing.assert_array_equal(x.argpartition(1), plain.argpartition(1))
    assert 5.0 in x
    assert 6.0 not in x
    assert x[0] in x
    with pytest.raises(ValueError, match="at least 2-dimensional"):
        x[0].mT
    with pytest.raises(TypeError, match="Cannot cast"):
        x.choose([1.0, 2.0])


@pytest.mark.parametrize("make", [Var, Dual])
def test_flat_is_an_iterator(make: Callable[[Any], Any]) -> None:
    plain = numpy.arange(6.0).reshape(2, 3)
    x = make(plain)
    flat, wanted = x.flat, plain.flat
    assert cadiff.value(next(flat)) == next(wanted) == 0.0
    assert (flat.index, flat.coords, len(flat)) == (wanted.index, wanted.coords, len(wanted))
    assert cadiff.value(list(flat)) == list(wanted)
    assert list(flat) == []
    assert flat.base is x
    numpy.testing.assert_array_equal(cadiff.value(flat.copy()), wanted.copy())
    for op in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        numpy.testing.assert_array_equal(op(flat, 2.0), op(wanted, 2.0))
    assert cadiff.value(numpy.sum(flat)) == 15.0
    with pytest.raises(TypeError, match=r"cadiff\.value"):
        numpy.asarray(flat, dtype=float)


def test_flat_of_complex_numbers_is_assigned() -> None:
    def f(x: Any) -> Any:
        z = (1.0 + 2.0j) * x.reshape(2, 2)
        z.flat = x * 3.0j
        z.flat[1] = 1j * x[0] * x[1]
        return numpy.sum(z.imag + 7.0 * z.real)

    for gradient in (cadiff.grad(f), cadiff.compile(f).grad):
        numpy.testing.assert_allclose(gradient(numpy.arange(1.0, 5.0)), [5.0, 1.0, 3.0, 3.0])


def test_flat_refuses() -> None:
    x = Var(numpy.ones(3)) * 1.0
    with pytest.raises(ValueError, match="a single number"):
        x.flat[0] = [1.0, 2.0]
    with pytest.raises(IndexError):
        x.flat[3] = 1.0
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del x.flat
    with pytest.raises(ValueError, match="wants a single number"):
        x.fill([1.0, 2.0, 3.0])
    for number in (Var(1.0), Dual(1.0, 1.0)):
        with pytest.raises(TypeError, match="0-d"):
            number.flat = 2.0
        with pytest.raises(TypeError, match="0-d"):
            number.fill(2.0)
    with pytest.raises(TypeError, match=r"x\.copy\(\)"):
        Var([2.0, 1.0]).sort()


def test_a_product_in_place_writes_to_the_array() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        view = y
        y @= numpy.diag([2.0, 3.0])
        return np.sum(view)

    for gradient in both_gradients(f, numpy.ones((2, 2))):
        assert gradient.tolist() == [[2.0, 3.0], [2.0, 3.0]]
    for make in (Var, Dual):
        y = make(numpy.ones((2, 2))) * 1.0
        with pytest.raises(ValueError, match="write y = y @ z"):
            y @= numpy.ones(2)


# --- methods of ufuncs ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Var, Dual])
def test_methods_of_ufuncs_refuse_what_numpy_refuses(make: Callable[[Any], Any]) -> None:
    x = make(numpy.ones((2, 3)))
    for attempt, error in (
        (lambda: numpy.sin.reduce(x), ValueError),
        (lambda: numpy.matmul.reduce(x), RuntimeError),
        (lambda: numpy.subtract.reduce(x, axis=(0, 1)), ValueError),
        (lambda: numpy.power.reduce(x, where=[True, False, True]), ValueError),
        (lambda: numpy.hypot.reduce(x, axis=2), numpy.exceptions.AxisError),
        (lambda: numpy.maximum.reduce(x[:0]), ValueError),
        (lambda: numpy.add.reduceat(x, [2]), IndexError),
        (lambda: numpy.hypot.accumulate(x[0, 0]), TypeError),
        (lambda: numpy.hypot.reduce(x, dtype=complex), TypeError),
    ):
        with pytest.raises(error):
            attempt()  # type: ignore[no-untyped-call]
    with pytest.raises(TypeError, match="numbers with derivatives does not support dtype=int64"):
        numpy.add.accumulate(x, dtype=int)
    with pytest.raises(TypeError, match=r"cadiff\.zeros"):
        numpy.hypot.reduce(x, out=numpy.zeros(3))


@pytest.mark.parametrize("make", [Var, Dual])
def test_methods_of_ufuncs_without_derivatives(make: Callable[[Any], Any]) -> None:
    x = make([[1.0, 0.0], [2.0, 3.0]])
    assert numpy.logical_and.reduce(x).tolist() == [True, False]
    assert numpy.logical_or.accumulate(x, axis=1).tolist() == [[True, True], [True, True]]
    assert numpy.less.outer(x[0], x[1]).tolist() == [[True, True], [True, True]]


OURS = [np.sin, np.isnan, np.sum, np.hstack, np.all, np.linalg.solve]
OF_SCIPY = [cadiff.scipy.linalg.expm, special.erfinv, special.logsumexp]


@pytest.mark.parametrize("function", [*OURS, *OF_SCIPY], ids=name_of)
def test_functions_are_known_by_their_public_names(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    assert weakref.ref(function)() is function
    assert function.__module__.startswith("cadiff.")
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None and not isinstance(wrapped, numpy.ufunc):  # of which NumPy knows it
        assert inspect.signature(function).parameters


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    """By name; none of what NumPy compiles, and tells no signature."""
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:
        return {}


@pytest.mark.skipif(
    numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="it takes what it has deprecated"
)
def test_signatures_name_what_numpy_takes_by_position() -> None:
    names = [name for name in dir(np) if name[0] != "_" and callable(getattr(numpy, name, None))]
    missing, n_compared = {}, 0
    for name in names:
        theirs, ours = getattr(numpy, name), parameters(getattr(np, name))
        if getattr(np, name) is theirs or isinstance(theirs, (numpy.ufunc, type)):
            continue
        taken = parameters(theirs).values()
        named = {p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD}
        missing[name] = named - ours.keys()
        n_compared += bool(named)
    assert n_compared > 150
    assert not {name: lacking for name, lacking in missing.items() if lacking}


@pytest.mark.parametrize("where", [[True, False, True], [1, 0, 1], [[1], [0]]])
def test_masks_of_whole_numbers(where: Any) -> None:
    shape = numpy.broadcast_shapes(numpy.shape(where), (3,))
    x = numpy.arange(1.0, 4.0)

    def f(x: Any, np: Any) -> Any:
        y = np.zeros(shape)
        y[...] = x
        np.add(y, 10.0, out=y, where=where)
        np.multiply(y, x, out=y, where=where)
        return np.sum(y * np.sum(y, axis=-1, keepdims=True, where=where))

    value, gradient = cadiff.value_and_grad(f)(x, np)
    assert value == f(x, numpy)
    for k, step in enumerate(1e-6 * numpy.eye(3)):
        slope = (f(x + step, numpy) - f(x - step, numpy)) / 2e-6
        assert gradient[k] == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize(
    "name", ["lib.stride_tricks", "polynomial", "polynomial.chebyshev", "testing"]
)
def test_modules_below_are_numpys(name: str) -> None:
    original = importlib.import_module(f"numpy.{name}")
    module = importlib.import_module(f"cadiff.numpy.{name}")
    public = [each for each in dir(original) if not each.startswith("_")]
    assert all(getattr(module, each) is getattr(original, each) for each in public)
    assert {*public} <= {*dir(module)}
    with pytest.raises(ModuleNotFoundError, match=r"cadiff\.numpy\.nothing"):
        importlib.import_module("cadiff.numpy.nothing")
