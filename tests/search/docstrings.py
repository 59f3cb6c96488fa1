"""The examples of SciPy's and NumPy's own docstrings, with numbers that move.

An example is read from the installed package and run statement by statement. Arrays of floats that
a statement makes, and some floats and lists of floats that are written into calls, get a part that
moves. What is shown at the prompt, and what is assigned, are the results. Statements that the
original does not run here (pictures, files) are left out, as are those that change nothing twice.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import linecache
import types
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .draws import Rng
from .errors import TooLongError
from .names import MODULES, is_a_case, within
from .probes import Probe, parts
from .worlds import MIRRORED, PLAIN, World, resolve

PARSER = doctest.DocTestParser()
OUT_OF_PLACE = (
    "matplotlib",
    "open(",
    "plt.",
    "rvs(",
    "show_",
    "print(",
    "timeit",
    "%",
    "overwrite",
    "testing.assert_",
    "empty(",  # what memory holds
    "empty_like(",
    ".base is",  # which arrays share it
)
SHOWN = 12  # results of an example that are looked at


def statements_of(doc: str) -> list[str]:
    try:
        return [example.source for example in PARSER.get_examples(doc)]
    except ValueError:
        return []


Directions = dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Moved:
    """How floats of an example move: as far as each is large where the original runs first.

    Directions are found by places, in any world; those of new places are drawn if `is_first`.
    """

    seed: int
    s: Any
    t: Any
    directions: Directions
    is_first: bool

    def array(self, place: str, x: Any) -> Any:
        """An array of floats, a part of which moves; other things as they are."""
        if self.is_first and is_array_of_floats(x):
            rng = np.random.default_rng([zlib.crc32(place.encode()), self.seed])
            size = np.where(np.isfinite(x), np.abs(x), 0.0)
            scale = np.where(size > 0.0, 0.3 * size, 0.01 * np.max(size))  # a 1 beside 1e14 stays
            a, b = (scale * rng.uniform(-1, 1, np.shape(x)) for _ in range(2))
            self.directions[place] = a, b
        if place not in self.directions:
            return x
        a, b = self.directions[place]
        return x + self.s * a + self.t * b

    def number(self, place: int, x: float) -> Any:
        rng = np.random.default_rng([place, self.seed])
        if rng.random() < 0.6:
            return x
        a, b = rng.uniform(-0.3, 0.3, 2) * (abs(x) or 1.0)
        return x + self.s * a + self.t * b


def is_array_of_floats(x: Any) -> bool:
    is_other = isinstance(x, (np.matrix, np.ma.MaskedArray))  # which the package refuses
    is_array = isinstance(x, (np.ndarray, np.floating)) and not is_other
    return is_array and x.dtype == float and 0 < x.size <= 2000


class Floats(ast.NodeTransformer):
    """Has floats among positional arguments of calls move, and unseeded generators be seeded."""

    def __init__(self) -> None:
        self.count = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.func = self.visit(node.func)
        node.args = [self.moved(self.visit(arg)) for arg in node.args]
        if ast.unparse(node.func).endswith("default_rng") and not node.args and not node.keywords:
            node.args = [ast.Constant(1)]
        return node

    def moved(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            self.count += 1
            place = ast.Constant(self.count)
            return ast.Call(ast.Name("_moved", ast.Load()), [place, node], [])
        if isinstance(node, (ast.List, ast.Tuple)):
            node.elts = [self.moved(item) for item in node.elts]
        return node


def targets_of(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name)]


class Importer:
    """The import statement of an example: SciPy and NumPy are those of a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(
        self, name: str, scope: Any = None, local: Any = None, names: Any = (), level: int = 0
    ) -> Any:
        if name.partition(".")[0] not in MIRRORED or not self.world.is_ours:
            return __import__(name, scope, local, names, level)
        found = self.world.find(name)
        return found if names else self.world.find(name.partition(".")[0])


@dataclass(frozen=True)
class Example:
    """Statements that the original runs, as a function of a world, s and t."""

    name: str
    statements: tuple[str, ...]
    seed: int
    directions: Directions = field(default_factory=dict)
    place: list[int] = field(default_factory=lambda: [0])  # of the statement that is run

    def run(self, world: World, s: Any, t: Any) -> dict[str, Any]:
        return dict(self.steps(world, s, t))

    def steps(self, world: World, s: Any, t: Any) -> Iterator[tuple[str, Any]]:
        """What is shown and what is assigned, by what it is called."""
        moved = Moved(self.seed, s, t, self.directions, not self.directions)
        builtins = {**vars(__import__("builtins")), "__import__": Importer(world)}
        scope: dict[str, Any] = {"__builtins__": builtins, "__name__": "example"}
        scope |= {"np": world.numpy, "_moved": moved.number}
        np.random.seed(1)
        floats = Floats()
        for number, text in enumerate(self.statements):
            self.place[0] = number
            file = f"<{self.name}[{number}]>"
            linecache.cache[file] = len(text), None, text.splitlines(True), file  # errors read it
            tree = ast.fix_missing_locations(floats.visit(ast.parse(text)))
            for node in tree.body:
                with contextlib.redirect_stdout(io.StringIO()):
                    if isinstance(node, ast.Expr):
                        code = compile(ast.Expression(node.value), file, "eval")
                        yield text.strip(), eval(code, scope)
                        continue
                    exec(compile(ast.Module([node], []), file, "exec"), scope)
                for name in targets_of(node):
                    value = scope.get(name)
                    scope[name] = moved.array(f"{number} {name}", value)
                    yield name, scope[name]


def that_run(name: str, statements: list[str], seed: int) -> Example:
    """The example without what the original does not run here."""
    kept: list[str] = []
    for text in statements:
        if any(word in text for word in OUT_OF_PLACE):
            continue
        try:
            ast.parse(text)
        except SyntaxError:
            continue
        kept.append(text)
    while kept:
        example = Example(name, tuple(kept), seed)
        try:
            example.run(PLAIN, 0.0, 0.0)
        except Exception:
            del kept[example.place[0]]
        else:
            break
    return Example(name, tuple(kept), seed)


class Docstring:
    """The examples of one docstring."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.statements = name, statements_of(doc)

    def draw(self, rng: Rng) -> Probe | None:
        seed = int(rng.integers(2**31))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), within(3.0):
                warnings.simplefilter("ignore")
                example = that_run(self.name, self.statements, seed)
        except (Exception, TooLongError):
            return None
        if not example.statements:
            return None

        def call(world: World, s: Any, t: Any) -> Any:
            found = example.run(world, s, t)
            numbers = {k: v for k, v in found.items() if any(True for _ in parts(v))}
            return dict(list(numbers.items())[-SHOWN:])

        probe = Probe(
            "".join(f"\n    {line}" for text in example.statements for line in text.splitlines()),
            call,
        )
        return probe if is_a_case(probe) else None


def subjects() -> list[Docstring]:
    found: dict[str, Docstring] = {}
    for module in MODULES:
        if module.partition(".")[0] not in ("numpy", "scipy"):
            continue
        space = resolve(module)
        for name in sorted(getattr(space, "__all__", None) or dir(space)):
            item = getattr(space, name, None)
            if not callable(item) or isinstance(item, types.ModuleType):
                continue
            try:
                doc = item.__doc__ or ""
            except Exception:
                continue
            if ">>>" in doc and isinstance(doc, str) and doc not in found:
                found[doc] = Docstring(f"{module}.{name}", doc)
    return list(found.values())
