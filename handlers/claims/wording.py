"""A claim cut into sentences and words, each sentence with the word lists of its language.

Text goes in, ``Sentence`` values come out. A language is chosen for each sentence by its own small words, so that a
sentence in one language hides nothing of one in another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from schemas.rules import Section

CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
WORD = re.compile(r"[^\W_]{1,60}(?:['’.-][^\W_]{1,60}){0,6}")
_STOP = re.compile(r"(?<=\b[01]\.\d)(?=\s)|[.!?]{1,20}(?=[\s\"'”’»)\]\u3000-\u9fff]|$)|[。！？\n]")
_LETTERS = re.compile(r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+")
_CONNECTED = re.compile(r"(?<=[\s>\]}])([A-ZÄÖÜÆØÅ][^\W\d_]{0,15}(?: [^\W\d_]{1,15}){0,3})[,.](?=\s|$)")
_LONGEST_PHRASE = 4
_CJK_SHARE = 0.3
_SAMPLE = 600
_LEAST_WORDS = 3
_LEAST_IDEOGRAPHS = 4
"""From which on words in letters are a sentence of their own beside ideographs, and ideographs beside them."""


class LanguageWords(Section):
    """Words of a language. Without ``spaced`` they are looked for anywhere in a sentence, else as whole words."""

    spaced: bool = Field(default=True, description="Whether blanks divide words.")
    capital_nouns: bool = Field(default=False, description="Whether every noun has a capital, not only names.")
    letters: str = Field(default="", description="That only this one of the languages has.")
    typical_endings: tuple[str, ...] = Field(
        default=(), description="Endings of words that tell the language where no small word does."
    )
    pronouns: tuple[str, ...] = Field(description="Of the third person.")
    possessives: tuple[str, ...] = Field(default=(), description="Pronouns that may mean something of their clause.")
    plural_pronouns: tuple[str, ...] = Field(default=(), description="Pronouns that a plural noun may be meant by.")
    pronouns_before_verbs: tuple[str, ...] = Field(default=(), description="Pronouns where a verb follows.")
    verbs: tuple[str, ...] = Field(default=(), description="Frequent verbs in forms of the third person.")
    past_verbs: tuple[str, ...] = Field(default=(), description="Frequent verbs that tell of what is past.")
    past_endings: tuple[str, ...] = Field(default=(), description="Endings of verbs that tell of what is past.")
    expletives: tuple[str, ...] = Field(default=(), description="Pronouns that may mean nothing: it is forbidden to.")
    expletive_words: tuple[str, ...] = Field(default=(), description="After which, beyond a verb, they do.")
    speakers: tuple[str, ...] = Field(description="Pronouns of the first and second person.")
    askers: tuple[str, ...] = Field(
        default=(), description="That begin a question or a request, where speakers are idle."
    )
    demonstratives: tuple[str, ...] = Field(description="That point at something wherever they stand.")
    demonstratives_last: tuple[str, ...] = Field(default=(), description="That point where a phrase ends or begins.")
    articles: tuple[str, ...] = Field(default=(), description="That make a noun phrase definite.")
    definite_starts: tuple[str, ...] = Field(default=(), description="Nouns that begin a sentence like 'the company'.")
    definite_endings: tuple[str, ...] = Field(
        default=(), description="Endings that make a sentence's first noun definite."
    )
    postmodifiers: tuple[str, ...] = Field(description="Words after a noun that begin to say which one is meant.")
    boundaries: tuple[str, ...] = Field(
        default=(), description="That begin a clause, behind which a pronoun may look back."
    )
    stand_ins: tuple[str, ...] = Field(description="Words and phrases that stand for another.")
    comparatives: tuple[str, ...] = Field(default=(), description="That compare, after no article.")
    than: tuple[str, ...] = Field(default=(), description="That name with what is compared.")
    connectives: tuple[str, ...] = Field(description="Words and phrases that continue, at the start of a sentence.")
    relative_times: tuple[str, ...] = Field(description="For a time counted from a day that is not known.")
    name_endings: tuple[str, ...] = Field(default=(), description="That end names where capitals don't show them.")
    acronyms: tuple[str, ...] = Field(default=(), description="Names that in small letters would be other words.")
    innocent: tuple[str, ...] = Field(default=(), description="That contain a sign and are none.")
    stop_words: tuple[str, ...] = Field(description="Words that say nothing of what a source is about.")


@dataclass(frozen=True, slots=True)
class Lists:
    """A language's words, ready to look up.

    Attributes:
        own: As configured.
        sets: Each field's words.
        small: Words that name nothing.
        telling: Words by which the language is known.
    """

    own: LanguageWords
    sets: Mapping[str, frozenset[str]]
    small: frozenset[str]
    telling: frozenset[str]

    def __getitem__(self, name: str) -> frozenset[str]:
        """The words of a field."""
        return self.sets[name]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence.

    Attributes:
        raw: As it stands.
        text: Without words that only contain a sign.
        words: As they stand.
        lower: Small, without a possessive ending.
        lists: Of its language.
    """

    raw: str
    text: str
    words: Sequence[str]
    lower: Sequence[str]
    lists: Lists


def ready(languages: Mapping[str, LanguageWords]) -> tuple[Lists, ...]:
    """The word lists as sets, in their order."""
    made = []
    for own in languages.values():
        sets = {name: frozenset(value) for name, value in own if isinstance(value, tuple)}
        naming_nothing = ("stop_words", "pronouns", "articles", "relative_times", "demonstratives")
        beside = ("pronouns_before_verbs", "connectives")
        small = frozenset[str]().union(*(sets[name] for name in (*naming_nothing, *beside)))
        telling = small.union(sets["postmodifiers"], sets["boundaries"], sets["verbs"], sets["speakers"])
        made.append(Lists(own, sets, small, telling))
    return tuple(made)


def sentences_of(claim: str, source: str, languages: Sequence[Lists]) -> list[Sentence]:
    """The sentences of a claim; the source's small words tell the language only where the claim has none."""
    spaced = [lists for lists in languages if lists.own.spaced]
    unspaced = [lists for lists in languages if not lists.own.spaced]
    context = (_plain_words(claim), _plain_words(source[:_SAMPLE]))
    found = []
    connectives = frozenset(word for lists in spaced for word in lists["connectives"])
    for raw in (part for sentence in cut(claim) for part in _before_connectives(sentence, connectives)):
        latin = CJK.sub(" ", raw) if unspaced else raw
        words = _plain_words(latin)
        few = len(words) < _LEAST_WORDS
        if unspaced and (_is_cjk(raw) or len(CJK.findall(raw)) >= _LEAST_IDEOGRAPHS):
            found.append(_sentence(raw if few or _is_cjk(raw) else _LETTERS.sub(" ", raw), unspaced[0]))
            if few:
                continue
        found.append(_sentence(latin, _language(words, context, spaced)))
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


def occurrences(sentence: Sentence, known: frozenset[str]) -> int:
    """How often phrases occur: the longest of up to four words, or anywhere in a language without blanks."""
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


def begins_with(sentence: Sentence, known: frozenset[str]) -> bool:
    """Whether a sentence begins with one of the phrases."""
    if not sentence.lists.own.spaced:
        return sentence.raw.strip(' \u3000「『"“(（').startswith(tuple(known))
    return any(" ".join(sentence.lower[:size]) in known for size in range(1, _LONGEST_PHRASE + 1))


def _before_connectives(text: str, connectives: frozenset[str]) -> list[str]:
    """A sentence, cut where inside of it another begins: "1.0 However, it"."""
    parts, start = [], 0
    for found in _CONNECTED.finditer(text):
        if found[1].lower() in connectives and WORD.search(text[start : found.start()]):
            parts.append(text[start : found.start()])
            start = found.start()
    return [*parts, text[start:]]


def _sentence(raw: str, lists: Lists) -> Sentence:
    text = raw
    for innocent in lists.own.innocent:
        text = text.replace(innocent, "\u3000" * len(innocent))
    words = WORD.findall(text)
    acronyms = lists["acronyms"]
    return Sentence(raw, text, words, [word if word in acronyms else plain(word) for word in words], lists)


def _is_short(before: str) -> bool:
    """Whether what stands before a full stop may be an initial or a short title."""
    word = re.split(r"[\s(]", before)[-1].split(".")[-1]
    return 0 < len(word) <= 2 and word[0].isupper()


def _is_cjk(text: str) -> bool:
    return len(CJK.findall(text)) >= _CJK_SHARE * len(text.strip())


def _plain_words(text: str) -> list[str]:
    return [plain(word) for word in WORD.findall(text)]


def _language(words: Sequence[str], context: Sequence[Sequence[str]], languages: Sequence[Lists]) -> Lists:
    def hits(lists: Lists) -> tuple[int, ...]:
        letters = frozenset(lists.own.letters)
        return tuple(
            sum((word in lists.telling) + (not letters.isdisjoint(word)) for word in text) for text in (words, *context)
        )

    return max(languages, key=hits)
