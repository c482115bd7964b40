"""Instants that other programs state, read strictly: the digits of a calendar are no seconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

BAD_INSTANT = "bad_instant"
"""The type of the validation error, and the reason of the dead letter."""
_CALENDAR = {8: "%Y%m%d", 14: "%Y%m%d%H%M%S"}
"""By the number of digits."""
_EPOCH = {10: 1, 13: 1000}
"""Units in a second since 1970, by the number of digits before a decimal point."""
_NUMBER = re.compile(r"(\d{1,20})(?:\.\d{1,9})?", re.ASCII)
_ISO = re.compile(r"[0-9:.,+TWZ -]{1,40}")
_AHEAD = timedelta(days=1)
"""How far a clock that stamped an instant may be ahead of the one that stamped the record."""


def read_instant(value: Any) -> datetime:
    """An instant in ISO 8601, in 8 or 14 digits of a calendar, or in 10 or 13 digits since 1970; without a zone in UTC.

    >>> read_instant("20240503100000").isoformat(), read_instant(1714730400).isoformat()
    ('2024-05-03T10:00:00+00:00', '2024-05-03T10:00:00+00:00')
    """
    text = str(value).strip()
    try:
        if isinstance(value, datetime):
            found = value
        elif (number := _NUMBER.fullmatch(text)) is None:
            found = datetime.fromisoformat(text.upper() if _ISO.fullmatch(text.upper()) else "")
        elif len(number[1]) in _EPOCH:
            found = datetime.fromtimestamp(float(text) / _EPOCH[len(number[1])], UTC)
        else:
            found = datetime.strptime(text, _CALENDAR[len(text)])  # noqa: DTZ007 - the zone is added below
    except (ValueError, KeyError):
        message = "is no instant in ISO 8601, 8 or 14 digits of a calendar, or 10 or 13 digits since 1970"
        raise PydanticCustomError(BAD_INSTANT, message) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def why_too_late(instant: datetime | None, now: datetime | None) -> str:
    """Why an instant cannot have been stated in a record of that time; "" if it can, or if one of them is missing."""
    if instant is None or now is None or instant - now <= _AHEAD:
        return ""
    return f"{instant.isoformat()} is more than a day after {now.isoformat(timespec='seconds')}"


Instant = Annotated[datetime, BeforeValidator(read_instant)]
"""An instant of an input event, in the zone that it states."""
