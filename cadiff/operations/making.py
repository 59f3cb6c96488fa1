"""What a recording makes that replays compute anew, and whether f keeps any of it.

Each thread remembers what it has made, and of which arrays it has taken rows: a replay would not
put it into a list of f's, nor write into a view.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from .replayed import Replayed, is_value, origins_of


class _Made(threading.local):
    """What this thread has made that f might not be able to do with."""

    def __init__(self) -> None:
        self.count = 0  # of masks and numbers where NumPy would have plain ones
        self.lent: list[tuple[int, Any]] = []  # arrays of which rows were taken, and the rows
        self.lent_plain: list[tuple[int, NDArray[Any], NDArray[Any]]] = []  # what was in them
        # By the serial of a recording.
        self.of_values: list[tuple[int, weakref.ref[Replayed]]] = []


_made = _Made()


def note_made() -> None:
    """Note that something was made where there is a plain int outside of recordings."""
    _made.count += 1


def made() -> int:
    """How many masks or numbers were made by this thread where NumPy would have plain ones."""
    return _made.count


def chooses_anew() -> bool:
    """Whether values of numbers, and integers made of them, may be numbers of a recording."""
    return binding.chooses_anew() and not binding.makes_plain() and not binding.is_deriving()


def keep_in_mind(made: Replayed, masks: list[Replayed]) -> None:
    """Remember what is made of values, in any way, and what no ndarray is: see are_kept."""
    if not made.is_mask or any(
        origin.is_value for mask in masks for origin in mask.memory.origins
    ):
        _made.of_values.append((made._serial, weakref.ref(made)))


def are_kept(serial: int) -> bool:
    """Whether something still has values that a recording, which is about to end, has computed.

    A list to which they were appended, for instance: a replay would not append to it. Or whether
    an array has changed of which a row was taken, that is a view for NumPy.
    """
    if not (_made.lent or _made.lent_plain or _made.of_values):  # as it mostly is
        return False
    changed = any(
        of == serial and array.tobytes() != former.tobytes()
        for of, array, former in _made.lent_plain
    )
    _made.lent = [known for known in _made.lent if known[0] < serial]
    _made.lent_plain = [known for known in _made.lent_plain if known[0] < serial]
    if changed:
        return True
    of_recording = [mask for of, mask in _made.of_values if of == serial]
    _made.of_values = [
        known for known in _made.of_values if known[0] != serial and known[1]() is not None
    ]
    if any(mask() is not None for mask in of_recording):
        gc.collect()  # nothing but functions within f may refer to them
    return any(mask() is not None for mask in of_recording)


# --- arrays of which rows were taken -------------------------------------------------------------


def lend(x: Any, rows: Any) -> None:
    """Note that rows were taken of an array of numbers, which for NumPy are a view of it."""
    serial = binding.guards_serial()
    _made.lent += [(serial, x), (serial, rows)]
    binding.lend_rows()


def lend_plain(x: NDArray[Any]) -> None:
    """The same of a plain array, which f may change."""
    _made.lent_plain.append((binding.guards_serial(), x, x.copy()))


def check_writable(target: Any) -> None:
    """Refuse to assign to rows that are views for NumPy, or to what they are views of."""
    if any(binding.share_memory(target, lent) for _, lent in _made.lent):
        raise TypeError(
            "an array is assigned to of which a row was taken by an index that a replay "
            "computes anew: begin with a copy, y = y.copy()"
        )


# --- masks ---------------------------------------------------------------------------------------

_mask: Callable[..., Any]


def register_masks(kind: type[Replayed]) -> None:
    """Set what stands for arrays: see masks.py."""
    global _mask
    _mask = kind
    binding.register_masks(kind)


def of_integers(plain: Any, numbers: Any) -> Any:
    """Integers or bools that may be others in each replay; `numbers` is a Var of them."""
    mask = _mask(plain, numbers, binding.guards_serial(), False)
    mask.memory.is_wide = True
    note_made()
    binding.index_plain_arrays()
    return mask


def of_values(number: Any) -> Any:
    """The values of a Var, as floats that a replay computes anew; to read them is an obstacle.

    So is to keep them longer than the recording.
    """
    plain = binding.plain_values(number)
    plain = np.float64(plain) if isinstance(plain, float) else plain
    mask = _mask(plain, binding.stop_gradient(number), binding.guards_serial(), False)
    mask.memory.is_wide = mask.memory.is_value = True
    note_made()
    keep_in_mind(mask, [mask])
    return mask


def innermost(x: Any) -> Any:
    """The primal of a Dual, and of that."""
    while isinstance(x, binding.Dual):
        x = binding.dual_components(x)[0]
    return x


def value_of(x: Any, what: str) -> Any:
    """Plain values; while guards are noted, masks of them, which a replay computes anew.

    what: what was called, for the message where that cannot be.
    """
    number = innermost(x)
    if isinstance(number, binding.Var) and chooses_anew() and binding.depends(number):
        return of_values(number)
    return binding.read_for_user(x, what)


def made_of(masks: list[Replayed], plain: Any, outcomes: Any, bound: float = np.inf) -> Any:
    """A mask that is made of others; no number in it is larger than the bound, in any replay."""
    made = _mask(plain, outcomes, masks[0]._serial, any(mask._equality for mask in masks))
    made.memory.bound = bound
    joined(made, masks, plain.dtype == np.float64)
    return made


def bools_of(masks: list[Replayed], plain: Any, outcomes: Any, equality: bool) -> Any:
    """A mask of bools that is made of others, such as how they compare."""
    made = _mask(plain, outcomes, masks[0]._serial, equality)
    made.memory.origins = origins_of(masks)
    return made


def joined(made: Replayed, masks: list[Replayed], is_float: bool) -> None:
    """Note what something is made of."""
    made.memory.origins = origins_of(masks)
    made.memory.is_wide = any(mask.memory.is_wide for mask in masks)
    made.memory.is_value = is_float and any(map(is_value, masks))
    keep_in_mind(made, masks)
    if not is_float:
        binding.index_plain_arrays()
    elif not made.memory.is_value:
        made.memory.sources = [mask._source for mask in masks]
