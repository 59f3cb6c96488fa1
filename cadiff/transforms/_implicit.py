"""Numbers defined by an equation: roots and fixed points, differentiated by the equation alone.

Where f(x, a) = 0, dx/da = -(df/dx)^-1 df/da, by the implicit function theorem; how x was found
does not matter. The derivative is taken by whatever f reads: arguments and closure alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Recording, Var
from ..operations.arrays import concatenate, reshape
from ._base import Function, check_function
from ._checkpoints import as_it_is_now
from ._flat import flatten
from ._jacobians import jacobian
from ._outputs import Output

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
    check_function("root", f)
    try:
        return _solved("root", lambda x: f(x, *args), x0, solver or _newton, None)
    except Exception as error:
        raise binding.callers.shortened(error)  # noqa: B904


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
    check_function("fixed_point", f)
    try:
        return _solved("fixed_point", lambda x: f(x, *args), x0, solver or _iterate, -1.0)
    except Exception as error:
        raise binding.callers.shortened(error)  # noqa: B904


class _Equation:
    """residual(x) = 0, for x as a vector."""

    def __init__(
        self, name: str, f: Function, unflatten: Function, diagonal: float | None
    ) -> None:
        self.name = name
        self._f = f
        self._unflatten = unflatten
        self._diagonal = diagonal
        self._forward = binding.running_forward()

    def residual(self, x: Any) -> Any:
        """f(x), or f(x) - x, as one vector of numbers of any kind."""
        with binding.ForwardThen(self._forward):
            atoms = Output(self._f(self._unflatten(x))).atoms
        vector = concatenate([np.empty(0), *(reshape(atom, -1) for atom in atoms)])
        n = binding.shape(x)[0]
        if binding.shape(vector) != (n,):
            raise ValueError(
                f"{self.name} wants as many numbers from f as x has: {n}, not "
                f"{binding.shape(vector)[0]}"
            )
        return vector if self._diagonal is None else vector + self._diagonal * x

    def innermost(self, x: Any) -> Any:
        """The residual without tangents: a Var, or plain."""
        return _without_tags(self.residual(x), 1)

    def values(self, x: FloatArray) -> FloatArray:
        """The residual at a plain point; what it records is forgotten."""
        with Recording((), ()):
            values: FloatArray = np.array(binding.strip(self.residual(x)))
        return values

    def linearised(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Residual and Jacobian at a plain point."""
        with Recording((x,), (0,)) as recording:
            residual = self.innermost(recording.lifted[0])
            pair = np.array(binding.strip(residual)), binding.slope_of(recording, residual)
            residual = None
        return pair


def _solved(
    name: str, f: Function, x0: Any, solver: Callable[..., Any], diagonal: float | None
) -> Any:
    """Find x, then give it its derivatives."""
    guess, unflatten = flatten(binding.strip(x0))
    lasting = _Equation(name, as_it_is_now(f), unflatten, diagonal)
    equation = _Equation(name, f, unflatten, diagonal)
    if solver in (_newton, _iterate):
        x = solver(equation, guess)
    else:
        x = _checked_solution(name, solver(equation.values, guess), guess)
        _check_residual(equation, x, guess)
    if x.size == 0:
        return unflatten(x)
    return unflatten(_with_derivatives(lasting, x))


def _checked_solution(name: str, found: Any, guess: FloatArray) -> FloatArray:
    """What a solver returned, as a vector like the first guess."""
    x = np.array(binding.strip(found))
    if x.dtype.kind not in "iuf":
        kind = f"an array of dtype {x.dtype}" if x.ndim else type(found).__name__
        hint = ": return its x" if hasattr(found, "x") else ""
        raise TypeError(
            f"{name} wants an array of shape {guess.shape} from the solver, not {kind}{hint}"
        )
    if x.shape != guess.shape:
        raise ValueError(f"the solver returned the shape {x.shape}, expected {guess.shape}")
    if not np.isfinite(x).all():
        raise RuntimeError(f"{name} found no solution: the solver returned {x}")
    return x.astype(np.float64, copy=False)


def _check_residual(equation: _Equation, x: FloatArray, guess: FloatArray) -> None:
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


def _newton(equation: _Equation, x: FloatArray) -> FloatArray:
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


def _iterate(equation: _Equation, x: FloatArray) -> FloatArray:
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


def _no_solution(equation: _Equation, x: FloatArray) -> RuntimeError:
    size = np.max(np.abs(equation.values(x)))
    return RuntimeError(
        f"{equation.name} found no solution: where the search ended, the residual is {size:.3g}; "
        "give an x0 nearer to it, or a solver"
    )


# --- its derivatives -----------------------------------------------------------------------------


def _with_derivatives(equation: _Equation, x: FloatArray) -> Any:
    """The solution as a number that depends on what the equation reads."""
    with Recording((x,), (0,)) as recording:
        residual = equation.residual(recording.lifted[0])
        tags = sorted(_tags_in(residual))
        residual = _without_tags(residual, 1)
        captures, values = binding.captures_of(recording, [residual]), binding.strip(residual)
        residual = None
    solution: Any = x
    if captures:
        solution = binding.record_rule(_Implicit(equation, values), captures, [x])[0]
    for tag in tags:  # inner differentiations first
        solution = _with_tangent(equation, solution, tag)
    return solution


def _with_tangent(equation: _Equation, x: Any, tag: int) -> Any:
    """The solution with its tangent of one tag, given those of lower ones."""
    residual = _without_tags(equation.residual(x), tag + 1)
    slope = jacobian(lambda x: _without_tags(equation.residual(x), tag))(x)
    _, tangent = binding.split_dual(residual, tag)
    return binding.make_dual(x, -_solve(equation, slope, tangent), tag)


def _tags_in(x: Any) -> set[int]:
    """The tags of a Dual, and of those that it consists of."""
    if not isinstance(x, Dual):
        return set()
    primal, tangent = binding.dual_components(x)
    return {binding.tag_of(x)} | _tags_in(primal) | _tags_in(tangent)


def _without_tags(x: Any, tag: int) -> Any:
    """The number without its tangents of a tag, and of higher ones."""
    while binding.tag_of(x) >= tag:
        x = binding.dual_components(x)[0]
    return x


def _solve(equation: _Equation, slope: Any, right: Any) -> Any:
    try:
        return np.linalg.solve(slope, right)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            f"{equation.name}: the derivative of f by x is singular at the solution, which "
            "therefore has no derivative"
        ) from None


class _Implicit:
    """The rule of a solution: cotangents of what the equation reads."""

    runs_again = True
    is_linear = False

    def __init__(self, equation: _Equation, residual: FloatArray) -> None:
        self._equation = equation
        self._name = equation.name
        self._residual = residual

    def _run(self, recording: Recording, operands: list[Var]) -> Any:
        """The residual, as it was when the solution was found."""
        residual = self._equation.innermost(recording.lifted[0])
        same = np.array_equal(binding.strip(residual), self._residual, equal_nan=True)
        if not same or not binding.are_within(
            binding.captures_of(recording, [residual]), operands
        ):
            raise RuntimeError(
                f"the function given to {self._equation.name} was another one when it was run "
                "again for the derivative: lists and NumPy arrays that it reads are not to be "
                "changed meanwhile, nor may it draw random numbers"
            )
        return residual

    def pull_again(
        self, operands: list[Var], results: list[Any], cotangents: list[Any]
    ) -> list[Any]:
        """Plain cotangents of the operands."""
        with Recording((binding.strip(results[0]),), (0,)) as recording:
            residual = self._run(recording, operands)
            slope = binding.slope_of(recording, residual)
            weights = -_solve(self._equation, slope.T, cotangents[0])
            pulled = binding.pull_captures(recording, [residual], [weights], operands)
            residual = None
        return pulled

    def record_again(
        self, operands: list[Var], results: list[Any], cotangents: list[Any], linear: bool
    ) -> list[Any]:
        """Cotangents that can be differentiated again: by the solution as well."""
        x = binding.strip(results[0]) if linear else results[0]
        equation = self._equation
        slope = equation.linearised(x)[1] if linear else jacobian(equation.innermost)(x)
        weights = -_solve(equation, np.transpose(slope), cotangents[0])
        with Recording((x,), (0,)) as recording:  # of the equation alone
            given = operands if linear else [*operands, x]
            residual = self._run(recording, given)
            pulled = binding.record_pull_of_captures(
                recording, [residual], [weights], operands, linear
            )
            recording.keep()
        return pulled
