"""Solutions of initial value problems as functions of times, starts and parameters.

Where y' = f(t, y, theta), the derivative S of y by theta is the solution of another initial value
problem, S' = df/dy S + df/dtheta: the forward sensitivities. They are solved beside y by the same
solver of SciPy's, with the same tolerances. For many parameters there is the adjoint instead,
which runs back from the times at which a cotangent comes in: a' = -(df/dy)^T a, and the gradient
is the integral of a^T df/dtheta (Cao, Li, Petzold and Serban, SIAM Journal on Scientific Computing
24, 1076, 2003).

A `Flow` is such a problem. Its sensitivities are a `Flow`, too, so derivatives of all orders
follow from one rule. Right hand sides of sensitivities are compiled programs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import binding
from ..binding import carries
from ..operations import arrays
from ..operations.guards import NoDerivativeError
from ..transforms import grad, jacobian
from ..transforms._closed import Witness, check
from ..transforms._solver_side_effects import rule_of_a_solver
from ._calls import SolverCall, program_of

FloatArray = NDArray[np.float64]
RightSide = Callable[[float, FloatArray], Any]

# So many numbers are solved for forwards, y and its sensitivities together; of more the adjoint is
# taken, whose cost does not grow with the number of parameters, but with that of observations.
FORWARD = 400
DENSE = 200  # unknowns; matrices of more are sparse
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)  # of integrals over a step


class Flow:
    """An initial value problem by a vector theta.

    Attributes
    ----------
    name : str
        What the user has called.
    n : int
        The number of unknowns.
    call : SolverCall
        What the right hand side reads, detached.
    names : object
        Whatever functions the right hand side calls, so that programs of it find them.
    kind : tuple
        What tells it from other problems of the same call.
    """

    is_of_a_call = True
    name: str
    n: int
    call: SolverCall
    names: Any
    kind: tuple[Any, ...]
    witness: Witness | None = None

    def slope(self, t: Any, y: Any, theta: Any) -> Any:
        """The right hand side f, shape (n,); all may be numbers with derivatives."""
        raise NotImplementedError

    def asked(self, t: float, y: FloatArray, theta: FloatArray) -> Any:
        """What tells whether the user's function is the same."""
        return self.slope(t, y, theta)

    def start(self, theta: Any) -> tuple[Any, Any]:
        """The first time and y there."""
        raise NotImplementedError

    def values(self, times: FloatArray, theta: FloatArray) -> FloatArray:
        """The solution by a solver, shape (n, m), at m times."""
        raise NotImplementedError

    def continuous(self, theta: FloatArray, end: float) -> Any:
        """The solution as a function of time, up to some time, which knows those of its steps."""
        raise NotImplementedError

    def solution(
        self, f: RightSide, start: tuple[float, FloatArray], end: float, **how: Any
    ) -> Any:
        """That of another problem, of many unknowns, by the same solver.

        how : `scale`, shape of the unknowns, that tolerances of the first n are divided by;
        `jac(t, y)`, their matrix.
        """
        raise NotImplementedError

    def solve(
        self, f: RightSide, start: tuple[float, FloatArray], times: FloatArray, **how: Any
    ) -> FloatArray:
        """The same at times in order."""
        raise NotImplementedError

    # --- programs of it

    @cached_property
    def program(self) -> Any:
        """f(concatenate([[t], y, theta])), compiled."""
        names, slope, n = self.names, self.slope, self.n

        def f(z: Any) -> Any:
            names  # noqa: B018 - programs know functions by names in code
            return slope(z[0], z[1 : 1 + n], z[1 + n :])

        return program_of(("slope", *self.kind), self.call, f)

    @cached_property
    def program_of_adjoint(self) -> Any:
        """The gradient of a @ f(concatenate([[t], y, theta])), by all of these."""
        names, slope, n = self.names, self.slope, self.n

        def weighed(z: Any, a: Any) -> Any:
            names  # noqa: B018
            return a @ slope(z[0], z[1 : 1 + n], z[1 + n :])

        return program_of(("adjoint", *self.kind), self.call, weighed)

    def compiled(self, theta: FloatArray) -> RightSide:
        """f(t, y) by the program."""
        program, n = self.program, self.n
        z = np.concatenate([np.zeros(1 + n), theta])

        def f(t: float, y: FloatArray) -> Any:
            z[0], z[1 : 1 + n] = t, y
            return program(z)

        return f


@rule_of_a_solver
def _flow(times: FloatArray, theta: FloatArray, *, flow: Flow) -> FloatArray:
    check(flow.witness)
    values = flow.values(np.asarray(times), np.asarray(theta))
    if not np.isfinite(values).all():
        raise NoDerivativeError("the solution of an initial value problem grows without bound")
    if times.size:
        last, y = float(times[-1]), values[:, -1].copy()
        flow.witness = Witness(flow.name, lambda: flow.asked(last, y, theta))
    return values


def solution_at(times: Any, theta: Any, flow: Flow) -> Any:
    """Y at some times, shape (n, m)."""
    return _flow(times, theta, flow=flow)


def _pull_times(ans: Any, times: Any, theta: Any, *, flow: Flow) -> Any:
    check(flow.witness)
    slopes = slopes_at(times, ans, theta, flow)
    return lambda g: (g * slopes).sum(axis=0)


def _pull_theta(ans: Any, times: Any, theta: Any, *, flow: Flow) -> Any:
    check(flow.witness)
    p = theta.shape[0]
    if flow.n * (1 + p) <= FORWARD or carries((ans, times, theta)):
        found = sensitivities(times, theta, np.eye(p), flow)
        return lambda g: np.tensordot(found, g, axes=((0, 2), (0, 1)))
    return lambda g: _adjoint(g, times, theta, flow)


_flow.defvjp(_pull_times, _pull_theta)
_flow.defjvp(
    lambda g, ans, times, theta, flow: slopes_at(times, ans, theta, flow) * g,
    lambda g, ans, times, theta, flow: sensitivities(
        times, theta, arrays.reshape(g, (-1, 1)), flow
    )[:, 0],
)


def slopes_at(times: Any, y: Any, theta: Any, flow: Flow) -> Any:
    """The right hand side along a solution, (n, m)."""
    m = y.shape[1]
    if m == 0:
        return y
    return arrays.stack([flow.slope(times[k], y[:, k], theta) for k in range(m)], axis=1)


# --- forwards ------------------------------------------------------------------------------------


def sensitivities(times: Any, theta: Any, directions: Any, flow: Flow) -> Any:
    """Derivatives of y along q directions of theta, (p, q): shape (n, q, m)."""
    q, m = directions.shape[1], times.shape[0]
    joint = _Sensitivities(flow, theta.shape[0], q)
    given = arrays.concatenate([theta, arrays.reshape(directions, -1)])
    found = solution_at(times, given, joint)[flow.n :]
    return arrays.swapaxes(arrays.reshape(found, (q, flow.n, m)), 0, 1)


class _Sensitivities(Flow):
    """y and its derivatives along some directions, as one problem: first y, then each of them.

    Its theta is that of y, and behind it the directions.
    """

    def __init__(self, of: Flow, p: int, q: int) -> None:
        self._of = of
        self._p, self._q = p, q
        self.n = of.n * (1 + q)
        self.name, self.call, self.names = of.name, of.call, of.names
        self.kind = (*of.kind, "sensitivities", p, q)
        self.solution, self.solve = of.solution, of.solve  # type: ignore[method-assign]

    def _parts(self, theta: Any) -> tuple[Any, Any]:
        return theta[: self._p], arrays.reshape(theta[self._p :], (self._p, self._q))

    def slope(self, t: Any, y: Any, theta: Any) -> Any:
        n = self._of.n
        theta, directions = self._parts(theta)
        along = arrays.reshape(y[n:], (self._q, n))
        z = arrays.concatenate([y[:n], theta])
        matrix = jacobian(lambda z: self._of.slope(t, z[:n], z[n:]))(z)
        pushed = along @ np.transpose(matrix[:, :n]) + np.transpose(matrix[:, n:] @ directions)
        return arrays.concatenate([self._of.slope(t, z[:n], theta), arrays.reshape(pushed, -1)])

    def asked(self, t: float, y: FloatArray, theta: FloatArray) -> Any:
        return self._of.asked(t, y[: self._of.n], theta[: self._p])

    def start(self, theta: Any) -> tuple[Any, Any]:
        theta, directions = self._parts(theta)
        begin, y = self._of.start(theta)
        moved = jacobian(lambda theta: self._of.start(theta)[1])(theta) @ directions
        later = jacobian(lambda theta: 0.0 * theta.sum() + self._of.start(theta)[0])(theta)
        if carries(later) or np.any(binding.plain_values(later)):
            moved = moved - np.outer(self._of.slope(begin, y, theta), later @ directions)
        return begin, arrays.concatenate([y, arrays.reshape(np.transpose(moved), -1)])

    def _problem(self, theta: FloatArray) -> tuple[Any, Any, dict[str, Any]]:
        """What the solver is given: the right side, the start, and how to solve."""
        n = self._of.n
        begin, y = binding.plain_values(self.start(theta))
        plain, directions = self._parts(theta)
        # The derivative by a parameter counts in units of the parameter.
        sizes = np.max(np.abs(plain[:, np.newaxis] * (directions != 0.0)), axis=0, initial=0.0)
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        scale = np.concatenate([np.ones(n), np.repeat(sizes, n)])
        z = np.concatenate([np.zeros(1 + self.n), theta])
        units = np.eye(z.size)[1 : 1 + n]

        def jac(t: float, y: FloatArray) -> Any:
            """That of y, for each direction, and how each depends on y."""
            z[0], z[1 : 1 + self.n] = t, y
            columns = np.stack([self.program.jvp((z,), (e,))[1] for e in units], axis=1)
            if self.n <= DENSE:
                whole = np.kron(np.eye(1 + self._q), columns[:n])
                whole[n:, :n] = columns[n:]
                return whole
            whole = sparse.kron(sparse.eye(1 + self._q), columns[:n], format="lil")
            whole[n:, :n] = columns[n:]
            return whole.tocsc()

        return self.compiled(theta), (float(begin), y), {"scale": scale, "jac": jac}

    def values(self, times: FloatArray, theta: FloatArray) -> FloatArray:
        f, start, how = self._problem(theta)
        return in_order(lambda times: self._of.solve(f, start, times, **how), start, times)

    def continuous(self, theta: FloatArray, end: float) -> Any:
        f, start, how = self._problem(theta)
        return self._of.solution(f, start, end, **how)


def in_order(
    solve: Callable[[FloatArray], FloatArray], start: tuple[float, FloatArray], times: FloatArray
) -> FloatArray:
    """The solution at times that may be repeated and are in no order, on one side of the start."""
    begin, y = start
    ordered, places = np.unique(times, return_inverse=True)
    if ordered.size == 0 or np.all(ordered == begin):
        return np.repeat(np.asarray(y)[:, np.newaxis], times.size, axis=1)
    if ordered[0] < begin < ordered[-1]:
        raise ValueError("times are on both sides of the start of an initial value problem")
    if ordered[0] < begin:
        return solve(ordered[::-1])[:, ::-1][:, places]
    return solve(ordered)[:, places]


# --- backwards -----------------------------------------------------------------------------------


def _adjoint(g: Any, times: Any, theta: Any, flow: Flow) -> Any:
    """The gradient by theta for cotangents g, (n, m), of plain numbers.

    The adjoint is solved along the solution, which would not be found again by a way back: what
    decays forwards grows backwards. The integral of a^T df/dtheta is taken over the steps of both.
    """
    g, times, theta = binding.plain_values((g, times, theta))
    n = flow.n
    begin, first = binding.plain_values(flow.start(theta))
    latest_first = np.argsort(-np.abs(times - begin), kind="stable")
    order = [k for k in latest_first.tolist() if np.any(g[:, k])]
    y = flow.continuous(theta, float(times[latest_first[0]]) if order else float(begin))
    z, a = np.concatenate([np.zeros(1 + n), theta]), np.zeros(n)
    value, pulled = flow.program, flow.program_of_adjoint

    def gradient(t: float, state: FloatArray, y: FloatArray) -> FloatArray:
        z[0], z[1 : 1 + n], a[:] = t, y, state
        return np.asarray(pulled.grad(z, a)[1:])

    def jac(t: float, state: FloatArray) -> FloatArray:
        z[0], z[1 : 1 + n] = t, y(t)
        return np.asarray(-value.jacobian(z)[:, 1 : 1 + n].T)

    adjoint, total = np.zeros(n), np.zeros(theta.size)
    scale = np.full(n, 1.0 / (np.max(np.abs(g)) or 1.0))
    for k, following in zip(order, [*order[1:], None], strict=True):
        adjoint = adjoint + g[:, k]
        last, until = float(times[k]), float(begin if following is None else times[following])
        if until != last:
            back = flow.solution(
                lambda t, state: -gradient(t, state, y(t))[:n],
                (last, adjoint),
                until,
                scale=scale,
                jac=jac,
            )
            inside = (y.ts > min(last, until)) & (y.ts < max(last, until))
            edges = np.unique(np.concatenate([back.ts, y.ts[inside]]))
            half = 0.5 * np.diff(edges)
            at = (edges[:-1] + half + np.outer(NODES, half)).ravel()
            weights = np.copysign(np.outer(WEIGHTS, half).ravel(), last - until)
            for t, weight, state, there in zip(at, weights, back(at).T, y(at).T, strict=True):
                total += weight * gradient(t, state, there)[n:]
            adjoint = back(until)

    def of_start(theta: Any) -> Any:
        first, y = flow.start(theta)
        return adjoint @ y - first * (adjoint @ binding.plain_values(slope))

    slope = flow.slope(begin, first, theta)
    return total + grad(lambda theta: of_start(theta) + 0.0 * theta.sum())(theta)
