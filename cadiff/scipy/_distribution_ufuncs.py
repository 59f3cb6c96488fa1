"""Ufuncs that SciPy's distributions call, and solutions of equations in distribution functions.

Most of them SciPy keeps to itself, so a version may lack some. The tables are read by `special`,
whose names their formulas use; this module computes nothing.

With F the distribution function and f the density, F' = f by the variable, and the solution x of
F(x; p) = q has the derivatives 1/f by q and -(∂F/∂p)/f by a parameter (implicit function theorem).
Values of inverses of discrete distributions are whole numbers, constant between jumps.
"""

from __future__ import annotations

TABLE = """
# --- beta and binomial distributions -------------------------------------------------------------

_beta_pdf(x, a, b)
    x: _beta_density_slope(ans, a, b, x)
    a: _beta_density_by_a(ans, a, b, x)
    b: _beta_density_by_b(ans, a, b, x)
_binom_pmf(const k, n, p)
    n: ans * (digamma_gap(0, n - k + 1.0, k) + log1p(-p))
    p: ans * (_absorbing(k, p) - _absorbing(n - k, 1.0 - p))
_binom_cdf(const k, n, p)  n: -_beta_by_b(k + 1.0, n - k, p)
    p: -beta_density(k + 1.0, n - k, p)
_binom_ppf _binom_isf(q, n, p)  q: 0.0 n: 0.0 p: 0.0
_nbinom_pmf(const k, r, p)
    r: ans * (log(p) + digamma_gap(0, r, k))
    p: ans * (r / p - _absorbing(k, 1.0 - p))
_nbinom_cdf(const k, r, p)  r: _beta_by_a(r, k + 1.0, p)
    p: beta_density(r, k + 1.0, p)
_nbinom_ppf _nbinom_isf(q, r, p)  q: 0.0 r: 0.0 p: 0.0
_nbinom_mean(r, p)    r: ans / r
    p: -r / square(p)
_nbinom_variance(r, p)  r: ans / r
    p: -r * (2.0 - p) / (p * square(p))
_nbinom_skewness(r, p)  r: -0.5 * ans / r
    p: 0.5 * p / ((1.0 - p) * sqrt(r * (1.0 - p)))
_nbinom_kurtosis_excess(r, p)  r: -ans / r
    p: p * (2.0 - p) / (r * square(1.0 - p))

# Of whole numbers alone.
_hypergeom_pmf _hypergeom_cdf _hypergeom_sf(const k, const n, const N, const M)
_hypergeom_mean _hypergeom_variance _hypergeom_skewness(const n, const N, const M)

# --- noncentral distributions --------------------------------------------------------------------

# By the noncentrality λ those of χ² are differences of degrees of freedom (Johnson, Kotz and
# Balakrishnan, Continuous Univariate Distributions 2, 1995, chapter 29).
_ncx2_pdf(x, k, l)
    x: ans * ((0.5 * k - 1.0) / x - 0.5) + 0.5 * l / x * _ncx2_pdf(x, k + 2.0, l)
    l: 0.5 * (_ncx2_pdf(x, k + 2.0, l) - ans)
_ncx2_sf(x, k, l)     x: -_ncx2_density(x, k, l)
    l: _ncx2_density(x, k + 2.0, l)
chndtr(x, df, nc)     x: _ncx2_density(x, df, nc)
    nc: -_ncx2_density(x, df + 2.0, nc)
_ncx2_cdf(x, k, l)    x: _ncx2_density(x, k, l)
    l: -_ncx2_density(x, k + 2.0, l)
_ncf_pdf(x, v1, v2, l)
_ncf_sf(x, v1, v2, l)   x: -_ncf_density(ans, x, v1, v2, l)
_ncf_mean _ncf_variance _ncf_skewness _ncf_kurtosis_excess(v1, v2, l)
ncfdtr(dfn, dfd, nc, f)  f: _ncf_density(ans, f, dfn, dfd, nc)
# At 0, where the ufuncs are 0, by the central densities.
_ncx2_density(x, k, l) =
    0.5 * exp(-0.5 * l) * gamma_density(0.5 * k, 0.5 * x) * hyp0f1(0.5 * k, 0.25 * l * x)
    if x == 0.0 else _ncx2_pdf(x, k, l)
_ncf_density(ans, x, v1, v2, l) =
    exp(-0.5 * l) * _f_density(v1, v2, x)
    * hyp1f1(0.5 * v1 + 0.5 * v2, 0.5 * v1, 0.5 * l * v1 * x / (v1 * x + v2))
    if x == 0.0 else 0.0 if ans == 0.0 else _ncf_pdf(x, v1, v2, l)
_nct_pdf(x, v, l)
_nct_sf(x, v, l)      x: 0.0 if ans == 0.0 else -_nct_pdf(x, v, l)
_nct_mean _nct_variance _nct_skewness _nct_kurtosis_excess(v, l)
nctdtr(df, nc, t)     t: 0.0 if ans == 0.0 else _nct_pdf(t, df, nc)

# --- other distributions -------------------------------------------------------------------------

# Inverse Gaussian: f = √(λ/x³) φ(z); the derivatives by mean and shape have the factor φ(z), too.
_invgauss_ppf(q, mean, shape)
    q: reciprocal(_invgauss_pdf(ans, mean, shape))
    mean: _invgauss_by_mean(ans, mean, shape)
    shape: _invgauss_by_shape(ans, mean, shape)
_invgauss_isf(q, mean, shape)
    q: -reciprocal(_invgauss_pdf(ans, mean, shape))
    mean: _invgauss_by_mean(ans, mean, shape)
    shape: _invgauss_by_shape(ans, mean, shape)
_invgauss_pdf(x, mean, shape) =
    sqrt(shape / x) / x * _normal_density(sqrt(shape / x) * (x / mean - 1.0))
_invgauss_by_mean(x, mean, shape) =
    2.0 * shape / square(mean) * _invgauss_mills(x, mean, shape) * x * sqrt(x / shape)
_invgauss_by_shape(x, mean, shape) =
    (reciprocal(sqrt(shape * x)) - 2.0 / mean * _invgauss_mills(x, mean, shape))
    * x * sqrt(x / shape)
_invgauss_mills(x, mean, shape) =
    ROOT_HALF_PI * erfcx(sqrt(0.5 * shape / x) * (x / mean + 1.0))

_cauchy_ppf(q, loc, scale)
    q: math.pi * (scale + square(ans - loc) / scale)
    loc: 1.0
    scale: (ans - loc) / scale
_cauchy_isf(q, loc, scale)
    q: -math.pi * (scale + square(ans - loc) / scale)
    loc: 1.0
    scale: (ans - loc) / scale

_cosine_cdf(x)        x: (1.0 + cos(x)) / math.tau if abs(x) < math.pi else 0.0
_cosine_invcdf(p)     p: math.tau / (1.0 + cos(ans))
# With z = (x - loc) / scale, Landau's is one of z - 2/π log(scale).
_landau_pdf(x, loc, scale)
    loc: -_landau_pdf.by("x", x, loc, scale)
    scale: -(ans + (x - loc + 2.0 / math.pi * scale) * _landau_pdf.by("x", x, loc, scale)) / scale
_landau_cdf(x, loc, scale)  x: _landau_pdf(x, loc, scale)
    loc: -_landau_pdf(x, loc, scale)
    scale: -((x - loc) / scale + 2.0 / math.pi) * _landau_pdf(x, loc, scale)

# The skew normal's density is 2 φ(z) Φ(az) / scale.
_skewnorm_cdf(x, loc, scale, a)
    x: _skewnorm_pdf(x, loc, scale, a)
    loc: -_skewnorm_pdf(x, loc, scale, a)
    scale: (loc - x) / scale * _skewnorm_pdf(x, loc, scale, a)
    a: _skewnorm_by_a(x, loc, scale, a)
_skewnorm_pdf(x, loc, scale, a) = 2.0 / scale * _normal_density(z) * ndtr(a * z)
    where z = (x - loc) / scale
_skewnorm_by_a(x, loc, scale, a) =
    exp(-0.5 * square((x - loc) / scale) * (1.0 + square(a))) / (-math.pi * (1.0 + square(a)))

_kolmogc(x)           x: -_kolmogp(x)
_kolmogci(p)          p: -reciprocal(_kolmogp(ans))
_smirnovc(const n, d) d: -_smirnovp(n, d)
_smirnovci(const n, p)  p: -reciprocal(_smirnovp(n, ans))
_gen_harmonic(const n, a)
_normalized_gen_harmonic(const j, const k, const n, a)

# --- functions beside ----------------------------------------------------------------------------

_log1mexp(x)          x: -reciprocal(expm1(-x))
_log1pmx(x)           x: -x / (1.0 + x)
_lgam1p(x)            x: digamma(1.0 + x)
_igam_fac(a, x)       a: x * gamma_density(a, x) * (log(x) - digamma(a))
    x: gamma_density(a, x) * (a - x)
_scaled_exp1(x)
_iv_ratio _iv_ratio_c(v, x)
"""

# Rows "name(parameters) = F(arguments)": at the value F is the parameter that is missing there.
SOLUTIONS = """
stdtridf(p, t) = stdtr(ans, t)
chdtriv(p, x) = chdtr(ans, x)
gdtrib(a, p, x) = gdtr(a, ans, x)
btdtria(p, b, x) = betainc(ans, b, x)
btdtrib(a, p, x) = betainc(a, ans, x)
fdtridfd(dfn, p, x) = fdtr(dfn, ans, x)
pdtrik(p, m) = gammaincc(ans + 1.0, m)
bdtrik(y, n, p) = betaincc(ans + 1.0, n - ans, p)
bdtrin(k, y, p) = betaincc(k + 1.0, ans - k, p)
nbdtrik(y, n, p) = betainc(n, ans + 1.0, p)
nbdtrin(k, y, p) = betainc(ans, k + 1.0, p)
_beta_ppf(q, a, b) = betainc(a, b, ans)
chndtrix(p, df, nc) = chndtr(ans, df, nc)
chndtridf(x, p, nc) = chndtr(x, ans, nc)
chndtrinc(x, df, p) = chndtr(x, df, ans)
_ncx2_isf(q, k, l) = _ncx2_sf(ans, k, l)
ncfdtri(dfn, dfd, nc, p) = ncfdtr(dfn, dfd, nc, ans)
ncfdtridfn(p, dfd, nc, f) = ncfdtr(ans, dfd, nc, f)
ncfdtridfd(dfn, p, nc, f) = ncfdtr(dfn, ans, nc, f)
ncfdtrinc(dfn, dfd, p, f) = ncfdtr(dfn, dfd, ans, f)
_ncf_isf(q, v1, v2, l) = _ncf_sf(ans, v1, v2, l)
nctdtrit(df, nc, p) = nctdtr(df, nc, ans)
nctdtridf(p, nc, t) = nctdtr(ans, nc, t)
nctdtrinc(df, p, t) = nctdtr(df, ans, t)
_nct_isf(q, v, l) = _nct_sf(ans, v, l)
_landau_ppf(q, loc, scale) = _landau_cdf(ans, loc, scale)
_landau_isf(q, loc, scale) = _landau_sf(ans, loc, scale)
_skewnorm_ppf(q, loc, scale, a) = _skewnorm_cdf(ans, loc, scale, a)
_skewnorm_isf(q, loc, scale, a) = _skewnorm_sf(ans, loc, scale, a)
"""

STEPS = """
_ncx2_pdf _ncx2_sf _ncx2_cdf(x, k, l)  k: _noncentral_step(k, l) above 0
chndtr(x, df, nc)     df: _noncentral_step(df, nc) above 0
_ncf_pdf(x, v1, v2, l)
    x: 0.2 * x
_ncf_pdf _ncf_sf(x, v1, v2, l)
    v1: _noncentral_step(v1, l) above 0
    v2: _noncentral_step(v2, 0.0) above 0
    l: _noncentral_step(v1, l) above 0
ncfdtr(dfn, dfd, nc, f)
    dfn: _noncentral_step(dfn, nc) above 0
    dfd: _noncentral_step(dfd, 0.0) above 0
    nc: _noncentral_step(dfn, nc) above 0
_nct_pdf(x, v, l)
    x: 0.3 / (1.0 + 1.0 / np.sqrt(v))
_nct_pdf _nct_sf(x, v, l)
    v: 0.15 * v
    l: 0.3
nctdtr(df, nc, t)
    df: 0.15 * df
    nc: 0.3
_landau_pdf(x, loc, scale)  x: 0.3 * np.maximum(scale, 0.5 * (x - loc))
_gen_harmonic(n, a)   a: 0.5 / (1.0 + np.log(n))
_normalized_gen_harmonic(j, k, n, a)  a: 0.5 / (1.0 + np.log(n))
_scaled_exp1(x)       x: 0.2 * x
_iv_ratio _iv_ratio_c(v, x)
    v: 0.2 * (v - 0.4)
    x: 0.2 * x
_noncentral_step(k, l) = 0.5 * np.sqrt(1.0 + k + l) if l > 0.5 else 0.15 * (k + l)
"""

# Moments, which are infinite from so few degrees of freedom on.
MOMENTS = """
_ncf_{0}(v1, v2, l)
    v1: 0.15 * v1
    v2: 0.15 * (v2 - 2.0 * {1})
    l: {2} * ({3} + l) above 0
_nct_{0}(v, l)
    v: 0.15 * (v - {1})
    l: {2}
"""
STEPS += "".join(
    MOMENTS.format(*each.split())
    for each in ("mean 1.0 1.0 1.0", "variance 2.0 1.0 1.0", "skewness 3.0 0.3 v1",
                 "kurtosis_excess 4.0 0.3 v1")
)  # fmt: skip
