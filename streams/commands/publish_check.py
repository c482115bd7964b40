"""``assay publish --dry-run``: what would be published, how large it is, how long it would take; nothing is sent."""

from __future__ import annotations

import json
import time

from streams.commands.kafka_trouble import tell
from streams.commands.publish_input import Input
from streams.commands.publish_progress import clock_time, publish_progress
from streams.entries import SourceError


async def check(source: Input, as_json: bool) -> int:
    """Reads and validates everything.

    Args:
        source: What would be published.
        as_json: End with one JSON object.

    Returns:
        0; 1 where something would be refused; 2 where a path can't be read.
    """
    valid = size = status = 0
    topic, rate = source.asked.topic.name, source.asked.rate
    began = time.monotonic()
    try:
        with publish_progress(f"checking for {topic}", source.walk) as advance:
            async for record in source.records():
                if record is not None:
                    valid += 1
                    size += record.size
                    advance()
    except SourceError as error:
        tell("publish", str(error))
        status = 2
    finally:
        source.tell_rest()
        seconds = time.monotonic() - began
        duration = valid / rate if rate else None
        if as_json:
            told = {"published": 0, "valid": valid, "refused": source.refused, "seconds": round(seconds, 3)}
            print(json.dumps(told | {"bytes": size, "duration_seconds": duration}))
        else:
            long = f", {clock_time(duration)} at {rate:g} a second" if duration is not None else ""
            print(
                f"{valid} valid for {topic} ({size:,} bytes{long}), {source.refused} refused, in {seconds:.1f} s; "
                "nothing was sent"
            )
    return status or (1 if source.refused else 0)
