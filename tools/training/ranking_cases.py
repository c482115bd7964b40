"""Queries answered as in production, with graded results: the training and test data of the shipped ranking model.

Known items: other results than the page that was looked for are graded by how much of the query they contain, and a
result with the label HIGH is worth one grade more. That is a product decision: among equally relevant results the more
trusted one is preferred. The page itself has such a high grade that any number of trusted others does not outweigh it:
with grade 4, the trust block gained among the others and lost known items further down.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.html.links import host_of, registrable_domain
from handlers.ranking.model import TOTAL_FEATURES_PHASE_A, Feature
from schemas.addresses import web_address
from streams.training.grade import Group, is_held_out, normalized
from streams.training.join import as_floats
from tools.accuracy.judges import Judge
from tools.accuracy.ranking import answer, rules_of
from tools.accuracy.ranking_index import build
from tools.accuracy.ranking_sets import Document, RankingSet

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
UNKNOWN_TRUST = np.array([0.0, *[math.nan] * (len(Feature) - TOTAL_FEATURES_PHASE_A - 1)], dtype=np.float32)
"""The trust block of a candidate of whom nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One query's results, as they were served.

    Attributes:
        known: 1 for the page that was looked for.
        overlap: Share of the query's keywords that each result holds.
        high: Whether it is under the label HIGH.
    """

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
        await index.aclose()
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
    hidden[rows, TOTAL_FEATURES_PHASE_A:] = UNKNOWN_TRUST
    return hidden
