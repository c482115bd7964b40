"""Reading a query: its words, and what it is after.

In: a query and the word lists of ``ranking.intent``. Out: a ``ReadQuery`` that the stages share, with the intent and
the signs it was told by. Rules of thumb over the query alone, in all languages of the lists at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from handlers.ranking.sections import IntentSection
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
        keywords: Tokens that say something of the subject, each once; all of them where there are only stop words.
        phrases: Those in quotation marks, folded.
        neighbours: Words that stand side by side, two and two, folded; at most the first 32 pairs.
        numbers: Numbers, years, and names with digits, as written.
        question_words: Of the list, those found.
        wants_news: Whether what is new is wanted.
        intent: What it is after, and why that was thought.
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
    """Reads a query once for all stages.

    Args:
        query: As it was asked.
        section: The word lists.
        stop_words: Words that say nothing of the subject, in all languages, lower case.
    """
    folded = fold(query)
    tokens, words = tuple(tokenize(query)), tuple(words_of(query))
    return ReadQuery(
        text=query,
        folded=folded,
        tokens=tokens,
        words=words,
        keywords=keywords_of(folded, stop_words),
        phrases=_quoted(query),
        numbers=_numbers(query),
        question_words=_found(folded, section.question_words),
        wants_news=bool(_found(folded, section.temporal_words)),
        intent=detect_intent(query, section),
        neighbours=_neighbours(folded, words),
    )


def detect_intent(query: str, section: IntentSection) -> IntentNote:
    """What a query is after, and the signs it was told by.

    Signs of who wants one thing: quotation marks, numbers, names, capitals as of a title, words such as "who", many
    words. Signs of who wants an overview: words such as "overview" and "best", and few words without any other sign.
    ``ranking.intent.points`` has what each of them counts.
    """
    folded, count, points = fold(query), len(words_of(query)), section.points
    specific: list[tuple[int, str]] = []
    if quoted := _quoted(query):
        specific.append((points.quoted, f"a quoted phrase ({quoted[0]})"))
    if numbers := _numbers(query):
        specific.append((points.number, f"a number ({numbers[0]})"))
    if names := _names(query):
        specific.append((points.name, f"a name ({' '.join(names[:_MOST_WORDS_NAMED])})"))
    if _is_written_as_title(query):
        specific.append((points.title, "written as a title"))
    if asked := _found(folded, section.specific_words):
        specific.append((points.specific_word, f"asks for one thing ({asked[0]})"))
    if count >= section.long_words:
        long = points.very_long if count >= section.very_long_words else points.long
        specific.append((long, f"{count} words"))
    open_: list[tuple[int, str]] = []
    if wide := _found(folded, section.exploratory_words):
        open_.append((points.exploratory_word, f"asks for an overview ({wide[0]})"))
    elif 0 < count <= section.short_words and not specific:
        open_.append((points.short, "few words" if count > 1 else "one word"))
    balance = sum(points for points, _ in specific) - sum(points for points, _ in open_)
    signs = ", ".join(sign for _, sign in (*specific, *open_))
    if balance > 0:
        return IntentNote(intent=Intent.SPECIFIC, because=signs)
    if balance < 0:
        return IntentNote(intent=Intent.EXPLORATORY, because=signs)
    return IntentNote(intent=Intent.BALANCED, because=signs or "no sign of either")


def _quoted(query: str) -> tuple[str, ...]:
    return tuple(phrase for phrase in map(fold, _QUOTED.findall(query)) if phrase)


def _neighbours(folded: str, words: Sequence[str]) -> tuple[str, ...]:
    pairs: dict[str, None] = {}
    before, end = 0, 0
    for number, word in enumerate(words[: _MOST_PAIRS + 1]):
        start = folded.index(word, end)
        if number:
            pairs[folded[before : start + len(word)]] = None
        before, end = start, start + len(word)
    return tuple(pairs)


def _numbers(query: str) -> tuple[str, ...]:
    return tuple(_NUMBERS.findall(query))


def _names(query: str) -> list[str]:
    """Words with a capital in the middle of a sentence; none where all words have one, for then it says nothing."""
    words = query.split()
    if not any(word.islower() and len(word) >= _LONG_ENOUGH for word in words):
        return []
    inside = (word.rstrip(".,;:!?") for before, word in pairwise(words) if before[-1].isalnum())
    return [word for word in inside if word[:1].isupper() and len(word) > 1 and word.isalpha()]


def _is_written_as_title(query: str) -> bool:
    """Whether all words but small ones have a capital, which few type and many paste."""
    long = [word for word in query.split() if len(word) >= _LONG_ENOUGH]
    return len(long) >= _WORDS_OF_A_TITLE and all(word[0].isupper() for word in long) and not query.isupper()


def _found(folded: str, words: Iterable[str]) -> tuple[str, ...]:
    """The words of a list that a folded query has: whole words, anywhere where no spaces divide words."""
    spaced = f" {folded} "
    found = []
    for word in words:
        wanted = fold(word)
        if (wanted if wanted and is_ideographic(wanted[0]) else f" {wanted} ") in spaced:
            found.append(word)
    return tuple(found)
