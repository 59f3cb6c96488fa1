"""Products of arrays: matrices, tensors, Einstein sums, convolutions, polynomials.

All are bilinear, so the derivatives of each are products of the same kind. Einstein sums and
convolutions are operations with rules of their own; the others are composed of `matmul` and of
elementwise products.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import is_single, plain_values, widened
from ..operations import arrays, complexes
from ..operations.complexes import implements_all
from ..operations.dispatch import implements
from ..operations.guards import EQUAL, held
from ..operations.primitives import curried, linear_in, stated
from ._common import Number, as_number, as_view, existing, like, refuse, unsupported
from ._own import copied
from ._shapes import diagonal
from ._systems import characteristic
from .linalg import eigvals, number

# --- matrices and vectors ------------------------------------------------------------------------


def _refuse_ufunc(name: str, options: dict[str, Any]) -> None:
    """Refuse the options of a ufunc, apart from those that change nothing here."""
    refuse(name, out=options.pop("out", None), dtype=options.pop("dtype", None))
    for option in set(options) - {"casting", "order", "subok"}:
        unsupported(name, f"{option}=", "move the axes with cadiff.numpy.moveaxis")


@implements(np.matmul)
def matmul(x1: Any, x2: Any, /, out: None = None, **options: Any) -> Number:
    _refuse_ufunc("matmul", {"out": out, **options})
    return arrays.matmul(as_number(x1), as_number(x2))


@implements(*existing("vecdot"))
def vecdot(x1: Any, x2: Any, /, out: None = None, *, axis: int = -1, **options: Any) -> Number:
    keepdims = options.pop("keepdims", False)
    _refuse_ufunc("vecdot", {"out": out, **options})
    x, y = (arrays.moveaxis(as_number(x), axis, -1) for x in (x1, x2))
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"vecdot of vectors of {x.shape[-1]} and of {y.shape[-1]} elements")
    product = arrays.vecdot(x, y)
    return arrays.expand_dims(product, axis) if keepdims else product


@implements(*existing("matvec"))  # which came with NumPy 2.2
def matvec(x1: Any, x2: Any, /, out: None = None, **options: Any) -> Number:
    _refuse_ufunc("matvec", {"out": out, **options})
    return arrays.matmul(as_number(x1), as_number(x2)[..., :, None])[..., 0]


@implements(*existing("vecmat"))
def vecmat(x1: Any, x2: Any, /, out: None = None, **options: Any) -> Number:
    _refuse_ufunc("vecmat", {"out": out, **options})
    return arrays.matmul(as_number(x1)[..., None, :], as_number(x2))[..., 0, :]


@implements(np.dot)
def dot(a: Any, b: Any, out: None = None) -> Number:
    refuse("dot", out=out)
    x, y = as_number(a), as_number(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if x.ndim <= 2 and y.ndim <= 2:
        return arrays.matmul(x, y)
    return np.tensordot(x, y, (-1, max(y.ndim - 2, 0)))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Number:
    x, y = as_view(a), as_view(b)
    if x.ndim != 1 or y.ndim != 1:
        x, y = arrays.ravel(x), arrays.ravel(y)
    return arrays.matmul(x, y)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Number:
    x, y = as_number(a), as_number(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return np.tensordot(x, y, (-1, -1))


@implements(np.kron)
def kron(a: Any, b: Any) -> Number:
    """Kronecker product: b times each element of a, as `numpy.kron`."""
    x, y = as_number(a), as_number(b)
    n = max(x.ndim, y.ndim)
    x, y = (z.reshape((1,) * (n - z.ndim) + tuple(z.shape)) for z in (x, y))
    blocks = x.reshape(tuple(m for k in x.shape for m in (k, 1))) * y.reshape(
        tuple(m for k in y.shape for m in (1, k))
    )
    return blocks.reshape(tuple(p * q for p, q in zip(x.shape, y.shape, strict=True)))


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Number:
    if axis is not None:
        axisa = axisb = axisc = axis
    x = arrays.moveaxis(as_number(a), axisa, -1)
    y = arrays.moveaxis(as_number(b), axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:  # of the plane, which NumPy no longer takes from 2.5
        np.cross(np.ones(x.shape[-1]), np.ones(y.shape[-1]))
    flat = x.shape[-1] == y.shape[-1] == 2
    x0, x1, x2 = _components(x)
    y0, y1, y2 = _components(y)
    third = x0 * y1 - x1 * y0
    if flat:
        return third
    product = arrays.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, third], -1)
    return arrays.moveaxis(product, -1, axisc)


def _components(x: Number) -> tuple[Number, Number, Number]:
    """The three components of vectors along the last axis; those in the plane have none more."""
    third = x[..., 2] if x.shape[-1] == 3 else np.zeros(x.shape[:-1])
    return x[..., 0], x[..., 1], third


@implements(np.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Number:
    refuse("trace", out=out, dtype=dtype)
    return arrays.sum(diagonal(a, offset, axis1, axis2), -1)


# --- Einstein sums -------------------------------------------------------------------------------

LONG_RUN = 32  # numbers
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@stated("einsum")
def _contracted(terms: tuple[str, ...], result: str, how: Any, *operands: Any) -> Any:
    """An Einstein sum whose operands have each label once, and equal lengths for equal labels."""
    return np.einsum(f"{','.join(terms)}->{result}", *operands, optimize=how)


def _grouped(x: Number, term: str, groups: Sequence[str]) -> Number:
    """An operand with an axis for each group of labels, of length 1 if it has none of them."""
    lengths = dict(zip(term, binding.shape(x), strict=True))
    order = [term.index(label) for group in groups for label in group if label in term]
    shape = [math.prod(lengths.get(label, 1) for label in group) for group in groups]
    return arrays.reshape(arrays.transpose(x, order), shape)


def _summed(x: Number, term: str, others: str) -> tuple[Number, str]:
    """An operand, and its labels, once those that stand nowhere else are summed."""
    alone = [axis for axis, label in enumerate(term) if label not in others]
    kept = "".join(label for label in term if label in others)
    return (arrays.sum(x, alone) if alone else x), kept


def _as_product(terms: Sequence[str], result: str, *operands: Any) -> Any:
    """The sum of one or two operands by sums and products of matrices.

    Of the labels that one operand alone has, the last is that of its rows, or its columns. Those
    that are summed are the inner axis, and all others count matrices. What stands side by side in
    the result does so in the products, if that is more than a few numbers.
    """
    if len(operands) == 1:
        x, first = _summed(operands[0], terms[0], result)
        return arrays.transpose(x, [first.index(label) for label in result])
    (x, y), (left, right) = operands, terms
    x, first = _summed(x, left, right + result)
    y, second = _summed(y, right, left + result)
    rows = [label for label in result if label not in second][-1:]
    columns = [label for label in result if label not in first][-1:]
    are_exchanged = rows and columns and result.index(rows[0]) > result.index(columns[0])
    if are_exchanged and binding.shape(x)[first.index(rows[0])] >= LONG_RUN:
        x, first, rows, y, second, columns = y, second, columns, x, first, rows
    inner = "".join(label for label in first if label not in result)
    if not (rows or columns or inner):
        return _grouped(x, first, result) * _grouped(y, second, result)
    stack = [label for label in result if label not in [*rows, *columns]]
    if not (rows or columns):
        groups = [*stack, inner]
        return arrays.vecdot(_grouped(x, first, groups), _grouped(y, second, groups))
    product = arrays.matmul(
        _grouped(x, first, [*stack, "".join(rows), inner]),
        _grouped(y, second, [*stack, inner, "".join(columns)]),
    )
    every = slice(None)
    index = (*[every] * len(stack), every if rows else 0, every if columns else 0)
    product = product[index]
    order = [*stack, *rows, *columns]
    return arrays.transpose(product, [order.index(label) for label in result])


def _as_products(terms: tuple[str, ...], result: str, how: Any, *operands: Any) -> Any:
    """The sum two operands at a time, in an order that is planned once."""
    left = [*zip(terms, operands, strict=True)]
    while len(left) > 2:
        shapes = [np.broadcast_to(0.0, binding.shape(x)) for _, x in left]
        labels = f"{','.join(term for term, _ in left)}->{result}"
        path = np.einsum_path(labels, *shapes, optimize=how or "greedy")[0]
        how = how if isinstance(how, str) else True
        first = path[1] if len(path[1]) > 1 else (0, 1)
        pair = [left.pop(k) for k in sorted(first[:2], reverse=True)]
        needed = {*result, *"".join(term for term, _ in left)}
        kept = "".join(dict.fromkeys(c for term, _ in pair for c in term if c in needed))
        left.append((kept, _as_product([t for t, _ in pair], kept, *[x for _, x in pair])))
    return _as_product([term for term, _ in left], result, *[x for _, x in left])


_contracted.written_out = _as_products


class _WayBack(NamedTuple):
    """How the adjoint of an operand is found: the sum of the cotangent with all other operands.

    A label of the operand that stands nowhere else was summed: its elements have the same adjoint.
    """

    terms: tuple[str, ...]  # of the cotangent and the others
    found: str  # the labels of the operand that stand elsewhere
    is_large: bool  # worth the search for the best order, and a call of BLAS
    narrow: tuple[int, ...]  # the operand's shape, 1 for what was summed
    shape: tuple[int, ...]


def _way_back(
    k: int, terms: tuple[str, ...], result: str, shapes: tuple[tuple[int, ...], ...]
) -> _WayBack:
    """The way back to operand k."""
    pairs = (zip(term, shape, strict=True) for term, shape in zip(terms, shapes, strict=True))
    lengths = dict(chain.from_iterable(pairs))
    others = (*terms[:k], *terms[k + 1 :])
    reached = set(result).union(*others)
    labels = "".join(label for label in terms[k] if label in reached)
    narrow = tuple(lengths[label] if label in reached else 1 for label in terms[k])
    is_large = math.prod(lengths.values()) > 10_000
    return _WayBack((result, *others), labels, is_large, narrow, shapes[k])


way_back = functools.lru_cache(maxsize=1024)(_way_back)


def _contracted_pull(
    k: int, ans: Number, terms: tuple[str, ...], result: str, how: Any, *given: Number
) -> Number:
    *operands, g = given
    # Shapes are those of values, whatever the operands carry.
    shapes = tuple(np.shape(plain_values(x)) for x in operands)
    way = way_back(k, terms, result, shapes)
    others = (*operands[:k], *operands[k + 1 :])
    partial = _contracted(way.terms, way.found, way.is_large, g, *others)
    if way.found == terms[k]:
        return partial
    return arrays.broadcast_to(partial.reshape(way.narrow), way.shape)


MOST_OPERANDS = 32
OPERANDS = range(3, 3 + MOST_OPERANDS)  # arguments of `_contracted`

_contracted.defvjp(
    *(curried(functools.partial(_contracted_pull, k)) for k in range(MOST_OPERANDS)),
    argnums=OPERANDS,
)
_contracted.defjvp(*(linear_in(_contracted, k) for k in OPERANDS), argnums=OPERANDS)
_contracted.defpattern(
    *(lambda ans, terms, result, *_, k=k: f"{terms[k]}->{result}" for k in range(MOST_OPERANDS)),
    argnums=OPERANDS,
)


def subscripts_of(args: Sequence[Any]) -> tuple[str, list[Number]]:
    """The subscripts as a string, from both forms of call, and the operands."""
    if isinstance(args[0], str):
        return args[0].replace(" ", ""), [as_number(x) for x in args[1:]]
    pairs = len(args) // 2
    lists = [*args[1 : 2 * pairs : 2], *args[2 * pairs :]]
    texts = ["".join("..." if n is Ellipsis else LETTERS[n] for n in labels) for labels in lists]
    arrow = "->" + texts.pop() if len(args) % 2 else ""
    return ",".join(texts) + arrow, [as_number(x) for x in args[0 : 2 * pairs : 2]]


def spelt_out(text: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """Subscripts without ellipses, and the labels of the result, given or implied."""
    operands, arrow, result = text.partition("->")
    terms = operands.split(",")
    if len(terms) != len(shapes):
        raise ValueError(f"einsum has subscripts for {len(terms)} operands, got {len(shapes)}")
    free = [label for label in LETTERS if label not in text]
    spare = [
        len(shape) - len(term.replace("...", "")) if "..." in term else 0
        for term, shape in zip(terms, shapes, strict=True)
    ]
    for term, shape, n in zip(terms, shapes, spare, strict=True):
        if n < 0 or len(term.replace("...", "")) + n != len(shape):
            raise ValueError(f"einsum subscripts {term!r} do not fit an operand of shape {shape}")
    stretched = free[: max(spare)]
    ellipses = ["".join(stretched[len(stretched) - n :]) for n in spare]
    if not arrow:
        once = sorted(c for c in set(operands) - set(",.") if operands.count(c) == 1)
        result = ("..." if "..." in operands else "") + "".join(once)
    spelt = [term.replace("...", e) for term, e in zip(terms, ellipses, strict=True)]
    return spelt, result.replace("...", "".join(stretched))


def _diagonals(term: str, x: Number) -> tuple[str, Number]:
    """An operand with each label once: the diagonal for labels that repeat."""
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                raise ValueError(
                    f"dimensions of an einsum operand for collapsing index {label!r} don't match "
                    f"({x.shape[first]} != {x.shape[second]})"
                )
            x = diagonal(x, 0, first, second)
            term = "".join(c for k, c in enumerate(term) if k not in (first, second)) + label
    return term, x


class _Sum(NamedTuple):
    """What an Einstein sum is of operands of some shapes."""

    terms: tuple[str, ...]
    result: str
    lengths: dict[str, int]
    is_plain: bool  # each operand has each label once, and equal lengths for equal labels


def _planned(text: str, shapes: tuple[tuple[int, ...], ...]) -> _Sum:
    terms, result = spelt_out(text, shapes)
    lengths: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, n in zip(term, shape, strict=True):
            if lengths.setdefault(label, n) == 1:
                lengths[label] = n
    if not set(result) <= set(lengths) or len(set(result)) < len(result):
        raise ValueError(f"einsum output subscripts {result!r} are not those of the operands")
    is_plain = all(
        len(set(term)) == len(term) and tuple(lengths[label] for label in term) == shape
        for term, shape in zip(terms, shapes, strict=True)
    )
    return _Sum(tuple(terms), result, lengths, is_plain)


planned = functools.lru_cache(maxsize=1024)(_planned)


@implements(np.einsum)
def einsum(*operands: Any, out: None = None, optimize: Any = False, **kwargs: Any) -> Number:
    """Einstein sums, as `numpy.einsum`: every form, with ellipses and repeated labels."""
    refuse("einsum", out=out, dtype=kwargs.get("dtype"))
    text, numbers = subscripts_of(operands)
    plan = planned(text, tuple(x.shape for x in numbers))
    terms, result = plan.terms, plan.result
    if len(numbers) == 1 and set(result) == set(plan.lengths):
        return arrays.relabelled(numbers[0], terms[0], result)
    if not plan.is_plain:
        single = [_diagonals(term, x) for term, x in zip(terms, numbers, strict=True)]
        fitted = [_stretched(term, x, plan.lengths) for term, x in single]
        terms, numbers = tuple(term for term, _ in fitted), [x for _, x in fitted]
    return _contracted(terms, result, optimize, *numbers)


def _stretched(term: str, x: Number, lengths: dict[str, int]) -> tuple[str, Number]:
    """An operand without the axes of length 1 that other operands stretch."""
    narrow = [k for k, c in enumerate(term) if x.shape[k] == 1 != lengths[c]]
    if not narrow:
        return term, x
    return "".join(c for k, c in enumerate(term) if k not in narrow), arrays.squeeze(
        x, tuple(narrow)
    )


# --- convolutions --------------------------------------------------------------------------------


@stated("convolve", loop=lambda x, y, mode: ("convolve", int(mode == "valid")))
def _convolved(x: Any, y: Any, mode: str) -> Any:
    """Convolution, full or valid; if valid, x is not shorter than y."""
    return np.convolve(x, y, mode)  # type: ignore[call-overload]


_OTHER = {"full": "valid", "valid": "full"}


def _convolved_pull_short(
    ans: Number, x: Number, y: Number, mode: str
) -> Callable[[Number], Number]:
    """The adjoint of y: where it slid over x, x slides over the cotangent."""
    if mode == "full":
        return lambda g: _convolved(g, x[::-1], "valid")
    return lambda g: _convolved(x, g[::-1], "valid")[::-1]


def _convolved_pattern(mode: str, slid: int, other: int) -> Any:
    """The band of a sequence of a length over which another one is slid."""
    if mode == "full":
        rows, columns = np.add.outer(np.arange(slid), np.arange(other)), np.arange(slid)[:, None]
    else:
        rows = np.arange(slid - other + 1)[:, None]
        columns = rows + np.arange(other)
    rows, columns = np.broadcast_arrays(rows, columns)
    return rows.ravel(), columns.ravel()


_convolved.loop_takes = (0, 1)
_convolved.defvjp(
    lambda ans, x, y, mode: lambda g: _convolved(g, y[::-1], _OTHER[mode]), _convolved_pull_short
)
_convolved.defjvp(linear_in(_convolved, 0), linear_in(_convolved, 1))
_convolved.defpattern(
    lambda ans, x, y, mode: _convolved_pattern(mode, len(x), len(y)),
    lambda ans, x, y, mode: _convolved_pattern(mode, len(y), len(x)) if mode == "full" else "i->j",
)

MODES = ("full", "same", "valid")


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Number:
    x, y = _sequence(a), _sequence(v)
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)} (got {mode!r})")
    if len(y) > len(x):
        x, y = y, x
    if mode != "same":
        return _convolved(x, y, mode)
    start = (len(y) - 1) // 2
    return _convolved(x, y, "full")[start : start + len(x)]


def _sequence(a: Any) -> Number:
    x = as_number(a)
    x = x.reshape((1,)) if x.ndim == 0 else x
    if x.ndim != 1:
        raise ValueError("object too deep for desired array")
    if len(x) == 0:
        raise ValueError("a sequence to convolve or correlate cannot be empty")
    return x


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Number:
    x, y = _sequence(a), _sequence(v)
    if len(y) > len(x):
        return convolve(x[::-1], y, mode)[::-1]
    return convolve(x, y[::-1], mode)


# --- polynomials ---------------------------------------------------------------------------------


@implements_all(np.polymul)
def polymul(a1: Any, a2: Any) -> Number:
    """The product of two polynomials, as `numpy.polymul`; leading zeros are kept."""
    return np.convolve(np.atleast_1d(a1), np.atleast_1d(a2))


_of_zeros = copied(np.poly)


@implements_all(np.poly)
def poly(seq_of_zeros: Any) -> Number:
    """The polynomial with such zeros, or of a matrix the characteristic one, as `numpy.poly`."""
    x = number(seq_of_zeros)
    if x.ndim != 2 or not x.size or x.shape[0] != x.shape[1]:
        return _of_zeros(seq_of_zeros)
    result = characteristic(x)
    if not binding.is_complex_number(result):
        return result
    plain = _of_zeros(eigvals(held(x)))  # which NumPy makes real if eigenvalues come in pairs
    return result if binding.is_complex_number(plain) else complexes.real(result).copy()


NEGLIGIBLE = 1e-8  # NumPy's, for the leading coefficient of what division leaves


@implements_all(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Number, Number]:
    rest, divisor = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    if is_single(rest) != is_single(divisor):
        rest, divisor = widened(rest), widened(divisor)
    scale = 1.0 / divisor[0]
    quotient = []
    for k in range(len(rest) - len(divisor) + 1):
        factor = scale * rest[k]
        quotient.append(factor)
        begin, end = rest[:k], rest[k + len(divisor) :]
        rest = np.concatenate([begin, rest[k : k + len(divisor)] - factor * divisor, end])
    while len(rest) > 1 and abs(rest[0]) <= NEGLIGIBLE:
        rest = rest[1:]
    return arrays.stack(quotient or [np.zeros((), rest.dtype)[()]]), rest


def _is_zero(x: Number) -> bool:
    return bool(binding.compare(abs(x), 0.0, EQUAL, False))


@implements_all(np.roots)
def roots(p: Any) -> Number:
    p = np.atleast_1d(p)  # they are the eigenvalues of its companion matrix
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    n = len(p)
    first = next((k for k in range(n) if not _is_zero(p[k])), n)
    if first == n:
        return np.array([])
    last = next(k for k in reversed(range(n)) if not _is_zero(p[k]))
    whole, at_zero = p, like(p, np.zeros(n - 1 - last))
    p = p[first : last + 1]
    if len(p) == 1:
        return _with_all(at_zero, whole)
    divide = complexes.quotient if binding.is_complex_number(p) else np.divide
    companion = np.concatenate(
        [divide(-p[1:], p[0])[None], like(p, np.eye(len(p) - 2, len(p) - 1))]
    )
    found = np.concatenate([eigvals(companion), at_zero])  # which may be complex
    return found if len(p) == n else _with_all(found, whole)


def _with_all(found: Number, p: Number) -> Number:
    """Roots that move with coefficients that are 0, too: by two of Newton's steps, of length 0.

    A root of several at the same place has no derivative, and stays.
    """
    if not binding.carries(p) or len(p) < 2:
        return found
    for _ in range(2):
        value, slope = np.polyval(p, found), np.polyval(np.polyder(p), found)
        slope = np.where(slope == 0.0, np.inf, slope)
        found = found - (value - binding.stop_gradient(value)) / slope
    return found
