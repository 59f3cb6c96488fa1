"""``python -m benchmarks.functions``: what each function of NumPy and SciPy costs, differentiated.

The functions and their arguments are those of the tests: the cases of `tests/helpers/cases_*.py`
and the rows of the table of operations that follow a ufunc. Of each it is asked whether a replay
of its compiled value and gradient runs Python, in any of its cases; and, in the first case that
can be had with about 100 elements, what value and gradient cost beside the plain function:
compiled, and eagerly. `--large` asks the same at 10^6 elements. What is above the limits of the
project comes last, the worst first. Times are the least of single calls, since others may be at
work on the machine.

What is differentiated is the sum of all results times weights; the plain function is called alone.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy
import scipy.fft
import scipy.linalg
import scipy.special
import scipy.stats

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy
import cadiff.scipy.fft
import cadiff.scipy.linalg
import cadiff.scipy.special
import cadiff.scipy.stats
from benchmarks.machine import machine
from benchmarks.timing import interleave
from tests.helpers import (
    cases_complex,
    cases_fft,
    cases_linalg,
    cases_numpy,
    cases_special,
    cases_stats,
    table,
)
from tests.helpers.derivatives import Case, Drawn, as_tuple

__all__ = ["Entry", "entries", "frames", "main"]

Args: TypeAlias = tuple[Any, ...]

ELEMENTS, MANY = 100, 10**6
COMPILED_MOST = 3.0  # times the plain function
EAGER_MOST = 10.0
SLOWER = 1.05  # a compiled call beside the eager one, less what clocks are off by
SECONDS = 0.002  # of a turn
ROUNDS = 3
AGAIN = 8  # rounds for what is above a limit
ROOTS = [f"{Path(str(package.__file__)).parents[1]}/" for package in (np, cadiff)]
LONGEST = 0.02  # seconds of the plain function on a hundredth of MANY elements


class Entry(NamedTuple):
    """A case of a function.

    Attributes
    ----------
    function : str
        With its module.
    case : str
        Of the tests.
    plain, ours : callable
        Of the arguments, without and with derivatives.
    args : callable
        `args(n)`: ways to have about n elements, the best first; `args(0)`: as in the tests.
    argnums : tuple of int
        By which it is differentiated.
    """

    function: str
    case: str
    plain: Callable[..., Any]
    ours: Callable[..., Any]
    args: Callable[[int], Iterator[Args]]
    argnums: tuple[int, ...]


# --- the functions of the tests ------------------------------------------------------------------


def entries() -> Iterator[Entry]:
    """All cases of all functions."""
    own = cadiff.scipy
    yield from of_cases("numpy", cases_numpy.CASES, np, cnp)
    yield from of_rows()
    yield from of_cases("numpy.linalg", cases_linalg.NUMPY, np, cnp)
    yield from of_cases("scipy.linalg", cases_linalg.SCIPY, scipy, own)
    yield from of_cases("scipy.fft", cases_fft.SCIPY, scipy, own)
    yield from of_special()
    yield from of_distributions()
    yield from of_complex()


def first_word(name: str) -> str:
    """The function that a case is of."""
    found = re.match(r"[\w.]+", name)
    return found[0] if found else name


def of_cases(module: str, cases: Sequence[Case], plain: Any, ours: Any) -> Iterator[Entry]:
    """Those of the common harness; transforms of NumPy are among its other functions."""
    transforms = {case.name for case in cases_fft.NUMPY}
    for case in cases:
        where = "numpy.fft" if module == "numpy" and case.name in transforms else module
        yield Entry(
            f"{where}.{first_word(case.name)}",
            case.name,
            partial(case.call, plain),
            partial(case.call, ours),
            partial(drawn, case),
            case.argnums,
        )


def drawn(case: Case, n: int) -> Iterator[Args]:
    """Arguments of a case, of more elements where its draw has shapes."""
    if n and isinstance(case.args, Drawn):
        for shapes in larger(case.args.shapes, case.argnums, n):
            yield case.args.make(np.random.default_rng(0), shapes)
    elif not n:
        yield case.draw()


def larger(
    shapes: tuple[tuple[int, ...], ...], argnums: tuple[int, ...], n: int
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Shapes of which the largest has about n elements: all axes of one length become longer.

    So what fits together still does. Lengths of the last axes are tried first.
    """
    most = max((shapes[k] for k in argnums), key=lambda shape: int(np.prod(shape)))
    for length in dict.fromkeys(d for d in reversed(most) if d > 1):
        axes = most.count(length)
        if n > ELEMENTS and axes > 1:
            continue  # work on square matrices is more than their elements
        others = int(np.prod([d for d in most if d != length]))
        longer = max(length, round((n / others) ** (1.0 / axes)))
        yield tuple(tuple(longer if d == length else d for d in shape) for shape in shapes)


def repeated(args: Args, which: Sequence[int], n: int) -> Iterator[Args]:
    """Arguments of an elementwise function, some of which are as many numbers as are asked for."""
    sized = [np.resize(x, n or np.size(x)) if k in which else x for k, x in enumerate(args)]
    yield tuple(sized)


def of_rows() -> Iterator[Entry]:
    """The rows of the table that follow a ufunc, by all operands that are real numbers."""
    rng = np.random.default_rng(0)
    for row in table.ROWS:
        if row.ufunc == "-":
            continue
        module, _, name = row.ufunc.rpartition(".")
        function = getattr(importlib.import_module(module), name)
        args = tuple(
            rng.integers(1, 4, ELEMENTS)
            if domain.is_whole
            else rng.uniform(*inside(*table.window(domain, 3.0)), ELEMENTS)
            for domain in row.domains
        )
        nums = tuple(k for k, domain in enumerate(row.domains) if not domain.is_whole)
        ours = getattr(cadiff, row.name)
        call = partial(repeated, args, range(len(args)))
        yield Entry(row.ufunc, row.name, function, ours, call, nums)


def inside(low: float, high: float) -> tuple[float, float]:
    """Most of an interval."""
    return low + 0.1 * (high - low), high - 0.1 * (high - low)


def of_special() -> Iterator[Entry]:
    """Special functions at the points of the tests, and the inverses of some."""
    of = {name: (case.points, case.wrt) for name, case in cases_special.CASES.items()}
    for name, direct in cases_special.INVERSES.items():
        points = cases_special.CASES[direct].points
        function = getattr(scipy.special, direct)
        at = [(*point[:-1], float(function(*point))) for point in points]
        of[name] = tuple(at), (len(points[0]) - 1,)
    for name, (points, wrt) in of.items():
        columns = tuple(np.array(column) for column in zip(*points, strict=True))
        yield Entry(
            f"scipy.special.{name}",
            name,
            getattr(scipy.special, name),
            getattr(cadiff.scipy.special, name),
            partial(repeated, columns, range(len(columns))),
            wrt,
        )


def of_distributions() -> Iterator[Entry]:
    """Distributions: continuous ones by x, location and scale, others by their last parameter."""
    for name, parameters in cases_stats.CONTINUOUS.items():
        for method in ("pdf", "logpdf", "cdf", "logcdf", "sf"):
            plain, ours = (
                partial(of_continuous, module, name, method, parameters[-1])
                for module in (scipy.stats, cadiff.scipy.stats)
            )
            args = (np.array(cases_stats.PLACES), 0.1, 1.5)
            call = partial(repeated, args, (0,))
            case = f"{name}.{method}"
            yield Entry(f"scipy.stats.{case}", case, plain, ours, call, (0, 1, 2))
    for name, parameters in cases_stats.DISCRETE.items():
        for method in ("pmf", "logpmf", "cdf"):
            plain, ours = (
                getattr(getattr(module, name), method)
                for module in (scipy.stats, cadiff.scipy.stats)
            )
            given: Args = (np.array(cases_stats.COUNTS, dtype=float), *parameters[0])
            call = partial(repeated, given, (0,))
            case = f"{name}.{method}"
            yield Entry(f"scipy.stats.{case}", case, plain, ours, call, (len(given) - 1,))


def of_continuous(
    module: Any, name: str, method: str, shapes: Args, x: Any, loc: Any, scale: Any
) -> Any:
    return getattr(getattr(module, name), method)(x, *shapes, loc=loc, scale=scale)


def of_complex() -> Iterator[Entry]:
    """Calls that get complex numbers, or give them."""
    for case in cases_complex.CASES:
        yield Entry(
            f"complex numpy.{first_word(case.name)}",
            case.name,
            partial(case.call, np),
            partial(case.call, cnp),
            partial(complex_args, case),
            tuple(range(len(case.shapes))),
        )


def complex_args(case: cases_complex.ComplexCase, n: int) -> Iterator[Args]:
    """Arguments of a complex case; of more elements where all of them are complex."""
    rng = np.random.default_rng(0)
    shapes = case.shapes
    if not n:
        yield tuple(cases_complex.drawn(rng, shape) for shape in shapes)
    elif not any(shape and shape[0] == "real" for shape in shapes):
        for of in larger(shapes, tuple(range(len(shapes))), n):
            yield tuple(cases_complex.drawn(rng, shape) for shape in of)


# --- what is measured ----------------------------------------------------------------------------


@dataclass
class Calls:
    """The plain function, and value and gradient, eagerly and by a program that has recorded."""

    elements: int
    plain: Callable[[], Any]
    eager: Callable[[], Any]
    compiled: Callable[[], Any]
    idle_eager: Callable[[], Any]  # of the same arguments, where nothing but their sum is computed
    idle_compiled: Callable[[], Any]
    program: Any


def calls_of(entry: Entry, args: Args) -> Calls:
    """All three, called once; what they cannot do, they raise."""
    results = [np.asarray(part) for part in as_tuple(entry.plain(*args))]
    rng = np.random.default_rng(1)
    weights = [
        (rng.standard_normal(part.shape), rng.standard_normal(part.shape)) for part in results
    ]
    nums = tuple(range(len(entry.argnums)))
    point = [as_point(args[k]) for k in entry.argnums]

    total = weighted_total(entry, args, results, weights)
    eager = partial(cadiff.value_and_grad(total, nums), *point)
    program = cadiff.compile(total)
    compiled = partial(program.value_and_grad, *point, argnums=nums)
    idle_eager = partial(cadiff.value_and_grad(sum_of_all, nums), *point)
    idle_compiled = partial(cadiff.compile(sum_of_all).value_and_grad, *point, argnums=nums)
    for call in (eager, compiled, idle_eager, idle_compiled):
        call()
    elements = max((np.size(x) for x in point), default=0)
    plain = partial(entry.plain, *args)
    return Calls(elements, plain, eager, compiled, idle_eager, idle_compiled, program)


def sum_of_all(*numbers: Any) -> Any:
    """The sum of all elements: a gradient that has to be given, and nothing to compute."""
    return sum(cnp.sum(x.real) + cnp.sum(x.imag) if is_complex(x) else cnp.sum(x) for x in numbers)


def is_complex(x: Any) -> bool:
    return bool(np.issubdtype(getattr(x, "dtype", type(x)), np.complexfloating))


def weighted_total(
    entry: Entry, args: Args, results: list[Any], weights: list[tuple[Any, Any]]
) -> Callable[..., Any]:
    """The sum of all results times weights, as a function of some arguments.

    What a program watches of it is no more than what users write: the function, weights, and
    arguments that stay.
    """
    ours, argnums = with_few_names(entry.ours, args), tuple(entry.argnums)

    if (
        len(results) == 1
        and not np.iscomplexobj(results[0])
        and argnums == tuple(range(len(args)))
    ):
        weight = weights[0][0]
        return lambda *numbers: cnp.vdot(weight, as_tuple(ours(*numbers))[0])

    def total(*numbers: Any) -> Any:
        full = list(args)
        for k, number in zip(argnums, numbers, strict=True):
            full[k] = number
        parts = as_tuple(ours(*full))
        return sum(weighted(*pair) for pair in zip(parts, results, weights, strict=True))

    return total


class Noting:
    """A module that notes which of its names are asked for, in `found`."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.found = module, SimpleNamespace()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.module, name)
        part = Noting(value) if isinstance(value, ModuleType) else None
        setattr(self.found, name, value if part is None else part.found)
        if part is not None:
            setattr(self, name, part)  # asked for again, it goes on noting
        return value if part is None else part


def with_few_names(ours: Callable[..., Any], args: Args) -> Callable[..., Any]:
    """A function that gets a module, with no more of it than it asks for.

    A program would watch every name in it, where it cannot tell which one is looked up.
    """
    if not isinstance(ours, partial) or not isinstance(ours.args[0], ModuleType):
        return ours
    noting = Noting(ours.args[0])
    try:
        ours.func(noting, *ours.args[1:], *args, **ours.keywords)
    except AttributeError:  # it asks for what a module has, and no name
        return ours
    return partial(ours.func, noting.found, *ours.args[1:], **ours.keywords)


def as_point(x: Any) -> Any:
    """Arrays as they are, single numbers as Python has them."""
    x = np.asarray(x)
    x = x if np.iscomplexobj(x) else x.astype(float)
    return x if x.ndim else x.item()


def weighted(part: Any, like: Any, weights: tuple[Any, Any]) -> Any:
    """The sum of a result times weights: a real number."""
    if not np.iscomplexobj(like):
        return cnp.vdot(weights[0], part)
    return cnp.vdot(weights[0], part.real) + cnp.vdot(weights[1], part.imag)


def frames(call: Callable[[], Any]) -> Counter[str]:
    """The frames of Python that a call runs through, by file and function."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            place = code.co_filename
            for root in ROOTS:  # the first may lie within the second
                place = place.removeprefix(root)
            found[f"{place}:{code.co_name}"] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


class Python(NamedTuple):
    """Of a function: in how many of its cases a replay runs Python, and what it runs most."""

    cases: int
    running: list[str]
    frames: Counter[str]
    eager: bool
    failed: list[str]


def python_of(cases: Sequence[Entry]) -> Python:
    """Replay each case, and look what runs."""
    running, failed, seen, eager = [], [], Counter[str](), False
    for entry in cases:
        try:
            calls = calls_of(entry, next(entry.args(0)))
            calls.compiled()
        except Exception as error:  # of a case: some are there to be refused
            failed.append(f"{entry.case}: {type(error).__name__}: {error}")
            continue
        found = frames(calls.compiled)
        found = frames(calls.compiled) if found else found
        if found:
            running.append(entry.case)
            seen += found
        eager = eager or calls.program.stats()["eager"] > 0
    return Python(len(cases), running, seen, eager, failed)


@dataclass
class Times:
    """Seconds of a call of each."""

    case: str
    elements: int
    plain: float
    eager: float
    compiled: float
    idle_eager: float
    idle_compiled: float

    @property
    def excess(self) -> float:
        """The worst of all ratios, as a multiple of its limit."""
        return max(
            self.compiled / self.plain / COMPILED_MOST,
            self.eager / self.plain / EAGER_MOST,
            self.compiled / self.eager / SLOWER,
        )


def times_of(cases: Sequence[Entry], n: int) -> Times | None:
    """Time the first case that can be had with n elements; where n is small, else the first."""
    for entry in cases:
        for args in entry.args(n):
            try:
                if n > ELEMENTS and not is_linear(entry, n // 100):
                    continue
                calls = calls_of(entry, args)
            except Exception:  # shapes that do not go with what else the case has
                continue
            if n > ELEMENTS or calls.elements >= n // 2:
                return timed(entry.case, calls)
    if n > ELEMENTS:
        return None
    for entry in cases:
        try:
            return timed(entry.case, calls_of(entry, next(entry.args(0))))
        except Exception:  # as above
            continue
    return None


def is_linear(entry: Entry, n: int) -> bool:
    """Whether many elements are no more work, and no more results, than one expects."""
    args = next(entry.args(n), None)
    if args is None:
        return False
    results = as_tuple(entry.plain(*args))
    if sum(np.size(part) for part in results) > 10 * n:
        return False
    plain = partial(entry.plain, *args)
    return interleave({"plain": plain}, rounds=1, seconds=0.0).seconds("plain").low < LONGEST


def timed(case: str, calls: Calls) -> Times:
    """Time the three in turns; once more, and longer, what seems to be above a limit."""
    names = ("plain", "eager", "compiled", "idle_eager", "idle_compiled")
    ways = {name: getattr(calls, name) for name in names}
    found = {name: float("inf") for name in ways}
    for rounds in (ROUNDS, AGAIN) if calls.elements < MANY // 10 else (ROUNDS,):
        timings = interleave(ways, rounds=rounds, seconds=SECONDS, shared=True)
        found = {name: min(found[name], timings.seconds(name).low) for name in ways}
        times = Times(case, calls.elements, **found)
        if times.excess <= 1.0:
            break
    return times


# --- the command ---------------------------------------------------------------------------------

HEADINGS = (
    *("function", "case timed", "elements", "frames", "plain us", "compiled", "eager"),
    *("comp/eager", "large", "compiled", "eager"),
)
WIDTHS = (36, 34, 8, 8, 10, 9, 9, 10, 9, 9, 9)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments of the command; those of the process if not given.

    Returns
    -------
    int
        0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.functions",
        description="What each function of NumPy and SciPy costs, differentiated.",
    )
    parser.add_argument("--only", metavar="PATTERN", default="", help="of functions")
    parser.add_argument("--large", action="store_true", help="with 10^6 elements, too")
    parser.add_argument("--frames", action="store_true", help="count frames, and time nothing")
    options = parser.parse_args(argv)
    by_function: dict[str, list[Entry]] = {}
    for entry in entries():
        if re.search(options.only, entry.function):
            by_function.setdefault(entry.function, []).append(entry)

    print(f"{machine()}.\n")
    show(HEADINGS)
    gc.freeze()  # else most of the time goes to collections between turns
    python, small, large = {}, {}, {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for function, cases in by_function.items():
            python[function] = python_of(cases)
            if not options.frames:
                small[function] = times_of(cases, ELEMENTS)
            if options.large:
                large[function] = times_of(cases, MANY)
            show(cells(function, python[function], small.get(function), large.get(function)))
    summary(python, {f: t for f, t in small.items() if t}, {f: t for f, t in large.items() if t})
    return 0


def cells(function: str, python: Python, small: Times | None, large: Times | None) -> list[str]:
    """What stands in a row."""
    row = [function, "-" if small is None else small.case]
    row.append("-" if small is None else str(small.elements))
    row.append(("eager " if python.eager else "") + str(sum(python.frames.values())))
    if small is None:
        row += ["-"] * 4
    else:
        row += [f"{1e6 * small.plain:.2f}", f"{small.compiled / small.plain:.2f}"]
        row += [f"{small.eager / small.plain:.2f}", f"{small.compiled / small.eager:.2f}"]
    if large is not None:
        row += [str(large.elements), f"{large.compiled / large.plain:.2f}"]
        row += [f"{large.eager / large.plain:.2f}"]
    return row


def show(row: Sequence[str]) -> None:
    """Print a row in columns."""
    left = [cell[:width].ljust(width) for cell, width in zip(row[:2], WIDTHS, strict=False)]
    right = [cell.rjust(width) for cell, width in zip(row[2:], WIDTHS[2:], strict=False)]
    print("  ".join([*left, *right]).rstrip(), flush=True)


def summary(python: dict[str, Python], small: dict[str, Times], large: dict[str, Times]) -> None:
    """Print what is above a limit, the worst first."""
    running = {function: found for function, found in python.items() if found.running}
    print(f"\nA replay runs Python: {len(running)} of {len(python)} functions.")
    for function, found in running.items():
        most = ", ".join(f"{place} {count}" for place, count in found.frames.most_common(2))
        eager = ", run eagerly" if found.eager else ""
        print(f"* {function}: {len(found.running)} of {found.cases} cases{eager}: {most}")
    failed = [f"{function}, {line}" for function, found in python.items() for line in found.failed]
    print(f"\nCases of which there is no value and gradient: {len(failed)}.")
    print("".join(f"* {line[:140]}\n" for line in failed))
    beside_plain(small)
    above("Compiled, beside the eager call", small, lambda t: t.compiled / t.eager, SLOWER)
    if large:
        print(f"At {MANY:,} elements:\n")
        beside_plain(large)
        above("Compiled, beside the eager call", large, lambda t: t.compiled / t.eager, SLOWER)


def beside_plain(times: dict[str, Times]) -> None:
    """Print what is above the limits because of what is computed, and how often the call is."""
    limits = (("Compiled", "compiled", COMPILED_MOST), ("Eager", "eager", EAGER_MOST))
    for title, name, most in limits:
        cost, idle = attrgetter(name), attrgetter(f"idle_{name}")
        by_the_call = {
            function: t
            for function, t in times.items()
            if cost(t) > most * t.plain and cost(t) - idle(t) <= most * t.plain
        }
        print(
            f"{title}, {most:g} times the plain function in all, but not beyond a call that gives "
            f"the gradient of a sum: {len(by_the_call)}.\n"
        )
        computed = {function: t for function, t in times.items() if function not in by_the_call}
        above(f"{title}, beside the plain function", computed, partial(ratio_of, name), most)


# Why some cost more than the limits, by the beginnings of their names.
REASONS = {
    "complex ": "parts are arrays of their own: taken apart and put together around each call",
    **dict.fromkeys(
        [f"scipy.special.{name}" for name in ("i0e", "i1e", "k0e", "k1e", "kve", "ive")],
        "differences of scaled functions cancel: moments do not, and cost as much as integrals",
    ),
    **dict.fromkeys(
        [f"scipy.special.{name}" for name in ("ellip", "spence", "exprel", "dawsn", "erfcx")],
        "two formulas, each where it keeps its digits; both are computed",
    ),
    **dict.fromkeys(
        [f"scipy.special.{name}" for name in ("gamma", "rgamma", "poch", "beta", "binom")],
        "by digamma, which SciPy takes many times as long for",
    ),
    **dict.fromkeys(
        [f"scipy.special.{name}" for name in ("jv", "yv", "iv", "kv", "kn", "j0", "j1", "i1")],
        "by functions of neighbouring orders, which cost as much each",
    ),
    **dict.fromkeys(
        [f"scipy.special.{name}" for name in ("huber", "pseudo_huber", "kl_div", "rel_entr")]
        + [f"scipy.special.{name}" for name in ("boxcox", "inv_boxcox", "powm1", "sindg", "cosdg")]
        + [f"numpy.{name} " for name in ("fmin", "fmax", "power", "modf")]
        + [f"scipy.stats.{name}.logcdf" for name in ("t", "beta", "gamma", "chi2")],
        "a formula with branches, ties or edges: all of them are computed",
    ),
    **dict.fromkeys(
        [f"numpy.{name}" for name in ("asarray", "x.conj", "x.mT", "real", "diag", "unstack")]
        + [
            f"numpy.{name}" for name in ("swapaxes", "matrix_transpose", "linalg.matrix_transpose")
        ],
        "NumPy gives a view, which costs nothing; the gradient is an array",
    ),
    "numpy.einsum": "NumPy's loops add in an order of their own, which a call of it alone has",
    **dict.fromkeys(
        [f"scipy.linalg.{name}" for name in ("norm", "expm", "sqrtm")],
        "values are SciPy's to the last bit; the loops of programs round otherwise",
    ),
    **dict.fromkeys(
        [f"scipy.linalg.{name}" for name in ("lu", "lstsq")]
        + [f"numpy.{name}" for name in ("linalg.lstsq", "polyfit")],
        "pivots and ranks are whole numbers, which no entry of a tape returns",
    ),
    **dict.fromkeys(
        [f"scipy.special.{name}" for name in ("nbdtr", "fdtr", "loggamma", "yn")],
        "by another function of SciPy's, which costs as much",
    ),
    "scipy.special.bdtr": "by a density, after SciPy's own table of integers",
    "scipy.linalg.sqrtm": "by SciPy's Python",
    "scipy.linalg.logm": "by SciPy's Python",
}


def reason_for(function: str) -> str:
    found = [reason for name, reason in REASONS.items() if f"{function} ".startswith(name)]
    return f": {found[0]}" if found else ""


def ratio_of(name: str, times: Times) -> float:
    return float(getattr(times, name)) / times.plain


def above(
    title: str, times: dict[str, Times], ratio: Callable[[Times], float], most: float
) -> None:
    """Print which functions are above a limit, and by how much."""
    over = {function: ratio(t) for function, t in times.items() if ratio(t) > most}
    print(f"{title}: {len(over)} of {len(times)} functions above {most:g}.")
    for function in sorted(over, key=lambda function: -over[function]):
        print(
            f"* {over[function]:7.2f}  {function} ({times[function].case}){reason_for(function)}"
        )
    print()


if __name__ == "__main__":
    sys.exit(main())
