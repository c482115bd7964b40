"""Questions for tests of the gateway, and gateways with limits that don't hinder."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from schemas.needs import AskModel, Message
from streams.llm.accounting import CostAccount
from streams.llm.gateway import Gateway
from streams.llm.journal import AnswerJournal, JournalError
from streams.llm.limits import Shares
from streams.llm.settings import LlmSettings, ModelLimits, ModelsSection, TaskPolicy
from streams.llm.sqlite_journal import SqliteJournal
from streams.runtime.clock import Clock, SystemClock
from streams.telemetry.metrics import Metrics
from tests.streams.llm.model_server import Behaviour, ModelServer, model_server

TASK = "task-1"  # without a protocol of its own, so that any reply is one
MODEL = "model-1"
FREE = ModelLimits(requests_per_minute=1_000_000, tokens_per_minute=10**9, in_flight=1000, price_in=1.0, price_out=2.0)
HASTY = TaskPolicy(deadline_seconds=0.4, patience_seconds=1.0, attempts=2)


def question(text: str = "Is it?", **changes: Any) -> AskModel:
    """A question with this text."""
    fields: dict[str, Any] = {
        "task": TASK,
        "prompt_version": "0123456789ab",
        "messages": (Message("system", "Say a number."), Message("user", text)),
        "facts": {"text": text},
        "max_tokens": 10,
        "temperature": 0.0,
    }
    return AskModel(**(fields | changes))


@asynccontextmanager
async def gateway_at(
    base_url: str,
    policy: TaskPolicy = HASTY,
    limits: ModelLimits = FREE,
    clock: Clock | None = None,
    shares: Shares | None = None,
    journal: AnswerJournal | None = None,
    cache_path: Path | None = None,
    weights: Mapping[str, float] | None = None,
    metrics: Metrics | None = None,
    account: CostAccount | None = None,
    **llm: Any,
) -> AsyncIterator[Gateway]:
    """A gateway to one server, closed after the block."""
    if journal is None and not llm.get("redis_url"):
        journal = SqliteJournal(cache_path)
        with contextlib.suppress(JournalError):
            # On a busy machine a file takes longer to be made than the hasty have.
            await journal.get("", 0.0)
    hasty = {"first_backoff_seconds": 0.02, "max_backoff_seconds": 0.05}
    fields: dict[str, Any] = {"model": MODEL, "cache_path": cache_path, **hasty, **llm}
    gateway = Gateway(
        LlmSettings(base_url=base_url, **fields),
        ModelsSection(tasks={"default": policy}, limits={"default": limits}),
        shares or Shares({}, weights or {}),
        clock or SystemClock(),
        lambda: 0.5,
        metrics or Metrics(),
        journal,
        account=account,
    )
    try:
        yield gateway
    finally:
        await gateway.aclose()


@asynccontextmanager
async def served(
    behave: Behaviour | None = None, *given: Any, **options: Any
) -> AsyncIterator[tuple[ModelServer, Gateway]]:
    """A model's server that behaves so, and a gateway at it; the rest is as for ``gateway_at``."""
    async with model_server(behave) as server, gateway_at(server.base_url, *given, **options) as gateway:
        yield server, gateway
