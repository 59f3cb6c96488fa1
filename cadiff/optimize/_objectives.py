"""Functions with the derivatives that optimisers ask for, from compiled programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inspection.texts import counted
from ..programs import Program
from ._progress import Progress
from ._vectors import FloatArray, Parameters

FEW_VARIABLES = 50  # matrices by so few are dense
SPARSE = 0.25  # of the entries of a matrix, at most
LARGE_HESSIAN = 2_000  # variables; larger ones that are not sparse are multiplied by vectors only
SOME_RECORDINGS = 4  # which a function may need, one for each of its branches
LONG = 0.5  # seconds in derivatives, beyond which it is worth asking what differences would cost


def program_of(f: Callable[..., Any]) -> Program:
    """F as a program; one that cannot be recorded is run as it is, and nobody is told."""
    if isinstance(f, Program):
        return f
    program = Program(f)
    program.be_quiet()
    return program


class Derivatives:
    """A function of a vector with its derivatives; args are those that f takes behind it."""

    def __init__(
        self, f: Callable[..., Any], parameters: Parameters, args: tuple[Any, ...], name: str
    ) -> None:
        if not callable(f):
            raise TypeError(f"{name} takes a function, not {type(f).__name__}")
        self.name = name
        self.args = args
        self.n = len(parameters.vector)
        self.seconds = 0.0  # in derivatives, ...
        self.calls = 0  # ... so many of them, but for ...
        self._begun: set[str] = set()  # ... the first of each kind, which records and compiles
        self._function = parameters.of_vectors(f)
        self._is_plain = False
        self.program = program_of(self._function)
        self._is_sparse: dict[str, bool] = {}

    def value(self, x: FloatArray) -> Any:
        return self.program(x, *self.args)

    def plain_value(self, x: FloatArray) -> Any:
        """The value of a function that may compute with nothing but plain numbers."""
        if not self._is_plain:
            try:
                return self.value(x)
            except (TypeError, NotImplementedError):
                self._is_plain = True
        return self._function(x, *self.args)

    def timed(self, method: Callable[..., Any], *args: Any) -> Any:
        begun = perf_counter()
        result = method(*args, *self.args)
        if method.__name__ in self._begun:
            self.seconds += perf_counter() - begun
            self.calls += 1
        self._begun.add(method.__name__)
        return result

    def is_sparse(self, what: str, x: FloatArray) -> bool:
        """Whether the structure of a matrix is worth a sparse one, by what is found at x."""
        if self.n < FEW_VARIABLES:
            return False
        if what not in self._is_sparse:
            matrix = getattr(self.program, f"sparse_{what}")(x, *self.args)
            m, n = matrix.shape
            self._is_sparse[what] = matrix.nnz <= SPARSE * m * n
        return self._is_sparse[what]

    def matrix(self, what: str, x: FloatArray, may_be_sparse: bool = True) -> Any:
        """The Jacobian or Hessian at x."""
        sparse = may_be_sparse and self.is_sparse(what, x)
        return self.timed(getattr(self.program, f"sparse_{what}" if sparse else what), x)

    def warn_if_slow(self, x: FloatArray, many: int) -> None:
        """Warn where so many values for each derivative would have taken half of the time."""
        if self.seconds < LONG:
            return
        begun = perf_counter()
        self.value(x)
        by_differences = (perf_counter() - begun) * many * self.calls
        if 2.0 * by_differences < self.seconds:
            warnings.warn(
                f"{self.name} took {self.seconds:.2g} s for {self.calls} derivatives, and finite "
                f"differences would take {by_differences:.2g} s. {self._cause(many)}; "
                'jac="2-point" takes finite differences, which give fewer digits',
                RuntimeWarning,
                stacklevel=4,
            )

    def _cause(self, many: int) -> str:
        """Why derivatives take long, as far as the program knows, and what helps."""
        stats = self.program.stats()
        if 2 * stats["eager"] > self.calls:
            count = f"f was run as it is {stats['eager']} times, instead of a compiled program"
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
        self._point: FloatArray | None = None
        self._value = 0.0
        self._gradient: FloatArray = np.empty(0)

    def _move(self, x: FloatArray) -> None:
        if self._point is None or not np.array_equal(self._point, x):
            self._point = None
            self._value, self._gradient = self.timed(self.program.value_and_grad, x)
            self._point = np.array(x)
            self._progress.show(self._value, self._gradient)

    def value_at(self, x: FloatArray) -> float:
        """The value, and the gradient for when it is asked for."""
        self._move(x)
        return self._value

    def value_alone(self, x: FloatArray) -> Any:
        """The value; f need not be differentiable where nothing else is ever asked for."""
        result = self.plain_value(x)
        self._progress.show(result, None)
        return result

    def gradient(self, x: FloatArray) -> FloatArray:
        self._move(x)
        return np.array(self._gradient)

    def hessian(self, x: FloatArray) -> NDArray[Any]:
        return self.timed(self.program.hessian, x)  # type: ignore[no-any-return]

    def product(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """The Hessian times a vector."""
        return self.timed(self.program.hvp, x, p)  # type: ignore[no-any-return]
