"""What has to hold of every probe, whatever it calls. No invariant has an oracle of ours.

Values, shapes and dtypes are those that NumPy or SciPy gives for plain numbers; derivatives are
those that differences of these values contradict nowhere, the same in all modes, in programs and
in batches; second derivatives are symmetric, and no differences of first ones contradict them.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp

from .differences import are_linear, confirmed, judge
from .errors import Told, told
from .probes import NoNumbersError, Probe, Results, flat, results
from .worlds import OURS, PLAIN, THROUGH, World

Array = Any
Pair = tuple[float, float]
Lines = Callable[[float, float], Callable[[float], Array]]  # of a direction

ROUNDING = 1e-10  # beside which modes agree
CANCELLED = 1e-14  # of arguments and derivatives: what is left where terms cancel
FIRST, SECOND = 3e-6, 3e-5  # beside which differences contradict derivatives
SINGLE = 2e-3
SLOW = 0.03  # seconds; of slower calls values and first derivatives are all that is asked for
HERE = (0.0, 0.0)
AXES = ((1.0, 0.0), (0.0, 1.0))
VERIFIED: Any = (
    {"verify": "always"} if "verify" in inspect.signature(cadiff.compile).parameters else {}
)


@dataclass(frozen=True)
class Finding:
    """An invariant that does not hold of a probe."""

    invariant: str
    message: str


@dataclass
class Outcome:
    """What came of a case.

    It is "checked"; "refused" with a clear error; or "no case", where the original itself refuses
    or has no numbers as results.
    """

    status: str = "checked"
    text: str = ""  # the call
    tried: Counter[str] = field(default_factory=Counter)  # invariants
    findings: list[Finding] = field(default_factory=list)
    refusal: str = ""  # what was said
    known: list[str] = field(default_factory=list)  # why other findings are none


class RefusedError(Exception):
    """The package says that it does not do this."""

    def __init__(self, said: Told) -> None:
        super().__init__(said.text)
        self.said = said


class Examination:
    """One probe, examined; findings are collected in `outcome`."""

    def __init__(self, probe: Probe, rng: np.random.Generator, native: bool) -> None:
        self.probe, self.rng, self.native = probe, rng, native
        self.outcome = Outcome(text=probe.text)

    # --- the functions of s and t that are examined ----------------------------------------------

    def plain(self, s: float, t: float, probe: Probe | None = None) -> Results:
        return results((probe or self.probe).call(PLAIN, s, t))

    def line(self, a: float, b: float) -> Callable[[float], Array]:
        """Plain results along a direction."""
        return lambda h: flat(self.plain(h * a, h * b).numbers)

    def along(self, world: World, probe: Probe | None = None) -> Callable[[Any, Any], Any]:
        """The numbers as a function of s and t."""
        call = (probe or self.probe).call
        return lambda s, t: results(call(world, s, t)).numbers

    def total(self, world: World, weights: Array) -> Callable[[Any, Any], Any]:
        """All numbers, weighted, as one."""
        numbers = self.along(world)

        def total(s: Any, t: Any) -> Any:
            found, begun = 0.0, 0
            for leaf in numbers(s, t).values():
                size = int(cnp.size(leaf))
                part = weights[begun : begun + size].reshape(np.shape(cadiff.value(leaf)))
                found, begun = found + cnp.sum(leaf * part), begun + size
            return found

        return total

    # --- noting ----------------------------------------------------------------------------------

    def note(self, invariant: str, is_right: bool, message: str = "") -> bool:
        self.outcome.tried[invariant] += 1
        if not is_right:
            self.outcome.findings.append(Finding(invariant, message))
        return is_right

    def attempt(self, what: str, call: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
        """What a call gives; a clear error ends the examination, another one is a finding, too."""
        try:
            return call(*args, **options)
        except Exception as error:
            said = told(error)
            self.note(
                "an error says what to do", said.is_clear, f"{what}: {said.text} [{said.place}]"
            )
            raise RefusedError(said) from error

    def slopes_near(self, *args: Any) -> bool:
        """`near`, or both as near to 0 as sums that cancel are."""
        tangents = np.abs(self.tangents)
        largest = np.max(tangents[np.isfinite(tangents)], initial=self.probe.size)
        return self.near(*args, floor=CANCELLED * largest)

    def near(
        self,
        invariant: str,
        got: Array,
        wanted: Array,
        rtol: float,
        scale: Array,
        floor: float = 1e-300,
    ) -> bool:
        """Equal beside a scale, wherever both are finite."""
        with np.errstate(all="ignore"):
            got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
            is_finite = np.isfinite(got) & np.isfinite(wanted)
            away = np.where(is_finite, np.abs(got - wanted), 0.0)
            allowed = rtol * (np.abs(scale) + np.abs(wanted)) + floor
        is_right = bool(np.all(~(away > allowed)))
        return self.note(invariant, is_right, f"{short(got)} for {short(wanted)}")

    # --- the examination -------------------------------------------------------------------------

    def run(self) -> Outcome:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", ".*did not converge for the derivative")
            try:
                begun = time.process_time()
                self.base = self.plain(0.0, 0.0)
                self.is_slow = time.process_time() - begun > SLOW
                again = self.plain(0.0, 0.0)
                size = flat(self.base.numbers).size
                pairs = [(flat(self.base.numbers), flat(again.numbers))]
                pairs += [(x, again.others.get(p)) for p, x in self.base.others.items()]
                if not size or not all(np.array_equal(x, y, equal_nan=True) for x, y in pairs):
                    raise NoNumbersError  # or random ones
            except Exception:
                self.outcome.status = "no case"
                return self.outcome
            self.weights = self.rng.uniform(0.5, 1.5, size) * self.rng.choice([-1.0, 1.0], size)
            try:
                self.values()
                self.first_derivatives()
                self.twins()
                if not self.is_slow:
                    self.through()
                    if not self.is_single():
                        self.second_derivatives()
                    self.programs()
            except RefusedError as error:
                self.outcome.status = "refused"
                self.outcome.refusal = error.said.text
            except RuntimeWarning as warning:  # that a derivative has not converged
                self.outcome.status, self.outcome.refusal = "refused", str(warning)
        return self.outcome

    def values(self) -> None:
        """Values, shapes, dtypes, and what has no derivative, as the original gives them."""
        seen: list[Results] = []

        def run(s: Any, t: Any) -> Any:
            seen.append(results(self.probe.call(OURS, s, t)))
            return seen[-1].numbers

        self.jvps = [self.attempt("jvp", cadiff.jvp, run, HERE, direction) for direction in AXES]
        found, out = seen[0], self.jvps[0][0]
        paths = list(self.base.numbers)
        shapes = {p: np.shape(x) for p, x in self.base.numbers.items()}
        same = list(out) == paths and {p: np.shape(x) for p, x in out.items()} == shapes
        if not self.note(
            "shapes are the original's",
            same,
            f"{ {p: np.shape(x) for p, x in out.items()} } for {shapes}",
        ):
            raise RefusedError(Told("results of another form", True, ""))
        wanted, got = flat(self.base.numbers), flat(out)
        rtol = SINGLE if self.is_single() else 1e-9
        self.size = scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
        rounded = 0.01 if self.is_single() else 0.0
        floor = 1e-300 if scale else CANCELLED * self.probe.size  # where the original is 0
        self.near("values are the original's", got, wanted, rtol, 0.01 * (scale + rounded), floor)
        is_nan = np.isnan(got) == np.isnan(wanted)
        self.note(
            "values are the original's",
            bool(is_nan.all()),
            f"nan in {short(got)} for {short(wanted)}",
        )
        self.note(
            "dtypes are the original's",
            found.dtypes == self.base.dtypes,
            f"{dtypes(found)} for {dtypes(self.base)}",
        )
        self.note(
            "integers and truths are the original's",
            all(
                np.array_equal(cadiff.value(found.others[p]), x)
                for p, x in self.base.others.items()
                if p in found.others
            ),
            f"{found.others} for {self.base.others}",
        )

    def is_single(self) -> bool:
        of_single = {np.dtype("f4"), np.dtype("c8"), np.dtype("f2")}
        return self.probe.is_single or not of_single.isdisjoint(self.base.dtypes.values())

    def first_derivatives(self) -> None:
        self.tangents = [flat(tangent) for _, tangent in self.jvps]
        size = [x.size for x in self.tangents]
        if size != [self.weights.size] * 2:
            self.note("tangents have the shapes of values", False, f"{size}")
            raise RefusedError(Told("tangents of another form", True, ""))
        for direction, tangent in zip(AXES, self.tangents, strict=True):
            invariant = "first derivatives, differences"
            self.against_differences(invariant, self.line, direction, tangent, FIRST)
        total = self.total(OURS, self.weights)
        self.gradient = self.attempt("grad", cadiff.grad(total, (0, 1)), *HERE)
        rtol = SINGLE if self.is_single() else ROUNDING
        for k, tangent in enumerate(self.tangents):
            if np.isfinite(tangent).all():
                scale = np.sum(np.abs(self.weights * tangent)) + 1e-3 * self.size
                self.slopes_near(
                    "forward = reverse", self.gradient[k], self.weights @ tangent, rtol, scale
                )
        numbers = self.along(OURS)
        _, linear = self.attempt("linearize", cadiff.linearize, numbers, *HERE)
        pushed = flat(self.attempt("linear map", linear, *AXES[0]))
        scale = np.abs(self.tangents[0]) + 1e-3 * self.size
        self.slopes_near("linear maps = forward", pushed, self.tangents[0], rtol, scale)

    def against_differences(
        self, invariant: str, lines: Lines, direction: Pair, derivative: Array, rtol: float
    ) -> None:
        if self.is_single():
            return
        f = lines(*direction)
        try:
            verdict = judge(f)
            if verdict is None or verdict.slope.shape != derivative.shape:
                return
            wrong = verdict.contradicts(derivative, rtol)
            if wrong.any():
                wrong = confirmed(f, derivative, wrong, rtol)
            if wrong.any():
                wrong = wrong & are_linear(lines)
        except Exception:  # the original ends nearby
            return
        if wrong.any() and "differences" in invariant:
            mine = derivative[wrong]
            if np.isnan(mine).all():
                invariant = "no nan where differences are finite"
            elif not mine.any():
                invariant = "nothing is silently 0"
        message = f"{short(derivative[wrong])} for {short(verdict.slope[wrong])}"
        self.note(invariant, not wrong.any(), message)

    def twins(self) -> None:
        for invariant, twin in self.probe.twins.items():
            try:
                base = self.plain(0.0, 0.0, twin)
            except Exception:
                continue
            mine, theirs = flat(self.base.numbers), flat(base.numbers)
            is_same = np.array_equal(mine, theirs, equal_nan=True)
            if mine.shape != theirs.shape or not (is_same or self.is_single()):
                continue
            call = self.along(OURS, twin)
            out, tangent = self.attempt("jvp", cadiff.jvp, call, HERE, AXES[0])
            rtol = SINGLE if self.is_single() else ROUNDING
            if np.allclose(flat(out), mine, rtol=1e-4, atol=0.0):
                scale = self.size + np.max(
                    np.abs(self.tangents[0][np.isfinite(self.tangents[0])]), initial=0.0
                )
                rtol = 30 * rtol if self.is_single() else rtol
                self.slopes_near(invariant, self.tangents[0], flat(tangent), rtol, scale)

    def through(self) -> None:
        """NumPy's and SciPy's own functions either work on numbers, or say which import does."""
        try:
            call = self.along(THROUGH)
            _, tangent = cadiff.jvp(call, HERE, AXES[0])
        except Exception as error:
            said = told(error)
            self.note(
                "the original's own works or says what does",
                said.is_clear,
                f"{said.text} [{said.place}]",
            )
            return
        theirs, mine = flat(tangent), self.tangents[0]
        if theirs.shape == mine.shape and not np.allclose(theirs, mine, rtol=1e-7, equal_nan=True):
            self.against_differences(  # at kinks both may be right
                "the original's own works or says what does",
                self.line,
                AXES[0],
                theirs,
                FIRST,
            )

    def second_derivatives(self) -> None:
        total = self.total(OURS, self.weights)
        gradient = cadiff.grad(total, (0, 1))

        def columns(way: Callable[..., Any]) -> Array:
            return np.array([way(direction) for direction in AXES], dtype=float)

        def forward_reverse(d: Pair) -> Any:
            return cadiff.jvp(gradient, HERE, d)[1]

        def forward_forward(d: Pair) -> Any:
            def pushed(s: Any, t: Any) -> Any:
                return [cadiff.jvp(total, (s, t), e)[1] for e in AXES]

            return cadiff.jvp(pushed, HERE, d)[1]

        def reverse_reverse(d: Pair) -> Any:
            def product(s: Any, t: Any) -> Any:
                a, b = gradient(s, t)
                return a * d[0] + b * d[1]

            return cadiff.grad(product, (0, 1))(*HERE)

        hessian = self.attempt("jvp of grad", columns, forward_reverse)
        scale = np.max(np.abs(hessian[np.isfinite(hessian)]), initial=0.0)
        scale = scale + 1e-3 * np.sum(np.abs(self.weights * flat(self.base.numbers)))
        scale = scale if np.isfinite(scale) else 0.0
        rtol = 1e-6
        for name, way in (("jvp of jvp", forward_forward), ("grad of grad", reverse_reverse)):
            other = self.attempt(name, columns, way)
            self.slopes_near("second derivatives: modes agree", other, hessian, rtol, scale)
        self.slopes_near("mixed partials are symmetric", hessian[0, 1], hessian[1, 0], rtol, scale)
        rounded = (1e-14 * max(self.probe.size, 1.0)) ** 2  # squares of first ones that are 0
        zeros = "second derivatives where cotangents are 0"
        self.near(zeros, *self.of_squares(), rtol, scale, floor=rounded)
        invariant = "second derivatives, differences of first"
        if not np.isfinite(flat(self.base.numbers)).all():
            return  # next to infinity first ones are what they are by convention

        def lines(a: float, b: float) -> Callable[[float], Array]:
            return lambda h: np.array(gradient(h * a, h * b))

        for direction, column in zip(AXES, hessian, strict=True):
            self.against_differences(invariant, lines, direction, column, SECOND)

    def of_squares(self) -> tuple[float, float]:
        """The second derivative of weighted squares of changes, which are 0 here, and its value.

        A cotangent that is 0 has a derivative that is not: what leaves it out is found here.
        """
        numbers = self.along(OURS)
        here = {p: cadiff.value(x) for p, x in numbers(*HERE).items()}
        sizes = np.abs(self.weights) * np.isfinite(self.tangents[0])

        def squares(s: Any, t: Any) -> Any:
            found, begun = 0.0, 0
            for path, leaf in numbers(s, t).items():
                change = cnp.reshape(leaf - here[path], (-1,))
                part = sizes[begun : begun + change.size]
                found = found + cnp.sum(part[part != 0.0] * change[part != 0.0] ** 2)
                begun += change.size
            return found

        slope = cadiff.grad(squares, (0, 1))
        found = cadiff.jvp(lambda s, t: slope(s, t)[0], HERE, AXES[0])[1]
        return found, 2.0 * np.sum(sizes * np.nan_to_num(self.tangents[0]) ** 2)

    def programs(self) -> None:
        """Compiled, in a batch, and as machine code, as they are."""
        numbers, total = self.along(OURS), self.total(OURS, self.weights)
        program = cadiff.compile(numbers, **VERIFIED)
        summed = cadiff.compile(total, **VERIFIED)
        points = [(0.0, 0.0), tuple(self.rng.uniform(-0.01, 0.01, 2)), (0.0, 0.0)]
        rtol = SINGLE if self.is_single() else 1e-8
        for point in points:
            try:
                plain = self.plain(*point)
                slopes = cadiff.grad(total, (0, 1))(*point)
            except Exception:
                continue
            if list(plain.numbers) != list(self.base.numbers):
                continue
            out = self.attempt("compiled", program, *point)
            wanted, got = flat(plain.numbers), flat(out)
            if got.shape != wanted.shape:
                self.note("compiled = plain", False, f"{got.shape} for {wanted.shape}")
                return
            scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
            self.near("compiled = plain", got, wanted, rtol, 0.01 * scale)
            if not self.split(plain):
                kinds = {p: np.dtype(getattr(x, "dtype", type(x))) for p, x in out.items()}
                self.note(
                    "compiled dtypes are the original's",
                    kinds == plain.dtypes,
                    f"{kinds} for {plain.dtypes}",
                )
            found = self.attempt("compiled", summed.grad, *point, argnums=(0, 1))
            scale = np.sum(np.abs(np.asarray(slopes)[np.isfinite(slopes)])) + np.sum(
                np.abs(np.nan_to_num(wanted, posinf=0, neginf=0))
            )
            self.slopes_near("compiled gradients = eager", found, slopes, rtol, scale)
        self.batches(total, rtol)

    def split(self, plain: Results) -> bool:
        return any(kind.kind == "c" for kind in plain.dtypes.values())

    def batches(self, total: Callable[[Any, Any], Any], rtol: float) -> None:
        def f(x: Any) -> Any:
            return total(x[0], x[1])

        X = np.concatenate([np.zeros((1, 2)), self.rng.uniform(-0.01, 0.01, (2, 2))])
        try:
            each = [cadiff.value_and_grad(f)(x) for x in X]
        except Exception:
            return
        scale = 1e-3 + np.sum(np.abs([g for _, g in each])) + abs(each[0][0])
        scale = scale if np.isfinite(scale) else 1.0
        values, gradients = np.array([v for v, _ in each]), np.array([g for _, g in each])
        got = self.attempt("batch", cadiff.compile(f).batch, X, what="value_and_grad")
        self.near("batches = eager", got[0], values, rtol, scale)
        self.slopes_near("batches = eager", got[1], gradients, rtol, scale)
        if self.native:
            machine = cadiff.compile(f, native=True)
            both = [self.attempt("native", machine.value_and_grad, x) for x in X]
            self.near("native = eager", [v for v, _ in both], values, rtol, scale)
            self.slopes_near("native = eager", [g for _, g in both], gradients, rtol, scale)


def short(x: Array) -> str:
    return np.array2string(np.ravel(np.asarray(x, dtype=float))[:4], precision=8)


def dtypes(found: Results) -> str:
    return ", ".join(str(kind) for kind in found.dtypes.values())


def examine(probe: Probe, rng: np.random.Generator, native: bool = False) -> Outcome:
    """All invariants of a probe."""
    return Examination(probe, rng, native).run()
