"""The lists of sources: the size of the shipped ones, and what the product says of each public list without it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import correlation

from handlers.indexing.config import source_at
from handlers.score_page import ScorePageRules
from handlers.trust.labels import Label, label_of
from handlers.trust.public_lists import CONTESTED, DISPUTED, read_groups
from handlers.trust.score import Observations, score_trust
from handlers.trust.sources import Source, SourceRules
from tests.rules import shipped_rules
from tools.labelled import cases, has
from tools.table import markdown

SET = "cred1_domains"
PAGE = "sources.md"
_RELATIVES = {SET: "cred1_contested"}
_ARTICLE = Observations(headings_count=1, has_author=True, has_date=True)
_KINDS = {"m": DISPUTED, "r": "praised", "reliable": "praised"}


def lists_table() -> str:
    """The shipped entries by kind."""
    sources = shipped_rules(ScorePageRules).sources
    entries, countries = Counter[str](), dict[str, set[str]]()
    for _, listed_as, country, _ in sources.entries():
        entries[listed_as] += 1
        countries.setdefault(listed_as, set()).add(country)
    heads = ["kind", "tag", "reason", "tier", "entries", "countries"]
    rows: list[list[object]] = [
        [f"`{name}`", kind.tag or "–", kind.reason, kind.tier, entries[name], len(countries.get(name, set()) - {"int"})]
        for name, kind in sorted(sources.kinds.items(), key=lambda item: item[1].tier)
    ]
    everywhere = set().union(*countries.values()) - {"int"}
    rows.append(["together", "", "", "", entries.total(), len(everywhere)])
    return markdown("", heads, rows, texts=3)


def measure() -> str:
    """What the product says of the domains of each public list without that list; "" where the sets are not there.

    ``cred1_domains`` is measured without CRED-1. The article of all domains has headings, an author and a date.
    """
    if not has(SET):
        return ""
    rules = shipped_rules(ScorePageRules)
    shipped = rules.compiled_sources
    groups: dict[tuple[str, str], list[str]] = {}
    for one in shipped.public:
        for value, _, named in read_groups(one.domains):
            kind = one.kinds[value] if one.kinds[value] in (CONTESTED, DISPUTED) else "praised"
            groups.setdefault((one.name, kind), []).extend(named)
    rated = {case["domain"]: case for case in cases(SET)}
    for domain, case in rated.items():
        groups.setdefault((SET, _KINDS.get(case["category"], CONTESTED)), []).append(domain)
    heads = [
        "list",
        "calls them",
        "domains",
        "listed",
        "unlisted",
        "contested",
        "above LOW",
        "above LOW with all lists",
    ]
    rows: list[list[object]] = []
    scores: dict[str, list[int]] = {"praised": [], CONTESTED: [], DISPUTED: []}
    said: dict[str, int] = {}
    alike = 0
    for (name, kind), domains in groups.items():
        left_out = _RELATIVES.get(name, name)
        without = replace(shipped, public=tuple(x for x in shipped.public if x.name != left_out))
        found = [_article(domain, without, rules) for domain in domains]
        above = [label != "LOW" for _, _, label in (_article(domain, shipped, rules) for domain in domains)]
        standings = Counter(source.standing for _, source, _ in found)
        alike += sum(kind == "praised" and "looks like" in source.because for _, source, _ in found)
        shares = [sum(label != "LOW" for _, _, label in found), sum(above)]
        cells: list[object] = [standings["listed"], standings["unlisted"], standings["contested"]]
        cells += [f"{share / len(domains):.1%}" for share in shares]
        rows.append([name, kind, len(domains), *cells])
        if name == SET:
            said |= dict(zip(domains, (score for score, _, _ in found), strict=True))
        else:
            scores[kind] += [score for score, _, _ in found]
    order = correlation(_ranks([*said.values()]), _ranks([rated[domain]["score"] for domain in said]))
    auc = _auc(scores["praised"], scores[CONTESTED])
    lines = [
        markdown("", heads, rows, texts=2),
        f"Each list without itself: AUC {auc:.3f} of praised and contested domains.",
    ]
    lines.append(f"{alike} of {len(scores['praised'])} praised domains look like another listed one.")
    lines.append(f"{SET} without CRED-1: rank correlation {order:.3f} with the scores of {len(said)} domains.")
    return "\n".join(lines)


def _article(domain: str, sources: SourceRules, rules: ScorePageRules) -> tuple[int, Source, Label]:
    """Score, source and label of the article at a domain."""
    source = source_at(f"https://{domain}/", None, "", sources)
    score = score_trust(source.base_score, "", _ARTICLE, rules.trust_points.points).total
    return score, source, label_of(score, source.tier, rules.trust_labels.thresholds, source.standing)


def _auc(high: Sequence[int], low: Sequence[int]) -> float:
    """The share of pairs in which the one of ``high`` has the higher score; equal scores count half.

    >>> _auc([3, 2], [1, 2])
    0.875
    """
    others = Counter(low)
    won = sum(count * ((score > other) + (score == other) / 2) for score in high for other, count in others.items())
    return won / (len(high) * len(low))


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value; equal values share the mean of theirs.

    >>> _ranks([10, 20, 10])
    [0.5, 2.0, 0.5]
    """
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) - 1) / 2 for value in values]
