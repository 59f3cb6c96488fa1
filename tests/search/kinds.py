"""The kinds of subjects, what a case of each is, and a case by the text of its seed.

A seed's text is `kind:name:number`, all that a case depends on.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import docstrings, names, programs
from .invariants import Outcome, examine

KINDS = {"names": names.subjects, "docstrings": docstrings.subjects, "programs": programs.subjects}
SHARES = {"names": 6, "docstrings": 2, "programs": 2}  # of ten cases
NATIVE = 0.02  # of cases are compiled to machine code as well


@functools.cache
def subjects(kind: str) -> dict[str, Any]:
    """By name, in an order that is fixed and mixes modules."""
    found = {subject.name: subject for subject in KINDS[kind]()}
    return dict(sorted(found.items(), key=lambda item: zlib.crc32(item[0].encode())))


@dataclass(frozen=True)
class Seed:
    """What a case is made from."""

    kind: str
    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}:{self.number}"

    @staticmethod
    def parsed(text: str) -> Seed:
        kind, _, rest = text.partition(":")
        name, _, number = rest.rpartition(":")
        if name not in subjects(kind):
            raise ValueError(f"no subject of the kind {kind} is called {name!r}")
        return Seed(kind, name, int(number))

    def examine(self, announce: Callable[[str], None]) -> Outcome:
        """Announces the text of the case as soon as the package is asked for anything."""
        subject = subjects(self.kind)[self.name]
        if self.kind == "programs":
            outcome: Outcome = subject.examine(self.number, announce)
            return outcome
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), self.number])
        np.random.seed(self.number % 2**32)
        probe = subject.draw(rng)
        if probe is None:
            return Outcome("no case")
        announce(probe.text)
        return examine(probe, rng, native=bool(rng.random() < NATIVE))
