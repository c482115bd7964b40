"""Does the wording of a claim say who, when and where? The offline judge of claims.

A *gap* (an open pronoun, "this", "yesterday", an office without a name, an event without a person or a place) keeps the
score below ``gap_ceiling``, whatever else the claim says. The other features only order claims. A claim in a language
without word lists has no score, since none of its features would be found.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from pydantic import Field

from handlers.prompts.untrusted import cleaned
from handlers.text.patterns import WordList
from handlers.text.sentences import sentences
from handlers.text.words import alternatives
from schemas.rules import Section

_HAN = "\u3400-\u9fff\uf900-\ufaff"
_HAN_SIGN = re.compile(f"[{_HAN}]")
_FOREIGN_SCRIPT = re.compile("[\u0370-\u1cff\u3040-\u30ff\uac00-\ud7af]")
_WORD_FORM = r"[^\W_]{1,60}(?:['’.-][^\W_]{1,60}){0,6}"
_WORD = re.compile(_WORD_FORM)
_ANY_LETTERS = re.compile(r"[^\W\d_]{1,60}")
_LATIN = re.compile(r"[A-Za-z]{1,60}")
_CLAUSE_MARKS = ",;:()，；、"
_BREAKS = re.compile(r"[<>{}|\[\]]{1,20}|-{2,20}")
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?![\d.,]\d)|(?<!\d)\d{1,4}年")
_AMOUNT = re.compile(r"(?<![0-9A-Za-z.,])[0-9]|[一二兩两三四五六七八九十百千萬万億亿數数][人名位件起次間间家成倍元]")
_NAME_TAGS = ("nr", "ns", "nt")
_MOST_CHARACTERS, _SOURCE_SAMPLE = 20_000, 600
_LEAST_HAN, _LEAST_CONTENT, _LEAST_MIXED = 4, 2, 2
_REACH, _SUBJECT = 4, 3
"""Words after a noun that may say which one is meant, or after a pronoun that show its use; words of a subject."""
_NOT_IN_CAPITALS = frozenset(
    {"pronouns", "possessives", "subject_pronouns", "dummies", "speakers", "postmodifiers", "clause_starts"}
)
"""Lists that have no word in capitals among other words: WHO, IT and US are names."""
_STARTS = frozenset({"pronouns", "possessives", "pointing", "connectives", "articles"})
_VERBS = frozenset({"verbs", "past"})
_CONTENT = frozenset({"roles", "expletives", "past"})
"""Lists whose words name or describe something; the words of all other lists are function words."""
Feature = Literal["start", "gap", "resolved_pronoun", "definite", "comparison", "connective", "shortness", "names"]
"""What a score is made of; ``start`` is that of a claim without any other. The configuration explains each."""


class LanguageWords(Section):
    """Words and phrases of a language, in small letters."""

    spaced: bool = Field(default=True, description="Whether blanks divide words; if not, words are found anywhere.")
    capital_nouns: bool = Field(default=False, description="Whether every noun has a capital, not only names.")
    letters: str = Field(default="", description="Letters that only this one of the languages has.")
    endings: WordList = Field(default=(), description="Endings that show the language if no word does.")
    function_words: WordList = Field(description="Words that name nothing and are in no other list.")
    pronouns: WordList = Field(description="Of the third person.")
    possessives: WordList = Field(default=(), description="Pronouns that may refer to a noun of their clause.")
    subject_pronouns: WordList = Field(default=(), description="Words that are pronouns before a verb.")
    dummies: WordList = Field(default=(), description="Pronouns that refer to nothing before an expletive.")
    expletives: WordList = Field(default=(), description="Words such as 'forbidden' in 'it is forbidden'.")
    speakers: WordList = Field(description="Pronouns of the first and second person.")
    pointing: WordList = Field(description="Words that refer to something outside of the claim.")
    relative_times: WordList = Field(description="Times that count from an unknown day.")
    comparisons: WordList = Field(description="Words that compare with something else, or replace it.")
    connectives: WordList = Field(description="Words that continue a text, at the start of a sentence.")
    exceptions: WordList = Field(default=(), description="Phrases in which such words refer to nothing.")
    articles: WordList = Field(default=(), description="Definite articles.")
    postmodifiers: WordList = Field(default=(), description="Words after a noun that begin to say which one.")
    places: WordList = Field(default=(), description="Prepositions before names, where nouns have capitals.")
    clause_starts: WordList = Field(default=(), description="Words that begin a clause.")
    verbs: WordList = Field(default=(), description="Frequent verbs in the present tense.")
    past: WordList = Field(default=(), description="Verbs that report an event.")
    past_endings: WordList = Field(default=(), description="Endings of such verbs.")
    roles: WordList = Field(default=(), description="Offices, bodies, works and quantities: of whom, or where?")

    @cached_property
    def lists_by_word(self) -> Mapping[str, frozenset[str]]:
        """The names of the lists that have a word. Marks begin clauses."""
        found = {mark: {"clause_starts"} for mark in _CLAUSE_MARKS}
        for name, words in self:
            for word in words if isinstance(words, tuple) and not name.endswith("endings") else ():
                found.setdefault(word, set()).add(name)
        return {word: frozenset(names) for word, names in found.items()}

    @cached_property
    def token(self) -> re.Pattern[str]:
        """An expression for words, listed phrases and the marks between clauses."""
        known = alternatives(word for word in self.lists_by_word if not self.spaced or " " in word)
        if self.spaced:
            return re.compile(rf"(?i:(?<!\w)(?:{known})(?!\w))|{_WORD_FORM}|[{_CLAUSE_MARKS}]")
        return re.compile(rf"{known}|[a-zA-Z0-9.]{{1,40}}|(?:(?!{known})[{_HAN}]){{1,60}}|[^\W_]")

    def shows(self, word: str) -> bool:
        """Whether a word is of the language."""
        return plain(word) in self.lists_by_word or not set(self.letters).isdisjoint(word.lower())

    def parts_of(self, text: str) -> list[str]:
        """A text, cut where a pronoun or the like with a capital begins a sentence: "score 1.0 She resigned"."""
        starts = [word.start for word in self.words(text) if word.text[0].isupper() and word.kinds & _STARTS]
        return [text[start:end] for start, end in pairwise([0, *filter(None, starts), len(text)])]

    def words(self, text: str) -> list[_Word]:
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
            may_be_name = word[0].isupper() and not is_function_word
            is_verb = not kinds.isdisjoint(_VERBS)
            ends_as_past = len(word) > 4 and word[0].islower() and word.endswith(self.past_endings)
            words.append(_Word(word, kinds, start, is_function_word, may_be_name, is_verb, ends_as_past))
        return words


class ClaimWording(Section):
    """Word lists and weights of the offline judge of claims."""

    languages: dict[str, LanguageWords] = Field(min_length=1, description="Words by language.")
    foreign_words: WordList = Field(description="Function words of languages without lists.")
    enough_words: int = Field(ge=2, description="Words from which on a claim is not short.")
    most_names: int = Field(ge=0, description="Names and numbers that count at most.")
    gap_ceiling: float = Field(gt=0, le=1, description="What a score is scaled to where a claim has a gap.")
    weights: dict[Feature, float] = Field(min_length=8, description="What each adds to the logit of the score.")

    def sentences_of(self, claim: str, source: str) -> list[Sentence] | None:
        """The sentences of a claim; None if one is in a language without lists, or in an unknown one."""
        unspaced = next((language for language in self.languages.values() if not language.spaced), None)
        usual = self._language_of(claim) or self._language_of(source[:_SOURCE_SAMPLE])
        found = []
        for text in filter(_WORD.search, sentences(claim)):
            rest = _HAN_SIGN.sub(" ", text)
            language = self._language_of(rest)
            enough = min(_LEAST_HAN, max(1.0, sum(map(str.isalpha, text)) / 3))
            if unspaced and language is not False and len(_HAN_SIGN.findall(text)) >= enough:
                found.append(Sentence(_LATIN.sub(" ", text) if language else text, unspaced))
            elif not (language := usual if language is None else language):
                return None
            if language:
                found += [Sentence(part, language) for part in language.parts_of(rest)]
        return found

    def _language_of(self, text: str) -> LanguageWords | Literal[False] | None:
        """The language of most words; None if no word shows one, False if it has no lists."""
        if 2 * len(_FOREIGN_SCRIPT.findall(text)) > sum(map(str.isalpha, text)):
            return False
        words = _WORD.findall(text)
        spaced = [language for language in self.languages.values() if language.spaced]
        shown = [sum(map(language.shows, words)) for language in spaced]
        # A name may begin with a foreign word: "La Paz".
        pairs = pairwise([*_ANY_LETTERS.findall(text), ""])
        others = sum(word.lower() in self.foreign_words and not following[:1].isupper() for word, following in pairs)
        most = max(shown, default=0)
        if others and others >= most:
            return False
        if most:
            main = spaced[shown.index(most)]
            rest = [word for word in words if not main.shows(word)]
            # Two languages in one sentence: the words of one would hide what the other refers to.
            return False if any(sum(map(other.shows, rest)) >= _LEAST_MIXED for other in spaced) else main
        return next((known for known in spaced if any(word.lower().endswith(known.endings) for word in words)), None)


class ClaimBands(Section):
    """From which score on a claim is in a band (R-151); 1 is perfect."""

    moderate: float = Field(default=0.4, gt=0, le=1, description="A moderate claim; a lower score is poor.")
    good: float = Field(default=0.7, gt=0, le=1, description="A good claim.")


class ClaimsSection(Section):
    """The ``claims`` section."""

    claim_characters: int = Field(ge=1, le=20_000, description="Of a claim that are judged.")
    source_characters: int = Field(ge=0, le=20_000, description="Of its source that are shown.")
    tool_rounds: int = Field(ge=0, le=3, description="Replies of one try that may be calls of tools.")
    searches: int = Field(ge=0, le=5, description="Searches for one claim at most, all tries together.")
    recorded: bool = Field(
        default=True,
        description="Whether each judged claim is recorded as an utterance, so that later claims find it in a search.",
    )
    bands: ClaimBands = Field(default=ClaimBands(), description="The bands of a score.")
    wording: ClaimWording = Field(description="What the offline judge looks at.")


class Features(NamedTuple):
    """How often each feature occurs, and the gaps. Doubtful: a word may be a name, or a figure hold anywhere."""

    counts: Mapping[Feature, float]
    gaps: Sequence[str]
    is_doubtful: bool


def score_of(features: Features, section: ClaimWording) -> float | None:
    """The score in [0, 1] with four digits; None if the wording does not show it (R-142, R-151)."""
    if features.is_doubtful and not features.gaps:
        return None
    weights = section.weights
    logit = weights["start"] + weights["gap"] * len(features.gaps)
    logit += sum(weights[name] * count for name, count in features.counts.items())
    ceiling = section.gap_ceiling if features.gaps else 1.0
    return round(ceiling / (1 + math.exp(-max(-30.0, min(30.0, logit)))), 4)


def features_of(claim: str, source: str, section: ClaimWording) -> Features | None:
    """The features of a claim; None without word lists for its language (R-143)."""
    claim = _normalized(claim)
    found = section.sentences_of(claim, _normalized(source))
    if found is None:
        return None
    gaps: Counter[str] = Counter(fragment=sum(sentence.content for sentence in found) < _LEAST_CONTENT)
    counts: dict[Feature, float] = defaultdict(float)
    is_doubtful = False
    for sentence in found:
        unplaced = sentence.is_unplaced()
        is_doubtful = is_doubtful or unplaced is None
        opened, resolved = sentence.pronouns()
        gaps.update(
            pronoun=opened,
            pointing=sentence.counts["pointing"],
            role=sentence.has_open_role(),
            unplaced=unplaced is True,
            speaker=0 if sentence.names or sentence.is_question else sentence.counts["speakers"],
            relative_time=0 if sentence.has_year else sentence.counts["relative_times"],
        )
        counts["resolved_pronoun"] += resolved
        counts["definite"] += sum(
            "articles" in word.kinds and not sentence.is_specified(place)
            for place, word in enumerate(sentence.words, 1)
        )
        counts["comparison"] += sentence.counts["comparisons"]
        counts["connective"] += "connectives" in sentence.words[0].kinds
        counts["names"] += sentence.names + sentence.amounts
    counts["names"] = min(counts["names"], section.most_names)
    # Two different ideographs are about one word.
    words = {plain(word) for word in _WORD.findall(_HAN_SIGN.sub(" ", claim))}
    length = len(words) + len(set(_HAN_SIGN.findall(claim))) / 2
    counts["shortness"] = max(0.0, 1 - math.log(max(length, 1)) / math.log(section.enough_words))
    return Features(counts, tuple(gaps.elements()), is_doubtful)


class _Word(NamedTuple):
    """A word or phrase as written, the lists that have it, where it begins, and what the lists say of it."""

    text: str
    kinds: frozenset[str]
    start: int
    is_function_word: bool
    may_be_name: bool
    is_verb: bool
    ends_as_past: bool


class Sentence:
    """A sentence of a claim: its words and what they say."""

    def __init__(self, text: str, language: LanguageWords) -> None:
        self.own = language
        self.text = text.capitalize() if text.isupper() else text
        self.words = language.words(self.text)
        self.counts = Counter(kind for word in self.words for kind in word.kinds)
        content = [word.text for word in self.words if word.text[0].isalpha() and not word.is_function_word]
        # Two ideographs are about one word.
        self.content = len(content) if language.spaced else sum(map(len, content)) // 2
        self.is_question = text.rstrip("\"'”’)」 ").endswith(("?", "？"))
        self.has_year = bool(_YEAR.search(text))
        self.amounts = len(_AMOUNT.findall(_YEAR.sub(" ", text)))

    @cached_property
    def names(self) -> int:
        """Names that are certain: capitals inside of a sentence, or two in a row; Chinese ones by their tags."""
        if not self.own.spaced:
            import rjieba  # its dictionary takes a third of a second to load

            tagged = sum(len(word) > 1 and tag in _NAME_TAGS for word, tag in rjieba.tag(self.text))
            return tagged + sum(word.text.isascii() and word.text.isalpha() for word in self.words)
        capital = [False, *(word.may_be_name for word in self.words), False]
        inside = [False, *(not self.own.capital_nouns or "places" in word.kinds for word in self.words)]
        beside = zip(capital, capital[1:], capital[2:], inside, strict=False)
        return sum(is_name and not before and (after or is_inside) for before, is_name, after, is_inside in beside)

    def pronouns(self) -> tuple[int, int]:
        """Pronouns that no noun of an earlier clause resolves, and those that one may resolve."""
        opened = resolved = nouns_before = nouns = 0
        for place, word in enumerate(self.words):
            if "clause_starts" in word.kinds:
                nouns_before = nouns
            if self._is_pronoun(place):
                may_refer = (nouns if "possessives" in word.kinds else nouns_before) > 0
                opened, resolved = opened + (not may_refer), resolved + may_refer
            is_name = place == 0 or not self.own.capital_nouns or word.text[0].isupper()
            is_content = word.text[0].isalpha() and len(word.text) > 1 and not word.is_function_word
            nouns += is_name and is_content and not word.is_verb
        return opened, resolved

    def _is_pronoun(self, place: int) -> bool:
        word, following = self.words[place], self.words[place + 1 : place + _REACH]
        is_subject = "subject_pronouns" in word.kinds and bool(following) and following[0].is_verb
        if word.kinds.isdisjoint(("pronouns", "possessives")) and not is_subject:
            return False
        return "dummies" not in word.kinds or not any("expletives" in other.kinds for other in following)

    def has_open_role(self) -> bool:
        """Whether the subject is an office, a body or a quantity, and no name says which one."""
        for place, word in enumerate(self.words[:_SUBJECT], 1):
            if "roles" in word.kinds:
                return not (self.names and not self.own.spaced) and not self.is_specified(place)
            if word.may_be_name:
                break
        return False

    def is_specified(self, start: int) -> bool:
        """Whether the words from here on say which one is meant: a name, a number or a postmodifier before the verb."""
        before = "" if "articles" in self.words[start - 1].kinds else self.words[start - 1].text
        for word in self.words[start : start + _REACH]:
            if word.text[0].isdigit() or "postmodifiers" in word.kinds:
                return True
            if word.is_verb or (before and word.ends_as_past):
                return False
            if word.may_be_name and (not self.own.capital_nouns or before[:1].isupper()):
                return True
            before = word.text
        return False

    def is_unplaced(self) -> bool | None:
        """Whether the sentence reports an event or a figure without a name or a year; None if it may have a name."""
        if self.names or self.is_question or self.has_year:
            return False
        has_present = self.counts["verbs"] > 0
        reports = any(
            ("past" in word.kinds and "verbs" not in before.kinds)
            or (not has_present and not before.is_function_word and word.ends_as_past)
            for before, word in pairwise(self.words)
        )
        if not reports:
            return None if self.amounts else False
        first = self.words[0]
        return None if self.own.spaced and first.may_be_name and "roles" not in first.kinds else True


def plain(word: str) -> str:
    """A word in small letters without a possessive ending."""
    return word.lower().replace("’", "'").removesuffix("'s")


def _normalized(text: str) -> str:
    """A text without unseen characters, with letters in one form; brackets and dashes end a sentence."""
    return _BREAKS.sub("\n", unicodedata.normalize("NFKC", cleaned(text, _MOST_CHARACTERS)))
