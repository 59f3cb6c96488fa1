"""Who called: what the user wrote that gave a number to code of C or of a library.

For the texts of errors and of reasons alone: it reads frames, and source where there is some. It
knows nothing of numbers, and nothing depends on what it finds.
"""

from __future__ import annotations

import ast
import dis
import importlib
import linecache
import os
import sys
import sysconfig
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PATHS = sysconfig.get_paths()
_INSTALLED = [_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_LIBRARIES = tuple({os.path.join(path, "") for path in (*_INSTALLED, _PACKAGE)})
_RUNNERS = ("cadiff.transforms", "cadiff.programs", "cadiff.inspection")  # which call users' f
_MOST_TEXT = 60

_SOLVERS = {
    *("bisect", "brenth", "brentq", "fixed_point", "fsolve", "newton", "ridder", "root"),
    *("root_scalar", "toms748"),
}
_CONVERSIONS: dict[Any, str] = {
    float: "a Var computes like a float already; cadiff.value(v) is its value",
    int: "write int(cadiff.value(v)), which has no derivative",
    complex: "derivatives are by real numbers: cadiff.value(v) is the value",
    range: "a count has no derivative: write range(int(cadiff.value(v))), or pass an int",
}


def is_of_library(file: str) -> bool:
    """Whether a file of code is Python's, of this package, or of an installed library."""
    return file.startswith(("<frozen", "<__array_function__", *_LIBRARIES))


def is_module_of_library(module: ModuleType) -> bool:
    """Whether a module is built in, of this package, or of an installed library."""
    file = getattr(module, "__file__", None)
    return module.__name__ in sys.builtin_module_names if file is None else is_of_library(file)


def is_class_of_library(kind: type) -> bool:
    """Whether a class is Python's, or that of an installed library."""
    module = sys.modules.get(kind.__module__)
    return module is not None and is_module_of_library(module)


def _found(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """The frame of the user's that is at work, and that of the library function that it called.

    Either may be None. What this package differentiates is the user's, wherever it is installed.
    """
    inner: list[FrameType] = []
    while frame is not None and is_of_library(frame.f_code.co_filename):
        if _module_of(frame).startswith(_RUNNERS):
            if inner and not _module_of(inner[-1]).startswith("cadiff."):
                return inner.pop(), inner[-1] if inner else None
            break
        inner.append(frame)
        frame = frame.f_back
    else:
        return frame, inner[-1] if inner else None
    return None, inner[-1] if inner else None


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _public(frame: FrameType) -> str:
    """What a function of a library is called by its users."""
    code = frame.f_code
    name = str(getattr(code, "co_qualname", code.co_name)).split(".<locals>")[0]
    public = [part for part in _module_of(frame).split(".") if not part.startswith("_")]
    for k in range(1, len(public) + 1):
        if hasattr(sys.modules.get(".".join(public[:k])), name.split(".")[0]):
            public = public[:k]
            break
    module = ".".join(public)
    owner = frame.f_locals.get("self")
    for known, thing in vars(sys.modules.get(module, ast)).items():
        if owner is not None and thing is owner:  # it has methods, as scipy.stats.norm
            name = f"{known}.{code.co_name}"
    if any(part.startswith("_") for part in name.split(".")):
        return f"a function of {module}"
    return f"{module}.{name}".removeprefix("cadiff.") if len(public) > 1 else f"{module}.{name}"


def called() -> str:
    """The function of this package that the user called."""
    frame: FrameType | None = sys._getframe(1)
    outermost = None
    while frame is not None and _module_of(frame).startswith("cadiff."):
        outermost, frame = frame, frame.f_back
    return "a function of cadiff" if outermost is None else _public(outermost)


def advice() -> str:
    """Which call wants a plain number of one with a derivative, and what to write instead."""
    user, inner = _found(sys._getframe(1))
    if inner is not None:
        found = _of_library(_public(inner))
    else:
        found = "" if user is None else _of_line(user)
    if not found or "cadiff.value(v)" in found:
        return found
    return f"{found}, or cadiff.value(v) for the value"


def _of_library(name: str) -> str:
    last = name.split(".")[-1]
    if name.startswith("scipy.optimize."):
        instead = (
            "cadiff.root(f, x0) solves equations, with the derivative of the solution"
            if last in _SOLVERS
            else "give it cadiff.value(v), and derivatives of its function as jac=cadiff.grad(f)"
        )
    elif isinstance(_attribute(f"cadiff.{name}"), _FUNCTIONS):
        instead = (
            f"write cadiff.{name}, and cadiff.value(v) for an argument that is no number there"
        )
    else:
        instead = (
            "write it with functions of cadiff, give it cadiff.value(v), or make it an operation "
            "with a rule (cadiff.primitive)"
        )
    return f"{name} computes with plain numbers: {instead}"


def _attribute(path: str) -> Any:
    """What is found under a name of this package; None if there is nothing."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


_FUNCTIONS: tuple[type, ...] = (FunctionType, BuiltinFunctionType)


def _of_line(frame: FrameType) -> str:
    """For what a line of the user's asks of C."""
    at = max(frame.f_lasti, 0)
    operation = dis.opname[frame.f_code.co_code[at]]
    text = _text_at(frame, at)
    here = f"{text!r} " if text else "this line "
    if operation == "STORE_SUBSCR":
        return (
            f"{here}is assigned to in an array of plain numbers: make it with cadiff.zeros(shape) "
            "or cadiff.array(a), whose elements may have derivatives"
        )
    try:
        tree = ast.parse(text or "", mode="eval").body
    except SyntaxError:
        return ""
    if isinstance(tree, ast.Subscript):
        return f"{here}takes an int as its index: write int(cadiff.value(v)), or use an int"
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mod):
        return f"{here}writes a number as text: give it cadiff.value(v)"
    if isinstance(tree, ast.Call):
        return _of_call(_value_of(tree.func, frame), ast.unparse(tree.func), here)
    return ""


def _of_call(function: Any, name: str, here: str) -> str:
    """For a call of a function of C."""
    own = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") == "math":
        for package in ("cadiff", "cadiff.math"):
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
    return (
        f"{here}computes with plain numbers: write it with functions of cadiff, or give it "
        "cadiff.value(v)"
    )


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


def _text_at(frame: FrameType, at: int) -> str | None:
    """What stands in the source where a frame is; None if that is not known."""
    code = frame.f_code
    if not hasattr(code, "co_positions"):
        return None
    line, last, begin, end = list(code.co_positions())[at // 2]
    if line is None or line != last or begin is None or end is None:
        return None
    text = linecache.getline(code.co_filename, line, frame.f_globals)
    found = text.encode()[begin:end].decode(errors="replace").strip()
    return found if 0 < len(found) <= _MOST_TEXT else None
