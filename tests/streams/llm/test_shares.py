"""A process's share of a model's limits: the shares of all processes sum to at most the whole."""

from hypothesis import given
from hypothesis import strategies as st

from streams.llm.limits import Shares

MODELS = {"gate": "small", "claims": "large", "search": "large"}


def test_weights_count_against_the_same_model_s() -> None:
    shares = Shares(MODELS, {"gate": 5.0, "claims": 3.0, "search": 1.0})
    assert (shares.of("gate"), shares.of("claims"), shares.of("search")) == (1.0, 0.75, 0.25)
    none = Shares(MODELS, {"claims": 1.0, "search": 0.0})
    assert (none.of("claims"), none.of("search"), none.of("not configured")) == (1.0, 0.0, 1.0)


def test_replays_and_live_traffic_have_the_whole_together() -> None:
    weights = {"claims": 3.0, "search": 1.0}
    live, replay = Shares(MODELS, weights, 0.8), Shares(MODELS, weights, 0.2)
    assert live.of("claims") + live.of("search") + replay.of("claims") + replay.of("search") == 1.0
    assert replay.of("claims") < live.of("claims")


def test_partitions() -> None:
    shares = Shares(MODELS, {})
    shares.expect("gate", ["own", "retry"])
    assert shares.of("gate") == 0.0
    shares.on_assignment("gate", "own", 3, 6)
    assert shares.of("gate") == 0.25
    shares.on_assignment("gate", "retry", 6, 6)
    assert shares.of("gate") == 0.75
    shares.on_assignment("gate", "own", 0, 0)
    shares.on_assignment("gate", "another topic", 6, 6)
    shares.on_assignment("another task", "own", 6, 6)
    assert shares.of("gate") == 0.5


@given(st.lists(st.integers(0, 3), min_size=12, max_size=12), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_all_parts_together_are_the_whole(own: list[int], retry: list[int]) -> None:
    """For any assignment of the partitions to four processes."""
    total = 0.0
    for process in range(4):
        shares = Shares(MODELS, {"claims": 3.0, "search": 1.0})
        for task in ("claims", "search"):
            shares.expect(task, ["own", "retry"])
            shares.on_assignment(task, "own", own.count(process), 12)
            shares.on_assignment(task, "retry", retry.count(process), 6)
            total += shares.of(task)
    assert abs(total - 1.0) < 1e-9
