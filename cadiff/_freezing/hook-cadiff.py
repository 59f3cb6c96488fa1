"""What of cadiff a frozen program needs that no import line names.

Modules that a name leads to are imported by texts. `interop`, `compat`, `plot` and `optimize` are
taken along where a program imports them: they bring other packages. Modules of SciPy run a second
time, with derivatives, for which their sources are read.
"""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

PARTS = ("inspection", "numpy", "operations", "programs", "transforms")

hiddenimports = ["cadiff.cmath", "cadiff.math", "cadiff.nn"]
for part in PARTS:
    hiddenimports += collect_submodules(f"cadiff.{part}")
datas = collect_data_files("cadiff.nist")
module_collection_mode = {"cadiff": "pyz+py", "scipy": "pyz+py"}
