"""What the solvers of `scipy.optimize` solve, as equations that have derivatives.

A `Solver` is a row of the table in `optimize.py`: the name of SciPy's function, the kind of its
equation, and where it is told what. How the solution stands in a result follows from the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..operations import arrays
from ..operations.guards import NoDerivativeError, valued
from ..transforms import hessian, jacobian
from ..transforms._solutions import Equation, FloatArray, Stationary, solution, vector_of
from ._calls import SolverCall, as_args, plainly
from ._reports import Place, Report, part_at

Function = Callable[..., Any]
Arguments = dict[str, Any]

BESIDE = 1e-3  # of a bound: there a constraint may be active, whatever the solver's tolerance
ROUNDED = 1e-9  # violations so small are rounding errors
VANISHING = 1e-9  # multipliers so small, by the curvature, hold nothing


class Condition(NamedTuple):
    """lower <= c(x) <= upper, of vectors of one length, or of sides that are broadcast to it."""

    function: Function
    lower: Any
    upper: Any

    def at(self, x: Any) -> tuple[Any, Any, Any]:
        values = vector_of(self.function(x))
        n = values.shape
        return values, *(arrays.broadcast_to(vector_of(s), n) for s in (self.lower, self.upper))


def within(lower: Any, upper: Any) -> Condition:
    return Condition(lambda x: x, _side(lower, -np.inf), _side(upper, np.inf))


def by_pairs(bounds: Any) -> Iterator[Condition]:
    """Bounds as an object, or as a pair for each number of x, where None stands for none."""
    if hasattr(bounds, "lb"):
        yield within(bounds.lb, bounds.ub)
    elif bounds is not None and len(bounds):
        yield within(*zip(*bounds, strict=True))


def by_sides(bounds: Any) -> Iterator[Condition]:
    """Bounds as an object, or as two sides."""
    if bounds is not None:
        sides = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
        yield within(*sides)


def _side(numbers: Any, unbounded: float) -> Any:
    if numbers is None:
        return unbounded
    if isinstance(numbers, (list, tuple)):
        numbers = [unbounded if x is None else x for x in numbers]
        return arrays.concatenate([vector_of(x) for x in numbers])
    return numbers


def of_constraints(constraints: Any) -> Iterator[Condition]:
    """Constraints of `minimize`: dicts and objects, one or many."""
    if constraints is None:
        return
    if isinstance(constraints, dict) or hasattr(constraints, "lb"):
        constraints = [constraints]
    for one in constraints:
        if isinstance(one, dict):
            function, args = one["fun"], one.get("args", ())
            upper = 0.0 if one["type"].lower() == "eq" else np.inf
            yield Condition(_with(function, args), 0.0, upper)
        elif hasattr(one, "fun"):
            yield Condition(one.fun, one.lb, one.ub)
        elif hasattr(one, "A"):
            yield linear(one.A, one.lb, one.ub)
        else:  # differential_evolution takes bounds among them
            yield within(one.lb, one.ub)


def linear(matrix: Any, lower: Any, upper: Any) -> Condition:
    matrix = dense(matrix)
    return Condition(lambda x: matrix @ x, lower, upper)


def dense(matrix: Any) -> Any:
    """A matrix of numbers, of which SciPy may have a sparse one."""
    if hasattr(matrix, "toarray"):
        return matrix.toarray()
    if hasattr(matrix, "matvec"):
        raise TypeError(
            "a LinearOperator has no entries by which there is a derivative: give the matrix, an "
            "array or a sparse one"
        )
    return arrays.as_array(matrix)


def of_functions(functions: Any, args: Any, upper: float) -> Iterator[Condition]:
    """Functions that are 0, or at least 0, where the condition holds."""
    if functions is None:
        return
    for function in functions if isinstance(functions, (list, tuple)) else [functions]:
        yield Condition(_with(function, args), 0.0, upper)


def _with(function: Function, args: Any) -> Function:
    return lambda x: function(x, *as_args(args))


@dataclass(frozen=True)
class Solver:
    """A function of SciPy's."""

    original: Function
    kind: type[Problem]  # of equation
    function: str = "func"  # the argument that is the function
    conditions: Callable[[Arguments], Iterable[Condition]] = lambda given: ()
    value: int | None = 1  # where a tuple has the value of the function
    gives_pair: str = ""  # the argument that says, if True, that derivatives are returned, too

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = SolverCall(self.original, args, kwargs)
        if not call.carries:
            return plainly(self.original, args, kwargs)
        problem = self.kind(self, call)
        x, refined = solution(problem, call.theta)
        return problem.outcome_by(problem.point(x), problem.point(refined), call.theta)


class Problem(Equation):
    """An equation that a call of a solver solves; kinds of them say which."""

    n = 0

    def __init__(self, solver: Solver, call: SolverCall) -> None:
        self.solver, self.call = solver, call.detached()
        self.name = solver.original.__name__
        self.report = Report(self.name, self.call.run)
        self.shape: tuple[int, ...] = ()  # of x

    # --- the solver's result

    @property
    def outcome(self) -> Any:
        """What SciPy's function returned first."""
        return self.report.first

    def solver_finds(self, theta: FloatArray) -> tuple[FloatArray, str]:
        """The solution as a vector, and what the solver says if it failed."""
        outcome = self.report.run(theta)
        report = outcome[1] if isinstance(outcome, tuple) and len(outcome) == 2 else outcome
        failed, said = False, ""
        if isinstance(report, dict):
            failed = not report.get("success", report.get("converged", True))
            said = str(report.get("message", report.get("flag", "no convergence")))
        x = part_at(outcome, _place_of_x(outcome))
        if x is None:
            raise NoDerivativeError(f"{self.name} found no solution: {said}")
        x = np.asarray(x)
        if x.dtype.kind not in "iuf":
            raise NoDerivativeError(
                f"{self.name} has derivatives at real solutions, not at those of dtype {x.dtype}: "
                "solve for the real and the imaginary part"
            )
        self.shape, self.n = x.shape, x.size
        return np.array(x, dtype=np.float64).reshape(-1), said if failed else ""

    def outcome_by(self, x: Any, refined: Any, theta: Any) -> Any:
        """SciPy's result with a solution that has derivatives, the best of which are refined."""
        parts = {_place_of_x(self.outcome): x}
        for place, of in self._values().items():
            parts[place] = valued(of(refined, theta), self.report.value(theta, place))
        why = (
            f"{self.name}: {{}} of the result is what the search has left, which has no "
            "derivative: compute it from x, or pass cadiff.value of it"
        )
        return self.report.told(theta, parts, why)

    def _values(self) -> dict[Place, Function]:
        """Where a result has values at the solution, and the functions that give them."""
        outcome = self.outcome
        if isinstance(outcome, dict):
            functions = {("fun",): self.value, ("cost",): self.objective}
            return {k: f for k, f in functions.items() if f is not None and k[0] in outcome}
        place = self.solver.value
        if isinstance(outcome, tuple) and self.value is not None and place is not None:
            return {(place,): self.value}
        return {}

    # The value of the function at a solution, which a result has; None where it is 0.
    value: Function | None = None

    def objective(self, x: Any, theta: Any) -> Any:
        """What is least, if anything is."""
        raise NotImplementedError

    # --- its functions

    def function(self, theta: Any) -> Function:
        """The function of x alone."""
        named = self.call.arguments(theta)
        local = named.get("minimizer_kwargs") or {}
        f, rest = named[self.solver.function], as_args(named.get("args", local.get("args", ())))
        keywords = named.get("kwargs") or {} if "kwargs" in named else {}
        pair = named.get(self.solver.gives_pair) is True

        def of_x(x: Any) -> Any:
            out = f(x, *rest, **keywords)
            return out[0] if pair else out

        return of_x

    def point(self, z: Any) -> Any:
        """X as the function takes it."""
        return arrays.reshape(z[: self.n], self.shape) if self.shape else z[0]


class Root(Problem):
    """f(x) = 0."""

    def find(self, theta: FloatArray) -> tuple[FloatArray, str]:
        return self.solver_finds(theta)

    def residual(self, z: Any, theta: Any) -> Any:
        values = vector_of(self.function(theta)(self.point(z)))
        if values.shape != (self.n,):
            raise NoDerivativeError(
                f"{self.name} has derivatives where there are as many equations as unknowns, not "
                f"where {values.shape[0]} are solved for {self.n}: least_squares has those"
            )
        return values


class FixedPoint(Root):
    """f(x) = x."""

    def residual(self, z: Any, theta: Any) -> Any:
        return super().residual(z, theta) - z


class Minimum(Stationary, Problem):
    """f(x) is least, where conditions hold.

    The unknowns are x and a multiplier for each condition: 0 where it is not active, negative
    where its lower side is, positive where its upper one is. So they tell the active set.
    """

    def objective(self, x: Any, theta: Any) -> Any:
        return vector_of(self.function(theta)(x))[0]

    def value(self, x: Any, theta: Any) -> Any:
        return self.objective(x, theta)

    def conditions(self, x: Any, theta: Any) -> Any:
        """Values and sides of all conditions, as three vectors; None if there are none."""
        named = self.call.arguments(theta)
        parts = [condition.at(x) for condition in self.solver.conditions(named)]
        if not parts:
            return None
        values, lower, upper = (
            arrays.concatenate(list(part)) for part in zip(*parts, strict=True)
        )
        return values, lower, upper

    def lagrangian(self, z: Any, theta: Any) -> Any:
        x, multipliers = self.point(z), z[self.n :]
        total = self.objective(x, theta)
        conditions = self.conditions(vector_of(x), theta)
        if conditions is None:
            return total
        values, lower, upper = conditions
        signs = np.sign(binding.unguarded(multipliers))
        equal = binding.unguarded(lower) == binding.unguarded(upper)
        for held, side in ((signs < 0, lower), (signs > 0, upper), (equal & (signs == 0), lower)):
            (rows,) = np.nonzero(held)
            total = total + (multipliers[rows] * (values[rows] - side[rows])).sum()
        (rows,) = np.nonzero((signs == 0) & ~equal)
        return total + 0.5 * (multipliers[rows] * multipliers[rows]).sum()

    def find(self, theta: FloatArray) -> tuple[FloatArray, str]:
        x, complaint = self.solver_finds(theta)
        found = self.conditions(x, theta)
        if found is None:
            return x, complaint
        return np.concatenate([x, self._multipliers(x, theta, found)]), complaint

    def check(self, z: FloatArray, theta: FloatArray) -> None:
        conditions = self.conditions(vector_of(self.point(z)), theta)
        if conditions is None:
            return
        values, lower, upper = map(np.asarray, conditions)
        rounding = ROUNDED * (1.0 + np.abs(values))
        inside = np.minimum(values - lower, upper - values)
        if np.any(inside < -rounding):
            raise NoDerivativeError(
                f"{self.name} found no solution: from where it ended, Newton's method leads "
                "across a bound or a constraint; let it come nearer, by smaller tolerances"
            )
        weak = (lower != upper) & (inside <= rounding) & (z[self.n :] == 0.0)
        if weak.any():  # to one side of it x would move freely
            raise NoDerivativeError(
                f"{self.name}: at the solution {int(weak.sum())} of the bounds and constraints "
                "are met without being needed (their multipliers are 0), so the solution has "
                "different derivatives to both sides: leave them out, or move them"
            )

    def _multipliers(self, x: FloatArray, theta: FloatArray, conditions: Any) -> FloatArray:
        """Those of the conditions that are active; 0 for all others."""
        values, lower, upper = map(np.asarray, conditions)
        equal = lower == upper
        with np.errstate(invalid="ignore"):
            low, high = (
                np.isfinite(side) & (np.abs(values - side) <= BESIDE * (1.0 + np.abs(side)))
                for side in (lower, upper)
            )
        objective = lambda x: self.objective(self.point(x), theta)  # noqa: E731
        matrix = jacobian(lambda x: self.conditions(x, theta)[0])(x)
        gradient, curvature = jacobian(objective)(x), hessian(objective)(x)
        held = equal | low | high
        while True:
            rows = matrix[held]
            multipliers = np.zeros(len(values))
            # Where x is moved onto the conditions, as they are held.
            k = len(rows)
            kkt = np.block([[curvature, rows.T], [rows, np.zeros((k, k))]])
            gap = np.where(high & ~low, values - upper, values - lower)[held]
            multipliers[held] = np.linalg.lstsq(kkt, -np.concatenate([gradient, gap]))[0][len(x) :]
            wrong = held & ~equal & np.where(high & ~low, multipliers < 0.0, multipliers > 0.0)
            if not wrong.any():
                break
            held[np.argmax(np.where(wrong, np.abs(multipliers), -1.0))] = False
        # Those that push nowhere hold nothing.
        size = max(np.max(np.abs(x), initial=0.0), BESIDE)
        scale = max(np.max(np.abs(curvature)) * size, np.max(np.abs(gradient)))
        push = np.abs(multipliers) * np.linalg.norm(matrix, axis=1)
        multipliers[~equal & (push <= VANISHING * scale)] = 0.0
        return multipliers


class Squares(Minimum):
    """The sum of squares of f(x) is least, or of a loss of them."""

    def residuals(self, x: Any, theta: Any) -> Any:
        return vector_of(self.function(theta)(x))

    def objective(self, x: Any, theta: Any) -> Any:
        given = self.call.arguments(theta)
        loss, scale = given.get("loss", "linear"), given.get("f_scale", 1.0)
        squares = (self.residuals(x, theta) / scale) ** 2
        rho = loss(squares)[0] if callable(loss) else LOSSES[loss](squares)
        return 0.5 * scale**2 * rho.sum()

    def value(self, x: Any, theta: Any) -> Any:
        return self.residuals(x, theta)


# --- parts of results ----------------------------------------------------------------------------


def _place_of_x(outcome: Any) -> Place:
    if isinstance(outcome, dict):
        return ("x" if "x" in outcome else "root",)
    return (0,) if isinstance(outcome, tuple) else ()


# What least_squares calls rho(z), of squares z.
LOSSES: dict[str, Function] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}
