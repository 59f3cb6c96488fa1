"""Complex numbers with derivatives: every function, by the harness of `cases_complex`; edges."""

from __future__ import annotations

import cmath
import itertools
import pickle
import sys
import warnings
import zlib
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath as mp
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg as scipy_linalg

import cadiff
import cadiff.cmath
import cadiff.numpy as np
from cadiff.operations.complexes import COMPLEX, ELEMENTWISE

from ..helpers import cases_complex as complexes
from ..helpers.cases_complex import CASES, ComplexCase
from ..helpers.programs import frames_of, same

TELLS_COLUMNS = sys.version_info >= (3, 11)  # of what asks for a conversion


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_and_derivatives(case: ComplexCase) -> None:
    rng = numpy.random.default_rng(zlib.crc32(case.name.encode()))
    args = tuple(complexes.drawn(rng, shape) for shape in case.shapes)

    def f(*args: Any) -> Any:
        return case.call(np, *args)

    def of_numpy(*args: Any) -> Any:
        return case.call(numpy, *args)

    complexes.check_value(f, of_numpy, args)
    reads = case.name.split()[0] in complexes.READS
    complexes.check_modes(f, of_numpy, args, rng, reads)
    complexes.check_second_order(f, args, rng)


def test_every_function_has_a_case() -> None:
    seen = {name for case in CASES for name in case.name.split()}
    names = ((f, getattr(f, "__name__", "")) for f in COMPLEX)  # some of SciPy's have none
    known = {name for f, name in names if getattr(numpy, name, None) is f}
    known |= {name for name in ELEMENTWISE if hasattr(numpy, name)} - {"conjugate"}
    with_others = {"shape", "ndim", "size", "array", "asarray", "asanyarray", "flatiter", "astype"}
    with_others |= {"ascontiguousarray", "asfortranarray", "copyto"}
    also = {"amax": "max", "amin": "min"}
    missing = {also.get(name, name) for name in known} - seen - with_others
    assert not missing


# --- conventions ---------------------------------------------------------------------------------


def test_gradient_of_a_real_function() -> None:
    z = 1.5 - 0.5j
    assert cadiff.grad(lambda z: abs(z) ** 2)(z) == 2 * z.conjugate()
    value, gradient = cadiff.value_and_grad(lambda z: (z * z).real)(z)
    assert value == (z * z).real and gradient == 2 * z  # df/dx - i df/dy
    down = z - 1e-3 * numpy.conj(gradient)
    assert (down * down).real < value


def test_holomorphic() -> None:
    z = 0.3 + 0.7j
    assert cadiff.grad(np.sin, holomorphic=True)(z) == pytest.approx(cmath.cos(z), rel=1e-15)
    value, slope = cadiff.value_and_grad(lambda z: z**3, holomorphic=True)(z)
    assert value == pytest.approx(z**3) and slope == pytest.approx(3 * z**2)
    points = numpy.array([z, 2j])
    jacobian = cadiff.jacobian(lambda z: z**2 * z[0], holomorphic=True)(points)
    a, b = points
    numpy.testing.assert_allclose(jacobian, [[3 * a**2, 0], [b**2, 2 * a * b]], rtol=1e-14)
    for jac in (cadiff.jacfwd, cadiff.jacrev):
        found = jac(lambda z: z**2 * z[0], holomorphic=True)(points)
        numpy.testing.assert_allclose(found, jacobian, rtol=1e-15)
    slopes = cadiff.elementwise_grad(np.exp, holomorphic=True)(points)
    numpy.testing.assert_allclose(slopes, numpy.exp(points), rtol=1e-15)
    twice = cadiff.grad(cadiff.grad(lambda z: z**4, holomorphic=True), holomorphic=True)
    assert twice(z) == pytest.approx(12 * z**2, rel=1e-14)


def test_an_average_by_complex_weights() -> None:
    z, w = numpy.array([1 + 2j, 3 - 1j, 2j]), numpy.array([2j, 1.0, 1 - 1j])
    found = cadiff.grad(lambda z, w: np.average(z, weights=w), (0, 1), holomorphic=True)(z, w)
    total = w.sum()
    numpy.testing.assert_allclose(found[0], w / total, rtol=1e-14)
    numpy.testing.assert_allclose(found[1], (z - z @ w / total) / total, rtol=1e-14)


def test_containers_have_complex_leaves() -> None:
    tree = {"a": 2j, "b": [1.0, numpy.array([1 + 1j, 3])]}
    gradient = cadiff.grad(lambda t: abs(t["a"] * t["b"][0]) ** 2 + np.sum(np.imag(t["b"][1])))(
        tree
    )
    assert gradient["a"] == -4j and gradient["b"][0] == 8.0
    numpy.testing.assert_array_equal(gradient["b"][1], [-1j, -1j])
    vector, unflatten = cadiff.flatten(tree)
    assert vector.tolist() == [0.0, 2.0, 1.0, 1.0, 3.0, 1.0, 0.0]
    assert unflatten(vector)["a"] == 2j


def test_complex64_gives_complex64() -> None:
    z = numpy.array([1 + 1j, 2], numpy.complex64)
    for f in (cadiff.grad, lambda f: cadiff.compile(f).grad):
        found = f(lambda z: np.sum(abs(z) ** 2))(z)
        assert found.dtype == numpy.complex64
        numpy.testing.assert_array_equal(found, 2 * z.conj())


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: cadiff.grad(lambda z: z * z)(1j), ["holomorphic=True", "real part"]),
        (lambda: cadiff.jacobian(lambda z: z * z)(1j), ["jvp", "vjp", "holomorphic=True"]),
        (lambda: cadiff.jacobian(lambda x: x * 1j)(1.0), ["jvp", "vjp"]),
        (lambda: cadiff.hessian(abs)(1j), [".real", ".imag"]),
        (lambda: cadiff.hvp(abs)(1j, 1j), [".real", ".imag"]),
        (lambda: cadiff.compile(abs).hessian(1j), [".real", ".imag"]),
        (lambda: cadiff.compile(abs).hvp(1j, 1j), [".real", ".imag"]),
        (lambda: cadiff.compile(lambda z: z * z).jacobian(1j), ["jvp", "vjp"]),
        (lambda: cadiff.compile(lambda z: z * z).grad(1j), ["holomorphic=True"]),
        (lambda: cadiff.sparse_jacobian(lambda z: z)(numpy.array([1j])), [".real", ".imag"]),
        (lambda: cadiff.sparse_jacobian(lambda x: x * 1j)(numpy.ones(2)), ["real"]),
        (lambda: cadiff.grad(abs, holomorphic=True)(1j), ["one complex number"]),
        (lambda: cadiff.grad(lambda z: z * 1j, holomorphic=True)(1.0), ["complex(x)"]),
        (lambda: cadiff.grad(lambda z: float(z))(1j), ["abs(z)"]),
        (lambda: cadiff.grad(lambda z: abs(cmath.exp(z)))(1j), ["cadiff.exp"]),
        (lambda: cadiff.grad(lambda z: z < 1)(1j), ["no order", "abs(z)"]),
        (lambda: cadiff.grad(lambda z: np.floor(z))(1j), ["floor", "real"]),
        (lambda: cadiff.grad(lambda z: np.interp(z, [0, 1], [0, 1]))(1j), ["interp"]),
        (lambda: cadiff.grad(lambda z: np.unwrap(z))(numpy.array([1j])), ["unwrap", "complex"]),
        (lambda: hash(cadiff.Var(1j)), ["hashable"]),
        (lambda: pickle.dumps(cadiff.Var(1j)), ["pickled"]),
        (lambda: cadiff.Var(1j).backward(), ["seed"]),
    ],
)
def test_what_cannot_be_says_what_to_write(ask: Any, words: list[str]) -> None:
    with pytest.raises(TypeError) as error:
        ask()
    assert all(word in str(error.value) for word in words), error.value


def test_a_complex_number_in_an_array_of_real_ones() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(2)
        y[0] = 1j * x
        return y.sum()

    with pytest.raises(TypeError, match=r"zeros\(shape, complex\)"):
        cadiff.grad(f)(1.0)


# --- Var and Dual --------------------------------------------------------------------------------


def test_var() -> None:
    z = cadiff.Var(numpy.array([1 + 1j, 2]))
    assert z.dtype == numpy.complex128 and z.shape == (2,) and len(z) == 2 and z.ndim == 1
    assert str(z) == str(z.value) and z.tolist()[0].value == 1 + 1j
    (abs(z) ** 2).sum().backward()
    numpy.testing.assert_array_equal(z.grad, 2 * z.value.conj())
    z.zero_grad()
    (z * z).sum().backward(1j)  # Re(seed * y)
    numpy.testing.assert_array_equal(z.grad, 2j * z.value)
    w = cadiff.Var(3 + 4j)
    assert isinstance(w, cadiff.Complex) and f"{w:.1f}" == "3.0+4.0j" and w.item().value == 3 + 4j
    assert bool(w) and w == 3 + 4j and w != 3 and cadiff.value(w) == 3 + 4j


def test_dual() -> None:
    d = cadiff.Dual(1 + 1j, 1j) ** 2
    assert d.primal == 2j and d.tangent == 2j * (1 + 1j)
    e = cadiff.Dual(numpy.array([1j, 2]), numpy.array([1, 1j])) * 2j
    numpy.testing.assert_array_equal(e.tangent, [2j, -2])


PLAIN = numpy.array([1.0, 2.0 + 1j])


def objects(z: Any, w: Any) -> Any:
    """An array of objects of the real parts."""
    return numpy.array([z.real, w.real])


INTO_OBJECTS: dict[str, Callable[[Any, Any], Any]] = {
    "number": lambda z, w: numpy.array(z),
    "list": lambda z, w: numpy.array([z, w]),
    "nested lists": lambda z, w: numpy.array([[z, w], [w, z]]),
    "beside plain and real numbers": lambda z, w: numpy.array([1.0, w.real, z]),
    "dtype": lambda z, w: numpy.array([z, w], dtype=object),
    "dtype of an array": lambda z, w: np.array([z, w], dtype=object),
    "array": lambda z, w: numpy.asarray(np.array([z, w])),
    "slice": lambda z, w: numpy.zeros(2, object).__setitem__(slice(None), [z, w]),
    "array to a slice": lambda z, w: numpy.zeros(2, object).__setitem__(..., np.array([z, w])),
    "full": lambda z, w: numpy.full(2, z, object),
    "append": lambda z, w: numpy.append([z], [w]),
    "concatenate": lambda z, w: numpy.concatenate([[z], [w]]),
    "where": lambda z, w: numpy.where([True, False], [z, w], 0.0),
    "imag": lambda z, w: numpy.imag([z, w]),
    "ufunc": lambda z, w: numpy.add([z, w], 1.0),
    "sum": lambda z, w: numpy.sum([z, w]),
    "vdot": lambda z, w: numpy.vdot([z, w], [z, w]),
    "norm": lambda z, w: numpy.linalg.norm([z, w]),
    "norm of SciPy": lambda z, w: scipy_linalg.norm(np.array([z, w])),
    "times a list": lambda z, w: PLAIN * [z, w],
    "vectorize": lambda z, w: numpy.vectorize(lambda t: t * 1j)([z.real, w.real]),
    "vectorize to objects": lambda z, w: numpy.vectorize(lambda t: t * 1j, [object])([z.real]),
    "frompyfunc": lambda z, w: numpy.frompyfunc(lambda t: (1, t * 1j), 1, 2)(objects(z, w)),
    "plus an imaginary number": lambda z, w: objects(z, w) + 1j,
    "less an imaginary number": lambda z, w: 1j - objects(z, w),
    "times an imaginary number": lambda z, w: objects(z, w) * 1j,
    "times one of NumPy's": lambda z, w: numpy.complex128(1j) * objects(z, w),
    "by an imaginary number": lambda z, w: objects(z, w) / 1j,
    "to an imaginary power": lambda z, w: objects(z, w) ** 1j,
    "a single element": lambda z, w: objects(z, w)[:1] * 1j,
    "columns": lambda z, w: (objects(z, w).reshape(2, 1) * [[1j, 2.0]]).imag,
    "every other element": lambda z, w: numpy.array([z.real, 1.0] * 3)[::2] * PLAIN[1],
    "behind real ones": lambda z, w: objects(z, w) * numpy.array([1.0, 1j], object),
    "in place": lambda z, w: objects(z, w).__imul__(1j),
    "out": lambda z, w: numpy.multiply(objects(z, w), 1j, out=numpy.zeros(2, object)),
    "running sums": lambda z, w: numpy.cumsum(numpy.array([z.real, 1j])),
    "an outer product": lambda z, w: numpy.outer(objects(z, w), PLAIN),
    "matrix times vector": lambda z, w: numpy.diag(objects(z, w)) @ PLAIN,
    "stack of products": lambda z, w: numpy.array([[[z.real], [w.real]]]) @ [[1j]],
    "products of a stack": lambda z, w: numpy.array([[[z.real]], [[w.real]]]) @ [[1j]],
    "a number times objects": lambda z, w: z.real * numpy.array([2.0, 1j], object),
    "an array times objects": lambda z, w: cadiff.Var(PLAIN.real) * numpy.array([2, 1j], object),
}


@pytest.mark.parametrize("make", INTO_OBJECTS.values(), ids=INTO_OBJECTS)
def test_complex_numbers_do_not_become_elements_of_arrays_of_objects(make: Any) -> None:
    for z in (cadiff.Var(PLAIN), cadiff.Dual(PLAIN, 1.0 + 0.0 * PLAIN)):
        with pytest.raises(TypeError, match=r"array of objects.*cadiff\.array\("):
            make(z[0], z[1])


def test_reductions_of_arrays_of_objects_may_be_complex() -> None:
    x = cadiff.Var(numpy.array([0.5, 2.0]))
    mixed = numpy.array([x[0], 1j, x[1]])
    for total in (mixed.sum(), numpy.add.reduce(mixed), numpy.array([x[0], x[1]]) @ PLAIN):
        assert isinstance(total, cadiff.Complex)
    assert mixed.sum() == 2.5 + 1j
    assert mixed.prod() == 1j


def test_other_objects_are_computed_with_as_before() -> None:
    numbers = numpy.array([Fraction(1, 3), 2, 1j, numpy.float32(0.5)], dtype=object)
    doubled = [Fraction(2, 3), 4, 2j, 1.0]
    assert (numbers * 2).tolist() == (numbers + numbers).tolist() == doubled
    assert numpy.frompyfunc(lambda t: 2 * t, 1, 1)(numbers).tolist() == doubled
    assert (numbers[:2].reshape(2, 1) @ numbers[:1].reshape(1, 1)).ravel().tolist() == [
        Fraction(1, 9),
        Fraction(2, 3),
    ]
    stacked = numpy.tile(numbers[:2], 5000).reshape(-1, 1, 2)
    assert (stacked @ [[1], [3]]).ravel().tolist() == [Fraction(19, 3)] * 5000
    assert (numbers[:2] @ stacked.reshape(-1, 2, 1)).ravel().tolist() == [Fraction(37, 9)] * 5000
    with pytest.raises(TypeError, match="unsupported operand"):
        numbers * numpy.array([1, 2, 3, None], dtype=object)
    with pytest.raises(ZeroDivisionError):
        numbers / 0


# --- programs ------------------------------------------------------------------------------------


def test_programs_take_and_give_complex_numbers() -> None:
    program = cadiff.compile(lambda z, w: {"p": z * w, "q": [abs(z), w.conj()]})
    for k in range(4):
        z, w = numpy.array([1 + 1j, 2]) * (k + 1), 2j - k
        out = program(z, w)
        numpy.testing.assert_array_equal(out["p"], z * w)
        numpy.testing.assert_allclose(out["q"][0], abs(z), rtol=1e-15)
        assert out["q"][1] == w.conjugate() and type(out["q"][1]) is complex
    assert program.stats()["recordings"] == 1


def test_programs_note_branches_by_parts() -> None:
    program = cadiff.compile(lambda z: z * z if z.real > 0 else abs(z))
    assert program(1 + 1j) == 2j and program(-3 + 4j) == 5.0 and program(2 + 1j) == 3 + 4j
    gradient = cadiff.compile(lambda z: abs(z) if z.imag > 1 else z.real).grad
    assert gradient(3 + 4j) == pytest.approx(0.6 - 0.8j) and gradient(0j) == 1


def test_programs_of_real_numbers_with_complex_ones_inside() -> None:
    def f(x: Any) -> Any:
        return np.sum(abs(np.exp(1j * x) + np.array([1, 2j, 3])) ** 2)

    program, x = cadiff.compile(f), numpy.array([0.3, 1.1, 2.0])
    for _ in range(3):
        numpy.testing.assert_allclose(program.grad(x), cadiff.grad(f)(x), rtol=1e-14)
        numpy.testing.assert_allclose(program.hessian(x), cadiff.hessian(f)(x), atol=1e-13)
        sparse = program.sparse_hessian(x)
        assert sparse.nnz == 3
        numpy.testing.assert_allclose(sparse.toarray(), cadiff.hessian(f)(x), atol=1e-13)
    batch = program.batch(numpy.stack([x, x + 1]))
    numpy.testing.assert_allclose(batch, [f(x), f(x + 1)], rtol=1e-14)
    waves = cadiff.compile(lambda x: np.exp(1j * x)).batch(numpy.stack([x, x + 1]))
    numpy.testing.assert_allclose(waves, numpy.exp(1j * numpy.stack([x, x + 1])), rtol=1e-14)
    points = numpy.array([[1j, 2], [3, 4j]])
    sums = cadiff.compile(lambda z: np.sum(abs(z))).batch(points)
    numpy.testing.assert_allclose(sums, [3, 7])


@pytest.mark.parametrize(
    "name",
    ["expm1", "tan", "tanh", "power"]
    + [f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")],
)
def test_programs_have_numpys_values_and_sides_of_cuts(name: str) -> None:
    """By NumPy's own loops, which C calls."""
    parts = [0.0, -0.0, 0.3, -2.0, 2.0, 1e-9, -40.0, 1e300, numpy.inf, -numpy.inf, numpy.nan]
    z = numpy.empty((len(parts), len(parts)), complex)
    z.real, z.imag = numpy.meshgrid(parts, parts)
    others = (numpy.array([0.5, -1.0, 2.0 - 1j, 3.0, 0.0, *[1j] * 6]),) if name == "power" else ()
    program = cadiff.compile(lambda z, *w: getattr(np, name)(z, *w))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for points in (z, z[::-1].copy(), numpy.asfortranarray(z)):
            got, wanted = program(points, *others), getattr(numpy, name)(points, *others)
            same([got.real, got.imag], [wanted.real, wanted.imag])
        assert frames_of(lambda: program(z, *others)) == []
    assert program.stats()["recordings"] == 1


ORDERED: dict[str, Any] = {
    "sort": lambda np, z: np.sort(z),
    "sort of all": lambda np, z: np.sort(z, axis=None),
    "max": lambda np, z: np.max(z, axis=0),
    "min": lambda np, z: np.min(z, axis=1, keepdims=True),
    "max with a bound": lambda np, z: np.max(z, axis=1, initial=1.0 + 1j),
    "nanmax": lambda np, z: np.nanmax(z),
    "nanmin": lambda np, z: np.nanmin(z),
    "ptp": lambda np, z: np.ptp(z, axis=0),
    "median": lambda np, z: np.median(z, axis=0),
    "median of all": lambda np, z: np.median(z, axis=(0, 1), keepdims=True),
    "partition": lambda np, z: np.partition(z, 2),
}


@pytest.mark.parametrize("name", ORDERED)
def test_programs_put_numbers_in_order_anew(name: str) -> None:
    """With ties of real parts, of both, and with nan in either; the first of equal ones counts."""
    f, rng = ORDERED[name], numpy.random.default_rng(0)

    def total(z: Any) -> Any:
        found = f(np, z)
        return np.sum(np.real(found) * 2.5) - np.sum(np.imag(found) ** 2)

    program, gradient = cadiff.compile(lambda z: f(np, z)), cadiff.compile(total).grad
    for k in range(6):
        z = rng.integers(-2, 3, (3, 4)) + 1j * rng.integers(-2, 3, (3, 4))
        if k % 2:
            z.real[rng.random((3, 4)) < 0.2] = rng.choice([numpy.nan, numpy.inf])
            z.imag[rng.random((3, 4)) < 0.2] = numpy.nan
        with numpy.errstate(invalid="ignore"):
            numpy.testing.assert_array_equal(program(z), f(numpy, z))
            numpy.testing.assert_allclose(gradient(z), cadiff.grad(total)(z))
    if name != "partition":  # whose order is NumPy's
        assert frames_of(lambda: gradient(z)) == []
        assert program.stats()["recordings"] <= 3 and program.stats()["eager"] == 0


def test_programs_see_changes_of_complex_constants() -> None:
    state = {"w": numpy.array([1j, 2.0])}
    program = cadiff.compile(lambda x: np.sum(abs(x * state["w"]) ** 2))
    x = numpy.array([1.0, 2.0])
    assert [program(x) for _ in range(3)] == [17.0] * 3
    state["w"][1] = 3j
    assert program(x) == 37.0


# --- edges ---------------------------------------------------------------------------------------


ZEROS = (0.0, -0.0)
AROUND = [complex(a, b) for a in (*ZEROS, -2.0, 2.0) for b in (*ZEROS, 1.5, -1.5)]
SIGNED: dict[str, Any] = {
    "1 - z": lambda np, z: np.sqrt(1.0 - z * z),
    "x - z": lambda np, z: np.sqrt(np.real(z) - 4.0 - z),
    "conj of real": lambda np, z: np.sqrt(np.conj(-abs(z) + 0j)),
    "minus real": lambda np, z: np.log(-(abs(z) + 0j)),
    "exp of conj": lambda np, z: np.exp(np.conj(abs(z) + 0j)),
    "exp of -0.0": lambda np, z: np.exp(-(1j * abs(z))),
    "minus 1j": lambda np, z: np.exp(-1j * abs(z)),
    "plus -0.0": lambda np, z: abs(z) + np.conj(3.0 + 0j),
    "plus array": lambda np, z: np.sqrt(-abs(z) + numpy.conj([3.0 + 0j, -3.0])),
}


ON_AXES = [2 + 0j, complex(2.0, -0.0), -2 + 0j, complex(-2.0, -0.0), 2j, complex(-0.0, -2.0)]
CUT = ("sqrt", "log", "arcsin", "arccosh", "arctan", "angle", "exp", "sinh", "tanh")


@pytest.mark.parametrize("name", [*SIGNED, *CUT])
def test_exact_zeros_and_sides_of_cuts_have_numpys_sign(name: str) -> None:
    f = SIGNED.get(name, lambda np, z: getattr(np, name)(z))
    for z in ON_AXES if name in SIGNED else AROUND:
        with numpy.errstate(all="ignore"):
            expected = f(numpy, numpy.complex128(z))
            found, _ = cadiff.jvp(partial(f, np), (z,), (1.0,))
        numpy.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
        for part in (numpy.real, numpy.imag):
            assert numpy.array_equal(numpy.signbit(part(found)), numpy.signbit(part(expected))), z


@given(
    st.floats(-300, 300),
    st.floats(-300, 300),
    st.floats(-3.1, 3.1),
    st.floats(-3.1, 3.1),
)
def test_quotients_over_the_whole_range(a: float, b: float, s: float, t: float) -> None:
    z, w = cmath.rect(10.0 ** (a / 2), s), cmath.rect(10.0 ** (b / 2), t)
    found, slope = cadiff.jvp(lambda w: z / w, (w,), (1.0,))
    with mp.workdps(50):
        true = mp.mpc(z) / mp.mpc(w)
        assert abs(found - complex(true)) <= 4e-16 * float(abs(true)) + 1e-320
        change = complex(-true / mp.mpc(w))
        if 1e-290 < abs(change) < 1e290:
            assert abs(slope - change) <= 3e-15 * abs(change)


@pytest.mark.parametrize("z", [1e-200 + 1e-200j, 1e200 - 3e200j, 1 + 1e-9j, 0.6 + 0.8j, 1e-320j])
def test_root_and_logarithm_far_out(z: complex) -> None:
    with mp.workdps(50):
        root, log = complex(mp.sqrt(mp.mpc(z))), complex(mp.log(mp.mpc(z)))
        slopes = complex(0.5 / mp.sqrt(mp.mpc(z))), complex(1 / mp.mpc(z))
    for f, value, slope in ((np.sqrt, root, slopes[0]), (np.log, log, slopes[1])):
        found, derivative = cadiff.jvp(f, (z,), (1.0,))
        numpy.testing.assert_allclose(
            [found.real, found.imag], [value.real, value.imag], rtol=1e-15, atol=1e-33
        )
        if abs(slope) < 1e300:
            assert abs(derivative - slope) <= 1e-15 * abs(slope)


def test_absolute_value_and_angle_at_zero() -> None:
    assert cadiff.grad(abs)(0j) == 0 and cadiff.grad(np.angle)(0j) == 0
    assert cadiff.grad(np.linalg.norm)(numpy.zeros(2, complex)).tolist() == [0, 0]
    assert numpy.isnan(cadiff.sqrt(-1.0)) and cadiff.sqrt(-1.0 + 0j) == 1j


ON_CUTS: list[Any] = [
    lambda x: x + 0j, lambda x: -(x + 0j), lambda x: -(-x + 0j), lambda x: x - 0j,
    lambda x: 0j - x,
    lambda x: (-x + 0j).conjugate(), lambda x: (x + 0j) / -2.0, lambda x: (-x + 0j) / 2.0,
    lambda x: (x + 0j) * -2.0, lambda x: -2.0 * (x + 0j), lambda x: (-x + 0j).conjugate() * 2.0,
    lambda x: (-x + 0j).conjugate() / 2.0, lambda x: (x + 0j).conjugate() * -2.0,
    lambda x: (x + 0j).conjugate() / -2.0, lambda x: x * complex(-2.0, -0.0),
    lambda x: -x * complex(2.0, -0.0), lambda x: x / complex(-2.0, -0.0),
    lambda x: (x + 0j) + complex(0.0, -0.0), lambda x: 2.0 * (-x + 0j).conjugate() - 9.0,
    lambda x: 1j * (1j * x), lambda x: 9.0 / (-x + 0j), lambda x: -9.0 / (x + 0j).conjugate(),
    lambda x: 1j * x, lambda x: -1j * x, lambda x: (1j * x).conjugate(), lambda x: x / 1j,
    lambda x: 1j * x / -1.0, lambda x: (-x + 0j) * x, lambda x: (-x + 0j) / (0.3 * x),
    lambda x: (-x + 0j).conjugate() * x, lambda x: x * (-x + 0j).conjugate(),
]  # fmt: skip


@pytest.mark.parametrize("made", ON_CUTS)
def test_sides_of_cuts_are_those_of_numpy(made: Any) -> None:
    functions = ["sqrt", "log", "angle", "arccosh", "arctan", "arcsinh", "log1p"]
    if numpy.all(made(X * X + 2.0).real < 0):  # that of a zero of products is not NumPy's beyond 1
        functions += ["arccos", "arcsin", "arctanh"]
    for x in (X * X + 2.0, 2.5):
        for name in functions:
            f = partial(lambda np, x, name: getattr(np, name)(made(x)), name=name)
            out, _ = cadiff.jvp(partial(f, np), (x,), (x,))
            numpy.testing.assert_allclose(out, f(numpy, numpy.asarray(x)[()]), rtol=1e-13)


INVERSES = ["sqrt", "log", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]


@pytest.mark.parametrize("name", INVERSES)
def test_slopes_along_cuts_are_those_of_their_sides(name: str) -> None:
    f, h = getattr(numpy, name), 1e-6
    for zero, x in itertools.product((0.0, -0.0), (2.0, -2.0, 0.5, -0.5)):
        for at, along in (
            (lambda x, zero: complex(x, zero), 1.0),
            (lambda x, zero: complex(zero, x), 1j),
        ):
            ahead, behind = (numpy.complex128(f(at(x + step, zero))) for step in (h, -h))
            slopes = (
                cadiff.jvp(f, (at(x, zero),), (along,))[1],
                cadiff.grad(f, holomorphic=True)(at(x, zero)) * along,
            )
            numpy.testing.assert_allclose(slopes, [(ahead - behind) / (2 * h)] * 2, rtol=1e-8)


@pytest.mark.parametrize("name", sorted(cadiff.cmath._NAMES) + ["phase", "log", "polar"])
@pytest.mark.parametrize("x", [-2.5, -1.2, -0.3, 0.4, 3.0])
def test_real_numbers_are_complex_ones_on_the_side_of_cmath(name: str, x: float) -> None:
    original, h = getattr(cmath, name), 1e-6
    found, slope = cadiff.jvp(getattr(cadiff.cmath, name), (x,), (1.0,))
    numpy.testing.assert_allclose(found, original(x), rtol=1e-14)
    ahead, behind = (numpy.asarray(original(x + step)) for step in (h, -h))
    numpy.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "pole"), [("arctanh", 1 + 0j), ("arctan", 1j), ("arcsin", 1 + 0j), ("log", 0j)]
)
def test_slopes_at_poles_are_no_errors(name: str, pole: complex) -> None:
    f = getattr(np, name)
    for slope in (cadiff.grad(f, holomorphic=True)(pole), cadiff.jvp(f, (pole,), (1.0,))[1]):
        assert not numpy.isfinite(slope)


def test_an_exact_zero_absorbs_for_each_part() -> None:
    def f(x: Any) -> Any:
        return (1j * x * np.array([np.inf, 1.0])).real

    _, tangent = cadiff.jvp(f, (numpy.ones(2),), (numpy.ones(2),))
    assert tangent.tolist() == [0.0, 0.0]


def test_empty_and_strange_arrays() -> None:
    empty = numpy.zeros((0, 3), complex)
    assert cadiff.grad(lambda z: np.sum(abs(z)))(empty).shape == (0, 3)
    z = numpy.arange(12).astype(complex).reshape(3, 4) * (1 + 1j)
    for strange in (z.T, z[::2, ::-1], z.astype(">c16"), z.astype(numpy.complex64)):
        gradient = cadiff.grad(lambda z: np.sum(abs(z) ** 2))(strange)
        rtol = 1e-15 if strange.dtype.itemsize == 16 else 1e-7
        numpy.testing.assert_allclose(gradient, 2 * strange.conj(), rtol=rtol)
    number = cadiff.grad(lambda z: abs(z) ** 2)(numpy.array(1 + 1j))
    assert number == 2 - 2j


# --- as NumPy's: what else is an operand, a view, a copy -----------------------------------------

Z = numpy.array([1 + 2j, -0.5 + 0.3j, 0.2 - 1j])
X = numpy.array([0.3, 1.2, -0.7])


def written(change: Any) -> Any:
    """A function that changes a copy of its argument, and returns it times the argument."""

    def f(np: Any, z: Any) -> Any:
        y = z * 1
        change(np, y)
        return y * z

    return f


M = numpy.random.default_rng(3).normal(size=(3, 8)).view(complex)
MASK = M.real > -0.5
SUMMARIES = "sum mean prod max min std var median nansum nanmean nanprod"
OUT = {
    name: lambda np, z, out, name=name: getattr(np, name)(z, axis=0, out=out)
    for name in SUMMARIES.split()
}
OF_LISTS: dict[str, Any] = {
    "array": lambda np, zs: np.array(zs).imag,
    "stack": lambda np, zs: numpy.stack(zs).imag,
    "norm": lambda np, zs: np.linalg.norm(zs),
    "vdot": lambda np, zs: np.vdot(zs, zs).real,
    "imag": lambda np, zs: np.imag(zs),
    "angle": lambda np, zs: np.angle(zs),
    "plus a list": lambda np, zs: (np.array(zs) + zs).imag,
}
PRODUCTS: list[Any] = [
    lambda np, z, out: np.dot(z, z[0], out=out),
    lambda np, z, out: np.matmul(z, z[0], out=out),
    lambda np, z, out: np.cumprod(z[:, 0], out=out),
    lambda np, z, out: np.add.reduce(z, 1, out=out),
    lambda np, z, out: np.exp(z[:, 0], out=out),
    lambda np, z, out: np.clip(z[:, 0], 0, 1, out=out),
]
LOOKS: list[Any] = [
    lambda np, z: np.ravel(z), lambda np, z: np.squeeze(z), lambda np, z: np.transpose(z),
    lambda np, z: np.flip(z), lambda np, z: np.atleast_2d(z)[0], lambda np, z: z.T,
    lambda np, z: np.split(z, 3)[1], lambda np, z: z[:2],
    lambda np, z: z[1:].reshape(2, 1)[1:, 0],
    lambda np, z: z[::-1][:2], lambda np, z: z[[0, 1]], lambda np, z: z[z.imag > 0],
    lambda np, z: z.flat, lambda np, z: z.flat[:], lambda np, z: z.flatten(),
]  # fmt: skip


def of_list(np: Any, x: Any, call: Any) -> Any:
    return call(np, [x[0] + 2j * x[1], x[1] - 1j * x[0]])


def into(np: Any, call: Any, z: Any, size: int) -> Any:
    out = np.zeros(size, complex)
    call(np, z, out)[-1] *= 2j
    return out


def viewed(np: Any, z: Any) -> Any:
    w = z * 1j
    view, part = w[1:], w.imag
    w[1] = 5.0 * z[0]
    view[0] *= 2.0
    return abs(view[0]) ** 2 + part[1]


def by_place(np: Any, z: Any) -> Any:
    mean = numpy.array([[0.5 + 1j]])
    means = np.var(z, mean=np.mean(z)), np.std(z, 0, mean=mean), np.nansum(z, initial=1j)
    sums = np.multiply.reduce(z, 0, initial=2j), np.maximum.reduce(z), z.compress([0, 1, 1], 0)
    dots = np.vecdot(z, z, axis=0), np.prod(z, where=MASK), np.max(z, (0, 1), initial=9j)
    order = z.flatten("F"), z.reshape(6, 2, order="F"), z.T.flatten(), z.copy("F")
    return np.concatenate([np.ravel(x) for x in (*means, *sums, *dots, *order)])


def in_order(np: Any, z: Any) -> Any:
    w = z.T + 0j
    w.flat[2] = 1j * z[0, 0]
    w.flat[5:] = [1.0, z[1, 1]]
    return np.concatenate([np.ravel(w), w.flat[1:4], np.stack([*w.flat])])


def assigned(np: Any, x: Any, factor: complex, look: Any) -> Any:
    """Where a part of an array is constant."""
    z = factor * x
    rest, seen = z[1:], look(np, z)
    seen[:1] = 1j * x[:1] ** 2
    rest[1:] *= 2j
    z[1] = x[0] - 1j * x[2]
    seen[-1:] += x[2] ** 3
    return np.concatenate([z, rest, seen[:]]) * np.sum(z.imag)


LIKE_NUMPY: dict[str, tuple[Any, ...]] = {
    "list on the right": (lambda np, z: (z + [1, 2j, 3]) / [2, 1j, 1] - [1, 2, 3], Z),
    "list on the left": (lambda np, z: [1, 2, 3] * z + (1j, 2, 3) + [1, 1, 1] / z, Z),
    "compared with a list": (lambda np, z: np.where(z == [5, Z[1], 0], z, 2 * z).sum(), Z[:1]),
    "times 0": (lambda np, z: (z * 0 + 1) @ z + (0 / z) @ z, Z),
    "imaginary times 0": (lambda np, x: 1j * x * 0 + x * 0j + 0j / x, X),
    "power 0": (lambda np, z: z**0 * z, Z),
    "a sum from 2": (lambda np, z: np.sum(z, initial=2.0) + np.sum(z, initial=1j), Z),
    "differences from 1": (lambda np, z: np.diff(z, 1, -1, 1.0, 2j), Z),
    "ediff1d": (lambda np, z: np.ediff1d(z, 5.0, 1j), Z),
    "weights": (lambda np, z: np.average(z, weights=[1.0, 2, 3], returned=True)[1] * z, Z),
    "nan in a part": (
        lambda np, z: [getattr(np, name)(np.where(z.real > 0, z, 1j * np.nan)) for name in NANS],
        Z,
    ),
    "pad": (lambda np, z: np.pad(z, 2, constant_values=((1.0, 2j),)), Z),
    "linspace": (lambda np, z: np.linspace(z[0], 1j, 4), Z),
    "trapezoid": (lambda np, z: np.trapezoid(z, dx=0.5), Z),
    "types": (lambda np, z: z.astype(np.result_type(z, 1.0)) * np.iscomplexobj(z), Z),
    "astype": (lambda np, x: x.astype(complex) ** 0.5 + np.asarray(x, dtype=complex), X),
    "array of dtype": (lambda np, x: np.array([x[0], 2, x[1]], dtype=complex) ** 0.5, X),
    "writes to astype": (written(lambda np, x: np.copyto(x.astype(complex), 1j)), X),
    "writes to conj": (written(lambda np, z: np.copyto(np.conj(z), 5)), Z),
    "writes to asarray": (written(lambda np, z: np.copyto(np.asarray(z), 5j)), Z),
    "writes to array": (written(lambda np, z: np.copyto(np.array(z), 5j)), Z),
    "writes to a view": (written(lambda np, z: np.copyto(z.reshape(3, 1)[1:], 5j)), Z),
    "writes an order": (written(lambda np, z: z.sort()), Z),
    "writes a part of an order": (written(lambda np, z: z.partition(1)), Z),
    "sets a part": (written(lambda np, z: setattr(z, "imag", z.real[::-1])), Z),
    "sets one element": (lambda np, x: scaled(x + 0j), X),
    "sorts in place": (written(lambda np, z: z.sort()), M),
    "sorts columns in place": (written(lambda np, z: z.sort(axis=0)), M),
    "parts in place": (written(lambda np, z: z.partition(1)), M),
    "parts columns in place": (written(lambda np, z: z.partition(2, axis=0)), M),
    **{f"{name} of a list": (of_list, X[:2], f) for name, f in OF_LISTS.items()},
    "fills": (written(lambda np, z: z.fill(1j)), M),
    "views see assignments": (viewed, Z),
    "functions by place": (by_place, M),
    "elements in order": (in_order, M),
    **{f"out of {name}": (lambda np, z, f=f: into(np, f, z, 4), M) for name, f in OUT.items()},
    **{f"out {k}": (lambda np, z, f=f: into(np, f, z, 3), M) for k, f in enumerate(PRODUCTS)},
    **{f"a view of 1j x, {k}": (assigned, X, 1j, look) for k, look in enumerate(LOOKS)},
    **{f"a view of x + 0j, {k}": (assigned, X, 1 + 0j, look) for k, look in enumerate(LOOKS)},
}  # fmt: skip
NANS = ("nansum", "nanmean")


def scaled(z: Any) -> Any:
    z[0] *= 1j
    return z * z[::-1]


@pytest.mark.parametrize("name", LIKE_NUMPY)
def test_like_numpy(name: str) -> None:
    case, point, *how = LIKE_NUMPY[name]

    def f(z: Any) -> Any:
        return np.array(case(np, z, *how))

    def of_numpy(z: Any) -> Any:
        return numpy.array(case(numpy, z, *how))

    rng = numpy.random.default_rng(0)
    direction = rng.normal(size=point.shape) * (1 - 0.5j if point.dtype.kind == "c" else 1)
    step = 1e-6 * direction
    want = (of_numpy(point + step) - of_numpy(point - step)) / 2e-6
    out, tangent = cadiff.jvp(f, (point,), (direction,))
    assert numpy.shape(out) == want.shape
    numpy.testing.assert_allclose(out, of_numpy(point), rtol=1e-13)
    numpy.testing.assert_allclose(tangent, want, rtol=1e-7, atol=1e-8)
    weights = rng.normal(size=want.shape) + (1j if want.dtype.kind == "c" else 0)
    pulled = cadiff.vjp(f, point)[1](weights)
    assert numpy.sum(pulled * direction).real == pytest.approx(numpy.sum(weights * want).real)
    program = cadiff.compile(f)
    for z in (point, 1.01 * point):
        numpy.testing.assert_allclose(program(z), of_numpy(z), rtol=1e-13)
    numpy.testing.assert_allclose(program.jvp((point,), (direction,))[1], tangent, rtol=1e-13)


def is_in_order(z: Any) -> None:
    z = np.concatenate([z, z[:1] + 1.0])
    numpy.testing.assert_array_equal(z.argpartition(1), numpy.argpartition(cadiff.value(z), 1))
    assert np.sort(z).searchsorted(z[1]) == numpy.sort(cadiff.value(z)).searchsorted(Z[1])
    with pytest.raises(AttributeError, match=r"cadiff\.value\(x\)\.tobytes\(\)"):
        z.tobytes()


def test_questions_and_positions_are_of_the_values() -> None:
    def f(np: Any, z: Any) -> Any:
        return z[np.argsort(z)] * np.count_nonzero(z) + z[np.argmax(z)] * np.isclose(z, z[0]).sum()

    out, tangent = cadiff.jvp(lambda z: f(np, z), (Z,), (1j * Z,))
    numpy.testing.assert_allclose(out, f(numpy, Z), rtol=1e-15)
    numpy.testing.assert_allclose(tangent, 1j * f(numpy, Z), rtol=1e-15)
    cadiff.jvp(lambda z: (is_in_order(z), z)[1], (Z,), (Z,))
    assert cadiff.grad(lambda z: abs(z[0]) ** 2 if np.all(np.isfinite(z)) else z[0].real)(Z)[0]


@pytest.mark.parametrize(
    ("f", "words"),
    [
        *((lambda z, f=f: f(np, M * z[:1], numpy.zeros(3, complex)), "out=") for f in PRODUCTS),
        (lambda z: setattr(z[0], "real", 1.0), "z.real \\+ 1j"),
        (lambda z: setattr(z.copy(), "real", 1j), "complex"),
        (lambda z: complex(z[0].real), "v \\+ 0j" if TELLS_COLUMNS else "plain number"),
    ],
)
def test_what_is_refused(f: Any, words: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=words):
        cadiff.vjp(f, Z)


@pytest.mark.parametrize(
    "read",
    [np.sin, np.tan, np.sqrt, np.angle, np.sum, np.mean, np.copy, np.sort, np.cumsum, np.var],
)
def test_an_imaginary_array_is_assigned_to_after_it_was_read(read: Any) -> None:
    def f(x: Any) -> Any:
        z = 1j * x
        seen = read(z)
        z[0] = 2.0
        return np.sum(abs(z) ** 2) + 0.0 * abs(seen).sum()

    numpy.testing.assert_array_equal(cadiff.grad(f)(abs(X)), 2 * abs(X) * [0, 1, 1])


def test_a_constant_part_that_is_in_use_is_not_replaced() -> None:
    def f(x: Any) -> Any:
        z = 1j * x
        assert z.real.sum() == 0.0
        z[0] = 2j * z[0]
        z = 1j * x
        seen = z.real
        with pytest.raises(ValueError, match="read-only"):
            seen[0] = 1.0
        with pytest.raises(ValueError, match=r"copy"):
            z[:2] = 1.0
        return np.sum(abs(z))

    cadiff.grad(f)(X)


def test_constants_become_plain() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3, complex)
        y[0] = 2j
        t = 1j * np.linspace(0.0, 1.0, 3)
        return x * abs(cmath.exp(y[0] + 1.0)) * numpy.asarray(y).imag.sum() * abs(complex(t[1]))

    want = cmath.e * 2.0 * 0.5
    assert cadiff.grad(f)(1.0) == pytest.approx(want)
    assert cadiff.derivative(f, 1.0) == pytest.approx(want)
    assert cadiff.compile(f).grad(1.0) == pytest.approx(want)
    with pytest.raises(TypeError, match=r"cadiff\.exp"):
        cadiff.grad(lambda x: abs(cmath.exp(1j * x)))(1.0)


def test_the_real_part_of_a_real_number_keeps_its_derivative() -> None:
    def f(x: Any) -> Any:
        product = np.vdot(x, x)  # complex if x is
        return product.real**2 + product.imag + x[0].real + np.sum(x.real * x.imag)

    want = 4 * X * (X @ X) + [1, 0, 0]
    numpy.testing.assert_allclose(cadiff.grad(f)(X), want)
    numpy.testing.assert_allclose(cadiff.jacfwd(f)(X), want)
    numpy.testing.assert_allclose(cadiff.hessian(lambda x: f(x.real))(X), cadiff.hessian(f)(X))
    assert cadiff.derivative(lambda x: x.real**3, 2.0, order=2) == 12.0
    assert (
        cadiff.grad(lambda x: x.real * cadiff.jvp(lambda y: y.real * x, (2.0,), (1.0,))[1])(3.0)
        == 6
    )
    assert type(cadiff.Dual(3.0, 1.0).real) is float


@pytest.mark.parametrize("z", [20 + 1j, -20 + 2j, 300 - 1j, 800 + 1j, -800 + 0.5j, 0.3 - 0.2j])
def test_slopes_of_tan_and_tanh_far_out(z: complex) -> None:
    with mp.workdps(50):
        want = [complex(1 / mp.cosh(mp.mpc(z)) ** 2), complex(1 / mp.cos(mp.mpc(1j * z)) ** 2)]
    for f, point, slope in zip((np.tanh, np.tan), (z, 1j * z), want, strict=True):
        found = cadiff.grad(f, holomorphic=True)(point)
        assert abs(found - slope) <= 1e-13 * abs(slope) + 1e-300
        assert abs(cadiff.jvp(f, (point,), (1.0,))[1] - slope) <= 1e-13 * abs(slope) + 1e-300


def slopes(name: str, z: Any) -> tuple[Any, Any]:
    """First and second derivative of a function."""
    if name in ("tan", "tanh"):
        t = getattr(mp, name)(z)
        sign = 1 if name == "tan" else -1
        return 1 + sign * t * t, 2 * sign * t * (1 + sign * t * t)
    if name == "log1p":
        return 1 / (1 + z), -1 / (1 + z) ** 2
    s = -1 if name in ("arctan", "arcsinh") else 1
    if name in ("arctan", "arctanh"):
        return 1 / (1 - s * z * z), 2 * s * z / (1 - s * z * z) ** 2
    root = {
        "arcsin": lambda: mp.sqrt(1 - z) * mp.sqrt(1 + z),
        "arccos": lambda: -mp.sqrt(1 - z) * mp.sqrt(1 + z),
        "arcsinh": lambda: mp.sqrt(1 - 1j * z) * mp.sqrt(1 + 1j * z),
        "arccosh": lambda: mp.sqrt(z - 1) * mp.sqrt(z + 1),
    }[name]()
    return 1 / root, (-1 if name == "arccosh" else s) * z / root**3


@pytest.mark.parametrize(
    "name",
    ["tan", "tanh", "log1p", "arctan", "arctanh", "arcsin", "arccos", "arcsinh", "arccosh"],
)
def test_derivatives_over_the_whole_range(name: str) -> None:
    """Small and large numbers in all directions, points near branches among them."""
    points = [
        cmath.rect(10.0**k, t) for k in (-30, -8, -0.1, 0.3, 8, 30) for t in (0.1, 1.4, -2.2)
    ]
    f = getattr(np, name)
    for z in [*points, 1 - 1e-7 + 1e-9j, 1j + 1e-9, 0.6 + 0.8j]:
        with mp.workdps(120):
            want = [complex(x) for x in slopes(name, mp.mpc(z))]
        found = cadiff.jvp(f, (z,), (1.0,))[1]
        twice = cadiff.jvp(lambda w: cadiff.jvp(f, (w,), (1.0,))[1], (z,), (1.0,))[1]
        for a, b in zip((found, twice), want, strict=True):
            assert abs(a - b) <= 1e-9 * abs(b) + 1e-290, (z, a, b)
