"""Linear maps of arrays that NumPy or SciPy computes, each with its adjoint.

A map is its own derivative, so no rule needs values: forward mode maps the tangents, all lanes at
once, and reverse mode maps cotangents by the adjoint, which is a linear map again. The operands of
a map, as real and imaginary part of a complex array, are mapped together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .. import binding
from ..binding import Dual
from . import arrays
from .eager_cache import chooses_anew
from .primitives import lanes_last, primitive
from .recorded_calls import Asked, Numbers, Rule

Number = Any  # a Var, a Dual or an ndarray
Adjoint = tuple["linear", Any]


class linear(primitive):  # noqa: N801 - a decorator
    """A linear map of arrays of one shape to arrays.

    function: `function(how, *arrays)` of plain arrays of floats; returns a tuple of fresh ones.
    `how` says which map it is: something hashable that can be pickled. Of axes it counts from the
    front, so that others may follow.

    `m.adjoint(how, shape)` is to be defined: the adjoint of the map of arrays of that shape, as
    another such map and its `how`.
    """

    adjoint: Callable[[Any, tuple[int, ...]], Adjoint]

    # The axes along which a result depends on all numbers; along others, on those beside it.
    mixed: Callable[[Any], tuple[int, ...]] = staticmethod(attrgetter("axes"))

    # The same by operations that C carries out, for programs; NotImplemented where it cannot be.
    written_out: Callable[..., Any] | None = None

    def __call__(self, how: Any, *operands: Number) -> Any:
        if self.written_out is not None and chooses_anew():
            is_var = binding.tag_of_arguments(operands) == 0
            wide = map(binding.widened, operands)
            results = self.written_out(how, *wide) if is_var else NotImplemented
            if results is not NotImplemented:
                if not all(map(binding.is_single, operands)):
                    return results
                like = (np.zeros(binding.shape(x), np.float32) for x in operands)
                kinds = (x.dtype for x in self.function(how, *like))
                return tuple(map(arrays.in_precision, results, kinds))
        return binding.call_linear(self, _Call, how, operands)

    def map_duals(self, how: Any, operands: Sequence[Number], tag: int) -> tuple[Dual, ...]:
        pairs = [tuple(map(binding.finalized, binding.split_dual(x, tag))) for x in operands]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        lanes = binding.lanes_of(primals, tangents)
        directions = [arrays.with_lanes(p, t, lanes) for p, t in pairs]
        mapped = zip(self(how, *primals), self(how, *directions), strict=True)
        duals = [binding.make_dual(_in_order(x), _in_order(t), tag) for x, t in mapped]
        return tuple(binding.seen(dual, self._name, *operands) for dual in duals)

    def _pull_rule(self, k: int) -> Any:
        return self.adjoint

    def _pattern(self, k: int) -> Any:
        """How results depend on operands: each on all along the axes that are mixed."""

        def stated(ans: Any, /, *args: Any, how: Any, shape: tuple[int, ...]) -> str:
            letters = [chr(97 + k) for k in range(len(shape))]
            mixed = self.mixed(how)
            result = "".join(a.upper() if k in mixed else a for k, a in enumerate(letters))
            return f"{''.join(letters)}->{','.join([result] * len(ans))}"

        return stated

    def _plain(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.function(kwargs["how"], *args)

    def _pushed(
        self,
        which: list[int],
        tangents: Numbers,
        answer: Any,
        results: Numbers,
        inputs: Numbers,
        kwargs: dict[str, Any],
    ) -> Numbers:
        along = [np.zeros(kwargs["shape"])] * len(inputs)
        for k, tangent in zip(which, tangents, strict=True):
            along[k] = tangent
        return list(self(kwargs["how"], *along))


def _in_order(x: Number) -> Number:
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x


class _Call(Rule):
    """One call of a linear map, as the tape keeps it."""

    is_linear = absorbs = True
    is_exact = goes_forward = True
    by_index = None
    operation: linear

    goes_over_lanes = True

    def call_lanes(self, operands: Numbers) -> Numbers:
        """The results for operands with an axis of points in front."""
        args = self._with(operands)
        over = lanes_last(functools.partial(self.operation.function, self.kwargs["how"]))
        return list(over(self.which, *args))

    def pull_cotangents(
        self, operands: Numbers, outs: Numbers, cotangents: Numbers, wanted: Asked = None
    ) -> Numbers:
        adjoint, how = self.operation.adjoint(self.kwargs["how"], self.kwargs["shape"])
        pulled = adjoint(how, *cotangents)
        if wanted is None and len(self.which) == len(pulled) and True not in self.passive:
            return list(pulled)
        return [
            None if self.passive[i] or (wanted is not None and not wanted[i]) else pulled[k]
            for i, k in enumerate(self.which)
        ]
