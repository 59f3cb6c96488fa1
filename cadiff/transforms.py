"""Gradient functions: what becomes of a user's function.

Reverse mode runs the function once on Vars (`_core.Recording`) and sweeps over what was recorded;
forward mode runs it on Duals of a tag of its own. This room arranges arguments and results; it
never sees a buffer, and every derivative comes from the core.
"""

from __future__ import annotations

import functools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, groupby, pairwise
from math import prod
from types import MethodType
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import Dual, FrozenMap, Recording, Structure, Var
from .arrays import concatenate, copy, reshape, stack
from .arrays import sum as total_of
from .frozen import carried
from .primitives import settle_doubts

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


def check_function(name: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{name} takes a function, not {type(function).__name__}")


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
        check_function(name, function)
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

    def __reduce__(self) -> Any:
        """By name where it stands in the place of its function, as decorators do; else with it."""
        place: Any = sys.modules.get(getattr(self, "__module__", ""))
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            place = getattr(place, part, None)
        return name if place is self else super().__reduce__()

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
        a nested list, tuple or dict of them. Arrays of 32,768 elements or more are read where
        they are: f does not write into them.
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
    RuntimeError
        If such a large array was written to meanwhile.

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
    """What f returned, taken apart: atoms (numbers and arrays), and the containers they were in.

    A flat list or tuple of scalars is one leaf, a vector. `what` names it in error messages.
    """

    def __init__(self, out: Any, what: str = "what f returns") -> None:
        self._what = what
        self.atoms: list[Any] = []
        self.shapes: list[Shape] = []
        self._template = self._take(out)

    def _take(self, out: Any) -> Any:
        if isinstance(out, dict):
            return {key: self._take(item) for key, item in out.items()}
        if isinstance(out, (list, tuple)):
            if len(out) > 0 and all(_is_scalar(item) for item in out):
                return self._leaf(self._vector(out))
            parts = [self._take(item) for item in out]
            if isinstance(out, tuple):
                return type(out)(*parts) if hasattr(out, "_fields") else tuple(parts)
            return parts
        if _is_scalar(out):
            return self._leaf(self._number(out))
        if isinstance(out, np.ndarray):
            return self._leaf(self._array(out))
        if isinstance(out, (Var, Dual)):
            return self._leaf(out)
        hint = "; is a return missing?" if out is None else ""
        raise self._refusal(out, hint)

    def _refusal(self, out: Any, hint: str = "") -> TypeError:
        return TypeError(
            f"{self._what} must be real numbers, arrays of them, or lists, tuples and dicts of "
            f"them, not {type(out).__name__}{hint}"
        )

    def _number(self, number: Any) -> Any:
        if isinstance(number, (bool, np.bool_)):
            hint = ": a comparison has no derivative; cadiff.where chooses between numbers"
            raise self._refusal(number, hint)
        return _core.scalar_output(number)

    def _vector(self, numbers: Sequence[Any]) -> Any:
        return _core.numbers_array([self._number(x) for x in numbers], (len(numbers),))

    def _array(self, array: NDArray[Any]) -> Any:
        if array.dtype == object:
            for number in array.flat:
                if not _is_scalar(number):
                    raise self._refusal(number)
                self._number(number)
            return _core.gather_numbers(array)
        if array.dtype.kind == "b":
            self._number(np.bool_(True))
        if array.dtype.kind not in "iuf":
            raise self._refusal(array, f" of dtype {array.dtype.name}")
        if type(array) is not np.ndarray:
            _core.structure_of((array,), (0,))  # refuses masked arrays and matrices
        return np.array(array, dtype=np.float64)

    def _leaf(self, atom: Any) -> _Leaf:
        if isinstance(atom, (Var, Dual)):
            _core.check_alive(atom)
        self.atoms.append(atom)
        self.shapes.append(_core.shape(atom))
        return _Leaf(len(self.shapes) - 1)

    def own_atoms(self) -> list[Any]:
        """The atoms, of which nobody else can change the elements."""
        return [*map(_own, self.atoms)]

    def fill(self, leaves: Sequence[Any]) -> Any:
        """The same containers around other leaves."""
        return _filled(self._template, leaves)

    def match(self, tree: Any, what: str) -> list[Any]:
        """The atoms of another tree of this structure, in its order."""
        atoms: list[Any] = []
        self._walk(self._template, tree, what, atoms)
        return atoms

    def _walk(self, node: Any, part: Any, path: str, atoms: list[Any]) -> None:
        keys = list(node) if isinstance(node, dict) else range(0)
        if isinstance(node, _Leaf):
            leaf = Output(part, path)
            if leaf.shapes != [self.shapes[node.index]] or isinstance(part, dict):
                expected = f"a leaf of shape {self.shapes[node.index]}"
                raise _mismatch(path, expected, f"leaves of shapes {leaf.shapes}")
            atoms.extend(leaf.atoms)
            return
        if isinstance(node, dict):
            if not isinstance(part, dict) or part.keys() != node.keys():
                raise _mismatch(path, f"a dict with the keys {keys}", repr(part))
        elif not isinstance(part, (list, tuple)) or len(part) != len(node):
            raise _mismatch(path, f"a {type(node).__name__} of {len(node)}", repr(part))
        for key in keys or range(len(node)):
            self._walk(node[key], part[key], f"{path}[{key!r}]", atoms)


def _filled(node: Any, leaves: Sequence[Any]) -> Any:
    """A template with leaves in their places."""
    if isinstance(node, _Leaf):
        return leaves[node.index]
    if isinstance(node, dict):
        return {key: _filled(item, leaves) for key, item in node.items()}
    parts = [_filled(item, leaves) for item in node]
    if isinstance(node, tuple):
        return type(node)(*parts) if hasattr(node, "_fields") else tuple(parts)
    return parts


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


def _all_shapes(structure: Structure) -> list[Shape]:
    """The shapes of the atoms of all arguments."""
    return [shape for shapes in structure.leaf_shapes() for shape in shapes]


def _result(atom: Any) -> Any:
    """An atom as it is handed to the user: fresh, and plain if it carries no derivative."""
    if isinstance(atom, (Var, Dual)):
        return _core.settled(atom)
    return np.array(atom) if isinstance(atom, np.ndarray) and atom.ndim else float(atom)


def handed_out(atoms: Sequence[Any]) -> list[Any]:
    """Atoms that stay in use as they are handed to the user: he may assign to them."""
    return [_result(_own(atom)) for atom in atoms]


# --- forward mode ----------------------------------------------------------------------------


def _lift(
    structure: Structure, atoms: Sequence[Any], tangents: Sequence[Any], tag: int
) -> list[Any]:
    """Arguments with Duals for their atoms; tangents have their shapes, perhaps with lanes."""
    duals = [_core.make_dual(x, t, tag) for x, t in zip(atoms, tangents, strict=True)]
    counts = [len(shapes) for shapes in structure.leaf_shapes()]
    bounds = pairwise(accumulate(counts, initial=0))
    return [structure.fill(k, duals[begin:end]) for k, (begin, end) in enumerate(bounds)]


def _identity(shapes: Sequence[Shape], first: int = 0, lanes: int | None = None) -> list[Any]:
    """Tangents of atoms along unit vectors: lanes `first`, `first + 1`, ... of the identity."""
    n = sum(map(prod, shapes))
    count = n - first if lanes is None else lanes
    rows = np.eye(n, count, -first) if n else np.zeros((0, count))
    return [
        rows[part].reshape((*shape, count)) if shape != () else tuple(rows[part][0].tolist())
        for part, shape in _parts(shapes)
    ]


def _run_forward(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: tuple[int, ...],
    tangents: Sequence[Any] | None,
    has_aux: bool = False,
) -> tuple[Output, list[Any], list[Any], Structure, Any]:
    """One run on Duals; `tangents` None seeds the identity.

    Returns the output, its primals, its tangents (with lanes, if any), the structure of the
    arguments and aux.
    """
    atoms, structure = _core.take_apart(args, argnums)
    lanes = -1
    if tangents is None:
        shapes = _all_shapes(structure)
        tangents, lanes = _identity(shapes), sum(map(prod, shapes))
    with _core.Forward(lanes, (f, args)) as tag:
        lifted = list(args)
        for k, argument in zip(argnums, _lift(structure, atoms, tangents, tag), strict=True):
            lifted[k] = argument
        out = f(*lifted, **kwargs)
        aux = None
        if has_aux:
            out, aux = _core.split_aux(out)
            aux = _core.map_numbers(aux, lambda x: _core.settled(_core.split_dual(x, tag)[0]))
        output = Output(out)
        pairs = [_core.split_dual(atom, tag) for atom in output.atoms]
        settle_doubts(chain.from_iterable(pairs))
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
    check_function("jvp", f)
    args = tuple(primals)
    argnums = tuple(range(len(args)))
    structure = _core.structure_of(args, argnums)
    if len(tangents) != len(args):
        arguments = "1 argument" if len(args) == 1 else f"{len(args)} arguments"
        raise ValueError(f"there are {len(tangents)} tangents for {arguments}")
    directions = structure.match(tuple(tangents), [f"tangents[{k}]" for k in argnums])
    output, values, derivatives, _, aux = _run_forward(f, args, {}, argnums, directions, has_aux)
    result = (output.fill([*map(_result, values)]), output.fill([*map(_result, derivatives)]))
    return (*result, aux) if has_aux else result


MOST_ORDER = 1000  # beyond it the coefficients of a power series leave the range of a double


def derivative(f: Function, wrt: Any, args: Sequence[Any] | None = None, *, order: int = 1) -> Any:
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
    if args is None:
        args, wrt = (wrt,), 0
    check_function("derivative", f)
    if not _is_int(order) or order < 0:
        raise ValueError(f"order is a whole number >= 0, not {order!r}")
    if order > MOST_ORDER:
        raise ValueError(f"order is at most {MOST_ORDER}, not {order}")
    point, wrt = _checked_point(args, wrt)
    numbers, _ = _core.take_apart(tuple(point), (wrt,))

    def at(x: Any) -> Any:
        return f(*point[:wrt], x, *point[wrt:][1:])

    if order == 0:
        result = at(numbers[0])
        return _core.scalar_output(result) if _is_scalar(result) else result
    if order > 1 and not isinstance(numbers[0], (Var, Dual)):
        output = _by_series(at, numbers[0], int(order))
        if output is not None:
            return output
    return _by_nesting(at, numbers[0], int(order))


def _by_series(f: Function, x: float, order: int) -> Any:
    """A derivative of high order from one run and one sweep over power series.

    None where that cannot serve: f uses numbers that carry derivatives themselves, or primitives.
    """
    recording = Recording((x,), (0,))
    output = None
    try:
        output = Output(f(*recording.lifted))
        if not recording.is_plain(output.atoms) or recording.has_rules:
            return None
        return output.fill(_core.high_derivatives(recording, output.atoms, order))
    finally:
        if output is not None:
            output.atoms.clear()  # Vars that are alive have to be found when the tape is rewound
        recording.close()


def _by_nesting(f: Function, x: Any, order: int) -> Any:
    """The same by forward mode over forward mode, which doubles the work with each order."""
    if order == 0:
        return f(x)
    output, _, tangents, _, _ = _run_forward(
        lambda x: _by_nesting(f, x, order - 1), (x,), {}, (0,), [1.0]
    )
    return output.fill([*map(_result, tangents)])


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
    _check_mode(mode)
    point = tuple(_checked_point(args, None)[0])
    argnums = tuple(range(len(point)))
    for k, shapes in enumerate(_core.structure_of(point, argnums).leaf_shapes()):
        _check_is_number(point, k, shapes)
    if mode == "fwd":

        def number(*args: Any) -> Any:
            return _core.scalar_output(f(*args), name="gradient")

        _, _, tangents, _, _ = _run_forward(number, point, {}, argnums, None)
        row = tangents[0] if isinstance(tangents[0], tuple) else (0.0,) * len(point)
    else:
        _, row, _ = _core.value_and_grad(f, argnums, False, False, point, {}, "gradient")
    result: NDArray[Any] = _core.numbers_array(list(row), (len(point),))
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
    (shapes,) = _core.structure_of(tuple(point), (int(wrt),)).leaf_shapes()
    _check_is_number(point, int(wrt), shapes)
    return point, int(wrt)


def _check_is_number(point: Sequence[Any], wrt: int, shapes: list[Shape]) -> None:
    if shapes != [()] or isinstance(point[wrt], (list, tuple, dict)):
        raise TypeError(
            f"derivatives by a number: but args[{wrt}] is a {type(point[wrt]).__name__}; use "
            "cadiff.grad or cadiff.jacobian for arrays and containers"
        )


def _check_mode(mode: str) -> None:
    if mode not in ("auto", "fwd", "rev"):
        raise ValueError(f'mode is "auto", "fwd" or "rev", not {mode!r}')


# --- reverse mode ----------------------------------------------------------------------------


class Pullback:
    """Maps cotangents of what f returned to cotangents of its arguments; made by `vjp`."""

    # A frozen map pulls faster than a recording; making it costs as much as some pulls.
    FREEZE_AFTER = 8

    def __init__(self, recording: Recording, output: Output, single: bool) -> None:
        self._recording: Recording | None = recording
        self._structure = recording.structure.bare()
        self._output = output
        self._single = single
        self._calls = 0
        self._frozen: FrozenMap | None = None

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pullback cannot be pickled: it holds a recording; pickle the function")

    def __call__(self, cotangent: Any) -> Any:
        weights = self._output.match(cotangent, "the cotangent")
        if self._recording is None:
            assert self._frozen is not None
            atoms = carried(self._frozen, weights, _all_shapes(self._structure), True)
        else:
            atoms = self._recording.pull(self._output.atoms, weights)
            self._calls += 1
            if self._calls == self.FREEZE_AFTER:
                self._freeze(self._recording)
        count = len(self._structure.leaf_shapes())
        cotangents = tuple(self._structure.rebuild(k, atoms) for k in range(count))
        return cotangents[0] if self._single else cotangents

    def _freeze(self, recording: Recording) -> None:
        """Let go of the recording, if a frozen map can do its work."""
        self._frozen = recording.freeze(self._output.atoms)
        if self._frozen is not None:
            self._recording = None
            self._output.atoms = []


def _own(atom: Any) -> Any:
    """An atom of which nobody else can change the elements."""
    return copy(atom) if _core.shape(atom) else atom


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
    check_function("vjp", f)
    recording = Recording(primals, tuple(range(len(primals))), f=f)
    keep = False
    try:
        out = f(*recording.lifted)
        aux = None
        if has_aux:
            out, aux = _core.split_aux(out)
        output = Output(out)
        values, aux = recording.settle(output.atoms), recording.settle(aux)
        # What is returned may be assigned to, and so may what f put aside; the pullback is of what
        # it was.
        values, aux = handed_out(values), _core.map_numbers(aux, _own)
        output.atoms = output.own_atoms()
        keep = True
    finally:
        recording.close(keep=keep)
    result = (output.fill(values), Pullback(recording, output, len(primals) == 1))
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
        recording = Recording(args, self._argnums, f=self._function)
        try:
            out = self._function(*recording.lifted, **kwargs)
            matrix = recording.plain_jacobian(out, self._mode == "auto") if self._single else None
            if matrix is not None:
                return matrix
            output = Output(out)
            structure = recording.structure
            blocks = self._sweep(recording, output)
            output.atoms.clear()  # Vars that are alive when the tape is rewound have to be found
        finally:
            out = None
            recording.close()
        return self._assemble(blocks, output, structure)

    def _sweep(self, recording: Recording, output: Output) -> list[list[Any]]:
        """For each output atom and each input atom the block of shape out.shape + in.shape."""
        if not recording.is_plain(output.atoms):
            return _blocks_by_pulls(recording, output)
        matrix = recording.jacobian(output.atoms, self._mode == "auto")
        shapes = _all_shapes(recording.structure)
        return [
            [_cut(matrix[rows, columns], above + leaf) for columns, leaf in _parts(shapes)]
            for rows, above in _parts(output.shapes)
        ]

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output, primals, tangents, structure, _ = _run_forward(
            self._function, args, kwargs, self._argnums, None
        )
        shapes = _all_shapes(structure)
        blocks = []
        for primal, tangent in zip(primals, tangents, strict=True):
            whole = _with_lanes(primal, tangent, sum(map(prod, shapes)))
            blocks.append(
                [
                    reshape(whole[..., part], _core.shape(primal) + leaf)
                    for part, leaf in _parts(shapes)
                ]
            )
        return self._assemble(blocks, output, structure)

    def _assemble(self, blocks: list[list[Any]], output: Output, structure: Structure) -> Any:
        """Put blocks in containers: those of the input, inside those of the output."""
        return output.fill([_fill(row, structure, self._single) for row in blocks])


def _with_lanes(primal: Any, tangent: Any, lanes: int) -> Any:
    """A tangent as an array whose last axis are the lanes, which may be missing: then it is 0."""
    if isinstance(tangent, tuple):
        return _core.numbers_array(list(tangent), (lanes,))
    if _core.ndim(tangent) > _core.ndim(primal):
        return tangent
    return np.zeros((*_core.shape(primal), lanes))


def _cut(block: NDArray[Any], shape: Shape) -> Any:
    return block.reshape(shape).copy() if shape != () else float(block.item())


def _blocks_by_pulls(recording: Recording, output: Output) -> list[list[Any]]:
    """Blocks of the Jacobian that carry derivatives, or belong to such: a pull for each number."""
    blocks = []
    inputs = _all_shapes(recording.structure)
    for index, shape in enumerate(output.shapes):
        rows = []
        for k in range(prod(shape)):
            seeds = [_unit(s, k if i == index else -1) for i, s in enumerate(output.shapes)]
            rows.append(recording.pull(output.atoms, seeds))
        blocks.append(
            [
                reshape(stack([row[i] for row in rows]), shape + leaf)
                if rows
                else np.zeros(shape + leaf)
                for i, leaf in enumerate(inputs)
            ]
        )
    return blocks


def _unit(shape: Shape, k: int) -> Any:
    """An atom of zeros, but for a 1 at the k-th place if k is not negative."""
    flat = np.zeros(prod(shape))
    flat[k : k + 1 if k >= 0 else 0] = 1.0
    return flat.reshape(shape) if shape != () else flat.item()


def _fill(atoms: Sequence[Any], structure: Structure, single: bool) -> Any:
    """Atoms in the containers of the arguments."""
    counts = [len(shapes) for shapes in structure.leaf_shapes()]
    bounds = pairwise(accumulate(counts, initial=0))
    arguments = [
        structure.fill(k, [_result(atom) for atom in atoms[begin:end]])
        for k, (begin, end) in enumerate(bounds)
    ]
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
        "rev" records f once and sweeps back, for several outputs at once if they are many. "fwd"
        runs f once on Duals with a lane for each input, and records nothing. "auto" records once
        and sweeps whichever way is cheaper.

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
            atoms = Output(self._function(*args, **kwargs)).atoms
            return sum(total_of(atom) for atom in atoms)

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
        recording = Recording(args, self._argnums, f=self._function)
        matrix: NDArray[Any] | None = None
        blocks: list[list[Any]]
        try:
            number = _core.scalar_output(
                self._function(*recording.lifted, **kwargs), name=self._name
            )
            if recording.is_plain([number]):
                if recording.has_rules:
                    matrix = recording.hessian_by_rows(number)
                else:
                    matrix = recording.hessian(number)
            structure = recording.structure
            number = None
        finally:
            recording.close()
        shapes = _all_shapes(structure)
        if matrix is not None and not any(shapes):
            blocks = matrix.tolist()  # numbers alone
        elif matrix is not None:
            blocks = [
                [_cut(matrix[rows, columns], above + leaf) for columns, leaf in _parts(shapes)]
                for rows, above in _parts(shapes)
            ]
        else:
            # Inputs or closures carry derivatives themselves: differentiate twice.
            pairs = _gradient_along(self._function, args, kwargs, self._argnums, None)
            blocks = []
            for primal, tangent in pairs:
                whole = _with_lanes(primal, tangent, sum(map(prod, shapes)))
                above = _core.shape(primal)
                blocks.append(
                    [reshape(whole[..., part], above + leaf) for part, leaf in _parts(shapes)]
                )
        return _fill_rows(
            [_fill(row, structure, self._single) for row in blocks], structure, self._single
        )


def _fill_rows(rows: Sequence[Any], structure: Structure, single: bool) -> Any:
    """Containers in the containers of the arguments."""
    counts = [len(shapes) for shapes in structure.leaf_shapes()]
    bounds = pairwise(accumulate(counts, initial=0))
    arguments = [structure.fill(k, rows[begin:end]) for k, (begin, end) in enumerate(bounds)]
    return arguments[0] if single else tuple(arguments)


def _gradient_along(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: tuple[int, ...],
    tangents: Sequence[Any] | None,
) -> list[tuple[Any, Any]]:
    """Of each atom of the gradient its value and its derivative along tangents.

    None stands for all unit vectors, as lanes.
    """
    atoms, structure = _core.take_apart(args, argnums)
    lanes = -1
    if tangents is None:
        shapes = _all_shapes(structure)
        tangents, lanes = _identity(shapes), sum(map(prod, shapes))
    with _core.Forward(lanes, (f, args)) as tag:
        lifted = list(args)
        for k, argument in zip(argnums, _lift(structure, atoms, tangents, tag), strict=True):
            lifted[k] = argument
        gradients = Grad("grad", f, argnums)(*lifted, **kwargs)
        entries, _ = _core.take_apart(gradients, tuple(range(len(argnums))))
        pairs = [_core.split_dual(entry, tag) for entry in entries]
        settle_doubts(chain.from_iterable(pairs))
        return pairs


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
        structure = _core.structure_of((args[k],), (0,))
        direction = structure.match((v,), ["the direction v"])
        if not any(isinstance(atom, (Var, Dual)) for atom in direction):
            recording = Recording(args, self._argnums, f=self._function)
            product: list[Any] | None = None
            try:
                number = _core.scalar_output(
                    self._function(*recording.lifted, **kwargs), name=self._name
                )
                if recording.is_plain([number]) and recording.passes_rules:
                    with _core.Forward():
                        product = recording.hessian_product(number, direction)
                        settle_doubts(product)
                number = None
            finally:
                recording.close()
            if product is not None:
                return structure.rebuild(0, product)
        pairs = _gradient_along(self._function, args, kwargs, self._argnums, direction)
        return structure.rebuild(0, [_result(tangent) for _, tangent in pairs])


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
    high, low = (_core.strip(Output(f(*point)).atoms) for point in (there, here))
    quotients = [(np.asarray(y) - np.asarray(x)) / h for x, y in zip(low, high, strict=True)]
    return all(bool(np.all(np.isclose(q, suspect, rtol=rtol, atol=atol))) for q in quotients)


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
    atoms, structure = _core.take_apart((tree,), (0,))
    parts: list[Any] = []
    for single, run in groupby(atoms, lambda atom: _core.shape(atom) == ()):
        if single:
            numbers = list(run)
            parts.append(_core.numbers_array(numbers, (len(numbers),)))
        else:
            parts += [reshape(atom, -1) for atom in run]
    vector: FloatArray = concatenate(parts) if parts else np.empty(0)
    return vector, _Unflatten(structure, vector.size)


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
