"""The handler: it requests an utterance's one point, and reports the result."""

from handlers.index_utterance import IndexUtteranceRules, index_utterance, read_utterance
from schemas.claims import UtteranceIndexed, UtteranceRecorded
from schemas.documents import IndexChange
from schemas.needs import Ask, IndexDocument
from schemas.outcome import Drop, DropReason, Retry, RetryReason
from schemas.replies import IndexReply, IndexUnavailable
from tests.rules import shipped_rules
from tests.samples import emitted, instance

RULES = shipped_rules(IndexUtteranceRules)
SAID = UtteranceRecorded(utterance_id="u-1", text=" The bridge is closed. ", source_id="talk-3", context="Council")


def asked(utterance: UtteranceRecorded) -> IndexDocument:
    return instance(IndexDocument, instance(Ask, index_utterance(utterance, RULES)).need)


def test_an_utterance_has_one_point_beside_the_pages() -> None:
    need = asked(SAID)
    [point] = need.points
    assert need.collection == "utterances"
    assert point.text == "The bridge is closed."
    assert (point.payload["source_id"], point.payload["context"]) == ("talk-3", "Council")
    assert asked(SAID) == need
    assert asked(SAID.model_copy(update={"utterance_id": "u-2"})).document_id != need.document_id


def test_an_utterance_without_text_has_no_point() -> None:
    assert index_utterance(SAID.model_copy(update={"text": " \n"}), RULES) == Drop(DropReason.NOTHING_TO_DO)


def test_a_long_one_is_cut() -> None:
    need = asked(SAID.model_copy(update={"text": "x" * 100_000, "context": "y" * 100_000}))
    assert len(need.points[0].text) == RULES.claims.claim_characters
    assert len(need.points[0].payload["context"]) == RULES.claims.source_characters


def test_event_reports_what_changed() -> None:
    event = emitted(UtteranceIndexed, read_utterance(SAID, (IndexReply(1, 0, 0, True, "e"),), RULES))
    assert (event.change, event.embedder, event.utterance_id) == (IndexChange.OUTDATED, "e", "u-1")


def test_an_index_that_is_down_means_later() -> None:
    outcome = read_utterance(SAID, (IndexUnavailable("no answer", 7.0),), RULES)
    assert outcome == Retry(RetryReason.UNAVAILABLE, "no answer", 7.0)
