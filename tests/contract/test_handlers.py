"""The contract of all handlers, tested on every golden example of their topics."""

import inspect
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from handlers.html import limits
from handlers.html.encoding import parse_bytes
from schemas.event import Event
from schemas.needs import AskModel, Need
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.pages import CrawledPage
from schemas.replies import ModelUnavailable, Reply
from schemas.rules import Rules
from streams.topology import HANDLERS, TOPICS, Handler, topic_named, topic_of
from tests.contract.worlds import World, barren, broken, decide, generous
from tests.rules import shipped_rules
from tests.samples import EVENTS, EXAMPLES, ROOT
from tests.tables import tables

TABLES = tables(__file__)

WORLDS = (generous, barren, broken)

HOSTILE = [
    *TABLES["hostile"],
    "<" * 3000,
    "<div>" * 3000,
    "https://a.example/" + "/a" * 3000,
    "1.2.3.4.5.6.7.8.9/" * 200,
]


CASES = [
    pytest.param(handler, path, id=f"{handler.name}-{path.stem}")
    for handler in HANDLERS
    for path in sorted((EXAMPLES / handler.consumes.name).glob("*.json"))
]

OUTAGE = ModelUnavailable("down", 30.0, busy=True, lasting=True, cause="the provider is down")


def rules_of(handler: Handler) -> Rules:
    return shipped_rules(handler.rules)


def check(handler: Handler, outcome: Outcome, rules: Rules) -> None:
    """The outcome is one that the shell can carry out."""
    match outcome:
        case Emit(events):
            assert events, "an Emit without events; a Drop says why"
            for event in events:
                check_output(handler, event, rules)
        case Drop(reason):
            assert reason in DropReason
        case Retry(reason):
            assert reason in RetryReason
        case Dead(reason):
            assert reason in DeadReason


def check_output(handler: Handler, event: Event, rules: Rules) -> None:
    topic = topic_of(event)
    assert topic in handler.emits
    assert topic.event.model_validate_json(event.to_json()) == event
    assert isinstance(topic.key(event), str)
    if "config_version" in type(event).model_fields:
        assert event.model_dump()["config_version"] == rules.config_version


def outcomes_in_an_outage(handler: Handler) -> list[Outcome]:
    """The outcome of each example for which the handler asks a model, if no model can be asked."""
    asked: list[Need] = []

    def outage(need: Need) -> Reply:
        if not isinstance(need, AskModel):
            return generous(need)
        asked.append(need)
        return OUTAGE

    outcomes = []
    for path in sorted((EXAMPLES / handler.consumes.name).glob("*.json")):
        asked.clear()
        event = handler.consumes.event.model_validate_json(path.read_bytes())
        outcome = decide(handler, event, rules_of(handler), outage)
        if asked:
            outcomes.append(outcome)
    return outcomes


def check_outage(handler: Handler) -> None:
    """The handler returns ``reply.retry()``, from which the shell sees that the service is down, not the input."""
    outcomes = outcomes_in_an_outage(handler)
    assert outcomes, f"{handler.name} asks no model for any example"
    assert outcomes == [OUTAGE.retry()] * len(outcomes)


def mutations(value: Any, into: str) -> Iterator[Any]:
    """The value with one text in it replaced, once for each text."""
    if isinstance(value, str):
        yield into
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: changed} for changed in mutations(inner, into))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from ([*value[:position], changed, *value[position + 1 :]] for changed in mutations(inner, into))


def test_one_stem_names_everything_of_a_handler() -> None:
    files = {path.stem for path in (ROOT / "handlers").glob("*.py")} - {"__init__"}
    assert files == {handler.name for handler in HANDLERS}
    for handler in HANDLERS:
        name = handler.name
        assert (handler.fn.__name__, handler.fn.__module__) == (name, f"handlers.{name}")
        assert inspect.getdoc(handler.fn), name
        assert (ROOT / "tests" / "handlers" / f"test_{name}.py").is_file()
        assert (ROOT / "docs" / "handlers" / f"{name}.md").is_file()


def test_each_event_type_has_one_topic() -> None:
    assert len({topic.event for topic in TOPICS}) == len({topic.name for topic in TOPICS}) == len(TOPICS)
    assert {topic.name: topic.event for topic in TOPICS} == EVENTS
    for topic in TOPICS:
        assert re.fullmatch(r"[a-z]+(\.[a-z]+)*\.v[1-9]\d*", topic.name)
        assert topic_named(topic.name) is topic


def read_fields(handler: Handler) -> set[str]:
    """The fields of an input that the handler reads in any example."""
    seen: set[str] = set()

    def noted(self: Event, name: str) -> Any:
        seen.add(name)
        return object.__getattribute__(self, name)

    for path in sorted((EXAMPLES / handler.consumes.name).glob("*.json")):
        event = handler.consumes.event.model_validate_json(path.read_bytes())
        object.__setattr__(event, "__class__", type("Noted", (type(event),), {"__getattribute__": noted}))
        decide(handler, event, rules_of(handler), generous)
    return seen


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.name)
def test_each_input_field_is_read_or_listed(handler: Handler) -> None:
    fields = handler.consumes.event.model_fields.keys() - {"event_id"}
    assert fields - read_fields(handler) == set(TABLES["not_read"].get(handler.name, ()))


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.name)
def test_the_shipped_rules_load_and_have_a_version(handler: Handler) -> None:
    version = rules_of(handler).config_version
    assert re.fullmatch(r"[0-9a-f]{12}", version)
    assert handler.rules.model_validate(rules_of(handler).model_dump(by_alias=True)).config_version == version
    with pytest.raises(ValidationError):
        handler.rules.model_validate(rules_of(handler).model_dump(by_alias=True) | {"noSuchSection": {}})


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
@pytest.mark.parametrize(("handler", "path"), CASES)
def test_each_example_has_a_deterministic_outcome(handler: Handler, path: Path, world: World) -> None:
    rules = rules_of(handler)
    event = handler.consumes.event.model_validate_json(path.read_bytes())
    before = event.to_json()
    outcome = decide(handler, event, rules, world)
    check(handler, outcome, rules)
    assert not isinstance(outcome, Dead), outcome
    again = handler.consumes.event.model_validate_json(path.read_bytes())
    assert decide(handler, again, rules, world) == outcome
    assert event.to_json() == before


@pytest.mark.parametrize(
    "handler", [handler for handler in HANDLERS if handler.asks_models], ids=lambda handler: handler.name
)
def test_an_outage_of_models_is_retried(handler: Handler) -> None:
    """A handler that falls back to rules by design would be an exception; there is no such handler yet."""
    check_outage(handler)


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.name)
def test_no_text_makes_a_handler_raise(handler: Handler) -> None:
    """In any field of the shortest and of the longest example."""
    rules = rules_of(handler)
    examples = sorted((path.read_bytes() for path in (EXAMPLES / handler.consumes.name).glob("*.json")), key=len)
    for example, hostile in itertools.product({examples[0], examples[-1]}, HOSTILE):
        for value in mutations(json.loads(example), hostile):
            try:
                event = handler.consumes.event.model_validate(value)
            except ValidationError:
                continue
            check(handler, decide(handler, event, rules, generous), rules)


def with_pages(value: Any) -> Any:
    """The JSON with a page in each object that has an address."""
    if isinstance(value, list):
        return [with_pages(item) for item in value]
    if isinstance(value, dict):
        page = {"html": "<title>A page</title><p>Some text.</p>"} if "url" in value else {}
        return page | {name: with_pages(item) for name, item in value.items()}
    return value


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.name)
def test_handlers_that_parse_pages_run_in_a_process(handler: Handler, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def noted(utf8: bytes) -> Any:
        parsed.append(utf8)
        return parse_bytes(utf8)

    monkeypatch.setattr(limits, "parse_bytes", noted)
    for path in sorted((EXAMPLES / handler.consumes.name).glob("*.json")):
        value, kind = json.loads(path.read_bytes()), handler.consumes.event
        # A crawled page has one body.
        event = kind.model_validate(value if kind is CrawledPage else with_pages(value))
        decide(handler, event, rules_of(handler), generous)
    assert not parsed or handler.runs == "process"
    if handler.name in ("score_page", "classify_results", "evaluate_search"):
        assert parsed, "this test finds what is parsed"
