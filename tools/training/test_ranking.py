"""The training data of the shipped ranking model is graded and split as its card says, and the shipped model fits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from handlers.ranking.config import features_config
from handlers.ranking.model import NAMES, TOTAL_FEATURES_PHASE_A, VERSION_PHASE_C, Feature
from streams.settings.model import load_settings
from streams.training.model_files import SHIPPED, SHIPPED_MANIFEST, read_ranking_model
from streams.training.train import Grown
from tools.accuracy.ranking_sets import Document, Query, RankingSet
from tools.training.ranking import card
from tools.training.ranking_cases import KNOWN, Case, groups_of, hide_trust
from tools.training.ranking_split import dealt, half, is_held_out_site

pytestmark = pytest.mark.slow

MOST_BYTES = 300_000


def case(number: int = 0, results: int = 12) -> Case:
    """Results of which one is known, at a place that its fused score gives; every third has the label HIGH."""
    chance = np.random.default_rng(number)
    features = chance.random((results, len(Feature))).astype(np.float32)
    known = np.arange(results) == number % results
    high = np.arange(results) % 3 == 0
    features[:, Feature.COMBINED_SCORE] = known + 0.1 * chance.random(results)
    features[:, Feature.KEYWORD_OVERLAP] = 0.2
    features[:, Feature.TRUST_FEATURES_PRESENT] = 1
    features[:, Feature.CTS_SCORE] = np.where(high, 80, 30)
    return Case(f"query number {number}", "title", features, known, features[:, Feature.KEYWORD_OVERLAP], high)


def test_trust_adds_one_grade_among_equally_relevant_results() -> None:
    some = case(1)
    seen = np.ones(12, dtype=np.bool_)
    assert some.grades(seen).tolist() == [1, KNOWN, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]
    assert some.grades(~seen).tolist() == [0, KNOWN, *[0] * 10]
    held = dataclasses.replace(some, overlap=np.full(12, 0.95, dtype=np.float32))
    assert held.grades(seen).tolist() == [3, KNOWN, 2, 3, 2, 2, 3, 2, 2, 3, 2, 2]


def test_training_uses_answers_with_without_and_partial_trust() -> None:
    whole, none, part = groups_of([case(1)])
    assert not np.isnan(whole.features).any()
    assert (none.features[:, Feature.TRUST_FEATURES_PRESENT] == 0).all()
    assert np.isnan(none.features[:, Feature.CTS_SCORE :]).all()
    hidden = np.isnan(part.features[:, Feature.CTS_SCORE])
    assert 0 < hidden.sum() < 12
    assert (part.grades[hidden] != 1).all()
    for group in (none, part):
        assert (group.features[:, :TOTAL_FEATURES_PHASE_A] == whole.features[:, :TOTAL_FEATURES_PHASE_A]).all()
    assert np.isnan(hide_trust(whole).features[:, Feature.CTS_SCORE :]).all()
    assert (hide_trust(whole).grades == whole.grades).all()


def test_site_split_is_disjoint_and_stable() -> None:
    urls = [f"https://{sub}.site{number}.example/{number}" for number in range(60) for sub in ("a", "b")]
    queries = tuple(Query("title", f"t{url}", {url: 4.0}, site="") for url in urls)
    whole = RankingSet("some", tuple(Document(url, b"") for url in urls), queries)
    grown, held = half(whole, held_out=False), half(whole, held_out=True)
    assert {document.url for document in grown.documents}.isdisjoint(document.url for document in held.documents)
    assert len(grown.documents) + len(held.documents) == len({dealt(url) for url in urls}) == 120
    assert len(grown.queries) + len(held.queries) == 120
    assert 30 < len(held.documents) < 90
    assert len({len(dealt(f"https://some.example/{number:03}")) for number in range(100)}) == 1
    for one, other in zip(urls[::2], urls[1::2], strict=True):
        assert is_held_out_site(one) is is_held_out_site(other)


@pytest.mark.parametrize("file", ["manifest.json", "model.json", "card.md"])
def test_the_shipped_model_is_small(file: str) -> None:
    assert SHIPPED_MANIFEST.with_name(file).stat().st_size <= MOST_BYTES


def test_shipped_model_fits_and_is_off() -> None:
    model = read_ranking_model(SHIPPED)
    assert (model.manifest.features_version, model.manifest.features) == (VERSION_PHASE_C, NAMES)
    card = SHIPPED_MANIFEST.with_name("card.md").read_text("utf-8")
    assert model.manifest.version in card
    assert model.manifest.licence in card
    for source in ("wcxb", "CC-BY-4.0", "twnews", "magic-html", "GerapyAutoExtractor"):
        assert source in model.manifest.licence
    assert load_settings().ranking.trees.mode == "off"
    assert load_settings().ranking_model is None


def test_the_shipped_model_is_of_its_recipe_as_it_is() -> None:
    """A change to its training or to the features requires a new model."""
    model = read_ranking_model(SHIPPED)
    assert model.manifest.features_config == features_config(load_settings().ranking)
    assert model.other_config(load_settings().ranking) is None
    shipped = set(SHIPPED_MANIFEST.with_name("card.md").read_text("utf-8").splitlines())
    lines = card(model.manifest, Grown(model.model, ()), [], []).splitlines()
    assert [line for line in lines if line not in shipped] == ["0 queries, answered 0 times, 0 results shown."]
