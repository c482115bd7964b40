"""The sections ``telemetry`` and ``alerts`` of the configuration: tracing, and the thresholds of alerts.

``assay generate`` writes the thresholds into the Prometheus rules; running processes don't read them. The topology
declares the objective of each handler.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from schemas.rules import Section
from streams.topology import HANDLERS


class TelemetrySettings(Section):
    """OpenTelemetry traces; metrics and logs need no settings."""

    traces: Literal["off", "otlp"] = Field(
        default="off", description="otlp: one span for each record, model call and fetch, sent to a collector."
    )
    otlp_endpoint: str = Field(
        default="",
        description="OTLP over HTTP, as in http://localhost:4318/v1/traces; empty: what OTEL_EXPORTER_OTLP_ENDPOINT "
        "says, else a collector on this machine.",
    )
    traces_share: float = Field(
        default=1.0, ge=0, le=1, description="Share of the traces begun here that is kept; others' stay as they are."
    )
    traces_timeout_seconds: float = Field(
        default=5.0, gt=0, description="For sending spans once; what a collector doesn't take is lost."
    )

    @field_validator("traces", mode="before")
    @classmethod
    def _may_stand_without_quotes(cls, value: object) -> object:
        return "off" if value is False else value  # which YAML makes of a bare off

    @field_validator("otlp_endpoint")
    @classmethod
    def _is_an_address(cls, text: str) -> str:
        if text and not text.startswith(("http://", "https://")):
            raise ValueError("is no address: it begins with http:// or https://")
        return text

    @model_validator(mode="after")
    def _is_installed(self) -> Self:
        if self.traces == "otlp" and not _has_exporter():
            raise ValueError("traces need an extra that is not installed: pip install 'assay[otel]'")
        return self


def _has_exporter() -> bool:
    """Whether the extra is there; nothing of it is loaded but its empty outer packages."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


class AlertSettings(Section):
    """Thresholds of the alert rules (R-006)."""

    not_run: tuple[str, ...] = Field(
        default=(), description="Handlers that nobody runs here; that they have no worker and read nothing is no news."
    )
    share_in_time: float = Field(
        default=0.99, gt=0, lt=1, description="Share of inputs that has to be done within a handler's objective."
    )
    late_inputs: int = Field(
        default=10, ge=1, description="Late inputs of a handler in 10 minutes below which nobody is woken."
    )
    restarts: int = Field(default=3, ge=1, description="Times that a worker may begin anew in 15 minutes.")
    stalled_seconds: int = Field(default=300, ge=60, description="A record in hand for longer means a stall.")
    in_doubt_transactions: int = Field(
        default=5, ge=0, description="Transactions of a handler in 15 minutes that may end in doubt."
    )
    loop_lag_seconds: float = Field(
        default=1.0, gt=0, description="How late an event loop may wake, on average over 5 minutes."
    )
    retention_left_seconds: int = Field(
        default=86_400, ge=0, description="Unread records have to be this far from being deleted by retention."
    )
    budget_left_share: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the day's budget for models below which somebody is told."
    )
    tier_shift: float = Field(
        default=0.15, gt=0, lt=1, description="By how much a tier's share of an hour may differ from the day before."
    )
    tier_shift_pages: int = Field(
        default=500, ge=1, description="Pages that an hour has to have for its tiers to be compared."
    )

    @field_validator("not_run")
    @classmethod
    def _are_handlers(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [handler.name for handler in HANDLERS]
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"there is no handler {unknown[0]!r}; there are {', '.join(known)}")
        return names
