"""Functions of `cadiff.scipy.special` whose derivatives, by parameters above all, are differences.

Cases are as in `cases_special`; behind a name a number may follow, of one result of several. The
rules that are differences of high order, and the values of SciPy's that they are made of, are not
right to the last digits, so these are held to a relative error. This module knows nothing of
cadiff.
"""

from __future__ import annotations

from mpmath import mp

from .cases_special import (
    Case,
    Point,
    Real,
    betainc,
    betaincc,
    f_above,
    f_below,
    gammainc,
    gammaincc,
    ive,
    kve,
    line,
    points,
)

HALF = mp.mpf(1) / 2


def student(df: Real, t: Real) -> Real:
    tail = mp.betainc(df / 2, HALF, 0, df / (df + t * t), regularized=True) / 2
    return 1 - tail if t > 0 else tail


def elliptic(name: str) -> Case:
    return Case(
        lambda u, m: mp.ellipfun(name, u, m=m), points([-0.7, 1e-6, 4.0], [0.1, 0.9]), (0, 1)
    )


def voigt(x: Real, sigma: Real, gamma: Real) -> Real:
    z = mp.mpc(x, gamma) / (sigma * mp.sqrt(2))
    return mp.re(mp.exp(-z * z) * mp.erfc(-1j * z)) / (sigma * mp.sqrt(2 * mp.pi))


def wright_bessel(a: Real, b: Real, x: Real) -> Real:
    return mp.nsum(lambda k: x**k / mp.factorial(k) * mp.rgamma(a * k + b), [0, mp.inf])


def integral(f: object, *ends: object) -> object:
    return lambda x: mp.quad(f, [*ends, x])


def spherical(f: object) -> object:
    return lambda n, z: mp.sqrt(mp.pi / (2 * z)) * f(n + HALF, z)  # type: ignore[operator]


def shifted(f: object) -> object:
    return lambda n, x: f(n, 2 * x - 1)  # type: ignore[operator]


def sh_jacobi(n: Real, p: Real, q: Real, x: Real) -> Real:
    return mp.jacobi(n, p - q, q - 1, 2 * x - 1) / mp.binomial(2 * n + p - 1, n)


def tukey_inverse(p: Real, lmbda: Real) -> Real:
    return (p**lmbda - (1 - p) ** lmbda) / lmbda


SHAPES = [1e-6, 0.3, 2.5, 40.0, 1e3]
FEW = [0.3, 2.5, 40.0]
ORDERS = [-1.3, 0.0, 0.4, 2.0, 17.5]
DEGREES = [0, 1, 4]
INSIDE = [-1.0, -0.3, 0.6, 1.0]

CASES: dict[str, Case] = {
    # incomplete functions and distributions
    "gammainc": Case(gammainc, points(SHAPES, [1e-5, 0.3, 2.0, 35.0]), (0,)),
    "gammaincc": Case(gammaincc, points(SHAPES, [0.3, 2.0, 35.0, 200.0]), (0,)),
    "betainc": Case(betainc, points(SHAPES[:-1], FEW, [1e-5, 0.3, 0.9]), (0, 1)),
    "betaincc": Case(betaincc, points(SHAPES[:-1], FEW, [1e-5, 0.3, 0.9]), (0, 1)),
    "stdtr": Case(student, points([0.5, 1.0, 3.0, 199.0, 201.0], [-30.0, -1.0, 0.4, 2.0]), (0,)),
    "chdtr": Case(lambda v, x: gammainc(v / 2, x / 2), points(FEW, [1e-3, 2.0, 30.0]), (0,)),
    "chdtrc": Case(lambda v, x: gammaincc(v / 2, x / 2), points(FEW, [1e-3, 2.0, 30.0]), (0,)),
    "gdtr": Case(lambda a, b, x: gammainc(b, a * x), points([0.5, 3.0], FEW, [0.1, 4.0]), (1,)),
    "gdtrc": Case(lambda a, b, x: gammaincc(b, a * x), points([0.5], FEW, [0.1, 4.0]), (1,)),
    "fdtr": Case(f_below, points([0.4, 4.0, 30.0], [3.0, 20.0], [0.1, 1.0, 3.0]), (0, 1)),
    "fdtrc": Case(f_above, points([1.0, 4.0], [3.0, 20.0], [0.1, 1.0, 3.0]), (0, 1)),
    # Bessel functions and others of an order
    "jv": Case(mp.besselj, points(ORDERS, [0.1, 3.0, 20.0]), (0,)),
    "jve": Case(mp.besselj, points([0.4, 3.0], [0.1, 3.0, 20.0]), (0, 1)),
    "yv": Case(mp.bessely, points(ORDERS, [0.1, 3.0, 20.0]), (0,)),
    "yve": Case(mp.bessely, points([0.4, 3.0], [0.1, 3.0, 20.0]), (0, 1)),
    "iv": Case(mp.besseli, points(ORDERS, [0.1, 3.0, 20.0, 300.0]), (0,)),
    "kv": Case(mp.besselk, points([0.4, 2.0, 17.5], [0.1, 3.0, 20.0, 300.0]), (0,)),
    "ive": Case(ive, points([0.4, 9.0], [0.1, 1e4]), (0,)),
    "kve": Case(kve, points([0.4, 9.0], [0.1, 1e4]), (0,)),
    "airy 0": Case(mp.airyai, line(-8.0, -0.4, 0.0, 0.5, 6.0)),
    "airy 1": Case(lambda x: mp.airyai(x, 1), line(-8.0, -0.4, 0.0, 0.5, 6.0)),
    "airy 2": Case(mp.airybi, line(-8.0, -0.4, 0.0, 0.5, 6.0)),
    "airy 3": Case(lambda x: mp.airybi(x, 1), line(-8.0, -0.4, 0.0, 0.5, 6.0)),
    "airye 0": Case(lambda x: mp.exp(2 * x**1.5 / 3) * mp.airyai(x), line(0.5, 6.0)),
    "airye 1": Case(lambda x: mp.exp(2 * x**1.5 / 3) * mp.airyai(x, 1), line(0.5, 6.0)),
    "airye 2": Case(lambda x: mp.exp(-2 * x**1.5 / 3) * mp.airybi(x), line(0.5, 6.0)),
    "airye 3": Case(lambda x: mp.exp(-2 * x**1.5 / 3) * mp.airybi(x, 1), line(0.5, 6.0)),
    "ber": Case(lambda x: mp.ber(0, x), line(0.3, 2.0, 9.0)),
    "bei": Case(lambda x: mp.bei(0, x), line(0.3, 2.0, 9.0)),
    "ker": Case(lambda x: mp.ker(0, x), line(0.3, 2.0, 9.0)),
    "kei": Case(lambda x: mp.kei(0, x), line(0.3, 2.0, 9.0)),
    "berp": Case(lambda x: mp.diff(lambda t: mp.ber(0, t), x), line(0.3, 9.0)),
    "beip": Case(lambda x: mp.diff(lambda t: mp.bei(0, t), x), line(0.3, 9.0)),
    "struve": Case(mp.struveh, points([0.0, 0.4, 3.0], [0.3, 4.0, 15.0]), (0, 1)),
    "modstruve": Case(mp.struvel, points([0.0, 0.4, 3.0], [0.3, 4.0, 15.0]), (0, 1)),
    "itj0y0 0": Case(integral(lambda t: mp.besselj(0, t), 0), line(0.3)),
    "iti0k0 0": Case(integral(lambda t: mp.besseli(0, t), 0), line(0.3)),
    "it2j0y0 0": Case(integral(lambda t: (1 - mp.besselj(0, t)) / t, 0), line(0.3, 4.0)),
    "it2i0k0 0": Case(integral(lambda t: (mp.besseli(0, t) - 1) / t, 0), line(0.3, 4.0)),
    "itstruve0": Case(integral(lambda t: mp.struveh(0, t), 0), line(0.3)),
    "itmodstruve0": Case(integral(lambda t: mp.struvel(0, t), 0), line(0.3)),
    "spherical_jn": Case(spherical(mp.besselj), points(DEGREES, [0.3, 4.0, 30.0]), (1,)),
    "spherical_yn": Case(spherical(mp.bessely), points(DEGREES, [0.3, 4.0, 30.0]), (1,)),
    "spherical_in": Case(spherical(mp.besseli), points(DEGREES, [0.3, 4.0, 30.0]), (1,)),
    "spherical_kn": Case(spherical(mp.besselk), points(DEGREES, [0.3, 4.0, 30.0]), (1,)),
    # orthogonal polynomials
    "eval_legendre": Case(mp.legendre, points(DEGREES, INSIDE), (1,)),
    "eval_chebyt": Case(mp.chebyt, points(DEGREES, INSIDE), (1,)),
    "eval_chebyu": Case(mp.chebyu, points(DEGREES, [-0.9, -0.3, 0.6]), (1,)),
    "eval_chebyc": Case(lambda n, x: 2 * mp.chebyt(n, x / 2), points(DEGREES, INSIDE), (1,)),
    "eval_chebys": Case(lambda n, x: mp.chebyu(n, x / 2), points(DEGREES, INSIDE), (1,)),
    "eval_sh_legendre": Case(shifted(mp.legendre), points(DEGREES, [0.1, 0.7]), (1,)),
    "eval_sh_chebyt": Case(shifted(mp.chebyt), points(DEGREES, [0.1, 0.7]), (1,)),
    "eval_sh_chebyu": Case(shifted(mp.chebyu), points(DEGREES, [0.1, 0.7]), (1,)),
    "eval_hermite": Case(mp.hermite, points(DEGREES, [-2.0, 0.6]), (1,)),
    "eval_hermitenorm": Case(
        lambda n, x: mp.mpf(2) ** (-n * HALF) * mp.hermite(n, x / mp.sqrt(2)),
        points(DEGREES, [-2.0, 0.6]),
        (1,),
    ),
    "eval_laguerre": Case(lambda n, x: mp.laguerre(n, 0, x), points(DEGREES, [0.3, 4.0]), (1,)),
    "eval_genlaguerre": Case(mp.laguerre, points(DEGREES, [0.4, 2.0], [0.3, 4.0]), (1, 2)),
    "eval_gegenbauer": Case(mp.gegenbauer, points(DEGREES, [0.4, 2.0], [-0.7, 0.6]), (1, 2)),
    "eval_jacobi": Case(mp.jacobi, points(DEGREES, [0.4], [0.0, 1.5], [-0.7, 0.6]), (1, 2, 3)),
    "eval_sh_jacobi": Case(sh_jacobi, points(DEGREES, [2.5], [1.5], [0.2, 0.6]), (3,)),
    "lpmv": Case(lambda m, v, x: mp.legenp(v, m, x, type=2), points([1], [2], [0.6]), (2,)),
    # integrals, hypergeometric and elliptic functions
    "fresnel 0": Case(mp.fresnels, line(-0.4, 0.0, 1.5, 5.0)),
    "fresnel 1": Case(mp.fresnelc, line(-0.4, 0.0, 1.5, 5.0)),
    "sici 0": Case(mp.si, line(-4.0, 0.0, 0.3, 20.0)),
    "sici 1": Case(mp.ci, line(0.3, 20.0)),
    "shichi 0": Case(mp.shi, line(-4.0, 0.0, 0.3, 20.0)),
    "shichi 1": Case(mp.chi, line(0.3, 20.0)),
    "hyp0f1": Case(mp.hyp0f1, points([0.5, 2.0, 30.0], [-3.0, 0.1, 40.0]), (0,)),
    "hyp1f1": Case(mp.hyp1f1, points([0.5, -1.3, 2.0], [1.5, 3.0], [-3.0, 0.1, 20.0]), (0, 1)),
    "hyp2f1": Case(mp.hyp2f1, points([0.5, 2.0], [0.7], [1.9], [-3.0, 0.1, 0.8]), (0, 1, 2)),
    "hyperu": Case(mp.hyperu, points([0.5, 2.0], [0.7, 1.6], [0.3, 4.0]), (0, 1, 2)),
    "zeta": Case(mp.zeta, points([1.0001, 1.5, 7.3, 80.0], [0.2, 1.0, 100.0]), (0,)),
    "zeta_of_riemann": Case(mp.zeta, line(-3.3, 0.5, 1.5, 7.3)),
    "zetac": Case(lambda x: mp.zeta(x) - 1, line(0.5, 1.5, 7.3, 30.0)),
    "agm": Case(mp.agm, points([0.3, 2.0], [1.0, 50.0]), (0, 1)),
    "voigt_profile": Case(voigt, points([-0.4, 3.0, 200.0], [0.5], [0.1, 2.0]), (0, 1, 2)),
    "wright_bessel": Case(wright_bessel, points([0.3], [1.5], [2.0]), (0, 1, 2)),
    "ellipkinc": Case(mp.ellipf, points([-0.7, 0.01, 1.2, 5.0], [-2.0, 0.0, 0.9]), (1,)),
    "ellipeinc": Case(mp.ellipe, points([-0.7, 0.01, 1.2, 5.0], [-2.0, 0.0, 0.9]), (1,)),
    "elliprc": Case(mp.elliprc, points([0.3, 2.0], [1.5, 4.0]), (0, 1)),
    "elliprf": Case(mp.elliprf, points([0.3, 2.0], [1.0], [4.0]), (0, 1, 2)),
    "elliprd": Case(mp.elliprd, points([0.3, 2.0], [1.0], [4.0]), (0, 1, 2)),
    "elliprg": Case(mp.elliprg, points([0.3, 2.0], [1.0], [4.0]), (0, 1, 2)),
    "elliprj": Case(mp.elliprj, points([0.3, 2.0], [1.0], [4.0], [0.7]), (0, 1, 2, 3)),
    "ellipj 0": elliptic("sn"),
    "ellipj 1": elliptic("cn"),
    "ellipj 2": elliptic("dn"),
    "ellipj 3": Case(
        lambda u, m: mp.asin(mp.ellipfun("sn", u, m=m)), points([-0.7, 0.3], [0.1, 0.9]), (0, 1)
    ),
    "pbdv 0": Case(mp.pcfd, points([-1.3, 0.4], [-1.0, 0.6, 3.0]), (0, 1)),
    "pbdv 1": Case(
        lambda v, x: x / 2 * mp.pcfd(v, x) - mp.pcfd(v + 1, x), points([0.4], [-1.0, 3.0]), (0, 1)
    ),
    "pbvv 0": Case(lambda v, x: mp.pcfv(-v - HALF, x), points([0.4, 2.3], [0.6, 3.0]), (0, 1)),
    "pbwa 0": Case(mp.pcfw, points([0.4, 1.3], [0.6, 2.0]), (0, 1)),
    # others
    "radian": Case(
        lambda d, m, s: mp.radians(d + m / 60 + s / 3600), points([30.0], [7.0], [3.0]), (0, 1, 2)
    ),
    "kolmogorov": Case(
        lambda y: 2 * mp.nsum(lambda k: (-1) ** (k - 1) * mp.exp(-2 * (k * y) ** 2), [1, 30]),
        line(0.4, 0.8, 2.0),
    ),
}

# Other functions with a point for each, where derivatives are compared with differences of values:
# those of distributions, and inverses. Whole numbers are arguments without a derivative.
POINTS: dict[str, Point] = {
    name: at
    for names, at in (
        ("_beta_pdf, _beta_ppf, gdtria", (0.3, 2.0, 1.5)),
        ("_binom_pmf, _binom_cdf, _binom_sf", (3, 9.0, 0.3)),
        ("_nbinom_pmf, _nbinom_cdf, _nbinom_sf", (3, 4.5, 0.3)),
        (
            "_nbinom_mean, _nbinom_variance, _nbinom_skewness, _nbinom_kurtosis_excess, "
            "stdtrit, chdtri",
            (4.5, 0.3),
        ),
        ("_ncx2_pdf, _ncx2_sf, chndtr", (2.3, 3.0, 1.7)),
        ("_ncx2_isf, chndtrix", (0.3, 3.0, 1.7)),
        ("chndtridf", (2.3, 0.3, 1.7)),
        ("chndtrinc", (2.3, 3.0, 0.3)),
        ("_ncf_pdf, _ncf_sf", (1.3, 3.0, 9.0, 1.7)),
        ("_ncf_isf", (0.3, 3.0, 9.0, 1.7)),
        ("_ncf_mean, _ncf_variance, _ncf_skewness, _ncf_kurtosis_excess", (3.0, 9.0, 1.7)),
        ("ncfdtr", (3.0, 9.0, 1.7, 1.3)),
        ("ncfdtri", (3.0, 9.0, 1.7, 0.4)),
        ("_nct_pdf, _nct_sf", (0.7, 4.5, 0.6)),
        ("_nct_isf", (0.3, 4.5, 0.6)),
        ("_nct_mean, _nct_variance, _nct_skewness, _nct_kurtosis_excess", (4.5, 0.6)),
        ("nctdtr", (4.5, 0.6, 0.7)),
        ("nctdtrit", (4.5, 0.6, 0.3)),
        ("nctdtridf", (0.515, 0.6, 0.7)),
        ("nctdtrinc", (4.5, 0.3, 0.7)),
        ("_invgauss_ppf, _invgauss_isf, _cauchy_ppf, _cauchy_isf", (0.3, 1.2, 0.8)),
        (
            "_cosine_cdf, _cosine_invcdf, _kolmogc, _kolmogci, _log1pmx, _lgam1p, "
            "_scaled_exp1, it2j0y0 1, it2i0k0 1, it2struve0, iti0k0 1, itj0y0 1, itairy 0, "
            "itairy 1, itairy 2, itairy 3, kerp, keip",
            (0.7,),
        ),
        ("_landau_pdf, _landau_cdf, _landau_sf, _landau_ppf, _landau_isf", (0.7, 0.2, 1.3)),
        ("_skewnorm_cdf, _skewnorm_ppf, _skewnorm_isf", (0.7, 0.2, 1.3, 2.0)),
        ("_gen_harmonic", (9, 1.5)),
        ("_normalized_gen_harmonic", (2, 4, 9, 1.5)),
        ("_log1mexp", (-0.7,)),
        ("_igam_fac, _iv_ratio, _iv_ratio_c", (1.5, 0.7)),
        ("gammaincinv, gammainccinv", (2.5, 0.3)),
        ("betaincinv, betainccinv", (2.5, 1.5, 0.3)),
        ("stdtridf", (0.8, 1.1)),
        ("chdtriv", (0.3, 2.0)),
        ("gdtrib", (2.0, 0.3, 1.5)),
        ("gdtrix", (2.0, 1.5, 0.3)),
        ("btdtria", (0.3, 2.0, 0.4)),
        ("btdtrib", (2.0, 0.3, 0.4)),
        ("fdtri", (4.0, 7.0, 0.3)),
        ("fdtridfd", (4.0, 0.4, 0.8)),
        ("pdtri", (3, 0.3)),
        ("pdtrik", (0.3, 4.0)),
        ("bdtri", (3, 9, 0.3)),
        ("bdtrik", (0.6, 9.0, 0.3)),
        ("bdtrin, nbdtrin", (3.0, 0.6, 0.3)),
        ("nbdtri", (3, 4, 0.3)),
        ("nbdtrik", (0.6, 4.5, 0.3)),
        ("nrdtrimn", (0.3, 1.2, 0.7)),
        ("nrdtrisd", (0.3, 0.7, 0.8)),
        ("tklmbda", (0.7, 0.4)),
        ("kolmogi", (0.3,)),
        ("mathieu_a, mathieu_b", (2, 1.5)),
        ("mathieu_cem 0, mathieu_sem 1", (2, 1.5, 40.0)),
        (
            "mathieu_modcem1 0, mathieu_modcem2 1, mathieu_modsem1 1, mathieu_modsem2 0",
            (2, 1.5, 0.4),
        ),
        ("pbvv 1, pbwa 1", (0.4, 0.7)),
        ("spherical_jn, spherical_yn", (2, -0.7)),
        ("spherical_in, spherical_kn", (3, -0.7)),
        ("besselpoly", (0.7, 1.5, 0.5)),
        ("log_wright_bessel", (0.3, 1.5, 2.0)),
    )
    for name in names.split(", ")
}

# Solutions that SciPy finds to few digits: of which function, by which of its arguments, at which
# ones, of which the one at that place is begun with.
SOLUTIONS: dict[str, tuple[str, int, Point]] = {
    "ncfdtridfn": ("ncfdtr", 0, (3.0, 9.0, 1.7, 1.3)),
    "ncfdtridfd": ("ncfdtr", 1, (3.0, 9.0, 1.7, 1.3)),
    "ncfdtrinc": ("ncfdtr", 2, (3.0, 9.0, 1.7, 1.3)),
}

# Functions of complex numbers, of which the last argument is one; and those before it.
ANALYTIC: dict[str, tuple[Real, tuple[float, ...]]] = {
    "erf": (mp.erf, ()),
    "erfc": (mp.erfc, ()),
    "erfi": (mp.erfi, ()),
    "erfcx": (lambda z: mp.exp(z * z) * mp.erfc(z), ()),
    "wofz": (lambda z: mp.exp(-z * z) * mp.erfc(-1j * z), ()),
    "dawsn": (lambda z: mp.sqrt(mp.pi) / 2 * mp.exp(-z * z) * mp.erfi(z), ()),
    "ndtr": (lambda z: mp.erfc(-z / mp.sqrt(2)) / 2, ()),
    "gamma": (mp.gamma, ()),
    "loggamma": (mp.loggamma, ()),
    "rgamma": (mp.rgamma, ()),
    "psi": (mp.digamma, ()),
    "exp1": (mp.e1, ()),
    "expi": (mp.ei, ()),
    "spence": (lambda z: mp.polylog(2, 1 - z), ()),
    "wrightomega": (lambda z: mp.lambertw(mp.exp(z)), ()),
    "lambertw": (mp.lambertw, ()),
    "airy 0": (mp.airyai, ()),
    "airy 2": (mp.airybi, ()),
    "fresnel 0": (mp.fresnels, ()),
    "sici 1": (mp.ci, ()),
    "shichi 0": (mp.shi, ()),
    "jv": (mp.besselj, (2.5,)),
    "yv": (mp.bessely, (2.5,)),
    "iv": (mp.besseli, (2.5,)),
    "kv": (mp.besselk, (2.5,)),
    "kve": (kve, (2.5,)),
    "hankel1": (mp.hankel1, (2.5,)),
    "hankel2": (mp.hankel2, (2.5,)),
    "hankel1e": (lambda v, z: mp.exp(-1j * z) * mp.hankel1(v, z), (2.5,)),
    "hankel2e": (lambda v, z: mp.exp(1j * z) * mp.hankel2(v, z), (2.5,)),
    "hyp0f1": (mp.hyp0f1, (2.5,)),
    "hyp1f1": (mp.hyp1f1, (0.7, 2.5)),
    "hyp2f1": (mp.hyp2f1, (0.7, 1.2, 2.5)),
    "spherical_jn": (spherical(mp.besselj), (2,)),
    "spherical_yn": (spherical(mp.bessely), (2,)),
    "spherical_in": (spherical(mp.besseli), (2,)),
    "spherical_kn": (spherical(mp.besselk), (2,)),
    "eval_legendre": (mp.legendre, (3,)),
    "eval_chebyt": (mp.chebyt, (3,)),
    "eval_chebyu": (mp.chebyu, (3,)),
    "eval_laguerre": (lambda n, z: mp.laguerre(n, 0, z), (3,)),
    "eval_genlaguerre": (mp.laguerre, (3, 0.4)),
    "eval_gegenbauer": (mp.gegenbauer, (3, 0.4)),
    "eval_jacobi": (mp.jacobi, (3, 0.4, 1.2)),
}
