"""What a seam needs of a function, whichever package is on the other side.

A seam is a function of plain arrays whose derivatives are seams again: `pullback` and
`pushforward` take its arguments and cotangents or tangents, and have derivatives in turn. So the
module of a package says how its arrays become plain ones, and which of the two its rules call;
orders above the first follow. Nothing here knows any of the packages.

The function is compiled. It takes arrays by position, and returns one array or a tuple of them:
real numbers, of which those of floats are differentiated. Seams pickle if their functions do, and
may be called from several threads. An exception in f passes through.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..binding import carries
from ..operations import primitive
from ..operations.naming import name_for_pickle
from ..operations.numerical import arguments_of
from ..programs import vmap
from ..programs.program import program_of
from ..transforms import jvp, vjp
from ..transforms._base import check_function

Arrays = tuple[np.ndarray, ...]


def as_tuple(results: Any) -> tuple[Any, ...]:
    """One result, or a tuple of them, as a tuple."""
    return results if isinstance(results, tuple) else (results,)


def one_or_all(several: Sequence[Any]) -> Any:
    """The only one, or a tuple of all."""
    return several[0] if len(several) == 1 else tuple(several)


def check_arguments(name: str, args: Sequence[Any], named: dict[str, Any]) -> None:
    """Raise TypeError unless arguments are given by position, and are no dicts."""
    given = [f"{key}=" for key in named]
    given += [f"a dict as argument {k}" for k, x in enumerate(args) if isinstance(x, dict)]
    if given:
        raise TypeError(
            f"{name} takes arrays by position, as all functions between packages do, not "
            f"{given[0]}: give it a function of arrays alone, such as lambda x: f(x, a=1.0)"
        )


def each_of(results: Any, kind: type, plain: Callable[[Any], np.ndarray]) -> Any:
    """An array of another package as a plain one, or each of a tuple of such."""
    for one in as_tuple(results):
        if not isinstance(one, kind):
            raise TypeError(
                f"the function returned {type(one).__name__}, where an operation gives an array "
                "or a tuple of them: return tuple(d.values()) for a dict d, tuple(x) for a list x"
            )
    return tuple(map(plain, results)) if isinstance(results, tuple) else plain(results)


def plain_argument(x: np.ndarray, name: str) -> Any:
    """An array as f gets it: those of no axes as numbers, and Python's own if they are whole."""
    if x.dtype.kind not in "fiub":
        raise TypeError(
            f"{name}: functions for other packages take real numbers, not {x.dtype}: give it real "
            "and imaginary part apart, and floats of 32 or 64 bits"
        )
    if x.ndim > 0:
        return x
    return x[()] if x.dtype.kind == "f" else x.item()


def check_real(results: tuple[Any, ...], name: str) -> None:
    """Raise TypeError unless results, which may carry derivatives, are arrays of real numbers."""
    for result in results:
        is_array = not isinstance(result, list | dict | None)
        dtype = getattr(result, "dtype", np.asarray(result).dtype) if is_array else np.dtype("O")
        is_numpys = isinstance(dtype, np.dtype) and dtype.kind != "O"
        if not is_numpys or dtype.kind not in "fiu":
            given = dtype if is_numpys else type(result).__name__
            raise TypeError(
                f"{name} returned {given}, where other packages take an array of real numbers or "
                "a tuple of them: write cadiff.stack for a list, functions of cadiff.numpy for "
                "those of the package, and real and imaginary part apart"
            )


@contextlib.contextmanager
def noting(notes: Mapping[str, str]) -> Iterator[None]:
    """Add to an exception the note that stands beside a word of its message."""
    try:
        yield
    except Exception as error:
        for note in [note for word, note in notes.items() if word in str(error)][:1]:
            if hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(note)
        raise


def unlike(name: str, results: Sequence[Any], told: str, ways: str = "") -> ValueError:
    """The error where results have other shapes than the other package was told."""
    shapes, ndims = (one_or_all([of(x) for x in results]) for of in (np.shape, np.ndim))
    return ValueError(f"{told}, {name} returns {shapes}{ways.format(ndim=ndims)}")


def fresh_array(result: Any) -> np.ndarray:
    """A copy of a result, which the other package may keep: of floats."""
    array = np.array(result)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def differentiated(dtypes: Sequence[Any]) -> tuple[int, ...]:
    """The positions of arguments that have derivatives: those of floats."""
    return tuple(k for k, dtype in enumerate(dtypes) if np.issubdtype(dtype, np.floating))


class Seam:
    """A function for cadiff as one of plain arrays, with derivatives that are seams."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.name = str(getattr(f, "__name__", type(f).__name__))
        self._program: Callable[..., Any] = program_of(f)
        self._derivatives: dict[Any, Seam] = {}

    def __call__(self, *args: Any) -> np.ndarray | Arrays:
        """Fresh arrays of floats: one, or a tuple as f returns it."""
        plain = [plain_argument(np.asarray(x), self.name) for x in args]
        results = self._program(*plain)
        check_real(as_tuple(results), self.name)
        arrays = tuple(map(fresh_array, as_tuple(results)))
        return arrays if isinstance(results, tuple) else arrays[0]

    @functools.cached_property
    def rows(self) -> Seam:
        """The function at many points at once: a row of each argument is one."""
        return _Rows(self)

    def pullback(self, n: int, wrt: Sequence[int]) -> Seam:
        """Of the n arguments and the cotangents of all results: a tuple for the arguments wrt."""
        return self._derivative(_pulled, n, tuple(wrt))

    def pushforward(self, n: int, wrt: Sequence[int]) -> Seam:
        """Of the n arguments and tangents of those wrt: a tuple of the tangents of all results."""
        return self._derivative(_pushed, n, tuple(wrt))

    def _derivative(self, of: Callable[..., Any], n: int, wrt: tuple[int, ...]) -> Seam:
        if (of, n, wrt) not in self._derivatives:
            made = Seam(functools.partial(of, self._program, self.name, n, wrt))
            made.name = self.name
            self._derivatives.setdefault((of, n, wrt), made)
        return self._derivatives[of, n, wrt]

    def __reduce__(self) -> Any:
        return Seam, (self.f,)


class _Rows(Seam):
    """A seam at many points at once, of which those that go the same way are one replay."""

    def __init__(self, one: Seam) -> None:
        self.f, self.name = one.f, one.name
        self._one = one
        self._program = vmap(one._program)

    def pullback(self, n: int, wrt: Sequence[int]) -> Seam:
        return self._one.pullback(n, wrt).rows

    def pushforward(self, n: int, wrt: Sequence[int]) -> Seam:
        return self._one.pushforward(n, wrt).rows

    def __reduce__(self) -> Any:
        return _Rows, (self._one,)


def _by_some(f: Callable[..., Any], primals: Sequence[Any], wrt: tuple[int, ...]) -> Any:
    """A function as one of some of its arguments, with a tuple of results."""

    def of_some(*some: Any) -> tuple[Any, ...]:
        args = list(primals)
        for k, x in zip(wrt, some, strict=True):
            args[k] = x
        return as_tuple(f(*args))

    return of_some, [primals[k] for k in wrt]


def _pulled(f: Any, name: str, n: int, wrt: tuple[int, ...], *args: Any) -> tuple[Any, ...]:
    of_some, some = _by_some(f, args[:n], wrt)
    results, pull = vjp(of_some, *some)
    check_real(results, name)  # which are computed here alone, if nothing but gradients is wanted
    told = [np.shape(u) for u in args[n:]]
    if told != [np.shape(x) for x in as_tuple(results)]:
        ways = ": write op(f, ndim={ndim}) for PyTensor, function(f, like=...) for JAX"
        raise unlike(name, as_tuple(results), f"the cotangents have shapes {told}", ways)
    return as_tuple(pull(args[n:]))


def _pushed(f: Any, name: str, n: int, wrt: tuple[int, ...], *args: Any) -> tuple[Any, ...]:
    of_some, some = _by_some(f, args[:n], wrt)
    results, tangents = jvp(of_some, tuple(some), args[n:])
    check_real(results, name)
    return as_tuple(tangents)


class Foreign(primitive):
    """A function that another package computes as an operation: of as many arguments as are given.

    `evaluate(g, args)` computes it by plain arrays: an array or a tuple of them. `vjp` is the
    package's, of the signature of `jax.vjp`, which runs g once for all cotangents; the rules are
    such operations again. `made` is the function of a module that has made this one, and makes it
    again in other processes.
    """

    def __init__(
        self,
        evaluate: Callable[..., Any],
        vjp: Callable[..., Any],
        g: Callable[..., Any],
        made: Callable[..., Any] | None = None,
    ) -> None:
        check_function("primitive", g)
        super().__init__(functools.partial(computed, evaluate, g))
        self.called = str(getattr(g, "__name__", type(g).__name__))
        if made is not None:
            functools.update_wrapper(self, g, updated=())
        self._parts = evaluate, vjp, g
        self._made = made
        self._pullbacks: dict[tuple[int, tuple[int, ...]], Foreign] = {}
        self.together = self._all_at_once
        self._have_rules(arguments_of(g))  # before programs watch them

    def _have_rules(self, n: int) -> None:
        for k in range(len(self.pulls), n):
            self.defvjp(functools.partial(self._maker, k), argnums=k)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        check_arguments(self.called, args, named)
        self._have_rules(len(args))
        return super().__call__(*args)

    def _maker(self, k: int, ans: Any, *args: Any) -> Callable[[Any], Any]:
        pull = self._pullback((k,), args)
        return lambda g: pull(g)[0]

    def _all_at_once(self, ans: Any, *args: Any) -> Callable[[Any], Sequence[Any]]:
        wrt = tuple(k for k, x in enumerate(args) if carries(x) or np.asarray(x).dtype.kind == "f")
        pull = self._pullback(wrt, args)

        def pulled(g: Any) -> Sequence[Any]:
            found = dict(zip(wrt, pull(g), strict=True))
            return [found.get(k) for k in range(len(args))]

        return pulled

    def _pullback(self, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Callable[[Any], Arrays]:
        n = len(args)
        if (n, wrt) not in self._pullbacks:
            evaluate, vjp, g = self._parts
            made = Foreign(evaluate, vjp, functools.partial(_pulled_elsewhere, vjp, g, n, wrt))
            made.called = self.called
            self._pullbacks.setdefault((n, wrt), made)
        pullback = self._pullbacks[n, wrt]
        return lambda g: pullback(*args, *as_tuple(g))

    def __reduce__(self) -> Any:
        """By name where it stands in the place of its function, as decorators do."""
        name = name_for_pickle(self, getattr(self, "__qualname__", ""))
        return name or (self._made, (self._parts[2],))


def computed(evaluate: Callable[..., Any], g: Callable[..., Any], *args: Any) -> Any:
    """What another package computes; programs go by this name to leave it alone."""
    results = evaluate(g, args)
    plain = tuple(x[()] for x in as_tuple(results))
    return plain if isinstance(results, tuple) else plain[0]


def _pulled_elsewhere(
    vjp: Callable[..., Any], g: Callable[..., Any], n: int, wrt: tuple[int, ...], *args: Any
) -> Any:
    """Cotangents of some of n arguments, of the arguments and the cotangents of the results."""
    of_some, some = _by_some(g, args[:n], wrt)
    return vjp(of_some, *some)[1](args[n:])
