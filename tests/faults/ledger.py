"""The inputs, the outputs, and the faults that they show. It is pure, has its own tests, and finds the seeded bugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from streams.topology.codec import Headers, OutputRecord

TRANSACTION = "faults-transaction"
"""The header of an output that says in which transaction it was written, and how many records that has."""
DIES = ("poison", "big")
"""Kinds of records that must end as dead letters, and nowhere else."""


def with_transaction(outputs: Sequence[OutputRecord], name: str) -> list[OutputRecord]:
    """The outputs of one transaction, each with a note of it in place of that of an earlier one."""
    note = (TRANSACTION, f"{name}:{len(outputs)}".encode())
    return [
        output._replace(headers=(*(header for header in output.headers if header[0] != TRANSACTION), note))
        for output in outputs
    ]


@dataclass(frozen=True)
class Findings:
    """Everything that should not be, each a list of record ids with where."""

    lost: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    out_of_order: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    aborted: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()
    wrong_effects: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether there is nothing."""
        return not any(self.counts.values())

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
    never_committed: set[str] = field(default_factory=set)
    """Ids of inputs whose transactions were aborted."""
    transactions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each transaction of a worker, how many records it has and how many of them a reader has got."""
    settled: dict[str, int] = field(default_factory=dict)
    """For each key, the first number that is not settled; see ``settle``."""
    settled_outputs: int = 0

    def wanted(self, where: str) -> set[str]:
        """The ids that should be at a place."""
        dies = where == "dead"
        return {name for name, kind in self.fed.items() if (kind in DIES) == dies}

    @property
    def known(self) -> int:
        """How many different records were written, at each place."""
        return self.settled_outputs + sum(len(set(where)) for where in (self.arrived, self.audited, self.dead))

    @property
    def complete(self) -> bool:
        """Whether every input has an output."""
        return all(self.wanted(where) <= set(getattr(self, where)) for where in ("arrived", "audited", "dead"))

    def note_transaction(self, headers: Headers) -> None:
        """A reader has got a record with these headers."""
        note = next((value for name, value in headers if name == TRANSACTION), None)
        if note is None:
            return
        name, _, size = note.decode().partition(":")
        self.transactions[name] = (int(size), self.transactions.get(name, (0, 0))[1] + 1)

    def settle(self) -> None:
        """Forgets a complete run without findings, so that a long run takes bounded memory. Repetitions are found."""
        for name in self.fed:
            key, number = name.rsplit("/", 1)
            self.settled[key] = max(self.settled.get(key, 0), int(number) + 1)
        self.settled_outputs = self.known
        for forgotten in (self.fed, self.arrived, self.audited, self.dead, self.effects, self.transactions):
            forgotten.clear()

    def without_repetitions(self) -> Ledger:
        """The run as a reader sees it that ignores repeated ids: under at-least-once delivery, outputs may repeat."""
        return replace(
            self,
            arrived=list(dict.fromkeys(self.arrived)),
            audited=list(dict.fromkeys(self.audited)),
            dead=list(dict.fromkeys(self.dead)),
        )

    def check(self, running: bool = False) -> Findings:
        """Compares the outputs with the inputs. While the run goes on, what is missing may still come."""
        lost, twice, unexpected, aborted = [], [], [], []
        for where in ("arrived", "audited", "dead"):
            wanted, found = self.wanted(where), Counter(getattr(self, where))
            lost += [f"{where} {name}" for name in sorted(wanted - found.keys())]
            twice += [f"{where} {name} x{times}" for name, times in sorted(found.items()) if times > 1]
            for name in sorted(found.keys() - wanted):
                if name in self.never_committed:
                    aborted.append(f"{where} {name}")
                elif self._is_settled(name):
                    twice.append(f"{where} {name} after it was settled")
                else:
                    unexpected.append(f"{where} {name}")
        findings = Findings(
            twice=tuple(twice),
            out_of_order=tuple(self._out_of_order()),
            unexpected=tuple(unexpected),
            aborted=tuple(aborted),
        )
        if running:
            return findings
        return replace(findings, lost=tuple(lost), torn=tuple(self._torn()), wrong_effects=tuple(self._wrong_effects()))

    def _is_settled(self, name: str) -> bool:
        key, number = name.rsplit("/", 1)
        return int(number) < self.settled.get(key, 0)

    def _torn(self) -> list[str]:
        """Transactions of which a reader has got some records, and others never."""
        return [f"transaction {name} {got} of {size}" for name, (size, got) in self.transactions.items() if got != size]

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
