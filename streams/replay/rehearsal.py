"""Handlers run on records for nothing but to see what they would do: nothing is written, fetched or paid.

Records go in; out come, for each handler, how many it reads, how long it works on them, and what it asks for. Where the
answer to a question is kept already, or the offline judge gives it, the handler goes on and its results are read by the
handlers below it; where it is not, what comes of the record is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from schemas.event import Envelope, Event
from schemas.needs import Ask, AskModel, FetchPages, IndexDocument, Need, SearchVectors
from schemas.outcome import Dead, DeadReason, Emit, Outcome, Steps, finished
from schemas.replies import Reply
from schemas.rules import Rules
from streams.clock import Clock
from streams.codec import Headers, decode, encode
from streams.llm.offline import answer_offline
from streams.llm.store import AnswerStore
from streams.replay.forecast import Forecast
from streams.settings import Settings
from streams.topology import Handler, topic_of

_ENVELOPE = Envelope("", "", "", datetime(1970, 1, 1, tzinfo=UTC), "")
"""Stands in for the headers of a result that is not written."""


@dataclass(slots=True)
class Part:
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


class Rehearsal:
    """Some handlers, and which of them read what others write."""

    def __init__(
        self,
        settings: Settings,
        handlers: Sequence[Handler],
        below: Mapping[str, Sequence[Handler]],
        journal: AnswerStore,
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
        self.parts = {handler.name: Part(handler, settings.rules(handler.rules), None) for handler in handlers}

    async def open(self) -> None:
        """Looks up what earlier calls took.

        Raises:
            StoreError: The journal can't be read.
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
            StoreError: The journal can't be read.
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

    async def _handle(self, part: Part, event: Event) -> None:
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

    async def _reply(self, part: Part, need: Need, followed: int) -> Reply | None:
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

    async def _pass_on(self, part: Part, events: Sequence[Event]) -> None:
        for event in events:
            began = self._clock.monotonic()
            record = encode(topic_of(event), event, _ENVELOPE)
            part.busy += self._clock.monotonic() - began
            for handler in self._below.get(record.topic, ()):
                below = self.parts[handler.name]
                below.records += 1
                below.size += len(record.key or b"") + len(record.value or b"")
                await self._handle(below, event)

    def _timed(self, part: Part, decide: Callable[[], Outcome | Ask | Steps]) -> Outcome | Ask:
        began = self._clock.monotonic()
        try:
            return finished(decide())
        except Exception as error:
            return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:500])
        finally:
            part.busy += self._clock.monotonic() - began
