"""Every public name that may have derivatives, and calls of it that the original accepts.

Names come from the modules and the registry. How a function is called comes from its signature,
from the types and choices that its docstring gives in the form of numpydoc, and from the cases of
the other tests. Whether a call is one is the original's to say: what it refuses is no case.
"""

from __future__ import annotations

import inspect
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import FrameType
from typing import Any

import numpy as np
import scipy
import scipy.stats
from scipy.stats import _distr_params

import cadiff
import cadiff.numpy
import cadiff.scipy
from cadiff.operations.dispatch import FUNCTIONS, PLAIN

from ..helpers import (
    cases_fft,
    cases_linalg,
    cases_numpy,
    cases_parameters,
    cases_scipy,
    cases_sparse,
    cases_special,
)
from ..helpers.derivatives import Case
from .calls import Drawn, by_path
from .draws import SPECIAL, Argument, Rng, draw_mood, dressed, moving, numbers
from .errors import TooLongError
from .probes import Probe, flat, results
from .worlds import PLAIN as PLAIN_WORLD
from .worlds import World, resolve

MODULES = (
    *("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.fft"),
    *("scipy.stats", "scipy.signal", "scipy.signal.windows", "scipy.ndimage", "scipy.interpolate"),
    *("scipy.spatial", "scipy.spatial.distance", "scipy.cluster.vq", "scipy.cluster.hierarchy"),
    *("scipy.integrate", "scipy.optimize", "scipy.sparse", "scipy.sparse.linalg"),
    *("scipy.differentiate", "scipy.constants", "math", "cmath"),
    *("cadiff", "cadiff.ops", "cadiff.nn"),
)
ATTEMPTS = 60
PATIENCE = 1.0  # seconds for a call of the original's


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Stop what takes more of a processor's time, as soon as Python is run.

    It is stopped again each second, since C code that calls Python may drop an exception. The time
    counts for the limit that one within another has, too.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError

    former = signal.signal(signal.SIGPROF, stop)
    begun = time.process_time()
    before, every = signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        left = max(before - (time.process_time() - begun), 1e-3) if before else 0.0
        signal.signal(signal.SIGPROF, former)
        signal.setitimer(signal.ITIMER_PROF, left, every)


def is_a_case(probe: Probe) -> bool:
    """Whether the original takes the arguments, and gives numbers that move."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), within(PATIENCE):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            here = flat(results(probe.call(PLAIN_WORLD, 0.0, 0.0)).numbers)
            there = flat(results(probe.call(PLAIN_WORLD, 0.01, 0.007)).numbers)
    except (Exception, TooLongError):
        return False
    return bool(here.size and np.isfinite(here).any() and here.shape == there.shape)


def has_failed(probe: Probe) -> bool:
    """Whether an iteration says, beside x, that this is no solution: there is nothing to judge."""
    said = results(probe.call(PLAIN_WORLD, 0.0, 0.0)).others
    is_least = "[2]" in said  # `lsqr` and `lsmr` count reasons, of which three are failures
    return bool(said.get("[1]", 0) in (3, 6, 7) if is_least else said.get("[1]", 0))


# --- functions by their signatures and docstrings ------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """What a signature and a docstring say of a parameter."""

    name: str
    default: Any
    kind: str  # the text behind its name in the docstring

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def choices(self) -> list[Any]:
        """Of `{'a', 'b'}` in a docstring, or of a truth."""
        if isinstance(self.default, bool):
            return [not self.default]
        found = re.search(r"\{(.*?)\}", self.kind)
        if not found:
            return []
        items = []
        for text in found[1].split(","):
            text = text.strip()
            if re.fullmatch(r"['‘\"].*['’\"]", text):
                items.append(text[1:-1])
            elif re.fullmatch(r"-?\d+", text):
                items.append(int(text))
            elif text in ("True", "False", "None"):
                items.append({"True": True, "False": False, "None": None}[text])
        return items


NUMPYDOC = re.compile(r"^(\s*)([*\w]+(?:,\s*[*\w]+)*)\s*:\s*(.+)$")


def kinds_of(doc: str) -> dict[str, str]:
    """What the docstring says of each parameter; a second line of a type is read, too."""
    _, _, rest = doc.partition("Parameters\n")
    section = re.split(r"\n\s*\n?\s*(Returns|Yields|Raises|See Also|Notes)\n", rest)[0]
    found = {}
    for line in section.splitlines():
        match = NUMPYDOC.match(line)
        if match:
            for name in match[2].split(","):
                found[name.strip()] = match[3]
    return found


def parameters_of(function: Any) -> list[Parameter]:
    kinds = kinds_of(inspect.getdoc(function) or "")
    if isinstance(function, np.ufunc):
        return [Parameter(f"x{k}", inspect.Parameter.empty, "") for k in range(function.nin)]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [
            Parameter(name, inspect.Parameter.empty, kind)
            for name, kind in kinds.items()
            if "optional" not in kind
        ]
    return [
        Parameter(p.name, p.default, kinds.get(p.name, ""))
        for p in signature.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]


UNWRITTEN = {"numpy.empty", "numpy.empty_like"}  # whose elements are whatever memory holds
NOT_MOVED = {"axis", "axes", "out", "dtype", "callback", "rng", "random_state", "seed", "workers"}
NOT_MOVED |= {"xp", "overwrite_x", "overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_v"}


class Letters(dict[str, int]):
    """Sizes by the letters of docstrings: the same letter is the same size."""

    def __init__(self, rng: Rng) -> None:
        super().__init__()
        self.rng = rng

    def __missing__(self, letter: str) -> int:
        self[letter] = int(self.rng.integers(2, 5))
        return self[letter]


def shape_in(kind: str, letters: Letters) -> tuple[int, ...] | None:
    """The shape that a docstring gives, such as `(M, N)`, `(..., M)`."""
    match = re.search(r"\(([^()]*)\)", kind)
    if not match or not re.search(r"[A-Z0-9]|\b[mnkpq]\b|\.\.\.", match[1]):
        return None
    shape = []
    for text in filter(None, (part.strip(" *`") for part in match[1].split(","))):
        if text in ("...", "…"):
            continue
        if text.isdigit():
            shape.append(int(text))
        elif re.fullmatch(r"[A-Za-z]\w?", text):
            shape.append(letters[text])
        elif found := re.fullmatch(r"([A-Za-z])\s*([+-])\s*(\d)", text):
            shape.append(letters[found[1]] + int(found[2] + found[3]))
        else:
            return None
    return tuple(shape)


class NamedFunction:
    """A public function, called in ways that its docstring admits."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.function = resolve(path)
        # How many cases it has where others have one: formulas of special functions are many.
        self.share = 12 if path.startswith("scipy.special.") else 4
        self.seeds = [
            point
            for cases in (cases_special.CASES, cases_parameters.CASES)
            for name, case in cases.items()
            if path == f"scipy.special.{name.split()[0]}"
            for point in case.points
        ]

    @cached_property
    def takes_complex(self) -> bool:
        """Whether complex numbers are meant: SciPy compares them without a word elsewhere."""
        is_algebra = self.name.startswith(("numpy.", "scipy.linalg.", "scipy.fft."))
        return is_algebra or "complex" in (inspect.getdoc(self.function) or "")

    @property
    def iterates(self) -> bool:
        return self.name.startswith("scipy.sparse.linalg.")

    @cached_property
    def parameters(self) -> list[Parameter]:
        return parameters_of(self.function)

    def draw(self, rng: Rng) -> Probe | None:
        for _ in range(ATTEMPTS):
            drawn = self.call(rng)
            if not any(a.along is not None for a in drawn.args):
                continue
            probe = drawn.probe()
            if is_a_case(probe) and not (self.iterates and has_failed(probe)):
                return probe
        return None

    def call(self, rng: Rng) -> Drawn:
        if self.seeds and rng.random() < 0.5:
            return self.near_a_seed(rng)
        letters, mood = Letters(rng), draw_mood(rng)
        is_elementwise = isinstance(self.function, np.ufunc)
        shape = [(), (5,), (2, 3), (0,)][int(rng.choice(4, p=[0.45, 0.4, 0.1, 0.05]))]
        args, options = [], {}
        for parameter in self.parameters:
            if parameter.is_required:
                own = mood if rng.random() < 0.6 else draw_mood(rng)
                if is_elementwise:
                    args.append(self.number(rng, own, shape if rng.random() < 0.7 else ()))
                else:
                    args.append(self.argument(rng, parameter, own, letters))
            elif parameter.default and re.fullmatch("[abr]tol", parameter.name) and self.iterates:
                options[parameter.name] = 1e-12  # else differences see what iterations leave
            elif parameter.name not in NOT_MOVED and rng.random() < 0.2:
                choice = self.option(rng, parameter)
                if choice is not None:
                    options[parameter.name] = choice
        return Drawn(self.name, by_path(self.name), tuple(args), options)

    def near_a_seed(self, rng: Rng) -> Drawn:
        """At points of other tests, of which one coordinate may be where formulas meet."""
        count = int(rng.choice([1, 4]))
        points = np.array(
            [self.seeds[k] for k in rng.integers(len(self.seeds), size=count)], float
        )
        for point in points:
            if rng.random() < 0.6:
                point[int(rng.integers(len(point)))] = rng.choice(SPECIAL)
        args = []
        for x in points.T if count > 1 else points[0]:
            is_whole = bool(np.all((x == np.round(x)) & (np.abs(x) < 1e6)))
            if is_whole and rng.random() < 0.4:
                args.append(Argument(x.astype(int) if count > 1 else int(x)))
            else:
                args.append(moving(rng, x))
        return Drawn(self.name, by_path(self.name), tuple(args))

    def number(self, rng: Rng, mood: str, shape: tuple[int, ...]) -> Argument:
        """One for an elementwise function: moving, or whole and constant."""
        chance = rng.random()
        if chance < 0.2:
            whole = rng.integers(0, 5, shape)
            return Argument(int(whole) if not shape else whole)
        argument = moving(rng, numbers(rng, shape, mood))
        return dressed(rng, argument) if chance > 0.75 else argument

    def argument(self, rng: Rng, parameter: Parameter, mood: str, letters: Letters) -> Argument:
        kind = parameter.kind
        if parameter.choices:
            return Argument(parameter.choices[int(rng.integers(len(parameter.choices)))])
        plain = kind.lower()
        if plain.startswith("dtype"):
            return Argument(float)
        if plain.startswith(("int", "non-negative int", "positive int")) and "array" not in plain:
            return Argument(int(rng.integers(0, 5)))
        if "sparse" in plain and rng.random() < 0.6:
            return self.sparse(rng, mood, letters)
        shape = shape_in(kind, letters)
        if shape is None and plain.startswith(("float", "scalar", "number")):
            shape = ()
        if shape is None:
            n = letters["N"]
            shapes: list[tuple[int, ...]] = [(), (n,), (n, n), (n,), (n, n), (n, letters["K"])]
            shapes += [(2, n, n), (0,)]
            shape = shapes[int(rng.integers(len(shapes)))]
        chance = rng.random()
        if chance < 0.15:
            whole = rng.integers(0, 5, shape)
            return Argument(whole if shape else int(whole))
        values = numbers(rng, shape, mood)
        if chance < 0.25 and self.takes_complex:
            values = values + 1j * numbers(rng, shape, mood)
        if chance > 0.9:
            return dressed(rng, Argument(values if values.ndim else float(values)))
        argument = moving(rng, values)
        return dressed(rng, argument) if chance > 0.7 and values.dtype.kind == "f" else argument

    def sparse(self, rng: Rng, mood: str, letters: Letters) -> Argument:
        matrix = numbers(rng, (letters["N"],) * 2, "regular" if mood in ("zeros",) else mood)
        return SparseArgument.made(rng, np.atleast_2d(matrix))

    def option(self, rng: Rng, parameter: Parameter) -> Any:
        if parameter.choices:
            return parameter.choices[int(rng.integers(len(parameter.choices)))]
        plain = parameter.kind.lower()
        if isinstance(parameter.default, int) or plain.startswith("int"):
            return int(rng.integers(0, 4))
        if isinstance(parameter.default, float) or re.match(r"\(?\w*[,.\s]*\)?\s*float", plain):
            return float(rng.choice([0.03, 0.2, 0.5, 2.0]))
        if re.search(r"cond|tol", parameter.name):
            return float(rng.choice([0.03, 0.2]))
        return None


@dataclass(frozen=True)
class SparseArgument(Argument):
    """A sparse matrix whose entries move; some may stand at the same place."""

    format: str = "csr_array"
    rows: Any = None
    columns: Any = None
    shape: tuple[int, ...] = ()

    @staticmethod
    def made(rng: Rng, matrix: Any) -> SparseArgument:
        rows, columns = np.nonzero(matrix)
        form = str(rng.choice(["csr_array", "csc_array", "coo_array", "csc_matrix"]))
        values = matrix[rows, columns]
        if form == "coo_array" and len(rows) and rng.random() < 0.5:
            rows, columns = np.append(rows, rows[0]), np.append(columns, columns[0])
            values = np.append(values, 0.7)
        inner = moving(rng, values)
        return SparseArgument(inner.values, inner.along, "", form, rows, columns, matrix.shape)

    def at(self, world: World, s: Any, t: Any) -> Any:
        data = super().at(world, s, t)
        make = world.find(f"scipy.sparse.{self.format}")
        if not isinstance(data, np.ndarray):  # numbers with derivatives go to the package's own
            make = resolve(f"cadiff.scipy.sparse.{self.format}")
        return make((data, (self.rows, self.columns)), shape=self.shape)

    def __str__(self) -> str:
        places = f"{self.rows.tolist()}, {self.columns.tolist()}"
        return f"{self.format}({super().__str__()} at {places})"


# --- cases of other tests ------------------------------------------------------------------------

Library = Callable[[World], Any]


class KnownCase:
    """A case of the harness, at arguments of other moods and in other dresses."""

    def __init__(self, case: Case, library: str, where: Library) -> None:
        self.name = f"{library}: {case.name}"
        self.case, self.where = case, where

    def draw(self, rng: Rng) -> Probe | None:
        def invoke(world: World, *args: Any) -> Any:
            return self.case.call(self.where(world), *args)

        for _ in range(12):
            args = []
            for k, x in enumerate(self.case.args(rng)):
                is_moved = k in self.case.argnums and np.asarray(x).dtype.kind in "fc"
                args.append(self.argument(rng, x) if is_moved else Argument(x))
            probe = Drawn(self.name, invoke, tuple(args)).probe()
            if is_a_case(probe):
                return probe
        return None

    def argument(self, rng: Rng, x: Any) -> Argument:
        chance = rng.random()
        if chance < 0.4:
            mood = draw_mood(rng)
            x = numbers(rng, np.shape(x), mood)
        elif chance < 0.5:
            x = np.round(x)
        elif chance < 0.55:
            x = x + 1j * numbers(rng, np.shape(x), "normal")
        argument = moving(rng, x)
        is_dressed = rng.random() < 0.35 and argument.along is not None
        return dressed(rng, argument) if is_dressed and not np.iscomplexobj(x) else argument


class KnownCall:
    """A line of the table of calls of SciPy's, at other points."""

    def __init__(self, call: cases_scipy.Call) -> None:
        self.name = f"scipy.{call}"
        self.of = call

    def draw(self, rng: Rng) -> Probe | None:
        module = self.of.name.rpartition(".")[0]

        def invoke(world: World, x: Any) -> Any:
            world.find(f"scipy.{module}")
            return self.of.function(world.scipy, world.numpy)(x)

        for _ in range(6):
            x = cases_scipy.POINT.copy()
            chance = rng.random()
            if chance < 0.2:
                x = rng.permutation(x)
            elif chance < 0.4:
                x = x * rng.uniform(0.8, 1.2, x.shape)
            elif chance < 0.5:
                x = np.round(x * 2) / 2
            argument = moving(rng, x)
            argument = Argument(argument.values, tuple(0.3 * u for u in argument.along or ()))
            if rng.random() < 0.15:
                argument = Argument(argument.values, argument.along, "float32")
            probe = Drawn(self.name, invoke, (argument,)).probe()
            if is_a_case(probe):
                return probe
        return None


# --- distributions -------------------------------------------------------------------------------

AT_A_NUMBER = ("x", "q", "k")  # what methods of distributions call their first argument


def methods_of(distribution: Any) -> list[tuple[str, bool]]:
    """Methods with the parameters of a distribution, and whether a number comes before these."""
    found = []
    for name, method in inspect.getmembers(type(distribution), inspect.isfunction):
        names = list(inspect.signature(method).parameters)[1:]
        if not name.startswith("_") and "args" in names and name not in ("rvs", "fit", "freeze"):
            found.append((name, names[0] in AT_A_NUMBER))
    return found


class Distribution:
    """A method of a distribution of SciPy's, at parameters that SciPy's own tests use."""

    def __init__(self, name: str, method: str, at_a_number: bool, shapes: list[Any]) -> None:
        self.name = f"scipy.stats.{name}.{method}"
        self.distribution = getattr(scipy.stats, name)
        self.at_a_number, self.shapes = at_a_number, shapes
        self.is_discrete = hasattr(self.distribution, "pmf")
        self.of_chances = method in ("ppf", "isf")

    def draw(self, rng: Rng) -> Probe | None:
        for _ in range(ATTEMPTS // 4):
            args = [
                self.parameter(rng, x) for x in self.shapes[int(rng.integers(len(self.shapes)))]
            ]
            if self.at_a_number:
                args.insert(0, self.number(rng, [a.values for a in args]))
            if not self.is_discrete and rng.random() < 0.4:
                args += [Argument(0), moving(rng, rng.uniform(0.5, 2.0))]  # loc, scale
            probe = Drawn(self.name, by_path(self.name), tuple(args)).probe()
            if any(a.along for a in args) and is_a_case(probe):
                return probe
        return None

    def parameter(self, rng: Rng, x: Any) -> Argument:
        if np.ndim(x):
            return moving(rng, np.asarray(x, dtype=float))
        chance = rng.random()
        if chance < 0.3 or (float(x).is_integer() and self.is_discrete):
            whole = max(1, round(x)) if x > 0 else round(x)
            return Argument([whole, np.array([whole, whole + 1, whole + 4])][int(rng.integers(2))])
        if chance < 0.4:
            x = float(rng.choice([0.5, 1.0, 1.5, 2.0]))
        return moving(rng, float(x))

    def number(self, rng: Rng, shapes: list[Any]) -> Argument:
        if self.of_chances:
            return moving(rng, rng.uniform(0.05, 0.95) if rng.random() < 0.8 else 0.5)
        chance = rng.random()
        if chance < 0.3:
            return moving(rng, float(rng.choice([0.0, 0.5, 1.0, 2.0])))
        with np.errstate(all="ignore"):
            place = float(np.ravel(self.distribution.ppf(rng.uniform(0.05, 0.95), *shapes))[0])
        if self.is_discrete:
            return Argument(int(place) if np.isfinite(place) else 2)
        return moving(rng, place)


# --- all of them ---------------------------------------------------------------------------------


# Of these SciPy's own breaks memory: it exchanges rows that no matrix has, by any pivots.
UNSAFE = {"scipy.linalg.lu_solve"}


def has_derivatives(path: str, function: Any) -> bool:
    """NumPy's functions are registered; of other modules each may have derivatives."""
    if not callable(function) or isinstance(function, type) or path in UNSAFE:
        return False
    if path.startswith("numpy."):
        return function in FUNCTIONS and function not in PLAIN and path not in UNWRITTEN
    return not hasattr(function, "rvs")


def functions() -> Iterator[NamedFunction]:
    others = ("build", "compile", "primitive", "custom", "vmap", "value")
    transforms = {*dir(cadiff.transforms), *others}
    seen = set()
    for module in MODULES:
        found = resolve(module)
        public = getattr(found, "__all__", None) or [n for n in dir(found) if n[0] != "_"]
        for name in sorted(public):
            function, path = getattr(found, name, None), f"{module}.{name}"
            try:
                is_new = function not in seen
            except TypeError:
                continue
            if not is_new or not has_derivatives(path, function):
                continue
            if module.startswith("cadiff") and (name in transforms or name.startswith("make_")):
                continue
            if module.startswith("scipy") and inspect.ismodule(function):
                continue
            seen.add(function)
            yield NamedFunction(path)


def known_cases() -> Iterator[KnownCase]:
    libraries: list[tuple[str, list[Case], Library]] = [
        ("numpy", cases_numpy.CASES, lambda w: w.numpy),
        ("numpy.linalg", cases_linalg.NUMPY, lambda w: Package(w.find("numpy.linalg"))),
        ("scipy.linalg", cases_linalg.SCIPY, lambda w: Package(w.find("scipy.linalg"))),
        ("scipy.fft", cases_fft.SCIPY, lambda w: (w.find("scipy.fft"), w.scipy)[1]),
        (
            "scipy.sparse",
            cases_sparse.CASES,
            lambda w: (w.find("scipy.sparse.linalg"), w.scipy)[1],
        ),
    ]
    for library, cases, where in libraries:
        for case in cases:
            yield KnownCase(case, library, where)


@dataclass(frozen=True)
class Package:
    """A library that has one module."""

    linalg: Any


def distributions() -> Iterator[Distribution]:
    shapes: dict[str, list[Any]] = {}
    for name, of in [*_distr_params.distcont, *_distr_params.distdiscrete]:
        if isinstance(name, str):
            shapes.setdefault(name, []).append(of)
    for name in sorted(shapes):
        distribution = getattr(scipy.stats, name, None)
        if distribution is not None:
            for method, at_a_number in methods_of(distribution):
                yield Distribution(name, method, at_a_number, shapes[name])


def subjects() -> list[Any]:
    return [
        *functions(),
        *known_cases(),
        *(KnownCall(call) for call in (*cases_scipy.CALLS, *cases_scipy.SOLVED)),
        *distributions(),
    ]
