"""Derivatives of functions of one argument, primitives and their rules, and vector spaces."""

import functools
import itertools
import sys
import warnings
from abc import ABC, ABCMeta
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

from ...binding import is_complex_number
from ..calls import Call, is_running, running
from ..trees import Function
from . import trees
from .wrap_util import get_name, wraps

_HERE = __name__.rpartition(".")[0]
isbox = trees.is_box


class Box(ABC):  # noqa: B024 - of which others are registered
    """The class of numbers and arrays that carry derivatives."""

    @classmethod
    def register(cls, value_type: type) -> Any:
        """Autograd has boxes for further types; cadiff has containers."""
        raise TypeError(
            f"cadiff differentiates by numbers and containers of them: tell it what is in a "
            f"{value_type.__name__} by cadiff.register_container"
        )


for _kind in trees.NUMBERS:
    ABCMeta.register(Box, _kind)


def getval(x: Any) -> Any:
    """The plain number or array that a box holds; anything else as it is."""
    return cadiff.value(x) if isbox(x) else x


def notrace_primitive(f_raw: Function) -> Function:
    """A function that is given plain numbers, so that nothing depends on it."""
    return wraps(f_raw)(lambda *args, **kwargs: f_raw(*map(getval, args), **kwargs))


notrace_primitives: defaultdict[Any, set[Any]] = defaultdict(set)


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Keep what autograd keeps; a primitive without rules is refused all the same."""
    notrace_primitives[trace_type].add(primitive_fun)


def _watched(fun: Function) -> tuple[Function, list[Any]]:
    """A function that returns 0.0 where fun returns a constant, and a list to which that goes."""
    plain: list[Any] = []

    def run(x: Any) -> Any:
        out = fun(x)
        if trees.carries(out):
            return out
        plain.append(out)
        return 0.0

    return run, plain


def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """The pullback of a function at x, and its value there."""
    run, plain = _watched(fun)
    value, pull = cadiff.vjp(run, trees.given(x))

    def vjp(g: Any) -> Any:
        return trees.given_back(pull(0.0 if plain else trees.given(g)), x)

    return vjp, plain[0] if plain else trees.given_back(value)


def make_jvp(fun: Function, x: Any) -> Function:
    """What maps a tangent at x to the value of a function and its tangent."""

    def jvp(v: Any) -> tuple[Any, Any]:
        run, plain = _watched(fun)
        value, tangent = cadiff.jvp(run, (trees.given(x),), (trees.given(v),))
        if plain:
            return plain[0], vspace(plain[0]).zeros()
        return trees.given_back(value), trees.given_back(tangent)

    return jvp


primitive_vjps: dict[Any, Function] = {}
primitive_jvps: dict[Any, Function] = {}


class SparseObject:
    """A cotangent that knows how it is added to another one."""

    def __init__(self, vs: "VSpace", mut_add: Function) -> None:
        self.vs, self.mut_add = vs, mut_add


def _dense(x: Any) -> Any:
    return x.mut_add(x.vs.zeros()) if isinstance(x, SparseObject) else x


def _chosen(mode: str, fun: Function, rules: Any, k: int) -> Any:
    """One of several rules."""
    if k not in rules:
        raise NotImplementedError(f"{mode} of {get_name(fun)} wrt argnums {k} not defined")
    return rules[k]


def _pull_by_rule(fun: Any, rule: Function) -> Function:
    def maker(ans: Any, *args: Any, **kwargs: Any) -> Function:
        pull = rule(fun.typed(ans), *args, **kwargs)
        return lambda g: _dense(pull(g))

    return maker


def _pull_by_table(fun: Any, k: int) -> Function:
    def rule(ans: Any, *args: Any, **kwargs: Any) -> Function:
        pull = primitive_vjps[fun]((k,), ans, args, kwargs)
        return lambda g: next(iter(pull(g)))

    return _pull_by_rule(fun, rule)


def _push_by_table(fun: Any, k: int) -> Function:
    def rule(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        with running(fun):
            return _dense(primitive_jvps[fun]((k,), (g,), fun.typed(ans), args, kwargs))

    return rule


def primitive(f_raw: Function) -> Any:
    """A function whose derivatives are stated by `defvjp` and its like."""
    whole: dict[int, Any] = {}  # which of several results are whole numbers, indices say

    @functools.wraps(f_raw, updated=())
    def noting(*args: Any, **kwargs: Any) -> Any:
        result = f_raw(*args, **kwargs)
        if isinstance(result, tuple):
            arrays = enumerate(map(onp.asarray, result))
            whole.update({k: x.dtype for k, x in arrays if x.dtype.kind in "biu"})
        return result

    def typed(result: Any) -> Any:
        if not whole:
            return result
        return tuple(getval(x).astype(whole[k]) if k in whole else x for k, x in enumerate(result))

    operation = cadiff.primitive(noting)
    is_cadiffs = operation._is_own
    if is_cadiffs:  # but its rules are its user's
        operation._is_own, operation.__module__ = False, "autograd"
    asked: dict[bool, Any] = {}  # of its pulls and pushes those that are stated

    @wraps(f_raw)
    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        which = [k for k, arg in enumerate(args) if trees.carries(arg)]
        if not which or (is_cadiffs and is_running(f_wrapped)):
            return f_raw(*args, **kwargs)
        if not asked:
            _chosen("VJP", f_wrapped, (), which[0])
        for k in which:
            if trees.is_container(args[k]):
                return _of_containers(f_wrapped, f_raw, args, kwargs)
            for rules, by_table in asked.values():
                if k not in rules:
                    rules[k] = by_table(f_wrapped, k)
        return typed(operation(*args, **kwargs))

    operation.place = f"{getattr(f_raw, '__qualname__', operation)}.operation"
    vars(f_wrapped).update({name: _deprecated(f_wrapped, name) for name in _DEPRECATED})
    vars(f_wrapped).update(operation=operation, asked=asked, typed=typed, fun=f_raw)
    vars(f_wrapped)["_is_autograd_primitive"] = True
    return f_wrapped


def _of_containers(fun: Function, f_raw: Function, args: Any, kwargs: Any) -> Any:
    """A call with containers of numbers that carry derivatives."""
    call = Call(trees.Tree, args, trees.is_box)
    argnums = tuple(k for k, arg in enumerate(args) if trees.carries(arg))

    def maker(ans: Any, point: Any) -> Function:
        table = _chosen("VJP", fun, primitive_vjps, fun)  # type: ignore[arg-type]
        pull = table(argnums, call.whole(ans), call.args(point), kwargs)

        def of(g: Any) -> Any:
            found = dict(zip(argnums, map(_dense, pull(call.whole(g))), strict=True))
            return call.cotangents([found.get(k) for k in range(len(args))])

        return of

    operation = call.operation(functools.partial(f_raw, **kwargs))
    operation.defvjp(maker)
    return call.whole(operation(call.point))


def _own(fun: Function) -> Function:
    """The primitive whose rules are stated: of a function of cadiff one that takes its names."""
    if hasattr(fun, "_is_autograd_primitive"):
        return fun
    modules = [m for k, m in [*sys.modules.items()] if k.startswith(_HERE)]
    modules = [m for m in modules if m.__name__.startswith(_HERE)]  # not cadiff's by that name
    names = [(m, k) for m in modules for k in {*vars(m), get_name(fun)}]
    places = [(m, k) for m, k in names if k[0] != "_" and getattr(m, k, None) is fun]
    if not places:
        text = f"{get_name(fun)} has no rules: wrap it in autograd.extend.primitive to state some"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
        return fun
    own = primitive(fun)
    for module, name in places:
        setattr(module, name, own)
    return own  # type: ignore[no-any-return]


def _state(table: dict[Any, Function], fun: Function, rule: Function) -> Any:
    """Keep the rule of a function, in place of those that it had."""
    own: Any = _own(fun)
    table[own] = rule
    if hasattr(own, "asked"):
        op, is_push = own.operation, table is primitive_jvps
        way = (op.pushes, _push_by_table) if is_push else (op.pulls, _pull_by_table)
        own.asked[is_push] = way
        way[0].clear()
    return own


def defvjp_argnums(fun: Function, vjpmaker: Function) -> Any:
    """`vjpmaker(argnums, ans, args, kwargs)` makes what maps a cotangent to one for each."""
    return _state(primitive_vjps, fun, vjpmaker)


def defvjp_argnum(fun: Function, vjpmaker: Function) -> Any:
    """`vjpmaker(argnum, ans, args, kwargs)` makes what maps a cotangent to that argument's."""

    def makers(argnums: Any, *call: Any) -> Function:
        pulls = [vjpmaker(k, *call) for k in argnums]
        return lambda g: [pull(g) for pull in pulls]

    return defvjp_argnums(fun, makers)


def _by_argnum(rules: Any, argnums: Any) -> dict[int, Any]:
    return dict(zip(range(len(rules)) if argnums is None else argnums, rules, strict=True))


def defvjp(fun: Function, *vjpmakers: Any, argnums: Any = None) -> None:
    """A `vjpmaker(ans, *args, **kwargs)` for each argument; None where the derivative is 0."""
    makers = _by_argnum(vjpmakers, argnums)

    def maker(k: int, ans: Any, args: Any, kwargs: Any) -> Any:
        rule = _chosen("VJP", fun, makers, k)
        return rule(ans, *args, **kwargs) if rule else lambda g: vspace(args[k]).zeros()

    own = defvjp_argnum(fun, maker)
    if hasattr(own, "operation"):  # which then need not ask the table
        own.operation.pulls.update({k: r and _pull_by_rule(own, r) for k, r in makers.items()})


def defjvp_argnums(fun: Function, jvpmaker: Function) -> None:
    """`jvpmaker(argnums, tangents, ans, args, kwargs)` is the tangent of ans."""
    _state(primitive_jvps, fun, jvpmaker)


def defjvp_argnum(fun: Function, jvpmaker: Function) -> None:
    """`jvpmaker(argnum, g, ans, args, kwargs)` is the tangent of ans by one argument."""
    defjvp_argnums(fun, lambda argnums, gs, *call: jvpmaker(argnums[0], gs[0], *call))


def def_linear(fun: Function) -> None:
    """State that a function is linear in each of its arguments."""
    defjvp_argnum(fun, lambda k, g, ans, args, kwargs: fun(*args[:k], g, *args[k + 1 :], **kwargs))


def defjvp(fun: Function, *jvpfuns: Any, argnums: Any = None) -> None:
    """A rule `(g, ans, *args, **kwargs)` for each argument; "same": fun is linear in it."""
    rules = _by_argnum(jvpfuns, argnums)

    def maker(k: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        rule = _chosen("JVP", fun, rules, k)
        if rule == "same":
            return fun(*args[:k], g, *args[k + 1 :], **kwargs)
        return rule(g, ans, *args, **kwargs) if rule else vspace(ans).zeros()

    defjvp_argnum(fun, maker)


# Rules by the numbers of arguments, as deprecated methods of primitives make them of theirs.
_DEPRECATED: dict[str, Function] = {
    "defvjp": lambda rule, k: {
        k: lambda ans, *args, **kwargs: (
            lambda g: rule(g, ans, vspace(args[k]), vspace(g), *args, **kwargs)
        )
    },
    "defgrad": lambda maker, k: {k: maker},
    "defvjp_is_zero": lambda ks, _: dict.fromkeys(ks),
}


def _deprecated(fun: Function, name: str) -> Function:
    makers: dict[int, Any] = {}

    def define(given: Any = (0,), argnum: int = 0) -> None:
        warnings.warn(f"The {name} method is deprecated: use extend.defvjp", stacklevel=2)
        makers.update(_DEPRECATED[name](given, argnum))
        defvjp(fun, *makers.values(), argnums=[*makers])

    return define


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """The sum of x over what was broadcast: `target_meta` is `numpy.metadata` of the operand."""
    shape, ndim, _, is_complex = target_meta
    if np.shape(x) != shape:
        while np.ndim(x) > ndim:
            x = np.sum(x, axis=broadcast_idx)
        for axis, size in enumerate(shape):
            if size == 1:
                x = np.sum(x, axis=axis, keepdims=True)
    return x if is_complex or not is_complex_number(x) else np.real(x)


def unbroadcast_f(target: Any, f: Function) -> Function:
    """A pullback whose results are summed to the shape of an operand."""
    meta = np.shape(target), np.ndim(target), None, is_complex_number(target)
    return lambda g: unbroadcast(f(g), meta)


class VSpace:
    """The real vector space of a value: what can be added to it, and how."""

    mappings: dict[type, Function] = {}  # noqa: RUF012 - the registry
    iscomplex = False
    shape: Any = None

    def __init__(self, value: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{vars(self)}"

    @classmethod
    def register(cls, value_type: type, vspace_maker: Function | None = None) -> None:
        """Have values of a type in spaces of this class, or in what a function makes."""
        VSpace.mappings[value_type] = vspace_maker or cls

    def zeros(self) -> Any:
        raise NotImplementedError(repr(self))

    ones = randn = standard_basis = zeros

    def add(self, x: Any, y: Any) -> Any:
        return trees.mapped(lambda x, y: x + y, x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        return self.add(self.zeros() if x is None else x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return trees.mapped(lambda x: x * a, x)

    def covector(self, x: Any) -> Any:
        return trees.mapped(lambda x: np.conj(x) if np.iscomplexobj(x) else x, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        product = lambda x, y: np.real(np.dot(np.ravel(x), np.ravel(y)))  # noqa: E731
        return sum(trees.leaves(trees.mapped(product, self.covector(x), y)))


class ArrayVSpace(VSpace):
    """Arrays of real numbers of one shape."""

    units: tuple[complex, ...] = (1.0,)

    def __init__(self, value: Any) -> None:
        array = value if hasattr(value, "dtype") else onp.asarray(value)
        self.shape, self.dtype = array.shape, array.dtype

    size = property(lambda self: int(onp.prod(self.shape)) * len(self.units))
    ndim = property(lambda self: len(self.shape))

    def zeros(self) -> Any:
        return onp.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return onp.full(self.shape, sum(self.units), self.dtype)

    def randn(self) -> Any:
        parts = [unit * onp.random.randn(*self.shape) for unit in self.units]
        return onp.asarray(sum(parts)).astype(self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for place, unit in itertools.product(onp.ndindex(*self.shape), self.units):
            vector = self.zeros()
            vector[place] = unit
            yield vector


class ComplexArrayVSpace(ArrayVSpace):
    """Arrays of complex numbers: of twice as many real ones."""

    iscomplex = True
    units = (1.0, 1.0j)


def _of_each(method: str) -> Any:
    return lambda self: trees.mapped(lambda vs: getattr(vs, method)(), self.shape)


class ContainerVSpace(VSpace):
    """Containers: `shape` is the container of the spaces of what is in it."""

    zeros, ones, randn = map(_of_each, ("zeros", "ones", "randn"))
    size = property(lambda self: sum(vs.size for vs in trees.leaves(self.shape)))

    def __init__(self, value: Any) -> None:
        self.shape = trees.mapped(vspace, value)

    def standard_basis(self) -> Iterator[Any]:
        spaces = trees.leaves(self.shape)
        for k, vs in enumerate(spaces):
            for x in vs.standard_basis():
                parts = [x if k == i else v.zeros() for i, v in enumerate(spaces)]
                yield trees.Tree.flatten(self.shape)[1].unflatten(parts)


def _array_space(value: Any) -> ArrayVSpace:
    return (ComplexArrayVSpace if np.iscomplexobj(value) else ArrayVSpace)(value)


def vspace(value: Any) -> Any:
    """The vector space of a number, an array or a container of them."""
    make = VSpace.mappings.get(type(value))
    if make is None and not (isbox(value) or trees.is_container(value)):
        raise TypeError(
            f"Can't find vector space for value {value} of type {type(value)}. Valid "
            f"types are {[*VSpace.mappings]}"
        )
    return (make or (_array_space if isbox(value) else ContainerVSpace))(value)


for _type in (onp.ndarray, float, complex, *(onp.dtype(char).type for char in "efdgFDG")):
    VSpace.register(_type, _array_space)
VSpace.register(SparseObject, lambda x: x.vs)
