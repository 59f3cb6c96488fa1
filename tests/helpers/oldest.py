"""Tests of what the oldest NumPy, SciPy and Python lack, or have otherwise than later ones.

Names and arguments that came later, errors and last bits that are the library's own, warnings that
it gives by itself. Each row is a library, the version from which on a test can pass, and what its
name begins with, below tests/; cases of functions of SciPy's are in `cases_scipy`.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable

import numpy
import scipy

HERE = {
    "Python": platform.python_version(),
    "NumPy": numpy.__version__,
    "SciPy": scipy.__version__,
}

TABLE = r"""
Python 3.11  numerics/test_containers_of_scipy.py::test_functions_of_scipys_name_ours\[expm
Python 3.11  numerics/test_sparse.py::test_what_is_refused_says_what_to_write_instead\[SciPy's fun
Python 3.11  search/test_slice.py::test_what_is_searched
NumPy 2.1    numerics/test_array_api.py::test_names\[(unstack|cumulative|__array_namespace_info)
NumPy 2.1    numerics/test_array_api.py::test_calls\[xp.(clip\(x, m|unstack|reshape.*copy|cumulat)
NumPy 2.1    numerics/test_complex_arguments.py::test_arguments_count_or_are_refused\[size
NumPy 2.1    numerics/test_complex_linalg.py::test_values_and_derivatives\[cond (-?1|-?inf)
NumPy 2.1    numerics/test_eager_cache.py::test_last_bits_are_the_same_in_all_calls
NumPy 2.1    numerics/test_linalg.py::test_norms_of_empty_matrices\[(1-shape1|2-|inf-shape[02])
NumPy 2.1    numerics/test_single_precision.py::test_promotion\[\w+-pow-
NumPy 2.1    numerics/test_single_precision.py::test_values_and.*\[numpy (rfftn\(an |einsum opt)
NumPy 2.1    numerics/test_values.py::test_programs_without_optimisation_have_the_same_values
NumPy 2.1    numerics/test_values.py::test_values_are_the_same_with_a_derivative\[np
NumPy 2.1    numerics/test_vectors.py::test_eager_values_stay_those_of_numpy\[exp
NumPy 2.1    random_programs/test_exact_replays.py::test_arguments_that_are_not_differentiated_by
NumPy 2.3    binding/test_memory_order.py::test_results_stand_as_those_of_numpy
SciPy 1.17   numerics/test_limits.py::test_arrays_of_shapes_of_which_some_are_special
SciPy 1.17   numerics/test_linalg.py::test_results_of_stacks_are_what_scipy_makes.*\[lu_factor
SciPy 1.17   numerics/test_single_precision.py::test_dtypes_are_scipys\[lp2hp at a frequency
SciPy 1.17   numerics/test_sparse.py::\w+\[spsolve_triangular
SciPy 1.17   numerics/test_sparse.py::test_(vectors|other_.*\[<lambda>4|single_.*\[<lambda>4)
SciPy 1.17   numerics/test_containers_of_scipy.py::test_splines_on_a_grid
SciPy 1.17   numerics/test_special_pieces.py::test_a_solution_at_a_bound_does_not_move\[fdtridfd
SciPy 1.17   numerics/test_stats.py::test_(calls|programs_of_equal_eigenv.*)\[matrix_t
SciPy 1.17   numerics/test_stats.py::test_calls\[genextreme (moment|mean, f|stats, f)
SciPy 1.17   numerics/test_values.py::test_values_are.*\[(scipy.linalg|stats)\]
"""


def numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")[:2]]


def later() -> Callable[[str], bool]:
    """Whether a test, by its name, is of what came later than what is installed."""
    rows = [line.split(None, 2) for line in TABLE.strip().splitlines()]
    patterns = [row for name, since, row in rows if numbers(HERE[name]) < numbers(since)]
    known = re.compile("|".join(f"tests/(?:{pattern})" for pattern in patterns) or "$.")
    return lambda name: bool(known.match(name))
