"""``python -m benchmarks.gradbench``: the tool, on standard input and output."""

from benchmarks.gradbench.tool.__main__ import main

main()
