"""``python -m benchmarks.side_by_side``: problems over arrays beside every opponent.

Value and gradient (or what the problem asks) by hand in NumPy, by cadiff eagerly and compiled, and
by JAX, PyTorch and autograd in their best forms, where they are installed. Results are compared
with those by hand before anything is timed, and those by hand with differences. What counts is the
least time in interleaved rounds. The table is measured twice, in processes of their own: on one
core, and on all. It names the problems at which another package is faster, and says why.

    python -m benchmarks.side_by_side --only lstm --cores one
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import cadiff
import cadiff.math as cmath
from benchmarks import array_problems, factor_contests, libraries, model_problems, problems
from benchmarks import sequence_problems as sequences
from benchmarks.contests import RTOL, Contest, Runner, WrongNumbersError, compare
from benchmarks.libraries import Cadiff, Library
from benchmarks.machine import BLAS_VARIABLES, machine
from benchmarks.timing import interleave

__all__ = ["CONTESTS", "PROBLEMS", "Problem", "main", "times"]

PLAIN = "plain"
HAND = "by hand"
EAGER = "eager"
COMPILED = "compiled"
OURS = (PLAIN, HAND, EAGER, COMPILED)
WRITTEN_OUT = "jax, written out"

Peers: TypeAlias = Mapping[str, Library]
NOBODY: Peers = {}

STEP = 1e-6
OF_DIFFERENCES = 1e-5
SINGLE = 1e-4  # of the largest number, in single precision
FEW_ROUNDS = 5  # for what takes long
LONG = 0.05
ROUNDS = 12
ROOT = Path(__file__).parents[1]


class Problem(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    name : str
        Which `--only` looks for.
    make : callable
        `make(peers=…)`: the contest; its runners are the columns.
    reach : float
        Microseconds to reach compiled, on one core of the machine on which the goals were set.
    why : str
        Where another package is faster: what it has that makes it so.
    """

    name: str
    make: Callable[..., Contest]
    reach: float
    why: str


@cache
def installed() -> dict[str, Library]:
    """Those that are installed."""
    return {name: peer for name, peer in libraries.peers().items() if peer is not None}


def smaller(tree: Any) -> Any:
    """Numbers of another point, where programs are recorded."""
    return [0.9 * x for x in tree] if isinstance(tree, list) else 0.9 * tree


def recorded(method: Callable[..., Any], *at: Any, **options: Any) -> Callable[[], Any]:
    """Have a method of a program record somewhere else, and bind it to its arguments."""
    method(*map(smaller, at), **options)
    return partial(method, *at, **options)


# --- value and gradient --------------------------------------------------------------------------


def gradients(
    work: str,
    f: Callable[[Library, Any], Any],
    at: Any,
    by_hand: Callable[[Any], Any],
    peers: Peers,
    *,
    single: bool = False,
    forms: Mapping[str, Callable[[Library, Any], Any]] | None = None,
) -> Contest:
    """Value and gradient of a function of an array, or of a list of arrays.

    Parameters
    ----------
    work : str
        What it is.
    f : callable
        Of a library and the point.
    at : ndarray or list of ndarrays
        The point.
    by_hand : callable
        Of the point: value and gradient.
    peers : mapping
        Other packages that take part.
    single : bool
        Whether all is in single precision.
    forms : mapping
        By the name of a peer, a form of f that suits it better. Other names are further forms for
        the peer that they begin with.
    """
    expected = by_hand(at)
    plain, ours = partial(f, Library()), partial(f, Cadiff())
    if not single:
        check_by_differences(work, plain, at, expected[1])
    runners = {
        PLAIN: Runner(partial(plain, at), expected[0]),
        HAND: Runner(partial(by_hand, at), expected),
        EAGER: Runner(partial(cadiff.value_and_grad(ours), at), expected),
        COMPILED: Runner(recorded(cadiff.compile(ours).value_and_grad, at), expected),
    }
    forms = dict.fromkeys(peers, f) | {**(forms or {})}
    for name, form in forms.items():
        peer = peers.get(name.partition(",")[0])
        if peer is not None:
            runners[name] = Runner(peer.gradient(partial(form, peer), at), expected)
    return Contest(work, runners, SINGLE if single else RTOL)


def check_by_differences(work: str, f: Callable[[Any], Any], at: Any, gradient: Any) -> None:
    """The gradient by hand along one direction, beside a difference of the function itself."""
    rng = np.random.default_rng(3)
    arrays, slopes = (at, gradient) if isinstance(at, list) else ([at], [gradient])
    along = [rng.standard_normal(np.shape(x)) for x in arrays]
    size = np.sqrt(sum(float(np.vdot(d, d)) for d in along))

    def there(step: float) -> Any:
        moved = [x + step / size * d for x, d in zip(arrays, along, strict=True)]
        return f(moved if isinstance(at, list) else moved[0])

    terms = [float(np.vdot(g, d)) / size for g, d in zip(slopes, along, strict=True)]
    # Of large sums the difference has lost digits, so that all terms count, not their sum alone.
    scale = float(np.sqrt(sum(float(np.vdot(g, g)) for g in slopes)))
    difference = (there(STEP * size) - there(-STEP * size)) / (2.0 * STEP * size)
    compare(f"{work}: {HAND}", [sum(terms), scale], [difference, scale], OF_DIFFERENCES)


def kalman(steps: int, *, peers: Peers = NOBODY) -> Contest:
    """A filter of two numbers, by `solve` and `slogdet`."""
    data = sequences.tracking_data(steps)

    def f(library: Library, p: Any) -> Any:
        return sequences.likelihood(library.np, library.own(data), p, library.loop)

    def written_out(library: Library, p: Any) -> Any:
        linalg = sequences.WrittenOut(library.np)
        return sequences.likelihood(library.np, data, p, library.loop, linalg)

    by_hand = partial(sequences.tracking_gradient, data)
    work = f"Kalman filter, {steps} steps, 2 x 2"
    return gradients(work, f, data.parameters, by_hand, peers, forms={WRITTEN_OUT: written_out})


def markov(states: int, steps: int, *, by_max: bool, peers: Peers = NOBODY) -> Contest:
    """A hidden Markov model by logsumexp, or by what that stands for."""
    data = sequences.chain_data(states, steps)

    def f(library: Library, p: Any) -> Any:
        return sequences.evidence(library.summed, library.own(data), p, library.loop)

    def by_its_parts(library: Library, p: Any) -> Any:
        summed = partial(sequences.log_sum_exp, library.np)
        return sequences.evidence(summed, library.own(data), p, library.loop)

    work = f"hidden Markov model, {states} states x {steps}, {'max' if by_max else 'logsumexp'}"
    by_hand = partial(sequences.chain_gradient, data)
    ours = by_its_parts if by_max else f
    return gradients(work, ours, data.parameters, by_hand, peers, forms=dict.fromkeys(peers, f))


def lstm(steps: int, cells: int, inputs: int, *, peers: Peers = NOBODY) -> Contest:
    """A recurrent network, one sequence."""
    data = sequences.cells_data(steps, cells, inputs)

    def f(library: Library, p: Any, *, at_once: bool = False) -> Any:
        own = library.own(data)
        return sequences.last_error(library.np, own, p, library.loop, at_once=at_once)

    at_once = partial(f, at_once=True)
    work = f"LSTM, {steps} steps, {cells} cells, {inputs} inputs"
    by_hand = partial(sequences.cells_gradient, data)
    return gradients(work, f, data.parameters, by_hand, peers, forms=dict.fromkeys(peers, at_once))


def bodies(count: int, steps: int, *, peers: Peers = NOBODY) -> Contest:
    """Bodies that attract each other."""
    data = sequences.bodies_data(count, steps)

    def f(library: Library, p: Any) -> Any:
        return sequences.energy(library.np, library.own(data), p, library.loop)

    by_hand = partial(sequences.bodies_gradient, data)
    return gradients(f"n-body, {count} bodies, {steps} steps", f, data.parameters, by_hand, peers)


def mixture(dimensions: int, parts: int, points: int, *, peers: Peers = NOBODY) -> Contest:
    """A mixture of Gaussians, as ADBench has it, in arrays."""
    data = model_problems.mixture_data(dimensions, parts, points)

    def f(library: Library, p: Any) -> Any:
        return model_problems.density(library.np, library.summed, library.own(data), p)

    work = f"Gaussian mixture, d {dimensions}, k {parts}, n {points}"
    return gradients(
        work, f, data.parameters, partial(model_problems.mixture_gradient, data), peers
    )


def network(batch: int, *, single: bool, peers: Peers = NOBODY) -> Contest:
    """A network with one hidden layer, in single or double precision."""
    data = array_problems.network_data(batch)
    if single:
        weights: Any = [w.astype(np.float32) for w in data.weights]
        data = data._replace(weights=weights, images=data.images.astype(np.float32))

    batch_alone = data._replace(weights=[])  # a program watches what its function has

    def f(library: Library, weights: Any) -> Any:
        return model_problems.network_loss(library.np, library.own(batch_alone), weights)

    by_hand = partial(array_problems.network_backpropagation, data)
    layers = "-".join(map(str, array_problems.LAYERS))
    work = f"network {layers}, float{32 if single else 64}, batch {batch}"
    return gradients(work, f, data.weights, by_hand, peers, single=single)


def waves(n: int, *, peers: Peers = NOBODY) -> Contest:
    """Elementwise operations and a sum."""

    def f(library: Library, x: Any) -> Any:
        return model_problems.waves(library.np, x)

    x = array_problems.chain_point(n)
    return gradients(
        f"Σ tanh(x) exp(-x²) + sin(x), {n:,}", f, x, model_problems.waves_gradient, peers
    )


def process(n: int, *, peers: Peers = NOBODY) -> Contest:
    """The likelihood of a Gaussian process."""
    p, squares, y = factor_contests.observations(n)

    def f(library: Library, p: Any) -> Any:
        own = library.own([squares, y])
        return factor_contests.log_likelihood(library.np, library.linalg, p, *own)

    def by_hand(p: Any) -> Any:
        return factor_contests.likelihood_by_hand(p, squares, y)

    return gradients(f"Gaussian process by cholesky, n={n}", f, p, by_hand, peers)


# --- other derivatives ---------------------------------------------------------------------------


def hessian(n: int, *, peers: Peers = NOBODY) -> Contest:
    """The Hessian of a layer."""
    data = model_problems.layer_data(n)

    def f(library: Library, x: Any) -> Any:
        return model_problems.squashed(library.np, library.own(data), x)

    expected = model_problems.layer_hessian(data, data.x)
    plain, ours = partial(f, Library()), partial(f, Cadiff())
    runners = {
        PLAIN: Runner(partial(plain, data.x), plain(data.x)),
        HAND: Runner(partial(model_problems.layer_hessian, data, data.x), expected),
        EAGER: Runner(partial(cadiff.hessian(ours), data.x), expected),
        COMPILED: Runner(recorded(cadiff.compile(ours).hessian, data.x), expected),
    }
    for name, peer in peers.items():
        runners[name] = Runner(peer.hessian(partial(f, peer), data.x), expected)
    return Contest(f"Hessian of Σ tanh(A x), n={n}", runners)


def points(count: int, n: int, *, peers: Peers = NOBODY) -> Contest:
    """Values and gradients at many points: a loop for a program, arrays for all others."""
    X = array_problems.chain_point(count * n).reshape(count, n)
    if n == 10:
        loop: Callable[[Any], Any] = problems.rosenbrock
        of_rows, by_hand = model_problems.valleys, model_problems.valleys_gradient
    else:
        loop = partial(model_problems.pairs, cmath.sin, cmath.sqrt)
        of_rows, by_hand = model_problems.pairs_of_rows, model_problems.pairs_gradient
    values, gradient = by_hand(X)
    total = float(np.sum(values))
    work = f"gradients at {count:,} points, n={n}"
    check_by_differences(work, partial(of_rows, np), X, gradient)
    program = cadiff.compile(loop)
    batch = recorded(program.batch, X, threads=threads(), what="value_and_grad")
    runners = {
        PLAIN: Runner(partial(of_rows, np, X), total),
        HAND: Runner(partial(by_hand, X), (values, gradient)),
        EAGER: Runner(
            partial(cadiff.value_and_grad(partial(of_rows, Cadiff.np)), X), (total, gradient)
        ),
        COMPILED: Runner(batch, (values, gradient)),
    }
    for name, peer in peers.items():
        if name == "jax":
            one = partial(of_rows, peer.np)
            call = peer.of_rows(lambda x, one=one: one(x[None, :]), [X], by=1)
            runners[name] = Runner(call, (values, gradient))
        else:
            call = peer.gradient(partial(of_rows, peer.np), X)
            runners[name] = Runner(call, (total, gradient))
    return Contest(work, runners)


def options(n: int, *, peers: Peers = NOBODY) -> Contest:
    """The price of an option and its derivatives by all terms, for many rows."""
    columns = model_problems.options_data(n)
    prices, slopes = model_problems.option_prices_gradient(*columns)
    total = float(np.sum(prices))

    def summed(library: Library, columns: Any) -> Any:
        price = model_problems.option_price(library.np, library.below, *columns)
        return library.np.sum(price)

    def below(x: Any) -> Any:
        return 0.5 * cmath.erfc(-0.7071067811865476 * x)

    work = f"option price by vmap, {n:,} rows"
    check_by_differences(work, partial(summed, Library()), columns, slopes)
    of_one = partial(model_problems.option_price, cmath, below)
    of_each = cadiff.vmap(cadiff.value_and_grad(of_one, argnums=(0, 1, 2, 3)))
    eager = cadiff.value_and_grad(partial(summed, Cadiff()))
    runners = {
        PLAIN: Runner(partial(summed, Library(), columns), total),
        HAND: Runner(partial(model_problems.option_prices_gradient, *columns), (prices, slopes)),
        EAGER: Runner(partial(eager, columns), (total, slopes)),
        COMPILED: Runner(recorded(of_each, *columns), (prices, slopes)),
    }
    for name, peer in peers.items():
        if name == "jax":
            one = partial(model_problems.option_price, peer.np, peer.below)
            runners[name] = Runner(peer.of_rows(one, columns, by=4), (prices, slopes))
        else:
            call = peer.gradient(partial(summed, peer), columns)
            runners[name] = Runner(call, (total, slopes))
    return Contest(work, runners)


def reprojections(n: int, *, peers: Peers = NOBODY) -> Contest:
    """The sparse Jacobian of distances between what is seen and what should be."""
    data = array_problems.adjustment_data(n)
    f = array_problems.make_adjustment(data, Cadiff.np)
    expected = array_problems.adjustment_jacobian(data, data.x)[0]
    plain = array_problems.make_adjustment(data, np)
    values = plain(data.x)
    eager, compiled = cadiff.sparse_jacobian(f), cadiff.compile(f).sparse_jacobian
    runners = {
        PLAIN: Runner(partial(plain, data.x), values),
        HAND: Runner(lambda: array_problems.adjustment_jacobian(data, data.x)[0], expected),
        EAGER: Runner(entries(recorded(eager, data.x)), expected),
        COMPILED: Runner(entries(recorded(compiled, data.x)), expected),
    }
    for name in ("jax", "torch"):
        if name in peers:
            peer = peers[name]
            one = partial(model_problems.reprojection, peer.np)
            columns = [model_problems.seen_of_each(data), data.seen]
            call = peer.of_rows(one, columns, by=1)
            runners[name] = Runner(call, (values, expected))
    return Contest(f"sparse Jacobian of {n:,} reprojections", runners)


def entries(call: Callable[[], Any]) -> Callable[[], Any]:
    """The numbers of a sparse matrix, alone."""
    return lambda: call().data


def threads() -> int:
    """As many as this process may use."""
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


LOOPS = "its loop is machine code as a whole; here each operation of a step is a call of a kernel"
FUSED = "it computes one element through all operations in registers, by polynomials of its own"

PROBLEMS: tuple[Problem, ...] = (
    Problem("kalman", partial(kalman, 500), 2_500, LOOPS),
    Problem("markov-logsumexp", partial(markov, 10, 500, by_max=False), 1_300, LOOPS),
    Problem("markov-max", partial(markov, 10, 500, by_max=True), 1_300, LOOPS),
    Problem("lstm", partial(lstm, 100, 64, 32), 2_300, LOOPS),
    Problem("mixture", partial(mixture, 10, 25, 1000), 4_000, FUSED),
    Problem("bodies", partial(bodies, 20, 100), 1_800, LOOPS),
    *(
        Problem(
            f"network-{batch}-{'float32' if single else 'float64'}",
            partial(network, batch, single=single),
            reach,
            "products of matrices are nearly all there is, and its BLAS is another",
        )
        for batch, single, reach in (
            (32, True, 430),
            (512, True, 4_200),
            (32, False, 790),
            (512, False, 9_600),
        )
    ),
    Problem("hessian", partial(hessian, 100), 110, "its columns are one product of matrices"),
    Problem("points-10", partial(points, 10_000, 10), 650, FUSED),
    Problem("points-6", partial(points, 10_000, 6), 500, FUSED),
    Problem("waves-10000", partial(waves, 10**4), 120, FUSED),
    Problem("waves-million", partial(waves, 10**6), 12_000, FUSED),
    Problem("waves-10-million", partial(waves, 10**7), 200_000, FUSED),
    Problem("options", partial(options, 10**6), 30_000, FUSED),
    Problem("process-200", partial(process, 200), 1_900, "its LAPACK is another"),
    Problem("process-1000", partial(process, 1000), 82_000, "its LAPACK is another"),
    Problem("reprojections", partial(reprojections, 3000), 800, FUSED),
)

# Small ones, and their ways, which the tests under pytest-benchmark run.
CONTESTS: tuple[tuple[Callable[[], Contest], tuple[str, ...]], ...] = tuple(
    (make, OURS)
    for make in (
        partial(kalman, 50),
        partial(markov, 10, 50, by_max=False),
        partial(markov, 10, 50, by_max=True),
        partial(lstm, 10, 64, 32),
        partial(mixture, 4, 5, 100),
        partial(bodies, 8, 10),
        partial(network, 32, single=True),
        partial(network, 32, single=False),
        partial(hessian, 100),
        partial(points, 1000, 10),
        partial(points, 1000, 6),
        partial(waves, 10**4),
        partial(options, 1000),
        partial(process, 50),
        partial(reprojections, 1300),
    )
)


# --- the command ---------------------------------------------------------------------------------

COLUMNS = ("problem", *OURS, *libraries.PEERS, "to reach", "/ hand", "/ eager", "/ best peer")
WIDTHS = (46, *[9] * (len(COLUMNS) - 1))


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
        prog="python -m benchmarks.side_by_side",
        description="Problems over arrays beside every opponent, in microseconds.",
    )
    names = ", ".join(problem.name for problem in PROBLEMS)
    parser.add_argument("--only", metavar="PATTERN", default="", help=f"of {names}")
    parser.add_argument("--quick", action="store_true", help="measure little: a smoke test")
    parser.add_argument("--cores", choices=("one", "all", "both", "here"), default="both")
    options = parser.parse_args(argv)
    if options.cores == "here":
        return table(options.only, 1 if options.quick else ROUNDS)
    ways = ("one", "all") if options.cores == "both" else (options.cores,)
    if "one" in ways and threads() == 1:
        ways = ("one",)
    arguments = [f"--only={options.only}", "--cores=here", *["--quick"] * options.quick]
    return max(on_cores(way, arguments) for way in ways)


def on_cores(way: str, arguments: Sequence[str]) -> int:
    """Run the table in a process of its own, which has one core or all."""
    environment = dict(os.environ)
    is_bound = way == "one" and hasattr(os, "sched_setaffinity")
    if way == "one":
        environment |= dict.fromkeys(BLAS_VARIABLES, "1")
    print(f"On {'one core' if way == 'one' else f'{threads()} cores'}.", flush=True)

    def bind() -> None:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    command = [sys.executable, "-m", "benchmarks.side_by_side", *arguments]
    preexec = bind if is_bound else None
    return subprocess.run(command, env=environment, cwd=ROOT, preexec_fn=preexec).returncode


def table(only: str, rounds: int) -> int:
    """Measure in this process, and print each row as soon as it is there."""
    print(f"{machine()}, {libraries.versions() or 'no other package'}.")
    for name in libraries.PEERS:
        if name not in installed():
            print(f"{name} is skipped: it is not installed.")
    print()
    show(COLUMNS)
    show(["-" * width for width in WIDTHS])
    lost = []
    try:
        for work, problem, seconds in times(only, rounds):
            show([*row(work, seconds, problem.reach)])
            lost += [f"{work}: {what}; {problem.why}" for what in faster(seconds)]
    except WrongNumbersError as error:
        print(f"\nWrong numbers, so nothing more is timed: {error}", file=sys.stderr)
        return 1
    print("\nWhere another package is faster than a program:", "" if lost else "nowhere.")
    print("".join(f"* {line}.\n" for line in lost), flush=True)
    return 0


def times(only: str, rounds: int) -> Iterator[tuple[str, Problem, dict[str, float]]]:
    """Seconds by runner of each problem that a pattern finds, after its results were checked."""
    for problem in PROBLEMS:
        if re.search(only, problem.name):
            contest = problem.make(peers=installed())
            for name in contest.runners:
                contest.check(name)
            yield contest.work, problem, measured(contest, rounds)


def measured(contest: Contest, rounds: int) -> dict[str, float]:
    """Seconds of each runner: the least of all rounds."""
    calls = {name: runner.call for name, runner in contest.runners.items()}
    if rounds == 1:
        timings = interleave(calls, rounds=1, seconds=0.0)
    else:
        first = interleave(calls, rounds=1, seconds=0.0)
        is_long = any(first.seconds(name).low > LONG for name in calls)
        # What others do on the machine spoils no time of a process; on several cores, that of its
        # threads would be added up.
        alone = threads() == 1
        rounds = FEW_ROUNDS if is_long else rounds
        timings = interleave(calls, rounds=rounds, seconds=0.02, shared=alone)
    return {name: timings.seconds(name).low for name in calls}


def best_of(name: str, seconds: Mapping[str, float]) -> float | None:
    """The least of all forms of a peer."""
    forms = [time for form, time in seconds.items() if form.partition(",")[0] == name]
    return min(forms, default=None)


def row(work: str, seconds: Mapping[str, float], reach: float) -> Iterator[str]:
    """What stands in a row, in microseconds and ratios."""
    yield work
    theirs = [best_of(name, seconds) for name in libraries.PEERS]
    for time in [*(seconds[name] for name in OURS), *theirs]:
        yield "-" if time is None else f"{1e6 * time:,.0f}"
    yield f"{reach:,.0f}"
    compiled = seconds[COMPILED]
    best = min((time for time in theirs if time is not None), default=None)
    for against in (seconds[HAND], seconds[EAGER], best):
        yield "-" if against is None else f"{compiled / against:.2f}"


def faster(seconds: Mapping[str, float]) -> Iterator[str]:
    """Which peers are, in which form, and how much."""
    for name, time in seconds.items():
        if name not in OURS and time < seconds[COMPILED]:
            yield f"{name} {seconds[COMPILED] / time:.2f} times as fast"


def show(cells: Sequence[str]) -> None:
    """Print a row in columns."""
    first, *others = (cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    print("  ".join([first.strip().ljust(WIDTHS[0]), *others]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
