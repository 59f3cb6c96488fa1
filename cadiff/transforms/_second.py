"""Second derivatives of functions of one number.

They come from sweeps of second order over one recording, or, where inputs or closures carry
derivatives themselves, from forward over reverse mode.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from numpy.typing import NDArray

from .. import binding
from ..binding import Dual, Recording, Var
from ..operations.missing_derivatives import report_doubts
from ._base import Function, P, Transform, answering
from ._blocks import InBlocks, blocks_of_matrix, blocks_of_tangents
from ._forward import lift
from ._outputs import as_result, check_real
from ._reverse import Grad


class Hessian(Transform):
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._own is not None or kwargs:
            answer = self._by_function(args, kwargs)
            if answer is not NotImplemented:
                return answer
        matrix: NDArray[Any] | None = None
        blocks: list[list[Any]]
        with Recording(args, self._argnums, f=self._function) as recording:
            check_real(self._name, recording.structure)
            number = binding.scalar_output(
                recording.run_function(self._function, kwargs), name=self._name
            )
            if recording.is_plain([number]):
                if recording.has_rules:
                    matrix = binding.hessian_by_rows(recording, number)
                else:
                    matrix = binding.hessian_of(recording, number)
            structure = recording.structure
            number = None
        shapes = structure.shapes
        if matrix is not None and not any(shapes):
            blocks = matrix.tolist()  # numbers alone
        elif matrix is not None:
            blocks = blocks_of_matrix(matrix, shapes, shapes)
        else:
            # Inputs or closures carry derivatives themselves: differentiate twice.
            by_lanes = InBlocks(shapes)
            for tangents, lanes in by_lanes:
                by_lanes.add(
                    _gradient_along(self._function, args, kwargs, self._argnums, tangents, lanes),
                    lanes,
                )
            blocks = blocks_of_tangents(by_lanes.pairs, shapes)
        rows = [structure.in_containers([*map(as_result, row)], self._single) for row in blocks]
        return structure.in_containers(rows, self._single)


@answering
def hessian(f: Callable[P, Any], argnums: int | Sequence[int] = 0) -> Callable[P, Any]:
    """The Hessian of a function that returns one number.

    f is recorded once; each second-order sweep gives some of the columns.

    Parameters
    ----------
    f : callable
        Returns one number.
    argnums : int or tuple of ints
        As for `grad`.

    Returns
    -------
    callable
        Called like f; gives an array of shape `in.shape + in.shape`. For containers, and for
        several argnums, it is a container of containers.

    Raises
    ------
    TypeError
        If f does not return one number, or an argument holds something else than real numbers.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> cadiff.hessian(lambda x: x[0] ** 2 * x[1])(np.array([0.0, 3.0]))
    array([[6., 0.],
           [0., 0.]])
    """
    return Hessian("hessian", f, argnums)


_NONE = object()


class HessianProduct(Transform):
    def __call__(self, first: Any, v: Any = _NONE, /, *others: Any, **kwargs: Any) -> Any:
        if v is _NONE:
            raise TypeError("hvp(f) takes a direction behind the point: write hvp(f)(x, v)")
        if self._own is not None or kwargs:
            answer = self._by_function((first, v, *others), kwargs)
            if answer is not NotImplemented:
                return answer
        args = (first, *others)
        k = self._argnums[0]
        if not -len(args) <= k < len(args):
            raise TypeError(f"argnums={k}, but there are {len(args)} arguments beside v")
        structure = binding.structure_of((args[k],), (0,))
        check_real(self._name, structure)
        direction = structure.match((v,), ["the direction v"])
        if not any(isinstance(atom, (Var, Dual)) for atom in direction):
            product: list[Any] | None = None
            with Recording(args, self._argnums, f=self._function) as recording:
                number = binding.scalar_output(
                    recording.run_function(self._function, kwargs), name=self._name
                )
                if recording.is_plain([number]) and recording.passes_rules:
                    with binding.Forward():
                        product = binding.hessian_product(recording, number, direction)
                        report_doubts(product)
                number = None
            if product is not None:
                return structure.rebuild(0, product)
        pairs = _gradient_along(self._function, args, kwargs, self._argnums, direction)
        return structure.rebuild(0, [as_result(tangent) for _, tangent in pairs])

    def _takes(self, parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
        direction = inspect.Parameter("v", inspect.Parameter.POSITIONAL_ONLY)
        if not parameters or parameters[0].kind > inspect.Parameter.POSITIONAL_OR_KEYWORD:
            return parameters
        first = direction.replace(name=parameters[0].name, annotation=parameters[0].annotation)
        return [first, direction, *parameters[1:]]


@answering
def hvp(f: Function, argnums: int = 0) -> Callable[..., Any]:
    """Hessian times vector, at one and a half to three times the price of the gradient.

    Parameters
    ----------
    f : callable
        Returns one number.
    argnums : int
        By which argument.

    Returns
    -------
    callable
        `h(first argument, v, *others)`, which SciPy calls `hessp`. v has the structure and the
        shapes of argument `argnums`, and so has the product.

    Raises
    ------
    TypeError
        If f does not return one number.
    ValueError
        If v has another structure than the argument.

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


def _gradient_along(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: tuple[int, ...],
    tangents: Sequence[Any],
    lanes: int = -1,
) -> list[tuple[Any, Any]]:
    """Of each atom of the gradient its value and its derivative along tangents."""
    atoms, structure = binding.take_apart(args, argnums)
    with binding.Forward(lanes, (f, args)) as tag:
        lifted = lift(args, argnums, structure, atoms, tangents, tag)
        gradients = Grad("grad", f, argnums)(*lifted, **kwargs)
        entries, _ = binding.take_apart(gradients, tuple(range(len(argnums))))
        pairs = [binding.split_dual(entry, tag) for entry in entries]
        report_doubts(chain.from_iterable(pairs))
        return pairs
