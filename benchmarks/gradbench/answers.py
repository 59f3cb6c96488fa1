"""``python -m benchmarks.gradbench.answers``: answers to the smallest inputs, without cadiff.

They are made in other ways than the tool's: the densities of `gmm` by determinants and inverses,
rotations by the exponential of a matrix, `ode` by the coefficients of a polynomial, derivatives by
formulas, or by complex steps, which have all digits. `answers.json` has what is printed; the test
beside it compares.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from benchmarks.gradbench.inputs import INPUTS

__all__ = ["PATH", "numbers"]

PATH = Path(__file__).with_name("answers.json")
STEP = 1e-30
MOST = 500  # numbers of an answer that are all written down


def numbers(answer: Any) -> list[float]:
    """An answer as a vector: if it is long, how many, their sum and that of squares, and some."""
    flat = np.array(flattened(answer))
    if len(flat) > MOST:
        flat = np.concatenate([[len(flat), sum(flat), flat @ flat], flat[:: len(flat) // 50]])
    return [float(number) for number in flat]


def flattened(answer: Any) -> list[float]:
    if isinstance(answer, dict):
        return [number for name in sorted(answer) for number in flattened(answer[name])]
    if isinstance(answer, (list, tuple, np.ndarray)):
        return [number for part in answer for number in flattened(part)]
    return [float(answer)]


def complex_steps(f: Callable[[Any], Any], x: Any) -> Any:
    """The Jacobian of an analytic function of a vector: a row for each result."""
    steps = x + 1j * STEP * np.eye(len(x))
    return np.stack([np.imag(f(at)) / STEP for at in steps], axis=-1)


def exponential(A: Any) -> Any:
    """Of a matrix, by its series, squared."""
    total = term = np.eye(len(A))
    for i in range(1, 20):
        term = term @ A / (64.0 * i)
        total = total + term
    for _ in range(6):
        total = total @ total
    return total


def turned(vector: Any) -> Any:
    """The rotation about an axis by the length of the vector."""
    x, y, z = vector
    return exponential(np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]))


def hello(x: float) -> tuple[Any, ...]:
    return x * x, x + x


def gmm(given: dict[str, Any]) -> tuple[Any, ...]:
    d, k, m, gamma = (given[name] for name in ("d", "k", "m", "gamma"))
    x = np.array(given["x"])
    names = "alpha", "mu", "q", "l"
    parts = [np.array(given[name]) for name in names]
    ends = np.cumsum([part.size for part in parts])[:-1]

    def split(vector: Any) -> list[Any]:
        pieces = np.split(vector, ends)
        return [piece.reshape(part.shape) for piece, part in zip(pieces, parts, strict=True)]

    def log_posterior(vector: Any) -> Any:
        alpha, mu, q, lower = split(vector)
        phi = np.exp(alpha) / np.sum(np.exp(alpha))
        density, log_prior = 0.0, 0.0
        degrees = d + m + 1
        log_gamma = 0.25 * d * (d - 1) * math.log(math.pi)
        log_gamma += sum(math.lgamma(0.5 * (degrees - j)) for j in range(d))
        V = np.eye(d) / gamma**2
        for i in range(k):
            Q = np.diag(np.exp(q[i]))
            below = iter(lower[i])
            for column in range(d):
                for row in range(column + 1, d):
                    Q[row, column] = next(below)
            precision = Q.T @ Q
            away = x - mu[i]
            exponent = -0.5 * np.sum(away @ precision * away, axis=1)
            height = np.sqrt(np.linalg.det(precision) / (2.0 * np.pi) ** d)
            density = density + phi[i] * height * np.exp(exponent)
            log_prior = log_prior + 0.5 * m * np.log(np.linalg.det(precision))
            log_prior = log_prior - 0.5 * np.trace(np.linalg.inv(V) @ precision) - log_gamma
            log_prior -= 0.5 * degrees * (d * math.log(2.0) + math.log(np.linalg.det(V)))
        return np.sum(np.log(density)) + log_prior

    at = np.concatenate([part.ravel() for part in parts])
    gradient = split(complex_steps(log_posterior, at))
    return log_posterior(at), dict(zip(names, gradient, strict=True))


def ba(given: dict[str, Any]) -> tuple[Any, ...]:
    n, m, p, feature = given["n"], given["m"], given["p"], np.array(given["feat"])

    def misfit(unknowns: Any) -> Any:
        camera, point, weight = unknowns[:11], unknowns[11:14], unknowns[14]
        x, y, z = turned(camera[:3]) @ (point - camera[3:6])
        u, v = x / z, y / z
        square = u * u + v * v
        scale = camera[6] * (1.0 + camera[9] * square + camera[10] * square * square)
        return weight * (np.array([u, v]) * scale + camera[7:9] - feature)

    weight = given["w"]
    at = np.array([*given["cam"], *given["x"], weight])
    first = misfit(at)
    objective = {
        "reproj_error": {"elements": first, "repeated": p},
        "w_err": {"element": 1.0 - weight**2, "repeated": p},
    }
    row = [*range(11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    jacobian = {
        "rows": [*range(0, 450, 15), 31 * p],
        "cols": [*row, *row, 11 * n + 3 * m + p - 1],
        "vals": [*complex_steps(misfit, at).ravel(), -2.0 * weight],
    }
    return objective, jacobian


def ht(given: dict[str, Any]) -> tuple[Any, ...]:
    data, model = given["data"], given["data"]["model"]
    n = len(data["correspondences"])

    def about(axis: int, angle: Any) -> Any:
        matrix = np.eye(4, dtype=complex)
        matrix[:3, :3] = turned(angle * np.eye(3)[axis])
        return matrix

    def misfits(moves: Any, us: Any) -> Any:
        theta = moves[-26:]
        bends = np.zeros((22, 3), dtype=complex)
        for finger in range(5):
            first, side, second, third = theta[6 + 4 * finger : 10 + 4 * finger]
            for joint, bend in enumerate((first, second, third)):
                bends[2 + 4 * finger + joint, 0] = bend
            bends[2 + 4 * finger, 1] = side
        skin = np.zeros((len(model["base_positions"]), 3), dtype=complex)
        absolute: list[Any] = []
        for bone, parent in enumerate(model["parents"]):
            x, z, y = bends[bone]
            relative = np.array(model["base_relatives"][bone])
            relative = relative @ about(2, z) @ about(1, y) @ about(0, x)
            absolute.append(relative if parent < 0 else absolute[parent] @ relative)
            move = absolute[bone] @ np.array(model["inverse_base_absolutes"][bone])
            for vertex, position in enumerate(model["base_positions"]):
                skin[vertex] += model["weights"][vertex][bone] * (move @ position)[:3]
        if model["is_mirrored"]:
            skin[:, 0] = -skin[:, 0]
        placed = [turned(theta[:3]) @ vertex + theta[3:6] for vertex in skin]
        found = []
        for i, corner in enumerate(data["correspondences"]):
            if us:
                a, b, c = (placed[vertex] for vertex in model["triangles"][corner])
                u, v = us[i] + moves[:2]
                on_skin = u * a + v * b + (1.0 - u - v) * c
            else:
                on_skin = placed[corner]
            found.append(data["points"][i] - on_skin)
        return np.concatenate(found)

    us = [np.array(u) for u in given["us"]]
    at = np.array([0.0, 0.0, *given["theta"]] if us else given["theta"])
    jacobian = complex_steps(lambda moves: misfits(moves, us), at)
    assert jacobian.shape == (3 * n, len(at))
    return misfits(at, us).real, jacobian


def lstm(given: dict[str, Any]) -> tuple[Any, ...]:
    main, extra, states, text = (
        np.array(given[name]) for name in ("main_params", "extra_params", "state", "sequence")
    )
    bits = text.shape[1]

    def logistic(x: Any) -> Any:
        return 0.5 + 0.5 * np.tanh(0.5 * x)

    def loss(vector: Any) -> Any:
        w = vector[: main.size].reshape(main.shape)
        into, out, bias = vector[main.size :].reshape(extra.shape)
        state, total = states.astype(complex), 0.0
        for t in range(len(text) - 1):
            x = text[t] * into
            for i in range(0, len(main), 2):
                a, b = w[i].reshape(4, bits), w[i + 1].reshape(4, bits)
                hidden, cell = state[i], state[i + 1]
                cell = logistic(a[0] * x + b[0]) * cell + logistic(a[1] * hidden + b[1]) * np.tanh(
                    a[3] * hidden + b[3]
                )
                x = logistic(a[2] * x + b[2]) * np.tanh(cell)
                state[i], state[i + 1] = x, cell
            y = x * out + bias
            total = total - text[t + 1] @ (y - np.log(2.0 + np.sum(np.exp(y))))
        return total / (bits * (len(text) - 1))

    at = np.concatenate([main.ravel(), extra.ravel()])
    return loss(at).real, complex_steps(loss, at)


def kmeans(given: dict[str, Any]) -> tuple[Any, ...]:
    points, centroids = np.array(given["points"]), np.array(given["centroids"])
    squares = np.array([[(p - c) @ (p - c) for c in centroids] for p in points])
    nearest = squares.argmin(axis=1)
    means = np.array([points[nearest == j].mean(axis=0) for j in range(len(centroids))])
    return squares.min(axis=1).sum(), centroids - means


def det(given: dict[str, Any]) -> tuple[Any, ...]:
    A = np.reshape(given["A"], (given["ell"], -1))
    return np.linalg.det(A), np.linalg.det(A) * np.linalg.inv(A).T


def llsq(given: dict[str, Any]) -> tuple[Any, ...]:
    x, n = given["x"], given["n"]
    t = [-1.0 + 2.0 * i / (n - 1) for i in range(n)]
    away = [np.sign(ti) - sum(xj * ti**j for j, xj in enumerate(x)) for ti in t]
    gradient = [-sum(a * ti**j for a, ti in zip(away, t, strict=True)) for j in range(len(x))]
    return 0.5 * sum(a * a for a in away), gradient


def lse(given: dict[str, Any]) -> tuple[Any, ...]:
    powers = [math.exp(x) for x in given["x"]]
    total = math.fsum(powers)
    return math.log(total), [power / total for power in powers]


def ode(given: dict[str, Any]) -> tuple[Any, ...]:
    """A step multiplies by a polynomial of degree 4 in the matrix, which shifts and scales."""
    x, steps = np.array(given["x"]), given["s"]
    h = 2.0 / steps
    of_a_step = [h**j / math.factorial(j) for j in range(5)]
    all_steps = polynomial.polypow(of_a_step, steps)[1 : len(x) + 1]
    y = np.cumprod(x) * all_steps
    return y, y[-1] / x


def particle(given: dict[str, Any]) -> tuple[Any, ...]:
    """Where it hits the origin, by bisection, and the force by its formula."""

    def landing(w: float) -> float:
        x, y, u, v = 0.0, 8.0, 0.75, 0.0
        while y + 0.1 * v > 0.0:
            force_x = force_y = 0.0
            for a, b in ((10.0, 10.0 - w), (10.0, 0.0)):
                cube = math.hypot(x - a, y - b) ** 3
                force_x, force_y = force_x + (x - a) / cube, force_y + (y - b) / cube
            x, y, u, v = x + 0.1 * u, y + 0.1 * v, u + 0.1 * force_x, v + 0.1 * force_y
        return x - y / v * u

    low, high = 0.0, 0.5
    assert landing(low) * landing(high) < 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if landing(low) * landing(middle) > 0.0 else (low, middle)
    return (low,) * 4


def saddle(given: dict[str, Any]) -> tuple[Any, ...]:
    return (np.zeros(4),) * 4


EVALS = (hello, gmm, ba, ht, lstm, kmeans, det, llsq, lse, ode, particle, saddle)
ANSWERS: dict[str, Callable[[Any], tuple[Any, ...]]] = {f.__name__: f for f in EVALS}


def main() -> None:
    """Write down all answers, those of an eval as a line."""
    lines = []
    for name, (functions, given) in INPUTS.items():
        answers = ANSWERS[name.split()[0]](given)
        recorded = {f: numbers(answer) for f, answer in zip(functions, answers, strict=True)}
        lines.append(f"{json.dumps(name)}: {json.dumps(recorded)}")
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
