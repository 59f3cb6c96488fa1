"""A program frozen by PyInstaller, cx_Freeze and Nuitka, and run away from Python and from cadiff.

    python -m tests.frozen.freeze [FREEZER ...]

The package has to be installed as users have it, from a wheel. It is run with other options of
Python's, from a folder that cannot be written into, too. `nox -s frozen` installs what that takes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = Path(__file__).with_name("program.py")
FREEZERS = {
    "PyInstaller": ["-m", "PyInstaller", "-y", "--log-level=ERROR", "--distpath", "{out}"]
    + ["--workpath", "{out}/parts", "--specpath", "{out}", str(PROGRAM)],
    "cx_Freeze": ["-m", "cx_Freeze", "build_exe", "--script", str(PROGRAM)]
    + ["--packages=cadiff,scipy", "--build-exe", "{out}/program"],
    # Programs watch bytecode, and code compiled by Nuitka has none: one line alone is compiled.
    "Nuitka": ["-m", "nuitka", "--standalone", "--remove-output", "--output-dir={out}"]
    + [f"--noinclude-custom-mode={name}:bytecode" for name in ("cadiff", "numpy", "scipy", "job")]
    + ["--include-package=cadiff", "--output-filename=program", "{out}/program.py"],
}
PARTS = {"PyInstaller": ["scipy", "sources"]}  # of the program
QUICK = ("PyInstaller", "cx_Freeze")  # Nuitka reads all of SciPy, for minutes
OPTIONS = (["-OO"], ["-I"], ["-s", "-E"], ["-X", "dev", "-W", "error"])
# Root may write everywhere; without its capabilities it is an owner as others are.
BOUND = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
NOTHING = {"PATH": os.defpath, "LC_ALL": "C"}  # no home, no path of Python's, no UTF-8


def freeze(name: str, place: Path) -> str:
    """Freeze the program, run it, and say how that went."""
    command = [word.format(out=place) for word in FREEZERS[name]]
    shutil.copy(PROGRAM, place / "job.py")
    (place / "program.py").write_text("import job\n")
    begun = time.monotonic()
    done = subprocess.run([sys.executable, *command], cwd=place, capture_output=True, text=True)
    if done.returncode != 0:
        return f"not made: {(done.stdout + done.stderr)[-2000:]}"
    took = time.monotonic() - begun
    (program,) = place.glob("program*/program")
    elsewhere = place / "é 数"
    program.parent.rename(elsewhere)
    size = sum(path.stat().st_size for path in elsewhere.rglob("*") if path.is_file()) >> 20
    with unwritable(elsewhere):
        parts = PARTS.get(name, ["scipy"])
        answer = said([str(elsewhere / program.name), *parts], elsewhere)
    return f"{took:.0f} s, {size} MB; {answer}"


def said(command: list[str], place: Path) -> str:
    """What a program says, run with an environment of nothing."""
    command = [*BOUND, *command]
    done = subprocess.run(command, cwd=place, env=NOTHING, capture_output=True, text=True)
    return (done.stdout or done.stderr)[-2000:].strip()


@contextmanager
def unwritable(place: Path) -> Iterator[None]:
    """A folder into which nothing can be written; afterwards it can be removed."""
    subprocess.run(["chmod", "-R", "a-w", str(place)], check=True)
    try:
        assert "denied" in said(["touch", "new"], place), f"{place} can be written into"
        yield
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(place)], check=True)


def main(asked: list[str]) -> int:
    """Freeze by some freezers, or the quick ones; answers whether something failed."""
    reports = []
    with tempfile.TemporaryDirectory() as name:
        for freezer in asked or QUICK:
            place = Path(name, freezer)
            place.mkdir()
            reports.append(f"{freezer}: {freeze(freezer, place)}")
            print(reports[-1], flush=True)
        # `-I` leaves out this folder, which may have a cadiff that was not built.
        command = [sys.executable, "-I", "-c", "import cadiff; print(*cadiff.__path__)"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        site = Path(name, "é 数")
        shutil.copytree(done.stdout.strip(), site / "cadiff")
        shutil.copy(PROGRAM, site)
        program = [str(site / PROGRAM.name), "scipy", "sources"]
        with unwritable(site):
            for options in OPTIONS:
                # `-I` leaves out the folder of the program: there the installed package runs.
                answer = said([sys.executable, *options, *program], site)
                reports.append(f"{' '.join(options)}: {answer}")
                print(reports[-1], flush=True)
    return any(not report.endswith("right") for report in reports)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
