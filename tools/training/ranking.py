"""``python -m tools.training.ranking``: trains the shipped ranking model, judges it on other sites, and writes it.

Public labelled pages go through the real path: scored, indexed, searched, fused, ranked by the offline judge. The trees
learn from the features of those answers. Half of the sites are never seen in training, as answers or as candidates. On
these the model is compared with the order before it, and with the same training without the trust columns.
``--evaluate`` stops there.

Known items: other results than the page that was looked for are graded by how much of the query they contain, and a
result with the label HIGH is worth one grade more. That is a product decision: among equally relevant results the more
trusted one is preferred. The page itself has such a high grade that any number of trusted others does not outweigh it:
with grade 4, the trust block gained among the others and lost known items further down.
"""

import argparse
import asyncio
import hashlib
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.html.links import host_of, registrable_domain
from handlers.ranking import model as models
from handlers.ranking.config import features_config
from handlers.ranking.model import Feature, Manifest, Phase, RankingModel
from schemas.addresses import web_address
from streams.settings.model import load_settings
from streams.training.config import GrowthSection
from streams.training.grade import Group, is_held_out, ndcg_at, normalized, reciprocal_rank
from streams.training.join import as_floats
from streams.training.model_files import SHIPPED_MANIFEST, write_model
from streams.training.train import Grown, grow
from tools import labelled
from tools.accuracy.judges import Judge, offline_judge
from tools.accuracy.ranking import TOP, TOP_TRUST, answer, build, rules_of
from tools.accuracy.ranking_sets import Document, RankingSet, ranking_sets

HELD_OUT = 0.5
"""Share of the sites."""
HOSTS = ("pages{}.gov.tw", "pages{}.edu.tw", "page{}.udn.com", "p{}.cna.com.tw", "pages{}.com.tw", "allpages{}.com")
"""Two of each tier, the last two unknown; all of one length, which is a feature too."""


def is_held_out_site(url: str) -> bool:
    """Whether the page's site is held out: never trained on, neither as an answer nor as a candidate.

    A hash of the registrable domain decides, so it does not depend on the other pages.

    >>> is_held_out_site("https://www.example.org/a") == is_held_out_site("http://example.org/b?c")
    True
    """
    host = host_of(url)
    return is_held_out(registrable_domain(host) or host, HELD_OUT)


def half(whole: RankingSet, *, held_out: bool) -> RankingSet:
    """The documents of one side with assigned sources, and the queries that they answer."""
    mine = {document.url for document in whole.documents if is_held_out_site(document.url) is held_out}
    return RankingSet(
        f"{whole.name}, sites {'held out' if held_out else 'trained on'}",
        tuple(Document(dealt(document.url), document.body) for document in whole.documents if document.url in mine),
        tuple(
            query._replace(grades={dealt(url): grade for url, grade in query.grades.items() if url in mine})
            for query in whole.queries
            if mine.intersection(query.grades)
        ),
    )


def dealt(url: str) -> str:
    """The page's address at a host of a tier that a hash deals to it.

    >>> dealt("https://www.example.org/a?b=c") == dealt("https://www.example.org/a?b=c")
    True
    """
    digest = sha256(url.encode()).hexdigest()
    host = HOSTS[int(digest[:8], 16) % len(HOSTS)].format(digest[8:14])
    address = web_address(url)
    return f"https://{host}{address.path}" + f"?{address.query}" * bool(address.query)


KNOWN = 8
HALF, MOST = 0.5, 0.9
"""Shares of the query's keywords from which a result that is not the known item has grade 1, and 2."""
SWITCHES: tuple[Mapping[str, Any], ...] = ({}, {"model_ranking": {"enabled": False}})
"""As shipped, and without a judge, as trees see candidates in the cascade."""
UNKNOWN_TRUST = np.array([0.0, *[math.nan] * (len(Feature) - models.TOTAL_FEATURES_PHASE_A - 1)], dtype=np.float32)
"""The trust block of a candidate of whom nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One query's results: the page that was looked for, shares of the query's keywords, and labels HIGH."""

    query: str
    kind: str
    features: NDArray[np.float32]
    known: NDArray[np.bool_]
    overlap: NDArray[np.float32]
    high: NDArray[np.bool_]

    def grades(self, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Grades, where the trust of some results is seen and that of the others is not."""
        held = (self.overlap >= HALF).astype(np.int64) + (self.overlap >= MOST)
        return np.where(self.known, KNOWN, held + (self.high & seen))


async def served(sets: Sequence[RankingSet], judge: Judge) -> list[Case]:
    """Every query of the sets, answered under every switch; one whose page was not found teaches nothing."""
    every = [rules_of(switch, reasoning={"enabled": False}) for switch in SWITCHES]
    cases = []
    for some in sets:
        index = await build(some.documents)
        for rules in every:
            for query in some.queries:
                completed, _ = await answer(index, query.text, rules, judge)
                results = [result for result in completed.results if result.features is not None]
                known = np.array([result.url in query.grades for result in results])
                if known.any():
                    features = as_floats([result.features or () for result in results])
                    high = np.array([result.trust_label == "HIGH" for result in results])
                    overlap = features[:, Feature.KEYWORD_OVERLAP]
                    cases.append(Case(completed.query, query.kind, features, known, overlap, high))
        await index.services.aclose()
    return cases


def groups_of(cases: Sequence[Case]) -> Iterator[Group]:
    """Each case three times: with the trust of all results, of none, and of about half of them.

    So the trees learn what to do with candidates of before there was a trust score, alone and among others.
    """
    for case in cases:
        whole = np.ones(len(case.known), dtype=np.bool_)
        some = np.array([sha256(f"{case.query} {place}".encode()).digest()[0] % 2 == 0 for place in range(len(whole))])
        for seen in (whole, ~whole, some):
            yield Group(
                query=normalized(case.query),
                ranks=np.arange(1, len(whole) + 1),
                features=without_trust(case.features, ~seen),
                grades=case.grades(seen),
            )


def without_trust(features: NDArray[np.float32], rows: NDArray[np.bool_] | slice) -> NDArray[np.float32]:
    """The features, with nothing known of the trust of some rows."""
    hidden = features.copy()
    hidden[rows, models.TOTAL_FEATURES_PHASE_A :] = UNKNOWN_TRUST
    return hidden


CARD = Path(__file__).with_name("ranking_card.md")
SEED = 1
GROWTH = GrowthSection(trees=120, depth=4, rate=0.1, rows=0.8, columns=0.6, leaf_weight=1.0, penalty=5.0)
SHOWN = 15
"""Features that the card names."""
Order = Callable[[Case], NDArray[np.floating]]
"""What a case's results are ordered by, the highest first."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.training.ranking", description=__doc__)
    parser.add_argument("--evaluate", action="store_true", help="write nothing")
    options = parser.parse_args()
    sets = list(ranking_sets())
    if not sets:
        labelled.skipped()
        return
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


def grow_on(cases: Sequence[Case], *, hidden: bool = False) -> Grown:
    """The trees that these cases make; every column of trust (29 to 40) may be hidden, and nothing else changes."""
    groups = list(groups_of(cases))
    if hidden:
        groups = [replace(group, features=without_trust(group.features, slice(None))) for group in groups]
    section = load_settings().training.model_copy(update={"growth": GROWTH})
    return grow(groups, models.FEATURES_OF[models.VERSION_PHASE_C], Phase.LISTWISE, section, SEED)


def by(grown: Grown) -> Order:
    model = as_model(grown, "under judgement")
    return lambda case: model.score(case.features.astype(np.float64))


def as_model(grown: Grown, trained_on: str) -> RankingModel:
    digest = hashlib.sha256(grown.model.encode()).hexdigest()
    manifest = Manifest(
        name="known-items",
        version=digest[:12],
        phase=Phase.LISTWISE,
        features_version=models.VERSION_PHASE_C,
        features=models.FEATURES_OF[models.VERSION_PHASE_C],
        sha256=digest,
        features_config=features_config(load_settings().ranking),
        trained_on=trained_on,
        licence=labelled.about("ranking licence", dated=False),
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
    queries, shown = len({case.query for case in cases}), sum(len(case.known) for case in cases)
    about = f"{queries:,} queries for known items on public labelled pages, see card.md; generated."
    manifest, folder = as_model(grown, about).manifest, SHIPPED_MANIFEST.parent
    growth = ", ".join(f"{name} {value:g}" for name, value in GROWTH.model_dump().items())
    rows = "\n".join(f"| {name} | {share:.1%} |" for name, share in grown.importance[:SHOWN])
    card = CARD.read_text("utf-8").format(
        name=manifest.name, version=manifest.version, objective=models.OBJECTIVES[manifest.phase], queries=queries,
        answers=len(cases), shown=shown, known=KNOWN, most=MOST, half=HALF, held_out=HELD_OUT, seed=SEED, growth=growth,
        figures="\n".join(figures), features=SHOWN, rows=rows, licence=manifest.licence,
    )  # fmt: skip
    shutil.rmtree(folder, ignore_errors=True)
    write_model(folder, manifest, grown.model, card)
    print(f"{folder}: {manifest.name} {manifest.version}, {len(grown.model):,} bytes")


if __name__ == "__main__":
    main()
