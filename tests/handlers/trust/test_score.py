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

RULES = shipped_rules(ScorePageRules)
POINTS = RULES.trust_points.points
TIERS, LABELS = RULES.tiered_indexing.thresholds, RULES.trust_labels.thresholds


@pytest.mark.parametrize("said", tables(__file__)["said"])
def test_every_component_says_what_was_seen(said: dict[str, Any]) -> None:
    seen = Observations(**said["seen"])
    first, *others = score_trust(40, "x.gov.tw is listed as gov.tw", seen, POINTS).components
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
    score = score_trust(25, "", UNSEEN, POINTS)
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
        (replace(UNSEEN, has_headings=True), 8, "has headings"),
        (replace(UNSEEN, has_headings=False), 0, "no headings"),
        (Observations(schema_type="CollectionPage"), 0, "schema.org type CollectionPage"),
    ],
)
def test_what_was_seen_gives_points_with_its_reason(seen: Observations, points: int, because: str) -> None:
    score = score_trust(10, "", seen, POINTS)
    assert (score.total, because in [line.because for line in score.components]) == (10 + points, True)


def test_minimums_are_configured() -> None:
    points = replace(POINTS, min_citations=3, min_external_links=2, min_headings=4)
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
    total = score_trust(base, "", seen, POINTS).total
    assert tier_of(total, tier, TIERS, "unlisted") in ("B", "C")
    assert label_of(total, tier, LABELS, "unlisted") in ("MEDIUM", "LOW")
    assert tier_of(total, tier, TIERS, "contested") == "C"
    assert label_of(total, tier, LABELS, "contested") == "LOW"


@given(st.sampled_from([10, 25, 40]), observations)
def test_score_is_the_sum_of_its_breakdown(base: int, seen: Observations) -> None:
    score = score_trust(base, "", seen, POINTS)
    assert base <= score.total <= 100
    assert score.total == sum(line.points for line in score.components)
