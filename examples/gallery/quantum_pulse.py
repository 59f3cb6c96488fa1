"""A quantum gate by optimal control: microwaves that flip a qubit and leave its third level empty.

A transmon has more levels than the two that compute, nearly equidistant ones: a short pulse that
flips 0 and 1 excites 2 as well. GRAPE (Khaneja et al. 2005) shapes the pulse, slice by slice.
"""

import sys

import numpy as np
from scipy.integrate import solve_ivp

import cadiff.numpy as cnp
from cadiff.optimize import minimize
from cadiff.scipy.linalg import expm

LEVELS, SLICES, NANOSECONDS = 4, 40, 6.0
ANHARMONICITY = -2.0 * np.pi * 0.3  # rad/ns: level 2 is 300 MHz lower than equidistant
step = NANOSECONDS / SLICES
times = step * (np.arange(SLICES) + 0.5)

lower = np.diag(np.sqrt(np.arange(1.0, LEVELS)), 1)  # the annihilation operator
number = np.arange(LEVELS)
DRIFT = np.diag(0.5 * ANHARMONICITY * number * (number - 1))
DRIVES = np.array([lower + lower.T, 1j * (lower.T - lower)]) / 2.0  # in phase, and out of it
FLIP = np.array([[0.0, 1.0], [1.0, 0.0]])


def fidelity(pulse):
    """How well the qubit is flipped, averaged over its states: 1 is perfect, leakage counts."""
    hamiltonians = DRIFT + cnp.tensordot(pulse, DRIVES, 1)
    whole = np.eye(LEVELS)
    for slice_ in expm(-1j * step * hamiltonians):
        whole = slice_ @ whole
    gate = whole[:2, :2]
    overlap = cnp.trace(FLIP @ gate)
    return (cnp.sum(abs(gate) ** 2) + abs(overlap) ** 2) / 6.0  # (Pedersen et al. 2007)


def loss(pulse):
    return 1.0 - fidelity(pulse) + 1e-6 * cnp.sum(cnp.diff(pulse, axis=0) ** 2)


bell = np.sin(np.pi * times / NANOSECONDS) ** 2
guess = np.column_stack([bell * np.pi / (step * bell.sum()), np.zeros(SLICES)])
result = minimize(loss, guess, options={"gtol": 1e-7})
pulse = result.x
print(f"infidelity {1.0 - fidelity(guess):.2e} of a sin² pulse, ", end="")
print(f"{1.0 - fidelity(pulse):.2e} after {result.nit} steps")
assert fidelity(pulse) > 0.9999


# Schrödinger's equation, integrated from both states of the qubit, tells the same.
def rate(t, flat):
    hamiltonian = DRIFT + np.tensordot(pulse[min(int(t / step), SLICES - 1)], DRIVES, 1)
    return (-1j * hamiltonian @ flat.reshape(LEVELS, 2)).ravel()


states = [np.eye(LEVELS, 2, dtype=complex)]
for k in range(SLICES):  # slice by slice, for the pulse jumps
    span = k * step, (k + 1) * step - 1e-12
    states.append(solve_ivp(rate, span, states[-1].ravel(), "DOP853", rtol=1e-11, atol=1e-12).y)
    states[-1] = states[-1][:, -1].reshape(LEVELS, 2)
gate = states[-1][:2]
integrated = (np.sum(abs(gate) ** 2) + abs(np.trace(FLIP @ gate)) ** 2) / 6.0
print(f"infidelity by an integrator {1.0 - integrated:.2e}")
assert abs(integrated - fidelity(pulse)) < 1e-8


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, (axes, below) = plt.subplots(2, sharex=True, figsize=(7.0, 4.5), layout="constrained")
    edges = step * np.arange(SLICES + 1)
    megahertz = 1e3 / (2.0 * np.pi)
    axes.stairs(pulse[:, 0] * megahertz, edges, color="C0", lw=1.5, label="in phase")
    axes.stairs(pulse[:, 1] * megahertz, edges, color="C1", lw=1.5, label="out of phase")
    axes.plot(times, guess[:, 0] * megahertz, "C2--", label="guess")
    axes.set_ylabel("drive / MHz")
    axes.legend(loc="upper right")
    populations = np.abs(np.array(states)[:, :, 0]) ** 2
    for level, style in enumerate(["C0", "C1--", "C3:"]):
        below.plot(edges, populations[:, level], style, label=f"level {level}")
    below.set(xlabel="time / ns", ylabel="population from level 0")
    below.legend(loc="center right")
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
