"""Operations on numbers that carry derivatives: what the names of NumPy and SciPy are made of.

Functions of the table, arrays and the moving about of their elements, operations with rules of
their own (`primitive`), NumPy's protocols, and what a function being compiled may not read.
"""

from . import attributes, masks, searches  # noqa: F401 - make themselves known to the others
from .primitives import custom, primitive

__all__ = ["custom", "primitive"]
