"""Namespaces that mirror SciPy's: `special`, `stats`, `linalg`, `fft`, `optimize`, `integrate`.

Their functions take numbers with derivatives, floats and ndarrays; what they do not define is
SciPy's own.
"""

from __future__ import annotations

try:
    import scipy as _scipy  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name != "scipy":
        raise
    raise ModuleNotFoundError(
        "cadiff.scipy needs SciPy, which is not installed: pip install scipy", name="scipy"
    ) from None
