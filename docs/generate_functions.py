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
from cadiff.operations.dispatch import FUNCTIONS, PLAIN
from cadiff.scipy import stats

PAGE = Path(__file__).with_name("functions.md")

HEAD = """\
# The functions of NumPy and SciPy

Generated from the registry by `python docs/generate_functions.py`. Numbers with derivatives go
into all of these from `cadiff.numpy` and `cadiff.scipy`. Called by their own names, NumPy's
functions take them as well, and the ufuncs of `scipy.special`; what is a Python function of SciPy
raises: `logsumexp`, `log_softmax`, `polygamma`, `zeta` and `lambertw`, nearly all of
`scipy.linalg` and `scipy.stats`. Given plain numbers, they are NumPy's and SciPy's own. Any other
function raises an error when given a number that carries a derivative. NumPy's ufuncs are rows of
the [table of operations](operations.md); they have `reduce`, `accumulate`, `reduceat`, `outer`,
`at`.

Of all functions: numbers are float64, so `dtype=` may name floats only; there is no `out=` (assign
to an array made by `cadiff.numpy.zeros`); `where=` and `initial=` work. What looks at values
(order, masks, indices, the interval of a table) chooses as NumPy does, and the derivative follows
the choice.
"""

CONVENTIONS = """\
## Conventions

| where | derivative |
|---|---|
| `max`, `min`, `nanmax`, `nanmin`, `ptp`, `maximum.accumulate`: elements that tie | equal shares |
| `clip` at a bound | 1 |
| `prod`, `cumprod` with zeros | exact, to every order |
| `sort`, `partition`, `median`, `quantile`: equal elements | that of the element chosen |
| `median` of an even number | one half for each of the two in the middle |
| `std` of equal elements | 0 |
| `interp` at a point of the table | the slope to its right; at the last point to its left |
| `interp` outside of the table | 0, unless `left` or `right` vary |
| `round`, `fix` | 0 |
| `unwrap` | that of the phase; jumps are whole periods |
| nan in the `nan...` functions | 0 |
"""

# Older names of functions, which newer versions of NumPy lack.
FORMER_NAMES = {"trapz", "row_stack", "in1d"}


def enter_rooms() -> None:
    """Import every room in which functions are registered."""
    for room in pkgutil.walk_packages(cadiff.__path__, "cadiff."):
        if room.name.startswith(("cadiff.numpy", "cadiff.scipy")):
            importlib.import_module(room.name)


def home(original: Any) -> str:
    """The public module of a function."""
    if isinstance(original, np.ufunc):
        return "numpy" if getattr(np, original.__name__, None) is original else "scipy.special"
    parts = str(original.__module__).split(".")
    return ".".join(takewhile(lambda part: not part.startswith("_"), parts))


def remark(original: Any) -> str:
    """The first line of what the package says about its function."""
    text = FUNCTIONS[original].__doc__ or ""
    return " ".join(text.strip().partition("\n\n")[0].split())


def lines_of(module: str, originals: list[Any]) -> Iterator[str]:
    yield f"## `{module}`\n\n"
    yield "| function | |\n|---|---|\n"
    for original in sorted(originals, key=lambda f: str(f.__name__).lower()):
        yield f"| `{original.__name__}` | {remark(original)} |\n"
    yield "\n"


def distributions() -> Iterator[str]:
    """What has derivatives of each distribution: public methods of its class."""
    yield "## `scipy.stats`\n\n"
    yield "By argument and parameters, of frozen distributions too.\n\n"
    yield "| distribution | methods with derivatives |\n|---|---|\n"
    for name, distribution in sorted(vars(stats).items()):
        if isinstance(distribution, (stats.Distribution, stats.Multivariate)):
            found = inspect.getmembers(type(distribution), inspect.isfunction)
            methods = [f"`{method}`" for method, _ in found if not method.startswith("_")]
            yield f"| `{name}` | {', '.join(methods)} |\n"
    yield "\n"


def page() -> str:
    """The text of the page."""
    enter_rooms()
    modules: dict[str, list[Any]] = {}
    for original in FUNCTIONS:
        if original not in PLAIN and original.__name__ not in FORMER_NAMES:
            modules.setdefault(home(original), []).append(original)
    parts = [HEAD, "\n", CONVENTIONS, "\n"]
    for module in sorted(modules):
        parts += lines_of(module, modules[module])
    parts += distributions()
    plain = sorted({f"`{f.__name__}`" for f in PLAIN})
    parts += ["## Answered from values\n\nTheir results have no derivatives.\n\n"]
    parts += [", ".join(plain), ".\n"]
    made = [f"`{name}`" for name in _creation.__all__ if not name.endswith("_")]
    parts += [
        "\n## Arrays that numbers can be assigned to\n\n",
        "If of floats, what these make in `cadiff.numpy`: ",
        ", ".join(made),
        ".\n",
    ]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}: {len(FUNCTIONS)} functions, {len(_table.__all__)} operations")
