"""Makes the repository's `benchmarks` importable without putting the source tree on the path.

With the tree on the path, `import cadiff` would find the sources instead of the installed package.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

if "benchmarks" not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        "benchmarks", BENCHMARKS / "__init__.py", submodule_search_locations=[str(BENCHMARKS)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmarks"] = module
    spec.loader.exec_module(module)
