import json

import pytest

from schemas.queries import RankingFilters, RankingRequested
from streams.query.route import read_body, read_query_string
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)


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
        *((body.encode(), said) for body, said in TABLES["invalid_body_is_refused_with_reason"]),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
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
        *((text.encode(), said) for text, said in TABLES["invalid_query_string_is_refused_with_reason"]),
        (b"q=\xff", "can't be read"),
        (b"&".join([b"tag=x"] * 101), "can't be read"),
    ],
)
def test_invalid_query_string_is_refused_with_reason(text: bytes, said: str) -> None:
    answer = instance(str, read_query_string(text))
    assert said in answer
