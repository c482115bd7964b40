"""``assay estimate``: figures for programs, tables for people, and one line for wrong usage."""

from pathlib import Path
from typing import Any

import pytest

from schemas.pages import Tier
from streams.cli.estimate import estimate
from tests.command_line import Ran
from tests.samples import scored


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine too, standard error has nothing but complaints."""
    monkeypatch.setattr("streams.cli.progress._LINE_SECONDS", 1e9)


def line(tier: Tier, content: str = "Some text.", summary: str = "") -> str:
    return scored(content=content, tier=tier, summary=summary).to_json().decode()


def tried(*values: str) -> str:
    events = ",".join(f'{{"topic":"pages.scored.v1","key":"k","value":{value}}}' for value in values)
    return f'{{"outcome":"emit","reason":null,"events":[{events}]}}'


def document(ran: Ran, **options: Any) -> dict[str, Any]:
    done = ran(estimate, as_json=True, **options)
    assert (done.status, done.err) == (0, "")
    return dict(done.document)


def test_every_form_of_scored_pages_is_counted(ran: Ran, tmp_path: Path) -> None:
    long = "One sentence of the text. " * 100
    lines = [
        line("A", long),
        tried(line("B", long, "A summary."), line("B", long)),
        f'{{"topic":"pages.scored.v1","partition":0,"offset":7,"value":{line("C")}}}',
        tried(),
        '{"outcome":"dead","reason":"invalid","events":[]}',
        '{"events":17}',
        '{"events":[17,null,{"value":17},{}]}',
        "17",
        "",
        '{"a":',
        "[" * 100_000,
        '{"a":' * 100_000,
        "\udcff",
        line("A").replace('"tier":"A"', '"tier":"Z"'),
    ]
    (tmp_path / "scored.jsonl").write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    found = document(ran, sample=tmp_path / "scored.jsonl")
    assert (found["articles"], found["assumed"]) == (4, None)
    assert found["sampled"] == {"pages": 4, "passed_over": 10}
    tiers = found["tiers"]
    assert {name: tier["articles"] for name, tier in tiers.items()} == {"A": 1, "B": 2, "C": 1}
    assert tiers["A"]["points"] == tiers["A"]["full_chunks"] >= 5
    assert (tiers["B"]["points"], tiers["C"]["points"]) == (3, 1)
    scaled = document(ran, sample=tmp_path / "scored.jsonl", articles=4_000_000)
    assert scaled["tiered"]["points"] == 1_000_000 * found["tiered"]["points"]
