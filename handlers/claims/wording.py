"""Does the wording of a claim say who, when and where? The offline judge of claims.

A *gap* (an open pronoun, "this", "yesterday", a definite subject that nothing tells from others, an event without a
name) keeps the score below ``gap_ceiling``, whatever else the claim says. The other features only order claims. If the
wording may mean one thing or every such thing, there is no score. Form decides, not what a noun means.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Literal, NamedTuple

from pydantic import Field

from handlers.claims.languages import HAN_SIGN, WORD, LanguageWords, parts_with_language, plain
from handlers.claims.sentence import Gap, Sentence
from handlers.prompts.untrusted import cleaned
from schemas.rules import Section

_BREAKS = re.compile(r"[<>{}|\[\]]{1,20}|-{2,20}")
_MOST_CHARACTERS, _LEAST_CONTENT = 20_000, 2
Feature = Literal["start", "gap", "resolved_pronoun", "definite", "comparison", "connective", "shortness", "names"]
"""What a score is made of; ``start`` is that of a claim without any other. The configuration explains each."""
REASONS = {
    "fragment": "it is too short to state something",
    "pronoun": "{} does not say who or what is meant",
    "pointing": "{} points to something outside of the claim",
    "subject": "{} does not say which one",
    "unplaced": "{} reports an event, and no name says who or where",
    "name": "{} alone may be several people or places",
    "speaker": "{} does not say who speaks",
    "relative_time": "{} counts from a day that the claim does not give",
    "any": "{} may mean one such thing or all of them",
    "figure": "{} may hold anywhere, or somewhere that no name says",
}
"""What a reader misses at each kind of gap or doubt."""


class ClaimWording(Section):
    """Word lists and weights of the offline judge of claims."""

    languages: dict[str, LanguageWords] = Field(min_length=1, description="Words by language.")
    enough_words: int = Field(ge=2, description="Words from which on a claim is not short.")
    most_names: int = Field(ge=0, description="Names and numbers that count at most.")
    gap_ceiling: float = Field(gt=0, le=1, description="What a score is scaled to where a claim has a gap.")
    weights: dict[Feature, float] = Field(min_length=8, description="What each adds to the logit of the score.")


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
    """How often each feature occurs, the gaps, what may be one, and whether any sentence states something."""

    counts: Mapping[Feature, float]
    gaps: Sequence[Gap]
    doubts: Sequence[Gap]
    is_claim: bool

    @property
    def reason(self) -> str:
        """The gaps or the doubts in words, each once."""
        named = dict.fromkeys(REASONS[kind].format(f"“{words}”") for kind, words in self.gaps or self.doubts)
        return f"{'Needs context' if self.gaps else 'Undecided'}: {'; '.join(named)}." if named else ""


def score_of(features: Features, section: ClaimWording) -> float | None:
    """The score in [0, 1] with four digits; None if the wording does not show it (R-142, R-151)."""
    if features.doubts and not features.gaps:
        return None
    weights = section.weights
    logit = weights["start"] + weights["gap"] * len(features.gaps)
    logit += sum(weights[name] * count for name, count in features.counts.items())
    ceiling = section.gap_ceiling if features.gaps else 1.0
    return round(ceiling / (1 + math.exp(-max(-30.0, min(30.0, logit)))), 4)


def features_of(claim: str, source: str, section: ClaimWording, small_words: Mapping[str, Set[str]]) -> Features | None:
    """The features of a claim; None without word lists for its language (R-143)."""
    claim, source = _normalized(claim), _normalized(source)
    parts = parts_with_language(claim, source, section.languages, small_words)
    if parts is None:
        return None
    found = [Sentence(*part) for part in parts]
    gaps = [gap for sentence in found for gap in sentence.gaps()]
    gaps += [Gap("name", name) for sentence in found if (name := sentence.short_name(source))]
    if sum(sentence.content for sentence in found) < _LEAST_CONTENT:
        gaps.append(Gap("fragment", ""))
    counts: dict[Feature, float] = defaultdict(float)
    for sentence in found:
        counts["resolved_pronoun"] += len(sentence.pronouns[1])
        counts["definite"] += sum(
            "articles" in word.kinds and not sentence.is_specified(place)
            for place, word in enumerate(sentence.words, 1)
        )
        counts["comparison"] += sentence.counts["comparisons"]
        counts["connective"] += "connectives" in sentence.words[0].kinds
        counts["names"] += sentence.names + sentence.amounts
    counts["names"] = min(counts["names"], section.most_names)
    # Two different ideographs are about one word.
    words = {plain(word) for word in WORD.findall(HAN_SIGN.sub(" ", claim))}
    length = len(words) + len(set(HAN_SIGN.findall(claim))) / 2
    counts["shortness"] = max(0.0, 1 - math.log(max(length, 1)) / math.log(section.enough_words))
    doubts = [gap for sentence in found for gap in sentence.doubts()]
    return Features(counts, gaps, doubts, any(sentence.is_statement for sentence in found))


def _normalized(text: str) -> str:
    """A text without unseen characters, with letters in one form; brackets and dashes end a sentence."""
    return _BREAKS.sub("\n", unicodedata.normalize("NFKC", cleaned(text, _MOST_CHARACTERS)))
