"""A charged particle flies past two charges, one of which is to be placed so that it hits 0."""

from functools import partial

import cadiff
import cadiff.numpy as np

from .descent import argmin

DT = 0.1


def miss(w, gradient):
    """The squared place at which the particle falls onto the axis, by steps of Euler."""
    charges = np.array([[10.0, 10.0 - w], [10.0, 0.0]])
    force = gradient(lambda x: -np.sum(1.0 / np.sqrt(np.sum((x - charges) ** 2, axis=1))))
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while True:
        ahead = x + DT * v
        if ahead[1] <= 0.0:
            break
        x, v = ahead, v + DT * force(x)
    landing = ahead[0] - ahead[1] / v[1] * v[0]
    return landing**2


def arguments(input):
    return (input["w"],)


def functions(compiled):
    def control(outer, inner):
        program = compiled(partial(miss, gradient=inner))
        slopes = {"f": lambda w: program.jvp((w,), (1.0,))[1], "r": program.grad}
        return partial(argmin, program, slopes[outer])

    gradients = {"f": cadiff.jacfwd, "r": cadiff.grad}
    return {a + b: control(a, gradients[b]) for a in "fr" for b in "fr"}
