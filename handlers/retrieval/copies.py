"""Results with the same text: however many sites have it, it is one source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from handlers.text.tokens import tokenize
from schemas.retrieval import RetrievedContent

_LEAST_WORDS = 8
"""Words of a text from which on it can be a copy; shorter ones are alike by chance."""
_ALIKE = 0.8
"""Share of the words of two texts that both have."""
_READ = 2000
NAME = re.compile(r"(?<=[^\W_] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я][\w’'-]+")
_DENIALS = frozenset(("not", "no", "never", "nicht", "kein", "keine", "pas", "ikke", "non", "não", "nie", "niet"))
_FIGURE = re.compile(r"\d[\d.,:]*\d|\d")


@dataclass(frozen=True, slots=True)
class Group:
    """Copies of one text.

    Attributes:
        places: Of the results, in their order.
        differing: Figures that only some of the copies have.
    """

    places: tuple[int, ...]
    differing: tuple[str, ...] = ()


def group_copies(contents: Sequence[RetrievedContent]) -> tuple[Group, ...]:
    """The results in groups of equal and nearly equal texts, in the order of the first of each."""
    texts = [content.content[:_READ] for content in contents]
    words = [frozenset(token for token in tokenize(text) if not token.isdecimal()) for text in texts]
    # Two texts of one template differ in a name or a denial.
    names = [frozenset(NAME.findall(text)) | (own & _DENIALS) for text, own in zip(texts, words, strict=True)]
    groups: list[list[int]] = []
    for place, own in enumerate(words):
        alike = (group for group in groups if names[place] == names[group[0]] and _is_alike(own, words[group[0]]))
        group = next(alike, None) if len(own) >= _LEAST_WORDS else None
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    return tuple(Group(tuple(group), _differing([texts[place] for place in group])) for group in groups)


def _is_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _ALIKE * len(one | other)


def _differing(texts: Sequence[str]) -> tuple[str, ...]:
    figures = [dict.fromkeys(_FIGURE.findall(text)) for text in texts]
    return tuple(
        dict.fromkeys(figure for own in figures for figure in own if not all(figure in other for other in figures))
    )
