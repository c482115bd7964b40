"""The marks of editors on decisions: ``decisions.reviewed.v1``. The console writes them; the newest mark counts."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.addresses import MAX_URL
from schemas.event import Event, Part, Text, TextOrUrl
from schemas.instants import Instant

MAX_NOTE_CHARACTERS = 2000
MAX_EXPECTED_CHARACTERS = 200
Expected = Annotated[Text, Field(max_length=MAX_EXPECTED_CHARACTERS)]


class ReviewedDecision(Part):
    """The decision that was reviewed, as it is on its topic.

    Attributes:
        topic: Its topic, without the prefix.
        partition: The partition of its record.
        offset: The offset of its record.
        event_id: The id of its event; null if its record has none.
        handler: The handler that decided.
        config_version: The rules of the decision; null if its event has none.
        subject: What the decision is about: the key of its record, such as an address or the id of a batch.
    """

    topic: Text = Field(min_length=1, max_length=249)
    partition: int = Field(ge=0)
    offset: int = Field(ge=0)
    event_id: Text | None = Field(default=None, max_length=512)
    handler: Text = Field(min_length=1, max_length=100)
    config_version: Text | None = Field(default=None, max_length=100)
    subject: TextOrUrl = Field(max_length=MAX_URL)

    @property
    def identity(self) -> str:
        """The id of the decision: that of its event, otherwise its position."""
        return self.event_id or f"{self.topic}/{self.partition}/{self.offset}"


class DecisionReviewed(Event):
    """An editor's mark on a decision. Of several marks on a decision the newest counts.

    Attributes:
        decision: The decision.
        right: Whether the editor agrees with it.
        expected: The value that the editor expected in place of the decision's, such as the tier ``A``; null if the
            editor did not say.
        expected_facts: What the editor read on the page, where the decision has another value.
        withdrawn: Whether the mark takes earlier ones back.
        note: The editor's words; null without a note.
        reviewer: The name that the editor gave; null if the editor gave none.
        reviewed_at: When the mark was made; the record's timestamp is used without it.
    """

    time_field: ClassVar[str] = "reviewed_at"

    decision: ReviewedDecision
    right: bool
    expected: Expected | None = None
    expected_facts: dict[Literal["date", "author", "type", "state"], Expected] = Field(default_factory=dict)
    withdrawn: bool = False
    note: Text | None = Field(default=None, max_length=MAX_NOTE_CHARACTERS)
    reviewer: Text | None = Field(default=None, max_length=100)
    reviewed_at: Instant | None = None
