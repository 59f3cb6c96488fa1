"""The whole extension compiled and linked by clang for other systems; nothing of it is run.

    python -m tests.c.cross_extension [SYSTEM ...]

The C that Cython wrote, `Var`, `Dual` and the core are what a wheel has. The headers are those of
the Python and the NumPy at hand, but for the two files in which these describe their system: those
stand in `tests/c/headers`. For Windows every name that is neither Python's nor the C library's is
an error of the linker. To write C takes what pyproject.toml lists under [build-system].
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "cross"
OWN_HEADERS = Path(__file__).parent / "headers"
WINDOWS = {"x86_64-windows-gnu": "i386:x86-64", "aarch64-windows-gnu": "arm64"}
SYSTEMS = (
    *WINDOWS,
    *("aarch64-macos", "x86_64-macos"),
    *("aarch64-linux-gnu", "aarch64-linux-musl", "x86_64-linux-gnu.2.17"),
)
# Cython writes functions that only some configurations of Python call.
STRICT = ["-std=c11", "-Wall", "-Wno-unused-function", "-Werror", "-ffp-contract=off"]
OPTIONS = ["-O0", "-fno-sanitize=undefined", "-DNDEBUG", "-fvisibility=hidden"]


def headers() -> Path:
    """A folder with the headers of Python and NumPy, for any system."""
    place = BUILT / "python"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sysconfig.get_path("include"), place)
    shutil.copytree(Path(np.get_include(), "numpy"), place / "numpy")
    shutil.copytree(OWN_HEADERS, place, dirs_exist_ok=True)
    return place


def import_library(sources: list[str], machine: str) -> Path:
    """What stands for Python's library on Windows: all names in the sources that may be its."""
    texts = (Path(ROOT, source).read_text(encoding="utf-8") for source in sources)
    names = {name for text in texts for name in re.findall(r"\b_?Py[A-Z_]\w+\b", text)}
    for header in (BUILT / "python").rglob("*.h"):
        names |= set(re.findall(r"\b_?Py[A-Z_]\w+\b", header.read_text(encoding="utf-8")))
    own = {name for name in names if name.startswith("PyInit_")}
    definition = BUILT / "python.def"
    definition.write_text("LIBRARY python3.dll\nEXPORTS\n" + "\n".join(sorted(names - own)))
    library = BUILT / f"python-{machine.replace(':', '-')}.lib"
    command = [sys.executable, "-m", "ziglang", "dlltool", "-m", machine]
    subprocess.run([*command, "-d", str(definition), "-l", str(library)], check=True)
    return library


def sources() -> tuple[list[str], list[str]]:
    """The C of the extension, which Cython writes if it has to, and the options that it needs."""
    from building.extension import MODULES, core, translate, write_shared

    options = [f"-D{name}={value}" for name, value in core.define_macros]
    options += [f"-I{path}" for path in core.include_dirs if not Path(path).is_absolute()]
    modules = [*map(translate, MODULES), write_shared()]
    return [*core.sources, *modules], [*STRICT, *OPTIONS, *options, "-isystem", str(headers())]


def link(target: str, given: list[str], options: list[str]) -> Path:
    """The extension for a system; zig compiles side by side, and again what has changed."""
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, *options, *given]
    command += ["-shared"]
    if target in WINDOWS:
        command.append(str(import_library(given, WINDOWS[target])))
    elif "macos" in target:
        command.append("-Wl,-undefined,dynamic_lookup")
    else:
        command += ["-fPIC", "-lm"]
    result = BUILT / f"_core-{target}"
    subprocess.run([*command, "-o", str(result)], cwd=ROOT, check=True)
    return result


def main(asked: list[str]) -> int:
    """Go through some systems, or all of them; answers whether something failed."""
    given, options = sources()
    failed = False
    for target in asked or SYSTEMS:
        begun = time.monotonic()
        try:
            size = link(target, given, options).stat().st_size
            said = f"{size >> 10} kB in {time.monotonic() - begun:.0f} s"
        except subprocess.CalledProcessError:
            said, failed = "not built, for what clang says above", True
        print(f"{target}: {said}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
