"""Write `docs/functions.md`: the functions of NumPy and SciPy that the package knows.

    python docs/generate_functions.py

The list is that of the registry, which NumPy's dispatch and the namespaces use. Functions that a
version of NumPy lacks are missing from a list made with that version; make it with the newest.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

import cadiff
from cadiff.numpy import _creation
from cadiff.operations import table as _table
from cadiff.operations.complexes import COMPLEX, ELEMENTWISE
from cadiff.operations.dispatch import FUNCTIONS, PLAIN
from cadiff.scipy import stats

PAGE = Path(__file__).with_name("functions.md")

HEAD = """\
# The functions of NumPy and SciPy

This page is generated from the registry by `python docs/generate_functions.py`.

All functions below accept numbers with derivatives when they are taken from `cadiff.numpy` or
`cadiff.scipy`. NumPy's own functions accept them too, and so do the ufuncs of `scipy.special`; but
those functions of SciPy that are written in Python raise: `logsumexp`, `log_softmax`, `polygamma`,
`zeta`, `lambertw`, and nearly all of `scipy.linalg` and `scipy.stats`. The transforms of
`scipy.fft` take them once `cadiff.scipy.fft` is imported. Plain numbers go to NumPy's and SciPy's
own functions. A function that is not listed raises an error when it is given a number
that carries a derivative. NumPy's ufuncs are rows of the [table of operations](operations.md), and
have `reduce`, `accumulate`, `reduceat`, `outer` and `at`.

In all functions numbers are float64 or float32, so `dtype=` may name floats only. There is no
`out=`: assign to an array made by `cadiff.numpy.zeros`. `where=` and `initial=` work. Functions
that look at values (to order or select elements, or to find the interval of a table) choose as
NumPy does, and the derivative is that of the choice. Where nothing is said of a function,
nothing is special: arguments that are numbers may carry derivatives, those that are indices and
sizes have none.
"""

CONVENTIONS = """\
## Conventions

| where | derivative |
|---|---|
| `max`, `min`, `nanmax`, `nanmin`, `ptp`, `maximum.accumulate` at ties | shared equally |
| `maximum.at`, `minimum.at`, `fmax.at`, `fmin.at` at ties | shared equally |
| `clip` at a bound | 1 |
| `prod`, `cumprod` with zeros | exact, to every order |
| `sort`, `partition`, `median`, `quantile` of equal elements | that of the element chosen |
| `median` of an even number of elements | one half for each of the two in the middle |
| `std` of equal elements | 0 |
| `interp` at a point of the table | the slope to its right; at the last point, to its left |
| `interp` outside the table | 0, unless `left` or `right` carries a derivative |
| `round`, `fix` | 0 |
| `unwrap` | that of the phase; jumps are whole periods, hence constants |
| nan elements in the `nan...` functions | 0 |
| `abs(z)**2`, `hypot(a, b)**2`, `norm(v)**2` where the argument is exactly 0 | 0, and so is \
the second derivative, since the kink comes first: write `z.real**2 + z.imag**2`, \
`a**2 + b**2`, `v @ v` |

## In compiled programs

Programs replay all functions but those below, for which f is run eagerly, with a warning. The
shapes of their results, or what they choose, follow from values in ways that no guard tells:
`isin`, `linalg.cond` but for the 2-norm, `svd` of a hermitian matrix. `scipy.sparse.linalg.svds`
draws random numbers, and a matrix in the format "dok" is a dict that SciPy changes.

## Sparse matrices, and other libraries

Matrices of `scipy.sparse` take numbers with derivatives as they stand, in all operators. Matrices
that are made of such numbers come from `cadiff.scipy.sparse`, and gradients by their entries are
as sparse as they are:

```python
import numpy as np

import cadiff
from cadiff.scipy import sparse

A = sparse.eye_array(4, format="csr")
assert np.allclose(cadiff.grad(lambda x: np.sum((A @ x) ** 2))(np.ones(4)), 2.0)


def energy(k):
    main, off = k[1:] + k[:-1], -k[1:-1]
    K = sparse.diags_array([main, off, off], offsets=[0, 1, -1], format="csc")
    return np.sum(sparse.linalg.spsolve(K, np.ones(4)))


assert cadiff.grad(energy)(np.ones(5)).shape == (5,)
```

Constructors return SciPy's own matrices if no argument carries a derivative. A matrix of numbers
is a container: as an argument of a differentiated function it has a sparse gradient.

`scipy.ndimage` and filters of `scipy.signal` take no numbers with derivatives, and raise. What is
linear is a primitive in three lines:

```python
import numpy as np
import scipy.sparse

import cadiff


def product(A):
    forward, backward = cadiff.primitive(lambda x: A @ x), cadiff.primitive(lambda g: A.T @ g)
    forward.defvjp(lambda ans, x: backward)
    backward.defvjp(lambda ans, g: forward)
    forward.defpattern(A)
    return forward


A = scipy.sparse.diags_array([np.ones(4), np.full(3, -1.0)], offsets=[0, 1])
times_A = product(A)
gradient = cadiff.grad(lambda x: np.sum(times_A(x) ** 2))(np.arange(4.0))
assert np.allclose(gradient, 2.0 * A.T @ (A @ np.arange(4.0)))
```
"""

LIMITS = """\
## Limits of accuracy

Values and first and second derivatives of the functions of `scipy.special` and `scipy.stats` are
right to nine digits, beside what rounding of the arguments does to them; where SciPy's values are
not, they are the package's own. There are limits.

| where | what |
|---|---|
| derivatives below 1e-290 or above 1e290 | a factor may underflow or overflow first |
| `logpdf`, `logcdf`, `logsf`, derivatives by x or loc and then by scale, where these are all \
but separate, as far out on a tail and near 0 | right to 1e-12 of the first derivative over the \
scale (but `cauchy`) |
| `t` of one degree of freedom, second derivatives of `pdf`, `cdf`, `sf` by the scale, beyond z \
= 1000 | right to 1e-16 z² of themselves; `cauchy` is the same and has them all |
| `hyp2f1`, z < -1, b - a within 1e-3 of a whole number | SciPy's values, seven digits |
| `hyp1f1`, a > 5000, -1 ≤ x < -5 / a | nan |
| `hyp0f1`, v > 100, z < -4 v | SciPy's values, or nan |
| `betaincinv`, `betainccinv` of probabilities below 1e-100 | SciPy's values, seven digits or nan |
| `gdtr`, `gdtrc` where a x underflows, `inv_boxcox` where λ y overflows | infinite |
| `fdtr`, `fdtrc` of more than 1e60 degrees of freedom | the limit |
| densities of `t`, twice by df < 1e-6 | digits are lost like 1e-16 / df |
| moments, by `mean`, `var`, `std` and `stats`, where SciPy has them from differences that all \
but cancel, as of `bradford` next to c = 0 and of those about the mean of `chi` of a large df, of \
`burr` and `burr12` of a large c | SciPy's values; these and derivatives lose digits, in the end \
all of them |
| Bessel functions of arguments beyond 1e8 | the phase is rounded, beyond 1e16 away |
| `beta`, `binom`, `poch` of arguments beyond 1e9 | SciPy's values |
| `dirichlet.pdf` by an alpha of 1 at an entry of 0 | the density jumps; 0 |
"""

# Older names of functions, which newer versions of NumPy lack.
FORMER_NAMES = {"trapz", "row_stack", "in1d"}


def name_of(original: Any) -> str:
    """What a function is called; some of older versions of SciPy have no name."""
    return getattr(original, "__name__", "")


def import_modules() -> None:
    """Import every module in which functions are registered."""
    for module in pkgutil.walk_packages(cadiff.__path__, "cadiff."):
        if module.name.startswith(("cadiff.numpy", "cadiff.scipy")):
            importlib.import_module(module.name)


def home(original: Any) -> str:
    """The public module of a function."""
    if isinstance(original, np.ufunc):
        return "numpy" if getattr(np, original.__name__, None) is original else "scipy.special"
    parts = str(original.__module__).split(".")
    return ".".join(takewhile(lambda part: not part.startswith("_"), parts))


def remark(original: Any) -> str:
    """The first line of what the package says about its function; nothing if that is NumPy's."""
    text = FUNCTIONS[original].__doc__ or ""
    if text == original.__doc__:
        return ""
    return " ".join(text.strip().partition("\n\n")[0].split())


def lines_of(module: str, originals: list[Any]) -> Iterator[str]:
    yield f"## `{module}`\n\n"
    yield "| function | |\n|---|---|\n"
    for original in sorted(originals, key=lambda f: str(f.__name__).lower()):
        yield f"| `{original.__name__}` | {remark(original)} |\n".replace("|  |", "| |")
    yield "\n"


def distributions() -> Iterator[str]:
    """What has derivatives of each distribution: public methods of its class."""
    yield "## `scipy.stats`\n\n"
    yield "With respect to the argument and the parameters; frozen distributions included.\n\n"
    yield "| distribution | methods with derivatives |\n|---|---|\n"
    for name, distribution in sorted(vars(stats).items()):
        if isinstance(distribution, stats.Distribution):
            found = inspect.getmembers(type(distribution), inspect.isfunction)
            methods = [f"`{method}`" for method, _ in found if not method.startswith("_")]
            yield f"| `{name}` | {', '.join(methods)} |\n"
    yield "\n"


def complex_functions() -> Iterator[str]:
    """What takes complex numbers with derivatives."""
    yield "\n## Complex numbers\n\nThese functions take complex numbers with derivatives, too.\n\n"
    elementwise = sorted(f"`{name}`" for name in ELEMENTWISE if not name.startswith("_"))
    yield f"* Element by element: {', '.join(elementwise)}\n"
    modules: dict[str, set[str]] = {}
    for original in COMPLEX:
        if name_of(original):
            modules.setdefault(home(original), set()).add(f"`{name_of(original)}`")
    for module, names in sorted(modules.items()):
        yield f"* `{module}`: {', '.join(sorted(names))}\n"


def page() -> str:
    """The text of the page."""
    import_modules()
    modules: dict[str, list[Any]] = {}
    for original in FUNCTIONS:
        if original not in PLAIN and name_of(original) not in FORMER_NAMES | {""}:
            modules.setdefault(home(original), []).append(original)
    parts = [HEAD, "\n", CONVENTIONS, "\n", LIMITS, "\n"]
    for module in sorted(modules):
        parts += lines_of(module, modules[module])
    parts += distributions()
    plain = sorted({f"`{name_of(f)}`" for f in PLAIN if name_of(f)})
    parts += ["## Answered from values\n\nThe results of these have no derivatives.\n\n"]
    parts += [", ".join(plain), ".\n"]
    made = {*_creation.MADE, *(original.__name__ for original in _creation.OPENED)}
    of_lists = {original.__name__ for original in _creation.OPENED_LISTS}
    parts += [
        "\n## Arrays that numbers can be assigned to\n\n",
        "Arrays of floats that these names of `cadiff.numpy` make inside a differentiation: ",
        ", ".join(f"`{name}`" for name in sorted(made)),
        "; and of lists: ",
        ", ".join(f"`{name}`" for name in sorted(of_lists)),
        ". Arrays of integers and bools are NumPy's own, and so is what NumPy computes of plain\n",
        "arrays, such as `sqrt(a)`.\n\n",
        "Until a number with a derivative is assigned to it, such an array holds constants.\n",
        "These become plain where Python or a library asks for that: `math.exp(y[0])`,\n",
        "`int(y[0])`, `scipy.interpolate.CubicSpline(y, z)`, `y.astype(int)`, `histogram(y)`.\n",
        "They do so as copies, which nothing is written into. Code that takes nothing but an\n",
        "ndarray, or uses numbers as keys, is given `cadiff.value(y)`.\n",
    ]
    parts += complex_functions()
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}: {len(FUNCTIONS)} functions, {len(_table.__all__)} operations")
