"""Write the lists of `docs/scipy.md`: which names have derivatives, and why others have none.

    python docs/generate_scipy.py

A name is supported if a test asks for its derivative: a line of `tests/helpers/cases_scipy.py`, or
of the registry, which other tests go through. Of the others the table below says why; what stands
in neither is not done yet.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from cadiff.numpy._refusals import relayed
from cadiff.operations.dispatch import FUNCTIONS, PLAIN
from tests.helpers.cases_scipy import ASKED

PAGE = Path(__file__).with_name("scipy.md")
MARK = "## Which names have derivatives\n"

RELAYED = relayed(lambda: None, "", "").__code__  # of functions that are SciPy's own

MODULES = (
    *("cluster.hierarchy", "cluster.vq", "differentiate", "fft", "integrate", "interpolate"),
    *("linalg", "ndimage", "optimize", "signal", "signal.windows", "sparse", "sparse.linalg"),
    *("spatial", "spatial.distance", "spatial.transform", "special", "stats"),
)

# Why names have no derivative: a reason, and patterns of names, by modules where that matters.
REASONS = """
it is an exception, a warning, a base class, a container or a setting
    errstate geterr seterr use_solver load_npz save_npz sparray spmatrix LinearOperator
    ArpackNoConvergence Delaunay make_distribution spbandwidth
    .*Warning .*Error BadCoefficients NoConvergence OptimizeResult RootResults .*Method ClusterNode
    DisjointSet DenseOutput OdeSolution OdeSolver Rectangle
    HessianUpdateStrategy BFGS SR1 InverseJacobian KrylovJacobian BroydenFirst LbfgsInvHessProduct
    Bounds .*Constraint NoConvergence CensoredData Covariance SuperLU LaplacianNd
it finds derivatives
    approx_fprime check_grad
it goes on step by step: `solve_ivp` has derivatives
    ode complex_ode
it answers a question, counts, labels, or finds places
    is_.* check_.* num_obs.* find_.* argrel.* peak_.* .*_position label value_indices .*_lags
    choose_conv_method .*erosion binary_.* generate_binary.* iterate_structure watershed_ift
    findfreqs max_len_seq unit_impulse histogram isspmatrix.* issparse isspmatrix get_index_dtype
    safely_cast.* .*_metrics tsearch cut_tree leaders leaves_list fcluster.* dendrogram correspond
    get_.*_funcs find_best_blas_type bandwidth ishermitian issymmetric line_search show_options
    find .*_grid mode rankdata percentileofscore cumfreq relfreq tiecorrect correspond to_tree
    optimal_leaf_ordering num_.* unique_roots set_link.* linprog_verbose.* bracket next_fast_len
    prev_fast_len get_workers set_workers register_backend .*_backend skip_backend set_backend
it is a table of numbers, for whole numbers or none
    boxcar triang parzen bohman blackman.* nuttall flattop bartlett barthann hann cosine lanczos
    dpss .*fftfreq fhtoffset buttap besselap roots_.* .*_roots eye.* identity spdiags lebedev_rule
    newton_cotes .*_seq mathieu_.*_coef chebyc chebys chebyt chebyu gegenbauer genlaguerre hermite
    hermitenorm jacobi laguerre legendre sh_.* lmbda lqmn lqn riccati_.* .*cv assoc_legendre_p_all
    legendre_p_all
it is of whole numbers, bools or ranks, and constant between jumps
    square dice hamming jaccard rogerstanimoto russellrao sokalsneath yule .*rank.* spearman.*
    kendall.*
    mannwhitneyu wilcoxon friedmanchisquare kruskal mood ansari ks.* .*exact brunnermunzel somersd
    weightedtau median_test quantile_test bws_test fligner chatterjeexi page_trend_test binomtest
    boschloo_.* barnard_.* poisson_means_test false_discovery_control distance_transform_.*
    epps_.* cramervonmises_2samp anderson_ksamp comb perm factorial.* stirling2 bernoulli euler
    .*_zeros .*_zero .*buttord .*ord iirdesign.*ord hadamard helmert hilbert invhilbert pascal
    invpascal dft fiedler.* leslie milp .*_assignment
it draws random numbers, or repeats a computation with such
    bootstrap permutation_test monte_carlo_test power goodness_of_fit sobol_indices dunnett qmc.*
    ortho_group special_ortho_group unitary_group uniform_direction
    multiscale_graphcorr random.* rand clarkson_woodruff_transform .*annealing basinhopping
it draws a picture
    .*plot.* .*_plot_2d
it takes systems as objects: give `lsim` and the others their matrices
    StateSpace TransferFunction ZerosPolesGain lti dlti bode dbode impulse step dstep dimpulse
    freqresp dfreqresp place_poles abcd_normalize
it is computed without derivatives, by values that are looked up or optimised
    shapiro remez kaiserord firls2 ppcc_max .*normmax fit ecdf logrank chi2_contingency
    SphericalVoronoi Voronoi HalfspaceIntersection KDTree cKDTree lebedev_rule
"""


def reasons() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Each reason, and which names it is of."""
    for line in re.findall(r"^\S.*(?:\n .*)*", REASONS, re.MULTILINE):
        reason, *names = line.split("\n")
        yield reason, re.compile("|".join(" ".join(names).split()))


RULED = ("fft", "linalg", "sparse", "sparse.linalg", "special")  # modules of rules, each tested


def status(module: str, name: str, thing: Any) -> str:
    """What is said of a name: "" if it has derivatives."""
    its = importlib.import_module(f"cadiff.scipy.{module}")
    if name in vars(its).get("REFUSED", ()):
        return "it refuses numbers with derivatives, and says what to write instead"
    rule = FUNCTIONS.get(thing) if module in RULED and thing not in PLAIN else None
    is_ruled = getattr(rule, "__wrapped__", thing) is not thing or isinstance(thing, np.ufunc)
    is_distribution = callable(getattr(thing, "rvs", None)) and name not in PLAIN_DISTRIBUTIONS
    if f"{module}.{name}" in ASKED or is_distribution or (rule is not None and is_ruled):
        return ""
    for reason, names in reasons():
        if names.fullmatch(name):
            return reason
    return "not yet"


LISTS = """
This list is generated from the tests, by `python docs/generate_scipy.py`.

{summary}
"""

# Distributions that only draw.
PLAIN_DISTRIBUTIONS = (
    *("ortho_group", "random_correlation", "random_table", "special_ortho_group"),
    *("uniform_direction", "unitary_group"),
)


def page() -> str:
    """The text of the page."""
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    parts = [head, MARK, LISTS]
    counts = {"": 0, "not yet": 0}
    for module in MODULES:
        real = importlib.import_module(f"scipy.{module}")
        importlib.import_module(f"cadiff.scipy.{module}")
        names = [
            name
            for name in getattr(real, "__all__", dir(real))
            if not isinstance(getattr(real, name), ModuleType) and name[0] != "_"
        ]
        groups: dict[str, list[str]] = {}
        for name in sorted(names, key=str.lower):
            groups.setdefault(status(module, name, getattr(real, name)), []).append(name)
        parts.append(f"\n### `scipy.{module}`\n\n")
        for reason in sorted(
            groups, key=lambda reason: (reason != "", reason == "not yet", reason)
        ):
            listed = ", ".join(f"`{name}`" for name in groups[reason])
            head = reason or "has derivatives"
            parts.append(f"* {head}: {listed}\n")
            if reason in counts:
                counts[reason] += len(groups[reason])
    share = counts[""] / (counts[""] + counts["not yet"])
    summary = (
        f"Of {counts[''] + counts['not yet']} public names that have a derivative at all, "
        f"{counts['']} have it here: {100.0 * share:.0f} %.\n"
    )
    return "".join(parts).replace("{summary}\n", summary)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
