"""Functions that draw random numbers draw fresh ones in each call, wherever they are called."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.stats import qmc

import cadiff
from cadiff import optimize

SEED = 7
rng = np.random.default_rng(SEED)
legacy = np.random.RandomState(SEED)
own = random.Random(SEED)
bits = np.random.PCG64(SEED)


class Model:
    seed = None

    def __init__(self) -> None:
        self.rng = np.random.default_rng(SEED)

    def noise(self) -> float:
        return float(self.rng.standard_normal())


model = Model()


def drawn_by_an_argument(generator: Any) -> float:
    return float(generator.normal())


# One number each.
DRAWS: dict[str, Callable[[], Any]] = {
    "a generator": lambda: rng.normal(),
    "one that is handed on": lambda: drawn_by_an_argument(rng),
    "one of an object": lambda: model.noise(),
    "an old one": lambda: legacy.normal(),
    "NumPy's own": lambda: np.random.normal(),
    "Python's": lambda: own.gauss(0.0, 1.0),
    "Python's own": lambda: random.random(),
    "bits": lambda: np.random.Generator(bits).normal(),
    "a copy": lambda: (copy.deepcopy(rng).normal(), rng.normal())[0],
    "a pickle": lambda: (pickle.loads(pickle.dumps(rng)).normal(), rng.normal())[0],
    "a child": lambda: rng.spawn(1)[0].normal(),
    "a shuffle": lambda: rng.permutation(1000)[0] / 1000,
}
# The same, of which no seed is known.
UNSEEDED: dict[str, Callable[[], Any]] = {
    "no seed": lambda: np.random.default_rng().normal(),
    "None for a seed": lambda: np.random.default_rng(None).normal(),
    "None for an old one": lambda: np.random.RandomState(None).normal(),
    "no seed that is known": lambda: np.random.RandomState(model.seed).normal(),
    "SciPy's": lambda: stats.norm.rvs(),
    "the system's": lambda: random.SystemRandom().random(),
    "points of a sequence": lambda: qmc.Halton(1).random()[0, 0],
    "a quadrature": lambda: integrate.qmc_quad(lambda t: t * t, 0.0, 1.0, n_points=8).integral,
}


def seed() -> None:
    global rng, legacy, own, bits
    rng, legacy = np.random.default_rng(SEED), np.random.RandomState(SEED)
    own, bits = random.Random(SEED), np.random.PCG64(SEED)
    model.rng = np.random.default_rng(SEED)
    random.seed(SEED)
    np.random.seed(SEED)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    states = random.getstate(), np.random.get_state()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*runs its function eagerly", RuntimeWarning)
        yield
    random.setstate(states[0])
    np.random.set_state(states[1])


@pytest.mark.parametrize("way", [*DRAWS, *UNSEEDED])
def test_each_call_draws_anew(way: str) -> None:
    draw = DRAWS.get(way) or UNSEEDED[way]

    def f(x: Any) -> Any:
        return x * draw()

    program = cadiff.compile(f)
    seed()
    found = [program(1.0), *(program.grad(1.0) for _ in range(3)), program.value_and_grad(1.0)[0]]
    assert len(set(found)) == 5
    if way in DRAWS:
        seed()
        assert found == [f(1.0) for _ in range(5)]


def test_a_generator_at_hand_that_is_not_drawn_from_is_no_obstacle() -> None:
    is_training = False

    def f(x: Any) -> Any:
        return x * x + (rng.normal() if is_training else 0.0)

    program = cadiff.compile(f)
    for k in range(4):
        rng.normal()
        assert program.grad(float(k)) == 2.0 * k
    assert (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)
    is_training = True
    assert program(1.0) != program(1.0)


# What reads the state of a generator that is at hand, or draws from another one.
BESIDE: dict[str, Callable[[Any], Any]] = {
    "a recording": lambda x: cadiff.fori_loop(0, 30, lambda k, y: y * 1.01, x),
    "a program": lambda x: cadiff.compile(lambda y: y * 2.0)(x),
    "a generator with a seed": lambda x: x * random.Random(3).random(),
}


@pytest.mark.parametrize("what", BESIDE)
def test_only_what_is_drawn_from_is_an_obstacle(what: str) -> None:
    draws = False

    def f(x: Any) -> Any:
        return BESIDE[what](x) + (own.random() + np.random.normal() if draws else 0.0)

    program = cadiff.compile(f)
    assert [program(x) for x in (1.0, 2.0)] == pytest.approx([f(1.0), f(2.0)])
    assert (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)
    draws = True
    assert program(1.0) != program(1.0)


# One number each, the same in every call.
SEEDED: dict[str, Callable[[], Any]] = {
    "a generator": lambda: np.random.default_rng(3).normal(),
    "an old one": lambda: np.random.RandomState(3).normal(),
    "an old one, by a name": lambda: np.random.RandomState(SEED).normal(),
    "an old one, by a sum": lambda: np.random.RandomState(seed=SEED + 1).normal(),
    "SciPy's": lambda: stats.norm.rvs(random_state=3),
    "points of a sequence": lambda: qmc.Halton(1, rng=3).random()[0, 0],
}


@pytest.mark.parametrize("way", SEEDED)
def test_a_generator_with_a_seed_of_its_own_gives_the_same(way: str) -> None:
    draw = SEEDED[way]
    program = cadiff.compile(lambda x: x * draw())
    assert program(1.0) == program(1.0) == draw()
    assert program.stats()["eager"] == 0


def noisy(x: Any) -> Any:
    return ((x - 1.0) ** 2).sum() + 0.0 * x[0] + rng.normal()


def number_of_draws() -> int:
    """How many numbers have been drawn since `seed`."""
    other = np.random.default_rng(SEED)
    for n in range(10_000):
        if other.bit_generator.state == rng.bit_generator.state:
            return n
        other.normal()
    raise AssertionError("other numbers were drawn")


X = np.arange(12.0).reshape(6, 2)

# What runs a program again and again, and how many runs these are at least, if it does not say.
USES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "vmap": (lambda f: cadiff.vmap(f)(X), 6),
    "vmap of gradients": (lambda f: cadiff.vmap(f.grad)(X), 6),
    "a batch": (lambda f: f.batch(X), 6),
    "adam": (lambda f: optimize.adam(f, np.zeros(2), epochs=8), 8),
    "sgd": (lambda f: optimize.sgd(f, np.zeros(2), epochs=8), 8),
    "minimize": (lambda f: optimize.minimize(f, np.zeros(2), options={"maxiter": 1}), 0),
    "a gradient around it": (lambda f: [cadiff.grad(lambda x: f(x))(X[0]) for _ in range(5)], 5),
    "a program around it": (
        lambda f: [cadiff.compile(lambda x: 2.0 * f(x))(X[0]) for _ in range(5)],
        5,
    ),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_whatever_runs_it_has_fresh_draws(use: str, is_compiled: bool) -> None:
    run, least = USES[use]
    seed()
    f = noisy if use in ("adam", "sgd", "minimize") and not is_compiled else cadiff.compile(noisy)
    result = run(f)
    assert number_of_draws() >= getattr(result, "nfev", least)


@pytest.mark.parametrize("what", ["value", "grad", "value_and_grad", "jacobian", "hessian"])
def test_the_first_batch_runs_it_once_for_each_row(what: str) -> None:
    draws: list[float] = []

    def drawing(x: Any) -> Any:
        draws.append(rng.normal())
        return x * x * draws[-1]

    def counting(x: Any) -> Any:
        draws.append(len(draws) + 1.0)
        return x * x * draws[-1]

    for f in (drawing, counting):
        draws.clear()
        found = cadiff.compile(f).batch(np.ones(4), what=what)
        factor = 1.0 if what.startswith("value") else 2.0
        values = found[0] if isinstance(found, tuple) else found
        np.testing.assert_allclose(values, factor * np.array(draws[:4]), rtol=1e-12)
        if what == "value":
            assert len(draws) == 4
