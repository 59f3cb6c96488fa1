"""What modules in Cython are told of our own headers: each build derives it from these.

A declaration in C is one in Cython, but for a few words: it is taken over as text. What no module
names is left out, members of structs and of enums as well. Headers say all that there is to say:

* What has 8 or 16 bits is an `int`, as in the expressions of C, and so is an enum that is taken.
* Headers of the core know no Python: functions there need no GIL. Those of the binding take and
  give objects. What answers `int` answers -1 with an exception, and what answers an object NULL; a
  pointer to anything else (CadPointer: to an object) may be NULL without an exception, too.
* A macro that stands for a number is a constant. Those that are called declare nothing, unless
  what they come to does: c_numbers.pxd has those that modules call.

A declaration that is written as none of ours is an error, which names its header.
"""

import re
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path

from .heads import NESTED, divided

__all__ = ["derive", "put", "write"]

ROOT = Path(__file__).parents[1]
BINDING = ROOT / "cadiff" / "binding"
FOLDERS = [ROOT / "src", BINDING, ROOT / "src" / "generated"]  # where the compiler looks

# What modules cimport, and the headers that it is derived from. A type stands in the first file
# that needs it; whoever looks into it cimports the file of the header that defines it, too.
FILES = {
    "entries": "memory/memory.h table/codes.h tape/entries.h kernels/digest.h kernels/kernels.h "
    "kernels/columns.h kernels/single.h kernels/stacks.h kernels/vectors.h kernels/whole.h",
    "numbers": "numbers/objects/types.h numbers/objects/[ceh]*.h numbers/objects/state.h "
    "numbers/objects/views.h numbers/operations/*.h "
    "numbers/var/var.h numbers/array/array.h numbers/dual/dual.h numbers/module/module.h",
    "callbacks": "numbers/objects/binding.h",
    "tape": "tape/tape.h tape/[abcfg]*.h numbers/objects/slabs.h",
    "sweeps": "arrays/arrays.h arrays/lanes.h sweeps/*.h",
    "matrices": "kernels/matrices.h",
    "linear": "linear/linear.h",
    "graph": "graph/pattern.h graph/graph.h graph/edges.h loops/loops.h",
    "program": "kernels/borrowed.h kernels/transforms.h program/native.h program/program.h "
    "program/callback.h",
}

# How declarations are written in our headers: the first form that one has is its own.
FORMS = {
    "struct": r"(?:typedef )?struct (?P<tag>\w*)(?: ?\{(?P<body>.*)\})? ?(?P<name>\w*);",
    "enum": r"(?:typedef )?enum (?P<tag>\w*) ?\{(?P<body>.*)\} ?(?P<name>\w*);",
    "type": r"typedef (?P<body>[\w ]+?[ *]+(?:\(\*)?(?P<name>\w+)\)?(?:\(.*\))?);",
    "function": r"(?:(?:extern|static|inline|CAD_\w+) )*(?P<body>[\w *]+?\b(?P<name>\w+)\(.*\));",
    "variable": r"(?:(?:extern|CAD_\w+) )*(?P<body>\w[\w *,]*?\b(?P<name>\w+)(?:\[\w*\])*);",
    "number": r"#define (?P<name>\w+) (?P<body>\w+);",
}
MEMBERS = r"(?:PyObject_HEAD +)?(?P<type>(?:const |struct )*\w+) (?P<all>.+)"
MEMBER = r"(?:\*|const )*(?:\(\*)?(?P<name>\w+)(?:\)\(.*\)|(?:\[.*\])*)"
UNION = r"\b\w+ \{([^{}]*)\};|\b\w+ \{[^{}]*\} \w+;"  # a union without a name, or with one
CALL = rf"\b(\w+)\(({NESTED})\)"
WORDS = {"bool": "bint", "ptrdiff_t": "Py_ssize_t", "npy_intp": "Py_ssize_t", "struct ": ""}
WORDS |= {"restrict ": "", "CadPointer": "PyObject", "PyUFuncGenericFunction": "CadStackLoop *"}

Macros = dict[str, tuple[list[str], str]]  # of names: what they are called with, and come to


def expanded(text: str, macros: Macros) -> str:
    """A text with macros that are called as what they come to."""

    def come_to(call: re.Match[str]) -> str:
        if call[1] not in macros:
            return call[0]
        names, body = macros[call[1]]
        for name, argument in zip(names, divided(call[2]), strict=False):
            body = re.sub(rf"\b{re.escape(name)}\b", argument, body)
        return expanded(re.sub(" *## *", "", body), macros)

    return re.sub(CALL, come_to, text)


def text_of(path: Path, macros: Macros) -> str:
    """A file without comments and directives, but for macros that stand for something."""
    text = re.sub(r"/\*.*?\*/|\\\n", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = ""
    for piece in re.split(r"^ *(#.*)", text, flags=re.MULTILINE):
        if macro := re.match(r"#define (\w+)\(([^)]*)\) *(.*)", piece):
            macros[macro[1]] = divided(macro[2]), macro[3]
        elif included := re.match(r'#include "(.+\.def|ops_codes\.h)"', piece):
            (path,) = (home for folder in FOLDERS if (home := folder / included[1]).exists())
            found += text_of(path, macros)
        elif re.match(r"#define \w+ +(\d+u?|UINT32_MAX)\s*$", piece):
            found += f"{piece.rstrip()};"
        elif piece[:1] != "#":
            found += expanded(piece, macros)
    return found


def declarations_of(path: Path, macros: Macros) -> Iterator[str]:
    """What a header declares; of functions the heads alone."""
    held, depth = "", 0
    for piece in re.findall(r"[{};]|[^{};]+", text_of(path, macros)):
        held += piece
        depth += (piece == "{") - (piece == "}")
        function = re.match(r"([^{}]*\))\s*\{", held)
        if depth == 0 and (piece == ";" or (piece == "}" and function)):
            yield " ".join((f"{function[1]};" if function else held).split())
            held = ""
    if held.strip():
        yield held.strip()


class Declaration:
    """What a header declares, of a struct or an enum by its `members`, else as `text`."""

    def __init__(self, header: str, text: str) -> None:
        self.has_objects = header.startswith("numbers/")
        self.block = f'cdef extern from "{header}"{"" if self.has_objects else " nogil"}:\n'
        self.refused = f"{header}: building/declarations.py cannot read `{text}`"
        self.form = next((form for form in FORMS if re.fullmatch(FORMS[form], text)), "")
        found = {"tag": "", **self.read(FORMS.get(self.form, ""), text)}
        self.name, self.text = found["name"] or found["tag"], (found["body"] or "").strip()
        self.members, self.names = dict[str, str](), {self.name} - {""}
        if self.form == "enum":
            self.members = {name: name for name in re.findall(r"(\w+)[^,]*(?:,|$)", self.text)}
            self.names |= self.members.keys()
        elif self.form == "struct":
            self.members = dict(self.members_of_struct())

    def read(self, pattern: str, text: str) -> dict[str, str]:
        if found := re.fullmatch(pattern, text):
            return found.groupdict()
        raise ValueError(self.refused)

    def members_of_struct(self) -> Iterator[tuple[str, str]]:
        text = self.text
        while (flat := re.sub(UNION, r"\1", text)) != text:
            text = flat
        for row in filter(None, map(str.strip, text.split(";"))):
            some = self.read(MEMBERS, row)
            clause = " except -1" if self.has_objects and some["type"] == "int" else " noexcept"
            clause = " except CAD_RAISED" if some["type"] == "CadStatus" else clause
            for item in divided(some["all"]):
                item = re.sub(r"(\w+)\[\]$", r"*\1", re.sub(r" : \d+$", "", item))
                text = self.in_words(f"{some['type']} {item}", clause)
                text = re.sub(r"^uint(?:8|16)_t (\w+)$", r"int \1", text)
                yield self.read(MEMBER, item)["name"], text

    def in_words(self, text: str, clause: str) -> str:
        """A text in the words of Cython; `clause` is that of pointers to functions."""
        if self.has_objects:
            text = re.sub(r"\bPyObject \*(\w+[,()])", r"object \1", text)
        text = re.sub(rf"\b(?:{'|'.join(WORDS)})\b", lambda word: WORDS[word[0]], text)
        text = re.sub(r"\b\w+(?=[,)[])", lambda name: name[0] + "_" * iskeyword(name[0]), text)
        return re.sub(r"(\(\*\w+\)\([^()]*\))", rf"\1{clause}", text.replace("(void)", "()"))

    def in_cython(self, used: set[str], enums: set[str]) -> str:
        """What Cython is told, of members those that are used."""
        rows, clause = list[str](), " noexcept" if self.has_objects else " noexcept nogil"
        text = self.in_words(self.text, clause)
        if self.form in ("struct", "enum"):
            text = f"ctypedef {self.form} {self.name}:" if self.name in used else f"{self.form}:"
            rows = [row for name, row in self.members.items() if name in used] or ["pass"]
        elif self.form == "number":
            text = f"const {'int' if self.text.isdigit() else 'uint32_t'} {self.name}"
        elif self.form == "type":
            text = f"ctypedef {text}{clause * text.endswith(')')}"
        elif self.form == "function":
            answer, taken = text.split("(", 1)
            taken = re.sub(r"\w+(?= \w)", lambda t: "int" if t[0] in enums else t[0], taken)
            text = f"{answer}({taken}"
            if self.has_objects:
                text += " except? NULL" * ("*" in answer) + " except -1" * (answer[:4] == "int ")
        return "".join(f"    {row}\n" for row in [text, *(f"    {row}" for row in rows)])


def ours(text: str) -> set[str]:
    """The names in a text that are those of our headers."""
    return set(re.findall(r"\b(?:cad_|Cad|CAD_)\w+", text))


def derive(modules: str) -> dict[str, str]:
    """What the files contain, by their names, for modules of this text."""
    macros: Macros = {}
    declared = {
        file: [
            Declaration(path.relative_to(folder).as_posix(), found)
            for pattern in patterns.split()
            for folder in FOLDERS
            for path in sorted(folder.glob(pattern))
            for found in declarations_of(path, macros)
        ]
        for file, patterns in FILES.items()
    }
    known = {name: found for own in declared.values() for found in own for name in found.names}
    enums = {found.name for found in known.values() if found.form == "enum"} - {""}
    used, more = set(re.findall(r"\.(\w+)", modules)), ours(modules)
    rows: dict[Declaration, str] = {}
    while more - used:
        used |= more
        rows = {known[name]: known[name].in_cython(used, enums) for name in used & known.keys()}
        more = ours("".join(rows.values()))
    needs = {found: sorted(ours(row) & known.keys()) for found, row in rows.items()}
    begun: set[Declaration] = set()
    homes: dict[Declaration, str] = {}  # the file of each, which stands behind what it needs

    def place(found: Declaration, file: str) -> None:
        if found in rows and found not in begun:
            begun.add(found)
            for name in needs[found]:
                place(known[name], file)
            homes[found] = file

    texts = {}
    for file, own in declared.items():
        for found in own:
            place(known.get(found.name, found), file)
        placed = [found for found in homes if homes[found] == file]
        others = {homes[known[name]] for found in placed for name in needs[found]} - {file}
        text = "# Derived from our headers by building/declarations.py.\n\n"
        text += "from libc.stdint cimport *\n"
        if any("PyObject" in rows[found] for found in placed):
            text += "from cpython.object cimport PyObject\n"
        text += "".join(f"from .{name} cimport *\n" for name in FILES if name in others)
        block = ""
        for found in placed:
            if block != (block := found.block if found in own else "cdef extern from *:\n"):
                text += f"\n{block}"
            text += rows[found]
        texts[f"{file}.pxd"] = text
    return texts


def put(directory: Path, texts: dict[str, str]) -> None:
    """Write files, by their names, touching only those that change."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = directory / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def write(directory: Path) -> None:
    """Write the files for the modules in Cython, in what Cython sees as a package."""
    modules = [path.read_text(encoding="utf-8") for path in BINDING.glob("*.p[yx][xd]")]
    put(directory, {"__init__.pxd": "", **derive("\n".join(modules))})
