"""What a line says of the page that it is on: nothing, or that the page is gone, blocked, behind a login and so on.

A linear model adds up weights of words, of their beginnings and of pairs of them, in any language. In scripts without
spaces, runs of two and three characters are its words. ``tools/training/states.py`` fits the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from pydantic import Field

from handlers.text.scripts import has_cjk, simplified
from handlers.text.tokens import fold
from schemas.rules import Section
from schemas.states import State

_CHARACTERS = 300
_WORDS = 40
_STEM, _PAIR, _LABEL = 5, 4, 25
_NOTHING = ord("U")
_KINDS = tuple(state for state in State if state is not State.CONTENT)


class NoticesSection(Section):
    """Weights that tell what a line says of the page."""

    about: str = Field(default="", description="What the weights were fitted on, and when.")
    start: tuple[float, ...] = Field(default=(-9.0,) * len(_KINDS), description="Scores before weights are added.")
    weights: dict[str, str] = Field(
        default={},
        description="For each feature, a character for what it adds to the score of each state without content: U adds "
        "nothing, V a tenth, T takes a tenth away.",
    )

    @cached_property
    def compiled(self) -> Notices:
        """The weights in the form that is evaluated, made once."""
        return Notices(self)


class Notices:
    """The model under one configuration."""

    def __init__(self, section: NoticesSection) -> None:
        self._start, self._weights = section.start, section.weights

    def read(self, line: str) -> tuple[State, float]:
        """The likeliest state that a line may state, and the probability that the line states any."""
        weights = self._weights
        names = features_of(line) & weights.keys()
        if all(name[0] == "=" for name in names):
            return State.EMPTY, 0.0
        found = [weights[name].encode() for name in names]
        tenths = (sum(column) - _NOTHING * len(found) for column in zip(*found, strict=True))
        scores = [start + tenth / 10 for start, tenth in zip(self._start, tenths, strict=True)]
        best = max(scores)
        total = sum(math.exp(max(-60.0, score - best)) for score in scores)
        told = best + math.log(total)
        return _KINDS[scores.index(best)], 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, told))))


def features_of(line: str) -> set[str]:
    """What a line has: words, beginnings of words, pairs, numbers of a status, and its length."""
    folded = simplified(fold(line[:_CHARACTERS])) if has_cjk(line) else fold(line[:_CHARACTERS])
    words = folded.split()[:_WORDS]
    found = set(_parts(words))
    found.update(f"{one[:_PAIR]} {other[:_PAIR]}" for one, other in pairwise(words))
    if line.find(": ", 1, _LABEL) > 0:
        found.add("=label")
    length = len(folded)
    found.add("=long" if length > 160 else "=middle" if length > 80 else "=short" if length > 25 else "=tiny")
    return found


def _parts(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.isascii() and word.isdigit():
            # Only a status differs from other numbers.
            yield word if len(word) == 3 and word[0] in "45" else "=number"
        elif word[0] > "\u0e00":
            yield from (word[at : at + size] for size in (2, 3) for at in range(len(word) - size + 1))
        else:
            yield word
            yield word[:_STEM] + "*"
