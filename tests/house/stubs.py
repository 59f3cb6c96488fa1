"""Compares stubs with the compiled modules, by mypy's stubtest: `python -m tests.house.stubs`.

Numbers and programs have attributes that say what to write instead of a foreign name (listed in
cadiff/binding/foreign_names.py): checkers of types shall not find these, so stubs lack them.
"""

import sys
import tempfile
from pathlib import Path

from mypy.stubtest import main

import cadiff
from cadiff.binding.foreign_names import Absent

PLACES = {
    r"cadiff\.(binding\._core\.)?Var": cadiff.Var,
    r"cadiff\.(binding\._core\.)?Dual": cadiff.Dual,
    r"cadiff\.(programs\.program\.)?Program": cadiff.Program,
}


def absent() -> str:
    """The foreign names, as an allowlist."""
    lines = [
        rf"{place}\.{name}"
        for place, kind in PLACES.items()
        for name, part in vars(kind).items()
        if isinstance(part, Absent)
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as known:
        known.write(absent())
        known.flush()
        lists = [known.name, str(Path(__file__).with_name("stubtest.txt"))]
        options = [word for name in lists for word in ("--allowlist", name)]
        sys.argv[1:] = ["cadiff", *options, "--mypy-config-file", "pyproject.toml"]
        sys.exit(main())
