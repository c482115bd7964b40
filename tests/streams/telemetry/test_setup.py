import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from streams.telemetry.metrics import Metrics
from streams.telemetry.setup import Repeats, configure_logs
from tests.streams.telemetry.setters import ELSEWHERE, setters
from tests.tables import tables

TABLES = tables(__file__)

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Logging is of the whole process; each test leaves it as it found it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {
        name: logging.getLogger(name).level
        for name in ("aiokafka", "httpx", "httpcore", "httpx2", "httpcore2", "openai", "uvicorn", "asyncio")
    }
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
    structlog.reset_defaults()


def test_log_is_json_without_a_terminal(capsys: Capture) -> None:
    configure_logs("info", "auto")
    configure_logs("info", "auto")
    structlog.get_logger("streams.test").warning("Extraction needed: so", batch_id="b", text="中")
    shown = capsys.readouterr()
    entry = json.loads(shown.err)
    assert entry.pop("timestamp").endswith("Z")
    assert entry == TABLES["log_is_json_without_a_terminal"]
    assert shown.out == "", "standard output belongs to the commands"


def test_library_info_is_dropped_and_library_warnings_kept(capsys: Capture) -> None:
    configure_logs("info", "json")
    for name in ("aiokafka.consumer", "httpx", "uvicorn.error"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).warning("trouble")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["trouble"] * 3


@pytest.mark.parametrize("form", ["json", "console"])
def test_an_error_is_shown_without_the_values_that_it_met(form: str, capsys: Capture) -> None:
    """Among them may be keys, and what others wrote."""

    def fail() -> None:
        headers = {"Authorization": "Bearer " + "sesame" * 2}
        raise ValueError(f"{len(headers)} went wrong")

    configure_logs("info", form)
    try:
        fail()
    except ValueError:
        structlog.get_logger("streams.test").error("a record met a fault", exc_info=True)
        logging.getLogger("another.library").exception("so did another")
    shown = capsys.readouterr().err
    if form == "json":
        assert all("ValueError: 1 went" in json.loads(line)["exception"] for line in shown.splitlines())
    assert shown.count("1 went wrong") == 2
    assert "sesamesesame" not in shown


def test_repeated_warnings_come_with_growing_pauses_and_a_count() -> None:
    now, written = 0.0, list[tuple[float, int]]()
    repeats = Repeats(lambda: now)
    for second in range(182):
        now = float(second)
        try:
            line = repeats(None, "warning", {"event": "not opened yet", "logger": "a", "partition": second})
            written.append((now, line.get("more", 0)))
        except structlog.DropEvent:
            pass
        other = {"event": "not opened yet", "logger": "a", "reason": str(second)}
        assert repeats(None, "warning", other) == other
        assert repeats(None, "info", {"event": "not opened yet", "logger": "a"})
    assert written == [(0, 0), (5, 4), (15, 9), (35, 19), (75, 39), (155, 79)]
    now = 1000.0
    assert "more" in repeats(None, "warning", {"event": "not opened yet", "logger": "a"})
    now = 2000.0
    assert "more" not in repeats(None, "warning", {"event": "not opened yet", "logger": "a"})


# --- metrics ---------------------------------------------------------------------------------------------------------


def test_every_declared_metric_is_set_by_some_code() -> None:
    sources = setters()
    assert [name for name, files in sources.items() if not files] == []
    for name, place in ELSEWHERE.items():
        assert any(file.startswith(place) for file in sources[name]), f"{name} is not set in {place}"


@given(st.lists(st.sampled_from((0.0, 0.5, 0.0625, 1.0, 59.5, 60.0, 86400.0, 1e9)), min_size=1))
def test_many_values_count_as_one_after_another(values: list[float]) -> None:
    together, apart = Metrics(CollectorRegistry()), Metrics(CollectorRegistry())
    together.event_age_seconds.labels("toy").observe_many(values)
    for value in values:
        apart.event_age_seconds.labels("toy").observe(value)
    samples = [
        [
            (sample.name, sample.labels, sample.value)
            for metric in metrics.event_age_seconds.collect()
            for sample in metric.samples
            if not sample.name.endswith("_created")
        ]
        for metrics in (together, apart)
    ]
    assert samples[0] == samples[1]
