"""What programs keep alive: no object that they have met, and no other object's recordings."""

from __future__ import annotations

import gc
import pickle
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import numpy as cnp
from cadiff.programs import traces

from ..helpers.processes import IS_SANITIZED, isolated, of_amounts

X = np.array([0.5, -1.5, 2.0])


class Model:
    """An object with numbers, which its methods read."""

    def __init__(self, w: float = 2.0) -> None:
        self.w = w
        self.data = np.full(50, w)

    def plain(self, x: Any) -> Any:
        return cnp.sum(cadiff.sin(x) * self.w) + cnp.sum(self.data)

    @cadiff.compile
    def loss(self, x: Any) -> Any:
        return self.plain(x)

    exact = cadiff.compile(plain, optimize=False)

    @cadiff.compile(max_traces=1)
    def branches(self, x: Any) -> Any:
        return cnp.sum(x * x) if x[0] > self.w else cnp.sum(x)

    @cadiff.compile
    def reading(self, x: Any) -> Any:
        return cadiff.value(x)[0] * cnp.sum(x) * self.w

    @cadiff.compile
    def vector(self, x: Any) -> Any:
        return cadiff.sin(x) * self.w


class Unhashable(Model):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable)

    __hash__ = None  # type: ignore[assignment]


class WithPart(Model):
    """What it is made of knows it, in several ways."""

    def __init__(self, w: float = 2.0) -> None:
        super().__init__(w)
        self.owner = self
        self.act = self.activation
        self.again = lambda v: v * self.w
        self.pair = (self, self.activation)

    def activation(self, v: Any) -> Any:
        return v * self.owner.w

    @cadiff.compile
    def loss(self, x: Any) -> Any:
        return cnp.sum(self.act(x) + self.again(x)) * self.pair[0].w + self.pair[1](x[0])


class Slotted:
    __slots__ = ("__weakref__", "w")

    def __init__(self, w: float = 2.0) -> None:
        self.w = w

    @cadiff.compile
    def loss(self, x: Any) -> Any:
        return cnp.sum(x * x) * self.w


def gone(use: Callable[[Any], object], kind: Callable[[], Any] = Model) -> bool:
    """Whether an object is released after it was used."""
    model = kind()
    references = [weakref.ref(model)]
    if hasattr(model, "data"):
        references.append(weakref.ref(model.data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use(model)
    del model
    gc.collect()
    return all(reference() is None for reference in references)


def _branching(model: Any) -> None:
    for k in range(40):
        model.branches(X + 3.0 * (k % 3))
        model.branches.grad(X + 3.0 * (k % 2))


USES: dict[str, Callable[[Any], object]] = {
    "value": lambda model: model.loss(X),
    "grad": lambda model: model.loss.grad(X),
    "hessian": lambda model: model.loss.hessian(X),
    "hvp": lambda model: model.loss.hvp(X, X),
    "jvp": lambda model: model.loss.jvp((X,), (X,)),
    "vjp": lambda model: [model.loss.vjp(X)[1](1.0) for _ in range(3)],
    "jacobian": lambda model: model.vector.jacobian(X),
    "sparse": lambda model: [model.loss.sparse_hessian(X) for _ in range(3)],
    "batch": lambda model: model.loss.batch(np.stack([X, -X]), what="grad"),
    "exact": lambda model: [
        model.exact.grad(X),
        model.exact.hvp(X, X),
        model.exact.vjp(X)[1](1.0),
    ],
    "gradient function": lambda model: cadiff.grad(model.loss)(X),
    "within another": lambda model: cadiff.grad(lambda x: model.loss(x) ** 2)(X),
    "within a program": lambda model: cadiff.compile(lambda x: model.loss(x) ** 2).grad(X),
    "branches": _branching,
    "eager": lambda model: [model.reading.grad(X), model.reading(X)],
    "clear": lambda model: [model.loss(X), model.loss.clear(), model.loss(X), model.loss.stats()],
}


@pytest.mark.parametrize("name", USES)
def test_objects_are_released(name: str) -> None:
    assert gone(USES[name])


@pytest.mark.parametrize("kind", [Unhashable, WithPart, Slotted])
def test_objects_of_all_kinds_are_released(kind: Callable[[], Any]) -> None:
    assert gone(lambda model: [model.loss(X), model.loss.grad(X), model.loss.grad(2.0 * X)], kind)


def test_of_objects_without_weak_references_the_last_few_are_kept() -> None:
    class Bare:
        __slots__ = ("part", "w")

        def __init__(self, w: float) -> None:
            self.w = w
            self.part = Model(w)

        @cadiff.compile
        def loss(self, x: Any) -> Any:
            return x * self.w * self.part.w

    parts = []
    for k in range(30):
        bare = Bare(float(k))
        parts.append(weakref.ref(bare.part))
        for x in (2.0, 3.0, 4.0, 5.0, 6.0):
            assert bare.loss(x) == x * k * k
        assert bare.loss.stats()["recordings"] == 1
    gc.collect()
    assert 1 <= sum(part() is not None for part in parts) <= 8


def test_no_object_is_served_by_what_was_recorded_for_another() -> None:
    seen = set()
    for k in range(300):
        model = Model(float(k))
        seen.add(id(model))
        for _ in range(5):
            np.testing.assert_allclose(model.loss(X), model.plain(X), rtol=1e-14)
        assert model.loss.stats()["recordings"] == 1
        del model
    assert len(seen) < 300 or IS_SANITIZED  # some stood where others had been


def test_what_a_method_gives_keeps_its_object_alive() -> None:
    loss, grad = Model(3.0).loss, Model(3.0).loss.grad
    pullback = Model(3.0).loss.vjp(X)[1]
    gc.collect()
    expected = cadiff.grad(Model(3.0).plain)(X)
    np.testing.assert_allclose(loss.grad(X), expected, rtol=1e-14)
    np.testing.assert_allclose(grad(X), expected, rtol=1e-14)
    np.testing.assert_allclose(pullback(1.0), expected, rtol=1e-14)
    again = pickle.loads(pickle.dumps(loss))
    assert again.__self__ is not loss.__self__
    np.testing.assert_allclose(again.grad(X), expected, rtol=1e-14)
    assert again != loss
    assert len({loss, loss.__self__.loss}) == 1


def test_what_a_function_reads_is_released_once_it_reads_something_else() -> None:
    places = {"model": Model(0.0)}
    program = cadiff.compile(lambda x: places["model"].plain(x))
    models, arrays = [], []
    for k in range(20):
        places["model"] = model = Model(float(k))
        models.append(weakref.ref(model))
        arrays.append(weakref.ref(model.data))
        np.testing.assert_allclose(program.grad(X), np.cos(X) * k, rtol=1e-14, atol=1e-15)
        del model
    gc.collect()
    assert sum(model() is not None for model in models) == 1
    assert sum(array() is not None for array in arrays) <= 2
    assert program.stats()["recordings"] == 20
    np.testing.assert_allclose(program.grad(X), np.cos(X) * 19.0, rtol=1e-14)
    assert program.stats()["recordings"] == 20
    assert len(program.stats()["traces"]) <= 2


def test_objects_that_are_arguments_are_released() -> None:
    program = cadiff.compile(lambda x, model: model.plain(x))
    for use in (
        lambda model: program(X, model),
        lambda model: [program.grad(X, model) for _ in range(3)],
        lambda model: [program(X, model) for _ in range(3)],
        lambda model: cadiff.grad(lambda x: program(x, model) ** 2)(X),
    ):
        assert gone(use)
    for k in range(300):  # some stand where others have been
        model = Model(float(k))
        assert program(X, model) == model.plain(X)


@pytest.mark.parametrize("why", ["values are read", "other branches"])
@pytest.mark.parametrize("method", ["__call__", "grad", "hessian", "hvp", "jvp", "vjp"])
def test_arguments_of_what_runs_eagerly_are_released(method: str, why: str) -> None:
    model = Model()  # in the place of one that is no argument

    def read(x: Any, data: Any, model: Any = model) -> Any:
        return float(cadiff.value(x)[0]) * cnp.sum(x * x * data) * model.w

    def chosen(x: Any, data: Any, model: Any = model) -> Any:
        return cnp.sum(x * data) * model.w if x[0] > 1.0 else cnp.sum(x * x * data)

    program = cadiff.compile(read if why == "values are read" else chosen, max_traces=1)
    calls: dict[str, Callable[..., Any]] = {
        "hvp": lambda x, data, model: program.hvp(x, x, data, model),
        "jvp": lambda x, data, _: program.jvp((x, data), (x, data)),
        "vjp": lambda x, data, _: program.vjp(x, data)[1](1.0),
    }
    call = calls.get(method) or getattr(program, method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(X + 3.0, np.ones(3), model)
        for _ in range(3):
            x, data, other = X.copy(), np.ones(3), Model()
            references = [weakref.ref(x), weakref.ref(data), weakref.ref(other)]
            call(x, data, other)
            call(x, data, other)
            del x, data, other
            gc.collect()
            assert all(reference() is None for reference in references)


# --- memory is given back ----------------------------------------------------------------------


def test_branches_of_one_signature_take_no_more_memory_than_they_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def f(x: Any) -> Any:
        y = x[0]
        for _ in range(2000):
            y = cadiff.sin(y) * x[1]
        return y if x[2] < 0.5 else y + 1.0 if x[2] < 1.5 else y + 2.0 if x[2] < 2.5 else y * 2.0

    program = cadiff.compile(f)
    points = [np.array([0.3, 0.4, float(k)]) for k in range(4)]
    program.grad(points[0])
    (recorded,) = program._traces
    monkeypatch.setattr(traces, "MOST_BYTES", 5 * recorded.nbytes // 2)
    for _ in range(3):
        for x in points:
            np.testing.assert_allclose(program.grad(x), cadiff.grad(f)(x), rtol=1e-14)
            kept = list(program._traces)
            assert sum(one.nbytes for one in kept) <= 4 * recorded.nbytes


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
@of_amounts
def test_what_large_calls_took_is_given_back_after_small_ones() -> None:
    output = isolated("""
import ctypes
import hashlib  # which programs import when they need it, and which is some MB
import numpy as np
import cadiff
from cadiff import numpy as cnp

def resident():
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)  # what the C library keeps is not of interest
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def f(x):
    y = cadiff.exp(cadiff.sin(x) * x)  # which has to be kept: the sum of all of it divides it
    return cnp.sum(x * y / cnp.sum(y))

def by_numbers(x):
    y = x[0]
    for _ in range(300_000):
        y = cadiff.sin(y) * x[1]
    return y

program = cadiff.compile(f)
small, large = np.ones(4), np.ones(1_000_000)
def little():
    for _ in range(20):
        cadiff.grad(f)(small)
    for _ in range(9000):
        program.grad(small)

little()
before = resident()
peaks = []
for job in (
    lambda: cadiff.grad(f)(large),
    lambda: cadiff.grad(by_numbers)(small),
    lambda: program.grad(large),
    lambda: program.hvp(large, large),
):
    job()
    peaks.append(resident() - before)
    little()
    peaks.append(resident() - before)
print(min(peaks[::2]) > 15e6, max(peaks[1::2]) < 12e6 or peaks)
""")
    assert output == "True True"
