"""The functions of the table of operations, as the compiled core has made them."""

from __future__ import annotations

from ..binding import _core

globals().update(_core.functions())

__all__ = sorted(_core.functions())
