"""What all pictures share: axes, and colours that are told apart on light and on dark ground."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The colours of M. Okabe and K. Ito, which are told apart with colour-blind eyes, too: without
# yellow on light ground, and without dark blue on dark ground.
_ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
_ON_DARK = ("#56B4E9", "#E69F00", "#2BC495", "#F0E442", "#E39BC4", "#F07B3F", "#BBBBBB")
MARK = ("#D55E00", "#FF9D5C")  # what stands out, on light and on dark ground


def new_axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """The axes given, or those of a new figure of a size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "cadiff.plot draws with matplotlib, which is not installed here: "
            "pip install matplotlib"
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def ground_of(ax: Any) -> tuple[float, float, float]:
    """The colour that is drawn on: that of the axes, or of the figure behind them."""
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(ax.get_facecolor())
    if alpha < 0.5:
        red, green, blue, alpha = to_rgba(ax.figure.get_facecolor())
    return (red, green, blue) if alpha >= 0.5 else (1.0, 1.0, 1.0)


def is_dark(ax: Any) -> bool:
    return float(np.dot(ground_of(ax), (0.2126, 0.7152, 0.0722))) < 0.5


def colors(ax: Any, n: int) -> NDArray[np.float64]:
    """So many colours, shape (n, 4): those of a short list, or a ramp if there are more."""
    from matplotlib.colors import to_rgba_array

    listed = _ON_DARK if is_dark(ax) else _ON_LIGHT
    if n <= len(listed):
        return np.asarray(to_rgba_array(listed[:n])).reshape(n, 4)
    return np.asarray(ramp(ax)(np.linspace(0.0, 1.0, n)))


def ramp(ax: Any) -> Any:
    """A colour map of even steps, without the end that is close to the ground."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    begin, end = (0.3, 1.0) if is_dark(ax) else (0.0, 0.85)
    return ListedColormap(colormaps["viridis"](np.linspace(begin, end, 256)))
