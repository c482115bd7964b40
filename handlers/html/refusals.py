"""Detects pages that came with status 200 and are no content: "not found", a bot test, a wall, a parked domain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import Field

from handlers.html.main_text import count_words, has_cjk
from handlers.text.evidence import find_evidence
from handlers.text.patterns import DetailPatterns
from handlers.text.sentences import sentences
from schemas.replies import FetchFailure
from schemas.rules import Section

_BETWEEN_PARTS = re.compile(r"[|–—·»«]|\s-\s|\s~\s")
_AROUND = " \t\r\n.,!?…\"'“”„()[]*-–—！。、？：:"
Words = tuple[str, ...]


class RefusalWords(Section):
    """The words of one kind of refusal, in lower case."""

    titles: Words = Field(description="Whole titles or parts of titles. The phrases count as titles too.")
    phrases: Words = Field(description="Phrases that decide anywhere in a short page.")
    statements: tuple[tuple[Words, ...], ...] = Field(
        description="Lists of phrases; one of each in a sentence decides."
    )


class PageRefusalsSection(Section):
    """The ``page_refusals`` section of the configuration."""

    short_characters: int = Field(ge=0, description="Text above which no phrase decides.")
    page_characters: int = Field(ge=0, description="Text above which a page is content, whatever its title is.")
    least_characters: int = Field(ge=0, description="Text below which a page holds nothing.")
    sentence_words: int = Field(ge=1, description="Words from which on a sentence counts as prose.")
    prose_words: int = Field(ge=1, description="Words of prose that are content beside a title or a statement.")
    refresh_seconds: int = Field(ge=0, description="A short page that redirects within so many seconds is no content.")
    challenge: RefusalWords = Field(description="Proof of being human is wanted, or a login or subscription.")
    soft_404: RefusalWords = Field(description="There is no such page.")
    nothing: RefusalWords = Field(description="Nothing is here: a parked domain, an outage, a page of scripts.")
    mentions: Words = Field(description="Phrases of texts that are about refusals.")
    walls: Words = Field(description="Labels of hosts and path segments that name a wall.")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a page is no content, and the words that say so."""

    reason: FetchFailure
    words: str


class Refusals:
    """The detector under one configuration. A title or a statement decides only if no content is left beside it."""

    def __init__(self, section: PageRefusalsSection, details: DetailPatterns) -> None:
        """Indexes the words; ``details`` find the dates, times, places and prices that make a page content."""
        self.section = section
        self._details = details
        challenge, soft_404, nothing = FetchFailure.CHALLENGE, FetchFailure.SOFT_404, FetchFailure.NO_CONTENT
        kinds = ((challenge, section.challenge), (soft_404, section.soft_404), (nothing, section.nothing))
        self._phrases = {phrase: reason for reason, words in kinds for phrase in words.phrases}
        self._titles = self._phrases | {title: reason for reason, words in kinds for title in words.titles}
        self._statements = [(reason, lists) for reason, words in kinds for lists in words.statements]
        stated = (phrase for _, lists in self._statements for phrases in lists for phrase in phrases)
        known = dict.fromkeys((*self._phrases, *section.mentions, *stated))
        # The first word of a phrase has to be a word of the text, where blanks divide words: "domain" is not "domaine".
        self._known = {
            phrase: first if (first := phrase.split()[0]).isalpha() and not has_cjk(first) else "" for phrase in known
        }

    def why_no_content(self, titles: Sequence[str], text: str) -> Refusal | None:
        """Why a page is not content (R-273). ``text`` is its main text or a snippet, "" if only the titles count."""
        if len(text) > self.section.page_characters:
            return None
        title = next((part for title in titles for part in _parts(title) if part in self._titles), None)
        is_short = len(text) <= self.section.short_characters
        said = _lower("\n".join((*titles, text)))
        words = {"", *(word.strip(_AROUND) for word in said.split())} if is_short or title else set()
        found = {phrase for phrase, first in self._known.items() if first in words and phrase in said}
        if not found.isdisjoint(self.section.mentions):
            return None
        if is_short and (phrase := min(sorted(self._phrases.keys() & found), key=said.find, default="")):
            return Refusal(self._phrases[phrase], phrase)
        stated = dict(self._stated(said, found)) if is_short else {}
        refusal = Refusal(self._titles[title], title) if title else next(iter(stated.values()), None)
        return None if refusal is None or self._has_content(text, {*stated, title}) else refusal

    def _stated(self, said: str, found: set[str]) -> Iterable[tuple[str, Refusal]]:
        """The sentences that make a statement and are no prose."""
        for reason, lists in self._statements:
            sides = [found.intersection(phrases) for phrases in lists]
            for sentence in sentences(said, is_folded=True) if all(sides) else ():
                is_said = all(any(phrase in f" {sentence} " for phrase in side) for side in sides)
                if is_said and _words(sentence) < self.section.sentence_words:
                    yield (line := _one_line(sentence)), Refusal(reason, line[:100])

    def _has_content(self, text: str, refusing: set[str | None]) -> bool:
        """Whether prose or a detail is left without the sentences that refuse, or details of two kinds are in any."""
        lines = sentences(text, is_folded=True)
        left = [sentence for sentence in lines if _one_line(_lower(sentence)) not in refusing]
        prose = sum(words for sentence in left if (words := _words(sentence)) >= self.section.sentence_words)
        if prose >= self.section.prose_words or find_evidence("\n".join(left), self._details, 1):
            return True
        return len({detail.kind for detail in find_evidence(text, self._details, 1)}) > 1


def _lower(text: str) -> str:
    return f" {text.lower()} ".replace("’", "'").replace("\n", " \n ")


def _words(text: str) -> float:
    return count_words(text) / (2 if has_cjk(text) else 1)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _parts(title: str) -> Iterable[str]:
    """A title as a whole and in its parts, lower-case and without punctuation around them."""
    lowered = _one_line(_lower(title))
    return [part.strip(_AROUND) for part in (lowered, *_BETWEEN_PARTS.split(lowered))]
