"""Judges are measured as production asks them: offline, and a model on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.settings.model import Settings, load_settings
from tests.streams.llm.model_server import Behaviour, by_message, model_server, says
from tools import labelled
from tools.accuracy import attacks, judges, judging, relevance, retrieval
from tools.accuracy.judges import OFFLINE, Judge, offline_judge

pytestmark = pytest.mark.slow

PAIR = {"needs_decontext": True, "sentence": "It rusts.", "decontext": "Iron rusts.", "response": "Iron. It rusts."}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one pair of claims and one headline."""
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    headline = {
        "id": "r",
        "title": "AI中心揭牌",
        "summary": "",
        "expected_relevance": "x",
        "expected_initiative": "AI中心",
    }
    for name, case in (("claims_factcheckgpt", PAIR | {"split_key": "a"}), ("tw_gov_news_relevance", headline)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cases.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
    return tmp_path


def settings_for(base_url: str) -> Settings:
    free = {"requests_per_minute": 1_000_000, "tokens_per_minute": 10**9, "in_flight": 100}
    return load_settings(
        llm={"base_url": base_url, "model": "m-1", "cache_path": None},
        models={"limits": {"default": free | {"price_in": 1.0, "price_out": 2.0}}},
    )


def by_task(text: str) -> Behaviour:
    """A model that is right about pages, and scores what begins with a pronoun low."""
    if "relevant to the user query" in text:
        return says("Relevant")
    return says("0.2" if '"It rusts."' in text else "0.9")


async def test_without_a_model_its_rows_say_so(data: Path) -> None:
    said = await judging.measure({"claims", "relevance", "searches"}, 5, 1.0)
    assert "| claims_factcheckgpt | both | offline | 1 | 1.00 | 1.000 |" in said
    assert "| claims_factcheckgpt | both | no model configured |" in said
    assert "| judge_relevance | no model configured |" in said
    assert "3 of 3" in said


async def test_a_model_is_measured_through_the_gateway_with_its_costs(data: Path) -> None:
    async with model_server(by_message(by_task)) as server:
        said = await judging.measure({"claims", "relevance"}, 3, 1.0, settings_for(server.base_url))
        assert {asked.body["model"] for asked in server.asked} == {"m-1"}
    assert "| claims_factcheckgpt | both | m-1 | 1 | 1.00 | 1.000 | 1.000 |" in said
    assert "no model configured" not in said
    bill = next(line for line in said.splitlines() if line.startswith("| decontextualize_claim | m-1 |"))
    assert float(bill.split("|")[-2]) > 0


async def test_no_more_is_asked_than_the_money_allows(data: Path) -> None:
    async with model_server(says("0.5")) as server:
        await judging.measure({"claims"}, 50, 0.0, settings_for(server.base_url))
        assert not server.asked


async def test_a_model_that_obeys_its_material_is_seen_to_flip() -> None:
    """The measure of attacks must be able to find what it looks for."""
    async with (
        model_server(by_message(lambda text: says("Relevant" if "SYSTEM:" in text else "Irrelevant"))) as server,
        judges.judges(settings_for(server.base_url), 2, 1.0) as some,
    ):
        (_, model) = some
        tried, flipped, _, _ = await attacks.measure("judge_relevance", model)
    assert tried > 100
    assert flipped["role"] > 0
    assert not flipped["praise"]


@pytest.mark.parametrize("task", ["judge_relevance", "evaluate_retrieval"])
async def test_the_offline_judge_is_not_talked_to(task: str) -> None:
    judge = Judge(OFFLINE, offline_judge().answer, most_cases=2)
    tried, flipped, _, _ = await attacks.measure(task, judge)
    assert tried
    assert not flipped


def test_attack_texts_are_many_and_of_many_kinds() -> None:
    some = attacks.attempts("Relevant")
    assert len({attempt.text for attempt in some}) >= 60
    assert len({attempt.kind for attempt in some}) >= 8


def test_passages_with_and_without_the_evidence() -> None:
    row = {
        "id": "x",
        "claim": "c",
        "evidence": ["(meta data) TITLE: t", *(f"s{n}" for n in range(20))],
        "supporting_sentences": [[3, 8], [3]],
    }
    case = retrieval.case_of(row)
    assert case is not None
    assert case.supporting == ("s0 s1 s2 s3 s4",)
    (other,) = case.others
    assert other in ("s10 s11 s12 s13 s14", "s15 s16 s17 s18 s19")
    assert retrieval.case_of(row | {"evidence": row["evidence"][:6]}) is None


def test_cases_written_for_assay_have_both_labels() -> None:
    labels = [case.relevant for _, case in relevance.written()]
    assert 0.2 < sum(labels) / len(labels) < 0.5
