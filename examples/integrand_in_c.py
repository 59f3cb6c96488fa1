"""Integrate a Python function that SciPy calls as C: a LowLevelCallable for `quad`.

The integrand is recorded once; `to_c` writes it and its gradient as C99, and functions of two or
three lines give them the signature that `quad` knows. So QUADPACK calls the integrand, and its
derivative by a parameter, without Python. Their integrals are compared with those that are known.
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
from scipy.integrate import quad

import cadiff

FOR_QUAD = """
double integrand(int n, double *x) { /* x[0] is the variable, the others are parameters */
    double value;
    return wave_value(x, &value) == 0 ? value : NAN;
}

double derivative(int n, double *x) { /* by the frequency */
    double value, grad[3];
    return wave_value_and_grad(x, &value, grad) == 0 ? grad[1] : NAN;
}
"""


def wave(x: Any) -> Any:
    """A packet of waves at x[0], of the frequency x[1] and the width x[2]."""
    return cadiff.cos(x[1] * x[0]) * cadiff.exp(-((x[0] / x[2]) ** 2))


def callables(compiler: str, folder: str) -> tuple[LowLevelCallable, LowLevelCallable]:
    """The integrand and its derivative by the frequency, as SciPy wants functions of C."""
    text = cadiff.compile(wave).to_c(np.ones(3), name="wave")
    path = Path(folder) / "wave.c"
    path.write_text(text + FOR_QUAD, encoding="ascii")
    library = path.with_suffix(".so")
    command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", str(path), "-o", str(library)]
    subprocess.run([*command, "-lm"], check=True)
    functions = []
    for name in ("integrand", "derivative"):
        function = ctypes.CDLL(str(library))[name]
        function.restype = ctypes.c_double
        function.argtypes = (ctypes.c_int, ctypes.POINTER(ctypes.c_double))
        functions.append(LowLevelCallable(function))
    return functions[0], functions[1]


def main() -> None:
    """Integrate both ways, compare, and say how long it took."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        print("There is no C compiler: nothing to show.")
        return
    frequency, width = 3.0, 1.5
    with tempfile.TemporaryDirectory() as folder:
        integrand, derivative = callables(compiler, folder)
        begin = time.perf_counter()
        in_c, _ = quad(integrand, -8.0, 8.0, args=(frequency, width))
        middle = time.perf_counter()
        in_python, _ = quad(lambda x: wave([x, frequency, width]), -8.0, 8.0)
        end = time.perf_counter()
        slope, _ = quad(derivative, -8.0, 8.0, args=(frequency, width))
    exact = np.sqrt(np.pi) * width * np.exp(-((frequency * width / 2.0) ** 2))
    print(f"{in_c:.12f} as C, {in_python:.12f} as Python, {exact:.12f} exactly")
    print(f"{1e6 * (middle - begin):.0f} µs as C, {1e6 * (end - middle):.0f} µs as Python")
    assert np.isclose(in_c, exact, rtol=1e-10)
    assert np.isclose(in_python, exact, rtol=1e-10)
    assert np.isclose(slope, -frequency * width**2 / 2.0 * exact, rtol=1e-9)


if __name__ == "__main__":
    main()
