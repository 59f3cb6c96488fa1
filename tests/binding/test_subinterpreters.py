"""Interpreters beside the main one are refused, and leave it whole."""

from __future__ import annotations

import sys

import pytest

from ..helpers.processes import isolated

# Python's own way to make interpreters has had two names.
INTERPRETERS = """
import os
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
reading, writing = os.pipe()
SCRIPT = '''
import os
try:
    import cadiff
except ImportError as error:
    found = str(error)[:46]
else:
    found = "imported"
os.write(WRITING, found.encode())
'''.replace("WRITING", str(writing))
def outcome():
    sub = interpreters.create()
    interpreters.run_string(sub, SCRIPT)
    interpreters.destroy(sub)
    return os.read(reading, 100).decode()
"""
OF_MAIN = "import cadiff; print(cadiff.hessian(cadiff.compile(lambda x: x**3))(2.0))\n"
REFUSED = "cadiff cannot be imported in a subinterpreter"


@pytest.mark.parametrize("first", [True, False], ids=["after the main one", "before it"])
def test_a_subinterpreter_is_refused_and_the_main_one_goes_on(first: bool) -> None:
    pytest.importorskip("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    again = "print(outcome())\n" * 2
    output = isolated(INTERPRETERS + (OF_MAIN if first else "") + again + OF_MAIN)
    assert output.split("\n") == ["12.0"] * first + [f"{REFUSED}:"] * 2 + ["12.0"]
