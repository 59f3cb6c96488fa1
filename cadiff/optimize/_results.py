"""Results of optimisers: SciPy's, with covariances, which notebooks show as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from ..binding import foreign_names
from ..inspection.texts import abridged, number_text
from ..transforms._pages import page
from ._solutions import Solution

_FIRST = ("message", "success", "status", "fun", "cost", "x", "nit", "nfev", "njev", "nhev")
_METHODS = ("hessian", "covariance", "standard_errors")


class Result(optimize.OptimizeResult):  # type: ignore[misc]  # without stubs it is Any
    """A `scipy.optimize.OptimizeResult` that knows how certain its parameters are.

    What `minimize`, `lbfgs` and the searches for global minima minimise is taken for a negative
    log-likelihood, and what `least_squares` minimises for half a sum of squares of residuals.
    Matrices are computed when they are first asked for. They belong to the functions that were
    optimised, so copies and pickled results are without these methods' answers.

    Examples
    --------
    >>> import numpy as np
    >>> from cadiff.optimize import minimize
    >>> counts = np.array([3.0, 5.0, 4.0, 8.0])
    >>> fit = minimize(lambda p: (p["rate"] - counts * np.log(p["rate"])).sum(), {"rate": 1.0})
    >>> print(f"{fit.x['rate']:.4f} +- {fit.standard_errors()['rate']:.4f}")  # sqrt(5 / 4)
    5.0000 +- 1.1180
    """

    _solution: Solution | None = None

    def hessian(self, *, flat: bool = False) -> Any:
        """The second derivatives at x of what was minimised.

        Of `least_squares` it is Gauss and Newton's, `J.T @ J` of the Jacobian J.

        Parameters
        ----------
        flat : bool
            A matrix (n, n) in any case, in the order of `cadiff.flatten`. Without it parameters in
            containers have a container of containers, as by `cadiff.hessian`.

        Returns
        -------
        ndarray, or container
        """
        solution = self._known("hessian")
        matrix = np.array(solution.hessian)
        return matrix if flat else solution.parameters.given_matrix(matrix)

    def covariance(self, *, absolute_sigma: bool | None = None, flat: bool = False) -> Any:
        """The covariance of the parameters, to first order.

        For `minimize` and its like it is the inverse of the Hessian at x: the inverse of the
        observed information, if the objective is a negative log-likelihood. For `least_squares`
        it is ``s**2 * inv(J.T @ J)`` with the Jacobian J of the residuals and
        ``s**2 = 2 * cost / (m - n)`` of m residuals and n parameters that are free.

        A parameter at a bound is taken for fixed there: its own rows and columns are nan, and the
        others are what they are if it does not move.

        Parameters
        ----------
        absolute_sigma : bool, optional
            Of `least_squares` alone. True: the residuals were divided by the errors of the data,
            so that s**2 is 1. False, the default: their scale is found from the residuals.
        flat : bool
            As for `hessian`.

        Returns
        -------
        ndarray, or container

        Raises
        ------
        TypeError
            If the function has no second derivatives; or for absolute_sigma where there are no
            residuals.
        ValueError
            If there were constraints; or if the result comes from elsewhere, or was copied.

        Warns
        -----
        scipy.optimize.OptimizeWarning
            If the Hessian is not positive definite, within rounding, or there are not more
            residuals than parameters: the covariance is inf then, as from `curve_fit`.
        """
        solution = self._known("covariance")
        matrix = solution.covariance(absolute_sigma)
        return matrix if flat else solution.parameters.given_matrix(matrix)

    def standard_errors(self, *, absolute_sigma: bool | None = None, flat: bool = False) -> Any:
        """The roots of the diagonal of `covariance`, in the containers of the parameters.

        Parameters
        ----------
        absolute_sigma : bool, optional
            As for `covariance`.
        flat : bool
            A vector (n,) in any case, in the order of `cadiff.flatten`.

        Returns
        -------
        ndarray, or container
        """
        solution = self._known("standard_errors")
        errors = np.sqrt(np.diag(solution.covariance(absolute_sigma)))
        return errors if flat else solution.parameters.given(errors)

    def _known(self, name: str) -> Solution:
        if self._solution is None:
            raise ValueError(
                f"{name}() is known of results as minimize, lbfgs, least_squares and the searches "
                "for global minima return them, not of copies or pickled ones, nor of others"
            )
        return self._solution

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            instead = foreign_names.RESULTS.get(name, f"it has {', '.join([*self, *_METHODS])}")
        text = f"this result has no {name!r}: {instead}"
        raise AttributeError(text, name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_METHODS]

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (dict(self),)

    def _repr_html_(self) -> str:
        names = [name for name in _FIRST if name in self]
        names += [name for name in self if name not in names]
        return page(type(self).__name__, [(str(name), _shown(self[name])) for name in names])


def as_result(result: Any, solution: Solution | None = None) -> Any:
    """A result of SciPy's own class as one of ours; others unchanged."""
    if type(result) is optimize.OptimizeResult:
        result = Result(result)
        object.__setattr__(result, "_solution", solution)  # beside the items
    return result


def _shown(item: Any) -> str:
    """A value on one line."""
    if isinstance(item, float):
        return number_text(item)
    if isinstance(item, np.ndarray) and item.dtype != object:
        return abridged(item) if item.ndim else str(item)
    return " ".join(repr(item).split()) if not isinstance(item, str) else item
