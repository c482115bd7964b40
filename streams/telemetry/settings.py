"""The sections ``telemetry`` and ``alerts`` of the configuration: tracing, and the thresholds of alerts.

``assay generate`` writes the thresholds into the Prometheus rules; running processes don't read them. The topology
declares each handler's objective.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from schemas.rules import Section
from streams.runtime.extras import install_line
from streams.runtime.server_address import ServerAddress
from streams.topology import HANDLERS


class TelemetrySettings(Section):
    """OpenTelemetry traces; metrics and logs need no settings."""

    traces: Literal["off", "otlp"] = Field(
        default="off", description="otlp: one span for each record, model call and fetch, sent to a collector."
    )
    otlp_endpoint: Annotated[
        str, ServerAddress("the variable OTEL_EXPORTER_OTLP_HEADERS", "http://localhost:4318/v1/traces")
    ] = Field(
        default="",
        description="OTLP over HTTP, as in http://localhost:4318/v1/traces; empty: OTEL_EXPORTER_OTLP_ENDPOINT, else a "
        "collector on this machine.",
    )
    traces_share: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Share of the traces started here that is kept; a continued trace keeps its own decision.",
    )
    traces_timeout_seconds: float = Field(
        default=5.0, gt=0, description="Timeout of one export; spans that the collector doesn't accept are lost."
    )

    @field_validator("traces", mode="before")
    @classmethod
    def _accept_yaml_off(cls, value: object) -> object:
        return "off" if value is False else value  # YAML reads an unquoted off as false

    @model_validator(mode="after")
    def _is_installed(self) -> Self:
        if self.traces == "otlp" and not _has_exporter():
            raise ValueError(f"traces need an extra that is not installed: {install_line('otel')}")
        return self


def _has_exporter() -> bool:
    """Whether the extra is installed; imports only its empty outer packages."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


class AlertSettings(Section):
    """Thresholds of the alert rules."""

    not_run: tuple[str, ...] = Field(
        default=(), description="Handlers not deployed here; excluded from the alerts about missing workers and stalls."
    )
    share_in_time: float = Field(
        default=0.99, gt=0, lt=1, description="Share of inputs to finish within a handler's objective."
    )
    late_inputs: int = Field(default=10, ge=1, description="Late inputs of a handler in 10 minutes for an alert.")
    restarts: int = Field(default=3, ge=1, description="Restarts of a worker allowed in 15 minutes.")
    child_ends: int = Field(
        default=10, ge=1, description="Child processes of a service ended by records in 15 minutes."
    )
    stalled_seconds: int = Field(default=300, ge=60, description="Time after which an unfinished record is a stall.")
    in_doubt_transactions: int = Field(
        default=5, ge=0, description="In-doubt transactions of a handler allowed in 15 minutes."
    )
    loop_lag_seconds: float = Field(default=1.0, gt=0, description="Allowed delay of an event loop over 5 minutes.")
    retention_left_seconds: int = Field(
        default=86_400, ge=0, description="Least time until unread records are deleted."
    )
    budget_left_share: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the day's budget below which an alert fires."
    )
    tier_shift: float = Field(
        default=0.15, gt=0, lt=1, description="Allowed difference of a tier's hourly share to the day before."
    )
    tier_shift_pages: int = Field(
        default=500, ge=1, description="Least pages in an hour for a comparison of its tiers."
    )

    @field_validator("not_run")
    @classmethod
    def _are_handlers(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [handler.name for handler in HANDLERS]
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"there is no handler {unknown[0]!r}; there are {', '.join(known)}")
        return names
