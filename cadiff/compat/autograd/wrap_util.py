"""Operators on functions of one argument, as operators on functions of several."""

from collections.abc import Callable
from typing import Any

from ..trees import Function

Decorator = Callable[[Function], Function]


def get_name(f: Any) -> str:
    return str(getattr(f, "__name__", "[unknown name]"))


def wraps(fun: Any, name: str = "{fun}", doc: str = "{doc}", **names: Any) -> Decorator:
    """A decorator that names a function after another."""
    names |= {"fun": get_name(fun), "doc": getattr(fun, "__doc__", "") or ""}

    def decorate(f: Function) -> Function:
        f.__name__, f.__doc__ = name.format(**names), doc.format(**names)
        return f

    return decorate


def named_after(op: Any, fun: Any, argnum: Any) -> Decorator:
    """A decorator for what an operator makes of a function."""
    doc = "    {op} of function {fun} with respect to argument number {argnum}."
    return wraps(fun, "{op}_of_{fun}_wrt_argnum_{argnum}", doc, op=get_name(op), argnum=argnum)


def point_of(args: Any, argnum: Any) -> Any:
    """The arguments that are differentiated: one, or a tuple of several."""
    return args[argnum] if isinstance(argnum, int) else tuple(args[k] for k in argnum)


def subvals(x: Any, ivs: Any) -> tuple[Any, ...]:
    """A tuple with other values at some places: pairs of a place and a value."""
    values = list(x)
    for i, value in ivs:
        values[i] = value
    return tuple(values)


def unary_to_nary(unary_operator: Function) -> Function:
    """Of `operator(f, x)`: `operator(fun, argnum)(*args)`; several argnums: x is a tuple."""

    @wraps(unary_operator)
    def nary_operator(fun: Function, argnum: Any = 0, *how: Any, **named: Any) -> Function:
        @named_after(unary_operator, fun, argnum)
        def nary(*args: Any, **kwargs: Any) -> Any:
            @wraps(fun)
            def unary(x: Any) -> Any:
                places = [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x, strict=True)
                return fun(*subvals(args, places), **kwargs)

            return unary_operator(unary, point_of(args, argnum), *how, **named)

        return nary

    return nary_operator
