"""Trees, which are containers with leaves in them: opened, filled and compared.

What a container is, and in which order it is gone through, is known to the packages: each has a
class of trees of its own, with the kinds of its containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..transforms._flat import UNWATCHED

Function = Callable[..., Any]


class Kind(NamedTuple):
    """How containers of a class are opened, into children and all else; made; and the places."""

    parts: Callable[[Any], tuple[Iterable[Any], Any]]
    make: Callable[[Any, tuple[Any, ...]], Any]
    places: Callable[[Any], Iterable[Any]] = lambda x: ()


def kind_by(flatten: Any, make: Function, with_places: Any, places: Function) -> Kind:
    """The kind of a class, by its registered functions; programs do not look into these.

    `with_places`, or None, gives children with their places beside them.
    """
    UNWATCHED.update(getattr(f, "__code__", None) for f in (flatten, make, with_places))

    def parts(x: Any) -> tuple[Any, Any]:
        if flatten:
            children, data = flatten(x)
            return [*children], data
        children, data = with_places(x)
        return [child for _, child in children], data

    of_pairs = with_places and (lambda x: [place for place, _ in with_places(x)[0]])
    return Kind(parts, make, of_pairs or places)


class Tree:
    """A tree without its leaves: the class of a container, what beside children it has, and these.

    A leaf has no class.
    """

    def __init__(self, of_type: Any = None, data: Any = None, parts: tuple[Any, ...] = ()) -> None:
        self.type, self.data, self.parts = of_type, data, parts
        self.num_leaves: int = sum([part.num_leaves for part in parts]) if of_type else 1

    @property
    def num_nodes(self) -> Any:
        """How many containers and leaves there are, an int."""
        return 1 + sum(part.num_nodes for part in self.parts)

    @staticmethod
    def kind_of(kind: type) -> Kind | None:
        """How containers of a class are opened and made; None of what is a leaf."""
        raise NotImplementedError

    @classmethod
    def opened(cls, x: Any, leaves: list[Any], is_leaf: Any = None, path: Any = None) -> Any:
        """The tree of x; its leaves are added to a list, beside their paths if x has one."""
        kind = None if is_leaf is not None and is_leaf(x) else cls.kind_of(type(x))
        if kind is None:
            leaves.append(x if path is None else (path, x))
            return cls()
        children, data = kind.parts(x)
        if path is None:
            parts = [cls.opened(child, leaves, is_leaf) for child in children]
        else:
            pairs = zip(children, kind.places(x), strict=False)
            parts = [cls.opened(child, leaves, is_leaf, (*path, place)) for child, place in pairs]
        return cls(type(x), data, tuple(parts))

    @classmethod
    def parts_of(cls, x: Any) -> tuple[Any, Any]:
        """What is in a container, and all else; by a look-up, behind which programs do not go."""
        kind: Any = cls.kind_of(type(x))
        children, data = kind.parts(x)
        return children, (type(x), data)

    @classmethod
    def of_parts(cls, data: Any, children: Any) -> Any:
        """The container again."""
        kind: Any = cls.kind_of(data[0])
        return kind.make(data[1], children)

    @classmethod
    def flatten(cls, tree: Any, is_leaf: Function | None = None) -> tuple[list[Any], Any]:
        """The leaves of a tree, and the tree without them."""
        leaves: list[Any] = []
        return leaves, cls.opened(tree, leaves, is_leaf)

    @classmethod
    def map(cls, f: Function, tree: Any, *rest: Any, is_leaf: Function | None = None) -> Any:
        """A tree of f of each leaf, and of what other trees have in its place."""
        if is_leaf is None and cls.kind_of(type(tree)) is None:
            return f(tree, *rest)
        leaves, of_leaves = cls.flatten(tree, is_leaf)
        return of_leaves.unflatten(map(f, leaves, *map(of_leaves.flatten_up_to, rest)))

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with leaves."""
        given = [*leaves]
        if len(given) != self.num_leaves:
            raise ValueError(f"{self!r} has {self.num_leaves} leaves, and {len(given)} are given")
        return self._filled(iter(given))

    def _filled(self, leaves: Iterator[Any]) -> Any:
        kind = self.type and self.kind_of(self.type)
        if not kind:
            return next(leaves)
        return kind.make(self.data, tuple([part._filled(leaves) for part in self.parts]))

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What a tree, of which this one is a beginning, has in the places of the leaves."""
        if self.type is None:
            return [tree]
        kind = self.kind_of(type(tree)) if self.is_alike(type(tree)) else None
        children, data = kind.parts(tree) if kind else ((), self)
        children = [*children]
        if data != self.data or len(children) != len(self.parts):
            raise ValueError(f"expected {self!r}, got {tree!r}")
        pairs = zip(self.parts, children, strict=True)
        return [leaf for part, child in pairs for leaf in part.flatten_up_to(child)]

    def is_alike(self, kind: type) -> bool:
        """Whether containers of a class may stand for those of this one."""
        return kind is self.type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.type, self.parts))
