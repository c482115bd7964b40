"""Decisions in words, for the examples of all events."""

import pytest

from streams.topology import TOPICS, Topic
from streams.views.words import reasons_of, verdict_of
from tests.samples import EXAMPLES


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_event_has_a_verdict_and_reasons(topic: Topic) -> None:
    for file in (EXAMPLES / topic.name).glob("*.json"):
        event = topic.event.model_validate_json(file.read_bytes())
        assert verdict_of(event)
        assert all(isinstance(reason, str) for reason in reasons_of(event))
