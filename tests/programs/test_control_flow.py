"""`scan`, `fori_loop`, `while_loop`, `cond` and `switch`: in Python, and as steps of programs.

What Python gives, differentiated as any Python, is the truth: the loop written out with `for` and
`while`. Closed forms say that it is one.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.programs import loop_steps

rng = np.random.default_rng(7)


def same(actual: Any, expected: Any, rtol: float = 1e-10) -> None:
    a, b = cadiff.flatten(actual)[0], cadiff.flatten(expected)[0]
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b), initial=1e-300))


def _check_at(
    f: Callable[..., Any], g: Callable[..., Any], program: Any, by_two: Any, args: tuple[Any, ...]
) -> None:
    first, *others = args
    v = np.sin(1.0 + np.arange(float(np.size(first)))).reshape(np.shape(first))[()]
    same(program(*args), g(*args))
    same(f(*args), g(*args), 0.0)
    same(program.grad(*args), cadiff.grad(g)(*args))
    same(cadiff.grad(f)(*args), cadiff.grad(g)(*args), 1e-13)
    along = cadiff.jvp(lambda x: g(x, *others), (first,), (v,))
    same(cadiff.jvp(lambda x: f(x, *others), (first,), (v,)), along)
    of_f = cadiff.compile(lambda x, *rest: cadiff.jvp(lambda y: f(y, *rest), (x,), (v,))[1])
    same(of_f(*args), along[1])
    hessian = cadiff.hessian(g)(*args)
    same(program.hessian(*args), hessian, 1e-9)
    same(program.hvp(first, v, *others), np.tensordot(hessian, v, np.ndim(v)), 1e-9)
    third = cadiff.jacobian(cadiff.hessian(g))(*args)
    same(by_two.hessian(*args) if np.ndim(v) == 0 else third, third, 1e-8)


def check(
    f: Callable[..., Any], g: Callable[..., Any], points: list[tuple[Any, ...]], recordings: int
) -> Any:
    """A program of f gives what g does at some points, and its derivatives by the first argument.

    g is f, or the same in plain Python, for which all is recorded eagerly.
    """
    program = cadiff.compile(f)
    by_two = cadiff.compile(cadiff.grad(f))
    for args in points:
        _check_at(f, g, program, by_two, args)
    assert program.stats()["obstacles"] == by_two.stats()["obstacles"] == []
    assert program.stats()["eager"] == 0
    assert program.stats()["recordings"] == recordings
    return program


# --- loops ---------------------------------------------------------------------------------------


def cube_root(a: Any) -> Any:
    return cadiff.while_loop(
        lambda x: abs(x**3 - a) > 1e-9 * a, lambda x: x - (x**3 - a) / (3.0 * x**2), a
    )


def cube_root_in_python(a: Any) -> Any:
    x = a
    while abs(x**3 - a) > 1e-9 * a:
        x = x - (x**3 - a) / (3.0 * x**2)
    return x


def test_derivatives_of_newtons_method_are_those_of_the_root() -> None:
    """Two turns behind the last that changes the value they have converged, too."""

    def root(a: Any) -> Any:
        def turn(state: Any) -> Any:
            x, _, after = state
            step = (cadiff.exp(x) + x - a) / (cadiff.exp(x) + 1.0)
            return x - step, abs(step), after + (abs(step) < 1e-12)

        return cadiff.while_loop(lambda s: s[2] < 3, turn, (1.0, 1.0, 0))[0]

    program, second = cadiff.compile(root), cadiff.compile(cadiff.grad(root))
    for a in (0.5, 3.0, 40.0):
        x = mpmath.findroot(lambda x, a=a: mpmath.exp(x) + x - a, math.log(a + 1.0))
        first = 1 / (mpmath.exp(x) + 1)
        of_first = -mpmath.exp(x) * first**3
        of_second = (3 * mpmath.exp(2 * x) * first**5) - mpmath.exp(x) * first**4
        same(program(a), float(x), 1e-14)
        same(program.grad(a), float(first), 1e-13)
        same(program.hessian(a), float(of_first), 1e-12)
        same(second.hessian(a), float(of_second), 1e-11)


def test_64_numbers_of_turns_are_one_recording() -> None:
    @cadiff.compile
    def power(x: Any, n: Any) -> Any:
        return cadiff.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * x), (0, 1.0))[1]

    for n in range(64):
        same(power(1.1, float(n)), 1.1**n, 1e-13)
        same(power.grad(1.1, float(n)), n * 1.1 ** (n - 1), 1e-13)
        same(power.hessian(1.1, float(n)), n * (n - 1) * 1.1 ** (n - 2), 1e-13)
    assert power.stats()["recordings"] == 1
    assert power.stats()["eager"] == 0


def bounded(x: Any, lower: Any, upper: Any, data: Any) -> Any:
    turn = lambda i, y: y * cadiff.sin(x[i] + i) + data[i]  # noqa: E731
    return cadiff.fori_loop(lower, upper, turn, x[0])


def bounded_in_python(x: Any, lower: int, upper: int, data: Any) -> Any:
    y = x[0]
    for i in range(lower, upper):
        y = y * cadiff.sin(x[i] + i) + data[i]
    return y


def branching_turns(x: Any) -> Any:
    def turn(state: Any) -> Any:
        k, v = state
        if v > 2.0:
            return k + 1, 0.3 * v
        return k + 1, 0.9 * v + x if v > 1.0 else 1.7 * v + 0.1

    return cadiff.while_loop(lambda state: state[0] < 30, turn, (0, x))[1]


def sums_beside_the_state(x: Any) -> Any:
    sums, total = [0.0], 0.0

    def turn(i: int, y: Any) -> Any:
        nonlocal total
        sums[0], total = sums[0] + y, total + i * y
        return y * x

    return cadiff.fori_loop(0, 3, turn, x) + sums[0] * total


def of_an_iterator(x: Any) -> Any:
    same_number = itertools.repeat(x)
    return cadiff.fori_loop(0, 3, lambda i, y: y * next(same_number), 1.0)


def of_factors(x: Any) -> Any:
    factors = iter([2.0, 3.0, 5.0])
    return cadiff.fori_loop(0, 3, lambda i, y: x * y * next(factors), 1.0)


def chosen(x: Any) -> Any:
    halves = lambda v: cadiff.sin(v[0]) * x[1]  # noqa: E731
    return cadiff.cond(lambda: x[0] > 0.5, halves, lambda v: v[0] ** 3 + v[1], x)


BRANCHES = [cadiff.sin, lambda v: v**3, lambda v: 2.0]


def switched(x: Any, k: Any) -> Any:
    return cadiff.switch(k, BRANCHES, x)


def switched_in_python(x: Any, k: int) -> Any:
    return BRANCHES[max(0, min(k, 2))](x)


def loops_in_loops(x: Any) -> Any:
    def outer(i: int, s: Any) -> Any:
        t = cadiff.while_loop(
            lambda t: t[1] < 2.0 * x, lambda t: (t[0] * 1.01 + x, t[1] * 1.5 + 0.1), (s, 0.5)
        )[0]
        return cadiff.cond(lambda: t > 4.0, lambda v: v * 0.5, lambda v: v * x + i, t)

    return cadiff.fori_loop(0, 3, outer, x)


CUBES = [(a,) for a in np.geomspace(1.0, 1e6, 7).tolist()]  # the first has no turn
BOUNDS = [(0, 5), (1, 3), (2, 2), (3, 1), (0, 4)]
ROW, DATA = np.random.default_rng(8).random((2, 5))
PAIRS = [(np.array([a, 0.7]),) for a in (0.1, 0.9, 0.2, 0.8)]
# A function, the same in Python, points, and how many recordings there are.
CHECKED: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Any], int]] = {
    "a while loop": (cube_root, cube_root_in_python, CUBES, 1),
    "bounds that are constants, and inputs": (
        *(bounded, bounded_in_python),
        [(ROW, *bounds, DATA) for bounds in BOUNDS],
        2,
    ),
    "guards in turns": (
        *[branching_turns] * 2,
        [(x,) for x in np.linspace(0.1, 2.9, 5).tolist()],
        1,
    ),
    "sums": (*[sums_beside_the_state] * 2, [(1.5,), (2.0,)], 1),
    "an iterator": (*[of_an_iterator] * 2, [(1.5,), (2.0,)], 1),
    "factors": (*[of_factors] * 2, [(1.5,), (2.0,)], 1),
    "a branch": (*[chosen] * 2, PAIRS, 1),
    "an index": (switched, switched_in_python, [(0.6, k) for k in (0, 1, 2, -3, 7, 1)], 2),
    "loops in loops": (*[loops_in_loops] * 2, [(0.2,), (1.0,), (2.2,)], 1),
}


@pytest.mark.parametrize("case", CHECKED.values(), ids=CHECKED)
def test_programs_are_those_in_python(case: tuple[Any, ...]) -> None:
    check(*case)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_narrow_ints_that_go_round_are_numbers_of_a_turn(dtype: Any) -> None:
    def counted(x: Any, while_loop: Any = cadiff.while_loop) -> Any:
        def turn(state: Any) -> Any:
            k, y = state
            return k + dtype(2), cnp.sin(y) + 0.1 * x * k

        return while_loop(lambda state: state[0] < 60, turn, (dtype(0), x))[1]

    def in_python(x: Any) -> Any:
        y = x
        for k in range(0, 60, 2):
            y = cnp.sin(y) + 0.1 * x * float(k)
        return y

    check(counted, in_python, [(x,) for x in (0.3, 0.7, 1.1)], 1)


def test_a_scan_has_carries_rows_and_outputs_in_containers() -> None:
    def f(x: Any, xs: Any, length: Any = None, reverse: bool = False) -> Any:
        def turn(carry: Any, row: Any) -> Any:
            (u, k), t = carry["pair"], carry["t"]
            new = {"pair": (cadiff.sin(u * row["a"]) + x[1], k + 1), "t": t * 0.5 + row["b"][0]}
            return new, [u * row["b"], (k, None)]

        init = {"pair": (x[0], 0), "t": np.ones(2) * x[2]}
        last, (ys, (ks, _)) = cadiff.scan(turn, init, xs, length, reverse)
        return last["pair"][0] * last["t"].sum() + (ys[:, 1] * cnp.arange(6.0)[::-1] * ks).sum()

    xs = {"a": rng.random(6), "b": rng.random((6, 2))}
    check(f, f, [(rng.random(3), xs), (rng.random(3), xs)], 1)
    check(f, f, [(rng.random(3), xs, 6, True)], 1)
    program = cadiff.compile(f)
    x = rng.random(3)
    same(program.grad(x, xs, argnums=1)["b"], cadiff.grad(f, 1)(x, xs)["b"])
    plain = f(x, {"a": xs["a"][::-1], "b": xs["b"][::-1]})
    assert plain != f(x, xs, None, True)  # whose outputs stand the other way round


def test_a_scan_is_the_loop_that_it_looks_like() -> None:
    total, ys = cadiff.scan(lambda c, x: (c + x, c * x), 0.0, [1.0, 2.0, 3.0])
    assert (total, ys.tolist()) == (6.0, [0.0, 2.0, 9.0])
    total, ys = cadiff.scan(lambda c, x: (2.0 * c + x, c), 1.0, np.arange(3.0), reverse=True)
    assert (total, ys.tolist()) == (18.0, [9.0, 4.0, 1.0])
    assert cadiff.scan(lambda c, _: (c * 3, None), 1, length=4) == (81, None)
    carry, ys = cadiff.scan(lambda c, x: (c, (x * c, 1)), 2.0, np.ones((0, 3)))
    assert (carry, ys[0].shape, ys[1].shape, ys[1].dtype.kind) == (2.0, (0, 3), (0,), "i")
    empty = cadiff.compile(lambda x: cadiff.scan(lambda c, t: (c * 2.0, c * t), x, np.ones(0)))
    last, ys = empty(3.0)
    assert (last, ys.shape) == (3.0, (0,))
    same(
        cadiff.compile(lambda x: cadiff.scan(lambda c, t: (c, t), x, np.ones(0))[0]).grad(2.0), 1.0
    )


def test_states_are_arrays_and_whatever_turns_read_has_derivatives() -> None:
    scale = 0.9

    class Model:
        def __init__(self, weights: Any) -> None:
            self.weights = weights

        def step(self, x: Any) -> Any:
            return self.weights @ x * scale + 1.0

    def f(weights: Any, b: Any) -> Any:
        model = Model(weights)
        far = lambda x: cnp.sum((model.step(x) - x) ** 2) > 1e-8  # noqa: E731
        return cadiff.while_loop(far, model.step, b).sum()

    b = rng.random(3)
    points = [(0.2 * rng.random((3, 3)), b), (0.35 * rng.random((3, 3)), b)]
    check(f, f, points, 1)
    last = points[-1][0]
    truth = np.linalg.solve(np.eye(3) - scale * last, np.ones(3)).sum()
    assert abs(cadiff.compile(f)(last, b) - truth) < 1e-3


def test_beyond_a_limit_turns_are_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        ys = cadiff.scan(lambda c, t: (cadiff.sin(c * x) + t, c), x, np.linspace(0.0, 1.0, 777))[1]
        return ys[::7].sum()

    program = cadiff.compile(f)
    whole = program.grad(1.2), program.hessian(1.2)
    monkeypatch.setattr(loop_steps, "MOST_BYTES", 0)  # 64 states are kept
    program.clear()
    assert (program.grad(1.2), program.hessian(1.2)) == whole
    same(whole[0], cadiff.grad(f)(1.2))


def test_turns_may_call_primitives() -> None:
    @cadiff.primitive
    def odd(x: Any) -> Any:
        return x * 3.0

    odd.defvjp(lambda ans, x: lambda g: 3.0 * g)

    @cadiff.compile
    def f(x: Any) -> Any:
        return cadiff.fori_loop(0, 4, lambda i, y: odd(y) + x, x)

    for x in (1.0, 2.0):
        same(f(x), 121.0 * x)
        same(f.grad(x), 121.0)


def test_what_turns_change_is_changed_by_every_call() -> None:
    log: list[Any] = []

    def f(x: Any) -> Any:
        def turn(i: int, y: Any) -> Any:
            log.append(i)
            return y * x

        return cadiff.fori_loop(0, 3, turn, 1.0)

    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning, match="it changes log"):
        assert [program(2.0), program(3.0), program(2.0)] == [8.0, 27.0, 8.0]
    assert log == 3 * [0, 1, 2]


def test_globals_are_watched() -> None:
    space: dict[str, Any] = {"cadiff": cadiff, "factor": 2.0}
    exec(
        "def turn(i, y): return y * factor + i\n"
        "def f(x, n): return cadiff.fori_loop(0, n, turn, x)\n",
        space,
    )
    program = cadiff.compile(space["f"])
    assert [program(1.0, 2), program(1.0, 3)] == [5.0, 12.0]
    space["factor"] = 3.0
    assert [program(1.0, 2), program(1.0, 3)] == [10.0, 32.0]


# --- branches ------------------------------------------------------------------------------------


def test_a_flag_chooses_a_branch() -> None:
    @cadiff.compile
    def f(flag: Any, x: Any) -> Any:
        return cadiff.cond(flag, lambda v: (v**2, 1), lambda v: (v**3, 0), x)

    g = cadiff.compile(lambda flag, x: f(flag, x)[0])
    for flag in (True, False, True, False):
        value, k = f(flag, 2.0)
        assert (value, k) == ((4.0, 1) if flag else (8.0, 0))
        assert g.grad(flag, 2.0, argnums=1) == (4.0 if flag else 12.0)


def test_a_branch_that_is_not_taken_is_not_run() -> None:
    def factorial(n: Any) -> Any:
        return cadiff.cond(n > 1, lambda n: n * factorial(n - 1), lambda n: 1, n)

    assert factorial(5) == 120
    assert cadiff.cond(np.True_, lambda: 1, lambda: 1 // 0) == 1
    assert cadiff.cond(lambda: False, lambda: 1 // 0, lambda: "text") == "text"


# --- many points, matrices, other ways to run ----------------------------------------------------


def test_points_have_their_own_numbers_of_turns() -> None:
    points = np.geomspace(1.0, 1e6, 300)
    roots, slopes = [], []
    for a in points.tolist():
        roots.append(cube_root_in_python(a))
        slopes.append(cadiff.grad(cube_root_in_python)(a))
    same(cadiff.vmap(cube_root)(points), roots)
    same(cadiff.vmap(cadiff.grad(cube_root))(points), slopes)
    same(cadiff.grad(lambda x: cadiff.vmap(cube_root)(x).sum())(points), slopes)
    program = cadiff.compile(cube_root)
    same(program.batch(points), roots)
    same(program.batch(points, what="value_and_grad")[1], slopes)
    assert program.stats()["recordings"] == 1


def test_sparse_matrices_have_all_entries() -> None:
    def f(x: Any) -> Any:
        return cadiff.scan(lambda c, t: (c + t, cadiff.sin(t) * c), 0.0, x)[1]

    x = rng.random(6)
    program, total = cadiff.compile(f), cadiff.compile(lambda x: f(x).sum())
    jacobian = cadiff.jacobian(f)(x)
    same(program.sparse_jacobian(x).toarray(), jacobian)
    same(program.jacobian(x), jacobian)
    same(cadiff.sparse_jacobian(f)(x).toarray(), jacobian)
    hessian = cadiff.hessian(lambda x: f(x).sum())(x)
    same(total.sparse_hessian(x).toarray(), hessian)
    third = cadiff.jacobian(cadiff.hessian(lambda x: f(x).sum()))
    for mode in (cadiff.jacfwd, cadiff.jacrev):
        same(cadiff.compile(mode(mode(cadiff.grad(lambda x: f(x).sum()))))(x), third(x))


def test_programs_with_loops_are_exact_if_asked_and_verified() -> None:
    def f(x: Any) -> Any:
        return cadiff.fori_loop(0, 50, lambda i, c: cadiff.sin(c * x) + 1e-3 * i * x, x)

    truth = f(0.7), cadiff.grad(f)(0.7)
    exact = cadiff.compile(f, optimize=False)
    assert (exact(0.7), exact.grad(0.7)) == truth
    always = cadiff.compile(f, verify="always")
    same((always(0.7), always.grad(0.7)), truth, 1e-13)


@pytest.mark.parametrize("native", [True, False])
def test_turns_are_machine_code_where_their_program_is(native: bool) -> None:
    program = cadiff.compile(cube_root, native=native)
    for a in (8.0, 3.0, 50.0):
        same(program.value_and_grad(a), cadiff.value_and_grad(cube_root)(a))
        same(program.hessian(a), cadiff.hessian(cube_root)(a))
        cadiff.build(program)


def test_programs_with_loops_have_no_text_in_c() -> None:
    program = cadiff.compile(cube_root)
    program(8.0)
    with pytest.raises(ValueError, match="a loop, which is a function of Python"):
        program.to_c()
    assert "a loop" in program.to_text()


def half(i: Any, x: Any) -> Any:
    return 0.5 * x + i


def half_often(x: Any) -> Any:
    return cadiff.fori_loop(0, 3, half, x)


def test_programs_with_loops_are_pickled_without_their_recordings() -> None:
    program = cadiff.compile(half_often)
    value = program(8.0)
    again = pickle.loads(pickle.dumps(program))
    assert (again(8.0), again.grad(8.0)) == (value, 0.125)


def test_other_numbers_go_round_in_python() -> None:
    turn = lambda i, z: z * z * 0.5 + i  # noqa: E731
    f = lambda x: cadiff.fori_loop(0, 3, turn, x * 1j)  # noqa: E731
    same(cadiff.compile(f)(1.5), f(1.5))
    g = lambda x: cadiff.fori_loop(0, 3, turn, x)  # noqa: E731
    single = np.ones(2, np.float32)
    assert cadiff.compile(g)(single).dtype == g(single).dtype


# --- errors --------------------------------------------------------------------------------------

ones = np.ones(2)
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shape": (
        lambda x: cadiff.while_loop(
            lambda c: c[0].sum() < 3.0, lambda c: (c[0][:1], 1.0), (x, 1.0)
        ),
        r"what body_fun returned\[0\] is an array of shape \(1,\), float64, where init_val has an "
        r"array of shape \(2,\), float64",
    ),
    "structure": (
        lambda x: cadiff.while_loop(lambda c: c[0].sum() < 3.0, lambda c: c[0], (x, 1.0)),
        "what body_fun returned must have the structure of init_val: expected a tuple of 2",
    ),
    "dtype": (
        lambda x: cadiff.fori_loop(0, 2, lambda i, c: c * x, np.arange(2)),
        r"what body_fun returned.* is an array of shape \(2,\), float64, where .*int64",
    ),
    "bool": (lambda x: cadiff.fori_loop(0, 2, lambda i, c: c + x[0], True), "a number, bool"),
    "text": (lambda x: cadiff.fori_loop(0, 2, lambda i, c: c, "a"), "there is a str"),
    "no pair": (lambda x: cadiff.scan(lambda c, t: c, 0.0, x), "f returns a pair"),
    "a number of rows": (
        lambda x: cadiff.scan(lambda c, t: (c, t), 0.0, 3.0),
        "consists of arrays",
    ),
    "no length": (lambda x: cadiff.scan(lambda c, t: (c, t), 0.0), "length=n"),
    "truths": (lambda x: cadiff.while_loop(lambda c: c < 3.0, lambda c: c, x), "one truth value"),
    "pred": (lambda x: cadiff.cond(x, abs, abs, x), "pred is one truth value"),
    "index": (lambda x: cadiff.switch(0.5, [abs], x), "index is an int, not a number, float64"),
    "bound": (lambda x: cadiff.fori_loop(0.5, 2, half, x), "lower is an int"),
    "function": (lambda x: cadiff.switch(0, [3], x), "takes a function, not int"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_was_given_and_expected(name: str) -> None:
    f, text = WRONG[name]
    for run in (f, cadiff.compile(f)):
        with pytest.raises(TypeError, match=text):
            run(ones)


def test_lengths_and_outputs_are_alike() -> None:
    with pytest.raises(ValueError, match=r"\[2, 3\] differ"):
        cadiff.scan(lambda c, t: (c, t), 0.0, ones, length=3)
    with pytest.raises(ValueError, match="at turn 1"):
        cadiff.scan(lambda c, t: (c + 1, np.ones(c)), 0, ones)
    with pytest.raises(ValueError, match="no y in some turns, and one in 1"):
        cadiff.scan(lambda c, t: (c + 1, None if c else t), 0, ones)
    with pytest.raises(ValueError, match="0 or more, not -1"):
        cadiff.scan(lambda c, x: (c, None), 0.0, length=-1)
    with pytest.raises(ValueError, match="at least"):
        cadiff.switch(0, [])


@pytest.mark.parametrize(
    ("f", "points"),
    [
        (lambda x: 3.0 * cadiff.cond(lambda: x > 0, lambda: 0, lambda: x * x), (1.5, -1.5)),
        (lambda x: cadiff.cond(lambda: x > 0, lambda: 1, lambda: x), (1.5, 2.5, -1.7, -0.3)),
        (
            lambda x: cnp.sum(
                cadiff.scan(lambda c, z: (c, 1 if x > 0 else x * x), 0.0, None, 3)[1]
            ),
            (1.5, -1.5, -2.0),
        ),
        (
            lambda x: cadiff.fori_loop(0, 3, lambda i, s: s if x > 0 else s * x, 1),
            (1.0, 2.0, -3.0),
        ),
        (
            lambda x: abs(cadiff.cond(lambda: x > 0, lambda: x, lambda: 1j * x + 1)) ** 2,
            (-2.7, -1.7, 1.7, 2.5, -1.1),
        ),
        (
            lambda x: abs(cadiff.cond(lambda: x > 0, lambda: x, lambda: 1j * x + 1)) ** 2,
            (2.5, -1.1, 1.7),
        ),
        (
            lambda x: abs(
                cadiff.fori_loop(0, 40, lambda i, z: z * 1j if x > 0 else abs(z) * x, 1j)
            ),
            (0.5, -0.5, 0.7, -1.1),
        ),
        (
            lambda x: abs(
                cnp.sum(
                    cadiff.scan(
                        lambda z, k: (z, z * k if k * x < 20.0 else x), 1j * x, cnp.arange(40.0)
                    )[1]
                )
            ),
            (0.3, 0.7, -0.4, 3.0),
        ),
    ],
)
def test_branches_of_other_types_keep_theirs(f: Any, points: tuple[float, ...]) -> None:
    program = cadiff.compile(f)
    for x in points:
        assert program(x) == f(x)
        assert program.grad(x) == cadiff.grad(lambda x: 1.0 * f(x))(x)


@pytest.mark.parametrize("n", [2, 5, 22, 23, 24, 25, 40])
def test_ints_that_floats_cannot_stand_for_are_pythons(n: int) -> None:
    def f(x: Any, n: Any) -> Any:
        power, k = cadiff.fori_loop(0, n, lambda i, s: (s[0] * x, s[1] * 5 + i), (1.0, 1))
        return power * (k % 7)

    program = cadiff.compile(f)
    for other in (3, 4, n):
        assert program(1.0, other) == f(1.0, other)
    assert program.grad(1.0, n) == cadiff.grad(f)(1.0, n)


def test_large_ints_that_go_round_stay_what_they_are() -> None:
    def f(x: Any, k: Any) -> Any:
        return cadiff.fori_loop(0, 3, lambda i, s: (s[0] + 1, s[1] * x), (k, 1.0))[0]

    program = cadiff.compile(f)
    for k in (5, 6, 2**31 - 2, 2**53 + 1, 2**53 + 2, 2**62, -(2**63)):
        assert program(1.0, k) == k + 3


def _until(x: Any) -> Any:
    return cadiff.while_loop(lambda s: s[1] < 40, lambda s: (np.sin(s[0]) + 0.2, s[1] + 1), (x, 0))


def _outputs(x: Any) -> Any:
    return cadiff.scan(lambda c, k: (np.cos(c) + k, {"a": 2.0 * c, "k": k}), x, np.arange(30))


def _nested(x: Any) -> Any:
    def inner(i: Any, x: Any) -> Any:
        return cadiff.fori_loop(0, 20, lambda j, y: 0.9 * y + np.sin(x) * j, 0.1 * x + i)

    return cadiff.fori_loop(0, 25, inner, x)


@pytest.mark.parametrize("f", [_until, _outputs, _nested])
def test_a_first_run_goes_on_by_the_recording_of_a_turn(f: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("cadiff.programs.kept_loops.MOST_IN_PYTHON", 2)
    program = cadiff.compile(f)
    for x in (np.array([0.3, 0.5]), np.array([1.0, -2.0])):
        ways = (program, f), (program.jacobian, cadiff.jacobian(f))
        for found, expected in ((one(x), other(x)) for one, other in ways):
            pairs = zip(*(binding.flattened(y)[0] for y in (found, expected)), strict=True)
            for one, other in pairs:
                assert np.asarray(one).dtype == np.asarray(other).dtype
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    assert program.stats()["eager"] == 0


def test_a_list_of_numbers_with_derivatives_is_an_array_of_them() -> None:
    def product(x: Any, rows: Any) -> Any:
        return cadiff.scan(lambda c, row: (c * row, c), 1.0, rows)[0] * x

    for way in (cadiff.grad, cadiff.jacfwd):
        assert way(lambda x: product(x, [x, 2.0 * x, 3]))(2.0) == 72.0
        assert way(lambda x: product(1.0, (x, 2.0 * x)))(3.0) == 12.0
    check(lambda x: product(x, [x, 2.0 * x]), lambda x: 2.0 * x**3, [(2.0,), (3.0,)], 1)
    assert cadiff.grad(product, 1)(1.0, [2.0, 3.0, 4.0]) == [12.0, 8.0, 6.0]
    assert cadiff.scan(lambda c, row: (c + row, c), 0, [1, 2, 3])[0] == 6


@pytest.mark.parametrize("kind", ["scan", "fori_loop", "while_loop", "rows", "cond"])
def test_complex_numbers_go_round(kind: str) -> None:
    rows = 0.9 * np.exp(1j * np.arange(30.0))

    def turn(z: Any, x: Any) -> Any:
        return z * z * 0.1 + x * 1j + cnp.conj(z) * 0.5

    def f(x: Any) -> Any:
        z = np.array([0.1 + 0.2j, -0.3j])
        if kind == "scan":
            z, ys = cadiff.scan(lambda z, _: (turn(z, x), z[0]), z, None, 30)
            return cnp.sum(abs(z) ** 2) + abs(cnp.sum(ys))
        if kind == "rows":
            w, ys = cadiff.scan(lambda w, y: (w * y + x, (w, y)), 0.5j, rows * x)
            return abs(w) + cnp.sum(abs(ys[0] * ys[1]))
        if kind == "fori_loop":
            return abs(cadiff.fori_loop(0, 30, lambda k, z: turn(z, x) + 0.01j * k, 0.1 + 0.2j))
        if kind == "cond":
            return abs(cadiff.cond(lambda: x > 0.6, lambda z: z * 2j, lambda z: z + x, x * 1j))
        step = lambda s: (turn(s[0], x), s[1] + 1)  # noqa: E731
        return abs(cadiff.while_loop(lambda s: s[1] < 25, step, (0.1 + 0.2j, 0))[0])

    program = cadiff.compile(f)
    for x in (0.5, 0.7, -0.4):
        assert program(x) == pytest.approx(f(x), rel=1e-12)
        assert program.grad(x) == pytest.approx(cadiff.grad(f)(x), rel=1e-10)
        assert program.hessian(x) == pytest.approx(cadiff.hessian(f)(x), rel=1e-9)
        step = 1e-5
        assert program.grad(x) == pytest.approx((f(x + step) - f(x - step)) / (2 * step), rel=1e-6)
    assert (program.stats()["eager"], program.stats()["recordings"]) == (0, 1)


def test_outputs_that_become_complex_numbers_with_derivatives_are_stacked() -> None:
    def f(x: Any) -> Any:
        return abs(cnp.sum(cadiff.scan(lambda z, _: (z * x, z), 0.5j, None, 4)[1]))

    assert cadiff.grad(f)(2.0) == pytest.approx(0.5 * (1.0 + 4.0 + 12.0))
