"""CPU time by stage of the hot path, from a profile: what ``--profile`` prints.

Each function's own time counts for the stage of its file; the time of builtins counts for their caller.
"""

from __future__ import annotations

import cProfile
import json
import pstats

Function = tuple[str, int, str]

_STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("parse", ("handlers/html/encoding.py",)),
    ("features and score", ("handlers/",)),
    (
        "decode and encode events",
        ("streams/topology/codec.py", "schemas/", "/pydantic/", "/uuid.py", "/json/", "bench/events"),
    ),
    ("metrics", ("/prometheus_client/", "streams/pipeline/metrics.py", "faststream/prometheus", "kafka/prometheus")),
    ("send and commit", ("aiokafka/producer", "streams/pipeline/commit.py")),
    ("fetch", ("aiokafka/consumer", "aiokafka/record", "streams/pipeline/consumer.py")),
    ("Kafka protocol", ("/aiokafka/",)),
    ("intake (FastStream)", ("/faststream/", "streams/pipeline/intake.py", "/fast_depends/")),
    ("pipeline", ("streams/",)),
    ("event loop", ("/asyncio/", "/selectors.py", "/threading.py")),
)


def tell(profile: cProfile.Profile) -> None:
    """Prints one line of JSON: seconds of CPU time by stage, and the functions that take most."""
    table = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    seconds: dict[str, float] = {}
    own: dict[str, float] = {}
    for function, (_, _, self_time, _, callers) in table.items():
        if function[0] != "~" or not callers:
            _add(seconds, own, function, self_time)
            continue
        for caller, (_, _, share, _) in callers.items():
            _add(seconds, own, caller, share, function[2])
    total = sum(seconds.values())
    most = sorted(own.items(), key=lambda item: -item[1])[:40]
    shares = {name: round(value / total, 4) for name, value in sorted(seconds.items(), key=lambda item: -item[1])}
    print(json.dumps({"total": round(total, 3), "shares": shares, "most": [[n, round(v, 3)] for n, v in most]}))


def _add(seconds: dict[str, float], own: dict[str, float], function: Function, value: float, builtin: str = "") -> None:
    file, line, name = function
    stage = _stage_of(file)
    seconds[stage] = seconds.get(stage, 0.0) + value
    label = f"{'/'.join(file.split('/')[-3:])}:{line} {name} {builtin}".strip()
    own[label] = own.get(label, 0.0) + value


def _stage_of(file: str) -> str:
    return next((stage for stage, parts in _STAGES if any(part in file for part in parts)), "other")
