"""What a build says that cannot go on: what is missing, and what installs it on each system.

A file of two lines is compiled before anything else, so that a machine without a compiler, or
without Python's headers, says so at once. Nothing here knows what is built. Each
failure is a SystemExit, of which installers show the text and no traceback.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["check_compiler", "check_python", "compile_or_fail"]

VERSION = "{}.{}".format(*sys.version_info)

NO_COMPILER = """{found}
cadiff is compiled when it is installed, by any compiler that knows C11. This installs one:
    Debian, Ubuntu   apt-get install build-essential python3-dev
    Fedora, RHEL     dnf install gcc python3-devel
    Alpine           apk add build-base python3-dev
    macOS            xcode-select --install
    Windows          the Build Tools for Visual Studio, with "Desktop development with C++"
Another one than `{compiler}` is chosen by the variable CC of the environment."""

NO_HEADERS = f"""Python.h is missing: the headers of Python {VERSION} are not in {{place}}.
This installs those of the system's own Python:
    Debian, Ubuntu   apt-get install python3-dev (python{VERSION}-dev, if there are several)
    Fedora, RHEL     dnf install python3-devel (python{VERSION}-devel)
    Alpine           apk add python3-dev
Pythons of python.org, pyenv, uv and conda have theirs with them."""


def check_python() -> None:
    """Refuse the Pythons that the extension cannot be compiled for."""
    if sys.implementation.name != "cpython":
        raise SystemExit(
            f"cadiff needs CPython, and {sys.executable} is {sys.implementation.name}"
        )
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit(
            f"cadiff needs the GIL, and {sys.executable} is a free-threaded Python: "
            f"take the regular Python {VERSION}"
        )


def check_compiler(compiler: Sequence[str], options: Sequence[str]) -> None:
    """Refuse a compiler that is not there or does not work, and a Python without its headers."""
    if _complaint([*compiler, *options], "Python.h") is None:
        return
    found = _complaint([*compiler, *options], "stdlib.h")
    if found is None:
        raise SystemExit(NO_HEADERS.format(place=sysconfig.get_path("include")))
    raise SystemExit(NO_COMPILER.format(found=found, compiler=" ".join(compiler)))


def _complaint(command: Sequence[str], header: str) -> str | None:
    """What is wrong with a command that compiles a file which includes a header."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "probe.c")
        source.write_text(f"#include <{header}>\nint probe(void) {{ return 0; }}\n")
        try:
            done = subprocess.run(
                [*command, "-c", str(source), "-o", f"{source}.o"], capture_output=True, text=True
            )
        except OSError as error:
            return f"There is no C compiler `{command[0]}`: {error.strerror}."
    if done.returncode == 0:
        return None
    return f"The C compiler does not work: {' '.join(command)}\n{done.stderr.strip()}"


def compile_or_fail(command: Sequence[str], source: str, root: Path) -> None:
    """Run a command that compiles a source of a tree; its own messages are left to stand."""
    if subprocess.run(command, cwd=root).returncode != 0:
        raise SystemExit(
            f"{source} was not compiled; what {command[0]} found stands above, and its command "
            f"was:\n{' '.join(command)}"
        )
