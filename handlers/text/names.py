"""What a short name says: whether it is a plural, and whether the text begins by saying what it is.

In: the words of a title or address, and of the text. Out: a plural, "" where there is none. An ending is a language's
own: "s" makes a plural in English, and a genitive or nothing at all elsewhere; so the text says which endings count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from handlers.text.patterns import CompiledPatterns

_NAME_WORDS = 4
_LANGUAGE_WORDS = 120
_WORDS_BEFORE, _WORDS_BETWEEN = 2, 6


def languages_of(words: Sequence[str], patterns: CompiledPatterns) -> frozenset[str]:
    """Stems of the packs whose words are the most frequent; all that have endings where the text has none of any.

    Args:
        words: Lower-case words of title and text, the first of which count.
        patterns: All packs.
    """
    begin = words[:_LANGUAGE_WORDS]
    counts = {stem: sum(map(known.__contains__, begin)) for stem, known in patterns.stop_words_of.items()}
    most = max(counts.values(), default=0)
    if not most:
        return frozenset(patterns.plurals)
    return frozenset(stem for stem, count in counts.items() if count == most)


def plural_of(name: Sequence[str], languages: frozenset[str], patterns: CompiledPatterns) -> str:
    """The last word of a short name, where it has the ending of a plural in one of the languages.

    A name that begins with an article or the like is the name of one thing: "The Beatles". What follows a preposition
    is no part of it: "vets in Kent" are vets, "dosage for adults" is one dosage.
    """
    if not name or name[0] in patterns.stop_words:
        return ""
    head = list(takewhile(lambda word: word not in patterns.stop_words, name))
    if len(head) > _NAME_WORDS:
        return ""
    endings = (ending for stem in languages for ending in patterns.plurals.get(stem, ()))
    return head[-1] if any(ending.search(head[-1]) for ending in endings) else ""


def is_defined(name: Sequence[str], words: Sequence[str], patterns: CompiledPatterns) -> bool:
    """Whether the text begins by saying what the name is, as an entry of an encyclopedia does: "A heat pump is …"."""
    length = len(name)
    if not 0 < length <= 2 * _NAME_WORDS:
        return False
    for start in range(_WORDS_BEFORE + 1):
        end = start + length
        if list(words[start:end]) == list(name):
            return not patterns.definition_words.isdisjoint(words[end : end + _WORDS_BETWEEN])
    return False
