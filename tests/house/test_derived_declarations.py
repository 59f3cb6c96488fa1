"""What Cython is told of headers follows from them; what cannot be read is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from building import declarations

HEADER = """/* A header. */
#define CAD_ROOM 8u
#define CAD_LISTS(LIST) \\
    LIST(CadNumber, all)
#define CAD_MEMBERS(type, items) type *items; size_t n_##items;

enum { CAD_MOST = 4, CAD_LEAST = 1 };
typedef enum CadKind { CAD_ONE, CAD_TWO } CadKind;

typedef struct CadNumber {
    union {
        double value;
        int64_t bits[CAD_MOST];
    };
    uint8_t near : 1, from; /* a brace { in a comment */
    ptrdiff_t rest[];
} CadNumber;

typedef struct CadList {
    CAD_LISTS(CAD_MEMBERS)
    int (*visit)(const CadNumber *number, size_t in);
} CadList;

bool cad_is_known(const struct CadList *restrict list, CadKind kind,
                  double x);

static inline double cad_value(CadNumber number) {
    if (cad_is_known(NULL, CAD_TWO, 1.0)) {
        return number.value;
    }
    return 0.0;
}
"""
MODULE = "CAD_ROOM CAD_TWO cad_is_known cad_value .value .bits .rest .near .all .n_all .visit"
DERIVED = """
cdef extern from "core/a.h" nogil:
    const uint32_t CAD_ROOM
    enum:
        CAD_MOST
    enum:
        CAD_TWO
    ctypedef struct CadNumber:
        double value
        int64_t bits[CAD_MOST]
        int near
        Py_ssize_t *rest
    ctypedef struct CadList:
        CadNumber *all
        size_t n_all
        int (*visit)(const CadNumber *number, size_t in_) noexcept
    bint cad_is_known(const CadList *list, int kind, double x)
    double cad_value(CadNumber number)
"""
Derive = Callable[[str, str, str], str]


@pytest.fixture
def derive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Derive:
    def derived(header: str, text: str, module: str) -> str:
        path = tmp_path / header
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        monkeypatch.setattr(declarations, "FOLDERS", [tmp_path])
        monkeypatch.setattr(declarations, "FILES", {"a": header})
        found: str = declarations.derive(module)["a.pxd"]
        return found[found.find("\ncdef") :]

    return derived


def test_a_declaration_follows_from_its_header(derive: Derive) -> None:
    assert derive("core/a.h", HEADER, MODULE) == DERIVED
    for old, new in [("double value", "float value"), ("double x", "long x")]:
        changed = derive("core/a.h", HEADER.replace(old, new), MODULE)
        assert changed == DERIVED.replace(old, new) != DERIVED


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("PyObject *cad_f(PyObject *x, int n);", "object cad_f(object x, int n)"),
        ("int cad_f(PyObject *const *x);", "int cad_f(PyObject *const *x) except -1"),
        ("bool cad_f(PyObject *x);", "bint cad_f(object x)"),
        ("CadPointer *cad_f(void);", "PyObject *cad_f() except? NULL"),
        ("double cad_f(int (*f)(PyObject *x));", "double cad_f(int (*f)(object x) noexcept)"),
        ("extern CadNone cad_f;", "CadNone cad_f"),
    ],
)
def test_headers_of_the_binding_have_objects(header: str, told: str, derive: Derive) -> None:
    block = f'\ncdef extern from "numbers/a.h":\n    {told}\n'
    assert derive("numbers/a.h", header, "cad_f") == block


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("int cad_f(int);\n\nint cad_f[]() {};\n", "int cad_f[]();"),
        (
            "/* a\nb */ typedef struct A {\n    int (x);\n} A;\n",
            "typedef struct A { int (x); } A;",
        ),
        ("#define CAD_F(x) \\\n    x\n\nCAD_F(1 +)\nint cad_g(void);\n", "1 + int cad_g(void);"),
        ("int cad_f(int x);\nint cad_g(int x)\n", "int cad_g(int x)"),
        ("int cad_f(int x);\nint cad_g[](;\nint cad_h(int x);", "int cad_g[](;"),
        ('_Static_assert(1 == 1, "")\n;\n', '_Static_assert(1 == 1, "") ;'),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_header(
    text: str, refused: str, derive: Derive
) -> None:
    with pytest.raises(ValueError, match=rf"^core/a\.h: .* cannot read `{re.escape(refused)}`$"):
        derive("core/a.h", text, "")
