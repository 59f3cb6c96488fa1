"""Calls of `solve_ivp` and `odeint` as flows, `solve_bvp`, and their results with derivatives."""

from __future__ import annotations

import copy
from bisect import bisect_left
from typing import Any

import numpy as np
from scipy import integrate

from .. import binding
from ..binding import Var, carries
from ..operations import arrays
from ..operations.guards import NoDerivativeError, valued
from ..transforms import jvp
from ..transforms._solutions import Equation, solution, vector_of
from ._calls import SolverCall, as_args, may_jump, plainly
from ._flows import FloatArray, Flow, RightSide, solution_at
from ._integrals import Noted, jumps, moved, stays
from ._reports import Report
from .interpolate import CubicHermiteSpline

IMPLICIT = ("Radau", "BDF", "LSODA")
AT_END = 1e-9  # of the time, from where a solution begins or ends: there it may jump
_OF_SOLVERS = ("max_step", "first_step", "min_step")  # which sensitivities are solved with, too


class _CallFlow(Flow):
    """The problem that a call states."""

    def __init__(self, call: SolverCall) -> None:
        self.name = call.original.__name__
        self.kind = (self.name,)
        self.plain = binding.plain_values(call.theta)
        self.names = call.at(self.plain)
        self.call: SolverCall = call.detached()
        self.report = Report(self.name, self.run)
        named = call.arguments(self.plain)
        y = np.asarray(named["y0"])
        if y.dtype.kind not in "iuf":
            raise NoDerivativeError(
                f"{self.name} has derivatives of real solutions, not of those of dtype {y.dtype}: "
                "let y have real and imaginary parts beside each other"
            )
        self.n = y.size
        self.tolerance = np.broadcast_to(self.absolute(named), self.n)
        rtol = named.get("rtol")
        size = np.max(np.abs(y), initial=0.0)
        self.least = np.max(1e-8 if rtol is None else rtol) * size

    def absolute(self, given: dict[str, Any]) -> Any:
        return given.get("atol", 1e-6)

    def absolute_for(self, scale: FloatArray) -> FloatArray:
        """Absolute tolerances of the unknowns, and of others, which may begin at 0.

        There no step would pass without one.
        """
        tolerance = np.resize(self.tolerance, scale.size)
        is_other = np.arange(scale.size) >= self.n
        return np.where(is_other & (tolerance == 0.0), self.least, tolerance) / scale

    def settle(self, theta: Any) -> None:
        """Give what functions have stored its derivatives."""
        self.call.notes.settle(self.name, lambda: self.slope(*self.start(theta), theta), theta)

    def run(self, theta: FloatArray) -> Any:
        """SciPy's result for plain numbers."""
        begin, y = self.start(theta)
        if not may_jump(self.program, np.concatenate([[begin], y, theta])):
            return self.call.run(theta)
        named = self.call.live_at(theta)
        noted = named[self.function] = Noted(named[self.function])
        outcome = plainly(self.call.original, (), named)
        self._check_jumps(noted, theta, self.last(outcome, theta))
        return outcome

    function: str  # the argument that is the right side
    takes_time_first: bool

    def right_side(self, theta: Any) -> RightSide:
        raise NotImplementedError

    def slope(self, t: Any, y: Any, theta: Any) -> Any:
        return self.right_side(theta)(t, y)

    def last(self, outcome: Any, theta: FloatArray) -> float:
        """The time at which a result ends."""
        raise NotImplementedError

    def _check_jumps(self, noted: Noted, theta: FloatArray, end: float) -> None:
        """Refuse a right side that jumps where y or theta decides when.

        That may be so if it jumps along what the solver has tried.
        """
        begin = float(self.start(theta)[0])
        calls = ((a, f) if self.takes_time_first else (a[::-1], f) for a, f in noted.calls)
        known = {float(t): (y, f) for (t, y), f in calls if y.size == f.size == self.n}
        times = sorted(t for t in known if min(begin, end) <= t <= max(begin, end))
        if not times:
            return
        y, f = (np.stack([known[t][k].ravel() for t in times]) for k in (0, 1))
        right_side = self.right_side(theta)

        def tried(t: float) -> Any:
            k = max(bisect_left(times, t), 1)
            part = (t - times[k - 1]) / (times[k] - times[k - 1])
            return right_side(t, y[k - 1] + part * (y[k] - y[k - 1]))

        if next(jumps(tried, np.array(times), f), None) is None:
            return
        solution = self.continuous(theta, end)
        steps = np.unique(solution.ts)
        f = np.stack([right_side(t, solution(t)) for t in steps.tolist()])
        span, sizes = abs(end - begin), np.max(np.abs(y), axis=0)
        other = self.right_side(moved(theta))
        for jump in jumps(lambda t: right_side(t, solution(t)), steps, f):
            beside = lambda t: other(t, moved(solution(t), sizes))  # noqa: E731
            is_end = min(abs(jump.above - begin), abs(jump.below - end)) <= AT_END * span
            if not is_end and not stays(jump, beside, span):
                raise NoDerivativeError(
                    f"{self.name}: at t = {jump.above:.6g} the right side jumps, at a time that y "
                    "or what it is differentiated by decides about. Stop there by a terminal "
                    "event, and begin again from it"
                )


# --- solve_ivp -----------------------------------------------------------------------------------


class InitialValues(_CallFlow):
    """A call of `solve_ivp`."""

    function = "fun"
    takes_time_first = True

    def last(self, outcome: Any, theta: FloatArray) -> float:
        return float(outcome.t[-1] if len(outcome.t) else self.start(theta)[0])

    def continuous(self, theta: FloatArray, end: float) -> Any:
        given = self.call.arguments(theta)
        given.update(dense_output=True, t_eval=None, events=None)
        return self._checked(self.call.original(**given)).sol

    def right_side(self, theta: Any) -> RightSide:
        given = self.call.arguments(theta)
        args = () if given["args"] is None else tuple(given["args"])
        return lambda t, y: vector_of(given["fun"](t, y, *args))

    def start(self, theta: Any) -> tuple[Any, Any]:
        given = self.call.arguments(theta)
        return given["t_span"][0], vector_of(given["y0"])

    def values(self, times: FloatArray, theta: FloatArray) -> FloatArray:
        outcome = self.report.first
        if outcome is not None and np.array_equal(theta, self.plain):
            if np.array_equal(times, outcome.t):
                return np.asarray(outcome.y)
            if outcome.sol is not None and times.size:
                # SciPy rounds otherwise for many times than for one.
                return np.reshape(outcome.sol(times if times.size > 1 else times[0]), (self.n, -1))
        named = self.call.arguments(theta)
        if named["t_eval"] is not None and np.array_equal(times, np.asarray(named["t_eval"])):
            outcome = self.report.run(theta)
        else:
            if not times.size:
                return np.empty((self.n, 0))
            return np.asarray(self.continuous(theta, times[-1])(times))
        return np.asarray(self._checked(outcome).y)

    def _checked(self, outcome: Any) -> Any:
        if outcome.status < 0:
            raise NoDerivativeError(f"{self.name} found no solution: {outcome.message}")
        return outcome

    def solution(
        self, f: RightSide, start: tuple[float, FloatArray], end: float, **how: Any
    ) -> Any:
        return self._other(f, start, end, how, dense_output=True).sol

    def solve(
        self, f: RightSide, start: tuple[float, FloatArray], times: FloatArray, **how: Any
    ) -> FloatArray:
        return np.asarray(self._other(f, start, float(times[-1]), how, t_eval=times).y)

    def _other(
        self,
        f: RightSide,
        start: tuple[float, FloatArray],
        end: float,
        how: dict[str, Any],
        **options: Any,
    ) -> Any:
        """SciPy's result for another problem."""
        named = self.call.arguments(self.plain)
        options |= {name: named[name] for name in _OF_SOLVERS if named.get(name) is not None}
        method = named["method"]
        if (method if isinstance(method, str) else method.__name__) in IMPLICIT:
            options["jac"] = how["jac"]
        options |= {"rtol": named.get("rtol", 1e-3), "atol": self.absolute_for(how["scale"])}
        outcome = self.call.original(f, (start[0], end), start[1], method, **options)
        return self._checked(outcome)


def solve_ivp(call: SolverCall) -> Any:
    """SciPy's result with derivatives of t, y, t_events, y_events and sol."""
    flow = InitialValues(call)
    theta = call.theta
    named = call.arguments(theta)
    if named["t_eval"] is not None and named["events"] is None and not named["dense_output"]:
        times = vector_of(named["t_eval"])
        y = solution_at(times, theta, flow)
        flow.settle(theta)
        t = times if carries(times) else flow.report.first.t
        return flow.report.told(theta, {("t",): t, ("y",): y})
    outcome = flow._checked(flow.report.run(binding.unguarded(theta)))
    plain_times = outcome.t
    if outcome.t_events is not None:
        events = named["events"]
        events = list(events) if isinstance(events, (list, tuple)) else [events]
        args = () if named["args"] is None else tuple(named["args"])
        moments = [
            _times_of(event, args, times, theta, flow)
            for event, times in zip(events, outcome.t_events, strict=True)
        ]
        at_events = [solution_at(times, theta, flow) for times in moments]
    times = _times(outcome, named)
    if outcome.status == 1 and named["t_eval"] is None:  # the last time is that of an event
        ends = [t for row in moments for t in row if binding.plain_values(t) == plain_times[-1]]
        last = arrays.reshape(ends[0], (1,)) if ends else plain_times[-1:]
        times = arrays.concatenate([times[:-1], last])
    y = solution_at(times, theta, flow)
    flow.settle(theta)
    outcome = type(outcome)(outcome)
    if named["dense_output"]:
        outcome.sol = Dense(flow, theta, flow.report.first.sol)
    outcome.t, outcome.y = times, y
    if outcome.t_events is not None:
        outcome.t_events = moments
        outcome.y_events = [
            np.transpose(y) if y.shape[1] else old
            for y, old in zip(at_events, outcome.y_events, strict=True)
        ]
    return outcome


def _times(outcome: Any, named: dict[str, Any]) -> Any:
    """The times of a result: those asked for, or the solver's own between the ends."""
    if named["t_eval"] is not None:
        times = vector_of(named["t_eval"])[: len(outcome.t)]
        return times if carries(times) else outcome.t
    first, last = named["t_span"]
    if not carries((first, last)):
        return outcome.t
    parts = [vector_of(first), outcome.t[1:-1]]
    parts.append(vector_of(last) if outcome.status == 0 else outcome.t[-1:])
    return arrays.concatenate(parts)


def _times_of(event: Any, args: Any, times: FloatArray, theta: Any, flow: InitialValues) -> Any:
    """The times of an event, g(t, y(t), theta) = 0, by two steps of Newton's method.

    Each doubles the order up to which derivatives are right: two are right up to the third.
    """
    if times.size == 0:
        return times
    refined: Any = times
    for _ in range(2):
        y = solution_at(refined, theta, flow)
        parts = []
        for k in range(times.size):
            t, state = refined[k], y[:, k]
            along = flow.slope(t, state, theta)
            t = t if carries(t) else float(t)
            value, slope = jvp(lambda t, y: event(t, y, *args), (t, state), (1.0, along))
            if binding.plain_values(slope) == 0.0:
                raise NoDerivativeError(
                    f"{flow.name}: at t = {times[k]:.6g} the function of an event touches 0 "
                    "without crossing it: the time of the event has no derivative"
                )
            parts.append(t - vector_of(value)[0] / vector_of(slope)[0])
        refined = valued(arrays.stack(parts), times)
    return refined


class Dense:
    """The solution as a function of time, as SciPy's `OdeSolution`, with derivatives."""

    def __init__(self, flow: InitialValues, theta: Any, plain: Any) -> None:
        self._flow, self._theta, self._plain = flow, theta, plain
        self.ts, self.t_min, self.t_max = plain.ts, plain.t_min, plain.t_max
        self.interpolants = plain.interpolants

    def __deepcopy__(self, memo: Any = None) -> Dense:
        return self  # nothing in it ever changes

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        is_over = isinstance(self._theta, Var) and binding.is_stale(self._theta)
        if carries(self._theta) and not is_over:
            raise TypeError(
                "a solution with derivatives cannot be pickled, since these live in the "
                "computation that made it: pickle cadiff.value(sol(t)) at the times you need"
            )
        return copy.copy, (self._plain,)  # SciPy's own

    def __call__(self, t: Any) -> Any:
        """Y at times t: shape (n,) for a number, (n, m) for m of them."""
        times = arrays.as_array(t)
        y = solution_at(vector_of(times), self._theta, self._flow)
        return y[:, 0] if times.ndim == 0 else y


# --- odeint --------------------------------------------------------------------------------------


class OdeInt(_CallFlow):
    """A call of `odeint`."""

    function = "func"

    def __init__(self, call: SolverCall) -> None:
        super().__init__(call)
        self.takes_time_first = bool(call.arguments(self.plain)["tfirst"])

    def last(self, outcome: Any, theta: FloatArray) -> float:
        return float(self.call.arguments(theta)["t"][-1])

    def continuous(self, theta: FloatArray, end: float) -> Any:
        begin, y = self.start(theta)
        f = lambda t, y: self.slope(t, y, theta)  # noqa: E731
        return self.solution(f, (float(begin), y), end, scale=np.ones(self.n))

    def solution(
        self, f: RightSide, start: tuple[float, FloatArray], end: float, **how: Any
    ) -> Any:
        rtol = self.call.arguments(self.plain)["rtol"]
        options = {"rtol": 1.49012e-8 if rtol is None else rtol, "jac": how.get("jac")}
        options |= {"atol": self.absolute_for(how["scale"]), "dense_output": True}
        outcome = integrate.solve_ivp(f, (start[0], end), start[1], "LSODA", **options)
        if outcome.status < 0:
            raise RuntimeError(f"{self.name} found no sensitivities: {outcome.message}")
        return outcome.sol

    def absolute(self, given: dict[str, Any]) -> Any:
        return 1.49012e-8 if given["atol"] is None else given["atol"]

    def right_side(self, theta: Any) -> RightSide:
        given = self.call.arguments(theta)
        args, func = as_args(given["args"]), given["func"]
        if given["tfirst"]:
            return lambda t, y: vector_of(func(t, y, *args))
        return lambda t, y: vector_of(func(y, t, *args))

    def start(self, theta: Any) -> tuple[Any, Any]:
        given = self.call.arguments(theta)
        return arrays.as_array(given["t"])[0], vector_of(given["y0"])

    def values(self, times: FloatArray, theta: FloatArray) -> FloatArray:
        outcome = self.report.run(theta)
        y = outcome[0] if isinstance(outcome, tuple) else outcome
        return np.ascontiguousarray(y.T)

    def solve(
        self, f: RightSide, start: tuple[float, FloatArray], times: FloatArray, **how: Any
    ) -> FloatArray:
        named = self.call.arguments(self.plain)
        names = ("rtol", "tcrit", "h0", "hmax", "hmin", "mxstep", "mxhnil", "mxordn", "mxords")
        jac = how["jac"]
        y, report = self.call.original(
            f,
            start[1],
            np.concatenate([[start[0]], times]),
            Dfun=lambda t, y: _dense(jac(t, y)),
            tfirst=True,
            full_output=True,
            atol=self.absolute_for(how["scale"]),
            **{name: named[name] for name in names},
        )
        if "successful" not in report["message"]:
            raise RuntimeError(f"{self.name} found no sensitivities: {report['message']}")
        return np.asarray(y[1:].T)


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def odeint(call: SolverCall) -> Any:
    """SciPy's result with derivatives of y."""
    flow = OdeInt(call)
    times = arrays.as_array(call.arguments(call.theta)["t"])
    y = np.transpose(solution_at(times, call.theta, flow))
    flow.settle(call.theta)
    return flow.report.told(call.theta, {(0,) if isinstance(flow.report.first, tuple) else (): y})


class _Collocation(Equation):
    """The equations of the values at all nodes, and of the parameters behind them.

    They are those of the method of Kierzenka and Shampine (ACM Trans. Math. Softw. 27, 299, 2001)
    on the mesh that SciPy has chosen: y is a cubic spline that fulfils the differential equation
    at the nodes and in the middle between them.
    """

    name = "solve_bvp"

    def __init__(self, call: SolverCall, outcome: Any) -> None:
        self.call: SolverCall = call.detached()
        self.outcome = outcome
        self.nodes: FloatArray = outcome.x
        self.shape = outcome.y.shape
        self.n = outcome.y.size + (0 if outcome.p is None else outcome.p.size)

    def find(self, theta: FloatArray) -> tuple[FloatArray, str]:
        outcome = self.outcome
        parts = [outcome.y.ravel(), [] if outcome.p is None else outcome.p]
        return np.concatenate(parts), "" if outcome.success else outcome.message

    def split(self, z: Any) -> tuple[Any, tuple[Any, ...]]:
        """y, (n, m), and the parameters, if there are any."""
        size = self.shape[0] * self.shape[1]
        y = arrays.reshape(z[:size], self.shape)
        return y, () if self.outcome.p is None else (z[size:],)

    def right_side(self, theta: Any, x: Any, y: Any, p: tuple[Any, ...]) -> Any:
        return arrays.as_array(self.call.arguments(theta)["fun"](x, y, *p))

    def residual(self, z: Any, theta: Any) -> Any:
        y, p = self.split(z)
        x, h = self.nodes, np.diff(self.nodes)
        f = self.right_side(theta, x, y, p)
        middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        f_middle = self.right_side(theta, x[:-1] + 0.5 * h, middle, p)
        inner = y[:, 1:] - y[:, :-1] - h / 6.0 * (f[:, :-1] + f[:, 1:] + 4.0 * f_middle)
        ends = vector_of(self.call.arguments(theta)["bc"](y[:, 0], y[:, -1], *p))
        return arrays.concatenate([arrays.reshape(inner, -1), ends])


def solve_bvp(call: SolverCall) -> Any:
    """SciPy's result with derivatives of y, yp, p and sol."""
    theta = call.theta
    named = call.arguments(theta)
    if carries(named["x"]):
        raise NoDerivativeError(
            "solve_bvp has no derivative by its mesh: let x go from 0 to 1, and have the "
            "length of the interval in fun"
        )
    if named["S"] is not None:
        raise NoDerivativeError(
            "solve_bvp has no derivatives with the singular term S=: begin beside the "
            "singularity, and have the term in fun"
        )
    outcome = call.run(binding.unguarded(theta))
    if np.iscomplexobj(outcome.y):
        raise NoDerivativeError(
            "solve_bvp has derivatives of real solutions, not of complex ones: let y have real "
            "and imaginary parts beside each other"
        )
    equation = _Collocation(call, outcome)
    z, _ = solution(equation, theta)
    y, p = equation.split(z)
    result = type(outcome)(outcome)
    result.y, result.yp = y, equation.right_side(theta, outcome.x, y, p)
    result.p = p[0] if p else None
    result.sol = CubicHermiteSpline(outcome.x, y, result.yp, axis=1)
    return result
