"""``assay why --reply``: a model's reply, by the call id of an event."""

import asyncio
import json
from pathlib import Path

import pytest

from schemas.replies import ModelReply
from streams.cli.main import _run
from streams.llm.journal import StoredAnswer
from streams.llm.sqlite_journal import SqliteJournal
from tests.samples import instance
from tests.streams.llm.model_server import says
from tests.streams.llm.questions import question, served

LATER = 4_102_444_800.0  # the year 2100


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "llm.sqlite"
    monkeypatch.setenv("ASSAY_LLM__CACHE_PATH", str(path))
    monkeypatch.delenv("ASSAY_LLM__REDIS_URL", raising=False)
    return path


def keep(path: Path, key: str, answer: StoredAnswer | str) -> None:
    """Stores an answer."""
    text = answer if isinstance(answer, str) else answer.model_dump_json()

    async def work() -> None:
        journal = SqliteJournal(path)
        await journal.keep(key, text, 0.0, LATER, ["2025-01-02"], 0.0)
        await journal.aclose()

    asyncio.run(work())


def test_the_reply_to_a_call_is_found_by_the_id_in_its_event(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def call_ids() -> list[str | None]:
        async with served(says("0.7, I think"), cache_path=path) as (_, gateway):
            replies = [instance(ModelReply, await gateway.answer(question())) for _ in range(2)]
        assert [reply.call.cached for reply in replies] == [False, True]
        return [reply.call.call_id for reply in replies]

    first, again = asyncio.run(call_ids())
    assert first == again
    assert first is not None
    assert _run(["why", first, "--reply"]) == 0
    assert capsys.readouterr().out == "0.7, I think\n"
    assert _run(["why", first, "--reply", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["call_id"], shown["text"], shown["outcome"]) == (first, "0.7, I think", "ok")


def test_a_file_that_is_no_journal_is_not_changed(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path.touch()
    assert _run(["why", "k", "--reply"]) == 1
    assert "no such table" in capfd.readouterr().err
    assert path.read_bytes() == b""


def test_a_reply_that_is_not_there_is_reported_in_one_line(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(["why", "k", "--reply"]) == 1
    assert capfd.readouterr().err == f"assay why: there is no journal at {path}; see ASSAY_LLM__CACHE_PATH\n"
    assert not path.exists()
    keep(path, "another", "{}")
    assert _run(["why", "k", "--reply"]) == 1
    told = capfd.readouterr().err
    assert told == f"assay why: {path} has no reply k: it has expired, or another journal has it\n"
    assert _run(["why", "another", "--reply"]) == 1
    assert "another version wrote it" in capfd.readouterr().err


def test_redis_that_does_not_answer_is_reported(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("redis")
    monkeypatch.setenv("ASSAY_LLM__REDIS_URL", "redis://127.0.0.1:9/0")
    assert _run(["why", "k", "--reply"]) == 1
    assert capfd.readouterr().err.startswith("assay why: redis: ")
