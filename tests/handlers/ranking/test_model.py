"""Trees: a model that does not fit is refused on loading; a model of 29 features ignores trust."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.config import features_config
from handlers.ranking.model import (
    FEATURES_OF,
    NAMES,
    VERSION_PHASE_A,
    ModelMismatchError,
    Phase,
    RankingModel,
    confidence_of,
)
from schemas.rules import Rules
from streams.settings.model import load_settings
from tests.handlers.ranking.models import generated_model, generated_rows, grown_text, manifest_of
from tests.tables import tables

TABLES = tables(__file__)

ROWS = generated_rows(50, seed=7)
MARGINS = st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=60)


def swapped(names: tuple[str, ...], column: int) -> tuple[str, ...]:
    """The names with two neighbours exchanged."""
    return (*names[:column], names[column + 1], names[column], *names[column + 2 :])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"features_version": VERSION_PHASE_A, "features": FEATURES_OF[VERSION_PHASE_A]},
            "takes 41 features, the manifest has 29",
        ),
        ({"features_version": VERSION_PHASE_A}, "the manifest has 41 features and ranking-features-29.v2 has 29"),
        ({"features": NAMES[:40]}, "the manifest has 40 features and ranking-features-41.v2 has 41"),
        ({"features": swapped(NAMES, 3)}, "feature 3 is 'query_question_words' in the manifest and 'query_numbers' in"),
        ({"features": (*NAMES[:40], "domain_rank")}, "feature 40 is 'domain_rank' in the manifest and 'domain_au"),
        ({"features_version": "ranking-features-41.v1"}, "are those of 'ranking-features-41.v1', and this version of"),
        ({"sha256": "0" * 64}, "SHA-256"),
        ({"phase": Phase.BINARY}, "was trained for rank:ndcg, and a binary model is for binary:logistic"),
        ({"phase": Phase.PAIRWISE}, "was trained for rank:ndcg, and a pairwise model is for rank:pairwise"),
    ],
)
def test_a_manifest_that_does_not_fit_its_model_is_refused(changed: dict[str, Any], told: str) -> None:
    model = generated_model(41).model
    with pytest.raises(ModelMismatchError) as refusal:
        RankingModel(manifest=manifest_of(model, **changed), model=model)
    message = str(refusal.value)
    assert told in message
    assert message.startswith("ranking model generated 1 does not fit: ")
    assert "assay train" in message, "it says what to do"


def test_a_model_grown_on_columns_in_another_order_is_refused() -> None:
    model = grown_text(generated_rows(100), Phase.LISTWISE, swapped(NAMES, 14))
    with pytest.raises(ModelMismatchError, match="feature 14 is 'bm25_score' in the model file and 'vector_"):
        RankingModel(manifest=manifest_of(model), model=model)


@pytest.mark.parametrize(
    "model", ["", "{}", "[]", '{"learner": {}}', '{"learner": 3}', "no JSON", '{"learner": {', "[" * 100_000], ids=len
)
def test_invalid_model_is_refused(model: str) -> None:
    with pytest.raises(ModelMismatchError, match="is not the JSON that XGBoost's save_model writes"):
        RankingModel(manifest=manifest_of(model), model=model)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("features", [29, 41])
def test_scores_are_those_of_xgboost_itself(features: int, phase: Phase) -> None:
    import xgboost

    model = generated_model(features, phase)
    model.ready()
    booster = xgboost.Booster()
    booster.load_model(bytearray(model.model.encode()))
    names = list(model.manifest.features)
    wanted = booster.predict(xgboost.DMatrix(ROWS[:, :features].astype(np.float32), feature_names=names))
    assert model.score(ROWS).tolist() == wanted.tolist()


def test_without_xgboost_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = generated_model(41).model_copy()
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ModelMismatchError, match=r"the extra rank"):
        model.score(ROWS)


def damaged(change: Callable[[dict[str, Any]], object]) -> str:
    """The text of a model after a change to its part ``learner``."""
    document = json.loads(generated_model(41).model)
    change(document["learner"])
    return json.dumps(document)


@pytest.mark.parametrize(("parameter", "told"), TABLES["model_damage_that_only_xgboost_sees_fails_in_ready"])
def test_model_damage_that_only_xgboost_sees_fails_in_ready(parameter: dict[str, str], told: str) -> None:
    text = damaged(lambda it: it["learner_model_param"].update(parameter))
    model = RankingModel(manifest=manifest_of(text), model=text)
    with pytest.raises(ModelMismatchError, match=told):
        model.ready()


def test_changed_feature_configuration_is_reported() -> None:
    model_41 = generated_model(41)
    ranking = load_settings().ranking
    own = manifest_of(model_41.model, features_config=features_config(ranking))
    model = RankingModel(manifest=own, model=model_41.model)
    assert model.other_config(ranking) is None
    assert model_41.other_config(ranking) is None, "a manifest that does not say is left alone"
    told = set()
    for changes in ({"bm25": {"k1": 2.0}}, {"mmr": {"specific": 0.5}}, {"bm25": {"title_weight": 1}}):
        said = model.other_config(load_settings(ranking=changes).ranking)
        assert said is not None
        told.add(said)
    assert len(told) == 1
    assert "\n" not in told.pop()
    assert model.other_config(load_settings(ranking={"trees": {"confidence": 0.1}, "limit": 3}).ranking) is None


def test_a_model_is_read_without_numpy_and_xgboost() -> None:
    """Settings hold a model; most commands never ask it, and their start must not cost what these two cost."""
    program = "import sys, handlers.ranking.model; sys.exit(bool({'numpy', 'xgboost'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_binary_model_is_as_sure_as_its_best_result_is_good() -> None:
    scores = generated_model(41, Phase.BINARY).score(ROWS)
    assert confidence_of(scores, Phase.BINARY) == pytest.approx(float(scores.max()))


@given(MARGINS, st.sampled_from([Phase.PAIRWISE, Phase.LISTWISE]))
def test_the_others_are_as_sure_as_the_first_is_above_the_second(scores: list[float], phase: Phase) -> None:
    confidence = confidence_of(scores, phase)
    assert 0.5 <= confidence <= 1.0
    assert confidence == confidence_of(scores[::-1], phase), "whatever order they come in"
    if len(scores) > 1:
        first, second, *_ = sorted(scores, reverse=True)
        assert confidence == pytest.approx(1 / (1 + np.exp(-(first - second))))


class _Rules(Rules):
    ranking_model: RankingModel | None = None


def test_model_changes_the_config_version_and_is_shown_as_a_hash() -> None:
    model_29, model_41 = generated_model(29), generated_model(41)
    other = grown_text(generated_rows(100, seed=3), Phase.LISTWISE, NAMES)
    versions = {
        _Rules(ranking_model=model).config_version
        for model in (None, model_41, model_29, RankingModel(manifest=manifest_of(other), model=other))
    }
    assert len(versions) == 4
    shown = json.dumps(model_41.model_dump(mode="json"))
    assert hashlib.sha256(model_41.model.encode()).hexdigest() in shown
    assert len(shown) < 3000
    assert len(repr(model_41)) < 3000
