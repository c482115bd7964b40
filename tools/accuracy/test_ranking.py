"""The harness of queries: the queries that it makes, the effect of each switch, and goals that can fail."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tools import labelled
from tools.accuracy import ranking
from tools.accuracy.judges import offline_judge
from tools.accuracy.ranking_index import RankingIndex, build
from tools.accuracy.ranking_sets import (
    CLAUSE,
    KNOWN,
    PAGES,
    SENTENCE,
    TITLE,
    Document,
    Query,
    chosen,
    known_items,
    part_of,
    ranking_sets,
)
from tools.accuracy.ranking_stages import (
    BM25,
    MMR,
    RANKING,
    SHIPPED,
    TREES,
    VECTOR,
    Figures,
    Likeness,
    answer,
    measure,
    rules_of,
    switches,
)

SUBJECTS = {
    "soup": "Leeks, potatoes and cream make a soup for cold days.",
    "dam": "The Heron Valley dam was closed in May after a crack was found.",
    "dam-again": "The Heron Valley dam was closed in May after a crack was found. It stays so.",
    "train": "A night train runs from the harbour to the mountains again.",
}


@pytest.fixture
async def index() -> AsyncIterator[RankingIndex]:
    made = await build(Document(f"https://{name}.example/page", html(name, text)) for name, text in SUBJECTS.items())
    yield made
    await made.aclose()


def html(name: str, text: str) -> bytes:
    return f"<html lang=en><title>On the {name}</title><article><h1>On the {name}</h1><p>{text}</p></article>".encode()


def page(number: int, **labels: object) -> dict[str, object]:
    return {
        "id": f"p{number}", "file": f"pages/{number}.html", "url": f"https://site{number}.example/", "author": None,
        "publish_date": None, "title": None, "must_contain": [], "must_not_contain": [], "page_type": "article",
    } | labels  # fmt: skip


def test_queries_come_from_labels_and_equal_pages_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    assert list(ranking_sets()) == []
    folder = tmp_path / PAGES / "pages"
    folder.mkdir(parents=True)
    rows = [page(0, title="News", must_contain=["It rained all day."]), page(1, title="news "), page(2)]
    for row in rows:
        (tmp_path / PAGES / str(row["file"])).write_text("<p>text</p>", "utf-8")
    (tmp_path / PAGES / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    [found] = ranking_sets()
    assert len(found.documents) == 3
    both = {"https://site0.example/": KNOWN, "https://site1.example/": KNOWN}
    assert [(query.kind, query.text, query.grades) for query in found.queries] == [
        (TITLE, "News", both),
        (SENTENCE, "It rained all day.", {"https://site0.example/": KNOWN}),
        (TITLE, "news", both),
    ]


def test_what_a_query_is_made_of_is_drawn_by_a_hash() -> None:
    words = [str(number) for number in range(20)]
    drawn = {chosen(words, str(salt)) for salt in range(200)}
    assert len(drawn) > 15
    assert chosen(words, "7") == chosen(words, "7")
    assert chosen([], "7") is None
    title = "台中市政府宣布明年起全面汰換老舊公車"
    part = part_of(title, "x")
    assert part is not None
    assert part in title
    assert len(part) < len(title)
    assert known_items([]) == ()
    assert CLAUSE != SENTENCE


async def test_each_switch_adds_its_stage_and_no_other(index: RankingIndex) -> None:
    ran = {}
    for name, section in switches().items():
        if name in (VECTOR, BM25, RANKING, SHIPPED):
            completed, milliseconds = await answer(index, "Heron Valley dam", rules_of(section), offline_judge())
            ran[name] = [str(stage) for stage in completed.stages]
            assert milliseconds > 0
    assert ran == {
        VECTOR: ["retrieval", "reasoning"],
        BM25: ["retrieval", "bm25", "reasoning"],
        RANKING: ["retrieval", "bm25", "ranking", "reasoning"],
        SHIPPED: ["retrieval", "bm25", "ranking", "mmr", "reasoning"],
    }
    assert list(switches()) == [VECTOR, BM25, RANKING, TREES, MMR, SHIPPED]


async def test_queries_are_measured_and_unjudged_results_skipped(index: RankingIndex) -> None:
    right, twin = "https://dam.example/page", "https://dam-again.example/page"
    queries = [
        Query("known", "Heron Valley dam closed in May", {right: KNOWN, twin: KNOWN}),
        Query("unjudged", "On the dam-again", {right: KNOWN}, unjudged=frozenset({twin})),
        Query("elsewhere", "Heron Valley dam closed in May", {"https://nowhere.example/": KNOWN}),
    ]
    measured = await measure(index, queries, {BM25: rules_of(switches()[BM25])}, offline_judge())
    alike = Likeness(index)
    assert alike.unlikeness([right, twin]) < 0.5 < alike.unlikeness([right, "https://soup.example/page"])
    known, unjudged, elsewhere = (measured[query.kind, BM25] for query in queries)
    assert (known.ndcg, known.reciprocal, known.recall) == ([1.0], [1.0], [1.0])
    assert (unjudged.ndcg, unjudged.reciprocal) == ([1.0], [1.0])
    assert (elsewhere.ndcg, elsewhere.reciprocal, elsewhere.recall) == ([0.0], [0.0], [0.0])
    assert known.domains == [4.0]
    assert known.usd == [0.0]
    assert len(known.milliseconds) == 1


async def test_points_without_trust_get_a_fallback_label() -> None:
    old = await build(
        [Document("https://a.gov.tw/", b"<title>Rain</title><p>It rains in the north.</p>")], with_trust=False
    )
    completed, _ = await answer(old, "rain", rules_of({}), offline_judge())
    await old.aclose()
    [result] = completed.results
    assert (result.cts_score, result.trust_features) == (None, None)
    assert (result.trust_label, result.reasoning_metadata.label_source) == ("HIGH", "fallback")


@pytest.mark.parametrize(
    ("vector", "hybrid", "judged", "met"),
    [
        (0.5, 0.55, 0.55, [True, True, True]),
        (0.5, 0.54, 0.54, [False, True, True]),
        (0.96, 0.98, 0.98, [True, True, True]),
        (0.96, 0.97, 0.97, [False, True, True]),
        (0.5, 0.6, 0.58, [True, False, True]),
    ],
)
def test_goals_can_fail(vector: float, hybrid: float, judged: float, met: list[bool]) -> None:
    measured = {
        ("k", row): Figures(ndcg=[value]) for row, value in ((VECTOR, vector), (BM25, hybrid), (RANKING, judged))
    }
    assert [goal.is_met for goal in ranking._goals("set", measured, "offline", known=False)] == met
    measured["k", BM25].out_of_order = 1
    assert [goal.is_met for goal in ranking._goals("set", measured, "offline", known=False)] == [*met[:2], False]
