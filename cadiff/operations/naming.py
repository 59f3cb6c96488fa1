"""How pickle finds again an object that a decorator has put in the place of a function.

By its name, as it finds functions. A definition in a script or in a notebook has no name in other
processes: cloudpickle, by which joblib and Dask send it there, takes functions of `__main__`
along, and with them the objects that decorators have made of them.
"""

from __future__ import annotations

import pickle
import sys
from types import FunctionType
from typing import Any


def name_for_pickle(thing: Any, name: str, unfound: str | None = None) -> str | None:
    """The name that a `__reduce__` returns; None if the thing itself is to be pickled.

    unfound: what pickle and copy are told of a thing that does not stand where its name says.
    """
    module = getattr(thing, "__module__", "")
    place: Any = sys.modules.get(module)
    for part in name.split("."):
        place = getattr(place, part, None)
    asks = sys._getframe(2).f_globals.get("__name__", "")
    is_cloudpickle = asks.endswith("cloudpickle.cloudpickle")  # joblib has one of its own
    if place is not thing:
        f = getattr(thing, "__wrapped__", None)
        # These copy functions, or have ways of their own for them.
        is_plain = not (asks == "copy" or "pickle" in asks or "dill" in asks)
        if is_plain and isinstance(f, FunctionType) and "<" in f.__qualname__:
            raise pickle.PicklingError(
                f"pickle sends functions by their names, and {f.__qualname__} has none in a "
                "module: write it as a def in a module, or send it by cloudpickle.dumps"
            )
        return None if is_cloudpickle else unfound
    return None if is_cloudpickle and module == "__main__" else name
