"""Two collections in one store: utterances and pages are searched separately."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from handlers.index_utterance import IndexUtteranceRules, index_utterance
from schemas.claims import UtteranceRecorded
from schemas.needs import Ask, IndexDocument, SearchVectors
from schemas.replies import IndexReply, VectorsReply, VectorsUnavailable
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
from tests.rules import shipped_rules
from tests.samples import instance
from tests.streams.index.qdrant_server import QdrantServer

RULES = shipped_rules(IndexUtteranceRules)
SAID = ("The bridge over the mill race is closed.", "The choir sings on Friday.", "Copper was mined at Falun.")


@pytest.fixture(params=["memory", "files", "server"])
async def services(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LiveServices]:
    with ExitStack() as stack:
        index: dict[str, Any] = {"path": str(tmp_path / "index") if request.param == "files" else None}
        if request.param == "server":
            index = {"url": stack.enter_context(QdrantServer().listening()).url}
        made = LiveServices(load_settings(index=index))
        yield made
        await made.aclose()


def point_of(number: int) -> IndexDocument:
    said = UtteranceRecorded(utterance_id=f"u-{number}", text=SAID[number], source_id=f"talk-{number}")
    return instance(IndexDocument, instance(Ask, index_utterance(said, RULES)).need)


async def test_similar_utterances_are_found_and_documents_untouched(services: LiveServices) -> None:
    empty = await services.answer(SearchVectors("utterances", "anything", 5), None)
    assert empty == VectorsReply(())
    for number in range(len(SAID)):
        reply = instance(IndexReply, await services.answer(point_of(number), None))
        assert reply.written == 1
    again = instance(IndexReply, await services.answer(point_of(0), None))
    assert (again.written, again.removed) == (0, 0)
    found = instance(VectorsReply, await services.answer(SearchVectors("utterances", "The bridge is closed.", 2), None))
    assert found.hits[0].payload["source_id"] == "talk-0"
    assert len(found.hits) == 2
    assert found.hits[0].score > found.hits[1].score
    assert await services.answer(SearchVectors("documents", "The bridge is closed.", 2), None) == VectorsReply(())


async def test_a_store_that_is_down_says_so() -> None:
    services = LiveServices(load_settings(index={"url": "http://127.0.0.1:9"}))
    assert isinstance(await services.answer(SearchVectors("utterances", "a", 1), None), VectorsUnavailable)
    await services.aclose()
