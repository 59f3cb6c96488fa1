"""JAX's names over cadiff: JAX's own answers, kept in a file, and NumPy's for random indices."""

from __future__ import annotations

import dataclasses
import functools
import gc
import json
import pickle
import random
import time
import typing
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
from cadiff.binding import Dual, Var
from cadiff.programs.kept import Loop

from ..helpers.lent import take_back
from ..helpers.processes import isolated
from . import jax_cases

pytest.importorskip("scipy")
ANSWERS = json.loads(Path(__file__).with_name("jax_answers.json").read_text(encoding="utf-8"))
X = np.array([0.5, -1.5, 2.0])


@pytest.fixture(scope="module", autouse=True)
def jax() -> Iterator[Any]:
    """The module; numbers have its members only as long as these tests run."""
    import cadiff.compat.jax as module

    module.arrays.lend()
    yield module
    take_back()


@pytest.fixture(scope="module")
def answers(jax: Any) -> dict[str, Any]:
    return jax_cases.answers(jax)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ANSWERS)
def test_jax_gives_the_same(name: str, answers: dict[str, Any]) -> None:
    assert len(answers[name]) == len(ANSWERS[name])
    tolerance = 1e-6 if "float32" in name else 1e-11
    for found, expected in zip(answers[name], ANSWERS[name], strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-12)


def test_no_answer_is_missing() -> None:
    assert ANSWERS.keys() == {*jax_cases.EXPRESSIONS, *jax_cases.FUNCTIONS}


# --- arrays --------------------------------------------------------------------------------------

PLACES = st.one_of(
    st.integers(-4, 3),
    st.slices(4),
    st.just(np.array(2)),
    st.lists(st.integers(-4, 3), min_size=1, max_size=6).map(np.array),
    st.lists(st.booleans(), min_size=4, max_size=4).map(np.array),
)


@given(key=PLACES, name=st.sampled_from(["add", "subtract", "multiply", "min", "max"]))
def test_updates_are_those_of_ufuncs(key: Any, name: str) -> None:
    x, ufunc = (
        np.linspace(-2.0, 3.0, 4),
        getattr(np, {"min": "minimum", "max": "maximum"}.get(name, name)),
    )
    expected = x.copy()
    ufunc.at(expected, key, 1.5)
    np.testing.assert_array_equal(getattr(x.at[key], name)(1.5), expected)
    assert x[0] == -2.0

    def total(x: Any, y: Any) -> Any:
        return np.sum(getattr(x.at[key], name)(y) ** 2)

    if name not in ("min", "max"):
        cadiff.check_grads(total, (x + 0.1, 1.7), order=1)
    value, _ = cadiff.value_and_grad(total)(x, 1.5)
    assert value == pytest.approx(np.sum(expected**2))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["set", "add", "max"])
def test_rows_are_updated_in_loops_of_programs(
    jax: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("cadiff.programs.kept.plain")  # of turns that Python has to run

    def f(x: Any) -> Any:
        def turn(i: Any, y: Any) -> Any:
            return getattr(y.at[i + 1], name)(np.sin(y[i]))

        return jax.numpy.sum(jax.lax.fori_loop(0, 20, turn, jax.numpy.zeros((21, 3)).at[0].set(x)))

    program = jax.jit(f)
    for x in (X, X + 0.1, X + 0.2):
        assert program(x) == pytest.approx(f(x))
    assert "a found loop" in str(program.program)


def test_members_of_arrays(jax: Any) -> None:
    for x in (X, np.float64(1.0), Var(1.0), Dual(X, X)):
        assert x.block_until_ready() is x and x.devices()
        # Matplotlib takes JAX's arrays apart, and never ends with NumPy's numbers.
        assert isinstance(x, jax.Array) == (not isinstance(x, np.generic))
    assert not isinstance([1.0], jax.Array)
    assert jax.grad(lambda x: x**2)(3.0).shape == jax.jit(lambda x: x + 1.0)(3.0).shape == ()


def test_comparisons_have_truth_values_that_may_be_inverted(jax: Any) -> None:
    def halved(x: Any) -> Any:
        def turn(state: Any) -> Any:
            x, is_small = state
            return 0.5 * x, ~((x > 0.2) | is_small)

        return jax.lax.while_loop(lambda state: ~state[1], turn, (x, jax.numpy.asarray(False)))[0]

    for f in (jax.grad(halved), jax.jit(jax.jacfwd(halved)), jax.grad(jax.jit(halved))):
        assert [f(x) for x in (1.0, 0.5, 3.0)] == [1 / 16, 1 / 8, 1 / 32]
    odd = jax.lax.fori_loop(0, 3, lambda i, is_odd: ~is_odd, False)
    assert odd and odd.dtype == bool  # as is Python's own False that a loop begins with


# --- trees ---------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "x y")
TREE = {"b": [1.0, (2.0, None)], "a": Pair(3.0, OrderedDict(z=4.0, c=5.0))}


def test_trees(jax: Any) -> None:
    leaves, treedef = jax.tree.flatten(TREE)
    assert leaves == [3.0, 4.0, 5.0, 1.0, 2.0]
    assert (
        str(jax.tree.structure({"b": (1.0,), "a": [None]}))
        == "PyTreeDef({'a': [None], 'b': (*,)})"
    )
    assert jax.tree.unflatten(treedef, leaves) == TREE
    assert treedef == jax.tree.structure(TREE) and treedef != jax.tree.structure(leaves)
    assert hash(treedef) == hash(pickle.loads(pickle.dumps(treedef)))
    assert jax.tree.map(lambda x, y: x + y, TREE, TREE)["b"] == [2.0, (4.0, None)]
    assert jax.tree.reduce(lambda x, y: x + y, TREE) == 15.0
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(TREE)]
    assert paths == ["['a'].x", "['a'].y['z']", "['a'].y['c']", "['b'][0]", "['b'][1][0]"]
    with pytest.raises(ValueError, match="expected PyTreeDef"):
        jax.tree.map(lambda x, y: x, TREE, leaves)
    turned = jax.tree.transpose(jax.tree.structure([0, 0]), None, [{"a": 1}, {"a": 2}])
    assert turned == {"a": [1, 2]}


def test_registered_classes_are_differentiated(jax: Any) -> None:
    @jax.tree_util.register_pytree_node_class
    class Line:
        def __init__(self, slope: Any, name: str) -> None:
            self.slope, self.name = slope, name

        def tree_flatten(self) -> Any:
            return (self.slope,), self.name

        @classmethod
        def tree_unflatten(cls, name: Any, children: Any) -> Any:
            return cls(*children, name)

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Model:
        line: Any
        power: int = dataclasses.field(metadata={"static": True}, default=2)

    model = Model(Line(X, "first"))
    gradient = jax.grad(lambda m: jax.numpy.sum(m.line.slope**m.power))(model)
    np.testing.assert_array_equal(gradient.line.slope, 2.0 * X)
    assert gradient.line.name == "first"
    halved = jax.tree.map(lambda x: 0.5 * x, model)
    np.testing.assert_array_equal(halved.line.slope, 0.5 * X)
    part = jax.tree_util.Partial(np.multiply, 2.0)
    assert jax.tree.leaves(part) == [2.0] and part(3.0) == 6.0


def test_registered_classes_have_places(jax: Any) -> None:
    pairs = type("Pairs", (dict,), {})
    jax.tree_util.register_pytree_with_keys(
        pairs,
        lambda x: ([(jax.tree_util.DictKey(k), x[k]) for k in x], tuple(x)),
        lambda keys, values: pairs(zip(keys, values, strict=True)),
    )
    tree = pairs(b=1.0, a=2.0)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(tree)]
    assert paths == ["['b']", "['a']"] and jax.tree.map(lambda x: 2.0 * x, tree)["a"] == 4.0
    static = jax.tree_util.register_static(type("Static", (), {"power": 3}))()
    assert jax.tree.leaves([static, 1.0]) == [1.0]
    assert jax.jit(lambda x, static: x**static.power)(2.0, static) == 8.0


# --- programs, rules, names ----------------------------------------------------------------------


def of_keys(jax: Any) -> Any:
    def draw(key: Any) -> Any:
        first, second = jax.random.split(key)
        return jax.random.normal(first, (3,)) + jax.random.randint(second, (), 0, 9)

    return draw, [(jax.random.PRNGKey(seed),) for seed in range(6)]


def of_probabilities(jax: Any) -> Any:
    draw = lambda key, p: jax.random.choice(key, 9, (20,), p=p)  # noqa: E731
    return draw, [(jax.random.PRNGKey(seed), np.arange(1.0, 10.0) / 45.0) for seed in range(4)]


def of_ints(jax: Any) -> Any:
    ints = jax.numpy.arange(6) ** 2
    draw = lambda key: jax.random.choice(key, ints, (6,))  # noqa: E731
    return draw, [(jax.random.PRNGKey(seed),) for seed in range(6)]


def of_updates(jax: Any) -> Any:
    def f(x: Any, k: Any) -> Any:
        y = jax.numpy.zeros(3).at[k].set(x[0] ** 2).at[0].add(x[1])
        return jax.numpy.sum(y**2)

    return jax.value_and_grad(f), [(X, k) for k in range(3)]


def of_classes_with_names(jax: Any) -> Any:
    def pair(x: Any) -> Any:
        return namedtuple("Found", ["double", "square"])(2.0 * x, x**2)

    return pair, [(1.0,), (2.0,), (3.0,)]


def of_what_is_the_same(jax: Any) -> Any:
    def step(x: Any, add: Any = NOTHING) -> Any:
        return 2.0 * x + add if add is not NOTHING else 2.0 * x

    return lambda x, y: step(x) + step(x, y), [(float(x), 3.0) for x in range(3)]


def of_scopes(jax: Any) -> Any:
    return jax.named_scope("name")(lambda x: x + 1.0), [(1.0,), (2.0,)]


NOTHING = 0.0
REPLAYED = [of_keys, of_probabilities, of_ints, of_updates, of_classes_with_names]
REPLAYED += [of_what_is_the_same, of_scopes]


@pytest.mark.parametrize("make", REPLAYED)
def test_programs_are_replayed_at_other_points(jax: Any, make: Any) -> None:
    f, points = make(jax)
    program = jax.jit(f)
    for point in points:
        found, expected = (jax.tree.leaves(g(*point)) for g in (program, f))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    stats = program.program.stats()
    assert (stats["eager"], stats["recordings"] <= 2) == (0, True)


def test_programs_are_of_loops_containers_and_functions_with_rules(jax: Any) -> None:
    class Line:
        def __init__(self, slope: Any, count: Any) -> None:
            self.slope, self.count = slope, count

    jax.tree_util.register_pytree_node(
        Line, lambda x: ((x.slope, x.count), None), lambda _, children: Line(*children)
    )
    cube = jax.custom_jvp(lambda x: x * x * x)
    cube.defjvp(lambda x, dx: (cube(*x), 3.0 * x[0] ** 2 * dx[0]))

    @jax.jit
    def run(x: Any, count: Any) -> Any:
        turn = lambda c, _: (Line(cube(0.5 * c.slope), c.count + 1), None)  # noqa: E731
        last = jax.lax.scan(turn, Line(x, count), None, length=3)[0]
        return cube(last.slope), last.count

    for x in (X, X + 1.0, X - 1.0):
        value, count = run(x, np.int32(4))
        np.testing.assert_allclose(value, (((x / 2) ** 3 / 2) ** 3 / 2) ** 9)
        assert count == 7
    assert run.program.stats()["eager"] == 0


def test_what_opens_a_container_may_ask_for_annotations(jax: Any) -> None:
    @functools.lru_cache(maxsize=1)
    def names() -> list[str]:  # as jax_dataclasses asks for them
        return [*typing.get_type_hints(Pair)]

    @dataclasses.dataclass
    class Pair:
        a: float
        b: float

    jax.tree_util.register_pytree_node(
        Pair, lambda x: ([getattr(x, k) for k in names()], None), lambda _, c: Pair(*c)
    )

    @jax.jit
    def run(pair: Any) -> Any:
        doubled = jax.tree_util.tree_map(lambda v: 2.0 * v, pair)
        return jax.grad(lambda p: p.a * p.b**2)(doubled)

    for x in (1.0, 2.0, 3.0):
        found = run(Pair(x, 3.0))
        assert (found.a, found.b) == (36.0, 24.0 * x)
    assert (run.program.stats()["recordings"], run.program.stats()["obstacles"]) == (1, [])


def test_static_arguments_have_programs_of_their_own(jax: Any) -> None:
    @jax.jit
    def plain(x: Any) -> Any:
        return x + 1.0

    def power(x: Any, n: int, *, scale: str = "one") -> Any:
        return x**n * (1.0 if scale == "one" else 2.0)

    f = jax.jit(power, static_argnums=1, static_argnames="scale")
    assert [f(3.0, 2), f(3.0, n=3), f(3.0, 2, scale="two")] == [9.0, 27.0, 18.0]
    assert jax.grad(f)(3.0, 2, scale="two") == 12.0
    assert plain.lower(1.0).compile()(1.0) == 2.0


def test_outcomes_are_numbers_of_a_program(jax: Any) -> None:
    """Comparisons that choose between numbers make no further recordings, nor of turns."""

    def f(x: Any, n: Any) -> Any:
        def turn(s: Any) -> Any:
            i, y, done = s
            is_far = (y > 2.0) | (y < -2.0)
            y = jax.numpy.where(is_far & ~done, 0.5 * y, y + x)
            return i + 1, jax.lax.cond(y > x, lambda: y, lambda: -y), done | (y > 5.0)

        go_on = lambda s: (s[0] < 2**n) & ~s[2]  # noqa: E731
        return jax.lax.while_loop(go_on, turn, (0, x, False))[1]

    def loops() -> list[Loop]:
        return [x for x in gc.get_objects() if type(x) is Loop and x.name == "while_loop"]

    others, run = [*map(id, loops())], jax.jit(f)
    points = [(x, n) for x in (-1.5, -0.3, 0.7, 1.9, 3.0) for n in range(5)]
    expected = [f(*point) for point in points]
    np.testing.assert_allclose([run(*point) for point in points], expected)
    assert run.program.stats()["recordings"] <= 2  # n as a constant, and as an input
    turns = [len(x._steps.codes) for x in loops() if "_steps" in vars(x) and id(x) not in others]
    assert max(turns) == 1
    assert jax.grad(lambda x: x if ~(x > 1.0) else 2.0 * x)(0.5) == 1.0


@pytest.mark.filterwarnings("error")
def test_programs_by_static_arguments_are_no_state_of_others(jax: Any) -> None:
    step = jax.jit(lambda f, x: x + 0.1 * f(x), static_argnums=0)

    def solve(x: Any) -> Any:
        decay = lambda x: -x  # noqa: E731 - a new one in each call
        return jax.lax.while_loop(lambda x: x[0] > 0.5, lambda x: step(decay, x), x)

    program = jax.jit(solve)
    for x in (np.ones(2), np.full(2, 3.0), np.full(2, 5.0)):
        np.testing.assert_allclose(program(x), solve(x))
    assert program.program.stats()["eager"] == 0
    found = [step(lambda x, k=k: k * x, 2.0) for k in range(150)]
    np.testing.assert_allclose(found, 2.0 + 0.2 * np.arange(150))
    assert step.programs.cache_info().currsize < 150


def test_rules_that_are_wrong_are_refused(jax: Any) -> None:
    f = jax.custom_jvp(np.sin)
    with pytest.raises(AttributeError, match=r"do so with sin\.defjvp"):
        f(1.0)
    f.defjvp(lambda primals, tangents: tangents[0])
    with pytest.raises(TypeError, match="a tuple of 2"):
        jax.grad(f)(1.0)
    g = jax.custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (x * y, (x, y)), lambda residuals, g: (g,))
    with pytest.raises(TypeError, match="a tuple of 2"):
        jax.grad(lambda x: g(x, 2.0))(1.0)


def test_rules_have_all_arguments_with_defaults(jax: Any) -> None:
    f = jax.custom_vjp(lambda x, n=2.0, m=3.0: x * n * m)
    f.defvjp(lambda x, n, m: (x * n * m, m), lambda m, g: (10.0 * m * g, None, None))
    assert jax.grad(f)(1.0) == 30.0
    assert jax.jit(jax.grad(lambda x: f(x, m=4.0)))(1.0) == 40.0
    g = jax.custom_vjp(lambda x, *, n: x * n)
    g.defvjp(lambda x: (x, ()), lambda _, g: (g,))
    with pytest.raises(TypeError, match="pass by place"):
        jax.grad(lambda x: g(x, n=2.0))(1.0)


@pytest.mark.filterwarnings("error")  # of functions that programs run eagerly
def test_containers_of_callers_stay_as_they_are(jax: Any) -> None:
    """JAX hands functions containers of their own, which they may change in place."""

    def double(state: Any) -> Any:
        state["x"] = state["x"] * 2.0
        return state["x"][1]

    @jax.custom_vjp
    def ruled(state: Any) -> Any:
        return double(state)

    ruled.defvjp(lambda state: (double(state), None), lambda _, g: ({"x": g * np.ones(2)},))
    functions = {
        "jit": jax.jit(double),
        "static": jax.jit(lambda state, k: double(state), static_argnums=1),
        "checkpoint": jax.checkpoint(double),
        "hessian": lambda state: jax.hessian(double)(state)["x"]["x"][0, 0] + 2.0,
        "cond": lambda state: jax.lax.cond(True, double, double, state),
        "switch": lambda state: jax.lax.switch(1, [double, double], state),
        "rule": ruled,
        "program": jax.jit(lambda state: jax.jit(double)(state) + state["x"][1] - 1.0),
    }
    for name, f in functions.items():
        state = {"x": np.ones(2)}
        more = (3,) if name == "static" else ()
        assert [float(f(state, *more)) for _ in range(3)] == [2.0] * 3, name
        np.testing.assert_array_equal(state["x"], np.ones(2), name)
    loop = lambda x: jax.lax.fori_loop(0, 40, lambda i, s: (double(s), s)[1], {"x": x})["x"][1]  # noqa: E731
    assert [float(jax.jit(loop)(np.ones(2))) for _ in range(2)] == [2.0**40] * 2


@pytest.mark.filterwarnings("error")
def test_arrays_of_callers_stay_as_they_are(jax: Any) -> None:
    """`x -= c` makes a new array with JAX, and NumPy's changes the caller's."""

    def shifted(x: Any, c: Any) -> Any:
        x -= c
        return x.sum() * c

    x, jitted = np.ones(3), jax.jit(shifted)
    outer = jax.jit(lambda x, c: jitted(x, c) + jitted(x, c) + x.sum())
    for _ in range(3):
        assert jitted(x, 2.0) == -6.0
        assert outer(x, 2.0) == -9.0
        assert jax.grad(shifted, 1)(x, 2.0) == -9.0
        assert jax.lax.cond(True, shifted, shifted, x, 2.0) == -6.0
        np.testing.assert_array_equal(x, np.ones(3))


@pytest.mark.parametrize("by", ["custom_vjp", "custom_jvp"])
def test_rules_are_of_complex_numbers(jax: Any, by: str) -> None:
    """As the function without a rule has them; w is real, so that its share of cotangents is."""

    def plain(z: Any, w: Any) -> Any:
        return z * z * w + 1j * w

    def tangent(primals: Any, tangents: Any) -> Any:
        (z, w), (dz, dw) = primals, tangents
        return plain(z, w), 2.0 * z * w * dz + (z * z + 1j) * dw

    ruled = getattr(jax, by)(plain)
    if by == "custom_jvp":
        ruled.defjvp(tangent)
    else:
        of_w: Any = lambda r, g: jax.numpy.real((r[0] ** 2 + 1j) * g)  # noqa: E731
        ruled.defvjp(lambda *r: (plain(*r), r), lambda r, g: (2.0 * r[0] * r[1] * g, of_w(r, g)))
    z = X * (1.0 + 0.5j)
    size = lambda f: lambda z, w: jax.numpy.sum(jax.numpy.abs(f(z, w) - 1.0) ** 2)  # noqa: E731
    both = (0, 1)
    expected = jax.grad(size(plain), both)(z, X)
    for grad in (jax.grad(size(ruled), both), *[jax.jit(jax.grad(size(ruled), both))] * 2):
        for found, right in zip(grad(z, X), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12)


def test_arrays_stand_for_their_dtypes(jax: Any) -> None:
    x = np.ones(2, np.float32)
    for other in (np.float64, X):
        assert jax.numpy.promote_types(x, other) == np.float64
    assert jax.grad(lambda y: y * jax.numpy.finfo(y).max)(1.0) == np.finfo(float).max
    assert jax.numpy.iinfo(np.arange(2, dtype=np.int8)).max == 127


def test_names_that_are_not_there_say_what_to_write(jax: Any) -> None:
    with pytest.raises(AttributeError, match=r"jax\.vmap"):
        jax.pmap
    with pytest.raises(AttributeError, match=r"x\.at\[index\]"):
        jax.lax.gather
    with pytest.raises(AttributeError, match=r"docs/guide/jax\.md"):
        jax.nn.no_such_name


def test_imports_of_others_find_it() -> None:
    program = """
import cadiff, sys, numpy
assert not any(name.startswith("cadiff.compat") for name in sys.modules)
assert not hasattr(numpy.ndarray, "at")
import cadiff.compat.jax
cadiff.compat.jax.install()
import jax, jax.numpy as jnp, jax.scipy.stats as stats
from jax.flatten_util import ravel_pytree
from jax.nn import one_hot
from jax.numpy.linalg import norm
import jax.scipy.special
from jax import grad, lax, tree_util
from jax.tree_util import tree_map
jax.config.update("jax_enable_x64", True)
assert jax.lax is cadiff.compat.jax.lax
print(grad(jnp.sin)(0.0), stats.norm.pdf(0.0) > 0.39, norm(jnp.ones(4)))
import importlib.util
import cadiff.compat.autograd
cadiff.compat.autograd.install()
from jax.experimental.ode import odeint
assert importlib.util.find_spec("jax.extend") is None
for text, told in (
    ("import jax.extend.core", "jax.extend is not in cadiff.compat.jax: write jax.custom_jvp"),
    ("import cadiff.compat.jax.interpreters.mlir", "jax.interpreters.mlir is not in"),
    ("from jax.experimental import pallas", "jax.experimental.pallas is not in"),
    ("from jax.lax import psum", "write jax.vmap"),
    ("from autograd.numpy import fft2", "autograd.numpy.fft2 is not in cadiff.compat.autograd"),
):
    try:
        exec(text)
    except ModuleNotFoundError as error:
        assert told in str(error), error
    else:
        raise AssertionError(text)
"""
    assert isolated(program) == "1.0 True 2.0"


def test_differential_equations_of_trees(jax: Any) -> None:
    from cadiff.compat.jax.experimental.ode import odeint

    def spring(y: Any, t: Any, k: Any, push: Any) -> Any:
        return {"x": y["v"], "v": -(k**2) * y["x"] + push * t}

    def solved(x: Any, t: Any, k: Any, push: Any) -> Any:
        y = odeint(spring, {"x": x, "v": np.zeros(2)}, t, k, push, rtol=1e-11, atol=1e-11)
        return jax.numpy.sum(y["x"] ** 2)

    def known(x: Any, t: Any, k: Any, push: Any) -> Any:
        t = t[:, None]
        return np.sum((x * np.cos(k * t) + push * (k * t - np.sin(k * t)) / k**3) ** 2)

    args = X[:2], np.linspace(0.0, 2.0, 4), 1.5, 0.3
    assert solved(*args) == pytest.approx(known(*args), rel=1e-8)
    found, expected = (cadiff.grad(f, (0, 1, 2, 3))(*args) for f in (solved, known))
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        begin = int(k == 1)  # the solution that is known begins at 0
        np.testing.assert_allclose(np.ravel(one)[begin:], np.ravel(other)[begin:], rtol=1e-6)


def test_a_fit_of_a_differential_equation_is_computed_as_by_jax(jax: Any) -> None:
    from cadiff.compat.jax.experimental.ode import odeint

    np_ = jax.numpy

    def loss(p: Any) -> Any:
        slope = lambda y, t: np_.array([p[0] - p[1] * y[1], p[3] * y[0] - p[2]]) * y  # noqa: E731
        ys = odeint(slope, np_.array([10.0, 5.0]), np_.linspace(0.0, 10.0, 21))
        return np_.sum((ys - 3.0) ** 2)

    p = np.array([1.1, 0.4, 0.4, 0.1])
    gradient = jax.jit(jax.grad(loss))
    for scale, value in ((1.0, 416.7375991777438), (1.1, 491.9391837682103)):  # of JAX
        assert jax.jit(loss)(scale * p) == pytest.approx(value, rel=1e-11)
        assert loss(scale * p) == pytest.approx(value, rel=1e-11)
    known = [816.8537, 354.2721, 3967.896, -6955.693]  # by SciPy's LSODA, and JAX's own
    np.testing.assert_allclose(gradient(p), known, rtol=1e-6)
    stats = gradient.program.stats()
    assert (stats["recordings"], stats["eager"]) == (1, 0)


def test_what_goes_round_a_loop_keeps_its_precision(jax: Any) -> None:
    x = np.ones(3, np.float32)

    def last(x: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda i, x: x * jax.numpy.arange(3) + i, x)

    for f in (last, jax.jit(last)):
        assert (f(x).dtype, f(x).tolist()) == (np.float32, [2.0, 4.0, 12.0])
        assert jax.grad(lambda x, f=f: f(x).sum())(x).tolist() == [0.0, 1.0, 8.0]


AUGMENTED = """
def kept(x):
    y = old = x
    y += 1.0
    y *= x
    y -= 0.5
    y /= 2.0
    y **= 2
    return (old * y).sum()

def fibonacci(pair, _):
    a, b = pair
    old = a
    a += b
    return (a, old), old

def through_a_view(x):
    y = x * 1.0
    view = y[1:]
    view += 1.0
    return y.sum()
"""


def test_arrays_do_not_change_where_a_name_is_bound_anew(jax: Any) -> None:
    def program(**names: Any) -> Any:
        exec(AUGMENTED, names)
        return names

    def expected(x: Any) -> Any:
        return (x * ((x + 1.0) * x - 0.5) ** 2 / 4.0).sum()

    by_name, by_call = program(__name__="theirs", jnp=jax.numpy), program(__name__="others")
    x = X.copy()
    for f in (by_name["kept"], jax.jit(by_name["kept"]), jax.jit(by_call["kept"])):
        for _ in range(3):
            np.testing.assert_allclose(f(x), expected(X), rtol=1e-14)
    slope = cadiff.grad(expected)(X)
    for g in (jax.grad(by_call["kept"]), jax.jit(jax.grad(by_call["kept"]))):
        for _ in range(3):
            np.testing.assert_allclose(g(x), slope, rtol=1e-13)
    f, along = by_call["kept"], np.ones_like(X)
    for _ in range(2):
        np.testing.assert_allclose(jax.vjp(f, x)[1](1.0)[0], slope, rtol=1e-13)
        for push in (lambda: jax.jvp(f, (x,), (along,))[1], lambda: jax.linearize(f, x)[1](along)):
            assert push() == pytest.approx(slope.sum(), rel=1e-13)
    ones = (np.ones(1), np.ones(1))
    turn = by_call["fibonacci"]
    run = lambda pair: jax.lax.scan(turn, pair, None, 5)  # noqa: E731
    for f in (run, jax.jit(run)):
        for _ in range(3):
            (a, b), rows = f(ones)
            assert [*rows[:, 0], b[0], a[0]] == [1.0, 2.0, 3.0, 5.0, 8.0, 8.0, 13.0]
    z = X + 1j
    for f in (by_name["kept"], jax.jit(by_call["kept"])):
        for _ in range(3):
            np.testing.assert_allclose(f(z), expected(X + 1j), rtol=1e-14)
    assert f.program.stats()["eager"] == 0
    assert (x == X).all() and (z == X + 1j).all() and ones == (1.0, 1.0)
    # NumPy's own code writes to views, wherever it is called; so does all where no JAX is.
    theirs = program(__name__="numpy.views")["through_a_view"]
    for f in (by_call["through_a_view"], jax.jit(theirs), jax.jit(theirs)):
        assert f(x) == X.sum() + 2.0


def test_dicts_that_cannot_change_stay_as_they_are(jax: Any) -> None:
    class Frozen(dict):  # type: ignore[type-arg]
        __hash__ = object.__hash__  # type: ignore[assignment]
        __copy__ = lambda self: self  # noqa: E731

    given = Frozen(a=2.0, b=3)
    power = jax.jit(lambda x, how: how["a"] * x ** how["b"], static_argnums=1)
    assert [power(x, given) for x in (1.0, 2.0)] == [2.0, 16.0]
    assert given == {"a": 2.0, "b": 3}
    found = cadiff.grad(lambda how: how["a"] * how["b"])(given)
    assert type(found) is Frozen and found == {"a": 3.0, "b": 2.0}


def test_arrays_are_sorted_as_jax_sorts(jax: Any) -> None:
    x = np.array([2.0, 1.0, 3.0])
    module = {"jnp": jax.numpy, "x": x}
    assert eval("x.sort().tolist()", module) == [1.0, 2.0, 3.0]
    exec("y = x.copy()\ny.sort()", module)  # as NumPy's arrays are, of which nothing is returned
    assert module["y"].tolist() == [1.0, 2.0, 3.0]
    assert x.tolist() == [2.0, 1.0, 3.0]
    assert x.sort() is None and x.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("error")
def test_what_is_beside_a_result_happens_where_it_is_traced(
    jax: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(x: Any) -> Any:
        print(f"the sum is {x.sum()}")
        return x.sum() * 2.0

    def drawn(x: Any) -> Any:
        return x.sum() * np.random.normal() + random.random() + time.time()

    f, g = jax.jit(told), jax.jit(drawn)
    assert [float(f(X * k)) for k in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert capsys.readouterr().out.count("the sum is") == 1
    assert len({float(g(X)) for _ in range(5)}) == 1
    assert jax.grad(g)(X).shape == X.shape


def test_programs_within_programs_serve_who_judges_these(jax: Any) -> None:
    """f runs on plain numbers, to be compared with its recording, within other recordings too."""
    np = jax.numpy

    def of_one(p: Any, t: Any) -> Any:
        return np.tanh(p[0] * np.log10(t) + p[1]) * 10.0 ** p[0]

    one = jax.jit(jax.grad(of_one, 1))
    of_times = jax.jit(jax.vmap(one, (None, 0)))
    of_all = jax.jit(jax.vmap(lambda p, t: of_times(p, t), (0, None)))
    a, t = np.linspace(0.5, 1.0, 30), np.linspace(1.0, 9.0, 40)
    found = jax.jit(lambda p, t: of_all(p, t))((a, a + 1.0), t)
    assert found.shape == (30, 40)
    assert float(found[3, 5]) == pytest.approx(float(one((a[3], a[3] + 1.0), t[5])), rel=1e-14)
    assert one.program.stats()["eager"] < 100  # of 1,200 numbers


@pytest.mark.parametrize("most", [1 << 17, 0])
def test_short_loops_are_parts_of_turns_around_them(jax: Any, monkeypatch: Any, most: int) -> None:
    monkeypatch.setattr("cadiff.programs.kept_loops.MOST_NUMBERS", most)
    n, lax = jax.numpy, jax.lax

    def f(x: Any) -> Any:
        def inner(c: Any, k: Any) -> Any:
            return n.tanh(0.9 * c + n.sum(c) * 0.1 * k), (c, 1j * k * c[0])

        def outer(c: Any, u: Any) -> Any:
            c, ys = lax.scan(inner, c + u, n.arange(5.0))
            v = lax.fori_loop(2, 8, lambda i, a: a + 0.1 * i * a, c)
            return 0.01 * v, n.sum(ys[0]) + n.sum(n.abs(ys[1]) ** 2)

        c, ys = lax.scan(outer, n.array([x, 2.0 * x]), n.linspace(0.0, 1.0, 30))
        return n.sum(c) + n.sum(ys)

    both = jax.value_and_grad(f)
    program = jax.jit(both)
    for x in (0.3, 0.5, -0.7):
        np.testing.assert_allclose(program(x), both(x), rtol=1e-12)
    assert (program.program.stats()["recordings"], program.program.stats()["eager"]) == (1, 0)
