"""Authors of a page, from structured data, metadata, markup and the first lines of the text (R-190, R-191, C-43).

Persons come before organisations. An organisation, such as the site itself, is the author only if the page states it
and shows no person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import regex

from handlers.html.marks import Story
from handlers.html.outline import A, Mark
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData, letters_of
from handlers.html.walk import short_text
from handlers.text.patterns import DetailPatterns
from handlers.text.scripts import HAN, KANA, has_cjk, has_han
from handlers.text.words import alternatives

_MAX_NAMES = 20
_MAX_MARKS = 8
_MAX_BETWEEN = 12
_MAX_AND = 4
"""Letters between authors who are credited together."""
_MAX_LINES = 60
_MAX_MARK_CHARACTERS = 200
_MAX_LINE_CHARACTERS = 120
_MAX_NAME_CHARACTERS = 60
_MAX_NAME_WORDS = 6
_MAX_ABOVE = 4
_MAX_BEFORE = 80
_MAX_BEFORE_HAN = 24
_TEXTS_TO_MEMBER = 6
_MIN_OWN = 4
_NICKNAME, _FULL = 2, 3
_MAX_LABELLED_LINES = 400

_ADDRESS = re.compile("://|@")
_AUTHORS = ("itemprop:author", "rel:author")
_LETTERS = re.compile(r"[^\W\d_]+")
_AND = "and|und|et|y|e|og|och|en|i|with"
# A run of white space before a separator is matched from its beginning only: otherwise the time is quadratic.
_SPACE_BEFORE = r"(?:(?<!\s)\s+)?"
_SPLIT = re.compile(
    rf"{_SPACE_BEFORE}(?:,\s?(?:{_AND})\s|\s(?:{_AND})\s|[,;、，/&•·∙\n]|\s[|+]\s|\|)\s*", re.IGNORECASE
)
_PARTS = re.compile(r"[/,;|·\n]")
_BARS = re.compile(r"[|·•∙–—]")
_BLANKS = re.compile(r"[^\S\n]+")
_EDGE = " \t\n.,:;·∙•-–—|\"'“”„()[]<>*→←»«›‹►▸⁰¹²³⁴⁵⁶⁷⁸⁹†‡§"
_LABEL = re.compile(r"[^\W\d_][^:：,;|/\n]{0,30}[:：]\s{0,3}(?=[^\W\d_a-z])")
"""What is before a colon in a credit, in any language."""
_DOMAIN = re.compile(r"^(?:www\.)?[\w-]{1,60}(?:\.[\w-]{1,60}){0,3}\.[a-z]{2,6}$", re.IGNORECASE)
_SURNAME_FIRST = re.compile(r"^([^\W\d_][\w'’-]{1,40}), ([^\W\d_][\w'’-]{0,40}\.?(?: [^\W\d_]\.){0,3})$")
_BEFORE_DAY = re.compile(r"^(\S+ .+?) [a-zà-ÿ]{1,3}$")
"""A full name and a small word that leads on to a day: Sam Reed on, Juan García el."""
_BEGINS_NAME = regex.compile(rf"(?=[^\W\d_])(?:[{HAN}]|[^a-z])")


@dataclass(frozen=True, slots=True)
class Credit:
    """The authors of a page.

    Attributes:
        names: In the order given, without agencies.
        has_author: Whether metadata or structured data state an author or an agency.
        has_byline: Whether the page shows one.
        seen_in: Where the names were seen.
        agencies: News agencies that are credited.
    """

    names: tuple[str, ...] = ()
    has_author: bool = False
    has_byline: bool = False
    seen_in: str = ""
    agencies: tuple[str, ...] = ()


class NameWords:
    """Reads names of persons in the text of a credit, under one configuration."""

    def __init__(self, reading: PageReadingSection, patterns: DetailPatterns) -> None:
        """Compiles the words. Words of days and of their parts make no name: "By Monday Evening"."""
        months, times = tuple(patterns.months), (*patterns.date_cues, *patterns.day_parts, *patterns.day_parts_ahead)
        dates = (*reading.published_words, *reading.updated_words)
        labels = (*reading.byline_words, *reading.byline_labels)
        self._occasions = frozenset((*reading.byline_occasions, *reading.byline_labels, *reading.published_words))
        stops = alternatives((*reading.byline_stop_words, *dates))
        places = alternatives(reading.byline_place_words)
        colon = r"\s{0,3}[:：](?!in(?:nen)?\b)\s{0,3}"
        # Text: Jan Maier; Words and pictures: Sam Reed
        label = rf"(?:{alternatives(labels)})(?:\s(?:{_AND}|&)\s[^\W\d_]{{1,20}})?{colon}"
        # Both genders in one word, with a colon, a star, a slash or brackets.
        gender = rf"(?:/(?:{alternatives(reading.byline_words)})|[:*_(](?:in|innen|e|es|s)\)?)?"
        word = rf"(?:{alternatives(reading.byline_words)}){gender}(?:{colon}|\s{{1,3}})"
        occasion = rf"(?:(?:{alternatives(self._occasions)})\s{{1,3}})?"
        self._introduction = re.compile(rf"^\W{{0,5}}(?:{label}|{occasion}{word}){{1,3}}", re.IGNORECASE)
        self._inside = re.compile(rf"(?:^|[\s|·•–—,-]){word}(?=(?-i:[^\W\d_a-z]))", re.IGNORECASE)
        self._stop = re.compile(rf"(?:^|[\s|·•–—,;(])(?:{stops})(?:[\s:：/]|$)", re.IGNORECASE)
        self._tail = re.compile(
            rf"{_SPACE_BEFORE}(?:\(|\s[-–—|@]|\s(?:{places})\s|(?:(?<=\s)(?:{alternatives(months)})\.?\s)?(?<!\w)\d|https?:).{{0,200}}$",
            re.IGNORECASE,
        )
        self._beginnings = frozenset(word.split()[0].lower() for word in labels)
        self._roles = frozenset(reading.role_words)
        no_names = (
            reading.no_names,
            reading.byline_words,
            reading.byline_stop_words,
            dates,
            self._roles,
            months,
            times,
        )
        self._no_names = frozenset(name.casefold() for names in no_names for name in names)
        not_given = (*self._no_names, *reading.wire_services, *reading.name_credentials)
        self._not_given = frozenset(word.casefold().rstrip(".") for word in not_given)
        self._organizations = tuple(reading.organization_endings)
        self._particles = frozenset(reading.name_particles)
        self._reporters = _han_credits(reading)

    def names(self, text: str) -> tuple[str, ...]:
        """Names in a text that is known to be a credit."""
        text = _BLANKS.sub(" ", text[:_MAX_MARK_CHARACTERS]).strip()
        if "://" in text[:12]:
            return ()
        if found := self.reporters(text):
            return found
        return self._split(text[len(self.label(text)) :])

    def label(self, text: str) -> str:
        """What is before the names in a text that is known to be a credit."""
        found = self._introduction.match(text) or self._inside.search(text[:_MAX_BEFORE]) or _LABEL.match(text)
        return text[: found.end()] if found else ""

    def line_names(self, text: str) -> tuple[str, ...]:
        """Names in a line of running text, if it begins with "By", "A column by", "作者：" or the like."""
        if found := self.reporters(text):
            return found
        head = text[:_MAX_LINE_CHARACTERS]
        if len(text) > _MAX_LINE_CHARACTERS or self._beginnings.isdisjoint(_LETTERS.findall(head.lower())):
            return ()
        introduction = self._introduction.match(head)
        for match in [introduction] if introduction else self._inside.finditer(head[:_MAX_BEFORE]):
            before = _BARS.split(head[: match.start() + 1])[-1].casefold().split() if match.start() else ()
            if _BEGINS_NAME.match(head, match.end()) and not (before and self._occasions.isdisjoint(before)):
                return self._split(head[match.end() :])
        return ()

    def reporters(self, text: str) -> tuple[str, ...]:
        """Names of reporters at the beginning of a Chinese or Japanese line: 記者王小明／台北報導, 文／王小明."""
        head = text[:_MAX_MARK_CHARACTERS]
        if has_han(head):
            for pattern in self._reporters:
                match = pattern.search(head)
                if match is not None and len("".join(_LETTERS.findall(head, 0, match.start()))) <= _MAX_BEFORE_HAN:
                    names = tuple(filter(None, re.split(r"[\s、，,&]+", match["names"])))
                    return tuple(name for name in names if self._is_name(name) and not self.is_organization(name))
        return ()

    def whole(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Organisations as they are stated."""
        found = dict.fromkeys(" ".join(text.partition(" (")[0].split()) for text in texts)
        return tuple(
            text
            for text in found
            if 2 <= len(text) <= _MAX_NAME_CHARACTERS
            and not _ADDRESS.search(text)
            and text.casefold() not in self._no_names
        )[:_MAX_NAMES]

    def is_organization(self, text: str) -> bool:
        """Whether a text is a site's address, or ends as the names of organisations do."""
        return _DOMAIN.match(text.strip()) is not None or text.casefold().rstrip(". ").endswith(self._organizations)

    def _split(self, text: str) -> tuple[str, ...]:
        if match := self._stop.search(text):
            text = text[: match.start()]
        parts = [part.strip(_EDGE) for part in _SPLIT.split(self._in_order(text))[:_MAX_NAMES]]
        pieces = [_BEFORE_DAY.sub(r"\1", self._tail.sub("", part)) for part in parts]
        parts = [part for place, piece in enumerate(pieces) if (part := self._person(piece, is_first=place == 0))]
        names = [part for part in parts if self._is_name(part)]
        if any(" " in name for name in names):
            names = [name for name in names if " " in name]
        elif len(names) < len(parts) and len(parts) > 1:
            # Single words among other parts are pieces of a sentence.
            return ()
        return tuple(_distinct(names))

    def _in_order(self, text: str) -> str:
        """A name with the surname last: "Doe, Jane", "Doe, Jane; Roe, J. R."."""
        matches = [_SURNAME_FIRST.match(part.strip()) for part in text.split(";")]
        parts = [match.groups() for match in matches if match]
        is_list = len(parts) == len(matches) and not any(
            part.islower() or part.casefold().rstrip(".") in self._not_given for pair in parts for part in pair
        )
        return "; ".join(f"{given} {surname}" for surname, given in parts) if is_list else text

    def _person(self, text: str, *, is_first: bool) -> str:
        """A part of a credit without roles; "" for a later part with a role, such as "Senior Health Writer"."""
        words = text.strip(_EDGE).split()
        count = len(words)
        while words and words[-1].casefold() in self._roles:
            words.pop()
        if len(words) == 1 < count and words[0].isascii():
            # A single word before a role is a paper's name: "Guardian staff reporter".
            return ""
        return " ".join(words) if is_first or len(words) == count else ""

    def _is_name(self, text: str) -> bool:
        """Whether a text can be a person's name: capitalised words or particles, or a nickname of one word."""
        words = text.split()
        if not 2 <= len(text) <= _MAX_NAME_CHARACTERS or not 1 <= len(words) <= _MAX_NAME_WORDS:
            return False
        if text.casefold() in self._no_names or all(word.casefold() in self._no_names for word in words):
            return False
        if any(sign in text for sign in "@/<>{}=?!#©»:：") or not _LETTERS.search(text):
            return False
        if len(words) == 1:
            return _DOMAIN.match(text) is None
        return not any(sign.isdigit() for sign in text) and all(self._is_part(word) for word in words)

    def _is_part(self, word: str) -> bool:
        return not word[0].islower() or word in self._particles or word[1:2] in {"'", "’"}


def _han_credits(reading: PageReadingSection) -> tuple[re.Pattern[str], ...]:
    """Credits of Chinese and Japanese newspapers. A name of a picture's source (攝, 提供) is no credit."""
    reporters, words = alternatives(reading.reporter_words_zh), alternatives(reading.byline_words_zh)
    reports = alternatives(reading.report_words_zh)
    given = f"[{HAN}]"
    end = r"(?=[\s／/｜|)）】〕\]]|$)"
    names = rf"(?P<names>{given}{{2,4}}(?:\s?[、，,&\s]\s?{given}{{2,4}}){{0,5}})"
    report = rf"{given}{{2,4}}\d{{0,2}}日?(?:{reports})"
    long_name = rf"(?P<names>[{HAN}{KANA}·‧]{{2,8}}(?:[、，,&]{given}{{2,8}}){{0,5}})"
    return tuple(
        regex.compile(expression)
        for expression in (
            # 王小明 記者
            rf"^\s?(?P<names>{given}{{2,4}}?)\s?(?:{reporters}|編輯|编辑|主編|主编)\s?$",
            # 記者王小明／台北報導, 王小明／台北報導
            rf"(?:(?:{reporters})\s?|^|[\s（(〔\[【]){names}\s?[／/]\s?(?:{given}{{2,6}})?(?:{reports})",
            # 記者王小明台北1日電: the place has two characters or more
            rf"(?:{reporters})\s?(?P<names>(?:{given}{{2,4}}、){{0,5}}{given}{{2,3}})(?={report})",
            # 記者王小明 at the end of a line
            rf"(?:{reporters})\s?(?!會|会){names}(?<![攝摄]){end}",
            # 作者：小明, 文／小明
            rf"(?:^|[\s・、（(〔\[【／/]|{given}{{1,6}})(?:{words})(?:\s{{0,3}}[:：／/｜|●]\s{{0,3}}|・(?!{words})){long_name}{end}",
        )
    )


class BylineWords:
    """The configured words around names, compiled once."""

    def __init__(self, reading: PageReadingSection, patterns: DetailPatterns) -> None:
        self.names = NameWords(reading, patterns)
        self.meta = tuple(reading.author_names)
        self.publishers = tuple(reading.publisher_names)
        self.agencies = frozenset(name.casefold() for name in reading.wire_services)
        self.author_path = _path((*reading.author_paths, *reading.byline_hints))
        self.user_path = _path(reading.user_paths)


def find_credit(story: Story, data: StructuredData, words: BylineWords, site: str, host: str = "") -> Credit:
    """The author credit of a page; ``site`` and ``host`` are the names of the site."""
    meta = story.outline.meta
    publishers = (text[:_MAX_MARK_CHARACTERS] for name in words.publishers for text in meta.get(name, ())[:2])
    reader = _CreditReader(
        words, {letters_of(site), letters_of(data.publisher)}, " ".join(map(letters_of, (host, *publishers)))
    )
    stated = _best(_stated(meta, data, words, reader))
    stated_agencies = len(reader.agencies)
    marks = [mark for mark in story.stated if not mark.boilerplate]
    shown = _best(_shown(story, marks, words, reader))
    best = stated if stated.rank >= shown.rank else shown
    if stated.rank < _NICKNAME and shown.rank < _FULL and story.near.heading >= 0:
        best = _elsewhere(story, words, reader) or best
    return Credit(
        names=best.names[:_MAX_NAMES],
        has_author=bool(stated.names or stated_agencies) or any(mark.name == "itemprop:author" for mark in marks),
        has_byline=bool(shown.names) or len(reader.agencies) > stated_agencies,
        seen_in=best.seen_in,
        agencies=tuple(dict.fromkeys(reader.agencies))[:_MAX_NAMES],
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """Names, where they were seen, and their rank: ``_FULL``, ``_NICKNAME``, or 1 for an organisation."""

    names: tuple[str, ...] = ()
    seen_in: str = ""
    rank: int = 0


class _CreditReader:
    """Separates persons from the site itself, other organisations and agencies, which it collects."""

    def __init__(self, words: BylineWords, own: set[str], own_texts: str) -> None:
        self._words = words
        self._own = own
        self._own_texts = own_texts
        self.agencies: list[str] = []

    def credited(self, texts: Iterable[str], seen_in: str) -> _Named:
        """The names in the texts of one place."""
        names: list[str] = []
        for text in texts:
            head = text[:_MAX_MARK_CHARACTERS]
            parts = [part.strip() for part in _PARTS.split(head)]
            self.agencies += [part for part in parts if part.casefold() in self._words.agencies]
            names += self._words.names.names(head) if self._is_person(head) else self._words.names.whole((head,))
        return self.ranked(names, seen_in)

    def ranked(self, names: Iterable[str], seen_in: str) -> _Named:
        """Names without agencies; those of persons, if there are any."""
        found = _distinct(names)
        agencies = [name for name in found if name.casefold() in self._words.agencies]
        self.agencies += agencies
        found = [name for name in found if name not in agencies]
        persons = tuple(name for name in found if self._is_person(name))
        if persons:
            is_full = " " in "".join(persons) or has_cjk(persons[0])
            return _Named(persons, seen_in, _FULL if is_full else _NICKNAME)
        return _Named(tuple(found), seen_in, int(bool(found)))

    def _is_person(self, name: str) -> bool:
        squashed = letters_of(name)
        if squashed in self._own or (len(squashed) >= _MIN_OWN and squashed in self._own_texts):
            return False
        return bool(self._words.names.reporters(name)) or not self._words.names.is_organization(name)


def _best(found: Iterable[_Named]) -> _Named:
    """The first of the highest rank."""
    best = _Named()
    for named in found:
        if named.rank > best.rank:
            best = named
            if best.rank == _FULL:
                break
    return best


def _stated(
    meta: Mapping[str, list[str]], data: StructuredData, words: BylineWords, reader: _CreditReader
) -> Iterator[_Named]:
    yield reader.credited(data.authors, "json-ld author")
    for name in words.meta:
        if name in meta:
            yield reader.credited(meta[name][:_MAX_NAMES], f"meta {name}")
    for number in (1, 2, 3):
        card = ": ".join(text for name in ("label", "data") for text in meta.get(f"twitter:{name}{number}", ())[:1])
        yield reader.ranked(words.names.line_names(card), "twitter label")
    yield _Named(
        names := reader.ranked(words.names.whole((*data.organizations, *data.authors)), "").names,
        "json-ld author",
        int(bool(names)),
    )


def _shown(story: Story, marks: list[Mark], words: BylineWords, reader: _CreditReader) -> Iterator[_Named]:
    near = story.near
    for text, seen_in in _marked(story, marks, words):
        if len(text) <= _MAX_MARK_CHARACTERS:
            yield reader.credited((text,), seen_in)
    for place in near.places:
        for block in story.outline.blocks(place.start, place.stop)[:_MAX_LINES]:
            # A heading such as "Interview: Ada Lovelace" is not a credit.
            names = words.names.line_names(block.text) if block.start != near.heading else ()
            if names and story.is_own(block.element, block.start) and not story.is_teased(block.start):
                yield reader.ranked(names, "text")
    yield from (reader.ranked(names, "aside") for index, names in _asides(story, words) if near.is_head(index))
    for mark in _linked(story, words.user_path, max(near.first, near.heading) + _TEXTS_TO_MEMBER):
        yield reader.credited((mark.text,), "member's link")


def _asides(story: Story, words: BylineWords) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Names that small elements ``aside`` and ``footer`` of the story credit, with their places."""
    for index, text in story.outline.asides:
        if len(text) < _MAX_MARK_CHARACTERS and not (story.holds(-1, index - 1) or story.is_teased(index - 1)):
            yield index, words.names.line_names(text[:_MAX_BEFORE])


def _elsewhere(story: Story, words: BylineWords, reader: _CreditReader) -> _Named | None:
    """The full names that lines anywhere credit, such as the box below a story, if all credit the same."""
    hidden = (mark for mark in story.stated if mark.boilerplate and mark.name in _AUTHORS)
    credits = [reader.credited((mark.value or mark.text,), mark.name) for mark in hidden]
    for block in story.outline.blocks()[-_MAX_LABELLED_LINES:]:
        text = block.text
        names = words.names.line_names(text) if len(text) <= _MAX_BEFORE else ()
        if not names and len(text) <= _MAX_NAME_CHARACTERS and story.calls_byline(block.element, block.start):
            names = words.names.names(text)
        if names and story.is_own(block.element, block.start) and not story.is_teased(block.start):
            credits.append(reader.ranked(names, "text"))
    credits += [reader.ranked(names, "aside") for _, names in _asides(story, words)]
    found = {tuple(map(letters_of, named.names)): named for named in credits if named.names}
    return next((named for named in found.values() if len(found) == 1 and named.rank == _FULL), None)


def _marked(story: Story, marks: list[Mark], words: BylineWords) -> Iterator[tuple[str, str]]:
    """Texts that the markup marks as authors, with where they were seen, the most reliable first.

    Authors that are stated beside each other are credited together.
    """
    named = (mark for mark in story.near.named if mark.name == "hint:byline" and not mark.boilerplate)
    kinds = [
        *([mark for mark in marks if mark.name == kind] for kind in _AUTHORS),
        [mark for mark in named if not story.holds(mark.place, mark.index)],
        list(_linked(story, words.author_path)),
    ]
    for kind in kinds:
        for together in _together(kind[:_MAX_MARKS], story.outline.texts):
            name = together[0].name
            texts = [(mark.value if name == "itemprop:author" else "") or mark.text for mark in together]
            # Another label is another role, such as an editor's.
            label = words.names.label(texts[0])
            others = [text.removeprefix(label) for text in texts[1:] if words.names.label(text) in (label, "")]
            yield "; ".join((texts[0], *others)), name


def _together(marks: list[Mark], texts: list[str]) -> list[list[Mark]]:
    """Marks in groups of those that no more than a separator is between; of nested ones the first."""
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.index):
        last = groups[-1][-1] if groups else mark
        between = texts[last.index : mark.index][:_MAX_BETWEEN]
        if mark.index < 0 or mark.index - last.index > len(between):
            is_beside = last is not mark and last.place == mark.place
        else:
            is_beside = len(letters_of("".join(between))) <= len(letters_of(last.text)) + _MAX_AND
        if not groups or not is_beside:
            groups.append([mark])
        elif mark.index < 0 or mark.index > last.index:
            groups[-1].append(mark)
    return sorted(groups, key=lambda group: min(map(marks.index, group)))


def _linked(story: Story, path: re.Pattern[str], end: int | None = None) -> Iterator[Mark]:
    """Links to a person's page, from the heading on, before the text ``end``."""
    outline, near = story.outline, story.near
    for place in near.places:
        for index in range(max(place.start, near.heading), place.stop if end is None else min(place.stop, end)):
            node = outline.nodes[index].parent if outline.links[index] else None
            for _ in range(_MAX_ABOVE):
                if node is None or node.tag_id == A:
                    break
                node = node.parent
            if node is None or node.tag_id != A or not path.search(node.attributes.get("href") or ""):
                continue
            if story.is_own(outline.element_of(index), index) and not story.is_teased(index):
                yield Mark("author's link", "", short_text(node), 0, boilerplate=False, index=index)


def _distinct(names: Iterable[str]) -> list[str]:
    """Names once each, as they are written first."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(letters_of(name), name)
    return list(found.values())


def _path(segments: tuple[str, ...]) -> re.Pattern[str]:
    """Addresses with one of the segments before a last one."""
    end = r"[/=][^/?#]{1,100}/?(?:[?#]|$)|\.\w{2,4}\?[^/#]{1,100}$|;\w{1,3}=\d{1,12}$"
    return re.compile(rf"(?:^|[/?=])(?:{alternatives(segments)})(?:{end})", re.IGNORECASE)
