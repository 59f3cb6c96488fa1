"""The class that other packages ask for."""

from ..tracer import Box as ArrayBox

__all__ = ["ArrayBox"]
