"""Prices: signs, codes and names of many currencies, marks in amounts, scales, and numbers that are not prices."""

import pytest
from babel.numbers import list_currencies

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.patterns import compile_patterns
from handlers.text.prices import AMOUNT, decimal_amount
from handlers.text.reading import is_currency_code
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def prices(text: str) -> list[str]:
    """Amounts, each with its currency or what it counts instead."""
    found = [detail for detail in find_evidence(text, PATTERNS.details) if detail.kind == "price"]
    assert not any(price.currency and price.unit for price in found)
    return [f"{price.amount} {price.currency or price.unit or ''}".rstrip() for price in found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 690 Р", "2690 RUB"),
        ("1 690,54 руб. (шт)", "1690.54 RUB"),
        ("75\xa0000 руб", "75000 RUB"),
        ("39\u202f900 Ft", "39900 HUF"),
        ("12 590 Kč s DPH", "12590 CZK"),
        ("Rp 350.000", "350000 IDR"),
        ("880,000 ₫", "880000 VND"),
        ("₹ 1,25,000", "125000 INR"),
        ("CHF 2'299.-", "2299 CHF"),
        ("1.250 Ft", "1250 HUF"),
        ("$.75", "0.75 $"),
        ("12€50", "12.50 EUR"),
        ("15€५0", "15.50 EUR"),
        ("149,-- kr", "149 kr"),
        ("NZD $100.70", "100.70 NZD"),
        ("£94.50 GBP", "94.50 GBP"),
        ("$5 USD", "5 USD"),
        ("US $1.23", "1.23 USD"),
        ("c $ 300 million", "300000000 CAD"),
        ("$5m", "5000000 $"),
        ("€1.2bn", "1200000000 EUR"),
        ("30 MUSD", "30000000 USD"),
        ("75 USD million", "75000000 USD"),
        ("6.65 billion pesetas", "6650000000 ESP"),
        ("10 turkish lira", "10 TRY"),
        ("14 Millionen Dollar", "14000000 $"),
        ("5 Mrd. Euro", "5000000000 EUR"),
        ("250 danske kroner", "250 DKK"),
        ("８亿元人民币", "800000000 CNY"),
        ("￥300", "300 ¥"),
        ("７ 万 円", "70000 JPY"),
        ("1200億ドル", "120000000000 USD"),
        ("一共300美圆", "300 USD"),
        ("1.0092スイス・フラン", "1.0092 CHF"),
        ("15,000원", "15000 KRW"),
        ("45 ج.م", "45 EGP"),
        ("R 8,499.00", "8499.00 ZAR"),
        ("22000.00元/台", "22000.00 元"),
        ("5,000 won", "5000 KRW"),
        ("fee: 12.50", "12.50"),
        ("USD115", "115 USD"),
        ("10 BZ$", "10 BZD"),
        ("-$5.00 off", "5.00 $"),
        ("1 trillion dollars", "1000000000000 $"),
        ("5 $USD", "5 USD"),
        ("99¢", "99 cents"),
        ("Rs. 1,499/-", "1499 ₨"),
        ("kr. 150,-", "150 kr"),
        ("3 hundred thousand dollars", "300000 $"),
    ],
)
def test_one_price(text: str, value: str) -> None:
    assert prices(text) == [value]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("50 dollar 40 rmb", ["50 $", "40 CNY"]),
        ("rmb 10 usd 20", ["10 CNY", "20 USD"]),
        ("€ 10 € 20", ["10 EUR", "20 EUR"]),
        ("5 € 10 €", ["5 EUR", "10 EUR"]),
        ("$20，300美圆", ["20 $", "300 USD"]),
        ("10-20 €", ["20 EUR"]),
    ],
)
def test_several_prices(text: str, values: list[str]) -> None:
    assert prices(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "40% OFF",
        "16.00 ft",
        "ALL 5 solutions",
        "TOP 10",
        "TRY 2 of them",
        "his pen 7 times",
        "in 2019 won the cup",
        "R 2",
        "CF244",
        "5 krona-like",
        "Price: none",
        "1.2.3 €4",
        "10 items",
        "5 marks",
        "A5 €",
        "A5USD 7",
        "price 25",
        "5m of rope",
        "25 million people",
        "$ only",
    ],
)
def test_no_price(text: str) -> None:
    assert prices(text) in ([], ["4 EUR"])


@pytest.mark.parametrize(
    ("text", "currency", "unit"),
    [
        ("€25", "EUR", None),
        ("NT$ 25", "TWD", None),
        ("$25", None, "$"),
        ("¥25", None, "¥"),
        ("25 kr", None, "kr"),
        ("25元", None, "元"),
        ("25 cents", None, "cents"),
        ("25 GBp", None, "pence"),
        ("25 FCFA", None, "FCFA"),
        ("25 BTC", None, "₿"),
        ("25.00 som", None, "som"),
        ("25.00 VES", "VES", None),
        ("Price: 25", None, None),
        ("free entry", None, None),
    ],
)
def test_currency_is_null_unless_one_is_meant(text: str, currency: str | None, unit: str | None) -> None:
    [price] = [detail for detail in find_evidence(text, PATTERNS.details) if detail.kind == "price"]
    assert (price.currency, price.unit) == (currency, unit)


def test_every_currency_code_is_one_of_iso_4217() -> None:
    units = {PATTERNS.details.all_currencies[word] for word in PATTERNS.details.all_currencies}
    assert {unit for unit in units if is_currency_code(unit)} <= list_currencies()


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("$0.00000001 thousand", "0.00001"),
        ("€999999999999.9 thousand", "999999999999900"),
        ("€1.23456789012345678 million", "1234567.89012345678"),
        (f"€{'9' * 24} trillion trillion", f"{'9' * 24}{'0' * 24}"),
    ],
)
def test_scaled_amounts_are_exact(text: str, amount: str) -> None:
    assert prices(text)[0].split()[0] == amount


def test_free_admission_counts_as_a_word_of_its_own() -> None:
    assert prices("free entry; Free Admission!") == ["0", "0"]
    assert prices("carefree entry, free entryway") == []
    assert prices("全场免费入场吧") == ["0"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234.567", "1234567"),
        ("1,234.5", "1234.5"),
        ("0.125", "0.125"),
        ("12.5", "12.5"),
        ("1.11000000000000009770", "1.11000000000000009770"),
        ("1,25,000.50", "125000.50"),
        ("170 000", "170000"),
        ("007", "7"),
        ("٣.٥", "3.5"),
    ],
)
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
