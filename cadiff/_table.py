"""The functions of the table of operations, as the compiled core made them from src/ops.def."""

from __future__ import annotations

from . import _core

globals().update(_core.functions())

__all__ = sorted(_core.functions())
