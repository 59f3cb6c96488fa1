"""The core and its tests built by clang for other systems, and run where that can be done here.

    python -m tests.c.cross [SYSTEM ...]

Zig's package on PyPI has clang with the headers and libraries of many systems. A program for
another processor is run by qemu's user-mode emulator, one for Windows by wine, WebAssembly by
node, if they are installed. `nox -s cross` goes through all systems.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from .test_c_core import CORE, ROOT, TESTS, write_headers

BUILT = ROOT / "build" / "cross"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wvla", "-Werror", "-ffp-contract=off"]
UNCHECKED = ["-fno-sanitize=undefined"]  # which zig adds where it does not optimise


class System(NamedTuple):
    """What a program is built for, and what can run it: one of the commands, or nothing at all."""

    target: str
    runners: tuple[tuple[str, ...], ...] = ()
    options: tuple[str, ...] = ()
    is_native: bool = False
    left_out: str = " "  # how names of tests begin that nothing can run


# No extension of GNU's is known; INFINITY of musl is then written as a number that is too large.
PLAIN = ("-fgnuc-version=0", "-Wno-literal-range")
QEMU = (("qemu-aarch64",), ("qemu-aarch64-static",))
WASI = """
const program = require("fs").readFileSync(process.argv[1]);
const system = new (require("wasi").WASI)({ version: "preview1", args: process.argv.slice(1) });
WebAssembly.instantiate(program, system.getImportObject()).then(({ instance }) =>
    process.exit(system.start(instance)));
"""
SYSTEMS = {
    "manylinux": System("x86_64-linux-gnu.2.17", is_native=True),
    "musllinux": System("x86_64-linux-musl", is_native=True),
    "no extensions": System("x86_64-linux-musl", (), PLAIN, True),
    "aarch64": System("aarch64-linux-musl", QEMU),
    "WebAssembly": System(
        "wasm32-wasi", (("node", "--no-warnings", "-e", WASI),), left_out="threads_"
    ),
    "macOS, x86-64": System("x86_64-macos"),
    "macOS, arm64": System("aarch64-macos"),
    "Windows": System("x86_64-windows-gnu", (("wine64",), ("wine",))),
}


def build(name: str, system: System, headers: Path) -> Path:
    """The program of all tests; zig compiles its sources side by side."""
    program = BUILT / name.replace(", ", "-").replace(" ", "-")
    sources = [*sorted(CORE.glob("*/*.c")), *sorted(TESTS.glob("*.c"))]
    includes = [f"-I{path}" for path in (CORE, headers, TESTS)]
    level = "-O1" if runner(system) is not None else "-O0"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", system.target, level, *UNCHECKED]
    command += [*STRICT, *system.options, *includes, *map(str, sources), "-lm"]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


def runner(system: System) -> list[str] | None:
    """What stands before the name of a program to run it; None where nothing runs it."""
    if system.is_native and sys.platform == "linux" and os.uname().machine == "x86_64":
        return []
    return next((list(words) for words in system.runners if shutil.which(words[0])), None)


def check(name: str, system: System, headers: Path) -> str:
    """Build, and run every test; says how that went."""
    begun = time.monotonic()
    try:
        program = build(name, system, headers)
    except subprocess.CalledProcessError:
        return "not built, for what clang says above"
    built = f"built in {time.monotonic() - begun:.0f} s, {program.stat().st_size >> 10} kB"
    how = runner(system)
    if how is None:
        return f"{built}; not run"
    listed = subprocess.run([*how, str(program), "--list"], capture_output=True, check=True)
    names = [
        name for name in listed.stdout.decode().split() if not name.startswith(system.left_out)
    ]
    failed = [test for test in names if subprocess.run([*how, str(program), test]).returncode]
    return f"{built}; {len(names) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}"


def main(asked: list[str]) -> int:
    """Go through some systems, or all of them; answers whether something failed."""
    headers = BUILT / "headers"
    headers.mkdir(parents=True, exist_ok=True)
    write_headers(headers)
    reports = []
    for name in asked or SYSTEMS:
        reports.append(f"{name}: {check(name, SYSTEMS[name], headers)}")
        print(reports[-1], flush=True)
    return any(" 0 failed" not in report and "not run" not in report for report in reports)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
