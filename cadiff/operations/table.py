"""The functions of the table of operations, as the compiled core has made them."""

from __future__ import annotations

from .. import binding

globals().update(binding.functions())

__all__ = sorted(binding.functions())
