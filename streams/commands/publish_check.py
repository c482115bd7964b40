"""``assay publish --check`` and ``--dry-run``: what would be published, and what would come of it; nothing is sent.

assay publish pages.crawled.v1 pages.tsv --check
assay publish claims.extracted.v1 claims.jsonl --dry-run --rate 50
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from streams.codec import OutputRecord
from streams.commands.amounts import in_time
from streams.commands.kafka_trouble import tell
from streams.commands.publish_input import Input
from streams.commands.publish_progress import publish_progress
from streams.entries import SourceError
from streams.llm.store import StoreError
from streams.replay.figures import Estimate
from streams.settings import Settings


async def check(source: Input, settings: Settings, as_json: bool, estimating: bool) -> int:
    """Reads and validates everything; no Kafka is needed (C-33).

    Args:
        source: What would be published.
        settings: The configuration that handlers would decide under.
        as_json: End with one JSON object.
        estimating: Also say what the handlers that read the topic, and those below them, would do and cost.

    Returns:
        0; 1 where something would be refused, or the journal of answers can't be read; 2 where a path can't be read.
    """
    checked, status = _Checked(source), 0
    estimate: Estimate | None = None
    began = time.monotonic()
    try:
        with publish_progress(f"checking for {source.asked.topic.name}", source.walk) as advance:
            async with aclosing(checked.records(advance)) as records:
                if estimating:
                    from streams.replay.estimate import estimate_source

                    estimate = await estimate_source(settings, source.asked.topic, records, rate=source.asked.rate)
                else:
                    async for _ in records:
                        pass
    except SourceError as error:
        tell("publish", str(error))
        status = 2
    except StoreError as error:
        tell("publish", f"the journal of answers can't be read: {error}")
        status = 1
    finally:
        source.tell_rest()
        checked.tell(time.monotonic() - began, estimate, as_json)
    return status or (1 if source.refused else 0)


class _Checked:
    """The records that would be sent, counted as they are read."""

    def __init__(self, source: Input) -> None:
        self._source = source
        self._valid = 0
        self._bytes = 0

    async def records(self, advance: Callable[[], None]) -> AsyncGenerator[OutputRecord, None]:
        async for record in self._source.records():
            if record is not None:
                self._valid += 1
                self._bytes += record.size
                advance()
                yield record

    def tell(self, seconds: float, estimate: Estimate | None, as_json: bool) -> None:
        asked, refused = self._source.asked, self._source.refused
        at_rate = self._valid / asked.rate if asked.rate else None
        if as_json:
            told: dict[str, Any] = {"published": 0, "valid": self._valid, "refused": refused}
            told |= {"seconds": round(seconds, 3), "bytes": self._bytes, "seconds_at_rate": at_rate}
            print(json.dumps(told | ({"estimate": estimate.to_wire()} if estimate is not None else {})))
            return
        long = f", {in_time(at_rate)} at {asked.rate:g} a second" if at_rate is not None else ""
        print(
            f"{self._valid} valid for {asked.topic.name} ({self._bytes:,} bytes{long}), {refused} refused, in "
            f"{seconds:.1f} s; nothing was sent"
        )
        if estimate is not None and estimate.handlers:
            from streams.commands.replay_estimate import show_estimate

            print("\nwhat comes of it:")
            show_estimate(estimate)
