from __future__ import annotations

import pytest

from handlers.page.links import registered_domain
from handlers.score_page import ScorePageRules
from handlers.trust.labels import tier_of, without_score
from handlers.trust.tiers import source_of
from tests.rules import shipped_rules
from tools.labelled import cases, has

RULES = shipped_rules(ScorePageRules).compiled.sources


@pytest.mark.skipif(
    not has("cred1_domains"), reason="cred1_domains is not there; DATA names the folder of labelled sets"
)
def test_no_domain_of_low_credibility_reaches_tier_a_by_its_source() -> None:
    """Neither with a score, where the source alone gives its base, nor without one, where the source decides."""
    tiers = shipped_rules(ScorePageRules).compiled.tiers
    listed = [case["domain"] for case in cases("cred1_domains") if case["category"] not in {"r", "reliable"}]
    sources = {
        host: source_of(host, registered_domain(host), None, "", RULES)
        for domain in listed
        for host in (domain, f"www.{domain}")
    }

    assert len(listed) > 500
    assert [host for host, source in sources.items() if tier_of(source.base_score, tiers) == "A"] == []
    assert [host for host, source in sources.items() if without_score(source.tier)[0] == "A"] == []
