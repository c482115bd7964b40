"""Prices: signs, codes and names of many currencies, marks in amounts, scales, and numbers that are not prices."""

import pytest
from babel.numbers import list_currencies

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.prices import AMOUNT, decimal_amount
from handlers.text.reading import is_currency_code
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns


def prices(text: str) -> list[str]:
    """Amounts, each with its currency or what it counts instead."""
    found = [detail for detail in find_evidence(text, PATTERNS.details) if detail.kind == "price"]
    assert not any(price.currency and price.unit for price in found)
    return [f"{price.amount} {price.currency or price.unit or ''}".rstrip() for price in found]


@pytest.mark.parametrize(("text", "values"), TABLES["prices"])
def test_prices(text: str, values: tuple[str, ...]) -> None:
    assert prices(text) == list(values)


@pytest.mark.parametrize(
    "form", ["{sign}{amount}", "{sign} {amount}", "{amount} {sign}", "Price {amount} {sign}. In stock"]
)
@pytest.mark.parametrize(
    "sign", ["$", "£", "€", "¥", "₹", "kr", "zł", "CHF", "NT$", "GBP", "USD", "EUR", "SEK", "JPY", "PLN"]
)
def test_marks_between_thousands_change_no_amount(sign: str, form: str) -> None:
    for grouped in ("1,499", "12,345", "1,234,567", "1.234.567"):
        plain = grouped.replace(",", "").replace(".", "")
        assert prices(form.format(sign=sign, amount=grouped)) == prices(form.format(sign=sign, amount=plain)), grouped


@pytest.mark.parametrize(("text", "currency", "unit"), TABLES["currency_is_null_unless_one_is_meant"])
def test_currency_is_null_unless_one_is_meant(text: str, currency: str | None, unit: str | None) -> None:
    [price] = [detail for detail in find_evidence(text, PATTERNS.details) if detail.kind == "price"]
    assert (price.currency, price.unit) == (currency, unit)


def test_every_currency_code_is_one_of_iso_4217() -> None:
    units = {PATTERNS.details.all_currencies[word] for word in PATTERNS.details.all_currencies}
    assert {unit for unit in units if is_currency_code(unit)} <= list_currencies()


@pytest.mark.parametrize(("text", "amount"), TABLES["scaled_amounts_are_exact"])
def test_scaled_amounts_are_exact(text: str, amount: str) -> None:
    assert prices(text)[0].split()[0] == amount


def test_free_admission_counts_as_a_word_of_its_own() -> None:
    assert prices("free entry; Free Admission!") == ["0", "0"]
    assert prices("carefree entry, free entryway") == []
    assert prices("全场免费入场吧") == ["0"]


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
