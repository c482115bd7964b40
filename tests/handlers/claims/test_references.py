"""What points elsewhere in four languages, and what only looks like it."""

from __future__ import annotations

import pytest

from handlers.claims.signs import signs_of, weigh
from handlers.decontextualize_claim import DecontextualizeClaimRules
from tests.rules import shipped_rules

SECTION = shipped_rules(DecontextualizeClaimRules).claims.signs


@pytest.mark.parametrize(
    ("sign", "claim"),
    [
        ("pronoun", "Many potters prefer it to porcelain."),
        ("pronoun", "Holberg sold it to a brewer."),
        ("pronoun", "Sie wurde 1911 eröffnet."),
        ("pronoun", "Ihre Brücke rostet."),
        ("pronoun", "Den blev åbnet i 1911."),
        ("pronoun", "Hans værksted brændte."),
        ("demonstrative", "Dieses Werk steht still."),
        ("demonstrative", "Disse skibe blev solgt."),
        ("definite", "Der Verein wurde aufgelöst."),
        ("definite", "Der Verein wurde 1911 aufgelöst."),
        ("definite", "The bridge opened in 1911."),
        ("definite", "The alliance agreed on new terms."),
        ("definite", "Foreningen blev opløst."),
        ("definite", "警方表示尚無傷亡"),
        ("stand_in", "Zinc is cheaper."),
        ("stand_in", "Zink ist billiger."),
        ("connective", "Deshalb stieg der Preis."),
        ("connective", "Derfor steg prisen."),
        ("relative_time", "Bilbao opened a tram line last week."),
        ("relative_time", "Bilbao eröffnete gestern eine Linie."),
        ("relative_time", "Bilbao åbnede en linje i går."),
        ("speaker", "Our bakery opens at six."),
        ("speaker", "本公司於六點營業"),
    ],
)
def test_signs_of_dependence_are_seen(sign: str, claim: str) -> None:
    assert signs_of(claim, "", SECTION)[sign] >= 1


@pytest.mark.parametrize(
    ("sign", "claim"),
    [
        ("pronoun", "It is forbidden in Bhutan to sell tobacco."),
        ("pronoun", "It rains in Bergen on two days of three."),
        ("pronoun", "The film They Were Five was shown in Lyon."),
        ("pronoun", "Es gibt in Bremen zwei Häfen."),
        ("pronoun", "Otters hold hands when they sleep."),
        ("pronoun", "Otters hold hands, they say in Bergen, where they sleep."),
        ("pronoun", "When she was nine, Clara Voss built a radio."),
        ("pronoun", "Clara Voss moved to Bergen before she built a radio."),
        ("pronoun", "魯迅留學日本，他在仙台學醫"),
        ("definite", "Der Verein von Lübeck wurde aufgelöst."),
        ("definite", "Foreningen af fiskere i Skagen blev opløst."),
        ("pronoun", "Ærø er en ø i Danmark."),
        ("demonstrative", "The album This Is Later was recorded by Clara Voss."),
        ("definite", "Der Brocken im Harz ist mit Schnee bedeckt."),
        ("stand_in", "Zinc is cheaper than copper."),
        ("stand_in", "Zink ist billiger als Kupfer."),
        ("stand_in", "Norway sells more salmon than any other country."),
        ("speaker", "What can I do against moss on a roof?"),
        ("speaker", "Tell me about the Hanseatic League."),
        ("relative_time", "In 1988 Bilbao planned the line that it opened later."),
        ("demonstrative", "土耳其與那不勒斯之間有航線"),
    ],
)
def test_what_only_looks_like_a_sign_is_none(sign: str, claim: str) -> None:
    assert signs_of(claim, "", SECTION)[sign] == 0


@pytest.mark.parametrize(
    "claim",
    [
        "Copper is a metal.",
        "Clara Voss built the first radio mast of Bergen in 1923.",
        "Der Inn mündet bei Passau in die Donau.",
        "Himmelbjerget i Jylland er 147 meter højt.",
        "濁水溪是台灣最長的河流，全長約186公里。",
    ],
)
def test_plain_facts_stand_alone_with_and_without_a_source(claim: str) -> None:
    for source in ("", claim):
        assert weigh(signs_of(claim, source, SECTION), SECTION) >= 0.7


@pytest.mark.parametrize(
    "other",
    [
        " Der die das und ist nicht mit eine.",
        " Og det er ikke en af dem, men på en måde.",
        "該城市在台灣與其他國家之間。",
    ],
)
def test_a_sentence_in_another_language_hides_nothing(other: str) -> None:
    before = signs_of("She resigned in March.", "", SECTION)
    after = signs_of("She resigned in March." + other, "", SECTION)
    assert after["pronoun"] >= before["pronoun"] == 1


def test_a_short_form_is_partial_where_the_source_explains_it() -> None:
    source = "The Harbour Fund of Bergen (HFB) was founded in 1931."
    assert signs_of("HFB bought nine cranes.", source, SECTION)["partial_name"] == 1
    assert signs_of("The Harbour Fund of Bergen (HFB) bought nine cranes.", source, SECTION)["partial_name"] == 0


def test_pronouns_without_end_are_counted_so_far_only() -> None:
    assert signs_of("it " * 500, "", SECTION)["pronoun"] == 30


def test_a_headline_in_capitals_is_no_title() -> None:
    assert signs_of("She Resigned In March", "", SECTION)["pronoun"] == 1


def test_a_small_word_with_a_capital_begins_another_sentence() -> None:
    assert signs_of("The judge Clara Voss says yes She resigned in March.", "", SECTION)["pronoun"] == 1
