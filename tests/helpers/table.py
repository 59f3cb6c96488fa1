"""The rows of src/table/ops.def as the tests see them, and numbers of their domains.

All that a test wants to know of an operation (where it lives, where to draw from, what its edges
are) follows from its row. This module knows nothing of cadiff.
"""

from __future__ import annotations

import importlib.util
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest


def load(name: str, path: Path) -> ModuleType:
    """A Python file that is not part of a package."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


ROOT = Path(__file__).parents[2]
generate = load("generate", ROOT / "src" / "table" / "generate.py")
Row: TypeAlias = Any  # generate.Row
Domain: TypeAlias = Any  # generate.Domain
TABLE: list[Row] = generate.read_table()
ROWS = [row for row in TABLE if row.public]


def rows(chosen: Sequence[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", chosen, ids=lambda row: row.name)


# --- numbers of a domain -------------------------------------------------------------------------


def bounds(domain: Domain) -> list[float]:
    """The finite bounds of a domain of real numbers, whether they belong to it or not."""
    if domain.is_whole:
        return []
    return [bound for bound in (domain.low, domain.high) if math.isfinite(bound)]


def edges(domain: Domain) -> list[float]:
    """The finite bounds that belong to a domain of real numbers."""
    return [bound for bound in bounds(domain) if domain.contains(bound)]


def middle(domain: Domain) -> float:
    """A number well inside a domain."""
    if domain.low < 2.0 < domain.high:
        return 2.0
    if math.isinf(domain.low):
        return float(domain.high - 1.0)
    if math.isinf(domain.high):
        return float(domain.low + 1.0)
    return float(domain.low + 0.75 * (domain.high - domain.low))


def window(domain: Domain, radius: float) -> tuple[float, float]:
    """A piece of a domain around 0, or as near to 0 as it lies."""
    low, high = max(domain.low, -radius), min(domain.high, radius)
    low, high = min(low, max(domain.low, high - radius)), max(high, min(domain.high, low + radius))
    return float(low), float(high)


def beyond(domain: Domain) -> list[float]:
    """Numbers outside a domain of real numbers."""
    low, high = domain.low, domain.high
    numbers = [-math.inf] if low > -math.inf else []
    numbers += [low - gap for gap in (1e-9, 0.5, 1e300) if low > -math.inf]
    numbers += [high + gap for gap in (1e-9, 0.5, 1e300, math.inf) if high < math.inf]
    return numbers


def draw(domain: Domain, rng: random.Random) -> list[float]:
    """24 numbers inside a domain: half of moderate size, the others over many magnitudes."""
    if domain.is_whole:
        numbers = [float(k % 6) for k in range(24)]
    elif math.isinf(domain.low) and math.isinf(domain.high):
        numbers = _draw_anywhere(rng)
    elif math.isinf(domain.high):
        numbers = _draw_above(domain.low, rng)
    elif math.isinf(domain.low):
        numbers = [-x for x in _draw_above(-domain.high, rng)]
    else:
        numbers = _draw_between(domain.low, domain.high, rng)
    rng.shuffle(numbers)
    if bounds(domain):
        first, last = math.nextafter(domain.low, math.inf), math.nextafter(domain.high, -math.inf)
        numbers = [min(max(x, first), last) for x in numbers]
    return numbers


def _magnitude(rng: random.Random, low: float, high: float) -> float:
    return math.pow(10.0, rng.uniform(low, high))


def _sign(rng: random.Random) -> float:
    return rng.choice((-1.0, 1.0))


def _draw_anywhere(rng: random.Random) -> list[float]:
    numbers = [rng.uniform(-5.0, 5.0) for _ in range(12)]
    numbers += [_sign(rng) * _magnitude(rng, -3, 3) for _ in range(6)]
    numbers += [_sign(rng) * _magnitude(rng, -300, -3) for _ in range(4)]
    return numbers + [_sign(rng) * _magnitude(rng, 3, 300) for _ in range(2)]


def _draw_above(low: float, rng: random.Random) -> list[float]:
    numbers = [low + rng.uniform(0.0, 5.0) for _ in range(12)]
    numbers += [low + _magnitude(rng, 0, 3) for _ in range(6)]
    numbers += [low + _magnitude(rng, -15 if low else -300, -1) for _ in range(4)]
    return numbers + [low + _magnitude(rng, 3, 300) for _ in range(2)]


def _draw_between(low: float, high: float, rng: random.Random) -> list[float]:
    center, radius = 0.5 * (low + high), 0.5 * (high - low)
    numbers = [rng.uniform(low, high) for _ in range(12)]
    numbers += [center + _sign(rng) * radius * (1.0 - _magnitude(rng, -15, 0)) for _ in range(8)]
    if low < 0.0 < high:  # and near zero, where numbers are dense
        near = min(-low, high)
        numbers += [_sign(rng) * near * _magnitude(rng, -300, -3) for _ in range(4)]
    else:
        numbers += [low + radius * _magnitude(rng, -15 if low else -300, -1) for _ in range(4)]
    return numbers
