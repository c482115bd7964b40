"""Checks before the first question: the model in use, and settings that cannot be meant; the journal and the server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from streams.llm.checks import check_models, checks_of_models
from streams.llm.settings import LlmSettings, ModelLimits, ModelsSection
from streams.llm.sqlite_journal import make_journal
from streams.runtime.checks import Check
from streams.runtime.clock import SystemClock
from streams.settings.model import SettingsError, load_settings
from tests.streams.llm.model_server import model_server, raw
from tests.tables import tables

TABLES = tables(__file__)

KEPT = Path("llm.sqlite")
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
    secret: dict[str, Any] = {"api_key": "sesame", "redis_url": "redis://:sesame@127.0.0.1:1/0"}
    checks = [*said(models=UNPRICED, **secret), *found(model="m", **secret).values()]
    assert (checks[-1].what, checks[-1].state) == ("paid answers", "fail"), "there is no Redis"
    assert "sesame" not in "; ".join(check.sentence for check in checks)


# --- what `assay doctor` adds ----------------------------------------------------------------------------------------


def found(ask: bool = False, **llm: Any) -> dict[str, Check]:
    settings = LlmSettings(**llm)
    checks = check_models(settings, ModelsSection(), {"judge_relevance": settings.model}, ask=ask)
    return {check.what: check for check in checks}


def test_spending_of_the_day_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    bound: dict[str, Any] = {"api_key": "k", "model": "m", "cache_path": path, "budget_usd_per_day": 2}
    assert found(**bound)["spent"].detail == "$0 of $2.00 are spent today"
    assert not path.exists()

    async def spend(usd: float) -> None:
        store = make_journal(LlmSettings(cache_path=path))
        await store.book({SystemClock().now().date().isoformat(): None}, usd)
        await store.aclose()

    asyncio.run(spend(1.5))
    assert (found(**bound)["spent"].state, found(**bound)["spent"].detail) == ("ok", "$1.50 of $2.00 are spent today")
    asyncio.run(spend(0.5))
    assert found(**bound)["spent"].state == "warn"


def test_where_paid_answers_are_kept_is_looked_at(tmp_path: Path) -> None:
    assert found(api_key="k", model="m", cache_path=tmp_path / "a.sqlite")["paid answers"].state == "ok"
    (tmp_path / "file").write_text("no database at all, but long enough to be looked at as one")
    for path in (tmp_path / "file" / "a.sqlite", tmp_path / "file"):
        assert found(api_key="k", model="m", cache_path=path)["paid answers"].state == "fail"


@pytest.mark.parametrize(
    ("status", "body", "state", "word"),
    [
        (200, b'{"data": [{"id": "m"}, {"id": "n"}]}', "ok", "has the model"),
        (200, b'{"data": [{"id": "n"}]}', "fail", "such as n"),
        (200, b"<html>", "warn", "lists no models"),
        (200, b"[" * 100_000, "warn", "lists no models"),
        (401, b"{}", "fail", "refuses the key"),
        (404, b"{}", "warn", "404"),
    ],
)
async def test_a_server_is_asked_for_its_models_where_that_is_wished(
    status: int, body: bytes, state: str, word: str, tmp_path: Path
) -> None:
    async with model_server(raw(body, status)) as server:
        given = {"base_url": server.base_url, "model": "m", "cache_path": tmp_path / "a.sqlite"}
        findings = await asyncio.to_thread(lambda: found(True, **given))
    assert [asked.path for asked in server.asked] == ["/v1/models"]
    assert (findings["model server"].state, word in findings["model server"].detail) == (state, True)


def test_missing_model_server_is_reported(tmp_path: Path) -> None:
    findings = found(True, base_url="http://127.0.0.1:1/v1", model="m", cache_path=tmp_path / "a.sqlite")
    assert findings["model server"].state == "fail"
    quiet = found(False, base_url="http://127.0.0.1:1/v1", model="m", cache_path=tmp_path / "a.sqlite")
    assert "model server" not in quiet


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
