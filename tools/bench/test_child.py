"""What a measured process is asked and reports, alone and with others."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tools.bench.child import TOTAL_BYTES, Meter, Report, Task, until_all
from tools.bench.growth import growth_of
from tools.bench.processes import Memory
from tools.bench.runs import Run, Sample, median_of, together


def test_a_task_says_only_what_differs_from_the_defaults() -> None:
    task = Task("127.0.0.1:1", "p.", records=3, workers={"processes": 2})
    assert json.loads(task.to_json()) == {
        "bootstrap": "127.0.0.1:1",
        "prefix": "p.",
        "records": 3,
        "workers": {"processes": 2},
    }
    assert Task(**json.loads(task.to_json())) == task


def test_the_meter_measures_from_the_first_record() -> None:
    meter = Meter()
    with pytest.raises(RuntimeError, match=r"records by process: \[0\]"):
        meter.report()
    spent = time.process_time()
    while time.process_time() < spent + 0.05:
        pass
    for _ in range(3):
        meter.count()
    report = meter.report(figure=1.0)
    assert report.records == 3
    assert report.cpu < 0.05
    assert report.more == {"figure": 1.0}


def pair_of_meters(folder: Path) -> tuple[Meter, Meter]:
    shared = folder / "total"
    shared.write_bytes(bytes(2 * TOTAL_BYTES))
    task = Task(processes=2, shared=str(shared))
    return Meter(task), Meter(replace(task, place=1))


def test_processes_measure_once_each_has_a_record(tmp_path: Path) -> None:
    first, second = pair_of_meters(tmp_path)
    first.count(5)
    with pytest.raises(RuntimeError, match=r"\[5, 0\]"):
        first.report()
    second.count(2)
    first.count(3)
    assert (first.report().records, second.report().records) == (3, 2)
    first.commit()
    assert second.total.committed == 8
    second.commit()
    assert first.total.committed == 10


def test_a_waiting_process_ended_with_its_last_commit(tmp_path: Path) -> None:
    first, second = pair_of_meters(tmp_path)
    second.count()
    first.count()
    first.commit()
    time.sleep(0.05)
    assert first.report().wall < 0.05


def test_the_wait_for_all_ends_with_the_last_record(tmp_path: Path) -> None:
    first, second = pair_of_meters(tmp_path)
    first.count(2)
    second.count(3)
    ended: list[int] = []
    until_all(first, 5, lambda: ended.append(1))
    assert ended == [1]


def test_reports_of_several_processes_are_one() -> None:
    one = Report(10, cpu=1.0, wall=2.0, peak_mb=50, broker_cpu=0.4, began=100.0)
    other = Report(20, cpu=3.0, wall=2.5, peak_mb=60, broker_cpu=0.5, began=100.5)
    both = together([one, other])
    assert (both.records, both.all_cpu, both.wall, both.peak_mb, both.broker_cpu) == (30, 4.0, 3.0, 110, 0.5)
    assert median_of([Run(both)])["per_wall_second"] == 10.0


def test_medians_count_the_children() -> None:
    runs = [
        Run(Report(100, cpu=cpu, wall=1.0, peak_mb=1, children_cpu=0.3, more={"lag_p99_ms": cpu}))
        for cpu in (0.1, 0.2, 0.9)
    ]
    figures = median_of(runs)
    assert (figures["parent_ms"], figures["children_ms"], figures["cpu_ms"]) == (2.0, 3.0, 5.0)
    assert figures["per_cpu_second"] == 200.0
    assert figures["lag_p99_ms"] == 0.2


@pytest.mark.parametrize(
    ("parent", "children", "worst"),
    [(0.0, 0.0, 1.0), (2.0, 0.0, 1.367), (0.0, 2.0, 1.367)],
    ids=["flat", "one", "other"],
)
def test_memory_that_grows_is_found_in_either(parent: float, children: float, worst: float) -> None:
    memory = [
        Sample(float(at), Memory(100 + parent * at, 50 + parent * at), Memory(100 + children * at, 50 + children * at))
        for at in range(60)
    ]
    growth = growth_of(Run(Report(1, 1, 1, 1), tuple(memory)))
    assert growth.worst == pytest.approx(worst, abs=0.01)
