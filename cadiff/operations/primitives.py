"""Operations with derivatives of their own: what the table of operations does not hold.

A primitive wraps a function of plain floats and ndarrays. Rules say what its derivatives are, in
public functions of numbers, so that they can be differentiated again.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, TypeAlias

import numpy as np

from .. import binding
from ..binding import Dual, Var, carries, foreign_names
from . import arrays
from .derived_rules import (
    is_partial,
    pull_by_transposing,
    pull_partial,
    push_by_transposing,
    push_partial,
    stretches,
)
from .eager_cache import chooses_anew, entered
from .naming import name_for_pickle
from .patterns import Pattern
from .recorded_calls import Number, Numbers, Rule, as_list, unshared, without_constants
from .replayed import replaced

LONG_ARRAY = 512  # elements
CALLERS = {__file__}  # which call functions of primitives, as replays do as well


class _ComplexResultError(Exception):
    """A function of real numbers returned complex ones."""


def is_complex(x: Any) -> bool:
    """Whether it is a complex number, or an array of them, with derivatives or without."""
    if isinstance(x, np.ndarray):
        return bool(x.dtype.kind == "c")
    return isinstance(x, complex | np.complexfloating) or bool(binding.is_complex_number(x))


class primitive:  # noqa: N801 - a decorator
    """An operation of one's own.

    Parameters
    ----------
    function : callable
        Of plain floats and ndarrays; returns a float, an ndarray, or a tuple of them. Positional
        arguments may carry derivatives, if there are rules for them; keyword arguments may not.
        All may be complex. Rules are then as for real numbers where the function is analytic: a
        cotangent u of w = f(z) counts the real part of u dw, a tangent is dw itself.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> @cadiff.primitive
    ... def cube(x):
    ...     return x**3
    >>> cube.defpartials(lambda ans, x: 3 * x**2)
    >>> cadiff.grad(cube)(2.0)
    12.0
    """

    # The name that users know, where the function has another one.
    called = ""

    # For reductions of one array: `fold_in_c(*other arguments)` answers the axes, what to begin
    # with, and in C how an element x goes into the result r.
    fold_in_c: Callable[..., tuple[tuple[int, ...], str, str]] | None = None

    # For other calls with one array: `helper_in_c(shape, *other arguments)` answers a function
    # that files of C have, and the whole numbers that it takes behind the result and the array.
    helper_in_c: Callable[..., tuple[str, tuple[int, ...]]] | None = None

    # How a tape keeps a call.
    rule: type[Rule] = Rule

    # For rows of an array at an index, "take" or "add": what programs do by themselves.
    by_index: str | None = None
    goes_along = False  # an axis, which is told third: an index is of one number, not of a row

    # Arguments of which the rules ask nothing but the shape: they are given zeros.
    unread: tuple[int, ...] = ()

    # For many points at once: `over_lanes(which, *args, **kw)` computes the function for each
    # point; the arguments `which` and the result have an axis of points in front.
    over_lanes: Callable[..., Any] | None = None

    # The same by operations on arrays, for programs; not for entries, since it rounds otherwise.
    # They are faster than a call of Python, which copies operands and results; of short arrays, if
    # there is `over_lanes`, that is better. NotImplemented: this call cannot be written so.
    written_out: Callable[..., Any] | None = None

    # What programs call in C instead of the function, if that is no ufunc: one, or a function of
    # the arguments, of which only the shapes are to be asked, that answers one or None (see
    # `binding.native_of`).
    loop: Any = None

    # Which arguments it takes, or from which on; None: all of them.
    loop_takes: tuple[int, ...] | slice | None = None

    # Whether its values may differ from the function's in their last bits, or a function of the
    # arguments that answers it, which may not ask values: eager values do not, so only programs
    # have it.
    loop_rounds: bool | Callable[..., bool] = False

    # Whether its rules give zeros for zeros at all points, as elementwise ones do: because no
    # coefficient in them depends on values.
    absorbs = False

    # Outside of these bounds, a pair for each of them, an operand is for the function itself.
    loop_bounds: tuple[tuple[float, float], ...] = ()

    # Whether others are measured from the result, and what they come to often does not depend on
    # it, as on a maximum that is taken away before exponentials: programs look for that.
    is_level = False

    never_raises = False  # of arguments of the same shapes; elementwise ones do not, either

    # What answers calls with complex arguments or results, for those of users: see `pairs`.
    by_parts: Callable[..., Any]
    _gives_complex = False  # for real arguments

    calls_users = False  # whether rules of the package's own call functions of users

    # A maker for the first arguments taken together, whose cotangents share work: its pull answers
    # those of all of them.
    together: Callable[..., Callable[[Any], Sequence[Any]]] | None = None

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"primitive takes a function, not {type(function).__name__}")
        functools.update_wrapper(self, function)
        if not hasattr(function, "__module__"):  # NumPy's ufuncs say so from 2.2 on
            self.__module__ = type(function).__module__
        self.function = function
        self.place = ""  # its name in its module, if that is not the function's
        # Whether the package itself has written the rules; and functions of nothing but arguments.
        module = str(getattr(function, "__module__", ""))
        self._is_own = module.startswith("cadiff.")
        self._enters = module.startswith(("cadiff.numpy.", "cadiff.scipy.", "cadiff.nn"))
        self.pulls: dict[int, Callable[..., Any] | None] = {}
        self.pushes: dict[int, Callable[..., Any] | None] = {}
        self.patterns: dict[int, Pattern] = {}
        self.refusals: dict[int, Callable[[], None]] = {}  # of reverse rules, asked at the call

    # --- rules

    def defvjp(
        self, *makers: Callable[..., Any] | None, argnums: int | Sequence[int] | None = None
    ) -> None:
        """Reverse rules, one for each argument; None where the derivative is 0.

        `maker(ans, *args, **kw)` returns `pull(g)`, which maps the cotangent of ans, of its shape,
        to that of the argument, of the argument's shape. A Jacobian asks the maker once, and pull
        for each row. Forward mode follows by transposing: g may then be a number with derivatives.
        """
        self._define(self.pulls, makers, argnums)
        self._note_refusals()

    def defjvp(
        self, *rules: Callable[..., Any] | None, argnums: int | Sequence[int] | None = None
    ) -> None:
        """Forward rules, one for each argument; None where the derivative is 0.

        `rule(g, ans, *args, **kw)` maps the tangent of the argument to that of ans. Reverse mode
        follows by transposing: g may then be a number with derivatives. A Jacobian with fewer
        columns than rows asks the rule once for each column.
        """
        self._define(self.pushes, rules, argnums)

    def defpartials(
        self, *rules: Callable[..., Any] | None, argnums: int | Sequence[int] | None = None
    ) -> None:
        """Elementwise partials, one for each argument; None where the derivative is 0.

        `rule(ans, *args, **kw)` is a partial. They give both modes; arguments are broadcast, and
        an exact zero absorbs.
        """
        for k, rule in self._by_argument(rules, argnums):
            if rule is None:
                self.pushes[k] = self.pulls[k] = None
                continue
            self.pushes[k] = functools.partial(push_partial, self, rule)
            pull = functools.partial(pull_partial, self, rule, k)
            if hasattr(rule, "refuse"):  # at the call already, not in the sweep
                pull.refuse = rule.refuse  # type: ignore[attr-defined]
            self.pulls[k] = pull
        self._note_refusals()

    def _note_refusals(self) -> None:
        asked = {k: getattr(rule, "refuse", None) for k, rule in self.pulls.items()}
        self.refusals = {k: refuse for k, refuse in asked.items() if refuse is not None}

    def defpattern(self, *patterns: Pattern, argnums: int | Sequence[int] | None = None) -> None:
        """Which numbers of the result depend on which of each argument.

        Matrices of programs, sparse ones above all, leave out what does not.

        A pattern is stated in letters, ``"argument->result"``, as for `numpy.einsum`: a number of
        the result depends on those of the argument that have the same index wherever both have the
        same letter. ``"...->..."`` is elementwise, ``"ij->i"`` a reduction of each row,
        ``"...ij->...kl"`` the inverse of each matrix in a stack; several results stand apart by
        commas. Or it is the structure of the matrix of derivatives, with a row for each number of
        the result and a column for each of the argument: a matrix of scipy.sparse, a 2-D array of
        bools, or a pair (rows, columns). Or it is a function `pattern(ans, *args, **kw)` that
        returns one of these.

        What is stated has to hold whatever the numbers are that are differentiated: an entry that
        can be other than 0 anywhere belongs to the pattern. `defpartials` states that of
        elementwise functions. Without a pattern it is read off the reverse rule; where that cannot
        be, all depends on all, and there is a warning if that makes most of the entries of a
        sparse matrix, and 100,000 or more.
        """
        self._define(self.patterns, patterns, argnums, "pattern")

    def _define(
        self,
        table: dict[int, Any],
        rules: Sequence[Any],
        argnums: int | Sequence[int] | None,
        what: str = "rule",
    ) -> None:
        if len(rules) == 1 and isinstance(argnums, Sequence):
            rules = [rules[0]] * len(argnums)
        table.update(self._by_argument(rules, argnums, what))

    def _by_argument(
        self, rules: Sequence[Any], argnums: int | Sequence[int] | None, what: str = "rule"
    ) -> list[tuple[int, Any]]:
        """Rules, or patterns, with the positions of their arguments."""
        for rule in rules:
            if what == "rule" and rule is not None and not callable(rule):
                raise TypeError(
                    f"the primitive {self._name}: a rule is a function, or None where the "
                    f"derivative is 0, not {type(rule).__name__}"
                )
        if argnums is None:
            argnums = range(len(rules))
        positions = list(argnums) if isinstance(argnums, Sequence) else [argnums]
        for k in positions:
            if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 0:
                raise TypeError(
                    f"the primitive {self._name}: argnums is a tuple of positions, ints from 0 "
                    f"on, not {argnums!r}"
                )
        if len(positions) != len(rules):
            raise ValueError(
                f"the primitive {self._name}: there are {len(rules)} {what}s for "
                f"{len(positions)} arguments, argnums={argnums!r}"
            )
        code = getattr(self.function, "__code__", None)
        if code is not None and not code.co_flags & inspect.CO_VARARGS:
            n = code.co_argcount
            if any(k >= n for k in positions):
                raise ValueError(
                    f"the primitive {self._name} takes {n} arguments by position, but there is a "
                    f"{what} for argument {max(positions)}, counted from 0"
                )
        return list(zip(map(int, positions), rules, strict=True))

    def _puller(self, k: int, ans: Any, args: Sequence[Any], kw: dict[str, Any]) -> Any:
        """What the reverse rule of an argument makes for one call."""
        rule: Any = self._pull_rule(k)
        try:
            pull = rule(ans, *args, **kw)
        except TypeError as error:
            form = f"the reverse rule of argument {k} is called as maker(ans, *args, **kw)"
            self._check_call(error, form, 1 + len(args))
            raise
        if not callable(pull):
            raise TypeError(
                f"the primitive {self._name}: a reverse rule returns a function of the cotangent, "
                f"that of argument {k} returned {type(pull).__name__}"
                f"{foreign_names.of_result(pull)}"
            )
        return pull

    def _pulled(self, k: int, pull: Callable[[Any], Any], g: Any, of: Number) -> Number:
        """The cotangent of an argument, by what its reverse rule made."""
        try:
            cotangent = pull(g)
        except TypeError as error:
            form = f"what the reverse rule of argument {k} returns is called as pull(g)"
            self._check_call(error, form, 1)
            raise
        return self._like(cotangent, of, f"the cotangent of argument {k}")

    def _tangents(
        self,
        k: int,
        rule: Callable[..., Any],
        g: Any,
        ans: Any,
        results: Sequence[Number],
        args: Sequence[Any],
        kw: dict[str, Any],
    ) -> Numbers:
        """The tangents of all results, by the forward rule of an argument."""
        try:
            tangents = as_list(rule(g, ans, *args, **kw))
        except TypeError as error:
            form = f"the forward rule of argument {k} is called as rule(g, ans, *args, **kw)"
            self._check_call(error, form, 2 + len(args))
            raise
        what = f"the tangent by argument {k}"
        if len(tangents) != len(results):
            raise ValueError(
                f"the primitive {self._name} returns {len(results)} results, but the forward rule "
                f"of argument {k} {len(tangents)} tangents: it returns a tuple of one for each"
            )
        return [self._like(t, x, what) for t, x in zip(tangents, results, strict=True)]

    def _check_call(self, error: TypeError, form: str, n: int) -> None:
        """Say how a rule is called, if it does not take the n arguments that it was given.

        What a rule raises by itself has a traceback that goes on into the rule.
        """
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            count = f"{n} argument{'s' if n > 1 else ''}"
            raise TypeError(
                f"the primitive {self._name}: {form}, here with {count}, but {error}"
            ) from error

    def _push_rule(self, k: int) -> Callable[..., Any] | None:
        """The forward rule of an argument, or what follows from its reverse rule."""
        if k in self.pushes:
            return self.pushes[k]
        if k in self.pulls:
            return functools.partial(push_by_transposing, self, k) if self.pulls[k] else None
        raise self._missing(k, "forward")

    def _pull_rule(self, k: int) -> Callable[..., Any] | None:
        """The reverse rule of an argument, or what follows from its forward rule."""
        if k in self.pulls:
            return self.pulls[k]
        if k in self.pushes:
            return functools.partial(pull_by_transposing, self, k) if self.pushes[k] else None
        raise self._missing(k, "reverse")

    def _goes_forward(self, k: int) -> bool:
        """Whether there is a forward rule, but not of partials that a reverse rule replaces."""
        push, pull = self.pushes.get(k), self.pulls.get(k)
        if push is None:
            return k in self.pushes and pull is None
        return not is_partial(push) or is_partial(pull)

    def _loop(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Sequence[int]]:
        """What carries a call out in C, and which arguments it takes: see `loop`."""
        loop = self.function if self.loop is None else self.loop
        if isinstance(loop, np.ufunc):
            loop = None if kwargs else loop
        elif callable(loop):
            loop = None if loop is self.function else loop(*args, **kwargs)
        takes = slice(None) if self.loop_takes is None else self.loop_takes
        return loop, range(len(args))[takes] if isinstance(takes, slice) else takes

    # --- calls

    @functools.cached_property
    def _entered(self) -> binding.Entered:
        return entered(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs and carries(kwargs):
            names = [name for name, value in kwargs.items() if carries(value)]
            raise TypeError(
                f"{self._name}: keyword arguments are not differentiated, but {', '.join(names)} "
                "carries a derivative: pass it by position, or cadiff.value of it"
            )
        tag = binding.tag_of_arguments(args)
        if tag == -1:
            apart = binding.is_differentiating()
            return self._constant(args, kwargs) if apart else self.function(*args, **kwargs)
        if binding.is_guarding():  # rules are called later, with what is given here
            args, kwargs = replaced(args), replaced(kwargs)
            binding.note_warnings(self._name)
        if tag is None:
            if not self._is_own and any(map(binding.is_complex_number, args)):
                return self.by_parts(args, kwargs)
            args = tuple(self._number(k, arg) for k, arg in enumerate(args))
            tag = binding.highest_tag(list(args))
        if self.written_out is not None and tag == 0 and chooses_anew():
            pays = self.over_lanes is None or _are_long(args)
            output = self.written_out(*args, **kwargs) if pays else NotImplemented
            if output is not NotImplemented:
                return output
        if self._gives_complex:
            return self.by_parts(args, kwargs)
        if self._enters and tag == 0:
            output = self._entered((*args, *kwargs.values()), tuple(kwargs))
            if output is not NotImplemented:
                return output
        try:
            return self._push(args, kwargs, tag) if tag > 0 else self._record(args, kwargs)
        except _ComplexResultError:
            self._gives_complex = True
            return self.by_parts(args, kwargs)

    def _constant(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What no derivative depends on: programs look for it by the name of this method."""
        return self._plain(args, kwargs)

    def _plain(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What the function returns for plain numbers, as it does outside of differentiations."""
        with binding.OutsideDifferentiation():
            ans = self.function(*args, **kwargs)
            return without_constants(ans) if isinstance(ans, (tuple, Var, Dual)) else ans

    def __reduce__(self) -> Any:
        """By name, as functions are; for cloudpickle with its function and its rules."""
        name = self.place or str(getattr(self.function, "__qualname__", self._name))
        return name_for_pickle(self, name, name) or super().__reduce__()

    @property
    def _name(self) -> str:
        return self.called or getattr(self.function, "__name__", repr(self.function))

    def _number(self, k: int, arg: Any) -> Any:
        """Lists and object arrays with numbers in them as arrays of numbers."""
        if isinstance(arg, (Var, Dual)) or not carries(arg):
            return arg
        if isinstance(arg, (list, tuple, np.ndarray)):
            return arrays.as_array(arg)
        if isinstance(arg, binding.Complex):
            raise TypeError(
                f"{self._name} takes real numbers with derivatives, but its argument {k} is "
                "complex: pass z.real and z.imag"
            )
        raise TypeError(
            f"the primitive {self._name} is differentiated by numbers and arrays, but something "
            f"in its argument {k}, a {type(arg).__name__}, carries a derivative: pass that as an "
            "argument of its own, or cadiff.value of it"
        )

    def _real(self, x: Any, what: str) -> Number:
        """A result of the function or of a rule: a float, a float64 array, a Var or a Dual."""
        if type(x) is float or binding.is_real_array(x) or isinstance(x, (Var, Dual)):
            return x
        if type(x) is np.float64:
            return float(x)
        array = arrays.as_array(x)
        if isinstance(array, (Var, Dual)):
            return array
        if array.dtype.kind not in "biuf":
            kind = type(x).__name__ if array.ndim == 0 else f"an array of dtype {array.dtype}"
            raise TypeError(
                f"the primitive {self._name}: {what} is no real number and no array of them, but "
                f"{kind}{foreign_names.of_result(x)}"
            )
        return array.astype(np.float64, copy=False) if array.ndim else float(array)

    def _results(self, ans: Any) -> list[Number]:
        """What the function returned, one or several."""
        if type(ans) is float or binding.is_real_array(ans):
            return [ans]
        if type(ans) is np.float64:
            return [float(ans)]
        results = as_list(ans)
        if not self._is_own and any(map(is_complex, results)):
            raise _ComplexResultError
        return [
            x if binding.is_single(x) else self._real(x, "what the function returned")
            for x in results
        ]

    def _like(self, derivative: Any, of: Number, what: str) -> Number:
        """A derivative in the shape of what it belongs to; one number may stand for all."""
        if binding.is_like(derivative, of):
            return derivative
        if type(derivative) is type(of) is np.float64:
            return float(derivative)
        shape = binding.shape(of)
        derivative = self._real(derivative, what)
        actual = binding.shape(derivative)
        if actual == shape:
            return derivative
        if math.prod(actual) != 1 and not stretches(actual, shape):
            raise ValueError(
                f"the primitive {self._name}: {what} has the shape {actual}, where {shape} was "
                "expected"
            )
        if len(actual) > len(shape):
            derivative = arrays.reshape(derivative, ())
        return arrays.broadcast_to(derivative, shape)

    def _pattern(self, k: int) -> Pattern:
        """The pattern of an argument, or that of elementwise partials; None: it is not stated."""
        return self.patterns.get(k, "...->..." if is_partial(self.pulls.get(k)) else None)

    @property
    def _is_elementwise(self) -> bool:
        """Whether its rules are partials: then arguments are broadcast."""
        rules = [rule for rule in self.pulls.values() if rule is not None]
        return bool(rules) and all(map(is_partial, rules))

    def _broadcast_over_lanes(self, which: Sequence[int], /, *args: Any, **kwargs: Any) -> Any:
        """An elementwise function of arguments, some of which have an axis of points in front."""
        ndim = max(np.ndim(x) + (k not in which) for k, x in enumerate(args))
        spread = [
            x.reshape(x.shape[:1] + (1,) * (ndim - x.ndim) + x.shape[1:]) if k in which else x
            for k, x in enumerate(args)
        ]
        return self.function(*spread, **kwargs)

    def _missing(self, k: int, mode: str) -> TypeError:
        how = "defvjp" if mode == "reverse" else "defjvp"
        return TypeError(
            f"the primitive {self._name} has no {mode}-mode rule for its argument {k}, which "
            f"carries a derivative: give it one with {how}, or pass cadiff.value of the argument"
        )

    def _push(self, args: tuple[Number, ...], kwargs: dict[str, Any], tag: int) -> Any:
        """Forward mode: the arguments of the highest tag are taken apart."""
        which = [k for k, arg in enumerate(args) if binding.tag_of(arg) == tag]
        for k in which:
            self._push_rule(k)  # if there is none, before the function is called
        pairs = [tuple(map(without_constants, binding.dual_components(args[k]))) for k in which]
        primals = list(args)
        for k, (primal, _) in zip(which, pairs, strict=True):
            primals[k] = primal
        ans = self(*primals, **kwargs)
        lanes = binding.lanes_of([p for p, _ in pairs], [t for _, t in pairs])
        if self.refusals:
            moving = [
                k not in self.refusals or _moves(t) for k, (_, t) in zip(which, pairs, strict=True)
            ]
            which, pairs = list(compress(which, moving)), list(compress(pairs, moving))

        results = self._results(ans)
        answer, inputs = binding.ruled(ans), [binding.ruled(x) for x in primals]

        def along(lane: int) -> list[Number]:
            directions = [t if lane < 0 else binding.lane_of(p, t, lane) for p, t in pairs]
            return self._pushed(which, directions, answer, results, inputs, kwargs)

        with binding.OutsideDifferentiation(tag):
            if lanes < 0:
                tangents = along(-1)
            else:
                columns = [along(lane) for lane in range(lanes)]
                tangents = [
                    binding.join_lanes([column[i] for column in columns], a)
                    for i, a in enumerate(results)
                ]
        pushed = zip(map(unshared, results), map(unshared, tangents), strict=True)
        duals = [binding.seen(binding.make_dual(a, t, tag), self._name, *args) for a, t in pushed]
        return tuple(duals) if isinstance(ans, tuple) else duals[0]

    def _pushed(
        self,
        which: list[int],
        tangents: Numbers,
        answer: Any,
        results: Numbers,
        inputs: Numbers,
        kwargs: dict[str, Any],
    ) -> Numbers:

        def sums() -> list[Number]:
            total: list[Number] | None = None
            for k, tangent in zip(which, tangents, strict=True):
                rule = self._push_rule(k)
                if rule is None:
                    continue
                with binding.WarningsOff():
                    g = binding.ruled(tangent)
                    pushed = self._tangents(k, rule, g, answer, results, inputs, kwargs)
                total = pushed if total is None else [x + y for x, y in zip(total, pushed)]  # noqa: B905
            return [np.zeros(binding.shape(a)) for a in results] if total is None else total

        return self._taken([*tangents, *results, *inputs], sums)

    def _taken(
        self, operands: list[Any], compute: Callable[[], list[Any]], is_inner: bool = False
    ) -> list[Any]:
        """What rules compute: it has no derivatives by values that rules of users' take plainly.

        Those of the package take values for what they choose by.
        """
        if self._is_own:
            return compute()
        return binding.as_taken(self._name, operands, compute, is_inner)

    def _record(self, args: tuple[Number, ...], kwargs: dict[str, Any]) -> Any:
        """Reverse mode: what a sweep needs to know is left on the tape."""
        active = which = binding.active_arguments(args)
        rules = [rule for rule in map(self._pull_rule, active) if rule is not None]
        # To be replayed it is a step of the program, of whatever a replay may find changed.
        is_step = binding.is_guarding() and (len(rules) > 0 or binding.depends(args))
        if is_step:
            by_index = self.by_index is not None
            if by_index:  # which programs do by themselves, of constants
                args = tuple(binding.constant_array(x) if _is_floats(x) else x for x in args)
            which = [
                k
                for k, arg in enumerate(args)
                if k in active or binding.depends(arg) or (by_index and isinstance(arg, Var))
            ]
        values = binding.plain_arguments(args)
        with binding.WarningsOff():
            ans = self._plain(values, kwargs)
        if not rules and not is_step:
            return ans
        if not is_step:
            for k, refuse in self.refusals.items():
                if k in active:
                    refuse()
        kept = [
            arg.copy() if isinstance(arg, np.ndarray) else None if k in which else values[k]
            for k, arg in enumerate(args)
        ]
        call = self.rule(self, kept, kwargs, which, isinstance(ans, tuple))
        results = self._results(ans)
        if is_step:
            call.note_point([values[k] for k in which], results, [k not in active for k in which])
        outs = binding.record_rule(call, [args[k] for k in which], results)
        return tuple(outs) if isinstance(ans, tuple) else outs[0]


def _is_floats(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype.kind == "f"


def stated(called: str = "", **attributes: Any) -> Callable[[Callable[..., Any]], primitive]:
    """The decorator `primitive`, with what users call the function, and further attributes."""

    def decorate(function: Callable[..., Any]) -> primitive:
        made = primitive(function)
        vars(made).update(attributes, called=called)
        return made

    return decorate


def curried(rule: Callable[..., Any]) -> Callable[..., Callable[[Any], Any]]:
    """A maker for `defvjp`, of a function that is given the cotangent last."""
    return functools.partial(functools.partial, rule)


def linear_in(f: Callable[..., Any], k: int) -> Callable[..., Any]:
    """The forward rule of an argument in which a function is linear."""
    return lambda g, ans, *args, **how: f(*args[:k], g, *args[k + 1 :], **how)


def transposes(f: primitive, other: primitive) -> None:
    """State the rules of two linear functions of one argument, each the adjoint of the other."""
    for here, there in ((f, other), (other, f)):
        here.defvjp(lambda ans, x, there=there, **how: lambda g: there(g, **how))
        here.defjvp(lambda g, ans, x, here=here, **how: here(g, **how))


def _moves(tangent: Any) -> bool:
    """Whether a tangent is any other than that of a constant."""
    parts = binding.dual_components(tangent) if isinstance(tangent, Dual) else tangent
    if isinstance(parts, tuple):
        return any(map(_moves, parts))
    return carries(parts) or bool(np.any(parts))


def _are_long(args: Sequence[Any]) -> bool:
    """Whether there is a long array among them.

    Of short ones a call for many points at once (`over_lanes`) is better.
    """
    arrays = [arg for arg in args if isinstance(arg, (Var, np.ndarray))]
    return any(math.prod(binding.shape(arg)) >= LONG_ARRAY for arg in arrays)


Rules: TypeAlias = Callable[..., Any] | Sequence[Callable[..., Any] | None] | None


def custom(
    function: Callable[..., Any] | None = None,
    *,
    vjp: Rules = None,
    jvp: Rules = None,
    partials: Rules = None,
    pattern: Pattern | list[Pattern] = None,
) -> Any:
    """A function with derivatives of one's own: a `primitive` and its rules in one step.

    For derivatives that are known better than those of the steps, or to be others: where a formula
    cancels or overflows, or a gradient is to be clipped.

    Parameters
    ----------
    function : callable
        Of plain floats and ndarrays. Without it, `custom(...)` is a decorator.
    vjp, jvp, partials : callable, or a sequence with one for each argument
        As for `primitive.defvjp`, `defjvp` and `defpartials`. One of them is enough.
    pattern : str, callable, matrix, or a list with one for each argument
        As for `primitive.defpattern`: which numbers of the result depend on which of an argument.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> @cadiff.custom(partials=lambda ans, x: cadiff.expit(x))
    ... def softplus(x):
    ...     return np.logaddexp(0.0, x)
    >>> cadiff.grad(softplus)(0.0)
    0.5
    >>> @cadiff.custom(vjp=lambda ans, x: lambda g: cadiff.clip(g, -1.0, 1.0))
    ... def clipped(x):
    ...     return x
    >>> cadiff.grad(lambda x: 100.0 * clipped(x))(3.0)
    1.0
    """
    if function is None:
        return functools.partial(custom, vjp=vjp, jvp=jvp, partials=partials, pattern=pattern)
    if vjp is None and jvp is None and partials is None:
        raise TypeError("custom wants a rule: vjp, jvp or partials")
    operation = primitive(function)
    pairs = ((operation.defpartials, partials), (operation.defvjp, vjp), (operation.defjvp, jvp))
    for define, rules in pairs:
        if rules is not None:
            define(*([rules] if callable(rules) else rules))
    if pattern is not None:
        operation.defpattern(*(pattern if isinstance(pattern, list) else [pattern]))
    return operation


def lanes_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """For `over_lanes`: a function of arrays that may have further axes behind their own."""

    def over(which: Sequence[int], *args: Any) -> Any:
        n = len(args[which[0]])
        moved = [
            np.moveaxis(x, 0, -1) if k in which else np.broadcast_to(x[..., None], (*x.shape, n))
            for k, x in enumerate(args)
        ]
        result = function(*map(np.ascontiguousarray, moved))
        rows = [np.moveaxis(x, -1, 0) for x in as_list(result)]
        return tuple(rows) if isinstance(result, tuple) else rows[0]

    return over


def after_lanes(axis: Any, ndim: int) -> Any:
    """Axes of arrays of so many axes, counted in a stack of them: None stands for all."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, tuple):
        return tuple(after_lanes(k, ndim) for k in axis)
    return axis + 1 if axis >= 0 else axis
