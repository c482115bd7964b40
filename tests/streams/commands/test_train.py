"""``assay train`` on files, as a user runs it; on a real Kafka it is tested in ``tests/kafka/test_train.py``."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from handlers.ranking.model import Manifest
from streams.commands.train import TrainOptions, run_train
from streams.ranking_model import read_ranking_model
from streams.settings import load_settings
from tests.handlers.training.feedback import completed, row, world


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Answers and feedback enough for the binary phase."""
    return write(tmp_path, 60)


def write(folder: Path, requests: int) -> dict[str, Path]:
    pairs = list(world(requests))
    paths = {"completed": folder / "completed.jsonl", "feedback": folder / "feedback.jsonl"}
    paths["completed"].write_bytes(b"".join(answer.to_json() + b"\n" for answer, _ in pairs))
    paths["feedback"].write_bytes(b"".join(one.to_json() + b"\n" for _, given in pairs for one in given))
    return paths


def of(out: Path, files: dict[str, Path], **more: Any) -> TrainOptions:
    return TrainOptions(out=out, completed=files["completed"], feedback=files["feedback"], **more)


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_model_is_written_that_can_be_loaded(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "models" / "one"
    assert run_train(load_settings(), of(out, files, as_json=True)) == 0
    answer = told(capsys)
    assert sorted(path.name for path in out.iterdir()) == ["card.md", "manifest.json", "model.json"]
    assert [path.name for path in out.parent.iterdir()] == ["one"]
    model = read_ranking_model(str(out))
    assert model.manifest == Manifest.model_validate_json((out / "manifest.json").read_bytes())
    assert answer["model"]["version"] == model.manifest.version
    assert (answer["trained"], answer["phase"], answer["features"]) == (True, "binary", 29)
    assert (answer["labelled"], answer["requests"], answer["unreadable"]) == (600, 60, 0)
    assert answer["metrics"]["ndcg_at_10"] > answer["compared"][0]["metrics"]["ndcg_at_10"]
    assert answer["compared"][0]["order"] == "order as served"
    assert set(answer["compared"][0]["difference"]) == {"ndcg_at_10", "low", "high", "queries", "least", "verdict"}
    assert next(iter(answer["importance"])) == "keyword_overlap"
    assert any("MODE=shadow" in line for line in answer["switch_on"])


def test_the_same_data_gives_the_same_bytes(files: dict[str, Path], tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run_train(load_settings(), of(tmp_path / name, files, as_json=True)) == 0
    for name in ("manifest.json", "model.json", "card.md"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_next_model_is_compared_with_the_one_in_force(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_train(load_settings(), of(tmp_path / "one", files)) == 0
    capsys.readouterr()
    settings = load_settings(ranking={"trees": {"mode": "shadow", "model": str(tmp_path / "one")}})
    assert run_train(settings, of(tmp_path / "two", files, as_json=True)) == 0
    answer = told(capsys)
    version = read_ranking_model(str(tmp_path / "one")).manifest.version
    assert [rival["order"] for rival in answer["compared"]] == ["order as served", f"feedback {version}"]
    assert answer["compared"][1]["difference"]["ndcg_at_10"] == 0
    assert answer["not_compared"] is None


def test_people_are_told_the_figures_and_how_to_switch_it_on(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(ranking={"trees": {"model": str(tmp_path / "none")}})
    assert run_train(settings, of(tmp_path / "one", files)) == 0
    shown = capsys.readouterr()
    for words in ("NDCG@10", "order as served", "keyword_overlap", "ASSAY_RANKING__TREES__MODE=shadow", "not compared"):
        assert words in shown.out
    assert shown.err == "assay train: 600 labelled results of 60 requests\n"


def test_too_little_is_refused_with_how_much_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "one"
    assert run_train(load_settings(), of(out, write(tmp_path, 32), as_json=True)) == 1
    shown = capsys.readouterr()
    assert "320 results have feedback, and it takes 500: 180 are missing" in shown.err
    answer = json.loads(shown.out)
    assert (answer["trained"], answer["reason"], answer["missing"]) == (False, "too_few_labels", 180)
    assert not out.exists()


def test_nothing_is_ever_written_over(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for taken in (tmp_path, files["feedback"]):
        before = sorted(tmp_path.iterdir())
        assert run_train(load_settings(), of(taken, files)) == 2
        assert "in use" in capsys.readouterr().err
        assert sorted(tmp_path.iterdir()) == before


def test_an_empty_folder_is_as_good_as_none(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run_train(load_settings(), of(tmp_path / "empty", files, as_json=True)) == 0
    assert (tmp_path / "empty" / "model.json").is_file()


def test_an_unknown_version_is_named_with_what_to_do(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with files["completed"].open("ab") as file, files["feedback"].open("ab") as feedback:
        file.write(completed("z", [row()], version="ranking-features-50.v1").to_json() + b"\n")
        feedback.write(b'{"request_id": "z", "url": "https://a.example/0", "clicked": true}\n')
    options = of(tmp_path / "one", files, as_json=True)
    assert run_train(load_settings(), options) == 1
    assert "--skip-other-versions" in capsys.readouterr().err
    options = of(tmp_path / "one", files, as_json=True, skip_other_versions=True)
    assert run_train(load_settings(), options) == 0
    assert told(capsys)["left_out"] == {"other_version": 1}


def test_a_file_that_is_not_there_is_named(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = TrainOptions(out=tmp_path / "one", completed=files["completed"], feedback=tmp_path / "nothing.jsonl")
    assert run_train(load_settings(), options) == 1
    assert "nothing.jsonl: No such file" in capsys.readouterr().err


def test_lines_that_cannot_be_read_are_told_and_left_out(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with files["feedback"].open("ab") as feedback:
        feedback.write(b"no json\n" * 12)
    assert run_train(load_settings(), of(tmp_path / "one", files, as_json=True)) == 0
    shown = capsys.readouterr()
    assert shown.err.count("left out: ") == 11
    assert "2 more that can't be read" in shown.err
    assert json.loads(shown.out)["unreadable"] == 12


def test_without_xgboost_it_says_what_to_install(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    assert run_train(load_settings(), of(tmp_path / "one", files)) == 1
    assert "pip install 'assay[rank]'" in capsys.readouterr().err
    assert not (tmp_path / "one").exists()


def test_without_a_kafka_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"})
    assert run_train(settings, TrainOptions(out=tmp_path / "one")) == 1
    assert "no Kafka at 127.0.0.1:1; start one with `assay broker`" in capsys.readouterr().err
