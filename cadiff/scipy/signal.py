"""`scipy.signal` for numbers with derivatives: filters, spectra and windows.

Names that are not defined here are SciPy's own Python over such numbers, see `_mirror`.
"""

from __future__ import annotations

from ._mirror import Namespace

_namespace = Namespace("scipy.signal", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
