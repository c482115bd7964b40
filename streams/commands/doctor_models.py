"""What ``assay doctor`` says of language models: who answers, at what price, within what bound, and where it is kept.

In: the configuration. Out: findings. A server is asked only where that was wished, and then only for its list of
models, which costs nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2

from streams.commands.findings import Finding, check_folder
from streams.llm.cache import make_store
from streams.llm.client import OPENAI
from streams.llm.prices import cost_of
from streams.llm.settings import LlmSettings
from streams.llm.store import StoreError
from streams.settings import Settings
from streams.topology import HANDLERS

_SECONDS = 10.0
_LIST_BYTES = 4 * 1024 * 1024
_NAMES = 3
"""Of a server's models, where the one that is wanted is not among them."""


def check_models(settings: Settings, ask: bool) -> Iterator[Finding]:
    """The findings in order.

    Args:
        settings: The configuration.
        ask: Also ask the server for its list of models.
    """
    llm = settings.llm
    if llm.offline:
        yield _offline(llm)
        return
    models = _models(settings)
    yield _where(llm)
    yield from _named(models)
    priced = [model for model in models if model and cost_of(settings.models.limits_of(model), 0, 0) is not None]
    yield from _costs(settings, models, priced)
    yield _journal(llm)
    if ask:
        yield asyncio.run(_listed(llm, models))


def _offline(llm: LlmSettings) -> Finding:
    who = "no model is configured: the offline judge answers by rules, and every decision says so"
    if llm.model:
        return Finding("models", "warn", f"{llm.model} is named, but {who}", "set ASSAY_LLM__API_KEY or __BASE_URL")
    return Finding("models", "ok", who)


def _models(settings: Settings) -> dict[str, list[str]]:
    """The tasks of each model; "" has those that no model is named for."""
    found: dict[str, list[str]] = {}
    for handler in HANDLERS:
        if handler.name in settings.model_tasks:
            found.setdefault(settings.model_of(handler.name), []).append(handler.name)
    return found


def _where(llm: LlmSettings) -> Finding:
    if not llm.base_url:
        return Finding("models", "ok", f"asked at {OPENAI}")
    if not urlsplit(llm.base_url).path:
        return Finding("models", "warn", f"asked at {llm.base_url}, which has no path", "most servers answer below /v1")
    if not llm.api_key.get_secret_value():
        todo = "a server of your own may want none; else set ASSAY_LLM__API_KEY"
        return Finding("models", "ok", f"asked at {llm.base_url}, without a key", todo)
    return Finding("models", "ok", f"asked at {llm.base_url}, with a key")


def _named(models: dict[str, list[str]]) -> Iterator[Finding]:
    for model, tasks in models.items():
        if model:
            yield Finding("model", "ok", f"{model} for {', '.join(tasks)}")
        else:
            todo = "set ASSAY_LLM__MODEL, or model_tasks.<task>.model"
            yield Finding("model", "fail", f"none is named for {', '.join(tasks)}, which therefore wait", todo)


def _costs(settings: Settings, models: dict[str, list[str]], priced: list[str]) -> Iterator[Finding]:
    budget = settings.llm.budget_usd_per_day
    without = [model for model in models if model and model not in priced]
    if without:
        names = ", ".join(without)
        todo = "set price_in and price_out in models.limits"
        if budget is None:
            yield Finding("prices", "warn", f"none for {names}: what it costs is not counted", todo)
        else:
            yield Finding("prices", "fail", f"none for {names}: it is never asked, for the budget can't be kept", todo)
    if budget is not None:
        yield Finding("budget", "ok", f"{budget:g} USD a day (UTC), all replicas together")
    elif any(
        settings.models.limits_of(model).price_in or settings.models.limits_of(model).price_out for model in priced
    ):
        yield Finding("budget", "warn", "no bound for a day's costs", "set ASSAY_LLM__BUDGET_USD_PER_DAY")
    unlimited = [model for model in models if model and model not in settings.models.limits]
    if unlimited:
        limits = settings.models.limits_of(unlimited[0])
        found = f"{', '.join(unlimited)}: {limits.requests_per_minute} requests a minute, as models.limits.default says"
        yield Finding("limits", "ok", found, "your provider's own go into models.limits.<model>")


def _journal(llm: LlmSettings) -> Finding:
    what = "paid answers"
    if redis := llm.redis_url.get_secret_value():
        try:
            asyncio.run(_read(llm, redis))
        except StoreError as error:
            return Finding(
                what, "fail", str(error), "start it, or see ASSAY_LLM__REDIS_URL; without it nobody is asked"
            )
        return Finding(what, "ok", "kept in Redis")
    if llm.cache_path is None:
        todo = "name a file with ASSAY_LLM__CACHE_PATH, or a Redis with ASSAY_LLM__REDIS_URL"
        return Finding(what, "warn", "in memory: a restart pays again and forgets the day's costs", todo)
    if llm.cache_path.exists() and not os.access(llm.cache_path, os.W_OK):
        return Finding(
            what, "fail", f"{llm.cache_path} can't be written", "name another file with ASSAY_LLM__CACHE_PATH"
        )
    return check_folder(what, llm.cache_path.absolute().parent, "ASSAY_LLM__CACHE_PATH")


async def _read(llm: LlmSettings, redis: str) -> None:
    store = make_store(llm.cache_path, redis)
    try:
        await store.get("doctor", 0.0)
    finally:
        await store.aclose()


async def _listed(llm: LlmSettings, models: dict[str, list[str]]) -> Finding:
    """Whether the server answers and has the models; what it says beyond their names is not shown."""
    where = llm.base_url or OPENAI
    key = llm.api_key.get_secret_value()
    try:
        async with (
            asyncio.timeout(_SECONDS),
            httpx2.AsyncClient(follow_redirects=False, timeout=_SECONDS) as client,
            client.stream(
                "GET", f"{where.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"} if key else {}
            ) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LIST_BYTES:
                    return Finding("model server", "warn", f"{where}: its list of models is too long to be read")
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError) as error:
        return Finding("model server", "fail", f"{where}: {type(error).__name__}", "see ASSAY_LLM__BASE_URL")
    return _answered(where, response.status_code, bytes(body), [model for model in models if model])


def _answered(where: str, status: int, body: bytes, wanted: list[str]) -> Finding:
    if status in (401, 403):
        return Finding("model server", "fail", f"{where} refuses the key ({status})", "see ASSAY_LLM__API_KEY")
    if status != 200:
        return Finding("model server", "warn", f"{where} answers {status} and lists no models")
    try:
        listed = json.loads(body)["data"]
        names = [str(model["id"]) for model in listed]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Finding("model server", "warn", f"{where} answers, but lists no models")
    missing = [model for model in wanted if model not in names]
    if missing:
        others = ", ".join(name[:60] for name in names[:_NAMES])
        found = f"{where} has no model {', '.join(missing)}; it has {len(names)}, such as {others}"
        return Finding("model server", "fail", found, "see ASSAY_LLM__MODEL")
    return Finding("model server", "ok", f"{where} answers and has the model")
