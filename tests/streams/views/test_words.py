"""Decisions and amounts in words: the examples of all events, and amounts at their bounds."""

import pytest

from streams.runtime.amounts import in_short
from streams.topology import TOPICS, Topic
from streams.views.flow import quantile
from streams.views.words import reasons_of, verdict_of
from tests.samples import EXAMPLES


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_event_has_a_verdict_and_reasons(topic: Topic) -> None:
    for file in (EXAMPLES / topic.name).glob("*.json"):
        event = topic.event.model_validate_json(file.read_bytes())
        assert verdict_of(event)
        assert all(isinstance(reason, str) for reason in reasons_of(event))


@pytest.mark.parametrize(
    ("number", "shown"), [(9_999, "9999"), (10_000, "10 k"), (999_999, "1000 k"), (1e6, "1.0 M"), (1e7, "10 M")]
)
def test_an_amount_at_a_bound_is_short(number: float, shown: str) -> None:
    assert in_short(number) == shown


def test_a_quantile_of_the_first_bucket_begins_at_nothing() -> None:
    assert quantile({1.0: 50, 2.0: 100}, 0.25) == 0.5
    assert quantile({1.0: 0, 2.0: 10, 3.0: 100}, 0.5) == pytest.approx(2 + 40 / 90)
