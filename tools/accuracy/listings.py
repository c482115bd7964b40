"""Listings: the links to their items, and their next page, compared with annotations.

Detail links are compared as sets of canonical addresses, and their order with the page's. The annotators of the pages
with paging labelled links by their text: where "next" is the newer page of a blog, they call the older page, which is
the following page of the listing, "previous". So a second count follows the literal one, without the cases in which the
annotated page has the lower number, or calls itself newer.
"""

from collections.abc import Callable, Iterator
from typing import Any

from handlers.fetch_page import FetchPageRules
from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.links import absolute_url, canonical_url
from handlers.listings.listing import Listing, follow_listing
from handlers.listings.paging import position_of
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy.measure import Measure, Measures, Setup

DETAILS, PAGES = "listing_to_detail_sites", "autopager_pagination"
_NEWER = "newer"


async def measures(_: Setup) -> Measures:
    rules = shipped_rules(FetchPageRules)

    def asked(name: str) -> Callable[[Any], Listing]:
        return lambda case: follow_listing(_html(name, case), case["url"], "", 1000, rules.listing, rules.page_reading)

    if labelled.has(DETAILS):
        yield Measure(
            name="### Listings", cases={"": [case for case in labelled.cases(DETAILS) if "detail_urls" in case]},
            contestants={"": asked(DETAILS)}, match=_details,
            figures=lambda rows, _: [*map(sum, zip(*rows, strict=True))],
            heads=("listings", "detail links", "found", "other links", "listings with just these links in their order"),
            group=(),
        )  # fmt: skip
    if labelled.has(PAGES):
        yield Measure(
            name="", cases={"": [*labelled.cases(PAGES)]}, contestants={"": asked(PAGES)},
            match=lambda _, case, answer: _pages(case, answer, rules),
            figures=lambda found, _: [len(found), sum(found)], heads=("pages", "of these"), group=("next page",),
        )  # fmt: skip


def _details(_: str, case: dict[str, Any], answer: Listing) -> Iterator[tuple[str, tuple[int, ...]]]:
    got = [canonical_url(link.url) for link in answer.links]
    expected = [canonical_url(url) for url in case["detail_urls"]]
    right = len(set(got) & set(expected))
    yield "", (1, len(expected), right, len(got) - right, got == expected)


def _pages(case: dict[str, Any], answer: Listing, rules: FetchPageRules) -> Iterator[tuple[str, bool]]:
    got = canonical_url(answer.next_page) if answer.next_page else None
    annotated = dict(_annotated(case))
    expected = {url for url, kind in annotated.items() if kind == "NEXT"}
    if expected:
        yield "annotated as next: it is followed", got in expected
        if not _leads_back(case, expected, rules):
            yield "of these, leads on in the listing: it is followed", got in expected
    elif not case["has_pagination"]:
        yield "no paging: some link is followed", got is not None
    elif "NEXT" not in case["selectors"]:
        yield "other links to pages: one of them is followed", got in annotated
        yield "other links to pages: another link is followed", got not in (None, *annotated)


def _html(name: str, case: dict[str, Any]) -> str | bytes:
    body = labelled.body(name, case)
    return body.decode(case["encoding"], "replace") if case.get("encoding") else body


def _annotated(case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The pages that annotated links lead to, and what they are annotated as; NEXT last, so that it wins."""
    tree = parse_bytes(page_bytes(_html(PAGES, case)).utf8)
    base_node = tree.css_first("base[href]")
    base = (absolute_url(case["url"], base_node.attributes.get("href") or "") if base_node else None) or case["url"]
    for kind, selector in sorted(case["selectors"].items(), key=lambda item: item[0] == "NEXT"):
        for node in tree.css(selector):
            link = node if node.tag == "a" else node.css_first("a") or node.parent
            href = (link.attributes.get("href") or "") if link is not None else ""
            if (url := absolute_url(base, href)) and (canonical := canonical_url(url)):
                yield canonical, kind


def _leads_back(case: dict[str, Any], expected: set[str], rules: FetchPageRules) -> bool:
    """Whether what is annotated as next is an earlier page of the listing, by its number or by what it is called."""
    own = position_of(canonical_url(case["url"]) or "", rules.listing.paging).page
    numbers = [position_of(url, rules.listing.paging).page or 1 for url in expected]
    selector = case["selectors"]["NEXT"].lower()
    return (own is not None and max(numbers) < own) or _NEWER in selector
