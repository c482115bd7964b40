"""The ``telemetry`` section of the configuration: whether traces are written, and where to."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from schemas.rules import Section


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
