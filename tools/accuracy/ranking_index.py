"""An index of labelled pages in memory, made as in production: each page is scored, and its tier decides its points.

The input is documents and an embedder's settings. The result answers each vector search once and remembers its time:
the stages after a search are measured many times with the same one.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from time import process_time

from handlers.index_page import IndexPageRules, index_page
from handlers.score_page import ScorePageRules, score_page
from schemas.needs import Ask, IndexDocument, SearchVectors
from schemas.outcome import Emit
from schemas.pages import CrawledPage, ScoredPage
from schemas.replies import IndexReply, VectorsReply
from streams.index.settings import EmbedderSettings
from streams.pipeline.services import LiveServices
from streams.settings.model import Settings, load_settings
from tools.accuracy.ranking_sets import Document

_OF_TRUST = ("cts_score", "trust_features", "trust_label")


@dataclass(slots=True)
class RankingIndex:
    """Pages in an index.

    Attributes:
        name: Of the embedder.
        pages: As scored, by address.
        points: Of all pages.
        refused: Pages that could not be scored.
    """

    name: str
    services: LiveServices
    pages: dict[str, ScoredPage] = field(default_factory=dict)
    points: int = 0
    refused: int = 0
    _found: dict[SearchVectors, tuple[VectorsReply, float]] = field(default_factory=dict)

    async def search(self, need: SearchVectors) -> tuple[VectorsReply, float]:
        """What is nearest, and the seconds of CPU that the first such search took."""
        if need not in self._found:
            began = process_time()
            reply = await self.services.answer(need, None)
            assert isinstance(reply, VectorsReply), reply
            self._found[need] = reply, process_time() - began
        return self._found[need]

    def tiers(self) -> str:
        """How many pages each tier has.

        >>> RankingIndex("e", None).tiers()  # type: ignore[arg-type]
        'A 0, B 0, C 0'
        """
        counts = Counter(str(page.tier) for page in self.pages.values())
        return ", ".join(f"{tier} {counts[tier]}" for tier in "ABC")

    async def aclose(self) -> None:
        """Closes the index, which is gone then."""
        await self.services.aclose()


async def build(
    documents: Iterable[Document], embedder: EmbedderSettings | None = None, *, with_trust: bool = True
) -> RankingIndex:
    """Scores and indexes the documents.

    Args:
        documents: Of the index.
        embedder: The default one unless another is given.
        with_trust: Without it the points are as they were before there was a trust score.
    """
    settings = _in_memory(embedder or EmbedderSettings())
    index = RankingIndex(settings.index.embedder.kind, LiveServices(settings))
    score, points = settings.rules(ScorePageRules), settings.rules(IndexPageRules)
    for document in documents:
        body = base64.b64encode(document.body).decode()
        outcome = score_page(CrawledPage.model_validate({"url": document.url, "html_base64": body}), score)
        if not isinstance(outcome, Emit):
            index.refused += 1
            continue
        page = outcome.events[0]
        assert isinstance(page, ScoredPage)
        step = index_page(page, points)
        assert isinstance(step, Ask)
        assert isinstance(step.need, IndexDocument)
        need = step.need if with_trust else _of_before(step.need)
        reply = await index.services.answer(need, None)
        assert isinstance(reply, IndexReply), reply
        index.name, index.points = reply.embedder, index.points + reply.points
        index.pages[document.url] = page
    return index


def _of_before(need: IndexDocument) -> IndexDocument:
    kept = ({key: value for key, value in point.payload.items() if key not in _OF_TRUST} for point in need.points)
    points = (replace(point, payload=payload) for point, payload in zip(need.points, kept, strict=True))
    return replace(need, points=tuple(points))


def _in_memory(embedder: EmbedderSettings) -> Settings:
    index = {"url": "", "path": None, "embedder": embedder.model_dump()}
    return load_settings(index=index)
