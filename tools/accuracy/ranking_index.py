"""An index of labelled pages in memory, made as in production: each page is scored, and its tier decides its points.

The input is documents and an embedder's settings. The result answers each vector search once and remembers its time:
the stages after a search are measured many times with the same one.
"""

import base64
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import process_time

from handlers.index_page import IndexPageRules, index_page
from handlers.score_page import ScorePageRules, score_page
from schemas.needs import Ask, SearchVectors
from schemas.outcome import Emit
from schemas.pages import CrawledPage, ScoredPage
from schemas.replies import IndexReply, VectorsReply
from streams.index.settings import EmbedderSettings
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
from tests.samples import instance
from tools.accuracy.ranking_sets import Document


@dataclass(slots=True)
class RankingIndex:
    """Pages in an index.

    Attributes:
        name: Of the embedder.
        pages: As scored, by address.
        points: Of all pages.
    """

    name: str
    services: LiveServices
    pages: dict[str, ScoredPage] = field(default_factory=dict)
    points: int = 0
    _found: dict[SearchVectors, tuple[VectorsReply, float]] = field(default_factory=dict)

    async def search(self, need: SearchVectors) -> tuple[VectorsReply, float]:
        """What is nearest, and the seconds of CPU that the first such search took."""
        if need not in self._found:
            began = process_time()
            reply = instance(VectorsReply, await self.services.answer(need, None))
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
        await self.services.aclose()


async def build(documents: Iterable[Document], embedder: EmbedderSettings | None = None) -> RankingIndex:
    """Scores and indexes the documents, by the default embedder unless another is given."""
    embedder = embedder or EmbedderSettings()
    settings = load_settings(index={"url": "", "path": None, "embedder": embedder.model_dump()})
    index = RankingIndex(settings.index.embedder.kind, LiveServices(settings))
    score, points = settings.rules(ScorePageRules), settings.rules(IndexPageRules)
    for document in documents:
        body = base64.b64encode(document.body).decode()
        outcome = score_page(CrawledPage.model_validate({"url": document.url, "html_base64": body}), score)
        if not isinstance(outcome, Emit):
            continue
        page = instance(ScoredPage, outcome.events[0])
        step = index_page(page, points)
        if not isinstance(step, Ask):
            continue  # it has no content
        reply = instance(IndexReply, await index.services.answer(step.need, None))
        index.name, index.points = reply.embedder, index.points + reply.points
        index.pages[document.url] = page
    return index
