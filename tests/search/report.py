"""What was tried and what came of it, by kind and by invariant."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .invariants import Outcome
from .kinds import Seed


@dataclass
class Report:
    """Counts, and the cases that are wrong."""

    statuses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    tried: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    refusals: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    cases: list[tuple[Seed, Outcome]] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def note(self, seed: Seed, outcome: Outcome, seconds: float) -> None:
        status = "wrong" if outcome.findings else outcome.status
        self.statuses[seed.kind][status] += 1
        self.tried[seed.kind].update(outcome.tried)
        self.slowest = sorted([*self.slowest, (seconds, str(seed))], reverse=True)[:5]
        self.known.update(outcome.known)
        if outcome.refusal:
            self.refusals[re.sub(r"[\d.]+", "#", outcome.refusal)[:90]] += 1
        if outcome.findings:
            invariants = {f.invariant for f in outcome.findings}
            self.wrong[seed.kind].update(invariants)
            self.cases.append((seed, outcome))

    @property
    def is_green(self) -> bool:
        return not self.cases

    def text(self) -> str:
        lines = []
        for kind, statuses in self.statuses.items():
            counts = ", ".join(f"{status} {count:,}" for status, count in sorted(statuses.items()))
            lines.append(f"{kind}: {sum(statuses.values()):,} cases; {counts}")
            for invariant in sorted({*self.tried[kind], *self.wrong[kind]}):
                tried, wrong = self.tried[kind][invariant], self.wrong[kind][invariant]
                lines.append(f"  {tried:8,} tried {wrong:6,} wrong  {invariant}")
        lines += [f"  {count:8,} by convention: {reason}" for reason, count in self.known.items()]
        lines.append("slowest: " + "; ".join(f"{s:.1f} s {name}" for s, name in self.slowest))
        return "\n".join(lines)


def shown(seed: Seed, outcome: Outcome) -> str:
    """A case that is wrong, for a person to run again."""
    wrong = [f"  {finding.invariant}: {finding.message}" for finding in outcome.findings[:4]]
    return "\n".join([str(seed), *wrong, f"  {outcome.text[:1500]}"])
