"""Reverse mode: one run on Vars, and a sweep back over what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, TypeGuard, overload

import numpy as np

from .. import binding
from ..binding import FrozenMap, Recording, Var
from ..operations.arrays import concatenate, reshape
from ..operations.arrays import sum as total_of
from ..operations.primitives import primitive
from ._base import A, Function, P, Transform, answering, check_function, own_derivatives, run_at
from ._holomorphic import COMPLEX_RESULT, complex_derivative
from ._outputs import Output, Shape, handed_out, own, places


class Grad(Transform):
    _gives_value = False

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._own is not None or kwargs:
            answer = self._by_function(args, kwargs)
            if answer is not NotImplemented:
                return answer
        differentiate = complex_derivative if self._holomorphic else binding.value_and_grad
        value, gradient, aux = differentiate(
            self._function, self._argnums, self._single, self._has_aux, args, kwargs, self._name
        )
        if self._gives_value:
            return ((value, aux), gradient) if self._has_aux else (value, gradient)
        return (gradient, aux) if self._has_aux else gradient


class ValueAndGrad(Grad):
    _gives_value = True


@overload
def grad(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
) -> Callable[P, Any]: ...
@overload
def grad(
    f: Callable[P, tuple[Any, A]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
) -> Callable[P, tuple[Any, A]]: ...
@answering
def grad(
    f: Function,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The gradient of a function of one number, by reverse mode.

    Parameters
    ----------
    f : callable
        Returns one real number; with `has_aux`, a pair of that and anything else.
    argnums : int or tuple of ints
        The positional argument or arguments to differentiate by. Each is a float, an ndarray, or
        a nested container of them: a list, tuple, dict, dataclass, or what `register_container`
        was told of. Arrays of 32,768 elements or more are read where
        they are: f does not write into them.
    has_aux : bool
        Return `(gradient, aux)`.
    holomorphic : bool
        f is an analytic function of complex arguments, and returns a complex number: its
        derivative, a complex number, is wanted.

    Returns
    -------
    callable
        Called like f. The gradient has the structure of the argument (a tuple of them for a tuple
        of argnums); floats are floats, arrays are fresh arrays of the argument's shape. By a
        complex z = x + iy it is df/dx - i df/dy, whose conjugate is the direction of steepest
        ascent, as autograd and JAX have it; PyTorch's is that conjugate.

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
    return Grad("grad", f, argnums, has_aux=has_aux, holomorphic=holomorphic)


@overload
def value_and_grad(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[False] = ...,
    holomorphic: Literal[False] = ...,
) -> Callable[P, tuple[float, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[Any, A]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[True],
    holomorphic: Literal[False] = ...,
) -> Callable[P, tuple[tuple[float, A], Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[False] = ...,
    holomorphic: Literal[True],
) -> Callable[P, tuple[complex, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[Any, A]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[True],
    holomorphic: Literal[True],
) -> Callable[P, tuple[tuple[complex, A], Any]]: ...
@answering
def value_and_grad(
    f: Function,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Value and gradient in one run: `(value, gradient)`, or `((value, aux), gradient)`.

    Parameters, gradients and errors are those of `grad`; the value is a float. It is what
    `scipy.optimize.minimize(..., jac=True)` takes.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.value_and_grad(lambda x: x[0] * x[1])([3.0, 4.0])
    (12.0, [4.0, 3.0])
    """
    return ValueAndGrad("value_and_grad", f, argnums, has_aux=has_aux, holomorphic=holomorphic)


class ElementwiseGrad(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        def total(*args: Any) -> Any:
            output = Output(self._function(*args, **kwargs))
            if output.is_complex and not self._holomorphic:
                raise TypeError(COMPLEX_RESULT.format(name=self._name))
            imaginary = output.imaginary
            return sum(total_of(x) for k, x in enumerate(output.atoms) if k not in imaginary)

        _, gradient, _ = binding.value_and_grad(
            total, self._argnums, self._single, False, args, {}, self._name
        )
        return gradient


@overload  # which may be called with arrays, beside the numbers that its first signature has
def elementwise_grad(
    f: np.ufunc, argnums: int | Sequence[int] = ..., *, holomorphic: bool = ...
) -> Callable[..., Any]: ...
@overload
def elementwise_grad(
    f: Callable[P, Any], argnums: int | Sequence[int] = ..., *, holomorphic: bool = ...
) -> Callable[P, Any]: ...
@answering
def elementwise_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, holomorphic: bool = False
) -> Callable[..., Any]:
    """The derivative of each output by the input of the same index, for elementwise functions.

    It is the gradient of the sum of all outputs, in one reverse sweep.

    Parameters
    ----------
    f : callable
        Returns numbers or arrays, each element of which depends on one element of the argument.
        (Of other functions the derivatives of all outputs are added up.)
    argnums : int or tuple of ints
        As for `grad`.
    holomorphic : bool
        f is an analytic function of complex arguments; complex results want it.

    Returns
    -------
    callable
        Called like f; gives derivatives in the containers and shapes of the argument.

    Raises
    ------
    TypeError
        If f returns something else than real numbers, or an argument holds such.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> cadiff.elementwise_grad(cadiff.square)(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """
    return ElementwiseGrad("elementwise_grad", f, argnums, holomorphic=holomorphic)


class Pullback:
    """Maps cotangents of what f returned to cotangents of its arguments; made by `vjp`."""

    FREEZE_AFTER = 8  # calls of a replay's, for which other calls wait meanwhile

    def __init__(self, recording: Recording, out: Output | Var, count: int) -> None:
        self._recording: Recording | None = recording
        self._structure = recording.structure
        self._out = out
        self._atoms = [out] if isinstance(out, Var) else out.atoms
        self._count = count
        self._calls = 0
        self._frozen: FrozenMap | None = None

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pullback cannot be pickled: it holds a recording; pickle the function")

    def __call__(self, cotangent: Any) -> Any:
        recording, out = self._recording, self._out
        if recording is not None and not recording.is_replay and _is_of(out, cotangent):
            cotangents = binding.pull_one(recording, out, cotangent)
            return cotangents[0] if self._count == 1 else cotangents
        weights = self._matched(cotangent)
        if recording is not None and recording.is_replay:
            # Cotangents that carry derivatives are on another tape than a replay.
            if self._calls == self.FREEZE_AFTER or binding.carries(weights):
                self._freeze(recording)
            self._calls += 1
        if self._recording is not None:
            atoms = binding.pull_recording(self._recording, self._atoms, weights)
        else:
            assert self._frozen is not None
            atoms = carried(self._frozen, weights, self._structure.shapes, True)
        cotangents = tuple([self._structure.cotangent(k, atoms) for k in range(self._count)])
        return cotangents[0] if self._count == 1 else cotangents

    def _matched(self, cotangent: Any) -> list[Any]:
        """A cotangent for each atom."""
        if isinstance(self._out, Var):
            self._out = Output(self._out)
            self._atoms = self._out.atoms
        return self._out.conjugated(self._out.match(cotangent, "the cotangent"))

    def _freeze(self, recording: Recording) -> None:
        """Let go of the recording, if a frozen map can do its work."""
        self._frozen = binding.freeze(recording, self._atoms)
        if self._frozen is not None:
            self._recording, self._structure = None, self._structure.bare()
            self._atoms.clear()


def _is_of(out: Output | Var, cotangent: Any) -> TypeGuard[Var]:
    """Whether f returned one Var, and a cotangent is a float or array of float64, as that is."""
    if type(cotangent) is float:
        return isinstance(out, Var) and out.shape == ()
    if type(cotangent) is not np.ndarray or cotangent.dtype != np.float64:
        return False
    return isinstance(out, Var) and out.shape == cotangent.shape


@overload
def vjp(
    f: Function, *primals: Any, has_aux: Literal[False] = ...
) -> tuple[Any, Callable[[Any], Any]]: ...
@overload
def vjp(
    f: Function, *primals: Any, has_aux: Literal[True]
) -> tuple[Any, Callable[[Any], Any], Any]: ...
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
    [6.0, 5.0]
    >>> pullback([1.0, 10.0])
    (13.0, 12.0)
    """
    check_function("vjp", f)
    ask = None if has_aux else own_derivatives(f)
    if ask is not None:
        answer = ask("vjp", primals, {})
        if answer is not NotImplemented:
            return answer
    with Recording(primals, tuple(range(len(primals))), f=f) as recording:
        out = run_at("vjp", recording, f, primals)
        pair = None if has_aux else recording.value_of(out)
        if pair is not None:
            recording.keep()
            value, out = pair
            return value, Pullback(recording, out, len(primals))
        aux = None
        if has_aux:
            out, aux = binding.split_aux(out)
        output = Output(out)
        # What is returned may be assigned to, and so may what f put aside; the pullback is of what
        # it was.
        values = handed_out(recording.finalize(output.atoms))
        if has_aux:
            aux = binding.map_numbers(recording.finalize(aux), own)
        output.atoms = output.own_atoms()
        recording.keep()
    result = (output.restored(values), Pullback(recording, output, len(primals)))
    return (*result, aux) if has_aux else result


# --- frozen linear maps --------------------------------------------------------------------------

# The core pushes and pulls plain vectors. A vector with derivatives goes through a primitive: its
# rules are the map itself and its transpose, so derivatives of all orders are right.

MOST_ENTRIES = 1 << 28  # of a map whose matrix is computed to find its structure, ...
COLUMNS = 64  # ... so many at a time


def carried_vector(frozen: FrozenMap, vector: Any, back: bool) -> Any:
    """A vector through the map, or back through its transpose."""
    if not binding.carries(vector):
        return frozen.carry_columns(vector, back)
    return _differentiable(frozen, back)(vector)


def _differentiable(frozen: FrozenMap, back: bool) -> primitive:
    @primitive
    def linear_map(vector: Any) -> Any:
        return frozen.carry_columns(vector, back)

    linear_map.defvjp(lambda ans, v: lambda g: carried_vector(frozen, g, not back))
    linear_map.defjvp(lambda g, ans, v: carried_vector(frozen, g, back))
    linear_map.defpattern(lambda ans, v: _entries(frozen, back, ans.size, v.size))
    return linear_map


def _entries(frozen: FrozenMap, back: bool, m: int, n: int) -> Any:
    """Where the matrix of the map is not 0, all of it if that would take long to find."""
    if m * n > MOST_ENTRIES:
        return "i->j"
    places = [np.zeros((2, 0), np.intp)]
    for begin in range(0, n, COLUMNS):
        unit = np.eye(n, min(COLUMNS, n - begin), -begin)
        rows, columns = np.nonzero(frozen.carry_columns(unit, back))
        places.append(np.stack([rows, columns + begin]))
    return tuple(np.concatenate(places, axis=1))


def joined(atoms: Sequence[Any]) -> Any:
    """Numbers and arrays as one vector."""
    if len(atoms) == 1 and binding.shape(atoms[0]):
        return reshape(atoms[0], -1)
    if all(type(atom) is float for atom in atoms):
        return np.array(atoms)
    if all(binding.shape(atom) == () for atom in atoms):
        return binding.numbers_array(list(atoms), (len(atoms),))
    return concatenate([reshape(atom, -1) for atom in atoms])


def parted(vector: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The numbers and arrays of these shapes that stand in a vector."""
    if isinstance(vector, np.ndarray) and not any(shapes):
        return list(vector.tolist())
    return [_part(vector, place, shape) for place, shape in places(shapes)]


def _part(vector: Any, place: slice, shape: Shape) -> Any:
    if shape == ():
        number = vector[place.start]
        return number.item() if isinstance(vector, np.ndarray) else number
    part = reshape(vector[place], shape)
    return part.copy() if isinstance(part, np.ndarray) and part.size < len(vector) else part


def carried(
    frozen: FrozenMap, atoms: Sequence[Any], shapes: Sequence[Shape], back: bool
) -> list[Any]:
    """Atoms through the map or its transpose: atoms of other shapes."""
    return parted(carried_vector(frozen, joined(atoms), back), shapes)
