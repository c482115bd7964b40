"""Which records a replay selects: by address, domain, tier and earlier decision."""

import re
import sys
from typing import Any

import pytest

from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.pages import CrawledPage
from schemas.relevance import SnippetsRequested
from schemas.replays import ReplaySelection
from streams.replay.plan import ReplayError
from streams.replay.selection import DEAD, NONE, EarlierDecisions, addresses, decision_filter, in_domain, make_selector
from streams.settings.model import load_settings
from streams.topology import HANDLERS, RELEVANCE_JUDGED
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


def looked_for(handler: str, **selection: Any) -> EarlierDecisions:
    wanted = decision_filter(the_handler(handler), ReplaySelection.model_validate(selection))
    assert wanted is not None
    return wanted


@pytest.mark.parametrize("handler", [handler.name for handler in HANDLERS])
def test_every_handler_makes_decisions_to_choose_by(handler: str) -> None:
    assert looked_for(handler, outcomes=["none"]).topic in the_handler(handler).emits


@pytest.mark.parametrize(("handler", "selection", "values"), TABLES["fields_are_named_as_on_the_wire_or_in_python"])
def test_fields_are_named_as_on_the_wire_or_in_python(
    handler: str, selection: dict[str, Any], values: dict[str, tuple[str, ...]]
) -> None:
    assert looked_for(handler, **selection).values == {field: set(wanted) for field, wanted in values.items()}


@pytest.mark.parametrize(("handler", "selection", "says"), TABLES["unknown_outcome_is_refused_with_the_known_ones"])
def test_unknown_outcome_is_refused_with_the_known_ones(handler: str, selection: dict[str, Any], says: str) -> None:
    with pytest.raises(ReplayError, match=re.escape(says)):
        looked_for(handler, **selection)


def test_values_without_end_are_taken_as_they_are() -> None:
    for outcome in ("detail=null", "llm.model=judge", "llm.attempts=2", "summary_failure=too long", "url=x"):
        assert looked_for("judge_relevance", outcomes=[outcome]).values


def test_what_needs_no_decision_looks_nothing_up() -> None:
    assert decision_filter(the_handler("judge_relevance"), ReplaySelection(keys=("a",), domains=("b.example",))) is None
    assert decision_filter(the_handler("index_page"), ReplaySelection(tiers=("A",))) is None


@pytest.mark.parametrize(
    ("decision", "meets"),
    [*TABLES["malformed_decisions_are_matched_without_an_error"], ({"outcome": ["error", "relevant"]}, True)],
)
def test_malformed_decisions_are_matched_without_an_error(decision: dict[str, Any], meets: bool) -> None:
    assert looked_for("judge_relevance", outcomes=["error"]).matches(decision) is meets


def test_nested_and_non_text_values_are_matched() -> None:
    wanted = looked_for("judge_relevance", outcomes=["llm.attempts=2", "llm.cost_usd=null"])
    assert wanted.matches({"llm": {"attempts": 2, "cost_usd": None}})
    assert not wanted.matches({"llm": {"attempts": 2, "cost_usd": 0.5}}), "each field must be so"
    assert not wanted.matches({"llm": None})


def test_the_last_decision_counts() -> None:
    earlier = looked_for("judge_relevance", outcomes=["error"])
    earlier.decided("a", {"outcome": "error"})
    earlier.decided("b", {"outcome": "error"})
    earlier.decided("a", {"outcome": "relevant"})
    assert [earlier.selects(identity) for identity in "abc"] == [False, True, False]
    earlier.decided("a", {"outcome": "error"})
    assert earlier.selects("a")


def test_later_decision_overrides_an_earlier_death() -> None:
    earlier = EarlierDecisions(RELEVANCE_JUDGED, {}, frozenset({NONE, DEAD}))
    for identity in "ab":
        earlier.died(identity)
    earlier.decided("a", {})
    assert [earlier.selects(identity) for identity in "abc"] == [False, True, True]
    only_dead = EarlierDecisions(RELEVANCE_JUDGED, {}, frozenset({DEAD}))
    only_dead.died("b")
    assert [only_dead.selects(identity) for identity in "bc"] == [True, False]


def test_memory_holds_only_hashes_of_selected_decisions() -> None:
    earlier = looked_for("judge_relevance", outcomes=["error"])
    for number in range(20_000):
        earlier.decided(f"relevance.requested.v1/0/{number}", {"outcome": "relevant"})
    assert not earlier._last
    for number in range(20_000):
        earlier.decided(f"relevance.requested.v1/0/{number}", {"outcome": "error"})
    size = sys.getsizeof(earlier._last) + sum(map(sys.getsizeof, earlier._last))
    assert size / 20_000 < 160
