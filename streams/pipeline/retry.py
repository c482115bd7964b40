"""What becomes of a record whose short tries are used up: a delayed retry topic, or the dead letter topic.

The record is written to ``<topic>.<group>.retry.<delay>`` in the transaction that moves its offset, so a try is never
lost and never doubled. It leaves its place among the records of its key, so a handler whose order has a meaning
declares no such topics (``Handler.retry_later``), and its records wait in place instead.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from schemas.event import Provenance
from schemas.outcome import Retry
from streams.codec import MAX_DETAIL, Headers, OutputRecord
from streams.pipeline.origin import Origin, without_notes
from streams.topology import Handler, RetryTier


def next_tier(tiers: tuple[RetryTier, ...], current: RetryTier | None, wish: float | None) -> RetryTier | None:
    """The retry topic for a record that failed in ``current``, None where every one has had it.

    Args:
        tiers: The handler's, the shortest delay first.
        current: Where the record was tried now; None for the handler's own topic.
        wish: Seconds that the provider wants to be left alone. A topic whose delay suffices is preferred, so that the
            records of a topic are due in the order in which they stand there.
    """
    later = [tier for tier in tiers if current is None or tier.delay_seconds > current.delay_seconds]
    return next((tier for tier in later if tier.delay_seconds >= (wish or 0.0)), later[-1] if later else None)


def retry_record(
    handler: Handler,
    tier: RetryTier,
    origin: Origin,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
    retry: Retry,
    attempts: int,
    provenance: Provenance,
    now: datetime,
    longest_seconds: float,
) -> OutputRecord:
    """The record for a retry topic: the original, and in text headers why, how often, and not before when.

    Args:
        handler: Whose input it is.
        tier: The retry topic.
        origin: Where the record stood first.
        key: As it came.
        value: As it came.
        headers: As they came; an earlier try's notes are replaced.
        retry: Why it failed, and how long the provider wants to be left alone.
        attempts: Tries so far.
        provenance: Its identity, which it keeps.
        now: The wall clock, UTC.
        longest_seconds: The longest that a provider's wish is obeyed.
    """
    delay = max(float(tier.delay_seconds), min(retry.after_seconds or 0.0, longest_seconds))
    due = now + timedelta(seconds=delay)
    notes = origin.notes(handler.name, provenance) | {
        "x-reason": retry.reason.value,
        "x-error-message": retry.detail[:MAX_DETAIL],
        "x-attempt": str(attempts),
        "x-not-before": str(int(due.timestamp() * 1000)),
    }
    written = without_notes(headers)
    written += [(name, text.encode("utf-8", "replace")) for name, text in notes.items()]
    return OutputRecord(tier.topic, key, value, tuple(written))
