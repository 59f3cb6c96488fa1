"""Rows of the table of `special`: gamma and beta functions, and what belongs to probabilities.

A row is a ufunc of SciPy's with its partials, formulas of the value, `ans`, and the arguments; an
argument without one is refused if it carries a derivative. Or it is a formula for others. The
tables are read by `special`, whose names their formulas use; this module computes nothing.
"""

from __future__ import annotations

TABLE = """
# The partial, but nan where the value is nan: outside the domain.
_inside(ans, partial) = where(held(ans) != held(ans), math.nan, partial)

# What both branches of a formula compute costs the same whichever is taken: x for the branch that
# is taken where there is no other reason, and 0, at which functions are cheap, elsewhere.
_unless(other, x) = where(other, 0.0, x)

# --- error functions and the normal distribution -------------------------------------------------

erfi(z)               z: 2.0 / ROOT_PI * exp(square(z))
erfcx(x)
    x: 2.0 * (x * ans) - 2.0 / ROOT_PI if x < 1.0 else -2.0 * erfcx_moment(1, _unless(x < 1.0, x))
dawsn(x)
    x: 1.0 - 2.0 * (x * ans) if abs(x) < 0.8 else
        hyp1f1(1.0, 0.5, -square(_unless(abs(x) < 0.8, x)))
erfinv(y)             y: 0.5 * ROOT_PI * exp(square(ans))
erfcinv(y)
    y: -0.5 * ROOT_PI * (exp(square(ans)) if abs(ans) < 1.0 else _tail_ratio(ans, y))
ndtr(x)               x: _normal_density(x)
ndtri(y)
    y: ROOT_2PI * exp(0.5 * square(ans)) if abs(ans) < 1.5 else
        ROOT_HALF_PI * _tail_ratio(ans * (-1.0 / ROOT2), y)
log_ndtr(x)
    x: _normal_density(x) / ndtr(x) if x > 0.0 else
        -x - reciprocal(x) * (1.0 - 2.0 * square(reciprocal(x))) if x < -1e6 else
        math.sqrt(2.0 / math.pi) * reciprocal(erfcx(x * (-1.0 / ROOT2)))
ndtri_exp(y)          y: ROOT_HALF_PI * erfcx(ans * (-1.0 / ROOT2))
owens_t(h, a)
    h: -0.5 * _normal_density(h) * erf(a * h / ROOT2)
    a: 0.0 if np.hypot(h, h * a) > 40.0 else
        exp(-0.5 * (square(h) + square(h * a))) / (1.0 + square(a)) / math.tau

# The quotient erfcx(v) / y: exp(v²) if y is erfc(v), without the error of v times v. Far out that
# is much; near v = 0 it is nothing, and the derivative of this form would cancel.
_tail_ratio(v, y) =
    math.inf if y == 0.0 else
    valued(exp(square(v)), erfcx(v) / y) if y < TINY else erfcx(v) / y
_normal_density(x) = exp(-0.5 * square(x)) / ROOT_2PI

# --- elementary ----------------------------------------------------------------------------------

logit(x)              x: _inside(ans, reciprocal(x) + reciprocal(1.0 - x))
exp10(x)              x: LN10 * ans
cosm1(x)              x: -sin(x)
exprel(x)             x: _exprel_slope(x)
_factorial(n)         n: ans * digamma(n + 1.0)
sindg(x)              x: DEGREE * cosdg(x)
cosdg(x)              x: -DEGREE * sindg(x)
tandg(x)              x: DEGREE * (1.0 + square(ans))
cotdg(x)              x: -DEGREE * (1.0 + square(ans))
powm1(x, y)
    x: 0.0 if x == 0.0 and y == 0.0 else
        power(x, y - 1.0) + xlogy(y - 1.0, x) if x == 0.0 and 0.0 < y <= 1.0 else
        y * power(x, y - 1.0)
    y: 0.0 if x == 0.0 and y == 0.0 else xlogy(power(x, y), x)
boxcox(x, lmbda)
    x: _inside(ans, power(x, lmbda - 1.0))
    lmbda: square(reciprocal(lmbda)) if x == 0.0 else
        square(log(x)) * _exprel_slope(lmbda * log(x))
boxcox1p(x, lmbda)
    x: _inside(ans,
        exp(xlog1py(lmbda - 1.0, x)) if abs(x) < 0.5 else power(1.0 + x, lmbda - 1.0))
    lmbda: square(reciprocal(lmbda)) if x == -1.0 else
        square(log1p(x)) * _exprel_slope(lmbda * log1p(x))
inv_boxcox(y, lmbda)
    y: _inv_boxcox_slope(ans, y, lmbda)
    lmbda: _inv_boxcox_bend(ans, y, lmbda)
inv_boxcox1p(y, lmbda)
    y: _inv_boxcox_slope(inv_boxcox(y, lmbda), y, lmbda)
    lmbda: _inv_boxcox_bend(inv_boxcox(y, lmbda), y, lmbda)

# x**(1 - λ) where λ y = x**λ - 1.
_inv_boxcox_slope(x, y, lmbda) =
    power(x, 1.0 - lmbda) if lmbda * y <= -1.0 or np.isinf(x) else x / (1.0 + lmbda * y)
# The derivative by λ, x times that of log1p(λ y) / λ; y² is not taken, it may overflow.
_inv_boxcox_bend(x, y, lmbda) = x * _log1p_over_slope(y, lmbda)
_log1p_over_slope(y, lmbda) =
    (y / (1.0 + lmbda * y) - log1p(lmbda * y) / lmbda) / lmbda
    if lmbda * y > 2.0 or lmbda * y < -0.5 else y * (y * _log1prel_slope(lmbda * y))
# log1p(λ y) / λ, which is y where λ is 0.
_log1p_over(y, lmbda)
    y: reciprocal(1.0 + lmbda * y)
    lmbda: _log1p_over_slope(y, lmbda)
# The derivatives of (exp(x) - 1) / x, and of log1p(x) / x for x between -½ and 2.
_exprel_slope(x) =
    exp_over(2, x) * (x - 1.0) + square(reciprocal(x)) if abs(x) > 40.0 else
    (exp(x) * (x - 1.0) + 1.0) * square(reciprocal(x)) if abs(x) > 2.0 else
    0.5 * hyp1f1(2.0, 3.0, _unless(abs(x) > 2.0, x))
_log1prel_slope(x) = -0.5 * hyp2f1(2.0, 2.0, 3.0, -x)

# --- entropies and losses ------------------------------------------------------------------------

# The partial, but nan where x or y is negative.
_positive(x, y, partial) = where((held(x) < 0.0) | (held(y) < 0.0), math.nan, partial)
# 1 - x / y, so that neither it nor its derivative cancels.
_one_less_ratio(x, y) = 1.0 - divide(x, y) if x < 0.5 * y else divide(y - x, y)
kl_div(x, y)
    x: log_ratio(x, y)
    y: _positive(x, y, 1.0 if x == 0.0 and y == 0.0 else _one_less_ratio(x, y))
rel_entr(x, y)
    x: 1.0 + log_ratio(x, y)
    y: _positive(x, y, 0.0 if x == 0.0 and y == 0.0 else -divide(x, y))
huber(delta, r)
    delta: _positive(delta, 0.0, relu(absolute(r) - delta))
    r: _positive(delta, 0.0, clip(r, -delta, delta))
pseudo_huber(delta, r)
    delta: _positive(delta, 0.0, _pseudo_huber_by_delta(delta, r))
    r: _positive(delta, 0.0, r / hypot(1.0, r / delta) if abs(r) < delta else
        0.0 if delta == 0.0 and r == 0.0 else delta * sign(r) / hypot(1.0, delta / r))

# δ (s - 1)² / s with s = √(1 + (r/δ)²), and the limit |r| at δ = 0; the excess is h - δ.
_pseudo_huber_by_delta(delta, r) =
    0.0 if delta == 0.0 and r == 0.0 else excess * (excess / h)
    where h = hypot(delta, r)
    where excess = r * (r / (h + delta))

# --- gamma and its relatives ---------------------------------------------------------------------

# Next to a pole of digamma a derivative of beta, poch or binom is a product of zero and infinity.
# There gamma functions of arguments below ½ are reflected, Γ(x) Γ(1 - x) = π / sin πx (Abramowitz
# and Stegun 6.1.17): that leaves gamma functions without poles, times a quotient of sines.

# Sine and cosine of πx, to all digits next to their zeros. Whether x is a whole number is asked
# without an equality, of which programs would warn.
_sin_pi(x) = (1.0 - 2.0 * (k % 2.0)) * sin(math.pi * (x - k))
    where k = rint(x)
_cos_pi(x) = (1.0 - 2.0 * (k % 2.0)) * cos(math.pi * (x - k))
    where k = rint(x)
_whole(x) = np.abs(held(x) - np.floor(held(x))) <= 0.0

# By reflection below ½, since the poles of digamma are none of 1/Γ.
loggamma(z)           z: _inside(ans, digamma(z))
rgamma(z)
    z: gamma(1.0 - z) * (_cos_pi(z) - _sin_pi(z) / math.pi * digamma(1.0 - z)) if z < 0.5 else
        0.0 if ans == 0.0 else -ans * digamma(z)
gammasgn(x)           x: 0.0
beta(a, b)
    a: _beta_slope(ans, a, b)
    b: _beta_slope(ans, b, a)
betaln(a, b)
    a: -_digamma_gap(a, b)
    b: -_digamma_gap(b, a)
poch(z, m)
    z: _poch_by_z(ans, z, m)
    m: _poch_by_m(ans, z, m)
binom(x, y)
    x: _binom_by_x(ans, x, y)
    y: _binom_by_y(ans, x, y)

# ψ(a + b) - ψ(a), also where both are reflected.
_digamma_gap(a, b) =
    where(_whole(a) & _whole(b), 0.0, math.pi * _sin_pi(b) / (_sin_pi(a) * _sin_pi(a + b)))
    - digamma_gap(0, 1.0 - a - b, b)
    if np.minimum(a, a + b) <= 0.0 and np.maximum(a, a + b) < 0.5 else digamma_gap(0, a, b)

# The derivative of beta by a; B(a, b) = B(b, 1 - a - b) sin π(a+b) / sin πa below ½. Where b is
# small reflecting it would cancel.
_beta_slope(ans, a, b) =
    (_beta_reflect_a(a, b) if a < 0.5 and (abs(b) <= abs(a) or b >= 0.5) else
    _beta_reflect_b(a, b)) if a + b < 0.25 else -ans * _digamma_gap(a, b)
_beta_reflect_a(a, b) = beta(b, c) * (_digamma_gap(c, b) * turn - twist)
    where c = 1.0 - a - b
    where turn = where(_whole(a) & _whole(b), _cos_pi(b), _sin_pi(a + b) / _sin_pi(a))
    where twist = where(_whole(a) & _whole(b), 0.0, math.pi * _sin_pi(b) / square(_sin_pi(a)))
_beta_reflect_b(a, b) = beta(a, c) * turn / _sin_pi(b)
    where c = 1.0 - a - b
    where turn = _sin_pi(a + b) * (digamma(a) - digamma(c)) + math.pi * _cos_pi(a + b)

# Γ(z+m) / Γ(z) is Γ(1-z) / Γ(1-z-m) sin πz / sin π(z+m), or Γ(z+m) Γ(1-z) sin πz / π. By m there
# is no derivative where the function jumps, between two poles.
_poch_by_z(ans, z, m) =
    (_poch_reflect_both(z, m) if z + m < 0.5 else _poch_reflect_z(z, m))
    if z < 0.25 else ans * _digamma_gap(z, m)
_poch_reflect_both(z, m) = poch(c, m) * (twist - digamma_gap(0, c, m) * turn)
    where c = 1.0 - z - m
    where turn = where(_whole(z) & _whole(m), _cos_pi(m), _sin_pi(z) / _sin_pi(z + m))
    where twist = where(
        _whole(z) & _whole(m), 0.0, math.pi * _sin_pi(m) / square(_sin_pi(z + m)))
_poch_reflect_z(z, m) =
    gamma(z + m) * gamma(1.0 - z) * (gap * _sin_pi(z) / math.pi + _cos_pi(z))
    where gap = digamma_gap(0, 1.0 - z, 2.0 * z + m - 1.0)
_poch_by_m(ans, z, m) = where(jumps, math.nan, ans * digamma(z + m))
    where jumps = _whole(z) & _whole(m) & (held(z) <= 0.0) & (held(z) + held(m) <= 0.0)

# For y > x + ¾ binom is B(x+1, y-x) sin π(y-x) / π, and, if x + 1 < ½, too, the one of y - x - 1
# and y times sin π(y-x) / sin π(x+1). For y < -½ it is the one of x and x - y.
_binom_by_x(ans, x, y) =
    (_binom_reflect(x, y, y - x) if x > -0.5 else _binom_reflect_both(x, y, y - x))
    if x - y < -0.75 else -ans * _digamma_gap(x + 1.0, -y)
_binom_reflect(x, y, w) = beta(x + 1.0, w) * (gap * _sin_pi(w) / math.pi - _cos_pi(w))
    where gap = digamma(x + 1.0) - digamma(w)
_binom_reflect_both(x, y, w) = -binom(w - 1.0, y) * (_digamma_gap(-x, y) * turn + twist)
    where turn = _sin_pi(w) / _sin_pi(x + 1.0)
    where twist = -math.pi * _sin_pi(y) / square(_sin_pi(x + 1.0))
_binom_by_y(ans, x, y) = where(swap, -1.0, 1.0) * _binom_by_more(ans, x, where(swap, x - y, y))
    where swap = (held(y) < -0.5) & (held(x) - held(y) >= -0.75)
_binom_by_more(ans, x, y) =
    (_binom_by_more_reflect(x, y - x) if x > -0.5 else _binom_by_more_reflect_both(x, y, y - x))
    if x - y < -0.75 else ans * _digamma_gap(y + 1.0, x - 2.0 * y)
_binom_by_more_reflect(x, w) =
    beta(x + 1.0, w) * (_cos_pi(w) - digamma_gap(0, w, x + 1.0) * _sin_pi(w) / math.pi)
_binom_by_more_reflect_both(x, y, w) =
    (slope * _sin_pi(w) + mirrored * math.pi * _cos_pi(w)) / _sin_pi(x + 1.0)
    where mirrored = binom(w - 1.0, y)
    where slope = _binom_mirrored_slope(mirrored, x, y, w)
_binom_mirrored_slope(ans, x, y, w) =
    beta(w, -y) * -(digamma_gap(0, -y, w + y) * _sin_pi(y) / math.pi + _cos_pi(y))
    if y < -0.5 else ans * digamma_gap(0, y + 1.0, -x - 1.0)

# --- incomplete gamma and beta functions, and distributions --------------------------------------

# The reciprocals of densities; next to 0 by the logarithm, whose slope does not overflow.
_gamma_width(a, x) =
    exp(-gamma_log_density(a, x)) if 0.0 < x < 1e-60 else reciprocal(gamma_density(a, x))
_beta_width(a, b, x) =
    exp(-beta_log_density(a, b, x)) if 0.0 < x < 1e-60 else reciprocal(beta_density(a, b, x))

# Derivatives by shapes. Where these are moderate, a series or a continued fraction is
# differentiated as it is summed. Else they are differences, of the smaller one of two
# probabilities whose sum is 1. Where it is the other one's turn a formula is at 0 or far out,
# which costs nothing (`_steps`). One less betainc is the mirrored betainc, which costs SciPy a
# tenth of betaincc, unless that loses digits of x.
_gamma_by_shape(a, x) =
    gammainc_slope(a, x) if 0.0 < a < 200.0 and x >= 0.0 else _gamma_by_any_shape(a, x)
_gamma_by_any_shape(a, x) =
    -gammaincc.by("a", a, where(upper, x, 1e300)) if upper else
    _gamma_below.by("a", a, _unless(upper, x))
    where upper = gammaincc(held(a), held(x)) < 0.5
_beta_by_a(a, b, x) =
    betainc_by_a(a, b, x) if _is_moderate(a, b, x) else _beta_by_any_a(a, b, x)
_beta_by_b(a, b, x) =
    betainc_by_b(a, b, x) if _is_moderate(a, b, x) else _beta_by_any_b(a, b, x)
_is_moderate(a, b, x) =
    (1e-3 <= a) & (1e-3 <= b) & (a <= 200.0) & (b <= 200.0) & (0.0 <= x) & (x <= 1.0)
_beta_by_any_a(a, b, x) =
    -betaincc.by("a", a, b, where(early, x, 1.0)) if early else
    -betainc.by("b", b, a, where(upper, 1.0 - x, 0.0)) if upper else
    betainc.by("a", a, b, _unless(upper, x))
    where upper = betainc(held(a), held(b), held(x)) > 0.5
    where early = upper & (held(x) < 0.1)
_beta_by_any_b(a, b, x) =
    -betaincc.by("b", a, b, where(early, x, 1.0)) if early else
    -betainc.by("a", b, a, where(upper, 1.0 - x, 0.0)) if upper else
    betainc.by("b", a, b, _unless(upper, x))
    where upper = betainc(held(a), held(b), held(x)) > 0.5
    where early = upper & (held(x) < 0.1)
_student_by_df(df, t) = _student_far_slope(df, t) if df > 200.0 else
    _student_middle.by("df", df, _unless(not near, t)) if near else
    -sign(t) * _student_tail.by("df", df, _unless(near, absolute(t)))
    where near = (stdtr(held(df), -np.abs(held(t))) > 0.1) & (np.square(held(t)) < held(df))
_f_by_dfn(dfn, dfd, x) =
    -fdtrc.by("dfn", dfn, dfd, where(upper, x, 1e300)) if upper else
    fdtr.by("dfn", dfn, dfd, _unless(upper, x))
    where upper = fdtrc(held(dfn), held(dfd), held(x)) < 0.5
_f_by_dfd(dfn, dfd, x) =
    -fdtrc.by("dfd", dfn, dfd, where(upper, x, 1e300)) if upper else
    fdtr.by("dfd", dfn, dfd, _unless(upper, x))
    where upper = fdtrc(held(dfn), held(dfd), held(x)) < 0.5

# gammainc, whose series SciPy breaks off too early where a is large and x far below.
_gamma_below(a, x)    x: gamma_density(a, x)

# The derivative of stdtr by df. Where df is large the probability hardly depends on it, and
# differences of values have no digits; the density's derivative has all.
_student_far_slope(df, t)
    t: student_density(df, t) * _student_slope(df, t)
    df: over 0.15 * df above 0
# The probabilities that Student's t is between 0 and t, and beyond t > 0.
_student_middle(df, t)  t: student_density(df, t)
_student_tail(df, t)  t: -student_density(df, t)

gammainc(a, x)        a: _gamma_by_shape(a, x)
    x: gamma_density(a, x)
gammaincinv(a, y)     a: -_product(_gamma_by_shape(a, ans), _gamma_width(a, ans))
    y: _gamma_width(a, ans)
gammainccinv(a, y)    a: -_product(_gamma_by_shape(a, ans), _gamma_width(a, ans))
    y: -_gamma_width(a, ans)
betainc(a, b, x)      a: _beta_by_a(a, b, x)
    b: _beta_by_b(a, b, x)
    x: beta_density(a, b, x)

# Next to 1 the solution is one less that of the mirrored function.
betaincinv(a, b, y)
    a: -_product(_beta_by_a(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_a(a, b, betainccinv(b, a, y))
    b: -_product(_beta_by_b(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_b(a, b, betainccinv(b, a, y))
    y: _beta_width(a, b, ans) if ans <= 0.5 else _beta_width(b, a, betainccinv(b, a, y))
betainccinv(a, b, y)
    a: -_product(_beta_by_a(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_a(a, b, betaincinv(b, a, y))
    b: -_product(_beta_by_b(a, b, ans), _beta_width(a, b, ans)) if ans <= 0.5 else
        _beta_mirrored_by_b(a, b, betaincinv(b, a, y))
    y: -(_beta_width(a, b, ans) if ans <= 0.5 else _beta_width(b, a, betaincinv(b, a, y)))
_beta_mirrored_by_a(a, b, z) = _product(_beta_by_b(b, a, z), _beta_width(b, a, z))
_beta_mirrored_by_b(a, b, z) = _product(_beta_by_a(b, a, z), _beta_width(b, a, z))
# A product of which a zero, at an end of the support, is one; a quotient of what may underflow.
_product(slope, width) = 0.0 if slope == 0.0 and np.isinf(width) else slope * width
_over_density(slope, logarithm) =
    slope * exp(-logarithm) if logarithm > -600.0 else 0.0 if slope == 0.0 else
    sign(slope) * exp(log(absolute(slope)) - logarithm)
stdtr(df, t)          df: 0.0 if np.isinf(df) else _student_by_df(df, t)
    t: student_density(df, t)
stdtrit(df, p)        df: -_over_density(_student_by_df(df, ans), student_log_density(df, ans))
    p: exp(-student_log_density(df, ans))
chdtr(v, x)           v: 0.5 * _gamma_by_shape(0.5 * v, 0.5 * x)
    x: 0.5 * gamma_density(0.5 * v, 0.5 * x)
chdtri(v, p)
    v: -_product(_gamma_by_shape(0.5 * v, 0.5 * ans), _gamma_width(0.5 * v, 0.5 * ans))
    p: -2.0 * _gamma_width(0.5 * v, 0.5 * ans)
gdtr(a, b, x)
    a: x * gamma_density(b, a * x) if a == 0.0 else b / a * gamma_density(b + 1.0, a * x)
    b: _gamma_by_shape(b, a * x)
    x: a * gamma_density(b, a * x)
gdtria(p, b, x)
    p: _gamma_width(b, ans * x) / x
    b: -_product(_gamma_by_shape(b, ans * x), _gamma_width(b, ans * x)) / x
    x: -ans / x
gdtrix(a, b, p)
    a: -ans / a
    b: -_product(_gamma_by_shape(b, a * ans), _gamma_width(b, a * ans)) / a
    p: _gamma_width(b, a * ans) / a
fdtr(dfn, dfd, x)     dfn: _f_by_dfn(dfn, dfd, x)
    dfd: _f_by_dfd(dfn, dfd, x)
    x: _f_density(dfn, dfd, x)
fdtri(dfn, dfd, p)
    dfn: -_product(_f_by_dfn(dfn, dfd, ans), reciprocal(_f_density(dfn, dfd, ans)))
    dfd: -_product(_f_by_dfd(dfn, dfd, ans), reciprocal(_f_density(dfn, dfd, ans)))
    p: reciprocal(_f_density(dfn, dfd, ans))
pdtr(const k, m)      m: -gamma_density(np.floor(k) + 1.0, m)
pdtri(const k, y)     y: -_gamma_width(np.floor(k) + 1.0, ans)
bdtr(const k, const n, p)  p: -beta_density(np.floor(k) + 1.0, n - np.floor(k), p)
bdtri(const k, const n, y)  y: -_beta_width(np.floor(k) + 1.0, n - np.floor(k), ans)
nbdtr(const k, const n, p)  p: beta_density(n, np.floor(k) + 1.0, p)
nbdtri(const k, const n, y)  y: _beta_width(n, np.floor(k) + 1.0, ans)
nrdtrimn(p, std, x)   p: -std * ROOT_2PI * exp(0.5 * square((x - ans) / std))
    std: (ans - x) / std
    x: 1.0
nrdtrisd(mn, p, x)    mn: -ans / (x - mn)
    p: -square(ans) / (x - mn) * (ROOT_2PI * exp(0.5 * square((x - mn) / ans)))
    x: ans / (x - mn)

# Whether a value is no solution, but the end of what is searched.
_is_unsolved(ans, found, given) = (np.abs(found - given) > 1e-3 * given) | (
    (np.abs(found - given) > 1e-9 * given) & ((np.abs(ans) < 1e-90) | (np.abs(ans) >= 1e10)))

# The density of F: that of beta at w = dfn x / (dfn x + dfd), or at 1 - w where w > ½. Beyond 1e60
# degrees of freedom it no longer depends on them, and their squares overflow.
_f_density(dfn, dfd, x) = _f_of_total(few, many, x, few * x + many)
    where few = np.minimum(dfn, 1e60)
    where many = np.minimum(dfd, 1e60)
_f_of_total(dfn, dfd, x, total) = density * (dfn / total) * (dfd / total)
    where density = beta_density(0.5 * dfn, 0.5 * dfd, dfn * x / total) if dfn * x < dfd else
        beta_density(0.5 * dfd, 0.5 * dfn, dfd / total)
"""

# Functions that add up to 1 with those without their last letter, or with distribution functions.
COMPLEMENTS = """
gammaincc betaincc chdtrc gdtrc fdtrc pdtrc bdtrc nbdtrc _binom_sf _nbinom_sf _landau_sf
_skewnorm_sf
"""
