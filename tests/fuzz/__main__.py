"""Fuzzes the C core with libFuzzer, and the binding with atheris, guided by what code is reached.

    python -m tests.fuzz [--seconds N] [--target T ...] [--seed S] [--jobs J] [--write]

Each target takes bytes, and makes of them a tape, a program over arrays, a graph as it stands in a
pickle, a function and its derivatives, or (`binding`) pickles and calls of the package; its file
says what has to hold. All targets share the time, with short inputs first, then with longer ones.
Seeds are printed, corpora grow in `build/fuzz/corpus`. `--write` adds executions and seconds to
those of earlier runs in `docs/trust.json`.

What makes a target fail is kept in `build/fuzz/found`. Once it is mended, a small file of it goes
into `tests/fuzz/corpus`, whose files `tests/c/test_fuzzed.py` runs with the suite.

clang has to be there with its run-time libraries (on Debian clang and libclang-rt-dev, or clang-14
and libclang-rt-14-dev). The core is built with the address and undefined-behaviour sanitizers, but
for one check: clang calls an offset of zero from NULL undefined, which C was never meant to.
atheris comes from PyPI into `build/fuzz/atheris`; it is guided by Python code alone, and runs the
extension that is built in the tree.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from ..c.test_c_core import CORE, ROOT, TESTS, write_headers
from ..c.test_fuzzed import FUZZ, KEPT, OF_CORE, SOURCES
from ..trust import figures
from ..trust.page import write_page

BUILT = ROOT / "build" / "fuzz"
FOUND = BUILT / "found"
TARGETS = (*OF_CORE, "binding")
# Bytes of an input at most, in turn; the shortest graph has some hundreds.
LENGTHS = {"graph": (512, 4096), "binding": (1024,)}
SHORT_AND_LONG = (64, 1000)
MOST_MEGABYTES = 4096

SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize=pointer-overflow"]
GUIDED = "-fsanitize-coverage=inline-8bit-counters,pc-table"
FLAGS = ["-std=c11", "-O1", "-g1", "-w", "-ffp-contract=off", "-fno-sanitize-recover=all"]


def find_clang() -> str:
    """The command of clang; the newest of those that carry a version."""
    wanted = os.environ.get("CLANG")
    versions = [f"clang-{n}" for n in range(30, 10, -1)]
    for name in [wanted] if wanted else ["clang", *versions]:
        if shutil.which(name):
            return name
    sys.exit(
        "libFuzzer is a part of clang, which was not found: install it with its run-time "
        "libraries, such as by `apt-get install clang libclang-rt-dev`, or name it by CLANG=…"
    )


def run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-2000:]}{done.stderr[-4000:]}\n{' '.join(command)} failed")


def newest(*folders: Path) -> float:
    """When a header, or the table, was changed last: generated headers are made of the table."""
    paths = (path for folder in folders for path in folder.rglob("*.[hd]*"))
    return max(path.stat().st_mtime for path in paths if path.parent.name != "generated")


class Core:
    """The core built for fuzzing: objects are made again if they, or a header, have changed."""

    def __init__(self) -> None:
        self.clang = find_clang()
        headers = BUILT / "headers"
        headers.mkdir(parents=True, exist_ok=True)
        write_headers(headers)
        includes = [f"-I{path}" for path in (CORE, headers, TESTS, FUZZ)]
        self.command = [self.clang, *FLAGS, *SANITIZE, GUIDED, *includes]
        self.newest = {CORE: newest(CORE), TESTS: newest(CORE, TESTS, FUZZ)}
        sources = [*CORE.glob("*/*.c"), *(path for path in SOURCES if path.stem != "fuzzer")]
        (BUILT / "objects").mkdir(exist_ok=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self.objects = list(pool.map(self.compiled, sources))

    def compiled(self, source: Path) -> str:
        result = BUILT / "objects" / f"{source.parent.name}-{source.stem}.o"
        of_headers = self.newest[CORE if CORE in source.parents else TESTS]
        latest = max(of_headers, source.stat().st_mtime)
        if not result.exists() or result.stat().st_mtime < latest:
            run([*self.command, "-c", str(source), "-o", str(result)])
        return str(result)

    def linked(self, name: str, *options: str) -> str:
        result = str(BUILT / name)
        main = str(FUZZ / "fuzzer.c")
        run([*self.command, *options, main, *self.objects, "-lm", "-o", result])
        return result

    def fuzzer(self, target: str) -> list[str]:
        """The command that fuzzes a target."""
        return [self.linked(target, "-fsanitize=fuzzer", f"-DFUZZED=fuzz_{target}")]


def corpus_of(target: str) -> Path:
    """The corpus of a target, which begins with what is kept in the tree."""
    corpus = BUILT / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    for path in (KEPT / target).glob("*"):
        shutil.copy2(path, corpus / path.name)
    return corpus


def binding() -> list[str]:
    """The command that fuzzes the binding."""
    atheris = BUILT / "atheris"
    if not atheris.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
        run([*pip, "--target", str(atheris), "atheris"])
    return [sys.executable, "-m", "tests.fuzz.binding"]


def fuzz(
    target: str, longest: int, command: list[str], seconds: int, seed: int
) -> tuple[int, bool]:
    """How many executions there were, of inputs up to a length, and whether all went well."""
    corpus, log = corpus_of(target), BUILT / f"{target}-{longest}.log"
    FOUND.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1"]
    options += [f"-max_len={longest}", f"-rss_limit_mb={MOST_MEGABYTES}"]
    options += ["-len_control=0"]
    options += [f"-artifact_prefix={FOUND}/{target}-", "-timeout=60", str(corpus)]
    paths = [str(ROOT), str(BUILT / "atheris"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    # Who asked for memory is written down at each request else, which takes half of the time.
    environment["ASAN_OPTIONS"] = (
        "detect_leaks=1:allocator_may_return_null=1:malloc_context_size=0:quarantine_size_mb=16"
    )
    with log.open("w") as output:
        done = subprocess.run(
            [*command, *options], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
    text = log.read_text(encoding="utf-8", errors="replace")
    runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    covered = re.findall(r"\bcov: (\d+)", text)
    executions = int(runs[-1]) if runs else 0
    print(
        f"{target}, at most {longest} bytes, seed {seed}: {executions:,} executions "
        f"in {seconds} s, {covered[-1] if covered else 0} places reached",
        flush=True,
    )
    if done.returncode != 0:
        kept = re.findall(r"Test unit written to (\S+)", text)
        said = re.findall(r"^.*(?:ERROR:|runtime error:| is false|: no, ).*$", text, re.MULTILINE)
        print("\n".join([f"{target} failed: {' '.join(kept)}", *said[:5], f"see {log}"]))
    return executions, done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="in all: 60")
    parser.add_argument("--target", action="append", choices=TARGETS, help="all, unless given")
    parser.add_argument(
        "--seed", type=int, metavar="S", help="another one each time, unless given"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="side by side: 1")
    parser.add_argument("--write", action="store_true", help="write the page about trust")
    arguments = parser.parse_args()
    targets = arguments.target or TARGETS
    seed = random.randrange(1, 1 << 31) if arguments.seed is None else arguments.seed
    core = Core() if set(targets) & set(OF_CORE) else None
    if core is not None and "graph" in targets:
        run([core.linked("replay"), "--seeds", str(corpus_of("graph"))])
    commands = {
        target: core.fuzzer(target) if core and target in OF_CORE else binding()
        for target in targets
    }
    lengths = [(t, n) for t in targets for n in LENGTHS.get(t, SHORT_AND_LONG)]
    share = max(1, arguments.seconds * arguments.jobs // len(lengths))

    def one(target: str, longest: int) -> bool:
        executions, went_well = fuzz(target, longest, commands[target], share, seed)
        with lock:
            if arguments.write:
                figures.add_executions(target, executions, share)
                write_page()
        return went_well

    lock = Lock()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        return not all([*pool.map(one, *zip(*lengths, strict=True))])


if __name__ == "__main__":
    sys.exit(main())
