"""Jacobians: by columns in forward mode, by rows in reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import binding
from ..binding import Recording, Structure
from ..operations.arrays import reshape, stack
from ._base import Function, Mode, P, Transform, answering, check_mode
from ._blocks import InBlocks, blocks_of_matrix, blocks_of_tangents
from ._forward import parted, run_forward
from ._holomorphic import COMPLEX_RESULT, NO_COMPLEX_RESULT, AlongReal, RealParts, check_complex
from ._outputs import Output, Shape, as_result


class Jacobian(Transform):
    def __init__(
        self,
        name: str,
        function: Function,
        argnums: int | Sequence[int],
        mode: Mode,
        holomorphic: bool = False,
    ) -> None:
        check_mode(mode)
        super().__init__(name, function, argnums, holomorphic=holomorphic)
        self._mode = mode

    @property
    def settings(self) -> tuple[Any, ...]:
        return *super().settings, self._mode

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._own is not None and self._mode != "rev":
            name = "jacfwd" if self._mode == "fwd" else self._name
            answer = self._by_function(args, kwargs, name)
            if answer is not NotImplemented:
                return answer
        if self._holomorphic:
            argnums = self._argnums[0] if self._single else self._argnums
            check_complex(self._name, args, self._argnums)
            if self._mode == "rev":
                return OfParts(self._name, RealParts(self._name, self._function), argnums, "rev")(
                    *args, **kwargs
                )
            along = AlongReal(self._function, args, self._argnums)
            return _OfPairs(self._name, along, argnums, self._mode)(*along.args, **kwargs)
        if self._mode == "fwd":
            matrix = NotImplemented if kwargs else self._at_plain_point(args)
            return self._forward(args, kwargs) if matrix is NotImplemented else matrix
        with Recording(args, self._argnums, f=self._function) as recording:
            out = recording.run_function(self._function, kwargs)
            matrix = None
            if self._single:
                matrix = binding.plain_jacobian(recording, out, self._mode == "auto")
            if matrix is not None:
                out = None  # Vars that are alive when the tape is rewound have to be found
                return matrix
            output, out = Output(out), None
            structure = recording.structure
            blocks = self._sweep(recording, output)
            output.atoms.clear()
        return self._assemble(blocks, output, structure)

    # Whether f may return complex numbers, or take them, each as its two parts.
    _takes_pairs = False

    def _sweep(self, recording: Recording, output: Output) -> list[list[Any]]:
        """For each output atom and each input atom the block of shape out.shape + in.shape."""
        if not recording.is_plain(output.atoms):
            return _blocks_by_pulls(recording, output)
        matrix = binding.jacobian_of(recording, output.atoms, self._mode == "auto")
        return blocks_of_matrix(matrix, output.shapes, recording.structure.shapes)

    def _at_plain_point(self, args: tuple[Any, ...]) -> Any:
        """By forward mode, by the one argument, if that is a float or an array of float64."""
        is_plain = len(args) == 1 and type(args[0]) in (float, np.ndarray)
        if not is_plain or self._argnums != (0,) or not self._single:
            return NotImplemented
        tangent, lanes, below = 1.0, -1, [binding.shape(args[0])]
        if type(args[0]) is np.ndarray:
            columns = InBlocks(below)
            if not columns.are_one:
                return NotImplemented
            [([tangent], lanes)] = columns

        def assembled(out: Any, tag: int) -> tuple[None, Any]:
            output, primals, along = parted(out, tag)
            pairs = [*zip(primals, along, strict=True)]
            blocks = blocks_of_tangents(pairs, below) if lanes > 0 else [[t] for t in along]
            return None, self._assemble(blocks, output, binding.structure_of(args, (0,)))

        answer = binding.push_plain(self._function, args, (tangent,), assembled, lanes)
        if answer is NotImplemented:
            return NotImplemented
        primal, matrix = answer
        return matrix if lanes < 0 or primal is None else matrix.reshape(primal.shape + below[0])

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        columns = InBlocks(binding.structure_of(args, self._argnums).shapes)
        for tangents, lanes in columns:
            output, primals, along, structure, _ = run_forward(
                self._function, args, kwargs, self._argnums, tangents, lanes=lanes
            )
            columns.add([*zip(primals, along, strict=True)], lanes)
        blocks = blocks_of_tangents(columns.pairs, structure.shapes)
        return self._assemble(blocks, output, structure)

    def _assemble(self, blocks: list[list[Any]], output: Output, structure: Structure) -> Any:
        """Put blocks in containers: those of the input, inside those of the output."""
        are_complex = output.is_complex, structure.has_complex
        if all(are_complex) or (any(are_complex) and not self._takes_pairs):
            raise TypeError(COMPLEX_RESULT.format(name=self._name))
        rows = [structure.conjugated([*map(as_result, row)]) for row in blocks]
        return output.fill([structure.in_containers(row, self._single) for row in rows])


class OfParts(Jacobian):
    """The Jacobian of complex numbers by real ones, or of these by complex ones: u_x - i u_y."""

    _takes_pairs = True


class _OfPairs(OfParts):
    """The Jacobian, by real parts, of a function that returns complex numbers."""

    def _assemble(self, blocks: list[list[Any]], output: Output, structure: Structure) -> Any:
        if len(output.shapes) != 2 * len(output.imaginary):
            raise TypeError(NO_COMPLEX_RESULT.format(name=self._name))
        return super()._assemble(blocks, output, structure)


def _blocks_by_pulls(recording: Recording, output: Output) -> list[list[Any]]:
    """Blocks of the Jacobian that carry derivatives, or belong to such: a pull for each number."""
    blocks = []
    inputs = recording.structure.shapes
    for index, shape in enumerate(output.shapes):
        rows = []
        for k in range(prod(shape)):
            seeds = [_unit(s, k if i == index else -1) for i, s in enumerate(output.shapes)]
            rows.append(binding.pull_recording(recording, output.atoms, seeds))
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


@answering
def jacobian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    mode: Mode = "auto",
    holomorphic: bool = False,
) -> Callable[P, Any]:
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
        runs f on Duals with a lane for each input, for 17 million numbers of all lanes at a
        time, and records nothing. "auto" records once and sweeps whichever way is cheaper.
    holomorphic : bool
        f is an analytic function of complex arguments: its complex Jacobian is wanted.

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
    return Jacobian("jacobian", f, argnums, mode, holomorphic)


@answering
def jacfwd(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, holomorphic: bool = False
) -> Callable[P, Any]:
    """The Jacobian by forward mode: `jacobian(f, argnums, mode="fwd")`."""
    return Jacobian("jacfwd", f, argnums, "fwd", holomorphic)


@answering
def jacrev(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, holomorphic: bool = False
) -> Callable[P, Any]:
    """The Jacobian by reverse mode: `jacobian(f, argnums, mode="rev")`."""
    return Jacobian("jacrev", f, argnums, "rev", holomorphic)
