"""Build the site into `build/site`.

    pip install -e ".[docs]"
    python docs/build.py
    python docs/build.py linkcheck     # links to other sites, which takes a network
    python docs/build.py thumbnails    # of pictures that were built, for the README

First scripts draw the pictures, those of the gallery and one of `cadiff.plot`; then Sphinx builds.
Warnings are errors.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]


def draw(script: Path) -> None:
    """Have a script draw its picture twice; what it prints is of interest if it fails."""
    picture = ROOT / "docs/gallery/pictures" / f"{script.stem}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / "docs/draw.py"), str(script), str(picture)]
    environment = os.environ | {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{script}:\n{done.stdout}{done.stderr}")


def shrink() -> None:
    """Make the small pictures of the gallery that are kept in the repository anew."""
    from PIL import Image

    for small in sorted((ROOT / "docs/gallery/thumbnails").glob("*.png")):
        picture = Image.open(ROOT / "docs/gallery/pictures" / small.name).convert("RGBA")
        page = Image.new("RGBA", picture.size, "white")
        page.alpha_composite(picture)
        page.thumbnail((420, 240))
        page.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(small, optimize=True)


def main() -> None:
    """Draw, side by side, and build."""
    builder = sys.argv[1] if len(sys.argv) > 1 else "html"
    if builder == "thumbnails":
        shrink()
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        scripts = sorted((ROOT / "examples/gallery").glob("*.py"))
        list(pool.map(draw, [*scripts, ROOT / "docs/reference/pictures.py"]))
    out = "site" if builder == "html" else builder
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", "--write-all"]
    options += ["-b", builder]
    places = ["-d", str(ROOT / "build/doctrees"), str(ROOT / "docs"), str(ROOT / "build" / out)]
    raise SystemExit(subprocess.call([sys.executable, "-m", "sphinx", *options, *places]))


if __name__ == "__main__":
    main()
