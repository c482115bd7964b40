"""One reading of a result: its title, text and address give the words and details in which a query is looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from urllib.parse import unquote

from handlers.html.links import host_of
from handlers.retrieval.copies import NAME
from handlers.retrieval.stated import BY_PERIOD, StatedWords
from handlers.retrieval.weekdays import PARTS, TO
from handlers.text.evidence import find_evidence
from handlers.text.measures import MEASURE, measure_of
from handlers.text.scripts import find_language
from handlers.text.word_match import Unit, WordText, fold_words, stem_of
from handlers.text.words import NUMERALS, TERM, AskedKind, fold
from schemas.evidence import DateEvidence, Evidence, PriceEvidence

_LONGEST_TITLE = 500
YEAR = re.compile(r"(?<![\d.,-])(?:1[5-9]|20)\d\d(?!\d|[.,]\d)")
_HOURS = re.compile(
    r"(?<!\d)\d{1,2}(?:[:.h]\d\d)?\s?(?:am|pm|uhr|h)?\s?(?:[-–—~～]|to|bis|until|till?|à|às|até|hasta|alle|tot|do|til|から)\s?(?:\d{1,2}(?:[:.h]\d\d)?(?!\d)|midnight)"
)
_IN_YEAR = re.compile(
    r"(?i:\b(?:in|im|en|anno|year|jahr|since|seit|depuis)\s\d{3,4}(?!\d))|\d{2,4}\s(?:AD|BC|CE|BCE)\b"
)
_LONGEST_TEXT = 50_000
IDENTIFIER = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{1,12}-?\d(?:-?[A-Za-z0-9]){0,20}(?![A-Za-z0-9])")
"""A name of letters before digits: of a model, an error or a road."""
_LONGEST_JOINT, _BESIDE, _CLAUSES, _MOST_BEHIND = 8, 40, 80, 8
_CLAUSE = re.compile(r"[;()|\n。、]|[,.] ")
"""What divides what is said of a price from what is said of others."""
_RUN = re.compile("[A-Za-z]+|[0-9]+")
_DECIMALS = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,9}")
_NUMBERED = re.compile(r"(?<![A-Za-z])([A-Za-z]{1,20})[ -]?(\d{1,9}(?:\.\d{1,9}){0,9})")
VARIANT = re.compile(r"(?i:[ -](?:pro|max|plus|ultra|mini|lite|air|xl|fe|se|ti|super|mark|mk|iii?)\b)")
"""A word behind the number of a model that names another model."""
_BETWEEN = frozenset(("", *" -‐‑–./_\u00a0"))
"""What may be between the letters and the digits of such a name."""
_MONTH = re.compile(rf"(?:\d{{1,2}}|[{NUMERALS}]{{1,3}})[月월]")
_SMALL = 0.1
"""Share of small words in sentences."""
_SITE = re.compile(r"\s[|–—·•»-]\s")
"""What is before the name of a site in a title."""
FREE = re.compile(r"(\w{1,30})[- ]free(?!\w)")
"""A word for what something lacks: egg-free."""


class SeenResult:
    """A result in which facets are looked up. What is read of it is read on first use."""

    def __init__(
        self,
        words: StatedWords,
        title: str | None,
        text: str,
        evidence: Iterable[Evidence] | None = None,
        *,
        url: str = "",
        is_listing: bool = False,
    ) -> None:
        """Takes a result; ``evidence``: the details of the text, if they are known; a listing leads to items."""
        self.title, self._known, self._words = (title or "")[:_LONGEST_TITLE], evidence, words
        self.content = text = text[:_LONGEST_TEXT]
        self.text = f"{self.title}\n{text}"
        self.is_listing = is_listing
        self._url = url
        self._address = " ".join(TERM.findall(unquote(url.partition("://")[2])))

    @cached_property
    def words(self) -> WordText:
        """Its words, with those of its address."""
        return WordText(f"{self.text}\n{self._address}")

    def repeats(self, stems: Set[str]) -> bool:
        """Whether its text only repeats some words; a text with hardly any small words has no sentences."""
        small, words = self._words.details.small_words.values(), self.content.lower().split()
        least = _SMALL * len(words)
        has_sentences = any(sum(word in known for word in words) >= least for known in small)
        return WordText(self.content).repeats(stems, has_sentences=has_sentences)

    def has_identifier(self, name: str) -> bool:
        """Whether it names a model, an error, a road or a version: KR-550, kr550, KR 550W; neither KR-5500 nor kr550s.

        A result whose title names another one, and not this one, is about that, unless it dates this version.
        """
        wanted = [run.casefold() for run in _RUN.findall(name)]
        in_text, in_title = self._runs
        text, title = in_text[0], in_title[0]
        word, _, number = name.partition(" ")
        versions = [at for at in _DECIMALS.finditer(text if number else "") if f"{at[0]}.".startswith(f"{number}.")]
        is_named = _names(*in_text, wanted) or (bool(versions) and self.words.has_word(word))
        return is_named and (
            _names(*in_title, wanted) or not _names_another(title, wanted) or self._dates_any(versions)
        )

    @cached_property
    def _runs(self) -> list[tuple[str, list[re.Match[str]]]]:
        """Its text and its title, each with the address, and their runs of letters and digits."""
        texts = (f"{given} {self._address}" for given in (self.text, self.title))
        return [(text, list(_RUN.finditer(text))) for text in texts]

    def _dates_any(self, versions: Sequence[re.Match[str]]) -> bool:
        """Whether a date follows one of some versions in its sentence."""
        behind = (PARTS.split(self.text[at.end() : at.end() + _BESIDE].lstrip(", "))[0] for at in versions)
        return any(day.kind == "date" for text in behind for day in find_evidence(text, self._words.details))

    def has_variant(self, name: str) -> bool:
        """Whether it names a variant of a model, such as 15 Pro; neither if its title names the model without it."""
        title, number = WordText(self.title), name.split()[0]
        return self.words.phrase(name) and (title.phrase(name) or not title.phrase(number))

    def has_variant_only(self, number: str) -> bool:
        """Whether a number is only that of other models: 15 in "15 Pro"."""
        found = list(re.finditer(rf"(?<!\w){number}(?!\w)", self.text))
        return bool(found) and all(VARIANT.match(self.text, match.end()) for match in found)

    @cached_property
    def _divided(self) -> list[WordText]:
        return list(map(WordText, self._words.divide(self.text, self.language)))

    def denies(self, unit: Unit, *, is_alone: bool = False) -> bool:
        """Whether it has a word only where it denies it, or denies it outright: not electric, no pets."""
        affirmed, in_phrase, _, alone = self._divided
        is_denied = alone.has(unit) or (not is_alone and in_phrase.has(unit))
        return is_denied and not affirmed.has(unit)

    def names_another(self, names: Sequence[str], known: WordText) -> bool:
        """Whether its title, without the site's name, names what other words lack, and not all of some names.

        A name has a capital amid the text; in German any noun has one.
        """
        title = _SITE.split(self.title)[0]
        if self.language == "de" or (names and all(map(WordText(title).phrase, names))):
            return False
        others = frozenset(NAME.findall(self.content))
        return any(term in others and not known.has_word(term) for term in TERM.findall(title))

    def lacks(self, unit: Unit) -> bool:
        """Whether it has nothing of a word, or says somewhere that it lacks it."""
        is_free = WordText(" ".join(FREE.findall(self.folded))).has(unit)
        return is_free or any(part.has(unit) for part in self._divided[1:]) or not self.words.has(unit)

    @cached_property
    def behind(self) -> dict[str, list[str]]:
        """Some of the folded words with a capital right behind each word, by its stem."""
        found: dict[str, list[str]] = {}
        for one, other in pairwise(TERM.finditer(self.text)):
            if other[0][0].isupper() and self.text[one.end() : other.start()] == " ":
                names = found.setdefault(stem_of(fold_words(one[0])), [])
                if len(names) < _MOST_BEHIND:
                    names.append(fold_words(other[0]))
        return found

    @cached_property
    def folded(self) -> str:
        """Title and text in small letters."""
        return fold(self.text)

    @cached_property
    def host(self) -> str:
        """The host of its address."""
        return host_of(self._url)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of title and text in small letters."""
        return frozenset(TERM.findall(self.folded))

    @cached_property
    def language(self) -> str | None:
        """The language of its text."""
        return find_language("", self.content, self._words.details.small_words)

    @cached_property
    def weekdays(self) -> frozenset[int]:
        """The days of the week on which something is open or takes place, Monday is 0."""
        return self._words.week.open_in(self.text)

    @cached_property
    def details(self) -> tuple[Evidence, ...]:
        """The dates, times, places and prices of title and text."""
        return tuple(detail for _, details in self._read for detail in details)

    @cached_property
    def _read(self) -> tuple[tuple[str, tuple[Evidence, ...]], ...]:
        """The title and the text, each with its details."""
        text = find_evidence(self.content, self._words.details) if self._known is None else self._known
        return (self.title, tuple(find_evidence(self.title, self._words.details))), (self.content, tuple(text))

    @cached_property
    def dates(self) -> tuple[DateEvidence, ...]:
        """Its days."""
        return tuple(detail for detail in self.details if detail.kind == "date")

    @cached_property
    def ranges(self) -> list[tuple[Evidence, Evidence]]:
        """Details that a word such as "to" joins, as days and hours of opening are."""
        return [
            (one, other)
            for text, details in self._read
            for one, other in pairwise(details)
            if other.start - one.end <= _LONGEST_JOINT and TO.fullmatch(text[one.end : other.start])
        ]

    def prices(self, *, by_period: bool) -> list[tuple[PriceEvidence, str]]:
        """Its prices, with what is said beside each; those that need not be paid now only if there are no others.

        Args:
            by_period: Whether those of a month are asked for.
        """
        every, asked = [], []
        for text, details in self._read:
            prices = [detail for detail in details if detail.kind == "price"]
            ends = (0, *(price.end for price in prices))
            starts = (*(price.start for price in prices[1:]), len(text))
            for since, price, until in zip(ends, prices, starts, strict=False):
                before = _CLAUSE.split(text[max(since, price.start - _CLAUSES) : price.start])[-1]
                behind = _CLAUSE.split(text[price.end : min(until, price.end + _CLAUSES)])[0]
                every.append((price, fold(f"{before} {behind}")))
                is_other = self._words.other_before.search(text[max(0, price.start - _BESIDE) : price.start])
                is_part = not by_period and BY_PERIOD.match(text[price.end : price.end + _BESIDE].lstrip())
                if not (is_other or is_part or self._words.other_behind.match(text, price.end)):
                    asked.append(every[-1])
        return asked or every

    @cached_property
    def measures(self) -> dict[str, list[Decimal]]:
        """The measures that it states, by kind, in one unit of each; without those that can be read in two ways."""
        found: dict[str, list[Decimal]] = {}
        for match in MEASURE.finditer(self.text):
            if (measure := measure_of(match)) is not None:
                found.setdefault(measure[1], []).append(measure[0])
        return found

    def may_be_of(self, year: int) -> bool:
        """Whether it names a year, or days of which none has a year."""
        return year in self.years or (bool(self.dates) and not self.years)

    @cached_property
    def years(self) -> frozenset[int]:
        """The years that it names."""
        return frozenset(map(int, YEAR.findall(self.text)))

    @cached_property
    def has_hours(self) -> bool:
        """Whether it has a range of hours, as of opening."""
        return _HOURS.search(self.content) is not None

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The words that follow its numbers, and those before a number behind a colon."""
        return tuple(self._words.counted.findall(self.text))

    def has(self, kind: AskedKind) -> bool:
        """Whether it has a detail of a kind; a year is a date, and hours of opening are a time."""
        if any(detail.kind == kind for detail in self.details):
            return True
        match kind:
            case "date":
                is_named = _IN_YEAR.search(self.content) or _MONTH.search(self.content)
                return bool(self.years or is_named) or self._words.name_day(self.content)
            case "time":
                return self.has_hours
            case "number":
                return self._words.number.search(YEAR.sub(" ", self.content)) is not None
        return False


def _names(text: str, runs: Sequence[re.Match[str]], wanted: Sequence[str]) -> bool:
    """Whether a text, with its runs of letters and digits, has some of these one behind the other."""
    for at in range(len(runs) - len(wanted) + 1):
        found = runs[at : at + len(wanted)]
        if [run[0].casefold() for run in found] != wanted:
            continue
        first, last = found[0], found[-1]
        between = [text[one.end() : other.start()] for one, other in pairwise(found)]
        # "a 4-lane road" is not the A4.
        is_word = len(first[0]) == 1 and first[0].islower() and " " in between
        before = text[first.start() - 1 : first.start()] if first.start() else ""
        is_longer = text[last.end() : last.end() + 1].islower() or (before.isascii() and before.isalnum())
        is_variant = VARIANT.match(text, last.end()) is not None
        if not (is_word or is_longer or is_variant) and _BETWEEN.issuperset(between):
            return True
    return False


def _names_another(text: str, wanted: Sequence[str]) -> bool:
    """Whether a text has the letters of a name with other numbers behind them."""
    others = (match[2].split(".") for match in _NUMBERED.finditer(text) if match[1].casefold() == wanted[0])
    return any(other != list(wanted[1:][: len(other)]) for other in others)
