"""Pictures of derivatives, optimisations and programs, with matplotlib.

    >>> from cadiff import plot
    >>> axes = plot.sparsity(lambda x: x[1:] * x[:-1], [1.0, 2.0, 3.0])  # doctest: +SKIP

Each function draws into `ax`, or into a new figure, and returns the axes. matplotlib is imported
when something is drawn, and not before.
"""

from __future__ import annotations

from ._contours import contours
from ._convergence import convergence
from ._graph import graph
from ._profile import profile
from ._sparsity import sparsity

__all__ = ["contours", "convergence", "graph", "profile", "sparsity"]
