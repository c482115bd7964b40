"""The AsyncAPI document is valid under the specification's own JSON Schema, which is kept beside this file.

``asyncapi-3.0.0.schema.json`` is from the npm package @asyncapi/specs 6.11.1 (Apache-2.0), without its white space.
"""

import copy
import json
from collections.abc import Callable
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


FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another version": lambda d: d.update(asyncapi="2.6.0"),
    "no info": lambda d: d.pop("info"),
    "a channel with a field that is none": lambda d: d["channels"]["pages.crawled.v1"].update(partitions=6),
    "partitions in words": lambda d: d["channels"]["pages.crawled.v1"]["bindings"]["kafka"].update(partitions="six"),
    "an operation that publishes": lambda d: d["operations"]["score_page.receive"].update(action="publish"),
    "an operation on nothing": lambda d: d["operations"]["score_page.receive"].pop("channel"),
    "a payload that is no schema": lambda d: d["components"]["messages"]["CrawledPage"].update(payload=5),
    "a type that is none": lambda d: d["components"]["schemas"]["CrawledPage"].update(type="text"),
    "an example with a field that is none": lambda d: d["components"]["messages"]["CrawledPage"].update(
        examples=[{"payload": {}, "value": 1}]
    ),
    "a trait with a payload": lambda d: d["components"]["messageTraits"]["envelope"].update(payload={}),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_document_with_a_fault_is_not(document: dict[str, Any], fault: Callable[[dict[str, Any]], Any]) -> None:
    faulty = copy.deepcopy(document)
    fault(faulty)
    assert not VALIDATOR.is_valid(faulty)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_topic_examples_match_the_documented_payload(document: dict[str, Any], topic: Any) -> None:
    message = document["components"]["messages"][topic.event.__name__]
    payload = {**message["payload"], "components": document["components"]}
    validator = jsonschema.Draft202012Validator(payload)
    assert message["examples"]
    for example in message["examples"]:
        assert [error.message for error in validator.iter_errors(example["payload"])] == []
