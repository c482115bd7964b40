"""Generated examples: the handlers write them from the hand-written ones, the same ones at every run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from streams.generate.examples import FOLDER, examples, is_generated
from streams.runtime.settings_files import read_document
from streams.topology import HANDLERS, TOPICS
from streams.topology.codec import decode
from tests.rules import CONFIG
from tests.samples import EVENTS, ROOT, instance

DOCUMENT: dict[str, Any] = read_document(CONFIG)


@pytest.fixture(scope="module")
def made() -> dict[Path, str]:
    return examples(ROOT, DOCUMENT)


def test_the_handlers_write_the_committed_examples(made: dict[Path, str]) -> None:
    committed = {
        path.relative_to(ROOT): path.read_text("utf-8")
        for topic in TOPICS
        if is_generated(topic)
        for path in (ROOT / FOLDER / topic.name).glob("*.json")
    }
    assert made == committed
    assert examples(ROOT, DOCUMENT) == made


def test_every_topic_of_handlers_alone_has_a_few(made: dict[Path, str]) -> None:
    counts = [sum(path.parent.name == topic.name for path in made) for topic in TOPICS if is_generated(topic)]
    assert 1 <= min(counts) <= max(counts) <= 4
    written = {topic for handler in HANDLERS for topic in handler.emits}
    assert all(topic in written for topic in TOPICS if is_generated(topic))


def test_generated_examples_are_read_as_they_are(made: dict[Path, str]) -> None:
    for topic in TOPICS:
        for path, text in made.items():
            if path.parent.name == topic.name:
                event = instance(EVENTS[topic.name], decode(topic, text.encode(), (), None))
                assert event.to_wire() == json.loads(text)


def test_an_unreadable_input_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / FOLDER, tmp_path / FOLDER)
    (tmp_path / FOLDER / "claims.extracted.v1" / "minimal.json").write_text("{}")
    with pytest.raises(ValueError, match=r"claims\.extracted\.v1/minimal\.json: .*claim_id"):
        examples(tmp_path, DOCUMENT)
