"""Pages that came with status 200 and are no content: "not found", "checking your browser", "accept our cookies".

Titles, text and the addresses before and after redirects go in; why the page is not passed on comes out, or None.
Careful on purpose: an article may well be about error messages. So a phrase counts in a short page only, in a longer
one a title that says nothing else, and beyond some length nothing does. A page of an event may well ask its visitors to
log in, too: what also stands beside content counts only where there is no date with another detail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from pydantic import Field

from handlers.page.links import canonical_url, host_of, registrable_domain
from handlers.results.evidence import find_evidence
from handlers.results.patterns import CompiledPatterns
from schemas.replies import FetchFailure
from schemas.rules import Section

_BETWEEN_PARTS = re.compile(r"[|–—·»«]|\s-\s|\s~\s")
_SENTENCE_ENDS = re.compile(r"[.!?\n。！？]")
_AROUND = " \t\r\n.,!?…\"'“”„()[]*-–—！。、？：:"
_NUMBER = re.compile(r"\d[\d.,]{0,20} ?")
_DIGIT_OR_HYPHEN = re.compile(r"[0-9_-]")
_ROOT = re.compile(r"/*(?:[a-z]{2}(?:[-_][a-z]{2})?/*)?", re.IGNORECASE)
_INDEX = re.compile(r"(?:index|default|home|start)(?:\.[a-z]{2,5})?", re.IGNORECASE)


class SaidTogether(Section):
    """Two sides of a statement; all in lower case. One of each in one sentence of a short page makes it."""

    of: tuple[str, ...] = Field(min_length=1, description="What is spoken of.")
    said: tuple[str, ...] = Field(min_length=1, description="What is said of it.")


class RefusalWords(Section):
    """How pages of one kind are known; all in lower case."""

    titles: tuple[str, ...] = Field(
        default=(), description="Whole titles, or whole parts of titles, without punctuation around them."
    )
    phrases: tuple[str, ...] = Field(default=(), description="Phrases anywhere in a short page.")
    remarks: tuple[str, ...] = Field(
        default=(),
        description="Phrases that also stand beside content: they count in a short page without a date and another "
        "detail.",
    )
    together: tuple[SaidTogether, ...] = Field(
        default=(), description="What says so where it stands in one sentence, under the same condition."
    )


class PageRefusalsSection(Section):
    """The ``page_refusals`` section of the configuration."""

    short_characters: int = Field(ge=0, description="Text above which no phrase of a page says that it is a refusal.")
    page_characters: int = Field(ge=0, description="Text above which a page is content, whatever its title says.")
    least_characters: int = Field(ge=0, description="Text below which a page holds nothing.")
    soft_404: RefusalWords = Field(description="Pages that say that there is no such page.")
    challenge: RefusalWords = Field(description="Pages that want proof of being human, or a login.")
    nothing: RefusalWords = Field(
        description="Pages that say that there is nothing to see now or here: they want scripts, or are out of order."
    )
    consent: tuple[str, ...] = Field(description="Phrases of pages that want consent; each may stand in content too.")
    least_consent: int = Field(ge=1, description="Different phrases that make a page of at most page_characters one.")
    banner_characters: int = Field(ge=0, description="Text of a page that may hold nothing but a question for consent.")
    banner_consent: int = Field(
        ge=1, description="Different phrases that make a page of at most banner_characters without any detail one."
    )
    refresh_seconds: int = Field(
        ge=0, description="Within how many seconds a short page that sends its reader elsewhere is no content."
    )
    walls: tuple[str, ...] = Field(
        description="Labels of hosts and path segments to which redirects lead that want a login, consent or proof."
    )


def why_no_content(
    titles: Sequence[str], text: str, section: PageRefusalsSection, patterns: CompiledPatterns
) -> FetchFailure | None:
    """Why a page that came is not content; None where it is (R-273).

    Args:
        titles: What the page is called: its window's title, its main heading.
        text: Its main text; "" where only the titles are to be believed.
        section: Phrases and limits.
        patterns: How dates, times, places and prices are written: a page that states them is more than a wall.
    """
    if len(text) > section.page_characters:
        return None
    kinds = (
        (FetchFailure.CHALLENGE, section.challenge),
        (FetchFailure.SOFT_404, section.soft_404),
        (FetchFailure.NO_CONTENT, section.nothing),
    )
    named = {part for title in titles for part in _parts(title)}
    for reason, words in kinds:
        if not named.isdisjoint(words.titles):
            return reason
    said = "\n".join((*titles, text)).lower().replace("’", "'")
    unnumbered = _NUMBER.sub("", said)  # "we and our 842 partners"
    asks = sum(phrase in unnumbered for phrase in section.consent)
    if asks >= section.least_consent:
        return FetchFailure.CHALLENGE
    if len(text) > section.short_characters:
        return None
    for reason, words in kinds:
        if _says(words.phrases, said):
            return reason
    sentences = _SENTENCE_ENDS.split(said)
    remarked = next((reason for reason, words in kinds if _remarks(words, said, sentences)), None)
    is_banner = asks >= section.banner_consent and len(text) <= section.banner_characters
    if remarked is None and not is_banner:
        return None
    details = {detail.kind for detail in find_evidence(text, patterns, 1)}
    if remarked is not None and not ("date" in details and len(details) > 1):
        return remarked
    return FetchFailure.CHALLENGE if is_banner and not details else None


def why_elsewhere(asked: str, final: str, section: PageRefusalsSection) -> FetchFailure | None:
    """Why the place that redirects led to is not what was asked for; None where it may be.

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
    return FetchFailure.SOFT_404 if same_site and _is_deep(wanted.path, wanted.query) else None


def _remarks(words: RefusalWords, said: str, sentences: Iterable[str]) -> bool:
    return _says(words.remarks, said) or any(
        _says(pair.of, one) and _says(pair.said, one) for one in sentences for pair in words.together
    )


def _says(phrases: Iterable[str], text: str) -> bool:
    return any(_holds(text, phrase) for phrase in phrases)


def _holds(text: str, phrase: str) -> bool:
    """Whether a phrase is in a text; one that begins with a number is not in "10 results" as "0 results"."""
    at = text.find(phrase)
    while at > 0 and phrase[0].isdecimal() and text[at - 1].isdecimal():
        at = text.find(phrase, at + 1)
    return at >= 0


def _parts(title: str) -> Iterable[str]:
    """A title as a whole and in its parts, lower-case and without punctuation around them."""
    lowered = " ".join(title.lower().replace("’", "'").split())
    return [part.strip(_AROUND) for part in (lowered, *_BETWEEN_PARTS.split(lowered))]


def _names(url: str) -> set[str]:
    """Labels of the host and segments of the path, the segments without their ending."""
    segments = urlsplit(url).path.lower().split("/")
    return {*host_of(url).split("."), *(segment.partition(".")[0] for segment in segments)} - {""}


def _is_deep(path: str, query: str) -> bool:
    """Whether an address is that of a single page, which no front page stands for."""
    segments = [segment for segment in path.split("/") if segment]
    if not segments or _INDEX.fullmatch(segments[-1]):
        return bool(query)
    return len(segments) > 1 or bool(query) or _DIGIT_OR_HYPHEN.search(segments[0]) is not None
