"""What is needed for operations of one's own."""

from typing import Any as _Any

from . import core as _core
from . import tracer as _tracer

_NAMES = (
    *("Box", "SparseObject", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums"),
    *("defvjp", "defvjp_argnum", "defvjp_argnums", "notrace_primitive", "primitive"),
    *("register_notrace", "vspace"),
)
globals().update({name: getattr(_tracer, name, getattr(_core, name, None)) for name in _NAMES})


def __getattr__(name: str) -> _Any:  # for checkers of types
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
