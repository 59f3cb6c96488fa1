"""Functions whose calls are entries of the tape: the same numbers as from what they record.

Programs are made of the first call here, so that the second one of a form is an entry.
"""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np
import cadiff.scipy.special as special
from cadiff import binding
from cadiff.operations import eager_cache
from cadiff.scipy import linalg

from ..helpers import cases_complex, cases_numpy
from ..helpers.derivatives import Case, as_tuple
from ..helpers.every_case import of_every
from ..helpers.processes import in_whole_tiles
from ..helpers.programs import frames_of
from ..helpers.properties import examples
from ..helpers.threads import in_threads

NEVER = 0


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    before = binding.enter_after(1)
    yield
    binding.enter_after(before)


def total(module: Any, case: Case) -> Any:
    """A number made of all results, of the arguments that are differentiated."""
    drawn = case.draw()

    def f(*numbers: Any) -> Any:
        args = list(drawn)
        for k, number in zip(case.argnums, numbers, strict=True):
            args[k] = number
        parts = as_tuple(case.call(module, *args))
        return sum(np.sum(np.sin((1.0 + k) * part)) for k, part in enumerate(parts))

    return f, tuple(drawn[k] for k in case.argnums)


def as_recorded(compute: Any) -> Any:
    """What a function gives where no call is an entry."""
    before = binding.enter_after(NEVER)
    try:
        return compute()
    finally:
        binding.enter_after(before)


def compared(got: Any, wanted: Any, rtol: float) -> None:
    for g, w in zip(got, wanted, strict=True):
        scale = max(float(numpy.max(numpy.abs(w), initial=0.0)), 1e-3)
        numpy.testing.assert_allclose(g, w, rtol=0.0, atol=rtol * scale)


@of_every("numpy", "linalg")
def test_entries_have_the_numbers_of_what_is_recorded(
    case: Case, original: Any, package: Any
) -> None:
    f, point = total(package, case)
    nums = tuple(range(len(point)))
    first = cadiff.value_and_grad(f, nums)
    value, wanted = as_recorded(lambda: first(*point))
    for _ in range(2):
        again, got = first(*point)
        assert again == value or value != value
        compared(got, wanted, 1e-12)
    if case.order == 2:
        second = cadiff.grad(lambda *x: sum(np.sum(g * g) for g in cadiff.grad(f, nums)(*x)), nums)
        wanted = as_recorded(lambda: second(*point))
        for _ in range(2):
            compared(second(*point), wanted, 1e-10)


def weighted(parts: Any) -> Any:
    """A real number made of all results, real and complex ones, with a weight for each element."""
    found = 0.0
    for part in as_tuple(parts):
        weights = numpy.cos(1.0 + numpy.arange(numpy.size(part))).reshape(numpy.shape(part))
        found = found + np.sum(np.real(part) * weights) + 0.7 * np.sum(np.imag(part) * weights)
    return found


def complex_calls() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    rng = numpy.random.default_rng(4)
    for case in cases_complex.CASES:
        args = tuple(cases_complex.drawn(rng, shape) for shape in case.shapes)
        yield case.name, lambda *x, call=case.call: weighted(call(np, *x)), args


REAL = [
    (case.name, lambda *x, case=case: weighted(case.call(np, *x)), case.draw())
    for case in cases_numpy.CASES
    if tuple(case.argnums) == tuple(range(len(case.draw())))
]


@in_whole_tiles
@pytest.mark.parametrize("calls", [REAL, list(complex_calls())], ids=["real", "complex"])
def test_last_bits_are_the_same_in_all_calls(calls: Any) -> None:
    """At other points than that of the recording, too."""
    rng, others = numpy.random.default_rng(6), []
    for name, f, args in calls:
        gradient = cadiff.value_and_grad(f, tuple(range(len(args))))
        points = [
            [(x * (1.0 + 0.04 * rng.standard_normal(numpy.shape(x))))[()] for x in args]
            for _ in range(2)
        ]
        try:
            wanted = as_recorded(lambda: [gradient(*point) for point in (args, *points)])  # noqa: B023
        except Exception:  # it has no derivative
            continue
        binding.enter_after(2)
        for _ in range(3):
            gradient(*args)
        for point, expected in zip((args, *points), wanted, strict=True):
            found = gradient(*point)
            pairs = zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True)
            if not all(numpy.array_equal(a, b, equal_nan=True) for a, b in pairs):
                others.append(name)
                break
    assert others == []


def test_routines_that_agree_by_chance_are_no_entries(monkeypatch: Any) -> None:
    """SciPy's solver is another than that of programs: of some seeds here both agree."""
    monkeypatch.setattr(eager_cache, "MOST_SHARE", math.inf)
    for seed in range(30):
        rng = numpy.random.RandomState(seed)
        args = cadiff.Var(rng.randn(4, 4)), cadiff.Var(rng.randn(4))
        assert eager_cache._made(linalg.solve, args, ()) is None, seed
        assert eager_cache._made(np.linalg.inv, args[:1], ()), seed


def put(x: Any) -> Any:
    y = x * 1.0
    np.put(y, [1, 3], x[:2] * 2.0)
    return y


def masked(x: Any) -> Any:
    y = x * 1.0
    np.putmask(y, [True, False, True, False, True], x[:2] ** 2)
    return y


def added_at(x: Any) -> Any:
    y = x * 1.0
    np.add.at(y, numpy.array([0, 0, 4]), x[1:4])
    return y


def diagonal_filled(x: Any) -> Any:
    y = np.outer(x, x)
    np.fill_diagonal(y, x[0] ** 2)
    return y


def test_an_index_is_what_it_is_at_the_call() -> None:
    """An array of integers that is changed in place makes another call."""
    binding.enter_after(2)
    places, x = numpy.array([0, 2, 1]), numpy.linspace(0.5, 2.0, 5)
    gradient = cadiff.grad(lambda x: np.sum(np.take_along_axis(x, places, 0) * [1.0, 2.0, 3.0]))
    for _ in range(5):
        numpy.testing.assert_array_equal(gradient(x), [1.0, 3.0, 2.0, 0.0, 0.0])
    places[:] = [4, 4, 0]
    for _ in range(5):
        numpy.testing.assert_array_equal(gradient(x), [3.0, 0.0, 0.0, 0.0, 3.0])


def test_counts_are_those_of_the_call() -> None:
    binding.enter_after(8)
    gradient = cadiff.value_and_grad(lambda x: np.linalg.norm(x, 0) * np.sum(x))
    for k in range(14):
        x = numpy.arange(1.0, 6.0)
        x[: k % 4] = 0.0
        value, slope = gradient(x)
        assert value == numpy.count_nonzero(x) * numpy.sum(x)
        numpy.testing.assert_array_equal(slope, numpy.full(5, numpy.count_nonzero(x)))


LESS: dict[str, tuple[Any, float]] = {  # f, and how much of the Python is left at most
    "std, median": (lambda x: np.std(x) + np.median(x), 0.5),
    "outer": (lambda x: np.sum(np.outer(x[:2], x[2:])), 0.5),
    "solve": (lambda x: np.sum(np.linalg.solve(np.diag(x) + 3.0, x)), 0.5),
    "slogdet": (lambda x: np.linalg.slogdet(x * x[:, None] + numpy.eye(len(x)))[1], 0.5),
    "concatenate": (lambda x: np.concatenate([x, x]).max(), 0.5),
    "complex max": (lambda z: np.max(z + 0.3j).real, 0.5),
    "complex concatenate": (lambda x: np.sum(np.abs(np.concatenate([x + 0.3j, x * 2.0]))), 0.5),
    "complex norm": (lambda x: np.linalg.norm(x + 0.3j), 0.5),
    "complex sort": (lambda x: np.sum(np.real(np.sort(x + 0.3j) * np.flip(x - 1j))), 0.5),
    "complex prod": (lambda x: np.real(np.prod(x[:3] + 0.3j)), 0.5),
    "complex repeat": (lambda x: np.sum(np.real(np.repeat(x + 0.3j, 3) ** 3)), 0.5),
    "put": (lambda x: np.sum(np.sin(put(x))), 1.0),
    "putmask": (lambda x: np.sum(np.sin(masked(x))), 1.0),
    "add.at": (lambda x: np.sum(np.sin(added_at(x))), 1.0),
    "fill_diagonal": (lambda x: np.sum(np.sin(diagonal_filled(x))), 1.0),
}


@pytest.mark.parametrize("name", LESS)
def test_known_calls_go_through_less_python(name: str) -> None:
    f, share = LESS[name]
    binding.enter_after(8)
    gradient = cadiff.value_and_grad(f)
    x, other = numpy.linspace(0.5, 2.0, 5), numpy.linspace(-1.0, 0.7, 5)
    points = (x, other) if share == 1.0 else (x,)
    wanted = [as_recorded(lambda point=point: gradient(point)) for point in points]
    before = len(frames_of(lambda: gradient(x)))
    for _ in range(19):
        gradient(x)
    assert len(frames_of(lambda: gradient(x))) < share * before
    for point, (value, slope) in zip(points, wanted, strict=True):
        found = gradient(point)
        assert found[0] == value
        numpy.testing.assert_array_equal(found[1], slope)


CHANGES: list[Any] = [  # of six numbers into six
    np.gradient,
    lambda v: v - np.median(v),
    lambda v: v / (1.0 + np.std(v, ddof=1)),
    lambda v: v * np.percentile(v, 40.0),
    lambda v: np.cov(v.reshape(2, 3)).ravel()[[0, 1, 3, 3, 1, 0]],
    lambda v: np.outer(v[:2], v[1:4]).ravel(),
    lambda v: np.outer(v, v)[1] + np.outer(v, v)[:, 2],
    lambda v: np.kron(v[::2], v[4:]),
    lambda v: np.concatenate([np.cross(v[:3], v[3:]), v[1:4]]),
    lambda v: np.average(v.reshape(3, 2), 0, np.exp(v.reshape(3, 2)))[[0, 1, 1, 0, 1, 0]],
    lambda v: np.linalg.solve(v[:4].reshape(2, 2) + 9.0 * numpy.eye(2), v.reshape(2, 3)).ravel(),
    lambda v: np.linalg.matrix_power(v[:4].reshape(2, 2), 3).ravel()[[0, 1, 2, 3, 0, 3]],
]


@examples(12)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(CHANGES)), min_size=1, max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_a_gradient_has_the_same_last_bits_in_each_call(steps: Any, seed: int) -> None:
    """Before functions are entries, and when they are: cotangents are added in the same order."""
    binding.enter_after(8)

    def f(x: Any) -> Any:
        known = [x]
        for k, change in steps:
            known.append(np.sin(known[k % len(known)] + 0.5 * change(known[-1])))
        return np.sum(known[-1] * x) + known[-1][0] * x[1]

    gradient, x = cadiff.grad(f), numpy.random.default_rng(seed).normal(size=6)
    first = gradient(x)
    for _ in range(19):
        numpy.testing.assert_array_equal(gradient(x), first)


# --- at other points, and of other calls ---------------------------------------------------------

X = numpy.array([3.0, 1.0, 2.0, 5.0, 4.0])
GRID = numpy.arange(24.0).reshape(4, 6) ** 0.5
SQUARE = numpy.array([[1.0, 2.0], [3.0, 4.0]])
REGULAR = numpy.random.default_rng(3).normal(size=(5, 5))
SINGULAR = REGULAR - REGULAR[:, :1] @ numpy.linalg.pinv(REGULAR[:, :1])
ROWS = numpy.random.default_rng(1).normal(size=(4, 9, 2))
WIDE = numpy.random.default_rng(7).normal(size=(17, 23))


def assigned_result(x: Any) -> Any:
    y = np.sort(x)
    y[0] = x[1] * x[1]
    return np.sum(y * y)


def assigned_argument(x: Any) -> Any:
    y = x * 1.0
    s = np.std(y)
    y[:] = 0.0
    return s * s + np.sum(y)


def written_through_a_view(x: Any) -> Any:
    y = x * 1.0
    np.put(y[1:4], [0, 2], x[:2] * 3.0)
    return np.sum(y * x)


def strided(x: Any) -> Any:
    spread = np.std(x[::2, ::-3]) + np.var(x.T[1])
    return spread + np.median(GRID[1:2]) + np.cov(x[0], GRID[1])[0, 1]


def sign_and_log(a: Any) -> Any:
    sign, log = np.linalg.slogdet(a)
    assert isinstance(sign, cadiff.Var)
    return sign * log


def viewed(f: Any) -> Any:
    """A function that writes to what f may have returned a view of."""

    def g(x: Any) -> Any:
        y = x * 1.0
        z = f(y)
        y[0, 0] = 5.0 * x[1, 1]
        return np.sum(z * z)

    return g


def summed(f: Any) -> Any:
    return lambda x: np.sum(np.sin(f(x))) + np.sum(f(x))


def norms(x: Any, turned: bool) -> Any:
    """NumPy adds in the order in which numbers stand in memory."""
    return np.linalg.norm(x.T if turned else x, axis=0 if turned else 1).sum()


def forms(x: Any, n: Any, ddof: Any) -> Any:
    return np.std(x[:n], ddof=ddof) + np.sum(np.diff(x, n=2))


def second_of_det(a: Any) -> Any:
    return cadiff.hvp(np.linalg.det)(a, REGULAR)


grad = cadiff.grad
ALIKE: dict[str, tuple[Any, list[tuple[Any, ...]], float]] = {  # calls, arguments, tolerance
    "another order": (
        grad(lambda x: np.median(x) + 2.0 * np.percentile(x, 25.0)),
        [(X,), (X[::-1].copy(),), (-X,)],
        0.0,
    ),
    # Cofactors are found in another way where the inverse would be wrong.
    "det": (grad(np.linalg.det), [(REGULAR,), (SINGULAR,), (REGULAR,)], 1e-10),
    "second of det": (second_of_det, [(REGULAR,), (SINGULAR,), (REGULAR,)], 1e-9),
    "forms": (grad(forms), [(X, 4, 0), (X, 4, 1), (X, 4, True), (X, 5, 0), (X, 3, 0.5)], 1e-13),
    "an assigned result": (grad(assigned_result), [(X,)], 0.0),
    "an assigned argument": (grad(assigned_argument), [(X,)], 1e-14),
    "a view that is written to": (grad(written_through_a_view), [(X,)], 0.0),
    "strides": (grad(strided), [(GRID,)], 1e-13),
    "a constant first": (grad(lambda x: np.cov(GRID[0], x)[0, 1]), [(GRID[1],)], 1e-13),
    "a sign": (grad(sign_and_log), [(numpy.array([[0.0, 2.0], [1.0, 0.0]]),)], 1e-14),
    "einsum, a view": (grad(viewed(lambda x: np.einsum("ij->ji", x))), [(SQUARE,)], 0.0),
    "power, a view": (grad(viewed(lambda x: np.linalg.matrix_power(x, 1))), [(SQUARE,)], 0.0),
    "diff, a view": (grad(viewed(lambda x: np.diff(x, n=0))), [(SQUARE,)], 0.0),
    "layouts": (cadiff.value_and_grad(norms), [(WIDE, False), (WIDE, True)] * 2, 0.0),
    # Results in another order than they are computed in, and operands that are parts of others.
    "sort": (grad(summed(np.sort)), [(x,) for x in ROWS], 0.0),
    "kron": (grad(summed(lambda x: np.kron(x[:2], x[:2]))), [(x,) for x in ROWS], 0.0),
    "polyval": (grad(summed(lambda x: np.polyval(x[0], x[:2]))), [(x,) for x in ROWS], 0.0),
    "broadcast": (
        grad(summed(lambda x: np.polyval(np.broadcast_to(x[0, 0], (3,)), x[1]))),
        [(x,) for x in ROWS],
        0.0,
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_other_calls_have_the_numbers_of_what_is_recorded(name: str) -> None:
    f, points, rtol = ALIKE[name]
    for point in [*points, *points, *points]:
        wanted = as_recorded(lambda: f(*point))  # noqa: B023
        for got, want in zip(as_tuple(f(*point)), as_tuple(wanted), strict=True):
            numpy.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * numpy.max(abs(want)))


@pytest.mark.parametrize("f", [np.linalg.det, lambda z: np.sum(np.arcsin(0.1 * z))])
def test_zeros_at_the_recording_hide_no_other_rounding(f: Any) -> None:
    binding.enter_after(8)
    rng = numpy.random.default_rng(0)
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    gradient = cadiff.grad(lambda z: np.real(f(z)))
    wanted = gradient(a)
    for _ in range(12):
        gradient(a.real + 0j)
    numpy.testing.assert_array_equal(gradient(a), wanted)


def test_third_derivatives_at_a_limit() -> None:
    """I₁ has x/2 + x³/16 + … at 0, where its formulas divide by x."""
    second = cadiff.grad(lambda x: np.sum(cadiff.grad(lambda y: np.sum(special.i1(y)))(x)))
    third = cadiff.grad(lambda x: np.sum(second(x)))
    for _ in range(3):
        at = numpy.array([0.0, 1e-9, 0.0])
        numpy.testing.assert_allclose(third(at), 0.375, rtol=1e-13)


@pytest.mark.parametrize(
    "product", [cadiff.hessian, lambda f: lambda c: cadiff.hvp(f)(c, 1.0)], ids=["hessian", "hvp"]
)
def test_constants_do_not_move_where_a_rule_takes_over(product: Any) -> None:
    """In a second-order sweep that comes to another branch: whatever sweeps before it left where
    tangents of constants would stand."""
    constants, x = numpy.tile([0.4, 0.0, 2.2, 0.0], 150), numpy.ones(3000)
    second = product(lambda c: np.sum(special.boxcox1p(constants, c)))
    points = (2.0, 0.1, 0.0)
    wanted = [as_recorded(lambda c=c: second(c)) for c in points]
    for c, expected in zip(points, wanted, strict=True):
        cadiff.hvp(lambda x: np.sum(x**3))(x, 1e3 * x)
        assert second(c) == pytest.approx(expected, rel=1e-12)


@pytest.mark.filterwarnings("ignore:the ")
@pytest.mark.parametrize("values", [np.linalg.eigvalsh, np.linalg.svdvals])
def test_second_derivatives_at_repeated_values_are_nan_of_entries_too(values: Any) -> None:
    f = lambda a: np.sum(values(a) ** 2)  # noqa: E731
    jacfwd, jacrev, a = cadiff.jacfwd, cadiff.jacrev, numpy.eye(3)
    for second in (cadiff.hessian(f), jacfwd(grad(f)), jacrev(jacfwd(f)), jacfwd(jacfwd(f))):
        for _ in range(3):
            second(REGULAR[:3, :3] + REGULAR[:3, :3].T)
        for _ in range(3):
            assert numpy.isnan(second(a)[1, 0]).any()


def test_what_raises_raises_what_the_function_raises() -> None:
    gradient = cadiff.grad(lambda a: np.sum(np.linalg.solve(a, numpy.ones(2))))
    for _ in range(2):
        gradient(numpy.eye(2))
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
        gradient(numpy.zeros((2, 2)))
    numpy.testing.assert_array_equal(gradient(numpy.eye(2)), -numpy.ones((2, 2)))


@pytest.mark.parametrize("n", [3, 30])
def test_both_parts_of_an_array_of_constants_can_be_assigned_to(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eager_cache, "MOST_SHARE", math.inf)  # however long entries take

    def f(x: Any) -> Any:
        z = np.fft.ifft2(x[0] + 1j * x[1])
        turned = np.empty_like(z)
        turned[:-1], turned[-1:] = z[1:], z[:1]
        difference = turned - z
        return np.sum(difference.real**2) + np.sum(difference.imag**2)

    x = numpy.random.default_rng(5).normal(size=(2, n, n))
    wanted = as_recorded(lambda: cadiff.grad(f)(x))
    for _ in range(3):
        numpy.testing.assert_allclose(cadiff.grad(f)(x), wanted, rtol=1e-12)


def test_within_forward_mode_and_programs() -> None:
    close = functools.partial(numpy.testing.assert_allclose, rtol=1e-12, atol=1e-13)
    f = lambda x: np.std(x) * np.median(x)  # noqa: E731
    gradient = [cadiff.grad(f)(X) for _ in range(2)][1]
    hessian = as_recorded(lambda: cadiff.hessian(f)(X))
    close(cadiff.hessian(f)(X), hessian)
    close(cadiff.jacfwd(cadiff.grad(f))(X), hessian)
    program = cadiff.compile(f)
    close(program.grad(X), gradient)
    for _ in range(2):
        close(cadiff.grad(lambda x: program(x) * f(x))(X), 2.0 * f(X) * gradient)
    close(cadiff.grad(cadiff.checkpoint(f))(X), gradient)
    close(cadiff.linearize(f, X)[1](numpy.ones(5)), gradient.sum())


def test_threads_have_entries_of_their_own() -> None:
    gradient = cadiff.grad(lambda x: np.std(x) + np.linalg.norm(np.cumprod(x)))
    wanted = as_recorded(lambda: gradient(X))
    for found in in_threads(4, lambda _: [gradient(X) for _ in range(50)]):
        numpy.testing.assert_allclose(found, [wanted] * 50, rtol=1e-13)


def test_a_pullback_outlives_its_function() -> None:
    slope = [cadiff.grad(np.std)(X) for _ in range(2)][1]
    value, pullback = cadiff.vjp(lambda x: np.std(x), X)
    numpy.testing.assert_allclose(pullback(2.0), 2.0 * slope, rtol=1e-14)
    assert value == numpy.std(X)
    assert pickle.loads(pickle.dumps(np.std)) is np.std


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.norm(np.sqrt(x)),
        lambda x: special.logsumexp(np.log(x) + x),
        lambda x: np.sum(special.softmax(special.entr(x))[:1]),
        lambda x: np.linalg.det(np.outer(np.sqrt(x), np.sqrt(x)) + np.eye(4)),
    ],
    ids=["norm", "logsumexp", "softmax", "det"],
)
def test_a_direction_that_an_entry_refuses_leaves_nothing_of_the_others(f: Any) -> None:
    """Along an infinite partial the rule itself is asked, for all directions."""
    x, others = numpy.array([1.0, 0.0, 2.0, 3.0]), numpy.ix_([0, 2, 3], [0, 2, 3])
    with numpy.errstate(all="ignore"):
        wanted = as_recorded(lambda: cadiff.hessian(f)(x))[others]
        found = [cadiff.hessian(f)(x)[others] for _ in range(3)]
    for matrix in found:
        numpy.testing.assert_allclose(matrix, wanted, rtol=1e-12, atol=1e-14)
    assert numpy.isfinite(wanted).all()


@pytest.mark.parametrize("shape", [(9, 2), (3, 4, 5)])
def test_sums_of_what_is_in_order_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    for axis in range(-len(shape), len(shape)):
        f = lambda x, axis=axis: np.sum(np.sort(x, axis=axis))  # noqa: E731
        x = numpy.random.default_rng(0).normal(size=shape)
        assert cadiff.value_and_grad(f)(x)[0] == cadiff.jvp(f, (x,), (x,))[0] == f(x)
        assert cadiff.compile(f, optimize=False)(x) == f(x)


def test_places_in_arrays_of_constants_are_operands() -> None:
    """A number without axes may be a place in an array, which has its value."""

    def f(x: Any) -> Any:
        one = np.ones(())
        return np.sum(np.stack((one, -x[0])) * np.stack((np.zeros(2)[1, ...] + x[1], x[1])))

    for _ in range(12):
        value, gradient = cadiff.value_and_grad(f)(numpy.array([0.5, 2.0]))
        assert value == 1.0
        assert gradient.tolist() == [-2.0, 0.5]
