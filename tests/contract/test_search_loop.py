"""An orchestrator that knows the wire only sees when a search loop is over (``docs/schemas.md``)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from schemas.event import Event
from schemas.needs import Ask, AskModel, FetchPages
from schemas.outcome import Emit
from schemas.replies import FetchedPage, FetchFailure, FetchRefused, ModelReply, PagesReply
from schemas.retrieval import RetrievalBatch, RetrievedContent
from streams.llm.tasks import answer_offline
from streams.topology import HANDLERS, topic_of
from tests.handlers.test_fetch_page import cards, page
from tests.rules import shipped_rules
from tests.samples import instance

Message = tuple[str, dict[str, Any]]
"""A topic and the JSON of a value."""
Web = Callable[[str], FetchedPage | FetchRefused]
IN_THE_LOOP = [h for h in HANDLERS if h.name in ("classify_results", "evaluate_retrieval", "fetch_page")]
LISTING = RetrievedContent(
    url="https://events.example/aarhus",
    title="Events in Aarhus this week",
    content="All events. Browse concerts, exhibitions and tours. Concerts: 24. Exhibitions: 13. See more.",
)


class Orchestrator:
    """Waits for batches and extractions by their ids."""

    def __init__(self, batch_id: str) -> None:
        self._awaited = {batch_id}
        self._seen: set[str] = set()

    def see(self, topic: str, value: dict[str, Any]) -> None:
        if topic == "retrieval.evaluated.v1":
            self._seen.add(value["batchId"])
            if value["nextStep"] == "await_extraction":
                self._awaited |= {each["extractionId"] for each in value["extractionTargets"] if not each["skipped"]}
        elif topic == "extraction.completed.v1":
            self._seen.add(value["extraction_id"])
            self._awaited |= {each["extraction_id"] for each in value["forwarded"]}
            self._awaited |= {value["next_batch_id"]} - {None}

    @property
    def is_over(self) -> bool:
        return self._awaited <= self._seen


def loop(batch: RetrievalBatch, web: Web) -> Iterator[Message]:
    """All events of a loop; the messages of a topic are in their order."""
    waiting: list[Event] = [batch]
    while waiting:
        event = waiting.pop(0)
        yield topic_of(event).name, event.to_wire()
        for handler in IN_THE_LOOP:
            if isinstance(event, handler.consumes.event):
                rules = shipped_rules(handler.rules)
                replies: tuple[Any, ...] = ()
                answer = handler.fn(event, rules)
                while isinstance(answer, Ask):
                    replies = (*replies, reply_to(answer.need, web))
                    answer = handler.resume(event, replies, rules, answer.state)
                waiting += instance(Emit, answer).events


def reply_to(need: object, web: Web) -> PagesReply | ModelReply:
    if isinstance(need, FetchPages):
        return PagesReply(tuple(map(web, need.urls)))
    return instance(ModelReply, answer_offline(instance(AskModel, need)))


def batch_of(*contents: RetrievedContent) -> RetrievalBatch:
    return RetrievalBatch(batch_id="b1", query="events in Aarhus today", retrieved_content=contents)


def nothing_comes(url: str) -> FetchRefused:
    return FetchRefused(url, FetchFailure.TIMEOUT)


def items_here_and_elsewhere(url: str) -> FetchedPage:
    if url == LISTING.url:
        return page(url, cards("https://events.example/aarhus/1", "https://one.example/2", "https://two.example/3"))
    return page(url, "<h1>Concert</h1><p>The quartet plays on 29 November 2026 at 19:00. Tickets cost 120 kr.</p>" * 5)


WORLDS: dict[str, tuple[RetrievalBatch, Web, set[str]]] = {
    "empty": (batch_of(), nothing_comes, {"search_again"}),
    "nothing comes": (batch_of(LISTING), nothing_comes, {"await_extraction"}),
    "items on other domains": (batch_of(LISTING), items_here_and_elsewhere, {"await_extraction"}),
}


def is_over_early(order: Sequence[Message], batch_id: str = "b1") -> bool:
    """Whether the orchestrator stops before the last event that it waits for. It must stop at the end."""
    orchestrator = Orchestrator(batch_id)
    last = max(place for place, (topic, _) in enumerate(order) if topic in ENDS)
    early = False
    for place, (topic, value) in enumerate(order):
        early = early or (orchestrator.is_over and place <= last)
        orchestrator.see(topic, value)
    assert orchestrator.is_over
    return early


@pytest.mark.parametrize("name", WORLDS)
def test_the_loop_is_over_at_its_last_event_in_any_order(name: str) -> None:
    batch, web, steps = WORLDS[name]
    messages = list(loop(batch, web))
    assert not any(map(is_over_early, orders(messages)))
    assert {value["nextStep"] for topic, value in messages if topic == ENDS[0]} >= steps


ENDS = ("retrieval.evaluated.v1", "extraction.completed.v1")


def orders(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The order of writing, and others: any two messages may be read in the other order."""
    yield list(messages)
    chance = random.Random(7)
    for _ in itertools.repeat(None, 50):
        yield chance.sample(messages, len(messages))


def test_items_on_other_domains_are_awaited_and_judged() -> None:
    messages = list(loop(batch_of(LISTING), items_here_and_elsewhere))
    completed = [value for topic, value in messages if topic == "extraction.completed.v1"]
    assert [len(each["forwarded"]) for each in completed] == [2, 0, 0]
    batches = {value["batchId"] for topic, value in messages if topic == "retrieval.batches.v1"}
    assert {each["next_batch_id"] for each in completed} | {"b1"} == batches
    evaluated = [value for topic, value in messages if topic == "retrieval.evaluated.v1"]
    assert {each["batchId"] for each in evaluated} == batches
    assert {each["attempt"] for each in evaluated} == {1, 2}
