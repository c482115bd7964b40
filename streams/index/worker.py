"""The index worker: a document as it should be goes in, what that took comes out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from handlers.indexing.points import MEMORY, WritePlan, places_to_read, plan_write
from handlers.ranking.filters import on_sites
from schemas.needs import IndexDocument, SearchVectors
from schemas.replies import IndexReply, IndexUnavailable, VectorHit, VectorsReply, VectorsUnavailable
from streams.clock import Clock
from streams.files import KeyedLocks
from streams.index.ports import (
    Embedder,
    IndexDownError,
    IndexSettingsError,
    StoreCounts,
    StoredPoint,
    Vector,
    VectorStore,
)

_BATCH = 128
"""Points embedded and written at once: of 8,192 dimensions they are within the 32 MB that a Qdrant server takes."""
_MORE = 4
"""Times as many are asked for where those found are not enough: a page that is indexed deeply has hundreds of points,
which may all be nearer than the best one of another page."""
_COUNT_SHARE = 100
"""Counting takes a hundredth of the time at most: of millions of points it takes seconds."""


class IndexWorker:
    """Keeps documents in the index. Two versions of one document wait for each other."""

    def __init__(
        self,
        store: VectorStore,
        embedder: Embedder,
        clock: Clock,
        count_seconds: float,
        on_count: Callable[[StoreCounts], None] | None = None,
    ) -> None:
        """Opens nothing.

        Args:
            store: Where points are kept.
            embedder: What makes their vectors.
            clock: For the time between two counts.
            count_seconds: How often the index is counted at most, while it is written to.
            on_count: Told what is there; without it nothing is counted.
        """
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._count_seconds = count_seconds
        self._on_count = on_count
        self._count_at = float("-inf")
        self._underway = KeyedLocks()

    async def open(self, *, make: bool = True) -> None:
        """Opens the store now instead of with the first document, and counts what is there.

        Without ``make`` a store that is not there yet is an error.
        """
        await self._store.open(make=make)
        await self._count()

    async def index(self, document: IndexDocument, run: str | None) -> IndexReply | IndexUnavailable:
        """Makes the index hold a document's points and no others, unless it has a newer version.

        Raises:
            IndexSettingsError: The index can't be used as it is configured.
        """
        try:
            async with self._underway.hold(document.document_id):
                stored = await self._store.read(places_to_read(document.document_id))
                plan = plan_write(document, run, self._embedder.name, stored)
                await self._carry_out(plan, document)
        except IndexDownError as error:
            return IndexUnavailable(str(error), error.after_seconds)
        await self._count()
        return IndexReply(len(document.points), len(plan.write), len(plan.remove), plan.outdated, self._embedder.name)

    async def search(self, need: SearchVectors) -> VectorsReply | VectorsUnavailable:
        """The points whose texts are nearest to a text; an index that can't be used finds nothing, and says so."""
        try:
            [vector] = await self._embedder.embed([need.text])
            found = await self._found(vector, need)
        except (IndexDownError, IndexSettingsError) as error:
            return VectorsUnavailable(str(error))
        return VectorsReply(tuple(VectorHit(round(score, 4), payload) for score, payload in found))

    async def aclose(self) -> None:
        """Closes the store and the embedder."""
        await self._store.aclose()
        await self._embedder.aclose()

    async def _found(self, vector: Vector, need: SearchVectors) -> list[tuple[float, dict[str, Any]]]:
        """Enough points, of enough documents, on the very hosts that were named; more are asked for until they are."""
        sites = need.filters.domains if need.filters is not None else ()
        asked = need.limit
        while True:
            found = await self._store.search(vector, asked, need.filters)
            wanted = [(score, payload) for score, payload in found if on_sites(str(payload.get("url")), sites)]
            documents = len({str(payload.get("document_id") or payload.get("url")) for _, payload in wanted})
            enough = documents >= need.documents if need.documents else len(wanted) >= need.limit
            if enough or len(found) < asked or asked >= need.most:
                return wanted if need.documents else wanted[: need.limit]
            asked = min(asked * _MORE, need.most)

    async def _carry_out(self, plan: WritePlan, document: IndexDocument) -> None:
        first = document.points[0].id
        # In batches, so that neither memory nor a request grows with the page. The first one tells of all the others.
        for start in range(0, len(plan.write), _BATCH):
            batch = plan.write[start : start + _BATCH]
            vectors = await self._embedder.embed([point.text for point in batch])
            await self._store.write(
                [
                    StoredPoint(
                        point.id, vector, {**point.payload, MEMORY: plan.memory} if point.id == first else point.payload
                    )
                    for point, vector in zip(batch, vectors, strict=True)
                ]
            )
        if plan.remove:
            await self._store.remove(plan.remove)
        if plan.settle is not None:
            await self._store.amend(first, {MEMORY: plan.settle})

    async def _count(self) -> None:
        began = self._clock.monotonic()
        if self._on_count is None or began < self._count_at:
            return
        self._count_at = float("inf")  # others go on while one counts
        try:
            # What is written is written, whether it can be counted or not.
            with contextlib.suppress(IndexDownError):
                self._on_count(await self._store.count())
        finally:
            took = self._clock.monotonic() - began
            self._count_at = began + max(self._count_seconds, _COUNT_SHARE * took)
