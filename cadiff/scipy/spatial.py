"""`scipy.spatial` for numbers with derivatives: distances, rotations, hulls of points.

Names that are not defined here are SciPy's own Python over such numbers, see `_mirror`.
"""

from __future__ import annotations

from ._distances import ConvexHull as ConvexHull
from ._distances import Delaunay as Delaunay
from ._mirror import Namespace

_namespace = Namespace("scipy.spatial", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
