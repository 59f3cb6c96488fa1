"""Kinds of state, however unusual, and ways to change it: programs answer as their functions."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

import cadiff

from ..helpers.properties import examples

# A package with two modules, and a name in one of them.
PACKAGE = """
pk, q, other = (types.ModuleType(name) for name in ("pk", "pk", "pk.cfg"))
pk.__path__ = q.__path__ = []
pk.cfg, q.cfg = (types.ModuleType("pk.cfg") for _ in range(2))
pk.cfg.w, other.w, q.cfg.w = 0.5, 0.75, 0.25
sys.modules.update({"pk": pk, "pk.cfg": pk.cfg})
__package__ = "pk"
"""
# What a module has, what f computes with (a number), and what changes that; c is another number
# each time. These are recorded once until they change.
REPLAYED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a global": ("G = 0.5", "G", ("G = c", "del G; G = c")),
    "a global that a function reads": (
        "H = 0.5\ndef h(): return H",
        "h()",
        ("H = c", "h = lambda: c", "h.__code__ = (lambda: n).__code__; n = c"),
    ),
    "a default": (
        "def d(n=0.5, *, m=0.25): return n + m",
        "d()",
        ("d.__defaults__ = (c,)", "d.__kwdefaults__ = {'m': c}", "d.__kwdefaults__['m'] = c"),
    ),
    "an attribute": (
        "class A:\n    rate = 0.25\n    def __init__(self): self.n = 0.5\n"
        "    def total(self): return self.n + self.rate\n"
        "    @property\n    def half(self): return self.n / 2\na = A()",
        "a.n + a.total() + a.half",
        (
            "a.n = c",
            "A.rate = c",
            "a.rate = c",
            "a.__dict__['n'] = c",
            "A.total = lambda self: c",
            "a = A(); a.n = c",
            "vars(a).update(n=c)",
        ),
    ),
    "a dict": (
        "D = {'n': 0.5, 'm': [0.25]}",
        "D['n'] + D['m'][0] + len(D)",
        ("D['n'] = c", "D['m'][0] = c", "D['m'] = [c]", "D = {'n': c, 'm': [c]}", "D[c] = c"),
    ),
    "a list": (
        "L = [0.5, (0.25, [0.125])]",
        "L[0] + L[1][1][0] + len(L)",
        ("L[0] = c", "L[1][1][0] = c", "L.append(c)", "L[:] = [c, (c, [c])]"),
    ),
    "a set": ("Z = {0.5, 0.25}", "sum(sorted(Z))", ("Z.add(c)", "Z ^= {c}")),
    "a deque": (
        "from collections import deque\nQ = deque([0.5, 0.25], maxlen=2)",
        "sum(Q)",
        ("Q.append(c)", "Q[0] = c"),
    ),
    "an array of Python's": (
        "from array import array\nY = array('d', [0.5, 0.25])",
        "sum(Y)",
        ("Y[0] = c",),
    ),
    "bytes": ("W = bytearray(b'12')", "float(W.decode())", ("W[0] = 48 + int(9 * c)",)),
    "an array": (
        "X = np.full(7, 0.5)",
        "np.sum(X)",
        ("X[3] = c", "X = np.full(7, c)", "X *= c", "X[:] = c", "X.resize(5, refcheck=False)"),
    ),
    "a large array": (
        "V = np.full((300, 40), 0.5)",
        "np.sum(V)",
        ("V[123, 17] = c", "V.T[3] = c"),
    ),
    "a part of an array": (
        "T = np.full((9, 9), 0.5)\nU = T[::2, 1:3]",
        "np.sum(U)",
        ("T[2, 1] = c",),
    ),
    "an array of ints": ("N = np.arange(4)", "np.sum(N)", ("N[1] = int(99 * c)",)),
    "an array of complex numbers": (
        "K = np.full(3, 0.5 + 1j)",
        "float(np.sum(np.abs(K)))",
        ("K[1] = c",),
    ),
    "a partial": (
        "from functools import partial\ndef p(n, m): return n[0] + m\n"
        "R = partial(p, [0.5], m=0.25)",
        "R()",
        ("R.args[0][0] = c", "R = partial(p, [c], m=c)"),
    ),
    "a bound method of a dict": (
        "held = {'n': 0.5}\nlook = held.get",
        "look('n')",
        ("held['n'] = c",),
    ),
    "dicts of other types": (
        "from collections import Counter, OrderedDict, defaultdict\nOD = OrderedDict(n=0.5)\n"
        "DD = defaultdict(float, n=0.5)\nCO = Counter(n=1)",
        "OD['n'] + DD['n'] + CO['n']",
        ("OD['n'] = c", "DD['n'] = c", "CO['n'] += 1"),
    ),
    "a list of the user's": (
        "class Li(list): pass\nli = Li([0.5])\nli.n = 0.25",
        "li[0] + li.n",
        ("li[0] = c", "li.n = c"),
    ),
    "views of a dict": (
        "base = {'n': 0.5}\nseen = base.values()\npairs = base.items()",
        "sum(seen) + sum(n for _, n in pairs)",
        ("base['n'] = c", "base[c] = c"),
    ),
    "an attribute of a function": ("def fa(): return fa.n\nfa.n = 0.5", "fa()", ("fa.n = c",)),
    "what a class inherits": (
        "class Up:\n    m = 0.25\n    def get(self): return self.n + self.m\n"
        "class Low(Up):\n    def get(self): return super().get()\n"
        "low = Low()\nlow.n = 0.5",
        "low.get()",
        ("low.n = c", "Up.m = c", "Up.get = lambda self: c"),
    ),
    "a method of one object": (
        "class One:\n    def get(self): return 0.5\none = One()",
        "one.get()",
        ("one.get = lambda: c", "One.get = lambda self: c"),
    ),
    "a property": (
        "class Pr:\n    @property\n    def n(self): return 0.5\npr = Pr()",
        "pr.n",
        ("Pr.n = property(lambda self: c)",),
    ),
    "a masked array": (
        "ma = np.ma.array([0.5, 0.25], mask=[False, True])",
        "np.sum(ma.filled(0.0))",
        ("ma[0] = c", "ma.mask = [True, False]"),
    ),
    "a partial method": (
        "from functools import partialmethod\nclass Pm:\n"
        "    def two(self, n): return self.m * n\n"
        "    one = partialmethod(two, 0.5)\npm = Pm()\npm.m = 0.5",
        "pm.one()",
        ("pm.m = c",),
    ),
    "an index that is written to": (
        "ix = [0]\ndef at():\n    buffer = [0.5, 0.25, 0.125]\n"
        "    buffer[ix[0] + 1] = 2.0\n    return buffer[1]",
        "at()",
        ("ix[0] = int(2 * c)",),
    ),
    "a method that is called as those of lists": (
        "class Ad(list):\n    def add(self): return self.n\nad = Ad()\nad.n = 0.5",
        "ad.add()",
        ("ad.n = c",),
    ),
    "an attribute that is missing at first": (
        "class Mi: pass\nmi = Mi()\ndef late():\n    try: return mi.n\n"
        "    except AttributeError: return 0.5",
        "late()",
        ("mi.n = c",),
    ),
    "the order of an ordered dict": (
        "import collections\nod = collections.OrderedDict(a=0.5, b=2.5)",
        "next(iter(od.values()))",
        ("od.move_to_end(next(iter(od)))",),
    ),
    "a view of a dict that cannot be written to": (
        "import types\nvd = dict(n=0.5)\nvp = types.MappingProxyType(vd)",
        "vp['n']",
        ("vd['n'] = c",),
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    n: float = 0.5\npair = P()",
        "pair.n",
        ("pair.n = c",),
    ),
    "a namespace": (
        "from types import SimpleNamespace\nns = SimpleNamespace(n=0.5, m=np.ones(3))",
        "ns.n + np.sum(ns.m)",
        ("ns.n = c", "ns.m[1] = c"),
    ),
    "an argument's attribute": (
        "class J:\n    def __init__(self): self.n, self.m = 0.5, [0.25]\nargument = J()",
        "given[0].n + given[0].m[0]",
        ("argument.n = c", "argument.m[0] = c", "argument = J(); argument.n = c"),
    ),
    "an argument that is equal to others": (
        "class Eq:\n    def __init__(self, n): self.n = n\n"
        "    def __eq__(self, other): return True\n    def __hash__(self): return 1\n"
        "argument = Eq(0.5)",
        "given[0].n",
        ("argument = Eq(c)",),
    ),
    "an argument that is a set": (
        "argument = {0.5}",
        "sum(sorted(given[0]))",
        ("argument.add(c)",),
    ),
    "an argument that is bytes": (
        "argument = bytearray(b'12')",
        "float(given[0][0])",
        ("argument[0] = int(99 * c)",),
    ),
    "an argument that is an array of objects": (
        "argument = np.array([0.5, 'name'], dtype=object)",
        "given[0][0]",
        ("argument[0] = c",),
    ),
    "an argument that is a function": (
        "def fresh(n):\n    return lambda: n[0]\nmut = [0.5]\nargument = fresh(mut)",
        "given[0]()",
        ("mut[0] = c", "mut = [c]; argument = fresh(mut)"),
    ),
}
# Of these, whether a recording is made anew or f is run eagerly is for programs to say.
KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a list that contains itself": ("L = [0.5]\nL.append(L)", "L[1][1][0]", ("L[0] = c",)),
    "the dict of an object": (
        "class A: pass\na = A()\na.n = 0.5\nown = vars(a)",
        "own['n']",
        ("a.n = c", "own['n'] = c", "a.n = 2 * c"),
    ),
    "a method of a counter": (
        "co = collections.Counter(a=2, b=1)",
        "co.most_common(1)[0][1]",
        ("co['b'] = 4 + int(9 * c)",),
    ),
    "an argument that is a member of an enum": (
        "class E(enum.Enum): ONE = 1\nargument = E.ONE\nE.ONE.n = 0.5",
        "given[0].n",
        ("E.ONE.n = c",),
    ),
    "an argument that is a module": (
        "argument = types.ModuleType('m')\nargument.n = 0.5",
        "given[0].n",
        ("argument.n = c",),
    ),
    "an argument that is a view of a dict": (
        "d = {'n': 0.5}\nargument = types.MappingProxyType(d)",
        "given[0]['n']",
        ("d['n'] = c",),
    ),
    **{
        f"a name of a module that is computed {how}": (
            "m = types.ModuleType('m')\nm.a, m.b, m.NAME = 0.5, 0.25, 'a'\nargument = 0",
            expression,
            (
                *("m.a = c", "argument = 1 - argument", "m.NAME = 'b'", "vars(m).update(b=c)"),
                *("exec('global a\\na = 7.0', vars(m))", "vars(m).pop('a'); m.a = c"),
                *("argument = 1 - argument", "vars(m).__ior__({'b': c})", "m.other = c"),
                "vars(m).pop('other')",
            ),
        )
        for how, expression in (
            ("by an int", "getattr(m, 'ab'[given[0]])"),
            ("by a global of the module", "getattr(m, m.NAME)"),
            ("by a text", "getattr(m, f\"{'ab'[given[0]]}\", 0.0)"),
            ("of its dict", "vars(m)['ab'[given[0]]]"),
            ("by a reader", "operator.attrgetter('ab'[given[0]])(m)"),
        )
    },
    "keywords of a partial": (
        "p = functools.partial(lambda n, m: n + m, 1.0, m=0.5)",
        "p()",
        ("p.keywords['m'] = c", "p.__setstate__((lambda n, m: n * m, (c,), {'m': 2.0}, None))"),
    ),
    "an attribute of a partial": (
        "p = functools.partial(float, '1')\np.n = 0.5",
        "p() * p.n",
        ("p.n = c",),
    ),
    "an attribute of a member of an enum": (
        "class K(enum.Enum):\n    ONE = 1\nK.ONE.n = 0.5",
        "K.ONE.n",
        ("K.ONE.n = c", "K.n = c; del K.ONE.n"),
    ),
    "an int enum": (
        "class K(enum.IntEnum):\n    ONE = 1\nK.ONE.n = 0.5",
        "K.ONE.n",
        ("K.ONE.n = c",),
    ),
    "an attribute of a str": ("class S(str): pass\nv = S('a')\nv.n = 0.5", "v.n", ("v.n = c",)),
    "an attribute of an int": ("class I(int): pass\nv = I(2)\nv.n = 0.5", "v.n * v", ("v.n = c",)),
    "an operator of a float": (
        "class F(float):\n    def __add__(self, other): return 0.5\nv = F(2.0)",
        "(v + 1.0)",
        ("F.__add__ = lambda self, other: c",),
    ),
    "an attribute of a tuple": (
        "class T(tuple): pass\nv = T((1.0,))\nv.n = 0.5",
        "v.n + v[0]",
        ("v.n = c",),
    ),
    "a record": (
        "v = np.array([(1.0, 2)], dtype=[('a', float), ('b', int)])[0]",
        "v['a'] * v['b']",
        ("v['a'] = c", "v['b'] = 5"),
    ),
    "an attribute that appears in a class": (
        "class C: pass",
        "getattr(C, 'w', 0.5)",
        ("C.w = c",),
    ),
    "an attribute that appears in an object": (
        "class C: pass\no = C()",
        "getattr(o, 'w', 0.5)",
        ("o.w = c", "C.w = c; vars(o).clear()"),
    ),
    "a default factory": (
        "n = 0.5\nd = collections.defaultdict(lambda: n)",
        "d['x' + str(len(x))]",
        ("n = c; d.clear()", "d.default_factory = lambda: c; d.clear()"),
    ),
    "a function behind a ufunc": (
        "n = 0.5\nu = np.frompyfunc(lambda v: v * n, 1, 1)",
        "float(u(2.0))",
        ("n = c",),
    ),
    "a name that is built in": (
        "import builtins\nbuiltins.cadiff_test = 0.5",
        "cadiff_test",
        ("builtins.cadiff_test = c", "cadiff_test = c", "del cadiff_test"),
    ),
    "a function that is built in": (
        "import builtins",
        "len([1.0, 2.0])",
        ("len = lambda items: c", "del len"),
    ),
    "an attribute of a module of a library": (
        "np.cadiff_test = 0.5",
        "np.cadiff_test",
        ("np.cadiff_test = c",),
    ),
    "a function of a library": (
        "import math\nown = math.sqrt",
        "math.sqrt(4.0)",
        ("math.sqrt = lambda v: c", "math.sqrt = own"),
    ),
    "a function of a library, by an import": (
        "def read():\n    from math import sqrt\n    return sqrt(4.0)\nimport math\n"
        "own = math.sqrt",
        "read()",
        ("math.sqrt = lambda v: c", "math.sqrt = own"),
    ),
    "a module among modules": (
        "import types\nsys.modules['cadiff_config'] = types.SimpleNamespace(n=0.5)\n"
        "def read():\n    import cadiff_config\n    return cadiff_config.n",
        "read()",
        (
            "sys.modules['cadiff_config'] = types.SimpleNamespace(n=c)",
            "sys.modules['cadiff_config'].n = c",
        ),
    ),
    "a module that is handed on": (
        "import types\nm = types.ModuleType('m')\nm.n = 0.5\ndef read(what): return what.n",
        "read(m)",
        ("m.n = c",),
    ),
    "a class that is registered": (
        "import abc\nclass A(abc.ABC): pass\nclass B: pass\nb = B()",
        "(2.0 if isinstance(b, A) else 0.5)",
        ("A.register(B)",),
    ),
    "a class that is registered with a class of a library": (
        "import numbers\nclass B: pass\nb = B()",
        "(2.0 if isinstance(b, numbers.Real) else 0.5)",
        ("numbers.Real.register(B)",),
    ),
    "the context of decimals that are made": (
        "import decimal",
        "float(decimal.Decimal(1) / 3)",
        ("decimal.getcontext().prec = int(3 + 9 * c)", "decimal.getcontext().prec = 28"),
    ),
    "the context of decimals": (
        "import decimal\nd = decimal.Decimal(1)",
        "float(d / 3)",
        ("decimal.getcontext().prec = int(3 + 9 * c)", "decimal.getcontext().prec = 28"),
    ),
    "a rule that is defined anew": (
        "p = cadiff.primitive(lambda v: v * v)\np.defvjp(lambda ans, v: lambda g: 2.0 * g * v)",
        "p(x[0])",
        ("p.defvjp(lambda ans, v, c=c: lambda g: c * g)",),
    ),
    "what a rule reads": (
        "n = [2.0]\np = cadiff.primitive(lambda v: v * v)\n"
        "p.defvjp(lambda ans, v: lambda g: n[0] * g * v)",
        "p(x[0])",
        ("n[0] = c",),
    ),
    "an attribute behind another": (
        "class A:\n    n = 0.5\nclass B(A):\n    n = 0.25\nb = B()",
        "b.n",
        ("del B.n", "A.n = c", "B.n = c", "b.n = c"),
    ),
    "a class that is exchanged, with slots": (
        "class A:\n    __slots__ = ('n',)\n    def get(self): return self.n\n"
        "class B:\n    __slots__ = ('n',)\n    def get(self): return 2 * self.n\n"
        "o = A()\no.n = 0.5\ndef read(o): return o.get()",
        "read(o)",
        ("o.__class__ = B", "o.n = c"),
    ),
    "bases that are exchanged": (
        "class A:\n    n = 0.5\nclass B:\n    n = 0.25\nclass C(A): pass\no = C()",
        "o.n",
        ("C.__bases__ = (B,)", "C.__bases__ = (A,)"),
    ),
    "a property of a metaclass": (
        "class M(type):\n    n = 0.5\n    @property\n    def rate(cls): return cls.n\n"
        "class A(metaclass=M): pass",
        "A.rate",
        ("M.n = c", "M.rate = property(lambda cls: c)", "A.n = c"),
    ),
    "how a metaclass makes objects": (
        "class M(type):\n    n = 0.5\n    def __call__(cls): return cls.n\n"
        "class A(metaclass=M): pass\ndef of(kind): return kind()",
        "of(A)",
        ("M.n = c", "M.__call__ = lambda cls: 2.0 * c"),
    ),
    "the function of a property that is handed on": (
        "rates = [0.5]\np = property(lambda self: rates[0])\ndef of(p): return p.fget(None)",
        "of(p)",
        ("rates[0] = c",),
    ),
    "the function behind remembered results": (
        "import functools\nrates = [0.5]\n@functools.lru_cache\ndef n(): return rates[0]\n"
        "def of(n): return n.__wrapped__()",
        "of(n)",
        ("rates[0] = c",),
    ),
    "a method of a dict that a class has": (
        "d = {'a': 0.5}\nclass A:\n    get = d.get",
        "A.get('a')",
        ("d['a'] = c",),
    ),
    "a property that is computed once": (
        "import functools\nrates = [0.5]\nclass A:\n    @functools.cached_property\n"
        "    def rate(self): return rates[0]\na = A()",
        "a.rate",
        ("a = A(); rates[0] = c",),
    ),
    "numbers in an array of C": (
        "import ctypes\na = (ctypes.c_double * 2)(0.5, 2.0)",
        "a[1]",
        ("a[1] = c",),
    ),
    "a descriptor": (
        "class D:\n    n = 0.5\n    def __get__(self, o, kind): return self.n\n"
        "class A:\n    d = D()\na = A()",
        "a.d",
        ("D.n = c", "vars(A)['d'].n = c", "D.__get__ = lambda self, o, kind: c"),
    ),
    "attributes that are made": (
        "class A:\n    def __init__(self): self.made = {'n': 0.5}\n"
        "    def __getattr__(self, name): return self.made[name]\na = A()",
        "a.n",
        ("a.made['n'] = c", "a.n = c", "A.__getattr__ = lambda self, name: c"),
    ),
    "items that are missing": (
        "class D(dict):\n    n = 0.5\n    def __missing__(self, key): return self.n\nd = D()",
        "d['a']",
        ("D.n = c", "d.n = c", "d['a'] = c"),
    ),
    "items that are made": (
        "class D:\n    n = 0.5\n    def __getitem__(self, key): return self.n\nd = D()",
        "d['a']",
        ("D.n = c", "d.n = c", "D.__getitem__ = lambda self, key: c"),
    ),
    "a format": (
        "class A:\n    n = 0.5\n    def __format__(self, how): return str(self.n)\na = A()",
        "float(f'{a}')",
        ("A.n = c", "A.__format__ = lambda self, how: str(c)"),
    ),
    "a context": (
        "class A:\n    n = 0.5\n    def __enter__(self): return self.n\n"
        "    def __exit__(self, *_): pass\na = A()\n"
        "def read():\n    with a as n: return n",
        "read()",
        ("A.n = c", "a.n = c"),
    ),
    "an iterator that is kept": ("it = iter([0.5] * 50)", "next(it)", ("it = iter([c] * 50)",)),
    "a context variable": (
        "import contextvars\nv = contextvars.ContextVar('v', default=0.5)",
        "v.get()",
        ("v.set(c)",),
    ),
    "a variable of a thread": (
        "import threading\nv = threading.local()\nv.n = 0.5",
        "v.n",
        ("v.n = c",),
    ),
    "a weak proxy": (
        "import weakref\nclass A: pass\na = A()\na.n = 0.5\np = weakref.proxy(a)",
        "p.n",
        ("a.n = c",),
    ),
    "a weak dictionary": (
        "import weakref\nclass A: pass\na = A()\nd = weakref.WeakKeyDictionary({a: 0.5})",
        "d[a]",
        ("d[a] = c",),
    ),
    "a function for each type": (
        "@functools.singledispatch\ndef g(v): return 0.5\nclass A: pass\na = A()",
        "g(a)",
        ("g.register(A, lambda v: c)", "g.register(object, lambda v: 2 * c)"),
    ),
    "a method by its name": (
        "class A:\n    n = 0.5\n    def get(self): return self.n\na = A()\n"
        "get = operator.methodcaller('get')\nrate = operator.attrgetter('n')",
        "get(a) + rate(a)",
        ("A.n = c", "a.n = c", "A.get = lambda self: c", "rate = operator.attrgetter('n')"),
    ),
    "results that are remembered": (
        "n = [0.5]\n@functools.lru_cache\ndef g(k): return n[0] * k",
        "g(2)",
        ("n[0] = c", "n[0] = c; g.cache_clear()", "g.cache_clear()", "g.cache_clear(); g(2)"),
    ),
    "all results that are remembered": (
        "n = [0.5]\n@functools.cache\ndef g(k): return n[0] * k",
        "g(2)",
        ("n[0] = c", "n[0] = c; g.cache_clear()", "g.cache_clear(); g(2); n[0] = c"),
    ),
    "attributes of an exception": (
        "o = ValueError('text')",
        "getattr(o, 'n', 0.5)",
        ("o.n = c", "vars(o)['n'] = c"),
    ),
    "a chain of maps": (
        "d = {'n': 0.5}\nm = collections.ChainMap({}, d)",
        "m['n']",
        ("d['n'] = c", "m['n'] = c", "m.maps.insert(0, {'n': 2 * c})"),
    ),
    "a dict of the user's": (
        "d = collections.UserDict(n=0.5)",
        "d['n']",
        ("d['n'] = c", "d.data = {'n': 2 * c}"),
    ),
    "a structure of ctypes": (
        "import ctypes\nclass S(ctypes.Structure):\n    _fields_ = [('n', ctypes.c_double)]\n"
        "s = S(0.5)",
        "s.n",
        ("s.n = c",),
    ),
    "a view of memory": (
        "b = bytearray(8)\nm = memoryview(b)[2:]",
        "float(m[0])",
        ("b[2] = int(99 * c)",),
    ),
    "memory": ("import mmap\nm = mmap.mmap(-1, 16)", "float(m[3])", ("m[3] = int(99 * c)",)),
    "a structured array": (
        "a = np.zeros(3, dtype=[('n', float), ('m', int)])",
        "a['n'][1]",
        ("a['n'][1] = c", "a[1] = (c, 2)"),
    ),
    "an environment": (
        "import os\nos.environ['CADIFF_TEST'] = '0.5'",
        "float(os.environ['CADIFF_TEST'])",
        ("os.environ['CADIFF_TEST'] = str(c)",),
    ),
    "an environment that is asked": (
        "import os\nos.environ['CADIFF_TEST'] = '0.5'",
        "float(os.getenv('CADIFF_TEST'))",
        ("os.environ['CADIFF_TEST'] = str(c)", "os.putenv('CADIFF_TEST', '3')"),
    ),
    "arguments of a command": (
        "sys.argv.append('0.5')",
        "float(sys.argv[-1])",
        ("sys.argv[-1] = str(c)",),
    ),
    "a clock": ("import time", "(time.perf_counter_ns() * 0.0 + n)", ("n = c",)),
    "code that is a text": ("n = 0.5", "eval('n')", ("n = c",)),
    "a file": (
        "import os, tempfile\npath = os.path.join(tempfile.mkdtemp(), 'n')\n"
        "def put(v):\n    with open(path, 'w') as f: f.write(str(v))\nput(0.5)\n"
        "def read():\n    with open(path) as f: return float(f.read())",
        "read()",
        ("put(c)",),
    ),
    **{
        f"a file that {how} reads": (
            "import os, scipy.io, tempfile\npath = os.path.join(tempfile.mkdtemp(), 'n')\n"
            f"def put(v): {write}\nput(0.5)",
            f"float(np.ravel({read})[0])",
            ("put(c)",),
        )
        for how, write, read in (
            ("np.load", "np.save(path, v)", "np.load(path + '.npy')"),
            ("np.loadtxt", "np.savetxt(path, [v])", "np.loadtxt(path)"),
            ("np.fromfile", "np.array(v).tofile(path)", "np.fromfile(path)"),
            (
                "loadmat",
                "scipy.io.savemat(path, {'a': v}, appendmat=False)",
                "scipy.io.loadmat(path, appendmat=False)['a']",
            ),
            (
                "mmread",
                "scipy.io.mmwrite(path, np.array([[v]]))",
                "scipy.io.mmread(path + '.mtx')",
            ),
        )
    },
    "a property with a setter": (
        "class A:\n    def __init__(self): self._n = 0.5\n    @property\n"
        "    def n(self): return self._n\n"
        "    @n.setter\n    def n(self, v): self._n = 2 * v\na = A()",
        "a.n",
        ("a.n = c", "a._n = c"),
    ),
    "a cached property": (
        "class A:\n    m = 0.5\n    @functools.cached_property\n"
        "    def n(self): return 2 * self.m\na = A()",
        "a.n",
        ("A.m = c", "del a.n", "A.m = c; vars(a).pop('n', 0)", "a.n = c"),
    ),
    "what subclasses are given": (
        "class A:\n    def __init_subclass__(cls, n=0.5): cls.n = n\nclass B(A): pass",
        "B.n",
        ("class B(A, n=c): pass", "B.n = c"),
    ),
    "a data class that is replaced": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass P:\n"
        "    n: float = 0.5\np = P()",
        "p.n",
        ("p = dataclasses.replace(p, n=c)", "object.__setattr__(p, 'n', c)"),
    ),
    "a factory of a data class": (
        "import dataclasses\nn = 0.5\n@dataclasses.dataclass\nclass P:\n"
        "    a: list = dataclasses.field(default_factory=lambda: [n])",
        "P().a[0]",
        ("n = c",),
    ),
    "a context that a generator makes": (
        "import contextlib\nn = [0.5]\n@contextlib.contextmanager\ndef ctx(): yield n[0]\n"
        "def read():\n    with ctx() as v: return v",
        "read()",
        ("n[0] = c",),
    ),
    "a named tuple": (
        "P = collections.namedtuple('P', 'n m')\np = P(0.5, [0.25])",
        "p.n + p.m[0]",
        ("p = p._replace(n=c)", "p.m[0] = c"),
    ),
    "an exception": ("e = ValueError(0.5)", "e.args[0]", ("e.args = (c,)",)),
    "a static method": (
        "class A:\n    @staticmethod\n    def get(): return 0.5",
        "A.get()",
        ("A.get = staticmethod(lambda: c)",),
    ),
    "a class method": (
        "class A:\n    n = 0.5\n    @classmethod\n    def get(cls): return cls.n\n"
        "class B(A): pass",
        "B.get()",
        ("A.n = c", "B.n = c", "A.get = classmethod(lambda cls: c)"),
    ),
    "an object that counts as many": (
        "class A:\n    n = 2\n    def __len__(self): return self.n\n"
        "    def __bool__(self): return True\n"
        "a = A()",
        "float(len(a))",
        ("A.n = int(9 * c)", "a.n = 3"),
    ),
    "what is compared": (
        "class A:\n    n = 0.5\n    def __lt__(self, other): return self.n < 0.4\na = A()",
        "(1.0 if a < 3 else 2.0)",
        ("A.n = c", "a.n = 0.1", "A.__lt__ = lambda self, other: False"),
    ),
    "a hash": (
        "class A:\n    n = 1\n    def __hash__(self): return self.n\na = A()",
        "float(hash(a))",
        ("A.n = int(99 * c)", "a.n = 5"),
    ),
    "an object that computes": (
        "class A:\n    n = 0.5\n    def __rmul__(self, v): return v * self.n\na = A()",
        "(x[0] * a) / x[0]",
        ("A.n = c", "a.n = c", "A.__rmul__ = lambda self, v: v * c"),
    ),
    "a library's object": (
        "o = np.poly1d([0.5, 2.0])",
        "o(3.0)",
        ("o[1] = c", "o = np.poly1d([c, c])"),
    ),
    "a vectorised function": (
        "n = [0.5]\nv = np.vectorize(lambda t: t * n[0])",
        "float(v(2.0))",
        ("n[0] = c",),
    ),
    "an object with a name that is mangled": (
        "class A:\n    def __init__(self): self.__n = 0.5\n    def get(self): return self.__n\n"
        "a = A()",
        "a.get()",
        ("a._A__n = c",),
    ),
    "a deleted attribute": (
        "class A:\n    n = 0.25\na = A()\na.n = 0.5",
        "a.n",
        ("vars(a).pop('n', 0)", "A.n = c", "a.n = c"),
    ),
    "a recursion": (
        "n = [0.5]\ndef g(k): return n[0] if k == 0 else g(k - 1)",
        "g(3)",
        ("n[0] = c", "h = g; g = lambda k: c"),
    ),
    "a default of a method": (
        "class A:\n    def get(self, n=[0.5]): return n[0]\na = A()",
        "a.get()",
        ("A.get.__defaults__[0][0] = c", "A.get.__defaults__ = ([c],)"),
    ),
    "an item of an object in a set": (
        "class A: pass\na = A()\na.n = 0.5\ns = {a}",
        "sum(o.n for o in s)",
        ("a.n = c", "b = A(); b.n = c; s.add(b)"),
    ),
    "a module that was loaded before another": (
        "sys.modules['cadiff_config'] = types.ModuleType('cadiff_config')",
        "sys.modules[__name__].n + sys.modules.get('of_a_user').n",
        ("n = c",),
    ),
    "keys of a dict": (
        "class A: pass\na = A()\na.n = 0.5\nd = {a: 1.0}",
        "sum(o.n for o in d)",
        ("a.n = c",),
    ),
    # What is so in a process or a thread: the last change puts it back.
    "the level of a logger": (
        "import logging\nlg = logging.getLogger('cadiff.test')",
        "(0.5 if lg.isEnabledFor(20) else 2.0) * (1 + lg.level)",
        ("lg.setLevel(10)", "logging.disable(20)", "lg.setLevel(30)", "logging.disable(0)"),
    ),
    "the level of a logger that is handed on": (
        "import logging\nlg = logging.getLogger('cadiff.test')\n"
        "def ask(what): return 0.5 if what.isEnabledFor(20) else 2.0",
        "ask(lg)",
        (
            "lg.setLevel(10)",
            "lg.setLevel(30)",
            "logging.root.setLevel(10); lg.setLevel(0)",
            "logging.root.setLevel(30)",
        ),
    ),
    "a logger that is asked for": (
        "import logging",
        "float(logging.getLogger('cadiff.test').level)",
        (
            "logging.getLogger('cadiff.test').setLevel(10)",
            "logging.getLogger('cadiff.test').setLevel(0)",
        ),
    ),
    "an attribute of a logger": (
        "import logging\nlg = logging.getLogger('cadiff.test')\nlg.n = 0.5",
        "lg.n + len(lg.handlers) + logging.root.manager.disable",
        (
            "lg.n = c",
            "lg.addHandler(logging.NullHandler())",
            "logging.disable(20)",
            "logging.disable(0)",
        ),
    ),
    "how logs are made": (
        "import logging",
        "float(len(logging.getLevelName(20)))",
        ("logging.addLevelName(20, 'N')", "logging.addLevelName(20, 'INFO')"),
    ),
    "attributes of a function that is handed on": (
        "def g(): return 0.5\ng.part = [0.5]\ndef of(g): return vars(g)['part'][0]",
        "of(g)",
        ("g.part[0] = c", "g.part = [c]"),
    ),
    "attributes that a function does not have yet": (
        "def g(): return 0.5",
        "getattr(g, 'n', 0.5)",
        ("g.n = c", "g.n = c; del g.n; g.n = 2 * c"),
    ),
    "attributes that a partial function does not have yet": (
        "g = functools.partial(max, 1.0)",
        "getattr(g, 'n', 0.5)",
        ("g.n = c", "g.n = c; del g.n; g.n = 2 * c"),
    ),
    "whether a lock is held": (
        "import threading\nlock = threading.Lock()",
        "(2.0 if lock.locked() else 0.5)",
        ("lock.acquire(False)", "lock.release()"),
    ),
    "a lock that is tried": (
        "import threading\nclass L: pass\no = L()\no.lock = threading.Lock()\n"
        "def ask(o):\n    if o.lock.acquire(blocking=False):\n"
        "        o.lock.release()\n        return 0.5\n    return 2.0",
        "ask(o)",
        ("o.lock.acquire(False)", "o.lock.release()"),
    ),
    "whether an array may be written to": (
        "a = np.ones(2)",
        "(0.5 if a.flags.writeable else 2.0)",
        ("a.flags.writeable = False", "a.flags.writeable = True"),
    ),
    "the collector of garbage": (
        "import gc",
        "(0.5 if gc.isenabled() else 2.0) * gc.get_threshold()[0]",
        ("gc.disable()", "gc.enable()"),
    ),
    "references to an object": (
        "class A: pass\na = A()\nheld = []",
        "float(sys.getrefcount(a) > sys.getrefcount(held) + 2)",
        ("held.extend([a] * 5)", "held.clear()"),
    ),
    "the size of an object": (
        "d = {}",
        "float(sys.getsizeof(d))",
        ("d.update(dict.fromkeys(range(99)))\nfor k in range(99): del d[k]",),
    ),
    "buffers of NumPy's": (
        "size = np.getbufsize()",
        "float(np.getbufsize())",
        ("np.setbufsize(2 * size)", "np.setbufsize(size)"),
    ),
    "errors of floating point": (
        "state, zeros = np.geterr(), np.zeros(1)\ndef read():\n"
        "    try: return float(np.exp(np.log(zeros))[0])\n"
        "    except FloatingPointError: return 2.0",
        "read()",
        ("np.seterr(divide='raise')", "np.seterr(**state)"),
    ),
    "errors of floating point, by any name": (
        "state, zeros = np.geterr(), np.zeros(1)\ndef read():\n"
        "    try: return float(np.exp(np.log(zeros))[0])\n"
        "    except: return 2.0",
        "read()",
        ("np.seterr(divide='raise')", "np.seterr(**state)"),
    ),
    "errors of floating point, at last": (
        "state, zeros = np.geterr(), np.zeros(1)\ndef read():\n    found = 2.0\n"
        "    try: found = float(np.exp(np.log(zeros))[0])\n    finally: return found",
        "read()",
        ("np.seterr(divide='raise')", "np.seterr(**state)"),
    ),
    "errors that a context of the user's catches": (
        "state, zeros = np.geterr(), np.zeros(1)\nclass Guard:\n"
        "    def __enter__(self): return self\n    def __exit__(self, *_): return True\n"
        "def read():\n    with Guard():\n        return float(np.exp(np.log(zeros))[0])\n"
        "    return 2.0",
        "read()",
        ("np.seterr(divide='ignore')", "np.seterr(divide='raise')", "np.seterr(**state)"),
    ),
    "errors of special functions": (
        "from scipy import special\nstate = special.geterr()\ndef read():\n"
        "    try: return float(np.exp(-special.gammaln(0.0)))\n"
        "    except special.SpecialFunctionError: return 2.0",
        "read()",
        ("special.seterr(all='raise')", "special.seterr(**state)"),
    ),
    "warnings that are errors": (
        "import warnings\ndef read():\n    try: warnings.warn('n')\n"
        "    except UserWarning: return 2.0\n    return 0.5",
        "read()",
        (
            "warnings.simplefilter('error', UserWarning)",
            "warnings.simplefilter('ignore', UserWarning)",
        ),
    ),
    "warnings of NumPy's that are suppressed": (
        "import contextlib, warnings\nzeros = np.zeros(1)\ndef read():\n"
        "    with contextlib.suppress(RuntimeWarning):\n"
        "        return float(np.exp(np.log(zeros))[0])\n    return 2.0",
        "read()",
        (
            "warnings.simplefilter('error', RuntimeWarning)",
            "warnings.simplefilter('ignore', RuntimeWarning)",
        ),
    ),
    "warnings that are caught": (
        "import warnings\ndef read():\n"
        "    with warnings.catch_warnings(record=True) as caught:\n"
        "        warnings.warn('n')\n    return float(len(caught))",
        "read()",
        (
            "warnings.simplefilter('ignore', UserWarning)",
            "warnings.simplefilter('always', UserWarning)",
        ),
    ),
    "texts of arrays": (
        "a = np.ones(3) / 3",
        "float(len(str(a)) + len(f'{[a]}') + len('%s' % a))",
        ("np.set_printoptions(precision=3)", "np.set_printoptions(precision=8)"),
    ),
    "the name of a thread": (
        "import threading\nname = threading.current_thread().name",
        "float(len(threading.current_thread().name))",
        ("threading.current_thread().name = 'n'", "threading.current_thread().name = name"),
    ),
    "an attribute of a thread": (
        "import threading\nthreading.main_thread().n = 0.5",
        "threading.main_thread().n",
        ("threading.main_thread().n = c", "del threading.main_thread().n"),
    ),
    "flags of decimals": (
        "import decimal",
        "float(decimal.getcontext().flags[decimal.Inexact])",
        (
            "decimal.getcontext().flags[decimal.Inexact] = True",
            "decimal.getcontext().flags[decimal.Inexact] = False",
        ),
    ),
    "traps of decimals": (
        "import decimal\none = decimal.Decimal(1)\ndef read():\n"
        "    try: return float(one / 3)\n    except decimal.Inexact: return 2.0",
        "read()",
        (
            "decimal.getcontext().traps[decimal.Inexact] = True",
            "decimal.getcontext().traps[decimal.Inexact] = False",
        ),
    ),
    "references that are weak": (
        "import weakref\nclass A: pass\na = A()\nheld = []\ndone = weakref.finalize(a, int)",
        "float(weakref.getweakrefcount(a) + done.alive)",
        ("held.append(weakref.ref(a, lambda _: None))", "del a"),
    ),
    "what is called later": (
        "import weakref\nclass A: pass\na = A()\ndone = weakref.finalize(a, int)",
        "(0.5 if done.alive else 2.0)",
        ("del a",),
    ),
    "a place in memory": (
        "import mmap\nm = mmap.mmap(-1, 16)",
        "float(m.tell())",
        ("m.seek(3)", "m.seek(0)"),
    ),
    "a view that is released": (
        "m = memoryview(bytearray(4))",
        "float(len(m))",
        ("m.release()",),
    ),
    "pointers in an array": (
        "import ctypes\nv = ctypes.c_double(0.5)\n"
        "a = (ctypes.POINTER(ctypes.c_double) * 1)(ctypes.pointer(v))",
        "a[0][0]",
        ("v.value = c",),
    ),
    "defaults of a data class": (
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    n: float = 0.5",
        "P().n",
        ("P.__init__.__defaults__ = (c,)",),
    ),
    "limits of a parser": (
        "import csv\nlimit = csv.field_size_limit()",
        "float(csv.field_size_limit())",
        ("csv.field_size_limit(99)", "csv.field_size_limit(limit)"),
    ),
    "the first day of a week": (
        "import calendar",
        "float(calendar.firstweekday())",
        ("calendar.setfirstweekday(3)", "calendar.setfirstweekday(0)"),
    ),
    "how short texts are": (
        "import reprlib\nlong = 99 * 'n'",
        "float(len(reprlib.repr(long)))",
        ("reprlib.aRepr.maxstring = 9", "reprlib.aRepr.maxstring = 30"),
    ),
    "arguments that are parsed": (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--n', type=float, default=0.5)\nformer = [*sys.argv]\n"
        "sys.argv[1:] = []",
        "p.parse_args().n",
        ("sys.argv[1:] = ['--n', '2']", "sys.argv[:] = former[:1]"),
    ),
    "hints of types": (
        "import typing\nclass A:\n    m: int",
        "float(len(typing.get_type_hints(A)))",
        ("A.__annotations__['k'] = int",),
    ),
    "a distribution of one's own": (
        "from scipy import stats\nclass D(stats.rv_continuous):\n    n = 0.5\n"
        "    def _pdf(self, v): return self.n * n\nd = D()",
        "float(d.pdf(0.5))",
        ("n = c", "D.n = c", "d.n = c"),
    ),
    "a class that derives from a library's": (
        "import string\nclass F(string.Formatter):\n"
        "    def format_field(self, value, how): return str(n)\nf_ = F()",
        "float(f_.format('{0}', 1))",
        ("n = c",),
    ),
    "a bound method of a library's class": (
        "p = np.polynomial.Polynomial([0.5, 2.0])\ncall = p.__call__",
        "call(2.0)",
        ("p.coef[0] = c",),
    ),
    "names of fields": (
        "d = np.dtype([('n', float)])",
        "float(len(d.names[0]))",
        ("d.names = ('nn',)",),
    ),
    "attributes of exceptions": (
        "e, s = OSError(1, 'n'), StopIteration(0.5)",
        "e.errno * s.value * (0.5 if e.__cause__ is None else 2.0)",
        ("e.errno = 3", "s.value = c", "e.__cause__ = KeyError()"),
    ),
    "the name of a class": (
        "class A: pass\na = A()",
        "float(len(type(a).__qualname__))",
        ("A.__qualname__ = 'AA'",),
    ),
    "an attribute of a static method": (
        "s = staticmethod(lambda: 1.0)\ns.n = 0.5",
        "s.n",
        ("s.n = c",),
    ),
    "the frame of an error": (
        "def read():\n    try: raise KeyError\n"
        "    except KeyError as e: return e.__traceback__.tb_frame.f_globals['n']",
        "read()",
        ("n = c",),
    ),
    "the zone of the time": (
        "import datetime, os, time\nd = datetime.datetime(2020, 1, 1)\n"
        "formerly = os.environ.get('TZ', 'UTC')",
        "d.timestamp() + d.astimezone(datetime.timezone.utc).hour",
        (
            "os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()",
            "os.environ['TZ'] = formerly; time.tzset()",
        ),
    ),
    "how much memory an object takes": (
        "d = {}",
        "float(d.__sizeof__())",
        ("d.update(dict.fromkeys(range(99)))\nfor k in range(99): del d[k]",),
    ),
    "a stream": (
        "out = sys.stdout",
        "float(sys.stdout.closed)",
        ("import io; sys.stdout = io.StringIO(); sys.stdout.close()", "sys.stdout = out"),
    ),
    "a method of a module, by its name": (
        "import gc",
        "float(operator.methodcaller('isenabled')(gc))",
        ("gc.disable()", "gc.enable()"),
    ),
    "what a property says": (
        "class A:\n    @property\n    def n(self): 'n'",
        "float(len(A.n.__doc__))",
        ("A.n.__doc__ = 'nn'",),
    ),
    # Objects of SciPy's
    "a spline": (
        "from scipy.interpolate import CubicSpline\n"
        "s = CubicSpline([0.0, 1.0, 2.0], [1.0, 2.0, 0.5])",
        "float(s(1.5))",
        ("s.c[...] = c", "s.x[1] = 1.25"),
    ),
    "a frozen distribution": (
        "from scipy import stats\nd = stats.norm(0.0, scale=1.0)",
        "float(d.pdf(0.5))",
        ("d.kwds['scale'] = 2.0", "d.args = (c,)"),
    ),
    "a tree of neighbours": (
        "from scipy.spatial import KDTree\npoints = np.arange(6.0).reshape(3, 2)\n"
        "t = KDTree(points, copy_data=False)",
        "float(t.query([0.5, 0.5])[0])",
        ("points[0] = c", "t = KDTree(points * c)"),
    ),
    "a function of NumPy's with an attribute": (
        "np.sum.cadiff_test = 0.5",
        "np.sum.cadiff_test",
        ("np.sum.cadiff_test = c",),
    ),
    "a sparse matrix": (
        "from scipy import sparse\nm = sparse.csr_array(np.eye(2))",
        "(m @ np.ones(2))[0]",
        ("m.data[:] *= 2", "m.data = m.data * c"),
    ),
    # Names that are imported while f runs
    "a relative import": (
        PACKAGE + "def read():\n    from .cfg import w\n    return w",
        "read()",
        ("pk.cfg.w = c", "sys.modules['pk.cfg'] = other; other.w = c"),
    ),
    "a relative import of a module": (
        PACKAGE + "def read():\n    from . import cfg\n    return cfg.w",
        "read()",
        ("pk.cfg.w = c", "pk.cfg = other; other.w = c"),
    ),
    "a relative import from further out": (
        PACKAGE + "__package__ = 'pk.sub'\ndef read():\n    from ..cfg import w\n    return w",
        "read()",
        ("pk.cfg.w = c", "__package__ = 'pk'; sys.modules['cfg'] = other"),
    ),
    "a module within a package that is imported": (
        PACKAGE + "def read():\n    import pk.cfg\n    return pk.cfg.w",
        "read()",
        ("pk.cfg.w = c", "pk.cfg = other; other.w = c", "sys.modules['pk'] = q; q.cfg.w = c"),
    ),
    "a module by another name": (
        PACKAGE + "def read():\n    import pk.cfg as k\n    return k.w",
        "read()",
        ("pk.cfg.w = c", "pk.cfg = other; other.w = c"),
    ),
    # Properties, slots, and modules with classes of their own
    **{
        f"a property by {how}": (f"class A: n = 0.5\n{setup}\na = A()", "a.rate", changes)
        for how, setup, changes in (
            (
                "attrgetter",
                "A.rate = property(operator.attrgetter('n'))",
                ("a.n = c", "A.n = c; vars(a).clear()"),
            ),
            (
                "attrgetter of a part",
                "A.b = A()\nA.rate = property(operator.attrgetter('b.n'))",
                ("A.b.n = c", "a.b = A(); a.b.n = c"),
            ),
            (
                "lru_cache",
                "A.rate = property(functools.lru_cache(lambda self: self.n + n))",
                ("n = c; A.rate.fget.cache_clear()", "a = A(); a.n = c"),
            ),
            (
                "partial",
                "A.rate = property(functools.partial(lambda k, self: k * self.n * n, 2.0))",
                ("a.n = c", "n = c"),
            ),
            (
                "methodcaller",
                "A.get = lambda self: self.n * n\nA.rate = property(operator.methodcaller('get'))",
                ("a.n = c", "n = c", "A.get = lambda self: c"),
            ),
            (
                "an object",
                "class G:\n    k = 1.0\n    def __call__(self, o): return o.n * self.k\n"
                "A.rate = property(G())",
                ("a.n = c", "G.k = c"),
            ),
            (
                "a subclass",
                "class P(property):\n    k = 1.0\n    def __get__(self, o, kind=None):\n"
                "        if o is None: raise RuntimeError\n        return o.n * self.k\n"
                "A.rate = P(lambda self: 3.0)",
                ("a.n = c", "P.k = c"),
            ),
            (
                "a subclass of one that is computed once",
                "class P(functools.cached_property):\n    k = 1.0\n"
                "    def __get__(self, o, kind=None): return o.n * self.k\n"
                "A.rate = P(lambda self: 3.0)",
                ("a.n = c", "P.k = c"),
            ),
            (
                "a subclass of static methods",
                "class P(staticmethod):\n    k = 1.0\n"
                "    def __get__(self, o, kind=None): return o.n * self.k\n"
                "A.rate = P(lambda self: 3.0)",
                ("a.n = c", "P.k = c"),
            ),
        )
    },
    "a slot of a name that is there twice": (
        "class A: __slots__ = ('n',)\nclass B(A): __slots__ = ('n',)\n"
        "b = B()\nb.n = 2.0\nA.n.__set__(b, 0.5)\ndef get(o): return A.n.__get__(o)",
        "get(b)",
        ("A.n.__set__(b, c)", "b.n = c; A.n.__set__(b, c * c)"),
    ),
    "a slot behind an attribute": (
        "class A: __slots__ = ('n',)\nclass B(A): n = 2.0\n"
        "b, read = B(), A.n.__get__\nA.n.__set__(b, 0.5)\ndef get(o): return read(o)",
        "get(b)",
        ("A.n.__set__(b, c)",),
    ),
    **{
        f"a module with {what}": (
            f"class M(types.ModuleType):\n    {setup}\nm = M('m')\nm.k = 0.5\n"
            "def get(m): return m.n()",
            how,
            ("m.k = c", "n = c", "M.n = property(lambda self: lambda: c)"),
        )
        for what, setup, how in (
            ("a method", "def n(self): return self.k * n", "m.n() + get(m)"),
            (
                "a property",
                "@property\n    def n(self): return lambda: self.k * n",
                "m.n() + get(m)",
            ),
            ("an attribute", "n = staticmethod(lambda: m.k * n)", "m.n() + get(m)"),
        )
    },
    "a class that a module is given": (
        "class M(types.ModuleType): n = 0.5\nm = types.ModuleType('m')\nm.__class__ = M",
        "m.n",
        ("M.n = c", "m.n = c"),
    ),
    # Containers that iterate in ways of their own
    **{
        f"a {base} whose {what}": (
            f"class L({base}):\n    def {does}\n"
            f"a = L({made})\ndef read(a): return {base}.__getitem__(a, {key!r})[0]",
            "read(a)",
            (f"{base}.__getitem__(a, {key!r})[0] = c",),
        )
        for base, made, key in (
            ("list", "[[0.5]]", 0),
            ("tuple", "[[0.5]]", 0),
            ("dict", "{'a': [0.5]}", "a"),
            ("collections.deque", "[[0.5]]", 0),
            ("collections.OrderedDict", "{'a': [0.5]}", "a"),
            ("collections.defaultdict", "list, {'a': [0.5]}", "a"),
        )
        for what, does in (
            ("iteration is empty", "__iter__(self): return iter([])"),
            ("iteration raises", "__iter__(self): raise KeyError"),
            ("length has no end", "__len__(self): return 10**9"),
        )
    },
    "a set with its own iteration": (
        "class L(set):\n    def __iter__(self):\n        while True: yield 1.0\na = L([0.5])",
        "(1.0 if 0.75 in a else 2.0)",
        ("a.add(0.75)", "a.clear()"),
    ),
    "a frozen set with its own iteration": (
        "class A: pass\no = A()\no.n = 0.5\nclass L(frozenset):\n"
        "    def __iter__(self): return iter([])\na = L([o])",
        "sum(o.n for o in frozenset.__iter__(a))",
        ("o.n = c",),
    ),
    "a dict with its own keys": (
        "class L(dict):\n    def keys(self): return []\n    values = items = keys\na = L(n=[0.5])",
        "a['n'][0]",
        ("a['n'][0] = c", "a['n'] = [c]"),
    ),
    # Names in texts and in bytes
    "names in a query": (
        "import pandas as pd\nt, d = 1.5, pd.DataFrame({'u': [1.0, 2.0, 3.0]})",
        "d.query('u > @t')['u'].sum()",
        ("t = 2.5", "t = 0.5"),
    ),
    "names in a query that is handed on": (
        "import pandas as pd\nt, d = 1.5, pd.DataFrame({'u': [1.0, 2.0, 3.0]})\n"
        "text = 'u > @t'\ndef ask(query): return query(text)",
        "ask(d.query)['u'].sum()",
        ("t = 2.5", "t = 0.5"),
    ),
    "names in a formula of a table": (
        "import pandas as pd\nt, d = 1.5, pd.DataFrame({'u': [1.0, 2.0, 3.0]})",
        "d.eval('u * @t').sum()",
        ("t = c",),
    ),
    "names in a formula": ("import pandas as pd\nt = 1.5", "float(pd.eval('t + 1'))", ("t = c",)),
    "names in a matrix": ("B = np.eye(2)", "np.bmat('B, B').sum()", ("B = c * np.eye(2)",)),
    **{
        f"a pickle of {what}": (
            f"import io, pickle\nclass A: n = 0.5\nheld = pickle.dumps({of})",
            f"{how}.n",
            ("A.n = c",),
        )
        for what, of, how in (
            ("a class", "A", "pickle.loads(held)"),
            ("an object", "A()", "pickle.loads(held)"),
            ("a class, in the first protocol", "A, 0", "pickle.loads(held)"),
            ("a class, by an object", "A", "pickle.Unpickler(io.BytesIO(held)).load()"),
        )
    },
    # What is written beside code
    **{
        f"{name} of a function": (
            f"import inspect\ndef g(a: int): 'text'\ndef of(g): return {how}",
            "float(len(of(g)))",
            changes,
        )
        for name, how, changes in (
            ("the name", "g.__name__", ("g.__name__ = 'gg'",)),
            ("the name, computed,", "getattr(g, '__qual' + 'name__')", ("g.__qualname__ = 'gg'",)),
            ("the name, in a text,", "repr(g).split(' at ')[0]", ("g.__qualname__ = 'gg'",)),
            ("the text", "g.__doc__", ("g.__doc__ = 'gg'",)),
            ("the text, as it is shown,", "inspect.getdoc(g)", ("g.__doc__ = 'gg'",)),
            ("the module", "g.__module__", ("g.__module__ = 'gg'",)),
            (
                "annotations",
                "g.__annotations__",
                ("g.__annotations__['b'] = int", "g.__annotations__ = {}"),
            ),
            (
                "the signature",
                "str(inspect.signature(g))",
                ("g.__annotations__['a'] = float", "g.__annotations__.clear()"),
            ),
        )
    },
    "annotations of a class": (
        "class A:\n    a: int\n    n = 0.5\ndef of(kind): return len(kind.__annotations__)",
        "float(of(A))",
        ("A.__annotations__['b'] = int",),
    ),
    **{
        f"{what} of fields": (
            "import dataclasses\nheld = {'n': 0.5}\n@dataclasses.dataclass\nclass P:\n"
            "    a: float = dataclasses.field(default=0.5, metadata=held)\np = P()",
            f"dataclasses.fields(p)[0].{how}",
            (change,),
        )
        for what, how, change in (
            ("defaults", "default", "P.__dataclass_fields__['a'].default = c"),
            ("notes", "metadata['n']", "held['n'] = c"),
            ("names", "name.count('a')", "dataclasses.fields(P)[0].name = 'aa'"),
        )
    },
    # What functions of the standard library ask of the system
    "the time of a record": (
        "import logging, time\ndef read(): return logging.LogRecord(*'a1a1a', (), None).created",
        "(read() * 0.0 + n)",
        ("n = c",),
    ),
    "a file that is opened by another function": (
        "import codecs, os, tempfile\npath = os.path.join(tempfile.mkdtemp(), 'n')\n"
        "def put(v):\n    with open(path, 'w') as f: f.write(str(v))\nput(0.5)\n"
        "def read():\n    with codecs.open(path) as f: return float(f.read())",
        "read()",
        ("put(c)",),
    ),
}

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

# What is held there, the number that f takes of it, and what changes it where it is.
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


def ways_to_state() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Each way of reaching state times each way of changing it."""
    before = (
        "import pickle, pkgutil, weakref\nc = 0.75\n"
        "class Box:\n    def __init__(self, n): self.n = n\n"
        "    def __call__(self): return self.n\n"
        "class Other(Box): n = 0.125\n"
    )
    rows = {}
    for (way, (setup, h, put)), (what, (text, read, changes)) in product(
        REACHED.items(), HELD.items()
    ):
        new = text.format()
        rows[f"{what}: {way}"] = (
            before + setup.format(new=new),
            read.format(h=h),
            (*(change.format(h=h) for change in changes), put.format(new=new)),
        )
    return rows


WAYS = ways_to_state()
# What is recorded once until it changes.
ONCE = {*REPLAYED, *(kind for kind in WAYS if kind.partition(": ")[2] not in NOT_REPLAYED)}


def module_of(setup: str, expression: str) -> ModuleType:
    module = sys.modules["of_a_user"] = ModuleType("of_a_user")
    before = (
        "import collections, enum, functools, operator, sys, types\nimport numpy as np\n"
        "import cadiff\n"
        "n = 0.5\n"
    )
    exec(
        f"{before}{setup}\ndef f(x, *given):\n    return x[1] ** 2 + x[0] * ({expression})",
        vars(module),
    )
    return module


@pytest.fixture(autouse=True)
def restored() -> Any:
    """What is changed of others is put back."""
    import builtins
    import decimal
    import math
    import os

    sqrt, argv = math.sqrt, [*sys.argv]
    yield
    math.sqrt = sqrt
    sys.argv[:] = argv
    decimal.getcontext().prec = 28
    os.environ.pop("CADIFF_TEST", None)
    vars(np).pop("cadiff_test", None)
    vars(builtins).pop("cadiff_test", None)
    for name in ("cadiff_config", "cadiff_held", "cfg", "pk", "pk.cfg"):
        sys.modules.pop(name, None)


METHODS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "value": (lambda p, *args: p(*args), lambda f, *args: f(*args)),
    "grad": (lambda p, *args: p.grad(*args), lambda f, *args: cadiff.grad(f)(*args)),
    "value_and_grad": (
        lambda p, *args: p.value_and_grad(*args),
        lambda f, *args: cadiff.value_and_grad(f)(*args),
    ),
    "hessian": (lambda p, *args: p.hessian(*args), lambda f, *args: cadiff.hessian(f)(*args)),
    "inner": (
        lambda p, *args: cadiff.grad(lambda x: 2.0 * p(x, *args[1:]))(args[0]),
        lambda f, *args: cadiff.grad(lambda x: 2.0 * f(x, *args[1:]))(args[0]),
    ),
}


def arguments(module: ModuleType) -> list[Any]:
    return [module.argument] if hasattr(module, "argument") else []


def numbers(result: Any) -> np.ndarray[Any, Any]:
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(part) for part in parts])


@examples(1000)
@given_by(st.integers(0, 10**9))
def test_changes_of_one_or_two_kinds_are_seen(seed: int) -> None:
    rng = random.Random(seed)
    names = rng.choices(list(REPLAYED), k=rng.choice([1, 1, 2]))
    modules = [module_of(*REPLAYED[name][:2]) for name in names]
    first, last = modules[0].f, modules[-1].f
    f = first if len(names) == 1 else lambda x, a, b: first(x, *a) + last(x, *b)
    program = cadiff.compile(f, max_traces=rng.choice([1, 2, 8]))
    x = np.array([1.5, 0.5])
    history = [*names]
    compiled, eager = METHODS[rng.choice(list(METHODS))]
    for _ in range(4):
        own = [arguments(module) for module in modules]
        args = own[0] if len(names) == 1 else own
        for _ in range(rng.choice([1, 2])):
            wanted = numbers(eager(f, x, *args))
            got = numbers(compiled(program, x, *args))
            np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg="\n".join(history))
        k = rng.randrange(len(names))
        change = rng.choice(REPLAYED[names[k]][2])
        vars(modules[k])["c"] = rng.random()
        exec(change, vars(modules[k]))
        history.append(f"of {names[k]}, where c = {modules[k].c}: {change}")


# Arguments that are another signature after a change.
BY_VALUE = {"an argument that is a set"}


@pytest.mark.parametrize("kind", REPLAYED)
def test_what_is_as_it_was_is_not_recorded_again(kind: str) -> None:
    setup, expression, changes = REPLAYED[kind]
    module = module_of(setup, expression)
    program = cadiff.compile(module.f)
    given = arguments(module)
    for point in range(5):
        program.grad(np.array([1.5 + point, 0.5]), *given)
    stats = program.stats()
    assert (stats["recordings"], stats["eager"]) == (1, 0), stats
    assert stats["traces"][0]["changed"] == []
    vars(module)["c"] = 0.75
    exec(changes[0], vars(module))
    if kind not in BY_VALUE and [*map(id, arguments(module))] == [*map(id, given)]:
        assert program.stats()["traces"][0]["changed"] != []


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("kind", [*REPLAYED, *KINDS, *WAYS])
def test_no_kind_of_state_is_stale(kind: str) -> None:
    setup, expression, changes = {**REPLAYED, **KINDS, **WAYS}[kind]
    if "pandas" in setup:
        pytest.importorskip("pandas")
    rng = random.Random(kind)
    module = module_of(setup, expression)
    program = cadiff.compile(module.f)
    x = np.array([1.5, 0.5])
    history: list[str] = []

    def check() -> None:
        given = arguments(module)
        for point in (x, x + 1.0):
            try:
                expected: Any = module.f(point, *given)
            except Exception as error:  # as for what is deleted
                with pytest.raises(type(error)):
                    program(point, *given)
                continue
            value = program(point, *given)
            assert value == pytest.approx(float(expected), rel=1e-12), (kind, history)
            gradient = program.grad(point, *given)
            wanted = cadiff.grad(module.f)(point, *given)
            np.testing.assert_allclose(gradient, wanted, rtol=1e-12, err_msg=str((kind, history)))

    check()
    stats = program.stats()
    assert kind not in ONCE or (stats["recordings"], stats["eager"]) == (1, 0)
    for change in (*changes, *changes):
        vars(module)["c"] = rng.random()
        history.append(change)
        try:
            exec(change, vars(module))
        except (NameError, AttributeError):  # it is deleted already
            continue
        check()


@pytest.mark.parametrize(
    "kind",
    [
        "how a metaclass makes objects",
        "the function of a property that is handed on",
        "the function behind remembered results",
        "a method of a dict that a class has",
        "a property that is computed once",
        "numbers in an array of C",
        "a record",
    ],
)
def test_what_is_called_through_objects_is_watched(kind: str) -> None:
    """So that f need not run eagerly, which what really runs would show."""
    setup, expression, _ = KINDS[kind]
    program = cadiff.compile(module_of(setup, expression).f)
    program(np.array([1.5, 0.5]))
    assert program.stats()["obstacles"] == []
