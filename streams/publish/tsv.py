r"""Reads and writes pages as tab-separated lines, for other crawlers and uploads.

The columns are ``url, title, content, date, quality_metadata``; older files have the first four. In every column a tab
is ``\t``, a line feed ``\n``, a carriage return ``\r`` and a backslash ``\\``, so a line is always one page.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json

from handlers.text.dates import iso_text, may_be_date
from schemas.pages import CrawledPage, ScoredPage
from streams.publish.entries import EntryError
from streams.topology.codec import without_half_pairs

COLUMNS = ("url", "title", "content", "date", "quality_metadata")
LEGACY_COLUMNS = COLUMNS[:4]  # the columns of older files, whose pages have no score

_HEADERS = frozenset("\t".join(names) for names in (COLUMNS, LEGACY_COLUMNS))
_PLAIN = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = {escaped: plain for plain, escaped in _PLAIN.items()}
_TO_ESCAPE = re.compile(r"[\\\t\n\r]")
_ESCAPE = re.compile(r"\\.?", re.DOTALL)
_SEEN_IN_TEXT = ("has_doi", "citation_count", "has_references_section", "has_statistics")
_OWN = "assay"  # the key of the metadata for the fields without a column; other readers ignore it
_BESIDE = ("final_url", "site_name", "author", "summary", "fetched_at")
_UNSCORED = {"label_source": "fallback"}  # the mark of a page without quality metadata, which has no score


def row_of(page: ScoredPage) -> bytes:
    """The line of a page, with its end. Its metadata has everything else that the score depends on."""
    metadata: dict[str, Any] = {}
    beside: dict[str, Any] = {
        "final_url": page.final_url,
        "site_name": page.publisher,
        "author": list(page.authors),
        "summary": page.summary,
        "fetched_at": page.fetched_at.isoformat() if page.fetched_at else None,
    }
    if page.label_source == "fallback":
        beside |= _UNSCORED
    else:
        metadata |= page.quality_metadata.model_dump(exclude_none=True)
        metadata |= page.trust_features.model_dump(include=set(_SEEN_IN_TEXT))
    metadata[_OWN] = {name: value for name, value in beside.items() if value}
    columns = (
        page.url,
        page.title,
        page.content,
        iso_text(page.date) if page.date else "",
        json.dumps(metadata, ensure_ascii=False),
    )
    return "\t".join(map(escape, columns)).encode("utf-8", "replace") + b"\n"


def escape(text: str) -> str:
    r"""A text as a column has it.

    >>> escape("a\tb")
    'a\\tb'
    """
    return _TO_ESCAPE.sub(lambda found: _PLAIN[found[0]], text)


def read_row(line: bytes) -> CrawledPage | None:
    """The page of a line, with or without its end; None for column names.

    Raises EntryError, ValidationError: the line has no page.
    """
    text = _decoded(line)
    if text in _HEADERS:
        return None
    columns = text.split("\t")
    if len(columns) not in (len(LEGACY_COLUMNS), len(COLUMNS)):
        raise EntryError(
            f"{len(columns)} columns, {len(COLUMNS)} (or without {COLUMNS[-1]} {len(LEGACY_COLUMNS)}) expected"
        )
    url, title, content, date = (_unescape(column, name) for column, name in zip(columns, LEGACY_COLUMNS, strict=False))
    if not url.strip():
        raise EntryError("the url is empty")
    if date.strip() and not may_be_date(date):
        raise EntryError(f"{date[:40]!r} is not a date; give ISO 8601, such as 2026-11-21 or 2026-11-21T08:30:00Z")
    metadata = _metadata(columns[4]) if len(columns) == len(COLUMNS) and columns[4].strip() else {_OWN: _UNSCORED}
    beside = metadata[_OWN] if isinstance(metadata.get(_OWN), dict) else {}
    fields: dict[str, Any] = {name: beside[name] for name in _BESIDE if name in beside}
    if beside.get("label_source") != _UNSCORED["label_source"]:
        fields["quality_metadata"] = metadata
    return CrawledPage(url=url, title=title, content=content, date=date.strip() or None, **fields)


def _unescape(column: str, name: str) -> str:
    if "\\" not in column:
        return column

    def plain(found: re.Match[str]) -> str:
        if (character := _ESCAPED.get(found[0])) is None:
            raise EntryError(
                f"{name}: the backslash at character {found.start() + 1} begins no escape; "
                r"there are \t, \n, \r and \\, and a backslash itself is written \\"
            )
        return character

    return _ESCAPE.sub(plain, column)


def _decoded(line: bytes) -> str:
    # One line break at most: a text's own are escaped.
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if (at := line.find(b"\0")) >= 0:
        raise EntryError(f"a NUL character at byte {at + 1}")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        if (whole := without_half_pairs(line)) != line:
            return _decoded(whole)
        raise EntryError(f"not UTF-8: byte {line[error.start]:#04x} at byte {error.start + 1}") from None


def _metadata(column: str) -> dict[str, Any]:
    """The metadata's object. Some writers do not escape it, because JSON has no raw tabs and line feeds."""
    try:
        metadata = _json(_unescape(column, COLUMNS[-1]))
    except ValueError as error:
        try:
            metadata = _json(column)
        except ValueError:
            raise EntryError(
                str(error) if isinstance(error, EntryError) else f"{COLUMNS[-1]} is not JSON: {error}"
            ) from None
    if not isinstance(metadata, dict):
        raise EntryError(f"{COLUMNS[-1]} is {_KINDS.get(type(metadata), 'a number')}, not a JSON object")
    return metadata


def _json(text: str) -> Any:
    return from_json(without_half_pairs(text.encode()), allow_inf_nan=False)


_KINDS: dict[type, str] = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
