"""The trail of a page: the sections that it says it stands in, such as Books › History, by its breadcrumbs."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

_TRAILS = '[aria-label*="breadcrumb" i],[itemtype$="BreadcrumbList"],[class*="breadcrumb"],[id*="breadcrumb"]'
_MOST_CHARACTERS = 300
_MOST_STEPS = 8
_MOST_LOOKED_AT = 5


def trail_of(tree: LexborHTMLParser) -> tuple[str, ...]:
    """The steps of a page's breadcrumbs that are links, the first being the widest; () where there are none.

    The step that is no link is the page itself.

    >>> markup = '<nav aria-label="Breadcrumb"><a href="/b">Books</a> > <a href="/h">History</a> > Rome</nav>'
    >>> trail_of(LexborHTMLParser(markup))
    ('Books', 'History')
    """
    for node in tree.css(_TRAILS)[:_MOST_LOOKED_AT]:
        links = node.css("a[href]")
        # A wrapper of the whole page may be named after its breadcrumbs too.
        steps = [step for link in links if (step := _text_of(link))] if len(links) <= _MOST_STEPS else []
        if steps and sum(map(len, steps)) <= _MOST_CHARACTERS:
            return tuple(steps)
    return ()


def _text_of(node: LexborNode) -> str:
    return " ".join(node.text()[: 4 * _MOST_CHARACTERS].split())
