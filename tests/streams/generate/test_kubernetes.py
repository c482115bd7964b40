"""The Kubernetes manifests against the schemas of Kubernetes and KEDA, and the topology."""

from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from streams.cli.commands import run_command_line
from streams.generate.kubernetes import BASE, EXAMPLE, FOLDER, Installation, manifests
from streams.runtime.settings_files import read_document
from streams.settings.model import load_settings
from streams.topology import HANDLERS, Handler, handler_named
from tests.samples import ROOT

KUBERNETES = ("1.31", "1.37")  # the oldest and the newest version that the manifests are validated for
NOT_KUBERNETES = {"Kustomization", "Component", "ScaledObject"}


def installation(**sections: Any) -> Installation:
    return Installation.in_force(read_document(ROOT / "config") | sections)


def documents(files: dict[Path, str]) -> list[dict[str, Any]]:
    return [document for text in files.values() for document in yaml.load_all(text, yaml.CSafeLoader) if document]


SHIPPED = Installation.shipped(read_document(ROOT / "config"))
FILES = manifests(SHIPPED)
DOCUMENTS = documents(FILES)


def found(kind: str, among: list[dict[str, Any]] = DOCUMENTS) -> dict[str, dict[str, Any]]:
    return {document["metadata"]["name"]: document for document in among if document["kind"] == kind}


def handler(name: str) -> Handler:
    named = handler_named(name)
    assert named is not None
    return named


@pytest.fixture(autouse=True, scope="module")
def _schemas_are_read_once() -> Iterator[None]:
    """The definitions of a version are megabytes, and are read for each document."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kubernetes_validate.utils, "schema_contents", cache(kubernetes_validate.utils.schema_contents))
        yield


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_fit_the_schemas_of_kubernetes(version: str) -> None:
    checked = [document for document in DOCUMENTS if document["kind"] not in NOT_KUBERNETES]
    assert len(checked) > 3 * len(HANDLERS)
    for document in checked:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("name", [name for name, _ in found("ScaledObject").items()])
def test_scaled_objects_fit_the_definition_of_keda(name: str) -> None:
    from cloudcoil.models.keda.v1alpha1 import ScaledObject  # takes long, and this process may not run this test

    written = found("ScaledObject")[name]
    read = ScaledObject.model_validate(written).model_dump(by_alias=True, exclude_unset=True, mode="json")
    # The models ignore unknown keys, so a misspelt one would be missing.
    assert read == written
    for trigger in written["spec"]["triggers"]:
        assert all(isinstance(value, str) for value in trigger["metadata"].values())


def test_the_environment_is_one_that_settings_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    base = yaml.safe_load(manifests(SHIPPED)[BASE / "kustomization.yaml"])
    for literal in base["configMapGenerator"][0]["literals"]:
        monkeypatch.setenv(*literal.split("=", 1))
    settings = load_settings(ROOT / FOLDER / BASE / "overrides.yaml")
    assert settings.index.url == "http://qdrant:6333"
    assert not settings.kafka.create_topics
    assert settings.workers.processes == 1


def test_servers_of_every_process_are_open() -> None:
    kafka = {"bootstrap_servers": "a:9093"}
    telemetry = {"traces": "otlp", "otlp_endpoint": "https://collector/v1/traces"}
    files = manifests(installation(kafka=kafka, telemetry=telemetry, llm={"redis_url": "rediss://redis:6380/0"}))
    policies = found("NetworkPolicy", documents(files))
    expected = [{"protocol": "TCP", "port": port} for port in (443, 9093)]
    assert policies["assay"]["spec"]["egress"][1]["ports"] == expected
    assert {"protocol": "TCP", "port": 6380} in policies["assay-models"]["spec"]["egress"][0]["ports"]
    [_, patch] = yaml.safe_load(files[EXAMPLE / "kustomization.yaml"])["patches"]
    assert yaml.safe_load(patch["patch"])[0]["value"] == {"ports": expected}


def test_limits_of_models_bound_the_replicas() -> None:
    judge = handler("judge_relevance")
    models = read_document(ROOT / "config")["models"]

    def most(requests: int, in_flight: int, **llm: str) -> int:
        limits = {"limits": {"default": {"requests_per_minute": requests, "in_flight": in_flight}}}
        return installation(models=models | limits, llm=llm).most_replicas(judge)

    key = {"api_key": "some-key"}
    assert most(60, 16, **key) == 1
    # It has two sixths of nine tenths, 1,500 requests a minute; a replica makes at least 32 calls in 2.8 s.
    assert most(5000, 1000, **key) == ceil(1500 / (32 * 60 / 2.8)) == 3
    # Of 128 calls at a time it has 38.4, and a replica makes 32 at a time.
    assert most(5000, 128, **key) == 2
    assert most(60, 16) == judge.consumes.partitions


def test_manifests_are_written_for_the_settings_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_PIPELINE__DRAIN_SECONDS", "100")
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", "broker-1:9093,broker-2:9094")
    assert run_command_line(["generate", "--kubernetes", str(tmp_path / "own")]) == 0
    base = tmp_path / "own" / BASE
    deployment = yaml.safe_load((base / "score-page.yaml").read_text("utf-8").split("---")[0])
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 115
    policy = yaml.safe_load((base / "network.yaml").read_text("utf-8").split("---")[0])
    assert [port["port"] for port in policy["spec"]["egress"][1]["ports"]] == [9093, 9094]
    assert run_command_line(["generate", "--kubernetes", str(tmp_path), "--check"]) == 2
