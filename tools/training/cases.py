"""The training data of the trees for result types: measures of labelled pages of public sets.

Sets with a label of the three types count in the evaluation. The others only help in training, with little weight: news
articles and product pages are single things on any site, and pages with links to further pages are mostly listings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from handlers.classify_results import ClassifyResultsRules
from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.links import host_of, registrable_domain
from handlers.results.classifier import TYPES
from schemas.retrieval import ResultType, RetrievedContent
from tests.rules import shipped_rules
from tools import labelled
from tools.training.variations import shorts

EVALUATED = ("wcxb_page_types", "formasaurus_navigation", "zh_list_detail", "magic_html_article_forum")
HELPING = {
    "adbar_dates_authors": (ResultType.SPECIFIC_CONTENT, 0.1),
    "fundus_news_metadata": (ResultType.SPECIFIC_CONTENT, 0.1),
    "readability_metadata": (ResultType.SPECIFIC_CONTENT, 0.1),
    "postlight_metadata": (ResultType.SPECIFIC_CONTENT, 0.1),
    "zyte_products": (ResultType.SPECIFIC_CONTENT, 0.2),
    "autopager_pagination": (ResultType.AGGREGATOR, 0.3),
}
"""Label and weight of every page of a set; of the last one, where links to further pages are annotated."""
DOUBTFUL = 0.4
"""Weight of a page whose set does not guarantee its label."""
TEXT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled page.

    Attributes:
        site: Cases of one site are not both trained and evaluated on.
        label: Its place in ``TYPES``.
        weight: How much it counts in growing.
        also: Another type that is not a mistake: a front page may list as well as lead on. None for most.
        counts: Whether it counts in the evaluation.
        measures: As for a result with its page (``page``) and for its text alone (``text``).
        source: The case as its set gives it.
        shorts: Label and measures of what a search engine might show of it, and of variations; to grow from.
    """

    set: str
    id: str
    site: str
    label: int
    weight: float
    also: int | None
    counts: bool
    source: Mapping[str, Any]
    measures: dict[str, dict[str, float]]
    shorts: tuple[tuple[int, dict[str, float]], ...] = ()

    def is_seen(self, mode: str) -> bool:
        """Whether the case can be used in training: a page without visible text is left out."""
        return mode == "text" or len(self.measures[mode]) > len(self.measures["text"])


def read_cases() -> Iterator[Case]:
    """Every labelled page of the sets that are here."""
    rules = shipped_rules(ClassifyResultsRules)
    for name in (*EVALUATED, *HELPING):
        for case in labelled.cases(name) if labelled.has(name) else ():
            label, weight, counts = _label(name, case)
            if label is not None and case.get("file"):
                yield _case(name, case, label, weight, counts, rules)


def content(name: str, case: Mapping[str, Any], with_html: bool) -> RetrievedContent:
    """A labelled page as a result; without an address if the set has no address."""
    body = labelled.body(name, case)
    page = page_bytes(body)
    tree = parse_bytes(page.utf8)
    title = tree.css_first("title")
    text = tree.body.text(separator=" ") if tree.body else ""
    return RetrievedContent(
        url=str(case.get("url") or "about:blank"),
        title=title.text() if title else None,
        content=" ".join(text.split())[:TEXT_CHARACTERS],
        html=body.decode(page.encoding, "replace") if with_html else None,
        content_kind="full",
    )


def description(html: str) -> str:
    """What a page says of itself, which search engines like to show; "" where it says nothing."""
    tree = parse_bytes(page_bytes(html).utf8)
    node = tree.css_first('meta[name=description][content],meta[property="og:description"][content]')
    return " ".join((node.attributes.get("content") or "").split())[:300] if node is not None else ""


def _label(name: str, case: dict[str, Any]) -> tuple[ResultType | None, float, bool]:
    if name in HELPING:
        label, weight = HELPING[name]
        is_known = case.get("has_pagination", True)
        return (label if is_known else None), weight, False
    given = case.get("suggested_label")
    is_sure = case.get("strict") is not False
    return (ResultType(given) if given else None), 1.0 if is_sure else DOUBTFUL, is_sure


def _case(
    name: str, case: dict[str, Any], label: ResultType, weight: float, counts: bool, rules: ClassifyResultsRules
) -> Case:
    measures, html = {}, ""
    for mode in ("page", "text"):
        result = content(name, case, with_html=mode == "page")
        html = html or result.html or ""
        measures[mode] = _measures(result, rules)
    made = shorts(result, html, description(html), label, Random(f"{name} {case['id']}"))
    site = str(case.get("split_key") or registrable_domain(host_of(str(case.get("url") or ""))) or case["id"])
    return Case(
        set=name,
        id=str(case["id"]),
        site=site,
        label=TYPES.index(label),
        weight=weight,
        also=TYPES.index(ResultType.AGGREGATOR) if case.get("kind") == "homepage" else None,
        counts=counts,
        source=case,
        measures=measures,
        shorts=tuple((TYPES.index(of), _measures(short, rules)) for of, short in made),
    )


def _measures(result: RetrievedContent, rules: ClassifyResultsRules) -> dict[str, float]:
    return {name: float(value) for name, value in rules.classifier.measures(result).items()}
