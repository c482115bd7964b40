from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from handlers.indexing.config import source_at
from handlers.score_page import ScorePageRules
from handlers.trust.labels import tier_of, without_score
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy import sources, table
from tools.labelled import cases, has

RULES = shipped_rules(ScorePageRules).compiled.sources
IS_HERE = pytest.mark.skipif(not has(sources.SET), reason=f"{sources.SET} is not there; DATA names the labelled sets")


@IS_HERE
def test_domains_of_low_credibility_never_reach_tier_a() -> None:
    """Neither with a score, where the source alone gives its base, nor without one, where the source decides."""
    tiers = shipped_rules(ScorePageRules).compiled.tiers
    listed = [case["domain"] for case in cases(sources.SET) if case["category"] not in {"r", "reliable"}]
    found = {
        host: source_at(f"https://{host}/", None, "", RULES) for domain in listed for host in (domain, f"www.{domain}")
    }

    assert len(listed) > 500
    assert [host for host, source in found.items() if source.tier < 3] == []
    assert [host for host, source in found.items() if tier_of(source.base_score, source.tier, tiers) == "A"] == []
    assert [host for host, source in found.items() if without_score(source.tier)[0] == "A"] == []


def test_an_untrusted_domain_above_tier_3_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    assert sources.measure() == ("", [])
    (tmp_path / sources.SET).mkdir()
    named = [("reuters.com", "f"), ("xinhuanet.com", "m"), ("unknown.example", "u"), ("apnews.com", "reliable")]
    lines = "\n".join(json.dumps({"domain": domain, "category": category}) for domain, category in named)
    (tmp_path / sources.SET / "cases.jsonl.gz").write_bytes(gzip.compress(lines.encode()))

    text, [goal] = sources.measure()

    assert "| fake | 1 | 0 | 1 | 0 | 0 |" in text
    assert "| mixed | 1 | 0 | 0 | 1 | 0 |" in text
    assert "| unreliable | 1 | 0 | 0 | 0 | 1 |" in text
    assert "| reliable | 1 | 0 | 1 | 0 | 0 |" in text
    assert "- above: reuters.com" in text
    assert (goal.figure, goal.is_met) == ("1 of 3 above", False)


def test_the_page_has_the_table_of_today(tmp_path: Path) -> None:
    page = tmp_path / "sources.md"
    page.write_text(sources.PAGE.read_text("utf-8"), "utf-8")

    table.write(sources.lists_table(), sources.LIST_FIGURES, page)

    assert page.read_text("utf-8") == sources.PAGE.read_text("utf-8"), "python -m tools.accuracy --only sources --write"
