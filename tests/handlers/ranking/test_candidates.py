"""Points and given results become candidates, one per document; invalid payload values become None."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.index_page import IndexPageRules
from handlers.indexing.points import points_of
from handlers.rank_results import RankResultsRules
from handlers.ranking.candidates import excerpt, merge_hits, take_given
from handlers.ranking.config import RetrievalSection
from handlers.ranking.filters import BadFilter, search_for
from schemas.needs import SearchFilters, SearchVectors
from schemas.queries import CandidateTrust, RankingCandidate, RankingRequested
from schemas.replies import VectorHit
from tests.handlers.indexing.pages import scored_page
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

SECTION = RetrievalSection(points=100, documents=20, most_points=900, candidates=50, passages=2, max_characters=300)
RULES = shipped_rules(IndexPageRules)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
KEYS = TABLES["keys"]


def hit(score: float, url: str = "https://a.example/1", text: str = "", **payload: Any) -> VectorHit:
    return VectorHit(score, {"url": url, "text": text, **payload})


def asked(**fields: Any) -> RankingRequested:
    return RankingRequested.model_validate({"request_id": "r", "query": "rain in May", **fields})


def test_a_request_becomes_a_search_with_its_filters() -> None:
    assert search_for(asked(), SECTION) == SearchVectors("documents", "rain in May", 100, None, 20, 900)
    need = search_for(asked(filters={"tier": "A"}, limit=30), SECTION)
    assert need == SearchVectors("documents", "rain in May", 100, SearchFilters(tiers=("A",)), 30, 900)
    assert isinstance(search_for(asked(filters={"date_to": "soon"}), SECTION), BadFilter)


def test_points_of_a_page_merge_into_one_candidate() -> None:
    page = scored_page("A", "Rain fell on the mill. The river rose.\nThe miller left at night.", language="en")
    points = points_of(page, RULES.tiered_indexing, RULES.index_points)
    [found] = merge_hits([VectorHit(0.5 - 0.1 * n, point.payload) for n, point in enumerate(points)], SECTION)
    assert (found.url, found.title, found.date) == (page.url, "A title", "2026-02-03")
    assert (found.cts_score, found.similarity, found.position) == (80, 0.5, 0)
    assert found.trust is not None
    assert (found.trust.source_tier, found.trust.base_score, found.trust.cts_score) == (1, 40, 80)
    # The article's embedding and its first chunk are of the same sentences.
    assert found.text.count("Rain fell on the mill.") == 1
    assert found.text.count("The miller left at night.") == 1


@pytest.mark.parametrize(("hits", "expected"), TABLES["merged"].values(), ids=TABLES["merged"])
def test_points_are_merged(hits: tuple[Any, ...], expected: tuple[dict[str, Any], ...]) -> None:
    found = merge_hits([hit(score, **payload) for score, payload in hits], SECTION)
    assert len(found) == len(expected)
    for candidate, fields in zip(found, expected, strict=True):
        trust = {"trust": CandidateTrust(**fields["trust"])} if fields.get("trust") else {}
        assert {name: getattr(candidate, name) for name in fields} == fields | trust


@pytest.mark.parametrize(("fields", "score"), TABLES["invalid_scores_in_given_candidates_become_null"])
def test_invalid_scores_in_given_candidates_become_null(fields: dict[str, Any], score: int | None) -> None:
    [found] = take_given([given_one(**fields)], SECTION)
    assert found.cts_score == score


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "1e999", "9" * 400, "true", '"high"', "[]", "null"])
def test_invalid_retriever_score_becomes_null(odd: str) -> None:
    text = f'{{"request_id": "r", "query": "rain", "candidates": [{{"url": "https://a.example", "score": {odd}}}]}}'
    request = RankingRequested.model_validate_json(text)
    assert request.candidates is not None
    assert request.candidates[0].score is None


@pytest.mark.parametrize(
    ("author", "names"), [("Ann", ("Ann",)), (["Ann", 7, "Bo"], ("Ann", "Bo")), ({"name": "Ann"}, ()), (None, ())]
)
def test_an_author_is_one_or_many(author: Any, names: tuple[str, ...]) -> None:
    [found] = take_given([given_one(authors=author)], SECTION)
    assert found.author == names


def test_long_text_is_read_up_to_its_limit() -> None:
    """The rest may repeat or not: the text is the same as if all had been read."""
    sentences = [f"Sentence {number} of many." for number in range(2000)]
    [found] = take_given([given_one(content="\n \t".join(sentences))], SECTION)
    assert found.text == found.passage == " ".join(sentences)[: SECTION.max_characters].strip()


def test_no_more_documents_than_configured() -> None:
    hits = [hit(n / 100, f"https://a.example/{n}") for n in range(90)]
    found = merge_hits(hits, SECTION)
    assert len(found) == 50
    assert [candidate.url for candidate in found[:2]] == ["https://a.example/89", "https://a.example/88"]
    assert [candidate.position for candidate in found] == list(range(50))


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), ANY_JSON), max_size=5))
def test_no_payload_is_an_error(payloads: list[dict[str, Any]]) -> None:
    found = merge_hits([VectorHit(0.1, {"url": "https://a.example/", **payload}) for payload in payloads], SECTION)
    assert len({candidate.url for candidate in found}) == len(found)
    for candidate in found:
        assert candidate.cts_score is None or 0 <= candidate.cts_score <= 100


def given_one(url: str = "https://a.example/1", **fields: Any) -> RankingCandidate:
    return RankingCandidate.model_validate({"url": url, **fields})


def test_given_results_keep_their_order_unless_all_have_scores() -> None:
    some = [given_one(f"https://a.example/{n}", score=score) for n, score in enumerate((0.1, None, 0.9))]
    assert [found.similarity for found in take_given(some, SECTION)] == [0.1, None, 0.9]
    scored = [given_one(f"https://a.example/{n}", score=score) for n, score in enumerate((0.1, 12.5, 0.9))]
    assert [found.similarity for found in take_given(scored, SECTION)] == [12.5, 0.9, 0.1]


def test_given_results_are_merged_and_cut_and_keep_trust() -> None:
    trust = {"source_tier": 2, "cts_score": 61, "word_count": 900}
    first, second = take_given(
        [
            given_one(title=" T ", content="One.", author=["A", " "], date="May 3, 2024", site_name=" S "),
            given_one("https://b.example/", content="y" * 9000, trust_features=trust),
            given_one("https://a.example/1#part", content="Two. One.", summary="Sum.", cts_score=7),
        ],
        SECTION,
        moments=shipped_rules(RankResultsRules).moments,
    )
    assert (first.title, first.text, first.author, first.date) == ("T", "One.\nTwo.", ("A",), "2024-05-03")
    assert (first.site_name, first.summary, first.cts_score) == ("S", "Sum.", 7)
    assert (second.cts_score, second.trust) == (61, CandidateTrust.model_validate(trust))
    assert len(second.text) == SECTION.max_characters


def test_long_page_is_cut_around_the_query_words() -> None:
    page = "It rains. " * 3000 + "The dam on the Elm was closed in May. " + "It snows. " * 500
    [found] = take_given([given_one(content=page)], SECTION, ("dam", "closed"), 1500)
    assert "The dam on the Elm was closed in May." in found.text
    assert found.passage.startswith("The dam on the Elm was closed in May.")
    assert len(found.text) <= SECTION.max_characters
    assert len(found.passage) <= 1500


def test_a_given_result_without_text_shows_its_summary() -> None:
    [found] = take_given([given_one(summary="In short.")], SECTION)
    assert (found.text, found.passage) == ("", "In short.")


def test_excerpt_without_query_words_is_the_beginning() -> None:
    assert excerpt("Short.", ("long",), 100) == "Short."
    text = "".join(f"Sentence {number}. " for number in range(100))
    assert excerpt(text, ("absent",), 50) == text[:50]
    assert excerpt(text, (), 50) == text[:50]


def test_excerpt_shows_the_first_part_with_most_query_words() -> None:
    filler = "Nothing is said of it here. " * 20
    text = f"{filler}A boat. {filler}The boat race starts. {filler}A boat race again."
    assert excerpt(text, ("boat", "race"), 60).startswith("The boat race starts.")
    chinese = "今天天氣晴朗適合出門。" * 30 + "立法院今天通過預算案。" + "明天有雨。" * 30
    assert "立法院今天通過預算案" in excerpt(chinese, ("立法院", "預算"), 40)


@given(text=st.text(max_size=300), words=st.lists(st.text(min_size=1, max_size=3), max_size=5), most=st.integers(1, 80))
def test_an_excerpt_is_a_part_of_its_text(text: str, words: list[str], most: int) -> None:
    part = excerpt(text, words, most)
    assert part in text
    assert len(part) <= most
