"""The composition and the image, checked by reading their files."""

import re
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from schemas.needs import FetchPages, IndexDocument
from streams.generate.templates import HTTP_PORT, service_name
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler
from tests.samples import ROOT, instance


class Loader(yaml.SafeLoader):
    """Knows Compose's tag for a list that replaces the one below it."""


def replacing(loader: Loader, node: yaml.SequenceNode) -> list[Any]:
    return loader.construct_sequence(node)


Loader.add_constructor("!override", replacing)


def document(path: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.load((ROOT / path).read_text("utf-8"), Loader)  # noqa: S506 - a safe loader
    return content


MAIN = document("docker-compose.yml")
WORKERS: dict[str, Any] = {
    name: service for included in MAIN["include"] for name, service in document(included["path"])["services"].items()
}
OPEN: dict[str, Any] = document("docker-compose.open.yml")["services"]
OURS = ("topics", "lag", "console", "replay")
SERVICES: dict[str, Any] = MAIN["services"] | WORKERS


def test_every_handler_has_exactly_one_worker() -> None:
    runs = [service["command"] for service in WORKERS.values()]
    assert sorted(runs) == sorted(["run", handler.name] for handler in HANDLERS)
    assert set(WORKERS) == {service_name(handler) for handler in HANDLERS}
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in WORKERS)


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_waits_for_exists_and_can_be_waited_for(name: str) -> None:
    for other, dependency in SERVICES[name].get("depends_on", {}).items():
        assert other in SERVICES
        if dependency["condition"] == "service_healthy":
            assert "test" in SERVICES[other]["healthcheck"]
        else:
            assert dependency["condition"] == "service_completed_successfully"
            assert SERVICES[other]["restart"] != "unless-stopped"


def test_what_opens_the_ports_requires_passwords() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(OPEN) == set(published)
    for name, service in OPEN.items():
        [here], [opened] = published[name], service["ports"]
        assert opened == re.sub(r"^127\.0\.0\.1", "${BIND:?name the address to open}", here)
    assert OPEN["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"].startswith("${GRAFANA_PASSWORD:?")
    assert OPEN["grafana"]["environment"]["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert OPEN["qdrant"]["environment"]["QDRANT__SERVICE__API_KEY"].startswith("${QDRANT_API_KEY:?")
    assert OPEN["console"]["environment"]["ASSAY_HTTP__TOKEN"].startswith("${CONSOLE_TOKEN:?")
    assert OPEN["console"]["environment"]["ASSAY_CONSOLE__READING_NEEDS_TOKEN"] == "true"
    users = [name for name, service in SERVICES.items() if "ASSAY_INDEX__URL" in service.get("environment", {})]
    assert set(WORKERS) <= set(users)
    assert all(SERVICES[name]["environment"]["ASSAY_INDEX__API_KEY"] == "${QDRANT_API_KEY:-}" for name in users)


@pytest.mark.parametrize("name", SERVICES)
def test_services_are_for_this_machine_without_privileges(name: str) -> None:
    service = SERVICES[name]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert service["security_opt"] == ["no-new-privileges:true"]
    if name in {*WORKERS, *OURS, "prometheus"}:
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["tmpfs"] == ["/tmp"]


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_is_configured_by_settings_that_exist(name: str) -> None:
    for variable in WORKERS[name]["environment"]:
        section, key = variable.removeprefix("ASSAY_").lower().split("__")
        model = instance(type, Settings.model_fields[section].annotation)
        assert issubclass(model, BaseModel)
        assert key in model.model_fields
    assert WORKERS[name]["environment"]["ASSAY_HTTP__HOST"] == "0.0.0.0"
    assert WORKERS[name]["expose"] == [str(HTTP_PORT)]
    assert f":{HTTP_PORT}/healthz" in WORKERS[name]["healthcheck"]["test"][-1]


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.name)
def test_a_worker_keeps_and_shares_what_its_replicas_need(handler: Handler) -> None:
    service = WORKERS[service_name(handler)]
    environment = service["environment"]
    kept = [environment.get(name) for name in ("ASSAY_FETCH__CACHE_PATH", "ASSAY_INDEX__PATH")]
    folders = [volume.split(":")[1] for volume in service.get("volumes", ())]
    assert bool(folders) is bool(handler.asks & {FetchPages, IndexDocument})
    assert all(path.startswith(f"{folders[0]}/") for path in kept if path)
    # A handler of any lane may request a search, so all get the address of the one index.
    assert environment["ASSAY_INDEX__URL"] == "${QDRANT_URL-http://qdrant:6333}"
    assert ("ASSAY_LLM__REDIS_URL" in environment) is handler.asks_models
    assert ("redis" in service["depends_on"]) is handler.asks_models


def test_the_builder_is_sent_what_the_image_copies() -> None:
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    allowed = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    copied = {
        source
        for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines()
        if line.startswith("COPY") and "--from" not in line
        for source in line.split()[1:-1]
    }
    assert "*" in ignore
    assert copied == allowed
    assert all((ROOT / source).exists() for source in copied)
