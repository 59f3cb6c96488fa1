"""Rules that follow from others: of one mode from those of the other, and from partials.

A rule is linear in g: recorded and pulled back, it is the rule of the other mode. A partial of an
elementwise function, times g, is the rule of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import binding
from . import arrays
from .recorded_calls import Number, Numbers, Operation, as_list


def stretches(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of one shape broadcasts to another."""
    pairs = zip(given[::-1], shape[::-1], strict=False)
    return len(given) <= len(shape) and all(n in (1, length) for n, length in pairs)


def push_by_transposing(
    operation: Operation, k: int, g: Number, ans: Any, /, *args: Any, **kw: Any
) -> Any:
    pull = operation._puller(k, ans, args, kw)
    several = type(ans) is tuple
    cotangents = [np.zeros(binding.shape(x)) if binding.shape(x) else 0.0 for x in as_list(ans)]

    def along(*cotangents: Number) -> list[Number]:
        given = binding.ruled(tuple(cotangents)) if several else binding.ruled(cotangents[0])
        return [operation._pulled(k, pull, given, args[k])]

    tangents = _transposed(operation, along, cotangents, [g], k, "forward")
    return tuple(tangents) if several else tangents[0]


def pull_by_transposing(
    operation: Operation, k: int, ans: Any, /, *args: Any, **kw: Any
) -> Callable[[Any], Number]:
    rule: Any = operation.pushes[k]
    results = as_list(ans)
    tangent = np.zeros(binding.shape(args[k])) if binding.shape(args[k]) else 0.0

    def along(tangent: Number) -> list[Number]:
        given = binding.ruled(tangent)
        found: list[Number] = operation._tangents(k, rule, given, ans, results, args, kw)
        return found

    def pull(g: Any) -> Number:
        return _transposed(operation, along, [tangent], as_list(g), k, "reverse")[0]

    return pull


def _transposed(
    operation: Operation,
    linear: Callable[..., Numbers],
    point: Numbers,
    cotangents: Numbers,
    k: int,
    mode: str,
) -> Numbers:
    """Cotangents pulled back through a linear function, recorded at any point."""
    with binding.Recording(tuple(point), tuple(range(len(point)))) as recording:
        try:
            inputs = list(recording.lifted)
            outs = operation._taken(inputs, lambda: linear(*recording.lifted), is_inner=True)
            inputs.clear()
        except TypeError as error:
            if str(error).startswith(f"the primitive {operation._name}: "):
                raise  # which says what is wrong with the rule there is
            raise TypeError(
                f"the primitive {operation._name} has no {mode}-mode rule for its argument {k}, "
                "and none follows from the other one, which does not take a number with "
                f"derivatives for g: write it in functions of cadiff, or add a rule with "
                f"{'defvjp' if mode == 'reverse' else 'defjvp'}"
            ) from error
        pulled = binding.pull_recording(recording, outs, cotangents)
        outs.clear()
    return pulled


def _scaled(
    operation: Operation, rule: Callable[..., Any], g: Number, ans: Number, args: Any, kw: Any
) -> Number:
    """The tangent or cotangent g times the partial that a rule gives, in the shape of ans."""
    try:
        slope = rule(ans, *args, **kw)
    except TypeError as error:
        form = "a partial is called as rule(ans, *args, **kw)"
        operation._check_call(error, form, 1 + len(args))
        raise
    partial = operation._real(slope, "a partial")
    if not stretches(binding.shape(partial), binding.shape(ans)):
        raise ValueError(
            f"the primitive {operation._name}: a partial has the shape {binding.shape(partial)}, "
            f"where {binding.shape(ans)} was expected"
        )
    return binding.absorb(partial, g)


def push_partial(
    operation: Operation,
    rule: Callable[..., Any],
    g: Number,
    ans: Number,
    /,
    *args: Any,
    **kw: Any,
) -> Number:
    return _scaled(operation, rule, g, ans, args, kw)


def pull_partial(
    operation: Operation, rule: Callable[..., Any], k: int, ans: Number, /, *args: Any, **kw: Any
) -> Callable[[Number], Number]:
    def pull(g: Number) -> Number:
        return summed_to(_scaled(operation, rule, g, ans, args, kw), binding.shape(args[k]))

    return pull


def is_partial(rule: Any) -> bool:
    return getattr(rule, "func", None) in (push_partial, pull_partial)


def summed_to(x: Number, shape: tuple[int, ...]) -> Number:
    """The sum over the axes along which an argument of a shape was repeated."""
    have = binding.shape(x)
    extra = len(have) - len(shape)
    axes = tuple(range(extra)) + tuple(
        extra + i for i, length in enumerate(shape) if length == 1 and have[extra + i] != 1
    )
    summed = arrays.sum(x, axes) if axes else x
    return summed if binding.shape(summed) == shape else arrays.reshape(summed, shape)
