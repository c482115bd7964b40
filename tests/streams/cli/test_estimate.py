"""``assay estimate``: figures for programs, tables for people, and one line for wrong usage."""

from pathlib import Path
from typing import Any

import pytest

from schemas.pages import Tier
from streams.cli.estimate import estimate
from tests.command_line import Ran
from tests.samples import scored
from tests.tables import tables

TABLES = tables(__file__)


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


def test_the_plan_as_json(ran: Ran) -> None:
    found = document(ran, articles=10_000_000, mix="10/50/40", chunks=10.0)
    assert found == document(ran)
    assert (found["articles"], found["assumed"], found["sampled"]) == (10_000_000, {"chunks": 10.0}, None)
    assert (found["tiered"]["saved"], found["tiered_with_article_embeddings"]["saved"]) == (0.76, 0.75)
    assert found["tiers"]["A"]["points_with_article_embeddings"] == 11_000_000
    assert (found["dimensions"], found["tiered"]["vector_bytes"]) == (1024, 24_000_000 * 1024 * 4)


def test_dimensions_are_those_of_the_embedder_unless_named(ran: Ran, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("index: {embedder: {dimensions: 64}}")
    assert document(ran, config=other)["untiered"]["vector_bytes"] == 100_000_000 * 64 * 4
    assert document(ran, config=other, dimensions=1536)["dimensions"] == 1536


# --- scored pages ----------------------------------------------------------------------------------------------------


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


# --- wrong usage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        *TABLES["wrong_usage_is_one_line"],
        ({"chunks": float("nan")}, 2, "--chunks"),
        ({"chunks": float("inf")}, 2, "--chunks"),
        ({"sample": Path("x.jsonl"), "mix": "10/50/40"}, 2, "leave --mix and --chunks out"),
        ({"sample": Path("x.jsonl"), "chunks": 10.0}, 2, "leave --mix and --chunks out"),
        ({"sample": Path("nowhere.jsonl")}, 1, "nowhere.jsonl: No such file"),
        ({"sample": Path("/")}, 1, "/: Is a directory"),
        ({"sample": Path("/dev/null")}, 1, "no line holds a scored page"),
    ],
)
def test_wrong_usage_is_one_line(ran: Ran, options: dict[str, Any], status: int, says: str) -> None:
    for as_json in (False, True):
        done = ran(estimate, **options, as_json=as_json)
        assert done.status == status
        assert says in done.complaint
        assert done.err.startswith("assay estimate: ")
