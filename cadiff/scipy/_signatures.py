"""Functions that are called as SciPy's are, and take what they need of the arguments.

What SciPy takes besides, to save a copy or to skip a check, is read where it has a meaning here.
So a function has the signature of the SciPy that is installed. Readers make numbers of arguments;
where a formula has the derivatives of what SciPy computes otherwise, values are SciPy's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..binding import is_complex_number
from ..numpy import linalg as of_numpy
from ..numpy._matrices import conjugate, is_single, on_matrices
from ..operations.complexes import implements_all, whole_parts
from ..operations.guards import finite as _finite
from ..operations.guards import held, valued
from ._stacks import AXES, batches, over_stacks

Function = Callable[..., Any]


def arguments_of(original: Function) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """What answers all arguments of a call of a function, by their names."""
    signature = inspect.signature(original)
    parameters = signature.parameters.values()
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        named = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        twice = kwargs.keys() & names[: len(args)]
        if twice or len(args) > len(names) or named.keys() != signature.parameters.keys():
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{original.__name__}() {error}") from None
        return named

    return arguments


def called_as(
    original: Function, plainly: Function | None = None, stacks: bool = False, **readers: Function
) -> Callable[[Function], Any]:
    """Have a function stand for one of SciPy's, and be called with what it takes, by name.

    `reader(argument, check_finite)` makes numbers of an argument that is not None. Where these are
    stacks it is called in a loop, or not, if it takes stacks.
    """
    arguments = arguments_of(original)
    checks = {"check_finite"} & inspect.signature(original).parameters.keys()
    axes = {name: AXES[read] for name, read in readers.items() if read in AXES}

    def decorate(function: Function) -> Any:
        wanted = inspect.signature(function).parameters

        def call(*args: Any, **kwargs: Any) -> Any:
            named = arguments(args, kwargs)
            for name, read in readers.items():
                if named[name] is not None:
                    named[name] = read(named[name], *map(named.get, checks))
            passed = {name: named[name] for name in wanted if name in named}
            if any(length for name, n in axes.items() for length in batches(named[name], n)):
                return over_stacks(original, function, passed, axes, stacks)
            return function(**passed)

        call.__doc__ = function.__doc__
        call.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return implements_all(original, plainly=plainly)(call)

    return decorate


# --- readers -------------------------------------------------------------------------------------


def double(x: Any) -> Any:
    """A number in double precision, in which SciPy computes some functions of all others."""
    return x.astype(complex if is_complex_number(x) else float)


def finite(x: Any, check_finite: bool = True) -> Any:
    """An argument as an array of numbers; ValueError if some are to be finite and are not."""
    x = of_numpy.number(x)
    for part_ in whole_parts(x) if check_finite else ():
        np.asarray_chkfinite(_finite(part_))
    return x


def square(x: Any, check_finite: bool = True) -> Any:
    """An argument that is a square matrix or a stack of them."""
    return of_numpy.square(finite(x, check_finite))


def matrix(x: Any, check_finite: bool = True) -> Any:
    """An argument that is a matrix or a stack of them."""
    return of_numpy.matrix(finite(x, check_finite))


def vector(x: Any, check_finite: bool = False) -> Any:
    """An argument that is a vector or a stack of them."""
    return np.atleast_1d(finite(x, check_finite))


def column_and_row(c_or_cr: Any, check_finite: bool = False) -> tuple[Any, ...]:
    """The first column and row of a Toeplitz matrix, which are conjugate if one is given."""
    given = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    c, *r = (double(vector(x, check_finite)) for x in given)
    return c, *(r or [conjugate(c)])


def factor_and(given: tuple[Any, Any], check_finite: bool) -> tuple[Any, Any]:
    """A factor, and what was given with it: the exchanges of rows, or whether it is lower."""
    return matrix(given[0], check_finite), np.asarray(given[1])


AXES |= {finite: 2, square: 2, matrix: 2, vector: 1, column_and_row: (1, 1), factor_and: (2, 1)}


def pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Two matrices of one size; if one is in a stack, both are."""
    if a.shape[-2:] != b.shape[-2:]:
        raise ValueError(f"expected matrices of the same shape, not {a.shape} and {b.shape}")
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    return a, b


def are_complex(*args: Any) -> bool:
    return any(map(is_complex_number, args))


def supported(function: str, **options: tuple[Any, Any]) -> None:
    """Refuse options that have derivatives for one value only: each is a pair (given, needed)."""
    for name, (given, needed) in options.items():
        if given != needed:
            raise TypeError(f"{function} has derivatives with {name}={needed!r}, not {given!r}")


# --- values by SciPy, derivatives by a formula ---------------------------------------------------


@cache
def plainly_by(original: Callable[..., Any], several: bool, real: tuple[bool, ...]) -> on_matrices:
    """A function of SciPy's for which the derivative is found elsewhere."""

    def function(*args: Any, **options: Any) -> Any:
        found = original(*args, **options)
        return tuple(found) if several else found

    function.__name__ = original.__name__
    function.__module__ = __name__
    primitive = on_matrices(function, real)
    primitive.defvjp(*[None] * 4)
    return primitive


def with_values(original: Callable[..., Any], computed: Any, *args: Any, **options: Any) -> Any:
    """SciPy's own results, with the derivatives of what a formula found."""
    several = isinstance(computed, tuple)
    results = computed if several else (computed,)
    real = tuple(not is_complex_number(x) for x in results)
    values = plainly_by(original, several, real)(*map(held, args), **options)
    values = values if several else (values,)
    outputs = tuple(map(valued_as, results, values))
    return outputs if several else outputs[0]


def valued_as(result: Any, plain: Any) -> Any:
    """A result with another value, in the precision of that."""
    made = valued(result, plain)
    return made.astype(plain.dtype) if is_single(plain) and not is_single(made) else made
