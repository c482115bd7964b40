"""Given candidates without a retriever's scores: the shipped ranking compared with plain BM25.

Questions of conversations (CAsT) with the passages of all conversations: the passage that answers has grade 3, the
others of its conversation 1. Claims (WiCE) with the sentences of the page that is cited for them: those in every set
of supporting sentences have grade 2, others in one 1. A hash orders the candidates, so their order has no information.
Plain BM25 has the usual parameters, unchanged words, and the same candidates.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from statistics import fmean

from handlers.rank_results import RankResultsRules, rank_results, read_ranking
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit
from schemas.queries import MAX_CANDIDATES, RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import Reply
from streams.training.grade import ndcg_at
from tools import labelled
from tools.accuracy.goals import Goal
from tools.accuracy.judges import Judge

QUESTIONS, CLAIMS = "cast_context_rewrites", "wice_claim_support"
ANSWER, SAME_TALK, ALWAYS, SOMETIMES = 3.0, 1.0, 2.0, 1.0
TOP = 10
MORE = 0.03
"""What the shipped ranking has to add to the NDCG of plain BM25 on graded passages; on sentences it adds anything."""
_K1, _B = 1.2, 0.75
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Given:
    """A query, its candidates by id, and the grades of those that answer it."""

    query: str
    candidates: Mapping[str, str]
    grades: Mapping[str, float]


def graded_passages() -> Iterator[Given]:
    """The questions that have an answer."""
    rows = [row for row in labelled.cases(QUESTIONS) if row["response_passage"]]
    candidates = _mixed({row["id"]: row["response_passage"] for row in rows})
    for row in rows:
        same = [other for other in rows if other["split_key"] == row["split_key"]]
        grades = {
            other["id"]: ANSWER if other["response_passage"] == row["response_passage"] else SAME_TALK for other in same
        }
        yield Given(row["rewritten"], candidates, grades)


def graded_sentences() -> Iterator[Given]:
    """The claims that some sentences of their page support."""
    for row in labelled.cases(CLAIMS):
        supporting = Counter(place for places in row["supporting_sentences"] for place in places)
        if not supporting:
            continue
        every = len(row["supporting_sentences"])
        grades = {str(place): ALWAYS if count == every else SOMETIMES for place, count in supporting.items()}
        sentences = _mixed({str(place): sentence for place, sentence in enumerate(row["evidence"]) if sentence})
        kept = sorted(sentences, key=lambda place: place not in grades)[:MAX_CANDIDATES]
        yield Given(row["claim"], {place: sentences[place] for place in sentences if place in kept}, grades)


def plain_bm25(query: str, texts: Sequence[str]) -> list[int]:
    """Places of the texts, the best first.

    >>> plain_bm25("dam closed", ["rain", "the dam", "the dam closed"])
    [2, 1, 0]
    """
    counts = [Counter(_WORD.findall(text.lower())) for text in texts]
    lengths = [count.total() for count in counts]
    mean = fmean(lengths) or 1.0
    scores = [0.0] * len(texts)
    for word in set(_WORD.findall(query.lower())):
        have = sum(word in count for count in counts)
        idf = math.log1p((len(texts) - have + 0.5) / (have + 0.5))
        for place, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            times = count[word]
            scores[place] += idf * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / mean))
    return sorted(range(len(texts)), key=lambda place: -scores[place])


async def run(judge: Judge, rules: RankResultsRules, most_queries: int | None = None) -> tuple[list[str], list[Goal]]:
    """A table of both, and the goals: more than plain BM25."""
    lines: list[str] = []
    goals: list[Goal] = []
    sets = (("graded passages", QUESTIONS, graded_passages, MORE), ("sentences", CLAIMS, graded_sentences, 0.0))
    for name, folder, made, more in sets:
        if not labelled.has(folder):
            continue
        cases = list(made())[:most_queries]
        plain = fmean([_plain(case) for case in cases])
        shipped = fmean([await _shipped(case, rules, judge) for case in cases])
        lines.append(f"| {name}, {folder} | {len(cases)} | {plain:.3f} | {shipped:.3f} |")
        what = f"ranking, {name} without scores ({judge.name}): plain BM25 and {more:g} more of NDCG@10"
        goals.append(Goal(what, f"{shipped:.3f} against {plain:.3f}", shipped >= plain + more))
    head = [
        "",
        "### Ranking: candidates without scores",
        "",
        "| | queries | plain BM25 | as shipped |",
        "|---|--:|--:|--:|",
    ]
    return ([*head, *lines] if lines else []), goals


def _plain(case: Given) -> float:
    places = list(case.candidates)
    order = plain_bm25(case.query, list(case.candidates.values()))
    return _ndcg([places[at] for at in order], case)


async def _shipped(case: Given, rules: RankResultsRules, judge: Judge) -> float:
    wire = [{"url": f"https://given.example/{place}", "content": text} for place, text in case.candidates.items()]
    fields = {"request_id": "given", "query": case.query, "limit": 5 * TOP, "candidates": wire}
    request = RankingRequested.model_validate(fields)
    replies: list[Reply] = []
    step = rank_results(request, rules)
    while isinstance(step, Ask):
        assert isinstance(step.need, AskModel)
        replies.append(await judge.ask(step.need))
        step = read_ranking(request, tuple(replies), rules)
    outcome = step
    assert isinstance(outcome, Emit)
    completed = outcome.events[0]
    assert isinstance(completed, RankingCompleted)
    return _ndcg([result.url.rpartition("/")[2] for result in completed.results], case)


def _ndcg(order: Sequence[str], case: Given) -> float:
    return ndcg_at([case.grades.get(place, 0.0) for place in order], TOP, list(case.grades.values()))


def _mixed(texts: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(texts.items(), key=lambda item: sha256(item[0].encode()).digest()))
