"""Runs handlers on records without writing, fetching or paying, to predict calls and compare configurations.

If the journal has the answer to a question, or the offline judge gives it, the handler continues and its results go to
the handlers below it. Other questions are counted and priced by what earlier calls of the same task and model used
compared with their estimates: the ratio for prompts, the mean for replies, and the calls of a conversation. Without
earlier calls the bounds are used: the prompt as estimated, the longest reply, one call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime

from schemas.event import Envelope, Event
from schemas.needs import Ask, AskModel, FetchPages, IndexDocument, Need, SearchVectors
from schemas.outcome import Dead, DeadReason, Emit, Outcome, Steps, finished
from schemas.replays import ReplaySelection, ReplayStage
from schemas.replies import ModelFailed, ModelReply, Reply
from schemas.rules import Rules
from streams.clock import Clock
from streams.codec import Headers, decode, encode, timestamp
from streams.kafka.log_reader import read_log
from streams.llm.journal import AnswerJournal, Experience, Usage, answer_key, from_journal, is_opening, reply_of
from streams.llm.request import cost_of, prompt_tokens_of
from streams.llm.settings import ModelLimits
from streams.llm.tasks import answer_offline
from streams.replay.diff import Comparison
from streams.replay.plan import ReplayError, handler_of
from streams.replay.selection import make_selector
from streams.settings import Settings
from streams.topology import Handler, topic_of


@dataclass(slots=True)
class Calls:
    """Questions that nobody has answered yet.

    Attributes:
        count: How many.
        estimated: Tokens of their prompts, as estimated.
        longest: Tokens of their replies at most.
    """

    count: int = 0
    estimated: int = 0
    longest: int = 0

    def add(self, need: AskModel, limits: ModelLimits) -> None:
        """One more."""
        self.count += 1
        self.estimated += prompt_tokens_of(need)
        self.longest += need.max_tokens + limits.thinking_tokens

    def tokens(self, usage: Usage) -> tuple[float, float]:
        """Tokens of prompts and replies to be expected, after what others have used."""
        if not usage.calls:
            return float(self.estimated), float(self.longest)
        ratio = usage.prompt / usage.estimated if usage.estimated else 1.0
        return self.estimated * ratio, self.count * usage.completion / usage.calls


@dataclass(slots=True)
class Forecast:
    """The questions of one task to one model.

    Attributes:
        task: Its name.
        model: Whom it is put to.
        server: Where the model is; a part of an answer's key.
        limits: What the model takes and costs.
        journal: Where answers are kept.
        experience: What earlier calls took.
        now: Seconds since 1970; what has expired by then is not kept.
        conversations: Inputs about which somebody is asked.
        kept: Answers that are in the journal, or will be when they are asked for a second time.
        kept_prompt: Tokens of the prompts of those in the journal.
        kept_completion: Tokens of their replies.
        openings: Questions to be paid that begin a conversation.
        followups: Those to be paid that go on with one.
        unknown_followups: More of them that are to be expected where it is not known how a conversation goes on.
    """

    task: str
    model: str
    server: str
    limits: ModelLimits
    journal: AnswerJournal
    experience: Experience
    now: float
    conversations: int = 0
    kept: int = 0
    kept_prompt: int = 0
    kept_completion: int = 0
    openings: Calls = field(default_factory=Calls)
    followups: Calls = field(default_factory=Calls)
    unknown_followups: float = 0.0
    _asked: set[bytes] = field(default_factory=set)

    async def ask(self, need: AskModel, followed: int) -> ModelReply | ModelFailed | None:
        """The answer that is kept; None for one that is to be paid, and so is not known yet.

        Args:
            need: The question.
            followed: Questions of the conversation before it, without the first one.

        Raises:
            JournalError: The journal can't be read.
        """
        opening = is_opening(need)
        self.conversations += opening
        key = answer_key(need, self.model, self.server)
        found = await self.journal.get(key, self.now)
        if found is not None and (known := from_journal(found)) is not None:
            self.kept += 1
            self.kept_prompt += known.prompt_tokens
            self.kept_completion += known.completion_tokens
            return reply_of(known, need, self.model, cached=True)
        at = bytes.fromhex(key[:32])
        if at in self._asked:
            # The same question about another record: the answer to the first will be there.
            self.kept += 1
            return None
        self._asked.add(at)
        (self.openings if opening else self.followups).add(need, self.limits)
        openings, followups = self.experience
        if openings.calls:
            # Nobody knows how the conversation goes on; it will be about as long as others were.
            so_far = followed + (not opening)
            self.unknown_followups += max(0.0, followups.calls / openings.calls - so_far)
        return None

    @property
    def calls(self) -> float:
        """Calls to be expected."""
        return self.openings.count + self.followups.count + self.unknown_followups

    def tokens(self) -> tuple[float, float]:
        """Tokens of prompts and of replies to be expected."""
        openings, followups = self.experience
        first, later = self.openings.tokens(openings), self.followups.tokens(followups)
        unknown = [
            self.unknown_followups * amount / followups.calls if followups.calls else 0.0
            for amount in (followups.prompt, followups.completion)
        ]
        return first[0] + later[0] + unknown[0], first[1] + later[1] + unknown[1]

    def usd(self) -> float | None:
        """What the calls will cost; None where the model has no price."""
        prompt, completion = self.tokens()
        return cost_of(self.limits, prompt, completion)

    def saved_usd(self) -> float | None:
        """What the answers in the journal cost once; None where the model has no price."""
        return cost_of(self.limits, self.kept_prompt, self.kept_completion)

    def call_seconds(self) -> float | None:
        """How long a call took on the average; None where there was none."""
        calls = sum(its.calls for its in self.experience)
        return sum(its.milliseconds for its in self.experience) / calls / 1000 if calls else None


_ENVELOPE = Envelope("", "", "", datetime(1970, 1, 1, tzinfo=UTC), "")
"""Stands in for the headers of a result that is not written."""


@dataclass(slots=True)
class HandlerDryRun:
    """What one handler would do.

    Attributes:
        handler: The declaration.
        rules: What it decides by.
        forecast: Of what it asks models; None where none is asked, or the offline judge.
        records: That it reads.
        size: Bytes of their keys and values.
        busy: Seconds that it works on them, with reading and writing JSON, without waiting for anybody.
        outcomes: Records by what comes of them; ``open`` where that hangs on an answer that is not there yet.
        pages: Pages that it wants fetched.
        points: Points that it wants in the index.
        offline: Questions that the offline judge has answered.
    """

    handler: Handler
    rules: Rules
    forecast: Forecast | None
    records: int = 0
    size: int = 0
    busy: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    pages: int = 0
    points: int = 0
    offline: int = 0


class DryRun:
    """Some handlers, and which of them read what others write."""

    def __init__(
        self,
        settings: Settings,
        handlers: Sequence[Handler],
        below: Mapping[str, Sequence[Handler]],
        journal: AnswerJournal,
        clock: Clock,
    ) -> None:
        """Takes what is rehearsed.

        Args:
            settings: What the handlers decide by, and where models would be asked.
            handlers: All of them.
            below: By the name of a topic, those of them that read what is written to it.
            journal: Where answers are kept.
            clock: Says how long work takes, and which answers have expired.
        """
        self._settings = settings
        self._below = below
        self._journal = journal
        self._clock = clock
        self.parts = {handler.name: HandlerDryRun(handler, settings.rules(handler.rules), None) for handler in handlers}

    async def open(self) -> None:
        """Looks up what earlier calls took.

        Raises:
            JournalError: The journal can't be read.
        """
        settings = self._settings
        for part in self.parts.values():
            name = part.handler.name
            if part.handler.replay == "paid" and not settings.llm.offline:
                model = settings.model_of(name)
                part.forecast = Forecast(
                    name,
                    model,
                    settings.llm.base_url,
                    settings.models.limits_of(model),
                    self._journal,
                    await self._journal.experience(name, model),
                    self._clock.now().timestamp(),
                )

    async def add(
        self, handler: Handler, key: bytes | None, value: bytes | None, headers: Headers, produced: datetime | None
    ) -> None:
        """One record that a handler reads, and all that would come of it.

        Raises:
            JournalError: The journal can't be read.
        """
        part = self.parts[handler.name]
        part.records += 1
        part.size += len(key or b"") + len(value or b"")
        began = self._clock.monotonic()
        event = decode(handler.consumes, value, headers, produced)
        part.busy += self._clock.monotonic() - began
        if isinstance(event, Dead):
            part.outcomes["dead"] += 1
        else:
            await self._handle(part, event)

    async def _handle(self, part: HandlerDryRun, event: Event) -> None:
        handler, rules = part.handler, part.rules
        answer = self._timed(part, lambda: handler.fn(event, rules))
        replies: tuple[Reply, ...] = ()
        followed = -1
        while isinstance(answer, Ask) and handler.read is not None and len(replies) < handler.rounds:
            need, state = answer.need, answer.state
            reply = await self._reply(part, need, max(0, followed))
            followed += isinstance(need, AskModel)
            if reply is None:
                break
            replies = (*replies, reply)
            answer = self._timed(part, lambda: handler.resume(event, replies, rules, state))  # noqa: B023
        part.outcomes["open" if isinstance(answer, Ask) else type(answer).__name__.lower()] += 1
        if isinstance(answer, Emit):
            await self._pass_on(part, answer.events)

    async def _reply(self, part: HandlerDryRun, need: Need, followed: int) -> Reply | None:
        """What is known of a reply without asking anybody: None for everything but answers of judges."""
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
                # An answer that is kept wants it, so what follows was asked before, and is taken for kept as well.
                pass
        return None

    async def _pass_on(self, part: HandlerDryRun, events: Sequence[Event]) -> None:
        for event in events:
            began = self._clock.monotonic()
            record = encode(topic_of(event), event, _ENVELOPE)
            part.busy += self._clock.monotonic() - began
            for handler in self._below.get(record.topic, ()):
                below = self.parts[handler.name]
                below.records += 1
                below.size += len(record.key or b"") + len(record.value or b"")
                await self._handle(below, event)

    def _timed(self, part: HandlerDryRun, decide: Callable[[], Outcome | Ask | Steps]) -> Outcome | Ask:
        began = self._clock.monotonic()
        try:
            return finished(decide())
        except Exception as error:
            return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:500])
        finally:
            part.busy += self._clock.monotonic() - began


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared.

    Attributes:
        handler: The handler's name.
        records: That were decided on.
        dead: Those of them that are dead under either configuration.
        version_now: Of the handler's rules under the configuration in force.
        version_then: Under the other one; equal versions decide alike.
    """

    handler: str
    records: int
    dead: int
    version_now: str
    version_then: str


async def compare(
    settings: Settings,
    other: Settings,
    stage: ReplayStage,
    selection: ReplaySelection,
    comparison: Comparison,
    advance: Callable[[int], None] = lambda _: None,
) -> Compared:
    """Decides on every record of a stage's ranges under both configurations, and feeds the comparison.

    Args:
        settings: The configuration in force.
        other: The other one.
        stage: A handler that asks for nothing, with the ranges of its topic.
        selection: Which of the records are meant.
        comparison: For what the handler emits.
        advance: Told of each record that was passed, for a bar.

    Raises:
        ReplayError: The handler asks for something, or the selection what the handler does not have.
        SettingsError: Sections of a configuration that are right by themselves don't go together.
        KafkaError: The cluster can't be read.
    """
    handler = handler_of(stage)
    if handler.read is not None:
        raise ReplayError(f"{handler.name} asks for what a comparison does not provide; leave --diff out")
    now, then = settings.rules(handler.rules), other.rules(handler.rules)
    means = await make_selector(settings, handler, selection, stage.decisions)
    records = dead = 0
    async with aclosing(read_log(settings.kafka, stage.topic, stage.ranges)) as source:
        async for record in source:
            advance(1)
            if not means(record):
                continue
            event = decode(handler.consumes, record.value, record.headers, timestamp(record.timestamp))
            outcomes = [_decided(handler, event, rules) for rules in (now, then)]
            comparison.add(*outcomes)
            records += 1
            dead += any(isinstance(outcome, Dead) for outcome in outcomes)
    return Compared(handler.name, records, dead, now.config_version, then.config_version)


def _decided(handler: Handler, event: Event | Dead, rules: Rules) -> Outcome:
    if isinstance(event, Dead):
        return event
    try:
        answer: Outcome | Ask = finished(handler.fn(event, rules))
    except Exception as error:
        return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}")
    if isinstance(answer, Ask):
        return Dead(DeadReason.HANDLER_BUG, f"{handler.name} has no reader and asks")
    return answer
