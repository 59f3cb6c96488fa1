"""Plants small faults in sources, one at a time, and says how many of them the tests catch.

    python -m tests.faults FILE... [--sample N] [--seed S] [--jobs J]
    python -m tests.faults --all N [--seed S] [--jobs J]

With `--all` N faults are drawn over all of `src` and `cadiff`, C, Cython and Python: as many of a
file as its lines say. What came of them is added to `docs/trust.json`, from which `docs/trust.md`
is made; faults that change nothing stand in `tests/faults/equivalent.txt`, with the reason.

A fault is caught if a test fails, crashes, or does not come to an end. One that no test catches is
printed with its line before and after, for a person to judge: it may be none (a buffer that grows
a little later), or what a test is to be written for. What does not compile is not counted.

The tree is left alone: faults are planted in copies of it, which are kept in `build/faults`, with
what is built there, compiled with -O0 unless CADIFF_CFLAGS says otherwise.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import queue
import random
import re
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path

from ..trust.figures import add_faults
from ..trust.page import write_page
from .copies import KEPT, ROOT, Copy, end_all
from .planting import Fault, sample

# The folders of the tests that judge a source: those of the first beginning that fits.
JUDGED_BY = {
    "src/graph/": ("programs", "transforms"),
    "src/program/": ("programs", "transforms"),
    "src/linear/": ("transforms", "binding"),
    "src/kernels/": ("numerics", "programs", "transforms"),
    "src/": ("binding", "transforms", "programs"),
    "cadiff/binding/": ("programs", "binding", "transforms"),
    "cadiff/programs/": ("programs",),
    "cadiff/transforms/": ("transforms",),
    "cadiff/optimize/": ("optimize",),
    "cadiff/inspection/": ("inspection",),
    "cadiff/plot/": ("plot",),
    "cadiff/": ("numerics", "transforms"),
}
JUDGED = ("src", "cadiff", "tests/helpers")
OF_CORE = "tests/c/test_c_core.py"
CORE_ARGS = [OF_CORE, "-k", "sanitized or small"]
Outcome = dict[str, str]  # where, what, and the test that caught it, or ""
LIKELIEST = 6  # files of tests that are asked before all others are even collected


def files_for(path: str) -> list[str]:
    folders = next(tests for start, tests in JUDGED_BY.items() if path.startswith(start))
    found = [
        file for name in folders for file in sorted((ROOT / "tests" / name).glob("test_*.py"))
    ]
    return [file.relative_to(ROOT).as_posix() for file in found]


class Tests:
    """The files of tests that judge a source, those that are likeliest to fail first.

    These are the ones that have caught the most faults; at first, those that name the most of what
    the source defines.
    """

    def __init__(self, path: str, seconds: dict[str, float]) -> None:
        text = (ROOT / path).read_text(encoding="utf-8")
        defined = re.findall(r"^\s*(?:def|class|cdef class) (\w{4,})", text, re.MULTILINE)
        words = re.compile(rf"\b(?:{'|'.join([Path(path).stem, *defined])})\b")
        self.named = {
            name: len(set(words.findall((ROOT / name).read_text(encoding="utf-8"))))
            for name in files_for(path)
        }
        self.seconds = {name: seconds.get(name, 0.0) for name in self.named}
        self.caught: Counter[str] = Counter()

    def in_order(self) -> list[str]:
        def rank(name: str) -> tuple[int, int, float]:
            return -self.caught[name], -self.named[name], self.seconds[name]

        return sorted(self.named, key=rank)


def prepare(copy: Copy, paths: list[str]) -> dict[str, float]:
    """Build a copy, and let its tests run without a fault; how long each file of them took.

    Of a tree whose tests have run before, that is kept.
    """
    copy.synchronise()
    print("building a copy ...", flush=True)
    if not copy.build():
        sys.exit(f"{copy.text()}\nthe copy cannot be built")
    of_tree = hashlib.sha256()
    for path in sorted(path for top in JUDGED for path in copy.files(top)):
        of_tree.update(path.read_bytes())
    kept = KEPT / "seconds.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    files = {file for path in paths for file in files_for(path)}
    files |= {OF_CORE for path in paths if path.startswith("src/")}
    stamps = {}
    for file in files:
        of_both = of_tree.copy()
        of_both.update((copy.root / file).read_bytes())
        stamps[file] = of_both.hexdigest()[:16]
    new = sorted(file for file in files if known.get(file, [""])[0] != stamps[file])
    for arguments in (
        [file for file in new if file != OF_CORE],
        CORE_ARGS if OF_CORE in new else [],
    ):
        if arguments:
            print("testing it without a fault ...", flush=True)
            if copy.failed_test(arguments) is not None:
                sys.exit(f"{copy.text()[-4000:]}\nthe tests fail without a fault")
            seconds = copy.seconds()
            known |= {
                file: [stamps[file], seconds.get(file, 0.0)] for file in new if file in arguments
            }
            kept.write_text(json.dumps(known))
    return {file: known[file][1] for file in files}


def catch(copy: Copy, path: str, fault: Fault, tests: Tests) -> str | None:
    """The test that catches a fault, "" if none does, None if it does not compile."""
    source = copy.root / path
    text = source.read_text(encoding="utf-8")
    source.write_text(fault.planted_in(text), encoding="utf-8")
    try:
        if not copy.compiles(path):
            return None
        if path.startswith("src/") and (test := copy.failed_test(CORE_ARGS)) is not None:
            return test
        if not path.endswith(".py") and not copy.build():
            return None
        files = tests.in_order()
        patience = 20.0 + 3.0 * max(tests.seconds.values())
        for some in (files[:LIKELIEST], files[LIKELIEST:]):
            if some and (test := copy.failed_test(some, patience)) is not None:
                tests.caught[test.split("::")[0]] += 1
                return test
        return ""
    finally:
        source.write_text(text, encoding="utf-8")


def judge(path: str, seed: int, wanted: int, tests: Tests, copies: list[Copy]) -> list[Outcome]:
    """What came of some faults of a source."""
    outcomes: list[Outcome] = []
    free: queue.Queue[Copy] = queue.Queue()
    for copy in copies:
        free.put(copy)

    def catch_in_some(fault: Fault) -> str | None:
        copy = free.get()
        try:
            return catch(copy, path, fault, tests)
        finally:
            free.put(copy)

    text = (ROOT / path).read_text(encoding="utf-8")
    faults = sample(text, Path(path).suffix, f"{seed}:{path}")
    judged = 0
    pool = ThreadPoolExecutor(len(copies))
    try:
        while judged < wanted and (some := list(islice(faults, wanted - judged))):
            for fault, test in zip(some, pool.map(catch_in_some, some), strict=True):
                if test is None:
                    continue
                judged += 1
                outcomes.append(
                    {
                        "path": path,
                        "kind": fault.kind,
                        "before": fault.before.strip(),
                        "after": fault.after.strip(),
                        "test": test.split("[")[0],
                    }
                )
                print(f"{path}:{fault.line + 1}: {fault.kind}, {test or 'NOT CAUGHT'}")
                if not test:
                    print(f"    - {fault.before.strip()}\n    + {fault.after.strip()}")
                sys.stdout.flush()
    except BaseException:
        end_all()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return outcomes


def drawn_over_all(n: int, seed: int) -> dict[str, int]:
    """How many faults to plant in which files, of all that the product is made of.

    The files come in any order, so that a run that is ended early has asked all kinds of them.
    """
    files = [
        path
        for top in ("src", "cadiff")
        for path in sorted((ROOT / top).rglob("*.*"))
        if path.suffix in SUFFIXES and "generated" not in path.parts
    ]
    lines = [len(path.read_text(encoding="utf-8").split("\n")) for path in files]
    drawn = Counter(random.Random(seed).choices(files, lines, k=n))
    return {path.relative_to(ROOT).as_posix(): count for path, count in drawn.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="*", metavar="FILE", help="of src or cadiff")
    parser.add_argument("--all", type=int, default=0, metavar="N", help="N faults over all files")
    parser.add_argument("--sample", type=int, default=10, metavar="N", help="faults a file: 10")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="other faults: 0")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="copies side by side: 1")
    arguments = parser.parse_args()
    paths = [Path(file).resolve().relative_to(ROOT).as_posix() for file in arguments.files]
    if not paths and not arguments.all:
        parser.error("expected files, or --all and how many faults are to be planted")
    wanted = dict.fromkeys(paths, arguments.sample)
    if arguments.all:
        wanted = drawn_over_all(arguments.all, arguments.seed)
        paths = list(wanted)
    for path in paths:
        if not path.startswith(("src/", "cadiff/")) or Path(path).suffix not in SUFFIXES:
            parser.error(f"faults are planted in {', '.join(SUFFIXES)} of src and cadiff: {path}")

    KEPT.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    with ExitStack() as stack:
        stack.callback(end_all)
        lock = stack.enter_context((KEPT / "lock").open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"another run plants faults in {KEPT}")
        copies = [Copy(i) for i in range(arguments.jobs)]
        seconds = prepare(copies[0], paths)
        for copy in copies[1:]:
            copy.synchronise(copies[0].root)
            copy.build()
        one = partial(judge, seed=arguments.seed, copies=copies)
        shares = {}
        for path in paths:
            outcomes = one(path, wanted=wanted[path], tests=Tests(path, seconds))
            shares[path] = (sum(bool(one["test"]) for one in outcomes), len(outcomes))
            if arguments.all:
                add_faults(outcomes)
                write_page()
    shares["in all"] = tuple(map(sum, zip(*shares.values(), strict=True)))  # type: ignore[assignment]
    width = max(map(len, shares))
    print()
    for path, (caught, judged) in shares.items():
        print(f"{path:{width}}  {caught} of {judged}")


SUFFIXES = (".c", ".h", ".py", ".pyx")

if __name__ == "__main__":
    main()
