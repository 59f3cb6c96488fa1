"""What classes and their objects hold: attributes, slots, methods, fields, bases.

A class of the standard library is refused unless it is known what its objects depend on.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import warnings
from types import FunctionType
from typing import Any

from ..binding.callers import is_class_of_library, module_of
from ..transforms._flat import functions_of
from . import library_types
from .findings import Findings
from .reasons import UNKNOWN, UnwatchableError
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
