"""Compiled programs: functions recorded once and replayed, alone, in batches, as matrices."""

from .. import numpy as _numpy  # noqa: F401 - its import is no part of what is recorded
from .control_flow import cond, fori_loop, scan, switch, while_loop
from .mapping import vmap
from .program import Program, build, compile
from .sparse import sparse_hessian, sparse_jacobian
from .verification import StaleProgramWarning

__all__ = [
    "Program",
    "StaleProgramWarning",
    "build",
    "compile",
    "cond",
    "fori_loop",
    "scan",
    "sparse_hessian",
    "sparse_jacobian",
    "switch",
    "vmap",
    "while_loop",
]
