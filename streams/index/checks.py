"""The check of ``assay doctor`` of the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from streams.index.embedders import make_embedder
from streams.index.ports import IndexDamagedError, IndexDownError, IndexOwnedError, IndexSettingsError, StoreCounts
from streams.index.settings import IndexSettings
from streams.runtime.checks import Check, check_folder


def check_index(index: IndexSettings, application: str, ask: Callable[[str], StoreCounts | str]) -> Check:
    """Whether the index can be used: its server answers, or its files are free or owned by the application.

    If another process owns the files, ``ask`` gets the address of the application; it returns what the application's
    index has, or why that is not known.
    """
    if index.url or index.path is None:
        return _examined(index, application, ask)
    path = index.path.absolute()
    folder = check_folder("index", path, "ASSAY_INDEX__PATH", path.rglob("*"))
    if folder.state == "fail":
        return folder
    if index.path.exists():
        # A full disk can still be read, so damage is reported first.
        found = _examined(index, application, ask)
    else:
        found = Check("index", "ok", f"embedded, will be created in {index.path}; {index.embedder.kind} vectors")
    return folder if found.state == "ok" and folder.state == "warn" else found


def _examined(index: IndexSettings, application: str, ask: Callable[[str], StoreCounts | str]) -> Check:
    where = index.url or (str(index.path) if index.path else "memory, which ends with its process")
    try:
        counts = asyncio.run(_counted(index))
    except IndexOwnedError as error:
        answer = ask(application)
        if isinstance(answer, str):
            todo = f"or, if `assay query` is to ask it, name its port with ASSAY_HTTP__PORT: {answer}"
            return Check("index", "warn", str(error), todo)
        return Check("index", "ok", f"{where}; owned by the application at {application}; {_content(answer)}")
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


def _content(counts: StoreCounts | None) -> str:
    if counts is None or not counts.points:
        return "empty"
    tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(counts.documents.items()))
    return f"{counts.points} points of {sum(counts.documents.values())} documents" + f" ({tiers})" * bool(tiers)
