"""Draw the picture of the page about `cadiff.plot`, by the code that the page shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

page = Path(__file__).with_name("plot.md").read_text(encoding="utf-8")
namespace: dict[str, Any] = {}
for block in re.finditer(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
    lines = page.count("\n", 0, block.start(1))  # a profile names lines of the page
    exec(compile("\n" * lines + block[1], "plot.md", "exec"), namespace)
namespace["figure"].savefig(sys.argv[1], dpi=110)
