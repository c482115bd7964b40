"""A sentence of a claim: its subject, its verb and its names, and what they leave open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from handlers.claims.languages import LanguageWords, Word

DOUBTS = ("any", "figure")
_NAME_AND_NEXT = re.compile(r"\b([A-Z][\w'’-]{1,30}) (?=([\w'’-]{1,31}))")
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?![\d.,]\d)|(?<!\d)\d{1,4}年")
_AMOUNT = re.compile(r"(?<![0-9A-Za-z.,])[0-9]|[一二兩两三四五六七八九十百千萬万億亿數数][人名位件起次間间家成倍元]")
_NAME_TAGS = ("nr", "ns", "nt", "nz")
_BEFORE_NOUNS = frozenset({"articles", "postmodifiers", "possessives", "determiners"})
_TIMES = ("relative_times", "later_times", "weekdays")
_REACH, _SUBJECT, _SHOWN, _SHORT_HAN, _DESCRIPTION = 4, 3, 60, 2, 6
"""Words after a noun or pronoun that show what it is; words of a subject; characters that a reason quotes; of an
everyday Chinese word; words that describe a thing as well as a name."""


class Gap(NamedTuple):
    """What a reader needs to know: a kind, which ``REASONS`` has, and the words that leave it open."""

    kind: str
    words: str


class Sentence:
    """A sentence of a claim: its words and what they say."""

    def __init__(self, text: str, language: LanguageWords) -> None:
        self.own = language
        self.text = text.capitalize() if text.isupper() else text
        self.words = language.words(self.text)
        self.counts = Counter(kind for word in self.words for kind in word.kinds)
        content = [word.text for word in self.words if word.text[0].isalpha() and not word.is_function_word]
        # Two ideographs are about one word.
        self.content = len(content) if language.spaced else sum(map(len, content)) // 2
        self.is_question = text.rstrip("\"'”’)」 ").endswith(("?", "？")) or "questions" in self.words[0].kinds
        year = _YEAR.search(text)
        self.year_at = year.start() if year else len(text)
        self.has_year = year is not None
        self.amounts = len(_AMOUNT.findall(_YEAR.sub(" ", text)))

    @cached_property
    def tags(self) -> list[tuple[str, str]]:
        """The words of a Chinese sentence with their parts of speech."""
        import rjieba  # its dictionary takes a third of a second to load

        return list(rjieba.tag(self.text))

    @cached_property
    def names(self) -> int:
        """Names that are certain: capitals inside of a sentence, or two in a row; Chinese ones by their tags."""
        if not self.own.spaced:
            tagged = sum(len(word) > 1 and tag in _NAME_TAGS for word, tag in self.tags)
            return tagged + sum(word.text.isascii() and word.text.isalpha() for word in self.words)
        capital = [False, *(word.may_be_name for word in self.words), False]
        capital[1] = capital[1] and not self.own.is_common(self.words[0].text)
        is_sure = [bool(self.own.common), *(self._is_inside(place) for place in range(1, len(self.words)))]
        beside = zip(capital, capital[1:], capital[2:], is_sure, strict=False)
        return sum(is_name and not before and (after or sure) for before, is_name, after, sure in beside)

    def _is_inside(self, place: int) -> bool:
        # A part of a compound with a hyphen is mostly a name: Gotthard-Basistunnel.
        is_compound = "-" in self.words[place].text
        return not self.own.capital_nouns or is_compound or "places" in self.words[place - 1].kinds

    @cached_property
    def verb(self) -> int | None:
        """The place of the first finite verb."""
        return self._verb_from(0)

    def _verb_from(self, start: int) -> int | None:
        """The same from a place on: no word behind an article, and no participle ("built in 1932 was closed")."""
        found = [place for place in range(start, len(self.words)) if self._is_verb(place)]
        if not found:
            return None
        first = found[0]
        following = next((place for place in found[1:] if self.words[place].kinds), first)
        is_participle = bool(self.own.common) and self.words[first].is_past and not self.words[first].kinds
        between = self.words[first:following]
        return following if is_participle and all("clause_starts" not in word.kinds for word in between) else first

    def _is_verb(self, place: int) -> bool:
        word = self.words[place]
        if place == 0 or word.kinds:
            return word.is_verb
        before = self.words[place - 1]
        may_be = word.is_verb or self.own.may_be_verb(word.text, before.text, is_sure=False)
        return may_be and not before.kinds & _BEFORE_NOUNS

    @cached_property
    def is_past(self) -> bool:
        """Whether it reports an event."""
        has_present = self.counts["verbs"] > 0
        return any(
            word.is_past and ("verbs" not in before.kinds if "past" in word.kinds else not has_present)
            for before, word in pairwise([self.words[0], *self.words])
        )

    @cached_property
    def is_statement(self) -> bool:
        """Whether it has a subject and a finite verb and asks nothing."""
        if self.is_question:
            return False
        if not self.own.spaced:
            return True
        first, *following = self.words
        if first.text.lower() in self.own.imperatives and not any(word.is_verb for word in following[:1]):
            return False
        if self.verb is None:
            # Lists have few verbs, but a heading has small words of grammar only, beside its nouns.
            return any(
                not before.is_function_word
                and self.own.may_be_verb(word.text, before.text, is_sure=self.text.endswith("."))
                if self.own.common
                else word.text[0].islower() and not word.is_function_word
                for before, word in pairwise(self.words)
            )
        is_first = self.verb == 0 and "exceptions" not in first.kinds
        return not is_first or ("verbs" not in first.kinds and any(word.is_verb for word in following))

    @cached_property
    def pronouns(self) -> tuple[list[str], list[str]]:
        """Pronouns that no noun of an earlier clause resolves, and those that one may resolve."""
        opened, resolved = list[str](), list[str]()
        nouns_before = nouns = 0
        for place, word in enumerate(self.words):
            if "clause_starts" in word.kinds:
                nouns_before = nouns
            if self._is_pronoun(place):
                may_refer = (nouns if "possessives" in word.kinds else nouns_before) > 0
                (resolved if may_refer else opened).append(word.text)
            is_name = place == 0 or not self.own.capital_nouns or word.text[0].isupper()
            is_content = word.text[0].isalpha() and len(word.text) > 1 and not word.is_function_word
            nouns += is_name and is_content and not (word.is_verb and word.kinds)
        return opened, resolved

    def _is_pronoun(self, place: int) -> bool:
        word, following = self.words[place], self.words[place + 1 : place + _REACH]
        is_subject = "subject_pronouns" in word.kinds and bool(following) and following[0].is_verb
        if word.kinds.isdisjoint(("pronouns", "possessives")) and not is_subject:
            return False
        return "dummies" not in word.kinds or not any("expletives" in other.kinds for other in following)

    @cached_property
    def start(self) -> int | None:
        """The place where the subject begins; None if that is not seen."""
        first = self.words[0]
        commas = [place for place, word in enumerate(self.words) if word.text in ",，"]
        comma = commas[0] if commas else None
        if "articles" in first.kinds or first.kinds.isdisjoint(("postmodifiers", "clause_starts", *_TIMES)):
            # "Unlike its predecessor, the phone has": two commas would be around a name for the same thing.
            opening = [place + 1 for place in commas if place < (self.verb or 0) and "articles" not in first.kinds]
            return opening[0] if len(opening) == 1 and "articles" in self.words[opening[0]].kinds else 0
        for place, (before, word) in enumerate(pairwise(self.words), 1):
            # "In 1986 the company", "In Israel, with a year left, the show": no preposition is before the article.
            is_end = before.text in ",，" or before.text[0].isdigit() or before.may_be_name
            if "articles" in word.kinds and is_end and not self.own.is_inverted:
                return place
        if comma is None and self.own.is_inverted:
            comma = self.verb
        return None if comma is None or comma + 1 >= len(self.words) else comma + 1

    def gaps(self) -> Iterator[Gap]:
        """What a reader needs to know."""
        for kind, words in (("pronoun", self.pronouns[0]), ("pointing", self._of("pointing"))):
            yield from (Gap(kind, word) for word in words)
        if not self.names and not self.is_question:
            yield from (Gap("speaker", word) for word in self._of("speakers"))
        times = self._of("relative_times") + ([] if self.has_year else self._of("weekdays"))
        times += [word.text for word in self.words if "later_times" in word.kinds and word.start < self.year_at]
        yield from (Gap("relative_time", word) for word in times)
        yield from (gap for gap in self._open if gap.kind not in DOUBTS)

    def short_name(self, source: str) -> str | None:
        """A single name as the subject whose source has a longer one, or of a person without a year."""
        at = self.start or 0
        first, *following = self.words[at:]
        is_single = first.may_be_name and bool(following) and self.verb == at + 1 and self.own.spaced
        if not is_single or self.own.is_common(first.text) or self.own.is_plural(first.text):
            return None
        pairs = (pair for pair in _NAME_AND_NEXT.finditer(source) if pair[2] == first.text)
        longer = next(pairs, None)
        is_longer = longer is not None and not self.own.knows(longer[1])
        is_person = not self.has_year and any("lives" in word.kinds for word in following[:2])
        return first.text if is_longer or is_person else None

    def doubts(self) -> Iterator[Gap]:
        """What may be one thing or all such things."""
        yield from (gap for gap in self._open if gap.kind in DOUBTS and self.is_statement)

    def _of(self, kind: str) -> list[str]:
        return [word.text for word in self.words if kind in word.kinds]

    @cached_property
    def _open(self) -> list[Gap]:
        """Whether subject and event say which one they are."""
        if self.is_question:
            return []
        at = self.start or 0
        beginnings = (*self.words[:_SUBJECT], *self.words[at : at + _SUBJECT])
        pointing = [word.text for word in beginnings if "pointing_subjects" in word.kinds]
        if pointing and not any("connectives" in word.kinds for word in self.words[1 : self.verb]):
            return [Gap("pointing", pointing[0])]
        if self.own.spaced and self.start is not None and (gap := self._subject(self.start)):
            return [gap]
        if self.names or self.counts["uniques"] or not (self.is_past or self.amounts or self.has_year):
            return []
        first, shown = self.words[0], self.text[:_SHOWN]
        if not self.own.spaced:
            if self.is_past and not self.has_year:
                return [Gap("unplaced", shown)]
            # Longer words are seldom those of everyday things.
            is_short = len(self.tags[0][0]) <= _SHORT_HAN
            return [Gap("figure", shown)] if is_short or self.is_past or not self.has_year else []
        if self.own.common or not first.may_be_name:
            return [Gap("unplaced" if self.is_past else "figure", shown)] if self.is_past or self.amounts else []
        # The first word may be a name.
        return [] if self.has_year and not self.amounts else [Gap("any", first.text)]

    def _subject(self, start: int) -> Gap | None:
        """The subject if nothing tells which one it is."""
        first, verb = self.words[start], self._verb_from(start)
        is_behind_verb = start - 1 == self.verb
        words = self.words[start : start + _REACH if verb is None or is_behind_verb else verb] or [first]
        shown = self.text[first.start : words[-1].start + len(words[-1].text)]
        is_article = "articles" in first.kinds
        is_long = sum(not word.is_function_word for word in words) >= _DESCRIPTION
        is_unique = any("uniques" in word.kinds for word in words)
        is_owned = len(words) > 1 and words[1].text.endswith(("'s", "’s")) and not words[1].may_be_name
        if is_unique or (not is_owned and (is_long or self._tells_which(words[1:], is_article=is_article))):
            return None
        if is_article or (len(words) == 1 and first.text.endswith(self.own.definite_endings)):
            found = self.words[verb : verb + 2] if verb is not None else []
            is_definition = len(found) > 1 and found[0].text in self.own.copulas and found[1].kinds & _BEFORE_NOUNS
            if self.is_past or (self.own.common and not is_definition):
                return Gap("subject", shown)
            # A rare word is a term, which a reader can look up.
            return None if self.own.common and words[-1].text.lower() not in self.own.common else Gap("any", shown)
        if first.is_function_word or not first.text[0].isalpha() or (start and not self.own.common):
            return None
        is_common, is_plural = self.own.is_common(first.text), self.own.is_plural(first.text)
        if len(words) > 1 and words[1].text[0].isdigit():
            return Gap("subject", shown) if is_common else None
        is_saying = verb is not None and "sayings" in self.words[verb].kinds
        is_plural = is_plural or (verb is not None and self.words[verb].text.endswith(self.own.plural_verb_endings))
        if not (is_common or (is_plural and not self.own.common)):
            return None
        if is_plural and is_saying:
            return Gap("subject", shown)
        if self.is_past:
            is_told = bool(self.names or self.counts["uniques"]) and (self.has_year or not is_plural)
            is_sure = bool(self.own.common or self.counts["past"])
            return Gap("subject" if is_sure and not is_told else "any", shown)
        return Gap("any", shown) if self.amounts and not self.names else None

    def _tells_which(self, words: Sequence[Word], *, is_article: bool) -> bool:
        """Whether words behind a noun or its article say which one is meant: a name, a year or a postmodifier."""
        for place, word in enumerate(words):
            if _YEAR.fullmatch(word.text) or "postmodifiers" in word.kinds:
                return True
            # Where nouns have capitals, two of them are a name.
            before = "x" if is_article and not place else words[place - 1].text
            if word.may_be_name and (not self.own.capital_nouns or before[0].isupper()):
                return True
        return False

    def is_specified(self, place: int) -> bool:
        """Whether the words behind an article say which one is meant."""
        words = self.words[place : place + _REACH]
        verb = next((number for number, word in enumerate(words) if word.is_verb and word.kinds), None)
        return self._tells_which(words[:verb], is_article=True)
