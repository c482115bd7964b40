"""The work of a promotion on one record: a copy of it on the live topic, as it is.

In goes a record of a shadow; out comes the same on the live topic where the handler wrote it that is promoted, nothing
where another one did, and a dead letter where the live topic does not take it.
"""

from __future__ import annotations

from aiokafka import ConsumerRecord

from schemas.event import Provenance
from schemas.outcome import Dead, Stage
from streams.clock import Clock
from streams.codec import OutputRecord
from streams.pipeline.dead_letters import dead_letter
from streams.pipeline.origin import Origin
from streams.pipeline.work import Done, Pending
from streams.topology import Handler


class CopyWork:
    """Copies one handler's records from a shadow to the live topic; others on the same shadow are not its own."""

    def __init__(self, handler: Handler, live: str, letters: str, clock: Clock) -> None:
        """Takes whose records, where they go, where one goes that the live topic does not take, and time."""
        self._handler = handler
        self._source = f"assay/{handler.name}".encode()
        self._live = live
        self._letters = letters
        self._clock = clock
        self.copied = 0
        """Records copied in this process."""

    def origin(self, record: ConsumerRecord) -> Origin:
        """Where a record stands."""
        return Origin.of(record, retried=False)

    def begin(self, record: ConsumerRecord) -> Done:
        """The record as it is, on the live topic."""
        if dict(record.headers).get("ce_source") != self._source:
            return Done.of()
        self.copied += 1
        return Done.of(OutputRecord(self._live, record.key, record.value, tuple(record.headers)))

    async def complete(self, record: ConsumerRecord, pending: Pending) -> Done:  # noqa: ARG002 - the port's signature
        """A copy never waits for the world."""
        return self.begin(record)

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        """The dead letter of a record that the live topic does not take."""
        origin = self.origin(record)
        letter = dead_letter(
            self._handler,
            origin,
            record.key,
            record.value,
            record.headers,
            refusal,
            Stage.ENCODE,
            Provenance.of(record.headers, origin.identity),
            self._clock.now(),
        )
        return Done.of(letter._replace(topic=self._letters))
