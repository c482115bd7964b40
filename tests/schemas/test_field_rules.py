"""Rules between fields: the JSON Schemas and the models accept the same events."""

import json
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from streams.generate.asyncapi import schema_of
from streams.topology import TOPICS
from tests.samples import EVENTS, small_example
from tests.tables import tables

TABLES = tables(__file__)

CASES: list[tuple[str, dict[str, Any], bool]] = TABLES["cases"]


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
