"""The checks of ``assay doctor`` of the index and the language models.

The files of an embedded index belong to one process. If an application has them open, the check reads its metrics. A
model server is asked on request only, and only for its list of models, which costs nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from streams.cli.doctor_checks import check_folder
from streams.index.embedders import make_embedder
from streams.index.ports import IndexDamagedError, IndexDownError, IndexOwnedError, IndexSettingsError, StoreCounts
from streams.index.settings import IndexSettings
from streams.llm.checks import Check, CheckState, checks_of_models
from streams.llm.journal import JournalError
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal
from streams.query.access import application_url
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, Settings
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS
from streams.views.amounts import in_money

_SECONDS = 4.0


def check_index(index: IndexSettings, http: HttpSettings) -> Check:
    """Whether the index can be used: its server answers, or its files are free or owned by the application."""
    where = index.url or (str(index.path) if index.path else "memory, which ends with its process")
    if index.url or index.path is None:
        return _examined(index, http, where)
    if not index.path.exists():
        if (folder := check_folder("index", index.path.absolute().parent, "ASSAY_INDEX__PATH")).state != "ok":
            return folder
        return Check("index", "ok", f"embedded, will be created in {index.path}; {index.embedder.kind} vectors")
    room = check_folder("index", index.path.absolute(), "ASSAY_INDEX__PATH")
    if room.state == "fail":
        return room
    # A full disk can still be read, so damage is reported first.
    found = _examined(index, http, where)
    return room if found.state == "ok" and room.state != "ok" else found


def _examined(index: IndexSettings, http: HttpSettings, where: str) -> Check:
    try:
        counts = asyncio.run(_counted(index))
    except IndexOwnedError as error:
        return _of_owner(where, application_url(http), str(error))
    except IndexDamagedError as error:
        return Check("index", "fail", str(error))
    except IndexSettingsError as error:
        return Check("index", "warn", str(error))
    except IndexDownError as error:
        return Check("index", "fail", f"{where}: {error}", "start it, or name another with ASSAY_INDEX__URL")
    return Check("index", "ok", f"{where}; {index.embedder.kind} vectors; {_content(counts)}")


async def _counted(index: IndexSettings) -> StoreCounts | None:
    from streams.index.qdrant import QdrantStore  # its import takes long, and a missing index needs none

    embedder = make_embedder(index.embedder)
    store = QdrantStore(index, embedder.name, embedder.dimensions)
    try:
        return await store.examine()
    finally:
        await store.aclose()
        await embedder.aclose()


def _of_owner(where: str, url: str, otherwise: str) -> Check:
    """The finding for files that another process owns, perhaps the application."""
    try:
        response = httpx2.get(f"{url}/metrics", timeout=_SECONDS, trust_env=False)
        response.raise_for_status()
        counts = _told(response.text)
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError, OverflowError) as error:
        why = str(error) or type(error).__name__
        asked = f"or, if `assay query` is to ask it, name its port with ASSAY_HTTP__PORT: {url} does not answer ({why})"
        return Check("index", "warn", otherwise, asked)
    if counts is None:
        asked = f"or name the application's port with ASSAY_HTTP__PORT: what answers at {url} has no index"
        return Check("index", "warn", otherwise, asked)
    return Check("index", "ok", f"{where}; owned by the application at {url}; {_content(counts)}")


def _told(text: str) -> StoreCounts | None:
    points: int | None = None
    documents: dict[str, int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == Metrics.index_points.name:
                points = int(sample.value)
            elif sample.name == Metrics.index_documents.name:
                documents[sample.labels.get("tier", "")] = int(sample.value)
    return None if points is None else StoreCounts(points, documents)


def _content(counts: StoreCounts | None) -> str:
    if counts is None or not counts.points:
        return "empty"
    return f"{counts.points} points of {_documents(counts.documents)}"


def _documents(by_tier: Mapping[str, int]) -> str:
    tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(by_tier.items()))
    return f"{sum(by_tier.values())} documents" + f" ({tiers})" * bool(tiers)


_MODEL_SECONDS = 10.0
_LIST_BYTES = 4 * 1024 * 1024
_NAMES = 3
"""The models of the server that are listed if the configured one is missing."""
_LITTLE = 0.1
"""The share of the day's budget below which the rest gets a warning."""


def check_models(settings: Settings, *, ask: bool) -> Iterator[Check]:
    """Whether the models can be used and paid answers be kept, and what was spent; ``ask`` also lists the models."""
    names = {handler.name: settings.model_of(handler.name) for handler in HANDLERS if handler.asks_models}
    for remark in checks_of_models(settings.llm, settings.models, names):
        state: CheckState = "ok" if remark.state == "note" else remark.state
        yield Check(remark.what, state, remark.detail, remark.todo)
    if settings.llm.offline:
        return
    yield from _journal(settings.llm)
    if ask:
        yield asyncio.run(_listed(settings.llm, dict.fromkeys(names.values())))


def _journal(llm: LlmSettings) -> Iterator[Check]:
    """Whether the journal of paid answers can be written, and how much of today's budget is spent."""
    what, path, redis = "paid answers", llm.cache_path, llm.redis_url.get_secret_value()
    if redis:
        if find_spec("redis") is None:
            return
        kept = Check(what, "ok", "kept in Redis")
    elif path is None:
        return
    elif path.exists() and not os.access(path, os.W_OK):
        yield Check(what, "fail", f"{path} can't be written", "name another file with ASSAY_LLM__CACHE_PATH")
        return
    else:
        kept = check_folder(what, path.absolute().parent, "ASSAY_LLM__CACHE_PATH")
    spent = 0.0
    if redis or (path is not None and path.exists()):
        try:
            spent = asyncio.run(_spent_today(llm))
        except JournalError as error:
            todo = (
                f"repair it, or see ASSAY_LLM__{'REDIS_URL' if redis else 'CACHE_PATH'}; without it no model is asked"
            )
            yield Check(what, "fail", str(error), todo)
            return
    yield kept
    if (budget := llm.budget_usd_per_day) is not None:
        found = f"{in_money(spent)} of {in_money(budget)} are spent today"
        if spent >= (1 - _LITTLE) * budget:
            yield Check("spent", "warn", found, "raise ASSAY_LLM__BUDGET_USD_PER_DAY, or wait for midnight UTC")
        else:
            yield Check("spent", "ok", found)


async def _spent_today(llm: LlmSettings) -> float:
    """The costs of the day of all replicas; raises JournalError if the journal does not answer."""
    store = make_journal(llm)
    try:
        async with asyncio.timeout(_MODEL_SECONDS):
            _, total = await store.book(SystemClock().now().date().isoformat(), 0.0, None)
            return total
    except TimeoutError:
        raise JournalError(f"no answer within {_MODEL_SECONDS:g} s") from None
    finally:
        await store.aclose()


async def _listed(llm: LlmSettings, models: Collection[str]) -> Check:
    """Whether the server answers and has the models; only their names are shown."""
    from streams.llm.client import OPENAI  # its import takes long

    where = llm.base_url or OPENAI
    key = llm.api_key.get_secret_value()
    try:
        async with (
            asyncio.timeout(_MODEL_SECONDS),
            httpx2.AsyncClient(follow_redirects=False, timeout=_MODEL_SECONDS) as client,
            client.stream(
                "GET", f"{where.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"} if key else {}
            ) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LIST_BYTES:
                    return Check("model server", "warn", f"{where}: its list of models is too long")
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError) as error:
        return Check("model server", "fail", f"{where}: {type(error).__name__}", "see ASSAY_LLM__BASE_URL")
    return _answered(where, response.status_code, bytes(body), [model for model in models if model])


def _answered(where: str, status: int, body: bytes, wanted: list[str]) -> Check:
    if status in (401, 403):
        return Check("model server", "fail", f"{where} refuses the key ({status})", "see ASSAY_LLM__API_KEY")
    if status != 200:
        return Check("model server", "warn", f"{where} answers {status} and lists no models")
    try:
        listed = json.loads(body)["data"]
        names = [str(model["id"]) for model in listed]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Check("model server", "warn", f"{where} answers, but lists no models")
    missing = [model for model in wanted if model not in names]
    if missing:
        others = ", ".join(name[:60] for name in names[:_NAMES])
        found = f"{where} has no model {', '.join(missing)}; it has {len(names)}, such as {others}"
        return Check("model server", "fail", found, "see ASSAY_LLM__MODEL")
    return Check("model server", "ok", f"{where} answers and has the model")
