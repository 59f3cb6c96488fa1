"""Finding out what calls leave behind: memory, and what stands on the tape."""

import gc
import tracemalloc
from collections.abc import Callable

from cadiff import binding


def usage() -> tuple[int, int, int]:
    """Entries, numbers and open recordings of this thread's tape."""
    tape = binding.tape_usage()
    return tape["entries"], tape["numbers"], tape["recordings"]


def leaks(job: Callable[[], object], calls: int, size: int) -> bool:
    """Whether a call leaks `size` bytes or more, each time.

    Caches and free lists of Python's own are filled little by little, a leak goes on and on: a row
    of calls after which there is hardly more memory in use than before shows that there is none.
    """
    tracemalloc.start()
    try:
        for _ in range(8):
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(calls):
                job()
            gc.collect()
            if tracemalloc.get_traced_memory()[0] - before < calls * size:
                return False
    finally:
        tracemalloc.stop()
    return True
