"""Compiled programs: functions recorded once and replayed, alone, in batches, as matrices."""

from .. import numpy as _numpy  # noqa: F401 - its import is no part of what is recorded
from .mapping import vmap
from .pace import PerformanceWarning
from .program import Program, build, compile
from .sparse import sparse_hessian, sparse_jacobian
from .verification import StaleProgramWarning

__all__ = [
    "PerformanceWarning",
    "Program",
    "StaleProgramWarning",
    "build",
    "compile",
    "sparse_hessian",
    "sparse_jacobian",
    "vmap",
]
