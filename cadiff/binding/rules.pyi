"""Types of rules: see rules.pyx."""

from typing import Any

def record_rule(rule: Any, operands: list[Any], results: list[Any]) -> Any: ...
