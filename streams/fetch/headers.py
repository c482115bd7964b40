"""What response headers say: where to go, how long to wait, which version it is. Total: strangers wrote them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

from streams.fetch.cache import Version

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,256}"')
_HTTP_DATE = re.compile(r"[A-Za-z]{3}, [0-9]{2} [A-Za-z]{3} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT")


def location(url: str, status: int, headers: Mapping[str, str]) -> str | None:
    """Where a redirect leads; None where the response is none. What it says is checked like any other address."""
    said = headers.get("location", "")
    if status not in _REDIRECTS or not said:
        return None
    try:
        return urljoin(url, said)
    except ValueError:
        return said


def retry_after(text: str, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date (RFC 9110); None where it states nothing.

    >>> from datetime import UTC
    >>> retry_after("120", datetime.now(UTC))
    120.0
    >>> retry_after("soon", datetime.now(UTC)) is None
    True
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def version_in(headers: Mapping[str, str]) -> Version:
    """The version that a response names. What is no plain header value is not believed: it would be sent back."""
    etag, last_modified = headers.get("etag", ""), headers.get("last-modified", "")
    return Version(
        etag if _ENTITY_TAG.fullmatch(etag) else "", last_modified if _HTTP_DATE.fullmatch(last_modified) else ""
    )


def media_type(content_type: str) -> str:
    """The media type of a Content-Type header, lower-case and without parameters."""
    return content_type.partition(";")[0].strip().lower()
