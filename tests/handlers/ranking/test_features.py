"""Features: the base does not depend on trust, and unknown values are missing, not 0."""

import math
import warnings
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.candidates import Candidate
from handlers.ranking.features import extract_features
from handlers.ranking.fusion import Corpus, Fused, fuse
from handlers.ranking.model import NAMES, Feature
from handlers.ranking.query import read_query
from schemas.queries import CandidateTrust
from tests.handlers.ranking.frozen.weighed import frozen_model
from tests.rules import RankingRules, shipped_rules
from tests.tables import tables

TABLES = tables(__file__)


SECTION = shipped_rules(RankingRules).ranking
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TRUST = CandidateTrust(**TABLES["trust"])
RAIN = Candidate(text="It will rain in the north, the office said. " * 3, **TABLES["rain"])
DRY = Candidate(url="https://a.example/d", title="A dry month", text="No drop fell.", passage="", position=1)
FUSED = Fused(**TABLES["fused"])


def row_of(candidate: Candidate, text: str = "rain", now: datetime | None = NOW) -> dict[str, float]:
    """The features of one candidate alone, by name."""
    query = read_query(text, SECTION.intent)
    [row] = extract_features(query, [candidate], [FUSED], None, [0], None, now).tolist()
    return dict(zip(NAMES, row, strict=True))


def test_what_is_known_of_trust_fills_the_block() -> None:
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


@given(st.builds(CandidateTrust), st.none() | st.integers(0, 100))
def test_trust_changes_no_base_feature(trust: CandidateTrust, cts_score: int | None) -> None:
    with_trust, without = row_of(replace(RAIN, trust=trust, cts_score=cts_score)), row_of(RAIN)
    np.testing.assert_array_equal(list(with_trust.values())[:29], list(without.values())[:29])


def test_zero_judge_scores_and_no_preview_give_zero() -> None:
    row = extract_features(read_query("rain", SECTION.intent), [RAIN], [FUSED], [0.0], [0], None, NOW)[0]
    assert (row[Feature.RELATIVE_SCORE], row[Feature.MMR_SCORE]) == (0.0, 0.0)


def test_real_stages_fill_every_base_feature() -> None:
    query = read_query("rain in the north", SECTION.intent)
    candidates = (RAIN, DRY)
    fused = fuse(candidates, Corpus(candidates, SECTION.bm25, query.weights), query, NOW, SECTION.bm25)
    rows = extract_features(query, candidates, fused, (0.9, 0.1), (0, 1), (1.0, 0.2), NOW)
    assert not np.isnan(rows[0, :29]).any()
    assert rows[0, Feature.BM25_SCORE] > rows[1, Feature.BM25_SCORE]
    assert rows[0, Feature.COMBINED_SCORE] == fused[0].score
    assert {NAMES[column] for column in np.flatnonzero(np.isnan(rows[1, :29]))} == {"recency_days", "vector_similarity"}


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
