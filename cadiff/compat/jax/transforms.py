"""`jit`, `grad` and what else makes functions of functions: cadiff's, called as JAX calls them."""

import functools
import inspect
from collections.abc import Callable, Container, Sequence
from functools import partial
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

from ...binding import AsNumPy, carries, is_eager, is_guarding
from ...transforms._jacobians import OfParts
from ..calls import Call, InlinedCall, is_running, running
from ..trees import Function
from . import tree_util as trees
from .arrays import ARRAYS, as_numpy, given_back, struct_of

__all__ = [
    *("checkpoint", "custom_jvp", "custom_vjp", "eval_shape", "grad", "hessian", "jacfwd"),
    *("jacobian", "jacrev", "jit", "jvp", "linear_transpose", "linearize", "remat"),
    *("value_and_grad", "vjp", "vmap"),
]

_CADIFF: Any = cadiff  # whose functions are called with what they are given here

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

# A decorator that names a function after another, which may be an object without a name.
_like: Callable[[Any], Callable[[Function], Function]] = partial(functools.wraps, updated=())


def _called(made: Function, fun: Function) -> Function:
    """What cadiff makes of a function: numbers are compared, and results given, as JAX does it."""

    @_like(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        with AsNumPy():
            return given_back(made(*args, **kwargs))

    return called


def owning(fun: Function) -> Function:
    """A function given containers of its own, whose arrays cannot change: its caller's stay."""

    @_like(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        own_args, own_kwargs = trees.tree_map(lambda x: x, (args, kwargs))
        with AsNumPy():
            return fun(*own_args, **own_kwargs)

    return called


def _traced(function: Any) -> Any:
    """A function that asks clocks, and draws as NumPy does, where it is recorded alone."""
    function.asks_once = True
    return function


def jit(
    fun: Any = None, *, static_argnums: Any = None, static_argnames: Any = None, **how: Any
) -> Any:
    """`cadiff.compile` of a function: recorded at a first call, replayed in C by later ones.

    Each value of static arguments has a program. What else says how to compile is ignored.
    """
    if fun is None:
        return lambda f: jit(f, static_argnums=static_argnums, static_argnames=static_argnames)
    given = [x for x in (static_argnums, static_argnames) if x is not None]
    which = [k for x in given for k in ([x] if isinstance(x, (int, str)) else x)]
    if which:
        return _Static(fun, which)
    program: Any = cadiff.compile(_traced(owning(fun)))
    made: Any = _called(program, fun)
    made.program, made.clear_cache = program, program.clear
    made.lower = lambda *_, **__: SimpleNamespace(compile=lambda *_: made)
    return made


class _Static:
    """A function with a program for each value of some arguments, which are part of it.

    Its programs are no state of a function that calls it: within others it is the function itself.
    """

    def __init__(self, fun: Function, which: Sequence[Any]) -> None:
        functools.update_wrapper(self, fun, updated=())  # programs look into `__wrapped__`
        self.fun, self.signature = owning(fun), inspect.signature(fun)
        kinds = [(k, x.kind) for k, x in self.signature.parameters.items()]
        names = [k for k, kind in kinds if kind in _BY_PLACE]
        self.static = {k % len(names) if isinstance(k, int) and k < 0 else k for k in which}
        self.static |= {names[k] for k in self.static if isinstance(k, int) and k < len(names)}
        self.static |= {names.index(k) for k in self.static if k in names}
        self.programs = functools.lru_cache(self._program)
        self.clear_cache = self.programs.cache_clear
        self.lower = lambda *_, **__: SimpleNamespace(compile=lambda *_: self)

    def _program(self, *fixed: Any) -> Any:
        def some(rest: Any) -> Any:
            given = dict(fixed) | rest
            named = {k: x for k, x in given.items() if isinstance(k, str)}
            places = range(len(given) - len(named))
            return self.fun(*(given[k] for k in places), **named)

        return cadiff.compile(_traced(some))

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        return self if thing is None else MethodType(self, thing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with AsNumPy():
            if is_eager(args, kwargs):
                return given_back(self.fun(*args, **kwargs))
            call = self.signature.bind(*args, **kwargs)
            rest = dict(enumerate(call.args)) | call.kwargs
            fixed = [(k, rest.pop(k)) for k in [*rest] if k in self.static]
            return given_back(self.programs(*fixed)(rest))


class _Tree(SimpleNamespace):
    """A tree as one container of cadiff's, whatever its lists and the order of its dicts are."""


def _closed(x: Any) -> Any:
    return _Tree(tree=x) if trees.PyTreeDef.kind_of(type(x)) else x


def _opened(x: Any) -> Any:
    """A tree, or, of a tuple by arguments, those in it."""
    if type(x) is tuple:
        return tuple(map(_opened, x))
    return x.tree if type(x) is _Tree else x


cadiff.register_container(
    _Tree,
    lambda x: trees.tree_flatten(x.tree),
    lambda tree, leaves: _Tree(tree=tree.unflatten(map(_opened, leaves))),
)


def _operator(made: Function, of_trees: Function | None = None) -> Function:
    """An operator of cadiff's, called as JAX calls it; or, for trees, what makes derivatives."""

    @_like(made)
    def operator(
        fun: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, **_: Any
    ) -> Function:
        own = owning(fun)
        if of_trees is None:
            return _called(made(own, argnums, has_aux=has_aux, holomorphic=holomorphic), fun)

        def first(*args: Any, **kwargs: Any) -> Any:
            result = own(*map(_opened, args), **kwargs)
            return _closed(result[0] if has_aux else result)

        def derivative(*args: Any, **kwargs: Any) -> Any:
            make = of_trees(first, argnums, holomorphic=holomorphic)
            found = _opened(make(*map(_closed, args), **kwargs))
            return (found, own(*args, **kwargs)[1]) if has_aux else found

        return _called(derivative, fun)

    return operator


def _second(fun: Function, argnums: Any, holomorphic: bool) -> Function:
    """The Hessian of one real number, or else a Jacobian of a Jacobian."""

    def hessian(*args: Any, **kwargs: Any) -> Any:
        value = fun(*args, **kwargs)
        if type(value) is not _Tree and not np.shape(value) and not holomorphic:
            return cadiff.hessian(fun, argnums)(*args, **kwargs)
        inner = jacrev(fun, argnums, holomorphic=holomorphic)
        return jacfwd(inner, argnums, holomorphic=holomorphic)(*args, **kwargs)

    return hessian


grad, value_and_grad = _operator(cadiff.grad), _operator(cadiff.value_and_grad)
jacfwd = _operator(cadiff.jacfwd, partial(OfParts, "jacfwd", mode="fwd"))
jacrev = jacobian = _operator(cadiff.jacrev, partial(OfParts, "jacrev", mode="rev"))
hessian = _operator(cadiff.hessian, _second)


def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """`(value, tangent)` at primals along tangents."""
    return given_back(_CADIFF.jvp(owning(fun), tuple(primals), tuple(tangents), has_aux=has_aux))


def vjp(fun: Function, *primals: Any, has_aux: bool = False, **_: Any) -> Any:
    """`(value, pullback)`; the pullback gives a tuple with a cotangent for each argument."""
    out, pull, *aux = _CADIFF.vjp(owning(fun), *primals, has_aux=has_aux)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        found = given_back(pull(cotangent))
        return (found,) if len(primals) == 1 else found

    return given_back(out), pullback, *aux


def linearize(fun: Function, *primals: Any) -> Any:
    """`(value, push)`, where `push(*tangents)` is the tangent of the value."""
    out, push = cadiff.linearize(owning(fun), *primals)
    return given_back(out), lambda *tangents: given_back(push(*tangents))


def linear_transpose(fun: Function, *primals: Any, **_: Any) -> Function:
    """What a linear function transposed makes of a cotangent: a tuple, as of `vjp`."""
    return lambda cotangent: vjp(fun, *trees.tree_map(as_numpy, primals))[1](cotangent)


def eval_shape(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of what a function returns, which is run on ones where none are given."""
    args, kwargs = trees.tree_map(as_numpy, (args, kwargs))
    return trees.tree_map(struct_of, fun(*args, **kwargs))


def vmap(
    fun: Function, in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None,
    axis_size: int | None = None, **_: Any,
) -> Function:  # fmt: skip
    """A function of one row, mapped over all rows of its arguments, or over `axis_size` turns."""
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if axis_size is None:
        return _called(cadiff.vmap(fun, axes, out_axes), fun)
    turns = cadiff.vmap(lambda _, args: fun(*args), (0, axes), out_axes)
    return _called(lambda *args: turns(onp.arange(axis_size), args), fun)


def checkpoint(fun: Function | None = None, **_: Any) -> Any:
    """The function with its intermediate results computed again when they are needed."""
    return checkpoint if fun is None else _like(fun)(cadiff.checkpoint(owning(fun)))


remat = checkpoint
_NUMBERS = (*ARRAYS, float, complex)


def fixing(fun: Function, args: Sequence[Any], fixed: Container[Any]) -> Function:
    """A function of the arguments whose places are not fixed."""

    def of_rest(*rest: Any) -> Any:
        others = iter(rest)
        return fun(*(x if k in fixed else next(others) for k, x in enumerate(args)))

    return of_rest


class _Custom:
    """What both decorators have in common: calls with arguments that are not differentiated by."""

    define: Function  # states the derivatives of a primitive that is made of a call

    def __init__(self, fun: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun, self.nondiff = owning(fun), nondiff_argnums
        self.rules: list[Function] = []
        try:
            self.signature = inspect.signature(fun)
        except ValueError:  # of a built-in one, which has no defaults to tell of
            self.signature = inspect.signature(lambda *args: None)
        self.__wrapped__ = fun, self.rules  # where programs look for what they read

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        return self if thing is None else partial(self, thing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.fun.__name__
        if not self.rules:
            text = f"no rule of {name} is stated: do so with {name}.defjvp or its like"
            raise AttributeError(text)
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()  # a rule is of all arguments
        args = bound.args
        if alone := [k for k in kwargs if k in bound.kwargs]:
            raise TypeError(
                f"rules of {name} are of places, which {alone} have not: pass by place"
            )
        if not carries(args):
            return self.fun(*args)
        given = tuple(x for k, x in enumerate(args) if k not in self.nondiff)
        is_number = lambda x: isinstance(x, _NUMBERS) and np.result_type(x).kind in "fc"  # noqa: E731
        call = Call(trees.PyTreeDef, given, is_number)
        if not carries(call.numbers):
            return self.fun(*args)

        def at(fun: Function) -> Function:
            """A function of all arguments, of the numbers in a row."""
            of_given = fixing(fun, args, self.nondiff)
            return lambda point: of_given(*given_back(call.args(point)))

        fixed = [args[k] for k in self.nondiff]
        if is_guarding():  # a program computes what the function does
            found = call.flat(at(self.fun)(cadiff.stop_gradient(call.point)))
            inlined = InlinedCall(call.point)
            self.define(inlined, call, at, *fixed)
            return call.whole(inlined(found))
        operation: Any = cadiff.primitive(lambda point: call.flat(at(self.fun)(point)))
        operation._is_own = False  # its rules are a user's, and of complex numbers, too
        self.define(operation, call, at, *fixed)
        return call.whole(operation(call.point))

    def checked(self, found: Any, n: int, what: str) -> Any:
        if isinstance(found, (tuple, list)) and len(found) == n:
            return found
        raise TypeError(f"{what} of {self.fun.__name__} returns a tuple of {n}, not {found!r}")


class custom_jvp(_Custom):  # noqa: N801 - a decorator
    """A function whose tangents `f.defjvp(rule)` states: `rule(primals, tangents)`."""

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """State the rule: `jvp(*nondiff, primals, tangents)` gives the value and its tangent."""
        self.rules[:] = [jvp]
        return jvp

    def defjvps(self, *jvps: Any) -> None:
        """State a rule for each argument: `jvp(t, ans, *primals)`, or None for 0."""

        def rule(*given: Any) -> tuple[Any, Any]:
            *nondiff, primals, tangents = given
            ans = self(*nondiff, *primals)
            pairs = zip(jvps, tangents, strict=True)
            return ans, sum(f(t, ans, *primals) for f, t in pairs if f is not None)

        self.rules[:] = [rule]

    def define(self, operation: Any, call: Call, at: Function, *fixed: Any) -> None:
        """A tangent by the rule, and a cotangent by the rule transposed."""
        zeros = [onp.zeros(np.shape(x))[()] for x in call.leaves]

        def push(t: Any, ans: Any, point: Any) -> Any:
            primals, tangents = given_back((call.args(point), call.args(t, zeros)))
            result = self.rules[0](*fixed, primals, tangents)
            return call.flat(self.checked(result, 2, "the rule")[1])

        def pull(ans: Any, point: Any) -> Any:
            if is_running(self):
                run = at(self.fun)
                return cadiff.vjp(lambda x: call.flat(run(x)), point)[1]
            zero = onp.zeros(np.shape(point), np.result_type(point))[()]
            return running(self)(cadiff.vjp(lambda t: push(t, ans, point), zero)[1])

        operation.defjvp(push)
        operation.defvjp(pull)


class custom_vjp(_Custom):  # noqa: N801 - a decorator
    """A function whose cotangents `f.defvjp(fwd, bwd)` states."""

    def defvjp(self, fwd: Function, bwd: Function, **_: Any) -> None:
        """`fwd(*args)` gives value and residuals, `bwd(*nondiff, residuals, g)` cotangents."""
        self.rules[:] = fwd, bwd

    def define(self, operation: Any, call: Call, at: Function, *fixed: Any) -> None:
        """A cotangent by `bwd` for what `fwd` keeps."""
        fwd, bwd = self.rules

        def pull(ans: Any, point: Any) -> Function:
            _, residuals = self.checked(at(owning(fwd))(point), 2, "fwd")

            def of(g: Any) -> Any:
                found = bwd(*fixed, residuals, call.whole(g))
                return call.cotangents(self.checked(found, len(call.tree.parts), "bwd"))

            return of

        operation.defvjp(pull)
