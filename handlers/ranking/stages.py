"""The stages of a query after retrieval, one after another: BM25, a judge, trees, diversity (R-232).

In: candidates, the configuration, and the judge's reply once there is one. Out: who stands where, with the score that
each stage gave and a note of what it did. A stage that is switched off, fails or is not sure leaves the order as it
was, so whatever happens to a later one, the earlier ones stand (R-257).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.bm25 import Corpus
from handlers.ranking.candidate import Candidate
from handlers.ranking.features import extract_features
from handlers.ranking.fusion import Fused, fuse
from handlers.ranking.intent import ReadQuery, read_query
from handlers.ranking.judge import combine, read_ranking_reply
from handlers.ranking.mmr import diversify, weight_of
from handlers.ranking.sections import ModelRankingSection, RankingSection, TreesSection, TrustSection
from handlers.ranking.trees import RankingModel, confidence_of
from schemas.llm import LlmCall
from schemas.ranking import StageName, StageNote, StageOutcome, TreesNote
from schemas.replies import ModelFailed, ModelReply

Scores = tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What is known of a query's candidates before anybody is asked.

    Attributes:
        query: The query, read.
        candidates: In the retriever's order. All that is said by candidate, here and in ``Standing``, is in this order.
        fused: What vectors and words say of each.
        likeness: How alike each two of them are.
        standing: Where they stand by the fused scores.
        preview: What the diversity stage would give each of them as things stand; None where it is off.
        now: When it was asked; None where unknown.
    """

    query: ReadQuery
    candidates: tuple[Candidate, ...]
    fused: tuple[Fused, ...]
    likeness: NDArray[np.float64]
    standing: Standing
    preview: Scores | None
    now: datetime | None


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Where the candidates stand after a stage.

    Attributes:
        order: Their places in ``Weighed.candidates``, the best first.
        scores: The score of each candidate that the order follows.
        relevance: How relevant each candidate is to the query, 0 to 1, by words, retriever and judge.
        stage_scores: By stage, in the order of the stages, what it gave each candidate; None where it gave nothing.
        judged: The judge's own scores by candidate; None where nobody was asked, or the answer was none.
        features: What the trees were shown, or would have been: a row for each candidate.
        notes: What each stage did so far.
        trees: Which trees re-ranked, or would have.
        llm: The call that ranked.
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


def weigh(
    text: str,
    candidates: tuple[Candidate, ...],
    now: datetime | None,
    section: RankingSection,
    stop_words: frozenset[str],
    limit: int = 0,
) -> Weighed:
    """The first stage: words beside vectors, the query's intent, and both scores fused.

    The best ``bm25.candidates`` go on, or as many as there are to be results: what words bring up is not cut before
    they are counted, and the later stages, which compare each two of them, have no more of them for that.

    Places in the retriever's order are those among the candidates that come in, and from then on those among the ones
    that go on: what a filter or the cut took away is nothing that a result stands behind or rose past.
    """
    query = read_query(text, section.intent, stop_words)
    candidates = _numbered(candidates)
    corpus = Corpus(candidates, section.bm25)
    weighed = fuse(candidates, corpus, query, now, section.bm25)
    kept = sorted(_by([each.score for each in weighed])[: max(section.bm25.candidates, limit)])
    candidates = _numbered([candidates[place] for place in kept])
    fused = tuple(weighed[place] for place in kept)
    scores = tuple(each.score for each in fused)
    stage_scores: dict[str, Sequence[float | None]] = {"vector": [each.vector for each in fused]}
    if section.bm25.enabled:
        stage_scores["bm25"] = [each.bm25 for each in fused]
        because = "words alone count, for no candidate has a score of the retriever"
        if any(each.vector is not None for each in fused):
            because = f"words count {section.bm25.weight:g}, the retriever's scores {1 - section.bm25.weight:.3g}"
        note = StageNote(stage=StageName.BM25, outcome=StageOutcome.RAN, because=because)
    else:
        note = StageNote(stage=StageName.BM25, outcome=StageOutcome.OFF, because="bm25.enabled is false")
    stage_scores["fused"] = scores
    likeness = corpus.likeness(kept)
    order, preview = _by(scores), None
    if section.mmr.enabled:
        _, weight = _mmr_weight(query, fused, order, section)
        preview = tuple(score for _, score in sorted(diversify(scores, likeness, weight, len(scores))))
    standing = Standing(order, scores, scores, stage_scores, (note,))
    return Weighed(query, candidates, fused, likeness, standing, preview, now)


def sure_without_judge(weighed: Weighed, section: RankingSection, model: RankingModel | None) -> float | None:
    """The cascade: how sure the trees are as things stand, where the judge need not be asked for that; else None.

    In shadow their order does not count, so there they spare nothing.
    """
    trees = section.trees
    if trees.mode != "on" or not trees.cascade or model is None:
        return None
    scores = model.score(_features(weighed, weighed.standing))
    confidence = confidence_of(scores.tolist(), model.manifest.phase)
    return confidence if confidence >= trees.confidence else None


def nothing_to_rank(standing: Standing) -> Standing:
    """Without candidates no stage has anything to do."""
    stages = (StageName.BM25, StageName.RANKING, StageName.TREES, StageName.MMR)
    notes = [StageNote(stage=stage, outcome=StageOutcome.SKIPPED, because="no candidates") for stage in stages]
    return replace(standing, notes=tuple(notes))


def skip_judge(standing: Standing, outcome: StageOutcome, because: str) -> Standing:
    """Nobody was asked: all stand where they stood."""
    return _noted(standing, StageName.RANKING, outcome, because)


def after_judge(standing: Standing, reply: ModelReply | ModelFailed, ranking: ModelRankingSection) -> Standing:
    """The second stage: the judge's scores combined with the fused ones.

    A call that failed, or a reply outside the protocol, changes nothing and is noted.
    """
    shown = standing.order[: ranking.candidates]
    if isinstance(reply, ModelFailed):
        failed = _noted(standing, StageName.RANKING, StageOutcome.FAILED, reply.detail or reply.call.outcome)
        return replace(failed, llm=reply.call)
    said = read_ranking_reply(reply.text, len(shown))
    if said is None:
        failed = _noted(standing, StageName.RANKING, StageOutcome.FAILED, "the reply keeps not to the protocol")
        return replace(failed, llm=reply.call)
    offline = reply.call.judged_by == "offline"
    weight = ranking.offline_weight if offline else ranking.weight
    combined = combine([standing.scores[place] for place in standing.order], said, len(shown), weight)
    scores = _by_candidate(standing.order, combined)
    judged = {place: said.get(number) for number, place in enumerate(shown, 1)}
    who = "the offline judge" if offline else reply.call.model
    return replace(
        _noted(standing, StageName.RANKING, StageOutcome.RAN, f"{who} scored {len(said)} of the best {len(shown)}"),
        order=_by(scores, standing.order),
        scores=scores,
        relevance=scores,
        stage_scores={**standing.stage_scores, "ranking": scores},
        judged=tuple(judged.get(place) for place in range(len(scores))),
        llm=reply.call,
    )


def after_trees(weighed: Weighed, standing: Standing, trees: TreesSection, model: RankingModel | None) -> Standing:
    """The third stage: the trees' order, where they are on and sure enough; else what they would have done.

    What they are shown is kept in any case, for training needs it as it was when it was served.
    """
    features = _features(weighed, standing)
    standing = replace(standing, features=features)
    if trees.mode == "off":
        return _noted(standing, StageName.TREES, StageOutcome.OFF, "trees.mode is off")
    if model is None:
        return _noted(standing, StageName.TREES, StageOutcome.SKIPPED, "no model of trees is loaded")
    scores: Scores = tuple(model.score(features).tolist())
    confidence = confidence_of(scores, model.manifest.phase)
    name = f"{model.manifest.name} {model.manifest.version}"
    note = TreesNote(model=name, features=len(model.manifest.features), confidence=round(confidence, 6))
    standing = replace(standing, stage_scores={**standing.stage_scores, "trees": scores}, trees=note)
    if trees.mode == "shadow":
        because = f"{name} scored and changed nothing; its confidence is {confidence:.3g}"
        return _noted(standing, StageName.TREES, StageOutcome.SHADOW, because)
    if confidence < trees.confidence:
        because = f"{name} scored and changed nothing: confidence is {confidence:.3g}, {trees.confidence:g} is wanted"
        return _noted(standing, StageName.TREES, StageOutcome.SHADOW, because)
    ran = _noted(standing, StageName.TREES, StageOutcome.RAN, f"by {name}; its confidence is {confidence:.3g}")
    return replace(ran, order=_by(scores, standing.order), scores=scores)


def after_trust(weighed: Weighed, standing: Standing, section: TrustSection) -> Standing:
    """Trust decides between candidates of like relevance (R-244): each loses a small share by its lack of it.

    As a share it moves no irrelevant candidate above a relevant one. Without a known CTS nothing changes (R-234), nor
    where the trees have decided: they weigh trust themselves, or know nothing of it (R-241).
    """
    known = [candidate.cts_score for candidate in weighed.candidates]
    if not section.weight or _ran(standing, StageName.TREES) or not any(score is not None for score in known):
        return standing
    scores = tuple(
        relevance * (1 - section.weight * (1 - (section.unknown if score is None else score) / 100))
        for relevance, score in zip(standing.relevance, known, strict=True)
    )
    order = _by(scores, standing.order)
    return replace(standing, order=order, scores=scores, stage_scores={**standing.stage_scores, "trust": scores})


def after_diversity(weighed: Weighed, standing: Standing, section: RankingSection, most: int) -> Standing:
    """The fourth stage: the most relevant and least like those above; no more than ``most`` are left.

    Copies of a result above follow the relevant results that say something else. What is not relevant keeps its order
    below them: being unlike them is no merit. Trust is no argument of the choice (C-39) beyond the scores given.
    """
    if not section.mmr.enabled:
        off = _noted(standing, StageName.MMR, StageOutcome.OFF, "mmr.enabled is false")
        return _compared(weighed, replace(off, order=standing.order[:most]), section, most)
    asked, weight = _mmr_weight(weighed.query, weighed.fused, standing.order, section)
    relevant: tuple[int, ...] = standing.order
    rest: tuple[int, ...] = ()
    if not _ran(standing, StageName.TREES):
        relevant = tuple(place for place in standing.order if standing.relevance[place] >= section.least_relevance)
        rest = tuple(place for place in standing.order if standing.relevance[place] < section.least_relevance)
    chosen = _diversified(weighed, relevant, standing.scores, weight, section.mmr.copy_likeness)
    given = dict(chosen)
    scores = tuple(given.get(place) for place in range(len(standing.scores)))
    because = f"relevance counts {weight:g}, likeness to what stands above {1 - weight:.3g}: the query is {asked}"
    ran = replace(
        _noted(standing, StageName.MMR, StageOutcome.RAN, because),
        order=(*given, *rest)[:most],
        scores=tuple(given.get(place, score) for place, score in enumerate(standing.scores)),
        stage_scores={**standing.stage_scores, "mmr": scores},
    )
    return _compared(weighed, ran, section, most)


def nothing_relevant(standing: Standing, section: RankingSection) -> bool:
    """Whether no candidate is relevant to the query, or there are none; False where only the retriever has scored."""
    if standing.order and not (_ran(standing, StageName.BM25) or _ran(standing, StageName.RANKING)):
        return False
    return all(standing.relevance[place] < section.least_relevance for place in standing.order)


def _numbered(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Candidates with their places among each other, in the order in which they are."""
    return tuple(replace(candidate, position=place) for place, candidate in enumerate(candidates))


def _mmr_weight(
    query: ReadQuery, fused: Sequence[Fused], order: Sequence[int], section: RankingSection
) -> tuple[str, float]:
    """What the query asks for, and what relevance counts beside likeness for that.

    It asks for a title where it is the title of what stands first: a title is easily copied, a place above all others
    is not. So a page that bears a popular query as its title makes nobody else's results more alike.
    """
    named = bool(order) and fused[order[0]].exact_title
    intent = query.intent.intent
    return ("a title" if named else intent), weight_of(intent, section.mmr, named=named)


def _compared(weighed: Weighed, standing: Standing, section: RankingSection, most: int) -> Standing:
    """In shadow: the share of what is shown that would have been shown by the trees too."""
    trees = standing.trees
    if trees is None or section.trees.mode != "shadow" or not standing.order:
        return standing
    scores = tuple(score or 0.0 for score in standing.stage_scores["trees"])
    ordered = _by(scores)
    order: Sequence[int] = ordered[:most]
    if section.mmr.enabled:
        _, weight = _mmr_weight(weighed.query, weighed.fused, ordered, section)
        chosen = _diversified(weighed, ordered, scores, weight, section.mmr.copy_likeness)
        order = [place for place, _ in chosen[:most]]
    shared = len(set(order) & set(standing.order)) / len(standing.order)
    return replace(standing, trees=trees.model_copy(update={"agreement": round(shared, 4)}))


def _diversified(
    weighed: Weighed, order: Sequence[int], scores: Scores, weight: float, copy_likeness: float
) -> list[tuple[int, float]]:
    """Candidates with their scores, chosen in the order in which they stand, so that ties keep it; then the copies."""
    likeness = weighed.likeness[np.ix_(order, order)]
    distinct: list[int] = []
    first: list[tuple[int, float]] = []
    copies: list[tuple[int, float]] = []
    for at, score in diversify([scores[place] for place in order], likeness, weight, len(order)):
        if distinct and likeness[at, distinct].max() >= copy_likeness:
            copies.append((order[at], score))
        else:
            distinct.append(at)
            first.append((order[at], score))
    return first + copies


def _features(weighed: Weighed, standing: Standing) -> NDArray[np.float64]:
    return extract_features(
        weighed.query, weighed.candidates, weighed.fused, standing.judged, standing.order, weighed.preview, weighed.now
    )


def _ran(standing: Standing, stage: StageName) -> bool:
    return any(note.stage is stage and note.outcome is StageOutcome.RAN for note in standing.notes)


def _by(scores: Sequence[float], before: Sequence[int] | None = None) -> tuple[int, ...]:
    """Places by falling score; where two are alike, the one that stood before the other still does."""
    places = range(len(scores)) if before is None else before
    return tuple(sorted(places, key=lambda place: -scores[place]))


def _by_candidate(order: Sequence[int], scores: Sequence[float]) -> Scores:
    """Scores in an order of candidates, as scores by candidate."""
    by_place = dict(zip(order, scores, strict=True))
    return tuple(by_place[place] for place in range(len(order)))


def _noted(standing: Standing, stage: StageName, outcome: StageOutcome, because: str) -> Standing:
    return replace(standing, notes=(*standing.notes, StageNote(stage=stage, outcome=outcome, because=because)))
