"""`jax.tree_util`: trees, which are containers with leaves in them, in the order JAX has them in.

Dicts are gone through in the order of their keys, and None is a tree without leaves. Classes that
are registered here are containers of cadiff, too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import cadiff

from . import absent

Function = Callable[..., Any]
__getattr__ = absent.missing(__name__)
Path = tuple[Any, ...]
_NONE: Any = object()

# --- places --------------------------------------------------------------------------------------


def _place(name: str, field: str, text: str) -> Any:
    """A class of places: of what is in a container, by one field."""
    members = {"__str__": lambda self: text.format(getattr(self, field))}
    return dataclasses.make_dataclass(name, [field], frozen=True, namespace=members)


SequenceKey = _place("SequenceKey", "idx", "[{!r}]")
DictKey = _place("DictKey", "key", "[{!r}]")
GetAttrKey = _place("GetAttrKey", "name", ".{}")
FlattenedIndexKey = _place("FlattenedIndexKey", "key", "[<flat index {}>]")


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """A path in words: `['a'][0]`, or, if `simple`, `a0` with a separator."""
    texts = (str(next(iter(vars(key).values()))) if simple else str(key) for key in keys)
    return separator.join(texts)


# --- kinds of containers -------------------------------------------------------------------------


class _Kind(NamedTuple):
    """How containers of a class are opened: children, their places, all else; and made."""

    parts: Callable[[Any], tuple[Iterable[Any], Iterator[Any], Any]]
    make: Callable[[Any, tuple[Any, ...]], Any]


def _sequence(make: Function, data: Function = lambda x: None) -> _Kind:
    return _Kind(lambda x: (x, map(SequenceKey, range(len(x))), data(x)), make)


def _mapping(make: Function, keys_of: Function, data: Function = lambda d: None) -> _Kind:
    def parts(d: Any) -> tuple[Iterable[Any], Iterator[Any], Any]:
        keys = tuple(keys_of(d))
        return [d[k] for k in keys], map(DictKey, keys), (data(d), keys)

    return _Kind(parts, lambda data, children: make(data[0], zip(data[1], children, strict=True)))


_KINDS: dict[type, _Kind] = {
    type(None): _Kind(lambda x: ((), iter(()), None), lambda data, children: None),
    tuple: _sequence(lambda data, children: children),
    list: _sequence(lambda data, children: [*children]),
    deque: _sequence(lambda data, children: deque(children, data), lambda x: x.maxlen),
    dict: _mapping(lambda data, pairs: dict(pairs), sorted),
    OrderedDict: _mapping(lambda data, pairs: OrderedDict(pairs), iter),
    defaultdict: _mapping(defaultdict, sorted, lambda d: d.default_factory),
}
_OF_NAMES = _Kind(lambda x: (x, map(GetAttrKey, x._fields), type(x)), lambda kind, c: kind(*c))


def _kind_of(x: Any) -> _Kind | None:
    kind = _KINDS.get(type(x))
    if kind is None and isinstance(x, tuple) and hasattr(x, "_fields"):
        return _OF_NAMES
    return kind


def _register(nodetype: Any, parts: Function, make: Function) -> Any:
    if nodetype in _KINDS:
        raise ValueError(f"{nodetype} is registered already")
    _KINDS[nodetype] = _Kind(parts, make)
    with contextlib.suppress(TypeError):  # of numbers, which are no containers of cadiff
        cadiff.register_container(nodetype, lambda x: (parts(x)[0], parts(x)[2]), make)
    return nodetype


def register_pytree_node(nodetype: type, flatten_func: Any, unflatten_func: Any, *_: Any) -> None:
    """From now on objects of a class are containers, in JAX's functions and in cadiff's.

    `flatten_func(x)` gives children and all else, `unflatten_func(all_else, children)` an x.
    """

    def parts(x: Any) -> tuple[Any, Iterator[Any], Any]:
        children, data = flatten_func(x)
        return [*children], iter(()), data

    _register(nodetype, parts, unflatten_func)


def register_pytree_node_class(cls: Any) -> Any:
    """Register a class with `tree_flatten(self)` and `tree_unflatten(cls, data, children)`."""
    register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten)
    return cls


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
    names = *data_fields, *meta_fields
    n = len(data_fields)

    def parts(x: Any) -> tuple[Any, Any, Any]:
        values = tuple(getattr(x, name) for name in names)
        return values[:n], map(GetAttrKey, names[:n]), values[n:]

    def make(data: Any, children: Any) -> Any:
        return nodetype(**dict(zip(names, (*children, *data), strict=True)))

    return _register(nodetype, parts, make)


class Partial(functools.partial):  # type: ignore[type-arg]
    """`functools.partial` as a container of its arguments."""


register_pytree_node(
    Partial,
    lambda x: ((x.args, x.keywords), x.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


# --- trees ---------------------------------------------------------------------------------------


class PyTreeDef:
    """A tree without its leaves."""

    def __init__(self, of_type: Any, data: Any, parts: tuple[PyTreeDef, ...]) -> None:
        self.type, self.data, self.parts = of_type, data, parts
        self.num_leaves: int = sum(part.num_leaves for part in parts) if of_type else 1
        self.num_nodes: int = 1 + sum(part.num_nodes for part in parts)

    def children(self) -> list[PyTreeDef]:
        """Those of the containers that are in the outermost one."""
        return [*self.parts]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with leaves."""
        given = [*leaves]
        if len(given) != self.num_leaves:
            raise ValueError(f"{self!r} has {self.num_leaves} leaves, and {len(given)} are given")
        return self._filled(iter(given))

    def _filled(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return _KINDS.get(self.type, _OF_NAMES).make(
            self.data, tuple([part._filled(leaves) for part in self.parts])
        )

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What a tree, of which this one is a beginning, has in the places of the leaves."""
        if self.type is None:
            return [tree]
        children, _, data = kind.parts(tree) if (kind := _kind_of(tree)) else ((), (), _NONE)
        children = [*children]
        is_alike = type(tree) is self.type and data == self.data
        if not is_alike or len(children) != len(self.parts):
            raise ValueError(f"expected {self!r}, got {tree!r}")
        pairs = zip(self.parts, children, strict=True)
        return [leaf for part, child in pairs for leaf in part.flatten_up_to(child)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        mine, its = ((tree.type, tree.parts, tree.data) for tree in (self, other))
        return bool(mine == its)

    def __hash__(self) -> int:
        return hash((self.type, self.parts))

    def __repr__(self) -> str:
        return f"PyTreeDef({self._text()})"

    def _text(self) -> str:
        texts = [part._text() for part in self.parts]
        if self.type is None:
            return "*"
        if self.type is dict:
            pairs = zip(self.data[1], texts, strict=True)
            return f"{{{', '.join(f'{key!r}: {text}' for key, text in pairs)}}}"
        forms = {tuple: f"({{}}{',' * (len(texts) == 1)})", list: "[{}]", type(None): "None"}
        own = f"{self.type.__name__}[{self.data}]"
        if self.type not in _KINDS:
            own = f"namedtuple[{self.type.__name__}]"
        form = forms.get(self.type, f"CustomNode({own}, [{{}}])")
        return form.replace("{}", ", ".join(texts))


_LEAF = PyTreeDef(None, None, ())


def _flattened(x: Any, leaves: list[Any], is_leaf: Function | None) -> PyTreeDef:
    kind = None if is_leaf is not None and is_leaf(x) else _kind_of(x)
    if kind is None:
        leaves.append(x)
        return _LEAF
    children, _, data = kind.parts(x)
    parts = tuple([_flattened(child, leaves, is_leaf) for child in children])
    return PyTreeDef(type(x), data, parts)


def tree_flatten(tree: Any, is_leaf: Function | None = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, and the tree without them."""
    leaves: list[Any] = []
    return leaves, _flattened(tree, leaves, is_leaf)


def tree_map(f: Function, tree: Any, *rest: Any, is_leaf: Function | None = None) -> Any:
    """A tree of f of each leaf, and of what other trees have in its place."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    return treedef.unflatten(map(f, leaves, *map(treedef.flatten_up_to, rest)))


def in_order(tree: Any) -> Any:
    """The tree with its dicts in the order of their keys."""
    leaves, treedef = tree_flatten(tree)
    return treedef.unflatten(leaves)


def tree_reduce(
    function: Function, tree: Any, initializer: Any = _NONE, is_leaf: Function | None = None
) -> Any:
    """`functools.reduce` of the leaves."""
    first = () if initializer is _NONE else (initializer,)
    return functools.reduce(function, tree_flatten(tree, is_leaf)[0], *first)


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: Any, pytree_to_transpose: Any) -> Any:
    """A tree of trees, turned inside out; None: the inner one is that of the first."""
    rows = outer_treedef.flatten_up_to(pytree_to_transpose)
    inner = tree_flatten(rows[0])[1] if inner_treedef is None else inner_treedef
    columns = zip(*(inner.flatten_up_to(row) for row in rows), strict=True)
    return inner.unflatten(map(outer_treedef.unflatten, columns))


def _with_paths(tree: Any, is_leaf: Function | None, path: Path) -> Iterator[tuple[Path, Any]]:
    kind = None if is_leaf is not None and is_leaf(tree) else _kind_of(tree)
    if kind is None:
        yield path, tree
        return
    children, names, _ = kind.parts(tree)
    for k, child in enumerate(children):
        name = next(names, FlattenedIndexKey(k))
        yield from _with_paths(child, is_leaf, (*path, name))


def tree_flatten_with_path(
    tree: Any, is_leaf: Function | None = None
) -> tuple[list[tuple[Path, Any]], PyTreeDef]:
    """Pairs of path and leaf, and the tree without its leaves."""
    return [*_with_paths(tree, is_leaf, ())], tree_flatten(tree, is_leaf)[1]


def tree_map_with_path(f: Function, tree: Any, *rest: Any, is_leaf: Function | None = None) -> Any:
    """As `tree_map`, of `f(path, leaf, *others)`."""
    pairs, treedef = tree_flatten_with_path(tree, is_leaf)
    others = zip(pairs, *map(treedef.flatten_up_to, rest), strict=True)
    return treedef.unflatten(f(*pair, *more) for pair, *more in others)


globals().update(
    {
        "tree_leaves": lambda tree, is_leaf=None: tree_flatten(tree, is_leaf)[0],
        "tree_structure": lambda tree, is_leaf=None: tree_flatten(tree, is_leaf)[1],
        "tree_unflatten": PyTreeDef.unflatten,
        "tree_all": lambda tree, is_leaf=None: all(tree_flatten(tree, is_leaf)[0]),
        "tree_leaves_with_path": lambda tree, is_leaf=None: [*_with_paths(tree, is_leaf, ())],
        "tree_broadcast": lambda prefix, full, is_leaf=None: tree_map(
            lambda x, part: tree_map(lambda _: x, part), prefix, full, is_leaf=is_leaf
        ),
        "treedef_children": PyTreeDef.children,
        "treedef_is_leaf": lambda treedef: treedef.type is None,
        "treedef_tuple": lambda treedefs: PyTreeDef(tuple, None, tuple(treedefs)),
    }
)
