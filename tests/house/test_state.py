"""What can change while the process runs: one state of the binding, and what the docs name."""

from __future__ import annotations

import re
from pathlib import Path

from .sources import PACKAGE, ROOT, code_of, place_of
from .test_binding_order import BINDING_FILES
from .test_core_order import C_FILES

# What CPython and NumPy want writable, although nobody writes it once the module is made ready.
WRITABLE = {
    "PyTypeObject", "PyMethodDef", "PyGetSetDef", "PyNumberMethods", "PySequenceMethods",
    "PyMappingMethods", "PyUFuncGenericFunction loops", "char names",
}  # fmt: skip
# What stands outside of functions, or is static within one: what comes before its name, whether it
# is a pointer to a function, its name, and the arguments of a function.
C_OBJECT = re.compile(
    r"^(?:(?=\w)|[ \t]+(?=static\b))((?:\w+[ *]+)+)(\(\*(?:const )?)?(\w+)(?:\[[^]]*\])*\)?"
    r"(\([^;{}=]*\))?(?:\[[^]]*\])*(?: = [^;]*)?\s?[;{]",
    re.MULTILINE,
)
# A variable of a module in Cython. What is spelled in capitals is constant; so is a plain object,
# which only marks a place.
CYTHON_VARIABLE = re.compile(
    r"^(?:cdef (?!class |extern )(?:\w+ )+\*?)?(?!__all__)(\w+)( = (?!object\(\)).*|(?<!:)$)",
    re.MULTILINE,
)


def changeable(path: Path) -> set[str]:
    """What a file in C has that is neither constant nor on a stack."""
    found = set()
    for words, pointer, name, arguments in C_OBJECT.findall(code_of(path)):
        kind = re.sub(r"\b(static|struct|CAD_HIDDEN)\b|\*", "", words).split()
        if (arguments and not pointer) or "typedef" in kind or not kind:
            continue
        constant = "const" in (pointer or words.rpartition("*")[2])
        if not constant and not {kind[0], f"{kind[0]} {name}"} & WRITABLE:
            found.add(name)
    return found


def test_the_binding_in_c_has_one_state() -> None:
    found = {(place_of(path), name) for path in BINDING_FILES for name in changeable(path)}
    assert found == {("objects/state", "cad_state")}


def test_the_core_in_c_has_no_state_but_borrowed_loops_and_a_door_for_tests() -> None:
    found = {(place_of(path), name) for path in C_FILES for name in changeable(path)}
    assert found == {
        ("kernels/kernels", "loops"),
        ("kernels/single", "loops"),
        ("memory/memory", "remaining"),
    }


def test_what_can_change_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(
        "extern int declared;\n/* int in_a_comment; */\nint plain;\nint cad_f(int x);\n"
        "static PyObject *pointer = NULL;\nconst char *text;\nCadState cad_state = {.n = 1};\n"
        "static const char *const names[] = {NULL};\nPyObject *const fixed = NULL;\n"
        "static PyTypeObject Type = {\n    0,\n};\nstatic int table[3] = {\n    1,\n};\n"
        "int (*hook)(int x);\nint (*const all[])(int) = {cad_f};\nstruct Pair pair;\n"
        "static inline int doubled(int x) {\n    return x;\n}\n"
        "int cad_f(int x) {\n    static int inner;\n    static const int two[] = {2};\n"
        "    static char *names[] = {NULL};\n    int local = 0;\n    return inner + x;\n}\n"
    )
    seen = {"plain", "pointer", "text", "cad_state", "table", "hook", "pair", "inner"}
    assert changeable(path) == seen


def test_what_can_change_in_cython_is_named_in_the_docs() -> None:
    docs = (ROOT / "docs" / "design" / "binding.md").read_text(encoding="utf-8")
    named = {*re.findall(r"^\| `(\w+)\.(\w+)`", docs, re.MULTILINE)}
    found = {
        (path.stem, name)
        for path in (PACKAGE / "binding").glob("*.pyx")
        for name, _ in CYTHON_VARIABLE.findall(path.read_text(encoding="utf-8"))
        if not name.isupper()
    }
    assert named == found


# What gives references that the container owns.
BORROWING = re.compile(
    r"\b(?:PyList_(?:GET_ITEM|GetItem)|PyDict_(?:GetItem(?:String|WithError)?|Next)|_PyType_Lookup)\b"
)


def test_borrowed_references_are_those_that_the_docs_count() -> None:
    page = (ROOT / "docs" / "design" / "threads.md").read_text(encoding="utf-8")
    counted = {
        name: int(n)
        for name, n in re.findall(r"^\| `([\w/]+\.\w+)` \| (\d+) \|", page, re.MULTILINE)
    }
    binding = PACKAGE / "binding"
    texts = {path: code_of(path) for path in BINDING_FILES}
    for path in binding.glob("*.pyx"):
        texts[path] = re.sub(r".*\bcimport\b.*|#.*", "", path.read_text(encoding="utf-8"))
    found = {
        str(path.relative_to(binding)): len(BORROWING.findall(text))
        for path, text in texts.items()
    }
    assert {name: n for name, n in found.items() if n} == counted
