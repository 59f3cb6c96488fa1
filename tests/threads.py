"""Running code in several threads at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_threads(n: int, job: Callable[[int], T]) -> list[T]:
    """What job(0), ..., job(n - 1) return, started at the same time; raises what they raise."""
    gate = threading.Barrier(n)

    def run(k: int) -> T:
        gate.wait()
        return job(k)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))
