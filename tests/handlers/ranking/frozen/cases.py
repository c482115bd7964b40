"""Queries with candidates as they were when the frozen model was trained, read from and written to plain JSON.

Only what the base features are computed from is kept. What fusion said is kept as it said it then: fusion may change,
the features of what it says may not.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidates import Candidate
from handlers.ranking.features import extract_features
from handlers.ranking.fusion import Fused
from handlers.ranking.model import Manifest, RankingModel
from handlers.ranking.query import ReadQuery
from schemas.queries import CandidateTrust
from schemas.ranking import Intent, IntentNote

HERE = Path(__file__).parent
CASES, VECTORS, SCORES, MODEL, MANIFEST = (
    HERE / f"{name}.json" for name in ("cases", "vectors", "scores", "model", "manifest")
)


@dataclass(frozen=True, slots=True)
class Case:
    """One query at the moment in which the trees are asked."""

    query: ReadQuery
    candidates: tuple[Candidate, ...]
    fused: tuple[Fused, ...]
    ranked: tuple[float | None, ...] | None
    order_before: tuple[int, ...]
    preview: tuple[float, ...] | None
    now: datetime | None

    def features(self, trust: CandidateTrust | None = None, cts_score: int | None = None) -> NDArray[np.float64]:
        """The features of its candidates, all of them with this trust."""
        candidates = [_with_trust(candidate, trust, cts_score) for candidate in self.candidates]
        return extract_features(
            self.query, candidates, self.fused, self.ranked, self.order_before, self.preview, self.now
        )


def case_of(stored: dict[str, Any]) -> Case:
    """A case of its JSON."""
    query, ranked, preview, now = (stored[key] for key in ("query", "ranked", "preview", "now"))
    return Case(
        query=ReadQuery(
            text=query["text"],
            folded="",
            words=tuple(query["words"]),
            keywords=tuple(query["keywords"]),
            phrases=tuple(query["phrases"]),
            numbers=tuple(query["numbers"]),
            question_words=tuple(query["question_words"]),
            wants_news=False,
            intent=IntentNote(intent=Intent(query["intent"]), reason=""),
        ),
        candidates=tuple(
            Candidate(passage="", **(each | {"author": tuple(each["author"])})) for each in stored["candidates"]
        ),
        fused=tuple(Fused(because=(), **each) for each in stored["fused"]),
        ranked=None if ranked is None else tuple(ranked),
        order_before=tuple(stored["order_before"]),
        preview=None if preview is None else tuple(preview),
        now=None if now is None else datetime.fromisoformat(now),
    )


def frozen_cases() -> list[Case]:
    """All of them."""
    return [case_of(stored) for stored in json.loads(CASES.read_text("utf-8"))]


def frozen_vectors() -> list[NDArray[np.float64]]:
    """The 29 features of each case's candidates, as they were; null is a missing value."""
    return [np.array(rows, dtype=np.float64) for rows in json.loads(VECTORS.read_text("utf-8"))]


def frozen_scores() -> list[list[float]]:
    """What the frozen model gave them: floats of 32 bits."""
    scores: list[list[float]] = json.loads(SCORES.read_text("utf-8"))
    return scores


def frozen_model() -> RankingModel:
    """The model, which takes 29 features."""
    manifest = Manifest.model_validate_json(MANIFEST.read_bytes())
    return RankingModel(manifest=manifest, model=MODEL.read_text("utf-8"))


def _with_trust(candidate: Candidate, trust: CandidateTrust | None, cts_score: int | None) -> Candidate:
    fields = {name: getattr(candidate, name) for name in Candidate.__dataclass_fields__}
    return Candidate(**(fields | {"trust": trust, "cts_score": cts_score}))
