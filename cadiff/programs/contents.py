"""What values hold, by what they are: classes, containers, arrays, wrappers, loggers, generators.

Each function adds the places of one kind of value to a Watch, and has the walk go on with what is
in it. A value that is in none of the tables here may hold anything. A class of the standard
library is refused unless it is known what its objects depend on.
"""

from __future__ import annotations

import abc
import builtins
import contextlib
import ctypes
import dataclasses
import functools
import gc
import operator
import os
import random
import sys
import threading
import types
import warnings
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any
from weakref import ReferenceType

import numpy as np

from ..binding import DispatchedFunction, WeakMethod, own_attribute, own_items
from ..binding.callers import is_class_of_library, module_of, seam_of
from ..operations.primitives import primitive
from ..transforms._flat import functions_of
from . import library_types
from .findings import Findings
from .reasons import (
    COMPILED,
    IDENTITY,
    OWN_ARITHMETIC,
    UNKNOWN,
    NoStandIns,
    UnwatchableError,
)
from .settings import decimal_context

# Names that deal with exceptions of other names, and these names.
_HANDLING: dict[type, type[BaseException]] = {
    contextlib.ExitStack: BaseException,
    contextlib.suppress: Warning,
    warnings.catch_warnings: Warning,
}
OF_EVERY_CLASS = frozenset(
    (
        *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__"),
        *("__annotations__", "__firstlineno__", "__static_attributes__", "__abstractmethods__"),
        *("_abc_impl", "__dataclass_params__", "__dataclass_fields__", "__match_args__"),
        *("__parameters__", "__orig_bases__", "__hash__", "__annotate_func__", "__type_params__"),
    )
)


def of_object(walk: Findings, value: Any, path: str) -> None:
    """The attributes of an object, and its class."""
    kind = type(value)
    walk.items(walk.watch.namespace(value, path), path)
    for slot in library_types.slots(kind):
        walk.attribute(value, slot, f"{path}.{slot.__name__}")
    walk.value(kind, library_types.name_of(kind))


def of_class(walk: Findings, kind: type, path: str) -> None:
    """What is in a class of the user's, and in those that it derives from."""
    if not library_types.is_safe_class(kind):
        raise UnwatchableError(UNKNOWN.format(path=path, what=library_types.named_kind(kind)))
    if module_of(kind) == "decimal":
        of_decimals(walk, kind, path)
    if issubclass(kind, BaseException):
        walk.exceptions.append(kind)
    elif kind in _HANDLING:
        walk.handles = True
        walk.exceptions.append(_HANDLING[kind])
    if issubclass(type(kind), abc.ABCMeta) and walk.is_new(abc):
        text = "what is registered with abstract classes"
        walk.watch.answer(abc.get_cache_token, text, is_portable=False)
    if library_types.is_fixed(kind):
        return
    walk.watch.class_of(kind, library_types.name_of(kind))
    walk.classes.append(kind)
    for function in functions_of(kind):
        walk.value(function, f"what was registered with {library_types.name_of(kind)}")
    if not is_class_of_library(type(kind)):
        walk.value(type(kind), library_types.name_of(type(kind)))
    for base in library_types.bases(kind):
        if base is object or (is_class_of_library(base) and not library_types.is_class_read(base)):
            continue
        members, called = library_types.inside(base), library_types.name_of(base)
        if "__exit__" in members:
            walk.handles = True
            walk.exceptions.append(BaseException)
        for field in members.get("__dataclass_fields__", {}).values():
            for part in (field.default, field.default_factory):
                if part is not dataclasses.MISSING:
                    walk.value(part, f"{called}.{field.name}")
        for name, part in list(members.items()):
            if name in OF_EVERY_CLASS or type(part) in library_types.DESCRIPTORS:
                continue
            if "__dataclass_fields__" in members and library_types.is_generated(name, part):
                walk.watch.codes.append(part.__code__)
                if part.__defaults__ or part.__kwdefaults__:
                    walk.watch.function(part, f"defaults of {called}.{name}")
                continue
            for item in library_types.behind(part):
                if type(item) is FunctionType and type(part) is not staticmethod:
                    walk.function(item, f"{called}.{name}", None, base)
                else:
                    walk.value(item, f"{called}.{name}")


def of_decimals(walk: Findings, value: Any, path: str) -> None:
    """How decimal numbers are computed with, and what these raise."""
    walk.raising.add("decimal")
    if walk.is_new(decimal_context):
        walk.watch.answer(decimal_context, "decimal.getcontext()")


def of_value(walk: Findings, value: Any, path: str) -> None:
    kind = type(value)
    root = module_of(kind).partition(".")[0]
    if issubclass(kind, type):
        of_class(walk, value, path)
    elif issubclass(kind, functools._lru_cache_wrapper):
        _cache(walk, value, path)
    elif root == "cadiff" and _of_cadiff(walk, value, path):
        return
    elif value is os.environ:
        walk.watch.mapping(vars(value)["_data"], "os.environ")
    elif value is sys.modules:
        walk.watch.mapping(value, path)
        walk.sees_loaded = True
    elif issubclass(kind, np.dtype):
        if value.names is not None:
            walk.watch.attribute(value, library_types.inside(np.dtype)["names"], f"{path}.names")
    elif library_types.is_of_logging(kind):
        _logger(walk, value, path)
    elif root == "pathlib":  # paths do not change
        return
    elif library_types.is_table(value):
        _table(walk, value, path)
    elif root == "numba" and own_attribute(value, "py_func") is not None:
        raise UnwatchableError(COMPILED.format(path=path))
    elif root == "jax" and "Tracer" in kind.__name__:
        raise UnwatchableError(f"it reads {path}, which JAX traces: {seam_of(kind)}")
    else:
        base = library_types.base_in_c(kind)
        if kind is not base and library_types.computes_otherwise(kind, base):
            raise UnwatchableError(
                OWN_ARITHMETIC.format(path=path, name=library_types.name_of(kind))
            )
        handler = _HANDLERS.get(base) or _HANDLERS_BY_NAME.get(
            f"{base.__module__}.{base.__qualname__}"
        )
        if handler is not None:
            handler(walk, value, path)
        elif issubclass(kind, BaseException):
            _exception(walk, value, path)
        elif not _is_harmless(value, base):
            raise UnwatchableError(UNKNOWN.format(path=path, what=library_types.named_kind(kind)))
        if kind is not base or base is types.SimpleNamespace or issubclass(kind, BaseException):
            of_object(walk, value, path)


def _is_harmless(value: Any, base: type) -> bool:
    """Whether nothing in an object of another class of C can change."""
    told = [own_attribute(value, name) for name in ("__module__", "__name__")]
    if callable(value) and all(isinstance(text, str) for text in told):  # a function
        return not library_types.unsafe(value)
    is_constant = issubclass(base, np.ufunc) or base in library_types.CONSTANTS
    return is_constant or library_types.is_structure(value) or library_types.is_safe_stream(value)


def _builtin(walk: Findings, value: Any, path: str) -> None:
    """A function of C, perhaps a method, such as a dict's get."""
    if any(value is one for one in _ASK_IDENTITY):
        raise UnwatchableError(NoStandIns(IDENTITY.format(what=value.__name__, where=path)))
    reason = library_types.unsafe(value)
    if reason:
        walk.refuse(reason)
    if not isinstance(value.__self__, types.ModuleType):
        walk.value(value.__self__, path)


def _method(walk: Findings, value: Any, path: str) -> None:
    if isinstance(value.__func__, types.FunctionType):
        walk.function(value.__func__, path, value.__self__)
    else:
        walk.value(value.__func__, path)
        walk.value(value.__self__, path)


def _ufunc(walk: Findings, value: np.ufunc, path: str) -> None:
    """Of NumPy, SciPy, or of a function of Python's."""
    for part in gc.get_referents(value):
        if callable(part):
            walk.value(part, f"the function of {path}")
            return
    name = value.__name__
    for module in ("numpy", "numpy._core.umath", "numpy.core.umath", "scipy.special"):
        namespace = vars(sys.modules.get(module, builtins))
        if namespace.get(name) is value or any(value is one for one in namespace.values()):
            if module == "scipy.special":
                walk.raising.add("special")
            return
    raise UnwatchableError(UNKNOWN.format(path=path, what="a ufunc of an unknown library"))


def _array(walk: Findings, array: np.ndarray[Any, Any], path: str) -> None:
    walk.watch.array(array, path)
    if array.dtype.hasobject:
        walk.items(array.ravel().tolist(), path)


def _record(walk: Findings, value: np.void, path: str) -> None:
    if value.dtype.hasobject:
        raise UnwatchableError(UNKNOWN.format(path=path, what="a record that holds objects"))
    walk.watch.array(np.asarray(value), path)


def _mapping(walk: Findings, value: Any, path: str) -> None:
    walk.watch.mapping(value, path)
    walk.items([*dict.keys(value), *dict.values(value)], path)
    if issubclass(type(value), defaultdict):
        walk.attribute(value, library_types.inside(defaultdict)["default_factory"], path)


def _fixed_mapping(walk: Findings, value: Any, path: str) -> None:
    kind: Any = library_types.base_in_c(type(value))
    walk.items([*kind.keys(value), *kind.values(value)], path)


def _ordered(walk: Findings, value: Any, path: str) -> None:
    walk.watch.members(OrderedDict.items(value), path)  # which has an order of its own
    walk.items([*OrderedDict.keys(value), *OrderedDict.values(value)], path)


def _sequence(walk: Findings, value: Any, path: str) -> None:
    walk.watch.members(value, path)
    walk.items(own_items(value), path)


def _logger(walk: Findings, value: Any, path: str) -> None:
    """What is set of a logger; but not what it keeps, and where it writes."""
    for name, item in zip(vars(value), walk.watch.namespace(value, path), strict=True):
        text = f"{path}.{name}"
        if name == "handlers":
            walk.watch.members(item, text)
        elif name not in _KEPT_BY_LOGGERS:
            walk.value(item, text)
    walk.value(own_attribute(value, "manager"), f"{path}.manager")  # the root has its class's
    if not is_class_of_library(type(value)):
        walk.value(type(value), library_types.name_of(type(value)))


def _exception(walk: Findings, value: BaseException, path: str) -> None:
    for base in library_types.bases(type(value)):
        for name, part in library_types.inside(base).items():
            if type(part) in library_types.DESCRIPTORS and name not in OF_EVERY_CLASS:
                text = f"{path}.{name}"
                attribute = walk.watch.attribute(value, part, text)
                if type(attribute) is not types.TracebackType:
                    walk.value(attribute, text)


def _view(walk: Findings, value: Any, path: str) -> None:
    """What shows the keys or the values of a dict, or all of it."""
    walk.items(gc.get_referents(value), path)


def _fixed(walk: Findings, value: Any, path: str) -> None:
    is_slice = type(value) is slice
    parts = (value.start, value.stop, value.step) if is_slice else own_items(value)
    walk.items(parts, path)


def _buffer(walk: Findings, value: Any, path: str) -> None:
    if isinstance(value, ctypes.Array) and not library_types.holds_numbers(type(value)):
        raise UnwatchableError(UNKNOWN.format(path=path, what="pointers in an array"))
    walk.watch.buffer(value, path)


def _file_in_memory(walk: Findings, value: Any, path: str) -> None:
    _buffer(walk, value, path)
    walk.watch.answer(value.tell, f"position in {path}")


def _neighbours(walk: Findings, value: Any, path: str) -> None:
    """The points of a tree that finds neighbours, and what it is made of."""
    for name in ("data", "indices", "maxes", "mins"):
        _array(walk, getattr(value, name), f"{path}.{name}")


def _partial(walk: Findings, value: Any, path: str) -> None:
    for name in ("func", "args", "keywords"):
        walk.attribute(value, library_types.inside(functools.partial)[name], f"{path}.{name}")
    walk.items(walk.watch.namespace(value, path), path)


def _wrapped(walk: Findings, value: Any, path: str) -> None:
    parts = [*library_types.inside(library_types.base_in_c(type(value))).values()]
    walk.items((x.__get__(value) for x in parts if type(x) is types.MemberDescriptorType), path)
    if own_attribute(value, "__dict__"):
        walk.items(walk.watch.namespace(value, path), path)


def _cache(walk: Findings, value: Any, path: str) -> None:
    """What a function that remembers its results has remembered."""
    for part in gc.get_referents(value):
        if type(part) is dict and part is not vars(value):
            walk.watch.mapping(part, f"results of {path}")
        elif not isinstance(part, type):
            walk.value(part, path if part is value.__wrapped__ else f"results of {path}")


def _generator(walk: Findings, value: Any, path: str) -> None:
    if isinstance(value, random.SystemRandom):
        walk.refuse("random.SystemRandom")
    walk.watch.generators.append((path, value))


def _table(walk: Findings, value: Any, path: str) -> None:
    kind = type(value)
    if kind.__module__.partition(".")[0] == "pandas":
        walk.watch.table(value, path)
        walk.value(walk.watch.name(vars(value), "_attrs", path), f"{path}.attrs")
        held = [x for name, x in vars(value).items() if name[:1] != "_"]
        walk.items([*held, *_objects_in(value)], path)
        return
    raise UnwatchableError(
        f"it reads {path}, {library_types.named_kind(kind)}, whose changes cannot be seen: give "
        "it arrays, such as those that to_numpy() makes"
    )


def _of_cadiff(walk: Findings, value: Any, path: str) -> bool:
    """What a function or primitive reads; False of other objects, whose state is the user's."""
    is_primitive = isinstance(value, primitive)
    is_constant = isinstance(value, DispatchedFunction) or hasattr(type(value), "is_constant")
    if is_constant or (is_primitive and value._is_own):
        return True  # the package's, which nobody changes
    if is_primitive:
        walk.is_in_step, former = True, walk.is_in_step
        for name in ("pulls", "pushes", "patterns"):
            _mapping(walk, getattr(value, name), f"{name} of {path}")
        try:
            walk.value(value.function, path)
        except UnwatchableError as error:  # which does no harm where replays run it
            walk.watch.unwatched_steps[id(value)] = error.reason
        walk.is_in_step = former
    elif isinstance(value, WeakMethod):
        _method(walk, value, path)
    elif (inner := own_attribute(value, "__wrapped__")) is not None:
        walk.value(inner, path)
    else:
        # Classes inside the package have no state of the user's, but for mirrors of others.
        module = type(value).__module__
        is_inside = "._" in module and not module.startswith("cadiff.scipy._mirror")
        return is_inside or not library_types.is_of_python(type(value))
    return True


def _objects_in(table: Any) -> Iterator[Any]:
    """The objects in a table and its labels, but for those of pandas, which do not change."""
    columns = [x for _, x in table.items()] if getattr(table, "ndim", 1) == 2 else [table]
    for part in (*columns, *(getattr(table, name, None) for name in ("index", "columns"))):
        array = part.to_numpy() if library_types.is_table(part) else np.empty(0)
        for item in array.ravel().tolist() if array.dtype.hasobject else ():
            if not type(item).__module__.startswith("pandas."):
                yield item


_HANDLERS: dict[type, Callable[[Findings, Any, str], None]] = {
    **dict.fromkeys((object, types.SimpleNamespace), lambda walk, value, path: None),
    types.BuiltinFunctionType: _builtin,
    types.MethodType: _method,
    types.MethodWrapperType: lambda walk, value, path: walk.value(value.__self__, path),
    types.CellType: lambda walk, value, path: walk.value(walk.watch.cell(value, path), path),
    ReferenceType: lambda walk, value, path: walk.value(value(), path),
    functools.partial: _partial,
    **dict.fromkeys((property, staticmethod, classmethod), _wrapped),
    dict: _mapping,
    defaultdict: _mapping,
    OrderedDict: _ordered,
    **dict.fromkeys((list, set, deque), _sequence),
    **dict.fromkeys((tuple, frozenset, slice), _fixed),
    types.MappingProxyType: _view,
    **dict.fromkeys(map(type, ({}.keys(), {}.values(), {}.items())), _view),
    **dict.fromkeys((bytearray, array, memoryview, ctypes.Array), _buffer),
    np.ndarray: _array,
    np.void: _record,
    np.ufunc: _ufunc,
    random.Random.__mro__[1]: _generator,
    **dict.fromkeys(
        (type(threading.Lock()), type(threading.RLock())),
        lambda walk, value, path: walk.locks.append((path, value)),
    ),
}
# Of modules that are not loaded for this.
_HANDLERS_BY_NAME: dict[str, Callable[[Findings, Any, str], None]] = {
    "builtins.SuperLU": lambda walk, value, path: None,  # SciPy's
    "builtins.frozendict": _fixed_mapping,  # from Python 3.15 on
    "decimal.Decimal": of_decimals,
    "mmap.mmap": _file_in_memory,
    "scipy.spatial._ckdtree.cKDTree": _neighbours,
    **{
        f"numpy.random.{name}": _generator
        for name in (
            *("_generator.Generator", "mtrand.RandomState", "_mt19937.MT19937", "_pcg64.PCG64"),
            *("_pcg64.PCG64DXSM", "_philox.Philox", "_sfc64.SFC64"),
        )
    },
}
# Remembered answers, other loggers, and what texts are made of and written to.
_KEPT_BY_LOGGERS = frozenset(("_cache", "formatter", "lock", "loggerDict", "stream"))
_ASK_IDENTITY: tuple[Any, ...] = (id, operator.is_, operator.is_not)
