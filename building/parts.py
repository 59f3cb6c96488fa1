"""The list of what a wheel is made of, in CycloneDX's form, as scanners of environments read it.

Wheels have it in `.dist-info/sboms` (PEP 770). It names what ends in the compiled core beside the
sources of this package. It has no time and no place, so that the same build writes the same bytes.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from setuptools.command.bdist_wheel import bdist_wheel

__all__ = ["ListsParts", "parts"]


def component(name: str, version: str, licence: str, **more: str) -> dict[str, Any]:
    """What the list says of a package."""
    url = f"pkg:pypi/{name.lower()}@{version}"
    own = {"type": "library", "bom-ref": url, "name": name, "version": version}
    return own | {"licenses": [{"expression": licence}], "purl": url} | more


def parts(name: str, own_version: str) -> dict[str, Any]:
    """The list for a wheel of a version, built with the packages at hand."""
    own = component(name, own_version, "MIT")
    others = [
        component(other, version(other), licence, description=why)
        for other, licence, why in (
            ("Cython", "Apache-2.0", "its C stands in every module that it has translated"),
            ("numpy", "BSD-3-Clause", "the headers of its C interface"),
        )
    ]
    needed = {"ref": own["bom-ref"], "dependsOn": [part["bom-ref"] for part in others]}
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return head | {"metadata": {"component": own}, "components": others, "dependencies": [needed]}


class ListsParts(bdist_wheel):
    """Writes the list into each wheel."""

    def egg2dist(self, egginfo_path: Any, distinfo_path: Any) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        text = json.dumps(parts(self.distribution.get_name(), self.distribution.get_version()))
        place = Path(distinfo_path, "sboms")
        place.mkdir()
        Path(place, "cadiff.cdx.json").write_text(f"{text}\n", encoding="utf-8")
