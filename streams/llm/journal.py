"""The port of the answer journal: stored answers, costs by account, and one table of the calls by day.

The key of an answer is a hash of everything that the answer depends on. First questions of a conversation and follow-up
questions are counted separately, because follow-ups are longer and not every conversation has them.
``sqlite_journal.make_journal`` opens the journal of the settings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import ValidationError

from schemas.event import Event
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import AskModel, ToolCall, ToolSpec
from schemas.replies import ModelFailed, ModelReply


class StoredAnswer(Event):
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    outcome: CallOutcome
    prompt_tokens: int = 0
    completion_tokens: int = 0


def definition_of(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def answer_key(need: AskModel, model: str, server: str = "") -> str:
    """The key of an answer: a hash of task, prompt, model, server, question, parameters and the number of the try.

    The server is part of the key, because servers may give one name to different models.
    """
    question = {
        "messages": [asdict(message) for message in need.messages],
        "tools": [definition_of(tool) for tool in need.tools],
        "schema": None if need.schema is None else dict(need.schema),
        "max_tokens": need.max_tokens,
        "temperature": need.temperature,
    }
    parts = [need.task, need.prompt_version, model, server, question, need.try_number]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


def from_journal(text: str) -> StoredAnswer | None:
    """Parses a stored answer; None if this version can't read it."""
    try:
        return StoredAnswer.model_validate_json(text)
    except ValidationError:
        return None


def reply_of(
    answer: StoredAnswer,
    need: AskModel,
    model: str,
    judged_by: Literal["model", "offline"] = "model",
    failure: str = "",
    **fields: Any,
) -> ModelReply | ModelFailed:
    """The reply to the handler for an answer; ``failure`` says why there is no answer.

    ``fields`` are others of ``LlmCall``, which cost nothing by default. ``call_id`` is the key of the answer in the
    journal; None if the journal does not keep it.
    """
    call = LlmCall(
        judged_by=judged_by,
        model=model,
        prompt_version=need.prompt_version,
        temperature=need.temperature,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        outcome=answer.outcome,
        **{"cost_usd": 0.0, **fields},
    )
    if answer.outcome is not CallOutcome.OK:
        return ModelFailed(call, failure or f"the reply was {answer.outcome}")
    return ModelReply(answer.text, answer.tool_calls, call)


class JournalError(Exception):
    """The journal can't be read or written now."""


class BoundReachedError(JournalError):
    """The call would exceed a replay's cost limit."""


class AnswerJournal(Protocol):
    """Answers by key, costs by account (a day, or a replay), and calls by day.

    Every method raises ``JournalError`` if the journal can't be read or written.
    """

    async def get(self, key: str, now: float) -> str | None:
        """The stored answer as JSON; None if the journal has no such answer, or it has expired."""

    async def keep(
        self, key: str, answer: str, now: float, seconds: float, accounts: Sequence[str], usd: float
    ) -> float:
        """Stores an answer for ``seconds`` and books its cost on the accounts, all or nothing.

        Returns the costs of the last account.
        """

    async def book(self, bounds: Mapping[str, float | None], usd: float) -> tuple[str, float]:
        """Books costs on each account, or on none of them if one would exceed its bound.

        Returns that account and its costs; "" and the costs of the last account if they were booked.
        """

    async def booked(self, account: str) -> float:
        """USD on an account; it books nothing."""

    async def count(self, calls: Sequence[DayCalls]) -> None:
        """Adds to the table of calls, all or nothing."""

    async def counted(self, since: str) -> list[DayCalls]:
        """The rows of the table from a day on, in no order."""

    async def aclose(self) -> None:
        """Closes the journal after the work that was handed over."""


class DayCalls(NamedTuple):
    """A row of the table of calls: what became of the questions of a task for a model on a day (UTC).

    ``requested`` includes repeated requests, ``cached`` answers cost nothing, ``usd`` is known as far as prices are.
    For a ``refused`` question no request was made: the budget is spent, a limit is reached, the breaker is open,
    or the model can't be used with these settings. A question that is asked again counts again.

    The last numbers are sums over ``answered`` calls: ``estimated`` are the tokens of the prompts before the calls
    (``prompt_tokens_of``), ``prompt`` and ``completion`` those that the server counted.
    """

    day: str
    model: str
    requested: int = 0
    cached: int = 0
    refused: int = 0
    usd: float = 0.0
    task: str = ""
    opening: bool = False
    answered: int = 0
    estimated: int = 0
    prompt: int = 0
    completion: int = 0
    milliseconds: int = 0

    def plus(self, other: DayCalls) -> DayCalls:
        return self._replace(**{name: getattr(self, name) + getattr(other, name) for name in AMOUNTS})


KEYS = ("day", "model", "task", "opening")
"""What a row is about; the other columns are sums."""
AMOUNTS = tuple(name for name in DayCalls._fields if name not in KEYS)


async def earlier_calls(journal: AnswerJournal, task: str, model: str) -> tuple[DayCalls, DayCalls]:
    """What the calls of a task and model used, separately for first questions and follow-ups. Raises JournalError."""
    openings, followups = DayCalls("", model), DayCalls("", model)
    for row in await journal.counted(""):
        if (row.task, row.model) == (task, model):
            openings, followups = (openings.plus(row), followups) if row.opening else (openings, followups.plus(row))
    return openings, followups


def is_opening(need: AskModel) -> bool:
    """Whether a question starts a conversation and is asked for the first time."""
    return need.try_number == 1 and all(message.role in ("system", "user") for message in need.messages)
