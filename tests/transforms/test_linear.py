"""Linear maps: what `linearize` gives is the derivative, in every direction, and stays it."""

from __future__ import annotations

import builtins
import pickle
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from benchmarks.linear_contests import broyden, broyden_jacobian, broyden_of_arrays
from cadiff import binding

from ..helpers.properties import examples
from ..helpers.threads import in_threads
from ..helpers.trees import Pair
from ..helpers.ways import check_ways

Function = Callable[..., Any]


def assigned(x: Any) -> Any:
    y = cnp.zeros(4)
    y[:2] = x[1:3] * x[0]
    y[[2, 2, 3]] = cnp.sin(x[:3])
    y[0] = y[0] * y[3]
    y[1:] += y[:-1]
    return y


def unsteady(x: Any) -> Any:
    """Reads before and after elements are overwritten."""
    y = x * 1.0
    total = y[0] * y[1]
    y[0] = cnp.exp(y[2])
    y[1:] = y[:-1] * y[0]
    return [total, y[0] * total, y[1], y[2] - y[0]]


def of_matrices(x: Any) -> Any:
    a = cnp.reshape(x[:6], (2, 3))
    b = cnp.tanh(a @ cnp.swapaxes(a, 0, 1)) @ np.array([[1.0, 2.0], [-1.0, 0.5]])
    return cnp.concatenate([cnp.ravel(b), cnp.ravel(np.ones((3, 2, 2)) @ a[None])])


def reduced(x: Any) -> Any:
    a = cnp.reshape(x[:6], (2, 3))
    return [cnp.sum(a), cnp.mean(a * a), cnp.max(a), cnp.sum(cnp.sum(a, axis=0) * a[1])]


def gathered(x: Any) -> Any:
    return x[[0, 0, 2, -1]] * cnp.sin(x[::-2][0])


def odd_ends(x: Any) -> Any:
    """Constants, inputs, and one number several times."""
    y = x[0] * x[1]
    return [y, 1.0, x[2], y, x[2]]


CASES: dict[str, Function] = {
    "numbers": broyden,
    "arrays": broyden_of_arrays,
    "assigned": assigned,
    "unsteady": unsteady,
    "of_matrices": of_matrices,
    "reduced": reduced,
    "gathered": gathered,
    "odd_ends": odd_ends,
    "number": lambda x: cnp.sum(x) ** 2,
    "itself": lambda x: x,
    "constant": lambda x: np.ones((2, 2)),
    "nothing": lambda x: cnp.zeros(0),
    "broadcast": lambda x: cnp.broadcast_to(x[0] * x[1], (3, 2)) * x[:2],
    "primitive": lambda x: cnp.cumprod(cnp.sort(x)) * x[0],
    "eigenvalues": lambda x: cnp.linalg.eigvalsh(cnp.reshape(x[:4], (2, 2)) + 4.0 * np.eye(2)),
}

points = st.lists(
    st.floats(-2.0, 2.0).map(lambda x: round(x, 3)), min_size=7, max_size=7, unique=True
)


@pytest.mark.parametrize("name", CASES)
@examples(12)
@given(point=points, seed=st.integers(0, 100))
def test_a_map_is_the_derivative(name: str, point: list[float], seed: int) -> None:
    f = CASES[name]
    x = np.array(point)
    rng = np.random.default_rng(seed)
    out, lin = cadiff.linearize(f, x)
    value = np.asarray(f(x) if name != "primitive" else np.cumprod(np.sort(x)) * x[0])
    np.testing.assert_allclose(out, value, rtol=1e-14, atol=1e-14)
    jacobian = cadiff.jacfwd(f)(x)  # runs f on Duals, and shares no sweep
    matrix = lin.todense()
    assert lin.shape == matrix.shape == (value.size, x.size)
    scale = 1.0 + np.abs(jacobian).max(initial=0.0)
    np.testing.assert_allclose(matrix, jacobian.reshape(lin.shape), rtol=0.0, atol=1e-13 * scale)
    t, u = rng.normal(size=x.shape), rng.normal(size=value.shape)
    weights = u if value.ndim else float(u)
    np.testing.assert_allclose(np.ravel(lin(t)), matrix @ t, rtol=0.0, atol=1e-12 * scale)
    pulled = lin.vjp(weights)
    np.testing.assert_allclose(pulled, matrix.T @ u.ravel(), rtol=0.0, atol=1e-12 * scale)
    assert abs(np.sum(u * lin(t)) - np.sum(pulled * t)) <= 1e-12 * scale
    np.testing.assert_array_equal(lin.T(weights), pulled)
    np.testing.assert_array_equal(lin.T.T(t), lin.jvp(t))
    np.testing.assert_array_equal(lin.T.vjp(t), lin(t))
    np.testing.assert_array_equal(lin.T.todense(), matrix.T)
    operator = lin.as_linear_operator()
    many = rng.normal(size=(x.size, 11))
    np.testing.assert_allclose(operator @ many, matrix @ many, rtol=0.0, atol=1e-12 * scale)
    back = rng.normal(size=(value.size, 3))
    np.testing.assert_allclose(operator.H @ back, matrix.T @ back, rtol=0.0, atol=1e-12 * scale)


@pytest.mark.parametrize("f", [broyden, broyden_of_arrays])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31, 32, 33, 100])
def test_jacobians_of_all_sizes(f: Function, n: int) -> None:
    x = np.linspace(-1.0, 1.0, n)
    if n == 1 and f is broyden_of_arrays:
        return
    for transform in (cadiff.jacobian, cadiff.jacfwd, cadiff.jacrev):
        np.testing.assert_allclose(transform(f)(x), broyden_jacobian(x), atol=1e-14)
    np.testing.assert_allclose(
        cadiff.linearize(f, x)[1].todense(), broyden_jacobian(x), atol=1e-14
    )


# --- structure -----------------------------------------------------------------------------------


def test_containers_go_in_and_out() -> None:
    def f(p: Any, q: Any) -> Any:
        product = p["w"] * q.weight
        return {"a": product, "b": (q.bias[0] * 2.0, [cnp.sum(p["w"]), q.bias[1]])}

    p = {"w": np.array([1.0, 2.0])}
    q = Pair(3.0, [4.0, 5.0])
    _, lin = cadiff.linearize(f, p, q)
    assert lin.shape == (5, 5)
    tangent = lin({"w": np.array([1.0, 0.0])}, Pair(1.0, [10.0, 20.0]))
    np.testing.assert_array_equal(tangent["a"], [4.0, 2.0])
    assert tangent["b"][0] == 20.0
    np.testing.assert_array_equal(tangent["b"][1], [1.0, 20.0])
    dp, dq = lin.vjp({"a": np.array([1.0, 1.0]), "b": (1.0, [1.0, 1.0])})
    np.testing.assert_array_equal(dp["w"], [4.0, 4.0])
    assert dq == Pair(3.0, [2.0, 1.0])
    again = lin.T.vjp((p, q))
    np.testing.assert_array_equal(again["a"], lin(p, q)["a"])
    _, unflatten = cadiff.flatten((p, q))
    t = np.arange(5.0)
    flat = cadiff.flatten(lin(*unflatten(t)))[0]
    np.testing.assert_allclose(flat, lin.todense() @ t, rtol=1e-15)


def test_results_are_of_the_kind_of_the_arguments() -> None:
    x = np.array([1.0, 2.0], dtype=np.float32)
    _, lin = cadiff.linearize(lambda x, y: x * y, x, 3.0)
    dx, dy = lin.vjp(np.ones(2))
    assert dx.dtype == np.float32
    assert type(dy) is float
    assert lin(x, 1.0).dtype == np.float64
    fresh = lin.vjp(np.ones(2))[0]
    fresh[:] = 7.0
    np.testing.assert_array_equal(lin.vjp(np.ones(2))[0], [3.0, 3.0])
    _, lin = cadiff.linearize(lambda x: x * 2.0, 3)
    assert lin(1) == lin.vjp(1) == 2.0


def test_no_arguments_and_empty_ones() -> None:
    out, lin = cadiff.linearize(lambda: 3.0)
    assert out == 3.0
    assert lin.shape == (1, 0)
    assert lin() == 0.0
    assert lin.vjp(1.0) == ()
    out, lin = cadiff.linearize(lambda x: cnp.sum(x) + 1.0, np.zeros((0, 3)))
    assert lin(np.zeros((0, 3))) == 0.0
    assert lin.vjp(1.0).shape == (0, 3)
    assert lin.todense().shape == (1, 0)


def test_a_map_is_of_what_was_there_then_and_holds_no_tape() -> None:
    x, before = np.array([1.0, 2.0]), binding.tape_usage()
    out, lin = cadiff.linearize(lambda x: x * x, x)
    assert binding.tape_usage() == before
    x[:] = out[:] = 100.0
    np.testing.assert_array_equal(lin.todense(), [[2.0, 0.0], [0.0, 4.0]])


def chain(x: Any) -> Any:
    return cnp.tanh(cnp.cos(cnp.exp(cnp.sin(x) * 2.0) - 1.0))


def forked_chain(x: Any) -> Any:
    y = cnp.exp(cnp.sin(x) * 2.0) - 1.0
    return cnp.tanh(y * cnp.cos(y))


@pytest.mark.parametrize(("f", "factors"), [(chain, 1), (forked_chain, 2)])
def test_chains_of_elementwise_operations_are_few_products(f: Function, factors: int) -> None:
    n = 1000
    x = np.linspace(-1.0, 1.0, n)
    _, lin = cadiff.linearize(f, x)
    # For each number a place in, a place out, and factors.
    held = lin._action._frozen.nbytes - 8 * n  # type: ignore[union-attr]
    assert 8 * factors * n <= held <= 8 * factors * n + 500
    slope = cadiff.elementwise_grad(f)(x)
    np.testing.assert_allclose(lin(np.ones(n)), slope, rtol=1e-13)
    np.testing.assert_allclose(lin.vjp(np.ones(n)), slope, rtol=1e-13)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda lin: lin(1.0), ValueError, r"1 tangents for 2 arguments"),
        (lambda lin: lin(np.ones(3), 1.0), ValueError, r"tangents\[0\].*shape \(2,\)"),
        (lambda lin: lin(np.ones(2), "1"), TypeError, r"tangents\[1\].*str"),
        (lambda lin: lin.vjp(1.0), ValueError, "cotangent.*structure"),
        (lambda lin: lin.T(1.0, 2.0), TypeError, "one cotangent.*not 2"),
        (lambda lin: lin.T.vjp(1.0), TypeError, "tuple"),
        (lambda lin: lin.T.vjp((1.0,)), ValueError, "1 tangents for 2 arguments"),
        (lambda lin: lin.as_linear_operator() @ np.ones(5), ValueError, "(?i)dimension mismatch"),
    ],
)
def test_wrong_structures_are_refused(call: Function, error: Any, message: str) -> None:
    _, lin = cadiff.linearize(lambda x, y: x * y, np.ones(2), 2.0)
    with pytest.raises(error, match=message):
        call(lin)
    np.testing.assert_array_equal(lin(np.ones(2), 0.0), [2.0, 2.0])


def test_an_exception_of_f_leaves_nothing_behind() -> None:
    before = binding.tape_usage()
    with pytest.raises(ZeroDivisionError):
        cadiff.linearize(lambda x: cnp.sin(x) * (1 // 0), np.ones(3))
    with pytest.raises(TypeError, match="bool"):
        cadiff.linearize(lambda x: x[0] > 1.0, np.ones(3))
    assert binding.tape_usage() == before


# --- derivatives of maps -------------------------------------------------------------------------


def cube(x: Any) -> Any:
    return x**3 + cnp.sum(x) * x


def cube_jacobian(x: Any) -> Any:
    return np.diag(3.0 * x**2 + np.sum(x)) + x[:, None] * np.ones(x.size)


@pytest.mark.parametrize("way", ["push", "pull", "dense"])
def test_maps_within_derivatives(way: str) -> None:
    """d/dx of v^T J(x) w, for the J of a linearisation at x."""
    v, w = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.7, -1.0])

    def number(x: Any) -> Any:
        _, lin = cadiff.linearize(cube, x)
        if way == "push":
            return cnp.sum(v * lin(w))
        if way == "pull":
            return cnp.sum(lin.vjp(v) * w)
        return cnp.sum(cnp.matmul(lin.todense(), w) * v)

    x = np.array([0.5, 1.5, -0.25])
    # v^T J w = sum v_i (3 x_i^2 w_i + s w_i + x_i sum w), s = sum x
    wanted = v * (6.0 * x * w + np.sum(w)) + np.sum(v * w)
    np.testing.assert_allclose(check_ways(number, x)[0], wanted, rtol=1e-13)


@pytest.mark.parametrize("transform", [cadiff.jacobian, cadiff.jacfwd, cadiff.jacrev])
@pytest.mark.parametrize("back", [False, True])
def test_directions_that_carry_derivatives(transform: Function, back: bool) -> None:
    """A plain map of a direction that depends on a variable, to second order."""
    x = np.array([0.5, 1.5, -0.25])
    _, lin = cadiff.linearize(cube, x)
    carry = lin.vjp if back else lin
    matrix = cube_jacobian(x).T if back else cube_jacobian(x)

    def f(t: Any) -> Any:
        return carry(t * t)

    t = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(transform(f)(t), matrix * (2.0 * t), rtol=1e-14)
    second = transform(transform(f))(t)
    wanted = np.einsum("ij,jk,jl->ikl", matrix, np.eye(3), 2.0 * np.eye(3))
    np.testing.assert_allclose(second, wanted, rtol=1e-14, atol=1e-14)


def test_maps_over_closures() -> None:
    _, lin = cadiff.linearize(lambda p: [p[0] * p[1], p[0] + p[1]], [2.0, 3.0])
    gradient = cadiff.grad(lambda t: cnp.sum(lin([t, t * t]) * np.array([1.0, 10.0])))(2.0)
    assert gradient == 3.0 + 2.0 * 4.0 + 10.0 * (1.0 + 4.0)

    def f(y: Any) -> Any:
        _, lin = cadiff.linearize(lambda x: cnp.sin(x * y), 2.0)
        return lin(1.0) + lin.vjp(1.0)  # 2 y cos(2 y)

    y = 0.7
    wanted = 2.0 * np.cos(2.0 * y) - 4.0 * y * np.sin(2.0 * y)
    assert check_ways(f, y)[0] == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_a_pullback_stays_the_same_however_often_it_is_called(name: str) -> None:
    x = np.linspace(-1.0, 1.3, 7)
    out, pullback = cadiff.vjp(CASES[name], x)
    u = np.linspace(1.0, 2.0, np.size(out)).reshape(np.shape(out))
    weights = u if np.ndim(out) else float(u)
    first = pullback(weights)
    for _ in range(12):
        np.testing.assert_array_equal(pullback(weights), first)
    if np.size(out):
        wanted = np.asarray(cadiff.jacfwd(CASES[name])(x)).reshape(-1, 7).T
        for transform in (cadiff.jacfwd, cadiff.jacrev):
            along = np.reshape(transform(pullback)(weights), (7, -1))
            np.testing.assert_allclose(along, wanted, rtol=1e-12, atol=1e-12)


# --- pickles, threads, SciPy ---------------------------------------------------------------------


# Where a rule takes part, a recording is held.
RULES = {"primitive", "eigenvalues", "reduced"}


@pytest.mark.parametrize("name", [name for name in CASES if name not in RULES])
def test_maps_pickle(name: str) -> None:
    _, lin = cadiff.linearize(CASES[name], np.linspace(-1.0, 1.0, 7))
    again = pickle.loads(pickle.dumps(lin))
    np.testing.assert_array_equal(again.todense(), lin.todense())
    assert again.shape == lin.shape


def test_containers_pickle() -> None:
    p = {"w": np.ones((2, 2), dtype=np.float32), "b": [1.0, (2.0, np.arange(3))]}
    _, lin = cadiff.linearize(lambda p: {"y": p["w"] * p["b"][0], "z": p["b"][1][1] * 2.0}, p)
    again = pickle.loads(pickle.dumps(lin))
    u = {"y": np.ones((2, 2)), "z": np.ones(3)}
    got, wanted = again.vjp(u), lin.vjp(u)
    assert got["w"].dtype == wanted["w"].dtype == np.float32
    np.testing.assert_array_equal(cadiff.flatten(got)[0], cadiff.flatten(wanted)[0])
    assert type(got["b"][1]) is tuple
    assert again(p).keys() == lin(p).keys()


def test_maps_that_hold_a_recording_do_not_pickle() -> None:
    _, lin = cadiff.linearize(CASES["primitive"], np.arange(7.0))
    with pytest.raises(TypeError, match="holds a recording"):
        pickle.dumps(lin)


@pytest.mark.parametrize("f", [assigned, of_matrices, broyden])
def test_damaged_bytes_are_refused(f: Function) -> None:
    _, lin = cadiff.linearize(f, np.linspace(-1.0, 1.0, 7))
    data = lin._action._frozen.to_bytes()  # type: ignore[union-attr]
    assert binding.thawed_map(data).to_bytes() == data
    for k in range(len(data)):
        for flipped in (data[k] ^ 1, data[k] ^ 0xFF):
            with pytest.raises(ValueError, match="bytes of a linear map"):
                binding.thawed_map(data[:k] + bytes([flipped]) + data[k + 1 :])
        with pytest.raises(ValueError, match="bytes of a linear map"):
            binding.thawed_map(data[:k])
    with pytest.raises(TypeError, match="not str"):
        binding.thawed_map("map")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Recording\.freeze"):
        binding.FrozenMap()


def test_bytes_whose_checksum_was_forged_never_lead_out_of_the_map() -> None:
    _, lin = cadiff.linearize(of_matrices, np.linspace(-1.0, 1.0, 7))
    body = lin._action._frozen.to_bytes()[:-4]  # type: ignore[union-attr]
    refused = 0
    for k in range(len(body)):
        changed = body[:k] + bytes([body[k] ^ 0x41]) + body[k + 1 :]
        try:
            again = binding.thawed_map(changed + zlib.crc32(changed).to_bytes(4, "little"))
        except (ValueError, MemoryError):
            refused += 1
            continue
        places = int.from_bytes(changed[8:16], "little")
        if again.m < 100 and again.n < 100 and places < 10**6:
            again.dense()
            again.carry_columns(np.ones(again.n), False)
    assert refused > 100


def test_threads_share_a_map() -> None:
    x = np.linspace(-1.0, 1.0, 60)
    maps = [cadiff.linearize(f, x)[1] for f in (broyden, broyden_of_arrays)]
    wanted = broyden_jacobian(x)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(100):
            for lin in maps:
                t = rng.normal(size=60)
                np.testing.assert_allclose(lin(t), wanted @ t, atol=1e-12)
                np.testing.assert_allclose(lin.vjp(t), wanted.T @ t, atol=1e-12)
            np.testing.assert_allclose(maps[0].todense(), wanted, atol=1e-14)

    in_threads(8, work)


def test_long_maps_in_threads() -> None:
    """So long that other threads run meanwhile."""
    x = np.linspace(-1.0, 1.0, 200_000)
    _, lin = cadiff.linearize(lambda x: cnp.sin(x) * cnp.flip(x), x)
    results = in_threads(4, lambda k: lin(np.full(x.size, float(k))))
    wanted = np.cos(x) * x[::-1] + np.sin(x)
    for k in range(4):
        np.testing.assert_allclose(results[k], k * wanted, atol=1e-13)


def test_linear_operators_in_scipy() -> None:
    linalg = pytest.importorskip("scipy.sparse.linalg")
    rng = np.random.default_rng(0)
    a = rng.normal(size=(20, 20)) + 20.0 * np.eye(20)
    x, b = rng.normal(size=20), rng.normal(size=20)
    _, lin = cadiff.linearize(lambda x: cnp.matmul(a, cnp.sinh(x)), x)
    matrix = a * np.cosh(x)
    np.testing.assert_allclose(lin.todense(), matrix, rtol=1e-13)
    solution = np.linalg.solve(matrix, b)
    operator = lin.as_linear_operator()
    assert operator.shape == (20, 20)
    assert operator.dtype == np.float64
    got = linalg.gmres(operator, b, rtol=1e-12)[0]
    np.testing.assert_allclose(got, solution, rtol=1e-9)
    got = linalg.lsqr(operator, b, atol=1e-14, btol=1e-14)[0]
    np.testing.assert_allclose(got, solution, rtol=1e-8)
    normal = linalg.LinearOperator((20, 20), lambda t: lin.vjp(lin(t)))
    got = linalg.cg(normal, matrix.T @ b, rtol=1e-13)[0]
    np.testing.assert_allclose(got, solution, rtol=1e-8)
    transposed = lin.T.as_linear_operator()
    np.testing.assert_allclose(transposed @ b, matrix.T @ b, rtol=1e-13)


def test_a_linear_operator_without_scipy_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, lin = cadiff.linearize(lambda x: x, 1.0)
    plain_import = builtins.__import__

    def without_scipy(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("scipy"):
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_scipy)
    with pytest.raises(ImportError, match=r"pip install scipy"):
        lin.as_linear_operator()


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [broyden, broyden_of_arrays, assigned, of_matrices])
def test_failures_of_memory_leave_everything_as_it_was(f: Function) -> None:
    x = np.linspace(-1.0, 1.0, 7)
    before = binding.tape_usage()
    wanted = cadiff.jacfwd(f)(x)
    failures = 0
    for granted in range(400):
        binding._core._fail_allocations_after(granted)
        try:
            _, lin = cadiff.linearize(f, x)
            matrix = lin.todense()
        except MemoryError:
            failures += 1
            continue
        finally:
            binding._core._fail_allocations_after(-1)
            lin = None  # type: ignore[assignment]
        np.testing.assert_allclose(matrix, np.reshape(wanted, matrix.shape), atol=1e-13)
        break
    assert 3 < failures < 399
    usage = binding.tape_usage()
    assert usage["recordings"] == before["recordings"]
    assert usage["handles"] == before["handles"]
    np.testing.assert_allclose(cadiff.jacrev(f)(x), wanted, atol=1e-13)


def test_large_maps() -> None:
    """A million operations on single numbers, and arrays of a million."""
    n = 100_000

    def f(x: Any) -> Any:
        total = 0.0
        for i in range(n):
            total = total + cadiff.sin(x[0] * float(i)) * x[1]
        return total

    i = np.arange(n)
    x = [0.3, 2.0]
    out, lin = cadiff.linearize(f, x)
    du, dv = lin.vjp(1.0)
    np.testing.assert_allclose(out, 2.0 * np.sum(np.sin(0.3 * i)), rtol=1e-9)
    np.testing.assert_allclose(du, 2.0 * np.sum(i * np.cos(0.3 * i)), rtol=1e-9)
    np.testing.assert_allclose(dv, np.sum(np.sin(0.3 * i)), rtol=1e-9)
    y = np.linspace(0.0, 1.0, 10**6)
    _, lin = cadiff.linearize(lambda y: cnp.sum(cnp.exp(cnp.sin(y)) * y), y)
    wanted = np.exp(np.sin(y)) * (1.0 + y * np.cos(y))
    np.testing.assert_allclose(lin.vjp(1.0), wanted, rtol=1e-13)
    np.testing.assert_allclose(lin(np.ones(10**6)), np.sum(wanted), rtol=1e-12)


@pytest.mark.parametrize("make", ["linearize", "vjp"])
def test_recordings_with_rules_belong_to_their_thread(make: str) -> None:
    """Rules are Python: while one runs, another thread would sweep over the same tape."""
    x = np.linspace(0.1, 1.0, 1000)
    _, derivative = getattr(cadiff, make)(lambda x: np.cumprod(1.0 + 1e-3 * x), x)
    pull = derivative.vjp if make == "linearize" else derivative
    factors = 1.0 + 1e-3 * x
    expected = np.cumsum((x * np.cumprod(factors))[::-1])[::-1] / factors * 1e-3
    raised: list[BaseException] = []

    def work() -> None:
        try:
            pull(x)
        except RuntimeError as error:
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    np.testing.assert_allclose(pull(x), expected, rtol=1e-12)
    for thread in threads:
        thread.join()
    assert len(raised) == 4
    assert all("recorded in another thread" in str(error) for error in raised)
    np.testing.assert_allclose(pull(x), expected, rtol=1e-12)


def test_damaged_bytes_give_the_same_map_or_an_error() -> None:
    _, lin = cadiff.linearize(lambda x, y: {"a": x * y, "b": [cnp.sum(x)]}, np.ones(3), 2.0)
    whole, shown = pickle.dumps(lin), repr(lin(np.ones(3), 1.0))
    assert repr(pickle.loads(whole)(np.ones(3), 1.0)) == shown
    for changes in (
        {"_count": 1},
        {"_output": cadiff.transforms._outputs.Output([1.0, 2.0])},
        {"_action": None},
    ):
        with pytest.raises(ValueError, match="no LinearMap, or were damaged"):
            cadiff.LinearMap.__new__(cadiff.LinearMap).__setstate__({**vars(lin), **changes})
    state = vars(lin).copy()
    del state["_single"]
    with pytest.raises(ValueError, match="no LinearMap, or were damaged"):
        cadiff.LinearMap.__new__(cadiff.LinearMap).__setstate__(state)


def one_element(x: Any) -> Any:
    y = cnp.zeros(2)
    y[0] = x**3
    return y[0]


def no_axes(x: Any) -> Any:
    y = cnp.zeros(())
    y[()] = x**3
    return 1.0 * y[()]


def filled(x: Any) -> Any:
    y = cnp.array(1.0)
    y.fill(x**3)
    return y[()]


def again(x: Any) -> Any:
    y = cnp.zeros(2)
    y[0] = x
    y[1] = y[0] ** 3
    y[0] = 0.0
    return y[1]


@pytest.mark.parametrize("f", [one_element, no_axes, filled, again])
def test_assigned_numbers_in_maps_of_maps(f: Any) -> None:
    """There are no arrays in these but those of the numbers that are assigned to."""
    slope = 3.0 * 1.5**2
    for cotangent in (0.0, 1.0, 2.0):
        pulled = cadiff.vjp(lambda g: cadiff.vjp(f, 1.5)[1](g), cotangent)[1]
        assert pulled(1.0) == pytest.approx(slope, rel=1e-15)
    assert cadiff.linearize(f, 1.5)[1](1.0) == pytest.approx(slope, rel=1e-15)
    assert cadiff.grad(lambda g: cadiff.jvp(f, (1.5,), (g,))[1])(1.0) == pytest.approx(slope)


def test_a_map_is_called_not_multiplied() -> None:
    out, lin = cadiff.linearize(np.sin, np.array([1.0, 2.0]))
    for multiply in (lambda: lin @ out, lambda: out @ lin, lambda: 2.0 * lin, lambda: lin.T @ out):
        with pytest.raises(TypeError, match=r"a LinearMap is called: write lin\(t\)"):
            multiply()
