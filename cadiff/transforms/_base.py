"""What all gradient functions share: their class, and checks of what they are made with."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any, Literal, ParamSpec, TypeVar, cast

import numpy as np

from .. import binding
from ..binding import callers, foreign_names
from ..operations.naming import name_for_pickle

Function = Callable[..., Any]
Mode = Literal["auto", "fwd", "rev"]
P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")


def check_function(name: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{name} takes a function, not {type(function).__name__}")


def show_as(made: Any, function: Any) -> None:
    """Have help() show for something what it shows for the function that it is made of.

    As `functools.update_wrapper`, but no `__getattr__` of a callable object is asked.
    """
    for name in functools.WRAPPER_ASSIGNMENTS:
        attribute = binding.own_attribute(function, name, made)
        if attribute is not made:
            setattr(made, name, attribute)
    made.__wrapped__ = function


def own_derivatives(function: Any) -> Callable[..., Any] | None:
    """What a function that has derivatives of its own is asked for them, if it is one.

    It is called with the name of a gradient function, and with the arguments of that and by
    keyword; where it answers NotImplemented, the function is differentiated like any other.
    """
    # A bound method has the attributes of its function, but other arguments.
    if not hasattr(type(function), "_own_derivative"):
        return None
    derivatives: Callable[..., Any] = function._own_derivative
    return derivatives


class _Called:
    """How a transform is called, for help() and editors: `inspect.signature` asks for it."""

    def __get__(self, instance: Transform | None, owner: type) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")  # calling the class makes one
        try:
            signature = inspect.signature(instance._function)
        except (TypeError, ValueError) as error:  # as of some functions in C
            raise AttributeError("__signature__") from error
        return inspect.Signature(instance._takes(list(signature.parameters.values())))


class Transform(ABC):
    """A function made from another: callable, picklable if that one is, bindable as a method."""

    __signature__ = _Called()

    def __init__(
        self,
        name: str,
        function: Function,
        argnums: int | Sequence[int] = 0,
        *,
        has_aux: bool = False,
        holomorphic: bool = False,
    ) -> None:
        if binding.carries(function) or isinstance(function, (float, np.ndarray)):
            raise TypeError(
                f"{name} takes a function, not {type(function).__name__}: write "
                f"{foreign_names.called_later(name)}, not {name}(f(x))"
            )
        check_function(name, function)
        self._name = name
        self._function = function
        self._argnums, self._single = checked_argnums(argnums, name, function)
        self._has_aux = bool(has_aux)
        self._holomorphic = bool(holomorphic)
        self._own = None if has_aux or holomorphic else own_derivatives(function)
        show_as(self, function)

    @property
    def settings(self) -> tuple[Any, ...]:
        """What tells it from other transforms of the same function."""
        return type(self), self._name, self._argnums, self._single, self._has_aux

    def applied_to(self, function: Any) -> Transform:
        """The same transform of another function."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), _function=function, __wrapped__=function)
        return other

    @abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Differentiate at a point."""

    def _takes(self, parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
        """Its parameters, by those of the function."""
        return parameters

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        """By name where it stands in the place of its function, as decorators do; else with it."""
        return name_for_pickle(self, getattr(self, "__qualname__", "")) or super().__reduce__()

    def _by_function(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str = "") -> Any:
        """What the function has for this derivative by itself; NotImplemented: nothing."""
        if kwargs:
            check_keywords(self._name, self._function, kwargs)
        if self._own is None or "argnums" in kwargs:
            return NotImplemented
        argnums = self._argnums[0] if self._single else self._argnums
        return self._own(name or self._name, args, {**kwargs, "argnums": argnums})

    def __repr__(self) -> str:
        name = getattr(self._function, "__qualname__", repr(self._function))
        argnums = self._argnums[0] if self._single else self._argnums
        return f"<cadiff.{self._name} of {name}, argnums={argnums}>"


def check_keywords(name: str, function: Function, kwargs: Mapping[str, Any]) -> None:
    """Raise TypeError for what other packages call something, if f has no such arguments."""
    for keyword in foreign_names.KEYWORDS.keys() & kwargs.keys():
        try:
            inspect.signature(function).bind_partial(**{keyword: kwargs[keyword]})
        except TypeError:
            instead = foreign_names.KEYWORDS[keyword].format(value=kwargs[keyword])
            raise TypeError(f"{name} takes no {keyword}: {instead}") from None
        except ValueError:  # it has no signature
            pass


def answering(make: T) -> T:
    """A function that says of wrong arguments what to write instead."""
    function: Any = make  # whose type, which follows that of its f, passes through

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            trace = error.__traceback__
            is_within = trace is None or trace.tb_next is not None
            if is_within or not isinstance(error, TypeError):
                raise callers.shortened(error)  # noqa: B904
            raise TypeError(foreign_names.misfit(function, args, kwargs) or str(error)) from None

    return cast(T, checked)


def checked_argnums(
    argnums: int | Sequence[int], name: str = "", function: Any = None
) -> tuple[tuple[int, ...], bool]:
    """Argnums as a tuple, and whether it was a single one.

    `name` is what makes a function of `function`, if its argnums may have been meant for a point.
    """
    if type(argnums) is int:
        return (argnums,), True
    single = is_int(argnums)
    chosen: tuple[Any, ...] = (argnums,)
    if isinstance(argnums, (tuple, list)):
        chosen = tuple(argnums)
    if not (single or all(map(is_int, chosen))):
        instead = ""
        if all(isinstance(item, str) for item in chosen):
            instead = f"; {foreign_names.positions(chosen, function)}"
        elif name:
            instead = (
                "; to differentiate at a point, call what is returned, as in "
                f"{foreign_names.called_later(name)}"
            )
        raise TypeError(f"argnums is an int or a tuple of ints, not {argnums!r}{instead}")
    numbers = tuple(map(int, chosen))
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"argnums names an argument twice: {numbers}")
    return numbers, single


def is_int(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


def takes(f: Function, args: tuple[Any, ...]) -> bool:
    """Whether a function can be called with some arguments, as far as it tells."""
    try:
        inspect.signature(f).bind(*args)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return True


def run_at(name: str, recording: binding.Recording, f: Function, args: tuple[Any, ...]) -> Any:
    """Run a function at a point that is given beside it."""
    try:
        return recording.run_function(f, {})
    except TypeError:
        if takes(f, args):
            raise
    raise TypeError(foreign_names.of_point(name, len(args)))


def check_mode(mode: str) -> None:
    if mode not in ("auto", "fwd", "rev"):
        raise ValueError(f'mode is "auto", "fwd" or "rev", not {mode!r}')
