"""Complex numbers: each argument of NumPy's functions counts or is refused; copies are copies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from cadiff.operations.complexes import COMPLEX

_rng = numpy.random.default_rng(3)
Z = _rng.normal(size=(3, 4)) + 1j * _rng.normal(size=(3, 4))
MASK = Z.real > -0.5
REFUSALS = (TypeError, ValueError, IndexError, NotImplementedError)

# What each function is called with; the others with Z alone.
ARGUMENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    **dict.fromkeys(("convolve", "correlate", "vdot"), lambda z: (z[0], z[1])),
    **dict.fromkeys(("polyadd", "polysub", "polymul", "polydiv"), lambda z: (z[0], z[1])),
    "cross": lambda z: (z[:, :3], z[:, 1:]),
    **dict.fromkeys(("inner", "kron", "outer", "vecdot"), lambda z: (z, z)),
    **dict.fromkeys(("dot", "matmul", "tensordot"), lambda z: (z.T, z[:, :3])),
    **dict.fromkeys(("block", "concat", "concatenate", "stack"), lambda z: ([z, z],)),
    **dict.fromkeys(("hstack", "vstack", "dstack", "column_stack"), lambda z: ([z, z],)),
    **dict.fromkeys(("array_split", "split", "vsplit"), lambda z: (z, 3)),
    **dict.fromkeys(("hsplit",), lambda z: (z, 2)),
    **dict.fromkeys(("diag", "diagflat", "poly", "roots", "vander"), lambda z: (z[0],)),
    "polyder": lambda z: (z[0], 2),
    "polyint": lambda z: (z[0], 2),
    "polyval": lambda z: (z[0], z),
    "append": lambda z: (z, z),
    "apply_along_axis": lambda z: (lambda row: row[:2], 1, z),
    "apply_over_axes": lambda z: (numpy.sum, z, (0,)),
    "broadcast_arrays": lambda z: (z, z[0]),
    "broadcast_to": lambda z: (z, (2, 3, 4)),
    "choose": lambda z: ([0, 1, 5, 0], [z[0], z[1]]),
    "clip": lambda z: (z, -0.5, 0.5),
    "compress": lambda z: ([True, False, True], z),
    "copyto": lambda z: (+z, z.imag),
    "delete": lambda z: (z, 1),
    "dsplit": lambda z: (z[None], 2),
    "einsum": lambda z: ("ij,ij->i", z, z),
    "expand_dims": lambda z: (z, 1),
    "extract": lambda z: (MASK, z),
    "fill_diagonal": lambda z: (+z, 1j),
    "full_like": lambda z: (z, 2.0),
    "insert": lambda z: (z, 1, 2j),
    "interp": lambda z: ([-1.0, 0.5, 3.0], [0.0, 1.0, 2.0, 2.5], z[0]),
    "linspace": lambda z: (z[0, 0], z[0, 1]),
    "matvec": lambda z: (z, z[0]),
    "meshgrid": lambda z: (z[0], z[1]),
    "moveaxis": lambda z: (z, 0, 1),
    "pad": lambda z: (z, 2),
    "partition": lambda z: (z, 1),
    "piecewise": lambda z: (z, [MASK], [1.0, 2j]),
    "place": lambda z: (+z, MASK, [1j]),
    "put": lambda z: (+z, [1, 30], [1j]),
    "put_along_axis": lambda z: (+z, numpy.array([[0]]), 1j, 1),
    "putmask": lambda z: (+z, MASK, 1j),
    "repeat": lambda z: (z, 2),
    "reshape": lambda z: (z, (2, 6)),
    "resize": lambda z: (z, (2, 2)),
    "roll": lambda z: (z, 1),
    "rollaxis": lambda z: (z, 1),
    "select": lambda z: ([MASK], [z]),
    "swapaxes": lambda z: (z, 0, 1),
    "take": lambda z: (z, [0, 2]),
    "take_along_axis": lambda z: (z, numpy.array([[0, 1]])),
    "tile": lambda z: (z, 2),
    "vecmat": lambda z: (z[:, 0], z),
    "where": lambda z: (MASK, z, 1j),
}
MEAN = numpy.array([[0.5 + 1j]])
# By their names, what is given; each is left out where NumPy itself refuses it.
GIVEN: dict[str, list[Any]] = {
    "axis": [0, 1, -1, (0, 1)], "axis1": [1], "axis2": [0], "axes": [(1, 0), [(0,), (0,), ()]],
    "append": [1j], "casting": ["no"], "constant_values": [2j], "copy": [True], "correction": [1],
    "ddof": [1], "decimals": [1], "deg": [True], "discont": [1.0], "dtype": [float, complex],
    "edge_order": [2], "end_values": [3j], "endpoint": [False], "fill_value": [2j],
    "fweights": [[1, 2, 1, 3]], "aweights": [[1.0, 2, 1, 3]], "bias": [True], "rowvar": [False],
    "include_initial": [True], "increasing": [True], "indexing": ["ij"], "initial": [2.0, 1 + 2j],
    "k": [1], "keepdims": [True], "kind": ["stable"], "left": [7.0, 2j], "right": [5.0],
    "max": [0.5], "mean": [MEAN, 0.5], "min": [-0.5],
    "mode": ["clip", "wrap", "full", "linear_ramp", "mean", "reflect"], "n": [2], "nan": [1.0],
    "ndmin": [3], "num": [3], "N": [2], "offset": [1],
    "optimize": [True], "order": ["F", "C"], "period": [1.5], "posinf": [2.0], "prepend": [2.0],
    "reflect_type": ["odd"], "retstep": [True], "returned": [True], "shape": [(2, 2)],
    "shift": [1], "side": ["right"], "sparse": [True], "stable": [True], "stat_length": [1],
    "strict": [True], "to_begin": [1j], "to_end": [2.0], "trim": ["f"], "values": [1j],
    "weights": [[[1.0], [2.0], [3.0]], numpy.arange(12.0).reshape(3, 4)], "where": [MASK],
    "wrap": [True], "dx": [2.0], "x": [numpy.arange(4.0)], "y": [1j * Z], "m": [2],
    "default": [1j], "bogus": [1],
}  # fmt: skip
ALSO = {"bogus", "axis", "axes", "keepdims", "dtype", "where", "order", "left", "stat_length"}
ALSO |= {"initial", "constant_values"}  # of functions that take keywords, or whose are not known

FUNCTIONS = sorted(
    {f.__name__: f for f in COMPLEX if getattr(f, "__module__", "") == "numpy"}.items()
)
FUNCTIONS = [(name, f) for name, f in FUNCTIONS if name not in ("flatiter", "empty_like")]
by_function = pytest.mark.parametrize(
    ("name", "f"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS]
)


def called(f: Any, z: Any, **given: Any) -> Any:
    """What a function returns, or what it has written to."""
    args = ARGUMENTS.get(f.__name__, lambda z: (z,))(z)
    result = f(*args, **given)
    return args[0] if result is None else result


def names_of(f: Any) -> set[str]:
    try:
        known = set(inspect.signature(f).parameters)
    except ValueError:  # functions in C, of NumPy before 2.4
        known = set()
    return (known | ALSO) & set(GIVEN)


def are_same(found: Any, want: Any) -> bool:
    if isinstance(want, (list, tuple)):
        return len(found) == len(want) and all(map(are_same, found, want))
    found = numpy.asarray(cadiff.value(found))
    return found.shape == numpy.shape(want) and numpy.allclose(
        found, want, rtol=1e-12, atol=1e-13, equal_nan=True
    )


@by_function
@pytest.mark.filterwarnings("ignore")
def test_arguments_count_or_are_refused(name: str, f: Any) -> None:
    for keyword in sorted(names_of(f)):
        for given in GIVEN[keyword]:
            try:
                want = called(f, Z, **{keyword: given})
            except Exception:
                want = None

            def g(z: Any, keyword: str = keyword, given: Any = given, want: Any = want) -> Any:
                try:
                    found = called(getattr(np, name), z, **{keyword: given})
                except REFUSALS:
                    return 0.0
                assert want is not None and are_same(found, want), (keyword, given)
                return 0.0

            cadiff.jvp(g, (Z,), (Z,))


# Of arrays with an axis of length 1 there is nothing to add, multiply or join.
@by_function
@pytest.mark.parametrize("z", [Z, Z[:1], Z.real + 0j], ids=["complex", "one row", "real"])
def test_copies_are_copies(name: str, f: Any, z: Any) -> None:
    for given in ({}, {"axis": 0}):
        try:
            want = called(f, z, **given)
        except REFUSALS:
            continue

        def g(x: Any, y: Any, given: Any = given, want: Any = want) -> Any:
            source = x + 1j * y if z.imag.any() else x + 0j
            found = called(getattr(np, name), source, **given)
            pairs = [(found, want)]
            if isinstance(want, (list, tuple)):
                pairs = [*zip(found, want, strict=True)]
            for a, b in pairs:
                if numpy.ndim(b) and not numpy.shares_memory(b, z):
                    a[...] = 99.0
            numpy.testing.assert_array_equal(cadiff.value(source), z, given)
            return 0.0

        cadiff.jvp(g, (z.real.copy(), z.imag.copy()), (z.real, z.real))
