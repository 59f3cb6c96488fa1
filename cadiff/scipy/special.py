"""The names of `scipy.special`, for numbers with derivatives as well as floats and ndarrays.

Functions of the table of operations are the package's own. The others take their values from
SciPy's ufuncs and have one partial for each argument here; an argument without one (a degree, a
count) must be a plain number. All of them broadcast. At the end of a domain the derivative is the
one-sided limit, outside it is nan. Names that are not defined here are SciPy's.

A partial is a formula, written so that neither it nor its own derivatives cancel: see `_formulas`
and `_families`. By an order or a shape parameter there is none as a rule: there derivatives are
differences of high order of the values, good to eleven digits or so of the function where SciPy's
values are to fourteen, at the price of a dozen of these: see `_differences`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from .. import binding, nn
from ..binding import Complex, make_complex
from ..binding import unguarded as value
from ..numpy._common import as_number, joined_axes
from ..numpy._refusals import INSTEAD, missing, relayed, the_rest_of
from ..operations import table as _table
from ..operations.arrays import (
    as_array,
    broadcast_to,
    expand_dims,
    gathered,
    in_precision,
    reduced_axes,
    reshape,
    stack,
)
from ..operations.arrays import sum as sum_
from ..operations.complexes import ELEMENTWISE, implements_all, implements_complex
from ..operations.dispatch import FUNCTIONS, implements
from ..operations.guards import held
from ..operations.patterns import over_axes
from ..operations.primitives import curried, primitive

# What is taken "as" itself is for others, too, as checkers of types have it.
from ..operations.table import cbrt as cbrt
from ..operations.table import digamma as digamma
from ..operations.table import entr as entr
from ..operations.table import erf as erf
from ..operations.table import erfc as erfc
from ..operations.table import exp2 as exp2
from ..operations.table import expit as expit
from ..operations.table import expm1 as expm1
from ..operations.table import gamma as gamma
from ..operations.table import gammaln as gammaln
from ..operations.table import log1p as log1p
from ..operations.table import log_expit as log_expit
from ..operations.table import rint, where
from ..operations.table import softplus as softplus
from ..operations.table import xlog1py as xlog1py
from ..operations.table import xlogy as xlogy
from . import (
    _analytic,
    _bessel_functions,
    _distribution_ufuncs,
    _families,
    _gamma_functions,
    _quadratures,
    _steps,
)
from ._bessel_functions import SEVERAL
from ._families import has_ufunc, scipys_ufunc, ufunc_of
from ._formulas import CONSTANT, Tabulated, choose, formulas_of, rows_of

Function = Callable[..., Any]

# SciPy's ufunc -> the function here that differentiates it.
UFUNCS: dict[Any, Function] = {}

LN10 = math.log(10.0)
ROOT2 = math.sqrt(2.0)
TINY = 1e-100  # next to 0 a function is the first term of its series
ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2.0 * math.pi)
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
DEGREE = math.pi / 180.0
RAISING = ("_ncf_", "_nct_")  # of Boost's, whose loops raise: programs do not call these


# --- functions of the table ----------------------------------------------------------------------

psi = digamma
round = rint

for _function in (cbrt, entr, erf, erfc, exp2, expit, expm1, gamma, gammaln, log1p, log_expit):
    UFUNCS[getattr(sp, _function.__name__)] = _function
UFUNCS |= {sp.psi: digamma, sp.round: rint}


def _as_taken_by(ufunc: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of a ufunc, as float64 where one of float32 is beside what has it compute so.

    Numbers with derivatives are given to it as Python's, whose precision it does not heed.
    """
    if not isinstance(ufunc, np.ufunc) or not any(map(binding.is_single, args)):
        return args
    kinds = [type(x) if type(x) in (int, float) else np.result_type(value(x)) for x in args]
    if ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))[-1] in (np.float32, np.complex64):
        return args
    return tuple(in_precision(x, np.float64) for x in args)


def _of_table(original: np.ufunc, function: Function) -> Function:
    @functools.wraps(original)
    def taking(x: Any, y: Any, /, **kwargs: Any) -> Any:
        return function(*_as_taken_by(original, (gathered(x), gathered(y))), **kwargs)

    taking.__doc__ = function.__doc__
    return implements(original)(taking)


for _original in (sp.xlogy, sp.xlog1py):
    _taking = _of_table(_original, getattr(_table, _original.__name__))
    globals()[_original.__name__] = UFUNCS[_original] = _taking


formula = formulas_of(globals(), _families)

# --- ufuncs --------------------------------------------------------------------------------------


class _Elementwise(Tabulated):
    """A function of numbers and arrays: lists beside them are arrays, too."""

    def __init__(
        self,
        name: str,
        parameters: str,
        function: Function,
        partials: dict[str, str],
        ufunc: np.ufunc | None = None,
        original: np.ufunc | None = None,
    ) -> None:
        widths, self._original = WIDTHS.get(name, {}), original or ufunc
        scipys = _scipys_name(name)
        super().__init__(name, parameters, function, partials, formula, ufunc, widths, scipys)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = _as_taken_by(self._original, tuple(map(gathered, args)))
        if any(isinstance(x, Complex) for x in args):
            return analytic(self.function.__name__, args)
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            constants = binding.plain_constants((args, kwargs))
            if constants is None and any(map(np.iscomplexobj, args)):
                return analytic(self.function.__name__, args)  # which refuses what is not last
            if constants is None:
                raise
        return self.function(*constants[0], **constants[1])


def _scipys_name(name: str) -> str:
    """The function of SciPy's that one of the table is, or gives a result of."""
    return _RESULTS[name][0] if name in _RESULTS else name.lstrip("_")


def _where_it_answers(original: np.ufunc) -> Function:
    """A ufunc whose loop raises for all elements if one of them overflows; that is nan."""

    def evaluate(*args: Any) -> Any:
        try:
            return original(*args)
        except (OverflowError, SystemError):
            if any(map(np.ndim, args)):
                return np.vectorize(evaluate, otypes=[float])(*args)
            return math.nan

    return evaluate


def _ufunc(name: str, arguments: str, partials: dict[str, str]) -> Function:
    """The primitive of a ufunc of SciPy's, whose values are right where SciPy's are not."""
    original = scipys_ufunc(name)
    ufunc = None if name.startswith(RAISING) else ufunc_of(name)
    primitive = ufunc or _where_it_answers(original)

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if kwargs else primitive(*args)

    known = [each for each in arguments.split(", ") if not each.startswith(CONSTANT)]
    by = f"differentiable by {', '.join(known)}" if known else "it has no derivative"
    evaluate.__doc__ = f"As `scipy.special.{name}`; {by}."
    function = UFUNCS[original] = _Elementwise(
        name, arguments, evaluate, partials, ufunc, original
    )
    return function


def _solution(name: str, parameters: str, equation: str) -> Function:
    """The primitive of a ufunc whose value `ans` solves an equation F(arguments) = parameter.

    Where nothing solves it the value is the end of what SciPy searches, which does not move.
    """
    function, _, arguments = equation.strip().rstrip(")").partition("(")
    names = parameters.split(", ")
    zeros = dict.fromkeys([*names, "ans"], 0.0)

    def slope(each: str) -> str:
        """That of F, whose arguments are linear."""
        rates = [
            eval(text, {**zeros, each: 1.0}) - eval(text, {**zeros})
            for text in arguments.split(", ")
        ]
        terms = [f"{r} * {function}.slope({k}, {arguments})" for k, r in enumerate(rates) if r]
        return " + ".join(terms)

    slopes = {each: slope(each) for each in zeros}
    (parameter,) = (each for each in names if not slopes[each])
    unless = f"0.0 if _is_unsolved(ans, {function}({arguments}), {parameter}) else"
    partials = {
        each: f"{unless} -_product({slopes[each] or -1.0}, reciprocal({slopes['ans']}))"
        for each in names
    }
    return _ufunc(name, parameters, partials)


# How far derivatives by differences look.
WIDTHS: dict[str, dict[str, str]] = {}
for _name, _parameters, _row in rows_of(_steps.STEPS + _distribution_ufuncs.STEPS):
    if isinstance(_row, str):
        globals()[_name] = formula(_parameters, _row)
    else:
        WIDTHS[_name] = WIDTHS.get(_name, {}) | _row


def _result_of(name: str, k: int | None, part: str) -> Function:
    """One of the results of a ufunc, or a part of it."""
    original = getattr(sp, name)

    def evaluate(*args: Any) -> Any:
        found = original(*args) if k is None else original(*args)[k]
        return getattr(found, part) if part else found

    return evaluate


def _spherical_values(name: str) -> Function:
    """A spherical Bessel function, or its derivative; SciPy reflects its ufuncs at 0."""
    original, derivative = getattr(sp, name.strip("_").removesuffix("_d")), name.endswith("_d")
    return lambda n, z: original(n, z, derivative)


def _several(name: str, groups: list[list[Function]]) -> Function:
    """The function of several results, some of which may be complex."""
    original = getattr(sp, name)

    def function(*args: Any) -> Any:
        if groups[0][1:] and any(isinstance(x, Complex) for x in args):
            return analytic(name, args)
        found = [
            make_complex(*(part(*args) for part in g)) if g[1:] else g[0](*args) for g in groups
        ]
        return tuple(found) if len(found) > 1 else found[0]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`, for each of its results."
    decorated = implements_all(original)(function)
    if isinstance(original, np.ufunc):
        UFUNCS[original] = decorated
    return decorated


# Values of what is no ufunc of SciPy's.
VALUES: dict[str, Function] = {
    "_carlson": lambda *args: _quadratures.carlson(*args),
    "_diric": lambda x, n: sp.diric(x, n),
    "_ellipeinc_by_m": lambda phi, m: globals()["_second_by_m"](phi, m),
    "_ellipkinc_by_m": lambda phi, m: globals()["_first_by_m"](phi, m),
    "_factorial": lambda n: sp.factorial(n),
    "_gamma_below": lambda a, x: _gamma_below_values(a, x),
    "_log1p_over": lambda y, lmbda: _log1p_over_values(y, lmbda),
    "_skewnorm_sf": lambda x, loc, scale, a: sp._ufuncs._skewnorm_cdf(-x, -loc, scale, -a),
    "_sph_legendre": lambda n, m, theta: np.where(
        np.abs(m) > n, 0.0, sp.sph_legendre_p(n, m, theta)[0]
    )[()],
    "_student_far_slope": lambda df, t: _student_far_values(df, t),
    "_student_middle": lambda df, t: np.sign(t) / 2 * sp.betainc(0.5, 0.5 * df, t / (df / t + t)),
    "_student_tail": lambda df, t: choose(  # by whichever has the digits
        np.greater_equal(df, 1e3),
        lambda: sp.stdtr(df, -t),
        lambda: 0.5 * sp.betainc(0.5 * df, 0.5, df / (df + t * t)),
    ),
    "_struve_moment": lambda *args: _quadratures.struve(*args),
    "_tricomi_integral": lambda *args: _quadratures.tricomi(*args),
    "_iv_even": lambda v, z: 0.5 * (sp.iv(v, z) + sp.iv(-v, z)),
    "_ive_even": lambda v, z: 0.5 * (sp.ive(v, z) + sp.ive(-v, z)),
    "_zeta_above": lambda x, q: sp.zeta(x, q + 1.0),
    "_voigt_slope": lambda n, k, x, sigma, gamma: np.real(
        np.array([1, 1j, -1, -1j])[int(np.max(k)) % 4]
        * _analytic.faddeeva_values(n, x + 1j * gamma, sigma)
    ),
}
_RESULTS: dict[str, tuple[str, int | None, str]] = {}
for _name, _results in SEVERAL.items():
    for _k, _group in enumerate(_results.split()):
        _is_complex, _which = "+" in _group, _k if " " in _results else None
        for _called, _part in zip(_group.split("+"), ("real", "imag"), strict=False):
            _RESULTS[f"_{_name}_{_called}"] = _name, _which, _part if _is_complex else ""
_rows: dict[str, tuple[str, Any]] = {
    name: (parameters, row)
    for module in (_gamma_functions, _bessel_functions, _distribution_ufuncs)
    for name, parameters, row in rows_of(module.TABLE)
}
for _name in _gamma_functions.COMPLEMENTS.split():
    _parameters, _row = _rows[_name[:-2] + "cdf" if _name.endswith("sf") else _name[:-1]]
    _rows[_name] = _parameters, {each: f"-({text})" for each, text in _row.items()}
for _name, (_parameters, _row) in _rows.items():
    if isinstance(_row, str):
        globals()[_name] = formula(_parameters, _row)
    elif _name in _RESULTS:
        _of = getattr(sp, _RESULTS[_name][0])
        globals()[_name] = _Elementwise(
            _name, _parameters, _result_of(*_RESULTS[_name]), _row, original=_of
        )
    elif _name in VALUES:
        globals()[_name] = _Elementwise(_name, _parameters, VALUES[_name], _row)
    elif _name in _bessel_functions.KERNELS:
        _own = ufunc_of(_name[1:])
        globals()[_name] = _Elementwise(
            _name, _parameters, lambda *args, ufunc=_own: ufunc(*args), _row, _own
        )
    elif _name.startswith("_spherical"):
        globals()[_name] = _Elementwise(_name, _parameters, _spherical_values(_name), _row)
    elif has_ufunc(_name):
        globals()[_name] = _ufunc(_name, _parameters, _row)
for _name, _results in SEVERAL.items():
    _groups = [[f"_{_name}_{part}" for part in each.split("+")] for each in _results.split()]
    globals()[_name] = _several(_name, [[globals()[part] for part in each] for each in _groups])
for _name, _parameters, _row in rows_of(_distribution_ufuncs.SOLUTIONS):
    if has_ufunc(_name):
        globals()[_name] = _solution(_name, _parameters, str(_row))
jn = UFUNCS[sp.jv]


def _gamma_below_values(a: Any, x: Any) -> Any:
    """The values, from an integral of `_families` there."""
    values, a, x = np.broadcast_arrays(sp.gammainc(a, x), a, x)
    gamma_density, gamma_lower = (vars(_families)[x] for x in ("gamma_density", "gamma_lower"))
    is_far = (a > 1e5) & (x < a - 4.0 * np.sqrt(np.maximum(a, 0.0))) & (x > 0.0)
    if np.any(is_far):
        at, below = a[is_far], x[is_far]
        values = values.copy()
        values[is_far] = below * gamma_density(at, below) * gamma_lower(0, at, below)
    return values[()]


def _student_far_values(df: Any, t: Any) -> Any:
    """An integral from 0 to t, or from t to where nothing is left, by Gauss's quadrature."""
    density, slope = (vars(_families)[name] for name in ("student_density", "_student_slope"))
    df, t = np.broadcast_arrays(np.asarray(df, float), np.clip(t, -1e100, 1e100))
    size, outwards = np.abs(t), np.where(t < 0.0, -1.0, 1.0)
    far = np.minimum(12.0, 45.0 * (size / df + 1.0 / np.maximum(size, 1.5)))
    width = np.where(size < 1.5, -t, outwards * far)
    return _quadratures.between(lambda t: density(df, t) * slope(df, t), t + width, t)


# --- complex arguments ---------------------------------------------------------------------------


def analytic(name: str, args: tuple[Any, ...]) -> Any:
    """A function where an argument is complex and carries a derivative."""
    if name not in ANALYTIC:
        raise binding.MissingRuleError(
            f"scipy.special.{_scipys_name(name)} of complex numbers with derivatives is not "
            "supported: it takes real numbers; cadiff.value(z) has no derivative"
        )
    return ANALYTIC[name](*args)


for _name in ("_polygamma_of_complex", "_faddeeva_slope"):  # nth derivatives, of digamma and wofz
    globals()[_name] = lambda n, z, name=_name: analytic(name, (n, z))

# What computes functions of complex numbers that SciPy has otherwise, or lacks.
COMPLEX_VALUES: dict[str, Function] = {
    "_polygamma_of_complex": _analytic.polygamma_values,
    "_faddeeva_slope": lambda n, z: ROOT_PI * _analytic.faddeeva_values(n, z, 1.0 / ROOT2),
    "lambertw": lambda k, tol, z: sp.lambertw(z, k, tol),
    **{name: _result_of(*result) for name, result in _RESULTS.items()},
}
ANALYTIC: dict[str, _analytic.Analytic] = {}
_alike = ((name, *_rows[name]) for name in _analytic.ALIKE.split())
for _name, _parameters, _row in [*rows_of(_analytic.ANALYTIC), *_alike]:
    if isinstance(_row, str):
        globals()[_name] = formula(_parameters, _row)
        continue
    if not (_name in COMPLEX_VALUES or has_ufunc(_name)):
        continue  # this version of SciPy lacks it
    _computed = COMPLEX_VALUES.get(_name) or scipys_ufunc(_name)
    _arguments = _parameters.replace(CONSTANT, "")
    _partial = formula(f"ans, {_arguments}", _row[_arguments.split(", ")[-1]])
    _each = ANALYTIC[_name] = _analytic.Analytic(_name, _computed, _partial, __name__)
    globals()[f"ANALYTIC_{_name}"] = _each.step
    if _name in _table.__all__:
        ELEMENTWISE[_name] = _each
    if isinstance(_computed, np.ufunc):
        implements_complex(_computed)(_each)


# --- functions with more to say ------------------------------------------------------------------


@implements(sp.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """As `scipy.special.multigammaln`; differentiable by a."""
    a = gathered(a)
    if not np.all(value(a) > 0.5 * (d - 1)):
        raise ValueError(f"condition a > 0.5 * (d - 1) not met: d = {d}")
    terms = (gammaln(a - 0.5 * j) for j in range(d))
    return functools.reduce(operator.add, terms, 0.25 * d * (d - 1) * np.log(np.pi))


def polygamma(n: Any, x: Any) -> Any:
    """As `scipy.special.polygamma`, in double precision; differentiable by x."""
    return _table.polygamma(n, in_precision(gathered(x), np.float64))


implements(sp.polygamma)(polygamma)  # which is `psi` to the last bit, of plain numbers as well


# Riemann's goes on below 1; SciPy has its ufunc under a private name.
_riemann_zeta = _Elementwise(
    "_riemann_zeta",
    "x",
    lambda x: sp.zeta(x),
    {"x": "zetac.slope(0, x)"},
    getattr(sp._ufuncs, "_riemann_zeta", None),
)


@implements(sp.zeta)
def zeta(x: Any, q: Any = None, out: None = None) -> Any:
    """As `scipy.special.zeta`; differentiable by q."""
    if out is not None:
        raise TypeError("zeta of numbers with derivatives takes no out=: assign the result")
    return _riemann_zeta(x) if q is None else globals()["_zeta"](x, q)


def _spherical(name: str) -> None:
    """A spherical Bessel function of SciPy's, and its derivative."""
    original = getattr(sp, name)
    function, slope = globals()[f"_{name}"], globals()[f"_{name}_d"]

    @implements_all(original)
    def spherical(n: Any, z: Any, derivative: bool = False) -> Any:
        return (slope if derivative else function)(np.asarray(n, dtype=np.dtype("long"))[()], z)

    spherical.__doc__ = f"As `scipy.special.{name}`; differentiable by z."
    globals()[name] = spherical


for _name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
    _spherical(_name)


@implements_all(sp.lambertw)
def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """As `scipy.special.lambertw`; differentiable by z, and complex wherever that is."""
    z = gathered(z)
    return analytic("lambertw", (k, tol, z if isinstance(z, Complex) else z + 0j))


# --- functions that SciPy writes in Python -------------------------------------------------------


def _refused(name: str) -> Function:
    @functools.wraps(getattr(sp, name))
    def refuse(*_: Any, **__: Any) -> Any:
        raise missing(f"scipy.special.{name}", INSTEAD)

    return implements(plainly=getattr(sp, name))(refuse)


# Of one parameter equal to the other SciPy has formulas that lack a derivative.
for _name, _alias in {"roots_jacobi": "j_roots", "roots_sh_jacobi": "js_roots"}.items():
    globals()[_name] = globals()[_alias] = _refused(_name)

# These compute with ufuncs alone, of whatever numbers they are given.
for _name in ("assoc_laguerre", "ellip_harm", "h1vp", "h2vp", "ivp", "jvp", "kvp", "yvp"):
    globals()[_name] = implements_all(getattr(sp, _name))(getattr(sp, _name))


# Legendre's functions with their derivatives, up to the second, as further results.
MOST_ORDER = 2
LEGENDRE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "legendre_p": ("n, z", "z", {}),
    "assoc_legendre_p": ("n, m, z, branch_cut, norm", "z", {"branch_cut": 2, "norm": False}),
    "sph_legendre_p": ("n, m, theta", "theta", {}),
}


def _legendre(name: str, parameters: str, variable: str, options: dict[str, Any]) -> None:
    """A function whose results SciPy stacks, each the derivative of the one before it."""
    original = getattr(sp, name)
    names = parameters.split(", ")

    def kernel(k: int) -> Function:
        def evaluate(*args: Any) -> Any:
            given = dict(zip(options, args[len(names) - len(options) :], strict=True))
            return original(*args[: len(names) - len(options)], **given, diff_n=k)[k]

        following = {variable: f"_{name}_{k + 1}({parameters})"} if k < MOST_ORDER else {}
        stated = ", ".join(each if each in following else CONSTANT + each for each in names)
        return _Elementwise(f"_{name}_{k}", stated, evaluate, following)

    kernels = [kernel(k) for k in range(MOST_ORDER + 1)]
    globals().update({f"_{name}_{k}": each for k, each in enumerate(kernels)})

    def function(*args: Any, diff_n: int = 0, **given: Any) -> Any:
        every = (*args, *{**options, **given}.values())
        return stack([each(*every) for each in kernels[: diff_n + 1]])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`; differentiable by {variable} if diff_n < 2."
    globals()[name] = implements(original)(function)


for _name, _of in LEGENDRE.items():
    if hasattr(sp, _name):
        _legendre(_name, *_of)


def _legendre_all(name: str, counts: int) -> None:
    """All functions up to a degree and of all orders up to one, in axes of their own."""
    original, one = getattr(sp, f"{name}_all"), globals()[name]

    def function(*args: Any, **given: Any) -> Any:
        most, others = [*map(int, args[:counts])], args[counts:]
        orders = [np.arange(most[0] + 1), *(np.r_[: m + 1, -m:0] for m in most[1:])]
        inner = np.broadcast_shapes(*map(np.shape, others))
        at = [each.reshape(*each.shape, *[1] * len(inner)) for each in np.ix_(*orders)]
        return one(*at, *others, **given)

    function.__name__ = function.__qualname__ = f"{name}_all"
    function.__doc__ = f"As `scipy.special.{name}_all`; differentiable as `{name}` is."
    globals()[f"{name}_all"] = implements(original)(function)


for _name, _counts in {**dict.fromkeys(LEGENDRE, 2), "legendre_p": 1, "sph_harm_y": 2}.items():
    if hasattr(sp, f"{_name}_all"):
        _legendre_all(_name, _counts)


def _inexact(name: str, exact: bool) -> None:
    if exact:
        raise TypeError(
            f"{name} with exact=True is of whole numbers, which have no derivative: write "
            "exact=False, or give it cadiff.value of what carries one"
        )


def _counted(N: Any, k: Any, number: Any) -> Any:
    """A number of choices, which is 0 where there are none."""
    N, k = held(N), held(k)
    return where(
        np.less_equal(k, N) & np.greater_equal(N, 0) & np.greater_equal(k, 0), number, 0.0
    )


@implements(sp.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """As `scipy.special.comb` with exact=False; differentiable by N and k."""
    _inexact("comb", exact)
    N, k = as_number(N), as_number(k)
    if not repetition:
        return _counted(N, k, globals()["binom"](N, k))
    is_nothing = np.equal(held(k), 0) & np.greater_equal(held(N), 0)
    return where(is_nothing, 1.0, globals()["binom"](N + k - 1, k))


@implements(sp.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """As `scipy.special.perm` with exact=False; differentiable by N and k."""
    _inexact("perm", exact)
    N, k = as_number(N), as_number(k)
    return _counted(N, k, globals()["poch"](N - k + 1, k))


@implements(sp.factorial)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """As `scipy.special.factorial` with exact=False; differentiable by n, 0 below 0."""
    _inexact("factorial", exact)
    if extend != "zero":
        raise TypeError(
            "factorial of numbers with derivatives has extend='zero' alone: write gamma"
        )
    n = gathered(n)
    is_below = np.less(held(n), 0.0)
    return where(is_below, 0.0, globals()["_factorial"](where(is_below, 0.0, n)))


def _log1p_over_values(y: Any, lmbda: Any) -> Any:
    is_limit = np.equal(lmbda, 0.0)
    return np.where(is_limit, y, sp.log1p(lmbda * y) / np.where(is_limit, 1.0, lmbda))[()]


@implements(sp.diric)
def diric(x: Any, n: Any) -> Any:
    """As `scipy.special.diric`; differentiable by x."""
    return globals()["_diric"](x, n)


# --- sums of exponentials ------------------------------------------------------------------------
#
# Operands are an array and, if there are any, its weights, of one shape.


@primitive
def _logsumexp(axis: int, *operands: Any) -> Any:
    """The log of |Σ b exp(a)| along an axis."""
    return _found(axis, operands, 0)


@primitive
def _sum_sign(axis: int, *operands: Any) -> Any:
    """The sign of Σ b exp(a) along an axis."""
    return _found(axis, operands, 1)


@primitive
def _shares(axis: int, total: Any, *operands: Any) -> Any:
    """exp(a) / Σ b exp(a); where the logarithm of the sum is infinite, equal terms share it."""
    shape = operands[0].shape
    found = binding.run_loop(_share_loop(axis, total, *operands), [*operands], shape)
    return np.zeros(shape) if found is None else found  # there are no elements


def _found(axis: int, operands: Any, told: int) -> Any:
    shape = operands[0].shape[:axis] + operands[0].shape[axis + 1 :]
    found = binding.run_loop(_sum_loop(told, axis, *operands), [*operands], shape)
    if found is not None:
        return found
    return sp.logsumexp(operands[0], axis=axis, b=[*operands, None][1], return_sign=True)[told]


def _sum_loop(told: int, axis: int, *operands: Any) -> Any:
    if len(operands) == 1:
        return "logsumexp", told, ((axis,), ())
    return "logsumexp_weighted", told, ((axis,), (axis,), ())


def _share_loop(axis: int, total: Any, *operands: Any) -> Any:
    if len(operands) == 1:
        return "softmax", 1, ((axis,), (axis,))
    return "shares", 0, ((axis,), (axis,), (axis,))


def _of_lanes(operation: Any, which: Any, axis: int, *operands: Any) -> Any:
    """The same for many points."""
    n = len(operands[which[0] - 1])
    stacked = [
        x if k in which else np.broadcast_to(x, (n, *np.shape(x)))
        for k, x in enumerate(operands, 1)
    ]
    return operation.function(axis + 1, *stacked)


def _weights(total: Any, axis: int, *operands: Any) -> Any:
    shares = _shares(axis, held(total), *operands)
    return shares * operands[1] if operands[1:] else shares


def _flow(shares: Any, total: Any, axis: int) -> Any:
    """Shares as their derivatives see them: those of an infinite sum do not change."""
    return where(np.isinf(expand_dims(total, axis)), 0.0, shares)


def _shares_pull(ans: Any, axis: int, total: Any, a: Any, *given: Any) -> Any:
    *weights, g = given
    mean = sum_(g * ans, axis, keepdims=True)
    mean = mean * weights[0] if weights else mean
    return _flow(ans, total, axis) * (g - mean)


def _shares_by_weights(g: Any, ans: Any, axis: int, total: Any, *operands: Any) -> Any:
    """The tangent, and the cotangent, by the weights: that is a symmetric map."""
    return -_flow(ans, total, axis) * sum_(g * ans, axis, keepdims=True)


for _operation, _first, _loop in (
    (_logsumexp, 1, functools.partial(_sum_loop, 0)),
    (_sum_sign, 1, functools.partial(_sum_loop, 1)),
    (_shares, 2, _share_loop),
):
    _operation.called = "logsumexp"
    _operation.loop = _loop
    _operation.loop_takes = slice(_first, None)
    _operation.over_lanes = functools.partial(_of_lanes, _operation)

_logsumexp.defvjp(
    lambda ans, axis, *ab: lambda g: expand_dims(g, axis) * _weights(ans, axis, *ab),
    lambda ans, axis, *ab: lambda g: expand_dims(g, axis) * _shares(axis, held(ans), *ab),
    argnums=(1, 2),
)
_logsumexp.defjvp(
    lambda g, ans, axis, *ab: sum_(g * _weights(ans, axis, *ab), axis),
    lambda g, ans, axis, *ab: sum_(g * _shares(axis, held(ans), *ab), axis),
    argnums=(1, 2),
)
_logsumexp.defpattern(lambda ans, axis, a, *b: over_axes(axis, a.ndim, False), argnums=(1, 2))
_sum_sign.defvjp(None, None, argnums=(1, 2))
_shares.defvjp(
    None,
    curried(_shares_pull),
    lambda *given: lambda g: _shares_by_weights(g, *given),
    argnums=(1, 2, 3),
)
_shares.defjvp(
    None,
    lambda g, ans, axis, total, *ab: (
        _flow(ans, total, axis)
        * (g - sum_(ans * g * ab[1] if ab[1:] else ans * g, axis, keepdims=True))
    ),
    _shares_by_weights,
    argnums=(1, 2, 3),
)
_shares.defpattern(
    None,
    lambda ans, axis, total, a, *b: over_axes(axis, a.ndim, True),
    lambda ans, axis, total, a, *b: over_axes(axis, a.ndim, True),
    argnums=(1, 2, 3),
)


@implements(sp.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """As `scipy.special.logsumexp`; differentiable by a and b, the sign is a plain number."""
    operands = [as_array(gathered(x)) for x in (a, b) if x is not None]
    shape = np.broadcast_shapes(*map(np.shape, operands)) or (1,)
    operands = [broadcast_to(x, shape) for x in operands]
    axes = reduced_axes(axis, len(shape))
    if len(axes) == 1:
        place, rows = axes[0], operands
    else:
        place, rows = 0, [joined_axes(x, axes) for x in operands]
    result = _logsumexp(place, *rows)
    signs = np.ones(np.shape(result)) if b is None else _sum_sign(place, *map(held, rows))
    if not return_sign and b is not None and 0 not in shape:
        result = where(signs < 0.0, math.nan, result)
    if keepdims:
        lengths = tuple(1 if k in axes else n for k, n in enumerate(shape))
        result, signs = reshape(result, lengths), reshape(signs, lengths)
    return (result, signs[()] if np.ndim(signs) == 0 else signs) if return_sign else result


@implements(sp.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """As `scipy.special.softmax`."""
    return nn.softmax(x, axis=axis)


@implements(sp.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """As `scipy.special.log_softmax`."""
    return nn.log_softmax(x, axis=axis)


# --- names ---------------------------------------------------------------------------------------

FUNCTIONS.update(UFUNCS)
if hasattr(sp, "softplus"):
    FUNCTIONS[sp.softplus] = softplus


__getattr__, __dir__ = the_rest_of(sp, globals(), relayed)
