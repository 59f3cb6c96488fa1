"""Functions with the derivatives that optimisers ask for, from compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binding import NonFiniteError, carries, foreign_names, readable_values
from ..binding.callers import warn_caller
from ..inspection.texts import counted
from ..programs.fallbacks import EagerDerivatives
from ..programs.program import Program, program_of
from ._differences import Differences
from ._progress import Progress
from ._vectors import ArgumentError, FloatArray, Parameters, check_plain

FEW_VARIABLES = 50  # matrices by so few are dense
SPARSE = 0.25  # of the entries of a matrix, at most
LARGE_HESSIAN = 2_000  # variables; larger ones that are not sparse are multiplied by vectors only
SOME_RECORDINGS = 4  # which a function may need, one for each of its branches
EAGER_GRADIENTS = 8  # beyond which it is worth recording; many runs take no more
# Seconds of a processor in derivatives, beyond which it is worth asking what differences would
# cost. What else the machine does says nothing of either.
LONG = 0.5


class Derivatives:
    """A function of a vector with its derivatives; args are those that f takes behind it."""

    def __init__(
        self, f: Callable[..., Any], parameters: Parameters, args: tuple[Any, ...], name: str
    ) -> None:
        if not callable(f):
            raise TypeError(f"{name} takes a function, not {type(f).__name__}")
        self.name = name
        self.args = args
        self.parameters = parameters
        self.n = len(parameters.vector)
        self.seconds = 0.0  # in derivatives, ...
        self.calls = 0  # ... so many of them, but for ...
        self._begun: set[str] = set()  # ... the first of each kind, which records and compiles
        self._function = parameters.of_vectors(f)
        self._runs = 0
        self._is_recorded = False  # and so computes values faster than f itself
        self.differences = Differences(name, self.plain_value, self._may_keep)
        self._is_sparse: dict[str, bool] = {}
        self.eager = 0  # so many first derivatives are still by f itself, which is not recorded

    @cached_property
    def program(self) -> Program[..., Any]:
        return program_of(self._function)

    @cached_property
    def eager_derivatives(self) -> EagerDerivatives:
        return EagerDerivatives(self._function, self.args)

    @property
    def has_program(self) -> bool:
        return "program" in vars(self) or isinstance(self._function, Program)

    def _may_keep(self) -> bool:
        return not self.eager_derivatives.keeps_nothing

    @property
    def runs(self) -> int:
        """How often f has run for first derivatives alone: what counts its runs counts these."""
        return self.differences.runs + self._runs

    def value(self, x: FloatArray) -> Any:
        """The value: by the program once derivatives have made one, else by f itself."""
        if not self._is_recorded or self.differences.cause is not None:
            return self.plain_value(x)
        result = self.program(x, *self.args)
        check_plain(result, self.name)
        return result

    def take_first(self) -> None:
        """Differentiate what f returns first, where it returns a value and its gradient."""
        both = self._function
        self._function = lambda *args: both(*args)[0]

    def plain_value(self, x: FloatArray) -> Any:
        """The value by f itself; or by the program, where `cadiff.array` in f makes Vars."""
        result = self.eager_value(np.array(x))  # which f may write into
        if carries(result):
            kept = readable_values(result)  # of a former call
            result = self.program(x, *self.args) if kept is None else kept
        check_plain(result, self.name)
        if result is None:
            raise TypeError(
                f"{self.name} got None from the function{foreign_names.of_result(None)}"
            )
        return result

    def eager_value(self, x: Any) -> Any:
        """The value by f itself, of plain numbers or others."""
        return self._function(x, *self.args)

    def is_eager(self) -> bool:
        """Whether the next first derivative is by f itself."""
        self.eager -= 1
        return self.eager >= 0

    def first(self, derivative: Callable[[FloatArray], Any], x: FloatArray) -> Any:
        """A first derivative, or differences where there is none."""

        def counted(x: FloatArray) -> Any:
            self._runs += 1
            return derivative(x)

        return self.differences.unless(counted, x)

    def timed(self, name: str, *args: Any, eagerly: bool = False) -> Any:
        """What a method of the program answers, or f itself."""
        begun = thread_time()
        method = partial(self.eager_derivatives, name) if eagerly else getattr(self.program, name)
        result = method(*args, *self.args)
        kind = f"{name}, eagerly" if eagerly else name
        if kind in self._begun:
            self.seconds += thread_time() - begun
            self.calls += 1
        elif self.has_program:
            counts = self.program.stats()
            self._is_recorded = counts["recordings"] > 0 and counts["eager"] == 0
        self._begun.add(kind)
        return result

    def is_sparse(self, what: str, x: FloatArray) -> bool:
        """Whether the structure of a matrix is worth a sparse one, by what is found at x."""
        if self.n < FEW_VARIABLES:
            return False
        if what not in self._is_sparse:
            try:
                matrix = getattr(self.program, f"sparse_{what}")(x, *self.args)
            except Exception:  # as the derivative itself will tell
                return False
            m, n = matrix.shape
            self._is_sparse[what] = matrix.nnz <= SPARSE * m * n
        return self._is_sparse[what]

    def matrix(self, what: str, x: FloatArray, may_be_sparse: bool = True) -> Any:

        def exact(x: FloatArray) -> Any:
            if what == "jacobian" and self.is_eager():
                return self.timed(what, x, eagerly=True)
            sparse = may_be_sparse and self.is_sparse(what, x)
            return self.timed(f"sparse_{what}" if sparse else what, x)

        return exact(x) if what == "hessian" else self.first(exact, x)

    def has_second_derivatives(self, x: FloatArray) -> bool:
        """Whether there are any of a number: primitives may have rules for first ones alone.

        What f does with what it keeps shows the second time.
        """
        if self.differences.cause is not None:
            return False
        try:
            for _ in range(2 if self._may_keep() else 1):
                if self.n <= LARGE_HESSIAN or self.is_sparse("hessian", x):
                    known = self.matrix("hessian", x)
                else:
                    known = self.program.hvp(x, np.ones(self.n), *self.args)
        except Exception:  # which f, if it is its own, raises again where its value is asked for
            return False
        return bool(np.all(np.isfinite(known.data if hasattr(known, "nnz") else known)))

    def warn_if_slow(self, x: FloatArray, many: int) -> None:
        """Warn where so many values for each derivative would have taken half of the time."""
        if self.seconds < LONG:
            return
        begun = thread_time()
        self.value(x)
        by_differences = (thread_time() - begun) * many * self.calls
        if 2.0 * by_differences < self.seconds:
            warn_caller(
                f"{self.name} took {self.seconds:.2g} s of a processor for {self.calls} "
                f"derivatives, and finite differences would take {by_differences:.2g} s. "
                f"{self._cause(many)}; "
                'jac="2-point" takes finite differences, which give fewer digits'
            )

    def _cause(self, many: int) -> str:
        """Why derivatives take long, as far as the program knows, and what helps."""
        stats = self.program.stats()
        if 2 * stats["eager"] > self.calls:
            count = f"f was run eagerly {stats['eager']} times, instead of a compiled program"
            if stats["obstacles"]:
                return f"{count}: {stats['obstacles'][0]}"
            return f"{count}, as it takes other branches, or reads other data, at most points"
        if stats["recordings"] > SOME_RECORDINGS + self.calls // 4:
            return f"f was recorded {stats['recordings']} times, which takes long"
        return (
            f"By {counted(self.n, 'parameter')} these take only {counted(many, 'evaluation')} of "
            "f each, and rules of primitives and of linear algebra may take longer: "
            "cadiff.compile(f).profile(x) tells what takes the time"
        )


def _check_number(result: Any) -> None:
    if isinstance(result, tuple):
        kind, instead = f"a tuple of {len(result)}", "the value and the gradient go with jac=True"
    elif isinstance(result, (str, dict)):
        kind, instead = f"a {type(result).__name__}", "return a number"
    elif np.size(result) > 1:
        kind = f"an array of shape {np.shape(result)}"
        instead = "return a sum, or give residuals to least_squares"
    else:
        return
    raise ArgumentError(
        f"The user-provided objective function must return a scalar value, not {kind}: {instead}"
    )


def value_and_gradient(result: Any) -> tuple[Any, Any]:
    """What an objective returns that is said to return its gradient, too."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ArgumentError(
            "With jac=True the objective returns its value and its gradient, (value, gradient), "
            f"and it returned a {type(result).__name__}: return both, or leave jac out, and "
            "cadiff differentiates it"
        )
    value, gradient = result
    return value, gradient


class Objective(Derivatives):
    """A function of one number. The value and the gradient of a point are computed together."""

    def __init__(
        self,
        f: Callable[..., Any],
        parameters: Parameters,
        args: tuple[Any, ...],
        name: str,
        progress: Progress,
    ) -> None:
        super().__init__(f, parameters, args, name)
        self._progress = progress
        self._point = b""  # the numbers of the last one
        self._value = 0.0
        self._gradient: FloatArray = np.empty(0)
        self.eager = EAGER_GRADIENTS
        self._failed: tuple[bytes, Exception] = (b"", Exception())  # where there was no gradient
        self._alone: tuple[bytes, Any] = (b"", None)  # a point, and the value that f has there

    def gradient(self, x: FloatArray) -> FloatArray:
        point = np.asarray(x).tobytes()  # compared much faster than arrays are
        if self._point != point:
            self._point = b""
            value = self._alone[1] if self._alone[0] == point else None
            if self.differences.cause is not None:
                self._gradient = self.differences.of_value(x, value)
            elif self._failed[0] == point:
                self._gradient = self.differences.instead(self._failed[1], x, value)
            else:
                self._gradient = self.first(self._differentiated, x)
            self._point = point
        return np.array(self._gradient)

    def _differentiated(self, x: FloatArray) -> FloatArray:
        eagerly = not self.has_program and self.is_eager()
        self._value, gradient = self.timed("value_and_grad", x, eagerly=eagerly)
        check_plain(self._value, self.name)
        self._progress.show(self._value, gradient)
        return np.full(self.n, np.nan) if np.isnan(self._value) else gradient

    def value_at(self, x: FloatArray) -> Any:
        """The value; and the gradient, for when it is asked for."""
        if self.differences.cause is not None:
            return self.value_alone(x)
        point = np.asarray(x).tobytes()
        if self._point != point:
            self._point = b""
            try:
                gradient = self._differentiated(x)
            except NonFiniteError:
                raise
            except Exception as error:  # which is told of when the gradient is asked for
                self._runs += 1
                value = self.value_alone(x)
                self._failed = point, error
                return value
            self._gradient = self.differences.checked(gradient, x, self._value)
            if self.differences.cause is not None:
                self._value = self.value_alone(x)
            self._point = point
        return self._value

    def value_alone(self, x: FloatArray) -> Any:
        """The value; f need not be differentiable where nothing else is ever asked for."""
        result = self.shown_value(x)
        if not isinstance(result, float):
            _check_number(result)
        self._alone = np.asarray(x).tobytes(), result
        return result

    def shown_value(self, x: FloatArray) -> Any:
        """What f returns, noted in the bar."""
        result = self.plain_value(x)
        self._progress.show(result, None)
        return result

    def hessian(self, x: FloatArray) -> NDArray[Any]:
        return self._second("hessian", x)  # type: ignore[no-any-return]

    def product(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """The Hessian times a vector."""
        return self._second("hvp", x, p)  # type: ignore[no-any-return]

    def _second(self, name: str, x: FloatArray, *vectors: FloatArray) -> Any:
        """Second derivatives, which differences of differences would not be."""
        if self.differences.cause is not None:
            raise TypeError(
                f"{self.name} has no second derivatives for this method, of a function that works "
                "with plain numbers alone: choose BFGS, L-BFGS-B, SLSQP or trust-constr, or pass "
                "jac and hess"
            ) from self.differences.cause
        return self.timed(name, x, *vectors)
