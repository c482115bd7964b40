import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka import ConsumerRecord
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from schemas.needs import AskModel, Message
from streams.llm.client import ModelClient
from streams.llm.settings import LlmSettings, ModelLimits
from streams.runtime.clock import SystemClock
from streams.settings.model import SettingsError, load_settings
from streams.telemetry import settings as telemetry_settings
from streams.telemetry.otel import OtelTracer, evaluation_of, exporting_tracer
from streams.telemetry.settings import TelemetrySettings
from streams.telemetry.tracing import RecordSpan
from streams.topology import TOPICS
from tests.samples import EXAMPLES, scored
from tests.streams.llm.model_server import model_server, says
from tests.tables import tables

TABLES = tables(__file__)

TRACE, ABOVE = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{ABOVE}-01"
NOBODY = "http://127.0.0.1:9/v1/traces"
TOPIC = "pages.crawled.v1"


class Spans(OtelTracer):
    """Keeps its spans in memory, in the order in which they ended."""

    def __init__(self) -> None:
        self._memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        super().__init__(provider)

    @property
    def ended(self) -> tuple[ReadableSpan, ...]:
        return self._memory.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.ended if span.name == name]


def ids(span: ReadableSpan) -> tuple[str, str]:
    """Trace and span as ``traceparent`` writes them."""
    context = span.context
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def parent(span: ReadableSpan) -> str | None:
    """The span above it."""
    return f"{span.parent.span_id:016x}" if span.parent is not None else None


def record(*headers: tuple[str, bytes | None], value: bytes | None = b"x") -> ConsumerRecord:
    return ConsumerRecord(TOPIC, 3, 41, 0, 0, None, value, None, 0, 0, headers)


def begin(tracer: OtelTracer, *headers: tuple[str, bytes | None]) -> RecordSpan:
    return tracer.records("score_page", "assay.score_page")(record(*headers))


def test_record_span_continues_the_incoming_trace() -> None:
    spans = Spans()
    begun = begin(spans, ("traceparent", GOOD.encode()), ("ce_id", b"e-1"), ("ce_correlationid", b"c-1"))
    begun.ended("emit", "")
    [span] = spans.ended
    trace, own = ids(span)
    assert (trace, parent(span)) == (TRACE, ABOVE)
    assert begun.traceparent == f"00-{TRACE}-{own}-01"
    assert span.kind is SpanKind.CONSUMER
    assert dict(span.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.consumer.group.name": "assay.score_page",
        "messaging.destination.name": TOPIC,
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 41,
        "messaging.message.body.size": 1,
        "messaging.message.id": "e-1",
        "messaging.message.conversation_id": "c-1",
        "assay.handler": "score_page",
        "assay.outcome": "emit",
        "assay.reason": "",
    }
    assert span.status.is_unset


def test_decision_is_in_the_span_of_its_record() -> None:
    spans = Spans()
    begun = begin(spans)
    begun.decided([scored("https://a.example/", cts_score=44)])
    begun.ended("emit", "")
    found = {name: value for name, value in (spans.ended[0].attributes or {}).items() if "evaluation" in name}
    assert found == TABLES["decision_is_in_the_span_of_its_record"]


def test_each_example_of_a_decision_is_an_evaluation() -> None:
    named = {}
    for topic in TOPICS:
        for file in (EXAMPLES / topic.name).glob("*.json"):
            evaluation = evaluation_of([topic.event.model_validate_json(file.read_bytes())])
            if evaluation:
                named[topic.name] = evaluation["gen_ai.evaluation.name"]
                assert 0 <= float(evaluation.get("gen_ai.evaluation.score.value", 0)) <= 1
                assert evaluation["gen_ai.evaluation.score.label"]
    assert named == TABLES["each_example_of_a_decision_is_an_evaluation"]


@pytest.mark.parametrize(
    "bad", ["", "00-1", "zz", GOOD[:-1], GOOD.replace(TRACE, "0" * 32), GOOD.replace(ABOVE, "g" * 16), "ff" + GOOD[2:]]
)
def test_invalid_traceparent_is_ignored(bad: str) -> None:
    spans = Spans()
    begin(spans, ("traceparent", bad.encode())).ended("emit", "")
    [span] = spans.ended
    assert span.parent is None
    assert ids(span)[0] != TRACE


@pytest.mark.parametrize("outcome", ["retry", "dead"])
def test_what_was_not_done_is_an_error_with_its_reason(outcome: str) -> None:
    spans = Spans()
    begin(spans).ended(outcome, "handler_bug")
    [span] = spans.ended
    assert not span.status.is_ok
    assert not span.status.is_unset
    assert (span.attributes or {})["error.type"] == "handler_bug"


HEADER = st.tuples(st.sampled_from(["traceparent", "tracestate", "ce_id", "assay_run", "x"]), st.binary(max_size=80))


@given(st.lists(HEADER, max_size=6))
def test_no_header_makes_it_fail(headers: list[tuple[str, bytes]]) -> None:
    spans = Spans()
    begun = begin(spans, *headers)
    begun.ended("emit", "")
    assert begun.traceparent is not None
    assert len(spans.ended) <= 1


async def test_call_spans_are_children_of_their_record_across_tasks() -> None:
    spans = Spans()

    async def call(name: str) -> None:
        with spans.call(name, {"n": 1}) as span:
            await asyncio.sleep(0)
            span.note({"done": True})

    async def work(offset: int) -> RecordSpan:
        begun = begin(spans, ("ce_id", str(offset).encode()))
        with begun.active():
            await asyncio.gather(call(f"a{offset}"), call(f"b{offset}"))
        begun.ended("emit", "")
        return begun

    await asyncio.gather(*(asyncio.create_task(work(offset)) for offset in range(3)))
    for offset in range(3):
        [above] = [span for span in spans.ended if (span.attributes or {}).get("messaging.message.id") == str(offset)]
        below = [*spans.named(f"a{offset}"), *spans.named(f"b{offset}")]
        assert [ids(span)[0] for span in below] == [ids(above)[0]] * 2
        assert [parent(span) for span in below] == [ids(above)[1]] * 2
        assert {span.kind for span in below} == {SpanKind.CLIENT}


async def test_a_call_that_is_broken_off_ends_with_what_broke_it() -> None:
    spans = Spans()

    async def hang() -> None:
        with spans.call("hangs", {}):
            await asyncio.sleep(3600)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await hang()
    [span] = spans.ended
    assert (span.attributes or {})["error.type"] == "CancelledError"
    assert span.events == (), "no message of an error is written down: it may quote a page"


async def test_model_call_span_has_settings_and_usage_without_text() -> None:
    spans = Spans()
    secret = "the prompt's own words"
    need = AskModel("judge_relevance", "0123456789ab", (Message("user", secret),), {"text": secret}, 10, 0.5)
    cut_off = says("Rele", "length", {"prompt_tokens": 120, "completion_tokens": 10})
    async with model_server(cut_off) as server:
        client = ModelClient(LlmSettings(base_url=server.base_url), SystemClock().now, spans)
        await client.ask(need, "small-1", ModelLimits())
        await client.aclose()
    [ended] = spans.named("chat small-1")
    assert dict(ended.attributes or {}) == TABLES["model_call_span_has_settings_and_usage_without_text"]
    assert secret not in ended.to_json()


# --- settings --------------------------------------------------------------------------------------------------------


def test_tracing_is_off_by_default_and_loads_no_opentelemetry() -> None:
    program = (
        "import sys\n"
        "from streams.app.application import Application\n"
        "from streams.settings.model import load_settings\n"
        "settings = load_settings(kafka={'bootstrap_servers': '127.0.0.1:9'})\n"
        "assert settings.telemetry.traces == 'off'\n"
        "import asyncio\n"
        "async def make(): Application(settings)\n"
        "asyncio.run(make())\n"
        "# FastStream looks whether the package is there, which makes its empty outer modules.\n"
        "ours = ('streams.telemetry.otel', 'opentelemetry.trace', 'opentelemetry.sdk', 'opentelemetry.exporter')\n"
        "print([name for name in sys.modules if name.startswith(ours)])\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_the_extra_the_settings_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_settings, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"pip install .*\[otel\]'"):
        load_settings(telemetry={"traces": "otlp"})
    assert load_settings(telemetry={"traces": "off"}).telemetry.traces == "off"


async def test_sampling_share_applies_only_to_traces_started_here() -> None:
    settings = TelemetrySettings(traces="otlp", otlp_endpoint=NOBODY, traces_share=0.0)
    tracer = exporting_tracer(settings, "1.0")
    own, others = begin(tracer), begin(tracer, ("traceparent", GOOD.encode()))
    assert [int(each.traceparent[-2:], 16) & 1 for each in (own, others) if each.traceparent] == [0, 1]
    await tracer.aclose()
