"""The limits: each one that is missed is found, and what was not measured is neither ok nor missed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tools.bench.hostile import REASONS
from tools.bench.promises import (
    BARE_NOTES,
    BASE,
    LIMITS,
    NOTES,
    PARSE,
    QUIX,
    QUIX_TWO,
    SCORE_PAGE,
    TRAFILATURA,
    UNMEASURED,
    assay_name,
    promises,
)

ONE, TWO = assay_name(1), assay_name(2)
Results = dict[str, Any]


def row(rate: float, cpu_ms: float = 1.0) -> dict[str, float]:
    return {"per_wall_second": rate, "per_cpu_second": rate, "cpu_ms": cpu_ms}


GOOD: Results = {
    "machine": {"cores": 2},
    "default_children": 1,
    "pages": {
        PARSE: row(1000),
        SCORE_PAGE: row(300),
        TRAFILATURA: row(12),
        BASE: row(180, 5.5),
        ONE: row(250, 3.5),
        TWO: row(345, 3.6),
        QUIX: row(260),
        QUIX_TWO: row(360),
    },
    "small messages": {BARE_NOTES: row(40_000), NOTES: row(20_000)},
    "hostile": {
        "lost": 0,
        "twice": 0,
        "wrong": 0,
        "faulty": 3,
        "dead": dict.fromkeys(REASONS.values(), 3),
        "rebalances": 0,
        "lag_ratio": 3.0,
        "hang_cost": 0.3,
        "rate_ratio": 0.9,
    },
    "growth": {"worst": 1.1},
}


def test_everything_is_kept() -> None:
    assert [(row.promise, row.verdict) for row in promises(GOOD)] == [(limit.promise, "ok") for limit in LIMITS]


HARMS: dict[str, Callable[[Results], object]] = {
    "CPU per page less than before, %": lambda r: r["pages"].update({ONE: row(250, 3.6)}),
    "`score_page` against the parse": lambda r: r["pages"].update({PARSE: row(1100)}),
    "`score_page` against trafilatura": lambda r: r["pages"].update({TRAFILATURA: row(13)}),
    "one worker with its children against one Quix Streams, wall": lambda r: r["pages"].update({QUIX: row(270)}),
    "one worker with its children against two Quix Streams, wall": lambda r: r["pages"].update({QUIX_TWO: row(370)}),
    "two children against one, wall": lambda r: r["pages"].update({ONE: row(260, 3.5)}),
    "1 KB messages against the bare loop": lambda r: r["small messages"].update({NOTES: row(19_000)}),
    "hostile mix: pages lost": lambda r: r["hostile"].update(lost=1),
    "hostile mix: pages twice": lambda r: r["hostile"].update(twice=1),
    "hostile mix: dead letters with the right reason, share of the faulty pages": lambda r: r["hostile"]["dead"].update(
        crashed=2
    ),
    "hostile mix: faulty pages with another result": lambda r: r["hostile"].update(wrong=1),
    "hostile mix: rebalances": lambda r: r["hostile"].update(rebalances=1),
    "hostile mix: event-loop lag p99 against the clean stream": lambda r: r["hostile"].update(lag_ratio=3.1),
    "hostile mix: a hang beyond its deadline, s": lambda r: r["hostile"].update(hang_cost=float("inf")),
    "hostile mix: rate without the hangs against the clean stream": lambda r: r["hostile"].update(rate_ratio=0.89),
    "memory over 50 times the input: last third against the second": lambda r: r["growth"].update(worst=1.11),
}


@pytest.mark.parametrize("limit", [limit.promise for limit in LIMITS])
def test_each_missed_limit_is_found(limit: str) -> None:
    results = deepcopy(GOOD)
    HARMS[limit](results)
    assert [row.promise for row in promises(results) if row.verdict == "missed"] == [limit]


def test_what_was_not_measured_is_said() -> None:
    rows = promises({"machine": {"cores": 2}, "default_children": 1})
    assert {(row.measured, row.verdict) for row in rows} == {(UNMEASURED, "")}
