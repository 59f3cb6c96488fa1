"""Formulas as they stand in a table: expressions, with `a if condition else b` where they change.

A condition is asked of plain values, and for each element. Most often it holds nowhere, or
everywhere, and then one of the two alternatives is not computed.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, reduce
from inspect import Parameter, Signature, signature
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn

import numpy as np

from ..binding import Dual, Var, carries
from ..operations import table
from ..operations.guards import NoDerivativeError, held, valued
from ..operations.primitives import primitive
from ..operations.table import where
from ._differences import Differences


def choose(condition: Any, special: Any, usual: Any) -> Any:
    """`special()` where the condition holds, a plain bool array, and `usual()` elsewhere."""
    if not np.any(condition):
        return usual()
    if np.all(condition):
        return special()
    return where(condition, special(), usual())


def real(x: Any) -> Any:
    """A parameter as formulas take it, in double precision: of whole numbers 1 / 3 may be 0."""
    return x if isinstance(x, (float, Var, Dual)) else np.asarray(x, np.float64)[()]


def whole(x: Any) -> Any:
    """A constant as formulas take it: of few bits or without a sign, n - 1 may be no number."""
    x = held(x) if isinstance(x, (Var, Dual)) else x
    return np.asarray(x, np.int64)[()] if np.asarray(x).dtype.kind in "bui" else x


def negated(condition: Any) -> Any:
    """The opposite of a condition, which is a Python bool where a program asks one number."""
    return not condition if isinstance(condition, bool) else ~condition


CONSTANT = "const "  # in front of a parameter by which there is no derivative

# Distances to both sides, and weights of what is there in the mean, for the value between.
SIDES = {
    sign * k: (-1.0) ** (k + 1) * math.comb(10, 5 + k) / math.comb(10, 5)
    for k in range(1, 6)
    for sign in (-1, 1)
}


def beside(parameter: str, *special: float | str) -> Any:
    """A kernel for a function that has formulas of its own where a parameter is special.

    The parameter does not occur in them, and next to its value the others cancel. Derivatives
    there are those of the mean of both sides, which is right up to the tenth power of a distance.

    Parameters
    ----------
    parameter : str
        Its name.
    *special : float or str
        Its values there; or names of other parameters, that it is equal to there.
    """

    def kernel(mirror: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        named = signature(mirror).bind(*args, **kwargs).arguments
        result = mirror(*args, **kwargs)
        x: Any = named.get(parameter)
        for value in special if carries(x) else ():
            place = held(named[value]) if isinstance(value, str) else value
            step = 1e-2 * (abs(place) or 1.0)
            is_near = np.less(abs(held(x) - place), 0.5 * step)
            if np.any(is_near):
                at = (x + step * k for k in SIDES)
                result = _between(is_near, result, [mirror(**{**named, parameter: y}) for y in at])
        return result

    return kernel


def _between(is_near: Any, result: Any, sides: Iterable[Any]) -> Any:
    """What was found, where it is near with the derivatives of the mean of both sides."""
    if isinstance(result, tuple):
        parts = zip(result, zip(*sides, strict=True), strict=True)
        each = [_between(is_near, x, x_sides) for x, x_sides in parts]
        return type(result)(*each) if hasattr(result, "_fields") else tuple(each)
    mean = sum(weight * side for weight, side in zip(SIDES.values(), sides, strict=True))
    return where(is_near, valued(mean, result), result)


class Formula:
    """A function of named parameters that an expression states.

    Lines "where name = expression" may follow, computed once, beforehand. All other names are
    looked up in some modules, at last in the formula's own, when it is first computed.
    """

    is_constant = True  # no numbers of a user's are to be looked for in the modules that it names

    def __init__(self, parameters: str, text: str, *names: Mapping[str, Any]) -> None:
        self._parameters, self._text, self._names = parameters, text, names

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        text, *others = self._text.split("\nwhere ")
        parts = [other.split(" = ", 1) for other in others]
        scope = [*self._parameters.split(", "), *(name for name, _ in parts)]
        body = self._with_choices(text, scope)
        for name, part in reversed(parts):
            scope.remove(name)
            body = ast.Call(_function(name, body), [self._with_choices(part, scope)], [])
        tree = ast.fix_missing_locations(ast.Expression(_function(self._parameters, body)))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names = {name: some[name] for some in self._names for name in used & some.keys()}
        names["__name__"] = __name__  # by which programs know what belongs to the package
        function: Callable[..., Any] = eval(compile(tree, __file__, "eval"), names)
        return function

    def _with_choices(self, text: str, scope: list[str]) -> ast.expr:
        found: ast.expr = ast.parse(f"({text})", mode="eval").body
        return _Choices(scope).visit(found)  # type: ignore[no-any-return]


def formulas_of(names: dict[str, Any], *modules: ModuleType) -> Callable[[str, str], Formula]:
    """What makes formulas, of parameters and an expression, for a module of these names.

    They may use the operations of the table, and what is in further modules.
    """
    known = (vars(table), globals(), *map(vars, modules), names)
    return lambda parameters, text: Formula(parameters, text, *known)


def rows_of(text: str) -> Iterator[tuple[str, str, str | dict[str, str]]]:
    """Name, parameters, and what follows them, of the rows of a table, each of one name or more.

    That is a formula behind "=", or one for each of some parameters, behind its name and a colon.
    What is indented continues a row; rows may be apart, with comments between them. In front of a
    parameter by which there is no derivative stands "const".
    """
    for row in re.findall(r"^\w.*(?:\n .*)*", text, re.MULTILINE):
        head, _, rest = re.sub(r"\n +", "\n", row).partition(")")
        names, _, parameters = head.partition("(")
        for name in names.split():
            if rest.startswith(" ="):
                yield name, parameters, rest[2:]
            else:
                keys = "|".join(parameters.replace(CONSTANT, "").split(", "))
                parts = re.split(rf"\s({keys}): ", rest)
                yield name, parameters, dict(zip(parts[1::2], parts[2::2], strict=True))


def refusal(name: str, parameter: str) -> Callable[..., Any]:
    """A rule for a parameter by which there is no derivative."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NoDerivativeError(
            f"scipy.special.{name} has no known derivative by its argument {parameter!r}: "
            f"write cadiff.value({parameter}) if it is a constant"
        )

    refuse.refuse = refuse  # type: ignore[attr-defined]  # what a primitive asks at the call
    return refuse


class Tabulated(primitive):
    """A primitive whose partials are formulas of its value, `ans`, and of its parameters.

    Programs call a ufunc in its place, if there is one. By a parameter without a formula the
    derivative is one by differences over a width, a formula, too, or "over width" stands for the
    partial; "above low" or "between low and high" behind it say where the domain begins and ends,
    and "even" that the function is even in it.
    A parameter has one of these, or it is "const" and nothing is differentiated by it. Errors name
    `scipys`, the function of SciPy's that it belongs to, if it is none itself.
    """

    def __init__(
        self,
        name: str,
        parameters: str,
        function: Callable[..., Any],
        partials: Mapping[str, str],
        formula: Callable[[str, str], Formula],
        ufunc: np.ufunc | None = None,
        widths: Mapping[str, str] = MappingProxyType({}),
        scipys: str = "",
    ) -> None:
        names = parameters.replace(CONSTANT, "").split(", ")
        over = {k: text[5:] for k, text in partials.items() if text.startswith("over ")}
        self._parameters, self._widths, self._formula = names, {**widths, **over}, formula
        self._kinds = [
            whole if each.startswith(CONSTANT) else real for each in parameters.split(", ")
        ]
        stated = {*partials, *widths}
        if stated != {each for each, kind in zip(names, self._kinds, strict=True) if kind is real}:
            raise TypeError(f"{name}({parameters}) has formulas for {', '.join(sorted(stated))}")
        function.__name__ = function.__qualname__ = name
        function.__signature__ = Signature(  # type: ignore[attr-defined]
            [Parameter(each, Parameter.POSITIONAL_ONLY) for each in names]
        )
        super().__init__(function)
        self.called, self.loop = name.lstrip("_"), ufunc
        self._scipys = scipys or self.called
        self._rules = [self._rule(each, partials.get(each, "")) for each in names]
        self.defpartials(*self._rules)

    def _rule(self, parameter: str, text: str) -> Callable[..., Any]:
        """The partial by a parameter, of arguments as formulas take them."""
        if text and not text.startswith("over "):
            partial = self._formula(f"ans, {', '.join(self._parameters)}", text)
            return lambda ans, *args: partial(ans, *self._taken_by_formulas(args))
        if parameter in self._widths:
            return lambda ans, *args: self.by(parameter, *args)
        return refusal(self._scipys, parameter)

    def _taken_by_formulas(self, args: Iterable[Any]) -> Iterator[Any]:
        return map(lambda kind, x: kind(x), self._kinds, args)

    @cached_property
    def differences(self) -> Differences:
        """Its derivatives by the parameters with widths, and by all others."""
        parameters, widths = ", ".join(self._parameters), {}
        for each, text in self._widths.items():
            width, even, _ = text.partition(" even")
            width, *ends = re.split(" above | between | and ", width)
            low, high = map(float, [*ends, "-inf", "inf"] if not ends else [*ends, "inf"][:2])
            k = self._parameters.index(each)
            widths[k] = self._formula(parameters, width), low, high, bool(even)
        is_one = self.called in ("hyp0f1", "hyp1f1", "hyp2f1")
        return Differences(self, len(self._parameters), widths, is_one)

    def slope(self, k: int, *args: Any) -> Any:
        """The derivative by the argument of a position, by whatever rule."""
        args = tuple(self._taken_by_formulas(args))
        return self._rules[k](self(*args), *args)

    def by(self, parameter: str, *args: Any) -> Any:
        """The derivative by a parameter with a width."""
        orders = tuple(int(each == parameter) for each in self._parameters)
        return self.differences(*self._taken_by_formulas(args), orders=orders)


class _Choices(ast.NodeTransformer):
    """Conditional expressions as calls of `choose`, whose conditions are of plain values."""

    def __init__(self, parameters: list[str]) -> None:
        self._parameters = list(parameters)
        self._is_in_condition = False

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self._is_in_condition = True
        condition = self.visit(node.test)
        self._is_in_condition = False
        both = (_function("", self.visit(x)) for x in (node.body, node.orelse))
        return _call("choose", condition, *both)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        is_read = self._is_in_condition and node.id in self._parameters
        return _call("held", node) if is_read else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        sign = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        return _folded(sign, map(self.visit, node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        is_opposite = isinstance(node.op, (ast.Not, ast.Invert))
        operand = self.visit(node.operand)
        return _call("negated", operand) if is_opposite else ast.UnaryOp(node.op, operand)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        items = [self.visit(item) for item in (node.left, *node.comparators)]
        parts = map(lambda x, sign, y: ast.Compare(x, [sign], [y]), items, node.ops, items[1:])
        return _folded(ast.BitAnd(), parts)


def _folded(sign: ast.operator, parts: Iterable[ast.expr]) -> ast.expr:
    return reduce(lambda x, y: ast.BinOp(x, sign, y), parts)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def _function(parameters: str, body: ast.expr) -> ast.expr:
    function = ast.parse(f"lambda {parameters}: 0", mode="eval").body
    assert isinstance(function, ast.Lambda)
    function.body = body
    return function
