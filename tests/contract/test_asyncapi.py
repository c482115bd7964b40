"""The AsyncAPI document is valid under the specification's own JSON Schema, which is kept beside this file.

``asyncapi-3.0.0.schema.json`` is from the npm package @asyncapi/specs 6.11.1 (Apache-2.0), without its white space.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from streams.generate.asyncapi import asyncapi_document
from streams.topology import TOPICS

HERE = Path(__file__).parent
VALIDATOR = jsonschema.Draft7Validator(json.loads((HERE / "asyncapi-3.0.0.schema.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((HERE.parents[1] / "docs/asyncapi.yaml").read_text("utf-8"))
    return found


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert [error.message for error in VALIDATOR.iter_errors(asyncapi_document("shop."))] == []


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_topic_examples_match_the_documented_payload(document: dict[str, Any], topic: Any) -> None:
    message = document["components"]["messages"][topic.event.__name__]
    payload = {**message["payload"], "components": document["components"]}
    validator = jsonschema.Draft202012Validator(payload)
    assert message["examples"]
    for example in message["examples"]:
        assert [error.message for error in validator.iter_errors(example["payload"])] == []
