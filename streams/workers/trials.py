"""Decides events under two configurations in a child process: the one in force, and the same with other sections."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, Self

from schemas.event import Event
from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Outcome
from schemas.rules import Rules, Section
from streams.topology import Handler
from streams.workers.handler_jobs import RawRecord, answer_of, warm_up
from streams.workers.pool import WorkerPool
from streams.workers.settings import WorkersSettings

_KEPT_RULES = 8
"""Compiled rules that are kept: a user moves a slider back and forth, and each compilation takes 0.1 s."""


class TrialJob(NamedTuple):
    """An event or a record, and the sections that the other configuration has in place of those in force."""

    source: Event | RawRecord
    changes: Mapping[str, Section]


class Trials:
    """Decides events of one handler under two configurations, while the block runs.

    The handler makes no requests. It runs in a child process under the limits of the settings, or in this process if
    the settings have no child processes.
    """

    def __init__(self, handler: Handler, rules: Rules, settings: WorkersSettings) -> None:
        if handler.read is not None:
            raise ValueError(f"{handler.name} makes requests, which a trial does not answer")
        self._here = None if settings.processes else _Work(handler, rules)
        # A copy has no cached properties, which a child computes faster than it reads them.
        make = partial(_Work, handler, rules.model_copy())
        self._pool = WorkerPool(make, 1, settings.limits)

    async def __aenter__(self) -> Self:
        if self._here is None:
            await self._pool.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.stop()

    async def outcomes(self, source: Event | RawRecord, changes: Mapping[str, Section]) -> tuple[Outcome, Outcome]:
        """The outcomes under the configuration in force and under the other one."""
        job = TrialJob(source, changes)
        answer: tuple[Outcome, Outcome] | Dead
        answer = await self._pool.run(job) if self._here is None else self._here(job)
        return (answer, answer) if isinstance(answer, Dead) else answer


class _Work:
    def __init__(self, handler: Handler, rules: Rules) -> None:
        self._handler = handler
        self._now = rules
        self._others: OrderedDict[tuple[tuple[str, str], ...], Rules] = OrderedDict()
        warm_up(handler, rules)

    def __call__(self, job: TrialJob) -> tuple[Outcome, Outcome]:
        return self._outcome(self._now, job.source), self._outcome(self._rules(job.changes), job.source)

    def _outcome(self, rules: Rules, source: Event | RawRecord) -> Outcome:
        answer = answer_of(self._handler, rules, source).of
        if isinstance(answer, Ask):
            return Dead(DeadReason.HANDLER_BUG, f"{self._handler.name} has no reader and asks")
        return answer

    def _rules(self, changes: Mapping[str, Section]) -> Rules:
        if not changes:
            return self._now
        key = tuple(sorted((name, section.model_dump_json()) for name, section in changes.items()))
        rules = self._others.pop(key, None) or self._now.model_copy(update=dict(changes))
        self._others[key] = rules
        if len(self._others) > _KEPT_RULES:
            self._others.popitem(last=False)
        return rules
