from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from streams.telemetry.metrics import Metrics
from tests.streams.telemetry.setters import ELSEWHERE, setters


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
