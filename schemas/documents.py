"""Pages in the index: ``documents.indexed.v1``."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from schemas.event import Event, Url
from schemas.pages import Tier
from schemas.states import State


class IndexChange(StrEnum):
    """What indexing a page did."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    OUTDATED = "outdated"
    KEPT = "kept"
    REMOVED = "removed"


class DocumentIndexed(Event):
    """A page is in the index as its tier asks.

    Attributes:
        document_id: The same for every version of the page; the ids of its points derive from it.
        tier: How deep it is indexed.
        cts_score: The score that decided the tier; null for an old record without one.
        state: As in ``ScoredPage``.
        change: ``written``; ``unchanged`` if the index had the same points; ``outdated`` if it had a newer version;
            ``kept`` if the page has no content now, so that older points stay; ``removed`` if it no longer exists.
        points: Number of points of the page.
        points_written: Points that were written, 0 unless ``change`` is ``written``.
        points_removed: Points of an earlier version that were removed.
        embedder: The embedder that made the vectors.
        config_version: The rules that made the points.
        fetched_at: When the page was fetched; the newest version of a page stays in the index.
    """

    url: Url
    page_id: str | None = None
    document_id: str
    tier: Tier
    cts_score: int | None = Field(default=None, ge=0, le=100)
    state: State = State.CONTENT
    change: IndexChange
    points: int = Field(ge=0)
    points_written: int = Field(ge=0)
    points_removed: int = Field(ge=0)
    embedder: str
    config_version: str
    fetched_at: datetime | None = None
