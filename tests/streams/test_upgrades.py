"""Records that Assay wrote before version 1.0 are read as today's events."""

import json
from typing import Any

import pytest

from handlers.html.links import page_id_of
from schemas.evidence import DateEvidence, Evidence, PlaceEvidence, PriceEvidence, TimeEvidence
from schemas.outcome import Dead
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.retrieval import ResultsClassified
from streams.topology import PAGES_SCORED, RANKING_COMPLETED, RESULTS_CLASSIFIED, TOPICS
from streams.topology.codec import decode
from streams.upgrades import upgraded
from tests.samples import EXAMPLES, instance

EARLIER = [(topic, path) for topic in TOPICS for path in sorted((EXAMPLES / topic.name / "before-1.0").glob("*.json"))]
URL = "https://a.example/"
SCORED = {"url": URL, "trust_features": {"source_tier": 2, "base_score": 25}, "tier": "B", "trust_label": "MEDIUM"}
SCORED |= {"config_version": "0123456789ab"}
RESULT = {"url": URL, "resultType": "AGGREGATOR", "actionableScore": 0.2, "confidence": 0.9, "because": ["links"]}
CLASSIFIED = {
    "batchId": "b",
    "query": "q",
    "results": [RESULT],
    "counts": {"aggregator": 1},
    "actionableInformation": 0.2,
    "needsExtraction": True,
    "extractionTargets": [{"url": URL, "extractionId": "e"}],
}
PLACE: dict[str, Any] = {"text": "as written", "start": 3, "end": 13}


def scored(**more: Any) -> ScoredPage:
    return instance(ScoredPage, decode(PAGES_SCORED, json.dumps(SCORED | more).encode(), (), None))


def test_every_earlier_event_is_read() -> None:
    for topic, path in EARLIER:
        event = decode(topic, path.read_bytes(), (), None)
        assert not isinstance(event, Dead), (path, event)
        assert topic.event.model_validate_json(event.to_json()) == event, path
        if (earlier := upgraded(topic.name, path.read_bytes())) is not None:
            assert event == topic.event.model_validate(earlier).arrived(None), path


def test_names_of_a_scored_page() -> None:
    breakdown = [{"component": "doi", "points": 10, "because": "a DOI"}]
    page = scored(author=["Ann Lee"], agency=["AP"], cts_breakdown=breakdown, final_url=None)
    assert (page.authors, page.agencies, page.cts_breakdown[0].reason) == (("Ann Lee",), ("AP",), "a DOI")
    assert page.page_id == page_id_of(URL)


def test_the_label_source_follows_from_the_score() -> None:
    assert [scored().label_source, scored(cts_score=None).label_source] == ["fallback", "fallback"]
    assert scored(cts_score=47).label_source == "score"


def test_a_classified_batch() -> None:
    batch = instance(ResultsClassified, decode(RESULTS_CLASSIFIED, json.dumps(CLASSIFIED).encode(), (), None))
    assert (batch.attempt, batch.confidence, batch.counts.navigation, batch.config_version) == (1, 0.0, 0, "")
    assert (batch.results[0].reasons, batch.results[0].page_id) == (("links",), page_id_of(URL))
    assert [(target.url, target.page_id, target.skipped) for target in batch.extraction_targets] == [
        (URL, page_id_of(URL), None)
    ]


def details(*earlier: dict[str, Any]) -> tuple[Evidence, ...]:
    """The details of a classified result whose earlier event had these."""
    value = json.dumps(CLASSIFIED | {"results": [RESULT | {"evidence": earlier}]}).encode()
    return instance(ResultsClassified, decode(RESULTS_CLASSIFIED, value, (), None)).results[0].evidence


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("price", "199.50 DKK", PriceEvidence(**PLACE, amount="199.50", currency="DKK", unit=None)),
        ("price", "25 $", PriceEvidence(**PLACE, amount="25", currency=None, unit="$")),
        ("price", "99 cents", PriceEvidence(**PLACE, amount="99", currency=None, unit="cents")),
        ("price", "1 BTC", PriceEvidence(**PLACE, amount="1", currency=None, unit="BTC")),
        ("price", "1e+12 EUR", PriceEvidence(**PLACE, amount="1000000000000", currency="EUR", unit=None)),
        ("price", "0", PriceEvidence(**PLACE, amount="0", currency=None, unit=None)),
        ("date", "2024-11-29", DateEvidence(**PLACE, date="2024-11-29", precision="day", month=11, day=29)),
        ("date", "--11-29", DateEvidence(**PLACE, date=None, precision=None, month=11, day=29)),
        ("date", None, DateEvidence(**PLACE, date=None, precision=None, month=None, day=None)),
        ("time", "20:00", TimeEvidence(**PLACE, time="20:00")),
        ("place", "Blue Heron Hall", PlaceEvidence(**PLACE, name="Blue Heron Hall")),
    ],
)
def test_value_of_a_detail_is_taken_apart(kind: str, value: str | None, expected: Evidence) -> None:
    assert details({"kind": kind, **PLACE, "value": value}) == (expected,)


@pytest.mark.parametrize("kind", ["price", "time", "place"])
def test_a_detail_without_its_value_is_left_out(kind: str) -> None:
    assert details({"kind": kind, **PLACE}, {"kind": kind, **PLACE, "value": None}) == ()


@pytest.mark.parametrize(
    "detail",
    [
        {"kind": "price", "value": "much"},
        {"kind": "time", "time": "20:00"},
        {"kind": "mood", "value": "good"},
    ],
)
def test_a_detail_that_no_version_wrote_is_refused(detail: dict[str, Any]) -> None:
    value = json.dumps(CLASSIFIED | {"results": [RESULT | {"evidence": [detail]}]}).encode()
    assert isinstance(decode(RESULTS_CLASSIFIED, value, (), None), Dead)


def test_a_ranking() -> None:
    earlier = {
        "request_id": "r",
        "query": "q",
        "intent": {"intent": "BALANCED", "because": "no sign"},
        "stages": [],
        "notes": [{"stage": "mmr", "outcome": "off"}],
        "results": [],
        "context": "",
        "config_version": "v",
    }
    ranking = instance(RankingCompleted, decode(RANKING_COMPLETED, json.dumps(earlier).encode(), (), None))
    assert (ranking.intent.reason, ranking.notes[0].reason, ranking.nothing_relevant) == ("no sign", "", False)


@pytest.mark.parametrize("value", [b"[]", b"{", b'"x"', b"[" * 100_000])
def test_what_is_no_object_is_no_earlier_event(value: bytes) -> None:
    assert upgraded("pages.scored.v1", value) is None


def test_input_of_others_has_no_earlier_form() -> None:
    assert upgraded("pages.crawled.v1", b"{}") is None


def test_what_fits_no_version_is_refused_for_its_own_reason() -> None:
    refused = instance(Dead, decode(PAGES_SCORED, b'{"url": "https://a.example/"}', (), None))
    assert "trust_features" in refused.detail
