"""PyTensor, and PyMC above it: functions for cadiff as operations of its graphs.

    import cadiff.interop.pytensor
    log_density = cadiff.interop.pytensor.op(f)
    pm.Potential("likelihood", log_density(a, b))  # in a model of PyMC

PyTensor calls it back from what it compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, grad_undefined
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

from ..transforms._base import answering
from ._seams import Seam, as_tuple, differentiated, unlike

__all__ = ["op"]


@answering
def op(f: Callable[..., Any], *, ndim: int | tuple[int, ...] = 0) -> Op:
    """A function for cadiff as an operation of PyTensor, whose gradients are such operations.

    Parameters
    ----------
    f : callable
        Of arrays by position; returns one array or a tuple of them. It is compiled.
    ndim : int or tuple of ints
        How many axes the result has, or each of the results if f returns a tuple.

    Returns
    -------
    Op
        Called with PyTensor's variables, or what becomes one. Results are float64.
    """
    return _Op(Seam(f), ndim)


class _Op(Op):
    __props__ = ("seam", "ndim")

    def __init__(self, seam: Seam, ndim: int | tuple[int, ...]) -> None:
        self.seam = seam
        self.ndim = ndim

    def __str__(self) -> str:
        return f"cadiff({self.seam.name})"

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        results = [pt.tensor(dtype="float64", shape=(None,) * n) for n in as_tuple(self.ndim)]
        return Apply(self, variables, results)

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        try:
            results = as_tuple(self.seam(*inputs))
        except Exception as error:  # of which PyTensor keeps the text alone
            if notes := getattr(error, "__notes__", None):
                error.args = ("\n".join([str(error), *notes]),)
            raise
        if tuple(x.ndim for x in results) != as_tuple(self.ndim):
            told, way = f"ndim is {self.ndim}", ": write op(f, ndim={ndim})"
            raise unlike(self.seam.name, results, told, way)
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result.astype(np.float64, copy=False)

    def pullback(
        self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """The cotangents of the inputs; undefined of those that are whole numbers."""
        wrt = differentiated([x.dtype for x in inputs])
        given = [
            pt.zeros_like(y) if isinstance(u.type, DisconnectedType) else u
            for y, u in zip(outputs, cotangents, strict=True)
        ]
        ndims = tuple(inputs[k].ndim for k in wrt)
        pulled = _Op(self.seam.pullback(len(inputs), wrt), ndims)
        found = dict(zip(wrt, pulled(*inputs, *given, return_list=True), strict=True))
        return [
            found[k] if k in found else grad_undefined(self, k, x) for k, x in enumerate(inputs)
        ]

    def pushforward(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """The tangents of the outputs."""
        wrt = [k for k, t in enumerate(tangents) if not isinstance(t.type, DisconnectedType)]
        pushed = _Op(self.seam.pushforward(len(inputs), wrt), as_tuple(self.ndim))
        found: list[Any] = pushed(*inputs, *[tangents[k] for k in wrt], return_list=True)
        return found

    if not hasattr(Op, "pullback"):  # before PyTensor 3 they had other names
        L_op = pullback

        def R_op(self, inputs: Sequence[Any], eval_points: Any) -> list[Any]:  # noqa: N802
            given = [DisconnectedType()() if t is None else t for t in eval_points]
            return self.pushforward(inputs, (), given)
