"""Running code in a thread of its own, and in several threads at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a thread of its own, on a fresh tape; its result or its exception."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["result"] = function()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def in_threads(n: int, job: Callable[[int], T]) -> list[T]:
    """What job(0), ..., job(n - 1) return, started at the same time; raises what they raise."""
    gate = threading.Barrier(n)

    def run(k: int) -> T:
        gate.wait()
        return job(k)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))
