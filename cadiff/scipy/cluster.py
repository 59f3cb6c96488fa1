"""`scipy.cluster` for numbers with derivatives: vector quantisation and hierarchies.

Names that are not defined here are SciPy's own Python over such numbers, see `_mirror`.
"""

from __future__ import annotations

from ._mirror import Namespace

_namespace = Namespace("scipy.cluster", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
