"""For each alert the situations that fire it, with its texts, and those that must not: ``cases.yaml``."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from streams.generate.prometheus import services
from tests.prometheus.worlds import World, then, up


@dataclass(frozen=True)
class Told:
    """An alert that fires: its labels beside the severity, and what is read."""

    alert: str
    labels: dict[str, str]
    summary: str
    description: str


@dataclass(frozen=True)
class Case:
    """A world in which something is wrong, or only looks so.

    Attributes:
        name: What is the matter.
        differs: How it differs from the healthy world.
        told: What fires; all other alerts are silent.
    """

    name: str
    differs: World
    told: tuple[Told, ...] = ()


def cases() -> tuple[Case, ...]:
    """All of them; the first is the healthy world."""
    rows = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    stored = (
        Case(row["name"], row.get("differs", {}), tuple(Told(*told) for told in row.get("told", ()))) for row in rows
    )
    return (*stored, _no_worker())


def _no_worker() -> Case:
    told = (
        Told(
            "AssayWorkerDown",
            {"job": "assay", "service": service},
            f"{service} does not answer",
            f"No answer from a worker of {service} for 2 minutes. Its records wait; nothing is lost as long as"
            " retention is.",
        )
        for service in services()
    )
    return Case("nobody knows of any worker", {up(service): then("1", 10, "_") for service in services()}, tuple(told))
