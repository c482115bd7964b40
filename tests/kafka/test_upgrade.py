"""Data of the last version before the event contracts of 1.0 still works: UPGRADING.md, one step after another."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import TypeVar

import pytest

from schemas.claims import ExtractedClaim
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.outcome import Dead
from schemas.relevance import RelevanceJudged, SnippetsCompleted
from schemas.retrieval import RetrievalEvaluated
from streams.dlq.dead_letters import Selection
from streams.dlq.redrive import RedriveOptions, redrive
from streams.kafka.clients import make_admin, opened
from streams.replay.plan import ReplayError
from streams.topology import HANDLERS, REPLAYS, TOPICS
from streams.topology.codec import decode
from tests.kafka.installation import CRAWLED, DEAD, SCORED, Installation, installed, page, until
from tests.kafka.replays import carried_out
from tests.kafka.test_index import article
from tests.kafka.test_snippets import HOST, PROSE, request
from tests.kafka.test_snippets import page as source_page
from tests.kafka.test_snippets import settings as services
from tests.kafka.versions import LAST_BEFORE_1_0, assay_of, code_of
from tests.samples import EXAMPLES, instance, the_handler
from tests.streams.fetch.web import serving
from tests.streams.llm.model_server import ModelServer, by_message, model_server, says

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

BEFORE = ("score_page", "classify_results", "index_page", "request_snippets", "fetch_page", "judge_relevance")
"""The handlers that ran. No handler evaluated the batches and claims, whose events wait on their topics."""
ARTICLES = [article(number, kind) for kind in "ABC" for number in range(3)]
CLAIM = ExtractedClaim(claim_id="c-1", claim_text="It opened in 1901.")
PAGES = 60
BATCHES = ("minimal", "jazz_concert")
"""Without a listing, which would be fetched from the open web."""
SHADOW = f"{SCORED}.replay.earlier"
E = TypeVar("E", bound=Event)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return code_of(LAST_BEFORE_1_0, tmp_path_factory.mktemp("earlier"))


async def test_data_of_the_version_before_1_0_is_used(
    kafka: str, topic_prefix: str, earlier: Path, tmp_path: Path
) -> None:
    async with serving() as web, model_server(by_message(lambda _: says("Relevant"))) as server:
        web.routes["/brakes"] = source_page("brakes")
        services_here = {**services(server, web, tmp_path), "index": {"path": str(tmp_path / "index")}}
        assay = await installed(kafka, topic_prefix, HANDLERS, (REPLAYS,), **services_here)
        given = {
            f"{section}__{name}": value for section, values in services_here.items() for name, value in values.items()
        }
        await fill(assay)
        async with assay_of(earlier, tmp_path, assay.settings, "run", *BEFORE, workers__processes=0, **given) as old:
            await until(lambda: complete(assay), seconds=120)
            old.terminate()
            assert await old.wait() == 0, (tmp_path / "worker.log").read_text()
        await paused_replay(assay, earlier, tmp_path)
        assert (judgments(server), web.seen["/brakes"]) == (1, 1)
        await everything_is_decoded(assay)
        indexed = await assay.read("documents.indexed.v1")

        # Today's workers: what waited is processed, and what is known is neither paid nor fetched nor written again.
        await assay.set_back(the_handler("index_page"))
        await assay.feed([request(f"http://{HOST}/brakes", request_id="r2")], "snippets.requested.v1")
        async with assay.running(*HANDLERS) as application:
            await assay.quiet(application)
        assert (judgments(server), web.seen["/brakes"]) == (1, 1)

    batches = await assay.read("retrieval.batches.v1")
    assert len(await assay.events(RetrievalEvaluated)) == len(batches)
    judged = [event for event in await read_events(assay, RelevanceJudged) if event.request_id == "r2"]
    assert [(event.outcome, event.llm and event.llm.cached) for event in judged] == [("relevant", True)]
    completed = {event.request_id: event for event in await read_events(assay, SnippetsCompleted)}
    assert {name: end.sources[0].snippet for name, end in completed.items()} == {"r1": PROSE, "r2": PROSE}
    changes = Counter(event.change for event in await read_events(assay, DocumentIndexed))
    assert changes == {"written": len(indexed), "unchanged": len(indexed) + 1}

    # A dead letter of the earlier version is sent again, and is dead again for its own reason.
    sent = await redrive(assay.settings, Selection(("score_page",)), RedriveOptions("again"))
    assert sent.sent == 1
    await assay.drain(the_handler("score_page"))
    assert len([letter for letter in await assay.read(DEAD) if letter.value]) == 2

    # The rules of the earlier version's plan have other keys now, so it can't continue: no page gets a mixed result.
    with pytest.raises(ReplayError, match="another configuration"):
        await carried_out(assay.settings, "earlier")


def judgments(server: ModelServer) -> int:
    """How often a model was asked about the source."""
    return sum("About brakes." in asked.text for asked in server.asked)


async def fill(assay: Installation) -> None:
    """The inputs; one of them is not an event."""
    batches = [(EXAMPLES / "retrieval.batches.v1" / f"{name}.json").read_bytes() for name in BATCHES]
    await assay.feed([*ARTICLES, *map(page, range(PAGES)), (b"broken", b"{")], CRAWLED)
    await assay.feed([(json.loads(batch)["batchId"].encode(), batch) for batch in batches], "retrieval.batches.v1")
    await assay.feed([request(f"http://{HOST}/brakes")], "snippets.requested.v1")
    await assay.feed([(CLAIM.claim_id.encode(), CLAIM.to_json())], "claims.extracted.v1")


async def complete(assay: Installation) -> bool:
    scored, indexed = await assay.read(SCORED), await assay.read("documents.indexed.v1")
    classified = await assay.read("results.classified.v1")
    ended = await assay.read("snippets.completed.v1")
    inputs = len(await assay.read(CRAWLED)) - 1
    batches = len(await assay.read("retrieval.batches.v1"))
    return len(scored) == len(indexed) == inputs and len(classified) == batches and len(ended) == 1


async def paused_replay(assay: Installation, earlier: Path, state: Path) -> None:
    words = ("replay", "score_page", "--plan", "earlier", "--rate", "10", "--json")
    async with assay_of(earlier, state, assay.settings, *words, workers__processes=0) as replay:
        await until(lambda: has_begun(assay), seconds=90)
        replay.send_signal(signal.SIGINT)
        assert await replay.wait() == 130, (state / "worker.log").read_text()


async def has_begun(assay: Installation) -> bool:
    async with opened(make_admin(assay.settings.kafka)) as admin:
        if assay.prefix + SHADOW not in await admin.list_topics():
            return False
    return bool(await assay.read(SHADOW))


async def read_events(assay: Installation, kind: type[E]) -> list[E]:
    """The events of a type, also those that the earlier version wrote."""
    [topic] = [topic for topic in TOPICS if topic.event is kind]
    records = await assay.read(topic.name)
    return [instance(kind, decode(topic, record.value, record.headers, None)) for record in records]


async def everything_is_decoded(assay: Installation) -> None:
    """Each record of each topic of the earlier version is an event of today, except the input that is not one."""
    dead = []
    for topic in TOPICS:
        for record in await assay.read(topic.name):
            event = decode(topic, record.value, record.headers, None)
            dead += [(topic.name, event)] if isinstance(event, Dead) else []
    assert [name for name, _ in dead] == [CRAWLED], dead
