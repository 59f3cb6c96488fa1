"""Each way of reaching state times each way of changing it: programs answer as their functions.

Whether a recording is made anew or f is run eagerly, is for programs to say; but what is reached
in an ordinary way is replayed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cadiff

# What a module has, how f reaches what is held, and what holds something else there.
REACHED: dict[str, tuple[str, str, str]] = {
    "a global": ("h = {new}", "h", "h = {new}"),
    "a global of a function": ("h = {new}\ndef get(): return h", "get()", "h = {new}"),
    "a closure": (
        "def make(h):\n    def get(): return h\n    def put(v):\n        nonlocal h\n"
        "        h = v\n    return get, put\nget, put = make({new})",
        "get()",
        "put({new})",
    ),
    "a chain of attributes": (
        "class O: pass\no = O()\no.a = O()\no.a.h = {new}",
        "o.a.h",
        "o.a.h = {new}",
    ),
    "a slot": (
        "class O:\n    __slots__ = ('h',)\no = O()\no.h = {new}\ndef get(o): return o.h",
        "get(o)",
        "o.h = {new}",
    ),
    "a default": ("def get(h={new}): return h", "get()", "get.__defaults__ = ({new},)"),
    "a default by name": (
        "def get(*, h={new}): return h",
        "get()",
        "get.__kwdefaults__ = {{'h': {new}}}",
    ),
    "containers": ("d = {{'a': [1.0, ({new},)]}}", "d['a'][1][0]", "d['a'][1] = ({new},)"),
    "an array of objects": ("a = np.empty(2, dtype=object)\na[0] = {new}", "a[0]", "a[0] = {new}"),
    "a partial": ("p = functools.partial(lambda h: h, h={new})", "p()", "p.keywords['h'] = {new}"),
    "a class": ("class K: pass\nK.h = {new}", "K.h", "K.h = {new}"),
    "a class that others derive from": (
        "class B: pass\nclass K(B): pass\nk = K()\nB.h = {new}",
        "k.h",
        "B.h = {new}",
    ),
    "a subclass of float": ("class F(float): pass\nv = F(1.0)\nv.h = {new}", "v.h", "v.h = {new}"),
    "a member of an enum": (
        "class E(enum.Enum):\n    ONE = 1\nE.ONE.h = {new}",
        "E.ONE.h",
        "E.ONE.h = {new}",
    ),
    "a module": ("m = types.ModuleType('m')\nm.h = {new}", "m.h", "m.h = {new}"),
    "a computed name": (
        "m = types.ModuleType('m')\nm.h = {new}\nname = ['h']",
        "getattr(m, ''.join(name))",
        "m.h = {new}",
    ),
    "a module among modules": (
        "sys.modules['cadiff_held'] = types.SimpleNamespace(h={new})\n"
        "def get():\n    import cadiff_held\n    return cadiff_held.h",
        "get()",
        "sys.modules['cadiff_held'].h = {new}",
    ),
    "a method": (
        "class M:\n    def __init__(self): self.h = {new}\n    def get(self): return self.h\n"
        "b = M()\nget = b.get",
        "get()",
        "b.h = {new}",
    ),
    "a property": (
        "class M:\n    def __init__(self): self._h = {new}\n    @property\n"
        "    def h(self): return self._h\nb = M()",
        "b.h",
        "b._h = {new}",
    ),
    "names that are answered": (
        "class M:\n    def __init__(self): self.made = {{'h': {new}}}\n"
        "    def __getattr__(self, name): return self.made[name]\nb = M()",
        "b.h",
        "b.made['h'] = {new}",
    ),
    "a registry": (
        "held = {{}}\nknown = {{}}\ndef register(g):\n    known[g.__name__] = g\n    return g\n"
        "@register\ndef get(): return held['h']\nheld['h'] = {new}",
        "known['get']()",
        "held['h'] = {new}",
    ),
    "a wrapper": (
        "def wrap(g):\n    @functools.wraps(g)\n    def inner(*a): return g(*a)\n"
        "    return inner\n"
        "h = {new}\n@wrap\ndef get(): return h",
        "get()",
        "h = {new}",
    ),
    "a weak reference": (
        "class O: pass\no = O()\no.h = {new}\nr = weakref.ref(o)",
        "r().h",
        "o.h = {new}",
    ),
    "the subclasses of a class": (
        "class B: pass\nclass C(B): pass\nC.h = {new}",
        "B.__subclasses__()[0].h",
        "C.h = {new}",
    ),
    "all globals": ("h = {new}", "globals()['h']", "h = {new}"),
    "the globals of a function": ("h = {new}\ndef g(): pass", "g.__globals__['h']", "h = {new}"),
    "a pickle": (
        "class P:\n    def __reduce__(self): return get, ()\ndef get(): return h\nh = {new}\n"
        "held = pickle.dumps(P())",
        "pickle.loads(held)",
        "h = {new}",
    ),
    "a text that is parsed": (
        "def get(): return h\nh = {new}\nname = 'of_a_user:get'",
        "pkgutil.resolve_name(name)()",
        "h = {new}",
    ),
    "the object of a method": (
        "class M:\n    def get(self): return self\nb = M()\nb.h = {new}\nget = b.get",
        "get.__self__.h",
        "b.h = {new}",
    ),
    "a generator": ("h = {new}\ndef items(): yield h", "next(items())", "h = {new}"),
}
NOT_REPLAYED = {
    *("the subclasses of a class", "all globals", "the globals of a function", "a pickle"),
    "a text that is parsed",
}

# What is held, the number that f takes of it, and what changes it where it is.
HELD: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a number": ("c", "{h}", ()),
    "a list": (
        "[c, 0.5]",
        "{h}[0] * len({h})",
        ("{h}[0] = c", "{h}.insert(0, c)", "{h}[:] = [c]", "{h}.append(c)", "{h}.reverse()"),
    ),
    "a dict": (
        "{{'n': c}}",
        "{h}.get('n', 0.25)",
        ("{h}['n'] = c", "{h}.pop('n', 0)", "{h}.update(n=c)", "{h}.setdefault('n', c)"),
    ),
    "an object": (
        "Box(c)",
        "getattr({h}, 'n', 0.25)",
        (
            *("{h}.n = c", "vars({h}).pop('n', 0)", "Box.n = c", "setattr({h}, 'n', c)"),
            *("vars({h})['n'] = c", "{h}.__class__ = Other", "vars({h}).clear(); Other.n = c"),
        ),
    ),
    "an object that is called": (
        "Box(c)",
        "{h}()",
        ("{h}.n = c", "Box.__call__ = lambda self: 2 * c", "Box.__call__ = lambda self: self.n"),
    ),
    "an array": (
        "np.array([c, 0.5])",
        "{h}[0]",
        ("{h}[0] = c", "np.multiply({h}, 1.5, out={h})", "{h}.fill(c)", "{h}[...] = c"),
    ),
    "a set": ("{{c}}", "sum(sorted({h}))", ("{h}.add(c)", "{h}.clear()", "{h}.update([c])")),
}


def module_of(reached: str, held: str) -> tuple[ModuleType, list[str]]:
    """A module with an f, and statements that change what f gives."""
    setup, expression, replace = REACHED[reached]
    new, read, changes = HELD[held]
    new = new.format()
    module = sys.modules["of_a_user"] = ModuleType("of_a_user")
    code = (
        "import enum, functools, pickle, pkgutil, sys, types, weakref\n"
        "import numpy as np\nc = 0.75\n"
        "class Box:\n    def __init__(self, n): self.n = n\n"
        "    def __call__(self): return self.n\n"
        "class Other(Box): n = 0.125\n"
        f"{setup.format(new=new)}\n"
        f"def f(x):\n    return x[1] ** 2 + x[0] * ({read.format(h=expression)})"
    )
    exec(code, vars(module))
    return module, [*(change.format(h=expression) for change in changes), replace.format(new=new)]


@pytest.fixture(autouse=True)
def restored() -> Any:
    yield
    sys.modules.pop("cadiff_held", None)
    sys.modules.pop("of_a_user", None)


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("reached", REACHED)
def test_no_way_to_state_is_stale(reached: str, held: str) -> None:
    module, changes = module_of(reached, held)
    rng = random.Random(f"{reached} {held}")
    program = cadiff.compile(module.f)
    x = np.array([1.5, 0.5])
    history: list[str] = []

    def check(call: Callable[..., Any]) -> None:
        value, slope = call(x)
        wanted = cadiff.value_and_grad(module.f)(x)
        assert value == pytest.approx(wanted[0], rel=1e-12), history
        np.testing.assert_allclose(slope, wanted[1], rtol=1e-12, err_msg=str(history))

    check(program.value_and_grad)
    check(program.value_and_grad)
    replayed = (program.stats()["recordings"], program.stats()["eager"]) == (1, 0)
    assert replayed is (reached not in NOT_REPLAYED)
    for change in rng.sample(changes, len(changes)):
        vars(module)["c"] = rng.random()
        history.append(change)
        exec(change, vars(module))
        check(program.value_and_grad)
        assert program(x) == pytest.approx(module.f(x), rel=1e-12), history
