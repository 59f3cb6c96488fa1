"""Numbers and arrays as one vector, and back: it knows of no containers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from cadiff import numpy as np


def in_a_row(parts: Sequence[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    """All numbers of arrays as a vector, and what makes a list of such arrays of a vector."""
    shapes = [np.shape(x) for x in parts]
    ends = [int(end) for end in onp.cumsum([math.prod(shape) for shape in shapes], dtype=int)]
    vector = np.concatenate([*map(np.ravel, parts)]) if parts else onp.zeros(0)

    def apart(vector: Any) -> list[Any]:
        pieces = zip(shapes, [0, *ends], ends, strict=False)
        return [np.reshape(vector[begin:end], shape)[()] for shape, begin, end in pieces]

    return vector, apart
