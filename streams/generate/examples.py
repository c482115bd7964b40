"""The golden examples of the topics that only Assay writes: the outputs of handlers that run on hand-written examples.

``schemas/examples/<topic>`` has two kinds of examples:

1. Hand-written ones, of a topic with a producer outside Assay. Some of them are the inputs of handlers here.
2. Generated ones, of every other topic. An output of one handler is the input of the next one. The runs use no network,
   model or index: pages are those of the hand-written examples, the offline judge answers for models, and the index
   takes every point. ``assay generate --check`` finds examples that the code no longer produces.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from schemas.event import Envelope, Event, OutputIds
from schemas.needs import AskModel, FetchPages, IndexDocument, Need, SearchVectors
from schemas.outcome import Dead, Emit
from schemas.pages import CrawledPage
from schemas.replies import FetchedPage, FetchFailure, FetchRefused, IndexReply, PagesReply, Reply, VectorsReply
from streams.llm.tasks import answer_offline
from streams.topology import (
    CLAIMS_EXTRACTED,
    HANDLERS,
    PAGES_CRAWLED,
    RANKING_REQUESTED,
    RELEVANCE_REQUESTED,
    RETRIEVAL_BATCHES,
    SNIPPETS_REQUESTED,
    TOPICS,
    UTTERANCES_RECORDED,
    Handler,
    Topic,
    topic_of,
)
from streams.topology.codec import decode, encode
from streams.topology.text import to_json
from streams.workers.handler_jobs import converse

FOLDER = Path("schemas/examples")
WRITTEN_AT = datetime(2026, 11, 23, 12, tzinfo=UTC)  # when the examples are written and their pages fetched
_INPUTS: Mapping[str, tuple[str, ...]] = {
    PAGES_CRAWLED.name: ("minimal", "government_notice", "calendar_item"),
    RETRIEVAL_BATCHES.name: ("minimal", "aarhus_listing", "calendar_listing", "jazz_concert"),
    SNIPPETS_REQUESTED.name: ("addiction", "unknown_domain"),
    RELEVANCE_REQUESTED.name: ("minimal", "returning_zh", "shared_care"),
    CLAIMS_EXTRACTED.name: ("minimal", "pronoun_zh", "stands_alone"),
    UTTERANCES_RECORDED.name: ("minimal", "meeting_zh"),
    RANKING_REQUESTED.name: ("minimal", "own_candidates_zh"),
}
"""The hand-written examples whose outputs are examples too: a few, so that a person can read all of them."""


def is_generated(topic: Topic) -> bool:
    """Whether the examples of a topic are generated: it has no producer outside Assay's handlers."""
    return not topic.written_by


def examples(root: Path, document: Mapping[str, Any]) -> dict[Path, str]:
    """The generated examples of a checkout, by path. Raises ValueError if a hand-written example cannot be read."""
    # An input that is gone is reported by the check of the hand-written examples.
    given = [
        _Example(topic, stem, path.read_bytes())
        for topic in TOPICS
        for stem in _INPUTS.get(topic.name, ())
        if (path := root / FOLDER / topic.name / f"{stem}.json").is_file()
    ]
    pages = [path.read_bytes() for path in sorted((root / FOLDER / PAGES_CRAWLED.name).glob("*.json"))]
    runs = _Runs(document, pages)
    made: dict[Path, _Example] = {}
    waiting = list(given)
    # Generated examples are added while this loop goes on: they are inputs too.
    for example in waiting:
        for output in runs.outputs(example):
            if is_generated(output.topic) and output.path not in made:
                made[output.path] = output
                waiting.append(output)
    return {path: to_json(json.loads(example.value)) for path, example in made.items()}


class _Example(NamedTuple):
    """A record's value, named by the hand-written example from which it comes."""

    topic: Topic
    stem: str
    value: bytes

    @property
    def path(self) -> Path:
        return FOLDER / self.topic.name / f"{self.stem}.json"


class _Runs:
    def __init__(self, document: Mapping[str, Any], pages: Iterable[bytes]) -> None:
        self._pages = {page.url: page for page in map(CrawledPage.model_validate_json, pages)}
        self._rules = {
            handler.name: handler.rules.model_validate(
                {name: document[name] for name in handler.rules.model_fields if name in document}
            )
            for handler in HANDLERS
        }

    def outputs(self, example: _Example) -> Iterator[_Example]:
        event = decode(example.topic, example.value, (), WRITTEN_AT)
        if isinstance(event, Dead):
            raise ValueError(f"{example.path.as_posix()}: {event.detail}")  # noqa: TRY004  # the file is wrong
        for handler in HANDLERS:
            if handler.consumes is example.topic:
                yield from self._outputs(handler, event, example)

    def _outputs(self, handler: Handler, event: Event, example: _Example) -> Iterator[_Example]:
        rules = self._rules[handler.name]
        outcome = asyncio.run(converse(handler, rules, event, self._reply))
        ids = OutputIds(handler.name, handler.version, rules.config_version)
        identity = example.path.as_posix()
        for ordinal, output in enumerate(outcome.events if isinstance(outcome, Emit) else ()):
            topic = topic_of(output)
            envelope = Envelope(
                id=ids.of(identity, ordinal),
                source=f"assay/{handler.name}",
                time=WRITTEN_AT,
                correlation_id=identity,
            )
            if (value := encode(topic, output, envelope).value) is not None:
                yield _Example(topic, example.stem, value)

    async def _reply(self, need: Need) -> Reply:
        match need:
            case AskModel():
                return answer_offline(need)
            case SearchVectors():
                return VectorsReply(())
            case IndexDocument():
                return IndexReply(len(need.points), len(need.points), 0, False, "example")
            case FetchPages():
                return PagesReply(tuple(map(self._fetched, need.urls)))

    def _fetched(self, url: str) -> FetchedPage | FetchRefused:
        page = self._pages.get(url)
        if page is None:
            return FetchRefused(url, FetchFailure.UNREACHABLE)
        body = page.body
        return FetchedPage(
            url=url,
            final_url=page.final_url or url,
            status=page.status or 200,
            content_type=page.content_type or "text/html; charset=utf-8",
            body=body if isinstance(body, bytes) else body.encode(),
            fetched_at=page.fetched_at or WRITTEN_AT,
        )
