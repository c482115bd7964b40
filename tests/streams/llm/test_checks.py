"""Checks before the first question: the model in use, and settings that cannot be meant."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from streams.llm.checks import Check, checks_of_models
from streams.llm.settings import LlmSettings, ModelLimits, ModelsSection
from streams.settings.model import SettingsError, load_settings
from tests.tables import tables

TABLES = tables(__file__)

KEPT = Path("llm.sqlite")
URL = "http://localhost:8000/v1"
PRICED = ModelsSection(limits={"default": ModelLimits(price_in=0.0, price_out=0.0)})
ONE_CALL = ModelsSection(limits={"default": ModelLimits(price_in=0.0, price_out=0.0, in_flight=1)})
DEAR = ModelsSection(limits={"default": ModelLimits(price_in=1.0, price_out=2.0)})
UNPRICED = ModelsSection(limits={"default": ModelLimits(price_in=1.0)})


def said(models: ModelsSection = PRICED, model: str = "m", **llm: Any) -> list[Check]:
    settings = LlmSettings(**{"cache_path": KEPT, **llm})
    checks = checks_of_models(settings, models, {"judge_relevance": model, "evaluate_search": model})
    return [check for check in checks if check.state != "ok"]


@pytest.mark.parametrize(
    ("state", "words", "given"),
    [
        *TABLES["one_remark_for_each_thing"],
        ("warn", "none for m: what it costs is not known", {"api_key": "k", "models": UNPRICED}),
        ("fail", "the budget can't be kept", {"api_key": "k", "models": UNPRICED, "budget_usd_per_day": 1.0}),
        ("warn", "no bound for a day's costs", {"api_key": "k", "models": DEAR}),
        ("warn", "more calls at once than it is allowed (1)", {"api_key": "k", "models": ONE_CALL}),
    ],
)
def test_one_remark_for_each_thing(state: str, words: str, given: dict[str, Any]) -> None:
    [check] = said(**given)
    assert check.state == state
    assert words in check.sentence


def test_valid_settings_are_described_with_model_and_limits() -> None:
    settings = LlmSettings(base_url=URL, api_key=SecretStr("k"), cache_path=KEPT, budget_usd_per_day=2.0)
    checks = checks_of_models(settings, PRICED, {"judge_relevance": "m"})
    assert {check.state for check in checks} == {"ok"}
    assert [check.what for check in checks] == ["models", "model", "rate", "budget"]


@pytest.mark.parametrize(
    ("url", "rate"),
    [
        ("http://localhost:8000/v1", "600 requests a minute of the whole fleet, the default of a local server"),
        ("http://10.0.0.7/v1", "600 "),
        ("http://vllm/v1", "600 "),
        ("https://api.example.com/v1", "60 requests a minute of the whole fleet, the default of a provider"),
        ("http://8.8.8.8/v1", "60 "),
        ("", "60 "),
    ],
)
def test_a_local_server_begins_at_a_higher_rate(url: str, rate: str) -> None:
    models = load_settings().models
    llm = LlmSettings(base_url=url, api_key=SecretStr("k"), cache_path=KEPT)
    [check] = [check for check in checks_of_models(llm, models, {"judge_relevance": "m"}) if check.what == "rate"]
    assert f"m: {rate}" in check.sentence


def test_nothing_that_is_said_shows_a_key() -> None:
    everything = "; ".join(
        check.sentence for check in said(models=UNPRICED, api_key="sesame", redis_url="redis://:sesame@localhost:1/0")
    )
    assert everything
    assert "sesame" not in everything


# --- settings that are refused at start ------------------------------------------------------------------------------


@pytest.mark.parametrize("given", TABLES["invalid_base_url_is_refused"])
def test_invalid_base_url_is_refused(given: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(llm={"base_url": given})
    assert str(refused.value).startswith("configuration: llm.base_url: ")


@pytest.mark.parametrize("given", ["ses ame", "ses\name", "sesame\u201d", "sesame\x00"])
def test_invalid_api_key_is_refused(given: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(llm={"api_key": given})
    assert str(refused.value).startswith("configuration: llm.api_key: ")
    assert given not in str(refused.value)
