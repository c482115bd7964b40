"""Recognizes endless generated pages of a host: calendars, filters, session ids, paths that never end.

- A path that repeats itself, or has too many segments, is refused as it is.
- Addresses of one place of a host, such as ``/calendar``, are refused for a while if nearly all of its last pages had
  no text that an earlier page of the place did not have.

A page with any new line counts as new, so pages of a shop, a forum or an archive pass, however many there are. Small
numbers and the words of an address's query are no text: calendars count, and filters repeat what was asked for. Numbers
of a table and values of JSON-LD are text if they say more than dates, addresses and days that follow each other. The
state is in memory and bounded; after a restart it is learnt again.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import unquote_to_bytes

from streams.fetch.settings import FetchSettings
from streams.fetch.targets import Target
from streams.runtime.clock import Clock

_REPEATS = 4
"""How often a part of a path may follow itself, less one; addresses in pages of a wrong base grow so."""
_LONGEST_PART = 3
"""Segments of such a part."""
_SHARE = 0.9
"""Of the last pages of a place, without new text. The rest may have a line that changes, such as a clock."""
_PLACES = 8
"""Places of a host that are remembered."""
_PREFIX = 2
_LONGEST_WORD = 24
"""Characters of a segment that names a place; longer ones are titles and ids."""
_LEAST_CHARACTERS = 100
"""A page with less text, such as one that scripts make, says nothing about its place."""
_MOST_BYTES = 1024 * 1024
_MOST_TEXT = 256 * 1024
_MOST_LINES = 1000
"""Larger pages are not compared, and count as new."""
_MOST_WORDS = 50
_BITS = 14
_LEAST_NUMBERS = 3
"""Of a table; a table with fewer may be the layout of a page with a clock and a counter."""
_HIDDEN = re.compile(rb"<(script|style|svg)\b")
_TAG = re.compile(rb"<[^<>]*>")
_NUMBER = re.compile(rb"(?<![0-9a-z])[0-9]{1,4}(?![0-9a-z])")
_LETTERS = re.compile(rb"[a-z\x80-\xff]{2}")
_WORD = re.compile(rb"[0-9a-z\x80-\xff]+")
_DIGIT = re.compile(rb"[0-9]")
_CELLS = ((re.compile(rb"\s+"), b" "), (re.compile(rb"<(?=/?table\b)"), b"\f<"), (re.compile(rb"<(?=tr\b)"), b"\n<"),
          (re.compile(rb"<(?=t[dh]\b)"), b"\t<"), (_TAG, b""))  # fmt: skip
"""What makes a text of a page in which tables, rows and cells begin with a control character."""
_UNIT = re.compile(
    rb"&[a-z]{1,8};|&#[0-9]{1,5};|\xe2(?:\x82\xac|\x80[\x90-\x95\xaf]|\x88\x92)|\xc2[\xa0\xa3\xa5\xb0]|[ap]m\b"
)
"""Signs and units of numbers that are no letters here: spaces, dashes, currencies, degrees, am and pm."""
_DATE = re.compile(
    rb"(?<![0-9.,:])(?:[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{4}|[0-9]{2})"
    rb"|(?:19|20|21)[0-9]{2}(?:([./-])[0-9]{1,2}\2[0-9]{1,2}|[/-][0-9]{1,2})?)(?![0-9]|[.,:][0-9])"
)
_AMOUNT = re.compile(rb"[0-9][0-9.,:]*")
_WEEK = 7
_SMALL = re.compile(rb"[0-9]{1,2}")
_ADDRESS_OR_DATE = re.compile(r"[a-z]{2,8}:/|/|\?|#|www\.|[0-9]{4}-[0-9]{2}")


class Traps:
    """What is known of each host's places, by the pages that came from them."""

    def __init__(self, settings: FetchSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._hosts: OrderedDict[str, OrderedDict[str, _Place]] = OrderedDict()

    def why_refused(self, target: Target) -> str | None:
        """Why an address leads into a trap; None if it may be fetched."""
        settings = self._settings
        if not settings.trap_pages:
            return None
        segments = _segments(target)
        if len(segments) > settings.trap_path_segments:
            return f"the path has {len(segments)} segments"
        if repeated := _repeated(segments):
            return f"the path repeats {repeated!r}"
        name = place_of(target)
        host = self._hosts.get(target.host)
        place = host.get(name) if host else None
        if place is None or self._clock.monotonic() >= place.rests_until:
            return None
        return f"the last {settings.trap_pages} pages at {name} had no new text"

    def learn(self, target: Target, canonical: str, lines: Collection[int] | None) -> None:
        """Adds a page to its place; ``lines`` as by ``lines_of``. A canonical address counts once."""
        settings = self._settings
        if not settings.trap_pages or (lines is not None and not lines):
            return
        place = self._place(target)
        if not place.addresses.add(zlib.crc32(canonical.encode())):
            return
        is_new = lines is None
        for line in lines or ():
            is_new |= place.lines.add(line)
        if is_new and place.rests_until:
            place.rests_until = 0.0
            place.stale.clear()
        place.stale.append(not is_new)
        if len(place.stale) == settings.trap_pages and sum(place.stale) >= _SHARE * settings.trap_pages:
            place.rests_until = self._clock.monotonic() + settings.trap_rest_seconds

    def _place(self, target: Target) -> _Place:
        host = self._hosts.setdefault(target.host, OrderedDict())
        self._hosts.move_to_end(target.host)
        name = place_of(target)
        place = host.setdefault(name, _Place(self._settings.trap_pages))
        host.move_to_end(name)
        if len(host) > _PLACES:
            host.popitem(last=False)
        if len(self._hosts) > self._settings.trap_hosts:
            self._hosts.popitem(last=False)
        return place


class _Place:
    """The addresses and lines that were seen at a place, and whether each of its last pages was without new text."""

    __slots__ = ("addresses", "lines", "rests_until", "stale")

    def __init__(self, pages: int) -> None:
        self.addresses = _Seen()
        self.lines = _Seen()
        self.stale: deque[bool] = deque(maxlen=pages)
        self.rests_until = 0.0


class _Seen:
    """Numbers that were added, in two Bloom filters of 2 KB: the older one is forgotten when the newer one is full.

    A number that was not added is taken for one that was in up to 3 of 100 cases.
    """

    __slots__ = ("_count", "_newer", "_older")

    def __init__(self) -> None:
        self._newer = bytearray(1 << _BITS - 3)
        self._older = b""
        self._count = 0

    def add(self, number: int) -> bool:
        """Adds a number of 32 bits; whether it is new."""
        places = number & (1 << _BITS) - 1, number >> 32 - _BITS
        if all(self._newer[at >> 3] >> (at & 7) & 1 for at in places):
            return False
        is_old = bool(self._older) and all(self._older[at >> 3] >> (at & 7) & 1 for at in places)
        if self._count == _MOST_LINES:
            self._older, self._newer, self._count = bytes(self._newer), bytearray(1 << _BITS - 3), 0
        for at in places:
            self._newer[at >> 3] |= 1 << (at & 7)
        self._count += 1
        return not is_old


def place_of(target: Target) -> str:
    """The place of an address: the leading segments of its path that are words, and whether it has a query.

    >>> place_of(Target("https", "example.com", 443, "/en/calendar/2031/03"))
    '/en/calendar/*'
    >>> place_of(Target("https", "example.com", 443, "/shop/list?color=red"))
    '/shop/list?*'
    """
    segments = _segments(target)
    query = "?" in target.path
    words = []
    for segment in segments[: None if query else -1][:_PREFIX]:
        if len(segment) > _LONGEST_WORD or any(map(str.isdigit, segment)):
            break
        words.append(segment)
    return "/".join(["", *words, ""]).rstrip("/" if query else "") + ("?*" if query else "*")


def lines_of(body: bytes, target: Target) -> Collection[int] | None:
    """Numbers of 32 bits for the lines of a page's text; none if it has little text, None if it is too large.

    Takes linear time, without a parse: the page is untrusted, and this runs in the process of the fetch worker.
    """
    if len(body) > _MOST_BYTES:
        return None
    body = body.lower()
    parts, data, at = [], [], 0
    while opened := _HIDDEN.search(body, at):
        parts.append(body[at : opened.start()])
        at = body.find(b"</" + opened[1], opened.end())
        if at < 0:
            break
        attributes, _, content = body[opened.end() : at].partition(b">")
        if b"ld+json" in attributes:
            data.append(content)
    else:
        parts.append(body[at:])
    shown = b"".join(parts)
    text = _TAG.sub(b"\n", shown)
    if len(text) > _MOST_TEXT:
        return None
    forget = _forgetting(_words_of(target))
    lines = set(_text_lines(text, forget))
    if sum(map(len, lines)) < _LEAST_CHARACTERS:
        return ()
    lines.update(_rows(shown, forget))
    for each in data:
        lines.update(_values(each, forget))
    return None if len(lines) > _MOST_LINES else [zlib.crc32(line) for line in lines]


def _forgetting(words: list[bytes]) -> Callable[[bytes], bytes]:
    if not words:
        return bytes
    asked = re.compile(rb"(?<![0-9a-z])(?:" + b"|".join(map(re.escape, words)) + rb")(?![0-9a-z])")
    return partial(asked.sub, b"")


def _text_lines(text: bytes, forget: Callable[[bytes], bytes]) -> Iterator[bytes]:
    for line in forget(_NUMBER.sub(b"", text)).split(b"\n"):
        if _LETTERS.search(line):
            yield b" ".join(line.split())


def _rows(shown: bytes, forget: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """The numbers of each row of the tables that have enough of them."""
    if b"<tr" not in shown:
        return
    for pattern, by in _CELLS:
        shown = pattern.sub(by, shown)
    for table in _DATE.sub(b"", _UNIT.sub(b"", shown)).split(b"\f"):
        rows = [numbers for row in table.split(b"\n")[1:] if (numbers := _numbers(row.split(b"\t")[1:]))]
        if sum(map(len, rows)) >= _LEAST_NUMBERS:
            # Not before: a calendar without the day of its address does not follow.
            yield from (forget(b"\t".join(numbers)) for numbers in rows)


def _numbers(cells: list[bytes]) -> list[bytes]:
    """The numbers of a row, without its own number or week; none for the days of a calendar."""
    numbers = [number for cell in cells if not _LETTERS.search(cell) for number in _AMOUNT.findall(cell)]
    if numbers and _SMALL.fullmatch(numbers[0]):
        del numbers[0]
    days = [int(number) for number in numbers if _SMALL.fullmatch(number)]
    follow = all(after - day in (1, _WEEK) or after <= _WEEK for day, after in pairwise(days))
    return [] if follow and len(days) == len(numbers) else numbers


def _values(content: bytes, forget: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """The texts and numbers of a JSON-LD, each with its name; no addresses, dates, and places in an order."""
    try:
        left: list[tuple[str, Any]] = [("", json.loads(content))]
    except (ValueError, RecursionError):
        return
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left.extend(value.items())
        elif isinstance(value, list):
            left.extend((name, each) for each in value)
        elif value is not None and name != "position" and not _ADDRESS_OR_DATE.match(str(value)):
            text = str(value).encode(errors="replace")
            if _LETTERS.search(text):
                yield from _text_lines(name.encode(errors="replace") + b" " + text, forget)
            else:
                yield forget(name.encode(errors="replace") + b" " + text)


def _words_of(target: Target) -> list[bytes]:
    """What a page may repeat of its address: the words of the query, and those with a digit in the path."""
    path, _, query = target.path.lower().partition("?")
    words = _WORD.findall(unquote_to_bytes(query.replace("+", " ")))
    words += [word for word in _WORD.findall(unquote_to_bytes(path)) if _DIGIT.search(word)]
    # The longest first: a pattern takes the first alternative that matches.
    return sorted(set(words[:_MOST_WORDS]), key=len, reverse=True)


def _segments(target: Target) -> list[str]:
    return [segment for segment in target.path.partition("?")[0].lower().split("/") if segment]


def _repeated(segments: list[str]) -> str:
    """The part of a path that follows itself too often; "" without one. Numbers alone do not count."""
    for length in range(1, _LONGEST_PART + 1):
        run = 0
        for index in range(length, len(segments)):
            run = run + 1 if segments[index] == segments[index - length] else 0
            if run >= (_REPEATS - 1) * length:
                part = segments[index - length + 1 : index + 1]
                if not all(map(str.isdigit, part)):
                    return "/".join(part)
    return ""
