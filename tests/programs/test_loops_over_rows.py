"""Loops and branches that each row of `vmap` and `batch` has: all rows at once, with own turns.

The truth is the function itself, run eagerly for one row after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff.programs import kept, loop_steps

rng = np.random.default_rng(3)
N = 300


def same(actual: Any, expected: Any, rtol: float = 1e-12) -> None:
    for a, b in zip(cadiff.flatten([actual])[0], cadiff.flatten([expected])[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def row_of(args: tuple[Any, ...], i: int) -> tuple[Any, ...]:
    return tuple(
        {key: x[i] for key, x in arg.items()} if isinstance(arg, dict) else arg[i] for arg in args
    )


def newton(a: Any) -> Any:
    far = lambda x: abs(x**3 - a) > 1e-9 * a  # noqa: E731
    return cadiff.while_loop(far, lambda x: x - (x**3 - a) / (3.0 * x**2), a)


def power(x: Any, n: Any) -> Any:
    turn = lambda s: (s[0] + 1, s[1] * x)  # noqa: E731
    return cadiff.while_loop(lambda s: s[0] < n, turn, (0, 1.0))[1]


def branching(x: Any) -> Any:
    def turn(state: Any) -> Any:
        k, v = state
        if v > 2.0:
            return k + 1, 0.3 * v
        return k + 1, 0.9 * v + x if v > 1.0 else 1.7 * v + 0.1

    return cadiff.while_loop(lambda s: s[0] < 12 and s[1] < 4.0, turn, (0, x))[1]


def scanned(x: Any, xs: Any) -> Any:
    def turn(carry: Any, row: Any) -> Any:
        u, k = carry["u"], carry["k"]
        return {"u": cadiff.sin(u * row["a"]) + x, "k": k + 1}, (u * row["b"], k)

    last, (ys, ks) = cadiff.scan(turn, {"u": x, "k": 0}, xs, reverse=True)
    return last["u"] + ys[0] * ys[2] + ks[1]


def bounded(x: Any, lower: Any, upper: Any) -> Any:
    return cadiff.fori_loop(lower, upper, lambda i, y: y * cadiff.sin(x + i), x)


def chosen(x: Any) -> Any:
    y = cadiff.cond(lambda: x > 1.0, cadiff.log, lambda y: cadiff.sin(y) * x, x)
    inner = lambda y: cadiff.cond(lambda: y > 2.0, lambda: y * 0.5, lambda: y * 1.5 + x)  # noqa: E731
    return cadiff.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, inner(s[1])), (0, y))[1]


def of_arrays(x: Any) -> Any:
    A = np.array([[0.3, 0.2], [0.1, 0.4]])
    far = lambda y: cnp.sum((A @ y + x - y) ** 2) > 1e-6  # noqa: E731
    return cnp.sum(cadiff.while_loop(far, lambda y: A @ y + x, x) ** 2)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "newton": (newton, (np.r_[1.0, rng.uniform(0.2, 1e5, N - 1)],)),  # the first has no turn
    "power": (power, (rng.uniform(0.9, 1.1, N), np.r_[0, 90, rng.integers(0, 9, N - 2)])),
    "branching": (branching, (rng.uniform(0.1, 2.9, N),)),
    "scanned": (
        scanned,
        (rng.random(N), {"a": rng.random((N, 3)), "b": rng.random((N, 3))}),
    ),
    "bounded": (bounded, (rng.random(N), rng.integers(0, 3, N), rng.integers(0, 7, N))),
    "chosen": (chosen, (rng.uniform(0.1, 3.0, N),)),
    "arrays": (of_arrays, (rng.random((N, 2)),)),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_the_function_alone(name: str) -> None:
    f, args = CASES[name]
    some = [0, 1, *range(2, N, 29), N - 1]
    rows = [row_of(args, i) for i in some]
    value = cadiff.vmap(f)
    for _ in range(2):
        same(np.asarray(value(*args))[some], [f(*row) for row in rows])
    slope = cadiff.vmap(cadiff.grad(f))
    for _ in range(2):  # first turns run forth for values, then states are kept meanwhile
        same(slope(*args)[some], [cadiff.grad(f)(*row) for row in rows], 1e-11)
    rest = args[1:]
    total = cadiff.grad(lambda x: value(x, *rest).sum())
    same(total(args[0]), slope(*args), 1e-11)
    v = rng.random(args[0].shape)
    along = cadiff.jvp(lambda x: value(x, *rest), (args[0],), (v,))[1]
    same(along, (v * slope(*args)).reshape(N, -1).sum(axis=1), 1e-11)
    twice = cadiff.vmap(cadiff.hessian(f))
    same(twice(*args)[some], [cadiff.hessian(f)(*row) for row in rows], 1e-9)


def test_rows_that_are_nan_stop_where_they_do_alone() -> None:
    x = np.where(rng.random(N) < 0.1, np.nan, rng.uniform(1.0, 9.0, N))
    x[:3] = np.inf, -np.inf, 0.0
    value, slope = cadiff.vmap(newton), cadiff.vmap(cadiff.grad(newton))
    with np.errstate(all="raise"):
        same(value(x), [newton(float(t)) for t in x])
        same(slope(x), [cadiff.grad(newton)(float(t)) for t in x])


def test_what_one_row_raises_is_raised() -> None:
    @cadiff.primitive
    def root(x: Any) -> Any:
        if np.any(x < 0.0):
            raise ValueError(f"no root of {x}")
        return np.sqrt(x)

    root.defvjp(lambda ans, x: lambda g: 0.5 * g / ans)

    def f(x: Any) -> Any:
        return cadiff.while_loop(
            lambda s: s[0] < 4, lambda s: (s[0] + 1, root(s[1]) - 0.1), (0, x)
        )[1]

    x = rng.uniform(1.0, 9.0, N)
    mapped = cadiff.vmap(f)
    same(mapped(x), [f(t) for t in x.tolist()])
    same(cadiff.vmap(cadiff.grad(f))(x), [cadiff.grad(f)(t) for t in x.tolist()])
    x[77] = 0.01  # in the third turn
    with pytest.raises(ValueError, match="no root of -"):
        mapped(x)


def test_a_loop_is_run_where_f_runs_it() -> None:
    """It has no end where the branch before it is not taken: in a call, nor in a batch."""

    def f(x: Any) -> Any:
        if x > 1.0:
            y = cadiff.while_loop(lambda y: y < 100.0, lambda y: y * x, x)
            return y if y > 120.0 else 2.0 * y
        return x

    x = np.r_[rng.uniform(0.1, 0.9, N), rng.uniform(1.1, 3.0, N)]
    program = cadiff.compile(f)
    assert [program(t) for t in (2.0, 1.5, 0.5)] == [f(t) for t in (2.0, 1.5, 0.5)]
    assert program.grad(0.7) == 1.0
    order = rng.permutation(2 * N)
    for _ in range(2):
        same(cadiff.vmap(f)(x[order]), [f(t) for t in x[order].tolist()])
    same(cadiff.vmap(cadiff.grad(f))(x[::7]), [cadiff.grad(f)(t) for t in x[::7].tolist()])


def test_no_rows_few_rows_and_narrow_rows() -> None:
    program = cadiff.compile(newton)
    assert program.batch(np.ones(0)).shape == cadiff.vmap(newton)(np.ones(0)).shape == (0,)
    for n in (1, 2, 17):
        x = rng.uniform(1.0, 9.0, n)
        same(program.batch(x), [newton(t) for t in x.tolist()])
        same(program.batch(x, what="grad"), [cadiff.grad(newton)(t) for t in x.tolist()])
    half = lambda x: cadiff.while_loop(lambda y: y > 1.0, lambda y: y * np.float32(0.5), x)  # noqa: E731
    narrow = rng.uniform(0.5, 9.0, N).astype(np.float32)
    found = cadiff.vmap(half)(narrow)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [half(x) for x in narrow])


def test_beyond_a_limit_rows_go_back_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    f, args = CASES["power"]
    whole = cadiff.compile(f), cadiff.compile(f)
    slopes = cadiff.vmap(whole[0].grad)(*args)
    monkeypatch.setattr(loop_steps, "MOST_BYTES", 0)  # 64 states are kept
    same(cadiff.vmap(whole[1].grad)(*args), slopes)


@pytest.mark.parametrize("name", ["newton", "branching", "scanned"])
def test_rows_have_the_same_bits_in_any_company(name: str) -> None:
    """Which rows go side by side, and for how long, is no matter of their values."""
    f, args = CASES[name]
    value, order = cadiff.vmap(f), rng.permutation(N)
    others = row_of(args, order)  # type: ignore[arg-type]
    value(*args)
    np.testing.assert_array_equal(value(*others), value(*args)[order])


# --- rows within a program -----------------------------------------------------------------------


def few_of(args: tuple[Any, ...], n: int = 12) -> tuple[Any, ...]:
    return row_of(args, slice(0, n))  # type: ignore[arg-type]


def of_rows(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What f gives for each row, without `vmap`."""
    rows = [f(*row_of(args, i)) for i in range(len(args[0]))]
    return cnp.stack([cnp.asarray(row) for row in rows])


def steps_of(program: Any) -> int:
    return str(program.to_text()).split("\n\n")[2].count("  a loop")


@pytest.mark.parametrize("name", CASES)
def test_within_a_program_all_rows_are_one_step(name: str) -> None:
    f, (x, *rest) = CASES[name][0], few_of(CASES[name][1])
    value = lambda x: cadiff.vmap(f)(x, *rest)  # noqa: E731
    total = lambda x: cnp.sum(cnp.sin(value(x)))  # noqa: E731
    by_rows = lambda x: cnp.sum(cnp.sin(of_rows(f, (x, *rest))))  # noqa: E731
    program, slope = cadiff.compile(total), cadiff.compile(cadiff.grad(total))
    v = rng.random(x.shape)
    for at in (x, x[::-1].copy() if rest == [] else 1.01 * x):
        first, second = cadiff.grad(by_rows)(at), cadiff.hessian(by_rows)(at)
        same(program(at), by_rows(at))
        same(program.grad(at), first, 1e-10)
        same(slope(at), first, 1e-10)
        same(program.jvp((at,), (v,))[1], np.sum(v * first), 1e-10)
        same(program.hessian(at), second, 1e-8)
        same(slope.jacobian(at), second, 1e-8)
        same(program.hvp(at, v), np.tensordot(second, v, v.ndim), 1e-8)
    for one in (program, slope):
        stats = one.stats()
        assert (stats["recordings"], stats["eager"], stats["obstacles"]) == (1, 0, [])
    assert steps_of(program) == 1
    points = np.stack([x, 1.01 * x, x])
    same(program.batch(points), [by_rows(at) for at in points])
    same(program.batch(points, what="grad"), [cadiff.grad(by_rows)(at) for at in points], 1e-10)


def test_the_jacobian_of_rows_is_sparse() -> None:
    x = rng.uniform(1.0, 9.0, 40)
    program = cadiff.compile(lambda x: cadiff.vmap(lambda a, b: newton(a) * b, (0, None))(x, x[3]))
    by_rows = lambda x: of_rows(lambda a: newton(a) * x[3], (x,))  # noqa: E731
    assert program.sparse_jacobian(x).nnz == 79
    same(program.sparse_jacobian(x).toarray(), cadiff.jacobian(by_rows)(x), 1e-10)
    total = cadiff.compile(lambda x: cnp.sum(program(x) ** 2))
    same(
        total.sparse_hessian(x).toarray(),
        cadiff.hessian(lambda x: cnp.sum(by_rows(x) ** 2))(x),
        1e-9,
    )


def test_derivatives_of_rows_in_a_program_are_those_of_closed_forms() -> None:
    """Rows stop in turns of their own, one of which would overflow in the turns of others."""

    def turned(x: Any, n: Any) -> Any:  # x ** 2 ** n
        turn = lambda s: (s[0] + 1, s[1] * s[1])  # noqa: E731
        return cadiff.while_loop(lambda s: s[0] < n, turn, (0, x))[1]

    n = np.array([0, 1, 2, 3, 11, 9, 8, 7, 0, 1])
    x = np.r_[1e200, 1e100, 1e50, 1e30, 1.1, 1.2, 1.3, 1.1, -np.inf, np.nan]
    power = 2.0**n
    program = cadiff.compile(lambda x: cadiff.vmap(turned)(x, n))
    with np.errstate(all="ignore"):
        same(program(x), x**power)
        diagonal = np.diagonal(program.jacobian(x))
        same(diagonal[:8] / power[:8], x[:8] ** (power[:8] - 1), 1e-11)
        assert diagonal[8] == 1.0
        total = cadiff.compile(lambda x: cnp.sum(cadiff.vmap(turned)(x, n[:8])))
        some, k = x[:8].copy(), power[:8]
        some[:4] = 1e20, 1e10, 1e5, 1e3
        same(total.grad(some), k * some ** (k - 1), 1e-11)
        same(np.diagonal(total.hessian(some)), k * (k - 1) * some ** (k - 2), 1e-11)


def test_rows_in_a_program_have_all_that_vmap_takes() -> None:
    u, v, k = rng.random((3, 20)), rng.random(20), np.arange(20)

    def mapped(x: Any, a: Any, power: Any) -> Any:
        def f(row: Any, k: Any, scale: Any, mode: str, *, power: Any) -> Any:
            row["u"][0] = row["u"][0] + 1.0  # a copy
            y = cadiff.scan(lambda c, t: (cadiff.sin(c * t) + power, c), row["v"], row["u"])[0]
            y = cadiff.cond(y > 0.9, lambda y: y * scale["a"], lambda y: y - scale["b"][1, 1], y)
            if row["v"] > 0.5 and mode == "times":
                y = y * k
            return {"y": y, "k": k + 1, "is": y > 0.1, "u": row["u"] * a}

        out_axes = {"y": 0, "k": 0, "is": 0, "u": 1}
        of = cadiff.vmap(f, ({"u": 1, "v": 0}, 0, None, None), out_axes)
        given = {"u": u * x, "v": v}, k, {"a": a, "b": x}, "times"
        return of(*given, power=power * np.ones(20))

    def total(x: Any, a: Any, power: Any) -> Any:
        out = mapped(x, a, power)
        return cnp.sum(out["y"] * out["k"]) + cnp.sum(out["u"][0] * out["is"])

    x = rng.uniform(0.5, 1.5, (3, 20))
    program, whole = cadiff.compile(total), cadiff.compile(mapped)
    for a, power in ((2.0, 0.3), (-1.0, 0.1)):
        same(program(x, a, power), total(x, a, power))
        for argnum in range(3):
            expected = cadiff.grad(total, argnums=argnum)(x, a, power)
            same(program.grad(x, a, power, argnums=argnum), expected, 1e-10)
        out, expected = whole(x, a, power), mapped(x, a, power)
        assert [*out] == [*expected]
        for name in out:
            assert out[name].dtype == expected[name].dtype
            same(1.0 * out[name], 1.0 * expected[name])
    assert program.stats()["branch_changes"] == 0
    assert steps_of(program) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda x: cadiff.vmap(cadiff.grad(newton))(x),
        lambda x: cadiff.vmap(cadiff.vmap(newton))(cnp.reshape(x, (12, 1)) + np.arange(9.0)),
        lambda x: cadiff.vmap(cadiff.compile(newton))(x),
        lambda x: cadiff.vmap(cadiff.hessian(of_arrays))(cnp.reshape(cnp.r_[x, x] / 9, (12, 2))),
        lambda x: cadiff.scan(lambda c, a: (None, newton(a)), None, x)[1],
    ],
    ids=["grad", "vmap", "compile", "hessian", "scan"],
)
def test_rows_in_a_program_may_be_of_other_transforms(make: Callable[..., Any]) -> None:
    x = rng.uniform(1.0, 9.0, 12)
    total = lambda x: cnp.sum(cnp.sin(make(x)))  # noqa: E731
    program = cadiff.compile(total)
    for at in (x, x + 0.5):
        same(program(at), total(at))
        same(program.grad(at), cadiff.grad(total)(at), 1e-9)
        same(program.hessian(at), cadiff.hessian(total)(at), 1e-7)
    assert program.stats()["recordings"] == steps_of(program) == 1


@pytest.mark.parametrize("limit", ["few numbers", "long rows"])
def test_rows_in_a_program_go_in_pieces_or_one_by_one(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many rows that share much would take much memory; long ones are NumPy's."""
    w = rng.random(3 if limit == "few numbers" else 4000)
    monkeypatch.setattr(loop_steps, "MOST_NUMBERS", 20)

    def f(x: Any) -> Any:
        return cnp.sum(cadiff.fori_loop(0, 3, lambda i, y: cadiff.sin(y * w) + i, x * w))

    total = lambda x: cnp.sum(cadiff.vmap(f)(x) ** 2)  # noqa: E731
    program, x = cadiff.compile(total), rng.random(11)
    same(program(x), total(x))
    same(program.grad(x), cadiff.grad(total)(x), 1e-11)
    same(program.hvp(x, x), cadiff.hvp(total)(x, x), 1e-9)
    assert steps_of(program) == 1


def test_rows_in_a_program_that_draw_or_differ_are_run_one_by_one() -> None:
    def drawn(x: Any, generator: Any) -> Any:
        return cadiff.fori_loop(0, 3, lambda i, y: y * x, generator.normal())

    def mapped(x: Any) -> Any:
        generator = np.random.default_rng(5)
        return cadiff.vmap(lambda x: drawn(x, generator))(x)

    x = rng.random(9)
    same(cadiff.compile(mapped)(x), mapped(x))
    other = lambda x: 0 if x > 0.5 else cadiff.fori_loop(0, 3, lambda i, y: y * x, x)  # noqa: E731
    of_both = lambda x: cnp.sum(cadiff.vmap(other)(x))  # noqa: E731
    program = cadiff.compile(of_both)
    for at in (x, 1.0 - x):
        same(program(at), of_both(at))
        same(program.grad(at), cadiff.grad(of_both)(at))

    @cadiff.compile
    def wrong(x: Any) -> Any:
        return cadiff.vmap(lambda x: cadiff.scan(lambda c, t: (c[:1], c), x, np.ones(3))[0])(x)

    with pytest.raises(TypeError, match="turns keep shape and dtype"):
        wrong(rng.random((9, 2)))


def test_few_rows_in_a_program_are_loops_of_their_own() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cadiff.vmap(newton)(x)))
    n = kept.FEWEST
    for x in (rng.uniform(1.0, 9.0, n - 1), rng.uniform(1.0, 9.0, n)):
        same(program(x), sum(newton(t) for t in x.tolist()))
        same(program.grad(x), [cadiff.grad(newton)(t) for t in x.tolist()])
    assert steps_of(program) == n - 1
