"""Which claims the offline judge has word lists for; in the others it would find no sign, and call all of them good."""

from __future__ import annotations

import pytest

from handlers.claims.signs import signs_of
from handlers.decontextualize_claim import DecontextualizeClaimRules
from handlers.offline.decontextualize_claim import answer
from tests.rules import shipped_rules

SECTION = shipped_rules(DecontextualizeClaimRules).claims.signs


def is_readable(claim: str, source: str = "") -> bool:
    return signs_of(claim, source, SECTION) is not None


@pytest.mark.parametrize(
    "claim",
    [
        "Le président a démissionné hier.",
        "Il a gagné la course l'année dernière.",
        "Ella ganó el premio ayer.",
        "Lei ha vinto di nuovo.",
        "Ele ganhou ontem.",
        "Hij heeft dat gisteren gezegd.",
        "Er is een probleem in Amsterdam.",
        "Hon vann priset igår.",
        "Hän voitti sen eilen.",
        "O bunu dün söyledi.",
        "Hún vann það aftur.",
        "Kupił to wczoraj.",
        "Saya pergi kemarin.",
        "Он сказал это вчера.",
        "그는 어제 그것을 말했다.",
        "彼女はそれを買った。",
        "هو قال ذلك أمس",
        "The bridge was opened in 1911. Ella ganó el premio ayer.",
        "Mona Lisa",
        "Up 20%",
    ],
)
def test_without_lists_there_is_no_opinion(claim: str) -> None:
    assert not is_readable(claim)
    facts = {"claim_text": claim, "source_text": "", "signs": SECTION.model_dump(mode="json")}
    assert answer(facts) == "unknown language"


@pytest.mark.parametrize(
    "claim",
    [
        "Water boils at 100 °C",
        "Smoking causes cancer.",
        "Sales doubled.",
        "Beethoven died in Vienna.",
        "The Russian word перестройка means restructuring.",
        "São Paulo is in Brazil.",
        "Los Angeles and La Paz are cities.",
        "António de Oliveira Salazar was Portuguese.",
        "MAYOR RESIGNED",
        "Sie gewann.",
        "München wächst.",
        "Hun vandt.",
        "Teatret solgte alle billetter.",
        "他當時反對。",
        "玉山有 3952 公尺",
        "5%",
    ],
)
def test_with_lists_there_is_one(claim: str) -> None:
    assert is_readable(claim)


def test_where_a_claim_has_no_small_word_its_source_tells_the_language() -> None:
    assert not is_readable("Cats purr.")
    assert is_readable("Cats purr.", "This is what is known of the cat.")
    assert not is_readable("Cats purr.", "Lei ha vinto di nuovo.")


@pytest.mark.parametrize("claim", ["\u0301" * 500, "a" * 30_000, "\U0001f600", "...", ""])
def test_nothing_raises(claim: str) -> None:
    is_readable(claim, claim)
