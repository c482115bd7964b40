"""When a page was published: of all its dates the one that trees score highest, if it is likely enough.

Candidates are the dates of metadata, structured data, ``time`` elements, class names, short lines, the beginning of
the story and the address; dates of changes are candidates too. The trees (``tools.training.dates``) ask what each
candidate is, where it is, what is written beside it, and which others name the same day.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import chain
from math import copysign, log1p

import regex

from handlers.html.hints import EVENT, OTHERS
from handlers.html.layout import Layout, is_event, is_labelled
from handlers.html.names import NameWords
from handlers.html.nodes import MARK_CHARACTERS, short_text
from handlers.html.outline import Block, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData
from handlers.text.dates import Moment, MomentReader, Origin, calendar_day, day_of, instant_at, is_plausible
from handlers.text.scripts import HAN, KANA
from handlers.text.words import alternatives

_IN_URL = re.compile(
    r"/((?:19|20)\d{2})(?:([/-])(0?[1-9]|1[0-2]|[a-z]{3,9})\2(0?[1-9]|[12]\d|3[01])|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))"
    r"(?=[/_.+%-]|$)|-((?:19|20)\d{2})(-?)(0[1-9]|1[0-2])\8(0[1-9]|[12]\d|3[01])(?:\.[a-z]{1,5}|/)?$"
)
_QUERY = re.compile(r"[?#]")
_META = re.compile(r"dat[eu]|time|publi|modif|upda|creat|issued|revised|parsely|sailthru")
_CHANGED = re.compile(r"modif|upda|revis|chang")
_STATED = ("json-ld", "meta", "micro")
_PROPERTIES = {"itemprop:datepublished": "published", "itemprop:datecreated": ""}
_BESIDE = ("characters", "lower", "first", "last")
_NAMED = "date by class name"
_MAX_CONTENTS, _MAX_TIMES, _MAX_LINES, _MAX_LABELLED, _MAX_BEGINNINGS = 3, 10, 20, 6, 3
_MAX_CHARACTERS, _HEAD_CHARACTERS, _MAX_LABEL = 160, 80, 60
_NEAR_TEXTS, _HEAD_TEXTS, _REACH, _FAR = 20, 12, 6, 200
_APART, _TOUCHING_NAMED, _TOUCHING_LABELLED, _IN_CREDIT = 4, 8, 4, 3
_MOST_DAYS = 2
_LIKELY = -1.4
"""Log-odds from which a date is believed."""

# The first character is a class of its own: the engine then looks for it in one go.
_DATED = re.compile(
    r"[0-9٠-٩۰-۹०-९০-৯年년](?:(?<=[年년])|(?<=[129١۱২१])\d{3}(?!\d)|[./-]\d{1,2}[./-]\d\d|\s?[^\W\d_]{3,12}\.?\s\d\d)"
)
_CLOCK = re.compile(
    r"\d{1,2}\s?[:.h時时시点點]\s?\d{2}(?:\s?[:分]\s?\d{2})?(?:[.,]\d{1,9})?\s?[分秒분]?\s?(?:z|[+-]\d{2}:?\d{2})?(?!\d)"
    r"|(?<!\d)\d{1,2}\s?(?:[ap]\.?m\b\.?|uhr\b|時|시)|t(?=\d{2}:)",
    re.IGNORECASE,
)
_THEN_CLOCK = re.compile(r"\W{0,3}T?\d{1,2}[:：]\d\d")
_STAMP = re.compile(r"[0-9日](?<=\d[0-9日])\W{1,3}\d{1,2}[:：]\d\d|[日](?<=\d日)\d{1,2}[:：]\d\d")
_TO_YEAR = re.compile(r".{0,60}?\d{4}(?:年\d{1,2}月\d{1,2}日)?")
_RANGE = re.compile(r"\d\.?\s?[-–]\s?\d{1,2}\.?\s[^\W\d_]")
"""12-14 June 2024."""
_NO_DATE = re.compile(r"\A[\s(vV]*\d+(?:\.\d+)+[\s(]*\Z|©|\(c\)", re.IGNORECASE)
"""What is before another date than that of publication: a version, a sign of copyright."""
_SEPARATOR = re.compile(
    r"[|·•‧∙–—/／,，;；()（）\[\]【】<>«»\n\u3000]|\s-\s|\s{2,}"
    r"|\s(?=[^\W\d_a-z][^\W\d_]{1,20}(?:\s[^\W\dA-Z_]{1,15}){0,2}\s?[:：])"
)
"""Between the parts of a line; the last one is before a label: "Temps de lecture : 4 min"."""
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*", re.UNICODE)
_HAN_SIGNS = regex.compile(f"[{HAN}{KANA}]")
# A place in capitals or of few words, before a day in brackets or behind a comma.
_DATELINE_BEFORE = re.compile(r"(?:[^\W\d_a-z][^\s,()]{1,30}[ /]?){0,4}(?:(?<=\w)\s?,\s?)?[(（]?")
_DATELINE_AFTER = re.compile(r"[)）]?(?:\s?[.:–—-]\s(?!\d)|(?<=[)）])\s(?=[^\W\d_a-z]))")


@dataclass(frozen=True, slots=True)
class DatedPage:
    """A page before its date is looked for.

    Attributes:
        layout: The page, with its heading and its content.
        data: Its structured data.
        url: Its address, which often holds the day in the site's own time zone.
        origin: Where it comes from, which decides the order of day and month.
        fetched_at: When it was fetched. It can't have been published later.
    """

    layout: Layout
    data: StructuredData
    url: str
    origin: Origin
    fetched_at: datetime | None


@dataclass(slots=True)
class Candidate:
    """One of the dates of a page.

    Attributes:
        seen_in: The place of the page that has it.
        kind: Of its place: ``json-ld``, ``meta``, ``micro``, ``time``, ``class``, ``line``, ``dateline`` or ``url``.
        said: What its name or label says: ``published``, ``updated`` or nothing.
        index: The text where it is shown; -1 for none.
    """

    value: Moment
    seen_in: str
    kind: str
    said: str = ""
    index: int = -1
    measures: dict[str, float] = field(default_factory=dict)

    @property
    def is_publication(self) -> bool:
        """Whether the page states it, for machines, as the date of publication."""
        return self.kind in _STATED and self.said == "published"


def find_date(page: DatedPage, words: DateWords) -> Candidate | None:
    """The likeliest date of publication of a page, else its date of change; None without a likely one."""
    found = candidates(page, words)
    return choose(found, [words.forest.scores(one)[0] for one in measured(found, page)])


def choose(found: list[Candidate], scores: list[float]) -> Candidate | None:
    """The date with the highest score as the page shows it, else the first date of a change."""
    likely = [(score, one) for score, one in zip(scores, found, strict=True) if score >= _LIKELY]
    is_stated = any(one.is_publication for _, one in likely)
    days = {day_of(one.value) for _, one in likely if one.said != "updated" and not (is_stated and one.kind == "url")}
    best = max(likely, key=lambda scored: (day_of(scored[1].value) in days, scored[0]), default=None)
    if best is None:
        return next((one for one in found if one.said == "updated"), None)
    day, is_change = day_of(best[1].value), best[1].said == "updated"
    # The first place is the one that most likely has the instant.
    first = next(one for _, one in likely if day_of(one.value) == day and (is_change or one.said != "updated"))
    return _as_shown(first, [one for _, one in likely if one.kind not in _STATED])


def _as_shown(stated: Candidate, shown: list[Candidate]) -> Candidate:
    """A date as the page shows it: in the site's own zone, or the day before or after that of universal time."""
    value, day = stated.value, day_of(stated.value)
    if not isinstance(value, datetime) or value.utcoffset():
        return stated
    same = (one for one in shown if isinstance(one.value, datetime) and one.value.utcoffset() and one.value == value)
    days = {one.value: one for one in reversed(shown) if not isinstance(one.value, datetime)}
    beside = (days[other] for step in (0, 1, -1) if (other := day + timedelta(days=step)) in days)
    found = next(chain(same, beside), stated)
    return stated if found.value == day else found


def candidates(page: DatedPage, words: DateWords) -> list[Candidate]:
    """The plausible dates of a page, the stated ones first; of a thing or an event none that may be that of it."""
    shown = chain(_times(page, words), _in_url(page.url, words), _named(page, words), _lines(page, words))
    # The visible dates of an announcement are those of the event.
    announces = is_event(page.layout, page.data, page.url)
    own = (one for one in shown if one.said or not announces)
    every = chain(_stated(page, words), () if page.data.is_thing else own)
    plausible = (one for one in every if is_plausible(one.value, words.earliest_year, page.fetched_at))
    return list({(one.value, one.seen_in, one.said, one.index): one for one in plausible}.values())


def _stated(page: DatedPage, words: DateWords) -> Iterator[Candidate]:
    """Dates of structured data, metadata and microdata."""
    data = page.data
    stated = [
        (data.published, "json-ld datePublished", "json-ld", "published"),
        (data.created, "json-ld dateCreated", "json-ld", ""),
        (data.modified, "json-ld dateModified", "json-ld", "updated"),
    ]
    for name, contents in page.layout.outline.meta.items():
        if (said := words.said_by(name)) is not None:
            stated += [(content, f"meta {name}", "meta", said) for content in contents[:_MAX_CONTENTS]]
    for mark in page.layout.stated:
        if mark.name in _PROPERTIES:
            stated += [(text, mark.name, "micro", _PROPERTIES[mark.name]) for text in (mark.value, mark.text)]
    for text, seen_in, kind, said in stated:
        if text and (value := words.moments.read(text, page.origin)) is not None:
            yield Candidate(value, seen_in, kind, said)


def _times(page: DatedPage, words: DateWords) -> Iterator[Candidate]:
    """Elements ``time``, the nearest to the heading, except those in sentences."""
    layout, outline = page.layout, page.layout.outline
    beside = (timed for timed in outline.times if layout.distance(timed[0]) <= _NEAR_TEXTS)
    for index, node in sorted(beside, key=lambda timed: layout.distance(timed[0]))[:_MAX_TIMES]:
        attributes, text = node.attributes, short_text(node)
        value = (attributes.get("content") or attributes.get("datetime") or text)[:MARK_CHARACTERS]
        line = outline.line_at(index) if text else None
        begin = 0 if line is None else max(line.text.find(text), 0)
        said_beside = words.beside((line.text if line else text)[:_FAR], begin, begin + len(text), _TOUCHING_NAMED)
        moment = words.moments.read(value, page.origin)
        if moment is not None and said_beside is not None:
            said, _, measures = said_beside
            names = f"{attributes.get('class') or ''} {attributes.get('itemprop') or ''}".lower()
            said = "updated" if _CHANGED.search(names) else said
            yield from _placed(page, Candidate(moment, "time", "time", said, index, measures), outline.place(node) >> 1)


def _named(page: DatedPage, words: DateWords) -> Iterator[Candidate]:
    """Dates near the heading whose class names say so."""
    for mark in page.layout.named:
        if mark.name == "hint:date":
            stated = words.moments.read(mark.value, page.origin)
            shown = words.dates(mark.text, page.origin, _TOUCHING_NAMED)
            for moment, said, _, measures in chain([(stated, "", False, dict[str, float]())] if stated else (), shown):
                yield from _placed(page, Candidate(moment, _NAMED, "class", said, mark.index, measures), mark.element)


def _lines(page: DatedPage, words: DateWords) -> Iterator[Candidate]:
    """Short lines beside the heading, further ones with a label or a time, and the beginnings of the story."""
    layout, outline = page.layout, page.layout.outline
    lines = outline.lines_with_links()
    begins = [block for block in outline.blocks(layout.first) if len(block.text) > _MAX_CHARACTERS][:_MAX_BEGINNINGS]
    end = max(layout.body, begins[0].start if begins else layout.first + _HEAD_TEXTS)
    places = {index for place in layout.near for index in place if index <= end}
    shown, far = [], []
    for number, block in enumerate(lines):
        if len(block.text) <= _MAX_CHARACTERS and _DATED.search(block.text) is not None:
            if block.start in places:
                shown.append((layout.distance(block.start), number))
            elif words.may_be_labelled(lines, number):
                far.append((0, number))
    firm: list[Candidate] = []
    bare: list[Candidate] = []
    for _, number in (*sorted(shown)[:_MAX_LINES], *far[:_MAX_LABELLED]):
        block, before = lines[number], lines[number - 1] if number else None
        text, is_value = block.text, before is not None and _is_value(outline, before, block)
        if block.end > block.start + 1 and layout.is_head(block.start) and words.is_short(text):
            # A day in an element of its own may be beside other small texts: the minutes that reading takes.
            text = "  ".join(map(str.strip, outline.texts[block.start : block.end]))
        if before is not None and words.is_label(before.text):
            text, is_value = f"{before.text}: {text}", False
        beside = lines[max(0, number - _REACH) : number + _REACH + 1]
        if is_labelled(text, words.person_labels):
            text = _TO_YEAR.sub("", text, count=1)  # "Joined: 3 May 2009 | Posted 1 July 2024"
        for moment, said, is_firm, measures in words.dates(text, page.origin):
            is_dated = is_firm or (not is_value and (block.start in places or words.is_dated(text)))
            if is_dated and not any(is_labelled(other.text, words.thing_labels) for other in beside):
                seen_in = "visible date" if block.start in places else "labelled date"
                one = Candidate(moment, seen_in, "line", said, block.start, measures)
                (firm if is_firm else bare).extend(_placed(page, one, block.element))
    for index, text in outline.asides:
        if index <= end and layout.distance(index) <= _NEAR_TEXTS:
            for moment, said, _, measures in words.dates(text, page.origin):
                bare += _placed(page, Candidate(moment, "visible date", "line", said, index, measures), -1)
    # Lines of many days are a schedule or a chronology.
    yield from firm
    for seen_in, most in (("visible date", _MOST_DAYS), ("labelled date", 1)):
        alike = [one for one in bare if one.seen_in == seen_in]
        yield from alike if len({day_of(one.value) for one in alike}) <= most else ()
    for block in begins:
        if (value := words.dateline(block.text[:_HEAD_CHARACTERS], page.origin)) is not None:
            yield from _placed(page, Candidate(value, "dateline", "dateline", "", block.start), block.element)


def _is_value(outline: Outline, before: Block, block: Block) -> bool:
    """Whether the line before is the term or the first cell of a line."""
    if block.tag not in ("dd", "td") or before.tag not in ("dt", "th", "td"):
        return False
    row = outline.outer[block.element] if block.tag == "td" else block.element
    beside = before.element if before.tag == "dt" else outline.outer[before.element]
    return row == beside and not (block.tag == before.tag and before.element == block.element)


def _placed(page: DatedPage, one: Candidate, element: int) -> Iterator[Candidate]:
    """A candidate with the measures of its place; nothing in a part of others, of an event or of a teaser."""
    is_below = one.kind in ("time", "class") and not one.said and one.index >= page.layout.end
    is_teaser = is_below and page.layout.is_teased(one.index)
    if not (is_teaser or page.layout.said(one.index, element) & (OTHERS | EVENT)):
        one.measures |= page.layout.measures(one.index, element)
        yield one


def measured(found: list[Candidate], page: DatedPage) -> list[dict[str, float]]:
    """The measures of candidates: their own, those of their days, and those of the page."""
    dated = [(one, day_of(one.value)) for one in found]
    names: dict[date, set[str]] = {}
    for one, day in dated:
        names.setdefault(day, set()).update((f"{one.kind} {one.said}", one.said))
    shown = sorted((one.measures["away"], one.index, day) for one, day in dated if one.index >= 0)
    nearest = list(dict.fromkeys(day for _, _, day in shown))
    publications = list(dict.fromkeys(day for one, day in dated if one.is_publication))
    in_url = [day for one, day in dated if one.kind == "url"]
    of_page = {f"has {kind}": float(number) for kind, number in Counter(one.kind for one in found).items()} | {
        "page article": float(page.data.is_article),
        "days": float(len(names)),
        "candidates": float(len(found)),
    }
    of_day: dict[date, dict[str, float]] = {}
    for day, said in names.items():
        beside = (names.get(day + timedelta(days=step), set()) for step in (-1, 1))
        of_day[day] = {f"same {name}": 1.0 for name in said} | {
            "agree": float(len(said)),
            "agree beside": float(len(set().union(*beside))),
        }
        for name, others in (("nearest", nearest), ("publication", publications), ("url", in_url)):
            if others:
                away = (day - others[0]).days
                of_day[day][f"from {name}"] = copysign(log1p(abs(away)), away)
                of_day[day][name] = float(others.index(day) + 1 if day in others else 0)
    order: Counter[str] = Counter()
    rows = []
    for one, day in dated:
        zone = one.value.utcoffset() if isinstance(one.value, datetime) else None
        own = {
            "zone": float(zone is not None),
            "universal": float(zone == timedelta()),
            "order": float(order[one.seen_in]),
        }
        order[one.seen_in] += 1
        rows.append(of_page | of_day[day] | one.measures | own)
    return rows


def _in_url(url: str, words: DateWords) -> Iterator[Candidate]:
    """The day in a page's address."""
    match = _IN_URL.search(_QUERY.split(url, maxsplit=1)[0])
    months = words.moments.patterns.months
    parts = (part.capitalize() for part in match.groups() if part and part.isalnum()) if match else ()
    numbers = [int(part) if part.isdigit() else (part in months and months[part]) for part in parts]
    if numbers and (day := calendar_day(*numbers)):
        yield Candidate(day, "url", "url")


class DateWords:
    """Reads the words beside dates, under one configuration: "By Jane Doe | Published 3 May 2024, updated 9 June"."""

    def __init__(self, reading: PageReadingSection, moments: MomentReader, names: NameWords) -> None:
        self.moments = moments
        self._names = names
        self.earliest_year = reading.earliest_year
        self.forest = reading.date_trees.forest
        self.person_labels = tuple(label.casefold() for label in reading.person_labels)
        self.thing_labels = tuple(label.casefold() for label in reading.thing_labels)
        self._said_by = dict.fromkeys(reading.updated_names, "updated") | dict.fromkeys(reading.date_names, "published")
        label_words = [word.lower() for word in (*reading.published_words, *reading.updated_words)]
        self._label_words = re.compile(alternatives(label_words))
        self._labels = _any_of(label_words)
        self._published = _any_of(reading.published_words)
        self._updated = _any_of(reading.updated_words)
        self._date_label = re.compile(
            rf"(?:{alternatives(reading.date_labels)})\s{{0,3}}[:：]?\s{{0,3}}\d", re.IGNORECASE
        )
        self._fillers = _any_of(reading.date_line_words)
        self._openings = _any_of([*label_words, *reading.byline_words])

    def said_by(self, name: str) -> str | None:
        """What the name of a meta tag says of its date; None if the tag has no date."""
        if name in self._said_by or _META.search(name) is None:
            return self._said_by.get(name)
        return "updated" if _CHANGED.search(name) else "published" if "publi" in name else ""

    def may_be_labelled(self, lines: list[Block], number: int) -> bool:
        """Whether a line may have a label, also in the line before, or a time. This check is fast."""
        text, before = lines[number].text, lines[number - 1].text[:_MAX_LABEL] if number else ""
        has_label = self._label_words.search(f"{before} {text}".lower()) or self._date_label.match(text)
        return has_label is not None or _STAMP.search(text) is not None

    def is_dated(self, line: str) -> bool:
        """Whether a line begins with a word for a date, followed by a number: "Date: 3 May 2024"."""
        return self._date_label.match(line) is not None

    def is_short(self, line: str) -> bool:
        """Whether a line is no sentence: it has few words in lower case that do not go with dates."""
        return self._size(line, names=False) <= _TOUCHING_NAMED

    def is_label(self, text: str) -> bool:
        """Whether a text is only a label of a date."""
        # A search in lower case that ignores the ends of words takes a third of the time.
        may_be = len(text) <= _MAX_LABEL and (self._label_words.search(text.lower()) or self.is_dated(f"{text} 1"))
        return bool(may_be) and not self._size(text)

    def dateline(self, head: str, origin: Origin) -> Moment | None:
        """The day before the first sentence of a story: "(18.1.2018) Farmers", "Oslo, 3 May 2024 –"."""
        days = self.moments.spans(head, origin) if _DATED.search(head) else []
        if not days or not (before := _DATELINE_BEFORE.match(head, 0, days[0].start)) or before.end() != days[0].start:
            return None
        return days[0].value if _DATELINE_AFTER.match(head, days[0].end) else None

    def dates(self, line: str, origin: Origin, most: int = 0) -> list[tuple[Moment, str, bool, dict[str, float]]]:
        """The dates of a line, each with what ``beside`` says."""
        days = self.moments.spans(line, origin) if len(line) <= _FAR and _DATED.search(line) else []
        bounds = [0, *(day.end for day in days)], [*(day.start for day in days[1:]), len(line)]
        found: list[tuple[Moment, str, bool, dict[str, float]]] = []
        for day, before, after in zip(days, *bounds, strict=False):
            beside = self.beside(line, day.start, day.end, most, before, after)
            if day.value is not None and beside is not None:
                # With its time and zone, if the line has them in a format of machines.
                found.append((instant_at(line, day.start) or day.value, *beside))
        # Two days without a label are the beginning and the end of something.
        bare = len(days) - sum(said != "" for _, said, _, _ in found)
        return [one for one in found if one[1] or bare == 1]

    def beside(
        self, line: str, start: int, end: int, most: int, first: int = 0, last: int | None = None
    ) -> tuple[str, bool, dict[str, float]] | None:
        """What the words beside a date say of it, and whether there is a label or a time; None in a sentence.

        ``most`` words may touch the date, more after a label or before a time.
        """
        before, after = line[first:start], line[end:last]
        left, right = (_SEPARATOR.split(_CLOCK.sub(" ", part)) for part in (before, after))
        opening, is_timed = self._openings.search(before), _THEN_CLOCK.match(line, end) is not None
        if is_timed:
            most = _TOUCHING_NAMED
        elif opening is not None and not self._size(before[: opening.start()]):
            most = max(most, _TOUCHING_LABELLED)
        touching, apart = (left[-1], right[0]), (*left[:-1], *right[1:])
        if _RANGE.search(line, start, end) or _NO_DATE.search(before) or sum(map(self._size, touching)) > most:
            return None
        if any(self._size(part) > _APART for part in apart):
            return None
        published, updated = (_last(pattern, before) for pattern in (self._published, self._updated))
        said = "published" if published > updated else "updated" if updated >= 0 else ""
        lower = sum(word[0].islower() for word in _WORD.findall(f"{before} {after}"))
        values = (len(line), lower, not before.strip(), not after.strip())
        return said, bool(said or is_timed), dict(zip(_BESIDE, map(float, values), strict=True))

    def _size(self, segment: str, *, names: bool = True) -> int:
        """Words of a segment without labels and what goes with dates; ideographs count as a third of a word.

        Numbers do not count. Without ``names``, no word with a capital counts. Of a credit, words with a capital and
        a few others ("and", "min read") do not count.
        """
        if not segment or segment.isspace():
            return 0
        left = self._fillers.sub(" ", self._labels.sub(" ", segment))
        if han := len(_HAN_SIGNS.findall(left)):
            return (han + 2) // 3
        words = _WORD.findall(left)
        if self._names.line_names(segment.strip()):
            return max(0, sum(1 for word in words if word[0].islower()) - _IN_CREDIT)
        return sum(1 for word in words if word[0].islower() or (names and not word.isdigit()))


def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words as whole ones; those of scripts without blanks anywhere."""
    words = tuple(words)
    spaced = [word for word in words if not _HAN_SIGNS.search(word)]
    joined = [word for word in words if _HAN_SIGNS.search(word)]
    whole = rf"(?<![^\W\d_])(?:{alternatives(spaced)})(?![^\W\d_])"
    return re.compile(rf"{whole}|{alternatives(joined)}", re.IGNORECASE)
