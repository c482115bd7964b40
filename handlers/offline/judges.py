"""The offline judges: each answers one task from the facts of its question, in the protocol of the task.

They count and compare words and follow no instruction, so a text cannot tell them what to answer. What a handler has
compared already is among the facts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section

UNDECIDED = "undecided"
"""The words do not show whether a source is relevant. From a model it is a reply outside of the protocol."""


def judge_claim(facts: Mapping[str, Any]) -> str:
    """The score by the wording of a claim (R-142), or one of ``ABSTENTIONS``; the facts are what the handler read."""
    return str(facts["score"] if facts["score"] is not None else facts["status"])


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
        facts: ``words``: those of the query with their weights; ``bm25``: the section of that name;
            ``passages``: each with ``title`` and ``text``.
    """
    from handlers.ranking.fusion import Corpus  # with numpy, which most processes do not need

    passages = [Candidate(url="", title=passage["title"], text=passage["text"]) for passage in facts["passages"]]
    corpus = Corpus(passages, Bm25Section.model_validate(facts["bm25"]), facts["words"])
    scores = enumerate(corpus.bm25 * corpus.kept, 1)
    numbered = [{"number": number, "score": round(float(score), 4)} for number, score in scores]
    return json.dumps({"scores": numbered})


def analyst(facts: Mapping[str, Any]) -> str:
    """The sentences of the sources that answer, which the handler has chosen."""
    return json.dumps({"findings": facts["quotes"]}, ensure_ascii=False)


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
    """The same sentences as the analyst's."""
    return json.dumps({"sentences": facts["quotes"]}, ensure_ascii=False)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
