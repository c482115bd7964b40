"""Counts the committed events of a demonstration, checks that each input was processed exactly once, and prints them.

Each output and each dead letter names the input that caused it, so the check needs no knowledge of the handlers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar, cast

from rich.padding import Padding
from rich.text import Text

from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.dead import DeadLetter
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.llm import LlmCall
from schemas.pages import CrawledPage, ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import SnippetsCompleted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.topology import HANDLERS, Handler, Topic, topic_of
from streams.views.screen import Screen
from streams.views.words import DecisionCounts, reasons_of, verdict_of


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


Reasons = Callable[[Any], Iterable[str]]
_SECTIONS: Sequence[tuple[str, bool, Sequence[tuple[type[Event], Reasons]]]] = (
    ("How far can a page be trusted?", False, [(ScoredPage, reasons_of)]),
    (
        "Do the results answer the question, or are they only listings?",
        False,
        [
            (ResultsClassified, reasons_of),
            (ExtractionCompleted, reasons_of),
            (RetrievalEvaluated, lambda verdict: verdict.reasons),
        ],
    ),
    ("Is the search done?", True, [(SearchEvaluated, reasons_of)]),
    (
        "Which source answers, and what does it say?",
        True,
        [
            (
                SnippetsCompleted,
                lambda done: (f"{source.url}: {source.snippet or source.outcome}" for source in done.sources),
            )
        ],
    ),
    ("Is the claim clear without its context?", True, [(ClaimEvaluated, reasons_of)]),
    (
        "What does the index say, and how far can it be trusted?",
        True,
        [(RankingCompleted, lambda done: (f"{item.trust_label} {item.title or item.url}" for item in done.results))],
    ),
)
"""The questions that Assay answers, whether a judge answers them, and the decisions with what is shown of each."""
_SHOWN = 3  # the decisions of a kind, and the reasons of a decision, that are shown


def tell_decisions(console: Screen, tally: Tally) -> None:
    judge = "asked of a model" if tally.asked_models else "answered by the offline judge: rules, no model"
    for question, is_judged, kinds in _SECTIONS:
        _section(console, f"{question}  {judge}" if is_judged else question)
        for kind, reasons in kinds:
            for decision in _chosen(tally, kind):
                lines = list(reasons(decision))
                _tell(console, _subject(tally, decision), verdict_of(decision), lines[:_SHOWN])
    _section(console, "What could not be used?")
    for letter in tally.dead:
        place = f"{letter.topic}, partition {letter.partition}, offset {letter.offset}; its bytes are kept"
        _tell(console, place, verdict_of(letter), [letter.error])
    console.print()


def _chosen(tally: Tally, kind: type[Event]) -> Sequence[Event]:
    """Some decisions; of pages the best, the worst and one between."""
    if kind is not ScoredPage:
        return list(tally.latest(kind).values())[:_SHOWN]
    pages = sorted(tally.latest(ScoredPage).values(), key=lambda page: -(page.cts_score or 0))
    return pages if len(pages) <= _SHOWN else [pages[0], pages[len(pages) // 2], pages[-1]]


def _subject(tally: Tally, decision: Any) -> str:
    if isinstance(decision, ClaimEvaluated) and (claim := tally.latest(ExtractedClaim).get(decision.claim_id)):
        return claim.claim_text
    names = ("query", "title", "target_url", "url", "batch_id", "claim_id")
    return next((text for name in names if (text := getattr(decision, name, None))), "")


def _section(console: Screen, title: str) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim")


def _tell(console: Screen, subject: str, verdict: str, reasons: Iterable[str]) -> None:
    console.print(Text(subject, style="bold"))
    console.print(Padding(verdict, (0, 0, 0, 2), expand=False))
    for reason in reasons:
        console.print(Padding(Text(reason, style="dim"), (0, 0, 0, 4), expand=False))
