"""The tables: every part that was measured is in them, and in the page of the docs between its two marks."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from tools.bench import table
from tools.bench.growth import Growth, Slope
from tools.bench.test_promises import GOOD

MORE = {
    "lag_p50_ms": 0.2,
    "lag_p99_ms": 4.5,
    "lag_max_ms": 30.0,
    "poll_gap_s": 0.06,
    "heartbeat_gap_s": 3.01,
    "rebalances": 0.0,
}
CPU = {"parent_ms": 1.0, "children_ms": 2.0, "broker_ms": 0.5, "peak_mb": 150.0, "children_peak_mb": 90.0}


def everything() -> table.Results:
    results = deepcopy(GOOD)
    results["machine"] |= {"date": "2026-11-23", "load": 0.1, "versions": {"Python": "3.11.7"}}
    for name, row in results["pages"].items():
        row |= CPU | (MORE if name.startswith("Assay") else {})
    slope = Slope(4.0, 0.5, 1.4, 40.0, 0.1)
    memory = Growth(23_850, 160.0, (120.0, 121.0), (90.0, 91.0), (300.0, 301.0), (200.0, 201.0))
    results["growth"] |= {"scales": [954, 4770], "slopes": {"bare aiokafka loop": vars(slope)}, "memory": vars(memory)}
    results["hostile"] |= {
        "clean": MORE,
        "mixed": MORE,
        "pages": 3000,
        "processed": 2991,
        "workers": {"processes": 1, "cpu_seconds": 5.0},
    }
    results["start"] = {"Assay, exactly once, inline": {"ready": 2.0, "first": 2.1, "cpu": 1.5, "children_cpu": 0.5}}
    results["pace"] = {"asks": 3000, "rate": 50, "share": 0.998, "most_in_a_second": 50}
    results["profile"] = {"pages": {"parse": 0.3}}
    return results


def test_every_part_is_in_the_tables() -> None:
    text = table.tables(everything())
    for said in (
        "2026-11-23, 2 cores",
        "| Assay, exactly once, 1 child | 250 | 3.50 | 1.00 | 2.00 | 0.50 | 0.25 | 150 + 90 |",
        "resiliparse is not measured",
        "| Assay, exactly once, 1 child | 0.2 | 4.5 | 30 | 0.06 | 3.01 |",
        "| Assay, exactly once | 20000 | 1000.0 | 20000 | 0.50 |",
        "| bare aiokafka loop | 4.0 | 0.5 | 1.4 | 40.0 | 0.1 |",
        "| parent, pss | 90.0 | 91.0 |",
        "2991 other pages processed once, 0 lost, 0 twice. Dead letters: 3 took_too_long, 3 crashed, 3 out_of_memory.",
        "| Assay, exactly once, inline | 2.00 | 2.10 | 1.50 | 0.50 |",
        "99.8% of the permitted rate",
        "| parse | 30.0% |",
        "| hostile mix: rebalances | 0 | ok |",
    ):
        assert said in text


def test_what_was_not_measured_has_no_table() -> None:
    results = everything()
    text = table.tables({name: results[name] for name in ("machine", "default_children", "growth")})
    assert "| memory over 50 times the input: last third against the second | 1.10 | ok |" in text
    assert "| hostile mix: rebalances | not measured |  |" in text
    assert "processed once" not in text


def test_only_the_figures_of_the_page_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n", "utf-8")
    monkeypatch.setattr(table, "DOCS", page)
    table.write(everything())
    text = page.read_text("utf-8")
    assert text.startswith(f"before\n{table.BEGIN}\n")
    assert text.endswith(f"{table.END}\nafter\n")
    assert "old" not in text
