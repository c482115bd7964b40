"""How long to wait before another attempt: back-off with full jitter, and the Retry-After header of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

Chance = Callable[[], float]  # returns a random number in [0, 1)


def full_jitter(attempt: int, first_seconds: float, max_seconds: float, chance: Chance, least: float = 0.0) -> float:
    """Seconds before the next attempt: random, below a bound that doubles with every attempt.

    >>> [full_jitter(attempt, 0.5, 3.0, lambda: 1.0) for attempt in (1, 2, 3, 4, 5000)]
    [0.5, 1.0, 2.0, 3.0, 3.0]

    Args:
        attempt: Attempts so far, 1 or more.
        first_seconds: Bound after the first attempt.
        max_seconds: Largest bound.
        chance: The random numbers.
        least: Share of the bound that is always waited.
    """
    bound = min(max_seconds, first_seconds * 2.0 ** min(attempt - 1, 30))
    return (least + (1 - least) * chance()) * bound


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a server asks to wait: ``retry-after-ms``, or ``retry-after`` as a number or a date (RFC 9110).

    Never raises. None if the headers state no time. The names of the headers are in lower case.

    >>> retry_after({"retry-after": "1.5"}, datetime.now(UTC))
    1.5
    >>> retry_after({"retry-after": "some day"}, datetime.now(UTC)) is None
    True
    """
    for name, size in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if text[:1].isdigit() and text.isascii() and text.replace(".", "", 1).isdigit():
            return float(text[:12]) / size
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
