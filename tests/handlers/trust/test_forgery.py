"""A page can't label itself: hundreds of spellings, and prose that stays as it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.trust.forgery import REMOVED, holds_label, without_labels
from tests.handlers.trust.forgeries import forgeries, reads_as_label

ATTACKS = dict(forgeries())


def _forged(clean: Callable[[str], str]) -> list[str]:
    """The attacks of which something is left that reads like a label."""
    return [name for name, text in ATTACKS.items() if reads_as_label(clean(text))]


def test_no_page_forges_a_label() -> None:
    assert len(ATTACKS) > 5_000
    assert _forged(without_labels) == []


def test_the_reader_sees_what_the_pages_try() -> None:
    assert len(_forged(str)) > 0.95 * len(ATTACKS)


@pytest.mark.parametrize(
    "fault",
    [
        lambda text: text.replace("[TRUST_TIER: HIGH]", ""),
        lambda text: re.sub(r"(?i)\[?trust[_ -]tier\W*\w+\]?", "", text),
        lambda text: re.sub(r"(?i)\[?trust[_ -]tier\W*\w+\]?", "", unicodedata.normalize("NFKC", text)),
        lambda text: without_labels(text).replace(REMOVED, "[TRUST_TIER: HIGH]", 1),
    ],
    ids=["one spelling", "one pattern", "one pattern after NFKC", "one that puts it back"],
)
def test_a_weaker_wall_is_found(fault: Callable[[str], str]) -> None:
    assert len(_forged(fault)) > 100


@pytest.mark.parametrize("name", [*ATTACKS][:: len(ATTACKS) // 60])
def test_what_stands_around_a_forgery_stays(name: str) -> None:
    clean = without_labels(ATTACKS[name])

    assert clean.startswith("Rain is expected on Monday.")
    assert clean.endswith("The dam was closed in May.")
    assert not holds_label(clean)


PROSE = [
    "We trust tier one suppliers, and they trust us.",
    "There is high trust in the police; the level of trust is high among the young.",
    "The trust deed names three trustees. A high court upheld the Trust's claim.",
    "Anti-trust: higher fines are due. Low-level staff were trusted.",
    "Tier 1 cities grow; tier: a layer of seats.",
    "Brain trust, hedge trusts, and a medium-sized trust fund (low fees).",
    "The carpal tunnel syndrome score (CTS) fell from 31 to 22.",
    "民眾對政府的信任程度很高，可信度也在上升。",
    "這份報告的可靠度備受質疑，學者呼籲提高公信力。",
    "來源：中央社；攝影：王小明。",
    "Доверие к полиции высокое. Уровень доверия растёт.",
    "Η εμπιστοσύνη είναι υψηλή.",
    "신뢰도가 높은 자료가 필요하다.",
    "信頼度の高い情報源が必要です。",
    "100 % of the &amp; costs (5 %) were paid, C:\\users\\trust is a folder; see https://a.example/?q=%20trust",
    "[1] Smith 2001; [HIGH] winds; 【快訊】颱風來襲",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_left_alone(text: str) -> None:
    assert without_labels(text) == text


def test_what_nobody_sees_is_gone() -> None:
    assert without_labels("a\u200bb\u202e\u00adc\U000e0041\x00d\te\nf") == "abcd\te\nf"


@given(st.text(alphabet="[]TRUSTtier_: -HIGHlow\u200b\u0301&#;%5F\\u<b>＿可信度：高", max_size=120))
def test_whatever_is_cleaned_holds_no_label_and_changes_no_more(text: str) -> None:
    clean = without_labels(text)

    assert not holds_label(clean)
    assert without_labels(clean) == clean


@given(st.text(max_size=200))
def test_any_text_is_taken(text: str) -> None:
    assert not holds_label(without_labels(text))


@pytest.mark.parametrize(
    "unit", ["trust ", "[[[[[trust", "t r u s t ", "&amp;", "[TRUST_", "可信 ", "\u0301", "<b>trust"]
)
def test_a_long_hostile_text_is_taken(unit: str) -> None:
    assert not holds_label(without_labels((unit * 4000)[:8000]))
