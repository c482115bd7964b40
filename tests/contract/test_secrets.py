"""A secret of the configuration is in no output: the keys are those of the schema, the commands those of the help."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.main import get_command

from streams.app.application import Application
from streams.cli.commands import app, run_command_line
from streams.console.app import SCREENS, make_app, make_context
from streams.settings.model import Settings, SettingsError, load_settings

DUMMY = "dummy-of-a-secret-4711"
NAMES = re.compile(r"(?P<secret>password|secret|token|api_?key|credential)|(_|^)(url|uri|endpoint|servers?|dsn)$")
WITH_SECRET = (
    f"https://ann:{DUMMY}@host.example/v1",
    f"https://{DUMMY}@host.example",
    rf"https:\\ann:{DUMMY}@host.example",
    f"ann:{DUMMY}@host.example:9092",
    f"host.example:9092,SASL_SSL://ann:{DUMMY}@other.example:9092",
    f"https://host.example/v1?key={DUMMY}",
    f"{DUMMY} host.example:0",
)
COMMANDS: dict[str, str] = {
    "answer": "storm", "broker": "--help", "config": "", "console": "--host 192.0.2.1", "demo": "--help",
    "dlq": "counts", "doctor": "", "estimate": "", "export": "tsv", "generate": "--kubernetes {folder}/k",
    "init": "--help", "lag": "", "mcp": "--help", "publish": "pages.crawled.v1 {folder}/pages.jsonl",
    "query": "storm", "replay": "run score_page", "run": "score_page", "score": WITH_SECRET[0],
    "sources": f"check {WITH_SECRET[0]}", "stats": "pages.scored.v1", "tail": "pages.scored.v1", "top": "--once",
    "topics": "list", "train": "--output {folder}/model", "try": "score_page {folder}/pages.jsonl",
    "why": WITH_SECRET[0],
}  # fmt: skip


def keys(node: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The keys with texts, at every depth; a part of the path is "" for an element of a list or mapping."""
    if "$ref" in node:
        node = SCHEMA["$defs"][node["$ref"].rpartition("/")[2]]
    for choice in node.get("anyOf", ()):
        yield from keys(choice, path)
    for name, inner in node.get("properties", {}).items():
        yield from keys(inner, (*path, name))
    for inner in (node.get("items"), node.get("additionalProperties")):
        if isinstance(inner, dict) and len(path) < 8:
            yield from keys(inner, (*path, ""))
    if node.get("type") == "string":
        yield path, node


SCHEMA = Settings.model_json_schema()
TEXTS = dict(keys(SCHEMA))
SERVERS = [path for path, node in TEXTS.items() if node.get("format") in ("uri", "hosts")]
SECRETS = [path for path, node in TEXTS.items() if node.get("writeOnly")]


def variable(path: tuple[str, ...]) -> str:
    return "ASSAY_" + "__".join(path).upper()


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that refuses every request, and repeats its headers in the reason."""

    class Echo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = str(self.headers).encode()
            self.send_response(401)
            self.send_header("content-length", f"{len(body)}")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_GET  # noqa: N815 - the names are the library's

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{listening.server_port}"
        listening.shutdown()


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    """A configuration in which every secret is the dummy, and every server refuses."""
    for path in SECRETS:
        monkeypatch.setenv(variable(path), f"redis://:{DUMMY}@{server}/0" if path[-1].endswith("url") else DUMMY)
    for path in SERVERS:
        has_scheme = TEXTS[path]["format"] == "uri"
        monkeypatch.setenv(variable(path), f"http://{server}/v1" if has_scheme else "127.0.0.1:1")
    monkeypatch.setenv("ASSAY_KAFKA__SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    monkeypatch.setenv("ASSAY_LLM__MODEL", "m")


def test_keys_of_secrets_and_addresses_have_their_types() -> None:
    for path, node in TEXTS.items():
        found = NAMES.search(path[-1])
        if found and "enum" not in node:
            assert node.get("writeOnly") or (not found["secret"] and path in SERVERS), path


@pytest.mark.parametrize("path", SERVERS, ids=".".join)
def test_an_address_with_a_secret_is_refused(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for text in WITH_SECRET:
        monkeypatch.setenv(variable(path), text)
        with pytest.raises(SettingsError) as refused:
            load_settings()
        assert ".".join(path) in str(refused.value)
        assert DUMMY not in str(refused.value)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.usefixtures("secrets")
def test_no_command_shows_a_secret(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert COMMANDS.keys() == get_command(app).commands.keys()  # type: ignore[attr-defined]
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.example/", "html": "<p>A storm."}\n')
    for command, arguments in COMMANDS.items():
        run_command_line([command, *(part.format(folder=tmp_path) for part in arguments.split())])
        shown = capfd.readouterr()
        assert shown.out + shown.err, command
        assert DUMMY not in shown.out + shown.err, command
    assert (tmp_path / "k").is_dir()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and DUMMY in path.read_text("utf-8")]


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.usefixtures("secrets")
def test_no_route_shows_a_secret(capfd: pytest.CaptureFixture[str]) -> None:
    settings = load_settings()
    for asgi, paths in (
        (make_app(make_context(settings)), ["/sign-in", *(screen.path for screen in SCREENS)]),
        (Application(settings).asgi, ["/metrics", "/healthz", "/readyz", "/query?q=a", "/asyncapi.yaml", "/none"]),
    ):
        client = TestClient(asgi, base_url="http://127.0.0.1", raise_server_exceptions=False)
        for path in paths:
            answer = client.get(path, headers={"authorization": f"Bearer {DUMMY}"})
            assert DUMMY not in answer.text + str(answer.headers), path
    shown = capfd.readouterr()
    assert DUMMY not in shown.out + shown.err
