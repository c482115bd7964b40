"""A snippet request through its three handlers: each source has one turn, and the request completes once."""

from collections import deque
from collections.abc import Sequence

from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.llm import CallOutcome
from schemas.needs import AskModel, FetchPages, Need
from schemas.outcome import Emit
from schemas.relevance import RelevanceJudged, SnippetExtracted, SnippetsCompleted, SnippetsRequested
from schemas.replies import FetchFailure, FetchRefused, PagesReply, Reply
from streams.llm.journal import StoredAnswer, reply_of
from streams.settings.model import load_settings
from streams.topology import HANDLERS, topic_of
from tests.contract.worlds import decide, generous
from tests.rules import shipped_rules
from tests.samples import instance

OURS = {
    handler.consumes: (handler, shipped_rules(handler.rules))
    for handler in HANDLERS
    if handler.name in ("request_snippets", "fetch_page", "judge_relevance")
}
WORDS = {"relevant": "**Relevant**", "irrelevant": "irrelevant", "unparsed": "Relevant? No."}
FAILED = {"timeout": CallOutcome.TIMEOUT, "error": CallOutcome.ERROR}
FATES = (*WORDS, *FAILED, "not_fetched")


def run(urls: Sequence[str], fates: Sequence[str]) -> tuple[list[Event], list[str]]:
    """All events that a request causes, and the addresses that were asked for; one event is in work at a time."""
    asked: list[str] = []

    def services(need: Need) -> Reply:
        if isinstance(need, FetchPages):
            [url] = need.urls
            asked.append(url)
            if fates[urls.index(url)] == "not_fetched":
                return PagesReply((FetchRefused(url, FetchFailure.UNREACHABLE),))
            return generous(need)
        assert isinstance(need, AskModel)
        fate = fates[urls.index(asked[-1])]
        kept = StoredAnswer(text=WORDS.get(fate, ""), outcome=FAILED.get(fate, CallOutcome.OK))
        return reply_of(kept, need, "model")

    waiting: deque[Event] = deque([SnippetsRequested(request_id="r", query="lantern walk", urls=tuple(urls))])
    seen: list[Event] = []
    while waiting:
        event = waiting.popleft()
        handler, rules = OURS[topic_of(event)]
        outcome = instance(Emit, decide(handler, type(event).model_validate_json(event.to_json()), rules, services))
        seen += outcome.events
        onward = [one for one in outcome.events if topic_of(one) in OURS]
        assert len(onward) <= 1, "one source of a request is in work at a time"
        waiting += onward
        assert len(seen) < 10 * len(urls) + 10
    return seen, asked


@examples(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(FATES), min_size=1, max_size=8))
def test_every_source_has_one_turn_and_the_request_one_end(fates: list[str]) -> None:
    urls = [f"https://site{number}.example/events/walk-{4700 + number}" for number in range(len(fates))]
    seen, asked = run(urls, fates)
    assert asked == urls, "one by one, in their order"
    [end] = [event for event in seen if isinstance(event, SnippetsCompleted)]
    assert [(source.url, source.outcome) for source in end.sources] == list(zip(urls, fates, strict=True))
    relevant = [url for url, fate in zip(urls, fates, strict=True) if fate == "relevant"]
    assert [source.url for source in end.sources if source.snippet] == relevant
    snippets = [event for event in seen if isinstance(event, SnippetExtracted)]
    assert [(event.url, event.snippet) for event in snippets] == [
        (source.url, source.snippet) for source in end.sources if source.snippet
    ]
    judged = [event for event in seen if isinstance(event, RelevanceJudged)]
    assert len(judged) == sum(fate != "not_fetched" for fate in fates)
    assert sum(isinstance(event, ExtractionCompleted) for event in seen) == len(urls)
    ids = [event.extraction_id for event in seen if isinstance(event, ExtractionNeeded)]
    assert len(set(ids)) == len(ids) == len(urls)


def test_a_judgment_is_small_and_ends_within_three_seconds() -> None:
    """R-118, R-119: a word of ten tokens at most; all calls for it within 3 s, with one retry at most (C-18, C-20)."""
    settings = load_settings()
    asked, policy = settings.model_tasks["judge_relevance"], settings.models.task("judge_relevance")
    assert (asked.max_tokens, asked.temperature) == (10, 0.1)
    assert policy.deadline_seconds < 3.0
    assert policy.attempts <= 2
