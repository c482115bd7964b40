"""The lists of sources: the size of the shipped ones, and what the product says of each public list without it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from scipy.stats import mannwhitneyu, spearmanr

from handlers.indexing.config import source_at
from handlers.score_page import ScorePageRules
from handlers.trust.labels import Label, label_of
from handlers.trust.public_lists import CONTESTED, DISPUTED, read_groups
from handlers.trust.score import Observations, score_trust
from handlers.trust.sources import Source, SourceRules
from tests.rules import shipped_rules
from tools.accuracy.measure import Measure, Measures, Setup
from tools.labelled import cases, has
from tools.table import markdown

SET = "cred1_domains"
PAGE = "sources.md"
_RELATIVES = {SET: "cred1_contested"}
_ARTICLE = Observations(headings_count=1, has_author=True, has_date=True)
PRAISED = "praised"
_KINDS = {"m": DISPUTED, "r": PRAISED, "reliable": PRAISED}
Article = tuple[str, int, Source, Label, Label]
"""A domain, and score, source and label of the article there without a list; its label with all lists."""


def lists_table() -> str:
    sources = shipped_rules(ScorePageRules).sources
    entries, countries = Counter[str](), defaultdict[str, set[str]](set)
    for _, listed_as, country, _ in sources.entries():
        entries[listed_as] += 1
        countries[listed_as].add(country)
    heads = ["kind", "tag", "reason", "tier", "entries", "countries"]
    rows: list[list[object]] = [
        [f"`{name}`", kind.tag or "–", kind.reason, kind.tier, entries[name], len(countries[name] - {"int"})]
        for name, kind in sorted(sources.kinds.items(), key=lambda item: item[1].tier)
    ]
    everywhere = set().union(*countries.values()) - {"int"}
    rows.append(["together", "", "", "", entries.total(), len(everywhere)])
    return markdown("", heads, rows, texts=3)


async def measures(_: Setup) -> Measures:
    """What the product says of the domains of each public list without that list.

    ``cred1_domains`` is measured without CRED-1. The article of all domains has headings, an author and a date.
    """
    if not has(SET):
        return
    rules = shipped_rules(ScorePageRules)
    shipped = rules.compiled_sources
    rated = {case["domain"]: case["score"] for case in cases(SET)}
    domains = defaultdict[tuple[str, str], list[str]](list)
    for public in shipped.public:
        for value, _domain, named in read_groups(public.domains):
            kind = public.kinds[value] if public.kinds[value] in (CONTESTED, DISPUTED) else PRAISED
            domains[public.name, kind].extend(named)
    for case in cases(SET):
        domains[SET, _KINDS.get(case["category"], CONTESTED)].append(case["domain"])

    @cache
    def without(name: str) -> SourceRules:
        left_out = _RELATIVES.get(name, name)
        return replace(shipped, public=tuple(one for one in shipped.public if one.name != left_out))

    def article(case: tuple[str, str]) -> Article:
        return case[1], *_article(case[1], without(case[0]), rules), _article(case[1], shipped, rules)[2]

    yield Measure(
        name="", cases={row: [(row[0], domain) for domain in named] for row, named in domains.items()},
        contestants={"": article}, figures=_figures, group=("list", "calls them"),
        heads=("domains", "listed", "unlisted", "contested", "above LOW", "above LOW with all lists"),
        note=lambda found: _note({row: answers for (row, _), answers in found.items()}, rated),
    )  # fmt: skip


def _figures(articles: Sequence[Article], count: int) -> list[object]:
    standings = Counter(source.standing for _, _, source, _, _ in articles)
    above = (sum(article[place] != "LOW" for article in articles) for place in (3, 4))
    named: list[object] = [standings[name] for name in ("listed", "unlisted", "contested")]
    return [count, *named, *(f"{number / count:.1%}" for number in above)]


def _note(found: Mapping[tuple[str, str], Sequence[Article]], rated: Mapping[str, float]) -> str:
    scores: dict[str, list[int]] = {PRAISED: [], CONTESTED: [], DISPUTED: []}
    for (name, kind), articles in found.items():
        scores[kind] += [score for _, score, *_ in articles if name != SET]
    praised = [source for (_, kind), articles in found.items() if kind == PRAISED for _, _, source, _, _ in articles]
    alike = sum("looks like" in source.because for source in praised)
    own = {domain: score for (name, _), articles in found.items() if name == SET for domain, score, *_ in articles}
    order = spearmanr([*own.values()], [rated[domain] for domain in own]).statistic
    won = mannwhitneyu(scores[PRAISED], scores[CONTESTED]).statistic
    auc = won / len(scores[PRAISED]) / len(scores[CONTESTED])
    return f"""
Each list without itself: AUC {auc:.3f} of praised and contested domains.
{alike} of {len(scores[PRAISED])} praised domains look like another listed one.
{SET} without CRED-1: rank correlation {order:.3f} with the scores of {len(own)} domains.
"""


def _article(domain: str, sources: SourceRules, rules: ScorePageRules) -> tuple[int, Source, Label]:
    source = source_at(f"https://{domain}/", None, "", sources)
    score = score_trust(source.base_score, "", _ARTICLE, rules.trust_points.points).total
    return score, source, label_of(score, source.tier, rules.trust_labels.thresholds, source.standing)
