"""The composition and the image, checked by reading their files."""

import re
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from streams.generate.templates import HTTP_PORT
from streams.settings.model import Settings
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


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_bound_to_this_machine(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert port.startswith("127.0.0.1:")


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
def test_services_gain_no_privileges_and_ours_drop_all(name: str) -> None:
    service = SERVICES[name]
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
