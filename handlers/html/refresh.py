"""Where a page sends its reader by itself: the redirect that stands in the page instead of in the response.

A tree and the page's address go in; the address that a browser would show instead comes out, or None. Such a page came
with status 200 and says "please wait"; what was asked for is elsewhere.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

from handlers.html.links import absolute_url, canonical_url

_CONTENT = re.compile(r" ?(\d{0,9})[\d.]{0,20} ?[;, ] ?(?:url ?= ?)?[\"']?([^\"']+)", re.IGNORECASE)
_MAX_CONTENT = 4_000
_MAX_TAGS = 50


def refreshed_to(tree: LexborHTMLParser, url: str, longest_seconds: int) -> str | None:
    """The address that a page replaces itself by within so many seconds; None where it stays or reloads.

    What stands in ``noscript`` doesn't count: it leads away from pages that are content where scripts run.

    >>> page = LexborHTMLParser('<meta http-equiv="Refresh" content="0; URL=/new">')
    >>> refreshed_to(page, "https://example.com/old", 10)
    'https://example.com/new'
    """
    for node in tree.css("meta[http-equiv]")[:_MAX_TAGS]:
        attributes = node.attributes
        if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
            continue
        if node.parent is not None and node.parent.tag == "noscript":
            continue
        stated = _CONTENT.match(" ".join((attributes.get("content") or "")[:_MAX_CONTENT].split()))
        onward = absolute_url(url, stated.group(2)) if stated and int(stated.group(1) or 0) <= longest_seconds else None
        if onward is not None and canonical_url(onward) != canonical_url(url):
            return onward
    return None
