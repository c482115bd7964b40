"""Rules between fields: the JSON Schemas and the models accept the same events."""

import json
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from streams.topology import TOPICS
from streams.topology.event_schemas import schema_of
from tests.samples import EVENTS, small_example

FAILED = "no_meaningful_content"
CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("snippets.extracted.v1", {"outcome": "extracted", "snippet": "Text.", "failure": None}, True),
    ("snippets.extracted.v1", {"outcome": "failed", "snippet": None, "failure": FAILED}, True),
    ("snippets.extracted.v1", {"outcome": "extracted", "snippet": "Text.", "failure": FAILED}, False),
    ("snippets.extracted.v1", {"outcome": "extracted", "snippet": None, "failure": None}, False),
    ("snippets.extracted.v1", {"outcome": "extracted", "snippet": None, "failure": FAILED}, False),
    ("snippets.extracted.v1", {"outcome": "failed", "snippet": "Text.", "failure": None}, False),
    ("snippets.extracted.v1", {"outcome": "failed", "snippet": None, "failure": None}, False),
    ("snippets.extracted.v1", {"outcome": "lost", "snippet": None, "failure": FAILED}, False),
    ("extraction.completed.v1", {"status": "failed", "failure": "timeout"}, True),
    ("extraction.completed.v1", {"status": "partial", "failure": None}, True),
    ("extraction.completed.v1", {"status": "failed", "failure": None}, False),
    ("extraction.completed.v1", {"status": "ok", "failure": "timeout"}, False),
    ("extraction.completed.v1", {"status": "partial", "failure": "timeout"}, False),
    ("ranking.feedback.v1", {"clicked": False, "dwell_ms": None, "grade": None}, True),
    ("ranking.feedback.v1", {"clicked": True, "dwell_ms": 10, "grade": 4}, True),
    ("ranking.feedback.v1", {"clicked": None, "dwell_ms": None, "grade": None}, False),
    ("pages.crawled.v1", {"html": "<p>", "html_base64": None, "content": None}, True),
    ("pages.crawled.v1", {"html": None, "html_base64": "PHA+", "content": None}, True),
    ("pages.crawled.v1", {"html": None, "html_base64": None, "content": "Text."}, True),
    ("pages.crawled.v1", {"html": "<p>", "html_base64": "PHA+", "content": None}, False),
    ("pages.crawled.v1", {"html": "<p>", "html_base64": None, "content": "Text."}, False),
    ("pages.crawled.v1", {"html": None, "html_base64": None, "content": None}, False),
]


@pytest.mark.parametrize(("topic", "fields", "valid"), CASES)
@pytest.mark.parametrize("absent", [False, True])
def test_schema_and_model_accept_the_same_cases(topic: str, fields: dict[str, Any], valid: bool, absent: bool) -> None:
    """Null and absent mean the same."""
    minimal = json.loads(small_example(topic).read_bytes())
    event = {**minimal, **fields}
    if absent:
        event = {name: value for name, value in event.items() if value is not None}
    [schema] = [schema_of(one) for one in TOPICS if one.name == topic]
    assert jsonschema.Draft202012Validator(schema).is_valid(event) is valid
    if valid:
        EVENTS[topic].model_validate(event)
    else:
        with pytest.raises(ValidationError):
            EVENTS[topic].model_validate(event)
