import json

import pytest

from schemas.queries import RankingFilters, RankingRequested
from streams.query.route import read_body, read_query_string
from tests.samples import instance


def test_body_is_the_topics_event_with_an_optional_id() -> None:
    body = {
        "query": "台北 展覽",
        "filters": {"tier": "A"},
        "candidates": [{"url": "https://a.example/", "content": "x"}],
    }
    first, second = (read_body(json.dumps(body).encode()) for _ in range(2))
    assert isinstance(first, RankingRequested)
    assert isinstance(second, RankingRequested)
    assert first.request_id != second.request_id
    assert first.filters == RankingFilters(tiers=("A",))
    assert first.candidates is not None
    named = instance(RankingRequested, read_body(b'{"query": "x", "request_id": "mine"}'))
    assert named.request_id == "mine"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "JSON object"),
        (b'"x"', "JSON object"),
        (b"{}", "query: Field required"),
        (b'{"query": ""}', "query"),
        (b'{"query": "x", "limit": 0}', "limit"),
        (b'{"query": "x", "limit": NaN}', "limit"),
        (b'{"query": "x", "limit": true}', "limit"),
        (b'{"query": "x", "filter": {"tiers": ["A"]}}', "no field 'filter'; there are request_id, query, limit"),
        (b'{"query": "a\\u0000b"}', "NUL"),
        (b'{"query": "\\ud800"}', "Invalid JSON"),
        (b'{"query": "x", "request_id": 3}', "request_id"),
        (b'{"query": "x", "candidates": [{"title": "no address"}]}', "candidates.0.url"),
        (b'{"query": "x", "filters": {"tiers": ["D"]}}', "filters.tiers"),
    ],
)
def test_invalid_body_is_refused_with_reason(body: bytes, said: str) -> None:
    answer = instance(str, read_body(body))
    assert said in answer


def test_a_query_string_holds_what_fits_into_one() -> None:
    text = b"q=how+tall+%E5%8F%B0&limit=3&tier=A&tier=B&domain=gov.uk&tag=news&since=2025-01-01&until=2025-02-01"
    request = instance(RankingRequested, read_query_string(text + b"&request_id=r"))
    assert (request.query, request.limit, request.request_id) == ("how tall 台", 3, "r")
    assert request.filters == RankingFilters(
        tiers=("A", "B"), domains=("gov.uk",), tags=("news",), date_from="2025-01-01", date_to="2025-02-01"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "q is missing"),
        (b"limit=3", "q is missing"),
        (b"q=x&q=y", "given twice"),
        (b"q=x&since=1&since=2", "given twice"),
        (b"q=x&colour=red", "'colour'"),
        (b"q=x&limit=many", "limit"),
        (b"q=%ff", "can't be read"),
        (b"q=\xff", "can't be read"),
        (b"q", "query"),
        (b"&".join([b"tag=x"] * 101), "can't be read"),
    ],
)
def test_invalid_query_string_is_refused_with_reason(text: bytes, said: str) -> None:
    answer = instance(str, read_query_string(text))
    assert said in answer
