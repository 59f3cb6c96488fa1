"""``python -m benchmarks.slower``: every call whose program costs more than the eager one.

The contests of `benchmarks` and the examples are run as they stand, and what they ask of gradient
functions and of programs is noted: of which function, where. Then each is timed both ways. A
program should never be the slower one; those that are come last, the worst first. (Of functions of
NumPy and SciPy, `benchmarks.functions` prints the same.)

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.slower --only examples
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import io
import re
import runpy
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

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
    optimize_contests,
    program_contests,
    side_by_side,
)
from benchmarks.functions import AGAIN, ROUNDS, SLOWER
from benchmarks.machine import machine
from benchmarks.timing import interleave

__all__ = ["Asked", "Pair", "main", "noting"]

ROOT = Path(__file__).parents[1]
WHAT = ("grad", "value_and_grad", "jacobian", "hessian", "hvp")
SECONDS = 0.01  # of a turn

ROOMS: tuple[Any, ...] = (
    contests,
    array_contests,
    linear_contests,
    factor_contests,
    complex_contests,
    program_contests,
    call_contests,
    mapping_contests,
    optimize_contests,
    side_by_side,
)


class Asked(NamedTuple):
    """A derivative that somebody has asked for."""

    what: str
    f: Callable[..., Any]
    argnums: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        """What is printed of it."""
        f = self.f.func if isinstance(self.f, partial) else self.f
        return f"{self.what} of {getattr(f, '__qualname__', type(f).__name__)}"


class Pair(NamedTuple):
    """Seconds of a call each way; None where there is no program, and why."""

    where: str
    asked: Asked
    eager: float
    compiled: float
    is_eager: bool

    @property
    def ratio(self) -> float:
        """Compiled beside eager."""
        return self.compiled / self.eager


# --- noting what is asked ------------------------------------------------------------------------


def is_plain(tree: Any) -> bool:
    """Whether there is no number with a derivative in it."""
    if isinstance(tree, dict):
        return all(is_plain(item) for item in tree.values())
    if isinstance(tree, (list, tuple)):
        return all(is_plain(item) for item in tree)
    return not isinstance(tree, (cadiff.Var, cadiff.Dual))


@contextlib.contextmanager
def noting() -> Iterator[list[Asked]]:
    """Note the derivatives that are asked for, of each function the first."""
    found: list[Asked] = []
    seen: set[tuple[str, int]] = set()

    def note(what: str, f: Any, argnums: Any, args: Any, kwargs: Any) -> None:
        if (what, id(f)) not in seen and is_plain((args, kwargs)):
            seen.add((what, id(f)))
            with contextlib.suppress(Exception):  # what cannot be copied is left out
                found.append(Asked(what, f, argnums, *copy.deepcopy((args, kwargs))))

    functions = {what: getattr(cadiff, what) for what in WHAT}
    methods = {what: getattr(cadiff.Program, what) for what in WHAT}
    for what in WHAT:
        setattr(cadiff, what, _noted_function(what, functions[what], note))
        setattr(cadiff.Program, what, _noted_method(what, methods[what], note))
    try:
        yield found
    finally:
        for what in WHAT:
            setattr(cadiff, what, functions[what])
            delattr(cadiff.Program, what)


def _noted_function(what: str, function: Any, note: Any) -> Any:
    @wraps(function)
    def made(f: Any, *options: Any, **named: Any) -> Any:
        derivative = function(f, *options, **named)
        if named.keys() - {"argnums"} or len(options) > 1:
            return derivative
        argnums = options[0] if options else named.get("argnums", 0)

        @wraps(derivative)
        def call(*args: Any, **kwargs: Any) -> Any:
            note(what, f, argnums, args, kwargs)
            return derivative(*args, **kwargs)

        return call

    return made


def _noted_method(what: str, method: Any, note: Any) -> Any:
    @wraps(method)
    def call(self: Any, *args: Any, argnums: Any = 0, **kwargs: Any) -> Any:
        note(what, self.__wrapped__, argnums, args, kwargs)
        return method(self, *args, argnums=argnums, **kwargs)

    return call


# --- who asks ------------------------------------------------------------------------------------


def askers() -> Iterator[tuple[str, Callable[[], None]]]:
    """Contests and examples by name, and how each is run."""
    for room in ROOMS:
        for item in room.CONTESTS:
            make, names = item if isinstance(item, tuple) else (item, None)
            yield named(room, make), partial(_run_contest, make, names)
    for problem in side_by_side.PROBLEMS:
        run = partial(_run_contest, problem.make, side_by_side.OURS)
        yield f"side_by_side: {problem.name}", run
    for path in sorted((ROOT / "examples").rglob("*.py")):
        yield str(path.relative_to(ROOT)), partial(_run_example, path)


def named(room: Any, make: Any) -> str:
    """A contest, by its room and how it is made."""
    function = make.func if isinstance(make, partial) else make
    options = [*make.args, *make.keywords.values()] if isinstance(make, partial) else []
    place = room.__name__.rpartition(".")[2]
    return f"{place}: {function.__name__}({', '.join(map(str, options))})"


def _run_contest(make: Callable[[], contests.Contest], names: Sequence[str] | None) -> None:
    contest = make()
    for name in names or contest.runners:
        contest.runners[name].call()


def _run_example(path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(path), run_name="__main__")


# --- timing --------------------------------------------------------------------------------------


def timed(where: str, asked: Asked) -> Pair:
    """Time the gradient function and the program at the same arguments."""
    what, f, argnums, args, kwargs = asked
    by = {} if argnums == 0 else {"argnums": argnums}
    program: Any = cadiff.compile(f)
    ways = {
        "eager": partial(getattr(cadiff, what)(f, **by), *args, **kwargs),
        "compiled": partial(getattr(program, what), *args, **by, **kwargs),
    }
    found = {name: float("inf") for name in ways}
    for call in ways.values():
        call()
    for rounds in (ROUNDS, AGAIN):
        timings = interleave(ways, rounds=rounds, seconds=SECONDS, shared=True)
        found = {name: min(found[name], timings.seconds(name).low) for name in ways}
        if found["compiled"] <= SLOWER * found["eager"]:
            break
    return Pair(where, asked, found["eager"], found["compiled"], program.stats()["eager"] > 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, time and print.

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
        prog="python -m benchmarks.slower",
        description="Every call whose program costs more than the eager one.",
    )
    parser.add_argument("--only", metavar="PATTERN", default="", help="of contests and examples")
    options = parser.parse_args(argv)
    print(f"{machine()}.\n\n{'eager us':>12} {'compiled':>12} {'ratio':>7}")
    pairs, skipped = [], []
    gc.freeze()  # else most of the time goes to collections between turns
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for where, run in askers():
            if not re.search(options.only, where):
                continue
            with noting() as found:
                try:
                    run()
                except (Exception, SystemExit) as error:  # of what is not installed, most often
                    skipped.append(f"{where}: {type(error).__name__}: {error}")
            for asked in found:
                try:
                    pairs.append(timed(where, asked))
                except cadiff.StaleVarError:  # of a function within another one
                    continue
                except Exception as error:  # a program may refuse what a gradient function takes
                    skipped.append(f"{where}, {asked.name}: {type(error).__name__}: {error}")
                else:
                    print(line(pairs[-1]), flush=True)
    print(f"\nSkipped: {len(skipped)}.", *(f"* {reason[:160]}" for reason in skipped), sep="\n")
    slower = sorted((pair for pair in pairs if pair.ratio > SLOWER), key=lambda p: -p.ratio)
    print(f"\nPrograms that are slower than the eager call: {len(slower)} of {len(pairs)}.")
    for pair in slower:
        print(line(pair))
    return 0


def line(pair: Pair) -> str:
    """Both times, and of what."""
    times = f"{1e6 * pair.eager:12,.2f} {1e6 * pair.compiled:12,.2f} {pair.ratio:7.2f}"
    return f"{times}  {pair.where}: {pair.asked.name}{', run eagerly' * pair.is_eager}"


if __name__ == "__main__":
    sys.exit(main())
