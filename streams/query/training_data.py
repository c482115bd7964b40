"""Reads feedback and the answers that it refers to from their topics, and writes a trained model as a folder.

Both are read up to the end at the start of the command, feedback first. Only answers with feedback are kept, so memory
is bounded by the feedback. The folder of a model (``manifest.json``, ``model.json``, ``card.md``) appears as a whole.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing
from pathlib import Path

from handlers.ranking.model import Manifest
from schemas.event import Provenance
from streams.kafka.log_reader import committed_ranges, read_log
from streams.settings.model import Settings
from streams.topology import RANKING_COMPLETED, RANKING_FEEDBACK, RANKING_REQUESTED, Topic
from streams.topology.codec import decode, timestamp
from streams.training.join import ServedLog
from streams.training.model_files import MODEL_FILE

Progress = Callable[[Topic, int], AbstractContextManager[Callable[[int], None]]]
"""Returns a context manager for a topic and its number of offsets; it gives ``advance(n)`` for passed ones."""


class EmptyTopicError(Exception):
    """There is nothing to read; the message says what to do."""


async def read_topics(settings: Settings, served: ServedLog, progress: Progress) -> None:
    """Reads both topics to their present end. Raises EmptyTopicError if a topic is missing or empty."""
    topics = (RANKING_FEEDBACK, RANKING_COMPLETED)
    found = await committed_ranges(settings.kafka, [topic.name for topic in topics])
    committed = {part.topic: part.ranges for part in found}
    sizes = {topic.name: sum(part.end - part.start for part in committed.get(topic.name, ())) for topic in topics}
    for topic in topics:
        if not sizes[topic.name]:
            raise EmptyTopicError(_nothing_on(topic, settings.kafka.topic_prefix))
    for topic in topics:
        ranges = committed[topic.name]
        with progress(topic, sizes[topic.name]) as advance:
            async with aclosing(read_log(settings.kafka, topic.name, ranges)) as records:
                async for record in records:
                    place = f"{record.topic}/{record.partition}/{record.offset}"
                    produced = timestamp(record.timestamp)
                    identity = Provenance.of(record.headers, place).identity
                    event = decode(topic, record.value, record.headers, produced)
                    served.add(event, place, identity, produced)
                    advance(1)


def _nothing_on(topic: Topic, prefix: str) -> str:
    if topic is RANKING_FEEDBACK:
        todo = f"publish what people did with results: `assay publish {topic.name} feedback.jsonl`"
    else:
        todo = f"`assay run rank_results` answers what comes on {RANKING_REQUESTED.name}"
    return f"there is nothing on {prefix}{topic.name}; {todo}"


MANIFEST_FILE, CARD_FILE = "manifest.json", "card.md"


def is_free(folder: Path) -> bool:
    """Whether a model may be written there: nothing is, or an empty folder. What is in force is never written over."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def write_model(folder: Path, manifest: Manifest, model: str, card: str) -> None:
    """Writes a model into a folder that is free.

    Raises OSError if it can't be written, or the folder has filled meanwhile.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        beside = Path(temporary)
        (beside / MANIFEST_FILE).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8", newline="\n")
        (beside / MODEL_FILE).write_text(model, "utf-8", newline="\n")
        (beside / CARD_FILE).write_text(card, "utf-8", newline="\n")
        beside.chmod(0o755)
        beside.replace(folder)
