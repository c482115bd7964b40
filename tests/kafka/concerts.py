"""Web pages about concerts: a listing and its detail pages."""

from tests.streams.fetch.web import Web, response

PLACE = "Blue Heron Hall"
"""Where the concerts are, which is said on the pages of their details alone."""


def listing(*paths: str) -> bytes:
    cards = "".join(
        f'<li class="card"><article><h3><a href="{path}">Concert {path[1:]}</a></h3><p>Read more</p></article></li>'
        for path in paths
    )
    return response(f"<title>All concerts</title><main><h1>All concerts</h1><ul>{cards}</ul></main>")


def detail(number: int) -> bytes:
    return response(
        f"<title>Evening {number} with the quartet</title><main><h1>Evening {number} with the quartet</h1>"
        f"<p>Date: November 29, 2026. Time: 8:00 PM. Venue: {PLACE}, 12 Quay Street. Price: $25. The quartet "
        "plays songs of the sea in the old hall by the harbour, with an interval of twenty minutes and soup.</p></main>"
    )


def offer(web: Web) -> None:
    """Has a listing of three concerts and their details served."""
    web.routes |= {f"/concerts/{number}-quartet": detail(number) for number in (11, 12, 13)}
    web.routes["/concerts"] = listing(*web.routes)
