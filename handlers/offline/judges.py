"""The offline judges: each answers one task from the facts of its question, in the protocol of the task.

They count and compare words and follow no instruction, so a text cannot tell them what to answer. For an answer, they
quote sentences of the sources, word for word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handlers.claims.wording import ClaimWording, features_of, score_of
from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section
from handlers.text.sentences import count_words, sentences
from handlers.text.tokens import fold, forms_of, keywords_of, tokenize
from handlers.trust.labels import LABELS

_QUESTION_MARKS = ("?", "？")
UNDECIDED = "undecided"
"""The words do not show whether a source is relevant. From a model it is a reply outside of the protocol."""


def judge_claim(facts: Mapping[str, Any]) -> str:
    """The score of a claim as text (R-142), or one of ``ABSTENTIONS``; ``wording`` is the section of that name."""
    section = ClaimWording.model_validate(facts["wording"])
    features = features_of(facts["claim_text"], facts["source_text"], section)
    if features is None:
        return "unknown language"
    score = score_of(features, section)
    return "undecided" if score is None else str(score)


def judge_retrieval(facts: Mapping[str, Any]) -> str:
    """The three dimensions that the handler counted; it has no opinion on single sources."""
    dimensions = ("contextRecall", "contextPrecision", "sourceQuality")
    return json.dumps({name: facts[name] for name in dimensions} | {"sources": []})


def judge_search(facts: Mapping[str, Any]) -> str:
    """The opinion of the rubric (R-102), which the facts are."""
    return json.dumps(dict(facts))


def judge_relevance(facts: Mapping[str, Any]) -> str:
    """``Relevant``, ``Irrelevant`` or ``UNDECIDED``: the opinion of the words, which the handler has compared."""
    return str(facts["opinion"])


def judge_ranking(facts: Mapping[str, Any]) -> str:
    """A score in [0, 1] for every passage, by BM25: the code that reads the whole texts reads the best passages here.

    Args:
        facts: ``words``: those of the query with their inverse document frequencies; ``bm25``: the section of that name;
            ``passages``: each with ``title`` and ``text``.
    """
    from handlers.ranking.fusion import Corpus  # with numpy, which most processes do not need

    passages = [Candidate(url="", title=passage["title"], text=passage["text"]) for passage in facts["passages"]]
    corpus = Corpus(passages, Bm25Section.model_validate(facts["bm25"]), facts["words"])
    scores = enumerate(corpus.bm25 * corpus.kept, 1)
    numbered = [{"number": number, "score": round(float(score), 4)} for number, score in scores]
    return json.dumps({"scores": numbered})


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
    """Whether a source that a finding names contains it; the facts are the findings and the sources."""
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


class _Quote(NamedTuple):
    """A sentence that may answer; ``covered`` is the share of the question's words that it has by itself."""

    source: int
    trust: int
    text: str
    covered: float


def _quoted(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sentences that share enough words with the question.

    A sentence is compared with those of equally or more trusted sources only, so that a less trusted page cannot
    displace it.
    """
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
