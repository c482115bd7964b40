import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.llm import CallOutcome, LlmCall
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageName, StageNote, StageOutcome
from streams.cli.command import as_command
from streams.cli.query import Query, print_results, run_query
from streams.http.server import HttpServer
from streams.llm.settings import LlmSettings, ModelLimits
from streams.pipeline.services import LiveServices
from streams.query import access
from streams.query.engine import QueryEngine
from streams.query.route import QueryRoute
from streams.settings.model import HttpSettings, Settings
from tests.streams.query.indexes import GOV, fill, settings_at
from tests.streams.query.toys import completed, ranked
from tests.tables import tables

TABLES = tables(__file__)

Shown = Callable[..., tuple[int, str, str]]
TEXT = "when does the river bridge open"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An index with pages in it, which questions only read."""
    settings = settings_at(tmp_path_factory.mktemp("filled"))
    asyncio.run(fill(settings))
    return settings


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Shown:
    """Runs the command: its status and what it wrote."""

    def run(settings: Settings, text: str = TEXT, **options: Any) -> tuple[int, str, str]:
        status = as_command("query", lambda: run_query(settings, Query(text=text, **options)))()
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def event(out: str) -> RankingCompleted:
    return RankingCompleted.model_validate_json(out)


def test_results_have_label_title_place_score_and_reasons(filled: Settings, ask: Shown) -> None:
    status, out, err = ask(filled)
    assert (status, err) == (0, "")
    assert out.startswith("intent   ")
    assert "stages   retrieval > bm25 > ranking > mmr > reasoning" in out
    assert "trees off" in out
    first = out[out.index("\n1 ") : out.index("\n2 ")]
    for part in ("HIGH", "The river bridge opens in March", "www.dot.gov.tw", "2026-02-03", "CTS 83", GOV):
        assert part in first
    assert "MEDIUM" in out
    assert "LOW" in out
    assert "3 results in " in out
    assert "Nothing relevant found" not in out
    assert "judged by the offline judge, $0.0000" in out


def test_no_or_irrelevant_results_are_said(filled: Settings, ask: Shown) -> None:
    status, out, _ = ask(filled, tag=["government"])
    assert status == 0
    assert "no results" in out
    assert "--tier" in out
    _, out, _ = ask(filled, text="xylophone quartet")
    assert out.index("Nothing relevant found") < out.index("0.00")


@pytest.mark.parametrize("stage", ["bm25", "ranking", "mmr", "reasoning"])
def test_every_stage_can_be_left_out(filled: Settings, ask: Shown, stage: str) -> None:
    status, out, _ = ask(filled, as_json=True, without=[stage], limit=2)
    answer = event(out)
    assert (status, out.count("\n"), [result.rank for result in answer.results]) == (0, 1, [1, 2])
    assert StageName(stage) not in answer.stages
    assert [note.outcome for note in answer.notes if note.stage == stage] == [StageOutcome.OFF]
    assert answer.results[0].url == GOV


def test_without_a_model_the_offline_judge_answers(filled: Settings, ask: Shown) -> None:
    llm = filled.llm.model_copy(update={"base_url": "http://127.0.0.1:9/v1", "model": "small"})
    _, out, _ = ask(filled.model_copy(update={"llm": llm}), as_json=True, no_model=True)
    call = event(out).llm
    assert call is not None
    assert call.judged_by == "offline"


def test_context_and_prompts_have_labels_and_no_trust_numbers(filled: Settings, ask: Shown) -> None:
    _, out, _ = ask(filled, context=True)
    assert out.count("[TRUST_TIER: HIGH]") == 1
    assert out.index("[TRUST_TIER: HIGH]") < out.index("[TRUST_TIER: MEDIUM]") < out.index("[TRUST_TIER: LOW]")
    _, out, _ = ask(filled, prompt="analyst", as_json=True)
    messages = json.loads(out)
    assert {message["role"] for message in messages} == {"system", "user"}
    text = " ".join(message["content"] for message in messages)
    assert "[TRUST_TIER: HIGH] Source:" in text
    assert not any(number in text for number in ("83", "59"))


def test_the_query_may_come_on_standard_input(filled: Settings, ask: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{TEXT}\n".encode())))
    _, out, _ = ask(filled, "-", as_json=True)
    assert event(out).query == TEXT


def test_unreachable_model_is_reported_with_a_remedy(tmp_path: Path, ask: Shown) -> None:
    shipped = settings_at(tmp_path)
    llm = LlmSettings(base_url="http://127.0.0.1:9/v1", model="m", cache_path=None, max_backoff_seconds=0.05)
    file = tmp_path / "candidates"
    file.write_text('{"url": "https://a.example/1", "title": "Bridge", "content": "bridge"}')
    # The second try waits for a turn under the limits.
    free = ModelLimits(requests_per_minute=6000, tokens_per_minute=10**7)
    models = shipped.models.model_copy(update={"limits": {"m": free}})
    status, out, err = ask(shipped.model_copy(update={"llm": llm, "models": models}), candidates=file)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "the model's server 127.0.0.1:9 can't be reached" in err
    assert "ASSAY_LLM__BASE_URL" in err
    assert "--no-model" in err


@pytest.mark.parametrize(
    ("given", "said"),
    [(b"caf\xe9", "not UTF-8"), ("渡".encode() * 20_000, "longer than 4000"), (b"\n", "must not be empty")],
)
def test_invalid_standard_input_is_reported(
    given: bytes, said: str, tmp_path: Path, ask: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    status, out, err = ask(settings_at(tmp_path), "-")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_candidates_come_from_a_file_in_several_forms(tmp_path: Path, ask: Shown) -> None:
    settings = settings_at(tmp_path)
    one, two = ({"url": f"https://a.example/{n}", "title": "Bridge", "content": f"bridge {n}"} for n in range(2))
    answered = {"outcome": "emit", "reason": "", "events": [{"topic": "t", "key": "k", "value": two}]}
    forms = {
        "lines": json.dumps(one) + "\n\n" + json.dumps(two) + "\n",
        "array": json.dumps([one, two], indent=1),
        "answers of a trial": json.dumps(one) + "\n" + json.dumps(answered),
    }
    for name, text in forms.items():
        file = tmp_path / "candidates"
        file.write_text(text)
        _, out, _ = ask(settings, candidates=file, as_json=True)
        assert {result.url for result in event(out).results} == {one["url"], two["url"]}, name
    status, out, _ = ask(settings, candidates=file, tier=["A"])
    assert status == 0
    assert "None of the candidates fits" in out


@pytest.mark.parametrize(
    ("text", "options", "content", "said"),
    [
        *TABLES["invalid_request_is_reported_in_one_line"],
        ("x" * 4001, {}, None, "longer than 4000 characters"),
        ("渡" * 20_000, {}, None, "longer than 4000 characters"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), {}, None, "not UTF-8"),
        ("x", {}, "[" + ", ".join(['{"url": "https://a.example/"}'] * 201) + "]", "200 at most"),
        ("x", {"candidates": Path("/nowhere/at/all")}, None, "No such file"),
    ],
)
def test_invalid_request_is_reported_in_one_line(
    tmp_path: Path, ask: Shown, text: str, options: dict[str, Any], content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "candidates").write_text(content)
        options = {**options, "candidates": tmp_path / "candidates"}
    status, out, err = ask(settings_at(tmp_path), text, **options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


async def test_an_index_that_an_application_has_is_asked_for_there(
    tmp_path: Path, ask: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "PATIENCE_SECONDS", 0.0)
    settings = settings_at(tmp_path)
    await fill(settings)
    owner = LiveServices(settings)
    await owner.open_index()
    route = QueryRoute(QueryEngine(settings, owner), settings.query, "")
    try:
        async with HttpServer(route, HttpSettings(port=0)) as server:
            port = int(server.address.rpartition(":")[2])
            there = settings.model_copy(update={"http": settings.http.model_copy(update={"port": port})})
            status, out, err = await asyncio.to_thread(ask, there)
            assert (status, err) == (0, "")
            assert f"answered by http://127.0.0.1:{port}/query" in out
            status, _, err = await asyncio.to_thread(ask, there, without=["mmr"])
            assert status == 2
            assert "leave them out" in err
        status, _, err = await asyncio.to_thread(ask, there)
        assert (status, err.count("\n")) == (1, 1)
        assert "another process owns the index" in err
        assert "ASSAY_HTTP__PORT" in err
    finally:
        await owner.aclose()


def test_failed_stage_is_shown_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    failed = StageNote(stage=StageName.RANKING, outcome=StageOutcome.FAILED, reason="time-out after 20 s")
    request = RankingRequested(request_id="q", query="x")
    call = LlmCall(
        judged_by="model", model="small", prompt_version="1", temperature=0.0, cost_usd=None, outcome=CallOutcome.ERROR
    )
    print_results(completed(request, ranked(1), notes=(failed,), llm=call), 0.1, "")
    out = capsys.readouterr().out
    assert "ranking failed: time-out after 20 s" in out
    assert out.endswith("; small failed and changed no order, cost unknown\n")
    assert "judged" not in out
