"""``python -m benchmarks.table``: what gradients cost, in multiples of the plain computation.

Each row compares the time of two ways of doing a work, taken in turns in one process, or counts
bytes or nanoseconds, and says whether the target of the project holds. Results are checked before
they are timed, against answers that do not come from cadiff: a wrong one ends the run with exit
code 1. A missed target does not, because not every machine is idle.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

import cadiff
from benchmarks import (
    array_contests,
    call_contests,
    complex_contests,
    contests,
    factor_contests,
    linear_contests,
    mapping_contests,
    memory,
    optimize_contests,
    problems,
    program_contests,
)
from benchmarks.array_contests import (
    FORWARD,
    HAND,
    HESSIAN,
    JACOBIAN,
    NUMPY,
    OBJECTS,
    PRODUCT,
    RECORDED,
)
from benchmarks.call_contests import COMPILED, FEW, MANY, WATCHED
from benchmarks.complex_contests import (
    BY_EIGENVALUES,
    COMPLEX,
    COMPLEX_PROGRAM,
    REAL,
    REAL_PROGRAM,
)
from benchmarks.contests import (
    ARRAY,
    DUAL,
    FLOATS,
    GRADIENT,
    GRAPH,
    KEPT,
    LIST,
    NESTED,
    SCAN,
    SERIES,
    Contest,
    RecordedProblem,
)
from benchmarks.factor_contests import HAS_TORCH, TORCH
from benchmarks.linear_contests import FUNCTION, PULL, PULLBACK, PUSHES, broyden_jacobian
from benchmarks.machine import machine
from benchmarks.mapping_contests import GRADIENT_LOOP, LOOP, VMAP, VMAP_GRADIENT
from benchmarks.optimize_contests import BY_HAND, DIFFERENCES, FILLED_IN
from benchmarks.program_contests import (
    BATCH,
    EAGER,
    FIRST,
    IN_C,
    MISSES,
    SINGLE,
    SPARSE_HESSIAN,
    SPARSE_JACOBIAN,
    THREADS,
    UNVERIFIED,
    VERIFIED,
)
from benchmarks.timing import Spread, Timings, interleave
from cadiff import binding

CHAIN_STEPS = 100_000
SCAN_STEPS = 1_000_000
SWEPT_OPERATIONS = 1_000_000
LOOP_ITERATIONS = 1_000_000
BATCH_POINTS = 10_000
WATCHED_NAMES = 20
CLOCK = ""  # against nothing
TAPE_SIZES = (10**6, 10**7, 10**8)
HEADINGS = ("work", "measured against", "median (min-max)", "target", "holds")
WIDTHS = (60, 26, 30, 8, 5)


class Target(NamedTuple):
    """The bound that a median has to keep."""

    relation: Literal["<=", ">="]
    bound: float

    def holds(self, measured: float) -> bool:
        """Tell whether the bound is kept."""
        return measured <= self.bound if self.relation == "<=" else measured >= self.bound


class Row(NamedTuple):
    """A line of the table."""

    work: str
    against: str
    measured: Spread
    unit: str = "x"
    target: Target | None = None

    @property
    def missed(self) -> bool:
        """Whether there is a target, and it does not hold."""
        return self.target is not None and not self.target.holds(self.measured.median)


class Effort(NamedTuple):
    """How long to measure."""

    rounds: int
    seconds: float
    iterations: int
    shared: bool = False  # others are at work on the machine

    def measure(self, calls: Mapping[str, Callable[[], object]]) -> Timings:
        """Time calls in turns; on a shared machine the least time of each counts."""
        timings = interleave(calls, rounds=self.rounds, seconds=self.seconds, shared=self.shared)
        return timings.least() if self.shared else timings


class Compared(NamedTuple):
    """One runner of a contest as a multiple of another, or how many times faster it is.

    Against nothing, what is measured is microseconds.
    """

    runner: str
    against: str
    target: Target | None = None
    faster: bool = False


Measure: TypeAlias = Callable[[Effort], Iterator[Row]]
Line: TypeAlias = Callable[[Sequence[str]], str]

THOROUGH = Effort(rounds=25, seconds=0.02, iterations=LOOP_ITERATIONS)
SHARED = Effort(rounds=8, seconds=0.01, iterations=LOOP_ITERATIONS, shared=True)
SLOW = "^factor-.*-1000$|^scan-time$"  # seconds each; smaller ones take the same ways
QUICK = Effort(rounds=1, seconds=0.0, iterations=LOOP_ITERATIONS // 10)


def main(argv: Sequence[str] | None = None) -> int:
    """Check, measure and print.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments of the command; those of the process if not given.

    Returns
    -------
    int
        0, or 1 if a value or gradient is wrong.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.table",
        description="Measure what gradients cost and compare with the targets of the project.",
    )
    parser.add_argument("--quick", action="store_true", help="measure little: a smoke test")
    parser.add_argument("--large", action="store_true", help="also record a tape of 10^8 entries")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        default="",
        help="measure only those parts whose name this regular expression finds: "
        + ", ".join([*PARTS, *LARGE_PARTS]),
    )
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(argv)
    effort = QUICK if options.quick else THOROUGH
    parts = PARTS | LARGE_PARTS if options.large else PARTS
    chosen = {
        name: measure
        for name, measure in parts.items()
        if re.search(options.only, name, re.IGNORECASE)
        and not (options.quick and re.search(SLOW, name))
    }
    line = in_markdown if options.markdown else in_columns

    print(machine())
    print()
    try:
        missed = print_table(chosen, effort, line)
    except contests.WrongNumbersError as error:
        print(f"\nWrong numbers, so nothing more is timed: {error}", file=sys.stderr)
        return 1
    print()
    print(f"Targets missed: {len(missed)}" + "".join(f"\n* {work}" for work in missed))
    return 0


# Printing


def print_table(parts: Mapping[str, Measure], effort: Effort, line: Line) -> list[str]:
    """Measure parts, print each row as soon as it is there, and return what missed its target."""

    def show(cells: Sequence[str]) -> None:
        print(line(cells), flush=True)

    show(HEADINGS)
    show(["-" * width for width in WIDTHS])
    missed = []
    for name, measure in parts.items():
        try:
            for row in measure(effort):
                show(row_cells(row))
                if row.missed:
                    missed.append(", against ".join(filter(None, [row.work, row.against])))
        except contests.UnavailableError as error:
            show([name, "", f"skipped: {error}", "", ""])
    return missed


def row_cells(row: Row) -> list[str]:
    """What stands in a row."""
    median, low, high = row.measured
    text = f"{number(median)} {row.unit}"
    if low < high:
        text += f" ({number(low)}-{number(high)})"
    target, holds = "", ""
    if row.target is not None:
        target = f"{row.target.relation} {row.target.bound:g}"
        holds = "NO" if row.missed else "yes"
    return [row.work, row.against, text, target, holds]


def number(x: float) -> str:
    """Three digits, or all that stand before the point."""
    return f"{x:.0f}" if abs(x) >= 100.0 else f"{x:#.3g}"


def in_columns(cells: Sequence[str]) -> str:
    """A line of cells in columns."""
    line = "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return line.rstrip()


def in_markdown(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


# Times of contests


def compared(
    make: Callable[[], Contest], comparisons: Sequence[Compared], effort: Effort
) -> Iterator[Row]:
    """Check the runners that take part in a contest, and time them in turns."""
    contest = make()
    names = dict.fromkeys(name for c in comparisons for name in (c.against, c.runner))
    timings = timed(contest, [name for name in names if name != CLOCK], effort)
    for runner, against, target, faster in comparisons:
        work = f"{contest.work}: {runner}"
        if against == CLOCK:
            microseconds = timings.seconds(runner).scaled(1e6)
            yield Row(work, against, microseconds, "us a call", target)
            continue
        ratio = timings.ratio(against, runner) if faster else timings.ratio(runner, against)
        unit = "x faster" if faster else "x"
        yield Row(work, against, ratio, unit, target)


def timed(contest: Contest, names: Sequence[str], effort: Effort) -> Timings:
    """Check some runners of a contest, and time them in turns."""
    for name in names:
        contest.check(name)
    calls = {name: contest.runners[name].call for name in names}
    return effort.measure(calls)


def compile_time(n: int, effort: Effort) -> Iterator[Row]:
    """What a program costs until it has given its first gradient, recording included."""
    contest = program_contests.first_call(n)
    timings = timed(contest, (EAGER, FIRST), effort)
    operations = (n - 1) * problems.ROSENBROCK_OPERATIONS
    nanoseconds = timings.seconds(FIRST).scaled(1e9 / operations)
    work = f"{contest.work}: {FIRST}"
    yield Row(work, CLOCK, nanoseconds, "ns an op", at_most(300))
    yield Row(work, EAGER, timings.ratio(FIRST, EAGER))


# Calls


def strays(_effort: Effort) -> Iterator[Row]:
    """How many calls at one point it takes to be served again after many others."""
    calls = Spread.of([call_contests.calls_until_served(20)])
    yield Row(f"one point after {call_contests.STRAYS} others", "", calls, "calls", at_most(16))


def first_matrix_memory(n: int, _effort: Effort) -> Iterator[Row]:
    """How much memory a first dense Jacobian needs, each way in a fresh process."""
    expected = broyden_jacobian(np.linspace(-1.0, 1.0, n))
    reports = {}
    for way in ("jacobian", "program"):
        report = memory.in_new_process(way, n)
        contests.compare(
            way, [report["trace"], report["sum"]], [np.trace(expected), expected.sum()]
        )
        reports[way] = report["bytes"]
    share = Spread.of([reports["program"] / reports["jacobian"]])
    work = f"Broyden n={n}, a loop: memory of {call_contests.FIRST}"
    yield Row(work, call_contests.EAGER, share, target=at_most(2))


def price_of_a_name(effort: Effort) -> Iterator[Row]:
    """What each global that a program has read adds to a call."""
    contest = call_contests.watched(WATCHED_NAMES)
    timings = timed(contest, (COMPILED, WATCHED), effort)
    price = timings.difference(WATCHED, COMPILED).scaled(1e9 / WATCHED_NAMES)
    yield Row(f"{contest.work}: {WATCHED}", "", price, "ns a name", at_most(20))


def at_most(bound: float) -> Target:
    """A target for what should be small."""
    return Target("<=", bound)


# The tape


def chain_memory(_effort: Effort) -> Iterator[Row]:
    """Bytes that the tape of the chain holds while it is being recorded."""
    run = problems.chain(CHAIN_STEPS, cadiff.sin, cadiff.exp)
    usage: dict[str, int] = {}

    def observed(x0: Any, x1: Any) -> Any:
        y = run(x0, x1)
        usage.update(binding.tape_usage())
        return y

    contest = contests.chain(CHAIN_STEPS)
    result = cadiff.value_and_grad(observed, argnums=(0, 1))(*problems.CHAIN_POINT)
    contests.compare("the observed chain", result, contest.runners[GRADIENT].expected)
    a_operation = usage["nbytes"] / usage["entries"]
    yield Row(f"{contest.work}: tape", "", Spread.of([a_operation]), "bytes an op", at_most(34))


def scan_memory(_effort: Effort) -> Iterator[Row]:
    """How much memory a scan with checkpoints needs, each way in a fresh process."""
    contest = contests.chain(SCAN_STEPS)
    value, gradient = contest.runners[GRADIENT].expected
    reports = {}
    for way in ("chain", "scan"):
        report = memory.in_new_process(way, SCAN_STEPS)
        contests.compare(way, [report["value"], report["dx"], report["dy"]], [value, *gradient])
        reports[way] = report["bytes"]
    share = Spread.of([reports["scan"] / reports["chain"]])
    work = f"{contest.work}: memory of {contests.SCAN}"
    yield Row(work, GRADIENT, share, target=at_most(0.1))


def sweep(
    record: Callable[[int], RecordedProblem], target: Target | None, effort: Effort
) -> Iterator[Row]:
    """The reverse sweep without the recording."""
    recorded = record(SWEPT_OPERATIONS)
    recorded.check()
    timings = effort.measure({"sweep": recorded.y.backward})
    nanoseconds = timings.seconds("sweep").scaled(1e9 / recorded.operations)
    yield Row(f"{recorded.work}: backward() alone", "", nanoseconds, "ns an op", target)


def loop(effort: Effort) -> Iterator[Row]:
    """Memory and time of a loop that makes new Vars for ever."""
    report = memory.in_new_process("loop", effort.iterations)
    work = f"{effort.iterations:,} times new Vars and backward()"
    contests.compare(work, [report["dx"], report["dy"]], memory.LOOP_GRADIENT)
    grown = Spread.of([(report["late"] - report["early"]) / 1e6])
    yield Row(work, f"after {memory.WARM_UP:,} times", grown, "MB more", at_most(1))
    nanoseconds = Spread.of([report["seconds"] / effort.iterations * 1e9])
    yield Row(work, "", nanoseconds, "ns each time")


def large_tapes(effort: Effort) -> Iterator[Row]:
    """Time and memory of tapes up to 10^8 operations, each in a fresh process."""
    reports = [{n: checked_tape(n) for n in TAPE_SIZES} for _ in range(1 + effort.rounds // 10)]
    for n in TAPE_SIZES:
        nanoseconds = Spread.of(report[n]["seconds"] / n * 1e9 for report in reports)
        yield Row(f"tape of {n:.0e} operations: {GRADIENT}", "", nanoseconds, "ns an op")
    small, large = TAPE_SIZES[0], TAPE_SIZES[-1]
    ratio = Spread.of(
        report[large]["seconds"] / large / (report[small]["seconds"] / small) for report in reports
    )
    work = f"tape of {large:.0e} operations"
    yield Row(f"{work}: time an operation", f"{small:.0e} operations", ratio, "x", at_most(1.5))
    peak = Spread.of(report[large]["peak"] / 1e9 for report in reports)
    yield Row(f"{work}: peak resident memory", "", peak, "GB", at_most(3.5))


def checked_tape(operations: int) -> dict[str, float]:
    """Record a tape in a fresh process; every multiplication may round."""
    report = memory.in_new_process("tape", operations)
    value = memory.FACTOR ** (operations + 1)
    contests.compare(
        f"tape of {operations:.0e} operations",
        [report["value"], report["gradient"]],
        [value, (operations + 1) * value / memory.FACTOR],
        rtol=operations * sys.float_info.epsilon,
    )
    return report


PARTS: dict[str, Measure] = {
    "rosenbrock-1000": partial(
        compared,
        partial(contests.rosenbrock, 1000),
        [
            Compared(ARRAY, FLOATS, at_most(1.6)),
            Compared(LIST, FLOATS, at_most(1.6)),
            Compared(LIST, GRAPH, Target(">=", 35), faster=True),
        ],
    ),
    "rosenbrock-10": partial(
        compared,
        partial(contests.rosenbrock, 10),
        [
            Compared(ARRAY, FLOATS, at_most(2.5)),
            Compared(LIST, FLOATS, at_most(2.5)),
            Compared(LIST, GRAPH, faster=True),
            Compared(LIST, DUAL, faster=True),
        ],
    ),
    "products-1000": partial(
        compared,
        partial(contests.rosenbrock_products, 1000),
        [Compared(ARRAY, FLOATS, at_most(2.2)), Compared(LIST, FLOATS, at_most(2.2))],
    ),
    "regression-lists": partial(
        compared,
        partial(contests.regression, arrays=False),
        [Compared(GRADIENT, FLOATS, at_most(1.7))],
    ),
    "regression-ndarrays": partial(
        compared,
        partial(contests.regression, arrays=True),
        [Compared(GRADIENT, FLOATS, at_most(2.0))],
    ),
    "chain": partial(
        compared,
        partial(contests.chain, CHAIN_STEPS),
        [
            Compared(GRADIENT, FLOATS, at_most(2.5)),
            Compared("derivative, Dual", FLOATS, at_most(2.0)),
        ],
    ),
    "chain-memory": chain_memory,
    "sweep-rosenbrock": partial(sweep, contests.record_rosenbrock, at_most(3)),
    "sweep-chain": partial(sweep, contests.record_chain, at_most(3)),
    "loop": loop,
    "call": partial(compared, contests.gradient_call, [Compared(GRADIENT, CLOCK)]),
    "hessian": partial(
        compared, partial(contests.hessian, 100), [Compared("hessian", "gradient")]
    ),
    "hvp": partial(compared, partial(contests.hessian_product, 1000), [Compared("hvp", GRADIENT)]),
    "scan-time": partial(
        compared,
        partial(contests.scan, SCAN_STEPS),
        [Compared(SCAN, KEPT, at_most(2.5)), Compared(KEPT, GRADIENT)],
    ),
    "scan-memory": scan_memory,
    "order-5": partial(
        compared, partial(contests.high_order, 5), [Compared(SERIES, NESTED, faster=True)]
    ),
    "order-10": partial(
        compared,
        partial(contests.high_order, 10),
        [Compared(SERIES, NESTED, Target(">=", 50), faster=True)],
    ),
    "order-6-chain": partial(
        compared,
        partial(contests.high_order_chain, 1000, 6),
        [Compared(SERIES, NESTED, faster=True)],
    ),
    "linear-rosenbrock": partial(
        compared,
        partial(linear_contests.rosenbrock_pull, 1000),
        [Compared(ARRAY, FLOATS, at_most(0.3)), Compared(LIST, FLOATS, at_most(0.3))],
    ),
    "linear-elementwise": partial(
        compared,
        partial(linear_contests.elementwise_pull, 10_000),
        [Compared(PULL, FUNCTION), Compared(PULLBACK, FUNCTION)],
    ),
    "linear-jacobian-loop": partial(
        compared,
        partial(linear_contests.tridiagonal, 1000, arrays=False),
        [
            Compared("todense", PUSHES, Target(">=", 4), faster=True),
            Compared(JACOBIAN, PUSHES, faster=True),
        ],
    ),
    "linear-jacobian-arrays": partial(
        compared,
        partial(linear_contests.tridiagonal, 1000, arrays=True),
        [
            Compared("todense", PUSHES, Target(">=", 4), faster=True),
            Compared(JACOBIAN, PUSHES, faster=True),
        ],
    ),
    **{
        f"complex-pulse-{'loop' if loop else 'stack'}-{n}": partial(
            compared,
            partial(complex_contests.pulse, n, steps, loop=loop),
            [
                Compared(COMPLEX, REAL, at_most(1.15 if loop else 1.3)),
                Compared(COMPLEX_PROGRAM, REAL_PROGRAM, at_most(1.1 if loop else 1)),
                *([] if loop else [Compared(BY_EIGENVALUES, REAL_PROGRAM)]),
            ],
        )
        for loop in (True, False)
        for n, steps in ((2, 50), (4, 100), (8, 200))
    },
    "array-logistic": partial(
        compared, array_contests.logistic_regression, [Compared(GRADIENT, HAND, at_most(1.5))]
    ),
    "array-network-32": partial(
        compared, partial(array_contests.network, 32), [Compared(GRADIENT, HAND, at_most(1.15))]
    ),
    "array-network-512": partial(
        compared, partial(array_contests.network, 512), [Compared(GRADIENT, HAND, at_most(1.15))]
    ),
    "array-chain-4": partial(
        compared, partial(array_contests.chain, 4), [Compared(GRADIENT, NUMPY, at_most(1.5))]
    ),
    "array-chain-million": partial(
        compared, partial(array_contests.chain, 10**6), [Compared(GRADIENT, NUMPY, at_most(3))]
    ),
    "array-jacobian": partial(
        compared,
        array_contests.jacobian,
        [Compared(JACOBIAN, CLOCK, at_most(6)), Compared(JACOBIAN, NUMPY, at_most(3))],
    ),
    "array-lists": partial(
        compared,
        partial(array_contests.arm, 6),
        [
            Compared(GRADIENT, OBJECTS, at_most(1)),
            Compared(FORWARD, f"{FORWARD}, {OBJECTS}", at_most(1.5)),
        ],
    ),
    "array-product": partial(
        compared, partial(array_contests.product, 4), [Compared(RECORDED, NUMPY, at_most(1))]
    ),
    "array-hvp-chain": partial(
        compared,
        partial(array_contests.chain_product, 10**5),
        [Compared(PRODUCT, GRADIENT, at_most(3))],
    ),
    "array-hvp-network": partial(
        compared,
        partial(array_contests.network_product, 32),
        [Compared(PRODUCT, GRADIENT, at_most(3))],
    ),
    "array-hessian": partial(
        compared,
        partial(array_contests.layer_hessian, 100),
        [Compared(HESSIAN, GRADIENT, at_most(60))],
    ),
    **{
        f"factor-{name}-{n}": partial(
            compared,
            partial(factor_contests.decomposition, name, n),
            [
                *(Compared(GRADIENT, against) for against in (NUMPY, HAND)),
                *([Compared(GRADIENT, TORCH, at_most(1))] if HAS_TORCH else []),
            ],
        )
        for n in (10, 100, 1000)
        for name in factor_contests.DECOMPOSITIONS
    },
    **{
        f"factor-process-{n}": partial(
            compared,
            partial(factor_contests.likelihood, n),
            [Compared(GRADIENT, NUMPY), Compared(GRADIENT, HAND)],
        )
        for n in (10, 100, 1000)
    },
    "factor-hvp": partial(
        compared,
        partial(factor_contests.product, 100),
        [Compared(PRODUCT, GRADIENT, at_most(6))],
    ),
    **{
        f"array-fft-{name}": partial(
            compared,
            partial(array_contests.transform, *shape, by_complex=by_complex),
            [Compared(GRADIENT, NUMPY, at_most(3))],
        )
        for name, shape, by_complex in (
            ("1024", (2**10,), False),
            ("1024-complex", (2**10,), True),
            ("million", (2**20,), False),
            ("million-complex", (2**20,), True),
            ("image", (1024, 1024), False),
        )
    },
    "program-rosenbrock-1000": partial(
        compared,
        partial(program_contests.rosenbrock, 1000),
        [Compared(GRADIENT, FLOATS, at_most(0.06)), Compared(GRADIENT, EAGER)],
    ),
    "program-rosenbrock-1000-c": partial(
        compared,
        partial(program_contests.rosenbrock_by_hand, 1000),
        [Compared(GRADIENT, IN_C, at_most(7))],
    ),
    "program-rosenbrock-100": partial(
        compared,
        partial(program_contests.rosenbrock, 100),
        [Compared(GRADIENT, FLOATS, at_most(0.15))],
    ),
    "program-rosenbrock-10": partial(
        compared,
        partial(program_contests.rosenbrock, 10),
        [Compared(GRADIENT, CLOCK, at_most(0.5)), Compared(GRADIENT, FLOATS, at_most(0.4))],
    ),
    **{
        f"program-within-{n}": partial(
            compared,
            partial(program_contests.rosenbrock_within, n),
            [
                Compared(GRADIENT, FLOATS, at_most(gradient)),
                Compared(PRODUCT, FLOATS, at_most(product)),
            ],
        )
        for n, gradient, product in ((1000, 0.05, 0.12), (100, 0.25, 0.5), (10, 2, 4))
    },
    "program-regression": partial(
        compared, program_contests.regression, [Compared(GRADIENT, FLOATS, at_most(0.06))]
    ),
    "program-chain-c": partial(
        compared,
        partial(program_contests.chain_by_hand, CHAIN_STEPS),
        [Compared(GRADIENT, IN_C, at_most(1.8)), Compared(GRADIENT, FLOATS)],
    ),
    "program-logistic": partial(
        compared, program_contests.logistic_regression, [Compared(GRADIENT, HAND, at_most(1))]
    ),
    "program-jacobian": partial(
        compared, program_contests.jacobian, [Compared(JACOBIAN, CLOCK, at_most(1.5))]
    ),
    "program-sparse-jacobian": partial(
        compared,
        partial(program_contests.sparse_jacobian, 1000),
        [Compared(SPARSE_JACOBIAN, CLOCK, at_most(8))],
    ),
    "program-sparse-hessian": partial(
        compared,
        partial(program_contests.sparse_hessian, 1000),
        [Compared(SPARSE_HESSIAN, CLOCK, at_most(15))],
    ),
    "program-adjustment": partial(
        compared,
        partial(program_contests.adjustment, 64_000),
        [
            Compared(SPARSE_JACOBIAN, CLOCK),
            Compared(SPARSE_JACOBIAN, HAND, at_most(0.7)),
        ],
    ),
    "program-hessian": partial(
        compared,
        partial(program_contests.hessian, 100),
        [Compared(HESSIAN, CLOCK, at_most(12))],
    ),
    "program-compile": partial(compile_time, 1000),
    **{
        f"program-verified-{name}": partial(
            compared, contest, [Compared(VERIFIED, UNVERIFIED, at_most(1.5))]
        )
        for name, contest in (
            ("loop-10", partial(program_contests.two_calls, "loop", 10)),
            ("loop-1000", partial(program_contests.two_calls, "loop", 1000)),
            ("arrays", partial(program_contests.two_calls, "arrays", 50)),
            ("minimize", partial(program_contests.two_minima, 10)),
        )
    },
    "program-misses": partial(
        compared,
        partial(program_contests.misses, 1000, 20),
        [Compared(MISSES, GRADIENT, at_most(2))],
    ),
    "program-batch": partial(
        compared,
        partial(program_contests.batch, BATCH_POINTS, 10),
        [Compared(BATCH, SINGLE, Target(">=", 10), faster=True)],
    ),
    "program-threads": partial(
        compared,
        partial(program_contests.batch_in_threads, BATCH_POINTS, 10),
        [Compared(THREADS, BATCH, Target(">=", 1.7), faster=True)],
    ),
    "mapping-options": partial(
        compared,
        partial(mapping_contests.options, 100_000),
        [Compared(VMAP, LOOP, Target(">=", 20), faster=True), Compared(VMAP, NUMPY)],
    ),
    "mapping-arrays": partial(
        compared,
        partial(mapping_contests.arrays, 10_000, 8),
        [Compared(VMAP, LOOP, Target(">=", 10), faster=True), Compared(VMAP, NUMPY)],
    ),
    "mapping-examples": partial(
        compared,
        partial(mapping_contests.examples, 1000),
        [Compared(VMAP, LOOP, Target(">=", 2), faster=True), Compared(VMAP, HAND)],
    ),
    "mapping-fit": partial(
        compared,
        partial(mapping_contests.fit, 10_000),
        [
            Compared(VMAP_GRADIENT, GRADIENT_LOOP, Target(">=", 5), faster=True),
            Compared(VMAP_GRADIENT, NUMPY),
        ],
    ),
    "optimize-minimum": partial(
        compared,
        partial(optimize_contests.minimum, 100),
        [
            Compared(FILLED_IN, DIFFERENCES, Target(">=", 20), faster=True),
            Compared(FILLED_IN, BY_HAND, at_most(1.2)),
        ],
    ),
    "optimize-fits": partial(
        compared,
        optimize_contests.fits,
        [Compared(FILLED_IN, DIFFERENCES, Target(">=", 1), faster=True)],
    ),
    "calls-batches-32": partial(
        compared,
        partial(call_contests.mini_batches, 32, 100),
        [Compared(COMPILED, call_contests.EAGER, at_most(0.6))],
    ),
    "calls-batches-1000": partial(
        compared,
        partial(call_contests.mini_batches, 1000, 20),
        [Compared(COMPILED, call_contests.EAGER, at_most(0.6))],
    ),
    **{
        f"calls-{what}": partial(
            compared,
            partial(call_contests.fresh, what),
            [Compared(COMPILED, call_contests.EAGER, at_most(1))],
        )
        for what in ("slices", "sets", "lambdas")
    },
    **{
        f"calls-other-{what}": partial(
            compared,
            partial(call_contests.others, what),
            [Compared(COMPILED, call_contests.EAGER, at_most(1.3))],
        )
        for what in call_contests.OTHERS
    },
    **{
        f"calls-{name}": partial(
            compared,
            make,
            [
                Compared(FEW, call_contests.EAGER, at_most(1.2)),
                Compared(MANY, call_contests.EAGER, at_most(0.5)),
            ],
        )
        for name, make in (
            ("newton", call_contests.newton),
            ("step", call_contests.adaptive_step),
        )
    },
    "calls-strays": strays,
    "calls-list": partial(
        compared, partial(call_contests.lists, 1000), [Compared(LIST, ARRAY, at_most(2))]
    ),
    "calls-jacobian": partial(
        compared,
        partial(call_contests.tridiagonal, 3000),
        [Compared(call_contests.FIRST, call_contests.EAGER, at_most(2))],
    ),
    "calls-jacobian-memory": partial(first_matrix_memory, 3000),
    "calls-within": partial(
        compared,
        partial(call_contests.within, 1000),
        [Compared(COMPILED, CLOCK, at_most(24)), Compared(COMPILED, call_contests.EAGER)],
    ),
    "calls-smallest": partial(
        compared,
        call_contests.smallest,
        [Compared(COMPILED, CLOCK), Compared(GRADIENT, CLOCK)],
    ),
    "calls-at-a-point": partial(
        compared,
        call_contests.at_a_point,
        [Compared(name, CLOCK) for name in call_contests.AT_A_POINT],
    ),
    "calls-watched": price_of_a_name,
}
LARGE_PARTS: dict[str, Measure] = {"large-tapes": large_tapes}


if __name__ == "__main__":
    sys.exit(main())
