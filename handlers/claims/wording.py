"""A claim cut into sentences and words, each sentence with the word lists of its language.

Text goes in, ``Sentence`` values come out. A sentence in a language without lists makes the claim unreadable: no sign
would be found in it, and every such claim would look good.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from pydantic import Field

from schemas.rules import Section

CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
WORD = re.compile(r"[^\W_]{1,60}(?:['’.-][^\W_]{1,60}){0,6}")
_KANA = re.compile(r"[\u3040-\u30ff]")
_STOP = re.compile(r"(?<=\b[01]\.\d)(?=\s[A-ZÄÖÜÆØÅ])|[.!?]{1,20}(?=[\s\"'”’»)\]\u3000-\u9fff]|$)|[。！？\n]")
_LETTERS = re.compile(r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+")
_LEAST_IDEOGRAPHS = 4
_SAMPLE = 600
_LONGEST_PHRASE = 4
_NOT_TELLING = ("typical_endings", "past_endings", "roles", "measures", "stand_ins", "relative_times", "expletives")
_CJK_SHARE = 0.3
_FOREIGN_SHARE = 0.5


class LanguageWords(Section):
    """Words of a language. Without ``spaced`` they are looked for anywhere in a sentence, else as whole words."""

    spaced: bool = Field(default=True, description="Whether blanks divide words.")
    capital_nouns: bool = Field(default=False, description="Whether every noun has a capital, not only names.")
    letters: str = Field(default="", description="Letters that only this one of the languages has.")
    small: tuple[str, ...] = Field(description="Function words, numbers, months: they name nothing.")
    typical_endings: tuple[str, ...] = Field(
        default=(), description="Endings of words that show the language where no small word does."
    )
    pronouns: tuple[str, ...] = Field(description="Of the third person.")
    possessives: tuple[str, ...] = Field(default=(), description="Pronouns that may mean something of their clause.")
    pronouns_before_verbs: tuple[str, ...] = Field(default=(), description="Pronouns where a verb follows.")
    dummies: tuple[str, ...] = Field(default=(), description="Pronouns that may refer to nothing.")
    expletives: tuple[str, ...] = Field(
        default=(), description="Words after a dummy (and a verb) where it does: 'it is forbidden'."
    )
    speakers: tuple[str, ...] = Field(description="Pronouns of the first and second person.")
    askers: tuple[str, ...] = Field(default=(), description="Words that begin a question or a request.")
    pointing: tuple[str, ...] = Field(description="Words that refer to something outside of the claim.")
    relative_times: tuple[str, ...] = Field(description="Times that are counted from an unknown day.")
    stand_ins: tuple[str, ...] = Field(description="Words that compare with something, or stand for it.")
    connectives: tuple[str, ...] = Field(description="Words that continue a text, at the start of a sentence.")
    innocent: tuple[str, ...] = Field(default=(), description="Phrases that contain one of these words by chance.")
    articles: tuple[str, ...] = Field(default=(), description="Definite articles.")
    postmodifiers: tuple[str, ...] = Field(default=(), description="Words after a noun that begin to say which one.")
    places: tuple[str, ...] = Field(default=(), description="Prepositions before names, where nouns have capitals.")
    boundaries: tuple[str, ...] = Field(default=(), description="Words that begin a clause.")
    verbs: tuple[str, ...] = Field(default=(), description="Frequent verbs of the third person, in the present tense.")
    past: tuple[str, ...] = Field(default=(), description="Verbs that report an event.")
    past_endings: tuple[str, ...] = Field(default=(), description="Endings of such verbs.")
    roles: tuple[str, ...] = Field(default=(), description="Offices and bodies of which there are many.")
    measures: tuple[str, ...] = Field(default=(), description="Quantities that are always of somebody or some place.")


@dataclass(frozen=True, slots=True)
class Lists:
    """A language's words, ready to look up: each field's, and all by which the language is known."""

    own: LanguageWords
    sets: Mapping[str, frozenset[str]]
    known: frozenset[str]

    def __getitem__(self, name: str) -> frozenset[str]:
        """The words of a field."""
        return self.sets[name]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its text without innocent phrases, its words, and the same in small letters."""

    text: str
    words: Sequence[str]
    lower: Sequence[str]
    lists: Lists


def ready(languages: Mapping[str, LanguageWords]) -> tuple[Lists, ...]:
    """The word lists as sets, in their order."""
    made = []
    for own in languages.values():
        sets = {name: frozenset(value) for name, value in own if isinstance(value, tuple)}
        known = frozenset[str]().union(*(words for name, words in sets.items() if name not in _NOT_TELLING))
        made.append(Lists(own, sets, known))
    return tuple(made)


def sentences_of(
    claim: str, source: str, languages: Sequence[Lists], others: Sequence[frozenset[str]]
) -> list[Sentence] | None:
    """The sentences of a claim; None where one is in a language without lists, or in none that is known.

    A sentence without a function word takes the language of the claim, else of its source, else the one that has a
    typical ending.

    Args:
        claim: The claim as it is read.
        source: What it was taken from; only its beginning is looked at.
        languages: The languages with lists.
        others: Function words of languages without lists.
    """
    spaced = [lists for lists in languages if lists.own.spaced]
    unspaced = next((lists for lists in languages if not lists.own.spaced), None)
    found: list[Sentence] = []
    known_by = [_language(text, spaced, others) for text in (claim, source[:_SAMPLE])]
    fallback = known_by[0] or known_by[1]
    for raw in cut(claim):
        letters = [letter for letter in raw if letter.isalpha()]
        ideographs = len(CJK.findall(raw))
        if unspaced and ideographs and not _KANA.search(raw):
            if ideographs >= _CJK_SHARE * len(letters):
                found.append(_sentence(raw, unspaced))
                continue
            if ideographs >= _LEAST_IDEOGRAPHS:
                found.append(_sentence(_LETTERS.sub(" ", raw), unspaced))
        if sum(not _is_latin(letter) for letter in letters) >= max(1, _FOREIGN_SHARE * len(letters)):
            return None
        latin = CJK.sub(" ", raw)
        lists = _language(latin, spaced, others)
        if lists is None:
            lists = fallback or (_by_ending(latin, spaced) if letters else spaced[0])
        if not isinstance(lists, Lists):
            return None
        found += [_sentence(part, lists) for part in _begun(raw, lists)]
    return found


def cut(text: str) -> list[str]:
    """Sentences, by the marks that end them; "4. maj" and "H.C. Andersen" have none inside.

    >>> cut("H.C. Andersen died in 1875. He was 70!")
    ['H.C. Andersen died in 1875.', ' He was 70!']
    """
    parts, start = [], 0
    for mark in _STOP.finditer(text):
        before = text[max(0, mark.start() - 3) : mark.start()]
        after = text[mark.end() : mark.end() + 3].lstrip()
        if mark[0] == "." and after and (_is_short(before) or after[0].islower()):
            continue
        parts.append(text[start : mark.end()])
        start = mark.end()
    parts.append(text[start:])
    return [part for part in parts if WORD.search(part)]


def plain(word: str) -> str:
    """A word in small letters without a possessive ending."""
    return word.lower().replace("’", "'").removesuffix("'s")


def occurrences(sentence: Sentence, field: str) -> int:
    """How often phrases of a field occur: the longest of up to four words, or anywhere in a language without blanks."""
    known = sentence.lists[field]
    if not sentence.lists.own.spaced:
        return sum(sentence.text.count(phrase) for phrase in known)
    found = place = 0
    lower = sentence.lower
    while place < len(lower):
        sizes = range(min(_LONGEST_PHRASE, len(lower) - place), 0, -1)
        size = next((n for n in sizes if " ".join(lower[place : place + n]) in known), 0)
        found += size > 0
        place += size or 1
    return found


def begins_with(sentence: Sentence, field: str) -> bool:
    """Whether a sentence begins with one of the phrases of a field."""
    known = sentence.lists[field]
    if not sentence.lists.own.spaced:
        return sentence.text.lstrip(' \u3000「『"“(（').startswith(tuple(known) or ("\x00",))
    return any(" ".join(sentence.lower[:size]) in known for size in range(1, _LONGEST_PHRASE + 1))


def _begun(raw: str, lists: Lists) -> list[str]:
    """A sentence, cut where a pronoun or the like with a capital begins another: "score 1.0 She resigned"."""
    if lists.own.capital_nouns:
        return [raw]
    found = list(WORD.finditer(raw))
    lower = _lower([word[0] for word in found], lists)
    first = lists["pronouns"] | lists["pointing"] | lists["connectives"] | lists["articles"]
    pairs = zip(found[1:], lower[1:], strict=True)
    starts = [0, *(word.start() for word, small in pairs if word[0][0].isupper() and small in first), len(raw)]
    return [part for start, end in pairwise(starts) if WORD.search(part := raw[start:end])]


def _sentence(raw: str, lists: Lists) -> Sentence:
    text = raw
    for innocent in lists.own.innocent:
        text = text.replace(innocent, "\u3000" * len(innocent))
    words = WORD.findall(text)
    return Sentence(text, words, _lower(words, lists), lists)


def _lower(words: Sequence[str], lists: Lists) -> list[str]:
    """Words in small letters; acronyms and words of longer names as they are: "US", "This Is Happening"."""
    small = [plain(word) for word in words]
    if lists.own.capital_nouns:
        return small
    capital = [word[0].isupper() and (place > 0 or small[0] not in lists.known) for place, word in enumerate(words)]
    if sum(capital) * 4 > len(words) * 3:  # a headline, or a shout
        return small
    # The next capital may follow a function word: "It's a Wonderful Life".
    after = [*capital[1:], False, False]
    bridged = [word in lists["small"] and after[place + 1] for place, word in enumerate([*small[1:], ""])]
    beside = [any(near) for near in zip([False, *capital], after, bridged, strict=False)]
    return [
        word if place and capital[place] and ((word.isupper() and len(word) > 1) or beside[place]) else small[place]
        for place, word in enumerate(words)
    ]


def _is_short(before: str) -> bool:
    """Whether what stands before a full stop may be an initial or a short title."""
    word = re.split(r"[\s(]", before)[-1].split(".")[-1]
    is_day = before[-2:].strip().isdigit()  # "9. November"
    return 0 < len(word) <= 2 and (word[0].isupper() or is_day)


def _language(text: str, spaced: Sequence[Lists], others: Sequence[frozenset[str]]) -> Lists | bool | None:
    """The lists with the most of the words; None where no language has any, False where another one has more."""
    words = WORD.findall(text)
    said = [plain(word) for word in words]
    # Elision: "l'année" is two words. A longer name is in no language: "Ludwig van Beethoven", "El Salvador".
    loose = [
        part
        for before, word, after in zip(["", *words], words, [*words, ""][1:], strict=False)
        if not (after[:1].isupper() and (word[:1].isupper() or before[:1].isupper()))
        for part in {plain(word), plain(word).split("'")[0]}
    ]
    own = [
        sum((word in lists.known) + any(letter in lists.own.letters for letter in word) for word in said)
        for lists in spaced
    ]
    other = max((sum(part in known for part in loose) for known in others), default=0)
    most = max(own, default=0)
    if other > most:
        return False
    return spaced[own.index(most)] if most else None


def _by_ending(text: str, spaced: Sequence[Lists]) -> Lists | None:
    words = [word.lower() for word in WORD.findall(text)]
    return next((known for known in spaced if any(word.endswith(known.own.typical_endings) for word in words)), None)


@cache
def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN")
