"""`scipy.differentiate` for numbers with derivatives: finite differences.

Names that are not defined here are SciPy's own Python over such numbers, see `_mirror`.
"""

from __future__ import annotations

from ._mirror import Namespace

_namespace = Namespace("scipy.differentiate", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
