"""Masks within compiled functions: one recording serves all data as long as they only choose
between numbers; what reads them gets what NumPy gives, and a guard."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.programs.observations import Observation

from ..helpers.programs import near, same, value_of

Array = np.ndarray[Any, np.dtype[np.float64]]


def assigned(x: Any, key: Any, value: Any) -> Any:
    y = x * 1.0
    y[key] = value
    return y


def met(x: Any) -> Any:
    mask = x > 0.0
    same = mask
    mask &= x < 2.0
    return cadiff.where(same, x**3, -x)


def loss(x: Any) -> Any:
    return cnp.sum(cnp.maximum(x, 0.5 * x) ** 2 + cadiff.where(x > 0.3, x**3, abs(x)))


# What chooses between numbers, elementwise.
CHOICES: dict[str, Callable[[Any], Any]] = {
    "numpy.where": lambda x: np.where(x > 1.0, x**2, -x),
    "cadiff.where": lambda x: cadiff.where(x >= 1.0, x**2, 3.0),
    "cadiff.numpy.where": lambda x: cnp.where(x != 1.0, x**2, 3.0),
    "a plain array on the left": lambda x: cadiff.where(np.arange(5.0) < x, x**2, 3.0),
    "factor": lambda x: (x > 0.0) * x * x,
    "factor on the right": lambda x: x * x * (x > 0.0),
    "numpy.multiply": lambda x: np.multiply(x > 0.0, x) + np.multiply(x, x < 1.0),
    "power": lambda x: (x * x + 1.0) ** (x > 0.0),
    "product of vectors": lambda x: ((x > 0.0) @ x) * x,
    "and, not": lambda x: cadiff.where((x > 0.0) & (x < 2.0) & ~(x == 1.0), x**3, -x),
    "or, bools": lambda x: cadiff.where((x > 2.0) | (x < -2.0) | (np.arange(5) == 3), x**3, -x),
    "xor": lambda x: cadiff.where((x > -1.0) ^ (x < 2.0), x**3, -x),
    "in place": met,
    "logical functions": lambda x: cadiff.where(
        np.logical_and(np.less(x, 2.0), np.logical_not(np.greater_equal(0.0, x))), x**3, -x
    ),
    "select": lambda x: np.select([x > 1.0, x > 0.0, x < -1.0], [x**2, x**3, x], 1.0),
    "slices": lambda x: cadiff.where((x > 0.0)[1:][::-1], x[1:] ** 2, x[:-1]),
    "shapes": lambda x: cadiff.where((x > 0.0).reshape(5, 1).T[0], x**2, x),
    "broadcasting": lambda x: cadiff.where(x.reshape(5, 1) > x, x**3, x),
    "copies": lambda x: cadiff.where(copy.deepcopy(copy.copy((x > 0.0).copy())), x**2, x),
    "assignment": lambda x: assigned(x, x < 0.0, 0.5),
    "assignment of a number": lambda x: assigned(x, x < 0.0, x[0] ** 2),
    "assignment of a mask": lambda x: assigned(cnp.zeros(5), slice(1, 4), (x > 0.0)[1:4]) * x,
    "assignment among numbers": lambda x: assigned(x, x > 0.0, True) * x,
    "about nan": lambda x: np.where(np.isnan(x) | np.isinf(x) | ~np.isfinite(x), 1.0, x**2),
    "gradient within": lambda x: cadiff.grad(lambda y: cnp.sum(cadiff.where(y > x, y**3, y * x)))(
        x**2
    ),
    "rules within": lambda x: cadiff.grad(loss)(x),
    "forward within": lambda x: cadiff.jvp(loss, (x,), (x * x,))[1],
    "Hessian within": lambda x: cadiff.hvp(loss)(x, x * x),
    "sum of some": lambda x: np.sum(x * x, where=x > 0.0) * x,
    "stopped": lambda x: cadiff.stop_gradient(x > 0.0) * x,
    "stacked": lambda x: np.stack([x > 0.0, x < 1.0]).any(axis=0) * x,
    "sum": lambda x: (x > 0.0).sum() * x,
    "numpy.sum": lambda x: np.sum(x > 0.0) * x,
    "count": lambda x: np.count_nonzero(x > 0.0) * x,
    "conversion": lambda x: (x > 0.0).astype(float) * x,
    "other numbers": lambda x: ((x > 0.0) * 2.0 - 1.0) * x,
    "where of plain numbers": lambda x: np.where(x > 0.0, 1.0, -1.0) * x,
    "mean": lambda x: np.mean(x > 0.0) * x + (x > 1.0).mean(),
    "cadiff.numpy.mean": lambda x: cnp.mean(x > 0.0) * x,
    "cumsum": lambda x: np.cumsum(x > 0.0) * x,
    "mean of some": lambda x: np.sum(np.where(x > 0.0, x * x, 0.0)) / (x > -9.0).sum() * x,
    "ints": lambda x: (1 - (x > 0.0)) * x + (x > 1.0).astype(int) * 3 * x,
    "signs": lambda x: np.where(x > 0.0, 1, -1) * x + -(x > 0.0).astype(int),
    "slopes": lambda x: np.where(x > 0.0, 1.0, 0.1)[::-1] * x + np.where(x > 0.0, 2, 1)[3],
    "steps": lambda x: np.cumsum(np.where(x > 0.0, 0.5, 0.1)) * x,
    "arithmetic": lambda x: (
        (np.abs(2.0 * (x > 0.0) - 1.5) / ((x > 1.0) + 1) - np.square(3 * (x < 0.0))) * x
        + np.maximum((x > 0.0) * 0.5, (x > 1.0) * 2.0)
    ),
    "along axes": lambda x: cadiff.where(
        (x.reshape(5, 1) > x).any(axis=0) & ~(x.reshape(5, 1) > x).all(axis=1), x**2, -x
    ),
    "comparison of counts": lambda x: cadiff.where((x.reshape(5, 1) > x).sum(axis=1) > 2, x**2, x),
    "comparison with a mean": lambda x: np.where(np.less(x, np.mean(x > 0.0)), x, x**2),
    "comparison with chosen numbers": lambda x: (
        cnp.where(cnp.less_equal(x, np.where(x > 0.0, 1.0, -1.0)), x, x**2)
        + np.where(np.greater(x, x > 0.0) | np.not_equal(x - x, x > 1.0), x**3, x)
    ),
    "assignment of chosen numbers": lambda x: assigned(
        x, slice(1, 4), np.where(x > 0, 2.0, 3.0)[2:]
    ),
    "loop over chosen numbers": lambda x: (
        sum(w * x[k] for k, w in enumerate(np.where(x > 0.0, 2.0, 0.5))) * x
    ),
    "results": lambda x: np.where(x > 0.0, 2.0, 3.0),
    "floor": lambda x: (np.where(x > 0.0, 3.5, 2.5) // 2.0) * x,
    "joined": lambda x: (
        np.concatenate([np.where(x > 0.0, 2.0, 3.0), x, x > 1.0])[2:12:2]
        * np.stack([(x > 0.0).astype(float), x], axis=1)[:, 0]
        * cnp.array([np.sum(x > k) for k in range(4)] + [x[0]])
    ),
    "products": lambda x: (
        (np.arange(25.0).reshape(5, 5) @ (x > 0.0)) * (np.where(x > 0.0, 1, 2) @ x)
        + np.outer(np.where(x > 0.0, 1.0, 2.0), x)[1] * np.dot(np.ones(5), x > 1.0)
    ),
    "copies of numbers": lambda x: copy.copy((x > 0.0).astype(float).copy()) * x,
    "counted element": lambda x: x[np.sum(x > 0.0) - 1] * x,
    "index made of bools": lambda x: x[np.where(x > 0.0, 1, 0)] * x,
    "ints as index": lambda x: np.arange(5.0)[(x > 0.0).astype(int)] * x,
    "inner program": lambda x: cadiff.compile(lambda y, m: cadiff.where(m, y * y, y))(x, x > 0.0),
}

# What reads a mask, in some way or other.
READINGS: dict[str, Callable[[Any], Any]] = {
    "index": lambda x: cnp.sum(x[x > 0.0] ** 2) * x,
    "index of another array": lambda x: np.arange(5.0)[x > 0.0].sum() * x,
    "places": lambda x: np.where(x > 0.0)[0].sum() * x,
    "named arguments": lambda x: (
        np.sum(a=x > 0.0) * x + np.count_nonzero(a=x > 1.0) + np.any(a=x > 2.0)
    ),
    "counted turns": lambda x: sum(x[k] ** 2 for k in range(np.sum(x > 0.0))) * x,
    "float": lambda x: float(np.mean(x > 0.0)) * x + round(float((x > 1.0).sum()) / 3.0, 1),
    "int": lambda x: int(np.sum(x > 0.0)) * x + int(2.5 * np.mean(x > 0.0)),
    "key": lambda x: {k: k * 0.5 for k in range(6)}[np.sum(x > 0.0)] * x,
    "shape": lambda x: np.ones(np.sum(x > 0.0)).sum() * x,
    "order of counts": lambda x: x * x if np.sum(x > 0.0) > 2 else x,
    "other dtypes": lambda x: (x > 0.0).astype(np.float32) * 0.1 * x,
    "small ints": lambda x: ((x > 0.0).astype(np.int8) * np.int8(100) * np.int8(3)) * x,
    "bits": lambda x: ((x > 0.0).astype(int) << 2 | 1) * x,
    "truncated": lambda x: math.trunc(5.5 * np.mean(x > 0.0)) * x,
    "repeated": lambda x: (
        (len([0] * np.sum(x > 0.0)) + len(np.sum(x > 1.0) * (0,)) + len("ab" * np.sum(x < 2.0)))
        * x
    ),
    "kinds of numbers": lambda x: (
        (isinstance(np.sum(x > 0.0), np.integer) + 2 * np.isscalar(np.mean(x > 0.0)))
        * x
        * int(np.sum(x > 0.0))
    ),
    "lengths": lambda x: (
        cnp.sum(np.reshape(x[: np.sum(x > 0.0)], np.sum(x > 0.0))) * x
        + cnp.sum(np.broadcast_to(x[0], np.sum(x > 0.0)))
    ),
    "norm": lambda x: np.linalg.norm(x + 2.5, 1 + np.sum(x > 0.0)) * x,
    "power of a matrix": lambda x: (
        np.linalg.matrix_power(x.reshape(5, 1) * np.ones(5) / 9.0, np.sum(x > 0.0))[0] * x
    ),
    "differences of bools": lambda x: np.trapezoid(x, x > 0.0) * x + np.trapezoid(x > 1.0, x),
    "any of numbers": lambda x: x * x if np.where(x > 0.0, 0.0, 1.0).any() else x,
    "array": lambda x: np.asarray(x > 0.0, dtype=int) * x,
    "into a plain array": lambda x: assigned(np.zeros(5), slice(None), (x > 0.0) * 2.0) * x,
    "list": lambda x: np.array([x > 0.0, x < 1.0])[0] * x,
    "loop": lambda x: sum((2.0 if m else 0.5) * x[k] for k, m in enumerate(x > 0.0)) * x,
    "builtin sum": lambda x: sum(x > 0.0) * x,
    "tolist": lambda x: (x > 0.0).tolist().count(True) * x,
    "in": lambda x: (2.0 if True in (x > 1.0) else 1.0) * x,
    "text": lambda x: (
        (len(f"{x > 0.0}") + 10 * len(str(x > 0.0)) + 100 * len(repr(np.asarray(x > 0.0)))) * x
    ),
    "pickle": lambda x: pickle.loads(pickle.dumps(x > 0.0)) * x,
    "memory": lambda x: (x > 0.0).view(np.int8) * x,
    "comparison": lambda x: ((x > 0.0) == (x < 1.0)) * x,
    "sum of masks": lambda x: ((x > 0.0) + (x < 1.0)) * x,
    "reduce": lambda x: np.logical_or.reduce([x > 1.0, x < -1.0]) * x,
    "out": lambda x: np.logical_and(x > 0.0, x < 1.0, out=np.zeros(5, bool)) * x,
    "argmax": lambda x: x[np.argmax(x > 0.0)] * x,
    "extract": lambda x: cnp.sum(np.extract(x > 0.0, x)) * x,
    "piecewise": lambda x: np.piecewise(x, [x < 0.0, x >= 0.0], [lambda y: y**2, lambda y: y]),
    "einsum": lambda x: np.einsum("i,i->", x > 0.0, x) * x,
}


def written_after_use(x: Any) -> Any:
    """What is made of a mask rests on what that was at the time."""
    mask = x > 0.0
    chosen = np.where(mask, 0.3, 0.1)
    mask &= x < 1.0
    return cadiff.where(mask, x * x, x) * (2.0 if float(chosen[1]) > 0.2 else 3.0)


def written_numbers(x: Any) -> Any:
    chosen = np.where(x > 0.0, 0.3, 0.1)
    view = chosen[1:]
    view[0] = 7.0
    chosen *= 2.0
    count = np.sum(x > 0.0)
    count += 1
    return chosen * x * count


def written(x: Any) -> Any:
    mask = x > 0.0
    mask[0] = not mask[0]
    return cadiff.where(mask, x**2, x)


def written_by_view(x: Any) -> Any:
    mask = (x > 0.0).reshape(1, 5)
    mask[0][1:][0] = True
    return cadiff.where(mask[0], x**2, x)


def written_by_array(x: Any) -> Any:
    mask = x > 0.0
    plain = np.asarray(mask)
    plain[:2] = [True, False]
    return cadiff.where(mask, x**2, x)


def written_below_a_view(x: Any) -> Any:
    mask = x > 0.0
    view = mask[1:]
    mask |= x < -1.0
    return cadiff.where(mask, x**2, x) + cnp.sum(cadiff.where(view, x[1:], 0.0))


def written_by_out(x: Any) -> Any:
    mask = x > 0.0
    np.logical_and(mask, x < 1.0, out=mask)
    return cadiff.where(mask, x**2, x)


WRITINGS: dict[str, Callable[[Any], Any]] = {
    name: f for name, f in list(globals().items()) if name.startswith("written")
}


def points(seed: int, count: int = 12) -> list[Array]:
    rng = np.random.default_rng(seed)
    found = [rng.normal(size=5) * 1.7 for _ in range(count)]
    return [*found, np.array([1.0, 0.0, -1.0, 2.0, -0.0]), np.ones(5)]


@pytest.mark.parametrize("name", CHOICES)
def test_one_recording_chooses_for_all_data(name: str) -> None:
    f = CHOICES[name]
    program = cadiff.compile(f)
    total = cadiff.compile(lambda x: cnp.sum(f(x) ** 2))
    for x in points(0, 4):
        near(program(x), f(x))
        near(program.jacobian(x), cadiff.jacobian(f)(x))
        near(total.grad(x), cadiff.grad(lambda x: cnp.sum(f(x) ** 2))(x))
        near(total.hessian(x), cadiff.hessian(lambda x: cnp.sum(f(x) ** 2))(x))
    with np.errstate(invalid="ignore"):
        x = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
        near(program(x), f(x))
        near(program.jacobian(x), cadiff.jacobian(f)(x))
    for made in (program, total):
        stats = made.stats()
        assert (stats["recordings"], stats["eager"], stats["obstacles"]) == (1, 0, [])


def test_whether_counts_are_equal_is_one_guard() -> None:
    program = cadiff.compile(lambda x: x * x if np.sum(x > 0.0) == np.sum(x < 0.0) else x)
    for x in ([1.0, -1.0, 0.0], [2.0, 1.0, 0.0], [-2.0, 1.0, 0.0], [-1.0, -1.0, 2.0]):
        near(program(np.array(x)), np.array(x) ** (1 + (sum(np.sign(x)) == 0.0)))
    assert program.stats()["recordings"] == 2


@pytest.mark.parametrize("first", [lambda x: np.sum(x > 0.0) * 0.5, lambda x: cadiff.value(x[0])])
def test_what_is_computed_of_itself_again_and_again_remembers_its_parts_once(first: Any) -> None:
    def f(x: Any) -> Any:
        t = first(x)
        for _ in range(8):
            t = t * 0.5 + t
            assert not binding.is_guarding() or len(t.memory.sources) <= 2
        return np.sum(x * t) if t > 1.0 else np.sum(x)

    x = np.array([1.0, 2.0, -1.0])
    program = cadiff.compile(f)
    for at in (x, 2.0 * x, -x):
        near(program.grad(at), cadiff.grad(f)(at))
    assert program.stats()["traces"][0]["guards"] == 1


@pytest.mark.parametrize("name", [*READINGS, *WRITINGS])
def test_what_is_read_is_what_numpy_gives(name: str) -> None:
    f = (READINGS | WRITINGS)[name]
    program = cadiff.compile(f, max_traces=64)
    for x in points(1):
        near(program(x), f(x))
        near(program.jacobian(x), cadiff.jacobian(f)(x))
    assert program.stats()["recordings"] > 1
    assert program.stats()["obstacles"] == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of equality, which decides there
@pytest.mark.parametrize("name", [*CHOICES, *READINGS, *WRITINGS])
def test_exact_programs_have_the_same_bits(name: str) -> None:
    f = (CHOICES | READINGS | WRITINGS)[name]
    program = cadiff.compile(f, optimize=False, max_traces=64)
    for x in points(2, 4):
        np.testing.assert_array_equal(program(x), value_of(f, x))
        if "within" not in name:
            np.testing.assert_array_equal(program.jacobian(x), cadiff.jacobian(f)(x))


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: np.any(x > 1.0),
        lambda x: (x > 1.0).any(),
        lambda x: np.all(x < 1.0),
        lambda x: not (x < 1.0).all(),
        lambda x: ((x > 1.0) | (x < -1.5)).any(),
        lambda x: (x > 1.0)[2],
    ],
)
def test_questions_about_all_elements_are_one_guard(ask: Callable[[Any], bool]) -> None:
    def f(x: Any) -> Any:
        return cnp.sum(x * x) if ask(x) else cnp.sum(cadiff.sin(x))

    program = cadiff.compile(f)
    for x in points(3, 40):
        near(program.value_and_grad(x), cadiff.value_and_grad(f)(x))
    assert program.stats()["recordings"] == 2
    assert {trace["guards"] for trace in program.stats()["traces"]} == {1}


def test_choices_by_equality_warn_of_nothing() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cadiff.where(x == 1.0, x**2, x)))
    program.grad(np.ones(3))  # warnings are errors
    branch = cadiff.compile(lambda x: x[0] if (x == 1.0).any() else x[1])
    with pytest.warns(RuntimeWarning, match="equality of floats"):
        branch(np.ones(3))


def test_a_mask_is_used_like_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the errors that f handles plain arrays raise no one.
    monkeypatch.setattr(Observation, "on_error", lambda *_: None)
    seen = []

    def f(x: Any) -> Any:
        mask = x > 0.0
        assert not mask.is_plain  # and it is no array
        assert isinstance(mask, np.ndarray)
        assert (mask.shape, mask.ndim, mask.size, len(mask)) == ((2, 3), 2, 6, 2)
        assert mask.dtype == bool
        assert mask.T.shape == (3, 2)
        assert mask.ravel().shape == mask[0].shape * 2 or mask.ravel().shape == (6,)
        assert [row.shape for row in mask] == [(3,), (3,)]
        with pytest.raises(AttributeError):
            mask._nothing
        with pytest.raises(AttributeError):
            mask.nothing
        with pytest.raises(TypeError, match="unhashable"):
            hash(mask)
        numbers = np.where(x > 0.0, 0.5, 2.0)
        assert not numbers.is_plain
        assert (numbers.dtype, np.sum(x > 0.0).dtype) == (np.float64, np.int64)
        with pytest.raises(ValueError, match="ambiguous"):
            bool(mask)
        seen.append(mask)
        return x

    x = np.array([[1.0, -1.0, 2.0], [0.0, 3.0, np.nan]])
    with pytest.warns(RuntimeWarning, match="it changes seen"):
        cadiff.compile(f)(x)
    np.testing.assert_array_equal(seen[0], x > 0.0)  # after the recording: bools
    np.testing.assert_array_equal(np.where(seen[0], 1.0, 2.0), np.where(x > 0.0, 1.0, 2.0))
    np.testing.assert_array_equal(cadiff.grad(lambda y: cnp.sum(seen[0] * y))(x), x > 0.0)


def test_masks_of_an_outer_recording_are_read_by_inner_ones() -> None:
    """An inner program notes on the outer recording what it reads of its masks."""

    def f(x: Any) -> Any:
        mask = x > 0.0
        inner = cadiff.compile(lambda y: cnp.sum(cadiff.where(mask, y**2, y)))
        return inner(x) + inner.grad(np.ones(5))[0]

    program = cadiff.compile(f, max_traces=64)
    for x in points(4):
        near(program(x), f(x))
        near(program.grad(x), cadiff.grad(f)(x))


@pytest.mark.parametrize("mask", [lambda x: x > 1.0, lambda x: x < [True]])
def test_masks_may_be_returned_but_have_no_derivative(mask: Callable[[Any], Any]) -> None:
    for f in (mask, lambda x: {"a": [mask(x)]}):
        program = cadiff.compile(f)
        for x in points(3):
            same(program(x), f(x))
        with pytest.raises(TypeError, match=r"not bool: a comparison has no derivative"):
            program.jacobian(np.ones(3))


def test_empty_arrays() -> None:
    def f(x: Any) -> Any:
        mask = x > 0.0
        return cnp.sum(cadiff.where(mask, x, -x)) + float(mask.any()) + float(mask.all())

    near(cadiff.compile(f).value_and_grad(np.ones(0)), cadiff.value_and_grad(f)(np.ones(0)))


def test_squares_of_masks_have_the_dtype_that_numpy_gives_them() -> None:
    """Which is not that of its other powers."""
    x = np.array([1.0, -2.0])
    for power in (2, 3, 0):
        for f in (lambda x, n=power: (x > 0.0) ** n, lambda x, n=power: np.power(x > 0.0, n)):
            found = cadiff.compile(f)(x)
            assert found.dtype == f(x).dtype
            np.testing.assert_array_equal(found, f(x))
