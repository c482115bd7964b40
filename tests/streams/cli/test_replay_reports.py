"""The text of an estimate."""

import pytest

from streams.cli.replay_run import show_estimate
from streams.replay.estimate import Estimate, HandlerEstimate, PaidEstimate

ASKED = PaidEstimate("gate", 1200.0, 300, 372_000, 3600, 0.058, 0.014, "900 earlier calls")


def one(handler: str = "judge_relevance", paid: PaidEstimate | None = None, **counts: int) -> HandlerEstimate:
    zero = {"open": 0, "pages": 0, "points": 0, "offline": 0}
    return HandlerEstimate(
        handler=handler, records=1500, bytes=2**20, seconds=75.0, because="the work", paid=paid, **zero | counts
    )


def estimate(*handlers: HandlerEstimate, usd: float | None = 0.0, sampled: int | None = None) -> Estimate:
    return Estimate(1500, 2**20, 75.0, usd, 0.014 if usd else 0.0, sampled, handlers)


def shown(capsys: pytest.CaptureFixture[str], found: Estimate, most: float | None = None) -> list[str]:
    show_estimate(found, most)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_calls_money_and_what_is_saved(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, estimate(one(paid=ASKED, open=1200), usd=0.058), 0.05)
    assert lines[0] == "1,500 records, 1.0 MiB, 75 s in one process"
    assert "judge_relevance gate 1,200 300 372,000 3,600 $0.058 $0.014 900 earlier calls" in lines
    assert "costs: about $0.058; answers in the journal save $0.014" in lines
    assert lines[-1] == "that is more than --max-cost 0.05: the replay would pause before its end"
    assert not any("more than" in line for line in shown(capsys, estimate(one(paid=ASKED), usd=0.058), 0.06))


def test_unknown_price_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, estimate(one(paid=ASKED), usd=None), 0.05)
    assert lines[-1] == "the costs are not known: set price_in and price_out in models.limits"


def test_estimate_of_handlers_without_models_shows_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, estimate(one("score_page"), one("index_page", points=5500), sampled=1000))
    assert lines[0] == "about 1,500 records, 1.0 MiB, 75 s in one process, after a sample of 1,000"
    assert lines[-1] == "index_page: 5,500 points for the index"
    assert not any("costs" in line for line in lines)


def test_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, Estimate(0, 0, 0.0, 0.0, 0.0, None, ())) == ["0 records, 0 bytes, 0 s in one process"]
