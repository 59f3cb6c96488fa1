"""The interior point method of trust-constr, which should not end before its barrier is gone."""

from __future__ import annotations

from typing import Any

from scipy import optimize

from ._progress import takes_result

TOLERANCE = 1e-8  # SciPy's gtol and barrier_tol
BY_GTOL = "`gtol` termination condition is satisfied."


def without_early_end(kwargs: dict[str, Any], method: str) -> Ending | None:
    """Among the arguments put a callback that ends trust-constr; None for other methods.

    SciPy's test of the gradient (`gtol`) ignores the barrier parameter. Exact derivatives meet it
    at once, long before the barrier is small, and so some way from the minimum.
    """
    if method != "trust-constr":
        return None
    ending = Ending(kwargs)
    kwargs["callback"] = ending.at
    kwargs["options"] = {**ending.options, "gtol": 0.0, "barrier_tol": ending.barrier_tol}
    return ending


class Ending:
    """When trust-constr ends: where SciPy's test is met and the barrier is at its tolerance."""

    def __init__(self, kwargs: dict[str, Any]) -> None:
        tolerance = TOLERANCE if kwargs.get("tol") is None else kwargs["tol"]
        self.options = dict(kwargs.get("options") or {})
        self.gtol = self.options.get("gtol", tolerance)
        self.barrier_tol = self.options.get("barrier_tol", tolerance)
        self._by_gtol = False
        self._callback = kwargs.get("callback")
        self._takes_result = takes_result(self._callback)

    def at(self, x: Any, state: Any) -> bool:
        if self._callback is not None:
            if self._takes_result:
                stop = self._callback(intermediate_result=state)
            else:
                stop = self._callback(x, state)
            if stop:
                return True
        self._by_gtol = self._meets_gtol(state) and (
            state.get("barrier_parameter", 0.0) <= self.barrier_tol
        )
        return self._by_gtol

    def _meets_gtol(self, state: Any) -> bool:
        return bool(state.optimality < self.gtol and state.constr_violation < self.gtol)

    def named(self, result: Any) -> optimize.OptimizeResult:
        """The result, with the status that SciPy gives to such an end."""
        ran_out = result.status == 0 and self._meets_gtol(result)
        if self._by_gtol or ran_out:
            result.status, result.success, result.message = 1, True, BY_GTOL
        elif result.status == 4 and result.constr_violation <= self.gtol:
            result.status, result.success = 2, True
            result.message = "`xtol` termination condition is satisfied."
        return result
