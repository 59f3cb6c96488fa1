"""What the tests of programs share: comparing results, and a few functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp
from cadiff import _core

# --- comparing -----------------------------------------------------------------------------------


def value_of(f: Callable[..., Any], *args: Any) -> Any:
    """What f returns, computed on numbers with derivatives, in the form of a program's results."""
    return cadiff.vjp(f, *args)[0]


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, item in tree.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(tree, (list, tuple)):
        for k, item in enumerate(tree):
            yield from leaves(item, f"{path}[{k}]")
    else:
        yield path, tree


def same_structure(got: Any, wanted: Any) -> None:
    kind = float if isinstance(wanted, (np.floating, int)) else type(wanted)
    assert type(got) is kind, (got, wanted)
    if isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            same_structure(got[key], wanted[key])
    elif isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for mine, other in zip(got, wanted, strict=True):
            same_structure(mine, other)
    elif isinstance(wanted, np.ndarray):
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype


def same(got: Any, wanted: Any, what: str = "", signs: bool = True) -> None:
    """Equal bits, all nans being one; zeros too, unless their signs are left out."""
    same_structure(got, wanted)
    for (path, mine), (_, other) in zip(leaves(got), leaves(wanted), strict=True):
        message = f"{what} {path}"
        np.testing.assert_array_equal(mine, other, message)
        number = ~np.isnan(other) & signs
        np.testing.assert_array_equal(
            np.signbit(mine)[number], np.signbit(other)[number], message + ": signs"
        )


def near(got: Any, wanted: Any, what: str = "", rtol: float = 1e-11, scale: float = 1.0) -> None:
    """Equal to rounding, relative to the largest number; nan and infinities in their places."""
    same_structure(got, wanted)
    finite = [np.abs(np.asarray(x)[np.isfinite(x)]).max(initial=0.0) for _, x in leaves(wanted)]
    atol = rtol * max(scale, *finite, 0.0)
    for (path, mine), (_, other) in zip(leaves(got), leaves(wanted), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=atol, err_msg=f"{what} {path}")


# --- functions, and what is recorded -------------------------------------------------------------


def usage() -> tuple[int, int, int]:
    """Entries, numbers and open recordings of this thread's tape."""
    tape = _core.tape_usage()
    return tape["entries"], tape["numbers"], tape["recordings"]


def hinge(x: Any) -> Any:
    """Two ways, told apart by the first number."""
    if x[0] > 0.0:
        return cnp.sum(x * x)
    return cnp.sum(x) * 3.0


def wave(x: Any, scale: Any = 2.0) -> Any:
    return cnp.sum(cadiff.sin(x) * scale) + x[0] * x[-1]


def any_shape(x: Any, c: Any = 1.0) -> Any:
    y = cnp.sum(x * x) * c
    if y > 2.0:
        y = cadiff.sqrt(y) * 3.0
    return y + cnp.sum(cadiff.sin(x))
