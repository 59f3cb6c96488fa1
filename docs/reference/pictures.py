"""Draw the picture of the page about `cadiff.plot`, by the code that the page shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

page = Path(__file__).with_name("plot.md").read_text(encoding="utf-8")
namespace: dict[str, Any] = {}
for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
    exec(block, namespace)
namespace["figure"].savefig(sys.argv[1], dpi=110)
