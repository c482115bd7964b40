"""Helpers for test modules of several packages: paths of this checkout, its environment, and its command line."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from handlers.html.links import page_id_of
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit
from schemas.pages import QualityMetadata, ScoredPage, Tier, TrustFeatures
from streams.cli.main import main
from streams.llm.tasks import answer_offline
from streams.topology import TOPICS, Handler, handler_named

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "schemas" / "examples"
EVENTS = {topic.name: topic.event for topic in TOPICS}
"""The type of each topic's events."""


def small_example(topic: str) -> Path:
    """The minimal example of a topic, or the shortest one of a topic whose examples are generated."""
    found = sorted((EXAMPLES / topic).glob("*.json"), key=lambda path: (path.stem != "minimal", path.stat().st_size))
    return found[0]


def variables_of_assay() -> list[str]:
    """The names of Assay's variables in this process's environment."""
    return [name for name in os.environ if name.upper().startswith("ASSAY_")]


def environment(**more: str) -> dict[str, str]:
    """This process's environment without Assay's variables, on this checkout."""
    named = variables_of_assay()
    return {name: value for name, value in os.environ.items() if name not in named} | {"PYTHONPATH": str(ROOT)} | more


def run_assay(*arguments: str) -> int:
    """Runs ``assay ARGUMENTS`` in this process; returns the exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["assay", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def instance(kind: type[T], value: object) -> T:
    """The value, which must be of this kind."""
    assert isinstance(value, kind), value
    return value


def emitted(kind: type[T], outcome: object) -> T:
    """The one event that the outcome emits, which must be of this kind."""
    [event] = instance(Emit, outcome).events
    return instance(kind, event)


def judged_offline(answer: Any, read: Callable[[tuple[Any, ...]], Any]) -> Any:
    """The end of what begins with this answer. The offline judge replies to each request for a model."""
    replies: tuple[Any, ...] = ()
    while isinstance(answer, Ask):
        replies = (*replies, answer_offline(instance(AskModel, answer.need)))
        answer = read(replies)
    return answer


def the_handler(name: str) -> Handler:
    """The handler of this name."""
    return instance(Handler, handler_named(name))


def scored(url: str = "https://a.example/1", content: str = "", tier: Tier = "C", **fields: Any) -> ScoredPage:
    """A scored page, of which mostly the address, the text and the tier matter."""
    values: dict[str, Any] = {
        "page_id": page_id_of(url),
        "title": "",
        "summary": "",
        "quality_metadata": QualityMetadata(),
        "trust_features": TrustFeatures(source_tier=3, base_score=10, cts_score=10),
        "cts_score": 10,
        "cts_breakdown": (),
        "trust_label": "LOW",
        "label_source": "score",
        "config_version": "x",
    }
    return ScoredPage(url=url, content=content, tier=tier, **(values | fields))
