"""How the frozen files were made: ``python -m tools.frozen``.

Run it again only for a new version of the base features whose old models need not continue: the tests compare every
later version of the code with its output. One seed draws the cases. The model is trained on the 29 base features of 60
queries so that each feature is used in a split, and 6 of the queries are kept with vectors and scores.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from numpy.random import Generator

from handlers.ranking.model import FEATURES_OF, OBJECTIVES, TOTAL_FEATURES_PHASE_A, VERSION_PHASE_A, Manifest, Phase
from tests.handlers.ranking.frozen.cases import CASES, MANIFEST, MODEL, SCORES, VECTORS, case_of, frozen_model

QUERIES, KEPT, CANDIDATES, SEED = 60, 6, 8, 29
WORDS = [
    "rain",
    "dam",
    "court",
    "budget",
    "harbour",
    "水庫",
    "立法院",
    "election",
    "vaccine",
    "strike",
    "museum",
    "rail",
    "地震",
    "tariff",
    "orchard",
    "glacier",
]


def main() -> None:
    """Draws the cases, grows the model and writes everything."""
    random = np.random.default_rng(SEED)
    stored = [_case(random) for _ in range(QUERIES)]
    cases = [case_of(json.loads(json.dumps(case))) for case in stored]
    vectors = [case.features()[:, :TOTAL_FEATURES_PHASE_A] for case in cases]
    text = _grown(np.concatenate(vectors), random)
    manifest = Manifest(
        name="frozen",
        version="1",
        phase=Phase.BINARY,
        features_version=VERSION_PHASE_A,
        features=FEATURES_OF[VERSION_PHASE_A],
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        trained_on="generated queries and candidates, for tests alone",
        licence="Apache-2.0",
    )
    MODEL.write_text(text, "utf-8")
    MANIFEST.write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
    _write(CASES, stored[:KEPT])
    kept = [[[None if value != value else value for value in row] for row in rows.tolist()] for rows in vectors[:KEPT]]
    _write(VECTORS, kept)
    model = frozen_model()
    _write(SCORES, [model.score(rows).tolist() for rows in vectors[:KEPT]])


def _grown(rows: Any, random: Generator) -> str:
    spread = np.nanstd(rows, axis=0)
    sums = np.nansum((rows - np.nanmean(rows, axis=0)) / np.where(spread > 0, spread, 1.0), axis=1)
    labels = sums + random.normal(size=len(rows)) > 0
    data = xgboost.DMatrix(rows, label=labels, feature_names=list(FEATURES_OF[VERSION_PHASE_A]), nthread=1)
    parameters = {
        "objective": OBJECTIVES[Phase.BINARY],
        "max_depth": 3,
        "colsample_bynode": 0.2,
        "learning_rate": 0.2,
        "nthread": 1,
        "seed": SEED,
    }
    booster = xgboost.train(parameters, data, num_boost_round=50)
    unused = set(FEATURES_OF[VERSION_PHASE_A]) - booster.get_score().keys()
    if unused:
        raise SystemExit(f"no tree splits upon {sorted(unused)}")
    return booster.save_raw("json").decode()


def _case(random: Generator) -> dict[str, Any]:
    words = _drawn(random, int(random.integers(1, 9)))
    fused = [_fused(random) for _ in range(CANDIDATES)]
    order = sorted(range(CANDIDATES), key=lambda number: -fused[number]["score"])
    judged = random.random() < 0.7
    shown = set(order[: CANDIDATES - 2])
    ranked = [round(float(random.random()), 2) if number in shown else None for number in range(CANDIDATES)]
    order.sort(key=lambda number: -(ranked[number] or 0.0) if judged else 0.0)
    return {
        "query": {
            "text": " ".join(words),
            "words": words,
            "keywords": sorted(set(words)),
            "phrases": words[: int(random.integers(0, 3))],
            "numbers": ["2026", "7.5%"][: int(random.integers(0, 3))],
            "question_words": ["what", "為何"][: int(random.integers(0, 3))],
            "intent": str(random.choice(["SPECIFIC", "EXPLORATORY", "BALANCED"])),
        },
        "now": None if random.random() < 0.1 else "2026-11-21T08:30:00+00:00",
        "candidates": [_candidate(random, position) for position in random.permutation(CANDIDATES).tolist()],
        "fused": fused,
        "ranked": ranked if judged else None,
        "order_before": order,
        "preview": None if random.random() < 0.2 else [round(float(random.random()), 4) for _ in range(CANDIDATES)],
    }


def _candidate(random: Generator, position: int) -> dict[str, Any]:
    day = f"20{random.integers(10, 28)}-{random.integers(1, 13):02}-{random.integers(1, 29):02}"
    dates = [day, f"{day}T06:15:00+08:00", f"{day}T23:59:59", None, "last week"]
    domain = f"{random.choice(['news', 'blog', 'data'])}{random.integers(99)}.example"
    return {
        "url": f"https://{domain}/{'/'.join(_drawn(random, int(random.integers(1, 5))))}",
        "title": " ".join(_drawn(random, int(random.integers(0, 12)))),
        "text": " ".join(_drawn(random, int(random.integers(1, 60)))),
        "summary": " ".join(_drawn(random, int(random.integers(0, 20)))),
        "author": _drawn(random, int(random.integers(0, 3))),
        "date": dates[int(random.integers(len(dates)))],
        "site_name": None if random.random() < 0.5 else domain,
        "position": position,
    }


def _fused(random: Generator) -> dict[str, Any]:
    return {
        "vector": None if random.random() < 0.2 else float(random.random()),
        "bm25": float(random.gamma(2.0, 3.0)),
        "keyword_boost": float(random.choice([0.0, 0.05, 0.1])),
        "temporal_boost": float(random.choice([0.0, random.random() / 10])),
        "keyword_overlap": float(random.integers(0, 5) / 4),
        "exact_title": bool(random.random() < 0.15),
        "score": float(random.random() * 1.3),
    }


def _drawn(random: Generator, count: int) -> list[str]:
    return [str(word) for word in random.choice(WORDS, count)]


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
