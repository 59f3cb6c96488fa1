"""What code asks, by the names in it: attributes, methods and texts.

Only names tell what code asks of frames, clocks and loggers. This module looks at nothing else.
"""

from __future__ import annotations

from collections.abc import Set

# What reads attributes by names that are computed.
BY_NAME = frozenset(
    (
        *("getattr", "hasattr", "setattr", "vars", "dir", "attrgetter", "methodcaller"),
        *("__dict__", "__getattribute__", "getattr_static", "getmembers"),
    )
)
# What random generators are copied by, or others are made of.
OF_STATES = frozenset(
    ("bit_generator", "get_state", "getstate", "jumped", "seed_seq", "spawn", "__getstate__")
)
# What classes are called, by which their objects are named in texts, too.
OF_CLASSES = frozenset(("__name__", "__qualname__"))
# By what the state of a lock shows: `with` only waits for it.
OF_LOCKS = frozenset(("_is_owned", "acquire", "acquire_lock", "locked", "locked_lock", "repr"))
# By what code comes to that which has called it.
_OF_FRAMES = frozenset(
    (
        *("ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame"),
        "tb_frame",
    )
)
# Texts that stand for the time when they are read, and what reads them.
_OF_CLOCKS = frozenset(("now", "today"))
_MAKES_TIMES = ("datetime64", "M8", "<M8", ">M8", "=M8", "Timestamp", "to_datetime", "Period")
_OF_LOGGERS = frozenset(
    (
        *("disabled", "filters", "getChild", "getChildren", "getEffectiveLevel", "handlers"),
        *("hasHandlers", "isEnabledFor", "level", "manager", "parent", "propagate"),
    )
)
UNWATCHED = _OF_FRAMES | _OF_CLOCKS | _OF_LOGGERS


def asks_unwatched(names: Set[str], gets_loggers: bool) -> str:
    """What is asked that cannot be watched, or "". `gets_loggers`: loggers are got by name."""
    if frames := _OF_FRAMES & names:
        return f"{min(frames)} of a frame"
    texts = _OF_CLOCKS & names
    if texts and any(name.startswith(_MAKES_TIMES) for name in names):
        return f"a clock, for the time {min(texts)!r}"
    loggers = _OF_LOGGERS & names if gets_loggers else ()
    return f"logging.getLogger().{min(loggers)}" if loggers else ""
