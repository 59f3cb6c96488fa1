"""Settings of a whole process or thread that functions of libraries read.

Each function here gives what a Watch compares: numbers, texts, and tuples of them. This module
does not know who asks.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Setting = tuple[Callable[[], Any], str]  # what answers, and what that is called


def decimal_context() -> tuple[Any, ...]:
    """How decimal numbers are computed with."""
    import decimal

    context = decimal.getcontext()
    return (context.prec, context.rounding, context.Emin, context.Emax, context.clamp)


def seen_by(kind: type[BaseException], libraries: set[str]) -> list[Setting]:
    """What decides whether an exception of a class is raised, or of one derived from it.

    `libraries` says by which, beside NumPy: "decimal", and "special" for functions of SciPy's.
    """
    settings: list[Setting] = []
    if _are_related(kind, FloatingPointError, Warning):
        settings += [(_errors, "numpy.geterr()"), (_filters, "warnings.filters")]
    if "special" in libraries:
        special = sys.modules["scipy.special"]
        if _are_related(kind, special.SpecialFunctionError, special.SpecialFunctionWarning):
            settings.append((_special_errors, "scipy.special.geterr()"))
    if "decimal" in libraries and _are_related(kind, sys.modules["decimal"].DecimalException):
        settings.append((_decimal_traps, "decimal.getcontext().traps"))
    return settings


def read_by(module: str) -> list[Setting]:
    """What the code of a module of a library reads."""
    if module == "numpy._core.arrayprint":
        return [(_printing, "numpy.get_printoptions()")]
    if module.startswith("pandas.io.formats"):
        return [(_printing, "numpy.get_printoptions()"), (_tables, "pandas.options")]
    return []


def is_of_numbers(kind: type[BaseException]) -> bool:
    """Whether floats may cause an exception of a class: where Python's own have no result."""
    return _are_related(kind, ArithmeticError, ValueError, Warning)


def _are_related(one: type, *others: type) -> bool:
    return issubclass(one, others) or any(issubclass(other, one) for other in others)


# What NumPy keeps for each state of errors, and makes anew for each change.
_variable = getattr(sys.modules["numpy._core.umath"], "_extobj_contextvar", None)


def _errors() -> tuple[Any, ...]:
    return tuple(np.geterr().values()) if _variable is None else _errors_of(_variable.get())


@functools.lru_cache(maxsize=16)
def _errors_of(state: Any) -> tuple[Any, ...]:
    """Those of the state that is in force."""
    return tuple(np.geterr().values())


def _filters() -> tuple[Any, ...]:
    return tuple(warnings.filters)


def _special_errors() -> tuple[Any, ...]:
    from scipy import special

    return tuple(special.geterr().values())


def _decimal_traps() -> tuple[Any, ...]:
    traps = sys.modules["decimal"].getcontext().traps
    return tuple(kind for kind, is_set in traps.items() if is_set)


def _printing() -> tuple[Any, ...]:
    masked = np.ma.masked_print_option
    return (*np.get_printoptions().values(), masked.display(), masked.enabled())


def _tables() -> tuple[Any, ...]:
    display = sys.modules["pandas"].options.display
    found = [getattr(display, name) for name in dir(display)]
    return tuple(item for item in found if isinstance(item, (bool, int, float, str, type(None))))
