"""Ufuncs of the core's: functions that SciPy lacks, and SciPy's where its values are not right.

Both are written in C, in src/kernels/elementwise.h; SciPy's own loops are lent to them.
"""

from __future__ import annotations

import numpy as np
import scipy.special as sp

from .. import binding


def scipys_ufunc(name: str) -> np.ufunc:
    """SciPy's ufunc of a name, also where a function in Python stands before it or around it.

    With an underscore in front it is one of those that SciPy keeps to itself.
    """
    places = (vars(sp), vars(sp._ufuncs))
    candidates = [place[each] for each in (name, f"_{name}") for place in places if each in place]
    wrapped = [getattr(each, "__wrapped__", None) for each in candidates]
    return next(each for each in [*candidates, *wrapped] if isinstance(each, np.ufunc))


def has_ufunc(name: str) -> bool:
    """Whether this version of SciPy has the ufunc, for all or for itself."""
    return hasattr(sp, name) or hasattr(sp._ufuncs, name)


_ALL_LENT = tuple(map(scipys_ufunc, binding.lent_names()))


def ufunc_of(name: str) -> np.ufunc:
    """The ufunc of a name: the core's, or SciPy's if that is right everywhere."""
    return binding.elementwise(name, _ALL_LENT) or scipys_ufunc(name)
