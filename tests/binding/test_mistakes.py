"""What cannot be differentiated, or not so: the error says what was given, where, and what to
write instead."""

from __future__ import annotations

import functools
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var, binding, optimize

from ..helpers.mistakes import Function, Kinds, check, identity, mistakes, square, told
from ..helpers.processes import isolated

ad: Any = cadiff  # whose types refuse most of these calls
X = np.ones(3)
CONSTANT: Any = cadiff.stop_gradient(Var(1.0))
PROGRAM: Any = cadiff.compile(np.sum)
ONE, TWO, VECTOR = ad.Var(1.0), ad.Var(2.0), ad.Var(X)

TRANSFORMS: dict[str, Callable[..., Any]] = {
    name: getattr(ad, name)
    for name in (
        *("grad", "value_and_grad", "elementwise_grad", "jacobian", "jacfwd", "jacrev"),
        *("hessian", "hvp"),
    )
}
BY_ARGNUMS = pytest.mark.parametrize("name", [name for name in TRANSFORMS if name != "hvp"])


def pair(x: Any) -> Any:
    return [x, x * x]


async def waited(x: Any) -> Any:
    return x


PULL, PULL_PAIR = ad.vjp(square, 3.0)[1], ad.vjp(pair, 3.0)[1]
PULL_DICT = ad.vjp(lambda x: {"a": x, "b": x}, 3.0)[1]
PULL_DICT_OF_LISTS = ad.vjp(lambda x: {"a": [x, x]}, 3.0)[1]


def part(*keys: Any) -> Any:
    """A function of a container that takes what stands below its keys."""
    return lambda x: functools.reduce(lambda found, key: found[key], keys, x)


# --- tables --------------------------------------------------------------------------------------

BAD_POINTS: dict[Kinds, list[Any]] = {
    TypeError: [
        (lambda: ad.vjp(identity, "a"), "argument 0, str"),
        (lambda: ad.vjp(lambda x, y: x, 1.0, [b""]), r"argument 1\[0\], bytes"),
        (lambda: ad.jvp(identity, (b"",), (1.0,)), "argument 0, bytes"),
        (lambda: ad.gradient(lambda x, y: x, (1.0, True)), "argument 1, bool"),
        (lambda: ad.gradient(identity, (X,)), r"args\[0\], ndarray, cadiff\.grad"),
        (lambda: ad.gradient(lambda x, y: x, (1.0, [2.0])), r"args\[1\], list, cadiff\.grad"),
        (lambda: ad.gradient(identity, 1.0), "args, float, sequence|tuple"),
        (lambda: ad.derivative(identity, "a"), "str, real numbers"),
        (lambda: ad.derivative(identity, None), "NoneType"),
        (lambda: ad.derivative(identity, True), "bool"),
        (lambda: ad.derivative(identity, [1.0]), r"list, cadiff\.jacobian"),
        (lambda: ad.derivative(identity, X), r"x is a ndarray, cadiff\.grad, cadiff\.jacobian"),
        (lambda: ad.derivative(identity, 0.0, (1.0,)), r"wrt, position, 0\.0"),
        (lambda: ad.derivative(identity, False, (1.0,)), "wrt, position, False"),
        (lambda: ad.derivative(identity, "x", (1.0,)), "wrt, position, 'x'"),
        (lambda: ad.derivative(identity, 0, 1.0), "args, float, sequence|tuple"),
        (lambda: ad.derivative(np.sin, 2.0, 2), r"derivative\(f, x, order=2\)"),
        (lambda: ad.check_derivative(identity, 0, ("a",), 1.0), r"argument 0|args\[0\], \bstr\b"),
        (lambda: ad.check_derivative(lambda x: None, 0, (1.0,), 1.0), "NoneType, return missing"),
        (lambda: ad.check_grads(identity, ("a",)), "argument 0, str"),
        (lambda: ad.check_grads(identity, 1.0), "args, float, sequence|tuple"),
        (lambda: ad.check_grads(lambda x: None, (1.0,)), "return missing, NoneType"),
        (lambda: ad.flatten("a"), "str, real numbers"),
        (lambda: ad.flatten([1.0, "a"]), r"\[1\], str"),
        (lambda: ad.flatten(None), "NoneType"),
        (lambda: ad.flatten([1.0, 2.0])[1](np.array([1j, 2.0])), "real number, complex"),
        (lambda: ad.flatten([1.0, 2.0])[1](np.array(["a", "b"])), "real number"),
        (lambda: ad.hvp(square, (0,)), "hvp, one argument, argnums is an int"),
        (lambda: ad.hvp(square, True), "argnums, int, True"),
    ],
    (IndexError, TypeError, ValueError): [
        (lambda: ad.derivative(identity, 1, (1.0,)), r"wrt, \b1\b, 1 argument"),
        (lambda: ad.check_derivative(identity, 3, (1.0,), 1.0), r"wrt, \b3\b, 1 argument"),
        (lambda: ad.hvp(square, 2)(1.0, 1.0), r"argnums, 2, 1 argument|\b1\b"),
        (lambda: ad.derivative(identity, 1.0, order=1.5), r"order, 1\.5, whole number"),
        (lambda: ad.derivative(identity, 1.0, order=True), "order, True, whole number"),
        (lambda: ad.check_grads(identity, (1.0,), order=1.5), r"order, 1\.5"),
    ],
    ValueError: [
        (lambda: ad.derivative(identity, 1.0, order=-1), "order, -1, >= 0"),
        (lambda: ad.check_grads(identity, (1.0,), order=0), "order, at least 1, 0"),
        (lambda: ad.check_grads(identity, (1.0,), modes=()), 'modes, "fwd" and "rev"'),
        (lambda: ad.check_grads(identity, (1.0,), modes=("forward",)), 'modes, "fwd", forward'),
        (lambda: ad.flatten([1.0, 2.0])[1](X), r"2 numbers, \(3,\)"),
        (lambda: ad.flatten([1.0, 2.0])[1](np.ones((2, 1))), r"2 numbers, \(2,.1\)"),
        (lambda: ad.flatten([1.0, 2.0])[1](1.0), r"2 numbers, \(\)"),
        *[
            (call, f'"auto, fwd" or "rev", {re.escape(repr(mode))}')
            for mode in ("forward", "FWD", "", None, 1)
            for call in (
                functools.partial(ad.jacobian, square, mode=mode),
                functools.partial(ad.gradient, square, (1.0,), mode=mode),
            )
        ],
    ],
}

BAD_DIRECTIONS: dict[Kinds, list[Any]] = {
    TypeError: [
        (lambda: ad.jvp(square, 1.0, (1.0,)), "primals, tuple, float"),
        (lambda: ad.jvp(np.sum, X, X), r"not ndarray: write jvp\(f,.\(x,\),.\(v,\)\)"),
        (lambda: ad.jvp(square, (1.0,), 1.0), "tangents, tuple, float"),
        (lambda: ad.jvp(square, (1.0,), np.ones(1)), "tangents, tuple, ndarray"),
        (lambda: ad.jvp(square, (1.0,), {"a": 1.0}), "tangents, tuple, dict"),
        (lambda: ad.jvp(square, (1.0,), ("a",)), "tangent, str"),
        (lambda: ad.jvp(square, (1.0,), (True,)), "tangent, bool"),
        (lambda: ad.hvp(square)(1.0), r"write hvp\(f\)\(x,.v\)"),
        (lambda: ad.hvp(square)(1.0, "a"), "direction, str"),
        (lambda: ad.hvp(square)(1.0, None), "direction, NoneType"),
        (lambda: PULL("a"), "cotangent, str"),
        (lambda: PULL(None), "cotangent, NoneType"),
        (lambda: PULL(True), "cotangent, bool"),
        (lambda: PULL(1j), "cotangent, complex"),
        (lambda: PULL_PAIR([1.0, "a"]), "cotangent, str"),
        (lambda: PULL(), "argument"),
        (lambda: PULL(1.0, 2.0), "argument"),
    ],
    ValueError: [
        (lambda: ad.jvp(square, (1.0,), (1.0, 2.0)), "tangents, 2, 1 argument"),
        (lambda: ad.jvp(lambda x, y: x, (1.0, 2.0), (1.0,)), "tangents, 1, 2 arguments"),
        (lambda: ad.jvp(identity, (X,), (np.ones(2),)), r"tangents, \(3,\), \(2,\)"),
        (lambda: ad.jvp(identity, (X,), (np.ones((3, 1)),)), r"tangents, \(3,\), \(3,.1\)"),
        (lambda: ad.jvp(identity, (X,), (1.0,)), r"tangents, \(3,\), \(\)"),
        (lambda: ad.jvp(square, (1.0,), ([1.0],)), "tangents, structure"),
        (lambda: ad.jvp(part("a"), ({"a": 1.0, "b": 2.0},), ([1.0, 2.0],)), "tangents, structure"),
        (lambda: ad.jvp(part("a"), ({"a": 1.0},), ({"b": 1.0},)), "tangents, structure"),
        (lambda: ad.jvp(part("a"), ({"a": 1.0, "b": 2.0},), ({"a": 1.0},)), "tangents, structure"),
        (lambda: ad.jvp(part(0, 0), ([[1.0, 2.0], [3.0]],), ([[1.0], [2.0, 3.0]],)), "structure"),
        (lambda: ad.hvp(part(0))(X, np.ones(2)), r"direction v, \(3,\), \(2,\)"),
        (lambda: ad.hvp(part(0))(X, np.eye(3)), r"direction v, \(3,\), \(3,.3\)"),
        (lambda: ad.hvp(part(0))([1.0, 2.0], [1.0]), "direction v, structure"),
        (lambda: ad.hvp(part("a"))({"a": 1.0}, {"b": 1.0}), "direction v, structure"),
        (lambda: PULL([1.0]), r"cotangent, \(\), \(1,\)"),
        (lambda: PULL(np.ones(1)), r"cotangent, \(\), \(1,\)"),
        (lambda: PULL_PAIR(1.0), r"cotangent, \(2,\), \(\)"),
        (lambda: PULL_PAIR([1.0] * 3), r"cotangent, \(2,\), \(3,\)"),
        (lambda: PULL_PAIR(np.eye(2)), r"cotangent, \(2,\), \(2,.2\)"),
        (lambda: PULL_DICT([1.0, 2.0]), "cotangent"),
        (lambda: PULL_PAIR({"a": 1.0, "b": 2.0}), "cotangent"),
        (lambda: PULL_DICT({"a": 1.0, "c": 1.0}), "cotangent, structure"),
        (lambda: PULL_DICT_OF_LISTS([[1.0, 2.0]]), "cotangent, structure"),
        (lambda: VECTOR.backward(np.ones(2)), r"which is \(3,\),.not \(2,\)"),
    ],
}

BAD_OPERANDS: dict[Kinds, list[Any]] = {
    TypeError: [
        (lambda: ad.sin(None), r"cadiff\.sin, real numbers, NoneType"),
        (lambda: ad.where(True, 1.0, None), r"cadiff\.where, real numbers, NoneType"),
        (lambda: ad.hypot(CONSTANT, {}), r"cadiff\.hypot, dict"),
        (lambda: ad.hypot(Dual(1.0, 1.0), {}), r"cadiff\.hypot, dict"),
        (lambda: CONSTANT.__array_ufunc__(np.add, "__call__"), "_ufunc__ is called by NumPy"),
        (lambda: CONSTANT.__array_ufunc__(np.add, 1.0, CONSTANT), "_ufunc__ is called by NumPy"),
        (lambda: ad.expit(np.array([1j])), "expit|real"),
        (lambda: ad.hypot(1.0), "hypot, 2 arguments, 1 given"),
        (lambda: ad.hypot(1.0, 2.0, 3.0), "hypot, 2 arguments, 3 given"),
        (lambda: ad.sin(1.0, 2.0), "sin, one argument"),
        (lambda: ad.sin(), "sin, one argument"),
        (lambda: ad.sin(x=1.0), "sin, keyword"),
        (lambda: ad.log(8.0, 2.0), r"one argument \(2 given\), log\(x\) / log\(b\)"),
        (lambda: ad.sin([1.0, "a"]), "sin"),
        (lambda: ad.sin(np.array([1.0, None])), r"cadiff\.sin, no number"),
        (lambda: ad.concatenate(VECTOR, VECTOR), r"in a list: write concatenate\(\[x,.y\]\)"),
        (lambda: ad.stack(ONE, 2.0), r"write stack\(\[x,.y\]\)"),
        (lambda: VECTOR @ np.array(["a"] * 3), "arrays of real numbers, U1"),
        (lambda: TWO.backward(retain_graph=True), "a seed alone: what was recorded"),
        (lambda: ad.Var(X, requires_grad=True), "every Var is recorded"),
    ],
    ValueError: [
        (lambda: ad.concatenate([ONE, 2.0]), r"cadiff\.stack and cadiff\.array join numbers"),
        (lambda: ad.grad(lambda w: (np.ones((4, 2)) @ w).sum())(X), r"shapes \(4,.2\) and \(3,\)"),
        (
            lambda: ad.compile(lambda w: w @ np.ones((4, 2))).jacobian(X),
            r"matmul: .* shapes \(3,\) and \(4,.2\)",
        ),
    ],
    AttributeError: [
        (lambda: setattr(VECTOR, "value", 1.0), "make another one"),
        (lambda: setattr(VECTOR, "shape", (1, -1)), "x.reshape"),
        (lambda: setattr(Dual(X), "dtype", int), "are float64"),
        (lambda: setattr(Dual(X), "dual", X), "make another one"),
        (lambda: setattr(VECTOR, "grad", 0.0), "zero_grad"),
    ],
}

# As newcomers write, who know other packages.
OTHER_CALLS: dict[Kinds, list[Any]] = {
    TypeError: [
        (lambda: np.log(TWO, 10), "what follows is out=, a int"),
        (lambda: ad.grad(square, argnum=1), "grad takes no argnum, argnums=1"),
        (lambda: ad.hessian(square, argnum=(0,)), r"argnums=\(0,\)"),
        (lambda: ad.jacobian(square, argnum=1), "argnums=1"),
        (lambda: ad.grad(square)(1.0, argnum=1), "argnums=1"),
        (lambda: ad.hvp(square)(1.0, 1.0, argnum=1), "argnums=1"),
        (lambda: ad.compile(square).grad(1.0, argnum=1), "argnums=1"),
        (lambda: ad.compile(square).hvp(1.0, 1.0, argnum=1), "argnums"),
        (lambda: ad.grad(np.sum, X), r"int or a tuple of ints,.not array.*grad\(f\)\(x\)"),
        (lambda: ad.vmap(np.sum, X), r"vmap\(f\)\(X\)"),
        (lambda: ad.hvp(np.sum, X, X), r"hvp\(f\) gives a function.*write hvp\(f\)\(x,.v\)"),
        (lambda: ad.compile(np.sum, X), r"write compile\(f\)\(x\)"),
        (lambda: ad.hessian(np.dot, X, X), r"write hessian\(f\)\(x,.y\)"),
        (lambda: ad.checkpoint(np.sum, X), r"write checkpoint\(f\)\(x\)"),
        (lambda: ad.vjp(identity), r"at a point,.here with none: write .*pullback = vjp\(f,.x\)"),
        (lambda: ad.vjp(identity, X, X), r"here with 2 arguments: write .*pullback\(u\)"),
        (lambda: ad.linearize(identity), r"write out,.lin = linearize\(f,.x\)"),
        (lambda: ad.check_grads(np.sum), r"write check_grads\(f,.\(x,\)\)"),
        (lambda: ad.nan_check(np.sum), r"a context.*`with cadiff\.nan_check\(\):`"),
        (lambda: ad.grad(np.sum(X)), r"not float64: write grad\(f\)\(x\),.not grad\(f\(x\)\)"),
        (lambda: ad.grad(lambda a, b: a * b, argnums="b"), "not 'b'; .*write argnums=1$"),
        (lambda: PROGRAM.grad(X, X, argnums=("a", "b")), "by position"),
        (lambda: PROGRAM.grad(X, wrt=0), "takes no wrt: .*argnums=0"),
        (lambda: ad.grad(np.sum, wrt=1), "grad takes no wrt: .*argnums=1"),
        (lambda: ad.jacobian(np.sum, create_graph=True), r"no create_graph: .*grad\(cadiff\.grad"),
        (lambda: ad.vmap(np.sum, in_dims=1), "no in_dims: write in_axes=1"),
        (lambda: ad.compile(np.sum, fast=True), "takes no fast: its arguments are f,.on_branch"),
        (
            lambda: ad.gradient(lambda x: x, X),
            r"here with 3 arguments, write cadiff\.grad\(f\)\(x\)",
        ),
        (lambda: ad.grad(lambda x: x[0] + x[1])(2.0), "call f with an array or a list"),
        (lambda: ad.grad(lambda x: (a for a in x))(X), "generator: it yields; return a number"),
        (lambda: ad.grad(waited)(X), "coroutine: it is async"),
        (lambda: ad.jacobian(lambda x: square)(X), "function; are the parentheses of a call miss"),
        (lambda: ad.grad(lambda x: f"{x[0]}")(X), "not its text"),
        (lambda: ad.jvp(ad.sin)(X, X), r"write out,.tangent = jvp\(f,.\(x,\),.\(v,\)\)"),
        (lambda: ad.derivative(ad.sin)(1.0), r"write derivative\(f,.x\)"),
        (lambda: optimize.minimize(square, X, maxiter=10), r"no maxiter, \{'maxiter': 10\}"),
        (lambda: ad.optimize.adam(np.sum, X, lr=0.1), r"takes no lr: write learning_rate=0\.1"),
        (lambda: optimize.minimize(square, X, tolerance=0.1), r"no tolerance: write tol=0\.1"),
        (lambda: optimize.minimize(lambda x: None, X), "got None .*; is a return missing"),
        (lambda: optimize.minimize(np.sum, X, bounds=(0, 1)), r"bounds are a pair, not \(0,.1\)"),
    ],
    (TypeError, pickle.PicklingError): [
        (lambda: pickle.dumps(ad.compile(lambda x: x)), "a def in a module,.or .*cloudpickle"),
        (lambda: pickle.dumps(ad.grad(lambda x: x)), "a def in a module,.or .*cloudpickle"),
    ],
    ValueError: [
        (lambda: ad.array([[ONE, 2.0], [3.0]]), r"the same shape,.not \(2,\) and \(1,\)"),
        (lambda: ad.compile(square).to_c(X, what="value_and_grad"), 'what="jacobian"'),
        (lambda: optimize.minimize(square, X), r"shape \(3,\): return a sum,.or .*least_squares"),
        (
            lambda: optimize.curve_fit(lambda x, a: a * x, X, X, bounds=[(0, 1)] * 3),
            r"two sides.*write bounds=\(\(0,.0,.0\),.\(1,.1,.1\)\)",
        ),
        (
            lambda: optimize.least_squares(identity, X[:2], bounds=[(0, 1), (0, 1)]),
            r"two sides.*write bounds=\(\(0,.0\),.\(1,.1\)\)",
        ),
        (
            lambda: optimize.curve_fit(lambda x, a: a * x, X, np.where(X, np.nan, X)),
            "infs or NaNs: ydata has 3 of them.*nan_policy='omit'",
        ),
    ],
    AttributeError: [
        (
            lambda: optimize.least_squares(identity, X).errors,
            r"no 'errors': write result\.standard_errors\(\).*result\.covariance\(\)",
        ),
        (
            lambda: optimize.minimize(lambda p: p @ p, X).nonsense,
            "no 'nonsense': it has .*x,..*hessian,.covariance,.standard_errors",
        ),
        (lambda: ad.nn.Linear(3, 2), r"'cadiff\.nn' has no attribute 'Linear', x @ W \+ b"),
        (lambda: ad.numpy.linalg.solve_triangular, r"module 'cadiff\.numpy\.linalg' has no attr"),
        (lambda: ad.optimize.Adam, r"write cadiff\.optimize\.adam"),
        (lambda: ad.numpy.matmull, r"module 'cadiff\.numpy' has no attribute 'matmull'"),
    ],
}


@mistakes(BAD_POINTS)
def test_bad_points(call: Any, kinds: Kinds, words: str) -> None:
    check(call, kinds, words)


@mistakes(BAD_DIRECTIONS)
def test_bad_directions(call: Any, kinds: Kinds, words: str) -> None:
    check(call, kinds, words)
    assert PULL(1.0) == 6.0


@mistakes(BAD_OPERANDS)
def test_bad_operands(call: Any, kinds: Kinds, words: str) -> None:
    check(call, kinds, words)


@mistakes(OTHER_CALLS)
def test_calls_as_other_packages_have_them(call: Any, kinds: Kinds, words: str) -> None:
    told(call, kinds, words)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in binding.operations()}))
def test_every_operation_refuses_text_by_its_name(name: str) -> None:
    arity = {name: arity for name, arity, _ in binding.operations()}[name]
    words = rf"cadiff\.{name}\b, real numbers, str"
    check(lambda: getattr(cadiff, name)(*["a"] * arity), TypeError, words)


# --- what is no function -------------------------------------------------------------------------

AT_A_POINT: dict[str, Callable[[Any], Any]] = {
    "linearize": lambda f: ad.linearize(f, 1.0),
    "root": lambda f: ad.root(f, 1.0),
    "fixed_point": lambda f: ad.fixed_point(f, 1.0),
    "checkpoint_scan": lambda f: ad.checkpoint_scan(f, 1.0, length=2),
    "jvp": lambda f: ad.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda f: ad.vjp(f, 1.0),
    "derivative": lambda f: ad.derivative(f, 1.0),
    "derivative by position": lambda f: ad.derivative(f, 0, (1.0,)),
    "gradient": lambda f: ad.gradient(f, (1.0,)),
    "gradient fwd": lambda f: ad.gradient(f, (1.0,), mode="fwd"),
    "check_derivative": lambda f: ad.check_derivative(f, 0, (1.0,), 1.0),
    "check_grads": lambda f: ad.check_grads(f, (1.0,)),
}
STRANGERS: dict[str, Any] = {"int": 3, "NoneType": None, "str": "f", "ndarray": X}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("kind", ["int", "NoneType"])
def test_a_transform_names_itself_and_what_it_got_instead_of_a_function(
    name: str, kind: str
) -> None:
    own = rf"\b({name}|jacobian)\b" if name.startswith("jac") else rf"\b{name}\b"
    check(lambda: TRANSFORMS[name](STRANGERS[kind]), TypeError, f"{own}, function, {kind}")


@pytest.mark.parametrize("name", AT_A_POINT)
@pytest.mark.parametrize("kind", STRANGERS)
def test_a_function_at_a_point_must_be_callable(name: str, kind: str) -> None:
    words = rf"^{name.split()[0]} takes a function,.not {kind}$"
    check(lambda: AT_A_POINT[name](STRANGERS[kind]), TypeError, words)


# --- argnums -------------------------------------------------------------------------------------

NO_ARGNUMS: list[Any] = ["a", 1.0, True, np.bool_(True), None, ("x",), (True, False), ((0, 1),)]


@BY_ARGNUMS
@pytest.mark.parametrize("argnums", NO_ARGNUMS, ids=repr)
def test_argnums_are_an_int_or_a_tuple_of_ints(name: str, argnums: Any) -> None:
    given = re.escape(str(argnums[0] if isinstance(argnums, tuple) else argnums)).replace(
        ", ", "."
    )
    words = f"argnums, int or a tuple of ints, {given.replace(', ', '.')}"
    check(lambda: TRANSFORMS[name](square, argnums), TypeError, words)


@BY_ARGNUMS
def test_no_argument_is_named_twice(name: str) -> None:
    check(lambda: TRANSFORMS[name](square, (0, 0)), ValueError, r"argnums, twice, \(0,.0\)")
    f = TRANSFORMS[name](lambda x, y: x * y, (0, -2))
    check(lambda: f(2.0, 3.0), ValueError, "argnums, twice, -2")


@BY_ARGNUMS
@pytest.mark.parametrize("argnums", [1, -2, 7, (0, 1), (-2,)], ids=str)
def test_argnums_out_of_range_name_the_number_of_arguments(name: str, argnums: Any) -> None:
    missing = argnums if isinstance(argnums, int) else argnums[-1]
    words = rf"argnums, {missing}\b, 1 positional argument"
    check(lambda: TRANSFORMS[name](square, argnums)(2.0), (TypeError, IndexError), words)


@BY_ARGNUMS
def test_an_argument_passed_by_keyword_is_not_differentiated(name: str) -> None:
    check(lambda: TRANSFORMS[name](square)(x=2.0), TypeError, "argnums, 0 positional, keyword")


def test_a_function_may_have_an_argument_named_argnum() -> None:
    def f(x: Any, argnum: float = 1.0) -> Any:
        return x * x * argnum

    assert cadiff.grad(f)(3.0, argnum=2.0) == cadiff.compile(f).grad(3.0, argnum=2.0) == 12.0


# --- arguments and results without a derivative --------------------------------------------------

BAD_ARGUMENTS: list[tuple[Any, str]] = [
    (True, "argument 0, bool"),
    (np.bool_(False), "argument 0, bool"),
    ("1.0", "argument 0, str"),
    (b"1", "argument 0, bytes"),
    (None, "argument 0, NoneType"),
    ({1.0}, "argument 0, set"),
    (object(), "argument 0, object"),
    ((x for x in [1.0]), "argument 0, generator"),
    (np.array([True]), "argument 0, dtype bool"),
    (np.array(["a"]), "argument 0, dtype <U1"),
    (np.array([1.0, None]), "argument 0, dtype object"),
    (np.array(["2020"], dtype="M8[D]"), "argument 0, datetime64"),
    (np.zeros(1, dtype=[("a", "f8")]), "argument 0, dtype"),
    ([1.0, "a"], r"argument 0\[1\], str"),
    ((1.0, 2.0, "a"), r"argument 0\[2\], str"),
    ({"k": b""}, r"argument 0\['k'\], bytes"),
    ({"l": [1.0, {"w": (2.0, [True])}]}, r"argument 0\['l'\]\[1\]\['w'\]\[1\]\[0\], bool"),
    ([1.0, np.array([True])], r"argument 0\[1\], dtype bool"),
]


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(("bad", "words"), BAD_ARGUMENTS)
def test_an_argument_without_derivative_is_named_by_its_path(
    name: str, bad: Any, words: str
) -> None:
    f = TRANSFORMS[name](lambda x: 1.0)
    args = (bad, 1.0) if name == "hvp" else (bad,)
    check(lambda: f(*args), TypeError, f"{words}, real numbers, argnums, keyword")


@pytest.mark.parametrize("name", ["grad", "jacfwd", "hessian"])
def test_the_position_of_a_bad_argument_is_that_of_the_call(name: str) -> None:
    f = TRANSFORMS[name](lambda x, y, z: x, (0, 2))
    check(lambda: f(1.0, "fine", "bad"), TypeError, "argument 2, str")
    g = TRANSFORMS[name](lambda x, y: x, -1)
    check(lambda: g(1.0, "bad"), TypeError, r"argument (-1|1)\b, str")


SCALAR_TRANSFORMS: dict[str, Callable[[Function], Any]] = {
    "grad": lambda f: ad.grad(f)(2.0),
    "value_and_grad": lambda f: ad.value_and_grad(f)(2.0),
    "hessian": lambda f: ad.hessian(f)(2.0),
    "hvp": lambda f: ad.hvp(f)(2.0, 1.0),
    "gradient": lambda f: ad.gradient(f, (2.0,)),
    "gradient fwd": lambda f: ad.gradient(f, (2.0,), mode="fwd"),
}
ANY_TRANSFORMS: dict[str, Callable[[Function], Any]] = {
    "jacobian": lambda f: ad.jacobian(f)(2.0),
    "jacfwd": lambda f: ad.jacfwd(f)(2.0),
    "jacrev": lambda f: ad.jacrev(f)(2.0),
    "elementwise_grad": lambda f: ad.elementwise_grad(f)(2.0),
    "jvp": lambda f: ad.jvp(f, (2.0,), (1.0,)),
    "vjp": lambda f: ad.vjp(f, 2.0),
    "derivative": lambda f: ad.derivative(f, 2.0),
}
ALONE: list[tuple[Function, str]] = [
    (lambda x: None, "NoneType, return missing"),
    (lambda x: x > 0, r"bool, comparison, cadiff\.where"),
    (lambda x: np.bool_(True), "bool"),
    (lambda x: "a", "real number, str"),
    (lambda x: object(), "real number, object"),
    (lambda x: {1.0}, "real number, set"),
    (lambda x: square, "real number, function"),
    (lambda x: np.array([True]), "bool"),
    (lambda x: np.array(["a"]), "real number, str"),
]
AMONG_OTHERS: list[tuple[Function, str]] = [
    (lambda x: [x, "a"], "real number, str"),
    (lambda x: {"a": [x, b""]}, "real number, bytes"),
    (lambda x: [x, x > 0], "bool"),
]
NO_RESULTS = [
    *[(run, *row) for run in (SCALAR_TRANSFORMS | ANY_TRANSFORMS).values() for row in ALONE],
    *[(run, *row) for run in ANY_TRANSFORMS.values() for row in AMONG_OTHERS],
]


@pytest.mark.parametrize(("run", "f", "words"), NO_RESULTS)
def test_a_result_without_derivative_is_told(run: Function, f: Function, words: str) -> None:
    check(lambda: run(f), TypeError, words)


SEVERAL: list[tuple[Function, str]] = [
    (lambda x: [x, x], "list"),
    (lambda x: [x], "list"),
    (lambda x: (x, x), "tuple"),
    (lambda x: {"a": x}, "dict"),
    (lambda x: np.array([x, x]), r"\(2,\)"),
    (lambda x: np.ones((2, 3)), r"\(2,.3\)"),
    (lambda x: np.zeros(0), r"\(0,\)"),
    (lambda x: Var([1.0, 2.0]), r"\(2,\)"),
]


@pytest.mark.parametrize("name", SCALAR_TRANSFORMS)
@pytest.mark.parametrize(("f", "given"), SEVERAL)
def test_several_results_name_jacobian(name: str, f: Function, given: str) -> None:
    kept = Var(1.0)  # so that the tape of this thread is in use
    own = rf"\b{name.removesuffix(' fwd')}\b|\bgrad\b"
    words = rf"one number, cadiff\.jacobian, {own}, {'' if name == 'gradient fwd' else given}"
    told(lambda: SCALAR_TRANSFORMS[name](f), TypeError, words)
    assert kept.value == 1.0


AUX: dict[str, Callable[[Function], Any]] = {
    "grad": lambda f: ad.grad(f, has_aux=True)(2.0),
    "value_and_grad": lambda f: ad.value_and_grad(f, has_aux=True)(2.0),
    "jvp": lambda f: ad.jvp(f, (2.0,), (1.0,), has_aux=True),
    "vjp": lambda f: ad.vjp(f, 2.0, has_aux=True),
}
NO_PAIRS: list[tuple[Function, str]] = [
    (lambda x: x, r"has_aux=True, pair, \(out,.aux\), out alone"),
    (lambda x: [x, 1], "pair, list"),
    (lambda x: (x, 1, 2), "pair, tuple of 3"),
    (lambda x: (x,), "pair, tuple of 1"),
    (lambda x: None, "pair, NoneType"),
    (lambda x: 3.0, "pair, float"),
    (lambda x: (None, x), "real number, NoneType"),
    (lambda x: (x > 0, x), "bool"),
]


@pytest.mark.parametrize("run", AUX.values(), ids=AUX)
@pytest.mark.parametrize(("f", "words"), NO_PAIRS)
def test_with_has_aux_f_returns_a_pair(run: Function, f: Function, words: str) -> None:
    check(lambda: run(f), TypeError, words)
    check(lambda: cadiff.grad(lambda x: (x, 1))(2.0), TypeError, "has_aux=True")


# --- operands that decide for themselves ---------------------------------------------------------


class Operator:
    def __rmatmul__(self, other: Any) -> str:
        return "theirs"


@pytest.mark.parametrize("number", [Var([1.0, 2.0]), Dual([1.0, 2.0], 1.0)])
def test_matrix_products_with_what_is_no_array(number: Any) -> None:
    assert number @ Operator() == "theirs"
    for other in (None, "a", object()):
        with pytest.raises(TypeError, match=r"unsupported operand|returned NotImplemented"):
            number @ other
        with pytest.raises(TypeError, match="returned NotImplemented"):
            np.matmul(number, other)


ROW = Var([1.0, 2.0, 3.0])
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
MATRIX = np.ones((2, 2)).view(np.matrix)
USES: dict[str, Callable[[Any], Any]] = {
    "Var": Var,
    "Dual": Dual,
    "operand": lambda x: ROW[: len(x)] * x,
    "operand of a Dual": lambda x: Dual(np.ones(x.shape)) + x,
    "factor": lambda x: x @ ROW[: len(x)],
    "argument": lambda x: cadiff.grad(lambda x: (x * x).sum())(x),
    "argument, forward": lambda x: cadiff.jvp(square, (x,), (x,)),
    "result": lambda x: cadiff.jacobian(lambda y: x)(1.0),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_arrays_whose_operations_mean_something_else(use: Callable[[Any], Any]) -> None:
    check(lambda: use(MASKED), TypeError, "masked, filled, where")
    check(lambda: use(MATRIX), TypeError, r"numpy\.matrix, asarray, @")


@pytest.mark.parametrize("array", [MASKED, MATRIX], ids=["masked", "matrix"])
def test_cotangents_whose_operations_mean_something_else(array: Any) -> None:
    f = functools.partial(np.multiply, np.ones(array.shape))
    for pull in (cadiff.vjp(f, 1.0)[1], cadiff.linearize(f, 1.0)[1].vjp):
        with pytest.raises(TypeError, match=r"masked arrays|numpy\.matrix"):
            pull(array)
        assert pull(np.ones(array.shape)) == array.size


def test_a_product_of_objects_that_fails_leaves_no_elements_to_look_at() -> None:
    """NumPy's own arrays: where its loop has raised, it has set no elements of the result."""
    isolated("""
import numpy as np
import cadiff
for shape in [(1, 1, 1, 1), (2, 3, 1, 1), (4, 2, 2), (5, 3, 2)]:
    z = np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape) * 1j
    for _ in range(300):
        try:
            np.matmul(z, np.array([None] * shape[-1]))
        except TypeError:
            pass
        else:
            raise AssertionError
""")
