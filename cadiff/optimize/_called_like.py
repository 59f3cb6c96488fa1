"""Functions that are called as their namesakes of SciPy are."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import transforms
from ..binding import callers, foreign_names
from ..transforms._base import takes
from ._history import History
from ._results import Result, as_result

Inner = Callable[..., Any]
T = TypeVar("T")
SERVING = ("grad", "jacobian", "hessian")  # whose functions SciPy can take
DERIVATIVES = ("jac", "hess", "hessp", "fprime", "fprime2")  # arguments of SciPy's functions


def called_like(
    reference: Callable[..., Any], others: Sequence[str] = ()
) -> Callable[[Inner], Inner]:
    """Make `inner(given, progress)` a function of the arguments of `reference`, and of `progress`.

    `given` are the arguments of a call by their names: those that were given, no others. So a
    function has the arguments of the SciPy that is installed, and `help` shows them. `others` are
    methods beside SciPy's.
    """
    signature = inspect.signature(reference)
    names = vars(sys.modules[reference.__module__])
    methods = [*names.get(f"{reference.__name__.upper()}_METHODS", ()), *others]
    parameters = list(signature.parameters.values())
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    progress = inspect.Parameter("progress", inspect.Parameter.KEYWORD_ONLY, default=False)
    rest = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    known = signature.parameters.keys()
    shown = [p for p in parameters if p.kind is not p.VAR_KEYWORD] + [progress, *rest]

    def decorate(inner: Inner) -> Inner:
        name = inner.__name__

        def call(*args: Any, progress: bool = False, **kwargs: Any) -> Any:
            if len(args) > len(positional):
                raise TypeError(
                    f"{name} takes at most {len(positional)} arguments by position, "
                    f"but {len(args)} were given"
                )
            bound = dict(zip(positional, args, strict=False))
            for twice in bound.keys() & kwargs.keys():
                raise TypeError(f"{name} got two values for {twice!r}")
            bound.update(kwargs)
            for missing in required:
                if missing not in bound:
                    raise TypeError(f"{name} needs {missing!r}: {name}{signature}")
            _check_derivatives(bound, required[0])
            history = bound.get("callback")
            try:
                result = as_result(inner(dict(bound), progress))
            except Exception as error:
                if "unexpected keyword argument" in str(error) and bound.keys() - known:
                    raise TypeError(foreign_names.misfit(call, (), bound) or str(error)) from None
                if str(error).startswith("Unknown solver"):
                    raise ValueError(f"{error}: {_like(bound.get('method'), methods)}") from None
                wants_more = "args" in known - bound.keys() and _wants_more(
                    error, bound[required[0]]
                )
                if wants_more and hasattr(error, "add_note"):
                    error.add_note(f"{name} calls {required[0]}(x, *args): write args=(...,)")
                raise callers.shortened(error)  # noqa: B904
            if isinstance(history, History) and isinstance(result, Result):
                result.history = history
            return result

        call.__name__ = call.__qualname__ = name
        call.__module__ = inner.__module__
        call.__doc__ = inner.__doc__
        call.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        return call

    return decorate


def _check_derivatives(bound: dict[str, Any], f: str) -> None:
    """Raise where what differentiates a function is given, instead of a derivative."""
    local = bound.get("minimizer_kwargs")
    for part in (bound, local if isinstance(local, dict) else {}):
        for name in DERIVATIVES:
            transform = part.get(name)
            known = getattr(transform, "__name__", "")
            if transform is not None and getattr(transforms, known, None) is transform:
                serves = known in SERVING and "xdata" not in bound  # which comes before parameters
                raise TypeError(
                    f"{name} is a function of numbers, not cadiff.{known} itself: "
                    + (f"write {name}=cadiff.{known}({f}), or " if serves else "")
                    + "leave it out, and it is filled in"
                )


def _wants_more(error: Exception, f: Any) -> bool:
    """Whether an error says that f, which was called with x alone, has further arguments."""
    is_told = isinstance(error, TypeError) and "required positional argument" in str(error)
    return is_told and not takes(f, (0.0,))


def _like(method: Any, known: Sequence[str]) -> str:
    """What to write in the place of a method that there is not."""
    likely = difflib.get_close_matches(str(method).lower(), known, n=1)
    return f"write {likely[0]!r}" if likely else f"the methods are {', '.join(known)}"
