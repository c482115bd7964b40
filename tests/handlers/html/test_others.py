"""Parts of a page that readers and customers wrote, and pages that announce an event."""

import pytest

from handlers.html.marks import look_near
from handlers.html.others import OthersWords, is_event
from handlers.html.structured_data import StructuredData
from tests.handlers.html.rules import READING, others_of, outline_of

WORDS = OthersWords(READING)


def parts(html: str) -> dict[str, bool]:
    """Which texts are others'."""
    page = outline_of(html)
    others = others_of(page, look_near(page, 0))
    return {block.text: others.holds(block.element, block.start) for block in page.blocks()}


@pytest.mark.parametrize(
    "html",
    [
        "<h1>Title</h1><p>own</p><div class=review>other</div>",
        "<h1>Title</h1><p>own</p><div id=customer-reviews><div><p>other</p></div></div>",
        "<h1>Title</h1><p>own</p><ul><li class='comment depth-1'>other</li></ul>",
        "<h1>Title</h1><p>own</p><p><span class=testimonial>other</span></p>",
        "<h1>Title</h1><p>own</p><h2>12 Comments</h2><p>other</p>",
        "<h1>Title</h1><p>own</p><h2>Reviews (3)</h2><h3>Great!</h3><p>other</p>",
        "<h1>Title</h1><p>own</p><h3>Kundenbewertungen</h3><p>other</p><h2>Next</h2><p>own again</p>",
        "<h1>Title</h1><p>own</p><h2>網友評論</h2><p>other</p>",
        "<h1>Title</h1><p>own</p><h2>Comentarios:</h2><p>other</p>",
        # What holds the heading is the page's own, whatever it is called.
        "<div class=review><h1>Title</h1><p>own</p><div class=comments>other</div></div>",
        "<h1>Comments on a plan</h1><p>own</p><h2>Comments of the council</h2><p>own again</p><h2>Replies</h2>other",
    ],
)
def test_parts_of_others(html: str) -> None:
    found = parts(html)
    assert not any(is_others for text, is_others in found.items() if text.startswith("own"))
    assert found["other"]


@pytest.mark.parametrize(
    ("html", "kind", "url", "is_so"),
    [
        ("<h1>Jazz</h1>", "MusicEvent", "https://a.example/1", True),
        ("<h1>Jazz</h1>", None, "https://a.example/events/jazz", True),
        ("<h1>Jazz</h1>", None, "https://a.example/veranstaltungen/2024/jazz", True),
        ("<body class='single-event'><h1>Jazz</h1>", None, "https://a.example/1", True),
        ("<h1>Jazz</h1><p>When: Friday</p>", None, "https://a.example/1", True),
        ("<h1>Jazz</h1><p>Einlass 19 Uhr</p>", None, "https://a.example/1", True),
        ("<h1>演唱會</h1><p>地點：台北</p>", None, "https://a.example/1", True),
        ("<h1>Jazz</h1><p>When it rains, nobody comes.</p>", "NewsArticle", "https://a.example/1", False),
        ("<h1>Beginners</h1><p>Beginner's guide</p>", None, "https://a.example/eventually/1", False),
        ("<h1>Jazz</h1>", None, "https://a.example/the-events", False),
        ("", None, "", False),
    ],
)
def test_announcements_of_events(html: str, kind: str | None, url: str, is_so: bool) -> None:
    page = outline_of(html)
    assert is_event(page, StructuredData(type=kind), look_near(page, 0), url, WORDS) is is_so
