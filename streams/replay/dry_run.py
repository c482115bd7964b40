"""Runs handlers on records without writing, fetching or paying, to predict their work and their calls.

If the journal or the offline judge has the answer to a question, the handler continues and its results go to the
handlers below it. Other questions are counted, and priced by earlier calls of the same task and model: prompts by the
ratio of real to estimated tokens, replies and the length of conversations by their means. Without earlier calls the
bounds are used: the prompt as estimated, the longest reply, one call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime

from schemas.event import Envelope, Event
from schemas.needs import Ask, AskModel, FetchPages, IndexDocument, Need, SearchVectors
from schemas.outcome import Emit
from schemas.replies import ModelFailed, ModelReply, Reply
from schemas.rules import Rules
from streams.llm.journal import AnswerJournal, DayCalls, answer_key, earlier_calls, from_journal, is_opening, reply_of
from streams.llm.reports import missing_journal
from streams.llm.request import cost_of, prompt_tokens_of
from streams.llm.settings import ModelLimits
from streams.llm.sqlite_journal import SqliteJournal, make_journal
from streams.llm.tasks import answer_offline
from streams.replay.plan import is_paid
from streams.runtime.clock import Clock, SystemClock
from streams.settings.model import Settings
from streams.topology import Handler, topic_of
from streams.topology.codec import encode
from streams.workers.handler_jobs import RawRecord, converse, forked_pool
from streams.workers.pool import WorkerPool


@dataclass(slots=True)
class Calls:
    """Questions without a kept answer, the tokens of their prompts, and those of their longest possible replies."""

    count: int = 0
    estimated: int = 0
    longest: int = 0

    def add(self, need: AskModel, limits: ModelLimits) -> None:
        self.count += 1
        self.estimated += prompt_tokens_of(need)
        self.longest += need.max_tokens + limits.thinking_tokens

    def tokens(self, earlier: DayCalls) -> tuple[float, float]:
        if not earlier.answered:
            return float(self.estimated), float(self.longest)
        ratio = earlier.prompt / earlier.estimated if earlier.estimated else 1.0
        return self.estimated * ratio, self.count * earlier.completion / earlier.answered


@dataclass(slots=True)
class Forecast:
    """The questions of one task to one model."""

    model: str
    server: str  # the base URL of the model; a part of an answer's key
    limits: ModelLimits
    journal: AnswerJournal
    earlier: tuple[DayCalls, DayCalls]  # what earlier calls used: first questions, and follow-ups
    now: float  # seconds since 1970; answers that have expired by then don't count as kept
    # Questions that cost nothing: the journal has the answer, or will have it when they are asked again.
    kept: int = 0
    kept_prompt: int = 0  # tokens of the prompts whose answers the journal has
    kept_completion: int = 0
    # Questions to be paid that begin a conversation; ``followups`` continue one.
    openings: Calls = field(default_factory=Calls)
    followups: Calls = field(default_factory=Calls)
    unknown_followups: float = 0.0  # expected further questions of conversations whose course is unknown
    _asked: set[bytes] = field(default_factory=set)

    async def ask(self, need: AskModel, followed: int) -> ModelReply | ModelFailed | None:
        """The kept answer; None if the question is to be paid, or has been asked before. Raises JournalError.

        ``followed`` is the number of questions of the conversation before this one, without the first.
        """
        opening = is_opening(need)
        key = answer_key(need, self.model, self.server)
        found = await self.journal.get(key, self.now)
        if found is not None and (known := from_journal(found)) is not None:
            self.kept += 1
            self.kept_prompt += known.prompt_tokens
            self.kept_completion += known.completion_tokens
            return reply_of(known, need, self.model, cached=True, call_id=key)
        digest = bytes.fromhex(key[:32])
        if digest in self._asked:
            # The same question about another record: the replay keeps the answer to the first.
            self.kept += 1
            return None
        self._asked.add(digest)
        (self.openings if opening else self.followups).add(need, self.limits)
        openings, followups = self.earlier
        if openings.answered:
            # The further questions depend on the answer, so the mean of earlier conversations is used.
            so_far = followed + (not opening)
            self.unknown_followups += max(0.0, followups.answered / openings.answered - so_far)
        return None

    @property
    def calls(self) -> float:
        return self.openings.count + self.followups.count + self.unknown_followups

    def tokens(self) -> tuple[float, float]:
        openings, followups = self.earlier
        first, later = self.openings.tokens(openings), self.followups.tokens(followups)
        unknown = self.unknown_followups / (followups.answered or 1)
        return first[0] + later[0] + unknown * followups.prompt, first[1] + later[1] + unknown * followups.completion

    def usd(self) -> float | None:
        return cost_of(self.limits, *self.tokens())

    def saved_usd(self) -> float | None:
        return cost_of(self.limits, self.kept_prompt, self.kept_completion)

    def call_seconds(self) -> float | None:
        calls = sum(row.answered for row in self.earlier)
        return sum(row.milliseconds for row in self.earlier) / calls / 1000 if calls else None


_ENVELOPE = Envelope("", "", datetime(1970, 1, 1, tzinfo=UTC), "")  # the headers of a result, which is not written


@dataclass(slots=True)
class HandlerDryRun:
    """What one handler would do; the counts are those of ``HandlerEstimate``."""

    handler: Handler
    rules: Rules
    forecast: Forecast | None  # its questions to a model; None if it asks none, or only the offline judge
    records: int = 0
    size: int = 0
    busy: float = 0.0  # seconds of work, with decoding and encoding, without waits
    open: int = 0
    pages: int = 0
    points: int = 0
    offline: int = 0


@asynccontextmanager
async def open_dry_run(
    settings: Settings, handlers: Sequence[Handler], roots: Sequence[Handler]
) -> AsyncIterator[DryRun]:
    """A dry run of handlers; ``roots`` are those of them that read the added records. Raises JournalError."""
    clock = SystemClock()
    opened_journal = SqliteJournal(None) if missing_journal(settings.llm) else make_journal(settings.llm)
    async with aclosing(opened_journal) as journal:
        parts = []
        for handler in handlers:
            forecast = None
            if is_paid(handler, settings):
                model, now = settings.model_of(handler.name), clock.now().timestamp()
                limits = settings.models.limits_of(model, settings.llm)
                earlier = await earlier_calls(journal, handler.name, model)
                forecast = Forecast(model, settings.llm.base_url, limits, journal, earlier, now)
            parts.append(HandlerDryRun(handler, settings.rules(handler.rules), forecast))
        rules = [(part.handler, part.rules) for part in parts]
        async with forked_pool(rules, settings.workers) or nullcontext() as pool:
            yield DryRun({part.handler.name: part for part in parts}, roots, clock, pool)


@dataclass
class DryRun:
    """Runs handlers on records, and the handlers that are no ``roots`` on the results."""

    parts: Mapping[str, HandlerDryRun]  # by the handler's name
    roots: Sequence[Handler]
    clock: Clock
    pool: WorkerPool | None = None  # child processes for handlers that run in one

    async def add(self, handler: Handler, key: bytes | None, record: RawRecord) -> None:
        """Runs a handler on a record, and the handlers below on the results. Raises JournalError."""
        await self._handle(self.parts[handler.name], record, len(key or b"") + len(record.value or b""))

    async def _handle(self, part: HandlerDryRun, source: Event | RawRecord, size: int) -> None:
        part.records += 1
        part.size += size
        followed, waited = -1, 0.0

        async def reply(need: Need) -> Reply | None:
            nonlocal followed, waited
            asked = self.clock.monotonic()
            found = await self._reply(part, need, max(0, followed))
            followed += isinstance(need, AskModel)
            waited += self.clock.monotonic() - asked
            return found

        began = self.clock.monotonic()
        answer = await converse(part.handler, part.rules, source, reply, self.pool)
        part.busy += self.clock.monotonic() - began - waited
        part.open += isinstance(answer, Ask)
        if isinstance(answer, Emit):
            await self._pass_on(part, answer.events)

    async def _reply(self, part: HandlerDryRun, need: Need, followed: int) -> Reply | None:
        match need:
            case AskModel() if part.forecast is not None:
                return await part.forecast.ask(need, followed)
            case AskModel():
                part.offline += 1
                return answer_offline(need)
            case FetchPages(urls):
                part.pages += len(urls)
            case IndexDocument(points=points):
                part.points += len(points)
            case SearchVectors():
                # Only a kept answer leads here, so the questions after it were asked before and count as kept.
                pass
        return None

    async def _pass_on(self, part: HandlerDryRun, events: Sequence[Event]) -> None:
        for event in events:
            began = self.clock.monotonic()
            record = encode(topic_of(event), event, _ENVELOPE)
            part.busy += self.clock.monotonic() - began
            for below in self.parts.values():
                if below.handler not in self.roots and below.handler.consumes.name == record.topic:
                    await self._handle(below, event, len(record.key or b"") + len(record.value or b""))
