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
(eig|svd|schur|null_space|orth|polar|vectors).*(j |complex) ; differences

# The same of its second derivatives: what keeps phases still along a loop turns them.
linalg.schur.*complex ; (modes agree|mixed partials)

# Derivatives of a basis of a null space turn nothing within it: what is left is LAPACK's.
null_space ; (differences|modes agree|mixed partials)

# So do those of what a full QR factorisation has beyond the columns.
linalg.qr\((?!.*mode='(economic|r)').*complex ; (differences|modes agree|mixed partials)

# Stairs that are shorter than a step of differences have the slope of a ramp.
(round|around|fmod|mod|remainder|floor_divide|divmod) ; silently 0

# `round(v)` and `math.floor(v)` are numbers with the derivative 0, where Python gives an int.
(round|floor|ceil|trunc)\( ; shapes are

# A branch for one point alone, such as `1.0 if x == 1 else x**2`, has the derivative of its own
# code: probabilities with the sum 1, a numerator 0, `Ai[Ai < 1e-12]`.
(stats.multinomial|signal.dfreqresp) ; first derivatives, differences
docstrings:scipy.linalg.fiedler ; first derivatives, differences

# NumPy asks no element of a list what it is before it makes an array of it.
. ; works or says .*(not supported for the input types|has no callable|does not have an identity)

# Errors say what to write for what a statement names: literals of an example have no names.
docstrings:numpy ; works or says .*'float' object has no attribute

# SciPy copies addresses of objects, which it does not own.
distance\.squareform\(~?np\.float64 ; (cases come to an end|nothing crashes)

# Of a list it makes an array of objects, of which an extreme is the first of equal ones.
(fmin|fmax|minimum|maximum)\.(reduce|accumulate|reduceat).*list ; layouts and kinds

# MINPACK says in words of its own that it cannot take what a function returns.
. ; works or says .*not a proper array of floats

# Which of the other elements come first is NumPy's choice, and another one next to ties.
partition ; differences

# A result is folded from step to step, and one of them is at 0, where it has no derivative.
hypot\.reduce ; second derivatives, differences

# What is held constant on purpose.
cadiff\.(ops\.)?stop_gradient ; silently 0

# Where more than two lines cross, the two in the middle are any of them; differences of their mean
# may be those of other ones, and meet from both sides.
siegelslopes\(~?array\(\[\[ ; first derivatives, differences

# SciPy takes |lmbda| < 1e-4 for 0, and is flat there.
special.tklmbda ; differences

# SciPy takes the real Schur form of a real matrix for a triangle where the other side is complex:
# what it returns solves nothing then.
solve_(sylvester|(continuous|discrete)_lyapunov)\(.*complex ; (values are|differences|= plain)

# Probabilities of many normal numbers are estimates by chance, and so are their derivatives.
multivariate_normal.cdf ; first derivatives, differences

# A differential equation and its adjoint are solved to a tolerance each.
solve_ivp|odeint ; (forward = reverse|linear maps)

# SciPy makes of a matrix, which has two axes, one with three, and can do nothing with it.
sparse\.expand_dims.*_matrix ; an error says what to do

# A filter without coefficients divides by 0, which is an infinity or a nan.
signal\.freq(s|z).*array\(\[\] ; values are the original

# NumPy's iterator asks for a word of its own before it goes through an array of objects.
numpy\.nditer ; an error says what to do

# Eigenvalues that are equal have no derivatives one by one: what is symmetric in them has.
eig(vals)?(\(~| ).*array\(\[\[1\., 0\. ; first derivatives, differences

# SciPy takes a place next to zeta, which is 0 here, for zeta itself: its values are stairs there.
levy_stable.*(cdf|sf|pdf)\(~?np\.float64\(0\.0\) ; first derivatives, differences

# By a covariance, of which SciPy reads one triangle, derivatives are those of the symmetric part.
docstrings.*multivariate_normal\.(log)?pdf\(.*cov ; differences

# A pseudo-inverse has derivatives along directions that keep the rank, and jumps along others.
linalg.pinvh? ; (modes agree|mixed partials)

# A matrix that moves is not symmetric any more, for which these take it.
scipy\.sparse\.linalg\.(cg|minres)\( ; differences|forward = reverse|linear maps|agree|symmetric

# What `lsqr` and `lsmr` say of a matrix, beside the solution, are estimates.
scipy\.sparse\.linalg\.ls(qr|mr)\( ; silently 0

# Of a matrix of float32 and whole numbers all iterations but this one make float64.
scipy\.sparse\.linalg\.tfqmr\(.*float32.*int64 ; dtypes

# The phase of complex vectors is LAPACK's, whose matrix may be a real one.
scipy\.sparse\.linalg\.eigs\( ; differences

# What a search has left beside its solution is nan in forward mode, and an error in reverse.
optimize\.linprog\( ; no nan

# Searches of SciPy's own that compare numbers alone have a result without a derivative, and sums
# that end where values are exact lack what has a derivative: docs/scipy.md says so.
optimize\.(golden|brute): |linalg\.expm_multiply\( ; works or says

# Ranks among objects are Python's whole numbers, which NumPy divides by 0 with an error.
stats\.chatterjeexi\( ; works or says .*ZeroDivisionError

# Norms that SciPy's least squares have not computed, since no step was allowed, are integers.
scipy\.sparse\.linalg\.ls(qr|mr)\(.*(iter_lim|maxiter)=0 ; shapes are

# A fit of two parameters that stand for one has no solution of its own.
optimize.curve_fit.*redundant ; (forward = reverse|linear maps|compiled|batches|modes|symmetric)
docstrings:scipy.optimize.curve_fit ; where cotangents are 0

# Powers of a real matrix with eigenvalues in conjugate pairs are real, where SciPy leaves the
# rounding of its complex triangle as an imaginary part.
linalg(: |.)fractional_matrix_power ; shapes are the original's: {'': (.*)} for {'.real'

# What a solver returns is taken for a solution, of which it is away by a tolerance of 1e-4 or so:
# differences see how that changes.
optimize\.brute: ; differences
scipy\.sparse\.linalg\.\w+\(.*, (atol=[0-9.]+[,)]|conlim) ; differences
docstrings:scipy.sparse.linalg.(bicg|cg|gcrotmk|l?gmres|ls[mq]r|minres|t?f?qmr) ; differences|agree
docstrings:scipy.sparse.linalg.(bicg|cg|gcrotmk|l?gmres|ls[mq]r|minres|t?f?qmr) ; reverse|map|symm
RegularGridInterpolator.*"(cubic|quintic)" ; first derivatives, differences
special.(ncfdtri|nctdtri|chndtri)(df[nd]?|nc|t|x)?( |:) ; differences

# A minimum stays where it is; where the search for it ends moves by its tolerance.
docstrings:scipy.optimize.fmin_bfgs ; silently 0

# What differences are away from a derivative is a rounding of theirs, 1e8 times as large.
docstrings:scipy.optimize.check_grad ; (values are the original's|forward = reverse)

# SciPy's values have six digits.
special.itairy ; derivatives, differences
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
