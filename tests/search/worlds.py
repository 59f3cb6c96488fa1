"""The same call in several worlds: NumPy and SciPy of plain numbers, the package, both together.

A path such as `scipy.special.kve` or `numpy.linalg.norm` names a function in all of them. This
module knows where the package has its names, and no function.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import cadiff

MIRRORED = ("numpy", "scipy", "math", "cmath")


@functools.cache
def resolve(path: str) -> Any:
    """What a dotted path names: attributes of the longest module that can be imported."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(f"nothing is called {path}")


@dataclass(frozen=True)
class World:
    """Where names are looked up."""

    name: str
    is_ours: bool  # the modules of MIRRORED are the package's

    def find(self, path: str) -> Any:
        is_mirrored = self.is_ours and path.partition(".")[0] in MIRRORED
        return resolve(f"cadiff.{path}" if is_mirrored else path)

    @property
    def numpy(self) -> ModuleType:
        return resolve("cadiff.numpy" if self.is_ours else "numpy")  # type: ignore[no-any-return]

    @property
    def scipy(self) -> ModuleType:
        return resolve("cadiff.scipy" if self.is_ours else "scipy")  # type: ignore[no-any-return]


PLAIN = World("plain", False)  # is given plain numbers
OURS = World("cadiff", True)
THROUGH = World("NumPy and SciPy", False)  # are given numbers with derivatives

NUMBERS = (cadiff.Var, cadiff.Dual, cadiff.Complex)
