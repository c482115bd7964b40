"""What the demonstration feeds: pages that a crawler could have brought, and batches that a search step could have.

The snippets are what a search engine would show of the sample web's pages.
"""

from __future__ import annotations

from datetime import datetime

from schemas.pages import CrawledPage
from schemas.retrieval import RetrievalBatch, RetrievedContent
from streams.demo.sample_web import page

CALENDAR = "http://kalender.aarhus-guide.example"
FINDER = "http://findevents.nordic.example"
SHOP = "http://shop.lydhuset.example"
NOTICE = "https://water.example.gov.tw/notices/reservoir-levels-2026"
WIRE_REPORT = "https://news.chengshi-ribao.example/life/202611210031"
BREAD = "https://slow-kitchen.example/bread-without-kneading"
ORDERS = "https://slow-kitchen.example/note-to-machines"
BROKEN = "https://slow-kitchen.example/oven.html"

_PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
"""What a crawler brings home where a picture hides behind an address that ends in .html."""


def pages(now: datetime) -> list[CrawledPage]:
    """Crawled pages: all three tiers, one that gives orders to machines, and one that is no page at all."""
    crawled = [
        CrawledPage(url=url, html_base64=page(url), content_type="text/html; charset=utf-8", fetched_at=now)
        for url in (NOTICE, WIRE_REPORT, BREAD, ORDERS, f"{SHOP}/")
    ]
    broken = CrawledPage(url=BROKEN, html_base64=_PNG, content_type="text/html", fetched_at=now)
    return [*crawled, broken]


def batches() -> list[RetrievalBatch]:
    """Retrieval batches: listings, a listing with a second page, a shop, a direct hit, and a mixed lot."""
    return [
        RetrievalBatch(
            batch_id="events-in-aarhus",
            query="events in Aarhus today",
            retrieved_content=(
                RetrievedContent(
                    url=f"{CALENDAR}/events/today",
                    title="All Events in Aarhus - Today",
                    content="Find events in Aarhus. Jazz at the Harbour House: View event. Guided walk: View event. "
                    "Pottery evening: View event. Chamber choir: View event.",
                ),
            ),
        ),
        RetrievalBatch(
            batch_id="weekend-in-copenhagen",
            query="events in Copenhagen this weekend",
            retrieved_content=(
                RetrievedContent(
                    url=f"{FINDER}/denmark/copenhagen/events",
                    title="Find Events in Copenhagen this weekend",
                    content="Winter Light Festival: Read more. String quartet: Read more. Next page. See all.",
                ),
            ),
        ),
        RetrievalBatch(
            batch_id="studio-headphones",
            query="studio headphones price",
            retrieved_content=(
                RetrievedContent(
                    url=f"{SHOP}/headphones",
                    title="Shop headphones - all products | Lydhuset",
                    content="Shop now. Quick view. Quick view. Quick view. Sort by. Filters. See all.",
                ),
            ),
        ),
        RetrievalBatch(
            batch_id="jazz-november-29",
            query="jazz concert 29 November Aarhus",
            retrieved_content=(
                RetrievedContent(
                    url=f"{CALENDAR}/event/jazz-at-the-harbour-house",
                    title="Jazz at the Harbour House - Aarhus Guide",
                    content="Jazz concert in Aarhus. Date: 29 November 2026, Time: 20:00, Venue: Harbour House, "
                    "Kystvejen 12, Price: 180 kr.",
                    cts_score=60,
                ),
            ),
        ),
        RetrievalBatch(
            batch_id="bread-recipe",
            query="bread recipe without kneading",
            retrieved_content=(
                RetrievedContent(
                    url="https://slow-kitchen.example/",
                    title="Slow Kitchen - home",
                    content="Welcome to Slow Kitchen.",
                ),
                RetrievedContent(
                    url=BREAD,
                    title="Bread without kneading",
                    content="I mix the flour, the water and a pinch of yeast in the evening and go to bed. "
                    "What it wants is time and a hot pot.",
                ),
            ),
        ),
    ]
