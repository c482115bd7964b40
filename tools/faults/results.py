"""The result of each round, one JSON line in a file, so that several runs can add up their rounds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What a round did and what the checker found.

    Attributes:
        seed: Of the run; with the number it decides the fault and its details.
        number: The first round is 1.
        brokers: How many there were.
        fault: Its name.
        reached: Whether the fault happened.
        complete: Whether every input had an output in time.
        fed: Records.
        seconds: How long it took.
        findings: How many of each kind.
        complaints: What else was wrong, as a worker that did not end.
    """

    seed: int
    number: int
    brokers: int
    fault: str
    reached: bool
    complete: bool
    fed: int
    seconds: float
    findings: dict[str, int]
    complaints: list[str]

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, doubled, torn or out of order."""
        return self.complete and not any(self.findings.values())

    @property
    def well(self) -> bool:
        """Whether the fault happened and nothing was wrong."""
        return self.clean and self.reached and not self.complaints


def read_results(file: Path) -> list[RoundResult]:
    """The rounds of earlier runs; none where there is no file. Of a round with several lines, the last one counts.

    Raises:
        ValueError: A line is no round, as one that was not written to its end.
    """
    if not file.exists():
        return []
    found: dict[int, RoundResult] = {}
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        try:
            result = RoundResult(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number} of {file} is no round: {error}") from error
        found[result.number] = result
    return [found[number] for number in sorted(found)]


def append_result(file: Path, result: RoundResult) -> None:
    """Adds a round to the file."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(result)) + "\n")


def sum_up(results: Sequence[RoundResult]) -> dict[str, object]:
    """The rounds in numbers."""
    findings: Counter[str] = Counter()
    for result in results:
        findings.update(result.findings)
    return {
        "rounds": len(results),
        "fed": sum(result.fed for result in results),
        **findings,
        "incomplete": sum(not result.complete for result in results),
        "faults": dict(Counter(result.fault for result in results)),
        "not_reached": [f"round {result.number}: {result.fault}" for result in results if not result.reached],
        "complaints": [line for result in results for line in result.complaints],
        "seconds": round(sum(result.seconds for result in results)),
        "well": all(result.well for result in results),
    }
