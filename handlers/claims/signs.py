"""What in a claim's wording points outside of it, and what makes it stand alone.

A claim, the source it was taken from and word lists go in; how often each sign occurs comes out. The offline judge
weighs the signs where no model is configured. Signs of dependence are counted over the whole claim, those of standing
alone in its poorest part: so adding words to a claim hardly raises its score.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping

from pydantic import Field, PrivateAttr

from handlers.claims import languages, names, references
from handlers.claims.wording import (
    CJK,
    WORD,
    LanguageWords,
    Lists,
    Sentence,
    begins_with,
    occurrences,
    plain,
    ready,
    sentences_of,
)
from handlers.prompts.template import cleaned
from schemas.rules import Section

_PART = re.compile(r"[^:;()\[\]{}<>|\n：；（）【】「」]{1,4000}")
_LATIN, _LOOKALIKE = re.compile(r"[A-Za-z]"), re.compile(r"[\u0370-\u03ff\u0400-\u04ff]")
_MOST_CHARACTERS = 20_000
_DASHES = re.compile(r"-{2,100}|]{2,100}")
_OPEN = ("pronoun", "earlier_pronoun", "demonstrative", "relative_time")


class SignWeights(Section):
    """What each sign is worth in the logit of the score; the offline judge adds them up."""

    start: float = Field(description="Of a claim without any sign.")
    pronoun: float = Field(description="A pronoun of the third person with nothing before it that it could mean.")
    resolved_pronoun: float = Field(description="One that may mean something named earlier in the claim.")
    earlier_pronoun: float = Field(
        description="One that may mean something named in an earlier sentence; a claim is one, and anybody may "
        "have put another before it."
    )
    speaker: float = Field(description="A pronoun for who speaks or is spoken to, where nothing is asked.")
    demonstrative: float = Field(description="This, those, such, and the like.")
    definite: float = Field(description="The so-and-so, with nothing that says which.")
    stand_in: float = Field(description="A word that stands for another or compares with one left out.")
    connective: float = Field(description="A sentence that begins as a continuation of one before it.")
    relative_time: float = Field(
        description="A time that is counted from an unknown day, in a sentence without a year."
    )
    unplaced: float = Field(description="A sentence that tells of what was, and of nobody, no place and no time.")
    partial_name: float = Field(description="A name that the source gives in full and the claim does not.")
    instruction: float = Field(description="A word to whoever judges, beyond the first: a claim asks for nothing.")
    shortness: float = Field(description="Full for a part of one word, none from enough_words on; logarithmic.")
    names: float = Field(description="For each name or number of a part, up to most_names.")
    topic: float = Field(description="For the share of the source's main words that the claim has.")


class ClaimSigns(Section):
    """Word lists and weights of signs."""

    languages: dict[str, LanguageWords] = Field(
        min_length=1, description="Words by language; the first is the default."
    )
    other_languages: dict[str, tuple[str, ...]] = Field(
        description="Small words of languages without lists, by which they are known."
    )
    other_script: float = Field(gt=0, le=1, description="Share of a sentence's letters that makes it another script's.")
    japanese: float = Field(gt=0, le=1, description="The same, of Japanese syllables among ideographs.")
    instructions: tuple[str, ...] = Field(
        description="Words of any language that are used to tell a judge what to say."
    )
    enough_words: int = Field(ge=2, description="Words from which on a claim is not short.")
    least_part: int = Field(ge=1, description="Words from which on a part of a claim is one; less is an exclamation.")
    dependent_ceiling: float = Field(
        gt=0, le=1, description="What a score is scaled to where a pronoun, a demonstrative or a time is open."
    )
    most_names: int = Field(ge=0, description="Names and numbers that count at most.")
    topic_words: int = Field(ge=1, description="Words of most sentences of the source that are its subject.")
    topic_sentences: int = Field(
        ge=1, description="Sentences of the source that a word of its subject is in, at least."
    )
    least_topic: float = Field(ge=0, le=1, description="Taken for the share where it is less, or there is none.")
    weights: SignWeights = Field(description="What each sign is worth.")

    _lists: tuple[Lists, ...] = PrivateAttr()
    _others: dict[str, frozenset[str]] = PrivateAttr()

    def model_post_init(self, _context: object) -> None:
        """Makes sets of the word lists, once."""
        self._lists = ready(self.languages)
        self._others = {name: frozenset(words) for name, words in self.other_languages.items()}

    @property
    def lists(self) -> tuple[Lists, ...]:
        """The word lists, ready to look up."""
        return self._lists

    @property
    def others(self) -> Mapping[str, frozenset[str]]:
        """The small words of languages without lists, ready to look up."""
        return self._others


def is_readable(claim: str, source: str, section: ClaimSigns) -> bool:
    """Whether there are word lists for the language of a claim; without them its signs would not be seen.

    Args:
        claim: The claim's text.
        source: What it was taken from; may be empty.
        section: Word lists.
    """
    shares = (section.other_script, section.japanese)
    return languages.is_known(_as_read(claim), _as_read(source), section.lists, section.others, shares)


def signs_of(claim: str, source: str, section: ClaimSigns) -> dict[str, float]:
    """How often each sign of ``SignWeights`` occurs in a claim; all are at least 0 (R-143).

    Args:
        claim: The claim's text.
        source: What it was taken from; may be empty.
        section: Word lists.
    """
    claim, source = _as_read(claim), _as_read(source)
    sentences = sentences_of(claim, source, section.lists)
    stop = frozenset(word for lists in section.lists for word in lists["stop_words"]).union(section.instructions)
    unresolved, resolved, earlier = _pronouns(sentences)
    parts = [
        (part, sentence.lists)
        for sentence in sentences
        for part in _PART.findall(_DASHES.sub(";", sentence.text))
        if _length(part) >= section.least_part
    ] or [(claim, section.lists[0])]
    enough = math.log(section.enough_words)
    topic = names.topic_share(sentences, source, stop, section.topic_sentences, section.topic_words)
    return {
        "pronoun": unresolved,
        "resolved_pronoun": resolved,
        "earlier_pronoun": earlier,
        "speaker": sum(_speakers(sentence) for sentence in sentences),
        "demonstrative": sum(references.pointing(sentence) for sentence in sentences),
        "definite": sum(references.bare_definites(sentence) for sentence in sentences),
        "stand_in": sum(_stand_ins(sentence) for sentence in sentences),
        "connective": sum(begins_with(sentence, sentence.lists["connectives"]) for sentence in sentences),
        "relative_time": sum(_relative_times(sentence) for sentence in sentences),
        "partial_name": names.partial_names(sentences, source, stop),
        "instruction": max(0, _instructions(claim, section.instructions) - 1),
        "shortness": max(max(0.0, 1 - math.log(max(_length(part), 1)) / enough) for part, _ in parts),
        "names": min(min(names.names_in(part, lists), section.most_names) for part, lists in parts),
        "unplaced": sum(_is_unplaced(sentence) for sentence in sentences),
        "topic": max(topic, section.least_topic),
    }


def weigh(signs: Mapping[str, float], section: ClaimSigns) -> float:
    """The signs as a score in [0, 1], four digits (R-142, R-151)."""
    worth = section.weights.model_dump()
    logit = worth["start"] + sum(worth[name] * count for name, count in signs.items())
    ceiling = section.dependent_ceiling if any(signs[name] for name in _OPEN) else 1.0
    return round(ceiling / (1 + math.exp(-max(-30.0, min(30.0, logit)))), 4)


def _length(text: str) -> float:
    """Different words, all of a single letter as one; two different Chinese characters are about one."""
    words = {plain(word) if len(word) > 1 else "" for word in WORD.findall(CJK.sub(" ", text))}
    return len(words) + len(set(CJK.findall(text))) / 2


def _pronouns(sentences: list[Sentence]) -> tuple[int, int, int]:
    """Pronouns that nothing in the claim resolves, that their sentence does, and that an earlier one may."""
    unresolved = resolved = earlier = 0
    named = False
    for sentence in sentences:
        open_ones, others = references.pronouns(sentence)
        resolved += others
        unresolved, earlier = (unresolved, earlier + open_ones) if named else (unresolved + open_ones, earlier)
        named = named or references.names_something(sentence)
    return unresolved, resolved, earlier


def _speakers(sentence: Sentence) -> int:
    """Who speaks or is spoken to; in a question or a request it is whoever asks, and nobody has to know."""
    lists = sentence.lists
    asks = sentence.text.rstrip("\"'”’)」 ").endswith(("?", "？")) or begins_with(sentence, lists["askers"])
    return 0 if asks else occurrences(sentence, lists["speakers"])


def _stand_ins(sentence: Sentence) -> int:
    return occurrences(sentence, sentence.lists["stand_ins"]) + references.bare_comparisons(sentence)


def _relative_times(sentence: Sentence) -> int:
    return 0 if names.has_year(sentence) else occurrences(sentence, sentence.lists["relative_times"])


def _is_unplaced(sentence: Sentence) -> bool:
    lists = sentence.lists
    endings = lists.own.past_endings
    is_past = any(word in lists["past_verbs"] or references.is_past(word, endings) for word in sentence.lower)
    return is_past and not names.names_in(sentence.text, lists)


def _as_read(text: str) -> str:
    """A text as a person sees it: without unseen signs, and letters in one form."""
    return unicodedata.normalize("NFKC", cleaned(text, _MOST_CHARACTERS))


def _instructions(claim: str, words: tuple[str, ...]) -> int:
    """Words for a judge in any language, words of letters that only look alike, and numbers in the form of a score."""
    known = frozenset(words)
    said = [plain(word) for word in WORD.findall(claim)]
    unspaced = sum(claim.count(word) for word in known if CJK.search(word))
    mixed = sum(bool(_LATIN.search(word) and _LOOKALIKE.search(word)) for word in said)
    return sum(word in known for word in said) + 2 * mixed + names.ratings(said) + unspaced
