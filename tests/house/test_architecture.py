"""The rules of the house: which module may use which, and that what is derived is up to date.

Modules and files may use only those that come before them. A new module or C file has to be given
its place here.
"""

from __future__ import annotations

import ast
import graphlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import binding, inspection, ops, programs, transforms
from cadiff.binding import _core, loading
from cadiff.operations import table as _table

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cadiff"
SOURCES = ROOT / "src"


def _load(name: str, path: Path) -> ModuleType:
    """A file of the repository that is not part of the package."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


generate = _load("generate_for_architecture", SOURCES / "table" / "generate.py")


# --- imports of the package --------------------------------------------------------------------

# The storeys of the package, from below, and the order of the modules within each: a module may
# import those of lower storeys, and of its own those of earlier groups. A package stands for its
# own __init__.py; "" is the folder of the package itself.
STOREYS: list[tuple[str, list[set[str]]]] = [
    (
        "binding",
        [
            {"bytecode", "interpreter"},
            {"callers", "dtype", "newcomers"},
            {"_core"},
            {"loading"},
            set(loading.MODULES),
            {"__init__"},
        ],
    ),
    (
        "operations",
        [
            {"guards", "table"},
            {"replayed"},
            {"dispatch", "exactness", "making"},
            {"arrays"},
            {"doubts", "naming", "patterns"},
            {"recorded_calls"},
            {"derived_rules"},
            {"primitives"},
            {"linear", "pairs"},
            {"complexes"},
            {"indices"},
            {"integers", "searches"},
            {"functions"},
            {"scalars"},
            {"masks"},
            {"__init__"},
        ],
    ),
    ("", [{"ops"}, {"nn", "math"}]),
    (
        "numpy",
        [
            {"_common", "_refusals", "_matrices", "_transforms"},
            {"_systems"},
            {"_factorizations"},
            {"_plain", "_creation", "_elementwise", "_choices", "_shapes", "_reductions"},
            {"fft", "linalg", "random"},
            {"_padding", "_products"},
            {"_calculus"},
            {"_ufunc_methods"},
            {"_complex"},
            {"_complex_polynomials"},
            {"__init__"},
        ],
    ),
    (
        "scipy",
        [
            {"_exponentials", "_stacks"},
            {"_matrix_functions"},
            {"_families", "fft", "linalg"},
            {"_values"},
            {"_tails"},
            {"special"},
            {"stats"},
            {"__init__"},
        ],
    ),
    (
        "transforms",
        [
            {"_base", "_generators", "_outputs", "_frozen", "_pages"},
            {"_complex"},
            {"_axes", "_blocks", "_flat", "_forward", "_reverse"},
            {"_jacobians", "_second", "_points"},
            {"_checkpoints", "_linear"},
            {"_implicit"},
            {"__init__"},
        ],
    ),
    ("inspection", [{"texts"}, {"checks", "tape"}, {"__init__"}]),
    (
        "programs",
        [
            {"constants", "instructions", "kinds", "pace", "questions", "reads", "returned"},
            {"reasons", "recorded", "settings", "settling"},
            {"findings", "named", "observations"},
            {"classes", "counters"},
            {"contents"},
            {"chains"},
            {"walks"},
            {"codegen", "listings", "recordings", "traced"},
            {"traces"},
            {"inner"},
            {"fallbacks"},
            {"batches", "derivatives", "matrices", "profiles"},
            {"report"},
            {"program"},
            {"compiling", "rows", "sparse"},
            {"mapping"},
            {"__init__"},
        ],
    ),
    (
        "optimize",
        [
            {"_progress", "_vectors"},
            {"_barriers", "_boxes", "_history", "_newton"},
            {"_differences"},
            {"_objectives"},
            {"_solutions"},
            {"_results"},
            {"_signatures"},
            {"_constraints"},
            {"_minimize"},
            {"_fits", "_global", "_problems", "_roots", "_training"},
            {"__init__"},
        ],
    ),
    (
        "plot",
        [
            {"_axes", "_layout"},
            {"_contours", "_convergence", "_graph", "_profile", "_sparsity"},
            {"__init__"},
        ],
    ),
    ("", [{"__init__"}]),
    ("nist", [{"__init__"}]),
    (
        "commands",
        [{"bench", "targets"}, {"check", "demo", "info", "show"}, {"__init__"}],
    ),
    ("", [{"__main__"}]),
]


def module_name(folder: str, name: str) -> str:
    """The name of a module, without the package's own."""
    return folder if folder and name == "__init__" else f"{folder}.{name}".lstrip(".")


GROUPS = [
    {module_name(folder, name) for name in names} for folder, groups in STOREYS for names in groups
]
RANK = {name: rank for rank, names in enumerate(GROUPS) for name in names}


def _stem(path: Path) -> str:
    return path.stem


def module_of(path: Path) -> str:
    """The name of a file of the package, without the package's own."""
    *above, name = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(above if name == "__init__" and above else [*above, name])


MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
COMPILED = {module_of(path): path for path in sorted(PACKAGE.rglob("*.pyx"))}


def named_imports(tree: ast.AST, package: str = "cadiff") -> set[str]:
    """All that a file imports, by its full name; `package` is where the file stands."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def module_called(name: str) -> str | None:
    """The module of the package that a full name leads to; None outside of the package."""
    package, *rest = name.split(".")
    known = {*MODULES, *COMPILED}
    while rest and ".".join(rest) not in known:
        rest.pop()
    return (".".join(rest) or "__init__") if package == "cadiff" else None


def imports_of(path: Path, package: str = "cadiff") -> set[str]:
    """The modules of the package that a file imports, anywhere in it; `__init__` for itself."""
    names = named_imports(ast.parse(path.read_text(encoding="utf-8")), package)
    return {module for name in names if (module := module_called(name)) is not None}


def fetches_of(path: Path) -> set[str]:
    """The modules that a file imports by `importlib.import_module`."""
    found = re.findall(r"import_module\(\s*\"([\w.]+)\"", path.read_text(encoding="utf-8"))
    return {module for name in found if (module := module_called(name)) is not None}


def package_of(name: str) -> str:
    """The package that a module stands in."""
    path = MODULES[name].parent
    return ".".join(path.relative_to(ROOT).parts)


def test_every_module_has_its_place() -> None:
    assert set(MODULES) | set(COMPILED) == set(RANK)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_comes_before_it(name: str) -> None:
    for imported in imports_of(MODULES[name], package_of(name)):
        assert RANK[imported] < RANK[name], f"{name} imports {imported}"


def private_names(path: Path, package: str = "cadiff") -> set[str]:
    """The names with an underscore that a file takes out of modules of the package."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {name for name in named_imports(tree, package) if name.startswith("cadiff.")}
    modules = {f"cadiff.{module}" for module in {*MODULES, *COMPILED}}
    return {name for name in named - modules if name.split(".")[-1].startswith("_")}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_no_private_name(name: str) -> None:
    assert private_names(MODULES[name], package_of(name)) == set()


@pytest.mark.parametrize("name", MODULES)
def test_a_module_fetches_no_module_behind_its_back(name: str) -> None:
    assert fetches_of(MODULES[name]) == set()


def test_every_package_is_installed() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^packages = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    packages = {package_of(name) for name in MODULES}
    assert set(re.findall(r"\"([\w.]+)\"", listed[1])) == packages


def test_the_compiled_core_imports_only_what_comes_before_it() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for pattern in ("*.pyx", "*.pxd", "*.c")
        for path in PACKAGE.rglob(pattern)
    )
    named = set(re.findall(r"\"cadiff\.([\w.]+)\"", text))
    assert named - {"tape", "MissingRuleError", "StaleVarError", "Var", "Dual"} == {
        "binding.dtype"
    }
    assert not re.search(r"^\s*(from|import|cimport)\s+(cadiff|\.\.)", text, re.MULTILINE)


# What the modules in Cython see of C: declarations, of which nothing is left when they run.
DECLARATIONS = [
    "python",
    "entries",
    "tape",
    "sweeps",
    "linear",
    "graph",
    "program",
    "numbers",
    "numpy",
]
CYTHON_ORDER = [*[f"c_{name}" for name in DECLARATIONS], "_core", *loading.MODULES]
CYTHON_FILES = sorted([*(PACKAGE / "binding").glob("*.pyx"), *(PACKAGE / "binding").glob("*.pxd")])


def cython_imports_of(path: Path) -> set[str]:
    """The modules beside it that a file in Cython imports, by `import` or `cimport`."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(r"^\s*from \.(\w+) c?import ", text, re.MULTILINE))
    for names in re.findall(r"^\s*from \. c?import (.+)$", text, re.MULTILINE):
        found |= {name.split()[0] for name in names.split(",")}
    return found


def test_every_file_in_cython_has_its_place() -> None:
    assert {path.stem for path in CYTHON_FILES} == set(CYTHON_ORDER)
    assert len(set(CYTHON_ORDER)) == len(CYTHON_ORDER)


@pytest.mark.parametrize("path", CYTHON_FILES, ids=lambda path: path.name)
def test_a_module_in_cython_imports_only_what_comes_before_it(path: Path) -> None:
    below = set().union(*STOREYS[0][1][:2])  # in Python
    rank = CYTHON_ORDER.index(path.stem)
    for name in cython_imports_of(path) - below:
        assert CYTHON_ORDER.index(name) < rank, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", CYTHON_FILES, ids=lambda path: path.name)
def test_a_module_in_cython_imports_at_its_head_alone(path: Path) -> None:
    """A late import would be a way round the order; `include` shares the names of a module."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^[ \t]+(from\s+\S+\s+)?c?import\s", text, re.MULTILINE)
    assert not re.search(r"^[ \t]*include\s", text, re.MULTILINE)


@pytest.mark.parametrize("path", [p for p in CYTHON_FILES if p.suffix == ".pyx"], ids=_stem)
def test_a_module_in_cython_says_what_it_is_for(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith('"""')


def test_the_order_of_modules_in_cython_can_be_broken(tmp_path: Path) -> None:
    path = tmp_path / "module.pyx"
    path.write_text(
        "import copy\nfrom . cimport c_numpy as cnp\nfrom .tape cimport (\n    view_of,\n)\n"
        "from .atoms import shape\nfrom cpython.float cimport PyFloat_FromDouble\n"
    )
    assert cython_imports_of(path) == {"c_numpy", "tape", "atoms"}


def test_the_import_rule_can_be_broken(tmp_path: Path) -> None:
    """The parser of these tests sees every way to write an import."""
    path = tmp_path / "module.py"
    path.write_text(
        "import cadiff.ops\nfrom . import inspection\nfrom .transforms import grad\n"
        "def f():\n    from cadiff import sin\n    from cadiff.binding.tape import is_stale\n"
        "    import numpy.linalg, cadiff.scipy.stats\n    from .numpy import linalg, sum\n"
        'importlib.import_module(\n    "cadiff.scipy.special"\n)\n'
    )
    assert imports_of(path) == {
        "ops",
        "inspection",
        "transforms",
        "__init__",
        "binding.tape",
        "scipy.stats",
        "numpy.linalg",
        "numpy",
    }
    assert fetches_of(path) == {"scipy.special"}
    path.write_text(
        "from ..operations import arrays\nfrom . import _common\nfrom ._shapes import ravel\n"
        "from ..numpy import linalg\nfrom ..operations.table import sin\n"
        "from numpy import linalg\n"
    )
    expected = {"operations.arrays", "numpy._common", "numpy._shapes", "numpy.linalg"}
    assert imports_of(path, "cadiff.numpy") == expected | {"operations.table"}
    assert private_names(path, "cadiff.numpy") == set()
    path.write_text("from ._common import _number, number\nfrom .. import ops, _leaf\n")
    assert private_names(path, "cadiff.numpy") == {"cadiff.numpy._common._number", "cadiff._leaf"}


@pytest.mark.parametrize("path", ["benchmarks/pure_python.py", "tests/helpers/oracle.py"])
def test_oracles_do_not_import_what_they_judge(path: str) -> None:
    assert imports_of(ROOT / path) == set()


def at_import(tree: ast.Module) -> ast.Module:
    """A module without what its functions do when they are called: that is their own affair."""

    class Forget(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

    return ast.fix_missing_locations(Forget().visit(tree))


@pytest.mark.parametrize("name", MODULES)
def test_importing_the_package_needs_numpy_alone(name: str) -> None:
    """And SciPy for the modules that are of use with it alone."""
    tree = at_import(ast.parse(MODULES[name].read_text(encoding="utf-8")))
    allowed = {*sys.stdlib_module_names, "numpy", "cadiff"}
    if name.split(".")[0] in ("scipy", "optimize"):
        allowed.add("scipy")
    for module in named_imports(tree, package_of(name)):
        assert module.split(".")[0] in allowed, module


# --- the C core --------------------------------------------------------------------------------

# The storeys of the core, from below, and the order of the files within each: a file may include
# headers of earlier storeys, and a header those of earlier groups of its own.
C_STOREYS: list[tuple[str, list[set[str]]]] = [
    ("memory", [{"memory"}]),
    ("table", [{"codes", "special"}, {"ops"}, {"duals"}]),
    (
        "kernels",
        [
            {"kernels"},
            {"digest", "factors", "loops", "masks", "pairs", "whole"},
            {"second", "series"},
        ],
    ),
    (
        "tape",
        [
            {"entries"},
            {"tape"},
            {"adjoints", "blocks", "find", "hook"},
            {"reclaim", "captures", "guards"},
            {"inner"},
            {"marks"},
        ],
    ),
    (
        "arrays",
        [
            {"arrays"},
            {"lanes"},
            {"walk"},
            {"terms"},
            {"kinds"},
            {"values", "tangent", "taylor"},
            {"second"},
            {"reverse"},
            {"runs"},
        ],
    ),
    (
        "sweeps",
        [{"sweeps"}, {"value", "reverse", "tangent", "taylor", "second", "record"}, {"replay"}],
    ),
    (
        "linear",
        [
            {"linear"},
            {"steps"},
            {"check", "sweep"},
            {"inner"},
            {"spans", "adds", "arrays", "numbers"},
            {"build"},
        ],
    ),
    (
        "graph",
        [
            {"pattern"},
            {"coloring"},
            {"graph"},
            {"edges", "sparsity"},
            {"inner"},
            {"fold", "check", "records", "read", "partials"},
            {"live", "derivatives"},
            {"insert"},
            {"split"},
            {"pull", "push", "forward"},
            {"jacobian"},
        ],
    ),
    (
        "program",
        [
            {"program"},
            {"inner"},
            {"chains"},
            {"visit"},
            {"wanted", "levels", "places", "emit", "numbers", "arrays", "loops"},
            {"make", "run"},
        ],
    ),
]
C_RANK = {
    f"{folder}/{name}": (storey, place)
    for storey, (folder, groups) in enumerate(C_STOREYS)
    for place, names in enumerate(groups)
    for name in names
}
TABLE_OF_KINDS = "table/kinds.def"  # which each file reads in its own way
GENERATED = {"ops_codes", "ops_rows", "ops_docs", "ops_direct", "ops_helpers"}
C_FILES = sorted([*SOURCES.glob("[!g]*/*.[ch]"), *SOURCES.glob("graph/*.[ch]")])


def _place(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def includes_of(path: Path, form: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^\s*#\s*include\s*{form}", text, re.MULTILINE)


def test_every_file_of_the_core_has_its_place() -> None:
    assert {_place(path) for path in C_FILES} == set(C_RANK)


@pytest.mark.parametrize("path", C_FILES, ids=_name)
def test_the_c_core_includes_only_what_comes_before(path: Path) -> None:
    storey, place = C_RANK[_place(path)]
    for header in includes_of(path, r'"([^"]+)"'):
        if Path(header).stem in GENERATED or header == TABLE_OF_KINDS:
            assert (storey, place) >= C_RANK["table/codes"]
            continue
        last = place if path.suffix == ".h" else len(C_STOREYS[storey][1])
        assert C_RANK[header.removesuffix(".h")] <= (storey, last), f"{path} includes {header}"


@pytest.mark.parametrize("path", C_FILES, ids=_name)
def test_the_c_core_knows_no_python(path: Path) -> None:
    standard = {
        "assert.h",
        "float.h",
        "limits.h",
        "math.h",
        "stddef.h",
        "stdint.h",
        "stdlib.h",
        "string.h",
    }
    assert set(includes_of(path, r"<([^>]+)>")) <= standard
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"\bPy\w*_|\bPyObject\b|\bnpy_|\bNPY_", text)


BINDING = PACKAGE / "binding" / "numbers"


@pytest.mark.parametrize("path", [*C_FILES, *sorted(BINDING.glob("*/*.[ch]"))], ids=_name)
def test_inner_headers_are_included_in_their_own_storey_alone(path: Path) -> None:
    for header in includes_of(path, r'"(\w+/(?:inner|steps|visit)\.h)"'):
        assert Path(header).parent.name == path.parent.name, f"{path} includes {header}"


def guard_of(prefix: str, path: Path) -> str:
    """The name that a header is guarded by: its folder, and itself if it is called otherwise."""
    folder, name = path.parent.name.upper(), path.stem.upper()
    return f"{prefix}_{folder}_H" if folder == name else f"{prefix}_{folder}_{name}_H"


@pytest.mark.parametrize("path", [p for p in C_FILES if p.suffix == ".h"], ids=_name)
def test_headers_have_guards(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).strip()
    guard = guard_of("CAD", path)
    assert text.startswith(f"#ifndef {guard}\n#define {guard}\n")
    assert text.endswith("#endif")


# --- who calls whom in C -----------------------------------------------------------------------

# A function, a table or a variable where it is defined, a function where it is only declared.
C_DEFINITION = re.compile(
    r"^((?:\w+[ *]+)+)(\w+)(?:\([^;{}]*\)|(?:\[[^]]*\])* =)\s*\{", re.MULTILINE
)
C_VARIABLE = re.compile(
    r"^((?:\w+[ *]+)+)(?:\(\*)?(\w+)(?:\)\([^;{}]*\))?(?:\[[^]]*\])*(?: = [^;{]*)?;", re.MULTILINE
)
C_DECLARATION = re.compile(
    r"^(?:\w+ )*extern [^;{}]*;|^(?:\w+[ *]+)+\w+\([^;{}]*\);", re.MULTILINE
)


def code_of(path: Path) -> str:
    """A file in C without comments, texts and mere declarations."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return C_DECLARATION.sub("", re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text))


def definitions_of(path: Path) -> tuple[set[str], set[str]]:
    """The functions, tables and variables that a file defines for others, and those for itself
    alone: what is static, unless it stands in a header."""
    code = code_of(path)
    found = [
        (words, name)
        for words, name in C_DEFINITION.findall(code) + C_VARIABLE.findall(code)
        if "typedef" not in words.split()
    ]
    own = {name for words, name in found if path.suffix == ".c" and "static" in words.split()}
    return {name for _, name in found} - own, own


def calls_between(paths: Iterable[Path]) -> dict[str, dict[str, set[str]]]:
    """Which functions and tables of other files a file uses, by the names of both without their
    endings: a header and the source called after it are one. A function counts for where it is
    defined, whatever header declares it."""
    paths = list(paths)
    defined: dict[str, str] = {}
    for path in paths:
        defined |= dict.fromkeys(definitions_of(path)[0], _place(path))
    calls: dict[str, dict[str, set[str]]] = {_place(path): {} for path in paths}
    for path in paths:
        used = re.findall(r"\b(\w+)\(|\b(cad_\w+|Cad\w+_Type)", code_of(path))
        for name in {call or table for call, table in used} - definitions_of(path)[1]:
            if defined.get(name, _place(path)) != _place(path):
                calls[_place(path)].setdefault(defined[name], set()).add(name)
    return calls


def circle_in(calls: dict[str, dict[str, set[str]]]) -> list[str]:
    """Some files each of which uses the next one, the last one the first; none if there is no
    circle. The first file is named at the end once more."""
    try:
        graphlib.TopologicalSorter(calls).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []


@pytest.fixture(scope="module")
def core_calls() -> dict[str, dict[str, set[str]]]:
    return calls_between(C_FILES)


def test_the_c_core_has_no_circles(core_calls: dict[str, dict[str, set[str]]]) -> None:
    assert circle_in(core_calls) == []


def test_the_c_core_calls_no_storey_above(core_calls: dict[str, dict[str, set[str]]]) -> None:
    for name, used in core_calls.items():
        for other, names in used.items():
            assert C_RANK[other][0] <= C_RANK[name][0], f"{name} uses {names} of {other}"


def test_circles_in_c_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.h").write_text(
        "int cad_a(int x);\nint cad_b(\n    int x);\n"
        "static inline int small(int x) {\n    return x;\n}\n"
    )
    (folder / "a.c").write_text(
        "/* cad_b */\nstatic int helper(int x) {\n    return cad_table[x];\n}\n\n"
        "int cad_a(int x) {\n    return helper(x);\n}\n"
    )
    (folder / "b.c").write_text(
        "static int small(int x) {\n    return x;\n}\n\n"
        "int cad_b(int x) {\n    return small(x) + cad_a(x);\n}\n"
    )
    (folder / "c.c").write_text("const int cad_table[] = {\n    1,\n};\n")
    (folder / "d.h").write_text("extern int cad_n;\nHIDDEN extern int (*cad_hook)(int);\n")
    (folder / "d.c").write_text("int (*cad_hook)(int);\nint cad_n = 1;\nstatic int own, *all;\n")
    assert definitions_of(folder / "d.h") == (set(), set())
    assert definitions_of(folder / "d.c")[0] == {"cad_hook", "cad_n"}
    (folder / "d.h").unlink()
    (folder / "d.c").unlink()
    calls = calls_between(sorted(folder.iterdir()))
    assert calls == {
        "folder/a": {"folder/c": {"cad_table"}},
        "folder/b": {"folder/a": {"cad_a"}},
    } | {"folder/c": {}}
    assert circle_in(calls) == []
    (folder / "c.c").write_text(
        'int (*cad_table[])(int) = {cad_b};\n\nvoid cad_c(void) {\n    puts("cad_a");\n'
        "    small(cad_b(1));\n}\n"
    )
    calls = calls_between(sorted(folder.iterdir()))
    assert calls["folder/c"] == {"folder/a": {"small"}, "folder/b": {"cad_b"}}
    (folder / "a.c").write_text("int cad_a(int x) {\n    return cad_b(x);\n}\n")
    circle = circle_in(calls_between(sorted(folder.iterdir())))
    assert circle[0] == circle[-1]
    assert set(circle) == {"folder/a", "folder/b"}


# --- the binding in C --------------------------------------------------------------------------

# The folders of the binding, from below, and the order of the files within each: a file may use
# what earlier folders define, and of its own folder what earlier groups or its own group do.
BINDING_STOREYS: list[tuple[str, list[set[str]]]] = [
    ("numbers", []),
    (
        "objects",
        [
            {"types"},
            {"state"},
            {"binding", "classify", "errors", "slabs", "views"},
            {"duals", "handles"},
            {"tape"},
        ],
    ),
    (
        "operations",
        [
            {"functions", "recording"},
            {"apply", "operations"},
            {"compare", "operators"},
            {"partials"},
        ],
    ),
    ("var", [{"var"}, {"sweep", "values"}, {"grad"}, {"members", "operators"}]),
    (
        "array",
        [{"array"}, {"inner"}, {"operands"}, {"apply", "gather", "kinds"}, {"assign"}, {"index"}],
    ),
    ("dual", [{"apply", "dual"}, {"index", "make"}, {"members", "operators"}]),
    ("module", [{"module"}, {"methods", "objects", "table", "ufuncs"}, {"ready"}]),
]
BINDING_RANK = {
    f"{folder}/{name}": (storey, place)
    for storey, (folder, groups) in enumerate(BINDING_STOREYS)
    for place, names in enumerate(groups)
    for name in names
}
BINDING_FILES = sorted(BINDING.glob("*/*.[ch]"))


@pytest.fixture(scope="module")
def binding_calls() -> dict[str, dict[str, set[str]]]:
    return calls_between(BINDING_FILES)


def test_every_file_of_the_binding_has_its_place() -> None:
    assert {_place(path) for path in BINDING_FILES} == set(BINDING_RANK)
    assert [path.name for path in BINDING.glob("*.*")] == ["numbers.h"]


def test_the_binding_has_no_circles(binding_calls: dict[str, dict[str, set[str]]]) -> None:
    assert circle_in(binding_calls) == []


@pytest.mark.parametrize("name", sorted(BINDING_RANK))
def test_a_file_of_the_binding_uses_what_stands_below(
    name: str, binding_calls: dict[str, dict[str, set[str]]]
) -> None:
    for other, names in binding_calls[name].items():
        assert BINDING_RANK[other] <= BINDING_RANK[name], f"{name} uses {names} of {other}"


def test_calls_between_files_of_the_binding_are_seen(
    binding_calls: dict[str, dict[str, set[str]]],
) -> None:
    ready, general = binding_calls["module/ready"], binding_calls["operations/apply"]
    assert {"cad_var_number"} <= ready["var/operators"]
    assert {"CadVar_Type", "CadDual_Type"} <= ready["objects/types"]
    assert ready["objects/state"] == {"cad_state"}
    assert "cad_guarded_tape" in binding_calls["operations/compare"]["operations/recording"]
    assert "cad_dual_show" in binding_calls["dual/dual"]["dual/apply"]
    assert {name.split("/")[0] for name in general} == {"objects", "operations"}


@pytest.mark.parametrize("path", BINDING_FILES, ids=_name)
def test_a_file_of_the_binding_says_what_it_is_for(path: Path) -> None:
    assert re.match(r"/\*.*?\*/\n#(include|ifndef)", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("path", BINDING_FILES, ids=_name)
def test_a_file_of_the_binding_includes_what_stands_below(path: Path) -> None:
    storey, place = BINDING_RANK[_place(path)]
    last = place if path.suffix == ".h" else len(BINDING_STOREYS[storey][1])
    for header in includes_of(path, r'"([^"]+)"'):
        name = header.removesuffix(".h")
        if name.startswith("numbers/"):
            assert BINDING_RANK[name.removeprefix("numbers/")] <= (storey, last), header
            if Path(name).stem == "inner":
                assert Path(name).parent.name == path.parent.name, header
        else:
            assert name in GENERATED | set(C_RANK), header


def test_headers_of_the_binding_declare_what_their_folder_defines() -> None:
    """But for what the binding in Cython does for these files."""
    defined = {path: definitions_of(path)[0] for path in BINDING_FILES if path.suffix == ".c"}
    for header in (path for path in BINDING_FILES if path.suffix == ".h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        declared = set(
            re.findall(r"^(?:\w+[ *]+)+\(?\*?(cad_\w+|Cad\w+_Type)\b", text, re.MULTILINE)
        )
        declared -= definitions_of(header)[0]
        here = (names for path, names in defined.items() if path.parent == header.parent)
        own = defined.get(header.with_suffix(".c"))
        offered = own if own is not None else set().union(*here)
        assert header.stem == "binding" or declared <= offered, declared - offered


@pytest.mark.parametrize("path", sorted(BINDING.glob("**/*.h")), ids=_name)
def test_headers_of_the_binding_have_guards(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).strip()
    guard = guard_of("CADIFF", path)
    assert text.startswith(f"#ifndef {guard}\n#define {guard}\n")
    assert text.endswith("#endif")


def test_the_binding_in_cython_sees_all_that_the_files_offer() -> None:
    declared = [BINDING / "numbers.h", *(PACKAGE / "binding").glob("c_*.pxd")]
    seen = {
        name
        for path in declared
        for name in re.findall(r'"numbers/(\w+/\w+\.h)"', path.read_text(encoding="utf-8"))
    }
    offered = {path for path in BINDING_FILES if path.suffix == ".h" and path.stem != "inner"}
    assert seen == {path.relative_to(BINDING).as_posix() for path in offered}


# --- what can change while the process runs ----------------------------------------------------

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
    found = {(_place(path), name) for path in BINDING_FILES for name in changeable(path)}
    assert found == {("objects/state", "cad_state")}


def test_the_core_in_c_has_no_state_but_borrowed_loops_and_a_door_for_tests() -> None:
    found = {(_place(path), name) for path in C_FILES for name in changeable(path)}
    assert found == {("kernels/kernels", "loops"), ("memory/memory", "remaining")}


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


# --- memory ------------------------------------------------------------------------------------


def test_memory_is_taken_through_one_door() -> None:
    calls = re.compile(r"\b(malloc|calloc|realloc|free)\s*\(")
    for path in [*C_FILES, *BINDING.glob("*/*.c")]:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = set(calls.findall(text))
        assert path.name == "memory.c" or not found, f"{path.name} calls {found}"


# --- derived files -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(generate.derived_files()))
def test_derived_files_follow_from_the_table(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text == generate.derived_files()[name], "run `python src/table/generate.py derived`"


def test_the_compiled_core_was_built_from_the_table() -> None:
    rows = [row for row in generate.read_table() if row.public]
    assert _core.operations() == [(row.name, len(row.operands), row.ufunc) for row in rows]
    assert dict(_core.aliases()) == generate.ALIASES
    for row in rows:
        assert getattr(cadiff, row.name).__doc__ == generate.docstring(row)


BAD_ROWS = {
    "columns": "f(x) | - | R | x",
    "head": "f x | - | R | x | 1 |",
    "partials": "f(x, y) | - | R; R | x | 1 |",
    "domains": "f(x, y) | - | R | x | 1; 1 |",
    "too many operands": "f(a, b, c, d) | - | R; R; R; R | a | 1; 1; 1; 1 |",
    "unknown word": "f(x) | - | R | x | sinus(x) |",
    "unknown name": "f(x) | - | R | x | y |",
    "wrong arity": "add(x, y) | - | R; R | x + y | add(x); 1 |",
    "syntax": "f(x) | - | R | x | (x |",
    "unknown operator": "f(x) | - | R | x | x ** 2 |",
    "unknown condition": "f(x) | - | R | x | 1 if x else 0 |",
    "unknown domain": "f(x) | - | real | x | 1 |",
    "empty domain": "f(x) | - | [1, 0] | x | 1 |",
    "two of a name": "f(x) | - | R | x | 1 |\nf(x) | - | R | x | 1 |",
}


@pytest.mark.parametrize("text", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_malformed_row_is_refused_with_its_place(text: str, tmp_path: Path) -> None:
    table = tmp_path / "ops.def"
    table.write_text(f"# comment\n\n{text}\n", encoding="utf-8")
    with pytest.raises(generate.TableError, match=r"ops\.def"):
        generate.read_table(table)


# --- stubs -------------------------------------------------------------------------------------


def _stub(name: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{name}.pyi").read_text(encoding="utf-8"))


def _members(node: ast.ClassDef) -> set[str]:
    names = set()
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            names.add(item.name)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            names.add(item.target.id)
    return names


BINDING_STUBS = [f"binding/{path.stem}" for path in sorted((PACKAGE / "binding").glob("*.pyi"))]


def stub_members(name: str) -> set[str]:
    """What the stubs say about a class of the core, with what it inherits there."""
    classes = {
        node.name: node
        for module in (*BINDING_STUBS, "operations/methods")
        for node in ast.walk(_stub(module))
        if isinstance(node, ast.ClassDef)
    }
    members = _members(classes[name])
    for base in classes[name].bases:
        if isinstance(base, ast.Name) and base.id in classes:
            members |= stub_members(base.id)
    return members


# Protocols of the language and of NumPy that no user calls.
UNTYPED = {
    "__array__",
    "__array_function__",
    "__array_ufunc__",
    "__contains__",  # of arrays alone
    "__doc__",
    "__module__",
    "__pyx_vtable__",
    "__reduce_cython__",
    "__setstate__",
    "__setstate_cython__",
}


def runtime_members(kind: type[Any]) -> set[str]:
    """What a type has beyond object."""
    members = {
        name
        for base in kind.__mro__[:-1]
        for name, thing in vars(base).items()
        if not isinstance(thing, binding.newcomers.Absent)
    }
    return {name for name in members if not hasattr(object, name)} - UNTYPED


@pytest.mark.parametrize(
    "kind", [cadiff.Var, cadiff.Dual, binding.Recording, binding.Structure, binding.FrozenMap]
)
def test_stubs_cover_every_member_of_the_types(kind: type[Any]) -> None:
    assert runtime_members(kind) - stub_members(kind.__name__) == set()


@pytest.mark.parametrize(
    "kind", [cadiff.Var, cadiff.Dual, binding.Recording, binding.Structure, binding.FrozenMap]
)
def test_stubs_promise_nothing_that_the_types_lack(kind: type[Any]) -> None:
    assert {name for name in stub_members(kind.__name__) if not hasattr(kind, name)} == set()


def test_array_numbers_have_the_members_of_the_scalars() -> None:
    for scalar, array in (
        (cadiff.Var(1.0), cadiff.Var([1.0])),
        (cadiff.Dual(1), cadiff.Dual([1])),
    ):
        assert runtime_members(type(scalar)) == runtime_members(type(array))


def own_functions(module: ModuleType) -> set[str]:
    """The functions for others that a compiled module has not imported itself."""
    return {
        name
        for name, thing in vars(module).items()
        if callable(thing) and not isinstance(thing, type) and not name.startswith("_")
        if getattr(thing, "__module__", module.__name__) in {module.__name__, "cadiff"}
    }


@pytest.mark.parametrize("name", COMPILED)
def test_stubs_cover_the_functions_of_a_compiled_module(name: str) -> None:
    module = importlib.import_module(f"cadiff.{name}")
    path = COMPILED[name].with_suffix(".pyi")
    body = _stub(name.replace(".", "/")).body if path.exists() else []
    stubbed = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    tabled = set(_core.functions()) if module is _core else set()
    assert own_functions(module) - stubbed - tabled == set()
    assert {name for name in stubbed if not hasattr(module, name)} == set()


def test_the_stub_of_the_table_lists_every_function() -> None:
    stub = _stub("operations/table")
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert functions == set(_table.__all__) == set(_core.functions())
    for name in functions:
        assert callable(getattr(cadiff, name))


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [cadiff, _table, inspection, ops, programs, transforms])
def test_all_names_exist_once_and_are_documented(module: ModuleType) -> None:
    names = module.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert not name.startswith("_")
        assert getattr(module, name).__doc__, f"{name} has no documentation"


def test_the_package_offers_all_that_its_modules_offer() -> None:
    modules = (_table, inspection, ops, programs, transforms)
    parts = {name for module in modules for name in module.__all__}
    assert parts <= set(cadiff.__all__)
    for name in parts:
        assert hasattr(cadiff, name)
    assert {"Var", "Dual", "StaleVarError"} <= set(cadiff.__all__)


def test_every_operation_is_offered_under_its_name_in_numpy_or_scipy() -> None:
    for name, _, ufunc in _core.operations():
        if ufunc.startswith("numpy."):
            assert hasattr(np, name)
            assert ufunc == f"numpy.{name}"
        elif ufunc != "-":
            assert ufunc == f"scipy.special.{name}"
        assert getattr(cadiff, name) is getattr(_core, name)
    for alias, name in _core.aliases():
        assert getattr(cadiff, alias) is getattr(cadiff, name)


def test_checkers_of_types_find_what_the_package_exports() -> None:
    """Pyright reads `__all__ += module.__all__` of modules that are imported in these two ways."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.asname for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is None:
            found |= {alias.name for alias in node.names if alias.asname is None}
    added = [
        node.value.value.id
        for node in tree.body
        if isinstance(node, ast.AugAssign)
        and isinstance(node.value, ast.Attribute)
        and isinstance(node.value.value, ast.Name)
    ]
    assert len(added) > 2 and set(added) <= found
