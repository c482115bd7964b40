"""The screen ``query``: places by stage, filters, the context, and a query that is asked here."""

from typing import Any

import pytest
from typing_extensions import override

from schemas.queries import RankingFilters, RankingRequested
from schemas.ranking import RankingCompleted
from streams.console.judgments import places_of
from streams.query.engine import Queries, Refusal
from tests.streams.console.consoles import AUTHORIZED, OWN, OwnConsole, example

RANKED = example(RankingCompleted, "own_candidates_zh")
ASKED = RankingRequested(
    request_id=RANKED.request_id,
    query=RANKED.query,
    filters=RankingFilters.model_validate({"tiers": ["A", "B"], "date_from": "2026-01-01", "max_age": 5}),
)


class Answering(Queries):
    """Answers every query with the same results, or refuses it."""

    def __init__(self, answer: RankingCompleted | Refusal) -> None:
        self.given = answer
        self.asked: list[RankingRequested] = []

    @override
    async def answer(self, request: RankingRequested) -> Any:
        self.asked.append(request)
        return self.given


@pytest.fixture
def console() -> OwnConsole:
    console = OwnConsole()
    console.write(ASKED)
    console.write(RANKED, "rank_results", after=1)
    return console


def test_places_are_by_the_score_of_each_stage() -> None:
    for stage, places in places_of(RANKED).items():
        scores = {its.url: its.stage_scores[stage] for its in RANKED.results if its.url in places}
        assert sorted(scores.values(), key=lambda score: -(score or 0)) == [scores[url] for url in places]
        assert list(places.values()) == list(range(1, len(places) + 1))


def test_stages_filters_and_context_are_shown(console: OwnConsole) -> None:
    text = console.client.get(f"/query/{RANKED.request_id}").text
    assert "<dt>tiers</dt><dd>A, B</dd>" in text
    assert "<dt>date from</dt><dd>2026-01-01</dd>" in text
    assert "<dt>max age</dt><dd>5</dd>" in text
    assert 'class="label">[TRUST_TIER: ' in text
    for note in RANKED.notes:
        assert f"<strong>{note.stage}</strong>" in text


def test_an_expired_answer_says_so(console: OwnConsole) -> None:
    console.forget([*console.records.written])
    answer = console.client.get(f"/query/{RANKED.request_id}")
    assert answer.status_code == 404
    assert "expired" in answer.text


def test_only_a_signed_in_user_asks(console: OwnConsole) -> None:
    console.context.queries = queries = Answering(RANKED)
    assert "Ask the index" not in console.client.get("/query").text
    assert console.client.post("/query", data={"query": "x"}, headers=OWN).status_code == 401
    assert queries.asked == []
    answer = console.client.post("/query", data={"query": "harbour", "tier": ["A"]}, headers=AUTHORIZED)
    assert answer.status_code == 200
    assert "Order after each stage" in answer.text
    [asked] = queries.asked
    assert (asked.query, asked.filters.tiers) == ("harbour", ("A",))


def test_a_refused_query_says_why(console: OwnConsole) -> None:
    console.context.queries = Answering(Refusal("unavailable", "the index <is> down"))
    answer = console.client.post("/query", data={"query": "harbour"}, headers=AUTHORIZED)
    assert answer.status_code == 422
    assert "the index &lt;is&gt; down" in answer.text
    assert console.client.post("/query", data={"query": ""}, headers=AUTHORIZED).status_code == 422
    console.context.queries = None
    assert "answers queries" in console.client.post("/query", data={"query": "x"}, headers=AUTHORIZED).text
