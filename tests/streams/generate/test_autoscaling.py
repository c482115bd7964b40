"""The ScaledObjects' numbers in a model of the horizontal autoscaler: a group that keeps up keeps its replicas."""

from collections import deque
from itertools import pairwise
from math import ceil

from streams.generate.kubernetes import Installation, records_at_once, scaled_object
from streams.runtime.settings_files import read_document
from streams.topology import handler_named
from tests.samples import ROOT

STEP = 15  # seconds between two decisions of the autoscaler
PAGES_PER_SECOND = 150.0  # of one replica


def replicas(arrivals: list[float]) -> tuple[list[int], float]:
    """The replicas of ``score_page`` at each step for pages a second at each step, and the longest lag in seconds."""
    handler = handler_named("score_page")
    assert handler is not None
    written = scaled_object(handler, Installation.shipped(read_document(ROOT / "config")))
    assert written is not None
    spec = written["spec"]
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    lag_target, work_target = (float(trigger["metadata"]["threshold"]) for trigger in spec["triggers"])
    window = behavior["scaleDown"]["stabilizationWindowSeconds"] // STEP
    pause_up, pause_down = (behavior[way]["policies"][0]["periodSeconds"] // STEP for way in ("scaleUp", "scaleDown"))
    recommended: deque[int] = deque(maxlen=window)
    history, longest, waiting, oldest = [1], 0.0, 0.0, 0.0
    changed_up = changed_down = -1000
    for step, arriving in enumerate(arrivals):
        now = history[-1]
        capacity = now * PAGES_PER_SECOND
        waiting = max(0.0, waiting + (arriving - capacity) * STEP)
        oldest = waiting / arriving if arriving else (oldest + STEP if waiting else 0.0)
        longest = max(longest, oldest)
        used = min(1.0, arriving / capacity) if not waiting else 1.0
        work = used * now * records_at_once(handler)
        wanted = max(ceil(now * oldest / lag_target), ceil(work / work_target))
        recommended.append(max(spec["minReplicaCount"], min(spec["maxReplicaCount"], wanted)))
        if recommended[-1] > now and step - changed_up >= pause_up:
            changed_up = step
            history.append(min(recommended[-1], 2 * now))
        elif max(recommended) < now and len(recommended) == window and step - changed_down >= pause_down:
            changed_down = step
            history.append(now - 1)
        else:
            history.append(now)
    return history, longest


def test_steady_load_ends_with_a_steady_number() -> None:
    history, longest = replicas([400.0] * 400)
    assert set(history[-200:]) == {4}
    assert longest < 60 * 5


def test_no_load_leaves_one_replica_slowly() -> None:
    history, _ = replicas([700.0] * 200 + [0.0] * 300)
    assert max(history) == 6
    assert history[-1] == 1
    assert all(before - after <= 1 for before, after in pairwise(history))
    removals = [step for step, (before, after) in enumerate(pairwise(history)) if after < before]
    assert all(later - earlier >= 300 // STEP for earlier, later in pairwise(removals))


def test_a_stuck_group_stops_at_its_partitions() -> None:
    history, _ = replicas([10_000.0] * 100)
    assert history[-1] == max(history) == 6
