"""The training and the test data of the shipped ranking model: every site is on one side.

The input is a set of pages and queries; the result is the half of one side, with assigned sources: the public pages are
nearly all of unknown hosts, so without this the model could learn nothing about trust. A hash of the page gives it an
address of a tier-1, a tier-2 or an unknown host, so the trust in a page is independent of its relevance. The other
parts of its trust score come from the page itself.
"""

from __future__ import annotations

from hashlib import sha256

from handlers.html.links import host_of, registrable_domain
from schemas.addresses import web_address
from streams.training.grade import is_held_out
from tools.accuracy.ranking_sets import Document, Query, RankingSet

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
            Query(
                kind=query.kind,
                text=query.text,
                grades={dealt(url): grade for url, grade in query.grades.items() if url in mine},
                site=query.site,
            )
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
