"""Checks of derivatives: against finite differences, and for numbers that are not finite."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..transforms import jvp, vjp
from ..transforms._base import answering, check_function
from ..transforms._outputs import Output, places
from .texts import table

FloatArray = NDArray[np.float64]

_PRECISION = float(np.finfo(float).eps)
_FEW = 16  # inputs, and outputs: so many are always checked one by one
_MOST = 1000  # entries that are looked at one by one when something is wrong
_SHOWN = 10
_LOOSER = 10  # times the tolerances with each further order
_STRICTER = 1e-3  # of them are those of comparisons without a difference quotient


@answering
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of a function with central differences.

    Forward and reverse mode are compared along random directions with differences, and with each
    other. If they disagree, and always for up to 16 inputs and outputs, each entry of the Jacobian
    is compared by itself.

    Parameters
    ----------
    f : callable
        Called as `f(*args)`; returns numbers, arrays or containers of them.
    args : sequence
        The point: floats, arrays, or containers of them.
    order : int
        Up to which order; the derivative along a direction is itself checked for order 2, ...
    modes : sequence of {"fwd", "rev"}
        What to check.
    atol, rtol : float, optional
        Tolerances; 1e-5 each unless told, and ten times as much with each further order.
    eps : float, optional
        Step of the differences, in units of max(1, abs(x)) of each number x. Unless told it is the
        cube root of the machine's precision, at which the error of truncation, eps**2, and that of
        rounding, precision / eps, are of one size.

    Raises
    ------
    AssertionError
        With a table of the worst entries: mode and order, the argument by its name in the
        signature of f and the place in it, the output, both numbers, and their difference. Also
        if f returns another value for numbers with derivatives than for plain ones.

    Notes
    -----
    To the tolerances is added what the differences themselves leave open: by how much the quotient
    changes when the step is doubled (truncation, and noise; not with an `eps` of your own), by how
    much the one-sided quotients differ beyond what a second derivative explains (at a kink any
    number between them will do), and the rounding of f's values divided by the step. Beside the
    edge of a domain, where one side is nan, the quotient is that of the other side. nan agrees
    with nan, and where f itself is nan nothing is compared.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.check_grads(lambda x: cadiff.sin(x * x), (0.7,), order=2)
    >>> cadiff.check_grads(lambda a, b: a * cadiff.stop_gradient(b), (2.0, 3.0))
    Traceback (most recent call last):
    AssertionError: 2 of 4 derivatives of order 1 disagree with central differences:
    mode  order  argument  output  cadiff  difference quotient  difference
    fwd   1      b         output  0       2                    2
    rev   1      b         output  0       2                    2
    tolerance: 1e-05 + 1e-05 * size + what the differences leave open
    """
    unknown = set(modes) - {"fwd", "rev"}
    if unknown or not modes:
        raise ValueError(f'modes are "fwd" and "rev", not {tuple(modes)!r}')
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise ValueError(f"order is a whole number, at least 1, not {order!r}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            "args is a tuple with one entry for each argument of f, not "
            f"{type(args).__name__}: write check_grads(f, (x,))"
        )
    check_function("check_grads", f)
    binding.structure_of(tuple(args), tuple(range(len(args))))  # real numbers only
    for what, given in (("atol", atol), ("rtol", rtol), ("eps", eps)):
        if given is not None and not (isinstance(given, Real) and given >= 0.0):
            raise ValueError(f"{what} is a number, at least 0, or None, not {given!r}")
    if eps == 0.0:
        raise ValueError("eps is a step, greater than 0")
    names = binding.argument_names(f, len(args))
    settings = _Settings(
        tuple(modes),
        1e-5 if atol is None else atol,
        1e-5 if rtol is None else rtol,
        _PRECISION ** (1 / 3) if eps is None else eps,
        eps is None,
        np.random.default_rng(0),
    )
    try:
        in_double = tuple(map(_in_double, args))
    except RecursionError:
        raise binding.nested_error() from None
    _check(_FunctionAtPoint(f, in_double, names), int(order), settings, ())


class _Settings(NamedTuple):
    modes: tuple[str, ...]
    atol: float
    rtol: float
    eps: float
    allows_truncation: bool
    random: np.random.Generator

    def scaled(self, factor: float) -> _Settings:
        return self._replace(atol=factor * self.atol, rtol=factor * self.rtol)


def _in_double(tree: Any) -> Any:
    """Arguments with their arrays converted to double precision, to take differences in."""
    return binding.map_leaves(
        lambda x: (
            np.asarray(x, dtype=np.result_type(x, np.float64)) if isinstance(x, np.ndarray) else x
        ),
        tree,
    )


class _FunctionAtPoint:
    """A function at a point, from the vector of all its inputs to that of all its outputs."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], names: list[str]
    ) -> None:
        self.function = function
        self.args = args
        self.names = names
        self._argnums = tuple(range(len(args)))
        atoms, self._structure = binding.take_apart(args, self._argnums)
        self._shapes = [binding.shape(atom) for atom in atoms]
        self.point = _joined(atoms)
        out = function(*self.at(self.point))
        self.value = _joined(Output(out).atoms)
        _, self._of_output = binding.take_apart((binding.unguarded(out),), (0,))
        self._inputs = binding.leaves(self._structure, names)
        self._outputs = binding.leaves(self._of_output, ["output"])

    def at(self, vector: FloatArray) -> tuple[Any, ...]:
        """The arguments filled with other numbers."""
        parts = _split(vector, self._shapes)
        return tuple(self._structure.rebuild(k, parts) for k in self._argnums)

    def run(self, vector: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):  # a step may leave the domain
            return _joined(Output(self.function(*self.at(vector))).atoms)

    def push(self, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Value and tangent, by forward mode."""
        out, tangent = jvp(self.function, self.args, self.at(direction))
        return _joined(Output(out).atoms), _joined(Output(tangent).atoms)

    def puller(self) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Value, and what maps weights of the outputs to a cotangent, by reverse mode."""
        out, pullback = vjp(self.function, *self.args)
        output = Output(out)

        def pull(weights: FloatArray) -> FloatArray:
            cotangent = pullback(output.fill(output.conjugated(_split(weights, output.shapes))))
            trees = (cotangent,) if len(self.args) == 1 else cotangent
            return _joined(self._structure.conjugated(binding.take_apart(trees, self._argnums)[0]))

        return _joined(output.atoms), pull

    def input_name(self, k: int) -> str:
        return _named(self._inputs, k)

    def output_name(self, k: int) -> str:
        return _named(self._outputs, k)


def _named(leaves: Sequence[Any], k: int) -> str:
    leaf = leaves[bisect_right(leaves, k, key=lambda leaf: leaf[0]) - 1]
    return binding.element_name(leaf, k)


class _Quotient(NamedTuple):
    """A difference quotient for each output, and how far it may be from the derivative.

    At a kink inside of the step, half of what the one-sided quotients differ by: in a smooth
    function that doubles with the step.
    """

    value: FloatArray
    doubt: FloatArray

    def weighted(self, weights: FloatArray) -> _Quotient:
        """The quotient of a weighted sum of the outputs."""
        total, doubt = _dot(weights, self.value), _dot(np.abs(weights), self.doubt)
        return _Quotient(np.array([total]), np.array([doubt]))


def _quotient(
    f: _FunctionAtPoint, direction: FloatArray, h: float, settings: _Settings
) -> _Quotient:
    far_below, below, above, far_above = [
        f.run(f.point + steps * h * direction) for steps in (-2, -1, 1, 2)
    ]
    here = f.value
    with np.errstate(all="ignore"):
        value = (above - below) / (2 * h)
        bend = np.abs(above - 2 * here + below) / h
        far_bend = np.abs(far_above - 2 * here + far_below) / (2 * h)
        doubt = 16 * _PRECISION * (np.abs(above) + np.abs(below)) / h
        doubt = doubt + _positive(np.minimum(bend / 2, 2 * (2 * bend - far_bend)))
        if settings.allows_truncation:
            doubt = doubt + _positive(2 * np.abs((far_above - far_below) / (4 * h) - value))
        for near, far, side in ((above, far_above, 1), (below, far_below, -1)):
            one_sided = side * (4 * near - 3 * here - far) / (2 * h)
            use = np.isnan(value) & np.isfinite(one_sided)
            value = np.where(use, one_sided, value)
            doubt = np.where(use, 2 * np.abs(one_sided - side * (near - here) / h), doubt)
    return _Quotient(value, np.where(np.isnan(here), np.inf, _positive(doubt)))


def _positive(x: FloatArray) -> FloatArray:
    """What is finite and positive; else 0."""
    return np.where((x > 0) & np.isfinite(x), x, 0.0)


def _agree(
    found: FloatArray, wanted: FloatArray, doubt: FloatArray, settings: _Settings
) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(found), np.abs(wanted))
        close = np.abs(found - wanted) <= settings.atol + settings.rtol * size + doubt
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    right: NDArray[np.bool_] = same | (close & np.isfinite(size)) | np.isinf(doubt)
    return right


def _check(f: _FunctionAtPoint, order: int, settings: _Settings, before: tuple[str, ...]) -> None:
    check = _Check(f, settings, before)
    check.values()
    entries = f.point.size <= _FEW and f.value.size <= _FEW
    if entries or not check.along(check.direction, check.weights):
        check.entries()
        if not check.along(check.direction, check.weights):
            raise AssertionError(
                f"derivatives of order {len(before) + 1} disagree with central differences along "
                "a random direction, though each entry by itself is within the tolerance"
            )
    check.modes()
    for mode in settings.modes if order > 1 else ():
        derivative = _first_derivative(f.function, f.at(check.direction), mode)
        next_one = _FunctionAtPoint(derivative, f.args, f.names)
        _check(next_one, order - 1, settings.scaled(_LOOSER), (*before, mode))


class _Check:
    """The comparisons of one order; each raises AssertionError."""

    def __init__(self, f: _FunctionAtPoint, settings: _Settings, before: tuple[str, ...]) -> None:
        self.f = f
        self.settings = settings
        self.before = before
        self.scale = np.maximum(1.0, np.abs(f.point))
        self.direction = self.scale * settings.random.standard_normal(f.point.size)
        self.weights = settings.random.standard_normal(f.value.size)
        if "rev" in settings.modes:
            self.reverse_value, self.pull = f.puller()

    def values(self) -> None:
        """What f returns for numbers with derivatives is what it returns for plain ones."""
        strict = self.settings.scaled(_STRICTER)
        for mode in self.settings.modes:
            found = self.f.push(self.direction)[0] if mode == "fwd" else self.reverse_value
            if found.shape != self.f.value.shape:
                raise AssertionError(
                    f"f returns {found.size} numbers where numbers carry derivatives ({mode}), "
                    f"and {self.f.value.size} where they are plain"
                )
            right = _agree(found, self.f.value, np.zeros(found.size), strict)
            if not right.all():
                k = int(np.argmin(right))
                raise AssertionError(
                    f"f returns another value where numbers carry derivatives "
                    f"({self._label(mode)}): {self.f.output_name(k)} is {found[k]:.9g}, and "
                    f"{self.f.value[k]:.9g} for plain numbers"
                )

    def along(self, direction: FloatArray, weights: FloatArray) -> bool:
        """Whether all modes agree with differences along a direction, where weights are not 0."""
        quotient = _quotient(self.f, direction, self.settings.eps, self.settings)
        right = True
        if "fwd" in self.settings.modes:
            _, tangent = self.f.push(direction)
            agree = _agree(tangent, quotient.value, quotient.doubt, self.settings)
            right = bool(agree[weights != 0.0].all())
        if "rev" in self.settings.modes:
            found = np.array([_dot(self.pull(weights), direction)])
            value, doubt = quotient.weighted(weights)
            right = right and bool(_agree(found, value, doubt, self.settings).all())
        return right

    def entries(self) -> None:
        """Compare entry by entry; of large Jacobians those in rows and columns that disagree."""
        f, modes = self.f, self.settings.modes
        columns = _narrowed(
            f.point.size, lambda part: self.along(_masked(self.direction, part), self.weights)
        )
        rows = _narrowed(
            f.value.size, lambda part: self.along(self.direction, _masked(self.weights, part))
        )
        values, doubts, forward = (np.empty((len(rows), len(columns))) for _ in range(3))
        for k, column in enumerate(columns):
            unit = _unit(f.point.size, column)
            step = self.settings.eps * float(self.scale[column])
            quotient = _quotient(f, unit, step, self.settings)
            values[:, k], doubts[:, k] = quotient.value[rows], quotient.doubt[rows]
            if "fwd" in modes:
                forward[:, k] = f.push(unit)[1][rows]
        wrong: list[tuple[float, str, int, int, float, float]] = []
        for mode in modes:
            found = forward if mode == "fwd" else self._rows(rows, columns)
            agree = _agree(found, values, doubts, self.settings)
            for i, k in np.argwhere(~agree).tolist():
                off = abs(found[i, k] - values[i, k])
                wrong.append((off, mode, rows[i], columns[k], found[i, k], values[i, k]))
        if wrong:
            raise AssertionError(self._report(wrong, len(modes) * values.size))

    def _rows(self, rows: Sequence[int], columns: Sequence[int]) -> FloatArray:
        """Part of the Jacobian by reverse mode."""
        pulled = [self.pull(_unit(self.f.value.size, row))[list(columns)] for row in rows]
        return np.array(pulled).reshape(len(rows), len(columns))

    def _report(
        self, wrong: list[tuple[float, str, int, int, float, float]], looked_at: int
    ) -> str:
        wrong.sort(key=lambda line: line[0] if line[0] == line[0] else np.inf, reverse=True)
        lines = [
            ("mode", "order", "argument", "output", "cadiff", "difference quotient", "difference")
        ]
        order = len(self.before) + 1
        lines += [
            (
                self._label(mode),
                str(order),
                self.f.input_name(column),
                self.f.output_name(row),
                f"{found:.9g}",
                f"{value:.9g}",
                f"{off:.3g}",
            )
            for off, mode, row, column, found, value in wrong[:_SHOWN]
        ]
        total = self.f.point.size * self.f.value.size * len(self.settings.modes)
        of_all = "" if looked_at == total else f" looked at, of {total} in all,"
        rest = [] if len(wrong) <= _SHOWN else [f"... and {len(wrong) - _SHOWN} more"]
        return "\n".join(
            [
                f"{len(wrong)} of {looked_at} derivatives of order {order}{of_all} disagree with "
                "central differences:",
                *table(lines),
                *rest,
                f"tolerance: {self.settings.atol:g} + {self.settings.rtol:g} * size + what the "
                "differences leave open",
            ]
        )

    def _label(self, mode: str) -> str:
        return " of ".join((mode, *reversed(self.before)))

    def modes(self) -> None:
        """Forward and reverse mode agree with each other, better than with any difference."""
        if set(self.settings.modes) != {"fwd", "rev"}:
            return
        _, tangent = self.f.push(self.direction)
        cotangent = self.pull(self.weights)
        forward, reverse = _dot(self.weights, tangent), _dot(cotangent, self.direction)
        with np.errstate(all="ignore"):
            size = _dot(abs(self.weights), abs(tangent)) + _dot(
                abs(cotangent), abs(self.direction)
            )
        strict = self.settings.scaled(_STRICTER)
        doubt = np.array([strict.rtol * size])
        if not _agree(np.array([forward]), np.array([reverse]), doubt, strict).all():
            raise AssertionError(
                f"forward and reverse mode disagree at order {len(self.before) + 1}: the "
                f"derivative of a weighted sum of the outputs along a random direction is "
                f"{forward:.12g} in mode {self._label('fwd')}, and {reverse:.12g} in mode "
                f"{self._label('rev')}"
            )


def _dot(x: FloatArray, y: FloatArray) -> float:
    """The inner product, in which an exact zero absorbs."""
    used = (x != 0.0) & (y != 0.0)
    with np.errstate(all="ignore"):
        return float(np.dot(x[used], y[used]))


def _narrowed(size: int, agrees: Callable[[NDArray[np.int64]], bool]) -> list[int]:
    """The indices of all numbers, or, if they are many, about those in parts that disagree."""
    if size <= _MOST:
        return list(range(size))
    found: list[int] = []
    parts = [np.arange(size)]
    while parts and len(found) < _MOST:
        part = parts.pop()
        if len(part) <= _FEW:
            found += part.tolist()
        else:
            parts += [half for half in np.array_split(part, 2) if not agrees(half)]
    return sorted(found)


def _masked(vector: FloatArray, part: NDArray[np.int64]) -> FloatArray:
    masked = np.zeros(vector.size)
    masked[part] = vector[part]
    return masked


def _unit(size: int, k: int) -> FloatArray:
    return _masked(np.ones(size), np.array([k]))


def _first_derivative(
    f: Callable[..., Any], direction: tuple[Any, ...], mode: str
) -> Callable[..., Any]:
    """The function to check for the next order: one of the derivatives of f."""
    if mode == "fwd":
        return lambda *args: jvp(f, args, direction)[1]

    def pulled(*args: Any) -> Any:
        out, pullback = vjp(f, *args)
        output = Output(out)
        return pullback(output.fill([np.ones(shape) if shape else 1.0 for shape in output.shapes]))

    return pulled


def _joined(atoms: Sequence[Any]) -> FloatArray:
    return np.concatenate([np.empty(0), *(np.ravel(binding.unguarded(atom)) for atom in atoms)])


def _split(vector: FloatArray, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    return [
        vector[part].reshape(shape) if shape else vector[part].item()
        for part, shape in places(shapes)
    ]


# --- numbers that are not finite ---------------------------------------------------------------


class nan_check(binding.Checking):  # noqa: N801 - a context
    """Have the first operation that gives nan or inf raise an error that says where it is written.

    Within the context, in this thread, `NonFiniteError` (a `FloatingPointError`) is raised by the
    first operation on a `Var` or a `Dual` with a value that is not finite, and by the first one
    with a derivative that is not finite: a tangent in forward mode, an adjoint in reverse mode,
    also one of higher order. The error names the operation, its operands, the element of an
    array, and the line of the program, which in a reverse sweep is that of the operation itself.
    A number that was not finite when the function was called is named as well.

    What only moves numbers about raises nothing. Derivatives that are infinite by convention, that
    of `sqrt` at 0 for instance, are reported like any others, unless they are multiplied by an
    exact zero. Each recorded operation takes a microsecond more, and sweeps go one by one through
    the entries; outside of the context nothing is slower.

    Raises
    ------
    NonFiniteError
        Inside of the context.

    Examples
    --------
    >>> import cadiff
    >>> def f(x):
    ...     return cadiff.sqrt(x * x)
    >>> with cadiff.nan_check():
    ...     cadiff.grad(f)(0.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    cadiff.NonFiniteError: the derivative of sqrt(0.0) is inf, times 1.0 from what follows it
      File "...", line 2, in f
        return cadiff.sqrt(x * x)
    """

    def __init__(self, *given: Any) -> None:
        super().__init__()
        if given:
            raise TypeError(
                "nan_check is a context, and takes nothing: write `with cadiff.nan_check():` "
                "around calls such as cadiff.grad(f)(x)"
            )
