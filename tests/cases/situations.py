"""Everyday situations with the result that a user expects, run with the shipped settings and no model.

A file of inputs (``NAME.jsonl``, one event per line) has a file of expectations (``NAME.yaml``). Each expectation names
a line, the handlers that process it, and the fields of the result.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from schemas.outcome import Dead, Emit
from streams.cli.try_ import HandlerTrial, run_step
from streams.runtime.terminal import dumped
from streams.settings.model import Settings
from streams.topology import handler_named, topic_of
from streams.topology.codec import decode

CASES = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Situation:
    """One expectation."""

    file: str
    line: int
    """From 1."""
    situation: str
    """What a user has in front of them, in a few words."""
    handlers: tuple[str, ...]
    """The first handler gets the line; each later one the first event of the one before that it consumes."""
    expect: dict[str, Any]
    """Expected values by dotted path (see ``value_at``); a mapping compares (see ``holds``)."""
    reason: str
    """Why a user expects this."""
    falls_short: str = ""
    """Today's result if it is not the expected one, and why."""

    @property
    def name(self) -> str:
        return f"{self.file}-{self.line}-{self.handlers[-1]}"


def read_situations(files: Sequence[Path] = ()) -> list[Situation]:
    """All expectations, in the order of files and lines."""
    found = []
    for path in files or sorted(events.with_suffix(".yaml") for events in CASES.glob("*.jsonl")):
        document = yaml.safe_load(path.read_text())
        for entry in document["situations"]:
            handlers = entry.pop("handlers", document.get("handlers"))
            found.append(Situation(path.stem, handlers=tuple(handlers), **entry))
    return found


@cache
def lines_of(file: str) -> tuple[bytes, ...]:
    return tuple((CASES / f"{file}.jsonl").read_bytes().splitlines())


class Judge:
    """Runs each situation once with the shipped settings. Each handler is made once."""

    def __init__(self) -> None:
        self._settings = Settings()
        self._runner = asyncio.Runner()
        self._trials: dict[str, HandlerTrial] = {}
        self._answers: dict[tuple[str, int, tuple[str, ...]], dict[str, Any]] = {}

    def answer_of(self, situation: Situation) -> dict[str, Any]:
        """What the last handler answers: its outcome, and its events as {topic, value}."""
        key = (situation.file, situation.line, situation.handlers)
        if key not in self._answers:
            line = lines_of(situation.file)[situation.line - 1]
            for name in situation.handlers:
                self._answers[key], line = self._answer(name, line, situation.handlers)
        return self._answers[key]

    def _answer(self, name: str, line: bytes, chain: tuple[str, ...]) -> tuple[dict[str, Any], bytes]:
        handler = handler_named(name)
        if handler is None:
            stepped = run_step(name, self._settings, line)
            if isinstance(stepped, Dead):
                return {"outcome": "dead", "detail": stepped.detail, "reason": stepped.reason}, b""
            return {"outcome": "emit", "first": stepped}, dumped(stepped).encode()
        if name not in self._trials:
            self._trials[name] = HandlerTrial(handler, self._settings, self._runner)
        trial = self._trials[name]
        event = decode(handler.consumes, line, (), None)
        outcome = event if isinstance(event, Dead) else trial.decide(event)
        if not isinstance(outcome, Emit):
            return {
                "outcome": type(outcome).__name__.lower(),
                "reason": str(getattr(outcome, "reason", "")),
                "detail": getattr(outcome, "detail", ""),
                "events": [],
            }, b""
        events = [(topic_of(event).name, json.loads(event.to_json())) for event in outcome.events]
        following = chain[chain.index(name) + 1 :]
        consumed = handler_named(following[0]) if following else None
        topic = consumed.consumes.name if consumed is not None else events[0][0]
        value = next((sent for sent_to, sent in events if sent_to == topic), None)
        answer = {"outcome": "emit", "events": [{"topic": sent_to, "value": sent} for sent_to, sent in events]}
        return answer | {"first": events[0][1]}, b"" if value is None else json.dumps(value).encode()

    def close(self) -> None:
        for trial in self._trials.values():
            trial.close()
        self._runner.close()


MISSING = object()
"""The value at a path that an answer does not have."""


def value_at(answer: dict[str, Any], path: str) -> Any:
    """The value at a dotted path: in the answer where its first part is a field of it, otherwise in the first event."""
    first = path.split(".", 1)[0]
    value: Any
    value = answer if first in ("outcome", "events", "detail", "reason", "value") else answer.get("first", answer)
    for part in path.split("."):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return MISSING
    return value


def holds(expected: Any, value: Any) -> bool:
    """Whether a value is the expected one.

    A mapping of ``at_least``, ``at_most``, ``contains``, ``lacks``, ``not``, ``length`` or ``one_of`` compares instead.
    A field left out counts as null.
    """
    if value is MISSING:
        value = None
    if not isinstance(expected, dict):
        return bool(value == expected)
    return all(_compares(name, bound, value) for name, bound in expected.items())


def _compares(name: str, bound: Any, value: Any) -> bool:
    match name:
        case "at_least":
            return value is not None and bool(value >= bound)
        case "at_most":
            return value is not None and bool(value <= bound)
        case "contains":
            return bound in (value if isinstance(value, list | str) else json.dumps(value, ensure_ascii=False))
        case "lacks":
            return bound not in json.dumps(value, ensure_ascii=False)
        case "not":
            return bool(value != bound)
        case "length":
            return bool(len(value or ()) == bound)
        case "one_of":
            return value in bound
    raise ValueError(f"there is no comparison {name!r}")


def differences(situation: Situation, answer: dict[str, Any]) -> list[str]:
    """The differences from the expected result, one line per field."""
    found = []
    for path, expected in situation.expect.items():
        value = value_at(answer, path)
        if not holds(expected, value):
            found.append(f"{path}: expected {expected!r}, got {None if value is MISSING else value!r}")
    return found
