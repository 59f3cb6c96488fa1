"""A program that is frozen, and runs where no cadiff is: each part needs other modules of it."""

import sys

import numpy as np

import cadiff


def loss(x):
    return np.sum(np.where(x > 0.5, np.sin(x) ** 2, x)) + max(x[0], 0.0)


def agree(found, expected):
    if not np.allclose(found, expected, rtol=1e-4):  # no assertion: -OO leaves those out
        sys.exit(f"{found} is not {expected}")


def log_determinant(x):
    return np.linalg.slogdet(np.outer(x, x) + np.eye(5))[1]


x = np.linspace(0.1, 1.0, 5)
gradient = np.where(x > 0.5, np.sin(2.0 * x), 1.0) + np.eye(5)[0]
program = cadiff.compile(loss)
agree(cadiff.grad(loss)(x), gradient)
agree(program.grad(x), gradient)
agree(program.stats()["eager"], 0)
cadiff.check_grads(loss, (x,))
agree(cadiff.grad(log_determinant)(x), 2.0 * x / (1.0 + x @ x))
agree(cadiff.grad(lambda x: cadiff.nn.relu(x).sum())(x), 1.0)

if "scipy" in sys.argv:
    import scipy.special

    from cadiff.optimize import minimize

    found = minimize(lambda x: np.sum((scipy.special.erf(x) - 0.5) ** 2), np.zeros(3))
    agree(scipy.special.erf(found.x), 0.5)

if "sources" in sys.argv:  # of SciPy's functions that run a second time, with derivatives
    from cadiff.scipy import signal

    agree(cadiff.grad(lambda x: signal.lfilter([0.5, 0.5], [1.0], x)[-1])(x), [0, 0, 0, 0.5, 0.5])
print("right")
