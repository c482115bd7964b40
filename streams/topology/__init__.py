"""What flows: every topic and every handler, their names, and how events become records."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streams.topology.topics import (
    CLAIMS_EVALUATED as CLAIMS_EVALUATED,
    CLAIMS_EXTRACTED as CLAIMS_EXTRACTED,
    DEAD_LETTER_BYTES as DEAD_LETTER_BYTES,
    DEAD_LETTER_RETENTION_DAYS as DEAD_LETTER_RETENTION_DAYS,
    DECISIONS_REVIEWED as DECISIONS_REVIEWED,
    DOCUMENTS_INDEXED as DOCUMENTS_INDEXED,
    EXTRACTION_NEEDED as EXTRACTION_NEEDED,
    MIB as MIB,
    PAGES_CRAWLED as PAGES_CRAWLED,
    PAGES_SCORED as PAGES_SCORED,
    RANKING_COMPLETED as RANKING_COMPLETED,
    RANKING_FEEDBACK as RANKING_FEEDBACK,
    RANKING_REQUESTED as RANKING_REQUESTED,
    RELEVANCE_JUDGED as RELEVANCE_JUDGED,
    RELEVANCE_REQUESTED as RELEVANCE_REQUESTED,
    REPLAYS as REPLAYS,
    RESULTS_CLASSIFIED as RESULTS_CLASSIFIED,
    RETENTION_DAYS as RETENTION_DAYS,
    RETRIEVAL_BATCHES as RETRIEVAL_BATCHES,
    RETRIEVAL_EVALUATED as RETRIEVAL_EVALUATED,
    SEARCH_EVALUATED as SEARCH_EVALUATED,
    SNIPPETS_REQUESTED as SNIPPETS_REQUESTED,
    TOPIC_BYTES as TOPIC_BYTES,
    TOPICS as TOPICS,
    UTTERANCES_RECORDED as UTTERANCES_RECORDED,
    Topic as Topic,
    topic_named as topic_named,
    topic_of as topic_of,
)

if TYPE_CHECKING:
    from streams.topology.handlers import (
        HANDLERS as HANDLERS,
        Handler as Handler,
        RetryTopic as RetryTopic,
        handler_named as handler_named,
        no_such as no_such,
        only_searches as only_searches,
    )


def __getattr__(name: str) -> Any:
    """Names of ``streams.topology.handlers``, which imports every handler: reading and scoring a page does without."""
    handlers = import_module("streams.topology.handlers")
    if name.startswith("_") or not hasattr(handlers, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(handlers, name)
