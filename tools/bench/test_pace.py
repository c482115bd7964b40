"""The waiting handler answers as ``fetch_page`` does."""

from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.needs import Ask
from schemas.outcome import Emit
from schemas.replies import PagesReply
from tests.samples import instance
from tools.bench.events import NoRules
from tools.bench.pace import ask, asks, conclude


def test_an_ask_is_answered_by_a_valid_event() -> None:
    [(_, value, _)] = asks(1)
    event = ExtractionNeeded.model_validate_json(value)
    instance(Ask, ask(event, NoRules()))
    [done] = instance(Emit, conclude(event, (PagesReply(()),), NoRules())).events
    assert instance(ExtractionCompleted, done).extraction_id == event.extraction_id
