"""What comes first in 03/04/2024, by the address, what the page declares, and the language of its text."""

from __future__ import annotations

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.day_order import Origin, origin_of
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns).details


@pytest.mark.parametrize(
    ("url", "declared", "language", "order"),
    [
        ("https://news.example.co.uk/", ["en"], "en", "day"),
        ("https://news.example.in/", ["en"], "en", "day"),
        ("https://office.example.gov/", [], "en", "month"),
        ("https://news.example.com/", ["en-US"], "en", "month"),
        ("https://news.example.com/", ["en", "en_GB"], "en", "day"),
        ("https://news.example.com/", ["en"], "en", None),
        ("https://news.example.com/", [], None, None),
        ("https://news.example.io/", ["en"], "en", None),
        ("https://news.example.de/", ["en"], "en", "day"),
        ("https://news.example.com/", ["fr"], "fr", "day"),
        ("https://news.example.com/", ["es-US"], "es", "month"),
        # A template's tag of another language says nothing of the country.
        ("https://news.example.com/", ["en-US"], "de", "day"),
        # Countries that contradict each other.
        ("https://news.example.co.uk/", ["en-US"], "en", None),
        # Countries with both orders.
        ("https://news.example.com/", ["en-CA"], "en", None),
        ("https://news.example.tw/", ["zh-Hant-TW"], "zh", None),
        ("//user@news.example.fr:8080/", [], "en", "day"),
        ("not an address", ["x", ""], "en", None),
    ],
)
def test_order(url: str, declared: list[str], language: str | None, order: str | None) -> None:
    assert origin_of(url, declared, language, PATTERNS).order == order


def test_chinese_pages_may_count_years_of_the_republic() -> None:
    assert origin_of("https://a.example/", [], "zh", PATTERNS) == Origin(None, is_chinese=True)
