"""Indexes an utterance in the collection that ``vector_search_utterances`` searches, to compare claims with it.

In: ``UtteranceRecorded``. It asks for the utterance's one point. Out: ``UtteranceIndexed``. The same utterance twice
changes nothing; another text under the same id replaces the first.
"""

from __future__ import annotations

from handlers.claims.wording import ClaimsSection
from handlers.indexing.points import ARTICLE, index_change, point_id
from schemas.claims import UtteranceIndexed, UtteranceRecorded
from schemas.event import derive_id
from schemas.needs import Ask, Collection, IndexDocument, IndexPoint
from schemas.outcome import Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.replies import IndexReply, IndexUnavailable
from schemas.rules import Rules

COLLECTION: Collection = "utterances"


class IndexUtteranceRules(Rules):
    """Everything that ``index_utterance`` decides by."""

    claims: ClaimsSection


def index_utterance(utterance: UtteranceRecorded, rules: IndexUtteranceRules) -> Outcome | Ask:
    """Asks for the utterance's point (R-144, C-24); one without text has none."""
    text = utterance.text.strip()[: rules.claims.claim_characters]
    if not text:
        return Drop(DropReason.NOTHING_TO_DO)
    document_id = derive_id("utterance", utterance.utterance_id)
    context = (utterance.context or "")[: rules.claims.source_characters]
    payload = {
        "document_id": document_id,
        "utterance_id": utterance.utterance_id,
        "source_id": utterance.source_id,
        "kind": "utterance",
        "text": text,
        "context": context,
    }
    point = IndexPoint(point_id(document_id, ARTICLE), ARTICLE, text, payload)
    return Ask(IndexDocument(document_id, (point,), None, COLLECTION))


def read_utterance(
    utterance: UtteranceRecorded, replies: tuple[IndexReply | IndexUnavailable, ...], rules: IndexUtteranceRules
) -> Outcome:
    """Continues with the reply of the index; where it was not available, the utterance is retried."""
    reply = replies[-1]
    if isinstance(reply, IndexUnavailable):
        return Retry(RetryReason.UNAVAILABLE, reply.detail, reply.after_seconds)
    event = UtteranceIndexed(
        utterance_id=utterance.utterance_id,
        source_id=utterance.source_id,
        change=index_change(reply),
        embedder=reply.embedder,
        config_version=rules.config_version,
    )
    return Emit((event,))
