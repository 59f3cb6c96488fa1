"""Programs written for NumPy, moved to cadiff by their import alone.

Each takes the module as `np`: with `numpy` it gives the value, and differences of it; with
`cadiff.numpy` the gradient, of f itself and of the compiled f, where that was recorded and
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy

Program = Callable[[Any, Any], Any]
RNG = numpy.random.default_rng(5)
STEP = 1e-6


# --- quantum control: a pulse that makes a gate --------------------------------------------------


def pulse_of_one_spin(np: Any, x: Any) -> Any:
    """How far rotations about x and z, by cosines and sines of Pauli matrices, are from a gate."""
    sx, sz = np.array([[0, 1], [1, 0]]), np.array([[1, 0], [0, -1]])
    gate = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    u = np.eye(2, dtype=complex)
    for drive, shift in x.reshape(-1, 2):
        angle = np.sqrt(drive**2 + shift**2)
        axis = (drive * sx + shift * sz) / angle
        u = (np.cos(angle) * np.eye(2) - 1j * np.sin(angle) * axis) @ u
    return 1 - abs(np.trace(u.conj().T @ gate)) ** 2 / 4


def pulse_of_two_spins(np: Any, x: Any) -> Any:
    """The same of 4x4 matrices, whose exponentials are series; steps are written to an array."""
    sx, sy = np.array([[0, 1], [1, 0]], dtype=complex), np.array([[0, -1j], [1j, 0]])
    one = np.identity(2)
    drift = 0.3 * np.kron(sx, sx) + 0.2 * np.kron(sy, sy)
    target = np.exp(1j * np.arange(4.0))[:, None] * np.eye(4)
    steps = np.zeros((len(x) // 2, 4, 4), dtype=complex)
    for k in range(len(steps)):
        h = drift + x[2 * k] * np.kron(sx, one) + x[2 * k + 1] * np.kron(one, sy)
        term = total = np.eye(4) + 0j
        for n in range(1, 8):
            term = -0.2j * h @ term / n
            total = total + term
        steps[k] = total
    u = np.eye(4, dtype=complex)
    for step in steps:
        u = step @ u
    overlap = np.vdot(target, u)
    return 1 - (overlap * overlap.conjugate()).real / 16


# --- a likelihood whose state is written to an array ---------------------------------------------

RETURNS = RNG.normal(size=25)


def garch(np: Any, x: Any) -> Any:
    """The likelihood of returns, the variance of each of which depends on the ones before."""
    omega, alpha, beta = np.exp(x)
    variance = np.zeros(len(RETURNS))
    variance[0] = np.var(RETURNS)
    for t in range(1, len(RETURNS)):
        variance[t] = omega + alpha * RETURNS[t - 1] ** 2 + beta * variance[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi * variance) + RETURNS**2 / variance)


# --- a fluid -------------------------------------------------------------------------------------

ROWS, COLUMNS = 5, 6
SMOKE = RNG.random((ROWS, COLUMNS))


def fluid(np: Any, x: Any) -> Any:
    """Smoke that is carried along by a velocity without sources; cells are found by rounding."""
    velocity = x.reshape(2, ROWS, COLUMNS)
    ys, xs = np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    smoke = SMOKE

    def carried(f: Any, vy: Any, vx: Any) -> Any:
        y, x = (ys - vy).ravel(), (xs - vx).ravel()
        top, left = np.floor(y).astype(int), np.floor(x).astype(int)
        down, right = y - top, x - left
        top, left = np.mod(top, ROWS), np.mod(left, COLUMNS)
        bottom, beside = (top + 1) % ROWS, (left + 1) % COLUMNS
        upper = (1 - right) * f[top, left] + right * f[top, beside]
        lower = (1 - right) * f[bottom, left] + right * f[bottom, beside]
        return np.reshape((1 - down) * upper + down * lower, f.shape)

    for _ in range(2):
        vy, vx = carried(velocity[0], *velocity), carried(velocity[1], *velocity)
        sources = np.roll(vy, -1, 0) - np.roll(vy, 1, 0) + np.roll(vx, -1, 1) - np.roll(vx, 1, 1)
        pressure = np.zeros((ROWS, COLUMNS))
        for _ in range(3):
            around = (np.roll(pressure, s, a) for s in (1, -1) for a in (0, 1))
            pressure = (sum(around) - sources / 2) / 4
        vy -= (np.roll(pressure, -1, 0) - np.roll(pressure, 1, 0)) / 2
        vx -= (np.roll(pressure, -1, 1) - np.roll(pressure, 1, 1)) / 2
        velocity = [vy, vx]
        smoke = carried(smoke, vy, vx)
    return np.mean((smoke - SMOKE[::-1]) ** 2)


# --- a robot's arm -------------------------------------------------------------------------------


def arm(np: Any, x: Any) -> Any:
    """Where the hand of an arm is, by homogeneous matrices of mixed entries."""
    pose = np.eye(4)
    for k, angle in enumerate(x):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s, 0, 0.5 * c], [s, c, 0, 0.5 * s], [0, 0, 1, 0.1], [0, 0, 0, 1]])
        tilt = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
        pose = pose @ turn @ (tilt if k % 2 == 0 else np.eye(4))
    goal = [0.3, 0.8, 0.4]
    return np.sum((pose[:3, 3] - goal) ** 2) + 0.1 * np.arctan2(pose[1, 0], pose[0, 0])


# --- a filter ------------------------------------------------------------------------------------

TRACK = numpy.cumsum(RNG.normal(size=12))


def kalman(np: Any, x: Any) -> Any:
    """The likelihood of positions of something that moves, by a filter of two states."""
    noise, error = np.exp(x[0]), np.exp(x[1])
    f, h = np.array([[1.0, x[2]], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    state, cov = np.zeros(2), np.eye(2) * 4
    loss = 0
    for y in TRACK:
        state, cov = f @ state, f @ cov @ f.T + noise * np.eye(2)
        rest, s = y - h @ state, h @ cov @ h.T + error
        gain = np.linalg.solve(s, h @ cov).T
        state = state + gain @ rest
        cov = (np.eye(2) - gain @ h) @ cov
        loss += 0.5 * (rest @ np.linalg.solve(s, rest) + np.linalg.slogdet(s)[1])
    return loss


# --- a network in lists --------------------------------------------------------------------------


def recurrent(np: Any, x: Any) -> Any:
    """A network that keeps its states in a list, and its weights in a dict."""
    weights = {"in": x[:6].reshape(2, 3), "state": x[6:15].reshape(3, 3), "out": x[15:18]}
    states = [np.zeros(3)]
    for t in range(5):
        seen = [np.sin(t), 1]
        states.append(np.tanh(np.dot(seen, weights["in"]) + states[-1] @ weights["state"]))
    outputs = [np.dot(state, weights["out"]) for state in states[1:]]
    errors = np.array(outputs) - [0, 1, 0, 1, 0]
    return np.mean(errors**2) + 1e-2 * sum(np.sum(w**2) for w in weights.values())


# --- a signal ------------------------------------------------------------------------------------

TIMES = numpy.linspace(0.0, 1.0, 16)
RECEIVED = (1.5 - 0.5j) * numpy.exp(1j * (5.0 * TIMES + 0.3)) + 0.1j


def signal(np: Any, x: Any) -> Any:
    """Two tones with phases, compared with a signal by lengths and angles."""
    amplitude, frequency, phase = x[:2], x[2:4], x[4:6]
    tones = amplitude * np.exp(1j * (np.outer(TIMES, frequency) + phase))
    model = tones.sum(axis=1)
    model[0] *= 0.5
    turned = np.angle(model * np.conj(RECEIVED))
    return np.sum((np.abs(model) - np.abs(RECEIVED)) ** 2) + np.mean(1 - np.cos(turned))


PROGRAMS: dict[str, tuple[Program, Any]] = {
    program.__name__: (program, RNG.uniform(0.2, 0.9, size))
    for program, size in (
        (pulse_of_one_spin, 8),
        (pulse_of_two_spins, 6),
        (garch, 3),
        (fluid, 2 * ROWS * COLUMNS),
        (arm, 5),
        (kalman, 3),
        (recurrent, 18),
        (signal, 6),
    )
}


def difference(f: Callable[[Any], float], x: Any, t: Any) -> float:
    return (f(x + STEP * t) - f(x - STEP * t)) / (2 * STEP)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name: str) -> None:
    program, start = PROGRAMS[name]

    def of_numpy(x: Any) -> float:
        return float(program(numpy, numpy.array(x)))

    def f(x: Any) -> Any:
        return program(cadiff.numpy, x)

    compiled = cadiff.compile(f)
    direction = numpy.random.default_rng(1).normal(size=start.shape)
    for x in (start, 1.1 * start, start):
        want = difference(of_numpy, x, direction)
        for value, gradient in (cadiff.value_and_grad(f)(x), compiled.value_and_grad(x)):
            assert value == pytest.approx(of_numpy(x), rel=1e-12)
            assert gradient @ direction == pytest.approx(want, rel=1e-6, abs=1e-8)
        assert cadiff.jvp(f, (x,), (direction,))[1] == pytest.approx(want, rel=1e-6, abs=1e-8)
    stats = compiled.stats()
    assert stats["recordings"] == 1 and stats["eager"] == 0  # all else was replayed
