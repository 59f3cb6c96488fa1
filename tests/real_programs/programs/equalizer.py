"""An equalizer of two bands, whose gains and qualities are found from what it does to noise."""

import numpy as np
from scipy import signal

RATE = 8000.0
CENTRES = np.array([500.0, 1800.0])
NOISE = np.random.default_rng(1).normal(size=200)
TRUTH = np.array([6.0, -4.0, 0.9, 1.6])  # gains in dB, qualities
START = np.array([1.0, -1.0, 1.2, 1.2])


def peak(centre, gain, quality):
    amplitude = 10.0 ** (gain / 40.0)
    w = 2.0 * np.pi * centre / RATE
    alpha = np.sin(w) / (2.0 * quality)
    b = np.array([1.0 + alpha * amplitude, -2.0 * np.cos(w), 1.0 - alpha * amplitude])
    a = np.array([1.0 + alpha / amplitude, -2.0 * np.cos(w), 1.0 - alpha / amplitude])
    return np.hstack([b / a[0], a / a[0]])


def output(x):
    sections = np.array([peak(CENTRES[k], x[k], x[2 + k]) for k in range(2)])
    return signal.sosfilt(sections, NOISE)


DATA = output(TRUTH)


def objective(x):
    return np.mean((output(x) - DATA) ** 2)
