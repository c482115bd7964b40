"""The checks of folders, fetching, the index and the language models."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from streams.fetch.cache import STEPS, VARIABLE
from streams.fetch.settings import FetchSettings
from streams.index.embedders import make_embedder
from streams.index.ports import IndexDamagedError, IndexDownError, IndexOwnedError, IndexSettingsError, StoreCounts
from streams.index.settings import IndexSettings
from streams.llm.checks import Check, checks_of_models
from streams.llm.journal import JournalError
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal
from streams.query.access import application_url
from streams.runtime.clock import SystemClock
from streams.runtime.files import refuse_newer
from streams.settings.model import HttpSettings, Settings
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS
from streams.views.amounts import in_money

FREE_BYTES = 1024**3  # free space below which a folder gets a warning
_MOST_FILES = 1000
_SECONDS = 4.0
_MODEL_SECONDS = 10.0
_NAMES = 3  # the models of the server that are listed if the configured one is missing
_LITTLE = 0.1  # the share of the day's budget below which the rest gets a warning


def check_folder(name: str, folder: Path, variable: str, files: Iterable[Path] = ()) -> Check:
    """Whether a folder exists or could be made, it and those of ``files`` that exist can be written, and has space."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
        for file in islice(files, _MOST_FILES):
            if file.is_file():
                file.open("r+b").close()
    except OSError as error:
        found = f"{folder} can't be written: {error.strerror} ({error.filename or there})"
        return Check(name, "fail", found, f"name another place with {variable}")
    free = shutil.disk_usage(there).free
    found = f"{folder}, {free / 1024**3:.1f} GiB free"
    if free < FREE_BYTES:
        return Check(name, "warn", found, f"make room, or name another place with {variable}")
    return Check(name, "ok", found)


def check_fetching(fetch: FetchSettings) -> Iterator[Check]:
    if fetch.allow_private:
        todo = "unset fetch.allow_private, and permit single hosts with fetch.resolve"
        yield Check("fetching", "warn", "pages from the web can make Assay fetch any address of your network", todo)
    if not fetch.robots:
        yield Check("fetching", "warn", "robots.txt is not obeyed", "unset fetch.robots=false unless the sites agree")
    todo = "identify yourself with ASSAY_FETCH__USER_AGENT before you fetch from other people's sites"
    is_default = fetch.user_agent == FetchSettings().user_agent
    yield Check("fetching", "ok", f"as {fetch.user_agent}", todo if is_default else "")
    for host, place in fetch.resolve.items():
        yield Check("fetching", "ok", f"{host} is reached at {place}, as fetch.resolve permits")
    if fetch.cache_path is None:
        todo = f"name a file with {VARIABLE}"
        yield Check("fetched pages", "warn", "in memory: a restart fetches them again", todo)
    elif problem := _refused(fetch.cache_path):
        todo = f"pages are kept in memory until {VARIABLE} names another file"
        yield Check("fetched pages", "warn", f"{fetch.cache_path}: {problem}", todo)
    else:
        path = fetch.cache_path.absolute()
        yield check_folder("fetched pages", path.parent, VARIABLE, [path])


def _refused(path: Path) -> str:
    try:
        if path.exists():
            with closing(sqlite3.connect(path)) as database:
                refuse_newer(database, STEPS, VARIABLE)
    except sqlite3.Error as error:
        return str(error)
    return ""


def check_index(index: IndexSettings, http: HttpSettings) -> Check:
    """Whether the index can be used: its server answers, or its files are free or owned by the application."""
    if index.url or index.path is None:
        return _examined(index, http)
    path = index.path.absolute()
    folder = check_folder("index", path, "ASSAY_INDEX__PATH", path.rglob("*"))
    if folder.state == "fail":
        return folder
    if index.path.exists():
        # A full disk can still be read, so damage is reported first.
        found = _examined(index, http)
    else:
        found = Check("index", "ok", f"embedded, will be created in {index.path}; {index.embedder.kind} vectors")
    return folder if found.state == "ok" and folder.state == "warn" else found


def _examined(index: IndexSettings, http: HttpSettings) -> Check:
    where = index.url or (str(index.path) if index.path else "memory, which ends with its process")
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
    try:
        response = httpx2.get(f"{url}/metrics", timeout=_SECONDS, trust_env=False)
        response.raise_for_status()
        counts, why = _counts_in(response.text), f"what answers at {url} has no index"
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError, OverflowError) as error:
        counts, why = None, f"{url} does not answer ({str(error) or type(error).__name__})"
    if counts is None:
        todo = f"or, if `assay query` is to ask it, name its port with ASSAY_HTTP__PORT: {why}"
        return Check("index", "warn", otherwise, todo)
    return Check("index", "ok", f"{where}; owned by the application at {url}; {_content(counts)}")


def _counts_in(metrics: str) -> StoreCounts | None:
    """The counts of the index of an application; None for other metrics. Raises ValueError for anything else."""
    points, by_tier = None, {}
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name == Metrics.index_points.name:
                points = int(sample.value)
            elif sample.name == Metrics.index_documents.name:
                by_tier[sample.labels.get("tier", "")] = int(sample.value)
    return None if points is None else StoreCounts(points, by_tier)


def _content(counts: StoreCounts | None) -> str:
    if counts is None or not counts.points:
        return "empty"
    tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(counts.documents.items()))
    return f"{counts.points} points of {sum(counts.documents.values())} documents" + f" ({tiers})" * bool(tiers)


def check_models(settings: Settings, *, ask: bool) -> Iterator[Check]:
    """Whether the models can be used and paid answers be kept, and what was spent; ``ask`` also lists the models."""
    names = {handler.name: settings.model_of(handler.name) for handler in HANDLERS if handler.asks_models}
    for check in checks_of_models(settings.llm, settings.models, names):
        yield replace(check, state="ok") if check.state == "note" else check
    if settings.llm.offline:
        return
    yield from _journal(settings.llm)
    if ask:
        yield _listed(settings.llm, dict.fromkeys(names.values()))


def _journal(llm: LlmSettings) -> Iterator[Check]:
    """Whether the journal of paid answers can be written, and how much of today's budget is spent."""
    what, path, in_redis = "paid answers", llm.cache_path, bool(llm.redis_url.get_secret_value())
    variable = "ASSAY_LLM__REDIS_URL" if in_redis else "ASSAY_LLM__CACHE_PATH"
    if in_redis:
        if find_spec("redis") is None:
            return
        kept = Check(what, "ok", "kept in Redis")
    elif path is None:
        return
    else:
        kept = check_folder(what, path.absolute().parent, variable, [path])
        if kept.state == "fail":
            yield kept
            return
    spent = 0.0
    if in_redis or (path is not None and path.exists()):
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
