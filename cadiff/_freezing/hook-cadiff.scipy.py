"""A program that imports `cadiff.scipy` finds its modules by the names of SciPy's."""

from PyInstaller.utils.hooks import collect_submodules

hiddenimports = collect_submodules("cadiff.scipy")
