"""Detects pages that came with status 200 and are no content: "not found", a bot test, a wall, a parked domain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product
from typing import Self
from urllib.parse import unquote

from pydantic import Field, model_validator
from selectolax.lexbor import LexborNode

from handlers.html.outline import Outline
from handlers.text.evidence import find_evidence
from handlers.text.patterns import DetailPatterns
from handlers.text.patterns import WordList as Words
from handlers.text.scripts import has_cjk
from handlers.text.sentences import count_words, sentences
from handlers.text.tokens import PhraseIndex
from schemas.replies import FetchFailure
from schemas.rules import Section

Statements = tuple[tuple[str, ...], ...]

_BETWEEN_PARTS = re.compile(r"[|–—·»«]|\s-\s|\s~\s")
_SHOWN = 100
_FIELDS = 3
_FILLED = frozenset(("textarea", "select", "text", "email", "tel", "url"))
"""Elements and types of fields that visitors fill in."""
_DOUBTFUL, _STATED, _SURE = range(3)


class RefusalWords(Section):
    """The words of one kind of refusal. A statement is a list of groups: a sentence has a word of each of them."""

    close: Statements = Field(description="Statements that decide in any short page if their words are close.")
    statements: Statements = Field(description="Statements that decide if no content is left beside them.")
    apart: Statements = Field(default=(), description="The same; their words may be in different lines.")
    doubtful: Statements = Field(default=(), description="Statements that need a second sign.")
    titles: Words = Field(description="Whole titles, parts of titles and lines, which need a second sign too.")


class PageRefusalsSection(Section):
    """The ``page_refusals`` section of the configuration."""

    short_characters: int = Field(ge=0, description="Text above which no statement decides.")
    page_characters: int = Field(ge=0, description="Text above which a page is content, whatever its title is.")
    least_characters: int = Field(ge=0, description="Text below which a page holds nothing.")
    sentence_words: int = Field(ge=1, description="Words from which on a sentence counts as prose.")
    prose_words: int = Field(ge=1, description="Words of prose that are content beside a title or a statement.")
    other_words: int = Field(ge=1, description="Words that are content beside what needs a second sign.")
    close_bytes: int = Field(ge=0, description="Bytes of UTF-8 that may be between words that are close.")
    whole_share: float = Field(gt=0, le=1, description="Share of a line from which on a statement is the whole line.")
    refresh_seconds: int = Field(ge=0, description="A short page that redirects within so many seconds is no content.")
    words: dict[str, Words] = Field(description="Groups of words.")
    kinds: dict[FetchFailure, RefusalWords] = Field(description="The words of each reason, the strongest first.")
    signs: Words = Field(description="Second signs: phrases for the reader of a refusal.")
    mentions: Words = Field(description="Phrases of texts that are about refusals.")
    walls: Words = Field(description="Labels of hosts and path segments that name a wall.")

    @model_validator(mode="after")
    def _groups_exist(self) -> Self:
        kinds = ((*its.close, *its.statements, *its.apart, *its.doubtful) for its in self.kinds.values())
        named = {word for statements in kinds for groups in statements for name in groups for word in name.split()}
        if unknown := sorted(named - self.words.keys()):
            raise ValueError(f"words has no group {unknown[0]!r}; there are {', '.join(sorted(self.words))}")
        return self


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a page is no content, the line that says so, how sure it is, and whether it is nearly the whole line."""

    reason: FetchFailure
    words: str
    sureness: int
    is_whole: bool


class Refusals:
    """The detector under one configuration."""

    def __init__(self, section: PageRefusalsSection, details: DetailPatterns) -> None:
        """Indexes the words; ``details`` find the dates, times, places and prices that make a page content."""
        self.section = section
        self._details = details
        self._index = PhraseIndex()
        self._mentions, self._signs = ({*map(self._index.add, some)} for some in (section.mentions, section.signs))
        kinds = section.kinds.items()
        self._titles = {self._index.fold(title): reason for reason, words in kinds for title in words.titles}
        side = cache(self._side)  # many statements have the same sides
        self._statements = [
            (reason, sureness, [side(names) for names in groups])
            for sureness, name in ((_SURE, "close"), (_STATED, "statements"), (_DOUBTFUL, "doubtful"))
            for reason, words in kinds
            for groups in getattr(words, name)
        ]
        self._apart = [(reason, [side(name) for name in groups]) for reason, its in kinds for groups in its.apart]

    def why_no_content(
        self, titles: Sequence[str], text: str, url: str = "", asked: Sequence[str] = ()
    ) -> Refusal | None:
        """Why a page is not content (R-273); None if it may be.

        Args:
            titles: Its titles and headings.
            text: Its main text or a snippet; "" if only the titles count.
            url: Its address. A page at /dictionary/forbidden is about the word, so its title is no refusal, unless
                there is nothing else on the page.
            asked: Lines of forms for a message (``lines_of_forms``), whose bot test does not keep readers out.
        """
        section, fold = self.section, self._index.fold
        if len(text) > section.page_characters:
            return None
        is_short = len(text) <= section.short_characters
        parts = [part.strip() for title in titles for part in _BETWEEN_PARTS.split(title[: section.short_characters])]
        folder, _, last = unquote(url.partition("?")[0]).rstrip("/").rpartition("/")
        subject = set(fold(last).split()) if folder.count("/") > 2 else set()
        heads = {part: fold(part) for part in parts}
        named = {part: folded for part, folded in heads.items() if set(folded.split()) <= subject}
        lines = {line: fold(line) for line in sentences(text, is_folded=True)} if is_short else {}
        told = self._told({part: folded for part, folded in heads.items() if part not in named} | lines)
        of_forms = set(sentences("\n".join(asked), is_folded=True)) if told and asked else set()
        told = {
            line: one for line, one in told.items() if line not in of_forms or one.reason is not FetchFailure.CHALLENGE
        }
        if named and is_short:
            told = self._told_by_named(named, lines, told) | told
        counted = [refusal for refusal in told.values() if is_short or refusal.is_whole]
        said = self._index.found(fold(" ".join((*titles, text)))) if counted else set()
        if not counted or not said.isdisjoint(self._mentions):
            return None
        refusal = max(counted, key=lambda one: one.sureness)
        is_sure = any(line in told and told[line].sureness == _SURE for line in lines)
        is_doubtful = refusal.sureness == _DOUBTFUL
        # A doubtful statement that is a part of a longer sentence may be about something else.
        left = [line for line in lines if line not in told or (is_doubtful and not told[line].is_whole)]
        left = left if is_short else [text]
        if not is_sure and self._has_content("\n".join(left), text):
            return None
        if is_doubtful and said.isdisjoint(self._signs) and sum(map(_words_in, left)) >= section.other_words:
            return None
        quoted = dict.fromkeys(one.words for one in counted if one.reason is refusal.reason)
        return replace(refusal, words="; ".join(quoted)[:_SHOWN])

    def _told(self, lines: dict[str, str]) -> dict[str, Refusal]:
        """The refusals by line; ``lines`` has the folded form of each line."""
        found = self._index.found("\n".join(lines.values()))
        first = ((line, next(self._refusals_in(line, folded, found), None)) for line, folded in lines.items())
        told = {line: refusal for line, refusal in first if refusal}
        for reason, sides in self._apart:
            known = [found & side for side in sides]
            having = [line for line in lines if any(phrase in lines[line] for side in known for phrase in side)]
            # In an article about such pages, all of the words are in prose.
            if all(known) and not all(map(self._prose_in, having)):
                told = {line: Refusal(reason, line, _STATED, is_whole=False) for line in having} | told
        return told

    def _told_by_named(
        self, named: dict[str, str], lines: dict[str, str], told: dict[str, Refusal]
    ) -> dict[str, Refusal]:
        """The refusals in titles that the address names: there are some only if the page has no other content.

        Any but the surest also needs a phrase for the reader, because a page about a word may have no text here.
        """
        has_sign = {line: not self._index.found(folded).isdisjoint(self._signs) for line, folded in lines.items()}
        others = [line for line in lines if line not in told and not has_sign[line]]
        if sum(map(_words_in, others)) >= self.section.other_words:
            return {}
        refusals = self._told(named).items()
        return {line: refusal for line, refusal in refusals if refusal.sureness == _SURE or any(has_sign.values())}

    def _refusals_in(self, line: str, folded: str, found: set[str]) -> Iterator[Refusal]:
        """What a line says of a refusal, the surest first."""
        known, is_title = {phrase for phrase in found if phrase in folded}, folded in self._titles
        for reason, sureness, sides in self._statements if known else ():
            if not any(map(known.isdisjoint, sides)):
                gap, passage = _gap(folded, [known & side for side in sides])
                if gap <= self.section.close_bytes if sureness == _SURE else not self._prose_in(folded):
                    is_whole = is_title or passage >= self.section.whole_share * len(folded.strip())
                    yield Refusal(reason, line, sureness, is_whole)
        if is_title:
            yield Refusal(self._titles[folded], line, _DOUBTFUL, is_whole=True)

    def _has_content(self, left: str, text: str) -> bool:
        """Whether prose or a detail is left without the lines that refuse, or details of two kinds are in the text."""
        if sum(map(self._prose_in, sentences(left, is_folded=True))) >= self.section.prose_words:
            return True
        kinds = {detail.kind for detail in find_evidence(text, self._details, 1)}
        return len(kinds) > 1 or bool(kinds and find_evidence(left, self._details, 1))

    def _prose_in(self, sentence: str) -> float:
        """The words of a sentence if it is prose."""
        words = _words_in(sentence)
        return words if words >= self.section.sentence_words else 0

    def _side(self, names: str) -> set[str]:
        """The phrases of a side of a statement: the words of a group, or of two groups one after another."""
        return {self._index.add(*words) for words in product(*(self.section.words[name] for name in names.split()))}


def lines_of_forms(page: Outline) -> tuple[str, ...]:
    """The lines in forms for a message: with a text area, several fields, and none for a password, as logins have."""
    forms = {
        element
        for element, tag in enumerate(page.tags)
        if tag == "form" and _is_for_messages(page.elements[element].css("textarea,select,input"))
    }
    if not forms:
        return ()
    return tuple(block.text for block in page.lines_with_links() if not forms.isdisjoint(page.around(block.element)))


def _is_for_messages(fields: Sequence[LexborNode]) -> bool:
    kinds = [(field.attrs.get("type") or "text").lower() if field.tag == "input" else field.tag for field in fields]
    filled = sum(kind in _FILLED for kind in kinds)
    return "textarea" in kinds and "password" not in kinds and filled >= _FIELDS


def _words_in(text: str) -> float:
    """The words of a text; two ideographs count as one."""
    return count_words(text) / (2 if has_cjk(text) else 1)


def _gap(line: str, sides: Sequence[set[str]]) -> tuple[int, int]:
    """The bytes between the nearest phrases of different sides in a line, and the characters of the whole passage."""
    spans = []
    for index, phrase in ((index, phrase) for index, side in enumerate(sides) for phrase in side):
        start = -1
        while (start := line.find(phrase, start + 1)) >= 0:
            spans.append((start, start + len(phrase), index))
    spans.sort()
    apart = (len(line[one[1] : other[0]].encode()) for one, other in pairwise(spans) if one[2] != other[2])
    return min(apart, default=0), max(end for _, end, _ in spans) - spans[0][0]
