"""Swing up a pole on a cart with the least effort: trajectory optimisation by collocation."""

import sys

import numpy as np
from scipy.integrate import solve_ivp

import cadiff.numpy as cnp
from cadiff.optimize import NonlinearConstraint, minimize

CART, POLE, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81  # kg, kg, m, m/s²
SECONDS, DISTANCE, INTERVALS = 2.0, 1.0, 40
step = SECONDS / INTERVALS
times = np.linspace(0.0, SECONDS, 2 * INTERVALS + 1)  # with the middle of each interval


def motion(state, force):
    """The rates of position, angle (0 hangs down) and their speeds."""
    _, angle, speed, spin = state
    sin, cos = cnp.sin(angle), cnp.cos(angle)
    pull = force + POLE * (LENGTH * spin**2 + GRAVITY * cos) * sin
    acceleration = pull / (CART + POLE * sin**2)
    return cnp.stack([speed, spin, acceleration, -(acceleration * cos + GRAVITY * sin) / LENGTH])


def defects(path):
    """By how much Simpson's rule is missed, and Hermite's cubic, and both ends: all to be zero."""
    state, rates = path[:4], motion(path[:4], path[4])
    (left, middle, right), (a, b, c) = (
        (x[:, :-2:2], x[:, 1::2], x[:, 2::2]) for x in (state, rates)
    )
    simpson = right - left - step / 6.0 * (a + 4.0 * b + c)
    hermite = middle - 0.5 * (left + right) - step / 8.0 * (a - c)
    end = state[:, -1] - np.array([DISTANCE, np.pi, 0.0, 0.0])
    return cnp.concatenate([simpson.ravel(), hermite.ravel(), state[:, 0], end])


def effort(path):
    """The integral of the force squared."""
    square = path[4] ** 2
    return step / 6.0 * cnp.sum(square[:-2:2] + 4.0 * square[1::2] + square[2::2])


guess = np.zeros((5, len(times)))
guess[:2] = np.outer([DISTANCE, np.pi], times / SECONDS)
result = minimize(
    effort, guess, method="trust-constr", constraints=NonlinearConstraint(defects, 0.0, 0.0)
)
path, force = result.x[:4], result.x[4]
print(
    f"{result.x.size} numbers, {result.constr[0].size} constraints, {result.nit} steps: ", end=""
)
print(f"effort {result.fun:.3f} N² s, largest force {np.abs(force).max():.1f} N")
assert np.abs(defects(result.x)).max() < 1e-10


# The same forces, given to a cart by an integrator that knows nothing of collocation.
def force_at(t):
    k = min(int(t / step), INTERVALS - 1)
    s = t / step - k
    return force[2 * k : 2 * k + 3] @ [(1 - s) * (1 - 2 * s), 4 * s * (1 - s), s * (2 * s - 1)]


simulated = solve_ivp(
    lambda t, state: motion(state, force_at(t)),
    (0.0, SECONDS), np.zeros(4), t_eval=times, rtol=1e-9, atol=1e-9, max_step=step,
)  # fmt: skip
error = np.abs(simulated.y - path).max()
print(f"integrated, it is off by {error:.4f} at most, and ends at {simulated.y[:2, -1].round(3)}")
assert error < 0.02


def draw(file):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, (axes, below) = plt.subplots(
        2, figsize=(7.0, 4.6), height_ratios=(3, 2), layout="constrained"
    )
    position, angle = simulated.y[:2]
    tip = position + LENGTH * np.sin(angle), -LENGTH * np.cos(angle)
    axes.plot(*tip, "C1", lw=0.8)
    for k in range(0, len(times), 4):
        shade = 0.2 + 0.8 * k / len(times)
        axes.plot([position[k], tip[0][k]], [0.0, tip[1][k]], "C0", alpha=shade)
        axes.plot(position[k], 0.0, "C3s", ms=6, alpha=shade)
        axes.plot(tip[0][k], tip[1][k], "C1o", ms=5, alpha=shade)
    axes.set(xlabel="position / m", ylabel="height / m", aspect="equal", xlim=(-0.6, 2.2))
    below.plot(times, force, "C0")
    below.axhline(0.0, color="C2", lw=0.8)
    below.set(xlabel="time / s", ylabel="force / N", xlim=(0.0, SECONDS))
    figure.savefig(file, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
