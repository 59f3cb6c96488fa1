"""Looks for faults by drawing cases; needs no oracle but NumPy, SciPy, Python and differences.

    python -m tests.search [--seconds N | --cases N | --all] [--seed S] [--kind K] [--only NAME]
                           [--jobs J]

* `names`: every public name with derivatives, found by introspection, under arguments drawn by
  kind: floats, whole numbers, lists, float32, complex, without axes, empty, strided, reversed,
  at ties, zeros, limits of domains, where formulas meet, of matrices that are singular or huge.
* `docstrings`: the examples of NumPy's and SciPy's installed docstrings, with numbers that move.
* `programs`: random functions with handlers, generators, closures, properties, changing state;
  each called many times as a compiled program, beside f itself.

Each case is a function of two numbers, by which its arguments move (`probes.py`), so that all
invariants are stated once (`invariants.py`): values, shapes and dtypes as the original's; whole
numbers as the same floats; forward = reverse = linear maps; mixed partials symmetric; derivatives
that differences do not contradict (`differences.py`); eager = compiled = batch = native. An error
is an answer if it says what has no derivative or what to write instead.

A case that is wrong is printed with its seed, `kind:name:number`, which runs it again:

    python -m tests.search --seed names:scipy.special.kve:3

A whole number as a seed (1 by default) chooses where among the subjects a run begins, and what is
drawn. `--cases` examines so many, the same on every machine; `--seconds` as many as there is time
for; `--all` goes on until each subject has had `ROUNDS` cases. The exit code is 1 if something is
wrong.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import argparse
import itertools
import re
import sys
import tempfile
import time
from collections.abc import Iterator

from .invariants import Outcome
from .kinds import KINDS, SHARES, Seed, subjects
from .report import Report, shown
from .running import examined, run

GOLDEN = 0.618033988749895  # multiples of it are far apart: so are the beginnings of slices
ROUNDS = 6
LONGEST = 6600.0  # seconds


def seeds_of(kind: str, seed: int, only: str, rounds: int) -> Iterator[Seed]:
    """Cases of a kind: subjects from the seed's beginning on, round by round."""
    names = [name for name in subjects(kind) if re.search(only, name)]
    if not names:
        return
    begin = int(seed * GOLDEN % 1.0 * len(names))
    turned = names[begin:] + names[:begin]
    shares = {name: getattr(subjects(kind)[name], "share", 1) for name in turned}
    for turn in range(rounds):
        for k in range(max(shares.values())):
            for name in turned:
                if k < shares[name]:
                    yield Seed(kind, name, seed * 1000 + turn * shares[name] + k)


def mixed(seed: int, kinds: list[str], only: str, rounds: int) -> Iterator[Seed]:
    """Cases of several kinds, each having its share of any number of cases."""
    lines = {kind: seeds_of(kind, seed, only, rounds) for kind in kinds}
    shares = {kind: itertools.repeat(kind, SHARES[kind]) for kind in kinds}
    while lines:
        for kind in [k for turn in itertools.zip_longest(*shares.values()) for k in turn if k]:
            if kind in lines:
                case = next(lines[kind], None)
                if case is None:
                    del lines[kind]
                else:
                    yield case
        shares = {kind: itertools.repeat(kind, SHARES[kind]) for kind in lines}


def again(text: str) -> int:
    """One case, by the text of its seed, in this process."""
    seed = Seed.parsed(text)
    outcome = examined(seed)
    print(shown(seed, outcome), f"\n{outcome.status} {outcome.refusal}")
    return 1 if outcome.findings else 0


def examine(cases: Iterator[Seed], kinds: list[str], seconds: float, jobs: int) -> Report:
    """Examine cases for so many seconds; what is wrong is printed as it is found."""
    report = Report()
    for kind in kinds:
        subjects(kind)  # which workers inherit

    def note(seed: Seed, outcome: Outcome, took: float) -> None:
        report.note(seed, outcome, took)
        if outcome.findings:
            print(shown(seed, outcome), flush=True)

    run(cases, seconds, jobs, note)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.search", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look")
    parser.add_argument("--cases", type=int, help="how many to look at, however long it takes")
    parser.add_argument("--seed", default="1", help="a number, or kind:name:number")
    parser.add_argument("--kind", choices=KINDS, help="look at one kind alone")
    parser.add_argument("--only", default="", help="names that this pattern is found in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--all", action="store_true", help=f"{ROUNDS} rounds of all")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:  # examples write files
        os.chdir(place)
        return searched(chosen)


def searched(chosen: argparse.Namespace) -> int:
    if ":" in chosen.seed:
        return again(chosen.seed)
    begun, seed = time.monotonic(), int(chosen.seed)
    kinds = [chosen.kind] if chosen.kind else [*KINDS]
    rounds, seconds = (ROUNDS, LONGEST) if chosen.all or chosen.cases else (10**6, chosen.seconds)
    cases = itertools.islice(mixed(seed, kinds, chosen.only, rounds), chosen.cases)
    report = examine(cases, kinds, seconds, chosen.jobs)
    print(f"\nseed {seed}, {time.monotonic() - begun:.0f} s\n{report.text()}")
    return 0 if report.is_green else 1


if __name__ == "__main__":
    sys.exit(main())
