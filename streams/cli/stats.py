"""``assay stats``: what was decided, counted over a topic or a file: tiers, scores, types, outcomes and refusals."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option

from schemas.event import Event
from schemas.outcome import Dead, Drop
from streams.cli.command import AsJson, CommandError, Config, find_topic, load_settings, run_with_kafka
from streams.cli.output import Refusals, say, say_json
from streams.cli.progress import ProgressLine, read_events
from streams.cli.tail import no_topic
from streams.dlq.selection import moment
from streams.publish.entries import STANDARD_INPUT_PATH
from streams.runtime.terminal import printable
from streams.settings.model import Settings
from streams.topology import HANDLERS, Topic
from streams.topology.codec import decode, timestamp
from streams.views.words import BAND, DecisionCounts

_DEAD_LINE = b'{"outcome": "dead"'
_MOST_VALUES = 8  # values of a field that are shown


def stats(
    topic: Annotated[str, Argument(help="The topic of decisions.")] = "pages.scored.v1",
    source: Annotated[
        Path | None, Option("--input", help="Events or answers of `assay try`, one a line, without Kafka; or -.")
    ] = None,
    since: Annotated[str, Option(help="Not before: 2026-11-21T08:00 (UTC), or 90m, 7d ago.")] = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Such as: `assay try score_page pages.jsonl | assay stats --input -`."""
    known = find_topic(topic)
    if source is not None and since:
        raise BadParameter("lines of a file have no time; leave it out", param_hint="'--since'")
    begin = moment("--since", since, datetime.now(UTC))
    settings = load_settings(config)
    if source is not None:
        if source != STANDARD_INPUT_PATH and not source.exists():
            raise CommandError(f"{source}: No such file or folder", 2)
        return run_file_stats(known, source, as_json=as_json)
    return run_topic_stats(settings.with_kafka(), known, begin, as_json=as_json)


class Tally(DecisionCounts):
    def __init__(self) -> None:
        super().__init__()
        self.refusals: Counter[str] = Counter()

    def print(self, name: str, *, as_json: bool) -> None:
        if as_json:
            scores = {_band(band, "-"): count for band, count in self.bands.items()}
            refusals = dict(self.refusals.most_common())
            say_json({"events": self.events, "fields": self.to_wire(), "scores": scores, "refusals": refusals})
            return
        width = min(80, shutil.get_terminal_size().columns)
        say(f"{name}: {self.events:,} events, {self.refusals.total():,} refused")
        for field, values in self.fields.items():
            shown = [f"{printable(value, 30)} {count:,}" for value, count in sorted(values.most_common(_MOST_VALUES))]
            others = len(values) - len(shown)
            say(f"{field + ':':18}{', '.join(shown)}{f', {others} more' if others > 0 else ''}"[: width - 1])
        if most := max(self.bands.values()):
            for band, count in self.bands.items():
                bar = "#" * (-(-count * (width - 30) // most))
                say(f"{_band(band, ' to '):>12}{count:>9,}  {bar}".rstrip())
        for reason, count in self.refusals.most_common():
            say(f"refused: {reason} {count:,}")


def _band(band: int, between: str) -> str:
    return f"{band * BAND}{between}{band * BAND + BAND - 1 if band < 9 else 100}"


def run_file_stats(topic: Topic, file: Path, *, as_json: bool) -> int:
    tally, wrong = Tally(), Refusals("stats")
    for found in read_events("stats", file, topic, quiet=as_json):
        if isinstance(found.event, Event):
            tally.add(found.event)
        elif isinstance(found.event, Drop) and found.value.startswith(_DEAD_LINE):
            tally.refusals[str(json.loads(found.value).get("reason"))] += 1
        else:
            wrong.add(f"{found.place}: {printable(found.problem, 200)}")
    tally.print(topic.name, as_json=as_json)
    return 1 if wrong.tell_rest(f"lines without an event of {topic.name}") else 0


def run_topic_stats(settings: Settings, topic: Topic, since: datetime | None, *, as_json: bool) -> int:
    async def work() -> int:
        from streams.kafka.log_reader import read_log
        from streams.replay.plan import ReplayError
        from streams.replay.ranges import EARLIEST, Bound, find_ranges

        try:
            ranges = (await find_ranges(settings, topic.name, Bound(at=since) if since else EARLIEST)).ranges
        except ReplayError:
            raise no_topic(topic.name, settings.kafka) from None
        tally = Tally()
        with ProgressLine("stats", "counting", quiet=as_json) as advance:
            async with aclosing(read_log(settings.kafka, topic.name, ranges)) as records:
                async for record in records:
                    advance()
                    event = decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)
                    if isinstance(event, Dead):
                        tally.refusals[f"{event.reason} (on the topic)"] += 1
                    else:
                        tally.add(event)
            await _count_dead_letters(settings, topic, since, tally)
        tally.print(topic.name, as_json=as_json)
        return 0

    return run_with_kafka("stats", settings, work())


async def _count_dead_letters(settings: Settings, topic: Topic, since: datetime | None, tally: Tally) -> None:
    writers = tuple(handler.name for handler in HANDLERS if topic in handler.emits)
    if not writers:
        return
    from streams.dlq.dead_letters import DeadLetterReader
    from streams.dlq.selection import Selection

    async with DeadLetterReader(settings, Selection(handlers=writers, since=since)) as letters:
        for handler, partition in letters.partitions:
            async for letter in letters.selected(handler, partition):
                if letter.redriven_by is None:
                    tally.refusals[letter.note.reason] += 1
