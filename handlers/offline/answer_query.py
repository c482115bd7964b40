"""The offline judge of an answer's three roles: it quotes the sources and understands none of them.

In: the facts that each role is asked with. Out: a reply in the role's protocol. Sentences that have most of the query's
words are found in each source, the most trusted first; every one of them stands in its source word for word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handlers.claims.wording import cut
from handlers.page.text import count_words
from handlers.results.coverage import coverage, query_terms

_MOST_SENTENCES = 5
_OF_ONE_SOURCE = 2
_OF_THE_BEST = 0.6
"""Share of the best sentence's words that another one must have."""
_LEAST_COVERED = 0.3
"""Share of the query's words below which nothing was said of the matter."""
_LEAST_WORDS = 4


def analyst(facts: Mapping[str, Any]) -> str:
    """The sentences that have most of the query's words, those of the most trusted sources first.

    Args:
        facts: ``query``; ``ignored``, its words that say nothing of its subject; ``sources``, each with ``number``,
            ``title`` and ``passage``, the most trusted first; ``max_characters`` of a sentence.

    >>> asked = {"query": "when did the dam close", "ignored": ["the", "did", "when"], "max_characters": 100}
    >>> asked["sources"] = [{"number": 1, "passage": "Rain fell all over. The dam had to close in May."}]
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
    terms = query_terms(facts["query"], frozenset(facts["ignored"])) or query_terms(facts["query"], frozenset())
    scored = [
        (number, text, covered)
        for source in facts["sources"]
        for number, text, covered in _best(source, terms, facts["max_characters"])
    ]
    best = max((covered for _, _, covered in scored), default=0.0)
    found: dict[str, list[int]] = {}
    for number, text, covered in scored:
        if covered >= max(_LEAST_COVERED, _OF_THE_BEST * best):
            found.setdefault(text, []).append(number)
    return [{"text": text, "sources": sorted(set(numbers))} for text, numbers in found.items()][:_MOST_SENTENCES]


def _best(source: Mapping[str, Any], terms: Sequence[str], longest: int) -> Sequence[tuple[int, str, float]]:
    """The best sentences of one source, in the order of the text."""
    # A page's text often begins with its heading, which is no part of the first sentence.
    passage = source["passage"].removeprefix(source.get("title") or "")
    sentences = enumerate(_sentences(passage, longest))
    numbered = [(place, text, coverage(terms, text)) for place, text in sentences]
    chosen = sorted(sorted(numbered, key=lambda one: (-one[2], one[0]))[:_OF_ONE_SOURCE])
    return [(source["number"], text, covered) for _, text, covered in chosen]


def _sentences(passage: str, longest: int) -> Iterator[str]:
    for raw in cut(passage):
        text = _on_one_line(raw)
        if len(text) <= longest and count_words(text) >= _LEAST_WORDS:
            yield text


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
