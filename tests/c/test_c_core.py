"""The core as C alone, without Python: src/*/*.c compiled with tests/c/*.c, and run.

It is built under the address and undefined-behaviour sanitizers, with limits as they are and with
small ones, and under the thread sanitizer, for the tests that have threads; and the tests run with
the very objects that the extension is made of. Each file of C is a test here: a process for each
of its tests took as long to start as to run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import pytest

from building.objects import CoreObjects

from ..helpers.table import TABLE, Domain, generate

fcntl = pytest.importorskip("fcntl", reason="processes share what they compile by its locks")

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src"
TESTS = ROOT / "tests" / "c"
KEPT = ROOT / "build" / "core_tests" if os.access(ROOT, os.W_OK) else Path(tempfile.mkdtemp())

# As in building/extension.py, exact arithmetic: no fused multiply-adds.
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
PTHREAD = [] if sys.platform == "darwin" else ["-pthread"]
OF_THREADS = ["-O0", "-g1", "-fsanitize=thread"]
SANITIZE_THREADS = [*OF_THREADS, *PTHREAD, *STRICT]
BUILDS = {
    "sanitized": ["-O0", "-g1", *STRICT, *SANITIZE],
    "shipped": ["-O0", *STRICT],  # the tests, that is: the core is as it was built
    # Small arrays go the ways of large ones, shorter rows those of long ones.
    "small": [
        *("-O0", "-g1", "-DCAD_LARGE_BLOCK=16", "-DCAD_TILE=256", "-DCAD_STRIP_ROOM=1"),
        *("-DCAD_LEAST_BOX=1", "-DCAD_NARROW_VECTORS"),
        *STRICT,
        *SANITIZE,
    ],
}
NAMES_OF = {
    path.stem: re.findall(r"\bTEST\((\w+)\)", path.read_text(encoding="utf-8"))
    for path in sorted(TESTS.glob("test_*.c"))
    if path.stem != "test_core"  # which runs them
}


def find_compiler() -> list[str] | None:
    """The C compiler that this Python was built with, or else cc."""
    configured = os.environ.get("CC") or sysconfig.get_config_var("CC") or ""
    for command in (shlex.split(configured), ["cc"], ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            return command
    return None


COMPILER = find_compiler()

if COMPILER is None or sys.platform == "win32":
    pytest.skip(
        "testing the core alone needs a C compiler that takes the options of gcc: none was found",
        allow_module_level=True,
    )


def run(command: list[str | Path], timeout: float = 600.0) -> subprocess.CompletedProcess[str]:
    leaks = "detect_leaks=1:" if sys.platform == "linux" else ""  # others do not know the option
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LD_PRELOAD", "DYLD_INSERT_LIBRARIES")
    } | {
        "ASAN_OPTIONS": leaks + "allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": "halt_on_error=1",
    }
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )


def output(command: list[str | Path]) -> str:
    """What the compiler prints."""
    done = run(command)
    if done.returncode != 0:
        pytest.fail(f"{shlex.join(map(str, command))}\n{done.stderr}", pytrace=False)
    return done.stdout


@cache
def version() -> str:
    return output([*COMPILER, "--version"])


# --- headers made from the table -------------------------------------------------------------


def domain_in_c(domain: Domain) -> str:
    """The bounds of an operand, and whether it is a whole number."""
    in_c = {float("-inf"): "-INFINITY", float("inf"): "INFINITY"}
    low, high = (in_c.get(bound, repr(bound)) for bound in (domain.low, domain.high))
    return f"{low}, {high}, {int(domain.is_whole)}"


def write_headers(directory: Path) -> None:
    """The headers made of the table for the core, domains.h for the tests."""
    generate.write_c(directory)
    lines = [
        f"DOMAIN_OF({row.word}, {i}, {domain_in_c(domain)})"
        for row in TABLE
        for i, domain in enumerate(row.domains)
    ]
    (directory / "domains.h").write_text("\n".join(lines) + "\n", encoding="utf-8")


# --- the programs ----------------------------------------------------------------------------


def demand_sanitizers(directory: Path) -> None:
    """Fail, and say why, where a program cannot be built with the sanitizers or does not run."""
    source = directory / "empty.c"
    source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    program = directory / "empty"
    built = run([*COMPILER, *SANITIZE, source, "-o", program])
    ran = run([program]) if built.returncode == 0 else built
    if ran.returncode != 0:
        pytest.fail(
            "the address and undefined-behaviour sanitizers do not work with "
            f"{shlex.join(COMPILER)}: install their runtime (libasan and libubsan of gcc, "
            f"compiler-rt of clang)\n{ran.stderr}",
            pytrace=False,
        )


RACE = """
#include <pthread.h>
static int shared;
static void *count(void *unused) {
    for (int i = 0; i < 1000; i++) {
        shared++;
    }
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], 0, count, 0) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], 0);
    }
    return 0;
}
"""


def thread_sanitizer(directory: Path) -> list[str]:
    """The command to run a program with that was built with the thread sanitizer, often none.

    Some systems lay out memory in ways that it cannot bear, unless they are told not to. Skips,
    and says why, where it finds no race.
    """
    source, program = directory / "race.c", directory / "race"
    source.write_text(RACE, encoding="utf-8")
    found = run([*COMPILER, *SANITIZE_THREADS, source, "-o", program])
    if found.returncode == 0:
        for prefix in ([], ["setarch", "-R"]):
            if not prefix or shutil.which(prefix[0]):
                found = run([*prefix, program])
                if "data race" in found.stderr:
                    return prefix
    pytest.skip(
        f"the thread sanitizer does not work with {shlex.join(COMPILER)}, it finds no race in a "
        f"program that has one: {found.stderr or f'exit status {found.returncode}'}"
    )


@pytest.fixture(scope="module")
def headers() -> Path:
    directory = KEPT / "headers"
    with one_at_a_time():
        write_headers(directory)
    return directory


# The build with small limits is sanitized, too.
OF_PROGRAMS = ["shipped", "small", pytest.param("sanitized", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=OF_PROGRAMS)
def program(
    request: pytest.FixtureRequest, headers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    if request.param == "sanitized":
        demand_sanitizers(tmp_path_factory.mktemp(request.param))
    compile_core = shipped if request.param == "shipped" else None
    return build([*BUILDS[request.param], *PTHREAD], headers, compile_core)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Tests may be shared among processes: the others wait for the one that compiles."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def objects_of_extension() -> CoreObjects:
    generate.write_c(CORE / "generated")
    of_python = shlex.split(sysconfig.get_config_var("CFLAGS") or "")
    return CoreObjects([*COMPILER, *of_python])


def shipped(source: Path) -> Path:
    """The object of a source that the extension has; compiled anew if it is not up to date."""
    return Path(objects_of_extension().compile(str(source.relative_to(ROOT))))


def build(
    options: list[str],
    headers: Path,
    compile_core: Callable[[Path], Path] | None = None,
    others: Sequence[Path] = (),
) -> Path:
    """The program of all tests, or of the core with other sources."""
    command = [*COMPILER, *options, *(f"-I{path}" for path in (CORE, headers, TESTS))]
    sources = [*sorted(CORE.glob("*/*.c")), *(others or sorted(TESTS.glob("*.c")))]
    # The largest first, so that no core waits for it at the end.
    sources.sort(key=lambda path: path.stat().st_size, reverse=True)
    with one_at_a_time(), ThreadPoolExecutor(os.cpu_count()) as pool:
        compile_one = partial(compiled, command, options)
        objects = sorted(
            pool.map(
                lambda source: (
                    compile_core(source)
                    if compile_core is not None and source.parent != TESTS
                    else compile_one(source)
                ),
                sources,
            )
        )
        contents = [hashlib.sha256(path.read_bytes()).hexdigest() for path in objects]
        program = kept(repr([options, contents]), "")
        if not program.exists():
            make([*COMPILER, *options, *objects, "-lm"], program)
    return program


def compiled(command: list[str], options: list[str], source: Path) -> Path:
    """The object of a source, told apart by what the preprocessor makes of the source: builds
    share what their limits do not change, and a change compiles what it reaches."""
    if source.parent == TESTS and source.stem != "test_threads" and options[:3] == OF_THREADS:
        command, options = (  # it is the core that is to be watched by threads
            [option for option in known if option not in OF_THREADS]
            for known in (command, options)
        )
    text = output([*command, "-E", source])
    flags = sorted(option for option in options if not option.startswith("-D"))
    path = kept(repr([version(), COMPILER, flags]) + text, ".o")
    if not path.exists():
        make([*command, "-c", source], path)
    return path


def kept(known: str, suffix: str) -> Path:
    """Where a file is kept that is made of just this: no Python takes part in it, so one build
    serves the tests on all of them."""
    return KEPT / (hashlib.sha256(known.encode()).hexdigest()[:16] + suffix)


def make(command: list[str | Path], path: Path) -> None:
    """Let the compiler write a file, which is there when it is whole."""
    new = path.with_suffix(".new" + path.suffix)
    output([*command, "-o", new])
    new.replace(path)


# --- the tests -------------------------------------------------------------------------------


def test_all_tests_are_found(program: Path) -> None:
    listed = run([program, "--list"])
    assert listed.returncode == 0, listed.stderr
    names = [name for names in NAMES_OF.values() for name in names]
    assert sorted(listed.stdout.split()) == sorted(names)
    assert len(set(names)) == len(names)


def test_unknown_test_is_refused(program: Path) -> None:
    assert run([program, "no_such_test"]).returncode == 2


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm lists what objects have")
def test_the_core_keeps_no_state() -> None:
    """Except for the loops that it borrows, and the door by which tests let memory run out."""
    objects = [shipped(source) for source in sorted(CORE.glob("*/*.c"))]
    rows = (line.split("|") for line in output(["nm", "--format=sysv", *objects]).splitlines())
    kept = [row[0].strip() for row in rows if row[-1].strip() in (".data", ".bss")]
    assert sorted(name.split(".")[0] for name in kept) == ["loops", "remaining"]


@pytest.mark.parametrize("file", NAMES_OF)
def test_core(program: Path, file: str) -> None:
    done = run([program, *NAMES_OF[file]])
    if done.returncode != 0:
        pytest.fail(f"{done.stdout}{done.stderr}", pytrace=False)


@pytest.fixture(scope="module")
def watched(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """How the program is called that was built with the thread sanitizer."""
    prefix = thread_sanitizer(tmp_path_factory.mktemp("threads"))
    return [*prefix, build(SANITIZE_THREADS, headers)]


@pytest.mark.slow
def test_threads_do_not_race(watched: list[str | Path]) -> None:
    done = run([*watched, *NAMES_OF["test_threads"]])
    if done.returncode != 0:
        pytest.fail(f"{done.stdout}{done.stderr}", pytrace=False)
