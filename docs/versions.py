"""Put the site of a version beside those of others.

    python docs/versions.py build/site FOLDER 0.2.0

Each version has a folder of its own; `index.html` leads to the newest one, and `versions.json`
lists them, from which `static/versions.js` makes the choice on each page.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

__all__ = ["add"]

LEADS = '<!doctype html><title>cadiff</title><meta http-equiv="refresh" content="0; url={}/">\n'


def add(site: Path, folder: Path, version: str) -> list[str]:
    """Copy a site, in the place of one of the same version; answers all versions, newest first."""
    parts = version.split(".")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise SystemExit(f"the version of a site is three numbers, as in 0.2.0, and not {version}")
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(site, folder / version)
    found = [path.parent.name for path in folder.glob("*.*.*/index.html")]
    versions = sorted(found, key=lambda name: [*map(int, name.split("."))], reverse=True)
    Path(folder, "versions.json").write_text(json.dumps(versions) + "\n", encoding="utf-8")
    Path(folder, "index.html").write_text(LEADS.format(versions[0]), encoding="utf-8")
    Path(folder, ".nojekyll").touch()
    return versions


if __name__ == "__main__":
    print(*add(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
