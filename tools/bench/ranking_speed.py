"""How long re-ranking takes: ``python -m tools.bench.ranking_speed [--queries N] [--model NAME] [--json]``.

Fifty candidates of a query go through the steps that the trees add: the preview of the diversity stage, 41 features for
each, and the model. One thread does all of it, one query after another. The library is imported and the model is
prepared before, as in a process that has answered its first query. Milliseconds are CPU time, except ``elapsed``, which
is wall time; they are equal on an idle machine. The exit status is 1 if the 95th percentile of all three together is
above 10 ms.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter, thread_time

import numpy as np
from numpy.random import Generator

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import RankingSection
from handlers.ranking.features import extract_features
from handlers.ranking.mmr import diversify, weight_of
from handlers.ranking.model import RankingModel
from handlers.ranking.stages import weigh
from schemas.queries import CandidateTrust
from schemas.rules import Rules
from streams.training.model_files import SHIPPED, read_ranking_model
from tests.rules import shipped_rules

CANDIDATES, CHARACTERS, GOAL_MS = 50, 4_000, 10.0
PARTS = ("preview", "features", "model", "together", "elapsed")
_NOW = datetime(2026, 11, 21, tzinfo=UTC)


class _Rules(Rules):
    ranking: RankingSection


def measure(model: RankingModel, queries: int, seed: int = 1) -> dict[str, list[float]]:
    """Milliseconds of each part, one a query."""
    random = np.random.default_rng(seed)
    words = ["".join(letters) for letters in random.choice(list("abcdefghijklmnoprstu"), (3000, 7))]
    section = shipped_rules(_Rules).ranking
    times: dict[str, list[float]] = {part: [] for part in PARTS}
    for number in range(queries + 5):
        candidates = tuple(_candidate(random, words, place) for place in range(CANDIDATES))
        weighed = weigh(" ".join(random.choice(words, 5)), candidates, _NOW, section, frozenset())
        judged = tuple(float(score) for score in random.random(CANDIDATES))
        order = tuple(sorted(range(CANDIDATES), key=lambda place: -judged[place]))
        clock, began = perf_counter(), thread_time()
        weight = weight_of(weighed.query.intent.intent, section.mmr)
        chosen = dict(diversify([each.score for each in weighed.fused], weighed.likeness, weight, CANDIDATES))
        preview = [chosen[place] for place in range(CANDIDATES)]
        previewed = thread_time()
        features = extract_features(weighed.query, candidates, weighed.fused, judged, order, preview, _NOW)
        extracted = thread_time()
        model.score(features)
        ended, elapsed = thread_time(), perf_counter() - clock
        if number < 5:
            continue
        spent = (previewed - began, extracted - previewed, ended - extracted, ended - began, elapsed)
        for part, seconds in zip(PARTS, spent, strict=True):
            times[part].append(seconds * 1000)
    return times


def main(say: Callable[[str], None] = print) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000, help="how many are measured")
    parser.add_argument("--model", default=SHIPPED, help="as in ranking.trees.model")
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    options = parser.parse_args()
    model = read_ranking_model(options.model)
    times = measure(model, options.queries)
    spreads = {part: [round(float(np.percentile(times[part], q)), 3) for q in (50, 95, 100)] for part in PARTS}
    about = {
        "model": f"{model.manifest.name} {model.manifest.version}",
        "trees": model.booster.num_boosted_rounds(),
        "features": len(model.manifest.features),
        "candidates": CANDIDATES,
        "queries": options.queries,
    }
    if options.json:
        milliseconds = {part: dict(zip(("p50", "p95", "max"), spread, strict=True)) for part, spread in spreads.items()}
        say(json.dumps({**about, "milliseconds": milliseconds}))
    else:
        say(", ".join(f"{name}: {value}" for name, value in about.items()))
        say(f"{'ms':10} {'p50':>8} {'p95':>8} {'max':>8}")
        for part, (median, high, most) in spreads.items():
            say(f"{part:10} {median:8.3f} {high:8.3f} {most:8.3f}")
    return int(spreads["together"][1] > GOAL_MS)


def _candidate(random: Generator, words: list[str], place: int) -> Candidate:
    text = " ".join(random.choice(words, CHARACTERS // 8))
    return Candidate(
        url=f"https://site{place}.example/{place}",
        title=" ".join(random.choice(words, 8)),
        text=text,
        passage=text[:400],
        summary=text[:150],
        author=("Ann Lee",),
        date=f"2026-{1 + place % 11:02}-11T08:00:00+08:00",
        site_name="A site",
        similarity=float(random.random()),
        position=place,
        cts_score=int(random.integers(0, 101)),
        trust=CandidateTrust(source_tier=2, has_doi=False, citation_count=3, external_links_count=9, has_headings=True),
    )


if __name__ == "__main__":
    sys.exit(main())
