"""How the extension is built. This is no part of the package; `setup.py` uses it."""
