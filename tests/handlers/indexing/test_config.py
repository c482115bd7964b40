"""The sections on sources, and the shipped lists that they hold."""

import re
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from handlers.html.links import is_public_suffix
from handlers.indexing.config import OwnSource, SourcesSection, SourceTiersSection, source_at, source_rules_of
from handlers.score_page import ScorePageRules
from tests.rules import CONFIG, shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(ScorePageRules)
FILES = sorted((CONFIG / "sources").glob("*.yaml"))
DOMAIN = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")
ENTRY = re.compile(r'^  "?([a-z0-9.-]+)"?: \S', re.MULTILINE)
"""A line of a list: YAML itself takes the last of two equal keys without a word."""


def sources(**changes: Any) -> SourcesSection:
    return SourcesSection.model_validate(RULES.sources.model_dump() | changes)


def test_source_lists_have_over_1300_unique_domains() -> None:
    lines = [domain for file in FILES for domain in ENTRY.findall(file.read_text("utf-8"))]
    assert [domain for domain, times in Counter(lines).items() if times > 1] == []
    assert sorted(lines) == sorted(domain for domain, *_ in RULES.sources.entries()), "one entry a line"
    assert len(lines) > 1300
    assert {file.stem for file in FILES} == set(RULES.sources.kinds)


def test_every_entry_is_a_domain_with_a_name_and_a_reason() -> None:
    rules = RULES.compiled_sources
    for domain, kind, _, _ in RULES.sources.entries():
        assert DOMAIN.fullmatch(domain), domain
        source = source_at(f"https://{domain}/", None, "", rules)
        assert source.kind == kind, domain
        assert source.reason, domain
        assert rules.listed[domain].name, domain


def test_no_entry_of_tier_1_or_2_is_a_public_suffix() -> None:
    tiers = {name: kind.tier for name, kind in RULES.sources.kinds.items()}
    assert [d for d, kind, *_ in RULES.sources.entries() if tiers[kind] < 3 and is_public_suffix(d)] == []


def test_a_domain_in_two_lists_is_an_error() -> None:
    lists = {"newspaper": {"de": {"a.example": "A"}}, "magazine": {"at": {"a.example": "A"}}}
    with pytest.raises(ValidationError, match=r"a\.example is listed twice, as newspaper and as magazine"):
        sources(lists=lists)


@pytest.mark.parametrize(
    ("changes", "words"),
    TABLES["a_list_that_can_not_be_used_is_an_error"],
    ids=["list of no kind", "own of no kind", "own without", "own tier", "country", "entry"],
)
def test_a_list_that_can_not_be_used_is_an_error(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        sources(**changes)


def test_own_entries_precede_source_tiers_and_those_the_lists() -> None:
    tiers = RULES.source_tiers.model_copy(update={"tier_1": ("reuters.com", "apnews.com"), "tier_2": ("BBC ",)})
    own = {"Reuters.com": OwnSource(kind="magazine", reason="ours"), "The Wire": OwnSource(tier=1)}
    rules = source_rules_of(sources(own=own), tiers, RULES.source_rules)
    found = [source_at(f"https://{host}/", None, "", rules) for host in ("reuters.com", "apnews.com", "afp.com")]
    assert [(source.tier, source.kind) for source in found] == [(2, "magazine"), (1, "news_agency"), (2, "news_agency")]
    assert source_at("https://x.example/", "the wire", "", rules).tier == 1
    assert source_at("https://x.example/", "bbc", "", rules).tier == 2


def test_domain_in_several_tiers_gets_the_best_tier() -> None:
    tiers = SourceTiersSection(
        tier_1=("One.example ", "Straße.example"),
        tier_2=(".two.example", "one.example"),
        tier_3=("three.example", "two.example"),
    )
    suffixes = {"government_suffixes": ("GOV.*",), "academic_suffixes": (" ac.* ",)}
    rules = source_rules_of(sources(lists={}), tiers, RULES.source_rules.model_copy(update=suffixes))
    hosts = ("one.example", "two.example", "three.example", "other.example", "x.gov.uk", "x.ac.uk", "STRAẞE。example")
    found = [source_at(f"https://{host}/", None, "", rules) for host in hosts]
    assert [source.tier for source in found] == [1, 2, 3, 3, 1, 1, 1]
    assert [source.base_score for source in found] == [40, 25, 10, 10, 40, 40, 40]
    assert [source.tags for source in found] == [(), ("news",), ("blog",), (), ("government",), ("academic",), ()]


@pytest.mark.parametrize("url", ["", "about:blank", "https://", "http://[::1]/", "https://exa mple/~x", "/just/a/path"])
def test_what_has_no_listed_host_is_in_tier_3(url: str) -> None:
    assert source_at(url, None, "", RULES.compiled_sources).tier == 3


def test_every_part_of_the_lists_changes_the_version() -> None:
    changed = [
        sources(own={"a.example": {"tier": 1}}),
        sources(lists={}),
        sources(public={}),
        sources(kinds=RULES.sources.model_dump()["kinds"] | {"gazette": {"tier": 2, "reason": "new"}}),
    ]
    versions = {shipped_rules(ScorePageRules, sources=each).config_version for each in (RULES.sources, *changed)}
    assert len(versions) == 5
