"""Words beside a number: the month before a day, the currency after an amount.

In: word lists of the pattern packs. Out: the longest known word that ends or begins at a place in a text. Looking only
where a number stands is what keeps the search for details fast: most text has no number in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")

_Entry = tuple[str, str]
_GROUP_DEPTH = 3


class Words(Generic[V]):
    """Known words with what they mean, found by where they end or begin.

    A word written with capitals counts only as written; every other word in any case. A word in letters is not found as
    a part of a longer word; signs and ideographs are.
    """

    def __init__(self, meanings: Mapping[str, V]) -> None:
        """Sorts the words by their first and by their last two characters, the longest first."""
        self._meanings = dict(meanings)
        entries = sorted(((word.lower(), word) for word in meanings), key=lambda entry: (-len(entry[0]), entry))
        self._by_last = _grouped(entries, slice(-2, None))
        self._by_first = _grouped(entries, slice(2))

    def __iter__(self) -> Iterator[str]:
        """The words as in the list."""
        return iter(self._meanings)

    def __getitem__(self, word: str) -> V:
        """What a word means that was found."""
        return self._meanings[word]

    def may_end(self, folded: str, end: int) -> bool:
        """Whether a word may end there, by its last two characters: a look that costs next to nothing."""
        return end > 0 and (folded[max(0, end - 2) : end] in self._by_last or folded[end - 1] in self._by_last)

    def may_begin(self, folded: str, start: int) -> bool:
        """Whether a word may begin there, by its first two characters."""
        return folded[start : start + 2] in self._by_first or folded[start : start + 1] in self._by_first

    def get(self, word: str, default: V) -> V:
        """What a word means, written as in the list."""
        return self._meanings.get(word, default)

    def __contains__(self, word: str) -> bool:
        """Whether the word is known as written."""
        return word in self._meanings

    def before(self, folded: str, text: str, end: int) -> str:
        """The longest word that ends there, as in the list; "" where none does.

        >>> Words({"nov": 11, "R": 0}).before("29 nov", "29 Nov", 6)
        'nov'
        """
        known = self._by_last
        pair = folded[end - 2 : end] if end > 1 else ""
        for low, word in known.get(pair) or known.get(folded[end - 1 : end], ()):
            start = end - len(low)
            if start < 0 or not folded.startswith(low, start) or (start and _joined(folded[start - 1], low[0])):
                continue
            if low == word or text.startswith(word, start):
                return word
        return ""

    def after(self, folded: str, text: str, start: int) -> str:
        """The longest word that begins there, as in the list; "" where none does.

        >>> Words({"kr": "kr", "kr.": "kr"}).after("199 kr. i alt", "199 kr. i alt", 4)
        'kr.'
        """
        known = self._by_first
        for low, word in known.get(folded[start : start + 2]) or known.get(folded[start : start + 1], ()):
            end = start + len(low)
            if not folded.startswith(low, start) or (end < len(folded) and _joined(folded[end], low[-1])):
                continue
            if low == word or text.startswith(word, start):
                return word
        return ""


def alternatives(words: Iterable[str]) -> str:
    """An expression for any of the words, the longest first, so that "nt$" is not read as "nt".

    Words are grouped by their first characters: the engine then looks at a few of them at each place, not at all.
    """
    known = sorted(set(words), key=lambda word: (-len(word), word))
    # No words at all match nothing, where an empty expression would match everywhere.
    return _branches(known, 0) if known else r"(?!)"


def is_ideographic(character: str) -> bool:
    """Whether a character is of a script without blanks between words: Chinese, Japanese, Korean."""
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3"


def _joined(outside: str, inside: str) -> bool:
    return outside.isalpha() and inside.isalpha() and not is_ideographic(outside) and not is_ideographic(inside)


def _grouped(entries: Iterable[_Entry], pair: slice) -> dict[str, tuple[_Entry, ...]]:
    """Words by two characters, and each word of a single one under every pair that it may be part of, last."""
    groups: dict[str, list[_Entry]] = {}
    singles: dict[str, list[_Entry]] = {}
    for entry in entries:
        (groups if len(entry[0]) > 1 else singles).setdefault(entry[0][pair], []).append(entry)
    place = 0 if pair.start is None else -1
    for key, group in groups.items():
        group += singles.get(key[place], [])
    return {key: tuple(group) for key, group in (singles | groups).items()}


def _branches(words: list[str], depth: int) -> str:
    if len(words) == 1 or depth == _GROUP_DEPTH:
        return "|".join(re.escape(word[depth:]) for word in words)
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[depth : depth + 1], []).append(word)
    ends = groups.pop("", None)
    branches = [f"{re.escape(first)}(?:{_branches(group, depth + 1)})" for first, group in groups.items()]
    # A word that ends here is tried after those that go on.
    return "|".join([*branches, ""] if ends else branches)
