"""Contests of complex arithmetic: against the same work in real and imaginary parts.

The problem is that of quantum control by pulses of constant strength (Khaneja, Reiss, Kehlet,
Schulte-Herbrueggen and Glaser, "Optimal control of coupled spin dynamics: design of NMR pulse
sequences by gradient ascent algorithms", 2005): the gradient of how well the steps
expm(-i dt (h0 + sum of u[t, k] h[k])) together make a given unitary matrix, by all u. In real
form a complex n x n matrix a + ib is [[a, -b], [b, a]], 2n x 2n.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import cadiff
import cadiff.numpy as cnp
from benchmarks.contests import Contest, FloatArray, Runner, UnavailableError

__all__ = [
    "BY_EIGENVALUES",
    "COMPLEX",
    "COMPLEX_PROGRAM",
    "CONTESTS",
    "REAL",
    "REAL_PROGRAM",
    "pulse",
]

COMPLEX = "complex"
REAL = "real 2n x 2n"
COMPLEX_PROGRAM = "complex, compiled"
REAL_PROGRAM = "real 2n x 2n, compiled"
BY_EIGENVALUES = "complex, eigh, compiled"


class Control(NamedTuple):
    """The matrices of a problem, the length of a step, and the controls where it begins."""

    drift: Any
    controls: Any
    target: Any
    dt: float
    start: FloatArray


def problem(n: int, steps: int) -> Control:
    """Two controls of random Hermitian matrices."""
    rng = np.random.default_rng(0)

    def drawn() -> Any:
        return rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))

    def hermitian() -> Any:
        a = drawn()
        return (a + a.conj().T) / (2.0 * np.sqrt(n))

    drift, controls = hermitian(), np.array([hermitian(), hermitian()])
    target, _ = np.linalg.qr(drawn())
    return Control(drift, controls, target, 5.0 / steps, 0.5 * rng.normal(size=(steps, 2)))


def in_reals(z: Any) -> FloatArray:
    """The real form of complex matrices."""
    rows = [np.concatenate([z.real, -z.imag], -1), np.concatenate([z.imag, z.real], -1)]
    return np.concatenate(rows, -2)


def linalg() -> Any:
    """The functions of matrices."""
    try:
        import cadiff.scipy.linalg
    except ModuleNotFoundError as missing:
        raise UnavailableError("SciPy is not installed") from missing
    return cadiff.scipy.linalg


def product(steps: Any) -> Any:
    """The product of a stack of matrices, the first to the right."""
    result = steps[0]
    for k in range(1, len(steps)):
        result = steps[k] @ result
    return result


def fidelity(given: Control, u: Any, *, loop: bool = False, eigen: bool = False) -> Any:
    """In complex numbers: one matrix after the other in a loop, or all of them in a stack."""
    n, bra = len(given.drift), given.target.conj().T
    expm = linalg().expm
    if loop:
        whole = np.eye(n, dtype=complex)
        drift, controls = -1j * given.dt * given.drift, -1j * given.dt * given.controls
        for amplitudes in u:
            generator = drift
            for k, control in enumerate(controls):
                generator = generator + amplitudes[k] * control
            whole = expm(generator) @ whole
        return abs(cnp.trace(bra @ whole)) ** 2 / n**2
    energies = given.drift + cnp.tensordot(u, given.controls, 1)
    if eigen:
        w, v = cnp.linalg.eigh(energies)
        turned = v * cnp.exp(-1j * given.dt * w)[:, None, :]
        steps = turned @ cnp.conj(cnp.swapaxes(v, -1, -2))
    else:
        steps = expm(-1j * given.dt * energies)
    return abs(cnp.trace(bra @ product(steps))) ** 2 / n**2


def fidelity_in_reals(given: Control, u: Any, *, loop: bool = False) -> Any:
    """The same in real matrices of twice the size. Their eigenvalues are all double."""
    n, bra = len(given.drift), in_reals(given.target.conj().T)
    drift, controls = (
        in_reals(-1j * given.dt * given.drift),
        in_reals(-1j * given.dt * given.controls),
    )
    expm = linalg().expm
    if loop:
        whole = np.eye(2 * n)
        for amplitudes in u:
            generator = drift
            for k, control in enumerate(controls):
                generator = generator + amplitudes[k] * control
            whole = expm(generator) @ whole
    else:
        whole = product(expm(drift + cnp.tensordot(u, controls, 1)))
    overlap = bra @ whole
    re, im = cnp.trace(overlap[:n, :n]), cnp.trace(overlap[n:, :n])
    return (re**2 + im**2) / n**2


def gradient_by_formula(given: Control) -> FloatArray:
    """The gradient by SciPy's derivatives of the single steps, and the products around them."""
    from scipy.linalg import expm, expm_frechet

    n, count = len(given.drift), len(given.start)
    generators = -1j * given.dt * (given.drift + np.tensordot(given.start, given.controls, 1))
    steps = [expm(a) for a in generators]
    before = [np.eye(n, dtype=complex)]
    for step in steps:
        before.append(step @ before[-1])
    overlap = np.trace(given.target.conj().T @ before[-1])
    gradient = np.empty(given.start.shape)
    after = given.target.conj().T
    for t in reversed(range(count)):
        for k, control in enumerate(given.controls):
            change = expm_frechet(generators[t], -1j * given.dt * control, compute_expm=False)
            slope = np.trace(after @ change @ before[t])
            gradient[t, k] = 2.0 * (np.conj(overlap) * slope).real / n**2
        after = after @ steps[t]
    return gradient


def pulse(n: int, steps: int, *, loop: bool) -> Contest:
    """The gradient of a pulse of so many steps, by all of its amplitudes."""
    linalg()
    given = problem(n, steps)
    in_complex: Callable[[Any], Any] = partial(fidelity, given, loop=loop)
    real: Callable[[Any], Any] = partial(fidelity_in_reals, given, loop=loop)
    ways = {
        COMPLEX: cadiff.grad(in_complex),
        REAL: cadiff.grad(real),
        COMPLEX_PROGRAM: cadiff.compile(in_complex).grad,
        REAL_PROGRAM: cadiff.compile(real).grad,
    }
    if not loop:
        ways[BY_EIGENVALUES] = cadiff.compile(partial(fidelity, given, eigen=True)).grad
    expected = gradient_by_formula(given)
    return Contest(
        f"pulse of {steps} steps, n={n}, {'a loop' if loop else 'a stack'}",
        {name: Runner(partial(way, given.start), expected) for name, way in ways.items()},
    )


CONTESTS: tuple[Callable[[], Contest], ...] = (
    partial(pulse, 2, 50, loop=True),
    partial(pulse, 4, 100, loop=False),
)
