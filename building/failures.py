"""What a build says that cannot go on: what is missing, and what installs it on each system.

A file of two lines is compiled before anything else, so that a machine without a compiler, or
without Python's headers, says so at once. Each failure is a SystemExit, of which installers show
the text and no traceback.
"""

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["check_compiler", "check_python", "compile_or_fail"]

VERSION = "{}.{}".format(*sys.version_info)

INSTALLED = f"""cadiff is compiled, by any compiler that knows C11. This installs one, and headers:
    Debian, Ubuntu   apt-get install build-essential python3-dev
    Fedora, RHEL     dnf install gcc python3-devel
    Alpine           apk add build-base python3-dev
    macOS            xcode-select --install
    Windows          the Build Tools for Visual Studio, with "Desktop development with C++"
If there are several Pythons, it is python{VERSION}-dev or python{VERSION}-devel. Those of
python.org, pyenv, uv and conda have their headers with them.
Another compiler is chosen by the variable CC of the environment."""


def check_python() -> None:
    """Refuse the Pythons that the extension cannot be compiled for."""
    if (kind := sys.implementation.name) != "cpython":
        raise SystemExit(f"cadiff needs CPython, and {sys.executable} is {kind}")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit(
            f"cadiff needs the GIL, and {sys.executable} is a free-threaded Python: "
            f"take the regular Python {VERSION}"
        )


def check_compiler(command: Sequence[str]) -> None:
    """Refuse a compiler that is not there or does not work, and a Python without its headers."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return 0; }\n")
        given = [*command, "-c", str(source), "-o", f"{source}.o"]
        try:
            done = subprocess.run(given, capture_output=True, text=True)
            if done.returncode == 0:
                return
            said = f"does not compile what includes Python.h:\n{done.stderr.strip()}"
        except OSError as error:
            said = f"There is no C compiler `{command[0]}`: {error.strerror}."
    raise SystemExit(f"{' '.join(command)}\n{said}\n{INSTALLED}")


def compile_or_fail(command: Sequence[str], source: str, root: Path) -> None:
    """Run a command that compiles a source of a tree; its own messages are left to stand."""
    if subprocess.run(command, cwd=root).returncode != 0:
        raise SystemExit(
            f"{source} was not compiled; what {command[0]} found stands above, and its command "
            f"was:\n{' '.join(command)}"
        )
