"""The checker itself, beside the seeded bugs: it finds each kind of fault, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.faults.ledger import Ledger


def whole() -> Ledger:
    """A run in which everything went well."""
    fed = {f"key-{key}/{number}": "plain" for number in range(4) for key in range(3)}
    fed |= {"key-0/4": "poison", "key-1/4": "big", "key-2/4": "later"}
    out = [name for name, kind in fed.items() if kind in ("plain", "later")]
    audited = random.Random(1).sample(out, len(out))
    effects = [f"effect {name}" for name, kind in fed.items() if kind != "poison"] + [f"audit {name}" for name in out]
    transactions = {"first": (3, 3), "second": (1, 1)}
    return Ledger(fed, list(out), audited, ["key-1/4", "key-0/4"], effects, {"key-9/0"}, transactions)


def test_nothing_is_wrong_where_nothing_is() -> None:
    ledger = whole()
    assert ledger.complete
    assert ledger.check().clean
    assert set(ledger.check().counts.values()) == {0}


def move_first_behind(ledger: Ledger) -> None:
    ledger.arrived.append(ledger.arrived.pop(0))


@pytest.mark.parametrize(
    ("harm", "kind", "line"),
    [
        (lambda run: run.arrived.remove("key-1/2"), "lost", "arrived key-1/2"),
        (lambda run: run.audited.remove("key-2/4"), "lost", "audited key-2/4"),
        (lambda run: run.dead.remove("key-0/4"), "lost", "dead key-0/4"),
        (lambda run: run.audited.append("key-1/2"), "twice", "audited key-1/2 x2"),
        (lambda run: run.dead.append("key-1/4"), "twice", "dead key-1/4 x2"),
        (move_first_behind, "out_of_order", "arrived key-0/0 behind 3"),
        (lambda run: run.arrived.append("key-0/4"), "unexpected", "arrived key-0/4"),
        (lambda run: run.audited.append("nobody/1"), "unexpected", "audited nobody/1"),
        (lambda run: run.dead.append("key-9/0"), "aborted", "dead key-9/0"),
        (lambda run: run.transactions.update(third=(4, 2)), "torn", "transaction third 2 of 4"),
        (lambda run: run.effects.remove("effect key-1/4"), "wrong_effects", "effect key-1/4 x0"),
        (lambda run: run.effects.append("audit key-0/1"), "wrong_effects", "audit key-0/1 x2"),
        (lambda run: run.effects.append("effect key-0/4"), "wrong_effects", "effect key-0/4 x1"),
    ],
)
def test_every_kind_of_wrong_is_found(harm: Callable[[Ledger], None], kind: str, line: str) -> None:
    ledger = whole()
    harm(ledger)
    findings = ledger.check()
    assert getattr(findings, kind) == (line,)
    assert {name for name, count in findings.counts.items() if count} == {kind}
    assert not findings.clean


def test_records_of_a_settled_run_may_not_come_again() -> None:
    ledger = whole()
    known = ledger.known
    ledger.settle()
    assert ledger.check().clean
    assert ledger.complete
    assert ledger.known == known
    ledger.fed["key-0/5"] = "plain"
    ledger.arrived += ["key-0/5", "key-1/3", "key-5/0"]
    ledger.effects += ["effect key-0/5", "audit key-0/5"]
    ledger.audited.append("key-0/5")
    findings = ledger.check()
    assert findings.twice == ("arrived key-1/3 after it was settled",)
    assert findings.unexpected == ("arrived key-5/0",)
