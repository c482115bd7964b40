"""The detector of pages that came with status 200 and are no content: "not found", a bot test, a wall, a parked domain.

Titles and text decide, so it reads a search engine's title and snippet as well as a whole page. A phrase counts in a
short page only. A title, and a phrase that also occurs beside content, count only where no details and no prose are
left without them: an article may be about error messages, and an event's page may ask its visitors to log in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pydantic import Field

from handlers.html.links import canonical_url, host_of, registrable_domain
from handlers.html.main_text import count_words, has_cjk
from handlers.text.evidence import find_evidence
from handlers.text.patterns import DetailPatterns
from handlers.text.sentences import sentences
from schemas.replies import FetchFailure
from schemas.rules import Section

_BETWEEN_PARTS = re.compile(r"[|–—·»«]|\s-\s|\s~\s")
_AROUND = " \t\r\n.,!?…\"'“”„()[]*-–—！。、？：:"
_WORD = re.compile(r"[^\W_]+")
_ROOT = re.compile(
    r"/*(?:[a-z]{2}(?:[-_][a-z]{2})?/*)?(?:(?:index|default|home|start)(?:\.[a-z]{2,5})?/*)?", re.IGNORECASE
)


class SaidTogether(Section):
    """Two sides of a statement, in lower case. One of each in one sentence makes the statement."""

    of: tuple[str, ...] = Field(min_length=1, description="The subject.")
    said: tuple[str, ...] = Field(min_length=1, description="What is said of it.")


class RefusalWords(Section):
    """The words of one kind of refusal, in lower case."""

    titles: tuple[str, ...] = Field(default=(), description="Whole titles, or whole parts of titles.")
    phrases: tuple[str, ...] = Field(default=(), description="Phrases that decide anywhere in a short page.")
    remarks: tuple[str, ...] = Field(
        default=(), description="Phrases that decide where no content is left beside them."
    )
    together: tuple[SaidTogether, ...] = Field(default=(), description="Statements that count as a remark.")


class PageRefusalsSection(Section):
    """The ``page_refusals`` section of the configuration."""

    short_characters: int = Field(ge=0, description="Text above which no phrase decides.")
    page_characters: int = Field(ge=0, description="Text above which a page is content, whatever its title is.")
    least_characters: int = Field(ge=0, description="Text below which a page holds nothing.")
    sentence_words: int = Field(ge=1, description="Words from which on a sentence counts as prose.")
    prose_words: int = Field(ge=1, description="Words of prose that are content beside a title or a remark.")
    refresh_seconds: int = Field(ge=0, description="A short page that redirects within so many seconds is no content.")
    challenge: RefusalWords = Field(description="Proof of being human is wanted, or a login or subscription.")
    soft_404: RefusalWords = Field(description="There is no such page.")
    nothing: RefusalWords = Field(description="Nothing is here: a parked domain, an outage, a page of scripts.")
    consent: SaidTogether = Field(description="Purposes and buttons of pages that want consent; both must occur.")
    mentions: tuple[str, ...] = Field(description="Phrases of texts that are about refusals.")
    walls: tuple[str, ...] = Field(description="Labels of hosts and path segments that name a wall.")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a page is no content, and the words that say so."""

    reason: FetchFailure
    words: str


class Refusals:
    """The detector under one configuration; its words are indexed once."""

    def __init__(self, section: PageRefusalsSection, details: DetailPatterns) -> None:
        """Indexes the words. ``details`` find the dates, times, places and prices that make a page content."""
        self.section = section
        self._details = details
        kinds = ((FetchFailure.CHALLENGE, section.challenge), (FetchFailure.SOFT_404, section.soft_404),
                 (FetchFailure.NO_CONTENT, section.nothing))  # fmt: skip
        self._titles = {title: reason for reason, words in reversed(kinds) for title in words.titles}
        self._sure = {phrase: reason for reason, words in kinds for phrase in words.phrases}
        self._remarks = {phrase: reason for reason, words in kinds for phrase in words.remarks}
        self._together = [(reason, pair) for reason, words in kinds for pair in words.together]
        pairs = (section.consent, *(pair for _, pair in self._together))
        phrases = {
            *self._sure,
            *self._remarks,
            *section.mentions,
            *(side for pair in pairs for side in pair.of + pair.said),
        }
        # A phrase is looked for only where its first word occurs, if its script has blanks between words.
        self._unspaced = [phrase for phrase in sorted(phrases) if has_cjk(phrase)]
        self._by_word: dict[str, list[str]] = {}
        for phrase in sorted(phrases.difference(self._unspaced)):
            self._by_word.setdefault(phrase.split()[0], []).append(phrase)

    def why_no_content(self, titles: Sequence[str], text: str, url: str = "") -> Refusal | None:
        """Why a page is not content; None where it is (R-273).

        Args:
            titles: The names of the page: its window's title, its main heading.
            text: Its main text or a snippet; "" where only the titles are to be believed.
            url: Its address: a page below ``/wiki/HTTP_404`` is about the error.
        """
        section = self.section
        if len(text) > section.page_characters:
            return None
        named = next((part for title in titles for part in _parts(title) if part in self._titles), None)
        found = self._phrases_in(said := _lower("\n".join((*titles, text))))
        if (named is None and not found) or not found.isdisjoint(section.mentions) or (named and _is_about(url, named)):
            return None
        is_short = len(text) <= section.short_characters
        if is_short and (sure := min(sorted(found & self._sure.keys()), key=said.find, default=None)):
            return Refusal(self._sure[sure], sure)
        refusal = Refusal(self._titles[named], named) if named else self._remark(found, said) if is_short else None
        wants, asks = section.consent.of, section.consent.said
        if refusal is None and (of := found.intersection(wants)) and not found.isdisjoint(asks):
            refusal = Refusal(FetchFailure.CHALLENGE, min(of))
        if refusal is None:
            return None
        refusing = {refusal.words, *found.intersection((*self._sure, *self._remarks, *wants, *asks))}
        return None if self._has_content(text, refusing) else refusal

    def _phrases_in(self, said: str) -> set[str]:
        words = {word.strip(_AROUND) for word in said.split()} & self._by_word.keys()
        found = {phrase for word in words for phrase in self._by_word[word] if phrase in said}
        return found.union(phrase for phrase in self._unspaced if phrase in said) if has_cjk(said) else found

    def _remark(self, found: set[str], said: str) -> Refusal | None:
        """The first remark in a sentence that is not prose."""
        if self._remarks.keys().isdisjoint(found) and len(found) < 2:
            return None
        for sentence in filter(self._is_no_prose, map(_one_line, sentences(said, is_folded=True))):
            for remark in sorted(found & self._remarks.keys()):
                if remark.strip() in sentence:
                    return Refusal(self._remarks[remark], remark)
            for reason, pair in self._together:
                if all(any(phrase in sentence for phrase in found.intersection(side)) for side in (pair.of, pair.said)):
                    return Refusal(reason, sentence[:100])
        return None

    def _has_content(self, text: str, refusing: set[str]) -> bool:
        """Whether prose or a detail is left without the sentences that refuse, or details of two kinds with them."""
        lowered = ((sentence, _one_line(_lower(sentence))) for sentence in sentences(text, is_folded=True))
        left = [sentence for sentence, lower in lowered if not any(phrase.strip() in lower for phrase in refusing)]
        prose = sum(_words(sentence) for sentence in left if not self._is_no_prose(sentence))
        return (
            prose >= self.section.prose_words
            or bool(find_evidence("\n".join(left), self._details, 1))
            or len({detail.kind for detail in find_evidence(text, self._details, 1)}) > 1
        )

    def _is_no_prose(self, sentence: str) -> bool:
        return _words(sentence) < self.section.sentence_words


def why_elsewhere(asked: str, final: str, section: PageRefusalsSection) -> FetchFailure | None:
    """Why the page that redirects led to is not the one that was asked for; None where it may be.

    A login, a consent page or a test is a challenge; a site's front page in the place of a page deep inside is a soft
    404.
    """
    if canonical_url(asked) == canonical_url(final):
        return None
    if not _names(final).isdisjoint(set(section.walls) - _names(asked)):
        return FetchFailure.CHALLENGE
    at, wanted = urlsplit(final), urlsplit(asked)
    if at.query or not _ROOT.fullmatch(at.path) or _ROOT.fullmatch(wanted.path):
        return None
    same_site = registrable_domain(host_of(asked)) == registrable_domain(host_of(final))
    return FetchFailure.SOFT_404 if same_site else None


def _lower(text: str) -> str:
    return f" {text} ".lower().replace("’", "'").replace("\n", " \n ")


def _words(text: str) -> float:
    return count_words(text) / (2 if has_cjk(text) else 1)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _parts(title: str) -> Iterable[str]:
    """A title as a whole and in its parts, lower-case and without punctuation around them."""
    lowered = _one_line(_lower(title))
    return [part.strip(_AROUND) for part in (lowered, *_BETWEEN_PARTS.split(lowered))]


def _is_about(url: str, named: str) -> bool:
    """Whether the last of several segments of an address has the words of a title: the page is about them."""
    folder, _, last = unquote(url).lower().partition("?")[0].rstrip("/").rpartition("/")
    return folder.count("/") > 2 and set(_WORD.findall(named)) <= set(_WORD.findall(last))


def _names(url: str) -> set[str]:
    """Labels of the host and segments of the path, the segments without their ending."""
    segments = urlsplit(url).path.lower().split("/")
    return {*host_of(url).split("."), *(segment.partition(".")[0] for segment in segments)} - {""}
