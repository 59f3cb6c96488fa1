"""Small functions, and what is read of each: the same in every version of Python."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType
from typing import Any

from cadiff.binding.bytecode import Kind, steps_of
from cadiff.programs.reads import Computed, Constant, Operand, Reads, last_argument, reads_of

CASES: dict[str, tuple[CodeType, dict[str, Any]]] = {}
TABLE: Any = {}
make: Any = dict
rate: Any = 0.0
total: Any = 0.0


def told(operand: Operand | None) -> str:
    """An operand as it is written below: "rate", "n in cells", "self.a"; "?" for others."""
    if operand is None:
        return "?"
    if operand.where in ("globals", "first"):
        return ".".join(operand.chain if operand.where == "globals" else ("self", *operand.chain))
    return operand.where if operand.where == "results" else f"{'.'.join(operand.chain)} in cells"


def as_told(reads: Reads) -> dict[str, Any]:
    """All that is found but lines and names, as far as there is anything."""
    found: dict[str, Any] = {
        "chains": {told(one) for one in reads.chains},
        "imports": {f"{'.' * x.level}{x.module} {x.name}".strip() for x in reads.imports},
        "changes": set(reads.changes),
        "keeps": reads.may_keep,
        "counted": reads.counted,
        "handed": {told(one) for one in reads.handed if one.where in ("first", "cells")},
        "asks_types": reads.asks_types,
        "types": [told(one) for one in reads.types],
        "asks_attributes": reads.asks_attributes,
        "catches": reads.catches,
        "catches_all": reads.catches_all,
        "asked": [f"{one.what}: {', '.join(map(told, one.operands))}" for one in reads.identities],
        "calls": {told(one) for one in reads.calls},
    }
    for name in ("chains", "handed", "calls"):  # what `super()` does with them depends on versions
        found[name] -= {"__class__ in cells"} | ({"super"} if name == "calls" else set())
    return {name: value for name, value in found.items() if value}


def case(chains: str, **expected: Any) -> Callable[[Any], Any]:
    """A function, and what is read of it beside some chains; texts are names, divided by `;`."""

    def note(f: Any) -> Any:
        wanted = {"chains": chains, **expected}
        for name, value in wanted.items():
            if name in ("chains", "imports", "changes", "handed", "calls"):
                wanted[name] = set(value.split("; ")) if value else set()
        CASES[f.__name__] = (f.__code__, {name: x for name, x in wanted.items() if x})
        return f

    return note


# --- chains of names -----------------------------------------------------------------------------


@case("TABLE.a.b; rate")
def attributes(self: Any, x: Any) -> Any:
    return TABLE.a.b * x + rate


@case("TABLE.get; self.key")
def methods(self: Any, x: Any) -> Any:
    return TABLE.get(self.key, x)


@case("TABLE.of; self", handed="self")
def keywords(self: Any, x: Any) -> Any:
    return TABLE.of(x, out=self)


@case("TABLE.a.b; TABLE.c")
def starred(_: Any, *x: Any, **y: Any) -> Any:
    return TABLE.a.b(*x, **y) + TABLE.c(*x)


@case("make; TABLE.make; self.make", calls="make; TABLE.make; self.make")
def called_with_nothing(self: Any, x: Any) -> Any:
    return make() + TABLE.make() + self.make() + x() + make(x) + self.make(1)


@case("TABLE; rate.a")
def chosen(self: Any, x: Any) -> Any:
    return x((TABLE if x else rate).a, x, x, x)


@case("rate; self.a.b", keeps=True)
def stored(self: Any, x: Any) -> Any:
    self.a.b = x * rate


@case("range; rate; TABLE", asked=["is: ?, TABLE"])
def looped(_: Any, x: Any) -> Any:
    found = 0.0
    for k in range(x):
        while found > rate:
            found = found - 1.0
        found = found + k if x is not TABLE else found
    return f"{found!r:>{x}} {found}"


@case("TABLE.a; self.b")
def matched(self: Any, x: Any) -> Any:
    match x:
        case {"a": a, "b": b, "c": c, "d": d, "e": e}:
            return a + b + c + d + e
        case [first, second, *_] if first > TABLE.a:
            return self.b + second
    return None


@case("print; TABLE; self.a; self.b")
def unpacked(self: Any, x: Any) -> Any:
    a, (b, *c) = x
    print(TABLE, [*c, self.a], {**b}, {self.b: a}, *c, sep="")
    return (d := a) + d if 0.0 < a < 1.0 else ~b


@case("rate", imports=".cfg w; .. cfg; os.path")
def imported_from_here(_: Any, x: Any) -> Any:
    import os.path as path

    from .. import cfg  # type: ignore[attr-defined]
    from .cfg import w  # type: ignore[import-not-found]

    return path, w, cfg, rate


@case("rate", imports="os.path; math; math sin; json dumps")
def imported(_: Any, x: Any) -> Any:
    import math
    import os.path
    from json import dumps
    from math import sin

    return math, os, sin(x) * rate, dumps


# --- functions within ----------------------------------------------------------------------------


def enclosed(scale: Any, step: Any) -> Any:
    @case(
        "scale in cells; scale.part in cells; step in cells",
        handed="scale in cells; step in cells",
        calls="step in cells",
    )
    def of_cells(self: Any) -> Any:
        return scale * scale.part + step()

    return of_cells


enclosed(1.0, 2.0)


@case("self.a; self.b; TABLE")
def closed_over(self: Any, x: Any) -> Any:
    return (lambda y: self.a + y * TABLE)(self.b)


@case("self.a; TABLE.b; range")
def comprehended(self: Any, x: Any) -> Any:
    return [self.a * TABLE.b for _ in range(x)]


@case("self", handed="self")
def handed_within(self: Any, x: Any) -> Any:
    return lambda y: x(self, y)


@case("self.a; self", handed="self")
def handed_after_all(self: Any, x: Any) -> Any:
    return self.a if x else self


@case("self", handed="self")
def handed_if_nothing_else(self: Any, x: Any) -> Any:
    return x or self


class Base:
    def f(self, x: Any) -> Any:
        return x


class Derived(Base):
    @case("super; self", handed="self")
    def f(self, x: Any) -> Any:
        return super().f(x)


@case("object; rate; __name__; self.a", keeps=True)
def of_class(self: Any, x: Any) -> Any:
    class Local(object):  # noqa: UP004
        n = rate

        def of(self, y: Any) -> Any:
            return y

    return Local().of(self.a)


# --- what is changed, kept and counted -----------------------------------------------------------


@case("self", counted="n")
def counts(self: Any, x: Any) -> Any:
    self.n += 1
    return x


@case("self.n", counted="n")
def counts_in_full(self: Any, x: Any) -> Any:
    self.n = self.n + 1
    return x


@case("total", changes="total", counted="total")
def counts_globally(_: Any, x: Any) -> Any:
    global total
    total += 1
    return x


def counter(n: Any) -> Any:
    @case("n in cells", changes="n", counted="n", handed="n in cells")
    def counts_in_a_cell(_: Any, x: Any) -> Any:
        nonlocal n
        n -= 2
        return x

    return counts_in_a_cell


counter(0)


@case("TABLE", changes="TABLE")
def counts_items(_: Any, x: Any) -> Any:
    TABLE["n"] += 1
    return x


@case("self; self.lock", counted="n")
def counts_in_time(self: Any, x: Any) -> Any:
    with self.lock:
        self.n += 1
    return x


@case("self; TABLE", changes="TABLE")
def counts_now_and_then(self: Any, x: Any) -> Any:
    if x > 0.0:
        self.n += 1
    TABLE[0] = None
    return x


@case("self")
def counts_when_it_is_asked(self: Any, x: Any) -> Any:
    self.n += 1
    yield x


@case("total; TABLE", changes="total; TABLE", keeps=True)
def kept_at_a_constant(_: Any, x: Any) -> Any:
    global total
    total = 0
    TABLE[0] = x


@case("total", changes="total", keeps=True)
def kept_for_another(_: Any, x: Any) -> Any:
    global total
    total = x * 2


@case("self.n", keeps=True)
def kept_of_another(self: Any, x: Any) -> Any:
    self.n = x.n + 1


@case("TABLE", changes="TABLE", keeps=True)
def kept_in_parts(_: Any, x: Any) -> Any:
    TABLE["a"].b["c"] = x


@case("TABLE; rate.a", changes="TABLE; rate", keeps=True)
def kept_in_slices(_: Any, x: Any) -> Any:
    TABLE[1:3] = x
    rate.a[1:3].b = x


@case("TABLE.a; TABLE.b.append; rate", changes="TABLE; rate", keeps=True)
def kept_by_methods(_: Any, x: Any) -> Any:
    TABLE.b.append(x)
    rate["a"].update(x)
    return TABLE.a


@case("TABLE; rate", changes="rate", keeps=True)
def kept_in_what_is_chosen(_: Any, x: Any) -> Any:
    rate[0 if x > TABLE else 1] = x


@case("self.a; self.b", keeps=True)
def kept_together(self: Any, x: Any) -> Any:
    self.a, self.b = x


@case("TABLE; total; self.a; rate", changes="TABLE; total; rate", keeps=True, handed="self")
def deleted(self: Any, x: Any) -> Any:
    global total
    del TABLE["a"], total, self.a, rate[1:2]


@case("")
def kept_by_itself(_: Any, x: Any) -> Any:
    found = 0.0
    found += x
    return found


# --- exceptions ----------------------------------------------------------------------------------


@case("ValueError; TypeError", catches=True)
def caught(_: Any, x: Any) -> Any:
    try:
        return x()
    except (ValueError, TypeError) as error:
        return error


@case("TABLE.Error", catches=True)
def caught_without_a_name(_: Any, x: Any) -> Any:
    try:
        return x()
    except TABLE.Error:
        return 0.0


@case("", catches_all=True)
def caught_whatever_it_is(_: Any, x: Any) -> Any:
    try:
        return x()
    except:  # noqa: E722
        return 0.0


@case("")
def cleared_at_last(_: Any, x: Any) -> Any:
    try:
        return x()
    finally:
        x = None


@case("TABLE.open")
def closed_at_last(_: Any, x: Any) -> Any:
    with TABLE.open(x) as file, x:
        return file.read(x)


@case(
    "KeyError; isinstance",
    catches=True,
    catches_all=True,
    keeps=True,
    asks_types=True,
    imports="math",
)
def does_all_of_it_within(_: Any, x: Any) -> Any:
    def named(y: Any) -> Any:
        import math

        y.kept = x
        try:
            return isinstance(y, math.floating)  # type: ignore[attr-defined]
        except KeyError:
            return math

    def unnamed(y: Any) -> Any:
        try:
            return y()
        except:  # noqa: E722
            return 0.0

    return named, unnamed


# --- questions -----------------------------------------------------------------------------------


@case("type; self", handed="self")
def asks_its_own_type(self: Any, x: Any) -> Any:
    return type(self)(x)


@case("type", asks_types=True)
def asks_a_type(self: Any, x: Any) -> Any:
    return type(x)


@case("type", asks_types=True)
def tells_a_type(self: Any, x: Any) -> Any:
    return f"{type(x)}"


@case("type; TypeError")
def raises_of_a_type(self: Any, x: Any) -> Any:
    if x[0] > 0.5:
        raise TypeError(f"{type(x).__name__} is wrong", type(x))
    assert x[1], f"{type(x)}"


@case("type; make; TypeError", asks_types=True)
def tells_a_type_and_raises(self: Any, x: Any) -> Any:
    make(type(x))
    if x[0] > 0.5:
        raise TypeError


@case("type")
def calls_a_type(self: Any, x: Any) -> Any:
    return type(x)(x[0])


@case("type", asks_types=True)
def calls_a_type_of_types(self: Any, x: Any) -> Any:
    return type(x)(type(x[0]))


@case("type; map", asks_types=True)
def hands_on_a_type(self: Any, x: Any) -> Any:
    return map(type, x)


@case("type; TABLE.a; self.kind; make", types=["TABLE.a", "self.kind", "make"])
def compares_types(self: Any, x: Any) -> Any:
    return [type(x) is not TABLE.a, self.kind is type(x + 1), type(x) == make]  # noqa: E721


@case("type; TABLE", types=["TABLE", "?"])
def compares_types_within(_: Any, x: Any) -> Any:
    return lambda y: (type(y) is TABLE, type(x) is y.a)


@case("type", asks_types=True)
def compares_two_types(self: Any, x: Any) -> Any:
    return type(x) is type(x[0])


@case("type; rate; make", asks_types=True, types=["rate"])
def takes_a_type_or_another(self: Any, x: Any) -> Any:
    return type(x) is rate, make(type(x) if x else rate)


@case("type; rate", asks_types=True, asked=["is: ?, rate"])
def keeps_a_type(self: Any, x: Any) -> Any:
    kind = type(x)
    return kind is rate


@case("type; rate; str", asks_types=True)
def asks_for_one_of_types(self: Any, x: Any) -> Any:
    return type(x) in (rate, str)


@case("hasattr", asks_attributes=True)
def asks_for_an_attribute(self: Any, x: Any) -> Any:
    return hasattr(x, "shape")


@case("TABLE.isscalar", asks_attributes=True)
def asks_for_a_scalar(self: Any, x: Any) -> Any:
    return TABLE.isscalar(x[0])


@case("hasattr; getattr; TABLE; self.a")
def asks_others_for_attributes(self: Any, x: Any) -> Any:
    return hasattr(TABLE, "a"), getattr(self.a, "b", None), getattr(x, "shape")  # noqa: B009


@case("isinstance; int; float", asks_types=True)
def asks_for_floats(_: Any, x: Any) -> Any:
    return isinstance(x, (int, float))


@case("isinstance; TABLE.floating; int", asks_types=True)
def asks_for_some_floats(_: Any, x: Any) -> Any:
    return isinstance(x, int if x else TABLE.floating)


@case("isinstance; int; float")
def asks_for_ints(_: Any, x: Any) -> Any:
    return float(x) if isinstance(x, int) else x


@case("self; TABLE", asked=["is: self, TABLE"], handed="self")
def compares(self: Any, x: Any) -> Any:
    return self is TABLE


@case("self.a.b; make; TABLE.of", asked=["is: self.a.b, results", "is: results, ?"],
      calls="make; TABLE.of")  # fmt: skip
def compares_results(self: Any, x: Any) -> Any:
    return self.a.b is make() or TABLE.of().rest is not x


@case("make; rate; TABLE", asked=["is: ?, TABLE", "is: ?, rate", "is: ?, ?"])
def compares_what_is_computed(_: Any, x: Any) -> Any:
    return make(x) is TABLE, (x if x > 0 else TABLE) is rate, x[0] is (rate or x)


@case("self; self.__class__; TABLE; type; make", handed="self", types=["make"])
def compares_classes(self: Any, x: Any) -> Any:
    return (
        self.__class__ is TABLE, x[0].__class__ is TABLE, type(x) is make, self is None,
        x is not ..., x is True, self is not None and x is None,
    )  # fmt: skip


@case("id; self; self.a; TABLE", asked=["id: self", "id: ?", "id: TABLE", "id: self.a"],
      handed="self")  # fmt: skip
def asks_numbers(self: Any, x: Any) -> Any:
    return id(self), id(x), [2.0, id(TABLE), x], id(self.a) if x else id(x.__class__)


@case("id; self; TABLE.part", asked=["id: self", "id: TABLE.part"], handed="self")
def keeps_numbers(self: Any, x: Any) -> Any:
    found = id(self)
    return [found], id(TABLE.part)


@case("id", asked=["id: ?"])
def hands_it_on(_: Any, x: Any) -> Any:
    return id


@case("id; map", asked=["id: ?"])
def hands_on_numbers(_: Any, x: Any) -> Any:
    return map(id, x)


@case("TABLE; self", asked=["is: self, TABLE", "is: ?, TABLE"], handed="self")
def compares_within(self: Any, x: Any) -> Any:
    return lambda y: (self is TABLE, y is TABLE)


# --- the last argument of a call -----------------------------------------------------------------

GIVEN: dict[str, str] = {
    "f(x, 3)": "3",
    "f(None)": "None",
    "f(seed)": "own seed",
    "f(x).g(seed.a.b)": "own seed.a.b",
    "f(TABLE.a)": "globals TABLE.a",
    "f(self.a)": "first a",
    "f(self)": "first ",
    "f(x, seed=3, other=x)": "own x",
    "f(x, seed=self.n)": "first n",
    "f(seed + 1)": "computed",
    "f(x + seed)": "computed",
    "f(x[0])": "?",
    "f(g(x))": "?",
    "g(f(x if seed else 1), x, x, x, x)": "own x",
    "f()": "?",
    "f(*x)": "?",
}


def last_of(text: str) -> str:
    """What the last call in an expression gets last."""
    names: dict[str, Any] = {}
    exec(f"def f(self, x, seed): return {text}", names)
    code = names["f"].__code__
    calls = [step.offset for step in steps_of(code) if step.kind is Kind.CALL]
    found = last_argument(code, max(calls, default=0))
    if isinstance(found, Constant):
        return str(found.value)
    if isinstance(found, Operand):
        return f"{found.where} {'.'.join(found.chain)}"
    return "computed" if isinstance(found, Computed) else "?"


def grown(code: CodeType) -> tuple[int, int]:
    """By how much the stack grows over all steps of some code, and over all instructions."""
    steps = sum(step.pushes - step.pops + (step.kind is Kind.COPY) for step in steps_of(code))
    return steps, sum(map(effect_of, dis.get_instructions(code)))


def effect_of(one: dis.Instruction) -> int:
    """By how much the stack grows; from 3.14 on, what is returned counts elsewhere."""
    if one.opname == "RETURN_VALUE":
        return -1
    given = one.arg if one.opcode >= dis.HAVE_ARGUMENT else None
    return dis.stack_effect(one.opcode, given, jump=False)


def mistakes() -> list[str]:
    """What is read otherwise than it says here."""
    read = ((name, as_told(reads_of(code)), wanted) for name, (code, wanted) in CASES.items())
    given = ((text, last_of(text), wanted) for text, wanted in GIVEN.items())
    heights = ((f"the stack of {name}", *grown(code)) for name, (code, _) in CASES.items())
    return [
        f"{name}: {found} instead of {wanted}"
        for name, found, wanted in (*read, *given, *heights)
        if found != wanted
    ]
