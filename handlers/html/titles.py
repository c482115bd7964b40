"""What a page is called: its stated title without the site's name, or what its headings say.

An outline, its structured data and what is known of the site go in, one line comes out.
"""

from __future__ import annotations

import re

from handlers.html.outline import Outline
from handlers.html.structured_data import StructuredData

_TITLE_SEPARATOR = re.compile(r"(\s[|–—·•»«-]\s)")
_MAX_CHARACTERS = 500
_MAX_HEADINGS = 30
_MAX_SITE_WORDS = 4
_MIN_SHARE = 0.3


def find_title(page: Outline, data: StructuredData, stated: str, site_name: str, host: str) -> str:
    """The stated title without the site's name; of it the part that a heading of the page repeats.

    What is stated is the metadata's title, else an article's headline, else the window's title, unless they are the
    site's name. Where nothing is stated, the main heading is the title.

    Args:
        page: The page.
        data: Its structured data.
        stated: The title that its metadata states.
        site_name: The site's name.
        host: The site's host name.
    """
    own = frozenset(name for name in (_squashed(site_name), _squashed(data.publisher)) if name)
    places = [label for label in host.split(".") if len(label) > 2 and label != "www"]
    texts = (stated, data.headline if data.is_article else "", page.title)
    titles = (_without_site(" ".join(text[: 2 * _MAX_CHARACTERS].split()), own, places) for text in texts)
    title = next(filter(None, titles), "")
    headings = [text for level, text in page.headings[:_MAX_HEADINGS] if level < 3]
    least, lower = _MIN_SHARE * len(title), title.casefold()
    repeated = [text for text in headings if least <= len(text) < len(title) and text.casefold() in lower]
    main = next((text for level, text in page.headings if level == 1), "")
    return (max(repeated, key=len, default="") or title or main or page.title)[:_MAX_CHARACTERS]


def site_in_title(title: str, host: str) -> str:
    """The last part of the window's title if the address says it too; "" where it does not.

    >>> site_in_title("Rain again | The Example", "www.theexample.com")
    'The Example'
    >>> site_in_title("Rain again | Weather", "www.theexample.com")
    ''
    """
    parts = _TITLE_SEPARATOR.split(title[: 2 * _MAX_CHARACTERS])
    squashed = _squashed(parts[-1]) if len(parts) > 2 else ""
    return parts[-1].strip() if len(squashed) > 2 and squashed in _squashed(host) else ""


def _without_site(title: str, own: frozenset[str], places: list[str]) -> str:
    """A title without parts, first or last, that are the site's name; "" where it is nothing else."""
    parts = _TITLE_SEPARATOR.split(title)
    if len(parts) == 1:
        return "" if _is_site(title, own, places, whole=True) else title
    while len(parts) > 2 and _is_site(parts[-1], own, places):
        parts = parts[:-2]
    while len(parts) > 2 and _is_site(parts[0], own, places):
        parts = parts[2:]
    return "".join(parts)


def _is_site(text: str, own: frozenset[str], places: list[str], *, whole: bool = False) -> bool:
    """Whether a part of a title is the site's name, as the page says it or as the address does."""
    squashed = _squashed(text)
    if not squashed or squashed in own:
        return True
    if whole or len(text.split()) > _MAX_SITE_WORDS:
        return False
    return any(squashed.startswith(place) or (len(squashed) > 2 and squashed in place) for place in places)


def _squashed(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
