"""Network policies: each process reaches only the servers that it needs, and only neighbours reach it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.needs import AskModel, FetchPages, IndexDocument, SearchVectors
from streams.generate.compose_workers import HTTP_PORT
from streams.generate.kubernetes.installation import Installation, port_of
from streams.generate.kubernetes.workers import HANDLER_LABEL, PART_OF
from streams.topology import HANDLERS, Handler

ACCESS_LABEL = {"assay-access": "true"}
"""A namespace with this label may reach the workers, such as that of a Prometheus or of an application."""
PRIVATE_V4 = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
)
PRIVATE_V6 = ("::1/128", "64:ff9b::/96", "fc00::/7", "fe80::/10", "ff00::/8")
"""Addresses that are not of the open web. ``fetch_page`` refuses them too; the policy holds if that check fails."""


def network_policies(installation: Installation) -> list[dict[str, Any]]:
    """The policies, all of the pods of Assay."""
    return [
        _policy("assay", {"matchLabels": PART_OF}, _kafka(installation), ingress=_neighbours()),
        *_policies("assay-index", _of({IndexDocument, SearchVectors}), _index(installation)),
        *_policies("assay-models", _of({AskModel}), _models(installation)),
        *_policies("assay-fetch", _of({FetchPages}), [_open_web()]),
        _policy(
            "assay-console", {"matchLabels": {"app.kubernetes.io/name": "console", **PART_OF}}, _console(installation)
        ),
    ]


def _kafka(installation: Installation) -> list[dict[str, Any]]:
    names = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    look_ups = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return [{"to": [names], "ports": look_ups}, kafka_rule(installation)]


def kafka_rule(installation: Installation) -> dict[str, Any]:
    """The servers of all processes; rule 1 of the policy ``assay``, which the example replaces."""
    return _ports([*installation.kafka_ports, *installation.service_ports])


def _index(installation: Installation) -> list[dict[str, Any]]:
    """The server of the index, and that of embeddings if there is one."""
    ports = [port_of(installation.index.url)]
    if installation.index.embedder.kind == "openai":
        ports.append(port_of(installation.index.embedder.base_url))
    return [_ports(ports)]


def _models(installation: Installation) -> list[dict[str, Any]]:
    model = port_of(installation.llm.base_url) if installation.llm.base_url else 443
    return [_ports([model, installation.redis_port])]


def _console(installation: Installation) -> list[dict[str, Any]]:
    """The application that answers queries, and the journal of models' replies."""
    application = {"to": [{"podSelector": {"matchLabels": PART_OF}}], **_ports([HTTP_PORT])}
    return [application, _ports([installation.redis_port])]


def _open_web() -> dict[str, Any]:
    blocks = (("0.0.0.0/0", PRIVATE_V4), ("::/0", PRIVATE_V6))
    return {"to": [{"ipBlock": {"cidr": cidr, "except": list(private)}} for cidr, private in blocks]}


def _neighbours() -> list[dict[str, Any]]:
    """Pods of the same namespace, and of those with ``ACCESS_LABEL``; the kubelet's probes need no rule."""
    sources = [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": ACCESS_LABEL}}]
    return [{"from": sources, "ports": [{"protocol": "TCP", "port": HTTP_PORT}]}]


def _of(needs: set[type]) -> list[Handler]:
    return [handler for handler in HANDLERS if handler.asks & needs]


def _policies(name: str, handlers: list[Handler], egress: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """A policy of some handlers; no policy without handlers."""
    if handlers:
        chosen = {"key": HANDLER_LABEL, "operator": "In", "values": [handler.name for handler in handlers]}
        yield _policy(name, {"matchExpressions": [chosen]}, egress)


def _policy(
    name: str, pods: dict[str, Any], egress: list[dict[str, Any]], ingress: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    spec: dict[str, Any] = {"podSelector": pods, "policyTypes": ["Egress"], "egress": egress}
    if ingress is not None:
        spec |= {"policyTypes": ["Ingress", "Egress"], "ingress": ingress}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "labels": PART_OF},
        "spec": spec,
    }


def _ports(ports: Iterable[int]) -> dict[str, Any]:
    return {"ports": [{"protocol": "TCP", "port": port} for port in sorted(set(ports))]}
