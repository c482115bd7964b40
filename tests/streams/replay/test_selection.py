"""The URLs and domains of an event."""

import pytest

from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.pages import CrawledPage
from schemas.relevance import SnippetsRequested
from schemas.replays import ReplaySelection
from streams.replay.plan import ReplayError
from streams.replay.selection import addresses, in_domain, make_selector
from streams.settings.model import load_settings
from tests.samples import the_handler
from tests.streams.llm.judges import BATCH, SOURCE, input_of
from tests.tables import tables

TABLES = tables(__file__)


def test_addresses_of_pages_targets_results_and_sources() -> None:
    crawled = CrawledPage(url="https://a.example/", final_url="https://b.example/", html="")
    assert list(addresses(crawled)) == ["https://a.example/", "https://b.example/"]
    needed = ExtractionNeeded(
        extraction_id="e", query="q", reason=ExtractionTrigger.SNIPPET_REQUESTED, target_url="https://c.example/"
    )
    assert list(addresses(needed)) == ["https://c.example/"]
    requested = SnippetsRequested(request_id="r", urls=("https://d.example/",))
    assert list(addresses(requested)) == ["https://d.example/"]
    found = [str(content.url) for content in BATCH.retrieved_content]
    assert list(addresses(BATCH)) == found
    assert set(found) <= set(addresses(input_of("evaluate_retrieval")))
    assert SOURCE.url in set(addresses(SOURCE))


@pytest.mark.parametrize(("address", "inside"), TABLES["domains_are_compared_by_whole_labels"])
def test_domains_are_compared_by_whole_labels(address: str, inside: bool) -> None:
    assert in_domain(address, frozenset({"example.com"})) is inside


@pytest.mark.parametrize(
    "domain", ["https://example.com/", "example.com:443", "*.example.com", "example.com/a", "", "."]
)
async def test_invalid_domain_is_refused_with_an_example(domain: str) -> None:
    page = the_handler("score_page")
    with pytest.raises(ReplayError, match=r"is no domain; write it alone, such as example\.com"):
        await make_selector(load_settings(), page, ReplaySelection(domains=("example.org", domain)), ())


async def test_unknown_tier_is_refused() -> None:
    indexer = the_handler("index_page")
    await make_selector(load_settings(), indexer, ReplaySelection(tiers=("A", "C")), ())
    with pytest.raises(ReplayError, match="--tier 'D' is no tier; there are A, B, C"):
        await make_selector(load_settings(), indexer, ReplaySelection(tiers=("A", "D")), ())
