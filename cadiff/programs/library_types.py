"""What is known of types and of functions of libraries: what they hold, and what they rest on.

An entry here says that something is safe: that nothing in a value can change, or that a function
gives the same for the same arguments. What is not named may hold anything: a function that reads
it is run eagerly. No list of dangers is ever complete; but of a module that is known as a whole
the functions are listed that are not safe. A function without arguments answers from the state of
the process or of the thread.
"""

from __future__ import annotations

import builtins
import ctypes
import dataclasses
import datetime
import functools
import inspect
import io
import operator
import pathlib
import re
import struct
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, ForwardRef

import numpy as np

from ..binding import Dual, Var, own_attribute
from ..binding.callers import LIBRARIES, is_of_library, module_of

_NUMBERS = {np.dtype(code).type for code in "?bBhHiIlLqQefdgFDGSUmM"}

# Of what objects of C show
DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_DESCRIPTORS_OF_C = (
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType),
    *DESCRIPTORS,
)
# Nothing in an object of exactly these types can change, nor what it gives.
CONSTANTS: frozenset[type] = frozenset(
    (
        *(bool, int, float, complex, str, bytes, range, object, types.CodeType),
        *map(type, (None, ..., NotImplemented, dataclasses.MISSING)),  # a sentinel in Python 3.15
        *_NUMBERS,
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        *(re.Pattern, struct.Struct),
        *(operator.attrgetter, operator.itemgetter, operator.methodcaller),
        *(types.GenericAlias, types.UnionType, ForwardRef),
        # Methods of types of C as these have them, and what is within classes
        *_DESCRIPTORS_OF_C,
        type(np.sum),
        type(vars(inspect.FullArgSpec)["args"]),  # a field of a named tuple
    )
)

_GETTERS: tuple[Any, ...] = (
    *(object.__getattribute__, type.__getattribute__, ModuleType.__getattribute__),
)
_OWN_OF_PYTHON = ("__dict__", "__weakref__")
# What is in a class, and those that it derives from, whatever its metaclass would answer.
inside: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__
bases: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_FLAGS, _NAME = (type.__dict__[name].__get__ for name in ("__flags__", "__qualname__"))


def is_of_python(kind: type) -> bool:
    """Whether a class was written in Python: all of its own state is in attributes and slots.

    One of C has descriptors of its own for its methods, of which Python's have those of slots.
    """
    members = inside(kind)
    for name, part in members.items():
        if type(part) in _DESCRIPTORS_OF_C and part.__objclass__ is kind:
            is_slot = type(part) is types.MemberDescriptorType and "__slots__" in members
            if name not in _OWN_OF_PYTHON and not is_slot:
                return False
        elif name == "__new__" and type(part) is BuiltinFunctionType:
            return False
    return kind is not object


def is_fixed(kind: type) -> bool:
    """Whether nothing can be set in a class: it is one of C."""
    return bool(_FLAGS(kind) & 1 << 8)  # Py_TPFLAGS_IMMUTABLETYPE


def is_opaque(kind: type) -> bool:
    """Whether attributes of its objects are what code of the user's makes of their names."""
    for name in ("__getattr__", "__getattribute__"):
        getter = inspect.getattr_static(kind, name, None)
        if getter is not None and not [one for one in _GETTERS if getter is one]:
            return True
    return False


def holds_numbers(kind: Any) -> bool:
    """Whether a type of ctypes holds all that its objects show, rather than pointers to it."""
    while issubclass(kind, ctypes.Array):
        kind = kind._type_
    return issubclass(kind, ctypes._SimpleCData) and kind._type_ not in "OPXZz"


def is_plain(found: Any) -> bool:
    """Whether an attribute is what was found for it, and no code of a descriptor runs."""
    kind = type(found)
    known = (FunctionType, staticmethod, classmethod, *DESCRIPTORS)
    return kind in known or inspect.getattr_static(kind, "__get__", None) is None


def is_generated(name: str, part: Any) -> bool:
    """Whether a method of a dataclass is one of those that come with every dataclass."""
    if type(part) is not FunctionType or not name.startswith("__"):
        return False
    file = part.__code__.co_filename
    return file == "<string>" or is_of_library(file)


def slots(kind: type) -> Iterator[Any]:
    """What reads the slots of objects of a class: those of one name are several."""
    for base in bases(kind):
        if "__slots__" in inside(base):
            parts = inside(base).values()
            yield from (part for part in parts if type(part) is types.MemberDescriptorType)


def base_in_c(kind: type) -> type:
    """The class of C that a class is, or derives from: what Python's have not made of it."""
    return next(base for base in bases(kind) if not is_of_python(base))


_OF_ARITHMETIC = frozenset(
    f"__{side}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul")
    for side in ("", "r")
) | {
    f"__{name}__" for name in ("lt", "le", "eq", "ne", "gt", "ge", "array_ufunc", "array_function")
}


def computes_otherwise(kind: type, base: type) -> bool:
    """Whether what is computed with numbers of a class is not what `base`, of C, makes of them.

    Whatever is computed with an array of a class of its own is of that class, too. NumPy's classes
    are known: masked arrays and matrices refuse numbers with derivatives.
    """
    if issubclass(base, np.ndarray):
        return kind is not base and module_of(kind).partition(".")[0] != "numpy"
    if not issubclass(base, (float, int, complex, np.generic)):
        return False
    derived = bases(kind)[: bases(kind).index(base)]
    return any(not _OF_ARITHMETIC.isdisjoint(inside(one)) for one in derived)


def is_structure(value: Any) -> bool:
    """Whether it is a tuple of C with names, such as `sys.version_info`."""
    return issubclass(type(value), tuple) and "n_sequence_fields" in inside(type(value))


def is_safe_stream(value: Any) -> bool:
    """Whether it is where `print` writes, which f may do when it is recorded."""
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    return any(value is one for one in streams) and isinstance(value, io.IOBase)


def is_table(item: Any) -> bool:
    """Whether something is a table, such as those of pandas, which gives its numbers as arrays."""
    if issubclass(type(item), (Var, Dual)):  # which have such a name to say what to write
        return False
    return inspect.getattr_static(type(item), "to_numpy", None) is not None


def named_kind(kind: type) -> str:
    """What an object of a class is called in texts."""
    return f"a {module_of(kind)}.{name_of(kind)}".replace(" builtins.", " ")


def name_of(kind: type) -> str:
    """The name of a class, with what it is written in."""
    return str(_NAME(kind))


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
# Of these, and of classes that are built in, there is nothing to look at.
HARMLESS_BUILTINS: dict[str, Any] = {
    name: thing
    for name, thing in vars(builtins).items()
    if (name in _BUILTINS or isinstance(thing, type))
    and not (isinstance(thing, type) and issubclass(thing, BaseException))
}
# Modules of the standard library of which all is known, but for what they are followed by.
_MODULES: dict[str, frozenset[str]] = {
    name: frozenset()
    for name in (
        *("abc", "array", "ast", "base64", "binascii", "bisect", "cmath", "collections"),
        *("colorsys", "contextlib", "copyreg", "dataclasses", "difflib", "enum", "fractions"),
        *("functools", "graphlib", "hashlib", "heapq", "html", "itertools", "json", "keyword"),
        *("copy", "math", "numbers", "operator", "pickle", "pprint", "queue", "random", "re"),
        *("codecs", "encodings", "reprlib", "sre", "sre_compile", "sre_parse", "statistics"),
        *("string", "struct", "textwrap", "types", "unicodedata", "unittest", "warnings", "zlib"),
    )
} | {
    "argparse": frozenset(("parse_args", "parse_intermixed_args", "parse_known_args")),
    "calendar": frozenset(("setfirstweekday",)),
    "csv": frozenset(("field_size_limit", "get_dialect", "list_dialects", "register_dialect")),
    "decimal": frozenset(("getcontext", "setcontext")),
    "inspect": frozenset(("currentframe", "stack", "trace")),
    "posixpath": frozenset(("abspath", "expanduser", "expandvars", "realpath")),
    "traceback": frozenset(("extract_stack", "format_stack", "print_stack", "walk_stack")),
    "typing": frozenset(("get_overloads", "get_type_hints")),
    "weakref": frozenset(("finalize", "getweakrefcount", "getweakrefs")),
}
_LOGS = ("critical", "debug", "error", "exception", "fatal", "info", "log", "warn", "warning")
# And of some others, which hold what is so in this process or thread, these functions alone.
_FUNCTIONS = {
    "_thread": ("RLock", "allocate", "allocate_lock", "lock"),
    "gc": ("collect", "disable", "enable"),
    "logging": (*_LOGS, "basicConfig", "getLogger"),
    "os": ("getenv",),
    "sys": ("exc_info", "exception", "getdefaultencoding", "intern"),
    "threading": ("Lock", "RLock"),
    "time": ("sleep",),
}
# What the code of the standard library asks, of which its answers are no part.
WITHIN = frozenset(
    (
        *("__import__", "compile", "eval", "exec", "globals", "nt.fspath", "posix.fspath"),
        *("nt._path_splitroot_ex", "posix._path_splitroot_ex", "nt._path_normpath"),
        "posix._path_normpath",
        *("sys._getframe", "sys._getframemodulename", "sys.audit", "sys.getrecursionlimit"),
        *("thread._make_thread_handle", "thread._set_sentinel", "thread.daemon_threads_allowed"),
        *("thread.get_ident", "thread.start_joinable_thread", "thread.start_new_thread"),
    )
)
# Of these the methods of their classes, too: those that compute with paths, and read no files.
_METHODS = {"pathlib": frozenset((*dir(pathlib.PurePath), "__getitem__", "__len__"))}
# Functions of NumPy, SciPy and pandas that read files, or read or change settings.
_OF_NUMBERS = frozenset(
    (
        *("describe_option", "fromfile", "genfromtxt", "get_option", "load", "loadtxt", "memmap"),
        *("fromregex", "open_memmap", "reset_option", "save", "savetxt", "savez"),
        *("savez_compressed", "set_default_printstyle", "set_global_backend", "set_option"),
        *("set_printoptions", "setbufsize", "seterr", "seterrcall"),
    )
)
# And their modules that do nothing else: whatever is called `read_csv` in pandas, too.
_OF_FILES = ("scipy.datasets", "scipy.io", "pandas.io.", "pandas.read_")
_WRITES = frozenset(("dump", "tofile"))  # methods of arrays
# Those of whose classes all is known, too; of `io` only what writes into memory.
_MODULES_OF_CLASSES = frozenset(
    (*_MODULES, "_colorize", "_thread", "builtins", "ctypes", "datetime", "gc", "logging", "mmap")
    + ("threading", "uuid")
)
_CLASSES = frozenset(("io.BytesIO", "io.StringIO", "os._Environ"))
_ENTROPY = frozenset(
    (
        *("Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "Random", "RandomState"),
        *("SFC64", "SeedSequence", "default_rng"),
    )
)
_OF_TYPES = frozenset(
    (
        *("__dir__", "__instancecheck__", "__new__", "__prepare__", "__sizeof__"),
        *("__subclasscheck__", "mro"),
    )
)
_OF_CLASSES = (
    *(dict, float, int, bytes, bytearray, str, complex, tuple, list, type, object),
    types.GenericAlias,
)


def _public(root: str) -> str:
    """The module that users import, which `_py_warnings` and `_warnings` are parts of."""
    return re.sub("^_(py_?)?", "", root)


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
            # Of an object, which is known or not; a time without a zone is one of the process.
            is_naive = isinstance(owner, datetime.datetime) and owner.tzinfo is None
            is_of_zones = function.__name__ == "astimezone" or (
                function.__name__ == "timestamp" and is_naive
            )
            is_known = function.__name__ not in ("__sizeof__", *_WRITES) and not is_of_zones
            return "" if is_known else f"{type(owner).__qualname__}.{function.__name__}"
    if isinstance(function, FunctionType):  # a wrapper says that it is what it wraps
        module, name = function.__globals__.get("__name__"), function.__code__.co_name
    else:
        module = own_attribute(function, "__module__")
        name = own_attribute(function, "__name__", "")
    if not isinstance(module, str):
        module = ""
    root = module.partition(".")[0]
    is_method = "." in str(own_attribute(function, "__qualname__", ""))
    if root == "builtins":
        return "" if name in _BUILTINS else _text("", function)
    if root in _METHODS:
        return "" if name in _METHODS[root] else _text(root, function)
    if root in _FUNCTIONS:
        is_known = is_method or name in _FUNCTIONS[root]
        return "" if is_known else _text(_public(root), function)
    if root in sys.stdlib_module_names:
        public = _public(root)
        key = root if root in _MODULES else public
        return "" if key in _MODULES and name not in _MODULES[key] else _text(public, function)
    if root in LIBRARIES:
        is_of_files = f"{module}.{name}".startswith(_OF_FILES) and not is_method
        is_known = name not in _OF_NUMBERS and not is_of_files
        is_known = is_known and (is_method or not _takes_nothing(function))
        return "" if is_known else _text(root, function)
    return "" if root == "cadiff" else _text(module, function)


def unsafe_code(code: CodeType, names: dict[str, Any]) -> str:
    """The same of some code of a library: that of a function of a module, which has these names.

    Or of a method, where these are known one by one.
    """
    root = str(names.get("__name__", "")).partition(".")[0]
    if root in _METHODS:
        return "" if code.co_name in _METHODS[root] else f"{root}.{code.co_name}"
    function = names.get(code.co_name)
    is_of_it = isinstance(function, FunctionType) and function.__code__ is code
    return unsafe(function) if is_of_it else ""


def is_of_state(function: Any) -> bool:
    """Whether it is a function of NumPy, SciPy or pandas, which gets nothing to answer from."""
    module = str(own_attribute(function, "__module__", ""))
    is_bound = not isinstance(own_attribute(function, "__self__"), (ModuleType, type(None)))
    is_function = callable(function) and not is_bound and not issubclass(type(function), type)
    is_named = isinstance(own_attribute(function, "__name__"), str)
    return is_function and is_named and module.partition(".")[0] in ("numpy", "pandas", "scipy")


def loads(function: BuiltinFunctionType) -> bool:
    """Whether it makes objects of a pickle."""
    module = function.__module__ or module_of(type(function.__self__))
    return module == "_pickle" and function.__name__ in ("load", "loads")


def is_of_python_itself(module: str) -> bool:
    """Whether a module is of the standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def only_writes(code: CodeType, names: dict[str, Any]) -> bool:
    """Whether some code of the standard library answers nothing."""
    module = names.get("__name__")
    is_log = module == "logging" and code.co_name in _LOGS
    return is_log or _public(str(module)) == "warnings" or str(module).startswith("importlib.")


def is_log(function: Any) -> bool:
    """Whether it writes into a log, and answers nothing."""
    name = own_attribute(function, "__name__")
    module = own_attribute(function, "__module__")
    return module == "logging" and name in _LOGS


def is_of_logging(kind: type) -> bool:
    """Whether objects of a class are loggers, handlers, or what they are in."""
    return any(module_of(base) == "logging" for base in bases(kind))


def _takes_nothing(function: Any) -> bool:
    """Whether nothing can be handed to a function."""
    code = own_attribute(function, "__code__")
    if not isinstance(code, CodeType):
        return False
    has_more = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount == 0 and not has_more


def is_safe_class(kind: type) -> bool:
    """Whether it is known what its objects depend on, of a class of the standard library."""
    root = module_of(kind).partition(".")[0]
    if root not in sys.stdlib_module_names:
        return True
    public = _public(root)
    if name_of(kind) in _MODULES.get(public, ()):
        return False
    name = f"{public}.{name_of(kind)}"
    return name in _CLASSES or not _MODULES_OF_CLASSES.isdisjoint((root, public))


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
_followed: dict[int, tuple[int, CodeType]] = {}


def follow(code: CodeType) -> int:
    """Follow some code of a library from now on; how many are followed for longer than it."""
    return _followed.setdefault(id(code), (len(_followed), code))[0]


def n_followed() -> int:
    """How many codes of libraries are followed."""
    return len(_followed)


def is_code_read(code: CodeType) -> bool:
    """Whether names in code are followed: it is of a user's, or is treated as such."""
    return id(code) in _followed or not is_of_library(code.co_filename)


def is_class_read(kind: type) -> bool:
    """Whether a class of a library has functions whose code is read."""
    parts = (item for part in list(inside(kind).values()) for item in behind(part))
    return any(type(item) is FunctionType and is_code_read(item.__code__) for item in parts)


def behind(part: Any) -> Iterator[Any]:
    """The functions that a descriptor calls, or what else is in a class."""
    kind = type(part)
    if kind in (staticmethod, classmethod):
        yield part.__func__
    elif kind is property:
        yield from (part.fget, part.fset, part.fdel)
    elif kind in (functools.cached_property, functools.partialmethod):
        yield part.func
    else:  # also what is derived from these, whose own `__get__` may compute
        yield part
