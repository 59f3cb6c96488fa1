"""Places for the nodes of a graph in layers, and ways for its edges that lead round them.

K. Sugiyama's method: nodes are below all that lead to them; where an edge passes a layer, it has a
place of its own there; the order within layers goes by the mean place of the neighbours. Lengths
are in points, y grows downwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_GAP = 14.0  # between neighbours in a layer
_LANE = 10.0  # for an edge that passes
_ABOVE = 26.0  # between layers
_SWEEPS = 12  # over the layers, down and up

Point = tuple[float, float]
Size = tuple[float, float]


class Box(NamedTuple):
    """A node: its middle, and how large it is."""

    x: float
    y: float
    width: float
    height: float


class Layout(NamedTuple):
    """Boxes by nodes; of each edge the points that it goes through; and how large it all is.

    Between an even point and the next one an edge goes through free room between layers, from an
    odd one to the next straight down past the boxes of a layer.
    """

    boxes: dict[str, Box]
    ways: list[list[Point]]
    width: float
    height: float


def laid_out(sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]]) -> Layout:
    """A layout of nodes, by names with their sizes, in an order in which edges lead forwards."""
    layer = _layers(list(sizes), edges)
    lanes = _Lanes(sizes, edges, layer)
    places = lanes.placed()
    rows = lanes.rows
    heights = [max((lanes.size(node)[1] for node in row), default=0.0) for row in rows]
    tops = np.cumsum([0.0, *(height + _ABOVE for height in heights)])
    left = min((places[node] - lanes.size(node)[0] / 2 for row in rows for node in row), default=0)
    boxes = {}
    for node, (width, height) in sizes.items():
        k = layer[node]
        boxes[node] = Box(places[node] - left, tops[k] + heights[k] / 2, width, height)
    ways = []
    for source, target in edges:
        way = [(boxes[source].x, boxes[source].y + boxes[source].height / 2)]
        for k in range(layer[source] + 1, layer[target]):
            x = places[source, k] - left
            way += [(x, float(tops[k])), (x, float(tops[k] + heights[k]))]
        way.append((boxes[target].x, boxes[target].y - boxes[target].height / 2))
        ways.append(way)
    right = max((box.x + box.width / 2 for box in boxes.values()), default=0.0)
    lane = max((x for way in ways for x, _ in way), default=0.0)
    return Layout(boxes, ways, max(right, lane), max(float(tops[-1]) - _ABOVE, 0.0))


def _layers(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The layer of each node: below its sources; nodes without any, just above their targets."""
    layer = dict.fromkeys(nodes, 0)
    sources: dict[str, list[str]] = {node: [] for node in nodes}
    targets: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        sources[target].append(source)
        targets[source].append(target)
    for node in nodes:
        layer[node] = max((layer[source] + 1 for source in sources[node]), default=0)
    for node in nodes:
        if targets[node] and not sources[node]:
            layer[node] = min(layer[target] for target in targets[node]) - 1
    return layer


Item = str | tuple[str, int]  # a node; or where edges from a node pass a layer


class _Lanes:
    """Layers of nodes, and of places at which edges pass: those from one node go together."""

    def __init__(
        self, sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]], layer: dict[str, int]
    ) -> None:
        self._sizes = sizes
        self.rows: list[list[Item]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
        self._above: dict[Item, list[Item]] = {}
        self._below: dict[Item, list[Item]] = {}
        for node in sizes:
            self._add(node, layer[node])
        for source, target in edges:
            before: Item = source
            for k in range(layer[source] + 1, layer[target]):
                lane = (source, k)
                if lane not in self._above:
                    self._add(lane, k)
                    self._join(before, lane)
                before = lane
            self._join(before, target)

    def _add(self, item: Item, k: int) -> None:
        self.rows[k].append(item)
        self._above[item], self._below[item] = [], []

    def _join(self, upper: Item, lower: Item) -> None:
        self._above[lower].append(upper)
        self._below[upper].append(lower)

    def size(self, item: Item) -> Size:
        return self._sizes[item] if isinstance(item, str) else (_LANE, 0.0)

    def placed(self) -> dict[Item, float]:
        """The middle of each item along its layer."""
        places: dict[Item, float] = {}
        for row in self.rows:
            x = 0.0
            for item in row:
                places[item] = x + self.size(item)[0] / 2
                x += self.size(item)[0] + _GAP
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            near = self._above if down else self._below
            for row in self.rows if down else self.rows[::-1]:
                if sweep < _SWEEPS - 4:
                    wanted = {item: _mean(item, near[item], places) for item in row}
                    row.sort(key=wanted.__getitem__)
                else:  # the order stays; all neighbours count
                    both = {item: self._above[item] + self._below[item] for item in row}
                    wanted = {item: _mean(item, both[item], places) for item in row}
                self._spread(row, wanted, places)
        return places

    def _spread(
        self, row: list[Item], wanted: dict[Item, float], places: dict[Item, float]
    ) -> None:
        """Put a layer as close to where it is wanted as its order and sizes allow."""
        widths = np.array([self.size(item)[0] for item in row])
        apart = np.concatenate([[0.0], (widths[1:] + widths[:-1]) / 2 + _GAP]).cumsum()
        x = _ascending(np.array([wanted[item] for item in row]) - apart) + apart
        places.update(zip(row, x.tolist(), strict=True))


def _mean(item: Item, neighbours: list[Item], places: dict[Item, float]) -> float:
    """The mean place of the neighbours of an item; its own where it has none."""
    if not neighbours:
        return places[item]
    return sum(places[neighbour] for neighbour in neighbours) / len(neighbours)


def _ascending(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ascending sequence nearest to some numbers: those out of order have their mean."""
    pools: list[tuple[float, int]] = []
    for number in numbers.tolist():
        mean, count = number, 1
        while pools and pools[-1][0] > mean:
            former, size = pools.pop()
            mean = (mean * count + former * size) / (count + size)
            count += size
        pools.append((mean, count))
    return np.repeat([mean for mean, _ in pools], [count for _, count in pools])
