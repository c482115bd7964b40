"""Reads a query once for all stages: its words, and its intent with the signs of it.

Rules of thumb over the query alone, in all languages of the lists at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from handlers.ranking.config import IntentSection
from handlers.text.background import Background, WordFrequenciesSection
from handlers.text.scripts import is_ideographic
from handlers.text.tokens import divide, fold, keywords_of, words_of
from schemas.ranking import Intent, IntentNote

_QUOTED = re.compile(r"[\"“”„«「『《〈]([^\"“”„«»「」『』《》〈〉]{2,200})[\"“”»」』》〉]")
_NUMBERS = re.compile(r"(?:(?<![A-Za-z])[A-Za-z]++-?)?\d++(?:[.,:/-]\d++)*+%?")
_MOST_WORDS_NAMED = 3
_LEAST_WEIGHT = 0.1
_NO_BACKGROUND = WordFrequenciesSection().compiled
_LONG_ENOUGH = 4
_WORDS_OF_A_TITLE = 3
_NO_SIGN = IntentNote(intent=Intent.BALANCED, reason="no sign of either")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadQuery:
    """A query as the stages read it.

    Attributes:
        folded: Its words without case, width and punctuation, a space between them.
        words: Without overlaps, in order.
        keywords: Tokens, as documents have them, without stop words, each once; all tokens of a query of stop words.
        phrases: Those in quotation marks, folded.
        weights: Its tokens, in order, with their inverse document frequencies; 0 for those that are no keywords.
        numbers: Numbers, years, and names with digits, as written.
    """

    text: str
    folded: str
    words: tuple[str, ...]
    keywords: tuple[str, ...]
    phrases: tuple[str, ...]
    numbers: tuple[str, ...]
    question_words: tuple[str, ...]
    wants_news: bool
    intent: IntentNote = _NO_SIGN
    weights: Mapping[str, float] = field(default_factory=dict)


def read_query(
    query: str,
    section: IntentSection,
    stop_words: frozenset[str] = frozenset(),
    background: Background = _NO_BACKGROUND,
) -> ReadQuery:
    """Reads a query; the stop words of all languages are in lower case."""
    folded, words = fold(query), tuple(words_of(query))
    keywords = keywords_of(folded, stop_words)
    read = ReadQuery(
        text=query,
        folded=folded,
        words=words,
        keywords=keywords,
        phrases=tuple(phrase for phrase in map(fold, _QUOTED.findall(query)) if phrase),
        numbers=tuple(_NUMBERS.findall(query)),
        question_words=_found(folded, section.question_words),
        wants_news=bool(_found(folded, section.temporal_words)),
        weights=dict.fromkeys(divide(folded), 0.0)
        | {word: max(_LEAST_WEIGHT, background.idf(word)) for word in keywords},
    )
    return replace(read, intent=_intent(read, section))


def _intent(query: ReadQuery, section: IntentSection) -> IntentNote:
    """The intent of a query, with its signs.

    Signs of a specific one: quotation marks, numbers, names, capitals as in a title, words such as "who", many words.
    Signs of an exploratory one: words such as "overview", which outweigh a few others, and few words without any.
    """
    asked, count = _found(query.folded, section.specific_words), len(query.words)
    names = " ".join(_names(query.text)[:_MOST_WORDS_NAMED])
    signs = {
        f"a quoted phrase ({''.join(query.phrases[:1])})": query.phrases,
        f"a number ({''.join(query.numbers[:1])})": query.numbers,
        f"a name ({names})": names,
        "written as a title": _is_title(query.text),
        f"asks for one thing ({''.join(asked[:1])})": asked,
        f"{count} words": count >= section.long_words,
    }
    specific = [sign for sign, holds in signs.items() if holds]
    if wide := _found(query.folded, section.exploratory_words):
        intent = Intent.EXPLORATORY if len(specific) <= section.outweighs else Intent.SPECIFIC
        return IntentNote(intent=intent, reason=", ".join([*specific, f"asks for an overview ({wide[0]})"]))
    if specific:
        return IntentNote(intent=Intent.SPECIFIC, reason=", ".join(specific))
    if 0 < count <= section.short_words:
        return IntentNote(intent=Intent.EXPLORATORY, reason="few words" if count > 1 else "one word")
    return _NO_SIGN


def _is_title(query: str) -> bool:
    """Whether all long words have a capital, and there are enough of them."""
    long = [word for word in query.split() if len(word) >= _LONG_ENOUGH]
    return len(long) >= _WORDS_OF_A_TITLE and all(word[0].isupper() for word in long) and not query.isupper()


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
