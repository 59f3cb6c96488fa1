"""Linear maps: the derivative of a function at a point, made once and used many times."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import FrozenMap, Recording, Structure
from ..operations.arrays import stack
from ._base import check_function, run_at
from ._outputs import Output, Shape, handed_out
from ._pages import page
from ._reverse import carried, joined, parted, vjp


class _Frozen:
    """A map whose results are plain: it holds numbers only, no tape."""

    def __init__(self, frozen: FrozenMap, structure: Structure, outputs: list[Shape]) -> None:
        self._frozen = frozen
        self._structure = structure
        self._outputs = outputs

    @functools.cached_property
    def _inputs(self) -> list[Shape]:
        return self._structure.shapes

    def fits(self, inputs: list[Shape], outputs: list[Shape]) -> bool:
        """Whether it maps numbers of these shapes."""
        shapes = self._inputs, self._outputs
        sizes = self._frozen.n, self._frozen.m
        return shapes == (inputs, outputs) and sizes == tuple(sum(map(prod, x)) for x in shapes)

    def push_atoms(self, atoms: Sequence[Any]) -> list[Any]:
        return carried(self._frozen, atoms, self._outputs, False)

    def pull_atoms(self, atoms: Sequence[Any]) -> list[Any]:
        return carried(self._frozen, atoms, self._inputs, True)

    def dense(self) -> NDArray[np.float64]:
        return self._frozen.dense()

    def carry_columns(self, matrix: NDArray[np.float64], back: bool) -> NDArray[np.float64]:
        return self._frozen.carry_columns(matrix, back)


class _Recorded:
    """A map whose results may carry derivatives, or with rules in it: it keeps the recording."""

    def __init__(
        self, recording: Recording, atoms: list[Any], inputs: list[Shape], outputs: list[Shape]
    ) -> None:
        self._recording = recording
        self._atoms = atoms
        self._inputs = inputs
        self._outputs = outputs

    def fits(self, inputs: list[Shape], outputs: list[Shape]) -> bool:
        return (self._inputs, self._outputs) == (inputs, outputs)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "this LinearMap cannot be pickled: it holds a recording, since its results carry "
            "derivatives or an operation with a rule takes part in it; pickle the function"
        )

    def pull_atoms(self, atoms: Sequence[Any]) -> list[Any]:
        return binding.pull_recording(self._recording, self._atoms, list(atoms))

    def push_atoms(self, atoms: Sequence[Any]) -> list[Any]:
        """The pull is linear, so its own pullback, at whatever point, is the push."""
        zeros = parted(np.zeros(sum(map(prod, self._outputs))), self._outputs)
        if not self._atoms or not self._inputs:
            return zeros

        def pulled(weights: list[Any]) -> Any:
            return joined(self.pull_atoms(weights))

        _, transposed = vjp(pulled, zeros)
        pushed: list[Any] = transposed(joined(atoms))
        return pushed

    def dense(self) -> Any:
        m, n = sum(map(prod, self._outputs)), sum(map(prod, self._inputs))
        if m == 0 or n == 0:
            return np.zeros((m, n))
        unit = np.eye(m)
        return stack([joined(self.pull_atoms(parted(unit[i], self._outputs))) for i in range(m)])

    def carry_columns(self, matrix: NDArray[np.float64], back: bool) -> Any:
        carry, shapes = (
            (self.pull_atoms, self._outputs) if back else (self.push_atoms, self._inputs)
        )
        if matrix.ndim == 1:
            return joined(carry(parted(matrix, shapes)))
        columns = [joined(carry(parted(column, shapes))) for column in matrix.T]
        return stack(columns, axis=1)


_MOST_SHOWN = 6  # shapes, in notebooks


def _in_words(size: int, shapes: Sequence[Shape]) -> str:
    """Numbers, and the arrays that they stand in."""
    arrays = [str(shape) for shape in shapes[:_MOST_SHOWN] if shape]
    more = ["..."] if len(shapes) > _MOST_SHOWN else []
    numbers = f"{size:,} number{'' if size == 1 else 's'}"
    return f"{numbers}: {', '.join(arrays + more)}" if arrays else numbers


@functools.cache
def _names(count: int) -> list[str]:
    return [f"tangents[{k}]" for k in range(count)]


_PARTS = {"_action", "_structure", "_output", "_count", "_single", "_transposed"}


class LinearMap:
    """The derivative of a function at a point, as a linear map; made by `linearize`.

    Calling it, or `jvp`, maps tangents of the arguments to the tangent of what f returned; `vjp`
    maps a cotangent of that to cotangents of the arguments. Each is one sweep over numbers that
    were computed once: f is not run again. `<u, lin(t)>` is `<lin.T(u), t>` up to rounding.

    If all results are plain, and no operation with a rule takes part (a primitive, linear
    algebra ...), a map holds no recording: it pickles, and several threads may use it.

    Attributes
    ----------
    shape : tuple of two ints
        (m, n): all numbers of what f returned, and of its arguments, in the order of
        `cadiff.flatten`.
    T : LinearMap
        The transposed map: `lin.T(u)` is `lin.vjp(u)`, and `lin.T.T` is `lin`.

    Examples
    --------
    >>> import cadiff
    >>> out, lin = cadiff.linearize(lambda x, y: [x * y, x + y], 2.0, 3.0)
    >>> lin(1.0, 0.0)
    [3.0, 1.0]
    >>> lin.vjp([1.0, 10.0])
    (13.0, 12.0)
    >>> lin.todense()
    array([[3., 2.],
           [1., 1.]])
    """

    def __init__(
        self,
        action: _Frozen | _Recorded,
        structure: Structure,
        output: Output,
        single: bool,
        transposed: bool = False,
    ) -> None:
        self._action = action
        self._structure = structure
        self._output = output
        self._count = len(structure)
        self._single = single
        self._transposed = transposed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        try:
            self._output.fill(self._output.shapes)
            leaves = self._structure.leaf_shapes()
            inputs = [shape for shapes in leaves for shape in shapes]
            is_whole = state.keys() == _PARTS and self._count == len(leaves)
            is_whole = is_whole and self._action.fits(inputs, self._output.shapes)
        except (AttributeError, IndexError, TypeError):
            is_whole = False
        if not is_whole:
            raise ValueError("these bytes are no LinearMap, or were damaged")

    def __call__(self, /, *vectors: Any) -> Any:
        if not self._transposed:
            return self._push(vectors)
        if len(vectors) != 1:
            raise TypeError(
                f"a transposed LinearMap takes one cotangent, of the structure of what f "
                f"returned, not {len(vectors)}"
            )
        return self._pull(vectors[0])

    __array_ufunc__ = None  # so that an array on the left asks here

    def __matmul__(self, other: Any) -> NoReturn:
        raise TypeError(
            "a LinearMap is called: write lin(t) for lin @ t, lin.T(u) or lin.vjp(u) for u @ lin, "
            "and lin.as_linear_operator() for what multiplies"
        )

    __rmatmul__ = __mul__ = __rmul__ = __matmul__

    def jvp(self, /, *tangents: Any) -> Any:
        """The map of tangents, one for each argument, of its structure: what a call gives."""
        return self(*tangents)

    def vjp(self, u: Any, /) -> Any:
        """The transposed map of a cotangent, of the structure of what the map gives.

        Returns
        -------
        The cotangent of the one argument of f, or a tuple of them.
        """
        if not self._transposed:
            return self._pull(u)
        return self._push((u,) if self._single else _as_tuple(u))

    def _push(self, tangents: tuple[Any, ...]) -> Any:
        count = self._count
        if len(tangents) != count:
            arguments = "1 argument" if count == 1 else f"{count} arguments"
            raise ValueError(f"there are {len(tangents)} tangents for {arguments}")
        atoms = self._structure.match(tangents, _names(count))
        return self._output.restored(self._action.push_atoms(atoms))

    def _pull(self, u: Any) -> Any:
        weights = self._output.conjugated(self._output.match(u, "the cotangent"))
        atoms = self._action.pull_atoms(weights)
        cotangents = tuple([self._structure.cotangent(k, atoms) for k in range(self._count)])
        return cotangents[0] if self._single else cotangents

    @property
    def T(self) -> LinearMap:  # noqa: N802 - as NumPy's
        """The transposed map."""
        return LinearMap(
            self._action, self._structure, self._output, self._single, not self._transposed
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n): how many numbers come out, and how many go in."""
        m = sum(map(prod, self._output.shapes))
        n = sum(prod(shape) for shapes in self._structure.leaf_shapes() for shape in shapes)
        return (n, m) if self._transposed else (m, n)

    def __repr__(self) -> str:
        return f"<cadiff.LinearMap of shape {self.shape}>"

    def _repr_html_(self) -> str:
        """For notebooks: what it maps to what."""
        m, n = self.shape
        shapes = [shape for shapes in self._structure.leaf_shapes() for shape in shapes]
        sides = [_in_words(n, shapes), _in_words(m, self._output.shapes)]
        if self._transposed:
            sides = [_in_words(n, self._output.shapes), _in_words(m, shapes)]
        return page(f"LinearMap of shape {self.shape}", [("of", sides[0]), ("to", sides[1])])

    def todense(self) -> NDArray[np.float64]:
        """The matrix of the map, shape (m, n)."""
        matrix: NDArray[np.float64] = self._action.dense()
        return matrix.T.copy() if self._transposed else matrix

    def as_linear_operator(self) -> Any:
        """The map as a `scipy.sparse.linalg.LinearOperator`, for SciPy's iterative solvers.

        Raises
        ------
        ImportError
            If SciPy is not installed.
        """
        try:
            from scipy.sparse.linalg import LinearOperator
        except ImportError:
            raise ImportError(
                "as_linear_operator makes a LinearOperator of SciPy, which is not installed: "
                "pip install scipy"
            ) from None

        def carry(matrix: NDArray[Any], back: bool) -> Any:
            if np.iscomplexobj(matrix):  # of an iteration, perhaps: the map is real
                return carry(matrix.real, back) + 1j * carry(matrix.imag, back)
            return self._action.carry_columns(matrix, back)

        push = functools.partial(carry, back=self._transposed)
        pull = functools.partial(carry, back=not self._transposed)
        return LinearOperator(
            self.shape,
            matvec=lambda vector: push(np.ravel(vector)),
            rmatvec=lambda vector: pull(np.ravel(vector)),
            matmat=push,
            rmatmat=pull,
            dtype=np.dtype(np.float64),
        )


def _as_tuple(u: Any) -> tuple[Any, ...]:
    if not isinstance(u, (tuple, list)):
        raise TypeError(
            "the cotangent of a transposed LinearMap is a tuple with one entry for each argument "
            f"of f, not {type(u).__name__}"
        )
    return tuple(u)


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, LinearMap]:
    """Value and derivative at a point; the derivative is a linear map, to be used many times.

    Parameters
    ----------
    f : callable
        Called as `f(*primals)`; returns numbers, arrays or containers of them.
    *primals
        The arguments, as for `grad`.

    Returns
    -------
    out
        What f returned.
    LinearMap
        `lin(*tangents)` is the tangent of out, `lin.vjp(u)` the cotangent of the one argument, or
        a tuple of them; f is not run again.

    See Also
    --------
    jvp, vjp : One product at a time.

    Examples
    --------
    Newton's method without ever forming a matrix:

    >>> import cadiff, numpy as np
    >>> from scipy.sparse.linalg import gmres
    >>> x = np.array([1.0, 2.0])
    >>> for _ in range(6):
    ...     out, lin = cadiff.linearize(lambda x: x**2 - np.array([2.0, 3.0]), x)
    ...     x = x - gmres(lin.as_linear_operator(), out, rtol=1e-12)[0]
    >>> x
    array([1.41421356, 1.73205081])
    """
    check_function("linearize", f)
    single = len(primals) == 1
    action: _Frozen | _Recorded
    with Recording(primals, tuple(range(len(primals)))) as recording:
        out = run_at("linearize", recording, f, primals)
        structure = recording.structure.bare()
        number = binding.freeze_number(recording, out)
        if number is not None:
            del out  # Vars that are alive when the tape is rewound have to be found
            action = _Frozen(number[1], structure, _NUMBER.shapes)
            return number[0], LinearMap(action, structure, _NUMBER, single)
        output = Output(out)
        frozen = binding.freeze(recording, output.atoms)
        values = handed_out(recording.finalize(output.atoms))
        if frozen is None:
            inputs = structure.shapes
            action = _Recorded(recording, output.own_atoms(), inputs, output.shapes)
            recording.keep()
        else:
            action = _Frozen(frozen, structure, output.shapes)
        output.atoms = []
        del out
    return output.restored(values), LinearMap(action, structure, output, single)


_NUMBER = Output(0.0)  # what all results of one number have in common
