"""Details in texts: dates, times, places and prices; what counts, with which value, and texts that only look alike."""

import re
from typing import Any

import pytest
from babel.numbers import list_currencies
from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.prices import AMOUNT, decimal_amount
from handlers.text.reading import is_currency_code
from handlers.text.words import fold
from schemas.evidence import DateEvidence, Evidence, PlaceEvidence, PriceEvidence, TimeEvidence
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns
KINDS = ("time", "place", "price")
PIECES = st.sampled_from(
    ["29", "11", "/", ".", "-", ":", " ", "2024", "nov", "November ", "pm", "$", "€", "kr", "年", "月", "日", "十",
     "号", "Venue: ", "Main Street", "İ", "ß", "\n", "１２", "²", "٣", "\ud7ff", "free entry", "uhr", "路", "~"]
)  # fmt: skip


def value_of(found: Evidence) -> str | None:
    """A day without a year as ``--11-29``."""
    match found:
        case PriceEvidence():
            assert not (found.currency and found.unit)
            return f"{found.amount} {found.currency or found.unit or ''}".rstrip()
        case DateEvidence(month=None):
            return None
        case DateEvidence():
            return found.date or f"--{found.month:02d}-{found.day:02d}"
        case TimeEvidence():
            return found.time
        case PlaceEvidence():
            return found.name


def values(kind: str, text: str) -> list[str | None]:
    """The values of the details of a kind."""
    return [value_of(found) for found in find_evidence(text, PATTERNS.details) if found.kind == kind]


def cases(name: str) -> list[tuple[str, Any, Any]]:
    """The rows of the tables ``NAME_time``, ``NAME_place`` and ``NAME_price``, each with its kind."""
    return [(kind, *row) for kind in KINDS for row in TABLES[f"{name}_{kind}"]]


@pytest.mark.parametrize(("kind", "text", "value"), cases("one"))
def test_one_detail(kind: str, text: str, value: str) -> None:
    found = values(kind, text)
    assert value in found if kind == "place" else found == [value]


@pytest.mark.parametrize(("kind", "text", "expected"), cases("several"))
def test_several_details(kind: str, text: str, expected: tuple[str, ...]) -> None:
    assert values(kind, text) == list(expected)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind in KINDS for text in TABLES[f"no_{kind}"]])
def test_no_detail(kind: str, text: str) -> None:
    others = {"time": [], "place": ["box 7"], "price": ["4 EUR"]}
    assert values(kind, text) in ([], others[kind])


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


def test_words_around_a_time_belong_to_it() -> None:
    found = find_evidence("it begins kl. 20, ends 11 at night", PATTERNS.details)
    assert [(one.text, value_of(one)) for one in found] == [("kl. 20", "20:00"), ("11 at night", "23:00")]


@pytest.mark.parametrize("text", TABLES["unnamed_place_is_ignored"])
def test_unnamed_place_is_ignored(text: str) -> None:
    assert values("place", text) == []


@pytest.mark.parametrize(("text", "kinds"), TABLES["what_is_part_of_an_address_is_nothing_else"])
def test_what_is_part_of_an_address_is_nothing_else(text: str, kinds: tuple[str, ...]) -> None:
    assert [found.kind for found in find_evidence(text, PATTERNS.details)] == list(kinds)


@pytest.mark.parametrize(
    "form", ["{sign}{amount}", "{sign} {amount}", "{amount} {sign}", "Price {amount} {sign}. In stock"]
)
@pytest.mark.parametrize(
    "sign", ["$", "£", "€", "¥", "₹", "kr", "zł", "CHF", "NT$", "GBP", "USD", "EUR", "SEK", "JPY", "PLN"]
)
def test_marks_between_thousands_change_no_amount(sign: str, form: str) -> None:
    for grouped in ("1,499", "12,345", "1,234,567", "1.234.567"):
        texts = (form.format(sign=sign, amount=amount) for amount in (grouped, re.sub("[,.]", "", grouped)))
        marked, plain = (values("price", text) for text in texts)
        assert marked == plain, grouped


@pytest.mark.parametrize(("text", "currency", "unit"), TABLES["currency_is_null_unless_one_is_meant"])
def test_currency_is_null_unless_one_is_meant(text: str, currency: str | None, unit: str | None) -> None:
    [price] = [detail for detail in find_evidence(text, PATTERNS.details) if detail.kind == "price"]
    assert (price.currency, price.unit) == (currency, unit)


def test_every_currency_code_is_one_of_iso_4217() -> None:
    units = {PATTERNS.details.all_currencies[word] for word in PATTERNS.details.all_currencies}
    assert {unit for unit in units if is_currency_code(unit)} <= list_currencies()


@pytest.mark.parametrize(("text", "amount"), TABLES["scaled_amounts_are_exact"])
def test_scaled_amounts_are_exact(text: str, amount: str) -> None:
    assert (values("price", text)[0] or "").split()[0] == amount


@pytest.mark.parametrize(("text", "value"), TABLES["amounts"])
def test_amounts(text: str, value: str) -> None:
    assert decimal_amount(text) == value


@pytest.mark.parametrize(
    ("text", "found"),
    [("1 200 300", "1 200 300"), ("12 34", "12"), ("1,2345", "1,2345"), ("1 200 3000", "1 200"), ("1234 500", "1234")],
)
def test_groups_have_three_digits(text: str, found: str) -> None:
    match = AMOUNT.match(text)
    assert match
    assert match.group() == found
