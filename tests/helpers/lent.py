"""Members that `cadiff.compat.jax` lends arrays and numbers, taken back for other tests."""

from __future__ import annotations

import gc
import sys

from cadiff.binding import Dual, Var, compare_as_numpy, foreign_names, put_in_types


def take_back() -> None:
    """Have types the members that they had before that was imported."""
    arrays = sys.modules.get("cadiff.compat.jax.arrays")
    for kind in arrays.ARRAYS if arrays else ():
        (members,) = gc.get_referents(vars(kind))  # the dict behind its view
        for name in ("at", "block_until_ready", "devices"):
            members.pop(name, None)
        put_in_types((kind,), {})
    compare_as_numpy(False)
    for kind, others in ((Var, foreign_names.VARS), (Dual, foreign_names.DUALS)):
        names = foreign_names.OF_NUMBERS, foreign_names.NUMBERS, others
        put_in_types((kind,), foreign_names.absent(*names))
