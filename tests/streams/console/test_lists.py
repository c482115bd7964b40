"""The lists: the query, pages by a place in time, groups, suggestions and the export."""

import json
from datetime import timedelta
from typing import Any

import pytest

from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.states import State
from streams.console.lists import read_query
from tests.samples import scored
from tests.streams.console.consoles import BEGAN, OwnConsole, example
from tests.tables import tables

TABLES = tables(__file__)
CLAIM = example(ClaimEvaluated, "stands_alone", claim_id="tower")


@pytest.fixture
def console() -> OwnConsole:
    console = OwnConsole()
    low: dict[str, Any] = {"trust_label": "LOW", "source": "unlisted", "cts_score": 12, "tier": "C"}
    pages = [
        scored("https://news.river.example/a", "Text.", title="The Harbour is dredged", **low),
        scored("https://river.example/b", "Text.", title="石門水庫的水位", trust_label="HIGH", cts_score=81),
        scored("https://shell.example/c", "", title="Application", state=State.NEEDS_RENDER),
    ]
    for number, page in enumerate(pages):
        console.write(page, "score_page", after=number)
    console.write(ExtractedClaim(claim_id="tower", claim_text="The tower in Aarhus is closed."), after=5)
    console.write(CLAIM, "decontextualize_claim", after=6)
    console.write_dead("score_page", "https://broken.example/", b"x", error="it has 9 harbours")
    return console


@pytest.mark.parametrize("query", TABLES["what_a_query_finds"])
def test_what_a_query_finds(console: OwnConsole, query: str) -> None:
    path, _, text = query.partition(" ")
    answer = console.client.get("/export", params={"in": path, "q": text})
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert (
        tuple(sorted(row["subject"].removeprefix("https://") for row in found)) == TABLES["what_a_query_finds"][query]
    )
    assert {row["at"][:14] for row in found} <= {"2026-11-27T08:"}


def test_a_claim_is_found_by_its_text_and_has_it_as_title(console: OwnConsole) -> None:
    text = console.client.get("/claim?q=aarhus").text
    assert text.count("<tr data-row") == 1  # one group: the claim and its judgment
    assert 'data-open>The tower in Aarhus is closed.</a><span class="crumb">tower</span>' in text
    assert "claim to judge: The tower" in text


def test_attempts_of_a_batch_are_one_group() -> None:
    console = OwnConsole()
    console.write(example(ResultsClassified, "minimal", batch_id="b-1"), "classify_results")
    child = example(RetrievalEvaluated, "minimal", batch_id="b-1.2", parent_batch_id="b-1")
    console.write(child, "evaluate_retrieval", after=9)
    text = console.client.get("/batch").text
    assert text.count("<tr data-row") == 1
    assert 'href="/batch/b-1.2" data-open' in text
    assert text.count("<li>") == 11 + 1  # the navigation, and the other decision


def test_every_decision_is_on_one_page_of_the_list() -> None:
    console = OwnConsole()
    for number in range(150):  # three at a time
        console.write(scored(f"https://a.example/{number}", "Text."), "score_page", after=number // 3)
    found, address = list[str](), "/page"
    while address:
        text = console.client.get(address).text
        found += [part.split('"')[0] for part in text.split('data-path="')[1:]]
        address = (
            text.split('" rel="next"')[0].rpartition('href="')[2].replace("&amp;", "&") if 'rel="next"' in text else ""
        )
    assert len(found) == len(set(found)) == 150
    assert console.client.get("/page?before=nowhere").status_code == 200


def test_a_wrong_part_of_a_query_is_named(console: OwnConsole) -> None:
    text = console.client.get("/page?q=score<high <b>since:noon").text
    assert "not understood" in text
    assert "<b>since" not in text
    assert console.client.get('/find?q="').status_code == console.client.get("/find?q=AND OR (").status_code == 200


def test_days_begin_at_midnight() -> None:
    [condition], _ = read_query("since:yesterday", BEGAN)
    assert condition.values == ((BEGAN - timedelta(days=1, hours=8)).timestamp() * 1000,)


@pytest.mark.parametrize("asked", TABLES["what_a_query_may_go_on_with"])
def test_what_a_query_may_go_on_with(console: OwnConsole, asked: str) -> None:
    answer = console.client.get("/suggest", params={"in": "/page", "q": asked})
    assert tuple(answer.json()) == TABLES["what_a_query_may_go_on_with"][asked]
