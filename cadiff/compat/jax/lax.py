"""`jax.lax`: loops and branches of cadiff, functions of arrays of cadiff.numpy, by JAX's names."""

import builtins
import contextlib
import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np
from cadiff import stop_gradient as stop_gradient
from cadiff.scipy import special

from .. import matrices, windows
from ..aliases import have_modules, named
from ..places import part_places
from ..trees import Function
from . import tree_util as trees
from .arrays import given_back
from .transforms import linear_transpose as linear_transpose
from .transforms import owning, vmap

Precision = SimpleNamespace(DEFAULT=0, HIGH=1, HIGHEST=2)
RoundingMethod = SimpleNamespace(AWAY_FROM_ZERO=0, TO_NEAREST_EVEN=1)


def _turns(f: Function, init: Any, is_scan: bool = False) -> tuple[Function, Any]:
    """A function of turns, and their beginning, as JAX's: what goes round keeps its dtypes."""
    leaves, tree = trees.tree_flatten(init)  # dtypes may be no leaves of it
    dtypes = [np.result_type(x) for x in leaves]
    in_order = functools.partial(trees.tree_map, lambda x: x)  # of the keys of its dicts
    own = owning(f)

    def as_before(x: Any, dtype: Any) -> Any:
        kind = getattr(x, "dtype", dtype)
        return x.astype(dtype) if kind != dtype and kind.kind == dtype.kind else x

    def turn(*args: Any) -> Any:
        result = own(*given_back(args))
        is_pair = is_scan and isinstance(result, (tuple, list)) and len(result) == 2
        new = result[0] if is_pair else result
        with contextlib.suppress(ValueError):  # cadiff's loop tells what differs
            new = tree.unflatten(builtins.map(as_before, tree.flatten_up_to(new), dtypes))
        return (new, in_order(result[1])) if is_pair else new

    return turn, in_order(init)


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any, **_: Any) -> Any:
    """`cadiff.fori_loop`, from and to arrays without axes, too."""
    begin, end = (x[()] if isinstance(x, onp.ndarray) else x for x in (lower, upper))
    return cadiff.fori_loop(begin, end, *_turns(body_fun, init_val))


def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **named: Any) -> Any:
    """`cadiff.cond`; and as JAX had first: `cond(pred, x, true_fun, y, false_fun)`."""
    if not callable(true_fun):
        return cadiff.cond(pred, lambda: false_fun(true_fun), lambda: operands[1](operands[0]))
    branches = owning(true_fun), owning(false_fun)
    return cadiff.cond(pred, *branches, *operands, *named.values())


def map(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """What f makes of each row of arrays, one after the other, or of many at once."""
    if batch_size is not None:
        return vmap(f)(xs)
    return cadiff.scan(*_turns(lambda _, x: (None, f(x)), None, True), xs)[1]


def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """What an associative `fn(x, y)` makes of all elements up to each one, along an axis.

    fn is called with arrays of many elements: of pairs, whose results are scanned likewise.
    """
    structure = trees.tree_flatten(elems)[1]

    def joint(x: Any, y: Any) -> Any:  # in other containers, perhaps
        return structure.unflatten(trees.tree_flatten(fn(x, y))[0])

    def part(tree: Any, start: int, limit: int, stride: int = 1) -> Any:
        return trees.tree_map(lambda x: slice_in_dim(x, start, limit, stride, axis), tree)

    def joined(*parts: Any) -> Any:
        return trees.tree_map(lambda *pair: np.concatenate(pair, axis), *parts)

    def scanned(tree: Any) -> Any:
        n = np.shape(trees.tree_flatten(tree)[0][0])[axis]
        if n < 2:
            return tree
        odd, even = scanned(joint(part(tree, 0, n - 1, 2), part(tree, 1, n, 2))), part(tree, 0, 1)
        if n > 2:  # results at 2, 4, ..., of those before
            even = joined(even, joint(part(odd, 0, (n - 1) // 2), part(tree, 2, n, 2)))
        in_turn = onp.argsort([*range(0, n, 2), *range(1, n, 2)])
        return trees.tree_map(lambda x: np.take(x, in_turn, axis), joined(even, odd))

    return _turned(scanned(_turned(elems, axis, reverse)), axis, reverse)


def _turned(tree: Any, axis: int, is_turned: bool = True) -> Any:
    return trees.tree_map(lambda x: np.flip(x, axis), tree) if is_turned else tree


def custom_root(
    f: Function, initial_guess: Any, solve: Function, tangent_solve: Any, has_aux: bool = False
) -> Any:
    """What `solve(f, initial_guess)` finds, a root of f, differentiated as `cadiff.root`."""
    guess = given_back(cadiff.stop_gradient(initial_guess))

    def solver(*_: Any) -> Any:
        found = solve(f, guess)
        return cadiff.flatten(found[0] if has_aux else found)[0]

    x = cadiff.root(f, guess, solver=solver)
    return (x, cadiff.stop_gradient(solve(f, guess)[1])) if has_aux else x


def custom_linear_solve(
    matvec: Function, b: Any, solve: Function, *_: Any, has_aux: bool = False, **__: Any
) -> Any:
    """What `solve(matvec, b)` gives, differentiated as the solution of `matvec(x) = b`."""
    residual = lambda x: trees.tree_map(np.subtract, matvec(x), b)  # noqa: E731
    return custom_root(residual, b, lambda *_: solve(matvec, b), None, has_aux)


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """A part along one axis."""
    (places,) = part_places(np.shape(operand)[axis:][:1], [start_index], [slice_size])
    return np.take(operand, places, axis)


def dynamic_update_slice(operand: Any, update: Any, start_indices: Sequence[Any]) -> Any:
    """The array with a part that is another array, moved inside if it is not."""
    return operand.at[part_places(np.shape(operand), start_indices, np.shape(update))].set(update)


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """The array with a part along one axis that is another array, or one element if it is less."""
    if np.ndim(update) < np.ndim(operand):
        update = np.expand_dims(update, axis)
    n = np.ndim(operand)
    starts = [start_index if k == axis % n else 0 for k in range(n)]
    return dynamic_update_slice(operand, update, starts)


def slice_in_dim(operand: Any, start: Any, limit: Any, stride: int = 1, axis: int = 0) -> Any:
    """`operand[start:limit:stride]` along an axis."""
    part = builtins.slice(start, limit, stride)
    return operand[(builtins.slice(None),) * (axis % np.ndim(operand)) + (part,)]


def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, *_: Any, **__: Any) -> Any:
    """Summed over pairs of axes: `((lhs_summed, rhs_summed), (lhs_batch, rhs_batch))`.

    The result has the batch axes, the others of `lhs`, and the others of `rhs`.
    """
    (summed, summed_right), (batch, batch_right) = dimension_numbers
    n = np.ndim(lhs)
    left, right = [*range(n)], [*range(n, n + np.ndim(rhs))]
    for k, other in zip((*summed, *batch), (*summed_right, *batch_right), strict=True):
        right[other] = k
    kept = [k for k in (*left, *right) if k not in (*summed, *batch)]
    return np.einsum(lhs, left, rhs, right, [*batch, *kept])


def _cumulative(function: Function) -> Function:
    return lambda operand, axis=0, reverse=False: _turned(
        function(_turned(operand, axis, reverse), axis), axis, reverse
    )


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The k greatest elements along an axis, and where they are."""
    ascending = np.argsort(np.flip(operand, axis), axis=axis, kind="stable")  # the first one last
    last = np.take(ascending, onp.arange(-1, -k - 1, -1), axis=axis)
    places = np.shape(operand)[axis] - 1 - last
    return [np.take_along_axis(operand, places, axis=axis), places]


def reduce(operand: Any, init: Any, computation: Function, dimensions: Sequence[int]) -> Any:
    """`computation(x, y)` of all elements along axes, beginning with a first value."""
    rows = np.moveaxis(operand, tuple(dimensions), tuple(range(len(dimensions))))
    sizes = np.shape(rows)[len(dimensions) :]
    first = np.broadcast_to(init, sizes)[()]
    return functools.reduce(computation, np.reshape(rows, (-1, *sizes)), first)


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """An array sorted along an axis, or several: by the first ones of them, which are keys."""
    if not isinstance(operand, (tuple, list)):
        return np.sort(operand, axis=dimension)
    for k in reversed(range(num_keys)):
        order = np.argsort(operand[k], axis=dimension, kind="stable")
        operand = [np.take_along_axis(x, order, axis=dimension) for x in operand]
    return tuple(operand)


def _element(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """One element along an axis, which stays if `keepdims`."""
    found = dynamic_slice_in_dim(operand, index, 1, axis)
    return found if keepdims else np.squeeze(found, axis)


_NAMES = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or "
    "bitwise_xor broadcast_shapes cbrt ceil concatenate conj cos cosh dtype=result_type exp exp2 "
    "expm1 floor full imag log log1p nextafter pow real sign sin sinh sqrt square tan tanh "
    "sub=subtract mul=multiply neg=negative max=maximum min=minimum eq=equal ne=not_equal lt=less "
    "le=less_equal gt=greater ge=greater_equal rem=fmod is_finite=isfinite shift_left=left_shift "
    "shift_right_arithmetic=right_shift rev=flip select=where "
    "transpose batch_matmul=matmul integer_pow=power"
)
_SPECIAL = (
    "erf erfc erf_inv=erfinv lgamma=gammaln digamma logistic=expit betainc igamma=gammainc "
    "igammac=gammaincc bessel_i0e=i0e bessel_i1e=i1e"
)
_WINDOWS = (
    "conv conv_general_dilated conv_with_general_padding=conv_general_dilated conv_transpose "
    "conv_dimension_numbers ConvDimensionNumbers pad reduce_window"
)


def _over_axes(function: Function) -> Function:
    return lambda x, axes=(), *, dimensions=(), **_: function(x, tuple(axes or dimensions))


def _place(function: Function, operand: Any, axis: int, index_dtype: Any = int) -> Any:
    return function(operand, axis).astype(index_dtype)


_REDUCED = named("sum max min prod and=all or=any", np)
_ACCUMULATED = named("max=maximum min=minimum logsumexp=logaddexp", np)
globals().update(
    named(_NAMES, np)
    | named(_SPECIAL, special)
    | named(_WINDOWS, windows)
    | {f"reduce_{k}": _over_axes(f) for k, f in _REDUCED.items()}
    | {f"cum{k}": _cumulative(f.accumulate) for k, f in _ACCUMULATED.items()}
    | {k: functools.partial(_place, f) for k, f in named("argmax argmin", np).items()}
    | {
        "scan": lambda f, init, xs=None, length=None, reverse=False, *_, **__: cadiff.scan(
            *_turns(f, init, True), xs, length, reverse
        ),
        "while_loop": lambda cond_fun, body_fun, init_val: cadiff.while_loop(
            lambda val: cond_fun(given_back(val)), *_turns(body_fun, init_val)
        ),
        "switch": lambda index, branches, *operands, **named: cadiff.switch(
            index, [*builtins.map(owning, branches)], *operands, *named.values()
        ),
        "dynamic_index_in_dim": _element,
        "index_in_dim": _element,
        "dynamic_slice": lambda operand, start_indices, slice_sizes: operand[
            part_places(np.shape(operand), start_indices, slice_sizes)
        ],
        "dynamic_update_index_in_dim": dynamic_update_slice_in_dim,
        "dot": lambda lhs, rhs, *_, dimension_numbers=None, **__: (
            dot_general(lhs, rhs, dimension_numbers) if dimension_numbers else np.dot(lhs, rhs)
        ),
        "div": lambda x, y: (  # of ints without its fraction
            (x - np.fmod(x, y)) // y if np.result_type(x, y).kind in "iu" else np.divide(x, y)
        ),
        "rsqrt": lambda x, **_: 1.0 / np.sqrt(x),
        "complex": lambda x, y: x + 1j * y,
        "round": lambda x, rounding_method=RoundingMethod.AWAY_FROM_ZERO, **_: (
            np.round(x) if rounding_method else np.sign(x) * np.floor(np.abs(x) + 0.5)
        ),
        "population_count": lambda x: onp.bitwise_count(x.view(f"u{x.itemsize}")).astype(x.dtype),
        "clamp": lambda low, x, high: np.clip(x, low, high),
        "select_n": lambda which, *cases: (
            np.where(which, *cases[::-1]) if len(cases) == 2 else np.choose(which, cases)
        ),
        "convert_element_type": lambda x, new_dtype: np.asarray(x).astype(new_dtype)[()],
        "full_like": lambda x, fill_value, dtype=None, shape=None, **_: np.full_like(
            x, fill_value, dtype, shape=shape
        ),
        "iota": lambda dtype, size: onp.arange(size, dtype=dtype),
        "broadcasted_iota": lambda dtype, shape, dimension: onp.indices(shape, dtype)[dimension],
        "broadcast": lambda x, sizes: np.broadcast_to(x, (*sizes, *np.shape(x))),
        "broadcast_in_dim": lambda x, shape, broadcast_dimensions, **_: np.broadcast_to(
            np.expand_dims(x, tuple({*range(len(shape))} - {*broadcast_dimensions})), shape
        ),
        "reshape": lambda x, new_sizes, dimensions=None: np.reshape(
            x if dimensions is None else np.transpose(x, dimensions), new_sizes
        ),
        "squeeze": _over_axes(np.squeeze),
        "expand_dims": _over_axes(np.expand_dims),
        "slice": lambda x, starts, limits, strides=None: x[
            tuple(builtins.map(builtins.slice, starts, limits, strides or [1] * len(starts)))
        ],
        "cumsum": _cumulative(np.cumsum),
        "cumprod": _cumulative(np.cumprod),
        "sort_key_val": lambda keys, values, dimension=-1, **_: sort([keys, values], dimension),
    }
)


_eigh = matrices.of_symmetric(np.linalg.eigh)
_LINALG = named("svd", np.linalg) | {
    "cholesky": matrices.of_symmetric(functools.partial(matrices.cholesky, lower=True)),
    "eig": matrices.eig,
    "eigh": lambda x, lower=True, symmetrize_input=True, **_: tuple(
        _eigh(x, "L" if lower else "U", symmetrize_input=symmetrize_input)
    )[::-1],
    "qr": matrices.qr,
    "triangular_solve": matrices.triangular_solve,
}
have_modules(__name__, {"linalg": _LINALG})
