import json
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from streams.cli.progress import read_events
from streams.cli.train import add_line
from streams.publish.lines import LARGEST_LINE
from streams.topology import RANKING_COMPLETED, RANKING_FEEDBACK
from streams.training.join import LeftOut, ServedLog
from tests.streams.training.feedback import address, completed, row

ANSWER = completed("r", [row(0.5), row(0.25)]).to_wire()
CLICK: dict[str, Any] = {"request_id": "r", "url": address(1), "clicked": True}


def read(feedback: list[Any], answers: list[Any]) -> ServedLog:
    """What comes of lines; values are written as JSON."""
    served = ServedLog()
    for topic, some in ((RANKING_FEEDBACK, feedback), (RANKING_COMPLETED, answers)):
        with NamedTemporaryFile(suffix=".jsonl") as file:
            file.writelines((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in some)
            file.flush()
            for found in read_events("train", Path(file.name), topic):
                add_line(served, found)
    return served


def test_repeated_event_counts_once_by_id_or_content() -> None:
    dwell = {"request_id": "r", "url": address(0), "dwell_ms": 6000}
    tailed = [
        {"topic": "t", "partition": 0, "offset": offset, "headers": {"ce_id": ce_id}, "value": dwell}
        for offset, ce_id in enumerate(["one", "one", "two"])
    ]
    foreign = [{"topic": "t", "partition": 1, "offset": offset, "headers": {}, "value": dwell} for offset in (7, 7, 8)]
    turned = dict(reversed(dwell.items()))
    reading = read([dwell, dwell, turned, *tailed, *foreign], [ANSWER, ANSWER])
    joined = reading.joined()
    [signals, _] = joined.requests[0].signals
    assert signals is not None
    assert signals.dwell_ms == 5 * 6000
    assert joined.left_out[LeftOut.DUPLICATE_FEEDBACK] == 4
    assert joined.left_out[LeftOut.DUPLICATE_ANSWER] == 1


def test_invalid_event_is_reported_with_its_line_and_skipped() -> None:
    wrong: list[Any] = [
        b"no json",
        b"[]",
        b"x" * (LARGEST_LINE + 1),
        {"request_id": "r", "url": address(0)},
        {"topic": "t", "offset": 1, "value": {"bytes": 7}},
        {**CLICK, "grade": 5},
        b"",
    ]
    reading = read([*wrong, CLICK], [ANSWER])
    assert [line.split(": ")[0].rpartition(":")[2] for line in reading.unreadable] == [*"123456"]
    assert "feedback needs clicked, dwell_ms or grade" in reading.unreadable[3]
    assert reading.joined().labelled == 1
