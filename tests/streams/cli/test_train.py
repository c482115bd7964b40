"""``assay train`` on files, as a user runs it; ``tests/kafka/test_train.py`` tests it on a real Kafka."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from handlers.ranking.model import Manifest
from streams.cli.progress import read_events
from streams.cli.train import add_line
from streams.cli.train import train as train_
from streams.publish.entries import LARGEST_LINE
from streams.topology import RANKING_COMPLETED, RANKING_FEEDBACK
from streams.training.join import LeftOut, ServedLog
from streams.training.model_files import read_ranking_model
from tests.command_line import Done, Ran
from tests.streams.training.feedback import address, completed, row, world

Train = Callable[..., Done]


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


@pytest.fixture
def train(ran: Ran, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Train:
    """``train(folder)``, and settings and options where they matter."""
    overlay = tmp_path_factory.mktemp("settings") / "own.yaml"

    def run(out: Path, settings: dict[str, Any] | None = None, **options: Any) -> Done:
        overlay.write_text(json.dumps(settings or {}), "utf-8")
        return ran(train_, out=out, **files | options, config=overlay)

    return run


def test_a_model_is_written_that_can_be_loaded(train: Train, tmp_path: Path) -> None:
    """In a folder that is there and empty."""
    out = tmp_path / "models" / "one"
    out.mkdir(parents=True)
    done = train(out, as_json=True)
    answer = done.document
    assert done.status == 0
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


def test_the_next_model_is_compared_with_the_one_in_force(train: Train, tmp_path: Path) -> None:
    assert train(tmp_path / "one").status == 0
    settings = {"ranking": {"trees": {"mode": "shadow", "model": str(tmp_path / "one")}}}
    answer = train(tmp_path / "two", settings, as_json=True).document
    version = read_ranking_model(str(tmp_path / "one")).manifest.version
    assert [rival["order"] for rival in answer["compared"]] == ["order as served", f"feedback {version}"]
    assert answer["compared"][1]["difference"]["ndcg_at_10"] == 0
    assert answer["not_compared"] is None


def test_too_little_is_refused_with_how_much_is_missing(train: Train, tmp_path: Path) -> None:
    done = train(tmp_path / "one", **write(tmp_path, 32), as_json=True)
    answer = done.document
    assert "320 results have feedback, and it takes 500: 180 are missing" in done.err
    assert (done.status, answer["trained"], answer["reason"], answer["missing"]) == (1, False, "too_few_labels", 180)
    assert not (tmp_path / "one").exists()


def test_nothing_is_ever_written_over(train: Train, files: dict[str, Path], tmp_path: Path) -> None:
    for taken in (tmp_path, files["feedback"]):
        before = sorted(tmp_path.iterdir())
        done = train(taken)
        assert (done.status, sorted(tmp_path.iterdir())) == (2, before)
        assert "in use" in done.err


def test_an_unknown_version_is_named_with_what_to_do(train: Train, files: dict[str, Path], tmp_path: Path) -> None:
    with files["completed"].open("ab") as file, files["feedback"].open("ab") as feedback:
        file.write(completed("z", [row()], version="ranking-features-50.v1").to_json() + b"\n")
        feedback.write(b'{"request_id": "z", "url": "https://a.example/0", "clicked": true}\n')
    done = train(tmp_path / "one", as_json=True)
    assert done.status == 1
    assert "--skip-other-versions" in done.err
    done = train(tmp_path / "one", as_json=True, skip_other_versions=True)
    assert (done.status, done.document["left_out"]) == (0, {"other_version": 1})


def test_without_xgboost_it_says_what_to_install(train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    done = train(tmp_path / "one")
    assert (done.status, (tmp_path / "one").exists()) == (1, False)
    assert "[rank]'" in done.err


ANSWER = completed("r", [row(0.5), row(0.25)]).to_wire()
CLICK: dict[str, Any] = {"request_id": "r", "url": address(1), "clicked": True}


def read(feedback: list[Any], answers: list[Any]) -> ServedLog:
    """What comes of lines; values are written as JSON."""
    served = ServedLog()
    for topic, some in ((RANKING_FEEDBACK, feedback), (RANKING_COMPLETED, answers)):
        with NamedTemporaryFile(suffix=".jsonl") as file:
            file.writelines((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in some)
            file.flush()
            for found in read_events("train", Path(file.name), topic):
                add_line(served, found)
    return served


def test_repeated_event_counts_once_by_id_or_content() -> None:
    dwell = {"request_id": "r", "url": address(0), "dwell_ms": 6000}
    tailed = [
        {"topic": "t", "partition": 0, "offset": offset, "headers": {"ce_id": ce_id}, "value": dwell}
        for offset, ce_id in enumerate(["one", "one", "two"])
    ]
    foreign = [{"topic": "t", "partition": 1, "offset": offset, "headers": {}, "value": dwell} for offset in (7, 7, 8)]
    turned = dict(reversed(dwell.items()))
    reading = read([dwell, dwell, turned, *tailed, *foreign], [ANSWER, ANSWER])
    joined = reading.joined()
    [signals, _] = joined.requests[0].signals
    assert signals is not None
    assert signals.dwell_ms == 5 * 6000
    assert joined.left_out[LeftOut.DUPLICATE_FEEDBACK] == 4
    assert joined.left_out[LeftOut.DUPLICATE_ANSWER] == 1


def test_invalid_event_is_reported_with_its_line_and_skipped() -> None:
    wrong: list[Any] = [
        b"no json",
        b"[]",
        b"x" * (LARGEST_LINE + 1),
        {"request_id": "r", "url": address(0)},
        {"topic": "t", "offset": 1, "value": {"bytes": 7}},
        {**CLICK, "grade": 5},
        b"",
    ]
    reading = read([*wrong, CLICK], [ANSWER])
    assert [line.split(": ")[0].rpartition(":")[2] for line in reading.unreadable] == [*"123456"]
    assert "feedback needs clicked, dwell_ms or grade" in reading.unreadable[3]
    assert reading.joined().labelled == 1
