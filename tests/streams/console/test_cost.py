"""The screen ``cost``: calls by model and day, and the budget."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from schemas.claims import ClaimEvaluated
from streams.llm.journal import DayCalls
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import SqliteJournal
from tests.streams.console.consoles import OwnConsole, example


def cost_of(llm: LlmSettings, path: str = "/cost", console: OwnConsole | None = None) -> str:
    its = console or OwnConsole()
    its.context.settings = its.settings.model_copy(update={"llm": llm})
    with its.served() as client:
        answer = client.get(path)
    assert answer.status_code == 200
    return answer.text


def model(**more: Any) -> LlmSettings:
    return LlmSettings(api_key=SecretStr("k"), **more)


def write(path: Path, *calls: DayCalls, usd: float = 0.0) -> str:
    day = OwnConsole().context.clock.now().date().isoformat()

    async def work() -> None:
        journal = SqliteJournal(path)
        await journal.count([its._replace(day=its.day or day) for its in calls])
        await journal.book({day: None}, usd)
        await journal.aclose()

    asyncio.run(work())
    return day


def test_calls_and_the_budget_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    day = write(path, DayCalls("", "gpt-<b>", 12, 345, 6, 1.25), DayCalls("2020-01-01", "model-of-2020", 99), usd=1.5)
    text = cost_of(model(cache_path=path, budget_usd_per_day=4.0))
    assert f'<td>{day}</td><th scope="row">gpt-&lt;b&gt;</th>' in text
    assert "$2.50" in text
    assert "$1.50 of $4.00 booked" in text
    assert '<rect class="bar cached"' in text
    assert "model-of-2020" not in text


def test_without_a_budget_the_costs_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    write(path, usd=0.75)
    text = cost_of(model(cache_path=path), "/cost?days=7")
    assert "no bound" in text
    assert "$0.75 booked today" in text
    assert "No call in these days." in text


@pytest.mark.parametrize(
    ("llm", "says"),
    [
        (LlmSettings(), "the offline judge answers, and nothing is paid"),
        (model(), "Answers are kept in the memory of each worker"),
        (model(cache_path=Path("absent.sqlite")), "The journal does not exist yet"),
    ],
)
def test_without_a_journal_the_reason_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, llm: LlmSettings, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in cost_of(llm)
    assert not list(tmp_path.iterdir())


def test_judged_decisions_are_counted_by_judge() -> None:
    console = OwnConsole()
    judged = example(ClaimEvaluated, "stands_alone")
    assert judged.llm is not None
    console.write(judged, "decontextualize_claim")
    text = cost_of(LlmSettings(), "/cost?days=90", console)
    assert f'<th scope="row">{judged.llm.model}</th><td class="number">1</td>' in text


def test_a_day_has_a_bar_for_each_kind_of_call(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    day = write(path, DayCalls("", "one", 12, 0, 6), DayCalls("", "other", 8))
    text = cost_of(model(cache_path=path))
    assert text.count('<rect class="bar') == 2
    assert f"<title>{day}: 20 requested</title>" in text
    assert '<text class="tick" x="38" y="12">26</text>' in text
