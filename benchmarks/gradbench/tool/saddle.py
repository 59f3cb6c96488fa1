"""A saddle point: the least of what is the greatest, a descent within a descent."""

from functools import partial

import cadiff
import cadiff.numpy as np

from .descent import argmax, argmin


def height(x, y):
    return np.sum(x**2) - np.sum(y**2)


def summit(x, start, gradient):
    """The y at which it is highest."""

    def along(y):
        return height(x, y)

    return argmax(along, gradient(along), start)


def ridge(x, start, gradient):
    return height(x, summit(x, start, gradient))


def arguments(input):
    return (np.array(input["start"]),)


def functions(compiled):
    def saddle(outer, inner):
        highest = compiled(partial(ridge, gradient=inner))
        top = compiled(partial(summit, gradient=outer))
        slope = outer(highest)

        def point(start):
            x = argmin(lambda x: highest(x, start), lambda x: slope(x, start), start)
            return np.concatenate([x, top(x, start)])

        return point

    gradients = {"f": cadiff.jacfwd, "r": cadiff.grad}
    return {a + b: saddle(gradients[a], gradients[b]) for a in "fr" for b in "fr"}
