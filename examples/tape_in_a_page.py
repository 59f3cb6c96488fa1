"""The idea of cadiff on one page: a flat tape, its sweep, dual numbers, guarded replay.

The tape of x * sin(y) at (2, 0.5) has an entry for each operation. After the reverse sweep:

    entry  op        operands   value  adjoint
        0  input     ()        2.0000   0.4794
        1  input     ()        0.5000   1.7552
        2  sin       (1,)      0.4794   2.0000
        3  multiply  (0, 2)    0.9589   1.0000
        4  output    (3,)      0.9589   1.0000

Entries are appended as the function runs, so each stands below its operands: values follow in one
loop down the tape, derivatives in one loop up. The adjoint of an entry is the derivative of the
output by its value; the output's own, the seed, is 1. Every entry hands adjoint times partial to
each operand, and is reached when all that used it have done so. One sweep is the whole gradient.

Dual numbers apply the chain rule on the way down: a value, the primal, travels with its derivative
along one direction, the tangent. They need no tape, but one run of the function per direction.

A comparison is an entry, too: a guard, whose value is the outcome. While all guards come to the
same outcomes, the tape can be replayed at other inputs, and the function need not be run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

# --- the table: operation | operands | value | partials, one for each operand --------------------
# Each formula is written once, as in ops.def. Values are those of math, but infinite at poles.
# Partials may use the value v and the whole table, so they serve dual numbers as well; comparisons
# have none. `times` is the product of the chain rule, in which an exact zero absorbs even inf.
TABLE = """
add      | x, y | x + y                             | 1.0; 1.0
subtract | x, y | x - y                             | 1.0; -1.0
multiply | x, y | x * y                             | y; x
divide   | x, y | x / y if y else x * inf           | divide(1.0, y); -divide(v, y)
power    | x, y | pow(x, y) if x or y >= 0 else inf | v * divide(y, x) if y < 0 else times(y, power(x, y - 1)); times(v, log(x))
times    | x, y | x * y if x and y else 0.0         | y; x
negative | x    | -x                                | -1.0
absolute | x    | abs(x)                            | (x > 0) - (x < 0)
sqrt     | x    | sqrt(x)                           | divide(0.5, v)
exp      | x    | exp(x)                            | v
log      | x    | log(x) if x else -inf             | divide(1.0, x)
sin      | x    | sin(x)                            | cos(x)
cos      | x    | cos(x)                            | -sin(x)
output   | x    | x                                 | 1.0
less     | x, y | x < y                             |
at_most  | x, y | x <= y                            |
equal    | x, y | x == y                            |
nonzero  | x    | x != 0                            |
"""  # noqa: E501
VALUES: dict[str, Callable[..., Any]] = {}
PARTIALS: dict[str, list[Callable[..., Any]]] = {}
for row in TABLE.strip().splitlines():
    name, operands, value, partials = (cell.strip() for cell in row.split("|"))
    VALUES[name] = eval(f"lambda {operands}: {value}", vars(math).copy())
    PARTIALS[name] = [eval(f"lambda {operands}, v: {p}") for p in partials.split(";") if p]


def apply(op: str, *operands: Any) -> Any:
    for number in operands:
        if isinstance(number, Var):
            return number.tape.record(op, operands)
    if any(isinstance(number, Dual) for number in operands):
        return push(op, operands)
    return VALUES[op](*operands)


def operation(op: str, order: int = 1) -> Callable[..., Any]:
    return lambda *operands: apply(op, *operands[::order])


divide, power, times = map(operation, ["divide", "power", "times"])
sqrt, exp, log, sin, cos = map(operation, ["sqrt", "exp", "log", "sin", "cos"])


# --- numbers: Python's operators are operations of the table, reflected ones in order -1 ---------
class Number:
    __add__, __radd__ = operation("add"), operation("add", -1)
    __sub__, __rsub__ = operation("subtract"), operation("subtract", -1)
    __mul__, __rmul__ = operation("multiply"), operation("multiply", -1)
    __truediv__, __rtruediv__ = operation("divide"), operation("divide", -1)
    __pow__, __rpow__ = operation("power"), operation("power", -1)
    __lt__, __gt__ = operation("less"), operation("less", -1)
    __le__, __ge__ = operation("at_most"), operation("at_most", -1)
    __eq__, __bool__ = operation("equal"), operation("nonzero")
    __neg__, __abs__ = operation("negative"), operation("absolute")


class Dual(Number):  # the tangent is the derivative of the primal along one direction
    def __init__(self, primal: Any, tangent: Any) -> None:
        self.primal, self.tangent = primal, tangent


class Var(Number):  # its value is tape.values[index]
    def __init__(self, tape: Tape, index: int) -> None:
        self.tape, self.index = tape, index


# --- forward mode: the tangent of a result, from those of the operands ---------------------------
def push(op: str, operands: Sequence[Any]) -> Any:
    primals = [x.primal if isinstance(x, Dual) else x for x in operands]
    value, tangent = apply(op, *primals), 0.0
    for x, partial in zip(operands, PARTIALS[op], strict=False):
        if isinstance(x, Dual):
            tangent += times(partial(*primals, value), x.tangent)
    return Dual(value, tangent) if PARTIALS[op] else value


# --- the tape: arrays side by side; an entry is an index into all of them ------------------------
class Tape:
    def __init__(self) -> None:
        self.ops: list[str] = []
        self.operands: list[tuple[int, ...]] = []
        self.values: list[Any] = []
        self.adjoints: list[Any] = []

    def append(self, op: str, operands: Sequence[Var], value: Any) -> Var:
        self.ops.append(op)
        self.operands.append(tuple(x.index for x in operands))
        self.values.append(value)
        return Var(self, len(self.ops) - 1)

    def record(self, op: str, numbers: Sequence[Any]) -> Any:
        operands = [x if isinstance(x, Var) else self.append("constant", (), x) for x in numbers]
        value = apply(op, *(self.values[x.index] for x in operands))
        result = self.append(op, operands, value)
        return result if PARTIALS[op] else value  # guards answer True or False

    def sweep(self) -> None:
        """Reverse mode: all adjoints, in one loop up the tape; constants receive none."""
        self.adjoints = [0.0] * (len(self.ops) - 1) + [1.0]  # the seed
        for i in reversed(range(len(self.ops))):
            values = [self.values[k] for k in self.operands[i]]
            for k, partial in zip(self.operands[i], PARTIALS.get(self.ops[i], ()), strict=False):
                if self.ops[k] != "constant":
                    self.adjoints[k] += times(partial(*values, self.values[i]), self.adjoints[i])

    def replay(self, inputs: Sequence[Any]) -> bool:
        """Values at other inputs, in one loop down; False where a guard has another outcome."""
        self.values[: len(inputs)] = inputs  # the first entries
        for i, op in enumerate(self.ops):
            if self.operands[i]:  # neither input nor constant
                value = apply(op, *(self.values[k] for k in self.operands[i]))
                if not PARTIALS[op] and value != self.values[i]:
                    return False
                self.values[i] = value
        return True


def value_and_grad(f: Any, x: Sequence[Any], recordings: list[Tape]) -> tuple[Any, list[Any]]:
    """Replay a recording of f that holds at x, or else run f and record it. Calls do not nest."""
    tape = next((tape for tape in recordings if tape.replay(x)), None)
    if tape is None:
        tape = Tape()
        inputs = [tape.append("input", (), value) for value in x]
        tape.record("output", [f(inputs)])
        recordings.append(tape)
    tape.sweep()
    return tape.values[-1], tape.adjoints[: len(x)]


# --- a demonstration, checked against the package ------------------------------------------------
def rosenbrock(x: Any) -> Any:
    return sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1))


def misfit(line: Any) -> Any:
    total = 0.0
    for t, y in [(0.0, 1.1), (1.0, 7.0), (2.0, 4.9), (3.0, 7.2)]:  # one far off the others
        error = abs(line[0] + line[1] * t - y)
        total = total + (error * error if error < 1.0 else 2.0 * error - 1.0)
    return total


def main() -> None:
    import cadiff

    x, direction = [0.5, 2.0], [1.0, 2.0]
    value, gradient = value_and_grad(rosenbrock, x, [])
    assert (value, gradient) == cadiff.value_and_grad(rosenbrock)(x)
    duals = list(map(Dual, x, direction))
    assert rosenbrock(duals).tangent == cadiff.jvp(rosenbrock, (x,), (direction,))[1]
    # On a tape of dual numbers, adjoints are dual, and their tangents are second derivatives.
    product = [adjoint.tangent for adjoint in value_and_grad(rosenbrock, duals, [])[1]]
    assert product == cadiff.hvp(rosenbrock)(x, direction)
    print(f"Rosenbrock at {x}: {value}, gradient {gradient}, Hessian times {direction}: {product}")

    line, recordings = [0.0, 0.0], list[Tape]()
    for _ in range(200):
        value, gradient = value_and_grad(misfit, line, recordings)
        assert (value, gradient) == cadiff.value_and_grad(misfit)(line)
        line = [a - 0.05 * slope for a, slope in zip(line, gradient, strict=True)]
    print(f"A fit by 200 gradients, {len(recordings)} recorded: {line[0]:.3f} + {line[1]:.3f} t")


if __name__ == "__main__":
    main()
