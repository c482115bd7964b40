"""The checks of ``assay doctor`` of the HTTP server: its port, and what the application says of its index."""

from __future__ import annotations

import errno
import socket

from prometheus_client.parser import text_string_to_metric_families

from streams.index.ports import StoreCounts
from streams.runtime.checks import Check
from streams.settings.model import HttpSettings
from streams.telemetry.metrics import Metrics

_SECONDS = 4.0


def check_port(http: HttpSettings) -> Check:
    where = f"{http.host}:{http.port}"
    if not http.enabled:
        return Check("HTTP port", "ok", "off")
    try:
        family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
        socket.create_server((http.host, http.port), family=family).close()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return Check("HTTP port", "fail", f"{where}: {error.strerror}", "set ASSAY_HTTP__HOST, ASSAY_HTTP__PORT")
        if "port" in http.model_fields_set:
            return Check("HTTP port", "warn", f"{where} is taken, maybe by `assay run`", "else set ASSAY_HTTP__PORT")
        return Check("HTTP port", "ok", f"{where} is taken, `assay run` would take a free port")
    return Check("HTTP port", "ok", f"{where} is free")


def ask_index(url: str) -> StoreCounts | str:
    """What the index of the application at an address has, by its metrics; otherwise why that is not known."""
    import httpx2  # of an extra that the check of the port does not need

    of_points, of_documents = Metrics.index_points.name, Metrics.index_documents.name
    try:
        response = httpx2.get(f"{url}/metrics", timeout=_SECONDS, trust_env=False)
        response.raise_for_status()
        samples = [sample for family in text_string_to_metric_families(response.text) for sample in family.samples]
        points = [int(value) for name, _, value, *_ in samples if name == of_points]
        documents = {labels.get("tier", ""): int(value) for name, labels, value, *_ in samples if name == of_documents}
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError, OverflowError) as error:
        return f"{url} does not answer ({str(error) or type(error).__name__})"
    return StoreCounts(points[0], documents) if points else f"what answers at {url} has no index"
