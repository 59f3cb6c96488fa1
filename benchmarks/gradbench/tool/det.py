"""A determinant, expanded by the minors of the first row."""

import cadiff.numpy as np


def determinant(A, n):
    return by_minors([list(row) for row in A.reshape(n, n)])


def by_minors(rows):
    first, *others = rows
    if not others:
        return first[0]
    total = 0.0
    for j, a in enumerate(first):
        minor = by_minors([row[:j] + row[j + 1 :] for row in others])
        total += (-1) ** j * a * minor
    return total


def arguments(input):
    return np.array(input["A"]), input["ell"]


def functions(compiled):
    program = compiled(determinant)
    return {"primal": program, "gradient": program.grad}
