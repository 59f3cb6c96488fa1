"""Run a script that saves a picture, and save it twice: for light pages and for dark ones.

    python docs/draw.py SCRIPT PICTURE.png

The script knows nothing of it. What it saves is transparent; beside PICTURE.png goes
PICTURE-dark.png, in which what was dark is light and the other way round, from black letters to
white boxes. Hues stay, and so do images.
"""

from __future__ import annotations

import runpy
import sys
from colorsys import hls_to_rgb, rgb_to_hls
from pathlib import Path
from typing import Any

from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure

PAGE, INK = 0.08, 0.81  # a dark page, and the letters on it: what becomes of white and black
COLOURS = ("color", "facecolor", "edgecolor", "markeredgecolor", "markerfacecolor")

save = Figure.savefig


def save_both(figure: Figure, path: str, **options: Any) -> None:
    """Stands for `Figure.savefig`."""
    options["transparent"] = True
    save(figure, path, **options)
    darken(figure)
    dark = Path(path)
    save(figure, dark.with_stem(f"{dark.stem}-dark"), **options)


def darken(figure: Figure) -> None:
    """Exchange light and dark in all that a figure shows."""
    changes = []
    for artist in figure.findobj():
        for what in COLOURS:
            get, put = (getattr(artist, f"{verb}_{what}", None) for verb in ("get", "set"))
            if get is not None and put is not None:
                old = to_rgba_array(get())
                if len(old):
                    new = exchanged(old)
                    changes.append((put, tuple(new[0]) if len(new) == 1 else new))
    for put, new in changes:  # after all were read: the colours of markers are those of lines
        put(new)


def exchanged(colours: Any) -> Any:
    """Colours of the same hues, with the lightness in the reverse order, between page and ink."""
    new = colours.copy()
    for colour in new:
        hue, lightness, saturation = rgb_to_hls(*colour[:3])
        colour[:3] = hls_to_rgb(hue, INK + (PAGE - INK) * lightness, saturation)
    return new


if __name__ == "__main__":
    _, script, picture = sys.argv
    Figure.savefig = save_both
    sys.argv = [script, picture]
    runpy.run_path(script, run_name="__main__")
