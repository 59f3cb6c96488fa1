"""Automatic differentiation in plain Python: the opponents cadiff is measured against.

`PyDual` is a dual number (forward mode, one direction), `PyVar` a node of a graph (reverse mode),
each written as an experienced Python programmer would write it for speed without leaving the
language. The benchmarks time them and the tests trust them as oracles, so this module shares no
code with cadiff and must not import it. Outside their domains the functions raise, as `math`
does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

__all__ = [
    "PyDual",
    "PyVar",
    "cos",
    "derivative",
    "exp",
    "gradient",
    "log",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "value_and_grad",
]

_REAL = (float, int)


def _base_partial(x: float, y: float) -> float:
    """Partial of ``x ** y`` by x; a zero exponent is flat even at x = 0."""
    return y * math.pow(x, y - 1.0) if y else 0.0


def _exponent_partial(x: float, v: float) -> float:
    """Partial of ``v = x ** y`` by y: 0 at x = 0, undefined (nan) below it."""
    if x > 0.0:
        return v * math.log(x)
    return math.nan if x else 0.0


def _sign(x: float) -> float:
    """Slope of ``abs``, 0 at the kink."""
    return float((x > 0.0) - (x < 0.0))


class PyDual:
    """A dual number ``primal + tangent ε`` with ``ε² = 0``: forward mode in one direction.

    Parameters
    ----------
    primal : float
        The value.
    tangent : float, default 0.0
        The derivative of the value along the chosen direction.

    Examples
    --------
    >>> PyDual(4.0, 7.0) * PyDual(-1.0, 5.0)
    PyDual(-4.0, 13.0)
    """

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: float, tangent: float = 0.0) -> None:
        self.primal = primal
        self.tangent = tangent

    def __repr__(self) -> str:
        return f"PyDual({self.primal!r}, {self.tangent!r})"

    def __add__(self, other: PyDual | float) -> PyDual:
        if isinstance(other, PyDual):
            return PyDual(self.primal + other.primal, self.tangent + other.tangent)
        if isinstance(other, _REAL):
            return PyDual(self.primal + other, self.tangent)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: PyDual | float) -> PyDual:
        if isinstance(other, PyDual):
            return PyDual(self.primal - other.primal, self.tangent - other.tangent)
        if isinstance(other, _REAL):
            return PyDual(self.primal - other, self.tangent)
        return NotImplemented

    def __rsub__(self, other: float) -> PyDual:
        if isinstance(other, _REAL):
            return PyDual(other - self.primal, -self.tangent)
        return NotImplemented

    def __mul__(self, other: PyDual | float) -> PyDual:
        if isinstance(other, PyDual):
            x, y = self.primal, other.primal
            return PyDual(x * y, self.tangent * y + x * other.tangent)
        if isinstance(other, _REAL):
            return PyDual(self.primal * other, self.tangent * other)
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: PyDual | float) -> PyDual:
        if isinstance(other, PyDual):
            y = other.primal
            v = self.primal / y
            return PyDual(v, (self.tangent - v * other.tangent) / y)
        if isinstance(other, _REAL):
            return PyDual(self.primal / other, self.tangent / other)
        return NotImplemented

    def __rtruediv__(self, other: float) -> PyDual:
        if isinstance(other, _REAL):
            v = other / self.primal
            return PyDual(v, -v * self.tangent / self.primal)
        return NotImplemented

    def __pow__(self, other: PyDual | float) -> PyDual:
        # math.pow, not `**`: a negative base under a fraction raises instead of turning complex.
        x = self.primal
        if isinstance(other, PyDual):
            y = other.primal
            v = math.pow(x, y)
            tangent = 0.0
            # A partial that no tangent asks for may be undefined; it must not spoil the other.
            if self.tangent:
                tangent += _base_partial(x, y) * self.tangent
            if other.tangent:
                tangent += _exponent_partial(x, v) * other.tangent
            return PyDual(v, tangent)
        if isinstance(other, _REAL):
            return PyDual(math.pow(x, other), _base_partial(x, other) * self.tangent)
        return NotImplemented

    def __rpow__(self, other: float) -> PyDual:
        if isinstance(other, _REAL):
            v = math.pow(other, self.primal)
            return PyDual(v, _exponent_partial(other, v) * self.tangent)
        return NotImplemented

    def __neg__(self) -> PyDual:
        return PyDual(-self.primal, -self.tangent)

    def __abs__(self) -> PyDual:
        return PyDual(abs(self.primal), _sign(self.primal) * self.tangent)

    def __bool__(self) -> bool:
        return bool(self.primal)

    # Comparing the float with `other` is enough: another PyDual then answers by its own value.

    def __eq__(self, other: object) -> bool:
        return self.primal == other

    def __lt__(self, other: PyDual | float) -> bool:
        return self.primal < other

    def __le__(self, other: PyDual | float) -> bool:
        return self.primal <= other

    def __gt__(self, other: PyDual | float) -> bool:
        return self.primal > other

    def __ge__(self, other: PyDual | float) -> bool:
        return self.primal >= other


class PyVar:
    """A number that remembers what it was computed from: reverse mode on a graph of objects.

    Parameters
    ----------
    value : float
        The value.
    parents : tuple of PyVar, default ()
        The operands; none for a variable made by the user, a leaf.
    partials : tuple of float, default ()
        The derivative of the value by each parent.

    Attributes
    ----------
    grad : float
        On a leaf, the sum over all passes of the derivative of the outputs by this number. On any
        other node, the adjoint that the last pass left.

    Examples
    --------
    >>> x = PyVar(2.0)
    >>> y = 3.0 * (2.0 * x)
    >>> y.backward()
    >>> y.backward()
    >>> x.grad
    12.0
    """

    __slots__ = ("_pending", "grad", "parents", "partials", "value")

    def __init__(
        self,
        value: float,
        parents: tuple[PyVar, ...] = (),
        partials: tuple[float, ...] = (),
    ) -> None:
        self.value = value
        self.grad = 0.0
        self.parents = parents
        self.partials = partials
        self._pending = 0

    def __repr__(self) -> str:
        return f"PyVar({self.value!r})"

    def backward(self, seed: float = 1.0) -> None:
        """Add ``seed`` times the derivative of this number by each leaf to the leaf's ``grad``.

        A node is swept once all its consumers have been: each node and edge is visited once, in
        topological order, without recursion.

        Parameters
        ----------
        seed : float, default 1.0
            The adjoint of this number.
        """
        # First count, for every node below, the consumers whose share it must wait for. Leaves
        # pass nothing on, so they need not wait, and their shares go straight into `grad`.
        stack = [self]
        while stack:
            for parent in stack.pop().parents:
                if parent.parents:
                    if not parent._pending:
                        parent.grad = 0.0
                        stack.append(parent)
                    parent._pending += 1

        self.grad = seed if self.parents else self.grad + seed
        ready = [self]
        while ready:
            node = ready.pop()
            adjoint = node.grad
            for parent, partial in zip(node.parents, node.partials):
                parent.grad += partial * adjoint
                if parent.parents:
                    parent._pending -= 1
                    if not parent._pending:
                        ready.append(parent)

    def __add__(self, other: PyVar | float) -> PyVar:
        if isinstance(other, PyVar):
            return PyVar(self.value + other.value, (self, other), (1.0, 1.0))
        if isinstance(other, _REAL):
            return PyVar(self.value + other, (self,), (1.0,))
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: PyVar | float) -> PyVar:
        if isinstance(other, PyVar):
            return PyVar(self.value - other.value, (self, other), (1.0, -1.0))
        if isinstance(other, _REAL):
            return PyVar(self.value - other, (self,), (1.0,))
        return NotImplemented

    def __rsub__(self, other: float) -> PyVar:
        if isinstance(other, _REAL):
            return PyVar(other - self.value, (self,), (-1.0,))
        return NotImplemented

    def __mul__(self, other: PyVar | float) -> PyVar:
        if isinstance(other, PyVar):
            x, y = self.value, other.value
            return PyVar(x * y, (self, other), (y, x))
        if isinstance(other, _REAL):
            return PyVar(self.value * other, (self,), (other,))
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: PyVar | float) -> PyVar:
        if isinstance(other, PyVar):
            y = other.value
            v = self.value / y
            return PyVar(v, (self, other), (1.0 / y, -v / y))
        if isinstance(other, _REAL):
            return PyVar(self.value / other, (self,), (1.0 / other,))
        return NotImplemented

    def __rtruediv__(self, other: float) -> PyVar:
        if isinstance(other, _REAL):
            x = self.value
            v = other / x
            return PyVar(v, (self,), (-v / x,))
        return NotImplemented

    def __pow__(self, other: PyVar | float) -> PyVar:
        x = self.value
        if isinstance(other, PyVar):
            y = other.value
            v = math.pow(x, y)
            return PyVar(v, (self, other), (_base_partial(x, y), _exponent_partial(x, v)))
        if isinstance(other, _REAL):
            return PyVar(math.pow(x, other), (self,), (_base_partial(x, other),))
        return NotImplemented

    def __rpow__(self, other: float) -> PyVar:
        if isinstance(other, _REAL):
            v = math.pow(other, self.value)
            return PyVar(v, (self,), (_exponent_partial(other, v),))
        return NotImplemented

    def __neg__(self) -> PyVar:
        return PyVar(-self.value, (self,), (-1.0,))

    def __abs__(self) -> PyVar:
        return PyVar(abs(self.value), (self,), (_sign(self.value),))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == other

    def __lt__(self, other: PyVar | float) -> bool:
        return self.value < other

    def __le__(self, other: PyVar | float) -> bool:
        return self.value <= other

    def __gt__(self, other: PyVar | float) -> bool:
        return self.value > other

    def __ge__(self, other: PyVar | float) -> bool:
        return self.value >= other


_Number = TypeVar("_Number", float, PyDual, PyVar)


class _Elementary(Protocol):
    """A function of one number that returns the kind it was given."""

    def __call__(self, x: _Number, /) -> _Number: ...


def _elementary(
    value: Callable[[float], float], slope: Callable[[float, float], float]
) -> _Elementary:
    """Extend a function of floats to both kinds of number; ``slope`` takes x and ``value(x)``."""

    def function(x: _Number, /) -> _Number:
        if isinstance(x, PyVar):
            v = value(x.value)
            return PyVar(v, (x,), (slope(x.value, v),))
        if isinstance(x, PyDual):
            v = value(x.primal)
            return PyDual(v, slope(x.primal, v) * x.tangent)
        return value(x)

    function.__name__ = function.__qualname__ = value.__name__
    function.__doc__ = f"`math.{value.__name__}` of a float, `PyDual` or `PyVar`."
    return function


sin = _elementary(math.sin, lambda x, v: math.cos(x))
cos = _elementary(math.cos, lambda x, v: -math.sin(x))
tan = _elementary(math.tan, lambda x, v: 1.0 + v * v)
exp = _elementary(math.exp, lambda x, v: v)
log = _elementary(math.log, lambda x, v: 1.0 / x)
sqrt = _elementary(math.sqrt, lambda x, v: 0.5 / v)
tanh = _elementary(math.tanh, lambda x, v: 1.0 - v * v)


def derivative(f: Callable[[Any], Any], x: float) -> float:
    """Derivative of a function of one number, by one pass of `PyDual`.

    Parameters
    ----------
    f : callable
        Takes one number and returns one.
    x : float
        Where.

    Returns
    -------
    float

    Examples
    --------
    >>> derivative(lambda x: x**3, 2.0)
    12.0
    """
    y = f(PyDual(x, 1.0))
    return y.tangent if isinstance(y, PyDual) else 0.0


def gradient(f: Callable[[list[Any]], Any], x: Sequence[float]) -> list[float]:
    """Gradient of a function of a list of numbers, by one pass of `PyDual` for each of them.

    Parameters
    ----------
    f : callable
        Takes a list of n numbers and returns one.
    x : sequence of n floats
        Where.

    Returns
    -------
    list of n floats

    Examples
    --------
    >>> gradient(lambda x: x[0] * x[1], [2.0, 5.0])
    [5.0, 2.0]
    """

    def partial(i: int) -> float:
        # Only the direction of this pass is dual: whatever it does not reach stays plain floats.
        point: list[Any] = list(x)
        point[i] = PyDual(x[i], 1.0)
        y = f(point)
        return y.tangent if isinstance(y, PyDual) else 0.0

    return [partial(i) for i in range(len(x))]


def value_and_grad(
    f: Callable[[list[Any]], Any],
) -> Callable[[Sequence[float]], tuple[float, list[float]]]:
    """Turn f into a function that returns its value and its gradient, by one pass of `PyVar`.

    Parameters
    ----------
    f : callable
        Takes a list of n numbers and returns one.

    Returns
    -------
    callable
        Takes a sequence of n floats; returns the value and the list of its n partial derivatives.

    Examples
    --------
    >>> value_and_grad(lambda x: x[0] * x[1])([2.0, 5.0])
    (10.0, [5.0, 2.0])
    """

    def evaluate(x: Sequence[float]) -> tuple[float, list[float]]:
        leaves = [PyVar(number) for number in x]
        y = f(leaves)
        if not isinstance(y, PyVar):
            return y, [0.0] * len(leaves)
        y.backward()
        return y.value, [leaf.grad for leaf in leaves]

    return evaluate
