"""The list of what a wheel is made of, in CycloneDX's form, as scanners of environments read it.

Wheels have it in `.dist-info/sboms` (PEP 770). It names what ends in the compiled core beside the
sources of this package. It has no time and no place, so that the same build writes the same bytes.
"""

from __future__ import annotations

import json
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from setuptools.command.bdist_wheel import bdist_wheel

__all__ = ["ListsParts", "parts"]

# What of others is compiled into the core, and why.
COMPILED_IN = {
    "Cython": ("Apache-2.0", "its C stands in every module that it has translated"),
    "numpy": ("BSD-3-Clause", "the headers of its C interface"),
}


def _component(name: str, version: str, licence: str, kind: str = "library") -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": f"pkg:pypi/{name.lower()}@{version}",
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": f"pkg:pypi/{name.lower()}@{version}",
    }


def parts(name: str, version: str) -> dict[str, Any]:
    """The list for a wheel of a version, built with the packages at hand."""
    own = _component(name, version, "MIT")
    others = []
    for other, (licence, description) in COMPILED_IN.items():
        found = _component(other, metadata(other)["Version"], licence)
        others.append(found | {"description": description})
    needed = [{"ref": own["bom-ref"], "dependsOn": [part["bom-ref"] for part in others]}]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": others,
        "dependencies": needed,
    }


class ListsParts(bdist_wheel):
    """Writes the list into each wheel."""

    def egg2dist(self, egginfo_path: Any, distinfo_path: Any) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        place = Path(distinfo_path, "sboms")
        place.mkdir()
        text = json.dumps(parts(self.distribution.get_name(), self.distribution.get_version()))
        Path(place, "cadiff.cdx.json").write_text(f"{text}\n", encoding="utf-8")
