from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.score_page import ScorePageRules
from handlers.trust.labels import label_of, tier_of
from handlers.trust.score import Observations, score_trust
from tests.rules import shipped_rules
from tests.tables import tables

RULES = shipped_rules(ScorePageRules).compiled

NOTHING = Observations()
STRUCTURE = Observations(
    headings_count=1, has_statistics=True, schema_type="Article", schema_is_article=True, has_author=True, has_date=True
)
EVERYTHING = replace(STRUCTURE, has_doi=True, citation_count=1, external_links_count=1, has_references_section=True)
PARTLY = Observations(headings_count=2, external_links_count=1, has_author=True, has_date=True)

EDGES = [
    pytest.param(40, NOTHING, 40, "B", "MEDIUM", id="government with nothing"),
    pytest.param(10, PARTLY, 39, "C", "LOW", id="blog with headings, link, author, date"),
    pytest.param(10, replace(PARTLY, has_statistics=True), 47, "B", "MEDIUM", id="the same with statistics"),
    pytest.param(
        25, replace(STRUCTURE, external_links_count=1), 70, "A", "HIGH", id="mainstream with all structure, link"
    ),
    pytest.param(10, EVERYTHING, 70, "A", "MEDIUM", id="blog with everything"),
    pytest.param(25, NOTHING, 25, "C", "LOW", id="mainstream with nothing"),
    pytest.param(40, EVERYTHING, 100, "A", "HIGH", id="the most there is"),
]


@pytest.mark.parametrize(("base", "seen", "total", "tier", "label"), EDGES)
def test_edge_table(base: int, seen: Observations, total: int, tier: str, label: str) -> None:
    score = score_trust(base, "because", seen, RULES.points)
    assert score.total == total
    source_tier = {40: 1, 25: 2, 10: 3}[base]
    assert tier_of(score.total, source_tier, RULES.tiers) == tier
    assert label_of(score.total, source_tier, RULES.labels) == label


def test_every_component_is_listed_with_what_was_seen() -> None:
    score = score_trust(40, "x.gov.tw is listed as gov.tw", replace(PARTLY, citation_count=2), RULES.points)
    assert [(line.name, line.points) for line in score.components] == [
        ("base", 40),
        ("doi_or_citation", 10),
        ("external_links", 5),
        ("references_section", 0),
        ("headings", 8),
        ("statistics", 0),
        ("schema", 0),
        ("author", 8),
        ("date", 8),
    ]


@pytest.mark.parametrize("said", tables(__file__)["said"])
def test_every_component_says_what_was_seen(said: dict[str, Any]) -> None:
    seen = Observations(**said["seen"])
    first, *others = score_trust(40, "x.gov.tw is listed as gov.tw", seen, RULES.points).components
    assert first.because == "x.gov.tw is listed as gov.tw"
    assert tuple(line.because for line in others) == said["because"]


UNSEEN = Observations(
    external_links_count=None,
    headings_count=None,
    schema_is_article=None,
    has_author=None,
    has_byline=None,
    has_date=None,
)


def test_what_was_not_observed_gives_nothing_and_is_said() -> None:
    score = score_trust(25, "", UNSEEN, RULES.points)
    assert score.total == 25
    assert {line.name for line in score.components if line.because == "not observed"} == {
        "external_links", "headings", "schema", "author", "date",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "points", "because"),
    [
        (replace(UNSEEN, has_byline=True), 8, "names a byline"),
        (replace(UNSEEN, has_author=True), 8, "names an author"),
        (replace(UNSEEN, has_author=False), 0, "names no author; a byline was not observed"),
        (replace(UNSEEN, has_byline=False), 0, "names no author; an author was not observed"),
        (replace(UNSEEN, has_author=False, has_byline=False), 0, "names no author"),
        (Observations(has_author=True, has_byline=True), 8, "names an author and a byline"),
    ],
)
def test_missing_author_needs_two_observations(seen: Observations, points: int, because: str) -> None:
    [line] = [line for line in score_trust(10, "", seen, RULES.points).components if line.name == "author"]
    assert (line.points, line.because) == (points, because)


@pytest.mark.parametrize(
    ("has_headings", "points", "because"),
    [(True, 8, "has headings"), (False, 0, "no headings"), (None, 0, "not observed")],
)
def test_headings_count_without_a_count(has_headings: bool | None, points: int, because: str) -> None:
    seen = replace(UNSEEN, has_headings=has_headings)
    [line] = [line for line in score_trust(10, "", seen, RULES.points).components if line.name == "headings"]
    assert (line.points, line.because) == (points, because)


def test_an_article_type_is_needed_not_just_a_type() -> None:
    listing = score_trust(10, "", Observations(schema_type="CollectionPage"), RULES.points)
    [line] = [line for line in listing.components if line.name == "schema"]
    assert (line.points, line.because) == (0, "schema.org type CollectionPage")


def test_minimums_are_configured() -> None:
    points = replace(RULES.points, min_citations=3, min_external_links=2, min_headings=4)
    few = Observations(citation_count=2, external_links_count=1, headings_count=3)
    enough = Observations(citation_count=3, external_links_count=2, headings_count=4)
    assert score_trust(10, "", few, points).total == 10
    assert score_trust(10, "", replace(few, has_doi=True), points).total == 20
    assert score_trust(10, "", enough, points).total == 33


observations = st.builds(
    Observations,
    has_doi=st.booleans(),
    citation_count=st.integers(0, 10**6),
    external_links_count=st.none() | st.integers(0, 10**6),
    has_references_section=st.booleans(),
    headings_count=st.none() | st.integers(0, 10**6),
    has_headings=st.none() | st.booleans(),
    has_statistics=st.booleans(),
    schema_is_article=st.none() | st.booleans(),
    has_author=st.none() | st.booleans(),
    has_byline=st.none() | st.booleans(),
    has_date=st.none() | st.booleans(),
)


@given(st.integers(0, 40), st.sampled_from([1, 2, 3]), observations)
def test_markup_lifts_no_source_above_what_its_standing_allows(base: int, tier: int, seen: Observations) -> None:
    total = score_trust(base, "", seen, RULES.points).total
    assert tier_of(total, tier, RULES.tiers, "unlisted") in ("B", "C")
    assert label_of(total, tier, RULES.labels, "unlisted") in ("MEDIUM", "LOW")
    assert tier_of(total, tier, RULES.tiers, "contested") == "C"
    assert label_of(total, tier, RULES.labels, "contested") == "LOW"


@given(st.sampled_from([10, 25, 40]), observations)
def test_score_is_the_sum_of_its_breakdown(base: int, seen: Observations) -> None:
    score = score_trust(base, "", seen, RULES.points)
    assert base <= score.total <= 100
    assert score.total == sum(line.points for line in score.components)
