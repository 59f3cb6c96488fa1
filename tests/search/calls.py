"""A drawn call as a probe: a path, arguments, options, and the twins that follow from these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .draws import ROUNDED, Argument
from .probes import Probe
from .worlds import World

Invoke = Callable[..., Any]  # of a world, arguments, options


@dataclass(frozen=True)
class Drawn:
    """`invoke(world, *args, **options)`, where options are constants."""

    name: str
    invoke: Invoke
    args: tuple[Argument, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def probe(self, with_twins: bool = True) -> Probe:
        def call(world: World, s: Any, t: Any) -> Any:
            return self.invoke(world, *(a.at(world, s, t) for a in self.args), **self.options)

        is_single = any(a.dress in ROUNDED for a in self.args)
        size = max((a.size for a in self.args), default=0.0)
        return Probe(self.text, call, self.twins() if with_twins else {}, is_single, size)

    @property
    def text(self) -> str:
        args = [("~" if a.along is not None else "") + str(a) for a in self.args]
        args += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"{self.name}({', '.join(args)})"

    def twins(self) -> dict[str, Probe]:
        found = {}
        if any(a.is_whole for a in self.args):
            found["integers are the same floats"] = tuple(
                a.as_floats() if a.is_whole else a for a in self.args
            )
        if any(a.dress for a in self.args):
            found["layouts and kinds are the same numbers"] = tuple(a.plainly() for a in self.args)
        return {
            name: replace(self, args=args).probe(with_twins=False) for name, args in found.items()
        }


def by_path(path: str) -> Invoke:
    return lambda world, *args, **options: world.find(path)(*args, **options)
