"""Build of the package, for `pip install .`; what is to be compiled is in `building/`.

This file is in the Python of long ago, so that an interpreter which is too old for the package can
read why it is refused, instead of stumbling over syntax that it does not know.
"""

import os
import runpy
import sys

if sys.version_info < (3, 10):
    sys.exit(
        "cadiff needs Python 3.10 or later, and %s is Python %d.%d.\n"
        "Make an environment of a newer one, and build there:\n"
        "    python3.12 -m venv .venv\n"
        "    .venv/bin/pip install ." % (sys.executable, sys.version_info[0], sys.version_info[1])
    )

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    from setuptools import setup

    from building.extension import ROOT, BuildChanged, core
    from building.parts import ListsParts
except ImportError as error:
    sys.exit(
        "To build cadiff takes setuptools, Cython and NumPy (%s).\n"
        "`python -m pip install .` fetches them by itself. Before `python setup.py` and\n"
        "`pip install --no-build-isolation .` install them, in the versions that pyproject.toml\n"
        "lists under [build-system]." % error
    )

describe = runpy.run_path(str(ROOT / "docs" / "long_description.py"))["long_description"]
readme = (ROOT / "README.md").read_text(encoding="utf-8")
project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

setup(
    long_description=describe(readme, project),
    long_description_content_type="text/markdown",
    ext_modules=[core],
    cmdclass={"build_ext": BuildChanged, "bdist_wheel": ListsParts},
)
