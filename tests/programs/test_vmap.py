"""`vmap` against a loop over rows whose results are stacked."""

from __future__ import annotations

import gc
import pickle
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp
from cadiff import binding, grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, vmap
from cadiff.programs import rows

from ..helpers.programs import runs_of
from ..helpers.properties import examples
from ..helpers.trees import Layer

RNG = np.random.default_rng(5)
X = RNG.normal(size=(100, 3))
V = RNG.normal(size=100)
W = np.array([0.3, 0.5, -0.2])

Function = Callable[..., Any]


@pytest.fixture(params=["by a program", "by a loop"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test has both ways in which rows are computed."""
    if request.param == "by a program":
        monkeypatch.setattr(rows, "ENOUGH_ROWS", 1)
    else:
        monkeypatch.setattr(rows.RowProgram, "run", lambda *_: None)
    return str(request.param)


# --- the loop --------------------------------------------------------------------------------


def is_axis(axes: Any) -> bool:
    return axes is None or isinstance(axes, int)


def sliced(axes: Any, item: Any, i: int) -> Any:
    """The i-th row of an argument."""
    if is_axis(axes) and binding.opened(item) is None:
        return item if axes is None else item[(slice(None),) * (axes % item.ndim) + (i,)]
    return below(axes, item, lambda axis, part: sliced(axis, part, i))


def below(axes: Any, item: Any, function: Callable[[Any, Any], Any]) -> Any:
    """A container with function(axis, part) in place of each part."""
    if isinstance(item, dict):
        return {k: function(axes if is_axis(axes) else axes[k], x) for k, x in item.items()}
    if isinstance(item, Layer):
        axes = [axes, axes] if is_axis(axes) else [axes.weight, axes.bias]
        return Layer(function(axes[0], item.weight), function(axes[1], item.bias))
    axes = [axes] * len(item) if is_axis(axes) else axes
    return type(item)(function(axis, x) for axis, x in zip(axes, item, strict=True))


def joined(axes: Any, results: list[Any]) -> Any:
    """Results of all rows as one."""
    first = results[0]
    found = binding.opened(first)
    if found is None:
        return first if axes is None else cnp.stack([*map(cnp.asarray, results)], axes)
    parts = [found[0].parts_like(result, len(found[1])) for result in results]
    columns = found[0].make([[*column] for column in zip(*parts, strict=True)])
    return below(axes, columns, joined) if found[1] else columns


def looped(f: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    def loop(*args: Any, **kwargs: Any) -> Any:
        axes = (in_axes,) * len(args) if is_axis(in_axes) else in_axes
        sizes = [n for axis, x in zip(axes, args, strict=True) for n in sizes_of(axis, x)]
        results = [
            f(
                *(sliced(axis, x, i) for axis, x in zip(axes, args, strict=True)),
                **{name: sliced(0, x, i) for name, x in kwargs.items()},
            )
            for i in range(sizes[0])
        ]
        return joined(out_axes, results)

    return loop


def sizes_of(axes: Any, item: Any) -> Iterator[int]:
    if binding.opened(item) is None:
        if axes is not None:
            yield item.shape[axes]
        return
    found: list[int] = []
    below(axes, item, lambda axis, part: found.extend(sizes_of(axis, part)))
    yield from found


def assert_same(found: Any, expected: Any, rtol: float = 1e-10) -> None:
    leaves, tree = binding.flattened(found)
    others, other_tree = binding.flattened(expected)
    assert binding.key_of(tree) == binding.key_of(other_tree)
    for one, other in zip(leaves, others, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        npt.assert_allclose(one, other, rtol=rtol, atol=1e-10)


# --- random functions, axes and containers ---------------------------------------------------

STEPS: list[Callable[[Any], Any]] = [
    lambda x: cnp.sum(cnp.sin(x)),
    lambda x: cnp.sum(x * x),
    lambda x: 2.0 * cnp.sum(x) if cnp.sum(x) > 0.0 else cnp.sum(x) - 1.0,
    lambda x: cnp.sum(cnp.where(x > 0.5, x, 0.5 * x)),
]
RETURNS: list[Callable[[Any, Any], Any]] = [
    lambda total, leaf: total,
    lambda total, leaf: (total, leaf * total),
    lambda total, leaf: {"a": [total], "b": leaf, "one": 1},
    lambda total, leaf: Layer(leaf + total, total * total),
    lambda total, leaf: [total if total > 0.0 else 0, None, total > 0.0],
]


@st.composite
def leaves_and_axes(draw: st.DrawFn, n: int) -> tuple[Any, Any]:
    shape = draw(st.sampled_from([(), (2,), (1, 2), (0,)]))
    dtype = draw(st.sampled_from(["f8", "f8", "f8", "f4", "i8", "u1", ">f8"]))
    axis = draw(st.one_of(st.none(), st.integers(-len(shape) - 1, len(shape))))
    full = list(shape)
    if axis is not None:
        full.insert(axis % (len(shape) + 1), n)
    values = draw(st.lists(st.integers(-3, 3), min_size=1, max_size=5))
    array = np.resize(np.array(values) / (1 if dtype[-2] in "iu" else 2), full)
    if dtype == "u1":
        array = abs(array)
    return array.astype(dtype), axis


@st.composite
def arguments(draw: st.DrawFn, n: int) -> tuple[Any, Any]:
    """An argument and its axes, a prefix of it."""
    kind = draw(st.sampled_from([None, None, list, dict, Layer]))
    first, second = draw(leaves_and_axes(n)), draw(leaves_and_axes(n))
    if kind is None:
        return first
    made: list[Any] = []
    for one, other in zip(first, second, strict=True):
        both = {"a": one, "b": other}
        made.append(both if kind is dict else [one, other] if kind is list else Layer(one, other))
    if draw(st.booleans()) and first[1] == second[1]:
        return made[0], first[1]
    return made[0], made[1]


@st.composite
def calls(draw: st.DrawFn) -> tuple[Function, tuple[Any, ...], tuple[Any, ...]]:
    n = draw(st.integers(1, 5))
    given = [draw(arguments(n)) for _ in range(draw(st.integers(1, 3)))]
    seed = draw(st.integers(0, 99))
    given.append((np.random.default_rng(seed).normal(size=n), 0))
    steps = [draw(st.sampled_from(STEPS)) for _ in range(6)]
    returns = draw(st.sampled_from(RETURNS))

    def f(*args: Any) -> Any:
        leaves, _ = binding.flattened(args)
        total = leaves[-1]
        for k, leaf in enumerate(leaves):
            total = steps[k % len(steps)](leaf) + 0.5 * total
        return returns(total, leaves[0])

    items, axes = zip(*given, strict=True)
    return f, items, axes


def random_calls(count: int) -> Callable[[Any], Any]:
    def decorate(test: Any) -> Any:
        health = [HealthCheck.function_scoped_fixture]
        return settings(examples(count), suppress_health_check=health)(given(calls())(test))

    return decorate


@pytest.mark.slow
@random_calls(60)
def test_values_are_those_of_a_loop(call: Any) -> None:
    """In a first call, and in later ones with other numbers, whose form is known by then."""
    f, args, axes = call
    mapped, loop = vmap(f, axes), looped(f, axes)
    for shift in (0, 0, 1):
        args = binding.map_leaves(lambda x: (x + shift).astype(x.dtype), args)  # noqa: B023
        assert_same(mapped(*args), loop(*args), 1e-5)


def weighted(f: Function) -> Function:
    """The sum of all numbers that a function returns, of which each has its own weight."""

    def total(*args: Any) -> Any:
        leaves, _ = binding.flattened(f(*args))
        floats = [x for x in leaves if cnp.asarray(x).dtype.kind == "f"]
        return sum((cnp.sum(cnp.cos(x) * (k + 1.0)) for k, x in enumerate(floats)), 0.0)

    return total


@pytest.mark.slow
@random_calls(40)
def test_derivatives_are_those_of_a_loop(call: Any) -> None:
    f, args, axes = call
    args = tuple(binding.map_leaves(lambda x: x.astype("f8"), arg) for arg in args)
    argnums = tuple(range(len(args)))
    here, there = weighted(vmap(f, axes)), weighted(looped(f, axes))
    gradient = grad(there, argnums)(*args)
    assert_same(grad(here, argnums)(*args), gradient)
    assert_same(jvp(here, args, gradient)[1], jvp(there, args, gradient)[1])
    k = len(args) // 2
    assert_same(
        hvp(here, k)(args[0], gradient[k], *args[1:]),
        hvp(there, k)(args[0], gradient[k], *args[1:]),
    )


# --- what JAX's documentation promises, and what the README does -----------------------------

Z = np.stack([V, V**2], axis=1)


def gaussian(w: Any, x: Any) -> Any:
    return cnp.tanh(x @ w) * w[0] ** 2


COMPOSED: dict[str, tuple[Function, Any, tuple[Any, ...]]] = {
    "grad": (grad(lambda x: cnp.sum(x**3) * x[0]), 0, (X,)),
    "a gradient for each example": (
        grad(lambda w, x, y: (x @ w - y) ** 2),
        (None, 0, 0),
        (W, X, V),
    ),
    "jacobian": (jacobian(lambda x: x * cnp.sum(x)), 0, (X,)),
    "hessian": (hessian(lambda x: cnp.sum(x**3) * x[0]), 0, (X,)),
    "hvp": (hvp(lambda x: cnp.sum(x**3) * x[0]), 0, (X, X[::-1])),
    "jvp": (lambda x, t: jvp(lambda x: x * x[0], (x,), (t,))[1], 0, (X, X[::-1])),
    "a program": (cadiff.compile(gaussian), (None, 0), (W, X)),
    "the gradient of a program": (grad(cadiff.compile(gaussian)), (None, 0), (W, X)),
    "linear algebra": (lambda a, b: cnp.linalg.solve(a, b), 0, (X[:9].reshape(3, 3, 3), X[:3])),
    "a branch": (lambda x: x[0] if x[1] > 0.0 else cnp.sum(x), 0, (X,)),
    "a loop of another length for each row": (
        lambda x, k: sum((x**j for j in range(k)), 0.0),
        0,
        (V, np.arange(100) % 7),
    ),
    "indices": (lambda table, i, x: table[i] * x, (None, 0, 0), (W, np.arange(100) % 3, V)),
    "integers": (lambda i: (i * 2, i / 2, i // 2, -i), 0, (np.arange(100).reshape(50, 2),)),
    "bools": (lambda b, x: (cnp.where(b, x, -x), b & (x > 0.5)), 0, (X > 0.0, X)),
    "a bool": (lambda x: x > 0.0, 0, (V,)),
    "types": (lambda x: x if isinstance(x, float) else 2.0 * x, 0, (V,)),
    "what does not depend on the row": (lambda x: (x, 3, 2.5, np.arange(2)), 0, (V,)),
    "a list of floats": (lambda p, x: p[0] * x + p[1], (None, 0), ([2.0, 3.0], V)),
    "text": (lambda kind, x: x if kind == "one" else -x, (None, 0), ("other", V)),
    "an axis of no elements": (lambda x, y: cnp.sum(x) + y, 0, (X[:, :0], V)),
    "complex numbers": (lambda x: x * 1j, 0, (V,)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", COMPOSED.values(), ids=COMPOSED.keys())
def test_any_function_may_be_mapped(case: tuple[Function, Any, tuple[Any, ...]]) -> None:
    f, axes, args = case
    mapped = vmap(f, axes)
    for _ in range(2):
        assert_same(mapped(*args), looped(f, axes)(*args))


def test_it_nests() -> None:
    outer = vmap(vmap(lambda x, y: x * y + 1.0, (None, 0)), (0, None))
    assert_same(outer(V[:7], V), np.outer(V[:7], V) + 1.0)
    gradients = vmap(vmap(grad(lambda x, y: x * x * y), (None, 0)), (0, None))
    assert_same(gradients(V[:7], V), 2.0 * np.outer(V[:7], V))


def test_keywords_are_mapped_over_their_first_axis() -> None:
    assert_same(vmap(lambda x, *, k=1.0: x * k, None)(2.0, k=V), 2.0 * V)
    assert_same(vmap(lambda x, k: x * k["a"])(V, k={"a": X}), V[:, None] * X)


def test_rows_stand_where_out_axes_say() -> None:
    out = vmap(lambda x, w: {"a": x, "b": (w, x[0])}, (0, None), {"a": -1, "b": (None, 0)})(X, W)
    assert_same(out, {"a": X.T, "b": (W, X[:, 0])})
    assert_same(vmap(lambda x: x, 1, 1)(X), X)


def total(w: Any) -> Any:
    return cnp.sum(vmap(gaussian, (None, 0))(w, X))


def total_at_once(w: Any) -> Any:
    return cnp.sum(cnp.tanh(X @ w) * w[0] ** 2)


DERIVATIVES: dict[str, Callable[[Function], Any]] = {
    "grad": lambda f: grad(f)(W),
    "jacfwd": lambda f: jacfwd(f)(W),
    "hessian": lambda f: hessian(f)(W),
    "hvp": lambda f: hvp(f)(W, W[::-1]),
    "forward over forward": lambda f: jacfwd(jacfwd(f))(W),
    "reverse over forward": lambda f: jacrev(jacfwd(f))(W),
    "forward over reverse": lambda f: jacfwd(jacrev(f))(W),
    "reverse over reverse": lambda f: grad(lambda w: cnp.sum(grad(f)(w) ** 2))(W),
    "third": lambda f: jacobian(hessian(f))(W),
    "vjp": lambda f: cadiff.vjp(f, W)[1](2.0),
    "linearize": lambda f: cadiff.linearize(f, W)[1](W),
    "checkpoint": lambda f: grad(cadiff.checkpoint(f))(W),
    "compile": lambda f: cadiff.compile(f).grad(W),
    "power series": lambda f: cadiff.derivative(lambda t: f(t * W), 0.5, order=4),
}


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES.keys())
def test_it_is_differentiated_in_all_ways(derivative: Callable[[Function], Any]) -> None:
    assert_same(derivative(total), derivative(total_at_once))


def test_closures_are_differentiated() -> None:
    for derivative in (grad, hessian, jacfwd):
        mapped = derivative(lambda w: cnp.sum(vmap(lambda x: w * w * x)(V)))
        assert_same(mapped(3.0), derivative(lambda w: w * w * cnp.sum(V))(3.0))
    in_some = grad(lambda w: cnp.sum(vmap(lambda x: w * x if x > 0.0 else x)(V)))
    assert_same(in_some(3.0), float(np.sum(V[V > 0.0])))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, bool])
def test_numbers_stand_beside_integers(dtype: Any) -> None:
    k = (np.arange(100) % 2).astype(dtype)
    f = lambda x, k: x * x * np.where(~k, k + 1.0, 3.0)  # noqa: E731
    found = grad(lambda x: cnp.sum(vmap(f)(x, k)))(V)
    assert_same(found, 2.0 * V * np.where(~k, k + 1.0, 3.0))


def test_gradients_of_gradients_of_examples() -> None:
    def penalty(w: Any) -> Any:
        return cnp.sum(vmap(grad(lambda w, x, y: (x @ w - y) ** 2), (None, 0, 0))(w, X, V) ** 2)

    def at_once(w: Any) -> Any:
        return cnp.sum((2.0 * (X @ w - V)[:, None] * X) ** 2)

    assert_same(grad(penalty)(W), grad(at_once)(W))


def test_numbers_of_the_user_go_through() -> None:
    x = cadiff.Var(V)
    cnp.sum(vmap(lambda t: t * t)(x)).backward()
    assert_same(x.grad, 2.0 * V)
    assert_same(vmap(lambda t: t * t)(cadiff.Dual.seed(V[:5])).tangent, np.diag(2.0 * V[:5]))


def test_a_compiled_function_may_map() -> None:
    program = cadiff.compile(lambda w, x: vmap(grad(gaussian), (None, 0))(w, x))
    expected = looped(grad(gaussian), (None, 0))
    for x in (X[:9], X[9:18], -X[:9]):
        assert_same(program(W, x), expected(W, x))
    assert program.stats()["eager"] == 0


# --- what f does besides -----------------------------------------------------------------------


def test_rows_are_computed_by_programs_where_these_serve(way: str) -> None:
    def f(w: Any, x: Any) -> Any:
        return gaussian(w, x) if x[0] > 0.0 else x[1]

    mapped, loop = vmap(f, (None, 0)), looped(f, (None, 0))
    gradient = grad(lambda w: cnp.sum(mapped(w, X)))
    expected = loop(W, X), grad(lambda w: cnp.sum(loop(w, X)))(W)
    for _ in range(3):
        with runs_of(f) as runs:
            assert_same(mapped(W, X), expected[0])
        with runs_of(f) as of_gradient:
            assert_same(gradient(W), expected[1])
    assert len(runs) == (0 if way == "by a program" else len(X))
    assert (len(of_gradient) == 0) == (way == "by a program")


def test_a_table_that_f_fills_at_first_costs_one_call_alone(way: str) -> None:
    table: dict[str, float] = {}

    def f(x: Any) -> Any:
        if not table:
            table["scale"] = 3.0
        return x * table["scale"]

    mapped = vmap(f)
    assert_same(mapped(V), 3.0 * V)
    mapped(V)
    with runs_of(f) as runs:
        assert_same(mapped(V), 3.0 * V)
    assert (len(runs) == 0) == (way == "by a program")


def test_a_function_that_is_made_anew_is_not_recorded_anew(way: str) -> None:
    def at(scale: float) -> tuple[Any, list[int]]:
        def f(w: Any, x: Any) -> Any:
            return scale * gaussian(w, x)

        with runs_of(f) as runs:
            return grad(lambda w: cnp.sum(vmap(f, (None, 0))(w, X)))(W), runs

    for scale in (2.0, 3.0, 3.0, 2.0):
        gradient, runs = at(scale)
        assert_same(gradient, scale * grad(total_at_once)(W))
    assert (len(runs) == 0) == (way == "by a program")


def test_what_a_closure_holds_is_not_kept_if_it_is_much() -> None:
    def mapped() -> weakref.ref[Any]:
        table = np.ones(200_000)

        def f(x: Any) -> Any:
            return x + table[3]

        assert_same(vmap(f)(V), V + 1.0)
        return weakref.ref(f)

    kept = mapped()
    gc.collect()
    assert kept() is None


def test_what_f_draws_and_counts_is_another_for_each_row() -> None:
    generator, state = np.random.default_rng(1), {"n": 0}

    def counted(x: Any) -> Any:
        state["n"] += 1
        return x * state["n"]

    drawn = vmap(lambda x: x + generator.normal())
    for mapped in (drawn, vmap(counted)):
        assert len(np.unique([mapped(np.ones(50)), mapped(np.ones(50))])) == 100


def test_a_change_of_what_f_reads_is_seen() -> None:
    scale = {"by": 2.0}
    mapped = vmap(lambda x: x * scale["by"])
    for scale["by"] in (2.0, 3.0):
        assert_same(mapped(V), V * scale["by"])


SHARED: list[tuple[Function, list[Any]]] = [
    (lambda k, x: x[k], [0, 1, np.int64(2), 0]),
    (lambda k, x: x[k["at"][0]], [{"at": [0]}, {"at": [1]}, {"at": (1,)}, {"at": [0]}]),
    (lambda k, x: x[k].sum(), [np.array([0, 1]), np.array([1, 2]), np.array([0, 1])]),
    (lambda kind, x: x if kind == "one" else -x, ["one", "other", "one"]),
    (lambda z, x: z.real * x[0] + z.imag * x[1], [1.0 + 2.0j, 3.0 - 1.0j]),
    (lambda w, x: w[0] * x[1] + w[1], [[1.0, 2.0], (3.0, 4.0), [3.0, 4.0], [np.float32(3.0), 4]]),
    (lambda w, x: w * x[0], [2.0, np.float32(3.0), np.array(4.0), 3]),
    (lambda w, x: w["a"] * x[0] + w["b"], [{"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0}]),
]


@pytest.mark.parametrize(("f", "shared"), SHARED)
def test_what_rows_share_is_another_in_each_call(f: Function, shared: list[Any]) -> None:
    for mapped in (vmap(f, (None, 0)), vmap(cadiff.compile(f), (None, 0))):
        for item in (*shared, *shared):
            assert_same(mapped(item, X), looped(f, (None, 0))(item, X))


@dataclass
class Weighed:
    weight: Any


def test_attributes_beside_fields_are_those_of_each_call() -> None:
    def layer(scale: float) -> Any:
        made: Any = Weighed(X)
        made.scale = np.array([scale])
        return made

    mapped, first = vmap(lambda p: p.weight * p.scale[0]), layer(1.0)
    assert_same(mapped(first), X)
    first.scale[0] = 2.0
    assert_same(mapped(first), 2.0 * X)
    assert_same(mapped(layer(1.0)), X)


def test_what_rows_shared_is_not_kept() -> None:
    def f(options: set[str], x: Any) -> Any:
        return x if "one" in options else -x

    class Options(set[str]):
        pass

    options, mapped = Options({"one"}), vmap(f, (None, 0))
    for _ in range(3):
        assert_same(mapped(options, V), V)
    died = weakref.ref(options)
    del options
    gc.collect()
    assert died() is None


def test_rows_are_copies_and_arguments_are_not_changed() -> None:
    def f(x: Any) -> Any:
        x[0] = 5.0
        return cnp.sum(x * x)

    before = X.copy()
    assert_same(vmap(f)(X), np.sum(X[:, 1:] ** 2, axis=1) + 25.0)
    assert_same(X, before)


def test_exceptions_pass_unchanged() -> None:
    class OwnError(Exception):
        pass

    error = OwnError("too large")

    def f(x: Any) -> Any:
        if x > 1.0:
            raise error
        return x

    mapped = vmap(f)
    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            mapped(V)
        assert caught.value is error
    assert_same(mapped(V[V < 1.0]), V[V < 1.0])


def test_narrow_floats_stay_narrow() -> None:
    assert vmap(lambda x: x * x)(X.astype("f4")).dtype == np.float32
    assert vmap(lambda x, w: x * w, (0, None))(X.astype("f4"), W).dtype == np.float64
    gradients = vmap(grad(lambda w, x: cnp.sum(w * x) ** 2), (None, 0))(W.astype("f4"), X)
    assert gradients.dtype == np.float32


def test_zero_divided_is_as_in_arrays() -> None:
    with np.errstate(all="ignore"):
        found = vmap(lambda x: (1.0 / x, x**0.5))(np.array([0.0, -0.0, -2.0]))
    assert_same(found, (np.array([np.inf, -np.inf, -0.5]), np.array([0.0, 0.0, np.nan])))


def test_no_rows_have_the_shapes_of_results() -> None:
    out = vmap(lambda x: {"a": x, "b": 3, "c": cnp.sum(x)}, 0, {"a": 1, "b": 0, "c": 0})(X[:0])
    assert_same(out, {"a": np.empty((3, 0)), "b": np.empty(0, int), "c": np.empty(0)})
    assert_same(grad(lambda w: cnp.sum(vmap(gaussian, (None, 0))(w, X[:0])))(W), np.zeros(3))
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: 1 // 0)(X[:0])


# --- as an object --------------------------------------------------------------------------------


def test_it_is_pickled_without_what_it_has_recorded() -> None:
    mapped = vmap(gaussian, (None, 0))
    expected = mapped(W, X)
    assert_same(pickle.loads(pickle.dumps(mapped))(W, X), expected)
    assert repr(mapped) == "<cadiff.vmap of gaussian, in_axes=(None, 0), out_axes=0>"


def test_it_is_a_decorator_and_a_method() -> None:
    class Model:
        scale = 3.0

        def __call__(self, x: Any) -> Any:
            return self.scale * x

        def by(self, x: Any) -> Any:
            return self.scale * x

        mapped = vmap(by, (None, 0))

    model = Model()
    assert_same(vmap(model)(V), 3.0 * V)
    assert_same(vmap(model.by)(V), 3.0 * V)
    assert_same(model.mapped(V), 3.0 * V)
    model.scale = 4.0
    assert_same(vmap(model)(V), 4.0 * V)
    assert_same(model.mapped(V), 4.0 * V)


def test_clear_forgets_what_was_recorded(tmp_path: Any) -> None:
    path = tmp_path / "scale"
    path.write_text("2.0")
    mapped: Any = vmap(lambda x: x * float(path.read_text()))
    assert_same(mapped(V), 2.0 * V)
    path.write_text("3.0")
    mapped.clear()
    assert_same(mapped(V), 3.0 * V)


def test_threads_may_share_it() -> None:
    mapped = vmap(lambda w, x: gaussian(w, x) if x[0] > 0.0 else x[1], (None, 0))
    expected = looped(mapped._function, (None, 0))(W, X)  # type: ignore[attr-defined]
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(mapped(W, X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        assert_same(one, expected)


# --- mistakes ------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "sizes": (
        lambda: vmap(lambda x, y, d: 0.0)(X, X[:5], {"a": V[:7]}),
        ValueError,
        r"x has 100 \(axis 0 of shape \(100, 3\)\), y has 5 .*, d\['a'\] has 7 \(axis 0 of shape",
    ),
    "a number": (
        lambda: vmap(lambda x, rate: x)(X, 0.5),
        TypeError,
        "axis 0 of rate, which has no axes: it is a float.*None in in_axes",
    ),
    "a list": (lambda: vmap(lambda x: x)([1.0, 2.0]), TypeError, r"x\[0\].*Make it an array"),
    "0-d": (lambda: vmap(lambda x: x)(np.array(1.0)), ValueError, r"x, but that is of shape \(\)"),
    "no such axis": (lambda: vmap(lambda x: x, 2)(X), ValueError, r"axis 2 of x.*\(100, 3\)"),
    "nothing": (lambda: vmap(lambda x: x, None)(X), ValueError, "in_axes is None for all"),
    "no arguments": (lambda: vmap(lambda: 1.0)(), ValueError, "without arrays"),
    "too many axes": (lambda: vmap(lambda x: x, (0, 0))(X), ValueError, "2 in .* for 1 argument"),
    "other keys": (
        lambda: vmap(lambda d: 0.0, ({"a": 0},))({"a": V, "b": V}),
        ValueError,
        r"in_axes for d is \{'a': 0\}, a dict with the keys \['a'\], but d is a dict with",
    ),
    "axes for an array": (lambda: vmap(lambda x: x, ([0],))(V), ValueError, "but x is of type"),
    "text": (lambda: vmap(lambda x: x, (0, "a")), TypeError, "not 'a'"),  # type: ignore[arg-type]
    "a dict": (lambda: vmap(lambda x: x, {"x": 0}), TypeError, "an int, None, or a tuple"),
    "a bool": (lambda: vmap(lambda x: x, 0, True), TypeError, "out_axes is an int.*not True"),
    "no function": (lambda: vmap(3), TypeError, "vmap takes a function"),  # type: ignore[arg-type]
    "no such axis of results": (lambda: vmap(lambda x: x, 0, 2)(X), ValueError, "from -2 to 1"),
    "axes for results": (lambda: vmap(lambda x: x, 0, (0, 0))(X), ValueError, "out_axes for what"),
    "not the same": (lambda: vmap(lambda x: x, 0, None)(X), ValueError, "not the same for all"),
    "shapes": (lambda: vmap(lambda x: x[x > 0.0])(X), ValueError, "at row .* of shape"),
    "containers": (
        lambda: vmap(lambda x: (x,) if x > 0.0 else [x, x])(V),
        ValueError,
        "row .*structure of the first row's",
    ),
    "results": (lambda: vmap(lambda x: "a")(V), TypeError, "must be numbers.*not str"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named(mistake: tuple[Callable[[], Any], type[Exception], str]) -> None:
    call, error, text = mistake
    with pytest.raises(error, match=text):
        call()


@pytest.mark.filterwarnings("ignore:.*to which no name in its code leads")  # see `way`
@pytest.mark.parametrize("transform", [lambda f: f, cadiff.compile])
def test_rows_may_be_complex(transform: Any) -> None:
    x = np.array([0.5, 2.0, -1.0])
    z = x + 1j * x[::-1]
    waves = transform(cadiff.vmap(lambda t: cadiff.exp(1j * t)))
    np.testing.assert_allclose(waves(x), np.exp(1j * x), rtol=1e-15)
    np.testing.assert_allclose(cadiff.jvp(waves, (x,), (x,))[1], 1j * x * np.exp(1j * x))
    found = cadiff.grad(transform(lambda x: np.sum(np.real(waves(x)))))(x)
    np.testing.assert_allclose(found, -np.sin(x))
    both = transform(cadiff.vmap(lambda z: {"a": z**2, "b": [z.real, z * x]}, out_axes=-1))
    np.testing.assert_allclose(both(z)["b"][1], np.outer(x, z))
    np.testing.assert_allclose(cadiff.jvp(both, (z,), (1j * z,))[1]["a"], 2j * z**2)
    conjugates = transform(cadiff.vmap(cadiff.grad(lambda z: abs(z) ** 2)))
    np.testing.assert_allclose(conjugates(z), 2 * z.conj())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes")
@pytest.mark.parametrize("what", ["value", "value_and_grad"])
def test_batch_of_two_arrays_of_rows_names_vmap(what: str) -> None:
    P, Z = np.arange(12.0).reshape(4, 3), np.ones((4, 3))
    program = cadiff.compile(lambda p, z: p @ z)
    with pytest.raises(ValueError, match="matmul") as caught:
        program.batch(P, Z, what=what)
    method = "program" if what == "value" else f"program.{what}"
    assert "all of argument 1, which has 4 rows, too: if" in caught.value.__notes__[0]
    assert f"write cadiff.vmap({method})(X, Z)" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="matmul") as of_numbers:
        program.batch(P[0], P[0], what=what)
    assert "(3,) is 3 points of one number each" in of_numbers.value.__notes__[0]
    values = cadiff.vmap(getattr(program, what) if method != "program" else program)(P, Z)
    assert (values if what == "value" else values[0]).tolist() == P.sum(axis=1).tolist()


@pytest.mark.parametrize("way", ["by a program"], indirect=True)
def test_closures_of_other_numbers_have_to_have_rows_enough(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would be a recording of its own, which takes as long as many rows."""
    monkeypatch.setattr(rows, "ENOUGH_ROWS", 2 * len(V))
    expected = np.sin(V[:, None] * V) / (1.0 + V[:, None])
    found = [vmap(lambda v, k=k: np.sin(k * v) / (1.0 + k))(V) for k in V]
    npt.assert_allclose(found, expected)


def test_many_long_rows_are_one_step() -> None:
    """Others are recorded row by row, which may become vectors over all of them."""

    def both(a: Any, t: Any) -> Any:
        return vmap(lambda a: vmap(lambda t: cnp.tanh(a * t) * cnp.exp(-a))(t))(a)

    for n, at_most in ((10, 10**6), (300, 1000)):
        a, t = np.linspace(0.5, 1.0, n), np.linspace(1.0, 9.0, 100)
        program = cadiff.compile(both)
        expected = np.tanh(np.outer(a, t)) * np.exp(-a)[:, None]
        for _ in range(2):
            np.testing.assert_allclose(program(a, t), expected, rtol=1e-14)
        slopes = (1.0 - np.tanh(np.outer(a, t)) ** 2) * np.exp(-a)[:, None]
        pulled = cadiff.compile(lambda a, t: cnp.sum(both(a, t) ** 2)).grad(a, t)
        np.testing.assert_allclose(
            pulled, (2.0 * expected * (slopes * t - expected)).sum(axis=1), rtol=1e-12
        )
        found = re.search(r"^recording 0: .* (\d+) operations?,", program.to_text(), re.M)
        assert found is not None
        assert int(found[1]) <= at_most
