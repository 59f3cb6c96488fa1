"""Functions with derivatives of their own: `custom_jvp` and `custom_vjp`, as primitives of cadiff.

A primitive is made of each call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

from ...binding import carries, is_guarding
from ..calls import Call, is_running, running
from .arrays import ARRAYS, given_back
from .tree_util import PyTreeDef

Function = Callable[..., Any]


def _is_number(x: Any) -> bool:
    return isinstance(x, (*ARRAYS, float, complex)) and np.result_type(x).kind in "fc"


class _Call(Call):
    """A call, of which some arguments are fixed: rules get these first."""

    def __init__(self, nondiff: Sequence[int], args: Sequence[Any]) -> None:
        self.fixed = {k: args[k] for k in nondiff}
        given = tuple(x for k, x in enumerate(args) if k not in self.fixed)
        super().__init__(PyTreeDef, given, _is_number)

    def primals(self, point: Any) -> Any:
        return given_back(self.args(point))

    def tangents(self, t: Any) -> Any:
        """Tangents of the same structure: zeros for what is no such number."""
        return given_back(self.args(t, [onp.zeros(np.shape(x))[()] for x in self.leaves]))

    def all_args(self, point: Any) -> list[Any]:
        """All arguments, in the order of the call."""
        others = iter(self.primals(point))
        n = len(self.fixed) + len(self.tree.parts)
        return [self.fixed[k] if k in self.fixed else next(others) for k in range(n)]


class _Custom:
    """What both decorators have in common: calls with arguments that are not differentiated by."""

    def __init__(self, fun: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun, self.nondiff = fun, nondiff_argnums
        self.program = cadiff.compile(fun)
        self.rules: list[Function] = []
        self.__wrapped__ = fun, self.rules  # where programs look for what they read

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        return self if thing is None else functools.partial(self, thing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.rules:
            name = self.fun.__name__
            raise AttributeError(
                f"no derivative of {name} is stated: do so with {name}.defjvp or its like"
            )
        if kwargs:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        if kwargs or not carries(args):
            return self.fun(*args, **kwargs)
        call = _Call(self.nondiff, args)
        if not carries(call.numbers):
            return self.fun(*args)
        fun = self.program if is_guarding() else self.fun  # each replay of a program calls it
        operation = cadiff.primitive(lambda point: call.flat(fun(*call.all_args(point))))
        self.define(operation, call)
        return call.whole(operation(call.point))

    def define(self, operation: Any, call: _Call) -> None:
        """State the derivatives of a primitive that is made of a call."""
        raise NotImplementedError

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

    def define(self, operation: Any, call: _Call) -> None:
        """A tangent by the rule, and a cotangent by the rule transposed."""

        def push(t: Any, ans: Any, point: Any) -> Any:
            result = self.rules[0](*call.fixed.values(), call.primals(point), call.tangents(t))
            return call.flat(self.checked(result, 2, "the rule")[1])

        def pull(ans: Any, point: Any) -> Function:
            if is_running(self):
                return cadiff.vjp(lambda x: call.flat(self.fun(*call.all_args(x))), point)[1]
            zero = onp.zeros(np.shape(point))[()]
            transposed = cadiff.vjp(lambda t: push(t, ans, point), zero)[1]

            def of(g: Any) -> Any:
                with running(self):
                    return transposed(g)

            return of

        operation.defjvp(push)
        operation.defvjp(pull)


class custom_vjp(_Custom):  # noqa: N801 - a decorator
    """A function whose cotangents `f.defvjp(fwd, bwd)` states."""

    def defvjp(self, fwd: Function, bwd: Function, **_: Any) -> None:
        """`fwd(*args)` gives value and residuals, `bwd(*nondiff, residuals, g)` cotangents."""
        self.rules[:] = fwd, bwd

    def define(self, operation: Any, call: _Call) -> None:
        """A cotangent by `bwd` for what `fwd` keeps."""
        fwd, bwd = self.rules

        def pull(ans: Any, point: Any) -> Function:
            _, residuals = self.checked(fwd(*call.all_args(point)), 2, "fwd")

            def of(g: Any) -> Any:
                found = bwd(*call.fixed.values(), residuals, call.whole(g))
                return call.cotangents(self.checked(found, len(call.tree.parts), "bwd"))

            return of

        operation.defvjp(pull)
