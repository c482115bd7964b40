"""What ``assay doctor`` says of language models: who answers, at what price, within what bound, and where it is kept.

In: the configuration. Out: findings. A server is asked only where that was wished, and then only for its list of
models, which costs nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Collection, Iterator
from importlib.util import find_spec

import httpx2

from streams.clock import SystemClock
from streams.commands.amounts import in_money
from streams.commands.findings import Finding, State, check_folder
from streams.llm.cache import make_store
from streams.llm.client import OPENAI
from streams.llm.remarks import remarks_on
from streams.llm.settings import LlmSettings
from streams.llm.store import StoreError
from streams.settings import Settings
from streams.topology import HANDLERS

_SECONDS = 10.0
_LIST_BYTES = 4 * 1024 * 1024
_NAMES = 3
"""Of a server's models, where the one that is wanted is not among them."""
_LITTLE = 0.1
"""Share of the day's budget whose rest is worth a warning."""


def check_models(settings: Settings, ask: bool) -> Iterator[Finding]:
    """The findings in order: what ``assay run`` remarks on too, whether paid answers can be kept, what was spent.

    Args:
        settings: The configuration.
        ask: Also ask the server for its list of models.
    """
    names = {handler.name: settings.model_of(handler.name) for handler in HANDLERS if handler.asks_models}
    for remark in remarks_on(settings.llm, settings.models, names):
        state: State = "ok" if remark.state == "note" else remark.state
        yield Finding(remark.what, state, remark.detail, remark.todo)
    if settings.llm.offline:
        return
    yield from _journal(settings.llm)
    if ask:
        yield asyncio.run(_listed(settings.llm, dict.fromkeys(names.values())))


def _journal(llm: LlmSettings) -> Iterator[Finding]:
    """Whether paid answers can be kept where the settings say, and what of today's budget is left."""
    what, path, redis = "paid answers", llm.cache_path, llm.redis_url.get_secret_value()
    if redis:
        if find_spec("redis") is None:
            return
        kept = Finding(what, "ok", "kept in Redis")
    elif path is None:
        return
    elif path.exists() and not os.access(path, os.W_OK):
        yield Finding(what, "fail", f"{path} can't be written", "name another file with ASSAY_LLM__CACHE_PATH")
        return
    else:
        kept = check_folder(what, path.absolute().parent, "ASSAY_LLM__CACHE_PATH")
    spent = 0.0
    if redis or (path is not None and path.exists()):
        try:
            spent = asyncio.run(_spent_today(llm))
        except StoreError as error:
            todo = f"mend it, or see ASSAY_LLM__{'REDIS_URL' if redis else 'CACHE_PATH'}; without it nobody is asked"
            yield Finding(what, "fail", str(error), todo)
            return
    yield kept
    if (budget := llm.budget_usd_per_day) is not None:
        found = f"{in_money(spent)} of {in_money(budget)} are spent today"
        if spent >= (1 - _LITTLE) * budget:
            yield Finding("spent", "warn", found, "raise ASSAY_LLM__BUDGET_USD_PER_DAY, or wait for midnight UTC")
        else:
            yield Finding("spent", "ok", found)


async def _spent_today(llm: LlmSettings) -> float:
    """The day's costs of all replicas. Raises StoreError where nobody can tell."""
    store = make_store(llm.cache_path, llm.redis_url.get_secret_value())
    try:
        async with asyncio.timeout(_SECONDS):
            _, total = await store.book(SystemClock().now().date().isoformat(), 0.0, None)
            return total
    except TimeoutError:
        raise StoreError(f"no answer within {_SECONDS:g} s") from None
    finally:
        await store.aclose()


async def _listed(llm: LlmSettings, models: Collection[str]) -> Finding:
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
