"""Where import lines of programs lead once they are moved."""

from __future__ import annotations

from . import autograd_names

NUMPY = {"numpy": "cadiff.numpy"}
SCIPY = {"scipy": "cadiff.scipy", "math": "cadiff.math", "cmath": "cadiff.cmath"}

NAMES = autograd_names.__name__
OTHERS = ("builtins", "differential_operators", "extend", "misc", "numpy.numpy_boxes")
AUTOGRAD = {
    "autograd": NAMES,
    "autograd.numpy": "cadiff.numpy",
    "autograd.scipy": "cadiff.scipy",
    "autograd_gamma": NAMES,
    **{f"autograd.{name}": NAMES for name in OTHERS},
}
