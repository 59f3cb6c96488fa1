"""Types of graph_files: see graph_files.pyx."""

from collections.abc import Sequence
from typing import Any

from .graphs import Graph

def version_here() -> str: ...
def graph_from_bytes(given: bytes, steps: Sequence[Any] = ...) -> Any: ...
def reduced_graph(graph: Graph) -> tuple[Any, ...]: ...
