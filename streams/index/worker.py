"""The index worker: makes the stored points of a document equal to the requested ones, and searches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handlers.indexing.points import MEMORY, REMOVED, WritePlan, places_to_read, plan_write
from handlers.ranking.filters import on_sites
from schemas.event import Run
from schemas.needs import IndexDocument, SearchVectors
from schemas.replies import IndexReply, IndexUnavailable, VectorHit, VectorsReply, VectorsUnavailable
from streams.index.ports import Embedder, IndexDownError, IndexSettingsError, StoreCounts, StoredPoint, Vector
from streams.runtime.clock import Clock
from streams.runtime.files import KeyedLocks

if TYPE_CHECKING:
    from streams.index.qdrant import QdrantStore  # its client is an extra

_BATCH = 128
"""Points embedded and written at once. With 8,192 dimensions they are below the 32 MB limit of a Qdrant server."""
_MORE = 4
"""Factor for the next search if the result has too few documents. A page in tier A has hundreds of points, which may
all be nearer than the best one of another page."""
_COUNT_SHARE = 100  # counting takes at most a hundredth of the time; of millions of points it takes seconds


@dataclass(eq=False, repr=False)
class IndexWorker:
    """Writes and searches documents. Two versions of one document are written one after another.

    ``on_count`` gets counts, at most every ``count_seconds``, while documents are written.
    """

    store: QdrantStore
    embedder: Embedder
    clock: Clock
    count_seconds: float
    on_count: Callable[[StoreCounts], None] | None = None
    _count_at: float = field(default=float("-inf"), init=False)
    _underway: KeyedLocks = field(default_factory=KeyedLocks, init=False)

    async def open(self, *, make: bool = True) -> None:
        """Opens the store now instead of with the first document, and counts its points; ``make`` as in the store."""
        await self.store.open(make=make)
        await self._count()

    async def index(self, document: IndexDocument, run: Run | None) -> IndexReply | IndexUnavailable:
        """Makes the stored points of a document equal to these, unless the index has a newer version.

        Raises IndexSettingsError if the index can't be used as it is configured.
        """
        try:
            async with self._underway.hold(document.document_id):
                stored = await self.store.read(places_to_read(document.document_id))
                plan = plan_write(document, run, self.embedder.name, stored)
                await self._carry_out(plan, document)
        except IndexDownError as error:
            return IndexUnavailable(str(error), error.after_seconds)
        await self._count()
        return IndexReply(len(document.points), len(plan.write), len(plan.remove), plan.outdated, self.embedder.name)

    async def search(self, need: SearchVectors) -> VectorsReply | VectorsUnavailable:
        """The nearest documents; trouble is returned, and not raised."""
        try:
            [vector] = await self.embedder.embed([need.text])
            found = await self._found(vector, need)
        except (IndexDownError, IndexSettingsError) as error:
            return VectorsUnavailable(str(error))
        return VectorsReply(tuple(VectorHit(round(score, 4), payload) for score, payload in found))

    async def aclose(self) -> None:
        await self.store.aclose()
        await self.embedder.aclose()

    async def _found(self, vector: Vector, need: SearchVectors) -> list[tuple[float, dict[str, Any]]]:
        """Points of pages on the named hosts. Searches for more until enough points, or enough documents, are found."""
        sites = need.filters.domains if need.filters is not None else ()
        asked = need.limit
        while True:
            found = await self.store.search(vector, asked, need.filters)
            pages = [(score, payload) for score, payload in found if payload.get("kind") != REMOVED]
            wanted = [(score, payload) for score, payload in pages if on_sites(str(payload.get("url")), sites)]
            documents = len({str(payload.get("document_id") or payload.get("url")) for _, payload in wanted})
            enough = documents >= need.documents if need.documents else len(wanted) >= need.limit
            if enough or len(found) < asked or asked >= need.most:
                return wanted if need.documents else wanted[: need.limit]
            asked = min(asked * _MORE, need.most)

    async def _carry_out(self, plan: WritePlan, document: IndexDocument) -> None:
        first = document.points[0].id
        # In batches, so memory and requests don't grow with the page. The first point has the memory of all.
        for start in range(0, len(plan.write), _BATCH):
            batch = plan.write[start : start + _BATCH]
            vectors = await self.embedder.embed([point.text for point in batch])
            await self.store.write(
                [
                    StoredPoint(
                        point.id, vector, {**point.payload, MEMORY: plan.memory} if point.id == first else point.payload
                    )
                    for point, vector in zip(batch, vectors, strict=True)
                ]
            )
        if plan.remove:
            await self.store.remove(plan.remove)
        if plan.settle is not None:
            await self.store.amend(first, {MEMORY: plan.settle})

    async def _count(self) -> None:
        began = self.clock.monotonic()
        if self.on_count is None or began < self._count_at:
            return
        self._count_at = float("inf")  # other tasks skip the count meanwhile
        try:
            # A failed count must not fail the write.
            with contextlib.suppress(IndexDownError):
                self.on_count(await self.store.count())
        finally:
            took = self.clock.monotonic() - began
            self._count_at = began + max(self.count_seconds, _COUNT_SHARE * took)
