"""The words of a language, and which language a sentence is in, as far as the offline judge of claims knows it.

A sentence is in a language only with positive evidence: enough of its words are known, no other language's small words
are more, and none of its words in small letters has a foreign letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from pydantic import Field

from handlers.text.patterns import WordList
from handlers.text.scripts import counts_by_language
from handlers.text.sentences import sentences
from handlers.text.words import alternatives
from schemas.rules import Section

HAN = "\u3400-\u9fff\uf900-\ufaff"
HAN_SIGN = re.compile(f"[{HAN}]")
WORD_FORM = r"[^\W_]{1,60}(?:['’.-][^\W_]{1,60}){0,6}"
WORD = re.compile(WORD_FORM)
CLAUSE_MARKS = ",;:()，；、"
_LETTERS = re.compile(r"[^\W\d_]{1,60}")
_LATIN = re.compile(r"[A-Za-z]{1,60}")
_FOREIGN_SCRIPT = re.compile("[\u0370-\u1cff\u3040-\u30ff\uac00-\ud7af]")
_SOURCE_SAMPLE, _LEAST_HAN, _LEAST_LATIN, _LEAST_MORE = 600, 4, 2, 3
"""Of a source that shows the language; ideographs of a sentence; words beside; for each word of another language."""
_NOT_IN_CAPITALS = frozenset(
    {"pronouns", "possessives", "subject_pronouns", "dummies", "speakers", "questions", "postmodifiers"}
    | {"clause_starts"}
)
"""Lists that have no word in capitals among other words: WHO, IT and US are names."""
_STARTS = frozenset({"pronouns", "possessives", "pointing", "connectives", "articles"})
_VERBS = frozenset({"verbs", "past", "sayings"})
_CONTENT = frozenset({"uniques", "expletives", "past", "sayings", "lives"})
"""Lists whose words name or describe something; the words of all other lists are function words."""


class KnownWords(Section):
    """Words of texts of a language; ``tools/training`` writes them."""

    about: str = Field(default="", description="Where they are from.")
    common: str = Field(default="", description="Words that are mostly in small letters, so that they are no names.")
    verbs: str = Field(default="", description="Those of them that are verbs in their first form.")
    nouns_and_verbs: str = Field(default="", description="Those that are verbs now and then.")


class Word(NamedTuple):
    """A word or phrase as written, the lists that have it, where it begins, and what the lists say of it."""

    text: str
    kinds: frozenset[str]
    start: int
    is_function_word: bool
    may_be_name: bool
    is_verb: bool
    is_past: bool


class LanguageWords(Section):
    """Words and phrases of a language, in small letters."""

    spaced: bool = Field(default=True, description="Whether blanks divide words; if not, words are found anywhere.")
    is_inverted: bool = Field(
        default=False, description="Whether a verb is before the subject if something else is first."
    )
    capital_nouns: bool = Field(default=False, description="Whether every noun has a capital, not only names.")
    alphabet: str = Field(default="", description="Letters of its words beside a to z; empty: any.")
    least_known: float = Field(default=0.3, gt=0, le=1, description="Share of known words that shows the language.")
    function_words: WordList = Field(description="Words that name nothing and are in no other list.")
    pronouns: WordList = Field(description="Of the third person.")
    possessives: WordList = Field(default=(), description="Pronouns that may refer to a noun of their clause.")
    subject_pronouns: WordList = Field(default=(), description="Words that are pronouns before a verb.")
    dummies: WordList = Field(default=(), description="Pronouns that refer to nothing before an expletive.")
    expletives: WordList = Field(default=(), description="Words such as 'forbidden' in 'it is forbidden'.")
    speakers: WordList = Field(description="Pronouns of the first and second person.")
    pointing: WordList = Field(description="Words that refer to something outside of the claim.")
    pointing_subjects: WordList = Field(default=(), description="Words that do so before or as the subject.")
    relative_times: WordList = Field(description="Times that count from an unknown day.")
    later_times: WordList = Field(description="Times that count from a year before them, else from an unknown day.")
    weekdays: WordList = Field(default=(), description="Days that a year tells apart.")
    comparisons: WordList = Field(description="Words that compare with something else, or replace it.")
    connectives: WordList = Field(description="Words that continue a text, at the start of a sentence.")
    exceptions: WordList = Field(default=(), description="Phrases in which such words refer to nothing.")
    questions: WordList = Field(default=(), description="Words that begin a question.")
    articles: WordList = Field(default=(), description="Definite articles.")
    determiners: WordList = Field(default=(), description="Other words that begin a noun.")
    uniques: WordList = Field(default=(), description="Things of which there is one, or one in every body.")
    postmodifiers: WordList = Field(default=(), description="Words after a noun that begin to say which one.")
    places: WordList = Field(default=(), description="Prepositions before names, where nouns have capitals.")
    clause_starts: WordList = Field(default=(), description="Words that begin a clause.")
    verbs: WordList = Field(default=(), description="Frequent verbs in the present tense.")
    copulas: WordList = Field(default=(), description="Verbs of definitions.")
    sayings: WordList = Field(default=(), description="Verbs of those who state something.")
    lives: WordList = Field(default=(), description="What persons do, and countries and firms do not.")
    past: WordList = Field(default=(), description="Verbs that report an event.")
    past_endings: WordList = Field(default=(), description="Endings of such verbs.")
    definite_endings: WordList = Field(default=(), description="Endings of nouns with the article behind them.")
    plural_endings: WordList = Field(default=(), description="Endings of most plurals.")
    singular_endings: WordList = Field(default=(), description="Longer endings that no plural has.")
    plural_verb_endings: WordList = Field(default=(), description="Endings of verbs after a plural.")
    abstract_endings: WordList = Field(default=(), description="Endings of nouns that name no person and no place.")
    known: KnownWords = Field(default=KnownWords(), description="Further words.")

    @cached_property
    def lists_by_word(self) -> Mapping[str, frozenset[str]]:
        """The names of the lists that have a word. Marks begin clauses."""
        found = {mark: {"clause_starts"} for mark in CLAUSE_MARKS}
        for name, words in self:
            for word in words if isinstance(words, tuple) and not name.endswith("endings") else ():
                found.setdefault(word, set()).add(name)
        return {word: frozenset(names) for word, names in found.items()}

    @cached_property
    def common(self) -> Set[str]:
        """Words that are no names."""
        return frozenset(self.known.common.split())

    @cached_property
    def known_verbs(self) -> Set[str]:
        """Verbs in their forms of the present."""
        return {form for verb in self.imperatives for form in (verb, f"{verb}s", f"{verb}es")}

    def may_be_verb(self, word: str, before: str, *, is_sure: bool) -> bool:
        """Whether a word that is no verb in most texts is one here: "water boils", "plants filter"."""
        agrees = self.is_plural(word) != self.is_plural(before)
        if not (self.common and agrees and word.islower()) or word in self.lists_by_word:
            return False
        return is_sure or word not in self.common or not self.nouns_and_verbs.isdisjoint((word, word[:-1], word[:-2]))

    @cached_property
    def imperatives(self) -> Set[str]:
        """Verbs in their first form that are seldom nouns."""
        return frozenset(self.known.verbs.split())

    @cached_property
    def nouns_and_verbs(self) -> Set[str]:
        """Words that are verbs now and then."""
        return frozenset(self.known.nouns_and_verbs.split())

    @cached_property
    def token(self) -> re.Pattern[str]:
        """An expression for words, listed phrases and the marks between clauses."""
        known = alternatives(word for word in self.lists_by_word if not self.spaced or " " in word)
        if self.spaced:
            return re.compile(rf"(?i:(?<!\w)(?:{known})(?!\w))|{WORD_FORM}|[{CLAUSE_MARKS}]")
        return re.compile(rf"{known}|[a-zA-Z0-9.]{{1,40}}|(?:(?!{known})[{HAN}]){{1,60}}|[^\W_]")

    def is_common(self, word: str) -> bool:
        """Whether a word is no name, by its ending or by texts."""
        return word.lower() in self.common or word.endswith(self.abstract_endings)

    def is_plural(self, word: str) -> bool:
        """Whether a noun has the ending of a plural."""
        return word.endswith(self.plural_endings) and not word.endswith(self.singular_endings)

    @cached_property
    def _listed(self) -> Set[str]:
        """Words that show the language; "I" is a preposition elsewhere."""
        return {word for phrase in self.lists_by_word for word in phrase.split()}.difference(self.speakers)

    def knows(self, word: str) -> bool:
        """Whether a word is of the language."""
        return plain(word) in self._listed or plain(word) in self.common

    def share(self, words: Sequence[str]) -> float:
        """The share of the words that are known; 0 if one has a foreign letter."""
        is_foreign = any("\x7f" < sign < "\u0250" for sign in set("".join(words).lower()).difference(self.alphabet))
        return 0.0 if is_foreign else sum(map(self.knows, words)) / max(1, len(words))

    def parts_of(self, text: str) -> list[str]:
        """A text, cut where a pronoun or the like with a capital begins a sentence: "score 1.0 She resigned"."""
        starts = [word.start for word in self.words(text) if word.text[0].isupper() and word.kinds & _STARTS]
        return [text[start:end] for start, end in pairwise([0, *filter(None, starts), len(text)])]

    def words(self, text: str) -> list[Word]:
        """The words of a text in order, with the marks between its clauses. A word of a title is in no list."""
        found = [(match[0], match.start()) for match in self.token.finditer(text)]
        capital = [word[0].isupper() and not self.capital_nouns for word, _ in found]
        words = []
        for place, (word, start) in enumerate(found):
            in_title = place > 0 and capital[place] and (capital[place - 1] or any(capital[place + 1 : place + 3]))
            small = plain(word)
            kinds = frozenset[str]() if in_title else self.lists_by_word.get(small, frozenset())
            if len(small) > 1 and word[: len(small)].isupper():
                kinds -= _NOT_IN_CAPITALS
            is_function_word = not kinds <= _CONTENT
            is_small = word[0].islower()
            is_past = "past" in kinds or (len(word) > 4 and is_small and word.endswith(self.past_endings))
            is_verb = is_past or not kinds.isdisjoint(_VERBS) or (is_small and small in self.known_verbs)
            may_be_name = word[0].isupper() and not is_function_word
            words.append(Word(word, kinds, start, is_function_word, may_be_name, is_verb, is_past))
        return words


def parts_with_language(
    claim: str, source: str, languages: Mapping[str, LanguageWords], small_words: Mapping[str, Set[str]]
) -> list[tuple[str, LanguageWords]] | None:
    """The sentences of a claim with their languages; None if one shows no language, or one without lists."""
    unspaced = next((language for language in languages.values() if not language.spaced), None)
    usual = _language_of(source[:_SOURCE_SAMPLE], languages, small_words)
    found = []
    for text in filter(WORD.search, sentences(claim)):
        rest = HAN_SIGN.sub(" ", text)
        if unspaced and len(HAN_SIGN.findall(text)) >= min(_LEAST_HAN, max(1.0, sum(map(str.isalpha, text)) / 3)):
            if _FOREIGN_SCRIPT.search(text):
                return None
            is_whole = len(_LATIN.findall(rest)) <= _LEAST_LATIN
            found.append((text if is_whole else _LATIN.sub(" ", text), unspaced))
            if is_whole:
                continue
        elif 2 * len(_FOREIGN_SCRIPT.findall(text)) > sum(map(str.isalpha, text)):
            return None
        language = _language_of(rest, languages, small_words)
        if language is None and len(_LETTERS.findall(rest)) <= _LEAST_LATIN:
            language = usual
        if language is None:
            return None
        found += [(part, language) for part in language.parts_of(rest)]
    return found


def _language_of(
    text: str, languages: Mapping[str, LanguageWords], small_words: Mapping[str, Set[str]]
) -> LanguageWords | None:
    text = text.capitalize() if text.isupper() else text
    found = ["", *(word for word in WORD.findall(text) if word[0].isalpha()), ""]
    capital = [word[:1].isupper() for word in found]
    spaced = [language for language in languages.values() if language.spaced]
    # Names say nothing, such as "Los Angeles" at the beginning.
    is_name = capital[2:3] == [True] and not any(language.knows(found[1]) for language in spaced)
    places = [place for place in range(1, len(found) - 1) if not (is_name if place == 1 else capital[place])]
    words = [found[place] for place in places]
    best = max(spaced, key=lambda one: (sum(plain(word) in one.lists_by_word for word in words), one.share(words)))
    # The "de" of "Charles de Gaulle" is part of a name.
    strange = [
        found[place].lower()
        for place in places
        if not (best.knows(found[place]) or (capital[place - 1] and capital[place + 1]))
    ]
    others = max(counts_by_language(strange, small_words).values(), default=0)
    is_most = sum(map(best.knows, words)) > _LEAST_MORE * others
    return best if is_most and best.share(words) >= best.least_known else None


def plain(word: str) -> str:
    """A word in small letters without a possessive ending."""
    return word.lower().replace("’", "'").removesuffix("'s")
