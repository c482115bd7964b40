"""Dead letters deleted, from the oldest on.

Kafka deletes the beginning of a partition and nothing else. So of each partition the letters go up to the first one
that is not meant; those that are meant and stand behind it stay, and are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from streams.dlq.letters import Letters
from streams.dlq.selection import Selection
from streams.kafka import make_admin, opened
from streams.settings import Settings


@dataclass
class Purged:
    """What a purge came to, or would come to."""

    deleted: int = 0
    not_sent_again: int = 0
    """Of those, letters that were never sent again."""
    held_back: int = 0
    """Letters that are meant and stand behind one that is not."""


async def purge(settings: Settings, selection: Selection, only_redriven: bool, dry_run: bool) -> Purged:
    """Deletes the selected letters as far as Kafka can.

    Args:
        settings: The configuration.
        selection: Which letters.
        only_redriven: Of those only what was sent again.
        dry_run: Only counts.
    """
    result = Purged()
    ends: dict[TopicPartition, int] = {}
    async with Letters(settings, selection) as letters:
        for handler, partition in letters.partitions:
            runs = await letters.redriven(partition)
            kept = False
            async for letter in letters.read(handler, partition, runs):
                meant = selection.means(handler, letter.record.key, letter.note)
                meant = meant and (letter.redriven_by is not None or not only_redriven)
                if not meant:
                    kept = True
                elif kept:
                    result.held_back += 1
                else:
                    result.deleted += 1
                    result.not_sent_again += letter.redriven_by is None
                    ends[partition] = letter.record.offset + 1
    if ends and not dry_run:
        async with opened(make_admin(settings.kafka)) as admin:
            await admin.delete_records({at: RecordsToDelete(before_offset=end) for at, end in ends.items()})
    return result
