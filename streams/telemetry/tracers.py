"""Which tracer a process has, by its settings."""

from __future__ import annotations

from streams.telemetry.settings import TelemetrySettings
from streams.telemetry.tracing import NoTracer, Tracer


def make_tracer(settings: TelemetrySettings, version: str) -> Tracer:
    """What traces as the settings say; OpenTelemetry is loaded only where it is on."""
    if settings.traces == "off":
        return NoTracer()
    from streams.telemetry.otel import exporting_tracer

    return exporting_tracer(settings, version)
