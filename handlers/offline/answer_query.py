"""The offline judge of an answer's three roles: it quotes the sources and understands none of them.

In: the facts that each role is asked with. Out: a reply in the role's protocol. A sentence is quoted where it shares
enough words with the question; it is compared with the sentences of equally or more trusted sources only, so that no
page of less trust silences it. Every quoted sentence occurs in its source word for word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handlers.html.main_text import count_words
from handlers.text.sentences import sentences
from handlers.trust.labels import LABELS

_QUESTION_MARKS = ("?", "？")


@dataclass(frozen=True, slots=True)
class _Quote:
    """A sentence that may answer.

    Attributes:
        source: Number of its source.
        trust: Place of the source's label in ``LABELS``: the lower, the more trusted.
        text: On one line.
        place: Among the sentences of its source.
        covered: Share of the question's words that it has by itself.
    """

    source: int
    trust: int
    text: str
    place: int
    covered: float


def analyst(facts: Mapping[str, Any]) -> str:
    """The sentences that share most words with the question, those of the most trusted sources first.

    Args:
        facts: ``query``; ``ignored``, its words that say nothing of its subject; ``sources``, each with ``number``,
            ``label``, ``title`` and ``passage``, the most trusted first; ``max_characters`` of a sentence; ``quotes``,
            the section of that name.

    >>> asked = {"query": "when did the dam close", "ignored": ["the", "did", "when"], "max_characters": 100}
    >>> asked["quotes"] = {"sentences": 5, "of_one_source": 2, "least_words": 4, "of_the_best": 0.6}
    >>> asked["quotes"] |= {"least_shared": 2, "least_covered": 0.5, "least_in_sentence": 0.3}
    >>> passage = "Rain fell all over. The dam had to close in May."
    >>> asked["sources"] = [{"number": 1, "label": "LOW", "passage": passage}]
    >>> analyst(asked)
    '{"findings": [{"text": "The dam had to close in May.", "sources": [1]}]}'
    """
    return json.dumps({"findings": _quoted(facts)}, ensure_ascii=False)


def critic(facts: Mapping[str, Any]) -> str:
    """Whether each finding stands in a source that it names.

    Args:
        facts: ``findings``, each with ``text`` and ``sources``; ``sources``.
    """
    passages = {source["number"]: _on_one_line(source["passage"]) for source in facts["sources"]}
    verdicts = []
    for number, finding in enumerate(facts["findings"], 1):
        stands = [source for source in finding["sources"] if finding["text"] in passages.get(source, "")]
        because = f"It stands in source {stands[0]}." if stands else "It stands in none of its sources."
        verdicts.append(
            {"finding": number, "verdict": "supported" if stands else "unsupported", "because": because},
        )
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def writer(facts: Mapping[str, Any]) -> str:
    """Sentences of the sources, as they stand there; which, the analyst's facts decide."""
    return json.dumps({"sentences": _quoted(facts)}, ensure_ascii=False)


def _quoted(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    # Its dictionary takes a quarter of a second to load, and other tasks are judged without it.
    from handlers.text.tokens import fold, forms_of, keywords_of

    limits = facts["quotes"]
    terms = [frozenset(forms_of(term)) for term in keywords_of(fold(facts["query"]), frozenset(facts["ignored"]))]
    quotes = [quote for source in facts["sources"] for quote in _best(source, terms, facts["max_characters"], limits)]
    found: dict[str, list[int]] = {}
    for quote in quotes:
        best = max(other.covered for other in quotes if other.trust <= quote.trust)
        if quote.covered >= limits["of_the_best"] * best:
            found.setdefault(quote.text, []).append(quote.source)
    return [{"text": text, "sources": sorted(set(numbers))} for text, numbers in found.items()][: limits["sentences"]]


def _best(
    source: Mapping[str, Any], terms: Sequence[frozenset[str]], longest: int, limits: Mapping[str, Any]
) -> list[_Quote]:
    """The best sentences of one source that may answer, in the order of the text."""
    from handlers.text.tokens import tokenize

    if not terms:
        return []
    title = source.get("title") or ""
    in_title = frozenset(tokenize(title))
    trust = LABELS.index(source["label"])
    quotes = []
    if len(terms) == 1 and in_title and in_title.isdisjoint(terms[0]):
        # One word, such as a town's name, occurs on pages about anything; a page about it has it in its title.
        return []
    least = max(min(limits["least_shared"], len(terms)), limits["least_covered"] * len(terms))
    for place, text in enumerate(
        _sentences(_without_heading(source["passage"], title), longest, limits["least_words"])
    ):
        words = frozenset(tokenize(text))
        alone = sum(not words.isdisjoint(term) for term in terms)
        together = sum(not (words | in_title).isdisjoint(term) for term in terms)
        if together >= least and alone >= limits["least_in_sentence"] * len(terms):
            quotes.append(_Quote(source["number"], trust, text, place, alone / len(terms)))
    chosen = sorted(quotes, key=lambda quote: (-quote.covered, quote.place))[: limits["of_one_source"]]
    return sorted(chosen, key=lambda quote: quote.place)


def _without_heading(passage: str, title: str) -> str:
    """A passage without its heading, which is no part of the first sentence, where another one begins behind it."""
    rest = passage.removeprefix(title)
    begins = rest[:1].isspace() and not rest.lstrip()[:1].islower()
    return rest if begins else passage


def _sentences(passage: str, longest: int, least_words: int) -> Iterator[str]:
    """Sentences of a passage that can be shown whole. A question answers nothing."""
    for raw in sentences(passage):
        text = _on_one_line(raw)
        if len(text) <= longest and count_words(text) >= least_words and not text.endswith(_QUESTION_MARKS):
            yield text


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
