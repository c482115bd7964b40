"""Traces over a real Kafka: from a page to its document, from a batch to the next, and as a collector gets them."""

from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan

from streams.app.application import Application
from streams.http.server import HttpServer
from streams.kafka.clients import make_producer, opened
from streams.settings.model import HttpSettings
from tests.kafka.installation import CRAWLED, SCORE_PAGE, SCORED, Installation, Installing, handlers_named, installed
from tests.streams.telemetry.spans import Spans, ids, parent

TRACE, ABOVE = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


async def write(place: Installation, topic: str, value: bytes, *headers: tuple[str, bytes]) -> None:
    async with opened(make_producer(place.settings.kafka, None, "tracer")) as producer:
        await producer.send_and_wait(place.prefix + topic, value, b"key", headers=list(headers))


async def run(place: Installation, spans: Spans, *names: str) -> None:
    application = Application(place.settings, handlers_named(*names), tracer=spans)
    try:
        await application.start()
        await place.quiet(application)
    finally:
        await application.stop()


def traces(records: Sequence[ConsumerRecord]) -> list[str]:
    return [dict(record.headers)["traceparent"].decode().split("-")[1] for record in records]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.mark.parametrize("header", [f"00-{TRACE}-{ABOVE}-01", "00-of-no-use"])
async def test_one_trace_leads_from_a_crawled_page_to_its_document(installing: Installing, header: str) -> None:
    place = await installing(handlers_named("score_page", "index_page"))
    value = b'{"url": "https://harbour.example/1", "html": "<title>Tides</title><p>High tide is at 4:30.</p>"}'
    await write(place, CRAWLED, value, ("traceparent", header.encode()), ("ce_id", b"page-1"))
    spans = Spans()
    await run(place, spans, "score_page", "index_page")
    [scoring] = spans.named(f"process {place.prefix}{CRAWLED}")
    [indexing] = spans.named(f"process {place.prefix}{SCORED}")
    trace, above = ids(scoring)
    assert (
        (trace, parent(scoring)) == (TRACE, ABOVE) if TRACE in header else (trace != TRACE, parent(scoring))[1] is None
    )
    assert (ids(indexing)[0], parent(indexing)) == (trace, above)
    assert traces(await place.read(SCORED, "documents.indexed.v1")) == [trace] * 2
    for span, handler in ((scoring, "score_page"), (indexing, "index_page")):
        told = attributes(span)
        assert told["messaging.system"] == "kafka"
        assert told["messaging.consumer.group.name"] == f"{place.prefix}assay.{handler}"
        assert (told["assay.handler"], told["assay.outcome"]) == (handler, "emit")
        assert told["messaging.kafka.offset"] == 0


class Collector:
    """An OTLP receiver: takes what is posted to /v1/traces."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert (scope["method"], scope["path"]) == ("POST", "/v1/traces")
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.requests.append(ExportTraceServiceRequest.FromString(body))
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/x-protobuf")]}
        )
        await send({"type": "http.response.body", "body": b""})


async def test_a_collector_is_sent_every_span_before_the_process_ends(kafka: str, topic_prefix: str) -> None:
    collector = Collector()
    async with HttpServer(collector, HttpSettings(port=0)) as server:
        place = await installed(
            kafka, topic_prefix, telemetry={"traces": "otlp", "otlp_endpoint": f"http://{server.address}/v1/traces"}
        )
        for number in range(5):
            html = f'{{"url": "https://harbour.example/{number}", "html": "<p>Tides</p>"}}'
            await write(place, CRAWLED, html.encode())
        await write(place, CRAWLED, b"{")
        await place.drain(*SCORE_PAGE)
    resources = [resource for request in collector.requests for resource in request.resource_spans]
    sent = [span for resource in resources for scope in resource.scope_spans for span in scope.spans]
    assert len(sent) == 6
    assert {span.name for span in sent} == {f"process {topic_prefix}{CRAWLED}"}
    outcomes = sorted(
        attribute.value.string_value
        for span in sent
        for attribute in span.attributes
        if attribute.key == "assay.outcome"
    )
    assert outcomes == ["dead", *["emit"] * 5]
    about = {attribute.key: attribute.value.string_value for attribute in resources[0].resource.attributes}
    assert about["service.name"] == "assay"
    assert about["service.version"]
