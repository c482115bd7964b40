"""Which sites the shipped ranking model was grown from, and which it is judged by: every site is on one side."""

from __future__ import annotations

from handlers.page.links import host_of, registrable_domain
from handlers.ranking.training.grading import is_held_out

HELD_OUT = 0.5
"""Share of the sites."""


def is_held_out_site(url: str) -> bool:
    """Whether the page's site is held out: never trained on, neither as an answer nor as a candidate.

    A hash of the registrable domain decides, so it is the same whichever pages are at hand.

    >>> is_held_out_site("https://www.example.org/a") == is_held_out_site("http://example.org/b?c")
    True
    """
    host = host_of(url)
    return is_held_out(registrable_domain(host) or host, HELD_OUT)
