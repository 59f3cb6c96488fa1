"""PyTorch: functions for cadiff of tensors, and PyTorch's functions of numbers with derivatives.

    import cadiff.interop.torch
    h = cadiff.interop.torch.function(f)  # of tensors, with derivatives of all orders
    g = cadiff.interop.torch.primitive(k)  # of arrays and of numbers with derivatives

All of it is computed on the processor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..transforms._base import answering
from ._seams import Foreign, Seam, as_tuple, check_arguments, each_of, noting

__all__ = ["function", "primitive"]

_OF_FUNCTIONS = {
    "must be Tensor": "f gets NumPy's arrays: write functions of cadiff.numpy, or make a function "
    "of tensors an operation, cadiff.interop.torch.primitive(g)",
}
_OF_OPERATIONS: dict[str, str] = dict.fromkeys(
    ("same dtype", "mixed dtype", "double", "Double"),
    "tensors have the dtype of the arguments, float64: write model.double()",
)


@answering
def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function for cadiff as one of tensors, as `torch.autograd.Function` makes them.

    Parameters
    ----------
    f : callable
        Of arrays by position; returns one array or a tuple of them. It is compiled.

    Returns
    -------
    callable
        Of tensors, arrays and numbers; its results are on the device of the first tensor. It is
        computed on the processor. `backward`, `create_graph`, forward mode and `torch.func`,
        `vmap` among it, work with it. Of tensors of float16, computed with more digits, results
        are float16.

    Raises
    ------
    TypeError
        If a tensor is of a type that NumPy has not, as bfloat16 is.
    """
    return functools.partial(_call, Seam(f))


def _call(seam: Seam, /, *args: Any, **named: Any) -> Any:
    check_arguments(seam.name, args, named)
    tensors = [x if isinstance(x, torch.Tensor) else torch.tensor(np.asarray(x)) for x in args]
    with noting(_OF_FUNCTIONS):
        return _Function.apply(seam, *tensors)


def _plain(x: torch.Tensor) -> np.ndarray:
    if x.dtype == torch.bfloat16:
        raise TypeError("a tensor of bfloat16, which NumPy does not have: write x.float()")
    return np.asarray(x.detach().cpu().resolve_neg().numpy())


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(seam: Seam, *args: torch.Tensor) -> Any:
        results = seam(*map(_plain, args))
        floats = {x.dtype for x in args if x.is_floating_point()}
        how = {"dtype": torch.float16} if floats == {torch.float16} else {}
        tensors = [torch.from_numpy(x).to(args[0].device, **how) for x in as_tuple(results)]
        return tuple(tensors) if isinstance(results, tuple) else tensors[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.seam = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        args = ctx.saved_tensors
        wanted = ctx.needs_input_grad[1:]
        wrt = [k for k, is_wanted in enumerate(wanted) if is_wanted]
        pullback = ctx.seam.pullback(len(args), wrt)
        found = iter(_Function.apply(pullback, *args, *cotangents))
        return None, *[next(found) if is_wanted else None for is_wanted in wanted]

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: torch.Tensor | None) -> Any:
        args = ctx.saved_tensors
        given = [(k, t) for k, t in enumerate(tangents) if t is not None]
        pushforward = ctx.seam.pushforward(len(args), [k for k, _ in given])
        return _Function.apply(pushforward, *args, *[t for _, t in given])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], seam: Seam, *args: torch.Tensor) -> Any:
        rows = [
            x.expand(info.batch_size, *x.shape) if k is None else x.movedim(k, 0)
            for x, k in zip(args, in_dims[1:], strict=True)
        ]
        results = _Function.apply(seam.rows, *rows)
        return results, (0,) * len(results) if isinstance(results, tuple) else 0


@answering
def primitive(g: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors as an operation that cadiff differentiates through.

    Parameters
    ----------
    g : callable
        Of tensors by position; returns a tensor or a tuple of them. It is given tensors of the
        dtype of the arguments, float64 for Python's floats: `model.double()` takes these.

    Returns
    -------
    callable
        Of arrays and of numbers with derivatives, by all of its arguments that are floats.
    """
    return Foreign(_evaluate, torch.func.vjp, g, primitive)


def _evaluate(g: Callable[..., Any], args: Sequence[Any]) -> Any:
    with noting(_OF_OPERATIONS):
        results = g(*[torch.tensor(np.asarray(x)) for x in args])
    return each_of(results, torch.Tensor, _plain)
