"""Derivatives by numbers, at a point: of any order, as a gradient, and checked by a difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Recording, Var
from ._base import Function, Mode, check_function, check_mode, is_int, own_derivatives, takes
from ._forward import parted, run_forward
from ._outputs import Output, Shape, as_result, is_scalar

MOST_ORDER = 1000  # beyond it the coefficients of a power series leave the range of a double


def derivative(
    f: Function, wrt: Any = ..., args: Sequence[Any] | None = None, *, order: int = 1
) -> Any:
    """Derivative at a point, of any order.

    `derivative(f, wrt, args)` is the partial derivative of `f(*args)` by `args[wrt]`;
    `derivative(f, x)` that of a function of one variable.

    The first derivative comes from forward mode. From the second one on f is recorded once and
    power series are swept through what it did (Griewank and Walther, Evaluating Derivatives, 2008,
    chapter 13): work and memory grow with the square of the order and with the order. Where f uses
    numbers that carry derivatives themselves, or primitives with rules of their own, forward mode
    is nested instead; that runs f again, and each order doubles the work.

    Parameters
    ----------
    f : callable
        Returns a number, or an array or container of numbers.
    wrt : int, or float
        The position in `args`; without `args`, the point itself.
    args : sequence, optional
        The point. Only `args[wrt]` has to be a number.
    order : int
        0 is the value; at most 1000.

    Returns
    -------
    float, ndarray or container
        What f returns, with derivatives for its numbers; inf where one is beyond the range of
        floats.

    Raises
    ------
    ValueError
        If the order is not a whole number from 0 to 1000.
    TypeError
        If `args[wrt]`, or what f returns, is something else than real numbers.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.derivative(lambda x, y: x * y**2, 1, (2.0, 3.0))
    12.0
    >>> cadiff.derivative(cadiff.exp, 0.0, order=5)
    1.0
    """
    is_alone = args is None
    if is_alone and type(order) is int and order == 1:
        answer = binding.push_plain(f, (wrt,), (1.0,), _filled)
        if answer is not NotImplemented:
            return answer[1]
        ask = own_derivatives(f) if type(wrt) is float else None
        answer = NotImplemented if ask is None else ask("jvp", ((wrt,), (1.0,)), {})
        if answer is not NotImplemented:
            output = Output(answer[1])
            return output.fill([*map(as_result, output.atoms)])
    check_function("derivative", f)
    if wrt is ...:
        raise TypeError(binding.foreign_names.of_point("derivative", 0))
    if args is None:
        args, wrt = (wrt,), 0
    if not is_int(order) or order < 0:
        raise ValueError(f"order is a whole number >= 0, not {order!r}")
    if order > MOST_ORDER:
        raise ValueError(f"order is at most {MOST_ORDER}, not {order}")
    point, wrt = _checked_point(args, wrt, is_alone)
    numbers, _ = binding.take_apart(tuple(point), (wrt,))

    def at(x: Any) -> Any:
        return f(*point[:wrt], x, *point[wrt:][1:])

    if order == 0:
        result = at(numbers[0])
        return binding.scalar_output(result) if is_scalar(result) else result
    if order > 1 and not isinstance(numbers[0], (Var, Dual)):
        output = _by_series(at, numbers[0], int(order))
        if output is not None:
            return output
    try:
        return _by_nesting(at, numbers[0], int(order))
    except Exception as error:
        raise binding.callers.shortened(error)  # noqa: B904


def _filled(out: Any, tag: int) -> tuple[None, Any]:
    """Of what f returned no value, and the derivatives in its containers."""
    output, _, tangents = parted(out, tag)
    return None, output.fill([*map(as_result, tangents)])


def _by_series(f: Function, x: float, order: int) -> Any:
    """A derivative of high order from one run and one sweep over power series.

    None where that cannot serve: f uses numbers that carry derivatives themselves, or primitives.
    """
    result = None
    with binding.WithoutPrograms(), Recording((x,), (0,)) as recording:
        output = Output(recording.run_function(f, {}))
        if recording.is_plain(output.atoms) and recording.passes_series:
            found = binding.high_derivatives(recording, output.atoms, order)
            result = output.fill(_in_precision(x, found))
        output.atoms.clear()
    return result


def _by_nesting(f: Function, x: Any, order: int) -> Any:
    """A derivative of high order by forward mode over itself: each order doubles the work."""
    if order == 0:
        return f(x)
    output, _, tangents, _, _ = run_forward(
        lambda x: _by_nesting(f, x, order - 1), (x,), {}, (0,), [1.0]
    )
    return output.fill(_in_precision(x, [*map(as_result, tangents)]))


def _in_precision(x: Any, found: Sequence[Any]) -> Sequence[Any]:
    """Derivatives by x, of float32 if x is."""
    return [*map(binding.narrowed, found)] if binding.is_single(x) else found


def gradient(f: Function, args: Sequence[Any], *, mode: Mode = "auto") -> NDArray[Any]:
    """Gradient of `f(*args)` at a point: an ndarray with one entry for each argument.

    Parameters
    ----------
    f : callable
        Takes numbers, returns one number.
    args : sequence of numbers
        The point, shape (n,).
    mode : {"auto", "fwd", "rev"}
        "fwd" runs f once on Duals of n lanes, "rev" once on Vars; "auto" is "rev".

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> import cadiff
    >>> cadiff.gradient(lambda x, y: x * y, (2.0, 3.0))
    array([3., 2.])
    """
    check_function("gradient", f)
    check_mode(mode)
    point = tuple(_checked_point(args, None)[0])
    argnums = tuple(range(len(point)))
    for k, shapes in enumerate(binding.structure_of(point, argnums).leaf_shapes()):
        _check_is_number(point, k, shapes)
    try:
        row = _row(f, point, argnums, mode)
    except TypeError:
        if len(point) > 1 and takes(f, (args,)) and not takes(f, point):
            raise TypeError(
                f"gradient calls f(*args), here with {len(point)} arguments, and f takes one: "
                "write cadiff.grad(f)(x)"
            ) from None
        raise
    result: NDArray[Any] = binding.numbers_array(list(row), (len(point),))
    return result


def _row(f: Function, point: tuple[Any, ...], argnums: tuple[int, ...], mode: Mode) -> Any:
    if mode == "fwd":

        def number(*args: Any) -> Any:
            return binding.scalar_output(f(*args), name="gradient")

        units = [tuple(row) for row in np.eye(len(point)).tolist()]
        _, _, tangents, _, _ = run_forward(number, point, {}, argnums, units, lanes=len(point))
        row = tangents[0] if isinstance(tangents[0], tuple) else (0.0,) * len(point)
        pairs = zip(row, point, strict=True)
        row = tuple(binding.narrowed(t) if binding.is_single(x) else t for t, x in pairs)
    else:
        _, row, _ = binding.value_and_grad(f, argnums, False, False, point, {}, "gradient")
    return row


def check_derivative(
    f: Function,
    wrt: int,
    args: Sequence[Any],
    suspect: float,
    *,
    h: float = 1e-7,
    rtol: float = 1e-5,
    atol: float = 1e-8,
) -> bool:
    """Whether a derivative agrees with a one-sided difference quotient.

    Parameters
    ----------
    f, wrt, args
        As for `derivative`; `args` stays unchanged.
    suspect : float
        The value in question.
    h : float
        Step of the difference.
    rtol, atol : float
        Relative and absolute tolerance, as for `numpy.isclose`.
    """
    check_function("check_derivative", f)
    here, wrt = _checked_point(args, wrt)
    there = list(here)
    here[wrt] = float(binding.unguarded(here[wrt]))
    there[wrt] = here[wrt] + h  # in double precision, whatever the point is in
    high, low = [binding.unguarded(Output(f(*point)).atoms) for point in (there, here)]
    quotients = [(np.asarray(y) - np.asarray(x)) / h for x, y in zip(low, high, strict=True)]
    return all(bool(np.all(np.isclose(q, suspect, rtol=rtol, atol=atol))) for q in quotients)


def _checked_point(args: Any, wrt: int | None, is_alone: bool = False) -> tuple[list[Any], int]:
    """The point as a list, and the position of one of its numbers."""
    if isinstance(args, (str, dict)) or not isinstance(args, (Sequence, np.ndarray, Var, Dual)):
        raise TypeError(
            "args is a sequence with one entry for each argument of f, (x,) for one, not "
            f"{type(args).__name__}; an order is named, as in derivative(f, x, order=2)"
        )
    point = list(args)
    if wrt is None:
        return point, 0
    if not is_int(wrt):
        raise TypeError(f"wrt is the position of an argument, an int, not {wrt!r}")
    if not -len(point) <= wrt < len(point):
        raise IndexError(f"wrt={wrt}, but there are {len(point)} arguments")
    (shapes,) = binding.structure_of(tuple(point), (int(wrt),)).leaf_shapes()
    _check_is_number(point, int(wrt), shapes, is_alone)
    return point, int(wrt)


def _check_is_number(
    point: Sequence[Any], wrt: int, shapes: list[Shape], is_alone: bool = False
) -> None:
    if shapes != [()] or binding.opened(point[wrt]) is not None:
        name, kind = "x" if is_alone else f"args[{wrt}]", type(point[wrt]).__name__
        raise TypeError(
            f"derivatives by a real number: but {name} is a {kind}; for"
            " arrays and containers write cadiff.grad(f)(x), or cadiff.jacobian(f)(x) if f "
            "returns several numbers, with holomorphic=True for complex ones"
        )
