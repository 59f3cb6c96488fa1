"""Operations on complex numbers with derivatives of their own.

Such an operation is a primitive that has one real operand, or result, for each complex array, with
an axis of length 2 in front: real and imaginary part.

Rules are written in complex numbers, with adjoints (conjugated transposes) where those for real
numbers have transposes. A cotangent g of w = f(z) is such that the real part of conj(g) dw is the
change of the result; its two parts are the cotangents of those of w, so that nothing is conjugated
on the way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import Var, carries, whole_parts_of
from . import arrays
from .derived_rules import is_partial, summed_to
from .primitives import curried, is_complex, primitive
from .recorded_calls import Asked, Numbers, Rule, as_list


def pair(z: Any) -> Any:
    """A complex array, or a real one, as a real one of both parts."""
    if isinstance(z, np.ndarray):
        return binding.pair_of_array(z)
    both = binding.pair_of_joined(z)
    if both is not None:
        return both
    parts = list(whole_parts_of(z))
    shape = binding.shape(z)
    if not shape:
        return binding.numbers_array(parts, (2,))
    if any(map(binding.tag_of, parts)) or not binding.active_arguments(tuple(parts)):
        return arrays.stack(parts)
    return arrays.as_rows(parts, shape)


def unpaired(both: Any) -> Any:
    """The complex array, or number, of a real one of both parts."""
    if isinstance(both, np.ndarray):
        return binding.array_of_pair(both)
    return binding.complex_of_pair(both)


COMPLEX = (False,)  # one result, which is complex
OF_PYTHON = (complex, float, int, bool)  # which go along with any precision


def _of_types(args: Sequence[Any]) -> tuple[Any, ...]:
    """All of them as pairs: numbers of Python's in the precision of the others."""
    pairs = tuple(map(pair, args))
    goes_along = [type(x) in OF_PYTHON for x in args]
    others = [p for p, goes in zip(pairs, goes_along, strict=True) if not goes]
    if len(others) == len(pairs) or not others or not all(map(binding.is_single, others)):
        return pairs
    zipped = zip(pairs, goes_along, strict=True)
    return tuple(binding.narrowed(p) if goes else p for p, goes in zipped)


def _typed(both: Any) -> Any:
    """The plain complex array of a pair, or a number of NumPy's, which has a precision."""
    z = unpaired(both)
    return np.complex128(z) if type(z) is complex else z


class _Call(Rule):
    """One call, as the tape keeps it."""

    def compute_results(self, operands: Numbers) -> Numbers:
        self._kept = None
        args = self._with(operands)
        return as_list(self.operation.function(*args, **self.kwargs))

    def pull_cotangents(
        self, operands: Numbers, outs: Numbers, cotangents: Numbers, wanted: Asked = None
    ) -> Numbers:
        """A cotangent for each operand: of one alone in fewer steps."""
        if len(operands) > 1 or self.several or self.passive[0]:
            return super().pull_cotangents(operands, outs, cotangents, wanted)
        maker = self.operation.pulls[self.which[0]]
        with binding.WarningsOff():
            pull: Any = maker and maker(outs[0], *self._inputs(operands), **self.kwargs)
            return [pull and pull(cotangents[0])]


class on_pairs:  # noqa: N801 - a decorator
    """A function of complex numbers, with rules: what `primitive` is for real ones.

    function: of plain arguments, of which those that may carry derivatives stand first, and are
    all complex. It returns an array, or a tuple of them, each complex or, where `real` says so,
    real. Keyword arguments are not differentiated.
    """

    def __init__(self, function: Callable[..., Any], real: Sequence[bool] = COMPLEX) -> None:
        self.function = function
        self.real = tuple(real)

        @functools.wraps(function)
        def on_tape(*args: Any, **kwargs: Any) -> Any:
            return self._apply(*args, **kwargs)

        self.primitive = primitive(on_tape)
        self.primitive.rule = _Call
        self.stands_at(on_tape.__module__, on_tape.__qualname__)
        self.__name__: str = getattr(function, "__name__", "")
        self.primitive.called = self.__name__

    def stands_at(self, module: str, name: str) -> None:
        """Say where pickle finds it: a module, and the name there."""
        self.__module__ = self.primitive.__module__ = module
        self.__qualname__ = name
        self.primitive._is_own = True
        self.primitive.function.__qualname__ = f"{name}.primitive"

    def __reduce__(self) -> str:
        return self.__qualname__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not carries(args):
            return self.function(*args, **kwargs)
        parts = _of_types(args)
        if len(parts) == 1 and isinstance(parts[0], Var) and not binding.is_guarding():
            return self._record_one(parts, kwargs)
        return self._outward(self.primitive(*parts, **kwargs))

    def _record_one(self, parts: tuple[Any], kwargs: dict[str, Any]) -> Any:
        """As the primitive does for one argument, in reverse mode, in fewer steps."""
        values = binding.plain_arguments(parts)
        ans = self._apply(*values, **kwargs)
        if binding.active_arguments(parts):
            several = isinstance(ans, tuple)
            call = _Call(self.primitive, [None], kwargs, [0], several)
            outs = binding.record_rule(call, list(parts), as_list(ans))
            ans = tuple(outs) if several else outs[0]
        return self._outward(ans)

    def _apply(self, /, *args: Any, **kwargs: Any) -> Any:
        """The function of pairs."""
        with binding.WarningsOff():
            return self._inward(self.function(*map(_typed, args), **kwargs))

    def _outward(self, ans: Any) -> Any:
        if not isinstance(ans, tuple):
            return ans if self.real[0] else unpaired(ans)
        return tuple(x if real else unpaired(x) for x, real in zip(ans, self.real, strict=True))

    def _inward(self, ans: Any) -> Any:
        if not isinstance(ans, tuple):
            return ans if self.real[0] else pair(ans)
        return tuple(x if real else pair(x) for x, real in zip(ans, self.real, strict=True))

    # --- rules

    def defvjp(self, *makers: Callable[..., Any] | None) -> None:
        """`maker(ans, *args)` gives `pull(g)`, all in complex numbers: see the file's head."""

        def on_tape(maker: Callable[..., Any]) -> Callable[..., Any]:
            def made(ans: Any, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
                pull = maker(self._outward(ans), *map(unpaired, args), **kwargs)
                return lambda g: pair(pull(self._outward(g)))

            return functools.wraps(maker)(made)

        self.primitive.defvjp(*(None if m is None else on_tape(m) for m in makers))

    def deftogether(self, maker: Callable[..., Callable[[Any], Sequence[Any]]]) -> None:
        """A reverse rule of the first arguments taken together, as `primitive.together`."""

        def made(ans: Any, /, *args: Any, **kwargs: Any) -> Callable[[Any], Sequence[Any]]:
            pulls = maker(self._outward(ans), *map(unpaired, args), **kwargs)
            return lambda g: tuple(map(pair, pulls(self._outward(g))))

        self.primitive.together = made

    def defjvp(self, *rules: Callable[..., Any] | None) -> None:
        """`rule(g, ans, *args)` gives the tangent of ans, in complex numbers."""

        def on_tape(rule: Callable[..., Any]) -> Callable[..., Any]:
            def made(g: Any, ans: Any, /, *args: Any, **kwargs: Any) -> Any:
                return self._inward(
                    rule(unpaired(g), self._outward(ans), *map(unpaired, args), **kwargs)
                )

            return functools.wraps(rule)(made)

        self.primitive.defjvp(*(None if r is None else on_tape(r) for r in rules))

    def defpartials(self, *partials: Callable[..., Any]) -> None:
        """`partial(ans, *args)`: derivatives of an analytic function, elementwise."""
        makers = (functools.partial(_pull_partial, p, k) for k, p in enumerate(partials))
        self.defvjp(*map(curried, makers))
        self.defjvp(*(functools.partial(_push_partial, p) for p in partials))
        self.primitive.defpattern(*["a...->b..."] * len(partials))


def _push_partial(
    partial: Callable[..., Any], g: Any, ans: Any, /, *args: Any, **kwargs: Any
) -> Any:
    return partial(ans, *args, **kwargs) * g


def _pull_partial(
    partial: Callable[..., Any], k: int, ans: Any, *given: Any, **kwargs: Any
) -> Any:
    *args, g = given
    slope = partial(ans, *args, **kwargs)
    return summed_to(np.conjugate(slope) * g, binding.shape(args[k]))


# --- primitives of users -------------------------------------------------------------------------


class _OfParts(primitive):
    """A user's primitive where some arguments, or results, are complex: each is a pair here.

    The user's rules conjugate nothing: a cotangent u of w counts the real part of u dw. Here it is
    the conjugate of that.
    """

    def __init__(self, original: primitive, which: tuple[bool, ...]) -> None:
        self._original, self._which = original, which
        self._complex: tuple[bool, ...] = ()  # which results are, if that is known
        self._followed: Any = None

        @functools.wraps(original.function)
        def on_pairs(*args: Any, **kwargs: Any) -> Any:
            return self._inward(original.function(*self._given(args), **kwargs))

        super().__init__(on_pairs)
        self.called = original._name
        self.follow_rules()

    def follow_rules(self) -> None:
        """Take over the rules, which may be stated, or replaced, after a call."""
        original = self._original
        rules = dict(original.pushes), dict(original.pulls)
        if self._followed == rules:
            return
        self._followed = rules
        rule: Any
        for k, rule in original.pushes.items():
            is_one = is_partial(rule)
            of_user = rule.args[1] if is_one else rule
            push = functools.partial(self._pushed_by, of_user, is_one, self._is_pair(k))
            self.pushes[k] = None if rule is None else push
        for k, rule in original.pulls.items():
            is_one = is_partial(rule)
            of_user = rule.args[1] if is_one else rule
            pull = functools.partial(self._pulled_by, of_user, is_one, k)
            self.pulls[k] = None if rule is None else pull

    def __reduce__(self) -> Any:
        return _in_parts, (self._original, self._which)

    def _given(self, args: Sequence[Any]) -> list[Any]:
        """The arguments as the user has them."""
        return [_typed(x) if self._is_pair(k) else x for k, x in enumerate(args)]

    def _is_pair(self, k: int) -> bool:
        return k < len(self._which) and self._which[k]

    def _inward(self, ans: Any, as_known: bool = False) -> Any:
        results = as_list(ans)
        kinds = tuple(is_complex(x) for x in results)
        if not self._complex and not as_known:
            self._complex = kinds
        if any(now and not was for now, was in zip(kinds, self._complex, strict=True)):
            what = "a tangent" if as_known else "a result"
            raise TypeError(
                f"the primitive {self._name}: {what} is complex where a result was real before: "
                "let the function return complex numbers always, or never"
            )
        pairs = tuple(pair(x) if was else x for x, was in zip(results, self._complex, strict=True))
        return pairs if isinstance(ans, tuple) else pairs[0]

    def outward(self, ans: Any, turned: bool = False) -> Any:
        """Results, or their cotangents, which are turned round."""
        results = [
            x if not was else np.conjugate(unpaired(x)) if turned else unpaired(x)
            for x, was in zip(as_list(ans), self._complex, strict=True)
        ]
        return tuple(results) if isinstance(ans, tuple) else results[0]

    def _pushed_by(
        self, rule: Any, is_one: bool, is_pair: bool, g: Any, ans: Any, /, *args: Any, **kw: Any
    ) -> Any:
        operands, results = self._given(args), self.outward(ans)
        along = unpaired(g) if is_pair else g
        if not is_one:
            return self._inward(rule(along, results, *operands, **kw), as_known=True)
        tangent = rule(results, *operands, **kw) * along
        return self._inward(tangent if self._complex[0] else np.real(tangent), as_known=True)

    def _pulled_by(
        self, rule: Any, is_one: bool, k: int, ans: Any, /, *args: Any, **kw: Any
    ) -> Any:
        operands, results = self._given(args), self.outward(ans)
        slope_or_pull = rule(results, *operands, **kw)
        shape = binding.shape(operands[k])

        def pull(g: Any) -> Any:
            u = self.outward(g, turned=True)
            pulled = summed_to(slope_or_pull * u, shape) if is_one else slope_or_pull(u)
            if not self._is_pair(k):
                return np.real(pulled) if is_complex(pulled) else pulled
            pulled = np.conjugate(pulled)
            return pair(pulled if binding.shape(pulled) == shape else pulled + np.zeros(shape))

        return pull


@functools.lru_cache(maxsize=256)
def _in_parts(original: primitive, which: tuple[bool, ...]) -> _OfParts:
    return _OfParts(original, which)


def _by_parts(original: primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    which = tuple(carries(x) and is_complex(x) for x in args)
    made = _in_parts(original, which)
    made.follow_rules()
    pairs = (pair(x) if is_pair else x for x, is_pair in zip(args, which, strict=True))
    return made.outward(made(*pairs, **kwargs))


primitive.by_parts = _by_parts
