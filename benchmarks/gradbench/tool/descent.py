"""The gradient descent that `particle` and `saddle` are defined by."""

import cadiff.numpy as np

ENOUGH = 1e-5


def length(v):
    return np.sqrt(np.sum(v**2))


def argmin(f, slope, x):
    """Steps grow after ten that went down, and shrink after one that did not."""
    fx, gx, rate, downs = f(x), slope(x), 1e-5, 0
    while length(gx) > ENOUGH:
        if downs == 10:
            rate, downs = 2.0 * rate, 0
            continue
        ahead = x - rate * gx
        if length(ahead - x) <= ENOUGH:
            break
        if (f_ahead := f(ahead)) < fx:
            x, fx, gx, downs = ahead, f_ahead, slope(ahead), downs + 1
        else:
            rate, downs = 0.5 * rate, 0
    return x


def argmax(f, slope, x):
    return argmin(lambda x: -f(x), lambda x: -slope(x), x)
