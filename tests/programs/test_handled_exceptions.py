"""Exceptions that f handles: a recording serves where the same would be raised.

Each case is called in several orders, so that the first recording is now one with the exception,
now one without; the judge is f on plain numbers, and for derivatives eager code.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import math
import statistics
import struct
import warnings
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

import cadiff
import cadiff.math
import cadiff.numpy as cnp
import cadiff.scipy.optimize

X = np.array([1.0, 2.0, 3.0])
ORDERS = ((0, 1, 2, 3, 4), (2, 0, 2, 1, 3), (4, 2, 2, 0, 2))


def handled(body, kind=Exception, other=lambda x, *args: 0.5 * x[0]):
    """body(x, ...), and where that raises other(x, ...)."""

    def f(x, *args):
        try:
            return body(x, *args)
        except kind:
            return other(x, *args)

    return f


# --- what numbers decide -------------------------------------------------------------------------


def stored(x, k):
    y = x.copy()
    with contextlib.suppress(IndexError):
        y[k] = 5.0 * x[0]
    return cnp.sum(y)


def added_at(x, k):
    y = cnp.zeros(3) * x[0]
    try:
        np.add.at(y, k, x[0])
    except IndexError:
        return cnp.sum(x)
    return cnp.sum(y)


def by_generator(x, k):
    numbers = (x[k + i] for i in itertools.count())
    total = 0.0 * x[0]
    while True:
        try:
            total = total + next(numbers)
        except (StopIteration, IndexError):
            return total


def finally_noted(x, k):
    notes = []
    try:
        try:
            return x[k]
        finally:
            notes.append(k)
    except IndexError:
        return 3.0 * x[0] * len(notes)


class Forgiving(contextlib.nullcontext):
    """Swallows what is raised within `with`."""

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, LookupError)


def by_context(x, k):
    found = [-x[0]]
    with Forgiving():
        found.append(x[k] * x[1])
    return found[-1]


def handled_below(x, k):
    def inner(j):
        return x[j]

    def middle(j):
        try:
            return inner(j)
        except IndexError as error:
            raise LookupError(str(error)) from error

    try:
        return middle(k)
    except LookupError:
        return -2.0 * x[1]


def by_property(x, k):
    class Cell:
        @property
        def found(self):
            try:
                return x[k]
            except IndexError:
                raise AttributeError("found") from None

    return getattr(Cell(), "found", 4.0 * x[0])


def taken_again(x, k):
    for j in (k, k - 3, k - 6):
        try:
            return x[j] * j
        except IndexError:
            continue
    return 0.0 * x[0]


def of_map(x, k):
    def one(j):
        try:
            return x[j]
        except IndexError:
            return x[0] * 10.0

    return sum(map(one, (k, k + 1)))


def rooted(x):
    from cadiff.scipy.optimize import brentq

    return brentq(lambda s, a: s * s - a, 0.0, 2.0, args=(x[0],))


def matrix(x, change=lambda a: a):
    return change(cadiff.array([[x[0], 1.0], [1.0, 1.0]]))


# What stand-ins for numbers cannot do, so that they raise where f does not.
CAUSED = {
    "statistics": lambda x, a: np.sum(x) * statistics.mean(a.tolist()),
    "crc32": lambda x, a: np.sum(x) * (zlib.crc32(a) % 7),
    "memoryview": lambda x, a: np.sum(x) * memoryview(a).nbytes,
    "frombuffer": lambda x, a: np.sum(x) * np.frombuffer(a).sum(),
    "hashlib": lambda x, a: np.sum(x) * (hashlib.sha1(a).digest()[0] % 5),
    "struct": lambda x, a: np.sum(x) * len(struct.pack("d", a[0])),
    "math": lambda x, a: np.sum(x) * math.gamma(a[0]),
    "json": lambda x, a: np.sum(x) * len(json.dumps(float(a[0]))),
    "fromiter": lambda x, a: np.sum(x) * np.fromiter((v for v in a), float).sum(),
    "tobytes": lambda x, a: np.sum(x) * len(a.tobytes()),
    "range": lambda x, a: np.sum(x) * len(range(int(a[0]))),
}


def numbers(*ks):
    return [(X, k) for k in ks]


INDICES = numbers(0, 1, 7, 2, -9)
ROWS = [(X, np.array([k, 0])) for k in (0, 1, 7, 2, -9)]
AT = [(np.array([v, 1.0, 2.0]),) for v in (3.0, 2.0, np.nan, 4.0, -1.0)]
SINGULAR = AT[:2] + [(np.ones(3),)] + AT[3:]
ARRAYS = [(X, scale * X) for scale in (1.0, 2.0, 1.5, 3.0, 4.0)]
DECIDED = {
    "index": (handled(lambda x, k: x[k], IndexError), INDICES),
    "index in an array": (handled(lambda x, k: x[np.array([k, 0])].sum()), INDICES),
    "rows": (handled(lambda x, k: x[k].sum()), ROWS),
    "take": (handled(lambda x, k: np.take(x, k)), INDICES),
    "plain array": (handled(lambda x, k: x[0] * X[k]), INDICES),
    "store": (stored, INDICES),
    "add.at": (added_at, ROWS),
    "bincount": (
        handled(lambda x, k: np.bincount(k, x)[-1]),
        [(X, np.array([k, 0, 1])) for k in (0, 1, -7, 2, 3)],
    ),
    "generator": (by_generator, numbers(0, 1, 7, 2, 5)),
    "finally": (finally_noted, INDICES),
    "with": (by_context, INDICES),
    "functions": (handled_below, INDICES),
    "getattr": (by_property, INDICES),
    "loop": (taken_again, INDICES),
    "map": (of_map, INDICES),
    "//": (handled(lambda x, k: x[0] * (6 // k)), numbers(1, 2, 0, 3, 4)),
    "%": (handled(lambda x, k: x[0] * (7 % k)), numbers(1, 2, 0, 3, 4)),
    "/": (handled(lambda x, k: x[0] * (6 / k)), numbers(1, 2, 0, 3, 4)),
    "divmod": (handled(lambda x, k: x[0] * divmod(9, k)[1]), numbers(4, 2, 0, 5, 7)),
    "**": (handled(lambda x, k: x[0] * 10.0**k), numbers(1, 2, 400, 3, 4)),
    "0 ** -k": (handled(lambda x, k: x[0] * 0.0**k), numbers(1, 2, -1, 3, 0)),
    "<<": (handled(lambda x, k: x[0] * (1 << k)), numbers(1, 2, -1, 3, 4)),
    "int": (handled(lambda x: x[1] * int(cadiff.value(x[0]))), AT),
    "floor": (handled(lambda x: x[1] * math.floor(cadiff.value(x[0]))), AT),
    "dict": (handled(lambda x, k: x[0] * {0: 1.0, 1: 2.0, 2: 3.0}[k], KeyError), INDICES),
    "list": (handled(lambda x, k: [x[0], x[1], x[2]][k], IndexError), INDICES),
    "unpacking": (handled(lambda x, k: math.prod(x[:k])), numbers(2, 1, 0, 3, 2)),
    "chr": (handled(lambda x, k: x[0] * ord(chr(k))), numbers(1, 2, -5, 3, 4)),
    "svd": (handled(lambda x: matrix(x, np.linalg.svd)[1][0], np.linalg.LinAlgError), AT),
    "eigh": (handled(lambda x: matrix(x, np.linalg.eigh)[0][0], np.linalg.LinAlgError), AT),
    "inv": (handled(lambda x: matrix(x, np.linalg.inv)[0, 0]), SINGULAR),
    "solve": (handled(lambda x: np.linalg.solve(matrix(x), x[:2])[0]), SINGULAR),
    "cholesky": (handled(lambda x: matrix(x, np.linalg.cholesky)[0, 0]), AT),
    "brentq": (handled(rooted, ValueError), AT),
    **{name: (handled(f, other=lambda *_: -1.0), ARRAYS) for name, f in CAUSED.items()},
}


def outcome(call, *args):
    try:
        return call(*args)
    except Exception as error:
        return type(error)


def agree(one, other):
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    return np.allclose(one, other, rtol=1e-12, atol=1e-13, equal_nan=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("name", DECIDED)
def test_exceptions_that_numbers_decide(name, order):
    f, calls = DECIDED[name]
    for what in ("value", "grad"):
        program = cadiff.compile(f, verify=False)
        eager = f if what == "value" else cadiff.grad(f)
        for k in order:
            found = outcome(getattr(program, what), *calls[k])
            expected = outcome(eager, *calls[k])
            assert agree(found, expected), (what, calls[k], program.stats()["obstacles"])


def test_a_reason_is_given_and_other_calls_are_replayed():
    program = cadiff.compile(handled(lambda x, k: x[k], IndexError), verify=False)
    for k in (0, 1, 7, *range(3), *range(3)):
        program(X, k)
    stats = program.stats()
    assert stats["recordings"] == 2
    assert stats["eager"] == 1
    assert "IndexError" in stats["obstacles"][0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_batches_and_optimisers():
    f = handled(lambda x: x[1] * int(cadiff.value(x[0])) + x[0] ** 2)
    points = np.array([[3.5, 1.0], [np.nan, 1.0], [3.2, 2.0], [2.5, 1.0], [np.nan, 2.0]])
    for what in ("value", "grad"):
        eager = f if what == "value" else cadiff.grad(f)
        found = cadiff.compile(f, verify=False).batch(points, what=what)
        assert agree(found, [eager(x) for x in points])

    from cadiff.optimize import minimize

    def distance(x, k):
        try:
            return (x[0] - X[k]) ** 2
        except IndexError:
            return x[0] ** 2

    solved = [minimize(distance, [0.5], args=(k,)).x[0] for k in (0, 7, 1, 2)]
    np.testing.assert_allclose(solved, [1.0, 0.0, 2.0, 3.0], atol=1e-6)


# --- what f changes ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("what", ["value", "grad", "batch"])
@pytest.mark.parametrize("order", [(7,), (0, 1, 7, 2)], ids=str)
def test_what_f_changes_it_changes_once(what, order):
    log = []

    def f(x, k):
        try:
            found = x[k]
        except IndexError:
            found = 0.5 * x[0]
        log.append(k)
        return found

    program = cadiff.compile(f)
    for k in order:
        log.clear()
        getattr(program, what)(X[None] if what == "batch" else X, k)
        assert log == [k]


# --- what is replayed all the same ---------------------------------------------------------------


def until_the_end(x):
    total, k = 0.0, 0
    try:
        while True:
            total = total + x[k] ** 2
            k += 1
    except IndexError:
        return total


def chosen(x):
    try:
        if x[0] > 2.0:
            raise ValueError
        return x[0]
    except ValueError:
        return x[1]


def drained(x):
    numbers, total = iter([x[0], x[1]]), 0.0
    while True:
        try:
            total = total + next(numbers)
        except StopIteration:
            return total


SETTINGS = SimpleNamespace(scale=2.0)
REPLAYED = {
    "end of an array": until_the_end,
    "raise": chosen,
    "iterator": drained,
    "key": handled(lambda x: x[0] * {"a": 1.0}["b"], KeyError),
    "attribute": lambda x: x[0] * getattr(SETTINGS, "shift", 3.0),
    "default": lambda x: x[0] * (2.0 if hasattr(SETTINGS, "scale") else 1.0),
    "suppress": lambda x: contextlib.suppress(KeyError).__class__ and x[0],
    "partial": functools.partial(handled(lambda y, x: x[5], IndexError, lambda y, x: x[1]), 1.0),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_what_values_do_not_decide_is_replayed(name):
    f = REPLAYED[name]
    program = cadiff.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (1.0, 1.1, 1.2, 1.3):
            assert agree(program(scale * X), f(scale * X))
    assert program.stats()["recordings"] == 1
    assert program.stats()["eager"] == 0


# --- calls that nothing needs --------------------------------------------------------------------


@cadiff.primitive
def checked(x):
    if x > 1.0:
        raise ArithmeticError
    return 2.0 * x


checked.defvjp(lambda ans, x: lambda g: 2.0 * g)


def in_turns(x):
    for _ in range(40):
        x = x * 1.0001
        np.linalg.cholesky(cnp.array([[1.0, x], [x, 1.0]]))


@pytest.mark.parametrize("native", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "check",
    [
        lambda x: np.linalg.cholesky(cnp.array([[1.0, x], [x, 1.0]])),
        lambda x: np.linalg.inv(cnp.array([[1.0, x], [x, 4.0]])),
        lambda x: cadiff.scipy.optimize.brentq(lambda t: t * t - x, 0.0, 1.2),
        lambda x: np.linalg.svd(cnp.array([[x, 1.0 / (x - 2.0)]]))[1],
        checked,
        in_turns,
    ],
)
def test_a_call_raises_whether_anything_needs_it_or_not(check, native):
    def f(x):
        try:
            check(x)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            return -x
        return x

    points = [0.2, 0.5, 2.0, 0.7, 3.0, 0.3]
    program = cadiff.compile(f, native=native)
    eager = cadiff.grad(f)
    for x in points:
        assert program(x) == f(x)
        assert program.grad(x) == eager(x)
    other = cadiff.compile(f, native=native)
    assert other.batch(np.array(points)).tolist() == [f(x) for x in points]
    assert [other.grad(x) for x in points] == [eager(x) for x in points]
    other = cadiff.compile(f, native=native)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs f eagerly
        for x in (2.0, 0.2, 3.0, 0.5, 0.25):
            assert other(x) == f(x)


def test_the_kind_of_what_nothing_computes_with():
    def f(x):
        w = np.linalg.eigvals(cnp.array([[0.0, 1.0], [-1.0, -x]]))
        return 10.0 * x if np.iscomplexobj(w) else x**2

    program = cadiff.compile(f)
    for x in (1.0, 1.5, 3.0, 0.5, 2.5):
        # Real eigenvalues of numbers with derivatives are real, those of NumPy until 2.5 alone.
        assert program(x) == cadiff.jvp(f, (x,), (1.0,))[0]
        assert program.grad(x) == cadiff.grad(f)(x)


def with_errstate(x):
    with np.errstate(all="raise"):
        try:
            return np.log(x - 2.0)
        except FloatingPointError:
            return x


def with_suppress(x):
    with contextlib.suppress(ZeroDivisionError):
        return 3.0 % x
    return 5.0


@pytest.mark.parametrize("points", [(2.0, 3.0, 4.0), (None, 2.0, 3.0), (2.0, None, 3.0)])
@pytest.mark.parametrize(
    ("f", "raising"),
    [
        (handled(lambda x: 1.0 / x, ZeroDivisionError, lambda x: 7.0), 0.0),
        (handled(lambda x: x**-2.0, ArithmeticError, lambda x: 7.0), 0.0),
        (handled(lambda x: 7.0 // x + x, Exception, lambda x: -1.0), 0.0),
        (handled(lambda x: x**400.0, OverflowError, lambda x: -1.0), 1e10),
        (handled(lambda x: cadiff.math.log(x), ValueError, lambda x: -2.0), -1.0),
        (handled(lambda x: cadiff.math.exp(x), OverflowError, lambda x: -2.0), 1e4),
        (with_suppress, 0.0),
        (with_errstate, np.float64(1.0)),
    ],
)
def test_what_floats_raise_is_handled_in_every_call(f, raising, points):
    """Numbers with derivatives are infinite or nan there: f is asked where they are."""
    points = [raising if x is None else type(raising)(x) for x in points]
    program, of_many = cadiff.compile(f), cadiff.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [program(x) for x in (*points, raising)] == [f(x) for x in (*points, raising)]
        found = of_many.batch(np.array([*points, raising, 5.0]))
        np.testing.assert_array_equal(found[[0, -1]], [f(points[0]), f(type(raising)(5.0))])
        if not isinstance(raising, np.floating):
            assert found[-2] == f(raising)


# --- plain calls of what no recording serves -----------------------------------------------------

RNG = np.random.default_rng(0)
KNOWN = {"a": 2.0}


def by_assignment(x):
    z = np.asarray(np.atleast_1d(x))
    try:
        z[0] = 1.0
    except ValueError:
        return 99.0
    return z.sum() + 0.0 * RNG.normal()


def by_turns(x):
    k, s = 0, abs(x)
    while s > 1.0:
        s, k = s / 2.0, k + 1
    try:
        return 1.0 / x + k
    except ZeroDivisionError:
        return 5.0


def renamed(x):
    try:
        return 1.0 / x
    except ZeroDivisionError:
        raise ValueError("zero") from None


def unsolved(x):
    try:
        return cadiff.scipy.optimize.fsolve(lambda t: t**2 - x, [1.0])[0]
    except RuntimeError:  # of no solution, which SciPy's answers for
        return 50.0 * x


def warned(x, record):
    with warnings.catch_warnings(record=record) as seen:
        warnings.simplefilter("always" if record else "error")
        try:
            y = np.sqrt(x)
        except RuntimeWarning:
            return 5.0
    return 7.0 if seen else y


def known_over(x, name):
    try:
        factor = KNOWN[name]
    except KeyError:
        factor = 1.0
    return factor / x


TURNS = [(x,) for x in (1.0, 2.0, 0.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 0.0)]
FLOATS, DOUBLES = ([(kind(x),) for x in (1.0, 2.0, 3.0)] for kind in (float, np.float64))
HAS_SHAPE = lambda x: x * (2.0 if hasattr(x, "shape") else 3.0)  # noqa: E731
IS_OF_NUMPY = lambda x: x * (2.0 if isinstance(x, np.floating) else 3.0)  # noqa: E731
OF_TYPE = lambda x: x * np.result_type(x, np.float32).itemsize  # noqa: E731
PLAIN = {
    "a type": (lambda x: (2.0 if isinstance(x, float) else 3.0) * x + 0.0 * RNG.normal(), TURNS),
    "a quotient": (
        handled(lambda x: 1.0 / x + 0.0 * RNG.normal(), ZeroDivisionError, lambda x: 5.0),
        TURNS,
    ),
    "an assignment": (by_assignment, TURNS),
    "turns": (by_turns, TURNS),
    "another error": (renamed, TURNS),
    "another error at first": (renamed, TURNS[2:]),
    "no solution": (unsolved, [(0.2,), (0.3,), (-1.5,), (0.4,)]),
    "no solution at first": (unsolved, [(-1.5,), (0.3,), (-1.5,), (0.4,)]),
    "warnings": (warned, [(x, record) for record in (False, True) for x in (1.0, 4.0, -1.0, 9.0)]),
    "an attribute, doubles first": (HAS_SHAPE, DOUBLES + FLOATS),
    "an attribute, floats first": (HAS_SHAPE, FLOATS + DOUBLES),
    "a class of NumPy, doubles first": (IS_OF_NUMPY, DOUBLES + FLOATS),
    "a class of NumPy, floats first": (IS_OF_NUMPY, FLOATS + DOUBLES),
    "a dtype, doubles first": (OF_TYPE, DOUBLES + FLOATS),
    "a dtype, floats first": (OF_TYPE, FLOATS + DOUBLES),
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_plain_calls_are_those_of_f(name):
    f, calls = PLAIN[name]
    program = cadiff.compile(f)
    for args in calls:
        assert outcome(program, *args) == outcome(f, *args)


@pytest.mark.parametrize(
    ("f", "calls", "wanted"),
    [
        (
            handled(lambda x: 1.0 / x, ZeroDivisionError, lambda x: 7.0),
            [(1.0,), (2.0,), (4.0,), (8.0,)],
            [1.0, 0.5, 0.25, 0.125],
        ),
        # Nothing handles the quotient by zero here, which is infinite in each call.
        (
            known_over,
            [(0.0, "a"), (1.0, "a"), (0.0, "a"), (4.0, "a")],
            [np.inf, 2.0, np.inf, 0.5],
        ),
    ],
)
def test_programs_with_handlers_are_replayed(f, calls, wanted):
    program = cadiff.compile(f)
    assert [program(*args) for args in calls] == wanted
    assert (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)
