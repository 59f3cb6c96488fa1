"""Filter an image by a Python function that SciPy calls as C: a LowLevelCallable for `ndimage`.

Bilateral filters smooth an image and keep its edges: neighbours count the less, the more they
differ from the pixel in the middle. Here it is a function of a neighbourhood and of how much may
differ. `to_c` writes value and derivative by the latter; functions of a few lines give them the
signature that `generic_filter` knows. What they make of an image is compared with NumPy.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import LowLevelCallable
from scipy.ndimage import generic_filter

import cadiff
import cadiff.numpy as cnp

SIDE = 5  # pixels of a neighbourhood, in each direction

FOR_NDIMAGE = f"""
#include <stdint.h>

static void join(double *x, const double *pixels, const void *tolerance) {{
    x[0] = *(const double *)tolerance;
    memcpy(x + 1, pixels, {SIDE**2} * sizeof *x);
}}

int smoothed(double *pixels, intptr_t n, double *result, void *tolerance) {{
    double x[{SIDE**2 + 1}];
    join(x, pixels, tolerance);
    return n == {SIDE**2} && bilateral_value(x, result) == 0; /* 0: an error */
}}

int by_tolerance(double *pixels, intptr_t n, double *result, void *tolerance) {{
    double x[{SIDE**2 + 1}], value;
    join(x, pixels, tolerance);
    return n == {SIDE**2} && bilateral_value_and_grad(x, &value, result) == 0;
}}
"""


def bilateral(pixels: Any, tolerance: Any) -> Any:
    """The mean over the last axis, whose middle one tells the weights."""
    middle = pixels[..., SIDE**2 // 2, None]
    weights = cnp.exp(-0.5 * ((pixels - middle) / tolerance) ** 2)
    return cnp.sum(weights * pixels, axis=-1) / cnp.sum(weights, axis=-1)


def callables(compiler: str, folder: str, tolerance: float) -> list[LowLevelCallable]:
    """The filter and its derivative by the tolerance, as SciPy wants functions of C."""
    text = cadiff.compile(bilateral).to_c(np.ones(SIDE**2), tolerance, argnums=1)
    path = Path(folder) / "bilateral.c"
    path.write_text(text + FOR_NDIMAGE, encoding="ascii")
    library = path.with_suffix(".so")
    command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", str(path), "-o", str(library)]
    subprocess.run([*command, "-lm"], check=True)
    numbers = ctypes.POINTER(ctypes.c_double)
    given = ctypes.cast(ctypes.pointer(ctypes.c_double(tolerance)), ctypes.c_void_p)
    functions = []
    for name in ("smoothed", "by_tolerance"):
        function = ctypes.CDLL(str(library))[name]
        function.restype = ctypes.c_int
        function.argtypes = (numbers, ctypes.c_ssize_t, numbers, ctypes.c_void_p)
        functions.append(LowLevelCallable(function, given))
    return functions


def main() -> None:
    """Filter in both ways, compare, and say how long it took."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        print("There is no C compiler: nothing to show.")
        return
    tolerance = 0.3
    distances = np.hypot(*(np.mgrid[:64, :64] - 32))
    disc = (distances < 20).astype(float)
    image = disc + 0.1 * np.random.default_rng(0).normal(size=disc.shape)
    with tempfile.TemporaryDirectory() as folder:
        smoothed, by_tolerance = callables(compiler, folder, tolerance)
        begin = time.perf_counter()
        in_c = generic_filter(image, smoothed, SIDE)
        middle = time.perf_counter()
        generic_filter(image, lambda pixels: bilateral(pixels, tolerance), SIDE)
        end = time.perf_counter()
        slope = generic_filter(image, by_tolerance, SIDE)
    print(f"{1e3 * (middle - begin):.1f} ms as C, {1e3 * (end - middle):.1f} ms as Python")
    before, after = (np.std((found - disc)[distances < 15]) for found in (image, in_c))
    print(f"noise within the disc: {before:.3f} before, {after:.3f} after")
    assert after < 0.3 * before
    padded = np.pad(image, SIDE // 2, mode="symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (SIDE, SIDE))
    pixels = windows.reshape(*image.shape, SIDE**2)
    assert np.allclose(in_c, bilateral(pixels, tolerance), rtol=1e-12)
    expected = cadiff.derivative(lambda width: bilateral(pixels, width), tolerance)
    assert np.allclose(slope, expected, rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    main()
