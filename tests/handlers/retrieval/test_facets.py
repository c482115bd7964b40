"""The facets of a query, and how many of them a result answers."""

import pytest

from handlers.evaluate_retrieval import EvaluateRetrievalRules
from handlers.retrieval.facets import answers, met, share_of
from tests.rules import shipped_rules

READER = shipped_rules(EvaluateRetrievalRules).reader
CONCERT = "Saturday, 29 November 2026, 20:00. Venue: Harbour House, Kystvejen 12, Aarhus. Price: 180 kr."


def share(query: str, text: str, title: str = "", *, is_listing: bool = False) -> float:
    facets = READER.read(query)
    seen = READER.see(title, text, is_listing=is_listing)
    return round(share_of(facets, [met(facet, seen) for facet in facets]), 2)


def is_answer(query: str, text: str, title: str = "") -> bool:
    facets = READER.read(query)
    seen = READER.see(title, text)
    return answers(facets, [met(facet, seen) for facet in facets], 0.5)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("events in Aarhus today", CONCERT, 1.0),  # the kind of thing and the time by the details
        ("events in Aarhus today", "All events in Aarhus", 0.67),  # no day
        ("events in Aarhus 29 November", CONCERT, 1.0),
        ("events in Aarhus 30 November", CONCERT, 0.67),  # another day
        ("events in Aarhus in November 2026", CONCERT, 1.0),
        ("events in Aarhus in December", CONCERT, 0.67),
        ("harbour concerts price", "Harbour concert. Price on request.", 0.83),  # named, and not said
        ("harbour concerts price", CONCERT, 1.0),
        ("RTX 4060 laptop under $1000", "RTX 4060 laptop for $849", 0.94),  # "under" says little
        ("trattoria roma opening hours", "Trattoria da Anna, Roma. 12:00-15:00", 1.0),
        ("how to fix a leaking tap", "Repairing taps that leak", 1.0),  # inflections, and words that mean the same
        ("how to fix a leaking tap", "Order pizza. Buy now. Price $9", 0.0),
        ("Konzerte in Hamburg am Wochenende", "29. November 2026, 20 Uhr, Elbphilharmonie Hamburg", 1.0),
        ("Konzerte in Hamburg am Wochenende", "Hamburg hat 1,9 Millionen Einwohner.", 0.33),
        ("台北週末音樂會", "2026年11月28日晚上7點，台北市信義區信義路五段7號", 1.0),
        ("東京 ラーメン屋 住所", "東京都新宿区西新宿2丁目8番1号。醤油ラーメン", 1.0),
        ("horario museo del prado", "Museo del Prado: de 10:00 a 20:00", 1.0),
        ("", CONCERT, 0.0),
        ("the of and", CONCERT, 0.0),
    ],
)
def test_how_much_of_a_query_a_text_answers(query: str, text: str, expected: float) -> None:
    assert share(query, text) == expected


def test_a_listing_has_the_subject_and_nothing_else() -> None:
    assert share("events in Aarhus today", "All events in Aarhus today", is_listing=True) == 0.33


def test_details_of_the_title_count() -> None:
    assert share("concerts 29 November", "Doors at seven.", title="Concert, 29 November, 20:00") == 1.0


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("events in Aarhus today", CONCERT, True),
        ("events in Copenhagen today", CONCERT, False),  # a day and a place are not those of Copenhagen
        ("Syrian hamster breeder price", "Order pizza. Buy now. Price $9", False),
        ("events today", CONCERT, True),  # no subject
        ("the of and", CONCERT, False),
    ],
)
def test_matching_details_do_not_replace_the_subject(query: str, text: str, *, expected: bool) -> None:
    assert is_answer(query, text) is expected
