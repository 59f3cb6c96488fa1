"""Logarithms of the incomplete gamma and beta functions, from one tail to the other.

Far out these functions underflow, and near 1 their logarithms lose all digits. In a tail the
density of a distribution divided by its probability, the hazard, is the reciprocal of an integral
whose integrand starts at 1 and falls off: it neither underflows nor cancels, and its derivatives
are integrals of the same kind. Where a probability is no tail it is SciPy's.
"""

from __future__ import annotations

from ._families import kernels_of

TAIL = -9.0  # below this logarithm of a probability its derivative is that of a tail

# --- integrals -----------------------------------------------------------------------------------

INTEGRALS = """
# ∫ uⁿ (1+u)ᵃ exp(-xu) du over u > 0, for x ≥ 1 and x > a: for n = 0 it is
# Γ(a+1, x) exp(x) x**-(a+1) (DLMF 8.6.5).
gamma_upper(const n, a, x)
    a: over 0.4 * np.minimum(x - a, 1.0 / np.log1p((n + 1.0) / (x - a)))
    x: -gamma_upper(n + 1, a, x)

# The others go by the variable s = -log(1-u).
# ∫ uⁿ (1-u)**(a-1) exp(xu) du over 0 < u < 1, for x < a: for n = 0 it is γ(a, x) exp(x) x**-a
# (DLMF 8.6.3).
gamma_lower(const n, a, x)
    a: over 0.3 * np.minimum(a, a - x) above 0
    x: gamma_lower(n + 1, a, x)

# ∫ uⁿ (1-u)**(a-1) (1+ru)**b du over 0 < u < 1, for br < a: for n = 0 it is
# B(x; a, b+1) x**-a (1-x)**-b with r = x/(1-x), by t = x(1-u) in DLMF 8.17.1.
beta_lower(const n, a, b, r)
    a: over 0.3 * np.minimum(a, a - b * r) above 0
    b: over 0.3 * (a - b * r) / r
    r: b * beta_lower(n + 1, a, b - 1.0, r)
"""


# --- hazards and logarithms ----------------------------------------------------------------------

# The log of p is by its complement where p is nearly 1, by the hazard where it underflows. By
# shapes derivatives are differences.
KERNELS = """
# The density at x divided by Γ(a, x) / Γ(a), where the integral is taken by parts once; and by the
# probability below x, where y is 1 - x.
_gamma_upper_hazard(a, x) = reciprocal(1.0 + (a - 1.0) * gamma_upper(0, a - 2.0, x))
_gamma_lower_hazard(a, x) = reciprocal(x * gamma_lower(0, a, x))
_beta_lower_hazard(a, b, x, y) = reciprocal(x * beta_lower(0, a, b - 1.0, divide(x, y)))
# The density at t > 0 divided by the probability above: twice the tail is one of beta.
_student_hazard(df, t) = 2.0 * reciprocal(t * ((1.0 + r) * beta_lower(0, 0.5 * df, -0.5, r)))
    where r = df / t / t
# The reciprocal of Mills' ratio.
_normal_hazard(t) = np.sqrt(2.0 / np.pi) * reciprocal(erfcx_moment(0, t * np.sqrt(0.5)))
# For b < 1 the integrand has a pole, which has to keep away from its width.
_is_beta_tail(ans, a, b, r) = (ans < TAIL) & ((b >= 1.0) | (r <= 1.0 + a))

# In a tail logarithms of probabilities change as slowly as the distance from the mean does.
_gamma_log_step(a, x) = np.maximum(_gamma_step(a, x), _apart(a, x))
_beta_log_step(a, b, x) = np.maximum(_beta_step(a, b, x), _apart(a, b * x / (1.0 - x)))
_apart(a, mean) = np.minimum(0.15 * np.abs(a - mean), 0.3 * (1.0 + a))

# The logarithms of Γ(a, x) / Γ(a) and of γ(a, x) / Γ(a).
log_gammaincc(a, x)
    a: over _gamma_log_step(a, x) above 0
    x: -(_gamma_upper_hazard(a, x) if ans < TAIL and x >= 1.0 else
        gamma_density(a, x) * exp(-ans))
log_gammainc(a, x)
    a: over _gamma_log_step(a, x) above 0
    x: _gamma_lower_hazard(a, x) if ans < TAIL else gamma_density(a, x) * exp(-ans)

# The logarithms of the regularized incomplete beta function, and of one less that.
log_betainc(a, b, x)
    a: over _beta_log_step(a, b, x) above 0
    b: over _beta_log_step(b, a, 1.0 - x) above 0
    x: _beta_lower_hazard(a, b, x, 1.0 - x) if _is_beta_tail(ans, a, b, divide(x, 1.0 - x))
        else beta_density(a, b, x) * exp(-ans)
log_betaincc(a, b, x)
    a: over _beta_log_step(a, b, x) above 0
    b: over _beta_log_step(b, a, 1.0 - x) above 0
    x: -(_beta_lower_hazard(b, a, 1.0 - x, x) if _is_beta_tail(ans, b, a, divide(1.0 - x, x))
        else beta_density(a, b, x) * exp(-ans))

# The logarithm of the distribution function of Student's t.
log_stdtr(df, t)
    df: over 0.15 * df above 0
    t: (_normal_hazard(-t) if np.isinf(df) and t < 0.0 else _student_hazard(df, -t))
        if ans < TAIL else student_density(df, t) * exp(-ans)
"""

globals().update(kernels_of(INTEGRALS + KERNELS, globals()))
