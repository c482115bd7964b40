"""Handlers in child processes: a job is a record, or an event, and the replies so far; its result is an answer.

A child decodes the record, because the event loop should only move bytes. Any child can continue with the replies: the
state of the ask is part of the job. The parent does not read that state, so it keeps the bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import schemas
from schemas.event import Event
from schemas.needs import Ask, Need
from schemas.outcome import CHILD_ENDS, Dead, DeadReason, Outcome, Stage
from schemas.replies import Reply
from schemas.rules import Rules, Section
from streams.topology import Handler
from streams.topology.codec import MAX_DETAIL, Headers, decode
from streams.workers.child import Work
from streams.workers.pool import WorkerPool
from streams.workers.settings import WorkersSettings
from streams.workers.template import Start

if TYPE_CHECKING:
    from streams.telemetry.metrics import Metrics

_EXAMPLES = Path(schemas.__file__).parent / "examples"


class RawRecord(NamedTuple):
    value: bytes | None
    headers: Headers
    produced_at: datetime | None
    key: bytes | None = None


class HandlerJob(NamedTuple):
    """What a handler answers: its input, the replies so far, and the pickled state of the ask that they answer."""

    handler: str
    source: Event | RawRecord
    replies: tuple[Reply, ...] = ()
    state: bytes | None = None


class Answer(NamedTuple):
    """A handler's answer, or why a record could not be decoded."""

    of: Outcome | Ask
    stage: Stage = Stage.HANDLE


def answer_of(
    handler: Handler, rules: Rules, source: Event | RawRecord, replies: tuple[Reply, ...] = (), state: Any = None
) -> Answer:
    """The handler's answer in this process; an exception becomes ``Dead(handler_bug)``."""
    # Step 4. Decode a record that arrives in a child process as bytes.
    event = decode(handler.consumes, *source) if isinstance(source, RawRecord) else source
    if isinstance(event, Dead):
        return Answer(event, Stage.DECODE)
    # Step 5. Let the handler decide, also when it continues with replies.
    try:
        return Answer(handler.resume(event, replies, rules, state) if replies else handler.fn(event, rules))
    except MemoryError:
        return Answer(Dead(DeadReason.OUT_OF_MEMORY, f"{handler.name} got no more memory"))
    except Exception as error:
        return Answer(Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL]))


async def answer_in(
    pool: WorkerPool | None,
    handler: Handler,
    rules: Rules,
    source: Event | RawRecord,
    replies: tuple[Reply, ...] = (),
    state: Any = None,
) -> Answer:
    if pool is None or handler.runs == "inline":
        return answer_of(handler, rules, source, replies, state)
    # Steps 4 and 5, in a child process.
    result: Answer | Dead = await pool.run(HandlerJob(handler.name, source, replies, state))
    return Answer(result) if isinstance(result, Dead) else result


async def converse(
    handler: Handler,
    rules: Rules,
    source: Event | RawRecord,
    reply: Callable[[Need], Awaitable[Reply | None]],
    pool: WorkerPool | None = None,
) -> Outcome | Ask:
    """A handler's outcome with the caller's replies; the open request where ``reply`` has none, without retries."""
    answer = (await answer_in(pool, handler, rules, source)).of
    replies: tuple[Reply, ...] = ()
    while isinstance(answer, Ask) and handler.read is not None and len(replies) < handler.rounds:
        if (found := await reply(answer.need)) is None:
            break
        replies = (*replies, found)
        answer = (await answer_in(pool, handler, rules, source, replies, answer.state)).of
    return answer


def handler_pool(
    handlers: Iterable[tuple[Handler, Rules]], settings: WorkersSettings, metrics: Metrics
) -> WorkerPool | None:
    """A pool for those of the handlers that run in a process; None if no handler does, or the settings disable them."""
    chosen = [(handler, rules) for handler, rules in handlers if handler.runs == "process"]
    if not chosen or settings.processes == 0:
        return None
    # A copy has no cached properties, which a child computes faster than it reads them.
    work = partial(_make_work, tuple((handler, rules.model_copy()) for handler, rules in chosen))
    ended = metrics.child_processes_ended_total
    for reason in CHILD_ENDS:
        # At 0 from the start, so that the first one counts as an increase.
        ended.labels(reason)
    return WorkerPool(work, settings.processes, settings.limits, on_failure=lambda reason: ended.labels(reason).inc())


def forked_pool(handlers: Iterable[tuple[Handler, Rules]], settings: WorkersSettings) -> WorkerPool | None:
    """A pool with one child for a command, forked when it starts; None if the handlers run in the command itself."""
    ready = {handler.name: (handler, rules) for handler, rules in handlers if handler.runs == "process"}
    if not ready or settings.processes == 0:
        return None
    return WorkerPool(lambda: partial(_answer, ready), 1, settings.limits, how="fork")


def _make_work(handlers: tuple[tuple[Handler, Rules], ...]) -> Work:
    ready = {handler.name: (handler, rules) for handler, rules in handlers}
    for handler, rules in ready.values():
        warm_up(handler, rules)
    return partial(_answer, ready)


def warm_up(handler: Handler, rules: Rules) -> None:
    """Runs the handler on the examples of its topic: the first use of lists and patterns takes long."""
    for path in sorted((_EXAMPLES / handler.consumes.name).glob("*.json")):
        answer_of(handler, rules, RawRecord(path.read_bytes(), (), None))


def _answer(handlers: Mapping[str, tuple[Handler, Rules]], job: HandlerJob) -> Answer:
    handler, rules = handlers[job.handler]
    state = None if job.state is None else pickle.loads(job.state)  # noqa: S301  # from another child
    answer = answer_of(handler, rules, job.source, job.replies, state)
    if isinstance(answer.of, Dead) and answer.of.reason is DeadReason.OUT_OF_MEMORY:
        # What this process holds is unknown now. The child ends, and the record runs once more in a fresh one.
        raise MemoryError
    if isinstance(answer.of, Ask) and answer.of.state is not None:
        kept = pickle.dumps(answer.of.state, pickle.HIGHEST_PROTOCOL)
        return answer._replace(of=replace(answer.of, state=kept))
    return answer


class Trials:
    """Decides events of one handler under several configurations, while the block runs.

    The handler makes no requests. It runs in a child process under the limits of the settings, or in this process if
    the settings have no child processes. A child that is forked, for a command, is not warmed up.
    """

    def __init__(self, handler: Handler, rules: Sequence[Rules], settings: WorkersSettings, start: Start = "spawn"):
        if handler.read is not None:
            raise ValueError(f"{handler.name} makes requests, which a trial does not answer")
        self._here: Work | None = None if settings.processes else partial(_tried, handler, rules)
        # A copy has no cached properties, which a child computes faster than it reads them.
        make = partial(_make_trial, handler, [known.model_copy() for known in rules], warm=start == "spawn")
        self._pool = WorkerPool(make, 1, settings.limits, how=start)

    async def __aenter__(self) -> Self:
        if self._here is None:
            await self._pool.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.stop()

    async def outcome(
        self, source: Event | RawRecord, number: int = 0, changes: Mapping[str, Section] | None = None
    ) -> Outcome:
        """The outcome under the configuration of that number, with other sections in place of its own."""
        job = (source, number, changes or {})
        answer: Outcome = await self._pool.run(job) if self._here is None else self._here(job)
        return answer


def _make_trial(handler: Handler, rules: Sequence[Rules], warm: bool) -> Work:
    if warm:
        warm_up(handler, rules[0])
    return partial(_tried, handler, rules)


def _tried(
    handler: Handler, rules: Sequence[Rules], job: tuple[Event | RawRecord, int, Mapping[str, Section]]
) -> Outcome | Ask:
    source, number, changes = job
    return answer_of(handler, rules[number].model_copy(update=dict(changes)) if changes else rules[number], source).of
