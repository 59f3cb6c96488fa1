"""The code of the README runs as it stands, from the first block to the last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"


def test_the_code_of_the_readme_runs() -> None:
    text = README.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) > 10
    namespace: dict[str, Any] = {}
    for block in blocks:
        lines = text.count("\n", 0, block.start(1))  # so that a traceback names the line
        exec(compile("\n" * lines + block[1], str(README), "exec"), namespace)
