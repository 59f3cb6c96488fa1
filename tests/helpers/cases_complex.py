"""How each function is called that takes complex numbers with derivatives, and how it is checked.

A case is a call as NumPy's user writes it, and its arguments: complex, real or both. Everything is
compared with NumPy's own values, and with differences along real and imaginary directions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import cadiff


class ComplexCase(NamedTuple):
    name: str
    call: Callable[..., Any]  # of the module and the arguments
    shapes: tuple[Any, ...]  # of the arguments: of complex ones, or ("real", shape)


def case(name: str, call: Callable[..., Any], *shapes: Any) -> ComplexCase:
    return ComplexCase(name, call, shapes)


def real(*shape: int) -> tuple[str, tuple[int, ...]]:
    return "real", shape


def drawn(rng: np.random.Generator, shape: Any) -> Any:
    """Numbers of absolute values around 1, away from the branch cuts along the axes."""
    if shape and shape[0] == "real":
        return np.asarray(rng.uniform(0.3, 1.2, shape[1]))[()]
    z = rng.uniform(0.3, 1.2, shape) * rng.choice([-1, 1], shape)
    z = z + 1j * rng.uniform(0.3, 1.2, shape) * rng.choice([-1, 1], shape)
    return np.asarray(z)[()]


def direction(rng: np.random.Generator, x: Any) -> Any:
    t = rng.standard_normal(np.shape(x))
    if np.iscomplexobj(x):
        t = t + 1j * rng.standard_normal(np.shape(x))
    return np.asarray(t)[()]


UFUNCS = [
    *("negative", "positive", "conjugate", "absolute", "square", "reciprocal", "sign"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan"),
    *("sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
]
# What programs run eagerly: it chooses by values.
READS = {"sort", "max", "min", "ptp", "median", "partition", "nanmax", "nanmin", "unique"}
READS |= {"unique_all", "unique_counts", "unique_inverse", "unique_values"}
READS |= {"roots", "poly", "polydiv"}
PAIRS = ["add", "subtract", "multiply", "divide", "power", "float_power", "maximum", "minimum"]
PAIRS += ["fmax", "fmin"]
LINEAR = {
    "array_split": lambda np, z: np.array_split(z, 2)[1],
    "atleast_1d": lambda np, z: np.atleast_1d(z[0, 0]),
    "atleast_2d": lambda np, z: np.atleast_2d(z[0]),
    "atleast_3d": lambda np, z: np.atleast_3d(z),
    "average": lambda np, z: np.average(z, axis=0, weights=[0.2, 0.3, 0.5]),
    "average of real ones": lambda np, z: np.average(z.real, axis=0, weights=[0.2, 0.3j, 0.5 - 1j]),
    "broadcast_to": lambda np, z: np.broadcast_to(z, (2, 3, 4)),
    "broadcast_arrays": lambda np, z: np.broadcast_arrays(z, z[0])[1],
    "compress": lambda np, z: np.compress([True, False, True], z, axis=0),
    "copy": lambda np, z: np.copy(z),
    "cumsum": lambda np, z: np.cumsum(z, axis=1),
    "nancumsum": lambda np, z: np.nancumsum(z, axis=1),
    "cumulative_sum": lambda np, z: np.cumulative_sum(z, axis=1),
    "delete": lambda np, z: np.delete(z, 1, axis=0),
    "diag": lambda np, z: np.diag(z[0]),
    "diagflat": lambda np, z: np.diagflat(z),
    "diagonal": lambda np, z: np.diagonal(z, 1),
    "diff": lambda np, z: np.diff(z, axis=0, prepend=1j),
    "ediff1d": lambda np, z: np.ediff1d(z),
    "expand_dims": lambda np, z: np.expand_dims(z, 1),
    "extract": lambda np, z: np.extract([[True, False, True, True]] * 3, z),
    "flip": lambda np, z: np.flip(z, 1),
    "fliplr": lambda np, z: np.fliplr(z),
    "flipud": lambda np, z: np.flipud(z),
    "gradient": lambda np, z: np.gradient(z, axis=1),
    "linspace": lambda np, z: np.linspace(z[0], 1j, 3),
    "trapezoid": lambda np, z: np.trapezoid(z, dx=0.5, axis=0),
    "insert": lambda np, z: np.insert(z, 1, z[0] * 2, axis=0),
    "append": lambda np, z: np.append(z, [1.0, 2j]),
    "split": lambda np, z: np.split(z, 2, axis=1)[0],
    "hsplit": lambda np, z: np.hsplit(z, 2)[0],
    "vsplit": lambda np, z: np.vsplit(z, 3)[2],
    "dsplit": lambda np, z: np.dsplit(z[None], 2)[1],
    "matrix_transpose": lambda np, z: np.matrix_transpose(z),
    "mean": lambda np, z: np.mean(z, axis=0),
    "nanmean": lambda np, z: np.nanmean(z, axis=0),
    "nansum": lambda np, z: np.nansum(z, axis=0),
    "nan_to_num": lambda np, z: np.nan_to_num(z),
    "moveaxis": lambda np, z: np.moveaxis(z, 0, 1),
    "pad": lambda np, z: np.pad(z, 1, constant_values=2j),
    "pad by maxima": lambda np, z: np.pad(z, 1, "maximum"),
    "pad by medians": lambda np, z: np.pad(z, ((1, 0), (0, 2)), "median"),
    "pad by ramps": lambda np, z: np.pad(z, 2, "linear_ramp", end_values=1j),
    "pad by odd reflections": lambda np, z: np.pad(z, 1, "reflect", reflect_type="odd"),
    "permute_dims": lambda np, z: np.permute_dims(z, (1, 0)),
    "ravel": lambda np, z: np.ravel(z),
    "repeat": lambda np, z: np.repeat(z, 2, axis=0),
    "reshape": lambda np, z: np.reshape(z, (2, 6)),
    "resize": lambda np, z: np.resize(z, (5, 3)),
    "roll": lambda np, z: np.roll(z, 1, axis=1),
    "rollaxis": lambda np, z: np.rollaxis(z, 1),
    "rot90": lambda np, z: np.rot90(z),
    "select": lambda np, z: np.select([[True, False, False, True]], [z], 1j),
    "squeeze": lambda np, z: np.squeeze(z[:1]),
    "sum": lambda np, z: np.sum(z, axis=(0, 1), keepdims=True),
    "swapaxes": lambda np, z: np.swapaxes(z, 0, 1),
    "take": lambda np, z: np.take(z, [2, 0], axis=0),
    "sliding_window_view": lambda np, z: np.lib.stride_tricks.sliding_window_view(z, 2, 1),
    "take_along_axis": lambda np, z: np.take_along_axis(z, np.array([[1], [0], [2]]), 1),
    "tile": lambda np, z: np.tile(z, 2),
    "trace": lambda np, z: np.trace(z),
    "transpose": lambda np, z: np.transpose(z),
    "tril": lambda np, z: np.tril(z),
    "triu": lambda np, z: np.triu(z),
    "unstack": lambda np, z: np.unstack(z)[1],
    "where": lambda np, z: np.where([True, False, True, False], z, 2j),
    "concatenate": lambda np, z: np.concatenate([z, z[:1].real, z * 1j]),
    "concat": lambda np, z: np.concat([z, z]),
    "stack": lambda np, z: np.stack([z, z.conj()], axis=1),
    "hstack": lambda np, z: np.hstack([z, z * 2]),
    "vstack": lambda np, z: np.vstack([z, z[0]]),
    "dstack": lambda np, z: np.dstack([z, z]),
    "column_stack": lambda np, z: np.column_stack([z[:, 0], z]),
    "block": lambda np, z: np.block([[z, z], [z, z * 1j]]),
    "meshgrid": lambda np, z: np.meshgrid(z[0], z[1])[1],
    "interp": lambda np, z: np.interp([0.5, 1.5], [0.0, 1.0, 2.0, 3.0], z[0]),
    "apply_over_axes": lambda np, z: np.apply_over_axes(np.sum, z, [0]),
    "zeros_like": lambda np, z: np.zeros_like(z) + z,
    "ones_like": lambda np, z: np.ones_like(z) * z,
    "empty_like": lambda np, z: np.empty_like(z) * 0.0 + z,
    "full_like": lambda np, z: np.full_like(z, 2j) * z,
    "real": lambda np, z: np.real(z),
    "imag": lambda np, z: np.imag(z),
    "angle": lambda np, z: np.angle(z),
    "angle in degrees": lambda np, z: np.angle(z, deg=True),
    "real_if_close": lambda np, z: np.real_if_close(z),
    "prod": lambda np, z: np.prod(z, axis=1),
    "prod of all": lambda np, z: np.prod(z),
    "cumprod": lambda np, z: np.cumprod(z, axis=1),
    "var": lambda np, z: np.var(z, axis=0),
    "std": lambda np, z: np.std(z, axis=1, ddof=1),
    "norm": lambda np, z: np.linalg.norm(z),
    "norm of rows": lambda np, z: np.linalg.norm(z, axis=1),
    "sort": lambda np, z: np.sort(z, axis=1) * np.array([1.0, 2.0, 3.0, 4.0]),
    "max": lambda np, z: np.max(z, axis=0),
    "min": lambda np, z: np.min(z),
    "round": lambda np, z: np.round(z, 1) + z,
    "around": lambda np, z: np.around(z, 1) + z,
    "rint": lambda np, z: np.rint(z) + z,
    "ptp": lambda np, z: np.ptp(z, axis=0),
    "unique": lambda np, z: np.unique(z, axis=1)[:, ::2],
    "unique_all": lambda np, z: np.unique_all(z).values[1:],
    "unique_counts": lambda np, z: np.unique_counts(z).values[::2],
    "unique_inverse": lambda np, z: np.unique_inverse(z).values[::2],
    "unique_values": lambda np, z: np.sort(np.unique_values(np.concatenate([z, z])))[::2],
    "median": lambda np, z: np.median(z, axis=1) + np.median(z[0, :3]),
    "partition": lambda np, z: np.partition(z[:, :2], 1) * np.array([1.0, 2.0]),
    "nanmax": lambda np, z: np.nanmax(z, axis=0),
    "nanmin": lambda np, z: np.nanmin(z),
    "nanprod": lambda np, z: np.nanprod(z, axis=0),
    "nancumprod": lambda np, z: np.nancumprod(z, axis=0),
    "nanvar": lambda np, z: np.nanvar(z, axis=0),
    "nanstd": lambda np, z: np.nanstd(z),
    "cumulative_prod": lambda np, z: np.cumulative_prod(z, axis=1, include_initial=True),
    "clip": lambda np, z: np.clip(z, -0.1 + 1j, 0.8) + z.clip(max=0.5),
    "choose": lambda np, z: np.choose([0, 1, 1, 0], [z, z * 2j]),
    "apply_along_axis": lambda np, z: np.apply_along_axis(lambda r: r[:2] * r.sum(), 0, z),
    "piecewise": lambda np, z: np.piecewise(z, [z.real > 0], [lambda w: w * w, 1j]) * z,
    "cov": lambda np, z: np.cov(z) + np.cov(z[0], z[1], ddof=0)[0, 1],
    "corrcoef": lambda np, z: np.corrcoef(z),
    "sinc": lambda np, z: np.sinc(z * 0.1) + np.sinc(z),
    "less": lambda np, z: np.where(np.less(z, z[0]), z, 2 * z),
    "less_equal": lambda np, z: np.where(z <= 0.1, z, 2 * z),
    "greater": lambda np, z: np.where(np.greater(z, z[:, ::-1]), z, 2 * z),
    "greater_equal": lambda np, z: np.where(z >= z[1], z, z * z),
    "polyval": lambda np, z: np.polyval(z[0], z[1:]) + np.polyval([1.0, 2j], z[1:]),
    "polyadd": lambda np, z: np.polyadd(z[0], z[1, :2]),
    "polysub": lambda np, z: np.polysub(z[0, :2], z[1]),
    "polymul": lambda np, z: np.polymul(z[0], z[1]),
    "polyder": lambda np, z: np.polyder(z[0], 2),
    "polyint": lambda np, z: np.polyint(z[0], 1, 1j),
    "polydiv": lambda np, z: np.concatenate(np.polydiv(z[0], z[1, :2])),
    "poly": lambda np, z: np.poly(z[0]),
    "poly of a matrix": lambda np, z: np.poly(z[:, :3]),
    "roots": lambda np, z: np.sum(np.roots(z[0]) ** 2),
    "vander": lambda np, z: np.vander(z[0], 3),
    "multi_dot": lambda np, z: np.linalg.multi_dot([z, z.T, z]),
    "einsum of one": lambda np, z: np.einsum("ij->j", z),
    "einsum of three": lambda np, z: np.einsum("ij,kj,k->i", z, z.conj(), z[:, 0]),
    "einsum by numbers": lambda np, z: np.einsum(z, [0, 1], z, [2, 1], [2, 0]),
    "einsum with dots": lambda np, z: np.einsum("...j,kj->...k", z, z),
}  # fmt: skip
PRODUCTS = {
    "dot": (lambda np, x, y: np.dot(x, y), (3, 4), (4, 2)),
    "matmul": (lambda np, x, y: np.matmul(x, y), (2, 3, 4), (4, 2)),
    "matmul of matrices": (lambda np, x, y: x @ (np.ones((4, 2)) * 2j + y), (3, 4), (4, 2)),
    "inner": (lambda np, x, y: np.inner(x, y), (4,), (3, 4)),
    "outer": (lambda np, x, y: np.outer(x, y), (3,), (2,)),
    "tensordot": (lambda np, x, y: np.tensordot(x, y, 1), (3, 4), (4, 2)),
    "kron": (lambda np, x, y: np.kron(x, y), (2, 2), (2, 2)),
    "cross": (lambda np, x, y: np.cross(x, y), (3,), (3,)),
    "convolve": (lambda np, x, y: np.convolve(x, y), (4,), (3,)),
    "correlate": (lambda np, x, y: np.correlate(x, y, "full"), (4,), (3,)),
    "vdot": (lambda np, x, y: np.vdot(x, y), (4,), (4,)),
    "vecdot": (lambda np, x, y: np.vecdot(x, y), (2, 4), (4,)),
    "matvec": (lambda np, x, y: np.matvec(x, y), (3, 4), (4,)),
    "vecmat": (lambda np, x, y: np.vecmat(x, y), (3,), (3, 4)),
    "einsum": (lambda np, x, y: np.einsum("ij,jk->ik", x, y), (3, 4), (4, 2)),
}


def has(name: str) -> bool:
    """Whether this version of NumPy has the function."""
    name = name.split()[0]
    return any(hasattr(module, name) for module in (np, np.linalg, np.lib.stride_tricks))


def _assigned(np: Any, z: Any) -> Any:
    y = np.zeros((3, 4), complex)
    y[0] = z[1]
    y[1:, 0] = 2j * z[0, :2]
    y += z.real
    y[:, 1] *= z[:, 2]
    return y


def _put(np: Any, z: Any) -> Any:
    w = z * 1
    np.put(w, [0, 5], z[0, :2] * 1j)
    np.put_along_axis(w, np.array([[1], [0], [2]]), z[:, 3:], 1)
    np.place(w, z.real > 9, [1j, 2.0])
    np.putmask(w, [[True, False, False, True]] * 3, z * 2j)
    sums = np.zeros((2, 4), complex)
    np.add.at(sums, [0, 1, 0], w)
    np.subtract.at(sums, (0, 1), 1j * z[0, 0])
    return np.add.reduceat(sums, [0, 2], axis=1)


def _single(np: Any, z: Any) -> Any:
    w = np.zeros(3).astype(complex)
    w[0] = z[0, 0][()] * z[0, 1][None][0]
    return w + np.sum(z)[...] * np.bool_(True)


def _copied(np: Any, z: Any) -> Any:
    w = np.zeros_like(z)
    np.copyto(w, z)
    np.fill_diagonal(w, 2j * z[0, 0])
    return w


CASES = [
    *(case(name, lambda np, z, f=name: getattr(np, f)(z), (3,)) for name in UFUNCS),
    *(case(f"{name} of a number", lambda np, z, f=name: getattr(np, f)(z), ()) for name in UFUNCS),
    *(case(name, lambda np, x, y, f=name: getattr(np, f)(x, y), (3,), (2, 3)) for name in PAIRS),
    case("divide by real", lambda np, x, y: x / y, (3,), real(3)),
    case("divide real by", lambda np, x, y: y / x, (3,), real(3)),
    case("divide by i x", lambda np, x, y: x / (1j * y), (3,), real(3)),
    case("powers", lambda np, z: z**3 + z**-2 + z**0.5 + z**0 + z**1.5 + 2.0**z, (3,)),
    case("power of real", lambda np, x, z: x**z, real(3), (3,)),
    case("real times complex", lambda np, x, z: x * z - 1j * x, real(3), (3,)),
    case("real @ constant", lambda np, x: x @ np.array([[1, 2j], [3, 4]]), real(3, 2)),
    case("phases", lambda np, x: np.exp(1j * x) * np.array([1, 2j, 3]), real(3)),
    *(case(name, call, (3, 4)) for name, call in LINEAR.items() if has(name)),
    *(case(name, *of) for name, of in PRODUCTS.items() if has(name)),
    case("indexing", lambda np, z: z[1:, 0] * z[0, [1, 2]] + z[z.real > 9].sum(), (3, 4)),
    case("attributes", lambda np, z: z.T.conj().real @ z.imag + z.mT.sum(), (3, 4)),
    case("assignment", _assigned, (3, 4)),
    case("put place putmask put_along_axis and others", _put, (3, 4)),
    case("single numbers", _single, (3, 4)),
    case("copyto and fill_diagonal", _copied, (3, 4)),
    case("array", lambda np, z: np.array([[z[0], 1.0], [2j, z[1] * z[2]]]), (3,)),
    case("methods", lambda np, z: z.reshape(2, 6).cumsum(1).ravel().dot(z.flatten().conj()), (3, 4)),
    case("comparison", lambda np, z: np.where(z == z, z, 0.0), (3,)),
]  # fmt: skip


# --- checks --------------------------------------------------------------------------------------


def close(a: Any, b: Any, tolerance: float) -> None:
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


def difference(f: Callable[..., Any], args: tuple[Any, ...], along: tuple[Any, ...]) -> Any:
    """The derivative along a direction, by central differences of fourth order."""

    def at(h: float) -> Any:
        return np.asarray(f(*(x + h * t for x, t in zip(args, along, strict=True))))

    h = 1e-3
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def check_value(f: Callable[..., Any], of_numpy: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Values, plain and with derivatives, are NumPy's."""
    expected = of_numpy(*args)
    out, _ = cadiff.jvp(f, args, args)
    close(f(*args), expected, 1e-14)
    close(out, expected, 1e-13)
    assert np.shape(out) == np.shape(expected)
    assert np.iscomplexobj(out) == np.iscomplexobj(expected)
    return expected


def check_modes(
    f: Callable[..., Any],
    of_numpy: Callable[..., Any],
    args: tuple[Any, ...],
    rng: np.random.Generator,
    reads: bool,
) -> None:
    """jvp is the difference; vjp is its transpose; a linear map and a program are the same."""
    along = tuple(direction(rng, x) for x in args)
    out, tangent = cadiff.jvp(f, args, along)
    close(tangent, difference(of_numpy, args, along), 1e-7)
    _, pull = cadiff.vjp(f, *args)
    u = direction(rng, out)
    cotangents = pull(u) if len(args) > 1 else (pull(u),)
    change = np.real(np.sum(u * tangent))
    found = sum(np.real(np.sum(g * t)) for g, t in zip(cotangents, along, strict=True))
    close(found, change, 1e-12)
    for g, x in zip(cotangents, args, strict=True):
        assert np.shape(g) == np.shape(x) and np.iscomplexobj(g) == np.iscomplexobj(x)
    _, linear = cadiff.linearize(f, *args)
    close(linear(*along), tangent, 1e-12)
    program = cadiff.compile(f)
    for _ in range(2):
        with warnings.catch_warnings():
            if reads:
                warnings.simplefilter("ignore", RuntimeWarning)
            close(program(*args), out, 1e-13)
            pulled = program.vjp(*args)[1](u)
        for a, b in zip(pulled if len(args) > 1 else (pulled,), cotangents, strict=True):
            close(a, b, 1e-11)


def check_second_order(
    f: Callable[..., Any], args: tuple[Any, ...], rng: np.random.Generator
) -> None:
    """The pullback, differentiated, is the difference of pullbacks."""
    along = tuple(direction(rng, x) for x in args)
    u = direction(rng, f(*args))

    def pulled(*args: Any) -> Any:
        cotangents = cadiff.vjp(f, *args)[1](u)
        return cotangents if len(args) == 1 else cotangents[0]

    _, change = cadiff.jvp(pulled, args, along)
    close(change, difference(pulled, args, along), 1e-6)
