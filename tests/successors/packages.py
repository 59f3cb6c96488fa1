"""The packages whose own tests `suite.py` runs: where they are, their tests, what is excluded."""

from __future__ import annotations

from typing import NamedTuple

GITHUB = "https://github.com"


class Package(NamedTuple):
    """A package that imports autograd, or itself.

    `source` is a source distribution as pip names it, or a repository and a commit. `tests` are
    arguments of pytest. `excluded` has beginnings of names of tests, each with its reason.
    `needs` names other packages of the table that it imports.
    """

    source: str
    tests: tuple[str, ...]
    excluded: dict[str, str] = {}  # noqa: RUF012 - not changed
    needs: tuple[str, ...] = ()


PACKAGES = {
    "autograd": Package(
        "autograd==1.9.1",
        ("-o", "required_plugins=", "-o", "addopts=", "tests"),
        {
            "tests.test_fft::test_rfftn_odd_not_implemented": (
                "one asks for an error where `rfftn` of odd lengths works"
            ),
            "tests.test_graphs::test_assignment_raises_error": (
                "one for an error where assignment works"
            ),
            "tests.test_misc::test_const_graph": (
                "two count how often `const_graph` runs its function"
            ),
        },
    ),
    "autograd-gamma": Package(
        f"{GITHUB}/CamDavidsonPilon/autograd-gamma 5876e0320865c592ed4a370c6a6ef282cf163480",
        ("tests",),
    ),
    "autoptim": Package(
        f"{GITHUB}/pierreablin/autoptim 0b03d0f8c5b54000d679009640303fad2caf1ebf", ("autoptim",)
    ),
    "geomstats": Package(
        f"{GITHUB}/geomstats/geomstats 1746a38b086d56e348ba68509d54122ea3d3f5e6",
        ("tests/tests_geomstats/test_backend",),
    ),
    "kernel-gof": Package(
        f"{GITHUB}/wittawatj/kernel-gof 039a95ed9d8062e283da6bd051b7161a190b4876", ("kgof/test",)
    ),
    "lifelines": Package(
        "lifelines==0.30.3",
        (
            "lifelines/tests/test_estimation.py",
            "-k",
            "(Parametric or Weibull or LogNormal or LogLogistic or Gamma or Exponential or AFT or "
            "Spline or MixtureCure or Custom) and not Semi",
        ),
    ),
    "paragami": Package(
        f"{GITHUB}/rgiordan/paragami 059bb354b816bafe821d446ece2fb9b968a39d83",
        ("paragami/tests",),
    ),
    "pyerrors": Package(
        f"{GITHUB}/fjosw/pyerrors b28c2f0b6f20e69f5435ad48a6cf73f160b49e35",
        tuple(
            f"tests/{name}_test.py"
            for name in (
                *("correlators", "covobs", "fits", "integrate", "linalg", "obs", "roots"),
                "special",
            )
        ),
    ),
    "pymanopt": Package(
        "pymanopt==2.2.1",
        # Its conftest.py imports TensorFlow and PyTorch.
        ("--noconftest", "tests/backends/test_autograd.py", "tests/optimizers", "tests/manifolds"),
    ),
    "surpyval": Package(
        "surpyval==0.25",
        # All 6,000 tests take hours: these files ask for the most derivatives.
        tuple(
            f"surpyval/tests/univariate/{name}.py"
            for name in (
                *("parametric/test_custom_distribution", "parametric/test_distributions_math"),
                *("regression/test_exact_information", "regression/test_regression"),
            )
        ),
    ),
    "vittles": Package(
        f"{GITHUB}/rgiordan/vittles 73990cae90bd9147990b27953621a0539e54a237",
        ("vittles/tests",),
        needs=("paragami",),
    ),
}
