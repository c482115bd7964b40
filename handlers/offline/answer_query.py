"""The offline judge of an answer's three roles: it quotes sentences of the sources, word for word.

A sentence is quoted if it shares enough words with the question. It is compared with sentences of equally or more
trusted sources only, so that a less trusted page cannot displace it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handlers.html.main_text import count_words
from handlers.text.sentences import sentences
from handlers.trust.labels import LABELS

_QUESTION_MARKS = ("?", "？")


class _Quote(NamedTuple):
    """A sentence that may answer; ``covered`` is the share of the question's words that it has by itself."""

    source: int
    trust: int
    text: str
    covered: float


def analyst(facts: Mapping[str, Any]) -> str:
    """The best sentences of each source, those of the most trusted sources first.

    Args:
        facts: ``query``; ``ignored``, its words without a subject; ``sources``, each with ``number``, ``label``,
            ``title`` and ``passage``, the most trusted first; ``max_characters`` of a sentence; ``quotes``, the section
            of that name.

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
    """Whether a source that a finding names contains it.

    Args:
        facts: ``findings``, each with ``text`` and ``sources``; ``sources``.
    """
    passages = {source["number"]: _on_one_line(source["passage"]) for source in facts["sources"]}
    verdicts = []
    for number, finding in enumerate(facts["findings"], 1):
        there = [source for source in finding["sources"] if finding["text"] in passages.get(source, "")]
        verdict = "supported" if there else "unsupported"
        because = f"Source {there[0]} contains it." if there else "None of its sources contains it."
        verdicts.append({"finding": number, "verdict": verdict, "because": because})
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def writer(facts: Mapping[str, Any]) -> str:
    """The same sentences as the analyst's, from the same facts."""
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

    title = source.get("title") or ""
    in_title = frozenset(tokenize(title))
    # A single word, such as a town's name, occurs on pages about anything; a page about it has it in its title.
    if not terms or (len(terms) == 1 and in_title and in_title.isdisjoint(terms[0])):
        return []
    least = max(min(limits["least_shared"], len(terms)), limits["least_covered"] * len(terms))
    quotes = []
    for text in _sentences(source["passage"], title):
        if len(text) > longest or count_words(text) < limits["least_words"] or text.endswith(_QUESTION_MARKS):
            continue
        words = frozenset(tokenize(text))
        alone = sum(not words.isdisjoint(term) for term in terms)
        together = sum(not (words | in_title).isdisjoint(term) for term in terms)
        if together >= least and alone >= limits["least_in_sentence"] * len(terms):
            quotes.append(_Quote(source["number"], LABELS.index(source["label"]), text, alone / len(terms)))
    best = sorted(quotes, key=lambda quote: -quote.covered)[: limits["of_one_source"]]
    return [quote for quote in quotes if quote in best]


def _sentences(passage: str, title: str) -> Iterator[str]:
    """The sentences of a passage without its heading."""
    rest = passage.removeprefix(title)
    is_heading = rest[:1].isspace() and not rest.lstrip()[:1].islower()
    return map(_on_one_line, sentences(rest if is_heading else passage))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
