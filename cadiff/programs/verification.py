"""f as the judge of its recordings: values of both are compared before a recording serves.

No list of what makes a recording stale is complete. So f runs on plain numbers at the call that
was recorded, and once more at the first call with other numbers. This module does not know what
becomes of a recording that differs.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Call, Recording, StandIns
from ..operations.guards import NoDerivativeError
from ..operations.scalars import stand_in
from ..transforms._base import Function
from ..transforms._outputs import Output
from .loop_steps import served_loops
from .recorded import NOT_SERVED, Recorded, leaves_of, met
from .recordings import own_arguments, run_plain

Verify = Literal["first", "always", False]

NOISE = 2.0**-50  # of inputs, relative to them
AMPLIFIED = 1000.0  # how much more than by that noise a recording may differ by its own rounding
GROWTH = 3.0  # of the noise, by which what moves on is told from jumps
SLOPE = 1e-6  # how far derivatives may differ, relative to them, and values in eager code
SMALL = 1e-3  # a size below which values may be 0 but for rounding

RAISES = "an exception"  # of f, where a recording gives a value


def _unchanged(x: Any) -> Any:
    return x


def _as_of_numpy(x: Any) -> Any:
    return np.float64(x) if type(x) is float else x


class StaleProgramWarning(RuntimeWarning):
    """A recording of a function gave other values than the function itself."""


def checked_verify(verify: Any) -> Verify:
    """What was asked for, or what the environment says."""
    told = os.environ.get("CADIFF_VERIFY", "") if verify is None else verify
    mode = {"": "first", "first": "first", "always": "always", "0": False, "False": False}.get(
        str(told)
    )
    if mode is None:
        of = "CADIFF_VERIFY of the environment" if verify is None else "verify"
        raise ValueError(f'{of} is "first", "always" or False, not {told!r}')
    return mode  # type: ignore[return-value]


def verified(
    f: Function,
    call: Call,
    recorded: Recorded,
    replay: Callable[[Call], Any],
    is_always: bool,
) -> str:
    """How a recording differs from f in a call; "" if it does not.

    If `is_always`, in a derivative, too. Else a function of JAX's, whose turns change nothing,
    goes only a few turns through loops that the recording has run, and on with what their
    recordings give, if these agree with it.
    """
    shortens = not is_always and binding.answers_as_numpy() and bool(recorded.loops)
    with served_loops() if shortens else contextlib.nullcontext() as served:
        try:
            value = replay(call) if call.replied is None or shortens else call.replied()
        except NOT_SERVED:
            return ""  # a derivative may be known where the value is not
        if served is not None:
            served.are_noted = False
        told = difference(f, call, value, replay, recorded.may_be_caught(value))
    if not told and is_always and recorded.output.is_differentiable and call.ranges:
        with contextlib.suppress(*NOT_SERVED, NoDerivativeError):
            told = slope_difference(f, call, recorded)
    return told


# --- values --------------------------------------------------------------------------------------


def difference(
    f: Function, call: Call, result: Any, replay: Callable[[Call], Any], by_floats: bool
) -> str:
    """How f differs at a call from what a recording gave; "" if it does not, or does not say.

    It may differ by sums in another order, and by what f makes of that. `replay` gives what the
    recording gives at another call. `by_floats`: f may have caught what Python's floats raise;
    where it then raises something itself, it is RAISES.
    """
    for change in (_unchanged, _as_of_numpy):
        try:
            expected = run_plain(f, call, change, by_floats)
        except Exception as error:  # it does not take plain numbers, or has no memory for them
            told = ""
            if by_floats and not isinstance(error, (AttributeError, MemoryError, TypeError)):
                return RAISES
        else:
            told = told_apart(result, expected, rounding)
            if not told:
                return ""
        # Where Python's floats raise, or become complex, those of NumPy are infinite, or nan.
        if by_floats or (told and all(map(_is_finite, _plain(result)))):
            break
    return told and _beyond_noise(call, result, expected, replay)


def difference_of_eager(f: Function, call: Call, result: Any) -> str:
    """How f differs from what it gave for numbers with derivatives, by far more than rounding.

    "" where it differs from itself.
    """
    told = ""
    for change in (_unchanged, _as_of_numpy):  # nobody knows which the caller's are
        with contextlib.suppress(Exception):
            expected = run_plain(f, call, change)
            told = told_apart(result, expected, _coarse)
            if not told or told_apart(run_plain(f, call, change), expected, _coarse):
                return ""
    return told


def _coarse(there: Any, _: int) -> float:
    return SLOPE * (largest(there) + SMALL)


def _is_finite(leaf: Any) -> bool:
    return not _are_numbers(leaf) or bool(np.isfinite(leaf).all())


def _beyond_noise(call: Call, result: Any, expected: Any, replay: Callable[[Call], Any]) -> str:
    """How f differs by more than the recording does by noise in its inputs.

    What grows with the noise, f may have amplified; a jump, which does not, counts once. f itself
    is not asked: it may not come to an end elsewhere.
    """
    bounds = [0.0] * len(_plain(expected))
    for size, sign in itertools.product((np.abs, np.positive), (-1.0, 1.0)):

        def near(factor: float, size: Any = size, sign: float = sign) -> Any:
            def noisy(x: Any) -> Any:
                noise = np.where(x == 0.0, 1.0, size(x)) * max(NOISE, 4.0 * _eps(x)) * factor
                return (x + sign * noise).astype(np.asarray(x).dtype)

            args, kwargs = own_arguments(call, noisy)
            return replay(Call(tuple(args), kwargs, call.argnums, call.taken.lifted))

        try:
            here, farther = near(1.0), near(1.0 + GROWTH)
        except Exception:  # at the edge of where the recording serves
            continue
        pairs = zip(bounds, _moved(result, here), _moved(here, farther), strict=False)
        bounds = [
            max(bound, move + AMPLIFIED * growth / GROWTH)
            for bound, move, growth in ((*each[:1], *map(_finite, each[1:])) for each in pairs)
        ]
    return told_apart(result, expected, lambda there, k: max(bounds[k], rounding(there)))


def _finite(move: float) -> float:
    return 0.0 if np.isinf(move) else move  # at poles all moves


def _moved(one: Any, other: Any) -> list[float]:
    """By how much each leaf of a result is another number in the other."""
    return [
        float(distances(here, there).max(initial=0.0))
        if _are_numbers(here) and np.shape(here) == np.shape(there)
        else 0.0
        for here, there in zip(_plain(one), _plain(other), strict=False)
    ]


def told_apart(result: Any, expected: Any, bound: Callable[[Any, int], float]) -> str:
    """Where two results differ by more than a bound for each leaf, and how."""
    leaves, others = _plain(result), _plain(expected)
    if len(leaves) != len(others):
        return f"{len(leaves)} numbers and arrays, and not {len(others)}"
    for k, (one, other) in enumerate(zip(leaves, others, strict=True)):
        of = "" if len(leaves) == 1 else f" in leaf {k} of what it returns"
        if np.shape(one) != np.shape(other):
            return f"shape {np.shape(one)}, and not {np.shape(other)}{of}"
        if not (_are_numbers(one) and _are_numbers(other)):
            if repr(one) != repr(other):
                return f"{one!r}, and not {other!r}{of}"
            continue
        apart = distances(one, other)
        if (apart > bound(other, k)).any():
            at = np.unravel_index(int(apart.argmax()), apart.shape)
            where = f" at index {[*map(int, at)]}" if at else ""
            here, there = (np.asarray(x)[at].item() for x in (one, other))
            return f"{here!r}, and not {there!r}{where}{of}"
    return ""


def _plain(result: Any) -> list[Any]:
    """The leaves of a result; arrays of objects that are numbers as arrays of these."""
    leaves, _ = binding.flattened(binding.plain_values(result))
    return [
        np.array(x.tolist()).reshape(x.shape) if getattr(x, "dtype", None) == np.dtype("O") else x
        for x in leaves
    ]


def _are_numbers(leaf: Any) -> bool:
    return np.asarray(leaf).dtype.kind in "biufc"


def _eps(x: Any) -> float:
    dtype = np.asarray(x).dtype
    return float(np.finfo(dtype if dtype.kind in "fc" else float).eps)


def rounding(there: Any, _: int = 0) -> float:
    """By how much elements may differ from those of an array, if only its sums are rounded."""
    return float(_eps(there) ** (2 / 3) * largest(there))


def largest(there: Any) -> float:
    """The size of the largest element that is finite."""
    numbers = np.asarray(there)
    sizes = np.abs(numbers[np.isfinite(numbers)].astype(np.complex128))
    return float(sizes.max(initial=0.0))


def distances(one: Any, other: Any) -> NDArray[np.float64]:
    """By how much elements differ: nan from nan, and inf from inf, by nothing."""
    kinds = np.asarray(one).dtype.kind + np.asarray(other).dtype.kind
    kind = complex if "c" in kinds else float
    here, there = np.asarray(one, kind), np.asarray(other, kind)
    with binding.WarningsOff():
        apart = np.abs(here - there)
        return np.where(
            (here == there) | (np.isnan(here) & np.isnan(there)),
            0.0,
            np.where(np.isnan(apart), np.inf, apart),
        )


# --- derivatives ---------------------------------------------------------------------------------


def slope_difference(f: Function, call: Call, recorded: Recorded) -> str:
    """How a derivative along a random direction differs from that of eager code; "" as above."""
    n, shapes, ranges = call.n_variables, recorded.output.shapes, call.ranges
    rng = np.random.default_rng(n)
    seeds = rng.standard_normal(recorded.graph.n_outputs)
    direction = rng.standard_normal(n)
    plain = Call(call.args, call.kwargs, call.argnums)
    with Recording(tuple(plain.inputs), tuple(range(len(plain.inputs))), f=f) as recording:
        args, kwargs = StandIns(plain, recording.lifted, stand_in, True).arguments()
        output = Output(f(*args, **kwargs))
        del args, kwargs
        atoms = binding.pull_recording(recording, output.own_atoms(), leaves_of(seeds, shapes))
        output.atoms = []
    expected = np.concatenate([np.zeros(0), *map(np.ravel, atoms)])[:n]
    code = recorded.code("pull", ranges)
    numbers = met(code.evaluate(np.concatenate([call.vector(), seeds])))[len(seeds) :]
    if not np.isfinite(expected).all():
        return ""
    here, there = float(numbers @ direction), float(expected @ direction)
    size = np.linalg.norm(expected) * np.linalg.norm(direction)
    if not abs(here - there) <= SLOPE * size:
        return f"{here!r}, and not {there!r}, as its derivative along a direction"
    return ""
