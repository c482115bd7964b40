"""Detects pages that came with status 200 and are no content: "not found", a bot test, a wall, a parked domain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Self

from pydantic import Field, model_validator

from handlers.html.main_text import count_words, has_cjk
from handlers.text.evidence import find_evidence
from handlers.text.patterns import DetailPatterns
from handlers.text.sentences import sentences
from handlers.text.tokens import PhraseIndex
from schemas.replies import FetchFailure
from schemas.rules import Section

_BETWEEN_PARTS = re.compile(r"[|–—·»«]|\s-\s|\s~\s")
_WHOLE = 0.8
_SHOWN = 100
Words = tuple[str, ...]


class RefusalWords(Section):
    """The words of one kind of refusal. A statement is a list of groups: a sentence has a word of each of them."""

    titles: Words = Field(description="Whole titles, parts of titles and lines.")
    close: tuple[Words, ...] = Field(description="Statements that decide in any short page if their words are close.")
    statements: tuple[Words, ...] = Field(description="Statements that decide if no content is left beside them.")


class PageRefusalsSection(Section):
    """The ``page_refusals`` section of the configuration."""

    short_characters: int = Field(ge=0, description="Text above which no statement decides.")
    page_characters: int = Field(ge=0, description="Text above which a page is content, whatever its title is.")
    least_characters: int = Field(ge=0, description="Text below which a page holds nothing.")
    sentence_words: int = Field(ge=1, description="Words from which on a sentence counts as prose.")
    prose_words: int = Field(ge=1, description="Words of prose that are content beside a title or a statement.")
    close_bytes: int = Field(ge=0, description="Bytes of UTF-8 that may be between words that are close.")
    refresh_seconds: int = Field(ge=0, description="A short page that redirects within so many seconds is no content.")
    words: dict[str, Words] = Field(description="Groups of words. `*` is any beginning or ending of a word.")
    kinds: dict[FetchFailure, RefusalWords] = Field(description="The words of each reason, the strongest first.")
    mentions: Words = Field(description="Phrases of texts that are about refusals.")
    walls: Words = Field(description="Labels of hosts and path segments that name a wall.")

    @model_validator(mode="after")
    def _groups_exist(self) -> Self:
        named = {name for kind in self.kinds.values() for groups in (*kind.close, *kind.statements) for name in groups}
        if unknown := sorted({word for name in named for word in name.split()} - self.words.keys()):
            raise ValueError(f"words has no group {unknown[0]!r}; there are {', '.join(sorted(self.words))}")
        return self


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a page is no content, and the line that says so: surely, or with nearly all of its words."""

    reason: FetchFailure
    words: str
    is_sure: bool
    is_whole: bool


class Refusals:
    """The detector under one configuration. A title or a statement decides only if no content is left beside it."""

    def __init__(self, section: PageRefusalsSection, details: DetailPatterns) -> None:
        """Indexes the words; ``details`` find the dates, times, places and prices that make a page content."""
        self.section = section
        self._details = details
        self._index = PhraseIndex()
        kinds = section.kinds.items()
        self._titles = {self._index.fold(title): reason for reason, words in kinds for title in words.titles}
        self._mentions = {self._index.add(phrase) for phrase in section.mentions}
        close = [(reason, True, groups) for reason, words in kinds for groups in words.close]
        others = [(reason, False, groups) for reason, words in kinds for groups in words.statements]
        sides = {names: self._side(names) for _, _, groups in (*close, *others) for names in groups}
        self._statements = [
            (reason, is_sure, [sides[names] for names in groups]) for reason, is_sure, groups in (*close, *others)
        ]

    def why_no_content(self, titles: Sequence[str], text: str) -> Refusal | None:
        """Why a page is not content (R-273). ``text`` is its main text or a snippet, "" if only the titles count."""
        if len(text) > self.section.page_characters:
            return None
        most = self.section.short_characters
        is_short = len(text) <= most
        lines = list(sentences(text, is_folded=True)) if is_short else []
        parts = tuple(dict.fromkeys(part for title in titles for part in _BETWEEN_PARTS.split(title[:most])))
        said = [(line.strip(), self._index.fold(line)) for line in (*parts, *lines)]
        found = self._index.found("\n".join(folded for _, folded in said))
        told = [next(self._refusals_in(line, folded, found), None) for line, folded in said]
        counted = [refusal for refusal in told if refusal and (is_short or refusal.is_whole)]
        if not counted or not self._mentions.isdisjoint(self._index.found(self._index.fold(" ".join((*titles, text))))):
            return None
        refusal = min(counted, key=lambda one: not one.is_sure)
        left = "\n".join(line for line, one in zip(lines, told[len(parts) :], strict=True) if one is None)
        if not (is_short and refusal.is_sure) and self._has_content(left if is_short else text, text):
            return None
        quoted = dict.fromkeys(one.words for one in counted if one.reason is refusal.reason)
        return replace(refusal, words="; ".join(quoted)[:_SHOWN])

    def _refusals_in(self, line: str, folded: str, found: set[str]) -> Iterator[Refusal]:
        """What a line says of a refusal, the surest first."""
        known, is_title = {phrase for phrase in found if phrase in folded}, folded in self._titles
        for reason, is_sure, sides in self._statements if known else ():
            if not any(map(known.isdisjoint, sides)):
                gap, passage = _gap(folded, [known & side for side in sides])
                if gap <= self.section.close_bytes if is_sure else not self._prose_in(folded):
                    is_whole = is_title or passage >= _WHOLE * len(folded.strip())
                    yield Refusal(reason, line, is_sure, is_whole)
        if is_title:
            yield Refusal(self._titles[folded], line, is_sure=False, is_whole=True)

    def _has_content(self, left: str, text: str) -> bool:
        """Whether prose or a detail is left without the lines that refuse, or details of two kinds are in the text."""
        if sum(map(self._prose_in, sentences(left, is_folded=True))) >= self.section.prose_words:
            return True
        kinds = {detail.kind for detail in find_evidence(text, self._details, 1)}
        return len(kinds) > 1 or bool(kinds and find_evidence(left, self._details, 1))

    def _prose_in(self, sentence: str) -> float:
        """The words of a sentence if it is prose; two ideographs count as one."""
        words = count_words(sentence) / (2 if has_cjk(sentence) else 1)
        return words if words >= self.section.sentence_words else 0

    def _side(self, names: str) -> set[str]:
        """The phrases of a side of a statement: the words of a group, or of two groups one after another."""
        return {self._index.add(*words) for words in product(*(self.section.words[name] for name in names.split()))}


def _gap(line: str, sides: Sequence[set[str]]) -> tuple[int, int]:
    """The bytes between the nearest phrases of different sides in a line, and the characters of the whole passage."""
    found = ((line.find(phrase), len(phrase), index) for index, side in enumerate(sides) for phrase in side)
    spans = sorted((start, start + length, index) for start, length, index in found)
    apart = (len(line[one[1] : other[0]].encode()) for one, other in pairwise(spans) if one[2] != other[2])
    return min(apart, default=0), max(end for _, end, _ in spans) - spans[0][0]
