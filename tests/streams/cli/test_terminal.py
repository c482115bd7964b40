"""Every command on a real terminal, with texts of strangers in every field: none steers the terminal."""

import asyncio
import contextlib
import json
import logging
import os
import pty
import re
import sys
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from schemas.llm import CallOutcome
from streams.cli.commands import COMMANDS
from streams.llm.journal import StoredAnswer
from streams.runtime.terminal import dumped
from streams.settings.model import Settings
from streams.topology import TOPICS
from tests.kafka.installation import environment_of, installed
from tests.samples import EVENTS, run_assay, small_example
from tests.streams.cli.test_reply import keep
from tests.tables import tables

CALLS = tables(__file__)["calls"]
EVIL = "x\x1b]0;T\x07\x1b[31mR\x9b2J\u202ey\bz\rv\x7fw\u200e[bold]b[link=https://e.example]"
OWN = re.compile(r"\x1b\[[0-9;]*m(?!R)|\x1b\[\?25[lh]|\x1b\[\d*[AJKH]|\r(?=\n|\x1b\[)")
"""What styles, bars and line ends of the product are made of."""
CRAWLED, SCORED, CLASSIFIED = "pages.crawled.v1", "pages.scored.v1", "results.classified.v1"
COMPLETED, FEEDBACK = "ranking.completed.v1", "ranking.feedback.v1"
IN_FILES = (CRAWLED, SCORED, CLASSIFIED, COMPLETED, FEEDBACK)
PAGE = "https://a.example/1"

Events = dict[str, dict[str, Any]]


def hostile(kind: type[BaseModel], wire: dict[str, Any]) -> dict[str, Any]:
    """An event with the hostile text in every text that its schema allows to have it."""

    def spoil(place: Any) -> None:
        for key, value in [*(place.items() if isinstance(place, dict) else enumerate(place))]:
            if isinstance(value, dict | list):
                spoil(value)
            elif isinstance(value, str):
                place[key] = value + EVIL
                try:
                    kind.model_validate(wire)
                except ValidationError:
                    place[key] = value

    spoil(wire)
    return wire


@pytest.fixture
def events() -> Events:
    return {name: hostile(EVENTS[name], json.loads(small_example(name).read_text("utf-8"))) for name in IN_FILES}


@pytest.fixture
def names(tmp_path: Path, events: Events) -> dict[str, str]:
    """The values of the names in the calls: files of hostile content, and identities."""
    page = f"<title>t {EVIL}</title><meta name=author content='Ann {EVIL}'><p>Text of {EVIL} on 3 May 2026."
    events[CRAWLED] |= {"html": page, "content_type": f"text/html{EVIL}"}
    files = {f"{name.split('.')[1]}": dumped(event) for name, event in events.items()}
    files["page"] = page
    files["bad"] = f"{EVIL}\n{dumped({EVIL: EVIL, 'url': EVIL})}\n"
    files["candidates"] = dumped({"url": f"https://a.example/{EVIL}", "title": f"storm x {EVIL}", "content": EVIL * 9})
    own = {"own.example": {"kind": "newspaper", "reason": EVIL}}
    files["own"] = yaml.safe_dump({"sources": {"own": own}})
    for name, text in files.items():
        (tmp_path / f"{name}.{'html' if name == 'page' else 'yaml' if name == 'own' else 'jsonl'}").write_text(text)
    paths = {path.stem: str(path) for path in tmp_path.iterdir()}
    keep(tmp_path / "journal", "evil", StoredAnswer(text=EVIL, outcome=CallOutcome.OK))
    batch = events[CLASSIFIED]["batchId"]
    return paths | {"evil": EVIL, "journal": str(tmp_path / "journal"), "folder": str(tmp_path), "batch": batch}


def on_terminal(*words: str) -> str:
    """What a command shows on a terminal, without the product's own sequences."""
    terminal, inside = pty.openpty()
    with ThreadPoolExecutor(1) as reader, pytest.MonkeyPatch.context() as patch:
        seen = reader.submit(lambda: b"".join(read_all(terminal)))
        with open(inside, "w", encoding="utf-8") as screen, open(os.devnull) as nothing:
            for name, stream in (("stdout", screen), ("stderr", screen), ("stdin", nothing)):
                patch.setattr(sys, name, stream)
            patch.setattr(logging.getLogger(), "handlers", [])
            run_assay(*words)
    os.close(terminal)
    return OWN.sub("", seen.result().decode())


def read_all(terminal: int) -> Iterator[bytes]:
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(terminal, 65536):
            yield part


def steering(shown: str) -> set[str]:
    return {
        ascii(sign)
        for sign in shown
        if sign not in "\n\t\u200c\u200d" and unicodedata.category(sign) in ("Cc", "Cf", "Cs")
    }


@pytest.mark.kafka
def test_no_command_lets_a_text_steer_the_terminal(
    kafka: str, topic_prefix: str, names: dict[str, str], events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def installation() -> Settings:
        assay = await installed(kafka, topic_prefix, topics=[topic for topic in TOPICS if topic.name in IN_FILES])
        for name in IN_FILES[:3]:
            damaged, event = f'{{"url": "{EVIL}"'.encode(), dumped(events[name]).encode()
            key = names["batch"] if name == CLASSIFIED else PAGE
            await assay.feed([(EVIL.encode(), damaged), (key.encode(), event)], name)
        return assay.settings

    for name, value in environment_of(asyncio.run(installation()), llm__cache_path=names["journal"]).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert CALLS.keys() == COMMANDS.keys()
    shown = {}
    for command, calls in CALLS.items():
        for words in calls:
            filled = [re.sub(r"\{(\w+)\}", lambda found: names[found[1]], word) for word in words.split()]
            shown[f"{command} {words}"] = on_terminal(command, *filled)
    assert {words: steering(text) for words, text in shown.items() if steering(text)} == {}
    assert [words for words, text in shown.items() if not text.strip()] == []
    assert "[bold]b[link=https://e.example]" in shown["score {page}"]
