"""Traces over a real Kafka, as a collector gets them."""

from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from streams.http.server import HttpServer
from streams.kafka.clients import make_producer, opened
from streams.settings.model import HttpSettings
from tests.kafka.installation import CRAWLED, SCORE_PAGE, Installation, installed


async def write(place: Installation, topic: str, value: bytes, *headers: tuple[str, bytes]) -> None:
    async with opened(make_producer(place.settings.kafka, None, "tracer")) as producer:
        await producer.send_and_wait(place.prefix + topic, value, b"key", headers=list(headers))


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
