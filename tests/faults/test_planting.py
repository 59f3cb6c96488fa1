"""Which faults `python -m tests.faults` plants; none is planted or built here."""

from __future__ import annotations

import ast
from itertools import islice

import pytest

from .__main__ import PARTS, drawn_over_all
from .planting import faults_in, sample

C = """\
/* A sum: if (a < b) {
 * of two + 1. */
#define LESS(a, b) ((a) < (b) && \\
                    (b) > 0)
int sum(const int *a, int n) { // true
    int all = 0;
    if (a != NULL && n > 0) {
        Py_INCREF(a);
        all += a[i] - 1;
        note("a < b && c + 1");
    }
    return CAD_OK;
}
"""

CYTHON = '''\
"""A sum: while a < b."""
from x cimport one

cdef int total(object a, int n) except -1:
    # if a < b and c: total + 1
    cdef int all = 0
    if n > 0 and a is not None:
        Py_INCREF(a)
        all = all + 1
        note(
            "a < b", n,
        )
    return all
'''

PYTHON = '''\
"""A sum, a < b."""
from x import one

def total(a: Literal[1], n):
    """Of 1 + 1."""
    if n <= 0 or a is None:
        raise ValueError(f"{n + 1} of 1")
    a.append(n - 1)
    for i in (x for x in a if x):
        n = a[i]
    # n += 1
    return n == 2 and True
'''


def planted(text: str, suffix: str) -> set[tuple[int, str, str]]:
    return {(fault.line + 1, fault.kind, fault.after.strip()) for fault in faults_in(text, suffix)}


def test_faults_in_c() -> None:
    assert planted(C, ".c") == {
        (6, "off by one", "int all = 1;"),
        (7, "and/or", "if (a != NULL || n > 0) {"),
        (7, "comparison", "if (a == NULL && n > 0) {"),
        (7, "comparison", "if (a != NULL && n >= 0) {"),
        (7, "comparison", "if (a != NULL && n < 0) {"),
        (7, "condition dropped", "if (a != NULL) {"),
        (7, "condition dropped", "if (n > 0) {"),
        (7, "condition negated", "if (!(a != NULL && n > 0)) {"),
        (7, "off by one", "if (a != NULL && n > 1) {"),
        (8, "early return", "return;"),
        (8, "reference not taken", ";"),
        (9, "early return", "return;"),
        (9, "off by one", "all += a[i + 1] - 1;"),
        (9, "off by one", "all += a[i] - 2;"),
        (9, "off by one", "all += a[i];"),
        (9, "sign", "all += a[i] + 1;"),
        (9, "sign", "all -= a[i] - 1;"),
        (9, "statement dropped", ";"),
        (10, "early return", "return;"),
        (10, "statement dropped", ";"),
        (12, "another status", "return CAD_NO_MEMORY;"),
    }


def test_faults_in_cython() -> None:
    assert planted(CYTHON, ".pyx") == {
        (6, "off by one", "cdef int all = 1"),
        (7, "and/or", "if n > 0 or a is not None:"),
        (7, "comparison", "if n >= 0 and a is not None:"),
        (7, "comparison", "if n < 0 and a is not None:"),
        (7, "condition dropped", "if n > 0:"),
        (7, "condition dropped", "if a is not None:"),
        (7, "condition negated", "if not (n > 0 and a is not None):"),
        (7, "off by one", "if n > 1 and a is not None:"),
        (8, "reference not taken", "pass"),
        (9, "off by one", "all = all"),
        (9, "off by one", "all = all + 2"),
        (9, "sign", "all = all - 1"),
        (9, "statement dropped", "pass"),
        (13, "another result", "return 0"),
    }


def test_faults_in_python() -> None:
    assert planted(PYTHON, ".py") == {
        (6, "and/or", "if n <= 0 and a is None:"),
        (6, "comparison", "if n < 0 or a is None:"),
        (6, "comparison", "if n >= 0 or a is None:"),
        (6, "comparison", "if n <= 0 or a is not None:"),
        (6, "condition dropped", "if a is None:"),
        (6, "condition dropped", "if n <= 0:"),
        (6, "condition negated", "if not (n <= 0 or a is None):"),
        (6, "off by one", "if n <= 1 or a is None:"),
        (7, "statement dropped", "pass"),
        (8, "off by one", "a.append(n - 2)"),
        (8, "sign", "a.append(n + 1)"),
        (8, "statement dropped", "pass"),
        (9, "condition dropped", "for i in (x for x in a if True):"),
        (10, "off by one", "n = a[i + 1]"),
        (10, "statement dropped", "pass"),
        (12, "and/or", "return n == 2 or True"),
        (12, "another result", "return None"),
        (12, "comparison", "return n != 2 and True"),
        (12, "condition dropped", "return True"),
        (12, "condition dropped", "return n == 2"),
        (12, "off by one", "return n == 3 and True"),
        (12, "truth", "return n == 2 and False"),
    }


@pytest.mark.parametrize(
    ("line", "suffix"),
    [("    MOST = 1 << 9,", ".c"), ("MOST = 1 << 9", ".pyx"), ("1 << 9", ".py")],
)
def test_sizes_written_as_shifts_are_left_alone(line: str, suffix: str) -> None:
    assert faults_in(line, suffix) == []


def test_no_fault_says_the_same_in_other_words() -> None:
    assert planted("    return False", ".pyx") == {(1, "truth", "return True")}


def test_python_compiles_with_a_fault() -> None:
    for fault in faults_in(PYTHON, ".py"):
        assert ast.dump(ast.parse(fault.planted_in(PYTHON))) != ast.dump(ast.parse(PYTHON))


@pytest.mark.parametrize(("text", "suffix"), [(C, ".c"), (CYTHON, ".pyx"), (PYTHON, ".py")])
def test_a_seed_decides_which_faults_are_planted(text: str, suffix: str) -> None:
    drawn = [tuple(islice(sample(text, suffix, seed), 4)) for seed in "aabcd"]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 2
    for faults in drawn:
        assert len({fault.line for fault in faults}) == len(faults)
        assert set(faults) <= set(faults_in(text, suffix))


def test_a_fault_changes_its_line_alone() -> None:
    for fault in faults_in(C, ".h"):
        lines, changed = C.split("\n"), fault.planted_in(C).split("\n")
        assert [k for k in range(len(lines)) if lines[k] != changed[k]] == [fault.line]


def test_faults_are_drawn_over_all_of_the_product() -> None:
    drawn = drawn_over_all(400, 1)
    assert sum(drawn.values()) == 400
    assert drawn == drawn_over_all(400, 1) != drawn_over_all(400, 2)
    for beginning in PARTS:
        assert any(path.startswith(beginning) for path in drawn), beginning
    assert {path.rpartition(".")[2] for path in drawn} >= {"c", "pyx", "py"}
    assert not any("generated" in path for path in drawn)
