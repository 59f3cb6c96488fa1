"""Ints and floats of Python's that a replay computes anew.

An int among the arguments that changes from call to call is one, and so is what Python's operators
make of it, as long as nothing asks for its value. A comparison of single numbers is a guard.
Whatever does not ask by an operator gets the value by `__index__`, `__float__`, `__hash__` or a
text, all of which read it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import binding
from ..binding import carries
from .exactness import EXACT
from .guards import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL, held
from .making import chooses_anew, innermost, joined, keep_in_mind, note_made, of_integers
from .protocols import Operand
from .replayed import Replayed

MOST_INT = 2**31  # see binding.may_be_input


def stand_in(plain: Any, number: Any) -> Any:
    """What f gets in the place of an int, whose values in replays are those of a Var."""
    if isinstance(plain, (np.ndarray, np.generic)):
        mask = of_integers(plain, number)
        mask.memory.has_views = True  # the caller has the array, and finds what f writes there
        return mask
    scalar = Scalar(plain, number, binding.guards_serial(), False)
    scalar.bound = float(MOST_INT)
    scalar.memory.is_wide = True
    keep_in_mind(scalar, [scalar])
    note_made()
    binding.index_plain_arrays()
    return scalar


def anew(plain: Any, number: Any) -> Any:
    """An int or a bool, or an array of them, that is a number of a recording: as it finds it."""
    number = innermost(number)
    if not binding.depends(number):
        return plain
    if type(plain) is bool or not chooses_anew():
        binding.note_outcomes(number, binding.guards_serial(), False)
        return plain
    return stand_in(plain, held(number))


Operation = Callable[[Any, Any], Any]


def _operator(op: Operation) -> tuple[Any, Any]:
    """An operator, and the one for when a Scalar is its right operand."""

    def forward(self: Scalar, other: Any) -> Any:
        return _operated(op, self, other)

    def reflected(self: Scalar, other: Any) -> Any:
        return _operated(op, other, self)

    return forward, reflected


def _comparison(op: Operation) -> Any:
    return lambda self, other: _compared(op, self, other)


class Scalar(Operand):
    """An int or float of Python's; `bound`: no replay finds an int of this size or beyond."""

    bound = float(EXACT)

    # --- reading

    def __getattr__(self, name: str) -> Any:
        """What an int or a float has besides."""
        if name.startswith("_") or not hasattr(type(self._plain), name):
            raise AttributeError(f"{type(self._plain).__name__!r} has no attribute {name!r}")
        return getattr(self.read_values, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.read_values)  # NumPy converts it, where it may

    def __bool__(self) -> bool:
        return bool(_compared(operator.ne, self, 0))

    def __int__(self) -> int:
        return int(self.read_values)

    def __complex__(self) -> complex:
        return complex(self.read_values)

    def __hash__(self) -> int:
        return hash(self.read_values)

    def __reduce__(self) -> Any:
        return type(self._plain), (self.read_values,)

    def __copy__(self) -> Scalar:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Scalar:
        return self

    # --- operators

    __add__, __radd__ = _operator(operator.add)
    __sub__, __rsub__ = _operator(operator.sub)
    __mul__, __rmul__ = _operator(operator.mul)
    __truediv__, __rtruediv__ = _operator(operator.truediv)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv)
    __mod__, __rmod__ = _operator(operator.mod)
    __lshift__, __rlshift__ = _operator(operator.lshift)
    __rshift__, __rrshift__ = _operator(operator.rshift)
    __and__, __rand__ = _operator(operator.and_)
    __or__, __ror__ = _operator(operator.or_)
    __xor__, __rxor__ = _operator(operator.xor)
    __matmul__, __rmatmul__ = _operator(operator.matmul)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(self.read_values, _read(other), _read(modulus))
        return _operated(operator.pow, self, other)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(_read(other), self.read_values, _read(modulus))
        return _operated(operator.pow, other, self)

    def __neg__(self) -> Any:
        return _operated(operator.sub, 0, self) if _is_int(self) else -1.0 * self

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        made = None
        if not self.is_plain:
            made = _made([self], abs(self._plain), abs(self._outcomes), self.bound)
        return abs(self.read_values) if made is None else made

    def __invert__(self) -> Any:
        if not _is_int(self):
            return ~self.read_values
        return _operated(operator.sub, -1, self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return self._whole(lambda x: round(x, ndigits), ndigits)

    def __trunc__(self) -> Any:
        return self._whole(int)

    def __floor__(self) -> Any:
        return self._whole(lambda x: x.__floor__())

    def __ceil__(self) -> Any:
        return self._whole(lambda x: x.__ceil__())

    def _whole(self, convert: Callable[[Any], Any], ndigits: int | None = None) -> Any:
        """An int made of it: an int itself, for what concerns an int."""
        if _is_int(self) and (ndigits is None or ndigits >= 0):
            return self
        return convert(self.read_values)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    __eq__ = _comparison(operator.eq)
    __ne__ = _comparison(operator.ne)
    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)


def _is_int(x: Any) -> bool:
    """Whether it is an int, or stands for one."""
    return type(x._plain) is int if isinstance(x, Scalar) else type(x) in (int, bool)


def _plain(x: Any) -> Any:
    return x._plain if isinstance(x, Replayed) else x


def _read(x: Any) -> Any:
    return x.read_values if isinstance(x, Scalar) else x


def _is_single(x: Any) -> bool:
    """Whether it is a number of Python's that floats can stand for."""
    if isinstance(x, Replayed):
        return isinstance(x, Scalar)
    return type(x) in (float, bool) or (type(x) is int and abs(x) < EXACT)


def _number(x: Any) -> Any:
    return x._outcomes if isinstance(x, Scalar) else float(x)


def _bound(x: Any) -> float:
    """No replay finds an int of this size or beyond in its place."""
    return x.bound if isinstance(x, Scalar) else abs(float(x)) + 1.0


def _made(scalars: list[Any], plain: Any, outcomes: Any, bound: float = EXACT) -> Any:
    """What stands for a result; None if floats cannot stand for it.

    Ints that may be of any size have a guard that they are not.
    """
    if type(plain) is int:
        if bound > EXACT:
            if abs(plain) >= EXACT:
                return None
            binding.compare(abs(outcomes), float(EXACT), LESS, False)
        bound = min(bound, float(EXACT))
    scalar = Scalar(plain, outcomes, scalars[0]._serial, any(x._equality for x in scalars))
    scalar.bound = bound
    joined(scalar, scalars, is_float=type(plain) is float)
    return scalar


def _finite(scalars: list[Any], plain: Any, outcomes: Any) -> Any:
    """A float, if it is finite in replays, too: else Python raises, or has a complex number."""
    if type(plain) is not float or not abs(plain) < np.inf:
        return None
    binding.compare(abs(outcomes), np.inf, LESS, False)
    return _made(scalars, plain, outcomes)


# --- what operators make of numbers of Python's --------------------------------------------------


def _sum(op: Operation, x: Any, y: Any, plain: Any, scalars: list[Any]) -> Any:
    return _made(scalars, plain, op(_number(x), _number(y)), _bound(x) + _bound(y))


def _product(op: Operation, x: Any, y: Any, plain: Any, scalars: list[Any]) -> Any:
    outcomes = _number(x) * _number(y)
    if type(plain) is int:
        outcomes = outcomes + 0.0  # of an int there is no -0.0
    return _made(scalars, plain, outcomes, _bound(x) * _bound(y))


def _quotient(op: Operation, x: Any, y: Any, plain: Any, scalars: list[Any]) -> Any:
    """Where a divisor is 0, Python raises."""
    if isinstance(y, Scalar):
        binding.compare(y._outcomes, 0.0, EQUAL, False)
    outcomes = op(_number(x), _number(y))
    if type(plain) is int:
        outcomes = outcomes + 0.0
    return _made(scalars, plain, outcomes, max(_bound(x), _bound(y)))


def _power(op: Operation, x: Any, y: Any, plain: Any, scalars: list[Any]) -> Any:
    if type(plain) is float:
        return _finite(scalars, plain, np.power(_number(x), _number(y)))
    if isinstance(y, Scalar) and type(x) is int and x > 0:
        binding.compare(y._outcomes, 0.0, LESS, False)  # else there are floats
        return _made(scalars, plain, np.rint(np.power(float(x), y._outcomes)), np.inf)
    if isinstance(y, Scalar) or not 0 < y <= 8:
        return None
    power = x
    for _ in range(y - 1):
        power = power * x
    return power


_MAKE: dict[Operation, Callable[[Operation, Any, Any, Any, list[Any]], Any]] = {
    operator.add: _sum,
    operator.sub: _sum,
    operator.mul: _product,
    operator.truediv: _quotient,
    operator.floordiv: _quotient,
    operator.mod: _quotient,
    operator.pow: _power,
}


def _operated(op: Operation, x: Any, y: Any) -> Any:
    """op(x, y), of which at least one is a Scalar."""
    if not (_is_single(x) and _is_single(y)):
        return _beside(op, x, y)
    scalars = [z for z in (x, y) if isinstance(z, Scalar)]
    result = None
    if op in _MAKE and not any(z.is_plain for z in scalars):
        plain = op(_plain(x), _plain(y))  # raises what Python raises
        result = _MAKE[op](op, x, y, plain, scalars)
    return op(_read(x), _read(y)) if result is None else result


def _beside(op: Callable[..., Any], *operands: Any) -> Any:
    """An operator of a Scalar and something else: numbers with derivatives, arrays, lists."""
    if carries(operands):
        return op(*[x.number if isinstance(x, Scalar) else x for x in operands])
    ufunc = _UFUNCS.get(op)
    others = [x for x in operands if not isinstance(x, Scalar)]
    if ufunc is None or not all(isinstance(x, (np.ndarray, np.generic)) for x in others):
        return op(*map(_read, operands))
    return ufunc(*operands)


_UFUNCS: dict[Callable[..., Any], Any] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.neg: np.negative,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
}

_HOW = {
    operator.lt: LESS,
    operator.le: LESS_EQUAL,
    operator.eq: EQUAL,
    operator.ne: NOT_EQUAL,
    operator.gt: GREATER,
    operator.ge: GREATER_EQUAL,
}
_NO_NUMBERS = (str, bytes, list, tuple, dict, set, frozenset, type(None))


def _compared(op: Operation, x: Scalar, y: Any) -> Any:
    """Of numbers of Python's a guard: whatever the operator, how they come out is a branch."""
    if isinstance(y, _NO_NUMBERS) and op in (operator.eq, operator.ne):
        return NotImplemented
    if not _is_single(y):
        return _beside(op, x, y)
    scalars = [z for z in (x, y) if isinstance(z, Scalar)]
    if any(z.is_plain for z in scalars):
        return op(_read(x), _read(y))
    if binding.answers_as_numpy():
        return binding.compare_as_operators(_number(x), _number(y), _HOW[op], False)
    return bool(binding.compare(_number(x), _number(y), _HOW[op], False))


def int_of_value(value: Replayed, plain: int, outcomes: Any) -> Any:
    """An int that a value is rounded to; None if it is too large."""
    return _made([value], plain, outcomes, np.inf)


binding.register_scalars(Scalar)
