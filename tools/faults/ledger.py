"""The inputs, the outputs, and the faults that they show. It is pure, has its own tests, and finds the seeded bugs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields, replace

DIES = ("poison", "big")
"""Kinds of records that must end as dead letters, and nowhere else."""


@dataclass(frozen=True)
class Findings:
    """Everything that should not be, each a list of record ids with where."""

    lost: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    out_of_order: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    wrong_effects: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether there is nothing."""
        return not (self.lost or self.twice or self.out_of_order or self.unexpected or self.wrong_effects)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {each.name: len(getattr(self, each.name)) for each in fields(self)}


@dataclass
class Ledger:
    """A run's records: the inputs by id, and the outputs of each place in the order of reading."""

    fed: dict[str, str] = field(default_factory=dict)
    """Kind by record id."""
    arrived: list[str] = field(default_factory=list)
    audited: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    """Effect ids: the purpose and the record's id."""

    def wanted(self, where: str) -> set[str]:
        """The ids that should be at a place."""
        dies = where == "dead"
        return {name for name, kind in self.fed.items() if (kind in DIES) == dies}

    @property
    def known(self) -> int:
        """How many different records were written, at each place."""
        return sum(len(set(where)) for where in (self.arrived, self.audited, self.dead))

    @property
    def complete(self) -> bool:
        """Whether every input has an output."""
        return all(self.wanted(where) <= set(getattr(self, where)) for where in ("arrived", "audited", "dead"))

    def without_repetitions(self) -> Ledger:
        """The run as a reader sees it that ignores repeated ids: under at-least-once delivery, outputs may repeat."""
        return replace(
            self,
            arrived=list(dict.fromkeys(self.arrived)),
            audited=list(dict.fromkeys(self.audited)),
            dead=list(dict.fromkeys(self.dead)),
        )

    def check(self) -> Findings:
        """Compares the outputs with the inputs."""
        lost, twice, unexpected = [], [], []
        for where in ("arrived", "audited", "dead"):
            wanted, found = self.wanted(where), Counter(getattr(self, where))
            lost += [f"{where} {name}" for name in sorted(wanted - found.keys())]
            twice += [f"{where} {name} x{times}" for name, times in sorted(found.items()) if times > 1]
            unexpected += [f"{where} {name}" for name in sorted(found.keys() - wanted)]
        return Findings(
            tuple(lost), tuple(twice), tuple(self._out_of_order()), tuple(unexpected), tuple(self._wrong_effects())
        )

    def _out_of_order(self) -> list[str]:
        """Arrivals that come behind a later one of their key."""
        latest: dict[str, int] = {}
        found = []
        for name in self.arrived:
            key, number = name.rsplit("/", 1)
            if int(number) < latest.get(key, -1):
                found.append(f"arrived {name} behind {latest[key]}")
            latest[key] = max(latest.get(key, -1), int(number))
        return found

    def _wrong_effects(self) -> list[str]:
        wanted = {f"effect {name}" for name, kind in self.fed.items() if kind != "poison"}
        wanted |= {f"audit {name}" for name, kind in self.fed.items() if kind not in DIES}
        found = Counter(self.effects)
        return [f"{name} x{found[name]}" for name in sorted(wanted | found.keys()) if found[name] != (name in wanted)]
