"""GradBench's own tool for JAX, which waits for its results.

It has no `block_until_ready`: only how long a call takes to begin would be timed. To be run in a
checkout of GradBench, with `python/gradbench` on the path, by whom it is pinned to a core.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

TOOL = "python/gradbench/gradbench/tools/jax"

if __name__ == "__main__":
    jax, wrap = import_module("jax"), import_module("gradbench.wrap")
    multiple_runs = wrap.multiple_runs

    def waiting(**options: Any) -> Callable[..., Any]:
        decorate = multiple_runs(**options)
        return lambda f: decorate(lambda given: jax.block_until_ready(f(given)))

    wrap.multiple_runs = waiting  # type: ignore[attr-defined]
    sys.path.insert(0, TOOL)
    sys.argv[1:] = ["--multithreaded"]  # else it goes to a core of its own choice
    runpy.run_path(f"{TOOL}/run.py", run_name="__main__")
