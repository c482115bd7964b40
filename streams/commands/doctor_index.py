"""What ``assay doctor`` finds of the index: where it is, what is in it, and whether queries reach it.

In: the configuration. Out: findings. Nothing is made or changed. Embedded files belong to one process: where an
application has them, it is asked for its metrics, as ``assay query`` asks it for answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from streams.commands.findings import Finding, check_folder
from streams.index.embedders import make_embedder
from streams.index.ports import IndexDamagedError, IndexDownError, IndexOwnedError, IndexSettingsError, StoreCounts
from streams.index.qdrant import QdrantStore
from streams.index.settings import IndexSettings
from streams.query.access import application_url
from streams.settings import HttpSettings
from streams.telemetry.metric_defs import INDEX_DOCUMENTS, INDEX_POINTS

_SECONDS = 4.0


def check_index(index: IndexSettings, http: HttpSettings) -> Finding:
    """Whether the index could be used as it is configured: the server answers, or the files are free or asked for.

    Args:
        index: Where it is.
        http: Where the application is asked that may own it.
    """
    where = index.url or (str(index.path) if index.path else "memory, which ends with its process")
    if index.url or index.path is None:
        return _examined(index, http, where)
    if not index.path.exists():
        if (folder := check_folder("index", index.path.absolute().parent, "ASSAY_INDEX__PATH")).state != "ok":
            return folder
        return Finding("index", "ok", f"embedded, will be made in {index.path}; {index.embedder.kind} vectors")
    room = check_folder("index", index.path.absolute(), "ASSAY_INDEX__PATH")
    if room.state == "fail":
        return room
    # A full disk takes no more pages and can be read, so it hides no damage.
    found = _examined(index, http, where)
    return room if found.state == "ok" and room.state != "ok" else found


def _examined(index: IndexSettings, http: HttpSettings, where: str) -> Finding:
    try:
        counts = asyncio.run(_counted(index))
    except IndexOwnedError as error:
        return _of_owner(where, application_url(http), str(error))
    except IndexDamagedError as error:
        return Finding("index", "fail", str(error))
    except IndexSettingsError as error:
        return Finding("index", "warn", str(error))
    except IndexDownError as error:
        return Finding("index", "fail", f"{where}: {error}", "start it, or name another with ASSAY_INDEX__URL")
    return Finding("index", "ok", f"{where}; {index.embedder.kind} vectors; {_content(counts)}")


async def _counted(index: IndexSettings) -> StoreCounts | None:
    embedder = make_embedder(index.embedder)
    store = QdrantStore(index, embedder.name, embedder.dimensions)
    try:
        return await store.examine()
    finally:
        await store.aclose()
        await embedder.aclose()


def _of_owner(where: str, url: str, otherwise: str) -> Finding:
    """Of files that another process has, which may be the application or may not."""
    try:
        response = httpx2.get(f"{url}/metrics", timeout=_SECONDS, trust_env=False)
        response.raise_for_status()
        counts = _told(response.text)
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError, OverflowError) as error:
        why = str(error) or type(error).__name__
        asked = f"or, if `assay query` is to ask it, name its port with ASSAY_HTTP__PORT: {url} does not answer ({why})"
        return Finding("index", "warn", otherwise, asked)
    if counts is None:
        asked = f"or name the application's port with ASSAY_HTTP__PORT: what answers at {url} tells of no index"
        return Finding("index", "warn", otherwise, asked)
    return Finding("index", "ok", f"{where}; in the hands of the application at {url}; {_content(counts)}")


def _told(text: str) -> StoreCounts | None:
    points: int | None = None
    documents: dict[str, int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == INDEX_POINTS.name:
                points = int(sample.value)
            elif sample.name == INDEX_DOCUMENTS.name:
                documents[sample.labels.get("tier", "")] = int(sample.value)
    return None if points is None else StoreCounts(points, documents)


def _content(counts: StoreCounts | None) -> str:
    if counts is None or not counts.points:
        return "nothing is in it yet"
    return f"{counts.points} points of {_documents(counts.documents)}"


def _documents(by_tier: Mapping[str, int]) -> str:
    tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(by_tier.items()))
    return f"{sum(by_tier.values())} documents" + f" ({tiers})" * bool(tiers)
