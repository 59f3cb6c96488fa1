"""What users see of an error that their function raises: their own frames, and few others."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import optimize

X = np.array([1.0, 2.0])
FEW = 4  # frames of the package for each call of a user's


class OwnError(Exception):
    pass


def inner(x: Any) -> Any:
    raise OwnError("of the user") from KeyError("the cause")


def failing(x: Any) -> Any:
    return inner(x)


CALLS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: cadiff.grad(f)(X),
    "value_and_grad": lambda f: cadiff.value_and_grad(f)(X),
    "jacfwd": lambda f: cadiff.jacfwd(f)(X),
    "hessian": lambda f: cadiff.hessian(f)(X),
    "jvp": lambda f: cadiff.jvp(f, (X,), (X,)),
    "vjp": lambda f: cadiff.vjp(f, X),
    "derivative": lambda f: cadiff.derivative(f, 1.0),
    "program": lambda f: cadiff.compile(f)(X),
    "gradient of a program": lambda f: cadiff.compile(f).grad(X),
    "batch": lambda f: cadiff.compile(f).batch(X[None]),
    "sparse_jacobian": lambda f: cadiff.sparse_jacobian(f)(X),
    "vmap": lambda f: cadiff.vmap(f)(X),
    "root": lambda f: cadiff.root(f, X),
    "fixed_point": lambda f: cadiff.fixed_point(f, X),
    "minimize": lambda f: optimize.minimize(f, X),
    "least_squares": lambda f: optimize.least_squares(f, X),
    "optimize.root": lambda f: optimize.root(f, X),
    "adam": lambda f: optimize.adam(f, X),
}


def frames(call: Callable[[Any], Any], f: Callable[[Any], Any] = failing) -> list[str]:
    """Names of what is in the traceback: of functions here, "cadiff" and "other"."""
    with pytest.raises(OwnError, match="of the user") as caught:
        call(f)
    error = caught.value
    assert isinstance(error.__cause__, KeyError) and error.__suppress_context__
    found = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals["__name__"]
        own = frame.f_code.co_name if module == __name__ else "other"
        found.append("cadiff" if module.startswith("cadiff.") else own)
    return found


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_few_frames_stand_before_those_of_the_user(call: Any) -> None:
    found = frames(call)
    assert found[-2:] == ["failing", "inner"] and "other" not in found
    assert found.count("cadiff") <= FEW


def test_frames_of_users_in_between_are_kept() -> None:
    def outer(x: Any) -> Any:
        return optimize.minimize(failing, cadiff.value(x)).fun

    found = frames(lambda f: optimize.minimize(f, X), outer)
    users = [name for name in found if name != "cadiff"]
    assert users == ["frames", "<lambda>", "outer", "failing", "inner"]


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    few = frames(CALLS["minimize"])
    monkeypatch.setenv("CADIFF_FULL_TRACEBACKS", "1")
    every = frames(CALLS["minimize"])
    assert len(every) > len(few) + 10 and "other" in every and every[-2:] == few[-2:]


def test_errors_of_libraries_keep_their_frames() -> None:
    """Where a function raises by way of a library, or the library itself does."""

    def singular(x: Any) -> Any:
        return np.sum(np.linalg.solve(np.zeros((2, 2)), X)) * x[0]

    with pytest.raises(np.linalg.LinAlgError) as caught:
        optimize.minimize(singular, X)
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert names[names.index("singular") + 1 :]
    with pytest.raises(ValueError, match="Bracketing interval") as unknown:
        optimize.minimize_scalar(lambda x: x * x, bracket=(1.0, 2.0, 3.0, 4.0))
    modules = [
        frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(unknown.value.__traceback__)
    ]
    assert modules[-1].startswith("scipy.optimize")
