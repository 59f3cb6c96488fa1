"""Plants small faults in sources, one at a time, and says how many of them the tests catch.

    python -m tests.faults FILE... [--sample N] [--seed S] [--jobs J]
    python -m tests.faults --all N [--seed S] [--jobs J] [--write]

With `--all` N faults are drawn over all of `src` and `cadiff`, C, Cython and Python: as many of a
file as its lines say. A fault is judged by the tests that reach its line (seen.py): the most
particular ones first, then more of them, then those of the core in C. It is caught if one fails,
crashes, or does not come to an end. One that no test catches is printed with its line before and
after, for a person to judge: it may change nothing (then it stands in `equivalent.txt`, with the
reason), or be what a test is to be written for. What does not compile is not counted.

What came of each fault is kept at once in `build/faults/judged.json`, by which a run that was
stopped goes on; `--write` puts a draw into `docs/trust.json`, from which `docs/trust.md` is made,
and goes on from there, too. The tree is left alone: faults are planted in copies of it in
`build/faults`, compiled with -O0. It takes gcc, binutils and Python 3.12.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import queue
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from ..trust import figures
from ..trust.page import write_page
from .copies import KEPT, ROOT, Copy, end_all
from .planting import Fault, sample
from .seen import Seen, Test, record

SUFFIXES = (".c", ".h", ".py", ".pyx")
PARTS = ("src/", "cadiff/binding/", "cadiff/")
CORE = ["tests/c/test_c_core.py", "-k", "shipped or small"]
FIRST, MORE = (20, 10.0), (200, 60.0)  # how many tests are asked, and their seconds at most
PATIENCE = 60.0
Outcome = dict[str, Any]  # path, line, kind, before, after, and the test that caught it, or ""


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


def drawn(wanted: dict[str, int], seed: int) -> Iterator[tuple[str, Fault]]:
    """Faults of files, some more of each than are wanted, since not all compile."""
    for path, count in wanted.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        faults = sample(text, Path(path).suffix, f"{seed}:{path}")
        yield from ((path, fault) for fault in islice(faults, 2 * count + 2))


def chosen(tests: list[Test], most: int, seconds: float) -> list[str]:
    """Some of the tests, of each function one before there are two, for so many seconds."""
    turns: Counter[str] = Counter()
    ranked = []
    for k, test in enumerate(tests):
        function = test.name.partition("[")[0]
        turns[function] += 1
        ranked.append((turns[function], k))
    names, left = [], seconds
    for _, k in sorted(ranked):
        if len(names) < most and tests[k].seconds <= left:
            names.append(tests[k].name)
            left -= tests[k].seconds
    return names


def failed(copy: Copy, tests: list[str], patience: float = PATIENCE) -> str:
    """The first test that fails, crashes or is silent for long, "" if none does."""
    while tests:
        code = copy.pytest(["-x", "-v", "-m", "", *tests], patience)
        text = copy.text()
        if code in (0, 5):
            return ""
        gone = set(re.findall(r"not found: \S*?/(tests/.+)$", text, re.MULTILINE))
        if code == 4 and gone & set(tests) and copy.imports():  # a name of another process
            tests = [name for name in tests if name not in gone]
            continue
        begun = [line for line in text.split("\n") if re.match(r"tests/\S+::", line)]
        return begun[-1].split(" ")[0] if begun else "as tests are collected"
    return ""


def catch(copy: Copy, path: str, fault: Fault, seen: list[Test]) -> str | None:
    """The test that catches a fault, "" if none does, None if it does not compile."""
    source = copy.root / path
    text = source.read_text(encoding="utf-8")
    source.write_text(fault.planted_in(text), encoding="utf-8")
    try:
        if path.endswith(".py"):
            try:
                compile(source.read_text(encoding="utf-8"), path, "exec")
            except SyntaxError:
                return None
        elif not copy.build():
            return None
        if not copy.imports():
            return "as the package is imported"
        first = chosen(seen, *FIRST)
        more = [name for name in chosen(seen, *MORE) if name not in set(first)]
        return (
            failed(copy, first)
            or failed(copy, more)
            or (failed(copy, CORE, 600.0) if path.startswith("src/") else "")
        )
    finally:
        source.write_text(text, encoding="utf-8")


def name_of(path: str, fault: Fault) -> tuple[str, str, str]:
    return path, fault.before.strip(), fault.after.strip()


class Kept:
    """What came of faults, on disk after each: None for one that does not compile."""

    def __init__(self) -> None:
        self.file = KEPT / "judged.json"
        known = json.loads(self.file.read_text()) if self.file.exists() else []
        known += figures.read().get("faults", {}).get("judged", [])
        self.outcomes: dict[tuple[str, str, str], Outcome] = {
            figures.fault_name(one): one for one in known
        }

    def add(self, path: str, fault: Fault, test: str | None, seconds: float) -> None:
        name = name_of(path, fault)
        self.outcomes[name] = {
            **dict(zip(("path", "before", "after"), name, strict=True)),
            "kind": fault.kind,
            "test": None if test is None else test.split("[")[0],
            "seconds": round(seconds),
        }
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(list(self.outcomes.values()), indent=1))
        new.replace(self.file)


def judge(wanted: dict[str, int], seed: int, jobs: int) -> list[Outcome]:
    """What came of the faults of a draw."""
    kept, lock = Kept(), Lock()
    everything = list(drawn(wanted, seed))
    left: Counter[str] = Counter(wanted)
    new = []
    for path, fault in everything:
        known = kept.outcomes.get(name_of(path, fault))
        if known is None:
            new.append((path, fault))
        elif known["test"] is not None:
            left[path] -= 1
    if any(count > 0 for count in left.values()):
        record(jobs)
        seen = Seen({(path, fault.line + 1) for path, fault in new})
        waiting: queue.SimpleQueue[tuple[str, Fault]] = queue.SimpleQueue()
        for one in new:
            waiting.put(one)

        def work(number: int) -> None:
            copy = Copy(str(number))
            copy.synchronise()
            if not copy.build():
                raise SystemExit(f"{copy.text()}\nthe copy cannot be built")
            while True:
                try:
                    path, fault = waiting.get_nowait()
                except queue.Empty:
                    return
                with lock:
                    if left[path] <= 0:
                        continue
                    left[path] -= 1
                begun = time.monotonic()
                test = catch(copy, path, fault, seen.tests(path, fault.line + 1))
                with lock:
                    left[path] += test is None
                    kept.add(path, fault, test, time.monotonic() - begun)
                    tell(path, fault, test)

        pool = ThreadPoolExecutor(jobs)
        try:
            for future in [pool.submit(work, number) for number in range(jobs)]:
                future.result()
        except BaseException:
            end_all()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    outcomes, counts = [], Counter(wanted)
    for path, fault in everything:
        one = kept.outcomes.get(name_of(path, fault))
        if one is not None and one["test"] is not None and counts[path] > 0:
            counts[path] -= 1
            outcomes.append(one)
    return outcomes


def tell(path: str, fault: Fault, test: str | None) -> None:
    said = "does not compile" if test is None else test or "NOT CAUGHT"
    print(f"{path}:{fault.line + 1}: {fault.kind}, {said}")
    if test == "":
        print(f"    - {fault.before.strip()}\n    + {fault.after.strip()}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="*", metavar="FILE", help="of src or cadiff")
    parser.add_argument("--all", type=int, default=0, metavar="N", help="N faults over all files")
    parser.add_argument("--sample", type=int, default=10, metavar="N", help="faults a file: 10")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="other faults: 1")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="copies side by side: 1")
    parser.add_argument("--write", action="store_true", help="write the page about trust")
    arguments = parser.parse_args()
    paths = [Path(file).resolve().relative_to(ROOT).as_posix() for file in arguments.files]
    if not paths and not arguments.all:
        parser.error("expected files, or --all and how many faults are to be planted")
    wanted = dict.fromkeys(paths, arguments.sample)
    if arguments.all:
        wanted = drawn_over_all(arguments.all, arguments.seed)
    for path in wanted:
        if not path.startswith(PARTS) or Path(path).suffix not in SUFFIXES:
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
        outcomes = judge(wanted, arguments.seed, arguments.jobs)
    print()
    for part in PARTS:
        own = [
            one for one in outcomes if next(p for p in PARTS if one["path"].startswith(p)) == part
        ]
        print(f"{part:16}  {sum(bool(one['test']) for one in own)} of {len(own)}")
    print(f"{'in all':16}  {sum(bool(one['test']) for one in outcomes)} of {len(outcomes)}")
    if arguments.write:
        command = f"python -m tests.faults --all {arguments.all} --seed {arguments.seed}"
        figures.remember("faults", command, {"judged": outcomes})
        write_page()


if __name__ == "__main__":
    main()
