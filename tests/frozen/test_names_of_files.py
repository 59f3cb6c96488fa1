"""Frozen programs name files of code from the folder of their package, as PyInstaller does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

AS_FROZEN = """
import _imp, sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

get_code = SourceFileLoader.get_code

def code_of(self, name):
    code = get_code(self, name)
    for place in sys.path:
        if place and code.co_filename.startswith(f"{place}/"):
            _imp._fix_co_filename(code, code.co_filename[len(place) + 1 :])
    return code

SourceFileLoader.get_code = code_of
exec(compile(Path(sys.argv[1]).read_text(), "program.py", "exec"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="paths are divided by slashes here")
def test_programs_are_replayed_where_files_are_named_in_short(tmp_path: Path) -> None:
    program = Path(__file__).with_name("program.py")
    command = [sys.executable, "-W", "error", "-c", AS_FROZEN, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("right\n", "")
