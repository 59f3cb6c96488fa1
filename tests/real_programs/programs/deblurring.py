"""How much a signal was blurred, and from where its light came, by Fourier transforms."""

import numpy as np
from scipy import fft

N = 64
SIGNAL = np.zeros(N)
SIGNAL[[10, 23, 24, 40]] = [1.0, 2.0, 1.5, 3.0]
FREQUENCIES = fft.rfftfreq(N)
TRUTH = np.array([2.5, 0.7, 0.2])
START = np.array([2.0, 0.4, 0.0])


def blurred(x):
    width, shift, floor = x
    transfer = np.exp(-2.0 * (np.pi * width * FREQUENCIES) ** 2 - 2j * np.pi * shift * FREQUENCIES)
    return fft.irfft(fft.rfft(SIGNAL) * transfer, n=N) + floor


DATA = blurred(TRUTH)


def objective(x):
    return np.sum((blurred(x) - DATA) ** 2)
