"""f is the judge of its recordings: see compile(f, verify=...).

What makes recordings wrong here is planted, or is asked of stand-ins in ways that nothing watches.
"""

import contextlib
import fractions
import math
import pickle
import warnings

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import NoDerivativeError
from cadiff.binding import AsNumPy, Watch
from cadiff.programs import observations, recordings, walks
from cadiff.programs.observations import Observation
from cadiff.programs.recorded import Recorded

from ..helpers.programs import check_same, quiet, runs_of
from ..helpers.ways import METHODS

X = np.array([1.0, 2.0, 3.0])
SCALE = [2.0]


def scaled(x):
    return SCALE[0] * cnp.sum(x**2)


def by_index(x, k):
    try:
        return x[k]
    except IndexError:
        return 0.0 * x[0]


@pytest.fixture
def blind(monkeypatch):
    """Nothing is watched, and SCALE is what it was afterwards."""

    watch_call = walks.watch_call

    def nothing(f, statics):
        watch = walks._Walk(Watch()).watch
        watch.codes = watch_call(f, statics).codes
        return watch

    monkeypatch.setattr(recordings, "watch_call", nothing)
    monkeypatch.setattr(walks, "watch_call", nothing)
    monkeypatch.setattr(observations, "_ONCE", (*observations._ONCE, nothing.__code__))
    yield
    SCALE[0] = 2.0


@pytest.fixture
def deaf(monkeypatch):
    """No exception is noted."""
    monkeypatch.setattr(Observation, "on_error", lambda *_: None)


def runs_at(f, call, x):
    """How often f runs."""
    with runs_of(f) as runs:
        call(x)
    return len(runs)


WAYS = METHODS | {
    "sparse": lambda p, x: p.sparse_hessian(x).toarray(),
    "batch": lambda p, x: p.batch(np.stack([x, x])),
    "batch of gradients": lambda p, x: p.batch(np.stack([x, x]), what="grad"),
    "within": lambda p, x: cadiff.grad(lambda x: p(x) * 2.0)(x),
}


@pytest.mark.parametrize("method", WAYS)
def test_what_is_stale_at_the_first_call_with_other_numbers(blind, method):
    call = WAYS[method]
    program = cadiff.compile(scaled)
    call(program, X)
    call(program, X)
    SCALE[0] = 5.0
    with pytest.warns(cadiff.StaleProgramWarning, match="and not"):
        found = call(program, X + 1.0)
    check_same(found, call(cadiff.compile(scaled), X + 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SCALE[0] = 7.0
        found = call(program, X)
    check_same(found, call(cadiff.compile(scaled), X))
    assert "gave" in program.stats()["obstacles"][0]


def test_exceptions_are_found_though_nobody_notes_them(deaf):
    program = cadiff.compile(by_index)
    with pytest.warns(cadiff.StaleProgramWarning, match=r"gave 0.0, and not 3.0"):
        assert [program(X, k) for k in (0, 1, 7, 2, 1)] == [1.0, 2.0, 0.0, 3.0, 2.0]


def whole_is_doubled(x):
    return x * (2.0 if hasattr(x, "is_integer") and x.is_integer() else 1.0)


def whole_has_a_leap(x):
    return x + (1.0 if getattr(x, "is_integer", bool)() else 0.0)


def whole_is_hexadecimal(x):
    return x * (3.0 if getattr(x, "hex", str)().endswith("0p+1") else 1.0)


def jumping(jump, kind):
    return lambda x: jump(x) + (5.0 if type(x) is kind else 0.0)


WHOLE, XS, TWICE = (3.0, 2.5, 4.0), (X, 2.0 * X), (np.float64(2.0), np.float64(4.0))
# What a function asks of its argument, which stand-ins answer otherwise, or cannot answer.
ASKED = {
    "a method": (lambda x: cnp.sum(x) if hasattr(x, "tobytes") else 0.0 * x[0], XS),
    "ctypes": (lambda x: x[0] if getattr(x, "ctypes", None) is None else x[1], XS),
    "dir": (lambda x: x[0] * ("__array_interface__" in dir(x)), XS),
    "whole is doubled": (whole_is_doubled, WHOLE),
    "whole has a leap": (whole_has_a_leap, WHOLE),
    "whole is hexadecimal": (whole_is_hexadecimal, WHOLE),
    "not of NumPy": (lambda x: x * 2.0 if ~(x > 1.0) else x * 3.0, TWICE),
    "sum of truths": (lambda x: ((x > 0.0) + (x > 1.0)) * 1.5 * x, TWICE),
    "float itself": (lambda x: (2.0 if type(x) is float else 3.0) * x, (1.0, 2.0, TWICE[0])),
    "an attribute": (lambda x: (2.0 if hasattr(x, "dtype") else 3.0) * x, (1.0, 2.0)),
    "a part": (lambda x: (x**0.5).imag + 1.0, (-4.0, -9.0)),
    "an infinity that is hidden": (lambda x: min(1.0 / x if x else 9.0, 5.0), (0.0, 1.0)),
    "of truths": (lambda x: x[0] * (x[1] > 1.0).astype(float), XS),
    "of counts": (lambda x: (x[0] > 1.0).sum() * x[0], XS),
    "of floats": (lambda x: x[0] * x[0].is_integer(), XS),
    "keys": (lambda x: {2.0: 1.0}.get(x[1], 0.5) * x[0], XS),
    "sets": (lambda x: len(set(x)) * x[0], XS),
    "fractions": (lambda x: x[0] * fractions.Fraction(1, 3), XS),
    "bits": (lambda x: (math.floor(x[2]) & 1) * x[1], XS),
    **{
        f"{name}, {kind.__name__}": (jumping(jump, kind), points)
        for name, jump in {
            "floor": np.floor,
            "round": np.round,
            "sign": np.sign,
            "//": lambda x: x // 1.0,
            "%": lambda x: x % 1.0,
        }.items()
        for kind, points in ((float, (3.0, 4.0, 5.5)), (np.ndarray, (X, X + 1.0, X + 0.5)))
    },
}
WARNED = ["a method", "ctypes", "dir"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ASKED)
def test_values_are_those_of_f_itself(name):
    f, points = ASKED[name]
    program = cadiff.compile(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        for x in points:
            np.testing.assert_array_equal(program(x), f(x))
            np.testing.assert_array_equal(cadiff.compile(f)(x), f(x))
    kinds = {w.category for w in caught}
    assert cadiff.StaleProgramWarning in kinds or "whole" not in name
    assert any(issubclass(kind, RuntimeWarning) for kind in kinds) or name not in WARNED


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_judge_runs_at_the_point_alone():
    def f(x):
        left, n = x[0], 0.0
        while left != 0.0:  # which ends for multiples of 0.5
            assert left > -100.0
            left, n = left - 0.5, n + 1.0
        return n + np.floor(x[1:] ** 3 * 1000).sum()

    x = np.array([5.0, 0.8, 0.6, 0.5, 0.3, 0.3, 0.1, 0.1, 0.1, 0.2, 0.8])
    assert cadiff.compile(f)(x) == f(x)


def by_handler(x):
    try:
        return math.cosh(x[0] - 1.0) + x[1] ** 2
    except TypeError:
        return (x[0] + 5.0) ** 2 + x[1] ** 2


def by_truth(x):
    return (x[0] + 5.0) ** 2 + x[1] ** 2 if ~(x[0] > 0.0) else (x[0] - 1.0) ** 2 + x[1] ** 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("verify", ["first", "always"])
@pytest.mark.parametrize("f", [by_handler, by_truth])
def test_derivatives_of_what_knows_stand_ins_raise(f, verify):
    """Values are those of f; what it does of numbers with derivatives is another function."""
    program, x = cadiff.compile(f, verify=verify), np.array([3.0, 1.0])
    assert program(x) == f(x)
    for _ in range(2):
        for call in (program.grad, program.value_and_grad, program.hessian):
            with pytest.raises(NoDerivativeError, match=r"gives 65\.0, and not"):
                call(x)
    assert program(x) == f(x)


class FoundError(Exception):
    pass


def first_beyond(x):
    for item in x:
        if item > 2.0:
            raise FoundError(item)
    return 0.0


def test_exceptions_of_plain_calls_hold_plain_numbers():
    program = cadiff.compile(first_beyond)
    for _ in range(3):
        with pytest.raises(FoundError) as caught:
            program(X)
        assert type(caught.value.args[0]) is np.float64
    assert program(X - 5.0) == 0.0
    program = cadiff.compile(lambda x, k: first_beyond(x[: 2 * k] * [1.0] * k))
    with pytest.raises(FoundError) as caught:
        program(4.0 * X, 1)
    assert not cadiff.binding.carries(caught.value.args)


def test_what_is_seen_of_a_call_that_raises_is_seen_once(capsys):
    def f(x):
        print("seen")
        return len({*x}) * x[0]

    program = cadiff.compile(f)
    with pytest.raises(TypeError, match="unhashable"):
        program(X)
    assert capsys.readouterr().out == "seen\n"


def test_always(blind):
    first, always = cadiff.compile(scaled), cadiff.compile(scaled, verify="always")
    never = cadiff.compile(scaled, verify=False)
    for program in (first, always, never):
        for shift in range(3):
            assert program(X + shift) == scaled(X + shift)
    SCALE[0] = 5.0
    assert first(X) == never(X) == 28.0  # which is why there is a watch
    with pytest.warns(cadiff.StaleProgramWarning):
        assert always(X) == scaled(X)


def test_derivatives_are_compared_where_all_is(monkeypatch):
    other = cadiff.compile(lambda x: cnp.sum(x**3))
    other.vjp(X)
    (wrong,) = other._traces
    code = Recorded.code
    monkeypatch.setattr(
        Recorded,
        "code",
        lambda self, what, ranges=(): code(wrong if what == "pull" else self, what, ranges),
    )
    program = cadiff.compile(lambda x: cnp.sum(x**2), verify="always")
    with pytest.warns(cadiff.StaleProgramWarning, match="derivative along a direction"):
        assert program(X) == 14.0


@pytest.mark.parametrize("optimize", [True, False])
def test_wrong_kernels(monkeypatch, optimize):
    returned = recordings.Returned.returned

    def rounded(self, atoms, within=False):
        return returned(self, [x * (1.0 + 1e-9) for x in atoms], within)

    monkeypatch.setattr(recordings.Returned, "returned", rounded)
    program = cadiff.compile(lambda x: cnp.sum(cnp.sin(x)), optimize=optimize)
    with pytest.warns(cadiff.StaleProgramWarning):
        assert program(X) == np.sum(np.sin(X))


def test_the_price_is_a_run_at_two_calls():
    def f(x):
        return x[0] * cadiff.sin(x[1])

    for verify, counts in ((False, [1, 0, 0, 0]), ("first", [2, 0, 1, 0])):
        program = cadiff.compile(f, verify=verify)
        points = (X, X, X + 1.0, X + 2.0)
        assert [runs_at(f, program.grad, x) for x in points] == counts


LOOPS = {
    "scan": lambda turn: lambda x: cadiff.scan(turn, x, None, 1000)[0],
    "outputs": lambda turn: lambda x: cnp.sum(cadiff.scan(turn, x, np.ones((1000, 2)))[1]),
    "fori_loop": lambda turn: lambda x: cadiff.fori_loop(0, 1000, lambda k, y: turn(y, k)[0], x),
    "while_loop": lambda turn: (
        lambda x: cadiff.while_loop(lambda y: y < 1e3 * x, lambda y: turn(y, 0)[0] + 0.1 * x, x)
    ),
    "nested": lambda turn: (
        lambda x: cadiff.scan(lambda y, _: cadiff.scan(turn, y, None, 20), x, None, 200)[0]
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_long_loops_are_judged_by_their_first_turns(name):
    def turn(y, _):
        return y + 0.001 * cadiff.sin(y), y

    f = LOOPS[name](turn)
    n_eager = runs_at(turn, f, 2.0)
    points = (2.0, 2.5, 3.0)
    for verify, of_jax, most in (
        ("first", AsNumPy(), n_eager // 2),
        ("first", contextlib.nullcontext(), 3 * n_eager),
        ("always", AsNumPy(), 3 * n_eager),
    ):
        program = cadiff.compile(f, verify=verify)
        with of_jax:
            counts = [runs_at(turn, program, x) for x in points]
            assert all(program(x) == pytest.approx(f(x), rel=1e-12) for x in points)
        assert max(counts) <= most
        assert (counts[2] >= n_eager // 2) == (verify == "always")


def test_what_later_turns_change_is_found():
    def f(x):
        n, log = [0], []

        def turn(c, r):
            if r > 0.5:
                n[0] += 1
                log.append(r)
            return c + x * r, c

        c = cadiff.scan(turn, 0.0, np.linspace(0.0, 1.0, 40))[0]
        return c * n[0] + len(log)

    program = cadiff.compile(f)
    for x in (1.0, 1.1, 2.0, 0.3):
        assert program(x) == pytest.approx(f(x), rel=1e-12)
        assert program.grad(x) == pytest.approx(cadiff.grad(f)(x), rel=1e-12)


LONG = ["scan", "outputs", "fori_loop"]


@pytest.mark.parametrize("name", LONG)
def test_derivatives_within_go_through_all_turns(name):
    def slope(x, k):
        g = LOOPS[name](lambda y, _: (y * x, y))
        return cadiff.grad(lambda k: g(k) * k)(k) + cadiff.grad(
            lambda x: LOOPS[name](lambda y, _: (y * x, y))(k)
        )(x)

    program = cadiff.compile(slope, verify="first")
    for x in (0.999, 1.001, 1.0005):
        assert program(x, 2.0) == pytest.approx(slope(x, 2.0), rel=1e-10)
    assert program.stats()["eager"] == 0


@pytest.mark.parametrize("name", LONG)
def test_turns_that_are_stale_are_told(blind, name):
    f = LOOPS[name](lambda y, _: (y + SCALE[0], y))
    program = cadiff.compile(f)
    assert program(1.0) == f(1.0)
    SCALE[0] = 3.0
    with pytest.warns(cadiff.StaleProgramWarning):
        assert program(1.5) == f(1.5)


@pytest.mark.parametrize("name", LONG)
def test_ways_through_later_turns_are_judged(name):
    def turn(y, _):
        return (y + told(y) if cnp.max(y) > 500.0 else y + 1.0), y

    def told(y):
        return 2.0 if hasattr(y, "is_integer") else 3.0

    f = LOOPS[name](turn)
    program = cadiff.compile(f)
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", cadiff.StaleProgramWarning)
        assert [program(x) for x in (1.0, 1.5, 2.5)] == [f(x) for x in (1.0, 1.5, 2.5)]


def logistic_map(x):
    y = x[0]
    for _ in range(100):
        y = 3.99 * y * (1.0 - y)
    return cnp.sum(y * x**2)


def near_zero(x):
    return (x[0] + 0.1 + 0.2 - 0.3) - x[1] * (0.1 * 3.0 - 0.3)


NOISY = {
    "chaos": (logistic_map, [np.array([0.3, 0.2]) + 0.01 * k for k in range(5)]),
    "cancellation": (near_zero, [np.array([0.0, 1e-3 * k]) for k in range(5)]),
    "sums": (lambda x: cnp.sum(x) - x.sum(), [np.linspace(-1.0, k, 1000) for k in range(5)]),
    "residuals": (
        lambda x: cnp.sum((X * 0.1 * x[0] - 0.3 * X / 3.0) ** 2),
        [np.array([1.0]), np.array([1.0 + 1e-16])] * 2,
    ),
    "single": (lambda x: cnp.sum(cnp.exp(x)), [X.astype("f4") * k for k in range(5)]),
    "complex": (lambda x: abs(cnp.exp(1j * x[0]) - x[1]), [X * k for k in range(5)]),
    "whole numbers": (lambda x, k: k * x[0], [(X, k) for k in range(5)]),
    "inf of Python": (lambda x: 1.0 / x[0] + cadiff.exp(x[1]), [[0.0, 1e3 * k] for k in range(4)]),
    "nan of Python": (lambda x: (x[0] - 2.0) ** 0.5 * x[1], [[1.0, 1.0 + k] for k in range(4)]),
    "own methods": (lambda x: x[0].exp() * x[1], [[0.5, 1.0 + k] for k in range(4)]),
    "containers": (
        lambda p: {"a": [p["x"] * 2.0, (p["y"], "text")], "n": None},
        [{"x": 1.0 * k, "y": X} for k in range(4)],
    ),
    "nothing": (lambda x: cnp.sum(x), [np.zeros(0)] * 3),
    "number": (lambda x: 2.0, [X * k for k in range(4)]),
    "array of no axes": (lambda x: np.asarray(2.0) * x, [np.array(0.5 + k) for k in range(4)]),
    "constant": (lambda x: (x, np.arange(3), "a"), [1.0 * k for k in range(4)]),
}


@pytest.mark.parametrize("verify", ["first", "always"])
@pytest.mark.parametrize("name", NOISY)
def test_what_agrees_is_replayed(name, verify):
    f, points = NOISY[name]
    program = cadiff.compile(f, verify=verify)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for point in points:
            program(*point if isinstance(point, tuple) else (point,))
    assert program.stats()["eager"] == 0
    assert program.stats()["obstacles"] == []


def test_the_environment(monkeypatch, blind):
    monkeypatch.setenv("CADIFF_VERIFY", "0")
    program = cadiff.compile(scaled)
    program(X)
    SCALE[0] = 5.0
    assert program(X + 1.0) == 2.0 * 29.0
    monkeypatch.setenv("CADIFF_VERIFY", "always")
    assert cadiff.compile(scaled)._traces.verify == "always"
    assert cadiff.compile(scaled, verify=False)._traces.verify is False
    monkeypatch.setenv("CADIFF_VERIFY", "sometimes")
    with pytest.raises(ValueError, match="CADIFF_VERIFY of the environment is"):
        cadiff.compile(scaled)
    with pytest.raises(ValueError, match='verify is "first", "always" or False, not 1'):
        cadiff.compile(scaled, verify=1)


def test_pickles_are_verified_again(blind):
    program = cadiff.compile(scaled)
    program(X), program(X + 1.0)
    SCALE[0] = 5.0
    loaded = pickle.loads(pickle.dumps(program))
    assert len(loaded.stats()["traces"]) == 1
    with pytest.warns(cadiff.StaleProgramWarning):
        assert loaded(X) == scaled(X)


def test_what_is_printed_is_printed_once(capsys):
    def f(x):
        print("seen")
        return cnp.sum(x**2)

    program = cadiff.compile(f)
    for k in range(3):
        assert program(X + k) == f(X + k)
    assert capsys.readouterr().out == "seen\n" * 4


@pytest.mark.parametrize("seed", range(5))
def test_sums_of_single_precision_may_differ_beside_doubles(seed):
    x = np.random.default_rng(seed).normal(size=50_000).astype(np.float32)
    program = cadiff.compile(lambda x, w: (x @ x) * w[0])
    program.grad(x, np.array([1.5]))
    assert program.stats()["eager"] == 0
