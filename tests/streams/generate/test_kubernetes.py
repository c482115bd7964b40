"""The Kubernetes manifests against the schemas of Kubernetes and KEDA, and the topology."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from schemas.needs import AskModel, FetchPages, IndexDocument, SearchVectors
from streams.cli.commands import run_command_line
from streams.generate.kubernetes import BASE, EXAMPLE, FOLDER, Installation, manifests, scaled_object
from streams.generate.templates import HTTP_PORT, service_name
from streams.runtime.settings_files import read_document
from streams.settings.model import load_settings
from streams.topology import HANDLERS, Handler
from tests.samples import ROOT, the_handler

KUBERNETES = ("1.31", "1.37")  # the oldest and the newest version that the manifests are validated for
NOT_KUBERNETES = {"Kustomization", "Component", "ScaledObject"}
HANDLER_IDS = [handler.name for handler in HANDLERS]


def installation(**sections: Any) -> Installation:
    return Installation.in_force(read_document(ROOT / "config") | sections)


def documents(files: dict[Path, str]) -> list[dict[str, Any]]:
    return [document for text in files.values() for document in yaml.load_all(text, yaml.CSafeLoader) if document]


SHIPPED = Installation.shipped(read_document(ROOT / "config"))
FILES = manifests(SHIPPED)
DOCUMENTS = documents(FILES)


def found(kind: str, among: list[dict[str, Any]] = DOCUMENTS) -> dict[str, dict[str, Any]]:
    return {document["metadata"]["name"]: document for document in among if document["kind"] == kind}


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


@pytest.mark.parametrize("its", HANDLERS, ids=HANDLER_IDS)
def test_a_handler_has_a_restricted_deployment_that_drains(its: Handler) -> None:
    deployment = found("Deployment")[service_name(its)]
    assert "replicas" not in deployment["spec"]
    spec = deployment["spec"]["template"]["spec"]
    [container] = spec["containers"]
    assert container["args"][:2] == ["run", its.name]
    assert spec["terminationGracePeriodSeconds"] > SHIPPED.pipeline.drain_seconds
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    budget = found("PodDisruptionBudget")[service_name(its)]
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    assert found("Service")[service_name(its)]["spec"]["ports"][0]["port"] == HTTP_PORT


def test_the_environment_is_one_that_settings_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    base = yaml.safe_load(manifests(SHIPPED)[BASE / "kustomization.yaml"])
    for literal in base["configMapGenerator"][0]["literals"]:
        monkeypatch.setenv(*literal.split("=", 1))
    settings = load_settings(ROOT / FOLDER / BASE / "overrides.yaml")
    assert settings.index.url == "http://qdrant:6333"
    assert not settings.kafka.create_topics
    assert settings.workers.processes == 1


@pytest.mark.parametrize("its", HANDLERS, ids=HANDLER_IDS)
def test_policies_open_what_a_handler_asks_for(its: Handler) -> None:
    labels = found("Deployment")[service_name(its)]["spec"]["template"]["metadata"]["labels"]
    chosen = set()
    for name, policy in found("NetworkPolicy").items():
        selector = policy["spec"]["podSelector"]
        names = [value for rule in selector.get("matchExpressions", ()) for value in rule["values"]]
        if its.name in names or ("matchLabels" in selector and selector["matchLabels"].items() <= labels.items()):
            chosen.add(name)
    expected = {"assay"}
    for name, needs in (
        ("assay-index", {IndexDocument, SearchVectors}),
        ("assay-models", {AskModel}),
        ("assay-fetch", {FetchPages}),
    ):
        if its.asks & needs:
            expected.add(name)
    assert chosen == expected


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


def test_fetching_reaches_no_private_address() -> None:
    [rule] = found("NetworkPolicy")["assay-fetch"]["spec"]["egress"]
    blocks = [target["ipBlock"] for target in rule["to"]]
    assert [block["cidr"] for block in blocks] == ["0.0.0.0/0", "::/0"]
    assert {"10.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"} <= set(blocks[0]["except"])
    assert {"::1/128", "fc00::/7", "fe80::/10"} <= set(blocks[1]["except"])


def test_partitions_bound_the_replicas() -> None:
    score_page = the_handler("score_page")
    wider = replace(score_page, consumes=replace(score_page.consumes, partitions=48))
    for its, most in ((score_page, 6), (wider, 48)):
        written = scaled_object(its, SHIPPED)
        assert written is not None
        assert written["spec"]["maxReplicaCount"] == most


def test_limits_of_models_bound_the_replicas() -> None:
    judge = the_handler("judge_relevance")
    models = read_document(ROOT / "config")["models"]

    def most(requests: int, in_flight: int, **llm: str) -> int:
        limits = {"limits": {"default": {"requests_per_minute": requests, "in_flight": in_flight}}}
        return installation(models=models | limits, llm=llm).most_replicas(judge)

    key = {"api_key": "some-key"}
    assert most(60, 16, **key) == 1
    # It has two sixths of nine tenths, 1,500 requests a minute; a replica makes at least 32 calls in 2.8 s.
    assert most(5000, 1000, **key) == ceil(1500 / (32 * 60 / 2.8)) == 3
    assert most(4500, 1000, **key) == 2
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
