"""The order of the house: which module of the package may use which.

Modules may use only those that come before them. A new module has to be given its place here; a
file in Cython in test_cython_order.py, one in C in test_core_order.py or test_binding_order.py.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cadiff.binding import loading

from .sources import (
    COMPILED,
    MODULES,
    ROOT,
    at_import,
    fetches_of,
    imports_of,
    named_imports,
    package_of,
    private_names,
)

# The storeys of the package, from below, and the order of the modules within each: a module may
# import those of lower storeys, and of its own those of earlier groups. A package stands for its
# own __init__.py; "" is the folder of the package itself.
STOREYS: list[tuple[str, list[set[str]]]] = [
    (
        "binding",
        [
            {"bytecode", "interpreter"},
            {"callers", "digests", "dtype", "foreign_names", "held"},
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
            {"replayed", "foreign"},
            {"dispatch", "exactness", "making"},
            {"arrays"},
            {"missing_derivatives", "naming", "patterns"},
            {"recorded_calls"},
            {"derived_rules", "eager_cache"},
            {"primitives"},
            {"linear_maps", "numerical", "pairs"},
            {"complexes"},
            {"indices"},
            {"integers", "searches"},
            {"protocols"},
            {"scalars"},
            {"attributes", "masks"},
            {"__init__"},
        ],
    ),
    ("", [{"ops"}, {"nn", "math", "cmath"}]),
    (
        "numpy",
        [
            {"_common", "_refusals", "_matrices", "_fourier", "_lapack"},
            {"_own"},
            {"_systems"},
            {"_triangular_factors"},
            {"_factorizations"},
            {"_least_squares"},
            {
                "_plain",
                "_creation",
                "_elementwise",
                "_choices",
                "_shapes",
                "_reductions",
            },
            {"_quantiles", "_standard", "fft", "linalg", "random"},
            {"_products"},
            {"_calculus"},
            {"_ufunc_methods"},
            {"_complex"},
            {"__init__"},
        ],
    ),
    (
        "scipy",
        [
            {"_differences", "_quadratures", "_stacks"},
            {"_arrays", "_structures"},
            {"_formulas", "_mirror", "_structured"},
            {"_signatures"},
            {"_bands", "_matrix_functions"},
            {"_equations"},
            {
                *("_analytic", "_bessel_functions", "_distribution_ufuncs", "_families"),
                *("_gamma_functions", "_steps", "fft", "linalg"),
            },
            {"special"},
            {"_clusters", "_distances", "_filters", "_rotations", "_samples", "_splines"},
            {"_images", "_limits", "_scattered"},
            {"cluster", "differentiate", "interpolate", "ndimage", "signal", "spatial", "stats"},
            {"__init__"},
        ],
    ),
    (
        "scipy.sparse",
        [{"_numbers"}, {"_solvers"}, {"linalg"}, {"__init__"}],
    ),
    (
        "transforms",
        [
            {"_base", "_generators", "_outputs", "_pages"},
            {"_holomorphic"},
            {"_blocks", "_flat", "_forward", "_mapped", "_reverse"},
            {"_jacobians", "_second", "_points"},
            {"_checkpoints", "_linearize"},
            {"_objects"},
            {"_solver_side_effects"},
            {"_closed"},
            {"_solutions"},
            {"_implicit"},
            {"__init__"},
        ],
    ),
    ("inspection", [{"layout", "texts"}, {"checks", "tape_listing"}, {"__init__"}]),
    (
        "programs",
        [
            {
                *("compilers", "helpers_in_c", "instructions", "library_types", "reads"),
                *("returned", "text_in_c"),
            },
            {"fused_loops", "machine_files", "reasons", "recorded", "settings", "steps_in_c"},
            {"fused"},
            {"machine_code"},
            {"lanes_in_c"},
            {"native"},
            {"findings", "named", "observations"},
            {"counters"},
            {"contents"},
            {"walks"},
            {"loop_steps"},
            {"found_steps", "segments", "standings"},
            {"found_turns"},
            {"slots"},
            {"found_loops", "pace"},
            {"codegen", "listings", "recordings"},
            {"traced"},
            {"verification"},
            {"traces"},
            {"fallbacks"},
            {"batches", "c_functions", "derivatives", "matrices", "profiles"},
            {"report"},
            {"program"},
            {"rows", "sparse"},
            {"kept"},
            {"kept_loops"},
            {"control_flow"},
            {"mapping"},
            {"__init__"},
        ],
    ),
    (  # what of SciPy's takes functions, and differentiates and compiles them
        "scipy",
        [
            {"_calls", "_reports"},
            {"_flows", "_integrals", "_runge_kutta"},
            {"_initial", "_optima"},
            {"integrate"},
        ],
    ),
    (
        "optimize",
        [
            {"_progress", "_vectors"},
            {"_boxes", "_history"},
            {"_differences"},
            {"_objectives"},
            {"_solutions"},
            {"_results"},
            {"_called_like"},
            {"_constraints"},
        ],
    ),
    ("interop", [{"_conditions"}, {"ipopt", "nlopt"}]),  # methods of `minimize`
    (
        "optimize",
        [
            {"_minimize"},
            {"_fits", "_global", "_problems", "_roots", "_training"},
            {"__init__"},
        ],
    ),
    ("scipy", [{"optimize"}]),
    (
        "plot",
        [
            {"_axes"},
            {"_contours", "_convergence", "_graph", "_profile", "_sparsity"},
            {"__init__"},
        ],
    ),
    ("interop", [{"_seams"}, {"casadi", "jax", "pytensor", "torch"}, {"__init__"}]),
    ("", [{"version"}, {"__init__"}]),
    ("compat", [{"__init__", "aliases", "places", "trees"}]),
    ("compat", [{"calls", "draws", "images", "matrices", "optimizers", "windows"}]),
    ("compat.autograd", [{"trees", "wrap_util"}, {"core"}]),
    ("compat.autograd", [{"builtins", "differential_operators", "test_util"}]),
    ("compat.autograd", [{"numpy", "scipy"}]),
    ("compat.autograd.misc", [{"fixed_points", "flatten"}, {"__init__", "optimizers"}]),
    ("compat.autograd", [{"__init__"}]),
    ("compat.jax", [{"arrays"}, {"tree_util"}, {"transforms"}, {"numpy"}]),
    ("compat.jax", [{"lax", "random", "scipy"}, {"nn"}, {"__init__"}]),
    ("nist", [{"__init__"}]),
    (
        "commands",
        [{"bench", "targets"}, {"check", "demo", "info", "show"}, {"__init__"}],
    ),
    ("", [{"__main__"}]),
    ("_freezing", [{"__init__"}]),
]


def module_name(folder: str, name: str) -> str:
    """The name of a module, without the package's own."""
    return folder if folder and name == "__init__" else f"{folder}.{name}".lstrip(".")


GROUPS = [
    {module_name(folder, name) for name in names} for folder, groups in STOREYS for names in groups
]
RANK = {name: rank for rank, names in enumerate(GROUPS) for name in names}


def test_every_module_has_its_place() -> None:
    assert set(MODULES) | set(COMPILED) == set(RANK)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_comes_before_it(name: str) -> None:
    for imported in imports_of(MODULES[name], package_of(name)):
        assert RANK[imported] < RANK[name], f"{name} imports {imported}"


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


@pytest.mark.parametrize("name", MODULES)
def test_importing_the_package_needs_numpy_alone(name: str) -> None:
    """And for the modules that are of use with it alone SciPy, or the package of a seam."""
    tree = at_import(ast.parse(MODULES[name].read_text(encoding="utf-8")))
    allowed = {*sys.stdlib_module_names, "numpy", "cadiff"}
    if name.split(".")[0] in ("scipy", "optimize"):
        allowed.add("scipy")
    if name.startswith("interop."):
        allowed |= {"scipy", {"ipopt": "cyipopt"}.get(name.split(".")[1], name.split(".")[1])}
    for module in named_imports(tree, package_of(name)):
        assert module.split(".")[0] in allowed, module


def test_files_are_of_one_subject() -> None:
    """At most 800 lines, in whatever language."""
    written = subprocess.run(
        ["git", "ls-files", "cadiff", "src", "building"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    code = [path for path in written if path.endswith((".py", ".pyx", ".pxd", ".c", ".h", ".def"))]
    if not code:
        pytest.skip("this is no clone")
    long = {path for path in code if (ROOT / path).read_text(encoding="utf-8").count("\n") > 800}
    assert not long
