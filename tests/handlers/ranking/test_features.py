"""Features: the base does not depend on trust, and unknown values are missing, not 0."""

import math
import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.candidates import Candidate
from handlers.ranking.features import extract_features
from handlers.ranking.fusion import Corpus, Fused, fuse
from handlers.ranking.model import (
    NAMES,
    TOTAL_FEATURES_PHASE_A,
    Feature,
)
from handlers.ranking.query import read_query
from schemas.queries import CandidateTrust
from tests.handlers.ranking.frozen.cases import Case, frozen_cases, frozen_model, frozen_scores, frozen_vectors
from tests.rules import RankingRules, shipped_rules
from tests.tables import tables

TABLES = tables(__file__)


SECTION = shipped_rules(RankingRules).ranking
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CASES = frozen_cases()
TRUST = CandidateTrust(**TABLES["trust"])
RAIN = Candidate(text="It will rain in the north, the office said. " * 3, **TABLES["rain"])
DRY = Candidate(url="https://a.example/d", title="A dry month", text="No drop fell.", passage="", position=1)
FUSED = Fused(**TABLES["fused"])


def row_of(candidate: Candidate, text: str = "rain", now: datetime | None = NOW) -> dict[str, float]:
    """The features of one candidate alone, by name."""
    query = read_query(text, SECTION.intent)
    [row] = extract_features(query, [candidate], [FUSED], None, [0], None, now).tolist()
    return dict(zip(NAMES, row, strict=True))


# --- the table -------------------------------------------------------------------------------------------------------


# --- 29 features go on bit for bit -----------------------------------------------------------------------------------


def test_base_features_equal_the_frozen_ones() -> None:
    for case, vectors in zip(CASES, frozen_vectors(), strict=True):
        np.testing.assert_array_equal(case.features()[:, :TOTAL_FEATURES_PHASE_A], vectors)


def test_a_model_of_29_features_gives_the_scores_it_gave() -> None:
    model = frozen_model()
    for case, scores in zip(CASES, frozen_scores(), strict=True):
        for features in (case.features(), case.features(TRUST, 93), case.features(CandidateTrust(), 4)):
            assert model.score(features).tolist() == scores, "equal to the last bit, whatever is known of trust"


def test_frozen_files_reveal_a_change_in_any_base_feature() -> None:
    together = np.concatenate(frozen_vectors())
    for column in range(TOTAL_FEATURES_PHASE_A):
        assert len(set(together[:, column])) > 1, f"{NAMES[column]} is always the same"
    assert set(frozen_model().booster.get_score()) == set(NAMES[:29]), "every one is asked for by some tree"
    scores = [score for case in frozen_scores() for score in case]
    for column in range(TOTAL_FEATURES_PHASE_A):
        other = np.concatenate([case.features() for case in CASES])
        other[:, column] = other[::-1, column] * 1.5 + 0.25
        assert frozen_model().score(other).tolist() != scores, f"{NAMES[column]} changes no score"


# --- the block of trust ----------------------------------------------------------------------------------------------


def test_what_is_known_of_trust_fills_the_block() -> None:
    assert NAMES[TOTAL_FEATURES_PHASE_A:] == TABLES["names_in_saved_models"]
    row = row_of(replace(RAIN, trust=TRUST, cts_score=81))
    assert list(row.values())[29:] == [1, 81, 1, 1, 4, 7, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "trust", [None, CandidateTrust(), CandidateTrust(word_count=100, base_score=10, has_author=True)]
)
def test_missing_trust_sets_indicator_0_and_other_features_nan(trust: CandidateTrust | None) -> None:
    row = list(row_of(replace(RAIN, trust=trust)).values())
    assert row[29] == 0.0
    assert all(math.isnan(value) for value in row[30:])


def test_partial_trust_sets_only_the_known_features() -> None:
    alone = list(row_of(replace(RAIN, cts_score=0)).values())
    assert alone[29:31] == [1.0, 0.0]
    assert all(math.isnan(value) for value in alone[31:])
    without = row_of(replace(RAIN, trust=TRUST))
    assert without["trust_features_present"] == 1.0
    assert math.isnan(without["cts_score"])


@pytest.mark.parametrize(
    ("academic", "government", "authority"),
    [(True, None, 1.0), (None, True, 1.0), (False, None, 0.0), (False, False, 0.0), (True, True, 1.0)],
)
def test_authority_is_that_of_an_academy_or_a_government(
    academic: bool | None, government: bool | None, authority: float
) -> None:
    trust = CandidateTrust(domain_is_academic=academic, domain_is_government=government)
    assert row_of(replace(RAIN, trust=trust))["domain_authority"] == authority


@given(st.builds(CandidateTrust), st.none() | st.integers(0, 100), st.sampled_from(CASES))
def test_trust_changes_no_base_feature(trust: CandidateTrust, cts_score: int | None, case: Case) -> None:
    with_trust, without = case.features(trust, cts_score), case.features()
    np.testing.assert_array_equal(with_trust[:, :29], without[:, :29])


# --- the document ----------------------------------------------------------------------------------------------------


def test_document_features_come_from_its_own_fields() -> None:
    row = row_of(RAIN)
    assert list(row.values())[6:14] == [len(RAIN.text), 1.5, 1, 1, 1.0, 17, 15, 25]
    bare = row_of(DRY)
    assert math.isnan(bare["recency_days"])
    assert list(bare.values())[8:11] == [0, 0, 0.2]


@pytest.mark.parametrize(("date", "days"), TABLES["age_is_counted_in_days_from_when_it_was_asked"])
def test_age_is_counted_in_days_from_when_it_was_asked(date: str, days: float) -> None:
    row = row_of(replace(RAIN, date=date))
    assert row["recency_days"] == days
    assert row["has_date"] == 1.0
    elsewhere = NOW.astimezone(timezone(timedelta(hours=8)))
    assert row_of(replace(RAIN, date=date), now=elsewhere)["recency_days"] == days


def test_missing_clock_or_date_gives_no_age() -> None:
    unasked = row_of(RAIN, now=None)
    assert math.isnan(unasked["recency_days"])
    assert unasked["has_date"] == 1.0
    for date in (None, "", "yesterday", "2026-13-45"):
        row = row_of(replace(RAIN, date=date))
        assert math.isnan(row["recency_days"])
        assert row["has_date"] == 0.0


# --- the stages before -----------------------------------------------------------------------------------------------


def three(ranked: list[float | None] | None, order: list[int]) -> list[dict[str, float]]:
    """Three candidates' features by name."""
    candidates = [replace(RAIN, url=f"https://a.example/{position}", position=position) for position in range(3)]
    fused = [replace(FUSED, score=score) for score in (0.5, 1.0, 0.25)]
    rows = extract_features(read_query("rain", SECTION.intent), candidates, fused, ranked, order, [0.3, 0.2, 0.1], NOW)
    return [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]


def test_before_a_judge_has_ranked_the_fused_order_counts() -> None:
    rows = three(None, [1, 0, 2])
    assert [row["ranking_position"] for row in rows] == [1, 0, 2]
    assert [row["retrieval_position"] for row in rows] == [0, 1, 2]
    assert [row["position_change"] for row in rows] == [-1, 1, 0]
    assert [row["ranking_percentile"] for row in rows] == [0.5, 1.0, 0.0]
    assert [row["relative_score"] for row in rows] == [0.5, 1.0, 0.25]
    assert all(math.isnan(row["model_score"]) for row in rows)
    assert [row["mmr_score"] for row in rows] == [0.3, 0.2, 0.1]


def test_judge_scores_are_features_and_missing_ones_are_nan() -> None:
    rows = three([0.4, 0.8, None], [1, 0, 2])
    assert [row["model_score"] for row in rows[:2]] == [0.4, 0.8]
    assert [row["relative_score"] for row in rows[:2]] == [0.5, 1.0]
    assert math.isnan(rows[2]["model_score"])
    assert math.isnan(rows[2]["relative_score"])


def test_all_zero_judge_scores_give_zero_relative_scores() -> None:
    assert [row["relative_score"] for row in three([0.0, 0.0, 0.0], [0, 1, 2])] == [0.0, 0.0, 0.0]


def test_without_a_preview_feature_27_is_0() -> None:
    assert row_of(RAIN)["mmr_score"] == 0.0


@pytest.mark.parametrize(
    ("text", "intent"), [('"rain of 1931" who 2026', 0.0), ("overview of rain", 1.0), ("rain near the coast", 2.0)]
)
def test_the_intent_is_a_number(text: str, intent: float) -> None:
    assert row_of(RAIN, text)["intent"] == intent


def test_a_query_is_counted() -> None:
    row = list(row_of(RAIN, 'who said "rain again" in 2026').values())[:6]
    assert row[0] == 29
    assert row[1:5] == [6, 1, 1, 1]


def test_real_stages_fill_every_base_feature() -> None:
    query = read_query("rain in the north", SECTION.intent)
    candidates = (RAIN, DRY)
    fused = fuse(candidates, Corpus(candidates, SECTION.bm25), query, NOW, SECTION.bm25)
    rows = extract_features(query, candidates, fused, (0.9, 0.1), (0, 1), (1.0, 0.2), NOW)
    assert not np.isnan(rows[0, :29]).any()
    assert rows[0, Feature.BM25_SCORE] > rows[1, Feature.BM25_SCORE]
    assert rows[0, Feature.COMBINED_SCORE] == fused[0].score
    assert {NAMES[column] for column in np.flatnonzero(np.isnan(rows[1, :29]))} == {"recency_days", "vector_similarity"}


# --- extremes --------------------------------------------------------------------------------------------------------


def test_feature_table_of_no_candidates_is_empty() -> None:
    assert extract_features(read_query("rain", SECTION.intent), [], [], None, [], None, NOW).shape == (0, 41)


def test_foreign_numbers_beyond_all_bounds_stay_numbers() -> None:
    wild = replace(
        RAIN, similarity=1e308, trust=CandidateTrust(citation_count=10**400, external_links_count=-(10**400))
    )
    query = read_query("rain", SECTION.intent)
    rows = extract_features(query, [wild], [replace(FUSED, vector=1e308)], [1e308], [0], None, NOW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(rows.astype(np.float32)[0, [14, 33, 34]]).all()
        assert frozen_model().score(rows).shape == (1,)
