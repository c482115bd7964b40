"""The services that the settings make: which are opened, when, and that each is opened once."""

from pathlib import Path
from typing import Any

import pytest

from schemas.replies import ModelUnavailable
from streams.app.application import Application
from streams.llm import gateway
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
from tests.samples import the_handler
from tests.streams.llm.questions import question

KAFKA = {"bootstrap_servers": "kafka.invalid:9092"}
NOBODY = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[gateway.Gateway]:
    """Every gateway that is made."""
    found: list[gateway.Gateway] = []

    class Counted(gateway.Gateway):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            found.append(self)

    monkeypatch.setattr(gateway, "Gateway", Counted)
    return found


async def test_unusable_journal_makes_the_model_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    services = LiveServices(
        load_settings(kafka=KAFKA, llm={**NOBODY, "cache_path": str(tmp_path / "file" / "answers.db")})
    )
    services.open_models()
    assert isinstance(await services.answer(question(), None), ModelUnavailable)
    await services.aclose()


@pytest.mark.parametrize(
    ("handler", "llm", "gateways"),
    [("judge_relevance", NOBODY, 1), ("judge_relevance", {}, 0), ("score_page", NOBODY, 0)],
)
async def test_a_process_that_asks_no_models_opens_no_gateway(
    handler: str, llm: dict[str, str], gateways: int, made: list[gateway.Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_LLM__API_KEY", raising=False)
    declared = the_handler(handler)
    application = Application(load_settings(kafka=KAFKA, llm=llm), (declared,))
    for hook in application.asgi._on_startup_calling:
        await hook()
    assert len(made) == gateways
    await application._own_services.aclose()
