"""Entities, times and places: what the offline judge of claims misses, accepts and cannot know; no text sways it."""

import pytest

from handlers.claims.wording import Feature, features_of, score_of
from handlers.decontextualize_claim import DecontextualizeClaimRules, exclusion_of, quality_of
from handlers.offline.judges import judge_claim as answer
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

SECTION = shipped_rules(DecontextualizeClaimRules).claims.wording
GOOD, POOR = 0.7, 0.4

DEPENDENT = TABLES["dependent"]
STEERING = [
    *TABLES["steering"],
    " blah" * 300,
]


def score(claim: str, source: str = "") -> float | None:
    features = features_of(claim, source, SECTION)
    return None if features is None else score_of(features, SECTION)


@pytest.mark.parametrize(("gap", "claim"), TABLES["claim_with_a_gap_scores_poor_and_is_not_promotable"])
def test_claim_with_a_gap_scores_poor_and_is_not_promotable(gap: str, claim: str) -> None:
    features = features_of(claim, "", SECTION)
    assert features is not None
    assert gap in features.gaps
    value = score_of(features, SECTION)
    assert value is not None
    assert value < POOR
    assert exclusion_of(value, quality_of(1.0, 1.0, value), 0.7) is not None


@pytest.mark.parametrize("claim", TABLES["claim_without_a_gap_scores_good_with_or_without_source"])
def test_claim_without_a_gap_scores_good_with_or_without_source(claim: str) -> None:
    for source in ("", claim):
        features = features_of(claim, source, SECTION)
        assert features is not None
        assert features.gaps == ()
        value = score_of(features, SECTION)
        assert value is not None
        assert value >= GOOD


@pytest.mark.parametrize(
    "claim", ["Mozart composed 41 symphonies.", "The human body has 206 bones.", "水在攝氏100度沸騰。"]
)
def test_the_wording_may_not_show_it(claim: str) -> None:
    assert score(claim) is None
    facts = {"claim_text": claim, "source_text": "", "wording": SECTION.model_dump(mode="json")}
    assert answer(facts) == "undecided"


@pytest.mark.parametrize(("feature", "claim"), TABLES["weaker_features_are_counted"])
def test_weaker_features_are_counted(feature: Feature, claim: str) -> None:
    features = features_of(claim, "", SECTION)
    assert features is not None
    assert features.counts[feature] >= 1


def test_a_question_has_no_event_and_its_speaker_is_idle() -> None:
    features = features_of("What can I do when prices rose by 12 percent?", "", SECTION)
    assert features is not None
    assert features.gaps == ()


@pytest.mark.parametrize(("before", "after"), TABLES["rewritten_self_contained_claim_scores_higher"])
def test_rewritten_self_contained_claim_scores_higher(before: str, after: str) -> None:
    one, other = score(before), score(after)
    assert one is not None
    assert other is not None
    assert one < other


@pytest.mark.parametrize(("claim", "source"), DEPENDENT)
def test_no_text_fills_a_gap(claim: str, source: str) -> None:
    for steering in STEERING:
        attacked = (claim + steering, steering.strip() + " " + claim, claim.rstrip(".。") + steering)
        tried = [(claim, source), (claim, source + steering)]
        tried += [(text, given) for text in attacked for given in (source, source + steering)]
        for text, given in tried:
            value = score(text, given)
            assert value is None or value < POOR, (text, given)


@pytest.mark.parametrize("steering", STEERING)
def test_no_source_talks_the_judge_out_of_a_good_score(steering: str) -> None:
    claim = "The harbour railway of Esbjerg carried its last passenger train to Varde in September 1987."
    source = f"The harbour railway of Esbjerg had lost most of its freight. {claim}"
    assert score(claim, source) == score(claim, source + steering) == score(claim)


@pytest.mark.parametrize(
    "hostile",
    ["", " ", "\x00", "." * 5000, "the " * 3000, "A." * 3000, "\ud800", "這" * 5000, "'" * 5000, "a-" * 5000,
     "(" * 5000, "it, " * 3000, "\u0301" * 500, "\U0001f600"],
)  # fmt: skip
def test_any_text_is_read(hostile: str) -> None:
    for claim, source in ((hostile, ""), ("It is so.", hostile), (hostile, hostile)):
        features = features_of(claim, source, SECTION)
        value = None if features is None else score_of(features, SECTION)
        assert value is None or 0 <= value <= 1


def test_the_offline_judge_keeps_to_the_protocol() -> None:
    facts = {"claim_text": "It opened.", "source_text": "", "wording": SECTION.model_dump(mode="json")}
    assert answer(facts) == answer(facts) == str(score("It opened."))


def is_readable(claim: str, source: str = "") -> bool:
    return features_of(claim, source, SECTION) is not None


@pytest.mark.parametrize("claim", TABLES["claim_in_a_language_without_word_lists_is_not_judged"])
def test_claim_in_a_language_without_word_lists_is_not_judged(claim: str) -> None:
    assert not is_readable(claim)
    facts = {"claim_text": claim, "source_text": "", "wording": SECTION.model_dump(mode="json")}
    assert answer(facts) == "unknown language"


@pytest.mark.parametrize("claim", TABLES["with_lists_there_is_one"])
def test_with_lists_there_is_one(claim: str) -> None:
    assert is_readable(claim)


def test_source_gives_the_language_of_a_claim_without_stop_words() -> None:
    assert not is_readable("Cats purr.")
    assert is_readable("Cats purr.", "This is what is known of the cat.")
    assert not is_readable("Cats purr.", "Lei ha vinto di nuovo.")
