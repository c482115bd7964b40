"""Answers and feedback on a real Kafka, as ``assay train`` reads them: none, too few, and enough."""

import json
from pathlib import Path

import pytest

from streams.topology import RANKING_COMPLETED, RANKING_FEEDBACK
from tests.kafka.installation import Installation, Installing, handlers_named, install, ran
from tests.streams.training.feedback import SIGNAL, world

pytestmark = pytest.mark.slow

REQUESTS = 60


async def train(assay: Installation, out: Path, *options: str) -> tuple[int | None, str, str]:
    """``assay train`` as a user runs it."""
    return await ran(assay.settings, "train", "--output", out, *options, training__least_judged=5)


async def test_feedback_trains_a_model(installing: Installing, kafka: str, topic_prefix: str, tmp_path: Path) -> None:
    assay = await installing(handlers_named("rank_results"), [RANKING_FEEDBACK])
    out = tmp_path / "model"
    # Where the topics were never made, and where they are empty.
    for nothing in (Installation(install(kafka, f"{topic_prefix}none.")), assay):
        status, said, told = await train(nothing, out)
        assert (status, said) == (2, ""), told
        assert "there is nothing on" in told
        assert "assay publish" in told
        assert "Traceback" not in told

    served = list(world(REQUESTS))
    answers = [(answer.request_id.encode(), answer.to_json()) for answer, _ in served]
    given = [(one.request_id.encode(), one.to_json()) for _, feedback in served for one in feedback]
    await assay.feed(answers, topic=RANKING_COMPLETED.name)
    await assay.feed(given[:400], topic=RANKING_FEEDBACK.name, transactional=True)
    status, _, told = await train(assay, out)
    assert (status, "100 are missing" in told) == (1, True), told
    assert not out.exists()

    await assay.feed([*given[400:], (b"?", b"no json")], topic=RANKING_FEEDBACK.name)
    status, said, told = await train(assay, out, "--json")
    assert status == 0, told
    assert "left out: " in told
    report = json.loads(said)
    assert (report["labelled"], report["requests"], report["phase"], report["features"]) == (600, 60, "binary", 29)
    assert report["unreadable"] == 1
    assert next(iter(report["importance"])) == SIGNAL.name.lower()
    against_served = report["compared"][0]
    assert against_served["order"] == "order as served"
    assert against_served["difference"]["verdict"] == "better"

    status, _, told = await train(assay, out)
    assert (status, "in use" in told) == (2, True)
