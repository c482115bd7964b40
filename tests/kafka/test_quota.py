"""A quota of the cluster on what a client may write: the pipeline gets slower, and loses nothing."""

import random
import time
from typing import Any

import pytest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Float64, Int16, Int32, Schema, String

from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage
from schemas.rules import Rules
from streams.kafka.clients import make_admin, opened
from tests import samples
from tests.kafka.installation import SCORED, Installation, Installing, page, scorer

_BYTES = 20_000.0
"""A second. The broker takes the mean of eleven seconds, so ten times as many pass at once."""
_PAGES = 400


class AlterClientQuotasResponse(Response):  # type: ignore[misc] # aiokafka is not typed
    API_KEY = 49
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "entries",
            Array(
                ("error_code", Int16),
                ("error_message", String("utf-8")),
                ("entity", Array(("entity_type", String("utf-8")), ("entity_name", String("utf-8")))),
            ),
        ),
    )


class AlterClientQuotasStruct(RequestStruct):  # type: ignore[misc] # aiokafka is not typed
    API_KEY = 49
    API_VERSION = 0
    RESPONSE_TYPE = AlterClientQuotasResponse
    SCHEMA = Schema(
        (
            "entries",
            Array(
                ("entity", Array(("entity_type", String("utf-8")), ("entity_name", String("utf-8")))),
                ("ops", Array(("key", String("utf-8")), ("value", Float64), ("remove", Boolean))),
            ),
        ),
        ("validate_only", Boolean),
    )


class AlterClientQuotas(Request[AlterClientQuotasStruct]):  # type: ignore[misc] # aiokafka is not typed
    """Sets or removes the quota of a client id. aiokafka can only describe quotas."""

    API_KEY = 49

    def __init__(self, client_id: str, bytes_a_second: float | None) -> None:
        self._entity = [("client-id", client_id)]
        self._quota = ("producer_byte_rate", bytes_a_second or 0.0, bytes_a_second is None)

    def build(self, request_struct_class: type[AlterClientQuotasStruct]) -> AlterClientQuotasStruct:
        return request_struct_class([(self._entity, [self._quota])], False)


async def limit(assay: Installation, client_id: str, bytes_a_second: float | None) -> None:
    """Sets a client's quota; None removes it."""
    async with opened(make_admin(assay.settings.kafka)) as admin:
        answer: Any = await admin._send_request(AlterClientQuotas(client_id, bytes_a_second))
    assert [entry[0] for entry in answer.entries] == [0], answer


def incompressible(page: CrawledPage, rules: Rules) -> Outcome:
    """An answer of 1 KB after compression."""
    content = random.Random(page.url).randbytes(1000).hex()
    return Emit((samples.scored(page.url, content, config_version=rules.config_version),))


@pytest.mark.slow
async def test_a_quota_slows_the_pipeline_and_loses_nothing(installing: Installing) -> None:
    handler = scorer(incompressible, name="score_slowly")  # its client id is that of no other test
    assay = await installing([handler], pipeline={"commit_records": 10})

    async def seconds_for(first: int) -> float:
        await assay.feed(page(number) for number in range(first, first + _PAGES))
        began = time.monotonic()
        await assay.drain(handler)
        return time.monotonic() - began

    free = await seconds_for(0)
    await limit(assay, handler.group, _BYTES)
    try:
        limited = await seconds_for(_PAGES)
    finally:
        await limit(assay, handler.group, None)
    results = await assay.read(SCORED)
    written = sum(len(record.value or b"") for record in results[_PAGES:])
    print(f"without a quota {free:.1f} s, with {_BYTES:g} bytes/s {limited:.1f} s for {written} bytes")
    assert len(results) == len({record.key for record in results}) == 2 * _PAGES
    assert limited > free + 1
