"""What stands for private parts of SciPy's is where the version that is installed has these.

A stand-in for what SciPy has moved, renamed or given other arguments is not found by its mirrors:
then derivatives are refused, or come from code that does not keep them.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from typing import Any

import numpy as np
import pytest
import scipy

import cadiff
import cadiff.numpy as cnp
from cadiff.scipy import _mirror

from ..helpers.cases_scipy import OTHERS, POINT, VERSION, Call, calls
from ..helpers.differences import check_slope
from .test_scipy import DIRECTION, total, weighted

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.4, 0.5]])
BESIDE = np.array([[0.5, -1e-8]])  # a little outside

# The first versions that have what some stand for; all have the others.
SINCE = {
    (1, 16): """
        _external.array_api_extra._lib._at.at _external.array_api_extra._lib._funcs.apply_where
        interpolate._dierckx.evaluate_ndbspline spatial.distance._np_pdist
        stats._morestats._boxcox_llf stats._qmvnt._bvnu
    """,
    (1, 17): """
        interpolate._rbfinterp._get_backend stats._morestats._yeojohnson_llf
        interpolate._rbfinterp_xp._build_evaluation_coefficients
        interpolate._rbfinterp_xp.kernel_matrix
        spatial.transform._rigid_transform.select_backend
        spatial.transform._rigid_transform_xp._compute_se3_exp_translation_transform
        spatial.transform._rigid_transform_xp._compute_se3_log_translation_transform
        spatial.transform._rotation.select_backend spatial.transform._rotation_xp._align_vectors
        spatial.transform._rotation_xp.array_namespace spatial.transform._rotation_xp.as_davenport
        spatial.transform._rotation_xp.as_rotvec spatial.transform._rotation_xp.from_matrix
        spatial.transform._rotation_xp.from_rotvec
    """,
    (1, 18): "signal._whittaker._solveh_banded",
}
# Those from which on they are no more.
UNTIL = {
    (1, 16): "stats._mvn.mvnun",
    (1, 18): "stats._stats_mstats_common.siegelslopes_pythran",
}


# Calls of functions that the oldest versions have not.
NEW = """
signal.whittaker_henderson      f(x, lamb=3.0).x;  f(u, lamb=x[0], order=3, weights=x).x
signal.whittaker_henderson      f(np.cumsum(x * u)).x ~4
stats.estimated_cdf             f(x, np.array([0.95, 1.25]));  f(u, x - 1.03, method="hazen")
"""


def there_is(module: str, place: str) -> bool:
    try:
        functools.reduce(getattr, place.split("."), importlib.import_module(module))
    except (AttributeError, ImportError):
        return False
    return True


def test_each_stands_for_something() -> None:
    for module in pkgutil.iter_modules(cadiff.scipy.__path__, "cadiff.scipy."):
        importlib.import_module(module.name)
    missing = {
        f"{module}.{place}".removeprefix("scipy.")
        for module, kernels in _mirror.KERNELS.items()
        for place, kernel in kernels.items()
        # The functions that ask for the namespace of arrays are in one of some modules.
        if not any(
            there_is(other, place)
            for other, others in _mirror.KERNELS.items()
            if others.get(place) is kernel
        )
    }
    later = [names for since, names in SINCE.items() if since > VERSION]
    former = [names for until, names in UNTIL.items() if until <= VERSION]
    external = _mirror.EXTERNAL.removeprefix("scipy.")
    known = " ".join(later + former).replace("_external", external).split()
    assert sorted(missing) == sorted(known)


@pytest.mark.parametrize("module", [*_mirror.REPLACED, *_mirror.MIRRORED])
def test_modules_that_are_run_again_exist(module: str) -> None:
    if VERSION >= (1, 16) or "array_api_extra" not in module:
        assert importlib.util.find_spec(module.rstrip("."))


NEWER = [call for call in calls(NEW) if there_is("scipy", call.name)]


@pytest.mark.parametrize("call", NEWER, ids=str)
def test_functions_of_newer_versions(call: Call) -> None:
    plain, near = call.function(scipy, np), 10.0**-call.digits
    check_slope(total(call), lambda x: weighted(plain(x), np), POINT, near, DIRECTION, atol=near)


@pytest.mark.skipif(VERSION < (1, 18), reason="an option of version 1.18")
@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_a_tolerance_of_simplices(method: str) -> None:
    def f(module: Any, values: Any, tolerance: float) -> Any:
        return module.interpolate.griddata(
            CORNERS, values, BESIDE, method, simplex_tolerance=tolerance
        )

    x = CORNERS[:, 0]
    for tolerance in (1.0, 1e9):
        ours = functools.partial(f, cadiff.scipy, tolerance=tolerance)
        value, along = cadiff.jvp(ours, (x,), (np.ones(5),))
        np.testing.assert_allclose(value, f(scipy, x, tolerance), atol=1e-7)
        np.testing.assert_allclose(along, np.where(np.isnan(value), 0.0, 1.0), rtol=1e-7)


def test_compiled_functions_write_to_arrays_of_constants() -> None:
    def filled(x: Any) -> Any:
        array = cnp.zeros(2)
        _mirror.taking_constants(lambda out: out.fill(3.0))(array)
        return np.sum(array * x)

    assert cadiff.grad(filled)(1.0) == 6.0


@pytest.mark.parametrize("name", ["SmoothBivariateSpline", "SmoothSphereBivariateSpline"])
def test_compiled_functions_without_a_stand_in_say_what_to_write(name: str) -> None:
    make = getattr(cadiff.scipy.interpolate, name)
    x, y, z = (np.tile(np.abs(x), 2) for x in (POINT, OTHERS, POINT))
    with pytest.raises(TypeError, match="computes with plain numbers: write"):
        cadiff.grad(lambda a: make(x, y, a * z, s=9.0)(0.3, 0.4)[0, 0])(1.0)
