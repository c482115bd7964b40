from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.page.links import registered_domain
from handlers.score_page import ScorePageRules
from handlers.trust.labels import tier_of, without_score
from handlers.trust.tiers import SourceRules, source_of
from tests.labelled import cases, has
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
        ("udn.com.example.org", 3, ()),
        ("fakeudn.com", 3, ()),
        ("gov.uk", 1, ("government",)),
        ("service.gov.br", 1, ("government",)),
        ("www.army.mil", 1, ("government",)),
        ("gov.example", 3, ()),
        ("example.gov.com", 3, ()),
        ("mygov", 3, ()),
        ("edu.example.com", 3, ()),
        ("www.uq.edu.au", 1, ("academic",)),
        ("myedu.org", 3, ()),
        ("www.tsukuba.ac.jp", 1, ("academic",)),
        ("ac.example.com", 3, ()),
        ("xn--fiqs8s.example", 3, ()),
        ("..", 3, ()),
        ("gov..tw", 3, ()),
        ("my.edu.cc", 3, ()),
        ("gov.tv", 3, ()),
        ("shop.ac.cc", 3, ()),
        ("www.mil.de", 3, ()),
        ("www.gov.ro", 1, ("government",)),
        ("gov.ro", 1, ("government",)),
        ("www.vub.ac.be", 1, ("academic",)),
    ],
)
def test_hosts(host: str, tier: int, tags: tuple[str, ...]) -> None:
    source = source_of(host, registered_domain(host), None, "", RULES)

    assert (source.tier, source.tags) == (tier, tags)
    assert source.base_score == {1: 40, 2: 25, 3: 10}[tier]
    assert source.is_government == ("government" in tags)
    assert source.is_academic == ("academic" in tags)


def test_a_publisher_counts_as_the_crawler_names_it() -> None:
    assert source_of("news.example", registered_domain("news.example"), "科技部", "", RULES).tier == 1


def test_a_page_cannot_name_itself_a_publisher() -> None:
    assert source_of("news.example", registered_domain("news.example"), None, "科技部", RULES).tier == 3


def test_a_domain_is_not_a_publisher() -> None:
    assert source_of("news.example", registered_domain("news.example"), "gov.tw", "", RULES).tier == 3


def test_a_government_host_may_name_itself() -> None:
    source = source_of("x.gov.uk", registered_domain("x.gov.uk"), None, "科技部", RULES)

    assert (source.tier, source.because) == (1, "the publisher 科技部 is listed")


def test_a_listed_domain_weighs_more_than_a_name() -> None:
    assert source_of("writer.medium.com", registered_domain("writer.medium.com"), "科技部", "", RULES).tier == 3


@pytest.mark.parametrize("name", ["udn.com", "gov.tw", " 科技部 ", "科技部 ", "科技部新聞", "", "Nature"])
def test_a_publisher_is_a_whole_name_and_no_domain(name: str) -> None:
    assert source_of("news.example", registered_domain("news.example"), name, "", RULES).tier == (
        1 if name.strip() == "科技部" else 3
    )


@given(st.text(max_size=60), st.text(max_size=20))
def test_on_any_other_host_a_page_gains_nothing_by_naming_itself(host: str, own_name: str) -> None:
    source = source_of(host, registered_domain(host), None, "", RULES)

    named = source_of(host, registered_domain(host), None, own_name, RULES)

    assert named == source or source.is_government


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


def test_an_entry_of_several_tiers_counts_in_the_best_however_it_is_written() -> None:
    rules = SourceRules(
        entries=(
            ("One.example ", "X.example"),
            (".two.example", "one.example"),
            ("three.example", "two.example", "one.example"),
        ),
        base_scores=(40, 25, 10),
        government_suffixes=("GOV.*", "k12.ma.*"),
        academic_suffixes=(" ac.* ",),
        academic_domains=("College.Example.",),
    )
    hosts = (
        *("one.example", "two.example", "three.example", "other.example"),
        *("x.gov.uk", "x.k12.ma.us", "x.ac.uk", "college.example", "x.example"),
    )

    found = [source_of(host, registered_domain(host), None, "", rules) for host in hosts]

    assert [source.tier for source in found] == [1, 2, 3, 3, 1, 1, 1, 1, 1]
    assert [source.base_score for source in found] == [40, 25, 10, 10, 40, 40, 40, 40, 40]
    assert [source.tags for source in found] == [
        (), ("news",), ("blog",), (), ("government",), ("government",), ("academic",), ("academic",), (),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("host", "because"),
    [
        ("money.udn.com", "money.udn.com is listed as udn.com"),
        ("service.gov.br", "service.gov.br is a government host"),
        ("www.uq.edu.au", "www.uq.edu.au is an academic host"),
        ("unknown.example", "unknown.example is not listed"),
        ("", "the address is not listed"),
    ],
)
def test_source_of_says_why(host: str, because: str) -> None:
    assert source_of(host, registered_domain(host), None, "", RULES).because == because


@pytest.mark.parametrize(("labels", "tier"), [(127, 1), (128, 3)])
def test_a_name_of_more_than_127_labels_matches_nothing(labels: int, tier: int) -> None:
    host = ".".join([*["a"] * (labels - 2), "gov", "uk"])
    assert source_of(host, "a.gov.uk", None, "", RULES).tier == tier


def test_the_longest_entry_decides() -> None:
    rules = replace(RULES, entries=(("gov.tw",), (), ("blog.gov.tw",)))

    assert source_of("a.blog.gov.tw", registered_domain("a.blog.gov.tw"), None, "", rules).tier == 3
    assert source_of("a.gov.tw", registered_domain("a.gov.tw"), None, "", rules).tier == 1
