"""Functions and points that are named on a command line."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


class CommandError(Exception):
    """What was asked for cannot be done; the message says why."""


def add_target(parser: argparse.ArgumentParser) -> None:
    """The arguments `MODULE:FUNCTION --at POINT`."""
    parser.add_argument(
        "function", metavar="MODULE:FUNCTION", help="a module (or a file.py) and a function in it"
    )
    parser.add_argument(
        "--at",
        metavar="POINT",
        action="append",
        required=True,
        help="an argument of the function in Python's notation: 0.5, '[1.0, 2.0]' (an array), "
        "'{\"w\": [1, 2]}'; once for each argument",
    )


def find_function(name: str) -> Callable[..., Any]:
    """The function of MODULE:FUNCTION; modules are looked for in the current directory as well."""
    module_name, colon, path = name.rpartition(":")
    if not colon or not module_name or not path:
        raise CommandError(f"expected MODULE:FUNCTION, such as math_models:loss, not {name!r}")
    file = Path(module_name)
    sys.path.insert(0, str(file.parent.resolve() if file.suffix == ".py" else Path.cwd()))
    try:
        found: Any = _run(file) if file.suffix == ".py" else importlib.import_module(module_name)
    except (ImportError, FileNotFoundError) as error:
        raise CommandError(f"cannot import {module_name}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise CommandError(f"{module_name} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise CommandError(f"{name} is no function, but of type {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def _run(file: Path) -> ModuleType:
    """The module of a file, whatever other module may have its name."""
    spec = importlib.util.spec_from_file_location(file.stem, file.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(file.stem, module)
    spec.loader.exec_module(module)
    return module


def points_of(given: list[str]) -> list[Any]:
    """Arguments as they stand on the command line; lists of numbers are arrays."""
    return [_number(text) for text in given]


def _number(text: str) -> Any:
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError) as error:
        raise CommandError(
            f"--at {text!r} is no number, list or dict in Python's notation"
        ) from error
    return _as_arrays(value)


def _as_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_arrays(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        try:
            array = np.array(value)
        except ValueError:
            return type(value)(map(_as_arrays, value))
        return array.astype(float) if array.dtype.kind in "iu" else array
    return value
