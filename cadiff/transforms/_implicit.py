"""Numbers defined by an equation: roots and fixed points, differentiated by the equation alone.

How x was found does not matter. The derivative is taken by whatever f reads: arguments, closure
and global variables alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Recording
from ..operations.arrays import concatenate, reshape
from ._base import Function, check_function
from ._closed import Closed, unreached
from ._flat import flatten
from ._outputs import Output
from ._solutions import Equation, solution

FloatArray = NDArray[np.float64]
Solver = Callable[[Callable[[FloatArray], FloatArray], FloatArray], Any]

EPS = float(np.finfo(float).eps)
TINY = EPS**3  # of the first residual is none: multiple roots are approached for ever
MOST_STEPS = 200  # of Newton's method
MOST_ITERATIONS = 10_000  # of a fixed point


def root(f: Function, x0: Any, *args: Any, solver: Solver | None = None) -> Any:
    """A solution x of `f(x, *args) = 0`, as a function of all that f reads.

    Parameters
    ----------
    f : callable
        Returns as many numbers as x has. What it reads beside x, arguments and closure, may carry
        derivatives: x then does.
    x0 : number, array, or container of them
        Where the search begins; x has the same structure. The result does not depend on it, so it
        has no derivative.
    *args
        Passed on to f.
    solver : callable, optional
        `solver(residual, x0)` finds the solution, given a function from a vector, shape (n,), to a
        vector, and the first guess, shape (n,). Newton's method with exact derivatives, and
        halved steps where needed, unless told; for instance
        `lambda residual, x0: scipy.optimize.root(residual, x0).x`.

    Raises
    ------
    RuntimeError
        If no solution is found.
    numpy.linalg.LinAlgError
        If derivatives are wanted where df/dx is singular.

    Examples
    --------
    >>> import cadiff
    >>> def square_root(a):
    ...     return cadiff.root(lambda x: x * x - a, 1.0)
    >>> square_root(4.0), cadiff.grad(square_root)(4.0)
    (2.0, 0.25)
    """
    return _solved(_Root, "root", f, x0, args, solver or _newton)


def fixed_point(f: Function, x0: Any, *args: Any, solver: Solver | None = None) -> Any:
    """A solution x of `x = f(x, *args)`, as a function of all that f reads.

    As `root`; f returns the structure of x. Unless a solver is given, which gets the residual
    f(x) - x, f is applied until x does not change any more.

    Examples
    --------
    >>> import cadiff
    >>> def kepler(eccentricity):  # the anomaly E with E = 1 + e sin(E)
    ...     return cadiff.fixed_point(lambda E: 1.0 + eccentricity * cadiff.sin(E), 1.0)
    >>> cadiff.check_grads(kepler, (0.3,), order=2)
    """
    return _solved(_FixedPoint, "fixed_point", f, x0, args, solver or _iterate)


class _Root(Equation):
    """f(x, *args) = 0, for x as a vector."""

    def __init__(
        self, name: str, f: Function, x0: Any, args: tuple[Any, ...], solver: Function
    ) -> None:
        self.name = name
        guess, self.unflatten = flatten(binding.plain_values(x0))
        self.n = guess.size
        closed = Closed((f, x0, args, solver))
        self.theta, self.call = closed.theta, closed.detached()

    def residual(self, z: Any, theta: Any) -> Any:
        f, _, args, _ = self.call.at(theta)
        return self.of_vector(f, args, z)

    def of_vector(self, f: Function, args: tuple[Any, ...], z: Any) -> Any:
        """The residual of a function, as a vector."""
        parts = [reshape(atom, -1) for atom in Output(f(self.unflatten(z), *args)).atoms]
        vector = parts[0] if len(parts) == 1 else concatenate([np.empty(0), *parts])
        if binding.shape(vector) != (self.n,):
            raise ValueError(
                f"{self.name} wants as many numbers from f as x has: {self.n}, not "
                f"{binding.shape(vector)[0]}"
            )
        return vector

    def find(self, theta: FloatArray) -> tuple[FloatArray, str]:
        f, x0, args, solver = self.call.live_at(theta)
        equation = _AtNumbers(self.name, lambda z: self.of_vector(f, args, z))
        guess, _ = flatten(x0)
        with binding.OutsideDifferentiation():
            self.is_exact = solver in (_newton, _iterate)
            if self.is_exact:
                return solver(equation, guess), ""
            x = _checked_solution(self.name, solver(equation.values, guess), guess)
            _check_residual(equation, x, guess)
            return x, ""


class _FixedPoint(_Root):
    """f(x, *args) = x."""

    def of_vector(self, f: Function, args: tuple[Any, ...], z: Any) -> Any:
        return super().of_vector(f, args, z) - z


class _AtNumbers:
    """An equation whose numbers are plain ones."""

    def __init__(self, name: str, residual: Function) -> None:
        self.name = name
        self._residual = residual

    def values(self, x: FloatArray) -> FloatArray:
        """The residual at a plain point."""
        residual = self._residual(x)
        if binding.carries(residual):
            raise unreached(self.name)
        return np.array(residual, dtype=np.float64)

    def linearised(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Residual and Jacobian at a plain point."""
        with Recording((x,), (0,)) as recording:
            residual = self._residual(recording.lifted[0])
            pair = np.array(binding.unguarded(residual)), binding.slope_of(recording, residual)
            residual = None
        return pair


def _solved(
    kind: type[_Root], name: str, f: Function, x0: Any, args: tuple[Any, ...], solver: Function
) -> Any:
    check_function(name, f)
    try:
        equation = kind(name, f, x0, args, solver)
        if equation.n == 0 or not binding.carries(equation.theta):
            x, _ = equation.find(equation.theta)
        else:
            x, *_ = solution(equation, equation.theta)
        return equation.unflatten(x)
    except Exception as error:
        raise binding.callers.shortened(error)  # noqa: B904


def _checked_solution(name: str, returned: Any, guess: FloatArray) -> FloatArray:
    """What a solver returned, as a vector like the first guess."""
    x = np.array(binding.unguarded(returned))
    if x.dtype.kind not in "iuf":
        kind = f"an array of dtype {x.dtype}" if x.ndim else type(returned).__name__
        hint = ": return its x" if hasattr(returned, "x") else ""
        raise TypeError(
            f"{name} wants an array of shape {guess.shape} from the solver, not {kind}{hint}"
        )
    if x.shape != guess.shape:
        raise ValueError(f"the solver returned the shape {x.shape}, expected {guess.shape}")
    if not np.isfinite(x).all():
        raise RuntimeError(f"{name} found no solution: the solver returned {x}")
    return x.astype(np.float64, copy=False)


def _check_residual(equation: _AtNumbers, x: FloatArray, guess: FloatArray) -> None:
    """Raise RuntimeError where Newton's method would still go far: a solver may fail quietly."""
    residual, slope = equation.linearised(x)
    if not residual.any():
        return
    step = -_step(slope, residual)
    way = float(np.linalg.norm(step))
    near = way <= 0.01 * max(np.linalg.norm(x), np.linalg.norm(guess))
    if not near or not _solves(slope, step, residual):
        raise RuntimeError(
            f"{equation.name} found no solution: at what the solver returned the residual is "
            f"{np.max(np.abs(residual)):.3g}, and Newton's method would go on by {way:.3g}"
        )


# --- finding it ----------------------------------------------------------------------------------


def _newton(equation: _AtNumbers, x: FloatArray) -> FloatArray:
    """Newton's method; steps are halved until they reduce the residual."""
    if x.size == 0:
        return x
    norm = first = float(np.linalg.norm(equation.values(x)))
    for _ in range(MOST_STEPS):
        residual, slope = equation.linearised(x)
        if norm <= TINY * first:
            return x
        if not (np.isfinite(norm) and np.isfinite(slope).all()):
            break
        step = -_step(slope, residual)
        length = 1.0
        # Compared with the norm of values again: that of the residual may be rounded otherwise.
        while not (reached := float(np.linalg.norm(equation.values(x + length * step)))) < norm:
            length *= 0.5
            if (x + length * step == x).all():  # nor would a shorter one change x
                length = 0.0
            if length < EPS:
                break
        if length < EPS:  # nothing is gained any more, which is as it should be after small steps
            small = np.abs(step) <= 1e-8 * (np.abs(x) + np.abs(step))
            if small.all() and _solves(slope, step, residual):
                return x
            break
        x, norm = x + length * step, reached
    raise _no_solution(equation, x)


def _solves(slope: FloatArray, step: FloatArray, residual: FloatArray) -> bool:
    """Whether a step leads where the residual vanishes, as far as the slope tells."""
    return bool(np.linalg.norm(residual + slope @ step) < 0.5 * np.linalg.norm(residual))


def _step(slope: FloatArray, residual: FloatArray) -> FloatArray:
    """The solution of a linear system; of least squares, if it is singular."""
    try:
        return np.asarray(np.linalg.solve(slope, residual), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(slope, residual)[0], dtype=np.float64)


def _iterate(equation: _AtNumbers, x: FloatArray) -> FloatArray:
    """Apply f until rounding errors are all that changes."""
    before = np.inf
    for _ in range(MOST_ITERATIONS):
        change = equation.values(x)
        size = float(np.max(np.abs(change), initial=0.0))
        if not np.isfinite(size):
            break
        scale = float(np.max(np.abs(x), initial=0.0))
        if size == 0.0 or (size <= 64 * EPS * scale and size >= before):
            return x
        x, before = x + change, size
    raise _no_solution(equation, x)


def _no_solution(equation: _AtNumbers, x: FloatArray) -> RuntimeError:
    size = np.max(np.abs(equation.values(x)))
    return RuntimeError(
        f"{equation.name} found no solution: where the search ended, the residual is {size:.3g}; "
        "give an x0 nearer to it, or a solver"
    )
