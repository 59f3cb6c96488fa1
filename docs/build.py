"""Build the site into `build/site`.

    pip install -e ".[docs]"
    python docs/build.py
    python docs/build.py linkcheck     # links to other sites, which takes a network

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
    """Have a script draw its picture; what it prints is of interest if it fails."""
    picture = ROOT / "docs/gallery/pictures" / f"{script.stem}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(script), str(picture)]
    environment = os.environ | {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{script}:\n{done.stdout}{done.stderr}")


def main() -> None:
    """Draw, side by side, and build."""
    builder = sys.argv[1] if len(sys.argv) > 1 else "html"
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
