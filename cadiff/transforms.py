"""Gradient functions: what becomes of a user's function.

Reverse mode runs the function once on Vars (`_core.Recording`) and sweeps over what was recorded;
forward mode runs it on Duals of a tag of its own. This room arranges arguments and results; it
never sees a buffer, and every derivative comes from the core.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from math import prod
from types import MethodType
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import Dual, Recording, Structure, Var

__all__ = [
    "check_derivative",
    "derivative",
    "elementwise_grad",
    "flatten",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "value_and_grad",
    "vjp",
]

Function = Callable[..., Any]
Mode = Literal["auto", "fwd", "rev"]
Shape = tuple[int, ...]
FloatArray = NDArray[np.float64]


# --- transforms as objects -------------------------------------------------------------------


class Transform(ABC):
    """A function made from another: callable, picklable if that one is, bindable as a method."""

    def __init__(
        self,
        name: str,
        function: Function,
        argnums: int | Sequence[int] = 0,
        *,
        has_aux: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(f"{name} takes a function, not {type(function).__name__}")
        self._name = name
        self._function = function
        self._argnums, self._single = _checked_argnums(argnums)
        self._has_aux = bool(has_aux)
        for attribute in functools.WRAPPER_ASSIGNMENTS:  # what help() shows
            if hasattr(function, attribute):
                setattr(self, attribute, getattr(function, attribute))
        self.__wrapped__ = function

    @abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Differentiate at a point."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        name = getattr(self._function, "__qualname__", repr(self._function))
        argnums = self._argnums[0] if self._single else self._argnums
        return f"<cadiff.{self._name} of {name}, argnums={argnums}>"


def _checked_argnums(argnums: int | Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Argnums as a tuple, and whether it was a single one."""
    single = _is_int(argnums)
    chosen: tuple[Any, ...] = (argnums,) if single else ()
    if not single and isinstance(argnums, (tuple, list)):
        chosen = tuple(argnums)
    if not single and (not isinstance(argnums, (tuple, list)) or not all(map(_is_int, chosen))):
        raise TypeError(f"argnums is an int or a tuple of ints, not {argnums!r}")
    numbers = tuple(map(int, chosen))
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"argnums names an argument twice: {numbers}")
    return numbers, single


def _is_int(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


class ValueAndGrad(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        value, gradient, aux = _core.value_and_grad(
            self._function, self._argnums, self._single, self._has_aux, args, kwargs, self._name
        )
        return ((value, aux), gradient) if self._has_aux else (value, gradient)


class Grad(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        _, gradient, aux = _core.value_and_grad(
            self._function, self._argnums, self._single, self._has_aux, args, kwargs, self._name
        )
        return (gradient, aux) if self._has_aux else gradient


def grad(
    f: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of a function of one number, by reverse mode.

    Parameters
    ----------
    f : callable
        Returns one real number; with `has_aux`, a pair of that and anything else.
    argnums : int or tuple of ints
        The positional argument or arguments to differentiate by. Each is a float, an ndarray, or
        a nested list, tuple or dict of them.
    has_aux : bool
        Return `(gradient, aux)`.

    Returns
    -------
    callable
        Called like f. The gradient has the structure of the argument (a tuple of them for a tuple
        of argnums); floats are floats, arrays are fresh arrays of the argument's shape.

    Raises
    ------
    TypeError
        If f does not return one number, or an argument holds something else than real numbers.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.grad(lambda x, y: x * cadiff.exp(y))(2.0, 0.0)
    1.0
    >>> cadiff.grad(lambda p: p["a"] * p["b"][1])({"a": 2.0, "b": [3.0, 5.0]})
    {'a': 5.0, 'b': [0.0, 2.0]}
    """
    return Grad("grad", f, argnums, has_aux=has_aux)


def value_and_grad(
    f: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Value and gradient in one run: `(value, gradient)`, or `((value, aux), gradient)`.

    As `grad`; it is what `scipy.optimize.minimize(..., jac=True)` takes.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.value_and_grad(lambda x: x[0] * x[1])([3.0, 4.0])
    (12.0, [4.0, 3.0])
    """
    return ValueAndGrad("value_and_grad", f, argnums, has_aux=has_aux)


# --- outputs ---------------------------------------------------------------------------------


class Output:
    """What f returned, taken apart: leaves of numbers, and the containers they were in.

    A flat list or tuple of scalars is one leaf, a vector. `what` names it in error messages.
    """

    def __init__(self, out: Any, what: str = "what f returns") -> None:
        self._what = what
        self.numbers: list[Any] = []
        self.shapes: list[Shape] = []
        self._template = self._take(out)

    def _take(self, out: Any) -> Any:
        if isinstance(out, dict):
            return {key: self._take(item) for key, item in out.items()}
        if isinstance(out, (list, tuple)):
            if len(out) > 0 and all(_is_scalar(item) for item in out):
                return self._leaf(list(out), (len(out),))
            parts = [self._take(item) for item in out]
            if isinstance(out, tuple):
                return type(out)(*parts) if hasattr(out, "_fields") else tuple(parts)
            return parts
        if _is_scalar(out):
            return self._leaf([out], ())
        if isinstance(out, (np.ndarray, Var, Dual)):
            elements = _core.elements(out)
            return self._leaf(elements.ravel().tolist(), elements.shape)
        hint = "; is a return missing?" if out is None else ""
        raise self._refusal(out, hint)

    def _refusal(self, out: Any, hint: str = "") -> TypeError:
        return TypeError(
            f"{self._what} must be real numbers, arrays of them, or lists, tuples and dicts of "
            f"them, not {type(out).__name__}{hint}"
        )

    def _leaf(self, numbers: list[Any], shape: Shape) -> _Leaf:
        for number in numbers:
            if isinstance(number, (bool, np.bool_)):
                hint = ": a comparison has no derivative; cadiff.where chooses between numbers"
                raise self._refusal(number, hint)
            if not _is_scalar(number):
                raise self._refusal(number)
            self.numbers.append(_core.scalar_output(number))
        self.shapes.append(shape)
        return _Leaf(len(self.shapes) - 1)

    def fill(self, leaves: Sequence[Any]) -> Any:
        """The same containers around other leaves."""

        def put(node: Any) -> Any:
            if isinstance(node, _Leaf):
                return leaves[node.index]
            if isinstance(node, dict):
                return {key: put(item) for key, item in node.items()}
            if isinstance(node, tuple) and hasattr(node, "_fields"):
                return type(node)(*map(put, node))
            return type(node)(map(put, node))

        return put(self._template)

    def rebuild(self, numbers: Sequence[Any]) -> Any:
        """The same containers around other numbers."""
        return self.fill([_block(numbers[part], shape) for part, shape in _parts(self.shapes)])

    def match(self, tree: Any, what: str) -> list[Any]:
        """The numbers of another tree of this structure, in its order."""
        numbers: list[Any] = []

        def walk(node: Any, part: Any, path: str) -> None:
            keys = list(node) if isinstance(node, dict) else range(0)
            if isinstance(node, _Leaf):
                leaf = Output(part, path)
                if leaf.shapes != [self.shapes[node.index]] or isinstance(part, dict):
                    expected = f"a leaf of shape {self.shapes[node.index]}"
                    raise _mismatch(path, expected, f"leaves of shapes {leaf.shapes}")
                numbers.extend(leaf.numbers)
                return
            if isinstance(node, dict):
                if not isinstance(part, dict) or part.keys() != node.keys():
                    raise _mismatch(path, f"a dict with the keys {keys}", repr(part))
            elif not isinstance(part, (list, tuple)) or len(part) != len(node):
                raise _mismatch(path, f"a {type(node).__name__} of {len(node)}", repr(part))
            for key in keys or range(len(node)):
                walk(node[key], part[key], f"{path}[{key!r}]")

        walk(self._template, tree, what)
        return numbers


def _mismatch(path: str, expected: str, got: str) -> ValueError:
    return ValueError(
        f"{path} must have the structure of what f returned: expected {expected}, got {got}"
    )


class _Leaf:
    """The place of a leaf in a container of results."""

    def __init__(self, index: int) -> None:
        self.index = index


def _is_scalar(item: Any) -> bool:
    if isinstance(item, (Var, Dual)):
        return item.ndim == 0
    if isinstance(item, (np.ndarray, np.generic)):
        return item.ndim == 0 and item.dtype.kind in "biufO"
    return isinstance(item, (bool, int, float))


def _parts(shapes: Sequence[Shape]) -> Iterator[tuple[slice, Shape]]:
    """Where the numbers of each leaf stand among all."""
    bounds = accumulate((prod(shape) for shape in shapes), initial=0)
    for (begin, end), shape in zip(pairwise(bounds), shapes, strict=True):
        yield slice(begin, end), shape


def _block(numbers: Any, shape: Shape) -> Any:
    """Numbers as an array of a shape: of floats if they are floats; a number for ()."""
    if isinstance(numbers, np.ndarray):
        block = numbers.reshape(shape).copy()
    else:
        block = np.empty(len(numbers), dtype=object)
        block[:] = numbers
        if all(type(number) is float for number in numbers):
            block = block.astype(np.float64)
        block = block.reshape(shape)
    return block.item() if shape == () else block


# --- forward mode ----------------------------------------------------------------------------


def _lift(structure: Structure, numbers: list[Any], tangents: list[Any], tag: int) -> list[Any]:
    """Arguments with Duals for their numbers; a tangent is a number or a tuple of lanes."""
    duals = [
        _core.make_dual(number, tangent, tag)
        for number, tangent in zip(numbers, tangents, strict=True)
    ]
    plain = all(type(number) is float for number in numbers) and all(
        type(number) is float
        for tangent in tangents
        for number in (tangent if isinstance(tangent, tuple) else (tangent,))
    )
    arguments = []
    offset = 0
    for k, shapes in enumerate(structure.leaf_shapes()):
        leaves: list[Any] = []
        for shape in shapes:
            part = slice(offset, offset + prod(shape))
            offset += prod(shape)
            if shape == ():
                leaves.append(duals[part][0])
            elif plain:
                primal = np.array(numbers[part]).reshape(shape)
                rows = np.array(tangents[part])
                lanes = rows.shape[1:] if rows.size else ()
                leaves.append(_core.make_dual(primal, rows.reshape(shape + lanes), tag))
            else:
                leaves.append(_block(duals[part], shape))
        arguments.append(structure.fill(k, leaves))
    return arguments


@contextmanager
def _forward() -> Iterator[int]:
    """A forward differentiation; gives the tag of its Duals."""
    tag, around = _core.begin_forward()
    try:
        yield tag
    finally:
        _core.end_forward(around)


def _identity(n: int) -> list[Any]:
    """The tangents of n numbers along the n unit vectors, as tuples of lanes."""
    return [tuple(1.0 if i == j else 0.0 for j in range(n)) for i in range(n)]


def _run_forward(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: tuple[int, ...],
    tangents: list[Any] | None,
    has_aux: bool = False,
) -> tuple[Output, list[Any], list[Any], Structure, Any]:
    """One run on Duals; `tangents` None seeds the identity.

    Returns the output, its primals, its tangents (tuples where there are lanes), the structure of
    the arguments and aux.
    """
    numbers, structure = _core.take_apart(args, argnums)
    if tangents is None:
        tangents = _identity(len(numbers))
    with _forward() as tag:
        lifted = list(args)
        for k, argument in zip(argnums, _lift(structure, numbers, tangents, tag), strict=True):
            lifted[k] = argument
        out = f(*lifted, **kwargs)
        aux = None
        if has_aux:
            out, aux = _core.split_aux(out)
            aux = _core.map_numbers(aux, lambda number: _core.split_dual(number, tag)[0])
        output = Output(out)
        pairs = [_core.split_dual(number, tag) for number in output.numbers]
    return output, [p for p, _ in pairs], [t for _, t in pairs], structure, aux


def jvp(
    f: Function, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> Any:
    """Value and directional derivative (Jacobian times vector), by forward mode.

    Parameters
    ----------
    f : callable
        Called as `f(*primals)`; returns numbers, arrays or containers of them.
    primals, tangents : tuples
        The arguments and the direction, which has their structure.
    has_aux : bool
        f returns `(out, aux)`.

    Returns
    -------
    (out, tangent_out), or (out, tangent_out, aux)
        Both of the structure that f returned.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, 3.0)
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(
                f"{name} is a tuple with one entry for each argument of f, not "
                f"{type(value).__name__}"
            )
    args = tuple(primals)
    argnums = tuple(range(len(args)))
    _, structure = _core.take_apart(args, argnums)
    if len(tangents) != len(args):
        arguments = "1 argument" if len(args) == 1 else f"{len(args)} arguments"
        raise ValueError(f"there are {len(tangents)} tangents for {arguments}")
    directions = structure.match(tuple(tangents), [f"tangents[{k}]" for k in argnums])
    output, values, derivatives, _, aux = _run_forward(f, args, {}, argnums, directions, has_aux)
    result = (output.rebuild(values), output.rebuild(derivatives))
    return (*result, aux) if has_aux else result


def derivative(f: Function, wrt: Any, args: Sequence[Any] | None = None, *, order: int = 1) -> Any:
    """Derivative at a point, by forward mode.

    `derivative(f, wrt, args)` is the partial derivative of `f(*args)` by `args[wrt]`;
    `derivative(f, x)` that of a function of one variable.

    Parameters
    ----------
    f : callable
        Returns a number, or an array or container of numbers.
    wrt : int, or float
        The position in `args`; without `args`, the point itself.
    args : sequence, optional
        The point. Only `args[wrt]` has to be a number.
    order : int
        0 is the value.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.derivative(lambda x, y: x * y**2, 1, (2.0, 3.0))
    12.0
    >>> cadiff.derivative(cadiff.exp, 0.0, order=5)
    1.0
    """
    if args is None:
        args, wrt = (wrt,), 0
    if not _is_int(order) or order < 0:
        raise ValueError(f"order is a whole number >= 0, not {order!r}")
    point, wrt = _checked_point(args, wrt)
    numbers, _ = _core.take_apart(tuple(point), (wrt,))

    def along(x: Any, order: int) -> Any:
        if order == 0:
            return f(*point[:wrt], x, *point[wrt:][1:])
        output, _, tangents, _, _ = _run_forward(
            lambda x: along(x, order - 1), (x,), {}, (0,), [1.0]
        )
        return output.rebuild(tangents)

    result = along(numbers[0], int(order))
    return _core.scalar_output(result) if order == 0 and _is_scalar(result) else result


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
    _check_mode(mode)
    for k in range(len(_checked_point(args, None)[0])):
        _checked_point(args, k)
    point = tuple(args)
    argnums = tuple(range(len(point)))
    if mode == "fwd":

        def number(*args: Any) -> Any:
            return _core.scalar_output(f(*args), name="gradient")

        _, _, tangents, _, _ = _run_forward(number, point, {}, argnums, None)
        row = tangents[0] if isinstance(tangents[0], tuple) else (0.0,) * len(point)
    else:
        _, row, _ = _core.value_and_grad(f, argnums, False, False, point, {}, "gradient")
    result: NDArray[Any] = _block(list(row), (len(point),))
    return result


def _checked_point(args: Any, wrt: int | None) -> tuple[list[Any], int]:
    """The point as a list, and the position of one of its numbers."""
    if isinstance(args, (str, dict)) or not isinstance(args, (Sequence, np.ndarray, Var, Dual)):
        raise TypeError(
            f"args is a sequence with one entry for each argument of f, not {type(args).__name__}"
        )
    point = list(args)
    if wrt is None:
        return point, 0
    if not _is_int(wrt):
        raise TypeError(f"wrt is the position of an argument, an int, not {wrt!r}")
    if not -len(point) <= wrt < len(point):
        raise IndexError(f"wrt={wrt}, but there are {len(point)} arguments")
    _, structure = _core.take_apart(tuple(point), (int(wrt),))
    if structure.leaf_shapes() != [[()]] or isinstance(point[wrt], (list, tuple, dict)):
        raise TypeError(
            f"derivatives by a number: but args[{wrt}] is a {type(point[wrt]).__name__}; use "
            "cadiff.grad or cadiff.jacobian for arrays and containers"
        )
    return point, int(wrt)


def _check_mode(mode: str) -> None:
    if mode not in ("auto", "fwd", "rev"):
        raise ValueError(f'mode is "auto", "fwd" or "rev", not {mode!r}')


# --- reverse mode ----------------------------------------------------------------------------


class Pullback:
    """Maps cotangents of what f returned to cotangents of its arguments; made by `vjp`."""

    def __init__(self, recording: Recording, output: Output, single: bool) -> None:
        self._recording = recording
        self._output = output
        self._single = single

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pullback cannot be pickled: it holds a recording; pickle the function")

    def __call__(self, cotangent: Any) -> Any:
        weights = self._output.match(cotangent, "the cotangent")
        cotangents = self._recording.pull(self._output.numbers, weights)
        return cotangents[0] if self._single else cotangents


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Value and pullback (vector times Jacobian), by reverse mode.

    Parameters
    ----------
    f : callable
        Called as `f(*primals)`; returns numbers, arrays or containers of them.
    *primals
        The arguments, as for `grad`.
    has_aux : bool
        f returns `(out, aux)`.

    Returns
    -------
    (out, pullback), or (out, pullback, aux)
        `pullback(u)`, u of the structure of out, gives the cotangent of the one argument, or a
        tuple of them. It may be called any number of times; f is not run again.

    Examples
    --------
    >>> import cadiff
    >>> out, pullback = cadiff.vjp(lambda x, y: [x * y, x + y], 2.0, 3.0)
    >>> out
    array([6., 5.])
    >>> pullback([1.0, 10.0])
    (13.0, 12.0)
    """
    recording = Recording(primals, tuple(range(len(primals))))
    keep = False
    try:
        out = f(*recording.lifted)
        aux = None
        if has_aux:
            out, aux = _core.split_aux(out)
        output = Output(out)
        values = output.numbers
        values, aux = recording.settle(values), recording.settle(aux)
        keep = True
    finally:
        recording.close(keep=keep)
    result = (output.rebuild(values), Pullback(recording, output, len(primals) == 1))
    return (*result, aux) if has_aux else result


class Jacobian(Transform):
    def __init__(
        self, name: str, function: Function, argnums: int | Sequence[int], mode: Mode
    ) -> None:
        _check_mode(mode)
        super().__init__(name, function, argnums)
        self._mode = mode

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._mode == "fwd":
            return self._forward(args, kwargs)
        recording = Recording(args, self._argnums)
        try:
            output = Output(self._function(*recording.lifted, **kwargs))
            numbers = output.numbers
            if not recording.is_plain(numbers):
                matrix = _object_matrix(
                    [recording.pull_flat(number) for number in numbers], recording.n
                )
            elif self._mode == "auto" and recording.n <= 4 * len(numbers):
                # A tangent sweep of 8 lanes costs about as much as two reverse sweeps.
                matrix = recording.columns(numbers)
            else:
                matrix = recording.rows(numbers)
            structure = recording.structure
            numbers.clear()  # numbers that are alive when the tape is rewound have to be found
        finally:
            recording.close()
        return self._assemble(matrix, output, structure)

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output, _, tangents, structure, _ = _run_forward(
            self._function, args, kwargs, self._argnums, None
        )
        n = sum(prod(shape) for shapes in structure.leaf_shapes() for shape in shapes)
        rows = [list(t) if isinstance(t, tuple) else [0.0] * n for t in tangents]
        return self._assemble(_object_matrix(rows, n), output, structure)

    def _assemble(self, matrix: NDArray[Any], output: Output, structure: Structure) -> Any:
        """Cut the matrix into blocks of shape out.shape + in.shape, and put them in containers."""
        return output.fill(
            [
                _fill_columns(matrix[part], shape, structure, self._single)
                for part, shape in _parts(output.shapes)
            ]
        )


def _object_matrix(rows: list[list[Any]], n: int) -> NDArray[Any]:
    """Rows of numbers as an array (m, n), of floats if they are floats."""
    matrix: NDArray[Any] = _block([number for row in rows for number in row], (len(rows), n))
    return matrix


def _fill_columns(rows: NDArray[Any], shape: Shape, structure: Structure, single: bool) -> Any:
    """Rows (out.size, inputs) as the containers of the inputs; blocks: out.shape + in.shape."""
    arguments = []
    shapes_of_all = structure.leaf_shapes()
    parts = _parts([leaf for shapes in shapes_of_all for leaf in shapes])
    for k, shapes in enumerate(shapes_of_all):
        blocks = []
        for _ in shapes:
            part, leaf = next(parts)
            blocks.append(_block(rows[:, part], shape + leaf))
        arguments.append(structure.fill(k, blocks))
    return arguments[0] if single else tuple(arguments)


def jacobian(
    f: Function, argnums: int | Sequence[int] = 0, *, mode: Mode = "auto"
) -> Callable[..., Any]:
    """The Jacobian of a function of arrays, vectors or numbers.

    Parameters
    ----------
    f : callable
        Returns a number, an array, or a container of them; a flat list or tuple of numbers is a
        vector.
    argnums : int or tuple of ints
        As for `grad`.
    mode : {"auto", "fwd", "rev"}
        "rev" records f once and sweeps back once for each output. "fwd" runs f once on Duals with
        a lane for each input, and records nothing. "auto" records once and sweeps whichever way
        is cheaper.

    Returns
    -------
    callable
        Called like f; gives an array of shape `out.shape + in.shape`, in the containers of the
        output, and inside those in the containers of the argument.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> cadiff.jacobian(lambda x: [x[0] * x[1], x[1]])(np.array([2.0, 3.0]))
    array([[3., 2.],
           [0., 1.]])
    """
    return Jacobian("jacobian", f, argnums, mode)


def jacfwd(f: Function, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian by forward mode: `jacobian(f, argnums, mode="fwd")`."""
    return Jacobian("jacfwd", f, argnums, "fwd")


def jacrev(f: Function, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian by reverse mode: `jacobian(f, argnums, mode="rev")`."""
    return Jacobian("jacrev", f, argnums, "rev")


class ElementwiseGrad(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        def total(*args: Any) -> Any:
            return sum(Output(self._function(*args, **kwargs)).numbers)

        _, gradient, _ = _core.value_and_grad(
            total, self._argnums, self._single, False, args, {}, self._name
        )
        return gradient


def elementwise_grad(f: Function, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The derivative of each output by the input of the same index, for elementwise functions.

    It is the gradient of the sum of all outputs, in one reverse sweep.
    """
    return ElementwiseGrad("elementwise_grad", f, argnums)


# --- second order ----------------------------------------------------------------------------


class Hessian(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        recording = Recording(args, self._argnums)
        matrix: NDArray[Any] | None = None
        try:
            number = _core.scalar_output(
                self._function(*recording.lifted, **kwargs), name=self._name
            )
            if recording.is_plain([number]):
                matrix = recording.hessian(number)
            structure = recording.structure
            n = recording.n
            number = None
        finally:
            recording.close()
        if matrix is None:
            # Inputs or closures carry derivatives themselves: differentiate twice.
            rows = _gradient_along(self._function, args, kwargs, self._argnums, _identity(n))
            matrix = _object_matrix(
                [list(row) if isinstance(row, tuple) else [0.0] * n for row in rows], n
            )
        shapes_of_all = structure.leaf_shapes()
        parts = _parts([leaf for shapes in shapes_of_all for leaf in shapes])
        arguments = []
        for k, shapes in enumerate(shapes_of_all):
            blocks = []
            for _ in shapes:
                part, leaf = next(parts)
                blocks.append(_fill_columns(matrix[part], leaf, structure, self._single))
            arguments.append(structure.fill(k, blocks))
        return arguments[0] if self._single else tuple(arguments)


def _gradient_along(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: tuple[int, ...],
    tangents: list[Any],
) -> list[Any]:
    """Derivatives of all entries of the gradient along tangents (numbers or tuples of lanes)."""
    numbers, structure = _core.take_apart(args, argnums)
    with _forward() as tag:
        lifted = list(args)
        for k, argument in zip(argnums, _lift(structure, numbers, tangents, tag), strict=True):
            lifted[k] = argument
        gradients = Grad("grad", f, argnums)(*lifted, **kwargs)
        entries, _ = _core.take_apart(gradients, tuple(range(len(argnums))))
        return [_core.split_dual(entry, tag)[1] for entry in entries]


def hessian(f: Function, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Hessian of a function of one number: `in.shape + in.shape`.

    f is recorded once; second-order sweeps give some columns each. For containers and several
    argnums the result is a container of containers.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> cadiff.hessian(lambda x: x[0] ** 2 * x[1])(np.array([0.0, 3.0]))
    array([[6., 0.],
           [0., 0.]])
    """
    return Hessian("hessian", f, argnums)


class HessianProduct(Transform):
    def __call__(self, first: Any, v: Any, /, *others: Any, **kwargs: Any) -> Any:
        args = (first, *others)
        k = self._argnums[0]
        if not -len(args) <= k < len(args):
            raise TypeError(f"argnums={k}, but there are {len(args)} arguments beside v")
        _, structure = _core.take_apart((args[k],), (0,))
        direction = structure.match((v,), ["the direction v"])
        if all(type(number) is float for number in direction):
            recording = Recording(args, self._argnums)
            product: list[Any] | None = None
            try:
                number = _core.scalar_output(
                    self._function(*recording.lifted, **kwargs), name=self._name
                )
                if recording.is_plain([number]):
                    product = recording.hessian_product(number, direction).tolist()
                number = None
            finally:
                recording.close()
            if product is not None:
                return structure.rebuild(0, product)
        product = _gradient_along(self._function, args, kwargs, self._argnums, direction)
        return structure.rebuild(0, product)


def hvp(f: Function, argnums: int = 0) -> Callable[..., Any]:
    """Hessian times vector, at about three times the price of the gradient.

    Returns
    -------
    callable
        `h(first argument, v, *others)`, v of the structure of argument `argnums`: what SciPy calls
        `hessp`.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.hvp(lambda x: x[0] ** 2 * x[1])([1.0, 3.0], [1.0, 0.0])
    [6.0, 2.0]
    """
    transform = HessianProduct("hvp", f, argnums)
    if not transform._single:
        raise TypeError("hvp is by one argument: argnums is an int")
    return transform


# --- checks and containers -------------------------------------------------------------------


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
        As for `derivative`; `args` is left as it is.
    suspect : float
        The value in question.
    h : float
        Step of the difference.
    rtol, atol : float
        Relative and absolute tolerance, as for `numpy.isclose`.
    """
    here, wrt = _checked_point(args, wrt)
    there = list(here)
    here[wrt] = float(_core.strip(here[wrt]))
    there[wrt] = here[wrt] + h  # in double precision, whatever the point is in
    high, low = (_core.strip(Output(f(*point)).numbers) for point in (there, here))
    quotient = (np.array(high) - np.array(low)) / h
    return bool(np.all(np.isclose(quotient, suspect, rtol=rtol, atol=atol)))


def flatten(tree: Any) -> tuple[FloatArray, Callable[[Any], Any]]:
    """A container of numbers and arrays as one vector, and the way back.

    Parameters
    ----------
    tree : container
        A float, an ndarray, or a nested list, tuple or dict of them.

    Returns
    -------
    vector : ndarray, shape (n,)
        All numbers, in order.
    unflatten : callable
        Puts a vector of n numbers (an ndarray, or a Var or Dual of one) into the containers.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> vector, unflatten = cadiff.flatten({"w": np.array([1.0, 2.0]), "b": 3.0})
    >>> vector
    array([1., 2., 3.])
    >>> unflatten(vector * 2)
    {'w': array([2., 4.]), 'b': 6.0}
    """
    numbers, structure = _core.take_apart((tree,), (0,))
    vector: FloatArray = _block(numbers, (len(numbers),))
    return vector, _Unflatten(structure, len(numbers))


class _Unflatten:
    def __init__(self, structure: Structure, n: int) -> None:
        self._structure = structure
        self._n = n

    def __call__(self, vector: Any) -> Any:
        if not isinstance(vector, (Var, Dual)):
            vector = np.asarray(vector)
            if vector.dtype.kind not in "iufO":
                raise TypeError(
                    f"expected a vector of real numbers, got an array of dtype {vector.dtype}"
                )
        if vector.shape != (self._n,):
            raise ValueError(f"expected a vector of {self._n} numbers, got shape {vector.shape}")
        leaves = []
        for part, shape in _parts(self._structure.leaf_shapes()[0]):
            if shape == ():
                number = vector[part.start]
                leaves.append(float(number) if isinstance(number, np.generic) else number)
            else:
                leaf = vector[part].reshape(shape)
                leaves.append(leaf.copy() if isinstance(leaf, np.ndarray) else leaf)
        return self._structure.fill(0, leaves)
