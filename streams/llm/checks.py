"""Checks the configuration of models before the first call: servers, prices and limits.

``assay run`` prints the checks that are not ok when it starts, ``assay doctor`` all of them and what it finds in the
journal of paid answers and at the server. No check contains a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec

from schemas.addresses import web_address
from streams.llm.journal import JournalError
from streams.llm.request import cost_of
from streams.llm.settings import LlmSettings, ModelsSection
from streams.llm.sqlite_journal import make_journal
from streams.runtime.amounts import in_money
from streams.runtime.checks import Check, check_folder
from streams.runtime.clock import SystemClock
from streams.runtime.extras import install_line

_MODEL_SECONDS = 10.0
_NAMES = 3  # the models of the server that are listed if the configured one is missing
_LITTLE = 0.1  # the share of the day's budget below which the rest gets a warning


def checks_of_models(llm: LlmSettings, models: ModelsSection, names: Mapping[str, str]) -> list[Check]:
    """Checks servers, limits, prices and budget; ``names`` is the model of each task, "" for none.

    >>> [check.detail for check in checks_of_models(LlmSettings(), ModelsSection(), {"judge_relevance": ""})]
    ['the offline judge answers for judge_relevance, by rules, and every decision says so']
    """
    if not names:
        return []
    if llm.offline:
        return [_offline(names)]
    tasks: dict[str, list[str]] = {}
    for task, model in sorted(names.items()):
        tasks.setdefault(model, []).append(task)
    return [
        _server(llm),
        *_models(llm, models, tasks),
        *_costs(llm, models, [model for model in tasks if model]),
        *_journal(llm),
    ]


def check_models(llm: LlmSettings, models: ModelsSection, names: Mapping[str, str], *, ask: bool) -> Iterator[Check]:
    """The checks of ``checks_of_models``, whether paid answers can be kept, and what was spent.

    ``ask`` also lists the models of the server.
    """
    for check in checks_of_models(llm, models, names):
        yield replace(check, state="ok") if check.state == "note" else check
    if llm.offline:
        return
    in_redis, has_redis = bool(llm.redis_url.get_secret_value()), find_spec("redis") is not None
    if (in_redis and has_redis) or (not in_redis and llm.cache_path is not None):
        yield from _spent(llm)
    if ask:
        yield _listed(llm, dict.fromkeys(names.values()))


def _spent(llm: LlmSettings) -> Iterator[Check]:
    """Whether a journal that outlives its process can be written, and how much of today's budget is spent."""
    what, spent, file = "paid answers", 0.0, None if llm.redis_url.get_secret_value() else llm.cache_path
    if file is None:
        variable, kept = "ASSAY_LLM__REDIS_URL", Check(what, "ok", "kept in Redis")
    else:
        variable = "ASSAY_LLM__CACHE_PATH"
        kept = check_folder(what, file.absolute().parent, variable, [file])
        if kept.state == "fail":
            yield kept
            return
    if file is None or file.exists():
        try:
            spent = asyncio.run(_spent_today(llm))
        except JournalError as error:
            yield Check(what, "fail", str(error), f"repair it, or see {variable}; without it no model is asked")
            return
    yield kept
    if (budget := llm.budget_usd_per_day) is not None:
        is_little = spent >= (1 - _LITTLE) * budget
        todo = "raise ASSAY_LLM__BUDGET_USD_PER_DAY, or wait for midnight UTC" if is_little else ""
        found = f"{in_money(spent)} of {in_money(budget)} are spent today"
        yield Check("spent", "warn" if is_little else "ok", found, todo)


async def _spent_today(llm: LlmSettings) -> float:
    store = make_journal(llm)
    try:
        async with asyncio.timeout(_MODEL_SECONDS):
            return await store.booked(SystemClock().now().date().isoformat())
    except TimeoutError:
        raise JournalError(f"no answer within {_MODEL_SECONDS:g} s") from None
    finally:
        await store.aclose()


def _listed(llm: LlmSettings, models: Collection[str]) -> Check:
    import httpx2  # of another extra; the start of a worker needs none of this

    from streams.llm.client import OPENAI  # its import takes long

    what, where, key = "model server", llm.base_url or OPENAI, llm.api_key.get_secret_value()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        response = httpx2.get(f"{where.rstrip('/')}/models", headers=headers, timeout=_MODEL_SECONDS)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        return Check(what, "fail", f"{where}: {type(error).__name__}", "see ASSAY_LLM__BASE_URL")
    if response.status_code in (401, 403):
        return Check(what, "fail", f"{where} refuses the key ({response.status_code})", "see ASSAY_LLM__API_KEY")
    if response.status_code != 200:
        return Check(what, "warn", f"{where} answers {response.status_code} and lists no models")
    try:
        names = [str(model["id"]) for model in response.json()["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Check(what, "warn", f"{where} answers, but lists no models")
    if missing := [model for model in models if model and model not in names]:
        others = ", ".join(name[:60] for name in names[:_NAMES])
        found = f"{where} has no model {', '.join(missing)}; it has {len(names)}, such as {others}"
        return Check(what, "fail", found, "see ASSAY_LLM__MODEL")
    return Check(what, "ok", f"{where} answers and has the model")


def _offline(names: Mapping[str, str]) -> Check:
    detail = f"the offline judge answers for {', '.join(sorted(names))}, by rules, and every decision says so"
    if not any(names.values()):
        return Check("models", "note", detail)
    todo = "set ASSAY_LLM__API_KEY or ASSAY_LLM__BASE_URL"
    return Check("models", "warn", f"{detail}, though a model is named", todo)


def _server(llm: LlmSettings) -> Check:
    if not llm.base_url:
        return Check("models", "ok", "asked at OpenAI's own endpoint")
    if web_address(llm.base_url).path == "/":
        return Check("models", "warn", f"asked at {llm.base_url}, which has no path", "most servers answer below /v1")
    if not llm.api_key.get_secret_value():
        todo = "a server of your own may want none; else set ASSAY_LLM__API_KEY"
        return Check("models", "note", f"asked at {llm.base_url} without a key", todo)
    return Check("models", "ok", f"asked at {llm.base_url}, with a key")


def _models(llm: LlmSettings, models: ModelsSection, tasks_of: Mapping[str, Sequence[str]]) -> Iterator[Check]:
    for model, tasks in tasks_of.items():
        if not model:
            todo = "set ASSAY_LLM__MODEL, or model_tasks.<task>.model"
            yield Check("model", "fail", f"none is named for {', '.join(tasks)}, which therefore wait", todo)
            continue
        yield Check("model", "ok", f"{model} for {', '.join(tasks)}")
        limits, busy = models.limits_of(model, llm), [task for task in tasks if models.task(task).weight > 0]
        if limits.in_flight < len(busy):
            todo = "raise models.limits.<model>.in_flight, or give a task that the fleet does not run the weight 0"
            detail = f"{model} may get more calls at once than it is allowed ({limits.in_flight})"
            yield Check("limits", "warn", f"{detail}: its {len(busy)} tasks have a call each under way at once", todo)
        yield _rate(llm, models, model)


def _rate(llm: LlmSettings, models: ModelsSection, model: str) -> Check:
    detail = f"{model}: {models.limits_of(model, llm).requests_per_minute} requests a minute of the whole fleet"
    if model in models.limits:
        return Check("rate", "ok", f"{detail}, as models.limits.{model} says")
    kind = "a local server" if llm.is_local else "a provider"
    return Check("rate", "ok", f"{detail}, the default of {kind}", f"set models.limits.{model} to what it takes")


def _costs(llm: LlmSettings, models: ModelsSection, names: Sequence[str]) -> Iterator[Check]:
    budget = llm.budget_usd_per_day
    todo = "set price_in and price_out in models.limits.<model>"
    priced = [name for name in names if cost_of(models.limits_of(name, llm), 0, 0) is not None]
    if without := ", ".join(name for name in names if name not in priced):
        if budget is None:
            yield Check("prices", "warn", f"none for {without}: what it costs is not known", todo)
        else:
            yield Check("prices", "fail", f"none for {without}: it is never asked, the budget can't be kept", todo)
    if budget is not None:
        yield Check("budget", "ok", f"{budget:g} USD a day (UTC), all replicas together")
    elif any(models.limits_of(name, llm).price_in or models.limits_of(name, llm).price_out for name in priced):
        yield Check("budget", "warn", "no bound for a day's costs", "set ASSAY_LLM__BUDGET_USD_PER_DAY")


def _journal(llm: LlmSettings) -> Iterator[Check]:
    if llm.redis_url.get_secret_value():
        if find_spec("redis") is None:
            todo = install_line("redis")
            yield Check("paid answers", "fail", "no model can be asked: llm.redis_url needs the extra `redis`", todo)
    elif llm.cache_path is None:
        todo = "name a file with ASSAY_LLM__CACHE_PATH, or a Redis with ASSAY_LLM__REDIS_URL"
        detail = "in memory: a restart pays again and forgets the day's costs"
        yield Check("paid answers", "warn", detail, todo)
