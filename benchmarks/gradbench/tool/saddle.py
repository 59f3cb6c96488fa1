"""A saddle point: the least of what is the greatest, a descent within a descent."""

import cadiff
import cadiff.numpy as np

from .descent import argmax, argmin


def height(x, y):
    return np.sum(x**2) - np.sum(y**2)


def arguments(input):
    return (np.array(input["start"]),)


def functions(compiled):
    gradients = {"f": cadiff.jacfwd, "r": cadiff.grad}

    def saddle(outer, inner):
        def summit(x, start, gradient):
            def over(y):
                return height(x, y)

            return argmax(over, gradient(over), start)

        @compiled
        def ridge(x, start):
            return height(x, summit(x, start, inner))

        def point(start):
            def slope(x):
                return outer(ridge)(x, start)

            x = argmin(lambda x: ridge(x, start), slope, start)
            return np.concatenate([x, summit(x, start, outer)])

        return point

    return {a + b: saddle(gradients[a], gradients[b]) for a in "fr" for b in "fr"}
