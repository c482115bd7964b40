"""All manifests: a base that runs every handler, a component that scales it, and an example of an overlay.

An overlay names the namespace, the image, the servers and the secrets. Autoscaling is apart because a cluster without
KEDA refuses its objects.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.generate.compose_workers import service_name
from streams.generate.kubernetes.autoscaling import PROMETHEUS, scaled_object
from streams.generate.kubernetes.installation import Installation
from streams.generate.kubernetes.network import kafka_rule, network_policies
from streams.generate.kubernetes.workers import (
    ENVIRONMENT,
    IMAGE,
    OVERRIDES,
    OVERRIDES_FILE,
    console,
    environment,
    lag_exporter,
    topics_job,
    worker,
)
from streams.topology import HANDLERS
from streams.topology.text import IN_YAML, to_yaml, to_yaml_stream

FOLDER = Path("config/generated/kubernetes")
BASE, AUTOSCALING, EXAMPLE = Path("base"), Path("autoscaling"), Path("overlays/example")


def kubernetes(document: dict[str, Any]) -> dict[Path, str]:
    """The manifests of the shipped configuration, by path in the checkout."""
    return {FOLDER / path: text for path, text in manifests(Installation.shipped(document)).items()}


def manifests(installation: Installation) -> dict[Path, str]:
    """The manifests, by path in the folder."""
    base = {f"{service_name(handler)}.yaml": worker(handler, installation) for handler in HANDLERS}
    base |= {
        "console.yaml": console(installation),
        "lag.yaml": lag_exporter(installation),
        "topics.yaml": topics_job(installation),
        "network.yaml": network_policies(installation),
    }
    scaled = {f"{service_name(handler)}.yaml": [scaled_object(handler, installation)] for handler in HANDLERS}
    return {
        BASE / "kustomization.yaml": to_yaml(_base(sorted(base), installation)),
        BASE / OVERRIDES_FILE: f"{IN_YAML}# Keys that override those of the image, as in config/assay.yaml.\n",
        **{BASE / name: to_yaml_stream(content) for name, content in base.items()},
        AUTOSCALING / "kustomization.yaml": to_yaml(_component(sorted(scaled))),
        **{AUTOSCALING / name: to_yaml_stream(content) for name, content in scaled.items()},
        EXAMPLE / "kustomization.yaml": to_yaml(_example(installation)),
    }


def _base(files: list[str], installation: Installation) -> dict[str, Any]:
    """The names of the config maps end with a hash of the content, so a changed setting replaces the workers."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": files,
        "configMapGenerator": [
            {"name": ENVIRONMENT, "literals": environment(installation)},
            {"name": OVERRIDES, "files": [OVERRIDES_FILE]},
        ],
    }


def _component(files: list[str]) -> dict[str, Any]:
    return {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "resources": files}


def _example(installation: Installation) -> dict[str, Any]:
    servers = [f"ASSAY_KAFKA__BOOTSTRAP_SERVERS={installation.kafka_servers}"]
    # The ports of the servers above: other ones are closed.
    ports = [{"op": "replace", "path": "/spec/egress/1", "value": kafka_rule(installation)}]
    addresses = [
        {"op": "replace", "path": f"/spec/triggers/{number}/metadata/serverAddress", "value": PROMETHEUS}
        for number in (0, 1)
    ]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "assay",
        "resources": ["../../base"],
        "components": ["../../autoscaling"],
        "images": [{"name": IMAGE.partition(":")[0], "newName": "registry.example.org/assay", "newTag": "1.0.0"}],
        "configMapGenerator": [{"name": ENVIRONMENT, "behavior": "merge", "literals": servers}],
        "patches": [
            {"target": {"kind": "ScaledObject"}, "patch": to_yaml(addresses).removeprefix(IN_YAML)},
            {"target": {"kind": "NetworkPolicy", "name": "assay"}, "patch": to_yaml(ports).removeprefix(IN_YAML)},
        ],
    }
