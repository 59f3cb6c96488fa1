"""Complex numbers with derivatives: operations, methods, and which function of NumPy's goes where.

A complex number is a pair of real ones (`binding.Complex`); each operation here is written with
operations on these. Values follow NumPy, branch cuts included. `implements_complex` registers what
stands for one of NumPy's functions where an argument is complex, as `dispatch.implements` does for
real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import binding
from ..binding import Complex, Dual, Var, absorb, callers, foreign_names, is_nothing, parts_of
from ..binding import make_complex as paired
from . import arrays
from . import table as _table
from .dispatch import ONE_STEP, PLAIN, P, R, function_for, implements, load, mask_of
from .eager_cache import entered
from .guards import EQUAL
from .pairs import on_pairs

Number = Any  # a real number: a float, an ndarray, a Var, a Dual
ComplexNumber = Any


def joined(x: Any) -> Any:
    """Lists, tuples, tables and arrays of objects as arrays of numbers, real or complex."""
    if isinstance(x, (Var, Dual, Complex)) or (isinstance(x, np.ndarray) and x.dtype != object):
        return x
    if isinstance(x, (list, tuple, np.ndarray)):
        return arrays.as_array(x)
    return x.to_numpy() if hasattr(x, "to_numpy") else x


def parts(x: Any) -> tuple[Number, Number]:
    """Real and imaginary part of anything that is a number, or an array of them."""
    pair = parts_of(x)
    if pair is None:
        pair = parts_of(joined(x))
    if pair is None:
        raise TypeError(
            f"expected a number, real or complex, or an array of them, not {type(x).__name__}"
        )
    return pair  # type: ignore[no-any-return]


def whole_parts(x: Any) -> tuple[Number, Number]:
    """The same, each of the shape of x."""
    pair = binding.whole_parts_of(x)
    if pair is None:
        pair = binding.whole_parts_of(joined(x))
    return parts(x) if pair is None else pair


# --- elementwise ---------------------------------------------------------------------------------


def real(z: ComplexNumber) -> Number:
    """The real part, a view."""
    if type(z) is np.ndarray:
        return np.array(z.real, dtype=float)
    return z.real if isinstance(z, Complex) else whole_parts(z)[0]


def imag(z: ComplexNumber) -> Number:
    """The imaginary part, a view."""
    if type(z) is np.ndarray:
        return np.array(z.imag, dtype=float)
    return z.imag if isinstance(z, Complex) else whole_parts(z)[1]


def conjugate(z: ComplexNumber) -> ComplexNumber:
    z = joined(z)
    return z.conjugate() if isinstance(z, Complex) else np.conjugate(z)


def absolute(z: ComplexNumber) -> Number:
    """The absolute value, whose derivative at 0 is 0."""
    re, im = parts(z)
    if is_nothing(im):
        return _table.absolute(re)
    return _table.absolute(im) if is_nothing(re) else _table.hypot(re, im)


def angle(z: ComplexNumber) -> Number:
    """The argument, from -pi to pi, whose derivative at 0 is 0."""
    re, im = whole_parts(z)
    return _table.arctan2(im, re)


def square(z: ComplexNumber) -> ComplexNumber:
    re, im = parts(z)
    if is_nothing(im) or is_nothing(re):
        return paired(_table.square(re) - _table.square(im), 0.0)
    return paired((re - im) * (re + im), 2.0 * (re * im))


def reciprocal(z: ComplexNumber) -> ComplexNumber:
    return np.divide(1.0, _as_complex(z))


def _as_complex(z: Any) -> Any:
    """A number that is divided by and multiplied with as complex ones are."""
    return paired(*parts(z))


def exp(z: ComplexNumber) -> ComplexNumber:
    re, im = parts(z)
    length = _table.exp(re)
    if is_nothing(im):
        return paired(length, im)
    if is_nothing(re):
        return paired(_table.cos(im), _table.sin(im))
    return paired(length * _table.cos(im), absorb(length, _table.sin(im)))


def sin(z: ComplexNumber) -> ComplexNumber:
    a, b = whole_parts(z)
    return paired(absorb(_table.sin(a), _table.cosh(b)), absorb(_table.cos(a), _table.sinh(b)))


def cos(z: ComplexNumber) -> ComplexNumber:
    a, b = whole_parts(z)
    return paired(absorb(_table.cos(a), _table.cosh(b)), -absorb(_table.sin(a), _table.sinh(b)))


def sinh(z: ComplexNumber) -> ComplexNumber:
    a, b = whole_parts(z)
    return paired(absorb(_table.sinh(a), _table.cos(b)), absorb(_table.cosh(a), _table.sin(b)))


def cosh(z: ComplexNumber) -> ComplexNumber:
    a, b = whole_parts(z)
    return paired(absorb(_table.cosh(a), _table.cos(b)), absorb(_table.sinh(a), _table.sin(b)))


def log(z: ComplexNumber) -> ComplexNumber:
    """The principal logarithm, whose imaginary part is from -pi to pi."""
    a, b = whole_parts(z)
    return paired(binding.log_hypot(a, b), _table.arctan2(b, a))


def log1p(z: ComplexNumber) -> ComplexNumber:
    """The logarithm of 1 + z, of small z to all digits: NumPy's has none below 1e-16."""
    a, b = whole_parts(z)
    near = 0.5 * _table.log1p(a * (2.0 + a) + _table.square(b))
    re = _table.where(absolute(z) < 0.5, near, binding.log_hypot(1.0 + a, b))
    return paired(re, _table.arctan2(b, 1.0 + a))


def log2(z: ComplexNumber) -> ComplexNumber:
    return log(z) * (1.0 / math.log(2.0))


def log10(z: ComplexNumber) -> ComplexNumber:
    return log(z) * (1.0 / math.log(10.0))


def exp2(z: ComplexNumber) -> ComplexNumber:
    return exp(_as_complex(z) * math.log(2.0))


def sqrt(z: ComplexNumber) -> ComplexNumber:
    """The principal square root, whose real part is not negative."""
    a, b = whole_parts(z)
    return paired(*binding.sqrt_parts(a, b))


def sign(z: ComplexNumber) -> ComplexNumber:
    """The number of length 1 in the same direction, and 0 at 0, as of NumPy 2."""
    a, b = whole_parts(z)
    length = _table.hypot(a, b)
    length = length + binding.indicator(length, 0.0, EQUAL)
    return paired(a / length, b / length)


def _by_steps(ufunc: Any, *partials: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """An analytic function whose values are NumPy's, with its derivatives at z, where it is w."""
    step = on_pairs(ufunc)
    step.stands_at(__name__, name or ufunc.__name__)
    step.defpartials(*partials)
    step.primitive.loop = binding.Retyped(ufunc, "D" * ufunc.nin + "->D")
    return step


def _sech_squared(z: Any) -> Any:
    """1 / cosh(z)**2, without overflow or cancellation."""
    decay = exp(z * (-2.0 * _table.copysign(1.0, whole_parts(z)[0])))
    return 4.0 * decay / square(1.0 + decay)


# Where a formula has two halves it is so that its own derivative does not cancel either.


def _slope_of_tanh(w: Any, z: Any) -> Any:
    return where(absolute(z) < 0.75, 1.0 - square(w), _sech_squared(z))


def _gap(z: Any) -> Any:
    """1 - z**2."""
    return where(absolute(z) < 0.5, 1.0 - square(z), (1.0 - z) * (1.0 + z))


def _root_of_gap(z: Any) -> Any:
    """The root of 1 - z**2 with the cuts of arcsin, whose sides are at imaginary 0 and -0."""
    return where(absolute(z) < 0.5, sqrt(1.0 - square(z)), sqrt(-(z - 1.0)) * sqrt(z - -1.0))


def _turned(z: Any) -> Any:
    """The product of 1j and z, which keeps the sign of a 0."""
    a, b = whole_parts(z)
    return paired(-b, a)


def _slope_of_arccosh(w: Any, z: Any) -> Any:
    """The derivative of arccosh: 1 / (sqrt(z - 1) sqrt(z + 1))."""
    turn = paired(0.0, -_table.copysign(1.0, whole_parts(z)[1]))
    return np.divide(turn, _root_of_gap(z))


expm1 = _by_steps(np.expm1, lambda w, z: exp(z))
tan = _by_steps(np.tan, lambda w, z: _slope_of_tanh(1j * w, 1j * z))
tanh = _by_steps(np.tanh, _slope_of_tanh)
arcsin = _by_steps(np.arcsin, lambda w, z: np.divide(1.0, _root_of_gap(z)))
arccos = _by_steps(np.arccos, lambda w, z: np.divide(-1.0, _root_of_gap(z)))
arctan = _by_steps(np.arctan, lambda w, z: np.divide(1.0, _gap(1j * z)))
arcsinh = _by_steps(np.arcsinh, lambda w, z: np.divide(1.0, _root_of_gap(_turned(z))))
arccosh = _by_steps(np.arccosh, _slope_of_arccosh)
arctanh = _by_steps(np.arctanh, lambda w, z: np.divide(1.0, _gap(z)))


# A quotient whose value is NumPy's to the last bit, where operations on the parts do not do.
quotient = _by_steps(
    np.divide, lambda q, z, w: np.divide(1.0, w), lambda q, z, w: np.divide(-q, w), name="quotient"
)


def _power_by_base(ans: Any, z: Any, w: Any) -> Any:
    at_one = binding.plain_values(w) == 1.0
    return where(at_one, 1.0, w * _power(z, w - 1.0))


def _power_by_exponent(ans: Any, z: Any, w: Any) -> Any:
    at_zero = binding.plain_values(z) == 0.0
    return where(at_zero, 0.0, ans * log(where(at_zero, 1.0, z)))


_power = _by_steps(np.power, _power_by_base, _power_by_exponent, name="_power")

MOST_PRODUCTS = 100  # NumPy's: whole powers below are products


def power(z: ComplexNumber, w: ComplexNumber) -> ComplexNumber:
    """The principal power, exp(w log(z)); whole powers are products."""
    is_plain = isinstance(w, (int, float, np.integer, np.floating)) and not isinstance(w, bool)
    if is_plain and binding.is_complex_number(z):
        if isinstance(w, np.generic):  # which has a precision
            z = arrays.in_precision(joined(z), np.result_type(z.dtype, w.dtype))
        if float(w).is_integer() and abs(w) < MOST_PRODUCTS:
            return _whole_power(z, int(w))
        if w == 0.5:
            return sqrt(z)
    return _power(joined(z), joined(w))


def float_power(z: ComplexNumber, w: ComplexNumber) -> ComplexNumber:
    """The same in double precision."""
    return power(arrays.in_precision(joined(z), complex), arrays.in_precision(joined(w), complex))


def _whole_power(z: ComplexNumber, n: int) -> ComplexNumber:
    if n < 0:
        return reciprocal(_whole_power(z, -n))
    result = None
    factor = z
    while n:
        if n & 1:
            result = factor if result is None else result * factor
        n >>= 1
        factor = square(factor) if n else factor
    return +result if result is not None else z * 0.0 + 1.0


def where(mask: Any, x: Any, y: Any) -> Any:
    """Elements of x where the mask holds, else of y."""
    (a, b), (c, d) = parts(x), parts(y)
    return paired(_table.where(mask, a, c), _table.where(mask, b, d))


def _product_of_matrices(p: tuple[Number, Number], q: tuple[Number, Number]) -> Any:
    """The parts of a product of matrices as a program computes them: by one product of real ones.

    That of [[a, -b], [b, a]] with the parts c and d, one above the other. Recorded for a sweep,
    four products take less time than to join the parts.
    """
    (a, b), (c, d) = p, q
    n = binding.shape(a)[0]
    whole = arrays.concatenate([arrays.concatenate([a, -b], 1), arrays.concatenate([b, a], 1)])
    product = arrays.matmul(whole, arrays.concatenate([c, d]))
    return product[:n], product[n:]


# NumPy's order: by real parts, then by imaginary ones; a nan is before and behind nothing. What is
# equal is asked by two inequalities: in a program no branch then rests on an equality.


def less(x: Any, y: Any) -> Any:
    """Where x comes before y."""
    return _precedes(x, y, np.less)


def less_equal(x: Any, y: Any) -> Any:
    """Where x comes before y, or is the same."""
    return _precedes(x, y, np.less_equal)


def _precedes(x: Any, y: Any, compare: Any) -> Any:
    (a, b), (c, d) = parts(x), parts(y)
    return ((a < c) & (b <= b) & (d <= d)) | ((a <= c) & (c <= a) & compare(b, d))


def greater(x: Any, y: Any) -> Any:
    """Where x comes after y."""
    return less(y, x)


def greater_equal(x: Any, y: Any) -> Any:
    """Where x comes after y, or is the same."""
    return less_equal(y, x)


def _is_nan(z: Any) -> Any:
    re, im = parts(z)
    return np.logical_not((re <= re) & (im <= im))


def _extreme(
    name: str, goes_first: Callable[[Any, Any], Any], skips_nan: bool
) -> Callable[[Any, Any], Any]:
    def extreme(x: Any, y: Any) -> Any:
        x, y = joined(x), joined(y)
        return where(goes_first(x, y) | _is_nan(y if skips_nan else x), x, y)

    extreme.__name__ = name
    return extreme


maximum = _extreme("maximum", greater_equal, False)
minimum = _extreme("minimum", less_equal, False)
fmax = _extreme("fmax", greater_equal, True)
fmin = _extreme("fmin", less_equal, True)


def rint(z: ComplexNumber) -> ComplexNumber:
    return paired(*map(_table.rint, parts(z)))


def _ordered(name: str, x: Any, y: Any) -> Any:
    """A comparison by an operator: arrays have NumPy's order, numbers as in Python none."""
    if binding.ndim(x) == 0 and binding.ndim(joined(y)) == 0:
        raise TypeError(
            "complex numbers have no order: compare z.real, z.imag or abs(z); cadiff.numpy.less "
            "compares real parts first"
        )
    return operation(name, (x, y))


# By the names of the table of operations, which are those of the ufuncs.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **binding.COMPLEX_OPERATORS,
    **{
        function.__name__: function
        for function in (
            absolute, arccos, arccosh, arcsin, arcsinh, arctan, arctanh, conjugate, cos, cosh, exp,
            exp2, expm1, fmax, fmin, greater, greater_equal, less, less_equal, log, log10, log1p,
            log2, maximum, minimum, power, reciprocal, rint, sign, sin, sinh, sqrt, square, tan,
            tanh, where,
        )
    },
    "float_power": float_power,
    "negative": lambda z: -_as_complex(z),
    "positive": lambda z: +_as_complex(z),
    "_amul": binding.COMPLEX_OPERATORS["multiply"],
    "_stop": lambda z: paired(*map(binding.stop_gradient, parts(z))),
    "_differential": lambda z: paired(*map(binding.differential, parts(z))),
}  # fmt: skip


# What takes so many operations on real numbers that those on arrays are better one entry.
OF_MANY_STEPS = frozenset(ELEMENTWISE) - {
    *binding.COMPLEX_OPERATORS, "absolute", "conjugate", "exp", "negative", "positive", "square",
    "_amul", "_stop", "_differential",
}  # fmt: skip

_entering: dict[Callable[..., Any], binding.Entered] = {}


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """function(*args, **kwargs), whose call is an entry of the tape where it can be one."""
    enter = _entering.get(function)
    if enter is None:
        enter = _entering[function] = entered(function)
    result = enter((*args, *kwargs.values()), tuple(kwargs))
    return function(*args, **kwargs) if result is NotImplemented else result


# What of plain numbers is NumPy's function of the same name.
PLAIN_ALIKE = {"absolute", "exp", "square", "where"}


def operation(name: str, operands: tuple[Any, ...]) -> Any:
    """An operation of the table, one operand of which is complex."""
    function = ELEMENTWISE.get(name)
    if function is None:
        raise TypeError(
            f"{name} of complex numbers with derivatives is not supported: it takes real numbers; "
            "write it for z.real and z.imag"
        )
    operands = tuple(map(joined, operands))
    if name in PLAIN_ALIKE and not binding.carries(operands):
        return getattr(np, name)(*operands)
    if name in OF_MANY_STEPS and max(map(binding.ndim, operands)) > 0:
        result = _called(function, operands, {})
    else:
        result = function(*operands)
    if result is NotImplemented:
        kinds = " and ".join(type(x).__name__ for x in operands)
        raise TypeError(f"{name} takes numbers and arrays of them, not {kinds}")
    return result


# --- NumPy's protocols ---------------------------------------------------------------------------

# NumPy's function -> what stands for it where an argument is complex.
COMPLEX: dict[Any, Callable[..., Any]] = {}


def implements_complex(*originals: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the one that differentiates `originals` by complex numbers."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for original in originals:
            COMPLEX[original] = function
        return function

    return decorate


def implements_all(
    *originals: Any, plainly: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], binding.DispatchedFunction[P, R]]:
    """Make a function the one that differentiates `originals`, by real and by complex numbers."""

    def decorate(function: Callable[P, R]) -> binding.DispatchedFunction[P, R]:
        implements_complex(*originals)(function)
        return implements(*originals, plainly=plainly)(function)

    return decorate


# Questions whose answers are the same for all values.
OF_TYPES = frozenset({np.can_cast, np.common_type, np.iscomplexobj, np.isrealobj, np.result_type})


def _registered(original: Any) -> Callable[..., Any] | None:
    """What stands for a function, or for one that it wraps."""
    while original is not None and original not in COMPLEX:
        original = getattr(original, "__wrapped__", None)
    return COMPLEX.get(original)


def _name_of(original: Any) -> str:
    module = getattr(original, "__module__", "numpy")
    return f"{module}.{getattr(original, '__name__', original)}"


def function(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One of NumPy's functions, with a complex number among its arguments."""
    load()
    rule = COMPLEX.get(original) or _registered(original)
    if rule is None and isinstance(original, np.ufunc) and original.__name__ in ELEMENTWISE:
        return ufunc(original, "__call__", args, kwargs)
    if rule is None and original in PLAIN:
        values = binding.plain_values if original in OF_TYPES else binding.unguarded
        return original(*values(args), **values(kwargs))
    plain = binding.readable_values((args, kwargs)) if rule is None else None
    if plain is not None:
        return original(*plain[0], **plain[1])
    if rule is None:
        raise binding.MissingRuleError(
            f"{_name_of(original)} is not supported for complex "
            "numbers with derivatives: write it with functions that docs/functions.md lists as "
            "complex, or for z.real and z.imag; cadiff.value(z) has no derivative"
        )
    out = kwargs.get("out")
    if out is None:
        return rule(*args, **kwargs) if original in ONE_STEP else _called(rule, args, kwargs)
    return _stored(original, rule(*args, **{**kwargs, "out": None}), out)


# Which functions the methods of ufuncs stand for.
REDUCTIONS: dict[tuple[Any, str], Callable[..., Any]] = {
    (np.add, "reduce"): np.sum,
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "reduce"): np.prod,
    (np.multiply, "accumulate"): np.cumprod,
    (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min,
}


def ufunc(called: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's ufunc protocol asks for."""
    load()
    if method == "__call__" and not kwargs:
        rule = ELEMENTWISE.get(called.__name__)
        if rule is not None:
            return operation(called.__name__, inputs)
        if called in COMPLEX:
            return COMPLEX[called](*inputs)
        if called in PLAIN:
            return called(*binding.unguarded(inputs))
        return function_for(called)(*inputs)
    if (called, method) in REDUCTIONS:
        if "out" in kwargs:
            kwargs["out"] = kwargs["out"][0]
        options = dict(zip(("axis", "dtype", "out", "keepdims"), inputs[1:], strict=False))
        return function(REDUCTIONS[called, method], inputs[:1], {"axis": 0, **options, **kwargs})
    if method == "at" and called in (np.add, np.subtract):
        target, places, terms = inputs
        for part, term in zip(binding.open_parts_of(target), parts(terms), strict=True):
            called.at(part, places, term)
        return None
    if method == "reduceat" and called is np.add:
        z, *how = inputs
        return joined(z).by_parts(lambda part: called.reduceat(part, *how, **kwargs))
    if method == "outer" and not kwargs:
        x, y = map(joined, inputs)
        rows = (*binding.shape(x), *(1,) * binding.ndim(y))
        return ufunc(called, "__call__", (arrays.reshape(x, rows), y), {})
    if method == "__call__":
        return _written(called, inputs, kwargs)
    raise TypeError(
        f"numpy.{called.__name__}.{method} is not supported for complex numbers with derivatives"
    )


def _written(called: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc with `out=` and the like."""
    (out,) = kwargs.pop("out", (None,))
    mask = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    options = {k: x for k, x in kwargs.items() if k not in ("casting", "order", "subok")}
    if dtype is not None and np.dtype(dtype).kind != "c":
        raise TypeError(
            f"numpy.{called.__name__} of complex numbers does not support dtype={dtype}"
        )
    if out is None and mask is not True:
        raise TypeError(f"numpy.{called.__name__} with where= wants out=; cadiff.where chooses")
    if options and called not in COMPLEX:
        raise TypeError(f"numpy.{called.__name__} got an unexpected keyword {next(iter(options))}")
    if options:
        result = COMPLEX[called](*inputs, **options)
    else:
        result = ufunc(called, "__call__", inputs, {})
    return result if out is None else _stored(called, result, out, mask)


def _stored(original: Any, result: Any, out: Any, mask: Any = True) -> Any:
    """Write a result to where `out=` says."""
    if isinstance(out, np.ndarray) and out.dtype != object and binding.carries(result):
        raise TypeError(
            f"{_name_of(original)} cannot write numbers with derivatives to out= of dtype "
            f"{out.dtype}: take the result, or make the array with cadiff.numpy.zeros(n, complex)"
        )
    if binding.shape(result) != binding.shape(out):
        raise ValueError(
            f"{_name_of(original)} has a result of shape {binding.shape(result)}, which is "
            f"not that of out=, {binding.shape(out)}"
        )
    out[...] = result if mask is True else where(mask_of(mask), result, out)
    return out


# --- methods and attributes of Complex -----------------------------------------------------------


def _of_numpy(original: Any) -> Callable[..., Any]:
    def method(z: Complex, *args: Any, **kwargs: Any) -> Any:
        return function(original, (z, *args), kwargs)

    method.__name__ = original.__name__
    method.__doc__ = f"As numpy.{original.__name__}."
    return method


def _reshaped(z: Complex, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    lengths = shape[0] if len(shape) == 1 else shape
    if order != "C" or copy is not None:
        return function(np.reshape, (z, lengths), {"order": order, "copy": copy})
    return z.by_parts(lambda part: arrays.reshape(part, lengths))


def _transposed(z: Complex, *axes: Any) -> Any:
    order = axes[0] if len(axes) == 1 else axes or None
    return z.by_parts(lambda part: arrays.transpose(part, order))


def _astype(
    z: Complex, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Any:  # fmt: skip
    if np.dtype(dtype).kind != "c":
        raise TypeError(
            f"a Complex does not become {np.dtype(dtype)}: take z.real, z.imag or abs(z); "
            "cadiff.value(z) has no derivative"
        )
    converted = arrays.in_precision(z, dtype)
    return z.copy() if copy and converted is z else converted


def _tolist(z: Any) -> Any:
    return [_tolist(row) for row in z] if z.ndim else z.item()


def _filled(z: Any, number: Any) -> None:
    z[...] = number


def _in_place(name: str) -> Callable[..., None]:
    """A method that leaves an array with what NumPy's function returns."""

    def change(z: Any, *args: Any, **kwargs: Any) -> None:
        z[...] = getattr(np, name)(z, *args, **kwargs)

    return change


METHODS_OF_NUMPY = (
    "all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum", "diagonal", "dot", "max",
    "mean", "min", "nonzero", "prod", "ravel", "repeat", "squeeze", "std", "sum", "swapaxes",
    "take", "trace", "var", "round", "clip", "put", "choose", "argpartition", "searchsorted",
)  # fmt: skip
METHODS_OWN: dict[str, Callable[..., Any]] = {
    "reshape": _reshaped,
    "transpose": _transposed,
    "astype": _astype,
    "tolist": _tolist,
    "fill": _filled,
    "sort": _in_place("sort"),
    "partition": _in_place("partition"),
    "flatten": lambda z, order="C": function(np.ravel, (z, order), {}).copy(),
    "copy": lambda z, order="C": z.by_parts(arrays.copy),
    "compress": lambda z, condition, *how, **named: np.compress(condition, z, *how, **named),
    **{name: _of_numpy(getattr(np, name)) for name in METHODS_OF_NUMPY},
    **{name: found for name, found in ELEMENTWISE.items() if name[0] != "_"},
}
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "T": lambda z: z.by_parts(attrgetter("T")),
    "mT": lambda z: z.by_parts(attrgetter("mT")),
    "flat": lambda z: COMPLEX[np.flatiter](z),
    "v": lambda z: z.value,
    "gv": lambda z: z.grad,
    "device": lambda z: "cpu",
}
NAMES = frozenset(METHODS_OWN) | frozenset(ATTRIBUTES)


def method(z: Complex, name: str) -> Any:
    """An attribute that NumPy's numbers and arrays have."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](z)
    rule = METHODS_OWN.get(name)
    if rule is None:
        for part in (z.real, z.imag) if name in dir(np.ndarray) and name[0] != "_" else ():
            getattr(part, name)  # a number with derivatives says what to write
        instead = foreign_names.NUMBERS.get(name)
        raise AttributeError(
            f"{foreign_names.OF_NUMBERS if instead else 'Complex has'} no attribute {name!r}"
            f"{f': {instead}' if instead else ''}"
        )

    def bound(*args: Any, **kwargs: Any) -> Any:
        return rule(z, *args, **kwargs)

    bound.__name__, bound.__doc__ = name, rule.__doc__
    return bound


# --- what the type asks for ----------------------------------------------------------------------


def _backward(both: tuple[Number, Number], seed: Any) -> None:
    re, im = (
        np.broadcast_to(x, both[0].shape) if binding.ndim(both[0]) else x
        for x in (np.real(seed), np.imag(seed))
    )
    for part, weight in zip(both, (re, -im), strict=True):
        if isinstance(part, binding.Var):
            part.backward(weight)


def _zero_grad(both: tuple[Number, Number]) -> None:
    for part in both:
        if isinstance(part, binding.Var):
            part.zero_grad()


def _component(which: int, part: Number) -> Any:
    if isinstance(part, binding.Dual):
        return part.primal if which == 0 else part.tangent
    return part if which == 0 else np.zeros(binding.shape(part))[()]


def _var(value: Any) -> Any:
    re, im = whole_parts(value)
    return paired(binding.Var(np.array(re)[()]), binding.Var(np.array(im)[()]))


def _dual(primal: Any, tangent: Any) -> Any:
    (a, b), (s, t) = whole_parts(primal), parts(tangent)
    shape = binding.shape(a)
    s, t = (np.broadcast_to(x, shape) if shape and not binding.ndim(x) else x for x in (s, t))
    return paired(binding.Dual(a, s), binding.Dual(b, t))


binding.register_complex(
    SimpleNamespace(
        METHODS=NAMES,
        absolute=absolute,
        advice=callers.advice,
        backward=_backward,
        constants=binding.readable_values,
        dual=_dual,
        function=function,
        grad=lambda part: (
            part.grad if isinstance(part, binding.Var) else np.zeros(binding.shape(part))[()]
        ),
        joined=joined,
        method=method,
        opened=lambda part: arrays.opened(np.array(part)),
        operation=operation,
        ordered=_ordered,
        parents=lambda both: tuple(p for x in both for p in getattr(x, "parents", ())),
        power=power,
        product_of_matrices=_product_of_matrices,
        primal=partial(_component, 0),
        tangent=partial(_component, 1),
        ufunc=ufunc,
        value=binding.unguarded,
        var=_var,
        zero_grad=_zero_grad,
    )
)
