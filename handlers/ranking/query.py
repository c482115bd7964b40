"""Reads a query once for all stages: its words, and its intent with the signs that tell it.

Rules of thumb over the query alone, in all languages of the lists at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from handlers.ranking.config import IntentSection
from handlers.text.scripts import is_ideographic
from handlers.text.tokens import fold, keywords_of, tokenize, words_of
from schemas.ranking import Intent, IntentNote

_QUOTED = re.compile(r"[\"“”„«「『《〈]([^\"“”„«»「」『』《》〈〉]{2,200})[\"“”»」』》〉]")
_NUMBERS = re.compile(r"(?:(?<![A-Za-z])[A-Za-z]++-?)?\d++(?:[.,:/-]\d++)*+%?")
_MOST_WORDS_NAMED = 3
_MOST_PAIRS = 32
_LONG_ENOUGH = 4
_WORDS_OF_A_TITLE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadQuery:
    """A query as the stages read it.

    Attributes:
        text: As it was asked.
        folded: Its words without case, width and punctuation, a space between them.
        tokens: As documents have them, in order, overlapping where words are not divided by spaces.
        words: Without overlaps.
        keywords: Tokens without stop words, each once; all tokens where there are only stop words.
        phrases: Those in quotation marks, folded.
        neighbours: Pairs of adjacent words, folded; at most the first 32.
        numbers: Numbers, years, and names with digits, as written.
        question_words: Those of the configured list.
        wants_news: Whether it asks for news.
        intent: Its intent, and the signs of it.
    """

    text: str
    folded: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    keywords: tuple[str, ...]
    phrases: tuple[str, ...]
    numbers: tuple[str, ...]
    question_words: tuple[str, ...]
    wants_news: bool
    intent: IntentNote
    neighbours: tuple[str, ...] = ()


def read_query(query: str, section: IntentSection, stop_words: frozenset[str] = frozenset()) -> ReadQuery:
    """Reads a query; the stop words of all languages are in lower case."""
    folded, words = fold(query), tuple(words_of(query))
    return ReadQuery(
        text=query,
        folded=folded,
        tokens=tuple(tokenize(query)),
        words=words,
        keywords=keywords_of(folded, stop_words),
        phrases=_quoted(query),
        numbers=tuple(_NUMBERS.findall(query)),
        question_words=_found(folded, section.question_words),
        wants_news=bool(_found(folded, section.temporal_words)),
        intent=detect_intent(query, section),
        neighbours=_neighbours(folded, words),
    )


def detect_intent(query: str, section: IntentSection) -> IntentNote:
    """The intent of a query.

    Signs of a specific one: quotation marks, numbers, names, capitals as in a title, words such as "who", many words.
    Signs of an exploratory one: words such as "overview", which outweigh a few others, and few words without any.
    """
    folded, count = fold(query), len(words_of(query))
    specific: list[str] = []
    if quoted := _quoted(query):
        specific.append(f"a quoted phrase ({quoted[0]})")
    if number := _NUMBERS.search(query):
        specific.append(f"a number ({number[0]})")
    if names := _names(query):
        specific.append(f"a name ({' '.join(names[:_MOST_WORDS_NAMED])})")
    long = [word for word in query.split() if len(word) >= _LONG_ENOUGH]
    if len(long) >= _WORDS_OF_A_TITLE and all(word[0].isupper() for word in long) and not query.isupper():
        specific.append("written as a title")
    if asked := _found(folded, section.specific_words):
        specific.append(f"asks for one thing ({asked[0]})")
    if count >= section.long_words:
        specific.append(f"{count} words")
    if wide := _found(folded, section.exploratory_words):
        intent = Intent.EXPLORATORY if len(specific) <= section.outweighs else Intent.SPECIFIC
        return IntentNote(intent=intent, because=", ".join([*specific, f"asks for an overview ({wide[0]})"]))
    if specific:
        return IntentNote(intent=Intent.SPECIFIC, because=", ".join(specific))
    if 0 < count <= section.short_words:
        return IntentNote(intent=Intent.EXPLORATORY, because="few words" if count > 1 else "one word")
    return IntentNote(intent=Intent.BALANCED, because="no sign of either")


def _quoted(query: str) -> tuple[str, ...]:
    return tuple(phrase for phrase in map(fold, _QUOTED.findall(query)) if phrase)


def _neighbours(folded: str, words: Sequence[str]) -> tuple[str, ...]:
    pairs: dict[str, None] = {}
    before, end = 0, 0
    for number, word in enumerate(words[: _MOST_PAIRS + 1]):
        start = folded.index(word, end)
        end = start + len(word)
        if number:
            pairs[folded[before:end]] = None
        before = start
    return tuple(pairs)


def _names(query: str) -> list[str]:
    """Words with a capital inside a sentence; none where all words have one."""
    words = query.split()
    if not any(word.islower() and len(word) >= _LONG_ENOUGH for word in words):
        return []
    inside = (word.rstrip(".,;:!?") for before, word in pairwise(words) if before[-1].isalnum())
    return [word for word in inside if word[:1].isupper() and len(word) > 1 and word.isalpha()]


def _found(folded: str, words: Iterable[str]) -> tuple[str, ...]:
    """The words of a list that a folded query has: whole words, or anywhere in scripts without spaces."""
    spaced = f" {folded} "
    found = []
    for word in words:
        wanted = fold(word)
        if (wanted if wanted and is_ideographic(wanted[0]) else f" {wanted} ") in spaced:
            found.append(word)
    return tuple(found)
