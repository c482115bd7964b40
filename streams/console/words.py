"""Values as the templates show them: times, figures, names, and texts of strangers."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from handlers.html.links import canonical_url
from streams.console.entries import Entry
from streams.runtime.amounts import figure, in_money, in_rate, in_time
from streams.runtime.terminal import unshown
from streams.views.words import SubjectKind

_KEPT = frozenset("\n\r\t")
_SCREENS: dict[str, str] = {
    SubjectKind.BATCH: "/batch",
    SubjectKind.REQUEST: "/relevance",
    SubjectKind.CLAIM: "/claim",
    SubjectKind.QUERY: "/query",
}


def visible(text: str, most: int | None = None) -> Markup:
    """Escapes untrusted text, and shows invisible and bidirectional characters by their code point.

    >>> visible("a<b>" + chr(0x202E))
    Markup('a&lt;b&gt;<span class="code-point" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>')
    >>> [str(visible(chr(sign))).count("U+") for sign in (0x1C, 0x85, 0x2028, 0x3164, 0xE0101, 0xA0, 0x3000)]
    [1, 1, 1, 1, 1, 0, 0]
    """
    cut = text if most is None or len(text) <= most else text[:most] + "…"
    if cut.isascii() and cut.isprintable():
        return escape(cut)
    parts = zip_longest(map(escape, unshown().split(cut)), map(_code_point, unshown().findall(cut)), fillvalue="")
    return Markup("").join(part for pair in parts for part in pair)


def _code_point(sign: str) -> Markup:
    if sign in _KEPT:
        return escape(sign)
    name = unicodedata.name(sign, "control character")
    return Markup('<span class="code-point" title="{}">U+{:04X}</span>').format(name, ord(sign))


class Span(NamedTuple):
    """A part of a text that is marked: its class, and what it is for the title."""

    start: int
    end: int
    kind: str
    title: str


def marked(text: str, spans: Sequence[Span], most: int = 4000) -> Markup:
    """A text of a stranger with marks in place; a span that overlaps the one before it is left out.

    >>> marked("on 3 May", [Span(3, 8, "date", "date: 05-03")])
    Markup('on <mark class="date" title="date: 05-03">3 May</mark>')
    """
    done, at = Markup(""), 0
    for span in sorted(spans):
        if at <= span.start and span.end <= most:
            mark = Markup('<mark class="{}" title="{}">{}</mark>')
            within = mark.format(span.kind, span.title, visible(text[span.start : span.end]))
            done += visible(text[at : span.start]) + within
            at = span.end
    return done + visible(text[at:], max(0, most - at))


def suspects(text: str, passages: Iterable[str]) -> list[Span]:
    """Marks for passages of a text that are written to a machine."""
    places = ((text.find(passage), len(passage)) for passage in passages if passage)
    return [Span(at, at + length, "suspected", "written to a machine") for at, length in places if at >= 0]


def when(at: int | datetime) -> Markup:
    """A moment, UTC, which the script shows in the reader's own zone as well."""
    utc = at.astimezone(UTC) if isinstance(at, datetime) else datetime.fromtimestamp(at / 1000, UTC)
    exact = utc.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    return Markup('<time datetime="{}">{}</time>').format(exact, f"{utc:%Y-%m-%d %H:%M:%S}")


def wording(name: str) -> str:
    """A name of the code as words.

    >>> wording("SPECIFIC_CONTENT"), wording("next_step"), wording("contextRecall")
    ('specific content', 'next step', 'context recall')
    """
    spaced = name if name.isupper() else "".join(f" {sign}" if sign.isupper() else sign for sign in name)
    return spaced.replace("_", " ").strip().lower()


def link_of(entry: Entry) -> str:
    """The address of the screen that shows a decision in its context; else of the decision itself."""
    if entry.position.topic.endswith(".dlq"):
        return f"/dead-letters/{entry.handler}/{entry.position.partition}/{entry.position.offset}"
    if entry.kind == SubjectKind.PAGE and entry.subject:
        return page_path(entry.subject)
    screen = _SCREENS.get(entry.kind)
    return path_of(entry.subject, screen) if screen and entry.subject else entry.path


def page_path(url: str) -> str:
    return "/page?" + urlencode({"url": url})


def path_of(identity: str, screen: str) -> str:
    """The address of an object on its screen.

    >>> path_of("a/b", "/batch")
    '/batch/a%2Fb'
    """
    return f"{screen}/{quote(identity, safe='')}"


def is_web(url: str) -> bool:
    """Whether an address may be a link: pages can have any text as their address."""
    return canonical_url(url) is not None


def pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


_SHOWN: tuple[Callable[..., Any], ...] = (
    visible, marked, suspects, when, in_time, figure, in_rate, in_money, wording, link_of, page_path, path_of, is_web,
    pretty,
)  # fmt: skip
FILTERS = {its.__name__: its for its in _SHOWN}
