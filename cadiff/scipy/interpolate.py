"""`scipy.interpolate` for numbers with derivatives: splines and other interpolants.

Names that are not defined here are SciPy's own Python over such numbers, see `_mirror`.
"""

from __future__ import annotations

from ._mirror import Namespace

_namespace = Namespace("scipy.interpolate", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
