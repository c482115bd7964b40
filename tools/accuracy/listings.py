"""Listings: the links to their items, and their next page, compared with annotations.

Detail links are compared as sets of canonical addresses, and their order with the page's. The annotators of the pages
with paging labelled links by their text: where "next" is the newer page of a blog, they call the older page, which is
the following page of the listing, "previous". So a second count follows the literal one, without the cases in which the
annotated page has the lower number, or calls itself newer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from handlers.fetch_page import FetchPageRules
from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.links import absolute_url, canonical_url
from handlers.listings.listing import Listing, follow_listing
from handlers.listings.paging import position_of
from tests.rules import shipped_rules
from tools import labelled
from tools.table import markdown

DETAILS, PAGES = "listing_to_detail_sites", "autopager_pagination"
_NEWER = "newer"


def run() -> list[str]:
    """The figures, over the sets that are here."""
    rules = shipped_rules(FetchPageRules)
    measured = ((DETAILS, _details), (PAGES, _pages))
    return [text for name, measure in measured if labelled.has(name) for text in measure(rules)]


def _details(rules: FetchPageRules) -> list[str]:
    found = right = wanted = in_order = listings = 0
    for case in labelled.cases(DETAILS):
        if "detail_urls" in case:
            got = [canonical_url(link.url) for link in _follow(DETAILS, case, rules).links]
            expected = [canonical_url(url) for url in case["detail_urls"]]
            found, wanted, listings = found + len(got), wanted + len(expected), listings + 1
            right += len(set(got) & set(expected))
            in_order += got == expected
    rows = [[listings, wanted, right, found - right, in_order]]
    heads = ["listings", "detail links", "found", "other links", "listings with just these links in their order"]
    return [markdown("### Listings", heads, rows, texts=0)]


def _pages(rules: FetchPageRules) -> list[str]:
    counts: dict[str, list[bool]] = defaultdict(list)
    for case in labelled.cases(PAGES):
        answer = _follow(PAGES, case, rules).next_page
        got = canonical_url(answer) if answer else None
        annotated = dict(_annotated(case))
        expected = {url for url, kind in annotated.items() if kind == "NEXT"}
        if expected:
            counts["annotated as next: it is followed"].append(got in expected)
            if not _leads_back(case, expected, rules):
                counts["of these, leads on in the listing: it is followed"].append(got in expected)
        elif not case["has_pagination"]:
            counts["no paging: some link is followed"].append(got is not None)
        elif "NEXT" not in case["selectors"]:
            counts["other links to pages: one of them is followed"].append(got in annotated)
            counts["other links to pages: another link is followed"].append(got not in (None, *annotated))
    rows = [[what, len(found), sum(found)] for what, found in counts.items()]
    return [markdown("", ["next page", "pages", "of these"], rows)]


def _follow(name: str, case: dict[str, Any], rules: FetchPageRules) -> Listing:
    return follow_listing(_html(name, case), case["url"], "", 1000, rules.listing, rules.page_reading)


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
