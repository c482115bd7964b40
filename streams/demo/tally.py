"""Counts the committed events of a demonstration, and checks that every input was processed exactly once. Pure.

Each output and each dead letter names the input that caused it, so the check needs no knowledge of the handlers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar, cast

from schemas.dead import DeadLetter
from schemas.event import Event
from schemas.llm import LlmCall
from schemas.pages import CrawledPage
from streams.topology import HANDLERS, Handler, Topic, topic_of
from streams.views.words import DecisionCounts


class Trace(NamedTuple):
    """The origin of a record, from its headers."""

    identity: str  # the id of the event; without headers, the place of the record
    cause: str = ""  # the id of the input that caused it; "" for an input from outside
    writer: str = ""  # the handler that wrote it; "" for an input from outside


@dataclass(frozen=True, slots=True)
class Balance:
    """The inputs of a handler and their outcomes."""

    taken: int  # inputs on its topic
    answered: int  # inputs that at least one output names as its cause
    dead: int  # inputs on its dead letter topic
    dropped: int  # inputs without an output, as the handler counted them
    missing: int  # inputs without an outcome
    twice: int  # inputs with more than one outcome


class Audit:
    def __init__(self, handlers: Sequence[Handler]) -> None:
        self._handlers = handlers
        self._inputs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._outputs: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._dead: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def see(self, topic: Topic, trace: Trace) -> None:
        self._inputs[topic.name][trace.identity] += 1
        self._outputs[trace.writer][trace.cause, trace.identity] += 1

    def see_dead(self, handler: str, identity: str) -> None:
        self._dead[handler][identity] += 1

    def balances(self, dropped: Mapping[str, int]) -> dict[str, Balance]:
        return {handler.name: self._balance(handler, dropped.get(handler.name, 0)) for handler in self._handlers}

    def _balance(self, handler: Handler, dropped: int) -> Balance:
        inputs = self._inputs[handler.consumes.name]
        outputs, dead = self._outputs[handler.name], self._dead[handler.name]
        answered = {cause for cause, _ in outputs}
        # An input that was published twice is answered twice, under the same ids.
        twice = {cause for (cause, _), times in outputs.items() if times > inputs[cause]}
        twice |= {identity for identity, times in dead.items() if times > inputs[identity] or identity in answered}
        return Balance(
            taken=inputs.total(),
            answered=sum(inputs[cause] for cause in answered),
            dead=dead.total(),
            dropped=dropped,
            missing=len(inputs.keys() - answered - dead.keys()) - dropped,
            twice=len(twice),
        )


def faults(balances: Mapping[str, Balance]) -> list[str]:
    """A line for each handler with inputs that do not have exactly one outcome."""
    return [
        f"{name}: {balance.taken} in, {balance.missing} without an outcome, {balance.twice} with more than one"
        for name, balance in balances.items()
        if balance.missing or balance.twice
    ]


Kind = TypeVar("Kind", bound=Event)


class Tally:
    def __init__(self) -> None:
        self._events: defaultdict[type[Event], list[Event]] = defaultdict(list)
        self._counts: defaultdict[str, DecisionCounts] = defaultdict(DecisionCounts)
        self._judges: Counter[str] = Counter()
        self._costs: list[float | None] = []
        self.account = Audit(HANDLERS)
        self.dead: list[DeadLetter] = []

    def see(self, event: Event, trace: Trace) -> None:
        topic = topic_of(event)
        self.account.see(topic, trace)
        self._counts[topic.name].add(event)
        if isinstance(call := getattr(event, "llm", None), LlmCall):
            self._judges[call.judged_by] += 1
            self._costs.append(0.0 if call.cached else call.cost_usd)
        if not isinstance(event, CrawledPage):  # the largest events, and nothing shows them
            self._events[type(event)].append(event)

    def see_dead(self, letter: DeadLetter) -> None:
        self.account.see_dead(letter.handler, letter.root_id)
        self.dead.append(letter)

    def latest(self, kind: type[Kind]) -> dict[str, Kind]:
        """The last event of each key of the topic."""
        return {topic_of(event).key(event): event for event in cast("list[Kind]", self._events[kind])}

    @property
    def asked_models(self) -> bool:
        return self._judges["model"] > 0

    @property
    def cost_usd(self) -> float | None:
        """What models have cost; None if a model has no price."""
        known = [cost for cost in self._costs if cost is not None]
        return round(sum(known), 6) if len(known) == len(self._costs) else None

    def summary(self, balances: Mapping[str, Balance], seconds: float) -> dict[str, Any]:
        """The figures of ``assay demo --once --json``: decisions by topic as ``assay stats`` counts them."""
        return {
            "events": {name: counts.events for name, counts in self._counts.items()},
            "decisions": {name: counts.to_wire() for name, counts in self._counts.items() if counts.fields},
            "judged_by": {judge: self._judges[judge] for judge in ("offline", "model")},
            "cost_usd": self.cost_usd,
            "dead_letters": len(self.dead),
            "handlers": {name: asdict(balance) for name, balance in balances.items()},
            "seconds": round(seconds, 2),
        }
