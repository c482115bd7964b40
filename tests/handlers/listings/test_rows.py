"""Rows of a listing in plain text, and what only looks like them."""

from __future__ import annotations

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.listings.rows import Rows, find_rows
from handlers.text.evidence import find_evidence
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def rows(text: str) -> Rows:
    return find_rows(text, find_evidence(text, PATTERNS.details, 20), PATTERNS)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Spade £19.00 Add to basket. Rake £14.50 Add to basket. Hoe £12.00 Add to basket. Fork £21.00", 4),
        ("Kanne 19,00 € In den Warenkorb. Harke 14,50 € In den Warenkorb. Spaten 22,00 €", 3),
        ("5. dec. Julekoncert 6. dec. Julemarked 7. dec. Stand-up 8. dec. Foredrag", 4),
        ("12月6日 哈姆雷特 12月7日 新年音乐会 12月8日 脱口秀", 3),
        ("Carrots forking 14 512 by june. Blight again 31 990 by otto. Net or fleece 6 121 by ines", 3),
        ("Kompost 8/210 Anna Schnecken 44/1201 Michael", 2),
    ],
)
def test_rows_of_names_with_dates_prices_or_counts(text: str, count: int) -> None:
    found = rows(text)
    assert found.count == count
    assert found.share > 0.4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Tickets: £12 £18 £25",
        "The fair opened on 3 May 2024 and it was closed for the repairs that they had asked for on 9 May 2024.",
        "票价：180元 380元 580元",
        "Call 12 34 56 78 for a table.",
        "1/2 3/4",
    ],
)
def test_details_of_one_thing_are_no_rows(text: str) -> None:
    assert rows(text).count <= 1


def test_other_things_beside_one_are_a_small_part_of_its_text() -> None:
    others = "Rake £14.50 Hoe £12.00 Fork £21.00 Spade £19.00"
    assert rows("The hall was full, and nobody left. " * 20 + others).share < 0.1
