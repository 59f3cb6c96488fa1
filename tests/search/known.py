"""What is as it is by convention, each with its reason: the one list of what counts as no fault.

A line names cases, by a pattern of their text, and an invariant. No fault that is to be mended
stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LINES = r"""
# NumPy divides both parts by a complex 0, the formula by a length without a direction: nan.
signal.freqs\(.*, array\(\[\], ; nan in

# The phase of complex vectors is LAPACK's, and their derivatives keep it still.
(eig|svd|schur|null_space|orth|polar).*(j |complex) ; differences

# Derivatives of a basis of a null space turn nothing within it: what is left is LAPACK's.
null_space ; (differences|modes agree|mixed partials)

# Stairs that are shorter than a step of differences have the slope of a ramp.
(round|around|fmod|mod|remainder|floor_divide|divmod) ; silently 0

# `round(v)` and `math.floor(v)` are numbers with the derivative 0, where Python gives an int.
(round|floor|ceil|trunc)\( ; shapes are

# A branch that is taken at one point alone, such as `1.0 if x == 1 else x**2`, has the derivative
# that the code says: probabilities that sum to 1 exactly, a numerator that is 0.
(stats.multinomial|signal.dfreqresp) ; first derivatives, differences

# NumPy asks no element of a list what it is before it makes an array of it.
. ; works or says .*(not supported for the input types|has no callable|'float' object has no attr)

# MINPACK says in words of its own that it cannot take what a function returns.
. ; works or says .*not a proper array of floats

# Which of the other elements come first is NumPy's choice, and another one next to ties.
partition ; differences

# Probabilities of many normal numbers are estimates by chance, and so are their derivatives.
multivariate_normal.cdf ; first derivatives, differences

# A pseudo-inverse has derivatives along directions that keep the rank, and jumps along others.
linalg.pinvh? ; (modes agree|mixed partials)

# A fit of two parameters that stand for one has no solution of its own.
optimize.curve_fit.*redundant ; (forward = reverse|linear maps|compiled|batches|modes|symmetric)

# What a solver returns is taken for a solution, of which it is away by a tolerance of 1e-4 or so:
# differences see how that changes.
docstrings:scipy.optimize ; differences|silently 0
RegularGridInterpolator.*"(cubic|quintic)" ; first derivatives, differences
special.(ncfdtri|nctdtri|chndtri)(df[nd]?|nc|t|x)?( |:) ; first derivatives, differences
"""


@dataclass(frozen=True)
class Known:
    """Which cases, which findings, and why these are none."""

    cases: re.Pattern[str]
    findings: re.Pattern[str]
    reason: str

    def explains(self, case: str, finding: str) -> bool:
        return bool(self.cases.search(case) and self.findings.search(finding))


def read(lines: str) -> Iterator[Known]:
    reason = ""
    for line in lines.strip().splitlines():
        if not line:
            reason = ""
        elif line.startswith("#"):
            reason = f"{reason} {line[2:]}".strip()
        else:
            cases, _, findings = line.partition(" ; ")
            yield Known(re.compile(cases, re.DOTALL), re.compile(findings), reason)


KNOWN = list(read(LINES))


def reason_of(case: str, finding: str) -> str:
    """Why a finding is no fault; nothing if it is one."""
    return next((known.reason for known in KNOWN if known.explains(case, finding)), "")
