"""Entities, times and places: what the offline judge of claims misses, accepts and cannot know; no text sways it."""

import pytest

from handlers.claims.wording import Feature, Features, features_of, score_of
from handlers.decontextualize_claim import DecontextualizeClaimRules
from handlers.text.scripts import has_han
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)
RULES = shipped_rules(DecontextualizeClaimRules)
SECTION = RULES.claims.wording
GOOD, POOR = 0.7, 0.4
STEERING = [*TABLES["steering"], " blah" * 300]
DEPENDENT = [claim for _, claim in TABLES["claim_with_a_gap_scores_poor"]]
COMPLETE = TABLES["claim_without_a_gap_scores_good_with_or_without_source"]


def read(claim: str, source: str = "") -> Features:
    features = features_of(claim, source, SECTION, RULES.small_words)
    assert features is not None
    return features


def score(claim: str, source: str = "") -> float | None:
    features = features_of(claim, source, SECTION, RULES.small_words)
    return None if features is None else score_of(features, SECTION)


@pytest.mark.parametrize(("gap", "claim"), TABLES["claim_with_a_gap_scores_poor"])
def test_claim_with_a_gap_scores_poor(gap: str, claim: str) -> None:
    features = read(claim)
    assert gap in [kind for kind, _ in features.gaps]
    assert (score_of(features, SECTION) or 0) < POOR
    assert all(words in claim for _, words in features.gaps if not claim.isupper())


@pytest.mark.parametrize("claim", COMPLETE)
def test_claim_without_a_gap_scores_good_with_or_without_source(claim: str) -> None:
    for source in ("", claim):
        features = read(claim, source)
        assert (features.gaps, features.is_claim) == ([], True)
        assert (score_of(features, SECTION) or 0) >= GOOD


@pytest.mark.parametrize("claim", TABLES["the_wording_may_not_show_it"])
def test_the_wording_may_not_show_it(claim: str) -> None:
    assert score(claim) is None
    assert read(claim).doubts


@pytest.mark.parametrize("text", TABLES["text_without_a_statement_is_no_claim"])
def test_text_without_a_statement_is_no_claim(text: str) -> None:
    assert not read(text).is_claim


@pytest.mark.parametrize("claim", [claim for claim in DEPENDENT if not claim.isupper() and "later" not in claim])
def test_a_year_never_completes_a_dependent_claim(claim: str) -> None:
    later = f"{claim.rstrip('.。')} in 1994."
    for dated in [f"1994年，{claim}"] if has_han(claim) else [later, f"In 1994, {claim[0].lower()}{claim[1:]}"]:
        assert (score(dated) or 0) < POOR, dated


@pytest.mark.parametrize("opening", ["Unlike its predecessor", "Despite protests", "Weighing nothing", "Sadly"])
@pytest.mark.parametrize("claim", [claim for claim in DEPENDENT if claim.startswith("The ")])
def test_an_opening_phrase_never_completes_a_dependent_claim(opening: str, claim: str) -> None:
    assert (score(f"{opening}, t{claim[1:]}") or 0) < POOR


@pytest.mark.parametrize("name", ["Bilbao", "Clara Voss"])
def test_a_pronoun_for_a_name_never_raises_the_score(name: str) -> None:
    for rest in TABLES["what_a_name_did"]:
        for pronoun in ("It", "She", "They"):
            assert (score(f"{pronoun} {rest}") or 0) < (score(f"{name} {rest}") or 0)


@pytest.mark.parametrize(("feature", "claim"), TABLES["weaker_features_are_counted"])
def test_weaker_features_are_counted(feature: Feature, claim: str) -> None:
    assert read(claim).counts[feature] >= 1


@pytest.mark.parametrize(("before", "after"), TABLES["rewritten_self_contained_claim_scores_higher"])
def test_rewritten_self_contained_claim_scores_higher(before: str, after: str) -> None:
    assert (score(before) or 0) < (score(after) or 0)


@pytest.mark.parametrize(("claim", "source"), TABLES["dependent"])
def test_no_text_fills_a_gap(claim: str, source: str) -> None:
    for steering in STEERING:
        attacked = (claim + steering, steering.strip() + " " + claim, claim.rstrip(".。") + steering)
        tried = [(claim, source), (claim, source + steering)]
        tried += [(text, given) for text in attacked for given in (source, source + steering)]
        for text, given in tried:
            assert (score(text, given) or 0) < POOR, (text, given)


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
        assert 0 <= (score(claim, source) or 0) <= 1


@pytest.mark.parametrize("claim", TABLES["claim_in_a_language_without_word_lists_is_not_judged"])
def test_claim_in_a_language_without_word_lists_is_not_judged(claim: str) -> None:
    assert features_of(claim, "", SECTION, RULES.small_words) is None


@pytest.mark.parametrize("claim", TABLES["with_lists_there_is_one"])
def test_with_lists_there_is_one(claim: str) -> None:
    assert read(claim)


def test_reasons_quote_the_words_that_need_context() -> None:
    assert read("It joined Norway last year.").reason == (
        "Needs context: “It” does not say who or what is meant; “last year” counts from a day that the claim does not "
        "give."
    )
    assert (
        read("The tiger is the largest cat.").reason == "Undecided: “The tiger” may mean one such thing or all of them."
    )
