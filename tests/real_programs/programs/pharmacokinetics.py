"""A drug that is taken three times, absorbed, exchanged with tissue, and eliminated."""

import numpy as np
from scipy.integrate import odeint

DOSES = (0.0, 6.0, 12.0)
SAMPLES = np.array([0.5, 1.0, 2.0, 4.0, 6.0])
TRUTH = np.log([1.2, 0.25, 0.5, 0.3, 8.0])
START = np.log([1.0, 0.3, 0.45, 0.35, 9.0])


def rates(amounts, t, absorb, eliminate, out, back):
    gut, blood, tissue = amounts
    return [
        -absorb * gut,
        absorb * gut - (eliminate + out) * blood + back * tissue,
        out * blood - back * tissue,
    ]


def concentrations(logs):
    *constants, volume = np.exp(logs)
    amounts, seen = np.zeros(3), []
    for start in DOSES:
        first = amounts + np.array([100.0, 0.0, 0.0])
        times = np.append(start, start + SAMPLES)
        path = odeint(rates, first, times, args=tuple(constants), rtol=1e-11, atol=1e-11)
        amounts = path[-1]
        seen.append(path[1:, 1] / volume)
    return np.concatenate(seen)


DATA = concentrations(TRUTH)


def objective(logs):
    return np.sum(np.log(concentrations(logs) / DATA) ** 2)
