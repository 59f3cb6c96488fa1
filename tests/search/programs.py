"""Random functions of many statements, called many times as compiled programs, with f as judge.

A function is put together from blocks: handlers, early returns, generators, closures made in
loops, classes with properties, containers, state that changes between calls. It is called with
numbers and whole numbers that change from call to call, some out of range. Three copies are run:
on plain numbers (values, exceptions and effects), eagerly (gradients), and compiled. What fails is
made shorter as long as it fails.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import cadiff

from ..helpers.drafts import TAME_TERMS
from .invariants import VERIFIED, Finding, Outcome

HEAD = """\
import bisect
import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator
import statistics
import types

import cadiff
import cadiff.numpy as np

CONFIG = {"w": 1.5, "mode": 0, "names": ["u", "v"]}
STATE = [0.5, 1.0]
LOG = []


class Parameters:
    w = 0.5

    def __init__(self):
        self.u = 2.0
        self._v = 3.0

    @property
    def v(self):
        if self._v < 0.0:
            raise AttributeError("v")
        return self._v * CONFIG["w"]

    def __getitem__(self, k):
        if k > 2:
            raise KeyError(k)
        return self.u * k


class Swallow:
    def __init__(self, *kinds):
        self.kinds = kinds

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, self.kinds)


class Slotted:
    __slots__ = ("_u", "z")
    u = property(operator.attrgetter("_u"))

    def __init__(self):
        self._u, self.z = 1.25, 0.75


class Doubled(list):
    def __iter__(self):
        return (2.0 * y for y in list.__iter__(self))


class Lazy:
    def __getattr__(self, name):
        if name not in CONFIG:
            raise AttributeError(name)
        return CONFIG[name]

    def __contains__(self, k):
        return k in CHOSEN

    def __len__(self):
        return len(ITEMS)

    def __call__(self, y):
        return y * STATE[0]


@dataclasses.dataclass
class Record:
    a: float = 0.5
    b: float = 1.5


class Mode(enum.Enum):
    LOW = 0
    HIGH = 1


def counter():
    total = 0.0

    def add(y):
        nonlocal total
        total = total + 0.5
        return y * total

    return add


P = Parameters()
Q = Slotted()
ITEMS = Doubled([0.5, 1.5])
CHOSEN = {1, 3}
QUEUE = collections.deque([0.25, 0.5])
LAZY = Lazy()
RECORD = Record()
SPACE = types.SimpleNamespace(p=1.5, part=functools.partial(operator.mul, 0.75))
COUNT = counter()
WEIGHTS = np.array([0.5, 1.0, 1.5, 2.0])
CHAIN = collections.ChainMap({"u": 0.5}, CONFIG)


def terms(x, k):
    for j in range(len(x)):
        if j == k:
            return
        yield x[j] * (j + 1)


def checked(x, k):
    if k > 3:
        raise ValueError("too large")
    return x[0] * k


@contextlib.contextmanager
def scaled(x):
    STATE[1] = 2.0
    try:
        yield x * STATE[1]
    finally:
        STATE[1] = 1.0


@functools.lru_cache(maxsize=None)
def weight(k):
    if k < 0:
        raise ValueError("negative")
    return 1.0 / (1 + k)
"""

# Each line is a statement; {i} is an index, {a} and {b} are numbers, {c} is a condition.
BLOCKS = """\
try:
    r = r + {a} * x[{i}]
except IndexError:
    r = r + 0.5 * {b}
---
try:
    r = r * 0.5 + {{0: x[0], 1: x[1], 3: 2.0 * x[2]}}[{i}]
except KeyError:
    r = r - x[3]
---
with contextlib.suppress(IndexError, ZeroDivisionError):
    r = r + x[{i}] * (6 // k)
---
try:
    n = 6 // {i}
except ZeroDivisionError:
    n = 5
r = r + n * {a}
---
r = r + getattr(P, ("u", "v", "absent", "w")[k % 4], x[2]) * {a}
---
if hasattr(P, ("u", "v", "other")[k % 3]):
    r = r + {a}
---
r = r + sum(terms(x, {i}))
---
steps = terms(x, {i})
r = r + next(steps, x[1] * 3.0)
try:
    r = r + 2.0 * next(steps)
except StopIteration:
    r = r - x[0]
---
parts = [lambda y, j=j: y * (j + 1) for j in range(abs(k) % 4)]
for part in parts:
    r = r + part({a})
---
late = [lambda y: y * j for j in range(abs(k) % 3 + 1)]
r = r + late[0]({a})
---
if {c}:
    return r + {a}
---
r = r + P.v * {a}
---
r = r + s * CONFIG["w"] * {a}
---
if CONFIG["mode"] > 1:
    r = r * 2.0 + {a}
---
r = r + STATE[0] * {a}
---
try:
    n = int(cadiff.value(x[0] / x[1] * 3.0))
except ValueError:
    n = 7
r = r + n * {a}
---
try:
    r = r + np.sum(np.take(x, [0, {i}]) * {a})
except IndexError:
    r = r + x[1]
---
try:
    r = r + np.sum(x[np.array([{i}, 0])])
except IndexError:
    r = r - 2.0 * x[0]
---
y = np.zeros(4)
try:
    y[{i}] = {a}
except IndexError:
    y[0] = {b}
r = r + np.sum(y * x)
---
y = np.zeros(3)
try:
    np.add.at(y, [0, {i}], np.stack([{a}, {b}]) if np.ndim({a}) == 0 else 1.0)
except (IndexError, ValueError):
    y = y + 1.0
r = r + np.sum(y[:2])
---
try:
    r = r + np.sum(np.bincount([0, {i}, 1], weights=x[:3]) ** 2)
except ValueError:
    r = r + 0.3 * x[2]
---
try:
    r = r + checked(x, {i})
except ValueError as error:
    r = r + len(str(error)) * x[1]
finally:
    r = r * 1.5
---
try:
    try:
        r = r + checked(x, {i}) + x[{i}]
    finally:
        r = r + 1.0
except (ValueError, IndexError):
    r = r + {a}
---
for j in range(4):
    try:
        if j == k:
            continue
        r = r + x[j + {i}] * 0.5
    except IndexError:
        break
else:
    r = r + {a}
---
with Swallow(KeyError):
    r = r + P[{i}] * x[1]
---
with scaled({a}) as y:
    r = r + y
---
try:
    r = r + weight({i}) * {a}
except ValueError:
    r = r - {a}
---
try:
    r = r + np.linalg.cholesky(np.array([[x[0], 0.1], [0.1, 1.0]]))[1, 1]
except np.linalg.LinAlgError:
    r = r + 2.0 * x[1]
---
LOG.append(k)
---
STATE[0] = STATE[0] + 0.25
r = r + STATE[0] * {a}
---
r = r + Q.u * {a} + Q.z
---
r = r + sum(ITEMS) * {a}
---
r = r + (2.0 if k in CHOSEN else 1.0) * {a}
---
r = r + sum(QUEUE) * {a}
---
r = r + LAZY.w * {a} + len(LAZY)
---
if {i} in LAZY:
    r = r + LAZY({a})
---
try:
    r = r + getattr(LAZY, "w absent".split()[k % 2]) * {a}
except AttributeError:
    r = r - {b}
---
r = r + sum(getattr(RECORD, field.name) for field in dataclasses.fields(RECORD)) * {a}
---
r = r + dataclasses.replace(RECORD, a={a}).a
---
try:
    r = r + Mode({i}).value * {a}
except ValueError:
    r = r + {b}
---
r = r + SPACE.p * SPACE.part({a})
---
r = r + COUNT({a})
---
r = r + np.sum(WEIGHTS * x) * {a}
---
r = r + CHAIN["w"] * CHAIN.get("u", {b})
---
r = r + sum(y * z for y, z in zip(x, sorted(CHOSEN)))
---
if isinstance(k, bool) or k is None:
    r = r + 1.0
elif np.isnan(cadiff.value(x[2])):
    return {a}
---
try:
    r = r + operator.getitem((x[0], x[1]), {i}) * 2.0
except IndexError:
    raise ValueError("out of range") from None
---
r = r + (lambda *args, u=STATE[0], **others: sum(args) * u)({a}, {b})
---
for j, y in enumerate(x):
    if y > 0.5:
        r = r + y * j
        break
else:
    return {a}
---
n = k
while True:
    try:
        r = r + x[n]
        break
    except IndexError:
        n = n // 2
---
try:
    r = r + np.concatenate([x[:2], np.ones({i})])[-1]
except ValueError:
    r = r + 0.75 * x[3]
---
try:
    r = r + np.split(x, {i})[0][0]
except (ValueError, ZeroDivisionError):
    r = r + 0.75 * x[1]
---
try:
    r = r + np.dot(x, np.ones({i}))
except ValueError:
    r = r + 1.25 * x[1]
---
try:
    r = r + 10.0 ** (200 * {i}) * 0.0
except OverflowError:
    r = r + {a}
---
try:
    r = r + math.sqrt({i}) * {a}
except ValueError:
    r = r + {b}
---
try:
    a, b, *rest = [1.0, 2.0, 3.0][: max(k, 0)]
    r = r + a * {a} + b
except ValueError:
    r = r + {b}
---
try:
    raise LookupError(k) if k % 2 else OSError(k)
except LookupError:
    r = r + {a}
except OSError:
    r = r - {b}
---
n = 0
while n < abs(k) % 5:
    n = n + 1
    if {c}:
        break
    r = r * 0.9 + {a}
---
match k:
    case 0:
        r = r + {a}
    case 1 | 2:
        r = r - {b}
    case n if n > 4:
        r = r * 0.5
---
try:
    assert {c}
    r = r + {a}
except AssertionError:
    r = r + 0.25
---
r = r + dict(zip("abc", x)).get(chr(97 + abs(k) % 5), 0.5) * {a}
---
found = collections.OrderedDict(a={a}, b={b})
try:
    r = r + found["ab z"[abs(k) % 4]]
except KeyError:
    found.popitem()
    r = r + found["a"]
---
try:
    r = r + [{a}, {b}, x[2]].pop({i})
except IndexError:
    r = r + x[3]
---
try:
    n = "abc".index("abcd"[abs(k) % 4])
except ValueError:
    n = -2
r = r + n * {a}
---
try:
    n = int(("1", "2", "z")[abs(k) % 3])
except ValueError:
    n = 9
r = r + n * {a}
---
def inner(y, *, depth={i}):
    if depth > 4:
        raise RecursionError
    return y * depth
try:
    r = r + inner({a})
except RecursionError:
    r = r + {b}
---
with contextlib.ExitStack() as stack:
    stack.enter_context(contextlib.suppress(IndexError))
    r = r + x[{i}] ** 2
---
try:
    r = r + np.max(x[: max(0, {i})])
except ValueError:
    r = r + 4.0 * x[0]
---
try:
    r = r + np.reshape(x, (2, {i}))[0, 0]
except ValueError:
    r = r - x[2]
---
try:
    r = r + x[0] / {i}
except ZeroDivisionError:
    r = r + {b}
---
r = r + functools.reduce(operator.mul, [x[j] for j in range(abs(k) % 3)], 1.0)
---
r = r + x[bisect.bisect([0, 2, 5], k) % 4] * {a}
---
r = r + next(y for j, y in enumerate(itertools.chain(x, [2.0])) if j >= min(abs(k), 4)) * {a}
"""

INDICES = ("k", "k", "k", "k - 1", "k + 1", "-k", "k * 2", "abs(k)")
NUMBERS = ("x[0]", "x[1]", "x[2]", "x[3]", "r", "np.sum(x)", "np.tanh(r)")
CONDITIONS = ("x[0] > 0.5", "r > 1.0", "k > 1", "k % 2 == 0", "x[1] < x[2]", "x[0] * k > 0.3")
CHOICES = (0, 1, 2, 3, 7, -1, -9, 1, 5)
CALLS = 9


def blocks() -> list[str]:
    return [text.strip("\n") for text in BLOCKS.split("---\n")]


def expression(rng: random.Random) -> str:
    """A number; of the terms of the other random programs, too."""
    if rng.random() < 0.5:
        return rng.choice(NUMBERS)
    a, b, c = (rng.choice(NUMBERS) for _ in range(3))
    return rng.choice(TAME_TERMS).format(a=a, b=b, c=c)


def filled(rng: random.Random, block: str) -> str:
    return block.format(
        i=rng.choice(INDICES), a=expression(rng), b=expression(rng), c=rng.choice(CONDITIONS)
    )


CHANGES = (
    "CONFIG['w'] = {x}",
    "CONFIG['mode'] = {k}",
    "STATE[0] = {x}",
    "P.u = {x}",
    "P._v = {x} - 1.0",
    "Parameters.w = {x}",
    "Q._u = {x}",
    "ITEMS[0] = {x}",
    "ITEMS.append({x})",
    "CHOSEN.symmetric_difference_update([{k}])",
    "QUEUE.append({x})",
    "RECORD.b = {x}",
    "SPACE.p = {x}",
    "SPACE.part = functools.partial(operator.mul, {x})",
    "WEIGHTS[{k}] = {x}",
    "CHAIN.maps[0]['u'] = {x}",
    "Lazy.__len__ = lambda self: {k}",
    "Parameters.v = property(lambda self: {x})",
)


@dataclass(frozen=True)
class Step:
    """One call: state that changes before it, arguments, what is asked for."""

    change: str
    x: tuple[float, ...]
    k: int
    s: float
    what: str


@dataclass(frozen=True)
class Script:
    """A function in blocks, and calls of it."""

    body: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        body = "\n".join(self.body).replace("\n", "\n    ")
        return f"def f(x, k, *, s=1.0):\n    r = x[0] * 0.5\n    {body}\n    return r\n"

    def scope(self) -> dict[str, Any]:
        scope: dict[str, Any] = {"__name__": __name__}
        exec(HEAD, scope)
        exec(self.text, scope)
        return scope


def drawn(rng: random.Random) -> Script:
    pool = blocks()
    body = tuple(filled(rng, rng.choice(pool)) for _ in range(rng.randint(1, 5)))
    named = [text for text in CHANGES if any(text.split(".")[0].split("[")[0] in b for b in body)]
    steps = []
    for _ in range(CALLS):
        change = ""
        if rng.random() < 0.35:
            change = rng.choice(named or CHANGES).format(
                x=round(rng.uniform(0, 3), 2), k=rng.randint(0, 3)
            )
        x = [round(rng.uniform(-1.0, 2.0), 3) for _ in range(4)]
        if rng.random() < 0.15:
            x[rng.randrange(4)] = rng.choice([0.0, float("nan"), 1.0])
        what = rng.choice(["value", "value", "value_and_grad", "batch"])
        steps.append(
            Step(change, tuple(x), rng.choice(CHOICES), rng.choice([1.0, 1.0, 2.5]), what)
        )
    return Script(body, tuple(steps))


def result(call: Callable[[], Any]) -> Any:
    """What is given, or what is raised by its kind."""
    try:
        return call()
    except Exception as error:
        return error


def differs(got: Any, wanted: Any) -> str:
    """How a result differs; nothing if it does not."""
    if isinstance(wanted, Exception):
        if isinstance(got, Exception) and type(got) is type(wanted):
            return ""
        return f"{said(got)} for {said(wanted)}"
    if isinstance(got, Exception):
        return f"{said(got)} for {wanted}"
    mine = np.concatenate([np.ravel(np.asarray(x, dtype=float)) for x in got])
    other = np.concatenate([np.ravel(np.asarray(x, dtype=float)) for x in wanted])
    if mine.shape != other.shape:
        return f"{mine.shape} for {other.shape}"
    if np.isnan(other[0]) and np.isnan(mine[0]):  # then slopes may be nothing of a nan, or a nan
        mine, other = mine[:1], other[:1]
    if np.allclose(mine, other, rtol=1e-9, atol=1e-10, equal_nan=True):
        return ""
    return f"{mine.tolist()} for {other.tolist()}"


def said(x: Any) -> str:
    return f"{type(x).__name__}({x})" if isinstance(x, Exception) else str(x)


class Comparison:
    """Three copies of a script: on plain numbers, eager, and compiled."""

    def __init__(self, script: Script) -> None:
        self.plain, self.eager, self.compiled = (script.scope() for _ in range(3))
        self.program = cadiff.compile(self.compiled["f"], **VERIFIED)
        effects = ("LOG.append", "COUNT(", "STATE[0] =")  # a batch runs f how often it likes
        self.has_effects = any(effect in script.text for effect in effects)

    def after(self, step: Step) -> list[Finding]:
        """What a call does otherwise than f itself."""
        for scope in (self.plain, self.eager, self.compiled):
            exec(step.change, scope)
        x, others = np.array(step.x), {"s": step.s}
        asked = "value" if self.has_effects and step.what == "batch" else step.what
        value = result(lambda: (self.plain["f"](x, step.k, **others),))
        if asked == "value":
            wanted = value
            result(lambda: self.eager["f"](x, step.k, **others))
            got = result(lambda: (self.program(x, step.k, **others),))
        else:
            slopes = cadiff.value_and_grad(self.eager["f"])
            wanted = result(lambda: slopes(x, step.k, **others))
            way = self.in_a_batch if asked == "batch" else self.program.value_and_grad
            got = result(lambda: way(x, step.k, **others))
        found = []
        if not isinstance(wanted, Exception) and not isinstance(value, Exception):
            found.append(("eager = f", differs(wanted[:1], value)))
        found.append((f"programs: {asked} = f", differs(got, wanted)))
        is_same = self.compiled["LOG"] == self.plain["LOG"]
        found.append(("programs: effects = f", "" if is_same else f"{self.compiled['LOG']}"))
        return [Finding(invariant, message) for invariant, message in found if message]

    def in_a_batch(self, x: Any, k: int, **others: Any) -> Any:
        values, gradients = self.program.batch(x[None], k, what="value_and_grad", **others)
        return values[0], gradients[0]


def faults(script: Script) -> list[Finding]:
    """What a program of the script does otherwise than f itself, at the first such call."""
    comparison = Comparison(script)
    for number, step in enumerate(script.steps):
        found = comparison.after(step)
        if found:
            return [Finding(f.invariant, f"call {number}: {f.message}") for f in found]
    return []


def without_one(items: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """All that lack one of the items; none if there is but one."""
    return [items[:k] + items[k + 1 :] for k in range(len(items))] if len(items) > 1 else []


def shortened(script: Script, invariant: str) -> Script:
    """The same fault with fewer blocks and calls."""

    def fails(shorter: Script) -> bool:
        return any(f.invariant == invariant for f in faults(shorter))

    is_shorter = True
    while is_shorter:
        is_shorter = False
        bodies, calls = without_one(script.body), without_one(script.steps)
        candidates = [Script(body, script.steps) for body in bodies]
        for shorter in [*candidates, *(Script(script.body, steps) for steps in calls)]:
            if fails(shorter):
                script, is_shorter = shorter, True
                break
    return script


class RandomPrograms:
    """All functions that are made from one block, and others."""

    def __init__(self, number: int) -> None:
        self.block = blocks()[number]
        self.name = f"{number}: {self.block.splitlines()[0]}"

    def examine(self, seed: int, announce: Callable[[str], None]) -> Outcome:
        rng = random.Random(f"{self.name} {seed}")
        script = drawn(rng)
        body = list(script.body)
        body[rng.randrange(len(body))] = filled(rng, self.block)
        script = Script(tuple(body), script.steps)
        announce(script.text)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = faults(script)
            outcome = Outcome()
            outcome.tried["programs = f"] += len(script.steps)
            if found:
                script = shortened(script, found[0].invariant)
                outcome.findings = faults(script)[:1]
        outcome.text = "\n" + script.text + "".join(f"{step}\n" for step in script.steps)
        return outcome


def subjects() -> list[RandomPrograms]:
    return [RandomPrograms(k) for k in range(len(blocks()))]
