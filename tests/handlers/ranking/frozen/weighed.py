"""Queries from their text on: what the 29 base features and the frozen model's scores were, with all that lies before.

Fusion and diversity are computed too, so a change of theirs that gives an old model other numbers is seen. The numbers
of the sections that decide are kept beside the cases: configuration may change, what it means may not.
``python -m tests.handlers.ranking.frozen.weighed`` writes the expected values anew, for a new version of the features
alone.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import RankingSection
from handlers.ranking.model import TOTAL_FEATURES_PHASE_A, Manifest, RankingModel
from handlers.ranking.query import read_query
from handlers.ranking.stages import after_judge, after_trees, weigh
from schemas.llm import LlmCall
from schemas.ranking import StageName, StageOutcome
from schemas.replies import ModelReply
from streams.settings.model import load_settings

HERE = Path(__file__).parent
FILE = HERE / "weighed.json"
_KEPT = ("bm25", "intent", "mmr", "model_ranking")


def frozen_model() -> RankingModel:
    """The model, which takes 29 features."""
    manifest = Manifest.model_validate_json((HERE / "manifest.json").read_bytes())
    return RankingModel(manifest=manifest, model=(HERE / "model.json").read_text("utf-8"))


def stored_cases() -> dict[str, Any]:
    """The file: the sections, stop words, candidates, and the cases with what is expected of them."""
    document: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return document


def frozen_section(document: dict[str, Any]) -> RankingSection:
    """Today's configuration with the frozen numbers of what features are made of, and the trees in shadow."""
    shipped = load_settings().ranking.model_dump(mode="json")
    for name in _KEPT:
        shipped[name] |= document["ranking"][name]
    shipped["trees"] |= {"mode": "shadow"}
    return RankingSection.model_validate(shipped)


def weighed(document: dict[str, Any], case: dict[str, Any]) -> tuple[NDArray[np.float64], list[float]]:
    """The features and scores of a case, candidate by candidate, as a query gets them."""
    section, now = frozen_section(document), case["now"]
    candidates = tuple(
        Candidate(passage="", position=place, **(each | {"author": tuple(each["author"])}))
        for place, each in enumerate(document["candidates"])
    )
    query = read_query(case["query"], section.intent, frozenset(document["stop_words"]))
    first = weigh(query, candidates, None if now is None else datetime.fromisoformat(now), section)
    if case["judged"] is None:
        standing = first.standing.noted(StageName.RANKING, StageOutcome.OFF, "nobody is asked")
    else:
        reply = ModelReply(text=case["judged"], tool_calls=(), call=LlmCall.model_validate(document["call"]))
        standing = after_judge(first, reply, section.model_ranking)
    standing = after_trees(first, standing, section.trees, frozen_model())
    assert standing.features is not None
    scores = [float(score or 0.0) for score in standing.stage_scores["trees"]]
    return standing.features[:, :TOTAL_FEATURES_PHASE_A], scores


def main() -> None:
    """Writes the expected values of the cases, as computed now."""
    document = stored_cases()
    for case in document["cases"]:
        features, scores = weighed(document, case)
        case["features"] = [[None if value != value else value for value in row] for row in features.tolist()]
        case["scores"] = scores
    FILE.write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
