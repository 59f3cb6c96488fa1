"""Fit the polynomials of vectors.c, and write them to coefficients.h.

Each is the polynomial of its degree whose largest error over an interval is least (Remez' exchange
algorithm), computed with 50 digits and then rounded. What is fitted, and how large the error is,
stands in FITS and beside each result. Needs mpmath.

    python src/kernels/coefficients.py  # prints coefficients.h
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import mp

Function = Callable[[Any], Any]

ROUNDS = 15
BESIDE = 4  # numbers in a line
SPLIT = 3  # where the variable of the tail of erfc is 0
LEAST = mp.mpf(10) ** -8  # instead of 0, where functions are limits
LACKING = {"ERROR": 1, "TAIL": 0}  # coefficients of which one double is not enough


@dataclass(frozen=True)
class Fit:
    """What a polynomial stands for: a function between two bounds; the error is weighted."""

    about: str
    function: Function
    low: Any
    high: Any
    degree: int
    weight: Function = lambda x: mp.mpf(1)


def of_tail(x: Any) -> Any:
    """The variable of the tail of erfc."""
    return (mp.mpf(x) - SPLIT) / (mp.mpf(x) + SPLIT)


def tail(t: Any) -> Any:
    """What is left of erfc for large arguments: it goes from 1.3 to 2 / sqrt(pi)."""
    x = SPLIT * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def by_root(function: Function) -> Function:
    """An even function of x as one of x squared."""
    return lambda z: function(mp.sqrt(z))


def fits() -> dict[str, Fit]:
    """All polynomials of vectors.c, by their names there."""
    octant = (mp.pi / 4 * (1 + LEAST)) ** 2
    half = mp.log(2) / 2 * (1 + LEAST)
    return {
        "SINE": Fit(
            "(sin(x) - x) / x^3, of x^2",
            by_root(lambda x: (mp.sin(x) - x) / x**3),
            LEAST,
            octant,
            5,
        ),
        "COSINE": Fit(
            "(cos(x) - 1 + x^2 / 2) / x^4, of x^2",
            by_root(lambda x: (mp.cos(x) - 1 + x**2 / 2) / x**4),
            LEAST,
            octant,
            5,
        ),
        "EXPONENTIAL": Fit(
            "(exp(x) - 1 - x) / x^2",
            lambda x: (mp.expm1(x) - x) / x**2,
            -half,
            half,
            10,
        ),
        "LOGARITHM": Fit(
            "(log((1 + x) / (1 - x)) - 2 x) / x^3, of x^2",
            by_root(lambda x: (2 * mp.atanh(x) - 2 * x) / x**3),
            LEAST,
            mp.mpf("0.0401"),
            7,
        ),
        "ERROR": Fit(
            "erf(x) / x - 1, of x^2",
            by_root(lambda x: mp.erf(x) / x - 1),
            LEAST,
            mp.mpf(1),
            11,
        ),
        "TAIL": Fit(
            "exp(x^2) erfc(x) (1 + 2 x), of (x - 3) / (x + 3)",
            tail,
            of_tail("0.69"),
            of_tail("27.5"),
            21,
        ),
    }


def spread(low: Any, high: Any, n: int) -> list[Any]:
    """The extrema of a Chebyshev polynomial over an interval, both ends among them."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / (n - 1)) for k in range(n)]


def peaks(points: list[Any], errors: list[Any], n: int) -> list[int]:
    """Where errors are largest between changes of their sign: n places that follow each other."""
    found = [0]
    for i in range(1, len(points)):
        if (errors[i] > 0) != (errors[found[-1]] > 0):
            found.append(i)
        elif abs(errors[i]) > abs(errors[found[-1]]):
            found[-1] = i
    while len(found) > n:
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found


def remez(fit: Fit) -> tuple[list[Any], Any]:
    """The coefficients, that of x^0 first, and the largest error."""
    n = fit.degree + 2
    points = spread(fit.low, fit.high, n)
    where = spread(fit.low, fit.high, 20 * n)
    values = [(fit.function(x), fit.weight(x)) for x in where]
    coefficients: list[Any] = []
    largest = mp.inf
    for _ in range(ROUNDS):
        system, right = mp.matrix(n, n), mp.matrix(n, 1)
        for i, x in enumerate(points):
            for k in range(n - 1):
                system[i, k] = x**k
            system[i, n - 1] = (-1) ** i / fit.weight(x)
            right[i] = fit.function(x)
        coefficients = list(mp.lu_solve(system, right))[:-1]
        errors = [
            (mp.fdot(coefficients, [x**k for k in range(n - 1)]) - y) * weight
            for x, (y, weight) in zip(where, values, strict=True)
        ]
        found = peaks(where, errors, n)
        heights = [abs(errors[i]) for i in found]
        largest = max(heights)
        if len(found) < n or largest < mp.mpf("1.01") * min(heights):
            break
        points = [where[i] for i in found]
    return coefficients, largest


def pieces(number: Any, count: int) -> list[float]:
    """A number as a sum of doubles, each the nearest to what those before it leave."""
    parts: list[float] = []
    for _ in range(count):
        parts.append(float(number - sum(map(mp.mpf, parts))))
    return parts


def constants(name: str, about: str, numbers: list[float]) -> list[str]:
    """The lines of a table of C."""
    head = f"/* {about} */" if len(about) < 90 else f"/* {about}\n */"
    table = [f"{x.hex()}," for x in numbers]
    rows = (f"    {' '.join(table[i : i + BESIDE])}" for i in range(0, len(table), BESIDE))
    return [head, f"static const double {name}[] = {{", *rows, "};"]


def header() -> str:
    """All of coefficients.h."""
    lines = [
        "/* Generated by src/kernels/coefficients.py: change that, not this file. */",
        "/* clang-format off */",
        "#ifndef CAD_KERNELS_COEFFICIENTS_H",
        "#define CAD_KERNELS_COEFFICIENTS_H",
        "",
        *constants("HALF_PI", "pi / 2, in parts", pieces(mp.pi / 2, 3)),
        "",
        *constants("LOG_2", "log(2), in parts", pieces(mp.log(2), 2)),
    ]
    for name, fit in fits().items():
        coefficients, error = remez(fit)
        about = f"{fit.about}: to 2^{mp.nstr(mp.log(error, 2), 3)}."
        lines += ["", *constants(name, about, [float(c) for c in coefficients])]
        if name in LACKING:
            which = LACKING[name]
            low = pieces(coefficients[which], 2)[1:]
            about = f"what the {'first' if which == 0 else 'second'} of these lacks"
            lines += ["", *constants(f"{name}_LOW", about, low)]
    return "\n".join([*lines, "", "#endif"]) + "\n"


if __name__ == "__main__":
    mp.dps = 50
    print(header(), end="")
