"""`jax.tree_util`: trees, which are containers with leaves in them, in the order JAX has them in.

Dicts are gone through in the order of their keys, and None is a tree without leaves. Classes that
are registered here are containers of cadiff, too.
"""

import contextlib
import dataclasses
import functools
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import cadiff

from ..calls import in_a_row
from ..trees import Function, Kind, Tree, kind_by
from .arrays import given_back

_NONE: Any = object()


def _place(name: str, field: str, text: str) -> Any:
    """A class of places: of what is in a container, by one field."""
    said = {"__str__": lambda self: text.format(getattr(self, field)), "__module__": __name__}
    return dataclasses.make_dataclass(name, [field], frozen=True, namespace=said)


SequenceKey = _place("SequenceKey", "idx", "[{!r}]")
DictKey = _place("DictKey", "key", "[{!r}]")
GetAttrKey = _place("GetAttrKey", "name", ".{}")
FlattenedIndexKey = _place("FlattenedIndexKey", "key", "[<flat index {}>]")


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """A path in words: `['a'][0]`, or, if `simple`, `a0` with a separator."""
    texts = (str(next(iter(vars(key).values()))) if simple else str(key) for key in keys)
    return separator.join(texts)


def _sequence(make: Function) -> Kind:
    return Kind(lambda x: (x, None), make, lambda x: map(SequenceKey, range(len(x))))


def _mapping(make: Function, keys: Function, factory: Function = lambda d: ()) -> Kind:
    """Of dicts, by an order of their keys, which are all else, behind a factory if any."""
    return Kind(
        lambda d: ([d[k] for k in keys(d)], (*factory(d), tuple(keys(d)))),
        lambda data, children: make(*data[:-1], zip(data[-1], children, strict=True)),
        lambda d: map(DictKey, keys(d)),
    )


_KINDS: dict[type, Kind] = {
    type(None): Kind(lambda x: ((), None), lambda data, children: None),
    tuple: _sequence(lambda data, children: children),
    list: _sequence(lambda data, children: [*children]),
    dict: _mapping(dict, sorted),
    OrderedDict: _mapping(OrderedDict, iter),
    defaultdict: _mapping(defaultdict, sorted, lambda d: (d.default_factory,)),
}
_OF_NAMES = Kind(lambda x: (x, type(x)), lambda t, c: t(*c), lambda x: map(GetAttrKey, x._fields))


def register_pytree_node(
    nodetype: Any, flatten_func: Any, unflatten_func: Any, flatten_with_keys_func: Any = None
) -> Any:
    """Objects of a class are containers from now on, in JAX's functions and in cadiff's.

    `flatten_func(x)` gives children and all else, `flatten_with_keys_func(x)` places beside them.
    """
    if nodetype in _KINDS:
        raise ValueError(f"{nodetype} is registered already")

    indices = lambda x: map(FlattenedIndexKey, itertools.count())  # noqa: E731
    _KINDS[nodetype] = kind_by(flatten_func, unflatten_func, flatten_with_keys_func, indices)
    with contextlib.suppress(TypeError):  # of numbers, which are no containers of cadiff
        cadiff.register_container(
            nodetype,
            lambda x: PyTreeDef.parts_of(x),
            lambda data, children: PyTreeDef.of_parts(data, given_back(children)),
        )


def register_pytree_with_keys(
    nodetype: Any, flatten_with_keys: Any, unflatten_func: Any, flatten_func: Any = None
) -> None:
    """As `register_pytree_node`, by what gives places as well."""
    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_dataclass(
    nodetype: Any, data_fields: Any = None, meta_fields: Any = (), drop_fields: Any = ()
) -> Any:
    """Objects of a dataclass are containers of their fields, but for those of `meta_fields`.

    Without lists of fields, those with `metadata=dict(static=True)` are meta fields.
    """
    if data_fields is None:
        fields = [f for f in dataclasses.fields(nodetype) if f.init]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if f.name not in meta_fields]

    def pairs(x: Any) -> tuple[Any, Any]:
        data = tuple(getattr(x, k) for k in meta_fields)
        return [(GetAttrKey(k), getattr(x, k)) for k in data_fields], data

    def make(data: Any, children: Any) -> Any:
        return nodetype(**dict(zip((*data_fields, *meta_fields), (*children, *data), strict=True)))

    register_pytree_with_keys(nodetype, pairs, make)
    return nodetype


class Partial(functools.partial):  # type: ignore[type-arg]
    """`functools.partial` as a container of its arguments."""


register_pytree_node(
    Partial,
    lambda x: ((x.args, x.keywords), x.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


class PyTreeDef(Tree):
    """A tree without its leaves."""

    @staticmethod
    def kind_of(kind: type) -> Kind | None:
        """How containers of a class are opened and made."""
        is_named = kind not in _KINDS and issubclass(kind, tuple) and hasattr(kind, "_fields")
        return _OF_NAMES if is_named else _KINDS.get(kind)

    def children(self) -> list[Any]:
        """Those of the containers that are in the outermost one."""
        return [*self.parts]

    def __repr__(self) -> str:
        return f"PyTreeDef({self._text()})"

    def _text(self) -> str:
        if self.type is None:
            return "*"
        texts = [part._text() for part in self.parts]
        if self.type in (dict, list, tuple, type(None)):
            shown = type("Shown", (str,), {"__repr__": str.__str__})
            return repr(_KINDS[self.type].make(self.data, tuple(map(shown, texts))))
        data = self.data[0] if self.type is OrderedDict else self.data
        own = (self.type.__name__, data) if self.type in _KINDS else ("namedtuple", self.type)
        return f"CustomNode({own[0]}[{getattr(own[1], '__name__', own[1])}], [{', '.join(texts)}])"


_LEAF = PyTreeDef()
tree_flatten, tree_map = PyTreeDef.flatten, PyTreeDef.map


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a tree as a vector, and the function that makes a tree of a vector."""
    leaves, tree = tree_flatten(pytree)
    vector, apart = in_a_row(leaves)
    return vector, lambda vector: tree.unflatten(apart(vector))


def tree_reduce(function: Any, tree: Any, initializer: Any = _NONE, is_leaf: Any = None) -> Any:
    """`functools.reduce` of the leaves."""
    first = () if initializer is _NONE else (initializer,)
    return functools.reduce(function, tree_flatten(tree, is_leaf)[0], *first)


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: Any, pytree_to_transpose: Any) -> Any:
    """A tree of trees, turned inside out; None: the inner one is that of the first."""
    rows = outer_treedef.flatten_up_to(pytree_to_transpose)
    inner = tree_flatten(rows[0])[1] if inner_treedef is None else inner_treedef
    columns = zip(*(inner.flatten_up_to(row) for row in rows), strict=True)
    return inner.unflatten(map(outer_treedef.unflatten, columns))


def tree_flatten_with_path(tree: Any, is_leaf: Any = None) -> tuple[list[Any], PyTreeDef]:
    """Pairs of path and leaf, and the tree without its leaves."""
    pairs: list[Any] = []
    return pairs, PyTreeDef.opened(tree, pairs, is_leaf, ())


def tree_map_with_path(f: Function, tree: Any, *rest: Any, is_leaf: Function | None = None) -> Any:
    """As `tree_map`, of `f(path, leaf, *others)`."""
    pairs, treedef = tree_flatten_with_path(tree, is_leaf)
    others = zip(pairs, *map(treedef.flatten_up_to, rest), strict=True)
    return treedef.unflatten(f(*pair, *more) for pair, *more in others)


globals().update(
    {
        "tree_leaves": lambda *how, **named: tree_flatten(*how, **named)[0],
        "tree_structure": lambda *how, **named: tree_flatten(*how, **named)[1],
        "tree_unflatten": PyTreeDef.unflatten,
        "tree_all": lambda *how, **named: all(tree_flatten(*how, **named)[0]),
        "tree_leaves_with_path": lambda *how, **named: tree_flatten_with_path(*how, **named)[0],
        "all_leaves": lambda some, is_leaf=None: all(
            tree_flatten(x, is_leaf)[1] == _LEAF for x in some
        ),
        "tree_broadcast": lambda prefix, full, is_leaf=None: tree_map(
            lambda x, part: tree_map(lambda _: x, part), prefix, full, is_leaf=is_leaf
        ),
        "register_pytree_node_class": lambda cls: (
            register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten) or cls
        ),
        "register_static": lambda cls: (
            register_pytree_node(cls, lambda x: ((), x), lambda x, _: x) or cls
        ),
        "default_registry": SimpleNamespace(
            flatten_one_level=lambda x: (kind := PyTreeDef.kind_of(type(x))) and kind.parts(x)
        ),
        "treedef_children": PyTreeDef.children,
        "treedef_is_leaf": lambda treedef: treedef == _LEAF,
        "treedef_tuple": lambda treedefs: PyTreeDef(tuple, None, tuple(treedefs)),
    }
)
