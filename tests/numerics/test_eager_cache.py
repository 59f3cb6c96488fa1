"""Functions whose calls are entries of the tape: the same numbers as from what they record.

Programs are made of the first call here, so that the second one of a form is an entry.
"""

from __future__ import annotations

import math
import pickle
import sys
import threading
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

from ..helpers import cases_complex, cases_linalg, cases_numpy
from ..helpers.derivatives import Case, as_tuple
from ..helpers.processes import in_whole_tiles
from ..helpers.properties import examples

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


CASES = [
    *[(case, np) for case in cases_numpy.CASES],
    *[(case, np) for case in cases_linalg.NUMPY],
]


@pytest.mark.parametrize(("case", "module"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_entries_have_the_numbers_of_what_is_recorded(case: Case, module: Any) -> None:
    if case in cases_linalg.NUMPY:
        module = type("Package", (), {"linalg": np.linalg})
    f, point = total(module, case)
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


@pytest.mark.parametrize(
    "f",
    [
        lambda z: np.max(z).real,
        lambda z: np.sum(np.abs(np.concatenate([z, z * 2.0]))),
        lambda z: np.linalg.norm(z),
        lambda z: np.sum(np.real(np.sort(z) * np.flip(z))),
        lambda z: np.real(np.prod(z[:3])),
        lambda z: np.sum(np.real(np.repeat(z, 3) ** 3)),
    ],
)
def test_complex_calls_go_through_less_python(f: Any) -> None:
    binding.enter_after(8)
    gradient, z = cadiff.grad(f), numpy.linspace(0.5, 2.0, 5) + 0.3j
    before, wanted = frames(lambda: gradient(z)), gradient(z)
    for _ in range(19):
        gradient(z)
    assert 2 * frames(lambda: gradient(z)) < before
    numpy.testing.assert_array_equal(gradient(z), wanted)


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


CHANGING = [put, masked, added_at, diagonal_filled]


@pytest.mark.parametrize("f", CHANGING)
def test_functions_that_write_to_an_argument_are_entries(f: Any) -> None:
    binding.enter_after(8)
    gradient = cadiff.value_and_grad(lambda x: np.sum(np.sin(f(x))))
    x, other = numpy.linspace(0.5, 2.0, 5), numpy.linspace(-1.0, 0.7, 5)
    wanted = [as_recorded(lambda: gradient(x)), as_recorded(lambda: gradient(other))]
    before = frames(lambda: gradient(x))
    for _ in range(19):
        gradient(x)
    assert frames(lambda: gradient(x)) < before
    for point, (value, slope) in zip((x, other), wanted, strict=True):
        found = gradient(point)
        assert found[0] == value
        numpy.testing.assert_array_equal(found[1], slope)


def test_what_is_written_through_a_view_is_seen_in_its_array() -> None:
    binding.enter_after(8)

    def f(x: Any) -> Any:
        y = x * 1.0
        np.put(y[1:4], [0, 2], x[:2] * 3.0)
        return np.sum(y * x)

    x = numpy.linspace(0.5, 2.0, 5)
    wanted = as_recorded(lambda: cadiff.grad(f)(x))
    for _ in range(20):
        numpy.testing.assert_array_equal(cadiff.grad(f)(x), wanted)


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


def test_an_operand_in_another_order_is_another_call() -> None:
    """NumPy adds in the order in which numbers stand in memory."""
    binding.enter_after(2)
    a = numpy.random.default_rng(7).normal(size=(17, 23))

    def f(x: Any, turned: bool) -> Any:
        y = x.T if turned else x
        return np.linalg.norm(y, axis=0 if turned else 1).sum()

    for turned in (False, True, False, True):
        wanted = as_recorded(lambda: cadiff.value_and_grad(f)(a, turned))  # noqa: B023
        for _ in range(4):
            found = cadiff.value_and_grad(f)(a, turned)
            assert found[0] == wanted[0]
            numpy.testing.assert_array_equal(found[1], wanted[1])


def test_counts_are_those_of_the_call() -> None:
    binding.enter_after(8)
    gradient = cadiff.value_and_grad(lambda x: np.linalg.norm(x, 0) * np.sum(x))
    for k in range(14):
        x = numpy.arange(1.0, 6.0)
        x[: k % 4] = 0.0
        value, slope = gradient(x)
        assert value == numpy.count_nonzero(x) * numpy.sum(x)
        numpy.testing.assert_array_equal(slope, numpy.full(5, numpy.count_nonzero(x)))


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


def frames(call: Any) -> int:
    """How many functions of Python a call goes through."""
    found = 0

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal found
        found += event == "call"

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.std(x) + np.median(x),
        lambda x: np.sum(np.outer(x[:2], x[2:])),
        lambda x: np.sum(np.linalg.solve(np.diag(x) + 3.0, x)),
        lambda x: np.linalg.slogdet(x * x[:, None] + numpy.eye(len(x)))[1],
        lambda x: np.concatenate([x, x]).max(),
    ],
)
def test_known_calls_go_through_less_python(f: Any) -> None:
    binding.enter_after(8)
    gradient, x = cadiff.grad(f), numpy.linspace(0.5, 2.0, 5)
    before = frames(lambda: gradient(x))
    for _ in range(19):
        gradient(x)
    assert 2 * frames(lambda: gradient(x)) < before


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


X = numpy.array([3.0, 1.0, 2.0, 5.0, 4.0])


def twice(f: Any, *args: Any) -> Any:
    """What it gives when its calls are entries."""
    f(*args)
    return f(*args)


def test_another_order_is_another_branch() -> None:
    gradient = cadiff.grad(lambda x: np.median(x) + 2.0 * np.percentile(x, 25.0))
    for _ in range(3):
        for x in (X, X[::-1].copy(), -X):
            expected = as_recorded(lambda x=x: gradient(x))
            numpy.testing.assert_array_equal(gradient(x), expected)


def test_a_branch_of_a_derivative_alone_is_taken_again() -> None:
    """Cofactors are found in another way where the inverse would be wrong."""
    rng = numpy.random.default_rng(3)
    regular = rng.normal(size=(5, 5))
    singular = regular - regular[:, :1] @ numpy.linalg.pinv(regular[:, :1])
    gradient = cadiff.grad(np.linalg.det)
    second = cadiff.hvp(np.linalg.det)
    for a in (regular, singular, regular):
        for _ in range(2):
            compared([gradient(a)], [as_recorded(lambda a=a: gradient(a))], 1e-10)
            moved = [second(a, regular), as_recorded(lambda a=a: second(a, regular))]
            compared(moved[:1], moved[1:], 1e-9)


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


def test_what_raises_raises_what_the_function_raises() -> None:
    gradient = cadiff.grad(lambda a: np.sum(np.linalg.solve(a, numpy.ones(2))))
    twice(gradient, numpy.eye(2))
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
        gradient(numpy.zeros((2, 2)))
    numpy.testing.assert_array_equal(gradient(numpy.eye(2)), -numpy.ones((2, 2)))


def test_forms_are_told_apart() -> None:
    def f(x: Any, n: Any, ddof: Any) -> Any:
        return np.std(x[:n], ddof=ddof) + np.sum(np.diff(x, n=2))

    gradient = cadiff.grad(f)
    for _ in range(3):
        for n, ddof in ((4, 0), (4, 1), (4, True), (5, 0), (3, 0.5)):
            wanted = as_recorded(lambda n=n, ddof=ddof: gradient(X, n, ddof))
            numpy.testing.assert_allclose(gradient(X, n, ddof), wanted, rtol=1e-13, atol=1e-15)


def test_results_can_be_assigned_to() -> None:
    def f(x: Any) -> Any:
        y = np.sort(x)
        y[0] = x[1] * x[1]
        return np.sum(y * y)

    wanted = as_recorded(lambda: cadiff.grad(f)(X))
    numpy.testing.assert_array_equal(twice(cadiff.grad(f), X), wanted)


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


def test_an_argument_assigned_to_later_keeps_what_was_read() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        s = np.std(y)
        y[:] = 0.0
        return s * s + np.sum(y)

    wanted = as_recorded(lambda: cadiff.grad(f)(X))
    numpy.testing.assert_allclose(twice(cadiff.grad(f), X), wanted, rtol=1e-14)


def test_views_strides_and_constants() -> None:
    grid = numpy.arange(24.0).reshape(4, 6) ** 0.5

    def f(x: Any) -> Any:
        return (
            np.std(x[::2, ::-3])
            + np.var(x.T[1])
            + np.median(grid[1:2])
            + np.cov(x[0], grid[1])[0, 1]
        )

    wanted = as_recorded(lambda: cadiff.grad(f)(grid))
    numpy.testing.assert_allclose(twice(cadiff.grad(f), grid), wanted, rtol=1e-13, atol=1e-16)
    only = cadiff.grad(lambda x: np.cov(grid[0], x)[0, 1])
    numpy.testing.assert_allclose(
        twice(only, grid[1]), as_recorded(lambda: only(grid[1])), rtol=1e-13
    )


def test_signs_that_have_no_derivative_are_numbers() -> None:
    def f(a: Any) -> Any:
        sign, log = np.linalg.slogdet(a)
        assert isinstance(sign, cadiff.Var)
        return sign * log

    a = numpy.array([[0.0, 2.0], [1.0, 0.0]])
    numpy.testing.assert_allclose(
        twice(cadiff.grad(f), a), as_recorded(lambda: cadiff.grad(f)(a)), rtol=1e-14
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.einsum("ij->ji", x),
        lambda x: np.linalg.matrix_power(x, 1),
        lambda x: np.diff(x, n=0),
    ],
)
def test_what_returns_a_view_goes_on_doing_so(f: Any) -> None:
    def g(x: Any) -> Any:
        y = x * 1.0
        z = f(y)
        y[0, 0] = 5.0 * x[1, 1]
        return np.sum(z * z)

    a = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    numpy.testing.assert_array_equal(
        twice(cadiff.grad(g), a), as_recorded(lambda: cadiff.grad(g)(a))
    )


def test_within_forward_mode_and_programs() -> None:
    f = lambda x: np.std(x) * np.median(x)  # noqa: E731
    twice(cadiff.grad(f), X)
    hessian = as_recorded(lambda: cadiff.hessian(f)(X))
    numpy.testing.assert_allclose(cadiff.hessian(f)(X), hessian, rtol=1e-12, atol=1e-14)
    mixed = cadiff.jacfwd(cadiff.grad(f))(X)
    numpy.testing.assert_allclose(mixed, hessian, rtol=1e-12, atol=1e-14)
    program = cadiff.compile(f)
    numpy.testing.assert_allclose(program.grad(X), cadiff.grad(f)(X), rtol=1e-13)
    numpy.testing.assert_allclose(
        twice(cadiff.grad(lambda x: program(x) * f(x)), X),
        2.0 * f(X) * cadiff.grad(f)(X),
        rtol=1e-13,
    )
    checkpointed = cadiff.checkpoint(f)
    numpy.testing.assert_allclose(cadiff.grad(checkpointed)(X), cadiff.grad(f)(X), rtol=1e-13)
    frozen = cadiff.linearize(f, X)
    numpy.testing.assert_allclose(frozen[1](numpy.ones(5)), cadiff.grad(f)(X).sum(), atol=1e-13)


def test_threads_have_entries_of_their_own() -> None:
    gradient = cadiff.grad(lambda x: np.std(x) + np.linalg.norm(np.cumprod(x)))
    wanted = as_recorded(lambda: gradient(X))
    found: list[Any] = []

    def run() -> None:
        found.extend([gradient(X) for _ in range(50)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    for one in found:
        numpy.testing.assert_allclose(one, wanted, rtol=1e-13)


def test_a_pullback_outlives_its_function() -> None:
    twice(cadiff.grad(np.std), X)
    value, pullback = cadiff.vjp(lambda x: np.std(x), X)
    numpy.testing.assert_allclose(pullback(2.0), 2.0 * cadiff.grad(np.std)(X), rtol=1e-14)
    assert value == numpy.std(X)


def test_functions_are_still_pickled_by_name() -> None:
    twice(cadiff.grad(np.std), X)
    assert pickle.loads(pickle.dumps(np.std)) is np.std


def test_third_derivatives_at_a_limit() -> None:
    """I₁ has x/2 + x³/16 + … at 0, where its formulas divide by x."""
    second = cadiff.grad(lambda x: np.sum(cadiff.grad(lambda y: np.sum(special.i1(y)))(x)))
    third = cadiff.grad(lambda x: np.sum(second(x)))
    at = numpy.array([0.0, 1e-9, 0.0])
    for _ in range(3):
        numpy.testing.assert_allclose(third(at), 0.375, rtol=1e-13)


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


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sort(x, axis=-1),
        lambda x: np.kron(x[:2], x[:2]),
        lambda x: np.polyval(x[0], x[:2]),
        lambda x: np.polyval(np.broadcast_to(x[0, 0], (3,)), x[1]),
    ],
    ids=["sort", "kron", "polyval", "broadcast"],
)
def test_entries_have_the_bits_of_what_is_recorded(f: Any) -> None:
    """Also where results stand in another order than they are computed in, and where operands
    are parts of each other, whose cotangents are added as operations come by."""
    total = cadiff.value_and_grad(lambda x: np.sum(np.sin(f(x))) + np.sum(f(x)))
    for seed in range(4):
        x = numpy.random.default_rng(seed).normal(size=(9, 2))
        value, gradient = as_recorded(lambda x=x: total(x))
        for _ in range(3):
            again, g = total(x)
            assert again == value
            numpy.testing.assert_array_equal(g, gradient)


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
