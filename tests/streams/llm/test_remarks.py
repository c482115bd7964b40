"""What is said before the first question: who answers, and what nobody could mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.llm.remarks import remarks_on
from streams.llm.settings import LlmSettings, ModelLimits, ModelsSection

KEPT = Path("llm.sqlite")
URL = "http://localhost:8000/v1"
PRICED = ModelsSection(limits={"default": ModelLimits(price_in=0.0, price_out=0.0)})
ONE_CALL = ModelsSection(limits={"default": ModelLimits(price_in=0.0, price_out=0.0, in_flight=1)})
UNPRICED = ModelsSection(limits={"default": ModelLimits(price_in=1.0)})


def said(models: ModelsSection = PRICED, model: str = "m", **llm: Any) -> str:
    settings = LlmSettings(**{"cache_path": KEPT, **llm})
    return "; ".join(remarks_on(settings, models, {"judge_relevance": model, "evaluate_search": model}))


@pytest.mark.parametrize(
    ("remark", "given"),
    [
        ("", {"base_url": URL, "api_key": "k"}),
        ("the offline judge answers for evaluate_search, judge_relevance: neither", {"model": ""}),
        ("though a model is named: neither llm.base_url nor llm.api_key is set", {}),
        ("no model is named, set llm.model", {"base_url": URL, "api_key": "k", "model": ""}),
        ("asked without a key", {"base_url": URL}),
        ("has no path: most servers answer below /v1", {"base_url": "http://localhost:8000/", "api_key": "k"}),
        ("m has no price in models.limits: what it costs is not known", {"api_key": "k", "models": UNPRICED}),
        ("so llm.budget_usd_per_day can't be kept", {"api_key": "k", "models": UNPRICED, "budget_usd_per_day": 1.0}),
        ("more calls at once than models.limits allows it (1)", {"api_key": "k", "models": ONE_CALL}),
        ("paid for again after a restart", {"api_key": "k", "cache_path": None}),
    ],
)
def test_one_remark_for_each_thing(remark: str, given: dict[str, Any]) -> None:
    everything = said(**given)
    assert remark in everything
    assert everything.count(";") == 0
    assert bool(everything) == bool(remark)


def test_a_process_that_asks_nobody_has_nothing_to_say() -> None:
    assert remarks_on(LlmSettings(), PRICED, {}) == []


def test_nothing_that_is_said_shows_a_key() -> None:
    everything = said(models=UNPRICED, api_key="sesame", redis_url="redis://:sesame@localhost:1/0")
    assert "sesame" not in everything
