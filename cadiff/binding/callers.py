"""Who called: what the user wrote that gave a number to code of C or of a library.

For the texts of errors and of reasons alone: it reads frames, and source where there is some. It
knows nothing of numbers, and nothing depends on what it finds.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import linecache
import os
import re
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

from .bytecode import Kind, kind_at

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MODULE: Callable[[type], Any] = type.__dict__["__module__"].__get__
_RUNNERS = ("cadiff.transforms", "cadiff.programs", "cadiff.inspection")  # which call users' f
_NO_CALLERS = ("cadiff", "scipy")  # packages whose lines warnings do not name
_MOST_TEXT = 60
_NAMELESS = "a function of "
_DEPTH = 4  # functions of a library, of which the first may be a wrapper
_VALUE = "cadiff.value(v)"
# Modules that write numbers as text or bytes, or make numbers of their own.
_WRITERS = (
    *("csv.", "datetime.", "decimal.", "fractions.", "json.", "logging.", "pickle.", "struct."),
    *(_NAMELESS + "fractions", _NAMELESS + "json"),
)

_OF_TABLES = (
    "compute with arrays, x or table.to_numpy(): cadiff.numpy has mean, std, cumsum and, for "
    "windows, lib.stride_tricks.sliding_window_view"
)
# What to write in the place of what is in a library, by how its names begin.
_INSTEAD = {
    "scipy.fft.": "cadiff.scipy.fft has them; once it is imported, these take v, too",
    "scipy.sparse.linalg._interface.": "multiply what an operator gives, or its matrix, "
    "not the operator",
    "jax.": "cadiff.numpy has its functions, and cadiff.interop.jax.primitive(f) makes a function "
    "of JAX's arrays an operation, after `import cadiff.interop.jax`",
    "mpmath.": "cadiff.scipy.special has many of its functions",
    "pandas.": _OF_TABLES,
    "polars.": _OF_TABLES,
    "pytensor.": "cadiff.numpy has its functions, and cadiff.interop.pytensor.op(f) makes f an "
    "operation of PyTensor's variables, after `import cadiff.interop.pytensor`",
    "statistics.": "cadiff.numpy has mean, median, var and std",
    "numpy.lib.as_strided": "take x.reshape(-1)[places] at places of "
    "as_strided(np.arange(x.size), ...)",
    "sympy.": 'sympy.lambdify(symbols, expression, "numpy") makes a function that takes v',
    "torch.": "cadiff.numpy and cadiff.nn have its functions, and "
    "cadiff.interop.torch.primitive(f) makes a function of tensors an operation, after "
    "`import cadiff.interop.torch`",
}
# Whose tables may hold numbers with derivatives.
_TABLES = ("pandas", "polars")
_HOSTS = (
    *_TABLES,
    "jax",
    "numba",
    "pytensor",
    "sympy",
    "torch",
)  # which have exceptions of their own
# What is raised where something is no plain number, and how it says so.
_FOREIGN = (
    *(TypeError, ValueError, AttributeError, IndexError, RuntimeError, struct.error),
    *(KeyError, SystemError),  # of a table by types; of SciPy's distributions
    ZeroDivisionError,  # of arrays of objects
)
_OF_TYPES = re.compile(
    r"\b(Var|Dual|\w*[Oo]bject\w*|d?types?|float|Rational|integers|unhashable|_parse_args)\b"
    r"|^'O'$"
)
# Messages about users' own lines: what stands there, and what to write instead.
_ANSWERS = (
    (
        "The truth value of an array",
        "",
        "write {}, which chooses for each element; np.max(v) is the greatest, and "
        "condition.all() and condition.any() ask for all of them",
    ),
    ("array is read-only", "permutation", "write x[rng.permutation(len(x))]"),
    ("unexpected keyword argument 'dim'", "dim", "write axis="),
    ("unexpected keyword argument 'keepdim'", "keepdim", "write keepdims="),
    *(
        (
            words,
            "",
            "a number without axes holds no elements: call f with an array or a list, or write "
            "cadiff.numpy.atleast_1d(v)",
        )
        for words in ("not iterable", "non-iterable", "must be an iterable", "has no len()")
    ),
    (
        "tuple index out of range",
        ".shape[",
        "a number has no axes, and its shape is (): call f with an array, or write "
        "cadiff.numpy.atleast_1d(v)",
    ),
)
# Whose functions give the same for the same arguments, but for those that library_types.py names.
LIBRARIES = ("cyipopt", "nlopt", "numpy", "pandas", "scipy")
# What is said where arrays, or tables, are given to functions of one number.
_OF_ONE = re.compile(
    r"only (0-dimensional|length-1|size-1) arrays|cannot convert the series"
    r"|must be real number, not (?!bytes|complex|dict|None|str)"
)
_WRAPPED = ("copy", "original")  # what wrappers of this package call the function within
_OWN_NAMES = re.compile(r"\bcadiff\.(Var|Dual)\b")
_CONVERSIONS: dict[Any, str] = {
    float: "a Var computes like a float already; cadiff.value(v) is its value",
    int: "write int(cadiff.value(v)), which has no derivative",
    complex: "write v + 0j, which keeps the derivative; cadiff.value(v) is the value",
    range: "a count has no derivative: write range(int(cadiff.value(v))), or pass an int",
}


@cache
def _known_places() -> tuple[str, ...]:
    """Where the libraries stand that are known, as far as they are installed.

    Code in frozen programs names its files as they were called where it was frozen, or from the
    folder of their package.
    """
    specs = map(importlib.util.find_spec, LIBRARIES)
    places = [place for spec in specs if spec for place in spec.submodule_search_locations or ()]
    built = os.path.dirname(os.path.dirname(os.path.dirname(is_own_file.__code__.co_filename)))
    places += [os.path.join(built, name) for name in ("cadiff", *LIBRARIES)]
    return tuple(os.path.join(place, "") for place in places)


@cache
def _places() -> tuple[str, ...]:
    """Where code stands that is Python's, of this package, or installed."""
    from sysconfig import get_path  # which takes a while

    installed = map(get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    return *{os.path.join(path, "") for path in (*installed, _PACKAGE)}, *_known_places()


def is_of_library(file: str) -> bool:
    """Whether a file of code is Python's, of this package, or of an installed library."""
    return file.startswith(("<frozen", "<__array_function__", *_places()))


def is_own_file(file: str) -> bool:
    """Whether a file of code is of this package; those of Cython are named by what they are in."""
    return file.startswith((os.path.join(_PACKAGE, ""), os.path.join("cadiff", "")))


def is_of_known_library(file: str) -> bool:
    """Whether a file of code is Python's, of this package, or of a library that is known."""
    if file.startswith((os.path.join(_PACKAGE, ""), *_known_places())):
        return True
    return is_of_library(file) and f"-packages{os.sep}" not in file  # site- or dist-packages


def is_module_of_library(module: ModuleType) -> bool:
    """Whether a module is built in, of this package, or of an installed library."""
    file = getattr(module, "__file__", None)
    return module.__name__ in sys.stdlib_module_names if file is None else is_of_library(file)


def module_of(kind: type) -> str:
    """The module of a class, whatever its metaclass would answer."""
    return str(_MODULE(kind))  # of functions in Cython it is no text


def is_class_of_library(kind: type) -> bool:
    """Whether a class is Python's, or that of an installed library."""
    module = sys.modules.get(module_of(kind))
    return module is not None and is_module_of_library(module)


def _found(frame: FrameType | None) -> tuple[FrameType | None, list[FrameType]]:
    """The frame of the user's that is at work, or None, and those of the library that it called.

    These begin with the one that was called. What this package differentiates is the user's,
    wherever it is installed.
    """
    inner: list[FrameType] = []
    while frame is not None and is_of_library(frame.f_code.co_filename):
        if _module_of(frame).startswith(_RUNNERS):
            if inner and not _module_of(inner[-1]).startswith("cadiff."):
                return inner.pop(), inner[::-1]
            break
        inner.append(frame)
        frame = frame.f_back
    else:
        return frame, inner[::-1]
    return None, inner[::-1]


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_users(frame: FrameType) -> bool:
    """Whether it runs code of no library; what Cython compiled names files that are nowhere."""
    file = getattr(sys.modules.get(_module_of(frame)), "__file__", None) or ".py"
    is_compiled = not file.endswith(".py") and is_of_library(file)
    return not (is_compiled or is_of_library(frame.f_code.co_filename))


def _public(frame: FrameType) -> str:
    """What a function of a library is called by its users: a wrapper as what it wraps."""
    code, variables = frame.f_code, frame.f_locals
    of = next((variables[name] for name in code.co_freevars if name in _WRAPPED), None)
    name = getattr(of, "__qualname__", getattr(code, "co_qualname", code.co_name))
    name = name.split(".<locals>")[0].removesuffix(".__init__").removesuffix(".__call__")
    module = getattr(of, "__module__", None) or _module_of(frame)
    public = [part for part in module.split(".") if not part.startswith("_")]
    for k in range(1, len(public) + 1):
        if hasattr(sys.modules.get(".".join(public[:k])), name.split(".")[0]):
            public = public[:k]
            break
    module = ".".join(public)
    owner = variables.get("self")
    kind, home = type(owner).__name__, sys.modules.get(module)
    if name.startswith("_") and hasattr(home, kind):  # of a class that it extends
        name = kind
    for known, thing in vars(home or ast).items():
        if owner is not None and thing is owner:  # it has methods, as scipy.stats.norm
            name = f"{known}.{code.co_name}".removesuffix(".__call__")
    if any(part.startswith("_") for part in name.split(".")):
        return f"{_NAMELESS}{module}"
    return f"{module}.{name}".removeprefix("cadiff.") if len(public) > 1 else f"{module}.{name}"


def called() -> str:
    """The function of this package that the user called."""
    frame: FrameType | None = sys._getframe(1)
    outermost = None
    while frame is not None and _module_of(frame).startswith("cadiff."):
        outermost, frame = frame, frame.f_back
    return "a function of cadiff" if outermost is None else _public(outermost)


def explain(error: BaseException, carries: Callable[[Any], bool]) -> None:
    """Note on an error of other code what was called that takes plain numbers alone.

    `carries` tells whether there are numbers with derivatives in something.
    """
    _explain_one(error)
    message = str(error)
    in_line, answer = next((rest for words, *rest in _ANSWERS if words in message), ("", ""))
    if (
        not (isinstance(error, _FOREIGN) or _host_of(type(error)) in _HOSTS)
        or not hasattr(error, "add_note")
        or any("cadiff." in note for note in getattr(error, "__notes__", ()))
        or "computes with plain numbers" in message
    ):
        return
    frames = list(_frames_of(error))
    users = [k for k, (one, _) in enumerate(frames) if _is_users(one)]
    if not users:
        return
    (user, at), inner = frames[users[-1]], [frame for frame, _ in frames[users[-1] + 1 :]]
    says_enough = "derivative" in message or "cadiff." in _OWN_NAMES.sub("", message)
    is_of_types = not says_enough and (_OF_TYPES.search(message) or answer)
    # Whatever SciPy says that has a namesake here, the number with a derivative is to blame.
    if not is_of_types and not any(map(_is_scipys, inner[:_DEPTH])):
        return
    if answer:
        text = _text_at(user, at) or ""
        is_met = in_line in text and _are_met(_named_in(text, user), carries)
        found = answer.format(without_branch(text)) if is_met else ""
    elif inner:
        values = [*inner[0].f_locals.values(), *_named_in(_text_at(user, at), user)]
        if _module_of(inner[0]).startswith("cadiff.") or not _are_met(values, carries):
            return
        found = _of_library(inner, _text_at(user, at))
    else:
        if not _are_met(_named_in(_text_at(user, at), user), carries):
            return
        told = _of_kinds(message)
        found = _of_line(user, at) if told is None else told
    if found and found not in getattr(error, "__notes__", ()):
        error.add_note(found)


def place(error: BaseException) -> str | None:
    """The line of the user's at which an error was raised, or what raised it was called."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if _is_users(trace.tb_frame):
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _frames_of(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, max(trace.tb_lasti, 0)
        trace = trace.tb_next


def _explain_one(error: BaseException) -> None:
    """Note what to write where a function of one number, as math.exp, is given an array."""
    users = [(one, at) for one, at in _frames_of(error) if _is_users(one)]
    if not users or not _OF_ONE.match(str(error)) or not hasattr(error, "add_note"):
        return
    tree = _parsed(_text_at(*users[-1]))
    if isinstance(tree, ast.Call) and (function := _value_of(tree.func, users[-1][0])) is not None:
        way = _of_call(function, ast.unparse(tree.func), "")
        is_told = way in getattr(error, "__notes__", ())
        if getattr(function, "__module__", "") == "math" and not is_told:
            error.add_note(way)


_HIDDEN = (*_RUNNERS, "cadiff.binding", "cadiff.optimize")


def shortened(error: BaseException) -> BaseException:
    """An error that a user's function has raised, to be raised again by the frame that caught it.

    Its traceback goes without the frames of this package, and of libraries, by which the function
    was called; those of users, and all from the function on, are kept. With
    CADIFF_FULL_TRACEBACKS in the environment nothing is left out.
    """
    trace = error.__traceback__
    if trace is None:
        return error
    _explain_one(error)
    error.__traceback__ = trace = trace.tb_next  # raising it adds this frame again
    if os.environ.get("CADIFF_FULL_TRACEBACKS"):
        return error
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    are_ours = [_module_of(entry.tb_frame).startswith(_HIDDEN) for entry in entries]
    begins = [k for k in range(1, len(entries)) if are_ours[k - 1] and not are_ours[k]]
    if not begins:
        return error
    shown, before = entries[begins[-1]], slice(begins[-1] - 1, None, -1)
    for entry, is_ours in zip(entries[before], are_ours[before], strict=True):
        if not is_ours and not is_of_library(entry.tb_frame.f_code.co_filename):
            shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = shown
    return error


def _are_met(values: Any, carries: Callable[[Any], bool]) -> bool:
    """Whether there are numbers with derivatives among some values, and in closures of these."""
    given = [_opened(x) for x in values]
    cells = [c for x in given if isinstance(x, FunctionType) for c in x.__closure__ or ()]
    return any(map(carries, [*given, *(c.cell_contents for c in cells)]))


def _host_of(kind: type) -> str:
    """The library that a class is of."""
    return module_of(kind).partition(".")[0]


def _opened(x: Any) -> Any:
    """What is in a table, or in what is made of one, as a window; x of anything else."""
    x = getattr(x, "obj", x) if _host_of(type(x)) in _TABLES else x
    if _host_of(type(x)) in _TABLES:
        with contextlib.suppress(Exception):  # it may be half made
            return x.to_numpy()
    return x


def _named_in(text: str | None, frame: FrameType) -> list[Any]:
    """What the names in an expression stand for."""
    tree = _parsed(text)
    nodes = [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [_value_of(node, frame) for node in nodes]


def _parsed(text: str | None) -> ast.expr | None:
    try:
        return ast.parse(text or "", mode="eval").body
    except SyntaxError:
        return None


n_refused = 0  # numbers with derivatives where plain ones are needed


def advice() -> str:
    """Which call wants a plain number of one with a derivative, and what to write instead."""
    global n_refused
    n_refused += 1
    user, inner = _found(sys._getframe(1))
    if user is not None and _is_scipys(user):  # f itself
        inner = [user, *inner]
    if inner:
        at_work = None if user is None or user in inner else user
        found = _of_library(inner, at_work and _text_at(at_work, max(at_work.f_lasti, 0)))
    else:
        found = "" if user is None else _of_line(user, max(user.f_lasti, 0))
    if not found or "cadiff.value(v)" in found:
        return found
    return f"{found}, or cadiff.value(v) for the value"


def seam_of(kind: type) -> str:
    """What to write where f gets an object of another library; "" if there is no seam to it."""
    made = {"jax": "function", "pytensor": "op", "torch": "function"}
    host = _host_of(kind)
    seam = f"cadiff.interop.{host}"
    return f"write {seam}.{made[host]}(f)(x), after `import {seam}`" if host in made else ""


def array_of(x: Any) -> Any:
    """The array that one of another library's makes; if it makes none, an error says a way."""
    import numpy  # before which a subinterpreter has to be refused

    try:
        return numpy.asarray(x)
    except Exception as error:
        host, way = _host_of(type(x)), seam_of(type(x)) or "pass an array of its numbers"
        if host == "torch":
            is_small = "BFloat16" in str(error)
            way = "write x.float()" if is_small else f"{way}, or x.detach() for a constant"
        kind = f"{type(x).__name__} of {host}"
        raise TypeError(
            f"cadiff computes with NumPy's arrays, and this {kind} makes none: {way}"
        ) from error


def has_own() -> bool:
    """Whether a function of SciPy's asks for the elements of an array that this package has, too.

    It would compute with one number after the other.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _module_of(frame).startswith("scipy."):
        if _is_scipys(frame):
            return True
        frame = frame.f_back
    return False


def _is_scipys(frame: FrameType) -> bool:
    """Whether it runs a function of SciPy's that this package has, too."""
    name = _public(frame) if _module_of(frame).startswith("scipy.") else ""
    return name.startswith("scipy.") and _is_own(name)


def _of_library(frames: list[FrameType], text: str | None) -> str:
    """For a call of a library, by the first of its functions that has a public name.

    Where it was called by an operator, as other libraries' are, the text of the call tells more.
    """
    names = [_public(frame) for frame in frames[:_DEPTH]]
    name = next((name for name in names if not name.startswith(_NAMELESS)), names[0])
    if name.startswith("operations."):
        return ""  # it was called by NumPy's protocols
    if name.startswith(_WRITERS):
        return f"{name} takes plain numbers: give it {_VALUE}"
    is_hosts = name.partition(".")[0] in _HOSTS and text and len(text) <= _MOST_TEXT
    return f"{repr(text) if is_hosts else name} computes with plain numbers: {_instead_of(name)}"


def _instead_of(name: str) -> str:
    """What to write instead of a function of a library."""
    if _is_own(name):
        parts = name.split(".")
        modules = [".".join(parts[:k]) for k in range(1, len(parts))]
        module = next(one for one in reversed(modules) if one in sys.modules)
        after = f", after `import cadiff.{module}`," if module.startswith("scipy") else ","
        return (
            f"write cadiff.{name}{after} and cadiff.value(v) for an argument that is no number "
            "there"
        )
    ways = next((way for prefix, way in _INSTEAD.items() if prefix in f"{name}."), "")
    of_scipy = re.match(r"scipy(\.[a-z]+)+(?=\.)", name)
    spec = importlib.util.find_spec(f"cadiff.{of_scipy[0]}") if of_scipy and not ways else None
    if of_scipy and spec is not None and spec.origin is not None:  # it has more than the names
        ways = f"cadiff.{of_scipy[0]} takes such numbers, after `import cadiff.{of_scipy[0]}`"
    return (
        f"{ways or 'write it with functions of cadiff'}; or give it cadiff.value(v), or make "
        "it an operation with a rule (cadiff.primitive)"
    )


def _attribute(path: str) -> Any:
    """What is found under a name of this package; None if there is nothing."""
    found: Any = None
    names = path.split(".")
    for k, name in enumerate(names):
        inner = getattr(found, name, None)
        if inner is None and (found is None or isinstance(found, ModuleType)):
            try:
                inner = importlib.import_module(".".join(names[: k + 1]))
            except ImportError:
                return None
        found = inner
    return found


def _is_own(name: str) -> bool:
    """Whether this package has a function of that name, not one that it passes on."""
    found, owner = (_attribute(f"cadiff.{n}") for n in (name, name.rpartition(".")[0]))
    modules = (f"{getattr(one, '__module__', '')}." for one in (found, owner))
    return callable(found) and any(module.startswith("cadiff.") for module in modules)


_QUOTED = re.compile(r"'([\w.]+)'|^(list|tuple)(?= indices)")
_OWN = ("cadiff.Var", "cadiff.Dual", "Complex")
_CONTENTS = {"list": "elements", "tuple": "elements", "dict": "values"}
_OF_ARRAYS = ("T", "dot", "max", "mean", "min", "ndim", "reshape", "shape", "size", "sum")


def _of_kinds(message: str) -> str | None:
    """For what Python says of operators, indices and attributes, by the types that it names.

    None where numbers with derivatives may be to blame.
    """
    named = [one or other for one, other in _QUOTED.findall(message)]
    own = [kind for kind in named if kind in _OWN]
    others = [kind for kind in named if kind not in _OWN]
    containers = [kind for kind in others if kind in _CONTENTS]
    if message.endswith("object is not callable") and own:
        return "a number cannot be called: is an operator missing, as in x * (y + 1.0)?"
    if message.startswith("unsupported operand"):
        if " for ^" in message and own:
            return "powers are written x ** y"
        if not containers and not (own and others):
            return None if own else ""
        if not containers:
            is_plain = others[0] in ("NoneType", "str", "bytes")  # which says enough
            return "" if is_plain else f"{others[0]} is no number here: make a float of it"
    elif message.startswith("can't multiply sequence"):
        if own:
            return None
        containers = containers or ["list"]
    elif (
        containers == ["dict"]
        and named[-1] not in _OF_ARRAYS
        and message.endswith(f"object has no attribute '{named[-1]}'")
    ):
        return f"f gets a dict where it is called with one: write p[{named[-1]!r}] for an entry"
    elif not containers or not (
        named[-1] in _OF_ARRAYS
        or message.endswith("indices must be integers or slices, not tuple")
    ):
        return None
    return (
        f"f gets a {containers[0]} where it is called with one: compute with its "
        f"{_CONTENTS[containers[0]]}, or call f with an array, numpy.array([...])"
    )


def _of_line(frame: FrameType, at: int) -> str:
    """For what a line of the user's asks of C."""
    text = _text_at(frame, at)
    here = f"{text!r} " if text and len(text) <= _MOST_TEXT and "\n" not in text else "this line "
    if kind_at(frame.f_code, at) is Kind.STORE_ITEM:
        return (
            f"{here}is assigned to in an array of plain numbers: make it with cadiff.zeros(shape) "
            "or cadiff.array(a), whose elements may have derivatives"
        )
    tree = _parsed(text)
    if isinstance(tree, ast.Subscript):
        if isinstance(tree.slice, ast.Constant) and isinstance(tree.slice.value, str):
            return (
                f"{here}asks for a label, but tables are arrays where they are differentiated: "
                "index by position, pass a dict of columns, or make the table a container "
                "(cadiff.register_container)"
            )
        if isinstance(tree.slice, (ast.Constant, ast.Slice)):
            return ""
        if isinstance(tree.value, ast.Dict) or isinstance(_value_of(tree.value, frame), dict):
            return f"{here}looks up a key: a number with a derivative is none, {_VALUE} is"
        return f"{here}takes an int as its index: write int({_VALUE}), or use an int"
    if isinstance(tree, (ast.Dict, ast.Set)):
        return f"{here}has keys: a number with a derivative is none, {_VALUE} is"
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mod):
        return f"{here}writes a number as text: give it {_VALUE}"
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        return f"{here}repeats a sequence, which takes an int: write int({_VALUE})"
    if isinstance(tree, ast.Call):
        of, function = tree.func, _value_of(tree.func, frame)
        while function is None and isinstance(of, (ast.Attribute, ast.Call)):
            of = of.value if isinstance(of, ast.Attribute) else of.func  # whose method it is
            function = _value_of(of, frame)
        return _of_call(function, ast.unparse(tree.func), here)
    return ""


_DRAWING = re.compile(r"(^|\.)(random|rng|default_rng)\b")
_OF_COUNTS = ("arange", "empty", "eye", "identity", "ones", "tri", "zeros")
_OF_INTS = ("comb", "factorial", "gcd", "isqrt", "lcm", "perm")


def _of_call(function: Any, name: str, here: str) -> str:
    """For a call of a function of C."""
    own = getattr(function, "__name__", "")
    is_of_numpy = getattr(function, "__module__", "") == "numpy"
    if own in _OF_INTS or (is_of_numpy and own in _OF_COUNTS):
        return f"{here}takes ints, which have no derivative: write int({_VALUE})"
    if _DRAWING.search(name):
        return (
            f"{here}draws numbers, which have no derivative by its arguments: draw them for plain "
            "ones, and compute with what is drawn, as loc + scale * rng.standard_normal()"
        )
    if (home := getattr(function, "__module__", "")) in ("cmath", "math"):
        for package in ("cadiff", "cadiff.math") if home == "math" else ("cadiff.cmath",):
            if own and _attribute(f"{package}.{own}") is not None:
                return f"write {package}.{own}(v) instead of {name}(v)"
    if isinstance(function, type):
        kind = float if issubclass(function, float) else function
        if kind in _CONVERSIONS:
            return f"{here}wants a plain number: {_CONVERSIONS[kind]}"
    if str(getattr(function, "__module__", "")).split(".")[0] == "numpy" and (
        own in ("array", "asarray", "ascontiguousarray", "asanyarray", "fromiter", "full")
    ):
        return (
            "write cadiff.array([...]), which holds numbers with derivatives, instead of "
            f"{name}([...])"
        )
    if name.endswith(".fill"):
        return "make the array with cadiff.zeros or cadiff.array, which holds such numbers"
    kind = type(getattr(function, "__self__", function))
    public = [m for m in list(sys.modules) if m.startswith(("numpy", "scipy.")) and "._" not in m]
    for one, called in ((function, own), (kind, kind.__name__)):
        if place := next((m for m in public if vars(sys.modules[m]).get(called) is one), ""):
            break
    place = place or str(getattr(function, "__module__", ""))
    return f"{here}computes with plain numbers: {_instead_of(f'{place}.{own}')}"


def _value_of(node: ast.expr, frame: FrameType) -> Any:
    """What a name stands for, without running anything: attributes are those of modules alone."""
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute):
        of = _value_of(node.value, frame)
        return getattr(of, node.attr, None) if isinstance(of, ModuleType) else None
    return None


# Texts of comparisons that choose, and functions without a branch for them.
_CHOICES = {
    "while ": "cadiff.while_loop",
    "max(": "np.maximum(v, w), or cadiff.maximum",
    "min(": "np.minimum(v, w), or cadiff.minimum",
    "sorted(": "np.sort(v)",
    ".sort(": "np.sort(v)",
}
_CHOOSE = "np.where(condition, v, w), or cadiff.where"


def without_branch(text: str) -> str:
    """What to write in the place of what compares numbers."""
    return next((way for name, way in _CHOICES.items() if name in text), _CHOOSE)


def users_place() -> tuple[CodeType, int, int] | None:
    """For who is told of an operation: the code of the user's at work, where it is, its line."""
    frame, _ = _found(sys._getframe(2))
    return None if frame is None else (frame.f_code, max(frame.f_lasti, 0), frame.f_lineno)


def _text_at(frame: FrameType, at: int) -> str | None:
    """What stands in the source where a frame is; None if that is not known."""
    return text_of(frame.f_code, at, frame.f_globals)


def text_of(code: CodeType, at: int, names: dict[str, Any] | None = None) -> str | None:
    """What stands in the source of a code at a place; None if that is not known."""
    if not hasattr(code, "co_positions"):
        return None
    line, last, begin, end = list(code.co_positions())[at // 2]
    if line is None or begin is None or end is None:
        return None
    lines = linecache.getlines(code.co_filename, names)[line - 1 : last]
    whole = [text.encode() for text in lines] or [b""]
    whole[-1] = whole[-1][:end]
    return b"".join([whole[0][begin:], *whole[1:]]).decode(errors="replace").strip() or None


def warn_caller(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn of the line that called, outside of this package and of SciPy's optimisers."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _NO_CALLERS:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
