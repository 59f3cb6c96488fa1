"""Run a script that saves a picture, and save it twice: for light pages and for dark ones.

    python docs/draw.py SCRIPT PICTURE.png

The script knows nothing of it. What it saves is transparent; beside PICTURE.png goes
PICTURE-dark.png, in which greys, from black letters to white boxes, are those of a dark page, and
colours are lighter. Images stay.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
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
    """Exchange light greys and dark ones in all that a figure shows."""
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
    """Greys in the reverse order, between page and ink; other colours nearer to white."""
    new = colours.copy()
    grey = np.ptp(colours[:, :3], axis=1) < 0.02
    new[:, :3] = 0.75 * colours[:, :3] + 0.25
    new[grey, :3] = INK + (PAGE - INK) * colours[grey, :3]
    return new


if __name__ == "__main__":
    _, script, picture = sys.argv
    Figure.savefig = save_both
    sys.argv = [script, picture]
    runpy.run_path(script, run_name="__main__")
