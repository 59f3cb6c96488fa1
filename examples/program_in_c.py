"""Embed a program in C: value and gradient of a Python function, called from a main of C.

The energy of a chain of springs is recorded once; `to_c` writes it, with its gradient, as C99. A
main of a dozen lines goes down the gradient with it, without Python. What it prints is compared
with the chain's rest, which is known.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import cadiff

N = 5  # masses, of which the last one is held at N
LENGTH = 0.5  # of a spring at rest

MAIN = f"""
#include <stdio.h>

int main(void) {{
    double x[{N}] = {{0.3, 0.1, 0.9, 0.2, 0.4}}, value, grad[{N}];
    for (int turn = 0; turn < 2000; turn++) {{
        if (energy_value_and_grad(x, &value, grad) != 0) {{
            return 1; /* another branch than the one that was recorded */
        }}
        for (int i = 0; i < {N}; i++) {{
            x[i] -= 0.2 * grad[i];
        }}
    }}
    for (int i = 0; i < {N}; i++) {{
        printf("%.17g\\n", x[i]);
    }}
    return 0;
}}
"""


def energy(x: Any) -> Any:
    """Of springs from 0 to the first mass, from each to the next, and from the last one to N."""
    total, before = 0.0, 0.0
    for k in range(N):
        total = total + 0.5 * (x[k] - before - LENGTH) ** 2
        before = x[k]
    return total + 0.5 * (N - before - LENGTH) ** 2


def main() -> None:
    """Write the program, compile it with its main, run it, and compare."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        print("There is no C compiler: nothing to show.")
        return
    text = cadiff.compile(energy).to_c(np.zeros(N), name="energy")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.c"
        path.write_text(text + MAIN, encoding="ascii")
        program = path.with_suffix("")
        command = [compiler, "-std=c99", "-O2", str(path), "-o", str(program), "-lm"]
        subprocess.run(command, check=True)
        printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found = np.array([float(line) for line in printed.split()])
    expected = np.arange(1, N + 1) * (N / (N + 1))  # all springs are of one length
    print("found by C:", found)
    assert np.allclose(found, expected, rtol=1e-9)


if __name__ == "__main__":
    main()
