"""Dates, times, places and prices: what counts, with which value, and texts that only look alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.words import fold
from schemas.evidence import DateEvidence, Evidence, PlaceEvidence, PriceEvidence, TimeEvidence
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns
PIECES = st.sampled_from(
    ["29", "11", "/", ".", "-", ":", " ", "2024", "nov", "November ", "pm", "$", "€", "kr", "年", "月", "日", "十",
     "号", "Venue: ", "Main Street", "İ", "ß", "\n", "１２", "²", "٣", "\ud7ff", "free entry", "uhr", "路", "~"]
)  # fmt: skip


def value_of(found: Evidence) -> str | None:
    """A day without a year as ``--11-29``."""
    match found:
        case PriceEvidence():
            return f"{found.amount} {found.currency or found.unit or ''}".rstrip()
        case DateEvidence(month=None):
            return None
        case DateEvidence():
            return found.date or f"--{found.month:02d}-{found.day:02d}"
        case TimeEvidence():
            return found.time
        case PlaceEvidence():
            return found.name


@pytest.mark.parametrize(("text", "date", "precision", "month", "day"), TABLES["a_date_states_what_is_certain"])
def test_a_date_states_what_is_certain(
    text: str, date: str | None, precision: str | None, month: int | None, day: int | None
) -> None:
    [found] = find_evidence(text, PATTERNS.details)
    assert isinstance(found, DateEvidence)
    assert (found.date, found.precision, found.month, found.day) == (date, precision, month, day)


@pytest.mark.parametrize(("text", "expected"), TABLES["details_of_everyday_texts"])
def test_details_of_everyday_texts(text: str, expected: tuple[str, ...]) -> None:
    found = find_evidence(text, PATTERNS.details)
    assert [f"{detail.kind} {value_of(detail)}" for detail in found] == list(expected)


def test_a_detail_is_one_kind_only() -> None:
    found = [(one.kind, one.text) for one in find_evidence("29.11.2024 kl. 20.00, 150 kr", PATTERNS.details)]
    assert found == [("date", "29.11.2024"), ("time", "kl. 20.00"), ("price", "150 kr")]


def test_each_kind_is_limited() -> None:
    assert len(find_evidence("$1 and $2 and $3 at 10:00", PATTERNS.details, limit=2)) == 3


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=30).map("".join)))
def test_offsets_hold_for_any_text(text: str) -> None:
    found = find_evidence(text, PATTERNS.details)
    assert all(text[detail.start : detail.end] == detail.text for detail in found)
    assert found == find_evidence(text, PATTERNS.details)
    assert len(fold(text)) == len(text)


@pytest.mark.parametrize("piece", TABLES["long_text_of_one_kind_is_read_in_time"])
def test_long_text_of_one_kind_is_read_in_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    found = find_evidence(text, PATTERNS.details)
    assert all(text[detail.start : detail.end] == detail.text for detail in found)
