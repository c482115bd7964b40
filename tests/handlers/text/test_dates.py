"""Days: many languages and orders, what a day needs beside it, and what only looks like one."""

from __future__ import annotations

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.dates import written_days
from handlers.text.day_order import Order, Origin
from handlers.text.evidence import find_evidence
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def dates(text: str) -> list[tuple[str, str | None]]:
    return [(found.text, found.value) for found in find_evidence(text, PATTERNS.details) if found.kind == "date"]


@pytest.mark.parametrize(
    ("text", "written", "value"),
    [
        ("opens 3 May 2024", "3 May 2024", "2024-05-03"),
        ("the 3rd of may", "3rd of may", "--05-03"),
        ("on 5 may 2024", "5 may 2024", "2024-05-05"),
        ("2024-Nov-29", "2024-Nov-29", "2024-11-29"),
        ("2024/nov/29", "2024/nov/29", "2024-11-29"),
        ("Nov29, 2024", "Nov29, 2024", "2024-11-29"),
        ("Nov. 29th", "Nov. 29th", "--11-29"),
        ("29 Nov '24", "29 Nov '24", "2024-11-29"),
        ("29-Nov-98", "29-Nov-98", "1998-11-29"),
        ("Nov 29 '24", "Nov 29 '24", "2024-11-29"),
        ("26th of June of 2020", "26th of June of 2020", "2020-06-26"),
        ("28.Oktober", "28.Oktober", "--10-28"),
        ("am 22.04 um acht", "22.04", "--04-22"),
        ("am 27. 11. ab acht", "27. 11.", "--11-27"),
        ("Montag, 2.3. im Saal", "2.3.", "--03-02"),
        ("tirsdag 24/12", "24/12", "--12-24"),
        ("on 11/20 at noon", "11/20", "--11-20"),
        ("on 2016 10 16", "2016 10 16", "2016-10-16"),
        ("29/2", "29/2", "--02-29"),
        ("Sa., 06.12. um 18 Uhr", "06.12.", "--12-06"),
        ("am 05.12. 20:00", "05.12.", "--12-05"),
        ("12-14 June 2025", "12-14 June 2025", "2025-06-12"),
        ("12.–14. juni", "12.–14. juni", "--06-12"),
        ("vom 12.-14.6.2025", "12.-14.6.2025", "2025-06-12"),
        ("June 12th - 14th, 2025", "June 12th - 14th, 2025", "2025-06-12"),
        ("June 12-14:30", "June 12", "--06-12"),
        ("le 1er novembre 2024", "1er novembre 2024", "2024-11-01"),
        ("el 29 de noviembre de 2024", "29 de noviembre de 2024", "2024-11-29"),
        ("18年10月1日", "18年10月1日", "2018-10-01"),
        ("２０１９年０９月０９日", "２０１９年０９月０９日", "2019-09-09"),
        ("2015年三月3號", "2015年三月3號", "2015-03-03"),
        ("二〇一三年二月十五號", "二〇一三年二月十五號", "2013-02-15"),
        ("令和6年11月29日", "令和6年11月29日", "2024-11-29"),
        ("昭和 50年1月2日", "昭和 50年1月2日", "1975-01-02"),
        ("2024년 11월 29일", "2024년 11월 29일", "2024-11-29"),
        ("2024-11-29T20:00:00Z", "2024-11-29", "2024-11-29"),
        ("２０２４／１１／２９", "２０２４／１１／２９", "2024-11-29"),
        ("113年11月29日", "113年11月29日", "2024-11-29"),
        ("平成元年5月3日", "平成元年5月3日", "1989-05-03"),
        ("發布日期 113/05/03", "113/05/03", "2024-05-03"),
        ("29 ноября 2024", "29 ноября 2024", "2024-11-29"),
        ("29 листопада 2024", "29 листопада 2024", "2024-11-29"),
        ("29 listopada 2024", "29 listopada 2024", "2024-11-29"),
        ("3. toukokuuta 2024", "3. toukokuuta 2024", "2024-05-03"),
        ("2024. május 3.", "2024. május 3", "2024-05-03"),
        ("3 Mayıs 2024", "3 Mayıs 2024", "2024-05-03"),
        ("3 de dez. de 2024", "3 de dez. de 2024", "2024-12-03"),
        ("12 déc. 2023", "12 déc. 2023", "2023-12-12"),
        ("5 set 2024", "5 set 2024", "2024-09-05"),
        ("٣ مايو ٢٠٢٤", "٣ مايو ٢٠٢٤", "2024-05-03"),
        ("3 พฤษภาคม 2567", "3 พฤษภาคม 2567", "2024-05-03"),
        ("3 tháng 5, 2024", "3 tháng 5, 2024", "2024-05-03"),
        ("3 मई 2024", "3 मई 2024", "2024-05-03"),
    ],
)
def test_one_day(text: str, written: str, value: str) -> None:
    assert dates(text) == [(written, value)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("on 11/20, 11/22 or 11/25", ["--11-20", "--11-22", "--11-25"]),
        ("1 May - 2 June", ["--05-01", "--06-02"]),
        ("29.11.2024-30.11.2024", ["2024-11-29", "2024-11-30"]),
        ("2024年1月1日至2024年2月3日", ["2024-01-01", "2024-02-03"]),
        ("Feb 28 Mar 1", ["--02-28", "--03-01"]),
    ],
)
def test_several_days(text: str, values: list[str]) -> None:
    assert [value for _, value in dates(text)] == values


@pytest.mark.parametrize(
    "text",
    [
        "10 may be enough",
        "page 2/15",
        "2/15",
        "4/5 stars",
        "24/7",
        "on 4/5 €",
        "ab 3.10 EUR",
        "ratio 16/9/2",
        "am 2.3 Prozent",
        "the code 133-03-03-2020",
        "Nov 31",
        "March 2019",
        "May 20:30",
        "nov 10%",
        "农历10月15日",
        "ISBN 12-11-2024",
        "A29-11-2024",
        "29-11-2024x",
        "29-11-2024-22",
        "12.11.2024.3",
        "30 Feb 2024",
        "1 Maybe 2024",
        "99 Nov",
        "0 Nov",
        "2月30日",
        "2月",
        "10.11.12.13",
        "on 12/13/14/15",
        "29 November 1066",
        "phone 01-02-2024",
        "3,5 mars",
        "march 3 miles",
        "set 5 pieces",
        "10 out of 20",
        "the code 113/05/03",
    ],
)
def test_no_day(text: str) -> None:
    assert dates(text) == []


@pytest.mark.parametrize(
    ("text", "order", "value"),
    [
        ("03/04/2024", "day", "2024-04-03"),
        ("03/04/2024", "month", "2024-03-04"),
        ("03/04/2024", None, None),
        ("03-04-2024", None, None),
        ("29/04/2024", "month", "2024-04-29"),
        ("03.04.2024", "day", "2024-04-03"),
        ("03.04.2024", None, "2024-04-03"),
        ("03.04.2024", "month", None),
        ("4/4/24", None, "2024-04-04"),
    ],
)
def test_where_a_text_comes_from_decides_the_order(text: str, order: Order | None, value: str | None) -> None:
    assert [found.value for found in written_days(text, PATTERNS.details, Origin(order))] == [value]


def test_days_are_read_up_to_a_limit() -> None:
    assert len(list(written_days("3 May 2024 " * 50, PATTERNS.details, limit=5))) == 5


def test_the_order_of_day_and_month_may_be_open() -> None:
    assert dates("by 05/06 or so; 05/06/2024; 06/06/2024") == [
        ("05/06", None),
        ("05/06/2024", None),
        ("06/06/2024", "2024-06-06"),
    ]
