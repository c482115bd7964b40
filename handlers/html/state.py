"""The state of a page: content, or why it has none, with the evidence.

Evidence counts in this order: the status, the addresses of redirects, machinery in the HTML, words, visible characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import filterfalse
from urllib.parse import unquote

from pydantic import Field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.links import absolute_url, canonical_url, host_of
from handlers.html.nodes import DEEPEST, ancestors
from handlers.html.notices import NoticesSection
from handlers.html.styles import hiding_of
from handlers.text.evidence import find_evidence
from handlers.text.patterns import DetailPatterns
from handlers.text.patterns import WordList as Words
from handlers.text.scripts import has_cjk
from handlers.text.sentences import count_words, sentences
from handlers.text.tokens import fold
from schemas.addresses import web_address
from schemas.rules import Section
from schemas.states import REMOVING, State

_BETWEEN_PARTS = re.compile(r"[|–—·»«]|\s-\s|\s~\s")
_SHOWN = 100
_REFRESH = re.compile(r" ?(\d{0,9})[\d.]{0,20} ?[;, ] ?(?:url ?= ?)?[\"']?([^\"']+)", re.IGNORECASE)
_MAX_REFRESH_CHARACTERS, _MAX_TAGS = 4_000, 50
_ROOT = re.compile(
    r"/*(?:[a-z]{2}(?:[-_][a-z]{2})?/*)?(?:(?:index|default|home|start)(?:\.[a-z]{2,5})?/*)?", re.IGNORECASE
)
_OF_STATUS = {
    204: State.EMPTY,
    205: State.EMPTY,
    401: State.LOGIN,
    402: State.PAYWALL,
    404: State.GONE,
    410: State.GONE,
}
_OF_STATUS |= dict.fromkeys((403, 407, 429, 451, 999), State.BLOCKED)
_WALLS = frozenset((State.BLOCKED, State.LOGIN, State.PAYWALL, State.CONSENT))
_OPEN_STATUS = frozenset((401, 403, 429, 503))
"""With these, the page itself may say more exactly what keeps visitors out."""
_TEST = re.compile(
    rb"_cf_chl_|/\.within\.website/|captcha-delivery|_incapsula_resource|px-captcha|gokuprops|awswaf"
    rb"|(?:captcha|challenge|verif\w{1,8}|interstitial)[-_/.](?:page|container|running|stage|error|form|box|wrapper|script)"
    rb"|(?:page|js|bot|browser|proof-of-work|pow)[-_](?:captcha|challenge|check)",
)
"""Scripts and elements of a page that only tests its visitor."""
_LOGIN_FIELD = 'input[type="password" i]'
_CONSENT = re.compile(rb"(?:id|class|action|name)\s?=\s?[\"'][^\"'<>]{0,60}(?:consent|gdpr|cookie)")
_PRICED = re.compile(rb"isaccessibleforfree[\"']?\s{0,3}:\s{0,3}[\"']?(?:https?://schema.org/)?false")
_SOLD = re.compile(rb"(?:id|class)\s?=\s?[\"'][^\"'<>]{0,60}(?:pay-?wall|reg-?wall|subscriber-only|premium-wall)")
_COOKIE = re.compile("cookie|クッキー|쿠키|кук[иа]|الارتباط|कुकी", re.IGNORECASE)
_CODE = re.compile(r"(?:[^\d\s]{1,12}[\s:#-]{1,3}){0,2}([45]\d\d)[.!]?")
"""A heading that is a status, such as "Error 404"."""
_NO_SCRIPT = re.compile(
    rb"<noscript[^>]{0,200}>([^<]{0,400}|\s{0,20}<[a-z0-9]{1,10}[^>]{0,100}>[^<]{0,400})", re.IGNORECASE
)
_MOUNT = re.compile(
    rb"<(?:(?:div|main|section)\s(?=[^>]{0,200}\bid=)|[a-z]{1,20}-)[^>]{0,200}>(?:\s|<!--[^>]{0,100}-->){0,20}</",
)
"""An empty element with a name, which scripts fill."""
_BODY = re.compile(rb"<body|</head|<script[^>]{0,300}\b(?:defer|async|module)\b")
_TAG = re.compile(rb"<[^>]{0,200}>")
_BLOCKING = re.compile("captcha|denied|robot|geoblock")
_FIRST_ERROR = 400
_NUMBERS, _SEVERAL_NUMBERS, _SEVERAL = re.compile(r"\d{1,9}"), 3, 1.2
"""The numbers of a row of a table; sum of probabilities of several lines that are as sure as one likely line."""
_UNREAD = 200
"""Characters of lines that are a text, although the decision on content left them out."""
_LITTLE = 150
"""Characters beside a field for a password."""
_SURE, _SUBJECT_WORDS = 0.75, 4
_SHARE, _MOST = 0.4, 0.6
_CLOSING, _ENDS = "\"'”’»」』)）】", (".", "!", "?", "…", "。", "！", "？", "؟", "।")
_QUOTED = re.compile('["«»“”„「」『』《》]')
_PATIENCE = 3
"""How many times as much prose a wall without a menu may have, which explains what visitors agree to."""
_MOST_LINKS = 5
"""Links of a page that has no menu."""


class PageRefusalsSection(Section):
    """The ``page_refusals`` section of the configuration."""

    short_characters: int = Field(ge=0, description="Text above which no line decides.")
    teaser_characters: int = Field(ge=0, description="Text of a page that is not free, up to which it is no content.")
    page_characters: int = Field(ge=0, description="Text above which a page is content, whatever its title is.")
    least_characters: int = Field(ge=0, description="Text below which a page holds nothing.")
    sentence_words: int = Field(ge=1, description="Words from which on a sentence counts as prose.")
    prose_words: int = Field(ge=1, description="Words of sentences that are content beside a first line that refuses.")
    other_words: int = Field(ge=1, description="Words of sentences that are content beside a title that refuses.")
    refresh_seconds: int = Field(ge=0, description="A short page that redirects within so many seconds is no content.")
    likely: float = Field(gt=0, lt=1, description="Probability from which on a line says that there is no content.")
    possible: float = Field(gt=0, lt=1, description="Probability from which on several lines together say it.")
    walls: Words = Field(description="Labels of hosts and path segments that name a wall.")
    notices: NoticesSection = Field(default=NoticesSection(), description="What lines say of their page.")


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of a page, and the evidence of a page without content."""

    kind: State = State.CONTENT
    because: str = ""

    @property
    def is_content(self) -> bool:
        """Whether the page has content."""
        return self.kind is State.CONTENT

    def __str__(self) -> str:
        """The state in words."""
        return "content" if self.is_content else f"no content, {self.kind}: {self.because}"


CONTENT = PageState()


@dataclass(frozen=True, slots=True)
class Machinery:
    """What the HTML of a short page has beside its text.

    Attributes:
        test: The script or element of a test of visitors; "" without one.
        guards: Whether there is a test that a form may have too.
        asks_password: Whether there is a field for a password.
        asks_consent: Whether an element asks for consent to cookies.
        sells: Whether the markup says that the text is not free, or an element is named for a wall.
        states_price: Whether structured data says that the text is not free.
        makes_text: Whether scripts fill an empty element, or the whole body.
        without_scripts: What visitors without scripts read.
        links: Number of links.
        onward: The address to which the page redirects within seconds; "" if it does not.
    """

    test: str = ""
    guards: bool = False
    asks_password: bool = False
    asks_consent: bool = False
    sells: bool = False
    states_price: bool = False
    makes_text: bool = False
    without_scripts: str = ""
    links: int = _MOST_LINKS + 1
    onward: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page or a result shows of itself.

    Attributes:
        titles: Titles and headings.
        text: The main text, or a snippet.
        is_whole: Whether the text is all that the page shows, so that a missing text is evidence.
        unread: Characters of other lines, if there is no text.
        states_origin: Whether the page states a type, a date or an author.
    """

    titles: Sequence[str]
    text: str
    is_whole: bool = True
    unread: int = 0
    states_origin: bool = False


class StateReader:
    """Reads the state of pages under one configuration."""

    def __init__(self, section: PageRefusalsSection, details: DetailPatterns) -> None:
        """Compiles the section; ``details`` find the dates, times, places and prices that make a page content."""
        self.section = section
        self._details = details
        self._notices = section.notices.compiled

    def page_state(
        self,
        shown: Shown,
        url: str = "",
        final_url: str | None = None,
        status: int | None = None,
        machinery: Machinery | None = None,
    ) -> PageState:
        """The state of a page (R-273).

        Args:
            shown: What the page shows.
            url: The address that was asked for. A page at /dictionary/forbidden is about the word, so its title is no
                refusal, unless there is nothing else on the page.
            final_url: The address after redirects.
            status: The HTTP status.
            machinery: What its HTML has; None for a long page, and without HTML.
        """
        if status is not None and (status in _OF_STATUS or status >= _FIRST_ERROR):
            kind = _OF_STATUS.get(status, State.ERROR)
            if status in _OPEN_STATUS and (told := self._said(shown, url, machinery)).kind in _WALLS:
                kind = told.kind
            return PageState(kind, f"status {status}")
        kind_at = kind_elsewhere(url, final_url, self.section.walls) if final_url else None
        # A page with text may have "login" in its address.
        if final_url and kind_at and not (kind_at in _WALLS and self._own_words(shown.text) > self.section.other_words):
            return PageState(kind_at, f"redirects to {final_url[:_SHOWN]}")
        return self._said(shown, url, machinery)

    def _said(self, shown: Shown, url: str, machinery: Machinery | None) -> PageState:
        """The state by what a page shows."""
        has, section, text = machinery or Machinery(), self.section, shown.text
        is_bare = machinery is not None and has.links <= _MOST_LINKS
        if is_bare and has.test and not (shown.states_origin or has.asks_password):
            return PageState(State.BLOCKED, f"the page has {has.test!r} and few links")
        is_priced = has.states_price or (has.sells and self._own_words(text) <= section.prose_words)
        if is_priced and len(text) <= section.teaser_characters:
            return PageState(State.PAYWALL, "the markup says that the text is not free")
        told = self.told(shown, url, is_bare=is_bare and not shown.states_origin if machinery else None)
        if told is not None:
            return told
        if machinery is not None and (built := self._built(shown, url, has, is_bare=is_bare)):
            return built
        if is_bare and has.asks_consent and not shown.states_origin and _COOKIE.search(text):
            lines = [*sentences(text, is_folded=True)]
            if self._prose_in(lines) < _PATIENCE * section.prose_words:
                return PageState(State.CONSENT, "an element asks for consent, and no other text")
        if has.onward and len(text) <= section.short_characters:
            kind = kind_elsewhere(url, has.onward, section.walls) or State.EMPTY
            return PageState(kind, f"redirects to {has.onward[:_SHOWN]}")
        if not shown.is_whole or shown.unread >= _UNREAD or self._own_characters(text) >= section.least_characters:
            return CONTENT
        if has.makes_text or self.told(Shown((), has.without_scripts), "") is not None:
            return PageState(State.NEEDS_RENDER, "scripts make the text of the page")
        return PageState(State.EMPTY, f"{len(text.strip())} characters of text")

    def _built(self, shown: Shown, url: str, has: Machinery, *, is_bare: bool) -> PageState | None:
        """The state of a page without much text of its own, by its machinery and its address."""
        section, kind_at, code = self.section, _wall_of(_names(url), self.section.walls), _code_in(shown, url)
        has_test = is_bare and has.guards
        if not (has.asks_password or kind_at or has_test or code):
            return None
        own, read = self._own_words(shown.text), map(self._notices.read, filter(None, shown.titles))
        is_named = any(kind is State.LOGIN and sure >= section.possible for kind, sure in read)
        if has.asks_password and (own <= section.prose_words if is_named else not own and len(shown.text) < _LITTLE):
            return PageState(State.LOGIN, "a field for a password, and no text beside it")
        if own <= section.prose_words and kind_at:
            return PageState(kind_at, "the address names a wall, and there is no text")
        if own <= section.other_words and has_test:
            return PageState(State.BLOCKED, "a test of the visitor, and no text beside it")
        if own <= section.other_words and code:
            return PageState(_OF_STATUS.get(code, State.ERROR), f"the page calls itself {code}")
        return None

    def _own_characters(self, text: str) -> int:
        """The characters of a text without its notices, such as a request for consent."""
        left = self._left_of(text, self.section.likely)
        return len(text) if left is None else sum(len(line) * (1 + has_cjk(line)) for line in left)

    def _own_words(self, text: str) -> float:
        """The words of sentences that are no notices; infinitely many in a long text, and in one with a detail."""
        left = self._left_of(text, self.section.possible)
        if left is None or find_evidence("\n".join(left), self._details, 1):
            return math.inf
        return self._prose_in(left)

    def _left_of(self, text: str, least: float) -> list[str] | None:
        """The lines of a text that are no notices with that probability; None for a long text."""
        if len(text) > self.section.short_characters:
            return None
        return [line for line in sentences(text, is_folded=True) if self._notices.read(line)[1] < least]

    def _prose_in(self, lines: Sequence[str]) -> float:
        """The words of the sentences among the lines."""
        counts = (_words_in(line) for line in lines if line.rstrip(_CLOSING).endswith(_ENDS))
        return sum((count for count in counts if count >= self.section.sentence_words), 0.0)

    def told(self, shown: Shown, url: str, *, is_bare: bool | None = None) -> PageState | None:
        """The state by words; None if they say nothing, or other sentences say more.

        ``is_bare``: the page has no menu and states no origin; None if that is not known.
        """
        section, text = self.section, shown.text
        if len(text) > section.page_characters:
            return None
        folder, _, last = unquote(url.partition("?")[0]).rstrip("/").rpartition("/")
        subject = set(fold(last).split()) if folder.count("/") > 2 else set()
        parts = [
            part.strip() for title in shown.titles for part in _BETWEEN_PARTS.split(title[: section.short_characters])
        ]
        numbers = set(filter(str.isdigit, subject))
        heads = {part: ws <= subject or bool(ws & numbers) for part in parts if (ws := set(fold(part).split()))}
        words = set(fold(shown.titles[0]).split()) if shown.titles else set()
        if len(subject) >= _SUBJECT_WORDS and (subject <= words or words <= subject):
            return None  # the address of a wall names the page behind it
        is_read = len(text) <= section.short_characters or bool(is_bare)
        lines = [line for line in sentences(text, is_folded=True) if line not in heads]
        # What a page quotes, it is about.
        read = filterfalse(_QUOTED.search, (*heads, *(lines if is_read else ())))
        told = {line: found for line in read if (found := self._notices.read(line))[1] >= section.possible}
        left = [line for line in lines if line not in told]
        other = self._prose_in(left)
        if other:  # a page at /dictionary/forbidden is about the word
            told = {line: found for line, found in told.items() if not heads.get(line)}
        sums: dict[State, float] = {}
        for of_line, sure in told.values():
            sums[of_line] = sums.get(of_line, 0.0) + sure
        if sum(sums.values()) < section.likely:
            return None
        kind = max(sums, key=lambda kind: sums[kind])
        in_head = max((told[line][1] for line in heads if line in told), default=0.0)
        in_text = max((told[line][1] for line in lines if line in told), default=0.0)
        best, share = max(in_head, in_text), sum(len(line) for line in lines if line in told) / max(1, len(text))
        is_teaser = kind is State.PAYWALL and in_text >= section.likely and len(text) <= section.teaser_characters
        begins, most = bool(lines) and lines[0] in told, float(section.prose_words)
        # Several weak signs count only if they are most of the text, and so does a line amid others.
        is_amid = bool(lines) and share < _SHARE and (best < section.likely or not (begins or in_head or is_teaser))
        is_table = any(len(_NUMBERS.findall(line)) >= _SEVERAL_NUMBERS for line in left)
        is_beside = kind is State.CONSENT and (is_table or (is_bare is False and (share < _MOST or other)))
        if is_amid or is_beside or (is_bare is None and best < _SURE) or not (is_read or self._is_titled(shown)):
            return None
        if is_bare is None and not in_text:
            most = 0.0  # the title of a snippet does not decide
        elif is_read and (is_bare is None or kind is State.CONSENT or not begins or best < section.likely):
            most = max(sum(map(_words_in, told)), section.other_words if in_head >= section.likely else 0.0)
        if not is_teaser and (other > most or (not begins and find_evidence("\n".join(left), self._details, 1))):
            return None
        if kind in REMOVING and best < section.likely and sums[kind] < _SEVERAL:
            kind = State.EMPTY  # not sure enough to remove the page from the index
        quoted = [line for line, (of_line, _) in told.items() if of_line is kind] or told
        return PageState(kind, repr("; ".join(quoted)[:_SHOWN]))

    def _is_titled(self, shown: Shown) -> bool:
        """Whether title and heading of a longer page without a date or an author both say that it has no content."""
        said = [self._notices.read(title)[1] >= self.section.likely for title in shown.titles if title]
        return bool(said) and all(said) and not (shown.states_origin or any(map(_QUOTED.search, shown.titles)))


def find_machinery(tree: LexborHTMLParser, utf8: bytes, url: str, text: str, section: PageRefusalsSection) -> Machinery:
    """What the HTML of a short page has, from its bytes and from its tree after the walk."""
    lower = utf8.lower()
    links = lower.count(b"<a ")
    is_bare, is_short = links <= _MOST_LINKS, len(text) <= section.short_characters
    test = _TEST.search(lower) if is_bare else None
    has_scripts = is_short and b"<script" in lower
    body = _BODY.search(lower) if has_scripts else None
    hint = _NO_SCRIPT.search(lower) if is_short and b"<noscript" in lower else None
    # A search for a word is many times as fast as one for a pattern.
    is_priced = b"isaccessible" in lower and _PRICED.search(lower) is not None
    is_teaser = len(text) <= section.teaser_characters and (b"wall" in lower or b"premium" in lower)
    return Machinery(
        test=test[0].decode("ascii", "replace") if test else "",
        guards=is_bare and (b"captcha" in lower or b"turnstile" in lower),
        asks_consent=is_bare and _CONSENT.search(lower) is not None,
        sells=is_priced or (is_teaser and _SOLD.search(lower) is not None),
        states_price=is_priced,
        links=links,
        asks_password=is_short and b"password" in lower and _asks_password(tree),
        makes_text=has_scripts
        and (b"<script" in lower[body.start() if body else 0 :] or _MOUNT.search(lower) is not None),
        without_scripts=" ".join(_TAG.sub(b" ", hint[1]).decode("utf-8", "replace").split()) if hint else "",
        onward=(is_short and b"refresh" in lower and refreshed_to(tree, url, section.refresh_seconds)) or "",
    )


def _asks_password(tree: LexborHTMLParser) -> bool:
    """Whether there is a field for a password outside of hidden forms, which scripts fill or show on demand.

    A field itself may be hidden in a form that first asks for a name.
    """
    fields = tree.css(_LOGIN_FIELD)
    return len(fields) > _MAX_TAGS or any(not any(map(_is_hidden, ancestors(field, DEEPEST))) for field in fields)


def _is_hidden(node: LexborNode) -> bool:
    return "hidden" in node.attributes or hiding_of(node.attributes.get("style") or "") is not None


def _code_in(shown: Shown, url: str) -> int:
    """The only status that headings and lines are as a whole; 0 without one, or if the address names it."""
    lines = (*shown.titles, *shown.text.split("\n", 9)[:9])
    parts = (part.strip() for line in lines if not _QUOTED.search(line) for part in _BETWEEN_PARTS.split(line[:_SHOWN]))
    codes = {found[1] for part in parts if (found := _CODE.fullmatch(part))}
    return int(*codes) if len(codes) == 1 and not any(code in url for code in codes) else 0


def kind_elsewhere(asked: str, final: str, walls: Sequence[str]) -> State | None:
    """Why the final page of redirects is not the page that was asked for; None if it may be.

    A login or a consent page is a wall. The front page of the same host instead of a deeper page means that the page is
    gone.
    """
    if canonical_url(asked) == canonical_url(final):
        return None
    if wall := _wall_of(_names(final) - _names(asked), walls):
        return wall
    at, wanted = web_address(final), web_address(asked)
    if at.query or not _ROOT.fullmatch(at.path) or _ROOT.fullmatch(wanted.path):
        return None
    return State.GONE if _site(asked) == _site(final) else None


def _site(url: str) -> str:
    """The host without ``www`` or ``m``: a blog on a host of its own is no front page."""
    return host_of(url).removeprefix("www.").removeprefix("m.")


def _wall_of(names: Set[str], walls: Sequence[str]) -> State | None:
    """The wall that a name in an address states."""
    if not (named := names & set(walls)):
        return None
    name = min(named)
    is_consent = "consent" in name or "cookie" in name or "privacy" in name
    return State.CONSENT if is_consent else State.BLOCKED if _BLOCKING.search(name) else State.LOGIN


def refreshed_to(tree: LexborHTMLParser, url: str, longest_seconds: int) -> str | None:
    """The other address to which a page redirects within so many seconds; ``noscript`` does not count.

    >>> page = LexborHTMLParser('<meta http-equiv="Refresh" content="0; URL=/new">')
    >>> refreshed_to(page, "https://example.com/old", 10)
    'https://example.com/new'
    """
    for node in tree.css("meta[http-equiv]")[:_MAX_TAGS]:
        attributes = node.attributes
        if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
            continue
        if node.parent is not None and node.parent.tag == "noscript":
            continue
        stated = _REFRESH.match(" ".join((attributes.get("content") or "")[:_MAX_REFRESH_CHARACTERS].split()))
        onward = absolute_url(url, stated[2]) if stated and int(stated[1] or 0) <= longest_seconds else None
        if onward is not None and canonical_url(onward) != canonical_url(url):
            return onward
    return None


def _names(url: str) -> set[str]:
    """Labels of the host and segments of the path, the segments without their ending."""
    address = web_address(url)
    segments = address.path.lower().split("/")
    return {*address.host.split("."), *(segment.partition(".")[0] for segment in segments)} - {""}


def _words_in(text: str) -> float:
    """The words of a text; two ideographs count as one."""
    return count_words(text) / (2 if has_cjk(text) else 1)
