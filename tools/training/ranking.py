"""``python -m tools.training.ranking``: trains the shipped ranking model, judges it on other sites, and writes it.

Public labelled pages go through the real path: scored, indexed, searched, fused, ranked by the offline judge. The trees
learn from the features of those answers. Half of the sites are never seen in training, as answers or as candidates. On
these the model is compared with the order before it, and with the same training without the trust columns.
``--evaluate`` stops there.
"""

import argparse
import asyncio
import hashlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.config import features_config
from handlers.ranking.model import FEATURES_OF, OBJECTIVES, VERSION_PHASE_C, Feature, Manifest, Phase, RankingModel
from streams.settings.model import load_settings
from streams.training.config import GrowthSection
from streams.training.grade import ndcg_at, reciprocal_rank
from streams.training.model_files import SHIPPED_MANIFEST, write_model
from streams.training.train import Grown, grow
from tools.accuracy.judges import offline_judge
from tools.accuracy.ranking import TOP, TOP_TRUST
from tools.accuracy.ranking_sets import ranking_sets
from tools.training.ranking_cases import HALF, HELD_OUT, KNOWN, MOST, Case, groups_of, half, served, without_trust

CARD = Path(__file__).with_name("ranking_card.md")
SEED = 1
GROWTH = GrowthSection(trees=120, depth=4, rate=0.1, rows=0.8, columns=0.6, leaf_weight=1.0, penalty=5.0)
SHOWN = 15
"""Features that the card names."""
LICENCE = (
    "Apache-2.0, as Assay. Grown from pages and labels of wcxb (Murrough Foley, WCXB 2026, CC-BY-4.0), twnews (MIT), "
    "magic-html (Apache-2.0) and GerapyAutoExtractor (Apache-2.0). The pages' texts belong to their sites; no text and "
    "no address of a page is in the model."
)
Order = Callable[[Case], NDArray[np.floating]]
"""What a case's results are ordered by, the highest first."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.training.ranking", description=__doc__)
    parser.add_argument("--evaluate", action="store_true", help="write nothing")
    options = parser.parse_args()
    sets = list(ranking_sets())
    if not sets:
        print("skipped: no labelled pages; set DATA to where they are")
        return 0
    seen, new = (
        asyncio.run(served([half(whole, held_out=held_out) for whole in sets], offline_judge()))
        for held_out in (False, True)
    )
    grown, blind = grow_on(seen), grow_on(seen, hidden=True)
    orders: dict[str, Order] = {"the order before": lambda case: -case.features[:, Feature.RANKING_POSITION]}
    figures = judge(new, {**orders, "this model": by(grown), "grown without trust": by(blind)})
    print("\n".join(figures))
    if not options.evaluate:
        write(grown, seen, figures)
    return 0


def grow_on(cases: Sequence[Case], *, hidden: bool = False) -> Grown:
    """The trees that these cases make; every column of trust (29 to 40) may be hidden, and nothing else changes."""
    groups = list(groups_of(cases))
    if hidden:
        groups = [replace(group, features=without_trust(group.features, slice(None))) for group in groups]
    section = load_settings().training.model_copy(update={"growth": GROWTH})
    return grow(groups, FEATURES_OF[VERSION_PHASE_C], Phase.LISTWISE, section, SEED)


def by(grown: Grown) -> Order:
    model = as_model(grown, "under judgement")
    return lambda case: model.score(case.features.astype(np.float64))


def as_model(grown: Grown, trained_on: str) -> RankingModel:
    digest = hashlib.sha256(grown.model.encode()).hexdigest()
    manifest = Manifest(
        name="known-items",
        version=digest[:12],
        phase=Phase.LISTWISE,
        features_version=VERSION_PHASE_C,
        features=FEATURES_OF[VERSION_PHASE_C],
        sha256=digest,
        features_config=features_config(load_settings().ranking),
        trained_on=trained_on,
        licence=LICENCE,
    )
    return RankingModel(manifest=manifest, model=grown.model)


def judge(cases: Sequence[Case], orders: Mapping[str, Order]) -> list[str]:
    """A table of the orders, by kind of query: the known item alone is relevant."""
    lines = ["| queries | | order | NDCG@10 | MRR | HIGH, top 5 |", "|---|---:|---|---:|---:|---:|"]
    for kind in (*dict.fromkeys(case.kind for case in cases), "all"):
        some = [case for case in cases if kind in (case.kind, "all")]
        for name, order in orders.items():
            ranked = [(case, np.argsort(-order(case), kind="stable")) for case in some]
            grades = [np.where(case.known, 1, 0)[places].tolist() for case, places in ranked]
            ndcg, mrr = fmean(ndcg_at(each, TOP) for each in grades), fmean(map(reciprocal_rank, grades))
            high = fmean(case.high[places][:TOP_TRUST].mean() for case, places in ranked)
            lines.append(f"| {kind} | {len(some)} | {name} | {ndcg:.3f} | {mrr:.3f} | {high:.3f} |")
    return lines


def write(grown: Grown, cases: Sequence[Case], figures: Sequence[str]) -> None:
    queries = len({case.query for case in cases})
    model = as_model(grown, f"{queries:,} queries for known items on public labelled pages, see card.md; generated.")
    folder = SHIPPED_MANIFEST.parent
    shutil.rmtree(folder, ignore_errors=True)
    write_model(folder, model.manifest, grown.model, card(model.manifest, grown, cases, figures))
    print(f"{folder}: {model.manifest.name} {model.manifest.version}, {len(grown.model):,} bytes")


def card(manifest: Manifest, grown: Grown, cases: Sequence[Case], figures: Sequence[str]) -> str:
    """The model's card, with one line of counts of its training data."""
    queries, shown = len({case.query for case in cases}), sum(len(case.known) for case in cases)
    growth = ", ".join(f"{name} {value:g}" for name, value in GROWTH.model_dump().items())
    rows = "\n".join(f"| {name} | {share:.1%} |" for name, share in grown.importance[:SHOWN])
    return CARD.read_text("utf-8").format(
        name=manifest.name, version=manifest.version, objective=OBJECTIVES[manifest.phase], queries=queries,
        answers=len(cases), shown=shown, known=KNOWN, most=MOST, half=HALF, held_out=HELD_OUT, seed=SEED, growth=growth,
        figures="\n".join(figures), features=SHOWN, rows=rows, licence=manifest.licence,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
