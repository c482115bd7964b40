"""Dead letters as they are read back: the notes in the headers of ``<topic>.<group>.dlq``.

The value of a dead letter is the original record's value. Assay's notes are text headers.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.event import Part

KEPT_BYTES = 64 * 1024
"""How much is kept of a value that no topic takes."""


REDRIVEN_OF = "x-redriven-of"
"""The header of a marker on a dead letter topic: the letter at that offset of its partition was sent again."""


class DeadLetter(Part):
    """Why a record died, and its original position.

    Attributes:
        reason: One of ``DeadReason``; an unknown one is passed through.
        stage: decode, handle or encode.
        error: What was wrong, in words.
        root_id: Identity of the record; it survives a redrive.
    """

    handler: str
    reason: str
    stage: str
    error: str
    topic: str
    partition: int
    offset: int
    root_id: str
    died_at: str = ""
    original_size: int | None = None
    original_sha256: str | None = None

    @classmethod
    def of(cls, headers: Iterable[tuple[str, bytes | None]]) -> DeadLetter:
        """Reads the notes of a dead letter; what is missing or malformed is empty or -1."""
        texts = {name: value.decode("utf-8", "replace") for name, value in headers if value is not None}

        def number(name: str) -> int:
            text = texts.get(name, "")
            return int(text) if text.isdecimal() else -1

        return cls(
            handler=texts.get("x-handler", ""),
            reason=texts.get("x-reason", ""),
            stage=texts.get("x-stage", ""),
            error=texts.get("x-error-message", ""),
            topic=texts.get("x-orig-topic", ""),
            partition=number("x-orig-partition"),
            offset=number("x-orig-offset"),
            root_id=texts.get("x-root-id", ""),
            died_at=texts.get("x-died-at", ""),
            original_size=number("x-orig-size") if "x-orig-size" in texts else None,
            original_sha256=texts.get("x-orig-sha256"),
        )


def is_marker(headers: Iterable[tuple[str, bytes | None]]) -> bool:
    """Whether a record of a dead letter topic only marks another one as sent again.

    A dead letter keeps the headers of its record, which may imitate a marker, but a dead letter always has a reason.

    >>> is_marker([("x-redriven-of", b"7")]), is_marker([("x-redriven-of", b"7"), ("x-reason", b"invalid")])
    (True, False)
    """
    names = {name for name, _ in headers}
    return REDRIVEN_OF in names and "x-reason" not in names


def dead_letter_topic(topic: str, group: str) -> str:
    """The dead letter topic of a group on a topic, both without prefix.

    >>> dead_letter_topic("pages.crawled.v1", "assay.score_page")
    'pages.crawled.v1.assay.score_page.dlq'
    """
    return f"{topic}.{group}.dlq"
