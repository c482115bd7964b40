"""Detects pages that came with status 200 and are no content: "not found", a bot test, a wall, a parked domain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

import regex
from pydantic import Field

from handlers.html.main_text import count_words, has_cjk
from handlers.text.evidence import find_evidence
from handlers.text.patterns import DetailPatterns
from handlers.text.scripts import CJK
from handlers.text.sentences import sentences
from handlers.text.tokens import fold
from schemas.replies import FetchFailure
from schemas.rules import Section

_BETWEEN_PARTS = re.compile(r"[|–—·»«]|\s-\s|\s~\s")
_BETWEEN_IDEOGRAPHS = regex.compile(rf"(?<=[{CJK}\d]) (?=[{CJK}])|(?<=[{CJK}]) (?=\d)")
_WHOLE = 0.8
_SHOWN, _START, _CJK = 100, 3, "*"
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
    simplified: str = Field(description="Pairs of a traditional character and the one that it is compared as.")
    words: dict[str, Words] = Field(description="Groups of words. `*` is any beginning or ending of a word.")
    kinds: dict[FetchFailure, RefusalWords] = Field(description="The words of each reason, the strongest first.")
    mentions: Words = Field(description="Phrases of texts that are about refusals.")
    walls: Words = Field(description="Labels of hosts and path segments that name a wall.")


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
        self._simplified = str.maketrans(section.simplified[::2], section.simplified[1::2])
        kinds = section.kinds.items()
        self._titles = {self._folded(title): reason for reason, words in kinds for title in words.titles}
        self._close = [(reason, self._sides(groups)) for reason, words in kinds for groups in words.close]
        self._others = [(reason, self._sides(groups)) for reason, words in kinds for groups in words.statements]
        self._mentions = frozenset(map(self._needle, section.mentions))
        self._by_start: dict[str, list[str]] = {}
        for needle in self._mentions.union(*chain.from_iterable(sides for _, sides in (*self._close, *self._others))):
            self._by_start.setdefault(_start(needle), []).append(needle)

    def why_no_content(self, titles: Sequence[str], text: str) -> Refusal | None:
        """Why a page is not content (R-273). ``text`` is its main text or a snippet, "" if only the titles count."""
        if len(text) > self.section.page_characters:
            return None
        is_short = len(text) <= self.section.short_characters
        lines = list(sentences(text, is_folded=True)) if is_short else []
        parts = tuple(dict.fromkeys(part for title in titles for part in _BETWEEN_PARTS.split(title)))
        said = [self._folded(line) for line in (*parts, *lines)]
        found = self._found("\n".join(said))
        told = [next(self._refusals_in(line, found), None) for line in said]
        counted = [refusal for refusal in told if refusal and (is_short or refusal.is_whole)]
        if not counted or not self._mentions.isdisjoint(found if is_short else self._found(self._folded(text))):
            return None
        refusal = min(counted, key=lambda one: not one.is_sure)
        left = "\n".join(line for line, one in zip(lines, told[len(parts) :], strict=True) if one is None)
        if not (is_short and refusal.is_sure) and self._has_content(left if is_short else text, text):
            return None
        shown = "; ".join(dict.fromkeys(one.words for one in counted if one.reason is refusal.reason))
        return replace(refusal, words=shown[:_SHOWN])

    def _refusals_in(self, line: str, found: set[str]) -> Iterator[Refusal]:
        """What a folded line says of a refusal, the surest first."""
        known, is_title = {needle for needle in found if needle in line}, line in self._titles
        for is_sure, statements in ((True, self._close), (False, self._others)):
            for reason, sides in statements if known and (is_sure or not self._prose_in(line)) else ():
                if not any(map(known.isdisjoint, sides)):
                    chosen = product(*(known & side for side in sides))
                    others, passage = min(_distance(line, needles) for needles in chosen)
                    if others <= self.section.close_bytes or not is_sure:
                        is_whole = is_title or passage >= _WHOLE * len(line.strip())
                        yield Refusal(reason, line.strip(), is_sure, is_whole)
        if is_title:
            yield Refusal(self._titles[line], line.strip(), is_sure=False, is_whole=True)

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

    def _found(self, said: str) -> set[str]:
        """The needles in a folded text. One is only looked for if a word begins as its last one does."""
        starts = {"", *(word[:_START] for word in said.split()), *([_CJK] if has_cjk(said) else [])}
        return {needle for start in starts for needle in self._by_start.get(start, ()) if needle in said}

    def _sides(self, groups: Words) -> list[frozenset[str]]:
        """The needles of each side of a statement: the words of a group, or of two groups one after another."""
        sides = (product(*(self.section.words[name] for name in names.split())) for names in groups)
        return [frozenset(self._needle(" ".join(words)) for words in side) for side in sides]

    def _needle(self, words: str) -> str:
        """The form in which words are searched for: with blanks around them, but none beside ``*`` or ideographs."""
        folded = self._folded(words)
        start, end = words.startswith("*"), len(folded) - words.endswith("*")
        return folded.strip() if has_cjk(folded) else folded[start:end]

    def _folded(self, text: str) -> str:
        folded = fold(text)
        if has_cjk(folded):
            folded = _BETWEEN_IDEOGRAPHS.sub("", folded.translate(self._simplified))
        return f" {folded} "


def _start(needle: str) -> str:
    """How the last word of a needle begins, which is mostly the rarest; "" for a part of any word."""
    if has_cjk(needle):
        return _CJK
    words = needle.split()
    return words[-1][:_START] if len(words) > 1 or needle.startswith(" ") else ""


def _distance(line: str, needles: Sequence[str]) -> tuple[int, int]:
    """The bytes of other words between needles in a line, and the characters from the first needle to the last."""
    starts = [line.find(needle) for needle in needles]
    end = max(start + len(needle) for start, needle in zip(starts, needles, strict=True))
    passage = line[min(starts) : end]
    return max(0, len(passage.encode()) - len("".join(needles).encode())), len(passage)
