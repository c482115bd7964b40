"""Reads the events of a file of lines, and shows how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streams.cli.progress import ProgressLine
from streams.publish.event_lines import LineEvent, events_of
from streams.publish.lines import STANDARD_INPUT_PATH, read_lines
from streams.topology import Topic


def read_events(command: str, path: Path, topic: Topic, *, quiet: bool = False) -> Iterator[LineEvent]:
    """The events of a topic in a file or in standard input, with the command's progress unless ``quiet``."""
    done, size = 0, path.stat().st_size if path.is_file() else 0
    at = (lambda: done) if size else None
    quiet = quiet or path == STANDARD_INPUT_PATH
    with ProgressLine(command, f"reading {path.name}", size, unit="lines", at=at, quiet=quiet) as advance:
        for line in read_lines(path):
            done = line.end
            yield from events_of(line, topic)
            advance()
