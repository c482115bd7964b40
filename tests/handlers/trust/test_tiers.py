from __future__ import annotations

import pytest

from handlers.score_page import ScorePageRules
from handlers.trust.tiers import source_of
from tests.rules import shipped_rules

RULES = shipped_rules(ScorePageRules).compiled.sources


@pytest.mark.parametrize(
    ("host", "tier", "tags"),
    [
        ("www.moi.gov.tw", 1, ("government",)),
        ("gov.tw", 1, ("government",)),
        ("notgov.tw", 3, ()),
        ("gov.tw.example.com", 3, ()),
        ("www.ntu.edu.tw", 1, ("academic",)),
        ("www.gov.uk", 1, ("government",)),
        ("census.gov", 1, ("government",)),
        ("cs.stanford.edu", 1, ("academic",)),
        ("www.ox.ac.uk", 1, ("academic",)),
        ("gov.uk.evil.org", 3, ()),
        ("mygov.uk", 3, ()),
        ("www.nature.com", 1, ("academic",)),
        ("signature.com", 3, ()),
        ("money.udn.com", 2, ("news",)),
        ("writer.medium.com", 3, ("blog",)),
        ("unknown.example", 3, ()),
        ("203.0.113.9", 3, ()),
        ("", 3, ()),
        (".".join("a" * 500), 3, ()),
        ("UDN.COM.", 2, ("news",)),
    ],
)
def test_hosts(host: str, tier: int, tags: tuple[str, ...]) -> None:
    source = source_of(host, None, "", RULES)

    assert (source.tier, source.tags) == (tier, tags)
    assert source.base_score == {1: 40, 2: 25, 3: 10}[tier]
    assert source.is_government == ("government" in tags)
    assert source.is_academic == ("academic" in tags)


def test_a_publisher_counts_as_the_crawler_names_it() -> None:
    assert source_of("news.example", "科技部", "", RULES).tier == 1


def test_a_page_cannot_name_itself_a_publisher() -> None:
    assert source_of("news.example", None, "科技部", RULES).tier == 3


def test_a_domain_is_not_a_publisher() -> None:
    assert source_of("news.example", "gov.tw", "", RULES).tier == 3


def test_the_longest_entry_decides() -> None:
    from dataclasses import replace

    rules = replace(RULES, entries=(("gov.tw",), (), ("blog.gov.tw",)))

    assert source_of("a.blog.gov.tw", None, "", rules).tier == 3
    assert source_of("a.gov.tw", None, "", rules).tier == 1
