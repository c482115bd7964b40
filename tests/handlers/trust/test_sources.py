from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.links import registered_domain
from handlers.score_page import ScorePageRules
from handlers.trust.sources import ListedSource, Source, SourceRules, source_of
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(ScorePageRules).compiled_sources


@pytest.mark.parametrize(("host", "tier", "tags"), [*TABLES["hosts"], (".".join("a" * 500), 3, ())])
def test_hosts(host: str, tier: int, tags: tuple[str, ...]) -> None:
    source = source_of(host, registered_domain(host), None, "", RULES)
    assert (source.tier, source.tags) == (tier, tags)
    assert source.base_score == {1: 40, 2: 25, 3: 10}[tier]


def test_a_government_host_may_name_itself() -> None:
    source = source_of("x.gov.uk", registered_domain("x.gov.uk"), None, "科技部", RULES)
    assert (source.tier, source.because) == (1, "the publisher 科技部 is listed (government)")


@pytest.mark.parametrize("name", ["udn.com", "gov.tw", " 科技部 ", "科技部 ", "科技部新聞", "", "Nature"])
def test_a_publisher_is_a_whole_name_and_no_domain(name: str) -> None:
    assert source_of("news.example", registered_domain("news.example"), name, "", RULES).tier == (
        1 if name.strip() == "科技部" else 3
    )


@given(st.text(max_size=60), st.text(max_size=20))
def test_on_any_other_host_a_page_gains_nothing_by_naming_itself(host: str, own_name: str) -> None:
    source = source_of(host, registered_domain(host), None, "", RULES)
    named = source_of(host, registered_domain(host), None, own_name, RULES)
    assert named == source or "government" in source.tags


def own(**entries: ListedSource) -> SourceRules:
    """The shipped rules with these entries as the user's only ones; in names, _ means a dot."""
    return replace(RULES, own={name.replace("_", "."): entry for name, entry in entries.items()})


def source_at(url: str, rules: SourceRules = RULES) -> Source:
    host, _, path = url.partition("/")
    return source_of(host, registered_domain(host), None, "", rules, path)


@pytest.mark.parametrize(("labels", "tier"), [(127, 1), (128, 3)])
def test_a_name_of_more_than_127_labels_matches_nothing(labels: int, tier: int) -> None:
    host = ".".join([*["a"] * (labels - 2), "gov", "uk"])
    assert source_of(host, "a.gov.uk", None, "", RULES).tier == tier


def test_the_longest_entry_decides() -> None:
    rules = own(gov_tw=ListedSource(None, 1), blog_gov_tw=ListedSource(None, 3))
    assert source_at("a.blog.gov.tw", rules).tier == 3
    assert source_at("a.gov.tw", rules).tier == 1


@pytest.mark.parametrize(("url", "tier", "kind", "tags"), TABLES["kinds"])
def test_the_kind_of_a_source_gives_its_tier_and_tag(
    url: str, tier: int, kind: str | None, tags: tuple[str, ...]
) -> None:
    source = source_at(url)
    assert (source.tier, source.kind, source.tags) == (tier, kind, tags)
    assert source.base_score == {1: 40, 2: 25, 3: 10}[tier]
    assert bool(source.reason) == (kind is not None)


@pytest.mark.parametrize(("url", "member"), TABLES["members"])
def test_pages_of_members_are_self_published(url: str, member: bool) -> None:
    source = source_at(url)
    assert (source.kind == "self_publishing") == member
    assert source.tier == (3 if member else 1)
    assert source.tags == (("blog",) if member else source.tags)


def test_an_own_entry_for_the_members_host_itself_decides() -> None:
    rules = own(people_cs_ox_ac_uk=ListedSource("university", own=True))
    assert source_at("people.cs.ox.ac.uk/joe", rules).tier == 1
    assert source_at("people.ox.ac.uk/joe", rules).tier == 3


def test_own_sources_override_longer_shipped_entries() -> None:
    rules = own(
        reuters_com=ListedSource("magazine", 1, "read by us"), uk=ListedSource(None, 3), bbc_co_uk=ListedSource(None, 3)
    )
    source = source_at("www.reuters.com", rules)
    assert (source.tier, source.kind, source.reason) == (1, "magazine", "read by us")
    assert source.because == "www.reuters.com is listed as reuters.com (magazine)"
    demoted = source_at("news.bbc.co.uk", rules)
    assert (demoted.tier, demoted.kind, demoted.tags) == (3, "broadcaster", ("news",))


def test_a_publisher_may_have_a_kind() -> None:
    rules = replace(RULES, publishers={"the wire": ListedSource("news_agency")})
    source = source_of("news.example", "news.example", "The Wire", "", rules)
    assert (source.tier, source.kind, source.entry) == (2, "news_agency", "the wire")
