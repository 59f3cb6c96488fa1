"""All checks of the project, each in a virtual environment of its own.

nox -s tests      the test suite on every supported Python that is found
nox               everything: tests, lint, sanitizers, distributions, examples, benchmarks
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

SUPPORTED = ("3.10", "3.11", "3.12", "3.13")
ROOT = Path(__file__).parent

# All cores share the tests.
SIDE_BY_SIDE = ("-n", "auto", "--dist", "worksteal")

# Tests in which no Python takes part: once is enough.
WITHOUT_C_CORE = "--deselect=tests/c/test_c_core.py"

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True
nox.options.reuse_existing_virtualenvs = False


def runs(interpreter: str, version: str) -> bool:
    """Whether a file is a working interpreter of a version; a manager's shim may not be."""
    check = f"import sys; raise SystemExit('%d.%d' % sys.version_info[:2] != '{version}')"
    return subprocess.run([interpreter, "-c", check], capture_output=True).returncode == 0


def find_interpreters() -> list[str]:
    """One interpreter of each supported version that this machine has."""
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in SUPPORTED:
        candidates = [sys.executable, shutil.which(f"python{version}")]
        candidates += sorted(str(path) for path in managed.glob(f"{version}.*/bin/python"))
        working = [path for path in candidates if path and runs(path, version)]
        found += working[:1]
    return found


INTERPRETERS = find_interpreters()


@nox.session(python=INTERPRETERS)
def tests(session: nox.Session) -> None:
    """The test suite, with doctests; the C core's own tests beside the first Python."""
    session.install(".[test]", "pytest-xdist")
    options = () if session.python == INTERPRETERS[0] else (WITHOUT_C_CORE,)
    session.run("pytest", *SIDE_BY_SIDE, *options, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types: ruff, clang-format, mypy, and the stubs against the compiled module."""
    session.install("-e", ".[test,lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    sources = [
        str(p)
        for d in ("src", "cadiff", "tests/c", "benchmarks")
        for p in (ROOT / d).rglob("*.[ch]")
        if p.parent.name != "generated"
    ]
    session.run("clang-format", "--dry-run", "-Werror", *sources)
    session.run("mypy")
    options = ["--allowlist", "tests/house/stubtest.txt", "--mypy-config-file", "pyproject.toml"]
    session.run("python", "-m", "mypy.stubtest", "cadiff", *options)


@nox.session
def debug(session: nox.Session) -> None:
    """The test suite with assertions, and small arrays treated as large ones are."""
    flags = "-UNDEBUG -DCAD_LARGE_BLOCK=2 -DCAD_BORROW=2 -DCAD_TILE=3"
    session.install(".[test]", "pytest-xdist", env={"CADIFF_CFLAGS": flags})
    session.run("pytest", *SIDE_BY_SIDE, WITHOUT_C_CORE, env={"PYTHONMALLOC": "debug"})


@nox.session
def sanitize(session: nox.Session) -> None:
    """The test suite on an extension built with address and undefined-behaviour sanitizers."""
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -O1 -g1"
    environment = {"CADIFF_CFLAGS": flags, "CADIFF_LDFLAGS": flags}
    session.install("-v", ".[test]", "pytest-xdist", env=environment)
    libraries = []
    for name in ("libasan.so", "libubsan.so", "libstdc++.so.6"):
        path = subprocess.run(
            ["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        libraries.append(path)
    session.run(
        "pytest",
        *SIDE_BY_SIDE,
        WITHOUT_C_CORE,
        env={
            "LD_PRELOAD": " ".join(libraries),
            # CPython keeps memory at exit, and NumPy's signal handlers are its own.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "PYTHONMALLOC": "malloc",
        },
    )


@nox.session
def distributions(session: nox.Session) -> None:
    """The sdist, and the wheel that is built from it: installed and used away from the tree."""
    session.install("build")
    out = Path(session.create_tmp()).resolve()
    session.run("python", "-m", "build", "--outdir", str(out), str(ROOT))
    session.install(f"cadiff[scipy] @ {next(out.glob('*.whl')).as_uri()}")
    session.chdir(out)
    session.run("python", "-m", "cadiff", "--no-timing")


@nox.session
def examples(session: nox.Session) -> None:
    """Every example runs as it stands and checks itself; every benchmark gives right numbers."""
    session.install("-e", ".[test,examples]")
    for example in sorted((ROOT / "examples").glob("*.py")):
        session.run("python", str(example))
    session.run("python", "-m", "benchmarks.table", "--quick")
    plot = Path(session.create_tmp(), "programs.svg").resolve()
    session.run("python", "-m", "benchmarks.plot", "--quick", str(plot))
    session.run("pytest", "benchmarks", "--benchmark-only", "--benchmark-min-rounds=1", "-q")
