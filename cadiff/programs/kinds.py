"""What is known of types and of functions of libraries: what they hold, and rest on.

Whatever is not named here may hold anything, and a function that reads it is run as it is. So an
entry says that something is safe: that nothing in a value can change, or that a function gives the
same for the same arguments. No list of dangers is ever complete; but a module that is known as a
whole names those of its functions that are none of this.
"""

from __future__ import annotations

import datetime
import functools
import inspect
import io
import operator
import re
import struct
import sys
import threading
import types
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..binding import own_attribute
from ..binding.callers import is_of_library

__all__ = [
    "CONSTANTS",
    "base_in_c",
    "behind",
    "follow",
    "is_class_read",
    "is_of_python",
    "is_random",
    "is_read",
    "is_safe_class",
    "is_safe_stream",
    "is_structure",
    "unsafe",
    "unsafe_method",
]

_NUMBERS = {np.dtype(code).type for code in "?bBhHiIlLqQefdgFDGSUmM"}

_DESCRIPTORS_OF_C = (
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
)
# Nothing in an object of exactly these types can change, nor what it gives.
CONSTANTS: frozenset[type] = frozenset(
    (
        *(bool, int, float, complex, str, bytes, range, object, types.CodeType),
        *map(type, (None, ..., NotImplemented)),
        *_NUMBERS,
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        *(re.Pattern, struct.Struct),
        *(operator.attrgetter, operator.itemgetter, operator.methodcaller),
        *(types.GenericAlias, types.UnionType),
        # Methods of types of C as these have them, and what is within classes
        *_DESCRIPTORS_OF_C,
        # Whether they are held now is nothing to compute with.
        *(type(threading.Lock()), type(threading.RLock())),
        *(type(np.sum), type(np.ones(1).flags)),
        type(vars(inspect.FullArgSpec)["args"]),  # a field of a named tuple
    )
)

_OWN_OF_PYTHON = ("__dict__", "__weakref__")


def is_of_python(kind: type) -> bool:
    """Whether a class was written in Python: all of its own state is in attributes and slots.

    One of C has descriptors of its own for its methods, of which Python's have those of slots.
    """
    own = type.__dict__["__dict__"].__get__(kind)
    slots = own.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else tuple(slots)
    for name, part in own.items():
        if isinstance(part, _DESCRIPTORS_OF_C) and part.__objclass__ is kind:
            is_slot = isinstance(part, types.MemberDescriptorType) and slots
            if name not in _OWN_OF_PYTHON and not is_slot:
                return False
        elif name == "__new__" and isinstance(part, BuiltinFunctionType):
            return False
    return kind is not object


def base_in_c(kind: type) -> type:
    """The class of C that a class is, or derives from: what Python's have not made of it."""
    return next(base for base in kind.__mro__ if not is_of_python(base))


def is_structure(value: Any) -> bool:
    """Whether it is a tuple of C with names, such as `sys.version_info`."""
    return isinstance(value, tuple) and "n_sequence_fields" in vars(type(value))


def is_safe_stream(value: Any) -> bool:
    """Whether it is where `print` writes, which f may do when it is recorded."""
    return isinstance(value, io.IOBase) and any(
        value is one for one in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    )


# --- functions -----------------------------------------------------------------------------------

# Those built in that depend on nothing but their arguments, or whose effects are watched.
_BUILTINS = frozenset(
    (
        *("abs", "aiter", "all", "anext", "any", "ascii", "bin", "callable", "chr", "delattr"),
        *("dir", "divmod", "format", "getattr", "hasattr", "hash", "hex", "id", "isinstance"),
        *("issubclass", "iter", "len", "locals", "max", "min", "next", "oct", "ord", "pow"),
        *("print", "repr", "round", "setattr", "sorted", "sum", "vars", "__build_class__"),
    )
)
# Modules of the standard library of which all is known, but for what they are followed by.
_MODULES: dict[str, frozenset[str]] = {
    name: frozenset()
    for name in (
        *("abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath"),
        *("collections", "colorsys", "contextlib", "copy", "copyreg", "csv", "dataclasses"),
        *("decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib"),
        *("heapq", "html", "inspect", "itertools", "json", "keyword", "logging", "math"),
        *("numbers", "operator", "pickle", "posixpath", "pprint", "queue", "random"),
        *("re", "reprlib", "statistics", "string", "struct", "textwrap", "traceback"),
        *("types", "typing", "unicodedata", "unittest", "warnings", "weakref", "zlib"),
    )
} | {
    "threading": frozenset(("active_count", "enumerate")),
    "gc": frozenset(("get_objects", "get_count", "get_stats", "get_referrers")),
    "_thread": frozenset(("start_new_thread", "start_new")),
}
_MODULES["inspect"] = frozenset(("stack", "currentframe", "trace"))
_MODULES["posixpath"] = frozenset(("abspath", "realpath", "expanduser", "expandvars"))
# And of some others these functions alone.
_FUNCTIONS = {
    "pathlib": (  # those that compute with paths, and read no files
        *("anchor", "as_posix", "as_uri", "drive", "full_match", "is_absolute", "is_relative_to"),
        *("is_reserved", "joinpath", "match", "name", "parent", "parents", "parts", "relative_to"),
        *("root", "stem", "suffix", "suffixes", "with_name", "with_stem", "with_suffix"),
        *("__bytes__", "__eq__", "__fspath__", "__ge__", "__getitem__", "__gt__", "__hash__"),
        *("__le__", "__len__", "__lt__", "__repr__", "__rtruediv__", "__str__", "__truediv__"),
    ),
    "sys": ("exc_info", "getdefaultencoding", "getrefcount", "getsizeof", "intern"),
    "time": ("sleep",),
}
# Functions of NumPy and SciPy that read files, or what others have set.
_OF_NUMBERS = frozenset(
    (
        *("fromfile", "genfromtxt", "get_printoptions", "geterr", "load", "loadtxt", "memmap"),
        *("save", "savetxt", "savez", "savez_compressed", "set_printoptions", "seterr"),
    )
)
# Those of whose classes all is known, too; of `io` only what writes into memory.
_MODULES_OF_CLASSES = frozenset((*_MODULES, "builtins", "ctypes", "datetime", "mmap", "uuid"))
_CLASSES = frozenset(("io.BytesIO", "io.StringIO", "os._Environ"))
_ENTROPY = frozenset(
    (
        *("Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "Random", "RandomState"),
        *("SFC64", "SeedSequence", "default_rng"),
    )
)
_OF_TYPES = frozenset(
    (
        "__dir__",
        "__instancecheck__",
        "__new__",
        "__prepare__",
        "__sizeof__",
        "__subclasscheck__",
        "mro",
    )
)
_OF_CLASSES = (dict, float, int, bytes, bytearray, str, complex, tuple, list, type, object)


def unsafe(function: Any) -> str:
    """Why a function that is no code of the user's may give something else each time; or ""."""
    if isinstance(function, BuiltinFunctionType):
        owner = function.__self__
        if isinstance(owner, type):  # a method of a class
            if function.__name__ in vars(type) and function.__name__ not in _OF_TYPES:
                return f"{owner.__qualname__}.{function.__name__}"
            base = base_in_c(owner)
            root = base.__module__.partition(".")[0]
            known = base in _OF_CLASSES or root not in sys.stdlib_module_names
            return "" if known else _text(f"{owner.__module__}.{owner.__name__}", function)
        if owner is not None and not isinstance(owner, ModuleType):
            return ""  # of an object, which is known or not
    if isinstance(function, FunctionType):  # a wrapper says that it is what it wraps
        module, name = function.__globals__.get("__name__"), function.__code__.co_name
    else:
        module = own_attribute(function, "__module__")
        name = own_attribute(function, "__name__", "")
    if not isinstance(module, str):
        module = ""
    root = module.partition(".")[0]
    if root == "builtins":
        return "" if name in _BUILTINS else _text("", function)
    if root in _FUNCTIONS:
        return "" if name in _FUNCTIONS[root] else _text(root, function)
    if root in sys.stdlib_module_names:
        public = root.lstrip("_")
        key = root if root in _MODULES else public
        return "" if key in _MODULES and name not in _MODULES[key] else _text(public, function)
    if root in ("numpy", "scipy"):
        return _text(root, function) if name in _OF_NUMBERS else ""
    return "" if root in ("cadiff", "pandas") else _text(module, function)


def unsafe_method(module: str, name: str) -> str:
    """Why a method may give something else each time, of a module that is known in part; or ""."""
    root = module.partition(".")[0]
    return f"{root}.{name}" if name not in _FUNCTIONS.get(root, (name,)) else ""


def is_safe_class(kind: type) -> bool:
    """Whether it is known what its objects depend on, of a class of the standard library."""
    root = kind.__module__.partition(".")[0]
    if root not in sys.stdlib_module_names:
        return True
    name = f"{root.lstrip('_')}.{kind.__qualname__}"
    return name in _CLASSES or not _MODULES_OF_CLASSES.isdisjoint((root, root.lstrip("_")))


def is_random(function: Any) -> bool:
    """Whether something that is called with nothing is a generator without a seed."""
    module = str(own_attribute(function, "__module__", ""))
    name = own_attribute(function, "__name__")
    return module.startswith(("numpy.random", "random")) and name in _ENTROPY


def _text(module: str, function: Any) -> str:
    name = own_attribute(function, "__name__", type(function).__name__)
    return f"{module}.{name}" if module else name


# --- code of libraries of which nothing is known -------------------------------------------------

# What was seen to run of it: that is read as the code of users.
_followed: dict[int, CodeType] = {}


def follow(code: CodeType) -> bool:
    """Follow some code of a library from now on; False if it was followed already."""
    is_new = id(code) not in _followed
    _followed[id(code)] = code
    return is_new


def is_read(function: FunctionType) -> bool:
    """Whether its names are followed: it is of a user's, or is treated as such."""
    code = function.__code__
    return id(code) in _followed or not is_of_library(code.co_filename)


def is_class_read(kind: type) -> bool:
    """Whether a class of a library has such functions."""
    parts = (item for part in list(vars(kind).values()) for item in behind(part))
    return any(isinstance(item, FunctionType) and is_read(item) for item in parts)


def behind(part: Any) -> Iterator[Any]:
    """The functions that a descriptor calls, or what else is in a class."""
    if isinstance(part, (staticmethod, classmethod)):
        yield part.__func__
    elif isinstance(part, property):
        yield from (part.fget, part.fset)
    elif isinstance(part, (functools.cached_property, functools.partialmethod)):
        yield part.func
    else:
        yield part
