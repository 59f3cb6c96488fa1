"""Methods of other libraries' objects, operators above all, given a number with a derivative.

Python asks the left operand first, and a library that knows nothing of numbers with derivatives
answers for them. So the methods of its classes are put behind ones that look at the other operand.
That is done when the library is imported, by anybody, and takes nothing of it; which library it
is, and what computes, is not known here.

Nor are the stand-ins of a library's modules known here: each module has one.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from ..binding import Dual, Var, carries, finalized, map_leaves

Answer = Callable[..., Any]
Furnish = Callable[[ModuleType, str], None]

# What computes with another operand, and what is made of one.
METHODS = frozenset(
    [f"__{r}{name}__" for name in ("add", "sub", "mul", "matmul", "truediv") for r in ("", "r")]
    + ["dot", "multiply", "__init__"]
)


class _Finder:
    """What the import system asks first: it notes when a module has been imported."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module's own specification, whose execution is followed by what is to follow."""
        if name != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = _Followed(spec.loader, self.then)
            spec.loader = loader
        return spec


class _Followed:
    """The loader of a module until that is executed, which something is to follow.

    Loaders may be classes that cannot be changed, as those of frozen programs are.
    """

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self).get("_loader"), name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute it, as its own loader does, whose it is from then on."""
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then(module)


def when_imported(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call a function with a module now, if it is imported, or else when it has been."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, then))


class _Below:
    """What the import system asks for modules below one that stands for a library's."""

    def __init__(
        self, own: str, library: str, furnish: Furnish, find: Callable[[str], Any]
    ) -> None:
        self.own, self.library, self.furnish, self.find = own, library, furnish, find

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        below = name.removeprefix(self.own)
        is_below = below != name and self.find(self.library + below) is not None
        loader: Any = self
        return ModuleSpec(name, loader, is_package=True) if is_below else None

    def create_module(self, spec: ModuleSpec) -> None:
        """The import system makes it."""

    def exec_module(self, module: ModuleType) -> None:
        self.furnish(module, self.library + module.__name__.removeprefix(self.own))


def have_below(
    own: str,
    library: str,
    furnish: Furnish,
    find: Callable[[str], Any] = importlib.util.find_spec,
    is_first: bool = False,
) -> None:
    """Have modules below one of the package's wherever a library has them, as it has `testing`.

    `furnish(module, name)` is to give a module the names of the library's module; `find(name)`
    answers None where the library has none. It is asked last, or before files if `is_first`.
    """
    below = _Below(f"{own}.", f"{library}.", furnish, find)
    sys.meta_path.insert(0 if is_first else len(sys.meta_path), below)


def lend_methods(classes: Iterable[type], names: Iterable[str], answer: Answer) -> None:
    """Have `answer(name, self, other)` answer methods if the first argument carries a derivative.

    classes: of which the methods `names` are, as far as each defines them itself.
    """
    for kind in classes:
        for name in set(names) & vars(kind).keys():
            setattr(kind, name, _asking(vars(kind)[name], name, answer))


def lend_function(module: ModuleType, name: str, answer: Answer) -> Callable[..., Any]:
    """Have `answer(function, *args, **kwargs)` be called if an argument carries a derivative."""
    function = getattr(module, name)

    @functools.wraps(function)
    def asking(*args: Any, **kwargs: Any) -> Any:
        is_asked = carries((args, kwargs))
        return answer(function, *args, **kwargs) if is_asked else function(*args, **kwargs)

    setattr(module, name, asking)
    return asking


def run_as_python(compiled: Any) -> None:
    """Have functions of a class run as Python where an argument carries a derivative.

    compiled: a class, as numba's, whose `_compile_for_args` answers what to call with arguments of
    types that it has no machine code for, and whose `py_func` is the function in Python. Arguments
    come as it has them: one for each parameter, defaults in a wrapper. Those whose types are fixed
    beforehand have `_explain_matching_error` raise instead, which says what to write.
    """
    compile_for_args, explain = compiled._compile_for_args, compiled._explain_matching_error

    def for_args(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not carries((args, kwargs)):
            return compile_for_args(self, *args, **kwargs)
        given = [x.value if type(x).__name__ == "OmittedArg" else x for x in args]
        if self.py_func.__code__.co_flags & inspect.CO_VARARGS:
            given[-1:] = given[-1]
        return lambda *_, **__: self.py_func(*given, **kwargs)

    def explained(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not carries((args, kwargs)):
            return explain(self, *args, **kwargs)
        name = self.py_func.__name__
        raise TypeError(
            f"{name} was compiled by numba for plain numbers alone, and is given one that carries "
            f"a derivative: write {name}.py_func, its function in Python, or make it an operation "
            "with a rule (cadiff.primitive)"
        )

    compiled._compile_for_args, compiled._explain_matching_error = for_args, explained


def _without_constant(x: Any) -> Any:
    return finalized(x) if isinstance(x, (Var, Dual)) else x


def _asking(method: Callable[..., Any], name: str, answer: Answer) -> Callable[..., Any]:
    @functools.wraps(method)
    def operator(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        is_plain = type(other) is np.ndarray and other.dtype != object
        if is_plain or not carries(other):
            return method(self, other, *args, **kwargs)
        plain = map_leaves(_without_constant, other) if name == "__init__" else other
        if not carries(plain):
            return method(self, plain, *args, **kwargs)
        return answer(name, self, other)

    return operator
