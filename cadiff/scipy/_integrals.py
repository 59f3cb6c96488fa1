"""Integrals as functions of their limits and of what their integrands read.

By Leibniz's rule the derivative of an integral is the integrand at its limits, and the integral of
the derivative of the integrand, which SciPy's rules of quadrature take again. Values are SciPy's.
Integrals over several variables are integrals over the last one of those over the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import integrate as _original

from .. import binding
from ..binding import carries
from ..binding.callers import warn_caller
from ..operations import arrays
from ..operations.guards import NoDerivativeError, held
from ..transforms import jvp, vjp
from ..transforms._closed import Witness, check, numbers_in
from ..transforms._solutions import vector_of
from ..transforms._solver_side_effects import rule_of_a_solver
from ._calls import SolverCall, as_args, may_jump, plainly, program_of
from ._reports import Report

FloatArray = NDArray[np.float64]
Function = Callable[..., Any]

RELATIVE = 1e-9  # tolerance of integrals of derivatives, or the integral's own if that is less
POOR = 1e-7  # relative error of a derivative, beyond which there is a warning
SHARPER = 1e-2  # of the absolute tolerance of the integral
DIVERGENT = "divergent"  # of what quad says, whatever it takes for its error
FEW = 20  # numbers, which are integrated one by one
LIMIT = 200  # of intervals
WEIGHTS: dict[str, Function] = {
    "cos": lambda x, w: np.cos(w * x),
    "sin": lambda x, w: np.sin(w * x),
    "cauchy": lambda x, c: 1.0 / (x - c),
}


class Integral:
    """A call of a function that integrates, by the numbers with derivatives in it."""

    is_of_a_call = True
    ranges: tuple[str, ...] = ("a", "b")  # arguments that are limits
    wanted = "func"
    is_compiled = True  # whether there are programs of integrands
    witness: Witness | None = None

    def __init__(self, call: SolverCall) -> None:
        self.call: SolverCall = call.detached()
        self.names = call.at(binding.plain_values(call.theta))
        self.name = call.original.__name__
        self.report = Report(self.name, self.run)
        named, options = call.arguments(call.theta), self.options(call.theta)
        self._points_move = carries(options.get("points"))
        self._moves = [carries(end) for end in self.limits(call.theta)]
        self._of_limits = self._points_move or any(self._moves)
        inside = {k: v for k, v in named.items() if k not in (*self.ranges, "points")}
        self._of_integrand = next(numbers_in(inside), None) is not None
        if carries(options.get("wvar")):
            raise NoDerivativeError(
                f"{self.name} has no derivative by wvar=: write the weight into the function"
            )
        if options.get("complex_func"):
            raise NoDerivativeError(
                f"{self.name} with complex_func=True has no derivatives: integrate the real and "
                "the imaginary part"
            )
        if options.get("weight") in ("alg", "alg-loga", "alg-logb", "alg-log") and self._of_limits:
            raise NoDerivativeError(
                f"{self.name} has no derivative by limits at which its weight is singular: "
                "change variables, so that the limits are constants"
            )

    def run(self, theta: FloatArray) -> Any:
        """SciPy's result for plain numbers."""
        named = self.call.live_at(theta)
        noted = Noted(named.get(self.wanted))
        if self._moves_within(theta):
            named[self.wanted] = noted
        outcome = plainly(self.call.original, (), named)
        if noted.calls:
            answers = {float(x): np.ravel(y) for (x, *_), y in noted.calls}
            at = np.array(sorted(answers))
            values = np.array([answers[x] for x in at.tolist()])
            self._check_jumps(self.integrand(theta), self.integrand(moved(theta)), at, values)
        return outcome

    def _moves_within(self, theta: FloatArray) -> bool:
        """Whether the integrand may jump at a place that moves with theta."""
        if not (self._of_integrand and self.ranges) or self._points_move:
            return False
        names, integrand = self.names, self.integrand

        def value(z: Any) -> Any:
            names  # noqa: B018 - programs know functions by names in code
            return integrand(z[1:])(z[0])

        inside = _between(*self.limits(theta))
        return may_jump(program_of("value", self.call, value), np.concatenate([[inside], theta]))

    def _check_jumps(self, f: Function, other: Function, at: FloatArray, values: Any) -> None:
        """Refuse places at which the integrand jumps, if it does not for another theta."""
        for jump in jumps(f, at, values):
            if not stays(jump, other, at[-1] - at[0]):
                raise NoDerivativeError(
                    f"{self.name}: at {jump.above:.6g} the integrand jumps, a place that depends "
                    "on what it is differentiated by. Add the integrals up to there and from "
                    "there on, or pass the place by points="
                )

    # --- its parts

    def integrand(self, theta: Any) -> Function:
        """A function of the number, or of the last of the numbers, that is integrated over."""
        given = self.call.arguments(theta)
        args = as_args(given.get("args") or ())
        return lambda x: _number(given[self.wanted](x, *args))

    def limits(self, theta: Any) -> tuple[Any, Any]:
        given = self.call.arguments(theta)
        return tuple(given[name] for name in self.ranges)

    def _moving_limits(self, theta: Any) -> Iterator[tuple[float, Any]]:
        """Those that depend on theta, with a sign."""
        for sign, end, moves in zip((-1.0, 1.0), self.limits(theta), self._moves, strict=True):
            if moves and np.isfinite(binding.unguarded(end)):
                yield sign, end

    def options(self, theta: Any) -> dict[str, Any]:
        """Tolerances, weights, and places at which the integrand may jump."""
        return self.call.arguments(theta)

    def edges(self, theta: Any) -> Iterator[tuple[Any, Any]]:
        """Limits, and points that move, with the slopes of the integral by them."""
        options = self.options(theta)
        f, weight = self.integrand(theta), WEIGHTS.get(str(options.get("weight")))

        def along(x: Any) -> Any:
            return f(x) if weight is None else f(x) * weight(x, options["wvar"])

        for sign, end in self._moving_limits(theta):
            slope = along(end)
            if np.isnan(binding.unguarded(slope)).any():  # by rounding beyond the end of a domain
                slope = along(end - sign * np.spacing(np.abs(binding.unguarded(end))))
            if np.any(np.isinf(binding.unguarded(slope))):
                raise NoDerivativeError(
                    f"{self.name} has no derivative by a limit at which its integrand is "
                    "infinite: change variables, so that the limit is a constant"
                )
            yield end, sign * slope
        for point in options["points"] if self._points_move else ():
            place = float(binding.unguarded(point))
            before, after = (point + (np.nextafter(place, s) - place) for s in (-np.inf, np.inf))
            yield point, along(before) - along(after)

    def over(self, f: Function, theta: Any) -> Any:
        """The integral of another function, of a vector, over the same range."""
        a, b = self.limits(theta)
        n = binding.shape(f(_between(*binding.unguarded((a, b)))))[0]
        given = self.options(theta)
        is_plain = not carries((a, b, given.get("points"))) and next(numbers_in(f), None) is None
        return self._integrals(f, n, a, b, given, is_plain)

    def _integrals(
        self, f: Function, n: int, a: Any, b: Any, asked: dict[str, Any], is_plain: bool
    ) -> Any:
        """Those of the n numbers that f returns.

        Numbers of a few are integrated one by one, by `quad`, which extrapolates at singularities.
        """
        options: dict[str, Any] = {
            "epsabs": SHARPER * asked.get("epsabs", 1.49e-8),
            "epsrel": min(asked.get("epsrel", 1.0), RELATIVE),
            "limit": LIMIT,
            "points": asked.get("points"),
            "full_output": True,
        }
        weight = asked.get("weight")
        if weight is None and (n > FEW or not is_plain):
            value, _, report = quad_vec(f, a, b, **options)
            if report.success or report.status == 2:  # 2: there are but rounding errors left
                return value
        integrate = quad
        if is_plain:
            integrate, (a, b) = _original.quad, binding.plain_values((a, b))
        options |= {"weight": weight, "wvar": asked.get("wvar")}
        each = [integrate(lambda x, k: f(x)[k], a, b, args=(k,), **options) for k in range(n)]
        for value, error, _, *complaint in each:
            poor = not error <= max(asked.get("epsabs", 0.0), POOR * abs(value))
            if (complaint and (poor or DIVERGENT in complaint[0])) or not np.isfinite(value):
                complaint = complaint or ["it is not finite"]
                warn_caller(
                    f"{self.name}: of the integral of a derivative quad says: {complaint[0]}",
                    _original.IntegrationWarning,
                )
        return arrays.stack([value for value, *_ in each])

    # --- rules

    def pulled(self, g: Any, theta: Any) -> Any:
        total: Any = 0.0 * theta
        slopes = [(g * slope).sum() for _, slope in self.edges(theta)]
        if self._of_integrand:

            def inside(x: Any) -> Any:
                return vjp(lambda theta: self.integrand(theta)(x), theta)[1](g)

            plain = self.is_compiled and not carries((g, theta))
            total = total + self.over(self._compiled(g, theta) if plain else inside, theta)
        if slopes:  # the ends as functions of theta, weighed by slopes that count as theirs
            _, back = vjp(self._ends, theta)
            total = total + back(arrays.stack(slopes))
        return total

    def _compiled(self, g: Any, theta: Any) -> Function:
        """The gradient of the integrand as a program, which remembers what it was asked for last.

        Each of its numbers is integrated for itself, at points of which many are the same.
        """
        names, integrand = self.names, self.integrand

        def weighed(z: Any, g: Any) -> Any:
            names  # noqa: B018 - programs know functions by names in code
            return (g * integrand(z[1:])(z[0])).sum()

        program = program_of("integrand", self.call, weighed)
        g, theta = binding.plain_values((g, theta))
        g = np.asarray(g, dtype=float)
        z = np.concatenate([[0.0], theta])

        @cache
        def at(x: float) -> FloatArray:
            z[0] = x
            return np.asarray(program.grad(z, g)[1:])

        return at

    def _ends(self, theta: Any) -> Any:
        ends = [end for _, end in self._moving_limits(theta)]
        points = self.options(theta)["points"] if self._points_move else ()
        return arrays.stack([0.0 * theta.sum() + end for end in [*ends, *points]])

    def pushed(self, g: Any, ans: Any, theta: Any) -> Any:
        total: Any = 0.0
        slopes = [vector_of(slope) for _, slope in self.edges(theta)]
        if self._of_integrand:

            def inside(x: Any) -> Any:
                return vector_of(jvp(lambda theta: self.integrand(theta)(x), (theta,), (g,))[1])

            if ans.shape == () and self.is_compiled and not carries((g, theta)):
                gradient = self._compiled(1.0, theta)
                along = binding.plain_values(g)
                total = self.over(lambda x: gradient(x) @ along[:, np.newaxis], theta)
            else:
                total = self.over(inside, theta)
        if slopes:
            _, moved = jvp(self._ends, (theta,), (g,))
            total = total + moved @ arrays.stack(slopes)
        return total


def _between(a: float, b: float) -> float:
    """A point within limits, infinite ones too."""
    if np.isfinite(a + b):
        return 0.5 * (a + b)
    low, high = min(a, b), max(a, b)
    return float(low + 1.0 if np.isfinite(low) else high - 1.0 if np.isfinite(high) else 0.0)


def _spread(a: float, b: float) -> FloatArray:
    """Places in order within limits, infinite ones too."""
    u = np.linspace(-0.95, 0.95, 20)
    low, high = min(a, b), max(a, b)
    if np.isfinite(low) and np.isfinite(high):
        return np.asarray(low + 0.5 * (high - low) * (1.0 + u))
    if np.isfinite(low):
        return np.asarray(low + (1.0 + u) / (1.0 - u))
    return np.asarray(high - (1.0 - u) / (1.0 + u) if np.isfinite(high) else u / (1.0 - u * u))


def _number(x: Any) -> Any:
    """What an integrand returns, as a number or an array of them."""
    return x if isinstance(x, (float, np.ndarray)) else arrays.as_array(x)


@rule_of_a_solver
def _integral(theta: FloatArray, *, integral: Integral) -> Any:
    check(integral.witness)
    value = integral.report.run(theta)[0]
    inside = _between(*integral.limits(theta))
    integral.witness = Witness(integral.name, lambda: integral.integrand(theta)(inside))
    return value


def _pull(ans: Any, theta: Any, *, integral: Integral) -> Any:
    check(integral.witness)
    return lambda g: integral.pulled(g, theta)


def _push(g: Any, ans: Any, theta: Any, *, integral: Integral) -> Any:
    return arrays.reshape(integral.pushed(g, ans, theta), ans.shape)


_integral.defvjp(_pull)
_integral.defjvp(_push)


def _integrated(kind: type[Integral], original: Function, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = tuple(map(_still, args)), {name: _still(x) for name, x in kwargs.items()}
    call = SolverCall(original, args, kwargs)
    if not call.carries:
        return plainly(original, args, kwargs)
    integral = kind(call)
    theta = call.theta
    value = _integral(theta, integral=integral)

    def ask() -> Any:
        return integral.integrand(theta)(_between(*binding.unguarded(integral.limits(theta))))

    integral.call.notes.settle(integral.name, ask, theta)
    return integral.report.told(theta, {(0,): value})


def _still(x: Any) -> Any:
    """An argument, but of an infinite limit its value: it does not move."""
    is_number = isinstance(x, (binding.Var, binding.Dual)) and binding.shape(x) == ()
    return held(x) if is_number and np.isinf(held(x)) else x


class VectorIntegral(Integral):
    """A call of `quad_vec`."""

    wanted = "f"


class NestedIntegral(Integral):
    """A call of `nquad`: over the last variable, of an integral over the others."""

    ranges = ()

    def __init__(self, call: SolverCall) -> None:
        super().__init__(call)
        named = call.arguments(call.theta)
        self._n = len(named["ranges"])
        self._ends_move = [
            next(numbers_in((r, named["args"]) if callable(r) else list(r)), None) is not None
            for r in named["ranges"]
        ]
        self.is_compiled = next(numbers_in(named["opts"]), None) is None

    def run(self, theta: FloatArray) -> Any:
        outcome = super().run(theta)
        if self.is_compiled:  # else it has been told of places that move
            self._look_along_lines(theta)
        return outcome

    def _look_along_lines(self, theta: FloatArray) -> None:
        """Look for jumps that move, along each of the variables from some places."""
        names, n, named = self.names, self._n, self.call.arguments(theta)
        other = self.call.arguments(moved(theta))

        def value(z: Any) -> Any:
            names  # noqa: B018 - programs know functions by names in code
            return self._inner(self.call.arguments(z[n:]), quad, tuple(z[:n]))

        def within(*outer: float) -> tuple[float, ...]:
            """A place in the middle of all inner variables."""
            k = n - len(outer)
            ends = self._level(named, k - 1, outer)[:2] if k else ()
            return within(_between(*ends), *outer) if k else outer

        def look(*outer: float) -> None:
            f, g = (
                partial(lambda of, x: np.ravel(self._inner(of, quad, within(x, *outer))), of)
                for of in (named, other)
            )
            at = _spread(*self._level(named, n - len(outer) - 1, outer)[:2])
            self._check_jumps(f, g, at, np.array([f(x) for x in at.tolist()]))
            for x in at[1::4].tolist() if len(outer) < n - 1 else ():
                look(x, *outer)

        if may_jump(program_of("value", self.call, value), np.concatenate([within(), theta])):
            look()

    def _level(
        self, named: Any, k: int, outer: tuple[Any, ...]
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Limits and options of the integral over one variable, where those further out are at."""
        args = () if named["args"] is None else as_args(named["args"])
        opts = named["opts"]

        def there(each: Any) -> Any:
            return each(*outer, *args) if callable(each) else each

        low, high = there(named["ranges"][k])
        options = {**there(opts[k] if isinstance(opts, (list, tuple)) else opts or {})}
        if options.get("points") is not None:
            a, b = binding.unguarded((low, high))
            options["points"] = [x for x in options["points"] if a <= binding.unguarded(x) <= b]
        return low, high, options

    def integrand(self, theta: Any) -> Function:
        given = self.call.arguments(theta)
        return lambda x: _number(self._inner(given, quad, (x,)))

    def _inner(self, named: Any, integrate: Function, outer: tuple[Any, ...]) -> Any:
        """The integral over the first variables, where those further out are at."""
        args = () if named["args"] is None else as_args(named["args"])
        func, k = named["func"], self._n - len(outer)
        if k == 0:
            return func(*outer, *args)
        low, high, options = self._level(named, k - 1, outer)

        def innermost(x: Any) -> Any:
            return func(x, *outer, *args)

        def between(x: Any) -> Any:
            return self._inner(named, integrate, (x, *outer))

        return integrate(innermost if k == 1 else between, low, high, **options)[0]

    def limits(self, theta: Any) -> tuple[Any, Any]:
        return self._level(self.call.arguments(theta), -1, ())[:2]

    def options(self, theta: Any) -> dict[str, Any]:
        return self._level(self.call.arguments(theta), -1, ())[2]

    def _compiled(self, g: Any, theta: Any) -> Function:
        """The gradient of the inner integral: of programs of the integrand and of all limits."""
        if self._n == 1:
            return super()._compiled(g, theta)
        names, n, call = self.names, self._n, self.call
        g, theta = binding.plain_values((np.asarray(g, dtype=float), theta))
        named = call.arguments(theta)

        def weighed(z: Any, g: Any) -> Any:
            names  # noqa: B018 - programs know functions by names in code
            return (g * self._inner(call.arguments(z[n:]), quad, tuple(z[:n]))).sum()

        def ends(z: Any, k: int) -> Any:
            names  # noqa: B018
            found = self._level(call.arguments(z[n:]), k, tuple(z[k + 1 : n]))[:2]
            return arrays.stack([0.0 * z[0] + x for x in found])

        program = program_of("integrand", call, weighed)
        moving = [k for k in range(n - 1) if self._ends_move[k]]
        programs = {k: program_of(("ends", k), call, partial(ends, k=k)) for k in moving}
        z = np.concatenate([np.zeros(n), theta])

        def slopes(k: int, outer: tuple[Any, ...]) -> Any:
            """The gradient of the integral over the first k variables."""
            if k == 0:
                z[:n] = outer
                return program.grad(z, g)[n:]
            low, high, options = self._level(named, k - 1, outer)
            at = cache(lambda x: slopes(k - 1, (x, *outer)))
            total = self._integrals(at, theta.size, low, high, options, is_plain=True)
            if k - 1 in programs:
                z[k:n] = outer
                moves = programs[k - 1].jacobian(z)[:, n:]
                weight = WEIGHTS.get(str(options.get("weight")))
                for sign, end, move in zip((-1.0, 1.0), (low, high), moves, strict=True):
                    if np.isfinite(end) and move.any():
                        height = g * self._inner(named, _original.quad, (end, *outer))
                        if weight is not None:
                            height = height * weight(end, options["wvar"])
                        total = total + sign * height * move
            return total

        return cache(lambda x: slopes(n - 1, (x,)))


# --- as SciPy's functions ------------------------------------------------------------------------

quad = partial(_integrated, Integral, _original.quad)
quad_vec = partial(_integrated, VectorIntegral, _original.quad_vec)
nquad = partial(_integrated, NestedIntegral, _original.nquad)


def _by_nquad(original: Function) -> Function:
    """SciPy's own Python, which calls nquad: the one above."""
    names = {"__name__": __name__, "nquad": nquad}
    return FunctionType(original.__code__, names, original.__name__, original.__defaults__)


dblquad, tplquad = _by_nquad(_original.dblquad), _by_nquad(_original.tplquad)


# --- jumps ---------------------------------------------------------------------------------------

# Where a function of one number jumps, and whether other numbers move the place. An integral over
# a jump has a derivative by its place, and so has the solution of a differential equation;
# derivatives of the pieces of the function tell neither. Points of a solver's tell where to look:
# stretches between neighbours are divided until they are seen to be straight, or to jump.

SMALL = 1e-4  # jumps smaller than this, by the largest value, are none
PART = 0.382  # of what is divided; halves would be blind for what jumps in the middle
MOST = 20_000  # places that are asked
MOVED = 1e-4  # by so much of themselves other numbers are changed
BESIDE = 1e-10  # by so much of the range a place may move


class Jump(NamedTuple):
    below: float
    above: float
    height: float


def jumps(f: Function, at: FloatArray, values: FloatArray) -> Iterator[Jump]:
    """Those of f, given its values, shape (m, n), at m places in order."""
    size = SMALL * float(np.max(np.abs(values), initial=0.0))
    parts = list(zip(at[:-1].tolist(), at[1:].tolist(), values[:-1], values[1:], strict=True))
    for _ in range(MOST if np.isfinite(size) else 0):
        if not parts:
            break
        low, high, below, above = parts.pop()
        between = low + PART * (high - low)
        if not low < between < high:
            height = float(np.max(np.abs(above - below)))
            if height > size:
                yield Jump(low, high, height)
            continue
        value = np.ravel(f(between))
        if np.max(np.abs(value - below - PART * (above - below))) > size:
            parts += [(low, between, below, value), (between, high, value, above)]


def stays(jump: Jump, f: Function, span: float) -> bool:
    """Whether another function has the same jump."""
    beside = BESIDE * span
    low, high = np.ravel(f(jump.below - beside)), np.ravel(f(jump.above + beside))
    return not float(np.max(np.abs(high - low))) <= 0.5 * jump.height


def moved(numbers: FloatArray, sizes: FloatArray | None = None) -> FloatArray:
    """Other numbers beside these, by their sizes."""
    sizes = np.abs(numbers) if sizes is None else sizes
    signs = np.cos(7.0 * np.arange(numbers.size) + 1.0).reshape(numbers.shape)
    return np.asarray(numbers + MOVED * signs * np.where(sizes == 0.0, 1.0, sizes))


class Noted:
    """A function that notes its arguments and results, or some of them."""

    MOST = 2096

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.calls: list[tuple[tuple[Any, ...], Any]] = []

    def __call__(self, *args: Any) -> Any:
        answer = self._function(*args)
        if len(self.calls) == self.MOST:
            del self.calls[::2]
        self.calls.append((tuple(map(np.array, args[:2])), np.array(answer, dtype=float)))
        return answer
