"""What in a claim's wording points outside of it, and what makes it stand alone.

A claim, the source it was taken from and word lists go in; how often each sign occurs comes out. The offline judge
weighs the signs where no model is configured. Signs of dependence are counted over the whole claim, those of standing
alone in its poorest part: so adding words to a claim hardly raises its score.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import Field

from schemas.rules import Section

_WORD = re.compile(r"[^\W_]{1,60}(?:['’.-][^\W_]{1,60}){0,6}")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_SENTENCE = re.compile(r"[^.!?。！？\n]{1,4000}")
_PART = re.compile(r"[^.!?:;()\[\]{}<>|\n。！？：；（）【】「」]{1,4000}")
_RATING = re.compile(r"0?\.[0-9]{1,20}|0|1(?:\.0{1,20})?")
_LONGEST_PHRASE = 4
_POSTMODIFIER_REACH = 4


class SignWeights(Section):
    """What each sign is worth in the logit of the score; the offline judge adds them up."""

    start: float = Field(description="Of a claim without any sign.")
    pronoun: float = Field(description="A pronoun of the third person with nothing before it that it could mean.")
    resolved_pronoun: float = Field(description="One that may mean something named earlier in the claim.")
    speaker: float = Field(description="A pronoun for who speaks or is spoken to.")
    demonstrative: float = Field(description="This, those, such, and the like.")
    definite: float = Field(description="The so-and-so, with nothing that says which.")
    stand_in: float = Field(description="A word that stands for another or compares with one left out.")
    connective: float = Field(description="A sentence that begins as a continuation of one before it.")
    relative_time: float = Field(description="A time that is counted from an unknown day.")
    partial_name: float = Field(description="A name that the source gives in full and the claim does not.")
    instruction: float = Field(description="A word to whoever judges, beyond the first: a claim asks for nothing.")
    shortness: float = Field(description="Full for a part of one word, none from enough_words on; logarithmic.")
    names: float = Field(description="For each name or number of a part, up to most_names.")
    topic: float = Field(description="For the share of the source's main words that the claim has.")


class ClaimSigns(Section):
    """Word lists and weights of signs. Words of languages without spaces are looked for anywhere in the claim."""

    pronouns: tuple[str, ...] = Field(description="Of the third person.")
    speakers: tuple[str, ...] = Field(description="Of the first and second person.")
    demonstratives: tuple[str, ...] = Field(description="That point at something wherever they stand.")
    demonstratives_last: tuple[str, ...] = Field(description="That point only where no word of the phrase follows.")
    articles: tuple[str, ...] = Field(description="That make a noun phrase definite.")
    postmodifiers: tuple[str, ...] = Field(description="Words after a noun that begin to say which one is meant.")
    stand_ins: tuple[str, ...] = Field(description="Words and phrases that stand for another.")
    connectives: tuple[str, ...] = Field(description="Words and phrases that continue, at the start of a sentence.")
    relative_times: tuple[str, ...] = Field(description="Words and phrases for a time counted from now or then.")
    innocent: tuple[str, ...] = Field(description="Words without spaces around them that contain a sign and are none.")
    instructions: tuple[str, ...] = Field(description="Words that are used to tell a judge what to say.")
    stop_words: tuple[str, ...] = Field(description="Words that say nothing of what a source is about.")
    enough_words: int = Field(ge=2, description="Words from which on a claim is not short.")
    least_part: int = Field(ge=1, description="Words from which on a part of a claim is one; less is an exclamation.")
    dependent_ceiling: float = Field(
        gt=0, le=1, description="What a score is scaled to where a pronoun or a demonstrative is open."
    )
    most_names: int = Field(ge=0, description="Names and numbers that count at most.")
    topic_words: int = Field(ge=1, description="Most frequent words of the source that are its subject.")
    weights: SignWeights = Field(description="What each sign is worth.")


def signs_of(claim: str, source: str, section: ClaimSigns) -> dict[str, float]:
    """How often each sign of ``SignWeights`` occurs in a claim; all are at least 0 (R-143).

    Args:
        claim: The claim's text.
        source: What it was taken from; may be empty.
        section: Word lists.
    """
    for innocent in section.innocent:
        claim = claim.replace(innocent, "\u3000" * len(innocent))
    words = _WORD.findall(claim)
    lower = [_plain(word) for word in words]
    stop = frozenset(section.stop_words)
    unresolved, resolved = _pronouns(claim, words, lower, section, stop)
    parts = [part for part in _PART.findall(claim) if _length(part) >= section.least_part] or [claim]
    enough = math.log(section.enough_words)
    return {
        "pronoun": unresolved,
        "resolved_pronoun": resolved,
        "speaker": _count(claim, lower, section.speakers),
        "demonstrative": _count(claim, lower, section.demonstratives) + _pointing(claim, section),
        "definite": _bare_definites(claim, section),
        "stand_in": _count(claim, lower, section.stand_ins),
        "connective": _connectives(claim, section.connectives),
        "relative_time": _count(claim, lower, section.relative_times),
        "partial_name": _partial_names(claim, source, stop),
        "instruction": max(0, _count(claim, lower, section.instructions) + _ratings(words) - 1),
        "shortness": max(max(0.0, 1 - math.log(max(_length(part), 1)) / enough) for part in parts),
        "names": min(min(len(_names(part)) + _numbers(part), section.most_names) for part in parts),
        "topic": _topic_share(lower, source, stop, section.topic_words),
    }


def weigh(signs: Mapping[str, float], section: ClaimSigns) -> float:
    """The signs as a score in [0, 1], four digits (R-142, R-151)."""
    worth = section.weights.model_dump()
    logit = worth["start"] + sum(worth[name] * count for name, count in signs.items())
    ceiling = section.dependent_ceiling if signs["pronoun"] or signs["demonstrative"] else 1.0
    return round(ceiling / (1 + math.exp(-max(-30.0, min(30.0, logit)))), 4)


def _length(text: str) -> float:
    """Words; two Chinese characters are about one."""
    return len(_WORD.findall(_CJK.sub(" ", text))) + len(_CJK.findall(text)) / 2


def _plain(word: str) -> str:
    word = word.lower().replace("’", "'")
    return word.removesuffix("'s")


def _count(claim: str, lower: Sequence[str], phrases: Sequence[str]) -> int:
    """How often phrases occur: as words, or anywhere where a phrase is written without spaces."""
    known = frozenset(phrases)
    found = sum(claim.count(phrase) for phrase in known if _CJK.search(phrase))
    place = 0
    while place < len(lower):
        size = next(
            (n for n in range(_LONGEST_PHRASE, 0, -1) if " ".join(lower[place : place + n]) in known),
            0,
        )
        found += size > 0
        place += size or 1
    return found


def _pronouns(
    claim: str, words: Sequence[str], lower: Sequence[str], section: ClaimSigns, stop: frozenset[str]
) -> tuple[int, int]:
    """Pronouns without and with something before them in the claim that they could mean."""
    known = frozenset(section.pronouns)
    unresolved = resolved = 0
    named = False
    for place, (word, plain) in enumerate(zip(words, lower, strict=True)):
        whole = word.lower().replace("’", "'")
        if plain in known or whole in known:
            unresolved, resolved = unresolved + (not named), resolved + named
        elif word[0].isupper() and plain not in stop:
            # At the start anything is capitalised; a name there is known by its second word.
            named = named or place > 0 or (len(words) > 1 and words[1][0].isupper())
    chinese = sum(claim.count(pronoun) for pronoun in known if _CJK.search(pronoun))
    return unresolved + chinese, resolved


def _pointing(claim: str, section: ClaimSigns) -> int:
    """Words that point where they end a phrase: before a mark or the end, or after a preposition."""
    known = frozenset(section.demonstratives_last)
    found = 0
    for sentence in _SENTENCE.findall(claim):
        for part in re.split(r"[,;:()]", sentence):
            words = [_plain(word) for word in _WORD.findall(part)]
            found += bool(words) and (words[-1] in known or words[0] in known)
    return found


def _bare_definites(claim: str, section: ClaimSigns) -> int:
    """Definite noun phrases in small letters that nothing in them or after them says more of."""
    articles, after = frozenset(section.articles), frozenset(section.postmodifiers)
    found = 0
    for sentence in _SENTENCE.findall(claim):
        words = _WORD.findall(sentence)
        for place, word in enumerate(words):
            if word.lower() not in articles:
                continue
            phrase = words[place + 1 : place + 1 + _POSTMODIFIER_REACH]
            said = any(w.lower() in after or w[0].isupper() or w[0].isdigit() or "'" in w or "’" in w for w in phrase)
            found += not said
    return found


def _connectives(claim: str, phrases: Sequence[str]) -> int:
    """Sentences that begin with a connective."""
    known = frozenset(phrases)
    found = 0
    for sentence in _SENTENCE.findall(claim):
        words = [_plain(word) for word in _WORD.findall(sentence[:200])[:_LONGEST_PHRASE]]
        text = sentence.strip()
        found += any(" ".join(words[:n]) in known for n in range(1, len(words) + 1)) or any(
            text.startswith(phrase) for phrase in known if _CJK.search(phrase)
        )
    return found


def _names(text: str, *, first_words: bool = False) -> list[tuple[str, ...]]:
    """Runs of capitalised words; a single one that begins a sentence is none, unless ``first_words`` are wanted."""
    names = []
    for sentence in _SENTENCE.findall(text):
        run: list[str] = []
        for place, word in enumerate([*_WORD.findall(sentence), ""]):
            if word and word[0].isupper() and word != "I":
                run.append(_plain(word))
                continue
            if run and (first_words or len(run) > 1 or place > 1):
                names.append(tuple(run))
            run = []
    return names


def _numbers(claim: str) -> int:
    words = _WORD.findall(claim)
    digits = sum(1 for word in words if word[0].isdigit())
    return digits - _ratings(words)


def _ratings(words: Sequence[str]) -> int:
    """Numbers in the form of a score, which name nothing and may be meant for a judge."""
    return sum(1 for word in words if _RATING.fullmatch(word))


def _partial_names(claim: str, source: str, stop: frozenset[str]) -> int:
    """Names of the claim that are part of a longer one in the source, which the claim has nowhere."""
    own = set(_names(claim, first_words=True))
    longer = set(_names(source)) - own
    found = 0
    for name in own:
        size = len(name)
        found += not stop.issuperset(name) and any(
            len(full) > size and name in (full[:size], full[-size:]) for full in longer
        )
    return found


def _topic_share(lower: Sequence[str], source: str, stop: frozenset[str], most: int) -> float:
    """The share of the source's most frequent words that the claim has; 0 where the source is empty."""
    counted = Counter(
        word for word in map(_stem, map(_plain, _WORD.findall(source))) if word not in stop and len(word) > 2
    )
    topic = [word for word, _ in sorted(counted.items(), key=lambda item: -item[1])[:most]]
    if not topic:
        return 0.0
    have = {_stem(word) for word in lower}
    return sum(word in have for word in topic) / len(topic)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
