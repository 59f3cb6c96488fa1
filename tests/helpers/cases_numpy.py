"""How each function of `cadiff.numpy` is called, over shapes, axes and options.

Every function that has derivatives has a case here; `test_numpy_functions` sees to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cadiff

from . import cases_fft
from .derivatives import Case, Drawn

VERSION = tuple(int(number) for number in np.__version__.split(".")[:2])

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator], tuple[Any, ...]]


# --- arguments -----------------------------------------------------------------------------------


def normal(*shapes: Shape) -> Draw:
    """Arrays of normal deviates."""
    return Drawn(
        lambda rng, of: tuple(np.asarray(rng.normal(size=shape))[()] for shape in of), shapes
    )


def positive(*shapes: Shape) -> Draw:
    """Arrays of numbers between 0.5 and 2."""
    return Drawn(
        lambda rng, of: tuple(np.asarray(rng.uniform(0.5, 2.0, shape))[()] for shape in of), shapes
    )


def distinct(*shapes: Shape) -> Draw:
    """Arrays whose elements are far apart, in any order; none near a whole or half number."""

    def draw(rng: np.random.Generator, of: tuple[Shape, ...]) -> tuple[Any, ...]:
        arrays = []
        for shape in of:
            n = int(np.prod(shape))
            order = rng.permutation(n) - n // 2 + 0.25
            arrays.append((order + rng.uniform(-0.05, 0.05, n)).reshape(shape))
        return tuple(arrays)

    return Drawn(draw, shapes)


def with_nan(*shapes: Shape) -> Draw:
    """As `distinct`, with nan in every fourth place."""

    def draw(rng: np.random.Generator, of: tuple[Shape, ...]) -> tuple[Any, ...]:
        arrays = distinct(*of)(rng)
        for x in arrays:
            x.reshape(-1)[1::4] = np.nan
        return arrays

    return Drawn(draw, shapes)


def with_zeros(shape: Shape, *places: int) -> Draw:
    """Normal deviates with zeros at places of the flat array."""

    def draw(rng: np.random.Generator, of: tuple[Shape, ...]) -> tuple[Any, ...]:
        x = rng.normal(size=of[0])
        x.reshape(-1)[list(places)] = 0.0
        return (x,)

    return Drawn(draw, (shape,))


def fixed(*arrays: Any) -> Draw:
    """Always these arguments."""
    return lambda rng: tuple(np.array(x, dtype=float)[()] for x in arrays)


CASES: list[Case] = [*cases_fft.NUMPY]


def case(name: str, call: Callable[..., Any], args: Draw, *argnums: int, **options: Any) -> None:
    """Add a case; without argnums, every argument is differentiated."""
    numbers = argnums or tuple(range(len(args(np.random.default_rng(0)))))
    CASES.append(Case(name, call, args, numbers, **options))


def of(name: str, *args: Any, **how: Any) -> Callable[..., Any]:
    """A call of a function of NumPy's, which may be a method of a ufunc."""

    def call(np: Any, *arrays: Any) -> Any:
        function = np
        for part in name.split("."):
            function = getattr(function, part)
        return function(*arrays, *args, **how)

    return call


def variants(
    name: str, args: Draw, *options: dict[str, Any], of_: str = "", **checks: Any
) -> None:
    """Add a case for each dict of keyword arguments of the function of that name, or another."""
    for keywords in options:
        shown = ", ".join(f"{k}={v}" for k, v in keywords.items())
        case(f"{name}({shown})", of(of_ or name, **keywords), args, **checks)


MASK = np.array([[True, False, True, True], [True, True, False, True], [True, True, True, False]])
AXES: list[dict[str, Any]] = [
    {},
    {"axis": 0},
    {"axis": -1},
    {"axis": (0, 1)},
    {"axis": (2, 0), "keepdims": True},
    {"keepdims": True},
]
MASKED: list[dict[str, Any]] = [{"where": MASK}, {"where": MASK, "axis": 0, "keepdims": True}]
MASKED_NAN: list[dict[str, Any]] = [
    {"where": MASK.T},
    {"where": MASK.T, "axis": 0, "keepdims": True},
]
INITIAL: list[dict[str, Any]] = [{"initial": 2.5}, {"initial": 1.5, "where": MASK, "axis": 1}]
ONE_AXIS: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": 1}, {"axis": -1}]
DDOF: list[dict[str, Any]] = [{"ddof": 1}, {"axis": 1, "correction": 2}]

# --- reductions ----------------------------------------------------------------------------------

for name in ("sum", "mean", "prod", "max", "min", "amax", "amin"):
    draw = distinct if name in ("max", "min", "amax", "amin") else normal
    variants(name, draw((2, 3, 4)), *AXES)
for name in ("sum", "mean", "prod"):
    variants(name, normal((3, 4)), *MASKED)
for name in ("sum", "prod"):
    variants(name, normal((3, 4)), *INITIAL)
for name in ("max", "min", "nanmax", "nanmin"):
    variants(name, distinct((3, 4)), *INITIAL)
for name in ("var", "std"):
    variants(name, normal((2, 3, 4)), *AXES, *DDOF)
    variants(name, normal((3, 4)), *MASKED)
variants("ptp", distinct((2, 3, 4)), *AXES)
case(
    "var(mean)", lambda np, x: np.var(x, axis=0, mean=np.mean(x, 0, keepdims=True)), normal((4, 2))
)
case("sum(initial)", lambda np, x, y: np.sum(x, initial=y), normal((4, 2), ()))
case("sum of list", lambda np, x, y: np.sum([x, y, 2.0], axis=0), normal((), ()), dispatch=False)
case("sum of nothing", lambda np, x: np.sum(x, axis=0), normal((0, 3)))
case("prod of nothing", lambda np, x: np.prod(x, axis=0), normal((0, 3)))
case("mean 0-d", lambda np, x: np.mean(x), normal(()))
case("max 0-d", lambda np, x: np.max(x), normal(()))
case("prod, a zero", lambda np, x: np.prod(x, axis=1), with_zeros((3, 4), 1, 6))
case("prod, two zeros", lambda np, x: np.prod(x), with_zeros((5,), 1, 3))
case("prod, three zeros", lambda np, x: np.prod(x), with_zeros((5,), 1, 3, 4))

for name in ("nansum", "nanmean", "nanprod", "nanvar", "nanstd", "nanmax", "nanmin"):
    variants(name, with_nan((3, 3, 5)), *AXES)
for name in ("nanmedian",):
    variants(name, with_nan((2, 3, 5)), *AXES)
for name in ("nansum", "nanmean", "nanprod", "nanvar"):
    variants(name, with_nan((4, 3)), *MASKED_NAN)
for name in ("cumsum", "cumprod"):
    variants(name, normal((3, 4)), *ONE_AXIS)
    variants("nan" + name, with_nan((3, 4)), *ONE_AXIS)
    case(f"{name} 0-d", lambda np, x, name=name: getattr(np, name)(x), normal(()))
case("cumprod, zeros", lambda np, x: np.cumprod(x), with_zeros((6,), 1, 4))
case("cumprod, a zero", lambda np, x: np.cumprod(x, axis=1), with_zeros((3, 4), 0, 5, 11))
for name in ("cumulative_sum", "cumulative_prod"):
    if hasattr(np, name):
        variants(name, normal((3, 4)), {"axis": 0}, {"axis": -1, "include_initial": True})
        case(f"{name} of vector", of(name), normal((4,)))

variants("average", normal((2, 3, 4)), *AXES)
case("average(weights)", lambda np, x, w: np.average(x, weights=w), positive((3, 4), (3, 4)))
case("average(axis weights)", lambda np, x, w: np.average(x, 1, w), positive((3, 4, 2), (4,)))
case("average(returned)", lambda np, x, w: np.average(x, 0, w, True), positive((3, 4), (3,)))

variants("median", distinct((2, 3, 4)), *AXES)
variants("median odd", distinct((3, 5, 1)), *AXES, of_="median")
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
]  # fmt: skip
for name, share in (("quantile", 0.3), ("percentile", 30.0)):
    for keywords in AXES:
        shown = ", ".join(f"{k}={v}" for k, v in keywords.items())
        case(f"{name}({shown})", of(name, share, **keywords), distinct((2, 3, 4)))
        case(f"nan{name}({shown})", of(f"nan{name}", share, **keywords), with_nan((2, 3, 5)))
for method in METHODS:
    shares = {"q": [0.0, 0.17, 0.52, 1.0], "axis": 0, "method": method}
    case(f"quantile by {method}", of("quantile", **shares), distinct((7, 2)))
    shares = {"q": [0.17, 0.52], "axis": 1, "method": method}
    case(f"nanquantile by {method}", of("nanquantile", **shares), with_nan((2, 7)))
case(
    "quantile of q",
    of("quantile"),
    lambda rng: (distinct((6,))(rng)[0], np.array([0.23, 0.67])),
)
shares = {"axis": 1, "method": "inverted_cdf", "weights": [1.0, 3.0, 2.0, 1.0]}
case("quantile(weights)", of("quantile", [0.2, 0.7], **shares), distinct((3, 4)))

# --- shapes --------------------------------------------------------------------------------------

case("reshape", lambda np, x: np.reshape(x, (4, -1)), normal((2, 3, 4)))
case("reshape F", lambda np, x: np.reshape(x, (4, -1), order="F"), normal((2, 3, 4)))
case("ravel", lambda np, x: np.ravel(x), normal((2, 3)))
case("ravel F", lambda np, x: np.ravel(x, order="F"), normal((2, 3)))
case("transpose", lambda np, x: np.transpose(x), normal((2, 3, 4)))
case("transpose(axes)", lambda np, x: np.transpose(x, (1, 2, 0)), normal((2, 3, 4)))
case("permute_dims", lambda np, x: np.permute_dims(x, (1, 0)), normal((2, 3)))
case("matrix_transpose", lambda np, x: np.matrix_transpose(x), normal((2, 3, 4)))
case("swapaxes", lambda np, x: np.swapaxes(x, 0, -1), normal((2, 3, 4)))
case("moveaxis", lambda np, x: np.moveaxis(x, [0, 1], [-1, 0]), normal((2, 3, 4)))
case("rollaxis", lambda np, x: np.rollaxis(x, 2, 1), normal((2, 3, 4)))
case("expand_dims", lambda np, x: np.expand_dims(x, (0, 2)), normal((2, 3)))
case("squeeze", lambda np, x: np.squeeze(x), normal((1, 3, 1)))
case("squeeze(axis)", lambda np, x: np.squeeze(x, axis=2), normal((1, 3, 1)))
case("broadcast_to", lambda np, x: np.broadcast_to(x, (2, 3, 4)), normal((3, 1)))
case("broadcast_arrays", lambda np, x, y: np.broadcast_arrays(x, y), normal((3, 1), (4,)))
for n in (1, 2, 3):
    for shape in ((), (3,), (3, 2), (3, 2, 2)):
        case(f"atleast_{n}d of {shape}", of(f"atleast_{n}d"), normal(shape))
case("atleast_1d of two", lambda np, x, y: np.atleast_1d(x, y), normal((), (2,)))
for axis in (None, 0, (1, 2)):
    case(f"flip({axis})", lambda np, x, axis=axis: np.flip(x, axis), normal((2, 3, 4)))
case("fliplr", lambda np, x: np.fliplr(x), normal((2, 3)))
case("flipud", lambda np, x: np.flipud(x), normal((2, 3)))
for k in range(-1, 5):
    case(f"rot90({k})", lambda np, x, k=k: np.rot90(x, k), normal((2, 3)))
    case(f"rot90({k}, axes)", lambda np, x, k=k: np.rot90(x, k, axes=(2, 1)), normal((2, 3, 4)))
case("copy", lambda np, x: np.copy(x), normal((2, 3)))

case("concatenate", lambda np, x, y: np.concatenate((x, y)), normal((2, 3), (1, 3)))
case(
    "concatenate(axis)",
    lambda np, x, y: np.concatenate((x, y, np.zeros((2, 1))), axis=-1),
    normal((2, 3), (2, 1)),
)
case("concatenate(None)", lambda np, x, y: np.concatenate((x, y), axis=None), normal((2, 3), ()))
case("concat", lambda np, x, y: np.concat((x, y)), normal((2,), (0,)))
case("stack", lambda np, x, y: np.stack((x, y)), normal((2, 3), (2, 3)))
case(
    "stack(axis)",
    lambda np, x, y: np.stack([x, np.ones((2, 3)), y], axis=-1),
    normal((2, 3), (2, 3)),
)
case("stack of array", lambda np, x: np.stack(x, axis=1), normal((2, 3)))
for name in ("vstack", "hstack", "dstack", "column_stack"):
    pair = lambda np, x, y, name=name: getattr(np, name)((x, y))  # noqa: E731
    case(f"{name} of vectors", pair, normal((3,), (3,)))
    case(f"{name} of matrices", pair, normal((3, 3), (3, 3)))
case("hstack of scalars", lambda np, x, y: np.hstack((x, y, 2.0)), normal((), ()))
case("append", lambda np, x, y: np.append(x, y), normal((2, 3), ()))
case("append(axis)", lambda np, x, y: np.append(x, y, axis=1), normal((2, 3), (2, 1)))
case(
    "block",
    lambda np, a, b, c, d: np.block([[a, b], [c, d]]),
    normal((2, 2), (2, 1), (1, 2), (1, 1)),
)
case("insert", lambda np, x, v: np.insert(x, 1, v), normal((4,), ()))
case("insert(axis)", lambda np, x, v: np.insert(x, [0, 2], v, axis=1), normal((2, 3), (2, 2)))
case("meshgrid", lambda np, x, y: np.meshgrid(x, y), normal((3,), (2,)))
case(
    "meshgrid ij", lambda np, x, y, z: np.meshgrid(x, y, z, indexing="ij"), normal((3,), (2,), ())
)
case("meshgrid sparse", lambda np, x, y: np.meshgrid(x, y, sparse=True), normal((3,), (2,)))

case("split", lambda np, x: np.split(x, 3, axis=1), normal((2, 6)))
case("split(indices)", lambda np, x: np.split(x, [1, 3, 3, 9]), normal((5, 2)))
case("array_split", lambda np, x: np.array_split(x, 3), normal((7,)))
case("vsplit", lambda np, x: np.vsplit(x, 2), normal((4, 3)))
case("hsplit", lambda np, x: np.hsplit(x, 2), normal((3, 4)))
case("hsplit of vector", lambda np, x: np.hsplit(x, [1]), normal((4,)))
case("dsplit", lambda np, x: np.dsplit(x, 2), normal((1, 2, 4)))
if hasattr(np, "unstack"):
    case("unstack", lambda np, x: np.unstack(x, axis=1), normal((2, 3)))

case("repeat", lambda np, x: np.repeat(x, 3), normal((2, 3)))
case("repeat(axis)", lambda np, x: np.repeat(x, [1, 0, 2], axis=1), normal((2, 3)))
for reps in (2, (2,), (2, 1), (1, 2, 3), ()):
    case(f"tile({reps})", lambda np, x, reps=reps: np.tile(x, reps), normal((2, 3)))
case("delete", lambda np, x: np.delete(x, [1, 3]), normal((2, 3)))
case("delete(axis)", lambda np, x: np.delete(x, slice(None, None, 2), axis=1), normal((2, 3)))
case("resize", lambda np, x: np.resize(x, (3, 4)), normal((2, 3)))
case("roll", lambda np, x: np.roll(x, 2), normal((2, 3)))
case("roll(axis)", lambda np, x: np.roll(x, -1, axis=1), normal((2, 3)))
case("roll(axes)", lambda np, x: np.roll(x, (1, 5), axis=(0, 1)), normal((2, 3)))
case("roll(axes), one shift", lambda np, x: np.roll(x, 1, axis=(0, 1)), normal((2, 3)))
case("fftshift", lambda np, x: np.fft.fftshift(x), normal((2, 3)))
case("fftshift(axes)", lambda np, x: np.fft.fftshift(x, axes=1), normal((2, 5)))
case("ifftshift", lambda np, x: np.fft.ifftshift(x), normal((2, 3)))
case("ifftshift(axes)", lambda np, x: np.fft.ifftshift(x, axes=(1,)), normal((2, 5)))
case("trim_zeros", lambda np, x: np.trim_zeros(x * np.array([0.0, 1, 0, 1, 1, 0])), normal((6,)))
case(
    "trim_zeros front",
    lambda np, x: np.trim_zeros(x * np.array([0.0, 0, 1, 1, 1, 0]), "f"),
    normal((6,)),
)

for mode in ("edge", "reflect", "symmetric", "wrap"):
    case(f"pad {mode}", lambda np, x, mode=mode: np.pad(x, ((1, 2), (0, 3)), mode), normal((3, 4)))
case("pad", lambda np, x: np.pad(x, 1), normal((2, 3)))
for mode in ("linear_ramp", "mean", "median", "maximum", "minimum"):
    for width in (2, (1, 3), ((0, 2), (3, 0)), ((1,), (2,)), 0):
        case(f"pad {mode}, {width}", of("pad", width, mode), distinct((3, 4)))
for length in (1, (2, 3), ((1, 9), (2, 2))):
    for mode in ("mean", "median", "maximum", "minimum"):
        by = of("pad", 2, mode, stat_length=length)
        case(f"pad {mode}, stat_length {length}", by, distinct((3, 4)))
case(
    "pad linear_ramp, end_values",
    lambda np, x, v: np.pad(x, (2, 3), "linear_ramp", end_values=v),
    normal((3, 4), (2, 2)),
)
for mode in ("reflect", "symmetric"):
    for shape, width in (((4,), (2, 3)), ((3,), 11), ((2, 3), ((1, 5), (7, 0))), ((2, 1), 3)):
        odd = of("pad", width, mode, reflect_type="odd")
        case(f"pad odd {mode}, {shape}, {width}", odd, normal(shape), value_rtol=1e-12)


def _padded_by(row: Any, pair: tuple[int, int], axis: int, options: dict[str, Any]) -> None:
    before, after = pair
    row[:before] = options["factor"] * row[before]
    row[len(row) - after :] = axis + row[len(row) - after - 1] ** 2


case(
    "pad by a function",
    lambda np, x, v: np.pad(x, ((1, 2), (0, 1)), _padded_by, factor=v),
    normal((2, 3), ()),
    0,
    dispatch=False,
)
case(
    "pad constant",
    lambda np, x, v: np.pad(x, ((0, 2), (1, 0)), constant_values=v),
    normal((2, 3), ()),
)
case(
    "pad constants",
    lambda np, x, v: np.pad(x, 2, "constant", constant_values=v),
    normal((2, 3), (2, 2)),
)

case("diagonal", lambda np, x: np.diagonal(x, 1), normal((3, 4)))
case("diagonal(axes)", lambda np, x: np.diagonal(x, -1, 0, 2), normal((3, 2, 4)))
for k in (-1, 0, 2):
    case(f"diag({k})", lambda np, x, k=k: np.diag(x, k), normal((3,)))
    case(f"diag({k}) of matrix", lambda np, x, k=k: np.diag(x, k), normal((3, 4)))
    case(f"tril({k})", lambda np, x, k=k: np.tril(x, k), normal((3, 4)))
    case(f"triu({k})", lambda np, x, k=k: np.triu(x, k), normal((2, 3, 4)))
case("tril of vector", lambda np, x: np.tril(x), normal((3,)))
case("diagflat", lambda np, x: np.diagflat(x, 1), normal((2, 2)))
case(
    "sliding_window_view",
    lambda np, x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1),
    normal((2, 5)),
)

# --- products ------------------------------------------------------------------------------------

PAIRS: dict[str, list[tuple[Shape, Shape]]] = {
    "matmul": [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 1, 2, 3), (5, 3, 2)), ((3,), (4, 3, 2))],
    "dot": [((), ()), ((), (2, 3)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 2, 3), (4, 3, 2)), ((2, 2, 3), (3,))],
    "inner": [((), (3,)), ((3,), (3,)), ((2, 3), (4, 3)), ((2, 3), (3,)), ((2, 2, 3), (4, 3))],
    "outer": [((3,), (2,)), ((2, 2), (3,)), ((), (3,))],
    "vdot": [((3,), (3,)), ((2, 3), (3, 2)), ((), ())],
    "kron": [((2,), (3,)), ((2, 3), (3, 2)), ((2, 2), (3,)), ((), (3,)), ((2, 1, 2), (2, 2))],
    "cross": [((3,), (3,)), ((4, 3), (3,)), ((2, 4, 3), (4, 3))],
    "vecdot": [((3,), (3,)), ((2, 3), (3,)), ((4, 1, 3), (2, 3))],
    "matvec": [((2, 3), (3,)), ((4, 1, 2, 3), (5, 3))],
    "vecmat": [((3,), (3, 2)), ((5, 3), (4, 1, 3, 2))],
    "convolve": [((5,), (3,)), ((2,), (4,)), ((4,), (4,)), ((5,), (1,))],
    "correlate": [((5,), (3,)), ((2,), (4,)), ((4,), (4,)), ((3,), (6,))],
}  # fmt: skip
for name, pairs in PAIRS.items():
    for shapes in pairs if hasattr(np, name) else ():
        case(f"{name}{shapes}", of(name), normal(*shapes))
for name in ("convolve", "correlate"):
    for mode in ("full", "same", "valid"):
        for shapes in PAIRS[name]:
            case(f"{name}{shapes} {mode}", of(name, mode), normal(*shapes))
case("cross(axes)", of("cross", axisa=0, axisb=1, axisc=0), normal((3, 4), (4, 3)))
case("vecdot(axis)", lambda np, x, y: np.vecdot(x, y, axis=0), normal((3, 2), (3, 2)))
case("dot with itself", lambda np, x: np.dot(x, x), normal((3, 3)))
for axes, other in (
    *[(0, (2, 2, 3)), (1, (2, 2, 3)), (2, (3, 2, 2)), (([0, 2], [1, 0]), (2, 2, 3))],
    *[((1, 0), (3, 2)), (([], []), (2, 2, 3))],
):
    case(f"tensordot({axes})", of("tensordot", axes), normal((2, 3, 2), other))
for diagonal in ((0, 0, 1), (1, 0, 1), (-1, 2, 0)):
    case(f"trace{diagonal}", of("trace", *diagonal), normal((3, 4, 2)))

EINSUMS: dict[str, list[Shape]] = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij,ij->": [(2, 3), (2, 3)],
    "i,i": [(3,), (3,)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "ij->ji": [(2, 3)],
    "ba": [(2, 3)],
    "ij->": [(2, 3)],
    "ij->j": [(2, 3)],
    "ijk->ki": [(2, 3, 4)],
    "iij,j->i": [(2, 2, 3), (3,)],
    "iii->i": [(2, 2, 2)],
    "iijj->ij": [(2, 2, 3, 3)],
    "i,j->ij": [(2,), (3,)],
    "i,j,k->kij": [(2,), (3,), (2,)],
    "ij,k->ik": [(2, 3), (4,)],
    "...ij,...jk->...ik": [(5, 1, 2, 3), (4, 3, 2)],
    "...i,...i": [(2, 3), (3,)],
    "...ii->...i": [(2, 3, 3)],
    "i...,i...->...": [(3, 2), (3, 2)],
    "...->...": [(2, 3)],
    "ij...,jk...->ik...": [(2, 3), (3, 2)],
    "...,...": [(2, 3), ()],
    "ij,ij->ij": [(1, 3), (2, 3)],
    "ij,jk -> ik": [(2, 1), (3, 4)],
    "abc,cd,de,ef->abf": [(2, 2, 3), (3, 2), (2, 3), (3, 2)],
    " i j , j k -> i k ": [(2, 3), (3, 4)],
    ",ij->ij": [(), (2, 3)],
}
for text, shapes in EINSUMS.items():
    plain = lambda np, *xs, text=text: np.einsum(text, *xs)  # noqa: E731
    planned = lambda np, *xs, text=text: np.einsum(text, *xs, optimize=True)  # noqa: E731
    case(f"einsum {text}", plain, normal(*shapes))
    case(f"einsum optimized {text}", planned, normal(*shapes), value_rtol=1e-13)
for name, lists, pair in (
    ("", ([0, 1], [1, 2], [2, 0]), ((2, 3), (3, 4))),
    (", implicit", ([0, 1], [1, 2]), ((2, 3), (3, 4))),
    (", ellipsis", ([..., 0], [..., 0], [...]), ((2, 3), (2, 3))),
):
    by_lists = lambda np, x, y, k=lists: np.einsum(x, k[0], y, *k[1:])  # noqa: E731
    case(f"einsum of lists{name}", by_lists, normal(*pair))
case("einsum with itself", lambda np, x: np.einsum("ij,jk,ki->", x, x, x), normal((3, 3)))

for increasing in (False, True):
    case(f"vander({increasing})", of("vander", 4, increasing), with_zeros((3,), 1))
case("vander square", lambda np, x: np.vander(x), normal((3,)))
case("vander of no columns", lambda np, x: np.vander(x, 0), normal((3,)))
case("polyval", lambda np, p, x: np.polyval(p, x), normal((4,), (2, 3)))
case("polyval at a number", lambda np, p, x: np.polyval(p, x), normal((3,), ()))
case("polyadd", lambda np, p, q: np.polyadd(p, q), normal((4,), (2,)))
case("polysub", lambda np, p, q: np.polysub(p, q), normal((1,), (3,)))
case("polymul", lambda np, p, q: np.polymul(p, q), normal((4,), (2,)))
case("polyder", lambda np, p: np.polyder(p), normal((4,)))
case("polyder(2)", lambda np, p: np.polyder(p, 2), normal((4,)))
case("polyint", lambda np, p: np.polyint(p), normal((4,)))
case("polyint(2, k)", lambda np, p, k: np.polyint(p, 2, k), normal((4,), (2,)))


def _differentiable(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the rank and the cut-off."""
    return tuple(x for x in results if np.ndim(cadiff.value(x)) > 0)


case("polydiv", lambda np, p, q: np.polydiv(p, q), positive((5,), (3,)), value_rtol=1e-13)
case("polydiv, no quotient", lambda np, p, q: np.polydiv(p, q)[1], positive((2,), (3,)))
case("poly", lambda np, z: np.poly(z), normal((4,)), value_rtol=1e-13)
case("poly of a matrix", lambda np, a: np.poly(a + a.T), normal((3, 3)), value_rtol=1e-12)
case("roots", lambda np, p: np.roots(p), fixed([2.0, 1.0, -13.0, 6.0]), value_rtol=1e-13)
case("roots, zeros", lambda np, p: np.roots(p * [0, 1, 1, 0]), fixed([1.0, 2, 3, 4]))

FIT = ([0.0, 0.7, 1.1, 2.0, 3.0], [1.0, -0.5, 0.2, 2.0, 2.5])
case("polyfit", lambda np, x, y: np.polyfit(x, y, 2), fixed(*FIT), value_rtol=1e-12)
case(
    "polyfit(w)",
    lambda np, x, y, w: np.polyfit(x, y, 1, w=w),
    fixed(*FIT, [1.0, 2, 1, 0.5, 1]),
    value_rtol=1e-12,
)
for options in ({"full": True}, {"cov": True}, {"cov": "unscaled"}):
    for name, points in (("polyfit", FIT), ("polyfit of two", (FIT[0], np.reshape(FIT, (5, 2))))):
        case(
            f"{name}({options})",
            lambda np, x, y, o=options: _differentiable(np.polyfit(x, y, 2, w=x + 0.5, **o)),
            fixed(*points),
            value_rtol=1e-11,
        )
case(
    "polyfit of two",
    lambda np, x, y: np.polyfit(x, y, 2),
    fixed(FIT[0], np.reshape(FIT, (5, 2))),
    value_rtol=1e-12,
)

# --- choices -------------------------------------------------------------------------------------

case("where", lambda np, x, y: np.where(MASK, x, y), normal((3, 4), (4,)))
case("where of values", lambda np, x, y: np.where(x > 0, x * y, np.sin(y)), distinct((6,), (6,)))
case("where scalar", lambda np, x: np.where(MASK, x, 0.0), normal(()))
case("select", lambda np, x, y: np.select([x > 2, x > -1], [x * y, y], 7.0), distinct((7,), (7,)))
case("select(default)", lambda np, x, d: np.select([MASK], [x], d), normal((3, 4), ()))
case("clip", lambda np, x: np.clip(x, -1.0, 2.0), distinct((7,)))
case(
    "clip(bounds)",
    lambda np, x, lo, hi: np.clip(x, lo, hi),
    lambda rng: (*distinct((7,))(rng), -0.9, 2.1),
)
case("clip(low)", lambda np, x: np.clip(x, -1.0, None), distinct((7,)))
case("clip(high)", lambda np, x: np.clip(x, None, 2.0), distinct((7,)))
if "min" in __import__("inspect").signature(np.clip).parameters:
    case("clip(min=)", lambda np, x: np.clip(x, min=-1.0), distinct((7,)))
case("nan_to_num", lambda np, x: np.nan_to_num(x), fixed([1.0, np.nan, np.inf, -2.0]))
for name, numbers in (("plain numbers", [1.0, np.nan]), ("one", np.nan)):
    case(
        f"nan_to_num of {name}",
        lambda np, v, x=numbers: np.nan_to_num(x, nan=v),
        normal(()),
        dispatch=False,
    )
limits = lambda np, x, v: np.nan_to_num(x, nan=v, posinf=3.0, neginf=-3.0)  # noqa: E731
case("nan_to_num(nan)", limits, fixed([1.0, np.nan, np.inf, -np.inf], 5.0))
for decimals in (0, 1, -1):
    case(f"round({decimals})", of("round", decimals), fixed([0.31, -1.42, 7.88]))
case("around", lambda np, x: np.around(x), distinct((5,)))
if VERSION < (2, 5):  # which warns that it is to go
    case("fix", lambda np, x: np.fix(x), distinct((6,)))
case("sinc", lambda np, x: np.sinc(x), normal((5,)), value_rtol=1e-14)
case("real", lambda np, x: np.real(x), normal((2, 3)))
case("real_if_close", lambda np, x: np.real_if_close(x), normal((2, 3)))
case("angle", lambda np, x: np.angle(x), distinct((4,)))
case("angle(deg)", lambda np, x: np.angle(x, deg=True), distinct((4,)))
case("clip(dtype)", lambda np, x: np.clip(x, -1.0, 2.0, dtype=float), distinct((7,)))
case("imag", lambda np, x: np.imag(x) + 0.0 * x, normal((2, 3)))

case("take", lambda np, x: np.take(x, [[0, 5], [2, 2]]), normal((2, 3)))
for mode in ("raise", "wrap", "clip"):
    case(f"take {mode}", of("take", [0, -1, 2], axis=1, mode=mode), normal((2, 3)))
case("take scalar", lambda np, x: np.take(x, 1, axis=0), normal((2, 3)))
case(
    "take_along_axis",
    lambda np, x: np.take_along_axis(x, np.array([[0, 2], [1, 1]]), axis=1),
    normal((2, 3)),
)
case("choose", lambda np, x, y: np.choose([[0, 1, 1], [1, 0, 0]], [x, y]), normal((2, 3), (3,)))
case(
    "choose wrap", lambda np, x, y: np.choose([0, 3, -1], [x, y], mode="wrap"), normal((3,), (3,))
)
case("compress", lambda np, x: np.compress([True, False, True], x, axis=1), normal((2, 3)))
case("extract", lambda np, x: np.extract(MASK, x), normal((3, 4)))
case("unique", lambda np, x: np.unique(x), distinct((2, 3)))
if hasattr(np, "unique_values"):
    case("unique_values", lambda np, x: np.sort(np.unique_values(x)), distinct((2, 3)))
    case("unique_counts", lambda np, x: np.sort(np.unique_counts(x).values), distinct((2, 3)))
    case("unique_inverse", lambda np, x: np.unique_inverse(x).values, distinct((2, 3)))
    case("unique_all", lambda np, x: np.unique_all(x).values, distinct((2, 3)))
for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
    case(
        name,
        lambda np, x, y, n=name: getattr(np, n)(np.append(x, y[1]), y),
        lambda rng: (distinct((2, 3))(rng)[0], distinct((4,))(rng)[0] + 20.0),
    )
case("unique(axis)", lambda np, x: np.unique(x, axis=0), distinct((3, 2)))

for axis in (-1, 0, None):
    case(f"sort({axis})", lambda np, x, a=axis: np.sort(x, axis=a), distinct((2, 3, 4)))
    case(f"partition({axis})", of("partition", [1], axis=axis), distinct((3, 2, 4)))
case("sort, nan", lambda np, x: np.sort(x)[:5], with_nan((7,)))


def _written(np: Any, write: Callable[[Any], None]) -> Any:
    y = np.ones((3, 4))
    write(y)
    return y


WRITTEN: dict[str, tuple[Callable[[Any, Any, Any], Any], Shape]] = {
    "copyto": (lambda np, y, x: np.copyto(y, x), (4,)),
    "copyto(where)": (lambda np, y, x: np.copyto(y, x, where=MASK), (4,)),
    "put": (lambda np, y, x: np.put(y, [1, 5, -1], x), (2,)),
    "place": (lambda np, y, x: np.place(y, MASK, x), (4,)),
    "putmask": (lambda np, y, x: np.putmask(y, MASK, x), (5,)),
    "put_along_axis": (lambda np, y, x: np.put_along_axis(y, COLUMN, x, 1), (3, 1)),
    "fill_diagonal": (lambda np, y, x: np.fill_diagonal(y, x), (3,)),
}
COLUMN = np.array([[1], [0], [3]])
for name, (write, shape) in WRITTEN.items():
    into_ones = lambda np, x, write=write: _written(np, lambda y: write(np, y, x))  # noqa: E731
    case(name, into_ones, normal(shape), dispatch=False)

# --- methods of ufuncs ---------------------------------------------------------------------------

EXTREMES = ("maximum", "minimum", "fmax", "fmin")
REDUCED: list[dict[str, Any]] = [{}, {"axis": None}, {"axis": (0, 2), "keepdims": True}]
REDUCED += [{"axis": -1, "initial": 0.7, "where": MASK}]
ALONG: list[dict[str, Any]] = [{}, {"axis": 1}, {"axis": -1, "dtype": float}]
for name in (*EXTREMES, "add", "multiply"):
    variants(f"{name}.reduce", distinct((2, 3, 4)), *REDUCED)
for name in (*EXTREMES, "add", "multiply", "logaddexp", "logaddexp2", "hypot", "subtract"):
    draw = distinct((2, 3, 4)) if name in EXTREMES else positive((2, 3, 4))
    for method in ("reduce", "accumulate"):
        variants(f"{name}.{method} ", draw, *ALONG, of_=f"{name}.{method}")
    for indices in ([0, 2, 1], [1], [2, 2, 0], [1, 2], []):
        case(f"{name}.reduceat({indices})", of(f"{name}.reduceat", indices, axis=1), draw)
for name in ("divide", "copysign", "float_power"):
    case(f"{name}.reduce", of(f"{name}.reduce", axis=1), positive((2, 3)), rtol=1e-6)
for options in (
    {"axis": None},
    {"axis": (2, 0), "keepdims": True},
    {"axis": 1, "initial": 0.7},
    {"axis": 1, "where": MASK},
    {"axis": None, "where": MASK, "initial": 0.3},
):
    for name in ("logaddexp", "hypot"):
        variants(f"{name}.reduce", positive((2, 3, 4)), options, value_rtol=2e-14)
for name in (*EXTREMES, "logaddexp", "hypot", "subtract", "divide"):
    case(f"{name}.reduce of one", of(f"{name}.reduce", axis=1), fixed([[-1.5], [0.5]]))
PLACES = ([2, 0, 2, 2, 1, 0], [1, 3, 1, 1, 0, 3])
for name in (*EXTREMES, "multiply", "hypot"):

    def at_places(np: Any, x: Any, name: str = name) -> Any:
        return _written(np, lambda y: getattr(np, name).at(y, PLACES, x))

    case(f"{name}.at", at_places, distinct((6,)), dispatch=False)
case("maximum.accumulate of one", lambda np, x: np.maximum.accumulate(x), normal((1,)))
case("subtract.accumulate", lambda np, x: np.subtract.accumulate(x, 1), normal((2, 4)))
case("subtract.accumulate of nothing", lambda np, x: np.subtract.accumulate(x), normal((0, 3)))
case("hypot.accumulate of nothing", lambda np, x: np.hypot.accumulate(x), normal((0, 3)))
case("fmax.accumulate, nan", lambda np, x: np.fmax.accumulate(x), with_nan((9,)))
case("multiply.outer", lambda np, x, y: np.multiply.outer(x, y), normal((2, 3), (2,)))

# --- methods of arrays that are no functions ---------------------------------------------------


def _flat_assigned(y: Any, key: Any, numbers: Any) -> None:
    y.flat[key] = numbers


def _flat_set(y: Any, numbers: Any) -> None:
    y.flat = numbers


CHANGES: dict[str, tuple[Callable[[Any, Any], Any], Shape]] = {
    "sort": (lambda y, v: y.sort(), ()),
    "sort(0)": (lambda y, v: y.sort(axis=0), ()),
    "partition": (lambda y, v: y.partition(1, axis=1), ()),
    "fill": (lambda y, v: y.fill(v), ()),
    "put": (lambda y, v: y.put([7, 0, -1], v), (2,)),
    "flat[1]": (lambda y, v: _flat_assigned(y, 1, v), ()),
    "flat[1:5]": (lambda y, v: _flat_assigned(y, slice(1, 5), v), (2,)),
    "flat[mask]": (lambda y, v: _flat_assigned(y, np.arange(12) % 2 == 0, v), (6,)),
    "flat": (_flat_set, (5,)),
    "flat of transpose": (lambda y, v: _flat_set(y.T, v), (12,)),
}


def _changed(x: Any, change: Callable[[Any], Any]) -> Any:
    y = x * 2.0
    change(y)
    return y


for name, (change, shape) in CHANGES.items():
    case(
        f"x.{name}",
        lambda np, x, v, change=change: _changed(x, lambda y: change(y, v)) + 0.0 * np.sum(v),
        distinct((3, 4), shape),
    )
case("x.flat, iterated", lambda np, x: [e * e for e in x.T.flat], normal((2, 3)))
case("x.flat, read", lambda np, x: [x.flat[1], x.T.flat[1:3], x.flat[[0, 5]]], normal((2, 3)))
case("x.mT", lambda np, x: x.mT, normal((2, 3, 4)))
case("x.compress", lambda np, x: x.compress([True, False, True], axis=1), normal((2, 3)))
case("x.conj", lambda np, x: x.conj(), normal((2,)))

case(
    "piecewise",
    lambda np, x: np.piecewise(x, [x < -1, x > 2], [lambda t: t**2, lambda t: -t, 4.0]),
    distinct((8,)),
)
case(
    "piecewise 0-d",
    lambda np, x: np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t**2]),
    normal(()),
)
case(
    "apply_along_axis",
    lambda np, x: np.apply_along_axis(lambda row: row[1:] * row[:-1], 1, x),
    normal((2, 3, 4)),
)
case(
    "apply_along_axis to number",
    lambda np, x: np.apply_along_axis(lambda row: np.sum(row**2), 0, x),
    normal((2, 3)),
)
case("apply_over_axes", lambda np, x: np.apply_over_axes(np.sum, x * x, [0, 2]), normal((2, 3, 4)))
case(
    "vectorize",
    lambda np, x, y: np.vectorize(lambda a, b: a * b if a > 0 else b)(x, y),
    distinct((4,), (2, 1)),
    dispatch=False,
)

# --- calculus ------------------------------------------------------------------------------------

variants("diff", normal((3, 4)), {}, {"axis": 0}, {"n": 2}, {"n": 3, "axis": 1})
case("diff(ends)", lambda np, x, a, b: np.diff(x, prepend=a, append=b), normal((2, 3), (), (2, 1)))
case("ediff1d", lambda np, x: np.ediff1d(x), normal((2, 3)))
case(
    "ediff1d(ends)",
    lambda np, x, a, b: np.ediff1d(x, to_end=a, to_begin=b),
    normal((4,), (2,), ()),
)
for axis in (0, 1, -1):
    case(f"trapezoid({axis})", of("trapezoid", dx=0.3, axis=axis), normal((3, 4)))
case("trapezoid(x)", lambda np, y, x: np.trapezoid(y, x), normal((3, 4), (4,)))
case("trapezoid(x like y)", lambda np, y, x: np.trapezoid(y, x, axis=0), normal((3, 4), (3, 4)))
case("trapezoid(x of rows)", lambda np, y, x: np.trapezoid(y, x), normal((2, 3, 4), (3, 4)))
case("trapezoid(dx)", lambda np, y, h: np.trapezoid(y, dx=h), normal((4,), ()))
for order in (1, 2):
    by = {"edge_order": order}
    uneven = lambda rng: (rng.normal(size=5), np.cumsum(rng.uniform(0.5, 1.0, 5)))  # noqa: E731
    case(f"gradient({order})", of("gradient", **by), normal((5,)))
    case(f"gradient({order}) of matrix", of("gradient", 0.5, **by), normal((4, 3)))
    case(f"gradient({order}, axis)", of("gradient", 0.5, axis=1, **by), normal((4, 3)))
    case(f"gradient({order}, uneven)", of("gradient", **by), uneven, rtol=1e-6)
    two = of("gradient", [0.0, 1.0, 3.0], **by)
    case(f"gradient({order}, two)", two, normal((4, 3), ()), value_rtol=1e-14)
case("gradient(h)", lambda np, f, h: np.gradient(f, h), positive((5,), ()))

TABLE = ([-1.0, 0.1, 1.5, 4.0], [2.0, -1.0, 3.0, 0.5])
SIX = [-2.0, -0.5, 0.3, 1.2, 3.0, 5.0]
case("interp", of("interp"), fixed(SIX, *TABLE), value_rtol=1e-14)
case("interp number", of("interp"), fixed(0.3, *TABLE), value_rtol=1e-14)
ends = lambda np, x, left, right: np.interp(x, *TABLE, left=left, right=right)  # noqa: E731
case("interp(left, right)", ends, fixed([-2.0, 0.3, 5.0], 7.0, 8.0))
case("interp(period)", of("interp", period=4.7), fixed(SIX, *TABLE), value_rtol=1e-13)
case("interp one point", of("interp"), fixed([-2.0, 0.3], [0.1], [2.0]))
for name, xp in (
    ("ends in", [-1.0, 0.1, 1.5, 1.5]),
    ("begins with", [0.1, 0.1, 1.5, 4.0]),
    ("is", [0.1, 0.1, 0.1, 0.1]),
):
    case(
        f"interp, table {name} a step",
        lambda np, x, fp, xp=xp: np.interp(x, xp, fp),
        fixed([-2.0, 0.3, 1.4, 3.0], TABLE[1]),
        value_rtol=1e-14,
    )
    case(
        f"interp at its points, table {name} a step",
        lambda np, fp, xp=xp: np.interp([*xp, xp[-1]], xp, fp),
        fixed(TABLE[1]),
    )
case("unwrap", lambda np, p: np.unwrap(p), fixed([0.0, 3.0, 6.6, 0.5, 14.0]), value_rtol=1e-14)
case("unwrap(axis)", of("unwrap", axis=0, period=4.0), distinct((3, 4)), value_rtol=1e-13)

WEIGHTS = np.array([1, 2, 1, 3, 1])
WEIGHED: list[dict[str, Any]] = [{}, {"bias": True}, {"ddof": 2}, {"fweights": WEIGHTS}]
WEIGHED += [{"fweights": WEIGHTS, "aweights": WEIGHTS + 0.5, "ddof": 1}]
variants("cov", normal((3, 5)), *WEIGHED, value_rtol=1e-13)
POINTS = np.array([1.0, 2.0, 3.0, 4.5])
fitted = lambda np, y, w: np.polyfit(POINTS, y, 1, w=w)  # noqa: E731
weighed = lambda np, w: np.polyfit(POINTS, POINTS**2, 1, w=w)  # noqa: E731
counted = lambda np, w: np.cov(POINTS, fweights=[1, 2, 1, 3], aweights=w)  # noqa: E731
for name, call, args in (
    ("cov of plain numbers", lambda np, w: np.cov(POINTS, aweights=w), positive((4,))),
    ("cov of counted numbers", counted, positive((4,))),
    ("corrcoef of a list", lambda np, x, y: np.corrcoef([x, y]), normal((5,), (5,))),
    ("polyfit of plain points", fitted, positive((4,), (4,))),
    ("polyfit of plain numbers", weighed, positive((4,))),
):
    case(name, call, args, dispatch=False, value_rtol=1e-12)
case("cov of vector", lambda np, x: np.cov(x), normal((5,)), value_rtol=1e-13)
case("cov of two", lambda np, x, y: np.cov(x, y), normal((5,), (5,)), value_rtol=1e-13)
case("cov of columns", lambda np, x: np.cov(x, rowvar=False), normal((5, 2)), value_rtol=1e-13)
beside = lambda np, x, w: np.cov(x, aweights=w)  # noqa: E731
case("cov(aweights)", beside, positive((2, 5), (5,)), value_rtol=1e-13)
case("corrcoef", lambda np, x: np.corrcoef(x), normal((3, 6)), value_rtol=1e-12)
case("corrcoef of two", lambda np, x, y: np.corrcoef(x, y), normal((6,), (6,)), value_rtol=1e-12)
case("bincount", lambda np, w: np.bincount([0, 2, 2, 1], w, 5), normal((4,)))

for axis in (0, -1):
    case(f"linspace({axis})", of("linspace", 5, axis=axis), normal((2,), (2,)), value_rtol=1e-13)
case("linspace", of("linspace", 7), positive((), ()), value_rtol=1e-14)
half_open = of("linspace", 4, endpoint=False, retstep=True)
case("linspace open", half_open, positive((), ()), value_rtol=1e-14)
case("linspace of one", lambda np, a, b: np.linspace(a, b, 1), positive((), ()))
case("logspace", lambda np, a, b: np.logspace(a, b, 5), normal((), ()), value_rtol=1e-13)
powers = lambda np, a, b, c: np.logspace(a, b, 5, base=c)  # noqa: E731
case("logspace(base)", powers, positive((), (), ()), value_rtol=1e-13)
case("geomspace", lambda np, a, b: np.geomspace(a, b, 5), positive((), ()), value_rtol=1e-13)

# --- creation and ufuncs without rows ------------------------------------------------------------

case("full_like", lambda np, x, v: x * np.full_like(x, v), normal((2, 3), ()))
for name in ("zeros_like", "ones_like", "empty_like"):
    case(name, lambda np, x, name=name: x * 2.0 + 0.0 * getattr(np, name)(x), normal((2, 3)))
if hasattr(np, "astype"):
    same = lambda np, x: np.astype(x, float) if hasattr(x, "astype") else x  # noqa: E731
    case("astype", same, normal((2, 3)), dispatch=False)
case("array", lambda np, x, y: np.array([[x, y], [y, 2.0]]), normal((), ()), dispatch=False)
if VERSION >= (2, 4):
    case("array(ndmax)", lambda np, x: np.array([x, x], ndmax=2), normal((3,)), dispatch=False)
case("array(ndmin)", lambda np, x: np.array(x, ndmin=3), normal((2, 3)), dispatch=False)
case("asarray", lambda np, x: np.asarray(x), normal((2, 3)), dispatch=False)
case("asarray_chkfinite", lambda np, x: np.asarray_chkfinite(x), normal((2, 3)), dispatch=False)
case("r_", lambda np, x, y: np.r_[x, 0.0, y, 1:3], normal((3,), ()), dispatch=False)
case("r_ rows", lambda np, x, y: np.r_["0,2", x, y], normal((3,), (3,)), dispatch=False)
case("c_", lambda np, x, y: np.c_[x, y], normal((3,), (3,)), dispatch=False)
case("full", lambda np, x: np.full((2, 3), x), normal((3,)), dispatch=False)
case("full of a number", lambda np, x: np.full((2, 3), x), normal(()), dispatch=False)
case("float_power", lambda np, x, y: np.float_power(x, y), positive((3,), (3,)))
case("conjugate", lambda np, x: np.conj(x), normal((3,)))
case("divmod", lambda np, x, y: np.divmod(x, y), fixed([5.3, -2.2, 7.1], [2.0, 1.4, -3.0]))
case("modf", lambda np, x: np.modf(x), distinct((6,)))
case("ldexp", lambda np, x: np.ldexp(x, [1, -2, 5]), normal((3,)))
case("frexp", lambda np, x: np.frexp(x)[0], fixed([0.3, -1.7, 5.1]))
