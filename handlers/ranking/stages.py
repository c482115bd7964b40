"""The stages of a query after retrieval: BM25, judge, trees, trust, diversity (R-232), and the reasons of the order.

A stage that is switched off, fails or is not sure leaves the order as it was (R-257).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import MmrSection, ModelRankingSection, RankingSection, TreesSection, TrustSection
from handlers.ranking.features import extract_features
from handlers.ranking.fusion import Corpus, Fused, fuse
from handlers.ranking.judge import combine, read_ranking_reply
from handlers.ranking.model import RankingModel, confidence_of
from handlers.ranking.query import ReadQuery
from schemas.llm import LlmCall
from schemas.ranking import Intent, StageName, StageNote, StageOutcome, TreesNote
from schemas.replies import ModelFailed, ModelReply

Scores = tuple[float, ...]
_BELOW = 0.999
_ALIKE = 0.3
"""Likeness, as a cosine, from which it is among the reasons."""


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """A query's candidates before the judge is asked.

    Attributes:
        candidates: In the retriever's order; everything by candidate, here and in ``Standing``, is in this order.
        likeness: How similar each two of them are, but for the query's words.
        originals: For each, its copy with the fewest of the query's words, which is itself where it has none.
        standing: Their order by the fused scores.
        preview: The scores of the diversity stage for the fused ones; None where it is off.
        now: When the query was asked; None where unknown.
    """

    query: ReadQuery
    candidates: tuple[Candidate, ...]
    fused: tuple[Fused, ...]
    likeness: NDArray[np.float64]
    originals: NDArray[np.int64]
    standing: Standing
    preview: Scores | None
    now: datetime | None


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """The order of the candidates after a stage.

    Attributes:
        order: Their places in ``Weighed.candidates``, the best first.
        scores: The score of each candidate that the order follows.
        relevance: Of each candidate to the query, 0 to 1, by words, retriever and judge.
        stage_scores: The scores by candidate of each stage, in the order of the stages; None without one.
        judged: The judge's own scores by candidate; None without a judge or a valid reply.
        trees: Which trees re-ranked, or would have.
    """

    order: tuple[int, ...]
    scores: Scores
    relevance: Scores
    stage_scores: Mapping[str, Sequence[float | None]]
    notes: tuple[StageNote, ...]
    judged: tuple[float | None, ...] | None = None
    features: NDArray[np.float64] | None = None
    trees: TreesNote | None = None
    llm: LlmCall | None = None

    def ran(self, stage: StageName) -> bool:
        """Whether a stage has run."""
        return any(note.stage is stage and note.outcome is StageOutcome.RAN for note in self.notes)

    def noted(self, stage: StageName, outcome: StageOutcome, because: str) -> Standing:
        """The same with a note more."""
        return replace(self, notes=(*self.notes, StageNote(stage=stage, outcome=outcome, reason=because)))


def weigh(
    query: ReadQuery,
    candidates: tuple[Candidate, ...],
    now: datetime | None,
    section: RankingSection,
    limit: int = 0,
    against: Sequence[tuple[str, ...]] = (),
) -> Weighed:
    """The first stage: words beside vectors, the query's intent, and both scores fused.

    The best ``bm25.candidates`` go on, or ``limit`` where that is more: the later stages compare each two of them.
    Their positions in the retriever's order are counted anew. ``against``: for each candidate, what the query states
    and the candidate contradicts.
    """
    corpus = Corpus(candidates, section.bm25, query.weights)
    weighed = fuse(candidates, corpus, query, now, section.bm25, against)
    kept = sorted(_by([each.score for each in weighed])[: max(section.bm25.candidates, limit)])
    candidates = tuple(replace(candidates[place], position=position) for position, place in enumerate(kept))
    fused = tuple(weighed[place] for place in kept)
    likeness, hits = corpus.likeness(kept), corpus.hits[kept]
    copies = map(np.flatnonzero, likeness >= section.mmr.copy_likeness)
    # Of equal ones, the candidate itself.
    leasts = [min(of_one, key=lambda other: (hits[other], other != one)) for one, of_one in enumerate(copies)]
    originals = np.array(leasts, dtype=np.int64)
    scores = _at_most(tuple(each.score for each in fused), originals)
    stage_scores: dict[str, Sequence[float | None]] = {"vector": [each.vector for each in fused]}
    outcome, because = StageOutcome.OFF, "bm25.enabled is false"
    if section.bm25.enabled:
        stage_scores["bm25"] = [each.bm25 for each in fused]
        outcome, because = StageOutcome.RAN, "words alone count, for no candidate has a score of the retriever"
        if any(each.vector is not None for each in fused):
            because = f"words count {section.bm25.weight:g}, the retriever's scores {1 - section.bm25.weight:.3g}"
    stage_scores["fused"] = scores
    order, preview = _by(scores), None
    if section.mmr.enabled:
        _, weight = _mmr_weight(query, fused, order, section)
        preview = tuple(score for _, score in sorted(diversify(scores, likeness, weight, len(scores))))
    standing = Standing(order, scores, scores, stage_scores, ()).noted(StageName.BM25, outcome, because)
    return Weighed(query, candidates, fused, likeness, originals, standing, preview, now)


def sure_without_judge(weighed: Weighed, section: RankingSection, model: RankingModel | None) -> float | None:
    """The cascade: the confidence of the trees if it makes the judge unnecessary; else None, as always in shadow."""
    if section.trees.mode != "on" or not section.trees.cascade or model is None:
        return None
    confidence = confidence_of(model.score(_features(weighed, weighed.standing)), model.manifest.phase)
    return confidence if confidence >= section.trees.confidence else None


def nothing_to_rank(standing: Standing) -> Standing:
    """All stages skipped."""
    stages = (StageName.BM25, StageName.RANKING, StageName.TREES, StageName.MMR)
    skipped = [StageNote(stage=stage, outcome=StageOutcome.SKIPPED, reason="no candidates") for stage in stages]
    return replace(standing, notes=tuple(skipped))


def after_judge(weighed: Weighed, reply: ModelReply | ModelFailed, ranking: ModelRankingSection) -> Standing:
    """The second stage: the judge's scores combined with the fused ones. A failed call or reply changes nothing."""
    standing = replace(weighed.standing, llm=reply.call)
    if isinstance(reply, ModelFailed):
        return standing.noted(StageName.RANKING, StageOutcome.FAILED, reply.detail or reply.call.outcome)
    shown = standing.order[: ranking.candidates]
    said = read_ranking_reply(reply.text, len(shown))
    if said is None:
        return standing.noted(StageName.RANKING, StageOutcome.FAILED, "the reply is not in the protocol")
    offline = reply.call.judged_by == "offline"
    judged = {place: said.get(number) for number, place in enumerate(shown, 1)}
    combined = combine(standing.scores, judged, ranking.offline_weight if offline else ranking.weight)
    scores = _at_most(combined, weighed.originals)
    who = "the offline judge" if offline else reply.call.model
    return replace(
        standing.noted(StageName.RANKING, StageOutcome.RAN, f"{who} scored {len(said)} of the best {len(shown)}"),
        order=_by(scores, standing.order),
        scores=scores,
        relevance=scores,
        stage_scores={**standing.stage_scores, "ranking": scores},
        judged=tuple(judged.get(place) for place in range(len(scores))),
    )


def after_trees(weighed: Weighed, standing: Standing, trees: TreesSection, model: RankingModel | None) -> Standing:
    """The third stage: the trees' order, if they are on and sure enough. Training needs the features in any case."""
    features = _features(weighed, standing)
    standing = replace(standing, features=features)
    if trees.mode == "off":
        return standing.noted(StageName.TREES, StageOutcome.OFF, "trees.mode is off")
    if model is None:
        return standing.noted(StageName.TREES, StageOutcome.SKIPPED, "no model of trees is loaded")
    scores: Scores = tuple(model.score(features).tolist())
    confidence = confidence_of(scores, model.manifest.phase)
    name = f"{model.manifest.name} {model.manifest.version}"
    note = TreesNote(model=name, features=len(model.manifest.features), confidence=round(confidence, 6))
    standing = replace(standing, stage_scores={**standing.stage_scores, "trees": scores}, trees=note)
    sure = f"its confidence is {confidence:.3g}"
    if trees.mode == "shadow" or confidence < trees.confidence:
        needed = "" if trees.mode == "shadow" else f", {trees.confidence:g} is wanted"
        because = f"{name} scored and changed nothing; {sure}{needed}"
        return standing.noted(StageName.TREES, StageOutcome.SHADOW, because)
    standing = standing.noted(StageName.TREES, StageOutcome.RAN, f"by {name}; {sure}")
    return replace(standing, order=_by(scores, standing.order), scores=scores)


def after_trust(weighed: Weighed, standing: Standing, section: TrustSection, least: float) -> Standing:
    """Trust decides between candidates of similar relevance (R-244): its lack costs a share of what is above ``least``.

    So it moves no irrelevant candidate above a relevant one. Without a known CTS nothing changes (R-234), nor
    where the trees have decided, which may weigh trust themselves (R-241).
    """
    known = [candidate.cts_score for candidate in weighed.candidates]
    if not section.weight or standing.ran(StageName.TREES) or not any(score is not None for score in known):
        return standing
    scores = tuple(
        relevance
        - max(0.0, relevance - least) * section.weight * (1 - (section.unknown if score is None else score) / 100)
        for relevance, score in zip(standing.relevance, known, strict=True)
    )
    order = _by(scores, standing.order)
    return replace(standing, order=order, scores=scores, stage_scores={**standing.stage_scores, "trust": scores})


def after_diversity(weighed: Weighed, standing: Standing, section: RankingSection, most: int) -> Standing:
    """The fourth stage: the most relevant and least similar to those above; no more than ``most`` are left.

    Copies of a result above follow the relevant results that differ. Irrelevant ones keep their order below them.
    Trust has no part in the choice (C-39) beyond the scores given.
    """
    if not section.mmr.enabled:
        standing = standing.noted(StageName.MMR, StageOutcome.OFF, "mmr.enabled is false")
        return _compared(weighed, replace(standing, order=standing.order[:most]), section, most)
    asked, weight = _mmr_weight(weighed.query, weighed.fused, standing.order, section)
    least = -np.inf if standing.ran(StageName.TREES) else section.least_relevance
    relevant = [place for place in standing.order if standing.relevance[place] >= least]
    rest = [place for place in standing.order if standing.relevance[place] < least]
    given = dict(_diversified(weighed, relevant, standing.scores, weight, section.mmr.copy_likeness))
    because = f"relevance counts {weight:g}, likeness to the results above {1 - weight:.3g}: the query is {asked}"
    ran = replace(
        standing.noted(StageName.MMR, StageOutcome.RAN, because),
        order=(*given, *rest)[:most],
        scores=tuple(given.get(place, score) for place, score in enumerate(standing.scores)),
        stage_scores={**standing.stage_scores, "mmr": [given.get(place) for place in range(len(standing.scores))]},
    )
    return _compared(weighed, ran, section, most)


def is_relevant(standing: Standing, place: int, section: RankingSection) -> bool:
    """Whether a candidate is relevant to the query; True if only the retriever has scored the candidates."""
    scored = standing.ran(StageName.BM25) or standing.ran(StageName.RANKING)
    return not scored or standing.relevance[place] >= section.least_relevance


def copied(weighed: Weighed, standing: Standing, place: int, section: RankingSection) -> int | None:
    """The first candidate above, if any, whose text is the same or nearly the same."""
    above = standing.order[: standing.order.index(place)]
    return next((one for one in above if weighed.likeness[place, one] >= section.mmr.copy_likeness), None)


def explain(weighed: Weighed, standing: Standing, place: int) -> tuple[str, ...]:
    """The reasons, for people, of the place of a candidate (a place of ``weighed.candidates``) in the order."""
    said = [*weighed.fused[place].because]
    if standing.ran(StageName.RANKING):
        who = "the offline judge" if standing.llm is not None and standing.llm.judged_by == "offline" else "the model"
        score = None if standing.judged is None else standing.judged[place]
        said.append(f"{who} gives it {score:.2g}" if score is not None else f"{who} said nothing of it")
    if standing.ran(StageName.TREES) and standing.trees is not None:
        said.append(f"{standing.trees.model} gives it {standing.stage_scores['trees'][place]:.3g}")
    if standing.ran(StageName.MMR):
        above = standing.order[: standing.order.index(place)]
        likest = max(above, key=lambda other: weighed.likeness[place, other], default=place)
        if likest != place and (likeness := weighed.likeness[place, likest]) >= _ALIKE:
            said.append(f"{likeness:.0%} like result {above.index(likest) + 1}, which counts against it")
    return tuple(said)


def _mmr_weight(
    query: ReadQuery, fused: Sequence[Fused], order: Sequence[int], section: RankingSection
) -> tuple[str, float]:
    """The kind of query, and the weight of relevance for it.

    Only the title of the first result makes it a query for a title: a title is easily copied, the first place is not.
    """
    named = bool(order) and fused[order[0]].exact_title
    intent = query.intent.intent
    return ("a title" if named else intent), weight_of(intent, section.mmr, named=named)


def _compared(weighed: Weighed, standing: Standing, section: RankingSection, most: int) -> Standing:
    """In shadow: the share of the shown results that the trees would have shown too."""
    trees = standing.trees
    if trees is None or section.trees.mode != "shadow" or not standing.order:
        return standing
    scores = tuple(score or 0.0 for score in standing.stage_scores["trees"])
    order: Sequence[int] = _by(scores)
    if section.mmr.enabled:
        _, weight = _mmr_weight(weighed.query, weighed.fused, order, section)
        order = [place for place, _ in _diversified(weighed, order, scores, weight, section.mmr.copy_likeness)]
    shared = len(set(order[:most]) & set(standing.order)) / len(standing.order)
    return replace(standing, trees=trees.model_copy(update={"agreement": round(shared, 4)}))


def _diversified(
    weighed: Weighed, order: Sequence[int], scores: Scores, weight: float, copy_likeness: float
) -> list[tuple[int, float]]:
    """Candidates with their scores as MMR chooses them, ties in the given order; then the copies."""
    likeness = weighed.likeness[np.ix_(order, order)]
    distinct: list[int] = []
    copies: dict[int, bool] = {}
    chosen = diversify([scores[place] for place in order], likeness, weight, len(order))
    for at, _ in chosen:
        copies[at] = bool(distinct) and likeness[at, distinct].max() >= copy_likeness
        if not copies[at]:
            distinct.append(at)
    return [(order[at], score) for at, score in sorted(chosen, key=lambda choice: copies[choice[0]])]


def _at_most(scores: Scores, originals: NDArray[np.int64]) -> Scores:
    """The scores, where a copy with more of the query's words is below its original."""
    of_originals = np.array(scores)[originals]
    below = np.where(originals == np.arange(len(scores)), of_originals, of_originals * _BELOW)
    return tuple(np.minimum(scores, below).tolist())


def _features(weighed: Weighed, standing: Standing) -> NDArray[np.float64]:
    return extract_features(
        weighed.query, weighed.candidates, weighed.fused, standing.judged, standing.order, weighed.preview, weighed.now
    )


def _by(scores: Sequence[float], before: Sequence[int] | None = None) -> tuple[int, ...]:
    """Places by falling score; of equal ones the one before stays first."""
    places = range(len(scores)) if before is None else before
    return tuple(sorted(places, key=lambda place: -scores[place]))


def diversify(
    scores: Sequence[float], likeness: NDArray[np.float64], weight: float, most: int
) -> tuple[tuple[int, float], ...]:
    """Maximal marginal relevance: the most relevant first, then by relevance and by difference from those chosen.

    Source: Carbonell and Goldstein, The Use of MMR, Diversity-Based Reranking (1998). Trust has no part in it (C-39).

    Args:
        scores: Relevance, on any scale; taken as the share of the way from the least to the most.
        likeness: 0 to 1, n x n.
        weight: Of relevance, 0 to 1; the difference from the most similar chosen one has the rest.
        most: How many to choose.

    Returns:
        Index and ``weight * relevance + (1 - weight) * (1 - likeness)``, in the order chosen: the formula of the source
        with a constant added, so that it is from 0 to 1. Of equals the first comes first.

    >>> [index for index, _ in diversify([3, 2, 1], np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]), 0.5, 3)]
    [0, 2, 1]
    """
    raw = np.asarray(scores, dtype=np.float64)
    span = float(np.ptp(raw)) if raw.size else 0.0
    relevance = (raw - raw.min()) / span if span > 0 else np.ones_like(raw)
    nearest = np.zeros(len(relevance))
    open_ = np.ones(len(relevance), dtype=bool)
    chosen: list[tuple[int, float]] = []
    for _ in range(min(most, len(relevance))):
        worth = weight * relevance + (1 - weight) * (1 - nearest)
        # The first is the most relevant at any weight.
        index = int(np.argmax(np.where(open_, worth if chosen else raw, -np.inf)))
        chosen.append((index, float(worth[index])))
        open_[index] = False
        nearest = np.maximum(nearest, likeness[index])
    return tuple(chosen)


def weight_of(intent: Intent, section: MmrSection, *, named: bool = False) -> float:
    """The weight of relevance for an intent; ``named``: a title is the query, which so asks for one thing."""
    weights = {"SPECIFIC": section.specific, "EXPLORATORY": section.exploratory, "BALANCED": section.balanced}
    return max(weights.values()) if named else weights[intent]
