"""The doctor's findings about language models."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from streams.doctor.services import check_models
from streams.llm.checks import Check
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal
from streams.runtime.clock import SystemClock
from streams.settings.model import load_settings


@pytest.fixture(autouse=True)
def _without_models_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASE_URL", "API_KEY", "MODEL", "REDIS_URL", "BUDGET_USD_PER_DAY", "CACHE_PATH"):
        monkeypatch.delenv(f"ASSAY_LLM__{name}", raising=False)


def found(ask: bool = False, limits: dict[str, Any] | None = None, **llm: Any) -> dict[str, Check]:
    settings = load_settings(llm=llm, models={"limits": limits or {}})
    return {finding.what: finding for finding in check_models(settings, ask=ask)}


def test_without_a_model_the_offline_judge_answers() -> None:
    findings = found()
    assert list(findings) == ["models"]
    assert findings["models"].state == "ok"
    assert "offline judge" in findings["models"].detail


def test_spending_of_the_day_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    bound: dict[str, Any] = {"api_key": "k", "model": "m", "cache_path": path, "budget_usd_per_day": 2}
    assert found(**bound)["spent"].detail == "$0 of $2.00 are spent today"
    assert not path.exists()

    async def spend(usd: float) -> None:
        store = make_journal(LlmSettings(cache_path=path))
        await store.book(SystemClock().now().date().isoformat(), usd, None)
        await store.aclose()

    asyncio.run(spend(1.5))
    assert (found(**bound)["spent"].state, found(**bound)["spent"].detail) == ("ok", "$1.50 of $2.00 are spent today")
    asyncio.run(spend(0.5))
    assert found(**bound)["spent"].state == "warn"


def test_where_paid_answers_are_kept_is_looked_at(tmp_path: Path) -> None:
    assert found(api_key="k", model="m", cache_path=tmp_path / "a.sqlite")["paid answers"].state == "ok"
    assert found(api_key="k", model="m", cache_path=None)["paid answers"].state == "warn"
    (tmp_path / "file").write_text("no database at all, but long enough to be looked at as one")
    for path in (tmp_path / "file" / "a.sqlite", tmp_path / "file"):
        assert found(api_key="k", model="m", cache_path=path)["paid answers"].state == "fail"


def test_missing_redis_is_reported_without_its_password() -> None:
    finding = found(api_key="k", model="m", redis_url="redis://:secret@127.0.0.1:1/0")["paid answers"]
    assert finding.state == "fail"
    assert "secret" not in finding.detail + finding.todo


@contextmanager
def server(status: int, body: bytes) -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}/v1"
        http.shutdown()


@pytest.mark.parametrize(
    ("status", "body", "state", "word"),
    [
        (200, json.dumps({"data": [{"id": "m"}, {"id": "n"}]}).encode(), "ok", "has the model"),
        (200, json.dumps({"data": [{"id": "n"}]}).encode(), "fail", "such as n"),
        (200, b"<html>", "warn", "lists no models"),
        (200, b"[" * 100_000, "warn", "lists no models"),
        (401, b"{}", "fail", "refuses the key"),
        (404, b"{}", "warn", "404"),
    ],
)
def test_a_server_is_asked_for_its_models_where_that_is_wished(
    status: int, body: bytes, state: str, word: str, tmp_path: Path
) -> None:
    with server(status, body) as address:
        findings = found(True, base_url=address, model="m", cache_path=tmp_path / "a.sqlite")
    assert (findings["model server"].state, word in findings["model server"].detail) == (state, True)


def test_missing_model_server_is_reported(tmp_path: Path) -> None:
    findings = found(True, base_url="http://127.0.0.1:1/v1", model="m", cache_path=tmp_path / "a.sqlite")
    assert findings["model server"].state == "fail"
    quiet = found(False, base_url="http://127.0.0.1:1/v1", model="m", cache_path=tmp_path / "a.sqlite")
    assert "model server" not in quiet
