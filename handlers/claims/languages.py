"""Whether a claim is in a language that the word lists are for; else the offline judge has no opinion.

A claim, the source it was taken from and word lists go in; yes or no comes out. Who has no lists for a language finds
no pronoun in it, and would call every sentence of it good.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from handlers.claims.wording import CJK, WORD, Lists, cut, plain

_KANA = re.compile(r"[\u3040-\u30ff]")
_SAMPLE = 600


def is_known(
    claim: str, source: str, lists: Sequence[Lists], others: Mapping[str, frozenset[str]], shares: tuple[float, float]
) -> bool:
    """Whether every sentence of a claim is in a language with lists.

    A sentence of another script is not, nor one with more small words of a language in ``others``. One without any
    small word takes the language of the claim, else of its source; where these have none either, an ending that is
    typical of a language with lists tells. So names and numbers alone are of no language.

    Args:
        claim: The claim as it is read.
        source: What it was taken from; only its beginning is looked at.
        lists: The languages with lists.
        others: Small words of languages without.
        shares: From which share of a sentence's letters on other scripts, and Japanese syllables, are its own.
    """
    spaced = [known for known in lists if known.own.spaced]
    has_ideographs = len(spaced) < len(lists)
    undecided = []
    known = False
    for sentence in cut(claim):
        letters = [letter for letter in sentence if letter.isalpha()]
        if not letters:
            continue
        if _is_foreign(letters, shares, has_ideographs):
            return False
        if has_ideographs and 2 * len(CJK.findall(sentence)) >= len(letters):
            known = True
            continue
        own, other = _hits(sentence, spaced, others)
        if other > own:
            return False
        known = known or own > 0
        if not own:
            undecided.append(sentence)
    if known or not undecided:
        return True
    own, other = _hits(source[:_SAMPLE], spaced, others)
    if own or other:
        return own >= other
    endings = tuple(ending for known_one in spaced for ending in known_one.own.typical_endings)
    return any(_ends(word, endings) for sentence in undecided for word in WORD.findall(sentence))


def _hits(text: str, lists: Sequence[Lists], others: Mapping[str, frozenset[str]]) -> tuple[int, int]:
    """Small words of the languages with lists, the most of one of them; and the same of those without."""
    said = WORD.findall(text)
    words = [plain(word) for word in said]
    own = max((sum(word in known.telling for word in words) for known in lists), default=0)
    # Elision: "l'année" is two words.
    parts = [part for word in map(plain, _without_names(said)) for part in {word, word.split("'")[0]}]
    other = max((sum(part in small for part in parts) for small in others.values()), default=0)
    return own, other


def _without_names(words: Sequence[str]) -> Iterable[str]:
    """Words that are part of no longer name, for "El Salvador" and "Ludwig van Beethoven" are in no language."""
    for before, word, following in zip(["", *words], words, [*words, ""][1:], strict=False):
        if not (following[:1].isupper() and (word[:1].isupper() or before[:1].isupper())):
            yield word


def _is_foreign(letters: Sequence[str], shares: tuple[float, float], has_ideographs: bool) -> bool:
    scripts, kana = shares
    foreign = sum(not _is_latin(letter) and not (has_ideographs and CJK.match(letter)) for letter in letters)
    syllables = sum(bool(_KANA.match(letter)) for letter in letters)
    return foreign >= scripts * len(letters) or (syllables > 0 and syllables >= kana * len(letters))


@cache
def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN")


def _ends(word: str, endings: tuple[str, ...]) -> bool:
    return bool(endings) and word.lower().endswith(endings)
