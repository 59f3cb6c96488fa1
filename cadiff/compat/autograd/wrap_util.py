"""Operators on functions of one argument, as operators on functions of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def get_name(f: Any) -> str:
    return str(getattr(f, "__name__", "[unknown name]"))


def get_doc(f: Any) -> str:
    return str(getattr(f, "__doc__", "") or "")


def wraps(
    fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Function], Function]:
    """A decorator that names a function after another."""

    def decorate(f: Function) -> Function:
        f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **kwargs)
        return f

    return decorate


def named_after(op: Any, fun: Any, argnum: Any) -> Callable[[Function], Function]:
    """A decorator for what an operator makes of a function."""
    doc = "    {op} of function {fun} with respect to argument number {argnum}."
    name = "{op}_of_{fun}_wrt_argnum_{argnum}"
    return wraps(fun, name, doc, op=get_name(op), argnum=argnum)


def point_of(args: Any, argnum: Any) -> Any:
    """The arguments that are differentiated: one, or a tuple of several."""
    return args[argnum] if isinstance(argnum, int) else tuple(args[k] for k in argnum)


def unary_to_nary(unary_operator: Function) -> Function:
    """Of `operator(f, x)`: `operator(fun, argnum)(*args)`; several argnums: x is a tuple."""

    @wraps(unary_operator)
    def nary_operator(fun: Function, argnum: Any = 0, *how: Any, **named: Any) -> Function:
        @named_after(unary_operator, fun, argnum)
        def nary(*args: Any, **kwargs: Any) -> Any:
            @wraps(fun)
            def unary(x: Any) -> Any:
                values = list(args)
                places = [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x, strict=True)
                for k, value in places:
                    values[k] = value
                return fun(*values, **kwargs)

            return unary_operator(unary, point_of(args, argnum), *how, **named)

        return nary

    return nary_operator
